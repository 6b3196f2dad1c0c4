"""Apply edits to a state. An edit is a JSON-ready table with a `kind`, as stored in the journal.

Nothing is solved here: every edit calls the function of `footplant.edits` that does it.
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
from footplant.editor.state import EditorState, Mark, moved_marks, opened, plant_mark
from footplant.edits.drag import Manipulation, begin
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.problem import Progress
from footplant.result import Result
from footplant.solve.methods import NAMES

Edit = Mapping[str, Any]
SHORTEST = 2
"""Fewest frames of a bar when its ends are dragged together."""


@dataclass(frozen=True)
class EditContext:
    """What edits need besides the state."""

    files: Path
    """Folder of uploaded files; edits refer to them by file name."""
    progress: Progress | None = None

    def find(self, name: str) -> str:
        """Return a sample name unchanged, or the path of an uploaded file."""
        from footplant.io import SAMPLE

        if name.startswith(SAMPLE):
            return name
        path = self.files / Path(name).name
        if not path.is_file():
            raise ConstraintError(f"expected an uploaded file, got {name!r}")
        return str(path)


def apply(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Return the state after an edit."""
    fields = Fields(edit, "", None)
    kind = fields.choice("kind", _KINDS, "kind of edit")
    return _KINDS[kind](edit, state, context)


def describe(edit: Edit, state: EditorState) -> str:
    """Return the title of an edit in the history; state: the one that it was applied to."""
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
    return titles[kind].format(**{key: _as_text(value) for key, value in edit.items()})


def _as_text(value: Any) -> str:
    """Return a value of an edit as text for people."""
    if isinstance(value, list):
        return ", ".join(_as_text(entry) for entry in value)
    if isinstance(value, dict):
        return _as_text(value.get("joint", value.get("point", "")))
    return str(value).removeprefix("sample:").replace("_", " ")


def ready(state: EditorState, progress: Progress | None = None) -> Manipulation:
    """Return the state's manipulation, created if it does not exist yet."""
    if state.manipulation is not None:
        return state.manipulation
    return manipulation_of(state, progress)


def manipulation_of(state: EditorState, progress: Progress | None = None) -> Manipulation:
    """Build the manipulation from the clip, the marks and the drags of a state."""
    made = begin(
        (state.clip.motion, state.character), state.constraints, keep_plants=False, progress=progress
    )  # fmt: skip
    for edit in state.drags:
        made = made.again(edit)
    return _trimmed(made)


def _trimmed(made: Manipulation) -> Manipulation:
    """Return a manipulation without its history: the session has its own."""
    return replace(made, history=(made.history[made.position],), position=0)


def _after(state: EditorState, made: Manipulation) -> EditorState:
    made = _trimmed(made)
    return replace(
        state, motion=made.motion, manipulation=made, drags=made.edits, marks=moved_marks(state.marks, made.constraints)
    )


def _apply_manual_edit(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Apply a drag or a joint rotation: only its window is solved. The report is that of the drags."""
    (edited,) = drags_from_data([dict(edit)], state.character, frames=len(state.motion))
    made = ready(state, context.progress).again(edited)
    return replace(_after(state, made), report=made.report())


def _solved_under(state: EditorState, marks: tuple[Mark, ...], context: EditContext) -> EditorState:
    """Return the state with other marks: the clip is solved under them, and the manual edits are applied again."""
    changed = replace(state, marks=marks, manipulation=None)
    return _after(changed, manipulation_of(changed, context.progress))


def _mark(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Move, resize, ramp or release a mark."""
    fields = Fields(edit, "", None)
    mark = _existing_mark(state, fields)
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
    return _solved_under(state, tuple(changed if m.id == mark.id else m for m in state.marks), context)


def _existing_mark(state: EditorState, fields: Fields) -> Mark:
    mark = state.mark(fields.integer("id"))
    if mark is None:
        raise ConstraintError(f"expected the number of an existing constraint, got {fields.integer('id')}")
    return mark


def _remove(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    mark = _existing_mark(state, Fields(edit, "", None))
    return _solved_under(state, tuple(m for m in state.marks if m.id != mark.id), context)


def _plant(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Add a footplant of a contact point at the median of its positions."""
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
    return _solved_under(replace(state, next_mark=state.next_mark + 1), (*state.marks, mark), context)


def _point_of(mark: Mark) -> Any:
    return getattr(mark.constraint, "point", None)


def _interval(fields: Fields, frames: int) -> tuple[int, int]:
    start, end = fields.integer("start"), fields.integer("end")
    if not 0 <= start < end <= frames:
        raise ConstraintError(f"expected frames in order in 0..{frames}, got {start} to {end}")
    return start, end


def _pin(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Pin a point over an interval to its position at a frame, or to a target."""
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
    return _solved_under(replace(state, next_mark=state.next_mark + 1), (*state.marks, mark), context)


def _constraints(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Add any constraints, in the form of docs/constraints.md."""
    made = from_data(edit["constraints"], state.character, frames=len(state.motion), fps=state.motion.fps)
    first = state.next_mark
    marks = tuple(Mark(first + n, constraint) for n, constraint in enumerate(made))
    return _solved_under(replace(state, next_mark=first + len(marks)), (*state.marks, *marks), context)


def wanted_constraints(state: EditorState) -> tuple[Constraint, ...]:
    """Return all constraints for a whole-clip method: the marks, and the drags as positions at their frames."""
    pins = [
        Position(point=drag.point, target=drag.target, frames=(drag.frame,), name=f"drag at {drag.frame}", ramp=(r, r))
        for drag in state.drags
        if isinstance(drag, Drag)
        for r in (3.5 * drag.spacing / 30.0,)
    ]
    return (*state.constraints, *pins)


def solve_by(name: str, state: EditorState, context: EditContext) -> Result:
    """Solve the clip of a state under all its constraints by a method."""
    from footplant.edits.fit import fit

    if name not in NAMES:
        raise ConstraintError(f"expected a method among {', '.join(NAMES)}; got {name!r}")
    start = _with_turns(state)
    return fit(start.clip, wanted_constraints(state), method=name, keep_plants=False, progress=context.progress)


def _with_turns(state: EditorState) -> EditorState:
    """Return the state with rotated joints in its clip: methods take positions as constraints, not rotations."""
    turns = tuple(edit for edit in state.drags if isinstance(edit, Turn))
    if not turns:
        return state
    made = manipulation_of(replace(state, drags=turns))
    return replace(state, clip=replace(state.clip, motion=made.motion))


def _method(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Solve the whole clip again by a method; later drags continue from there."""
    name = Fields(edit, "", None).text("name")
    solution = solve_by(name, state, context)
    solved = replace(state.clip, motion=solution.motion)
    return replace(
        state, clip=solved, motion=solution.motion, method=name, manipulation=None, drags=(), report=solution.report
    )


def _retarget(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    from footplant.edits.retarget import retarget
    from footplant.io import load_character

    fields = Fields(edit, "", None)
    target = load_character(context.find(fields.text("character")))
    clip = replace(state.clip, motion=state.motion)
    # on terrain, footsteps keep their positions: scaled ones would no longer fit it
    keep = fields.flag("keep_footsteps", False) or state.ground is not None
    solution = retarget(clip, target, keep_footsteps=keep, progress=context.progress)
    return opened(solution.clip, like=state, report=solution.report)


def _terrain(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    from footplant.edits.terrain import terrain
    from footplant.io.ground_files import Course, load_ground

    text = Fields(edit, "", None).text("ground")
    clip = replace(state.clip, motion=state.motion)
    procedural = text.partition(":")[0] in ("noise", "stairs", "slope")
    if not procedural and not (context.files / Path(text).name).is_file():
        raise ConstraintError(f"expected noise:…, stairs:…, slope:… or an uploaded file, got {text!r}")
    name = text if procedural else context.find(text)
    ground = load_ground(name, Course.of(clip.motion, clip.character))
    solution = terrain(clip, ground, doorways_of(state.objects, ground), progress=context.progress)
    made = replace(clip, motion=solution.motion)
    return opened(made, like=state, ground=ground, ground_name=text, report=solution.report)


def _path(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Bend the motion along a curve through points on the floor."""
    from footplant import curves
    from footplant.edits.path import bend

    if state.ground is not None:
        raise ConstraintError("expected a motion on level ground to bend its path: undo the terrain, bend, and redo it")
    points = Fields(edit, "", None).rows("points", 2)
    clip = replace(state.clip, motion=state.motion)
    solution = bend(clip, curves.through(points), timing="arc", contacts=state.contacts(), progress=context.progress)
    made = replace(clip, motion=solution.motion)
    return opened(made, like=state, report=solution.report, path=tuple((float(x), float(z)) for x, z in points))


def _blend(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Blend the motion with others on the same character."""
    from footplant.blending.blend import blend
    from footplant.blending.registration import register
    from footplant.conversion import Conversion
    from footplant.io import load

    fields = Fields(edit, "", None)
    names, weights = edit["clips"], fields.numbers("weights")
    if not isinstance(names, list) or not names or len(weights) != len(names) + 1:
        raise ConstraintError("expected clips, and a weight for the current motion and each of them")
    own = replace(state.clip, motion=state.motion, others=())
    clips = [own, *(load(context.find(str(name))) for name in names)]
    registration = register(clips, reference=0, character=state.character)
    solution = blend(registration, weights, progress=context.progress)
    made = replace(own, motion=solution.motion, takes=(), take=0, conversion=Conversion(), layout=None)
    return opened(made, like=state, report=solution.report)


def _repair(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    from footplant.edits.repair import repair

    clip = replace(state.clip, motion=state.motion)
    solution = repair(clip, ground=state.ground, progress=context.progress)
    return opened(replace(clip, motion=solution.motion), like=state, report=solution.report)


def _objects(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    return replace(state, objects=read_objects(edit["objects"]))


_KINDS: dict[str, Callable[[Edit, EditorState, EditContext], EditorState]] = {
    "drag": _apply_manual_edit,
    "turn": _apply_manual_edit,
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
