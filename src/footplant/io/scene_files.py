"""Read scene files: TOML that lists the objects that hands and feet may touch. See docs/live.md."""

from __future__ import annotations

from pathlib import Path

from footplant.constraints.fields import Fields
from footplant.constraints.solids import read_region
from footplant.contacts.importance import PerformanceScene, SceneObject, Shape
from footplant.errors import FormatError
from footplant.geometry import Plane
from footplant.text_files import parse_toml, read_text

MAX_FILE_BYTES = 16 * 2**20
"""A larger file is rejected."""
MAX_THINGS = 256


def read_scene(path: str | Path) -> PerformanceScene:
    """Return the scene of a file: a floor at height 0 (or at `floor` metres; none if false), and its `things`."""
    fields = Fields(parse_toml(read_text(path, MAX_FILE_BYTES, "a scene"), path), "", path)
    things: list[SceneObject] = []
    if fields.get("floor", True) is not False:
        level = 0.0 if fields.get("floor", True) is True else fields.number("floor")
        things.append(SceneObject(Plane((0.0, level, 0.0)), "floor"))
    tables = fields.tables("things") if "things" in fields else []
    if len(tables) > MAX_THINGS:
        fields.fail("things", f"expected at most {MAX_THINGS} things, got {len(tables)}")
    for number, table in enumerate(tables):
        reach = table.number("reach", None, low=0.0)
        solid = read_region(table, "solid")
        if not isinstance(solid, Shape):
            table.fail("solid", f"expected a solid that hands can touch, got {type(solid).__name__}")
        things.append(SceneObject(solid, table.text("name", f"thing {number + 1}"), reach))
        table.refuse_others()
    fields.refuse_others(("things",))
    if not things:
        raise FormatError("expected a floor or things in a scene, got none", path=path)
    return PerformanceScene(tuple(things))
