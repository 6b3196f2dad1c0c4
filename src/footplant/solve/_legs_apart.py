"""Kernels of `legs_apart`: how deep the lower legs of a posed body are inside each other."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import uncounted_jit
from footplant.kernels.shell import (
    distance,
    new_posed,
    outside_box,
    pose_group,
    pose_normals,
    pose_places,
    read_only,
    smallest_shell,
)

LEAST_LEVEL = 0.8
"""Least level part of the unit direction out of the other leg: what lies over or under it is not moved aside. No
experiment on record separates it from 0.6."""


@uncounted_jit
def deepest(shell, legs, shares, spare, stuck, positions, rotations, posed, out):
    """Write for each frame how one lower leg gets out of the other (F, 4): a unit direction and metres, 0 if it is out.

    legs: the groups of the left and the right leg; shares (N,): fraction of an ankle's displacement by which a sample
    follows it, 0 for those that are not asked; spare (N,) metres: depth that is allowed; stuck (F,): frames that are
    not looked at. The direction is level, and that of the left ankle relative to the right one.
    """
    for f in range(positions.shape[0]):
        out[f, 0], out[f, 1], out[f, 2], out[f, 3] = 1.0, 0.0, 0.0, 0.0
        if stuck[f]:
            continue
        for group in legs:
            pose_places(shell, group, positions[f], rotations[f], 1.0, posed)
        for s in range(2):
            own, other, sign = legs[s], legs[1 - s], 1.0 - 2.0 * s
            box, faces = posed.boxes[other], False
            for i in range(shell.clusters[shell.groups[own]], shell.clusters[shell.groups[own + 1]]):
                if shares[i] <= 0.0:
                    continue
                x, y, z = posed.samples[0, i], posed.samples[1, i], posed.samples[2, i]
                if outside_box(box, x, y, z) > 0.0:
                    continue
                if not faces:
                    pose_normals(shell, other, rotations[f], posed)
                    faces = True
                away, nx, _, nz = distance(shell, other, posed, x, y, z)
                level = math.sqrt(nx * nx + nz * nz)
                if level < LEAST_LEVEL:
                    continue
                depth = (-away - spare[i]) / (level * shares[i])
                if depth > out[f, 3]:
                    out[f, 0], out[f, 2], out[f, 3] = sign * nx / level, sign * nz / level, depth


@uncounted_jit
def depths(shell, legs, shares, positions, rotations, posed, out):
    """Write how deep each sample of one leg is inside the other at one frame to out (N,), 0 outside."""
    for group in legs:
        pose_group(shell, group, positions, rotations, 1.0, posed)
    out[:] = 0.0
    for s in range(2):
        own, other = legs[s], legs[1 - s]
        for i in range(shell.clusters[shell.groups[own]], shell.clusters[shell.groups[own + 1]]):
            if shares[i] > 0.0:
                away, _, _, _ = distance(
                    shell, other, posed, posed.samples[0, i], posed.samples[1, i], posed.samples[2, i]
                )
                out[i] = max(-away, 0.0)


WARMUP = {
    "deepest": lambda: (
        smallest_shell(), np.zeros(2, np.int64), np.ones(1), np.zeros(1), np.zeros(1, bool), read_only(1, 1, 3),
        read_only(1, 1, 4), new_posed(smallest_shell()), np.empty((1, 4)),
    ),
    "depths": lambda: (
        smallest_shell(), np.zeros(2, np.int64), np.ones(1), read_only(1, 3), read_only(1, 4),
        new_posed(smallest_shell()), np.empty(1),
    ),
}  # fmt: skip
