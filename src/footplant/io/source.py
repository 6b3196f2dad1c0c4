"""A character's own file as bytes, so that one format can carry what only another can write.

A format whose characters keep their file in `Character.source` may have `pack_source(source) → PackedSource | None`
(None for what is not its own). One that writes onto such files says in `unpacks` of which format they are, and has
`unpack_source(packed, skeleton) → source | None`, called when a character is written in that format (None for a file
that does not fit).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from footplant.skeleton import Character


@dataclass(frozen=True, eq=False)
class PackedSource:
    """A character's own file, whole: what it has beside joints and vertices (materials, pictures) is kept in it."""

    format: str
    """What it is: "gltf" …"""
    extension: str
    """How a file of these bytes is called: ".glb" …"""
    data: bytes
    carries: tuple[str, ...] = ()
    """What of it the model does not have, in words: "materials", "pictures" …"""


def pack_source(source: Any) -> PackedSource | None:
    """The packed form of what a character carries as `source`; None where no format knows how."""
    if source is None or isinstance(source, PackedSource):
        return source
    from footplant.io import formats

    for module in dict.fromkeys(formats().values()):
        packed = module.pack_source(source) if hasattr(module, "pack_source") else None
        if packed is not None:
            return packed
    return None


def writes_onto(module: ModuleType, packed: PackedSource | None) -> bool:
    """Whether a format writes characters onto files of that kind, so that nothing of them is lost."""
    return packed is not None and getattr(module, "unpacks", None) == packed.format


def unpack_for(module: ModuleType, character: Character) -> Character:
    """The character with its own file opened again, when a format is asked to write it that can."""
    packed = character.source
    if not isinstance(packed, PackedSource) or not writes_onto(module, packed):
        return character
    return replace(character, source=module.unpack_source(packed, character.skeleton))
