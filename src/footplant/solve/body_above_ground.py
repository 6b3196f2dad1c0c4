"""Trunk, head and knees above the ground: how high hips must be, and how far a shank must rise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.contacts.ground import Ground
from footplant.humanoid.body_shell import GROUPS, BodyShell
from footplant.kinematics import Kinematics
from footplant.skeleton import Character
from footplant.solve.ik.limb import Limb
from footplant.solve.leg_limits import Rows

NEAR = 0.5
"""Lengths of the shank above the ground below which a knee may touch it."""
LEFT = 0.003
"""Metres of depth that ask for nothing: a shell is that accurate."""


def hip_heights(kinematics: Kinematics, character: Character, legs: Sequence[Limb], ground: Ground) -> NDArray | None:
    """Return the least height (F,) of the middle of the hip joints at which trunk and head are above the ground.

    Metres, −∞ where nothing is asked; None: they are above it.
    """
    shell, deepest = BodyShell.of(character), np.zeros(len(kinematics.motion))
    for group in (GROUPS.index("trunk"), GROUPS.index("head")):
        at = kinematics.positions[:, int(shell.anchors[group])]
        low = np.flatnonzero(at[:, 1] - shell.reaches[group] < ground.height(at[:, ::2]))
        first, last = (int(shell.clusters[shell.groups[number]]) for number in (group, group + 1))
        if len(low) and last > first:
            places = _posed(kinematics, shell, low, first, last)
            depth = ground.height(places[..., ::2]) - places[..., 1]
            deepest[low] = np.maximum(deepest[low], depth.max(axis=1))
    if not (deepest > LEFT).any():
        return None
    middle = 0.5 * (kinematics.positions[:, legs[0].upper, 1] + kinematics.positions[:, legs[1].upper, 1])
    return np.where(deepest > LEFT, middle + deepest, -np.inf)


def knee_rows(
    kinematics: Kinematics, character: Character, legs: Sequence[Limb], planted: NDArray, ground: Ground
) -> Rows | None:
    """Return how far shanks of planted feet must rise for knees and shins to be above the ground; None: they are.

    Rows as those of `leg_limits.shank_rows`. planted: (2, F) bool.
    """
    shell = BodyShell.of(character)
    upward, least = np.zeros((2, len(kinematics.motion), 3)), np.full((2, len(kinematics.motion)), -np.inf)
    for s, (leg, name) in enumerate(zip(legs, ("left_leg", "right_leg"))):
        group = GROUPS.index(name)
        knee, ankle = (kinematics.positions[:, joint] for joint in (leg.lower, leg.end))
        shank = knee - ankle
        near = knee[:, 1] - ground.height(knee[:, ::2]) < NEAR * np.linalg.norm(shank, axis=1)
        rows = np.flatnonzero(planted[s] & near)
        first, last = (int(shell.clusters[shell.groups[number]]) for number in (group, group + 1))
        if not len(rows) or last <= first:
            continue
        # samples around the knee and on the upper half of the shin
        places = _posed(kinematics, shell, rows, first, last)
        share = ((places - ankle[rows, None]) * shank[rows, None]).sum(axis=2)
        share = share / np.maximum((shank[rows] ** 2).sum(axis=1), 1e-12)[:, None]
        depth = ground.height(places[..., ::2]) - places[..., 1]
        deepest = np.where((share > 0.5) & (share < 1.3), depth / np.clip(share, 0.5, 1.0), 0.0).max(axis=1)
        asked = deepest > LEFT
        if not asked.any():
            continue
        rows, deepest = rows[asked], deepest[asked]
        length = np.maximum(np.linalg.norm(shank[rows], axis=1), 1e-9)
        upward[s, rows], least[s, rows] = rotation.AXES["y"], np.minimum((shank[rows, 1] + deepest) / length, 1.0)
    return (upward, least) if np.isfinite(least).any() else None


def _posed(kinematics: Kinematics, shell: BodyShell, frames: NDArray, first: int, last: int) -> NDArray:
    """Return the world positions (n, N, 3) of samples first … last−1 at frames (n,)."""
    start, stop = int(shell.starts[first]), int(shell.starts[last])
    joints, weights = shell.joints[start:stop], shell.weights[start:stop]
    turned = rotation.rotate(kinematics.rotations[frames][:, joints], shell.places[start:stop])
    places = (kinematics.positions[frames][:, joints] + turned) * weights[:, None]
    return np.add.reduceat(places, shell.starts[first:last] - start, axis=1)
