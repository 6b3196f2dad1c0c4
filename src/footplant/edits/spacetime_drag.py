"""Interactive spacetime editing: drag points within a window of frames, all of it solved again at every step.

Gleicher, "Motion editing with spacetime constraints" (I3D 1997): while the mouse moves, the whole window is one
optimisation with the user's goals as constraints, started from the last answer. Unlike `drag`, footplants may be free,
constraints may connect frames, and several goals are met at once by one smooth change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from footplant.checks import real_array, whole_number
from footplant.clip import Clip
from footplant.constraints import Constraint, Footplant, Position
from footplant.constraints.naming import named_point
from footplant.contacts.detection import FEET
from footplant.errors import ConstraintError
from footplant.feet.kept_plants import own_plants
from footplant.motion import Motion
from footplant.problem import Problem, Solution
from footplant.skeleton import Character, Point
from footplant.solve.methods.spacetime import Spacetime


@dataclass(frozen=True, eq=False)
class SpacetimeDrag:
    """A window of a motion, edited by dragging. Immutable: every drag returns a new one; `begin` creates the first."""

    character: Character
    original: Motion
    """The motion before any drag; changes are measured from it."""
    method: Spacetime
    """The solver, with its window."""
    constraints: tuple[Constraint, ...]
    """What must hold beside the drags, footplants included."""
    goals: Mapping[tuple[int, Point], Position] = field(default_factory=dict)
    """(frame, point) → where it was dragged."""
    solution: Solution | None = field(default=None, repr=False)
    """The answer to the last drag; its report says what is not met."""

    @property
    def motion(self) -> Motion:
        """The motion with all drags."""
        return self.original if self.solution is None else self.solution.motion

    def drag(self, frame: int, point: Point | str, target: ArrayLike) -> SpacetimeDrag:
        """Move a point (or a contact point, joint or role, by name) to a position (3,), metres, at one frame.

        The frame must lie in the window. Another position for the same point and frame replaces the earlier one; all
        other drags still hold.
        """
        window = self.method.window or range(len(self.original))
        frame = whole_number(frame, "a frame of the window", ConstraintError, low=window.start, high=window.stop - 1)
        where = named_point(point, self.character) if isinstance(point, str) else point
        self.character.skeleton.require_joint(where.joint)
        place = real_array(target, "a target", ConstraintError)
        if place.shape != (3,) or not np.isfinite(place).all():
            raise ConstraintError(f"expected a target of 3 finite numbers, got {target}")
        goal = Position(point=where, target=tuple(place.tolist()), frames=(frame,), name=f"drag at frame {frame}")
        return self._solved({**self.goals, (frame, where): goal})

    def release(self, frame: int, point: Point | str) -> SpacetimeDrag:
        """Return the edit without the drag of a point at a frame."""
        where = named_point(point, self.character) if isinstance(point, str) else point
        kept = {key: goal for key, goal in self.goals.items() if key != (frame, where)}
        return self._solved(kept) if kept else replace(self, goals={}, solution=None)

    def _solved(self, goals: Mapping[tuple[int, Point], Position]) -> SpacetimeDrag:
        """Solve the window with other goals, from the present motion on."""
        start = None if self.solution is None else self.motion
        problem = Problem(self.original, self.character, (*goals.values(), *self.constraints))
        return replace(self, goals=goals, solution=replace(self.method, start=start).solve(problem))


def begin_spacetime(
    clip: Clip,
    window: range,
    constraints: Sequence[Constraint] = (),
    *,
    keep_plants: bool = True,
    spacing: float = 3.0,
    exact: bool = False,
) -> SpacetimeDrag:
    """Start dragging within a window of frames; frames outside never change.

    constraints: what must hold as well; free footplants stay free. keep_plants: also keep the clip's own footplants.
    spacing: knot spacing in frames of 1/30 s. exact: also close the tenths of a millimetre that the splines leave.
    """
    if not isinstance(window, range):
        raise ConstraintError(f"expected a window as a range of frames, got {type(window).__name__}")
    motion, character = clip.motion, clip.character
    kept: list[Constraint] = list(constraints)
    if keep_plants and any(name in character.contacts for name in FEET):
        kept += own_plants(motion, character)
    method = Spacetime(spacing=spacing, exact=exact, window=window)
    inside = tuple(c for c in kept if not isinstance(c, Footplant) or _touches(c, window))
    edit = SpacetimeDrag(character, motion, method, inside)
    # a window outside the clip is an error here, not at the first drag
    method.solve(Problem(motion, character, ()))
    return edit


def _touches(plant: Footplant, window: range) -> bool:
    """Return whether a footplant has a frame in the window."""
    return plant.frames is None or any(frame in window for frame in plant.frames)
