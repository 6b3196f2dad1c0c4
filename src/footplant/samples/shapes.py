"""The gaits of the samples in numbers.

The walk was fitted once, by least squares, to the published hip, knee and ankle curves of an adult at natural speed
(averages of gait laboratories, as in Perry & Burnfield 2010 and Winter 2009), with penalties on joint accelerations, on
a pelvis that moves otherwise than measured, and on toes that come nearer than 12 mm to the floor while they swing. No
recorded clip went into it. The run was fitted in the same way to published curves of running at 3 m/s (Novacheck 1998),
with a pelvis that follows parabolas in flight. The other gaits are variations made by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from footplant.samples.curves import State, Waves, bump, quintic
from footplant.samples.footsteps import Swing

DEGREE = np.pi / 180
GRAVITY = 9.81


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
    """The way through the air; push and brake in metres per cycle²."""


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


def bounce(height: float, depth: float, first_off: float, cycle: float, flight: float) -> Waves:
    """A runner's pelvis: parabolas under gravity while no foot is down, smooth springs between, as a Fourier series.

    height: metres at mid-flight; depth: how much softer the spring gives than the smoothest curve, metres; first_off:
    phase at which the first foot leaves; cycle: seconds; flight: share of the cycle of each of the two flights.
    """
    phase = np.arange(1024) / 1024 * 0.5
    u = (phase - first_off) % 0.5
    t, rest = flight * cycle, (0.5 - flight) * cycle
    speed, fall = 0.5 * GRAVITY * t, 0.5 * GRAVITY * (0.5 * t) ** 2
    seconds = u * cycle
    up = height - 0.5 * GRAVITY * (seconds - 0.5 * t) ** 2
    w = np.clip((seconds - t) / rest, 0.0, 1.0)
    edge = (height - fall, -speed, -GRAVITY)
    down = quintic(w, edge, (edge[0], speed, -GRAVITY), rest) - bump(w, (depth,))
    spectrum = np.fft.rfft(np.where(seconds <= t, up, down)) / len(phase)
    rows = [(2.0 * k, 2 * spectrum[k].real, -2 * spectrum[k].imag) for k in range(1, 9)]
    return (mean(float(spectrum[0].real)), *rows)


WALK = GaitShape(
    stride=1.42,
    cycle=1.42 / 1.35,
    feet=symmetric(
        FootShape(
            phase=0.0,
            reach=0.2740,
            events=(0.095, 0.355, 0.555, 0.615),
            landing=state(17.65, -322.8, 524.2),
            leaving=state(-58.63, -352.7, 1670),
            leaving_toe=state(-18.85, -600.4),
            settle=6893 * DEGREE,
            rise=-965.7 * DEGREE,
            swing=Swing(
                forward=(-0.0295, -0.1450, -0.0118, -0.0444),
                lift=(-0.1799, -0.0102, -0.0834, 0.0293),
                pitch=(1.56 * DEGREE, -54.45 * DEGREE, -6.34 * DEGREE),
                push=(4.574, 44.43),
                brake=(11.77, 19.28),
            ),
        )
    ),
    width=0.10,
    toe_out=6 * DEGREE,
    height=(mean(0.9078), (2, -0.0184, -0.0081), (4, 0.0018, 0.0)),
    forward=((2, 0.0062, -0.0035),),
    sideways=(peak(1, 0.022, 0.31),),
    pelvis=(
        degrees(mean(3), (2, 0.0, 1.2)),
        degrees(peak(1, -4.5, 0.0)),
        degrees(peak(1, 4.2, 0.17)),
    ),
    trunk=(degrees(mean(-1)), degrees(peak(1, 7.0, 0.0)), degrees(peak(1, 3.6, 0.17))),
    arm={
        "swing": degrees(mean(-3), peak(1, 20, 0.51)),
        "elbow": degrees(mean(27), peak(1, 11, 0.53)),
    },
)

RUN = replace(
    WALK,
    stride=2.25,
    cycle=0.75,
    feet=symmetric(
        FootShape(
            phase=0.0,
            reach=0.1968,
            events=(0.06, 0.18, 0.30, 0.35),
            landing=state(15.15, -396.2, -7836),
            leaving=state(-45.16, -292.8, -1145),
            leaving_toe=state(-20.37, -648.1),
            settle=8947 * DEGREE,
            rise=-1203 * DEGREE,
            swing=Swing(
                forward=(-0.3163, -0.6117, -0.5101, -0.0119, 0.2590),
                lift=(-0.3473, -0.2262, -0.5554, -0.5436, -0.2702),
                pitch=(3.84 * DEGREE, -65.11 * DEGREE, 7.73 * DEGREE, -61.74 * DEGREE),
                push=(-2.347, 10.15),
                brake=(-2.767, 62.83),
            ),
        )
    ),
    width=0.05,
    height=bounce(0.9231, -0.0018, 0.35, 0.75, 0.15),
    forward=((2, 0.0253, 0.0151),),
    sideways=(peak(1, 0.012, 0.18),),
    pelvis=(
        degrees(mean(7), (2, 0.0, 1.0)),
        degrees(peak(1, -7, 0.02)),
        degrees(peak(1, 4, 0.14)),
    ),
    trunk=(degrees(mean(1)), degrees(peak(1, 16, 0.02)), degrees(peak(1, 3.0, 0.14))),
    arm={
        "swing": degrees(mean(-20), peak(1, 27, 0.49)),
        "spread": degrees(mean(9)),
        "twist": degrees(mean(16)),
        "elbow": degrees(mean(98), peak(1, 12, 0.50)),
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
            events=(0.14, 0.46, 0.60, 0.66),
            landing=state(-16, 90),
            leaving=state(-48, -230),
            leaving_toe=state(-16, -330),
            settle=0.0,
            rise=0.0,
            swing=Swing(forward=(0.02, 0.0), lift=(0.17, 0.03), pitch=(-6 * DEGREE, -30 * DEGREE)),
        )
    ),
    width=0.14,
    toe_out=9 * DEGREE,
    height=(mean(0.80), (2, -0.012, -0.018), (4, 0.003, 0.002)),
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
    """The right leg hurts: it comes down late and leaves early, stiff, and the trunk is thrown over it."""
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
