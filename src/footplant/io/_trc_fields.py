"""Parse tables in text: rows of separated fields, which may be empty.

Numbers are parsed as in `footplant.kernels.text`: rounded to the nearest double, or left to the caller.
"""

from __future__ import annotations

import numpy as np

from footplant.kernels import jit
from footplant.kernels.text import FIVES, POWERS, long_number

BLANKS = -1
"""Separator value: fields are separated by any run of spaces and tabs, and no field is empty."""
HEAD = 2
"""Leading fields of each row that go into a separate array."""


@jit
def read_number(data, first, stop, powers, fives):
    """Parse the number in the bytes [first, stop), without spaces: (value, whether it is certain). "nan" is valid."""
    i = first
    byte = np.int64(data[i])
    negative = byte == 45
    if negative or byte == 43:
        i += 1
    begin, mantissa, exponent, digits = i, 0, 0, 0
    while i < stop and 48 <= data[i] <= 57:
        mantissa = mantissa * 10 + (np.int64(data[i]) - 48)
        digits += 1
        i += 1
    if i < stop and data[i] == 46:
        i += 1
        while i < stop and 48 <= data[i] <= 57:
            mantissa = mantissa * 10 + (np.int64(data[i]) - 48)
            digits += 1
            exponent -= 1
            i += 1
    if digits == 0:
        letters = stop - first == 3 and data[first] | 32 == 110 and data[first + 1] | 32 == 97
        return np.nan, letters and data[first + 2] | 32 == 110
    if i < stop and data[i] | 32 == 101:
        i += 1
        down = i < stop and data[i] == 45
        if i < stop and (down or data[i] == 43):
            i += 1
        power, begin_power = 0, i
        while i < stop and i - begin_power < 9 and 48 <= data[i] <= 57:
            power = power * 10 + (np.int64(data[i]) - 48)
            i += 1
        if i == begin_power:
            return np.nan, False
        exponent += -power if down else power
    if i < stop:
        return np.nan, False
    certain, value = True, 0.0
    if digits <= 18 and mantissa < 9007199254740992 and -22 <= exponent <= 22:
        value = np.float64(mantissa)
        value = value / powers[-exponent] if exponent < 0 else value * powers[exponent]
    else:
        value, certain = long_number(data, begin, stop, exponent, fives)
    return -value if negative else value, certain


@jit
def count_fields(data, start, separator, found):
    """Count non-blank lines from `start`; `found` (3,) int64: rows, fields, maximum fields per row.

    Trailing separators add no field; with the separator `BLANKS`, every run of visible characters is one.
    """
    size = data.shape[0]
    rows, total, most = 0, 0, 0
    fields, filled, inside = 0, 0, False
    for i in range(start, size + 1):
        byte = np.int64(data[i]) if i < size else 10
        if byte == 10 or byte == 13:
            if filled > 0:
                rows += 1
                total += filled
                most = max(most, filled)
            fields, filled, inside = 0, 0, False
        elif separator == BLANKS:
            if byte > 32 and not inside:
                filled += 1
            inside = byte > 32
        elif byte == separator:
            fields += 1
        elif byte > 32:
            filled = fields + 1
    found[0], found[1], found[2] = rows, total, most


@jit
def parse_fields(data, start, separator, powers, fives, head, body, left):
    """Parse rows of fields into `head` (F, 2) and `body` (F, C); empty and missing fields become NaN.

    Stops after F rows, at the end of the data, or if `left` might not hold the next row. Returns (rows, offset to
    continue at, entries in `left`, fields beyond the last column). Fields that are not numbers, or that cannot be
    rounded here, become NaN and are listed in `left` (N, 3) int64 as (index, first byte, byte after the last), with
    indices counted along rows of 2 + C fields.
    """
    size, wanted, columns = data.shape[0], head.shape[0], HEAD + body.shape[1]
    row, kept, beyond, i = 0, 0, 0, start
    while row < wanted and kept + columns <= left.shape[0]:
        # skip blank lines, so that i is at the start of a line with visible characters
        line, j = i, i
        while j < size and data[j] <= 32:
            if data[j] == 10 or data[j] == 13:
                line = j + 1
            j += 1
        if j >= size:
            i = size
            break
        i, column = line, 0
        head[row, :] = np.nan
        body[row, :] = np.nan
        while True:
            while i < size and data[i] <= 32 and data[i] != separator and data[i] != 10 and data[i] != 13:
                i += 1
            first, stop = i, i
            while i < size and data[i] != separator and data[i] != 10 and data[i] != 13:
                if data[i] > 32:
                    stop = i + 1
                elif separator == BLANKS:
                    break
                i += 1
            if stop > first:
                if column < columns:
                    value, certain = read_number(data, first, stop, powers, fives)
                    if not certain:
                        left[kept, 0], left[kept, 1], left[kept, 2] = row * columns + column, first, stop
                        kept += 1
                    elif column < HEAD:
                        head[row, column] = value
                    else:
                        body[row, column - HEAD] = value
                else:
                    beyond += 1
            column += 1
            if i >= size or data[i] == 10 or data[i] == 13:
                break
            i += 1
        row += 1
    return row, i, kept, beyond


def _bytes(text: bytes):
    return np.frombuffer(text, np.uint8)


WARMUP = {
    "count_fields": lambda: (_bytes(b"1\t2\t3"), 0, 9, np.zeros(3, np.int64)),
    "parse_fields": lambda: (
        _bytes(b"1\t2\t3\n"), 0, 9, POWERS, FIVES, np.zeros((1, 2)), np.zeros((1, 3)), np.zeros((5, 3), np.int64)
    ),
}  # fmt: skip
