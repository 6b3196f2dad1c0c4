"""Choose the direction of view and the arrangement of poses on the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.kinematics import Kinematics
from footplant.skeleton import Character

UP = np.array([0.0, 1.0, 0.0])
STRAIGHT = 0.8
"""Net displacement divided by path length above which a clip counts as going straight."""
NARROWEST, WIDEST = 0.34, 1.1
"""Mean distance of neighbouring poses on the page, in body heights, between which their true positions are kept."""
EVEN = 0.62
"""Distance of neighbouring poses, in body heights, when they are spread evenly instead."""


@dataclass(frozen=True)
class View:
    """An orthographic view from the side: page right, page up and towards the viewer."""

    right: NDArray
    """(3,) unit vector of the world that points to the right on the page."""
    frames: NDArray
    """(P,) frames whose poses are drawn."""
    shifts: NDArray
    """(P,) metres to add to the horizontal page coordinate of each pose."""
    true_positions: bool
    """True when the poses are at their true positions, so that the page's axis is metres of travel."""

    @property
    def toward(self) -> NDArray:
        """Return the unit vector (3,) towards the viewer."""
        return np.cross(self.right, UP)

    def page(self, points: NDArray, pose: int | None = None) -> NDArray:
        """Return page coordinates (…, 2) in metres of world points (…, 3), shifted for a pose if one is given."""
        shift = 0.0 if pose is None else self.shifts[pose]
        return np.stack([points @ self.right + shift, points[..., 1]], axis=-1)

    def depth(self, points: NDArray) -> NDArray:
        """Return the distance towards the viewer, metres."""
        return points @ self.toward


def drawn_height(character: Character, kinematics: Kinematics) -> float:
    """Return the character's height, or the largest extent of its poses when it has none."""
    if character.height > 0:
        return character.height
    extent = np.ptp(kinematics.positions, axis=1).max() if kinematics.positions.size else 0.0
    return float(extent) or 1.0


def choose_view(
    character: Character, kinematics: Kinematics, outline: Callable[[NDArray], NDArray], poses: int | None = None
) -> View:
    """Return a view from the side of the travel, or three quarters from the front for a clip that stays in place.

    outline: returns the world points (P, N, 3) of everything drawn at frames (P,).
    """
    root = kinematics.positions[:, 0]
    count, height = len(root), drawn_height(character, kinematics)
    floor = root * [1.0, 0.0, 1.0]
    net = floor[-1] - floor[0]
    distance = float(np.linalg.norm(net))
    path = float(np.linalg.norm(np.diff(_smooth(floor, count), axis=0), axis=1).sum())
    travels = distance > 0.6 * height
    right = net / distance if travels else _three_quarters(character, kinematics)
    if travels and distance > STRAIGHT * path:
        frames = _even_frames(count, poses or int(np.clip(round(distance / (0.45 * height)) + 1, 7, 12)))
        steps = np.diff(floor[frames] @ right) / height
        # poses that would overlap (a pause, a step back) or be far apart are spread evenly instead
        if len(steps) and NARROWEST <= steps.mean() <= WIDEST and steps.min() >= 0.5 * NARROWEST:
            return View(right, frames, np.full(len(frames), -float(floor[0] @ right)), True)
    frames = _even_frames(count, poses or 10)
    # spread the centres of the poses, not their roots: a character that lies or leans stays between its neighbours
    across = outline(frames) @ right
    middle = 0.5 * (across.max(axis=1) + across.min(axis=1))
    spacing = max(EVEN * height, 0.8 * float(np.ptp(across, axis=1).max()))
    return View(right, frames, np.arange(len(frames)) * spacing - middle, False)


def _even_frames(count: int, poses: int) -> NDArray:
    return np.unique(np.round(np.linspace(0, count - 1, min(poses, count))).astype(int))


def _smooth(path: NDArray, count: int) -> NDArray:
    """Return every n-th frame only: sway and noise must not count as travel."""
    return path[:: max(1, count // 12)]


def _three_quarters(character: Character, kinematics: Kinematics) -> NDArray:
    """Return page right for a viewer in front of the first pose, slightly to the character's right."""
    roles = character.roles
    left = np.array([1.0, 0.0, 0.0])
    if roles is not None and "left_upper_leg" in roles and "right_upper_leg" in roles:
        hips = kinematics.positions[:, roles["left_upper_leg"]] - kinematics.positions[:, roles["right_upper_leg"]]
        mean = hips.mean(axis=0) * [1.0, 0.0, 1.0]
        if np.linalg.norm(mean) > 1e-6:
            left = mean / np.linalg.norm(mean)
    forward = np.cross(left, UP)
    # from the front the character's left is on the right of the page; rotated by 40° its front shows to the right
    angle = np.radians(40.0)
    return np.cos(angle) * left + np.sin(angle) * forward
