"""Balance as far as it is kinematic: a shift of the body that brings the zero-moment point back over the feet.

The zero-moment point p moves with a horizontal displacement d of the body, whose centre of mass is at height h, by
d − (h/g) d̈, which is linear:

    minimise   Σ_planted ρ(|p + d − (h/g) d̈ − s|) + w Σ |d₀ + d|² + v Σ |D²d|²,

s being the point of the support polygon nearest to the zero-moment point, d₀ how far the body is shifted already, and
ρ(r) = u² log(1 + r²/u²): a body whose zero-moment point is far outside falls whether it is a little farther or not. A
robot is shorter than the person that it follows: accelerations scale with its legs, gravity does not, and so the same
gait, scaled, sways too little.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from footplant.mechanism.body import RobotBody
from footplant.mechanism.motion import Plant
from footplant.quality.robot import GRAVITY, nearest_in_support, support_corners, support_heights, zero_moment_points

ROUNDS = 5
"""Number of times that the nearest points of the support, and their weights by distance, are updated."""


def balancing_shift(
    body: RobotBody,
    states: NDArray,
    plants: Sequence[Plant],
    fps: float,
    shifted: NDArray,
    *,
    stay: float,
    smooth: float,
    far: float,
    most: float,
) -> NDArray:
    """Return the displacement (F, 2) of the body, metres, that balances its motion best.

    shifted (F, 2), stay, smooth, far: d₀, w, v and u above; most: largest displacement, metres.
    """
    from scipy.linalg import solveh_banded

    frames = len(states)
    if frames < 5 or not plants:
        return np.zeros((frames, 2))
    at, turn = body.links.pose(states)
    point, height, lift = zero_moment_points(body, at, turn, fps, support_heights(plants, frames))
    lever = np.maximum(height, 0.0) / np.maximum(lift, 0.3 * GRAVITY) * fps**2
    corners, counts = support_corners(body, plants, at, turn)
    standing = counts > 0
    standing[[0, -1]] = False
    lever[~standing] = 0.0
    diagonal, beside = 1.0 + 2.0 * lever, -lever
    shift = np.zeros((frames, 2))
    for _ in range(ROUNDS):
        bent = np.zeros_like(shift)
        bent[1:-1] = np.diff(shift, 2, axis=0)
        now = point + shift - lever[:, None] * bent
        near = nearest_in_support(corners, counts, now)
        weight = standing / (1.0 + ((near - now) ** 2).sum(axis=1) / far**2)
        # rows of the zero-moment point: 1 + 2 lever on the diagonal, −lever beside it
        matrix = np.zeros((3, frames))
        matrix[0] += weight * diagonal**2 + stay
        matrix[0, 1:] += (weight * beside**2)[:-1]
        matrix[0, :-1] += (weight * beside**2)[1:]
        matrix[1, :-1] += (weight * diagonal * beside)[:-1] + (weight * diagonal * beside)[1:]
        matrix[2, :-2] += (weight * beside**2)[1:-1]
        matrix[0, :-2] += smooth
        matrix[0, 1:-1] += 4.0 * smooth
        matrix[0, 2:] += smooth
        matrix[1, :-2] -= 2.0 * smooth
        matrix[1, 1:-1] -= 2.0 * smooth
        matrix[2, :-2] += smooth
        asked = (near - point) * weight[:, None]
        right = diagonal[:, None] * asked - stay * shifted
        right[1:] += beside[:-1, None] * asked[:-1]
        right[:-1] += beside[1:, None] * asked[1:]
        shift = solveh_banded(matrix, right, lower=True)
    length = np.linalg.norm(shift, axis=1, keepdims=True)
    return shift * most / np.maximum(length + most, 1e-9) if most > 0.0 else shift
