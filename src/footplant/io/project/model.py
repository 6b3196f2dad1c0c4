"""The contents of a project file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from footplant.clip import Clip
from footplant.errors import MotionError
from footplant.io.writing import clips_to_write

VERSION = (1, 0)
"""Version of the format written: a different major number is another layout, a larger minor number has additions."""


@dataclass(frozen=True, eq=False)
class Extra:
    """Parts of a file that this version of Footplant does not know, kept so that saving writes them back."""

    members: Mapping[str, bytes] = field(default_factory=dict)
    """Name in the zip file → bytes."""
    values: Mapping[tuple[str, ...], Mapping[str, Any]] = field(default_factory=dict)
    """Path of a JSON object → its unknown keys."""
    version: tuple[int, int] = VERSION
    """The version that the file states."""


@dataclass(frozen=True, eq=False)
class Project:
    """Characters with all their takes, their constraints and edits, and content of unknown meaning."""

    figures: tuple[tuple[Clip, ...], ...]
    """The takes of every character, in order; takes of one character are clips of the same character."""
    constraints: tuple[Mapping[str, Any], ...] = ()
    """Constraints as JSON values, one object each."""
    edits: tuple[Mapping[str, Any], ...] = ()
    """Edits in the order in which they are applied, as JSON values, one object each."""
    extra: Extra = field(default_factory=Extra, repr=False)
    notes: tuple[str, ...] = ()
    """Oddities of the file and how they were handled."""

    def __post_init__(self) -> None:
        """Check that there is at least one take per character."""
        if not self.figures or not all(self.figures):
            raise MotionError("expected a project with at least one character, each with at least one take")

    @property
    def clip(self) -> Clip:
        """The first take of the first character."""
        return self.figures[0][0]

    @classmethod
    def of(cls, clip: Clip, takes: Sequence[Clip] = ()) -> Project:
        """Return the project of a clip, the further characters of its file and, if given, all takes of its file.

        takes: every take in order, as `footplant.io.load_takes` yields them; the clip replaces its own. A clip from a
        project file keeps that file's constraints, edits and unknown parts.
        """
        main = clips_to_write(clip, takes)
        others: list[list[Clip]] = [[] for _ in clip.others]
        for take in main:
            for clips, other in zip(others, take.others, strict=False):
                # a character with fewer takes than the first repeats its last take
                if not any(other is known for known in clips):
                    clips.append(other)
        layout = clip.layout if isinstance(clip.layout, ProjectLayout) else ProjectLayout()
        figures = (main, *(tuple(clips) for clips in others))
        return cls(figures, layout.constraints, layout.edits, layout.extra)


@dataclass(frozen=True, eq=False)
class ProjectLayout:
    """What a clip keeps of the project file that it was loaded from (see `Clip.layout`)."""

    constraints: tuple[Mapping[str, Any], ...] = ()
    edits: tuple[Mapping[str, Any], ...] = ()
    extra: Extra = field(default_factory=Extra)
