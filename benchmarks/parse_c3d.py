"""Reading C3D and TRC files of markers: Footplant beside the readers of the package index."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from timing import cpu_seconds, main, times_faster

MARKERS, FRAMES, RATE = 53, 12_000, 120.0


def make_file(path: Path) -> None:
    """53 markers over 100 s as floats of an Intel machine, a twentieth of them hidden: 10 MB."""
    rng = np.random.default_rng(0)
    places = np.cumsum(rng.normal(scale=1.5, size=(FRAMES, MARKERS, 3)), axis=0) + rng.uniform(0, 1500, (MARKERS, 3))
    points = np.zeros((FRAMES, MARKERS, 4), "<f4")
    points[..., :3] = places
    points[..., 3] = 5 * 256 + 3
    points[rng.random((FRAMES, MARKERS)) < 0.05] = (0, 0, 0, -1)

    def parameter(name: str, kind: int, sizes: tuple[int, ...], data: bytes) -> bytes:
        body = struct.pack(f"<bB{len(sizes)}B", kind, len(sizes), *sizes) + data + b"\0"
        return struct.pack("<bb", len(name), 1) + name.encode() + struct.pack("<H", 2 + len(body)) + body

    def text(name: str, words: list[str]) -> bytes:
        width = max(map(len, words))
        return parameter(name, -1, (width, len(words)), "".join(word.ljust(width) for word in words).encode())

    def section(start: int) -> bytes:
        entries = [
            parameter("USED", 2, (), struct.pack("<H", MARKERS)),
            parameter("FRAMES", 2, (), struct.pack("<H", FRAMES)),
            parameter("DATA_START", 2, (), struct.pack("<H", start)),
            parameter("SCALE", 4, (), struct.pack("<f", -0.1)),
            parameter("RATE", 4, (), struct.pack("<f", RATE)),
            text("UNITS", ["mm"]),
            text("LABELS", [f"M{number:02}" for number in range(MARKERS)]),
            text("DESCRIPTIONS", ["marker"] * MARKERS),
        ]
        analog = b"\x06\xfeANALOG\x03\0\0" + parameter("USED", 2, (), b"\0\0").replace(b"\x04\x01USED", b"\x04\x02USED")
        blocks = bytes([1, 0x50, 0, 84]) + b"\x05\xffPOINT\x03\0\0" + b"".join(entries) + analog + b"\0\0"
        count = -(-len(blocks) // 512)
        return (blocks[:2] + bytes([count]) + blocks[3:]).ljust(count * 512, b"\0")

    start = 2 + len(section(0)) // 512
    head = struct.pack("<BBHHHHHfHHf", 2, 0x50, MARKERS, 0, 1, FRAMES, 10, -0.1, start, 0, RATE).ljust(512, b"\0")
    path.write_bytes(head + section(start) + points.tobytes())


def _ezc3d(path: str) -> object:
    import ezc3d

    return ezc3d.c3d(path)["data"]["points"]


def _c3d(path: str) -> object:
    import c3d

    with open(path, "rb") as file:
        return np.array([points for _, points, _ in c3d.Reader(file).read_frames()])


PEERS: dict[str, Callable[[str], object]] = {"ezc3d": _ezc3d, "c3d": _c3d}
"""Readers that are asked if they are installed; each is left with an array of all points."""


def run() -> dict[str, float]:
    """Reading a C3D file of 10 MB, and the same markers as TRC: seconds of CPU, and how many times faster."""
    import footplant

    with tempfile.TemporaryDirectory() as folder:
        path, table = Path(folder) / "long.c3d", Path(folder) / "long.trc"
        make_file(path)
        megabytes = path.stat().st_size / 1e6
        markers = footplant.load_markers(path)
        ours = cpu_seconds(lambda: footplant.load_markers(path), repeats=15)
        writing = cpu_seconds(lambda: footplant.save_markers(table, markers), repeats=2)
        footplant.load_markers(table)
        reading = cpu_seconds(lambda: footplant.load_markers(table), repeats=5)
        figures = {
            "parse_c3d.megabytes": megabytes,
            "parse_c3d.seconds": ours,
            "parse_c3d.megabytes_per_second": megabytes / ours,
            "parse_trc.megabytes_per_second": table.stat().st_size / 1e6 / reading,
            "parse_trc.write_megabytes_per_second": table.stat().st_size / 1e6 / writing,
        }
        figures |= times_faster("parse_c3d", PEERS, str(path), ours)
    return figures


if __name__ == "__main__":
    main(run)
