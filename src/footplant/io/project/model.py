"""What a project file holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from footplant.clip import Clip
from footplant.errors import MotionError
from footplant.io.writing import clips_to_write

VERSION = (1, 0)
"""Of the layout that is written: another first number is another layout, a greater second one has more in it."""


@dataclass(frozen=True, eq=False)
class Extra:
    """Parts of a file that this version of Footplant does not know, kept so that saving writes them back."""

    members: Mapping[str, bytes] = field(default_factory=dict)
    """Name in the zip file → bytes."""
    values: Mapping[tuple[str, ...], Mapping[str, Any]] = field(default_factory=dict)
    """Place of a JSON object → its keys that are not known."""
    version: tuple[int, int] = VERSION
    """The version that the file states."""


@dataclass(frozen=True, eq=False)
class Project:
    """Figures with all their takes, the constraints and edits that belong to them, and what only others understand."""

    figures: tuple[tuple[Clip, ...], ...]
    """Every figure as its takes, in order; takes of one figure are clips of the same character."""
    constraints: tuple[Mapping[str, Any], ...] = ()
    """Constraints as plain JSON values, one object each."""
    edits: tuple[Mapping[str, Any], ...] = ()
    """Edits in the order in which they are applied, as plain JSON values, one object each."""
    extra: Extra = field(default_factory=Extra, repr=False)
    notes: tuple[str, ...] = ()
    """What was odd in the file and what was made of it."""

    def __post_init__(self) -> None:
        """Check that there is something."""
        if not self.figures or not all(self.figures):
            raise MotionError("expected a project with at least one figure, each with at least one take")

    @property
    def clip(self) -> Clip:
        """The first take of the first figure."""
        return self.figures[0][0]

    @classmethod
    def of(cls, clip: Clip, takes: Sequence[Clip] = ()) -> Project:
        """The project of a clip, its further figures and, where they are given, all takes of its file.

        takes: every take in order, as `footplant.io.load_takes` gives them; the clip itself stands for the one that it
        is. A clip that came from a project file brings its constraints and edits and everything else along.
        """
        main = clips_to_write(clip, takes)
        others: list[list[Clip]] = [[] for _ in clip.others]
        for take in main:
            for clips, other in zip(others, take.others, strict=False):
                # a figure with fewer takes than the first one stands in for its further takes with its last
                if not any(other is known for known in clips):
                    clips.append(other)
        layout = clip.layout if isinstance(clip.layout, ProjectLayout) else ProjectLayout()
        figures = (main, *(tuple(clips) for clips in others))
        return cls(figures, layout.constraints, layout.edits, layout.extra)


@dataclass(frozen=True, eq=False)
class ProjectLayout:
    """What a clip keeps of the project file that it came from (see `Clip.layout`)."""

    constraints: tuple[Mapping[str, Any], ...] = ()
    edits: tuple[Mapping[str, Any], ...] = ()
    extra: Extra = field(default_factory=Extra)
