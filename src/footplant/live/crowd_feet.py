"""Footplants of a running crowd: planted feet stay where they are when body or motion of a character change.

A foot that is planted before and after a change stays until its motion lifts it; its offset decays in the air. One that
would have to stay too far from where its body wants it takes a step there, one foot at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.live.crowd_ease import Easing

STEPS_FROM = 0.06
"""Metres by which a planted foot may stay off where its motion has it; beyond that it takes a step."""
STEP_TIME = 0.35
"""Seconds of such a step, and of the decay of an offset in the air."""
STEP_HEIGHT = 0.05
"""Metres by which such a step is lifted: of one of 30 cm, and less in proportion of shorter ones."""


class FootHolds:
    """Feet (C, N) of a group of characters."""

    def __init__(self, characters: int, feet: int) -> None:
        """Nothing is held at first."""
        self._held = np.zeros((characters, feet), bool)
        self._places: NDArray = np.zeros((characters, feet, 3))
        self._turns = rotation.identity(characters, feet)
        self._lifts: NDArray = np.zeros((characters, feet))
        self._ease = Easing(characters * feet, 6)
        self._asked: tuple[NDArray, NDArray, float] | None = None
        """Where motions had the feet at the last frame, and its time."""
        self._shown: tuple[NDArray, NDArray, NDArray] | None = None

    def grow(self, characters: int) -> None:
        """Make room for more characters."""
        more = characters - len(self._held)
        if more > 0:
            feet = self._held.shape[1]
            self._held, self._lifts = (np.pad(table, ((0, more), (0, 0))) for table in (self._held, self._lifts))
            self._places = np.pad(self._places, ((0, more), (0, 0), (0, 0)))
            self._turns = np.concatenate([self._turns, rotation.identity(more, feet)])
            self._ease.grow(characters * feet)
            if self._shown is not None:
                # whoever comes has not stood anywhere
                places, turns, moving = self._shown
                self._shown = (
                    np.pad(places, ((0, more), (0, 0), (0, 0))), np.concatenate([turns, rotation.identity(more, feet)]),
                    np.pad(moving, ((0, more), (0, 0)), constant_values=True),
                )  # fmt: skip

    def standing(self, row: int) -> tuple[NDArray, NDArray]:
        """Return where the feet of a character were last (N, 3), and which were planted (N,)."""
        if self._shown is None:
            return self._places[row], np.zeros(self._held.shape[1], bool)
        return self._shown[0][row], ~self._shown[2][row]

    def carry(self, shift: NDArray) -> None:
        """Shift all feet (3,), metres."""
        self._places += shift
        if self._shown is not None:
            self._shown = self._shown[0] + shift, *self._shown[1:]

    def forget(self, row: int) -> None:
        """Let the feet of a character go at once: it was not there before."""
        self._held[row] = False
        if self._shown is not None:
            self._shown[2][row] = True

    def hold(self, rows: NDArray, moving: NDArray) -> None:
        """Hold the feet of some characters (n,) that stood still and do; moving: (n, N) which do not now."""
        if self._shown is None:
            return
        places, turns, before = self._shown
        self._held[rows] = ~before[rows] & ~moving
        self._places[rows], self._turns[rows] = places[rows], turns[rows]
        self._ease.end((rows[:, None] * moving.shape[1] + np.arange(moving.shape[1])).ravel())

    def place(
        self, places: NDArray, turns: NDArray, moving: NDArray, now: float, settled: NDArray
    ) -> tuple[NDArray, NDArray, NDArray]:
        """Return where feet are: places (C, N, 3), rotations (C, N, 4), and which take steps (C, N).

        places, turns: as their motions have them; moving: feet that do not stand still there. settled: (C,) characters
        that may take steps.
        """
        asked, self._asked = self._asked, (places, turns, now)
        stepping = np.zeros_like(moving)
        if self._held.any() or self._ease:
            places, turns = places.copy(), turns.copy()
            self._let_go(places, turns, moving, now, settled, asked)
            places[self._held], turns[self._held] = self._places[self._held], self._turns[self._held]
            feet, offsets = self._ease.at(now)
            if len(feet):
                row, foot = np.divmod(feet, moving.shape[1])
                share = self._ease.shares(feet, now)
                lift = 16.0 * (share * (1.0 - share)) ** 2 * self._lifts[row, foot]
                places[row, foot] += offsets[:, :3]
                places[row, foot, 1] += lift
                turns[row, foot] = rotation.multiply(rotation.exp(offsets[:, 3:]), turns[row, foot])
                stepping[row, foot] = self._lifts[row, foot] > 0.0
        self._shown = places, turns, moving | stepping
        return places, turns, stepping

    def _let_go(
        self, places: NDArray, turns: NDArray, moving: NDArray, now: float, settled: NDArray,
        asked: tuple[NDArray, NDArray, float] | None,
    ) -> None:  # fmt: skip
        """Let feet go that their motion lifts, and one of each character that is too far from where it should be."""
        feet = self._held.shape[1]
        rows = np.flatnonzero(self._held.any(axis=1))
        if not len(rows):
            return
        held, rolls = self._held[rows], moving[rows]
        away = (self._places[rows] - places[rows])[..., ::2]
        off = np.hypot(away[..., 0], away[..., 1])
        steps = held & ~rolls & (off > STEPS_FROM)
        if steps.any():
            stepping = self._ease.active((rows[:, None] * feet + np.arange(feet)).ravel()).reshape(held.shape)
            alone = settled[rows] & ~(stepping | rolls).any(axis=1)
            steps &= alone[:, None] & (np.argmax(np.where(held, off, -1.0), axis=1)[:, None] == np.arange(feet))
        some, foot = np.nonzero(held & (rolls | steps))
        if not len(some):
            return
        row, lifted = rows[some], np.where(steps[some, foot], np.minimum(off[some, foot] / 0.3, 1.0), 0.0)
        turned = rotation.multiply(self._turns[row, foot], rotation.inverse(turns[row, foot]))
        offsets = np.concatenate([self._places[row, foot] - places[row, foot], rotation.log(turned)], axis=1)
        speeds = np.zeros_like(offsets)
        if asked is not None and asked[0].shape == places.shape and now > asked[2]:
            # they were at rest, and their motion is moving already
            turning = rotation.multiply(turns[row, foot], rotation.inverse(asked[1][row, foot]))
            moved = np.concatenate([places[row, foot] - asked[0][row, foot], rotation.log(turning)], axis=1)
            speeds = -moved / (now - asked[2])
        self._ease.begin(row * feet + foot, offsets, now, STEP_TIME, speeds)
        self._lifts[row, foot] = STEP_HEIGHT * lifted
        self._held[row, foot] = False
