"""What an edit changes: a clip, what must hold of it, and the motion that comes of both."""

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
from footplant.feet.steps import EASE
from footplant.motion import Motion
from footplant.problem import Report
from footplant.skeleton import Character, Point

LIMBS = (
    ("left_foot", ("left_upper_leg",)),
    ("right_foot", ("right_upper_leg",)),
    ("left_hand", ("left_clavicle", "left_upper_arm")),
    ("right_hand", ("right_clavicle", "right_upper_arm")),
)
"""Track of the timeline → the roles at which its limb may begin."""


@dataclass(frozen=True, eq=False)
class Mark:
    """A constraint that the page shows as a bar: a plant, a pin."""

    id: int
    """Its number for as long as the session lives."""
    constraint: Constraint
    free: bool = False
    """A don't-care plant: it must not slip, but may stand anywhere."""

    @property
    def interval(self) -> tuple[int, int]:
        """First frame, and first frame after it."""
        held = self.constraint.frames
        return (0, 0) if held is None or not len(held) else (held[0], held[-1] + 1)


@dataclass(frozen=True, eq=False)
class State:
    """A clip after some edits. Every edit gives a new one."""

    clip: Clip
    """What direct manipulation starts from: the file, or what retargeting, terrain or repair made of it."""
    marks: tuple[Mark, ...]
    """What holds, plants and pins, where they are now."""
    motion: Motion
    """The clip's motion with all edits."""
    drags: tuple[Drag | Turn, ...] = ()
    """Edits by hand since `clip`, in order."""
    manipulation: Manipulation | None = None
    """Ready for the next drag; None until the first one needs it."""
    ground: Ground | None = None
    """What the figure walks on when it was put on a terrain; None: the ground that the plants tell."""
    ground_name: str = ""
    """What the terrain was made of: "noise:3"."""
    objects: tuple[dict[str, Any], ...] = ()
    """Things in the scene, as plain values: see `footplant.editor.objects`."""
    path: tuple[tuple[float, float], ...] = ()
    """Points (x, z), metres, that the clip was laid along; empty where it goes its own way."""
    method: str = "hierarchical"
    """How whole clips are solved."""
    report: Report | None = field(default=None, repr=False)
    """Of the last edit that solved the whole clip."""
    next_mark: int = 0
    """The number that the next mark gets."""

    @property
    def character(self) -> Character:
        """Who moves."""
        return self.clip.character

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """What holds, in the order of the marks; plants that may stand anywhere have no place."""
        return tuple(
            replace(mark.constraint, place=None) if mark.free and isinstance(mark.constraint, Footplant)
            else mark.constraint
            for mark in self.marks
        )  # fmt: skip

    def mark(self, number: int) -> Mark | None:
        """The mark of that number."""
        return next((mark for mark in self.marks if mark.id == number), None)

    def contacts(self) -> Contacts:
        """The plants that hold now, in the form in which they are judged."""
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
    """The clip's own plants; none for a figure without feet."""
    from footplant.geometry import Plane

    if any(name in clip.character.contacts for name in FEET):
        return find_contacts(clip, ground=ground)
    return Contacts((), (), len(clip.motion), clip.motion.fps, ground or Plane())


def plant_mark(number: int, name: str, point: Point, interval: tuple[int, int], place: Any) -> Mark:
    """A plant of a contact point as a mark."""
    start, end = interval
    constraint = Footplant(
        point=point, place=place, frames=range(start, end), ramp=EASE,
        name=f"{name.replace('_', ' ')} {start}–{end - 1}",
    )  # fmt: skip
    return Mark(number, constraint)


def opened(clip: Clip, *, like: State | None = None, **changes: Any) -> State:
    """The state of a clip that is new here, its own plants as marks. like: the state whose scene and numbers go on."""
    ground = changes.get("ground", like.ground if like else None)
    first = like.next_mark if like else 0
    plants = find_plants(clip, ground).plants
    marks = tuple(
        plant_mark(first + n, p.point, clip.character.contacts[p.point], (p.start, p.end), p.place)
        for n, p in enumerate(plants)
    )
    fresh = {"clip": clip, "marks": marks, "motion": clip.motion, "next_mark": first + len(marks)}
    if like is None:
        return State(**fresh, **changes)
    return replace(like, **({"drags": (), "manipulation": None, "path": ()} | fresh | changes))


def track_of(character: Character, joint: int) -> str:
    """The track of the timeline that a joint's constraints are shown on."""
    roles = character.roles
    for track, starts in LIMBS:
        start = next((roles[role] for role in starts if roles is not None and role in roles), None)
        if start is not None and joint in character.skeleton.descendants(start):
            return track
    return "body"


def moved_marks(marks: Sequence[Mark], constraints: Sequence[Constraint]) -> tuple[Mark, ...]:
    """The marks with constraints as a manipulation has them: dragging a foot moves its plants."""
    return tuple(replace(mark, constraint=made) for mark, made in zip(marks, constraints, strict=True))
