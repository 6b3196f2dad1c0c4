"""Hybrid inverse kinematics for human-like figures: few unknowns for the trunk, limbs in closed form.

Lee & Shin, "A hierarchical approach to interactive motion editing for human-like figures" (SIGGRAPH 1999), section 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.constraints import Above, Area, Constraint, Footplant, LookAt, Orientation, Position
from footplant.errors import SkeletonError
from footplant.geometry import Plane
from footplant.ik.goals import LimbGoals, limb_goals, limb_of_joint, weight_of
from footplant.ik.limb import LIMBS, Limb, limb_of
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import IkSolution, worst_error
from footplant.skeleton import Character, MovingPoint, Point

STIFFNESS = {"leg": 1.0, "arm": 0.01}
"""How much the trunk follows a limb's goal (1/m²): hips go with the feet, the trunk stays behind a reaching hand."""
RIGIDITY = {"place": 0.03, "hips": 0.3, "spine": 0.4, "neck": 0.2, "head": 0.2, "clavicle": 0.3}
"""α of METHODS A3: what it costs to move the root (1/m²) and to turn each joint of the trunk (1/rad²)."""
NEAR_ENOUGH = 0.001
"""Metres from its goal at which a limb counts as having reached it."""
REACH = 0.992
"""The trunk is asked to come so near that a limb reaches its goal with this share of its full length."""


@dataclass(frozen=True, eq=False)
class Hybrid:
    """Poses a human-like figure: `Hybrid(character).solve(motion, constraints)`."""

    character: Character
    rigidity: Mapping[str, float] = field(default_factory=dict)
    """Role ("spine", "hips" …, "place" for the root's place) → how unwilling it is; others keep `RIGIDITY`."""
    stiffness: Mapping[str, float] = field(default_factory=dict)
    """"leg", "arm" → how much the trunk follows it; others keep `STIFFNESS`."""
    softness: float = 0.004
    """The last share of a limb's reach that is approached gently, so that knees do not snap."""
    as_straight_as: Motion | None = field(default=None, repr=False)
    """The clip that is edited: limbs may be as straight as they are in it, beyond `REACH`. What holds already then
    stays as it is, which an edit of a motion wants and a change of figure does not."""
    iterations: int = 20
    swivels: Mapping[str, float] = field(default_factory=dict)
    """Limb name → radians by which its elbow or knee is turned about the line to its goal, from where it would be."""

    @cached_property
    def limbs(self) -> dict[str, Limb]:
        """Arms and legs that hang together, by name."""
        found = {}
        for name, roles in LIMBS.items():
            if not all(role in self.character.require_roles() for role in roles):
                continue
            try:
                limb = limb_of(self.character, name)
                self.character.skeleton.chain(limb.end, limb.lower)
                self.character.skeleton.chain(limb.lower, limb.upper)
            except SkeletonError:
                continue
            found[name] = limb
        return found

    def refuses(self, constraint: Constraint) -> str | None:
        """Why it cannot honour a constraint; None when it can."""
        if not isinstance(constraint, Position | Orientation | Footplant | Area | Above | LookAt):
            return f"hybrid knows positions, orientations, areas and gazes, not {type(constraint).__name__}"
        if isinstance(constraint, Footplant) and constraint.free:
            return "its place is free; settle it first, or use spacetime"
        if constraint.chain is not None:
            return "hybrid lets trunk and limbs follow as they can, not a chain alone; use numeric"
        joint = constraint.joint if isinstance(constraint, Orientation) else constraint.point.joint
        if joint in self._trunk_joints:
            if isinstance(getattr(constraint, "point", None), MovingPoint):
                return "its point moves inside a segment of the trunk; use numeric"
            return None
        name = self.character.skeleton.names[joint]
        if limb_of_joint(self.character.skeleton, list(self.limbs.values()), joint) is None:
            return f"{name!r} is neither of the trunk nor at the end of an arm or leg; use numeric"
        if isinstance(constraint, LookAt):
            return f"{name!r} is no part of the trunk; use numeric"
        return None

    @cached_property
    def _trunk_joints(self) -> frozenset[int]:
        """Joints that no limb's upper joint carries."""
        skeleton = self.character.skeleton
        carried = {joint for limb in self.limbs.values() for joint in skeleton.descendants(limb.upper)}
        return frozenset(range(len(skeleton))) - carried

    def solve(
        self,
        motion: Motion,
        constraints: Sequence[Constraint],
        *,
        frames: NDArray | None = None,
        start: Motion | None = None,
    ) -> IkSolution:
        """The poses nearest to the motion's own that meet the constraints; see `problem.Ik`."""
        first = Kinematics(motion, frames)
        now = first if start is None else Kinematics(start, frames)
        curved = any(
            isinstance(c, LookAt | Area | Above)
            and not isinstance(c.region if isinstance(c, Area) else None, Plane)
            and self._joint_of(c) in self._trunk_joints
            for c in constraints
        )
        # areas and gazes of the trunk are followed by their tangents, which a second look puts right
        for _ in range(3 if curved else 1):
            solved, reached = self._pass(first, now, constraints)
            now = Kinematics(solved, first.frames)
        return IkSolution(now.motion, worst_error(now, constraints), reached)

    def _pass(self, first: Kinematics, now: Kinematics, constraints: Sequence[Constraint]) -> tuple[Motion, NDArray]:
        from footplant.kernels import hybrid as kernel

        limbs = list(self.limbs.values())
        on_limbs = [c for c in constraints if self._joint_of(c) not in self._trunk_joints]
        on_trunk = [c for c in constraints if self._joint_of(c) in self._trunk_joints]
        goals = limb_goals(now, limbs, on_limbs)
        rows = _trunk_rows(now, on_trunk)
        body, rigidity = self._body(on_trunk, goals)
        skeleton, motion = self.character.skeleton, first.motion
        column_of = np.full(len(skeleton), -1)
        column_of[body] = 3 + 3 * np.arange(len(body))
        wanted = {joint for limb in limbs for joint in skeleton.chain(limb.upper)}
        wanted |= {joint for row in rows.joints.tolist() for joint in skeleton.chain(row)}
        wanted |= {joint for own in body.tolist() for joint in skeleton.chain(own)}
        offsets = skeleton.offsets[None] if motion.offsets is None else motion.offsets
        root, local = np.array(now.motion.root), np.array(now.motion.rotations)
        count = len(first.frames)
        residuals, statuses = np.zeros((count, len(limbs))), np.zeros((count, len(limbs)), np.int64)
        stiffness = np.array([self._stiffness(name) for name in self.limbs])
        kernel.solve_frames(
            skeleton.parents, offsets, np.array(sorted(wanted)), body, column_of, rigidity,
            np.array([[limb.upper, limb.lower, limb.end] for limb in limbs], np.int64).reshape(-1, 3),
            np.array([limb.axis for limb in limbs]).reshape(-1, 3),
            np.array([limb.flexion for limb in limbs]).reshape(-1, 2),
            np.array([self.swivels.get(name, 0.0) for name in self.limbs]), self._reaches(first, limbs), stiffness,
            self.softness, self.iterations, motion.root, motion.rotations, goals.places, goals.turns, goals.weights,
            goals.turn_weights, goals.importance, rows.kinds, rows.joints, rows.offsets, rows.targets, rows.weights,
            root, local, residuals, statuses,
        )  # fmt: skip
        # softened or stopped a hair before the goal is as good as there
        missed = (statuses != kernel.REACHED) & (residuals > NEAR_ENOUGH) & (goals.importance > 0)
        return replace(motion, root=root, rotations=local), ~missed.any(axis=1)

    def overreach(self, kinematics: Kinematics, constraints: Sequence[Constraint]) -> NDArray:
        """(F,) metres by which the root must come down for both legs to reach what is asked of them, trunk as it is.

        Goals farther off sideways than a leg is long need another way; they ask for nothing here.
        """
        legs = [limb for name, limb in self.limbs.items() if name.endswith("leg")]
        goals = limb_goals(kinematics, legs, [c for c in constraints if self._joint_of(c) not in self._trunk_joints])
        hips = kinematics.positions[:, [limb.upper for limb in legs]]
        away = goals.places - hips
        reach = self._reaches(kinematics, legs)
        below = reach**2 - away[..., 0] ** 2 - away[..., 2] ** 2
        # the hip may be so much above the goal and no more
        need = -away[..., 1] - np.sqrt(np.maximum(below, 0.0))
        need = np.where((below > 0) & (goals.importance > 0), goals.weights * need, 0.0)
        return np.maximum(need, 0.0).max(axis=1, initial=0.0)

    def _joint_of(self, constraint: Constraint) -> int:
        return constraint.joint if isinstance(constraint, Orientation) else constraint.point.joint  # type: ignore[attr-defined]

    def _stiffness(self, limb: str) -> float:
        kind = limb.partition("_")[2]
        return self.stiffness.get(kind, STIFFNESS[kind])

    def _reaches(self, kinematics: Kinematics, limbs: Sequence[Limb]) -> NDArray:
        """(F, L) how far each limb gets, metres."""
        motion = kinematics.motion
        offsets = motion.skeleton.offsets[None] if motion.offsets is None else motion.offsets
        out = np.zeros((len(motion), len(limbs)))
        for number, limb in enumerate(limbs):
            bones = (motion.skeleton.chain(limb.lower, limb.upper), motion.skeleton.chain(limb.end, limb.lower))
            out[:, number] = sum(np.linalg.norm(offsets[:, joint], axis=1) for bone in bones for joint in bone[1:])
        if self.as_straight_as is None:
            return REACH * out
        return np.maximum(REACH * out, self._stretches(limbs)[kinematics.frames])

    def _stretches(self, limbs: Sequence[Limb]) -> NDArray:
        """(F, L) metres from each limb's upper joint to its end in the clip that is edited."""
        uppers, ends = ([getattr(limb, key) for limb in limbs] for key in ("upper", "end"))
        return np.linalg.norm(self._clip_positions[:, ends] - self._clip_positions[:, uppers], axis=2)

    @cached_property
    def _clip_positions(self) -> NDArray:
        assert self.as_straight_as is not None
        return Kinematics(self.as_straight_as).positions

    def _body(self, on_trunk: Sequence[Constraint], goals: LimbGoals) -> tuple[NDArray, NDArray]:
        """Joints of the trunk that may turn, and the rigidities of the root's place and of theirs."""
        roles = self.character.require_roles()
        wanted = ["hips", "spine"]
        column = {*roles.joints.get("neck", ()), *roles.joints.get("head", ())}
        if any(self._joint_of(constraint) in column for constraint in on_trunk):
            wanted += ["neck", "head"]
        for number, name in enumerate(self.limbs):
            if name.endswith("arm") and goals.weights[:, number].any():
                wanted.append(f"{name.partition('_')[0]}_clavicle")
        found = {}
        for role in wanted:
            part = role.removeprefix("left_").removeprefix("right_")
            value = self.rigidity.get(part, RIGIDITY[part])
            found |= {joint: value for joint in roles.joints.get(role, ()) if joint in self._trunk_joints}
        body = np.array(sorted(found), np.int64)
        place = self.rigidity.get("place", RIGIDITY["place"])
        return body, np.array([place, *(found[joint] for joint in body.tolist())])


@dataclass(frozen=True, eq=False)
class _Rows:
    """Constraints on the trunk as the kernel takes them."""

    kinds: NDArray
    joints: NDArray
    offsets: NDArray
    targets: NDArray
    """(F, R, 4)"""
    weights: NDArray
    """(F, R)"""


def _trunk_rows(kinematics: Kinematics, constraints: Sequence[Constraint]) -> _Rows:
    from footplant.kernels import hybrid as kernel

    frames, count = len(kinematics.frames), len(constraints)
    kinds, joints, offsets = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros((count, 3))
    targets, weights = np.zeros((frames, count, 4)), np.zeros((frames, count))
    for row, constraint in enumerate(constraints):
        weights[:, row] = (
            100.0 * weight_of(constraint) * constraint.activation(kinematics.frames, kinematics.motion.fps)
        )
        point = Point(constraint.joint) if isinstance(constraint, Orientation) else constraint.point  # type: ignore[attr-defined]
        joints[row], offsets[row] = point.joint, point.offset
        if isinstance(constraint, Orientation | LookAt):
            kinds[row] = kernel.ORIENTATION
            targets[:, row] = (
                constraint.turns(kinematics) if isinstance(constraint, Orientation) else _facing(constraint, kinematics)
            )
        elif isinstance(constraint, Area | Above):
            kinds[row] = kernel.HALF_SPACE
            places = kinematics.point(point)
            slope = constraint.slopes(places)
            level = np.sum(slope * places, axis=1) - constraint.slack(places, kinematics.frames)
            targets[:, row] = np.concatenate([slope, level[:, None]], axis=1)
        else:
            kinds[row] = kernel.POSITION
            targets[:, row, :3] = kinematics.point(point) - constraint.residual(kinematics)
    return _Rows(kinds, joints, offsets, targets, weights)


def _facing(constraint: LookAt, kinematics: Kinematics) -> NDArray:
    """(F, 4) the least turn of the segment that makes it look at its target."""
    gaze, sight = constraint.sight(kinematics)
    return rotation.multiply(rotation.between(gaze, sight), kinematics.rotations[:, constraint.point.joint])
