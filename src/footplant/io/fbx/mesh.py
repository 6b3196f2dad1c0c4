"""A mesh as an FBX file has it: polygons, skin clusters, texture coordinates and morph targets."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Mesh:
    """One mesh of the file."""

    name: str
    vertices: NDArray
    """(V, 3) in the mesh's own space."""
    faces: NDArray
    """(F, 2) first corner and number of corners of each polygon."""
    corners: NDArray
    """(C,) vertex index of each corner."""
    normals: NDArray | None
    """(n, 3) unit normals."""
    normal_corners: NDArray | None
    """(C,) index into `normals` of each corner."""
    instances: NDArray
    """(I,) nodes that instance the mesh."""
    placed: NDArray
    """(I, 4, 4) mesh space → node, per instance."""
    bones: NDArray
    """(K,) bone node of each skin cluster; empty for a rigid mesh."""
    binds: NDArray
    """(K, 4, 4) mesh space → bone."""
    bind_worlds: NDArray
    """(K, 4, 4) bone → world in the bind pose."""
    clusters: NDArray
    """(n,) cluster of each influence."""
    weighted: NDArray
    """(n,) vertex of each influence."""
    weights: NDArray
    """(n,) weight of each influence."""
    uvs: NDArray | None = None
    """(C, 2) texture coordinates of each corner."""
    materials: tuple[int, ...] = ()
    """The file's materials that its faces choose from."""
    face_materials: NDArray = field(default_factory=lambda: np.zeros(0, np.int64))
    """(F,) index into `materials`."""
    morphs: tuple[tuple[str, NDArray, NDArray], ...] = ()
    """Morph targets: name, vertices (n,), offsets (n, 3)."""


def fan(faces: NDArray) -> NDArray:
    """Return (T, 3) corners of triangles, fanning each polygon."""
    count = np.maximum(faces[:, 1] - 2, 0)
    first = np.repeat(faces[:, 0], count)
    step = np.arange(len(first)) - np.repeat(np.cumsum(count) - count, count)
    return np.stack([first, first + step + 1, first + step + 2], axis=1)
