"""Catmull–Clark subdivision of a closed quad mesh, for positions and any other vertex attributes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def catmull_clark(values: NDArray, quads: NDArray) -> tuple[NDArray, NDArray]:
    """Subdivide once: vertex values (V, C) and quads (Q, 4) → finer values and quads.

    The mesh is closed: each edge has two faces. Every new value is a convex combination of old ones, so skin weights
    stay positive and keep their sum (Catmull & Clark 1978).
    """
    count = len(values)
    sides = np.stack([quads, np.roll(quads, -1, axis=1)], axis=-1)
    edges, edge_of_side = np.unique(np.sort(sides.reshape(-1, 2), axis=1), axis=0, return_inverse=True)
    edge_of_side = edge_of_side.reshape(quads.shape)

    face_points = values[quads].mean(axis=1)
    middles = values[edges].mean(axis=1)
    beside = np.zeros_like(middles)
    np.add.at(beside, edge_of_side, face_points[:, None])
    edge_points = 0.5 * middles + 0.25 * beside

    valence = np.bincount(edges.ravel(), minlength=count)[:, None].astype(float)
    around_faces, around_edges = np.zeros_like(values), np.zeros_like(values)
    np.add.at(around_faces, quads, face_points[:, None])
    np.add.at(around_edges, edges, middles[:, None])
    vertex_points = (around_faces / valence + 2.0 * around_edges / valence + (valence - 3.0) * values) / valence

    first_edge, first_face = count, count + len(edges)
    centers = np.broadcast_to(first_face + np.arange(len(quads))[:, None], quads.shape)
    finer = np.stack(
        [quads, first_edge + edge_of_side, centers, first_edge + np.roll(edge_of_side, 1, axis=1)], axis=-1
    )
    return np.concatenate([vertex_points, edge_points, face_points]), finer.reshape(-1, 4)
