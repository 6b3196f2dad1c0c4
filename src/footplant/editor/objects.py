"""Objects in the scene: boxes and tables, doorways to duck under, and pieces of the ground to walk over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from footplant.constraints.doorways import Doorway
from footplant.constraints.fields import Fields
from footplant.contacts.ground import Ground
from footplant.editor.bounds import FARTHEST
from footplant.errors import ConstraintError
from footplant.grounds import Built, Piece

PIECES = ("block", "stairs", "ramp")
"""Objects that are ground: the character walks over them."""
KINDS = ("box", "table", "doorway", *PIECES)
MOST = 64
"""Largest number of objects in a scene."""
MOST_STEPS = 100
"""Steps of one flight of stairs."""


def read_objects(values: Any) -> tuple[dict[str, Any], ...]:
    """Parse and check objects from JSON values.

    Each has a `kind`, a `place` (x, y, z of the centre of its base, metres), a `turn` about the vertical (radians) and
    a `size` (width, height, depth, metres; of a doorway: its opening, and its beam's depth along the path). Stairs have
    a `count` of steps.
    """
    found = []
    for fields in Fields({"objects": values}, "", None).tables("objects"):
        kind = fields.choice("kind", KINDS, "kind of object")
        size = fields.vector("size", 3).tolist()
        if not all(0.01 <= side <= 100.0 for side in size):
            raise ConstraintError(f"expected a size of 1 cm to 100 m, got {size}")
        made = {
            "kind": kind, "place": fields.vector("place", 3).tolist(), "turn": fields.number("turn", 0.0), "size": size,
        }  # fmt: skip
        if not all(abs(at) <= FARTHEST for at in (*made["place"], made["turn"])):
            raise ConstraintError(f"expected a place within {FARTHEST:g} m, got {made['place']}")
        if kind == "stairs":
            made["count"] = fields.integer("count", 4)
            if not 1 <= made["count"] <= MOST_STEPS:
                raise ConstraintError(f"expected 1 to {MOST_STEPS} steps of stairs, got {made['count']}")
        found.append(made)
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


def pieces_of(objects: Sequence[dict[str, Any]]) -> tuple[Piece, ...]:
    """Return the objects that are ground."""
    return tuple(
        Piece(thing["kind"], tuple(thing["place"]), tuple(thing["size"]), thing["turn"], thing.get("count", 1))
        for thing in objects
        if thing["kind"] in PIECES
    )


def built_on(base: Any, objects: Sequence[dict[str, Any]]) -> Ground:
    """Return a ground with the pieces of a scene on it; the ground itself if there are none."""
    pieces = pieces_of(objects)
    return Built(pieces, base) if pieces else base
