"""USD joint transforms as offsets and rotations.

A joint's local transform is a translation t, a rotation R and a stretch S (a scale, or what is left of a matrix); our
joints have an offset and a rotation only. Write a joint's world matrix as T(p)·Q·M with a rotation Q and the rest M. A
child stands at p + Q·(M t), so its offset is M t, and M of the child is (local rotation)ᵀ·M·R·S. While all scales are
uniform M is a plain number and offsets are constants; else M varies with the pose, the offsets too, and positions stay
exact. Below a mirroring scale the joint gets a half turn, so that M is a (negative) number there as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation

UNIFORM = 1e-6
"""Scales that differ by less than this share are one uniform scale."""


@dataclass(frozen=True, eq=False)
class Locals:
    """Transforms of joints in their parents, each (1 or F, J, …)."""

    moves: NDArray
    """(1 or F, J, 3)"""
    turns: NDArray
    """(1 or F, J, 4) quaternions (w, x, y, z), of unit length but for rounding."""
    stretches: NDArray
    """(1 or F, J, 3, 3)"""


@dataclass(frozen=True, eq=False)
class Folded:
    """The same as offsets and rotations, in the order of the joints."""

    offsets: list[NDArray]
    """(1 or F, 3) places in the parents' frames; of the root, in the world."""
    rotations: list[NDArray]
    """(1 or F, 4) local rotations."""
    above: list[NDArray]
    """(1 or F, 3, 3) the M that a joint's translation is multiplied with."""
    spreads: list[NDArray]
    """(1 or F, 3, 3) the M of each joint itself: mesh lengths at the joint → lengths in the world."""


def columns(matrices: NDArray) -> NDArray:
    """USD's matrices for row vectors as ones for column vectors, and back."""
    return np.swapaxes(np.asarray(matrices, float), -1, -2)


def split(matrices: NDArray) -> Locals:
    """(…, 4, 4) matrices for column vectors as translations, rotations and stretches; mirrors turn the x axis."""
    linear = np.array(matrices[..., :3, :3])
    axes = np.where(np.linalg.det(linear) < 0, -1.0, 1.0)
    proper = linear * np.stack([axes, np.ones_like(axes), np.ones_like(axes)], axis=-1)[..., None, :]
    lengths = np.linalg.norm(proper, axis=-2, keepdims=True)
    unit = proper / np.where(lengths > 0, lengths, 1.0)
    square = np.abs(np.swapaxes(unit, -1, -2) @ unit - np.eye(3)).max(axis=(-2, -1)) <= 1e-9
    if not square.all():
        # the nearest rotation (polar decomposition); right for shear, and defined for a flattened joint too
        u, _, v = np.linalg.svd(np.where(square[..., None, None], np.eye(3), proper))
        u[..., :, 2] *= np.linalg.det(u @ v)[..., None]
        unit = np.where(square[..., None, None], unit, u @ v)
    turns = rotation.from_matrix(unit)
    return Locals(matrices[..., :3, 3], turns, np.swapaxes(rotation.to_matrix(turns), -1, -2) @ linear)


def fold(parents: Sequence[int], local: Locals, base: Locals) -> Folded:
    """Local transforms of joints below one base (1 or F, 1, …) → offsets and rotations; see the module's text."""
    out = Folded([], [], [], [])
    for joint, parent in enumerate(parents):
        turn, stretch, move = (
            rotation.normalize(local.turns[:, joint]),
            local.stretches[:, joint],
            local.moves[:, joint],
        )
        if len(move) > 1 and (move == move[:1]).all():
            move = move[:1]
        above = base.stretches[:, 0] if parent < 0 else out.spreads[parent]
        axes = np.where(np.diagonal(stretch, axis1=-2, axis2=-1)[0] < 0, -1.0, 1.0)
        own = rotation.multiply(turn, rotation.from_matrix(np.diag(axes * np.prod(axes)))) if axes.min() < 0 else turn
        offset = (above @ move[..., None])[..., 0]
        factor, plain = _uniform(above), _uniform(stretch * axes)
        if factor is not None and plain is not None:
            spread = np.eye(3)[None] * (factor * plain * np.prod(axes))
        else:
            spread = np.swapaxes(rotation.to_matrix(own), -1, -2) @ above @ rotation.to_matrix(turn) @ stretch
        if parent < 0:
            offset = base.moves[:, 0] + rotation.rotate(base.turns[:, 0], offset)
            own = rotation.multiply(base.turns[:, 0], own)
        out.offsets.append(offset)
        out.rotations.append(rotation.normalize(own))
        out.above.append(above)
        out.spreads.append(spread)
    return out


def _uniform(matrices: NDArray) -> float | None:
    """The number g when all the matrices are g·I, else None."""
    factor = float(np.mean(np.diagonal(matrices[0])))
    return factor if np.abs(matrices - np.eye(3) * factor).max() <= UNIFORM * abs(factor) else None
