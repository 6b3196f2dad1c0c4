"""Write project files: a JSON index, and arrays beside it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.clip import Clip
from footplant.errors import FormatError
from footplant.io.arrays import write_archive, write_npy
from footplant.io.project.layout import ABOUT, FORMAT, INDEX, titles
from footplant.io.project.model import VERSION, Extra, Project
from footplant.io.project.normalized import KEY, entry_of
from footplant.io.source import pack_source
from footplant.io.writing import generator
from footplant.normalized import normalize
from footplant.skeleton import Character, Roles, Skeleton, Skin


class _Members:
    """The arrays and files of a project being written; identical ones are stored once."""

    def __init__(self, taken: Mapping[str, bytes]) -> None:
        self.data: dict[str, bytes] = {}
        self._taken = taken
        self._names: dict[tuple[str, bytes], str] = {}

    def add(self, folder: str, name: str, data: bytes) -> str:
        """Store bytes and return the name of the member that contains them."""
        # shared only under the same base name, which keeps the index readable
        key = name, hashlib.sha256(data).digest()
        if key not in self._names:
            stem, dot, ending = name.rpartition(".")
            place, number = f"{folder}/{name}", 2
            while place in self.data or place in self._taken:
                place, number = f"{folder}/{stem}_{number}{dot}{ending}", number + 1
            self.data[place] = data
            self._names[key] = place
        return self._names[key]

    def array(self, folder: str, name: str, array: NDArray) -> str:
        """Store an array and return the name of its member."""
        return self.add(folder, f"{name}.npy", write_npy(array))


def write(path: str | Path, project: Project, *, sources: bool = True, normalized: bool = False) -> None:
    """Write a project atomically.

    sources: whether to embed the characters' original files, if their format can pack them. normalized: whether to add
    the normalised form of every take.
    """
    extra = project.extra
    members = _Members(extra.members)
    characters: list[dict[str, Any]] = []
    figures: list[dict[str, Any]] = []
    for number, clips in enumerate(project.figures):
        takes = []
        for clip in clips:
            index = _add_character(members, characters, clip.character, sources)
            takes.append(_take(members, f"figures/{number}/takes/{len(takes)}", clip, index, normalized))
        figures.append({"name": clips[0].character.name, "takes": takes})
    document = {
        "format": FORMAT,
        "version": ".".join(str(part) for part in max(VERSION, extra.version)),
        "generator": generator(),
        "about": ABOUT,
        "characters": characters,
        "figures": figures,
        "constraints": list(project.constraints),
        "edits": list(project.edits),
    }
    _restore_unknown(document, extra)
    text = json.dumps(_json_value(document, "", path), indent=1)
    write_archive(path, {INDEX: text.encode("ascii"), **members.data, **extra.members})


def _json_value(value: Any, where: str, path: str | Path) -> Any:
    """Return the value with lists for tuples; raise `FormatError` with the JSON path for anything JSON lacks."""
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise FormatError(f"expected string keys, got {key!r}", path=path, where=where)
        return {key: _json_value(item, f"{where}.{key}" if where else key, path) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item, f"{where}[{number}]", path) for number, item in enumerate(value)]
    if value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise FormatError(f"expected a JSON value (a string, a finite number …), got {value!r}", path=path, where=where)


def _add_character(members: _Members, characters: list[dict[str, Any]], character: Character, sources: bool) -> int:
    """Return the index of a character in the list, appending it unless an equal one is there."""
    folder = f"characters/{len(characters)}"
    entry: dict[str, Any] = {
        "name": character.name,
        "height": float(character.height),
        "skeleton": _skeleton(members, folder, character.skeleton),
        "roles": None if character.roles is None else _roles(character.roles),
    }
    if character.roles is not None and character.roles.reference is not None:
        entry["reference"] = members.array(folder, "reference", character.roles.reference)
    entry["contacts"] = {
        name: {"joint": int(point.joint), "offset": [float(value) for value in point.offset]}
        for name, point in character.contacts.items()
    }
    for key in ("masses", "mass_centers"):
        array = getattr(character, key)
        if array is not None:
            entry[key] = members.array(folder, key, np.asarray(array, float))
    if character.limits is not None:
        entry["limits"] = {
            key: members.array(folder, f"limits_{key}", np.asarray(getattr(character.limits, key), float))
            for key in ("lower", "upper")
        }
    if character.skin is not None:
        entry["skin"] = _skin(members, folder, character.skin)
    packed = pack_source(character.source) if sources else None
    if packed is not None:
        entry["source"] = {
            "format": packed.format,
            "extension": packed.extension,
            "carries": list(packed.carries),
            "data": members.add(folder, f"source{packed.extension}", packed.data),
        }
    # equal arrays share one name, so equal characters have equal entries
    if entry not in characters:
        characters.append(entry)
    return characters.index(entry)


def _skeleton(members: _Members, folder: str, skeleton: Skeleton) -> dict[str, Any]:
    return {
        "joints": list(skeleton.names),
        "parents": skeleton.parents.tolist(),
        "offsets": members.array(folder, "offsets", skeleton.offsets),
        "rest": members.array(folder, "rest", skeleton.rest),
        "end_parents": skeleton.end_parents.tolist(),
        "end_offsets": members.array(folder, "end_offsets", skeleton.end_offsets),
    }


def _roles(roles: Roles) -> dict[str, Any]:
    return {
        role: {
            "joints": [int(joint) for joint in joints],
            "confidence": float(roles.confidence.get(role, 0.0)),
            "reason": roles.reasons.get(role, ""),
        }
        for role, joints in roles.joints.items()
    }


def _skin(members: _Members, folder: str, skin: Skin) -> dict[str, Any]:
    keys = ["vertices", "faces", "joints", "weights", "inverse_bind"] + ([] if skin.normals is None else ["normals"])
    return {key: members.array(folder, f"skin_{key}", getattr(skin, key)) for key in keys}


def _take(members: _Members, folder: str, clip: Clip, character: int, normalized: bool) -> dict[str, Any]:
    motion = clip.motion
    entry: dict[str, Any] = {
        "name": clip.name,
        "character": character,
        "frames": len(motion),
        "fps": float(motion.fps),
        "root": members.array(folder, "root", motion.root),
        "rotations": members.array(folder, "rotations", motion.rotations),
    }
    if motion.offsets is not None:
        entry["offsets"] = members.array(folder, "offsets", motion.offsets)
    if not motion.skeleton.same_as(clip.character.skeleton):
        entry["skeleton"] = _skeleton(members, f"{folder}/skeleton", motion.skeleton)
    if normalized:
        entry[KEY] = entry_of(
            normalize(motion, clip.character), motion,
            lambda name, array: members.array(f"{folder}/{KEY}", name, np.asarray(array, float)),
        )  # fmt: skip
    return entry


def _restore_unknown(document: dict[str, Any], extra: Extra) -> None:
    """Restore the unknown keys of the original file, as far as their objects still exist."""

    def restore(entry: Any, *place: str) -> None:
        if isinstance(entry, dict):
            for key, value in extra.values.get(place, {}).items():
                entry.setdefault(key, value)

    def named(items: Sequence[dict[str, Any]]) -> list[str]:
        return titles([item["name"] for item in items])

    restore(document)
    for title, character in zip(named(document["characters"]), document["characters"], strict=True):
        place = "characters", title
        restore(character, *place)
        for key in ("skeleton", "limits", "skin", "source"):
            restore(character.get(key), *place, key)
        for table in ("roles", "contacts"):
            for key, entry in (character[table] or {}).items():
                restore(entry, *place, table, key)
    for title, figure in zip(named(document["figures"]), document["figures"], strict=True):
        restore(figure, "figures", title)
        for take_title, take in zip(named(figure["takes"]), figure["takes"], strict=True):
            place = "figures", title, "takes", take_title
            restore(take, *place)
            restore(take.get("skeleton"), *place, "skeleton")
