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
from footplant.feet.kept_plants import own_plants
from footplant.feet.steps import STEP_SETTINGS, find_steps, foot_length
from footplant.kinematics import Kinematics
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
    step: int = -1
    """Number of the footstep that it belongs to (see `editor.footsteps`); −1 for pins and palms."""

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
    asked: tuple[Mark, ...]
    """The same before any drag: dragging a planted foot moves its footplants."""
    motion: Motion
    """The clip's motion with all edits."""
    drags: tuple[Drag | Turn, ...] = ()
    """Manual edits since `clip`, in order."""
    manipulation: Manipulation | None = None
    """Prepared for the next drag; None until the first one needs it."""
    ground: Ground | None = None
    """The terrain; None: the ground estimated from the footplants."""
    recorded_on: Ground | None = None
    """The ground of the clip as it was opened, of a recording."""
    ground_name: str = ""
    """Specification of the terrain: "noise:3"."""
    objects: tuple[dict[str, Any], ...] = ()
    """Objects in the scene, JSON-ready: see `footplant.editor.objects`."""
    path: tuple[tuple[float, float], ...] = ()
    """Control points (x, z) of the last path edit, metres; empty without one."""
    method: str = "hierarchical"
    """Method for solving whole clips."""
    report: Report | None = field(default=None, repr=False)
    """Report of the last edit, on this very motion; None for a clip as opened."""
    held: bool = False
    """Whether the motion was solved under the marks; those of a clip as opened, or retargeted, are only detected."""
    stale: bool = False
    """Whether `motion` has yet to be solved under `asked` and `drags`: see `actions.solved`."""
    next_mark: int = 0
    """Number of the next mark."""

    @property
    def character(self) -> Character:
        """Return the character."""
        return self.clip.character

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Return the constraints in the order of the marks; don't-care footplants have no position."""
        return constraints_of(self.marks)

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


def constraints_of(marks: Sequence[Mark]) -> tuple[Constraint, ...]:
    """Return the constraints of some marks, in their order; don't-care footplants have no position."""
    return tuple(
        replace(mark.constraint, place=None) if mark.free and isinstance(mark.constraint, Footplant)
        else mark.constraint
        for mark in marks
    )  # fmt: skip


def find_plants(clip: Clip, ground: Ground | None = None) -> Contacts:
    """Detect the clip's own footplants; none for a character without feet."""
    from footplant.geometry import Plane

    if any(name in clip.character.contacts for name in FEET):
        return find_contacts(clip, ground=ground)
    return Contacts((), (), len(clip.motion), clip.motion.fps, ground or Plane())


def solved_plants(clip: Clip, report: Report, ground: Ground) -> Contacts:
    """Return the footplants that an edit solved, where the clip has them; found anew, slow heels would last longer."""
    kinematics, contacts = Kinematics(clip.motion), clip.character.contacts
    solved = () if report.after is None else report.after.plants
    plants = tuple(
        Plant(p.point, p.start, p.end, np.median(kinematics.point(contacts[p.point])[p.start : p.end], axis=0))
        for p in solved
        if p.point in FEET and p.point in contacts and 0 <= p.start < p.end <= len(clip.motion)
    )
    points = tuple(name for name in FEET if name in contacts)
    return Contacts(plants, points, len(clip.motion), clip.motion.fps, ground)


def plant_mark(number: int, name: str, point: Point, interval: tuple[int, int], place: Any, step: int = -1) -> Mark:
    """Return a footplant of a contact point as a mark; step: the footstep that it belongs to."""
    start, end = interval
    constraint = Footplant(
        point=point, place=place, frames=range(start, end), ramp=STEP_SETTINGS.ramp,
        name=f"{name.replace('_', ' ')} {start}–{end - 1}",
    )  # fmt: skip
    return Mark(number, constraint, step=step)


def opened(
    clip: Clip, *, like: EditorState | None = None, contacts: Contacts | None = None, **changes: Any
) -> EditorState:
    """Return the state of a newly opened clip, its footplants as marks. like: keep this state's scene and numbers.

    contacts: the clip's footplants where they are known.
    """
    ground = changes.get("ground", like.ground if like else None)
    first = like.next_mark if like else 0
    contacts = find_plants(clip, ground) if contacts is None else contacts
    steps = _step_numbers(contacts, clip.character, first)
    marks = tuple(
        Mark(first + n, plant, step=steps.get((p.point, p.start, p.end), -1))
        for n, (p, plant) in enumerate(zip(contacts.plants, own_plants(clip.motion, clip.character, contacts)))
    )
    fresh = {
        "clip": clip, "marks": marks, "asked": marks, "motion": clip.motion, "next_mark": first + len(marks),
        "stale": False, "held": False,
    }  # fmt: skip
    if like is None:
        return EditorState(**fresh, **changes)
    return replace(like, **({"drags": (), "manipulation": None, "path": ()} | fresh | changes))


def _step_numbers(contacts: Contacts, character: Character, first: int) -> dict[tuple[str, int, int], int]:
    """Return the number of the footstep of each plant (point, start, end): that of its first mark."""
    if character.roles is None or not any(name in character.contacts for name in FEET):
        return {}
    sides = [side for side in ("left", "right") if f"{side}_heel" in character.contacts]
    length = foot_length(character, sides[0]) if sides else 0.0
    numbers = {(p.point, p.start, p.end): first + n for n, p in enumerate(contacts.plants)}
    found = {}
    for step in find_steps(contacts, length):
        own = [(p.point, p.start, p.end) for p in (*step.heels, *step.balls)]
        lead = min(numbers[plant] for plant in own)
        found |= dict.fromkeys(own, lead)
    return found
