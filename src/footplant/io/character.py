"""What a format module hands to the conversion: a figure in its file's own units and axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from footplant.clip import Take
from footplant.motion import Motion
from footplant.skeleton import Character, Skeleton, Skin


@dataclass(frozen=True, eq=False)
class RawCharacter:
    """One skeleton of a file with its takes, nothing converted yet."""

    name: str
    """What the file calls the figure; "" when it says nothing."""
    skeleton: Skeleton
    """In file units and axes."""
    takes: tuple[Take, ...] = ()
    """Every animation of the figure; empty for a character that does not move."""
    read_take: Callable[[int], Motion] | None = None
    """Decode one take, in file units and axes; called for the takes that are asked for only."""
    take_notes: Callable[[int], tuple[str, ...]] | None = None
    """What was odd in a take and what was made of it; asked after `read_take`."""
    read_character: Callable[[int], Character] | None = None
    """The finished character of a take, in metres and y up, where the file has all of it (a project); else None: roles,
    contact points, masses and limits are found."""
    scale: float | None = None
    """Metres per file unit where the format states it, else None: the figure's own size tells."""
    up: str | None = None
    """The vertical axis ("x", "y", "z", "-x" …) where the format states it, else None: the figure's posture tells."""
    facing: str | None = None
    """The axis that figures of the file face at rest ("z", "-z" …) where the format states it (VRM), else None: they
    come in as they stand."""
    skin: Skin | None = None
    roles: Mapping[str, tuple[str, ...]] | None = None
    """Role → joint names where the file states them (VRM), else None."""
    layout: Any = None
    """See `Clip.layout`."""
    source: Any = None
    """See `Character.source`."""
    notes: tuple[str, ...] = field(default=())
    """What was odd in the file and what was made of it."""
