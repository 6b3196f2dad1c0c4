"""Poses from markers: Levenberg–Marquardt on every frame by itself, robust to outliers.

The objective at a frame is Σ ρ(|marker − target|²/σ²) + |K log(n⁻¹ q)|²: the markers' misfit with a robust loss (Geman
& McClure), and the rotation from a prior pose n, stiff where joints hardly move. See `_pose` for every term.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.optical.body import MarkerBody, PosedBody, Poses
from footplant.optical.settings import NOISE, POSE


@dataclass(frozen=True, eq=False)
class PosePrior:
    """The poses that joints are pulled to where markers do not determine them."""

    rotations: NDArray
    """(J, 4) or (F, J, 4) local rotations."""
    stiffness: NDArray | None = None
    """(F, A) factor of each active joint's stiffness; None: 1."""

    def tables(self, body: MarkerBody):
        """Return the prior as kernels take it: with an axis for the frames, which may have length one."""
        from footplant.optical import _pose as kernel

        rotations = self.rotations if self.rotations.ndim == 3 else self.rotations[None]
        stiffness = np.ones((1, len(body.active))) if self.stiffness is None else self.stiffness
        return kernel.PosePriors(rotations, stiffness)


def solve_poses(
    body: MarkerBody,
    bones: NDArray,
    offsets: NDArray,
    targets: NDArray,
    start: Poses,
    *,
    spread: NDArray | float = NOISE.soft_tissue,
    prior: PosePrior | None = None,
    outlier: NDArray | float = NOISE.outlier,
    iterations: int = 12,
    warm: bool = False,
) -> Poses:
    """Solve for poses whose markers are where they were seen; targets (F, M, 3) metres, NaN where hidden.

    spread: metres, standard deviation of a marker on its segment; outlier: metres from which it counts as an outlier;
    both (M,) or one for all. warm: the frames are consecutive, and each may start from the pose of the one before it.
    """
    from footplant.optical import _pose as kernel

    root, local = np.array(start.root), np.array(start.rotations)
    priors = (prior or PosePrior(body.neutral)).tables(body)
    weights = kernel.MarkerWeights(_each(body, 1.0 / np.square(spread)), _each(body, outlier))
    search = kernel.PoseSearch(warm, iterations, POSE.enough)
    lengths = (np.array(bones)[None], np.array(offsets))
    kernel.solve(body.tables(), lengths, weights, np.array(targets), priors, search, root, local)
    return Poses(root, local)


def _each(body: MarkerBody, value: NDArray | float) -> NDArray:
    """Return (M,) a value for every marker."""
    return np.broadcast_to(value, (len(body.placements),)).astype(float)


def marker_weights(misfit: NDArray, seen_at: NDArray, outlier: NDArray | float) -> NDArray:
    """Return weights (F, M): 1 for a marker that fits, less for one that is far off, 0 for a hidden one."""
    share = 1.0 / (1.0 + np.sum(misfit**2, axis=-1) / np.square(outlier))
    return np.where(seen_at, share * share, 0.0)


def normal_equations(
    body: MarkerBody,
    seen: PosedBody,
    poses: Poses,
    targets: NDArray,
    prior: PosePrior,
    *,
    spread: NDArray | float = NOISE.soft_tissue,
    outlier: NDArray | float = NOISE.outlier,
) -> tuple[NDArray, NDArray, NDArray]:
    """Return the Gauss–Newton Hessian (F, D, D) and gradient (F, D) of half the cost by poses, and the costs (F,)."""
    from footplant.optical import _pose as kernel

    count, size = len(targets), 3 + 3 * len(body.active)
    hessian, gradient, costs = np.empty((count, size, size)), np.empty((count, size)), np.empty(count)
    weights = kernel.MarkerWeights(_each(body, 1.0 / np.square(spread)), _each(body, outlier))
    posed = kernel.PosedMarkers(seen.places, seen.joints, seen.turned)
    kernel.equations(
        body.tables(), weights, posed, targets, prior.tables(body), poses.rotations, (hessian, gradient), costs
    )  # fmt: skip
    below = np.tril(hessian, -1)
    return np.tril(hessian) + below.transpose(0, 2, 1), gradient, costs
