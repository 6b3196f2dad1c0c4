"""Compiled constant-velocity Kalman filters of many sensors with a fixed-lag smoother: one call a frame.

Each sensor has two channels, position and orientation; the three axes of a channel share one covariance of value and
velocity. State and process noise (spectral density Q of a white acceleration):

    x = (value, velocity),  F = [[1, dt], [0, 1]],  Q [[dt³/3, dt²/2], [dt²/2, dt]]

The last frames of a channel are kept in a ring buffer (see the columns below), so that the output can be the estimate
of a moment ago, improved by the measurements since (Rauch, Tung & Striebel).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from footplant.kernels import jit
from footplant.kernels.quaternion import exp, log, multiply

DEPTH = 16
"""Frames kept per channel."""
VALUE, SPEED, COVARIANCE, PREDICTED, MOVE, WIDTH = 0, 4, 7, 10, 13, 16
"""Columns of a row: the value (3 or 4 numbers), its velocity (3), the covariance after the measurement and before it
(each as three numbers: value, value with velocity, velocity), then how the frame was predicted: seconds of velocity
applied, the fraction of velocity left, and the time step."""
ACTIVITY, MISSING, EASE, EASE_TOTAL, OFFSET, MEMORY = 0, 1, 2, 3, 4, 7
"""Columns of a channel's other state: ratio of its innovations to the expected ones, seconds without a measurement,
seconds of the fade-out left and in total, and the offset that is faded out."""
LEAST_ACTIVITY, MOST_ACTIVITY = 0.15, 1e3
"""Bounds of the activity, by whose square the process noise is scaled."""
SCRATCH = 22
"""Floats of scratch per channel."""
JUMP = 12.0
"""Squared normalised innovation beyond which a measurement is a jump of the data and not a motion."""
LONG = 0.035
"""Seconds; the smoother does not reach across longer gaps."""
RISE = 3.0
"""Ratio of the rates at which activity rises and falls: a limb that starts to move must not lag."""


class ChannelModel(NamedTuple):
    """Constants of one channel of N sensors."""

    noise: np.ndarray
    """(N,) variance of a measurement per axis (R)."""
    density: np.ndarray
    """(N,) spectral density of the acceleration (Q)."""
    times: np.ndarray
    """(7,) seconds: lag, averaging of activity, decay of velocity, holding, easing home, the longest catching up, and
    the ratio of catching up to the gap (dimensionless)."""
    home: np.ndarray
    """(N, 3 or 4) value shown before the first measurement and after long gaps."""


class ChannelState(NamedTuple):
    """State of one channel of N sensors between frames."""

    ring: np.ndarray
    """(N, DEPTH, WIDTH)"""
    heads: np.ndarray
    """(N,) newest row."""
    counts: np.ndarray
    """(N,) rows filled."""
    memory: np.ndarray
    """(N, MEMORY)"""


@jit
def smoothstep(u):
    """Return 3u² − 2u³ for u clamped to 0 … 1."""
    u = min(max(u, 0.0), 1.0)
    return u * u * (3.0 - 2.0 * u)


@jit
def _advance(before, after, dt, left, density):
    """Predict velocity and covariance of the next row; velocity decays by the factor `left` over the step."""
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
    """Add a vector to the value of a row: to a position by addition, to an orientation by q·exp(v)."""
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
    """Return the vector that `_move` needs to get from value a to value b."""
    if turning:
        w, x, y, z = multiply(a[0], -a[1], -a[2], -a[3], b[0], b[1], b[2], b[3])
        return log(w, x, y, z)
    return b[0] - a[0], b[1] - a[1], b[2] - a[2]


@jit
def _correct(row, measured, noise, memory, share, turning):
    """Update with a measurement: equations 3.7 to 3.9, with the covariance in Joseph's positive definite form."""
    m00, m01, m11 = row[PREDICTED], row[PREDICTED + 1], row[PREDICTED + 2]
    dx, dy, dz = _between(row, measured, turning)
    square = (dx * dx + dy * dy + dz * dz) / 3.0
    surprise = square / (m00 + noise)
    if surprise > JUMP:
        # no motion does that: the data has jumped, so widen the prediction and let the estimate jump as well
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
    """Write the estimate of `lag` seconds before the newest row, smoothed by all rows since (Rauch, Tung & Striebel).

    result[:7] gets value and velocity; the rest of it, up to 19, is scratch. Between two rows the value is
    interpolated, so that frames of uneven length cause no steps.
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
        # the prediction made then, and the difference of the smoothed later state from it
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
    """Move an output value a fraction of the way home."""
    dx, dy, dz = _between(result, home, turning)
    _move(result, share * dx, share * dy, share * dz, turning)


@jit
def _begin(measured, noise, density, row, own):
    """Start a sensor at its first measurement (3 or 4,): its row of the ring and its memory."""
    for k in range(WIDTH):
        row[k] = 0.0
    for k in range(measured.shape[0]):
        row[k] = measured[k]
    row[COVARIANCE], row[COVARIANCE + 2] = noise, density
    for k in range(3):
        row[PREDICTED + k] = row[COVARIANCE + k]
    for k in range(MEMORY):
        own[k] = 0.0
    own[ACTIVITY] = 1.0


@jit
def _ease_from(result, shown, remaining, seconds, own, turning):
    """End a gap: the difference of what was shown from the estimate is eased out within some seconds.

    remaining: the share of an earlier difference that has not been eased out yet.
    """
    dx, dy, dz = _between(result, shown, turning)
    for k in range(3):
        own[OFFSET + k] = remaining * own[OFFSET + k]
    own[OFFSET] += dx
    own[OFFSET + 1] += dy
    own[OFFSET + 2] += dz
    own[EASE] = own[EASE_TOTAL] = seconds
    own[MISSING] = 0.0


@jit
def step_channel(measured, present, dt, model, state, scratch, out, turning):
    """Filter one frame of one channel of all sensors: measured (N, 3 or 4) → out (N, 3 or 4).

    present: (N,) which sensors have a measurement; one that is not finite counts as absent. turning: whether values are
    quaternions; scratch (SCRATCH,).
    """
    noise, density, home = model.noise, model.density, model.home
    ring, heads, counts, memory = state.ring, state.heads, state.counts, state.memory
    lag, settle, fade, hold = model.times[0], model.times[1], model.times[2], model.times[3]
    ease_home, longest, stretch = model.times[4], model.times[5], model.times[6]
    share = 1.0 - math.exp(-dt / settle)
    size = 4 if turning else 3
    for n in range(measured.shape[0]):
        own, here = memory[n], present[n]
        for k in range(size):
            here = here and math.isfinite(measured[n, k])
        if counts[n] == 0:
            if not here:
                for k in range(size):
                    out[n, k] = home[n, k]
                continue
            _begin(measured[n], noise[n], density[n], ring[n, 0], own)
            heads[n], counts[n] = 0, 1
            for k in range(size):
                out[n, k] = measured[n, k]
            continue
        before = ring[n, heads[n]]
        heads[n] = (heads[n] + 1) % DEPTH
        counts[n] = min(counts[n] + 1, DEPTH)
        row = ring[n, heads[n]]
        left = 1.0 if here and own[MISSING] == 0.0 else math.exp(-dt / fade)
        for k in range(4):
            row[k] = before[k]
        _advance(before, row, dt, left, density[n] * own[ACTIVITY] * own[ACTIVITY])
        seconds = row[MOVE]
        _move(row, seconds * before[SPEED], seconds * before[SPEED + 1], seconds * before[SPEED + 2], turning)
        own[EASE] = max(own[EASE] - dt, 0.0)
        remaining = smoothstep(own[EASE] / own[EASE_TOTAL]) if own[EASE_TOTAL] > 0.0 else 0.0
        gap = own[MISSING]
        if here and gap == 0.0:
            _correct(row, measured[n], noise[n], own, share, turning)
            _look_back(ring[n], heads[n], counts[n], lag, scratch, turning)
            own[MISSING] = 0.0
        else:
            # the output without a measurement: what follows a gap starts from there
            _look_back(ring[n], heads[n], counts[n], lag, scratch, turning)
            _blend(scratch, home[n], smoothstep((gap + dt - hold) / ease_home), turning)
            if not here:
                own[MISSING] = gap + dt
            else:
                shown = scratch[18:]
                for k in range(4):
                    shown[k] = scratch[k]
                _correct(row, measured[n], noise[n], own, share, turning)
                if gap > max(1.4 * lag, LONG):
                    # nothing from before the gap may be smoothed into what follows: that would be a jump
                    counts[n] = 1
                _look_back(ring[n], heads[n], counts[n], lag, scratch, turning)
                _ease_from(scratch, shown, remaining, min(max(stretch * gap, 6.0 * dt), longest), own, turning)
                remaining = 1.0
        _move(scratch, remaining * own[OFFSET], remaining * own[OFFSET + 1], remaining * own[OFFSET + 2], turning)
        for k in range(size):
            out[n, k] = scratch[k]


def _arguments(turning):
    size = 4 if turning else 3
    values = np.zeros((1, size))
    values[0, 0] = 1.0
    model = ChannelModel(np.ones(1), np.ones(1), np.ones(7), values.copy())
    state = ChannelState(
        np.zeros((1, DEPTH, WIDTH)), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros((1, MEMORY))
    )  # fmt: skip
    return values, np.ones(1, bool), 0.01, model, state, np.zeros(SCRATCH), values.copy(), turning


WARMUP = {"step_channel": lambda: _arguments(True)}
