"""Helpers shared by the writers of several formats: which clips to write, validity checks, the generator name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from footplant.clip import Clip
from footplant.errors import FormatError
from footplant.skeleton import Character


def clips_to_write(clip: Clip, takes: Sequence[Clip]) -> tuple[Clip, ...]:
    """Return every take with the clip in place of its own take; the clip alone if no takes are given."""
    return tuple(clip if number == clip.take else take for number, take in enumerate(takes)) or (clip,)


def check_motions(path: str | Path, character: Character, clips: Sequence[Clip]) -> None:
    """Raise `FormatError` for motions without frames or with joints that are not the character's."""
    if not all(len(clip.motion) for clip in clips):
        raise FormatError("expected a motion with frames, got an empty one", path=path)
    if any(character.skeleton.names != clip.motion.skeleton.names for clip in clips):
        raise FormatError(
            f"expected a motion of the joints of {character.name!r}, got one of other joints; retarget it first",
            path=path,
        )


@cache
def generator() -> str:
    """Return the program name and version that files state; from package metadata, to avoid an import cycle."""
    try:
        return f"Footplant {version('footplant')}"
    except PackageNotFoundError:
        return "Footplant (not installed)"
