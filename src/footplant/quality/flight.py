"""Flight: phases in which nothing touches the ground, and how well the centre of mass follows a parabola in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.detection import Contacts
from footplant.kinematics import Kinematics
from footplant.quality.balance import smoothed
from footplant.quality.robot import GRAVITY
from footplant.skeleton import Character

SHORTEST_FLIGHT = 0.06
"""Seconds; shorter gaps between contacts are none."""
LEAST_FALL = 0.55
"""Fraction of g; a body that falls more slowly at the 70th percentile is held by something that no contact tells of."""
MOST_FALL = 1.5
"""Fraction of g; a body that falls faster is thrown, or not captured well."""
SHARE_OF_FALL = 0.75
"""Fraction of that percentile from which on it flies. At 0.5, the last frames of a push-off count as flight."""


@dataclass(frozen=True)
class FlightQuality:
    """How well a motion flies."""

    phases: int
    """Phases without contact in which the body falls."""
    worst: float
    """Largest distance of the centre of mass from the best parabola with g = 9.81 m/s², mm."""
    worst_free: float
    """The same for the best parabola with any g: of a motion that was scaled, or slowed down."""
    gravity: float
    """Median g of these parabolas, m/s²."""


def flight(kinematics: Kinematics, character: Character, contacts: Contacts) -> FlightQuality | None:
    """Return how well a motion flies; None if it does not."""
    frames, fps = len(kinematics.motion), kinematics.motion.fps
    grounded = np.zeros(frames, bool)
    for plant in contacts.plants:
        grounded[max(plant.start, 0) : plant.end] = True
    found = flight_phases(flight_frames(kinematics, character, grounded))
    if not found:
        return None
    center = kinematics.center_of_mass(character)
    rows = [fit_parabola(center[start:end], fps) for start, end in found]
    worst, free, gravity = (np.array(column) for column in zip(*rows))
    return FlightQuality(len(found), 1000.0 * float(worst.max()), 1000.0 * float(free.max()), float(np.median(gravity)))


def fit_parabola(center: NDArray, fps: float) -> tuple[float, float, float]:
    """Return the largest distances of places (F, 3) from parabolas with g and with any g, metres, and the latter g."""
    time = (np.arange(len(center)) - 0.5 * (len(center) - 1)) / fps
    lines = np.stack([np.ones_like(time), time], axis=1)
    fallen = center + 0.5 * GRAVITY * time[:, None] ** 2 * [0.0, 1.0, 0.0]
    off = fallen - lines @ np.linalg.lstsq(lines, fallen, rcond=None)[0]
    curves = np.column_stack([lines, 0.5 * time**2])
    found = np.linalg.lstsq(curves, center, rcond=None)[0]
    free = center - curves @ found
    given, any_g = (float(np.linalg.norm(each, axis=1).max()) for each in (off, free))
    return given, any_g, -float(found[2, 1])


def flight_phases(flying: NDArray) -> list[tuple[int, int]]:
    """Return [start, end) of phases of flight, given frames (F,)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flying, [False]]).astype(np.int8)))
    return [(int(start), int(end)) for start, end in zip(edges[::2], edges[1::2]) if end - start > 3]


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
        if not LEAST_FALL * GRAVITY < usual < MOST_FALL * GRAVITY:
            continue
        runs = flight_phases(middle > SHARE_OF_FALL * usual)
        if runs:
            first, last = max(runs, key=lambda run: run[1] - run[0])
            if (last - first) / fps >= SHORTEST_FLIGHT:
                found[start + first : start + last] = True
    return found
