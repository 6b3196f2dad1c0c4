"""Walking and running: cyclic gaits from a shape, on a straight line or an arc, planted by construction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.errors import MotionError
from footplant.samples.body import ARM, SIDES, STANDING_HEIGHT, Figure, Pose, build
from footplant.samples.curves import State, Waves, combined, wave
from footplant.samples.footsteps import Footstep, Sample, Swing, all_contacts, track
from footplant.samples.shapes import LIMP, RUN, SNEAK, WALK, FootShape, GaitShape
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


def run(
    speed: float | None = None,
    stride: float | None = None,
    cadence: float | None = None,
    *,
    turn: float = 0.0,
    cycles: int = 5,
    fps: float = 120.0,
    character: Character | None = None,
) -> Sample:
    """A run at 3 m/s, or at the pace asked for; parameters as of `walk`. No foot is down twice a cycle."""
    return cyclic(Figure.of(character), paced(RUN, speed, stride, cadence), cycles, fps, turn)


def sneak(*, turn: float = 0.0, cycles: int = 2, fps: float = 120.0, character: Character | None = None) -> Sample:
    """Crouched and slow, knees high, the toes feeling for the floor first; parameters as of `walk`."""
    return cyclic(Figure.of(character), SNEAK, cycles, fps, turn)


def limp(*, turn: float = 0.0, cycles: int = 3, fps: float = 120.0, character: Character | None = None) -> Sample:
    """A walk that spares the right leg: a short, stiff stance on it with the trunk leaning over; see `walk`."""
    return cyclic(Figure.of(character), LIMP, cycles, fps, turn)


def paced(shape: GaitShape, speed: float | None, stride: float | None, cadence: float | None) -> GaitShape:
    """A gait at another pace: longer strides reach farther, bounce more and swing the arms wider."""
    given = [value for value in (speed, stride, cadence) if value is not None]
    if len(given) == 3 or any(not (np.isfinite(value) and value > 0) for value in given):
        raise MotionError(f"expected at most two of speed, stride and cadence, all positive, got {given}")
    if speed is None and stride is not None and cadence is not None:
        speed = stride * cadence / 120.0
    ratio = 1.0
    if stride is not None:
        ratio = stride / shape.stride
    elif speed is not None and cadence is not None:
        ratio = 120.0 * speed / cadence / shape.stride
    elif cadence is not None:
        ratio = cadence * shape.cycle / 120.0
    elif speed is not None:
        ratio = float(np.sqrt(speed * shape.cycle / shape.stride))
    cycle = shape.cycle / ratio if speed is None else ratio * shape.stride / speed
    return stretched(replace(shape, cycle=cycle), ratio)


def stretched(shape: GaitShape, ratio: float) -> GaitShape:
    """The same gait with its stride times a ratio, and everything that goes with a longer step."""

    def times(waves: Waves, factor: float) -> Waves:
        return tuple((h, c if h == 0 else factor * c, s if h == 0 else factor * s) for h, c, s in waves)

    def three(series: tuple[Waves, Waves, Waves]) -> tuple[Waves, Waves, Waves]:
        return times(series[0], ratio), times(series[1], ratio), times(series[2], ratio)

    feet = {
        side: replace(
            foot,
            reach=foot.reach * ratio,
            landing=combined(foot.landing, ratio),
            leaving=combined(foot.leaving, ratio**0.5),
            leaving_toe=combined(foot.leaving_toe, ratio**0.5),
            settle=foot.settle * ratio,
            rise=foot.rise * ratio,
            swing=_higher(scaled_swing(foot.swing, ratio, 1.0), 0.06 * max(1.0 - ratio, 2.0 * (ratio - 1.0))),
        )
        for side, foot in shape.feet.items()
    }
    return replace(
        shape,
        stride=shape.stride * ratio,
        feet=feet,
        # legs stand straighter in short steps: the pelvis of a compass with that stride
        height=(*times(shape.height, ratio**2), (0, 0.025 * (1.0 - ratio**2), 0.0)),
        forward=times(shape.forward, ratio),
        pelvis=three(shape.pelvis),
        trunk=three(shape.trunk),
        arm={name: times(waves, ratio) for name, waves in shape.arm.items()},
    )


def fitted(shape: GaitShape, figure: Figure) -> GaitShape:
    """The gait with the steps that suit the figure's feet."""
    return shape if figure.step_share > 1.0 - 1e-9 else stretched(shape, figure.step_share)


def _higher(swing: Swing, lift: float) -> Swing:
    return replace(swing, lift=(swing.lift[0] + lift, *swing.lift[1:]))


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
    if cycles < 1:
        raise MotionError(f"expected at least 1 cycle, got {cycles}")
    shape = fitted(shape, figure)
    per_cycle = max(round(shape.cycle * figure.tempo * fps), 8)
    period = per_cycle / fps
    seconds = np.arange(cycles * per_cycle + 1) / fps
    curvature = curvature / figure.scale
    steps = {side: _steps(shape, side, cycles, period, figure.scale, curvature) for side in SIDES}
    progress = figure.scale * shape.stride * seconds / period
    return travel(figure, shape, steps, seconds, seconds / period, progress, np.ones(len(seconds)), curvature)


def travel(
    figure: Figure,
    shape: GaitShape,
    steps: dict[str, list[Footstep]],
    seconds: NDArray,
    phase: NDArray,
    progress: NDArray,
    amount: NDArray,
    curvature: float = 0.0,
) -> Sample:
    """The body over given footsteps.

    phase: where in the cycle the body is; progress: metres that it has come along the path, steadily; amount: how much
    of the gait is in the pose, 0 (standing at ease) to 1; curvature: radians per metre.
    """
    fps = 1.0 / (seconds[1] - seconds[0])
    length = figure.scale
    lean = amount * _banking(float(np.median(np.gradient(progress, seconds))), curvature)
    feet = {side: track(figure, side, steps[side], seconds) for side in SIDES}

    def blend(waves: Waves, at_ease: float = 0.0) -> NDArray:
        return at_ease + amount * (wave(phase, waves) - at_ease)

    height = figure.hips_height(blend(shape.height, STANDING_HEIGHT))
    sideways = length * blend(shape.sideways) + 0.6 * height * np.tan(lean)
    x, z, heading = arc(progress + length * blend(shape.forward), sideways, curvature)
    tilt, turned, roll = (blend(waves) for waves in shape.pelvis)
    bend, twist, tip = (blend(waves) for waves in shape.trunk)
    pose = Pose(
        hips=np.stack([x, height, z], axis=-1),
        heading=heading,
        pelvis=np.stack([tilt, turned, roll - 0.5 * lean], axis=-1),
        trunk=np.stack([bend, twist + 0.9 * lean, tip - 0.3 * lean], axis=-1),
        gaze=np.stack([blend([(0, shape.gaze, 0)]), np.full(len(seconds), 0.35 * curvature * length)], axis=-1),
        arms={side: _arm(shape, side, phase, amount) for side in SIDES},
        feet={
            side: (foot.ankles, foot.feet, foot.toes, heading + 0.6 * (foot.headings - heading))
            for side, foot in feet.items()
        },
    )
    contacts = all_contacts(feet, fps, len(seconds))
    return Sample(build(figure, pose, round(fps, 6)), figure.character, contacts)


def _banking(speed: float, curvature: float) -> float:
    """How far the body leans into the curve, radians: towards the balance of weight and centripetal force."""
    return float(np.arctan(speed**2 * curvature / 9.81))


def _arm(shape: GaitShape, side: str, phase: NDArray, amount: NDArray) -> dict[str, NDArray]:
    shift = 0.0 if side == "left" else 0.5
    angles = {name: wave(phase + shift, waves) for name, waves in shape.arm.items()}
    angles |= {name: wave(phase, waves) for name, waves in shape.arms.get(side, {}).items()}
    return {name: ARM[name] + amount * (angle - ARM[name]) for name, angle in angles.items()}


def _steps(shape: GaitShape, side: str, cycles: int, period: float, length: float, curvature: float) -> list[Footstep]:
    foot, sign = shape.feet[side], SIDES[side]
    steps = []
    for cycle in range(-2, cycles + 2):
        s = length * ((cycle + foot.phase) * shape.stride + foot.reach)
        x, z, heading = arc(s, sign * 0.5 * shape.width * length, curvature)
        place, heading = (float(x), float(z)), float(heading) + sign * shape.toe_out
        steps.append(stepped(foot, foot, place, heading, (cycle + foot.phase) * period, period, length))
    return steps


def stepped(
    coming: FootShape,
    going: FootShape,
    place: tuple[float, float],
    heading: float,
    strike: float,
    period: float,
    length: float,
) -> Footstep:
    """A footstep at a place and a time: comes down as one shape says, leaves as another; lengths times `length`."""
    flat, heel_off, ball_off, toe_off = (strike + event * period for event in coming.events)
    return Footstep(
        place,
        heading,
        strike,
        flat,
        heel_off,
        ball_off,
        toe_off,
        _per_second(coming.landing, period),
        _per_second(going.leaving, period),
        _per_second(going.leaving_toe, period),
        coming.settle / period**2,
        going.rise / period**2,
        scaled_swing(coming.swing, length, period),
    )


def _per_second(state: State, period: float) -> State:
    return state[0], state[1] / period, state[2] / period**2


def scaled_swing(swing: Swing, length: float, period: float) -> Swing:
    """The lengths of a swing times a factor; push and brake are per cycle² in a shape and per second² in a footstep."""
    forward, lift, outward = (tuple(length * x for x in row) for row in (swing.forward, swing.lift, swing.outward))
    push, brake = ((length / period**2 * x, length / period**2 * y) for x, y in (swing.push, swing.brake))
    return replace(swing, forward=forward, lift=lift, outward=outward, push=push, brake=brake)
