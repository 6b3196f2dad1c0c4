"""The keys of a project file, shared by reader and writer; docs/project_file.md explains them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

INDEX = "project.json"
FORMAT = "footplant project"
ABOUT = (
    "Metres, seconds, radians; right-handed, y up; quaternions are w, x, y, z; rotations are local and contain the "
    "rest pose; frames come first. Values that end in .npy are arrays in this zip file."
)
KNOWN: Mapping[str, frozenset[str]] = {
    "project": frozenset(
        {"format", "version", "generator", "about", "characters", "figures", "constraints", "edits"}
    ),
    "character": frozenset(
        {"name", "height", "skeleton", "roles", "reference", "contacts", "masses", "mass_centers", "limits", "skin",
         "source"}
    ),
    "skeleton": frozenset({"joints", "parents", "offsets", "rest", "end_parents", "end_offsets"}),
    "role": frozenset({"joints", "confidence", "reason"}),
    "contact": frozenset({"joint", "offset"}),
    "limits": frozenset({"lower", "upper"}),
    "skin": frozenset({"vertices", "faces", "joints", "weights", "inverse_bind", "normals"}),
    "source": frozenset({"format", "extension", "carries", "data"}),
    "figure": frozenset({"name", "takes"}),
    "take": frozenset({"name", "character", "frames", "fps", "root", "rotations", "offsets", "skeleton"}),
}  # fmt: skip
"""Kind of object → its known keys; others are preserved."""
REFERENCES: Mapping[str, tuple[str, ...]] = {
    "character": ("reference", "masses", "mass_centers"),
    "skeleton": ("offsets", "rest", "end_offsets"),
    "limits": ("lower", "upper"),
    "skin": ("vertices", "faces", "joints", "weights", "inverse_bind", "normals"),
    "source": ("data",),
    "take": ("root", "rotations", "offsets"),
}
"""Kind of object → those of its keys whose values name other members of the zip file."""


def titles(names: Sequence[str]) -> list[str]:
    """Return one unique label per name, even if names repeat: "1 walk", "2 walk" … Used as stable object paths."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(f"{seen[name]} {name}")
    return out


def unknown(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the unknown keys of an object, with their values."""
    return {key: value for key, value in data.items() if key not in KNOWN[kind]}
