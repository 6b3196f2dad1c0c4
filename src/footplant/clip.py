"""The result of loading a file: a motion on a character, and the conversion that was applied."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from footplant.conversion import Conversion
from footplant.motion import Motion, notebook_html
from footplant.skeleton import Character


@dataclass(frozen=True)
class Take:
    """One animation of a file."""

    name: str
    frames: int
    fps: float
    """Frames a second, as the file says or, where it only has times, as its keys tell."""


@dataclass(frozen=True, eq=False)
class Clip:
    """A motion on a character, as loaded from one take of a file."""

    motion: Motion
    character: Character
    name: str = "clip"
    takes: tuple[Take, ...] = ()
    """Every take of the file; `take` says which one `motion` is."""
    take: int = 0
    conversion: Conversion = field(default_factory=Conversion)
    notes: tuple[str, ...] = ()
    """What the reader found odd and what it made of it, one sentence each."""
    others: tuple[Clip, ...] = ()
    """Further figures of the same file (a second person, a prop)."""
    layout: Any = field(default=None, repr=False)
    """How the file wrote its numbers (a BVH's channel orders), kept so that the same format can write them alike."""

    def _repr_html_(self) -> str | None:
        """Return the HTML that a notebook shows: a strip of poses and an animation."""
        return notebook_html(self.motion, self.character, self.name)


__all__ = ["Clip", "Conversion", "Take"]
