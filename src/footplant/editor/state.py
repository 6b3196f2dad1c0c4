"""The editor's state: a clip, its constraints, and the resulting motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from footplant.clip import Clip
from footplant.constraints import Constraint, Footplant
from footplant.constraints.drags import Drag, Turn
from footplant.contacts.detection import FEET, Contacts, Plant, find_contacts
from footplant.contacts.ground import Ground
from footplant.edits.drag import Manipulation
from footplant.feet.steps import STEP_SETTINGS
from footplant.motion import Motion
from footplant.problem import Report
from footplant.skeleton import Character, Point


@dataclass(frozen=True, eq=False)
class Mark:
    """A constraint that the page shows as a bar: a footplant or a pin."""

    id: int
    """Its number, constant during the session."""
    constraint: Constraint
    free: bool = False
    """A don't-care footplant: it must not slide, but may be anywhere."""

    @property
    def interval(self) -> tuple[int, int]:
        """Return the first frame, and the first frame after the last."""
        held = self.constraint.frames
        return (0, 0) if held is None or not len(held) else (held[0], held[-1] + 1)


@dataclass(frozen=True, eq=False)
class EditorState:
    """A clip after some edits. Every edit returns a new one."""

    clip: Clip
    """Start of direct manipulation: the file, or the result of retargeting, terrain or repair."""
    marks: tuple[Mark, ...]
    """Footplants and pins at their current positions."""
    motion: Motion
    """The clip's motion with all edits."""
    drags: tuple[Drag | Turn, ...] = ()
    """Manual edits since `clip`, in order."""
    manipulation: Manipulation | None = None
    """Prepared for the next drag; None until the first one needs it."""
    ground: Ground | None = None
    """The terrain; None: the ground estimated from the footplants."""
    ground_name: str = ""
    """Specification of the terrain: "noise:3"."""
    objects: tuple[dict[str, Any], ...] = ()
    """Objects in the scene, JSON-ready: see `footplant.editor.objects`."""
    path: tuple[tuple[float, float], ...] = ()
    """Control points (x, z) of the last path edit, metres; empty without one."""
    method: str = "hierarchical"
    """Method for solving whole clips."""
    report: Report | None = field(default=None, repr=False)
    """Report of the last edit that solved the whole clip."""
    next_mark: int = 0
    """Number of the next mark."""

    @property
    def character(self) -> Character:
        """Return the character."""
        return self.clip.character

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Return the constraints in the order of the marks; don't-care footplants have no position."""
        return tuple(
            replace(mark.constraint, place=None) if mark.free and isinstance(mark.constraint, Footplant)
            else mark.constraint
            for mark in self.marks
        )  # fmt: skip

    def mark(self, number: int) -> Mark | None:
        """Return the mark of that number, or None."""
        return next((mark for mark in self.marks if mark.id == number), None)

    def contacts(self) -> Contacts:
        """Return the current footplants as contacts for measuring."""
        names = {point: name for name, point in self.character.contacts.items()}
        plants = [
            Plant(names[constraint.point], *mark.interval, np.asarray(constraint.place))
            for mark in self.marks
            if isinstance(constraint := mark.constraint, Footplant)
            and constraint.point in names
            and constraint.place is not None
        ]
        found = find_plants(self.clip, self.ground)
        return replace(found, plants=tuple(sorted(plants, key=lambda plant: (plant.point, plant.start))))


def find_plants(clip: Clip, ground: Ground | None = None) -> Contacts:
    """Detect the clip's own footplants; none for a character without feet."""
    from footplant.geometry import Plane

    if any(name in clip.character.contacts for name in FEET):
        return find_contacts(clip, ground=ground)
    return Contacts((), (), len(clip.motion), clip.motion.fps, ground or Plane())


def plant_mark(number: int, name: str, point: Point, interval: tuple[int, int], place: Any) -> Mark:
    """Return a footplant of a contact point as a mark."""
    start, end = interval
    constraint = Footplant(
        point=point, place=place, frames=range(start, end), ramp=STEP_SETTINGS.ramp,
        name=f"{name.replace('_', ' ')} {start}–{end - 1}",
    )  # fmt: skip
    return Mark(number, constraint)


def opened(clip: Clip, *, like: EditorState | None = None, **changes: Any) -> EditorState:
    """Return the state of a newly opened clip, its footplants as marks. like: keep this state's scene and numbers."""
    ground = changes.get("ground", like.ground if like else None)
    first = like.next_mark if like else 0
    plants = find_plants(clip, ground).plants
    marks = tuple(
        plant_mark(first + n, p.point, clip.character.contacts[p.point], (p.start, p.end), p.place)
        for n, p in enumerate(plants)
    )
    fresh = {"clip": clip, "marks": marks, "motion": clip.motion, "next_mark": first + len(marks)}
    if like is None:
        return EditorState(**fresh, **changes)
    return replace(like, **({"drags": (), "manipulation": None, "path": ()} | fresh | changes))


def moved_marks(marks: Sequence[Mark], constraints: Sequence[Constraint]) -> tuple[Mark, ...]:
    """Return the marks with the constraints of a manipulation: dragging a foot moves its footplants."""
    return tuple(replace(mark, constraint=constraint) for mark, constraint in zip(marks, constraints, strict=True))
