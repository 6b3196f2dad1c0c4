"""Write meshes with their materials, textures and morph targets into a new glTF document."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.io.gltf.pack import VERTEX_DATA, VERTEX_INDICES, Packer
from footplant.looks import Looks, MeshPart
from footplant.skeleton import Skin
from footplant.skinning import vertex_normals

SPECULAR = "KHR_materials_specular"


def add_looks(packer: Packer, skin: Skin, looks: Looks, name: str) -> list[int]:
    """Add every mesh of a skin as a node with its materials; return the nodes. The skin is document skin 0."""
    for texture in looks.textures:
        view = packer.add_bytes(texture.data)
        image = packer.append("images", {"name": texture.name, "mimeType": texture.mime, "bufferView": view})
        packer.append("textures", {"source": image})
    for material in looks.materials:
        surface: dict[str, Any] = {
            "baseColorFactor": list(material.color), "metallicFactor": 0.0, "roughnessFactor": 0.9,
        }  # fmt: skip
        if material.texture is not None:
            surface["baseColorTexture"] = {"index": material.texture}
        entry: dict[str, Any] = {"name": material.name, "pbrMetallicRoughness": surface, "doubleSided": True}
        if material.color[3] < 1.0:
            entry["alphaMode"] = "BLEND"
        if material.normal is not None:
            entry["normalTexture"] = {"index": material.normal}
        if material.specular is not None:
            entry["extensions"] = {SPECULAR: {"specularColorTexture": {"index": material.specular}}}
            used = packer.json.setdefault("extensionsUsed", [])
            used += [SPECULAR] if SPECULAR not in used else []
        packer.append("materials", entry)
    normals = vertex_normals(skin.vertices, skin.faces) if skin.normals is None else skin.normals
    joints, weights = strongest(skin)
    nodes = []
    for number, part in enumerate(looks.parts):
        if part.stop > part.start:
            title = part.name or f"{name} {number + 1}"
            mesh = packer.append("meshes", {"name": title, **_mesh(packer, skin, part, normals, joints, weights)})
            nodes.append(packer.append("nodes", {"name": title, "mesh": mesh, "skin": 0}))
    return nodes


def _mesh(
    packer: Packer, skin: Skin, part: MeshPart, normals: NDArray, joints: NDArray, weights: NDArray
) -> dict[str, Any]:
    """Return a mesh: a primitive with vertices of its own per material, split where texture coordinates differ."""
    morphs = []
    for morph in part.morphs:
        moved = np.zeros((len(skin.vertices), 3))
        moved[morph.vertices] = morph.offsets
        morphs.append(moved)
    primitives = []
    for material in np.unique(part.materials).tolist():
        own = np.flatnonzero(part.materials == material)
        corners = skin.faces[part.start + own].reshape(-1)
        uvs = np.zeros((len(corners), 2)) if part.uvs is None else part.uvs[own].reshape(-1, 2)
        kept, place = np.unique(np.column_stack([corners, uvs]), axis=0, return_inverse=True)
        vertices = kept[:, 0].astype(np.int64)
        length = np.linalg.norm(normals[vertices], axis=1, keepdims=True)
        upright = np.where(length > 0, normals[vertices] / np.where(length > 0, length, 1.0), [0.0, 1.0, 0.0])
        attributes = {
            "POSITION": packer.add(skin.vertices[vertices].astype("<f4"), "VEC3", target=VERTEX_DATA, bounds=True),
            "NORMAL": packer.add(upright.astype("<f4"), "VEC3", target=VERTEX_DATA),
            **joints_and_weights(packer, joints[vertices], weights[vertices], len(skin.inverse_bind)),
        }
        if part.uvs is not None:
            # glTF counts v downwards
            flipped = np.column_stack([kept[:, 1], 1.0 - kept[:, 2]])
            attributes["TEXCOORD_0"] = packer.add(flipped.astype("<f4"), "VEC2", target=VERTEX_DATA)
        faces = place.reshape(-1, 1).astype("<u2" if len(vertices) < 65535 else "<u4")
        indices = packer.add(faces, "SCALAR", target=VERTEX_INDICES)
        primitive: dict[str, Any] = {"attributes": attributes, "indices": indices, "material": material}
        if morphs:
            primitive["targets"] = [
                {"POSITION": packer.add(moved[vertices].astype("<f4"), "VEC3", target=VERTEX_DATA, bounds=True)}
                for moved in morphs
            ]
        primitives.append(primitive)
    mesh: dict[str, Any] = {"primitives": primitives}
    if morphs:
        mesh |= {"weights": [0.0] * len(morphs), "extras": {"targetNames": [morph.name for morph in part.morphs]}}
    return mesh


def joints_and_weights(packer: Packer, joints: NDArray, weights: NDArray, count: int) -> dict[str, int]:
    """Add the influences of vertices, four or eight each; return the attributes. count: joints of the skin."""
    attributes = {}
    for number in range(joints.shape[1] // 4):
        part = slice(4 * number, 4 * number + 4)
        dtype = "<u1" if count <= 256 else "<u2"
        attributes[f"JOINTS_{number}"] = packer.add(joints[:, part].astype(dtype), "VEC4", target=VERTEX_DATA)
        attributes[f"WEIGHTS_{number}"] = packer.add(weights[:, part], "VEC4", target=VERTEX_DATA)
    return attributes


def strongest(skin: Skin) -> tuple[NDArray, NDArray]:
    """Return the four (eight if any vertex has more than four) strongest influences per vertex, normalised to 1."""
    joints, weights = np.array(skin.joints), np.array(skin.weights)
    width = 4 if (weights > 0).sum(axis=1).max(initial=0) <= 4 else 8
    order = np.argsort(-weights, axis=1, kind="stable")[:, :width]
    joints, weights = np.take_along_axis(joints, order, axis=1), np.take_along_axis(weights, order, axis=1)
    missing = width - joints.shape[1]
    joints, weights = (np.pad(array, ((0, 0), (0, max(missing, 0)))) for array in (joints, weights))
    weights = np.maximum(weights, 0.0)
    total = weights.sum(axis=1, keepdims=True)
    weights = np.where(total > 0, weights / np.where(total > 0, total, 1.0), np.eye(1, width))
    weights = weights.astype("<f4")
    return np.where(weights > 0, joints, 0), weights
