"""The data section of a C3D file: how its frames lie in the bytes, and the points in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError
from footplant.io.c3d.parameters import BLOCK, DEC, Head, float_type, from_vax, whole_type

SATURATED = 65535
"""The largest number of a frame that the first block can hold; longer trials state their length elsewhere."""
FARTHEST = 1e9
"""File units; a coordinate beyond it is no measurement."""
PART_BYTES = 1 << 18
"""Bytes of the file that are converted at a time, so that what is only needed meanwhile stays small."""


@dataclass(frozen=True)
class Layout:
    """How the frames lie in the bytes."""

    start: int
    """Byte where the data start."""
    frames: int
    points: int
    words: int
    """Values in each frame: four a point, then the analog ones."""
    scale: float
    """File units per whole number, and per step of a residual."""
    floats: bool
    """True: values are floats of 32 bits; False: whole numbers of 16 bits."""

    @property
    def frame_bytes(self) -> int:
        return self.words * (4 if self.floats else 2)


def find_layout(data: bytes, head: Head, path: str | Path | None) -> Layout:
    """Decide where the first block and the parameters disagree: the reading that fills the file to its end wins."""
    start = _data_start(data, head)
    available = len(data) - start
    point_scale = head.number("POINT", "SCALE")
    scales = [scale for scale in (point_scale, head.scale) if scale and np.isfinite(scale)]
    if not scales:
        raise FormatError(f"expected a scale of the points that is not 0, got {head.scale}", path=path)
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
        layouts.append(Layout(start, count, points, 4 * points + analog, abs(scale), scale < 0))
    for layout in layouts:
        if layout.points and 0 <= available - layout.frames * layout.frame_bytes < BLOCK and layout.frames:
            return layout
    layout = next((layout for layout in layouts if layout.points), None)
    if layout is None:
        what = "analog values only" if head.analog else "none"
        raise FormatError(f"expected a file with points, got {what}", path=path)
    return _cut(layout, available, head, path)


def _cut(layout: Layout, available: int, head: Head, path: str | Path | None) -> Layout:
    """The layout with the frames that there are, when the file does not end where it says."""
    whole = max(available, 0) // layout.frame_bytes
    stated = layout.frames
    if stated >= SATURATED or stated == 0:
        head.notes.append(f"the file does not say how many frames it has; {whole} follow and were read")
        stated = whole
    elif whole < stated:
        head.notes.append(f"the file states {stated} frames, {whole} whole ones follow and were read")
    if whole == 0:
        raise FormatError(
            f"expected frames of {layout.frame_bytes} bytes, got {max(available, 0)} bytes of data", path=path,
            where=f"byte {layout.start}",
        )  # fmt: skip
    return replace(layout, frames=min(whole, stated))


def _data_start(data: bytes, head: Head) -> int:
    """The byte where the data start: as the first block says, else the parameters, else behind the parameters."""
    stated = head.data_start or int(head.number("POINT", "DATA_START") or 0) % 65536
    if stated:
        return (stated - 1) * BLOCK
    return -(-head.parameters_end // BLOCK) * BLOCK


def _stated_frames(head: Head) -> list[int]:
    """How many frames there are by each place that says so, the ones that can hold large numbers first."""
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
        # whole numbers of 16 bits are meant without a sign here
        found.append(int(count) % 65536 if count < 0 else int(count))
    if head.last != SATURATED:
        # what the first block can hold it says best where nothing fits: files are cut, not rewritten
        found.insert(0, head.last - head.first + 1)
    return [frames for frames in dict.fromkeys(found) if 0 < frames < 2**32]


def long_number(words: NDArray) -> int | None:
    """A whole number of 32 bits as two of 16, the low one first; None when there are not two."""
    return (int(words[0]) % 65536) + 65536 * (int(words[1]) % 65536) if len(words) >= 2 else None


def read_points(data: bytes, layout: Layout, processor: int, keep: NDArray) -> tuple[NDArray, NDArray, int]:
    """Positions (F, M, 3) and residuals (F, M) of the points `keep` (M,), in file units; NaN where hidden.

    A point is hidden where its residual is negative, and where its coordinates are not numbers or all exactly zero, as
    some writers have it. The third value is how many samples were hidden for zeros alone.
    """
    frames, points = layout.frames, layout.points
    # VAX floats are read as pairs of halves, to be put together below
    halves = 2 if layout.floats and processor == DEC else 1
    kind = "<u2" if halves == 2 else float_type(processor) if layout.floats else whole_type(processor)
    values = np.frombuffer(data, kind, count=frames * layout.words * halves, offset=layout.start)
    values = values.reshape(frames, layout.words * halves)[:, : 4 * points * halves]
    values = values.reshape(frames, points, 4, halves) if halves == 2 else values.reshape(frames, points, 4)
    everything = len(keep) == points
    positions, residuals = np.empty((frames, len(keep), 3)), np.empty((frames, len(keep)))
    zeros = 0
    rows = max(1, PART_BYTES // layout.frame_bytes)
    for at in range(0, frames, rows):
        part = values[at : at + rows] if everything else values[at : at + rows, keep]
        part = from_vax(part) if halves == 2 else part
        places, marks = positions[at : at + rows], residuals[at : at + rows]
        places[...] = part[..., :3]
        if not layout.floats:
            places *= layout.scale
        last = part[..., 3]
        # axis by axis: reductions over three values are slow
        seen, at_zero = last >= 0, np.ones(last.shape, bool)
        for axis in range(3):
            seen &= np.abs(places[..., axis]) <= FARTHEST
            at_zero &= places[..., axis] == 0
        at_zero &= seen
        hidden = ~seen
        zeros += int(np.count_nonzero(at_zero))
        hidden |= at_zero
        # the low byte is the residual, the high one says which cameras saw the point
        marks[...] = np.where(hidden, 0, np.minimum(last, 32767)).astype(np.int16) & 0xFF
        marks *= layout.scale
        places[hidden] = np.nan
        marks[hidden] = np.nan
    return positions, residuals, zeros
