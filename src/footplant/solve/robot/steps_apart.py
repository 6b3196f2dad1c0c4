"""Steps of both feet that would overlap, moved apart: a robot's feet are broader than a person's, or stand closer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.mechanism.body import SIDES, RobotBody
from footplant.mechanism.motion import Plant

ROUNDS = 10
"""How often steps are moved at most: one that is moved away from a step may come near another."""
_ANGLES = np.linspace(0.0, 2.0 * np.pi, 64, endpoint=False)
WAYS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)])
"""(2, 64) directions along the ground in which feet are moved apart: the best is found to 0.1 % of its length."""


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


def _foot(body: RobotBody, side: str, at: NDArray, turn: NDArray) -> tuple[NDArray, NDArray]:
    """Return points (F, P, 3) that span a foot's solids, and the radii (P,) around them."""
    paths, depths = body.links.paths
    links, places, radii = body.solids.surface
    sole = body.soles[side].link
    chosen = [number for number, link in enumerate(links) if sole in (link, *paths[link, : depths[link]])]
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
