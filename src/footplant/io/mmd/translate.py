"""Translate a model, and a motion on it, to a glTF document: right-handed, metres, facing +z."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import FormatError
from footplant.io.gltf.document import Document
from footplant.io.gltf.pack import VERTEX_DATA, VERTEX_INDICES, Packer
from footplant.io.mmd.pmx import GRANTS_ROTATION, Pmx, PmxMaterial
from footplant.io.mmd.pose import Pose
from footplant.io.mmd.vmd import FPS, Vmd
from footplant.io.pictures import as_shared, find_picture

METRES = 0.08
"""Metres per unit of MMD."""
SAME_PLACE = 0.02
"""MMD units: bones nearer than this are in one place."""
MAX_SAMPLES = 1 << 26
"""Most frames times bones."""
_MIRROR = np.array([1.0, 1.0, -1.0])
_TURN_MIRROR = np.array([1.0, -1.0, -1.0, 1.0])


@dataclass(frozen=True, eq=False)
class Joints:
    """Which bones become joints."""

    bones: list[int]
    """Parents first."""
    parents: list[int]
    """Index of each one's parent among the joints; −1 for a root."""
    joint_of: NDArray
    """(B,) the joint that moves the vertices of each bone."""


def choose_joints(model: Pmx) -> Joints:
    """Return the joints of a model: see the package's docstring."""
    bones, count = model.bones, len(model.bones)
    named = {bone.name: number for number, bone in reversed(list(enumerate(bones)))}
    parents = [bone.parent for bone in bones]
    lower, upper = named.get("下半身", -1), named.get("上半身", -1)
    above: set[int] = set()
    if lower >= 0 and upper >= 0:
        for start in (lower, upper):
            bone = parents[start]
            while bone >= 0:
                above.add(bone)
                bone = parents[bone]
    rooted = bool(above) and not above & {lower, upper}
    weighted = np.zeros(count, bool)
    weighted[model.influences[model.weights > 0]] = True
    below: list[list[int]] = [[] for _ in bones]
    for number, parent in enumerate(parents):
        if parent >= 0:
            below[parent].append(number)
    # bones that only lead the others: IK goals, with what is below them and moves nothing
    controls = {number for number, bone in enumerate(bones) if bone.ik is not None and not weighted[number]}
    order = _parents_first(parents)
    for number in reversed(order):
        if number not in controls and below[number] and not weighted[number] and set(below[number]) <= controls:
            controls.add(number)
    for number in order:
        if parents[number] in controls and not weighted[number]:
            controls.add(number)
    # unweighted bones in the place of one below them (肩P, 腰キャンセル): their turns are in the bones below
    folded = {
        number
        for number in range(count)
        if not weighted[number]
        and number not in controls
        and any(_are_together(model, number, child) for child in below[number] if child not in controls)
    }
    merged = {n: bone.granter for n, bone in enumerate(bones) if _is_copy(model, n) and bone.granter not in controls}
    joint_of, joints, tree = np.full(count, -1, np.int64), list[int](), list[int]()
    if rooted:
        joint_of[lower] = 0
        joints, tree = [lower], [-1]
        joint_of[list(above)] = 0
    for number in order:
        if joint_of[number] >= 0 or number in merged or number in controls or number in folded:
            continue
        parent = parents[number]
        while parent >= 0 and parent in merged:
            parent = merged[parent]
        while parent >= 0 and (parent in controls or parent in folded):
            parent = parents[parent]
        if parent >= 0 and joint_of[parent] < 0:
            # its parent was merged into a bone that comes later
            parent = parents[number]
            while parent >= 0 and joint_of[parent] < 0:
                parent = parents[parent]
        joint_of[number] = len(joints)
        joints.append(number)
        tree.append(int(joint_of[parent]) if parent >= 0 else (0 if rooted else -1))
    for number in order:
        if joint_of[number] < 0:
            granter = merged.get(number, -1)
            joint = joint_of[granter] if granter >= 0 else -1
            parent = parents[number]
            joint_of[number] = joint if joint >= 0 else joint_of[parent] if parent >= 0 else 0
    return Joints(joints, tree, np.maximum(joint_of, 0))


def _is_copy(model: Pmx, number: int) -> bool:
    """Return whether a bone only takes over the whole turn of another one in the same place."""
    bone = model.bones[number]
    if bone.granter < 0 or not bone.flags & GRANTS_ROTATION or bone.ratio != 1.0 or bone.ik is not None:
        return False
    return model.bones[bone.granter].granter < 0 and _are_together(model, number, bone.granter)


def _are_together(model: Pmx, one: int, other: int) -> bool:
    return float(np.linalg.norm(model.bones[one].place - model.bones[other].place)) < SAME_PLACE


def _parents_first(parents: list[int]) -> list[int]:
    depth: dict[int, int] = {-1: -1}

    def of(bone: int) -> int:
        way = []
        while bone not in depth:
            way.append(bone)
            bone = parents[bone]
        for each in reversed(way):
            depth[each] = depth[parents[each]] + 1
        return depth[way[0]] if way else depth[bone]

    return sorted(range(len(parents)), key=lambda bone: (of(bone), bone))


def translate(model: Pmx, motion: Vmd | None, path: Path, model_path: Path, notes: list[str]) -> Document:
    """Return the document; model_path: where pictures are looked for."""
    if not model.bones:
        raise FormatError("expected a model with bones, got none", path=model_path)
    packer = Packer(path.with_suffix(".glb"))
    joints = choose_joints(model)
    places = np.array([model.bones[bone].place for bone in joints.bones]) * _MIRROR * METRES
    for number, (bone, parent) in enumerate(zip(joints.bones, joints.parents, strict=True)):
        at = places[number] - (places[parent] if parent >= 0 else 0.0)
        below = [other for other, above in enumerate(joints.parents) if above == number]
        entry: dict[str, Any] = {"name": model.bones[bone].name, "translation": at.tolist()}
        packer.append("nodes", entry | ({"children": below} if below else {}))
    bind = np.broadcast_to(np.eye(4), (len(places), 4, 4)).copy()
    bind[:, :3, 3] = -places
    matrices = packer.add(np.swapaxes(bind, 1, 2).reshape(-1, 16).astype("<f4"), "MAT4")
    packer.append("skins", {"joints": list(range(len(places))), "inverseBindMatrices": matrices})
    roots = [number for number, parent in enumerate(joints.parents) if parent < 0]
    roots += _add_meshes(packer, model, joints, model_path, notes)
    packer.json |= {"asset": {"version": "2.0", "generator": "MMD"}, "scene": 0, "scenes": [{"nodes": roots}]}
    if motion is not None:
        _add_motion(packer, model, joints, motion, path, notes)
    if model.rigid_bodies:
        notes.append(f"physics is not read: {model.rigid_bodies} rigid bodies of hair and clothes follow their bones")
    if model.other_morphs:
        notes.append(f"{model.other_morphs} morphs that move no vertices (groups, bones, materials) were not read")
    out = Document(path, packer.to_bytes())
    out.notes += notes
    return out


def _add_meshes(packer: Packer, model: Pmx, joints: Joints, path: Path, notes: list[str]) -> list[int]:
    """Add a mesh for each material; return their nodes."""
    pictures: dict[int, int | None] = {}
    nodes, start = [], 0
    for material in model.materials:
        faces = model.faces[start // 3 : (start + material.corners) // 3]
        start += material.corners
        if not len(faces):
            continue
        if material.texture not in pictures:
            pictures[material.texture] = _add_picture(packer, model, material.texture, path, notes)
        number = packer.append("materials", _material(material, pictures[material.texture]))
        mesh = packer.append("meshes", {"name": material.name, **_mesh(packer, model, joints, faces, number)})
        nodes.append(packer.append("nodes", {"name": material.name, "mesh": mesh, "skin": 0}))
    return nodes


def _material(material: PmxMaterial, texture: int | None) -> dict[str, Any]:
    # the colour beside a texture is multiplied with it by some programs and is often grey
    color = list(material.color) if texture is None else [1.0, 1.0, 1.0, material.color[3]]
    surface: dict[str, Any] = {"metallicFactor": 0.0, "roughnessFactor": 0.9, "baseColorFactor": color}
    if texture is not None:
        surface["baseColorTexture"] = {"index": texture}
    entry: dict[str, Any] = {"name": material.name, "pbrMetallicRoughness": surface}
    if material.two_sided:
        entry["doubleSided"] = True
    if material.color[3] < 1.0:
        entry["alphaMode"] = "BLEND"
    elif texture is not None:
        entry |= {"alphaMode": "MASK", "alphaCutoff": 0.5}
    return entry


def _add_picture(packer: Packer, model: Pmx, number: int, path: Path, notes: list[str]) -> int | None:
    """Add the picture of a texture; None if there is none or it cannot be read."""
    if not 0 <= number < len(model.textures):
        return None
    stated = model.textures[number]
    data = find_picture(path, stated)
    shared = as_shared(data)
    if shared is None:
        why = "it is not beside the file" if not data else "PNG, JPEG, Targa and bitmap pictures are kept"
        notes.append(f"the texture {stated[-80:]!r} was not read: {why}")
        return None
    mime, content = shared
    uri = f"data:{mime};base64,{base64.b64encode(content).decode('ascii')}"
    image = packer.append("images", {"name": Path(stated.replace("\\", "/")).stem, "mimeType": mime, "uri": uri})
    return packer.append("textures", {"source": image})


def _mesh(packer: Packer, model: Pmx, joints: Joints, faces: NDArray, material: int) -> dict[str, Any]:
    """Return a mesh of some triangles with the morphs that move it; mirroring turns the triangles round."""
    kept, corners = np.unique(faces[:, ::-1], return_inverse=True)
    normals = model.normals[kept] * _MIRROR
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.where(length > 1e-9, normals / np.where(length > 1e-9, length, 1.0), [0.0, 1.0, 0.0])
    weights = model.weights[kept].astype("<f4")
    moved = np.where(weights > 0, joints.joint_of[model.influences[kept]], 0).astype("<u2")

    def add(values: NDArray, kind: str, bounds: bool = False) -> int:
        return packer.add(values.astype("<f4"), kind, target=VERTEX_DATA, bounds=bounds)

    attributes = {
        "POSITION": add(model.places[kept] * _MIRROR * METRES, "VEC3", True),
        "NORMAL": add(normals, "VEC3"),
        "TEXCOORD_0": add(model.uvs[kept], "VEC2"),
        "JOINTS_0": packer.add(moved, "VEC4", target=VERTEX_DATA),
        "WEIGHTS_0": packer.add(weights, "VEC4", target=VERTEX_DATA),
    }
    indices = packer.add(corners.reshape(-1, 1).astype("<u4"), "SCALAR", target=VERTEX_INDICES)
    primitive: dict[str, Any] = {"attributes": attributes, "indices": indices, "material": material, "mode": 4}
    names, targets = [], []
    for name, vertices, offsets in model.morphs:
        place = np.minimum(np.searchsorted(kept, vertices), len(kept) - 1)
        own = kept[place] == vertices
        if own.any():
            shift = np.zeros((len(kept), 3))
            np.add.at(shift, place[own], offsets[own] * _MIRROR * METRES)
            targets.append({"POSITION": add(shift, "VEC3", True)})
            names.append(name)
    if not targets:
        return {"primitives": [primitive]}
    primitive["targets"] = targets
    return {"primitives": [primitive], "weights": [0.0] * len(names), "extras": {"targetNames": names}}


def _add_motion(packer: Packer, model: Pmx, joints: Joints, motion: Vmd, path: Path, notes: list[str]) -> None:
    """Add the motion as an animation with a key in every frame."""
    if motion.frames * len(model.bones) > MAX_SAMPLES:
        raise FormatError(f"expected at most {MAX_SAMPLES // len(model.bones)} frames, got {motion.frames}", path=path)
    pose = Pose(model.bones, motion)
    if not pose.used:
        raise FormatError(f"expected keys of the model's bones, got none of {len(motion.bones)} that it has", path=path)
    pose.solve()
    unused = len(motion.bones) - pose.used
    if unused:
        notes.append(f"{unused} of {len(motion.bones)} bones of the motion are not in the model and were left out")
    if motion.morph_keys:
        notes.append(f"{motion.morph_keys} keys of morphs (faces) were not read")
    times = packer.add((np.arange(motion.frames) / FPS).reshape(-1, 1).astype("<f4"), "SCALAR", bounds=True)
    animation: dict[str, Any] = {"name": path.stem, "channels": [], "samplers": []}

    def channel(node: int, kind: str, values: NDArray, form: str) -> None:
        animation["samplers"].append({"input": times, "output": packer.add(values.astype("<f4"), form)})
        target = {"node": node, "path": kind}
        animation["channels"].append({"sampler": len(animation["samplers"]) - 1, "target": target})

    for number, (bone, parent) in enumerate(zip(joints.bones, joints.parents, strict=True)):
        turns, places = pose.world_turns[bone], pose.world_places[bone]
        if parent >= 0:
            above = joints.bones[parent]
            back = rotation.inverse(pose.world_turns[above])
            turns, places = rotation.multiply(back, turns), rotation.rotate(back, places - pose.world_places[above])
        turns = rotation.unroll(rotation.normalize(turns) * _TURN_MIRROR)
        channel(number, "rotation", turns[:, [1, 2, 3, 0]], "VEC4")
        rest = model.bones[bone].place - (model.bones[joints.bones[parent]].place if parent >= 0 else 0.0)
        if parent < 0 or np.abs(places - rest).max(initial=0.0) > 1e-4:
            channel(number, "translation", places * _MIRROR * METRES, "VEC3")
    packer.append("animations", animation)
