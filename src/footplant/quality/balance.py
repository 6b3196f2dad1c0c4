"""Balance of a human body: its zero-moment point, and how far it is outside the support of the feet.

With masses mᵢ at xᵢ, at heights yᵢ over the ground, the zero-moment point is

    p = Σ mᵢ ((g + ÿᵢ) xᵢ − yᵢ ẍᵢ) / Σ mᵢ (g + ÿᵢ),

where the ground's force acts without a torque about a horizontal axis (Vukobratović & Borovac, "Zero-moment point:
thirty five years of its life", 2004). Segments are point masses: their own moments of inertia are left out. A force can
only act where the body touches the ground, so that p lies within the convex hull of the contacts, the support polygon.
A motion whose p is outside could not be walked like that: a body would tip over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.detection import Contacts
from footplant.kinematics import Kinematics
from footplant.quality.robot import GRAVITY, nearest_in_support
from footplant.quality.smoothness import continuous_parts
from footplant.skeleton import Character
from footplant.spline import filter_fir

OUTSIDE = 0.03
"""Metres; a zero-moment point that is farther outside of the support counts."""
SMOOTHING = 0.1
"""Seconds; half width of the Hann window that positions are smoothed with before they are differentiated twice. Halved,
noise of captures at 120 frames/s moves the point by centimetres; doubled, steps are smeared."""
WIDTH = 0.38
"""Width of a sole over its length, from heel to toe tip."""
MOST_UNLOADED = 0.3
"""Fraction of g; frames in which the ground bears less are flight: the point has no meaning there."""
PALMS = 0.05
"""Share of frames with palms on the ground from which on hands carry weight, and balance over the feet says nothing."""


@dataclass(frozen=True)
class BalanceQuality:
    """How well a motion is balanced over its feet."""

    frames: int
    """Frames in which feet stand and hands do not."""
    share_outside: float
    """Share of these frames whose zero-moment point is more than 3 cm outside the support, 0 to 1."""
    worst: float
    """Largest distance outside, mm."""


def smoothed(values: NDArray, fps: float) -> NDArray:
    """Return values (F, …) smoothed over time, without moving straight lines at the ends."""
    return filter_fir(values, _window(len(values), fps), ends="reflect")


def _window(frames: int, fps: float) -> NDArray:
    """Return the Hann window (2h + 1,) that places are smoothed with, as far as a clip is long enough; sum 1."""
    half = min(max(round(SMOOTHING * fps), 1), max((frames - 1) // 2, 0))
    window = np.hanning(2 * half + 3)[1:-1]
    return window / window.sum()


def zero_moment_points(
    kinematics: Kinematics, character: Character, level: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """Return the zero-moment point (F, 2) at heights (F,), metres, the height of the mass over it and g + its lift.

    Frames at both ends have no acceleration.
    """
    from footplant.quality import _balance as kernel

    assert character.masses is not None
    assert character.mass_centers is not None
    masses, frames, fps = np.array(character.masses, float), len(kinematics.motion), kinematics.motion.fps
    out = np.empty((frames, 4))
    kernel.zero_moment_points(
        kinematics.positions, kinematics.rotations, masses / masses.sum(), np.array(character.mass_centers, float),
        np.array(level, float), np.convolve(_window(frames, fps), [1.0, -2.0, 1.0]) * fps**2, GRAVITY,
        MOST_UNLOADED * GRAVITY, np.empty((frames, 3)), out,
    )  # fmt: skip
    return out[:, :2], out[:, 2], out[:, 3]


def support(kinematics: Kinematics, character: Character, contacts: Contacts) -> tuple[NDArray, NDArray, NDArray]:
    """Return the corners (F, K, 2) of feet on the ground, how many there are (F,), and their mean height (F,), metres.

    A foot stands on heel and ball, on its heel, or on ball and toes; it is as wide as a foot usually is.
    """
    frames = len(kinematics.motion)
    corners, counts = np.zeros((frames, 16, 2)), np.zeros(frames, np.int64)
    heights, parts = np.zeros(frames), np.zeros(frames)
    for side in ("left", "right"):
        points = {part: character.contacts.get(f"{side}_{part}") for part in ("heel", "ball", "toe")}
        if points["heel"] is None or points["ball"] is None:
            continue
        places = {part: kinematics.point(point) for part, point in points.items() if point is not None}
        tip = places.get("toe", places["ball"])
        line = (tip - places["heel"])[:, ::2]
        across = 0.5 * WIDTH * np.stack([line[:, 1], -line[:, 0]], axis=1)
        down = {part: _mask(contacts, f"{side}_{part}", frames) for part in ("heel", "ball")}
        down["toe"] = down["ball"]
        for part, place in places.items():
            on = np.flatnonzero(down[part])
            for sign in (-1.0, 1.0):
                corners[on, counts[on]] = place[on][:, ::2] + sign * across[on]
                counts[on] += 1
            heights[on] += place[on][:, 1]
            parts[on] += 1.0
    known = parts > 0.0
    heights[known] /= parts[known]
    if known.any():
        every = np.arange(frames)
        heights = np.interp(every, every[known], heights[known])
    return corners, counts, heights


def _mask(contacts: Contacts, point: str, frames: int) -> NDArray:
    """Return (F,) bool: whether a point is in contact."""
    mask = np.zeros(frames, bool)
    for plant in contacts.plants:
        if plant.point == point:
            mask[max(plant.start, 0) : plant.end] = True
    return mask


def on_feet(contacts: Contacts, frames: int) -> bool:
    """Return whether a motion stands on its feet: whether hands carry no weight."""
    palms = _mask(contacts, "left_palm", frames) | _mask(contacts, "right_palm", frames)
    return bool(palms.mean() < PALMS) if frames else False


def distances_outside(
    kinematics: Kinematics, character: Character, contacts: Contacts, parts: Sequence[tuple[int, int]] | None = None
) -> NDArray:
    """Return how far (F,) the zero-moment point is outside the support, metres; NaN where no foot stands.

    parts: (first, end) of frames between cuts, if known.
    """
    corners, counts, level = support(kinematics, character, contacts)
    away = np.full(len(kinematics.motion), np.nan)
    for start, end in continuous_parts(kinematics, character.height) if parts is None else parts:
        if end - start < 5:
            continue
        part = slice(start, end)
        point, _, lift = zero_moment_points(kinematics[part], character, level[part])
        found = np.linalg.norm(nearest_in_support(corners[part], counts[part], point) - point, axis=1)
        found[(counts[part] == 0) | (lift < MOST_UNLOADED * GRAVITY)] = np.nan
        found[[0, -1]] = np.nan
        away[part] = found
    return away


def balance(
    kinematics: Kinematics, character: Character, contacts: Contacts, parts: Sequence[tuple[int, int]] | None = None
) -> BalanceQuality | None:
    """Return how well a motion is balanced; None where it has no meaning: on hands, or without feet and masses.

    parts: (first, end) of frames between cuts, if known.
    """
    if not is_balanced(character, contacts, len(kinematics.motion)):
        return None
    return balance_of(distances_outside(kinematics, character, contacts, parts))


def is_balanced(character: Character, contacts: Contacts, frames: int) -> bool:
    """Return whether balance over the feet has a meaning: on feet, with masses."""
    return frames >= 5 and character.masses is not None and on_feet(contacts, frames)


def balance_of(away: NDArray) -> BalanceQuality | None:
    """Return the quality of distances (F,) of `distances_outside`; None where no foot stands."""
    known = away[np.isfinite(away)]
    if not len(known):
        return None
    return BalanceQuality(len(known), float(np.mean(known > OUTSIDE)), 1000.0 * float(known.max()))
