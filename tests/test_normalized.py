"""Morphology-independent motion: back to the input on the same lengths, sensible on others."""

from __future__ import annotations

import csv
import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from conftest import SHARED_DATA, shared_data, shared_files
from footplant import io, rotation, samples
from footplant.cli import main
from footplant.constraints import Balance, Distance, LookAt, Orientation, Position
from footplant.edits.morphology_independent import plants_of, share
from footplant.errors import FormatError, MotionError
from footplant.humanoid.proportions import apply_proportions
from footplant.io.project import Project, load_normalized, save_project
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.normalized import Normalized, NormalizedSpline, convert, normalize, scale
from footplant.normalized.body import Body, bend_angles
from footplant.skeleton import Character, Point, Skeleton
from thorough import thorough


def there_and_back(motion: Motion, character: Character) -> float:
    """Largest difference, metres and radians, of a motion and its round trip through the normalised form."""
    out = convert(scale(normalize(motion, character), character))
    return max(
        float(rotation.angle(motion.rotations, out.rotations).max(initial=0.0)),
        float(np.abs(motion.root - out.root).max(initial=0.0)),
        float(np.abs(Kinematics(motion).positions - Kinematics(out).positions).max(initial=0.0)),
    )


def some_frames(motion: Motion, most: int = 40) -> Motion:
    return motion[np.unique(np.linspace(0, len(motion) - 1, min(most, len(motion))).astype(int))] if motion else motion


@pytest.mark.parametrize("name", samples.names())
@pytest.mark.quick
def test_same_lengths_give_the_sample_back(name):
    clip = samples.load(name)
    assert there_and_back(some_frames(clip.motion), clip.character) < 1e-12


def _clips() -> list[str]:
    """Paths of all real files but damaged ones; where no list comes with them, those that are there."""
    if not shared_data("MANIFEST.csv").exists():
        return [path.relative_to(SHARED_DATA).as_posix() for path in shared_files("*/**/*.*")]
    with shared_data("MANIFEST.csv").open(encoding="utf-8") as file:
        return [row["path"] for row in csv.DictReader(file) if not row["path"].startswith("bad/")]


@pytest.mark.parametrize("kind", sorted({path.split("/")[0] for path in _clips()}) or ["none"])
def test_same_lengths_give_every_real_clip_back(kind, shared):
    """1e-9 on every clip, usually every third: twist joints, disconnected limbs, no toes, bones of changing length."""
    tried = 0
    for path in [path for path in _clips() if path.split("/")[0] == kind][:: thorough(3, 1)]:
        try:
            clip = io.load(shared_data(path))
        except FormatError:
            continue  # markers, meshes and robots are no clips of a skeleton
        for figure in (clip, *clip.others):
            error = there_and_back(some_frames(figure.motion), figure.character)
            assert error < 1e-9, f"{path}: {error}"
            tried += 1
    assert tried or kind in ("c3d", "trc", "robots", "positions_terrain", "constraints_npz", "live"), kind


@pytest.mark.parametrize("name", samples.CHARACTERS)
def test_other_lengths_keep_contacts_to_the_height_of_the_ankle(name):
    """Without solving any constraint, planted points stay within an ankle's height of the floor."""
    clip, target = samples.load("walk"), samples.load_character(name)
    kinematics = Kinematics(convert(scale(normalize(clip.motion, clip.character), target)))
    ankle = Body(target).ankle
    assert ankle > 0.03
    for point, intervals in samples.ground_truth("walk").items():
        if point.endswith(("_heel", "_ball")):
            heights = kinematics.point(target.contacts[point])[:, 1]
            for start, stop in intervals:
                assert np.abs(heights[start:stop]).max() < ankle


def test_a_scaled_character_is_planted_exactly():
    clip, target = samples.load("walk"), samples.load_character("short")
    kinematics = Kinematics(convert(scale(normalize(clip.motion, clip.character), target)))
    for point, intervals in samples.ground_truth("walk").items():
        if point.endswith("_heel"):
            for start, stop in intervals:
                held = kinematics.point(target.contacts[point])[start:stop]
                assert np.ptp(held, axis=0).max() < 1e-6


def test_steps_scale_with_the_legs_about_where_the_motion_begins():
    clip, target = samples.load("walk"), samples.load_character("short")
    out = convert(scale(normalize(clip.motion, clip.character), target))
    way, before = (np.linalg.norm((m.root[-1] - m.root[0])[[0, 2]]) for m in (out, clip.motion))
    assert way == pytest.approx(0.6 * before, rel=1e-3)
    held = normalize(clip.motion, clip.character, about=(0.0, 0.0, 1.0))
    assert held.origin.tolist() == [0.0, 0.0, 1.0]


def test_the_middle_joint_is_the_papers():
    """D5: z = (upper² − fore² + limb²) / (2 limb), y = √(upper² − z²)."""
    upper, fore, limb = 0.3, 0.25, 0.47
    z = (upper**2 - fore**2 + limb**2) / (2 * limb)
    y = np.sqrt(upper**2 - z**2)
    both = upper + fore
    bends = bend_angles(np.array([limb / both]), np.array([upper / both]))[0]
    assert bends == pytest.approx([np.arctan2(y, z), np.arctan2(y, limb - z)], abs=1e-12)


def test_limbs_keep_their_relative_extension():
    clip, target = samples.load("kick"), samples.load_character("longlegs")
    found = normalize(clip.motion, clip.character)
    again = normalize(convert(scale(found, target)), target)
    for name, limb in found.limbs.items():
        assert np.abs(limb.length - again.limbs[name].length).max() < 1e-9
        assert rotation.angle(limb.frame, again.limbs[name].frame).max() < 1e-6


def _with_vertebrae(character: Character, count: int) -> Character:
    """The mannequin with another number of vertebrae between hips and neck."""
    from footplant import humanoid

    skeleton, roles = character.skeleton, character.require_roles()
    chain = list(roles.joints["spine"])
    start, end = int(skeleton.parents[chain[0]]), roles.joints["neck"][0]
    places = skeleton.rest_world[0]
    line = np.linspace(places[chain[0]], places[end], count + 1)
    names, parents, offsets, index = [], [], [], {}
    for joint, name in enumerate(skeleton.names):
        if joint == chain[0]:
            for n in range(count):
                index[("new", n)] = len(names)
                names.append(f"Vertebra{n}")
                parents.append(index[start] if n == 0 else len(names) - 2)
                offsets.append(places[chain[0]] - places[start] if n == 0 else line[n] - line[n - 1])
        if joint in chain:
            index[joint] = index[("new", count - 1)]
            continue
        index[joint] = len(names)
        parent = int(skeleton.parents[joint])
        names.append(name)
        parents.append(-1 if parent < 0 else index[parent])
        base = line[count - 1] if parent in chain else places[parent] if parent >= 0 else np.zeros(3)
        offsets.append(places[joint] - base)
    made = Skeleton(tuple(names), np.array(parents), np.array(offsets))
    joints = {role: tuple(dict.fromkeys(index[j] for j in found)) for role, found in roles.joints.items()}
    joints["spine"] = tuple(index[("new", n)] for n in range(count))
    return humanoid.make_character(made, replace(roles, joints=joints), name=f"{count} vertebrae")


@pytest.mark.parametrize("count", [1, 2, 3, 7, 24])
def test_the_spine_is_cut_into_any_number_of_vertebrae(count):
    clip = samples.load("reach")
    motion = some_frames(clip.motion)
    target = _with_vertebrae(clip.character, count)
    found = normalize(motion, clip.character)
    out = convert(scale(found, target))
    roles, own = target.require_roles(), clip.character.require_roles()
    ours, theirs = Kinematics(out), Kinematics(motion)
    again = normalize(out, target)
    assert rotation.angle(again.chest, found.chest).max() < 1e-9
    # the neck has the same path: the same bend along the same curve
    for role in ("neck", "head", "left_hand"):
        apart = np.linalg.norm(ours.positions[:, roles[role]] - theirs.positions[:, own[role]], axis=1)
        assert apart.max() < (0.12 if count == 1 else 0.07), role
    # neighbouring vertebrae share the bend, none takes it all
    turns = rotation.log(out.rotations[:, list(roles.joints["spine"])])
    total = np.linalg.norm(rotation.log(found.chest), axis=1).max()
    if count > 3:
        assert np.linalg.norm(turns, axis=2).max() < 0.6 * total


def test_lengths_may_change_at_every_frame():
    clip = samples.load("walk")
    target = samples.load_character("longlegs")
    motion = clip.motion
    share = np.linspace(0.0, 1.0, len(motion))[:, None, None]
    bones = (1 - share) * clip.character.skeleton.offsets + share * target.skeleton.offsets
    found = normalize(motion, clip.character)
    out = convert(scale(found, clip.character, bones))
    last = convert(scale(found, target))
    assert np.abs(Kinematics(out).positions[0] - Kinematics(motion).positions[0]).max() < 1e-9
    assert rotation.angle(out.rotations[-1], last.rotations[-1]).max() < 1e-9
    with pytest.raises(MotionError, match="expected offsets of shape"):
        scale(found, clip.character, bones[:3])


def test_bones_that_change_their_length_come_back():
    clip = samples.load("clap")
    motion = some_frames(clip.motion)
    rng = np.random.default_rng(3)
    bones = motion.skeleton.offsets * (1 + 0.1 * rng.standard_normal((len(motion), len(motion.skeleton), 1)))
    stretching = replace(motion, offsets=bones)
    assert there_and_back(stretching, clip.character) < 1e-11


def test_an_empty_clip_and_a_character_without_roles():
    clip = samples.load("walk")
    assert len(convert(scale(normalize(clip.motion[:0], clip.character), clip.character))) == 0
    plain = Character(clip.motion.skeleton)
    assert there_and_back(clip.motion[:9], plain) < 1e-12
    other = Motion(Skeleton(("a",), np.array([-1]), np.zeros((1, 3))), np.zeros((1, 3)), rotation.identity(1, 1))
    with pytest.raises(MotionError, match="expected a motion on the skeleton"):
        normalize(other, clip.character)


def test_nothing_but_lengths_is_lost():
    """The normalised form contains no lengths: the same motion of a body twice as large is equal."""
    clip = samples.load("kick")
    large = apply_proportions(clip.character, scale=2.0)
    first = normalize(clip.motion, clip.character)
    second = normalize(convert(scale(first, large)), large)
    assert isinstance(first, Normalized)
    assert isinstance(first.splines["spine"], NormalizedSpline)
    assert np.abs(first.root - second.root).max() < 1e-9
    for name in first.limbs:
        assert np.abs(first.limbs[name].length - second.limbs[name].length).max() < 1e-9


def test_one_file_for_any_character(tmp_path, capsys):
    """A project file contains the normalised motion and its constraints; readers that do not know them keep them."""
    file = tmp_path / "walk.footplant"
    assert main(["normalize", "sample:walk", "-o", str(file), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told["limbs"]) == {"left_arm", "right_arm", "left_leg", "right_leg"}
    assert told["constraints"] > 8
    whole, found = io.project.load_normalized(file)
    made = normalize(whole.clip.motion, whole.clip.character)
    assert np.array_equal(found.root, made.root)
    for name, limb in made.limbs.items():
        assert np.array_equal(found.limbs[name].rolls, limb.rolls)
    assert np.array_equal(found.splines["spine"].turns, made.splines["spine"].turns)
    assert found.others.keys() == made.others.keys()
    again = convert(scale(found, whole.clip.character))
    assert rotation.angle(again.rotations, whole.clip.motion.rotations).max() < 1e-12
    # loaded and saved like any clip, the part is kept; with another motion it is invalid
    kept = tmp_path / "kept.footplant"
    io.save(kept, io.load(file))
    assert "normalized" in zipfile.ZipFile(kept).read("project.json").decode()
    changed = tmp_path / "changed.footplant"
    clip = io.load(file)
    io.save(changed, replace(clip, motion=clip.motion.scaled(1.0).transformed((1, 0, 0, 0), (0, 0, 1.0))))
    other = io.project.load_normalized(changed)
    assert np.array_equal(other[1].root, normalize(other[0].clip.motion, other[0].clip.character).root)

    out = tmp_path / "child.footplant"
    assert main(["normalize", str(file), "--to", "sample:child", "-o", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["status"] == "solved"
    assert max(entry["worst"] for entry in told["constraints"]) <= 1.0
    assert main(["normalize", "sample:walk", "-o", str(tmp_path / "walk.glb")]) == 2
    assert "expected a name ending in .footplant" in capsys.readouterr().err


def test_constraints_are_mapped_by_role():
    clip, target = samples.load("reach"), samples.load_character("sally")
    clip = replace(clip, motion=clip.motion[::8])
    roles = clip.character.require_roles()
    hold = range(10, 20)
    asked = [
        Distance(point=clip.character.contacts["left_palm"], other=clip.character.contacts["right_palm"], value=0.5,
                 frames=hold, priority=1),
        Position(point=Point(roles["head"], (0.0, 0.1, 0.1)), target=(0.0, 1.5, 0.1), frames=hold),
        Orientation(joint=roles["right_hand"], target=(1, 0, 0, 0), frames=hold),
        Balance(character=clip.character, priority=3),
        *plants_of(clip),
    ]  # fmt: skip
    solution = share(clip, target, asked)
    met = {entry.kind: entry.met for entry in solution.report.constraints}
    assert len(solution.report.constraints) == len(asked)
    assert met["distance"]
    assert met["footplant"]
    left = Distance(point=target.contacts["left_palm"], other=target.contacts["right_palm"], value=0.5)
    assert np.abs(left.residual(Kinematics(solution.motion))[hold.start : hold.stop]).max() < 1e-3
    gaze = LookAt(point=Point(roles["head"]), direction=(0, 0, 1), target=(0, 1, 2))
    assert any("left out" in note for note in share(clip, target, [gaze]).report.notes)


def handstand(character: Character, frames: int = 12) -> Motion:
    """A character that stands upright, kicks up and stands on its hands: arms along the ears, palms on the floor."""
    roles, skeleton = character.require_roles(), character.skeleton
    body, overhead = Body(character), np.array(Body(character).pose)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        arm = roles[f"{side}_upper_arm"]
        above = body.rotations[skeleton.parents[arm]]
        raised = rotation.from_axis_angle(rotation.AXES["z"], sign * 0.5 * np.pi)
        overhead[arm] = rotation.multiply(rotation.inverse(above), rotation.multiply(raised, body.rotations[arm]))
    turns = rotation.from_axis_angle(rotation.AXES["x"], np.linspace(0.0, np.pi, frames))
    rotations = np.repeat(overhead[None], frames, axis=0)
    rotations[:, 0] = rotation.multiply(turns, rotations[:, 0])
    motion = Motion(skeleton, np.zeros((frames, 3)), rotations, 30.0)
    kinematics = Kinematics(motion)
    lowest = np.min([kinematics.point(point)[:, 1] for point in character.contacts.values()], axis=0)
    return replace(motion, root=motion.root - np.stack([0.0 * lowest, lowest, 0.0 * lowest], axis=1))


@pytest.mark.parametrize("name", ["sally", "blubby", "longlegs", "child"])
def test_a_handstand_is_measured_by_arms_and_trunk(name, tmp_path):
    clip, target = samples.load("walk"), samples.load_character(name)
    motion = handstand(clip.character)
    assert there_and_back(motion, clip.character) < 1e-12
    normalized = normalize(motion, clip.character)
    assert normalized.on_hands is not None
    assert normalized.on_hands[0] == 0.0
    assert normalized.on_hands[-1] == 1.0

    def palms(form: Normalized) -> float:
        kinematics = Kinematics(convert(scale(form, target)))
        return max(abs(float(kinematics.point(target.contacts[f"{side}_palm"])[-1, 1])) for side in ("left", "right"))

    by_legs = replace(normalized, on_hands=None, root=(normalized.root * 1.0))
    by_legs.root[-1, 1] = _root_by_legs(motion, clip.character)
    assert palms(normalized) < 0.05 * target.height
    assert palms(normalized) < 0.4 * palms(by_legs)


def _root_by_legs(motion: Motion, character: Character) -> float:
    body = Body(character)
    hips = Kinematics(motion).positions[-1, body.hip_joints].mean(axis=0)
    return float((hips[1] - body.ankle) / body.leg)


def test_a_handstand_survives_a_project_and_no_sample_is_one(tmp_path):
    for name in samples.names():
        clip = samples.load(name)
        assert normalize(some_frames(clip.motion), clip.character).on_hands is None
    walk = samples.load("walk")
    clip = replace(walk, motion=handstand(walk.character), layout=None, takes=())
    save_project(tmp_path / "a.footplant", Project(((clip,),)), normalized=True)
    _, found = load_normalized(tmp_path / "a.footplant")
    assert np.array_equal(found.on_hands, normalize(clip.motion, clip.character).on_hands)
