"""Editor sessions: every edit, exact undo and redo, the journal, and recovery after a kill."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import footplant
from editor_env import decode_poses, mismatch
from footplant import samples
from footplant.constraints import Footplant, Position
from footplant.editor import journal as journals
from footplant.editor import scene, schema, wire
from footplant.editor.curves import PLOTS, curves
from footplant.editor.files import export, unpack_project
from footplant.editor.session import Cancelled, recover, start
from footplant.errors import ConstraintError, FootplantError, FormatError
from footplant.kinematics import Kinematics
from thorough import thorough

WALK = samples.load("walk")
CLIP = replace(WALK, motion=WALK.motion[:160])
PALM = CLIP.character.contacts["left_palm"]


@pytest.fixture
def session(tmp_path):
    made = start(CLIP, "sample:walk", tmp_path)
    yield made
    made.journal.close()


def reach(frame: int, away=(0.05, 0.15, 0.05)) -> dict:
    place = Kinematics(CLIP.motion[frame]).point(PALM)[0] + away
    return {"kind": "drag", "frame": frame, "point": "left_palm", "target": place.tolist(), "spacing": 4.0}


def drift(state) -> float:
    """Drift of the worst footplant, millimetres."""
    kinematics = Kinematics(state.motion)
    worst = 0.0
    for mark in state.marks:
        if isinstance(mark.constraint, Footplant):
            track = kinematics.point(mark.constraint.point)[slice(*mark.interval)]
            worst = max(worst, 1000.0 * float(np.linalg.norm(track - track.mean(axis=0), axis=1).max()))
    return worst


def same(one, other) -> bool:
    return (
        one.motion.rotations.tobytes() == other.motion.rotations.tobytes()
        and one.motion.root.tobytes() == other.motion.root.tobytes()
        and [(m.id, m.interval, m.free, m.constraint.ramp) for m in one.marks]
        == [(m.id, m.interval, m.free, m.constraint.ramp) for m in other.marks]
        and one.objects == other.objects
    )


@pytest.mark.quick
def test_a_drag_bends_the_clip_and_plants_stay(session):
    edit = reach(80)
    state = session.do(edit)
    reached = Kinematics(state.motion[80]).point(PALM)[0]
    assert np.linalg.norm(reached - edit["target"]) < 5e-4
    near = Kinematics(state.motion[75]).point(PALM)[0] - Kinematics(CLIP.motion[75]).point(PALM)[0]
    assert np.linalg.norm(near) > 0.03
    assert drift(state) < 1.0
    assert session.steps[0].title == "Drag left palm at 80"
    assert session.unsaved


def test_a_joint_rotation_is_an_edit_too(session):
    state = session.do({"kind": "turn", "frame": 60, "joint": "head", "rotation": [1.0, 0.3, 0.0, 0.0], "spacing": 4.0})
    head = CLIP.character.roles["head"]
    turned = Kinematics(state.motion[60]).rotations[0, head]
    assert abs(np.dot(turned, np.array([1.0, 0.3, 0.0, 0.0]) / np.hypot(1.0, 0.3))) > 1 - 1e-9
    assert session.steps[0].title == "Turn head at 60"


@pytest.mark.quick
def test_footplants_are_moved_resized_released_and_deleted(session):
    mark = next(m for m in session.state.marks if m.interval[0] > 20 and m.interval[1] < 150)
    start_frame, end = mark.interval
    changed = session.do({"kind": "mark", "id": mark.id, "start": start_frame + 3, "end": end + 4, "ramp": [0.2, 0.05]})
    after = changed.mark(mark.id)
    assert after.interval == (start_frame + 3, end + 4)
    assert after.constraint.ramp == (0.2, 0.05)
    assert drift(changed) < 1.0
    place = np.asarray(mark.constraint.place) + [0.05, 0.0, 0.04]
    moved = session.do({"kind": "mark", "id": mark.id, "place": place.tolist()})
    foot = Kinematics(moved.motion).point(mark.constraint.point)[start_frame + 6]
    assert np.linalg.norm(foot - place) < 2e-3
    freed = session.do({"kind": "mark", "id": mark.id, "free": True})
    assert freed.mark(mark.id).free
    assert drift(freed) < 1.0
    lifted = session.do({"kind": "remove", "id": mark.id})
    assert lifted.mark(mark.id) is None
    added = session.do({"kind": "plant", "point": "left_palm", "start": 70, "end": 90})
    assert drift(added) < 1.0
    with pytest.raises(ConstraintError, match="not held yet"):
        session.do({"kind": "plant", "point": "left_palm", "start": 80, "end": 95})


def test_marks_stay_on_the_clip(session):
    mark = session.state.marks[0]
    state = session.do({"kind": "mark", "id": mark.id, "start": -50, "end": 9999})
    assert state.mark(mark.id).interval == (0, len(CLIP.motion))
    state = session.do({"kind": "mark", "id": mark.id, "start": 40, "end": 10})
    assert state.mark(mark.id).interval == (40, 42)


def test_a_pin_holds_where_the_point_was(session):
    before = Kinematics(CLIP.motion[80]).point(PALM)[0]
    state = session.do({"kind": "pin", "point": "left_palm", "start": 70, "end": 91, "frame": 80})
    held = Kinematics(state.motion).point(PALM)[70:91]
    assert np.linalg.norm(held - before, axis=1).max() < 2e-3
    assert isinstance(state.marks[-1].constraint, Position)
    joint = session.do({"kind": "pin", "point": {"joint": "Head"}, "start": 20, "end": 30, "frame": 25})
    assert len(joint.marks) == len(state.marks) + 1
    # a drag before a mark is changed is applied again after it
    session.do(reach(120))
    again = session.do({"kind": "remove", "id": joint.marks[-1].id})
    assert len(again.drags) == 1
    assert np.linalg.norm(Kinematics(again.motion[120]).point(PALM)[0] - reach(120)["target"]) < 1e-3


def test_methods_solve_the_same_task(session):
    session.do(reach(80))
    for name in ("warping", "filtered"):
        state = session.do({"kind": "method", "name": name})
        assert state.method == name
        assert state.report.method
        assert np.linalg.norm(Kinematics(state.motion[80]).point(PALM)[0] - reach(80)["target"]) < 0.02
        session.go(session.position - 1)
    with pytest.raises(ConstraintError, match="method among"):
        session.do({"kind": "method", "name": "magic"})


def test_another_character_another_ground_and_repair(session):
    state = session.do({"kind": "retarget", "character": "sample:sally"})
    assert state.character.name == samples.load_character("sally").name
    assert state.marks
    assert drift(state) < 1.0
    hills = session.do({"kind": "terrain", "ground": "slope:6"})
    assert hills.ground is not None
    assert scene.state_ground(hills) is not None
    assert session.do({"kind": "repair"}).report is not None
    assert [operator.kind for operator in session.stack.operators] == ["retarget", "terrain", "repair"]
    with pytest.raises(ConstraintError, match=r"noise:…"):
        session.do({"kind": "terrain", "ground": "/etc/passwd"})
    assert session.go(1).character is state.character
    assert session.go(session.position - 1).character is CLIP.character


def test_the_path_is_bent_and_clips_are_blended(session):
    points = scene.path_points(session.state)
    assert len(points) == scene.PATH_POINTS
    points[-1][0] += 0.4
    bent = session.do({"kind": "path", "points": points})
    assert bent.motion.root[-1, 0] > CLIP.motion.root[-1, 0] + 0.2
    assert scene.path_points(bent) == [list(point) for point in bent.path]
    session.go(session.position - 1)
    # with an uploaded clip, by the take that was chosen
    own = session.journal.new_upload("mine.bvh", "drop")
    own.unlink()
    footplant.save(own, samples.load("limp"))
    mixed = session.do({"kind": "blend", "clips": ["drop/mine.bvh"], "takes": [0], "weights": [0.5, 0.5]})
    assert len(mixed.motion) > 20
    assert session.steps[-1].title == "Blend with mine.bvh"
    assert drift(mixed) < 2.0
    with pytest.raises(ConstraintError, match="take"):
        session.do({"kind": "blend", "clips": ["drop/mine.bvh"], "takes": [0, 1], "weights": [0.5, 0.5]})


def test_objects_are_placed_in_the_scene(session):
    door = {"kind": "doorway", "place": [0.0, 0.0, 1.0], "turn": 0.0, "size": [1.2, 1.5, 0.2]}
    assert session.do({"kind": "objects", "objects": [door]}).objects == (door,)
    ducked = session.do({"kind": "terrain", "ground": "slope:0"})
    head = CLIP.character.roles["head"]
    lowest = Kinematics(ducked.motion).positions[:, head, 1].min()
    assert lowest < Kinematics(CLIP.motion).positions[:, head, 1].min() - 0.05
    for wrong in ({"kind": "car"}, {**door, "size": [0, 1, 1]}, {**door, "colour": "red"}):
        with pytest.raises(FootplantError):
            session.do({"kind": "objects", "objects": [wrong]})
    with pytest.raises(ConstraintError, match="at most"):
        session.do({"kind": "objects", "objects": [door] * 65})


def test_an_edit_that_fails_or_is_cancelled_changes_nothing(session):
    before = session.do(reach(80))
    journaled = (session.journal.folder / "journal.jsonl").read_bytes()

    def stop(label: str, share: float) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        session.do({"kind": "method", "name": "hierarchical"}, stop)
    for bad in (
        {"kind": "drag", "frame": 9999, "point": "left_palm", "target": [0, 0, 0]},
        {"kind": "remove", "id": 99},
    ):
        with pytest.raises(FootplantError):
            session.do(bad)
    assert session.state is before
    assert session.position == len(session.steps) == 1
    assert (session.journal.folder / "journal.jsonl").read_bytes() == journaled


MARKS = [0, 1, 2]
EDITS = st.one_of(
    st.builds(
        lambda frame, x, y, spacing: reach(frame, (x, y, 0.05)) | {"spacing": spacing},
        st.integers(0, 159), st.floats(-0.1, 0.1), st.floats(-0.1, 0.2), st.sampled_from([2.0, 4.0, 8.0]),
    ),
    st.builds(
        lambda number, first, length: {"kind": "mark", "id": number, "start": first, "end": first + length},
        st.sampled_from(MARKS), st.integers(0, 120), st.integers(2, 40),
    ),
    st.builds(lambda number, free: {"kind": "mark", "id": number, "free": free}, st.sampled_from(MARKS), st.booleans()),
    st.builds(
        lambda first: {"kind": "pin", "point": "right_palm", "start": first, "end": first + 10}, st.integers(0, 140)
    ),
    st.just({"kind": "objects", "objects": []}),
    st.builds(
        lambda frame, w: {"kind": "turn", "frame": frame, "joint": "head", "rotation": [w, 0.1, 0.2, 0.0]},
        st.integers(0, 159), st.floats(0.2, 1.0),
    ),
)  # fmt: skip


@settings(max_examples=thorough(3, 30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(EDITS, min_size=1, max_size=5), memory=st.sampled_from([1, 10**9]))
def test_n_edits_undone_and_redone_give_the_same_bytes(tmp_path, edits, memory):
    session = start(CLIP, "sample:walk", tmp_path)
    session.memory = memory
    states = [session.state]
    for edit in edits:
        states.append(session.do(edit))
    for position in reversed(range(len(edits))):
        assert same(session.go(position), states[position])
    assert session.state.motion is CLIP.motion
    for position in range(1, len(edits) + 1):
        assert same(session.go(position), states[position])
    session.journal.close()
    again, notes = recover(CLIP, session.journal.folder)
    assert not notes
    assert (again.position, len(again.steps)) == (session.position, len(session.steps))
    assert same(again.state, states[-1])
    again.journal.discard()


def test_a_new_edit_after_undo_drops_what_was_undone(session):
    session.do(reach(40))
    session.do(reach(80))
    session.mark_saved()
    session.go(session.position - 1)
    assert session.unsaved
    session.do({"kind": "objects", "objects": []})
    assert [step.title for step in session.steps] == ["Drag left palm at 40", "Arrange the scene"]
    assert session.unsaved
    with pytest.raises(ConstraintError, match="position in the history"):
        session.go(5)


EDIT_UNTIL_KILLED = """
import sys
from dataclasses import replace
from pathlib import Path
from footplant import samples
from footplant.editor.session import start

walk = samples.load("walk")
session = start(replace(walk, motion=walk.motion[:60]), "sample:walk", Path(sys.argv[1]))
number = 0
while True:
    thing = {"kind": "box", "place": [float(number), 0.0, 0.0], "size": [1.0, 1.0, 1.0]}
    session.do({"kind": "objects", "objects": [thing]})
    number += 1
    print(number, flush=True)
"""


def test_kill_9_loses_at_most_the_last_edit(tmp_path):
    """Killed at random moments, a session is recovered with every edit that it had confirmed."""
    chance = random.Random(7)
    clip = replace(WALK, motion=WALK.motion[:60])
    for round_ in range(3):
        folder = tmp_path / str(round_)
        command = [sys.executable, "-c", EDIT_UNTIL_KILLED, str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            first = int(process.stdout.readline())
            time.sleep(chance.uniform(0.0, 0.3))
            process.send_signal(signal.SIGKILL)
            said = [first, *(int(line) for line in process.stdout.read().splitlines() if line.strip())]
        (left,) = journals.find_abandoned({"source": "sample:walk"}, folder)
        session, notes = recover(clip, left.folder)
        assert not notes
        assert said[-1] <= session.position <= said[-1] + 1
        assert session.state.objects[0]["place"][0] == session.position - 1
        # and it continues from there
        session.do({"kind": "objects", "objects": []})
        session.journal.close()
        again, _ = recover(clip, left.folder)
        assert again.position == session.position
        again.journal.close()


def test_a_line_that_was_cut_off_is_left_out(session, tmp_path):
    session.do(reach(40))
    session.do(reach(80))
    session.journal.close()
    path = session.journal.folder / "journal.jsonl"
    whole = path.read_bytes()
    for cut in (1, 5, len(whole.splitlines(keepends=True)[-1]) - 1):
        path.write_bytes(whole[:-cut])
        again, notes = recover(CLIP, session.journal.folder)
        assert not notes
        assert again.position == 1
        again.do({"kind": "objects", "objects": []})
        again.journal.close()
        assert len(journals.read(session.journal.folder)[0]) == 3
    path.write_bytes(b"\x00\xff")
    with pytest.raises(FormatError, match="begins with its head"):
        recover(CLIP, session.journal.folder)


def test_entries_that_cannot_be_applied_again_are_reported_and_cut(session):
    session.do(reach(40))
    session.journal.append({"edit": {"kind": "retarget", "character": "gone.glb"}})
    session.journal.append({"go": 0})
    session.journal.close()
    again, notes = recover(CLIP, session.journal.folder)
    assert again.position == 1
    assert "2 entries" in notes[0]
    again.do({"kind": "objects", "objects": []})
    again.journal.close()
    final, notes = recover(CLIP, session.journal.folder)
    assert (final.position, notes) == (2, [])
    final.journal.close()


def test_journals_in_use_or_saved_are_not_abandoned(session, tmp_path):
    head = {"source": "sample:walk"}
    session.do(reach(40))
    assert journals.find_abandoned(head, tmp_path) == []
    with pytest.raises(FormatError, match="still running"):
        recover(CLIP, session.journal.folder)
    session.journal.close()
    (left,) = journals.find_abandoned(head, tmp_path)
    assert left.edits == 1
    assert journals.find_abandoned({"source": "other"}, tmp_path) == []
    again, _ = recover(CLIP, left.folder)
    again.mark_saved()
    again.journal.close()
    assert journals.find_abandoned(head, tmp_path) == []


def test_file_names_are_sanitised(tmp_path):
    for name, expected in (
        ("../../etc/passwd", "passwd"), ("a\\b\\c.glb", "c.glb"), ("...", "file"), ("x\x00y.bvh", "x_y.bvh"),
        ("Ünï cöde (1).vrm", "Ünï cöde (1).vrm"),
    ):  # fmt: skip
        assert journals.free_name(tmp_path, name) == expected
    (tmp_path / "c.glb").touch()
    assert journals.free_name(tmp_path, "c.glb") == "c-2.glb"


@pytest.mark.quick
def test_a_project_keeps_the_whole_history(session, tmp_path):
    kept = session.journal.keep("sally.glb", _sally(tmp_path))
    session.do(reach(80))
    session.do({"kind": "retarget", "character": kept})
    name, data = export(session, ".footplant")
    assert name == "walk-edited.footplant"
    path = tmp_path / name
    path.write_bytes(data)
    clip, edits, files = unpack_project(path)
    assert [edit["kind"] for edit in edits] == ["drag", "retarget"]
    assert list(files) == ["sally.glb"]
    other = start(clip, str(path), tmp_path / "other")
    for file, bytes_ in files.items():
        other.journal.keep(file, bytes_)
    for edit in edits:
        other.do(edit)
    assert other.state.motion.rotations.tobytes() == session.state.motion.rotations.tobytes()
    other.journal.close()
    # other readers see the edited motion
    import footplant

    assert np.array_equal(footplant.load(path).motion.rotations, session.state.motion.rotations)
    with pytest.raises(FormatError, match="format among"):
        export(session, ".exe")


def _sally(folder: Path) -> bytes:
    import footplant

    return footplant.save(folder / "made.glb", samples.load_character("sally")).read_bytes()


def test_messages_to_the_page_are_json_ready(session):
    session.do(reach(80))
    session.do({"kind": "pin", "point": "right_palm", "start": 60, "end": 70})
    told = (scene.figure_message(session), scene.document(session), scene.quality(session))
    for message in told:
        json.dumps(message, allow_nan=False)
    hub_facts = {"level": 0.0, "session": "key", "left": [], "methods": ["hierarchical"]}
    assert mismatch(told[0] | hub_facts, schema.Figure) is None
    assert mismatch(told[1], schema.Document) is None
    assert mismatch(told[2], schema.Measured) is None
    tracks = {mark["track"] for mark in told[1]["marks"]}
    assert tracks == {"left_foot", "right_foot", "right_hand"}
    assert told[1]["history"][0] == "Drag left palm at 80"
    rows = {name: (before, after) for name, before, after in told[2]["rows"]}
    assert rows["worst footplant drift, mm"][1] < 1.0
    for plot in PLOTS:
        drawn = curves(session.state, plot, CLIP.character.roles["head"])
        assert mismatch(drawn, schema.Curves) is None
        json.dumps(drawn, allow_nan=False)
        assert all(len(line) == len(drawn["frames"]) for line in drawn["lines"].values())
    with pytest.raises(ConstraintError, match="plot among"):
        curves(session.state, "taste")
    long = replace(WALK, motion=WALK.motion.looped(12)[:5000])
    other = start(long, "sample:walk", session.journal.folder)
    assert len(curves(other.state, "speed")["frames"]) <= 4000
    other.journal.close()


def test_poses_go_over_the_wire(session):
    kinematics = Kinematics(CLIP.motion[10:14])
    fields, positions, turns = decode_poses(wire.encode_poses(kinematics, 10, wire.CURRENT, 3))
    assert fields == {"layer": 0, "sequence": 3, "first": 10, "frames": 4, "joints": len(CLIP.character.skeleton)}
    assert np.allclose(positions, kinematics.positions, atol=1e-6)
    assert np.allclose(turns, kinematics.rotations, atol=1e-6)
    mesh = wire.encode_mesh(CLIP.character.skin, 0, 0)
    skin = CLIP.character.skin
    assert len(mesh) == 32 + 4 * (14 * len(skin.vertices) + 16 * len(skin.inverse_bind) + 3 * len(skin.faces))


def test_non_humanoids_and_single_poses_can_be_edited(tmp_path):
    from footplant.clip import Clip
    from footplant.motion import rest_motion
    from footplant.skeleton import Character, Skeleton

    skeleton = Skeleton(("root", "mid", "tip"), np.array([-1, 0, 1]), np.array([[0, 1, 0], [0, 0.5, 0], [0, 0.5, 0]]))
    motion = replace(rest_motion(skeleton), fps=30.0)[np.zeros(60, int)]
    for clip in (Clip(motion, Character(skeleton, height=2.0)), replace(CLIP, motion=CLIP.motion[:1])):
        session = start(clip, "made", tmp_path)
        frame = len(clip.motion) // 2
        joint = clip.character.skeleton.names[1]
        state = session.do({"kind": "turn", "frame": frame, "joint": joint, "rotation": [1.0, 0.2, 0.0, 0.0]})
        assert not np.array_equal(state.motion.rotations, clip.motion.rotations)
        for message in (scene.figure_message(session), scene.document(session), scene.quality(session)):
            json.dumps(message, allow_nan=False)
        for plot in ("error", "height", "speed", "joint"):
            json.dumps(curves(state, plot, 1), allow_nan=False)
        session.journal.close()
