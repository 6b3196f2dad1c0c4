"""From standing to walking and back: footsteps follow from where the body will be when it passes over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.samples.body import SIDES, Figure
from footplant.samples.curves import ease, eased_integral
from footplant.samples.footsteps import Footstep, Sample
from footplant.samples.gait import fitted, paced, stepped, stretched, travel
from footplant.samples.shapes import DEGREE, WALK, GaitShape
from footplant.skeleton import Character

STANCE_WIDTH = 0.17
"""Metres between the heels of somebody who stands."""
STANCE_TOE_OUT = 9 * DEGREE
STANCE_HEEL = -0.085
"""Metres that the heels of somebody who stands are ahead of the pelvis."""
PASSING = 0.3
"""Cycles after the strike when the body passes over the foot."""


def start(
    speed: float | None = None, *, steps: int = 5, fps: float = 120.0, character: Character | None = None
) -> Sample:
    """Standing, then walking off with the right foot; `steps` of it. speed: metres a second once under way."""
    figure = Figure.of(character)
    shape = fitted(paced(WALK, speed, None, None), figure)
    period, stride = shape.cycle * figure.tempo, shape.stride * figure.scale
    begin = 0.9 * figure.tempo
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
            STANCE_HEEL * figure.scale,
            *(_passing_place(shape, side, t, period, figure, progress) for t in strikes),
        ]
        plan[side] = _sequence(figure, shape, side, np.r_[strikes[0] - period, strikes], np.array(places), period, 0)
        plan[side][0] = replace(plan[side][0], strike=-np.inf, flat=-np.inf)
    sway = _shift_first(shape)
    return travel(figure, sway, plan, seconds, (seconds - begin) / period, progress(seconds), amount(seconds))


def stop(
    speed: float | None = None, *, steps: int = 4, fps: float = 120.0, character: Character | None = None
) -> Sample:
    """Walking, then standing; the left foot comes to rest first. speed: metres a second before."""
    figure = Figure.of(character)
    shape = fitted(paced(WALK, speed, None, None), figure)
    period, stride = shape.cycle * figure.tempo, shape.stride * figure.scale
    cycles = int(np.ceil(steps / 2))
    last = cycles * period
    brake, braking = last - 0.7 * period, 1.3 * period
    seconds = np.arange(round((last + 0.62 * period + 0.9 * figure.tempo) * fps) + 1) / fps

    def amount(t: NDArray | float) -> NDArray:
        return 1.0 - ease((np.asarray(t) - brake) / braking)

    def progress(t: NDArray | float) -> NDArray:
        t = np.asarray(t, float)
        return stride / period * (t - braking * eased_integral((t - brake) / braking))

    stand = float(progress(last + 10 * period)) + STANCE_HEEL * figure.scale
    plan: dict[str, list[Footstep]] = {}
    for side, first in (("left", 0.0), ("right", 0.5)):
        strikes = period * (first + np.arange(-2, cycles + 1))
        places = np.array([_passing_place(shape, side, t, period, figure, progress) for t in strikes])
        places[strikes > last - 0.01 * period] = stand
        plan[side] = _sequence(figure, shape, side, strikes, places, period, len(strikes) - 1)
        plan[side][-1] = replace(plan[side][-1], heel_off=np.inf, ball_off=np.inf, toe_off=np.inf)
    return travel(figure, shape, plan, seconds, seconds / period, progress(seconds), amount(seconds))


def _passing_place(
    shape: GaitShape, side: str, strike: float, period: float, figure: Figure, progress: Callable[[float], NDArray]
) -> float:
    """Where the heel comes down so that the body passes over it as in the steady gait."""
    ahead = PASSING * shape.stride - shape.feet[side].reach
    return float(progress(strike + PASSING * period)) - figure.scale * ahead


def _sequence(
    figure: Figure, shape: GaitShape, side: str, strikes: NDArray, places: NDArray, period: float, stand: int
) -> list[Footstep]:
    """Footsteps of one side; each swing is as vigorous as it is long. Number `stand` is where the figure stands."""
    length, sign = figure.scale, SIDES[side]
    ratios = np.clip(np.diff(places) / (shape.stride * length), 0.35, 1.1)
    steps = []
    for number, (strike, place) in enumerate(zip(strikes, places)):
        coming = stretched(shape, float(ratios[max(number - 1, 0)])).feet[side]
        going = stretched(shape, float(ratios[min(number, len(ratios) - 1)])).feet[side]
        width, toe_out = (STANCE_WIDTH, STANCE_TOE_OUT) if number == stand else (shape.width, shape.toe_out)
        at = (sign * 0.5 * width * length, float(place))
        steps.append(stepped(coming, going, at, sign * toe_out, float(strike), period, length))
    return steps


def _shift_first(shape: GaitShape) -> GaitShape:
    """The first step needs the weight on the other foot, farther than a walk's."""
    return replace(shape, sideways=tuple((h, 1.3 * c, 1.3 * s) for h, c, s in shape.sideways))
