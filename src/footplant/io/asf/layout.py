"""How an ASF file wrote a figure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AsfLayout:
    """What an ASF file states beyond the tree, kept as it was written."""

    names: tuple[str, ...]
    """The figure's joints as read: the root and every bone."""
    dof: tuple[tuple[str, ...], ...]
    """Channels of each joint in the order of the motion's numbers: tx, ty, tz, rx, ry, rz, l."""
    limits: tuple[tuple[tuple[float, float], ...], ...]
    """Lower and upper limit of each channel where stated, in the file's units."""
    angle: str
    """Unit of the skeleton's angles: "deg" or "rad"."""
    length: float | None
    """What the file states as its unit of length; None when nothing."""
