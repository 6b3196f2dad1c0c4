"""Plan a batch: every input with every character, and where each result is written."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from inspect import signature
from pathlib import Path
from typing import Any

from footplant.batch.jobs import JOBS, Job, Task
from footplant.batch.ledger import Ledger, key_of
from footplant.batch.remote import hash_of, is_remote, list_files, stamp_of
from footplant.batch.settings import SETTINGS
from footplant.errors import FormatError
from footplant.io import SAMPLE, find_format, writer_of
from footplant.io.registry import is_robot
from footplant.text_files import require_file

READ_FILES = ("roles", "skeleton")
"""Options for reading that name files; their bytes are part of a task's key."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One clip for one character."""

    source: str
    out: str | None
    """Path of the result relative to the batch's folder; None for jobs that write nothing."""
    character: str | None = None


@dataclass(frozen=True)
class Batch:
    """A job over many inputs."""

    job: str
    inputs: Sequence[str]
    """Files, folders (all clips below them) and sample:NAME."""
    folder: Path
    """Folder of the results and the ledger."""
    characters: Sequence[str] = ()
    format: str | None = None
    """Extension of the results, with or without the dot; None: the job's default."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)
    """Options of `io.load` for every input whose format takes them: fps, units, up, roles, skeleton, take …"""

    def __post_init__(self) -> None:
        """Validate everything that can be checked before the work starts."""
        if self.job not in JOBS:
            raise FormatError(f"expected a job among {', '.join(JOBS)}; got {self.job!r}")
        kind = self.kind
        if kind.needs_character and not self.characters:
            raise FormatError(f"{self.job} needs a character: --to CHARACTER")
        robots = [character for character in self.characters if is_robot(character)]
        fits = kind.needs_character or (kind.robots and len(robots) == len(self.characters))
        if self.characters and not fits:
            besides = " but a robot (MJCF or URDF)" if kind.robots else ""
            raise FormatError(f"{self.job} takes no character{besides}, got {self.characters[0]!r}")
        unknown = sorted(set(self.parameters) - set(kind.parameters))
        if unknown:
            takes = ", ".join(kind.parameters) or "none"
            raise FormatError(f"expected options of {self.job} ({takes}), got {unknown[0]!r}")
        if robots and len(robots) < len(self.characters):
            raise FormatError("robots and characters have other files: retarget to them in two batches")
        if self.format is not None:
            if kind.suffix is None or not kind.motion:
                raise FormatError(f"{self.job} writes no motions, so it takes no --format")
            if robots:
                from footplant.io.robot_files import choose_layout

                choose_layout(f"x{self.suffix}", None)
            else:
                writer_of(f"x{self.suffix}")
        for name in READ_FILES:
            if name in self.reading:
                require_file(self.reading[name])
        for character in self.characters:
            if not character.startswith(SAMPLE) and not Path(character).is_file():
                raise FormatError("no such file", path=character)

    @property
    def kind(self) -> Job:
        """The job's definition."""
        return JOBS[self.job]

    @property
    def suffix(self) -> str | None:
        """Extension of the results: "" keeps the input's, None writes nothing."""
        if self.format is None:
            return ".csv" if self.kind.needs_character and any(map(is_robot, self.characters)) else self.kind.suffix
        return f".{self.format.lower().lstrip('.')}"

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """All work items, in order; no two write to the same file."""
        found: list[Entry] = []
        taken: set[str] = set()
        folders = _folder_names(self.characters) if len(self.characters) > 1 else dict.fromkeys(self.characters, "")
        for source, name in self._sources():
            for character in self.characters or (None,):
                out = None
                if self.suffix is not None:
                    place = Path(folders[character]) if character is not None else Path()
                    out = _free_name(place / name, self._ending(source), taken)
                found.append(Entry(source, out, character))
        return tuple(found)

    def task(
        self, entry: Entry, ledger: Ledger, digest: tuple[tuple[Any, ...], str] | None = None
    ) -> tuple[Task, dict[str, Any]]:
        """Return the task of an entry, with its key, and the facts about its input for the ledger.

        digest: the input's stamp and hash, if a worker has found them; otherwise the input is hashed here.
        """
        facts: dict[str, Any] = {"source": entry.source, "character": entry.character, "out": entry.out}
        content = entry.source
        if not entry.source.startswith(SAMPLE):
            stamp, content = ledger.digest(entry.source) if digest is None else digest
            facts |= {"stamp": list(stamp), "hash": content}
            content += "".join(_companion_hash(path, *stamp_of(path)) for path in _companions(entry.source))
        reading = self._reading(entry.source)
        parts = (*self._common, self._character_hash(entry.character), self._ending(entry.source), content)
        key = key_of((*parts, json.dumps(reading, sort_keys=True)) if reading else parts)
        out = None if entry.out is None else str(self.folder / entry.out)
        task = Task(key, self.job, entry.source, out, entry.character, dict(self.parameters), reading)
        return task, facts | {"key": key} | reading

    def _reading(self, source: str) -> dict[str, Any]:
        """Return the options for reading an input: those given that apply to it, and what its folder decides."""
        if source.startswith(SAMPLE):
            return {name: value for name, value in self.reading.items() if name == "fps"}
        given = {name: value for name, value in self.reading.items() if name not in _refused(Path(source).suffix)}
        decision = self.positions.get(str(Path(source).parent)) if source.lower().endswith(".bvh") else None
        return given if decision is None else {"positions": decision} | given

    @cached_property
    def positions(self) -> dict[str, str]:
        """Folder → "replace" or "add": one decision for all BVH files of a folder, where position channels matter.

        Files of one folder come from one exporter, so the joints of some of them vote together.
        """
        from footplant.io.bvh import position_votes
        from footplant.io.bvh.positions import PositionVotes

        folders: dict[str, list[str]] = {}
        for entry in self.entries:
            if entry.source.lower().endswith(".bvh") and not (
                entry.source.startswith(SAMPLE) or is_remote(entry.source)
            ):
                folders.setdefault(str(Path(entry.source).parent), []).append(entry.source)
        found: dict[str, str] = {}
        for folder, sources in folders.items():
            sources = list(dict.fromkeys(sources))
            votes = PositionVotes()
            for source in sources[:: max(1, -(-len(sources) // SETTINGS.voting_files))] if len(sources) > 1 else ():
                # files that cannot be read are reported when their turn comes
                with contextlib.suppress(FormatError, OSError):
                    votes += position_votes(source)
            if votes.decision is not None:
                found[folder] = votes.decision
        return found

    @cached_property
    def _common(self) -> tuple[str, ...]:
        """Parts of the key that all tasks share."""
        from footplant import __version__

        files = [hash_of(str(self.reading[name])) for name in READ_FILES if name in self.reading]
        return ("footplant", __version__, self.job, json.dumps(dict(self.parameters), sort_keys=True), *files)

    @cached_property
    def _hashes(self) -> dict[str, str]:
        return {name: name if name.startswith(SAMPLE) else hash_of(name) for name in self.characters}

    def _character_hash(self, character: str | None) -> str:
        return "" if character is None else self._hashes[character]

    def _ending(self, source: str) -> str:
        """Return the extension of a result; an input whose own format is read-only is written as GLB."""
        if self.suffix:
            return self.suffix
        ending = Path(source).suffix.lower()
        if self._of_robots:
            return ending
        return ending if hasattr(find_format(source), "save") else ".glb"

    @property
    def _of_robots(self) -> bool:
        """Whether the inputs are motions of a robot."""
        return bool(self.characters) and not self.kind.needs_character

    def _takes(self, path: Path) -> bool:
        """Return whether a file of a folder is an input, by its name."""
        if self._of_robots:
            from footplant.io.robot_files import LAYOUTS

            return path.suffix.lower() in LAYOUTS.values()
        return _is_readable(path)

    def _sources(self) -> Iterator[tuple[str, Path]]:
        """Yield every input with the path of its result, without extension."""
        inside = self.folder.resolve()
        for given in self.inputs:
            path = Path(given)
            if given.startswith(SAMPLE):
                yield given, Path(given[len(SAMPLE) :])
            elif is_remote(given):
                yield from _remote_sources(given)
            elif path.is_dir():
                for parent, folders, files in os.walk(path):
                    folders.sort()
                    # a result folder among the inputs is not processed again
                    folders[:] = [name for name in folders if (Path(parent) / name).resolve() != inside]
                    for name in sorted(files):
                        file = Path(parent) / name
                        # pipes, devices and sockets are no clips, whatever they are called
                        if not name.startswith(".") and self._takes(file) and file.is_file():
                            yield str(file), file.relative_to(path).with_suffix("")
            else:
                if not path.exists():
                    raise FormatError("no such file or folder", path=given)
                require_file(path)
                yield given, Path(path.stem)


@cache
def _refused(suffix: str) -> frozenset[str]:
    """Return the options for reading that the format of a file does not take."""
    module = find_format(f"x{suffix}")
    if module is None or not hasattr(module, "load"):
        # markers
        return frozenset(("take", "roles", "skeleton", "positions", "height"))
    takes = signature(module.load).parameters
    return frozenset(name for name in ("skeleton", "positions") if name not in takes) | {"damaged"}


def _is_readable(path: Path) -> bool:
    """Return whether a file's format can be loaded; an .asf file is the skeleton of .amc files and not a clip."""
    module = find_format(path)
    return path.suffix.lower() != ".asf" and (hasattr(module, "load") or hasattr(module, "load_markers"))


def _remote_sources(address: str) -> Iterator[tuple[str, Path]]:
    """Yield every clip at or below an address with the path of its result, without extension."""
    found = list_files(address)
    base = address.rstrip("/") + "/"
    for source in found:
        inside = source[len(base) :] if source.startswith(base) else source.rpartition("/")[2]
        if source.rstrip("/") == address.rstrip("/") or _is_readable(Path(inside)):
            yield source, Path(inside).with_suffix("")


def _free_name(stem: Path, ending: str, taken: set[str]) -> str:
    """Return a result's name that no other result has: a number is appended if two inputs have the same name."""
    name, number = f"{stem}{ending}", 2
    # case-insensitive file systems must not lose one of two names
    while name.lower() in taken:
        name, number = f"{stem}-{number}{ending}", number + 1
    taken.add(name.lower())
    return name


def _folder_names(characters: Sequence[str]) -> dict[str, str]:
    """Return a folder name for each of several characters."""
    taken: set[str] = set()
    return {
        character: _free_name(Path(Path(character).stem.removeprefix(SAMPLE)), "", taken) for character in characters
    }


@lru_cache(maxsize=1024)
def _companion_hash(path: str, size: int, changed: int) -> str:
    """Return the hash of a file that inputs share; size and changed: its stamp."""
    return hash_of(path)


def _companions(source: str) -> list[str]:
    """Return the files that an input depends on: the buffers of a glTF file, the skeleton of an AMC file.

    On object storage an input stands for itself.
    """
    if is_remote(source):
        return []
    path = Path(source)
    if path.suffix.lower() == ".amc":
        return sorted(
            str(other) for other in path.parent.iterdir() if other.suffix.lower() == ".asf" and other.is_file()
        )
    if path.suffix.lower() != ".gltf":
        return []
    try:
        buffers = json.loads(path.read_bytes()).get("buffers", [])
        names = [buffer.get("uri", "") for buffer in buffers]
    except (ValueError, AttributeError, OSError, RecursionError):
        return []
    beside = [path.parent / name for name in names if isinstance(name, str) and not name.startswith("data:")]
    return [str(file) for file in beside if file.is_file()]
