"""Changes of a running crowd ease in: what was shown goes on smoothly, and its offset from what is new decays.

Inertialisation (Bollo, "High performance animation in Gears of War 4", SIGGRAPH 2018): at a change, the offset of the
shown value from the new one is measured with its speed, and decays to 0 as a quintic polynomial that ends at rest.
Inputs are eased (postures, targets, ground, when goals hold), never solved poses, so that every frame of a transition
meets its goals and keeps its footplants.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation


class Easing:
    """Decaying offsets of some rows of a table."""

    def __init__(self, rows: int, width: int) -> None:
        """Nothing is offset at first."""
        self._begun, self._over, self._live = np.zeros(rows), np.ones(rows), np.zeros(rows, bool)
        self._terms = np.zeros((6, rows, width))

    def grow(self, rows: int) -> None:
        """Make room for more rows."""
        more = rows - len(self._live)
        if more > 0:
            self._begun, self._over = np.pad(self._begun, (0, more)), np.pad(self._over, (0, more), constant_values=1.0)
            self._live = np.pad(self._live, (0, more))
            # what is not offset is not read: a copy of all of it would hold up the frame in which somebody comes
            terms, live = np.zeros((6, rows, self._terms.shape[2])), np.flatnonzero(self._live)
            terms[:, live] = self._terms[:, live]
            self._terms = terms

    def __bool__(self) -> bool:
        """Return whether anything is offset."""
        return bool(self._live.any())

    def active(self, rows: NDArray) -> NDArray:
        """Return which of some rows (n,) are offset."""
        return self._live[rows]

    def begin(
        self, rows: NDArray, offsets: NDArray, now: float, over: NDArray | float, speeds: NDArray | float = 0.0,
        jolts: NDArray | float = 0.0,
    ) -> None:  # fmt: skip
        """Offset rows (n,) by (n, width) at a time; they decay to 0 in so many seconds.

        speeds, jolts: (n, width) first and second derivatives of the offsets, per second.
        """
        over = np.broadcast_to(np.asarray(over, float), len(rows))
        self._begun[rows], self._over[rows], self._live[rows] = now, over, True
        p, v = np.asarray(offsets, float), speeds * over[:, None]
        a = 0.5 * jolts * over[:, None] ** 2
        v, a = np.broadcast_to(v, p.shape), np.broadcast_to(a, p.shape)
        self._terms[:, rows] = (
            p, v, a, -10.0 * p - 6.0 * v - 3.0 * a, 15.0 * p + 8.0 * v + 3.0 * a, -6.0 * p - 3.0 * v - a
        )  # fmt: skip

    def end(self, rows: NDArray) -> None:
        """Let rows (n,) be offset no longer."""
        self._live[rows] = False

    def at(self, now: float) -> tuple[NDArray, NDArray]:
        """Return the rows (n,) that are offset at a time, and their offsets (n, width)."""
        from footplant.live import _crowd_ease as kernel

        most = np.count_nonzero(self._live)
        rows, offsets = np.empty(most, np.int64), np.empty((most, self._terms.shape[2]))
        count = kernel.offsets_at(self._live, self._begun, self._over, self._terms, now, rows, offsets) if most else 0
        return rows[:count], offsets[:count]

    def motion_of(self, rows: NDArray, now: float) -> tuple[NDArray, NDArray, NDArray]:
        """Return offsets (n, width) of rows at a time, with their first and second derivatives per second."""
        over = self._over[rows][:, None]
        alive = (self._live[rows] & (now < self._begun[rows] + self._over[rows]))[:, None]
        return tuple(alive * self._value(rows, now, order) / over**order for order in range(3))  # type: ignore[return-value]

    def shares(self, rows: NDArray, now: float) -> NDArray:
        """Return which share of its time each row (n,) has decayed, 0 to 1."""
        return np.clip((now - self._begun[rows]) / self._over[rows], 0.0, 1.0)

    def _value(self, rows: NDArray, now: float, order: int) -> NDArray:
        share = self.shares(rows, now)[:, None]
        found = np.zeros((len(rows), self._terms.shape[2]))
        for power in range(5, order - 1, -1):
            factor = float(np.prod([power - n for n in range(order)])) if order else 1.0
            found = found * share + factor * self._terms[power, rows]
        return found


def posture_offsets(
    before: tuple[NDArray, NDArray], last: tuple[NDArray, NDArray], now: tuple[NDArray, NDArray],
    then: tuple[NDArray, NDArray], steps: tuple[float, float],
) -> tuple[NDArray, NDArray]:  # fmt: skip
    """Return by how much shown postures, going on, are off new ones: offsets (n, 3 + 3J), and their speeds per frame.

    before, last: roots (n, 3) and local rotations (n, J, 4) that were shown; now, then: new ones at this frame and the
    next. steps: frames between `before` and `last`, and from `last` to now.
    """
    between, since = steps
    speed, turning = _way(last, before)
    root = last[0] + since / between * speed
    local = rotation.multiply(rotation.exp(since / between * turning), last[1])
    own_speed, own_turning = _way(then, now)
    offset, turned = _way((root, local), now)
    flat = len(root), -1
    return (
        np.concatenate([offset, turned.reshape(flat)], axis=1),
        np.concatenate([speed / between - own_speed, (turning / between - own_turning).reshape(flat)], axis=1),
    )


def _way(to: tuple[NDArray, NDArray], start: tuple[NDArray, NDArray]) -> tuple[NDArray, NDArray]:
    """Return shifts (n, 3) and rotation vectors (n, J, 3) between postures."""
    return to[0] - start[0], rotation.log(rotation.multiply(to[1], rotation.inverse(start[1])))


def offset_postures(root: NDArray, local: NDArray, rows: NDArray, offsets: NDArray) -> None:
    """Offset some postures (n,) of (C, 3) roots and (C, J, 4) local rotations in place."""
    root[rows] += offsets[:, :3]
    turns = rotation.exp(offsets[:, 3:].reshape(len(rows), local.shape[1], 3))
    local[rows] = rotation.multiply(turns, local[rows])
