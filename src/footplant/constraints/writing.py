"""Write constraints as JSON-ready values, for TOML, JSON and project files; `text.from_data` reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from footplant.constraints.balance import Balance, soles
from footplant.constraints.base import Constraint, Follow
from footplant.constraints.body import Apart, Touch
from footplant.constraints.footplant import AccelerationLimit, Footplant, SamePlace, SpeedLimit
from footplant.constraints.joints import ConeTwist, Hinge, JointLimits, Relation, limited_joints
from footplant.constraints.naming import joint_data, point_data
from footplant.constraints.points import (
    Above,
    Area,
    AtLeast,
    AtMost,
    CenterOfMass,
    Distance,
    LookAt,
    Orientation,
    Position,
)
from footplant.constraints.solids import solid_data
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.skeleton import Character, Point

_NAMES: dict[type[Constraint], str] = {
    Position: "position",
    Orientation: "orientation",
    Distance: "distance",
    AtLeast: "at_least",
    AtMost: "at_most",
    Area: "area",
    Above: "above",
    LookAt: "look_at",
    CenterOfMass: "center_of_mass",
    Balance: "balance",
    Apart: "apart",
    Touch: "touch",
    JointLimits: "joint_limits",
    ConeTwist: "cone_twist",
    Hinge: "hinge",
    Relation: "relation",
    Footplant: "footplant",
    SamePlace: "same_place",
    SpeedLimit: "speed_limit",
    AccelerationLimit: "acceleration_limit",
}


def to_data(constraints: Sequence[Constraint], character: Character) -> list[dict[str, Any]]:
    """Return constraints as JSON-ready values, one table each, which `from_data` reads back.

    A target that follows another motion is written as positions, one per held frame. A constraint of a user-defined
    class cannot be written and is an error.
    """
    return [_write(constraint, character) for constraint in constraints]


def _write(constraint: Constraint, character: Character) -> dict[str, Any]:
    kind = _NAMES.get(type(constraint))
    if kind is None:
        raise ConstraintError(
            f"{constraint.title}: expected one of Footplant's own kinds to write, got {type(constraint).__name__}"
        )
    out: dict[str, Any] = {"kind": kind}
    if constraint.name:
        out["name"] = constraint.name
    if isinstance(constraint.frames, range) and len(constraint.frames):
        out["interval"] = [constraint.frames.start, constraint.frames.stop - 1]
    elif constraint.frames is not None:
        out["frames"] = list(constraint.frames)
    if any(constraint.ramp):
        out["ramp"] = [float(seconds) for seconds in constraint.ramp]
    for key, usual in (("priority", 0), ("weight", 1.0), ("hard", True), ("tolerance", None)):
        value = getattr(constraint, key)
        if value != usual or (key == "hard" and kind == "relation"):
            out[key] = value
    if constraint.chain is not None:
        out["chain"] = [joint_data(joint, character) for joint in constraint.chain]
    return out | _own(constraint, character)


def _own(constraint: Any, character: Character) -> dict[str, Any]:
    """Return the fields specific to a kind."""
    out: dict[str, Any] = {}
    for key in ("point", "other"):
        if isinstance(getattr(constraint, key, None), Point):
            out[key] = point_data(getattr(constraint, key), character)
    if hasattr(constraint, "joint"):
        out["joint"] = joint_data(constraint.joint, character)
    if isinstance(constraint, Position | LookAt | CenterOfMass | Orientation):
        out |= _target_data(constraint, character)
    out |= _number_data(constraint)
    if isinstance(constraint, Above | Footplant) and constraint.ground is not None:
        out["ground"] = solid_data(constraint.ground)
    match constraint:
        case Area():
            out |= {"region": solid_data(constraint.region), "inside": constraint.inside}
        case Balance() if constraint.support != soles(constraint.character):
            out["support"] = [point_data(point, character) for point in constraint.support]
        case Apart():
            out |= _apart_data(constraint)
        case Touch():
            out |= _touch_data(constraint, character)
        case JointLimits() if constraint.joints != tuple(limited_joints(constraint.character).tolist()):
            out["joints"] = [joint_data(joint, character) for joint in constraint.joints]
        case Relation():
            out["terms"] = [
                {"joint": joint_data(joint, character), "matrix": np.asarray(matrix, float).tolist()}
                for joint, matrix in constraint.terms
            ]
        case SamePlace():
            out["pair"] = [int(frame) for frame in constraint.pair]
    return out


def _number_data(constraint: Any) -> dict[str, Any]:
    """Return the fields that are numbers: vectors, one value for each held frame, single values."""
    out: dict[str, Any] = {}
    for key in ("axes", "direction", "axis", "twist", "place"):
        if getattr(constraint, key, None) is not None:
            out[key] = np.asarray(getattr(constraint, key), float).tolist()
    for key in ("value", "margin", "clearance"):
        if hasattr(constraint, key):
            values = _fitted(constraint, np.atleast_1d(np.asarray(getattr(constraint, key), float))).tolist()
            out[key] = values[0] if len(values) == 1 else values
    for key in ("swing", "most"):
        if hasattr(constraint, key):
            out[key] = float(getattr(constraint, key))
    return out


def _apart_data(constraint: Apart) -> dict[str, Any]:
    out: dict[str, Any] = {"part": list(constraint.part)}
    if constraint.other is not None:
        out["other"] = [constraint.other] if isinstance(constraint.other, str) else list(constraint.other)
    if not constraint.as_source:
        out["as_source"] = False
    return out


def _touch_data(constraint: Touch, character: Character) -> dict[str, Any]:
    parts = {"part": constraint.part, "other": constraint.other}
    out = {key: part if isinstance(part, str) else _point_table(part, character) for key, part in parts.items()}
    return out if constraint.offset is None else out | {"offset": float(constraint.offset)}


def _point_table(point: Point, character: Character) -> dict[str, Any]:
    """Return a point as a table, which a part of the body cannot be mistaken for."""
    found = point_data(point, character)
    return {"point": found} if isinstance(found, str) else found


def _target_data(constraint: Any, character: Character) -> dict[str, Any]:
    target = constraint.target
    if isinstance(target, Follow):
        if target.motion is None:
            return {"follow": point_data(target.point, character)}
        held = np.arange(len(target.motion)) if constraint.frames is None else np.asarray(constraint.frames, int)
        target = Kinematics(target.motion[held]).point(target.point)
    rows = _fitted(constraint, np.asarray(target, float)).tolist()
    return {"target": rows[0] if len(rows) == 1 else rows}


def _fitted(constraint: Constraint, values: Any) -> Any:
    """Return per-frame values, one per held frame: the last one is repeated if there are fewer."""
    if len(values) == 1 or constraint.frames is None or not len(constraint.frames):
        return values
    return values[np.minimum(np.arange(len(constraint.frames)), len(values) - 1)]
