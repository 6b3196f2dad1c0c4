"""Numbers in text, and the angles they are: reading the rows of a motion file straight from its bytes.

A decimal number is m·10ᵉ with a whole m. When m < 2⁵³ and |e| ≤ 22 both are exact doubles, so one multiplication or
division rounds once and gives the nearest double (Clinger 1990, "How to read floating point numbers accurately",
section 3). The rare rest is left to the caller, token by token.
"""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit

POWERS = 10.0 ** np.arange(23)
"""Powers of ten that are exact doubles."""
POWERS.setflags(write=False)


@jit
def count_numbers(data, start, columns, found):
    """Count tokens and check that every line has `columns` of them, or none.

    `data` holds the bytes. `found` (6,) int64 becomes: tokens; lines with tokens; lines with another count than
    `columns`; where the first such line starts; how many tokens it has; how many tokens the last line has.
    """
    size = data.shape[0]
    tokens, lines, ragged, ragged_at, ragged_count, last = 0, 0, 0, -1, 0, 0
    line_start, line_tokens, inside = start, 0, False
    i = start
    while i <= size:
        byte = data[i] if i < size else np.uint8(10)
        if byte > 32:
            if not inside:
                line_tokens += 1
                inside = True
        else:
            inside = False
            if byte == 10 or byte == 13:
                if line_tokens > 0:
                    tokens += line_tokens
                    lines += 1
                    last = line_tokens
                    if line_tokens != columns:
                        if ragged == 0:
                            ragged_at, ragged_count = line_start, line_tokens
                        ragged += 1
                line_tokens = 0
                line_start = i + 1
        i += 1
    found[0], found[1], found[2], found[3], found[4], found[5] = tokens, lines, ragged, ragged_at, ragged_count, last


@jit
def parse_numbers(data, start, powers, out, left):
    """Read tokens into `out` (N,) until it is full or the bytes end; return (tokens read, where to go on, left over).

    Tokens that need more than one rounding, or that are no plain decimal number, are written as 0 and listed in
    `left` (M, 3) int64 as (place in `out`, first byte, byte after the last); reading stops when the list is full.
    """
    size, wanted, room = data.shape[0], out.shape[0], left.shape[0]
    done, kept, i = 0, 0, start
    while done < wanted and kept < room:
        while i < size and data[i] <= 32:
            i += 1
        if i >= size:
            break
        first = i
        negative = data[i] == 45
        if negative or data[i] == 43:
            i += 1
        mantissa, digits, exponent = 0, 0, 0
        while i < size:
            digit = np.int64(data[i]) - 48
            if digit < 0 or digit > 9:
                break
            mantissa = mantissa * 10 + digit
            digits += 1
            i += 1
        if i < size and data[i] == 46:
            i += 1
            point = i
            while i < size:
                digit = np.int64(data[i]) - 48
                if digit < 0 or digit > 9:
                    break
                mantissa = mantissa * 10 + digit
                i += 1
            exponent = point - i
            digits -= exponent
        simple = 0 < digits <= 18
        if i < size and (data[i] | 32) == 101:
            i += 1
            down = i < size and data[i] == 45
            if down or (i < size and data[i] == 43):
                i += 1
            power, begin = 0, i
            while i < size:
                digit = np.int64(data[i]) - 48
                if digit < 0 or digit > 9:
                    break
                power = power * 10 + digit
                i += 1
            if not 0 < i - begin < 9:
                simple = False
            exponent += -power if down else power
        if i < size and data[i] > 32:
            simple = False
            while i < size and data[i] > 32:
                i += 1
        value = 0.0
        if simple and mantissa < 1 << 53 and -22 <= exponent <= 22:
            value = np.float64(mantissa)
            value = value / powers[-exponent] if exponent < 0 else value * powers[exponent]
            if negative:
                value = -value
        else:
            left[kept, 0], left[kept, 1], left[kept, 2] = done, first, i
            kept += 1
        out[done] = value
        done += 1
    return done, i, kept


@jit
def half_turn(degrees):
    """Cosine and sine of half an angle given in degrees, to the last digit or two.

    The angle is brought within ±90° of a multiple of 180° while it still is in degrees, where that is exact, and the
    Taylor series of the rest (at most π/4) are summed to their last term above 1e-17.
    """
    if abs(degrees) > 1e6:
        degrees = np.fmod(degrees, 720.0)
    turns = np.rint(degrees / 180.0)
    x = (degrees - 180.0 * turns) * (math.pi / 360.0)
    t = x * x
    c = 1.0 + t * (-1 / 2 + t * (1 / 24 + t * (-1 / 720 + t * (1 / 40320 + t * (-1 / 3628800 + t * (
        1 / 479001600 + t * (-1 / 87178291200 + t * (1 / 20922789888000))))))))  # fmt: skip
    s = x * (1.0 + t * (-1 / 6 + t * (1 / 120 + t * (-1 / 5040 + t * (1 / 362880 + t * (-1 / 39916800 + t * (
        1 / 6227020800 + t * (-1 / 1307674368000))))))))  # fmt: skip
    quarter = np.int64(turns) & 3
    if quarter == 0:
        return c, s
    if quarter == 1:
        return -s, c
    if quarter == 2:
        return -c, -s
    return s, -c


@jit
def euler_to_quaternions(values, spans, columns, axes, out):
    """Turn rows of angles (F, C), degrees, into quaternions (F, J, 4), the product in channel order.

    Joint j turns about `axes[k]` (0, 1, 2 for x, y, z) by the angle in `columns[k]`, for k from spans[j] to
    spans[j + 1]: `rotation.from_euler` for any number of angles.
    """
    for f in range(values.shape[0]):
        for j in range(out.shape[1]):
            w, x, y, z = 1.0, 0.0, 0.0, 0.0
            for k in range(spans[j], spans[j + 1]):
                c, s = half_turn(values[f, columns[k]])
                axis = axes[k]
                if axis == 0:
                    w, x, y, z = w * c - x * s, w * s + x * c, y * c + z * s, z * c - y * s
                elif axis == 1:
                    w, x, y, z = w * c - y * s, x * c - z * s, w * s + y * c, z * c + x * s
                else:
                    w, x, y, z = w * c - z * s, x * c + y * s, y * c - x * s, w * s + z * c
            out[f, j, 0], out[f, j, 1], out[f, j, 2], out[f, j, 3] = w, x, y, z


def _bytes(text: bytes):
    return np.frombuffer(text, np.uint8)


WARMUP = {
    "count_numbers": lambda: (_bytes(b"1 2"), 0, 2, np.zeros(6, np.int64)),
    "parse_numbers": lambda: (_bytes(b"1 2"), 0, POWERS, np.zeros(2), np.zeros((1, 3), np.int64)),
    "euler_to_quaternions": lambda: (
        np.zeros((1, 3)), np.array([0, 3]), np.arange(3), np.arange(3), np.zeros((1, 1, 4))
    ),
}  # fmt: skip
