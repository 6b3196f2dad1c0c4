"""Materials, textures, texture coordinates and morph targets of an FBX file, for the parts of its skin."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.io.fbx.mesh import Mesh, fan
from footplant.io.fbx.process import Answer
from footplant.io.pictures import as_shared, find_picture
from footplant.looks import Looks, Material, MeshPart, MorphTarget, Texture

MAX_MATERIALS = 4096


def read_looks(answer: Answer, placed: Sequence[tuple[Mesh, NDArray, int, bool]], notes: list[str]) -> Looks | None:
    """Return the looks of a skin, or None if the child reported none.

    placed: the meshes in the order of the skin, each with its linear map (3, 3) to the skin's space, its first vertex,
    and whether its triangles were flipped.
    """
    found = answer.header.data.get("looks")
    if not isinstance(found, dict):
        return None
    textures, places = _textures(answer, found.get("textures"), notes)
    shown = {number for number, place in places.items() if textures[place].data}
    materials = [_material(entry, places, shown) for entry in _dicts(found.get("materials"))[:MAX_MATERIALS]]
    neutral = len(materials)
    materials.append(Material("neutral"))
    parts, start = [], 0
    for mesh, linear, first, flipped in placed:
        corners = fan(mesh.faces)
        uvs = None if mesh.uvs is None else mesh.uvs[corners]
        count = len(corners)
        surfaces = np.full(count, neutral, np.int64)
        if len(mesh.materials) and len(mesh.face_materials) == len(mesh.faces):
            chosen = np.asarray(mesh.materials)[np.minimum(mesh.face_materials, len(mesh.materials) - 1)]
            surfaces = np.repeat(chosen, np.maximum(mesh.faces[:, 1] - 2, 0))
            surfaces = np.where((surfaces >= 0) & (surfaces < neutral), surfaces, neutral)
        if flipped and uvs is not None:
            uvs = uvs[:, ::-1]
        morphs = tuple(
            MorphTarget(name, vertices + first, offsets @ linear.T)
            for name, vertices, offsets in mesh.morphs
            if len(vertices)
        )
        parts.append(MeshPart(mesh.name, start, start + count, surfaces, uvs, morphs))
        start += count
    used = np.unique(np.concatenate([part.materials for part in parts])) if parts else np.zeros(0, np.int64)
    if neutral not in used:
        materials.pop()
    return Looks(tuple(parts), tuple(materials), tuple(textures))


def _dicts(value: Any) -> list[dict]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _material(entry: dict, places: dict[int, int], shown: set[int]) -> Material:
    color = entry.get("color")
    numbers = color if isinstance(color, list) and len(color) == 4 else [0.7, 0.7, 0.7, 1.0]
    red, green, blue, alpha = (
        min(max(float(c), 0.0), 1.0) if isinstance(c, int | float) and c == c else 0.7 for c in numbers
    )
    texture = entry.get("texture")
    index = places.get(texture) if isinstance(texture, int) else None
    # where there is a texture, the colour beside it is what the program showed without
    chosen = (red, green, blue, alpha) if texture not in shown else (1.0, 1.0, 1.0, alpha)
    further = [
        places.get(number) if isinstance(number, int) else None for number in map(entry.get, ("normal", "specular"))
    ]
    return Material(str(entry.get("name", ""))[:200], chosen, index, *further)


def _textures(answer: Answer, listed: Any, notes: list[str]) -> tuple[list[Texture], dict[int, int]]:
    """Return the pictures, those that cannot be read by name alone, and the file's number of each → its index."""
    textures: list[Texture] = []
    places: dict[int, int] = {}
    known: dict[bytes | str, int] = {}
    for number, entry in enumerate(_dicts(listed)):
        stated = str(entry.get("file", "")).replace("\\", "/")
        name = stated.rpartition("/")[2]
        if f"texture{number}" in answer.arrays:
            data = answer.array(f"texture{number}", "B").tobytes()
        else:
            data = find_picture(Path(answer.header.path or ""), stated)
        shared = as_shared(data)
        if shared is None:
            why = "it is not beside the file" if not data else "PNG, JPEG, Targa and bitmap pictures are kept"
            notes.append(f"the texture {name!r} was not read: {why}")
            if not name:
                continue
        mime, content = shared or ("", b"")
        key = content or name.lower()
        if key not in known:
            known[key] = len(textures)
            title = Path(name).stem if content else name
            textures.append(Texture(title or f"texture{number}", mime, content))
        places[number] = known[key]
    return textures, places
