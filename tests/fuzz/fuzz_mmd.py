"""Fuzz target of the MMD readers: any bytes give a document or a `FormatError`, nothing else.

The first byte says what the rest is: a model, a motion on the usual body, or a motion on a model of ours.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from footplant.errors import FormatError, MotionError, SkeletonError
from footplant.io import gltf, mmd
from mmd_made import dance, dressed_model, pmx_bytes, vmd_bytes

MODEL = pmx_bytes(dressed_model())
MOST_FRAMES = 2000
"""Motions that ask for more are read in other tests: one would take all of the time."""


def TARGET(data: bytes) -> None:
    """Read the bytes as a .pmx or .vmd file."""
    kind, content, path = data[:1], data[1:], Path("fuzz.vmd")
    try:
        if kind == b"p":
            gltf.read_characters(mmd.parse(content, None, path))
        elif mmd.read_vmd(content).frames <= MOST_FRAMES:
            gltf.read_characters(mmd.parse(MODEL if kind == b"m" else None, content, path))
    except (FormatError, SkeletonError, MotionError):
        return


def corpus() -> list[bytes]:
    """A model in both encodings, a motion with and without it, with inverse kinematics that is switched off."""
    motion = vmd_bytes(dance(4), switches=[(2, "左足ＩＫ", False)])
    small = pmx_bytes(dressed_model(), encoding=1, bone=1, vertex=4)
    return [b"v" + motion, b"m" + motion, b"p" + MODEL, b"p" + small]
