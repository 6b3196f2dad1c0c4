"""Data of a normalised motion (Kulpa 2005, section 4), and the same with a character's lengths (section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.skeleton import Character

LIMBS = {
    f"{side}_{limb}": tuple(f"{side}_{role}" for role in roles)
    for side in ("left", "right")
    for limb, roles in (
        ("leg", ("upper_leg", "lower_leg", "foot")),
        ("arm", ("upper_arm", "lower_arm", "hand")),
    )
}
SPLINES = {"spine": ("neck", "head"), "neck": ("head",)}
"""Chains of vertebrae → the roles at whose joint they end."""
ON_CHEST = ("head", "left_clavicle", "right_clavicle")
"""Segments that are relative to the chest; hands and feet are relative to the root."""


@dataclass(frozen=True, eq=False)
class NormalizedLimb:
    """A limb of variable length; its middle joint is not stored but follows from the character's bones."""

    frame: NDArray
    """(F, 4) rotation of the limb's frame relative to the chest (arms) or the hips (legs): z from shoulder or hip to
    wrist or ankle, y towards the elbow or knee."""
    length: NDArray
    """(F,) distance of its ends divided by the length of both bones, 0 to 1."""
    proportion: NDArray
    """(F,) upper bone divided by both bones, in the source character."""
    bends: NDArray
    """(F, 2) angles between the limb's line and its upper and lower bone there, radians. Near full extension the length
    determines them to eight digits only."""
    rolls: NDArray
    """(F, 2, 4) rotation of upper and lower bone about their own axes, from the reference pose."""


@dataclass(frozen=True, eq=False)
class NormalizedSpline:
    """A chain of vertebrae as a curve of rotations, to be sampled for any number of vertebrae."""

    knots: NDArray
    """(V+1,) fractions of the chain's length at which vertebrae begin and end, 0 to 1."""
    turns: NDArray
    """(F, V+1, 3) rotation vectors relative to the base of the chain; the first is zero."""

    def at(self, shares: ArrayLike) -> NDArray:
        """Return the rotation vectors (F, N, 3) at fractions (N,) of the chain's length."""
        from scipy.interpolate import CubicSpline

        if not len(self.turns):
            return np.zeros((0, len(np.asarray(shares)), 3))
        return CubicSpline(self.knots, self.turns, axis=1)(np.asarray(shares, float))


@dataclass(frozen=True, eq=False)
class Normalized:
    """A motion independent of bone lengths. Angles in radians, positions in leg lengths; frames come first."""

    fps: float
    root: NDArray
    """(F, 3) midpoint of the hip joints relative to `origin` and ankle height, divided by the leg length; its height
    in a handstand: see `on_hands`."""
    heading: NDArray
    """(F, 4) heading of the body: the hips' rotation about the vertical."""
    tilt: NDArray
    """(F, 4) remaining rotation of the hips: their rotation is heading · tilt."""
    origin: NDArray
    """(3,) metres; the point on the ground that stays fixed when lengths change."""
    limbs: Mapping[str, NormalizedLimb] = field(default_factory=dict)
    """left_leg, right_leg, left_arm, right_arm, as far as they are connected chains."""
    splines: Mapping[str, NormalizedSpline] = field(default_factory=dict)
    """spine and neck."""
    segments: Mapping[str, NDArray] = field(default_factory=dict)
    """Role → rotation (F, 4) from the reference pose relative to the chest or the root (`ON_CHEST`)."""
    others: Mapping[str, NDArray] = field(default_factory=dict)
    """Role and number ("left_index.1") or joint name → rotation (F, 4) relative to its parent, in reference axes."""
    moving: Mapping[str, NDArray] = field(default_factory=dict)
    """Joint name → change of its offset (F, 3), divided by the leg length."""
    on_hands: NDArray | None = None
    """(F,) how far the body is in a handstand, 0 to 1: there the root's height is in lengths of trunk and arms above
    the wrists' height. None: nowhere."""

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.root)

    @property
    def hips(self) -> NDArray:
        """Return the rotation of the hips (F, 4) from the reference pose."""
        return rotation.multiply(self.heading, self.tilt)

    @property
    def chest(self) -> NDArray:
        """Return the rotation of the last vertebra (F, 4) from the reference pose."""
        if "spine" not in self.splines:
            return self.hips
        return rotation.multiply(self.hips, rotation.exp(self.splines["spine"].turns[:, -1]))


@dataclass(frozen=True, eq=False)
class Scaled:
    """A normalised motion with a character's lengths: in metres again, but without middle joints."""

    normalized: Normalized
    character: Character
    hips: NDArray
    """(F, 3) metres; the midpoint of the hip joints."""
    offsets: NDArray | None
    """(F, J, 3) metres; the character's offsets where they change over time."""
    lengths: Mapping[str, NDArray]
    """Limb → distance from its upper joint to its end (F,), metres."""
    bones: Mapping[str, tuple[NDArray, NDArray]] = field(repr=False, default_factory=dict)
    """Limb → its two bones, (F or 1, 3) metres in the frames of their joints."""
