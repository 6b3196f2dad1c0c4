"""Apply edits to a state. An edit is a JSON-ready table with a `kind`, as stored in the journal.

Nothing is solved here: every edit calls the function of `footplant.edits` that does it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from footplant import rotation
from footplant.constraints import Constraint, Footplant, Position, from_data
from footplant.constraints.drags import Drag, Turn, drags_from_data
from footplant.constraints.fields import Fields
from footplant.constraints.naming import point_data, read_point
from footplant.editor.bounds import refuse_absurd
from footplant.editor.footsteps import (
    SHORTEST,
    add_step,
    broken_limits,
    change_step,
    conflicts,
    delete_step,
    find_step,
    giving_way,
    join_steps,
    split_step,
)
from footplant.editor.objects import built_on, doorways_of
from footplant.editor.poses import with_pose
from footplant.editor.state import EditorState, Mark, constraints_of, opened, plant_mark, solved_plants
from footplant.edits.drag import Manipulation, begin
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.problem import Problem, Progress, Report, Status, evaluate_constraints
from footplant.result import Result
from footplant.solve.methods import NAMES
from footplant.solve.window import drag_pin, latest_drags

Edit = Mapping[str, Any]
STEP_EDITS = ("change", "delete", "split", "join", "add")
LAZY = ("mark", "remove", "plant", "pin", "constraints", "step")
"""Edits that change marks only: the motion is solved when it is needed, once for all of them."""


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
        parts = name.split("/")
        path = self.files.joinpath(*(Path(part).name for part in parts)) if len(parts) <= 2 and all(parts) else None
        if path is None or ".." in parts or not path.is_file():
            raise ConstraintError(f"expected an uploaded file, got {name!r}")
        return str(path)


def apply(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Return the state after an edit."""
    kind = Fields(edit, "", None).choice("kind", _KINDS, "kind of edit")
    refuse_absurd(edit, state.character.height)
    if kind not in LAZY:
        state = solved(state, context.progress)
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
    if kind == "step":
        return _step_title(edit, state)
    if kind == "stack":
        return {"set": "Change", "on": "Switch on", "off": "Switch off", "delete": "Remove", "duplicate": "Duplicate",
                "move": "Reorder"}[edit["do"]] + f" {edit.get('title', 'an operator')}"  # fmt: skip
    titles = {
        "pin": "Pin {point}", "plant": "Plant {point}", "method": "Solve by {name}",
        "retarget": "Retarget to {character}", "terrain": "Terrain {ground}",
        "repair": "Repair the feet", "objects": "Arrange the scene",
        "path": "Bend the path", "blend": "Blend with {clips}", "constraints": "Add constraints",
        "trim": "Trim to {start}–{end}", "retime": "Play at {speed} times the speed", "mirror": "Mirror",
        "pose": "Paste a pose at {frame}", "place": "Place the character", "ground": "Ground of the recording",
    }  # fmt: skip
    return titles[kind].format(**{key: _as_text(value) for key, value in edit.items()})


def _step_title(edit: Edit, state: EditorState) -> str:
    what = edit.get("do", "change")
    if what == "add":
        return f"Add a {edit['foot']} step at {edit['start']}"
    try:
        name = find_step(state, dict(edit)).title
    except ConstraintError:
        name = "step"
    word = {"delete": "Delete", "split": "Split", "join": "Join"}.get(what)
    if word is None:
        keys = {"move": "Move", "turn": "Turn", "shift": "Shift", "onset": "Stretch", "release": "Stretch",
                "lift": "Lift the heel of", "free": "Release", "ramp": "Ease",
                "grounded": "Put on the ground the"}  # fmt: skip
        word = next((title for key, title in keys.items() if key in edit), "Change")
    return f"{word} {name}"


def _as_text(value: Any) -> str:
    """Return a value of an edit as text for people."""
    if isinstance(value, list):
        return ", ".join(_as_text(entry) for entry in value)
    if isinstance(value, dict):
        return _as_text(value.get("joint", value.get("point", "")))
    # an uploaded file without the folder of its drop
    return str(value).removeprefix("sample:").rpartition("/")[2].replace("_", " ")


def ready(state: EditorState, progress: Progress | None = None) -> Manipulation:
    """Return the state's manipulation, created if it does not exist yet."""
    if state.manipulation is not None:
        return state.manipulation
    return manipulation_of(state, progress)


def manipulation_of(state: EditorState, progress: Progress | None = None) -> Manipulation:
    """Build the manipulation from the clip, the marks and the drags of a state.

    The quick solve knows no joint limits: where it breaks some that the clip keeps, the clip is fitted within them, and
    what is then out of reach is a conflict.
    """
    constraints = constraints_of(giving_way(state, state.asked))
    made = begin((state.clip.motion, state.character), constraints, keep_plants=False, progress=progress)
    if broken_limits(state, made.motion).any():
        from footplant.edits.fit import fit

        fitted = fit(replace(state.clip, others=()), constraints, keep_plants=False, progress=progress)
        made = replace(made, history=(replace(made.history[0], motion=fitted.motion),))
    for number, edit in enumerate(state.drags):
        if progress is not None:
            progress("drags", number / len(state.drags))
        made = made.again(edit)
    return _trimmed(made)


def _trimmed(made: Manipulation) -> Manipulation:
    """Return a manipulation without its history: the session has its own."""
    return replace(made, history=(made.history[made.position],), position=0)


def _after(state: EditorState, made: Manipulation) -> EditorState:
    made = _trimmed(made)
    held = [mark.id for mark in giving_way(state, state.asked)]
    placed = dict(zip(held, made.constraints, strict=True))
    marks = tuple(_at_place(mark, placed.get(mark.id)) for mark in state.asked)
    return replace(state, motion=made.motion, manipulation=made, drags=made.edits, marks=marks, stale=False, held=True)


def _at_place(mark: Mark, solved: Constraint | None) -> Mark:
    """Return a mark where it was solved: dragging a foot moves its footplants, a free one has found its place."""
    constraint = mark.constraint
    if isinstance(constraint, Footplant) and isinstance(solved, Footplant):
        return replace(mark, constraint=replace(constraint, place=solved.place, ramp=solved.ramp))
    return mark


def solved(state: EditorState, progress: Progress | None = None) -> EditorState:
    """Return the state with its motion solved under its marks and drags, and a report on that motion."""
    if not state.stale:
        return state
    started = time.perf_counter()
    made = manipulation_of(state, progress)
    after = _after(state, made)
    notes = made.report().notes if after.drags else ()
    return replace(after, report=fresh_report(after, "footsteps", notes, time.perf_counter() - started))


def fresh_report(state: EditorState, method: str, notes: Sequence[str] = (), seconds: float = 0.0) -> Report:
    """Return a report on the motion of a state: every footplant, pin and drag, and whether it holds."""
    pins = tuple(drag_pin(drag) for drag in latest_drags(state.drags))
    held = constraints_of(giving_way(state, [replace(mark, free=False) for mark in state.marks]))
    kinematics = Kinematics(state.motion)
    entries = evaluate_constraints(Problem(state.motion, state.character, (*held, *pins)), kinematics)
    found = conflicts(state)
    status = Status.SOLVED
    if any(entry["kind"] in ("overlap", "fast") for entry in found):
        status = Status.CONFLICT
    elif found or any(entry.hard and not entry.met for entry in entries):
        status = Status.UNREACHABLE
    said = dict.fromkeys([*(entry["text"] for entry in found), *notes])
    return Report(method, status, state.character.height, entries, notes=tuple(said), seconds=seconds)


def _apply_manual_edit(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Apply a drag or a joint rotation: only its window is solved. The report covers drags and footplants."""
    (edited,) = drags_from_data([dict(edit)], state.character, frames=len(state.motion))
    started = time.perf_counter()
    state = solved(state, context.progress)
    made = ready(state, context.progress).again(edited)
    after = _after(state, made)
    return replace(after, report=fresh_report(after, "drag", made.report().notes, time.perf_counter() - started))


def _asked(state: EditorState, marks: Sequence[Mark], **changes: Any) -> EditorState:
    """Return the state with other marks, to be solved when its motion is needed."""
    return replace(state, asked=tuple(marks), marks=tuple(marks), manipulation=None, stale=True, **changes)


def _mark(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Move, resize, ramp or release a mark."""
    fields = Fields(edit, "", None)
    mark = _existing_mark(state, edit)
    start, end = mark.interval
    start, end = fields.integer("start", start), fields.integer("end", end)
    start = min(max(start, 0), len(state.motion) - SHORTEST)
    end = min(max(end, start + SHORTEST), len(state.motion))
    free = fields.flag("free", mark.free)
    constraint: Constraint = replace(mark.constraint, frames=range(start, end))
    if "ramp" in fields:
        ramp = fields.vector("ramp", 2).tolist()
        constraint = replace(constraint, ramp=(min(max(ramp[0], 0.0), 5.0), min(max(ramp[1], 0.0), 5.0)))
    place = fields.vector("place", 3, None)
    if place is not None and isinstance(constraint, Footplant):
        constraint = replace(constraint, place=place)
    elif place is not None and isinstance(constraint, Position):
        constraint = replace(constraint, target=place)
    changed = replace(mark, constraint=constraint, free=free)
    return _asked(state, [changed if m.id == mark.id else m for m in state.asked])


def _existing_mark(state: EditorState, edit: Edit) -> Mark:
    """Return the mark that an edit refers to: by what it holds and when (`at`), else by its number."""
    at, number = edit.get("at"), Fields(edit, "", None).integer("id")
    if isinstance(at, Mapping):
        start, end = int(at.get("start", 0)), int(at.get("end", 0))
        shared = [
            (min(m.interval[1], end) - max(m.interval[0], start), m)
            for m in state.asked
            if mark_name(m, state) == at.get("point")
        ]
        common, best = max(shared, key=lambda entry: entry[0], default=(0, None))
        if best is not None and common > 0:
            return best
        raise ConstraintError(f"expected {at.get('point')} to be held around frame {start}, got nothing there")
    mark = next((mark for mark in state.asked if mark.id == number), None)
    if mark is None:
        raise ConstraintError(f"expected the number of an existing constraint, got {number}")
    return mark


def mark_name(mark: Mark, state: EditorState) -> str:
    """Return what a mark holds, as text that stays the same when the clip is solved again."""
    return f"{type(mark.constraint).__name__} {json.dumps(point_text(mark, state))}"


def point_text(mark: Mark, state: EditorState) -> Any:
    """Return the point of a mark, JSON-ready; None for a constraint without one."""
    point = getattr(mark.constraint, "point", None)
    return None if point is None else point_data(point, state.character)


def referring(edit: Edit, state: EditorState) -> dict[str, Any]:
    """Return an edit with the place in time of the footstep or mark that it refers to by number (`at`).

    Numbers change when something earlier in the stack does; what the edit meant is then found by its place.
    """
    made = dict(edit)
    if made.get("kind") == "step" and made.get("do") != "add":
        step = find_step(state, made)
        made["at"] = {"foot": step.side, "start": step.start, "end": step.end}
    elif made.get("kind") in ("mark", "remove"):
        mark = _existing_mark(state, made)
        made["at"] = {"point": mark_name(mark, state), "start": mark.interval[0], "end": mark.interval[1]}
    return made


def _remove(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    mark = _existing_mark(state, edit)
    return _asked(state, [m for m in state.asked if m.id != mark.id])


def _step(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Change, delete, split, join or add a footstep."""
    values, number = dict(edit), state.next_mark
    what = Fields(edit, "", None).choice("do", STEP_EDITS, "change of a footstep") if "do" in edit else "change"
    if what == "change":
        marks = change_step(values, state)
    elif what == "delete":
        marks = delete_step(values, state)
    elif what == "join":
        marks = join_steps(values, state)
    elif what == "split":
        marks, number = split_step(values, state)
    else:
        state = solved(state, context.progress)
        marks, number = add_step(values, state)
    return _asked(state, marks, next_mark=number)


def _plant(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Add a footplant of a contact point at the median of its positions."""
    fields = Fields(edit, "", None)
    point, name = read_point(fields, "point", state.character), str(edit["point"])
    start, end = _interval(fields, len(state.motion))
    if any(m.interval[0] < end and start < m.interval[1] for m in state.asked if _point_of(m) == point):
        raise ConstraintError(f"expected frames in which {name!r} is not held yet, got {start}–{end - 1}")
    state = solved(state, context.progress)
    places = Kinematics(state.motion[start:end]).point(point)
    place = np.median(places, axis=0)
    if state.ground is not None:
        place[1] = float(state.ground.height(place[None, ::2])[0])
    mark = plant_mark(state.next_mark, name, point, (start, end), place)
    return _asked(state, (*state.asked, mark), next_mark=state.next_mark + 1)


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
        state = solved(state, context.progress)
        frame = min(max(fields.integer("frame", start), 0), len(state.motion) - 1)
        target = Kinematics(state.motion[frame]).point(point)[0]
    ramp = fields.vector("ramp", 2, None)
    name = edit["point"] if isinstance(edit["point"], str) else edit["point"].get("joint", "point")
    constraint = Position(
        point=point, target=target, frames=range(start, end), name=f"pin {name.replace('_', ' ')} {start}–{end - 1}",
        ramp=(0.2, 0.2) if ramp is None else (float(ramp[0]), float(ramp[1])),
    )  # fmt: skip
    mark = Mark(state.next_mark, constraint)
    return _asked(state, (*state.asked, mark), next_mark=state.next_mark + 1)


def _constraints(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Add any constraints, in the form of docs/constraints.md."""
    made = from_data(edit["constraints"], state.character, frames=len(state.motion), fps=state.motion.fps)
    first = state.next_mark
    marks = tuple(Mark(first + n, constraint) for n, constraint in enumerate(made))
    return _asked(state, (*state.asked, *marks), next_mark=first + len(marks))


def wanted_constraints(state: EditorState) -> tuple[Constraint, ...]:
    """Return all constraints for a whole-clip method: the marks, and the drags as positions at their frames."""
    pins = [
        Position(point=drag.point, target=drag.target, frames=(drag.frame,), name=f"drag at {drag.frame}", ramp=(r, r))
        for drag in state.drags
        if isinstance(drag, Drag)
        for r in (3.5 * drag.spacing / 30.0,)
    ]
    return (*constraints_of(giving_way(state, state.marks)), *pins)


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
    clip = replace(state.clip, motion=solution.motion)
    return replace(
        state, clip=clip, motion=solution.motion, method=name, manipulation=None, drags=(), asked=state.marks,
        report=solution.report, held=True,
    )  # fmt: skip


def _retarget(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Put the motion on another character: a sample, an uploaded file with corrected roles, or a robot."""
    from footplant.editor.opening import ROBOTS, load_material
    from footplant.edits.retarget import retarget
    from footplant.io import SAMPLE, load_character

    fields = Fields(edit, "", None)
    name, roles = context.find(fields.text("character")), edit.get("roles")
    clip = replace(state.clip, motion=state.motion)
    # on terrain, footsteps keep their positions: scaled ones would no longer fit it
    keep = fields.flag("keep_footsteps", False) or state.ground is not None
    if name.lower().endswith(ROBOTS):
        from footplant.edits.robot import retarget_robot

        made = retarget_robot(clip, name, keep_footsteps=keep, progress=context.progress)
        return opened(made.clip, like=state, report=made.report)
    plain = name.startswith(SAMPLE) or not isinstance(roles, Mapping)
    target = load_character(name) if plain else load_material(Path(name), roles=roles).character
    solution = retarget(clip, target, keep_footsteps=keep, progress=context.progress)
    return opened(solution.clip, like=state, report=solution.report)


def _terrain(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    from footplant.edits.terrain import terrain
    from footplant.io.ground_files import Course, load_ground

    text = Fields(edit, "", None).text("ground")
    clip = replace(state.clip, motion=state.motion)
    procedural = text.partition(":")[0] in ("noise", "stairs", "slope")
    try:
        name = text if procedural else context.find(text)
    except ConstraintError:
        raise ConstraintError(f"expected noise:…, stairs:…, slope:… or an uploaded file, got {text!r}") from None
    ground = built_on(load_ground(name, Course.of(clip.motion, clip.character)), state.objects)
    solution = terrain(clip, ground, doorways_of(state.objects, ground), progress=context.progress)
    made = replace(clip, motion=solution.motion)
    known = solved_plants(made, solution.report, ground)
    return opened(made, like=state, contacts=known, ground=ground, ground_name=text, report=solution.report)


def _ground(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Give a recording the ground that it was driven over; the motion stays as it is."""
    from footplant.editor.recorded_ground import unpack_ground

    fields = Fields(edit, "", None)
    ground = unpack_ground(context.find(fields.text("file")))
    clip = replace(state.clip, motion=state.motion)
    return opened(clip, like=state, ground=ground, recorded_on=ground, ground_name=fields.text("name"))


def _path(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Bend the motion along a curve through points on the floor."""
    from footplant import curves
    from footplant.edits.path import bend

    if state.ground is not None:
        raise ConstraintError("expected a motion on level ground to bend its path: put the path before the terrain")
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
    takes = edit.get("takes", [None] * len(names))
    if not isinstance(takes, list) or len(takes) != len(names):
        raise ConstraintError("expected a take, or none, for each of the clips")
    own = replace(state.clip, motion=state.motion, others=())
    chosen = [take if isinstance(take, int) else None for take in takes]
    clips = [own, *(load(context.find(str(name)), take=take) for name, take in zip(names, chosen))]
    registration = register(clips, reference=0, character=state.character)
    solution = blend(registration, weights, progress=context.progress)
    made = replace(own, motion=solution.motion, takes=(), take=0, conversion=Conversion(), layout=None)
    return opened(made, like=state, report=solution.report)


def _repair(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    from footplant.edits.repair import repair

    clip = replace(state.clip, motion=state.motion)
    solution = repair(clip, ground=state.ground, progress=context.progress)
    return opened(replace(clip, motion=solution.motion), like=state, report=solution.report)


def _pose(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Paste a pose at a frame; footplants and pins keep holding."""
    motion = with_pose(edit, state.motion)
    return _asked(
        replace(state, clip=replace(state.clip, motion=motion), motion=motion, drags=()), state.marks, held=True
    )


def _place(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Move and turn the whole motion on the ground, about where it starts."""
    if state.ground is not None:
        raise ConstraintError("expected a motion on level ground to place: put the place before the terrain")
    fields = Fields(edit, "", None)
    move, turn = np.asarray(fields.vector("move", 3, np.zeros(3))), fields.number("turn", 0.0)
    start = state.motion.root[0]
    about = rotation.from_axis_angle(rotation.AXES["y"], turn)
    shift = start + move - rotation.rotate(about, start)
    clip = replace(state.clip, motion=state.motion.transformed(about, shift), others=())
    return opened(clip, like=state, report=state.report)


def _everyday(state: EditorState, made: Result) -> EditorState:
    """Return the state of a clip that was trimmed, retimed or mirrored; constraints are detected anew."""
    return opened(replace(made.clip, layout=None), like=state, report=made.report)


def _trim(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Keep some frames, both ends included."""
    from footplant.edits.everyday import trim

    fields = Fields(edit, "", None)
    frames = (fields.integer("start"), fields.integer("end"))
    return _everyday(state, trim(replace(state.clip, motion=state.motion), frames=frames))


def _retime(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    """Play the clip faster or slower at the same frame rate, with its footplants kept."""
    from footplant.edits.everyday import resample

    speed, fps = Fields(edit, "", None).number("speed"), state.motion.fps
    faster = replace(state.clip, motion=replace(state.motion, fps=fps * speed), others=())
    return _everyday(state, resample(faster, fps))


def _mirror(edit: Edit, state: EditorState, context: EditContext) -> EditorState:
    from footplant.edits.everyday import mirror

    return _everyday(state, mirror(replace(state.clip, motion=state.motion)))


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
    "ground": _ground,
    "path": _path,
    "blend": _blend,
    "repair": _repair,
    "trim": _trim,
    "retime": _retime,
    "mirror": _mirror,
    "pose": _pose,
    "place": _place,
    "step": _step,
}
