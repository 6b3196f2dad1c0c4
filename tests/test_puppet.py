"""Computer puppetry: importance, the root, the limbs; feet that hold, hands that meet, nothing in the belly."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import shared_data, shared_files
from footplant import rotation, samples
from footplant.clip import Clip
from footplant.contacts.importance import PerformanceScene, SceneObject, importance, importances
from footplant.contacts.moving_ground import conveyor, deck, lift
from footplant.edits.compare import compare
from footplant.edits.puppet import puppet
from footplant.errors import MotionError
from footplant.geometry import Ball, Box, Capsule, HeightField, Plane
from footplant.humanoid.body_proxy import SEGMENTS, BodySurface
from footplant.kinematics import Kinematics
from footplant.live.puppeteer import PerformerFrame, Puppeteer
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.solve.ik.puppet import PuppetEngine, PuppetMotion
from footplant.transfer import transfer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
measured = importlib.import_module("puppet_measures")

TARGETS = ("sally", "blubby")
pytestmark = pytest.mark.usefixtures("inner_kernels_are_interpreted")


@cache
def played(name: str, who: str) -> tuple[Clip, Character, PuppetMotion, Kinematics]:
    clip, target = samples.load(name), samples.load_character(who)
    found = PuppetEngine(clip.character, target).play(clip.motion)
    return clip, target, found, Kinematics(found.motion)


@pytest.mark.parametrize("who", TARGETS)
@pytest.mark.parametrize("name", ["walk", "run", "jump", "reach", "kick", "turn-left", "turn-right"])
def test_planted_feet_hold_while_they_matter_fully(name, who):
    _, target, found, kinematics = played(name, who)
    assert (found.scene[:, 2:] >= 1.0).mean() > 0.2
    assert 0.0 < measured.drift(samples.make(name).contacts, found, measured.feet(kinematics, target)) < 0.005


def rocking(height: float) -> tuple[Character, Motion]:
    """A performer that stands, rises from its heels by metres on average within a quarter second, and comes back."""
    clip, fps = samples.load("punch"), 120.0
    pose, contacts = clip.motion[:1], clip.character.contacts
    at = Kinematics(pose)
    balls, heels = (
        np.mean([at.point(contacts[f"{side}_{point}"])[0] for side in ("left", "right")], axis=0)
        for point in ("ball", "heel")
    )
    seconds = np.arange(360) / fps
    up = np.clip(4.0 * (seconds - 1.0), 0.0, 1.0) - np.clip(4.0 * (seconds - 2.0), 0.0, 1.0)
    along = (balls - heels) * (1.0, 0.0, 1.0)
    arm = float(np.linalg.norm(along))
    turn = rotation.exp(np.outer(up * up * (3.0 - 2.0 * up) * height / arm, np.cross((0.0, 1.0, 0.0), along / arm)))
    rotations = np.tile(pose.rotations, (360, 1, 1))
    rotations[:, 0] = rotation.multiply(turn, rotations[:, 0])
    root = balls + rotation.rotate(turn, np.tile(pose.root - balls, (360, 1)))
    return clip.character, Motion(pose.skeleton, root, rotations, fps)


@pytest.mark.parametrize("who", TARGETS)
def test_heels_and_balls_that_rise_a_little_stay_on_the_floor(who):
    performer, motion = rocking(0.008)
    target = samples.load_character(who)
    found = Kinematics(PuppetEngine(performer, target).play(motion).motion)
    theirs = measured.feet(Kinematics(motion), performer)
    assert np.ptp(theirs["right_heel"][:, 1]) > 0.014
    for name, places in measured.feet(found, target).items():
        if not name.endswith("toe"):
            assert np.linalg.norm(places[60:] - places[60], axis=1).max() < 0.003, name


@pytest.mark.parametrize("who", TARGETS)
@pytest.mark.parametrize("name", ["reach", "kick", "jump"])
def test_points_that_stand_stay_while_the_rest_of_the_foot_meets_the_floor(name, who):
    _, target, found, kinematics = played(name, who)
    assert measured.drift(samples.make(name).contacts, found, measured.feet(kinematics, target)) < 0.001


def test_three_points_of_a_foot_with_toes_are_held_exactly():
    from footplant.solve.ik.puppet import _hold, _packed

    everything = PuppetEngine(samples.load("walk").character, samples.load_character("blubby")).packed()
    target, work = _packed.target_of(everything), _packed.work_of(everything)
    end, toes = target.character.limbs[2, 2], target.character.carriers[4]
    heel, ball, toe, joint = np.array([(0.0, -0.08, -0.06), (0.0, -0.09, 0.11), (0.0, -0.09, 0.2), (0.0, -0.07, 0.12)])
    work.points[2:5], work.positions[0, end], work.positions[0, toes] = (heel, ball, toe), 0.0, joint
    foot, bend = rotation.exp(np.array([[-0.2, 0.0, 0.0], [0.15, 0.0, 0.0]]))
    front = rotation.rotate(foot, joint)
    there = np.array([rotation.rotate(foot, heel), *(front + rotation.rotate(bend, p - joint) for p in (ball, toe))])
    states = np.zeros((3, 15))
    states[:, _hold.BACK : _hold.BACK + 3] = there + (0.01, 0.02, -0.03) - (heel, ball, toe)
    hinge, found, own, bent = _hold.hold_turns(target, 2, states, work)
    assert hinge
    assert found == pytest.approx(tuple(joint))
    for n, point in enumerate((heel, ball, toe)):
        place = _hold.turned(point, n > 0, found, own, bent)
        assert np.array(place) == pytest.approx(there[n], abs=1e-12)


def test_a_point_that_was_held_back_as_far_as_it_may_be_stays_while_the_performer_does():
    from footplant.solve.ik.puppet import _hold, _packed
    from footplant.solve.ik.puppet._tables import AT, Clock, SceneFrame, new_limbs

    engine = PuppetEngine(samples.load("walk").character, samples.load_character("blubby"))
    packed, poses = engine.packed(), engine.analysis.scene.rest()
    target, found, work = _packed.target_of(packed), _packed.found_of(packed), _packed.work_of(packed)
    limbs, tuning = new_limbs(len(engine.target.skeleton), len(target.puppet.spine)), target.stage.tuning
    scene = SceneFrame(_packed.source_of(packed)[2].things, poses, np.zeros((12, len(poses), 2)))
    goal, found.scene[2], found.nearest[2:5] = np.array([0.0, 0.5, 0.0]), 1.0, (0.2, 0.07, 0.0)
    creep, rise = (0.9 * target.stage.size * tuning[number] for number in (AT.most_creep, AT.most_rise))
    limbs.holds[1, _hold.BACK : _hold.BACK + 3] = 0.01, -rise, creep
    limbs.holds[1:3, _hold.GRIP : _hold.GRIP + 2] = 1.0
    points = [(0.0, -0.05, -0.06), (0.0, -0.09, 0.1), (0.0, -0.12, 0.16)]
    places = []
    for frame in range(31):
        work.goals[2], work.points[2:5] = goal, points
        if frame == 0:
            limbs.holds[:3, :3] = goal + points
        _hold.hold_foot(target, 2, found, scene, Clock(1.0 / 30.0, True, 1.0), 0.0, limbs, work)
        places.append(limbs.holds[1, _hold.BACK : _hold.BACK + 3].copy())
    assert np.linalg.norm(places[-1] - places[0]) < 0.001


def test_a_point_that_trembles_stands_and_one_that_begins_to_rise_does_not():
    from footplant.solve.ik.puppet import _hold, _packed

    engine = PuppetEngine(samples.load("walk").character, samples.load_character("blubby"))
    packed = engine.packed()
    target, found, state = _packed.target_of(packed), _packed.found_of(packed), np.zeros(15)
    state[_hold.GRIP : _hold.GRIP + 2], found.nearest[2:5], dt = 1.0, 0.0, 1.0 / 120.0
    still, grips = (0.0, 0.0, 0.0), []
    for frame in range(40):
        # 4 mm from frame to frame, then 0.3 m/s
        height = 0.002 * (-1) ** frame if frame < 30 else 0.3 * (frame - 29) * dt
        found.points[2] = 0.0, height, 0.0
        grips.append(_hold.held_share(2, found, 1.0, dt, target.stage, state, still)[1])
    assert min(grips[:30]) > 0.7
    assert grips[32] < 0.1


def test_what_is_on_the_ground_at_the_first_frame_stands_until_it_is_seen_to_move():
    from footplant.solve.ik.puppet import _hold, _packed
    from footplant.solve.ik.puppet._tables import Clock, new_limbs

    engine = PuppetEngine(samples.load("walk").character, samples.load_character("blubby"))
    packed = engine.packed()
    target, found, work = _packed.target_of(packed), _packed.found_of(packed), _packed.work_of(packed)
    limbs = new_limbs(len(engine.target.skeleton), len(target.puppet.spine))
    found.scene[2], found.nearest[2:5] = 1.0, 0.0
    for frame in range(3):
        _hold.hold_points(target, 2, found, Clock(1.0 / 120.0, frame > 0, 1.0), 0.0, limbs, work)
    assert (limbs.holds[:3, _hold.GRIP : _hold.GRIP + 2] > 0.5).all()


@pytest.mark.parametrize(
    ("path", "who"),
    [("bvh/cmu/05_02.bvh", "sally"), ("bvh/cmu/49_06.bvh", "blubby"), ("bvh/cmu/61_01.bvh", "blubby")],
)
@pytest.mark.named("{path}")
def test_feet_of_recordings_whose_points_tremble_or_come_late_stay_within_two_millimetres(path, who):
    clip, scene, intervals = measured.real_clip(shared_data(*path.split("/")))
    target = samples.load_character(who)
    found = PuppetEngine(clip.character, target, scene).play(clip.motion)
    assert measured.drift(intervals, found, measured.feet(Kinematics(found.motion), target)) < 0.002


@pytest.mark.parametrize("who", TARGETS)
def test_heel_and_ball_stand_while_toes_bend(who):
    clip, target = samples.load("punch"), samples.load_character(who)
    pose, frames = clip.motion[:1], 240
    rotations, toes = np.tile(pose.rotations, (frames, 1, 1)), clip.character.contacts["left_ball"].joint
    angle = np.radians(12.0) * (0.5 - 0.5 * np.cos(np.linspace(0.0, 2.0 * np.pi, frames)))
    rotations[:, toes] = rotation.multiply(rotations[:, toes], rotation.exp(np.outer(-angle, (1.0, 0.0, 0.0))))
    motion = Motion(pose.skeleton, np.tile(pose.root, (frames, 1)), rotations, 120.0)
    found = measured.feet(Kinematics(PuppetEngine(clip.character, target).play(motion).motion), target)
    theirs = measured.feet(Kinematics(motion), clip.character)["left_ball"]
    assert np.linalg.norm(theirs - theirs[20], axis=1).max() > 0.003
    for name in ("left_heel", "left_ball"):
        assert np.linalg.norm(found[name][20:] - found[name][20], axis=1).max() < 0.0005, name


def test_what_stands_is_pushed_out_of_the_ground_straight_up_and_the_rest_without_a_jump():
    from footplant.solve.ik.puppet._limbs import drawn_out

    places = []
    for angle in np.radians(np.arange(20.0, 90.0, 0.5)):
        hip = (np.cos(angle), np.sin(angle), 0.0)
        assert drawn_out(0.01, (0.0, 1.0, 0.0), (0.0, 0.0, 0.0), hip, 0.0) == pytest.approx((0.0, 0.01, 0.0))
        places.append(drawn_out(0.01, (0.0, 1.0, 0.0), (0.0, 0.0, 0.0), hip, 1.0))
    assert np.array(places)[:, 1] == pytest.approx(0.01)
    assert np.abs(np.diff(np.array(places)[:, 0])).max() < 1e-3
    assert np.max(np.array(places)[:, 0]) > 0.005


def test_feet_that_are_let_go_are_not_thrown():
    """What was held of a foot that begins to move is left to it little by little, not within a frame."""
    clip = samples.load("punch")
    motion = clip.motion.resample(60.0)
    found = PuppetEngine(clip.character, clip.character).play(motion)
    roles = clip.character.require_roles()
    feet = [roles["left_foot"], roles["right_foot"]]
    theirs, ours = (
        np.linalg.norm(np.diff(Kinematics(played).positions[:, feet], 2, axis=0), axis=-1).max()
        for played in (motion, found.motion)
    )
    assert ours < 1.6 * theirs


def test_a_figure_that_plays_itself_moves_as_it_did():
    clip, _, found, kinematics = played("walk", "mannequin")
    before = Kinematics(clip.motion)
    assert np.abs(kinematics.positions - before.positions).max() < 0.033
    assert (found.iterations == 0).all()


@pytest.mark.parametrize("name", ["walk", "kick", "stop", "limp", "jump", "punch", "turn-left", "turn-right"])
def test_free_arms_keep_their_angles(name):
    clip, target, found, _ = played(name, "sally")
    engine, copied = PuppetEngine(clip.character, target), transfer(clip.motion, clip.character, target)
    angle, share = measured.free_arms(engine, found, copied, measured.pushed_arms(engine, copied))
    assert angle < 1.0
    if name == "kick":
        # palms that come near each other and do not meet give that up as fast as it came
        assert share > 0.5
    if name == "walk":
        # hands that swing past the hips come near them, and keep their angles throughout
        roles = target.require_roles()
        arms = [roles[f"{side}_{part}"] for side in ("left", "right") for part in ("upper_arm", "lower_arm", "hand")]
        assert np.degrees(rotation.angle(found.motion.rotations[:, arms], copied.rotations[:, arms])).max() < 1.0


@pytest.mark.parametrize("who", TARGETS)
def test_clapping_hands_meet_and_do_not_pass(who):
    clip, target, _, kinematics = played("clap", who)
    source = Kinematics(clip.motion)
    theirs = source.point(clip.character.contacts["left_palm"]) - source.point(clip.character.contacts["right_palm"])
    ours = kinematics.point(target.contacts["left_palm"]) - kinematics.point(target.contacts["right_palm"])
    for start, end in samples.make("clap").contacts["left_palm"]:
        assert np.linalg.norm(ours[start:end], axis=1).max() < 0.01
    # the left palm stays on its side wherever the performer's does
    apart = np.linalg.norm(theirs, axis=1)
    along = np.sum(ours * theirs, axis=1)[apart > 0.02] / apart[apart > 0.02]
    assert along.min() > -0.005


@pytest.mark.parametrize("name", samples.MOTIONS)
def test_arms_stay_out_of_the_belly(name):
    _, target, _, kinematics = played(name, "blubby")
    # a palm on the floor or the waist is held there while the belly passes
    assert measured.depth(target, kinematics) < (0.03 if name in ("waist", "climb") else 0.01)


def test_the_live_puppeteer_plays_what_the_engine_plays():
    clip, target = samples.load("turn-left"), samples.load_character("sally")
    found = PuppetEngine(clip.character, target).play(clip.motion, peak_acceleration=0.0)
    puppeteer = Puppeteer(clip.character, target)
    state = puppeteer.init()
    first = state
    for f in range(40):
        state, pose = puppeteer.step(state, PerformerFrame(clip.motion.root[f], clip.motion.rotations[f], 1.0 / 120.0))
        assert np.abs(pose.root - found.motion.root[f]).max() < 1e-12
        assert rotation.angle(pose.rotations, found.motion.rotations[f]).max() < 1e-7
        assert np.allclose(pose.importance.scene, found.scene[f])
    # states are values: the first one still begins at the beginning
    _, again = puppeteer.step(first, PerformerFrame(clip.motion.root[0], clip.motion.rotations[0], 1.0 / 120.0))
    assert np.abs(again.root - found.motion.root[0]).max() < 1e-12
    assert (state.frames, first.frames) == (40, 0)
    # what is known of a whole clip can be told beforehand
    rehearsed = PuppetEngine(clip.character, target).play(clip.motion)
    state = puppeteer.init(rehearsed.peak_acceleration)
    for f in range(40):
        state, pose = puppeteer.step(state, PerformerFrame(clip.motion.root[f], clip.motion.rotations[f], 1.0 / 120.0))
        assert np.abs(pose.root - rehearsed.motion.root[f]).max() < 1e-9
        assert rotation.angle(pose.rotations, rehearsed.motion.rotations[f]).max() < 1e-7


def test_settings_reach_the_kernels():
    from footplant.solve.ik.puppet import tuning_of
    from footplant.solve.ik.puppet._tables import AT
    from footplant.solve.ik.settings import PUPPET

    names = [name for group in vars(PUPPET).values() for name in vars(group)]
    # what is left out goes into tables that are made once
    made = {"stretch", "track_gain", "margin_gain", "least_margin", "most_margin"}
    assert sorted(names) == sorted({*AT._fields, *made}), "a name is in one group only, and in the table"
    assert tuning_of(PUPPET)[AT.hand_ease] == PUPPET.arm.hand_ease
    clip, target = samples.load("clap"), samples.load_character("blubby")
    motion = clip.motion[:60]
    slow = replace(PUPPET, arm=replace(PUPPET.arm, pose_ease=10.0 * PUPPET.arm.pose_ease))
    usual, other = (
        PuppetEngine(clip.character, target, settings=settings).play(motion).motion for settings in (PUPPET, slow)
    )
    assert rotation.angle(usual.rotations, other.rotations).max() > 0.01


def test_packed_tables_are_the_tables():
    from footplant.solve.ik.puppet import _packed as packed

    engine = PuppetEngine(samples.load("walk").character, samples.load_character("blubby"))
    everything, analysis = engine.packed(), engine.analysis
    memory, limbs = engine.init()
    parts = (
        (packed.source_of(everything), (
            engine.performer.skeleton.parents, engine.performer.skeleton.offsets[None], analysis.character,
            analysis.tubes, analysis.near, analysis.things, analysis.rules,
        )),
        (packed.target_of(everything), (*engine.tables, engine.stage, engine.counterparts.tables)),
        (packed.memory_of(memory.floats, memory.places), analysis.init()),
        (packed.found_of(everything), analysis.buffer()),
    )  # fmt: skip
    for views, tables in parts:
        ours, theirs = list(flat(views)), list(flat(tables))
        assert len(ours) == len(theirs)
        for view, table in zip(ours, theirs):
            assert np.shape(view) == np.shape(table)
            assert np.array_equal(view, table)
    assert len(list(flat(packed.limbs_of(limbs.floats, limbs.places)))) == len(limbs.places)
    assert len(list(flat(packed.work_of(everything)))) == len(everything.places) - packed.WORK


def flat(parts):
    """The arrays and numbers of nested tuples."""
    for part in parts:
        if isinstance(part, tuple):
            yield from flat(part)
        else:
            yield part


def test_bad_frames_are_refused_and_long_gaps_are_survived():
    clip, target = samples.load("walk"), samples.load_character("blubby")
    puppeteer = Puppeteer(clip.character, target)
    state = puppeteer.init()
    rotations = clip.motion.rotations[0]
    with pytest.raises(MotionError, match="expected rotations of shape"):
        puppeteer.step(state, PerformerFrame(clip.motion.root[0], rotations[:3], 0.01))
    with pytest.raises(MotionError, match="finite"):
        puppeteer.step(state, PerformerFrame(np.full(3, np.nan), rotations, 0.01))
    with pytest.raises(MotionError, match="unit quaternions"):
        puppeteer.step(state, PerformerFrame(clip.motion.root[0], np.zeros_like(rotations), 0.01))
    wrong: tuple[Any, ...] = ("x", np.nan)
    for dt in wrong:
        with pytest.raises(MotionError, match="expected a finite dt in seconds"):
            puppeteer.step(state, PerformerFrame(clip.motion.root[0], rotations, dt))
    with pytest.raises(MotionError, match="expected things of shape"):
        puppeteer.step(state, PerformerFrame(clip.motion.root[0], rotations, 0.01, np.zeros((5, 7))))
    for dt, f in ((0.0, 0), (5.0, 100), (1e-9, 101), (0.01, 400)):
        state, pose = puppeteer.step(state, PerformerFrame(clip.motion.root[f], clip.motion.rotations[f], dt))
        assert np.isfinite(np.concatenate([pose.root, pose.rotations.ravel()])).all()


def test_importance_of_the_scene_comes_before_a_touch_and_fades_after_it():
    assert importance([0.0, 0.5, 1.0]).tolist() == [1.0, 0.5, 0.0]
    clip = samples.load("jump")
    kinematics = Kinematics(clip.motion)
    feet = np.array([found.scene[2] for found in importances(
        clip.character, kinematics.positions, kinematics.rotations, clip.motion.fps)])  # fmt: skip
    (_, end), *rest = samples.make("jump").contacts["left_toe"]
    landing = min(a for a, _ in rest)
    assert feet[end - 1] == 1.0
    assert feet[end:landing].min() < 0.3
    assert feet[landing] > 0.9
    assert np.abs(np.diff(feet)).max() < 0.08


@pytest.mark.parametrize(
    "shape",
    [
        Plane((0.0, 0.1, 0.0), (0.1, 1.0, 0.2)),
        HeightField(np.random.default_rng(1).normal(size=(6, 7)) * 0.1, 0.7, (-2.0, -2.0)),
        Box((0.2, 0.3, -0.1), (0.4, 0.2, 0.6), tuple(rotation.exp(np.array([0.3, -0.8, 0.2])))),
        Ball((0.1, 0.2, 0.3), 0.5),
        Capsule((0.0, 0.0, 0.0), (1.0, 0.5, 0.2), 0.3),
    ],
)
def test_compiled_distances_are_those_of_the_shapes(shape):
    from footplant.kernels import scene as kernel

    things = PerformanceScene.of(shape).tables(1.75)
    points = np.random.default_rng(2).normal(size=(200, 3))
    out = np.empty((len(points), 1, 4))
    kernel.all_distances(things, PerformanceScene.of(shape).rest(), points, out)
    assert np.abs(out[:, 0, 0] - shape.distance(points)).max() < 1e-12
    step = 1e-6
    ahead = shape.distance(points + step * out[:, 0, 1:])
    if not isinstance(shape, HeightField):
        assert np.abs((ahead - out[:, 0, 0]) / step - 1.0).max() < 1e-4
    assert np.allclose(np.linalg.norm(out[:, 0, 1:], axis=1), 1.0)


def test_a_thing_that_moves_takes_its_distance_along():
    from footplant.kernels import scene as kernel

    box, turn = Box((0.0, 0.0, 0.0), (0.1, 0.2, 0.3)), rotation.exp(np.array([0.2, 0.5, -0.3]))
    points, out = np.random.default_rng(3).normal(size=(50, 3)), np.empty((50, 1, 4))
    moved = np.concatenate([[0.3, -0.2, 0.5], turn])[None]
    kernel.all_distances(PerformanceScene.of(box).tables(1.75), moved, points, out)
    there = Box((0.3, -0.2, 0.5), (0.1, 0.2, 0.3), tuple(turn))
    assert np.abs(out[:, 0, 0] - there.distance(points)).max() < 1e-12


@pytest.mark.parametrize("who", ["mannequin", "blubby"])
def test_the_surface_is_where_the_skin_is_and_places_are_found_again(who):
    from footplant.kernels import surface

    character = samples.load_character(who)
    body = BodySurface.of(character)
    assert body.samples().shape == (len(SEGMENTS), 40, 3)
    tubes = body.tables()
    rng = np.random.default_rng(4)
    positions, rotations = (np.array(part) for part in character.skeleton.rest_world)
    for number in range(len(SEGMENTS)):
        t, angle, gap = rng.uniform(0.05, 0.95), rng.uniform(-3.0, 3.0), rng.uniform(0.0, 0.2)
        place = surface.place(tubes, number, positions, rotations, t, np.cos(angle), np.sin(angle), gap, 0.0)
        own = surface.own_place(tubes, number, positions, rotations, *place)
        seen = surface.measure(tubes.rings[number], tubes.lengths[number], *own)
        assert np.allclose(seen[4:8], [t, np.cos(angle), np.sin(angle), gap], atol=1e-9)
        # the direction is that in which the distance grows
        if gap > 1e-3:
            d, *normal = surface.distance(tubes, number, positions, rotations, *place)
            assert np.linalg.norm(normal) == pytest.approx(1.0)
            assert 0.0 < d <= gap + 1e-12


def test_hands_approach_and_leave_without_a_jump():
    """Arms swing to one another and away again: what the importance does is never felt as a jerk."""
    clip, target, found, kinematics = played("clap", "sally")
    assert found.hands.max() == 1.0
    assert found.hands.min() < 0.1
    assert np.abs(np.diff(found.hands)).max() < 0.06
    assert np.abs(np.diff(found.hands, n=2)).max() < 0.02
    copied = Kinematics(transfer(clip.motion, clip.character, target))
    assert measured.acceleration(kinematics, copied, clip.motion.fps) < 1.2


@pytest.mark.parametrize("who", TARGETS)
@pytest.mark.parametrize("name", samples.MOTIONS)
def test_smooth_motions_stay_smooth(name, who):
    clip, target, _, kinematics = played(name, who)
    copied = Kinematics(transfer(clip.motion, clip.character, target))
    assert measured.acceleration(kinematics, copied, clip.motion.fps) < (1.5 if name == "stand" else 1.2)


def test_a_shift_undoes_what_its_point_does_and_accelerates_no_more_than_it_may_otherwise():
    from footplant.solve.ik.puppet import tuning_of
    from footplant.solve.ik.puppet._pace import limit_shift
    from footplant.solve.ik.puppet._tables import Clock
    from footplant.solve.ik.settings import PUPPET

    clock, bound, tuning = Clock(0.01, True, 0.0), 2.0, tuning_of(PUPPET)
    seconds = 0.01 * np.arange(60)
    # a captured palm plunges into a thigh by 5 cm within 0.2 s; it is to stay on the skin
    plunge = -0.05 * (0.5 - 0.5 * np.cos(np.pi * np.clip(seconds / 0.2, 0.0, 1.0)))
    assert np.abs(np.diff(plunge, n=2)).max() / 0.01**2 > 3.0 * bound
    state = np.zeros(15)
    for place in plunge:
        want = np.array([-place, 0.0, 0.0])
        limit_shift(state, np.array([place, 0.0, 0.0]), want, bound, clock, tuning)
        assert abs(place + want[0]) < 1e-3
    # where the point is still, the shift follows a jump by its bound
    state, shifts = np.zeros(15), []
    for _ in range(60):
        want = np.array([0.1, 0.0, 0.0])
        limit_shift(state, np.zeros(3), want, bound, clock, tuning)
        shifts.append(want[0])
    assert np.abs(np.diff([0.0, 0.0, *shifts], n=2)).max() / 0.01**2 < 1.001 * bound
    assert shifts[-1] == pytest.approx(0.1, abs=0.005)


def test_palms_that_come_to_the_hips_are_not_about_to_meet():
    clip = samples.load("waist")
    found = PuppetEngine(clip.character, samples.load_character("sally")).play(clip.motion)
    on_hips = found.body[:, :2].max(axis=(1, 2)) > 0.9
    assert on_hips.mean() > 0.15
    assert found.hands[on_hips].max() < 0.5


def test_a_joint_that_catches_up_is_no_faster_than_its_bone_lets_it_go_around():
    from footplant.solve.ik.puppet import tuning_of
    from footplant.solve.ik.puppet._pace import chase
    from footplant.solve.ik.settings import PUPPET

    state, want, dt, bound = np.zeros(9), np.zeros(3), 0.01, 50.0
    state[6] = 1.0
    for length in (0.1, 0.4):
        assert not chase(state, state[6:], bound, dt, length, want, tuning_of(PUPPET))
        fast = np.linalg.norm(want) / dt
        assert 0.5 * bound < fast**2 / length < bound
    chase(state, state[6:], bound, dt, np.inf, want, tuning_of(PUPPET))
    assert np.linalg.norm(want) / dt > 2.0 * fast


@pytest.mark.parametrize("open_side", [False, True])
def test_rings_follow_a_skin_that_is_dense_in_places_and_open_in_others(open_side):
    from footplant.humanoid.body_proxy import _cut_rings, _terms

    def radius(angle):
        return 0.15 + 0.02 * np.cos(angle) - 0.04 * np.cos(2.0 * angle)

    # a tube 0.4 m long, its front in strips of 1°, the rest in strips of 12°; a quarter of it may be missing
    degrees = np.concatenate([np.arange(-60.0, 60.0), np.arange(60.0, 300.1, 12.0)])
    around = np.radians(degrees)
    edges = radius(around)[:, None] * np.stack([np.cos(around), np.sin(around)], axis=1)
    low, high = (np.column_stack([edges, np.full(len(edges), height)]) for height in (-0.05, 0.45))
    strips = np.flatnonzero((degrees[:-1] < 48.0) | (degrees[:-1] > 132.0) | (not open_side))
    skin = np.concatenate([
        np.stack([low[strips], low[strips + 1], high[strips + 1]], axis=1),
        np.stack([low[strips], high[strips + 1], high[strips]], axis=1),
    ])  # fmt: skip
    angles = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    error = np.abs(_cut_rings(skin, 0.4, np.zeros(5)) @ _terms(angles).T - radius(angles))
    assert error[:, angles > np.pi].max() < (0.015 if open_side else 0.003)
    assert error.max() < (0.06 if open_side else 0.003)


def test_a_palm_on_two_segments_is_put_on_the_nearer_one():
    from footplant.solve.ik.puppet._arms import settle_touch, skin_distance
    from footplant.solve.ik.puppet._packed import found_of, target_of, work_of

    clip, sally = samples.load("waist"), samples.load_character("sally")
    packed = PuppetEngine(clip.character, sally).packed()
    target, found, work = target_of(packed), found_of(packed), work_of(packed)
    work.positions[0], work.rotations[0] = sally.skeleton.rest_world
    pair = [SEGMENTS.index(name) for name in ("hips", "left_upper_leg")]
    found.body[0, pair] = 1.0
    found.seen[0, pair, 5] = [0.0, 0.004]
    hip = work.positions[0, sally.require_roles()["left_upper_leg"]]
    for height in (-0.05, 0.0, 0.05, 0.1):
        work.wrists[0] = hip + [0.15, height, 0.05]
        settle_touch(target, found, 0, 1.0, work)
        here = [skin_distance(target.tubes, k, work.positions[0], work.rotations[0], *work.wrists[0])[0] for k in pair]
        assert abs(min(here)) < 0.003


def test_a_palm_is_put_out_of_the_segment_beside_the_one_that_it_touches():
    from footplant.solve.ik.puppet._arms import settle_touch, skin_distance
    from footplant.solve.ik.puppet._packed import found_of, target_of, work_of

    clip, sally = samples.load("waist"), samples.load_character("sally")
    packed = PuppetEngine(clip.character, sally).packed()
    target, found, work = target_of(packed), found_of(packed), work_of(packed)
    work.positions[0], work.rotations[0] = sally.skeleton.rest_world
    pair = [SEGMENTS.index(name) for name in ("hips", "left_upper_leg")]
    # the performer's palm is on its hips, 3 cm from its thigh
    found.body[0, pair] = [1.0, 0.6]
    found.seen[0, pair, 5] = [0.0, 0.03]
    hip = work.positions[0, sally.require_roles()["left_upper_leg"]]
    for start in ((0.09, -0.02, 0.04), (0.06, -0.06, 0.06), (0.1, -0.05, 0.0)):
        work.wrists[0] = hip + start
        settle_touch(target, found, 0, 1.0, work)
        here = [skin_distance(target.tubes, k, work.positions[0], work.rotations[0], *work.wrists[0])[0] for k in pair]
        assert abs(min(here)) < 0.01


def test_what_lies_beside_a_touch_is_told_in_body_heights():
    from footplant.solve.ik.puppet._arms import touched_skin
    from footplant.solve.ik.puppet._packed import found_of, source_of

    touches = importlib.import_module("puppet_touches")
    clip, sally = samples.load("waist"), samples.load_character("sally")
    packed = PuppetEngine(clip.character, sally).packed()
    performer, found = source_of(packed)[2], found_of(packed)
    least, heights = touches.ADJACENT
    found.body[0, 0] = least + 0.1
    for share, told in ((0.99, True), (1.01, False)):
        found.seen[0, 0, 5] = share * heights * clip.character.height
        assert touched_skin(performer, found, 0, 0) == told


@pytest.mark.parametrize(("who", "missed"), [("dinokid", 4), ("godette", 16)])
@pytest.mark.named("bvh/other/mvn_40fps_A.bvh", "vrm/100avatars_045_DinoKid.vrm", "vrm/Godette_vrm0.vrm")
def test_palms_on_hips_and_thighs_of_a_recording_lie_on_the_skin(who, missed):
    touches = importlib.import_module("puppet_touches")
    clip, scene, intervals = measured.real_clip(shared_data("bvh", "other", "mvn_40fps_A.bvh"))
    for name in ("100avatars_045_DinoKid.vrm", "Godette_vrm0.vrm"):
        shared_data("vrm", name)
    found = touches.measures(clip, touches.character(who), scene, intervals)
    gaps = np.abs(found["gaps"])[~np.asarray(found["beyond"], bool)]
    assert len(gaps) > 450
    assert (gaps > touches.MISSED).sum() <= missed
    assert found["acceleration"] < 1.2


def test_an_elbow_stays_where_it_is_while_the_plane_of_a_turned_arm_spins():
    from footplant.solve.ik.puppet._arms import carry_swing
    from footplant.solve.ik.puppet._limbs import bend_to, limb_places, swing_by
    from footplant.solve.ik.puppet._packed import target_of, work_of
    from footplant.solve.ik.puppet._tables import new_limbs

    sally = samples.load_character("sally")
    packed = PuppetEngine(samples.load("walk").character, sally).packed()
    target, work, limbs = target_of(packed), work_of(packed), new_limbs(len(sally.skeleton), 3)
    puppet, character, tuning = target.puppet, target.character, target.stage.tuning
    work.positions[0], work.rotations[0] = sally.skeleton.rest_world
    work.captured[:] = work.rotations[0]
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (len(sally.skeleton), 1))
    turns[character.limbs[0, 1]] = rotation.exp(np.array([0.0, -1.2, 0.0]))
    shoulder, elbows, planes = work.positions[0, character.limbs[0, 0]], [], []
    for started, angle in enumerate(np.linspace(0.0, np.pi, 31)):
        work.local[0] = turns
        held = np.array(limb_places(puppet, character, 0, work)[3:6])
        work.held[0] = held
        away = held - shoulder
        # the goal goes half around the opposite of where the captured hand is, 15 degrees from it
        sides = np.linalg.svd(away[None])[2][1:]
        ring = 0.26 * np.linalg.norm(away) * (np.cos(angle) * sides[0] + np.sin(angle) * sides[1])
        bend_to(puppet, character, 0, 1.0, 1.0, shoulder - away + ring, work, tuning)
        planes.append(limb_places(puppet, character, 0, work)[:3])
        carry_swing(target, 0, started > 0, limbs, work)
        swing_by(puppet, character, 0, limbs.swings[0, 0], work)
        elbows.append(limb_places(puppet, character, 0, work)[:3])
    spun, kept = (np.linalg.norm(np.diff(places, axis=0), axis=1) for places in (planes, elbows))
    assert spun.max() > 0.02
    assert kept.max() < 0.3 * spun.max()
    # a hand that is where it was captured has the plane of its captured arm
    for bend in (-1.2, -0.6):
        limbs.swings[0] = 0.0
        turns[character.limbs[0, 0]] = rotation.exp(np.array([bend, 0.0, 0.0]))
        work.local[0] = turns
        work.held[0] = limb_places(puppet, character, 0, work)[3:6]
        carry_swing(target, 0, True, limbs, work)
        assert abs(limbs.swings[0, 0]) < 1e-12


@pytest.mark.parametrize("short", [1.0, 0.3])
def test_what_arms_are_too_short_to_touch_is_said_to_be_out_of_reach(short):
    clip, sally = samples.load("waist"), samples.load_character("sally")
    roles, offsets = sally.require_roles(), np.array(sally.skeleton.offsets)
    for joint in (roles["left_lower_arm"], roles["left_hand"]):
        offsets[joint] *= short
    target = replace(sally, skeleton=replace(sally.skeleton, offsets=offsets))
    found = PuppetEngine(clip.character, target).play(clip.motion)
    touches = found.body[:, :2].max(axis=2) > 0.95
    assert touches.mean() > 0.15
    assert not found.out_of_reach[~(found.body[:, :2].max(axis=2) > 0.9)].any()
    assert not found.out_of_reach[:, 1].any()
    assert found.out_of_reach[touches[:, 0], 0].mean() == pytest.approx(float(short < 1.0), abs=0.05)
    puppeteer = Puppeteer(clip.character, target)
    state = puppeteer.init(found.peak_acceleration)
    for f in range(len(clip.motion)):
        frame = PerformerFrame(clip.motion.root[f], clip.motion.rotations[f], 1.0 / clip.motion.fps)
        state, pose = puppeteer.step(state, frame)
        assert pose.out_of_reach == tuple(found.out_of_reach[f])


@pytest.mark.parametrize("short", [1.0, 0.1])
def test_palms_that_cannot_meet_are_said_to_be_out_of_reach_and_others_meet(short):
    clip, sally = samples.load("clap"), samples.load_character("sally")
    roles, offsets = sally.require_roles(), np.array(sally.skeleton.offsets)
    for side in ("left", "right"):
        for part in ("lower_arm", "hand"):
            offsets[roles[f"{side}_{part}"]] *= short
    target = replace(sally, skeleton=replace(sally.skeleton, offsets=offsets))
    engine = PuppetEngine(clip.character, target)
    found = engine.play(clip.motion)
    performer, ours = Kinematics(clip.motion), Kinematics(found.motion)
    theirs, own = (
        np.linalg.norm(np.subtract(*(k.point(c.contacts[f"{side}_palm"]) for side in ("left", "right"))), axis=-1)
        for k, c in ((performer, clip.character), (ours, target))
    )
    meet = (found.hands > 0.9) & (theirs < 0.05 * clip.character.height)
    assert meet.sum() > 100
    assert not found.hands_out_of_reach[found.hands <= 0.9].any()
    assert found.hands_out_of_reach[meet].mean() == pytest.approx(float(short < 1.0), abs=0.05)
    if short == 1.0:
        # no farther apart than the performer's for their size, however long the arms are
        assert (own - engine.stage.size * theirs)[meet].max() < 0.003
    puppeteer = Puppeteer(clip.character, target)
    state = puppeteer.init(found.peak_acceleration)
    for f in range(100):
        frame = PerformerFrame(clip.motion.root[f], clip.motion.rotations[f], 1.0 / clip.motion.fps)
        state, pose = puppeteer.step(state, frame)
        assert pose.hands_out_of_reach == found.hands_out_of_reach[f]


@pytest.mark.parametrize("who", TARGETS)
def test_accelerations_stay_bounded_whatever_the_scene_does(who):
    """A step in the ground that the performer's feet do not follow: joints follow it within the acceleration bound."""
    clip, target = samples.load("walk"), samples.load_character(who)
    edges = np.where(np.arange(60)[None, :] % 2 == 0, 0.0, 0.08) * np.ones((60, 1))
    scene = PerformanceScene.of(HeightField(edges, 0.2, (-6.0, -4.0), "linear"))
    copied = Kinematics(transfer(clip.motion, clip.character, target))
    for peak in (None, 0.0):
        found = PuppetEngine(clip.character, target, scene).play(clip.motion, peak_acceleration=peak)
        assert measured.acceleration(Kinematics(found.motion), copied, clip.motion.fps) < 1.5
        # and they get there
        flat = Kinematics(PuppetEngine(clip.character, target).play(clip.motion).motion)
        assert np.abs(Kinematics(found.motion).positions - flat.positions).max() < 0.5


@pytest.mark.parametrize("who", TARGETS)
def test_feet_that_creep_stand(who):
    """A performer who is shifted slowly while standing: planted feet stay; a quicker slide is meant and followed."""
    clip, target = samples.load("stand"), samples.load_character(who)
    seconds = np.arange(len(clip.motion)) / clip.motion.fps
    for speed, least, most in ((0.02, 0.0, 0.003), (0.5, 0.6, 2.0)):
        way = np.column_stack([0.0 * seconds, 0.0 * seconds, speed * np.clip(seconds - 1.0, 0.0, 1.0)])
        engine = PuppetEngine(clip.character, target)
        ours = Kinematics(engine.play(replace(clip.motion, root=clip.motion.root + way)).motion)
        for side in ("left", "right"):
            heel = ours.point(target.contacts[f"{side}_heel"])[:, 2]
            moved = np.ptp(heel) / (1.0 if speed < 0.1 else engine.scale * speed)
            assert least <= moved <= most


@pytest.mark.parametrize(("name", "stem"), measured.REAL.items(), ids=measured.REAL)
@pytest.mark.named("bvh/cmu/{stem}.bvh")
def test_recorded_clips_keep_what_matters(name, stem):
    clip, scene, intervals = measured.real_clip(shared_data("bvh", "cmu", f"{stem}.bvh"))
    for who in TARGETS:
        found = measured.measures(clip, who, scene, intervals)
        assert np.isfinite(list(found.values())).all()
        # Blubby's hands cannot pass its belly onto its thighs as fast as a crawling performer's do
        assert found["depth_cm"] < (1.0 if who == "sally" else 4.0 if name == "crawl" else 3.0)
        if who == "sally":
            assert found["drift_mm"] < 5.0 + found["performer_drift_mm"]


@pytest.mark.named("bvh/cmu/05_02.bvh", "vrm/100avatars_045_DinoKid.vrm")
def test_long_heels_of_a_dancer_stay_out_of_the_other_leg():
    from footplant.io import load

    touches = importlib.import_module("puppet_touches")
    clip, scene, _ = measured.real_clip(shared_data("bvh", "cmu", "05_02.bvh"))
    target = load(shared_data("vrm", "100avatars_045_DinoKid.vrm")).character
    found = PuppetEngine(clip.character, target, scene).play(clip.motion)
    assert touches.leg_depth(target, Kinematics(found.motion)).max() < 0.012


def test_a_delay_vanishes_before_it_puts_a_leg_into_the_other():
    from footplant.solve.ik.puppet._limbs import at_once

    shares = [at_once(late, 0.03) for late in (0.0, 0.015, 0.02, 0.025, 0.03, 0.1)]
    assert shares[:2] == [0.0, 0.0]
    assert shares[-2:] == [1.0, 1.0]
    assert (np.diff(shares[1:5]) > 0.0).all()


@pytest.mark.parametrize(("stem", "who"), [("141_28", "sally"), ("111_03", "godette")])
@pytest.mark.named("bvh/cmu/{stem}.bvh", "vrm/Godette_vrm0.vrm")
def test_legs_that_pass_each_other_quickly_make_way_in_time(stem, who):
    touches = importlib.import_module("puppet_touches")
    clip, scene, intervals = measured.real_clip(shared_data("bvh", "cmu", f"{stem}.bvh"))
    shared_data("vrm", "Godette_vrm0.vrm")
    found = touches.measures(clip, touches.character(who), scene, intervals)
    assert np.max(found["legs"]) < 2.0
    assert found["acceleration"] < 1.2


@pytest.mark.parametrize("who", ["sally", "blubby", "dinokid", "godette"])
@pytest.mark.named("bvh/other/mocapbank.bvh", "vrm/100avatars_045_DinoKid.vrm", "vrm/Godette_vrm0.vrm")
def test_who_kneels_with_tucked_toes_keeps_them_where_they_are(who):
    touches = importlib.import_module("puppet_touches")
    clip, scene, intervals = measured.real_clip(shared_data("bvh", "other", "mocapbank.bvh"))
    for name in ("100avatars_045_DinoKid.vrm", "Godette_vrm0.vrm"):
        shared_data("vrm", name)
    target = touches.character(who)
    found = PuppetEngine(clip.character, target, scene).play(clip.motion)
    assert measured.drift(intervals, found, measured.feet(Kinematics(found.motion), target)) < 0.002


def test_a_knee_that_kneels_is_on_the_floor_and_as_far_from_its_foot_as_the_shin_is_long():
    from footplant.kernels.importance import POINTS
    from footplant.solve.ik.puppet._body import middle_goal
    from footplant.solve.ik.puppet._packed import found_of, source_of, target_of, work_of
    from footplant.solve.ik.puppet._tables import SceneFrame

    engine = PuppetEngine(samples.load("walk").character, samples.load_character("blubby"))
    packed, poses = engine.packed(), engine.analysis.scene.rest()
    target, found, work, near = target_of(packed), found_of(packed), work_of(packed), np.zeros((12, len(poses), 2))
    scene, shin = SceneFrame(source_of(packed)[2].things, poses, near), target.puppet.lowers[3]
    found.points[POINTS + 3] = 0.0
    thick = target.character.thick[3]
    for foot in (0.0, 1.0):
        found.scene[3], found.scene[7] = foot, 1.0
        work.goals[3] = (0.0, thick + 0.6 * shin, -1.5 * shin)
        middle_goal(3, found, scene, target, work)
        goal, far = work.goals[7], np.linalg.norm(work.goals[7] - work.goals[3])
        assert goal[1] == pytest.approx(thick, abs=0.02 if foot else 1e-3)
        assert far == pytest.approx(shin, abs=1e-9) if foot else far > 1.4 * shin


def test_the_root_gives_way_to_a_foot_that_is_nearer_than_its_leg_folds():
    from footplant.solve.ik.puppet._body import unfold
    from footplant.solve.ik.puppet._limbs import MOST_FLEXION
    from footplant.solve.ik.puppet._packed import found_of, target_of, work_of

    blubby = samples.load_character("blubby")
    packed = PuppetEngine(samples.load("walk").character, blubby).packed()
    target, found, work = target_of(packed), found_of(packed), work_of(packed)
    puppet, character = target.puppet, target.character
    thigh, shin = puppet.uppers[2], puppet.lowers[2]
    folded = np.sqrt(thigh**2 + shin**2 + 2.0 * thigh * shin * np.cos(MOST_FLEXION))
    for weight, away in ((1.0, folded), (0.0, 0.5 * folded)):
        work.positions[0], work.rotations[0] = blubby.skeleton.rest_world
        work.root[0] = work.positions[0, 0]
        hip = work.positions[0, character.limbs[2, 0]]
        work.goals[2], work.goals[3] = hip - [0.0, 0.5 * folded, 0.0], hip + 1.0
        found.scene[2:4] = weight
        unfold(puppet, character, found, work, target.stage.tuning)
        assert np.linalg.norm(hip - work.goals[2]) >= away - 1e-9
        assert np.allclose(work.root[0], work.positions[0, 0])


@pytest.mark.quick
def test_the_root_estimate_spares_the_body_step():
    clip, target = samples.load("walk"), samples.load_character("blubby")
    with_it = PuppetEngine(clip.character, target, scale=1.0).play(clip.motion).iterations.sum()
    without = PuppetEngine(clip.character, target, scale=1.0, estimate_root=False).play(clip.motion).iterations.sum()
    assert without > 500
    assert with_it <= 0.01 * without


def test_goals_out_of_reach_are_approached_in_a_few_iterations():
    """Strides of a run, in one world, that no pose of Blubby reaches: the search settles instead of swinging."""
    clip, target = samples.load("run"), samples.load_character("blubby")
    played = PuppetEngine(clip.character, target, scale=1.0).play(clip.motion.resample(30.0))
    assert (played.iterations > 0).any()
    assert played.iterations.max() < 10


def test_a_palm_holds_on_to_a_box_that_moves():
    clip, target = samples.load("reach"), samples.load_character("sally")
    (start, end), *_ = samples.make("reach").contacts["right_palm"]
    palm = Kinematics(clip.motion).point(clip.character.contacts["right_palm"])
    box = Box(tuple(palm[start] - [0.0, 0.05, 0.0]), (0.1, 0.05, 0.1))
    scene = PerformanceScene((SceneObject(Plane(), "floor"), SceneObject(box, "box")))
    things = np.tile(scene.rest(), (len(clip.motion), 1, 1))
    things[end:, 1, :3] = palm[end:] - palm[end - 1]
    engine = PuppetEngine(clip.character, target, scene)
    found = engine.play(clip.motion, things)
    ours = Kinematics(found.motion).point(target.contacts["right_palm"])
    full = np.flatnonzero(found.scene[:, 1] >= 1.0)
    assert len(full) > 60
    assert full.max() > end + 10
    assert np.abs(ours[full] - engine.scale * palm[full]).max() < 0.01


@pytest.mark.parametrize("who", TARGETS)
@pytest.mark.parametrize(
    ("name", "ground"),
    [("walk", conveyor(0.8)), ("walk", lift(1.0, 2.0)), ("clap", deck(15.0, 2.0, about=(1.0, 0.0, 0.0)))],
)
def test_feet_ride_on_an_object_that_moves(name, ground, who):
    """A performer on a platform: relative to it, the character moves as if it did not move."""
    clip, target, level, _ = played(name, who)
    places, turns = ground.poses(np.arange(len(clip.motion)) / clip.motion.fps)
    engine = PuppetEngine(clip.character, target)
    found = engine.play(ground.carried(clip.motion), np.concatenate([places, turns], axis=1)[:, None])

    def relative(points):
        return rotation.rotate(rotation.inverse(turns), points - engine.scale * places)

    feet = {n: relative(p) for n, p in measured.feet(Kinematics(found.motion), target).items()}
    intervals = samples.make(name).contacts
    assert (found.scene[:, 2:] >= 1.0).mean() > 0.2
    assert measured.drift(intervals, found, feet) < 0.002
    # no jolts but those of the motion itself
    roots = [
        np.linalg.norm(np.diff(r, n=2, axis=0), axis=1).max() for r in (relative(found.motion.root), level.motion.root)
    ]
    assert roots[0] < 1.1 * roots[1] + 1e-5


def test_offline_report_and_comparison():
    clip, target = samples.load("walk"), samples.load_character("sally")
    solution = puppet(clip, target)
    assert solution.report.method == "puppet"
    assert solution.report.after is not None
    assert solution.report.before is not None
    before, after = solution.report.before.mean_drift, solution.report.after.mean_drift
    assert before is not None
    assert after is not None
    assert after < 0.5 * before
    rows = compare(clip, target, ("puppet",), repeats=1).rows
    assert (rows[0].method, rows[0].failed) == ("puppet", None)
    assert compare(clip, None, ("puppet",), constraints=(object(),), repeats=1).rows[0].failed  # type: ignore[arg-type]


def test_a_t_pose_before_the_motion_is_kept_and_allows_no_acceleration():
    clip, target = samples.load("clap"), samples.load_character("blubby")
    posed = np.array(clip.motion.rotations[:1])
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        posed[0, clip.motion.skeleton.index(f"{side}UpperArm")] = rotation.exp(np.array([0.0, sign * 0.4, 0.0]))
    root = np.concatenate([clip.motion.root[:1] + [0.4, 0.3, -0.5], clip.motion.root])
    led = Motion(clip.motion.skeleton, root, np.concatenate([posed, clip.motion.rotations]), clip.motion.fps)
    plain, found = puppet(clip, target), puppet(replace(clip, motion=led), target)
    assert "T-pose" in found.report.notes[-1]
    assert len(found.motion) == len(plain.motion) + 1
    apart = Kinematics(found.motion[1:]).positions - Kinematics(plain.motion).positions
    # the stage is scaled about the first frame
    assert np.ptp(apart, axis=(0, 1)).max() < 1e-6


def test_real_clips_play_on_sally_and_blubby():
    files = [
        *shared_files("bvh/*/*.bvh")[::16],
        *shared_files("bvh/bandai_nc/*.bvh")[:1],
        *shared_files("deepmimic/humanoid3d_[jkr]*.txt"),
    ]
    if not files:
        pytest.skip("no real clips: neither shared/data beside the repository nor those of tests/real_clips.py")
    from footplant.io import load

    for path in files:
        clip = load(path)
        if clip.character.roles is None:
            continue
        for who in TARGETS:
            solution = puppet(Clip(clip.motion[:240], clip.character, name=path.stem), samples.load_character(who))
            assert np.isfinite(solution.motion.root).all()
            assert np.isfinite(solution.motion.rotations).all()


def test_carried_poses_are_those_of_the_definition():
    """The kernel against NumPy: every joint turns from the reference pose as its counterpart does."""
    from footplant.humanoid.counterparts import Counterparts

    clip, target = samples.load("kick"), samples.load_character("child")
    parts, world = Counterparts.of(clip.character, target), Kinematics(clip.motion[::40]).rotations
    turns = rotation.multiply(world, parts.unposed)
    expected = np.empty((len(world), len(parts.parents), 4))
    for joint, parent in enumerate(parts.parents):
        a, b = parts.first[joint], parts.second[joint]
        turn = rotation.slerp(turns[:, a], turns[:, b], np.full(len(world), parts.shares[joint]))
        expected[:, joint] = rotation.multiply(turn, parts.reference[joint])
        assert a >= 0
        assert parent < joint
    local = np.array(expected)
    local[:, 1:] = rotation.multiply(rotation.inverse(expected[:, parts.parents[1:]]), expected[:, 1:])
    found = parts.carry(world)
    assert np.abs(np.abs(np.sum(found * rotation.normalize(local), axis=-1)) - 1.0).max() < 1e-12


@pytest.mark.parametrize("who", ["sally", "blubby", "mannequin"])
def test_toes_that_tremble_in_the_floor_lift_no_foot(who):
    clip, target = samples.load("stand"), samples.load_character(who)
    roles, rotations = clip.character.require_roles(), np.array(clip.motion.rotations)
    down = np.random.default_rng(1).uniform(0.0, 0.5, (2, len(rotations)))
    for side, angle in zip(("left", "right"), down):
        turn = rotation.exp(angle[:, None] * rotation.AXES["x"])
        rotations[:, roles[f"{side}_toes"]] = rotation.multiply(rotations[:, roles[f"{side}_toes"]], turn)
    trembling = replace(clip.motion, rotations=rotations)
    tips = Kinematics(trembling).point(clip.character.contacts["left_toe"])[:, 1]
    assert tips.min() < -0.03
    ours = Kinematics(PuppetEngine(clip.character, target, None).play(trembling).motion)
    for side in ("left", "right"):
        # once the toes know how much they tremble
        ankle = ours.positions[40:, target.require_roles()[f"{side}_foot"]]
        assert np.ptp(ankle, axis=0).max() < 0.014
        # what toes do themselves is undone at once, even at the second frame, where nothing is known of their hurry
        assert ours.point(target.contacts[f"{side}_toe"])[1:, 1].min() > -0.009


@pytest.mark.parametrize("who", ["sally", "blubby"])
def test_palms_on_the_waist_are_on_the_skin(who):
    touches = importlib.import_module("puppet_touches")
    clip, target = samples.load("waist"), samples.load_character(who)
    found = touches.measures(clip, target, None, samples.make("waist").contacts)
    gaps = np.abs(found["gaps"])
    assert len(gaps) > 150
    assert np.median(gaps) < 0.5 if who == "sally" else np.median(gaps) < 5.0
    # Blubby's right palm arrives 3 mm from the skin where the performer's is 19 mm from its own, 13 mm of Blubby's
    assert gaps.max() < (10.0 if who == "sally" else 11.0)
    assert np.max(found["legs"]) < 5.0
    assert found["drift"] < 2.0


def test_the_body_step_may_turn_every_vertebra():
    target = samples.load_character("blubby")
    puppet_table = PuppetEngine(samples.load("reach").character, target).tables[0]
    roles = target.require_roles()
    assert puppet_table.spine.tolist() == [roles["hips"], *roles.joints["spine"]]
    # all of them carry the arms, the hips alone the legs
    assert (puppet_table.carries[:, :2] == 1).all()
    assert puppet_table.carries[:, 2:].sum() == 2
