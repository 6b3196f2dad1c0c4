"""Zip archives of arrays: bounded reading, reproducible writing, nothing unpickled."""

from __future__ import annotations

import io
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from footplant.errors import FormatError
from footplant.io.arrays import open_archive, read_npy, write_archive, write_npy


def zipped(compression: int = zipfile.ZIP_DEFLATED, **members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def npy(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    return b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header.encode() + data


def head(kind: str = "<f8", shape: str = "(2,)", order: str = "False") -> str:
    return f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}\n"


@given(
    st.sampled_from(["<f8", ">f4", "<f2", "|b1", "<i8", ">u2", "|u1", "<U5", "|S3"]).flatmap(
        lambda kind: arrays_of.arrays(np.dtype(kind), arrays_of.array_shapes(min_dims=0, max_dims=4, min_side=0))
    ),
    st.booleans(),
)
def test_arrays_round_trip_through_numpy(array, by_columns):
    out = io.BytesIO()
    np.save(out, np.asfortranarray(array) if by_columns and array.ndim > 1 else array, allow_pickle=False)
    for data in (out.getvalue(), write_npy(array)):
        found = read_npy(data, "a.npz", "a.npy")
        assert found.shape == array.shape
        assert np.array_equal(found, array, equal_nan=array.dtype.kind == "f")
        assert not found.flags.writeable
        assert np.array_equal(np.load(io.BytesIO(data)), array, equal_nan=array.dtype.kind == "f")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected a .npy file, got other bytes"),
        (b"\x93NUMPY\x01", "expected a .npy file"),
        (npy(head(), bytes(16), b"\x09\x00"), "version 1, 2 or 3, got 9"),
        (npy(head())[:40], "bytes inside the file"),
        (npy("{'descr': '<f8'}", bytes(16)), "expected descr, fortran_order and shape"),
        (npy("__import__('os')", bytes(16)), "fortran_order and shape"),
        (npy(head("|O"), bytes(16)), "pickled Python objects, which can run code and are not read"),
        (npy(head("<f16"), bytes(32)), "numbers or text, got '<f16'"),
        (npy(head("<M8[D]"), bytes(32)), "numbers or text"),
        (npy(head(shape="(3,)"), bytes(16)), "expected 24 bytes for an array (3,) of float64, got 16"),
        (npy(head(shape="(1000000000000,)"), bytes(16)), "got the shape (1000000000000,)"),
        (npy(head(shape="(0, 999999999999, 9999999999)")), "shape"),
        (npy(head(shape="(9999999999999999999,)")), "shape"),
        (npy(head("<U999999", "()"), bytes(64)), "expected 3999996 bytes"),
        (npy(head("<U0", "(999999999,)"), bytes(64)), "got the shape (999999999,)"),
        (npy(head(shape="(" + "1," * 40 + ")")), "shape"),
        (
            npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", bytes(8)),
            "a structured dtype",
        ),
    ],
)
def test_headers_are_checked_against_the_available_bytes(data, message):
    with pytest.raises(FormatError) as caught:
        read_npy(data, "motion.npz", "poses.npy")
    assert str(caught.value).startswith("motion.npz: poses.npy: expected")
    assert message in str(caught.value)


def test_a_header_of_spaces_is_parsed_fast():
    blanks = " " * 3000
    text = f"{{'descr':{blanks}'<f8'{blanks}'shape':{blanks}(1,)"
    with pytest.raises(FormatError):
        read_npy(npy(text), "a", "b")


def test_a_zip_bomb_is_refused():
    honest = zipped(a=write_npy(np.zeros(1000)))
    with open_archive("a.npz", honest) as archive:
        assert archive.array("a").tolist() == [0.0] * 1000
    bomb = zipped(bomb=bytes(300 << 20))
    assert len(bomb) < 1 << 20
    # the same data claiming to be small: both places that state the size are changed
    size = (300 << 20).to_bytes(4, "little")
    liar = bomb.replace(size, (1000).to_bytes(4, "little"))
    assert liar != bomb
    tracemalloc.start()
    for data, message in ((bomb, "more bytes from a file of this size"), (liar, "damage: Bad CRC-32")):
        with open_archive("bomb.npz", data) as archive, pytest.raises(FormatError, match=message):
            archive.read("bomb")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_the_memory_budget_covers_all_members(monkeypatch):
    monkeypatch.setattr("footplant.io.arrays.UNPACKED_FLOOR", 2500)
    monkeypatch.setattr("footplant.io.arrays.UNPACKED_FACTOR", 1)
    data = zipped(a=bytes(1000), b=bytes(1000), c=bytes(1000))
    with open_archive("a.npz", data) as archive:
        archive.read("a")
        archive.read("b")
        with pytest.raises(FormatError, match="at most 500 more bytes from a file of this size, got a member of 1000"):
            archive.read("c")


def test_invalid_zip_files(tmp_path):
    sound = zipped(zipfile.ZIP_STORED, **{"a.npy": write_npy(np.arange(3.0))})

    def read(data: bytes) -> None:
        with open_archive("x.npz", data) as archive:
            for name in archive.names:
                archive.array(name)

    read(sound)
    for place in range(len(sound)):
        try:
            read(sound[:place] + bytes([sound[place] ^ 0xFF]) + sound[place + 1 :])
            read(sound[:place])
        except FormatError:
            continue
    with pytest.raises(FormatError, match="expected a zip directory at the end"):
        read(sound[:-30])
    with pytest.raises(FormatError, match="expected a zip directory at the end"):
        read(b"")
    with pytest.raises(FormatError, match="compression method 14"):
        read(zipped(zipfile.ZIP_LZMA, a=b"x"))
    with pytest.raises(FormatError, match="an encrypted member"):
        read(sound.replace(b"PK\x01\x02\x14\x03\x14\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01\x00"))
    with pytest.raises(FormatError, match="No such file"), open_archive(tmp_path / "gone.npz"):
        pass
    with open_archive("x.npz", sound) as archive, pytest.raises(FormatError, match=r"only: a\.npy"):
        archive.read("b.npy")


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "a/../../b", "a//b", "a\\b", "a\nb", "./a", "x" * 2000])
def test_names_outside_the_archive_are_refused(name, tmp_path):
    with pytest.raises(FormatError, match="expected names of files inside"), open_archive("x", zipped(**{name: b"1"})):
        pass
    with pytest.raises(FormatError, match="expected names of files inside"):
        write_archive(tmp_path / "out.zip", {name: b"1"})
    assert not list(tmp_path.iterdir())


def test_duplicate_and_too_many_names():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a", b"1")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a", b"2")
    with pytest.raises(FormatError, match="a: expected every name once"), open_archive("x", out.getvalue()):
        pass
    many = zipped(zipfile.ZIP_STORED, **{f"m{number}": b"" for number in range(10_001)})
    with pytest.raises(FormatError, match="at most 10000 members, got 10001"), open_archive("x", many):
        pass


def test_the_same_content_gives_the_same_bytes(tmp_path):
    members = {"a.json": b"{}", "arrays/b.npy": write_npy(np.arange(6.0).reshape(2, 3))}
    write_archive(tmp_path / "one.zip", members)
    write_archive(tmp_path / "two.zip", members)
    data = (tmp_path / "one.zip").read_bytes()
    assert data == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == list(members)
        assert archive.testzip() is None
        assert all(info.date_time == (1980, 1, 1, 0, 0, 0) for info in archive.infolist())


@settings(max_examples=300)
@given(st.data())
def test_any_bytes_raise_only_format_errors(data):
    sound = zipped(a=write_npy(np.arange(4.0)), b=write_npy(np.eye(2)))
    damaged = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        with open_archive("x.npz", bytes(damaged)) as archive:
            for name in archive.names:
                archive.array(name)
    except FormatError:
        return
