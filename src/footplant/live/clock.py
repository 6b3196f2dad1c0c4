"""When poses were made: the sender's stamps, which may be wrong, and our clock, on which they arrive with jitter."""

from __future__ import annotations

import math
from collections import deque

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
        self.period = 1.0 / CLOCK.usual_rate
        """Seconds between two poses: the median."""
        self.jumps = 0
        """Stamps that made no sense, and changes of latency."""
        self.trusts_stamps = True
        """Whether the sender's stamps are used."""
        self._is_judged = False
        self.made: float | None = None
        """The estimate for the last pose, seconds on our clock."""
        self.poses = 0
        self._arrived = 0.0
        self._stamp: float | None = None
        self._steps: deque[float] = deque(maxlen=CLOCK.window)
        self._arrivals: deque[float] = deque(maxlen=CLOCK.far + 1)
        self._pairs: deque[tuple[float, float]] = deque(maxlen=CLOCK.window)
        """Steps of stamps (0 if they went back or were absent) and of arrivals, seconds."""
        self._delays: deque[tuple[float, float]] = deque()
        """Arrival and delay of poses of the last seconds, delays increasing: the first is the smallest."""
        self._waits = np.zeros(CLOCK.waits)
        self._waited = self._jitter_at = 0
        self._jitter = 0.0
        self._behind: list[tuple[float, float]] = []
        self._flood = False

    def capture(self, stamp: float | None, now: float) -> float:
        """Return when a pose was made that arrived `now`; stamp: seconds by the sender's clock, or None."""
        self.poses += 1
        if stamp is not None and not math.isfinite(stamp):
            stamp = None
        if self.made is None:
            self._set(now, stamp, now)
            return now
        passed = now - self._arrived
        claimed = 0.0 if stamp is None or self._stamp is None else stamp - self._stamp
        if self.trusts_stamps and stamp is not None and stamp == self._stamp and passed < CLOCK.together:
            # the rest of the same pose
            return self.made
        # a stamp may step by what has passed here or by one pose of a flood, but not by more
        makes_sense = 0.0 < claimed <= CLOCK.most_ahead + 1.5 * max(passed, self.period)
        self._pairs.append((min(claimed, 0.1) if makes_sense else 0.0, min(passed, 0.1)))
        self._judge_stamps()
        uses_stamps = self.trusts_stamps and self._is_judged
        if uses_stamps and claimed == 0.0 and stamp is not None:
            self._arrived = now
            return self.made
        if uses_stamps and makes_sense:
            step = claimed
        else:
            self.jumps += int(uses_stamps)
            step = self._counted(now)
        self._learn_period(step if uses_stamps else None, now)
        made = self._steered(self.made + step, now, step)
        self._set(made, stamp, now)
        return made

    def wait(self, made: float, now: float) -> None:
        """Count how long after it was made a pose could be used; what was lost counts with what stands in for it."""
        late = now - made
        # what waited in a stall says nothing about jitter, nor does the flood after it
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

    def _set(self, made: float, stamp: float | None, now: float) -> None:
        self.made, self._stamp, self._arrived = made, stamp, now

    def _counted(self, now: float) -> float:
        """Return one interval, or two if so much has passed: one pose was lost. More than that is a stall, after which
        the poses of all of it may still come. When they are ahead of their arrivals, they have: time stands still.
        """
        assert self.made is not None
        passed = now - self.made - self._smallest
        if passed < -self.period:
            return 1e-4
        return (2.0 if 1.5 * self.period < passed < 2.5 * self.period else 1.0) * self.period

    @property
    def _smallest(self) -> float:
        return self._delays[0][1] if self._delays else 0.0

    def _judge_stamps(self) -> None:
        """Use stamps if they follow the arrivals at least as well as equal intervals do, and seldom stand still."""
        pairs = self._pairs
        if len(pairs) < CLOCK.judged or (self._is_judged and self.poses % 8):
            return
        self._is_judged = True
        usual = min(self.period, 0.1)
        # plain numbers: at this length NumPy's calls take longer
        runs = [(claimed - passed) ** 2 for claimed, passed in pairs if claimed > 0.0]
        still = 1.0 - len(runs) / len(pairs)
        off = math.sqrt(sum(runs) / len(runs)) if runs else math.inf
        jitter = math.sqrt(sum((passed - usual) ** 2 for _, passed in pairs) / len(pairs))
        self.trusts_stamps = still <= CLOCK.still and off <= CLOCK.worse * jitter + CLOCK.tick

    def _learn_period(self, step: float | None, now: float) -> None:
        """Learn the median interval: of stamps, or of arrivals over several poses, in which jitter averages out."""
        self._arrivals.append(now)
        if step is None:
            step = (now - self._arrivals[0]) / max(len(self._arrivals) - 1, 1)
        if 1e-3 <= step <= 0.5:
            self._steps.append(step)
        if self._steps and (len(self._steps) < CLOCK.window or self.poses % 4 == 0):
            steps = sorted(self._steps)
            self.period = 0.5 * (steps[(len(steps) - 1) // 2] + steps[len(steps) // 2])

    def _steered(self, made: float, now: float, step: float) -> float:
        """Return an estimate after steering, and remember its delay."""
        delay = now - made
        if delay < -CLOCK.most_ahead:
            # nothing arrives before it is made
            self._restart()
            return now
        self._behind = [*self._behind, (now, delay)] if delay - self._smallest > 1.5 * self.period else []
        if self._behind and self._behind[0][1] - delay > CLOCK.catches_up * (now - self._behind[0][0]):
            # a flood after a stall: poses come faster than they were made, until they are in time again
            self._behind = self._behind[-1:]
        if len(self._behind) >= CLOCK.judged and now - self._behind[0][0] > CLOCK.increased:
            later = min(delay for _, delay in self._behind)
            self._restart()
            self.jumps += 1
            return made + later
        while self._delays and self._delays[-1][1] >= delay:
            self._delays.pop()
        self._delays.append((now, delay))
        while now - self._delays[0][0] > CLOCK.memory:
            self._delays.popleft()
        shift = min(max(self._smallest, -CLOCK.slower * step), CLOCK.faster * step)
        if shift:
            self._delays = deque((when, delay - shift) for when, delay in self._delays)
        return made + shift

    def _restart(self) -> None:
        self._delays.clear()
        self._behind = []
