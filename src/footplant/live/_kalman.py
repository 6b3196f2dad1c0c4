"""Constant-velocity Kalman filters of many sensors, with a fixed-lag smoother: one call a frame, nothing allocated.

Each sensor has two channels, place and orientation; the three axes of a channel share one covariance of value and
velocity. The last frames of a channel are kept in a ring of rows (see the columns below), so that what is shown can be
the estimate of a moment ago, made better by what has come since.
"""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit
from footplant.kernels.quaternion import exp, log, multiply

DEPTH = 16
"""Frames that a channel remembers."""
VALUE, SPEED, COVARIANCE, PREDICTED, MOVE, WIDTH = 0, 4, 7, 10, 13, 16
"""Columns of a row: the value (3 or 4 numbers), its velocity (3), the covariance after the measurement and before it
(each as three numbers: value, value with velocity, velocity), then how the frame was predicted: by how many seconds of
velocity, what share of it was left, and the time that had passed."""
ACTIVITY, MISSING, EASE, EASE_TOTAL, OFFSET, MEMORY = 0, 1, 2, 3, 4, 7
"""Columns of what a channel remembers beside its rows: how much larger than expected its innovations are, seconds
without a measurement, seconds of easing left and in all, and the vector that is eased away."""
LEAST_ACTIVITY, MOST_ACTIVITY = 0.15, 1e3
SCRATCH = 22
"""Numbers that a channel needs room for while it works."""
JUMP = 12.0
"""Squares of innovations, in units of what is expected, beyond which a measurement is a jump and not a motion."""
LONG = 0.035
"""Seconds of a gap over which the smoother does not reach."""
RISE = 3.0
"""How much quicker activity is seen to rise than to fall: a limb that starts must not be held back."""


@jit
def smoothstep(u):
    """0 to 1 without corners."""
    u = min(max(u, 0.0), 1.0)
    return u * u * (3.0 - 2.0 * u)


@jit
def _advance(before, after, dt, left, density):
    """Predict value and velocity of the next row from the one before it; velocity fades by `left` over the step."""
    seconds = dt if left >= 1.0 else dt * (1.0 - left) / max(-math.log(left), 1e-12)
    for k in range(3):
        after[SPEED + k] = left * before[SPEED + k]
    a, b, c = before[COVARIANCE], before[COVARIANCE + 1], before[COVARIANCE + 2]
    after[PREDICTED] = a + 2.0 * seconds * b + seconds * seconds * c + density * dt * dt * dt / 3.0
    after[PREDICTED + 1] = left * (b + seconds * c) + density * dt * dt / 2.0
    after[PREDICTED + 2] = left * left * c + density * dt
    after[MOVE], after[MOVE + 1], after[MOVE + 2] = seconds, left, dt
    for k in range(3):
        after[COVARIANCE + k] = after[PREDICTED + k]


@jit
def _move(row, dx, dy, dz, turning):
    """Add a vector to the value of a row: to a place by addition, to an orientation by q·exp(v)."""
    if turning:
        w, x, y, z = exp(dx, dy, dz)
        w, x, y, z = multiply(row[0], row[1], row[2], row[3], w, x, y, z)
        size = math.sqrt(w * w + x * x + y * y + z * z)
        row[0], row[1], row[2], row[3] = w / size, x / size, y / size, z / size
    else:
        row[0] += dx
        row[1] += dy
        row[2] += dz


@jit
def _between(a, b, turning):
    """The vector that `_move` needs to come from value a to value b."""
    if turning:
        w, x, y, z = multiply(a[0], -a[1], -a[2], -a[3], b[0], b[1], b[2], b[3])
        return log(w, x, y, z)
    return b[0] - a[0], b[1] - a[1], b[2] - a[2]


@jit
def _correct(row, measured, noise, memory, share, turning):
    """Take a measurement in: equations 3.7 to 3.9, the covariance in Joseph's form, which stays positive definite."""
    m00, m01, m11 = row[PREDICTED], row[PREDICTED + 1], row[PREDICTED + 2]
    dx, dy, dz = _between(row, measured, turning)
    square = (dx * dx + dy * dy + dz * dz) / 3.0
    surprise = square / (m00 + noise)
    if surprise > JUMP:
        # no motion does that: the data has jumped, and so does the estimate; what was before tells nothing of after
        m00 += 100.0 * square
        row[PREDICTED] = m00
    total = m00 + noise
    k0, k1 = m00 / total, m01 / total
    step = surprise - memory[ACTIVITY]
    if step > 0.0:
        share = min(1.0, RISE * share)
    memory[ACTIVITY] = min(max(memory[ACTIVITY] + share * step, LEAST_ACTIVITY), MOST_ACTIVITY)
    _move(row, k0 * dx, k0 * dy, k0 * dz, turning)
    row[SPEED] += k1 * dx
    row[SPEED + 1] += k1 * dy
    row[SPEED + 2] += k1 * dz
    rest = 1.0 - k0
    row[COVARIANCE] = rest * rest * m00 + k0 * k0 * noise
    row[COVARIANCE + 1] = rest * (m01 - k1 * m00) + k0 * k1 * noise
    row[COVARIANCE + 2] = k1 * k1 * (m00 + noise) - 2.0 * k1 * m01 + m11


@jit
def _look_back(ring, head, count, lag, result, turning):
    """The estimate of `lag` seconds before the newest row, smoothed by all rows since (Rauch, Tung & Striebel).

    result[:7] gets value and velocity; the rest of it, up to 19, is room to work in. Between two rows the value is
    interpolated, so that frames of uneven length make no steps.
    """
    later, predicted = result[7:14], result[14:18]
    for k in range(7):
        result[k] = ring[head, k]
    passed, index = 0.0, head
    for _ in range(count - 1):
        if passed >= lag:
            break
        after = ring[index]
        passed += after[MOVE + 2]
        index = (index - 1) % DEPTH
        row = ring[index]
        for k in range(7):
            later[k] = result[k]
        m00, m01, m11 = after[PREDICTED], after[PREDICTED + 1], after[PREDICTED + 2]
        seconds, left = after[MOVE], after[MOVE + 1]
        p00, p01, p11 = row[COVARIANCE], row[COVARIANCE + 1], row[COVARIANCE + 2]
        det = m00 * m11 - m01 * m01
        # what was predicted then, and how far the smoothed later state is from it
        for k in range(4):
            predicted[k] = row[k]
        _move(predicted, seconds * row[SPEED], seconds * row[SPEED + 1], seconds * row[SPEED + 2], turning)
        dx, dy, dz = _between(predicted, later, turning)
        vx = later[SPEED] - left * row[SPEED]
        vy = later[SPEED + 1] - left * row[SPEED + 1]
        vz = later[SPEED + 2] - left * row[SPEED + 2]
        a, b = p00 + seconds * p01, left * p01
        c, d = p01 + seconds * p11, left * p11
        c00, c01, c10, c11 = 0.0, 0.0, 0.0, 0.0
        if det > 0.0:
            c00, c01 = (a * m11 - b * m01) / det, (b * m00 - a * m01) / det
            c10, c11 = (c * m11 - d * m01) / det, (d * m00 - c * m01) / det
        for k in range(7):
            result[k] = row[k]
        _move(result, c00 * dx + c01 * vx, c00 * dy + c01 * vy, c00 * dz + c01 * vz, turning)
        result[SPEED] += c10 * dx + c11 * vx
        result[SPEED + 1] += c10 * dy + c11 * vy
        result[SPEED + 2] += c10 * dz + c11 * vz
        if passed > lag and after[MOVE + 2] > 0.0:
            share = (passed - lag) / after[MOVE + 2]
            dx, dy, dz = _between(result, later, turning)
            _move(result, share * dx, share * dy, share * dz, turning)


@jit
def _blend(result, home, share, turning):
    """Carry a shown value some of the way home."""
    dx, dy, dz = _between(result, home, turning)
    _move(result, share * dx, share * dy, share * dz, turning)


@jit
def step_channel(
    measured, present, dt, noise, density, times, home, ring, heads, counts, memory, scratch, out, turning
):
    """One frame of one channel of all sensors: measured (N, 3 or 4) → out (N, 3 or 4), both in the same space.

    times: (7,) seconds: lag, averaging of activity, fading of velocity, holding, easing home, the longest easing back,
    and how many times as long as a gap its easing back takes (dimensionless). The last values of `scratch` are room to
    work in.
    """
    lag, settle, fade, hold, ease_home, longest, stretch = (
        times[0], times[1], times[2], times[3], times[4], times[5], times[6]
    )  # fmt: skip
    share = 1.0 - math.exp(-dt / settle)
    size = 4 if turning else 3
    for n in range(measured.shape[0]):
        own = memory[n]
        if counts[n] == 0:
            if not present[n]:
                for k in range(size):
                    out[n, k] = home[n, k]
                continue
            first = ring[n, 0]
            for k in range(WIDTH):
                first[k] = 0.0
            for k in range(size):
                first[k] = measured[n, k]
            first[COVARIANCE], first[COVARIANCE + 2] = noise[n], density[n]
            for k in range(3):
                first[PREDICTED + k] = first[COVARIANCE + k]
            heads[n], counts[n] = 0, 1
            for k in range(MEMORY):
                own[k] = 0.0
            own[ACTIVITY] = 1.0
            for k in range(size):
                out[n, k] = measured[n, k]
            continue
        before = ring[n, heads[n]]
        heads[n] = (heads[n] + 1) % DEPTH
        counts[n] = min(counts[n] + 1, DEPTH)
        row = ring[n, heads[n]]
        left = 1.0 if present[n] and own[MISSING] == 0.0 else math.exp(-dt / fade)
        for k in range(4):
            row[k] = before[k]
        _advance(before, row, dt, left, density[n] * own[ACTIVITY] * own[ACTIVITY])
        seconds = row[MOVE]
        _move(row, seconds * before[SPEED], seconds * before[SPEED + 1], seconds * before[SPEED + 2], turning)
        own[EASE] = max(own[EASE] - dt, 0.0)
        remaining = smoothstep(own[EASE] / own[EASE_TOTAL]) if own[EASE_TOTAL] > 0.0 else 0.0
        gap = own[MISSING]
        if present[n] and gap == 0.0:
            _correct(row, measured[n], noise[n], own, share, turning)
            _look_back(ring[n], heads[n], counts[n], lag, scratch, turning)
            own[MISSING] = 0.0
        else:
            # as it would be shown without a measurement: what follows a gap starts from there
            _look_back(ring[n], heads[n], counts[n], lag, scratch, turning)
            _blend(scratch, home[n], smoothstep((gap + dt - hold) / ease_home), turning)
            if not present[n]:
                own[MISSING] = gap + dt
            else:
                shown = scratch[18:]
                for k in range(4):
                    shown[k] = scratch[k]
                _correct(row, measured[n], noise[n], own, share, turning)
                if gap > max(1.4 * lag, LONG):
                    # nothing of before the gap may be smoothed into what comes after it: that would be a leap
                    counts[n] = 1
                _look_back(ring[n], heads[n], counts[n], lag, scratch, turning)
                dx, dy, dz = _between(scratch, shown, turning)
                for k in range(3):
                    own[OFFSET + k] = remaining * own[OFFSET + k]
                own[OFFSET] += dx
                own[OFFSET + 1] += dy
                own[OFFSET + 2] += dz
                own[EASE_TOTAL] = min(max(stretch * gap, 6.0 * dt), longest)
                own[EASE] = own[EASE_TOTAL]
                own[MISSING] = 0.0
                remaining = 1.0
        _move(scratch, remaining * own[OFFSET], remaining * own[OFFSET + 1], remaining * own[OFFSET + 2], turning)
        for k in range(size):
            out[n, k] = scratch[k]


def _arguments(turning):
    size = 4 if turning else 3
    values = np.zeros((1, size))
    values[0, 0] = 1.0
    return (
        values, np.ones(1, bool), 0.01, np.ones(1), np.ones(1), np.ones(7), values.copy(), np.zeros((1, DEPTH, WIDTH)),
        np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros((1, MEMORY)), np.zeros(SCRATCH), values.copy(), turning,
    )  # fmt: skip


WARMUP = {"step_channel": lambda: _arguments(True)}
