"""What an edit returns: a clip on its character, with a report; and what edits accept in place of a loaded clip."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from footplant import views
from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.contacts.ground import Ground
from footplant.conversion import Conversion
from footplant.errors import ArgumentError, SkeletonError
from footplant.io import load, load_character, save
from footplant.motion import Motion, rest_motion
from footplant.problem import Report, Solution, Status
from footplant.skeleton import Character


@dataclass(frozen=True, eq=False)
class Result:
    """The answer of every edit: a clip on its character, and how it came about.

    It can be given to the next edit, saved, shown and measured like a clip.
    """

    clip: Clip
    report: Report
    source: Clip | None = field(default=None, repr=False)
    """The clip that was edited, to be shown beside the result; None if there is no single one."""
    unsolved: Clip | None = field(default=None, repr=False)
    """The motion on the target character before the solve: with copied rotations, or moved along a path."""
    ground: Ground | None = field(default=None, repr=False)
    """The ground that the feet stand on, if the edit knows one."""
    plants: tuple[Footplant, ...] = field(default=(), repr=False)
    """Of an edit of terrain, what was asked to stand and where, in frames of the clip."""

    @classmethod
    def of(
        cls,
        clip: Clip,
        solution: Solution,
        character: Character | None = None,
        *,
        source: Clip | None = None,
        unsolved: Motion | None = None,
        ground: Ground | None = None,
        plants: tuple[Footplant, ...] = (),
    ) -> Result:
        """Return the solution of an edit of a clip, on the clip's character or on another one.

        What belongs to the clip's file (its further characters and takes, its layout) is left behind; its units and
        axes are kept as long as its skeleton is.
        """
        character = clip.character if character is None else character
        same = character.skeleton is clip.character.skeleton
        conversion, contents = (clip.conversion, clip.contents) if same else (Conversion(), {})
        made = Clip(solution.motion, character, name=clip.name, conversion=conversion, contents=contents)
        before = None if unsolved is None else Clip(unsolved, character, name=clip.name)
        return cls(made, solution.report, source, before, ground, plants)

    @property
    def status(self) -> Status:
        """Return how the solve ended: a word ("solved" …) with its `sentence`."""
        return self.report.status

    @property
    def motion(self) -> Motion:
        """Return the clip's motion."""
        return self.clip.motion

    @property
    def character(self) -> Character:
        """Return the clip's character."""
        return self.clip.character

    @property
    def name(self) -> str:
        """Return the clip's name."""
        return self.clip.name

    def __repr__(self) -> str:
        """Return status, drift of the worst footplant, and the clip."""
        return f"Result({', '.join([str(self.status), *self.report.worst_drifts()])}: {self.clip!r})"

    def _repr_html_(self) -> str | None:
        """Return the HTML that a notebook shows: source and result as a view that plays, with contacts marked."""
        return views.notebook_html(self)

    def noted(self, *notes: str) -> Result:
        """Return the same with further notes."""
        return replace(self, report=replace(self.report, notes=(*self.report.notes, *notes)))

    def save(self, path: str | Path, **options: Any) -> Path:
        """Save the clip in the format of the file name; options are those of `footplant.save`. Returns the path."""
        return save(path, self.clip, **options)

    def show(self, path: str | Path | None = None) -> None:
        """Show source and result in the notebook's output or in the browser. path: write the page there (.html)."""
        views.show(self, path)


ClipSource = str | Path | Clip | Result
"""What edits accept as a clip: a file, sample:NAME, a loaded clip, or the result of another edit."""
CharacterSource = str | Path | Character | Clip | Result
"""What edits accept as a character: a file, sample:NAME, a character, or a clip or result that it is taken from."""


def as_clip(source: ClipSource, *, humanoid: bool = False) -> Clip:
    """Return a clip: loaded from a file, or as given. humanoid: whether anything else is an error."""
    if isinstance(source, Clip | Result):
        clip = source.clip if isinstance(source, Result) else source
    elif isinstance(source, str | Path):
        clip = load(source)
    elif isinstance(source, Character):
        clip = Clip(rest_motion(source.skeleton), source, name=source.name)
    else:
        raise ArgumentError(f"expected a clip, a result, or the name of a file or sample, got {_kind(source)}")
    if humanoid:
        require_humanoid(clip.character, source)
    return clip


def as_character(source: CharacterSource) -> Character:
    """Return a humanoid character: loaded from a file, or as given."""
    if isinstance(source, Character):
        character = source
    elif isinstance(source, Clip | Result):
        character = source.character
    elif isinstance(source, str | Path):
        character = load_character(source)
    else:
        raise ArgumentError(f"expected a character, a clip, or the name of a file or sample, got {_kind(source)}")
    return require_humanoid(character, source)


def require_humanoid(character: Character, source: object = None) -> Character:
    """Return the character if it is a humanoid; the error names the file it was to be, if it came from one."""
    if character.roles is not None:
        return character
    name = str(source) if isinstance(source, str | Path) else repr(character.name)
    lacking = "" if character.not_humanoid else "it has no human roles: "
    raise SkeletonError(f"{name}: {lacking}{character.why_not_humanoid}")


def _kind(value: object) -> str:
    """Return what a wrong argument is, with the way out where there is one."""
    if isinstance(value, Motion):
        return "a bare motion; footplant.Clip(motion, character) says whose it is"
    return "nothing" if value is None else f"{type(value).__name__} {str(value)[:40]!r}"
