"""When poses were made: the sender's stamps, which may be wrong, and our clock, on which they arrive with jitter."""

from __future__ import annotations

import math

import numpy as np

from footplant.live.settings import CLOCK


class SenderClock:
    """Estimates on our clock when each pose of one sender was made, as if the network always took its shortest time.

    Time advances from pose to pose by a step: that of the sender's stamps where they make sense, otherwise a whole
    number of the usual intervals, as many as the arrival suggests. The sum of the steps is steered so that the smallest
    delay of the last seconds, arrival minus estimate, is zero: slowly, so that jitter is not mistaken for motion. A
    stamp that jumps is one step that makes no sense; a latency that increases for good is taken over at once.
    """

    def __init__(self) -> None:
        """Start without an estimate."""
        from footplant.live import _clock as kernel

        rules = kernel.Rules(*(float(getattr(CLOCK, name)) for name in kernel.Rules._fields))
        self._capture = kernel.capture
        self._state = kernel.new_clock(rules, CLOCK.usual_rate, CLOCK.window, CLOCK.far + 1)
        self.period = 1.0 / CLOCK.usual_rate
        """Seconds between two poses: the median."""
        self.jumps = 0
        """Stamps that made no sense, and changes of latency."""
        self.trusts_stamps = True
        """Whether the sender's stamps are used."""
        self.made: float | None = None
        """The estimate for the last pose, seconds on our clock."""
        self._waits = np.zeros(CLOCK.waits)
        self._waited = self._jitter_at = 0
        self._jitter = 0.0
        self._flood = False

    def capture(self, stamp: float | None, now: float) -> float:
        """Return when a pose was made that arrived `now`; stamp: seconds by the sender's clock, or None."""
        made, self.period, jumps, self.trusts_stamps = self._capture(
            math.nan if stamp is None else stamp, now, *self._state
        )
        self.made, self.jumps = made, int(jumps)
        return made

    def wait(self, made: float, now: float) -> None:
        """Count how long after it was made a pose could be used; a lost pose counts by the one that replaces it."""
        late = now - made
        # poses delayed by a stall are no measure of jitter, nor is the burst after it
        self._flood = late > CLOCK.stall or (self._flood and late > CLOCK.most_ahead)
        if not self._flood:
            self._waits[self._waited % len(self._waits)] = late
            self._waited += 1

    @property
    def jitter(self) -> float:
        """Seconds within which nearly all poses can be used."""
        if self._waited - self._jitter_at >= 8:
            self._jitter_at = self._waited
            known = self._waits[: min(self._waited, len(self._waits))]
            place = int(CLOCK.in_time * (len(known) - 1))
            self._jitter = max(float(np.partition(known, place)[place]), 0.0)
        return self._jitter

    @property
    def rate(self) -> float:
        """Poses per second."""
        return 1.0 / self.period
