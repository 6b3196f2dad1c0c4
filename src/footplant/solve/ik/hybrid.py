"""Hybrid inverse kinematics for humanoids: Levenberg–Marquardt on the few unknowns of the trunk, limbs in closed form.

Lee & Shin, "A hierarchical approach to interactive motion editing for human-like figures" (SIGGRAPH 1999), section 5.2.
For each frame the trunk's displacement x (root translation, rotation vectors of hips, spine …) minimises

    Σ rigidity·x² + Σ_limbs importance·(stiffness·|g − s − l|² + overstretch·min(slack, 0)²) + Σ_rows weight·residual²

with g the goal of a limb's end, s its upper joint, l the vector from s to the end in the input pose, and slack the
distance left until g is too far or too near to reach. The limbs then reach their goals by `footplant.kernels.limb`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from footplant.checks import shaped
from footplant.constraints import Above, Area, Constraint, Footplant, LookAt, Orientation, Position
from footplant.errors import MotionError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import IkSolution, missing_joint, require_joints
from footplant.skeleton import Character, MovingPoint
from footplant.solve.ik.limb import LIMBS, Limb, Reach, end_distance, limbs_of
from footplant.solve.ik.limb_goals import LimbAims, LimbGoals, carriers, is_curved
from footplant.solve.ik.settings import HYBRID
from footplant.solve.ik.threads import in_parts
from footplant.solve.ik.trunk_rows import trunk_rows


def _one(values: NDArray, shape: tuple[int, ...], what: str) -> NDArray:
    """(1, …) a copy of one frame's numbers; the answer shows whether they are finite: this is called live."""
    return np.array(shaped(values, shape, what, MotionError, finite=False))[None]


@dataclass(frozen=True, eq=False)
class Hybrid:
    """Solver for poses of a humanoid: `Hybrid(character).solve(motion, constraints)`."""

    character: Character
    rigidity: Mapping[str, float] = field(default_factory=dict)
    """Role ("spine", "hips" …, "place" for the root's translation) → its rigidity; others keep
    `HybridSettings.rigidity`."""
    stiffness: Mapping[str, float] = field(default_factory=dict)
    """"leg", "arm" → how much the trunk follows it; others keep `HybridSettings.stiffness`."""
    softness: float = 0.004
    """Share of a limb's reach next to full extension that is approached asymptotically, so that knees do not snap."""
    iterations: int = 20
    """Largest number of Levenberg–Marquardt steps of the trunk."""
    swivels: Mapping[str, float] = field(default_factory=dict)
    """Limb name → radians by which its elbow or knee is rotated about the line to its goal, from the default."""
    as_straight_as: Motion | None = field(default=None, repr=False)
    """The clip that is being edited: limbs may be as straight as they are in it, beyond `HybridSettings.usable_length`.
    Constraints that hold already then change nothing, which editing needs and retargeting does not."""
    threads: int = 1
    """Number of threads that share the frames; the result does not depend on it."""

    @cached_property
    def limbs(self) -> dict[str, Limb]:
        """Arms and legs whose joints form a chain, by name."""
        return limbs_of(self.character)

    @cached_property
    def limbs_alone(self) -> Hybrid:
        """The same solver with a trunk that follows no limb: arms and legs take up the remaining error."""
        alone = replace(self, stiffness={"leg": 0.0, "arm": 0.0})
        # these do not depend on stiffness
        for name in ("limbs", "_trunk_joints", "_carrier", "_rest_reaches", "_last"):
            vars(alone)[name] = getattr(self, name)
        return alone

    def refuses(self, constraint: Constraint) -> str | None:
        """Return why it cannot honour a constraint; None when it can."""
        missing = missing_joint(constraint, len(self.character.skeleton))
        if missing:
            return missing
        if not isinstance(constraint, Position | Orientation | Footplant | Area | Above | LookAt):
            return f"hybrid solves positions, orientations, areas and gaze, not {type(constraint).__name__}"
        if isinstance(constraint, Footplant) and constraint.free:
            return "its position is free; settle it first, or use spacetime"
        if constraint.chain is not None:
            return "hybrid moves trunk and limbs, not a chain alone; use numeric"
        joint = constraint.joints[0]
        if joint in self._loose:
            return (
                f"{self.character.skeleton.names[joint]!r} belongs to the {self._loose[joint].replace('_', ' ')}, "
                "whose joints do not form a chain; use numeric"
            )
        if joint in self._trunk_joints:
            if isinstance(getattr(constraint, "point", None), MovingPoint):
                return "its point moves within a segment of the trunk; use numeric"
            return None
        name = self.character.skeleton.names[joint]
        if self._carrier[joint] < 0:
            return f"{name!r} is neither part of the trunk nor at the end of an arm or leg; use numeric"
        if isinstance(constraint, LookAt):
            return f"{name!r} is not part of the trunk; use numeric"
        return None

    @cached_property
    def _trunk_joints(self) -> frozenset[int]:
        """Joints that do not descend from a limb's upper joint."""
        skeleton = self.character.skeleton
        carried = {joint for limb in self.limbs.values() for joint in skeleton.descendants(limb.upper)}
        return frozenset(range(len(skeleton))) - carried

    @cached_property
    def _loose(self) -> dict[int, str]:
        """Joints of hands and feet that do not descend from their limb (a foot parented to the root) → the limb."""
        roles, skeleton = self.character.require_roles(), self.character.skeleton
        found = {}
        for name, parts in LIMBS.items():
            if name not in self.limbs and parts[-1] in roles:
                found |= dict.fromkeys(skeleton.descendants(roles[parts[-1]]), name)
        return found

    def solve(
        self,
        motion: Motion,
        constraints: Sequence[Constraint],
        *,
        frames: NDArray | None = None,
        start: Motion | None = None,
        aimed: tuple[Kinematics, LimbGoals] | None = None,
    ) -> IkSolution:
        """Return the poses nearest to the motion's own that meet the constraints; see `problem.Ik`.

        aimed: the motion's kinematics and the result of `aim` for it and the constraints, if they are known already.
        """
        require_joints(motion, constraints, start)
        self.character.require_fit(motion.skeleton)
        first = Kinematics(motion, frames) if aimed is None else aimed[0]
        now = first if start is None else Kinematics(start, frames)
        trunk = self.on_trunk(constraints)
        # areas and gaze targets are linearised, so their rows are evaluated again at the solved pose
        passes = 3 if any(is_curved(c) for c in trunk) else 1
        solved, reached = motion, np.ones(len(motion), bool)
        for number in range(passes):
            now = now if number == 0 else Kinematics(solved, first.frames)
            goals = self.aim(now, constraints) if aimed is None or number or start is not None else aimed[1]
            solved, reached = self._pass(first, now, goals, trunk)
        return IkSolution(solved, reached, first.frames, tuple(constraints))

    def on_trunk(self, constraints: Sequence[Constraint]) -> list[Constraint]:
        """Return the constraints that are not expressed as goals of limbs."""
        return self._split(constraints).on_trunk

    def aim(self, kinematics: Kinematics, constraints: Sequence[Constraint], every: int = 1) -> LimbGoals:
        """Return the goals of the ends of all limbs at every n-th row; constraints on the trunk are left out."""
        split, frames, fps = self._split(constraints), kinematics.frames, kinematics.motion.fps
        aims = split.aims
        if aims is None or not aims.is_for(frames, fps):
            aims = split.aims = LimbAims(list(self.limbs.values()), split.on_limbs, self._carrier, frames, fps)
        return aims.at(kinematics, every)

    def _split(self, constraints: Sequence[Constraint]) -> _Split:
        """Return the constraints split into trunk and limbs; memoised for the last ones, which recur at each level."""
        last = self._last.get("split")
        # a list may have changed since the last call
        if last is None or last.constraints is not constraints or not isinstance(constraints, tuple):
            last = _Split(constraints)
            for constraint in constraints:
                trunk = constraint.joints[0] in self._trunk_joints
                (last.on_trunk if trunk else last.on_limbs).append(constraint)
            self._last["split"] = last
        return last

    def _pass(
        self, first: Kinematics, now: Kinematics, goals: LimbGoals, on_trunk: Sequence[Constraint]
    ) -> tuple[Motion, NDArray]:
        rows = trunk_rows(first, now, on_trunk)
        motion, count = first.motion, len(first.frames)
        root, local = np.array(now.motion.root), np.array(now.motion.rotations)
        residuals, statuses = np.zeros((count, len(self.limbs))), np.zeros((count, len(self.limbs)), np.int64)
        plan = self._plan(tuple(np.any(goals.weights > 0, axis=0)), tuple(rows.joints.tolist()))
        bones = motion.skeleton.offsets[None] if motion.offsets is None else motion.offsets
        reaches = self._reaches(first)

        def work(part: slice) -> None:
            plan.solve_frames(
                (bones if len(bones) == 1 else bones[part], reaches if len(reaches) == 1 else reaches[part]),
                (
                    goals.places[part], goals.turns[part], goals.weights[part], goals.turn_weights[part],
                    goals.importance[part],
                ),
                (rows.kinds, rows.joints, rows.offsets, rows.targets[part], rows.weights[part]),
                (motion.root[part], motion.rotations[part]), (root[part], local[part]),
                (residuals[part], statuses[part]),
            )  # fmt: skip

        in_parts(self.threads, count, max(count, 1), work)
        # a softened limb that stops just before its goal counts as there
        missed = (statuses != Reach.REACHED) & (residuals > HYBRID.reached) & (goals.importance > 0)
        return motion.like(root, local, motion.offsets), ~missed.any(axis=1)

    def solve_pose(
        self,
        root: NDArray,
        rotations: NDArray,
        places: NDArray,
        turns: NDArray,
        weights: NDArray | None = None,
        turn_weights: NDArray | None = None,
    ) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Solve one pose for live use, on bare arrays: (root (3,), rotations (J, 4), metres left (L,), `Reach` (L,)).

        places (L, 3) and turns (L, 4), world, are goals for the ends of `limbs`, in their order; weights and
        turn_weights (L,), 0 to 1, how much of each is asked for (default: all).
        """
        ones, reaches, offsets, no_rows = self._live
        count, joints = len(self.limbs), len(self.character.skeleton)
        weights = ones if weights is None else _one(weights, (count,), "weights")
        turn_weights = ones if turn_weights is None else _one(turn_weights, (count,), "turn weights")
        first = _one(root, (3,), "root"), _one(rotations, (joints, 4), "rotations")
        goals = _one(places, (count, 3), "places"), _one(turns, (count, 4), "turns")
        out = first[0].copy(), first[1].copy(), np.zeros(ones.shape), np.zeros(ones.shape, np.int64)
        for array in first:
            # read-only like a motion's arrays: numba compiles a separate version for writeable ones
            array.setflags(write=False)
        plan = self._plan((True,) * len(self.limbs), ())
        plan.solve_frames(
            (offsets, reaches), (*goals, weights, turn_weights, weights), no_rows, first, out[:2], out[2:]
        )
        if not isfinite(out[0].sum() + out[1].sum() + out[2].sum()):
            self._raise_where(
                root=first[0][0], rotations=first[1][0], places=goals[0][0], turns=goals[1][0], weights=weights[0],
                turn_weights=turn_weights[0],
            )  # fmt: skip
            raise MotionError("expected a pose and goals that can be met, got ones that lead to no finite pose")
        return out[0][0], out[1][0], out[2][0], out[3][0]

    @cached_property
    def _live(self) -> tuple[NDArray, NDArray, NDArray, tuple[NDArray, ...]]:
        """Full weights, reaches, bone offsets and an empty set of trunk rows for `solve_pose`."""
        none = np.zeros(0, np.int64)
        no_rows = (none, none, np.zeros((0, 3)), np.zeros((1, 0, 4)), np.zeros((1, 0)))
        return np.ones((1, len(self.limbs))), self._rest_reaches, self.character.skeleton.offsets[None], no_rows

    def _raise_where(self, **arrays: NDArray) -> None:
        """Raise a `MotionError` that names the first entry that is not finite."""
        for label, array in arrays.items():
            bad = np.argwhere(~np.isfinite(array))
            if len(bad):
                names = {"root": "xyz", "rotations": self.character.skeleton.names}.get(label, tuple(self.limbs))
                raise MotionError(f"expected finite {label}, got NaN or infinity at {names[bad[0][0]]!r}")

    def overreach(
        self, kinematics: Kinematics, constraints: Sequence[Constraint], aimed: LimbGoals | None = None
    ) -> NDArray:
        """Return the metres (F,) by which the root must come down for both legs to reach their goals, trunk unchanged.

        Goals whose horizontal distance exceeds the leg length cannot be reached this way and contribute nothing. aimed:
        the result of `aim` for the constraints, if it is known already.
        """
        goals = self.aim(kinematics, constraints) if aimed is None else aimed
        legs = [number for number, name in enumerate(self.limbs) if name.endswith("leg")]
        hips = kinematics.positions[:, [limb.upper for name, limb in self.limbs.items() if name.endswith("leg")]]
        away = goals.places[:, legs] - hips
        below = self._reaches(kinematics)[:, legs, 1] ** 2 - away[..., 0] ** 2 - away[..., 2] ** 2
        # |hip − goal| = reach gives the largest height of the hip above the goal, √(reach² − horizontal²)
        need = -away[..., 1] - np.sqrt(np.maximum(below, 0.0))
        need = np.where((below > 0) & (goals.importance[:, legs] > 0), goals.weights[:, legs] * need, 0.0)
        return np.maximum(need, 0.0).max(axis=1, initial=0.0)

    def _stiffness(self, limb: str) -> float:
        kind = limb.partition("_")[2]
        return self.stiffness.get(kind, HYBRID.stiffness[kind])

    @cached_property
    def _last(self) -> dict[str, _Split]:
        return {}

    @cached_property
    def _carrier(self) -> NDArray:
        return carriers(self.character.skeleton, list(self.limbs.values()))

    def _reaches(self, kinematics: Kinematics) -> NDArray:
        """Return the shortest and longest reach of each limb (F, L, 2), metres; (1, L, 2) where all rows are alike."""
        moving = kinematics.motion.offsets
        reaches = self._rest_reaches if moving is None else self._spans(moving)
        if self.as_straight_as is None:
            return reaches
        own = self._stretches[kinematics.frames]
        return np.stack([np.minimum(reaches[..., 0], own), np.maximum(reaches[..., 1], own)], axis=-1)

    @cached_property
    def _rest_reaches(self) -> NDArray:
        return self._spans(self.character.skeleton.offsets[None])

    def _spans(self, offsets: NDArray) -> NDArray:
        """Return the shortest and longest reach (F, L, 2) of each limb with bones (F, J, 3), metres."""
        skeleton = self.character.skeleton
        out = np.zeros((len(offsets), len(self.limbs), 2))
        for number, limb in enumerate(self.limbs.values()):
            upper, lower = (
                np.linalg.norm(offsets[:, list(bone[1:])], axis=2).sum(axis=1)
                for bone in (skeleton.chain(limb.lower, limb.upper), skeleton.chain(limb.end, limb.lower))
            )
            out[:, number, 0] = end_distance(upper, lower, limb.flexion[1]) / HYBRID.usable_length
            out[:, number, 1] = HYBRID.usable_length * (upper + lower)
        return out

    @cached_property
    def _stretches(self) -> NDArray:
        """(F, L) metres from each limb's upper joint to its end in the clip that is being edited."""
        assert self.as_straight_as is not None
        places, limbs = Kinematics(self.as_straight_as).positions, self.limbs.values()
        return np.linalg.norm(
            places[:, [limb.end for limb in limbs]] - places[:, [limb.upper for limb in limbs]], axis=2
        )

    @cached_property
    def _plans(self) -> dict[tuple, _Plan]:
        return {}

    def _plan(self, used: tuple[bool, ...], row_joints: tuple[int, ...]) -> _Plan:
        """Return the kernel's tables for limbs in use and rows on these joints of the trunk; memoised."""
        key = (used, row_joints)
        if key not in self._plans:
            self._plans[key] = self._make_plan(used, row_joints)
        return self._plans[key]

    def _make_plan(self, used: tuple[bool, ...], row_joints: tuple[int, ...]) -> _Plan:
        skeleton, limbs = self.character.skeleton, list(self.limbs.values())
        found = self._body(used, row_joints)
        body = np.array(sorted(found), np.int64)
        place = self.rigidity.get("place", HYBRID.rigidity["place"])
        column_of = np.full(len(skeleton), -1)
        column_of[body] = 3 + 3 * np.arange(len(body))
        wanted = {joint for limb in limbs for joint in skeleton.chain(limb.upper)}
        wanted |= {joint for row in row_joints for joint in skeleton.chain(row)}
        wanted |= {joint for own in found for joint in skeleton.chain(own)}
        rigidity = np.array([place, *(found[joint] for joint in body.tolist())])
        stiffness = np.array([self._stiffness(name) for name in self.limbs])
        overstretch = np.array([HYBRID.overstretch[name.partition("_")[2]] for name in self.limbs])
        early = np.array([HYBRID.early[name.partition("_")[2]] for name in self.limbs])
        return _Plan(
            (skeleton.parents, np.array(sorted(wanted)), body, column_of, rigidity, self.iterations),
            (
                np.array([[limb.upper, limb.lower, limb.end] for limb in limbs], np.int64).reshape(-1, 3),
                np.array([limb.axis for limb in limbs]).reshape(-1, 3),
                np.array([limb.flexion for limb in limbs]).reshape(-1, 2),
                np.array([self.swivels.get(name, 0.0) for name in self.limbs]),
                stiffness, overstretch, early, self.softness,
            ),
        )  # fmt: skip

    def _body(self, used: tuple[bool, ...], row_joints: tuple[int, ...]) -> dict[int, float]:
        """Return the joints of the trunk that may rotate, with their rigidities."""
        roles = self.character.require_roles()
        wanted = ["hips", "spine"]
        column = {*roles.joints.get("neck", ()), *roles.joints.get("head", ())}
        if column.intersection(row_joints):
            wanted += ["neck", "head"]
        for name, in_use in zip(self.limbs, used):
            if name.endswith("arm") and in_use:
                wanted.append(f"{name.partition('_')[0]}_clavicle")
        found = {}
        for role in wanted:
            part = role.removeprefix("left_").removeprefix("right_")
            value = self.rigidity.get(part, HYBRID.rigidity[part])
            found |= {joint: value for joint in roles.joints.get(role, ()) if joint in self._trunk_joints}
        return found


@dataclass(eq=False)
class _Split:
    """Constraints split by where they act, with the limb goals built from them."""

    constraints: Sequence[Constraint]
    on_trunk: list[Constraint] = field(default_factory=list)
    on_limbs: list[Constraint] = field(default_factory=list)
    aims: LimbAims | None = None


@dataclass(frozen=True, eq=False)
class _Plan:
    """Tables of the character for `footplant.kernels.hybrid.solve_frames`."""

    trunk: tuple
    """Fields of `Trunk`."""
    limbs: tuple
    """Fields of `Limbs`."""

    def solve_frames(self, bones: tuple, goals: tuple, rows: tuple, first: tuple, pose: tuple, outcome: tuple) -> None:
        """Call the kernel with the fields of `Bones`, `Goals`, `TrunkRows`, two `Pose`s and `Outcome`."""
        from footplant.kernels import hybrid as kernel

        kernel.solve_frames(
            kernel.Trunk(*self.trunk), kernel.Limbs(*self.limbs), kernel.Bones(*bones), kernel.Goals(*goals),
            kernel.TrunkRows(*rows), kernel.Pose(*first), kernel.Pose(*pose), kernel.Outcome(*outcome),
        )  # fmt: skip
