"""What was done to a file's figure or markers to bring them into metres and y up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Border:
    """What the border did to bring a file's figure into metres and y up. Saving can undo it."""

    units: str = "m"
    """The file's unit: "m", "cm", "mm", "dm", "inch", "cmu" … or "unknown" when only the figure's size could tell."""
    scale: float = 1.0
    """Metres per file unit."""
    up: str = "y"
    """The file's vertical axis: "x", "y", "z", "-x", "-y" or "-z"."""
    declared: bool = False
    """True when the format states units and axes (or the caller forced both); False when the figure told."""
    turn: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """Quaternion that was applied to the whole figure to bring `up` to +y and then `facing` to +z."""
    facing: str | None = None
    """The axis that the format says its figures face ("-z" in VRM 0.x); None where it says nothing: then figures face
    where they did."""
