"""Steps moved along the ground for the solids of feet: apart from each other, and out of the risers of stairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.mechanism.body import SIDES, RobotBody
from footplant.mechanism.motion import Plant
from footplant.mechanism.solids import levels_below

ROUNDS = 10
"""How often steps are moved at most: one that is moved away from a step may come near another."""
_ANGLES = np.linspace(0.0, 2.0 * np.pi, 64, endpoint=False)
WAYS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)])
"""(2, 64) directions along the ground in which feet are moved apart: the best is found to 0.1 % of its length."""

FARTHEST = 0.06
"""Metres by which a step is moved out of a riser at most: the rim of a foot, which plans of steps do not know."""
SPACING = 0.002
"""Metres between the distances that are tried."""
EDGE = 0.02
"""Metres: a foot that is deeper in the ground is in a riser, as ground that rises by more is an edge for step plans."""
ROOM = (1.0, 0.5, 0.0)
"""Radii of a foot's balls by which it is kept away from a riser ahead, the first that there is a place for: a foot that
rolls over its toe brings their centres forward by up to one. With none, MuJoCo's humanoid that climbs (104_02, 12 cm)
is 67 mm in a riser as its heel rises."""


def steps_on_treads(
    body: RobotBody, plants: Sequence[Plant], at: NDArray, turn: NDArray, heights: Callable[[NDArray], NDArray]
) -> tuple[Plant, ...]:
    """Return plants, those of steps whose foot is in a riser moved by the least distance that brings it out.

    at, turn: as for `steps_apart`; heights: places (N, 2) → height of the ground. No part of the foot loses its tread;
    where there is no such place, steps stay.
    """
    out = list(plants)
    distances = np.arange(SPACING, FARTHEST, SPACING)
    tries = np.concatenate([np.zeros((1, 2)), *(distance * WAYS.T for distance in distances)])
    for step in _steps(plants):
        both = _flat_frames([plants[each] for each in step])
        if both is None:
            continue
        frame = both[len(both) // 2]
        places, radii = _foot(body, plants[step[0]].side, at[[frame]], turn[[frame]])
        heel, toe = (next(plants[each].place for each in step if plants[each].part == part) for part in ("heel", "toe"))
        ahead = np.subtract(toe, heel)[:2] / max(float(np.hypot(*np.subtract(toe, heel)[:2])), 1e-9)
        tried = np.repeat(places, len(tries), axis=0)
        tried[..., :2] += tries[:, None]
        below = heights(tried[..., :2].reshape(-1, 2)).reshape(tried.shape[:-1])
        carried = (np.abs(below - min(heel[2], toe[2])) < EDGE).sum(axis=1)
        deep = _depths(heights, tried, radii)
        fits = np.zeros(0, np.int64)
        for share in ROOM:
            rolled = tried.copy()
            rolled[..., :2] += share * radii[:, None] * ahead
            clear = np.maximum(deep, _depths(heights, rolled, radii)) < EDGE
            fits = np.flatnonzero(clear & (carried >= carried[0]))
            if len(fits):
                break
        if len(fits):
            dx, dy = tries[fits[0]].tolist()
            for each in step:
                x, y, z = plants[each].place
                out[each] = replace(plants[each], place=(x + dx, y + dy, z))
    return tuple(out)


def steps_apart(body: RobotBody, plants: Sequence[Plant], at: NDArray, turn: NDArray, least: float) -> list[Plant]:
    """Return plants, those of two feet that stand at the same time moved along the ground until they are `least` apart.

    at (F, L, 3), turn (F, L, 3, 3): links of a pose in which feet are where they are planted. Plants of a foot that
    adjoin are one step, which is moved as a whole, both steps by half of what is missing. Feet that stand at heights
    at which they do not meet stay.
    """
    steps = _steps(plants)
    number = np.full((2, len(at)), -1)
    for index, step in enumerate(steps):
        for each in step:
            number[SIDES.index(plants[each].side), plants[each].start : plants[each].end] = index
    both = np.flatnonzero((number >= 0).all(axis=0))
    if not len(both):
        return list(plants)
    feet = [_foot(body, side, at[both], turn[both]) for side in SIDES]
    if not all(places.shape[1] for places, _ in feet):
        return list(plants)
    moves, own = np.zeros((len(steps), 2)), number[:, both]
    heights = [((places[..., 2] - radii).min(axis=1), (places[..., 2] + radii).max(axis=1)) for places, radii in feet]
    level = (heights[0][0] < heights[1][1]) & (heights[1][0] < heights[0][1])
    # how far the left foot reaches and where the right one begins, along each way
    ends = (feet[0][0][..., :2] @ WAYS + feet[0][1][:, None]).max(axis=1)
    starts = (feet[1][0][..., :2] @ WAYS - feet[1][1][:, None]).min(axis=1)
    for _ in range(ROUNDS):
        gaps = starts - ends + (moves[own[1]] - moves[own[0]]) @ WAYS
        missing = np.where(level, least - gaps.max(axis=1), 0.0)
        done: set[int] = set()
        for frame in np.argsort(-missing):
            pair = own[:, frame].tolist()
            if missing[frame] < 1e-6:
                break
            if done.isdisjoint(pair):
                way = 0.5 * missing[frame] * WAYS[:, gaps[frame].argmax()]
                moves[pair[0]] -= way
                moves[pair[1]] += way
                done.update(pair)
        if not done:
            break
    out = list(plants)
    for step, move in zip(steps, moves):
        for each in step:
            x, y, z = plants[each].place
            out[each] = replace(plants[each], place=(x + float(move[0]), y + float(move[1]), z))
    return out


def step_moves(before: Sequence[Plant], after: Sequence[Plant], frames: int) -> dict[str, NDArray]:
    """Return side → moves (F, 2) of steps along the ground, metres; between steps they go over evenly."""
    found = {}
    for side in SIDES:
        moves, planted = np.zeros((frames, 2)), np.zeros(frames, bool)
        for old, new in zip(before, after):
            if old.side == side:
                moves[old.start : old.end] = np.subtract(new.place, old.place)[:2]
                planted[old.start : old.end] = True
        known = np.flatnonzero(planted)
        if len(known):
            moves = np.stack([np.interp(np.arange(frames), known, moves[known, axis]) for axis in (0, 1)], axis=1)
        found[side] = moves
    return found


def _depths(heights: Callable[[NDArray], NDArray], places: NDArray, radii: NDArray) -> NDArray:
    """Return how deep the deepest of some balls (…, P, 3) is in the ground (…), metres."""
    return (levels_below(heights, places, radii) - places[..., 2] + radii).max(axis=-1, initial=0.0)


def _flat_frames(plants: Sequence[Plant]) -> range | None:
    """Return the frames in which heel and toe of a step are planted, those of the first such pair; None without."""
    for heel in (plant for plant in plants if plant.part == "heel"):
        for toe in (plant for plant in plants if plant.part == "toe"):
            both = range(max(heel.start, toe.start), min(heel.end, toe.end))
            if both:
                return both
    return None


def _foot(body: RobotBody, side: str, at: NDArray, turn: NDArray) -> tuple[NDArray, NDArray]:
    """Return points (F, P, 3) that span a foot's solids, and the radii (P,) around them."""
    links, places, radii = body.solids.surface
    chosen = body.feet[side][links]
    own = links[chosen]
    return at[:, own] + np.einsum("fpij,pj->fpi", turn[:, own], places[chosen]), radii[chosen]


def _steps(plants: Sequence[Plant]) -> list[list[int]]:
    """Return the numbers of plants that belong to one step: of one foot, with no frame between them."""
    steps: list[list[int]] = []
    for side in SIDES:
        end = -1
        for each in sorted((n for n, plant in enumerate(plants) if plant.side == side), key=lambda n: plants[n].start):
            if end < plants[each].start:
                steps.append([])
            steps[-1].append(each)
            end = max(end, plants[each].end)
    return steps
