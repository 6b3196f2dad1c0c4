"""Jerk and acceleration by finite differences, in body heights and seconds, excluding cuts and an added T-pose.

Derivatives are differences of neighbouring frames times the frame rate: the n-th spans n + 1 frames and belongs to
their middle. They are not filtered: white noise of s metres gives a jerk of s·√20·fps³. Compare clips of one rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.stillness import continuous_segments, lead_in
from footplant.kinematics import Kinematics
from footplant.order import quantile


@dataclass(frozen=True)
class Smoothness:
    """Jerk and acceleration of a motion; None where the clip is too short."""

    jerk: float | None
    """RMS over joints and frames of the third derivative of joint positions, body heights per s³."""
    peak_acceleration: float | None
    """Largest second derivative of any joint position, body heights per s²."""
    joint_jerk_rms: float | None
    """RMS over moving joints and frames of the third derivative of joint rotations, rad/s³."""
    joint_jerk_p95: float | None
    """95th percentile of the same, rad/s³."""


def continuous_parts(kinematics: Kinematics, height: float) -> list[tuple[int, int]]:
    """Return (first, end) of the parts of a motion between its cuts, without a lead-in; `height` is the body's."""
    positions = kinematics.positions
    if len(positions) < 2:
        return []
    lead = lead_in(positions, kinematics.motion.fps, height)
    segments = continuous_segments(positions, kinematics.motion.fps, height)
    return [(max(first, lead), last) for first, last in segments if last > lead]


def smoothness(
    kinematics: Kinematics,
    height: float,
    joints: Sequence[int] | None = None,
    parts: Sequence[tuple[int, int]] | None = None,
) -> Smoothness:
    """Measure jerk and acceleration of all joints, or of some; `height` is the body's, metres.

    parts: (first, end) of the frames to measure; None: the parts of the motion between its cuts (`continuous_parts`).
    """
    motion = kinematics.motion
    parts = continuous_parts(kinematics, height) if parts is None else parts
    jerk, peak = jerk_and_peak(kinematics, height, joints, parts)
    moving = _moving_joints(motion.rotations, parts[0][0] if parts else 0)
    if joints is not None:
        moving = np.intersect1d(moving, motion.skeleton.require_joints(joints)).astype(np.int64)
    rotation_jerk = _rotation_jerk(motion.rotations, moving, parts)
    scale = motion.fps**3
    return Smoothness(
        jerk=jerk,
        peak_acceleration=peak,
        # not by a product of BLAS: its threads would be woken for it, and spin through all that follows
        joint_jerk_rms=float(np.sqrt(np.mean(np.square(rotation_jerk)))) * scale if len(rotation_jerk) else None,
        joint_jerk_p95=quantile(rotation_jerk, 0.95) * scale if len(rotation_jerk) else None,
    )


def jerk_and_peak(
    kinematics: Kinematics, height: float, joints: Sequence[int] | None, parts: Sequence[tuple[int, int]]
) -> tuple[float | None, float | None]:
    """Return `Smoothness.jerk` and `peak_acceleration` alone, of all or some joints, in frames (first, end)."""
    from footplant.quality import _smoothness as kernel

    fps = kinematics.motion.fps
    chosen = np.arange(len(kinematics.motion.skeleton)) if joints is None else np.array(joints, np.int64)
    places = np.zeros(2)
    for first, last in parts:
        kernel.position_differences(kinematics.positions, chosen, first, last, places)
    seconds, thirds = (sum(max(last - first - order, 0) for first, last in parts) * len(chosen) for order in (2, 3))
    return (
        float(np.sqrt(places[1] / thirds)) * fps**3 / height if thirds else None,
        float(places[0]) * fps**2 / height if seconds else None,
    )


def _moving_joints(rotations: NDArray, first: int) -> NDArray:
    """Return the joints that rotate after a frame: counting fixed ones would lower the jerk of skeletons with many."""
    from footplant.quality import _smoothness as kernel

    if len(rotations) <= first:
        return np.zeros(0, np.int64)
    same = np.empty(rotations.shape[1])
    kernel.smallest_dot(rotations, first, same)
    return np.flatnonzero(same < 1.0 - 1e-10)


def _rotation_jerk(rotations: NDArray, joints: NDArray, parts: Sequence[tuple[int, int]]) -> NDArray:
    """Return (N,) radians per frame³: second differences of the joints' angular velocities in their local frames."""
    from footplant.quality import _smoothness as kernel

    rows = [max(last - first - 3, 0) for first, last in parts]
    out, scratch, at = np.empty((sum(rows), len(joints))), np.empty((3, len(joints), 3)), 0
    for (first, last), count in zip(parts, rows):
        if count:
            kernel.angular_jerk(rotations, joints, first, last, scratch, out[at : at + count])
            at += count
    return out.ravel()
