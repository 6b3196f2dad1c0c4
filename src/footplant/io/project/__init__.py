"""Footplant's own project files: every take and figure, exact to the bit, with roles, constraints and edits.

A zip file of one JSON index and .npy arrays, which docs/project_file.md describes: NumPy alone can read it. What a
newer Footplant or somebody else has put into it is kept when it is loaded and saved. The same content gives the same
bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from footplant.clip import Clip
from footplant.errors import FormatError
from footplant.io.character import RawCharacter
from footplant.io.project.model import Extra, Project, ProjectLayout
from footplant.io.project.normalized import read_entry
from footplant.io.project.read import Reader
from footplant.io.project.write import write
from footplant.motion import Motion
from footplant.normalized import Normalized, normalize
from footplant.skeleton import Character

extensions = (".footplant",)
holds = frozenset({"skin", "takes", "figures", "moving bones", "roles", "contacts", "constraints"})


def load(path: str | Path) -> tuple[RawCharacter, ...]:
    """Read every figure of a project file; takes are read when they are asked for."""
    return parse(path)


def parse(path: str | Path, data: bytes | None = None) -> tuple[RawCharacter, ...]:
    """Read a file, or its bytes when they are given: see `load`."""
    reader = Reader(path, data)
    with reader.open() as archive:
        layout = ProjectLayout(reader.constraints, reader.edits, reader.extra(archive))
        characters = [reader.character_of(archive, reader.takes(n)[0]) for n in range(len(reader.figures))]
    return tuple(_figure(reader, number, character, layout) for number, character in enumerate(characters))


def _figure(reader: Reader, number: int, character: Character, layout: ProjectLayout) -> RawCharacter:
    def read_take(take: int) -> Motion:
        with reader.open() as archive:
            return reader.motion(archive, reader.takes(number)[take])

    def read_character(take: int) -> Character:
        with reader.open() as archive:
            return reader.character_of(archive, reader.takes(number)[take])

    roles, names = character.roles, character.skeleton.names
    return RawCharacter(
        name=reader.name(number),
        skeleton=character.skeleton,
        takes=reader.take_list(number),
        read_take=read_take,
        read_character=read_character,
        scale=1.0,
        up="y",
        skin=character.skin,
        roles=None if roles is None else {role: tuple(names[j] for j in found) for role, found in roles.joints.items()},
        layout=layout,
        source=character.source,
        notes=tuple(reader.notes),
    )


def save(path: str | Path, clip: Clip, *, takes: Sequence[Clip] = (), sources: bool = True) -> None:
    """Write a clip and its further figures as a project.

    takes: every take of the clip's figure, as `footplant.io.load_takes` gives them; the clip stands for its own. A clip
    from a project file keeps the file's constraints, edits and unknown parts. sources: whether characters keep the
    files that they came from (a GLB with its materials), so that they can be written onto them again.
    """
    save_project(path, Project.of(clip, takes), sources=sources)


def load_project(path: str | Path) -> Project:
    """Read all of a project file: figures with their takes, constraints, edits, and what is not known here."""
    if not Path(path).exists():
        raise FormatError("no such file", path=path)
    return Reader(path).project()


def save_project(path: str | Path, project: Project, *, sources: bool = True, normalized: bool = False) -> Path:
    """Write a project file, whole or not at all; sources: see `save`; normalized: takes carry their normalised form."""
    write(path, project, sources=sources, normalized=normalized)
    return Path(path)


def load_normalized(path: str | Path) -> tuple[Project, Normalized]:
    """A project file and the normalised form of its first take: as the file has it, or made where it has none."""
    reader = Reader(path)
    project = reader.project()
    with reader.open() as archive:
        found = read_entry(archive, reader.takes(0)[0], project.clip.motion)
    return project, found or normalize(project.clip.motion, project.clip.character)


__all__ = [
    "Extra",
    "Project",
    "extensions",
    "holds",
    "load",
    "load_normalized",
    "load_project",
    "parse",
    "save",
    "save_project",
]
