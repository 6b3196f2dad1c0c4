"""Compiled constant-velocity Kalman filters of many sensors, with a smoother that is also the jitter buffer.

Each sensor has two channels, position and orientation; the three axes of a channel share one covariance of value and
velocity. State and process noise (spectral density Q of a white acceleration):

    x = (value, velocity),  F = [[1, dt], [0, 1]],  Q [[dt³/3, dt²/2], [dt²/2, dt]]

Measurements arrive with the times at which they were made and are kept, filtered, newest first, for as long as what is
shown next may need them (`measure_channel`): a handful of rows, so that the caches hold those of many actors. What
is shown at a time is the estimate of that time given all measurements, later ones included (Rauch, Tung & Striebel),
and between two of them the cubic through their values and velocities, which is the model's own expectation
(`show_channel`). Behind the newest measurement the shown value coasts: its velocity decays, then it is held, then it
eases home. When there is data again, the difference from it, in value and velocity, is eased out.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from footplant.kernels import uncounted_jit
from footplant.kernels.quaternion import exp, log, multiply

UP_TO_SPEED = 0.05
"""Seconds for which the largest acceleration may have acted before a stream begins: 20 m/s. Without it, toes of a run
at 120 Hz (13 m/s) are held back at first, and caught up with for half a second."""
DEPTH = 32
"""Measurements kept per channel at most: 64 ms at 500 Hz."""
VALUE, SPEED, COVARIANCE, PREDICTED, TIME, WIDTH = 0, 4, 7, 10, 13, 14
"""Columns of a row: the value (3 or 4 numbers), its velocity (3), the covariance after the measurement and before it
(each as three numbers: value, value with velocity, velocity), and when it was measured."""
MISSING, COAST, EASE, EASE_TOTAL, OFFSET, OFFSET_SPEED, SHOWN_SPEED = 0, 1, 2, 3, 4, 7, 10
REJOIN, STREAK, CANDIDATE, CANDIDATE_TIME, GATED, COAST_FROM, MEMORY = 13, 14, 15, 19, 20, 21, 22
"""Columns of a channel's other state: seconds since the last measurement; seconds of coasting, 0 while data is
followed; seconds of easing left and in total; the offset that is eased out, and its velocity at the start; the velocity
that is shown; whether the rows were begun anew after a gap; consecutive outliers, the last of them and its time;
outliers in all; the last measurement before coasting."""
SCRATCH = 22
"""Floats of scratch per channel."""
SAME = 1e-9
"""Seconds within which two times are the same."""
COAST_TRAVEL = 1.0
"""Metres or radians that a value coasts on at high speed; halved, punches stop short in gaps of two poses."""
REJOIN_ROWS = 3
"""Measurements after a gap that begins the rows anew before they are followed: a velocity takes that many."""
SHORT_GAP = 0.12
"""Seconds; behind a gap up to this length in which the shown value coasted, the second measurement is waited for before
it is led to them. The velocity at the first one is that across the gap, and the second one corrects it within a frame:
with 20 % of the datagrams lost, a punch then accelerates 1.28 instead of 1.00 times as much as without loss, at worst
of eight draws. 0.06 changes nothing, 0.3 gives the same draws, but behind gaps of 0.2 s the value is led back later."""


class ChannelModel(NamedTuple):
    """Constants of one channel of N sensors."""

    noise: np.ndarray
    """(N,) variance of a measurement per axis (R)."""
    density: np.ndarray
    """(N,) spectral density of the acceleration (Q)."""
    numbers: np.ndarray
    """(10,): decay of velocity, holding, easing home, shortest and longest catching up, the gap after which the rows
    begin anew (all seconds), the ratio of catching up to the gap, the outlier gate (metres or radians, and per
    second²), and the outliers in a row that are believed."""
    home: np.ndarray
    """(N, 3 or 4) value shown before the first measurement and after long gaps."""


class ChannelState(NamedTuple):
    """State of one channel of N sensors between frames."""

    rows: np.ndarray
    """(N, DEPTH, WIDTH) newest first. Rows behind the newest one that is not after what was shown mean nothing."""
    counts: np.ndarray
    """(N,) measurements since the rows were begun, up to DEPTH."""
    memory: np.ndarray
    """(N, MEMORY)"""


@uncounted_jit
def smoothstep(u):
    """Return 3u² − 2u³ for u clamped to 0 … 1."""
    u = min(max(u, 0.0), 1.0)
    return u * u * (3.0 - 2.0 * u)


@uncounted_jit
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


@uncounted_jit
def _between(a, b, turning):
    """Return the vector that `_move` needs to get from value a to value b."""
    if turning:
        w, x, y, z = multiply(a[0], -a[1], -a[2], -a[3], b[0], b[1], b[2], b[3])
        return log(w, x, y, z)
    return b[0] - a[0], b[1] - a[1], b[2] - a[2]


@uncounted_jit
def _distance(a, b, turning):
    dx, dy, dz = _between(a, b, turning)
    return math.sqrt(dx * dx + dy * dy + dz * dz)


@uncounted_jit
def _advance(before, after, dt, density, turning):
    """Predict the next row: equations 3.4 and 3.5."""
    for k in range(4):
        after[k] = before[k]
    for k in range(3):
        after[SPEED + k] = before[SPEED + k]
    a, b, c = before[COVARIANCE], before[COVARIANCE + 1], before[COVARIANCE + 2]
    after[PREDICTED] = a + 2.0 * dt * b + dt * dt * c + density * dt * dt * dt / 3.0
    after[PREDICTED + 1] = b + dt * c + density * dt * dt / 2.0
    after[PREDICTED + 2] = c + density * dt
    for k in range(3):
        after[COVARIANCE + k] = after[PREDICTED + k]
    after[TIME] = before[TIME] + dt
    _move(after, dt * before[SPEED], dt * before[SPEED + 1], dt * before[SPEED + 2], turning)


@uncounted_jit
def _correct(row, measured, noise, turning):
    """Update with a measurement: equations 3.7 to 3.9, with the covariance in Joseph's positive definite form."""
    m00, m01, m11 = row[PREDICTED], row[PREDICTED + 1], row[PREDICTED + 2]
    dx, dy, dz = _between(row, measured, turning)
    total = m00 + noise
    k0, k1 = m00 / total, m01 / total
    _move(row, k0 * dx, k0 * dy, k0 * dz, turning)
    row[SPEED] += k1 * dx
    row[SPEED + 1] += k1 * dy
    row[SPEED + 2] += k1 * dz
    rest = 1.0 - k0
    row[COVARIANCE] = rest * rest * m00 + k0 * k0 * noise
    row[COVARIANCE + 1] = rest * (m01 - k1 * m00) + k0 * k1 * noise
    row[COVARIANCE + 2] = k1 * k1 * (m00 + noise) - 2.0 * k1 * m01 + m11


@uncounted_jit
def _look_at(rows, count, when, result, turning):
    """Write the estimate at a time, smoothed by all rows since (Rauch, Tung & Striebel).

    result[:7] gets value and velocity; the rest of it, up to 18, is scratch. Between two rows it is the cubic through
    both; before the oldest row it is the oldest.
    """
    later, predicted = result[7:14], result[14:18]
    for k in range(7):
        result[k] = rows[0, k]
    for older in range(1, count):
        after = rows[older - 1]
        if after[TIME] <= when + SAME:
            return
        row = rows[older]
        dt = after[TIME] - row[TIME]
        for k in range(7):
            later[k] = result[k]
        m00, m01, m11 = after[PREDICTED], after[PREDICTED + 1], after[PREDICTED + 2]
        p00, p01, p11 = row[COVARIANCE], row[COVARIANCE + 1], row[COVARIANCE + 2]
        det = m00 * m11 - m01 * m01
        # the prediction made then, and the difference of the smoothed later state from it
        for k in range(4):
            predicted[k] = row[k]
        _move(predicted, dt * row[SPEED], dt * row[SPEED + 1], dt * row[SPEED + 2], turning)
        dx, dy, dz = _between(predicted, later, turning)
        vx, vy, vz = later[SPEED] - row[SPEED], later[SPEED + 1] - row[SPEED + 1], later[SPEED + 2] - row[SPEED + 2]
        a, c = p00 + dt * p01, p01 + dt * p11
        c00, c01, c10, c11 = 0.0, 0.0, 0.0, 0.0
        if det > 0.0:
            c00, c01 = (a * m11 - p01 * m01) / det, (p01 * m00 - a * m01) / det
            c10, c11 = (c * m11 - p11 * m01) / det, (p11 * m00 - c * m01) / det
        for k in range(7):
            result[k] = row[k]
        _move(result, c00 * dx + c01 * vx, c00 * dy + c01 * vy, c00 * dz + c01 * vz, turning)
        result[SPEED] += c10 * dx + c11 * vx
        result[SPEED + 1] += c10 * dy + c11 * vy
        result[SPEED + 2] += c10 * dz + c11 * vz
        if row[TIME] < when - SAME:
            _between_rows(result, later, (when - row[TIME]) / dt, dt, turning)
            return


@uncounted_jit
def _between_rows(result, later, u, dt, turning):
    """Move a state along the cubic to a later one, a fraction u of the dt seconds between them."""
    dx, dy, dz = _between(result, later, turning)
    d = (dx, dy, dz)
    b = u * u * (3.0 - 2.0 * u)
    m0, m1 = dt * u * (1.0 - u) * (1.0 - u), dt * u * u * (u - 1.0)
    e, n0, n1 = 6.0 * u * (1.0 - u) / dt, (1.0 - u) * (1.0 - 3.0 * u), u * (3.0 * u - 2.0)
    x = b * dx + m0 * result[SPEED] + m1 * later[SPEED]
    y = b * dy + m0 * result[SPEED + 1] + m1 * later[SPEED + 1]
    z = b * dz + m0 * result[SPEED + 2] + m1 * later[SPEED + 2]
    for k in range(3):
        result[SPEED + k] = e * d[k] + n0 * result[SPEED + k] + n1 * later[SPEED + k]
    _move(result, x, y, z, turning)


@uncounted_jit
def _begin(measured, when, noise, acceleration, row, own):
    """Make the first row of a measurement (3 or 4,), of whose speed nothing is known; acceleration: the largest."""
    for k in range(WIDTH):
        row[k] = 0.0
    for k in range(measured.shape[0]):
        row[k] = measured[k]
    row[COVARIANCE], row[COVARIANCE + 2] = noise, (UP_TO_SPEED * acceleration) ** 2
    for k in range(3):
        row[PREDICTED + k] = row[COVARIANCE + k]
    row[TIME] = when
    own[STREAK] = 0.0


@uncounted_jit
def _is_outlier(measured, before, row, own, gates, started, turning):
    """Return whether a measurement is physically impossible after a row and the prediction from it: nothing accelerates
    that much, nor stops so suddenly.

    One that is repeated by those after it is believed: a tracker that was set anew. gates: base, acceleration, believed
    of `Outliers`. started: whether the row before is the first, so that nothing is known of its speed.
    """
    base, acceleration, believed = gates
    when = row[TIME]
    dt = when - before[TIME]
    gate = base + 0.5 * acceleration * dt * dt
    if started:
        gate += UP_TO_SPEED * acceleration * dt
    if min(_distance(row, measured, turning), _distance(before, measured, turning)) <= gate:
        own[STREAK] = 0.0
        return False
    candidate = own[CANDIDATE : CANDIDATE + 4]
    since = when - own[CANDIDATE_TIME]
    agrees = own[STREAK] > 0.0 and _distance(candidate, measured, turning) <= base + 0.5 * acceleration * since * since
    own[STREAK] = own[STREAK] + 1.0 if agrees else 1.0
    for k in range(measured.shape[0]):
        candidate[k] = measured[k]
    own[CANDIDATE_TIME] = when
    if own[STREAK] >= believed:
        return False
    own[GATED] += 1.0
    return True


@uncounted_jit
def _add(rows, row, count, shown):
    """Put a row in front of the others (DEPTH, WIDTH), as far as they are needed for what is shown from now on."""
    last = 0
    while last < count - 1 and rows[last, TIME] > shown + SAME:
        last += 1
    for n in range(min(last, DEPTH - 2), -1, -1):
        for k in range(WIDTH):
            rows[n + 1, k] = rows[n, k]
    for k in range(WIDTH):
        rows[0, k] = row[k]


@uncounted_jit
def measure_channel(measured, present, when, shown, model, state, row, turning):
    """Take the measurements (N, 3 or 4) of one channel, made at a time; present: (N,) which sensors have one.

    One that is not finite counts as absent; one that is not newer than the last is ignored. shown: the time of what was
    shown last; row: (WIDTH,) scratch.
    """
    rows, counts, memory = state.rows, state.counts, state.memory
    restart = model.numbers[5]
    gates = (model.numbers[7], model.numbers[8], model.numbers[9])
    size = 4 if turning else 3
    for n in range(measured.shape[0]):
        own, here = memory[n], present[n]
        for k in range(size):
            here = here and math.isfinite(measured[n, k])
        if not here:
            continue
        noise, density = model.noise[n], model.density[n]
        if counts[n] == 0:
            _begin(measured[n], when, noise, gates[1], rows[n, 0], own)
            counts[n] = 1
            continue
        before = rows[n, 0]
        dt = when - before[TIME]
        if dt <= SAME:
            continue
        if dt > restart:
            _begin(measured[n], when, noise, gates[1], rows[n, 0], own)
            counts[n], own[REJOIN] = 1, 1.0
            continue
        _advance(before, row, dt, density, turning)
        if _is_outlier(measured[n], before, row, own, gates, counts[n] == 1, turning):
            continue
        if own[STREAK] > 0.0:
            _begin(measured[n], when, noise, gates[1], rows[n, 0], own)
            counts[n], own[REJOIN] = 1, 1.0
            continue
        _correct(row, measured[n], noise, turning)
        _add(rows[n], row, counts[n], shown)
        counts[n] = min(counts[n] + 1, DEPTH)


@uncounted_jit
def _coast(value, own, dt, numbers, home, turning):
    """Advance a shown value without data: its velocity decays; after holding, it eases home."""
    hold, ease = numbers[1], numbers[2]
    x, y, z = own[SHOWN_SPEED], own[SHOWN_SPEED + 1], own[SHOWN_SPEED + 2]
    # the faster, the sooner it stops: nothing goes on for much more than a metre or a radian
    fade = min(numbers[0], COAST_TRAVEL / max(math.sqrt(x * x + y * y + z * z), 1e-9))
    left = math.exp(-dt / fade)
    seconds = fade * (1.0 - left)
    _move(value, seconds * x, seconds * y, seconds * z, turning)
    for k in range(3):
        own[SHOWN_SPEED + k] *= left
    done = smoothstep((own[MISSING] - dt - hold) / ease)
    now = smoothstep((own[MISSING] - hold) / ease)
    if now > done:
        share = (now - done) / (1.0 - done)
        dx, dy, dz = _between(value, home, turning)
        _move(value, share * dx, share * dy, share * dz, turning)


@uncounted_jit
def _eased(own):
    """Return the factors of an offset and its first velocity, in value and in velocity: a cubic that ends at 0."""
    total = own[EASE_TOTAL]
    u = 1.0 - own[EASE] / total
    return (
        1.0 - u * u * (3.0 - 2.0 * u), total * u * (1.0 - u) * (1.0 - u), -6.0 * u * (1.0 - u) / total,
        (1.0 - u) * (1.0 - 3.0 * u),
    )  # fmt: skip


@uncounted_jit
def show_channel(when, dt, model, state, scratch, out, turning):
    """Write what is shown at a time, `dt` seconds after what was shown before: out (N, 3 or 4), also the input.

    turning: whether values are quaternions; scratch (SCRATCH,).
    """
    numbers = model.numbers
    size = 4 if turning else 3
    for n in range(out.shape[0]):
        own, count = state.memory[n], state.counts[n]
        value = scratch[18:22]
        if count == 0:
            for k in range(size):
                out[n, k] = model.home[n, k]
            continue
        rows = state.rows[n]
        newest, oldest = rows[0, TIME], rows[count - 1, TIME]
        own[MISSING] = max(when - newest, 0.0)
        waits = own[REJOIN] > 0.0 and (when < oldest - SAME or count < REJOIN_ROWS)
        if own[COAST] > 0.0 and count > 1 and newest - own[COAST_FROM] < SHORT_GAP:
            waits = waits or rows[1, TIME] <= own[COAST_FROM] + SAME
        if when > newest + SAME or waits:
            for k in range(size):
                value[k] = out[n, k]
            _coast(value, own, dt, numbers, model.home[n], turning)
            if own[COAST] == 0.0:
                own[COAST_FROM] = newest
            own[COAST] += dt
            for k in range(size):
                out[n, k] = value[k]
            continue
        if own[REJOIN] > 0.0:
            # also where nothing was shown in the gap, because we were stopped as well
            own[COAST] = max(own[COAST], dt)
        own[REJOIN] = 0.0
        _look_at(rows, count, when, scratch, turning)
        own[EASE] = max(own[EASE] - dt, 0.0)
        if own[COAST] > 0.0:
            # the difference of what would be shown without the data from the data
            for k in range(size):
                value[k] = out[n, k]
            _coast(value, own, dt, numbers, model.home[n], turning)
            own[OFFSET], own[OFFSET + 1], own[OFFSET + 2] = _between(scratch, value, turning)
            for k in range(3):
                own[OFFSET_SPEED + k] = own[SHOWN_SPEED + k] - scratch[SPEED + k]
            own[EASE] = own[EASE_TOTAL] = min(max(numbers[6] * own[COAST], numbers[3]), numbers[4])
            own[COAST] = 0.0
        for k in range(3):
            own[SHOWN_SPEED + k] = scratch[SPEED + k]
        if own[EASE] > 0.0:
            a, b, c, d = _eased(own)
            x, y, z = own[OFFSET], own[OFFSET + 1], own[OFFSET + 2]
            vx, vy, vz = own[OFFSET_SPEED], own[OFFSET_SPEED + 1], own[OFFSET_SPEED + 2]
            _move(scratch, a * x + b * vx, a * y + b * vy, a * z + b * vz, turning)
            for k in range(3):
                own[SHOWN_SPEED + k] += c * own[OFFSET + k] + d * own[OFFSET_SPEED + k]
        for k in range(size):
            out[n, k] = scratch[k]


@uncounted_jit
def measure(
    positions, rotations, present, scratch, when, shown, noise, density, numbers, homes, rows, counts, memories
):  # fmt: skip
    """Take the positions (N, 3) and rotations (N, 4) of all sensors: both channels, see `measure_channel`.

    scratch (SCRATCH,). The rest are the arrays of `ChannelModel` and `ChannelState`, with the channels as leading axis.
    Flat arguments, because passing a named tuple takes longer than the filter does.
    """
    row = scratch[:WIDTH]
    for channel in range(2):
        model = ChannelModel(noise[channel], density[channel], numbers[channel], homes[channel])
        state = ChannelState(rows[channel], counts[channel], memories[channel])
        if channel == 0:
            measure_channel(positions, present, when, shown, model, state, row, False)
        else:
            measure_channel(rotations, present, when, shown, model, state, row, True)


@uncounted_jit
def show(positions, rotations, scratch, when, dt, noise, density, numbers, homes, rows, counts, memories):
    """Write what all sensors show at a time, positions (N, 3) and rotations (N, 4): see `show_channel`, `measure`."""
    for channel in range(2):
        model = ChannelModel(noise[channel], density[channel], numbers[channel], homes[channel])
        state = ChannelState(rows[channel], counts[channel], memories[channel])
        if channel == 0:
            show_channel(when, dt, model, state, scratch, positions, False)
        else:
            show_channel(when, dt, model, state, scratch, rotations, True)


def _arrays():
    homes = np.zeros((2, 1, 4))
    homes[:, :, 0] = 1.0
    ones = np.ones((2, 1))
    return (
        ones, ones, np.ones((2, 10)), homes, np.zeros((2, 1, DEPTH, WIDTH)), np.zeros((2, 1), np.int64),
        np.zeros((2, 1, MEMORY)),
    )  # fmt: skip


WARMUP = {
    "measure": lambda: (
        np.zeros((1, 3)), np.ones((1, 4)), np.ones(1, bool), np.zeros(SCRATCH), 0.01, 0.0, *_arrays()
    ),
    "show": lambda: (np.zeros((1, 3)), np.ones((1, 4)), np.zeros(SCRATCH), 0.01, 0.01, *_arrays()),
}  # fmt: skip
