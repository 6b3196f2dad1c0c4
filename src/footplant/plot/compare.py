"""Methods side by side: strips of the same moments, and bars of time, error and change of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from footplant.clip import Clip
from footplant.contacts.detection import FEET
from footplant.edits.compare import Comparison, Row
from footplant.errors import FormatError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.plot import body
from footplant.plot.page import GREY, STYLE, WIDTH, check_target, new_sheet, printable, require_matplotlib, save_sheet
from footplant.plot.view import View, choose_view

BARS: tuple[tuple[str, str, bool], ...] = (
    ("seconds", "time, s", True),
    ("worst_error", "worst error, mm", True),
    ("worst_drift", "worst drift, mm", True),
    ("peak_acceleration", "peak acceleration ×", True),
    ("jerk", "jerk ×", True),
    ("joint_change", "joints turned, °", False),
)
"""Fields of a row, their titles, and whether the scale is logarithmic."""
RATIOS = ("peak_acceleration", "jerk")
POSES, COLUMNS, TALL = 7, 2, 1.75
HELD, SLIDING = "#2a9d74", "#d1495b"
SLIDE_DISTANCE = 0.003
"""Distance from its footplant's mean position, metres, beyond which a foot is drawn as sliding."""
HUES = ("#2b6cb0", "#2a9d74", "#c2571a", "#7b5ea7", "#b08d2b", "#b0476a", "#5f6b7a")


def comparison_sheet(comparison: Comparison, path: str | Path, *, dpi: int = 110) -> Path:
    """Draw a comparison as one PNG: the input, each method's poses at the same moments, and bars."""
    mpl = require_matplotlib()
    path = check_target(path)
    if len(comparison.before) == 0:
        raise FormatError("expected a clip with frames to draw, got none", path=path)
    character = comparison.character
    start = Kinematics(comparison.before)
    view = choose_view(character, start, lambda frames: start.positions[frames], POSES)
    shown = [("before", comparison.before), *((name, s.motion) for name, s in comparison.solutions.items())]
    lines = -(-len(shown) // COLUMNS)
    with mpl.rc_context(STYLE):
        tall = 0.75 + lines * (TALL + 0.3) + 2.75
        subtitle = f"{printable(character.name)}, {character.height:.2f} m tall · {len(comparison.before)} frames"
        figure = new_sheet(tall, f"{comparison.name}: methods compared", subtitle)
        wide = (WIDTH - 0.3 * (COLUMNS + 1)) / COLUMNS
        for number, (name, motion) in enumerate(shown):
            left = 0.3 + (number % COLUMNS) * (wide + 0.3)
            low = tall - 0.75 - (number // COLUMNS) * (TALL + 0.3) - TALL
            axes = figure.add_axes((left / WIDTH, low / tall, wide / WIDTH, TALL / tall))
            _draw_strip(axes, name, Clip(motion, character), comparison, view, wide / TALL)
        _draw_bars(figure, comparison.rows, tall)
        save_sheet(figure, path, dpi)
    return path


def _draw_strip(axes: Any, name: str, clip: Clip, comparison: Comparison, view: View, shape: float) -> None:
    """Draw the poses of one solution with a dot at each footplant: green if it holds, red if it slides."""
    from matplotlib.collections import PolyCollection

    kinematics, character = Kinematics(clip.motion), clip.character
    spread = _spread(view, comparison.before, character.height)
    low, high = np.inf, -np.inf
    for pose, frame in enumerate(view.frames.tolist()):
        shapes = body.bone_shapes(character, kinematics, frame, spread, pose)
        axes.add_collection(
            PolyCollection(shapes.polygons, facecolors=shapes.colors, edgecolors="white", linewidths=0.4, zorder=3)
        )
        corners = np.concatenate(shapes.polygons)
        low, high = min(low, float(corners[:, 1].min())), max(high, float(corners[:, 1].max()))
        for plant in () if comparison.contacts is None else comparison.contacts.at(frame):
            if plant.point in FEET and plant.point in character.contacts:
                track = kinematics.point(character.contacts[plant.point])[plant.start : plant.end]
                away = float(np.linalg.norm((track[frame - plant.start] - track.mean(axis=0))[::2]))
                color = HELD if away <= SLIDE_DISTANCE else SLIDING
                page = spread.page(track[frame - plant.start], pose)
                axes.plot(*page, "o", markersize=4, color=color, markeredgecolor="white", markeredgewidth=0.5, zorder=9)
    air = 0.06 * (high - low)
    tall = high - low + 2.0 * air
    roots = [float(spread.page(kinematics.positions[f, 0], p)[0]) for p, f in enumerate(view.frames.tolist())]
    middle, wide = 0.5 * (min(roots) + max(roots)), max(max(roots) - min(roots) + 0.9 * character.height, shape * tall)
    axes.set_xlim(middle - 0.5 * wide, middle + 0.5 * wide)
    axes.set_ylim(low - air, low - air + wide / shape)
    axes.set_title(name)
    axes.set_axis_off()


def _spread(view: View, before: Motion, height: float) -> View:
    """Return the view with evenly spaced poses, placed by the hips of the input, so that root changes are visible."""
    positions = Kinematics(before[view.frames]).positions[:, 0] @ view.right
    return replace(view, shifts=np.arange(len(positions)) * 0.62 * height - positions, true_positions=False)


def _draw_bars(figure: Any, rows: Sequence[Row], tall: float) -> None:
    names = [row.method for row in rows]
    wide = (WIDTH - 0.9) / len(BARS)
    for number, (key, title, logarithmic) in enumerate(BARS):
        left = 1.05 + number * wide if number == 0 else 0.5 + number * wide + 0.3
        area = (left / WIDTH, 0.4 / tall, (wide - 0.75) / WIDTH, 1.95 / tall)
        axes = figure.add_axes(area)
        values = [getattr(row, key) for row in rows]
        drawn = [0.0 if value is None else max(value, 1e-3) if logarithmic else value for value in values]
        axes.barh(range(len(rows)), drawn, color=[HUES[n % len(HUES)] for n in range(len(rows))], height=0.7)
        if logarithmic and any(value is not None for value in values):
            axes.set_xscale("log")
            axes.set_xlim(0.1 if key in RATIOS else 1e-3, max(10.0, 30.0 * max(drawn)))
        else:
            axes.set_xlim(0.0, 1.35 * max(max(drawn), 1e-6))
        for row, value in enumerate(values):
            text = "failed" if value is None else f"{value:.3g}" if value >= 0.001 else "0"
            axes.annotate(text, (max(drawn[row], axes.get_xlim()[0]), row), (3, 0), textcoords="offset points",
                          va="center", fontsize=7, color=GREY)  # fmt: skip
        axes.set_yticks(range(len(rows)), names if number == 0 else [""] * len(rows), fontsize=7.5)
        axes.tick_params(axis="x", labelsize=6.5)
        axes.invert_yaxis()
        axes.set_title(title, fontsize=8.5)
