"""Compiled estimation of when poses were made: see `clock.SenderClock`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from footplant.kernels import strict_jit

PERIOD, MADE, ARRIVED, STAMP, POSES, JUMPS, TRUSTED, JUDGED = range(8)
STEPS, ARRIVALS, PAIRS, FIRST, DELAYS = 8, 9, 10, 11, 12
BEHIND, BEHIND_SINCE, BEHIND_FIRST, BEHIND_LEAST, SPREAD, GOOD, NUMBERS = 13, 14, 15, 16, 17, 18, 19
"""Numbers of a clock: the usual interval; the last estimate, arrival and stamp (NaN: none); poses; jumps; whether
stamps are used, and have been judged; how many steps, arrivals and pairs there were; where the delays begin, and how
many there are; of the poses in a row that came late: their number, the first's arrival and delay, and the smallest; by
how much delays exceed the smallest one, on average; how often in a row stamps were judged to be good."""
MOST_DELAYS = 2048
"""Delays that are kept at most; those of two seconds at 1,000 Hz."""


class Rules(NamedTuple):
    """Tuning numbers of a clock, see `settings.ClockSettings`."""

    judged: float
    still: float
    together: float
    tick: float
    again: float
    steady: float
    most_ahead: float
    increased: float
    catches_up: float
    memory: float
    faster: float
    slower: float


@strict_jit
def capture(stamp, now, rules, numbers, steps, arrivals, pairs, delays):
    """Return (when a pose was made that arrived `now`, the usual interval, jumps, whether stamps are used).

    stamp: seconds by the sender's clock, not finite: none. numbers: (NUMBERS,), a new clock has `PERIOD`, and NaN for
    `MADE` and `STAMP`. Rings: steps (W,), arrivals (A,), and pairs (W, 2) of steps of stamps (0 if they
    went back or were absent) and of arrivals, all in seconds; delays (MOST_DELAYS, 2): arrival and delay of poses of
    the last seconds, delays increasing: the first is the smallest.
    """
    numbers[POSES] += 1.0
    if not math.isfinite(stamp):
        stamp = np.nan
    if math.isnan(numbers[MADE]):
        _set(now, stamp, now, numbers)
    elif numbers[TRUSTED] > 0.0 and stamp == numbers[STAMP] and now - numbers[ARRIVED] < rules.together:
        # the rest of the same pose
        pass
    else:
        _step(stamp, now, rules, numbers, steps, arrivals, pairs, delays)
    return numbers[MADE], numbers[PERIOD], numbers[JUMPS], numbers[TRUSTED] > 0.0


@strict_jit
def _set(made, stamp, now, numbers):
    numbers[MADE], numbers[STAMP], numbers[ARRIVED] = made, stamp, now


@strict_jit
def _step(stamp, now, rules, numbers, steps, arrivals, pairs, delays):
    """Go on to the next pose."""
    passed, claimed = now - numbers[ARRIVED], stamp - numbers[STAMP]
    if math.isnan(claimed):
        claimed = 0.0
    # a stamp may step by what has passed here or by one pose of a flood, but not by more
    makes_sense = 0.0 < claimed <= rules.most_ahead + 1.5 * max(passed, numbers[PERIOD])
    place = int(numbers[PAIRS]) % len(pairs)
    pairs[place, 0], pairs[place, 1] = min(claimed, 0.1) if makes_sense else 0.0, min(passed, 0.1)
    numbers[PAIRS] += 1.0
    _judge_stamps(rules, numbers, pairs)
    uses_stamps = numbers[TRUSTED] > 0.0 and numbers[JUDGED] > 0.0
    if uses_stamps and claimed == 0.0 and not math.isnan(stamp):
        numbers[ARRIVED] = now
        return
    if uses_stamps and makes_sense:
        step = claimed
    else:
        numbers[JUMPS] += 1.0 if uses_stamps else 0.0
        step = _counted(now, rules, numbers, delays)
    _learn_period(step, uses_stamps, now, numbers, steps, arrivals)
    _set(_steered(numbers[MADE] + step, now, step, len(steps), rules, numbers, delays), stamp, now, numbers)


@strict_jit
def _smallest(numbers, delays):
    return delays[int(numbers[FIRST]), 1] if numbers[DELAYS] > 0.0 else 0.0


@strict_jit
def _counted(now, rules, numbers, delays):
    """Return one interval, or two if so much has passed and poses do not come late otherwise: one was lost. More than
    that is a stall, after which the poses of all of it may still come. When they are ahead of their arrivals, they
    have: time stands still.
    """
    passed, period = now - numbers[MADE] - _smallest(numbers, delays), numbers[PERIOD]
    if passed < -period:
        return 1e-4
    is_steady = numbers[SPREAD] < rules.steady * period
    return (2.0 if is_steady and 1.5 * period < passed < 2.5 * period else 1.0) * period


@strict_jit
def _judge_stamps(rules, numbers, pairs):
    """Use stamps if they follow the arrivals at least as well as equal intervals do, and seldom stand still.

    A deviation counts up to half an interval, or three times the median one of equal intervals if that is more: in calm
    arrivals, one lost pose beside a late one would outweigh all others.
    """
    count = min(int(numbers[PAIRS]), len(pairs))
    if count < rules.judged or (numbers[JUDGED] > 0.0 and int(numbers[POSES]) % 8 != 0):
        return
    numbers[JUDGED] = 1.0
    usual = min(numbers[PERIOD], 0.1)
    uneven = np.sort(np.abs(pairs[:count, 1] - usual))
    most = max(0.5 * usual, 3.0 * uneven[count // 2])
    runs, off, jitter = 0, 0.0, 0.0
    for n in range(count):
        claimed, passed = pairs[n, 0], pairs[n, 1]
        jitter += min(uneven[n], most) ** 2
        if claimed > 0.0:
            runs += 1
            off += min(abs(claimed - passed), most) ** 2
    still = 1.0 - runs / count
    off = off / runs if runs > 0 else np.inf
    trusted = still <= rules.still and off <= jitter / count + rules.tick * rules.tick
    numbers[GOOD] = numbers[GOOD] + 1.0 if trusted else 0.0
    numbers[TRUSTED] = 1.0 if trusted and (numbers[TRUSTED] > 0.0 or numbers[GOOD] >= rules.again) else 0.0


@strict_jit
def _learn_period(step, by_stamps, now, numbers, steps, arrivals):
    """Learn the median interval: of stamps, or of arrivals over several poses, in which jitter averages out."""
    window, far = len(steps), len(arrivals)
    arrivals[int(numbers[ARRIVALS]) % far] = now
    numbers[ARRIVALS] += 1.0
    if not by_stamps:
        known = int(numbers[ARRIVALS])
        oldest = arrivals[known % far] if known > far else arrivals[0]
        step = (now - oldest) / max(min(known, far) - 1, 1)
    if 1e-3 <= step <= 0.5:
        steps[int(numbers[STEPS]) % window] = step
        numbers[STEPS] += 1.0
    count = min(int(numbers[STEPS]), window)
    if count > 0 and (count < window or int(numbers[POSES]) % 4 == 0):
        ordered = np.sort(steps[:count])
        numbers[PERIOD] = 0.5 * (ordered[(count - 1) // 2] + ordered[count // 2])


@strict_jit
def _steered(made, now, step, window, rules, numbers, delays):
    """Return an estimate after steering, and remember its delay; window: poses over which the spread is averaged."""
    delay = now - made
    if delay < -rules.most_ahead:
        # nothing arrives before it is made
        _restart(numbers)
        return now
    if delay - _smallest(numbers, delays) > 1.5 * numbers[PERIOD]:
        _note_late(now, delay, numbers)
        if numbers[BEHIND_FIRST] - delay > rules.catches_up * (now - numbers[BEHIND_SINCE]):
            # a flood after a stall: poses come faster than they were made, until they are in time again
            numbers[BEHIND] = 0.0
            _note_late(now, delay, numbers)
    else:
        numbers[BEHIND] = 0.0
    if numbers[BEHIND] >= rules.judged and now - numbers[BEHIND_SINCE] > rules.increased:
        later = numbers[BEHIND_LEAST]
        _restart(numbers)
        numbers[JUMPS] += 1.0
        return made + later
    exceeds = min(max(delay - _smallest(numbers, delays), 0.0), numbers[PERIOD])
    numbers[SPREAD] += (exceeds - numbers[SPREAD]) / window
    first, count = int(numbers[FIRST]), int(numbers[DELAYS])
    while count > 0 and (count == MOST_DELAYS or delays[(first + count - 1) % MOST_DELAYS, 1] >= delay):
        count -= 1
    last = (first + count) % MOST_DELAYS
    delays[last, 0], delays[last, 1] = now, delay
    count += 1
    while now - delays[first, 0] > rules.memory:
        first, count = (first + 1) % MOST_DELAYS, count - 1
    numbers[FIRST], numbers[DELAYS] = first, count
    shift = min(max(delays[first, 1], -rules.slower * step), rules.faster * step)
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


def new_clock(rules, rate, window, far):
    """Return rules, numbers, steps, arrivals, pairs and delays of a clock that has seen nothing, of poses at a rate."""
    numbers = np.zeros(NUMBERS)
    numbers[PERIOD], numbers[MADE], numbers[STAMP], numbers[TRUSTED] = 1.0 / rate, np.nan, np.nan, 1.0
    return rules, numbers, np.zeros(window), np.zeros(far), np.zeros((window, 2)), np.zeros((MOST_DELAYS, 2))


WARMUP = {"capture": lambda: (0.0, 0.01, *new_clock(Rules(*[1.0] * len(Rules._fields)), 60.0, 8, 4))}
