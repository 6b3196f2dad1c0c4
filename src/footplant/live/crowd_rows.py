"""Rows of a crowd for the group solver: sorted when goals come or go, filled in at every frame."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.live.crowd_goals import GoalTable
from footplant.solve.ik.groupccd.rows import ORIENTATION, PARTS, POSITION, Rows, make_rows

TARGET, SHARE = PARTS["target"], PARTS["share"].start


@dataclass(frozen=True, eq=False)
class Feet:
    """Where the ground wants the feet of a group of figures."""

    places: NDArray
    """(C, N, 3) of the ankles, world, metres."""
    turns: NDArray
    """(C, N, 4) world."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Which row is whose, as long as the same goals are at work and the same of them easing in or out."""

    key: bytes
    """Says which goals are at work and which are easing."""
    rows: Rows
    """Sorted; targets and shares are filled in at every frame."""
    sources: NDArray
    """(N,) the goal of the scene that each row comes from; −1: the ground."""
    at_work: NDArray
    """(n,) goals of the table at work."""
    goal_rows: NDArray
    """(n,) the row of each."""
    standing: NDArray
    """(C, feet) bool; feet that nothing else is asked of."""
    place_rows: NDArray
    turn_rows: NDArray
    """(s,) rows of the places and turns of feet that stand."""

    @classmethod
    def of(cls, table: GoalTable, share: NDArray, figures: int, feet: list[int], limb_of: NDArray, rank: int) -> Layout:
        """Sort the rows; feet: joints of feet that stand on the ground, rank: how important that is."""
        at_work = np.flatnonzero(share > 0)
        taken = np.zeros((figures, 5), bool)
        limb = table.limb[at_work]
        taken[table.row[at_work], limb] = limb >= 0
        standing = ~taken[:, limb_of[feet]] if feet else np.zeros((figures, 0), bool)
        figure, foot = np.nonzero(standing)
        joints = np.array(feet, np.int64)[foot]
        blocks: list[dict[str, Any]] = [
            {"poses": figure, "kind": kind, "joint": joints, "rank": rank} for kind in (POSITION, ORIENTATION)
        ]
        blocks.append(table.block(at_work) | {"share": share[at_work]})
        made = make_rows(figures, blocks)
        row_of = np.empty(len(made.order), np.int64)
        row_of[made.order] = np.arange(len(made.order))
        stands = len(figure)
        sources = np.concatenate([np.full(2 * stands, -1), table.source[at_work]])
        return cls(
            key_of(share), made, sources[made.order], at_work, row_of[2 * stands :], standing, row_of[:stands],
            row_of[stands : 2 * stands],
        )  # fmt: skip

    def fill(
        self, feet: Feet | None, targets: NDArray, share: NDArray, supports: tuple[NDArray, NDArray] | None
    ) -> Rows:
        """The rows of this frame: where feet should be, targets (n, 4) and shares of the goals at work, supports.

        One array is filled again and again: rows are good until the next frame's are asked for.
        """
        asks = self.rows.asks
        if feet is not None:
            asks[self.place_rows, TARGET.start : TARGET.start + 3] = feet.places[self.standing]
            asks[self.turn_rows, TARGET] = feet.turns[self.standing]
        asks[self.goal_rows, TARGET] = targets
        asks[self.goal_rows, SHARE] = share[self.at_work]
        if supports is None:
            return self.rows
        return replace(self.rows, polygons=supports[0], sides=supports[1])


def key_of(share: NDArray) -> bytes:
    """Which goals are at work and which are easing in or out."""
    return (share > 0).tobytes() + (share < 1).tobytes()
