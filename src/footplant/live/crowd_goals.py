"""Goals of a crowd: Kulpa's {CP, T, KC, P, A} with targets that may be on other figures, as tables for one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.constraints.balance import soles
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.skeleton import Point
from footplant.solve.ik.groupccd import GroupCcd
from footplant.solve.ik.groupccd.rows import BALANCE, CENTER, DISTANCE, HALF_SPACE, POSITION, allowed

if TYPE_CHECKING:
    from footplant.live.crowd import Actor

KINDS = ("reach", "away", "apart", "above", "mass", "balance")
"""What a goal may ask: a point at a target; at least a distance away from it; two own points so far apart; at least a
height; the centre of mass where the motion has it; or over the soles."""
ROWS = np.array([POSITION, HALF_SPACE, DISTANCE, HALF_SPACE, CENTER, BALANCE])
"""The solver's kind of row for each."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Goal:
    """Something that must hold of a figure while a scene plays."""

    actor: int
    """Whose it is."""
    kind: str = "reach"
    point: Point
    """The constrained point; of a centre of mass any."""
    target: ArrayLike = (0.0, 0.0, 0.0)
    """(3,) metres, world; with `of`, added to where that point is."""
    of: tuple[int, Point] | None = None
    """Another figure and a point of it to follow."""
    early: bool = False
    """Whether to follow where that figure would be without its own goals: what it dodges cannot aim at the dodge."""
    value: float = 0.0
    """Metres: distance or height."""
    other: Point | None = None
    """The second own point of "apart"."""
    priority: int = 0
    start: float = 0.0
    stop: float = np.inf
    """Seconds of the scene at which it holds fully, first and last."""
    ramp: tuple[float, float] = (0.3, 0.3)
    """Seconds in which it eases in before, and out after."""
    chain: tuple[int, ...] | None = None
    """Joints that may turn for it (the root too when joint 0 is among them); None: all."""
    name: str = ""

    def __post_init__(self) -> None:
        """Check the kind and the times."""
        if self.kind not in KINDS:
            raise ConstraintError(f"expected a kind of goal among {', '.join(KINDS)}; got {self.kind!r}")
        if not self.start <= self.stop or min(self.ramp) < 0:
            raise ConstraintError(
                f"expected a start before the stop and ramps of 0 or more, got {self.start}, {self.stop}"
            )
        if self.kind == "apart" and self.other is None:
            raise ConstraintError("expected a second point for a goal of kind apart, got none")

    def activation(self, seconds: float) -> float:
        """0 to 1 at a time of the scene: 1 while it holds, easing in the ramps."""
        share = 1.0
        if seconds < self.start:
            share = 1.0 - (self.start - seconds) / self.ramp[0] if self.ramp[0] > 0 else 0.0
        elif seconds > self.stop:
            share = 1.0 - (seconds - self.stop) / self.ramp[1] if self.ramp[1] > 0 else 0.0
        share = max(share, 0.0)
        return share * share * (3.0 - 2.0 * share)


@dataclass(frozen=True, eq=False)
class GoalTable:
    """The goals of one group of figures, a row each."""

    goals: tuple[Goal, ...]
    source: NDArray
    """(n,) which goal of the scene each is."""
    row: NDArray
    """(n,) which figure of the group."""
    joint: NDArray
    point: NDArray
    other: NDArray
    other_point: NDArray
    rank: NDArray
    allow: NDArray
    limb: NDArray
    """(n,) the limb that carries the point; −1 for the trunk."""
    times: NDArray
    """(n, 4) start, stop and ramps, seconds."""
    target: NDArray
    follows: NDArray
    """(n,) actor that is followed; −1 for none."""
    early: NDArray
    """(n,) bool; whether it is followed as it came in."""
    follow_joint: NDArray
    follow_point: NDArray
    value: NDArray
    """(n,) metres: distance or height."""
    most: int
    """Most goals of one figure."""
    kinds: NDArray
    """(n,) number in `KINDS`."""
    balances: bool
    followed: bool
    """Whether any of them follows another figure."""

    def __len__(self) -> int:
        """How many goals."""
        return len(self.goals)

    @classmethod
    def of(
        cls,
        solver: GroupCcd,
        numbers: Sequence[int],
        actors: Sequence[Actor],
        goals: Sequence[Goal],
        ranks: Mapping[int, int],
    ) -> GoalTable:
        """The table of a group: `numbers` are its actors."""
        rows = {number: row for row, number in enumerate(numbers)}
        own = [(source, goal) for source, goal in enumerate(goals) if goal.actor in rows]
        kept = tuple(goal for _, goal in own)
        row = np.array([rows[goal.actor] for goal in kept], np.int64)
        joint = np.array([goal.point.joint for goal in kept], np.int64)
        others = [goal.other or Point(0) for goal in kept]
        follow = [goal.of or (-1, Point(0)) for goal in kept]
        kinds = np.array([KINDS.index(goal.kind) for goal in kept], np.int64)
        moves = kinds < KINDS.index("mass")
        return cls(
            goals=kept,
            source=np.array([source for source, _ in own], np.int64),
            row=row,
            joint=joint,
            point=np.array([goal.point.offset for goal in kept], float).reshape(-1, 3),
            other=np.array([point.joint for point in others], np.int64),
            other_point=np.array([point.offset for point in others], float).reshape(-1, 3),
            rank=np.array([ranks[goal.priority] for goal in kept], np.int64),
            allow=np.array([allowed(solver.tree, goal.chain) for goal in kept], np.int64),
            limb=np.where(moves, solver.tree.limb_of[joint], -1) if len(kept) else np.zeros(0, np.int64),
            times=np.array([(g.start, g.stop, *g.ramp) for g in kept], float).reshape(-1, 4),
            target=np.array([goal.target for goal in kept], float).reshape(-1, 3),
            follows=np.array([number for number, _ in follow], np.int64),
            early=np.array([goal.early for goal in kept], bool),
            follow_joint=np.array([point.joint for _, point in follow], np.int64),
            follow_point=np.array([point.offset for _, point in follow], float).reshape(-1, 3),
            value=np.array([goal.value for goal in kept], float),
            most=int(np.bincount(row).max()) if len(row) else 0,
            kinds=kinds,
            balances=any(goal.kind == "balance" for goal in kept),
            followed=any(goal.of is not None for goal in kept),
        )

    def shares(self, seconds: float) -> NDArray:
        """(n,) activation of every goal."""
        start, stop, rise, fall = self.times.T
        with np.errstate(divide="ignore", invalid="ignore"):
            before = np.where(rise > 0, 1.0 - (start - seconds) / rise, 0.0)
            after = np.where(fall > 0, 1.0 - (seconds - stop) / fall, 0.0)
        share = np.clip(np.where(seconds < start, before, np.where(seconds > stop, after, 1.0)), 0.0, 1.0)
        return share * share * (3.0 - 2.0 * share)

    def block(self, at_work: NDArray) -> dict[str, Any]:
        """What does not change with time of the solver's rows for some goals."""
        point = self.point[at_work]
        # of a centre of mass: which axes count
        point[self.kinds[at_work] == KINDS.index("mass")] = [1.0, 0.0, 1.0]
        return {
            "poses": self.row[at_work], "kind": ROWS[self.kinds[at_work]], "joint": self.joint[at_work],
            "other": self.other[at_work], "rank": self.rank[at_work], "allow": self.allow[at_work], "point": point,
            "other_point": self.other_point[at_work],
        }  # fmt: skip

    def targets(
        self,
        at_work: NDArray,
        before: Kinematics,
        seen: Sequence[Kinematics],
        firsts: Sequence[Kinematics],
        place: NDArray,
    ) -> NDArray:
        """(n, 4) what goals at work ask for, from where figures are seen now and where they came in.

        place: (actors + 1, 2) group and row of each actor, last −1 for none.
        """
        target = np.zeros((len(at_work), 4))
        target[:, :3] = self.target[at_work]
        behind = target[:, :3].copy()
        if self.followed:
            owners, early = place[self.follows[at_work]], self.early[at_work]
            for group in range(len(seen)):
                for is_early, where in ((True, firsts), (False, seen)):
                    n = np.flatnonzero((owners[:, 0] == group) & (early == is_early))
                    goal = at_work[n]
                    target[n, :3] += _points(
                        where[group], owners[n, 1], self.follow_joint[goal], self.follow_point[goal]
                    )
                    behind[n] = firsts[group].positions[owners[n, 1], 0]
        for number in np.flatnonzero(np.bincount(self.kinds[at_work], minlength=len(KINDS))).tolist():
            kind = KINDS[number]
            if kind == "reach":
                continue
            n = np.flatnonzero(self.kinds[at_work] == number)
            goal = at_work[n]
            row = self.row[goal]
            if kind == "away":
                # away from the body behind the fist: the fist itself may be where the head is
                now = _points(before, row, self.joint[goal], self.point[goal])
                line = (now - behind[n]) * [1.0, 0.0, 1.0]
                line /= np.maximum(np.linalg.norm(line, axis=1, keepdims=True), 1e-9)
                target[n, 3] = np.sum(line * target[n, :3], axis=1) + self.value[goal]
                target[n, :3] = line
            elif kind == "above":
                target[n] = [0.0, 1.0, 0.0, 0.0]
                target[n, 3] = self.value[goal]
            elif kind == "apart":
                target[n, 3] = self.value[goal]
            elif kind == "mass":
                target[n, :3] = self._centers(before)[row]
        return target

    masses: NDArray | None = None
    """(C, J) mass shares of the group's figures, where a goal asks for the centre of mass."""
    centers: NDArray | None = None
    """(C, J, 3)"""

    def _centers(self, before: Kinematics) -> NDArray:
        """(C, 3) centres of mass of all figures."""
        assert self.masses is not None
        assert self.centers is not None
        from footplant.live import _crowd as kernel

        found = np.empty((len(before.frames), 3))
        kernel.centers_of_mass(self.masses, self.centers, before.positions, before.rotations, found)
        return found


def _points(kinematics: Kinematics, rows: NDArray, joints: NDArray, offsets: NDArray) -> NDArray:
    """(N, 3) places of points of several figures."""
    return kinematics.positions[rows, joints] + rotation.rotate(kinematics.rotations[rows, joints], offsets)


class Soles:
    """The points that figures of a group stand on: heels, balls and toes."""

    margin = 0.01
    """Metres that a centre of mass keeps from the edge."""

    def __init__(self, actors: Sequence[Actor]) -> None:
        """Collect them."""
        points = [soles(actor.character) for actor in actors]
        most = max(1, *(len(own) for own in points))
        self.counts = np.array([len(own) for own in points], np.int64)
        self.joints, self.offsets = np.zeros((len(points), most), np.int64), np.zeros((len(points), most, 3))
        for row, own in enumerate(points):
            self.joints[row, : len(own)] = [point.joint for point in own]
            self.offsets[row, : len(own)] = np.array([point.offset for point in own]).reshape(-1, 3)

    def supports(self, kinematics: Kinematics) -> tuple[NDArray, NDArray]:
        """What each figure stands on: corners (C, P, 2) over x and z, metres, and how many (C,)."""
        from footplant.live import _crowd as kernel

        figures, most = self.joints.shape
        polygons, sides = np.zeros((figures, most, 2)), np.zeros(figures, np.int64)
        arguments: tuple = (
            self.joints, self.offsets, self.counts, self.margin, kinematics.positions, kinematics.rotations,
            np.empty((most, 2)), np.empty(most, np.int64), np.empty(2 * most, np.int64), polygons, sides,
        )  # fmt: skip
        kernel.supports(*arguments)
        return polygons, sides
