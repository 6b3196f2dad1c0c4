"""One door for every file: `load`, `load_character`, `save`; for markers `load_markers`, `save_markers`.

A format is a module with `extensions` (lower case, with the dot), `load(path) → tuple of RawCharacter` and, when it can
write, `save(path, clip, **options)`. It registers itself under the entry point group "footplant.formats". What its
files can carry beside a skeleton and one motion it says in `holds`, a frozenset of words from `PARTS`; one that holds
"takes" has an option `takes` of `save`. It may have `requires`, the extra of Footplant and the module that it needs,
and `further_losses(clip) → list of str`, what of a clip it cannot write beside what the words tell.

A format of markers has `load_markers(path) → RawMarkers` and `save_markers(path, markers, **options)` instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

from footplant.clip import Clip, Conversion, Take
from footplant.errors import FormatError, MotionError, SkeletonError
from footplant.markers import Markers
from footplant.motion import Motion, rest_motion
from footplant.skeleton import Character

SAMPLE = "sample:"
_POINTER = b"version https://git-lfs"
"""How the small files begin that stand in a checkout for large ones that were not fetched."""
PARTS = {
    "skin": "the mesh with its weights",
    "takes": "several takes",
    "figures": "several figures",
    "moving bones": "bones that change their length with time",
    "roles": "which joint is what",
    "contacts": "contact points, masses and limits of the character",
    "constraints": "constraints and edits",
}
"""What a file may carry beside a skeleton and one motion; a format says in `holds` which of these its `save` writes."""


@cache
def formats() -> dict[str, ModuleType]:
    """Extension → format module, for all installed formats."""
    from importlib.metadata import entry_points

    found: dict[str, ModuleType] = {}
    for entry in sorted(entry_points(group="footplant.formats"), key=lambda entry: entry.name):
        module = entry.load()
        for extension in module.extensions:
            found.setdefault(extension, module)
    return found


def format_of(path: str | Path) -> ModuleType:
    """The format module for a file name."""
    extension = Path(path).suffix.lower()
    known = formats()
    if extension not in known:
        raise FormatError(f"expected one of {', '.join(sorted(known))}, got {extension or 'no extension'!r}", path=path)
    return known[extension]


def writer_of(path: str | Path) -> ModuleType:
    """The format module for a file name to be written; one that only reads is an error that lists those that write."""
    module = format_of(path)
    if not hasattr(module, "save"):
        able = ", ".join(sorted(extension for extension, other in formats().items() if hasattr(other, "save")))
        raise FormatError(
            f"{Path(path).suffix} files can be read but not written; what can be written: {able}", path=path
        )
    return module


def load(
    path: str | Path,
    *,
    take: int | str | None = None,
    figure: int | str | None = None,
    units: str | float | None = None,
    up: str | None = None,
    roles: str | Path | None = None,
    **options,
) -> Clip:
    """Read a motion and its character from any file, or a sample by "sample:NAME".

    take: which animation, by number or name (default the first). figure: which of several persons, by number or name
    (default the largest). units ("cm", 0.01 …) and up ("z" …) force what would be detected. roles: a TOML file of
    corrections, see `humanoid.read_corrections`. Further options belong to the format.
    """
    return next(_read(path, [0 if take is None else take], figure, units, up, roles, options))


def load_takes(
    path: str | Path,
    *,
    figure: int | str | None = None,
    units: str | float | None = None,
    up: str | None = None,
    roles: str | Path | None = None,
    **options,
) -> Iterator[Clip]:
    """Read every take of a figure, one after another; the options are those of `load`.

    All have the units, the up axis and the roles of the first. `save(path, clip, takes=…)` writes them where the format
    holds takes.
    """
    return _read(path, None, figure, units, up, roles, options)


def _read(path, takes: Sequence[int | str] | None, figure, units, up, roles, options: dict) -> Iterator[Clip]:
    """Clips of the takes that are asked for, or of all of them."""
    if str(path).startswith(SAMPLE):
        yield _load_sample(str(path)[len(SAMPLE) :])
        return
    from footplant import humanoid
    from footplant.io.conversion import clip_from_raw

    module, path = format_of(path), Path(path)
    _check_file(path)
    if not hasattr(module, "load"):
        raise FormatError(
            "the file holds markers, not the motion of a skeleton; footplant.load_markers reads it, "
            '"footplant info" shows it and "footplant convert" writes it as .trc', path=path,
        )  # fmt: skip
    corrections = None if roles is None else humanoid.read_corrections(roles)
    try:
        figures = module.load(path, **options)
        # the one that the file itself calls human, else the largest
        order = sorted(range(len(figures)), key=lambda n: (figures[n].roles is None, -len(figures[n].skeleton)))
        chosen = order[0] if figure is None else _choose("figure", figure, [f.name for f in figures], path)
        order = [number for number in order if number != chosen]
        names = [take.name for take in figures[chosen].takes]
        numbers = range(max(len(names), 1)) if takes is None else [_choose_take(take, names, path) for take in takes]
        firsts: dict[int, Clip] = {}
        further: dict[tuple[int, int], Clip] = {}
        for number in numbers:
            clip = clip_from_raw(
                figures[chosen], path, take=number, units=units, up=up, corrections=corrections, like=firsts.get(chosen)
            )
            firsts.setdefault(chosen, clip)
            # a figure with fewer takes stands in for the others with its last
            places = [(other, min(number, max(len(figures[other].takes) - 1, 0))) for other in order]
            for other, place in places:
                if (other, place) not in further:
                    further[other, place] = clip_from_raw(
                        figures[other], path, take=place, units=clip.conversion.scale, up=clip.conversion.up,
                        like=firsts.get(other),
                    )  # fmt: skip
                    firsts.setdefault(other, further[other, place])
            if order:
                left = ", ".join(repr(figures[other].name) for other in order)
                text = f"{len(figures)} figures; took {figures[chosen].name!r}, left {left}"
                clip = replace(clip, notes=(*clip.notes, text), others=tuple(further[place] for place in places))
            yield clip
    except (SkeletonError, MotionError) as error:
        raise FormatError(str(error), path=path) from error
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error


def _check_file(path: Path) -> None:
    """Refuse what no format can read, whatever its name says."""
    if not path.exists():
        raise FormatError("no such file", path=path)
    try:
        with open(path, "rb") as file:
            start = file.read(len(_POINTER))
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error
    if start == _POINTER:
        raise FormatError(
            f"expected a {path.suffix} file, got a Git LFS pointer: `git lfs pull` fetches the file", path=path
        )


def _choose_take(take: int | str, names: list[str], path: Path) -> int:
    """A take's number; the first one of a file without takes is its rest pose."""
    return 0 if take == 0 and not names else _choose("take", take, names, path)


def _load_sample(name: str) -> Clip:
    """A sample motion, or a sample character in its rest pose."""
    from footplant import samples

    if name in samples.CHARACTERS:
        character = samples.load_character(name)
        return Clip(motion=rest_motion(character.skeleton), character=character, name=name)
    if name not in samples.MOTIONS:
        known = ", ".join((*samples.MOTIONS, *samples.CHARACTERS))
        raise FormatError(f"expected a sample among {known}; got {name!r}", path=f"{SAMPLE}{name}")
    return samples.load(name)


def _choose(what: str, wanted: int | str, names: list[str], path: Path) -> int:
    if isinstance(wanted, str) and wanted in names:
        return names.index(wanted)
    if isinstance(wanted, str) and wanted.lstrip("-").isdigit():
        wanted = int(wanted)
    if isinstance(wanted, int) and -len(names) <= wanted < len(names):
        return wanted % len(names)
    listing = ", ".join(f"{number} {name!r}" for number, name in enumerate(names)) or "none"
    raise FormatError(f"expected a {what} among: {listing}; got {wanted!r}", path=path)


def load_character(path: str | Path, **options) -> Character:
    """Read a character from any file, or a sample by "sample:NAME"; takes what `load` takes."""
    if str(path).startswith(SAMPLE):
        return _load_sample(str(path)[len(SAMPLE) :]).character
    return load(path, **options).character


def save(path: str | Path, clip: Clip | Motion | Character, *, character: Character | None = None, **options) -> Path:
    """Write a clip, a bare motion or a character, in the format of the file name; whole or not at all.

    Options belong to the format (see its module). `character` says whose skin to write a bare motion with.
    """
    from footplant.io.source import unpack_for

    path = Path(path)
    module = writer_of(path)
    if isinstance(clip, Character):
        clip = Clip(motion=rest_motion(clip.skeleton), character=clip, name=clip.name)
    elif isinstance(clip, Motion):
        clip = Clip(motion=clip, character=character or Character(clip.skeleton), name=path.stem)
    elif character is not None:
        clip = replace(clip, character=character)
    clip = replace(clip, character=unpack_for(module, clip.character))
    module.save(path, clip, **options)
    return path


def holds_markers(path: str | Path) -> bool:
    """Whether a file is of a format of markers."""
    return not str(path).startswith(SAMPLE) and hasattr(format_of(path), "load_markers")


def load_markers(path: str | Path, *, units: str | float | None = None, up: str | None = None, **options) -> Markers:
    """Read the markers of a C3D or TRC file, in metres and y up.

    units ("mm", 0.001 …) and up ("z" …) force what the file states or what would be found. Further options belong to
    the format.
    """
    from footplant.io.marker_conversion import markers_from_raw

    module, path = format_of(path), Path(path)
    _check_file(path)
    if not hasattr(module, "load_markers"):
        raise FormatError("the file holds the motion of a skeleton, not markers; footplant.load reads it", path=path)
    try:
        return markers_from_raw(module.load_markers(path, **options), path, units=units, up=up)
    except MotionError as error:
        raise FormatError(str(error), path=path) from error


def save_markers(path: str | Path, markers: Markers, **options) -> Path:
    """Write markers in the format of the file name; whole or not at all. Options belong to the format."""
    path = Path(path)
    module = format_of(path)
    if not hasattr(module, "save_markers"):
        known = sorted(extension for extension, other in formats().items() if hasattr(other, "save_markers"))
        raise FormatError(
            f"expected a file of markers that can be written ({', '.join(known)}), got {path.suffix}", path=path
        )
    module.save_markers(path, markers, **options)
    return path


__all__ = [
    "Clip",
    "Conversion",
    "Markers",
    "Take",
    "format_of",
    "formats",
    "holds_markers",
    "load",
    "load_character",
    "load_markers",
    "load_takes",
    "save",
    "save_markers",
]
