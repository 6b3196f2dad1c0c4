"""Crowds: the shipped scenes reach their goals; contacts, speeds, boxes, priorities, and clear errors."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from footplant import io, rotation, samples
from footplant.cli import main
from footplant.clip import Clip
from footplant.constraints import Balance
from footplant.edits.merge import merge_clips
from footplant.errors import ConstraintError, FootplantError, MotionError
from footplant.kinematics import Kinematics
from footplant.live.crowd import Crowd, Performance
from footplant.live.crowd_reader import scene_from_data
from footplant.live.crowd_scene import Act, CrowdActor, CrowdScene, Goal, repeated, timeline
from footplant.normalized import normalize
from footplant.skeleton import Point


def scene(name: str) -> CrowdScene:
    return scene_from_data(tomllib.loads(samples.scene_text(name)), io.load, io.load_character)


@cache
def played(name: str) -> Performance:
    return Crowd(scene(name)).perform()


def held(performance: Performance, goal: int) -> np.ndarray:
    """Return frames at which a goal is fully active."""
    times = np.arange(performance.scene.frames) / performance.scene.fps
    return np.array([performance.scene.goals[goal].activation(float(t)) >= 1.0 for t in times])


def place(performance: Performance, actor: int, point: Point) -> np.ndarray:
    return Kinematics(performance.motions[actor]).point(point)


def test_the_fight_has_its_contacts():
    """Forearm on the ankle, foot at the chest, fist at the head: at most 1 cm at contact frames."""
    performance = played("fight")
    assert len(performance.motions) == 8
    reaching = [n for n, goal in enumerate(performance.scene.goals) if goal.kind == "reach"]
    assert len(reaching) == 12
    for number in reaching:
        goal, frames = performance.scene.goals[number], held(performance, number)
        assert frames.sum() >= 3
        assert performance.residuals[frames, number].max() < 0.01, goal.name
        if goal.name == "parry":
            assert goal.of is not None
            apart = place(performance, goal.actor, goal.point) - place(performance, *goal.of)
            assert np.linalg.norm(apart[frames], axis=1).max() < 0.01
    for number, goal in enumerate(performance.scene.goals):
        if goal.kind == "away":
            assert goal.of is not None
            apart = place(performance, goal.actor, goal.point) - place(performance, *goal.of)
            assert np.linalg.norm(apart[held(performance, number)], axis=1).min() > goal.value - 0.01


def test_no_joint_of_the_fight_is_faster_than_its_source_outside_ramps():
    """At most 1.5 times the largest joint speed of the source."""
    performance = played("fight")
    stage = performance.scene
    times = (np.arange(stage.frames - 1) + 0.5) / stage.fps
    for number, (actor, motion) in enumerate(zip(stage.actors, performance.motions, strict=True)):
        busy = np.zeros(len(times), bool)
        for goal in stage.goals:
            if goal.actor == number and goal.kind != "mass":
                begin, end = goal.start - goal.ramp[0], goal.stop + goal.ramp[1]
                busy |= (times > begin - 1.5 / stage.fps) & (times < end + 1.5 / stage.fps)
        speeds, source = (
            rotation.angle(turns[1:], turns[:-1]) * stage.fps
            for turns in (motion.rotations, timeline(actor, stage).rotations)
        )
        assert speeds[~busy].max() < 1.5 * source.max(), actor.name


def test_feet_of_the_fight_stay_planted():
    performance = played("fight")
    for actor, motion in zip(performance.scene.actors, performance.motions, strict=True):
        foot = actor.character.require_roles()["left_foot"]
        assert np.ptp(Kinematics(motion).positions[:, foot], axis=0).max() < 2e-3


@pytest.mark.parametrize("number", [0, 1, 2])
def test_boxes_of_three_sizes_are_held_with_one_motion(number):
    """At most 2 mm on all frames of the hold."""
    performance = played("boxes")
    goal, frames = performance.scene.goals[number], held(performance, number)
    assert goal.other is not None
    ends = [place(performance, goal.actor, point) for point in (goal.point, goal.other)]
    width = np.linalg.norm(ends[0] - ends[1], axis=1)[frames]
    assert frames.sum() > 100
    assert np.abs(width - (0.2, 0.4, 0.6)[number]).max() < 0.002


def test_elbow_and_wrist():
    performance = played("elbow_wrist")
    names = {goal.name: n for n, goal in enumerate(performance.scene.goals)}
    worst = {name: performance.residuals[held(performance, n), n].max() for name, n in names.items()}
    assert worst["wrist of both"] < 1e-3
    assert worst["elbow of both"] < 1e-3
    assert worst["wrist of wrist"] < 1e-3
    assert worst["elbow of wrist"] > 0.05


def test_wrists_stay_above_the_table():
    performance = played("table")
    for goal in performance.scene.goals:
        if goal.kind == "above":
            heights = place(performance, goal.actor, goal.point)[:, 1]
            assert heights.min() > goal.value - 0.005


def test_walkers_stand_on_waves():
    performance = played("ground")
    stage = performance.scene
    assert callable(stage.ground)
    for actor, motion in zip(stage.actors, performance.motions, strict=True):
        source, now = Kinematics(timeline(actor, stage)), Kinematics(motion)
        for side in ("left", "right"):
            joint = actor.character.require_roles()[f"{side}_foot"]
            ankle = source.positions[:, joint]
            for frame in range(0, stage.frames, 30):
                ground = stage.ground(frame / stage.fps)
                rise = ground.height(ankle[frame, ::2][None])[0]
                assert now.positions[frame, joint, 1] == pytest.approx(ankle[frame, 1] + rise, abs=2e-3)


def test_one_crowd_equals_many_small_ones():
    stage = scene("boxes")
    three = played("boxes")
    alone = Crowd(CrowdScene(stage.actors[1:2], (), stage.seconds, stage.fps)).perform()
    free = timeline(stage.actors[1], stage)
    assert rotation.angle(alone.motions[0].rotations, free.rotations).max() < 1e-4
    again = Crowd(repeated(stage, 2)).perform()
    assert rotation.angle(again.motions[4].rotations, three.motions[1].rotations).max() < 1e-9


def test_goals_that_are_not_met_say_why():
    stage = scene("elbow_wrist")
    number = next(n for n, goal in enumerate(stage.goals) if goal.kind == "reach" and goal.of is None)
    goal = stage.goals[number]
    frame = round(0.5 * (goal.start + min(goal.stop, stage.frames / stage.fps)) * stage.fps)

    def told(*goals: Goal) -> dict[int, str]:
        crowd = Crowd(replace(stage, goals=goals))
        state = crowd.init()
        for f in range(frame + 1):
            state, poses = crowd.step(state, f)
        return crowd.unmet(state, poses, frame)

    assert told(goal) == {}
    # nobody leans for it: the limb's own chain alone may rotate
    own = tuple(stage.actors[goal.actor].character.skeleton.chain(goal.point.joint)[-3:])
    far = replace(goal, target=np.asarray(goal.target) + [0.0, 9.0, 0.0], chain=own)
    assert "is straight" in told(far)[0]
    elsewhere = replace(goal, name="the other", target=np.asarray(goal.target) + [0.05, 0.05, 0.0])
    assert told(goal, replace(elsewhere, priority=goal.priority + 1)) == {0: "'the other' has the higher priority"}
    ramping = replace(goal, start=(frame + 1) / stage.fps, stop=np.inf, target=far.target)
    assert "ramps" in told(ramping)[0]


def test_targets_are_moved_while_a_scene_plays():
    stage = scene("elbow_wrist")
    number = next(n for n, goal in enumerate(stage.goals) if goal.kind == "reach" and goal.of is None)
    goal = stage.goals[number]
    elsewhere = np.asarray(goal.target) + [0.02, 0.03, -0.02]
    crowd = Crowd(stage)
    crowd.aim([number], elsewhere[None])
    moved = crowd.perform()
    goals = tuple(replace(g, target=elsewhere) if n == number else g for n, g in enumerate(stage.goals))
    told = Crowd(replace(stage, goals=goals)).perform()
    for one, two in zip(moved.motions, told.motions, strict=True):
        np.testing.assert_array_equal(one.rotations, two.rotations)
    still = played("elbow_wrist")
    assert any((one.rotations != two.rotations).any() for one, two in zip(moved.motions, still.motions, strict=True))
    for goals, targets, words in (
        ([number], np.zeros((2, 3)), "1 finite positions"),
        ([99], np.zeros((1, 3)), "99..99"),
    ):
        with pytest.raises(ConstraintError, match=words):
            crowd.aim(goals, targets)


def test_all_characters_in_one_file(tmp_path):
    performance = played("boxes")
    clips = [
        Clip(motion[::4], actor.character, name=actor.name)
        for motion, actor in zip(performance.motions, performance.scene.actors, strict=True)
    ]
    whole = merge_clips(clips)
    places = Kinematics(whole.motion).positions
    own = Kinematics(clips[1].motion).positions
    start = 1 + len(clips[0].motion.skeleton)
    assert np.abs(places[:, start : start + own.shape[1]] - own).max() < 1e-12
    assert whole.character.skin is not None
    io.save(tmp_path / "all.glb", whole)
    back = io.load(tmp_path / "all.glb")
    assert len(back.motion) == len(clips[0].motion)
    with pytest.raises(MotionError, match="expected at least one"):
        merge_clips([])
    with pytest.raises(MotionError, match="frames at"):
        merge_clips([clips[0], Clip(clips[1].motion[:1], clips[1].character, name="short")])


def test_the_command(tmp_path, capsys):
    out, picture = tmp_path / "out.footplant", tmp_path / "strip.png"
    assert main(["crowd", "scene:elbow_wrist", "-o", str(out), "--picture", str(picture), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["figures"] == 3
    assert {goal["name"]: goal["met"] for goal in told["goals"]}["wrist of wrist"]
    assert all(goal["met"] == (goal["why"] == "") for goal in told["goals"])
    assert picture.stat().st_size > 10_000
    assert len(io.load(out).others) == 2


BAD = {
    "actors = []": "at least one actor",
    '[[actors]]\nname = "a"\ncharacter = "sample:mannequin"\nacts = []': "at least one motion",
    '[[actors]]\nname = "a"\ncharacter = "sample:nobody"\nacts = [{ motion = "sample:walk" }]': "nobody",
    "seconds =": "expected TOML",
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_scene_is_one_clear_line(tmp_path, capsys, text):
    file = tmp_path / "scene.toml"
    file.write_text(text, encoding="utf-8")
    assert main(["crowd", str(file)]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert BAD[text] in lines[0]


def test_invalid_goals_name_their_place():
    actor = {"name": "a", "character": "sample:mannequin", "acts": [{"motion": "sample:stand"}]}
    for goal, words in (
        ({"actor": "b", "kind": "reach", "point": "head", "target": [0, 1, 0]}, "no actor 'b'"),
        ({"actor": "a", "kind": "fly", "point": "head"}, "fly"),
        ({"actor": "a", "kind": "reach", "point": "tail", "target": [0, 1, 0]}, "no point 'tail'"),
        ({"actor": "a", "kind": "reach", "point": "head"}, "expected a place"),
        ({"actor": "a", "kind": "reach", "point": "head", "target": [0, 1, 0], "ramp": -1}, "ramp"),
        ({"actor": "a", "kind": "reach", "point": "head", "target": [0, 1, 0], "colour": 1}, "colour"),
    ):
        with pytest.raises(FootplantError, match=words):
            scene_from_data({"actors": [actor], "goals": [goal]}, io.load, io.load_character)
    with pytest.raises(ConstraintError, match="second point"):
        Goal(actor=0, kind="apart", point=Point(0))
    with pytest.raises(MotionError, match="expected a scene among"):
        samples.scene_text("nothing")


def test_a_running_crowd_takes_new_bodies_goals_priorities_and_ground():
    from footplant.grounds import slope
    from footplant.humanoid.proportions import apply_proportions
    from footplant.live.crowd_apart import Proxies, contacts

    clip, body = samples.load("stand"), samples.load_character("sally")
    act = Act(normalize(clip.motion, clip.character, about=(0.0, 0.0, 0.0)))
    roles, places = body.require_roles(), ((0.0, 0.0), (0.6, 0.0))
    actors = tuple(CrowdActor(name, body, (act,), place) for name, place in zip("ab", places))
    hand, head = Point(roles["right_hand"]), Point(roles["head"])
    goals = (
        Goal(actor=0, point=hand, target=(0.0, 1.2, 0.35), priority=10, ramp=(0.0, 0.0)),
        Goal(actor=1, kind="area", point=hand, target=(0.6, 1.3, 0.35), size=(0.05, 0.05, 0.05), ramp=(0.0, 0.0)),
        Goal(actor=1, kind="orient", point=head, priority=1, ramp=(0.0, 0.0)),
    )
    crowd = Crowd(CrowdScene(actors, goals, seconds=1.0, apart=0))
    state = crowd.init()
    state, _ = crowd.step(state, 0)
    assert state.residuals[0] < 0.002
    assert state.residuals[1] < 0.002
    taller = apply_proportions(body, legs=1.1)
    crowd.recast(0, crowd.prepare(0, replace(actors[0], character=taller)), ease=0.0)
    crowd.aim([0], np.array([[0.05, 1.25, 0.35]]))
    crowd.prioritise([1], 30, ease=0.0)
    crowd.schedule([2], 0.5, 0.6, (0.0, 0.0))
    crowd.set_ground(slope(3.0), ease=0.0)
    state.residuals[:] = np.nan
    state, poses = crowd.step(state, 1)
    assert state.residuals[0] < 0.003
    assert np.isnan(state.residuals[2])
    assert all(np.isfinite(p.root).all() and np.isfinite(p.local).all() for p in poses)
    group, row = crowd.place[0]
    assert np.allclose(crowd.groups[group].bodies[0][row], taller.skeleton.offsets)
    # two that stand in one place overlap, two that stand apart do not
    there = Kinematics(clip.motion[:1])
    aside = Kinematics(replace(clip.motion[:1], root=clip.motion.root[:1] + [2.0, 0.0, 0.0]))
    one, two = Proxies.of([clip.character]), Proxies.of([clip.character])
    assert len(contacts(one, two, there, there))
    assert not len(contacts(one, two, there, aside))


def test_whoever_follows_another_is_solved_after_it():
    from footplant.live.crowd_order import solve_order

    alone = solve_order(3, [], 4)
    assert alone.rounds == 1
    assert alone.members(0).all()
    chain = solve_order(4, [(0, 1), (1, 2)], 4)
    assert chain.rounds == 3
    assert [np.flatnonzero(chain.members(n)).tolist() for n in range(3)] == [[2, 3], [1], [0]]
    # two in a circle are solved in every round, whoever follows them in the last, and others once
    circle = solve_order(4, [(0, 1), (1, 0), (2, 0)], 3)
    assert [np.flatnonzero(circle.members(n)).tolist() for n in range(3)] == [[0, 1, 3], [0, 1], [0, 1, 2]]


def test_a_hand_stops_at_the_skin_of_another_body():
    """With bodies kept apart, a goal inside another body is met on its skin, by less than a centimetre of overlap."""
    from footplant.live.crowd_apart import deepest

    clip, body = samples.load("stand"), samples.load_character("sally")
    act, roles = Act(normalize(clip.motion, clip.character, about=(0.0, 0.0, 0.0))), body.require_roles()
    actors = (CrowdActor("a", body, (act,)), CrowdActor("b", body, (act,), (0.0, 0.45), np.pi))
    chest = Point(roles.joints["spine"][-1])
    goal = Goal(actor=0, point=Point(roles["right_hand"]), of=(1, chest), priority=10, start=0.5, ramp=(0.4, 0.4))
    depths = {}
    for apart in (None, 0):
        crowd = Crowd(CrowdScene(actors, (goal,), seconds=1.0, apart=apart))
        reference = crowd if apart is not None else Crowd(CrowdScene(actors, (goal,), seconds=1.0, apart=0))
        state, depths[apart] = crowd.init(), 0.0
        for frame in range(0, 31, 5):
            state, poses = crowd.step(state, frame)
            posed = [group.kinematics(p) for group, p in zip(crowd.groups, poses, strict=True)]
            depths[apart] = max(
                depths[apart],
                deepest([group.proxies for group in reference.groups if group.proxies is not None], posed),
            )
        assert state.residuals[0] < 0.002
    assert depths[None] > 0.05
    assert depths[0] < 0.01


def test_bodies_kept_apart_do_not_jump():
    """While kicks are warded off, no joint is faster than in the fight itself, and bodies overlap by less than 1 cm."""
    from footplant.live.crowd_apart import deepest

    crowd = Crowd(replace(scene("fight"), apart=5))
    state, places = crowd.init(), []
    for frame in range(100, 122, 2):
        state, poses = crowd.step(state, frame)
        posed = [group.kinematics(postures) for group, postures in zip(crowd.groups, poses, strict=True)]
        places.append(np.concatenate([kinematics.positions for kinematics in posed]))
        assert deepest([group.proxies for group in crowd.groups if group.proxies is not None], posed) < 0.01
    speeds = np.linalg.norm(np.diff(places, axis=0), axis=-1) * crowd.scene.fps / 2
    # a knee that swivelled to the other side of its leg had 24 m/s
    assert speeds.max() < 10.0


@pytest.mark.parametrize("ramps", [False, True])
def test_a_kick_without_a_goal_does_not_go_through_a_body(ramps):
    """A foot in the air counts less than avoidance: its leg stops at the other's skin, and comes back from there.

    So does one whose goal has a higher priority, but hardly counts yet.
    """
    from footplant.live.crowd_apart import deepest

    bodies = samples.load_character("mannequin"), samples.load_character("longlegs")
    acts = []
    for name in ("kick", "stand"):
        clip = samples.load(name)
        acts.append(Act(normalize(clip.motion, clip.character, about=(0.0, 0.0, 0.0))))
    actors = (
        CrowdActor("white", bodies[0], (acts[0],)), CrowdActor("red", bodies[1], (acts[1],), (0.0, 1.02), np.pi)
    )  # fmt: skip
    foot = Point(bodies[0].require_roles()["right_foot"])
    goals = (Goal(actor=0, point=foot, target=(0.0, 1.0, 0.9), priority=50, start=20.0, ramp=(20.0, 0.0)),)
    depths, fastest = {}, 0.0
    for apart in (None, 30):
        crowd = Crowd(CrowdScene(actors, goals if ramps else (), seconds=1.8, apart=apart))
        measured = Crowd(CrowdScene(actors, (), seconds=0.1, apart=30)).groups
        state, depths[apart], places = crowd.init(), 0.0, []
        for frame in range(crowd.scene.frames):
            state, poses = crowd.step(state, frame)
            posed = [group.kinematics(postures) for group, postures in zip(crowd.groups, poses, strict=True)]
            depths[apart] = max(depths[apart], deepest([g.proxies for g in measured if g.proxies is not None], posed))
            places.append(np.concatenate([kinematics.positions for kinematics in posed]))
        fastest = max(fastest, float(np.linalg.norm(np.diff(places, axis=0), axis=-1).max() * crowd.scene.fps))
    assert depths[None] > 0.03
    assert depths[30] < 0.01
    assert not state.depths.any()
    assert fastest < 12.0


def test_bodies_that_cannot_be_kept_apart_are_told():
    clip, body = samples.load("stand"), samples.load_character("sally")
    act = Act(normalize(clip.motion, clip.character, about=(0.0, 0.0, 0.0)))
    actors = tuple(CrowdActor(str(n), body, (act,), (0.0, place)) for n, place in enumerate((0.0, 0.15, 3.0)))
    crowd = Crowd(CrowdScene(actors, (), seconds=0.1, apart=30))
    state, _ = crowd.step(crowd.init(), 0)
    assert state.depths[0] == state.depths[1] > 0.02
    assert state.depths[2] == 0.0


@pytest.mark.parametrize("name", ["mannequin", "longlegs", "blubby", "child"])
def test_who_reaches_low_squats_in_balance_and_stands_up_as_the_goal_fades_out(name):
    """Hips come down and stay over the feet, which stand; nothing jumps, and half a second later nothing is left."""
    character, clip = samples.load_character(name), samples.load("stand")
    stand, fps = normalize(clip.motion, clip.character, about=(0.0, 0.0, 0.0)), 30.0
    palm, height = character.contacts["left_palm"], character.height
    low = Goal(actor=0, point=palm, target=(0.08, 0.17 * height, 0.28 * height), start=0.8, stop=1.8, ramp=(0.4, 0.4))
    scene = CrowdScene((CrowdActor("ann", character, (Act(stand),)),), (low,), seconds=2.8, fps=fps)
    played = Crowd(scene).perform()
    kinematics = Kinematics(played.motions[0])
    free = Kinematics(Crowd(replace(scene, goals=())).perform().motions[0])
    held = slice(round(low.start * fps) + 1, round(low.stop * fps))
    assert played.residuals[held, 0].max() < 1e-3
    hips = kinematics.positions[held, 0] - free.positions[held, 0]
    assert hips[:, 1].max() < -0.08 * height
    assert np.abs(hips[:, 2]).max() < 0.05 * height
    balance = Balance(character=character, priority=1, margin=0.0)
    assert balance.residual(kinematics)[held].min() > -1e-3
    roles = character.require_roles()
    feet = kinematics.positions[:, [roles["left_foot"], roles["right_foot"]]]
    assert np.linalg.norm(feet - feet[:1], axis=-1).max() < 5e-3
    accelerations = np.linalg.norm(np.diff(kinematics.positions, 2, axis=0), axis=-1) * fps**2
    assert accelerations.max() < 90.0
    after = round((low.stop + low.ramp[1]) * fps) + 1
    assert np.linalg.norm(kinematics.positions - free.positions, axis=-1)[after:].max() < 1e-3
