"""What each edit does to a state. An edit is a table of plain values with a `kind`, as the journal keeps it.

Nothing is solved here: every edit calls the one function of `footplant.edits` that does it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from footplant.constraints import Constraint, Footplant, Position, from_data
from footplant.constraints.drags import Drag, Turn, drags_from_data
from footplant.constraints.fields import Fields
from footplant.constraints.naming import read_point
from footplant.editor.objects import doorways_of, read_objects
from footplant.editor.state import Mark, State, moved_marks, opened, plant_mark
from footplant.edits.drag import Manipulation, begin
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.problem import Progress, Solution
from footplant.solve.methods import NAMES

Edit = Mapping[str, Any]
SHORTEST = 2
"""Frames that a bar keeps when its ends are dragged together."""


@dataclass(frozen=True)
class Surroundings:
    """What edits need beside the state."""

    files: Path
    """The folder of files that the page has sent; edits name them without their folder."""
    progress: Progress | None = None

    def find(self, name: str) -> str:
        """A sample as it is, else the place of a file that the page has sent."""
        from footplant.io import SAMPLE

        if name.startswith(SAMPLE):
            return name
        path = self.files / Path(name).name
        if not path.is_file():
            raise ConstraintError(f"expected a file that was sent before, got {name!r}")
        return str(path)


def apply(edit: Edit, state: State, around: Surroundings) -> State:
    """The state after an edit."""
    fields = Fields(edit, "", None)
    kind = fields.choice("kind", _KINDS, "kind of edit")
    return _KINDS[kind](edit, state, around)


def describe(edit: Edit, state: State) -> str:
    """What the history calls an edit that was done to a state."""
    kind = edit["kind"]
    if kind in ("drag", "turn"):
        what = edit.get("point", edit.get("joint", ""))
        name = what if isinstance(what, str) else what.get("joint", what.get("point", "point"))
        return f"{'Drag' if kind == 'drag' else 'Turn'} {name.replace('_', ' ')} at {edit['frame']}"
    if kind in ("mark", "remove"):
        mark = state.mark(int(edit["id"]))
        name = mark.constraint.title if mark else "constraint"
        return f"{'Delete' if kind == 'remove' else 'Change'} {name}"
    titles = {
        "pin": "Pin {point}", "plant": "Plant {point}", "method": "Solve by {name}",
        "retarget": "Retarget to {character}", "terrain": "Terrain {ground}",
        "repair": "Repair the feet", "objects": "Arrange the scene",
        "path": "Bend the path", "blend": "Blend with {clips}", "constraints": "Add constraints",
    }  # fmt: skip
    return titles[kind].format(**{key: _spoken(value) for key, value in edit.items()})


def _spoken(value: Any) -> str:
    """A value of an edit for people."""
    if isinstance(value, list):
        return ", ".join(_spoken(entry) for entry in value)
    if isinstance(value, dict):
        return _spoken(value.get("joint", value.get("point", "")))
    return str(value).removeprefix("sample:").replace("_", " ")


def ready(state: State, progress: Progress | None = None) -> Manipulation:
    """The state's manipulation, begun where it was not yet."""
    if state.manipulation is not None:
        return state.manipulation
    return manipulation_of(state, progress)


def manipulation_of(state: State, progress: Progress | None = None) -> Manipulation:
    """What the clip, the marks and the drags of a state amount to."""
    made = begin(
        (state.clip.motion, state.character), state.constraints, keep_plants=False, progress=progress
    )  # fmt: skip
    for edit in state.drags:
        made = made.again(edit)
    return _trimmed(made)


def _trimmed(made: Manipulation) -> Manipulation:
    """Without its history: the session keeps one of its own."""
    return replace(made, history=(made.history[made.position],), position=0)


def _after(state: State, made: Manipulation) -> State:
    made = _trimmed(made)
    return replace(
        state, motion=made.motion, manipulation=made, drags=made.edits, marks=moved_marks(state.marks, made.constraints)
    )


def by_hand(edit: Edit, state: State, around: Surroundings) -> State:
    """A drag or a turn: only its window is solved."""
    (made,) = drags_from_data([dict(edit)], state.character, frames=len(state.motion))
    return _after(state, ready(state, around.progress).again(made))


def _again(state: State, marks: tuple[Mark, ...], around: Surroundings) -> State:
    """The state with other marks: the clip is solved under them, and the edits by hand are done again."""
    changed = replace(state, marks=marks, manipulation=None)
    return _after(changed, manipulation_of(changed, around.progress))


def _mark(edit: Edit, state: State, around: Surroundings) -> State:
    """Move, stretch, ramp or free a mark."""
    fields = Fields(edit, "", None)
    mark = _known(state, fields)
    start, end = mark.interval
    start, end = fields.integer("start", start), fields.integer("end", end)
    start = min(max(start, 0), len(state.motion) - SHORTEST)
    end = min(max(end, start + SHORTEST), len(state.motion))
    free = fields.flag("free", mark.free)
    constraint: Constraint = replace(mark.constraint, frames=range(start, end))
    if "ramp" in fields:
        ramp = fields.vector("ramp", 2).tolist()
        constraint = replace(constraint, ramp=(max(ramp[0], 0.0), max(ramp[1], 0.0)))
    place = fields.vector("place", 3, None)
    if place is not None and isinstance(constraint, Footplant):
        constraint = replace(constraint, place=place)
    elif place is not None and isinstance(constraint, Position):
        constraint = replace(constraint, target=place)
    changed = Mark(mark.id, constraint, free)
    return _again(state, tuple(changed if m.id == mark.id else m for m in state.marks), around)


def _known(state: State, fields: Fields) -> Mark:
    mark = state.mark(fields.integer("id"))
    if mark is None:
        raise ConstraintError(f"expected the number of a constraint that is there, got {fields.integer('id')}")
    return mark


def _remove(edit: Edit, state: State, around: Surroundings) -> State:
    mark = _known(state, Fields(edit, "", None))
    return _again(state, tuple(m for m in state.marks if m.id != mark.id), around)


def _plant(edit: Edit, state: State, around: Surroundings) -> State:
    """A new plant of a contact point, where the point is on average."""
    fields = Fields(edit, "", None)
    point, name = read_point(fields, "point", state.character), str(edit["point"])
    start, end = _interval(fields, len(state.motion))
    if any(m.interval[0] < end and start < m.interval[1] for m in state.marks if _point_of(m) == point):
        raise ConstraintError(f"expected frames in which {name!r} is not held yet, got {start}–{end - 1}")
    places = Kinematics(state.motion[start:end]).point(point)
    place = np.median(places, axis=0)
    if state.ground is not None:
        place[1] = float(state.ground.height(place[None, ::2])[0])
    mark = plant_mark(state.next_mark, name, point, (start, end), place)
    return _again(replace(state, next_mark=state.next_mark + 1), (*state.marks, mark), around)


def _point_of(mark: Mark) -> Any:
    return getattr(mark.constraint, "point", None)


def _interval(fields: Fields, frames: int) -> tuple[int, int]:
    start, end = fields.integer("start"), fields.integer("end")
    if not 0 <= start < end <= frames:
        raise ConstraintError(f"expected frames in order in 0..{frames}, got {start} to {end}")
    return start, end


def _pin(edit: Edit, state: State, around: Surroundings) -> State:
    """A point is held where it is at a frame, or at a target, over an interval."""
    fields = Fields(edit, "", None)
    point = read_point(fields, "point", state.character)
    start, end = _interval(fields, len(state.motion))
    target = fields.vector("target", 3, None)
    if target is None:
        frame = min(max(fields.integer("frame", start), 0), len(state.motion) - 1)
        target = Kinematics(state.motion[frame]).point(point)[0]
    ramp = fields.vector("ramp", 2, None)
    name = edit["point"] if isinstance(edit["point"], str) else edit["point"].get("joint", "point")
    constraint = Position(
        point=point, target=target, frames=range(start, end), name=f"pin {name.replace('_', ' ')} {start}–{end - 1}",
        ramp=(0.2, 0.2) if ramp is None else (float(ramp[0]), float(ramp[1])),
    )  # fmt: skip
    mark = Mark(state.next_mark, constraint)
    return _again(replace(state, next_mark=state.next_mark + 1), (*state.marks, mark), around)


def _constraints(edit: Edit, state: State, around: Surroundings) -> State:
    """Any constraints, as docs/constraints.md has them."""
    made = from_data(edit["constraints"], state.character, frames=len(state.motion), fps=state.motion.fps)
    first = state.next_mark
    marks = tuple(Mark(first + n, constraint) for n, constraint in enumerate(made))
    return _again(replace(state, next_mark=first + len(marks)), (*state.marks, *marks), around)


def wanted_constraints(state: State) -> tuple[Constraint, ...]:
    """Everything that a whole-clip method is asked for: the marks, and the drags as positions at their frames."""
    pins = [
        Position(point=drag.point, target=drag.target, frames=(drag.frame,), name=f"drag at {drag.frame}", ramp=(r, r))
        for drag in state.drags
        if isinstance(drag, Drag)
        for r in (3.5 * drag.spacing / 30.0,)
    ]
    return (*state.constraints, *pins)


def solve_by(name: str, state: State, around: Surroundings) -> Solution:
    """The clip of a state under all that is wanted of it, solved by a method."""
    from footplant.edits.fit import fit

    if name not in NAMES:
        raise ConstraintError(f"expected a method among {', '.join(NAMES)}; got {name!r}")
    start = _with_turns(state)
    return fit(start.clip, wanted_constraints(state), method=name, keep_plants=False, progress=around.progress)


def _with_turns(state: State) -> State:
    """The state with turned joints in its clip: methods take places as constraints, but turns as they are."""
    turns = tuple(edit for edit in state.drags if isinstance(edit, Turn))
    if not turns:
        return state
    made = manipulation_of(replace(state, drags=turns))
    return replace(state, clip=replace(state.clip, motion=made.motion))


def _method(edit: Edit, state: State, around: Surroundings) -> State:
    """The whole clip solved anew by a method; drags after it go on from there."""
    name = Fields(edit, "", None).text("name")
    solution = solve_by(name, state, around)
    solved = replace(state.clip, motion=solution.motion)
    return replace(
        state, clip=solved, motion=solution.motion, method=name, manipulation=None, drags=(), report=solution.report
    )


def _retarget(edit: Edit, state: State, around: Surroundings) -> State:
    from footplant.conversion import Conversion
    from footplant.edits.retarget import retarget
    from footplant.io import load_character

    fields = Fields(edit, "", None)
    target = load_character(around.find(fields.text("character")))
    clip = replace(state.clip, motion=state.motion)
    # on a terrain steps stay where they are: scaled ones would not fit it any more
    keep = fields.flag("keep_footsteps", False) or state.ground is not None
    solution = retarget(clip, target, keep_footsteps=keep, progress=around.progress)
    made = replace(clip, motion=solution.motion, character=target, conversion=Conversion(), layout=None, others=())
    return opened(made, like=state, report=solution.report)


def _terrain(edit: Edit, state: State, around: Surroundings) -> State:
    from footplant.edits.terrain import terrain
    from footplant.io.ground_files import Course, load_ground

    text = Fields(edit, "", None).text("ground")
    clip = replace(state.clip, motion=state.motion)
    made_up = text.partition(":")[0] in ("noise", "stairs", "slope")
    if not made_up and not (around.files / Path(text).name).is_file():
        raise ConstraintError(f"expected noise:…, stairs:…, slope:… or a file that was sent before, got {text!r}")
    name = text if made_up else around.find(text)
    ground = load_ground(name, Course.of(clip.motion, clip.character))
    solution = terrain(clip, ground, doorways_of(state.objects, ground), progress=around.progress)
    made = replace(clip, motion=solution.motion)
    return opened(made, like=state, ground=ground, ground_name=text, report=solution.report)


def _path(edit: Edit, state: State, around: Surroundings) -> State:
    """The motion along a curve through points of the floor."""
    from footplant import curves
    from footplant.edits.path import path

    if state.ground is not None:
        raise ConstraintError("expected a motion on level ground to bend its path: undo the terrain, bend, and redo it")
    points = Fields(edit, "", None).rows("points", 2)
    clip = replace(state.clip, motion=state.motion)
    solution = path(clip, curves.through(points), timing="arc", contacts=state.contacts(), progress=around.progress)
    made = replace(clip, motion=solution.motion)
    return opened(made, like=state, report=solution.report, path=tuple((float(x), float(z)) for x, z in points))


def _blend(edit: Edit, state: State, around: Surroundings) -> State:
    """The motion mixed with others, on the same figure."""
    from footplant.blending.blend import blend
    from footplant.blending.registration import register
    from footplant.conversion import Conversion
    from footplant.io import load

    fields = Fields(edit, "", None)
    names, weights = edit["clips"], fields.numbers("weights")
    if not isinstance(names, list) or not names or len(weights) != len(names) + 1:
        raise ConstraintError("expected clips, and a weight for the present motion and each of them")
    own = replace(state.clip, motion=state.motion, others=())
    clips = [own, *(load(around.find(str(name))) for name in names)]
    registration = register(clips, reference=0, character=state.character)
    solution = blend(registration, weights, progress=around.progress)
    made = replace(own, motion=solution.motion, takes=(), take=0, conversion=Conversion(), layout=None)
    return opened(made, like=state, report=solution.report)


def _repair(edit: Edit, state: State, around: Surroundings) -> State:
    from footplant.edits.repair import repair

    clip = replace(state.clip, motion=state.motion)
    solution = repair(clip, ground=state.ground, progress=around.progress)
    return opened(replace(clip, motion=solution.motion), like=state, report=solution.report)


def _objects(edit: Edit, state: State, around: Surroundings) -> State:
    return replace(state, objects=read_objects(edit["objects"]))


_KINDS: dict[str, Callable[[Edit, State, Surroundings], State]] = {
    "drag": by_hand,
    "turn": by_hand,
    "mark": _mark,
    "remove": _remove,
    "plant": _plant,
    "pin": _pin,
    "constraints": _constraints,
    "method": _method,
    "retarget": _retarget,
    "terrain": _terrain,
    "path": _path,
    "blend": _blend,
    "repair": _repair,
    "objects": _objects,
}
KINDS = tuple(_KINDS)
"""Every kind of edit."""
