"""Local edits: fit a drag or a rotation at one frame within a window of frames (Lee & Shin 1999, section 4.4).

The displacement is a uniform cubic B-spline that is zero, with its derivatives, at both ends of the window. At each
level, IK at the frames of the drags gives displacements, a spline is fitted to them, and IK at every frame of the
window restores constraints, joint limits and ground, by splines too where single frames would jerk. The knot spacing is
halved from level to level until every drag meets its target, or comes no nearer to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.constraints import Constraint, Footplant, Position
from footplant.constraints.drags import Drag, Turn
from footplant.constraints.easing import RATE_FRAMES
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import errors, worst_error
from footplant.skeleton import Character
from footplant.solve.displacement import LEAST_KNOTS, PAPER_RATE
from footplant.solve.ik.numeric import Numeric
from footplant.spline import Spline, fit_spline

KNOTS = 7
"""Length of an edit's window in knot spacings: the support of the four B-splines that are non-zero at its frame."""
LEVELS = 4
"""Maximum number of levels; each halves the knot spacing, for drags that are close in time."""
DRAG_TOLERANCE = 3e-4
"""Metres; error of a drag at which it is met."""
NEARER = 0.9
"""A finer level is followed by another one only if it leaves at most this share of the error before it."""
MULTIPLIED = 6
"""Maximum number of times that the target of a drag is moved beyond by what is missing: of 387 reachable goals on nine
clips 9 are missed by 1 to 12 mm without."""
STRONGER = 3.0
"""Factor of a drag's weight each time, up to `STRONGEST`. Of 753 reachable goals on ten clips 13 are missed by 1 to 43
mm with 1 and four times, half of them with 12 times; with 3 those are left that pull footplants off."""
STRONGEST = 27.0
"""Largest factor: a drag is no stronger than footplants."""
PULLED_OFF = 0.002
"""Metres by which a drag may pull other constraints off in the pose of its frame before they are restored."""
HOPELESS = 0.03
"""Metres beyond which a drag counts as out of reach, and its target is not moved beyond."""
FINER = (2.0, 4.0, 8.0)
"""Shares of a drag's knot spacing with which splines take up what frames need for their constraints. Of 72 drags of six
clips at 30 and 120 frames/s, joints are accelerated by 200 and 1,795 m/s² at the 90th percentile without splines, with
4 by 103 and 743, with 2 and 4 by 75 and 467, and with all three by 63 and 294; a drag takes 20, 26, 33 and 45 ms."""
ROUGH = 0.5
"""Share of the clip's own peak acceleration by which single frames may be accelerated before that is done. With 0, 0.1,
0.2 and 0.5, the same are accelerated by 63, 63, 73 and 78 m/s² at 30 frames/s, and by 294, 352, 352 and 352 at 120; a
drag of a hand of the sample walk takes 44, 43, 26 and 17 ms."""
STEP_ROUNDS = 3
"""Maximum number of solves for a dragged planted foot, each with its step moved on by what the foot is short of."""
FOOT_FREE = 0.3
"""Seconds before and after its step over which a foot gets its ankle back that a drag turns while it is planted. With
0.12, 0.2, 0.3 and 0.4 s, ankles of swinging feet of 100 drags on four clips turn by 0.8°, 3.3°, 7.4° and 11.1° at the
90th percentile (all over the window 15°), and hips dragged in the sample walk accelerate a joint to 238, 206, 100 and
93 m/s² (92)."""
MOVED_RAMP = 0.2
"""Seconds over which a footplant that has been moved ramps in and out, at least: a step moved by 13 cm accelerates the
foot to 201 m/s² within its own ramps of 0.1 s, to 141 within 0.15 s and to 98 within 0.2 s (sample walk)."""


@dataclass(frozen=True, eq=False)
class EditState:
    """A motion after some edits."""

    motion: Motion
    constraints: tuple[Constraint, ...]
    """The constraints, with footplants where they have been dragged to."""
    drags: tuple[Drag | Turn, ...] = ()
    lead: int = 0
    """Frames of a lead-in (a T-pose before the motion), which edits of other frames leave as they are."""


def drag_pin(drag: Drag, constraints: Sequence[Constraint] = ()) -> Position:
    """Return the constraint of a drag: its point at its target at its frame, after all given constraints."""
    least = min((constraint.priority for constraint in constraints), default=0) - 1
    return Position(
        point=drag.point, target=drag.target, frames=(drag.frame,), name=f"drag at {drag.frame}", priority=least
    )


def latest_drags(drags: Sequence[Drag | Turn]) -> list[Drag]:
    """Return the last drag of each point at each frame, which overrides the earlier ones."""
    return list({(drag.frame, drag.point): drag for drag in drags if isinstance(drag, Drag)}.values())


def apply_drag(state: EditState, character: Character, ik: Numeric, drag: Drag) -> EditState:
    """Return the state after a drag."""
    motion, drags = state.motion, (*state.drags, drag)
    best, least, beyond = None, np.inf, np.zeros(3)
    for _ in range(STEP_ROUNDS):
        constraints, moved = _move_step(state, character, ik, drag, beyond)
        window, rows, knot = _window(state, drag, constraints, moved)
        near = [c for c in constraints if c.acts_within(int(rows[0]), int(rows[-1]), motion.fps)]
        pins = [drag_pin(other, constraints) for other in latest_drags(drags) if other.frame in window]
        part = _fitted(motion[rows], rows, ik, near, pins, drag.frame, knot)
        left = np.asarray(drag.target) - Kinematics(part[drag.frame - int(rows[0])]).point(drag.point)[0]
        missed = float(np.linalg.norm(left))
        if missed < least:
            put = _put(motion, part, rows, window)
            best, least = replace(state, motion=put, constraints=constraints, drags=drags), missed
        if moved is None or missed <= DRAG_TOLERANCE or missed > min(least, HOPELESS):
            break
        # an ankle at its limit turns the foot about its plants: its step moves on by what the foot is short of
        beyond = beyond + left
    assert best is not None
    return best


def apply_turn(state: EditState, ik: Numeric, turn: Turn) -> EditState:
    """Return the state after a joint rotation, spread over the window, with the constraints restored."""
    motion, joint = state.motion, turn.joint
    window, rows, knot = _window(state, turn, state.constraints)
    world = Kinematics(motion[turn.frame]).rotations[0, joint]
    change = np.zeros((1, 1 + len(motion.skeleton), 3))
    change[0, 1 + joint] = rotation.log(rotation.multiply(rotation.inverse(world), turn.rotation))
    bump = _spread(change.reshape(1, -1), np.array([turn.frame]), rows, turn.frame, knot, 0)
    near = [c for c in state.constraints if c.acts_within(int(rows[0]), int(rows[-1]), motion.fps)]
    part = (
        ik.restoring(motion.skeleton.chain(joint))
        .solve(motion[rows] + bump.reshape(len(rows), -1, 3), near, frames=rows)
        .motion
    )
    return replace(state, motion=_put(motion, part, rows, window), drags=(*state.drags, turn))


def _window(
    state: EditState, edit: Drag | Turn, constraints: Sequence[Constraint], moved: range | None = None
) -> tuple[range, NDArray, float]:
    """Return the frames that an edit may change, the frames that are solved, and its knot spacing in frames.

    A margin on either side is solved as well: ramps of constraints there reach into the window.
    """
    motion, first = state.motion, state.lead if edit.frame >= state.lead else 0
    knot = max(edit.spacing * motion.fps / PAPER_RATE, 1.0)
    half = 0.5 * KNOTS * knot
    low, high = int(np.floor(edit.frame - half)) + 1, int(np.ceil(edit.frame + half))
    if moved:
        low, high = min(low, moved.start), max(high, moved.stop)
    window = range(max(low, first), min(high, len(motion)))
    around = max((max(constraint.ramp) for constraint in constraints), default=0.0)
    margin = int(np.ceil(around * motion.fps)) + 3
    return window, np.arange(max(window.start - margin, 0), min(window.stop + margin, len(motion))), knot


def _put(motion: Motion, part: Motion, rows: NDArray, window: range) -> Motion:
    """Return the motion with the frames of a window taken from its edited part."""
    root, rotations = np.array(motion.root), np.array(motion.rotations)
    inside = slice(window.start - int(rows[0]), window.stop - int(rows[0]))
    root[window.start : window.stop] = part.root[inside]
    rotations[window.start : window.stop] = part.rotations[inside]
    return replace(motion, root=root, rotations=rotations)


def _move_step(
    state: EditState, character: Character, ik: Numeric, drag: Drag, beyond: NDArray
) -> tuple[tuple[Constraint, ...], range | None]:
    """Return the constraints, with the footplants of a dragged planted foot moved, and the frames that this affects.

    beyond: metres (3,) by which they are moved farther than the drag says.
    """
    plants = _plants_of_foot(state.constraints, character, drag.point.joint)
    held = [c for c in plants if drag.frame in c.frames]  # type: ignore[operator]
    if not held:
        # a foot is free at the frame at which it is dragged: steps before and after let go of it in time
        released = {id(c): replace(c, ramp=_ramp_until(c, drag.frame, state.motion.fps)) for c in plants}
        return tuple(released.get(id(c), c) for c in state.constraints), None
    now = Kinematics(state.motion[drag.frame])
    # the foot moves from where it is, which may be millimetres from where its plants would have it
    off = np.mean([now.point(c.point)[0] - np.asarray(c.place, float) for c in held], axis=0)
    shift = np.asarray(drag.target) - now.point(drag.point)[0] + off + beyond
    first, end = _extent(held)
    # heel and ball of one step move together, though perhaps only one of them is planted at this frame
    step = [c for c in plants if c.frames[0] < end and c.frames[-1] >= first]  # type: ignore[index]
    ease = int(np.ceil(max(MOVED_RAMP, *(max(c.ramp) for c in step)) * state.motion.fps)) + 1
    first, end = _extent(step)
    places = _on_ground(np.array([c.place for c in step], float), shift, ik)
    moved = {
        id(c): replace(c, place=place, ramp=(max(c.ramp[0], MOVED_RAMP), max(c.ramp[1], MOVED_RAMP)))
        for c, place in zip(step, places)
    }
    return tuple(moved.get(id(c), c) for c in state.constraints), range(first - ease, end + ease)


def _plants_of_foot(constraints: Sequence[Constraint], character: Character, joint: int) -> list[Footplant]:
    """Return the footplants of the foot that a joint belongs to; none for a joint of no foot."""
    roles, skeleton = character.roles, character.skeleton
    feet = [] if roles is None else [roles[f"{side}_foot"] for side in ("left", "right") if f"{side}_foot" in roles]
    own = next((below for foot in feet if joint in (below := set(skeleton.descendants(foot)))), set())
    return [c for c in constraints if isinstance(c, Footplant) and c.point.joint in own and c.frames is not None]


def _extent(plants: Sequence[Footplant]) -> tuple[int, int]:
    """Return the first frame of some footplants, and the one after their last."""
    first, last = min(c.frames[0] for c in plants), max(c.frames[-1] for c in plants)  # type: ignore[index]
    return first, last + 1


def _ramp_until(plant: Footplant, frame: int, fps: float) -> tuple[float, float]:
    """Return the ramps of a footplant in seconds, shortened so that it is inactive at a frame outside of it."""
    before, after = plant.frames[0] - frame, frame - plant.frames[-1]  # type: ignore[index]
    into, out = plant.ramp
    return min(into, before / fps) if before > 0 else into, min(out, after / fps) if after > 0 else out


def _on_ground(places: NDArray, shift: NDArray, ik: Numeric) -> NDArray:
    """Return the places (N, 3) of a foot's plants moved by a shift as one, none deeper in the ground than it was."""
    moved, ground = places + shift, None if ik.bounds is None else ik.bounds.ground
    if ground is not None:
        depths = np.minimum(places[:, 1] - ground.height(places[:, [0, 2]]), 0.0)
        moved[:, 1] += max(float((ground.height(moved[:, [0, 2]]) + depths - moved[:, 1]).max()), 0.0)
    return moved


def _fitted(
    part: Motion,
    rows: NDArray,
    ik: Numeric,
    constraints: Sequence[Constraint],
    pins: Sequence[Position],
    center: int,
    knot: float,
) -> Motion:
    """Return the frames `rows` of a motion, displaced in a window by ever finer splines so that the pins are met."""
    frames = np.array(sorted({pin.frames[0] for pin in pins}), np.int64)  # type: ignore[index]
    at, left = np.searchsorted(rows, frames), np.inf
    restoring, beside = ik.restoring(), with_held_frames(frames, rows, constraints, part.fps)
    shares = _foot_shares(ik, rows, at, constraints, part)
    for level in range(LEVELS):
        posed = _pose(ik, part[np.searchsorted(rows, beside)], constraints, pins, beside)
        posed = posed[np.searchsorted(beside, frames)]
        change = (posed - part[at]).reshape(len(frames), -1)
        bump = _spread(change, frames, rows, center, knot, level).reshape(len(rows), -1, 3) * shares
        near = [*constraints, *_as_reached(pins, Kinematics(posed, frames), knot / part.fps)]
        part = _restored(part, part + bump, rows, at, restoring, near, knot)
        kinematics, before = Kinematics(part[at], frames), left
        left = max(float(errors(pin, kinematics)[1].max(initial=0.0)) for pin in pins)
        if left <= DRAG_TOLERANCE or left > NEARER * before:
            break
    return part


def _restored(
    before: Motion,
    part: Motion,
    rows: NDArray,
    at: NDArray,
    ik: Numeric,
    constraints: Sequence[Constraint],
    knot: float,
) -> Motion:
    """Return displaced frames with constraints restored, by splines as far as these can.

    Solved frame by frame, a leg that is out of reach or in the way of the other one would jerk: what the frames need is
    spread over those beside them, by finer knots each time (section 4.2), and only the rest is solved frame by frame.
    Poses that were solved for drags (`at`, rows of their frames) stay as they are: they are the least displacement. Of
    200 goals on ten clips, that of the dragged frame is up to 3.5 times as much otherwise.
    """
    solved = ik.solve(part, constraints, frames=rows).motion
    own = _peak(Kinematics(before).positions)
    for finer in FINER:
        spacing = max(knot / finer, LEAST_KNOTS)
        if _peak(Kinematics(solved).positions - Kinematics(part).positions) <= ROUGH * own:
            break
        needed = (solved - part).reshape(len(rows), -1)
        spline = fit_spline(rows, needed, spacing, float(rows[0]), float(rows[-1]))
        bend = spline(rows)
        bend -= fit_spline(rows[at], (bend - needed)[at], spacing, float(rows[0]), float(rows[-1]))(rows)
        part = part + bend.reshape(len(rows), -1, 3)
        solved = ik.solve(part, constraints, frames=rows).motion
    return solved


def _peak(places: NDArray) -> float:
    """Return the largest second difference over frames of places (F, J, 3), metres."""
    return float(np.linalg.norm(np.diff(places, 2, axis=0), axis=-1).max(initial=0.0))


def _foot_shares(ik: Numeric, rows: NDArray, at: NDArray, constraints: Sequence[Constraint], motion: Motion) -> NDArray:
    """Return the share (F, 1+J, 1) of a drag's displacement that joints take at other frames.

    An ankle turns for a footplant that holds at the frame of a drag (`at`, rows of frames); a foot that is in the air
    before or after its step gets its ankle back over `FOOT_FREE`.
    """
    shares = np.ones((len(rows), 1 + len(motion.skeleton), 1))
    if ik.bounds is None:
        return shares
    legs, carrier = ik.bounds.legs
    away = np.full((len(legs), len(rows)), np.inf)
    for plant in constraints:
        if isinstance(plant, Footplant) and plant.frames and (leg := int(carrier[plant.point.joint])) >= 0:
            first, last = plant.frames[0], plant.frames[-1]
            away[leg] = np.minimum(away[leg], np.maximum(np.maximum(first - rows, rows - last), 0))
    for leg, frames in enumerate(away):
        left = np.maximum(1.0 - frames / (FOOT_FREE * motion.fps), 0.0)
        own = left * left * (3.0 - 2.0 * left)
        most = float(own[at].max())
        if most > 0.0:
            shares[:, 1 + np.flatnonzero(carrier == leg)] = np.minimum(own / most, 1.0)[:, None, None]
    return shares


def with_held_frames(frames: NDArray, rows: NDArray, constraints: Sequence[Constraint], fps: float) -> NDArray:
    """Return frames, and the nearest ones in which footplants hold that ramp there, in order.

    A footplant that ramps asks for the correction that it makes where it holds. Without that frame it would ask for its
    place instead: dragging a hand would turn the toes of a foot that is coming down by 36°.
    """
    found = set(frames.tolist())
    for plant in constraints:
        if isinstance(plant, Footplant) and plant.frames:
            share, own = plant.activation(frames, fps), np.asarray(plant.frames)
            for frame in frames[(share > 0.0) & (share < 1.0)].tolist():
                nearest = int(own[np.abs(own - frame).argmin()])
                found |= {nearest, nearest + (RATE_FRAMES if frame < nearest else -RATE_FRAMES)}
    return np.array(sorted(found.intersection(rows.tolist())), np.int64)


def _pose(
    ik: Numeric, motion: Motion, constraints: Sequence[Constraint], pins: Sequence[Position], frames: NDArray
) -> Motion:
    """Return the poses that meet constraints and pins.

    Near the end of its reach a body pulls back with a force that a pin of finite weight gives way to. Its target is
    then moved beyond by what is missing, and its weight raised (method of multipliers), and kept so if that brings it
    nearer and leaves other constraints where they are.
    """
    first = answer = ik.solve(motion, [*constraints, *pins], frames=frames).motion
    aimed = list(pins)
    for _ in range(MULTIPLIED):
        kinematics = Kinematics(answer, frames)
        missed = [errors(pin, kinematics) for pin in pins]
        worst = max(float(off.max(initial=0.0)) for _, off in missed)
        if worst <= DRAG_TOLERANCE or worst > HOPELESS:
            break
        aimed = [
            _beyond(beyond, pin, kinematics.point(pin.point)[rows])
            for beyond, pin, (rows, _) in zip(aimed, pins, missed)
        ]
        answer = ik.solve(motion, [*constraints, *aimed], frames=frames, start=answer).motion
    left, was = (
        max(float(errors(p, Kinematics(m, frames))[1].max(initial=0.0)) for p in pins) for m in (answer, first)
    )
    if left >= 0.5 * was:
        return first
    off, before = (worst_error(Kinematics(m, frames), constraints).max(initial=0.0) for m in (answer, first))
    return answer if off <= max(PULLED_OFF, before) else first


def _beyond(beyond: Position, pin: Position, reached: NDArray) -> Position:
    """Return a pin with the force (weight times distance) that it has where it came to, and a higher weight."""
    weight = min(STRONGER * beyond.weight, STRONGEST * pin.weight)
    away = beyond.target - reached  # type: ignore[operator]
    target = pin.target + beyond.weight / weight * away  # type: ignore[operator]
    return beyond.like(target=target, weight=weight)


def _as_reached(pins: Sequence[Position], kinematics: Kinematics, ramp: float) -> list[Position]:
    """Return the pins, each one that is out of reach at the place that it has reached: it pulls no further.

    ramp: seconds before and after over which a pin lets go. Where a pin holds a body that its legs can just follow for
    one frame alone, it jumps there and back: hips of the sample turn by 25 mm, its hands by 1,015 instead of 656 m/s².
    """
    found = []
    for pin in pins:
        rows, missed = errors(pin, kinematics)
        reached = pin.target if missed.max(initial=0.0) <= DRAG_TOLERANCE else kinematics.point(pin.point)[rows]
        found.append(pin.like(target=reached, ramp=(ramp, ramp)))
    return found


def _spread(change: NDArray, frames: NDArray, rows: NDArray, center: int, knot: float, level: int) -> NDArray:
    """Return a B-spline (F, D) fitted to displacements (n, D) at some frames, zero at the ends of the window."""
    start = center - 0.5 * KNOTS * knot
    count = KNOTS * 2**level
    spline = fit_spline(frames, change, knot / 2**level, start, start + KNOTS * knot)
    control = np.array(spline.control)
    # control points whose basis functions extend beyond the window
    control[:3] = control[count:] = 0.0
    inside = (rows > start) & (rows < start + KNOTS * knot)
    out = np.zeros((len(rows), change.shape[1]))
    out[inside] = Spline(control, spline.spacing, spline.start)(rows[inside])
    return out
