"""Random BVH files: valid ones match a slow reference reader, damaged ones are refused."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bvh_text import one, simple, trees, world, write
from conftest import shared_files
from footplant.errors import FormatError
from footplant.io import bvh
from footplant.kinematics import Kinematics
from thorough import thorough

REAL = shared_files("bvh/*/*.bvh")


@settings(max_examples=thorough(75, 1000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees(), st.booleans())
def test_random_hierarchies_match_a_reference_reader(tree, added):
    parents, offsets, channels, ends, rows = tree
    figure = one(write(*tree), positions="add" if added else "replace")
    assert figure.skeleton.parents.tolist() == parents
    assert np.array_equal(figure.skeleton.end_offsets, np.array([end for each in ends for end in each]).reshape(-1, 3))
    if len(rows) == 0:
        assert figure.takes == ()
        return
    got = figure.read_take(0)
    # of duplicate position channels, the last one counts
    expected = np.array([world(parents, offsets, channels, row, added) for row in rows])
    assert np.abs(Kinematics(got).positions - expected).max() < 1e-9


@settings(max_examples=thorough(200, 2000), deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_raise_format_errors_only(data):
    for start in (b"", b"HIERARCHY\nROOT a\n{\n", simple().encode()[:-30]):
        with contextlib.suppress(FormatError):
            bvh.parse(start + data)


@settings(max_examples=thorough(200, 2000), deadline=None)
@given(st.data())
def test_damaged_files_raise_format_errors_only(data):
    text = bytearray(simple("0 1 0 10 20 30 5 6 7\n1e1 2 3 4 5 6 7 8 9\n").encode())
    pieces = [
        b"{",
        b"}",
        b"JOINT",
        b"OFFSET",
        b"CHANNELS 3",
        b"MOTION",
        b"-",
        b"e",
        b"9" * 30,
        b"\x00",
        b"\n",
        b"1e999",
        b" ",
    ]
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 12))] = data.draw(st.sampled_from(pieces) | st.binary(max_size=5))
    with contextlib.suppress(FormatError):
        for figure in bvh.parse(bytes(text)):
            assert not figure.takes or len(figure.read_take(0)) == figure.takes[0].frames


@pytest.mark.parametrize("path", REAL[:: max(1, len(REAL) // 12)], ids=lambda path: path.name)
def test_truncated_real_files(path):
    data = path.read_bytes()
    header = data.index(b"MOTION")
    whole = one(data).read_take(0)
    rng = np.random.default_rng(len(data))
    for end in [*rng.integers(0, header, 12), *rng.integers(header, len(data), 12)]:
        try:
            part = one(data[:end]).read_take(0)
        except FormatError:
            assert end < header + 10_000
        else:
            assert np.array_equal(part.rotations, whole.rotations[: len(part)])
