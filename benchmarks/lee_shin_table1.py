"""Table 1 of Lee & Shin (SIGGRAPH 1999) on our own samples: error and time of each level of the hierarchical fit.

Four levels of 16, 8, 4 and 2 frames a knot at 30 frames a second, without the exact last pass, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from footplant import grounds, samples
from footplant.blending.transition import crossfade
from footplant.clip import Clip
from footplant.constraints import Area, Footplant
from footplant.constraints.doorways import doorway_on_path, pass_under
from footplant.contacts.detection import find_contacts
from footplant.feet.changing_proportions import ProportionChange
from footplant.feet.footing import find_footing
from footplant.feet.stage import Stage
from footplant.feet.steps import find_steps, foot_length, plants_at, transferred_places
from footplant.feet.swing import move_feet_to_ground
from footplant.humanoid.proportions import apply_proportions
from footplant.problem import Problem
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.ik.numeric import Numeric
from footplant.solve.methods.hierarchical import Hierarchical
from footplant.transfer import transfer
from timing import cpu_seconds, main

RATE = 30.0
FOUR_LEVELS = Hierarchical(spacings=(16.0, 8.0, 4.0, 2.0), exact=False)


def rough_terrain() -> Problem:
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
    # when the figure is under a doorway, its way on the terrain tells
    on_it = move_feet_to_ground(motion, character, steps, footings, stage.ground, ground)
    return Problem(motion, character, (*plants, *pass_under(on_it, character, doorways)))


def rope() -> Problem:
    """275 frames of climbing a rope by a figure of longer legs and a shorter body, hands and feet where they were."""
    from footplant.samples import hands

    sample = hands.climb(cycles=5, fps=RATE)
    motion, target = sample.motion[:275], samples.load_character("longlegs")
    clip = Clip(motion, sample.character)
    held = find_contacts(clip, hands=True).plants
    plants = [
        Footplant(
            point=target.contacts[plant.point],
            place=plant.place,
            frames=range(plant.start, plant.end),
            ramp=(0.12, 0.12),
            name=f"{plant.point} {plant.start}–{plant.end - 1}",
        )
        for plant in held
    ]
    return Problem(transfer(motion, sample.character, target, stride=1.0), target, tuple(plants))


def morphing() -> Problem:
    """62 frames of walking while the legs get very long and then very short, in the original footsteps."""
    walk = samples.load("walk")
    clip = Clip(walk.motion.resample(RATE)[:62], walk.character)
    long, short = (
        apply_proportions(walk.character, legs=legs, trunk=trunk) for legs, trunk in ((1.4, 0.7), (0.7, 1.3))
    )
    contacts = find_contacts(clip)
    steps = find_steps(contacts, foot_length(clip.character, "left"))
    change = ProportionChange.of(clip, [clip.character, long, short], steps)
    figure = change.character()
    plants = plants_at(steps, change.places(clip, steps, contacts, False), figure)
    return Problem(change.initial_motion(clip, contacts, False), figure, plants)


def walk_to_sneak() -> Problem:
    """119 frames of going over from walking to sneaking, the feet planted through the fade."""
    made = crossfade(samples.load("walk"), samples.load("sneak"), fps=RATE)
    middle = round(0.5 * RATE * sum(made.interval))
    window = range(middle - 60, middle + 59)
    plants = []
    for plant in made.plants:
        assert isinstance(plant.frames, range)
        start, stop = max(plant.frames.start, window.start), min(plant.frames.stop, window.stop)
        if start < stop:
            plants.append(replace(plant, frames=range(start - window.start, stop - window.start)))
    return Problem(made.motion[window.start : window.stop], made.character, tuple(plants))


ROWS: dict[str, Callable[[], Problem]] = {
    "terrain": rough_terrain,
    "rope": rope,
    "morph": morphing,
    "transition": walk_to_sneak,
}


def scalar_constraints(problem: Problem) -> int:
    """How many numbers must be met, as the paper counts: three for each plant and frame, one for each bound."""
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
    return figures | compare_ik(rough_terrain())


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
