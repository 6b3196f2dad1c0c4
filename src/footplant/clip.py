"""The result of loading a file: a motion on a character, and the conversion that was applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from footplant.conversion import Conversion
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.views import notebook_html, show
from footplant.wording import shortened


@dataclass(frozen=True)
class Take:
    """One animation of a file."""

    name: str
    frames: int
    fps: float
    """Frame rate, as stated by the file or, if it only has times, estimated from its keys."""


@dataclass(frozen=True, eq=False)
class Clip:
    """A motion on a character, as loaded from one take of a file."""

    motion: Motion
    character: Character
    name: str = "clip"
    takes: tuple[Take, ...] = ()
    """Every take of the file; `take` is the index of the one in `motion`."""
    take: int = 0
    conversion: Conversion = field(default_factory=Conversion)
    notes: tuple[str, ...] = ()
    """Irregularities that the reader found and how it handled them, one sentence each."""
    others: tuple[Clip, ...] = ()
    """Further characters of the same file (a second person, a prop)."""
    contents: Mapping[str, int] = field(default_factory=dict, repr=False)
    """How many meshes, materials, textures, morph targets, takes … its file holds, if the format has such things."""
    layout: Any = field(default=None, repr=False)
    """How the file wrote its numbers (a BVH's channel orders), kept so that the same format can write them alike."""

    def __post_init__(self) -> None:
        """Check that the motion is the character's."""
        self.character.require_fit(self.motion.skeleton)

    def __repr__(self) -> str:
        """Return name, length, character, joints and height."""
        return f"Clip({shortened(self.name)!r}: {self.motion.timing}, on {self.character!r})"

    def _repr_html_(self) -> str | None:
        """Return the HTML that a notebook shows: a view that plays, with contacts marked."""
        return notebook_html(self)

    def show(self, path: str | Path | None = None) -> None:
        """Show the clip in the notebook's output or in the browser. path: write the page there instead (.html)."""
        show(self, path)


__all__ = ["Clip", "Conversion", "Take"]
