"""Trunk and head above the ground: how high the hips must be."""

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


def _posed(kinematics: Kinematics, shell: BodyShell, frames: NDArray, first: int, last: int) -> NDArray:
    """Return the world positions (n, N, 3) of samples first … last−1 at frames (n,)."""
    start, stop = int(shell.starts[first]), int(shell.starts[last])
    joints, weights = shell.joints[start:stop], shell.weights[start:stop]
    turned = rotation.rotate(kinematics.rotations[frames][:, joints], shell.places[start:stop])
    places = (kinematics.positions[frames][:, joints] + turned) * weights[:, None]
    return np.add.reduceat(places, shell.starts[first:last] - start, axis=1)
