"""The data section of a C3D file: memory layout of the frames, and the points in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError
from footplant.io.c3d.parameters import BLOCK, DEC, C3dHeader, float_type, from_vax, integer_type

SATURATED = 65535
"""Largest frame number in the header block; longer trials state their length elsewhere."""
MAX_COORDINATE = 1e9
"""File units; a larger coordinate is invalid."""
CHUNK_BYTES = 1 << 18
"""Bytes of the file converted at a time, to keep temporary arrays small."""


@dataclass(frozen=True)
class FrameLayout:
    """The memory layout of the frames."""

    start: int
    """Offset of the data, bytes."""
    frames: int
    points: int
    words: int
    """Values per frame: four per point, then the analog values."""
    scale: float
    """File units per integer step, and per step of a residual."""
    floats: bool
    """True: 32-bit floats; False: 16-bit integers."""

    @property
    def frame_bytes(self) -> int:
        return self.words * (4 if self.floats else 2)


def find_layout(data: bytes, head: C3dHeader, path: str | Path | None) -> FrameLayout:
    """Return the layout; if header and parameters disagree, the one that exactly fills the file is chosen."""
    start = _data_start(data, head)
    available = len(data) - start
    point_scale = head.number("POINT", "SCALE")
    scales = [scale for scale in (point_scale, head.scale) if scale and np.isfinite(scale)]
    if not scales:
        raise FormatError(f"expected a non-zero scale of the points, got {head.scale}", path=path)
    counts = [(head.points, head.analog)]
    used, channels = head.number("POINT", "USED"), head.number("ANALOG", "USED")
    rate, point_rate = head.number("ANALOG", "RATE"), head.number("POINT", "RATE") or head.rate
    if used is not None:
        counts.append((int(used) % 65536, head.analog))
    if used is not None and channels is not None and rate and point_rate:
        samples = rate / point_rate
        counts.append((int(used) % 65536, int(channels) % 65536 * max(1, round(samples)) if samples < 1e5 else 0))
    frames = _stated_frames(head)
    layouts = []
    for scale, (points, analog), count in product(scales, dict.fromkeys(counts), frames or [0]):
        layouts.append(FrameLayout(start, count, points, 4 * points + analog, abs(scale), scale < 0))
    for layout in layouts:
        if layout.points and 0 <= available - layout.frames * layout.frame_bytes < BLOCK and layout.frames:
            return layout
    layout = next((layout for layout in layouts if layout.points), None)
    if layout is None:
        what = "analog values only" if head.analog else "none"
        raise FormatError(f"expected a file with points, got {what}", path=path)
    return _fit_frames(layout, available, head, path)


def _fit_frames(layout: FrameLayout, available: int, head: C3dHeader, path: str | Path | None) -> FrameLayout:
    """Return the layout with the number of frames in the file, if it does not end where it states."""
    whole = max(available, 0) // layout.frame_bytes
    stated = layout.frames
    if stated >= SATURATED or stated == 0:
        head.notes.append(f"the file does not state its number of frames; {whole} follow and were read")
        stated = whole
    elif whole < stated:
        head.notes.append(f"the file states {stated} frames; {whole} complete ones follow and were read")
    if whole == 0:
        raise FormatError(
            f"expected frames of {layout.frame_bytes} bytes, got {max(available, 0)} bytes of data", path=path,
            where=f"byte {layout.start}",
        )  # fmt: skip
    return replace(layout, frames=min(whole, stated))


def _data_start(data: bytes, head: C3dHeader) -> int:
    """Return the offset of the data: as stated in the header, else in the parameters, else after the parameters."""
    stated = head.data_start or int(head.number("POINT", "DATA_START") or 0) % 65536
    if stated:
        return (stated - 1) * BLOCK
    return -(-head.parameters_end // BLOCK) * BLOCK


def _stated_frames(head: C3dHeader) -> list[int]:
    """Return the stated numbers of frames, from places that can hold large numbers first."""
    found: list[int] = []
    start, end = (long_number(head.numbers("TRIAL", f"ACTUAL_{what}_FIELD")) for what in ("START", "END"))
    if start is not None and end is not None:
        found.append(end - start + 1)
    long = head.number("POINT", "LONG_FRAMES")
    if long is not None:
        found.append(int(long))
    found.append(head.last - head.first + 1)
    count = head.number("POINT", "FRAMES")
    if count is not None:
        # 16-bit integers are unsigned here
        found.append(int(count) % 65536 if count < 0 else int(count))
    if head.last != SATURATED:
        # if nothing fits, the header is the best source within its range: files get truncated, not rewritten
        found.insert(0, head.last - head.first + 1)
    return [frames for frames in dict.fromkeys(found) if 0 < frames < 2**32]


def long_number(words: NDArray) -> int | None:
    """Return a 32-bit integer from two 16-bit words, the low one first; None if there are fewer."""
    return (int(words[0]) % 65536) + 65536 * (int(words[1]) % 65536) if len(words) >= 2 else None


def read_points(data: bytes, layout: FrameLayout, processor: int, keep: NDArray) -> tuple[NDArray, NDArray, int]:
    """Return positions (F, M, 3) and residuals (F, M) of the points `keep` (M,), in file units; NaN where occluded.

    A point is occluded if its residual is negative, or if its coordinates are not numbers or all exactly zero, as some
    writers store it. The third value is the number of samples occluded because of zeros alone.
    """
    frames, points = layout.frames, layout.points
    # VAX floats are read as pairs of 16-bit halves and converted below
    halves = 2 if layout.floats and processor == DEC else 1
    kind = "<u2" if halves == 2 else float_type(processor) if layout.floats else integer_type(processor)
    values = np.frombuffer(data, kind, count=frames * layout.words * halves, offset=layout.start)
    values = values.reshape(frames, layout.words * halves)[:, : 4 * points * halves]
    values = values.reshape(frames, points, 4, halves) if halves == 2 else values.reshape(frames, points, 4)
    everything = len(keep) == points
    positions, residuals = np.empty((frames, len(keep), 3)), np.empty((frames, len(keep)))
    zeros = 0
    rows = max(1, CHUNK_BYTES // layout.frame_bytes)
    for at in range(0, frames, rows):
        part = values[at : at + rows] if everything else values[at : at + rows, keep]
        part = from_vax(part) if halves == 2 else part
        places, marks = positions[at : at + rows], residuals[at : at + rows]
        places[...] = part[..., :3]
        if not layout.floats:
            places *= layout.scale
        last = part[..., 3]
        # per axis: NumPy reductions over three values are slow
        seen, at_zero = last >= 0, np.ones(last.shape, bool)
        for axis in range(3):
            seen &= np.abs(places[..., axis]) <= MAX_COORDINATE
            at_zero &= places[..., axis] == 0
        at_zero &= seen
        hidden = ~seen
        zeros += int(np.count_nonzero(at_zero))
        hidden |= at_zero
        # the low byte is the residual, the high byte a mask of the cameras that saw the point
        marks[...] = np.where(hidden, 0, np.minimum(last, 32767)).astype(np.int16) & 0xFF
        marks *= layout.scale
        places[hidden] = np.nan
        marks[hidden] = np.nan
    return positions, residuals, zeros
