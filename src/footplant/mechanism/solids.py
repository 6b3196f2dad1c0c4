"""Collision solids as points with a radius around their convex hull: one form for spheres, capsules, boxes and hulls."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.mechanism.links import Links
from footplant.mechanism.model import Solid

RIM = 12
"""Points on the rim of a cylinder; its surface is inside the true one by 3 % of the radius between them."""


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
        rim = np.stack([radius * np.cos(angles), radius * np.sin(angles), np.full(RIM, half)], axis=1)
        return np.concatenate([rim, rim * [1.0, 1.0, -1.0]]), 0.0
    if solid.kind == "ellipsoid":
        ways = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if x or y or z], float)
        return ways / np.linalg.norm(ways, axis=1)[:, None] * np.array(solid.size), 0.0
    return solid.vertices, 0.0
