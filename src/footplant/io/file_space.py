"""A motion in metres and y up, back in the space of the file that its character came from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.motion import Motion
from footplant.skeleton import Skeleton


def in_file_space(motion: Motion, figure: Skeleton, originals: Sequence[Skeleton], usual: float = 1.0) -> Motion:
    """Undo what the border did to the character: its scale and turn, told by its skeleton beside the file's.

    figure: the character's skeleton. originals: the file's skeleton, and those of takes that hold joints elsewhere.
    usual: metres per file unit by the file's own words, for figures whose bones do not tell.
    """
    factor = conversion_scale(figure, originals, usual)
    turn = _exact(rotation.multiply(originals[0].rest[0], rotation.inverse(figure.rest[0])))
    if rotation.angle(turn, rotation.IDENTITY) > 1e-9:
        motion = motion.transformed(rotation.normalize(turn))
    return motion if factor == 1.0 else motion.scaled(1.0 / factor)


def _exact(turn: NDArray) -> NDArray:
    """A turn that exchanges axes, without its rounding: then what nothing changed comes back to the last bit."""
    matrix = rotation.to_matrix(turn)
    if np.abs(matrix - np.round(matrix)).max() > 1e-9:
        return turn
    exact = rotation.from_matrix(np.round(matrix))
    return exact if exact @ turn > 0 else -exact


def conversion_scale(figure: Skeleton, originals: Sequence[Skeleton], usual: float = 1.0) -> float:
    """The one factor between a figure and one of its originals; the usual one where bones differ in other ways."""
    found = []
    for original in originals:
        ours, theirs = figure.offsets[1:], original.offsets[1:]
        size = float(np.sum(theirs * theirs))
        factor = float(np.sum(ours * theirs)) / size if size > 0 else usual
        if factor > 0 and np.abs(ours - factor * theirs).max(initial=0.0) <= 1e-6 * factor * size**0.5:
            found.append(usual if abs(factor / usual - 1.0) < 1e-9 else factor)
    return min(found, key=lambda factor: abs(np.log(factor / usual)), default=usual)
