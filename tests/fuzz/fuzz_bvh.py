"""Random bytes for the BVH reader: whatever they are, it reads them or raises FormatError."""

from __future__ import annotations

import contextlib

from footplant.errors import FormatError
from footplant.io import bvh

SIMPLE = b"""HIERARCHY
ROOT Hips
{
\tOFFSET 0 0 0
\tCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
\tJOINT Left Leg
\t{
\t\tOFFSET 0 -10.5 1e-3
\t\tCHANNELS 3 Zrotation Xrotation Yrotation
\t\tEnd Site
\t\t{
\t\t\tOFFSET 0 5 0
\t\t}
\t}
}
MOTION
Frames: 2
Frame Time: 0.0333333
0 1 0 10 20 30 5 6 7
0.5 1.25 -0 1e1 2.0E+01 12345678901234567890.5 5 6 7
"""


def corpus() -> list[bytes]:
    """Files to start from, each with another trap."""
    six = SIMPLE.replace(b"CHANNELS 3 ", b"CHANNELS 6 Xposition Yposition Zposition ").replace(
        b" 5 6 7", b" 0 -10 0 5 6 7"
    )
    block = SIMPLE[SIMPLE.index(b"ROOT") : SIMPLE.index(b"MOTION")]
    rows = b"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n"
    two = SIMPLE[: SIMPLE.index(b"MOTION")] + block + b"MOTION\nFrames: 1\nFrame Time: 0.01\n" + rows
    rest = SIMPLE.replace(b"OFFSET 0 0 0", b"OFFSET 0 0 0 1 2 3").replace(b"1e-3", b"1e-3 4 5 6")
    line = b" ".join(SIMPLE[: SIMPLE.index(b"MOTION")].split()) + b" " + SIMPLE[SIMPLE.index(b"MOTION") :]
    wrapped = SIMPLE.replace(b" 10 ", b"\n10 ").replace(b" 1e1 ", b"\n1e1 ")
    return [
        SIMPLE,
        six,
        two,
        rest,
        line,
        wrapped,
        SIMPLE[:-20],
        SIMPLE.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + SIMPLE,
    ]


def TARGET(data: bytes) -> None:
    """Read; every figure that comes out must have the frames that it states."""
    with contextlib.suppress(FormatError):
        for figure in bvh.parse(data):
            if figure.takes and figure.read_take:
                assert len(figure.read_take(0)) == figure.takes[0].frames
