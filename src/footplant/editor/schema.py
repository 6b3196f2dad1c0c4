"""The messages between server and page as types; the page's types.ts is generated from them.

    python -m footplant.editor.schema > web/src/types.ts

A test compares the two, and real messages with these types.
"""

from __future__ import annotations

import types
from typing import Any, Literal, NotRequired, TypedDict, Union, get_args, get_origin, get_type_hints, is_typeddict

Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]
Track = Literal["left_foot", "right_foot", "left_hand", "right_hand", "body"]
QualityRow = tuple[str, float | None, float | None]


class ContactPoint(TypedDict):
    """A contact point of a character."""

    name: str
    joint: int
    offset: Vec3
    hand: bool


class End(TypedDict):
    """An end site: the top of the head, the tip of the toes."""

    joint: int
    offset: Vec3


class Character(TypedDict):
    """A character as the page draws it."""

    name: str
    height: float
    joints: list[str]
    roles: list[str]
    parents: list[int]
    tracks: list[Track]
    points: list[ContactPoint]
    ends: list[End]
    skinned: bool


class LeftJournal(TypedDict):
    """A journal left by a crash."""

    journal: str
    edits: int
    ended: float
    name: str


Figure = TypedDict("Figure", {
    "is": Literal["figure"], "clip": str, "frames": int, "fps": float, "knots": int, "level": float, "session": str,
    "character": Character, "original": Character, "original_frames": int, "methods": list[str], "notes": list[str],
    "left": list[LeftJournal],
})  # fmt: skip
Figure.__doc__ = "The edited character and clip."


class Phase(TypedDict):
    """When one part of a foot is down during a step."""

    part: str
    start: int
    end: int
    place: Vec3


class PointName(TypedDict):
    """A point by the name of its joint or contact point."""

    joint: NotRequired[str]
    point: NotRequired[str]
    offset: NotRequired[Vec3]


class Mark(TypedDict):
    """A bar of the timeline: a footplant, a pin, or (made by the page) all plants of a footstep in one."""

    id: int
    kind: Literal["plant", "pin", "step"]
    title: str
    point: str | PointName | None
    joint: int
    track: Track
    start: int
    end: int
    ramp: tuple[float, float]
    place: Vec3 | None
    free: bool
    wrong: NotRequired[bool]
    phases: NotRequired[list[Phase]]
    heading: NotRequired[float | None]


class Footstep(TypedDict):
    """One stance of a foot: its plants of heel and ball."""

    id: int
    side: Literal["left", "right"]
    track: Track
    title: str
    start: int
    end: int
    marks: list[int]
    place: Vec3
    heading: float | None
    free: bool
    ramp: tuple[float, float]
    phases: list[Phase]


Edit = dict[str, Any]


class Fix(TypedDict):
    """An edit that would cure a conflict."""

    label: str
    edit: Edit


class Conflict(TypedDict):
    """What cannot hold, with edits that would cure it."""

    kind: Literal["overlap", "fast", "reach"]
    steps: list[int]
    marks: list[int]
    text: str
    fixes: list[Fix]


class Operator(TypedDict):
    """One entry of the stack."""

    id: int
    kind: str
    title: str
    on: bool
    failed: str
    values: dict[str, object]


class HandEdit(TypedDict):
    """A drag, a rotation by hand or a pasted pose, with the number of its operator and its influence in seconds."""

    operator: int
    frame: int
    joint: int
    spacing: float
    target: Vec3 | None
    pose: bool
    before: float
    after: float
    hold: float


class SceneObject(TypedDict):
    """An object in the scene."""

    kind: Literal["box", "table", "doorway", "block", "stairs", "ramp"]
    place: Vec3
    turn: float
    size: Vec3
    count: NotRequired[int]


class Report(TypedDict):
    """What a solve did."""

    method: str
    status: str
    meaning: str
    solved: bool
    seconds: float
    worst: float | None
    worst_name: str | None
    unmet: list[str]
    notes: list[str]


Document = TypedDict("Document", {
    "is": Literal["document"], "marks": list[Mark], "steps": list[Footstep], "conflicts": list[Conflict],
    "stack": list[Operator], "drags": list[HandEdit], "history": list[str], "position": int, "unsaved": bool,
    "method": str, "ground": str, "objects": list[SceneObject], "report": Report | None,
})  # fmt: skip
Document.__doc__ = "Everything that edits change, except the poses."


class Compared(TypedDict):
    """One of two results that are compared."""

    name: str
    report: Report | None
    rows: list[QualityRow] | None
    layer: int
    frames: int
    fps: float
    character: Character | None


class Actor(TypedDict):
    """A character of the scene with its clip; one of them is edited."""

    id: str
    clip: str
    frames: int
    fps: float
    edits: int
    active: bool
    layer: int
    character: Character


Curves = TypedDict("Curves", {
    "is": Literal["curves"], "plot": str, "unit": str, "frames": list[int], "lines": dict[str, list[float]],
})  # fmt: skip
Curves.__doc__ = "Curves over time."
Measured = TypedDict("Measured", {"is": Literal["quality"], "position": int, "rows": list[QualityRow]})
Comparison = TypedDict("Comparison", {"is": Literal["compare"], "a": Compared, "b": Compared})
Dragged = TypedDict("Dragged", {
    "is": Literal["dragged"], "seq": int, "missed": float | None, "frames": int, "milliseconds": float,
    "conflict": NotRequired[str],
})  # fmt: skip
Progressed = TypedDict("Progressed", {
    "is": Literal["progress"], "label": str, "share": float, "done": NotRequired[bool],
})  # fmt: skip
GroundChanged = TypedDict("GroundChanged", {"is": Literal["ground"], "name": str, "level": float})
PathPoints = TypedDict("PathPoints", {"is": Literal["path"], "points": list[tuple[float, float]]})
Cast = TypedDict("Cast", {"is": Literal["cast"], "actors": list[Actor]})


class DriveKey(TypedDict):
    """A key of drive mode."""

    key: str
    label: str
    what: str


class DrivenMotion(TypedDict):
    """A motion of a set that can be driven, and what was found in its clip."""

    name: str
    kind: str
    what: str


Driving = TypedDict("Driving", {
    "is": Literal["driving"], "mode": Literal["drive", "live", "crowd", "off"], "keys": list[DriveKey],
})  # fmt: skip
DrivableSet = TypedDict("DrivableSet", {"is": Literal["set"], "motions": list[DrivenMotion], "missing": list[str]})
LiveStatus = TypedDict("LiveStatus", {
    "is": Literal["live"], "datagrams": int, "rate": float, "note": str, "matters": dict[str, float],
})  # fmt: skip


class CrowdActor(TypedDict):
    """An actor of a crowd; actors with the same model have the same skin."""

    name: str
    number: int
    model: int
    body: str
    motion: str
    speed: float
    character: Character


Crowd = TypedDict("Crowd", {
    "is": Literal["crowd"], "scene": str, "fps": float, "actors": list[CrowdActor], "bodies": list[str],
    "motions": list[str], "grounds": list[str], "ground": str, "level": bool, "apart": bool,
})  # fmt: skip
Crowd.__doc__ = "The actors of a crowd, and what its messages may name."


class CrowdStanding(TypedDict):
    """Where an actor stands (x, z), metres, how it faces, and how deep it is in another body, metres."""

    number: int
    place: tuple[float, float]
    degrees: float
    depth: float


class CrowdPoint(TypedDict):
    """A point of an actor."""

    actor: int
    point: str
    joint: int
    offset: Vec3


class CrowdGoal(TypedDict):
    """A goal of a crowd: how much it counts (active), what is left (metres; radians of an orientation), and why."""

    name: str
    kind: str
    priority: int
    actor: int
    point: str
    joint: int
    offset: Vec3
    of: CrowdPoint | None
    target: Vec3
    active: float
    left: float | None
    met: bool
    why: str
    together: int


CrowdStatus = TypedDict("CrowdStatus", {
    "is": Literal["crowd_status"], "seconds": float, "playing": bool, "rate": float, "load": float, "busy": bool,
    "actors": list[CrowdStanding], "goals": list[CrowdGoal],
})  # fmt: skip
CrowdStatus.__doc__ = "How a crowd runs: frames a second, share of the time that its thread is busy, and every goal."
CrowdAnswer = TypedDict("CrowdAnswer", {
    "is": Literal["answer"], "number": int, "address": str, "wrong": str, "values": list[object],
})  # fmt: skip
CrowdAnswer.__doc__ = "What became of a message to a crowd, by its number; wrong: why it was refused."
Note = TypedDict("Note", {"is": Literal["note"], "text": str})
Failure = TypedDict("Failure", {"is": Literal["error"], "text": str, "during": NotRequired[str]})

ALIASES: dict[str, Any] = {"Vec3": Vec3, "Quat": Quat, "Track": Track, "QualityRow": QualityRow}
TABLES = (
    ContactPoint, End, Character, LeftJournal, Figure, Phase, PointName, Mark, Footstep, Fix, Conflict, Operator,
    HandEdit, SceneObject, Report, Document, Compared, Actor, Curves, Measured, Comparison, Dragged, Progressed,
    GroundChanged, PathPoints, Cast, DriveKey, DrivenMotion, Driving, DrivableSet, LiveStatus, CrowdActor, Crowd,
    CrowdStanding, CrowdPoint, CrowdGoal, CrowdStatus, CrowdAnswer, Note, Failure,
)  # fmt: skip
SAID = (Figure, Document, Curves, Measured, Comparison, Dragged, Progressed, GroundChanged, PathPoints, Cast, Driving,
        DrivableSet, LiveStatus, Crowd, CrowdStatus, CrowdAnswer, Note, Failure)  # fmt: skip
"""What the server says; the page tells them apart by `is`."""


def typescript() -> str:
    """Return the types of all messages in TypeScript."""
    parts = ["// Generated by python -m footplant.editor.schema: messages between the server and the page.\n"]
    parts += [f"export type {name} = {_type(kind, within=name)};\n" for name, kind in ALIASES.items()]
    parts.append("export type Edit = { kind: string } & Record<string, unknown>;\n")
    for table in TABLES:
        hints = get_type_hints(table, include_extras=True)
        rows = [
            f"  {key}{'?' if get_origin(kind) is NotRequired else ''}: {_type(kind)};" for key, kind in hints.items()
        ]
        about = (table.__doc__ or "").strip().splitlines()
        doc = [f"/** {about[0]} */"] if about and not about[0].startswith("dict(") else []
        parts.append("\n".join([*doc, f"export interface {table.__name__} {{", *rows, "}"]) + "\n")
    parts.append(f"export type Said = {' | '.join(table.__name__ for table in SAID)};\n")
    return "\n".join(parts)


def _type(kind: Any, within: str = "") -> str:
    """Return a Python type in TypeScript."""
    for name, alias in ALIASES.items():
        if kind == alias and name != within:
            return name
    if kind == Edit:
        return "Edit"
    simple = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", object: "unknown"}
    if kind in simple:
        return simple[kind]
    if is_typeddict(kind):
        return kind.__name__
    origin, inner = get_origin(kind), get_args(kind)
    if origin is NotRequired:
        return _type(inner[0])
    if origin is Literal:
        return " | ".join(f'"{word}"' for word in inner)
    if origin in (Union, types.UnionType):
        return " | ".join(_type(part) for part in inner)
    if origin is list:
        entry = _type(inner[0])
        return f"({entry})[]" if "|" in entry else f"{entry}[]"
    if origin is tuple:
        return f"[{', '.join(_type(part) for part in inner)}]"
    if origin is dict:
        return f"Record<string, {_type(inner[1])}>"
    raise TypeError(f"no TypeScript for {kind}")


if __name__ == "__main__":
    print(typescript(), end="")
