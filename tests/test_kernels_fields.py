"""The kernel behind TRC: tables of text as Python's own split and float read them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplant.io import _trc_fields as fields
from footplant.kernels import text


def twin(data: bytes, separator: int, columns: int) -> np.ndarray:
    """Rows of 2 + columns fields as Python reads them; NaN for what is empty, missing or no number."""
    rows = []
    for line in data.replace(b"\r", b"\n").split(b"\n"):
        if not line.strip(bytes(range(33))):
            continue
        words = line.split(b"\t") if separator == 9 else [word for word in re.split(rb"[\0-\x20]+", line) if word]
        row = np.full(2 + columns, np.nan)
        for column, word in enumerate(words[: 2 + columns]):
            word = word.strip(bytes(range(33)))
            try:
                row[column] = float(word) if b"_" not in word else np.nan
            except ValueError:
                row[column] = np.nan
        rows.append(row)
    return np.array(rows).reshape(-1, 2 + columns)


def parse(data: bytes, separator: int, columns: int, room: int = 0) -> np.ndarray:
    array = np.frombuffer(data, np.uint8)
    found = np.zeros(3, np.int64)
    fields.count_fields(array, 0, separator, found)
    head, body = np.empty((found[0], 2)), np.empty((found[0], columns))
    left = np.zeros((2 + columns + room, 3), np.int64)
    at, where = 0, 0
    while at < found[0]:
        done, where, kept, _ = fields.parse_fields(
            array, where, separator, text.POWERS, text.FIVES, head[at:], body[at:], left
        )
        assert done > 0
        for place, first, stop in left[:kept].tolist():
            row, column = divmod(place, 2 + columns)
            target = head if column < 2 else body
            try:
                value = float(data[first:stop]) if b"_" not in data[first:stop] else np.nan
            except ValueError:
                value = np.nan
            target[at + row, column if column < 2 else column - 2] = value
        at += done
    return np.concatenate([head, body], axis=1)


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-5000, 5000, places=5).map(str),
    st.integers(-(10**25), 10**25).map(str),
    st.sampled_from(
        ["", " ", "nan", "NaN", "-", "+", ".", "1.", ".5", "-.5e3", "1e", "1e+", "1e5x", "inf", "0x1", "1_0", "--1"]
    ),
)
tables = st.lists(st.lists(numbers, max_size=9), max_size=6)


@settings(max_examples=200, deadline=None)
@given(tables, st.integers(0, 6), st.sampled_from(["\n", "\r\n", "\n\n"]), st.booleans())
def test_as_python_reads_it(rows, columns, end, padded):
    lines = ["\t".join(f" {word} " if padded else word for word in row) for row in rows]
    data = end.join(lines).encode()
    np.testing.assert_array_equal(parse(data, 9, columns), twin(data, 9, columns))


@settings(max_examples=100, deadline=None)
@given(tables, st.integers(0, 6))
def test_blanks_as_python_reads_them(rows, columns):
    data = "\n".join("  ".join(row) for row in rows).encode()
    np.testing.assert_array_equal(parse(data, fields.BLANKS, columns), twin(data, fields.BLANKS, columns))


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=80), st.integers(0, 4), st.sampled_from([9, fields.BLANKS]))
def test_any_bytes(data, columns, separator):
    np.testing.assert_array_equal(parse(data, separator, columns), twin(data, separator, columns))


@given(tables)
def test_counts(rows):
    data = "\n".join("\t".join(row) for row in rows).encode()
    found = np.zeros(3, np.int64)
    fields.count_fields(np.frombuffer(data, np.uint8), 0, 9, found)
    full = [max((n + 1 for n, word in enumerate(row) if word.strip()), default=0) for row in rows]
    assert found.tolist() == [sum(n > 0 for n in full), sum(full), max(full, default=0)]


def test_fields_beyond_the_last_column_are_counted():
    array = np.frombuffer(b"1\t2\t3\t4\t\t5\n6\t7\t8\n", np.uint8)
    head, body, left = np.zeros((2, 2)), np.zeros((2, 1)), np.zeros((9, 3), np.int64)
    got = fields.parse_fields(array, 0, 9, text.POWERS, text.FIVES, head, body, left)
    assert got[0] == 2
    assert got[3] == 2
    assert body.ravel().tolist() == [3.0, 8.0]


@pytest.mark.parametrize("word", ["0.1", "123456789012345678901234567890", "1e400", "2.2250738585072011e-308"])
def test_hard_numbers(word):
    data = f"1\t2\t{word}\n".encode()
    assert parse(data, 9, 1)[0, 2] == float(word)
