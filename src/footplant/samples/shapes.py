"""Parameters of the sample gaits.

The walk was fitted once, by least squares, to hip, knee and ankle curves half-way between the textbook averages of an
adult at natural speed and the mean of five recorded walkers, with penalties on sudden changes of joint velocity, on
toes that come nearer than 13 mm to the ground during swing, and on a heel that drifts at landing. The run was fitted
in the same way to curves drawn by hand, with the knee up to about 95 degrees in swing; its timing and that of pelvis
and arms were moved towards one recorded run. So `benchmarks/gait_against_capture.py`, which measures the result,
includes people used in the fit. The other gaits are variations made by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from footplant.samples.curves import State, Waves
from footplant.samples.footsteps import Swing

DEGREE = np.pi / 180
GRAVITY = 9.81


@dataclass(frozen=True)
class FootShape:
    """Roll and swing of one foot in a gait. Derivatives are per cycle."""

    phase: float
    """Phase of the foot strike in the cycle, 0 to 1."""
    reach: float
    """Distance of the strike ahead of the pelvis's mean position at that time, metres."""
    events: tuple[float, float, float, float]
    """Sole flat, heel-off, ball-off, toe-off: cycles after the strike."""
    landing: State
    """Pitch at the strike, radians, toes up."""
    leaving: State
    """Foot pitch at toe-off."""
    leaving_toe: State
    """Toe pitch at toe-off."""
    settle: float
    """Angular acceleration when the sole becomes flat, radians per cycle²."""
    rise: float
    """Angular acceleration at heel-off, radians per cycle²."""
    swing: Swing
    """The swing phase; push and brake in metres per cycle²."""


@dataclass(frozen=True)
class GaitShape:
    """A gait of the mannequin: metres, seconds and radians at its natural speed."""

    stride: float
    """Metres from one strike of a foot to its next."""
    cycle: float
    """Duration of a stride, seconds."""
    feet: dict[str, FootShape]
    """Both sides."""
    width: float
    """Lateral distance between the heels, metres."""
    toe_out: float
    """Heading of a foot relative to the path, radians, outwards."""
    height: Waves
    """Height of the pelvis joint, metres."""
    forward: Waves
    """Displacement of the pelvis ahead of steady progress, metres."""
    sideways: Waves
    """Displacement to the left, metres."""
    pelvis: tuple[Waves, Waves, Waves]
    """Forward tilt, rotation to the left, left hip up."""
    trunk: tuple[Waves, Waves, Waves]
    """Thorax relative to the pelvis: bend forward, rotation to the left, lean to the right."""
    arm: dict[str, Waves]
    """Angles of the left arm (`body.ARM`); the right arm follows half a cycle later."""
    gaze: float = 0.06
    """Downward gaze, radians."""
    arms: dict[str, dict[str, Waves]] = field(default_factory=dict)
    """Angles of one side that differ from `arm`, by phase of the whole cycle."""


def state(value: float, rate: float = 0.0, change: float = 0.0) -> State:
    """Return a state from degrees, degrees per cycle and degrees per cycle²."""
    return value * DEGREE, rate * DEGREE, change * DEGREE


def peak(harmonic: int, amplitude: float, phase: float) -> tuple[float, float, float]:
    """Return a row of a Fourier series: a cosine that peaks at a phase; the amplitude may be in degrees."""
    angle = 2 * np.pi * harmonic * phase
    return harmonic, amplitude * np.cos(angle), amplitude * np.sin(angle)


def degrees(*rows: tuple[float, float, float]) -> Waves:
    """Return a Fourier series given in degrees."""
    return tuple((harmonic, cosine * DEGREE, sine * DEGREE) for harmonic, cosine, sine in rows)


def mean(value: float) -> tuple[float, float, float]:
    """Return the row of a Fourier series that is its mean."""
    return 0, value, 0.0


def symmetric(foot: FootShape) -> dict[str, FootShape]:
    """Return both feet alike, the right one half a cycle later."""
    return {"left": foot, "right": replace(foot, phase=(foot.phase + 0.5) % 1.0)}


WALK = GaitShape(
    stride=1.42,
    cycle=1.42 / 1.35,
    feet=symmetric(
        FootShape(
            phase=0.0,
            reach=0.2609,
            events=(0.0929, 0.3620, 0.5337, 0.6112),
            landing=state(17.14, -269.4, -1736),
            leaving=state(-58.00, -350.3, -1726),
            leaving_toe=state(-30.72, -729.6, 6022),
            settle=7107 * DEGREE,
            rise=-2800 * DEGREE,
            swing=Swing(
                forward=(-0.01559, -0.07088, 0.15266, -0.22019),
                lift=(-0.13180, -0.05960, -0.04893, 0.30148, -0.24341),
                pitch=(9.38 * DEGREE, -32.64 * DEGREE, 7.69 * DEGREE, -151.61 * DEGREE),
                push=(-4.831, 41.65),
                brake=(-20.28, 15.62),
            ),
        )
    ),
    width=0.10,
    toe_out=6 * DEGREE,
    height=(mean(0.9041), (2, -0.01575, -0.00280), (4, 0.0001, -0.0016)),
    forward=((2, 0.0128, 0.0027),),
    sideways=(peak(1, 0.022, 0.31),),
    pelvis=(
        degrees(mean(3), (2, 0.0, 1.2)),
        degrees(peak(1, -4.5, 0.0)),
        degrees(peak(1, 4.2, 0.17)),
    ),
    trunk=(degrees(mean(-1)), degrees(peak(1, 7.0, 0.0)), degrees(peak(1, 3.6, 0.17))),
    arm={
        "swing": degrees(mean(-3.5), peak(1, 14.9, 0.47)),
        "elbow": degrees(mean(27), peak(1, 11, 0.49)),
    },
)

RUN = replace(
    WALK,
    stride=2.25,
    cycle=0.75,
    feet=symmetric(
        FootShape(
            phase=0.0,
            reach=0.1686,
            events=(0.0600, 0.1672, 0.2834, 0.3380),
            landing=state(12.44, -396.2, -4888),
            leaving=state(-50.82, -214.5, -1119),
            leaving_toe=state(-17.30, -604.1),
            settle=12130 * DEGREE,
            rise=-2982 * DEGREE,
            swing=Swing(
                forward=(0.02714, -0.40873, 0.05548, -0.08158, -0.04603),
                lift=(-0.19169, -0.13039, -0.25706, 0.12149, -0.10635),
                pitch=(-18.66 * DEGREE, -18.31 * DEGREE, -10.84 * DEGREE, -124.47 * DEGREE),
                push=(-15.12, 20.15),
                brake=(-18.80, 27.60),
            ),
        )
    ),
    width=0.05,
    # a wave of this height at this cadence falls with about the acceleration of gravity around its peak, in flight
    height=(mean(0.8950), peak(2, 0.0365, 0.386)),
    forward=((2, 0.0094, 0.0114), (4, 0.0022, -0.0014)),
    sideways=(peak(1, 0.012, 0.18),),
    pelvis=(
        degrees(mean(7), (2, 0.0, 1.0)),
        degrees(peak(1, -7, 0.02)),
        degrees(peak(1, 4, 0.14)),
    ),
    trunk=(degrees(mean(1)), degrees(peak(1, 16, 0.02)), degrees(peak(1, 3.0, 0.14))),
    arm={
        "swing": degrees(mean(-20), peak(1, 21.5, 0.325)),
        "spread": degrees(mean(9)),
        "twist": degrees(mean(16)),
        "elbow": degrees(mean(98), peak(1, 9.5, 0.28), peak(2, 4.5, 0.34)),
        "shrug": degrees(mean(2)),
    },
    gaze=0.03,
)

SNEAK = replace(
    WALK,
    stride=0.96,
    cycle=1.8,
    feet=symmetric(
        FootShape(
            phase=0.0,
            reach=0.17,
            events=(0.14, 0.41, 0.60, 0.66),
            landing=state(-16, 90),
            leaving=state(-48, -230),
            leaving_toe=state(-16, -330),
            settle=0.0,
            rise=-1200 * DEGREE,
            swing=Swing(forward=(0.02, 0.0), lift=(0.17, 0.03), pitch=(-6 * DEGREE, -30 * DEGREE)),
        )
    ),
    width=0.14,
    toe_out=9 * DEGREE,
    height=(mean(0.81), (2, -0.012, -0.018), (4, 0.003, 0.002)),
    forward=((2, 0.004, -0.006),),
    sideways=(peak(1, 0.048, 0.33),),
    pelvis=(
        degrees(mean(13), (2, 0.0, 1.5)),
        degrees(peak(1, -7, 0.0)),
        degrees(peak(1, 3.0, 0.2)),
    ),
    trunk=(degrees(mean(16), (2, 1.5, 1.0)), degrees(peak(1, 10, 0.02)), degrees(peak(1, 4.0, 0.25))),
    arm={
        "swing": degrees(mean(22), peak(1, 16, 0.5)),
        "spread": degrees(mean(20)),
        "twist": degrees(mean(18)),
        "elbow": degrees(mean(78), peak(1, 14, 0.5)),
        "wrist": degrees(mean(-15)),
        "shrug": degrees(mean(5)),
    },
    gaze=0.1,
)


def _limping() -> GaitShape:
    """Return a gait that spares the right leg: it strikes late, leaves early and stiff, and the trunk leans over it."""
    left = replace(WALK.feet["left"], reach=0.19, events=(0.10, 0.47, 0.63, 0.68))
    swing = left.swing
    right = replace(
        left,
        phase=0.59,
        reach=0.17,
        events=(0.07, 0.33, 0.47, 0.51),
        landing=state(7, -110, 1000),
        leaving=state(-34, -200, 1500),
        leaving_toe=state(-11, -300),
        settle=1500 * DEGREE,
        rise=0.0,
        swing=Swing(
            forward=(-0.03, -0.05, 0.0),
            lift=(0.05, 0.01),
            pitch=(-2 * DEGREE, -22 * DEGREE),
            outward=(0.03, 0.0),
        ),
    )
    left = replace(
        left,
        landing=state(14, -230, 3000),
        leaving=state(-46, -260, 2400),
        leaving_toe=state(-15, -400),
        settle=4000 * DEGREE,
        rise=-700 * DEGREE,
        swing=replace(
            swing,
            forward=(-0.02, -0.05, 0.02),
            lift=(0.075, 0.01),
            pitch=(-8 * DEGREE, -35 * DEGREE),
            push=(0, 0),
            brake=(0, 0),
        ),
    )
    return replace(
        WALK,
        stride=1.02,
        cycle=1.28,
        feet={"left": left, "right": right},
        width=0.13,
        height=(mean(0.912), (2, -0.008, -0.006), (1, 0.010 * np.cos(1.9), 0.010 * np.sin(1.9))),
        forward=((2, 0.008, 0.002), peak(1, 0.018, 0.75)),
        sideways=(peak(1, 0.034, 0.36),),
        pelvis=(degrees(mean(5), (2, 0.0, 1.2)), degrees(peak(1, -3.5, 0.0)), degrees(peak(1, 5.0, 0.25))),
        trunk=(degrees(mean(3), peak(1, 3.0, 0.85)), degrees(peak(1, 5.0, 0.0)), degrees(peak(1, 9.0, 0.84))),
        arm={"swing": degrees(mean(0), peak(1, 12, 0.52)), "elbow": degrees(mean(30), peak(1, 7, 0.55))},
        arms={"right": {"spread": degrees(mean(14), peak(1, 6, 0.85)), "elbow": degrees(mean(44), peak(1, 8, 0.85))}},
        gaze=0.16,
    )


LIMP = _limping()
