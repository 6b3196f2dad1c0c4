"""Walking and running: cyclic gaits on a straight line or an arc, with footplants by construction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.errors import MotionError
from footplant.samples.body import ARM, SIDES, STANDING_HEIGHT, Pose, SampleBody, build
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
    """Generate a walk at a natural or a given speed.

    speed: metres per second; stride: metres; cadence: steps per minute; any two determine the third, and one alone is
    completed as people do (stride and cadence both grow with the square root of the speed). turn: radians to the left
    per metre; step_width: metres between the heels. All are for the mannequin: on a character with other legs, lengths
    scale with leg length and times with its square root. character: one made from the mannequin, which is the default.
    """
    shape = at_speed(WALK, speed, stride, cadence)
    if step_width is not None:
        shape = replace(shape, width=step_width)
    return cyclic(SampleBody.of(character), shape, cycles, fps, turn)


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
    """Generate a run at 3 m/s or at a given speed; parameters as for `walk`. It has two flight phases per cycle."""
    return cyclic(SampleBody.of(character), at_speed(RUN, speed, stride, cadence), cycles, fps, turn)


def sneak(*, turn: float = 0.0, cycles: int = 2, fps: float = 120.0, character: Character | None = None) -> Sample:
    """Generate sneaking: crouched and slow, knees high, toes first; parameters as for `walk`."""
    return cyclic(SampleBody.of(character), SNEAK, cycles, fps, turn)


def limp(*, turn: float = 0.0, cycles: int = 3, fps: float = 120.0, character: Character | None = None) -> Sample:
    """Generate a limp that spares the right leg: a short, stiff stance with the trunk leaning over; see `walk`."""
    return cyclic(SampleBody.of(character), LIMP, cycles, fps, turn)


def at_speed(shape: GaitShape, speed: float | None, stride: float | None, cadence: float | None) -> GaitShape:
    """Return a gait at another speed: longer strides reach farther, bounce more and swing the arms wider."""
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
    """Return the same gait with its stride multiplied by a ratio, and everything that depends on it."""

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
        # legs are straighter in short steps: the pelvis height of a compass gait with that stride
        height=(*times(shape.height, ratio**2), (0, 0.025 * (1.0 - ratio**2), 0.0)),
        forward=times(shape.forward, ratio),
        pelvis=three(shape.pelvis),
        trunk=three(shape.trunk),
        arm={name: times(waves, ratio) for name, waves in shape.arm.items()},
    )


def fitted_to_feet(shape: GaitShape, body: SampleBody) -> GaitShape:
    """Return the gait with a step length that suits the body's feet."""
    return shape if body.step_share > 1.0 - 1e-9 else stretched(shape, body.step_share)


def _higher(swing: Swing, lift: float) -> Swing:
    return replace(swing, lift=(swing.lift[0] + lift, *swing.lift[1:]))


def arc(s: NDArray | float, side: NDArray | float, curvature: float) -> tuple[NDArray, NDArray, NDArray]:
    """Return world x, z and heading of the point `s` metres along an arc from the origin, `side` metres left of it."""
    heading = curvature * np.asarray(s, float)
    # sin(h/2)/(h/2) by sinc, so that a straight line is not a special case
    chord = np.asarray(s, float) * np.sinc(heading / (2 * np.pi))
    x, z = chord * np.sin(heading / 2), chord * np.cos(heading / 2)
    return x + side * np.cos(heading), z - side * np.sin(heading), heading


def cyclic(body: SampleBody, shape: GaitShape, cycles: int, fps: float, curvature: float = 0.0) -> Sample:
    """Generate whole cycles of a gait; the last frame is the first one moved along the path.

    Lengths scale with leg length and times with its square root. The cycle is rounded to whole frames.
    """
    if cycles < 1:
        raise MotionError(f"expected at least 1 cycle, got {cycles}")
    shape = fitted_to_feet(shape, body)
    per_cycle = max(round(shape.cycle * body.tempo * fps), 8)
    period = per_cycle / fps
    seconds = np.arange(cycles * per_cycle + 1) / fps
    curvature = curvature / body.scale
    steps = {side: _steps(shape, side, cycles, period, body.scale, curvature) for side in SIDES}
    progress = body.scale * shape.stride * seconds / period
    return travel(body, shape, steps, seconds, seconds / period, progress, np.ones(len(seconds)), curvature)


def travel(
    body: SampleBody,
    shape: GaitShape,
    steps: dict[str, list[Footstep]],
    seconds: NDArray,
    phase: NDArray,
    progress: NDArray,
    amount: NDArray,
    curvature: float = 0.0,
) -> Sample:
    """Generate the body motion over given footsteps.

    phase: phase of the gait cycle; progress: distance along the path at the mean speed, metres; amount: blend from
    standing at ease (0) to the gait (1); curvature: radians per metre.
    """
    fps = 1.0 / (seconds[1] - seconds[0])
    length = body.scale
    lean = amount * _banking(float(np.median(np.gradient(progress, seconds))), curvature)
    feet = {side: track(body, side, steps[side], seconds) for side in SIDES}

    def blend(waves: Waves, at_ease: float = 0.0) -> NDArray:
        return at_ease + amount * (wave(phase, waves) - at_ease)

    height = body.hips_height(blend(shape.height, STANDING_HEIGHT))
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
    return Sample(build(body, pose, round(fps, 6)), body.character, contacts)


def _banking(speed: float, curvature: float) -> float:
    """Return the lean into the curve, radians: tan = v²κ/g balances weight and centripetal force."""
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
        steps.append(footstep_at(foot, foot, place, heading, (cycle + foot.phase) * period, period, length))
    return steps


def footstep_at(
    coming: FootShape,
    going: FootShape,
    place: tuple[float, float],
    heading: float,
    strike: float,
    period: float,
    length: float,
) -> Footstep:
    """Return a footstep at a position and time: landing from one shape, lift-off from another; scaled by `length`."""
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
    """Scale the lengths of a swing; push and brake are per cycle² in a shape and per second² in a footstep."""
    forward, lift, outward = (tuple(length * x for x in row) for row in (swing.forward, swing.lift, swing.outward))
    push, brake = ((length / period**2 * x, length / period**2 * y) for x, y in (swing.push, swing.brake))
    return replace(swing, forward=forward, lift=lift, outward=outward, push=push, brake=brake)
