"""A character's original file as bytes, so that one format (a project) can embed what only another can write.

A format whose characters keep their file in `Character.source` gives that object a `pack` method (see `Packable`). A
format that can write onto such a file names its kind in `unpacks` and has
`unpack_source(packed, skeleton) → source | None`, called when a character is written in that format; it returns None
if the file does not match the skeleton.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Protocol, runtime_checkable

from footplant.clip import Clip, Take
from footplant.io.file_space import file_conversion, from_file_space
from footplant.looks import Looks, converted_looks
from footplant.motion import Motion
from footplant.skeleton import Character, Skeleton


@dataclass(frozen=True, eq=False)
class PackedSource:
    """A character's complete original file, with what the model does not represent (materials, images)."""

    format: str
    """The kind of file: "gltf", "usd" …"""
    extension: str
    """File name extension for these bytes: ".glb" …"""
    data: bytes
    carries: tuple[str, ...] = ()
    """Content that the model does not represent, in words: "materials", "pictures" …"""


@runtime_checkable
class Packable(Protocol):
    """A `Character.source` that can be packed into bytes."""

    def pack(self) -> PackedSource | None:
        """Return the file as one self-contained blob, or None if that is not possible."""
        ...


def pack_source(source: Any) -> PackedSource | None:
    """Return the packed form of a `Character.source`, or None if it cannot be packed."""
    if isinstance(source, PackedSource):
        return source
    return source.pack() if isinstance(source, Packable) else None


def writes_onto(module: ModuleType, packed: PackedSource | None) -> bool:
    """Return whether a format writes onto files of this kind, so that nothing in them is lost."""
    return packed is not None and getattr(module, "unpacks", None) == packed.format


@runtime_checkable
class KeepsLooks(Protocol):
    """A `Character.source` that can read the looks of the character's skin from its own file."""

    @property
    def skeleton(self) -> Skeleton:
        """The character's skeleton in file units and axes."""
        ...

    def read_looks(self) -> Looks | None:
        """Return the looks of the skin, in file units and axes; None if the file does not say."""
        ...


def with_looks(character: Character) -> Character:
    """Return the character with the looks of its own file in its skin, for a writer that starts a new file."""
    source, skin = character.source, character.skin
    if skin is None or skin.looks is not None or not isinstance(source, KeepsLooks):
        return character
    looks = source.read_looks()
    if looks is None or looks.parts[-1].stop != len(skin.faces) or not same_tree(source.skeleton, character.skeleton):
        return character
    factor, turn = file_conversion(character.skeleton, [source.skeleton])
    return replace(character, skin=replace(skin, looks=converted_looks(looks, factor, turn)))


@runtime_checkable
class KeepsTakes(Protocol):
    """A `Character.source` that can read the animations of the character's own file."""

    @property
    def skeleton(self) -> Skeleton:
        """The character's skeleton in file units and axes."""
        ...

    @property
    def takes(self) -> tuple[Take, ...]:
        """Every animation of the file."""
        ...

    def read_take(self, number: int) -> Motion:
        """Return an animation, in file units and axes."""
        ...


def own_clips(character: Character) -> list[Clip]:
    """Return the animations of a character's own file, converted as the character is; none if it has no such file."""
    source = character.source
    if not isinstance(source, KeepsTakes) or not same_tree(source.skeleton, character.skeleton):
        return []
    motions = [source.read_take(number) for number in range(len(source.takes))]
    clips = []
    for number, motion in enumerate(motions):
        moved = from_file_space(motion, character.skeleton, [source.skeleton, *(m.skeleton for m in motions)])
        owner = Character(moved.skeleton, name=character.name)
        clips.append(Clip(moved, owner, name=source.takes[number].name, takes=source.takes, take=number))
    return clips


def same_tree(a: Skeleton, b: Skeleton) -> bool:
    """Return whether two skeletons have the same joints in the same tree."""
    return a.names == b.names and a.parents.tolist() == b.parents.tolist()


def unpack_for(module: ModuleType, character: Character) -> Character:
    """Return the character with its packed source reopened, if the format about to write it can use that source."""
    packed = character.source
    if not isinstance(packed, PackedSource) or not writes_onto(module, packed):
        return character
    return replace(character, source=module.unpack_source(packed, character.skeleton))
