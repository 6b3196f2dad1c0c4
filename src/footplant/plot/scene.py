"""Shared data of the picture's parts: the clip, its kinematics, the view and the footplants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.clip import Clip
from footplant.kinematics import Kinematics
from footplant.plot import body
from footplant.plot.view import View, choose_view, drawn_height
from footplant.skeleton import Skin
from footplant.skinning import Skinning, blend_skin

Plants = Mapping[str, Sequence[tuple[int, int]]]
"""Contact point ("left_heel" …) → intervals of frames [start, end) in which it is planted."""


@dataclass(frozen=True)
class PlotScene:
    """A clip with everything that its picture shows."""

    clip: Clip
    kinematics: Kinematics
    view: View
    plants: Plants
    ground: float
    """Height of the ground, metres."""
    skin: Skin | None
    """The mesh to draw, decimated; None to draw bones."""

    outlines: NDArray
    """(P, N, 3) world points of everything drawn of each pose: vertices, or joints and end sites; metres."""

    @property
    def seconds(self) -> NDArray:
        """Return the time of each frame (F,), seconds."""
        return np.arange(len(self.clip.motion)) / self.clip.motion.fps


def _outline(kinematics: Kinematics, skin: Skin | None, frames: NDArray, skinning: Skinning) -> NDArray:
    if skin is None:
        return np.concatenate([kinematics.positions[frames], kinematics.ends[frames]], axis=1)
    return blend_skin(skin, Kinematics(kinematics.motion[frames]), skinning)


def make_scene(
    clip: Clip, plants: Plants | None, poses: int | None, mesh: bool, skinning: Skinning = "linear"
) -> PlotScene:
    """Run forward kinematics, choose the view, and detect footplants and ground where they are not given."""
    kinematics = Kinematics(clip.motion)
    skin = body.coarser(clip.character.skin) if mesh and clip.character.skin is not None else None
    view = choose_view(clip.character, kinematics, lambda frames: _outline(kinematics, skin, frames, skinning), poses)
    if plants is None:
        plants = _find_plants(clip)
    points = list(clip.character.contacts.values())
    low = kinematics.points(points)[..., 1] if points else kinematics.positions[..., 1]
    planted = [
        kinematics.point(clip.character.contacts[name])[start:end, 1]
        for name, intervals in plants.items() if name in clip.character.contacts and "palm" not in name
        for start, end in intervals if end > start
    ]  # fmt: skip
    ground = float(low.min())
    if planted:
        levels = np.array([heights.mean() for heights in planted])
        # one floor with noise: the median; steps and rungs: the lowest
        level = np.ptp(levels) < 0.1 * drawn_height(clip.character, kinematics)
        ground = float(np.median(levels) if level else levels.min())
    return PlotScene(clip, kinematics, view, plants, ground, skin, _outline(kinematics, skin, view.frames, skinning))


def _find_plants(clip: Clip) -> Plants:
    if not any(name in clip.character.contacts for name in ("left_heel", "left_ball", "right_heel", "right_ball")):
        return {}
    from footplant.contacts.detection import find_contacts

    contacts = find_contacts(clip)
    return {point: contacts.intervals(point) for point in contacts.points}
