"""Feet planted by construction: first the footsteps, then the foot that rolls over each and swings to the next.

During stance the pivot of the roll is exactly fixed: the heel until the sole is flat, the ball (with flat toes) while
the heel rises, the toe tip at the very end. Between two footsteps the foot swings on polynomials that match position,
velocity and acceleration of the roll at both ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.motion import Motion
from footplant.samples.body import SIDES, SampleBody, turn
from footplant.samples.curves import REST, State, bump, combined, ease, quintic
from footplant.skeleton import Character

TOE_LIFT = 1.3
"""While the foot lands on the heel, toe pitch divided by foot pitch."""

Intervals = dict[str, list[tuple[int, int]]]
"""Contact point → half-open frame intervals [start, end) in which it is planted, in order."""


@dataclass(frozen=True, eq=False)
class Sample:
    """A generated motion and its exact contacts."""

    motion: Motion
    character: Character
    contacts: Intervals
    """Contact point → half-open frame intervals in which it is planted."""


@dataclass(frozen=True)
class Swing:
    """Shape of the swing phase beyond the smoothest path: coefficients of `curves.bump`."""

    forward: Sequence[float] = (0.0,)
    """Metres forward along the foot."""
    lift: Sequence[float] = (0.05,)
    """Metres up."""
    pitch: Sequence[float] = (0.0,)
    """Radians, toes up."""
    outward: Sequence[float] = (0.0,)
    """Metres away from the body."""
    push: tuple[float, float] = (0.0, 0.0)
    """Acceleration forward and up at toe-off, m/s², added to that of the roll."""
    brake: tuple[float, float] = (0.0, 0.0)
    """Acceleration forward and up at the strike; the velocity is that of the roll, so that the foot does not skate."""


@dataclass(frozen=True)
class Footstep:
    """One stance of one foot. Times in seconds; pitch is positive with the toes up, derivatives are per second."""

    place: tuple[float, float]
    """World (x, z) of the heel point, metres."""
    heading: float
    """World heading of the line from heel to ball, radians."""
    strike: float = -np.inf
    """Time of the foot strike; −inf when it is planted from the start."""
    flat: float = -np.inf
    """Time at which the whole sole is down."""
    heel_off: float = np.inf
    """Time of heel-off."""
    ball_off: float = np.inf
    """Time at which the ball lifts off; the toe tip stays."""
    toe_off: float = np.inf
    """Time of toe-off; inf when the foot stays planted to the end."""
    landing: State = REST
    """Foot pitch at the strike: positive lands on the heel, negative on ball and toes."""
    leaving: State = REST
    """Foot pitch at toe-off."""
    leaving_toe: State = REST
    """Toe pitch at toe-off."""
    settle: float = 0.0
    """Angular acceleration of the pitch when the sole becomes flat, rad/s²."""
    rise: float = 0.0
    """Angular acceleration at heel-off, rad/s² (negative raises the heel)."""
    swing: Swing = Swing()
    """The swing that leads to this footstep."""


@dataclass(frozen=True, eq=False)
class FootTrack:
    """A foot over F frames."""

    ankles: NDArray
    """(F, 3) world positions of the foot joint, metres."""
    feet: NDArray
    """(F, 4) world rotations of the foot joint."""
    toes: NDArray
    """(F, 4) world rotations of the toes joint."""
    headings: NDArray
    """(F,) world heading of the foot, radians."""
    contacts: Mapping[str, list[tuple[float, float]]]
    """Contact point → closed intervals in seconds in which it is exactly fixed on the ground."""


@dataclass(frozen=True)
class _Sole:
    """The foot in its vertical plane as complex numbers z + iy relative to the heel point, metres."""

    ankle: complex
    hinge: complex
    """The toe joint."""
    tip: complex
    lateral: float
    """Lateral distance of the ankle from the line from heel to ball."""
    yaw: float
    """Heading of that line in the rest pose."""

    @classmethod
    def of(cls, body: SampleBody, side: str) -> _Sole:
        heel, ball = body.contact(f"{side}_heel"), body.contact(f"{side}_ball")
        yaw = float(np.arctan2(ball[0] - heel[0], ball[2] - heel[2]))
        places = [body.rest(f"{side}_foot"), body.rest(f"{side}_toes"), body.contact(f"{side}_toe")]
        local = rotation.rotate(turn(y=-yaw), np.array(places) - heel)
        ankle, hinge, tip = (complex(z, y) for _, y, z in local)
        return cls(ankle, hinge, tip, float(local[0, 0]), yaw)

    def on_heel(self, pitch: State) -> State:
        return _sum_of_turns(0.0, (self.ankle, pitch))

    def on_toes(self, pitch: State, toe: State) -> State:
        return _sum_of_turns(self.tip, (self.hinge - self.tip, toe), (self.ankle - self.hinge, pitch))


def _sum_of_turns(origin: complex, *arms: tuple[complex, State]) -> State:
    """Return origin + Σ arm·e^{iθ} with its first and second derivatives."""
    value, velocity, acceleration = origin, 0.0, 0.0
    for arm, (angle, rate, change) in arms:
        turned = arm * np.exp(1j * angle)
        value = value + turned
        velocity = velocity + 1j * rate * turned
        acceleration = acceleration + (1j * change - rate**2) * turned
    return value, velocity, acceleration


def track(body: SampleBody, side: str, steps: Sequence[Footstep], seconds: NDArray) -> FootTrack:
    """Return the track of one foot over all its footsteps."""
    sole, sign = _Sole.of(body, side), SIDES[side]
    count = len(seconds)
    ankle, pitch, toe = np.zeros(count, complex), np.zeros(count), np.zeros(count)
    outward, frames = np.zeros(count), np.zeros((count, 3))
    for number, step in enumerate(steps):
        stance = (seconds >= step.strike) & (seconds <= step.toe_off)
        pitch[stance], toe[stance], ankle[stance] = _stance(sole, step, seconds[stance])
        frames[stance] = (*step.place, step.heading)
        if number + 1 < len(steps):
            after = steps[number + 1]
            swing = (seconds > step.toe_off) & (seconds < after.strike)
            pitch[swing], toe[swing], ankle[swing], outward[swing], u = _swing(sole, step, after, seconds[swing])
            start, end = np.array([*step.place, step.heading]), np.array([*after.place, after.heading])
            frames[swing] = start + ease(u)[:, None] * (end - start)
    heading = turn(y=frames[:, 2])
    local = np.stack([sole.lateral + sign * outward, np.imag(ankle), np.real(ankle)], axis=-1)
    ankles = rotation.rotate(heading, local) + np.stack([frames[:, 0], np.zeros(count), frames[:, 1]], axis=-1)
    unturn = turn(y=-sole.yaw)
    feet, toes = (rotation.multiply(rotation.multiply(heading, turn(x=-angle)), unturn) for angle in (pitch, toe))
    return FootTrack(ankles, feet, toes, frames[:, 2], _contacts(side, steps))


def planted(
    body: SampleBody, side: str, place: tuple[float, float], heading: float, pitch: NDArray, seconds: NDArray
) -> FootTrack:
    """Return the track of a planted foot; a negative pitch (F,) lifts the heel about the ball with flat toes."""
    sole = _Sole.of(body, side)
    ankle = sole.on_toes((pitch, 0.0, 0.0), REST)[0]
    turned, unturn = turn(y=heading), turn(y=-sole.yaw)
    local = np.stack([np.full(len(pitch), sole.lateral), np.imag(ankle), np.real(ankle)], axis=-1)
    ankles = rotation.rotate(turned, local) + np.array([place[0], 0.0, place[1]])
    feet = rotation.multiply(rotation.multiply(turned, turn(x=-pitch)), unturn)
    toes = np.broadcast_to(rotation.multiply(turned, unturn), feet.shape)
    always = [(-np.inf, np.inf)]
    contacts = {f"{side}_ball": always, f"{side}_toe": always, f"{side}_heel": _while_zero(pitch, seconds)}
    return FootTrack(ankles, feet, toes, np.full(len(pitch), heading), contacts)


def _while_zero(pitch: NDArray, seconds: NDArray) -> list[tuple[float, float]]:
    edges = np.flatnonzero(np.diff(np.r_[False, pitch == 0.0, False].astype(int)))
    return [(float(seconds[first]), float(seconds[last - 1])) for first, last in zip(edges[::2], edges[1::2])]


def _stance(sole: _Sole, step: Footstep, t: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    pitch, toe = np.zeros(len(t)), np.zeros(len(t))
    early = t < step.flat
    if early.any():
        duration = step.flat - step.strike
        pitch[early] = quintic((t[early] - step.strike) / duration, step.landing, (0.0, 0.0, step.settle), duration)
    late, last = t > step.heel_off, t > step.ball_off
    if late.any():
        duration = step.toe_off - step.heel_off
        pitch[late] = quintic((t[late] - step.heel_off) / duration, (0.0, 0.0, step.rise), step.leaving, duration)
    if last.any():
        duration = step.toe_off - step.ball_off
        toe[last] = quintic((t[last] - step.ball_off) / duration, REST, step.leaving_toe, duration)
    on_heel = early & (step.landing[0] > 0)
    toe = np.where(on_heel, TOE_LIFT * pitch, toe)
    ankle = np.where(
        on_heel,
        sole.on_heel((pitch, 0.0, 0.0))[0],
        sole.on_toes((pitch, 0.0, 0.0), (toe, 0.0, 0.0))[0],
    )
    return pitch, toe, ankle


def _swing(sole: _Sole, before: Footstep, after: Footstep, t: NDArray):
    duration = after.strike - before.toe_off
    u = (t - before.toe_off) / duration
    shape = after.swing
    start = sole.on_toes(before.leaving, before.leaving_toe)
    if after.landing[0] > 0:
        end = sole.on_heel(after.landing)
        bend_end = combined(after.landing, TOE_LIFT - 1.0)
    else:
        end = sole.on_toes(after.landing, REST)
        bend_end = combined(after.landing, -1.0)
    start = (start[0], start[1], start[2] + complex(*shape.push))
    end = (end[0], end[1], end[2] + complex(*shape.brake))
    bend_start = combined(before.leaving_toe, 1.0, before.leaving, -1.0)
    pitch = quintic(u, before.leaving, after.landing, duration) + bump(u, shape.pitch)
    toe = pitch + quintic(u, bend_start, bend_end, duration)
    ankle = quintic(u, start, end, duration) + bump(u, shape.forward) + 1j * bump(u, shape.lift)
    return pitch, toe, ankle, bump(u, shape.outward), u


def _contacts(side: str, steps: Sequence[Footstep]) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {f"{side}_{part}": [] for part in ("heel", "ball", "toe")}
    for step in steps:
        first, second = (step.strike, step.flat) if step.landing[0] > 0 else (step.flat, step.strike)
        found[f"{side}_heel"].append((first, step.heel_off))
        found[f"{side}_ball"].append((second, step.ball_off))
        found[f"{side}_toe"].append((second, step.toe_off))
    return found


def all_contacts(tracks: Mapping[str, FootTrack], fps: float, frames: int) -> Intervals:
    """Return the contacts of both feet in frames."""
    return frame_intervals({k: v for foot in tracks.values() for k, v in foot.contacts.items()}, fps, frames)


def frame_intervals(contacts: Mapping[str, list[tuple[float, float]]], fps: float, frames: int) -> Intervals:
    """Convert intervals in seconds to half-open intervals of the frames inside them, clipped to the clip."""
    found: Intervals = {}
    for name, intervals in contacts.items():
        found[name] = []
        for start, end in intervals:
            first = max(int(np.ceil(max(start, 0.0) * fps - 1e-6)), 0)
            last = min(int(np.floor(min(end * fps, frames) + 1e-6)) + 1, frames)
            if last > first:
                found[name].append((first, last))
    return found
