"""Rows of a crowd for the group solver: sorted when goals start or end, filled in at every frame."""

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
    """Foot targets of a group of characters on the ground."""

    places: NDArray
    """(C, N, 3) ankles, world, metres."""
    turns: NDArray
    """(C, N, 4) world."""
    swings: NDArray
    """(C, N) bool; feet in the air."""


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
    standing: NDArray
    """(C, feet) bool; feet without another goal."""
    place_rows: NDArray
    turn_rows: NDArray
    """(s,) rows of the positions and orientations of planted feet."""

    @classmethod
    def of(
        cls,
        table: GoalTable,
        share: NDArray,
        members: NDArray,
        feet: list[int],
        limb_of: NDArray,
        ranks: NDArray,
        key: bytes,
        further: dict[str, Any] | None = None,
    ) -> RowLayout:
        """Sort the rows; feet: joints of feet, ranks: (C, feet) theirs; further: rows of this frame alone.

        members: (C,) the characters that count. Without rows of this frame all of them do, so that the layout stays
        valid.
        """
        characters = len(members)
        active = np.flatnonzero(share > 0)
        if further is not None and not members.all():
            active = active[members[table.row[active]]]
            kept = members[further["poses"]]
            further = {name: value[kept] if isinstance(value, np.ndarray) else value for name, value in further.items()}
        else:
            members = np.ones(characters, bool)
        taken = np.zeros((characters, 5), bool)
        limb = table.limb[active]
        taken[table.row[active], limb] = limb >= 0
        standing = ~taken[:, limb_of[feet]] & members[:, None] if feet else np.zeros((characters, 0), bool)
        character, foot = np.nonzero(standing)
        joints = np.array(feet, np.int64)[foot]
        blocks: list[dict[str, Any]] = [
            {"poses": character, "kind": kind, "joint": joints, "rank": ranks[standing]}
            for kind in (POSITION, ORIENTATION)
        ]
        blocks.append(table.block(active) | {"share": share[active]})
        blocks += [] if further is None else [further]
        made = make_rows(characters, blocks)
        row_of = np.empty(len(made.order), np.int64)
        row_of[made.order] = np.arange(len(made.order))
        planted = len(character)
        sources = np.full(len(made.order), -1)
        sources[2 * planted : 2 * planted + len(active)] = table.source[active]
        return cls(
            key if further is None else b"", made, sources[made.order], active,
            row_of[2 * planted : 2 * planted + len(active)], standing, row_of[:planted], row_of[planted : 2 * planted],
        )  # fmt: skip

    def fill(
        self, feet: Feet | None, targets: NDArray, share: NDArray, supports: tuple[NDArray, NDArray] | None
    ) -> Rows:
        """Return this frame's rows: foot targets, targets (n, 4) and activations of active goals, support polygons.

        One array is refilled every time: rows are valid until the next call.
        """
        asks = self.rows.asks
        if feet is not None:
            asks[self.place_rows, TARGET.start : TARGET.start + 3] = feet.places[self.standing]
            asks[self.turn_rows, TARGET] = feet.turns[self.standing]
        asks[self.goal_rows, TARGET] = targets
        asks[self.goal_rows, SHARE] = share[self.active]
        if supports is None:
            return self.rows
        return replace(self.rows, polygons=supports[0], sides=supports[1])


def key_of(share: NDArray, feet: Feet | None) -> bytes:
    """Return a key of which goals are active, which are ramping, and which feet are in the air."""
    return (share > 0).tobytes() + (share < 1).tobytes() + (b"" if feet is None else feet.swings.tobytes())
