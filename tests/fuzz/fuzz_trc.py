"""Random bytes for the TRC reader and its conversion: markers or `FormatError`, nothing else."""

from __future__ import annotations

from footplant.errors import FormatError
from footplant.io import trc
from footplant.io.marker_conversion import markers_from_raw

SIMPLE = (
    b"PathFileType\t4\t(X/Y/Z)\twalk.trc\n"
    b"DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames\n"
    b"60.00\t60.00\t3\t2\tmm\t60.00\t1\t3\n"
    b"Frame#\tTime\tLFHD\t\t\tAnn:LTOE\t\t\n"
    b"\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n"
    b"\n"
    b"1\t0.000\t10\t1700.5\t30\t4\t5\t6\n"
    b"2\t0.017\t\t\t\t-4.25\t5e1\t+6\n"
    b"3\t0.033\t7\t1701\t9\t12345678901234567890.5\t\t\n"
)


def corpus() -> list[bytes]:
    """Files to start from, each with another trap."""
    return [
        SIMPLE,
        SIMPLE.replace(b"\n", b"\r\n"),
        SIMPLE.replace(b"\t", b" "),
        SIMPLE.replace(b"LFHD\t\t\tAnn:LTOE\t\t", b""),
        SIMPLE.replace(b"\t\t\t-4.25", b"\tnan\tNaN\tinf\t-4,25"),
        b"\xef\xbb\xbf" + SIMPLE[:-20],
        SIMPLE.decode().encode("utf-16"),
    ]


def TARGET(data: bytes) -> None:
    """Read and bring in; what comes out must fit together."""
    try:
        markers = markers_from_raw(trc.parse(data), "fuzz.trc")
    except FormatError:
        return
    assert markers.positions.shape == (len(markers), len(markers.names), 3)
    assert len(markers.gaps()) == len(markers.names)
