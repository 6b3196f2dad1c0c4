"""What a file gives: a motion on a character, and what was done to it at the border."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from footplant.motion import Motion
from footplant.skeleton import Character


@dataclass(frozen=True)
class Take:
    """One animation of a file."""

    name: str
    frames: int
    fps: float
    """Frames a second, as the file says or, where it only has times, as its keys tell."""


@dataclass(frozen=True)
class Border:
    """What the border did to bring a file's figure into metres and y up. Saving can undo it."""

    units: str = "m"
    """The file's unit: "m", "cm", "mm", "dm", "inch", "cmu" … or "unknown" when only the figure's size could tell."""
    scale: float = 1.0
    """Metres per file unit."""
    up: str = "y"
    """The file's vertical axis: "x", "y", "z", "-x", "-y" or "-z"."""
    declared: bool = False
    """True when the format states units and axes (or the caller forced both); False when the figure told."""
    turn: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """Quaternion that was applied to the whole figure to bring `up` to +y."""


@dataclass(frozen=True, eq=False)
class Clip:
    """A motion on a character, as loaded from one take of a file."""

    motion: Motion
    character: Character
    name: str = "clip"
    takes: tuple[Take, ...] = ()
    """Every take of the file; `take` says which one `motion` is."""
    take: int = 0
    border: Border = field(default_factory=Border)
    notes: tuple[str, ...] = ()
    """What the reader found odd and what it made of it, one sentence each."""
    others: tuple[Clip, ...] = ()
    """Further figures of the same file (a second person, a prop)."""
    layout: Any = field(default=None, repr=False)
    """How the file wrote its numbers (a BVH's channel orders), kept so that the same format can write them alike."""
