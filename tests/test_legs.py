"""Hips and legs of a whole clip: plants hold exactly, knees stay straight, feet lie flat, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplant import rotation, samples
from footplant.constraints import Footplant
from footplant.contacts.detection import find_contacts
from footplant.feet import planting
from footplant.feet.foot_curves import FOOT_SETTINGS, foot_curve
from footplant.feet.planting import can_plant, plant_feet
from footplant.feet.steps_apart import ApartRow, StepsApart, least_moves
from footplant.geometry import Plane
from footplant.grounds import slope
from footplant.humanoid.limits import anatomical_turns_beside, clamp_to_limits, limit_excess
from footplant.humanoid.reference import reference_pose, reference_world
from footplant.humanoid.sole import foot_outline
from footplant.kinematics import Kinematics
from footplant.motion import Motion, rest_motion
from footplant.skeleton import Limits
from footplant.solve.legs import LEG_SETTINGS, OTHER_BODY, FootCurve, _keep_trunk, knee_flexions, legs_of, solve_legs
from footplant.solve.legs_apart import legs_apart
from footplant.solve.reference import no_rougher
from footplant.transfer import transfer

FLOOR = Plane()


@cache
def walk():
    clip = samples.load("walk")
    return replace(clip, motion=clip.motion.resample(60.0))


@cache
def plants():
    contacts = find_contacts(walk())
    points = walk().character.contacts
    return tuple(
        Footplant(point=points[plant.point], place=plant.place, frames=range(plant.start, plant.end))
        for plant in contacts.plants
    )


def moved(by, turned: float = 0.0) -> tuple[Footplant, ...]:
    """Return the walk's plants elsewhere."""
    turn = rotation.exp(np.array([0.0, turned, 0.0]))
    return tuple(replace(plant, place=rotation.rotate(turn, np.asarray(plant.place)) + by) for plant in plants())


def errors(motion: Motion, wanted) -> float:
    kinematics = Kinematics(motion)
    return max(
        float(np.linalg.norm(kinematics.point(plant.point)[list(plant.frames)] - plant.place, axis=1).max())
        for plant in wanted
    )


def flexions(motion: Motion) -> np.ndarray:
    legs = legs_of(walk().character)
    assert legs is not None
    return np.array([knee_flexions(Kinematics(motion), leg)[0] for leg in legs])


def standing(count: int = 30) -> Motion:
    """A character that stands still in its reference pose, soles on the floor."""
    character = walk().character
    pose = reference_pose(character.skeleton, character.require_roles())
    still = Motion(character.skeleton, np.zeros((count, 3)), np.tile(pose, (count, 1, 1)), 60.0)
    low = Kinematics(still).points([character.contacts["left_heel"], character.contacts["left_ball"]])[..., 1].min()
    return Motion(character.skeleton, np.tile([0.0, -low, 0.0], (count, 1)), still.rotations, 60.0)


def test_plants_hold_exactly_wherever_they_are_in_reach():
    wanted = moved([0.0, 0.0, 0.0])
    found = plant_feet(walk().motion, walk().character, wanted, FLOOR)
    assert found.missed == 0.0
    assert errors(found.motion, wanted) < 1e-4


def test_what_all_plants_have_in_common_moves_the_whole_clip_alone():
    by = np.array([0.3, 0.0, -0.2])
    before = plant_feet(walk().motion, walk().character, moved([0.0, 0.0, 0.0]), FLOOR).motion
    after = plant_feet(walk().motion, walk().character, moved(by), FLOOR).motion
    np.testing.assert_allclose(after.root, before.root + by, atol=1e-4)
    assert rotation.angle(after.rotations, before.rotations).max() < 1e-3


def test_narrower_steps_keep_knees_as_straight_as_they_were():
    """Every step moves 3 cm inwards: hips and legs adapt, and no knee crouches."""
    inwards = tuple(replace(plant, place=np.asarray(plant.place) * [0.7, 1.0, 1.0]) for plant in moved([0.0, 0.0, 0.0]))
    found = plant_feet(walk().motion, walk().character, inwards, FLOOR)
    assert errors(found.motion, inwards) < 1e-3
    more = flexions(found.motion) - flexions(walk().motion)
    assert np.degrees(np.median(more)) < 1.0
    assert np.degrees(more.max()) < 8.0


def scaled_about_the_start(wanted, scale: float) -> tuple[Footplant, ...]:
    """Return the walk's plants nearer to where it starts: shorter steps."""
    start = np.array([walk().motion.root[0, 0], 0.0, walk().motion.root[0, 2]])
    return tuple(replace(plant, place=start + (np.asarray(plant.place) - start) * scale) for plant in wanted)


def test_hips_that_are_calm_in_the_reference_stay_calm():
    """Of a walk with shorter steps; those of the same walk played four times as fast are left freer, as a run's are."""
    wanted = scaled_about_the_start(moved([0.0, 0.0, 0.0]), 0.85)

    def roughness(motion: Motion, calmest: float) -> float:
        settings = replace(LEG_SETTINGS, calmest=calmest)
        solved = plant_feet(motion, walk().character, wanted, FLOOR, settings=settings).motion
        return float(np.abs(np.diff(solved.root - motion.root, 3, axis=0)).mean())

    slow = walk().motion
    fast = replace(slow, fps=4.0 * slow.fps)
    assert roughness(slow, LEG_SETTINGS.calmest) < 0.8 * roughness(slow, 1.0)
    assert roughness(fast, LEG_SETTINGS.calmest) == roughness(fast, 1.0)


def test_a_folded_leg_keeps_its_direction_better_than_a_straight_one():
    """A displacement of its ankle turns it farther: where both cannot keep theirs, the straight one gives way."""
    wanted = scaled_about_the_start(moved([0.0, 0.0, 0.0]), 0.7)
    legs = legs_of(walk().character)
    assert legs is not None

    def turned(folded: float) -> float:
        """Return the largest mean turn of the line from hip joint to ankle where a knee is bent by more than 50°."""
        solved = plant_feet(
            walk().motion, walk().character, wanted, FLOOR, settings=replace(LEG_SETTINGS, folded=folded)
        ).motion
        places = [Kinematics(motion).positions for motion in (walk().motion, solved)]
        turns = []
        for leg, flexed in zip(legs, flexions(walk().motion)):
            own, new = (place[flexed > np.radians(50.0)] for place in places)
            lines = [each[:, leg.end] - each[:, leg.upper] for each in (own, new)]
            turns.append(rotation.angle(rotation.IDENTITY, rotation.between(*lines)).mean())
        return max(turns)

    assert turned(0.5) < 0.95 * turned(1.0)


def test_out_of_reach_is_told():
    """Feet farther apart than two legs are long."""
    motion, character = standing(), walk().character
    places = Kinematics(motion)
    apart = tuple(
        Footplant(
            point=character.contacts[f"{side}_{part}"],
            place=places.point(character.contacts[f"{side}_{part}"])[0] + [sign * 1.5, 0.0, 0.0],
            frames=range(30),
        )
        for side, sign in (("left", 1.0), ("right", -1.0))
        for part in ("heel", "ball")
    )
    found = plant_feet(motion, character, apart, FLOOR)
    assert found.missed > 0.05
    assert np.isfinite(found.motion.root).all()


def test_nothing_asked_nothing_changed():
    motion = Motion(walk().motion.skeleton, walk().motion.root + [0.0, 1.0, 0.0], walk().motion.rotations, 60.0)
    kinematics = Kinematics(motion)
    left, right = (foot_curve(kinematics, walk().character, side, (), FLOOR) for side in ("left", "right"))
    assert solve_legs(kinematics, walk().character, (left, right)).motion is motion


def test_the_knee_of_a_capture_that_bends_backwards_becomes_straight():
    character = walk().character
    legs = legs_of(character)
    assert legs is not None
    motion = standing()
    rotations = np.array(motion.rotations)
    for leg in legs:
        # the shank turns forwards by 20°, about the hinge
        axis = rotation.rotate(rotation.inverse(rotations[0, leg.lower]), leg.axis)
        rotations[:, leg.lower] = rotation.multiply(
            rotations[:, leg.lower], rotation.exp(np.radians(-20.0) * axis / np.linalg.norm(axis))
        )
    backwards = Motion(motion.skeleton, motion.root, rotations, 60.0)
    assert np.degrees(flexions(backwards)).max() < -15.0
    kinematics = Kinematics(backwards)
    feet = tuple(
        FootCurve(
            kinematics.rotations[:, leg.end], np.ones(30, bool), np.array(kinematics.positions[:, leg.end]),
            lambda at: np.full(len(at), -np.inf),
        )
        for leg in legs
    )  # fmt: skip
    straight = solve_legs(kinematics, character, feet).motion
    assert np.degrees(flexions(straight)).min() > 0.0
    assert np.degrees(flexions(straight)).max() < 3.0


def test_a_folded_knee_is_never_taken_for_one_bent_backwards():
    """Beyond a right angle the sign about the hinge tells nothing."""
    motion, leg = standing(), legs_of(walk().character)[0]  # type: ignore[index]
    rotations = np.array(motion.rotations)
    rotations[:, leg.lower] = rotation.multiply(rotations[:, leg.lower], rotation.exp(np.radians(150.0) * -leg.axis))
    folded = Motion(motion.skeleton, motion.root, rotations, 60.0)
    assert np.degrees(knee_flexions(Kinematics(folded), leg)[0]).min() > 140.0


def test_a_foot_on_heel_and_ball_lies_flat_and_does_not_rock():
    """The reference rolls its foot by ±4°; the plants are level."""
    motion, character = standing(60), walk().character
    foot = character.require_roles()["left_foot"]
    places = Kinematics(motion)
    ends = {part: places.point(character.contacts[f"left_{part}"])[0] for part in ("heel", "ball")}
    roll = np.radians(4.0) * np.sin(np.arange(60) / 3.0)
    rotations = np.array(motion.rotations)
    rotations[:, foot] = rotation.multiply(rotations[:, foot], rotation.exp(roll[:, None] * [0.0, 0.0, 1.0]))
    rocking = Kinematics(Motion(motion.skeleton, motion.root, rotations, 60.0))
    held = tuple(
        Footplant(point=character.contacts[f"left_{part}"], place=at, frames=range(60)) for part, at in ends.items()
    )
    curve = foot_curve(rocking, character, "left", held, FLOOR)
    assert curve.planted.all()
    assert np.degrees(rotation.angle(curve.rotations[1:], curve.rotations[:1])).max() < 0.5
    assert np.degrees(rotation.angle(curve.rotations, places.rotations[:, foot])).max() < 0.5


def test_a_rolled_foot_on_its_ball_alone_has_its_rims_above_the_ground():
    character = samples.load_character("mannequin")
    motion = rest_motion(character.skeleton, 60, 60.0)
    ball, foot = character.contacts["left_ball"], character.require_roles()["left_foot"]
    rotations = np.array(motion.rotations)
    for axis, angle in (("x", 10.0), ("z", 15.0)):
        rotations[:, foot] = rotation.multiply(
            rotation.exp(np.radians(angle) * rotation.AXES[axis]), rotations[:, foot]
        )
    rolled = Motion(motion.skeleton, motion.root, rotations, 60.0)
    kinematics = Kinematics(rolled)
    place = kinematics.point(ball)[0] * [1.0, 0.0, 1.0]
    plant = Footplant(point=ball, place=place, frames=range(20, 40))
    curve = foot_curve(kinematics, character, "left", (plant,), FLOOR)
    rims = [point for point in foot_outline(character, "left") if point.joint == foot]
    back, ankle = rotation.inverse(kinematics.rotations[:, foot]), kinematics.positions[:, foot]
    arms = rotation.rotate(back, np.moveaxis(kinematics.points(rims), 1, 0) - ankle)
    heights = (curve.places + rotation.rotate(curve.rotations, arms))[:, 20:40, 1]
    before = kinematics.points(rims)[20:40, :, 1] - kinematics.point(ball)[20:40, None, 1]
    assert before.min() < -0.005
    assert heights.min() > -2.5 * FOOT_SETTINGS.depth


def test_a_heel_alone_holds_while_the_toes_stay_above_the_ground():
    motion, character = standing(60), walk().character
    heel = character.contacts["left_heel"]
    foot = character.require_roles()["left_foot"]
    rotations = np.array(motion.rotations)
    rotations[:, foot] = rotation.multiply(rotations[:, foot], rotation.exp(np.array([np.radians(15.0), 0.0, 0.0])))
    pitched = Motion(motion.skeleton, motion.root, rotations, 60.0)
    place = Kinematics(motion).point(heel)[0]
    found = plant_feet(pitched, character, (Footplant(point=heel, place=place, frames=range(20, 40)),), FLOOR)
    kinematics = Kinematics(found.motion)
    assert np.linalg.norm(kinematics.point(heel)[20:40] - place, axis=1).max() < 1e-6
    soles = kinematics.points([character.contacts[f"left_{part}"] for part in ("heel", "ball", "toe")])
    assert soles[..., 1].min() > -0.004


@pytest.mark.parametrize("figure", ["sally", "blubby", "child", "longlegs"])
def test_all_sample_characters_have_legs_that_can_be_planted(figure):
    assert can_plant(samples.load_character(figure))


def test_limbs_are_no_rougher_than_the_sources():
    """Noise of 0.3° on a walk: longer limbs would shake more, in body heights."""
    clip, target = walk(), samples.load_character("longlegs")
    rng = np.random.default_rng(1)
    shaken = rotation.multiply(
        clip.motion.rotations, rotation.exp(np.radians(0.3) * rng.normal(size=(*clip.motion.rotations.shape[:2], 3)))
    )
    noisy = replace(clip, motion=replace(clip.motion, rotations=shaken))
    copied = transfer(noisy.motion, clip.character, target)
    smooth = no_rougher(copied, target, Kinematics(noisy.motion), clip.character)

    def jerk(motion: Motion, character) -> float:
        roles = character.require_roles()
        feet = Kinematics(motion).positions[:, [roles["left_foot"], roles["right_foot"]]]
        return float(np.abs(np.diff(feet - Kinematics(motion).positions[:, [roles["hips"]]], 3, axis=0)).mean())

    assert jerk(smooth, target) < jerk(copied, target)
    roles = target.require_roles()
    thighs = [
        Kinematics(motion).positions[:, roles["left_lower_leg"]]
        - Kinematics(motion).positions[:, roles["left_upper_leg"]]
        for motion in (copied, smooth)
    ]
    angle = np.degrees(np.linalg.norm(rotation.log(rotation.between(*thighs)), axis=1))
    assert np.median(angle) < 0.5


def test_a_motion_on_its_own_bones_is_as_rough_as_it_was():
    assert no_rougher(walk().motion, walk().character, Kinematics(walk().motion), walk().character) is walk().motion


def test_smoothing_takes_no_joint_beyond_its_limits():
    """A head that shakes at its limit, on a body that may be no rougher than one that does not."""
    clip, target = walk(), samples.load_character("sally")
    copied, (neck, *_) = transfer(clip.motion, clip.character, target), target.require_roles().joints["neck"]
    assert target.limits is not None
    rotations, frames = np.array(copied.rotations), len(copied)
    # it is 5° beyond its limit, but for some frames in which it is within it
    nods = np.full(frames, target.limits.upper[neck, 0] + np.radians(5.0))
    nods[[20, 40, 41, 60, 62]] -= np.radians(10.0)
    world = reference_world(target.skeleton, target.require_roles())[1]
    above = world[int(target.skeleton.parents[neck])]
    turned = rotation.multiply(rotation.exp(nods[:, None] * rotation.AXES["x"]), world[neck])
    rotations[:, neck] = rotation.multiply(rotation.inverse(above), turned)
    nodding = copied.like(copied.root, rotations)
    smooth = no_rougher(nodding, target, Kinematics(clip.motion), clip.character, excess=0.2)
    assert np.degrees(rotation.angle(smooth.rotations, nodding.rotations))[:, neck].max() > 1.0
    added = limit_excess(target, smooth.rotations) - limit_excess(target, nodding.rotations)
    assert np.degrees(added.max()) < 0.51


def test_the_spine_hands_on_what_its_lowest_vertebra_may_not_turn():
    """Hips that turn for far steps: the trunk stays as it is turned in the world, within the limits of its joints."""
    character, motion = walk().character, standing()
    spine = character.require_roles().joints["spine"]
    assert character.limits is not None
    lower, upper = np.array(character.limits.lower), np.array(character.limits.upper)
    world, chest = Kinematics(motion).rotations, spine[-1]
    kept, turn = world[:, spine], rotation.exp(np.radians([[0.0, 12.0, 0.0]]))
    lower[spine[0]], upper[spine[0]] = np.radians(-4.0), np.radians(4.0)
    bounded = replace(character, limits=Limits(lower, upper))
    rotations = np.array(motion.rotations)
    _keep_trunk(bounded, spine[0], rotation.multiply(turn, world[:, 0]), world, rotations)
    assert np.degrees(limit_excess(bounded, rotations)[:, spine].max()) < 1e-6
    rotations[:, 0] = rotation.multiply(turn, world[:, 0])
    after = Kinematics(motion.like(motion.root, rotations)).rotations
    assert np.degrees(rotation.angle(after[:, spine[0]], kept[:, 0])).min() > 5.0
    assert np.degrees(rotation.angle(after[:, chest], kept[:, -1])).max() < 1e-5


def test_the_pelvis_tilts_where_one_foot_stands_higher():
    """One foot 20 mm higher: the pelvis tilts, knees share the rest, and the trunk stays upright."""
    character, height, motion = walk().character, 0.02, standing()
    before, roles = Kinematics(motion), character.require_roles()
    wanted = tuple(
        Footplant(
            point=point,
            frames=range(30),
            place=before.point(point)[0] + [0.0, height * name.startswith("left"), 0.0],
        )
        for name, point in character.contacts.items()
        if name.endswith(("heel", "ball"))
    )
    found = plant_feet(motion, character, wanted, FLOOR).motion
    after = Kinematics(found)
    assert errors(found, wanted) < 1e-6
    hips = after.positions[:, roles["left_upper_leg"], 1] - after.positions[:, roles["right_upper_leg"], 1]
    assert 0.2 * height < hips.min() <= hips.max() < height
    for role in ("neck", "head", "left_upper_arm"):
        assert rotation.angle(after.rotations[:, roles[role]], before.rotations[:, roles[role]]).max() < 1e-6


def test_the_trunk_leans_to_a_planted_hand_that_is_out_of_reach_and_the_head_stays_level():
    """A hand is planted 6 cm out of reach below a bent body: shoulders come down by a lean, hips hardly move."""
    character, motion = walk().character, standing()
    roles, rotations = character.require_roles(), np.array(motion.rotations)
    bend = rotation.exp(np.array([1.4, 0.0, 0.0]))
    rotations[:, roles["spine"]] = rotation.multiply(bend, rotations[:, roles["spine"]])
    motion = motion.like(motion.root, rotations, motion.offsets)
    before, palm = Kinematics(motion), character.contacts["left_palm"]
    shoulder = before.positions[0, roles["left_upper_arm"]]
    arm = before.positions[0, [roles[f"left_{part}"] for part in ("upper_arm", "lower_arm", "hand")]]
    length = np.linalg.norm(np.diff(arm, axis=0), axis=1).sum()
    wrist = shoulder - [0.0, length + 0.06, 0.0]
    place = wrist + (before.point(palm) - before.positions[:, roles["left_hand"]])[0]
    feet = tuple(
        Footplant(point=point, frames=range(30), place=before.point(point)[0])
        for name, point in character.contacts.items()
        if name.endswith(("heel", "ball"))
    )
    hand = Footplant(point=palm, frames=range(30), place=place)
    after = Kinematics(plant_feet(motion, character, feet, FLOOR, palms=(hand,)).motion)
    reach = np.linalg.norm(after.positions[:, roles["left_upper_arm"]] - wrist, axis=1)
    assert reach.max() < length
    assert errors(after.motion, feet) < 1e-6
    turned = rotation.angle(after.rotations, before.rotations)
    assert turned[:, roles["left_upper_arm"]].min() > np.radians(3.0)
    assert turned[:, roles["head"]].max() < 1e-6
    moved = after.positions[:, roles["hips"]] - before.positions[:, roles["hips"]]
    assert np.linalg.norm(moved, axis=1).max() < 0.04
    # nobody leans for a hand within reach
    near = replace(hand, place=np.add(place, (0.0, 0.2, 0.0)))
    same = Kinematics(plant_feet(motion, character, feet, FLOOR, palms=(near,)).motion)
    assert rotation.angle(same.rotations, before.rotations)[:, roles["left_upper_arm"]].max() < 1e-6


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_a_joint_is_clamped_to_its_limits_or_to_what_it_had(seed):
    character, rng = walk().character, np.random.default_rng(seed)
    toes, count = character.require_roles()["left_toes"], 20
    assert character.limits is not None
    rotations, own = (rotation.exp(rng.normal(0.0, 0.8, (count, 3))) for _ in range(2))
    found = clamp_to_limits(character, toes, rotations, own)

    def turns(local):
        return anatomical_turns_beside(character, toes, local, own)[0]

    low = np.minimum(character.limits.lower[toes], turns(own))
    high = np.maximum(character.limits.upper[toes], turns(own))
    assert (turns(found) > low - 1e-9).all()
    assert (turns(found) < high + 1e-9).all()
    inside = ((turns(rotations) >= low) & (turns(rotations) <= high)).all(axis=1)
    assert np.array_equal(found[inside], rotations[inside])
    assert not np.allclose(found[~inside], rotations[~inside]) or inside.all()


def test_toes_of_a_foot_that_points_down_bend_no_further_than_toes_do():
    """A foot turned past the vertical over its planted ball: its toes stay within their limits."""
    character, motion = walk().character, standing()
    roles = character.require_roles()
    rotations = np.array(motion.rotations)
    down = rotation.exp(np.array([np.radians(85.0), 0.0, 0.0]))
    rotations[:, roles["left_foot"]] = rotation.multiply(down, rotations[:, roles["left_foot"]])
    tilted = motion.like(motion.root + [0.0, 0.1, 0.0], rotations)
    ball = character.contacts["left_ball"]
    wanted = (Footplant(point=ball, place=Kinematics(tilted).point(ball)[0] * [1, 0, 1], frames=range(30)),)
    found = plant_feet(tilted, character, wanted, FLOOR).motion
    added = limit_excess(character, found.rotations) - limit_excess(character, tilted.rotations)
    assert added[:, roles["left_toes"]].max() < np.radians(0.1)


def test_a_leg_that_swings_passes_beside_the_other():
    """The right foot stands, the left one hangs inside it: it moves aside, the standing one stays."""
    character, motion = walk().character, standing()
    roles, rotations = character.require_roles(), np.array(motion.rotations)
    towards = rotation.exp(np.array([0.0, 0.0, np.radians(-9.0)]))
    rotations[:, roles["left_upper_leg"]] = rotation.multiply(towards, rotations[:, roles["left_upper_leg"]])
    crossed = motion.like(motion.root + [0.0, 0.02, 0.0], rotations)
    before, legs = Kinematics(crossed), legs_of(character)
    assert legs is not None
    free = np.zeros(len(crossed), bool)
    wanted = tuple(
        Footplant(point=point, frames=range(30), place=Kinematics(motion).point(point)[0])
        for name, point in character.contacts.items()
        if name in ("right_heel", "right_ball")
    )
    found = plant_feet(crossed, character, wanted, FLOOR, settings=OTHER_BODY).motion
    assert errors(found, wanted) < 1e-6
    after = Kinematics(found)
    deepest = [_inside(k, legs, legs_apart(k, character, legs, free)) for k in (before, after)]
    assert deepest[0] > 0.01
    assert deepest[1] < 0.005
    assert legs_apart(before, character, legs, ~free) is None


def test_steps_that_leave_legs_inside_each_other_are_moved_apart_each_as_one():
    character, motion = walk().character, standing(40)
    legs = legs_of(character)
    assert legs is not None
    at = Kinematics(motion)
    ankles = at.positions[0, [leg.end for leg in legs]]
    nearer = 0.38 * (ankles[1] - ankles[0])
    names = [f"{side}_{part}" for side in ("left", "right") for part in ("heel", "ball")]
    wanted = tuple(
        Footplant(
            point=character.contacts[name],
            frames=range(40),
            place=at.point(character.contacts[name])[0] + (nearer if name.startswith("left") else -nearer),
        )
        for name in names
    )
    kept, apart = (
        plant_feet(motion, character, wanted, FLOOR, settings=OTHER_BODY, apart=apart) for apart in (False, True)
    )
    free = np.zeros(len(motion), bool)
    inside = [
        _inside(k, legs, legs_apart(k, character, legs, free)) for k in map(Kinematics, (kept.motion, apart.motion))
    ]
    assert inside[0] > 0.01
    assert inside[1] == 0.0
    assert errors(apart.motion, apart.plants) < 1e-6
    assert all(np.allclose(new.place, old.place) for new, old in zip(kept.plants, wanted))
    moves = np.array([np.subtract(new.place, old.place) for new, old in zip(apart.plants, wanted)])
    np.testing.assert_allclose(moves[::2], moves[1::2], atol=1e-6)
    np.testing.assert_allclose(moves[0], -moves[2], atol=1e-6)
    assert np.abs(moves[:, 1]).max() < 1e-6


def test_stays_move_as_little_as_their_rows_ask_and_short_swings_join_them():
    planted = np.zeros((2, 60), bool)
    planted[0, 5:20] = planted[0, 23:30] = planted[0, 50:60] = planted[1, 10:55] = True
    steps = StepsApart.of(planted, 30.0)
    assert [sorted(set(labels.tolist())) for labels in steps.labels] == [[-1, 0, 1], [-1, 2]]
    x, z = np.eye(3)[[0, 2]]
    moves = least_moves([ApartRow((0, 2), x, 0.03), ApartRow((1, 2), -x, 0.03), ApartRow((1, 2), z, 0.02)], 3)
    np.testing.assert_allclose(moves, [[0.03, 0, 0], [-0.03, 0, 0.01], [0, 0, -0.01]], atol=1e-6)
    # a row that others meet asks for nothing
    more = least_moves([ApartRow((0, 2), x, 0.03), ApartRow((0, 2), x, 0.01)], 3)
    np.testing.assert_allclose(more, [[0.015, 0, 0], [0, 0, 0], [-0.015, 0, 0]], atol=1e-6)


def _inside(kinematics: Kinematics, legs, asked) -> float:
    """Return by how much ankles are nearer to each other than they are asked to be."""
    if asked is None:
        return 0.0
    now = (asked[0] * (kinematics.positions[:, legs[0].end] - kinematics.positions[:, legs[1].end])).sum(axis=1)
    return float(np.maximum(asked[1] - now, 0.0).max())


def test_a_foot_that_moves_into_a_riser_is_kept_before_it_and_not_lifted_onto_it():
    still, figure = standing(40), walk().character
    legs = legs_of(figure)
    ankles = [Kinematics(still).positions[:, leg.end] for leg in legs]
    planted = np.ones(40, bool)
    planted[10:30] = False
    # swinging, the left foot is 2 cm over the ground, and a riser of 20 cm begins 1 cm behind it
    left, right = ankles
    edge = float(left[0, 2]) - 0.01

    def lowest(at):
        return np.where(at[:, 2] < edge, left[:, 1] + 0.18, left[:, 1] - 0.02)

    turns = [Kinematics(still).rotations[:, leg.end] for leg in legs]
    # its plants draw it back by 3 cm
    places = left - np.where(np.arange(40) < 20, 0.0, 0.03)[:, None] * rotation.AXES["z"]
    feet = (
        FootCurve(turns[0], planted, places, lowest, edges=True),
        FootCurve(turns[1], np.ones(40, bool), right, lambda at: np.full(40, -1.0)),
    )
    found = Kinematics(solve_legs(Kinematics(still), figure, feet).motion).positions[:, legs[0].end]
    assert found[10:30, 2].min() > edge - 1e-3
    assert np.abs(found[10:30, 1] - left[10:30, 1]).max() < 0.02


def test_a_foot_that_is_about_to_be_planted_beyond_its_limits_does_not_snap_onto_its_plant():
    clip = samples.load("stand")
    motion, character = clip.motion[:60], clip.character
    kinematics = Kinematics(motion)
    points = [character.contacts[f"left_{part}"] for part in ("heel", "ball")]
    lies = [Footplant(point=point, place=kinematics.point(point)[30], frames=range(30, 60)) for point in points]
    own = kinematics.rotations[:, character.roles["left_foot"]]
    back = rotation.multiply(rotation.exp(np.radians(8.0) * rotation.AXES["x"]), own)
    bends = []
    for push in (FOOT_SETTINGS.push, 1e9):
        curve = foot_curve(
            kinematics, character, "left", lies, FLOOR, within=(own, back), settings=replace(FOOT_SETTINGS, push=push)
        )
        turned = np.degrees(rotation.log(rotation.multiply(curve.rotations, rotation.inverse(own)))[:, 0])
        assert turned[:15].max() > 7.5
        assert np.abs(turned[30:]).max() < 0.5
        bends.append(np.abs(np.diff(turned, 2)).max())
    assert bends[0] < 0.5 * bends[1]


def test_a_swinging_foot_far_beyond_its_limits_is_turned_back_all_the_way():
    clip = samples.load("stand")
    motion, character = replace(clip.motion[:60], fps=24.0), clip.character
    kinematics = Kinematics(motion)
    points = [character.contacts[f"left_{part}"] for part in ("heel", "ball")]
    lies = [Footplant(point=point, place=kinematics.point(point)[0], frames=range(10)) for point in points]
    own = kinematics.rotations[:, character.roles["left_foot"]]
    beyond = np.exp(-(((np.arange(60) - 35.0) / 4.0) ** 2))[:, None]
    back = rotation.multiply(rotation.exp(np.radians(15.0) * beyond * rotation.AXES["x"]), own)
    left = []
    for rounds in (FOOT_SETTINGS.push_rounds, 1):
        settings = replace(FOOT_SETTINGS, push_rounds=rounds)
        curve = foot_curve(kinematics, character, "left", lies, FLOOR, within=(own, back), settings=settings)
        left.append(np.degrees(rotation.log(rotation.multiply(back, rotation.inverse(curve.rotations)))[:, 0].max()))
    assert left[0] < 0.1
    assert left[1] > 0.3


def pitched_down(degrees: float) -> Kinematics:
    """Someone who stands, the left foot in the air for a while, pitched down."""
    clip = samples.load("stand")
    motion, foot = clip.motion[:90], clip.character.roles["left_foot"]
    rotations = np.array(motion.rotations)
    up = np.sin(np.clip((np.arange(90) - 30.0) / 30.0, 0.0, 1.0) * np.pi)[:, None]
    rotations[:, foot] = rotation.multiply(
        rotations[:, foot], rotation.exp(np.radians(degrees) * up * rotation.AXES["x"])
    )
    return Kinematics(motion.like(motion.root, rotations))


def lying_at_both_ends(kinematics: Kinematics, character) -> list[Footplant]:
    points = [character.contacts[f"left_{part}"] for part in ("heel", "ball")]
    return [
        Footplant(point=point, place=kinematics.point(point)[frames[0]], frames=frames)
        for point in points
        for frames in (range(30), range(61, 90))
    ]


def test_a_swinging_foot_whose_toes_would_lift_its_ankle_is_pitched_up():
    character = samples.load("stand").character
    kinematics = pitched_down(30.0)
    lies, ankles = lying_at_both_ends(kinematics, character), kinematics.positions[:, character.roles["left_foot"]]
    raised = []
    for lift in (0.0, FOOT_SETTINGS.lift, 1e4):
        settings = replace(FOOT_SETTINGS, lift=lift)
        curve = foot_curve(kinematics, character, "left", lies, FLOOR, levelled=True, settings=settings)
        raised.append(float((curve.lowest(ankles) - ankles[:, 1])[45]))
        off = rotation.angle(curve.rotations, kinematics.rotations[:, character.roles["left_foot"]])
        assert np.degrees(off[:30]).max() < 0.5
    assert raised[0] > 0.05
    assert raised[1] < 0.8 * raised[0]
    assert raised[2] < min(raised[1], 0.6 * raised[0])
    # the reference of the same body, and uneven ground, say how a foot is pitched
    kept = foot_curve(kinematics, character, "left", lies, FLOOR)
    assert float((kept.lowest(ankles) - ankles[:, 1])[45]) == pytest.approx(raised[0], abs=0.005)


def test_an_ankle_near_its_limit_is_not_bent_for_that():
    character = samples.load("stand").character
    kinematics = pitched_down(30.0)
    lies, foot = lying_at_both_ends(kinematics, character), character.roles["left_foot"]
    limits = character.limits
    near = np.array(limits.lower)
    near[foot, 0] = np.radians(-5.0)
    bent = []
    for lower in (limits.lower, near):
        body = replace(character, limits=replace(limits, lower=lower))
        settings = replace(FOOT_SETTINGS, lift=1e4)
        curve = foot_curve(kinematics, body, "left", lies, FLOOR, levelled=True, settings=settings)
        bent.append(np.degrees(rotation.angle(curve.rotations, kinematics.rotations[:, foot]))[40:50].max())
    assert bent[0] > 15.0
    assert bent[1] < 0.5 * bent[0]


@pytest.mark.parametrize("degrees", [12.0, -12.0, 0.0])
def test_plants_that_are_too_near_for_the_foot_are_moved_apart_along_the_slope(degrees):
    clip, ground = samples.load("stand"), slope(degrees)
    motion, character = clip.motion[:20], clip.character
    kinematics, plants = Kinematics(motion), []
    for part, along in (("heel", 0.04), ("ball", -0.04)):
        point = character.contacts[f"left_{part}"]
        place = kinematics.point(point)[0] + [0.0, 0.0, along]
        place[1] = ground.height(place[None, ::2])[0]
        plants.append(Footplant(point=point, place=place, frames=range(5, 15)))
    found = plant_feet(motion, character, plants, ground, uneven=True)
    places = np.array([plant.place for plant in found.plants])
    assert np.linalg.norm(places - [plant.place for plant in plants], axis=1).min() > 0.02
    assert np.abs(ground.height(places[:, ::2]) - places[:, 1]).max() < 5e-4


def test_rounds_that_take_turns_end_with_the_best_one(monkeypatch):
    """Rows that contradict each other are broken by turns: what the rounds before left counts, not that it was last."""
    solved, left = [], iter([3.0, 1.0, 1.0, 2.0])
    solve, further = planting._solve, planting._Bounds.further

    def recorded(*arguments, **options):
        solved.append(solve(*arguments, **options))
        turn = rotation.exp(np.array([0.0, 0.01 * len(solved), 0.0]))
        turned = np.array(solved[-1].motion.rotations)
        turned[:, 0] = rotation.multiply(turn, turned[:, 0])
        solved[-1] = replace(solved[-1], motion=solved[-1].motion.like(solved[-1].motion.root, turned, None))
        return solved[-1]

    monkeypatch.setattr(planting, "_solve", recorded)
    monkeypatch.setattr(planting._Bounds, "further", lambda *rest: (further(*rest)[0], True))
    monkeypatch.setattr(planting, "_left", lambda *rest: next(left))
    made = plant_feet(walk().motion, walk().character, moved([0.0, 0.0, 0.0]), FLOOR)
    rounds = solved[-planting.ROUNDS :]
    assert next(left, None) is None
    np.testing.assert_array_equal(made.motion.rotations[:, 0], rounds[2].motion.rotations[:, 0])


def test_what_is_left_beyond_bounds_is_an_arc_or_a_distance():
    part, legs = walk().motion[:5], legs_of(walk().character)
    assert legs is not None
    planted, found = np.zeros((2, 5), bool), planting.LegSolution(part, 0, 0.0)

    def left(motion: Motion) -> float:
        return planting._left(replace(found, motion=motion), part, walk().character, legs, planted, FLOOR, True)

    assert left(part) == 0.0
    foot = walk().character.require_roles()["left_foot"]
    turned, beyond = np.array(part.rotations), []
    for angle in (0.0, 1.5):
        turned[:, foot] = rotation.multiply(part.rotations[:, foot], rotation.exp(np.array([angle, 0.0, 0.0])))
        beyond.append(limit_excess(walk().character, turned)[:, foot])
    length = sum(np.linalg.norm(walk().character.skeleton.offsets[joint]) for joint in (legs[0].lower, foot))
    arc = (beyond[1] - beyond[0]) * length
    assert arc.min() > 0.1
    # twists of thigh and shank take most of it over
    assert 0.05 * (arc**2).sum() < left(part.like(part.root, turned, None)) <= (arc**2).sum() * 1.001
