"""Flight: phases in which nothing touches the ground, and how well the centre of mass follows a parabola in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.detection import Contacts
from footplant.kinematics import Kinematics
from footplant.order import runs
from footplant.quality.balance import smoothed
from footplant.quality.robot import GRAVITY
from footplant.skeleton import Character

SHORTEST_FLIGHT = 0.06
"""Seconds; shorter gaps between contacts are none."""
LEAST_FALL = 0.55
"""Fraction of g; a body that falls more slowly at the 70th percentile is held by something that no contact tells of."""
MOST_FALL = 1.5
"""Fraction of g; a body that falls faster is thrown, or not captured well."""
PLAYING_SPEEDS = (1.0, 2.0)
"""Speeds at which clips are played: takes of 60 frames/s are handed on as takes of 120, and then bodies fall with 4 g
(of the CMU database, for instance, 75_12 and the backflip 88_01)."""
MOST_OFF = 0.05
"""Body heights; a fall that noise interrupts is one if its centre of mass is no farther from a parabola. In the middle
of the backflip CMU 88_01 it is off by 0.041: markers are lost and the trunk is guessed."""
INTERRUPTED = 0.75
"""Fraction of g; an interrupted fall is no slower as a whole, nor faster than its inverse. With `LEAST_FALL`, pauses
between the hops of a take of inertial sensors count as flight."""
SHARE_OF_FALL = 0.75
"""Fraction of that percentile from which on it flies. At 0.5, the last frames of a push-off count as flight."""


@dataclass(frozen=True)
class FlightQuality:
    """How well a motion flies."""

    phases: int
    """Phases without contact in which the body falls."""
    worst: float
    """Largest distance of the centre of mass from the best parabola with g = 9.81 m/s², mm; with 4 g where a clip is
    played at twice its speed (`PLAYING_SPEEDS`)."""
    worst_free: float
    """The same for the best parabola with any g: of a motion that was scaled, or slowed down."""
    gravity: float
    """Median g of these parabolas, m/s²."""
    momentum: float
    """Largest departure of the angular momentum about the centre of mass from its mean over a phase, as the speed at
    which the body would have to turn as a whole, degrees/s."""
    turning: float
    """Largest mean of the angular momentum over a phase, in the same unit: of a flip, how fast it turns."""


def flight(kinematics: Kinematics, character: Character, contacts: Contacts) -> FlightQuality | None:
    """Return how well a motion flies; None if it does not."""
    frames, fps = len(kinematics.motion), kinematics.motion.fps
    grounded = np.zeros(frames, bool)
    for plant in contacts.plants:
        grounded[max(plant.start, 0) : plant.end] = True
    found = flight_phases(flight_frames(kinematics, character, grounded))
    if not found:
        return None
    center, spins = kinematics.center_of_mass(character), turning_speeds(kinematics, character)
    pull = flight_gravity(kinematics, character, found)
    rows = [fit_parabola(center[start:end], fps, pull) for start, end in found]
    worst, free, gravity = (np.array(column) for column in zip(*rows))
    means = [spins[start:end].mean(axis=0) for start, end in found]
    departures = [
        float(np.linalg.norm(spins[start:end] - mean, axis=1).max()) for (start, end), mean in zip(found, means)
    ]
    return FlightQuality(
        len(found), 1000.0 * float(worst.max()), 1000.0 * float(free.max()), float(np.median(gravity)),
        float(np.degrees(max(departures))), float(np.degrees(max(np.linalg.norm(mean) for mean in means))),
    )  # fmt: skip


def turning_speeds(kinematics: Kinematics, character: Character) -> NDArray:
    """Return the angular momentum (F, 3) about the centre of mass over the body's mean moment of inertia, radians/s.

    In flight nothing changes it. Places are smoothed as for the centre of mass.
    """
    masses, places = kinematics.mass_centers(character)
    share = masses / masses.sum()
    places = smoothed(places.reshape(len(places), -1), 0.4 * kinematics.motion.fps).reshape(places.shape)
    away = places - np.einsum("j,fjx->fx", share, places)[:, None]
    momentum = np.einsum("j,fjx->fx", share, np.cross(away, np.gradient(away, axis=0) * kinematics.motion.fps))
    # a third of the trace of the tensor of inertia
    inertia = 2.0 / 3.0 * np.einsum("j,fjx->f", share, away**2)
    return momentum / inertia.mean()


def flight_gravity(kinematics: Kinematics, character: Character, phases: list[tuple[int, int]]) -> float:
    """Return g as it is in a clip, m/s²: 9.81, or four times that if it is played at twice its speed."""
    if not phases:
        return GRAVITY
    center, fps = kinematics.center_of_mass(character), kinematics.motion.fps
    falls = [fit_parabola(center[start:end], fps)[2] for start, end in phases]
    return GRAVITY * (_playing_speed(float(np.median(falls))) or 1.0) ** 2


def _playing_speed(fall: float) -> float | None:
    """Return at which speed a clip is played in which bodies fall like that, m/s²; None: they do not fall."""
    for speed in PLAYING_SPEEDS:
        if LEAST_FALL < fall / (GRAVITY * speed**2) < MOST_FALL:
            return speed
    return None


def fit_parabola(center: NDArray, fps: float, gravity: float = GRAVITY) -> tuple[float, float, float]:
    """Return the largest distances of places (F, 3) from parabolas with g and with any g, metres, and the latter g."""
    # about the middle of a flight, 1, t and t² less its mean are orthogonal: no system is solved
    time = (np.arange(len(center)) - 0.5 * (len(center) - 1)) / fps
    bow = time**2 - np.mean(time**2)
    fallen = center + 0.5 * gravity * bow[:, None] * [0.0, 1.0, 0.0]
    bend, slope = (
        np.einsum("f,fx->x", shape, center) / max(float(np.dot(shape, shape)), 1e-300) for shape in (bow, time)
    )
    straight = np.mean(center, axis=0) + time[:, None] * slope
    off, free = fallen - straight, center - straight - bow[:, None] * bend
    given, any_g = (float(np.linalg.norm(each, axis=1).max()) for each in (off, free))
    return given, any_g, -2.0 * float(bend[1])


def flight_phases(flying: NDArray) -> list[tuple[int, int]]:
    """Return [start, end) of phases of flight, given frames (F,)."""
    return [(start, end) for start, end in runs(flying) if end - start > 3]


def flight_frames(kinematics: Kinematics, character: Character, grounded: NDArray) -> NDArray:
    """Return the frames (F,) in which a captured body flies: nothing is in contact, and it falls as it should.

    grounded: (F,) bool, frames with any contact. Contacts are found where points are still, so that gaps between them
    are longer than a flight: its frames are the longest run in which the centre of mass falls about as fast as in most
    of the gap.
    """
    frames, fps = len(kinematics.motion), kinematics.motion.fps
    found = np.zeros(frames, bool)
    if frames < 5 or character.masses is None or not grounded.any():
        return found
    center = kinematics.center_of_mass(character)
    falling = np.zeros(frames)
    falling[1:-1] = -np.diff(smoothed(center[:, 1], 0.4 * fps), 2) * fps**2
    air = np.flatnonzero(np.diff(np.concatenate([[False], ~grounded, [False]]).astype(np.int8)))
    for start, end in zip(air[::2], air[1::2]):
        if (end - start) / fps < SHORTEST_FLIGHT:
            continue
        middle = falling[start:end]
        usual = float(np.percentile(middle, 70.0))
        if _playing_speed(usual) is None:
            continue
        runs = flight_phases(middle > SHARE_OF_FALL * usual)
        first, last = _longest_fall(runs, center[start:end], fps, MOST_OFF * character.height)
        if (last - first) / fps >= SHORTEST_FLIGHT:
            found[start + first : start + last] = True
    return found


def _longest_fall(runs: list[tuple[int, int]], center: NDArray, fps: float, most: float) -> tuple[int, int]:
    """Return [first, last) of the longest fall: a run, or several in a row that are within `most` of one parabola."""
    spans = [(first[0], last[1]) for n, first in enumerate(runs) for last in runs[n:]]
    for first, last in sorted(spans, key=lambda span: span[0] - span[1]):
        if (first, last) in runs:
            return first, last
        _, off, fall = fit_parabola(center[first:last], fps)
        speed = _playing_speed(fall)
        if speed is not None and off < most and INTERRUPTED < fall / (GRAVITY * speed**2) < 1.0 / INTERRUPTED:
            return first, last
    return 0, 0
