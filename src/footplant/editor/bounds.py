"""Refuse edits with absurd numbers before anything is solved: a page is drawn by people, not by accident of a digit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from footplant.errors import ConstraintError

FARTHEST = 1e4
"""Metres from the origin of anything that an edit places."""
MOST_POINTS = 200
"""Control points of a path."""
MOST_STEPS = 500
"""Steps of stairs."""
MOST_CLIPS = 16
"""Clips of a blend."""
WIDEST_SPACING = 1000.0
"""Knot spacing of a drag, frames of 1/30 s."""
SPEEDS = (0.05, 20.0)
"""Least and largest factor by which a clip is retimed."""


def refuse_absurd(edit: Mapping[str, Any], height: float) -> None:
    """Raise where a number of an edit is far beyond what a character of a height (metres) can do."""
    for key in ("target", "place", "move", "rotation", "points", "weights", "ramp", "height"):
        if key in edit:
            _refuse_far(key, edit[key])
    spacing = edit.get("spacing")
    if isinstance(spacing, int | float) and not isinstance(spacing, bool) and not 0 < spacing <= WIDEST_SPACING:
        raise ConstraintError(f"expected a spacing of 0 to {WIDEST_SPACING:g} frames, got {spacing:g}")
    points, clips, speed = edit.get("points"), edit.get("clips"), edit.get("speed")
    if isinstance(points, list) and not 2 <= len(points) <= MOST_POINTS:
        raise ConstraintError(f"expected a path of 2 to {MOST_POINTS} points, got {len(points)}")
    if isinstance(clips, list) and len(clips) > MOST_CLIPS:
        raise ConstraintError(f"expected at most {MOST_CLIPS} clips to blend, got {len(clips)}")
    if speed is not None and not (isinstance(speed, int | float) and SPEEDS[0] <= speed <= SPEEDS[1]):
        raise ConstraintError(f"expected a speed of {SPEEDS[0]:g} to {SPEEDS[1]:g} times, got {speed!r}")
    if edit.get("kind") == "terrain" and isinstance(edit.get("ground"), str):
        _refuse_ground(edit["ground"], height or 1.7)


def _refuse_far(key: str, value: Any) -> None:
    """Raise for numbers that are not finite or far away, at any depth of lists."""
    if isinstance(value, list | tuple):
        for entry in value:
            _refuse_far(key, entry)
    elif isinstance(value, int | float) and not (math.isfinite(value) and abs(value) <= FARTHEST):
        raise ConstraintError(f"expected numbers up to {FARTHEST:g} in {key!r}, got {value:g}")


def _refuse_ground(text: str, height: float) -> None:
    """Raise for stairs, slopes and hills on which the character could not stand."""
    kind, *rest = text.split(":")
    if kind not in ("noise", "stairs", "slope"):
        return
    try:
        numbers = [float(word) for word in rest]
    except ValueError:
        # the reader of grounds says what it expects
        return
    if kind == "stairs" and len(numbers) >= 2:
        rise, run, count = numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else 1.0
        if not (abs(rise) <= height and 0.05 * height <= run <= 20.0 * height and 1 <= count <= MOST_STEPS):
            raise ConstraintError(
                f"expected stairs with a rise up to {height:.3g} m, a run of {0.05 * height:.2g} to "
                f"{20 * height:.3g} m and 1 to {MOST_STEPS} steps, got {text!r}"
            )
    elif kind == "noise":
        relief, spacing = [*numbers[1:3], *(0.2 * height, 0.8 * height)[len(numbers[1:3]) :]]
        if not (abs(relief) <= 3.0 * height and 0.1 * height <= spacing <= 100.0 * height) or abs(numbers[0]) > 1e9:
            raise ConstraintError(
                f"expected hills up to {3 * height:.3g} m high and {0.1 * height:.2g} to {100 * height:.3g} m apart, "
                f"got {text!r}"
            )
    elif kind == "slope" and numbers and abs(numbers[0]) > 45.0:
        raise ConstraintError(f"expected a slope of at most 45°, got {text!r}")
