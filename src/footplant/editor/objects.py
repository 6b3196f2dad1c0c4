"""Objects in the scene: boxes and tables, and doorways to duck under."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from footplant.constraints.doorways import Doorway
from footplant.constraints.fields import Fields
from footplant.contacts.ground import Ground
from footplant.errors import ConstraintError

KINDS = ("box", "table", "doorway")
MOST = 64
"""Largest number of objects in a scene."""


def read_objects(values: Any) -> tuple[dict[str, Any], ...]:
    """Parse and check objects from JSON values.

    Each has a `kind`, a `place` (x, y, z of the centre of its base, metres), a `turn` about the vertical (radians) and
    a `size` (width, height, depth, metres; of a doorway: its opening, and its beam's depth along the path).
    """
    found = []
    for fields in Fields({"objects": values}, "", None).tables("objects"):
        kind = fields.choice("kind", KINDS, "kind of object")
        size = fields.vector("size", 3).tolist()
        if not all(0.01 <= side <= 100.0 for side in size):
            raise ConstraintError(f"expected a size of 1 cm to 100 m, got {size}")
        found.append(
            {
                "kind": kind,
                "place": fields.vector("place", 3).tolist(),
                "turn": fields.number("turn", 0.0),
                "size": size,
            }
        )
        fields.refuse_others()
    if len(found) > MOST:
        raise ConstraintError(f"expected at most {MOST} objects in the scene, got {len(found)}")
    return tuple(found)


def doorways_of(objects: Sequence[dict[str, Any]], ground: Ground) -> list[Doorway]:
    """Return the doorways among the objects, on a ground."""
    found = []
    for thing in objects:
        if thing["kind"] == "doorway":
            x, _, z = thing["place"]
            level = float(ground.height([[x, z]])[0])
            found.append(Doorway((x, z), level + thing["size"][1], thing["turn"], thing["size"][2]))
    return found
