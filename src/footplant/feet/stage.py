"""Where the target walks: the source's footsteps and ground, scaled about the place where the motion starts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.clip import Clip
from footplant.contacts.detection import Contacts
from footplant.contacts.ground import Ground, InterpolatedGround, LoweredGround, lower_to_soles
from footplant.contacts.settings import SUPPORT
from footplant.contacts.stillness import LEAD_IN_FRAMES, lead_in
from footplant.feet.palms import hangs_by_hands
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.skeleton import Character
from footplant.transfer import hip_centers, leg_ratio, reach_ratio

ABOVE_ONE_ANOTHER = 0.1
"""Body heights between plants at one place beyond which they do not stand on one floor."""


def with_plausible_floor(contacts: Contacts, clip: Clip, lead: int = 0) -> Contacts:
    """The contacts over a floor that can be one: nowhere higher than soles and palms passed.

    Plants above one another (on a rope, on rungs) lay out no floor. Then all that is known of it is that it is lower
    than the lowest of them.
    """
    ground, height = contacts.ground, clip.character.height
    if not isinstance(ground, InterpolatedGround):
        return contacts
    apart = np.abs(ground.places[:, 1] - ground.height(ground.places[:, ::2]))
    soles = Kinematics(clip.motion[lead:]).points(list(clip.character.contacts.values()))
    if apart.max(initial=0.0) < ABOVE_ONE_ANOTHER * height:
        return replace(contacts, ground=lower_to_soles(ground, soles, height))
    return replace(contacts, ground=Plane((0.0, float(soles[..., 1].min()) - 2.0 * SUPPORT.near_ground * height, 0.0)))


@dataclass(frozen=True, eq=False)
class Stage:
    """Where the floor of the source lies for the target."""

    start: NDArray
    """(3,) the place on the floor that stays where it is: below the hips as the motion begins, metres."""
    scale: float
    """How much longer ways and heights get."""
    rise: float
    """How much higher over the floor the hips get."""
    ground: Ground
    """What the target walks on."""
    snap: float
    """Metres; plants so near to the ground stand on it; 0 where they alone tell it, which is the mean of them."""

    @property
    def guessed(self) -> bool:
        """Whether the ground is known by its plants alone, a guess between them."""
        return self.snap == 0.0

    @classmethod
    def of(cls, clip: Clip, target: Character, contacts: Contacts, keep_footsteps: bool) -> Stage:
        """The stage for a clip on a target; its plants tell the ground."""
        scale = rise = leg_ratio(clip.character, target)
        if hangs_by_hands(contacts, clip.character.height):
            # between what the feet stand on and what the hands hold there is all of the body
            scale = rise = reach_ratio(clip.character, target)
        if keep_footsteps:
            scale = 1.0
        source = Kinematics(clip.motion)
        first = lead_in(source.positions[: LEAD_IN_FRAMES + 1], clip.character.height)
        hips = hip_centers(source[first : first + 1], clip.character)[0]
        start = np.array([hips[0], float(contacts.ground.height(hips[None, ::2])[0]), hips[2]])
        ground = scaled_ground(contacts.ground, start, scale)
        guessed = isinstance(contacts.ground, InterpolatedGround | LoweredGround)
        return cls(start, scale, rise, ground, 0.0 if guessed else SUPPORT.near_ground * clip.character.height * scale)

    def move(self, places: NDArray) -> NDArray:
        """Where places (N, 3) of the source are for the target; what stood on the ground stands on it again."""
        moved = self.start + (places - self.start) * self.scale
        level = self.ground.height(moved[:, ::2])
        near = np.abs(moved[:, 1] - level) < self.snap
        return np.where((near[:, None] & np.array([False, True, False])), level[:, None], moved)


@dataclass(frozen=True, eq=False)
class _ScaledGround:
    """Any ground, larger or smaller."""

    ground: Ground
    start: NDArray
    scale: float

    def height(self, places: ArrayLike) -> NDArray:
        """Height (…) in metres over places (…, 2)."""
        before = self.start[::2] + (np.asarray(places, float) - self.start[::2]) / self.scale
        return self.start[1] + (self.ground.height(before) - self.start[1]) * self.scale


def scaled_ground(ground: Ground, start: NDArray, scale: float) -> Ground:
    """The ground grown by a factor about a place."""
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
