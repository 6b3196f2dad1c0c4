"""The names in a project file, for the reader and the writer alike; docs/project_file.md explains them."""

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
"""Kind of object → its keys; all others are kept as they are."""
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
    """One text for each of some names, unlike all others even where names repeat: what a place is remembered by."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(f"{seen[name]} {name}")
    return out


def unknown(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of an object that are not known, with their values."""
    return {key: value for key, value in data.items() if key not in KNOWN[kind]}
