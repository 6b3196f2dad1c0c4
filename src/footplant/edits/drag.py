"""Direct manipulation: drag a point of the character at one frame, and the motion around it follows smoothly.

Lee & Shin, "A hierarchical approach to interactive motion editing for human-like figures" (SIGGRAPH 1999), section 4.4
and figure 2: the knot spacing of a B-spline sets the extent of an edit, seven knots in all. Only that window is solved
again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from footplant import rotation
from footplant.checks import real_array, real_number, whole_number
from footplant.clip import Clip
from footplant.constraints import Constraint, Footplant
from footplant.constraints.body import entered_notes
from footplant.constraints.drags import Drag, Turn, drags_from_data, drags_to_data
from footplant.contacts.detection import FEET, find_contacts
from footplant.contacts.ground import Ground
from footplant.errors import ConstraintError
from footplant.feet.kept_plants import own_plants
from footplant.feet.lead_in import join_lead_in, lead_in_beside
from footplant.feet.planting import can_plant, plant_feet
from footplant.feet.soles import flatten_toes
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Problem, Report, Status, conflicts, errors, evaluate_constraints, refuse_unsupported
from footplant.skeleton import Character, Point
from footplant.solve.choose_ik import choose_ik, posing_ik, settle
from footplant.solve.ik.numeric import Numeric
from footplant.solve.methods.hierarchical import Hierarchical
from footplant.solve.window import EditState, apply_drag, apply_turn, drag_pin, latest_drags

TOLERANCE = 0.001
"""Metres from its target within which a drag is met."""
WIDEST = 1e5
"""Maximum distance of knots, in frames of 1/30 s: about an hour."""


@dataclass(frozen=True, eq=False)
class Manipulation:
    """A motion edited by dragging. Immutable: every edit returns a new one.

    `begin` creates the first. While the mouse moves, call `drag` of the manipulation in which the drag began.
    """

    character: Character
    ik: Numeric
    """The inverse kinematics of dragged frames and of the frames around them."""
    history: tuple[EditState, ...] = field(repr=False)
    """All states, the first one without edits."""
    position: int = 0
    """Index of the current state; later ones can be redone."""

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
        """The constraints beside the edits; footplants are where they have been dragged to."""
        return self.history[self.position].constraints

    def drag(self, frame: int, point: Point | str, target: ArrayLike, spacing: float = 8.0) -> Manipulation:
        """Move a point (or a contact point or joint, by name) to a position (3,), metres, at one frame.

        spacing: knot spacing in frames of 1/30 s; frames more than 3.5 knots away are unchanged, bit by bit. All other
        constraints and earlier edits still hold. A foot that is planted at the frame is dragged with its whole step.
        """
        self._check(frame, spacing)
        goal = real_array(target, "a target", ConstraintError)
        if goal.shape != (3,) or not np.isfinite(goal).all():
            raise ConstraintError(f"expected a target of 3 finite numbers, got {target}")
        where = _point(self.character, point) if isinstance(point, str) else point
        self.character.skeleton.require_joint(where.joint)
        x, y, z = goal.tolist()
        drag = Drag(int(frame), where, (x, y, z), float(spacing))
        return self._then(apply_drag(self.history[self.position], self.character, self.ik, drag))

    def turn(self, frame: int, joint: int | str, turned: ArrayLike, spacing: float = 8.0) -> Manipulation:
        """Rotate a joint (by index, name or role) at one frame to a world rotation, a quaternion (4,).

        Its descendants follow unless they are constrained; neighbouring frames follow as in `drag`.
        """
        self._check(frame, spacing)
        wanted = real_array(turned, "a rotation", ConstraintError)
        if wanted.shape != (4,) or not np.isfinite(wanted).all() or not np.linalg.norm(wanted) > 1e-9:
            raise ConstraintError(f"expected a rotation of 4 finite numbers (w, x, y, z), got {turned}")
        # a unit quaternion is kept bit by bit, so that a replay gives the same result
        w, x, y, z = (wanted if rotation.are_unit(wanted, 1e-12) else rotation.normalize(wanted)).tolist()
        last = len(self.character.skeleton) - 1
        named = _point(self.character, joint).joint if isinstance(joint, str) else joint
        number = whole_number(named, "a joint", ConstraintError, low=0, high=last)
        turn = Turn(int(frame), number, (w, x, y, z), float(spacing))
        return self._then(apply_turn(self.history[self.position], self.ik, turn))

    def _check(self, frame: int, spacing: float) -> None:
        whole_number(frame, "a frame", ConstraintError, low=0, high=len(self.motion) - 1)
        if not 0 < real_number(spacing, "knot spacing", ConstraintError) <= WIDEST:
            raise ConstraintError(f"expected a knot spacing above 0 frames, got {spacing}")

    def _then(self, state: EditState) -> Manipulation:
        return replace(self, history=(*self.history[: self.position + 1], state), position=self.position + 1)

    def undo(self) -> Manipulation:
        """Return the manipulation without its last edit; unchanged if there is none."""
        return replace(self, position=max(self.position - 1, 0))

    def redo(self) -> Manipulation:
        """Return the manipulation with the edit that was undone last; unchanged if there is none."""
        return replace(self, position=min(self.position + 1, len(self.history) - 1))

    def to_data(self) -> list[dict[str, Any]]:
        """Return the edits as JSON-ready values, for project files."""
        return drags_to_data(self.edits, self.character)

    def replay(self, data: Sequence[Mapping[str, Any]]) -> Manipulation:
        """Apply edits given as JSON-ready values."""
        made = self
        for edit in drags_from_data(data, self.character, frames=len(self.motion)):
            made = made.again(edit)
        return made

    def again(self, edit: Drag | Turn) -> Manipulation:
        """Apply one edit given as data."""
        if isinstance(edit, Turn):
            return self.turn(edit.frame, edit.joint, edit.rotation, edit.spacing)
        return self.drag(edit.frame, edit.point, edit.target, edit.spacing)

    def error(self) -> float:
        """Return the largest distance of a dragged point from its target, metres, unreachable ones included."""
        kinematics = Kinematics(self.motion)
        missed = (float(errors(drag_pin(drag), kinematics)[1].max(initial=0.0)) for drag in latest_drags(self.edits))
        return max(missed, default=0.0)

    def status(self) -> Status:
        """Return whether the drags are met, out of reach, or contradicted; `error` says by how much.

        Footplants, joint limits and the ground come before a drag.
        """
        state, kinematics = self.history[self.position], Kinematics(self.motion)
        pins = [drag_pin(drag, state.constraints) for drag in latest_drags(self.edits)]
        missed = [pin for pin in pins if float(errors(pin, kinematics)[1].max(initial=0.0)) > TOLERANCE]
        if not missed:
            return Status.SOLVED
        frames = np.array(sorted({pin.frames[0] for pin in missed}), np.int64)  # type: ignore[index]
        asked = (*state.constraints, *pins)
        if conflicts(Problem(self.motion, self.character, asked)):
            return Status.CONFLICT
        # footplants of a foot that is dragged into the ground stay on it: they do not count
        carrier = np.full(len(self.character.skeleton), -1) if self.ik.bounds is None else self.ik.bounds.legs[1]
        feet = {int(carrier[pin.point.joint]) for pin in missed} - {-1}
        others = [c for c in asked if not (isinstance(c, Footplant) and int(carrier[c.point.joint]) in feet)]
        contradicted = self.ik.contradicted(self.history[0].motion[frames], others, frames, TOLERANCE)
        return Status.CONFLICT if contradicted.all() else Status.UNREACHABLE

    def report(self) -> Report:
        """Return the error of every drag and the status of all, as methods report on their constraints.

        A drag reaches its target even inside the body; a note reports an arm that is inside it there.
        """
        status, pins = self.status(), tuple(drag_pin(drag) for drag in latest_drags(self.edits))
        entries = evaluate_constraints(Problem(self.motion, self.character, pins), Kinematics(self.motion))
        notes = tuple(
            f"{entry.name} is {entry.worst:.0f} mm from its target"
            + (": joint limits or the ground contradict it" if status is Status.CONFLICT else "")
            for entry in entries
            if not entry.met
        )
        goals = [(drag.point.joint, drag.frame) for drag in latest_drags(self.edits)]
        notes += tuple(entered_notes(self.character, self.history[0].motion, self.motion, goals))
        return Report("drag", status, self.character.height, entries, notes=notes)


def begin(
    clip: Clip | tuple[Motion, Character],
    constraints: Sequence[Constraint] = (),
    *,
    keep_plants: bool = True,
    progress=None,
) -> Manipulation:
    """Start the direct manipulation of a clip. Its footplants are detected and kept, unless `keep_plants` is off.

    Constraints are solved once for the whole motion; each edit then solves its own window only. A lead-in (a T-pose
    before the motion) stays as it is, unless a constraint holds in it or one of its frames is edited.
    """
    clip = Clip(*clip, name="clip") if isinstance(clip, tuple) else clip
    motion, character, lead = clip.motion, clip.character, lead_in_beside(constraints, clip)
    settled, _ = settle(constraints, Kinematics(motion))
    has_feet = any(name in character.contacts for name in FEET)
    ground = find_contacts((motion, character)).ground if has_feet else None
    if keep_plants and has_feet:
        plants = own_plants(motion, character)
        if ground is not None and can_plant(character):
            motion, plants = _planted(motion, character, plants, ground)
        settled = [*settled, *plants]
    elif ground is not None and can_plant(character):
        # feet that are planted stand flat: those whose captured toes bend meanwhile are too long or too short
        motion = flatten_toes(motion, character, [c for c in settled if isinstance(c, Footplant)], ground)
    ik, _ = choose_ik(motion, character, settled)
    refuse_unsupported("direct manipulation", ik, settled)
    solved = Hierarchical(ik=ik).solve(Problem(motion, character, tuple(settled)), progress).motion
    solved = join_lead_in(clip.motion[:lead], solved[lead:], character, None)
    state = EditState(solved, tuple(settled), lead=lead)
    return Manipulation(character, posing_ik(solved, character, ground, settled), (state,))


def _planted(
    motion: Motion, character: Character, plants: Sequence[Footplant], ground: Ground
) -> tuple[Motion, Sequence[Footplant]]:
    """Return the motion with its feet on its own footplants, toes laid flat, and plants as far apart as feet are then.

    Captured toes bend while heel and ball are planted: a foot with its toes as they are is too long or too short for
    both, by up to 20 mm in a dance. Soles that are in the ground stay as deep as they are.
    """
    kinematics, allowed = Kinematics(motion), {}
    for name in FEET:
        if name in character.contacts:
            places = kinematics.point(character.contacts[name])
            allowed[name] = np.minimum(places[:, 1] - ground.height(places[:, ::2]), 0.0)
    planted = plant_feet(motion, character, plants, ground, allowed=allowed)
    return planted.motion, planted.plants


def _point(character: Character, name: str) -> Point:
    if name in character.contacts:
        return character.contacts[name]
    if character.roles is not None and name not in character.skeleton.names and name in character.roles:
        return Point(character.roles[name])
    return Point(character.skeleton.index(name))
