"""What the writers of several formats have in common: which clips they write, and who they say wrote them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from footplant.clip import Clip
from footplant.errors import FormatError
from footplant.skeleton import Character


def clips_to_write(clip: Clip, takes: Sequence[Clip]) -> tuple[Clip, ...]:
    """Every take of a clip's figure, the clip in the place of its own; the clip alone where no takes are given."""
    return tuple(clip if number == clip.take else take for number, take in enumerate(takes)) or (clip,)


def check_motions(path: str | Path, character: Character, clips: Sequence[Clip]) -> None:
    """Refuse motions without frames, and those of other joints than the character's."""
    if not all(len(clip.motion) for clip in clips):
        raise FormatError("expected a motion with frames, got an empty one", path=path)
    if any(character.skeleton.names != clip.motion.skeleton.names for clip in clips):
        raise FormatError(
            f"expected a motion of the joints of {character.name!r}, got one of other joints; retarget it first",
            path=path,
        )


@cache
def generator() -> str:
    """What files say wrote them. (Of the package's metadata: formats may not import one another by the front door.)"""
    try:
        return f"Footplant {version('footplant')}"
    except PackageNotFoundError:
        return "Footplant (not installed)"
