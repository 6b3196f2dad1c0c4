"""The looks of a glTF character: meshes, materials, textures and morph targets, for writers of other formats."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError
from footplant.io.gltf.characters import read_skins
from footplant.io.gltf.document import Document
from footplant.io.gltf.scene import GltfScene, Joints
from footplant.io.gltf.skin import skin_parts, triangles
from footplant.io.json import Json
from footplant.looks import Looks, Material, MeshPart, MorphTarget, Texture
from footplant.skeleton import Skeleton

SPECULAR = "KHR_materials_specular"
MIME = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
"""First bytes of pictures → type; other formats have no place for others."""


def read_looks(scene: GltfScene, joints: Joints, skeleton: Skeleton) -> Looks | None:
    """Return the looks of the skin that `skin.read_skin` reads, in its order of triangles; None without a mesh."""
    document = scene.document
    with np.errstate(all="ignore"):
        parts, _ = skin_parts(scene, joints, skeleton, read_skins(scene), [])
        if not parts:
            return None
        textures, places = _textures(document)
        materials = [_material(entry, places) for entry in document.top.objects("materials")]
        neutral = len(materials)
        found, start, vertex = [], 0, 0
        for (_, mesh), group in groupby(parts, key=lambda part: (part.node, part.mesh)):
            rows: list[tuple[NDArray, NDArray]] = []
            morphs: dict[str, list[tuple[NDArray, NDArray]]] = {}
            first, textured = start, False
            for part in group:
                corners = triangles(part.shape.corners, part.shape.mode)
                flipped = np.linalg.det(part.to_common[0, :3, :3]) < 0
                number = part.shape.entry.index("material", neutral, neutral)
                uvs = _coordinates(document, part.shape.entry, part.shape.vertices)
                textured |= uvs is not None
                own = np.zeros((len(corners), 3, 2)) if uvs is None else uvs[corners]
                rows.append((np.full(len(corners), number), own[:, ::-1] if flipped else own))
                for name, offsets in _targets(document, mesh, part.shape.entry, part.shape.vertices):
                    moved = offsets @ part.to_common[0, :3, :3].T
                    kept = np.flatnonzero(np.abs(moved).max(axis=1) > 0)
                    morphs.setdefault(name, []).append((kept + vertex, moved[kept]))
                start += len(corners)
                vertex += part.shape.vertices
            surfaces, uvs = (np.concatenate([row[column] for row in rows]) for column in range(2))
            name = document.top.objects("meshes")[mesh].text("name", "") or scene.name(mesh)
            targets = tuple(
                MorphTarget(name, *(np.concatenate([piece[column] for piece in pieces]) for column in range(2)))
                for name, pieces in morphs.items()
            )
            found.append(MeshPart(name, first, start, surfaces, uvs if textured else None, targets))
        if any((part.materials == neutral).any() for part in found):
            materials.append(Material("neutral"))
        return Looks(tuple(found), tuple(materials), tuple(textures))


def _coordinates(document: Document, primitive: Json, count: int) -> NDArray | None:
    """Return the texture coordinates (V, 2) of a primitive, v upwards; None without."""
    attributes = primitive.object("attributes")
    accessor = None if attributes is None else attributes.index("TEXCOORD_0", len(document.accessors), None)
    if accessor is None:
        return None
    values = document.floats(accessor, ("VEC2",))
    return np.column_stack([values[:, 0], 1.0 - values[:, 1]]) if len(values) == count else None


def _targets(document: Document, mesh: int, primitive: Json, count: int) -> list[tuple[str, NDArray]]:
    """Return names and offsets (V, 3) of the morph targets of a primitive."""
    extras = document.top.objects("meshes")[mesh].data.get("extras")
    names = extras.get("targetNames") if isinstance(extras, dict) else None
    names = names if isinstance(names, list) else []
    out: list[tuple[str, NDArray]] = []
    taken: set[str] = set()
    for number, target in enumerate(primitive.objects("targets")):
        name = names[number] if number < len(names) and isinstance(names[number], str) else f"target {number + 1}"
        name = f"{name} {number + 1}" if name in taken else name
        taken.add(name)
        accessor = target.index("POSITION", len(document.accessors), None)
        offsets = np.zeros((count, 3)) if accessor is None else document.floats(accessor, ("VEC3",))
        out.append((name, offsets if len(offsets) == count else np.zeros((count, 3))))
    return out


def _material(entry: Json, places: dict[int, int]) -> Material:
    surface = entry.object("pbrMetallicRoughness")
    color = None if surface is None else surface.numbers("baseColorFactor", 4)
    specular = entry.extension(SPECULAR)
    red, green, blue, alpha = (min(max(value, 0.0), 1.0) for value in (color or [1.0, 1.0, 1.0, 1.0]))
    opaque = entry.text("alphaMode", "OPAQUE") != "BLEND"
    return Material(
        entry.text("name", ""),
        (red, green, blue, 1.0 if opaque else alpha),
        _slot(surface, "baseColorTexture", places),
        _slot(entry, "normalTexture", places),
        _slot(specular, "specularColorTexture", places),
    )


def _slot(holder: Json | None, key: str, places: dict[int, int]) -> int | None:
    """Return the picture of a material's slot, or None."""
    found = None if holder is None else holder.object(key)
    return None if found is None else places.get(found.integer("index"))


def _textures(document: Document) -> tuple[list[Texture], dict[int, int]]:
    """Return the pictures that other formats can hold, and texture → picture."""
    pictures: list[Texture] = []
    numbers: dict[int, int] = {}
    for number, image in enumerate(document.top.objects("images")):
        data = _picture(document, image)
        mime = next((kind for start, kind in MIME.items() if data.startswith(start)), None)
        if mime is not None:
            numbers[number] = len(pictures)
            pictures.append(Texture(image.text("name", "") or f"texture{number + 1}", mime, data))
    sources: list[Any] = [entry.data.get("source") for entry in document.top.objects("textures")]
    return pictures, {n: numbers[source] for n, source in enumerate(sources) if source in numbers}


def _picture(document: Document, image: Json) -> bytes:
    """Return the bytes of a picture; nothing if it cannot be read."""
    try:
        view = image.index("bufferView", len(document.views), None)
        if view is not None:
            return bytes(document.view_bytes(view)[0])
        return document.read_uri(image.text("uri"), image.place("uri"))
    except FormatError:
        return b""
