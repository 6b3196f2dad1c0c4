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
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import errors
from footplant.skeleton import Character
from footplant.solve.closing import restored
from footplant.solve.displacement import PAPER_RATE
from footplant.solve.goal_poses import DRAG_TOLERANCE, HOPELESS, pose_goals, with_held_frames
from footplant.solve.ik.numeric import Numeric
from footplant.spline import Spline, fit_spline

KNOTS = 7
"""Length of an edit's window in knot spacings: the support of the four B-splines that are non-zero at its frame."""
LEVELS = 4
"""Maximum number of levels; each halves the knot spacing, for drags that are close in time."""
NEARER = 0.9
"""A finer level is followed by another one only if it leaves at most this share of the error before it."""
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
        pins = [drag_pin(other, constraints) for other in latest_drags(drags) if other.frame in window]
        part = _fitted(motion[rows], rows, ik, constraints, pins, drag.frame, knot, window)
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
    near = _acting(state.constraints, window, motion.fps)
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


def _acting(constraints: Sequence[Constraint], window: range, fps: float) -> list[Constraint]:
    """Return the constraints that act within a window: the frames that they hold are among those that are solved.

    One that acts in the margin alone may not have them there: its ramp would turn a foot by up to 3° in the last row.
    """
    return [c for c in constraints if c.acts_within(window.start, window.stop - 1, fps)]


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
    window: range | None = None,
) -> Motion:
    """Return the frames `rows` of a motion, displaced in a window by ever finer splines so that the pins are met."""
    acting = constraints if window is None else _acting(constraints, window, part.fps)
    frames = np.array(sorted({pin.frames[0] for pin in pins}), np.int64)  # type: ignore[index]
    at, left = np.searchsorted(rows, frames), np.inf
    restoring, beside = ik.restoring(), with_held_frames(frames, rows, acting, part.fps)
    shares = _foot_shares(ik, rows, at, constraints, part)
    for level in range(LEVELS):
        posed = pose_goals(ik, part[np.searchsorted(rows, beside)], acting, pins, beside)
        posed = posed[np.searchsorted(beside, frames)]
        change = (posed - part[at]).reshape(len(frames), -1)
        bump = _spread(change, frames, rows, center, knot, level).reshape(len(rows), -1, 3) * shares
        near = [*acting, *_as_reached(pins, Kinematics(posed, frames), knot / part.fps)]
        part = restored(part, part + bump, rows, at, restoring, near, knot).motion
        kinematics, before = Kinematics(part[at], frames), left
        left = max(float(errors(pin, kinematics)[1].max(initial=0.0)) for pin in pins)
        if left <= DRAG_TOLERANCE or left > NEARER * before:
            break
    return part


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
