"""Format dispatch, unit and axis conversion, and atomic file writing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import footplant
from footplant import FormatError, Kinematics, Skin, Take, atomic, rotation
from footplant.io import conversion, formats
from footplant.io.character import RawCharacter
from footplant.samples import mannequin
from random_figures import random_motion, random_skeleton

TWO_PEOPLE = """HIERARCHY
ROOT Ann
{{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Ann_spine {{ OFFSET 0 50 0 CHANNELS 3 Zrotation Xrotation Yrotation End Site {{ OFFSET 0 40 0 }} }}
}}
ROOT Bob
{{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  End Site {{ OFFSET 0 40 0 }}
}}
MOTION
Frames: 2
Frame Time: 0.04
{rows}
"""


@pytest.fixture
def two_people(tmp_path):
    path = tmp_path / "two.bvh"
    row = "1 90 2 0 0 0 10 20 30 5 80 6 0 45 0"
    path.write_text(TWO_PEOPLE.format(rows=f"{row}\n{row}"))
    return path


def test_the_largest_character_is_loaded_with_the_others(two_people):
    clip = footplant.load(two_people)
    assert clip.motion.skeleton.names == ("Ann", "Ann_spine")
    assert [other.motion.skeleton.names for other in clip.others] == [("Bob",)]
    assert any("2 characters" in note for note in clip.notes)
    assert footplant.load(two_people, figure="Bob").motion.skeleton.names == ("Bob",)
    assert footplant.load(two_people, figure=1).motion.skeleton.names == ("Bob",)
    with pytest.raises(FormatError, match=r"expected a figure among: 0 'Ann', 1 'Bob'; got 'Eve'"):
        footplant.load(two_people, figure="Eve")


def test_units_and_up_can_be_forced(two_people):
    clip = footplant.load(two_people, units="inch", up="z")
    assert (clip.conversion.units, clip.conversion.up, clip.conversion.declared) == ("inch", "z", True)
    assert np.allclose(clip.motion.root[0], np.array([1.0, 2.0, -90.0]) * 0.0254)
    assert footplant.load(two_people, units=0.5).conversion.scale == 0.5
    with pytest.raises(FormatError, match="expected units among m, dm, cm"):
        footplant.load(two_people, units="parsec")
    with pytest.raises(FormatError, match="expected an up axis among"):
        footplant.load(two_people, up="w")
    with pytest.raises(FormatError, match="positive number of metres"):
        footplant.load(two_people, units=-1.0)


def test_missing_and_unknown_files(tmp_path):
    with pytest.raises(FormatError, match=r"gone\.bvh: no such file"):
        footplant.load(tmp_path / "gone.bvh")
    with pytest.raises(FormatError, match=r"expected a file ending in .*\.bvh.*got \.xyz"):
        footplant.load(tmp_path / "clip.xyz")
    with pytest.raises(FormatError):
        footplant.load(tmp_path.with_suffix(".bvh"))
    (tmp_path / "folder.bvh").mkdir()
    with pytest.raises(FormatError, match=r"folder\.bvh"):
        footplant.load(tmp_path / "folder.bvh")


@pytest.mark.parametrize("extension", sorted(formats()))
def test_git_lfs_pointers_are_reported(tmp_path, extension):
    path = tmp_path / f"clip{extension}"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    with pytest.raises(FormatError, match=r"got a Git LFS pointer: `git lfs pull` fetches the file"):
        (footplant.load if hasattr(formats()[extension], "load") else footplant.load_markers)(path)


def test_a_missing_take_lists_the_available_ones(two_people):
    with pytest.raises(FormatError, match="expected a take among: 0 "):
        footplant.load(two_people, take=3)


@pytest.mark.parametrize("up", sorted(conversion.UP_TURNS))
def test_conversion_maps_up_to_y_and_is_undone(up):
    motion = random_motion()
    figure = RawCharacter(
        "figure", motion.skeleton, (Take("take", len(motion), 30.0),), lambda number: motion, scale=0.01, up=up
    )
    clip = conversion.clip_from_raw(figure, "clip.bvh")
    axis = rotation.AXES[up[-1]] * (-1.0 if up.startswith("-") else 1.0)
    before, after = Kinematics(motion).positions, Kinematics(clip.motion).positions
    assert np.allclose(after[..., 1], 0.01 * before @ axis, atol=1e-12)
    assert np.allclose(
        clip.motion.skeleton.rest_world[0][:, 1], 0.01 * motion.skeleton.rest_world[0] @ axis, atol=1e-12
    )
    back = conversion.undo_conversion(clip.motion, clip.conversion)
    assert np.allclose(Kinematics(back).positions, before, atol=1e-9)
    assert np.allclose(back.skeleton.offsets, motion.skeleton.offsets, atol=1e-9)


def test_implausible_units_are_kept_and_reported():
    skeleton = mannequin.skeleton()
    giant = conversion.clip_from_raw(RawCharacter("", skeleton.scaled(100.0), scale=1.0, up="y"), "giant.glb")
    assert giant.character.height == pytest.approx(
        100 * conversion.clip_from_raw(RawCharacter("", skeleton), "a").character.height
    )
    assert any("--units cm" in note for note in giant.notes)
    for factor in (0.3, 1.0, 1.7):
        figure = RawCharacter("", skeleton.scaled(factor), scale=1.0, up="y")
        assert not conversion.clip_from_raw(figure, "figure.glb").notes


def test_conversion_applies_to_the_skin():
    skeleton = random_skeleton()
    positions, rotations = skeleton.rest_world
    inverse_bind = np.tile(np.eye(4), (12, 1, 1))
    inverse_bind[:, :3, :3] = rotation.to_matrix(rotation.inverse(rotations))
    inverse_bind[:, :3, 3] = -rotation.rotate(rotation.inverse(rotations), positions)
    vertices = np.random.default_rng(0).normal(size=(12, 3))
    skin = Skin(vertices, np.zeros((0, 3)), np.arange(12)[:, None], np.ones((12, 1)), inverse_bind)
    clip = conversion.clip_from_raw(RawCharacter("figure", skeleton, scale=0.01, up="z", skin=skin), "figure.glb")
    moved, skeleton = clip.character.skin, clip.motion.skeleton
    homogeneous = np.concatenate([moved.vertices, np.ones((12, 1))], axis=1)
    local = np.einsum("vij,vj->vi", moved.inverse_bind, homogeneous)[:, :3]
    world = skeleton.rest_world[0] + rotation.rotate(skeleton.rest_world[1], local)
    assert np.allclose(world, moved.vertices, atol=1e-12)
    assert np.allclose(moved.vertices, 0.01 * vertices[:, [0, 2, 1]] * [1, 1, -1], atol=1e-12)


def test_a_failed_write_leaves_nothing(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("before")

    def write_half() -> None:
        with atomic.open_atomic(path, "w") as file:
            file.write("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert path.read_text() == "before"
    atomic.write_atomic(path, b"after")
    assert path.read_bytes() == b"after"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.txt"]
    with pytest.raises(FormatError, match="cannot write here"):
        atomic.write_atomic(tmp_path / "nowhere" / "out.txt", "text")


def test_a_killed_writer_leaves_the_old_file(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("before")
    program = (
        "import sys, time\nfrom footplant.atomic import open_atomic\n"
        "with open_atomic(sys.argv[1], 'w') as file:\n"
        "    file.write('x' * 100000); file.flush(); print('writing', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        os.kill(writer.pid, signal.SIGKILL)
    assert path.read_text() == "before"


def test_saving_needs_a_format_that_writes(tmp_path, monkeypatch):
    from types import ModuleType

    reader = ModuleType("reader")
    monkeypatch.setattr(footplant.io.registry, "find_format", lambda path: reader)
    with pytest.raises(FormatError, match="can be read but not written"):
        footplant.save(tmp_path / "clip.bvh", random_motion())


def test_saved_files_are_as_readable_as_any_other(tmp_path):
    atomic.write_atomic(tmp_path / "a", "text")
    (tmp_path / "b").write_text("text")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode
