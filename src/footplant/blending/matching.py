"""Compare two clips: the distances of all their frames, the best path through them, and transition points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.blending.distance import TransitionPoint, clouds, distances, local_minima
from footplant.blending.registration import Registration, at_matching_rate, matching_strikes, register
from footplant.blending.settings import GRAPH, REGISTRATION
from footplant.blending.warp import TimeCurve, WarpPath, find_path
from footplant.clip import Clip


@dataclass(frozen=True, eq=False)
class Matching:
    """Comparison of two clips."""

    table: NDArray
    """(N, M) metres; distances of their frames at `REGISTRATION.rate` frames per second."""
    path: WarpPath
    """Corresponding frames at that rate."""
    registration: Registration
    """Corresponding times; the first clip is the reference."""
    transitions: tuple[TransitionPoint, ...]
    """Local minima of the distances, in frames at that rate, best first."""
    strikes: NDArray
    """(S, 2) seconds at which the same step starts in each clip."""

    @property
    def strike_errors(self) -> NDArray:
        """(S,) seconds in the second clip between a foot strike as registered and as it is."""
        if not len(self.strikes):
            return np.zeros(0)
        return self.registration.curve(self.strikes[:, 0])[:, 1] - self.strikes[:, 1]

    def to_dict(self) -> dict:
        """Return a JSON-ready dictionary."""
        curve, rate = self.registration.curve, REGISTRATION.rate
        seconds = np.linspace(curve.start, curve.stop, max(round((curve.stop - curve.start) * 10), 2))
        turns, shifts = self.registration.alignment(seconds)
        return {
            "mean_distance": self.path.cost,
            "smallest_distance": float(self.table.min()),
            "overlap": [[curve.start, curve.stop], curve([curve.start, curve.stop])[:, 1].tolist()],
            "times": np.stack([seconds, curve(seconds)[:, 1]], axis=1).tolist(),
            "alignment": np.column_stack([turns[:, 1], shifts[:, 1, ::2]]).tolist(),
            "transitions": [
                {"first": t.first / rate, "second": t.second / rate, "distance": t.distance} for t in self.transitions
            ],
            "strikes": [
                {"first": float(a), "second": float(b), "error": float(error)}
                for (a, b), error in zip(self.strikes, self.strike_errors)
            ],
            "matched_plants": sum(all(plant is not None for plant in m.plants) for m in self.registration.matches),
        }


def match(first: Clip, second: Clip, *, loops: bool = False) -> Matching:
    """Compare two clips frame by frame, regardless of their positions and headings.

    loops: both are loops, whose last frame repeats the first; else parts of them correspond.
    """
    registration = register([first, second], reference=0, ends="loop" if loops else "free")
    character = registration.character
    table = distances(*(clouds(at_matching_rate(clip.motion, loops), character) for clip in registration.clips))
    path = find_path(table, ends="loop" if loops else "free")
    alone = TimeCurve(registration.curve.knots, registration.curve.control[:, 1:])
    mine, other = registration.contacts
    strikes = np.zeros((0, 2))
    if mine is not None and other is not None:
        cycle = registration.clips[1].motion.duration if loops else None
        strikes = matching_strikes(alone, mine, other, character, cycle)
    points = local_minima(table, apart=round(GRAPH.apart * REGISTRATION.rate))
    return Matching(table, path, registration, tuple(points), strikes)
