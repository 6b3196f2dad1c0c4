"""Pictures: drawn for any clip, checked by their pixels."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from footplant import Clip, FormatError, Motion, Skeleton, plot, rotation, samples
from footplant.errors import SkeletonError
from footplant.kinematics import Kinematics
from footplant.motion import rest_motion
from footplant.plot import body, curves
from footplant.plot.view import choose_view
from footplant.samples.characters import load_character
from footplant.skeleton import Character, Skin

FRAMES, FPS = 60, 30.0


def stepping(distance: float = 4.0, direction=(0.0, 0.0, 1.0)) -> Clip:
    """A mannequin that swings its legs and moves on; the left leg flexes first."""
    character = load_character("mannequin")
    skeleton = character.skeleton
    phase = np.linspace(0.0, 4.0 * np.pi, FRAMES)
    rotations = np.tile(skeleton.rest, (FRAMES, 1, 1))
    for side, shift in (("left", 0.0), ("right", np.pi)):
        hip, knee = character.require_roles()[f"{side}_upper_leg"], character.require_roles()[f"{side}_lower_leg"]
        rotations[:, hip] = rotation.from_axis_angle([1.0, 0, 0], -0.5 * np.sin(phase + shift))
        rotations[:, knee] = rotation.from_axis_angle([1.0, 0, 0], 0.3 + 0.3 * np.cos(phase + shift))
    root = skeleton.offsets[0] + np.linspace(0.0, distance, FRAMES)[:, None] * np.array(direction)
    return Clip(Motion(skeleton, root, rotations, FPS), character, "stepping")


def pixels(path) -> np.ndarray:
    from matplotlib.image import imread

    return imread(str(path))[..., :3]


def share_near(image: np.ndarray, color, reach: float = 0.15) -> float:
    """The fraction of the picture's pixels that have about that colour."""
    return float((np.abs(image - np.array(color)).max(axis=-1) < reach).mean())


@pytest.mark.parametrize("mesh", [True, False])
def test_picture_shows_both_sides_and_the_plants(tmp_path, mesh):
    plants = {"left_heel": [(5, 20)], "right_ball": [(30, 50)]}
    path = plot.strip(stepping(), tmp_path / "strip.png", plants=plants, mesh=mesh, dpi=60)
    image = pixels(path)
    assert image.shape[1] == 13 * 60
    # the right side is nearer to the viewer; the far one is paler
    assert share_near(image, body.LEFT, 0.25) > 0.004
    assert share_near(image, body.RIGHT) > 0.004
    assert list(tmp_path.iterdir()) == [path]


def test_plants_change_the_picture(tmp_path):
    clip = stepping()
    with_plants = pixels(plot.strip(clip, tmp_path / "a.png", plants={"left_heel": [(5, 20)]}, dpi=50))
    without = pixels(plot.strip(clip, tmp_path / "b.png", plants={}, dpi=50))
    # the ground is that of the plants: heights may differ by the rounding of a pixel
    rows = min(len(with_plants), len(without))
    assert abs(len(with_plants) - len(without)) <= 1
    assert np.abs(with_plants[:rows] - without[:rows]).max() > 0.2


@pytest.mark.quick
def test_poses_alone_are_less_tall(tmp_path):
    whole = pixels(plot.strip(stepping(), tmp_path / "whole.png", plants={}, mesh=False, dpi=40))
    poses = pixels(plot.strip(stepping(), tmp_path / "poses.png", plants={}, mesh=False, panels=False, dpi=40))
    assert poses.shape[0] < 0.6 * whole.shape[0]


def test_skinning_is_chosen(tmp_path):
    """An arm that is twisted by half a turn is drawn otherwise by dual quaternions, and other names are refused."""
    clip = samples.load("stand")
    motion = clip.motion[:1]
    joint = clip.character.require_roles()["left_lower_arm"]
    turns = motion.rotations.copy()
    axis = clip.character.skeleton.offsets[clip.character.require_roles()["left_hand"]]
    half = rotation.from_axis_angle(axis / np.linalg.norm(axis), np.array(np.pi))
    turns[:, joint] = rotation.multiply(turns[:, joint], half)
    twisted = replace(clip, motion=replace(motion, rotations=turns))
    drawn = {
        skinning: pixels(plot.strip(twisted, tmp_path / f"{skinning}.png", plants={}, skinning=skinning, dpi=40))
        for skinning in ("linear", "dual-quaternion")
    }
    assert (drawn["linear"] != drawn["dual-quaternion"]).any()
    with pytest.raises(SkeletonError, match="linear or dual-quaternion"):
        plot.strip(twisted, tmp_path / "no.png", plants={}, skinning="smooth")


@pytest.mark.parametrize("direction", [(0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (-0.6, 0.0, -0.8)])
def test_travel_goes_to_the_right(direction):
    clip = stepping(direction=direction)
    kinematics = Kinematics(clip.motion)
    view = choose_view(clip.character, kinematics, lambda frames: kinematics.positions[frames])
    assert view.true_positions
    np.testing.assert_allclose(view.right, direction, atol=1e-9)
    np.testing.assert_allclose(view.page(kinematics.positions[0, 0], 0)[0], 0.0, atol=1e-9)
    # right, up and towards the viewer are right-handed
    np.testing.assert_allclose(np.cross(view.right, [0, 1.0, 0]), view.toward, atol=1e-12)


def test_poses_of_a_clip_in_place_are_spread():
    clip = stepping(distance=0.0)
    kinematics = Kinematics(clip.motion)
    view = choose_view(clip.character, kinematics, lambda frames: kinematics.positions[frames])
    assert not view.true_positions
    places = [view.page(kinematics.positions[frame, 0], pose)[0] for pose, frame in enumerate(view.frames)]
    assert np.diff(places).min() > 0.5 * clip.character.height
    # from the front and slightly from its right: the face is visible, the left hand is on the right of the page
    assert view.toward[2] > 0.5
    assert view.right[0] > 0.5


@pytest.mark.quick
def test_angles_have_the_clinical_signs():
    clip = stepping()
    angles = curves.leg_angles(clip.character, Kinematics(clip.motion), "left")
    phase = np.linspace(0.0, 4.0 * np.pi, FRAMES)
    np.testing.assert_allclose(angles["hip"], np.degrees(0.5 * np.sin(phase)), atol=0.5)
    # the mannequin's legs are not quite straight at rest
    np.testing.assert_allclose(angles["knee"], np.degrees(0.3 + 0.3 * np.cos(phase)), atol=2.0)
    np.testing.assert_allclose(angles["ankle"], 0.0, atol=1e-6)


def test_speed_over_the_floor():
    places = np.zeros((40, 3))
    places[:, 2] = np.arange(40) * 1.5 / 30.0
    places[:, 1] = np.sin(np.arange(40))
    np.testing.assert_allclose(curves.speed(places, 30.0), 1.5)


def test_character_without_roles_and_a_single_frame(tmp_path):
    skeleton = Skeleton(("a", "b", "c"), [-1, 0, 1], [[0, 1.0, 0], [0.5, 0, 0], [0, 0.5, 0]])
    prop = Character(skeleton, "prop $x$ \x07 日本")
    for frames in (1, 2, 30):
        clip = Clip(rest_motion(skeleton, frames), prop, "a name that says $nothing$")
        image = pixels(plot.strip(clip, tmp_path / f"{frames}.png", dpi=40))
        assert share_near(image, body.MIDDLE, 0.3) > 0.001


def test_fine_mesh_is_decimated():
    rng = np.random.default_rng(0)
    side = 120
    x, y = np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side))
    vertices = np.stack([x.ravel(), y.ravel(), rng.normal(scale=1e-3, size=side * side)], axis=1)
    corner = np.arange(side * (side - 1)).reshape(side - 1, side)[:, :-1].ravel()
    lower = np.stack([corner, corner + 1, corner + side], axis=1)
    upper = np.stack([corner + 1, corner + side + 1, corner + side], axis=1)
    faces = np.concatenate([lower, upper])
    count = len(vertices)
    skin = Skin(vertices, faces, np.zeros((count, 1), int), np.ones((count, 1)), np.eye(4)[None])
    small = body.coarser(skin)
    assert 1000 < len(small.faces) <= body.MOST_TRIANGLES
    assert body.coarser(replace(skin, faces=faces[:50])).faces.shape == (50, 3)


def test_refuses_what_it_cannot_write(tmp_path):
    with pytest.raises(FormatError, match="ending in"):
        plot.strip(stepping(), tmp_path / "strip.jpg")
    with pytest.raises(FormatError, match="cannot write here"):
        plot.strip(stepping(), tmp_path / "no" / "folder" / "strip.png", plants={}, mesh=False, dpi=30)
    with pytest.raises(FormatError, match="with frames"):
        plot.strip(replace(stepping(), motion=stepping().motion[:0]), tmp_path / "strip.png")
    assert list(tmp_path.iterdir()) == []


def test_missing_matplotlib_says_what_to_install(tmp_path):
    script = f"""
import sys
sys.modules["matplotlib"] = None
from footplant.cli import main
sys.exit(main(["plot", "sample:mannequin", "-o", r"{tmp_path / "strip.png"}"]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert 'pip install "footplant[plot]"' in done.stderr


def test_leaves_no_global_state(tmp_path):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    plot.strip(stepping(), tmp_path / "strip.png", plants={}, mesh=False, dpi=30)
    assert dict(mpl.rcParams) == before


def test_a_static_pose_shows_no_rounding_errors():
    from matplotlib.figure import Figure

    from footplant.plot.panels import _at_least

    axes = Figure().add_axes((0, 0, 1, 1))
    axes.plot([0.0, 1.0], [1e-17, 0.0])
    _at_least(axes, 10.0)
    low, high = axes.get_ylim()
    assert high - low == pytest.approx(10.0)
    axes.set_ylim(-30.0, 60.0)
    _at_least(axes, 10.0)
    assert axes.get_ylim() == (-30.0, 60.0)
