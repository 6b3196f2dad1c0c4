"""Random bytes for the C3D reader and its conversion: markers or `FormatError`, nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from c3d_made import DEC, INTEL, MIPS, Made, walker
from footplant.errors import FormatError
from footplant.io import c3d
from footplant.io.marker_conversion import markers_from_raw

LABELS = ["Ann:LFHD", "Ann:LASI", "Ann:LKNE", "Ann:LTOE", "LKneeAngles"]


def corpus() -> list[bytes]:
    """Small files of every processor and number type, with every part that is read."""
    extra = [
        ("SUBJECTS", "NAMES", ["Ann"]),
        ("SUBJECTS", "LABEL_PREFIXES", ["Ann:"]),
        ("POINT", "ANGLES", ["LKneeAngles"]),
        ("POINT", "TYPE_GROUPS", ["ANGLES", "ANGLE"]),
        ("EVENT", "USED", 1),
        ("EVENT", "LABELS", ["Foot Off"]),
        ("EVENT", "TIMES", np.array([[0.0, 1.0]])),
        ("ANALOG", "USED", 2),
        ("ANALOG", "RATE", 120.0),
    ]
    seeds = []
    for processor in (INTEL, DEC, MIPS):
        for floats in (True, False):
            file = Made(
                walker(3, 5),
                LABELS,
                processor,
                floats,
                analog=2,
                long_frames=True,
                extra=extra,
                data_start=0 if floats else None,
            )
            seeds.append(file.bytes())
    return [*seeds, seeds[0][:600]]


def TARGET(data: bytes) -> None:
    """Read and bring in; what comes out must fit together."""
    try:
        markers = markers_from_raw(c3d.parse(data), "fuzz.c3d")
    except FormatError:
        return
    assert markers.positions.shape == (len(markers), len(markers.names), 3)
    assert markers.positions.nbytes <= 10 * len(data)
    assert len(markers.gaps()) == len(markers.names)
