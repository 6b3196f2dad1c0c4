"""Collision solids as points with a radius around their hull: one form for spheres, capsules, boxes and meshes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.mechanism.links import Links
from footplant.mechanism.model import Solid

RIM = 16
"""Points on the rim of a cylinder: its surface is within 1 % of the radius of the true one."""
ROUND = 60
"""Points of an ellipsoid: its surface is within 3 % of the true one."""


AROUND = 16
"""Directions in which the ground beside the centre of a ball is looked up: a riser is met within 2 % of the radius."""
RINGS = np.radians(np.arange(6.0, 91.0, 6.0))
"""Angles from a ball's lowest point to its equator, radians: the edge of a step is met within 10 % of the radius."""


def levels_below(
    heights: Callable[[NDArray], NDArray], places: NDArray, radii: NDArray, margin: float = np.inf
) -> NDArray:
    """Return how high the lowest points (…, P) of balls are where they touch the ground, metres.

    places: (…, P, 3) centres, z up; radii: (P,), 0 for a corner; heights: places (N, 2) → height of the ground. A ball
    beside a riser is on the upper tread as soon as its rim is in it. Balls that are farther than `margin` above the
    ground below their centre and around them have the height below their centre.
    """
    levels = heights(places[..., :2].reshape(-1, 2)).reshape(places.shape[:-1])
    radii = np.broadcast_to(radii, levels.shape)
    round_ = np.flatnonzero(radii.ravel() > 0.0)
    centers, size = places.reshape(-1, 3)[round_], radii.ravel()[round_]
    angles = 2.0 * np.pi * np.arange(AROUND) / AROUND
    ways = np.stack([np.cos(angles), np.sin(angles)], axis=1)

    def around(chosen: NDArray, share: float) -> NDArray:
        beside = centers[chosen, None, :2] + share * size[chosen, None, None] * ways
        return heights(beside.reshape(-1, 2)).reshape(-1, AROUND).max(axis=1)

    found = levels.ravel()[round_]
    rim = around(np.arange(len(round_)), 1.0)
    # the ground rises below few of them
    rising = np.flatnonzero((rim > found) & (centers[:, 2] - size < rim + margin))
    for angle in RINGS:
        beside = around(rising, np.sin(angle)) - size[rising] * (1.0 - np.cos(angle))
        found[rising] = np.maximum(found[rising], beside)
    levels.ravel()[round_] = found
    return levels


def spanning_points(solid: Solid, links: Links) -> tuple[int, NDArray, float]:
    """Return link, points (N, 3) in its frame and radius, metres, whose rounded hull is the solid."""
    link, center = links.attached(solid.body, solid.place)
    turn = rotation.to_matrix(rotation.multiply(links.body_turns[solid.body], np.array(solid.turn)))
    points, radius = _own_points(solid)
    return link, center + points @ turn.T, radius


def _own_points(solid: Solid) -> tuple[NDArray, float]:
    radius, half, _ = solid.size
    if solid.kind == "sphere":
        return np.zeros((1, 3)), radius
    if solid.kind == "capsule":
        return np.array([[0.0, 0.0, half], [0.0, 0.0, -half]]), radius
    if solid.kind == "cylinder":
        angles = np.linspace(0.0, 2.0 * np.pi, RIM, endpoint=False)
        # as far outside at the corners as inside between them
        wide = radius * (0.5 + 0.5 / np.cos(np.pi / RIM))
        rim = np.stack([wide * np.cos(angles), wide * np.sin(angles), np.full(RIM, half)], axis=1)
        return np.concatenate([rim, rim * [1.0, 1.0, -1.0]]), 0.0
    if solid.kind == "ellipsoid":
        index = np.arange(ROUND) + 0.5
        polar, turn = np.arccos(1.0 - 2.0 * index / ROUND), np.pi * (1.0 + 5.0**0.5) * index
        ways = np.stack([np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)], axis=1)
        return 1.015 * ways * np.array(solid.size), 0.0
    return solid.vertices, 0.0


@dataclass(frozen=True, eq=False)
class NearPairs:
    """Solids of a robot that are near each other over a motion, sorted by frame."""

    frames: NDArray
    pairs: NDArray
    """(M,) which pair, an index into `SolidTable.pairs`."""
    links: NDArray
    """(M, 2)"""
    places: NDArray
    """(M, 2, 3) the nearest points of their hulls, in the links' frames."""
    normals: NDArray
    """(M, 3) from the first to the second, world."""
    gaps: NDArray
    """(M,) metres between their surfaces; negative where they overlap."""


class SolidTable:
    """All solids of a robot, and the pairs of them that may collide.

    surface: links (P,), places (P, 3) in their frames and radii (P,), metres, of points that span all solids.
    """

    def __init__(self, links: Links) -> None:
        """Tabulate the solids; pairs that overlap in the rest pose are left out."""
        from footplant.mechanism import _distance as kernel

        self.kernel, mechanism = kernel, links.mechanism
        found = [spanning_points(solid, links) for solid in mechanism.solids]
        counts = [len(points) for _, points, _ in found]
        points = np.concatenate([points for _, points, _ in found]) if found else np.zeros((0, 3))
        centers = np.array([0.5 * (points.min(axis=0) + points.max(axis=0)) for _, points, _ in found]).reshape(-1, 3)
        reaches = [
            float(np.linalg.norm(points - center, axis=1).max()) + radius
            for (_, points, radius), center in zip(found, centers)
        ]
        self.table = kernel.Solids(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), np.ascontiguousarray(points),
            np.array([link for link, _, _ in found], np.int64), np.array([radius for _, _, radius in found], float),
            centers, np.array(reaches, float),
        )  # fmt: skip
        self.surface = (
            np.repeat(self.table.links, counts),
            self.table.points,
            np.repeat(self.table.radii, counts),
        )
        solids = mechanism.solids
        self.pairs = np.array(
            [
                (a, b)
                for a in range(len(solids))
                for b in range(a + 1, len(solids))
                if mechanism.may_collide(solids[a], solids[b])
            ],
            np.int64,
        ).reshape(-1, 2)
        positions, turns = links.rest
        touching = self.near(positions[None], turns[None], 0.0)
        self.pairs = np.delete(self.pairs, touching.pairs, axis=0)

    def near(self, at: NDArray, turn: NDArray, margin: float) -> NearPairs:
        """Return the pairs that are nearer than `margin` metres; at (F, L, 3), turn (F, L, 3, 3): the links."""
        room = max(64, len(at) * min(len(self.pairs), 16))
        while True:
            arrays = (
                np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros((room, 2), np.int64),
                np.zeros((room, 2, 3)), np.zeros((room, 3)), np.zeros(room),
            )  # fmt: skip
            count = self.kernel.find_near(self.table, self.pairs, at, turn, margin, DIRECTIONS, *arrays)
            if count < room or room >= len(at) * len(self.pairs):
                return NearPairs(*(array[:count] for array in arrays))
            room = len(at) * len(self.pairs)


def _directions() -> NDArray:
    ways = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if x or y or z], float)
    return ways / np.linalg.norm(ways, axis=1)[:, None]


DIRECTIONS = _directions()
"""(26, 3) in which the depth of hulls that overlap is tried."""
