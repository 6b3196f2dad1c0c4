"""Convert a motion from metres and y up back to the space of the file that its character was loaded from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.motion import Motion
from footplant.skeleton import Skeleton


def in_file_space(motion: Motion, skeleton: Skeleton, originals: Sequence[Skeleton], usual: float = 1.0) -> Motion:
    """Undo the unit and axis conversion, inferred by comparing the character's skeleton with the file's.

    skeleton: the character's skeleton. originals: the file's skeleton, and those of takes with other bone offsets.
    usual: metres per file unit as the file states them, used if the bones have no common factor.
    """
    factor = conversion_scale(skeleton, originals, usual)
    turn = _exact(rotation.multiply(originals[0].rest[0], rotation.inverse(skeleton.rest[0])))
    if rotation.angle(turn, rotation.IDENTITY) > 1e-9:
        motion = motion.transformed(rotation.normalize(turn))
    return motion if factor == 1.0 else motion.scaled(1.0 / factor)


def from_file_space(motion: Motion, skeleton: Skeleton, originals: Sequence[Skeleton], usual: float = 1.0) -> Motion:
    """Convert a motion from its file's units and axes to those of the character: the inverse of `in_file_space`."""
    factor, turn = file_conversion(skeleton, originals, usual)
    if rotation.angle(turn, rotation.IDENTITY) > 1e-9:
        motion = replace(motion.transformed(rotation.normalize(turn)), skeleton=motion.skeleton.turned(turn))
    return motion if factor == 1.0 else motion.scaled(factor)


def file_conversion(skeleton: Skeleton, originals: Sequence[Skeleton], usual: float = 1.0) -> tuple[float, NDArray]:
    """Return the scale and the rotation (4,) that take a file's space to the character's."""
    turn = _exact(rotation.multiply(skeleton.rest[0], rotation.inverse(originals[0].rest[0])))
    return conversion_scale(skeleton, originals, usual), turn


def _exact(turn: NDArray) -> NDArray:
    """Return an axis-permuting rotation without rounding, so that unmodified motions are restored bit for bit."""
    matrix = rotation.to_matrix(turn)
    if np.abs(matrix - np.round(matrix)).max() > 1e-9:
        return turn
    exact = rotation.from_matrix(np.round(matrix))
    return exact if exact @ turn > 0 else -exact


def conversion_scale(skeleton: Skeleton, originals: Sequence[Skeleton], usual: float = 1.0) -> float:
    """Return the scale factor between a skeleton and one of its originals; `usual` if bones differ otherwise."""
    found = []
    for original in originals:
        ours, theirs = skeleton.offsets[1:], original.offsets[1:]
        size = float(np.sum(theirs * theirs))
        factor = float(np.sum(ours * theirs)) / size if size > 0 else usual
        if factor > 0 and np.abs(ours - factor * theirs).max(initial=0.0) <= 1e-6 * factor * size**0.5:
            found.append(usual if abs(factor / usual - 1.0) < 1e-9 else factor)
    return min(found, key=lambda factor: abs(np.log(factor / usual)), default=usual)
