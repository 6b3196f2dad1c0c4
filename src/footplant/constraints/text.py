"""Read constraints from JSON-ready values, as in TOML and JSON files; docs/constraints.md describes the format.

`writing` is the inverse; `footplant.io.constraint_files` reads and writes files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from footplant.constraints.balance import Balance
from footplant.constraints.base import Constraint, Follow
from footplant.constraints.body import Apart, Touch, is_part
from footplant.constraints.fields import Fields, describe, is_number, suggest
from footplant.constraints.footplant import AccelerationLimit, Footplant, SamePlace, SpeedLimit
from footplant.constraints.joints import ConeTwist, Hinge, JointLimits, Relation, shoulder_rhythm, spine_shares
from footplant.constraints.naming import read_chain, read_joint, read_joints, read_point, read_points
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
from footplant.constraints.solids import read_ground, read_region
from footplant.errors import ConstraintError
from footplant.humanoid.body_shell import PARTS
from footplant.skeleton import Character

Common = dict[str, Any]
"""Fields of every kind: name, frames, ramp, priority, weight, hard, tolerance, chain."""


def from_data(
    data: Any,
    character: Character,
    *,
    frames: int | None = None,
    fps: float | None = None,
    path: str | Path | None = None,
) -> tuple[Constraint, ...]:
    """Return the constraints of a character from a list of tables, or from a table with such a list as `constraints`.

    frames: the clip's length, beyond which frames are an error; fps: its frame rate, for times in seconds; path: the
    file that the values come from, for error messages.
    """
    if isinstance(data, Mapping):
        whole = Fields(data, "", path)
        entries = whole.tables("constraints") if "constraints" in whole else []
        whole.refuse_others(("constraints",))
    else:
        entries = Fields({"constraints": data}, "", path).tables("constraints")
    return tuple(made for entry in entries for made in _read(entry, character, frames, fps))


def _read(fields: Fields, character: Character, frames: int | None, fps: float | None) -> Sequence[Constraint]:
    kind = fields.choice("kind", _READERS, "kind of constraint")
    common = _common(fields, character, frames, fps)
    try:
        made = _READERS[kind](fields, character, common)
    except ConstraintError as error:
        fields.fail("", str(error))
    found = made if isinstance(made, tuple) else (made,)
    fields.refuse_others()
    for constraint in found:
        _check_rows(fields, constraint, frames)
    return found


def _common(fields: Fields, character: Character, frames: int | None, fps: float | None) -> Common:
    ramp = fields.get("ramp", 0.0)
    if is_number(ramp):
        ramp = [ramp, ramp]
    if not isinstance(ramp, list | tuple) or len(ramp) != 2 or not all(is_number(r) and r >= 0 for r in ramp):
        fields.fail("ramp", f"expected 0 or more seconds, or two of them (in and out), got {describe(ramp)}")
    common: Common = {
        "name": fields.text("name", ""),
        "frames": _held(fields, frames, fps),
        "ramp": (float(ramp[0]), float(ramp[1])),
        "priority": fields.integer("priority", 0),
        "weight": fields.number("weight", 1.0, low=0.0),
        "tolerance": fields.number("tolerance", None, low=0.0),
        "chain": read_chain(fields, "chain", character),
    }
    # relations are soft by default, other kinds hard
    return common | ({"hard": fields.flag("hard", True)} if "hard" in fields else {})


def _held(fields: Fields, frames: int | None, fps: float | None) -> range | tuple[int, ...] | None:
    """Return the frames at which it holds: `frames`, `interval` (first and last) or `seconds` (from and to)."""
    given = [key for key in ("frames", "interval", "seconds") if fields.get(key, None) is not None]
    if not given:
        return None
    if len(given) > 1:
        fields.fail(given[1], f"expected one of frames, interval and seconds, got {given[0]!r} as well")
    key = given[0]
    numbers = _whole_numbers(fields, key, fps)
    if key == "interval" and (len(numbers) != 2 or numbers[0] > numbers[1]):
        fields.fail(key, f"expected the first and the last frame, in order, got {numbers}")
    beyond = next((n for n in numbers if n < 0 or (frames is not None and n >= frames)), None)
    if beyond is not None:
        span = "from 0 on" if frames is None else f"in 0..{frames - 1}"
        fields.fail(key, f"expected frames {span}, got {beyond}")
    return tuple(numbers) if key == "frames" else range(numbers[0], numbers[1] + 1)


def _whole_numbers(fields: Fields, key: str, fps: float | None) -> list[int]:
    """Return a field of frames, or of times in seconds, as frame numbers."""
    value = fields.get(key)
    if key == "frames" and is_number(value):
        value = [value]
    if not isinstance(value, list | tuple) or not all(map(is_number, value)):
        fields.fail(key, f"expected a list of numbers, got {describe(value)}")
    if key == "seconds":
        return _frames_between(fields, value, fps)
    if any(number != int(number) for number in value):
        fields.fail(key, f"expected whole numbers, got {list(value)}")
    return [int(number) for number in value]


def _frames_between(fields: Fields, times: Sequence[float], fps: float | None) -> list[int]:
    """Return the first and the last frame between two times in seconds."""
    if fps is None:
        fields.fail("seconds", "expected frames, because the clip and its frame rate are not known here")
    if len(times) != 2 or not 0 <= times[0] <= times[1]:
        fields.fail("seconds", f"expected two times in order, got {list(times)}")
    return [int(np.ceil(times[0] * fps - 1e-6)), int(np.floor(times[1] * fps + 1e-6))]


def _check_rows(fields: Fields, constraint: Constraint, frames: int | None) -> None:
    """Check that per-frame values have one row for each frame."""
    held = frames if constraint.frames is None else len(constraint.frames)
    for key in ("target", "value", "margin", "clearance"):
        rows = getattr(constraint, key, None)
        if rows is None or isinstance(rows, Follow) or held is None:
            continue
        count = len(np.atleast_1d(rows))
        if count not in (1, held):
            fields.fail(key, f"expected one for all frames, or {held}, one for each frame held, got {count}")


def _target(fields: Fields, character: Character, width: int = 3) -> Any:
    """Read a target: one position, one for each frame, or a point to follow."""
    if "follow" in fields:
        if "target" in fields:
            fields.fail("follow", "expected either a target or something to follow, got both")
        return Follow(read_point(fields, "follow", character))
    fields.get("follow", None)
    rows = fields.rows("target", width)
    if width == 4 and (np.linalg.norm(rows, axis=1) < 1e-9).any():
        fields.fail("target", "expected unit quaternions (w, x, y, z), got zeros")
    return rows


def _axes(fields: Fields, default: tuple[float, float, float]) -> tuple[float, float, float]:
    axes = fields.vector("axes", 3, None)
    return default if axes is None else (axes[0].item(), axes[1].item(), axes[2].item())


def _direction(fields: Fields, key: str) -> tuple[float, float, float]:
    value = fields.vector(key, 3)
    if not np.linalg.norm(value) > 0:
        fields.fail(key, "expected a direction, got zeros")
    return value[0].item(), value[1].item(), value[2].item()


def _position(fields: Fields, character: Character, common: Common) -> Position:
    point, target = read_point(fields, "point", character), _target(fields, character)
    return Position(point=point, target=target, axes=_axes(fields, Position.axes), **common)


def _orientation(fields: Fields, character: Character, common: Common) -> Orientation:
    joint = read_joint(fields, "joint", character)
    rows = fields.rows("target", 4)
    if (np.linalg.norm(rows, axis=1) < 1e-9).any():
        fields.fail("target", "expected unit quaternions (w, x, y, z), got zeros")
    return Orientation(joint=joint, target=rows, **common)


def _distance(kind: type[Distance]) -> Callable[[Fields, Character, Common], Distance]:
    def read(fields: Fields, character: Character, common: Common) -> Distance:
        point, other = (read_point(fields, key, character) for key in ("point", "other"))
        return kind(point=point, other=other, value=fields.numbers("value"), **common)

    return read


def _area(fields: Fields, character: Character, common: Common) -> Area:
    return Area(
        point=read_point(fields, "point", character),
        region=read_region(fields, "region"),
        inside=fields.flag("inside", False),
        margin=fields.numbers("margin", 0.0),
        **common,
    )


def _above(fields: Fields, character: Character, common: Common) -> Above:
    return Above(
        point=read_point(fields, "point", character),
        ground=read_ground(fields, "ground"),
        clearance=fields.numbers("clearance", 0.0),
        **common,
    )


def _look_at(fields: Fields, character: Character, common: Common) -> LookAt:
    point, direction = read_point(fields, "point", character), _direction(fields, "direction")
    return LookAt(point=point, direction=direction, target=_target(fields, character), **common)


def _center_of_mass(fields: Fields, character: Character, common: Common) -> CenterOfMass:
    if character.masses is None:
        fields.fail("kind", f"{character.name!r} has no segment masses; they come with human roles")
    axes = _axes(fields, CenterOfMass.axes)
    return CenterOfMass(character=character, target=_target(fields, character), axes=axes, **common)


def _balance(fields: Fields, character: Character, common: Common) -> Balance:
    if character.masses is None:
        fields.fail("kind", f"{character.name!r} has no segment masses; they come with human roles")
    support = () if fields.get("support", None) is None else read_points(fields, "support", character)
    margin = fields.number("margin", Balance.margin, low=0.0)
    return Balance(character=character, support=support, margin=margin, **common)


def _parts(fields: Fields, key: str) -> tuple[str, ...]:
    """Read names of parts of the body."""
    value = fields.get(key)
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) for name in names):
        fields.fail(key, f"expected names of parts of the body, got {describe(value)}")
    for name in names:
        if not is_part(name):
            fields.fail(key, f"no part of the body {name!r}{suggest(name, PARTS)}; there are: {', '.join(PARTS)}")
    return tuple(names)


def _apart(fields: Fields, character: Character, common: Common) -> Apart:
    return Apart(
        character=character,
        part=_parts(fields, "part"),
        other=None if fields.get("other", None) is None else _parts(fields, "other"),
        margin=fields.number("margin", 0.0),
        as_source=fields.flag("as_source", True),
        **common,
    )


def _touch(fields: Fields, character: Character, common: Common) -> Touch:
    ends = []
    for key in ("part", "other"):
        value = fields.get(key)
        named = isinstance(value, str) and is_part(value)
        ends.append(value if named else read_point(fields, key, character))
    offset = fields.number("offset", None)
    return Touch(character=character, part=ends[0], other=ends[1], offset=offset, **common)


def _joint_limits(fields: Fields, character: Character, common: Common) -> JointLimits:
    if character.limits is None:
        fields.fail("kind", f"{character.name!r} has no joint limits; they come with human roles")
    joints = None if fields.get("joints", None) is None else read_joints(fields, "joints", character, groups=True)
    return JointLimits(character=character, joints=joints, **common)  # type: ignore[arg-type]


def _cone_twist(fields: Fields, character: Character, common: Common) -> ConeTwist:
    twist = fields.vector("twist", 2, None)
    if twist is not None and twist[0] > twist[1]:
        fields.fail("twist", f"expected the least and the largest twist, in order, got {twist.tolist()}")
    return ConeTwist(
        character=character,
        joint=read_joint(fields, "joint", character),
        axis=_direction(fields, "axis"),
        swing=fields.number("swing", low=0.0),
        twist=ConeTwist.twist if twist is None else (twist[0].item(), twist[1].item()),
        **common,
    )


def _hinge(fields: Fields, character: Character, common: Common) -> Hinge:
    joint, axis = read_joint(fields, "joint", character), _direction(fields, "axis")
    return Hinge(character=character, joint=joint, axis=axis, **common)


def _relation(fields: Fields, character: Character, common: Common) -> Relation:
    terms = []
    for entry in fields.tables("terms"):
        terms.append((read_joint(entry, "joint", character), entry.rows("matrix", 3)))
        entry.refuse_others()
    if not terms:
        fields.fail("terms", "expected at least one joint with its matrix, got none")
    if len({len(matrix) for _, matrix in terms}) > 1:
        fields.fail("terms", f"expected matrices of one height, got {[len(matrix) for _, matrix in terms]}")
    return Relation(character=character, terms=tuple(terms), **common)


def _spine_shares(fields: Fields, character: Character, common: Common) -> tuple[Relation, ...]:
    shares = fields.numbers("shares", None)
    options = {key: value for key, value in common.items() if key != "name" or value}
    return spine_shares(character, None if shares is None else shares.tolist(), **options)


def _shoulder_rhythm(fields: Fields, character: Character, common: Common) -> Relation:
    side = fields.choice("side", ("left", "right"), "side")
    options = {key: value for key, value in common.items() if key != "name" or value}
    for role in (f"{side}_clavicle", f"{side}_upper_arm"):
        if role not in character.require_roles():
            fields.fail("side", f"{character.name!r} has no {role}")
    return shoulder_rhythm(character, side, fields.number("ratio", 0.33), **options)


def _footplant(fields: Fields, character: Character, common: Common) -> Footplant:
    point, place = read_point(fields, "point", character), fields.vector("place", 3, None)
    ground = None if fields.get("ground", None) is None else read_ground(fields, "ground")
    return Footplant(point=point, place=place, ground=ground, **common)


def _same_place(fields: Fields, character: Character, common: Common) -> SamePlace:
    pair = fields.vector("pair", 2)
    if (pair != np.round(pair)).any() or pair.min() < 0:
        fields.fail("pair", f"expected two frames from 0 on, got {pair.tolist()}")
    return SamePlace(point=read_point(fields, "point", character), pair=(int(pair[0]), int(pair[1])), **common)


def _speed_limit(fields: Fields, character: Character, common: Common) -> SpeedLimit:
    return SpeedLimit(point=read_point(fields, "point", character), most=fields.number("most", low=0.0), **common)


def _acceleration_limit(fields: Fields, character: Character, common: Common) -> AccelerationLimit:
    most = fields.number("most", low=0.0)
    return AccelerationLimit(point=read_point(fields, "point", character), most=most, **common)


_READERS: dict[str, Callable[[Fields, Character, Common], Constraint | tuple[Constraint, ...]]] = {
    "position": _position,
    "orientation": _orientation,
    "distance": _distance(Distance),
    "at_least": _distance(AtLeast),
    "at_most": _distance(AtMost),
    "area": _area,
    "above": _above,
    "look_at": _look_at,
    "center_of_mass": _center_of_mass,
    "balance": _balance,
    "apart": _apart,
    "touch": _touch,
    "joint_limits": _joint_limits,
    "cone_twist": _cone_twist,
    "hinge": _hinge,
    "relation": _relation,
    "spine_shares": _spine_shares,
    "shoulder_rhythm": _shoulder_rhythm,
    "footplant": _footplant,
    "same_place": _same_place,
    "speed_limit": _speed_limit,
    "acceleration_limit": _acceleration_limit,
}
KINDS = tuple(_READERS)
"""Every kind of constraint that a file may hold."""
