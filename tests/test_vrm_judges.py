"""VRM in independent tools: three-vrm reports bones and positions, Khronos's validator checks validity."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import footplant
from conftest import shared_files
from footplant import Clip, Kinematics, Motion, rest_motion, rotation, samples
from footplant.humanoid.bones import BONES, bone_above
from footplant.io.vrm.tpose import human_bones
from node_env import run_node
from test_gltf_judges import errors
from vrm_made import made

MODELS, ANIMATIONS = shared_files("vrm/*.vrm"), shared_files("vrma/*.vrma")
REAL = ("gltf/CesiumMan.glb", "gltf/godot_mannequiny.glb", "bvh/other/fair1_dab.bvh", "bvh/cmu/02_01.bvh")
"""Characters of other formats, with A-poses, T-poses and neither."""
needs_models = pytest.mark.skipif(
    not MODELS, reason="the folder shared/data with real files is not beside the repository"
)


def ask(*cases: tuple[Path, Path | None, list[float]]) -> list[dict]:
    request = [{"path": str(path), "animation": str(a) if a else None, "times": times} for path, a, times in cases]
    return run_node("vrm_bones.mjs", request)


def bones_of(clip: Clip) -> dict[str, int]:
    return human_bones(clip, "figure.vrm")


def places_of(clip: Clip, motion: Motion) -> list[dict[str, np.ndarray]]:
    positions = Kinematics(motion).positions
    return [{bone: frame[joint] for bone, joint in bones_of(clip).items()} for frame in positions]


def gap(ours: dict[str, np.ndarray], theirs: dict[str, list[float]]) -> float:
    return max(float(np.abs(ours[bone] - np.array(place)).max()) for bone, place in theirs.items())


def played_on(animation: Clip, figure: Clip, frames: list[int]) -> list[dict[str, np.ndarray]]:
    """Return where a VRM animation puts a character's bones, computed from both files as VRM defines it."""
    source, target = bones_of(animation), bones_of(figure)
    skeleton, other = animation.motion.skeleton, figure.motion.skeleton
    motion = animation.motion[frames]
    kinematics = Kinematics(motion)
    rest = skeleton.rest_world[1]
    turned = {b: rotation.multiply(kinematics.rotations[:, j], rotation.inverse(rest[j])) for b, j in source.items()}
    local = {}
    for bone in turned:
        above = bone_above(bone, source)
        local[bone] = (
            turned[bone] if above is None else rotation.multiply(rotation.inverse(turned[above]), turned[bone])
        )
    places, frame = other.rest_world
    world, wanted = {}, np.array(np.broadcast_to(other.rest, (len(frames), len(other), 4)))
    for bone in (bone for bone in BONES if bone in target):
        above = bone_above(bone, target)
        own = local.get(bone, rotation.identity(len(frames)))
        world[bone] = own if above is None else rotation.multiply(world[above], own)
    for joint in range(len(other)):
        parent = int(other.parents[joint])
        above = frame[parent] if parent >= 0 else rotation.IDENTITY
        bone = next((name for name, number in target.items() if number == joint), None)
        if bone is not None:
            # rotate the bone about the world axes at rest, below the rotations of its ancestors
            below = bone_above(bone, target)
            spin = world[bone] if below is None else rotation.multiply(rotation.inverse(world[below]), world[bone])
            wanted[:, joint] = rotation.multiply(
                rotation.multiply(rotation.inverse(above), spin), rotation.multiply(above, other.rest[joint])
            )
    hips = np.broadcast_to(places[target["hips"]], (len(frames), 3))
    # hips that are not animated stay in place; otherwise the translation scales with the legs
    if any(channel.path == "translation" for channel in animation.character.source.animations[0].channels):
        scale = places[target["hips"]][1] / skeleton.rest_world[0][source["hips"]][1]
        hips = scale * kinematics.positions[:, source["hips"]]
    root = np.broadcast_to(other.offsets[0], (len(frames), 3))
    posed = Motion(other, root, rotation.normalize(wanted))
    shift = hips - Kinematics(posed).positions[:, target["hips"]]
    return places_of(figure, replace(posed, root=root + shift))


@needs_models
def test_bone_maps_rest_poses_and_facing_match_three_vrm():
    for path, answer in zip(MODELS, ask(*((path, None, []) for path in MODELS)), strict=True):
        clip = footplant.load(path)
        names = {bone: clip.motion.skeleton.names[joint] for bone, joint in bones_of(clip).items()}
        assert names == answer["names"], path.name
        assert (clip.conversion.facing == "-z") == (answer["version"] == "0")
        rest = places_of(clip, rest_motion(clip.motion.skeleton))[0]
        assert gap(rest, answer["rest"]) < 1e-6, path.name
        # left hand at +x and toes before the ankles: the character faces +z
        assert rest["leftHand"][0] > 0.3 > -0.3 > rest["rightHand"][0]
        if "leftToes" in rest:
            assert rest["leftToes"][2] > rest["leftFoot"][2] + 0.05


@needs_models
def test_animations_play_on_characters_as_three_vrm_plays_them():
    cases = [(footplant.load(a), footplant.load(m), a, m) for a in ANIMATIONS for m in MODELS]
    assert len(cases) >= 14
    asked = []
    for animation, _, a, m in cases:
        frames = np.linspace(0, len(animation.motion) - 1, 4).astype(int).tolist()
        asked.append((m, a, [frame / animation.motion.fps for frame in frames]))
    for (animation, figure, a, m), answer, (_, _, times) in zip(cases, ask(*asked), asked, strict=True):
        frames = [round(time * animation.motion.fps) for time in times]
        ours = played_on(animation, figure, frames)
        worst = max(gap(mine, theirs) for mine, theirs in zip(ours, answer["frames"], strict=True))
        assert worst < 2e-5, f"{a.name} on {m.name}: {worst:.2g} m"


def swung(clip: Clip, seed: int = 0, frames: int = 12) -> Clip:
    """Return the clip's character with every human bone rotating (as far as VRM animations can) and the hips moving."""
    rng = np.random.default_rng(seed)
    joints = [joint for bone, joint in bones_of(clip).items() if "Eye" not in bone]
    skeleton = clip.motion.skeleton
    shift = np.zeros((frames, 1 + len(skeleton), 3))
    wave = np.sin(np.linspace(0.2, 3.0, frames))[:, None, None]
    shift[:, [0, *(1 + joint for joint in joints)]] = wave * rng.normal(scale=0.25, size=(1, 1 + len(joints), 3))
    return replace(clip, motion=rest_motion(skeleton, frames, 30.0) + shift, name="swing", takes=())


@needs_models
def test_motions_of_characters_play_the_same_as_animations_and_as_their_own_files(tmp_path):
    """A motion of a VRM character, written as .vrma and played on that character by three-vrm, is unchanged."""
    clips = [swung(footplant.load(path), number) for number, path in enumerate(MODELS)]
    asked = []
    for path, clip in zip(MODELS, clips, strict=True):
        animation = footplant.save(tmp_path / f"{path.stem}.vrma", clip)
        asked.append((path, animation, [frame / 30 for frame in range(12)]))
    for path, clip, answer in zip(MODELS, clips, ask(*asked), strict=True):
        worst = max(map(gap, places_of(clip, clip.motion), answer["frames"]))
        assert worst < 1e-5, f"{path.name}: {worst:.2g} m"
    # three.js plays the animation in the character's own file, which faces −z in VRM 0.x
    written = [footplant.save(tmp_path / path.name, clip) for path, clip in zip(MODELS, clips, strict=True)]
    questions = [
        {
            "path": str(path),
            "nodes": list(clip.character.source.joints.nodes),
            "vertices": 0,
            "takes": [{"animation": 0, "times": [frame / 30 for frame in range(12)]}],
        }
        for path, clip in zip(written, clips, strict=True)
    ]
    for path, clip, answer in zip(MODELS, clips, run_node("gltf_positions.mjs", questions), strict=True):
        theirs = np.array([seen["positions"] for seen in answer[0]])
        ours = Kinematics(clip.motion).positions * ([-1, 1, -1] if clip.conversion.facing == "-z" else [1, 1, 1])
        assert np.abs(ours - theirs).max() < 1e-5, path.name


def test_samples_play_on_a_character(tmp_path):
    """Clips whose rest pose is not a T-pose: three-vrm plays what our own reader gives."""
    (tmp_path / "figure.vrm").write_bytes(made("1").glb())
    figure = footplant.load(tmp_path / "figure.vrm")
    asked, clips = [], []
    for name in ("walk", "turn-left", "kick", "climb"):
        clips.append(footplant.load(footplant.save(tmp_path / f"{name}.vrma", footplant.load(f"sample:{name}"))))
        times = np.linspace(0, len(clips[-1].motion) - 1, 5).astype(int) / clips[-1].motion.fps
        asked.append((tmp_path / "figure.vrm", tmp_path / f"{name}.vrma", times.tolist()))
    for clip, (_, path, times), answer in zip(clips, asked, ask(*asked), strict=True):
        ours = played_on(clip, figure, [round(time * clip.motion.fps) for time in times])
        worst = max(map(gap, ours, answer["frames"]))
        assert worst < 2e-5, f"{path.name}: {worst:.2g} m"


def test_new_characters_are_vrm_to_three_vrm(tmp_path):
    """Sample characters, and real ones of other formats, written as VRM 1.0: in a T-pose, facing +z, on the floor."""
    sources = [f"sample:{name}" for name in (*samples.CHARACTERS, "walk")]
    sources += [str(path) for pattern in REAL for path in shared_files(pattern)]
    clips, paths = [], []
    for number, source in enumerate(sources):
        clips.append(footplant.load(source))
        paths.append(footplant.save(tmp_path / f"{number}.vrm", clips[-1]))
    for source, clip, path, answer in zip(sources, clips, paths, ask(*((p, None, []) for p in paths)), strict=True):
        joints = bones_of(clip)
        assert answer["version"] == "1"
        assert answer["names"] == {bone: clip.motion.skeleton.names[joint] for bone, joint in joints.items()}, source
        rest = {bone: np.array(place) for bone, place in answer["rest"].items()}
        height = clip.character.height
        for side, sign in (("left", 1.0), ("right", -1.0)):
            arm = rest[f"{side}Hand"] - rest[f"{side}UpperArm"]
            leg = rest[f"{side}Foot"] - rest[f"{side}UpperLeg"]
            assert sign * arm[0] > 0.999 * np.linalg.norm(arm), source
            assert -leg[1] > 0.98 * np.linalg.norm(leg), source
            assert 0.0 < rest[f"{side}Foot"][1] < 0.15 * height, source
        assert np.abs(rest["hips"][[0, 2]]).max() < 1e-6
        again = footplant.load(path)
        assert again.character.height == pytest.approx(height, rel=0.02), source
        assert min(again.character.require_roles().confidence[BONES[bone].role] for bone in joints) == 1.0
    kept = [source for source in sources if source.endswith(".glb")]
    reports = run_node("gltf_validate.mjs", [*(str(path) for path in paths), *kept])
    before = dict(zip(kept, reports[len(paths) :], strict=True))
    for source, report in zip(sources, reports, strict=False):
        new = errors(report) - errors(before.get(source, []))
        assert not new, f"{source}: {sorted(new)[:3]}"


@needs_models
def test_written_files_are_as_valid_as_their_source(tmp_path):
    written, sources = [], []
    for number, path in enumerate([*MODELS, *ANIMATIONS]):
        clip = footplant.load(path)
        sources.append(path)
        written.append(footplant.save(tmp_path / f"{number}{path.suffix}", swung(clip, number)))
        sources.append(path)
        written.append(
            footplant.save(
                tmp_path / f"new{number}.vrma", replace(swung(clip), character=replace(clip.character, source=None))
            )
        )
    reports = run_node("gltf_validate.mjs", [str(path) for path in (*written, *sources)])
    for path, after, before in zip(written, reports, reports[len(written) :], strict=False):
        new = errors(after) - errors(before)
        assert not new, f"{path.name}: {sorted(new)[:3]}"
