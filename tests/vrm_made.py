"""Small synthetic VRM characters and VRM animations."""

from __future__ import annotations

from typing import Any

import numpy as np

from gltf_made import Made, quaternion

_SIDE = (
    ("Shoulder", "upperChest", (0.05, 0.12, 0.0)), ("UpperArm", "Shoulder", (0.12, 0.0, 0.0)),
    ("LowerArm", "UpperArm", (0.27, 0.0, 0.0)), ("Hand", "LowerArm", (0.25, 0.0, 0.0)),
    ("ThumbMetacarpal", "Hand", (0.03, -0.01, 0.03)), ("ThumbProximal", "ThumbMetacarpal", (0.03, 0.0, 0.02)),
    ("ThumbDistal", "ThumbProximal", (0.03, 0.0, 0.01)), ("IndexProximal", "Hand", (0.09, 0.0, 0.02)),
    ("IndexIntermediate", "IndexProximal", (0.04, 0.0, 0.0)), ("IndexDistal", "IndexIntermediate", (0.02, 0.0, 0.0)),
    ("UpperLeg", "hips", (0.09, -0.05, 0.0)), ("LowerLeg", "UpperLeg", (0.0, -0.42, 0.0)),
    ("Foot", "LowerLeg", (0.0, -0.42, -0.01)), ("Toes", "Foot", (0.0, -0.07, 0.13)),
)  # fmt: skip
PLACES: dict[str, tuple[str | None, tuple[float, float, float]]] = {
    "hips": (None, (0.0, 0.98, 0.0)), "spine": ("hips", (0.0, 0.1, 0.0)), "chest": ("spine", (0.0, 0.12, 0.0)),
    "upperChest": ("chest", (0.0, 0.12, 0.0)), "neck": ("upperChest", (0.0, 0.16, 0.0)),
    "head": ("neck", (0.0, 0.09, 0.01)), "leftEye": ("head", (0.03, 0.08, 0.08)),
    "rightEye": ("head", (-0.03, 0.08, 0.08)),
} | {
    f"{side}{part}": (above if above[0].islower() else f"{side}{above}", (sign * x, y, z))
    for side, sign in (("left", 1.0), ("right", -1.0))
    for part, above, (x, y, z) in _SIDE
}  # fmt: skip
"""Bone → its parent and its offset, metres; facing +z."""
OLD_THUMBS = {"ThumbMetacarpal": "ThumbProximal", "ThumbProximal": "ThumbIntermediate"}
META_0 = {"title": "Made", "author": "nobody"}
META_1 = {"name": "Made", "authors": ["nobody"], "licenseUrl": "https://vrm.dev/licenses/1.0/"}
WORDS = {"spine": "joint_a", "chest": "joint_b", "head": "upper_end"}
"""Nodes with misleading or meaningless names: the bone map must win."""


def made(version: str, *, bones: tuple[str, ...] = tuple(PLACES)) -> Made:
    """Return a character with the given bones ("0", "1", or "a" for an animation), below a node of its own."""
    out = Made(scene=0, scenes=[{"nodes": [0]}])
    sign = -1.0 if version == "0" else 1.0
    number = {bone: place + 1 for place, bone in enumerate(bones)}
    nodes: list[dict[str, Any]] = [{"name": "Armature", "children": [number["hips"]]}]
    for bone in bones:
        x, y, z = PLACES[bone][1]
        nodes.append({"name": WORDS.get(bone, f"{bone}_node"), "translation": [sign * x, y, sign * z]})
    for bone in bones[1:]:
        nodes[number[str(PLACES[bone][0])]].setdefault("children", []).append(number[bone])
    out.json["nodes"] = nodes
    extension = {"0": "VRM", "1": "VRMC_vrm", "a": "VRMC_vrm_animation"}[version]
    human: Any = {bone: {"node": node} for bone, node in number.items()}
    if version == "0":
        human = [{"bone": old_name(bone), "node": node, "useDefaultValues": True} for bone, node in number.items()]
    content: dict[str, Any] = {"humanoid": {"humanBones": human}}
    content |= {"0": {"meta": META_0}, "1": {"specVersion": "1.0", "meta": META_1}, "a": {"specVersion": "1.0"}}[
        version
    ]
    if version == "a":
        for bone in ("leftEye", "rightEye"):
            human.pop(bone, None)
        content["expressions"] = {"preset": {"happy": {"node": len(nodes)}}}
        content["lookAt"] = {"node": len(nodes) + 1}
        nodes += [{"name": "happy"}, {"name": "gaze"}]
        nodes[0]["children"] += [len(nodes) - 2, len(nodes) - 1]
        times = np.arange(6) / 30
        turn = [quaternion("y", 5.0 * frame) for frame in range(6)]
        out.animate(
            "wave",
            (number["hips"], "translation", times, [[0.1 * frame, 0.98, 0.02 * frame] for frame in range(6)]),
            (number["hips"], "rotation", times, turn),
            (number["leftUpperArm"], "rotation", times, [quaternion("z", 12.0 * frame) for frame in range(6)]),
            (number["head"], "rotation", times, turn),
            (len(nodes) - 2, "translation", times, [[0.2 * frame, 0, 0] for frame in range(6)]),
            (len(nodes) - 1, "rotation", times, turn),
        )
    out.json["extensions"] = {extension: content}
    out.json["extensionsUsed"] = [extension]
    return out


def old_name(bone: str) -> str:
    """Return the VRM 0.x name of a bone."""
    side = next((side for side in ("left", "right") if bone.startswith(side)), "")
    return side + OLD_THUMBS.get(bone[len(side) :], bone[len(side) :])


def human(content: Made) -> Any:
    """Return the humanoid bone map of a synthetic file, to be damaged."""
    (extension,) = content.json["extensions"].values()
    return extension["humanoid"]["humanBones"]
