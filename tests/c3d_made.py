"""Synthetic C3D files for tests, of any processor, as integers or floats."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

INTEL, DEC, MIPS = 84, 85, 86
BLOCK = 512


@dataclass
class Made:
    """The contents of a file; fields that are None are omitted from the parameters."""

    positions: np.ndarray
    """(F, M, 3) file units; NaN where occluded."""
    labels: list[str]
    processor: int = INTEL
    floats: bool = True
    rate: float = 120.0
    scale: float = 0.1
    """File units per integer step."""
    first: int = 1
    analog: int = 0
    """Analog values per frame."""
    residual: int = 3
    """Low byte of each point's fourth value."""
    cameras: int = 5
    units: str | None = "mm"
    up: str | None = "+Z"
    long_frames: bool = False
    """State the number of frames in TRIAL and in POINT:LONG_FRAMES as well."""
    data_start: int | None = None
    """Value of POINT:DATA_START; None: the correct one."""
    extra: list[tuple[str, str, object]] = field(default_factory=list)
    """(group, name, texts or numbers)."""

    def number(self, value: int) -> bytes:
        return int(value % 65536).to_bytes(2, "big" if self.processor == MIPS else "little")

    def float(self, values) -> bytes:
        values = np.asarray(values, np.float32)
        if self.processor == MIPS:
            return values.astype(">f4").tobytes()
        if self.processor == INTEL:
            return values.astype("<f4").tobytes()
        halves = (values * np.float32(4)).astype("<f4").view("<u2").reshape(-1, 2)
        return halves[:, ::-1].astype("<u2").tobytes()

    def parameter(self, group: int, name: str, value) -> bytes:
        if isinstance(value, str):
            value = [value]
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            width = max((len(item.encode()) for item in value), default=0)
            data = b"".join(item.encode().ljust(width) for item in value)
            head = struct.pack("bBBB", -1, 2, width, len(value))
        elif isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
            array = np.atleast_1d(value)
            data = self.float(array.ravel())
            head = struct.pack(f"bB{array.ndim}B", 4, array.ndim, *array.shape[::-1])
        else:
            array = np.atleast_1d(value)
            data = b"".join(self.number(int(item)) for item in array)
            head = struct.pack("bBB", 2, 1, len(array))
        body = head + data + b"\0"
        return struct.pack("bb", len(name), group) + name.encode() + self.number(2 + len(body)) + body

    def sections(self) -> list[tuple[str, str, object]]:
        frames, points = self.positions.shape[:2]
        found: list[tuple[str, str, object]] = [
            ("POINT", "USED", points),
            ("POINT", "FRAMES", min(frames, 65535)),
            ("POINT", "SCALE", -self.scale if self.floats else self.scale),
            ("POINT", "RATE", float(self.rate)),
        ]
        for number, start in enumerate(range(0, points, 255)):
            found.append(("POINT", "LABELS" + (str(number + 1) if number else ""), self.labels[start : start + 255]))
        if self.units is not None:
            found.append(("POINT", "UNITS", self.units))
        if self.up is not None:
            found.append(("POINT", "Y_SCREEN", self.up))
        if self.long_frames:
            found.append(("POINT", "LONG_FRAMES", float(frames)))
            last = self.first + frames - 1
            found.append(("TRIAL", "ACTUAL_START_FIELD", np.array([self.first % 65536, self.first // 65536])))
            found.append(("TRIAL", "ACTUAL_END_FIELD", np.array([last % 65536, last // 65536])))
        return found + self.extra

    def parameters(self, data_start: int) -> bytes:
        groups: dict[str, int] = {}
        out = b""
        stated = data_start if self.data_start is None else self.data_start
        for group, name, value in [*self.sections(), ("POINT", "DATA_START", stated)]:
            if group not in groups:
                groups[group] = len(groups) + 1
                out += struct.pack("bb", len(group), -groups[group]) + group.encode() + self.number(3) + b"\0"
            out += self.parameter(groups[group], name, value)
        out = bytes([1, 0x50, 0, self.processor]) + out + b"\0\0"
        blocks = -(-len(out) // BLOCK)
        return (out[:2] + bytes([min(blocks, 255)]) + out[3:]).ljust(blocks * BLOCK, b"\0")

    def data(self) -> bytes:
        frames = len(self.positions)
        hidden = np.isnan(self.positions).any(axis=2)
        mark = np.where(hidden, -1, 256 * self.cameras + self.residual)
        if self.floats:
            values = np.concatenate([np.nan_to_num(self.positions), mark[..., None]], axis=2)
            rows = np.concatenate([values.reshape(frames, -1), np.ones((frames, self.analog))], axis=1)
            return self.float(rows.ravel())
        whole = np.concatenate([np.round(np.nan_to_num(self.positions) / self.scale), mark[..., None]], axis=2)
        rows = np.concatenate([whole.reshape(frames, -1), np.full((frames, self.analog), 7)], axis=1)
        return rows.astype(">i2" if self.processor == MIPS else "<i2").tobytes()

    def bytes(self) -> bytes:
        frames, points = self.positions.shape[:2]
        start = 2 + len(self.parameters(0)) // BLOCK
        last = min(self.first + frames - 1, 65535)
        scale = -self.scale if self.floats else self.scale
        head = bytes([2, 0x50])
        head += b"".join(self.number(value) for value in (points, self.analog, min(self.first, 65535), last, 0))
        head += (
            self.float([scale]) + self.number(start) + self.number(1 if self.analog else 0) + self.float([self.rate])
        )
        data = self.data()
        return head.ljust(BLOCK, b"\0") + self.parameters(start) + data.ljust(-(-len(data) // BLOCK) * BLOCK, b"\0")


def walker(frames: int = 50, markers: int = 12, seed: int = 0, hidden: float = 0.1) -> np.ndarray:
    """Return points (F, M, 3) of a cloud that stands on z = 0 and moves along x, millimetres; some are occluded."""
    rng = np.random.default_rng(seed)
    cloud = rng.uniform((-250, -250, 20), (250, 250, 1700), (markers, 3))
    places = cloud + np.arange(frames)[:, None, None] * [12.0, 0.0, 0.0] + rng.normal(0, 5, (frames, markers, 3))
    places[..., 2] = np.maximum(places[..., 2], 5.0)
    places[rng.random((frames, markers)) < hidden] = np.nan
    return places
