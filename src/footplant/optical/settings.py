"""Tuning numbers of the marker solver: noise, poses, calibration, priors, guessing and smoothing.

Where a field names no experiment, none is on record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class MarkerNoiseSettings:
    """How far markers are from where a rigid body has them."""

    soft_tissue: float = 0.008
    """Metres, standard deviation per axis of a marker's motion on its segment (soft-tissue artefact), as long as
    nothing is known about it."""
    outlier: float = 0.06
    """Metres from which a marker is more likely mislabelled than moved on the skin. Doubled, swapped markers pull
    harder."""
    swapped: float = 0.03
    """Metres within which a marker must be of another one's position to be taken for it."""


@dataclass(frozen=True)
class PoseSettings:
    """Prior of poses and termination of the solver; angles in radians."""

    free: float = 3.0
    """Spread of a joint that is free to rotate."""
    hyperextension: float = 0.03
    """Spread of a knee or elbow that bends the wrong way."""
    vertebrae: float = 0.04
    """Spread of the difference between neighbouring vertebrae. A spine bends as a whole: with independent joints it
    would buckle and fit the noise along it."""
    head: float = 0.15
    """Spread of the difference between head and neck."""
    other: float = 0.02
    """Spread of joints without a role."""
    hanging: float = 1.2
    """Angle by which arms hang down from the T-pose in the neutral pose."""
    enough: float = 1e-4
    """Fraction of the cost that a step must gain to be followed by another."""
    held: float = 12.0
    """Factor of the stiffness of a joint towards the interpolated pose in a gap of its markers."""


@dataclass(frozen=True)
class CalibrationSettings:
    """How body lengths and marker positions are estimated from a take."""

    frames: int = 96
    """Number of frames used."""
    rounds: int = 60
    """Largest number of steps."""
    enough: float = 3e-4
    """Fraction of the cost that a step must gain to be followed by another."""
    roughly: float = 3e-3
    """The same before the markers' noise has been measured."""
    measured: int = 2
    """How many times the markers' motion on the skin is measured."""
    learned: int = 6
    """How many times the spreads of the body prior are updated."""
    far_off: float = 8.0
    """Outlier distance of a marker in multiples of its own noise."""
    least_outlier: float = 0.012
    """Metres; smallest outlier distance."""
    odd: float = 0.03
    """Metres; residual at which a frame is left out, and distance from neighbouring frames at which a marker jumped."""
    enough_fps: float = 100.0
    """Frames per second from which no real marker reverses by `odd` between two frames."""
    cameras: float = 0.0015
    """Metres per axis; largest camera noise. Residuals beyond it are soft-tissue motion."""
    slides: float = 10.0
    """Soft tissue moves with the pose, alike in all frames, so residuals show only one part in this many."""
    finest: float = 0.0002
    """Metres per axis; smallest camera noise after smoothing."""
    exchanged: float = 25.0
    """A squared residual this many times the marker's median belongs to another marker."""
    same: float = 1.5
    """Ratio of a marker's squared residual to that of all markers that may be chance."""
    window: float = 0.04
    """Seconds before and after a frame over which marker positions are smoothed."""
    redundancy: float = 12.0
    """Number of frames that contain the information of one: neighbours are smoothed together, and rotations that are
    only noise count, too."""
    fewest: int = 6
    """Smallest number of markers of a frame that is posed at all."""
    longest_turn: float = 0.3
    """Radians; largest change of the mean pose in one step."""
    clean: float = 6.0
    """`State.redundancy` from which markers hardly slide on the skin."""


@dataclass(frozen=True)
class AttachmentSettings:
    """When a marker near a joint is moved to the other segment."""

    astray: float = 4.0
    """Distance of a marker from its landmark, in spreads, at which other segments are tried."""
    likelier: float = 60.0
    """Twice the gain in log-likelihood at which another segment is accepted."""
    least_residual: float = 1e-4
    """Metres; lower bound of a marker's residual in the likelihood."""


@dataclass(frozen=True)
class BodyPriorSettings:
    """What is known of people before a take."""

    scale: float = 0.25
    """Relative standard deviation of people's size."""
    length: float = 0.03
    """Relative standard deviation of people's proportions."""
    posture: float = 0.1
    """Radians; standard deviation of people's mean pose from the neutral one at a joint of the trunk."""
    guessed: float = 0.05
    """Metres; standard deviation of a marker position that was guessed from a pose."""
    tails: float = 4.0
    """Degrees of freedom of Student's t for the distance of a marker from its landmark; fewer: outliers count less."""
    prior_counts: Mapping[str, float] = field(default_factory=lambda: {"lengths": 0.05, "bones": 1.0, "limbs": 2.0})
    """Group → how many observations the prior spread is worth."""
    exact: float = 0.4
    """Markers placed by a program are nearer to their landmarks than this fraction of the usual spread; others were
    placed by hand."""
    narrowest: float = 0.05
    """Smallest factor by which a take may change a group's spread."""
    widest: float = 10.0
    """Largest factor by which a take may change a group's spread."""
    widest_sliding: Mapping[str, float] = field(
        default_factory=lambda: {"lengths": 5.0 / 3.0, "bones": 1.0, "limbs": 1.0}
    )
    """The same, by group, where markers slide on the skin, which looks like other lengths."""


@dataclass(frozen=True)
class GuessSettings:
    """How unlabelled markers are assigned to segments."""

    turns: int = 72
    """Headings tried."""
    head_room: float = 0.03
    """Height of the crown above the highest marker, as a fraction of the height."""
    lowest: float = 0.02
    """Metres above the floor of the lowest marker on the mannequin."""
    settle: int = 4
    """Iterations of the shift to the nearest landmarks (ICP)."""
    slack: float = 0.2
    """Fraction of a landmark's spread within which a marker's distance costs nothing."""
    fewest: int = 12
    """Smallest number of visible markers."""


@dataclass(frozen=True)
class SmoothingSettings:
    """How a whole take is smoothed."""

    turning: float = 100.0
    """rad/s²; standard deviation of angular accelerations. Halved, the motion is smoother and follows markers less."""
    travelling: float = 15.0
    """m/s²; standard deviation of the root's acceleration."""
    window: int = 480
    """Frames solved at once."""
    overlap: int = 60
    """Frames that two windows share, over which one is crossfaded into the other."""
    rounds: int = 2
    """How often the system is linearised."""


NOISE = MarkerNoiseSettings()
POSE = PoseSettings()
CALIBRATION = CalibrationSettings()
ATTACHMENT = AttachmentSettings()
BODY_PRIOR = BodyPriorSettings()
GUESS = GuessSettings()
SMOOTHING = SmoothingSettings()
