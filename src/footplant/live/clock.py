"""Clock synchronisation: the sender's clock, which stamps poses, and ours, which sees them arrive with jitter."""

from __future__ import annotations

import math

from footplant.live.settings import CLOCK


class SenderClock:
    """A running estimate of the offset between a sender's clock and ours, which removes network jitter."""

    def __init__(self) -> None:
        """Start without an estimate."""
        self.offset: float | None = None
        """Our seconds minus the sender's, at the lowest latency; None before the first stamp."""
        self.jumps = 0
        """How often the sender's clock was reset."""

    def arrival(self, sent: float | None, now: float) -> float:
        """Return when a pose was made, on our clock: `sent` by the sender's (None: unknown), `now` when it arrived."""
        if sent is None or not math.isfinite(sent):
            return now
        found = now - sent
        if self.offset is None:
            self.offset = found
        elif abs(found - self.offset) > CLOCK.jump:
            self.offset = found
            self.jumps += 1
        else:
            self.offset += (CLOCK.earlier if found < self.offset else CLOCK.later) * (found - self.offset)
        return sent + self.offset


class Rate:
    """Rate of events, as a running mean of intervals; gaps do not count."""

    def __init__(self, guess: float = 1.0 / 60.0) -> None:
        """guess: seconds between two events before any is known."""
        self.interval = guess
        self._last: float | None = None

    def tick(self, now: float) -> None:
        """Count an event."""
        if self._last is not None:
            step = now - self._last
            if 0.0 < step < 4.0 * self.interval or self.interval * 0.5 > step > 0.0:
                self.interval += CLOCK.rate_gain * (min(max(step, 1.0 / 1000.0), 0.5) - self.interval)
        self._last = now

    @property
    def per_second(self) -> float:
        """Events per second."""
        return 1.0 / self.interval
