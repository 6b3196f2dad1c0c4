"""Feet that stand still in the source: how far they slide and turn in the result.

This looks at ankle and toe joints and knows nothing of the contacts that a solver kept, so that it also sees those that
contact detection missed. A joint is still if it stays within 6 mm for 0.12 s; it counts if its foot carries the body.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.order import quantile
from footplant.quality.pair import BODY, COLUMNS, SIDES, MotionPair

FEET = ("left_foot", "left_toes", "right_foot", "right_toes")
TRAVEL = 0.12
"""Metres; hips that travel this far over a still joint prove that its foot stands."""
LOW = 0.035
"""Metres above where feet stand around there up to which a still foot stands too."""
AROUND = 0.5
"""Metres; how far around."""
UPRIGHT = 0.35
"""Share of the height; hips this high above a foot can stand on it."""
SOLE_DEPTH = (0.02, 0.2)
"""Metres; smallest and largest depth of the sole below a joint."""
ALONG_FOOT = 5
"""Points from the joint down to its sole of which the steadiest counts."""


@dataclass(frozen=True)
class Stance:
    """One still stance of the source, and what the result makes of it."""

    joint: str
    """Role of the still joint: left_foot, right_toes …"""
    start: int
    """First frame, of the source."""
    end: int
    """First frame after it."""
    drift: float
    """How far it slides, mm on a body of 1.7 m."""
    turn: float | None
    """Largest angle between the result's foot and its mean rotation, degrees; None for toes."""


def measure_stances(pair: MotionPair) -> list[Stance]:
    """Return the still stances of the source's feet, with the drift and turn of each in the result.

    A still joint counts if its foot stands: if the body travels over it; if it is as low as feet are that stand around
    there; or, on stairs and boxes, if the body is upright above it and the other foot is not lower.

    Captures roll a standing foot about the ankle, a pinned sole rolls about the sole, and neither slides: of the points
    from the joint down to the sole the one that moves least counts. A stance may have the source's own few millimetres:
    the smaller of that drift and of the joint's departure from the source's path counts, so that a copy of a creeping
    foot and a pinned foot both score 0.
    """
    stances = pair.stances
    if not stances:
        return []
    from footplant.quality import _stances as kernel

    roles, columns = pair.result.roles, [COLUMNS[f"{side}_foot"] for side in SIDES]
    low = [role for role in FEET if role in pair.result]
    floor = min(quantile(pair.result[role][:, 1], 0.05) for role in low)
    limits = kernel.StanceLimits(TRAVEL, LOW, AROUND, UPRIGHT * BODY, *SOLE_DEPTH, floor)
    bodies = kernel.Bodies(pair.source.places, pair.result.places, pair.result.turns, _sole_heights(pair))
    rows = [(COLUMNS[role], roles[role], int(role.startswith("right")), start, end) for role, start, end in stances]
    out = np.empty((len(rows), 3))
    room = kernel.stance_room(len(pair.source.places))
    kernel.stance_errors(bodies, COLUMNS["hips"], np.array(columns), np.array(rows), ALONG_FOOT, limits, room, out)
    return [
        Stance(
            role, start + pair.first, end + pair.first, 1000.0 * drift,
            None if role.endswith("toes") else math.degrees(turn),
        )
        for (role, start, end), (carries, drift, turn) in zip(stances, out.tolist())
        if carries
    ]  # fmt: skip


def standing_frames(pair: MotionPair, roles: tuple[str, ...]) -> NDArray:
    """Return (F,) bool: whether any of these joints of the source is still."""
    still = np.zeros(pair.frames, bool)
    for role in roles:
        for start, end in pair.still.get(role, ()) if role in pair.result else ():
            still[start:end] = True
    return still


def _sole_heights(pair: MotionPair) -> NDArray:
    """Return heights (2, F) of the source's feet above where their lowest joints usually stand, metres."""
    out = np.full((2, pair.frames), np.inf)
    for role in FEET:
        if role in pair.source:
            height = pair.source[role][:, 1]
            still = np.zeros(len(height), bool)
            for start, end in pair.still[role]:
                still[start:end] = True
            lowest = quantile(height[still] if still.any() else height, 0.05)
            side = int(role.startswith("right"))
            np.minimum(out[side], height - lowest, out=out[side])
    return out
