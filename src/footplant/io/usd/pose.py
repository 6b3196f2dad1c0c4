"""USD joint transforms as offsets and rotations.

A joint's local transform is a translation t, a rotation R and a stretch S (a scale, or the remainder of a matrix); our
joints have only an offset and a rotation. Write a joint's world matrix as T(p)·Q·M with a rotation Q and a remainder
M. A child is at p + Q·(M t), so its offset is M t, and the child's M is (local rotation)ᵀ·M·R·S. If all scales are
uniform, M is a scalar and offsets are constant; otherwise M varies with the pose, the offsets too, and world positions
stay exact. Below a mirroring scale the joint gets a half turn, so that M is a (negative) scalar there as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation

UNIFORM = 1e-6
"""Relative. Scale factors that differ by less are one uniform scale."""


@dataclass(frozen=True, eq=False)
class Locals:
    """Transforms of joints in their parents' frames, each (1 or F, J, …)."""

    translations: NDArray
    """(1 or F, J, 3)"""
    rotations: NDArray
    """(1 or F, J, 4) quaternions (w, x, y, z), of unit length up to rounding."""
    stretches: NDArray
    """(1 or F, J, 3, 3)"""


@dataclass(frozen=True, eq=False)
class Folded:
    """Joint offsets and rotations, in the order of the joints."""

    offsets: list[NDArray]
    """(1 or F, 3) in the parents' frames; the root's in world space."""
    rotations: list[NDArray]
    """(1 or F, 4) local rotations."""
    above: list[NDArray]
    """(1 or F, 3, 3) the M that multiplies a joint's translation."""
    scale_matrices: list[NDArray]
    """(1 or F, 3, 3) the M of each joint itself: mesh lengths at the joint → lengths in the world."""


def columns(matrices: NDArray) -> NDArray:
    """Convert USD's matrices for row vectors to matrices for column vectors, and back."""
    return np.swapaxes(np.asarray(matrices, float), -1, -2)


def split(matrices: NDArray) -> Locals:
    """Factor (…, 4, 4) matrices for column vectors into translation, rotation and stretch; mirrors flip the x axis."""
    linear = np.array(matrices[..., :3, :3])
    axes = np.where(np.linalg.det(linear) < 0, -1.0, 1.0)
    proper = linear * np.stack([axes, np.ones_like(axes), np.ones_like(axes)], axis=-1)[..., None, :]
    lengths = np.linalg.norm(proper, axis=-2, keepdims=True)
    unit = proper / np.where(lengths > 0, lengths, 1.0)
    square = np.abs(np.swapaxes(unit, -1, -2) @ unit - np.eye(3)).max(axis=(-2, -1)) <= 1e-9
    if not square.all():
        # the nearest rotation (polar decomposition): correct for shear and defined for a degenerate scale
        u, _, v = np.linalg.svd(np.where(square[..., None, None], np.eye(3), proper))
        u[..., :, 2] *= np.linalg.det(u @ v)[..., None]
        unit = np.where(square[..., None, None], unit, u @ v)
    rotations = rotation.from_matrix(unit)
    return Locals(matrices[..., :3, 3], rotations, np.swapaxes(rotation.to_matrix(rotations), -1, -2) @ linear)


def fold(parents: Sequence[int], local: Locals, base: Locals) -> Folded:
    """Convert local transforms of joints below one base (1 or F, 1, …) to offsets and rotations; see the module."""
    out = Folded([], [], [], [])
    for joint, parent in enumerate(parents):
        turn, stretch, move = (
            rotation.normalize(local.rotations[:, joint]),
            local.stretches[:, joint],
            local.translations[:, joint],
        )
        if len(move) > 1 and (move == move[:1]).all():
            move = move[:1]
        above = base.stretches[:, 0] if parent < 0 else out.scale_matrices[parent]
        axes = np.where(np.diagonal(stretch, axis1=-2, axis2=-1)[0] < 0, -1.0, 1.0)
        own = rotation.multiply(turn, rotation.from_matrix(np.diag(axes * np.prod(axes)))) if axes.min() < 0 else turn
        offset = (above @ move[..., None])[..., 0]
        factor, uniform = _uniform(above), _uniform(stretch * axes)
        if factor is not None and uniform is not None:
            scale_matrix = np.eye(3)[None] * (factor * uniform * np.prod(axes))
        else:
            scale_matrix = np.swapaxes(rotation.to_matrix(own), -1, -2) @ above @ rotation.to_matrix(turn) @ stretch
        if parent < 0:
            offset = base.translations[:, 0] + rotation.rotate(base.rotations[:, 0], offset)
            own = rotation.multiply(base.rotations[:, 0], own)
        out.offsets.append(offset)
        out.rotations.append(rotation.normalize(own))
        out.above.append(above)
        out.scale_matrices.append(scale_matrix)
    return out


def _uniform(matrices: NDArray) -> float | None:
    """Return g if all the matrices are g·I, else None."""
    factor = float(np.mean(np.diagonal(matrices[0])))
    return factor if np.abs(matrices - np.eye(3) * factor).max() <= UNIFORM * abs(factor) else None
