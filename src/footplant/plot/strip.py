"""The one picture that says what a clip is: poses, feet with their plants, angles, height and speed."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from footplant.clip import Clip
from footplant.errors import FormatError, MissingExtraError
from footplant.plot import body
from footplant.plot.panels import panel_rows
from footplant.plot.scene import Plants, Scene, make_scene
from footplant.plot.view import figure_height

WIDTH = 13.0
"""Inches; of the whole picture."""
TALLEST = 5.2
"""Inches; of the strip of poses. A climb that would need more is drawn smaller."""
_INK, _PLANTED = "#2b2f36", "#2a9d74"
_STYLE: dict[Any, Any] = {
    "font.size": 8.5, "axes.edgecolor": "#9aa1ab", "axes.linewidth": 0.8, "axes.labelcolor": _INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 9.5, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "axes.grid": True, "grid.color": "#eceff3", "grid.linewidth": 0.8,
    "axes.axisbelow": True, "xtick.color": "#555b66", "ytick.color": "#555b66", "text.color": _INK,
    "legend.frameon": False, "legend.fontsize": 8, "lines.linewidth": 1.4, "lines.solid_capstyle": "round",
}  # fmt: skip


def strip(
    clip: Clip,
    path: str | Path,
    *,
    plants: Plants | None = None,
    poses: int | None = None,
    title: str | None = None,
    mesh: bool = True,
    panels: bool = True,
    dpi: int = 130,
) -> Path:
    """Draw a clip as one PNG: a strip of poses above the feet's heights with plants, leg angles, height and speed.

    plants: intervals to mark; found by `footplant.analysis.contacts` when None. poses: how many (default: as fit).
    mesh: draw the skin where the character has one. panels: False draws the poses alone. dpi: dots per inch.
    """
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", "drawing a picture") from error
    from footplant.io.atomic import write_atomic

    path = Path(path)
    if path.suffix.lower() != ".png":
        raise FormatError(f"expected a file name ending in .png, got {path.suffix or 'no extension'!r}", path=path)
    if len(clip.motion) == 0:
        raise FormatError("expected a clip with frames to draw, got none", path=path)
    scene = make_scene(clip, plants, poses, mesh)
    with mpl.rc_context(_STYLE):
        strip_height = _strip_height(scene)
        rows = panel_rows(scene) if panels else []
        tall = strip_height + 0.62 + sum(height + 0.62 for _, height in rows)
        figure = Figure(figsize=(WIDTH, tall), facecolor="white")
        FigureCanvasAgg(figure)
        line = {"y": 1.0 - 0.30 / tall, "va": "center", "parse_math": False}
        figure.text(0.32 / WIDTH, s=_printable(title or clip.name), fontsize=13, weight="bold", **line)
        figure.text(1.0 - 0.3 / WIDTH, s=_subtitle(scene), fontsize=8.5, color="#6b7280", ha="right", **line)
        top = tall - 0.5
        axes = figure.add_axes((0.3 / WIDTH, (top - strip_height) / tall, 1 - 0.6 / WIDTH, strip_height / tall))
        _draw_poses(axes, scene)
        top -= strip_height + 0.5
        for draw, height in rows:
            for number, (panel, options) in enumerate(draw):
                width = (WIDTH - 0.62 * len(draw) - 0.25) / len(draw)
                left = 0.62 + number * (width + 0.62)
                area = (left / WIDTH, (top - height) / tall, width / WIDTH, height / tall)
                panel(figure.add_axes(area), scene, **options)
            top -= height + 0.62
        buffer = io.BytesIO()
        with warnings.catch_warnings():
            # names may hold letters that the font lacks; a box in the title is no reason to stop
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            figure.savefig(buffer, format="png", dpi=dpi, facecolor="white")
    write_atomic(path, _small(buffer))
    return path


def _small(picture: io.BytesIO) -> bytes:
    """The PNG with a palette of 256 colours: a quarter of the size, for eyes the same."""
    from PIL import Image

    out = io.BytesIO()
    with Image.open(picture) as image:
        few = image.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(out, format="png", optimize=True)
    return out.getvalue()


def _subtitle(scene: Scene) -> str:
    motion, character = scene.clip.motion, scene.clip.character
    height = f", {character.height:.2f} m tall" if character.height else ""
    count = f"{len(motion)} frames" if len(motion) != 1 else "1 frame"
    return f"{_printable(character.name)}{height} · {count} at {motion.fps:.4g} fps, {motion.duration:.2f} s"


def _printable(name: str) -> str:
    """Names come from files: no control characters, and not longer than a line."""
    name = "".join(letter if letter.isprintable() else " " for letter in name)
    return name if len(name) <= 60 else name[:59] + "…"


def _page_bounds(scene: Scene) -> tuple[float, float, float, float]:
    """Left, right, bottom and top of all poses on the page, metres, with air around them."""
    air = 0.12 * figure_height(scene.clip.character, scene.kinematics)
    page = np.concatenate([scene.view.page(points, pose) for pose, points in enumerate(scene.outlines)])
    (left, low), (right, high) = page.min(axis=0), page.max(axis=0)
    left, right = left - air, right + air
    # below the ground there is room for a line of text
    text = 0.3 * max((right - left) / (WIDTH - 0.6), (high - low) / (TALLEST - 0.3))
    return left, right, min(low, scene.ground) - text, high + 0.6 * air


def _strip_height(scene: Scene) -> float:
    left, right, low, high = _page_bounds(scene)
    return float(np.clip((WIDTH - 0.6) * (high - low) / (right - left), 2.0, TALLEST))


def _draw_poses(axes, scene: Scene) -> None:
    from matplotlib.collections import PolyCollection

    character, view = scene.clip.character, scene.view
    left, right, low, high = _page_bounds(scene)
    axes.axhspan(low, scene.ground, color="#f3f5f8", zorder=0, linewidth=0)
    axes.axhline(scene.ground, color="#aab1bc", linewidth=1.0, zorder=1)
    for pose, frame in enumerate(view.frames.tolist()):
        if scene.skin is not None:
            shapes = body.mesh_shapes(character, scene.skin, scene.outlines[pose], view, pose)
        else:
            shapes = body.bone_shapes(character, scene.kinematics, frame, view, pose)
        axes.add_collection(
            PolyCollection(
                shapes.polygons,
                facecolors=shapes.colors,
                edgecolors="white" if shapes.outlined else shapes.colors,
                linewidths=0.5 if shapes.outlined else 0.25,
                zorder=3 + pose * 0.01,
            )
        )
        _mark_planted(axes, scene, pose, frame)
        middle = float(np.mean(view.page(scene.outlines[pose], pose)[:, 0]))
        label = f"{frame / scene.clip.motion.fps:.2f} s"
        axes.annotate(
            label, (middle, low), (0, 4), textcoords="offset points", ha="center", fontsize=7.5, color="#6b7280"
        )
    # one scale for both axes: whichever has room to spare shows more of the world
    wide, tall = WIDTH - 0.6, _strip_height(scene)
    metres_per_inch = max((right - left) / wide, (high - low) / tall)
    middle, half = 0.5 * (left + right), 0.5 * metres_per_inch * wide
    axes.set_xlim(middle - half, middle + half)
    axes.set_ylim(low, low + metres_per_inch * tall)
    axes.set_axis_off()


def _mark_planted(axes, scene: Scene, pose: int, frame: int) -> None:
    """A dot where a heel or ball is planted in this pose."""
    for name, intervals in scene.plants.items():
        if name in scene.clip.character.contacts and any(start <= frame < end for start, end in intervals):
            place = scene.kinematics.point(scene.clip.character.contacts[name])[frame]
            page = scene.view.page(place, pose)
            axes.plot(
                *page, "o", markersize=3.6, color=_PLANTED, markeredgecolor="white", markeredgewidth=0.6, zorder=9
            )
