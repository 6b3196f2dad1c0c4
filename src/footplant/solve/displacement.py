"""Displacement maps: a motion moved along a B-spline through displacements at some frames.

Lee & Shin, "A hierarchical approach to interactive motion editing for human-like figures" (SIGGRAPH 1999), section 4.1:
m(t) = m0(t) ⊕ d(t), with d a uniform cubic B-spline in the root's position and the joints' exponential coordinates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant.motion import Motion
from footplant.problem import Ik, Problem
from footplant.spline import fit_spline, smooth_envelope

PAPER_RATE = 30.0
"""Frame rate of the paper, fps, in whose frames knot spacings are given."""
LEAST_KNOTS = 2.0
"""Smallest knot spacing in frames of the clip: with one knot per frame nothing would be smooth."""


def displaced(
    motion: Motion, displacement: NDArray, frames: NDArray, spacing: float, least: float = LEAST_KNOTS
) -> Motion:
    """Return the whole clip moved by a B-spline fitted to displacements (n, 1+J, 3) at n frames.

    spacing: of the knots, in frames of 1/30 s. least: smallest knot spacing in frames of the clip.
    """
    from footplant.kernels import spline as kernel

    used = np.flatnonzero(displacement.any(axis=(0, 2)))
    if not len(used):
        return motion
    last = max(len(motion) - 1.0, 1.0)
    knots = max(spacing * motion.fps / PAPER_RATE, least)
    values = displacement[:, used].reshape(len(frames), -1)
    spline = fit_spline(frames, values, knots, 0.0, last)
    root, rotations = np.empty_like(motion.root), np.empty_like(motion.rotations)
    times = np.arange(len(motion)) / spline.spacing
    kernel.displace_along(spline.control, times, used, motion.root, motion.rotations, root, rotations)
    return motion.like(root, rotations, motion.offsets)


def fit_near(
    ik: Ik, motion: Motion, problem: Problem, frames: NDArray, unmet: NDArray, ease: float, spacing: float
) -> Motion:
    """Fit one more level around unmet frames (F,) bool; its displacement fades in and out over `ease` seconds."""
    half = max(round(ease * motion.fps), 1)
    share = np.minimum(smooth_envelope(unmet.astype(float), half), 1.0)[frames]
    near = frames[share > 0.0]
    before = motion[near]
    answer = ik.solve(before, problem.constraints, frames=near)
    away = share[share > 0.0, None, None] * (answer.motion - before)
    return displaced(motion, away, near, spacing, least=1.0)
