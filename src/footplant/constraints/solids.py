"""Read and write the solids and grounds of constraint files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from footplant.constraints.fields import Fields, describe, is_number
from footplant.constraints.points import Region
from footplant.contacts.ground import Ground, InterpolatedGround
from footplant.errors import ConstraintError
from footplant.geometry import Ball, Basis, Box, Capsule, HeightField, Plane
from footplant.grounds import Stairs


def _three(values: NDArray) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z


def _plane(fields: Fields) -> Plane:
    up = fields.vector("up", 3, None)
    if up is not None and not np.linalg.norm(up) > 0:
        fields.fail("up", "expected a direction, got zeros")
    point = fields.vector("point", 3, None)
    return Plane(Plane.point if point is None else _three(point), Plane.up if up is None else _three(up))


def _ball(fields: Fields) -> Ball:
    return Ball(_three(fields.vector("center", 3)), fields.number("radius", low=0.0))


def _capsule(fields: Fields) -> Capsule:
    return Capsule(
        _three(fields.vector("start", 3)), _three(fields.vector("stop", 3)), fields.number("radius", low=0.0)
    )


def _box(fields: Fields) -> Box:
    half, turn = fields.vector("half", 3), fields.vector("turn", 4, None)
    if not (half >= 0).all():
        fields.fail("half", f"expected half sizes of 0 metres or more, got {half.tolist()}")
    if turn is None:
        return Box(_three(fields.vector("center", 3)), _three(half))
    length = np.linalg.norm(turn)
    if abs(length - 1.0) > 1e-3:
        fields.fail("turn", f"expected a unit quaternion (w, x, y, z), got one of length {length:.6g}")
    if abs(length - 1.0) > 1e-15:
        turn = turn / length
    w, x, y, z = turn.tolist()
    return Box(_three(fields.vector("center", 3)), _three(half), (w, x, y, z))


def _height_field(fields: Fields) -> HeightField:
    heights = fields.get("heights")
    rows = heights if isinstance(heights, list | tuple) else []
    width = len(rows[0]) if len(rows) and isinstance(rows[0], list | tuple) else 0
    if len(rows) < 2 or width < 2:
        fields.fail("heights", f"expected a grid of at least 2 × 2 numbers, got {describe(heights)}")
    spacing = fields.number("spacing")
    if not spacing > 0:
        fields.fail("spacing", f"expected a spacing above 0 metres, got {spacing:g}")
    origin = fields.vector("origin", 2, None)
    grid = fields.rows("heights", width)
    basis: Any = fields.choice("basis", get_args(Basis), "basis") if "basis" in fields else HeightField.basis
    fields.get("basis", None)
    return HeightField(grid, spacing, (0.0, 0.0) if origin is None else (origin[0].item(), origin[1].item()), basis)


def _stairs(fields: Fields) -> Stairs:
    run, count = fields.number("run"), fields.integer("count", Stairs.count)
    if not run > 0:
        fields.fail("run", f"expected a run above 0 metres, got {run:g}")
    if count < 1:
        fields.fail("count", f"expected at least 1 step, got {count}")
    start = fields.vector("start", 2, None)
    return Stairs(
        fields.number("rise"),
        run,
        count,
        Stairs.start if start is None else (start[0].item(), start[1].item()),
        fields.number("heading", Stairs.heading),
        fields.number("level", Stairs.level),
    )


def _stepping_stones(fields: Fields) -> InterpolatedGround:
    reach = fields.number("reach")
    if not reach > 0:
        fields.fail("reach", f"expected a reach above 0 metres, got {reach:g}")
    return InterpolatedGround(fields.rows("places", 3), reach)


_SOLIDS: dict[str, Callable[[Fields], Any]] = {"plane": _plane, "box": _box, "ball": _ball, "capsule": _capsule}
_GROUNDS: dict[str, Callable[[Fields], Any]] = {
    "plane": _plane,
    "height_field": _height_field,
    "stairs": _stairs,
    "stepping_stones": _stepping_stones,
}


def read_region(fields: Fields, key: str) -> Region:
    """Read a solid: a plane (the half-space below it), a box, a ball, a capsule, or the space below a height field."""
    return _read(fields.table(key), {**_SOLIDS, "height_field": _height_field}, "shape")


def read_ground(fields: Fields, key: str) -> Ground:
    """Read a ground: a level in metres, a plane, a height field, stairs or stepping stones."""
    value = fields.get(key)
    if is_number(value):
        return Plane((0.0, float(value), 0.0))
    if not isinstance(value, dict):
        fields.fail(key, f"expected a level in metres or a table with a shape, got {describe(value)}")
    inner = fields.table(key)
    ground = _read(inner, _GROUNDS, "shape")
    if isinstance(ground, Plane) and abs(ground.up[1]) < 1e-9 * float(np.linalg.norm(ground.up)):
        inner.fail("up", f"expected a ground that is not vertical, got {list(ground.up)}")
    return ground


def _read(fields: Fields, readers: dict[str, Callable[[Fields], Any]], what: str) -> Any:
    solid = readers[fields.choice("shape", readers, what)](fields)
    fields.refuse_others()
    return solid


def solid_data(solid: Any) -> dict[str, Any]:
    """Return a solid or ground as JSON-ready values; an unknown class is an error."""
    match solid:
        case Plane():
            return {"shape": "plane", "point": _as_list(solid.point), "up": _as_list(solid.up)}
        case Ball():
            return {"shape": "ball", "center": _as_list(solid.center), "radius": float(solid.radius)}
        case Capsule():
            ends = {"start": _as_list(solid.start), "stop": _as_list(solid.stop)}
            return {"shape": "capsule", **ends, "radius": float(solid.radius)}
        case Box():
            sizes = {"center": _as_list(solid.center), "half": _as_list(solid.half)}
            return {"shape": "box", **sizes, "turn": _as_list(solid.turn)}
        case HeightField():
            grid = {
                "heights": _as_list(solid.heights),
                "spacing": float(solid.spacing),
                "origin": _as_list(solid.origin),
            }
            return {"shape": "height_field", **grid, "basis": solid.basis}
        case Stairs():
            size = {"rise": float(solid.rise), "run": float(solid.run), "count": int(solid.count)}
            placement = {"start": _as_list(solid.start), "heading": float(solid.heading), "level": float(solid.level)}
            return {"shape": "stairs", **size, **placement}
        case InterpolatedGround():
            return {"shape": "stepping_stones", "places": _as_list(solid.places), "reach": float(solid.reach)}
        case _:
            names = ", ".join(
                kind.__name__ for kind in (Plane, Box, Ball, Capsule, HeightField, Stairs, InterpolatedGround)
            )
            raise ConstraintError(f"expected one of {names} to write, got {type(solid).__name__}")


def _as_list(values: Any) -> list:
    return np.asarray(values, float).tolist()
