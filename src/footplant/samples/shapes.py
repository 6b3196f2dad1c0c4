"""The gaits of the samples in numbers.

The walk was fitted once, by least squares, to the published hip, knee and ankle curves of an adult at natural speed
(averages of gait laboratories, as in Perry & Burnfield 2010 and Winter 2009), with penalties on joint accelerations, on
a pelvis that moves otherwise than measured, and on toes that come nearer than 12 mm to the floor while they swing. No
recorded clip went into it. The other gaits are variations of it made by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from footplant.samples.curves import State, Waves
from footplant.samples.footsteps import Swing

DEGREE = np.pi / 180


@dataclass(frozen=True)
class FootShape:
    """How one foot of a gait rolls and swings. Derivatives are per cycle."""

    phase: float
    """When in the cycle the foot strikes, 0 to 1."""
    reach: float
    """Metres that the heel strikes ahead of the place where the pelvis is on average then."""
    events: tuple[float, float, float, float]
    """Flat, heel off, ball off, toe off: cycles after the strike."""
    landing: State
    """Pitch at the strike, radians, toes up."""
    leaving: State
    """Pitch of the foot when the toes leave."""
    leaving_toe: State
    """Pitch of the toes when they leave."""
    settle: float
    """Angular acceleration with which the sole comes down flat, radians per cycle²."""
    rise: float
    """Angular acceleration with which the heel leaves, radians per cycle²."""
    swing: Swing
    """The way through the air."""


@dataclass(frozen=True)
class GaitShape:
    """A gait of the mannequin: metres, seconds and radians at its natural speed."""

    stride: float
    """Metres from one strike of a foot to its next."""
    cycle: float
    """Seconds of it."""
    feet: dict[str, FootShape]
    """Both sides."""
    width: float
    """Metres between the heels' lines."""
    toe_out: float
    """Heading of a foot against the path, radians, outwards."""
    height: Waves
    """Height of the pelvis joint, metres."""
    forward: Waves
    """Metres that the pelvis is ahead of steady progress."""
    sideways: Waves
    """Metres to the left."""
    pelvis: tuple[Waves, Waves, Waves]
    """Forward tilt, turn to the left, left hip up."""
    trunk: tuple[Waves, Waves, Waves]
    """Thorax against pelvis: bend forward, turn to the left, lean to the right."""
    arm: dict[str, Waves]
    """Angles of the left arm (`body.ARM`); the right arm does the same half a cycle later."""
    gaze: float = 0.06
    """How far down the eyes look, radians."""
    arms: dict[str, dict[str, Waves]] = field(default_factory=dict)
    """Angles of one side that differ from `arm`, with the phases of the whole cycle."""


def state(value: float, rate: float = 0.0, change: float = 0.0) -> State:
    """A state from degrees, degrees per cycle and per cycle²."""
    return value * DEGREE, rate * DEGREE, change * DEGREE


def peak(harmonic: int, amplitude: float, phase: float) -> tuple[float, float, float]:
    """A row of a Fourier series: a cosine with its peak at a phase of the cycle; the amplitude may be in degrees."""
    angle = 2 * np.pi * harmonic * phase
    return harmonic, amplitude * np.cos(angle), amplitude * np.sin(angle)


def degrees(*rows: tuple[float, float, float]) -> Waves:
    """A Fourier series given in degrees."""
    return tuple((harmonic, cosine * DEGREE, sine * DEGREE) for harmonic, cosine, sine in rows)


def mean(value: float) -> tuple[float, float, float]:
    """The row of a Fourier series that is its mean."""
    return 0, value, 0.0


def symmetric(foot: FootShape) -> dict[str, FootShape]:
    """Both feet alike, the right one half a cycle later."""
    return {"left": foot, "right": replace(foot, phase=(foot.phase + 0.5) % 1.0)}


WALK = GaitShape(
    stride=1.42,
    cycle=1.42 / 1.35,
    feet=symmetric(
        FootShape(
            phase=0.0,
            reach=0.2808,
            events=(0.095, 0.355, 0.555, 0.615),
            landing=state(17.43, -290.5, 4742),
            leaving=state(-60.06, -343.9, 3364),
            leaving_toe=state(-19.63, -524.3),
            settle=5864 * DEGREE,
            rise=-1060 * DEGREE,
            swing=Swing(
                forward=(-0.0125, -0.1003, 0.0458, -0.0598),
                lift=(-0.1842, -0.0168, -0.0495, -0.0351),
                pitch=(-11.11 * DEGREE, -59.84 * DEGREE, -15.22 * DEGREE),
                push=(11.95, 40.17),
                brake=(2.015, 18.95),
            ),
        )
    ),
    width=0.10,
    toe_out=6 * DEGREE,
    height=(mean(0.9083), (2, -0.0186, -0.0065), (4, 0.0011, 0.0006)),
    forward=((2, 0.0117, 0.0015),),
    sideways=(peak(1, 0.022, 0.31),),
    pelvis=(
        degrees(mean(3), (2, 0.0, 1.2)),
        degrees(peak(1, -4.5, 0.0)),
        degrees(peak(1, 4.2, 0.17)),
    ),
    trunk=(degrees(mean(-1)), degrees(peak(1, 7.0, 0.0)), degrees(peak(1, 3.6, 0.17))),
    arm={
        "swing": degrees(mean(-3), peak(1, 20, 0.55)),
        "elbow": degrees(mean(27), peak(1, 11, 0.58)),
    },
)
