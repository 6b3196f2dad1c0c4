"""Count what a file holds, so that a conversion can say what is gone by comparing before and after.

A format whose files hold more than joints and one motion has `count_contents(path) → {what: number}`, with the keys of
`COUNTED`. Its readers put the same numbers into `RawCharacter.contents`, from where they reach `Clip.contents`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from footplant.errors import FootplantError
from footplant.io.registry import find_format
from footplant.io.source import Packable, PackedSource
from footplant.skeleton import Character

COUNTED = ("meshes", "skins", "materials", "textures", "morph targets", "cameras", "lights", "takes")
"""What is counted. "skins" is 1 if any mesh is skinned: one file has a skin for all meshes, another one for each."""
_WORDS = {
    "meshes": ("the mesh with its",), "skins": ("the mesh with its",), "materials": ("material",),
    "textures": ("texture", "picture"),
    "morph targets": ("morph",), "cameras": ("camera",), "lights": ("light",), "takes": ("take",),
}  # fmt: skip
"""Words of a phrase that tell the loss already."""


def count_contents(path: str | Path) -> dict[str, int]:
    """Return what a file holds; nothing for a format that only has joints and a motion, or a file that is not read."""
    module = find_format(path)
    if module is None or not hasattr(module, "count_contents"):
        return {}
    try:
        return module.count_contents(path)
    except (FootplantError, OSError):
        return {}


def count_written(path: str | Path, character: Character, takes: int) -> dict[str, int] | None:
    """Return what a written file holds; None for a project that contains the character's own file, whole.

    takes: how many were written, for formats that are not counted.
    """
    module = find_format(path)
    if module is None or "constraints" not in module.holds:
        return {"takes": takes, **count_contents(path)}
    if isinstance(character.source, Packable | PackedSource):
        return None
    mesh = int(character.skin is not None)
    return {"takes": takes, "meshes": mesh, "skins": mesh}


def compare_contents(
    before: Mapping[str, int], after: Mapping[str, int], said: Sequence[str] = (), *, files: str = "the file"
) -> list[str]:
    """Return a phrase for everything of which there is less, except for what `said` tells already."""
    told = " ".join(said).lower()
    lost = []
    for what in COUNTED:
        had, has = before.get(what, 0), after.get(what, 0)
        if had <= has or any(word in told for word in _WORDS[what]):
            continue
        one = what[:-2] if what == "meshes" else what.removesuffix("s")
        if what == "meshes" and has:
            lost.append(f"{had} meshes became {has}: {files} get them joined")
        else:
            lost.append(f"{had - has} of {had} {what}" if has else f"{had} {what if had > 1 else one}")
    return lost
