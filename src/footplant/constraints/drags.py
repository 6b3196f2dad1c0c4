"""Edits by dragging, as data: which point was put where, at which frame, and how far that reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from footplant.constraints.fields import Fields
from footplant.constraints.naming import point_data, read_point
from footplant.skeleton import Character, Point


@dataclass(frozen=True)
class Drag:
    """A point of the figure put at a place at one frame."""

    frame: int
    point: Point
    target: tuple[float, float, float]
    """Metres, world."""
    spacing: float = 8.0
    """Distance of the knots, in frames of 1/30 s: the edit reaches 3.5 of them to either side."""


def drags_to_data(drags: Sequence[Drag], character: Character) -> list[dict[str, Any]]:
    """Drags as plain values, one table each."""
    return [
        {
            "kind": "drag",
            "frame": drag.frame,
            "point": point_data(drag.point, character),
            "target": list(drag.target),
            "spacing": drag.spacing,
        }
        for drag in drags
    ]


def drags_from_data(
    data: Sequence[Mapping[str, Any]],
    character: Character,
    *,
    frames: int | None = None,
    path: str | Path | None = None,
) -> tuple[Drag, ...]:
    """Drags from plain values. frames: how many the clip has, so that one beyond it is an error."""
    found = []
    for fields in Fields({"edits": list(data)}, "", path).tables("edits"):
        fields.choice("kind", ("drag",), "kind of edit")
        frame = fields.integer("frame")
        if frame < 0 or (frames is not None and frame >= frames):
            fields.fail(
                "frame", f"expected a frame {'from 0 on' if frames is None else f'in 0..{frames - 1}'}, got {frame}"
            )
        spacing = fields.number("spacing", 8.0)
        if not spacing > 0:
            fields.fail("spacing", f"expected a spacing above 0 frames, got {spacing:g}")
        point, (x, y, z) = read_point(fields, "point", character), fields.vector("target", 3).tolist()
        fields.refuse_others()
        found.append(Drag(frame, point, (x, y, z), spacing))
    return tuple(found)
