"""What an animator builds and copies in the editor: ground in pieces, poses, steps on the ground, a body for sticks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from footplant import rotation, samples, skinning
from footplant.editor import scene
from footplant.editor.poses import influence
from footplant.editor.session import start
from footplant.errors import ArgumentError, FootplantError
from footplant.geometry import Plane
from footplant.grounds import Built, Piece
from footplant.humanoid.default_body import default_body
from footplant.kinematics import Kinematics
from footplant.motion import rest_motion

STAIRS = {"kind": "stairs", "place": [0.0, 0.0, 1.9], "turn": 0.0, "size": [1.6, 0.48, 0.96], "count": 3}
LANDING = {"kind": "block", "place": [0.0, 0.0, 3.0], "turn": 0.0, "size": [1.6, 0.48, 1.24]}


@pytest.fixture
def session(tmp_path):
    clip = samples.load("walk")
    made = start(replace(clip, motion=clip.motion[:300]), "sample:walk", tmp_path)
    yield made
    made.journal.close()


def test_pieces_have_their_heights_inside_and_the_ground_around_them():
    stairs = Piece("stairs", (1.0, 0.1, 2.0), (1.6, 0.6, 0.9), np.pi / 2, 3)
    ramp = Piece("ramp", (0.0, 0.0, 5.0), (1.0, 0.5, 2.0), np.pi)
    ground = Built((stairs, ramp), Plane((0.0, -0.05, 0.0)))
    # a quarter turn to the left: the stairs rise along +x
    places = [[0.54, 2.0], [0.56, 2.0], [0.86, 2.0], [1.44, 2.79], [1.46, 2.0], [1.0, 2.81], [0.0, 5.9], [0.4, 4.1]]
    expected = [-0.05, 0.3, 0.5, 0.7, -0.05, -0.05, 0.025, 0.475]
    assert ground.height(places) == pytest.approx(expected, abs=1e-9)
    assert ground.normal([[0.0, 5.0], [1.0, 2.0]]) == pytest.approx(
        np.array([[0.0, 1.0, 0.25], [0.0, 1.0, 0.0]]) / [[np.hypot(1.0, 0.25)], [1.0]], abs=1e-9
    )
    with pytest.raises(ArgumentError, match="sizes above 0"):
        Piece("block", size=(1.0, 0.0, 1.0))
    with pytest.raises(ArgumentError, match="expected a piece among"):
        Piece("hole")  # type: ignore[arg-type]


def test_the_character_walks_over_pieces_of_the_ground(session):
    """One edit puts them there with a terrain; moving one solves it again; feet stand on top of them."""
    session.do({"kind": "objects", "objects": [STAIRS]})
    assert [operator.kind for operator in session.stack.operators] == ["terrain"]
    session.do({"kind": "objects", "objects": [STAIRS, LANDING]})
    assert [operator.kind for operator in session.stack.operators] == ["terrain"]
    state = session.state
    assert isinstance(state.ground, Built)
    assert scene.state_ground(state) is None
    tops = {round(float(m.constraint.place[1]), 2) for m in state.marks}
    assert {0.0, 0.48} < tops <= {0.0, 0.16, 0.32, 0.48}
    rows = {name: now for name, _, now in scene.quality(session)["rows"]}
    assert rows["worst footplant drift, mm"] < 10.0
    assert rows["deepest penetration, mm"] < 10.0
    session.go(0)
    assert session.state.ground is None
    for wrong in ({"count": 0}, {"count": 101}, {"size": [1, 1e6, 1]}, {"count": 2.5}):
        with pytest.raises(FootplantError):
            session.do({"kind": "objects", "objects": [{**STAIRS, **wrong}]})


def test_a_step_in_the_air_is_put_on_the_ground(session):
    step = scene.document(session)["steps"][2]
    session.do({"kind": "step", "id": step["id"], "move": [0.0, 0.07, 0.05]})
    (raised,) = [s for s in scene.document(session)["steps"] if s["id"] == step["id"]]
    assert raised["place"][1] == pytest.approx(step["place"][1] + 0.07, abs=1e-6)
    session.do({"kind": "step", "id": step["id"], "grounded": True})
    (lowered,) = [s for s in scene.document(session)["steps"] if s["id"] == step["id"]]
    assert lowered["place"] == pytest.approx([step["place"][0], step["place"][1], step["place"][2] + 0.05], abs=0.01)


def test_a_pose_is_pasted_with_its_influence_and_the_feet_stay(session):
    motion = session.state.motion
    names, (copied, at) = motion.skeleton.names, (30, 150)
    joints = {name: motion.rotations[copied, joint].tolist() for joint, name in enumerate(names)}
    edit = {"kind": "pose", "frame": at, "joints": joints, "height": float(motion.root[copied, 1]), "before": 0.3}
    session.do({**edit, "after": 0.2, "hold": 0.1})
    after = session.state.motion
    arms = [session.state.character.roles[role] for role in ("left_upper_arm", "right_lower_arm")]
    assert np.degrees(rotation.angle(after.rotations[at, arms], motion.rotations[copied, arms])).max() < 1.0
    reach = np.round(np.array([at - 0.3 * motion.fps, at + 0.3 * motion.fps])).astype(int)
    changed = np.flatnonzero(np.abs(after.rotations - motion.rotations)[:, arms].max(axis=(1, 2)) > 1e-3)
    assert reach[0] <= changed[0] < at < changed[-1] <= reach[1]
    rows = {name: now for name, _, now in scene.quality(session)["rows"]}
    assert rows["worst footplant drift, mm"] < 2.0
    (key,) = scene.document(session)["drags"]
    assert (key["pose"], key["frame"], key["before"], key["after"], key["hold"]) == (True, at, 0.3, 0.2, 0.1)
    session.do({"kind": "stack", "do": "set", "id": key["operator"], "values": {"before": 0.5}})
    assert scene.document(session)["drags"][0]["before"] == 0.5
    for wrong in ({"before": -1.0}, {"joints": {}}, {"joints": {"nose": [1, 0, 0, 0]}}, {"frame": 300},
                  {"joints": {names[1]: [0, 0, 0, 0]}}, {"height": 1e9}):  # fmt: skip
        with pytest.raises(FootplantError):
            session.do({**edit, **wrong})


def test_influence_eases_in_holds_and_eases_out():
    weights = influence(101, 50, 100.0, 0.2, 0.1, 0.1)
    assert weights[[0, 30, 50, 55, 60, 70, 100]] == pytest.approx([0, 0, 1, 1, 1, 0, 0])
    assert weights[40] == pytest.approx(0.5)
    assert np.abs(np.diff(weights)).max() < 0.16


@pytest.mark.parametrize("name", ["mannequin", "child", "longlegs"])
def test_a_stick_figure_gets_a_body_of_its_proportions(name):
    character = replace(samples.load_character(name), skin=None)
    body = default_body(character)
    assert body is not None
    pose = rest_motion(character.skeleton)
    points = skinning.blend_skin(body, Kinematics(pose))[0]
    assert np.ptp(points[:, 1]) == pytest.approx(character.height, rel=0.12)
    # closed, with its outside out: the volume of a body of this height
    corners = body.vertices[body.faces]
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6.0
    assert 0.004 < volume / character.height**3 < 0.03
    assert body.weights.sum(axis=1) == pytest.approx(np.ones(len(body.weights)))


def test_several_characters_share_a_scene_and_come_back(tmp_path):
    """Each has a stack of its own; a project holds all of them, and so do the journals after a kill."""
    from footplant.editor.files import export, unpack_cast
    from footplant.editor.hub import Hub

    clip = replace(samples.load("walk"), motion=samples.load("walk").motion[:120])
    hub = Hub("sample:walk", clip, tmp_path)
    key, walker = hub.enter(None)
    runner = hub.add_in(key, walker, "sample:run", lambda *_: None)
    assert [each.state.clip.name for each in hub.tabs[key].cast] in (["walk", "run"], ["run", "walk"])
    assert hub.session(key) is runner
    gap = runner.state.motion.root[0] - walker.state.motion.root[0]
    assert gap[0] == pytest.approx(0.7 * walker.state.character.height, rel=0.05)
    runner.do({"kind": "place", "move": [2.0, 0.0, 0.0], "turn": np.pi / 2})
    assert [operator.kind for operator in runner.stack.operators] == ["place"]
    assert hub.switch_to(key, walker.journal.folder.name) is walker
    assert hub.others(key) == [runner]
    name, data = export(walker, ".footplant", hub.others(key))
    (tmp_path / name).write_bytes(data)
    assert len(unpack_cast(tmp_path / name)) == 1
    # as after kill −9: the files are closed by the system, and another server finds the journals
    for each in (walker, runner):
        each.journal.file.close()
    again = Hub("sample:walk", clip, tmp_path)
    _, _ = again.enter(key)
    assert sorted(each.state.clip.name for each in again.tabs[key].cast) == ["run", "walk"]
    moved = next(each for each in again.tabs[key].cast if each.state.clip.name == "run")
    assert np.array_equal(moved.state.motion.root, runner.state.motion.root)
    # removing one leaves the other, and its edits are offered again later
    again.remove_from(key, moved.journal.folder.name)
    assert len(again.tabs[key].cast) == 1
    left = again.tabs[key].session
    with pytest.raises(FootplantError, match="last one"):
        again.remove_from(key, left.journal.folder.name)
    opened = again.open_in(key, left, left.journal.keep("two.footplant", data), lambda *_: None)
    assert opened.state.clip.name == "walk"
    assert [each.state.clip.name for each in again.others(key)] == ["run"]
    again.close()


def test_a_project_of_before_the_stack_opens(session, tmp_path):
    """Edits as version 0.2.0 wrote them before there were operators and footsteps: by the numbers of plants."""
    from footplant.editor.files import ORIGINAL
    from footplant.editor.hub import Hub
    from footplant.io.project import Extra, Project, save_project

    edits = (
        {"kind": "drag", "frame": 70, "point": "left_palm", "target": [0.4, 1.3, 1.0], "spacing": 8},
        {"kind": "mark", "id": 0, "start": 0, "end": 52},
        {"kind": "pin", "point": "right_palm", "start": 40, "end": 60, "frame": 50},
        {"kind": "objects", "objects": [{"kind": "box", "place": [1, 0, 1], "turn": 0.3, "size": [0.5, 0.5, 0.5]}]},
        {"kind": "method", "name": "hierarchical"},
    )
    origin = replace(session.origin, motion=session.origin.motion[:150])
    project = Project.of(replace(origin, layout=None, others=()))
    save_project(tmp_path / "original.footplant", project)
    members = {ORIGINAL: (tmp_path / "original.footplant").read_bytes()}
    save_project(tmp_path / "old.footplant", replace(project, edits=edits, extra=Extra(members=members)))
    hub = Hub("sample:walk", origin, tmp_path / "state")
    key, first = hub.enter(None)
    made = hub.open_in(key, first, first.journal.keep("old.footplant", (tmp_path / "old.footplant").read_bytes()),
                       lambda *_: None)  # fmt: skip
    assert [operator.kind for operator in made.stack.operators] == ["drag", "mark", "pin", "method"]
    assert made.failed == {}
    assert len(made.state.objects) == 1
    assert made.state.report is not None
    assert made.state.report.status.value == "solved"
    made.go(0)
    assert np.array_equal(made.state.motion.root, origin.motion.root)
    hub.close()


def test_any_two_stacks_are_evaluated_without_changing_the_session(session):
    session.do({"kind": "retarget", "character": "sample:child"})
    session.do({"kind": "mirror"})
    (retarget, _mirror), before = session.stack.operators, session.state
    other = session.state_without(retarget.id)
    assert other.character.height > 1.2 * before.character.height
    assert session.state is before
    assert scene.quality_rows(session.origin, other)
    assert session.state_at(0).character is session.origin.character
