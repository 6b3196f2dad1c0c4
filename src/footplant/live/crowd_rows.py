"""Rows of a crowd for the group solver: sorted when goals start or end, filled in at every frame.

Those that keep bodies apart are other ones in every round: they are merged into the sorted rows (`RowLayout.of_some`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.live.crowd_apart import Planes
from footplant.live.crowd_goals import Feet, GoalTable
from footplant.live.crowd_scene import KINDS
from footplant.solve.ik.groupccd.rows import (
    BALANCE,
    HALF_SPACE,
    ORIENTATION,
    POSITION,
    Rows,
    allowed,
    make_rows,
)
from footplant.solve.ik.groupccd.tree import Tree

NO_PLANES: Planes = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros((0, 4))


@dataclass(frozen=True, eq=False)
class RowLayout:
    """Order of the rows, valid as long as the same goals are active and the same of them are ramping."""

    key: bytes
    """Identifies which goals are active and which are ramping."""
    rows: Rows
    """Sorted; targets and activations are filled in at every frame."""
    sources: NDArray
    """(N,) index of the scene's goal that each row comes from; −1: the ground."""
    active: NDArray
    """(n,) active goals of the table."""
    goal_rows: NDArray
    """(n,) the row of each."""
    standing: tuple[NDArray, NDArray]
    """(s,) characters of feet without another goal, and which of theirs each is."""
    place_rows: NDArray
    turn_rows: NDArray
    """(s,) rows of the positions and orientations of planted feet."""

    balanced: NDArray
    """(C,) bool; characters that reach, without a goal for the centre of mass: they keep their balance."""
    supported: NDArray
    """(C,) bool; characters with a row that keeps the centre of mass over the soles."""

    @classmethod
    def of(
        cls, table: GoalTable, share: NDArray, characters: int, feet: list[int], tree: Tree, ranks: NDArray,
        key: bytes, balance: int | None,
    ) -> RowLayout:  # fmt: skip
        """Sort the rows; feet: joints of feet, ranks: (C, feet) theirs. balance: the rank of balance, if it counts."""
        active, limb_of = np.flatnonzero(share > 0), tree.limb_of
        taken = np.zeros((characters, 5), bool)
        limb = table.limb[active]
        taken[table.row[active], limb] = limb >= 0
        standing = ~taken[:, limb_of[feet]] if feet else np.zeros((characters, 0), bool)
        character, foot = (np.ascontiguousarray(own) for own in np.nonzero(standing))
        joints = np.array(feet, np.int64)[foot]
        blocks: list[dict[str, Any]] = [
            {"poses": character, "kind": kind, "joint": joints, "rank": ranks[standing]}
            for kind in (POSITION, ORIENTATION)
        ]
        blocks.append(table.block(active, share[active]))
        balanced, whole = np.zeros(characters, bool), table.whole_body[active]
        if balance is not None:
            balanced[table.row[active[~whole]]] = True
            balanced[table.row[active[whole]]] = False
            leaning = np.flatnonzero(balanced)
            blocks.append({"poses": leaning, "kind": BALANCE, "rank": balance, "allow": allowed(tree, None)})
        supported = balanced.copy()
        supported[table.row[active[table.kinds[active] == KINDS.index("balance")]]] = True
        made, order = make_rows(characters, blocks)
        row_of = np.empty(len(order), np.int64)
        row_of[order] = np.arange(len(order))
        planted = len(character)
        sources = np.full(len(order), -1)
        sources[2 * planted : 2 * planted + len(active)] = table.source[active]
        return cls(
            key, made, sources[order], active,
            row_of[2 * planted : 2 * planted + len(active)], (character, foot), row_of[:planted],
            row_of[planted : 2 * planted],
            balanced, supported,
        )  # fmt: skip

    def fill(self, feet: Feet | None, some: NDArray, targets: NDArray, share: NDArray) -> None:
        """Fill in foot targets, and targets (n, 4) and activations of some (n,) of the active goals."""
        from footplant.live import _crowd as kernel

        asks = self.rows.asks
        if feet is not None:
            kernel.fill_feet(*self.standing, self.place_rows, self.turn_rows, feet.places, feet.turns, asks)
        kernel.fill_goals(some, self.active, self.goal_rows, targets, share, asks)

    def of_some(
        self, some: NDArray, further: Planes | None, rank: int, supports: tuple[NDArray, NDArray] | None
    ) -> tuple[Rows, NDArray]:
        """Return the rows of some characters (n,), in order, with half-spaces of a rank; and their sources."""
        from footplant.live import _crowd as kernel

        planes = kernel.PlaneRows(*(NO_PLANES if further is None else further))
        most = len(self.sources) + len(planes.characters)
        out = kernel.LaidRows(
            np.empty(len(some) + 1, np.int64), np.empty((most, 5), np.int64), np.empty((most, 11)),
            np.empty(most, np.int64),
        )  # fmt: skip
        own = kernel.LaidRows(self.rows.starts, self.rows.kinds, self.rows.asks, self.sources)
        count = kernel.merge_rows(some, own, planes, HALF_SPACE, rank, out)
        polygons, sides = (self.rows.polygons, self.rows.sides) if supports is None else supports
        return Rows(out.starts, out.kinds[:count], out.asks[:count], polygons, sides), out.sources[:count]


def key_of(share: NDArray, feet: Feet | None) -> bytes:
    """Return a key of which goals are active, which are ramping, and which feet are in the air."""
    return (share > 0).tobytes() + (share < 1).tobytes() + (b"" if feet is None else feet.swings.tobytes())
