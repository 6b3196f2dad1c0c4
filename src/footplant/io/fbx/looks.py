"""Materials, textures, texture coordinates and morph targets of an FBX file, for the parts of its skin."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.io.fbx.mesh import Mesh, fan
from footplant.io.fbx.process import Answer
from footplant.looks import Looks, Material, MeshPart, MorphTarget, Texture

MAX_TEXTURE_BYTES = 256 << 20
"""Largest picture that is read, in the file or beside it."""
MAX_MATERIALS = 4096
MIME = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
"""First bytes of pictures → type; other kinds have no place in glTF."""


def read_looks(answer: Answer, placed: Sequence[tuple[Mesh, NDArray, int, bool]], notes: list[str]) -> Looks | None:
    """Return the looks of a skin, or None if the child reported none.

    placed: the meshes in the order of the skin, each with its linear map (3, 3) to the skin's space, its first vertex,
    and whether its triangles were flipped.
    """
    found = answer.header.data.get("looks")
    if not isinstance(found, dict):
        return None
    textures, places = _textures(answer, found.get("textures"), notes)
    materials = [_material(entry, places) for entry in _dicts(found.get("materials"))[:MAX_MATERIALS]]
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


def _material(entry: dict, places: dict[int, int]) -> Material:
    color = entry.get("color")
    numbers = color if isinstance(color, list) and len(color) == 4 else [0.7, 0.7, 0.7, 1.0]
    red, green, blue, alpha = (
        min(max(float(c), 0.0), 1.0) if isinstance(c, int | float) and c == c else 0.7 for c in numbers
    )
    texture = entry.get("texture")
    index = places.get(texture) if isinstance(texture, int) else None
    # where there is a texture, the colour beside it is what the program showed without
    chosen = (red, green, blue, alpha) if index is None else (1.0, 1.0, 1.0, alpha)
    further = [
        places.get(number) if isinstance(number, int) else None for number in map(entry.get, ("normal", "specular"))
    ]
    return Material(str(entry.get("name", ""))[:200], chosen, index, *further)


def _textures(answer: Answer, listed: Any, notes: list[str]) -> tuple[list[Texture], dict[int, int]]:
    """Return the pictures that could be read, and the file's number of each → its index."""
    textures: list[Texture] = []
    places: dict[int, int] = {}
    known: dict[bytes, int] = {}
    for number, entry in enumerate(_dicts(listed)):
        name = str(entry.get("file", "")).replace("\\", "/").rpartition("/")[2]
        data = b""
        if f"texture{number}" in answer.arrays:
            data = answer.array(f"texture{number}", "B").tobytes()
        elif name and name not in (".", ".."):
            data = _beside(Path(answer.header.path or ""), name)
        mime = next((mime for start, mime in MIME.items() if data.startswith(start)), None)
        if mime is None:
            why = "it is not beside the file" if not data else "only PNG and JPEG pictures are kept"
            notes.append(f"the texture {name!r} was not read: {why}")
            continue
        if data not in known:
            known[data] = len(textures)
            textures.append(Texture(Path(name).stem or f"texture{number}", mime, data))
        places[number] = known[data]
    return textures, places


def _beside(path: Path, name: str) -> bytes:
    """Return the bytes of a picture in the file's own folder, whatever the case of its name; nothing without it."""
    try:
        exact = path.parent / name
        if not exact.is_file():
            exact = next((file for file in path.parent.iterdir() if file.name.lower() == name.lower()), exact)
        if exact.is_file() and exact.stat().st_size <= MAX_TEXTURE_BYTES:
            return exact.read_bytes()
    except OSError:
        pass
    return b""
