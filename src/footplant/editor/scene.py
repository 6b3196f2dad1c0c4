"""JSON messages that describe a session to the page: character, tracks, bars, history, quality."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.blending.compose import RootPath, root_reference
from footplant.clip import Clip
from footplant.constraints import Footplant, Position
from footplant.constraints.drags import Drag
from footplant.constraints.naming import point_data
from footplant.contacts.detection import FEET
from footplant.contacts.ground import Ground
from footplant.editor.footsteps import Footstep, conflicts, footsteps
from footplant.editor.poses import read_influence
from footplant.editor.session import Session
from footplant.editor.stack import MANUAL, entries
from footplant.editor.state import EditorState, Mark, find_plants
from footplant.errors import FootplantError
from footplant.feet.travel import find_travel
from footplant.geometry import Plane
from footplant.grounds import Built
from footplant.io.source import with_looks
from footplant.kinematics import Kinematics
from footplant.looks import Looks
from footplant.plot.figures import character_data, ground_grid, track_of
from footplant.problem import Report, Status
from footplant.quality.measure import measure
from footplant.serialise import json_ready
from footplant.skeleton import Character
from footplant.solve.window import KNOTS

RETIMING = ("trim", "retime", "terrain", "path", "blend")
"""Operators after which a frame has another number."""
PATH_POINTS = 5
"""Control points of the path until the user sets others."""


def figure_message(session: Session) -> dict[str, Any]:
    """Return the message that describes the edited character and clip."""
    state = session.state
    character, motion = state.character, state.motion
    return {
        "is": "figure",
        "clip": state.clip.name,
        "frames": len(motion),
        "fps": motion.fps,
        "knots": KNOTS,
        "character": character_data(character),
        "original": character_data(session.origin.character),
        "original_frames": len(session.origin.motion),
        "notes": list(session.origin.notes),
    }


def actor(session: Session, active: bool, layer: int) -> dict[str, Any]:
    """Return a character of the scene for the outliner."""
    state = session.state
    return {
        "id": session.journal.folder.name, "clip": state.clip.name, "frames": len(state.motion),
        "fps": state.motion.fps, "edits": session.position, "active": active, "layer": layer,
        "character": character_data(state.character),
    }  # fmt: skip


def looks_of(character: Character) -> Looks | None:
    """Return materials and textures of a character's skin; None if it has none, or they cannot be read."""
    with contextlib.suppress(FootplantError):
        skin = with_looks(character).skin
        if skin is not None and skin.looks is not None and skin.looks.materials:
            return skin.looks.at_hand()
    return None


def document(session: Session) -> dict[str, Any]:
    """Return everything that edits change, except the poses."""
    state = session.state
    return {
        "is": "document",
        "marks": [_mark(mark, state) for mark in state.marks],
        "drags": [*_drags(session), *_poses(session)],
        "steps": [_step(step, state) for step in footsteps(state)],
        "conflicts": conflicts(state),
        "stack": entries(session.stack, session.failed, state),
        "history": [step.title for step in session.steps],
        "position": session.position,
        "unsaved": session.unsaved,
        "method": state.method,
        "ground": state.ground_name,
        "objects": list(state.objects),
        "report": None if state.report is None else report(state.report),
    }  # fmt: skip


def _drags(session: Session) -> list[dict[str, Any]]:
    """Return drags and rotations by hand as keys of the timeline."""
    state = session.state
    found = []
    for operator, edit in zip(_drag_operators(session), state.drags):
        # seven knots in all, in frames of 1/30 s, but no closer than the frames of the clip
        reach = 0.5 * KNOTS * max(edit.spacing / 30.0, 1.0 / state.motion.fps)
        found.append({
            "operator": operator, "frame": edit.frame,
            "joint": edit.point.joint if isinstance(edit, Drag) else edit.joint, "spacing": edit.spacing,
            "target": list(edit.target) if isinstance(edit, Drag) else None, "pose": False, "before": reach,
            "after": reach, "hold": 0.0,
        })  # fmt: skip
    return found


def _poses(session: Session) -> list[dict[str, Any]]:
    """Return pasted poses as keys of the timeline; those before a change of the clip's frames are gone from it."""
    found = []
    for operator in session.stack.operators:
        if operator.kind in RETIMING:
            found = []
        elif operator.kind == "pose" and operator.on and operator.id not in session.failed:
            before, after, hold = read_influence(operator.edit)
            found.append({
                "operator": operator.id, "frame": int(operator.edit["frame"]), "joint": 0, "spacing": 0.0,
                "target": None, "pose": True, "before": before, "after": after, "hold": hold,
            })  # fmt: skip
    return found


def _drag_operators(session: Session) -> list[int]:
    """Return the number of the operator of each drag of the state."""
    manual = [op.id for op in session.stack.operators if op.on and op.kind in MANUAL and op.id not in session.failed]
    count = len(session.state.drags)
    return [*[0] * (count - len(manual)), *manual[len(manual) - count :]] if count else []


def _step(step: Footstep, state: EditorState) -> dict[str, Any]:
    names = {point: name for name, point in state.character.contacts.items()}

    def name_of(mark: Mark) -> str:
        return names[mark.constraint.point]  # type: ignore[attr-defined]

    return {
        "id": step.id, "side": step.side, "track": f"{step.side}_foot", "title": step.title, "start": step.start,
        "end": step.end, "marks": [mark.id for mark in step.marks], "place": step.pivot.tolist(),
        "heading": step.heading(name_of), "free": any(mark.free for mark in step.marks),
        "ramp": [max(mark.constraint.ramp[n] for mark in step.marks) for n in (0, 1)],
        "phases": [
            {"part": name_of(mark).rpartition("_")[2], "start": mark.interval[0], "end": mark.interval[1],
             "place": np.asarray(mark.constraint.place).tolist()}  # type: ignore[attr-defined]
            for mark in step.marks
        ],
    }  # fmt: skip


def _mark(mark: Mark, state: EditorState) -> dict[str, Any]:
    constraint = mark.constraint
    start, end = mark.interval
    point = getattr(constraint, "point", None)
    joint = point.joint if point is not None else getattr(constraint, "joint", 0)
    place = None
    if isinstance(constraint, Footplant) and constraint.place is not None:
        place = np.asarray(constraint.place).tolist()
    elif isinstance(constraint, Position) and isinstance(constraint.target, np.ndarray):
        place = constraint.target[0].tolist()
    return {
        "id": mark.id,
        "kind": "plant" if isinstance(constraint, Footplant) else "pin",
        "title": constraint.title,
        "point": None if point is None else point_data(point, state.character),
        "joint": joint,
        "track": track_of(state.character, joint),
        "start": start if constraint.frames is not None else 0,
        "end": end if constraint.frames is not None else len(state.motion),
        "ramp": list(constraint.ramp),
        "place": place,
        "free": mark.free,
    }


def report(found: Report) -> dict[str, Any]:
    """Return what a solve did, for people: status, levels, unmet constraints."""
    worst = found.worst
    return {
        "method": found.method,
        "status": found.status.value,
        "meaning": found.status.sentence,
        "solved": found.status is Status.SOLVED,
        "seconds": found.seconds,
        "worst": json_ready(None if worst is None else worst.worst),
        "worst_name": None if worst is None else worst.name,
        "unmet": [entry.name for entry in found.unmet][:12],
        "notes": list(found.notes),
    }


def quality(session: Session) -> dict[str, Any]:
    """Return the quality measures of the clip as opened and as it is now."""
    return {"is": "quality", "position": session.position, "rows": quality_rows(session.origin, session.state)}


def quality_rows(origin: Clip, state: EditorState) -> list[Any]:
    """Return the quality measures of a clip as opened and in a state: name, before, after; JSON-ready."""
    if not all(any(name in who.contacts for name in FEET) for who in (state.character, origin.character)):
        # the measures concern feet
        return []
    source = (origin.motion, origin.character, find_plants(origin, state.recorded_on))
    before = measure(origin.motion, origin.character, source[2], ground=state.recorded_on or source[2].ground)
    now = state.contacts()
    # footplants are measured on the current character, smoothness relative to the source
    after = measure(state.motion, state.character, now, against=source, ground=state.ground or now.ground)
    rows = Report("", Status.SOLVED, state.character.height, before=before, after=after).comparison()
    limits = (("joint limits broken, frames × joints", before.limit_violations, after.limit_violations),)
    return json_ready([[name, one, other] for name, one, other in (*rows, *limits) if (one, other) != (None, None)])


def state_ground(state: EditorState) -> tuple[NDArray, NDArray, NDArray] | None:
    """Return (low corner, step, heights) of the ground under the motion; None if it is level.

    Pieces of the scene are left out: the page draws them with their edges.
    """
    ground = state.ground
    if isinstance(ground, Built):
        ground = None if isinstance(ground.base, Plane) and not any(ground.base.up[::2]) else ground.base
    return None if ground is None else ground_grid([Kinematics(state.motion)], ground)


def path_points(state: EditorState) -> list[list[float]]:
    """Return control points (x, z) of the path, metres: those of the last path edit, else some of the motion's own."""
    if state.path:
        return [list(point) for point in state.path]
    curve = find_travel(state.motion, state.character, state.contacts()).curve()
    if not curve.length > 0.1 * state.character.height:
        return []
    places, _ = curve.at(np.linspace(0.0, curve.length, PATH_POINTS))
    return places.round(4).tolist()


def start_of(state: EditorState) -> tuple[tuple[float, float], float]:
    """Return where a character that is driven starts, (x, z) in metres, and its facing: those of the clip."""
    path = RootPath.of(state.motion[:1], root_reference(state.character))
    x, _, z = state.motion.root[0]
    return (float(x), float(z)), float(path.heading[0])


def driven_ground(state: EditorState) -> Ground | None:
    """Return the ground on which a character is driven: the scene's; None for a level floor at height 0."""
    level = level_of(state)
    return state.ground or (Plane((0.0, level, 0.0)) if abs(level) > 1e-6 else None)


def level_of(state: EditorState) -> float:
    """Return the height of the level floor to draw, metres."""
    places = [np.asarray(m.constraint.place)[1] for m in state.marks
              if isinstance(m.constraint, Footplant) and m.constraint.place is not None]  # fmt: skip
    if isinstance(state.ground, Plane | Built) or not places:
        return 0.0
    return float(np.median(places))
