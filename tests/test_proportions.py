"""Other proportions: bones, soles, masses and skins, on sample and real characters."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import footplant
from conftest import shared_data
from footplant import humanoid, rotation
from footplant.errors import SkeletonError
from footplant.humanoid.proportions import Proportions, apply_proportions
from footplant.kinematics import Kinematics
from footplant.motion import rest_motion
from footplant.samples import mannequin
from footplant.samples.characters import load_character
from footplant.skeleton import Character, Skeleton
from footplant.skinning import linear_blend

FACTORS = st.fixed_dictionaries({}, optional={f.name: st.floats(0.3, 3.0) for f in fields(Proportions)})
SOLES = ("heel", "ball", "toe")


def distance(character: Character, above: str, below: str) -> float:
    places = character.skeleton.rest_world[0]
    return float(np.linalg.norm(places[character.roles[above]] - places[character.roles[below]]))


def contact_places(character: Character) -> dict[str, np.ndarray]:
    kinematics = Kinematics(rest_motion(character.skeleton))
    return {name: kinematics.point(point)[0] for name, point in character.contacts.items()}


def turned_axes(skeleton: Skeleton, seed: int) -> tuple[Skeleton, np.ndarray]:
    """The same rest pose with other local axes for each joint; and the rotations."""
    turns = rotation.exp(np.random.default_rng(seed).normal(size=(len(skeleton), 3)))
    positions, _ = skeleton.rest_world
    parents = skeleton.parents
    rest, offsets = np.array(turns), np.array(positions)
    for joint in range(1, len(skeleton)):
        undo = rotation.inverse(turns[parents[joint]])
        rest[joint] = rotation.multiply(undo, turns[joint])
        offsets[joint] = rotation.rotate(undo, positions[joint] - positions[parents[joint]])
    ends = rotation.rotate(rotation.inverse(turns[skeleton.end_parents]), skeleton.end_offsets)
    return replace(skeleton, rest=rest, offsets=offsets, end_offsets=ends), turns


@settings(max_examples=40, deadline=None)
@given(FACTORS)
def test_each_segment_scales_by_its_factors(factors):
    figure = load_character("mannequin")
    p = Proportions(**factors)
    changed = apply_proportions(figure, p)
    for side in ("left", "right"):
        for above, below, factor in (
            ("upper_leg", "lower_leg", p.legs * p.thigh),
            ("lower_leg", "foot", p.legs * p.shank),
            ("foot", "toes", p.feet),
            ("upper_arm", "lower_arm", p.arms * p.upper_arm),
            ("lower_arm", "hand", p.arms * p.forearm),
            ("clavicle", "upper_arm", p.shoulders),
        ):
            pair = f"{side}_{above}", f"{side}_{below}"
            assert distance(changed, *pair) == pytest.approx(p.scale * factor * distance(figure, *pair), rel=1e-12)
    assert distance(changed, "neck", "head") == pytest.approx(p.scale * p.neck * distance(figure, "neck", "head"))
    assert distance(changed, "hips", "neck") == pytest.approx(p.scale * p.trunk * distance(figure, "hips", "neck"))
    for pair, factor in (
        (("left_upper_leg", "right_upper_leg"), p.hips),
        (("left_clavicle", "right_clavicle"), p.shoulders),
        (("left_upper_arm", "right_upper_arm"), p.shoulders),
    ):
        assert distance(changed, *pair) == pytest.approx(p.scale * factor * distance(figure, *pair), rel=1e-12)
    crown = np.linalg.norm(changed.skeleton.end_offsets[0]) / np.linalg.norm(figure.skeleton.end_offsets[0])
    assert crown == pytest.approx(p.scale * p.head, rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(FACTORS)
def test_soles_stay_on_the_ground_and_the_skin_fits(factors):
    figure = load_character("mannequin")
    changed = apply_proportions(figure, **factors)
    for name, place in contact_places(changed).items():
        if name.rpartition("_")[2] in SOLES:
            assert place[1] == pytest.approx(0.0, abs=1e-12)
    skin, before = changed.skin, figure.skin
    # of the feet: a deep pelvis on very short legs is lower than they are
    feet = [joint for side in ("left", "right") for joint in figure.skeleton.descendants(figure.roles[f"{side}_foot"])]
    strongest = np.take_along_axis(skin.joints, skin.weights.argmax(axis=1)[:, None], axis=1)[:, 0]
    assert skin.vertices[np.isin(strongest, feet), 1].min() == pytest.approx(0.0, abs=1e-12)
    # the flat of the sole is still flat
    np.testing.assert_allclose(skin.vertices[before.vertices[:, 1] == 0.0, 1], 0.0, atol=1e-12)
    at_rest = linear_blend(skin, Kinematics(rest_motion(changed.skeleton)))[0]
    np.testing.assert_allclose(at_rest, skin.vertices, atol=1e-12)
    np.testing.assert_array_equal(skin.weights, before.weights)
    np.testing.assert_allclose(np.linalg.norm(skin.normals, axis=1), 1.0, atol=1e-12)
    assert changed.skeleton.names == figure.skeleton.names
    np.testing.assert_array_equal(changed.skeleton.rest, figure.skeleton.rest)
    assert changed.source is None
    assert changed.height > 0


@settings(max_examples=20, deadline=None)
@given(FACTORS)
def test_local_axes_do_not_matter(factors):
    """A character with other local axes but the same rest pose gets the same new bones."""
    figure = replace(load_character("mannequin"), skin=None, limits=None, masses=None, mass_centers=None)
    skeleton, turns = turned_axes(figure.skeleton, seed=5)
    contacts = {
        name: replace(point, offset=tuple(rotation.rotate(rotation.inverse(turns[point.joint]), point.offset).tolist()))
        for name, point in figure.contacts.items()
    }
    other = replace(figure, skeleton=skeleton, contacts=contacts)
    a, b = apply_proportions(figure, **factors), apply_proportions(other, **factors)
    np.testing.assert_allclose(a.skeleton.rest_world[0], b.skeleton.rest_world[0], atol=1e-12)
    np.testing.assert_allclose(a.skeleton.rest_ends, b.skeleton.rest_ends, atol=1e-12)
    assert a.height == pytest.approx(b.height, rel=1e-12)


def test_factors_of_one_change_nothing():
    figure = load_character("mannequin")
    assert apply_proportions(figure) is figure
    nearly = apply_proportions(figure, **{f.name: 1.0 + 1e-15 for f in fields(Proportions)})
    np.testing.assert_allclose(nearly.skeleton.offsets, figure.skeleton.offsets, atol=1e-12)
    np.testing.assert_allclose(nearly.skeleton.end_offsets, figure.skeleton.end_offsets, atol=1e-12)
    np.testing.assert_allclose(nearly.skin.vertices, figure.skin.vertices, atol=1e-12)
    np.testing.assert_allclose(nearly.skin.normals, figure.skin.normals, atol=1e-12)
    np.testing.assert_allclose(nearly.skin.inverse_bind, figure.skin.inverse_bind, atol=1e-12)
    assert nearly.height == pytest.approx(figure.height, rel=1e-12)


def test_scale_alone_scales_everything():
    figure = load_character("mannequin")
    half = apply_proportions(figure, scale=0.5)
    np.testing.assert_allclose(half.skeleton.offsets, 0.5 * figure.skeleton.offsets, atol=1e-12)
    np.testing.assert_allclose(half.skin.vertices, 0.5 * figure.skin.vertices, atol=1e-12)
    np.testing.assert_allclose(half.skin.normals, figure.skin.normals, atol=1e-12)
    assert half.height == pytest.approx(0.5 * figure.height, rel=1e-12)


def test_girth_thickens_without_moving_a_joint():
    figure = load_character("mannequin")
    thick = apply_proportions(figure, girth=1.5, limb_girth=1.2)
    np.testing.assert_allclose(thick.skeleton.offsets, figure.skeleton.offsets, atol=1e-12)

    def width(skin, height):
        near = np.abs(skin.vertices[:, 1] - height) < 0.03
        return np.ptp(skin.vertices[near, 0])

    assert width(thick.skin, 1.1) == pytest.approx(1.5 * width(figure.skin, 1.1), rel=0.02)


def test_masses_follow_the_volume():
    figure = load_character("mannequin")
    count = len(figure.skeleton)
    figure = replace(figure, masses=np.full(count, 1.0 / count), mass_centers=np.tile([0.0, -0.1, 0.0], (count, 1)))
    thigh = figure.roles["left_upper_leg"]
    changed = apply_proportions(figure, thigh=2.0, limb_girth=1.5)
    assert changed.masses.sum() == pytest.approx(1.0)
    assert changed.masses[thigh] / changed.masses[0] == pytest.approx(2.0 * 1.5**2)
    np.testing.assert_allclose(changed.mass_centers[thigh], [0.0, -0.2, 0.0], atol=1e-12)
    assert changed.limits is figure.limits


def test_twist_joints_and_dummies_share_the_length():
    """upper arm → twist → lower arm, a pocket on the thigh, and a dummy before the hip."""
    skeleton = Skeleton(
        ("Root", "Hips", "Dummy", "UpLeg", "Pocket", "Leg", "Foot", "Spine", "Head", "Arm", "Twist", "ForeArm"),
        np.array([-1, 0, 1, 2, 3, 3, 5, 1, 7, 7, 9, 10]),
        np.array([
            [0, 0, 0], [0, 1, 0], [0.02, 0, 0], [0.08, -0.05, 0], [0.05, -0.2, 0], [0, -0.4, 0], [0, -0.45, 0],
            [0, 0.2, 0], [0, 0.5, 0], [0.2, 0.3, 0], [0.15, 0, 0], [0.15, 0, 0],
        ]),
    )  # fmt: skip
    names = {
        "hips": "Hips", "left_upper_leg": "UpLeg", "left_lower_leg": "Leg", "left_foot": "Foot", "spine": "Spine",
        "head": "Head", "left_upper_arm": "Arm", "left_lower_arm": "ForeArm",
    }  # fmt: skip
    joints = {role: (skeleton.index(name),) for role, name in names.items()}
    roles = footplant.Roles(joints, dict.fromkeys(joints, 1.0), dict.fromkeys(joints, ""))
    changed = apply_proportions(
        Character(skeleton, roles=roles), upper_arm=2.0, thigh=1.5, limb_girth=3.0, hips=1.2, shoulders=1.1, trunk=0.9
    )
    offset = dict(zip(skeleton.names, changed.skeleton.offsets.round(12).tolist()))
    assert offset["Twist"] == offset["ForeArm"] == [0.3, 0.0, 0.0]
    assert offset["Pocket"] == [0.15, -0.3, 0.0]
    assert offset["Dummy"] == [0.024, 0.0, 0.0]
    assert offset["UpLeg"] == [0.096, -0.05, 0.0]
    assert offset["Arm"] == [0.22, 0.27, 0.0]
    assert offset["Spine"] == [0.0, 0.18, 0.0]
    # the root stays on the ground and the hips rise by what the thigh gains
    assert offset["Root"] == [0.0, 0.0, 0.0]
    assert offset["Hips"] == [0.0, 1.2, 0.0]


def test_a_foot_attached_elsewhere_follows_its_leg():
    """IK rigs attach the feet to the root: they must stay at the end of the shanks."""
    figure = load_character("mannequin")
    old = figure.skeleton
    positions, _ = old.rest_world
    names, parents = ("Root", *old.names), np.array([-1, *(old.parents + 1)])
    positions = np.concatenate([[[0.0, 0, 0]], positions])
    feet = [names.index("LeftFoot"), names.index("RightFoot")]
    parents[feet] = 0
    offsets = positions - np.where(parents[:, None] >= 0, positions[parents], 0.0)
    roles = footplant.Roles(
        {role: tuple(j + 1 for j in joints) for role, joints in figure.roles.joints.items()},
        figure.roles.confidence, figure.roles.reasons,
    )  # fmt: skip
    contacts = {name: replace(point, joint=point.joint + 1) for name, point in figure.contacts.items()}
    rig = Character(Skeleton(names, parents, offsets), roles=roles, contacts=contacts)
    changed = apply_proportions(rig, legs=1.3, hips=1.2)
    expected = apply_proportions(figure, legs=1.3, hips=1.2).skeleton.rest_world[0]
    np.testing.assert_allclose(changed.skeleton.rest_world[0][1:], expected, atol=1e-12)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), "long", None])
def test_impossible_factors_are_refused(value):
    with pytest.raises(SkeletonError, match="expected a positive, finite factor for legs, got"):
        Proportions(legs=value)


def test_a_character_without_roles_is_an_error():
    with pytest.raises(SkeletonError, match="has no human roles"):
        apply_proportions(Character(mannequin.skeleton()), Proportions(legs=1.2))


def test_missing_roles_are_ignored():
    figure = load_character("mannequin")
    few = {role: joints for role, joints in figure.roles.joints.items() if "leg" in role or role == "hips"}
    roles = footplant.Roles(few, dict.fromkeys(few, 1.0), dict.fromkeys(few, ""))
    changed = apply_proportions(replace(figure, roles=roles), legs=1.5, arms=2.0, feet=1.2)
    assert distance(changed, "left_upper_leg", "left_lower_leg") == pytest.approx(1.5 * 0.41)
    hand = figure.skeleton.index("LeftHand")
    np.testing.assert_allclose(changed.skeleton.offsets[hand], figure.skeleton.offsets[hand], atol=1e-12)


@pytest.mark.named("bvh/cmu/02_01.bvh")
def test_real_captured_skeleton(shared):
    """A CMU skeleton: zero-length joints before hips and neck, its own units and axes."""
    figure = footplant.load(shared_data("bvh", "cmu", "02_01.bvh")).character
    changed = apply_proportions(figure, legs=1.25, arms=0.8, trunk=0.9, hips=1.3)
    for side in ("left", "right"):
        for above, below, factor in (
            ("upper_leg", "lower_leg", 1.25), ("lower_leg", "foot", 1.25), ("foot", "toes", 1.0),
            ("upper_arm", "lower_arm", 0.8), ("lower_arm", "hand", 0.8),
        ):  # fmt: skip
            pair = f"{side}_{above}", f"{side}_{below}"
            assert distance(changed, *pair) == pytest.approx(factor * distance(figure, *pair), rel=1e-12)
    lowest = [min(c.skeleton.rest_world[0][c.skeleton.descendants(c.roles["left_foot"]), 1]) for c in (figure, changed)]
    if not figure.contacts:
        assert lowest[1] == pytest.approx(lowest[0], abs=0.02)
    else:
        ground = [min(place[1] for name, place in contact_places(c).items() if name.rpartition("_")[2] in SOLES)
                  for c in (figure, changed)]  # fmt: skip
        assert ground[1] == pytest.approx(ground[0], abs=1e-12)
    assert changed.height > figure.height


@pytest.mark.parametrize("name", ["CesiumMan.glb", "RiggedFigure.glb", "KayKit_Knight.glb", "godot_mannequiny.glb"])
@pytest.mark.named("gltf/{name}")
def test_real_skinned_character(shared, name):
    figure = footplant.load_character(shared / "gltf" / name)
    changed = apply_proportions(figure, legs=1.3, arms=0.9, girth=1.2)
    at_rest = [linear_blend(c.skin, Kinematics(rest_motion(c.skeleton)))[0] for c in (figure, changed)]
    np.testing.assert_allclose(at_rest[1], changed.skin.vertices, atol=1e-12)
    np.testing.assert_array_equal(changed.skin.weights, figure.skin.weights)
    assert at_rest[1][:, 1].min() == pytest.approx(at_rest[0][:, 1].min(), abs=0.03 * figure.height)
    legs = [distance(c, "left_upper_leg", "left_lower_leg") for c in (figure, changed)]
    assert legs[1] == pytest.approx(1.3 * legs[0], rel=1e-9)
    # vertices of the head alone keep their size
    only_head = (figure.skin.weights * (figure.skin.joints == figure.roles["head"])).sum(1) > 0.999
    if name != "RiggedFigure.glb":
        sizes = [np.ptp(places[only_head], axis=0) for places in at_rest]
        np.testing.assert_allclose(sizes[1], sizes[0], atol=1e-6)
    assert changed.source is None


def test_heights_agree_with_measured_heights():
    """The height after a change equals the measured height of the new character, for a humanoid."""
    figure = load_character("mannequin")
    changed = apply_proportions(figure, legs=1.1, trunk=0.95, arms=1.2)
    anew = humanoid.standing_height(changed.skeleton, changed.roles)
    assert changed.height == pytest.approx(anew, rel=0.01)
