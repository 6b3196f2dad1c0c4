"""How an ASF file stores a character."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AsfLayout:
    """What an ASF file states besides the joint tree, as written in the file."""

    names: tuple[str, ...]
    """Joint names as read: the root and every bone."""
    dof: tuple[tuple[str, ...], ...]
    """Channels of each joint in the order of the motion's numbers: tx, ty, tz, rx, ry, rz, l."""
    limits: tuple[tuple[tuple[float, float], ...], ...]
    """Lower and upper limit of each channel if stated, in the file's units."""
    angle: str
    """Unit of the skeleton's angles: "deg" or "rad"."""
    length: float | None
    """The unit of length that the file states, or None."""
