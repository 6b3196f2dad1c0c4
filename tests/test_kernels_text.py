"""The kernels behind BVH: numbers parsed and formatted as by Python, angles as by `rotation`."""

from __future__ import annotations

import itertools
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from footplant import rotation
from footplant.kernels import euler, text


def parse(tokens: list[str], columns: int = 1, separator: str = "\n"):
    """Return values, which tokens were left to the caller, and whether lines are rows."""
    data = np.frombuffer((separator + separator.join(tokens) + "\n").encode(), np.uint8)
    out, left = np.full(len(tokens), np.nan), np.zeros((len(tokens), 3), np.int64)
    done, _, kept, regular = text.parse_numbers(data, 0, columns, text.POWERS, text.FIVES, out, left)
    assert done == len(tokens)
    for place, start, stop in left[:kept].tolist():
        assert data[start:stop].tobytes().decode() == tokens[place]
    return out, left[:kept, 0].tolist(), regular


def assert_as_python(tokens: list[str]) -> list[int]:
    """Assert equality bit for bit, except for tokens left to the caller."""
    got, left, _ = parse(tokens)
    expected = np.array([float(token) for token in tokens])
    sure = np.setdiff1d(np.arange(len(tokens)), left)
    wrong = sure[got[sure].view(np.int64) != expected[sure].view(np.int64)]
    assert [(tokens[n], got[n], expected[n]) for n in wrong] == []
    return left


digits = st.text("0123456789", min_size=1, max_size=25)
signs = st.sampled_from(["", "-", "+"])
fractions = st.one_of(st.sampled_from(["", "."]), digits.map(lambda part: "." + part))
exponents = st.one_of(st.sampled_from(["", "E+02", "e-07"]), st.integers(-400, 400).map(lambda power: f"e{power}"))
decimals = st.tuples(signs, digits, fractions, exponents).map("".join)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(decimals, st.floats(allow_nan=False, allow_infinity=False).map(repr)), min_size=1))
def test_numbers_are_parsed_as_python_does(tokens):
    assert_as_python(tokens)


def test_many_numbers_are_parsed_as_python_does():
    rng = np.random.default_rng(0)
    bits = [repr(struct.unpack("d", struct.pack("Q", int(n)))[0]) for n in rng.integers(0, 2**63, 20_000)]
    tokens = [token for token in bits if "n" not in token]
    tokens += [repr(value) for value in rng.uniform(-1000, 1000, 20_000).tolist()]
    tokens += [f"{value:.{n % 26}f}" for n, value in enumerate(rng.normal(scale=100, size=20_000).tolist())]
    tokens += [f"{value:.{n % 26}e}" for n, value in enumerate(np.exp(rng.uniform(-80, 80, 20_000)).tolist())]
    assert_as_python(tokens)


def test_ordinary_numbers_are_always_parsed():
    rng = np.random.default_rng(1)
    tokens = [repr(value) for value in (rng.normal(size=20_000) * 10.0 ** rng.integers(-25, 25, 20_000)).tolist()]
    assert assert_as_python(tokens) == []


def test_halfway_cases_round_to_even():
    rng = np.random.default_rng(2)
    odd = 2 * rng.integers(2**52, 2**53, 5000) + 1
    tokens = [str(n * 2**p) for n, p in zip(odd.tolist(), rng.integers(0, 9, 5000).tolist(), strict=True)]
    tokens += [f"{n // 2}.5" for n in odd.tolist()] + ["9007199254740993", "9007199254740992.5", "0.5", "5e-1"]
    assert_as_python(tokens)


@pytest.mark.parametrize(
    "token", ["nan", "inf", "-", "+", ".", "-.", "e5", "1e", "1e+", "1x", "1.2.3", "0x1", "é", "1e999999999"]
)
def test_invalid_numbers_are_left_to_the_caller(token):
    assert parse(["1", token, "2"])[1] == [1]


def test_regular_and_irregular_lines():
    def regular(rows: bytes) -> bool:
        data = np.frombuffer(b"\n" + rows + b"\n", np.uint8)
        out, left = np.zeros(len(rows.split())), np.zeros((len(rows), 3), np.int64)
        return bool(text.parse_numbers(data, 0, 2, text.POWERS, text.FIVES, out, left)[3])

    assert regular(b"1 2\n3 4\n") is True
    assert regular(b" 1\t2 \r\n\n3 4") is True
    assert regular(b"1 2 3 4\n") is False
    assert regular(b"1\n2\n3 4\n") is False


@pytest.mark.parametrize(
    ("rows", "expected"),
    [(b"1 2\n3 4\n", [4, 2, 0, -1, 0, 2, 1]), (b"", [0, 0, 0, -1, 0, 0, 1]), (b"\n \n1 2\r\r3", [3, 2, 1, 8, 1, 1, 0]),
     (b"1\n2 3 4\n5 6", [6, 3, 2, 0, 1, 2, 0])],
)  # fmt: skip
def test_counting(rows, expected):
    found = np.zeros(7, np.int64)
    text.count_numbers(np.frombuffer(rows, np.uint8), 0, 2, found)
    assert found.tolist() == expected


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=20), st.integers(0, 15))
def test_numbers_are_formatted_to_the_requested_digits(values, precision):
    row = np.array([values])
    out = np.zeros(row.size * (20 + precision) + 1, np.uint8)
    written = out[: text.format_numbers(row, precision, text.POWERS, out)].tobytes().decode()
    assert written.endswith("\n")
    for value, token in zip(values, written.split(), strict=True):
        assert abs(float(token) - value) <= 0.5000001 * 10.0**-precision + abs(value) * 2e-16
        assert len(token.partition(".")[2]) <= precision
        assert token != "-0"
        assert not ("." in token and token[-1] in "0.")


ORDERS = list(itertools.permutations(range(3)))
TRICKY = [0.0, 90.0, -90.0, 180.0, -180.0, 270.0, 89.9999999, 1e-9, 45.0, 720.0, 1e5 + 1 / 3, -1e7, 1e300]


def to_quaternions(angles, order):
    out = np.empty((len(angles), 1, 4))
    spans, columns = np.array([0, len(order)]), np.arange(len(order))
    euler.euler_to_quaternions(np.ascontiguousarray(angles), spans, columns, np.array(order), out)
    return out[:, 0]


def test_angles_to_quaternions_match_rotation():
    """The reference is `rotation.from_euler`."""
    rng = np.random.default_rng(0)
    angles = np.concatenate([rng.uniform(-400, 400, (2000, 3)), list(itertools.product(TRICKY[:11], repeat=3))])
    for order in ORDERS:
        expected = rotation.from_euler(np.radians(angles), "".join("xyz"[axis] for axis in order))
        assert np.abs(to_quaternions(angles, order) - expected).max() < 1e-12


def test_huge_angles_give_unit_quaternions():
    angles = np.array(list(itertools.product(TRICKY, repeat=3)))
    assert np.abs(np.linalg.norm(to_quaternions(angles, (0, 1, 2)), axis=-1) - 1).max() < 1e-14


@pytest.mark.parametrize("order", ORDERS)
def test_quaternions_to_angles_round_trip(order):
    rng = np.random.default_rng(1)
    angles = np.concatenate([rng.uniform(-180, 180, (2000, 3)), list(itertools.product(TRICKY[:9], repeat=3))])
    quaternions = to_quaternions(angles, order)[:, None]
    out, lost = np.empty((len(angles), 1, 3)), np.zeros(1)
    euler.quaternions_to_euler(quaternions, np.array([order]), np.full(1, 3), out, lost)
    assert rotation.angle(to_quaternions(out[:, 0], order), quaternions[:, 0]).max() < 1e-11
    assert lost[0] < 1e-11
    # single frames are not unwrapped: the angles equal the reference's, except in gimbal lock
    free = np.abs(np.abs(angles[:2000, 1]) - 90.0) > 1e-3
    single = np.empty((1, 2000, 3))
    euler.quaternions_to_euler(
        quaternions[:2000].reshape(1, 2000, 4), np.tile(order, (2000, 1)), np.full(2000, 3), single, np.zeros(2000)
    )
    turns = Rotation.from_quat(quaternions[:2000, 0], scalar_first=True)
    expected = turns.as_euler("".join("XYZ"[axis] for axis in order), degrees=True)
    difference = np.abs((single[0] - expected + 180) % 360 - 180)
    assert difference[free].max() < 1e-9


@pytest.mark.parametrize("count", [0, 1, 2])
def test_fewer_axes_report_their_loss(count):
    rng = np.random.default_rng(3)
    angles = rng.uniform(-400, 400, (50, 3))
    angles[:, count:] = 0.0
    quaternions = to_quaternions(angles, (2, 0, 1))[:, None]
    out, lost = np.empty((50, 1, 3)), np.zeros(1)
    euler.quaternions_to_euler(quaternions, np.array([[2, 0, 1]]), np.full(1, count), out, lost)
    assert lost[0] < 1e-14
    assert rotation.angle(to_quaternions(out[:, 0], (2, 0, 1)), quaternions[:, 0]).max() < 1e-13
    other = to_quaternions(rng.uniform(-90, 90, (50, 3)), (2, 0, 1))[:, None]
    euler.quaternions_to_euler(other, np.array([[2, 0, 1]]), np.full(1, count), out, lost)
    assert lost[0] > 0.1
