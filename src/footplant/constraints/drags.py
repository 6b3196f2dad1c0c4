"""Manual edits as data: a point dragged to a position or a joint rotated, at a frame, with its extent in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from footplant.constraints.fields import Fields
from footplant.constraints.naming import joint_data, point_data, read_joint, read_point
from footplant.skeleton import Character, Point


@dataclass(frozen=True)
class Drag:
    """A point of the character dragged to a position at one frame."""

    frame: int
    point: Point
    target: tuple[float, float, float]
    """Metres, world."""
    spacing: float = 8.0
    """Knot spacing, in frames of 1/30 s: the edit extends over 3.5 knots to either side."""


@dataclass(frozen=True)
class Turn:
    """A joint set to a world rotation at one frame."""

    frame: int
    joint: int
    rotation: tuple[float, float, float, float]
    """World quaternion (w, x, y, z)."""
    spacing: float = 8.0
    """Knot spacing, in frames of 1/30 s."""


def drags_to_data(drags: Sequence[Drag | Turn], character: Character) -> list[dict[str, Any]]:
    """Return drags and turns as JSON-ready values, one table each."""
    return [
        {"kind": "drag", "frame": edit.frame, "point": point_data(edit.point, character), "target": list(edit.target),
         "spacing": edit.spacing}
        if isinstance(edit, Drag)
        else {"kind": "turn", "frame": edit.frame, "joint": joint_data(edit.joint, character),
              "rotation": list(edit.rotation), "spacing": edit.spacing}
        for edit in drags
    ]  # fmt: skip


def drags_from_data(
    data: Sequence[Mapping[str, Any]],
    character: Character,
    *,
    frames: int | None = None,
    path: str | Path | None = None,
) -> tuple[Drag | Turn, ...]:
    """Return drags and turns from JSON values. frames: the clip's length, beyond which a frame is an error."""
    found: list[Drag | Turn] = []
    for fields in Fields({"edits": list(data)}, "", path).tables("edits"):
        kind = fields.choice("kind", ("drag", "turn"), "kind of edit")
        frame = fields.integer("frame")
        if frame < 0 or (frames is not None and frame >= frames):
            fields.fail(
                "frame", f"expected a frame {'from 0 on' if frames is None else f'in 0..{frames - 1}'}, got {frame}"
            )
        spacing = fields.number("spacing", 8.0)
        if not spacing > 0:
            fields.fail("spacing", f"expected a spacing above 0 frames, got {spacing:g}")
        if kind == "drag":
            point, (x, y, z) = read_point(fields, "point", character), fields.vector("target", 3).tolist()
            found.append(Drag(frame, point, (x, y, z), spacing))
        else:
            joint, turned = read_joint(fields, "joint", character), fields.vector("rotation", 4).tolist()
            if not any(turned):
                fields.fail("rotation", "expected a unit quaternion (w, x, y, z), got zeros")
            found.append(Turn(frame, joint, (turned[0], turned[1], turned[2], turned[3]), spacing))
        fields.refuse_others()
    return tuple(found)
