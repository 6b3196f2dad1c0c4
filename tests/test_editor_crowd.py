"""Crowd mode of the editor: what a crowd begins with, what the page is told, what is kept, and what is refused."""

from __future__ import annotations

import json
import threading
import time
from functools import cache

import numpy as np
import pytest

from editor_env import mismatch
from footplant import rotation, samples
from footplant.clip import Clip
from footplant.editor import schema, wire
from footplant.editor.crowd_player import MOST_QUEUED, CrowdPlayer, height_at, still_ground
from footplant.editor.crowd_recording import CrowdRecording
from footplant.editor.crowd_scenes import OPEN, OWN_GROUND, SAMPLES, Casting, Opening, open_crowd, own_material
from footplant.errors import ConstraintError, FootplantError
from footplant.geometry import Plane
from footplant.live.crowd import Crowd
from footplant.live.crowd_reader import act_of, crowd_ground
from footplant.live.crowd_scene import FLOOR, Act, CrowdActor, CrowdScene, Goal

FPS = 30.0


@cache
def stand() -> Act:
    return act_of(samples.load("stand"))


def opening() -> Opening:
    """Ann reaches out with her right palm, and bob stands in front of her."""
    body = samples.load_character("mannequin")
    actors = (
        CrowdActor("ann", body, (stand(),)), CrowdActor("bob", body, (stand(),), (0.0, 1.5), np.pi),
    )  # fmt: skip
    goal = Goal(actor=0, name="hand", point=body.contacts["right_palm"], target=(-0.15, 1.3, 0.4), priority=10)
    crowd = Crowd(CrowdScene(actors, (goal,), seconds=2.0, fps=FPS), repeats=True)
    castings = {name: Casting("sample:mannequin", "sample:stand") for name in ("ann", "bob")}
    return Opening(crowd, castings, "level", {"mine": (body, stand())})


class Heard:
    """A crowd that plays, and what it has told the page."""

    def __init__(self) -> None:
        self.said: list = []
        self._at = 0
        self._news = threading.Condition()
        self.player = CrowdPlayer(opening(), self._hear)
        self._number = 0

    def _hear(self, message) -> None:
        with self._news:
            self.said.append(message)
            self._news.notify_all()

    def __enter__(self):
        self.player.start()
        return self

    def __exit__(self, *_) -> None:
        self.player.stop()

    def until(self, wanted, seconds: float = 30.0):
        """The next message that is wanted; all are checked against their types."""
        kinds = {"crowd": schema.Crowd, "crowd_status": schema.CrowdStatus, "answer": schema.CrowdAnswer}
        end = time.monotonic() + seconds
        with self._news:
            while True:
                for message in self.said[self._at :]:
                    self._at += 1
                    if isinstance(message, dict):
                        json.dumps(message, allow_nan=False)
                        assert message["is"] in kinds, message
                        assert mismatch(message, kinds[message["is"]]) is None
                    if wanted(message):
                        return message
                assert self._news.wait(end - time.monotonic()), "nothing more was said"

    def status(self, wanted=lambda status: True) -> dict:
        return self.until(lambda m: isinstance(m, dict) and m["is"] == "crowd_status" and wanted(m))

    def say(self, address: str, *arguments) -> dict:
        self._number += 1
        number = self._number
        self.player.steer({"say": address, "with": list(arguments), "number": number})
        return self.until(lambda m: isinstance(m, dict) and m["is"] == "answer" and m["number"] == number)


def frame_of(message) -> int | None:
    head = np.frombuffer(message[:32], "<u4") if isinstance(message, bytes) else np.zeros(8)
    return int(head[3]) if head[0] == wire.CROWD_POSES else None


def test_a_crowd_plays_takes_messages_and_tells_what_became_of_its_goals():
    with Heard() as heard:
        roster = heard.until(lambda m: isinstance(m, dict) and m["is"] == "crowd")
        assert [actor["name"] for actor in roster["actors"]] == ["ann", "bob"]
        assert "mine" in roster["bodies"]
        assert roster["level"]
        # a goal within reach is met; one beyond tells how far off it is, and why
        met = heard.status(lambda status: status["goals"] and status["goals"][0]["met"])
        assert met["goals"][0]["left"] < 1e-3
        assert heard.say("/crowd/aim", "hand", -0.15, 1.3, 2.0, 0.1)["wrong"] == ""
        (missed,) = heard.status(lambda status: (status["goals"][0]["left"] or 0.0) > 0.5)["goals"]
        assert not missed["met"]
        assert missed["why"]
        assert missed["target"] == pytest.approx([-0.15, 1.3, 2.0], abs=1e-6)
        # who comes is in the roster, with what it plays; the body of one's own has a skin of its own
        assert heard.say("/crowd/actor", 'name = "cat"\ncharacter = "mine"\nmotion = "mine"')["wrong"] == ""
        cat = heard.until(lambda m: isinstance(m, dict) and m["is"] == "crowd" and len(m["actors"]) == 3)["actors"][2]
        assert (cat["name"], cat["body"], cat["motion"]) == ("cat", "mine", "mine")
        assert heard.say("/crowd/speed", "cat", 2)["wrong"] == ""
        assert heard.say("/crowd/place", "cat", 1, 1, 0.1, 90)["wrong"] == ""
        cat = heard.status(lambda status: abs(status["actors"][2]["degrees"] - 90) < 3)["actors"][2]
        assert cat["place"] == pytest.approx([1.0, 1.0], abs=0.05)
        assert heard.say("/crowd/schedule", "hand", 5, 6)["wrong"] == ""
        assert "on hold for" in heard.status(lambda status: status["goals"][0]["active"] == 0)["goals"][0]["why"]
        # mistakes are told, and nothing changes
        assert "no actor 'zoe'" in heard.say("/crowd/body", "zoe", "mine")["wrong"]
        assert "in the cast" in heard.say("/crowd/motion", "ann", "/etc/passwd")["wrong"]
        assert heard.say("/crowd/actor/remove", "cat")["wrong"] == ""
        heard.until(lambda m: isinstance(m, dict) and m["is"] == "crowd" and len(m["actors"]) == 2)


def test_a_paused_crowd_stands_still_and_takes_messages():
    with Heard() as heard:
        heard.until(lambda m: frame_of(m) is not None)
        heard.player.steer({"pause": True})
        heard.status(lambda status: not status["playing"])
        before = len(heard.said)
        assert heard.say("/crowd/ground", "slope:5")["wrong"] == ""
        heard.status()
        assert not any(frame_of(message) is not None for message in heard.said[before:])
        heard.player.steer({"pause": False})
        heard.until(lambda m: frame_of(m) is not None)
        # the ground that was chosen meanwhile is drawn
        roster = next(m for m in reversed(heard.said) if isinstance(m, dict) and m["is"] == "crowd")
        assert (roster["ground"], roster["level"]) == ("slope:5", False)
        numbers = [frame_of(m) for m in heard.said if frame_of(m) is not None]
        # time stood still: no frame was left out for the pause
        assert np.diff(numbers).max() < 15


def test_what_no_page_sends_is_refused():
    player = CrowdPlayer(opening(), lambda message: None)
    for request in (
        {}, {"say": 3, "with": [], "number": 1}, {"say": "/crowd/aim", "with": "x", "number": 1},
        {"say": "/crowd/aim", "with": [], "number": -1}, {"say": "/crowd/aim", "with": [], "number": 2**40},
        {"say": "/crowd/aim", "with": 9 * [1], "number": 1}, {"say": "/crowd/aim", "with": [[1]], "number": 1},
        {"say": "/crowd/aim", "with": [None], "number": 1}, {"say": "/crowd/aim", "with": [2**40], "number": 1},
        {"say": "/crowd/aim", "with": ["x" * 2000], "number": 1}, {"say": "x" * 2000, "with": [], "number": 1},
        {"say": "/crowd/aim", "with": [float("nan")], "number": 1},
    ):  # fmt: skip
        with pytest.raises(ConstraintError):
            player.steer(request)
    for number in range(MOST_QUEUED):
        player.steer({"say": "/crowd/ask", "with": ["hand"], "number": number})
    with pytest.raises(ConstraintError, match="at a time"):
        player.steer({"say": "/crowd/ask", "with": ["hand"], "number": MOST_QUEUED})
    player.changes.close()


def test_what_was_played_is_kept_as_clips_of_one_length():
    body, tall = samples.load_character("mannequin"), samples.load_character("longlegs")
    walk = samples.load("walk").motion
    recording = CrowdRecording(FPS)
    with pytest.raises(FootplantError, match="at least"):
        recording.clips()
    frames = [*range(20), *range(24, 40)]
    for frame in frames:
        now = {"ann": (body, walk.root[4 * frame], walk.rotations[4 * frame])}
        if frame >= 10:
            # another body
            now["bob"] = (body if frame < 30 else tall, walk.root[4 * frame], walk.rotations[4 * frame])
        if frame < 15:
            now["cat"] = (body, walk.root[0], walk.rotations[0])
        recording.add(frame, now)
    ann, bob = recording.clips()
    assert (ann.name, bob.name) == ("ann", "bob")
    assert bob.character is tall
    assert len(ann.motion) == len(bob.motion) == 40
    np.testing.assert_allclose(ann.motion.root[frames], walk.root[: 4 * 40 : 4][frames], atol=1e-12)
    # frames that were left out are between those beside them
    np.testing.assert_allclose(ann.motion.root[21], walk.root[4 * 21], atol=0.01)
    # on its last body it is from when it got it, and stands still before
    np.testing.assert_allclose(bob.motion.root[:30], np.broadcast_to(walk.root[120], (30, 3)))


def test_old_frames_make_room(monkeypatch):
    from footplant.editor import crowd_recording

    monkeypatch.setattr(crowd_recording, "MOST_BYTES", 20_000)
    body, walk = samples.load_character("mannequin"), samples.load("walk").motion
    recording = CrowdRecording(FPS)
    for frame in range(200):
        recording.add(frame, {"ann": (body, walk.root[frame], walk.rotations[frame])})
    (clip,) = recording.clips()
    assert 10 <= len(clip.motion) <= 60
    np.testing.assert_allclose(clip.motion.root[-1], walk.root[199])


def test_a_crowd_begins_with_samples_scenes_or_what_is_open():
    def quiet(label: str, share: float) -> None:
        assert label
        assert 0.0 <= share <= 1.0

    mine = samples.load("stand")
    made = open_crowd(OPEN, {"mine": mine, "other": mine}, ["mine"], ground=Plane(), apart=True, progress=quiet)
    assert [actor.name for actor in made.crowd.scene.actors] == ["mine"]
    assert made.crowd.scene.apart is not None
    assert OWN_GROUND in made.crowd.scene.grounds
    assert set(made.declared) == {"mine", "other"}
    # its clip goes on from where it ends, again and again
    assert made.crowd.groups[0].lines[0].own
    made = open_crowd("elbow_wrist", {}, [], ground=None, apart=False, progress=quiet)
    assert made.crowd.scene.goals
    assert not made.crowd.groups[0].lines[0].own
    assert all(casting.body.startswith("sample:") for casting in made.castings.values())
    for name in ("../x", "nope", ""):
        with pytest.raises(FootplantError, match=SAMPLES):
            open_crowd(name, {}, [], ground=None, apart=False, progress=quiet)
    with pytest.raises(FootplantError, match="got none"):
        open_crowd(OPEN, {}, [], ground=None, apart=False, progress=quiet)


def test_clips_that_no_crowd_can_play_are_refused(monkeypatch):
    from dataclasses import replace

    from footplant.editor import crowd_scenes

    mine = samples.load("stand")
    # wherever it was captured, the motion of a clip is at home at the origin
    turned = mine.motion.transformed(rotation.exp([0.0, 2.0, 0.0]), (30.0, 0.0, -20.0))
    _, act = own_material(replace(mine, motion=turned))
    assert act is not None
    played = act.on(mine.character)
    np.testing.assert_allclose(played.root[0], mine.motion.root[0], atol=1e-2)
    np.testing.assert_allclose(np.abs(played.rotations[0, 0] @ mine.motion.rotations[0, 0]), 1.0, atol=1e-3)
    made = open_crowd(OPEN, {"far": replace(mine, motion=turned)}, ["far"], ground=None, apart=False,
                      progress=lambda label, share: None)  # fmt: skip
    assert made.crowd.scene.actors[0].place == pytest.approx(turned.root[0, ::2].tolist(), abs=1e-9)
    assert made.crowd.scene.actors[0].heading == pytest.approx(2.0, abs=0.02)
    character, act = own_material(replace(mine, motion=mine.motion[:1]))
    assert character is mine.character
    assert act is None
    bare = replace(mine.character, roles=None, not_humanoid="no legs")
    with pytest.raises(FootplantError, match="no legs"):
        own_material(Clip(mine.motion, bare, name="table"))
    monkeypatch.setattr(crowd_scenes, "LONGEST", 1.0)
    with pytest.raises(FootplantError, match="trim it"):
        own_material(mine)


def test_grounds_are_drawn_as_they_are_at_a_time():
    places = np.array([[0.0, 0.0], [0.5, 1.0]])
    lift = crowd_ground("moving:lift:0.5:2", 20.0)
    np.testing.assert_allclose(height_at(lift, 0.0)(places), 0.0, atol=1e-9)
    np.testing.assert_allclose(height_at(lift, 9.0)(places), 0.5, atol=1e-9)
    waves = crowd_ground("waves:0.2:3:0.4", 20.0)
    assert np.abs(height_at(waves, 0.0)(places) - height_at(waves, 1.0)(places)).max() > 0.02
    assert still_ground(lift) is None
    assert still_ground(waves) is None
    assert still_ground(FLOOR) is None
    assert still_ground(slope := crowd_ground("slope:5", 20.0)) is slope


def test_actors_are_packed_one_after_another():
    rng = np.random.default_rng(1)
    poses = {number: (rng.normal(size=(n, 3)), rng.normal(size=(n, 4))) for number, n in ((7, 3), (2, 2))}
    data = wire.encode_crowd(poses, 12, 5)
    head = np.frombuffer(data[:32], "<u4").tolist()
    assert head[:6] == [wire.CROWD_POSES, 0, 5, 12, 2, 5]
    assert np.frombuffer(data[32:48], "<u4").tolist() == [7, 2, 3, 2]
    numbers = np.frombuffer(data[48:], "<f4")
    assert len(numbers) == 5 * 7
    np.testing.assert_allclose(numbers[:15].reshape(5, 3)[3:], poses[2][0], atol=1e-6)
    # quaternions end with w, as in three.js
    np.testing.assert_allclose(numbers[15:].reshape(5, 4)[:3, [3, 0, 1, 2]], poses[7][1], atol=1e-6)
