"""What a normalised motion holds (Kulpa 2005, section 4), and the same with a figure's lengths (section 6)."""

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
"""Chains of vertebrae, and the roles whose joint is where they end."""
ON_CHEST = ("head", "left_clavicle", "right_clavicle")
"""Segments that turn with the chest; hands and feet turn with the root."""


@dataclass(frozen=True, eq=False)
class NormalizedLimb:
    """A limb of variable length; its middle joint is not stored but follows from the figure's bones."""

    frame: NDArray
    """(F, 4) turn of the limb's frame against the chest (arms) or the hips (legs): z runs from shoulder or hip to wrist
    or ankle, y points to the side of the elbow or knee."""
    length: NDArray
    """(F,) distance of its two ends over the length of both bones, 0 to 1."""
    proportion: NDArray
    """(F,) upper bone over both bones, in the figure that the motion comes from."""
    bends: NDArray
    """(F, 2) radians between the limb's line and its upper and lower bone there. Near full stretch the length tells
    them to eight digits only."""
    rolls: NDArray
    """(F, 2, 4) how upper and lower bone are turned about themselves, from the reference pose."""


@dataclass(frozen=True, eq=False)
class NormalizedSpline:
    """A chain of vertebrae as one curve of turns, to be cut into any number of them."""

    knots: NDArray
    """(V+1,) shares of the chain's length at which vertebrae begin and end, 0 to 1."""
    turns: NDArray
    """(F, V+1, 3) rotation vectors from the turn of what the chain stands on; the first is zero."""

    def at(self, shares: ArrayLike) -> NDArray:
        """(F, N, 3) the turns at shares (N,) of the chain's length."""
        from scipy.interpolate import CubicSpline

        if not len(self.turns):
            return np.zeros((0, len(np.asarray(shares)), 3))
        return CubicSpline(self.knots, self.turns, axis=1)(np.asarray(shares, float))


@dataclass(frozen=True, eq=False)
class Normalized:
    """A motion that no figure's lengths are in. Angles in radians, places in leg lengths; frames come first."""

    fps: float
    root: NDArray
    """(F, 3) the middle of the hip joints: from `origin`, above the height of an ankle, over the length of a leg."""
    heading: NDArray
    """(F, 4) where the body faces: the hips' turn about the vertical."""
    tilt: NDArray
    """(F, 4) what the hips are turned besides; the turn of the hips is heading · tilt."""
    origin: NDArray
    """(3,) metres; the place on the ground that stays where it is when lengths change."""
    limbs: Mapping[str, NormalizedLimb] = field(default_factory=dict)
    """left_leg, right_leg, left_arm, right_arm, as far as the figure has them in one piece."""
    splines: Mapping[str, NormalizedSpline] = field(default_factory=dict)
    """spine and neck."""
    segments: Mapping[str, NDArray] = field(default_factory=dict)
    """Role → (F, 4) turn from the reference pose against the chest or the root (`ON_CHEST`)."""
    others: Mapping[str, NDArray] = field(default_factory=dict)
    """Role and number ("left_index.1") or joint name → (F, 4) turn against its parent, in axes of the reference."""
    moving: Mapping[str, NDArray] = field(default_factory=dict)
    """Joint name → (F, 3) how far it is from its place on its parent, over the length of a leg."""

    def __len__(self) -> int:
        """How many frames."""
        return len(self.root)

    @property
    def hips(self) -> NDArray:
        """(F, 4) turn of the hips from the reference pose."""
        return rotation.multiply(self.heading, self.tilt)

    @property
    def chest(self) -> NDArray:
        """(F, 4) turn of the last vertebra from the reference pose."""
        if "spine" not in self.splines:
            return self.hips
        return rotation.multiply(self.hips, rotation.exp(self.splines["spine"].turns[:, -1]))


@dataclass(frozen=True, eq=False)
class Scaled:
    """A normalised motion with a figure's lengths: metres again, but no middle joints yet."""

    normalized: Normalized
    character: Character
    hips: NDArray
    """(F, 3) metres; the middle of the hip joints."""
    offsets: NDArray | None
    """(F, J, 3) the figure's bones where they change with time, metres."""
    lengths: Mapping[str, NDArray]
    """Limb → (F,) metres from its upper joint to its end."""
    bones: Mapping[str, tuple[NDArray, NDArray]] = field(repr=False, default_factory=dict)
    """Limb → its two bones, (F or 1, 3) metres in the frames of their joints."""
