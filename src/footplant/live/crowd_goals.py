"""Goals of a crowd as tables: one row per goal, for one call of the group solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.constraints.balance import soles
from footplant.live.crowd_apart import Posed, Proxies
from footplant.live.crowd_scene import KINDS, CrowdActor, Goal
from footplant.skeleton import Point
from footplant.solve.ik.groupccd import GroupCcd
from footplant.solve.ik.groupccd.rows import BALANCE, CENTER, DISTANCE, HALF_SPACE, ORIENTATION, POSITION, allowed

ROWS = np.array(
    [POSITION, HALF_SPACE, DISTANCE, HALF_SPACE, CENTER, BALANCE, POSITION, ORIENTATION, HALF_SPACE]
)  # fmt: skip
"""The solver's kind of row for each of `KINDS`."""
WHOLE_BODY = (KINDS.index("mass"), KINDS.index("balance"))
"""Kinds that concern the whole body."""
_ON_SKIN = np.array([kind in ("reach", "touch") for kind in KINDS])
"""(kinds,) whether goals of a kind bring a point to another character's body."""
SUPPORT_MARGIN = 0.01
"""Metres that a balanced centre of mass keeps from the edge of the support polygon."""


@dataclass(frozen=True, eq=False)
class Feet:
    """Foot targets of a group of characters on the ground."""

    places: NDArray
    """(C, N, 3) ankles, world, metres."""
    turns: NDArray
    """(C, N, 4) world."""
    swings: NDArray
    """(C, N) bool; feet in the air."""


@dataclass(frozen=True, eq=False)
class Held:
    """Characters whose limbs stay as they were at the frame before."""

    came: NDArray
    """(C, J, 3) metres; where the joints were."""
    held: NDArray
    """(C,) bool"""


@dataclass(frozen=True, eq=False)
class GoalTable:
    """The goals of one group of characters, a row each."""

    goals: tuple[Goal, ...]
    source: NDArray
    """(n,) index of each goal in the scene."""
    row: NDArray
    """(n,) index of the character in the group."""
    joint: NDArray
    point: NDArray
    other: NDArray
    other_point: NDArray
    rank: NDArray
    ramp_rank: NDArray
    """(n,) ranks while they are active, and while they ramp in or out."""
    allow: NDArray
    limb: NDArray
    """(n,) the limb of the point; −1 for the trunk."""
    times: NDArray
    """(n, 4) start, stop and ramps, seconds."""
    target: NDArray
    follows: NDArray
    """(n,) actor that is followed; −1 for none."""
    early: NDArray
    """(n,) bool; whether it follows the other actor's pose before its goals."""
    follow_joint: NDArray
    follow_above: NDArray
    """(n,) the parent of that joint."""
    follow_point: NDArray
    value: NDArray
    """(n,) metres: distance or height."""
    turn: NDArray
    """(n, 4) orientation."""
    size: NDArray
    """(n, 3) metres; half the edges of an area."""
    priority: NDArray
    """(n,)"""
    most: int
    """Largest number of goals of one character."""
    kinds: NDArray
    """(n,) index in `KINDS`."""
    whole_body: NDArray
    """(n,) bool; whether it concerns the whole body."""
    followed: bool
    """Whether any of them follows another actor."""
    clock: NDArray
    """(n,) bool; whether its times are those of the crowd, not of the scene."""
    shift: NDArray
    """(n, 3) metres; by how much targets that ease in are off where they should be."""
    latest: NDArray
    """(n, 3) metres; targets at the last frame."""

    def __len__(self) -> int:
        """Return the number of goals."""
        return len(self.goals)

    @classmethod
    def of(
        cls,
        solver: GroupCcd,
        numbers: Sequence[int],
        actors: Sequence[CrowdActor],
        goals: Mapping[int, Goal],
    ) -> GoalTable:
        """Build the table of a group of those goals, by their numbers, that are of its actors, `numbers`.

        Ranks are left to be filled in.
        """
        rows = {number: row for row, number in enumerate(numbers)}
        own = {source: goal for source, goal in goals.items() if goal.actor in rows}
        kept = tuple(own.values())
        row = np.array([rows[goal.actor] for goal in kept], np.int64)
        joint, point = _joints_and_offsets([goal.point for goal in kept])
        other, other_point = _joints_and_offsets([goal.other or Point(0) for goal in kept])
        follow = [goal.of or (-1, Point(0)) for goal in kept]
        follows = np.array([number for number, _ in follow], np.int64)
        follow_joint, follow_point = _joints_and_offsets([point for _, point in follow])
        kinds = np.array([KINDS.index(goal.kind) for goal in kept], np.int64)
        return cls(
            goals=kept,
            source=np.array(list(own), np.int64),
            row=row,
            joint=joint,
            point=point,
            other=other,
            other_point=other_point,
            rank=np.zeros(len(kept), np.int64),
            ramp_rank=np.zeros(len(kept), np.int64),
            allow=np.array([allowed(solver.tree, goal.chain) for goal in kept], np.int64),
            limb=np.where(np.isin(kinds, WHOLE_BODY), -1, solver.tree.limb_of[joint]),
            times=np.array([(g.start, g.stop, *g.ramp) for g in kept], float).reshape(-1, 4),
            target=np.array([goal.target for goal in kept], float).reshape(-1, 3),
            follows=follows,
            early=np.array([goal.early for goal in kept], bool),
            follow_joint=follow_joint,
            follow_above=np.array([_above(actors, *goal) for goal in follow], np.int64),
            follow_point=follow_point,
            value=np.array([goal.value for goal in kept], float),
            turn=rotation.normalize(np.array([goal.turn for goal in kept], float).reshape(-1, 4)),
            size=np.array([goal.size for goal in kept], float).reshape(-1, 3),
            priority=np.array([goal.priority for goal in kept], np.int64),
            most=int(np.bincount(row, minlength=1).max()),
            kinds=kinds,
            whole_body=np.isin(kinds, WHOLE_BODY),
            followed=bool((follows >= 0).any()),
            clock=np.array([goal.clock for goal in kept], bool),
            shift=np.zeros((len(kept), 3)),
            latest=np.zeros((len(kept), 3)),
        )

    def put(self, places: NDArray, other: GoalTable) -> GoalTable:
        """Return the table with the goals of another (n,) in rows (n,), further ones included; this one is used up."""
        made: dict[str, Any] = {}
        before, old = len(self), places < len(self)
        size = max(before, int(places.max()) + 1)
        for own in fields(self):
            value = getattr(self, own.name)
            if isinstance(value, np.ndarray) and own.name not in ("masses", "centers"):
                made[own.name] = value
                if size > before:
                    made[own.name] = np.empty((size, *value.shape[1:]), value.dtype)
                    made[own.name][:before] = value
                made[own.name][places] = getattr(other, own.name)
        goals = [*self.goals, *(goal for goal, known in zip(other.goals, old) if not known)]
        for place, goal in zip(places.tolist(), other.goals):
            goals[place] = goal
        return replace(
            self, goals=tuple(goals), most=int(np.bincount(made["row"], minlength=1).max()),
            followed=bool((made["follows"] >= 0).any()), **made,
        )  # fmt: skip

    @property
    def stepped(self) -> NDArray:
        """(n,) bool; whether a goal holds from the begin of its ramp on, in which its target moves there instead.

        That is how goals come that nobody knew of: other goals may hold their limbs already.
        """
        return self.clock & self.at_points

    @property
    def at_points(self) -> NDArray:
        """(n,) bool; whether a goal brings a point to a position."""
        return _ON_SKIN[self.kinds]

    def activations(self, scene: float, clock: float) -> NDArray:
        """Return the activation (n,) of every goal at a time of the scene and of the crowd, seconds."""
        start, stop, rise, fall = self.times.T
        seconds = np.where(self.clock, clock, scene)
        with np.errstate(divide="ignore", invalid="ignore"):
            before = np.where(rise > 0, 1.0 - (start - seconds) / rise, 0.0)
            after = np.where(fall > 0, 1.0 - (seconds - stop) / fall, 0.0)
        before = np.where(self.stepped & (before > 0.0), 1.0, before)
        share = np.clip(np.where(seconds < start, before, np.where(seconds > stop, after, 1.0)), 0.0, 1.0)
        return share * share * (3.0 - 2.0 * share)

    def block(self, active: NDArray, share: NDArray) -> dict[str, Any]:
        """Return the solver's rows for some goals (n,) with their activations (n,), without targets."""
        point = self.point[active]
        # for a centre of mass the point holds which axes count
        point[self.kinds[active] == KINDS.index("mass")] = [1.0, 0.0, 1.0]
        rank = np.where((share < 1.0) & (self.limb[active] >= 0), self.ramp_rank[active], self.rank[active])
        return {
            "poses": self.row[active], "kind": ROWS[self.kinds[active]], "joint": self.joint[active],
            "other": self.other[active], "rank": rank, "allow": self.allow[active], "point": point,
            "other_point": self.other_point[active], "share": share,
        }  # fmt: skip

    def targets(
        self,
        active: NDArray,
        before: Posed,
        posed: Sequence[Posed],
        unconstrained: Sequence[Posed],
        place: NDArray,
        share: NDArray,
        bodies: Sequence[Proxies],
        shifts: NDArray,
        held: Held | None,
    ) -> NDArray:
        """Return targets (n, 4) of active goals, from the current poses and those before goals.

        share: their activations, of all goals. bodies: of each group, where they are kept apart: targets on them are
        moved onto their skin, and by shifts (n, 3), metres, of all goals; held: whose limbs stay.
        place: (actors + 1, 2) group and row of each actor, last −1 for none. Columns: a position, or the normal and
        offset of a half space, or a distance.
        """
        from footplant.live import _crowd as kernel

        count, goals = len(active), self._arrays
        target, behind, own = np.empty((count, 4)), np.empty((count, 3)), np.empty((count, 3))
        owners = np.empty((count, 2), np.int64)
        kernel.start_targets(
            goals, active, place, before.positions, before.rotations, target, behind, own, owners
        )  # fmt: skip
        if self.followed:
            for group, (now, free) in enumerate(zip(posed, unconstrained, strict=True)):
                kernel.follow(
                    goals, active, owners, group, (now.positions, now.rotations), (free.positions, free.rotations),
                    target, behind,
                )  # fmt: skip
        kinds = self.kinds[active]
        for number in np.flatnonzero(np.bincount(kinds, minlength=len(KINDS))).tolist():
            kind = KINDS[number]
            if kind == "reach":
                continue
            if kind == "away":
                kernel.away(goals, active, number, own, behind, target)
                continue
            n = np.flatnonzero(kinds == number)
            goal = active[n]
            if kind == "above":
                target[n] = [0.0, 1.0, 0.0, 0.0]
                target[n, 3] = self.value[goal]
            elif kind == "apart":
                target[n, 3] = self.value[goal]
            elif kind == "touch":
                # beside the other's bone, on the side where this point would be without its goals
                line = own[n] - target[n, :3]
                bone = self._bones(goal, place, posed)
                line -= np.sum(line * bone, axis=1, keepdims=True) * bone
                line /= np.maximum(np.linalg.norm(line, axis=1, keepdims=True), 1e-9)
                target[n, :3] += self.value[goal, None] * line
            elif kind == "orient":
                target[n] = self._turns(goal, place, posed)
            elif kind == "area":
                now = own[n]
                inside = target[n, :3] + np.clip(now - target[n, :3], -self.size[goal], self.size[goal])
                line = inside - now
                line /= np.maximum(np.linalg.norm(line, axis=1, keepdims=True), 1e-9)
                target[n] = np.column_stack([line, np.sum(line * inside, axis=1)])
            elif kind == "mass":
                target[n, :3] = self._centers(before, self.row[goal])
        self.latest[active] = target[:, :3]
        if bodies and self.followed:
            self._clear(active, own, posed, unconstrained, owners, share, bodies, target)
            on_skin = np.flatnonzero(_ON_SKIN[kinds])
            goal = active[on_skin]
            target[on_skin, :3] += shifts[goal] / np.maximum(share[goal], 0.02)[:, None]
        if held is not None and held.held.any():
            self._stay(active, own, before, share, held, target)
        return target

    def _stay(self, active: NDArray, own: NDArray, before: Posed, share: NDArray, held: Held, target: NDArray) -> None:
        """Let points of held limbs whose goals ramp in or out stay where they were at the frame before."""
        n = np.flatnonzero(
            held.held[self.row[active]] & (share[active] < 1.0) & (self.limb[active] >= 0)
            & (ROWS[self.kinds[active]] == POSITION)
        )  # fmt: skip
        goal = active[n]
        row, joint = self.row[goal], self.joint[goal]
        target[n, :3] = own[n] + (held.came[row, joint] - before.positions[row, joint]) / share[goal][:, None]

    def _clear(
        self, active: NDArray, own: NDArray, posed: Sequence[Posed], unconstrained: Sequence[Posed],
        owners: NDArray, share: NDArray, bodies: Sequence[Proxies], target: NDArray,
    ) -> None:  # fmt: skip
        """Move targets (n, 4) of points, at own (n, 3) without goals, on other characters onto their skin.

        owners: (n, 2) group and row of whom each follows.
        """
        from footplant.live import _crowd_apart as kernel

        assert self.radius is not None
        goals = kernel.GoalsOnSkin(self.at_points, self.early, self.radius, share)
        for group, (now, free) in enumerate(zip(posed, unconstrained, strict=True)):
            kernel.clear_targets(
                bodies[group].tables, now.positions, free.positions, group, active, goals, owners, own, target
            )

    @cached_property
    def _arrays(self):
        """The goals as the kernels take them."""
        from footplant.live import _crowd as kernel

        return kernel.Goals(
            self.row, self.joint, self.point, self.target, self.shift, self.follows, self.early, self.follow_joint,
            self.follow_point, self.kinds, self.value,
        )  # fmt: skip

    def _bones(self, goals: NDArray, place: NDArray, posed: Sequence[Posed]) -> NDArray:
        """Return unit directions (n, 3) of the bones that end at the joints that goals follow."""
        found = np.zeros((len(goals), 3))
        for n, goal in enumerate(goals.tolist()):
            group, row = place[self.follows[goal]]
            kinematics, joint = posed[group], self.follow_joint[goal]
            above = self.follow_above[goal]
            found[n] = kinematics.positions[row, joint] - kinematics.positions[row, above]
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)

    def _turns(self, goals: NDArray, place: NDArray, posed: Sequence[Posed]) -> NDArray:
        """Return world orientations (n, 4) of goals: their own, or relative to the joint of another actor."""
        turns = self.turn[goals].copy()
        for n, goal in enumerate(goals.tolist()):
            if self.follows[goal] >= 0:
                group, row = place[self.follows[goal]]
                turns[n] = rotation.multiply(posed[group].rotations[row, self.follow_joint[goal]], turns[n])
        return turns

    radius: NDArray | None = None
    """(n,) metres; the skin about each point, where bodies are kept apart."""
    masses: NDArray | None = None
    """(C, J) mass fractions of the group's characters, where a goal needs the centre of mass."""
    centers: NDArray | None = None
    """(C, J, 3)"""

    def _centers(self, before: Posed, rows: NDArray) -> NDArray:
        """Return centres of mass (n, 3) of some characters (n,)."""
        assert self.masses is not None
        assert self.centers is not None
        from footplant.live import _crowd as kernel

        found = np.empty((len(rows), 3))
        kernel.centers_of_mass(rows, self.masses, self.centers, before.positions, before.rotations, found)
        return found


def _above(actors: Sequence[CrowdActor], number: int, point: Point) -> int:
    """Return the parent of the joint of another actor's point; 0 for none."""
    return 0 if number < 0 else max(int(actors[number].character.skeleton.parents[point.joint]), 0)


def _joints_and_offsets(points: Sequence[Point]) -> tuple[NDArray, NDArray]:
    """Return the joints (n,) of points and their offsets (n, 3)."""
    joints = np.array([point.joint for point in points], np.int64)
    return joints, np.array([point.offset for point in points], float).reshape(-1, 3)


class SolePoints:
    """The contact points of the soles of a group's characters: heels, balls and toes."""

    def __init__(self, actors: Sequence[CrowdActor]) -> None:
        """Collect the points."""
        points = [soles(actor.character) for actor in actors]
        most = max(1, *(len(own) for own in points))
        self.counts = np.array([len(own) for own in points], np.int64)
        self.joints, self.offsets = np.zeros((len(points), most), np.int64), np.zeros((len(points), most, 3))
        for row, own in enumerate(points):
            self.joints[row, : len(own)] = [point.joint for point in own]
            self.offsets[row, : len(own)] = np.array([point.offset for point in own]).reshape(-1, 3)

    def put(self, row: int, other: SolePoints) -> None:
        """Write the points of another character into a row, or into a further one."""
        more, wider = max(row + 1 - len(self.counts), 0), max(other.joints.shape[1] - self.joints.shape[1], 0)
        if more or wider:
            self.counts = np.pad(self.counts, (0, more))
            self.joints = np.pad(self.joints, [(0, more), (0, wider)])
            self.offsets = np.pad(self.offsets, [(0, more), (0, wider), (0, 0)])
        count = int(other.counts[0])
        self.counts[row] = count
        self.joints[row, :count], self.offsets[row, :count] = other.joints[0, :count], other.offsets[0, :count]

    def supports(
        self, kinematics: Posed, masses: NDArray, centers: NDArray, some: NDArray, widened: NDArray
    ) -> tuple[NDArray, NDArray]:
        """Return support polygons of some characters (n,): corners (C, P, 2) over x and z, metres, and their numbers.

        masses (C, J), centers (C, J, 3): of the bodies. widened: (C,) characters whose polygon includes their centre of
        mass as it is: a walker's or a jumper's is not over its soles.
        """
        from footplant.live import _crowd as kernel

        (characters, most), rows = self.joints.shape, some[widened[some]]
        found = np.full((characters, 3), np.nan)
        own = np.empty((len(rows), 3))
        kernel.centers_of_mass(rows, masses, centers, kinematics.positions, kinematics.rotations, own)
        found[rows] = own
        polygons, sides = np.zeros((characters, most + 1, 2)), np.zeros(characters, np.int64)
        counts = np.zeros_like(self.counts)
        counts[some] = self.counts[some]
        soles_table = kernel.SoleTables(self.joints, self.offsets, counts)
        scratch = kernel.HullScratch(
            np.empty((most + 1, 2)), np.empty(most + 1, np.int64), np.empty(2 * most + 2, np.int64)
        )
        kernel.supports(
            soles_table, SUPPORT_MARGIN, found, kinematics.positions, kinematics.rotations, scratch, polygons, sides
        )
        return polygons, sides
