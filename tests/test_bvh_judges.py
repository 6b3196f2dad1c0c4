"""Independent readers: they and we must agree on every joint position of real files."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from conftest import shared_files
from footplant.clip import Clip
from footplant.io import bvh
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character
from node_env import run_node
from thorough import thorough

LARGE = 1_000_000
"""Bytes; the reference readers take seconds for larger files, so large files of a common kind (CMU's) are skipped."""
REAL = [path for path in shared_files("bvh/*/*.bvh") if path.parent.name != "cmu" or path.stat().st_size < LARGE]
SOME = [path for path in REAL[::2] if path.stat().st_size < LARGE]
pytestmark = pytest.mark.skipif(not REAL, reason="the folder shared/data with real clips is not beside the repository")


def our_motion(path, positions="auto") -> Motion:
    figure = bvh.load(path, positions=positions)[0]
    assert figure.read_take is not None
    return figure.read_take(0)


def by_name(names, places) -> dict:
    return {name: places[:, joint] for joint, name in enumerate(names)}


def largest_difference(ours: Motion, frames, names, places) -> float:
    """Relative to the character's size: three.js uses float32."""
    mine = by_name(ours.skeleton.names, Kinematics(ours).positions[frames])
    theirs = by_name(names, np.asarray(places))
    assert mine.keys() == theirs.keys()
    size = np.abs(ours.skeleton.rest_world[0] - ours.skeleton.offsets[0]).max()
    return max(np.abs(mine[name] - theirs[name]).max() for name in mine) / size


def ask_three(motions: dict[Path, Motion], count: int = 8) -> None:
    """three.js reads the files; every joint must be where our motion has it.

    The last frame is not asked for: one file has a row more than it states, and three.js does not read it.
    """
    chosen = [np.linspace(0, max(len(motion) - 2, 0), count).astype(int) for motion in motions.values()]
    requests = [{"path": str(path), "frames": each.tolist()} for path, each in zip(motions, chosen, strict=True)]
    answers = run_node("bvh_positions.mjs", requests)
    for (path, motion), frames, answer in zip(motions.items(), chosen, answers, strict=True):
        assert largest_difference(motion, frames, answer["names"], answer["positions"]) < 1e-5, path


def test_three_js_agrees():
    """three.js adds OFFSET to every position channel, so it is asked about that reading of the files.

    The file with a rest pose after its OFFSETs is left out: three.js takes those numbers for the next keyword.
    """
    ask_three({path: our_motion(path, "add") for path in REAL if "soma" not in path.name})


def test_three_js_reads_our_files_correctly(tmp_path):
    """Files in our own layout mean the same to readers that add OFFSET and to those that replace it."""
    motions = {tmp_path / path.name: our_motion(path) for path in SOME}
    motions = {path: motion for path, motion in motions.items() if motion.offsets is None}
    for path, motion in motions.items():
        bvh.save(path, Clip(motion, Character(motion.skeleton)), units=1.0)
    ask_three(motions)


def pybvh_places(path):
    """Names and world positions (F, J, 3) by pybvh; it refuses position channels on inner joints and odd OFFSETs."""
    import pybvh

    theirs = pybvh.read_bvh_file(path, world_up="+y")
    return theirs.joint_names, np.asarray(theirs.joint_positions())


def pymotion_places(path):
    """The same with upc-pymotion, which places inner joints at OFFSET."""
    from pymotion.io.bvh import BVH
    from pymotion.ops.skeleton import fk

    reader = BVH()
    reader.load(str(path))
    rotations, positions, parents, offsets, _, _ = reader.get_data()
    return reader.data["names"], fk(rotations, positions[:, 0], offsets, parents)[0]


@pytest.mark.parametrize(("read", "tolerance"), [(pybvh_places, 1e-9), (pymotion_places, 1e-6)])
def test_python_readers_agree(read, tolerance):
    """On every file that they accept and whose inner joints stay at OFFSET, which is most of them."""
    agreed, asked = 0, SOME[:: thorough(2, 1)]
    for path in asked:
        ours = our_motion(path, "replace")
        if ours.offsets is not None:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                names, places = read(path)
        except (ValueError, KeyError, IndexError):
            continue
        # some truncate a file that states one frame less than it has
        frames = np.arange(min(len(ours), len(places)))
        assert len(ours) - len(frames) <= 1, path
        assert largest_difference(ours, frames, names, places[frames]) < tolerance, path
        agreed += 1
    assert agreed >= 0.75 * len(asked)
