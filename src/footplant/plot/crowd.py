"""Pictures of several characters: some instants of a scene side by side, one colour per character."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.clip import Clip
from footplant.errors import FormatError
from footplant.kinematics import Kinematics
from footplant.plot.body import coarser
from footplant.plot.page import STYLE, check_target, require_matplotlib, save_sheet

COLORS = ((0.93, 0.92, 0.88), (0.80, 0.25, 0.20), (0.30, 0.50, 0.75), (0.90, 0.65, 0.25), (0.35, 0.62, 0.42))
"""Colours of the characters in order: light, red, blue, yellow, green."""


def crowd_strip(
    clips: Sequence[Clip],
    path: str | Path,
    frames: Sequence[int],
    *,
    azimuth: float = 55.0,
    elevation: float = 14.0,
    marks: Sequence[Sequence[ArrayLike]] = (),
    titles: Sequence[str] = (),
    colors: Sequence[tuple[float, float, float]] = COLORS,
    title: str | None = None,
    columns: int = 4,
    dpi: int = 110,
) -> Path:
    """Draw several characters at some frames, one panel per frame, as one PNG.

    azimuth, elevation: direction of view, degrees (0 looks along −z, 90 along −x). marks: for each frame, positions
    (x, y, z) to mark with a dot. titles: over each panel; the time by default. colors: of the characters in order.
    columns: panels per row.
    """
    mpl = require_matplotlib()
    path = check_target(path)
    if not clips or not len(frames) or any(len(clip.motion) <= max(frames) for clip in clips):
        raise FormatError("expected characters with those frames to draw, got others", path=path)
    right, up, toward = _camera(azimuth, elevation)
    panels = [_panel(clips, frame, colors, (right, up, toward)) for frame in frames]
    points = np.concatenate([polygons.reshape(-1, 2) for polygons, _ in panels])
    low, high = points.min(axis=0) - 0.1, points.max(axis=0) + 0.1
    rows = -(-len(frames) // columns)
    wide = 11.0 / min(columns, len(frames))
    tall = wide * float((high - low)[1] / (high - low)[0])
    with mpl.rc_context(STYLE):
        from matplotlib.collections import PolyCollection
        from matplotlib.figure import Figure

        head = 0.3 if title else 0.0
        figure = Figure(figsize=(11.0, rows * (tall + 0.25) + head))
        if title:
            figure.text(0.01, 1.0 - 0.06 / figure.get_figheight(), title, va="top", fontsize=11, weight="bold")
        for number, (frame, (polygons, paints)) in enumerate(zip(frames, panels, strict=True)):
            row, column = divmod(number, columns)
            bottom = (rows - 1 - row) * (tall + 0.25) / figure.get_figheight()
            area = (column * wide / 11.0, bottom, wide / 11.0, tall / figure.get_figheight())
            axes = figure.add_axes(area)
            axes.add_collection(PolyCollection(list(polygons), facecolors=paints, edgecolors=paints, linewidths=0.2))
            for position in marks[number] if number < len(marks) else ():
                point = np.asarray(position, float)
                axes.plot(
                    point @ right, point @ up, "o", markersize=5, color="#2a9d74", markeredgecolor="white", zorder=9
                )
            text = titles[number] if number < len(titles) else f"{frame / clips[0].motion.fps:.2f} s"
            axes.set_title(text, fontsize=8, color="#6b7280", pad=2)
            axes.set_xlim(low[0], high[0])
            axes.set_ylim(low[1], high[1])
            axes.set_axis_off()
        save_sheet(figure, path, dpi)
    return path


def _camera(azimuth: float, elevation: float) -> tuple[NDArray, NDArray, NDArray]:
    """Return the unit vectors right, up and towards the viewer, in the world."""
    a, e = np.radians([azimuth, elevation])
    toward = np.array([np.sin(a) * np.cos(e), np.sin(e), np.cos(a) * np.cos(e)])
    right = np.cross([0.0, 1.0, 0.0], toward)
    right /= np.linalg.norm(right)
    return right, np.cross(toward, right), toward


def _panel(
    clips: Sequence[Clip], frame: int, palette: Sequence[tuple[float, float, float]], camera: tuple[NDArray, ...]
) -> tuple[NDArray, NDArray]:
    """Return the triangles (T, 3, 2) of all characters at a frame, back to front, and their colours (T, 3)."""
    from footplant.skinning import linear_blend

    right, up, toward = camera
    polygons, colors, depths = [], [], []
    light = np.array([0.3, 0.8, 0.5]) @ np.stack([right, up, toward]).T
    for number, clip in enumerate(clips):
        skin = clip.character.skin
        if skin is None:
            raise FormatError(f"expected characters with a mesh to draw, {clip.character.name!r} has none")
        skin = coarser(skin)
        vertices = linear_blend(skin, Kinematics(clip.motion[frame]))[0]
        corners = vertices[skin.faces]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        seen = normals @ toward > 0
        corners, normals = corners[seen], normals[seen]
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
        shade = np.clip(normals @ np.stack([right, up, toward]).T @ (light / np.linalg.norm(light)), 0.0, 1.0)
        polygons.append(np.stack([corners @ right, corners @ up], axis=-1))
        colors.append(np.clip(np.array(palette[number % len(palette)]) * (0.62 + 0.45 * shade[:, None]), 0.0, 1.0))
        depths.append(corners.mean(axis=1) @ toward)
    order = np.argsort(np.concatenate(depths), kind="stable")
    return np.concatenate(polygons)[order], np.concatenate(colors)[order]
