"""USD meshes as one skin.

A skinned point is at Σ w·W_j·B_j⁻¹·G·p, where W_j is the joint's world matrix, B_j its bind transform in skeleton
space and G the mesh's geomBindTransform. With W_j = T(p)·Q·M_j (see `pose`) and L the skeleton's local-to-world
transform, our vertices are L·G·p, in the bind pose, and our inverse bind matrices M_j·B_j⁻¹·L⁻¹.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError
from footplant.io.usd.characters import UsdCharacter, invert
from footplant.io.usd.content import RawMesh
from footplant.io.usd.pose import columns
from footplant.skeleton import Skin
from footplant.skinning import vertex_normals


def read_skin(character: UsdCharacter) -> Skin | None:
    """Return every mesh of a character as one skin, or None."""
    meshes = character.raw.meshes
    if not meshes:
        return None
    world = columns(character.raw.base)
    vertices, faces, joints, weights, normals, start = [], [], [], [], [], 0
    for mesh in meshes:
        to_world = world @ columns(mesh.bind)
        points = mesh.points.astype(float) @ to_world[:3, :3].T + to_world[:3, 3]
        corners = triangles(character, mesh)
        if mesh.left_handed != bool(np.linalg.det(to_world[:3, :3]) < 0):
            corners = corners[:, ::-1]
        influencing, shares = _influences(character, mesh)
        vertices.append(points)
        faces.append(corners + start)
        joints.append(influencing)
        weights.append(shares)
        normals.append(_transform_normals(mesh.normals, to_world))
        start += len(points)
    if not all(np.isfinite(points).all() for points in vertices):
        raise FormatError("expected finite points, got NaN or infinity", path=character.path, where=meshes[0].path)
    width = max(influencing.shape[1] for influencing in joints)
    padded = [
        [np.pad(array, ((0, 0), (0, width - array.shape[1]))) for array in arrays] for arrays in (joints, weights)
    ]
    inverse_bind = np.empty((len(character.order), 4, 4))
    for joint in range(len(inverse_bind)):
        scale_matrix = np.eye(4)
        scale_matrix[:3, :3] = character.scale_matrices[joint]
        inverse_bind[joint] = scale_matrix @ invert(world @ character.bind[joint])
    if not np.isfinite(inverse_bind).all():
        raise FormatError("expected invertible bind transforms", path=character.path, where=character.raw.path)
    return Skin(
        vertices=np.concatenate(vertices),
        faces=np.concatenate(faces),
        joints=np.concatenate(padded[0]),
        weights=np.concatenate(padded[1]),
        inverse_bind=inverse_bind,
        normals=_complete(normals, vertices, faces),
    )


def _complete(normals: list[NDArray | None], vertices: list[NDArray], faces: list[NDArray]) -> NDArray | None:
    """Return the normals of all meshes, computed for those without vertex normals; None if no mesh has any."""
    if all(found is None for found in normals):
        return None
    out, start = [], 0
    for found, points, corners in zip(normals, vertices, faces, strict=True):
        out.append(vertex_normals(points, corners - start) if found is None else found)
        start += len(points)
    return np.concatenate(out)


def _transform_normals(normals: NDArray | None, matrix: NDArray) -> NDArray | None:
    """Return unit normals transformed by a matrix (4, 4), or None if they are missing or not finite."""
    if normals is None or not np.isfinite(normals).all():
        return None
    # normals transform by the inverse transpose = cofactor matrix / det; only the sign of det matters here
    rows = matrix[:3, :3]
    cofactor = np.stack([np.cross(rows[a], rows[b]) for a, b in ((1, 2), (2, 0), (0, 1))])
    turned = normals.astype(float) @ cofactor.T * np.sign(np.linalg.det(rows))
    length = np.linalg.norm(turned, axis=1, keepdims=True)
    return np.where(length > 0, turned / np.where(length > 0, length, 1.0), [0.0, 1.0, 0.0])


def triangles(character: UsdCharacter, mesh: RawMesh) -> NDArray:
    """Return (T, 3) triangles, fanning each polygon from its first corner; smaller polygons are dropped."""
    counts, corners = mesh.counts.astype(np.int64), mesh.corners.astype(np.int64)
    if (counts < 0).any() or counts.sum() != len(corners):
        raise FormatError(
            f"expected {int(np.abs(counts).sum())} corners by the polygons' counts, got {len(corners)}",
            path=character.path,
            where=mesh.path,
        )
    if len(corners) and not 0 <= corners.min() <= corners.max() < len(mesh.points):
        bad = corners.max() if corners.min() >= 0 else corners.min()
        raise FormatError(
            f"expected corners in 0..{len(mesh.points) - 1}, got {bad}", path=character.path, where=mesh.path
        )
    fans = np.maximum(counts - 2, 0)
    first = np.repeat(np.cumsum(counts) - counts, fans)
    step = np.arange(len(first)) - np.repeat(np.cumsum(fans) - fans, fans)
    return np.stack([corners[first], corners[first + step + 1], corners[first + step + 2]], axis=1).reshape(-1, 3)


def _influences(character: UsdCharacter, mesh: RawMesh) -> tuple[NDArray, NDArray]:
    """Return (V, K) joints of the character, and weights (V, K) that sum to 1."""
    joints = mesh.indices.reshape(-1, mesh.width).astype(np.int64)
    weights = np.maximum(np.nan_to_num(mesh.weights.reshape(-1, mesh.width).astype(float), posinf=0.0), 0.0)
    names = character.raw.joints if mesh.joints is None else mesh.joints
    outside = ((joints < 0) | (joints >= len(names))) & (weights > 0)
    if outside.any():
        raise FormatError(
            f"expected joints in 0..{len(names) - 1}, got {int(joints[outside][0])}",
            path=character.path,
            where=mesh.path,
        )
    places = character.joint_paths()
    known = np.array([places.get(name, -1) for name in names] or [-1], np.int64)
    joints = known[np.clip(joints, 0, len(known) - 1)]
    # a joint that the skeleton lacks has no influence
    weights = np.where(joints >= 0, weights, 0.0)
    total = weights.sum(axis=1, keepdims=True)
    weights = np.where(total > 0, weights / np.where(total > 0, total, 1.0), np.eye(1, mesh.width))
    joints = np.where(weights > 0, np.maximum(joints, 0), 0)
    if mesh.constant:
        joints, weights = (np.repeat(array, len(mesh.points), axis=0) for array in (joints, weights))
    return joints, weights
