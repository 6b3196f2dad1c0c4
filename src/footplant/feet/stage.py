"""The stage of a target: the source's ground and footsteps, scaled about the place where the motion starts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.clip import Clip
from footplant.contacts.detection import Contacts
from footplant.contacts.ground import Ground, InterpolatedGround, LoweredGround, lower_to_soles
from footplant.contacts.settings import SUPPORT
from footplant.contacts.stillness import lead_in_frames
from footplant.feet.palms import hangs_by_hands
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.skeleton import Character
from footplant.transfer import hip_centers, leg_ratio, reach_ratio

STACKED = 0.1
"""Body heights; contacts that differ by more from the interpolated ground are stacked (rungs, a rope): no ground."""


def with_plausible_floor(contacts: Contacts, clip: Clip, lead: int = 0) -> Contacts:
    """Return the contacts with a ground that soles and palms never penetrate.

    Contacts above one another (on a rope, on rungs) do not define a ground. It is then a plane below the lowest one.
    lead: frames of the lead-in, which are ignored.
    """
    ground, height = contacts.ground, clip.character.height
    if not isinstance(ground, InterpolatedGround):
        return contacts
    apart = np.abs(ground.places[:, 1] - ground.height(ground.places[:, ::2]))
    soles = Kinematics(clip.motion[lead:]).points(list(clip.character.contacts.values()))
    if apart.max(initial=0.0) < STACKED * height:
        return replace(contacts, ground=lower_to_soles(ground, soles, height))
    return replace(contacts, ground=Plane((0.0, float(soles[..., 1].min()) - 2.0 * SUPPORT.near_ground * height, 0.0)))


@dataclass(frozen=True, eq=False)
class Stage:
    """The map from the source's ground to the target's: a scale about a fixed place."""

    start: NDArray
    """(3,) metres; fixed point of the scale: on the ground below the hips at the start of the motion."""
    scale: float
    """Factor of distances and heights."""
    rise: float
    """Factor of the height of the hips above the ground."""
    ground: Ground
    """Ground that the target walks on."""
    snap: float
    """Metres; contacts nearer to the ground than this are put on it. 0 where the ground is interpolated from them."""
    kept: bool = False
    """Whether footsteps stay where they are in the world, and as wide."""

    @property
    def guessed(self) -> bool:
        """Whether the ground is only interpolated between contacts."""
        return self.snap == 0.0

    @classmethod
    def of(
        cls, clip: Clip, target: Character, contacts: Contacts, keep_footsteps: bool, stride: float | None = None
    ) -> Stage:
        """Return the stage of a clip for a target; scale 1 with `keep_footsteps`, else `stride`, else by leg length."""
        scale = rise = leg_ratio(clip.character, target)
        if hangs_by_hands(contacts, clip.character.height):
            # the whole body spans the distance between foot and hand contacts, not just the legs
            scale = rise = reach_ratio(clip.character, target)
        if keep_footsteps:
            scale = 1.0
        elif stride is not None:
            scale = stride
        source = Kinematics(clip.motion)
        first = lead_in_frames(clip)
        hips = hip_centers(source[first : first + 1], clip.character)[0]
        start = np.array([hips[0], float(contacts.ground.height(hips[None, ::2])[0]), hips[2]])
        ground = scaled_ground(contacts.ground, start, scale)
        guessed = isinstance(contacts.ground, InterpolatedGround | LoweredGround)
        snap = 0.0 if guessed else SUPPORT.near_ground * clip.character.height * scale
        return cls(start, scale, rise, ground, snap, keep_footsteps)

    def move(self, places: NDArray) -> NDArray:
        """Return places (N, 3) of the source moved to the target; those near the ground are put on it."""
        moved = self.start + (places - self.start) * self.scale
        level = self.ground.height(moved[:, ::2])
        near = np.abs(moved[:, 1] - level) < self.snap
        return np.where((near[:, None] & np.array([False, True, False])), level[:, None], moved)


@dataclass(frozen=True, eq=False)
class _ScaledGround:
    """A scaled ground of any kind."""

    ground: Ground
    start: NDArray
    scale: float

    def height(self, places: ArrayLike) -> NDArray:
        """Return heights (…), metres, at places (…, 2)."""
        before = self.start[::2] + (np.asarray(places, float) - self.start[::2]) / self.scale
        return self.start[1] + (self.ground.height(before) - self.start[1]) * self.scale


def scaled_ground(ground: Ground, start: NDArray, scale: float) -> Ground:
    """Return the ground scaled by a factor about a place (3,)."""
    if scale == 1.0:
        return ground
    if isinstance(ground, Plane):
        return replace(ground, point=tuple(start + (np.asarray(ground.point) - start) * scale))
    if isinstance(ground, InterpolatedGround):
        return InterpolatedGround(start + (ground.places - start) * scale, ground.reach * scale)
    if isinstance(ground, LoweredGround):
        low = ground.ceiling
        x, z = (start[::2] + (np.asarray(low.origin) - start[::2]) * scale).tolist()
        heights = start[1] + (low.heights - start[1]) * scale
        ceiling = replace(low, heights=heights, spacing=low.spacing * scale, origin=(x, z))
        return LoweredGround(scaled_ground(ground.guess, start, scale), ceiling)
    return _ScaledGround(ground, start, scale)
