"""Lead-in poses (T-pose frames before the motion): taken out before a solve, and put back or dropped after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.ground import Ground
from footplant.errors import MotionError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character

FirstFrame = Literal["keep", "drop", "ease"]
"""What becomes of a lead-in: kept, dropped, or replaced by poses that ease into the motion."""
FIRST_FRAME = get_args(FirstFrame)


def stand_lead_in(motion: Motion, copied: Motion, target: Character, ground: Ground, lead: int) -> Motion:
    """Return the motion with its lead-in frames as copied, each moved vertically so that it stands on the ground."""
    kinematics = Kinematics(copied[:lead])
    places = kinematics.points([target.contacts[name] for name in target.contacts if not name.endswith("palm")])
    lowest = (places[..., 1] - ground.height(places[..., ::2])).min(axis=1)
    root, rotations = np.array(motion.root), np.array(motion.rotations)
    root[:lead] = copied.root[:lead] - lowest[:, None] * [0.0, 1.0, 0.0]
    rotations[:lead] = copied.rotations[:lead]
    return replace(motion, root=root, rotations=rotations)


def without_lead_in(motion: Motion, lead: int, wish: FirstFrame) -> tuple[Motion, list[str]]:
    """Return the motion without its lead-in, and notes: dropped, or replaced by poses that ease into the motion.

    A lead-in to keep is replaced as well, so that it does not disturb the solve; `restore_lead_in` puts it back.
    """
    if wish not in FIRST_FRAME:
        raise MotionError(f"expected first_frame to be one of {', '.join(FIRST_FRAME)}, got {wish!r}")
    if not lead:
        return motion, []
    what = "the first frame is" if lead == 1 else f"the first {lead} frames are"
    done = {"keep": "kept", "drop": "dropped", "ease": "replaced by poses that ease into the motion"}[wish]
    notes = [f"{what} a lead-in pose (a T-pose): {done}"]
    if wish == "drop":
        return motion[lead:], notes
    # extrapolate backwards: the first steps of the motion, mirrored in time
    back = motion[np.clip(2 * lead - np.arange(lead), 0, len(motion) - 1)]
    base = motion[np.full(lead, lead)]
    eased = base + -1.0 * (back - base)
    root, rotations = np.array(motion.root), np.array(motion.rotations)
    root[:lead], rotations[:lead] = eased.root, eased.rotations
    return replace(motion, root=root, rotations=rotations), notes


def restore_lead_in(motion: Motion, source: Motion, lead: int, raised: NDArray) -> Motion:
    """Return the motion with its lead-in frames put back, raised with the whole clip."""
    root, rotations = np.array(motion.root), np.array(motion.rotations)
    root[:lead], rotations[:lead] = source.root[:lead] + raised, source.rotations[:lead]
    return replace(motion, root=root, rotations=rotations)
