"""Poses that are copied from one frame and pasted at another: the motion eases into the pose and out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.constraints.fields import Fields
from footplant.errors import ConstraintError
from footplant.motion import Motion

LONGEST = 60.0
"""Seconds that a pose may take to ease in, to hold and to ease out."""
DEFAULT = 0.4
"""Seconds in which a pose eases in and out if not given."""


def influence(frames: int, frame: int, fps: float, before: float, after: float, hold: float = 0.0) -> NDArray:
    """Return (F,) weights of an edit: 0, easing to 1 over `before` seconds, held, and easing to 0 over `after`.

    w(u) = u²(3 − 2u), whose first derivative is 0 at both ends.
    """
    times = (np.arange(frames) - frame) / fps
    rise = np.where(times < 0.0, 1.0 + times / max(before, 1e-9), 1.0)
    fall = np.where(times > hold, 1.0 - (times - hold) / max(after, 1e-9), 1.0)
    share = np.clip(np.minimum(rise, fall), 0.0, 1.0)
    return share * share * (3.0 - 2.0 * share)


def read_influence(edit: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return the seconds over which an edit eases in, eases out and is held."""
    fields = Fields(edit, "", None)
    found = (fields.number("before", DEFAULT), fields.number("after", DEFAULT), fields.number("hold", 0.0))
    if not all(0.0 <= value <= LONGEST for value in found):
        raise ConstraintError(f"expected 0 to {LONGEST:g} s for a pose to ease in, out and hold, got {found}")
    return found


def with_pose(edit: Mapping[str, Any], motion: Motion) -> Motion:
    """Return a motion with a pose at a frame.

    The edit has `frame`, `joints` (name → local quaternion w, x, y, z) and, for a whole pose, `height`, that of the
    root in metres. The root keeps its heading and its place on the ground.
    """
    fields = Fields(edit, "", None)
    frame, given = fields.integer("frame"), edit.get("joints")
    if not 0 <= frame < len(motion):
        raise ConstraintError(f"expected a frame in 0..{len(motion) - 1}, got {frame}")
    if not isinstance(given, Mapping) or not given:
        raise ConstraintError("expected a pose as rotations by the names of joints, got none")
    names = list(motion.skeleton.names)
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ConstraintError(f"expected a pose of this skeleton, got one with {', '.join(map(str, unknown[:4]))}")
    table = Fields(given, "joints", None)
    weights = influence(len(motion), frame, motion.fps, *read_influence(edit))[:, None]
    rotations, root = np.array(motion.rotations), np.array(motion.root)
    for name in given:
        joint, wanted = names.index(name), np.asarray(table.vector(name, 4))
        if not np.linalg.norm(wanted) > 1e-6:
            raise ConstraintError(f"expected a unit quaternion for {name!r}, got zeros")
        wanted, now = rotation.normalize(wanted), motion.rotations[frame, joint]
        if joint == 0:
            # the heading stays: of the turn from the copied to the current rotation, the part about the vertical
            _, about = rotation.swing_twist(rotation.multiply(now, rotation.inverse(wanted)), rotation.AXES["y"])
            wanted = rotation.multiply(about, wanted)
        change = rotation.log(rotation.multiply(rotation.inverse(now), wanted))
        rotations[:, joint] = rotation.multiply(motion.rotations[:, joint], rotation.exp(weights * change))
    height = fields.number("height", float("nan")) if "height" in fields else None
    if height is not None:
        root[:, 1] += weights[:, 0] * (height - motion.root[frame, 1])
    return replace(motion, root=root, rotations=rotations)
