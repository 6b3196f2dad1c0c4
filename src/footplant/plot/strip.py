"""Overview picture of a clip: poses, feet with their footplants, angles, height and speed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from footplant.clip import Clip
from footplant.contacts.ground import Ground
from footplant.errors import FormatError
from footplant.plot import body
from footplant.plot.page import (
    STYLE,
    TALLEST,
    WIDTH,
    check_target,
    new_sheet,
    printable,
    require_matplotlib,
    save_sheet,
)
from footplant.plot.panels import panel_rows
from footplant.plot.scene import Plants, PlotScene, make_scene
from footplant.plot.view import drawn_height
from footplant.skinning import Skinning

_PLANTED = "#2a9d74"


def strip(
    clip: Clip,
    path: str | Path,
    *,
    plants: Plants | None = None,
    poses: int | None = None,
    title: str | None = None,
    mesh: bool = True,
    skinning: Skinning = "linear",
    panels: bool = True,
    ground: Ground | None = None,
    dpi: int = 130,
) -> Path:
    """Draw a clip as one PNG: a strip of poses above foot heights with footplants, leg angles, height and speed.

    plants: intervals to mark; detected by `footplant.contacts.detection` when None. poses: how many (default: as fit).
    mesh: draw the skin if the character has one. skinning: how it follows the joints. panels: False draws the poses
    alone. ground: uneven ground, drawn as a profile along the path. dpi: dots per inch.
    """
    mpl = require_matplotlib()
    path = check_target(path)
    if len(clip.motion) == 0:
        raise FormatError("expected a clip with frames to draw, got none", path=path)
    scene = make_scene(clip, plants, poses, mesh, skinning)
    with mpl.rc_context(STYLE):
        strip_height = _strip_height(scene)
        rows = panel_rows(scene) if panels else []
        tall = strip_height + 0.62 + sum(height + 0.62 for _, height in rows)
        figure = new_sheet(tall, title or clip.name, _subtitle(scene))
        top = tall - 0.5
        axes = figure.add_axes((0.3 / WIDTH, (top - strip_height) / tall, 1 - 0.6 / WIDTH, strip_height / tall))
        _draw_poses(axes, scene, ground)
        top -= strip_height + 0.5
        for draw, height in rows:
            for number, (panel, options) in enumerate(draw):
                width = (WIDTH - 0.62 * len(draw) - 0.25) / len(draw)
                left = 0.62 + number * (width + 0.62)
                area = (left / WIDTH, (top - height) / tall, width / WIDTH, height / tall)
                panel(figure.add_axes(area), scene, **options)
            top -= height + 0.62
        save_sheet(figure, path, dpi)
    return path


def _subtitle(scene: PlotScene) -> str:
    motion, character = scene.clip.motion, scene.clip.character
    height = f", {character.height:.2f} m tall" if character.height else ""
    count = f"{len(motion)} frames" if len(motion) != 1 else "1 frame"
    return f"{printable(character.name)}{height} · {count} at {motion.fps:.4g} fps, {motion.duration:.2f} s"


def _page_bounds(scene: PlotScene) -> tuple[float, float, float, float]:
    """Return left, right, bottom and top of all poses on the page, metres, with a margin."""
    air = 0.12 * drawn_height(scene.clip.character, scene.kinematics)
    page = np.concatenate([scene.view.page(points, pose) for pose, points in enumerate(scene.outlines)])
    (left, low), (right, high) = page.min(axis=0), page.max(axis=0)
    left, right = left - air, right + air
    # leave room for a line of text below the ground
    text = 0.3 * max((right - left) / (WIDTH - 0.6), (high - low) / (TALLEST - 0.3))
    return left, right, min(low, scene.ground) - text, high + 0.6 * air


def _strip_height(scene: PlotScene) -> float:
    left, right, low, high = _page_bounds(scene)
    return float(np.clip((WIDTH - 0.6) * (high - low) / (right - left), 2.0, TALLEST))


def _draw_ground(axes, scene: PlotScene, ground: Ground, low: float, left: float, right: float) -> None:
    """Draw the ground's profile below each pose, halfway to its neighbours."""
    view = scene.view
    roots = scene.kinematics.positions[view.frames, 0]
    middles = np.array([view.page(root, pose)[0] for pose, root in enumerate(roots)])
    limits = np.concatenate([[left], 0.5 * (middles[1:] + middles[:-1]), [right]])
    for root, middle, start, end in zip(roots, middles, limits, limits[1:]):
        along = np.linspace(start, end, 200)
        points = root[::2] + (along - middle)[:, None] * view.right[::2]
        heights = ground.height(points)
        axes.fill_between(along, low, heights, color="#f3f5f8", zorder=0, linewidth=0)
        axes.plot(along, heights, color="#aab1bc", linewidth=1.0, zorder=1)


def _draw_poses(axes, scene: PlotScene, ground: Ground | None) -> None:
    from matplotlib.collections import PolyCollection

    character, view = scene.clip.character, scene.view
    left, right, low, high = _page_bounds(scene)
    if ground is None:
        axes.axhspan(low, scene.ground, color="#f3f5f8", zorder=0, linewidth=0)
        axes.axhline(scene.ground, color="#aab1bc", linewidth=1.0, zorder=1)
    else:
        _draw_ground(axes, scene, ground, low, left, right)
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
    # one scale for both axes: the one with room to spare shows more of the world
    wide, tall = WIDTH - 0.6, _strip_height(scene)
    metres_per_inch = max((right - left) / wide, (high - low) / tall)
    middle, half = 0.5 * (left + right), 0.5 * metres_per_inch * wide
    axes.set_xlim(middle - half, middle + half)
    axes.set_ylim(low, low + metres_per_inch * tall)
    axes.set_axis_off()


def _mark_planted(axes, scene: PlotScene, pose: int, frame: int) -> None:
    """Draw a dot where a heel or ball is planted in this pose."""
    for name, intervals in scene.plants.items():
        if name in scene.clip.character.contacts and any(start <= frame < end for start, end in intervals):
            position = scene.kinematics.point(scene.clip.character.contacts[name])[frame]
            page = scene.view.page(position, pose)
            axes.plot(
                *page, "o", markersize=3.6, color=_PLANTED, markeredgecolor="white", markeredgewidth=0.6, zorder=9
            )
