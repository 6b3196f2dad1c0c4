"""Write a humanoid character as a new VRM 1.0 file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from footplant.clip import Clip
from footplant.io.gltf.bones import ANIMATION, MODEL_1
from footplant.io.gltf.pack import Packer
from footplant.io.gltf.rewrite import GltfSource, fits, free_matrices, make_animation, node_curves
from footplant.io.gltf.scene import signs
from footplant.io.gltf.write import write_new
from footplant.io.vrm.tpose import human_bones, t_posed
from footplant.motion import Motion, rest_motion

LICENSE = "https://vrm.dev/licenses/1.0/"
"""The VRM Public License 1.0, the only one in VRM 1.0; what the metadata does not allow is not permitted."""


def write_character(path: str | Path, clip: Clip, takes: Sequence[Clip], mesh: str, meta: Mapping[str, Any]) -> None:
    """Write a clip's character as VRM 1.0, with its takes as animations if they are not static."""
    bones = human_bones(clip, path)
    posed = replace(clip, motion=t_posed(clip))
    source = clip.character.source
    about = {"name": clip.character.name, "authors": ["unknown"], "licenseUrl": LICENSE, **meta}
    # a character in its rest pose gets no animation
    takes = [replace(take, motion=take.motion[:0]) if _is_static(take) else take for take in takes]
    if mesh == "auto" and isinstance(source, GltfSource) and _can_reuse(source, clip):
        numbers = {bone: source.joints.nodes[joint] for bone, joint in bones.items()}
        _write_onto(path, posed.motion, takes, source, {MODEL_1: _extension(numbers, about)})
    else:
        write_new(path, posed, mesh, {MODEL_1: _extension(bones, about)}, takes)


def _extension(nodes: Mapping[str, int], meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the VRMC_vrm extension object."""
    bones = {bone: {"node": node} for bone, node in nodes.items()}
    return {"specVersion": "1.0", "meta": dict(meta), "humanoid": {"humanBones": bones}}


def _is_static(clip: Clip) -> bool:
    """Return whether the clip is just a character in its rest pose."""
    rest = rest_motion(clip.motion.skeleton)
    return (
        len(clip.motion) == 1
        and np.array_equal(clip.motion.rotations, rest.rotations)
        and np.array_equal(clip.motion.root, rest.root)
    )


def _can_reuse(source: GltfSource, clip: Clip) -> bool:
    """Return whether the character's glTF file can become the VRM file: same rest pose, metres, no mirrored nodes."""
    ours, theirs = clip.character.skeleton, source.skeleton
    return (
        source.bones is None
        and ANIMATION not in (source.document.json.get("extensions") or {})
        and fits(source, clip.motion.skeleton)
        and source.joints.nodes[0] >= 0
        and np.allclose(ours.rest, theirs.rest, atol=1e-9)
        and np.allclose(ours.offsets[1:], theirs.offsets[1:], atol=1e-7)
        and all((signs(source.scene.stretches[node]) > 0).all() for node in source.joints.nodes)
    )


def _write_onto(
    path: str | Path, posed: Motion, takes: Sequence[Clip], source: GltfSource, extensions: dict[str, Any]
) -> None:
    """Write the character's glTF file with its nodes in a T-pose, only the given takes, and the humanoid bone map."""
    packer = Packer(path, source.document)
    free_matrices(packer, source)
    for curve in node_curves(source, rest_motion(posed.skeleton)):
        node = packer.json["nodes"][curve.node]
        w, x, y, z = curve.rotations[0].tolist()
        node["rotation"] = [x, y, z, w]
        if curve.translations is not None:
            node["translation"] = curve.translations[0].tolist()
    packer.json.pop("animations", None)
    for take in takes:
        if len(take.motion):
            times = np.arange(len(take.motion)) / take.motion.fps
            animation = make_animation(packer, node_curves(source, take.motion), times)
            packer.append("animations", {"name": take.name, **animation})
    packer.extend(extensions)
    packer.write()
