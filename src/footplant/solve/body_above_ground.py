"""Trunk, head and knees above the ground: how high hips must be for a pitch, and how far a shank must rise."""

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


FAR = 0.5
"""Share of the trunk's reach from the hips beyond which a point of it counts as far: near and far ones have a row each,
so that a pitch that raises one does not lower the other unseen."""


def trunk_rows(
    kinematics: Kinematics, character: Character, legs: Sequence[Limb], ground: Ground, pitches: NDArray
) -> Rows | None:
    """Return how high hips must be for the trunk, near and far from them, and the head to be above the ground.

    Levers and heights (3, F), metres: the middle of the hip joints must be no lower than height − lever · pitch; −∞
    where nothing is asked. Where one of the three is in the ground, the others have rows, too. pitches: (F,) radians
    about the line of the hip joints, with which the pose was made. None: all are above the ground.
    """
    shell, positions, frames = BodyShell.of(character), kinematics.positions, len(kinematics.motion)
    upper = positions[:, [leg.upper for leg in legs]]
    middle, across = upper.mean(axis=1), upper[:, 0] - upper[:, 1]
    across = across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-9)
    groups, low = [GROUPS.index(name) for name in ("trunk", "head")], np.zeros(frames, bool)
    for group in groups:
        at = positions[:, int(shell.anchors[group])]
        low |= at[:, 1] - shell.reaches[group] < ground.height(at[:, ::2])
    rows = np.flatnonzero(low)
    if not len(rows):
        return None
    depths, levers = np.full((3, len(rows)), -np.inf), np.zeros((3, len(rows)))
    middle, across, each = middle[rows], across[rows], np.arange(len(rows))
    for group in groups:
        first, last = (int(shell.clusters[shell.groups[number]]) for number in (group, group + 1))
        if last <= first:
            continue
        places = _posed(kinematics, shell, rows, first, last)
        depth, arm = ground.height(places[..., ::2]) - places[..., 1], places - middle[:, None]
        if group == groups[1]:
            # the head keeps its world rotation: it is carried by its joint
            deepest, carried = depth.argmax(axis=1), positions[rows, int(shell.anchors[group])] - middle
            depths[2], levers[2] = depth[each, deepest], rotation.cross(across, carried)[:, 1]
            continue
        away = np.linalg.norm(arm, axis=2)
        far = away > FAR * away.max(axis=1, keepdims=True)
        for row, part in enumerate((~far, far)):
            own = np.where(part, depth, -np.inf)
            deepest = own.argmax(axis=1)
            depths[row], levers[row] = own[each, deepest], rotation.cross(across, arm[each, deepest])[:, 1]
    asked = (depths > LEFT).any(axis=0)
    if not asked.any():
        return None
    heights, turned = np.full((3, frames), -np.inf), np.zeros((3, frames))
    rows, levers = rows[asked], levers[:, asked]
    turned[:, rows], heights[:, rows] = levers, middle[asked, 1] + depths[:, asked] + levers * pitches[rows]
    return turned, heights


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
