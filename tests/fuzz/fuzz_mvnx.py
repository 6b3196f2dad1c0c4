"""Fuzz target of the MVNX reader: any bytes give characters or a `FormatError`, nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from footplant.errors import FormatError, MotionError, SkeletonError
from footplant.io import mvnx
from test_mvnx import made


def TARGET(data: bytes) -> None:
    """Read the bytes as an .mvnx file."""
    try:
        mvnx.parse(data, "fuzz.mvnx")
    except (FormatError, SkeletonError, MotionError):
        # `load` turns errors of skeletons and motions into format errors
        return


def corpus() -> list[bytes]:
    """Files of two segments, small ones first."""
    small = (
        b'<mvnx><subject frameRate="60"><segments><segment label="A"><points><point label="p"><pos_b>0 0 1</pos_b>'
        b'</point></points></segment><segment label="B"/></segments><joints><joint><connector1>A/p</connector1>'
        b'<connector2>B/p</connector2></joint></joints><frames><frame type="normal"><orientation>1 0 0 0 1 0 0 0'
        b"</orientation><position>0 0 1 0 0 2</position></frame></frames></subject></mvnx>"
    )
    return [small, made()]
