"""Direct manipulation: a point of the figure dragged at one frame, the motion around it following smoothly.

Lee & Shin, "A hierarchical approach to interactive motion editing for human-like figures" (SIGGRAPH 1999), section 4:
the knot spacing of a B-spline sets how far an edit reaches, seven knots in all. Only that window is solved again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.clip import Clip
from footplant.constraints import Constraint, Footplant, Position
from footplant.constraints.drags import Drag, Turn, drags_from_data, drags_to_data
from footplant.contacts.detection import FEET, find_contacts
from footplant.edits.fit import choose_ik, settle
from footplant.errors import ConstraintError
from footplant.feet.steps import EASE
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Ik, Problem, errors, refuse_unhonoured
from footplant.skeleton import Character, Point
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.methods.hierarchical import EASE_DOWN, PAPER_RATE, Hierarchical
from footplant.spline import Spline, fit_spline, smooth_envelope

KNOTS = 7
"""Knots that an edit reaches over: all that the four B-splines at its frame cover."""
LEVELS = 4
"""How often the spacing is halved at most, to bring edits near one another to their targets."""
NEAR_ENOUGH = 3e-4
"""Metres from its target at which an edit has arrived."""


@dataclass(frozen=True, eq=False)
class _State:
    """A motion after some edits."""

    motion: Motion
    constraints: tuple[Constraint, ...]
    """What holds, with plants where they have been dragged to."""
    drags: tuple[Drag | Turn, ...] = ()


@dataclass(frozen=True, eq=False)
class Manipulation:
    """A motion that is edited by dragging: every edit gives a new one, and the old one is as it was.

    `begin` makes the first. While the mouse moves, call `drag` of the manipulation in which the drag began.
    """

    character: Character
    solvers: tuple[Ik, Ik]
    """What poses the frames that are dragged, and what then makes the rest hold again: the limbs alone, if it can."""
    history: tuple[_State, ...] = field(repr=False)
    """Every state, the first one without edits."""
    position: int = 0
    """Which state is the present one; those after it can be done again."""

    @property
    def motion(self) -> Motion:
        """The motion with all edits."""
        return self.history[self.position].motion

    @property
    def edits(self) -> tuple[Drag | Turn, ...]:
        """The edits, in order."""
        return self.history[self.position].drags

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """What holds beside the edits: plants are where they have been dragged to."""
        return self.history[self.position].constraints

    def drag(self, frame: int, point: Point | str, target: ArrayLike, spacing: float = 8.0) -> Manipulation:
        """Put a point (or a contact point or joint, by name) at a place (3,), metres, at one frame.

        spacing: of the knots, in frames of 1/30 s; frames farther than 3.5 of them stay as they are, to the bit. All
        other constraints keep holding, edits before this one too. A foot that is planted at the frame is dragged with
        its whole step.
        """
        self._check(frame, spacing)
        goal = np.array(target, float)
        if goal.shape != (3,) or not np.isfinite(goal).all():
            raise ConstraintError(f"expected a target of 3 finite numbers, got {target}")
        where = _point(self.character, point) if isinstance(point, str) else point
        x, y, z = goal.tolist()
        drag = Drag(int(frame), where, (x, y, z), float(spacing))
        return self._then(_dragged(self.history[self.position], self.character, self.solvers, drag))

    def turn(self, frame: int, joint: int | str, turned: ArrayLike, spacing: float = 8.0) -> Manipulation:
        """Turn a joint (by number, name or role) at one frame, to stand in the world as a quaternion (4,) says.

        What hangs on the joint goes with it, unless it is held; frames around it follow as in `drag`.
        """
        self._check(frame, spacing)
        wanted = np.array(turned, float)
        if wanted.shape != (4,) or not np.isfinite(wanted).all() or not np.linalg.norm(wanted) > 1e-9:
            raise ConstraintError(f"expected a rotation of 4 finite numbers (w, x, y, z), got {turned}")
        # one that is a rotation already is kept to the bit, so that a replay repeats it
        w, x, y, z = (wanted if rotation.are_unit(wanted, 1e-12) else rotation.normalize(wanted)).tolist()
        number = _point(self.character, joint).joint if isinstance(joint, str) else int(joint)
        if not 0 <= number < len(self.character.skeleton):
            raise ConstraintError(f"expected a joint in 0..{len(self.character.skeleton) - 1}, got {joint}")
        turn = Turn(int(frame), number, (w, x, y, z), float(spacing))
        return self._then(_turned(self.history[self.position], self.solvers, turn))

    def _check(self, frame: int, spacing: float) -> None:
        if not 0 <= frame < len(self.motion):
            raise ConstraintError(f"expected a frame in 0..{len(self.motion) - 1}, got {frame}")
        if not (np.isfinite(spacing) and spacing > 0):
            raise ConstraintError(f"expected a knot spacing above 0 frames, got {spacing}")

    def _then(self, state: _State) -> Manipulation:
        return replace(self, history=(*self.history[: self.position + 1], state), position=self.position + 1)

    def undo(self) -> Manipulation:
        """Without the last edit; the same where there is none."""
        return replace(self, position=max(self.position - 1, 0))

    def redo(self) -> Manipulation:
        """With the edit that was undone last; the same where there is none."""
        return replace(self, position=min(self.position + 1, len(self.history) - 1))

    def to_data(self) -> list[dict[str, Any]]:
        """The edits as plain values, for JSON and project files."""
        return drags_to_data(self.edits, self.character)

    def replay(self, data: Sequence[Mapping[str, Any]]) -> Manipulation:
        """Edits from plain values, done after the present ones."""
        made = self
        for edit in drags_from_data(data, self.character, frames=len(self.motion)):
            made = made.again(edit)
        return made

    def again(self, edit: Drag | Turn) -> Manipulation:
        """With one more edit, given as data."""
        if isinstance(edit, Turn):
            return self.turn(edit.frame, edit.joint, edit.rotation, edit.spacing)
        return self.drag(edit.frame, edit.point, edit.target, edit.spacing)

    def error(self) -> float:
        """Metres by which the worst of the edits misses its target, those out of reach too; 0 without edits."""
        kinematics = Kinematics(self.motion)
        missed = (float(errors(_pin(drag), kinematics)[1].max(initial=0.0)) for drag in _standing(self.edits))
        return max(missed, default=0.0)


def begin(
    clip: Clip | tuple[Motion, Character],
    constraints: Sequence[Constraint] = (),
    *,
    keep_plants: bool = True,
    progress=None,
) -> Manipulation:
    """Start to manipulate a clip. Its footplants are found and hold, unless `keep_plants` is off.

    What must hold is solved once for the whole motion; edits then solve their own windows only.
    """
    motion, character = clip if isinstance(clip, tuple) else (clip.motion, clip.character)
    settled, _ = settle(constraints, Kinematics(motion))
    if keep_plants and any(name in character.contacts for name in FEET):
        settled = [*settled, *_own_plants(motion, character)]
    ik, _ = choose_ik(motion, character, settled)
    refuse_unhonoured("direct manipulation", ik, settled)
    solved = Hierarchical(ik=ik).solve(Problem(motion, character, tuple(settled)), progress).motion
    last = replace(ik, stiffness={"leg": 0.0, "arm": 0.0}) if isinstance(ik, Hybrid) else ik
    return Manipulation(character, (ik, last), (_State(solved, tuple(settled)),))


def _own_plants(motion: Motion, character: Character) -> list[Footplant]:
    """The motion's own plants where they are, as constraints."""
    return [
        Footplant(
            point=character.contacts[plant.point],
            place=plant.place,
            frames=range(plant.start, plant.end),
            ramp=EASE,
            name=f"{plant.point.replace('_', ' ')} {plant.start}–{plant.end - 1}",
        )
        for plant in find_contacts((motion, character)).plants
    ]


def _point(character: Character, name: str) -> Point:
    if name in character.contacts:
        return character.contacts[name]
    if character.roles is not None and name not in character.skeleton.names and name in character.roles:
        return Point(character.roles[name])
    return Point(character.skeleton.index(name))


def _pin(drag: Drag) -> Position:
    return Position(point=drag.point, target=drag.target, frames=(drag.frame,), name=f"drag at {drag.frame}")


def _standing(drags: Sequence[Drag | Turn]) -> list[Drag]:
    """The last drag of each point at each frame: the ones before it are overruled."""
    return list({(drag.frame, drag.point): drag for drag in drags if isinstance(drag, Drag)}.values())


def _dragged(state: _State, character: Character, solvers: tuple[Ik, Ik], drag: Drag) -> _State:
    """The state after one more drag."""
    motion = state.motion
    constraints, moved = _move_step(state, character, drag)
    window, rows, knot = _window(motion, drag, constraints, moved)
    near = [c for c in constraints if c.frames is None or c.activation(rows, motion.fps).any()]
    drags = (*state.drags, drag)
    pins = [_pin(other) for other in _standing(drags) if other.frame in window]
    part = motion[rows]
    if moved:
        part = _enforce(part, rows, window, solvers[1], near)
    part = _fitted(part, rows, window, solvers, near, pins, drag.frame, knot)
    return _State(_put(motion, part, rows, window), constraints, drags)


def _turned(state: _State, solvers: tuple[Ik, Ik], turn: Turn) -> _State:
    """The state after a joint was turned: its displacement spread over the window, then what holds met again."""
    motion, joint = state.motion, turn.joint
    window, rows, knot = _window(motion, turn, state.constraints)
    world = Kinematics(motion[turn.frame]).rotations[0, joint]
    change = np.zeros((1, 1 + len(motion.skeleton), 3))
    change[0, 1 + joint] = rotation.log(rotation.multiply(rotation.inverse(world), turn.rotation))
    bump = _spread(change.reshape(1, -1), np.array([turn.frame]), rows, turn.frame, knot, 0)
    part = motion[rows] + bump.reshape(len(rows), -1, 3)
    near = [c for c in state.constraints if c.frames is None or c.activation(rows, motion.fps).any()]
    part = _enforce(part, rows, window, solvers[1], near)
    return _State(_put(motion, part, rows, window), state.constraints, (*state.drags, turn))


def _window(
    motion: Motion, edit: Drag | Turn, constraints: Sequence[Constraint], moved: range | None = None
) -> tuple[range, NDArray, float]:
    """The frames that an edit may change, those that are looked at for it, and its knot spacing in frames.

    A little more on either side is looked at: what holds there fades into the window, and so do lowered hips.
    """
    knot = max(edit.spacing * motion.fps / PAPER_RATE, 1.0)
    half = 0.5 * KNOTS * knot
    low, high = int(np.floor(edit.frame - half)) + 1, int(np.ceil(edit.frame + half))
    if moved:
        low, high = min(low, moved.start), max(high, moved.stop)
    window = range(max(low, 0), min(high, len(motion)))
    around = max((max(constraint.ramp) for constraint in constraints), default=0.0)
    ring = int(np.ceil(max(around, 2.0 * EASE_DOWN) * motion.fps)) + 3
    return window, np.arange(max(window.start - ring, 0), min(window.stop + ring, len(motion))), knot


def _put(motion: Motion, part: Motion, rows: NDArray, window: range) -> Motion:
    """The motion with the frames of a window taken from a part of it that was changed."""
    root, rotations = np.array(motion.root), np.array(motion.rotations)
    inside = slice(window.start - int(rows[0]), window.stop - int(rows[0]))
    root[window.start : window.stop] = part.root[inside]
    rotations[window.start : window.stop] = part.rotations[inside]
    return replace(motion, root=root, rotations=rotations)


def _move_step(state: _State, character: Character, drag: Drag) -> tuple[tuple[Constraint, ...], range | None]:
    """The constraints, those plants moved that hold the dragged foot at the frame; and the frames that this touches."""
    roles = character.roles
    feet = [] if roles is None else [roles[f"{side}_foot"] for side in ("left", "right") if f"{side}_foot" in roles]
    foot = next((joint for joint in feet if drag.point.joint in character.skeleton.descendants(joint)), None)
    if foot is None:
        return state.constraints, None
    own = set(character.skeleton.descendants(foot))
    held = [
        constraint
        for constraint in state.constraints
        if isinstance(constraint, Footplant)
        and constraint.point.joint in own
        and constraint.frames is not None
        and drag.frame in constraint.frames
    ]
    if not held:
        return state.constraints, None
    shift = np.asarray(drag.target) - Kinematics(state.motion[drag.frame]).point(drag.point)[0]
    first, last = min(c.frames[0] for c in held), max(c.frames[-1] for c in held)  # type: ignore[index]
    # a heel and a ball of one step move together, though only one of them may hold at this frame
    step = [
        constraint
        for constraint in state.constraints
        if isinstance(constraint, Footplant)
        and constraint.point.joint in own
        and constraint.frames is not None
        and constraint.frames[0] <= last
        and constraint.frames[-1] >= first
    ]
    ease = int(np.ceil(max(max(c.ramp) for c in step) * state.motion.fps)) + 1
    touched = range(
        min(c.frames[0] for c in step) - ease, max(c.frames[-1] for c in step) + 1 + ease  # type: ignore[index]
    )  # fmt: skip
    moved = {id(c): replace(c, place=np.asarray(c.place) + shift) for c in step}
    return tuple(moved.get(id(c), c) for c in state.constraints), touched


def _fitted(
    part: Motion,
    rows: NDArray,
    window: range,
    solvers: tuple[Ik, Ik],
    constraints: Sequence[Constraint],
    pins: Sequence[Position],
    center: int,
    knot: float,
) -> Motion:
    """The frames `rows` of a motion, bent inside a window so that the pins are met, by ever narrower splines."""
    frames = np.array(sorted({pin.frames[0] for pin in pins}), np.int64)  # type: ignore[index]
    at = np.searchsorted(rows, frames)
    for level in range(LEVELS):
        kinematics = Kinematics(part[at], frames)
        if max(float(errors(pin, kinematics)[1].max(initial=0.0)) for pin in pins) <= NEAR_ENOUGH:
            break
        answer = solvers[0].solve(part[at], [*constraints, *pins], frames=frames)
        change = (answer.motion - part[at]).reshape(len(frames), -1)
        bump = _spread(change, frames, rows, center, knot, level)
        part = _enforce(part + bump.reshape(len(rows), -1, 3), rows, window, solvers[1], constraints)
    return part


def _spread(change: NDArray, frames: NDArray, rows: NDArray, center: int, knot: float, level: int) -> NDArray:
    """(F, D) a B-spline through changes (n, D) at some frames, zero with its derivatives at the ends of the window."""
    start = center - 0.5 * KNOTS * knot
    count = KNOTS * 2**level
    spline = fit_spline(frames, change, knot / 2**level, start, start + KNOTS * knot)
    control = np.array(spline.control)
    # control points whose curves would reach beyond the window
    control[:3] = control[count:] = 0.0
    inside = (rows > start) & (rows < start + KNOTS * knot)
    out = np.zeros((len(rows), change.shape[1]))
    out[inside] = Spline(control, spline.spacing, spline.start)(rows[inside])
    return out


def _enforce(part: Motion, rows: NDArray, window: range, ik: Ik, constraints: Sequence[Constraint]) -> Motion:
    """What holds is met again, by the limbs alone where the figure has such; legs that cannot reach lower the hips."""
    if not constraints:
        return part
    if isinstance(ik, Hybrid):
        kinematics = Kinematics(part, rows)
        aimed = ik.aim(kinematics, constraints)
        need = ik.overreach(kinematics, constraints, aimed)
        if not need.any():
            return ik.solve(part, constraints, aimed=(kinematics, aimed)).motion
        ease = max(round(EASE_DOWN * part.fps), 1)
        # nothing moves at the ends of the window, where the motion goes on as it was
        share = np.clip(np.minimum(rows - window.start + 1, window.stop - rows) / ease, 0.0, 1.0)
        down = smooth_envelope(need, ease) * share * share * (3.0 - 2.0 * share)
        part = replace(part, root=part.root - down[:, None] * [0.0, 1.0, 0.0])
    return ik.solve(part, constraints, frames=rows).motion
