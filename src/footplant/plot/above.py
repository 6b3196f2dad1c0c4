"""Top view of motions: the path of the hips, the target curve, and every footprint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.clip import Clip
from footplant.contacts.detection import Contacts, find_contacts
from footplant.curves import Curve
from footplant.errors import FormatError
from footplant.kinematics import Kinematics
from footplant.plot.page import GREY, INK, STYLE, WIDTH, check_target, new_sheet, require_matplotlib, save_sheet

SIDES = {"left": "#2b6cb0", "right": "#c2571a"}


@dataclass(frozen=True, eq=False)
class FromAbove:
    """One motion of the picture."""

    title: str
    clip: Clip
    contacts: Contacts | None = None
    """Its foot contacts; None detects them."""
    curve: Curve | None = None
    """The curve that its hips should follow, in the world."""


def above(
    motions: Sequence[FromAbove], path: str | Path, *, title: str = "from above", columns: int = 3, dpi: int = 110
) -> Path:
    """Draw motions from above as one PNG, each row at one scale: +z up the page, +x to the left, as seen when walking.

    A footprint is the sole at the middle of its stance; the positions of heel and ball in all frames of the stance are
    drawn over it as dots, so that foot skating leaves a trail.
    """
    mpl = require_matplotlib()
    path = check_target(path)
    if not motions:
        raise FormatError("expected at least one motion to draw, got none", path=path)
    rows = [motions[first : first + columns] for first in range(0, len(motions), columns)]
    boxes = [[_box(motion) for motion in row] for row in rows]
    wide = (WIDTH - 0.3 * (columns + 1)) / columns
    talls = [float(np.clip(max(wide * box[1] / box[0] for box in row), 1.5, 6.0)) for row in boxes]
    with mpl.rc_context(STYLE):
        tall = 0.6 + sum(height + 0.45 for height in talls)
        figure = new_sheet(tall, title, "left foot blue, right foot orange; metres")
        top = tall - 0.85
        for row, height in zip(rows, talls):
            scale = max(max(box[0] / wide, box[1] / height) for box in map(_box, row))
            for number, motion in enumerate(row):
                area = (0.3 + number * (wide + 0.3), top - height, wide, height)
                axes = figure.add_axes((area[0] / WIDTH, area[1] / tall, area[2] / WIDTH, area[3] / tall))
                _draw(axes, motion, (scale * wide, scale * height))
            top -= height + 0.45
        save_sheet(figure, path, dpi)
    return path


def _box(motion: FromAbove) -> tuple[float, float]:
    """Return width and height of the drawn floor, metres."""
    hips = motion.clip.motion.root[:, ::2]
    return float(np.ptp(hips[:, 0])) + 1.2, float(np.ptp(hips[:, 1])) + 1.2


def _draw(axes: Any, motion: FromAbove, size: tuple[float, float]) -> None:
    clip = motion.clip
    kinematics, character = Kinematics(clip.motion), clip.character
    contacts = motion.contacts or find_contacts(clip)
    if motion.curve is not None:
        positions = motion.curve.at(np.linspace(0.0, motion.curve.length, 400))[0]
        axes.plot(positions[:, 0], positions[:, 1], color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    hips = clip.motion.root[:, ::2]
    axes.plot(hips[:, 0], hips[:, 1], color=INK, linewidth=1.0, zorder=2)
    axes.plot(*hips[0], "o", color=INK, markersize=4, zorder=4)
    for side, color in SIDES.items():
        for plant in contacts.plants:
            if not plant.point.startswith(side) or plant.point not in character.contacts:
                continue
            track = kinematics.point(character.contacts[plant.point])[plant.start : plant.end, ::2]
            axes.plot(track[:, 0], track[:, 1], ".", color=color, markersize=3.2, zorder=5, markeredgewidth=0)
            if plant.point.endswith("_ball"):
                sole = _sole(kinematics, clip, side, (plant.start + plant.end - 1) // 2)
                axes.fill(sole[:, 0], sole[:, 1], facecolor=color, alpha=0.25, edgecolor=color, linewidth=0.7, zorder=3)
    middle = 0.5 * (hips.min(axis=0) + hips.max(axis=0))
    # +x is to the left of +z, so the x axis is inverted
    axes.set_xlim(middle[0] + 0.5 * size[0], middle[0] - 0.5 * size[0])
    axes.set_ylim(middle[1] - 0.5 * size[1], middle[1] + 0.5 * size[1])
    axes.set_title(motion.title)
    axes.tick_params(labelsize=7)


def _sole(kinematics: Kinematics, clip: Clip, side: str, frame: int) -> NDArray:
    """Return the outline of a foot on the floor (N, 2), metres, with a typical width."""
    points = clip.character.contacts
    names = [f"{side}_{part}" for part in ("heel", "toe") if f"{side}_{part}" in points]
    ends = [kinematics.point(points[name])[frame, ::2] for name in names]
    ball = kinematics.point(points[f"{side}_ball"])[frame, ::2]
    heel, toe = ends[0] if ends else ball, ends[-1] if len(ends) > 1 else ball
    along = toe - heel
    across = np.array([-along[1], along[0]])
    t = np.linspace(0.0, 2.0 * np.pi, 40)
    width = 0.17 + 0.05 * np.cos(t)
    return 0.5 * (heel + toe) + 0.56 * np.cos(t)[:, None] * along + (width * np.sin(t))[:, None] * across
