"""Table 1 of Lee & Shin (SIGGRAPH 1999): error and time of each level of the hierarchical fit, at the paper's counts.

Four levels of 16, 8, 4 and 2 frames a knot at 30 frames a second, without the exact last pass, as in the paper. A held
hand or foot has a place and an orientation, six scalars a frame: 5898, 420 and 834 are multiples of six. The terrain's
5568 are shared by the feet, six scalars a frame, and by the doorways, one for each point and frame under a beam. The
motions are our own, as theirs are not published.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from footplant import grounds, rotation, samples
from footplant.blending.transition import crossfade
from footplant.clip import Clip
from footplant.constraints import Area, Constraint, Footplant, Orientation, Position
from footplant.constraints.doorways import doorway_on_path, pass_under
from footplant.contacts.detection import Contacts, find_contacts
from footplant.feet.changing_proportions import ProportionChange
from footplant.feet.footing import find_footing
from footplant.feet.stage import Stage
from footplant.feet.steps import find_steps, foot_length, plants_at, transferred_places
from footplant.feet.swing import move_feet_to_ground
from footplant.humanoid.proportions import apply_proportions
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Problem
from footplant.skeleton import Character, Point
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.ik.numeric import Numeric
from footplant.solve.methods.hierarchical import Hierarchical
from footplant.transfer import transfer
from timing import cpu_seconds, main

RATE, LIMB = 30.0, 6
"""Frames a second, and scalars of a held hand or foot at one frame."""
FOUR_LEVELS = Hierarchical(spacings=(16.0, 8.0, 4.0, 2.0), exact=False)
ONE, TWO = 1.2 / RATE, 2.1 / RATE
"""Seconds over which a hold eases in and out: one frame, or two where a stance begins in a single frame of double
support. These frames are not counted."""
FEET, LIMBS = ("left_foot", "right_foot"), ("left_hand", "right_hand", "left_foot", "right_foot")


def nearest_frames(held: dict[str, NDArray], count: int) -> dict[str, NDArray]:
    """As many (limb, frame) pairs as wanted: those that are held, or as near to such a frame as possible.

    held: limb → (F,) bool. Too many are taken off at the ends of what is held, too few are added there.
    """
    names = list(held)
    gaps = np.stack([_distance_to(held[name]) - _distance_to(~held[name]) for name in names])
    chosen = np.zeros(gaps.size, bool)
    chosen[np.argsort(gaps.ravel(), kind="stable")[:count]] = True
    return dict(zip(names, chosen.reshape(gaps.shape)))


def _distance_to(held: NDArray) -> NDArray:
    """Frames from each frame to the nearest one that is held."""
    frames = np.flatnonzero(held)
    if not len(frames):
        return np.full(len(held), len(held))
    return np.abs(np.arange(len(held))[:, None] - frames).min(axis=1)


def hold(
    character: Character,
    places: dict[str, NDArray],
    turns: dict[str, NDArray],
    held: dict[str, NDArray],
    ramp: float = ONE,
) -> list[Constraint]:
    """Place and orientation of each limb's end while it is held, as two constraints for each hold."""
    made: list[Constraint] = []
    roles = character.require_roles()
    for name, chosen in held.items():
        edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(int)))
        for start, stop in edges.reshape(-1, 2).tolist():
            frames, joint = range(start, stop), roles[name]
            title = f"{name} {start}–{stop - 1}"
            made.append(
                Position(
                    point=Point(joint), target=places[name][start:stop], frames=frames, ramp=(ramp, ramp), name=title
                )
            )
            made.append(
                Orientation(joint=joint, target=turns[name][start:stop], frames=frames, ramp=(ramp, ramp), name=title)
            )
    return made


def limb_ends(motion: Motion, character: Character, names: Sequence[str]) -> tuple[dict, dict]:
    """Positions (F, 3) and rotations (F, 4) of the ends of limbs."""
    kinematics, roles = Kinematics(motion), character.require_roles()
    return (
        {name: kinematics.positions[:, roles[name]] for name in names},
        {name: kinematics.rotations[:, roles[name]] for name in names},
    )


def planted(plants: Sequence[Footplant], character: Character, frames: int) -> dict[str, NDArray]:
    """Foot → (F,) bool: where its heel or ball is planted."""
    roles, found = character.require_roles(), {}
    for name in FEET:
        joints = {roles[name], *(roles.joints.get(name.replace("foot", "toes"), ()))}
        found[name] = np.zeros(frames, bool)
        for plant in plants:
            if plant.point.joint in joints:
                found[name][list(plant.frames or ())] = True
    return found


def shifted_ends(motion: Motion, character: Character, plants: Sequence[Footplant]) -> tuple[dict, dict]:
    """Ends of the feet, moved by what brings heel and ball to their places; between plants as at the nearest one."""
    places, turns = limb_ends(motion, character, FEET)
    roles, kinematics, frames = character.require_roles(), Kinematics(motion), np.arange(len(motion))
    for name in FEET:
        joints = {roles[name], *(roles.joints.get(name.replace("foot", "toes"), ()))}
        total, count = np.zeros((len(motion), 3)), np.zeros(len(motion))
        for plant in plants:
            if plant.point.joint in joints:
                at = np.array(list(plant.frames or ()))
                total[at] += np.asarray(plant.place) - kinematics.point(plant.point)[at]
                count[at] += 1.0
        there = np.flatnonzero(count)
        shifts = total[there] / count[there, None]
        nearest = np.abs(frames[:, None] - there).argmin(axis=1)
        places[name] = places[name] + shifts[nearest]
    return places, turns


def rough_terrain(scalars: int = 5568) -> Problem:
    """464 frames of walking on rough terrain, bending under three doorways; the motion is still that of a floor."""
    walk = samples.load("walk")
    character, height = walk.character, walk.character.height
    motion = walk.motion.resample(RATE).looped(4)[:464]
    ground = grounds.rough(
        1999, grounds.PAPER_RELIEF * height, grounds.PAPER_SPACING * height, motion.root.min(axis=0)[::2] - height,
        motion.root.max(axis=0)[::2] + height,
    )  # fmt: skip
    clip = Clip(motion, character)
    contacts = find_contacts(clip)
    stage = Stage.of(clip, character, contacts, True)
    steps = find_steps(contacts, foot_length(character, "left"))
    level = transferred_places(steps, character, stage.move)
    footings = [find_footing(step, places, character, stage.ground, ground) for step, places in zip(steps, level)]
    plants = plants_at(steps, [(footing.heel, footing.ball) for footing in footings], character)
    doorways = [doorway_on_path(motion, character, at, 0.87 * height, ground) for at in (5.0, 10.0, 15.0)]
    # where feet are on the terrain, and when the character is under a doorway
    on_it, _ = move_feet_to_ground(motion, character, steps, footings, stage.ground, ground)
    beams = list(pass_under(on_it, character, doorways))
    spare = (scalars - sum(map(len, beams))) % LIMB
    if spare:
        # the last frames of one point: six scalars a foot do not divide what is left
        last = beams[-1]
        beams[-1] = replace(last, frames=tuple(last.frames or ())[: len(last) - (LIMB - spare)])
    feet = (scalars - sum(map(len, beams))) // LIMB
    held = nearest_frames(planted(plants, character, len(motion)), feet)
    return Problem(motion, character, (*hold(character, *limb_ends(on_it, character, FEET), held), *beams))


def rope(scalars: int = 5898) -> Problem:
    """275 frames of climbing a rope by a character of longer legs and a shorter body, its ends where they were."""
    from footplant.samples import hands

    sample = hands.climb(cycles=5, fps=RATE)
    motion, target = sample.motion[:275], samples.load_character("longlegs")
    clip = Clip(motion, sample.character)
    contacts = find_contacts(clip, hands=True)
    held = nearest_frames(held_limbs(contacts, len(motion)), scalars // LIMB)
    start = transfer(motion, sample.character, target, stride=1.0)
    places, turns = limb_ends(motion, sample.character, LIMBS)[0], limb_ends(start, target, LIMBS)[1]
    return Problem(start, target, tuple(hold(target, places, turns, held)))


def held_limbs(contacts: Contacts, frames: int) -> dict[str, NDArray]:
    """Limb → (F,) bool: where one of its points holds on."""
    found = {name: np.zeros(frames, bool) for name in LIMBS}
    for plant in contacts.plants:
        side, _, part = plant.point.partition("_")
        found[f"{side}_{'hand' if part == 'palm' else 'foot'}"][plant.start : plant.end] = True
    return found


def morphing(scalars: int = 420) -> Problem:
    """62 frames of walking while the legs get very long and then very short, in the original footsteps."""
    walk = samples.load("walk")
    clip = Clip(walk.motion.resample(RATE)[:62], walk.character)
    long, short = (
        apply_proportions(walk.character, legs=legs, trunk=trunk) for legs, trunk in ((1.4, 0.7), (0.7, 1.3))
    )
    contacts = find_contacts(clip)
    steps = find_steps(contacts, foot_length(clip.character, "left"))
    change = ProportionChange.of(clip, [clip.character, long, short], steps)
    character, start = change.character(), change.initial_motion(clip, contacts, False)
    plants = plants_at(steps, change.places(clip, steps, contacts, False), character)
    held = nearest_frames(planted(plants, character, len(start)), scalars // LIMB)
    return Problem(start, character, tuple(hold(character, *shifted_ends(start, character, plants), held, TWO)))


def walk_to_sneak(scalars: int = 834) -> Problem:
    """119 frames of a transition from walking to sneaking, the feet planted through the crossfade."""
    made = crossfade(samples.load("walk"), samples.load("sneak"), fps=RATE)
    middle = round(0.5 * RATE * sum(made.interval))
    window = range(middle - 60, middle + 59)
    plants = []
    for plant in made.plants:
        assert isinstance(plant.frames, range)
        start, stop = max(plant.frames.start, window.start), min(plant.frames.stop, window.stop)
        if start < stop:
            plants.append(replace(plant, frames=range(start - window.start, stop - window.start)))
    motion = made.motion[window.start : window.stop]
    held = nearest_frames(planted(plants, made.character, len(motion)), scalars // LIMB)
    return Problem(
        motion, made.character, tuple(hold(made.character, *shifted_ends(motion, made.character, plants), held))
    )


ROWS: dict[str, Callable[[], Problem]] = {
    "terrain": rough_terrain,
    "rope": rope,
    "morph": morphing,
    "transition": walk_to_sneak,
}


def scalar_constraints(problem: Problem) -> int:
    """How many numbers must be met, as the paper counts: three for a place or a rotation, one for a bound."""
    return sum(len(constraint) * (1 if isinstance(constraint, Area) else 3) for constraint in problem.constraints)


def run() -> dict[str, float]:
    """Error (% of the height) and CPU time of each level of the four examples of the paper's Table 1."""
    figures: dict[str, float] = {}
    for name, make in ROWS.items():
        problem = make()
        solution = FOUR_LEVELS.solve(problem)
        best = min((FOUR_LEVELS.solve(problem) for _ in range(5)), key=lambda answer: answer.report.seconds)
        figures |= {
            f"lee_shin.{name}.frames": len(problem.motion),
            f"lee_shin.{name}.scalar_constraints": scalar_constraints(problem),
            f"lee_shin.{name}.seconds": cpu_seconds(lambda problem=problem: FOUR_LEVELS.solve(problem), repeats=9),
        }
        for number, level in enumerate(solution.report.levels):
            label = f"level_{number}" if number else "first_guess"
            figures[f"lee_shin.{name}.{label}.error_percent"] = level.worst_share
            figures[f"lee_shin.{name}.{label}.seconds"] = best.report.levels[number].seconds
        figures[f"lee_shin.{name}.turned_degrees"] = worst_turn(problem, solution.motion)
    return figures | compare_ik(rough_terrain())


def worst_turn(problem: Problem, motion: Motion) -> float:
    """How far a held hand or foot is turned from what is asked, at most, degrees."""
    kinematics, worst = Kinematics(motion), 0.0
    for constraint in problem.constraints:
        if isinstance(constraint, Orientation):
            at = np.asarray(constraint.frames)
            off = rotation.angle(kinematics.rotations[at, constraint.joint], np.asarray(constraint.target))
            worst = max(worst, float(np.degrees(off.max())))
    return worst


def compare_ik(problem: Problem) -> dict[str, float]:
    """Hybrid against numerical IK on the constrained frames of one problem, after its first level."""
    motion = replace(FOUR_LEVELS, spacings=(16.0,)).solve(problem).motion
    frames = problem.constrained_frames()
    hybrid, numeric = Hybrid(problem.character), Numeric()
    ours, theirs = (
        cpu_seconds(lambda ik=ik: ik.solve(motion[frames], problem.constraints, frames=frames), repeats=repeats)
        for ik, repeats in ((hybrid, 7), (numeric, 3))
    )
    return {
        "lee_shin.terrain.hybrid_microseconds_a_frame": 1e6 * ours / len(frames),
        "lee_shin.terrain.numeric_microseconds_a_frame": 1e6 * theirs / len(frames),
        "lee_shin.terrain.hybrid_times_faster_than_numeric": theirs / ours,
    }


if __name__ == "__main__":
    main(run)
