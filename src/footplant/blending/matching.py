"""What two clips have in common: the distances of all their frames, the best path through them, places to go over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.blending.distance import Meeting, clouds, distances, local_minima
from footplant.blending.registration import RATE, Registration, matching_strikes, register, slowed
from footplant.blending.warp import Path, TimeCurve, find_path
from footplant.clip import Clip

APART = 0.2
"""Seconds around a transition point in which there is no better one."""


@dataclass(frozen=True, eq=False)
class Matching:
    """Two clips compared."""

    table: NDArray
    """(N, M) metres; distances of their frames at `RATE` frames a second."""
    path: Path
    """Corresponding frames at that rate."""
    registration: Registration
    """Corresponding times; the first clip is the reference."""
    meetings: tuple[Meeting, ...]
    """Local minima of the distances, in frames at that rate: places to go over, best first."""
    strikes: NDArray
    """(S, 2) seconds at which the same step begins in each clip."""

    @property
    def strike_errors(self) -> NDArray:
        """(S,) seconds in the second clip between where the registration has a step begin and where it does."""
        if not len(self.strikes):
            return np.zeros(0)
        return self.registration.curve(self.strikes[:, 0])[:, 1] - self.strikes[:, 1]

    def to_dict(self) -> dict:
        """Plain numbers and lists, for JSON."""
        curve = self.registration.curve
        seconds = np.linspace(curve.start, curve.stop, max(round((curve.stop - curve.start) * 10), 2))
        turns, shifts = self.registration.alignment(seconds)
        return {
            "mean_distance": self.path.cost,
            "smallest_distance": float(self.table.min()),
            "overlap": [[curve.start, curve.stop], curve([curve.start, curve.stop])[:, 1].tolist()],
            "times": np.stack([seconds, curve(seconds)[:, 1]], axis=1).tolist(),
            "alignment": np.column_stack([turns[:, 1], shifts[:, 1, ::2]]).tolist(),
            "transitions": [
                {"first": m.first / RATE, "second": m.second / RATE, "distance": m.distance} for m in self.meetings
            ],
            "strikes": [
                {"first": float(a), "second": float(b), "error": float(error)}
                for (a, b), error in zip(self.strikes, self.strike_errors)
            ],
            "matched_plants": sum(all(plant is not None for plant in m.plants) for m in self.registration.matches),
        }


def match(first: Clip, second: Clip, *, loops: bool = False) -> Matching:
    """Compare two clips, frame by frame, wherever they are and whichever way they face.

    loops: both are loops, whose last frame is their first one; else parts of them correspond.
    """
    registration = register([first, second], reference=0, ends="loop" if loops else "free")
    character = registration.character
    table = distances(*(clouds(slowed(clip.motion, loops), character) for clip in registration.clips))
    path = find_path(table, ends="loop" if loops else "free")
    alone = TimeCurve(registration.curve.knots, registration.curve.control[:, 1:])
    mine, other = registration.contacts
    strikes = np.zeros((0, 2))
    if mine is not None and other is not None:
        cycle = registration.clips[1].motion.duration if loops else None
        strikes = matching_strikes(alone, mine, other, character, cycle)
    meetings = local_minima(table, apart=round(APART * RATE))
    return Matching(table, path, registration, tuple(meetings), strikes)
