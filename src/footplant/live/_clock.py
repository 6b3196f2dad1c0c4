"""Compiled estimation of when poses were made: see `clock.SenderClock`."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import strict_jit
from footplant.live.settings import CLOCK

PERIOD, MADE, ARRIVED, STAMP, POSES, JUMPS, TRUSTED, JUDGED = range(8)
STEPS, ARRIVALS, PAIRS, FIRST, DELAYS = 8, 9, 10, 11, 12
BEHIND, BEHIND_SINCE, BEHIND_FIRST, BEHIND_LEAST, SPREAD, GOOD, NUMBERS = 13, 14, 15, 16, 17, 18, 19
"""Numbers of a clock: the usual interval; the last estimate, arrival and stamp (NaN: none); poses; jumps; whether
stamps are used, and have been judged; how many steps, arrivals and pairs there were; where the delays begin, and how
many there are; of the poses in a row that came late: their number, the first's arrival and delay, and the smallest; by
how much delays exceed the smallest one, on average; how often in a row stamps were judged to be good."""
WINDOW, FAR = CLOCK.window, CLOCK.far + 1
MOST_DELAYS = 2048
"""Delays that are kept at most; those of `CLOCK.memory` seconds at 1,000 Hz."""
USUAL = 1.0 / CLOCK.usual_rate
JUDGED_FROM, STILL, TOGETHER, TICK = CLOCK.judged, CLOCK.still, CLOCK.together, CLOCK.tick
STEADY, SPREADING, AGAIN = CLOCK.steady, 1.0 / CLOCK.window, CLOCK.again
MOST_AHEAD, INCREASED, CATCHES_UP = CLOCK.most_ahead, CLOCK.increased, CLOCK.catches_up
REMEMBERED, FASTER, SLOWER = CLOCK.memory, CLOCK.faster, CLOCK.slower


@strict_jit
def capture(stamp, now, numbers, steps, arrivals, pairs, delays):
    """Return (when a pose was made that arrived `now`, the usual interval, jumps, whether stamps are used).

    stamp: seconds by the sender's clock, not finite: none. numbers: (NUMBERS,), a new clock has `PERIOD`, and NaN for
    `MADE` and `STAMP`. Rings: steps (WINDOW,), arrivals (FAR,), and pairs (WINDOW, 2) of steps of stamps (0 if they
    went back or were absent) and of arrivals, all in seconds; delays (MOST_DELAYS, 2): arrival and delay of poses of
    the last seconds, delays increasing: the first is the smallest.
    """
    numbers[POSES] += 1.0
    if not math.isfinite(stamp):
        stamp = np.nan
    if math.isnan(numbers[MADE]):
        _set(now, stamp, now, numbers)
    elif numbers[TRUSTED] > 0.0 and stamp == numbers[STAMP] and now - numbers[ARRIVED] < TOGETHER:
        # the rest of the same pose
        pass
    else:
        _step(stamp, now, numbers, steps, arrivals, pairs, delays)
    return numbers[MADE], numbers[PERIOD], numbers[JUMPS], numbers[TRUSTED] > 0.0


@strict_jit
def _set(made, stamp, now, numbers):
    numbers[MADE], numbers[STAMP], numbers[ARRIVED] = made, stamp, now


@strict_jit
def _step(stamp, now, numbers, steps, arrivals, pairs, delays):
    """Go on to the next pose."""
    passed, claimed = now - numbers[ARRIVED], stamp - numbers[STAMP]
    if math.isnan(claimed):
        claimed = 0.0
    # a stamp may step by what has passed here or by one pose of a flood, but not by more
    makes_sense = 0.0 < claimed <= MOST_AHEAD + 1.5 * max(passed, numbers[PERIOD])
    place = int(numbers[PAIRS]) % WINDOW
    pairs[place, 0], pairs[place, 1] = min(claimed, 0.1) if makes_sense else 0.0, min(passed, 0.1)
    numbers[PAIRS] += 1.0
    _judge_stamps(numbers, pairs)
    uses_stamps = numbers[TRUSTED] > 0.0 and numbers[JUDGED] > 0.0
    if uses_stamps and claimed == 0.0 and not math.isnan(stamp):
        numbers[ARRIVED] = now
        return
    if uses_stamps and makes_sense:
        step = claimed
    else:
        numbers[JUMPS] += 1.0 if uses_stamps else 0.0
        step = _counted(now, numbers, delays)
    _learn_period(step, uses_stamps, now, numbers, steps, arrivals)
    _set(_steered(numbers[MADE] + step, now, step, numbers, delays), stamp, now, numbers)


@strict_jit
def _smallest(numbers, delays):
    return delays[int(numbers[FIRST]), 1] if numbers[DELAYS] > 0.0 else 0.0


@strict_jit
def _counted(now, numbers, delays):
    """Return one interval, or two if so much has passed and poses do not come late otherwise: one was lost. More than
    that is a stall, after which the poses of all of it may still come. When they are ahead of their arrivals, they
    have: time stands still.
    """
    passed, period = now - numbers[MADE] - _smallest(numbers, delays), numbers[PERIOD]
    if passed < -period:
        return 1e-4
    is_steady = numbers[SPREAD] < STEADY * period
    return (2.0 if is_steady and 1.5 * period < passed < 2.5 * period else 1.0) * period


@strict_jit
def _judge_stamps(numbers, pairs):
    """Use stamps if they follow the arrivals at least as well as equal intervals do, and seldom stand still."""
    count = min(int(numbers[PAIRS]), WINDOW)
    if count < JUDGED_FROM or (numbers[JUDGED] > 0.0 and int(numbers[POSES]) % 8 != 0):
        return
    numbers[JUDGED] = 1.0
    usual = min(numbers[PERIOD], 0.1)
    runs, off, jitter = 0, 0.0, 0.0
    for n in range(count):
        claimed, passed = pairs[n, 0], pairs[n, 1]
        jitter += (passed - usual) * (passed - usual)
        if claimed > 0.0:
            runs += 1
            off += (claimed - passed) * (claimed - passed)
    still = 1.0 - runs / count
    off = off / runs if runs > 0 else np.inf
    trusted = still <= STILL and off <= jitter / count + TICK * TICK
    numbers[GOOD] = numbers[GOOD] + 1.0 if trusted else 0.0
    numbers[TRUSTED] = 1.0 if trusted and (numbers[TRUSTED] > 0.0 or numbers[GOOD] >= AGAIN) else 0.0


@strict_jit
def _learn_period(step, by_stamps, now, numbers, steps, arrivals):
    """Learn the median interval: of stamps, or of arrivals over several poses, in which jitter averages out."""
    arrivals[int(numbers[ARRIVALS]) % FAR] = now
    numbers[ARRIVALS] += 1.0
    if not by_stamps:
        known = int(numbers[ARRIVALS])
        oldest = arrivals[known % FAR] if known > FAR else arrivals[0]
        step = (now - oldest) / max(min(known, FAR) - 1, 1)
    if 1e-3 <= step <= 0.5:
        steps[int(numbers[STEPS]) % WINDOW] = step
        numbers[STEPS] += 1.0
    count = min(int(numbers[STEPS]), WINDOW)
    if count > 0 and (count < WINDOW or int(numbers[POSES]) % 4 == 0):
        ordered = np.sort(steps[:count])
        numbers[PERIOD] = 0.5 * (ordered[(count - 1) // 2] + ordered[count // 2])


@strict_jit
def _steered(made, now, step, numbers, delays):
    """Return an estimate after steering, and remember its delay."""
    delay = now - made
    if delay < -MOST_AHEAD:
        # nothing arrives before it is made
        _restart(numbers)
        return now
    if delay - _smallest(numbers, delays) > 1.5 * numbers[PERIOD]:
        _note_late(now, delay, numbers)
        if numbers[BEHIND_FIRST] - delay > CATCHES_UP * (now - numbers[BEHIND_SINCE]):
            # a flood after a stall: poses come faster than they were made, until they are in time again
            numbers[BEHIND] = 0.0
            _note_late(now, delay, numbers)
    else:
        numbers[BEHIND] = 0.0
    if numbers[BEHIND] >= JUDGED_FROM and now - numbers[BEHIND_SINCE] > INCREASED:
        later = numbers[BEHIND_LEAST]
        _restart(numbers)
        numbers[JUMPS] += 1.0
        return made + later
    exceeds = min(max(delay - _smallest(numbers, delays), 0.0), numbers[PERIOD])
    numbers[SPREAD] += SPREADING * (exceeds - numbers[SPREAD])
    first, count = int(numbers[FIRST]), int(numbers[DELAYS])
    while count > 0 and (count == MOST_DELAYS or delays[(first + count - 1) % MOST_DELAYS, 1] >= delay):
        count -= 1
    last = (first + count) % MOST_DELAYS
    delays[last, 0], delays[last, 1] = now, delay
    count += 1
    while now - delays[first, 0] > REMEMBERED:
        first, count = (first + 1) % MOST_DELAYS, count - 1
    numbers[FIRST], numbers[DELAYS] = first, count
    shift = min(max(delays[first, 1], -SLOWER * step), FASTER * step)
    if shift != 0.0:
        for n in range(count):
            delays[(first + n) % MOST_DELAYS, 1] -= shift
    return made + shift


@strict_jit
def _note_late(now, delay, numbers):
    """Count one more pose in a row that came late."""
    if numbers[BEHIND] == 0.0:
        numbers[BEHIND_SINCE], numbers[BEHIND_FIRST], numbers[BEHIND_LEAST] = now, delay, delay
    numbers[BEHIND] += 1.0
    numbers[BEHIND_LEAST] = min(numbers[BEHIND_LEAST], delay)


@strict_jit
def _restart(numbers):
    """Forget all delays."""
    numbers[FIRST] = numbers[DELAYS] = numbers[BEHIND] = 0.0


def new_clock():
    """Return numbers, steps, arrivals, pairs and delays of a clock that has seen nothing."""
    numbers = np.zeros(NUMBERS)
    numbers[PERIOD], numbers[MADE], numbers[STAMP], numbers[TRUSTED] = USUAL, np.nan, np.nan, 1.0
    return numbers, np.zeros(WINDOW), np.zeros(FAR), np.zeros((WINDOW, 2)), np.zeros((MOST_DELAYS, 2))


WARMUP = {"capture": lambda: (0.0, 0.01, *new_clock())}
