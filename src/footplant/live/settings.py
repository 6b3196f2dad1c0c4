"""Tuning numbers of the live engines: driving, clocks, streams and calibration poses.

Where a field names no experiment, none is on record. Limits of parsers and sockets are constants
of their modules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class ControllerSettings:
    """How motions are prepared and played (`tables`, `controller`)."""

    rate: float = 120.0
    """Frames per second of all tables."""
    phases: int = 512
    """Cells of a cycle in which the times of gaits are tabulated."""
    smooth: float = 0.75
    """Fraction of a cycle over which the playback rate of a gait is low-passed. Halved, gaits follow each other's foot
    strikes more closely, but speed up and slow down within a cycle."""
    bins: float = 30.0
    """Frames per second at which the best phase to enter a gait is tabulated."""
    added_acceleration: float = 0.5
    """Largest acceleration added by a transition, as a fraction of the clips' own."""
    longest_fade: float = 1.5
    """Seconds; longest transition, unless the set asks for more."""
    same: float = 1.25
    """A phase of a gait matches the start of an action up to this many times the smallest frame distance."""
    longest_step: float = 0.05
    """Seconds; a longer step is divided."""
    ramp: float = 0.15
    """Seconds in which a released foot returns to the motion."""


@dataclass(frozen=True)
class ClockSettings:
    """Clock synchronisation (`clock`)."""

    jump: float = 0.5
    """Seconds of difference from the estimate at which a sender's clock has been reset."""
    earlier: float = 0.2
    """Gain of the offset for poses that arrive earlier than expected. Latency can only add time, so early arrivals
    determine the offset."""
    later: float = 0.005
    """Gain of the offset for poses that arrive later than expected."""
    rate_gain: float = 0.1
    """Gain of the running mean of intervals."""


@dataclass(frozen=True)
class StreamSettings:
    """How samples of a stream become poses (`actor`)."""

    first_frames: int = 5
    """Samples from which proportions are measured without a calibration pose."""
    held: float = 1.0
    """Seconds for which a calibration pose has to be held."""
    late: float = 1.6
    """Intervals after which a pose that has not arrived is missed."""
    early: float = 0.002
    """Seconds by which a pose may be older than what is shown and still count."""
    most_behind: int = 3
    """Consecutive poses that may arrive too late before the clock offset is estimated anew."""
    position_noise: float = 0.002
    """Metres per axis; assumed sensor noise."""
    rotation_noise: float = math.radians(1.0)
    """Radians per axis; assumed sensor noise."""


@dataclass(frozen=True)
class CalibrationPoseSettings:
    """When a calibration pose is accepted (`performer`)."""

    missing: float = 0.5
    """Fraction of the frames in which a bone has to be present to become a joint."""
    still_metres: float = 0.05
    """Metres that the hips may move while the pose is held."""
    still_radians: float = math.radians(8.0)
    """Radians that a bone may rotate while the pose is held."""
    upright: float = math.cos(math.radians(25.0))
    """Cosine of the largest tilt of the trunk."""
    sideways: float = math.cos(math.radians(35.0))
    """Cosine of the largest angle of the arms from the horizontal in a T-pose."""
    downwards: float = math.cos(math.radians(35.0))
    """Cosine of the largest angle of the arms from the vertical in an N-pose."""


CONTROLLER = ControllerSettings()
CLOCK = ClockSettings()
STREAM = StreamSettings()
CALIBRATION_POSE = CalibrationPoseSettings()
