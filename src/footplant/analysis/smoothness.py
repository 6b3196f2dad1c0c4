"""Jerk and acceleration by finite differences, in seconds and body heights, blind to cuts and to an added T-pose.

Derivatives are plain differences of neighbouring frames times the frame rate: the n-th spans n + 1 frames and belongs
to their middle. They are not smoothed: white noise of s metres gives a jerk of s·√20·fps³. Compare clips of one rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.analysis.stillness import continuous_segments, lead_in
from footplant.kinematics import Kinematics


@dataclass(frozen=True)
class Smoothness:
    """How jerky a motion is; None where the clip is too short to tell."""

    jerk: float | None
    """RMS over joints and frames of the third derivative of joint positions, body heights per s³."""
    peak_acceleration: float | None
    """Largest second derivative of any joint position, body heights per s²."""
    joint_jerk_rms: float | None
    """RMS over moving joints and frames of the third derivative of joint rotations, rad/s³."""
    joint_jerk_p95: float | None
    """95th percentile of the same, rad/s³."""


def uncut(kinematics: Kinematics, height: float) -> list[tuple[int, int]]:
    """(first, end) of the parts of a motion between its cuts, without an added T-pose; `height` is the body's."""
    positions = kinematics.positions
    if len(positions) < 2:
        return []
    lead = lead_in(positions, height)
    segments = continuous_segments(positions, kinematics.motion.fps, height)
    return [(max(first, lead), last) for first, last in segments if last > lead]


def smoothness(
    kinematics: Kinematics,
    height: float,
    joints: Sequence[int] | None = None,
    parts: Sequence[tuple[int, int]] | None = None,
) -> Smoothness:
    """Measure positions and rotations of all joints, or of some; `height` is the body's, metres.

    parts: (first, end) of the frames to measure; None: the motion's own, see `uncut`.
    """
    from footplant.kernels import smoothness as kernel

    motion, fps = kinematics.motion, kinematics.motion.fps
    parts = uncut(kinematics, height) if parts is None else parts
    chosen = np.arange(len(motion.skeleton)) if joints is None else np.array(joints, np.int64)
    moving = np.intersect1d(_moving_joints(motion.rotations, parts[0][0] if parts else 0), chosen)
    places, turns = np.zeros(2), [np.zeros(0)]
    for first, last in parts:
        kernel.place_differences(kinematics.positions, chosen, first, last, places)
        if last - first > 3:
            turns.append(_rotation_jerk(motion.rotations, moving, first, last, fps).ravel())
    turn = np.concatenate(turns)
    seconds, thirds = (sum(max(last - first - order, 0) for first, last in parts) * len(chosen) for order in (2, 3))
    return Smoothness(
        jerk=float(np.sqrt(places[1] / thirds)) * fps**3 / height if thirds else None,
        peak_acceleration=float(places[0]) * fps**2 / height if seconds else None,
        joint_jerk_rms=float(np.sqrt(np.mean(turn**2))) if turn.size else None,
        joint_jerk_p95=float(np.percentile(turn, 95)) if turn.size else None,
    )


def accelerations(kinematics: Kinematics, joints: Sequence[int], parts: Sequence[tuple[int, int]]) -> NDArray:
    """(F, n) how fast joints accelerate, m/s²; 0 outside the parts and at their first and last frames."""
    out = np.zeros((len(kinematics.frames), len(joints)))
    for first, last in parts:
        if last - first > 2:
            bends = np.diff(kinematics.positions[first:last, joints], n=2, axis=0)
            out[first + 1 : last - 1] = np.linalg.norm(bends, axis=2) * kinematics.motion.fps**2
    return out


def _moving_joints(rotations: NDArray, first: int) -> NDArray:
    """Joints that turn at all since a frame: counting fixed ones would make a figure with more of them smoother."""
    from footplant.kernels import smoothness as kernel

    if len(rotations) <= first:
        return np.zeros(0, np.int64)
    same = np.empty(rotations.shape[1])
    kernel.least_alike(rotations, first, same)
    return np.flatnonzero(same < 1.0 - 1e-10)


def _rotation_jerk(rotations: NDArray, joints: NDArray, first: int, last: int, fps: float) -> NDArray:
    """(F−3, n) rad/s³: second differences of the angular velocity between frames, in the joint's own frame."""
    from footplant.kernels import smoothness as kernel

    out = np.empty((last - first - 3, len(joints)))
    kernel.turn_differences(rotations, joints, first, last, np.empty((3, len(joints), 3)), out)
    return out * fps**3
