"""USD meshes as one skin.

A skinned point stands at Σ w·W_j·B_j⁻¹·G·p, where W_j is the joint in the world, B_j its bind transform in skeleton
space and G the mesh's geomBindTransform. With W_j = T(p)·Q·M_j (see `pose`) and L the skeleton's own place in the
world, our vertices are L·G·p, where the mesh was bound, and our bind matrices M_j·B_j⁻¹·L⁻¹.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError
from footplant.io.usd.characters import Figure, invert
from footplant.io.usd.content import RawMesh
from footplant.io.usd.pose import columns
from footplant.skeleton import Skin
from footplant.skinning import vertex_normals


def read_skin(figure: Figure) -> Skin | None:
    """Every mesh of a figure as one skin, or None when there is none."""
    meshes = figure.raw.meshes
    if not meshes:
        return None
    world = columns(figure.raw.base)
    vertices, faces, joints, weights, normals, start = [], [], [], [], [], 0
    for mesh in meshes:
        carry = world @ columns(mesh.bind)
        points = mesh.points.astype(float) @ carry[:3, :3].T + carry[:3, 3]
        corners = triangles(figure, mesh)
        if mesh.left_handed != bool(np.linalg.det(carry[:3, :3]) < 0):
            corners = corners[:, ::-1]
        who, much = _influences(figure, mesh)
        vertices.append(points)
        faces.append(corners + start)
        joints.append(who)
        weights.append(much)
        normals.append(_turned(mesh.normals, carry))
        start += len(points)
    if not all(np.isfinite(points).all() for points in vertices):
        raise FormatError("expected finite points, got NaN or infinity", path=figure.path, where=meshes[0].path)
    width = max(who.shape[1] for who in joints)
    padded = [
        [np.pad(array, ((0, 0), (0, width - array.shape[1]))) for array in arrays] for arrays in (joints, weights)
    ]
    inverse_bind = np.empty((len(figure.order), 4, 4))
    for joint in range(len(inverse_bind)):
        spread = np.eye(4)
        spread[:3, :3] = figure.spreads[joint]
        inverse_bind[joint] = spread @ invert(world @ figure.bind[joint])
    if not np.isfinite(inverse_bind).all():
        raise FormatError("expected bind transforms that can be undone", path=figure.path, where=figure.raw.path)
    return Skin(
        vertices=np.concatenate(vertices),
        faces=np.concatenate(faces),
        joints=np.concatenate(padded[0]),
        weights=np.concatenate(padded[1]),
        inverse_bind=inverse_bind,
        normals=_complete(normals, vertices, faces),
    )


def _complete(normals: list[NDArray | None], vertices: list[NDArray], faces: list[NDArray]) -> NDArray | None:
    """The normals of all meshes, computed for those that have none a vertex; None when no mesh has any."""
    if all(found is None for found in normals):
        return None
    out, start = [], 0
    for found, points, corners in zip(normals, vertices, faces, strict=True):
        out.append(vertex_normals(points, corners - start) if found is None else found)
        start += len(points)
    return np.concatenate(out)


def _turned(normals: NDArray | None, carry: NDArray) -> NDArray | None:
    """Normals go with the inverse transpose; the cofactor matrix is the same without a division, but for the sign."""
    if normals is None or not np.isfinite(normals).all():
        return None
    rows = carry[:3, :3]
    cofactor = np.stack([np.cross(rows[a], rows[b]) for a, b in ((1, 2), (2, 0), (0, 1))])
    turned = normals.astype(float) @ cofactor.T * np.sign(np.linalg.det(rows))
    length = np.linalg.norm(turned, axis=1, keepdims=True)
    return np.where(length > 0, turned / np.where(length > 0, length, 1.0), [0.0, 1.0, 0.0])


def triangles(figure: Figure, mesh: RawMesh) -> NDArray:
    """(T, 3) polygons cut into fans from their first corner; polygons of less than three corners are dropped."""
    counts, corners = mesh.counts.astype(np.int64), mesh.corners.astype(np.int64)
    if (counts < 0).any() or counts.sum() != len(corners):
        raise FormatError(
            f"expected {int(np.abs(counts).sum())} corners by the polygons' counts, got {len(corners)}",
            path=figure.path,
            where=mesh.path,
        )
    if len(corners) and not 0 <= corners.min() <= corners.max() < len(mesh.points):
        bad = corners.max() if corners.min() >= 0 else corners.min()
        raise FormatError(
            f"expected corners in 0..{len(mesh.points) - 1}, got {bad}", path=figure.path, where=mesh.path
        )
    fans = np.maximum(counts - 2, 0)
    first = np.repeat(np.cumsum(counts) - counts, fans)
    step = np.arange(len(first)) - np.repeat(np.cumsum(fans) - fans, fans)
    return np.stack([corners[first], corners[first + step + 1], corners[first + step + 2]], axis=1).reshape(-1, 3)


def _influences(figure: Figure, mesh: RawMesh) -> tuple[NDArray, NDArray]:
    """(V, K) our joints and weights that sum to 1."""
    who = mesh.indices.reshape(-1, mesh.width).astype(np.int64)
    much = np.maximum(np.nan_to_num(mesh.weights.reshape(-1, mesh.width).astype(float), posinf=0.0), 0.0)
    names = figure.raw.joints if mesh.joints is None else mesh.joints
    outside = ((who < 0) | (who >= len(names))) & (much > 0)
    if outside.any():
        raise FormatError(
            f"expected joints in 0..{len(names) - 1}, got {int(who[outside][0])}", path=figure.path, where=mesh.path
        )
    places = figure.joint_paths()
    known = np.array([places.get(name, -1) for name in names] or [-1], np.int64)
    who = known[np.clip(who, 0, len(known) - 1)]
    # a joint that the skeleton has not cannot move anything
    much = np.where(who >= 0, much, 0.0)
    total = much.sum(axis=1, keepdims=True)
    much = np.where(total > 0, much / np.where(total > 0, total, 1.0), np.eye(1, mesh.width))
    who = np.where(much > 0, np.maximum(who, 0), 0)
    if mesh.constant:
        who, much = (np.repeat(array, len(mesh.points), axis=0) for array in (who, much))
    return who, much
