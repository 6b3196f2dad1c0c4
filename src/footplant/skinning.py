"""Skinning: linear blend and dual quaternion, with normals."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.checks import indices, shaped
from footplant.errors import SkeletonError
from footplant.kinematics import Kinematics
from footplant.skeleton import Skin

Skinning = Literal["linear", "dual-quaternion"]
"""How a skin follows its joints: `linear_blend`, as engines do, or `dual_quaternion`, which keeps the volume."""


def blend_skin(skin: Skin, kinematics: Kinematics, skinning: Skinning = "linear") -> NDArray:
    """Return the world positions (F, V, 3) of the vertices, metres, by either method."""
    if skinning not in ("linear", "dual-quaternion"):
        raise SkeletonError(f"expected skinning to be linear or dual-quaternion, got {skinning!r}")
    return (linear_blend if skinning == "linear" else dual_quaternion)(skin, kinematics)


def linear_blend(skin: Skin, kinematics: Kinematics) -> NDArray:
    """Return the world positions (F, V, 3) of the vertices, metres: v' = Σ w_i M_i B_i⁻¹ v.

    M_i is the world transform of joint i, B_i⁻¹ its inverse bind matrix. Twisted joints lose volume (candy-wrapper
    artefact); see `dual_quaternion`.
    """
    from footplant.kernels import skin as kernels

    joints, weights, out = _prepare(skin, kinematics)
    kernels.linear_blend(
        skin.vertices, joints, weights, skin.inverse_bind,
        kinematics.positions, kinematics.rotations, np.empty((len(skin.inverse_bind), 12)), out,
    )  # fmt: skip
    return out


def linear_blend_normals(skin: Skin, kinematics: Kinematics) -> NDArray:
    """Return unit normals (F, V, 3) in the world: by the inverse transpose of each vertex's blended matrix."""
    from footplant.kernels import skin as kernels

    normals = _require_normals(skin)
    joints, weights, out = _prepare(skin, kinematics)
    kernels.linear_blend_normals(
        normals, joints, weights, skin.inverse_bind,
        kinematics.positions, kinematics.rotations, np.empty((len(skin.inverse_bind), 12)), out,
    )  # fmt: skip
    return out


def dual_quaternion(skin: Skin, kinematics: Kinematics) -> NDArray:
    """Return the world positions (F, V, 3) of the vertices, metres, by dual quaternion blending, which keeps volume.

    After Kavan, Collins, Žára and O'Sullivan, "Geometric Skinning with Approximate Dual Quaternion Blending" (2008):
    their linear blend of dual quaternions with signs by a pivot, and their two phases for joints that scale or shear.
    An inverse bind matrix is split by polar decomposition into a rotation after a stretch: the stretches are blended
    linearly first, then the rigid rest as dual quaternions.
    """
    from footplant.kernels import skin as kernels

    joints, weights, out = _prepare(skin, kinematics)
    turns, stretches = _split_bind(skin.inverse_bind)
    vertices = np.einsum("vk,vkab,vb->va", weights, stretches[joints], skin.vertices)
    kernels.dual_quaternion(
        vertices, kernels.Influences(joints, weights), kernels.RigidBind(turns, np.array(skin.inverse_bind[:, :3, 3])),
        kinematics.positions, kinematics.rotations, np.empty((len(turns), 8)), out,
    )  # fmt: skip
    return out


def dual_quaternion_normals(skin: Skin, kinematics: Kinematics) -> NDArray:
    """Return the unit normals (F, V, 3) in the world for `dual_quaternion`."""
    from footplant.kernels import skin as kernels

    normals = _require_normals(skin)
    joints, weights, out = _prepare(skin, kinematics)
    turns, stretches = _split_bind(skin.inverse_bind)
    blended = np.einsum("vk,vkab->vab", weights, stretches[joints])
    normals = np.linalg.solve(blended.swapaxes(-1, -2), normals[..., None])[..., 0]
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    kernels.dual_quaternion_normals(
        normals, kernels.Influences(joints, weights), kernels.RigidBind(turns, np.array(skin.inverse_bind[:, :3, 3])),
        kinematics.positions, kinematics.rotations, np.empty((len(turns), 8)), out,
    )  # fmt: skip
    return out


def vertex_normals(vertices: NDArray, faces: NDArray) -> NDArray:
    """Return the unit normals (V, 3) of a mesh: the area-weighted mean of the adjacent triangles' normals.

    vertices is (V, 3), faces (T, 3), counter-clockwise from outside. A vertex without adjacent area gets +y.
    """
    vertices = shaped(vertices, ("V", 3), "vertices", SkeletonError)
    faces = indices(faces, len(vertices), "corners of triangles", SkeletonError).reshape(-1, np.shape(faces)[-1] or 3)
    if faces.shape[1] != 3:
        raise SkeletonError(f"expected triangles of shape (T, 3), got {faces.shape}")
    corners = vertices[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros(vertices.shape)
    np.add.at(normals, faces, across[:, None])
    length = np.linalg.norm(normals, axis=-1, keepdims=True)
    return np.where(length > 0, normals / np.where(length > 0, length, 1.0), rotation.AXES["y"])


def _prepare(skin: Skin, kinematics: Kinematics) -> tuple[NDArray, NDArray, NDArray]:
    """Return joints and weights padded with zeros to a multiple of four influences, and an array for the result."""
    frames, joints = kinematics.rotations.shape[:2]
    if len(skin.inverse_bind) != joints:
        raise SkeletonError(f"expected a skin of {joints} joints as in the motion, got {len(skin.inverse_bind)}")
    count, width = skin.joints.shape
    padded = max(4, -(-width // 4) * 4)
    indices, weights = np.zeros((count, padded), np.int64), np.zeros((count, padded))
    indices[:, :width], weights[:, :width] = skin.joints, skin.weights
    return indices, weights, np.empty((frames, count, 3))


def _require_normals(skin: Skin) -> NDArray:
    if skin.normals is None:
        raise SkeletonError("expected a skin with normals, got none; `vertex_normals` computes them from the triangles")
    return skin.normals


def _split_bind(inverse_bind: NDArray) -> tuple[NDArray, NDArray]:
    """Return rotations (J, 4) and stretches (J, 3, 3) with A = R P of the linear parts; P includes any reflection."""
    left, lengths, right = np.linalg.svd(inverse_bind[:, :3, :3])
    turns = left @ right
    stretches = right.swapaxes(-1, -2) @ (lengths[..., None] * right)
    sign = np.where(np.linalg.det(turns) < 0, -1.0, 1.0)[:, None, None]
    return rotation.from_matrix(sign * turns), sign * stretches
