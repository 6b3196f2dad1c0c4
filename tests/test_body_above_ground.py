"""Trunk, head and knees above the ground: rows on the hips' height and on shanks."""

import numpy as np

from footplant import rotation, samples
from footplant.constraints import Footplant
from footplant.feet.planting import plant_feet
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.skinning import linear_blend
from footplant.solve.body_above_ground import LEFT, trunk_rows
from footplant.solve.legs import LEG_SETTINGS, OTHER_BODY, legs_of


def sitting(lower):
    """Return a mannequin whose hips are lowered by metres below where they stand."""
    clip = samples.load("stand")
    motion = clip.motion[:30]
    return motion.like(motion.root - [0.0, lower, 0.0], motion.rotations, motion.offsets), clip.character


def lowest_of_trunk(motion, character):
    skin, roles, below = character.skin, character.roles, character.skeleton.descendants
    limbs = {j for side in ("left", "right") for part in ("leg", "arm") for j in below(roles[f"{side}_upper_{part}"])}
    heaviest = np.zeros(len(skin.vertices), int)
    rows = linear_blend(skin, Kinematics(motion))
    for vertex, (joints, weights) in enumerate(zip(skin.joints, skin.weights)):
        heaviest[vertex] = joints[int(np.argmax(weights))]
    return rows[:, [joint not in limbs for joint in heaviest], 1].min()


def hip_heights(motion, legs):
    return Kinematics(motion).positions[:, [leg.upper for leg in legs], 1].mean(axis=1)


def test_a_standing_body_asks_nothing_and_a_sunken_one_how_far_it_is_in_the_ground():
    motion, character = sitting(0.0)
    legs, upright = legs_of(character), np.zeros(30)
    assert trunk_rows(Kinematics(motion), character, legs, Plane(), upright) is None
    motion, _ = sitting(0.85)
    found = trunk_rows(Kinematics(motion), character, legs, Plane(), upright)
    assert found is not None
    depth = -lowest_of_trunk(motion, character)
    assert depth > 0.01
    np.testing.assert_allclose((found[1] - hip_heights(motion, legs)).max(), depth, atol=0.02)


def test_rows_of_the_trunk_tell_by_how_much_a_lean_raises_it():
    """Bent down until the head is in the ground: a lean back by a degree raises it by the lever of its row."""
    motion, character = sitting(0.55)
    roles, legs, upright = character.roles, legs_of(character), np.zeros(30)

    def bent(angle):
        rotations, hips = np.array(motion.rotations), roles["hips"]
        turn = rotation.exp(angle * rotation.AXES["x"])
        rotations[:, hips] = rotation.multiply(turn, rotations[:, hips])
        # legs as they are: the trunk turns about the line of the hip joints
        for side in ("left", "right"):
            thigh = roles[f"{side}_upper_leg"]
            rotations[:, thigh] = rotation.multiply(rotation.inverse(turn), rotations[:, thigh])
        positions = Kinematics(motion).positions
        arm = positions[:, hips] - positions[:, [leg.upper for leg in legs]].mean(axis=1)
        return motion.like(motion.root + rotation.rotate(turn, arm) - arm, rotations, motion.offsets)

    step, before = np.radians(1.0), bent(1.9)
    rows = trunk_rows(Kinematics(before), character, legs, Plane(), upright)
    assert rows is not None
    levers, heights = rows
    asked = heights - hip_heights(before, legs)
    assert (asked.max(axis=0) > LEFT).all()
    assert (levers[1] < -0.1).all()
    # the same bound, as seen from a lean farther: what is far from the hips is deeper there
    further = bent(1.9 + step)
    np.testing.assert_allclose(hip_heights(further, legs), hip_heights(before, legs), atol=1e-9)
    seen = trunk_rows(Kinematics(further), character, legs, Plane(), upright + step)
    assert seen is not None
    np.testing.assert_allclose(seen[1][1], heights[1], atol=0.05 * step)
    unaware = trunk_rows(Kinematics(further), character, legs, Plane(), upright)
    assert unaware is not None
    assert (unaware[1][1] > heights[1] + 0.1 * step).all()


def test_a_trunk_in_the_ground_is_raised_on_another_body_only():
    motion, character = sitting(0.85)
    # legs stretched forward, feet above the ground
    rotations = np.array(motion.rotations)
    for side in ("left", "right"):
        thigh = character.roles[f"{side}_upper_leg"]
        rotations[:, thigh] = rotation.multiply(rotation.exp(np.array([-1.7, 0.0, 0.0])), rotations[:, thigh])
    motion = motion.like(motion.root, rotations, motion.offsets)
    raised, left = (
        plant_feet(motion, character, (), Plane(), settings=settings).motion for settings in (OTHER_BODY, LEG_SETTINGS)
    )
    assert lowest_of_trunk(raised, character) > -LEFT - 0.01
    assert lowest_of_trunk(left, character) < -0.03


def test_knees_of_a_body_that_kneels_are_raised_out_of_the_ground_on_another_body_only():
    motion, character = sitting(0.0)
    roles, world, rotations = character.roles, Kinematics(motion).rotations, np.array(motion.rotations)
    for side in ("left", "right"):
        for part, angle in (("lower_leg", 1.75), ("foot", 1.0)):
            joint = roles[f"{side}_{part}"]
            above = rotation.inverse(world[:, int(character.skeleton.parents[joint])])
            turn = rotation.exp(angle * rotation.AXES["x"])
            rotations[:, joint] = rotation.multiply(above, rotation.multiply(turn, world[:, joint]))
    motion = motion.like(motion.root, rotations, motion.offsets)
    knees = [roles["left_lower_leg"], roles["right_lower_leg"]]
    lower = Kinematics(motion).positions[:, knees, 1].min() + 0.02
    motion = motion.like(motion.root - [0.0, lower, 0.0], rotations, motion.offsets)
    balls = [character.contacts[f"{side}_ball"] for side in ("left", "right")]
    plants = [
        Footplant(point=ball, place=Kinematics(motion).point(ball)[0] * [1.0, 0.0, 1.0], frames=range(30))
        for ball in balls
    ]
    raised, left = (
        Kinematics(plant_feet(motion, character, plants, Plane(), settings=settings).motion).positions[:, knees, 1]
        for settings in (OTHER_BODY, LEG_SETTINGS)
    )
    assert raised.min() > 0.05
    assert left.max() < 0.0
