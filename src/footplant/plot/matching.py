"""Pictures of clip matching: the distance matrix with its warping path, and a library as a motion graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from footplant.blending.graph import Edge, MotionGraph
from footplant.blending.matching import Matching
from footplant.blending.settings import REGISTRATION
from footplant.plot.page import (
    GREY,
    INK,
    PALE,
    STYLE,
    check_target,
    new_sheet,
    printable,
    require_matplotlib,
    save_sheet,
)

MOST_TRANSITIONS = 12
MOST_ARCS = 60
_PATH, _TRANSITION, _STRIKE, _ENDLESS = "#e4572e", "#ffffff", "#17bebb", "#2a9d74"


def matrix(found: Matching, names: tuple[str, str], path: str | Path, *, dpi: int = 130) -> Path:
    """Draw the distances of two clips' frames as one PNG: dark is similar, with time warp and transition points."""
    mpl = require_matplotlib()
    path = check_target(path)
    rows, columns = found.table.shape
    wide, tall = 11.0, float(np.clip(11.0 * rows / columns, 3.0, 11.0))
    with mpl.rc_context(STYLE):
        page = tall + 1.4
        title = f"{printable(names[0], 28)} and {printable(names[1], 28)}"
        cost = f"matched frames are {1000 * found.path.cost:.0f} mm apart on average"
        figure = new_sheet(page, title, f"distance of every pair of frames · {cost}")
        axes = figure.add_axes((0.75 / 13.0, 0.6 / page, wide / 13.0, tall / page))
        extent = (0.0, (columns - 1) / REGISTRATION.rate, 0.0, (rows - 1) / REGISTRATION.rate)
        shown = axes.imshow(
            1000.0 * found.table, origin="lower", extent=extent, aspect="auto", cmap="cividis", interpolation="bilinear"
        )
        axes.grid(visible=False)
        curve = found.registration.curve
        seconds = np.linspace(curve.start, curve.stop, 400)
        times = curve(seconds)[:, 1]
        if found.registration.loop:
            cycle = found.registration.clips[1].motion.duration
            times = np.where(np.diff(times % cycle, append=times[-1] % cycle) < 0, np.nan, times % cycle)
        axes.plot(times, seconds, color=_PATH, linewidth=2.2, label="corresponding times")
        if len(found.strikes):
            axes.plot(
                found.strikes[:, 1], found.strikes[:, 0], "o", color=_STRIKE, markeredgecolor="white", markersize=6,
                label="strikes of the same foot",
            )  # fmt: skip
        best, rate = found.transitions[:MOST_TRANSITIONS], REGISTRATION.rate
        axes.plot(
            [m.second / rate for m in best], [m.first / rate for m in best], "x", color=_TRANSITION, markersize=7,
            markeredgewidth=1.8, label=f"the best {len(best)} transition points",
        )  # fmt: skip
        axes.set_xlim(extent[:2])
        axes.set_ylim(extent[2:])
        axes.set_xlabel(f"{printable(names[1])}, seconds")
        axes.set_ylabel(f"{printable(names[0])}, seconds")
        legend = axes.legend(loc="lower right", frameon=True, facecolor="#3a3f47", framealpha=0.8)
        for text in legend.get_texts():
            text.set_color("white")
        bar = figure.colorbar(shown, cax=figure.add_axes((12.0 / 13.0, 0.6 / page, 0.18 / 13.0, tall / page)))
        bar.set_label("mm")
        save_sheet(figure, path, dpi)
    return path


def graph(found: MotionGraph, path: str | Path, *, dpi: int = 130) -> Path:
    """Draw a library of clips as one PNG: a time bar for each clip, arcs for the best transitions."""
    mpl = require_matplotlib()
    path = check_target(path)
    endless = found.component()
    with mpl.rc_context(STYLE):
        from matplotlib.patches import FancyArrowPatch

        tall = min(0.9 + 0.55 * len(found.names), 40.0)
        between = sum(edge.source != edge.target for edge in found.edges)
        subtitle = (
            f"{len(found.names)} clips · {len(found.edges)} transitions up to {1000 * found.threshold:.0f} mm, "
            f"{between} of them between clips · {len(endless)} clips can be played endlessly"
        )
        figure = new_sheet(tall, "Motion graph", subtitle)
        axes = figure.add_axes((2.3 / 13.0, 0.45 / tall, 10.4 / 13.0, (tall - 1.05) / tall))
        longest = max(found.durations, default=1.0)
        for number, (name, seconds) in enumerate(zip(found.names, found.durations)):
            color = _ENDLESS if number in endless else "#9aa1ab"
            axes.barh(-number, seconds, height=0.22, color=color, zorder=3)
            axes.text(-0.012 * longest, -number, printable(name, 30), ha="right", va="center", color=INK)
        worst = max((edge.distance for edge in found.edges), default=1.0)
        for edge in _best(found):
            alike = 1.0 - edge.distance / (1.15 * worst)
            same = edge.source == edge.target
            # long arcs are flat, so that they stay within their row
            bow = 0.9 / (2.0 + 12.0 * abs(edge.leave - edge.enter) / longest) if same else 0.2
            axes.add_patch(
                FancyArrowPatch(
                    (edge.leave, -edge.source + (0.11 if same else 0.0)),
                    (edge.enter, -edge.target + (0.11 if same else 0.0)),
                    connectionstyle=f"arc3,rad={bow if edge.leave > edge.enter or not same else -bow}",
                    arrowstyle="-|>",
                    mutation_scale=6,
                    linewidth=0.5 + 0.9 * alike,
                    color=INK if same else "#b5532a",
                    alpha=0.15 + 0.6 * alike,
                    zorder=4,
                )
            )
        axes.set_xlim(0, 1.02 * longest)
        axes.set_ylim(-len(found.names) + 0.3, 0.85)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x", color=PALE)
        axes.set_xlabel("seconds", color=GREY)
        save_sheet(figure, path, dpi)
    return path


def _best(found: MotionGraph) -> list[Edge]:
    """Return the few best edges between any two clips, worst first so that the best are drawn on top."""
    most = int(np.clip(MOST_ARCS / max(len(found.names), 1) ** 2, 1, 6))
    drawn: dict[tuple[int, int], list[Edge]] = {}
    for edge in sorted(found.edges, key=lambda edge: edge.distance):
        drawn.setdefault((edge.source, edge.target), []).append(edge)
    return sorted((edge for edges in drawn.values() for edge in edges[:most]), key=lambda edge: -edge.distance)
