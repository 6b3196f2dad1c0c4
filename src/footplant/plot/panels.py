"""Panels below the poses: feet, angles, height, speed, and the top view of the path."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant.plot import body, curves
from footplant.plot.scene import PlotScene

_INK, _PALE, _PLANTED = "#2b2f36", "#d9dde3", "#2a9d74"
_SIDES = {"left": body.LEFT, "right": body.RIGHT}


def panel_rows(scene: PlotScene) -> list[tuple[list, float]]:
    """Return rows of panels with their heights in inches; each panel is a function and its options."""
    rows: list[tuple[list, float]] = []
    if len(scene.clip.motion) < 2:
        return rows
    feet = [side for side in _SIDES if f"{side}_heel" in scene.clip.character.contacts]
    if feet:
        rows.append(([(_draw_foot, {"side": side}) for side in feet], 1.45))
    if curves.has_legs(scene.clip.character):
        joints = curves.leg_angles(scene.clip.character, scene.kinematics, "left")
        rows.append(([(_draw_angle, {"joint": joint}) for joint in joints], 1.35))
    rows.append(([(_draw_root_height, {}), (_draw_speed, {}), (_draw_floor, {})], 1.45))
    return rows


def _legend(axes) -> None:
    """Put the legend on the title's line, where it hides no curve."""
    if not axes.get_legend_handles_labels()[0]:
        return
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.005), ncols=2, handlelength=1.2, borderaxespad=0.0)


def _time_axis(axes, scene: PlotScene) -> None:
    seconds = scene.seconds
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} s")
    axes.xaxis.get_major_locator().set_params(nbins=7)
    axes.set_xlim(seconds[0], seconds[-1])
    axes.margins(y=0.12)
    # marks at the top where the poses of the strip were taken
    times = seconds[scene.view.frames]
    axes.plot(times, np.ones(len(times)), "v", transform=axes.get_xaxis_transform(), color="#b6bcc6", markersize=3.2,
              clip_on=False, zorder=5)  # fmt: skip


def _at_least(axes, span: float) -> None:
    """Let the vertical axis cover at least a span, so that a static pose does not show its rounding errors."""
    low, high = axes.get_ylim()
    if high - low < span:
        middle = 0.5 * (low + high)
        axes.set_ylim(middle - 0.5 * span, middle + 0.5 * span)


def _draw_foot(axes, scene: PlotScene, side: str) -> None:
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
    # footplants as two bars under the curves, and a tint where either holds
    step = 0.075 * (high - low)
    for name, paint, row in labels:
        for start, end in scene.plants.get(name, ()):
            first, last = start / scene.clip.motion.fps, (end - 1) / scene.clip.motion.fps
            axes.axvspan(first, last, color=_PLANTED, alpha=0.07, linewidth=0, zorder=0.5)
            axes.broken_barh([(first, last - first)], (low - (row + 1.15) * step, 0.75 * step), color=paint, zorder=3)
    axes.set_ylim(low - 2.5 * step, high)
    _legend(axes)


def _draw_angle(axes, scene: PlotScene, joint: str) -> None:
    for side, color in _SIDES.items():
        angles = curves.leg_angles(scene.clip.character, scene.kinematics, side)
        if joint in angles:
            axes.plot(scene.seconds, angles[joint], color=color, label=side)
    axes.axhline(0.0, color=_PALE, linewidth=1.0, zorder=1)
    axes.set_title(f"{joint} flexion, degrees")
    _time_axis(axes, scene)
    _at_least(axes, 10.0)
    _legend(axes)


def _draw_root_height(axes, scene: PlotScene) -> None:
    roles = scene.clip.character.roles
    joint = roles["hips"] if roles is not None and "hips" in roles else 0
    axes.plot(scene.seconds, scene.kinematics.positions[:, joint, 1] - scene.ground, color=_INK)
    axes.set_title("height of the hips, m" if roles is not None else "height of the root, m")
    _time_axis(axes, scene)
    _at_least(axes, 0.02)


def _draw_speed(axes, scene: PlotScene) -> None:
    speed = curves.speed(scene.kinematics.positions[:, 0], scene.clip.motion.fps)
    axes.plot(scene.seconds, speed, color=_INK)
    axes.set_title("speed over the floor, m/s")
    _time_axis(axes, scene)
    axes.set_ylim(0.0, max(1.15 * float(speed.max()), 0.1))


def _draw_floor(axes, scene: PlotScene) -> None:
    """Draw the path of the root from above, with a mark for each footplant."""
    view, contacts = scene.view, scene.clip.character.contacts
    away = -view.toward

    def flat(positions: NDArray) -> tuple[NDArray, NDArray]:
        return positions @ view.right, positions @ away

    axes.plot(*flat(scene.kinematics.positions[:, 0]), color="#9aa1ab", linewidth=1.1, zorder=2)
    for side, color in _SIDES.items():
        for part, size in (("heel", 4.2), ("ball", 5.2)):
            name = f"{side}_{part}"
            if name not in contacts:
                continue
            positions = scene.kinematics.point(contacts[name])
            for start, end in scene.plants.get(name, ()):
                x, y = flat(positions[start:end].mean(axis=0))
                axes.plot(x, y, "o", color=color, markersize=size, alpha=0.85, markeredgewidth=0, zorder=3)
    axes.set_title("from above, m: path and footplants")
    _same_scale(axes)


def _same_scale(axes) -> None:
    """Use one scale for both axes, and at least half a metre either way, so that standing still stays small."""
    axes.margins(0.12)
    box = axes.get_window_extent()
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    scale = max((right - left) / box.width, (high - low) / box.height, 1.0 / box.width, 1.0 / box.height)
    for middle, pixels, put in (
        (0.5 * (left + right), box.width, axes.set_xlim),
        (0.5 * (low + high), box.height, axes.set_ylim),
    ):
        put(middle - 0.5 * scale * pixels, middle + 0.5 * scale * pixels)
