"""Unit and axis conversion between a file and Footplant's metres, y up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Conversion:
    """The unit and axis conversion that was applied to a file's character or markers; saving can undo it."""

    units: str = "m"
    """The file's unit: "m", "cm", "mm", "dm", "inch", "cmu" …, or "unknown" if the scale was estimated from the
    character's size and matches no named unit."""
    scale: float = 1.0
    """Metres per file unit."""
    up: str = "y"
    """The file's vertical axis: "x", "y", "z", "-x", "-y" or "-z"."""
    declared: bool = False
    """True if the format states units and axes (or the caller forced both); False if they were estimated."""
    turn: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """Quaternion (w, x, y, z) that was applied to the whole character: it takes `up` to +y, then `facing` to +z."""
    facing: str | None = None
    """The forward axis that the format defines ("-z" in VRM 0.x). None if it defines none; then the facing direction
    is left unchanged."""
