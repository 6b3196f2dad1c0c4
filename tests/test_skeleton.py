"""The joint tree is checked once, with errors that say what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from footplant import Character, Roles, Skeleton, SkeletonError, Skin, rotation
from random_figures import random_skeleton

THREE = {"names": ("a", "b", "c"), "parents": [-1, 0, 1], "offsets": np.eye(3)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": ()}, "at least one joint"),
        ({"parents": [-1, 0]}, "expected 3 parents"),
        ({"parents": [0, 0, 1]}, "joint 0 to be the root"),
        ({"parents": [-1, 2, 1]}, r"parent of joint 1 \('b'\) among joints 0..0, got 2"),
        ({"parents": [-1, -1, 0]}, "parent of joint 1"),
        ({"names": ("a", "b", "b")}, "more than once: b"),
        ({"offsets": np.full((3, 3), np.nan)}, "finite offsets"),
        ({"offsets": np.zeros((2, 3))}, r"offsets of shape \(3, 3\)"),
        ({"end_parents": [7], "end_offsets": np.zeros((1, 3))}, "end sites on joints 0..2"),
        ({"end_parents": [1], "end_offsets": np.zeros((2, 3))}, "end offsets of shape"),
    ],
)
def test_an_invalid_tree_is_refused_with_the_location(change, message):
    with pytest.raises(SkeletonError, match=message):
        Skeleton(**(THREE | change))


def test_arrays_are_frozen_copies():
    offsets = np.eye(3)
    skeleton = Skeleton(**(THREE | {"offsets": offsets}))
    offsets[0, 0] = 9.0
    assert skeleton.offsets[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        skeleton.offsets[0, 0] = 2.0


def test_names_chains_children_and_descendants():
    skeleton = Skeleton(("a", "b", "c", "d"), [-1, 0, 1, 0], np.zeros((4, 3)))
    assert skeleton.index("c") == 2
    assert skeleton.chain(2) == (0, 1, 2)
    assert skeleton.chain(2, 1) == (1, 2)
    assert skeleton.children == ((1, 3), (2,), (), ())
    assert skeleton.descendants(1) == (1, 2)
    with pytest.raises(SkeletonError, match="no joint 'x'; the skeleton has: a, b, c, d"):
        skeleton.index("x")
    with pytest.raises(SkeletonError, match="not an ancestor"):
        skeleton.chain(3, 1)


def test_rotating_and_scaling_the_skeleton_rotates_and_scales_the_rest_pose():
    skeleton = random_skeleton()
    turn = rotation.exp([0.3, -0.8, 0.2])
    positions, rotations = skeleton.rest_world
    moved = skeleton.scaled(2.0).turned(turn)
    assert np.allclose(moved.rest_world[0], 2.0 * rotation.rotate(turn, positions), atol=1e-12)
    assert np.allclose(moved.rest_ends, 2.0 * rotation.rotate(turn, skeleton.rest_ends), atol=1e-12)
    assert np.allclose(np.abs(np.sum(moved.rest_world[1] * rotation.multiply(turn, rotations), -1)), 1.0)


def test_roles_return_joints_and_list_what_exists():
    roles = Roles({"hips": (0,), "spine": (1, 2)}, {"hips": 0.9, "spine": 0.5}, {"hips": "name", "spine": "shape"})
    assert roles["spine"] == 1
    assert "hips" in roles
    assert roles.get("head") is None
    assert roles.overall == pytest.approx(0.7)
    with pytest.raises(SkeletonError, match=r"no role 'head'.*hips, spine"):
        roles["head"]
    with pytest.raises(SkeletonError, match="no human roles"):
        Character(random_skeleton()).require_roles()


def test_skin_shapes_are_checked():
    vertices = {"vertices": np.zeros((2, 3)), "faces": np.zeros((0, 3)), "inverse_bind": np.eye(4)[None]}
    with pytest.raises(SkeletonError, match=r"shape \(2, K\)"):
        Skin(**vertices, joints=np.zeros((1, 4)), weights=np.zeros((2, 4)))
    with pytest.raises(SkeletonError, match=r"skin joints in 0..0, got 5"):
        Skin(**vertices, joints=np.full((2, 1), 5), weights=np.ones((2, 1)))
