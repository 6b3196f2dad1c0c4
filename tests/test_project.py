"""Project files: bit-exact, reproducible, preserving unknown content, refusing damage."""

from __future__ import annotations

import io
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import footplant
from footplant import Clip, FormatError, Kinematics, Motion, Skin
from footplant.io import load_takes, project
from footplant.io.project import Extra, Project, load_project, parse, save_project
from footplant.io.source import PackedSource
from footplant.skeleton import Character, Limits, Point, Roles
from gltf_made import figure as made_figure
from random_figures import random_motion, random_skeleton

DOCS = Path(__file__).resolve().parents[1] / "docs"


def rich_character(seed: int = 0, name: str = "Zoë \ud800 ❤") -> Character:
    """A character with something in every field."""
    skeleton = random_skeleton(seed=seed)
    rng = np.random.default_rng(seed)
    count = len(skeleton)
    weights = rng.random((20, 3))
    skin = Skin(
        rng.normal(size=(20, 3)), rng.integers(0, 20, (7, 3)), rng.integers(0, count, (20, 3)),
        weights / weights.sum(1, keepdims=True), rng.normal(size=(count, 4, 4)), rng.normal(size=(20, 3)),
    )  # fmt: skip
    roles = Roles(
        {"hips": (0,), "spine": (1, 2)}, {"hips": 0.1 + 0.2, "spine": 1.0}, {"hips": "it says so", "spine": ""},
        skeleton.rest,
    )  # fmt: skip
    return Character(
        skeleton, name, roles, {"left_heel": Point(3, (0.1, -1e-300, 1 / 3))}, rng.random(count),
        rng.normal(size=(count, 3)), Limits(np.full((count, 3), -np.inf), rng.random((count, 3))), skin, 1.0 / 3.0,
        PackedSource("nothing", ".xyz", b"bytes of a file", ("pictures",)),
    )  # fmt: skip


def rich_clip(seed: int = 0, name: str = "a walk", frames: int = 5, character: Character | None = None) -> Clip:
    character = character or rich_character(seed)
    rng = np.random.default_rng(seed + 100)
    motion = replace(random_motion(frames, seed=seed), skeleton=character.skeleton)
    return Clip(replace(motion, fps=1 / 0.0333333, offsets=rng.normal(size=(frames, len(character.skeleton), 3))),
                character, name)  # fmt: skip


def assert_same_character(one: Character, other: Character) -> None:
    assert one.skeleton.same_as(other.skeleton)
    assert (one.name, one.height, dict(one.contacts)) == (other.name, other.height, dict(other.contacts))
    assert one.roles == other.roles
    for path in ("masses", "mass_centers", "limits.lower", "limits.upper", "roles.reference", "skin.vertices",
                 "skin.faces", "skin.joints", "skin.weights", "skin.inverse_bind", "skin.normals"):  # fmt: skip
        a, b = one, other
        for key in path.split("."):
            a, b = (None if value is None else getattr(value, key) for value in (a, b))
        assert (a is None) == (b is None), path
        assert a is None or (np.array_equal(a, b) and np.asarray(a).dtype == np.asarray(b).dtype), path


def assert_same_clip(one: Clip, other: Clip) -> None:
    assert (one.name, one.motion.fps) == (other.name, other.motion.fps)
    assert one.motion.skeleton.same_as(other.motion.skeleton)
    for key in ("root", "rotations", "offsets"):
        a, b = getattr(one.motion, key), getattr(other.motion, key)
        assert (a is None and b is None) or np.array_equal(a, b)
    assert_same_character(one.character, other.character)


def test_everything_round_trips_bit_for_bit(tmp_path):
    clip = rich_clip()
    assert footplant.save(tmp_path / "a.footplant", clip) == tmp_path / "a.footplant"
    again = footplant.load(tmp_path / "a.footplant")
    assert_same_clip(clip, again)
    assert (again.conversion.units, again.conversion.scale, again.conversion.up, again.conversion.declared) == (
        "m",
        1.0,
        "y",
        True,
    )
    assert not again.notes
    source = again.character.source
    assert (source.format, source.extension, source.data, source.carries) == (
        "nothing", ".xyz", b"bytes of a file", ("pictures",),
    )  # fmt: skip
    assert_same_clip(clip, load_project(tmp_path / "a.footplant").clip)


def test_the_same_content_gives_the_same_bytes(tmp_path):
    names = [tmp_path / f"{name}.footplant" for name in "abc"]
    footplant.save(names[0], rich_clip())
    footplant.save(names[1], footplant.load(names[0]))
    save_project(names[2], load_project(names[0]))
    assert names[0].read_bytes() == names[1].read_bytes() == names[2].read_bytes()


def test_samples_keep_what_they_are(tmp_path):
    clip = footplant.load("sample:walk")
    footplant.save(tmp_path / "walk.footplant", clip)
    assert_same_clip(clip, footplant.load(tmp_path / "walk.footplant"))
    bones = footplant.load_character("sample:mannequin")
    footplant.save(tmp_path / "bones.footplant", bones)
    assert_same_character(bones, footplant.load_character(tmp_path / "bones.footplant"))


def test_roles_are_kept_rather_than_found(tmp_path):
    clip = footplant.load("sample:walk")
    odd = replace(clip.character, roles=Roles({"hips": (3,)}, {"hips": 0.5}, {"hips": "said so"}), height=9.0)
    footplant.save(tmp_path / "odd.footplant", replace(clip, character=odd))
    assert footplant.load(tmp_path / "odd.footplant").character.height == 9.0
    assert dict(footplant.load(tmp_path / "odd.footplant").character.roles.joints) == {"hips": (3,)}
    footplant.save(tmp_path / "none.footplant", replace(clip, character=Character(clip.character.skeleton)))
    assert footplant.load(tmp_path / "none.footplant").character.roles is None
    # corrections given by the caller win
    footplant.save(tmp_path / "walk.footplant", clip)
    (tmp_path / "roles.toml").write_text('[roles]\nhead = "Neck"\n')
    corrected = footplant.load(tmp_path / "walk.footplant", roles=tmp_path / "roles.toml").character
    assert corrected.skeleton.names[corrected.roles["head"]] == "Neck"
    assert corrected.skeleton.names[corrected.roles["hips"]] == "Hips"
    forced = footplant.load(tmp_path / "walk.footplant", units="cm")
    assert forced.character.height == pytest.approx(clip.character.height / 100, rel=0.01)
    assert np.allclose(forced.motion.root, clip.motion.root / 100)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.text(max_size=20), st.integers(1, 4), st.booleans())
def test_random_characters_round_trip(seed, frames, name, takes, many):
    character = rich_character(seed, name)
    clips = tuple(rich_clip(seed + number, f"{name}{number}", frames, character) for number in range(takes))
    figures = (clips, (rich_clip(seed + 50, "other"),)) if many else (clips,)
    values = ({"a": [1, 2.5, None, True, {"b": name}]},)
    out = _bytes(Project(figures, values, values * 2))
    again = project.read.Reader("x.footplant", out).project()
    assert (again.constraints, again.edits) == (values, values * 2)
    assert _bytes(again) == out
    for before, after in zip(figures, again.figures, strict=True):
        for one, other in zip(before, after, strict=True):
            assert_same_clip(one, other)
        assert [take.name for take in after[0].takes] == [clip.name for clip in before]


def _bytes(content: Project) -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return save_project(Path(folder, "a.footplant"), content).read_bytes()


def unpack(path: Path) -> tuple[dict, dict[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("project.json")), members


def pack(path: Path, index: dict, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("project.json", json.dumps(index))
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def test_takes_share_common_arrays(tmp_path):
    character = rich_character()
    clips = [rich_clip(seed, f"take {seed}", 3 + seed, character) for seed in range(3)]
    elsewhere = replace(character, skeleton=character.skeleton.scaled(1.5))
    clips.append(replace(rich_clip(9, "moved", 4, elsewhere)))
    own = replace(clips[0].motion, skeleton=character.skeleton.scaled(2.0))
    clips.append(Clip(own, character, "own bones"))
    footplant.save(tmp_path / "a.footplant", clips[0], takes=clips)
    index, members = unpack(tmp_path / "a.footplant")
    assert len(index["characters"]) == 2
    assert sum(name.endswith("skin_vertices.npy") for name in members) == 1
    for number, clip in enumerate(load_takes(tmp_path / "a.footplant")):
        assert_same_clip(clips[number], clip)
        assert clip.take == number
    assert_same_clip(clips[3], footplant.load(tmp_path / "a.footplant", take="moved"))
    # the clip replaces its own take
    edited = replace(footplant.load(tmp_path / "a.footplant", take=2), name="edited")
    footplant.save(tmp_path / "b.footplant", edited, takes=clips)
    assert [take.name for take in footplant.load(tmp_path / "b.footplant").takes] == [
        "take 0", "take 1", "edited", "moved", "own bones",
    ]  # fmt: skip


def test_further_characters_are_saved_with_all_their_takes(tmp_path):
    first, second = rich_character(1, "Ann"), rich_character(2, "Bob")
    bobs = [rich_clip(10 + take, f"take {take}", 4, second) for take in range(2)]
    anns = [replace(rich_clip(take, f"take {take}", 4, first), others=(bobs[min(take, 1)],)) for take in range(3)]
    footplant.save(tmp_path / "a.footplant", anns[0], takes=anns)
    found = load_project(tmp_path / "a.footplant")
    assert [[clip.name for clip in figure] for figure in found.figures] == [
        ["take 0", "take 1", "take 2"], ["take 0", "take 1"],
    ]  # fmt: skip
    bob = footplant.load(tmp_path / "a.footplant", figure="Bob", take=1)
    assert_same_clip(bobs[1], bob)
    assert_same_clip(anns[0], footplant.load(tmp_path / "a.footplant"))
    assert_same_clip(bobs[0], footplant.load(tmp_path / "a.footplant").others[0])


def test_unknown_content_is_preserved(tmp_path):
    footplant.save(tmp_path / "a.footplant", rich_clip())
    index, members = unpack(tmp_path / "a.footplant")
    places = ["", "characters.0", "characters.0.skeleton", "characters.0.limits", "characters.0.skin",
              "characters.0.source", "characters.0.roles.hips", "characters.0.contacts.left_heel", "figures.0",
              "figures.0.takes.0"]  # fmt: skip

    def at(document: dict, place: str):
        for key in filter(None, place.split(".")):
            document = document[int(key) if key.isdigit() else key]
        return document

    for place in places:
        at(index, place)["someone:thing"] = {"of": place, "array": "someone/array.npy"}
    root = index["figures"][0]["takes"][0]["root"]
    index["someone:root"] = [root]
    index["version"] = "1.7"
    members |= {"someone/array.npy": b"not even an array", "notes.txt": b"hello"}
    pack(tmp_path / "b.footplant", index, members)
    clip = footplant.load(tmp_path / "b.footplant")
    assert clip.notes == ("the project has version 1.7, newer than 1.0; unknown content is preserved",)
    footplant.save(tmp_path / "c.footplant", replace(clip, motion=clip.motion[:2]))
    save_project(tmp_path / "d.footplant", load_project(tmp_path / "b.footplant"))
    for name in "cd":
        saved, kept = unpack(tmp_path / f"{name}.footplant")
        assert saved["version"] == "1.7"
        for place in places:
            assert at(saved, place)["someone:thing"] == {"of": place, "array": "someone/array.npy"}
        assert (kept["someone/array.npy"], kept["notes.txt"]) == (b"not even an array", b"hello")
        assert kept[root] == members[root]
    save_project(tmp_path / "e.footplant", load_project(tmp_path / "d.footplant"))
    assert (tmp_path / "e.footplant").read_bytes() == (tmp_path / "d.footplant").read_bytes()
    assert len(footplant.load(tmp_path / "c.footplant").motion) == 2


def test_constraints_and_edits_are_kept_with_a_clip(tmp_path):
    values = ({"kind": "plant", "frames": [1, 5]},)
    save_project(tmp_path / "a.footplant", replace(Project.of(rich_clip()), constraints=values, edits=values))
    footplant.save(tmp_path / "b.footplant", footplant.load(tmp_path / "a.footplant"))
    again = load_project(tmp_path / "b.footplant")
    assert (again.constraints, again.edits) == (values, values)


@pytest.mark.parametrize(
    ("value", "where"),
    [({"a": np.float64(1).reshape(1)}, r"constraints\[0\]\.a"), ({"a": [float("nan")]}, r"constraints\[0\]\.a\[0\]"),
     ({3: 4}, r"constraints\[0\]: expected string keys, got 3")],
)  # fmt: skip
def test_values_that_json_lacks_are_refused(tmp_path, value, where):
    with pytest.raises(FormatError, match=where):
        save_project(tmp_path / "a.footplant", Project(((rich_clip(),),), (value,)))
    assert not list(tmp_path.iterdir())


def test_other_versions(tmp_path):
    footplant.save(tmp_path / "a.footplant", rich_clip())
    index, members = unpack(tmp_path / "a.footplant")
    for version, message in (("2.0", r"expected version 1\.x, got 2\.0; a newer"), ("0.9", r"got 0\.9"),
                             ("one", "two numbers")):  # fmt: skip
        path = pack(tmp_path / "b.footplant", index | {"version": version}, members)
        with pytest.raises(FormatError, match=rf"b\.footplant: version: .*{message}"):
            footplant.load(path)
    path = pack(tmp_path / "b.footplant", index | {"format": "other"}, members)
    with pytest.raises(FormatError, match="format: expected 'footplant project', got 'other'"):
        footplant.load(path)
    with pytest.raises(FormatError, match="no such file"):
        load_project(tmp_path / "gone.footplant")


BROKEN = [
    ("characters", [], "an index below 0"),
    ("characters.0.skeleton", None, "expected the character's joints"),
    ("characters.0.skeleton.joints.1", 7, r"joints\[1\]: expected a name, got 7"),
    ("characters.0.skeleton.joints.1", "joint_0", "unique joint names"),
    ("characters.0.skeleton.parents.2", 2, "the parent of joint 2"),
    ("characters.0.skeleton.parents.2", 1.5, r"parents\[2\]: expected -1 or a joint"),
    ("characters.0.skeleton.offsets", "characters/0/gone.npy", "expected this member in the zip file"),
    ("characters.0.skeleton.offsets", "characters/0/rest.npy", r"floats of shape \(12, 3\), got float64 of shape"),
    ("characters.0.skeleton.end_parents.0", 99, "an index below 12"),
    ("characters.0.roles.hips.joints", [], "at least one joint"),
    ("characters.0.roles.hips.joints", [12], "an index below 12"),
    ("characters.0.roles.hips.confidence", "high", "a finite number from 0"),
    ("characters.0.roles.hips", None, "expected the joints of the role"),
    ("characters.0.contacts.left_heel.offset", [1, 2], "3 numbers"),
    ("characters.0.contacts.left_heel", None, "a joint and an offset"),
    ("characters.0.skin.joints", "characters/0/skin_weights.npy", "whole numbers"),
    ("characters.0.skin.faces", "characters/0/skin_vertices.npy", "whole numbers"),
    ("characters.0.source.extension", "../../x", "an extension such as"),
    ("characters.0.height", -1, "a finite number from 0"),
    ("characters.0.name", None, "a string"),
    ("figures", [], "at least one character"),
    ("figures.0.takes", [], "at least one take"),
    ("figures.0.takes.0.fps", 0, "positive number of frames a second"),
    ("figures.0.takes.0.fps", "fast", "a finite number"),
    ("figures.0.takes.0.frames", 10**12, "of shape"),
    ("figures.0.takes.0.rotations", "characters/0/source.xyz", "expected a .npy file"),
    ("figures.0.takes.0.character", 1, "an index below 1"),
    ("constraints", [3], "expected an object"),
    ("edits", {}, "expected a list"),
]


@pytest.mark.parametrize(("place", "value", "message"), BROKEN, ids=[f"{p}={v}"[:50] for p, v, _ in BROKEN])
def test_damaged_projects_say_where(tmp_path, place, value, message):
    clip = rich_clip()
    names = tuple(f"joint_{joint}" for joint in range(12))
    skeleton = replace(clip.character.skeleton, names=names)
    clip = Clip(replace(clip.motion, skeleton=skeleton), replace(clip.character, skeleton=skeleton))
    footplant.save(tmp_path / "a.footplant", clip)
    index, members = unpack(tmp_path / "a.footplant")
    *above, last = [int(key) if key.isdigit() else key for key in place.split(".")]
    target = index
    for key in above:
        target = target[key]
    target[last] = value
    path = pack(tmp_path / "b.footplant", index, members)
    with pytest.raises(FormatError, match=message) as caught:
        footplant.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    with pytest.raises(FormatError, match=message):
        load_project(path)


def test_arrays_that_do_not_fit_are_refused(tmp_path):
    footplant.save(tmp_path / "a.footplant", rich_clip())
    index, members = unpack(tmp_path / "a.footplant")

    def refuse(name: str, array, message: str) -> None:
        out = io.BytesIO()
        np.save(out, array)
        path = pack(tmp_path / "b.footplant", index, members | {name: out.getvalue()})
        with pytest.raises(FormatError, match=message):
            load_project(path)

    refuse("characters/0/masses.npy", np.full(12, np.nan), "masses: expected finite numbers")
    refuse("characters/0/limits_upper.npy", np.full((12, 3), np.nan), "limits.upper: expected finite")
    refuse("characters/0/reference.npy", np.ones((12, 4)), "reference: expected unit quaternions")
    refuse("characters/0/skin_faces.npy", np.full((7, 3), 20), "faces: expected whole numbers from 0 to 19, got 20")
    refuse("characters/0/skin_joints.npy", np.full((20, 3), -1), "skin.joints: expected whole numbers from 0 to 11")
    refuse("figures/0/takes/0/rotations.npy", np.ones((5, 12, 4)), "expected unit quaternions")
    refuse("figures/0/takes/0/root.npy", np.zeros((6, 3)), r"root: expected an array of floats of shape \(5, 3\)")
    # other widths and byte orders are fine
    half = io.BytesIO()
    np.save(half, np.asfortranarray(np.ones((5, 3), ">f4")))
    path = pack(tmp_path / "c.footplant", index, members | {"figures/0/takes/0/root.npy": half.getvalue()},
                zipfile.ZIP_DEFLATED)  # fmt: skip
    assert np.array_equal(footplant.load(path).motion.root, np.ones((5, 3)))


def test_a_thousand_takes_of_one_array_share_memory(tmp_path, monkeypatch):
    footplant.save(tmp_path / "a.footplant", rich_clip(frames=2000))
    index, members = unpack(tmp_path / "a.footplant")
    index["figures"][0]["takes"] *= 1000
    path = pack(tmp_path / "b.footplant", index, members)
    with pytest.raises(FormatError, match="more bytes from a file of this size"):
        load_project(path)
    # one of them is as good as any
    assert len(footplant.load(path, take=999).motion) == 2000


def test_a_character_keeps_its_file(tmp_path):
    made = made_figure()
    made.json["materials"] = [{"name": "velvet"}]
    (tmp_path / "a.glb").write_bytes(made.glb())
    clips = list(load_takes(tmp_path / "a.glb"))
    footplant.save(tmp_path / "a.footplant", clips[0], takes=clips)
    assert load_project(tmp_path / "a.footplant").clip.character.source.carries == ("materials", "morph targets")
    again = list(load_takes(tmp_path / "a.footplant"))
    footplant.save(tmp_path / "b.glb", again[0], takes=again)
    assert (tmp_path / "b.glb").read_bytes() == (tmp_path / "a.glb").read_bytes()
    # through a second project, and with an edited motion
    footplant.save(tmp_path / "c.footplant", again[0], takes=again)
    third = footplant.load(tmp_path / "c.footplant")
    moved = replace(third, motion=third.motion.transformed([1, 0, 0, 0], [1.0, 0, 0]))
    footplant.save(tmp_path / "c.glb", moved, takes=again)
    written = footplant.load(tmp_path / "c.glb")
    assert written.character.source.document.json["materials"] == [{"name": "velvet"}]
    assert [take.name for take in written.takes] == [take.name for take in clips[0].takes]
    want = Kinematics(clips[0].motion).positions + [1.0, 0, 0]
    assert np.abs(Kinematics(written.motion).positions - want).max() < 1e-5
    footplant.save(tmp_path / "bare.footplant", clips[0], sources=False)
    assert load_project(tmp_path / "bare.footplant").clip.character.source is None
    # a .gltf file with an external buffer becomes one file
    (tmp_path / "plain.gltf").write_bytes(made.gltf())
    footplant.save(tmp_path / "plain.footplant", footplant.load(tmp_path / "plain.gltf"))
    source = load_project(tmp_path / "plain.footplant").clip.character.source
    assert source.extension == ".glb"
    assert source.data[:4] == b"glTF"


def test_a_damaged_packed_file_is_reported_when_used(tmp_path):
    clip = footplant.load("sample:walk")
    broken = replace(clip.character, source=PackedSource("gltf", ".glb", b"glTF broken", ()))
    footplant.save(tmp_path / "a.footplant", replace(clip, character=broken))
    again = footplant.load(tmp_path / "a.footplant")
    footplant.save(tmp_path / "a.bvh", again)
    with pytest.raises(FormatError, match="expected a GLB header"):
        footplant.save(tmp_path / "a.glb", again)


def test_projects_of_nothing_are_refused():
    with pytest.raises(footplant.MotionError, match="at least one character"):
        Project(())
    assert Extra().members == {}


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_bytes_raise_only_format_errors(data):
    sound = _SOUND[0]
    damaged = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 5))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    damaged = damaged[: data.draw(st.sampled_from([len(damaged), len(damaged) - 7]))]
    try:
        for figure in parse("x.footplant", bytes(damaged)):
            figure.read_take(0)
    except FormatError:
        return


_SOUND = [_bytes(Project.of(rich_clip(frames=2)))]


def test_the_reader_in_the_docs_reads_a_project(tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "project_file.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks[0], "docs/project_file.md", "exec"), {})
    reader = blocks[1]
    assert "footplant" not in reader
    assert len(reader.strip().splitlines()) <= 18
    space: dict = {}
    exec(compile(reader, "docs/project_file.md", "exec"), space)
    found = list(space["read"]("walk.footplant"))
    motion: Motion = footplant.load("sample:walk").motion
    assert len(found) == 1
    assert tuple(found[0]["names"]) == motion.skeleton.names
    assert np.array_equal(found[0]["rotations"], motion.rotations)
    assert np.array_equal(found[0]["offsets"], motion.skeleton.offsets)
