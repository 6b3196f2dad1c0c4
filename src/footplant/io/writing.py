"""Helpers shared by the writers of several formats: which clips to write, validity checks, the generator name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from footplant.clip import Clip
from footplant.errors import FormatError
from footplant.io.source import own_clips
from footplant.skeleton import Character


def clips_to_write(clip: Clip, takes: Sequence[Clip], keep_takes: bool | None = False) -> tuple[Clip, ...]:
    """Return every take with the clip in place of its own take; the clip alone if no takes are given.

    keep_takes: whether the animations of the character's own file are written too, for a writer that starts a new file.
    An edit of one of them replaces it, anything else comes before them. None: only for such an edit.
    """
    if takes or keep_takes is False:
        return tuple(clip if number == clip.take else take for number, take in enumerate(takes)) or (clip,)
    edited = bool(clip.takes) and clip.takes == getattr(clip.character.source, "takes", ())
    own = own_clips(clip.character) if keep_takes or (edited and len(clip.takes) > 1) else []
    if edited and own:
        return tuple(clip if number == clip.take else take for number, take in enumerate(own))
    return (clip, *own)


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
