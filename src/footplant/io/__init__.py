"""Load and save motion, character and marker files of any format.

`load`, `load_character`, `save` for motions and characters; `load_markers`, `save_markers` for optical markers. The
format is chosen by file name extension: see `footplant.io.registry`, which also says how to add one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import Protocol

from footplant.checks import frame_rate
from footplant.clip import Clip, Conversion, Take
from footplant.errors import ArgumentError, FormatError, MotionError, SkeletonError
from footplant.io.registry import FORMAT_FEATURES, find_format, format_of, formats, writer_of
from footplant.io.source import unpack_for
from footplant.markers import Markers
from footplant.motion import Motion, rest_motion
from footplant.skeleton import Character
from footplant.text_files import require_file

SAMPLE = "sample:"
"""Prefix of the name of a sample that ships with the package, in place of a file name."""
SMPL_BODIES = ("smpl", "smplh", "smplx")
"""Samples that are mean bodies of the SMPL family: targets for motions that are to be saved as its parameters."""
_GIT_LFS_POINTER = b"version https://git-lfs"
"""First bytes of the pointer that stands in a Git checkout for a large file that was not fetched."""


def load(
    path: str | Path,
    *,
    take: int | str | None = None,
    figure: int | str | None = None,
    units: str | float | None = None,
    up: str | None = None,
    height: float | None = None,
    roles: str | Path | None = None,
    fps: float | None = None,
    **options,
) -> Clip:
    """Load one take of a file as a clip in metres, y up; or a sample by "sample:NAME".

    take: which animation, by number or name (default: the first).
    figure: which of several characters, by number or name (default: the one with declared humanoid bones, else the one
        with the most joints). The others are in `Clip.others`.
    units: "cm", 0.01 (metres per unit) …, and up: "z", "-y" …: override the file's units and vertical axis.
    height: the character's height, metres, whatever the file's units are; for humanoids only.
    roles: a TOML file that corrects the detected joint roles, see `humanoid.read_corrections`.
    fps: frame rate of the clip: a file that states none is read at it, any other is resampled to it.
    Other options are passed to the format.
    """
    return next(_read(path, [0 if take is None else take], figure, units, up, height, roles, fps, options))


def load_takes(
    path: str | Path,
    *,
    figure: int | str | None = None,
    units: str | float | None = None,
    up: str | None = None,
    height: float | None = None,
    roles: str | Path | None = None,
    fps: float | None = None,
    **options,
) -> Iterator[Clip]:
    """Load every take of a character lazily, one clip at a time; the options are those of `load`.

    All takes share the units, up axis and roles of the first. `save(path, clip, takes=…)` writes them to formats that
    hold several takes.
    """
    return _read(path, None, figure, units, up, height, roles, fps, options)


def _read(
    path, takes: Sequence[int | str] | None, figure, units, up, height, roles, fps: float | None, options: dict
) -> Iterator[Clip]:
    """Yield a clip for each requested take, or for all takes if `takes` is None."""
    if fps is not None:
        frame_rate(fps, FormatError)
    if str(path).startswith(SAMPLE):
        yield _at_rate(_load_sample(str(path)[len(SAMPLE) :]), fps)
        return
    from footplant import humanoid
    from footplant.io.conversion import clip_from_raw

    module, path = format_of(path), Path(path)
    _check_file(path)
    if not hasattr(module, "load"):
        raise FormatError(
            "the file holds markers, not the motion of a skeleton; footplant.solve_markers makes a motion of them, "
            'footplant.load_markers reads them, "footplant info" describes them', path=path,
        )  # fmt: skip
    corrections = None if roles is None else humanoid.read_corrections(roles)
    if fps is not None and "fps" in signature(module.load).parameters:
        options = options | {"fps": fps}
    try:
        raws = module.load(path, **options)
        # characters with declared humanoid bones first, then by number of joints
        order = sorted(range(len(raws)), key=lambda n: (raws[n].roles is None, -len(raws[n].skeleton)))
        chosen = order[0] if figure is None else _choose("figure", figure, [f.name for f in raws], path)
        order = [number for number in order if number != chosen]
        names = [take.name for take in raws[chosen].takes]
        numbers = range(max(len(names), 1)) if takes is None else [_choose_take(take, names, path) for take in takes]
        firsts: dict[int, Clip] = {}
        further: dict[tuple[int, int], Clip] = {}
        for number in numbers:
            clip = clip_from_raw(
                raws[chosen], path, take=number, units=units, up=up, height=height, corrections=corrections,
                like=firsts.get(chosen),
            )  # fmt: skip
            firsts.setdefault(chosen, clip)
            # a character with fewer takes contributes its last take
            places = [(other, min(number, max(len(raws[other].takes) - 1, 0))) for other in order]
            for other, place in places:
                if (other, place) not in further:
                    further[other, place] = clip_from_raw(
                        raws[other], path, take=place, units=clip.conversion.scale, up=clip.conversion.up,
                        like=firsts.get(other),
                    )  # fmt: skip
                    firsts.setdefault(other, further[other, place])
            if order:
                skipped = ", ".join(repr(raws[other].name) for other in order)
                text = f"the file has {len(raws)} characters; loaded {raws[chosen].name!r}, not {skipped}"
                clip = replace(clip, notes=(*clip.notes, text), others=tuple(further[place] for place in places))
            yield _at_rate(clip, fps)
    except (SkeletonError, MotionError) as error:
        raise FormatError(str(error), path=path) from error
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error


def _at_rate(clip: Clip, fps: float | None) -> Clip:
    """Return a clip, with its further characters, at a frame rate; None leaves it at its own."""
    if fps is None or (abs(clip.motion.fps / fps - 1.0) < 1e-6 and not clip.others) or len(clip.motion) < 2:
        return clip
    others = tuple(_at_rate(other, fps) for other in clip.others)
    return replace(clip, motion=clip.motion.resample(fps, smooth=fps > clip.motion.fps), others=others)


_LARGEST = 1 << 32
"""Maximum size of a file, bytes, also in a batch: larger ones fill memory before they prove to be no motion."""


def _check_file(path: Path) -> None:
    """Raise `FormatError` for files that no format can read: missing and endless ones, and Git LFS pointers."""
    if require_file(path).st_size > _LARGEST:
        raise FormatError(f"expected at most {_LARGEST >> 30} GiB, got more", path=path)
    try:
        with open(path, "rb") as file:
            start = file.read(len(_GIT_LFS_POINTER))
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error
    if start == _GIT_LFS_POINTER:
        raise FormatError(
            f"expected a {path.suffix} file, got a Git LFS pointer: `git lfs pull` fetches the file", path=path
        )


def _choose_take(take: int | str, names: list[str], path: Path) -> int:
    """Return the number of a take; take 0 of a file without takes is its rest pose."""
    return 0 if take == 0 and not names else _choose("take", take, names, path)


def _load_sample(name: str) -> Clip:
    """Return a sample motion, or a sample character in its rest pose, as a clip."""
    from footplant import samples

    if name in samples.CHARACTERS:
        character = samples.load_character(name)
        return Clip(motion=rest_motion(character.skeleton), character=character, name=name)
    if name in SMPL_BODIES:
        from footplant.io.conversion import clip_from_raw
        from footplant.io.npz import smpl_character

        return clip_from_raw(smpl_character(name), name)
    if name not in samples.MOTIONS:
        known = ", ".join((*samples.MOTIONS, *samples.CHARACTERS, *SMPL_BODIES))
        near = get_close_matches(name, (*samples.MOTIONS, *samples.CHARACTERS, *SMPL_BODIES), 1)
        meant = f"; did you mean {SAMPLE}{near[0]}?" if near else ""
        raise FormatError(f"expected a sample among {known}; got {name!r}{meant}", path=f"{SAMPLE}{name}")
    return samples.load(name)


def _choose(what: str, wanted: int | str, names: list[str], path: Path) -> int:
    """Return the index of an entry given by name, by number or by a number in text; negative numbers count back."""
    if isinstance(wanted, str) and wanted in names:
        return names.index(wanted)
    if isinstance(wanted, str) and wanted.lstrip("-").isdigit():
        wanted = int(wanted)
    if isinstance(wanted, int) and -len(names) <= wanted < len(names):
        return wanted % len(names)
    listing = ", ".join(f"{number} {name!r}" for number, name in enumerate(names)) or "none"
    raise FormatError(f"expected a {what} among: {listing}; got {wanted!r}", path=path)


def load_character(path: str | Path, **options) -> Character:
    """Load a character from any file, or a sample by "sample:NAME"; the options are those of `load`."""
    if str(path).startswith(SAMPLE):
        return _load_sample(str(path)[len(SAMPLE) :]).character
    return load(path, **options).character


class HoldsClip(Protocol):
    """What has a clip: the result of an edit."""

    @property
    def clip(self) -> Clip:
        """Return the clip."""
        ...


def save(
    path: str | Path,
    clip: Clip | Motion | Character | HoldsClip,
    *,
    character: Character | None = None,
    **options,
) -> Path:
    """Save a clip, a result, a motion or a character in the format of the file name; the file is written atomically.

    character: the character, with its skin, that a bare motion is saved with. Other options are passed to the format's
    `save`. Returns the path.
    """
    if not isinstance(path, str | Path):
        raise ArgumentError(f"expected a file name first, as in save('walk.glb', clip); got {path!r}")
    path = Path(path)
    module = writer_of(path)
    if isinstance(clip, Character):
        clip = Clip(motion=rest_motion(clip.skeleton), character=clip, name=clip.name)
    elif isinstance(clip, Motion):
        clip = Clip(motion=clip, character=character or Character(clip.skeleton), name=path.stem)
    elif not isinstance(clip, Clip):
        found = getattr(clip, "clip", None)
        if not isinstance(found, Clip):
            raise ArgumentError(f"expected a clip, a result, a motion or a character to save, got {clip!r}")
        clip = found
    if character is not None:
        clip = replace(clip, character=character)
    clip = replace(clip, character=unpack_for(module, clip.character))
    module.save(path, clip, **options)
    return path


def holds_markers(path: str | Path) -> bool:
    """Return whether a file's format stores markers rather than the motion of a skeleton."""
    if str(path).startswith(SAMPLE):
        return False
    module = format_of(path)
    if hasattr(module, "contains_markers"):
        return module.contains_markers(path)
    return hasattr(module, "load_markers")


def load_markers(path: str | Path, *, units: str | float | None = None, up: str | None = None, **options) -> Markers:
    """Load the markers of a C3D or TRC file, in metres, y up.

    units ("mm", 0.001 …) and up ("z" …) override what the file states or what would be detected. Other options are
    passed to the format.
    """
    from footplant.io.marker_conversion import markers_from_raw

    module, path = format_of(path), Path(path)
    _check_file(path)
    if not hasattr(module, "load_markers"):
        raise FormatError("the file holds the motion of a skeleton, not markers; footplant.load reads it", path=path)
    return markers_from_raw(module.load_markers(path, **options), path, units=units, up=up)


def save_markers(path: str | Path, markers: Markers, **options) -> Path:
    """Save markers in the format of the file name, atomically. Options are passed to the format; returns the path."""
    path = Path(path)
    module = format_of(path)
    if not hasattr(module, "save_markers"):
        known = sorted(extension for extension, other in formats().items() if hasattr(other, "save_markers"))
        raise FormatError(
            f"expected a marker format that can be written ({', '.join(known)}), got {path.suffix}", path=path
        )
    module.save_markers(path, markers, **options)
    return path


__all__ = [
    "FORMAT_FEATURES",
    "SAMPLE",
    "Clip",
    "Conversion",
    "Markers",
    "Take",
    "find_format",
    "format_of",
    "formats",
    "holds_markers",
    "load",
    "load_character",
    "load_markers",
    "load_takes",
    "save",
    "save_markers",
    "writer_of",
]
