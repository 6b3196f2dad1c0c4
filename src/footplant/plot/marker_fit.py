"""Markers over the skeleton solved from them: a strip of moments, and the error of each frame."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from footplant.clip import Clip
from footplant.kinematics import Kinematics
from footplant.markers import Markers
from footplant.optical.report import MarkerReport
from footplant.plot.page import GREY, STYLE, WIDTH, check_target, new_sheet, require_matplotlib, save_sheet
from footplant.plot.view import choose_view

_BONE, _MARKER = "#2b6cb0", "#c2410c"


def marker_fit(clip: Clip, markers: Markers, report: MarkerReport, path: str | Path, *, dpi: int = 110) -> Path:
    """Draw the skeleton at some moments with the markers that it was solved from, and the error over time."""
    mpl = require_matplotlib()
    path = check_target(path)
    kinematics = Kinematics(clip.motion)
    view = choose_view(clip.character, kinematics, lambda frames: kinematics.positions[frames], poses=8)
    positions = np.concatenate([kinematics.positions, kinematics.ends], axis=1)
    skeleton = clip.motion.skeleton
    pairs = [(int(parent), joint) for joint, parent in enumerate(skeleton.parents) if parent >= 0]
    pairs += [(int(joint), len(skeleton) + number) for number, joint in enumerate(skeleton.end_parents)]
    used = {fit.label for fit in report.markers}
    shown = [number for number, label in enumerate(markers.labels) if label in used]
    with mpl.rc_context(STYLE):
        tall = 6.4
        title = f"{clip.name}: {len(report.markers)} markers, {report.marker_set or 'by name'}"
        subtitle = f"median error {report.median:.1f} mm, rms {report.rms:.1f} mm; body height {report.height:.2f} m"
        figure = new_sheet(tall, title, subtitle)
        axes = figure.add_axes((0.3 / WIDTH, 2.1 / tall, 1 - 0.6 / WIDTH, (tall - 2.9) / tall))
        for pose, frame in enumerate(view.frames):
            page = view.page(positions[frame], pose)
            for a, b in pairs:
                axes.plot(*page[[a, b]].T, color=_BONE, linewidth=1.6, solid_capstyle="round")
            axes.scatter(*view.page(markers.positions[frame, shown], pose).T, s=6, color=_MARKER, zorder=3)
        axes.set_aspect("equal")
        axes.axis("off")
        below = figure.add_axes((0.8 / WIDTH, 0.6 / tall, 1 - 1.2 / WIDTH, 1.2 / tall))
        below.plot(np.arange(len(report.frame_rms)) / markers.fps, report.frame_rms, color=_BONE, linewidth=1.0)
        below.set_ylim(0.0, max(12.0, float(np.nanmax(report.frame_rms)) * 1.05))
        below.axhline(12.0, color=GREY, linewidth=0.8, linestyle="--")
        below.set_xlabel("seconds")
        below.set_ylabel("rms, mm")
        save_sheet(figure, path, dpi)
    return path
