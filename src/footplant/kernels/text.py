"""Parse and format numbers in text: the rows of a motion file, directly from its bytes.

A decimal number is m·10ᵉ with an integer m. If m < 2⁵³ and |e| ≤ 22, both are exact doubles, so one multiplication or
division rounds once and gives the nearest double (Clinger 1990, "How to read floating point numbers accurately",
section 3). For up to 19 digits and |e| ≤ 55, the product with a 128-bit power of five determines the nearest double
(Lemire 2021, "Number parsing at a gigabyte per second", sections 5 and 6). Other numbers are left to the caller.
"""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit

POWERS = 10.0 ** np.arange(23)
"""Powers of ten that are exact doubles."""
POWERS.setflags(write=False)
MAX_FIVE = 55
"""Powers of five are tabulated from minus this to plus this, the largest that fits into 128 bits."""


def _fives():
    """Return rows (high 64 bits, low 64 bits, shift) of 5^q·2^shift as a 128-bit integer; rounded up for q < 0."""
    rows = []
    for q in range(-MAX_FIVE, MAX_FIVE + 1):
        five = 5 ** abs(q)
        if q >= 0:
            shift = 128 - five.bit_length()
            value = five << shift
        else:
            shift = 127 + five.bit_length()
            value = (1 << shift) // five + 1
        rows.append((value >> 64, value & (2**64 - 1), shift))
    return np.array(rows, np.uint64)


FIVES = _fives()
"""See `_fives`; row q + MAX_FIVE."""
FIVES.setflags(write=False)
ZERO, ONE, NINE, TEN, HALF, ALL = (np.uint64(value) for value in (0, 1, 9, 10, 32, 2**64 - 1))
LOW_HALF, LOW_NINE = np.uint64(2**32 - 1), np.uint64(0x1FF)


@jit
def multiply_wide(a, b):
    """Return the product of two 64-bit integers as (high, low)."""
    a1, a0, b1, b0 = a >> HALF, a & LOW_HALF, b >> HALF, b & LOW_HALF
    low, middle = a0 * b0, a1 * b0
    middle += low >> HALF
    other = a0 * b1 + (middle & LOW_HALF)
    return a1 * b1 + (middle >> HALF) + (other >> HALF), (other << HALF) | (low & LOW_HALF)


@jit
def nearest_double(mantissa, exponent, fives):
    """Return the double nearest to mantissa·10^exponent, and whether it is certain; mantissa is a uint64 above 0."""
    if not -MAX_FIVE <= exponent <= MAX_FIVE:
        return 0.0, False
    row = exponent + MAX_FIVE
    zeros, w = 0, mantissa
    while w >> np.uint64(63) == ZERO:
        w <<= ONE
        zeros += 1
    high, low = multiply_wide(w, fives[row, 0])
    if high & LOW_NINE == LOW_NINE:
        more, _ = multiply_wide(w, fives[row, 1])
        low += more
        if low < more:
            high += ONE
        if low == ALL and exponent < -27:
            return 0.0, False
    upper = high >> np.uint64(63)
    bits = high >> (upper + NINE)
    # exactly halfway between two doubles: round to even
    if low <= ONE and bits & np.uint64(3) == ONE and -4 <= exponent <= 23 and bits << (upper + NINE) == high:
        bits -= ONE
    bits = (bits + (bits & ONE)) >> ONE
    scale = np.int64(upper) + 138 - zeros - np.int64(fives[row, 2]) + exponent
    return math.ldexp(np.float64(bits), scale), True


@jit
def long_number(data, first, stop, exponent, fives):
    """Parse an unsigned decimal number of many digits in bytes [first, stop): (value, certain).

    exponent: that of the last digit. Digits beyond the 19th matter only if mantissa and mantissa + 1 round differently.
    """
    mantissa, digits, beyond = ZERO, 0, 0
    for i in range(first, stop):
        digit = np.int64(data[i]) - 48
        if 0 <= digit <= 9:
            if digits < 19:
                mantissa = mantissa * TEN + np.uint64(digit)
                if mantissa > ZERO:
                    digits += 1
            else:
                beyond += 1
        elif digit == 53 or digit == 21:
            break
    if mantissa == ZERO:
        return 0.0, True
    value, certain = nearest_double(mantissa, exponent + beyond, fives)
    if beyond > 0:
        above, also = nearest_double(mantissa + ONE, exponent + beyond, fives)
        certain = certain and also and value == above
    return value, certain


@jit
def count_numbers(data, start, columns, found):
    """Count tokens and check that every line has `columns` of them, or none.

    data: the bytes. `found` (7,) int64 becomes: tokens; lines with tokens; lines with another count than `columns`;
    where the first such line starts; its number of tokens; the number of tokens in the last line; and 1 if rows may be
    wrapped over lines, i.e. no row starts in the middle of a line that began with the end of another, else 0.
    """
    size = data.shape[0]
    tokens, lines, ragged, ragged_at, ragged_count, last = 0, 0, 0, -1, 0, 0
    line_start, line_tokens, inside = start, 0, False
    aligned, in_row = True, 0
    i = start
    while i <= size:
        byte = np.int64(data[i]) if i < size else 10
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
                    in_row += line_tokens
                    if columns > 0 and (in_row == columns or (in_row == line_tokens and line_tokens % columns == 0)):
                        in_row = 0
                    elif in_row > columns:
                        aligned = False
                    if line_tokens != columns:
                        if ragged == 0:
                            ragged_at, ragged_count = line_start, line_tokens
                        ragged += 1
                line_tokens = 0
                line_start = i + 1
        i += 1
    found[0], found[1], found[2], found[3], found[4], found[5] = tokens, lines, ragged, ragged_at, ragged_count, last
    found[6] = aligned and in_row == 0


@jit
def parse_numbers(data, start, columns, powers, fives, out, left):
    """Parse tokens into `out` (N,) until it is full or the data end.

    The last byte of `data` must be white space. Returns (tokens parsed, offset to continue at, entries in `left`,
    regular). Tokens that are not decimal numbers, or that cannot be rounded here, become 0 and are listed in `left`
    (N, 3) int64 as (index in `out`, first byte, byte after the last). `regular` is True if line ends come before each
    row of `columns` tokens and nowhere else.
    """
    size, wanted = data.shape[0], out.shape[0]
    done, kept, i, column, regular = 0, 0, start, 0, True
    while done < wanted:
        broken = False
        while i < size:
            byte = data[np.uintp(i)]
            if byte > 32:
                break
            broken |= byte == 10 or byte == 13
            i += 1
        if i >= size:
            break
        regular &= broken == (column == 0)
        column = 0 if column + 1 == columns else column + 1
        first = i
        byte = np.int64(data[np.uintp(i)])
        negative = byte == 45
        if negative or byte == 43:
            i += 1
            byte = np.int64(data[np.uintp(i)])
        mantissa, begin = 0, i
        while 48 <= byte <= 57:
            mantissa = mantissa * 10 + (byte - 48)
            i += 1
            byte = np.int64(data[np.uintp(i)])
        digits, exponent = i - begin, 0
        if byte == 46:
            i += 1
            point = i
            byte = np.int64(data[np.uintp(i)])
            while 48 <= byte <= 57:
                mantissa = mantissa * 10 + (byte - 48)
                i += 1
                byte = np.int64(data[np.uintp(i)])
            exponent = point - i
            digits -= exponent
        valid = digits > 0
        if byte == 101 or byte == 69:
            i += 1
            byte = np.int64(data[np.uintp(i)])
            down = byte == 45
            if down or byte == 43:
                i += 1
                byte = np.int64(data[np.uintp(i)])
            power, begin_power = 0, i
            while 48 <= byte <= 57:
                power = power * 10 + (byte - 48)
                i += 1
                byte = np.int64(data[np.uintp(i)])
            valid = valid and 0 < i - begin_power < 9
            exponent += -power if down else power
        if byte > 32:
            valid = False
            while data[np.uintp(i)] > 32:
                i += 1
        value = 0.0
        if valid and digits <= 18 and mantissa < 9007199254740992 and -22 <= exponent <= 22:
            value = np.float64(mantissa)
            value = value / powers[-exponent] if exponent < 0 else value * powers[exponent]
        elif valid:
            value, valid = long_number(data, begin, i, exponent, fives)
        if not valid:
            left[kept, 0], left[kept, 1], left[kept, 2] = done, first, i
            kept += 1
        out[done] = -value if negative else value
        done += 1
    return done, i, kept, regular


@jit
def format_numbers(values, decimals, powers, out):
    """Format rows of numbers (F, C) as text into `out`, separated by spaces, one row per line; return the length.

    Each number has at most `decimals` digits after the point, rounded to nearest, without trailing zeros. Values must
    be below 1e15, and `out` must have room for 20 + decimals bytes per number.
    """
    at = 0
    scale = powers[decimals]
    for f in range(values.shape[0]):
        for c in range(values.shape[1]):
            value = abs(values[f, c])
            whole = np.int64(value)
            part = np.int64(np.rint((value - np.float64(whole)) * scale))
            if np.float64(part) >= scale:
                whole, part = whole + 1, 0
            if values[f, c] < 0.0 and (whole > 0 or part > 0):
                out[at] = 45
                at += 1
            length, rest = 1, whole
            while rest >= 10:
                rest //= 10
                length += 1
            rest = whole
            for k in range(at + length - 1, at - 1, -1):
                out[k] = 48 + rest % 10
                rest //= 10
            at += length
            if part > 0:
                length = decimals
                while part % 10 == 0:
                    part //= 10
                    length -= 1
                out[at] = 46
                for k in range(at + length, at, -1):
                    out[k] = 48 + part % 10
                    part //= 10
                at += length + 1
            out[at] = 32
            at += 1
        if values.shape[1] > 0:
            at -= 1
        out[at] = 10
        at += 1
    return at


def _bytes(text: bytes):
    return np.frombuffer(text, np.uint8)


WARMUP = {
    "count_numbers": lambda: (_bytes(b"1 2"), 0, 2, np.zeros(7, np.int64)),
    "parse_numbers": lambda: (_bytes(b"1 2\n"), 0, 2, POWERS, FIVES, np.zeros(2), np.zeros((1, 3), np.int64)),
    "format_numbers": lambda: (np.zeros((1, 1)), 7, POWERS, np.zeros(32, np.uint8)),
}  # fmt: skip
