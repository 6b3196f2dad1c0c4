"""Every kind of work on real clips of public packages (real_clips.py), on machines without the folder shared/data.

With that folder, the tests of each part have more, and more particular, files; what they ask is asked here of recorded
people who walk, run, jump, kick and roll (DeepMimic), of a character's own animations (glTF), of optical gait
recordings (C3D, TRC), and of BVH files of three programs.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import footplant
from conftest import shared_data
from footplant import Clip, Kinematics, curves, grounds, humanoid, samples
from footplant.blending.blend import blend
from footplant.blending.registration import register
from footplant.blending.transition import transition
from footplant.cli import main
from footplant.contacts.detection import FEET, contacts_of_points, find_contacts
from footplant.edits.morph import morph
from footplant.edits.path import bend
from footplant.edits.repair import repair
from footplant.edits.retarget import retarget
from footplant.edits.terrain import terrain
from footplant.live.controller import build_controller
from footplant.live.motion_set import Gait, MotionSet
from footplant.live.script import drive
from footplant.normalized import convert, normalize, scale
from footplant.optical.solve import solve_markers
from footplant.problem import Status
from footplant.quality.measure import measure

# DeepMimic's run is in the package and not in shared/data
pytestmark = pytest.mark.named("deepmimic/humanoid3d_run.txt")

PEOPLE = (
    "backflip", "cartwheel", "crawl", "dance_a", "dance_b", "getup_facedown", "getup_faceup", "jump", "kick", "punch",
    "roll", "run", "spin", "spinkick", "walk",
)  # fmt: skip
ANIMATIONS = ("idle", "jump-down", "jump-forward", "jump-loop", "jump-up", "run", "walk")
BVH = {"loader_example": ("cmu", 1.44), "mocapbank": ("cm", 1.68), "toolbox_freebvh": ("cm", 1.80)}
"""File → units, standing height in metres."""


@cache
def person(name: str, cycles: int = 1) -> Clip:
    """A recorded clip; gaits are one cycle, which is played several times."""
    clip = footplant.load(shared_data("deepmimic", f"humanoid3d_{name}.txt"))
    return clip if cycles == 1 else replace(clip, motion=clip.motion.looped(cycles))


def worst_drift(solution) -> float:
    return solution.report.after.worst_plant.drift


@pytest.mark.parametrize("name", PEOPLE)
@pytest.mark.named("deepmimic/humanoid3d_{name}.txt")
def test_people_are_read_as_people(name):
    clip = person(name)
    assert clip.character.height == pytest.approx(1.62, abs=0.01)
    assert clip.character.require_roles().overall > 0.8
    masses = clip.character.masses
    assert masses is not None
    assert masses.sum() == pytest.approx(1.0)
    assert np.isfinite(Kinematics(clip.motion).positions).all()


@pytest.mark.parametrize("name", BVH)
@pytest.mark.named("bvh/other/{name}.bvh")
def test_bvh_files_are_read_as_people(name):
    clip = footplant.load(shared_data("bvh", "other", f"{name}.bvh"))
    units, height = BVH[name]
    assert (clip.conversion.units, clip.conversion.up) == (units, "y")
    assert clip.character.height == pytest.approx(height, abs=0.01)
    assert clip.character.require_roles().overall > 0.8


@pytest.mark.parametrize("name", ANIMATIONS)
@pytest.mark.named("gltf/{name}.glb")
def test_animations_are_read_as_people(name):
    clip = footplant.load(shared_data("gltf", f"{name}.glb"))
    assert clip.character.height == pytest.approx(1.796, abs=0.005)
    assert clip.character.require_roles().overall > 0.9
    assert len(clip.motion) > 20


def test_mirrored_twice_is_the_same():
    clip = person("kick")
    roles = clip.character.require_roles()
    twice = clip.motion.mirrored(roles).mirrored(roles)
    np.testing.assert_allclose(Kinematics(twice).positions, Kinematics(clip.motion).positions, atol=1e-9)
    partner, _ = humanoid.mirror_map(clip.motion.skeleton, roles)
    assert np.array_equal(partner[partner], np.arange(len(partner)))


@pytest.mark.parametrize("name", PEOPLE)
def test_same_lengths_give_the_clip_back(name):
    clip = person(name)
    back = convert(scale(normalize(clip.motion, clip.character), clip.character))
    np.testing.assert_allclose(Kinematics(back).positions, Kinematics(clip.motion).positions, atol=1e-9)


# contacts


def stance(contacts, side: str) -> np.ndarray:
    return contacts.mask(f"{side}_heel") | contacts.mask(f"{side}_ball")


def test_a_walk_stands_and_steps():
    """Three fifths in people; these feet are boxes without toes, which rock from the moment they stand."""
    contacts = find_contacts(person("walk", 5))
    inner = slice(len(contacts.masks()) // 5, -len(contacts.masks()) // 5)
    for side in ("left", "right"):
        assert 0.35 < stance(contacts, side)[inner].mean() < 0.75
    assert (stance(contacts, "left") | stance(contacts, "right"))[inner].mean() > 0.75


def test_a_run_flies():
    contacts = find_contacts(person("run", 5))
    standing = stance(contacts, "left").astype(int) + stance(contacts, "right")
    inner = slice(len(standing) // 5, -len(standing) // 5)
    assert (standing[inner] == 0).mean() > 0.15
    assert (standing[inner] == 2).mean() < 0.05


def test_noise_does_not_shorten_the_plants_of_a_walk():
    clip = person("walk", 5)
    kinematics = Kinematics(clip.motion)
    points = kinematics.points([clip.character.contacts[point] for point in FEET])
    noisy = points + np.random.default_rng(0).normal(0.0, 0.005, points.shape)
    body = kinematics.center_of_mass(clip.character)
    contacts = contacts_of_points(noisy, clip.motion.fps, clip.character.height, names=FEET, body=body)
    assert (contacts.masks() == find_contacts(clip).masks()).mean() > 0.9


def test_a_walk_is_judged():
    quality = measure(person("walk", 4))
    assert len(quality.plants) >= 6
    assert quality.worst_plant.drift < 150.0


# edits


@pytest.mark.parametrize("to", ["sample:sally", "sample:blubby", "gltf/walk.glb"])
@pytest.mark.parametrize("name", ["walk", "kick", "jump", "crawl", "dance_a"])
@pytest.mark.named("{to}")
def test_people_on_characters(name, to):
    target = footplant.load_character(to if to.startswith("sample:") else shared_data(to))
    source = person(name)
    solution = retarget(source, target)
    assert len(solution.motion) == len(source.motion)
    assert np.isfinite(solution.motion.rotations).all()
    feet = [entry for entry in solution.report.constraints if entry.kind == "footplant" and "palm" not in entry.name]
    met = [entry for entry in feet if entry.worst < 2.0 * max(target.height, 1.0)]
    assert len(met) >= 0.8 * len(feet)


def test_an_animation_on_a_person():
    source = footplant.load(shared_data("gltf", "idle.glb"))
    solution = retarget(source, person("walk").character)
    assert solution.status is Status.SOLVED
    assert worst_drift(solution) < 2.0


@pytest.mark.parametrize("name", ["kick", "punch", "dance_b"])
def test_skating_feet_are_repaired(name):
    clip = person(name)
    solution = repair(clip)
    before, after = solution.report.before, solution.report.after
    assert after.worst_plant.drift <= 3.0
    assert after.worst_plant.drift < before.worst_plant.drift
    assert after.penetration_worst <= max(10.0, 0.25 * before.penetration_worst)


@pytest.mark.parametrize("name", ["walk", "run"])
@pytest.mark.parametrize("curve", [curves.circle(2.0), curves.s_curve(4.0, 1.0)])
def test_gaits_bend(name, curve):
    solution = bend(person(name, 4), curve, from_start=True)
    assert worst_drift(solution) < 2.0
    assert solution.report.after.penetration_worst < 6.0


@pytest.mark.parametrize("name", ["walk", "run"])
def test_gaits_go_over_rough_ground(name):
    clip = person(name, 4)
    low, high = clip.motion.root.min(axis=0)[::2] - 2.0, clip.motion.root.max(axis=0)[::2] + 2.0
    height = clip.character.height
    after = terrain(clip, grounds.rough(4, 0.1 * height, 0.8 * height, low, high)).report.after
    assert after.worst_plant.drift < 2.0
    assert after.penetration_worst < 5.0


def test_walk_and_run_blend():
    clips = [replace(person(name, 5), motion=person(name, 5).motion.resample(60.0)) for name in ("walk", "run")]
    registration = register(clips, reference=0)
    for weight in (0.0, 0.5, 1.0):
        assert worst_drift(blend(registration, [1.0 - weight, weight], fps=60.0)) <= 2.0


def test_a_walk_goes_over_into_a_kick():
    assert worst_drift(transition(person("walk", 4), person("kick"), fps=60.0)) <= 2.0


def test_gaits_are_driven():
    spec = MotionSet("recorded", gaits={"walk": Gait("walk"), "run": Gait("run")})
    controller = build_controller(spec, {name: person(name, 4) for name in ("walk", "run")})
    motion = drive(controller, "walk 2s, run 2s, walk 2s").motion
    assert np.isfinite(motion.rotations).all()
    assert np.linalg.norm((motion.root[-1] - motion.root[0])[::2]) > 3.0


def test_proportions_of_a_person_are_lent():
    walk = samples.load("walk")
    assert morph(walk, [person("walk").character]).status is Status.SOLVED


def test_the_command(capsys, tmp_path):
    file, target = shared_data("deepmimic", "humanoid3d_walk.txt"), shared_data("gltf", "walk.glb")
    arguments = ["retarget", file, "--to", target, "-o", tmp_path / "a.glb", "--report", tmp_path / "a.html", "--json"]
    assert main([str(argument) for argument in arguments]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "solved"
    assert (tmp_path / "a.html").stat().st_size > 50_000


@pytest.mark.parametrize("suffix", [".bvh", ".glb", ".fbx", ".usda", ".npz", ".footplant"])
def test_people_come_back_from_every_format(suffix, tmp_path):
    clip = person("spinkick")
    again = footplant.load(footplant.save(tmp_path / f"a{suffix}", clip))
    assert len(again.motion) == len(clip.motion)
    order = [again.motion.skeleton.index(name) for name in clip.motion.skeleton.names]
    np.testing.assert_allclose(
        Kinematics(again.motion).positions[:, order], Kinematics(clip.motion).positions, atol=1e-5
    )


# markers


@pytest.mark.named("c3d/walking5.c3d", "trc/std_walking5_markers.trc")
def test_one_recording_as_c3d_and_as_trc():
    """OpenSim wrote every tenth frame of the C3D file as TRC: our two readers put the markers at the same places."""
    ours = footplant.load_markers(shared_data("c3d", "walking5.c3d"))
    theirs = footplant.load_markers(shared_data("trc", "std_walking5_markers.trc"))
    assert set(theirs.names) <= set(ours.names)
    places = ours.positions[::10, [ours.names.index(name) for name in theirs.names]][: len(theirs)]
    np.testing.assert_array_equal(np.isfinite(places), np.isfinite(theirs.positions[: len(places)]))
    # the TRC file has tenths of a millimetre
    assert np.nanmax(np.abs(places - theirs.positions[: len(places)])) < 1e-4


@pytest.mark.parametrize("file", ["c3d/test_walking.c3d", "trc/markers_walk.trc"])
@pytest.mark.named("{file}")
def test_gait_recordings_have_a_persons_size(file):
    markers = footplant.load_markers(shared_data(file))
    heights = np.nanmax(markers.positions[..., 1], axis=1) - np.nanmin(markers.positions[..., 1], axis=1)
    assert 0.8 < np.median(heights) < 2.1


@pytest.mark.named("trc/markers_walk.trc")
def test_a_gait_recording_becomes_a_motion(coarse_calibration):
    markers = footplant.load_markers(shared_data("trc", "markers_walk.trc"))
    solved = solve_markers(markers)
    assert solved.report.markers[0].median < 40.0
    assert len(solved.clip.motion) == len(markers)
    assert solved.clip.character.require_roles()
