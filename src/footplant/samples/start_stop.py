"""Transitions between standing and walking: footsteps follow from where the body will pass over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.samples.body import SIDES, SampleBody
from footplant.samples.curves import ease, eased_integral
from footplant.samples.footsteps import Footstep, Sample
from footplant.samples.gait import at_speed, fitted_to_feet, footstep_at, stretched, travel
from footplant.samples.shapes import DEGREE, WALK, GaitShape
from footplant.skeleton import Character

STANCE_WIDTH = 0.17
"""Distance between the heels when standing, metres."""
STANCE_TOE_OUT = 9 * DEGREE
STANCE_HEEL = -0.085
"""Position of the heels ahead of the pelvis when standing, metres."""
PASSING = 0.3
"""Cycles from the strike until the body passes over the foot."""


def start(
    speed: float | None = None, *, steps: int = 5, fps: float = 120.0, character: Character | None = None
) -> Sample:
    """Generate standing, then `steps` steps of walking, right foot first. speed: metres per second when steady."""
    body = SampleBody.of(character)
    shape = fitted_to_feet(at_speed(WALK, speed, None, None), body)
    period, stride = shape.cycle * body.tempo, shape.stride * body.scale
    begin = 0.9 * body.tempo
    frames = round((begin + (0.5 * steps + 0.5) * period) * fps) + 1
    seconds = np.arange(frames) / fps

    def amount(t: NDArray | float) -> NDArray:
        return ease((np.asarray(t) - begin + 0.15 * period) / (1.15 * period))

    def progress(t: NDArray | float) -> NDArray:
        return 1.15 * stride * eased_integral((np.asarray(t) - begin + 0.15 * period) / (1.15 * period))

    plan: dict[str, list[Footstep]] = {}
    for side, first in (("left", 1.0), ("right", 0.5)):
        strikes = begin + period * (first + np.arange(steps + 2))
        places = [
            STANCE_HEEL * body.scale,
            *(_passing_place(shape, side, t, period, body, progress) for t in strikes),
        ]
        plan[side] = _sequence(body, shape, side, np.r_[strikes[0] - period, strikes], np.array(places), period, 0)
        plan[side][0] = replace(plan[side][0], strike=-np.inf, flat=-np.inf)
    sway = _shift_first(shape)
    return travel(body, sway, plan, seconds, (seconds - begin) / period, progress(seconds), amount(seconds))


def stop(
    speed: float | None = None, *, steps: int = 4, fps: float = 120.0, character: Character | None = None
) -> Sample:
    """Generate walking, then standing; the left foot stops first. speed: metres per second before braking."""
    body = SampleBody.of(character)
    shape = fitted_to_feet(at_speed(WALK, speed, None, None), body)
    period, stride = shape.cycle * body.tempo, shape.stride * body.scale
    cycles = int(np.ceil(steps / 2))
    last = cycles * period
    brake, braking = last - 0.7 * period, 1.3 * period
    seconds = np.arange(round((last + 0.62 * period + 0.9 * body.tempo) * fps) + 1) / fps

    def amount(t: NDArray | float) -> NDArray:
        return 1.0 - ease((np.asarray(t) - brake) / braking)

    def progress(t: NDArray | float) -> NDArray:
        t = np.asarray(t, float)
        return stride / period * (t - braking * eased_integral((t - brake) / braking))

    stand = float(progress(last + 10 * period)) + STANCE_HEEL * body.scale
    plan: dict[str, list[Footstep]] = {}
    for side, first in (("left", 0.0), ("right", 0.5)):
        strikes = period * (first + np.arange(-2, cycles + 1))
        places = np.array([_passing_place(shape, side, t, period, body, progress) for t in strikes])
        places[strikes > last - 0.01 * period] = stand
        plan[side] = _sequence(body, shape, side, strikes, places, period, len(strikes) - 1)
        plan[side][-1] = replace(plan[side][-1], heel_off=np.inf, ball_off=np.inf, toe_off=np.inf)
    return travel(body, shape, plan, seconds, seconds / period, progress(seconds), amount(seconds))


def _passing_place(
    shape: GaitShape, side: str, strike: float, period: float, body: SampleBody, progress: Callable[[float], NDArray]
) -> float:
    """Return where the heel must strike so that the body passes over it as in the steady gait."""
    ahead = PASSING * shape.stride - shape.feet[side].reach
    return float(progress(strike + PASSING * period)) - body.scale * ahead


def _sequence(
    body: SampleBody, shape: GaitShape, side: str, strikes: NDArray, places: NDArray, period: float, stand: int
) -> list[Footstep]:
    """Return the footsteps of one side; swings scale with their length. Number `stand` is the standing position."""
    length, sign = body.scale, SIDES[side]
    ratios = np.clip(np.diff(places) / (shape.stride * length), 0.35, 1.1)
    steps = []
    for number, (strike, place) in enumerate(zip(strikes, places)):
        coming = stretched(shape, float(ratios[max(number - 1, 0)])).feet[side]
        going = stretched(shape, float(ratios[min(number, len(ratios) - 1)])).feet[side]
        width, toe_out = (STANCE_WIDTH, STANCE_TOE_OUT) if number == stand else (shape.width, shape.toe_out)
        at = (sign * 0.5 * width * length, float(place))
        steps.append(footstep_at(coming, going, at, sign * toe_out, float(strike), period, length))
    return steps


def _shift_first(shape: GaitShape) -> GaitShape:
    """Return the gait with more lateral sway: the first step needs a larger weight shift than steady walking."""
    return replace(shape, sideways=tuple((h, 1.3 * c, 1.3 * s) for h, c, s in shape.sideways))
