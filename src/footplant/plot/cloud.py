"""Overview picture of a marker file: some moments of the marker cloud, its paths, and its gaps."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError
from footplant.markers import Markers
from footplant.plot.body import LEFT, MIDDLE, RIGHT
from footplant.plot.page import (
    GREY,
    INK,
    STYLE,
    TALLEST,
    WIDTH,
    check_target,
    new_sheet,
    printable,
    require_matplotlib,
    save_sheet,
)

MOST_ROWS = 24
"""Markers whose gaps are drawn, most occluded first."""
_HIDDEN = "#c9503c"


def cloud(
    markers: Markers, path: str | Path, *, poses: int | None = None, title: str | None = None, dpi: int = 130
) -> Path:
    """Draw markers as one PNG: some moments of the cloud from the side, gaps over time, and the paths from above.

    poses: number of moments (default 7). Names that begin with L or R give the side. dpi: dots per inch.
    """
    mpl = require_matplotlib()
    path = check_target(path)
    if not markers.visible.any():
        raise FormatError("expected visible markers to draw, got none", path=path)
    right = _page_right(markers)
    frames, shifts = _spread(markers, right, poses or 7)
    hidden = ~markers.visible
    share = hidden.mean(axis=0)
    rows = [int(marker) for marker in np.argsort(-share, kind="stable") if 0 < share[marker] < 1][:MOST_ROWS]
    low, high = _heights(markers)
    colors = _colors(markers.labels)
    with mpl.rc_context(STYLE):
        left, wide = _page_span(markers, right, frames, shifts)
        air = 0.06 * (high - low)
        strip = float(np.clip((WIDTH - 0.6) * (high - low + 4 * air) / wide, 2.2, TALLEST))
        panel = max(1.9, 0.5 + 0.135 * len(rows))
        tall = 0.5 + strip + 0.55 + panel + 0.45
        figure = new_sheet(tall, title or markers.name, _subtitle(markers, share))
        axes = figure.add_axes((0.3 / WIDTH, (tall - 0.5 - strip) / tall, 1 - 0.6 / WIDTH, strip / tall))
        _draw_moments(axes, markers, right, frames, shifts, colors, (left, wide, low - 2.4 * air, high + air, strip))
        bottom = 0.4 / tall
        axes = figure.add_axes((1.35 / WIDTH, bottom, 6.6 / WIDTH, panel / tall))
        if rows:
            _draw_gaps(axes, markers, rows, share)
        else:
            _draw_markers_heights(axes, markers, colors, share)
        _time_axis(axes, markers, frames)
        axes = figure.add_axes((8.95 / WIDTH, bottom, (WIDTH - 8.95 - 0.35) / WIDTH, panel / tall))
        _draw_paths(axes, markers, right, colors)
        save_sheet(figure, path, dpi)
    return path


def _subtitle(markers: Markers, share: NDArray) -> str:
    count = f"{len(markers)} frames" if len(markers) != 1 else "1 frame"
    return (
        f"{len(markers.names)} markers, {100 * share.mean():.2g} % hidden · {count} at {markers.fps:.4g} fps, "
        f"{markers.duration:.2f} s · file: {markers.conversion.units}, {markers.conversion.up} up"
    )


def _colors(labels: tuple[str, ...]) -> NDArray:
    """Return colours (M, 3): blue for left names ("LKNE", "L.Knee", "left_knee"), red for right, grey otherwise."""
    sides = {"L": LEFT, "l": LEFT, "R": RIGHT, "r": RIGHT}
    of_a_side = re.compile(r"[LR]([A-Z0-9._ ]|$)|[Ll]eft|[Rr]ight|LEFT|RIGHT|[lr][._ ]")
    return np.array([sides[label[0]] if of_a_side.match(label) else MIDDLE for label in labels])


def _centres(markers: Markers) -> NDArray:
    """Return the median of the visible markers (F, 3); NaN where none is visible."""
    out = np.full((len(markers), 3), np.nan)
    seen = markers.visible.any(axis=1)
    out[seen] = np.nanmedian(markers.positions[seen], axis=1)
    return out


def _page_right(markers: Markers) -> NDArray:
    """Return the horizontal direction in which the cloud extends and travels most, towards its goal."""
    centres = _centres(markers)
    centres = centres[~np.isnan(centres[:, 0])]
    flat = centres[:, [0, 2]]
    every = markers.positions[:: max(1, len(markers) // 100)].reshape(-1, 3)[:, [0, 2]]
    points = every[~np.isnan(every[:, 0])]
    travel = np.ptp(flat, axis=0).max() > 0.5
    spread = np.linalg.svd(np.cov((flat if travel else points).T) + 1e-12 * np.eye(2))[0][:, 0]
    if spread @ (flat[-1] - flat[0]) < 0:
        spread = -spread
    return np.array([spread[0], 0.0, spread[1]])


def _spread(markers: Markers, right: NDArray, poses: int) -> tuple[NDArray, NDArray]:
    """Return evenly spaced frames with most visible markers, and the shift of each along the page, metres."""
    seen = markers.visible.sum(axis=1)
    edges = np.linspace(0, len(markers), min(poses, len(markers)) + 1).astype(int)
    frames = np.array([first + int(seen[first:last].argmax()) for first, last in pairwise(edges)])
    frames = frames[seen[frames] > 0]
    # percentiles: a lamp or a force plate's corner far away must not shrink the picture
    spans = [np.percentile(markers.positions[frame, markers.visible[frame]] @ right, (6, 50, 94)) for frame in frames]
    middles = np.array([0.5 * (first + last) for first, _, last in spans])
    step = 1.45 * max(max(float(last - first) for first, _, last in spans), 0.25)
    steps = np.diff(middles)
    if len(steps) and 0.6 * step < steps.min() and steps.mean() < 2.0 * step:
        return frames, np.zeros(len(frames))
    return frames, np.arange(len(frames)) * step - middles


def _heights(markers: Markers) -> tuple[float, float]:
    heights = markers.positions[..., 1][markers.visible]
    low, high = (float(value) for value in np.percentile(heights, (0.5, 99.5)))
    low = min(low, 0.0) if low < 0.4 else low
    return low, max(high, low + 0.2)


def _page_span(markers: Markers, right: NDArray, frames: NDArray, shifts: NDArray) -> tuple[float, float]:
    spans = [
        np.percentile(markers.positions[frame, markers.visible[frame]] @ right + shift, (3, 97))
        for frame, shift in zip(frames, shifts, strict=True)
    ]
    low, high = float(np.min(spans)), float(np.max(spans))
    air = 0.05 * (high - low) + 0.12
    return low - air, high - low + 2 * air


def _draw_moments(axes: Any, markers: Markers, right, frames, shifts, colors, page) -> None:
    left, wide, low, high, strip = page
    axes.axhspan(low, 0.0, color="#f3f5f8", zorder=0, linewidth=0)
    axes.axhline(0.0, color="#aab1bc", linewidth=1.0, zorder=1)
    trail = max(1, round(0.25 * markers.fps))
    toward = np.cross(right, [0.0, 1.0, 0.0])
    for frame, shift in zip(frames.tolist(), shifts.tolist(), strict=True):
        recent = markers.positions[max(0, frame - trail) : frame + 1]
        across = recent @ right + shift
        for marker in np.flatnonzero(markers.visible[frame]).tolist():
            axes.plot(
                across[:, marker], recent[:, marker, 1], color=colors[marker], alpha=0.28, linewidth=0.9, zorder=2
            )
        seen = markers.visible[frame]
        place = markers.positions[frame, seen]
        order = np.argsort(place @ toward)
        axes.scatter(
            (place @ right + shift)[order], place[order, 1], s=13, color=colors[seen][order], zorder=3,
            edgecolors="white", linewidths=0.4,
        )  # fmt: skip
        middle = float(np.median(place @ right) + shift)
        label = f"{frame / markers.fps:.2f} s"
        axes.annotate(label, (middle, low), (0, 4), textcoords="offset points", ha="center", fontsize=7.5, color=GREY)
    per_inch = max(wide / (WIDTH - 0.6), (high - low) / strip)
    middle, half = left + 0.5 * wide, 0.5 * per_inch * (WIDTH - 0.6)
    axes.set_xlim(middle - half, middle + half)
    axes.set_ylim(low, low + per_inch * strip)
    axes.set_axis_off()


def _time_axis(axes: Any, markers: Markers, frames: NDArray) -> None:
    axes.set_xlim(0.0, max(len(markers), 1) / markers.fps)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} s")
    # marks at the top where the moments of the strip were taken
    times = frames / markers.fps
    axes.plot(times, np.ones(len(times)), "v", transform=axes.get_xaxis_transform(), color="#b6bcc6", markersize=3.2,
              clip_on=False, zorder=5)  # fmt: skip


def _never_seen(markers: Markers, share: NDArray) -> str:
    """Return a text for the markers that are never visible, if any."""
    never = [markers.names[marker] for marker in np.flatnonzero(share == 1).tolist()]
    listing = ", ".join(never[:2]) + (" …" if len(never) > 2 else "")
    return f"; {len(never)} never seen ({printable(listing, 30)})" if never else ""


def _draw_gaps(axes: Any, markers: Markers, rows: list[int], share: NDArray) -> None:
    """Draw a row for each marker with gaps, red while it is hidden."""
    with_gaps = int(np.count_nonzero((share > 0) & (share < 1)))
    most = f", the {len(rows)} most hidden" if with_gaps > len(rows) else ""
    axes.set_title(f"hidden at times: {with_gaps} of {len(share)} markers{most}{_never_seen(markers, share)}",
                   parse_math=False)  # fmt: skip
    end = len(markers) / markers.fps
    gaps = markers.gaps()
    for row, marker in enumerate(rows):
        axes.barh(row, end, height=0.62, color="#f1f3f6", zorder=1, linewidth=0)
        bars = [(start / markers.fps, (stop - start) / markers.fps) for start, stop in gaps[markers.names[marker]]]
        axes.broken_barh(bars, (row - 0.31, 0.62), color=_HIDDEN, zorder=2, linewidth=0.4, edgecolor=_HIDDEN)
        axes.annotate(f"{100 * share[marker]:.1f} %", (end, row), (4, 0), textcoords="offset points", va="center",
                      fontsize=6.5, color=GREY, annotation_clip=False)  # fmt: skip
    axes.set_yticks(range(len(rows)), [printable(markers.names[marker], 20) for marker in rows], fontsize=6.5,
                    parse_math=False)  # fmt: skip
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)


def _draw_markers_heights(axes: Any, markers: Markers, colors: NDArray, share: NDArray) -> None:
    """Draw the height of each marker over time, when there are no gaps to show."""
    step = max(1, len(markers) // 1500)
    seconds = np.arange(0, len(markers), step) / markers.fps
    for marker, color in enumerate(colors):
        axes.plot(seconds, markers.positions[::step, marker, 1], color=color, alpha=0.5, linewidth=0.8)
    axes.set_title(f"no gaps{_never_seen(markers, share)}; height of each marker, m", parse_math=False)
    axes.margins(y=0.05)


def _draw_paths(axes: Any, markers: Markers, right: NDArray, colors: NDArray) -> None:
    away = -np.cross(right, [0.0, 1.0, 0.0])
    some = markers.positions[:: max(1, len(markers) // 600)]
    for marker, color in enumerate(colors):
        axes.plot(some[:, marker] @ right, some[:, marker] @ away, color=color, alpha=0.16, linewidth=0.7)
    centres = _centres(markers)
    axes.plot(centres @ right, centres @ away, color=INK, linewidth=1.4)
    axes.set_title("from above, m: the markers' paths")
    axes.set_aspect("equal", adjustable="datalim")
