"""The one picture that says what a clip is: poses, feet with their plants, angles, height and speed."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.clip import Clip
from footplant.errors import FormatError, MissingExtraError
from footplant.kinematics import Kinematics
from footplant.plot import body, curves
from footplant.plot.view import View, choose_view, figure_height

Plants = Mapping[str, Sequence[tuple[int, int]]]
"""Contact point ("left_heel" …) → intervals of frames [start, end) in which it is planted."""
WIDTH = 13.0
"""Inches."""
_INK, _PALE, _PLANTED = "#2b2f36", "#d9dde3", "#2a9d74"
_SIDES = {"left": body.LEFT, "right": body.RIGHT}
_STYLE: dict[Any, Any] = {
    "font.size": 8.5, "axes.edgecolor": "#9aa1ab", "axes.linewidth": 0.8, "axes.labelcolor": _INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 9.5, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "axes.grid": True, "grid.color": "#eceff3", "grid.linewidth": 0.8,
    "axes.axisbelow": True, "xtick.color": "#555b66", "ytick.color": "#555b66", "text.color": _INK,
    "legend.frameon": False, "legend.fontsize": 8, "lines.linewidth": 1.4, "lines.solid_capstyle": "round",
}  # fmt: skip


@dataclass(frozen=True)
class _Scene:
    """What every panel draws from."""

    clip: Clip
    kinematics: Kinematics
    view: View
    plants: Plants
    ground: float

    @property
    def seconds(self) -> NDArray:
        return np.arange(len(self.clip.motion)) / self.clip.motion.fps


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
    scene = _make_scene(clip, plants, poses)
    with mpl.rc_context(_STYLE):
        strip_height = _strip_height(scene)
        rows = _panel_rows(scene) if panels else []
        tall = strip_height + 0.62 + sum(height + 0.62 for _, height in rows)
        figure = Figure(figsize=(WIDTH, tall), facecolor="white")
        FigureCanvasAgg(figure)
        figure.text(0.32 / WIDTH, 1.0 - 0.30 / tall, title or clip.name, fontsize=13, weight="bold", va="center")
        figure.text(1.0 - 0.3 / WIDTH, 1.0 - 0.30 / tall, _subtitle(scene), fontsize=8.5, color="#6b7280",
                    va="center", ha="right")  # fmt: skip
        top = tall - 0.5
        axes = figure.add_axes((0.3 / WIDTH, (top - strip_height) / tall, 1 - 0.6 / WIDTH, strip_height / tall))
        _draw_poses(axes, scene, mesh)
        top -= strip_height + 0.5
        for draw, height in rows:
            for number, (panel, options) in enumerate(draw):
                width = (WIDTH - 0.62 * len(draw) - 0.25) / len(draw)
                left = 0.62 + number * (width + 0.62)
                area = (left / WIDTH, (top - height) / tall, width / WIDTH, height / tall)
                panel(figure.add_axes(area), scene, **options)
            top -= height + 0.62
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=dpi, facecolor="white")
    write_atomic(path, buffer.getvalue())
    return path


def _make_scene(clip: Clip, plants: Plants | None, poses: int | None) -> _Scene:
    kinematics = Kinematics(clip.motion)
    view = choose_view(clip.character, kinematics, poses)
    if plants is None:
        plants = _find_plants(clip)
    points = list(clip.character.contacts.values())
    low = kinematics.points(points)[..., 1] if points else kinematics.positions[..., 1]
    planted = [
        kinematics.point(clip.character.contacts[name])[start:end, 1]
        for name, intervals in plants.items() if name in clip.character.contacts and "palm" not in name
        for start, end in intervals if end > start
    ]  # fmt: skip
    ground = float(np.median([heights.mean() for heights in planted])) if planted else float(low.min())
    return _Scene(clip, kinematics, view, plants, ground)


def _find_plants(clip: Clip) -> Plants:
    if not any(name in clip.character.contacts for name in ("left_heel", "left_ball", "right_heel", "right_ball")):
        return {}
    from footplant.analysis.contacts import find_contacts

    contacts = find_contacts(clip)
    return {point: contacts.intervals(point) for point in contacts.points}


def _subtitle(scene: _Scene) -> str:
    motion, character = scene.clip.motion, scene.clip.character
    height = f", {character.height:.2f} m tall" if character.height else ""
    count = f"{len(motion)} frames" if len(motion) != 1 else "1 frame"
    return f"{character.name}{height} · {count} at {motion.fps:.4g} fps, {motion.duration:.2f} s"


def _page_bounds(scene: _Scene) -> tuple[float, float, float, float]:
    """Left, right, bottom and top of all poses on the page, metres, with air around them."""
    height = figure_height(scene.clip.character, scene.kinematics)
    frames = scene.view.frames
    points = np.concatenate([scene.kinematics.positions[frames], scene.kinematics.ends[frames]], axis=1)
    page = np.concatenate([scene.view.page(points[pose], pose) for pose in range(len(frames))])
    (left, low), (right, high) = page.min(axis=0), page.max(axis=0)
    return left - 0.15 * height, right + 0.15 * height, min(low, scene.ground) - 0.13 * height, high + 0.09 * height


def _strip_height(scene: _Scene) -> float:
    left, right, low, high = _page_bounds(scene)
    return float(np.clip((WIDTH - 0.6) * (high - low) / (right - left), 2.0, 5.2))


def _draw_poses(axes, scene: _Scene, mesh: bool) -> None:
    from matplotlib.collections import PolyCollection

    character, view = scene.clip.character, scene.view
    height = figure_height(character, scene.kinematics)
    left, right, low, high = _page_bounds(scene)
    skin = body.coarser(character.skin) if mesh and character.skin is not None else None
    vertices = None
    if skin is not None:
        from footplant.skinning import linear_blend

        vertices = linear_blend(skin, Kinematics(scene.clip.motion[view.frames]))
    axes.axhspan(low, scene.ground, color="#f3f5f8", zorder=0, linewidth=0)
    axes.axhline(scene.ground, color="#aab1bc", linewidth=1.0, zorder=1)
    for pose, frame in enumerate(view.frames.tolist()):
        if skin is not None and vertices is not None:
            shapes = body.mesh_shapes(character, skin, vertices[pose], view, pose)
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
        middle = float(np.mean(view.page(scene.kinematics.positions[frame], pose)[:, 0]))
        label = f"{frame / scene.clip.motion.fps:.2f} s"
        axes.text(middle, low + 0.03 * height, label, ha="center", va="bottom", fontsize=7.5, color="#6b7280")
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    axes.set_aspect("equal", adjustable="datalim" if _fits(scene) else "box")
    axes.set_axis_off()


def _fits(scene: _Scene) -> bool:
    left, right, low, high = _page_bounds(scene)
    return (WIDTH - 0.6) * (high - low) / (right - left) < 5.2


def _mark_planted(axes, scene: _Scene, pose: int, frame: int) -> None:
    """A dot where a heel or ball is planted in this pose."""
    for name, intervals in scene.plants.items():
        if name in scene.clip.character.contacts and any(start <= frame < end for start, end in intervals):
            place = scene.kinematics.point(scene.clip.character.contacts[name])[frame]
            page = scene.view.page(place, pose)
            axes.plot(
                *page, "o", markersize=3.6, color=_PLANTED, markeredgecolor="white", markeredgewidth=0.6, zorder=9
            )


def _panel_rows(scene: _Scene) -> list[tuple[list, float]]:
    """Rows of panels with their heights in inches; each panel is a function and its options."""
    rows: list[tuple[list, float]] = []
    if len(scene.clip.motion) < 2:
        return rows
    feet = [side for side in _SIDES if f"{side}_heel" in scene.clip.character.contacts]
    if feet:
        rows.append(([(_draw_foot, {"side": side}) for side in feet], 1.45))
    if curves.has_legs(scene.clip.character):
        rows.append(([(_draw_angle, {"joint": joint}) for joint in ("hip", "knee", "ankle")], 1.35))
    rows.append(([(_draw_root_height, {}), (_draw_speed, {}), (_draw_floor, {})], 1.45))
    return rows


def _legend(axes) -> None:
    """On the title's line, where no curve can be."""
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.005), ncols=2, handlelength=1.2, borderaxespad=0.0)


def _time_axis(axes, scene: _Scene) -> None:
    seconds = scene.seconds
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} s")
    axes.xaxis.get_major_locator().set_params(nbins=7)
    axes.set_xlim(seconds[0], seconds[-1])
    axes.margins(y=0.12)
    # little marks on top where the poses of the strip were taken
    times = seconds[scene.view.frames]
    axes.plot(times, np.ones(len(times)), "v", transform=axes.get_xaxis_transform(), color="#b6bcc6", markersize=3.2,
              clip_on=False, zorder=5)  # fmt: skip


def _draw_foot(axes, scene: _Scene, side: str) -> None:
    contacts = scene.clip.character.contacts
    color = np.array(_SIDES[side])
    labels = []
    for part, shade, row in (("heel", 0.0, 0), ("ball", 0.45, 1)):
        name = f"{side}_{part}"
        if name not in contacts:
            continue
        heights = 100.0 * (scene.kinematics.point(contacts[name])[:, 1] - scene.ground)
        axes.plot(scene.seconds, heights, color=color * (1 - shade) + shade, label=part)
        labels.append((name, color * (1 - shade) + shade, row))
    axes.set_title(f"{side} foot: height of heel and ball, cm")
    _time_axis(axes, scene)
    low, high = axes.get_ylim()
    low, high = min(low, -1.0), max(high, 8.0)
    # plants as two bars under the curves, and a tint where either holds
    step = 0.075 * (high - low)
    for name, paint, row in labels:
        for start, end in scene.plants.get(name, ()):
            first, last = start / scene.clip.motion.fps, (end - 1) / scene.clip.motion.fps
            axes.axvspan(first, last, color=_PLANTED, alpha=0.07, linewidth=0, zorder=0.5)
            axes.broken_barh([(first, last - first)], (low - (row + 1.15) * step, 0.75 * step), color=paint, zorder=3)
    axes.set_ylim(low - 2.5 * step, high)
    _legend(axes)


def _draw_angle(axes, scene: _Scene, joint: str) -> None:
    for side, color in _SIDES.items():
        angles = curves.leg_angles(scene.clip.character, scene.kinematics, side)
        if joint in angles:
            axes.plot(scene.seconds, angles[joint], color=color, label=side)
    axes.axhline(0.0, color=_PALE, linewidth=1.0, zorder=1)
    axes.set_title(f"{joint} flexion, degrees")
    _time_axis(axes, scene)
    _legend(axes)


def _draw_root_height(axes, scene: _Scene) -> None:
    roles = scene.clip.character.roles
    joint = roles["hips"] if roles is not None and "hips" in roles else 0
    axes.plot(scene.seconds, scene.kinematics.positions[:, joint, 1] - scene.ground, color=_INK)
    axes.set_title("height of the hips, m" if roles is not None else "height of the root, m")
    _time_axis(axes, scene)


def _draw_speed(axes, scene: _Scene) -> None:
    speed = curves.speed(scene.kinematics.positions[:, 0], scene.clip.motion.fps)
    axes.plot(scene.seconds, speed, color=_INK)
    axes.set_title("speed over the floor, m/s")
    _time_axis(axes, scene)
    axes.set_ylim(0.0, max(1.15 * float(speed.max()), 0.1))


def _draw_floor(axes, scene: _Scene) -> None:
    """The path of the root from above, with a mark a plant: the footprints."""
    view, contacts = scene.view, scene.clip.character.contacts
    away = -view.toward

    def flat(places: NDArray) -> tuple[NDArray, NDArray]:
        return places @ view.right, places @ away

    axes.plot(*flat(scene.kinematics.positions[:, 0]), color="#9aa1ab", linewidth=1.1, zorder=2)
    for side, color in _SIDES.items():
        for part, size in (("heel", 4.2), ("ball", 5.2)):
            name = f"{side}_{part}"
            if name not in contacts:
                continue
            places = scene.kinematics.point(contacts[name])
            for start, end in scene.plants.get(name, ()):
                x, y = flat(places[start:end].mean(axis=0))
                axes.plot(x, y, "o", color=color, markersize=size, alpha=0.85, markeredgewidth=0, zorder=3)
    axes.set_title("from above, m: path and plants")
    axes.margins(0.12)
    axes.set_aspect("equal", adjustable="datalim")
