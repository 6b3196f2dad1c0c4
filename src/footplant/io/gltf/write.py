"""Write a clip as a new glTF file: joints as nodes, the skin (or display bones) as a mesh, motions as animations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Clip
from footplant.io.gltf.looks import add_looks, joints_and_weights, strongest
from footplant.io.gltf.pack import VERTEX_DATA, VERTEX_INDICES, DocumentState, Packer
from footplant.io.gltf.rewrite import NodeCurves, make_animation
from footplant.io.gltf.scene import BONES, END_SITE, MADE_FOR
from footplant.io.writing import generator
from footplant.motion import Motion
from footplant.skeleton import Character, Skeleton, Skin
from footplant.skinning import vertex_normals

_OCTAHEDRON = np.array(
    [[0, 2, 1], [0, 3, 2], [0, 4, 3], [0, 1, 4], [5, 1, 2], [5, 2, 3], [5, 3, 4], [5, 4, 1]], np.int64
)
"""Faces of a bone: corner 0 at the joint, 1–4 around its thickest part, 5 at the far end."""


def write_new(
    path: str | Path,
    clip: Clip,
    mesh: str,
    extensions: dict[str, Any] | None = None,
    takes: Sequence[Clip] = (),
    made_for: Mapping[str, Any] | None = None,
) -> None:
    """Write a clip whose character has no glTF file of its own (mesh: "auto", "bones" or "none").

    Node N is joint N. extensions: document-level extensions by name. takes: the clips to write as animations, if not
    just the one. made_for: as for `save`.
    """
    skeleton = clip.motion.skeleton
    packer = Packer(path)
    packer.restore(_static_document(clip.character, skeleton, mesh))
    for take in takes or (clip,):
        if len(take.motion):
            times = np.arange(len(take.motion)) / take.motion.fps
            animation = make_animation(packer, _curves(take.motion, skeleton), times)
            if made_for and take is clip:
                animation["extras"] = {MADE_FOR: made_for}
            packer.append("animations", {"name": take.name, **animation})
    if extensions:
        packer.extend(extensions)
    packer.write()


_STATIC_DOCUMENTS: WeakKeyDictionary[Character, tuple[Skeleton, str, DocumentState]] = WeakKeyDictionary()
"""Cache: the last static document of each character, with the skeleton and mesh option that it was made for."""


def _static_document(character: Character, skeleton: Skeleton, mesh: str) -> DocumentState:
    """Return a document without animations, cached per character since batches write many files of one character."""
    known = _STATIC_DOCUMENTS.get(character)
    if known is None or known[0] is not skeleton or known[1] != mesh:
        state = _make_static_document(character, skeleton, mesh)
        known = _STATIC_DOCUMENTS[character] = (skeleton, mesh, state)
    return known[2]


def _make_static_document(character: Character, skeleton: Skeleton, mesh: str) -> DocumentState:
    """Build nodes, skin, material and mesh."""
    packer = Packer("static.glb")
    packer.json["asset"] = {"version": "2.0", "generator": generator()}
    packer.json["scene"] = 0
    roots = [0]
    packer.json["nodes"] = _joint_nodes(skeleton)
    shape = character.skin if mesh == "auto" else None
    if shape is None and mesh != "none":
        shape = bone_skin(skeleton)
    if shape is not None and shape.looks is not None and shape is character.skin:
        packer.append("skins", _skin(packer, shape, len(skeleton), character.name))
        roots += add_looks(packer, shape, shape.looks.at_hand(), character.name)
    elif shape is not None:
        packer.append("skins", _skin(packer, shape, len(skeleton), character.name))
        packer.append("materials", _material())
        body = {"name": character.name, "primitives": [_primitive(packer, shape)]}
        packer.append("meshes", body if shape is character.skin else body | {"extras": {BONES: True}})
        roots.append(packer.append("nodes", {"name": character.name, "mesh": 0, "skin": 0}))
    packer.json["scenes"] = [{"nodes": roots}]
    return packer.state


def _joint_nodes(skeleton: Skeleton) -> list[dict[str, Any]]:
    """Return one node per joint, in the joints' order, then one per end site."""
    nodes: list[dict[str, Any]] = []
    for joint, name in enumerate(skeleton.names):
        w, x, y, z = skeleton.rest[joint].tolist()
        node: dict[str, Any] = {"name": name, "translation": skeleton.offsets[joint].tolist(), "rotation": [x, y, z, w]}
        children = list(skeleton.children[joint])
        children += [len(skeleton) + end for end in np.flatnonzero(skeleton.end_parents == joint).tolist()]
        if children:
            node["children"] = children
        nodes.append(node)
    for parent, offset in zip(skeleton.end_parents.tolist(), skeleton.end_offsets.tolist(), strict=True):
        name = f"{skeleton.names[parent]}_end"
        nodes.append({"name": name, "translation": offset, "extras": {END_SITE: True}})
    return nodes


def _curves(motion: Motion, rest: Skeleton) -> list[NodeCurves]:
    """Return the curves of every joint; translations only where bone offsets differ from the nodes' rest offsets."""
    turns = rotation.unroll(motion.rotations)
    bones = motion.skeleton.offsets[None] if motion.offsets is None else motion.offsets
    moving = (bones != rest.offsets).any(axis=(0, 2))
    curves = []
    for joint in range(len(motion.skeleton)):
        translations = motion.root if joint == 0 else None
        if joint and moving[joint]:
            translations = np.broadcast_to(bones[:, joint], (len(motion), 3))
        curves.append(NodeCurves(joint, turns[:, joint], translations))
    return curves


def _skin(packer: Packer, skin: Skin, joints: int, name: str) -> dict[str, Any]:
    matrices = np.array(skin.inverse_bind).astype("<f4")
    # the last row must be exactly 0 0 0 1
    matrices[:, 3] = (0, 0, 0, 1)
    bind = packer.add(np.swapaxes(matrices, 1, 2).reshape(-1, 16), "MAT4")
    return {"name": name, "joints": list(range(joints)), "skeleton": 0, "inverseBindMatrices": bind}


def _material() -> dict[str, Any]:
    surface = {"baseColorFactor": [0.72, 0.74, 0.78, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.8}
    return {"name": "neutral", "pbrMetallicRoughness": surface, "doubleSided": True}


def _primitive(packer: Packer, skin: Skin) -> dict[str, Any]:
    normals = vertex_normals(skin.vertices, skin.faces) if skin.normals is None else skin.normals
    attributes = {
        "POSITION": packer.add(skin.vertices.astype("<f4"), "VEC3", target=VERTEX_DATA, bounds=True),
        "NORMAL": packer.add(_unit(normals).astype("<f4"), "VEC3", target=VERTEX_DATA),
    }
    attributes |= joints_and_weights(packer, *strongest(skin), len(skin.inverse_bind))
    dtype = "<u2" if len(skin.vertices) < 65535 else "<u4"
    indices = packer.add(skin.faces.reshape(-1, 1).astype(dtype), "SCALAR", target=VERTEX_INDICES)
    return {"attributes": attributes, "indices": indices, "material": 0}


def _unit(vectors: NDArray) -> NDArray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(length > 0, vectors / np.where(length > 0, length, 1.0), [0.0, 1.0, 0.0])


def bone_skin(skeleton: Skeleton) -> Skin:
    """Return octahedral bones, each bound rigidly to its joint, so that viewers can show a skeleton without a mesh."""
    positions, rotations = skeleton.rest_world
    size = float(np.ptp(np.concatenate([positions, skeleton.rest_ends]), axis=0).max()) or 1.0
    tips: list[list[NDArray]] = [[] for _ in skeleton.names]
    for joint in range(1, len(skeleton)):
        tips[skeleton.parents[joint]].append(positions[joint])
    for parent, tip in zip(skeleton.end_parents, skeleton.rest_ends, strict=True):
        tips[parent].append(tip)
    vertices, faces, joints, normals = [], [], [], []
    for joint, ends in enumerate(tips):
        start = positions[joint]
        bones = [end for end in ends if np.linalg.norm(end - start) > 1e-3 * size]
        # a joint without children is drawn as a small diamond
        for end in bones or [start + rotation.rotate(rotations[joint], [0.0, 0.02 * size, 0.0])]:
            corners = _bone_corners(start, end, 0.03 * size)
            flat = corners[_OCTAHEDRON].reshape(-1, 3)
            across = np.cross(flat[1::3] - flat[::3], flat[2::3] - flat[::3])
            faces.append(np.arange(24).reshape(8, 3) + 24 * len(vertices))
            vertices.append(flat)
            normals.append(np.repeat(_unit(across), 3, axis=0))
            joints.append(np.full((24, 1), joint))
    bind = np.tile(np.eye(4), (len(skeleton), 1, 1))
    bind[:, :3, :3] = np.swapaxes(rotation.to_matrix(rotations), 1, 2)
    bind[:, :3, 3] = -np.einsum("jab,jb->ja", bind[:, :3, :3], positions)
    count = 24 * len(vertices)
    return Skin(
        vertices=np.concatenate(vertices),
        faces=np.concatenate(faces),
        joints=np.concatenate(joints),
        weights=np.ones((count, 1)),
        inverse_bind=bind,
        normals=np.concatenate(normals),
    )


def _bone_corners(start: NDArray, end: NDArray, thickest: float) -> NDArray:
    """Return the six corners of a bone: thick near its joint, pointed at its end."""
    along = end - start
    length = float(np.linalg.norm(along))
    turn = rotation.between([0.0, 1.0, 0.0], along)
    radius = min(0.12 * length, thickest)
    waist = [[radius, 0, 0], [0, 0, radius], [-radius, 0, 0], [0, 0, -radius]]
    ring = [rotation.rotate(turn, np.array(corner) + [0, 0.15 * length, 0]) + start for corner in waist]
    return np.array([start, *ring, end])
