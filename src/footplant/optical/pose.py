"""Poses from markers: Levenberg–Marquardt on every frame by itself, robust to outliers.

What is minimised at a frame is Σ ρ(|marker − seen|²/σ²) + |K log(n⁻¹ q)|²: the markers' misfit, in which those that lie
far off count less and less (Geman & McClure), and the turns from a neutral pose, stiff where joints do not turn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.optical.body import BACK, MarkerBody, Poses, Seen

SKIN = 0.008
"""Metres that a marker moves on the skin, one way, give or take, as long as nothing is known of it."""
OUTLIER = 0.06
"""Metres from which on a marker is likelier to be another one than to have moved on the skin."""
ENOUGH = 1e-4
"""Share of the cost that a step must gain to be followed by another one."""


@dataclass(frozen=True, eq=False)
class Prior:
    """What poses are drawn to where markers do not tell."""

    rotations: NDArray
    """(J, 4) or (F, J, 4) local rotations."""
    firm: NDArray | None = None
    """(F, A) how many times stiffer than usual each active joint holds to them; None: as usual."""

    def tables(self, body: MarkerBody) -> tuple[NDArray, NDArray]:
        """Both as kernels take them: with an axis for the frames, which may be of length one."""
        rotations = self.rotations if self.rotations.ndim == 3 else self.rotations[None]
        return rotations, np.ones((1, len(body.active))) if self.firm is None else self.firm


def solve_poses(
    body: MarkerBody,
    bones: NDArray,
    offsets: NDArray,
    targets: NDArray,
    start: Poses,
    *,
    spread: NDArray | float = SKIN,
    prior: Prior | None = None,
    outlier: NDArray | float = OUTLIER,
    iterations: int = 12,
    warm: bool = False,
) -> Poses:
    """Poses whose markers are where they were seen; targets (F, M, 3) metres, NaN where hidden.

    spread: metres that a marker moves on its segment, give or take; outlier: from which on it is taken for something
    else; both (M,) or of all. warm: the frames follow each other, and each may begin at the pose of the one before it.
    """
    from footplant.optical import _pose as marker_pose

    root, local = np.array(start.root), np.array(start.rotations)
    held, firm = (prior or Prior(body.neutral)).tables(body)
    marker_pose.solve(
        body.base.skeleton.parents, np.array(bones)[None], body.segments, np.array(offsets), body.rows,
        np.array(targets), _each(body, 1.0 / np.square(spread)), _each(body, outlier), held, body.active, body.axes,
        body.spreads, body.one_way, body.mates, body.alike, BACK, firm, warm, iterations, ENOUGH, root, local,
    )  # fmt: skip
    return Poses(root, local)


def _each(body: MarkerBody, value: NDArray | float) -> NDArray:
    """(M,) a value for every marker."""
    return np.broadcast_to(value, (len(body.stuck),)).astype(float)


def marker_weights(misfit: NDArray, seen_at: NDArray, outlier: NDArray | float) -> NDArray:
    """(F, M) how much each marker counts: 1 where it is, less and less where it is far off, 0 where it is hidden."""
    share = 1.0 / (1.0 + np.sum(misfit**2, axis=-1) / np.square(outlier))
    return np.where(seen_at, share * share, 0.0)


def normal_equations(
    body: MarkerBody,
    seen: Seen,
    poses: Poses,
    targets: NDArray,
    prior: Prior,
    *,
    spread: NDArray | float = SKIN,
    outlier: NDArray | float = OUTLIER,
) -> tuple[NDArray, NDArray, NDArray]:
    """Hessian (F, D, D) and gradient (F, D) of half the cost by a step of the poses (Gauss, Newton), and costs (F,)."""
    from footplant.optical import _pose as marker_pose

    count, size = len(targets), 3 + 3 * len(body.active)
    hessian, gradient, costs = np.empty((count, size, size)), np.empty((count, size)), np.empty(count)
    held, firm = prior.tables(body)
    marker_pose.equations(
        body.base.skeleton.parents, body.segments, body.rows, seen.places, seen.joints, seen.turned, targets,
        _each(body, 1.0 / np.square(spread)), _each(body, outlier), held, poses.rotations, body.active, body.axes,
        body.spreads, body.one_way, body.mates, body.alike, BACK, firm, hessian, gradient, costs,
    )  # fmt: skip
    below = np.tril(hessian, -1)
    return np.tril(hessian) + below.transpose(0, 2, 1), gradient, costs
