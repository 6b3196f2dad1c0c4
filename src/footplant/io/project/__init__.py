"""Footplant's project files: every take and character, bit-exact, with roles, constraints and edits.

A zip file of one JSON index and .npy arrays, described in docs/project_file.md: NumPy alone can read it. Content added
by a newer Footplant or by others is preserved when it is loaded and saved. Equal content gives equal bytes.
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
    """Read every character of a project file; takes are read on demand."""
    return parse(path)


def parse(path: str | Path, data: bytes | None = None) -> tuple[RawCharacter, ...]:
    """Read a file, or its bytes if given: see `load`."""
    reader = Reader(path, data)
    with reader.open() as archive:
        layout = ProjectLayout(reader.constraints, reader.edits, reader.extra(archive))
        characters = [reader.character_of(archive, reader.takes(n)[0]) for n in range(len(reader.figures))]
    return tuple(_raw_character(reader, number, character, layout) for number, character in enumerate(characters))


def _raw_character(reader: Reader, number: int, character: Character, layout: ProjectLayout) -> RawCharacter:
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
    """Save a clip and the further characters of its file as a project.

    takes: every take of the clip's character, as `footplant.io.load_takes` yields them; the clip replaces its own. A
    clip from a project file keeps the file's constraints, edits and unknown parts. sources: whether to embed the
    characters' original files (a GLB with its materials), so that they can be written onto them again.
    """
    save_project(path, Project.of(clip, takes), sources=sources)


def load_project(path: str | Path) -> Project:
    """Load all of a project file: characters with their takes, constraints, edits, and unknown content."""
    if not Path(path).exists():
        raise FormatError("no such file", path=path)
    return Reader(path).project()


def save_project(path: str | Path, project: Project, *, sources: bool = True, normalized: bool = False) -> Path:
    """Save a project file atomically; sources: see `save`; normalized: add the normalised form of every take."""
    write(path, project, sources=sources, normalized=normalized)
    return Path(path)


def load_normalized(path: str | Path) -> tuple[Project, Normalized]:
    """Return a project and the normalised form of its first take: stored in the file, or else computed."""
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
