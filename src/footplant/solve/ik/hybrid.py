"""Hybrid inverse kinematics for human-like figures: few unknowns for the trunk, limbs in closed form.

Lee & Shin, "A hierarchical approach to interactive motion editing for human-like figures" (SIGGRAPH 1999), section 5.2.
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
from footplant.solve.ik.limb import LIMBS, Limb, Reach, limbs_of
from footplant.solve.ik.limb_goals import LimbAims, LimbGoals, carriers, is_curved
from footplant.solve.ik.threads import in_parts
from footplant.solve.ik.trunk_rows import trunk_rows

STIFFNESS = {"leg": 1.0, "arm": 0.01}
"""How much the trunk follows a limb's goal (1/m²): hips go with the feet, the trunk stays behind a reaching hand."""
OVERSTRETCH = {"leg": 100.0, "arm": 100.0}
"""What it costs the trunk to leave a goal beyond a limb's reach (1/m²)."""
EARLY = {"leg": 1.0, "arm": 0.0}
"""How much of the way the trunk goes as soon as a goal of a limb begins to ease in. A foot that comes down finds the
hips low enough; a hand that is about to reach for something does not pull the body along."""
RIGIDITY = {"place": 0.03, "hips": 0.3, "spine": 0.4, "neck": 0.2, "head": 0.2, "clavicle": 0.3}
"""α of METHODS A3: what it costs to move the root (1/m²) and to turn each joint of the trunk (1/rad²)."""
NEAR_ENOUGH = 0.001
"""Metres from its goal at which a limb counts as having reached it."""
REACH = 0.992
"""The trunk is asked to come so near that a limb reaches its goal with this share of its full length, and to stay as
far off as the limb is long when folded, over this share."""


def _one(values: NDArray, shape: tuple[int, ...], what: str) -> NDArray:
    """(1, …) a copy of one frame's numbers; whether they are finite is told by the answer: this is called live."""
    return np.array(shaped(values, shape, what, MotionError, finite=False))[None]


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
    iterations: int = 20
    swivels: Mapping[str, float] = field(default_factory=dict)
    """Limb name → radians by which its elbow or knee is turned about the line to its goal, from where it would be."""
    as_straight_as: Motion | None = field(default=None, repr=False)
    """The clip that is edited: limbs may be as straight as they are in it, beyond `REACH`. What holds already then
    stays as it is, which an edit of a motion wants and a change of figure does not."""
    threads: int = 1
    """How many share the frames; the answer is the same to the bit."""

    @cached_property
    def limbs(self) -> dict[str, Limb]:
        """Arms and legs that hang together, by name."""
        return limbs_of(self.character)

    @cached_property
    def limbs_alone(self) -> Hybrid:
        """The same with a trunk that follows no limb: what is left goes into arms and legs."""
        alone = replace(self, stiffness={"leg": 0.0, "arm": 0.0})
        # what does not depend on stiffness is known already
        for name in ("limbs", "_trunk_joints", "_carrier", "_usual_reaches", "_last"):
            vars(alone)[name] = getattr(self, name)
        return alone

    def refuses(self, constraint: Constraint) -> str | None:
        """Why it cannot honour a constraint; None when it can."""
        missing = missing_joint(constraint, len(self.character.skeleton))
        if missing:
            return missing
        if not isinstance(constraint, Position | Orientation | Footplant | Area | Above | LookAt):
            return f"hybrid knows positions, orientations, areas and gazes, not {type(constraint).__name__}"
        if isinstance(constraint, Footplant) and constraint.free:
            return "its place is free; settle it first, or use spacetime"
        if constraint.chain is not None:
            return "hybrid lets trunk and limbs follow as they can, not a chain alone; use numeric"
        joint = constraint.joints[0]
        if joint in self._loose:
            return (
                f"{self.character.skeleton.names[joint]!r} belongs to the {self._loose[joint].replace('_', ' ')}, "
                "whose joints do not hang together; use numeric"
            )
        if joint in self._trunk_joints:
            if isinstance(getattr(constraint, "point", None), MovingPoint):
                return "its point moves inside a segment of the trunk; use numeric"
            return None
        name = self.character.skeleton.names[joint]
        if self._carrier[joint] < 0:
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

    @cached_property
    def _loose(self) -> dict[int, str]:
        """Joints of hands and feet that hang on something else than their limb (a foot on the root) → which limb."""
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
        """The poses nearest to the motion's own that meet the constraints; see `problem.Ik`.

        aimed: the motion's kinematics and what `aim` made of it and the constraints, where that is known already.
        """
        require_joints(motion, constraints, start)
        self.character.require_fit(motion.skeleton)
        first = Kinematics(motion, frames) if aimed is None else aimed[0]
        now = first if start is None else Kinematics(start, frames)
        trunk = self.on_trunk(constraints)
        # areas and gazes of the trunk are followed by their tangents, which a second look puts right
        passes = 3 if any(is_curved(c) for c in trunk) else 1
        solved, reached = motion, np.ones(len(motion), bool)
        for number in range(passes):
            now = now if number == 0 else Kinematics(solved, first.frames)
            goals = self.aim(now, constraints) if aimed is None or number or start is not None else aimed[1]
            solved, reached = self._pass(first, now, goals, trunk)
        return IkSolution(solved, reached, first.frames, tuple(constraints))

    def on_trunk(self, constraints: Sequence[Constraint]) -> list[Constraint]:
        """Those that no limb's goal stands for."""
        return self._told(constraints).on_trunk

    def aim(self, kinematics: Kinematics, constraints: Sequence[Constraint], every: int = 1) -> LimbGoals:
        """Where constraints want the ends of all limbs, at every so many rows; those on the trunk are left out."""
        told, frames, fps = self._told(constraints), kinematics.frames, kinematics.motion.fps
        aims = told.aims
        if aims is None or not aims.is_for(frames, fps):
            aims = told.aims = LimbAims(list(self.limbs.values()), told.on_limbs, self._carrier, frames, fps)
        return aims.at(kinematics, every)

    def _told(self, constraints: Sequence[Constraint]) -> _Told:
        """What is known of constraints; of the last ones it is remembered, as methods ask for them level by level."""
        known = self._last.get("told")
        # a list may have others in it by the next time
        if known is None or known.constraints is not constraints or not isinstance(constraints, tuple):
            known = _Told(constraints)
            for constraint in constraints:
                trunk = constraint.joints[0] in self._trunk_joints
                (known.on_trunk if trunk else known.on_limbs).append(constraint)
            self._last["told"] = known
        return known

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
                bones if len(bones) == 1 else bones[part], reaches if len(reaches) == 1 else reaches[part],
                motion.root[part], motion.rotations[part], goals.places[part], goals.turns[part], goals.weights[part],
                goals.turn_weights[part], goals.importance[part], rows.kinds, rows.joints, rows.offsets,
                rows.targets[part], rows.weights[part], root[part], local[part], residuals[part], statuses[part],
            )  # fmt: skip

        in_parts(self.threads, count, max(count, 1), work)
        # softened or stopped a hair before the goal is as good as there
        missed = (statuses != Reach.REACHED) & (residuals > NEAR_ENOUGH) & (goals.importance > 0)
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
        """One pose for live use, on bare arrays: (root (3,), rotations (J, 4), metres left (L,), `Reach` (L,)).

        places (L, 3) and turns (L, 4), world, are goals for the ends of `limbs`, in their order; weights and
        turn_weights (L,), 0 to 1, how much of each is asked for (default: all).
        """
        ones, reaches, offsets, nothing = self._live
        count, joints = len(self.limbs), len(self.character.skeleton)
        weights = ones if weights is None else _one(weights, (count,), "weights")
        turn_weights = ones if turn_weights is None else _one(turn_weights, (count,), "turn weights")
        first = _one(root, (3,), "root"), _one(rotations, (joints, 4), "rotations")
        goals = _one(places, (count, 3), "places"), _one(turns, (count, 4), "turns")
        out = first[0].copy(), first[1].copy(), np.zeros(ones.shape), np.zeros(ones.shape, np.int64)
        for array in first:
            # as a motion's own are: numba compiles for read-only arrays apart from others
            array.setflags(write=False)
        plan = self._plan((True,) * len(self.limbs), ())
        plan.solve_frames(offsets, reaches, *first, *goals, weights, turn_weights, weights, *nothing, *out)
        if not isfinite(out[0].sum() + out[1].sum() + out[2].sum()):
            self._say_where(
                root=first[0][0], rotations=first[1][0], places=goals[0][0], turns=goals[1][0], weights=weights[0],
                turn_weights=turn_weights[0],
            )  # fmt: skip
            raise MotionError("expected a pose and goals that can be met, got ones that lead to no finite pose")
        return out[0][0], out[1][0], out[2][0], out[3][0]

    @cached_property
    def _live(self) -> tuple[NDArray, NDArray, NDArray, tuple[NDArray, ...]]:
        """What `solve_pose` needs beside its arguments: full weights, reaches, bones, and no rows on the trunk."""
        none = np.zeros(0, np.int64)
        nothing = (none, none, np.zeros((0, 3)), np.zeros((1, 0, 4)), np.zeros((1, 0)))
        return np.ones((1, len(self.limbs))), self._usual_reaches, self.character.skeleton.offsets[None], nothing

    def _say_where(self, **arrays: NDArray) -> None:
        for label, array in arrays.items():
            bad = np.argwhere(~np.isfinite(array))
            if len(bad):
                names = {"root": "xyz", "rotations": self.character.skeleton.names}.get(label, tuple(self.limbs))
                raise MotionError(f"expected finite {label}, got NaN or infinity at {names[bad[0][0]]!r}")

    def overreach(
        self, kinematics: Kinematics, constraints: Sequence[Constraint], aimed: LimbGoals | None = None
    ) -> NDArray:
        """(F,) metres by which the root must come down for both legs to reach what is asked of them, trunk as it is.

        Goals farther off sideways than a leg is long need another way; they ask for nothing here. aimed: what `aim`
        makes of the constraints, where that is known already.
        """
        goals = self.aim(kinematics, constraints) if aimed is None else aimed
        legs = [number for number, name in enumerate(self.limbs) if name.endswith("leg")]
        hips = kinematics.positions[:, [limb.upper for name, limb in self.limbs.items() if name.endswith("leg")]]
        away = goals.places[:, legs] - hips
        below = self._reaches(kinematics)[:, legs, 1] ** 2 - away[..., 0] ** 2 - away[..., 2] ** 2
        # the hip may be so much above the goal and no more
        need = -away[..., 1] - np.sqrt(np.maximum(below, 0.0))
        need = np.where((below > 0) & (goals.importance[:, legs] > 0), goals.weights[:, legs] * need, 0.0)
        return np.maximum(need, 0.0).max(axis=1, initial=0.0)

    def _stiffness(self, limb: str) -> float:
        kind = limb.partition("_")[2]
        return self.stiffness.get(kind, STIFFNESS[kind])

    @cached_property
    def _last(self) -> dict[str, _Told]:
        return {}

    @cached_property
    def _carrier(self) -> NDArray:
        return carriers(self.character.skeleton, list(self.limbs.values()))

    def _reaches(self, kinematics: Kinematics) -> NDArray:
        """(F, L, 2), or (1, L, 2) where all rows are alike: how near and how far each limb may be asked to reach."""
        moving = kinematics.motion.offsets
        reaches = self._usual_reaches if moving is None else self._spans(moving)
        if self.as_straight_as is None:
            return reaches
        own = self._stretches[kinematics.frames]
        return np.stack([np.minimum(reaches[..., 0], own), np.maximum(reaches[..., 1], own)], axis=-1)

    @cached_property
    def _usual_reaches(self) -> NDArray:
        return self._spans(self.character.skeleton.offsets[None])

    def _spans(self, offsets: NDArray) -> NDArray:
        """(F, L, 2) how near and far each limb reaches with bones (F, J, 3), metres."""
        skeleton = self.character.skeleton
        out = np.zeros((len(offsets), len(self.limbs), 2))
        for number, limb in enumerate(self.limbs.values()):
            upper, lower = (
                sum(np.linalg.norm(offsets[:, joint], axis=1) for joint in bone[1:])
                for bone in (skeleton.chain(limb.lower, limb.upper), skeleton.chain(limb.end, limb.lower))
            )
            folded = upper**2 + lower**2 + 2.0 * upper * lower * np.cos(limb.flexion[1])
            out[:, number, 0] = np.sqrt(np.maximum(folded, 0.0)) / REACH
            out[:, number, 1] = REACH * (upper + lower)
        return out

    @cached_property
    def _stretches(self) -> NDArray:
        """(F, L) metres from each limb's upper joint to its end in the clip that is edited."""
        assert self.as_straight_as is not None
        places, limbs = Kinematics(self.as_straight_as).positions, self.limbs.values()
        return np.linalg.norm(
            places[:, [limb.end for limb in limbs]] - places[:, [limb.upper for limb in limbs]], axis=2
        )

    @cached_property
    def _plans(self) -> dict[tuple, _Plan]:
        return {}

    def _plan(self, used: tuple[bool, ...], row_joints: tuple[int, ...]) -> _Plan:
        """What the kernel must know, for limbs in use and rows on these joints of the trunk; made once."""
        key = (used, row_joints)
        if key not in self._plans:
            self._plans[key] = self._make_plan(used, row_joints)
        return self._plans[key]

    def _make_plan(self, used: tuple[bool, ...], row_joints: tuple[int, ...]) -> _Plan:
        skeleton, limbs = self.character.skeleton, list(self.limbs.values())
        found = self._body(used, row_joints)
        body = np.array(sorted(found), np.int64)
        place = self.rigidity.get("place", RIGIDITY["place"])
        column_of = np.full(len(skeleton), -1)
        column_of[body] = 3 + 3 * np.arange(len(body))
        wanted = {joint for limb in limbs for joint in skeleton.chain(limb.upper)}
        wanted |= {joint for row in row_joints for joint in skeleton.chain(row)}
        wanted |= {joint for own in found for joint in skeleton.chain(own)}
        rigidity = np.array([place, *(found[joint] for joint in body.tolist())])
        stiffness = np.array([self._stiffness(name) for name in self.limbs])
        overstretch = np.array([OVERSTRETCH[name.partition("_")[2]] for name in self.limbs])
        early = np.array([EARLY[name.partition("_")[2]] for name in self.limbs])
        return _Plan(
            skeleton.parents,
            (
                np.array(sorted(wanted)), body, column_of, rigidity,
                np.array([[limb.upper, limb.lower, limb.end] for limb in limbs], np.int64).reshape(-1, 3),
                np.array([limb.axis for limb in limbs]).reshape(-1, 3),
                np.array([limb.flexion for limb in limbs]).reshape(-1, 2),
                np.array([self.swivels.get(name, 0.0) for name in self.limbs]),
            ),
            (stiffness, overstretch, early, self.softness, self.iterations),
        )  # fmt: skip

    def _body(self, used: tuple[bool, ...], row_joints: tuple[int, ...]) -> dict[int, float]:
        """Joints of the trunk that may turn, and their rigidities."""
        roles = self.character.require_roles()
        wanted = ["hips", "spine"]
        column = {*roles.joints.get("neck", ()), *roles.joints.get("head", ())}
        if column.intersection(row_joints):
            wanted += ["neck", "head"]
        for name, at_work in zip(self.limbs, used):
            if name.endswith("arm") and at_work:
                wanted.append(f"{name.partition('_')[0]}_clavicle")
        found = {}
        for role in wanted:
            part = role.removeprefix("left_").removeprefix("right_")
            value = self.rigidity.get(part, RIGIDITY[part])
            found |= {joint: value for joint in roles.joints.get(role, ()) if joint in self._trunk_joints}
        return found


@dataclass(eq=False)
class _Told:
    """What `Hybrid` has made of constraints."""

    constraints: Sequence[Constraint]
    on_trunk: list[Constraint] = field(default_factory=list)
    on_limbs: list[Constraint] = field(default_factory=list)
    aims: LimbAims | None = None


@dataclass(frozen=True, eq=False)
class _Plan:
    """What the kernel takes beside poses, goals and bones: see `kernels.hybrid.solve_frames`."""

    parents: NDArray
    structure: tuple
    """trunk, body, column_of, rigidity, limbs, axes, flexions, swivels"""
    effort: tuple
    """stiffness, overstretch, early, softness, iterations"""

    def solve_frames(self, offsets: NDArray, reaches: NDArray, *rest: NDArray) -> None:
        """Call the kernel."""
        from footplant.kernels import hybrid as kernel

        arguments: tuple = (self.parents, offsets, *self.structure, reaches, *self.effort, *rest)
        kernel.solve_frames(*arguments)
