"""Two clocks: the sender's, which stamps poses, and ours, which sees them arrive late and unevenly."""

from __future__ import annotations

import math

JUMP = 0.5
"""Seconds between what is expected of a sender's clock and what it says, beyond which it has been set anew."""
EARLIER, LATER = 0.2, 0.005
"""Shares by which the estimate follows poses that come earlier and later than it expects. The way can only add time:
who comes early tells more about the clocks than who comes late."""


class SenderClock:
    """A running estimate of the offset between a sender's clock and ours, so that jitter of the way is no motion."""

    def __init__(self) -> None:
        """Start without an estimate."""
        self.offset: float | None = None
        """Our seconds less the sender's, at the shortest way; None before the first stamp."""
        self.jumps = 0
        """How often the sender's clock was found to have been set anew."""

    def arrival(self, sent: float | None, now: float) -> float:
        """When a pose was made, on our clock: `sent` by the sender's (None: it does not say), `now` when it came."""
        if sent is None or not math.isfinite(sent):
            return now
        found = now - sent
        if self.offset is None:
            self.offset = found
        elif abs(found - self.offset) > JUMP:
            self.offset = found
            self.jumps += 1
        else:
            self.offset += (EARLIER if found < self.offset else LATER) * (found - self.offset)
        return sent + self.offset


class Rate:
    """How often something comes, as a running mean of intervals; gaps do not count."""

    def __init__(self, guess: float = 1.0 / 60.0) -> None:
        """guess: seconds between two, before any is known."""
        self.interval = guess
        self._last: float | None = None

    def tick(self, now: float) -> None:
        """One has come."""
        if self._last is not None:
            step = now - self._last
            if 0.0 < step < 4.0 * self.interval or self.interval * 0.5 > step > 0.0:
                self.interval += 0.1 * (min(max(step, 1.0 / 1000.0), 0.5) - self.interval)
        self._last = now

    @property
    def per_second(self) -> float:
        """Frames a second."""
        return 1.0 / self.interval
