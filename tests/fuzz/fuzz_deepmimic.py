"""Random bytes for the reader of DeepMimic's clips and characters, with a line of "%%" between the two."""

from __future__ import annotations

import contextlib
import json

from footplant.errors import FormatError
from footplant.io import deepmimic

CHARACTER = {
    "Skeleton": {"Joints": [
        {"ID": 0, "Name": "root", "Type": "none", "Parent": -1, "AttachX": 0, "AttachThetaX": 0.5},
        {"ID": 1, "Name": "a", "Type": "spherical", "Parent": 0, "AttachY": 1.0},
        {"ID": 2, "Name": "b", "Type": "revolute", "Parent": 1, "AttachY": 1.0, "AttachThetaZ": 0.1},
        {"ID": 3, "Name": "c", "Type": "planar", "Parent": 0, "AttachZ": 1.0},
        {"ID": 4, "Name": "d", "Type": "prismatic", "Parent": 3, "AttachZ": 1.0},
        {"ID": 5, "Name": "e", "Type": "fixed", "Parent": 4, "AttachZ": 1.0},
    ]},
    "BodyDefs": [{"Shape": "box", "AttachX": 0.1, "Param0": 0.2, "Param1": 0.1, "Param2": 0.1}] * 6,
}  # fmt: skip
CLIP = {"Loop": "wrap", "Frames": [[0.1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0.5, 1, 2, 0.25, 3], [0.2] + [0.5] * 16]}
PLAIN = {"Frames": [[0.1, *[0.5] * 43]] * 2}


def corpus() -> list[bytes]:
    """Clips with and without their character, and characters alone."""
    both = json.dumps(CLIP).encode() + b"%%\n" + json.dumps(CHARACTER, indent=1).encode()
    uneven = json.dumps({"Frames": [[step, *[0.5] * 43] for step in (0.1, 0.5, 0.1, 0.0)]}).encode()
    return [both, json.dumps(PLAIN).encode(), json.dumps(CHARACTER).encode(), uneven]


def TARGET(data: bytes) -> None:
    """Read; every figure that comes out must have the frames that it states."""
    clip, mark, character = data.partition(b"%%\n")
    with contextlib.suppress(FormatError):
        for figure in deepmimic.parse(clip, character=character if mark else None):
            if figure.takes and figure.read_take:
                assert len(figure.read_take(0)) == figure.takes[0].frames
