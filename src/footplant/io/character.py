"""The result of a format reader: a character in its file's own units and axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from footplant.clip import Take
from footplant.motion import Motion
from footplant.skeleton import Character, Skeleton, Skin


@dataclass(frozen=True, eq=False)
class RawCharacter:
    """One skeleton of a file with its takes, before unit and axis conversion."""

    name: str
    """The character's name in the file, or ""."""
    skeleton: Skeleton
    """In file units and axes."""
    takes: tuple[Take, ...] = ()
    """Every animation of the character; empty for a static character."""
    read_take: Callable[[int], Motion] | None = None
    """Decodes one take, in file units and axes; called only for requested takes."""
    take_notes: Callable[[int], tuple[str, ...]] | None = None
    """Oddities of a take and how they were handled; called after `read_take`."""
    read_character: Callable[[int], Character] | None = None
    """Returns the finished character of a take, in metres, y up, if the file stores it (a project). If None, roles,
    contact points, masses and joint limits are detected."""
    scale: float | None = None
    """Metres per file unit if the format states it, else None: it is estimated from the character's size."""
    up: str | None = None
    """The vertical axis ("x", "y", "z", "-x" …) if the format states it, else None: it is detected from the pose."""
    facing: str | None = None
    """The forward axis of characters at rest ("z", "-z" …) if the format states it (VRM), else None: the facing
    direction is left unchanged."""
    skin: Skin | None = None
    roles: Mapping[str, tuple[str, ...]] | None = None
    """Role → joint names if the file states them (VRM), else None."""
    layout: Any = None
    """See `Clip.layout`."""
    source: Any = None
    """See `Character.source`."""
    contents: Mapping[str, int] = field(default_factory=dict)
    """What the file holds besides joints and motions, counted: see `io.contents`."""
    notes: tuple[str, ...] = field(default=())
    """Oddities of the file and how they were handled, one sentence each."""
