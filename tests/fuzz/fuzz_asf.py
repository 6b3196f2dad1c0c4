"""Random bytes for the ASF and AMC readers, with a line of "%%" between the two files."""

from __future__ import annotations

import contextlib

from footplant.errors import FormatError
from footplant.io import asf

SKELETON = b""":version 1.10
:units
  length 0.45
  angle deg
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    name a
    direction 0 -1 0
    length 4
    axis 0 0 20 XYZ
    dof rx ry rz
    limits (-160.0 20.0)
           (-70.0 70.0)
  end
  begin
    name b
    direction 0 -1 0
    length 3
    axis 30 -40 50 ZYX
    dof rx tx l
  end
:hierarchy
  begin
    a b
    root a
  end
"""
FRAMES = b""":FULLY-SPECIFIED
:DEGREES
1
root 1 2 3 10 20 30
a 5 -6 7
b 40 1 0.5
2
root 1.5 2 3 11 21 31
a 6 -7 8
b 5e1 1 0.25
"""


def corpus() -> list[bytes]:
    """Files to start from, each with another trap."""
    pairs = [
        (SKELETON, FRAMES),
        (SKELETON.replace(b"angle deg", b"angle rad"), FRAMES.replace(b"DEGREES", b"RADIANS")),
        (SKELETON, FRAMES.replace(b"a 6 -7 8\n", b"") + FRAMES[FRAMES.index(b"1\n") :].replace(b"1\n", b"7\n", 1)),
        (SKELETON, FRAMES[:-9]),
        (SKELETON.replace(b"\n", b"\r\n"), FRAMES.replace(b"\n", b"\r")),
        (SKELETON.replace(b"order TX TY TZ RX RY RZ", b"order RZ TX"), FRAMES.replace(b"1 2 3 10 20 30", b"1 2")),
    ]
    return [b"%%\n".join(pair) for pair in pairs] + [SKELETON]


def TARGET(data: bytes) -> None:
    """Read; every figure that comes out must have the frames that it states."""
    skeleton, mark, frames = data.partition(b"%%\n")
    with contextlib.suppress(FormatError):
        for figure in asf.parse(skeleton, frames if mark else None):
            if figure.takes and figure.read_take:
                assert len(figure.read_take(0)) == figure.takes[0].frames
