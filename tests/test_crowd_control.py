"""Crowds that change while they run: eased changes, messages over real sockets, and senders that mean no good."""

from __future__ import annotations

import re
import socket
import threading
import time
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from footplant import rotation, samples
from footplant.errors import ConstraintError, FootplantError
from footplant.grounds import Stairs
from footplant.humanoid.proportions import apply_proportions
from footplant.live import wire
from footplant.live.crowd import Crowd
from footplant.live.crowd_control import MOST_WAITING, CrowdControl
from footplant.live.crowd_ease import Easing
from footplant.live.crowd_lines import Line, Lines
from footplant.live.crowd_reader import act_of, crowd_ground, scene_from_data
from footplant.live.crowd_scene import Act, CrowdActor, CrowdScene, Goal
from footplant.live.crowd_show import perform_crowd
from footplant.live.protocols import osc
from footplant.skeleton import Point

FPS = 30.0


@cache
def act(name: str) -> Act:
    return act_of(samples.load(name))


def body():
    return samples.load_character("mannequin")


def hand() -> Point:
    return Point(body().require_roles()["right_hand"])


def reaching(**changed) -> Goal:
    usual = {"actor": 0, "name": "hand", "point": hand(), "target": (-0.1, 1.2, 0.35), "priority": 10}
    return Goal(**{**usual, **changed})


def standing(*goals: Goal, first: str = "stand", **changed) -> CrowdScene:
    actors = (CrowdActor("ann", body(), (act(first),)), CrowdActor("bob", body(), (act("stand"),), (0.0, 1.5), np.pi))
    return CrowdScene(actors, goals, seconds=2.0, fps=FPS, **changed)


def places(crowd: Crowd, change=None, frames: int = 70, at: int = 30, actor: int = 0) -> np.ndarray:
    """Joint positions (F, J, 3) of an actor of a crowd that is changed before a frame."""
    state, found = crowd.init(), []
    for frame in range(frames):
        if frame == at and change is not None:
            change(crowd)
        state, poses = crowd.step(state, frame)
        group, row = crowd.place[actor]
        found.append(crowd.groups[group].kinematics(poses[group]).positions[row].copy())
    return np.array(found)


def accelerations(found: np.ndarray) -> np.ndarray:
    """(F−2,) largest of all joints, m/s²."""
    return np.linalg.norm(np.diff(found, 2, axis=0), axis=-1).max(axis=1) * FPS**2


def ankles(found: np.ndarray) -> np.ndarray:
    roles = body().require_roles()
    return found[:, [roles["left_foot"], roles["right_foot"]]]


def recast(character=None, motion=None, **options):
    def change(crowd: Crowd) -> None:
        actor = crowd.scene.actors[0]
        if character is not None:
            actor = replace(actor, character=character)
        if motion is not None:
            actor = replace(actor, acts=(act(motion),))
        crowd.recast(0, crowd.prepare(0, actor, own=motion is not None), **options)

    return change


def test_an_ease_begins_where_it_was_with_its_speed_and_ends_at_rest():
    ease = Easing(3, 2)
    ease.begin(np.array([1]), np.array([[1.0, -2.0]]), 5.0, 0.5, np.array([[3.0, 0.0]]), np.array([[7.0, 1.0]]))
    p, v, a = ease.motion_of(np.array([1]), 5.0)
    np.testing.assert_allclose(np.concatenate([p, v, a]), [[1.0, -2.0], [3.0, 0.0], [7.0, 1.0]])
    h = 1e-5
    values = [ease.at(5.2 + n * h)[1] for n in (-1, 0, 1)]
    p, v, a = ease.motion_of(np.array([1]), 5.2)
    np.testing.assert_allclose(p, values[1])
    np.testing.assert_allclose(v, (values[2] - values[0]) / (2 * h), rtol=1e-6)
    np.testing.assert_allclose(a, (values[2] - 2 * values[1] + values[0]) / h**2, rtol=1e-3)
    assert all(np.abs(part).max() < 1e-3 for part in ease.motion_of(np.array([1]), 5.4999999))
    assert ease
    assert not len(ease.at(5.5)[0])
    assert not ease


CHANGES = {
    "a taller body": recast(character=apply_proportions(body(), legs=1.15, arms=1.1)),
    "a smaller body": recast(character=apply_proportions(body(), legs=0.9, shoulders=1.2)),
    "a walk": recast(motion="walk"),
    "a kick": recast(motion="kick"),
    "stairs": lambda crowd: crowd.set_ground(Stairs(0.17, 0.3, 5, (0.0, -0.6))),
    "a deck": lambda crowd: crowd.set_ground(crowd_ground("moving:deck:8:2", 20.0)),
    "a conveyor": lambda crowd: crowd.set_ground(crowd_ground("moving:conveyor:0.5", 20.0)),
    "a target": lambda crowd: crowd.aim([0], np.array([[0.1, 1.4, 0.4]]), ease=0.4),
    "a priority": lambda crowd: crowd.prioritise([1], 20),
    "a new goal": lambda crowd: crowd.add_goals(
        [reaching(start=1.3, clock=True, target=(-0.3, 1.3, 0.2), priority=30)]
    ),
    "a goal less": lambda crowd: crowd.remove_goals([0]),
    "an actor more": lambda crowd: crowd.add_actor(
        crowd.prepare_new(CrowdActor("cat", body(), (act("walk"),), (1.0, 1.0)))
    ),
    "an actor less": lambda crowd: crowd.remove_actor(1),
}


@pytest.mark.parametrize("what", CHANGES)
def test_changes_ease_in(what):
    """No joint accelerates at a change by more than 50 m/s², a walk's own peak (51); at once it was up to 410."""
    goals = reaching(), reaching(name="other", target=(0.1, 1.4, 0.4), priority=5)
    found = places(Crowd(standing(*goals), repeats=True), CHANGES[what])
    assert accelerations(found)[27:33].max() < 50.0
    still = places(Crowd(standing(*goals), repeats=True))
    if what != "an actor more":
        # something has changed
        other = 1 if what == "an actor less" else 0
        assert other or np.abs(found[45:] - still[45:]).max() > 0.02


@pytest.mark.parametrize("what", ["a taller body", "a smaller body", "a target", "a priority", "a goal less"])
def test_planted_feet_stay_when_something_changes(what):
    goals = reaching(), reaching(name="other", target=(0.1, 1.4, 0.4), priority=5)
    feet = ankles(places(Crowd(standing(*goals)), CHANGES[what]))
    # the ankles of a taller body are higher, and no farther along
    assert np.abs(feet[29:, ..., ::2] - feet[29, ..., ::2]).max() < 2e-3


def test_a_foot_that_would_have_to_stay_too_far_off_takes_a_step():
    """A much wider stance: one foot after the other is lifted and put down, never both."""
    feet = ankles(places(Crowd(standing()), recast(character=apply_proportions(body(), hips=2.5)), frames=90))
    moved = np.linalg.norm(np.diff(feet, axis=0), axis=-1)[30:] > 0.002
    assert moved.any(axis=0).all()
    assert not moved.all(axis=1).any()
    assert not moved[45:].any()
    lifted = feet[31:, :, 1] - feet[-1, :, 1]
    assert 0.01 < lifted.max() < 0.1


def test_a_walk_goes_on_where_the_character_is_and_faces_and_begins_again_where_it_ends():
    crowd = Crowd(replace(standing(), seconds=1.0), repeats=True)
    length = round((len(samples.load("walk").motion) - 1) / 120.0 * FPS) + 1
    found = places(crowd, recast(motion="walk"), frames=40 + 2 * length, actor=0)
    roots = found[:, 0]
    steps = np.linalg.norm(np.diff(roots, axis=0), axis=-1) * FPS
    assert roots[-1, 2] - roots[30, 2] > 1.6 * (samples.load("walk").motion.root[-1, 2])
    # no jump where it begins again, nor where the scene does
    assert steps.max() < 2.5


def test_a_conveyor_carries_and_leaves_characters_where_they_are():
    crowd = Crowd(standing(), repeats=True)
    state, roots = crowd.init(), []
    for frame in range(120):
        if frame == 10:
            crowd.set_ground(crowd_ground("moving:conveyor:0.5", 20.0))
        if frame == 70:
            crowd.set_ground(crowd_ground("level", 20.0))
        state, poses = crowd.step(state, frame)
        roots.append(poses[0].root[0].copy())
    roots = np.array(roots)
    assert roots[69, 2] - roots[39, 2] == pytest.approx(0.5, abs=0.02)
    assert roots[119, 2] - roots[69, 2] == pytest.approx(0.0, abs=0.15)
    assert np.abs(np.diff(roots[90:], axis=0)).max() < 0.02


def test_an_actor_is_moved_and_turned_and_goes_on_from_there():
    """It glides; a walk then goes along +x instead of +z."""
    crowd = Crowd(standing(first="walk"), repeats=True)
    found = places(crowd, lambda crowd: crowd.move(0, (1.0, 2.0), heading=np.pi / 2), frames=55)
    assert accelerations(found).max() < 120.0
    way = found[50, 0] - found[44, 0]
    assert way[0] > 0.2
    assert abs(way[2]) < 0.05
    # nobody is in two places: the other one stays
    assert np.abs(found[29, 0, ::2] - found[28, 0, ::2]).max() < 0.1
    assert crowd.scene.actors[0].heading == pytest.approx(np.pi / 2, abs=0.1)
    for number, place in ((7, (0.0, 0.0)), (0, (np.nan, 0.0))):
        with pytest.raises(ConstraintError, match="expected"):
            crowd.move(number, place)


@pytest.mark.parametrize("at", [1, 30])
def test_a_motion_is_played_faster_from_where_it_is(at):
    def faster(crowd: Crowd) -> None:
        actor = crowd.scene.actors[0]
        changed = replace(actor, acts=(replace(actor.acts[-1], speed=1.5),))
        crowd.recast(0, crowd.prepare(0, changed, own=True), same_phase=True)

    still = places(Crowd(standing(first="walk"), repeats=True))
    found = places(Crowd(standing(first="walk"), repeats=True), faster, frames=at + 25, at=at)
    # the same poses, 1.5 times as far on; the first ones ease in
    later, sooner = found[at + 20], still[round(at - 1 + 1.5 * 21)]
    assert np.abs((later - later[0]) - (sooner - sooner[0])).max() < 0.03
    assert accelerations(found).max() < 1.5**2 * 60.0


def test_goals_and_actors_that_are_removed_leave_their_numbers_to_others():
    crowd = Crowd(standing(reaching()))
    state = crowd.init()
    for frame in range(80):
        if frame == 10:
            crowd.remove_goals([0])
        if frame == 40:
            assert crowd.add_goals([reaching(clock=True, target=(0.0, 1.3, 0.3))]) == [0]
            crowd.remove_actor(1)
        if frame == 50:
            shorter = apply_proportions(body(), legs=0.9)
            assert crowd.add_actor(crowd.prepare_new(CrowdActor("cat", shorter, (act("stand"),), (2.0, 0.0)))) == 1
        state, poses = crowd.step(state, frame)
        if 25 < frame < 40:
            assert np.isnan(state.residuals[0])
        if 40 <= frame < 50:
            assert crowd.present() == [0]
    assert state.residuals[0] < 1e-3
    assert crowd.present() == [0, 1]
    assert poses[0].root[1, 0] == pytest.approx(2.0, abs=0.1)
    with pytest.raises(ConstraintError, match="actor of the crowd"):
        crowd.remove_actor(7)
    with pytest.raises(ConstraintError, match="of actors of the crowd"):
        crowd.add_goals([reaching(actor=5)])


def test_another_skeleton_joins_as_another_actor():
    other = samples.load_character("sally")
    crowd = Crowd(standing(reaching(), apart=30))
    if len(crowd.groups) == 1:
        state = crowd.init()
        state, _ = crowd.step(state, 0)
        number = crowd.add_actor(crowd.prepare_new(CrowdActor("sal", other, (act("stand"),), (2.0, 0.0))))
        crowd.add_goals([replace(reaching(), actor=number, of=(0, hand()), target=(0.0, 0.0, 0.0))])
        state, poses = crowd.step(state, 1)
        group, row = crowd.place[number]
        assert np.isfinite(poses[group].local[row]).all()


def test_lead_ins_are_dropped():
    """A T-pose before the motion is neither played nor blended from."""
    clip = samples.load("walk")
    rest = rotation.identity(1, len(clip.motion.skeleton))
    whole = replace(
        clip.motion,
        root=np.concatenate([np.repeat(clip.motion.root[:1], 60, axis=0), clip.motion.root]),
        rotations=np.concatenate([np.repeat(rest, 60, axis=0), clip.motion.rotations]),
    )
    made = act_of(replace(clip, motion=whole))
    assert made.source is not None
    assert len(made.source[0].motion) == len(clip.motion)
    one, two = (CrowdActor("a", body(), (own,)) for own in (made, act("walk")))
    scenes = [Crowd(CrowdScene((actor,), seconds=0.5, fps=FPS)).perform() for actor in (one, two)]
    assert rotation.angle(*(played.motions[0].rotations for played in scenes)).max() < 1e-6


class Stage:
    """A crowd that plays in real time with a control port, and a sender."""

    def __init__(self, scene: CrowdScene, seconds: float = 30.0) -> None:
        self.crowd, self.frames, self.lines = Crowd(scene), [], []
        self._inlet = wire.Inlet(wire.Endpoint("vmc", "127.0.0.1", 0))
        self._stopped, self._end = threading.Event(), time.monotonic() + seconds
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.settimeout(10.0)
        self._socket.connect(("127.0.0.1", self._inlet.port))
        self._thread = threading.Thread(target=self._play)

    def _play(self) -> None:
        self.told = perform_crowd(
            self.crowd,
            lambda poses, when: self.frames.append((when, [own.root.copy() for own in poses])),
            stop=lambda: self._stopped.is_set() or time.monotonic() > self._end,
            control=self._inlet,
            log=self.lines.append,
        )

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._stopped.set()
        self._thread.join()
        self._inlet.close()
        self._socket.close()

    def throw(self, data: bytes) -> None:
        self._socket.send(data)

    def send(self, address: str, *arguments: osc.Argument) -> tuple:
        """Send a message and return the answer to it."""
        self.throw(osc.encode(address, *arguments))
        (answer,) = osc.decode(self._socket.recv(65536))
        return (answer.address.removeprefix("/crowd/"), *answer.arguments)


def test_messages_change_everything_of_a_crowd_that_plays_in_real_time():
    scene = replace(
        standing(reaching()), seconds=0.7, motions={"wave hello": act("clap")},
        bodies={"tall": apply_proportions(body(), legs=1.2)},
    )  # fmt: skip
    with Stage(scene) as stage:
        ok = ("ok",)
        assert stage.send("/crowd/aim", "hand", 0.1, 1.3, 0.3)[:1] == ok
        assert stage.send("/crowd/priority", "hand", 3)[:1] == ok
        assert stage.send("/crowd/ground", 2.0)[:1] == ok
        assert stage.send("/crowd/ground", "moving:lift:0.3:1+stairs:0.1:0.4", 0.2)[:1] == ok
        assert stage.send("/crowd/body", "ann", "tall")[:1] == ok
        assert stage.send("/crowd/body", "ann", "", "arms = 1.2")[:1] == ok
        assert stage.send("/crowd/motion", "ann", "wave hello", 0.2, "once")[:1] == ok
        assert stage.send("/crowd/speed", "ann", 0.5)[:1] == ok
        assert stage.send("/crowd/place", "bob", 0.3, 1.8, 0.2, 90)[:1] == ok
        text = 'name = "cat"\ncharacter = "sample:sally"\nmotion = "sample:stand"\nplace = [2.0, 0.0]\nheading = 90'
        assert stage.send("/crowd/actor", text)[:1] == ok
        goal = 'name = "on cat"\nkind = "reach"\nactor = "ann"\npoint = "left_palm"\nof = "cat"\nat = "left_palm"'
        assert stage.send("/crowd/goal", goal)[:1] == ok
        assert stage.send("/crowd/schedule", "on cat", 0.0, 100.0, 0.1)[:1] == ok
        time.sleep(0.4)
        answer, name, share, left, why = stage.send("/crowd/ask", "on cat")
        assert (answer, name, share) == ("answer", "on cat", 1.0)
        assert left > 0.5
        assert why
        assert stage.send("/crowd/actor/remove", "cat")[:1] == ok
        assert "no goal 'on cat'" in stage.send("/crowd/ask", "on cat")[2]
        assert stage.send("/crowd/goal/remove", "hand")[:1] == ok
    assert stage.told["changes"] == 14
    assert np.degrees(stage.crowd.scene.actors[1].heading) == pytest.approx(90.0, abs=3.0)
    assert stage.crowd.scene.actors[0].acts[-1].speed == 0.5
    assert stage.told["refused"] == 1
    assert stage.crowd.present() == [0, 1]
    assert stage.crowd.scene.actors[0].character.height > 1.05 * body().height
    assert all(np.isfinite(root).all() for _, roots in stage.frames for root in roots)
    times = np.array([when for when, _ in stage.frames])
    assert (np.diff(times) > 0).all()
    assert any("/crowd/body" in line for line in stage.lines)


WRONG = {
    ("/crowd/aim", "foot", 0.0, 0.0, 0.0): "no goal 'foot'",
    ("/crowd/aim", "hand", float("nan"), 0.0, 0.0): "expected a place",
    ("/crowd/aim", "hand", 1e9, 0.0, 0.0): "at most",
    ("/crowd/aim", "hand"): "expected a place",
    ("/crowd/priority", "hand", 1e12): "expected a priority",
    ("/crowd/fly", "hand"): "no such message",
    ("/crowd/ground", 80.0): "at most 60",
    ("/crowd/ground", "slope:59"): "within 10 m",
    ("/crowd/ground", "stairs:1e9:1e-9:1000000000"): "within 10 m",
    ("/crowd/ground", "noise:1:0.1:0.001"): "0.5 m apart",
    ("/crowd/ground", "moving:lift:0.2:1+noise:1:0.1:0.001"): "0.5 m apart",
    ("/crowd/ground", "moving:conveyor:100"): "5 m/s",
    ("/crowd/ground", "/etc/passwd"): "no ground of that name",
    ("/crowd/ground", "moving:lift:0.2:1+/etc/passwd"): "no ground of that name",
    ("/crowd/body", "ann", "/etc/passwd"): "no body '/etc/passwd' in the cast",
    ("/crowd/body", "ann", "sample:../../secret"): "in the cast",
    ("/crowd/body", "ann", "sample:sally", "legs = 100"): "0.5 to 2",
    ("/crowd/body", "ann", "", "wings = 1.1"): "no proportion 'wings'",
    ("/crowd/motion", "ann", "walk.bvh"): "no motion 'walk.bvh' in the cast",
    ("/crowd/motion", "eve", "sample:walk"): "no actor 'eve'",
    ("/crowd/motion", "ann", "sample:walk", -1.0): "0 or more",
    ("/crowd/motion", "ann", "sample:walk", 0.1, "twice"): '"once" or nothing',
    ("/crowd/actor", 'name = "ann"\ncharacter = "sample:sally"\nmotion = "sample:walk"'): "a new name",
    ("/crowd/actor", 'name = "eve"\ncharacter = "eve.glb"\nmotion = "sample:walk"'): "in the cast",
    ("/crowd/actor", "name = "): "expected TOML",
    ("/crowd/actor", "x = " + "[" * 1000): "TOML",
    ("/crowd/goal", 'name = "g"\nkind = "reach"\nactor = "ann"\npoint = "tail"\ntarget = [0, 1, 0]'): "no point 'tail'",
    ("/crowd/goal", 'name = "hand"\nkind = "mass"\nactor = "ann"'): "already",
    ("/crowd/goal", 'name = "g"\nkind = "mass"\nactor = "ann"\nramp = 1e9'): "ramps of at most",
    ("/crowd/schedule", "hand", 3.0, 2.0): "start before the stop",
    ("/crowd/speed", "ann", 100.0): "at most 4",
    ("/crowd/speed", "ann", 0.01): "from 0.25 to 4",
    ("/crowd/place", "ann", 1e9, 0.0): "at most",
    ("/crowd/place", "ann", 0.0): "expected a place x z",
    ("/crowd/place", "ann", 0.0, 0.0, -1.0): "0 or more",
    ("/crowd/actor/remove", 3): "expected the name of an actor",
}


def test_wrong_messages_are_answered_and_change_nothing():
    with Stage(standing(reaching())) as stage:
        for message, words in WRONG.items():
            answer = stage.send(*message)
            assert answer[0] == "error", message
            assert words in answer[2], (message, answer)
            assert "\n" not in answer[2]
        # answers of another crowd are not answered
        for data in (osc.encode("/crowd/error", "a", "b"), b"", b"/crowd/aim\0\0,s", b"\xff" * 1000):
            stage.throw(data)
        shown = len(stage.frames)
        assert stage.send("/crowd/aim", "hand", 0.1, 1.3, 0.3)[0] == "ok"
        time.sleep(0.2)
        assert len(stage.frames) > shown
    assert stage.told["changes"] == 1
    assert stage.told["refused"] >= len(WRONG) + 3
    assert stage.crowd.present() == [0, 1]
    # a flood of messages is not a flood of lines
    assert len(stage.lines) < len(WRONG) + 5


def test_a_flood_is_refused_and_the_crowd_goes_on():
    crowd = Crowd(standing(reaching()))
    answers = []
    control = CrowdControl(crowd, answer=lambda data, *_: answers.append(osc.decode(data)[0]))
    sender = ("127.0.0.1", 5)
    for number in range(200):
        text = f'name = "n{number}"\ncharacter = "sample:mannequin"\nmotion = "sample:stand"'
        control.feed(osc.encode("/crowd/actor", text), sender)
        who = ("ann", "bob")[number % 2]
        goal = f'name = "g{number}"\nkind = "reach"\nactor = "{who}"\npoint = "head"\ntarget = [0, 1.6, 0]'
        control.feed(osc.encode("/crowd/goal", goal), sender)
    state = crowd.init()
    for frame in range(2000):
        control.begin(frame / FPS)
        if frame < 5:
            state, _ = crowd.step(state, frame)
        if not control.busy:
            break
        time.sleep(0.01)
    control.close()
    assert sum("waiting" in str(answer.arguments[-1]) for answer in answers) == 400 - MOST_WAITING
    assert control.applied == MOST_WAITING
    assert len(crowd.present()) == 2 + MOST_WAITING // 2


def test_a_flood_is_logged_in_few_lines():
    lines = []
    control = CrowdControl(Crowd(standing()), log=lines.append)
    for frame in range(61):
        for _ in range(3):
            control.feed(osc.encode("/crowd/speed", "nobody", 1.0))
        control.begin(frame / FPS)
    control.close()
    assert all("refused" in line for line in lines[:5])
    assert len(lines) <= 5 + 5 * 60 / FPS
    left_out = [int(found[1]) for line in lines if (found := re.search(r"\((\d+) before it were not logged", line))]
    assert 0.9 * 3 * 61 < len(lines) + sum(left_out) <= 3 * 61


def test_there_are_at_most_so_many_actors_and_goals(monkeypatch):
    from footplant.live import crowd_control

    monkeypatch.setattr(crowd_control, "MOST_ACTORS", 3)
    monkeypatch.setattr(crowd_control, "MOST_GOALS", 32)
    crowd, answers = Crowd(standing()), []
    control = CrowdControl(crowd, answer=lambda data, *_: answers.append(osc.decode(data)[0]))
    for number in range(3):
        text = f'name = "n{number}"\ncharacter = "sample:mannequin"\nmotion = "sample:stand"'
        control.feed(osc.encode("/crowd/actor", text), ("127.0.0.1", 5))
        goal = f'name = "g{number}"\nkind = "reach"\nactor = "ann"\npoint = "head"\ntarget = [0, 1.6, 0]'
        control.feed(osc.encode("/crowd/goal", goal), ("127.0.0.1", 5))
    for frame in range(2000):
        control.begin(frame / FPS)
        if not control.busy:
            break
        time.sleep(0.01)
    control.close()
    assert len(crowd.present()) == 3
    assert len(crowd.scene.goals) == 2
    assert sorted(answer.address for answer in answers) == ["/crowd/error"] * 3 + ["/crowd/ok"] * 3


def test_scenes_declare_a_cast_and_grounds_by_text(tmp_path):
    data = {
        "actors": [{"name": "a", "character": "sample:mannequin", "acts": [{"motion": "sample:stand"}]}],
        "ground": "slope:5:90",
        "cast": {"bodies": {"child": "sample:child"}, "motions": {"go": "sample:walk"}},
    }
    from footplant import io

    scene = scene_from_data(data, io.load, io.load_character)
    assert sorted(scene.bodies) == ["child", "sample:mannequin"]
    assert sorted(scene.motions) == ["go", "sample:stand"]
    assert scene.ground.height(np.array([[1.0, 0.0]]))[0] == pytest.approx(np.tan(np.radians(5.0)))  # type: ignore[union-attr]
    for cast in ({"colours": {}}, {"bodies": {"x": 3}}, {"bodies": 1}):
        with pytest.raises(FootplantError, match="cast"):
            scene_from_data({**data, "cast": cast}, io.load, io.load_character)
    with pytest.raises(FootplantError, match="no ground of that name"):
        scene_from_data({**data, "ground": "hills.npy"}, io.load, io.load_character)


def test_a_moved_line_is_read_where_it_was_moved_to():
    """Lines are moved without a copy of their frames, again and again, also where they were carried between."""
    rng, turn, shift = np.random.default_rng(3), rotation.exp(np.array([0.0, 0.7, 0.0])), np.array([1.0, 0.0, -2.0])
    own = Line(rng.normal(size=(5, 3)), rotation.normalize(rng.normal(size=(5, 4, 4))), np.zeros((5, 2), np.int8))
    lines = Lines([own, own])
    lines.move(1, lines[1].moved(turn, shift))
    lines.carry(shift)
    lines.move(1, lines[1].moved(turn, shift))
    expected = rotation.rotate(turn, rotation.rotate(turn, own.root[2]) + 2.0 * shift) + shift
    root, local, _ = lines.read(2, 2)
    np.testing.assert_allclose(root, [own.root[2] + shift, expected], atol=1e-12)
    np.testing.assert_allclose(
        local[1, 0], rotation.multiply(rotation.multiply(turn, turn), own.locals[2, 0]), atol=1e-12
    )
    np.testing.assert_array_equal(local[1, 1:], own.locals[2, 1:])
    some, _, _ = lines.read(2, 2, np.array([1]))
    np.testing.assert_array_equal(some, root[1:])


def test_a_burst_of_changes_is_spread_over_frames(monkeypatch):
    """Each frame takes what it has time for; all are answered, in their order."""
    monkeypatch.setattr("footplant.live.crowd_control.CHANGES_A_FRAME", 1e-9)
    crowd, answers = Crowd(standing(reaching())), []
    control = CrowdControl(crowd, answer=lambda data, *_: answers.append(osc.decode(data)[0]))
    for number in range(4):
        text = f'name = "g{number}"\nkind = "reach"\nactor = "ann"\npoint = "left_palm"\ntarget = [0.3, 1.1, 0.3]'
        control.feed(osc.encode("/crowd/goal", text), ("127.0.0.1", 1))
    state, counts = crowd.init(), []
    for frame in range(6):
        control.begin(frame / FPS)
        state, _ = crowd.step(state, frame)
        counts.append(len(answers))
    control.close()
    assert counts == [1, 2, 3, 4, 4, 4]
    assert [answer[0] for answer in answers] == ["/crowd/ok"] * 4
    assert [goal.name for goal in crowd.scene.goals[1:]] == [f"g{number}" for number in range(4)]
