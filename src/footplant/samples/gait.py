"""Walking and running: cyclic gaits from a shape, on a straight line or an arc, planted by construction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.errors import MotionError
from footplant.samples.body import SIDES, Figure, Pose, build
from footplant.samples.curves import State, Waves, wave
from footplant.samples.footsteps import Footstep, Sample, Swing, frame_intervals, track
from footplant.samples.shapes import WALK, GaitShape
from footplant.skeleton import Character


def walk(
    speed: float | None = None,
    stride: float | None = None,
    cadence: float | None = None,
    *,
    turn: float = 0.0,
    step_width: float | None = None,
    cycles: int = 4,
    fps: float = 120.0,
    character: Character | None = None,
) -> Sample:
    """A walk at a natural pace, or at the pace asked for.

    speed: metres a second; stride: metres; cadence: steps a minute; any two give the third, and one alone is
    completed as people do (stride and cadence both grow with the root of the speed). turn: radians to the left per
    metre of way; step_width: metres between the heels. All are those of the mannequin: on a figure with other legs
    lengths grow with them and times with their root. character: a figure made from the mannequin; None is that one.
    """
    shape = paced(WALK, speed, stride, cadence)
    if step_width is not None:
        shape = replace(shape, width=step_width)
    return cyclic(Figure.of(character), shape, cycles, fps, turn)


def paced(shape: GaitShape, speed: float | None, stride: float | None, cadence: float | None) -> GaitShape:
    """A gait at another pace: longer strides reach farther, bounce more and swing the arms wider."""
    given = [value for value in (speed, stride, cadence) if value is not None]
    if len(given) == 3 or any(not (np.isfinite(value) and value > 0) for value in given):
        raise MotionError(f"expected at most two of speed, stride and cadence, all positive, got {given}")
    natural_speed, natural_cadence = shape.stride / shape.cycle, 120.0 / shape.cycle
    if speed is None:
        if stride is None and cadence is None:
            return shape
        if cadence is None and stride is not None:
            cadence = natural_cadence * stride / shape.stride
        elif stride is None and cadence is not None:
            stride = shape.stride * cadence / natural_cadence
    elif stride is None and cadence is None:
        stride = shape.stride * np.sqrt(speed / natural_speed)
        cadence = 120.0 * speed / stride
    elif stride is None and cadence is not None:
        stride = 120.0 * speed / cadence
    elif stride is not None:
        cadence = 120.0 * speed / stride
    assert stride is not None
    assert cadence is not None
    return stretched(replace(shape, cycle=120.0 / cadence), stride / shape.stride)


def stretched(shape: GaitShape, ratio: float) -> GaitShape:
    """The same gait with its stride times a ratio, and everything that goes with a longer step."""

    def times(waves: Waves, factor: float) -> Waves:
        return tuple((h, c if h == 0 else factor * c, s if h == 0 else factor * s) for h, c, s in waves)

    feet = {
        side: replace(
            foot,
            reach=foot.reach * ratio,
            landing=_times(foot.landing, ratio),
            leaving=_times(foot.leaving, ratio),
            leaving_toe=_times(foot.leaving_toe, ratio),
            settle=foot.settle * ratio,
            rise=foot.rise * ratio,
            swing=scaled_swing(foot.swing, ratio),
        )
        for side, foot in shape.feet.items()
    }
    return replace(
        shape,
        stride=shape.stride * ratio,
        feet=feet,
        height=times(shape.height, ratio**2),
        forward=times(shape.forward, ratio),
        pelvis=tuple(times(waves, ratio) for waves in shape.pelvis),
        trunk=tuple(times(waves, ratio) for waves in shape.trunk),
        arm={name: times(waves, ratio) for name, waves in shape.arm.items()},
    )


def _times(state: State, factor: float) -> State:
    return state[0] * factor, state[1] * factor, state[2] * factor


def arc(s: NDArray | float, side: NDArray | float, curvature: float) -> tuple[NDArray, NDArray, NDArray]:
    """World x, z and heading of a place `s` metres along an arc from the origin and `side` metres left of it."""
    heading = curvature * np.asarray(s, float)
    # sin(h/2)/(h/2) and so on, written with sinc so that a straight line is no special case
    chord = np.asarray(s, float) * np.sinc(heading / (2 * np.pi))
    x, z = chord * np.sin(heading / 2), chord * np.cos(heading / 2)
    return x + side * np.cos(heading), z - side * np.sin(heading), heading


def cyclic(figure: Figure, shape: GaitShape, cycles: int, fps: float, curvature: float = 0.0) -> Sample:
    """A gait for whole cycles; the last frame is the first one carried on along the path.

    Lengths grow with the figure's legs and times with their root. The cycle is rounded to whole frames.
    """
    length = figure.scale
    per_cycle = max(round(shape.cycle * figure.tempo * fps), 8)
    period, stride = per_cycle / fps, shape.stride * length
    seconds = np.arange(cycles * per_cycle + 1) / fps
    phase = seconds / period
    curvature = curvature / length
    lean = _banking(stride / period, curvature)
    feet = {
        side: track(figure, side, _steps(shape, side, cycles, period, length, curvature), seconds) for side in SIDES
    }
    s = stride * phase + length * wave(phase, shape.forward)
    height = length * wave(phase, shape.height)
    sideways = length * wave(phase, shape.sideways) + 0.6 * height * np.tan(lean)
    x, z, heading = arc(s, sideways, curvature)
    tilt, turned, roll = (wave(phase, waves) for waves in shape.pelvis)
    bend, twist, tip = (wave(phase, waves) for waves in shape.trunk)
    pose = Pose(
        hips=np.stack([x, height, z], axis=-1),
        heading=heading,
        pelvis=np.stack([tilt, turned, roll - 0.5 * lean], axis=-1),
        trunk=np.stack([bend, twist + 3.0 * lean * 0.3, tip - 0.3 * lean], axis=-1),
        gaze=(shape.gaze, 0.35 * curvature * length),
        arms={side: _arm(shape, side, phase) for side in SIDES},
        feet={
            side: (foot.ankles, foot.feet, foot.toes, heading + 0.6 * (foot.headings - heading))
            for side, foot in feet.items()
        },
    )
    contacts = frame_intervals({k: v for foot in feet.values() for k, v in foot.contacts.items()}, fps, len(seconds))
    return Sample(build(figure, pose, fps), figure.character, contacts)


def _banking(speed: float, curvature: float) -> float:
    """How far the body leans into the curve, radians: towards the balance of weight and centripetal force."""
    return float(np.arctan(speed**2 * curvature / 9.81))


def _arm(shape: GaitShape, side: str, phase: NDArray) -> dict[str, NDArray]:
    shift = 0.0 if side == "left" else 0.5
    angles = {name: wave(phase + shift, waves) for name, waves in shape.arm.items()}
    return angles | {name: wave(phase, waves) for name, waves in shape.arms.get(side, {}).items()}


def _steps(shape: GaitShape, side: str, cycles: int, period: float, length: float, curvature: float) -> list[Footstep]:
    foot, sign = shape.feet[side], SIDES[side]
    steps = []
    for cycle in range(-2, cycles + 2):
        strike = (cycle + foot.phase) * period
        s = length * ((cycle + foot.phase) * shape.stride + foot.reach)
        x, z, heading = arc(s, sign * 0.5 * shape.width * length, curvature)
        flat, heel_off, ball_off, toe_off = (strike + event * period for event in foot.events)
        landing, leaving, leaving_toe = (_per_second(x, period) for x in (foot.landing, foot.leaving, foot.leaving_toe))
        steps.append(
            Footstep(
                (float(x), float(z)),
                float(heading) + sign * shape.toe_out,
                strike,
                flat,
                heel_off,
                ball_off,
                toe_off,
                landing,
                leaving,
                leaving_toe,
                foot.settle / period**2,
                foot.rise / period**2,
                scaled_swing(foot.swing, length),
            )
        )
    return steps


def _per_second(state: State, period: float) -> State:
    return state[0], state[1] / period, state[2] / period**2


def scaled_swing(swing: Swing, length: float) -> Swing:
    """The lengths of a swing times a factor."""
    lengths = {name: tuple(length * x for x in getattr(swing, name)) for name in ("forward", "lift", "outward")}
    return replace(swing, **lengths)
