"""Skins: rest, twin implementations, volume under twist, normals, and affine inverse bind matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from footplant import rotation
from footplant.errors import SkeletonError
from footplant.kinematics import Kinematics
from footplant.motion import Motion, rest_motion
from footplant.samples.characters import load_character
from footplant.skeleton import Skeleton, Skin
from footplant.skinning import (
    dual_quaternion,
    dual_quaternion_normals,
    linear_blend,
    linear_blend_normals,
    vertex_normals,
)

POSITIONS = pytest.mark.parametrize("blend", [linear_blend, dual_quaternion])
NORMALS = pytest.mark.parametrize("blend", [linear_blend_normals, dual_quaternion_normals])


def joint_matrices(kinematics):
    """World matrices (F, J, 4, 4) of the joints."""
    out = np.tile(np.eye(4), (*kinematics.positions.shape[:2], 1, 1))
    out[..., :3, :3] = rotation.to_matrix(kinematics.rotations)
    out[..., :3, 3] = kinematics.positions
    return out


def numpy_linear_blend(skin, kinematics):
    """The twin of kernels.skin.linear_blend."""
    matrices = joint_matrices(kinematics) @ skin.inverse_bind
    blended = np.einsum("vk,fvkab->fvab", skin.weights, matrices[:, skin.joints])
    return np.einsum("fvab,vb->fva", blended, np.concatenate([skin.vertices, np.ones((len(skin.vertices), 1))], 1))[
        ..., :3
    ]


def numpy_linear_blend_normals(skin, kinematics):
    """The twin of kernels.skin.linear_blend_normals."""
    matrices = (joint_matrices(kinematics) @ skin.inverse_bind)[..., :3, :3]
    blended = np.einsum("vk,fvkab->fvab", skin.weights, matrices[:, skin.joints])
    normals = np.einsum("fvba,vb->fva", np.linalg.inv(blended), skin.normals)
    return normals / np.linalg.norm(normals, axis=-1, keepdims=True)


def numpy_duals(skin, kinematics):
    """Blended unit dual quaternions (F, V, 4) twice, for rigid inverse bind matrices."""
    bind_turn = rotation.from_matrix(skin.inverse_bind[:, :3, :3])
    real = rotation.multiply(kinematics.rotations, bind_turn)
    shift = rotation.rotate(kinematics.rotations, skin.inverse_bind[:, :3, 3]) + kinematics.positions
    dual = 0.5 * rotation.multiply(np.concatenate([np.zeros((*shift.shape[:2], 1)), shift], -1), real)
    real, dual = real[:, skin.joints], dual[:, skin.joints]
    heaviest = np.argmax(skin.weights, axis=1)[None, :, None, None]
    pivot = np.take_along_axis(real, np.broadcast_to(heaviest, (*real.shape[:2], 1, 4)), axis=2)
    signed = skin.weights * np.where(np.sum(real * pivot, axis=-1) < 0, -1.0, 1.0)
    real, dual = np.einsum("fvk,fvkq->fvq", signed, real), np.einsum("fvk,fvkq->fvq", signed, dual)
    length = np.linalg.norm(real, axis=-1, keepdims=True)
    return real / length, dual / length


def numpy_dual_quaternion(skin, kinematics):
    """The twin of kernels.skin.dual_quaternion."""
    real, dual = numpy_duals(skin, kinematics)
    shift = 2.0 * rotation.multiply(dual, rotation.inverse(real))[..., 1:]
    return rotation.rotate(real, np.broadcast_to(skin.vertices, shift.shape)) + shift


def numpy_dual_quaternion_normals(skin, kinematics):
    """The twin of kernels.skin.dual_quaternion_normals."""
    real, _ = numpy_duals(skin, kinematics)
    return rotation.rotate(real, np.broadcast_to(skin.normals, (*real.shape[:2], 3)))


TWINS = {
    linear_blend: numpy_linear_blend,
    linear_blend_normals: numpy_linear_blend_normals,
    dual_quaternion: numpy_dual_quaternion,
    dual_quaternion_normals: numpy_dual_quaternion_normals,
}


def wild_motion(skeleton, frames=5, seed=3):
    random = np.random.default_rng(seed)
    turns = rotation.exp(random.normal(scale=0.8, size=(frames, len(skeleton), 3)))
    # q and −q are one rotation: the blend must not care which one it gets
    turns *= random.choice([-1.0, 1.0], size=(frames, len(skeleton), 1))
    return Motion(skeleton, random.normal(size=(frames, 3)), rotation.normalize(turns))


def tube(twist_axis="x", rings=21, around=16, radius=0.1):
    """A pipe of length 2 along x about two joints, weights fading linearly between them."""
    skeleton = Skeleton(("a", "b"), np.array([-1, 0]), np.array([[0.0, 0, 0], [1.0, 0, 0]]))
    along = np.repeat(np.linspace(0.0, 2.0, rings), around)
    angle = np.tile(2 * np.pi * np.arange(around) / around, rings)
    vertices = np.stack([along, radius * np.cos(angle), radius * np.sin(angle)], -1)
    share = np.clip(along - 0.5, 0.0, 1.0)
    bind = np.tile(np.eye(4), (2, 1, 1))
    bind[1, 0, 3] = -1.0
    joints = np.tile([0, 1], (len(vertices), 1))
    normals = vertices * [0.0, 1 / radius, 1 / radius]
    skin = Skin(vertices, np.zeros((0, 3)), joints, np.stack([1 - share, share], -1), bind, normals)
    turns = rotation.identity(1, 2)
    turns[0, 1] = rotation.from_axis_angle(rotation.AXES[twist_axis], np.array(np.pi))
    return skin, Kinematics(Motion(skeleton, np.zeros((1, 3)), turns))


@POSITIONS
@pytest.mark.parametrize("name", ["mannequin", "blubby"])
def test_rest_pose_reproduces_the_vertices(blend, name):
    character = load_character(name)
    skin = character.skin
    np.testing.assert_allclose(blend(skin, Kinematics(rest_motion(character.skeleton)))[0], skin.vertices, atol=1e-12)


@NORMALS
def test_rest_pose_reproduces_the_normals(blend):
    character = load_character("mannequin")
    skin = character.skin
    np.testing.assert_allclose(blend(skin, Kinematics(rest_motion(character.skeleton)))[0], skin.normals, atol=1e-12)


@pytest.mark.parametrize("blend", list(TWINS))
@pytest.mark.parametrize("width", [1, 3, 4, 6])
def test_kernels_agree_with_numpy(blend, width):
    character = load_character("mannequin")
    random = np.random.default_rng(width)
    skin = character.skin
    picked = random.integers(0, len(skin.vertices), 300)
    joints = random.integers(0, len(character.skeleton), (300, width))
    skin = replace(
        skin, vertices=skin.vertices[picked], normals=skin.normals[picked], faces=np.zeros((0, 3)),
        joints=joints, weights=random.dirichlet(np.ones(width), 300),
    )  # fmt: skip
    kinematics = Kinematics(wild_motion(character.skeleton))
    if blend is linear_blend_normals:
        # a nearly flat blend has no well-defined normal
        matrices = (joint_matrices(kinematics) @ skin.inverse_bind)[..., :3, :3]
        blended = np.einsum("vk,fvkab->fvab", skin.weights, matrices[:, skin.joints])
        sound = np.linalg.cond(blended) < 20
    else:
        sound = np.ones((5, 300), bool)
    assert sound.mean() > 0.5
    np.testing.assert_allclose(
        blend(skin, kinematics)[sound], TWINS[blend](skin, kinematics)[sound], rtol=1e-12, atol=1e-12
    )


def test_dual_quaternions_keep_the_volume_that_linear_blending_loses():
    skin, kinematics = tube()
    middle = np.isclose(skin.vertices[:, 0], 1.0)
    radius = [
        np.linalg.norm(blend(skin, kinematics)[0, middle, 1:], axis=-1) for blend in (linear_blend, dual_quaternion)
    ]
    np.testing.assert_allclose(radius[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(radius[1], 0.1, atol=1e-12)


@POSITIONS
def test_vertices_with_one_influence_move_rigidly(blend):
    skin, kinematics = tube(twist_axis="z")
    tip = np.isclose(skin.vertices[:, 0], 2.0)
    expected = (skin.vertices[tip] - [1.0, 0, 0]) * [-1.0, -1.0, 1.0] + [1.0, 0, 0]
    np.testing.assert_allclose(blend(skin, kinematics)[0, tip], expected, atol=1e-12)


@pytest.mark.parametrize("linear", [0.01 * np.eye(3), np.diag([2.0, 1.0, 0.5]), np.diag([1.0, 1.0, -1.0])])
def test_meshes_bound_with_scale_or_reflection_are_posed_correctly(linear):
    """A mesh in other units, or mirrored: mesh space = linear⁻¹ · rest space, and the inverse bind undoes it."""
    character = load_character("mannequin")
    kinematics = Kinematics(wild_motion(character.skeleton, frames=2))
    skin = character.skin
    other = np.eye(4)
    other[:3, :3] = linear
    odd = replace(
        skin,
        vertices=skin.vertices @ np.linalg.inv(linear).T,
        inverse_bind=skin.inverse_bind @ other,
        normals=(lambda n: n / np.linalg.norm(n, axis=-1, keepdims=True))(skin.normals @ linear),
    )
    for blend in TWINS:
        np.testing.assert_allclose(blend(odd, kinematics), blend(skin, kinematics), atol=1e-10)


def test_normals_follow_the_surface():
    """After a rigid rotation, the normals are those of the rotated triangles."""
    character = load_character("mannequin")
    skin = character.skin
    motion = rest_motion(character.skeleton)
    turns = np.array(motion.rotations)
    turns[0, 0] = rotation.exp([0.4, -1.2, 0.7])
    kinematics = Kinematics(replace(motion, rotations=turns))
    expected = vertex_normals(linear_blend(skin, kinematics)[0], skin.faces)
    np.testing.assert_allclose(linear_blend_normals(skin, kinematics)[0], expected, atol=1e-9)
    np.testing.assert_allclose(dual_quaternion_normals(skin, kinematics)[0], expected, atol=1e-9)


def test_vertex_normals_of_a_tetrahedron_point_outwards():
    corners = np.array([[1.0, 1, 1], [-1, -1, 1], [-1, 1, -1], [1, -1, -1], [5, 5, 5]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    normals = vertex_normals(corners, faces)
    np.testing.assert_allclose(normals[:4], corners[:4] / np.sqrt(3), atol=1e-12)
    np.testing.assert_allclose(normals[4], [0, 1, 0])


def test_errors_say_what_is_missing():
    character = load_character("mannequin")
    bare = replace(character.skin, normals=None)
    kinematics = Kinematics(rest_motion(character.skeleton))
    with pytest.raises(SkeletonError, match="expected a skin with normals"):
        linear_blend_normals(bare, kinematics)
    skin, _ = tube()
    with pytest.raises(SkeletonError, match="expected a skin of 22 joints as in the motion, got 2"):
        dual_quaternion(skin, kinematics)
