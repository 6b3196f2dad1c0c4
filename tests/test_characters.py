"""The sample characters: closed skins that look human, standing with flat soles on their contact points."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.spatial import ConvexHull, KDTree

from footplant import rotation
from footplant.errors import SkeletonError
from footplant.kinematics import Kinematics
from footplant.motion import rest_motion
from footplant.samples import mannequin
from footplant.samples.characters import NAMES, load_character
from footplant.samples.subdivision import catmull_clark
from footplant.skinning import linear_blend

EACH = pytest.mark.parametrize("name", NAMES)


def volume(vertices, faces):
    """Volume of a closed mesh, cubic metres; positive when the triangles face outwards."""
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    return float(np.sum(a * np.cross(b, c)) / 6)


@EACH
def test_skin_is_one_closed_surface_that_faces_outwards(name):
    skin = load_character(name).skin
    sides = Counter(
        map(tuple, np.concatenate([skin.faces[:, [0, 1]], skin.faces[:, [1, 2]], skin.faces[:, [2, 0]]]).tolist())
    )
    assert set(sides.values()) == {1}
    assert all((b, a) in sides for a, b in sides)
    assert len(np.unique(skin.faces)) == len(skin.vertices)
    # Euler: a surface like a sphere's, without handles or loose parts
    assert len(skin.vertices) - len(sides) // 2 + len(skin.faces) == 2
    assert volume(skin.vertices, skin.faces) > 0
    assert 1000 <= len(skin.vertices) <= 3000


@EACH
def test_skin_weights_are_sound(name):
    skin = load_character(name).skin
    assert skin.weights.shape[1] <= 4
    assert skin.weights.min() >= 0
    np.testing.assert_allclose(skin.weights.sum(axis=1), 1.0, atol=1e-12)
    # every joint moves something, so that no bend goes unseen
    assert set(skin.joints[skin.weights > 0.3].tolist()) == set(range(22))


@EACH
def test_normals_are_those_of_the_surface(name):
    skin = load_character(name).skin
    np.testing.assert_allclose(np.linalg.norm(skin.normals, axis=1), 1.0, atol=1e-12)
    corners = skin.vertices[skin.faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    agree = np.einsum("ta,tca->tc", across, skin.normals[skin.faces]) > 0
    assert agree.mean() > 0.98


@EACH
def test_soles_are_flat_and_hold_the_contact_points(name):
    character = load_character(name)
    skin, kinematics = character.skin, Kinematics(rest_motion(character.skeleton))
    assert skin.vertices[:, 1].min() == pytest.approx(0.0, abs=1e-12)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        sole = skin.vertices[(np.abs(skin.vertices[:, 1]) < 1e-9) & (sign * skin.vertices[:, 0] > 0)]
        hull = ConvexHull(sole[:, [0, 2]])
        for label in ("heel", "ball", "toe"):
            place = kinematics.point(character.contacts[f"{side}_{label}"])[0]
            assert place[1] == pytest.approx(0.0, abs=1e-12)
            assert (hull.equations[:, :2] @ place[[0, 2]] + hull.equations[:, 2]).max() < 0


@EACH
def test_left_and_right_are_mirror_images(name):
    skin = load_character(name).skin
    gaps, _ = KDTree(skin.vertices).query(skin.vertices * [-1.0, 1.0, 1.0])
    assert gaps.max() < 1e-9


@EACH
def test_height_is_that_of_the_skin(name):
    character = load_character(name)
    assert character.name == name
    assert character.height == pytest.approx(character.skin.vertices[:, 1].max(), rel=0.02)


def test_the_mannequin_has_a_human_shape():
    character = load_character("mannequin")
    skin = character.skin
    assert skin.vertices[:, 1].max() == pytest.approx(1.75, abs=0.01)
    # an adult of 1.75 m displaces 60 to 75 litres
    assert 0.055 < volume(skin.vertices, skin.faces) < 0.080

    def width(low, high, reach=0.3):
        slab = (skin.vertices[:, 1] > low) & (skin.vertices[:, 1] < high) & (np.abs(skin.vertices[:, 0]) < reach)
        return np.ptp(skin.vertices[slab, 0])

    shoulders = character.skeleton.rest_world[0][character.roles["left_upper_arm"], 0] * 2
    assert shoulders > width(0.85, 0.95) > width(1.05, 1.1)
    assert character.contacts == mannequin.contact_points(character.skeleton)


def test_the_papers_characters_differ_as_described():
    figures = {name: load_character(name) for name in NAMES}

    def leg(name):
        places = figures[name].skeleton.rest_world[0]
        roles = figures[name].roles
        return float(np.linalg.norm(places[roles["left_upper_leg"]] - places[roles["left_foot"]]))

    assert figures["short"].height == pytest.approx(0.6 * figures["mannequin"].height, rel=1e-9)
    assert figures["sally"].height > 1.15 * figures["mannequin"].height
    assert leg("longlegs") / figures["longlegs"].height > 1.2 * leg("mannequin") / figures["mannequin"].height
    assert leg("blubby") / figures["blubby"].height < 0.65 * leg("mannequin") / figures["mannequin"].height
    # Blubby is a ball: as wide as deep, and nearly as high
    trunk = figures["blubby"].skin.vertices
    trunk = trunk[np.abs(trunk[:, 1] - 0.6) < 0.03]
    assert np.ptp(trunk[:, 0]) == pytest.approx(np.ptp(trunk[:, 2]), rel=0.1)
    assert np.ptp(trunk[:, 0]) > 0.5 * figures["blubby"].height


def test_bent_knees_keep_their_thickness():
    """A knee at a right angle: the skin around the joint neither collapses nor tears."""
    character = load_character("mannequin")
    motion = rest_motion(character.skeleton)
    turns = np.array(motion.rotations)
    turns[0, character.roles["left_lower_leg"]] = rotation.from_axis_angle(rotation.AXES["x"], np.array(np.pi / 2))
    bent = linear_blend(character.skin, Kinematics(type(motion)(character.skeleton, motion.root, turns)))[0]
    before, after = volume(character.skin.vertices, character.skin.faces), volume(bent, character.skin.faces)
    assert after == pytest.approx(before, rel=0.02)


def test_unknown_names_list_the_known_ones():
    with pytest.raises(SkeletonError, match="expected a sample character among mannequin, short, sally, blubby"):
        load_character("giant")


def test_subdivision_of_a_cube():
    """The corner of a unit cube moves to 5/9 of its position (Catmull & Clark), and 6 quads become 24."""
    cube = np.array([[x, y, z] for x in (-1.0, 1) for y in (-1.0, 1) for z in (-1.0, 1)])
    quads = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
    values, finer = catmull_clark(cube, quads)
    assert values.shape == (26, 3)
    assert finer.shape == (24, 4)
    np.testing.assert_allclose(values[:8], 5 / 9 * cube, atol=1e-12)
    assert sorted(np.bincount(finer.ravel(), minlength=26).tolist()) == [3] * 8 + [4] * 18
