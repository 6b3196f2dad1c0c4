"""Direct manipulation: dragged points reach their targets, footplants hold, the rest of the clip is bit-equal."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares

import footplant
from footplant import rotation, samples
from footplant.constraints import Footplant, JointLimits, Orientation, Position, SamePlace
from footplant.constraints.drags import Drag, drags_from_data, drags_to_data
from footplant.contacts.detection import find_contacts
from footplant.edits import drag as manipulate
from footplant.edits.drag import begin
from footplant.errors import ConstraintError, FormatError, SkeletonError
from footplant.feet import kept_plants
from footplant.humanoid.limits import anatomical_turns, limit_violations
from footplant.kinematics import Kinematics
from footplant.problem import Status, errors
from footplant.skeleton import Point
from footplant.solve import closing
from footplant.solve import window as window_edits
from footplant.solve.goal_poses import with_held_frames
from footplant.solve.ik.limb import limbs_of
from footplant.solve.window import KNOTS

WALK = samples.load("walk")
CHARACTER = WALK.character
PALM = CHARACTER.contacts["left_palm"]


@pytest.fixture(scope="module")
def start():
    return begin(WALK)


def place_of(manipulation, point: Point, frame: int) -> np.ndarray:
    return Kinematics(manipulation.motion[frame]).point(point)[0]


def drift(manipulation) -> float:
    """Return the largest distance of a footplant from its mean place, millimetres."""
    kinematics = Kinematics(manipulation.motion)
    worst = 0.0
    for plant in manipulation.constraints:
        if isinstance(plant, Footplant):
            track = kinematics.point(plant.point)[plant.frames.start : plant.frames.stop]
            worst = max(worst, 1000.0 * np.linalg.norm(track - track.mean(axis=0), axis=1).max())
    return worst


def changed(one, other) -> np.ndarray:
    """Return the frames that are not bit-equal."""
    same = (one.motion.rotations == other.motion.rotations).all(axis=(1, 2))
    return np.flatnonzero(~(same & (one.motion.root == other.motion.root).all(axis=1)))


def peak_acceleration(motion) -> float:
    """Return the largest acceleration of any joint, m/s²."""
    places = Kinematics(motion).positions
    return float(np.linalg.norm(np.diff(places, 2, axis=0), axis=2).max() * motion.fps**2)


DRAGS = {
    "a hand": (250, "left_palm", (0.1, 0.3, 0.15), 8.0),
    "a hand, narrow window": (250, "left_palm", (0.1, 0.2, 0.1), 4.0),
    "a hand, wide window": (250, "right_palm", (-0.1, 0.3, 0.15), 16.0),
    "the head": (250, "head", (0.0, -0.3, 0.1), 8.0),
    "the hips": (200, "hips", (0.1, -0.1, 0.0), 8.0),
    "a swinging foot": (230, "left_ball", (0.0, 0.12, 0.0), 6.0),
    "at the first frame": (0, "left_palm", (0.1, 0.2, 0.1), 8.0),
    "at the last frame": (504, "left_palm", (0.1, 0.2, 0.1), 8.0),
}


def test_a_foot_in_the_air_keeps_its_ankle_where_a_drag_turns_it_on_its_plant(start, monkeypatch):
    # swings of the walk are shorter than twice the usual time
    monkeypatch.setattr(window_edits, "FOOT_FREE", 0.12)
    frame, roles = 250, CHARACTER.require_roles()
    dragged = start.drag(frame, "hips", place_of(start, Point(roles["hips"]), frame) + [0.05, -0.12, 0.0])
    turned = np.degrees(np.linalg.norm(dragged.motion - start.motion, axis=2))
    planted = 0.0
    for side in ("left", "right"):
        foot, held = roles[f"{side}_foot"], np.zeros(len(turned), bool)
        for plant in dragged.constraints:
            if isinstance(plant, Footplant) and plant.point in foot_points(side):
                held[list(plant.frames)] = True
        wide = np.ones(2 * int(window_edits.FOOT_FREE * start.motion.fps) + 1)
        free = np.convolve(held, wide, mode="same") == 0
        planted = max(planted, turned[held, 1 + foot].max())
        assert turned[free, 1 + foot].max() < 0.5
        assert turned[free, 1 + roles[f"{side}_lower_leg"]].max() > 1.0
    assert planted > 10.0


def foot_points(side: str) -> list[Point]:
    return [CHARACTER.contacts[f"{side}_{part}"] for part in ("heel", "ball", "toe")]


@pytest.mark.parametrize("name", DRAGS)
def test_drag(start, name):
    frame, point, by, spacing = DRAGS[name]
    target = place_of(start, manipulate._point(CHARACTER, point), frame) + by
    after = start.drag(frame, point, target, spacing)
    assert np.linalg.norm(place_of(after, manipulate._point(CHARACTER, point), frame) - target) < 0.001
    assert after.error() < 0.001
    assert drift(after) < 1.0
    reach = 0.5 * KNOTS * spacing * WALK.motion.fps / 30.0
    frames = changed(after, start)
    assert frames.min() >= frame - reach
    assert frames.max() <= frame + reach
    assert len(frames) > 0.5 * reach
    # smooth at the ends of the window and at the dragged frame
    assert peak_acceleration(after.motion) < max(
        1.3 * peak_acceleration(start.motion), peak_acceleration(start.motion) + 3.0 * np.linalg.norm(by) * 400
    )


def test_window_grows_with_the_spacing(start):
    target = place_of(start, PALM, 250) + [0.1, 0.2, 0.1]
    sizes = [len(changed(start.drag(250, PALM, target, spacing), start)) for spacing in (2.0, 4.0, 8.0)]
    assert sizes[0] < sizes[1] < sizes[2]
    assert abs(sizes[2] / sizes[1] - 2.0) < 0.1


def test_undo_and_redo(start):
    target = place_of(start, PALM, 250) + [0.1, 0.2, 0.1]
    once = start.drag(250, PALM, target)
    twice = once.drag(120, "right_palm", place_of(once, CHARACTER.contacts["right_palm"], 120) + [-0.1, 0.1, 0.0])
    assert twice.undo().motion is once.motion
    assert twice.undo().undo().motion is start.motion
    assert twice.undo().undo().undo().motion is start.motion
    assert twice.undo().redo().motion is twice.motion
    assert twice.redo().motion is twice.motion
    assert [drag.frame for drag in twice.edits] == [250, 120]
    assert [drag.frame for drag in twice.undo().edits] == [250]
    # a new edit after an undo discards the undone edits
    other = twice.undo().drag(300, PALM, place_of(once, PALM, 300))
    assert other.redo().motion is other.motion
    assert [drag.frame for drag in other.edits] == [250, 300]
    assert len(start.edits) == 0


def test_earlier_edits_keep_holding(start):
    first = place_of(start, PALM, 250) + [0.1, 0.25, 0.1]
    once = start.drag(250, PALM, first)
    right = CHARACTER.contacts["right_palm"]
    second = place_of(once, right, 262) + [-0.1, 0.2, 0.1]
    third = place_of(once, PALM, 270) + [0.05, 0.1, 0.0]
    both = once.drag(262, right, second).drag(270, PALM, third)
    assert np.linalg.norm(place_of(both, PALM, 250) - first) < 0.001
    assert np.linalg.norm(place_of(both, right, 262) - second) < 0.001
    assert np.linalg.norm(place_of(both, PALM, 270) - third) < 0.001
    assert drift(both) < 1.0
    # the same point at the same frame: the last drag counts
    again = both.drag(250, PALM, first + [0.0, 0.1, 0.0])
    assert np.linalg.norm(place_of(again, PALM, 250) - first - [0.0, 0.1, 0.0]) < 0.001
    assert again.error() < 0.001


def test_dragging_a_planted_foot_moves_its_step(start):
    plant = next(c for c in start.constraints if c.point == CHARACTER.contacts["left_heel"] and len(c.frames) > 30
                 and c.frames.start > 100)  # fmt: skip
    frame = (plant.frames.start + plant.frames.stop) // 2
    target = np.asarray(plant.place) + [0.12, 0.0, 0.05]
    after = start.drag(frame, "left_heel", target)
    assert after.error() < 0.001
    assert drift(after) < 1.0
    places = Kinematics(after.motion).point(plant.point)[plant.frames.start : plant.frames.stop]
    np.testing.assert_allclose(places, np.broadcast_to(target, places.shape), atol=0.001)
    moved = [c for c, d in zip(after.constraints, start.constraints) if c is not d]
    assert {c.point.joint for c in moved} <= {*CHARACTER.skeleton.descendants(CHARACTER.require_roles()["left_foot"])}
    assert len(moved) == 2
    assert after.undo().constraints is start.constraints
    # the other foot, which swings, stays above the ground: 2.3 instead of 1.3 without
    assert peak_acceleration(after.motion) < 2.5 * peak_acceleration(start.motion)


@pytest.mark.parametrize(
    ("frame", "handle", "by"),
    [
        (65, "left_foot", (0.005, 0.235, -0.028)),
        (81, "right_foot", (0.176, 0.105, -0.044)),
        (107, "left_foot", (-0.119, 0.124, -0.179)),
    ],
)
def test_a_planted_foot_whose_ankle_is_at_its_limit_comes_to_its_target(frame, handle, by):
    """The foot turns about its plants; with its step moved by the drag alone the ankle is missed by 2.2 to 5 mm."""
    begun = begin(replace(WALK, motion=WALK.motion.resample(30.0)))
    point = Point(CHARACTER.require_roles()[handle])
    after = begun.drag(frame, point, place_of(begun, point, frame) + by)
    assert after.error() < 0.001
    own = set(CHARACTER.skeleton.descendants(point.joint))
    kinematics = Kinematics(after.motion[frame])
    for plant in after.constraints:
        if plant.joints[0] in own and frame in plant.frames:
            assert np.linalg.norm(kinematics.point(plant.point)[0] - plant.place) < 0.001


def test_window_solve_equals_whole_clip_solve(start):
    """Only the window is solved; solving every frame of the clip gives the same result inside it."""
    target = place_of(start, PALM, 250) + [0.1, 0.3, 0.15]
    after = start.drag(250, PALM, target)
    knot = 8.0 * WALK.motion.fps / 30.0
    frames = changed(after, start)
    window = range(int(frames.min()), int(frames.max()) + 1)
    pins = [window_edits.drag_pin(after.edits[-1], start.constraints)]
    rows = np.arange(len(start.motion))
    whole = window_edits._fitted(start.motion, rows, start.ik, start.constraints, pins, 250, knot)
    apart = np.abs((whole - after.motion)[window.start : window.stop]).max()
    assert apart < 1e-6


def test_results_are_deterministic(start):
    target = place_of(start, PALM, 250) + [0.1, 0.3, 0.15]
    one, other = start.drag(250, PALM, target), start.drag(250, PALM, target)
    assert not len(changed(one, other))


def test_edits_replay_from_data(start, tmp_path):
    after = start.drag(250, PALM, place_of(start, PALM, 250) + [0.1, 0.2, 0.1], 6.0)
    after = after.drag(300, "head", place_of(after, Point(CHARACTER.require_roles()["head"]), 300) - [0.0, 0.1, 0.0])
    data = json.loads(json.dumps(after.to_data()))
    assert [entry["kind"] for entry in data] == ["drag", "drag"]
    assert data[0]["point"] == "left_palm"
    again = start.replay(data)
    assert not len(changed(again, after))
    project = footplant.Project(footplant.Project.of(WALK).figures, edits=tuple(data))
    footplant.save_project(tmp_path / "walk.footplant", project)
    kept = footplant.load_project(tmp_path / "walk.footplant").edits
    assert not len(changed(start.replay(kept), after))


MISTAKES = {
    "kind": ({"kind": "push"}, "edits[0].kind", "there are: drag"),
    "frame": ({"kind": "drag", "frame": 505}, "edits[0].frame", "0..504"),
    "point": ({"kind": "drag", "frame": 5, "point": "left_plam", "target": [0, 0, 0]}, "edits[0].point", "left_palm"),
    "target": ({"kind": "drag", "frame": 5, "point": "head", "target": [0, 0]}, "edits[0].target", "3 numbers"),
    "spacing": (
        {"kind": "drag", "frame": 5, "point": "head", "target": [0, 0, 0], "spacing": 0}, "edits[0].spacing", "above 0"
    ),
    "other": ({"kind": "drag", "frame": 5, "point": "head", "target": [0, 0, 0], "a": 1}, "edits[0].a", "unknown key"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_errors_in_data_name_the_key(name):
    entry, where, words = MISTAKES[name]
    with pytest.raises(FormatError) as caught:
        drags_from_data([entry], CHARACTER, frames=505)
    assert caught.value.where == where
    assert words in str(caught.value)


def test_data_round_trip():
    drags = (Drag(3, PALM, (0.1, 0.2, 0.3), 4.0), Drag(9, Point(5, (0.0, 0.25, 0.0)), (1.0, 2.0, 3.0)))
    assert drags_from_data(drags_to_data(drags, CHARACTER), CHARACTER) == drags


def test_invalid_edits_are_refused(start):
    with pytest.raises(ConstraintError, match=r"frame in 0\.\.504, got 505"):
        start.drag(505, PALM, (0, 0, 0))
    with pytest.raises(ConstraintError, match="3 finite numbers"):
        start.drag(5, PALM, (0, np.nan, 0))
    with pytest.raises(ConstraintError, match="above 0"):
        start.drag(5, PALM, (0, 0, 0), 0.0)
    with pytest.raises(SkeletonError, match="no joint 'tail'"):
        start.drag(5, "tail", (0, 0, 0))
    with pytest.raises(ConstraintError, match="direct manipulation cannot honour it"):
        begin(WALK, [SamePlace(point=PALM, pair=(3, 60), name="loop")])


def test_unreachable_drags_are_finite_and_reported(start):
    after = start.drag(250, PALM, (0.0, 9.0, 0.0))
    assert np.isfinite(after.motion.rotations).all()
    assert after.error() > 1.0


@pytest.mark.parametrize("by", [(0.0, -0.3, 0.0), (0.2, 0.1, -0.2), (-0.25, 0.2, 0.1)])
@pytest.mark.parametrize("handle", ["left_hand", "right_foot", "head", "hips"])
def test_drags_keep_limits_ground_and_ends(start, handle, by):
    roles, frame = CHARACTER.require_roles(), 230 if handle == "left_hand" else 185
    joint = roles[handle]
    after = start.drag(frame, handle, place_of(start, Point(joint), frame) + by)
    excess, before = (limit_violations(CHARACTER, m.motion.rotations) for m in (after, start))
    assert np.degrees((excess - before).max()) < 1.0
    soles = [CHARACTER.contacts[f"{side}_{part}"] for side in ("left", "right") for part in ("heel", "ball", "toe")]
    low, was = (np.minimum(Kinematics(m.motion).points(soles)[..., 1], 0.0) for m in (after, start))
    assert (low - was).min() > -0.002
    assert drift(after) < 3.0
    if handle == "left_hand":
        assert np.degrees(np.linalg.norm((after.motion - start.motion)[frame, 1 + joint])) < 1.0


def test_a_drag_changes_the_body_as_little_as_a_general_solver(start):
    """Equation 4 of Lee & Shin over all joints, beside scipy on the same rows."""
    goal = place_of(start, Point(CHARACTER.require_roles()["left_hand"]), 250) + [0.1, 0.2, 0.15]
    after = start.drag(250, "left_hand", goal)
    hand = Point(CHARACTER.require_roles()["left_hand"])
    pose, ik, frames = start.motion[250:251], start.ik, np.array([250])
    near = [c for c in start.constraints if c.activation(frames, WALK.motion.fps)[0] >= 1.0]
    costs = np.array([ik.place, *(ik.joints.get(j, ik.rigidity) for j in range(len(CHARACTER.skeleton)))])
    bend = {limb.lower for limb in limbs_of(CHARACTER).values()}
    costs[[1 + joint for joint in bend]] = 100.0  # off the hinge; on it cheaper, so the answer is an upper bound

    def rows(x):
        moved = pose + x.reshape(1, -1, 3)
        kinematics = Kinematics(moved, frames)
        asked = [Position(point=hand, target=goal).residual(kinematics)[0], *(c.residual(kinematics)[0] for c in near)]
        return np.concatenate([np.sqrt(np.repeat(costs, 3)) * x, 100.0 * np.concatenate(asked)])

    best = least_squares(rows, np.zeros(3 * len(costs))).x
    own = (after.motion - start.motion)[250].ravel()
    cheap = np.where(np.isin(np.arange(len(costs)) - 1, list(bend)), 1.0, costs)
    assert np.sum(np.repeat(cheap, 3) * own**2) < 1.2 * np.sum(np.repeat(costs, 3) * best**2)


def test_the_status_tells_unreachable_from_contradicted(start):
    assert start.status() is Status.SOLVED
    up = start.drag(250, "hips", place_of(start, Point(CHARACTER.require_roles()["hips"]), 250) + [0.0, 0.3, 0.0])
    assert up.status() is Status.UNREACHABLE
    assert up.error() > 0.1
    assert drift(up) < 1.0
    for frame in (230, 150):  # in the air, and planted
        foot = Point(CHARACTER.require_roles()["left_foot"])
        into = start.drag(frame, foot, place_of(start, foot, frame) * [1.0, 0.0, 1.0] - [0.0, 0.1, 0.0])
        assert into.status() is Status.CONFLICT
        assert into.report().unmet[0].worst > 50.0
        assert "contradict" in into.report().notes[0]


def test_other_constraints_hold_too():
    hand = CHARACTER.require_roles()["right_hand"]
    clip = replace(WALK, motion=WALK.motion[150:330])
    turn = Kinematics(clip.motion).rotations[90, hand]
    level = Orientation(joint=hand, target=turn, frames=range(70, 110), ramp=(0.2, 0.2))
    start = begin(clip, [level])
    palm = CHARACTER.contacts["right_palm"]
    after = start.drag(90, palm, place_of(start, palm, 90) + [-0.1, 0.15, 0.05])
    assert after.error() < 0.001
    kinematics = Kinematics(after.motion)
    assert np.abs(level.residual(kinematics)[70:110]).max() < 0.01


def test_constraints_that_hybrid_ik_refuses_use_numeric_ik():
    clip = replace(WALK, motion=WALK.motion[200:290])
    limits = JointLimits(character=CHARACTER, frames=range(90))
    start = begin(clip, [limits])
    after = start.drag(45, PALM, place_of(start, PALM, 45) + [0.05, 0.15, 0.05], 4.0)
    assert after.error() < 0.001
    assert np.minimum(limits.residual(Kinematics(after.motion)), 0.0).min() > -0.02
    assert drift(after) < 2.0


def test_without_footplants(start):
    free = begin(WALK, keep_plants=False)
    assert free.constraints == ()
    after = free.drag(250, PALM, place_of(free, PALM, 250) + [0.1, 0.2, 0.1])
    assert after.error() < 0.001
    one = begin((WALK.motion[:1], CHARACTER))
    assert one.drag(0, PALM, place_of(one, PALM, 0) + [0.05, 0.1, 0.0]).error() < 0.001


def test_documentation_example(tmp_path, monkeypatch, capsys):
    import re
    from pathlib import Path

    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).resolve().parents[1] / "docs" / "manipulation.md").read_text(encoding="utf-8")
    names: dict = {}
    exec(re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)[0], names)
    assert not len(changed(names["again"], names["edit"]))
    assert capsys.readouterr().out


def test_joint_rotation(start):
    """The joint has the target rotation, its descendants follow, and footplants and the rest of the clip are kept."""
    frame, elbow = 250, CHARACTER.roles["left_lower_arm"]
    before = Kinematics(start.motion[frame])
    wanted = rotation.multiply(rotation.exp(np.array([0.6, 0.0, 0.2])), before.rotations[0, elbow])
    turned = start.turn(frame, "left_lower_arm", wanted, 6.0)
    after = Kinematics(turned.motion[frame])
    assert abs(np.dot(after.rotations[0, elbow], wanted)) == pytest.approx(1.0, abs=1e-9)
    assert np.linalg.norm(place_of(turned, PALM, frame) - place_of(start, PALM, frame)) > 0.05
    touched = changed(start, turned)
    half = 0.5 * KNOTS * 6.0 * WALK.motion.fps / 30.0
    assert len(touched) > 10
    assert touched.min() > frame - half
    assert touched.max() < frame + half
    assert drift(turned) < 1.0
    again = start.replay(json.loads(json.dumps(turned.to_data())))
    assert np.array_equal(again.motion.rotations, turned.motion.rotations)


def test_rotations_are_checked(start):
    with pytest.raises(ConstraintError, match="4 finite numbers"):
        start.turn(10, 3, (0.0, 0.0, 0.0, 0.0))
    with pytest.raises(ConstraintError, match=r"a joint in 0\.\."):
        start.turn(10, 99, (1.0, 0.0, 0.0, 0.0))
    with pytest.raises(FormatError, match="rotation"):
        start.replay([{"kind": "turn", "frame": 1, "joint": "hips", "rotation": [0, 0, 0, 0]}])


def test_heel_and_ball_are_planted_as_far_apart_as_the_foot_is_long(monkeypatch):
    """Places that detection finds one by one may not be; a solver would bend the toes to meet both."""
    contacts = find_contacts(WALK)
    kinematics = Kinematics(WALK.motion)
    shifted = tuple(
        replace(plant, place=np.asarray(plant.place) + [0.003, 0.0, 0.004]) if plant.point == "left_heel" else plant
        for plant in contacts.plants
    )
    monkeypatch.setattr(kept_plants, "find_contacts", lambda _: replace(contacts, plants=shifted))
    heel, ball = (CHARACTER.contacts[f"left_{part}"] for part in ("heel", "ball"))
    lengths = np.linalg.norm(kinematics.point(heel) - kinematics.point(ball), axis=1)
    plants = kept_plants.own_plants(WALK.motion, CHARACTER)
    pairs = [
        (np.linalg.norm(np.subtract(one.place, other.place)), np.median(lengths[shared]))
        for one in plants
        for other in plants
        if one.point == heel and other.point == ball and (shared := sorted(set(one.frames) & set(other.frames)))
    ]
    assert len(pairs) > 2
    for found, length in pairs:
        assert found == pytest.approx(length, abs=1e-5)


def test_a_footplant_that_ramps_at_a_dragged_frame_is_seen_from_where_it_holds():
    plant = Footplant(point=Point(0), place=(0.0, 0.0, 0.0), frames=range(20, 31), ramp=(0.1, 0.1))
    rows = np.arange(60)
    for frame, expected in ((18, [18, 20, 22]), (32, [28, 30, 32]), (25, [25]), (10, [10])):
        found = with_held_frames(np.array([frame]), rows, [plant], 30.0)
        assert found.tolist() == expected
    assert with_held_frames(np.array([18]), np.arange(20), [plant], 30.0).tolist() == [18]


def test_feet_stand_on_their_footplants_where_captured_toes_bend_meanwhile():
    toes = CHARACTER.require_roles()["left_toes"]
    rotations, swing = np.array(WALK.motion.rotations), 0.3 * np.sin(np.arange(len(WALK.motion)) / 12.0)
    rotations[:, toes] = rotation.multiply(rotations[:, toes], rotation.exp(swing[:, None] * rotation.AXES["x"]))
    begun = begin((replace(WALK.motion, rotations=rotations), CHARACTER))
    feet = [c for c in begun.constraints if isinstance(c, Footplant)]
    assert len(feet) > 4
    kinematics = Kinematics(begun.motion)
    assert max(errors(plant, kinematics)[1].max() for plant in feet) < 5e-4


@pytest.mark.parametrize("way", [(0.15, 0.0, 0.0), (0.0, 0.0, 0.15)])
def test_feet_stay_and_swing_calmly_while_hips_are_dragged(way):
    """Of two points of a foot one is held while the other comes down: it does not pull; nor do legs in the way jerk."""
    clip = samples.load("run" if way[2] else "walk")
    start, frame = begin(clip), 220
    before, hips = Kinematics(start.motion), clip.character.require_roles()["hips"]
    dragged = start.drag(frame, "hips", before.positions[frame, hips] + np.array(way))
    after = Kinematics(dragged.motion)
    plants = [c for c in dragged.constraints if isinstance(c, Footplant)]
    assert max(float(errors(plant, after)[1].max(initial=0.0)) for plant in plants) < 5e-4
    added = np.diff(after.positions - before.positions, 2, axis=0) * clip.motion.fps**2
    assert np.linalg.norm(added, axis=-1).max() < 120.0


@pytest.mark.parametrize(
    ("name", "frame", "point", "target"),
    [
        ("run", 57, "hips", (0.210, 0.618, 5.881)),
        ("run", 71, "right_foot", (-0.111, 0.162, 7.010)),
        ("walk", 18, "left_foot", (0.129, -0.143, 0.162)),
    ],
)
def test_what_splines_take_up_leaves_the_dragged_pose_alone(monkeypatch, name, frame, point, target):
    clip = samples.load(name)
    clip = replace(clip, motion=clip.motion.resample(30.0))
    started = begin(clip)
    joint = Point(clip.character.require_roles()[point])

    def displaced():
        return np.square((started.drag(frame, joint, target).motion - started.motion)[frame]).sum()

    smooth = displaced()
    monkeypatch.setattr(closing, "FINER", ())
    assert smooth == pytest.approx(displaced(), rel=0.03)


@pytest.mark.parametrize(
    ("name", "frame", "side", "by"), [("walk", 45, "left", (0.0, 0.3, 0.4)), ("run", 10, "right", (0.0, 0.6, 0.5))]
)
def test_a_leg_that_a_drag_straightens_does_not_bend_backwards(name, frame, side, by):
    clip = samples.load(name)
    start = begin((clip.motion.resample(30.0)[:60], clip.character))
    roles = clip.character.require_roles()
    foot, knee = Point(roles[f"{side}_foot"]), roles[f"{side}_lower_leg"]
    edited = start.drag(frame, foot, Kinematics(start.motion).point(foot)[frame] + by)
    assert edited.error() < 0.001
    before, after = (
        np.degrees(anatomical_turns(clip.character, motion.rotations)[:, knee, 0])
        for motion in (start.motion, edited.motion)
    )
    assert (after - np.minimum(before, 0.0)).min() > -0.5
