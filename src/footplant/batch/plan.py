"""What a batch is to do: every input with every character, and where each result goes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from footplant.batch.jobs import JOBS, Job, Task
from footplant.batch.ledger import Ledger, file_hash, key_of
from footplant.errors import FormatError
from footplant.io import SAMPLE, formats, writer_of


@dataclass(frozen=True)
class Entry:
    """One clip on one character."""

    source: str
    out: str | None
    """Relative to the batch's folder; None for jobs that write nothing."""
    character: str | None = None


@dataclass(frozen=True)
class Batch:
    """A job over many inputs."""

    job: str
    inputs: Sequence[str]
    """Files, folders (all clips below them) and sample:NAME."""
    folder: Path
    """Where the results and the ledger go."""
    characters: Sequence[str] = ()
    format: str | None = None
    """The ending of what is written, with or without its dot; None: what is usual for the job."""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check what can be checked before any work is done."""
        if self.job not in JOBS:
            raise FormatError(f"expected a job among {', '.join(JOBS)}; got {self.job!r}")
        kind = self.kind
        if kind.needs_character and not self.characters:
            raise FormatError(f"{self.job} needs a character: --to CHARACTER")
        if self.characters and not kind.needs_character:
            raise FormatError(f"{self.job} takes no character, got {self.characters[0]!r}")
        unknown = sorted(set(self.parameters) - set(kind.parameters))
        if unknown:
            takes = ", ".join(kind.parameters) or "none"
            raise FormatError(f"expected options of {self.job} ({takes}), got {unknown[0]!r}")
        if self.format is not None:
            if kind.suffix is None or not kind.motion:
                raise FormatError(f"{self.job} writes no motions, so it takes no --format")
            writer_of(f"x{self.suffix}")
        for character in self.characters:
            if not character.startswith(SAMPLE) and not Path(character).is_file():
                raise FormatError("no such file", path=character)

    @property
    def kind(self) -> Job:
        """What the job is."""
        return JOBS[self.job]

    @property
    def suffix(self) -> str | None:
        """The ending of what is written: "" keeps the input's, None writes nothing."""
        if self.format is None:
            return self.kind.suffix
        return f".{self.format.lower().lstrip('.')}"

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Every piece of work, in order; no two write to the same file."""
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

    def task(self, entry: Entry, ledger: Ledger) -> tuple[Task, dict[str, Any]]:
        """The task of an entry, with its key, and what the ledger keeps of its input."""
        facts: dict[str, Any] = {"source": entry.source, "character": entry.character, "out": entry.out}
        digest = entry.source
        if not entry.source.startswith(SAMPLE):
            stamp, digest = ledger.digest(entry.source)
            facts |= {"stamp": list(stamp), "hash": digest}
            digest += "".join(file_hash(path) for path in _companions(entry.source))
        key = key_of((*self._common, self._character_hash(entry.character), self._ending(entry.source), digest))
        out = None if entry.out is None else str(self.folder / entry.out)
        return Task(key, self.job, entry.source, out, entry.character, dict(self.parameters)), facts | {"key": key}

    @cached_property
    def _common(self) -> tuple[str, ...]:
        from footplant import __version__

        return ("footplant", __version__, self.job, json.dumps(dict(self.parameters), sort_keys=True))

    @cached_property
    def _hashes(self) -> dict[str, str]:
        return {name: name if name.startswith(SAMPLE) else file_hash(name) for name in self.characters}

    def _character_hash(self, character: str | None) -> str:
        return "" if character is None else self._hashes[character]

    def _ending(self, source: str) -> str:
        """What a result's name ends in; an input whose own format cannot be written becomes GLB."""
        if self.suffix:
            return self.suffix
        ending = Path(source).suffix.lower()
        return ending if hasattr(formats().get(ending), "save") else ".glb"

    def _sources(self) -> Iterator[tuple[str, Path]]:
        """Every input with the name of its result, without an ending."""
        able = ("load", "load_markers")
        readable = {ending for ending, module in formats().items() if any(hasattr(module, name) for name in able)}
        readable -= {".asf"}
        inside = self.folder.resolve()
        for given in self.inputs:
            path = Path(given)
            if given.startswith(SAMPLE):
                yield given, Path(given[len(SAMPLE) :])
            elif path.is_dir():
                for parent, folders, files in os.walk(path):
                    folders.sort()
                    # a folder of results among the inputs is not worked on again
                    folders[:] = [name for name in folders if (Path(parent) / name).resolve() != inside]
                    for name in sorted(files):
                        file = Path(parent) / name
                        if file.suffix.lower() in readable and not name.startswith("."):
                            yield str(file), file.relative_to(path).with_suffix("")
            elif path.exists():
                yield given, Path(path.stem)
            else:
                raise FormatError("no such file or folder", path=given)


def _free_name(stem: Path, ending: str, taken: set[str]) -> str:
    """A result's name that no other result has: a number is put behind it where two inputs are called the same."""
    name, number = f"{stem}{ending}", 2
    # systems that do not tell upper from lower case must not lose one of two
    while name.lower() in taken:
        name, number = f"{stem}-{number}{ending}", number + 1
    taken.add(name.lower())
    return name


def _folder_names(characters: Sequence[str]) -> dict[str, str]:
    """A folder for each of several characters."""
    taken: set[str] = set()
    return {
        character: _free_name(Path(Path(character).stem.removeprefix(SAMPLE)), "", taken) for character in characters
    }


def _companions(source: str) -> list[str]:
    """Files that belong to an input and are not in it: the buffers of a glTF file, the skeleton of an AMC file."""
    path = Path(source)
    if path.suffix.lower() == ".amc":
        return sorted(str(other) for other in path.parent.iterdir() if other.suffix.lower() == ".asf")
    if path.suffix.lower() != ".gltf":
        return []
    try:
        buffers = json.loads(path.read_bytes()).get("buffers", [])
        names = [buffer.get("uri", "") for buffer in buffers]
    except (ValueError, AttributeError, OSError):
        return []
    beside = [path.parent / name for name in names if isinstance(name, str) and not name.startswith("data:")]
    return [str(file) for file in beside if file.is_file()]
