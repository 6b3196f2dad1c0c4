"""Writing BVH: round trips of real and random files, and characters from other formats."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from bvh_text import one, simple, trees, write
from conftest import shared_files
from footplant import rotation
from footplant.clip import Clip, Conversion
from footplant.errors import FormatError
from footplant.io import bvh
from footplant.io.bvh.write import PRECISION
from footplant.io.character import RawCharacter
from footplant.io.conversion import UP_TURNS
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.samples import mannequin
from footplant.skeleton import Character
from random_figures import random_motion
from thorough import thorough

REAL = shared_files("bvh/*/*.bvh")


def clip_of(figure: RawCharacter, **fields) -> Clip:
    """A figure as a clip in its own units and axes."""
    assert figure.read_take is not None
    motion = figure.read_take(0)
    return Clip(motion, Character(motion.skeleton), layout=figure.layout, **fields)


def bare(motion: Motion, **fields) -> Clip:
    """A motion that comes from no file."""
    return Clip(motion, Character(motion.skeleton), **fields)


def again(clip: Clip, path, positions="auto", **options) -> Clip:
    """Return the clip written and read back."""
    bvh.save(path, clip, **options)
    return clip_of(bvh.load(path, positions=positions)[0])


def places(motion: Motion):
    """Return world positions of joints and end sites, by name."""
    kinematics = Kinematics(motion)
    ends = [f"end of {motion.skeleton.names[joint]} {n}" for n, joint in enumerate(motion.skeleton.end_parents)]
    points = np.concatenate([kinematics.positions, kinematics.ends], axis=1)
    return dict(zip([*motion.skeleton.names, *ends], np.moveaxis(points, 1, 0), strict=True))


def largest_difference(a: Motion, b: Motion) -> float:
    """Return the largest difference of world positions of joints and end sites."""
    first, second = places(a), places(b)
    assert first.keys() == second.keys()
    return max(np.abs(first[name] - second[name]).max() for name in first)


def rounding(motion: Motion) -> tuple[float, float]:
    """Return how far rounding to the written decimals can rotate a joint (degrees) and move a joint or end site.

    A channel is off by h = 0.5·10⁻⁷ at most, so a rotation of three channels by 3h, and a joint n levels below the root
    by 3h(n + 1) in world space. Each offset adds its length times its parent's rotation error, and h on each axis.
    """
    h, skeleton = 0.5 * 10.0**-PRECISION, motion.skeleton
    offsets = skeleton.offsets[None] if motion.offsets is None else motion.offsets
    lengths = np.linalg.norm(offsets, axis=-1).max(axis=0)
    level, moved = np.zeros(len(skeleton)), np.full(len(skeleton), np.sqrt(3) * h)
    for joint, parent in enumerate(skeleton.parents.tolist()):
        if parent >= 0:
            level[joint] = level[parent] + 1
            moved[joint] += moved[parent] + np.radians(3 * h) * level[joint] * lengths[joint]
    tips = np.linalg.norm(skeleton.end_offsets, axis=-1)
    ends = moved[skeleton.end_parents] + np.radians(3 * h) * (level[skeleton.end_parents] + 1) * tips
    return 3 * h, max(moved.max(), ends.max(initial=0.0))


def assert_same(a: Clip, b: Clip) -> None:
    """Assert the same character to 1e-6 in file units and degrees, in the same layout."""
    assert b.motion.skeleton.names == a.motion.skeleton.names
    assert b.motion.skeleton.parents.tolist() == a.motion.skeleton.parents.tolist()
    assert b.motion.skeleton.end_parents.tolist() == a.motion.skeleton.end_parents.tolist()
    assert np.abs(b.motion.skeleton.offsets - a.motion.skeleton.offsets).max() < 1e-6
    assert np.abs(b.motion.root - a.motion.root).max(initial=0) < 1e-6
    assert np.degrees(rotation.angle(a.motion.rotations, b.motion.rotations)).max(initial=0) < 1e-6
    assert largest_difference(a.motion, b.motion) < 1e-6 * max(1.0, np.abs(a.motion.skeleton.offsets).max())
    assert b.layout.channels == a.layout.channels
    assert b.layout.raw_names == a.layout.raw_names
    assert b.layout.frame_time == a.layout.frame_time
    assert b.layout.added == a.layout.added
    assert b.motion.fps == a.motion.fps


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_files_round_trip(path, tmp_path):
    first = clip_of(bvh.load(path)[0])
    second = again(first, tmp_path / "again.bvh")
    assert_same(first, second)
    # nothing is lost by writing once more
    assert bvh.save(tmp_path / "third.bvh", second) is None
    third = clip_of(bvh.load(tmp_path / "third.bvh")[0])
    assert np.abs(third.motion.root - second.motion.root).max() < 1e-6


@settings(max_examples=thorough(60, 1000), deadline=None, suppress_health_check=list(HealthCheck))
@given(trees())
def test_random_files_round_trip(tmp_path, tree):
    """Read with a given meaning of position channels, write, and read with automatic detection."""
    figure = one(write(*tree), positions="replace")
    if not figure.takes:
        return
    first = clip_of(figure)
    second = again(first, tmp_path / "again.bvh")
    turned, moved = rounding(first.motion)
    slack = 1e-9  # of float arithmetic
    assert np.degrees(rotation.angle(first.motion.rotations, second.motion.rotations)).max() < turned + slack
    assert largest_difference(first.motion, second.motion) < moved + slack
    # duplicate channels are not written, and a joint whose OFFSET is ambiguous may get more
    for before, after in zip(first.layout.channels, second.layout.channels, strict=True):
        assert len(set(before)) < len(before) or after[: len(before)] == before


def test_text_round_trips_exactly(tmp_path):
    text = simple("0 1 0 10 20.5 30 5 6 7\n-0.25 1 0 10 21.123456 30 5 -6 7\n", time="0.0416670")
    bvh.save(tmp_path / "again.bvh", clip_of(one(text)))
    assert (tmp_path / "again.bvh").read_text() == text


def test_odd_names_round_trip_as_bytes(tmp_path):
    text = simple().encode().replace(b"Hips", b"H\xfcfte links").replace(b"Spine", b"H\xfcfte links")
    bvh.save(tmp_path / "again.bvh", clip_of(one(text)))
    assert (tmp_path / "again.bvh").read_bytes() == text


@pytest.mark.parametrize("order", ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"])
@pytest.mark.parametrize("middle", [90.0, -90.0, 270.0, 89.99999, 90.0000001, 89.9, 100.0, 180.0, -170.0])
def test_gimbal_lock(order, middle, tmp_path):
    rng = np.random.default_rng(7)
    rows = rng.uniform(-180, 180, size=(20, 3))
    rows[:, 1] = middle
    text = write([-1], np.zeros((1, 3)), [[f"{axis}rotation" for axis in order]], [[]], rows)
    assert_same(clip_of(one(text)), again(clip_of(one(text)), tmp_path / "again.bvh"))


def test_angles_are_continuous(tmp_path):
    rows = np.stack([np.linspace(0, 2000, 400), 85 * np.sin(np.arange(400) / 9), np.linspace(0, -1500, 400)], axis=1)
    text = write([-1], np.zeros((1, 3)), [["Yrotation", "Xrotation", "Zrotation"]], [[]], rows)
    bvh.save(tmp_path / "again.bvh", clip_of(one(text)))
    written = np.loadtxt(tmp_path / "again.bvh", skiprows=9)
    assert np.abs(written - rows).max() < 1e-6


def test_a_joint_gets_the_channels_that_an_edit_needs(tmp_path):
    text = write([-1, 0, 1, 2], np.ones((4, 3)), [["Xrotation"], [], ["Yrotation", "Zrotation"], ["Zrotation"]],
                 [[]] * 4, np.random.default_rng(0).normal(scale=90, size=(5, 4)))  # fmt: skip
    clip = clip_of(one(text))
    assert again(clip, tmp_path / "again.bvh").layout.channels == clip.layout.channels
    rng = np.random.default_rng(1)
    edited = replace(clip, motion=clip.motion + 0.1 * rng.normal(size=(5, 5, 3)))
    back = again(edited, tmp_path / "edited.bvh")
    assert largest_difference(edited.motion, back.motion) < 1e-6
    assert back.layout.channels[1] == ("Zrotation", "Xrotation", "Yrotation")
    assert back.layout.channels[2] == ("Yrotation", "Zrotation", "Xrotation")


def test_a_changed_frame_rate_is_written(tmp_path):
    clip = clip_of(one(simple("0 1 0 10 20 30 5 6 7\n" * 10, time="0.0083333")))
    faster = replace(clip, motion=clip.motion.resample(240))
    assert again(faster, tmp_path / "again.bvh").motion.fps == 240
    assert again(clip, tmp_path / "again.bvh").layout.frame_time == "0.0083333"


def test_units_and_axes_of_the_file_are_kept(tmp_path):
    channels = [[*bvh.write.POSITIONS, *bvh.write.ROTATIONS], ["Yrotation", "Xrotation", "Zrotation"]]
    rows = np.random.default_rng(0).uniform(30, 90, size=(4, 9))
    figure = one(write([-1, 0], np.array([[0, 0, 1.0], [0, 0, 50]]), channels, [[], [[0, 0, 9.0]]], rows))
    raw = clip_of(figure)
    turn = UP_TURNS["z"]
    scaled = raw.motion.scaled(0.01)
    turned = replace(scaled.transformed(turn), skeleton=scaled.skeleton.turned(turn))
    conversion = Conversion("cm", 0.01, "z", turn=tuple(turn.tolist()))
    inside = replace(raw, motion=turned, conversion=conversion)
    assert_same(raw, again(inside, tmp_path / "again.bvh"))
    # forced to metres and y up, the rest pose is upright and nothing else has changed
    upright = again(inside, tmp_path / "upright.bvh", units="m", up="y")
    assert np.abs(upright.motion.skeleton.offsets[1] - [0, 0.5, 0]).max() < 1e-9
    assert np.abs(upright.motion.skeleton.end_offsets - [0, 0.09, 0]).max() < 1e-9
    assert largest_difference(upright.motion, turned) < 1e-6


def test_a_character_with_rest_rotations_keeps_its_rest_pose(tmp_path):
    motion = random_motion(frames=5, joints=12, seed=4)
    back = again(bare(motion), tmp_path / "new.bvh").motion.scaled(0.01)
    assert sorted(back.skeleton.names) == sorted(motion.skeleton.names)
    expected, got = places(motion), places(back)
    for name in motion.skeleton.names:
        assert np.abs(expected[name] - got[name]).max() < 1e-6
    rest = dict(zip(motion.skeleton.names, motion.skeleton.rest_world[0] - motion.skeleton.offsets[0], strict=True))
    for name, place in zip(back.skeleton.names, back.skeleton.rest_world[0], strict=True):
        assert np.abs(place - rest[name]).max() < 1e-6


def test_moving_bones_get_position_channels(tmp_path):
    motion = random_motion(frames=5, joints=6, seed=2)
    offsets = np.repeat(motion.skeleton.offsets[None], 5, axis=0)
    offsets[:, 3] += np.random.default_rng(0).normal(scale=0.05, size=(5, 3))
    motion = replace(motion, offsets=offsets)
    back = again(bare(motion), tmp_path / "new.bvh", positions="replace")
    six = [name for name, words in zip(back.layout.names, back.layout.channels, strict=True) if len(words) == 6]
    assert sorted(six) == sorted([motion.skeleton.names[0], motion.skeleton.names[3]])
    expected, got = places(motion), places(back.motion.scaled(0.01))
    for name in motion.skeleton.names:
        assert np.abs(expected[name] - got[name]).max() < 1e-6


def test_a_new_file_is_in_centimetres_with_end_sites(tmp_path):
    skeleton = mannequin.skeleton()
    motion = Motion(skeleton, np.tile(skeleton.offsets[0], (3, 1)), np.tile(skeleton.rest, (3, 1, 1)), 120.0)
    back = again(bare(motion), tmp_path / "new.bvh")
    assert back.motion.root[0].tolist() == pytest.approx([0, 94, 0])
    assert back.layout.channels[0] == ("Xposition", "Yposition", "Zposition", "Zrotation", "Xrotation", "Yrotation")
    assert set(back.layout.channels[1:]) == {("Zrotation", "Xrotation", "Yrotation")}
    leaves = {joint for joint, below in enumerate(back.motion.skeleton.children) if not below}
    assert leaves <= set(back.motion.skeleton.end_parents.tolist())
    assert back.motion.fps == 120.0


def test_a_lying_character_is_not_misread_as_adding_its_offset(tmp_path):
    text = simple("0 3 0 10 20 30 5 6 7\n").replace("OFFSET 0 0 0", "OFFSET 0 95 0")
    clip = clip_of(one(text, positions="replace"))
    assert again(clip, tmp_path / "again.bvh").motion.root.tolist() == [[0, 3, 0]]


@pytest.mark.parametrize("scale", [0.01, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("seed", range(5))
def test_arbitrarily_moving_bones_are_unambiguous(scale, seed, tmp_path):
    motion = random_motion(frames=4, joints=6, seed=seed)
    rng = np.random.default_rng(seed)
    offsets = np.repeat(motion.skeleton.offsets[None], 4, axis=0)
    offsets[:, 1:4] = rng.normal(size=(3, 3)) * rng.integers(0, 2, (3, 1)) + scale * rng.normal(size=(4, 3, 3))
    motion = replace(motion, offsets=offsets)
    expected, got = places(motion), places(again(bare(motion), tmp_path / "new.bvh").motion.scaled(0.01))
    for name in motion.skeleton.names:
        assert np.abs(expected[name] - got[name]).max() < 1e-6


@pytest.mark.parametrize("positions", ["add", "replace"])
def test_the_positions_option_is_kept_on_saving(positions, tmp_path):
    six = [*bvh.write.POSITIONS, *bvh.write.ROTATIONS]
    rows = np.random.default_rng(0).normal(scale=20, size=(3, 12))
    for inner in ([0.0, 0.0, 0.0], [0.0, 10.0, 0.0], [50.0, 5.0, 0.0]):
        rows[:, 6:9] = inner
        text = write([-1, 0], np.array([[0, 90.0, 0], [0, 10, 0]]), [six, six], [[], []], rows)
        clip = clip_of(one(text, positions=positions))
        assert largest_difference(clip.motion, again(clip, tmp_path / "again.bvh").motion) < 1e-6


def test_further_characters_are_further_roots_in_order(tmp_path):
    text = simple("1 2 3 4 5 6 7 8 9 10 20 30 40 50 60 70 80 90\n")
    block = text[text.index("ROOT") : text.index("MOTION")]
    text = text.replace("MOTION", block.replace("Hips", "Other") + "MOTION")
    first, second = (clip_of(figure) for figure in bvh.parse(text.encode()))
    bvh.save(tmp_path / "again.bvh", replace(second, others=(first,)))
    assert (tmp_path / "again.bvh").read_text() == text
    longer = replace(first, motion=first.motion[[0, 0]])
    with pytest.raises(FormatError, match="for all characters"):
        bvh.save(tmp_path / "again.bvh", replace(second, others=(longer,)))


def test_rest_rotations_after_offset_round_trip(tmp_path):
    text = simple().replace("OFFSET 0 0 0", "OFFSET 0 0 0 1 2 3").replace("OFFSET 0 10 0", "OFFSET 0 10 0 4 5 6")
    bvh.save(tmp_path / "again.bvh", clip_of(one(text)))
    assert (tmp_path / "again.bvh").read_text() == text


def test_names_that_bvh_cannot_represent(tmp_path):
    motion = random_motion(frames=1, joints=3)
    skeleton = replace(motion.skeleton, names=("a\nb", "{c}", "  "))
    back = again(bare(replace(motion, skeleton=skeleton)), tmp_path / "new.bvh")
    assert set(back.motion.skeleton.names) == {"a_b", "_c_", "joint"}


def test_no_frames_and_a_long_chain(tmp_path):
    count = 1500
    skeleton = replace(
        random_motion(joints=count).skeleton, parents=np.arange(-1, count - 1), rest=rotation.identity(count)
    )
    empty = Motion(skeleton, np.zeros((0, 3)), np.zeros((0, count, 4)))
    bvh.save(tmp_path / "new.bvh", bare(empty))
    (figure,) = bvh.load(tmp_path / "new.bvh")
    assert figure.takes == ()
    assert len(figure.skeleton) == count


@pytest.mark.parametrize("options", [{"units": "parsec"}, {"units": -1.0}, {"up": "w"}, {"precision": 99}])
def test_invalid_options(options, tmp_path):
    with pytest.raises(FormatError, match="expected"):
        bvh.save(tmp_path / "new.bvh", bare(random_motion()), **options)
    assert list(tmp_path.iterdir()) == []


def test_numbers_too_large_to_write(tmp_path):
    motion = random_motion(frames=2)
    with pytest.raises(FormatError, match="expected numbers below"):
        bvh.save(tmp_path / "new.bvh", bare(replace(motion, root=motion.root * 1e15)))
