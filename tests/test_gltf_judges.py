"""glTF in independent tools: three.js reports joints and vertices, Khronos's validator checks validity."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

import footplant
from conftest import SHARED_DATA, shared_files
from footplant import Character, Clip, Kinematics, rest_motion, samples
from footplant.io import gltf
from footplant.skinning import linear_blend
from gltf_made import figure
from node_env import run_node
from real_clips import FETCHED
from test_gltf_write import edited, hand_made_motion
from thorough import thorough

FILES = [path for pattern in ("gltf/**/*.glb", "gltf/**/*.gltf") for path in shared_files(pattern)]
TAKES = 4
"""Takes of a file that are compared; some have dozens."""


def clip_of(found, take: int) -> Clip:
    motion = found.read_take(take) if found.takes else rest_motion(found.skeleton)
    character = Character(motion.skeleton, skin=found.skin, source=found.source)
    name = found.takes[take].name if found.takes else "pose"
    return Clip(motion, character, name=name, takes=found.takes, take=take)


def question(path: Path, clip: Clip, frames: list[int], vertices: int = 0) -> dict:
    """Return the query to three.js about some frames of a clip."""
    source = clip.character.source
    nodes = [node for node in source.joints.nodes if node >= 0]
    asked = {"animation": None, "times": [0]}
    if clip.takes:
        animation = source.animations[clip.take]
        start, end = animation.span
        times = [min(start + frame / clip.motion.fps, end) for frame in frames]
        asked = {"animation": animation.number, "times": times}
    return {"path": str(path), "nodes": nodes, "vertices": vertices, "takes": [asked]}


def some_frames(clip: Clip) -> list[int]:
    return np.unique(np.linspace(0, len(clip.motion) - 1, 5).astype(int)).tolist() if clip.takes else [0]


def size_of(clip: Clip) -> float:
    return max(float(np.ptp(clip.motion.skeleton.rest_world[0], axis=0).max()), 0.01)


def check_positions(cases: list[tuple[Path, Clip]], tolerance: float) -> None:
    """Assert that joints match three.js, relative to the character's size."""
    # one query for all takes of a character: three.js reads the file once
    asked: dict[str, dict] = {}
    for path, clip in cases:
        one = question(path, clip, some_frames(clip))
        asked.setdefault(f"{path} {one['nodes']}", {**one, "takes": []})["takes"] += one["takes"]
    answers = [take for answer in run_node("gltf_positions.mjs", list(asked.values())) for take in answer]
    for (path, clip), answer in zip(cases, answers, strict=True):
        theirs = np.array([seen["positions"] for seen in answer])
        ours = Kinematics(clip.motion[some_frames(clip)]).positions[:, -theirs.shape[1] :]
        error = float(np.abs(ours - theirs).max()) / size_of(clip)
        assert error < tolerance, f"{path.name}, take {clip.name!r}: {error:.2g} of the figure's size"


def errors(messages: list[dict]) -> set[tuple[str, str, str]]:
    return {(item["code"], item["pointer"], item["message"]) for item in messages if item["severity"] == 0}


@pytest.mark.skipif(not FILES, reason="the folder shared/data with real files is not beside the repository")
def test_joints_of_real_files_match_three_js():
    cases = []
    for path in FILES:
        for found in gltf.load(path):
            cases += [(path, clip_of(found, take)) for take in range(min(len(found.takes), TAKES) or 1)]
    assert len(cases) > 20 or SHARED_DATA == FETCHED
    check_positions(cases, 1.5e-5)


@pytest.mark.skipif(not FILES, reason="the folder shared/data with real files is not beside the repository")
def test_vertices_of_real_files_match_three_js():
    # three.js reads Draco meshes with a decoder of its own, which Node has not
    files = [path for path in FILES if "draco" not in path.parent.name]
    clips = [(path, clip_of(gltf.load(path)[0], 0)) for path in files]
    # three.js blends only four influences and does not normalise quaternions; our skins ignore animated scale
    clips = [(path, clip) for path, clip in clips if clip.character.skin and clip.character.skin.joints.shape[1] <= 4]
    clips = [(path, clip) for path, clip in clips if not _scales(clip) and _is_unit(clip)]
    assert len(clips) > (0 if SHARED_DATA == FETCHED else 8)
    asked = [question(path, clip, some_frames(clip), vertices=200) for path, clip in clips]
    for (path, clip), answer in zip(clips, run_node("gltf_positions.mjs", asked), strict=True):
        assert clip.character.skin is not None
        ours = linear_blend(clip.character.skin, Kinematics(clip.motion[some_frames(clip)]))
        for mine, seen in zip(ours, answer[0], strict=True):
            far = cKDTree(mine).query(np.array(seen["skinned"]))[0].max() / np.ptp(mine, axis=0).max()
            assert far < 1e-5, f"{path.name}: {far:.2g} of the figure's size"


def _is_unit(clip: Clip) -> bool:
    """Return whether the file's own quaternions are exact; some are written with three digits."""
    source = clip.character.source
    curves = [c for c in source.animations[clip.take].channels if c.path == "rotation"] if clip.takes else []
    values = [source.document.floats(c.output, ("VEC4",)) for c in curves if c.interpolation == "LINEAR"]
    return all(np.abs(np.linalg.norm(value, axis=1) - 1).max() < 1e-6 for value in values)


def _scales(clip: Clip) -> bool:
    """Return whether the take really animates a scale."""
    found = gltf.read_characters(clip.character.source.document)[0]
    if not found.takes:
        return False
    found.read_take(clip.take)
    return any("scale" in note for note in found.take_notes(clip.take))


@pytest.mark.skipif(not FILES, reason="the folder shared/data with real files is not beside the repository")
def test_edits_of_real_files_are_valid_and_match_three_js(tmp_path):
    cases, sources = [], []
    for number, path in list(enumerate(FILES))[:: thorough(2, 1)]:
        clip = edited(clip_of(gltf.load(path)[0], 0), number)
        target = tmp_path / f"{number}{'.glb' if number % 3 else '.gltf'}"
        gltf.save(target, clip)
        sources.append(path)
        written = gltf.load(target)[0]
        take = next(n for n, t in enumerate(written.takes) if t.name == clip.name)
        assert len(written.read_take(take)) == len(clip.motion)
        character = replace(clip.character, source=written.source)
        cases.append((target, replace(clip, character=character, takes=written.takes, take=take)))
    check_positions(cases, 1e-5)
    reports = run_node("gltf_validate.mjs", [str(path) for path, _ in cases] + [str(path) for path in sources])
    for (target, _), source, after, before in zip(cases, sources, reports, reports[len(cases) :], strict=False):
        new = errors(after) - errors(before)
        assert not new, f"{source.name} as {target.name}: {sorted(new)[:3]}"


def test_written_files_are_valid(tmp_path):
    paths = []
    motion = hand_made_motion()
    for mesh in ("auto", "bones", "none"):
        for suffix in (".glb", ".gltf"):
            paths.append(tmp_path / f"{mesh}{suffix}")
            gltf.save(paths[-1], Clip(motion, Character(motion.skeleton)), mesh=mesh)
    (tmp_path / "made.glb").write_bytes(figure().glb())
    clip = clip_of(gltf.load(tmp_path / "made.glb")[0], 0)
    for name in ("edit.glb", "edit.gltf"):
        gltf.save(tmp_path / name, edited(clip))
    gltf.save(tmp_path / "pose.glb", replace(clip, motion=clip.motion[2], takes=()))
    paths += [tmp_path / name for name in ("edit.glb", "edit.gltf", "pose.glb")]
    for path, report in zip(paths, run_node("gltf_validate.mjs", [str(path) for path in paths]), strict=True):
        assert not errors(report), f"{path.name}: {sorted(errors(report))[:3]}"
    (judged,) = gltf.load(paths[0])
    check_positions([(paths[0], clip_of(judged, 0))], 1e-6)


def test_samples_are_valid_and_round_trip(tmp_path):
    paths = []
    for name in (*samples.MOTIONS, *samples.CHARACTERS):
        clip = footplant.load(f"sample:{name}")
        paths.append(footplant.save(tmp_path / f"{name}.glb", clip))
        again = footplant.load(paths[-1])
        assert again.motion.fps == pytest.approx(clip.motion.fps, rel=1e-6)
        assert again.motion.skeleton.names == clip.motion.skeleton.names
        np.testing.assert_allclose(Kinematics(again.motion).positions, Kinematics(clip.motion).positions, atol=1e-6)
        assert again.character.skin is not None
        if clip.character.skin is not None:
            np.testing.assert_allclose(again.character.skin.vertices, clip.character.skin.vertices, atol=1e-6)
    for path, report in zip(paths, run_node("gltf_validate.mjs", [str(path) for path in paths]), strict=True):
        assert not errors(report), f"{path.name}: {sorted(errors(report))[:3]}"
