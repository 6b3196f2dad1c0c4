"""Feet that stand still in the source: how far they slide and turn in the result.

This looks at ankle and toe joints and knows nothing of the contacts that a solver kept, so that it also sees those that
contact detection missed. A joint is still if it stays within 6 mm for 0.12 s; it counts if its foot carries the body.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.quality.pair import BODY, SIDES, MotionPair, mean_rotation, quantile, turn_angles

STILL_WITHIN = 0.006
"""Metres from its middle within which a still joint stays (the box around its positions has twice this diagonal)."""
STILL_FOR = 0.12
"""Seconds for which it stays at least."""
STILL_SPEED = 0.12
"""m/s below which a joint is slow."""
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
ALONG_FOOT = np.linspace(0.0, 1.0, 5)
"""Points from the joint (0) down to its sole (1) of which the steadiest counts."""


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


def still_intervals(positions: NDArray, fps: float) -> list[list[tuple[int, int]]]:
    """Return for each point of positions (F, P, 3) the intervals (start, end) in which it is still."""
    frames, points = positions.shape[:2]
    found: list[list[tuple[int, int]]] = [[] for _ in range(points)]
    if frames >= 3:
        from footplant.quality import _stances as kernel

        least = max(3, round(STILL_FOR * fps))
        out = np.empty((points * (frames // least), 3), np.int64)
        positions = np.ascontiguousarray(positions)
        count = kernel.still_intervals(positions, float(fps), STILL_SPEED, 2.0 * STILL_WITHIN, least, out)
        for point, start, end in out[:count].tolist():
            found[point].append((start, end))
    return found


def measure_stances(pair: MotionPair) -> list[Stance]:
    """Return the still stances of the source's feet, with the drift and turn of each in the result.

    A stance may have the source's own few millimetres: the smaller of the result's own drift and of its departure from
    the source's path counts, so that a copy of a creeping foot and a pinned foot both score 0.
    """
    heights = _sole_heights(pair)
    floor = min(quantile(pair.result[role][:, 1], 0.05) for role in pair.result if role.endswith(("_foot", "_toes")))
    out = []
    for role, start, end in pair.stances:
        if _carries(pair, role, start, end, heights):
            drift, turn = _drift_and_turn(pair, role, start, end, floor)
            out.append(Stance(role, start + pair.first, end + pair.first, 1000.0 * drift, turn))
    return out


def standing_frames(pair: MotionPair, roles: tuple[str, ...]) -> NDArray:
    """Return (F,) bool: whether any of these joints of the source is still."""
    still = np.zeros(pair.frames, bool)
    for role in roles:
        for start, end in pair.still.get(role, ()) if role in pair.result else ():
            still[start:end] = True
    return still


def _sole_heights(pair: MotionPair) -> dict[str, NDArray]:
    """Return side → height (F,) of the source's foot above where its lowest joint usually stands, metres."""
    out = {}
    for side in SIDES:
        parts = []
        for role in (f"{side}_foot", f"{side}_toes"):
            if role in pair.source:
                height = pair.source[role][:, 1]
                still = np.zeros(len(height), bool)
                for start, end in pair.still[role]:
                    still[start:end] = True
                parts.append(height - quantile(height[still] if still.any() else height, 0.05))
        out[side] = np.minimum.reduce(parts)
    return out


def _carries(pair: MotionPair, role: str, start: int, end: int, heights: dict[str, NDArray]) -> bool:
    """Return whether a still joint belongs to a foot that stands, not to one that is held in the air.

    It stands if the body travels over it; if it is as low as feet are that stand around there; or, on stairs and boxes,
    if the body is upright above it and the other foot is not lower.
    """
    side, frames = role.partition("_")[0], slice(start, end)
    other = SIDES[1 - SIDES.index(side)]
    hips, foot = pair.source["hips"][frames], pair.source[role][frames]
    travelled = hips[:, ::2].max(axis=0) - hips[:, ::2].min(axis=0)
    if float(np.hypot(*travelled)) > TRAVEL:
        return True
    high = float(np.median(heights[side][frames]))
    place, lows = np.median(foot, axis=0), []
    for each in SIDES:
        apart = pair.source[f"{each}_foot"][:, ::2] - place[::2]
        near = heights[each][np.einsum("fk,fk->f", apart, apart) < AROUND * AROUND]
        if len(near):
            lows.append(quantile(near, 0.02))
    if high - min(lows, default=0.0) < LOW:
        return True
    upright = float(np.median(hips[:, 1] - foot[:, 1])) > UPRIGHT * BODY
    return upright and high < float(np.median(heights[other][frames])) + LOW


def _drift_and_turn(pair: MotionPair, role: str, start: int, end: int, floor: float) -> tuple[float, float | None]:
    """Return how far a standing foot slides, metres, and turns, degrees.

    Captures roll a standing foot about the ankle, a pinned sole rolls about the sole, and neither slides: of the points
    from the joint down to the sole (`floor` is the height of the lowest joints) the one that moves least counts.
    """
    place, theirs = pair.result[role][start:end], pair.source[role][start:end, ::2]
    turns = pair.result_turns[role][start:end]
    deep = min(max(float(np.median(place[:, 1])) - floor + 0.02, SOLE_DEPTH[0]), SOLE_DEPTH[1])
    down = rotation.rotate(rotation.inverse(turns[len(turns) // 2]), np.array([0.0, -1.0, 0.0]))
    sole = deep * rotation.rotate(turns, down)
    points = (place[:, None] + ALONG_FOOT[:, None] * sole[:, None])[..., ::2]
    tracks = np.concatenate([points, (points[:, :1] - theirs[:, None])], axis=1)
    # q − med(q) − (p − med(p)): the departure from the source's path is relative to both medians
    middle = np.median(np.concatenate([points, theirs[:, None]], axis=1), axis=0)
    tracks = tracks - np.concatenate([middle[:-1], middle[:1] - middle[-1:]])
    away = np.sqrt(np.einsum("fnk,fnk->fn", tracks, tracks).max(axis=0))
    turned = None
    if not role.endswith("toes"):
        apart = rotation.multiply(rotation.inverse(mean_rotation(turns)), turns)
        turned = float(turn_angles(apart).max())
    return float(min(away[:-1].min(), away[-1])), turned
