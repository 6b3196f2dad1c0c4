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


def stand_lead_in(motion: Motion, copied: Motion, target: Character, ground: Ground, lead: int) -> Motion:
    """The frames before the motion as they were copied, each lifted or lowered so that it stands on the ground."""
    kinematics = Kinematics(copied[:lead])
    places = kinematics.points([target.contacts[name] for name in target.contacts if not name.endswith("palm")])
    lowest = (places[..., 1] - ground.height(places[..., ::2])).min(axis=1)
    root, rotations = np.array(motion.root), np.array(motion.rotations)
    root[:lead] = copied.root[:lead] - lowest[:, None] * [0.0, 1.0, 0.0]
    rotations[:lead] = copied.rotations[:lead]
    return replace(motion, root=root, rotations=rotations)


FirstFrame = Literal["keep", "drop", "ease"]


FIRST_FRAME = get_args(FirstFrame)


def without_lead_in(motion: Motion, lead: int, wish: FirstFrame) -> tuple[Motion, list[str]]:
    """The motion without a T-pose before it: dropped, or replaced by a pose that leads into it; and what becomes of it.

    One that is to be kept is replaced too, so that it disturbs nothing, and put back in the end.
    """
    if wish not in FIRST_FRAME:
        raise MotionError(f"expected first_frame to be one of {', '.join(FIRST_FRAME)}, got {wish!r}")
    if not lead:
        return motion, []
    what = "the first frame is" if lead == 1 else f"the first {lead} frames are"
    done = {"keep": "kept as it is", "drop": "left out", "ease": "replaced by one that leads into it"}[wish]
    notes = [f"{what} a pose apart from the motion (a T-pose): {done}"]
    if wish == "drop":
        return motion[lead:], notes
    # the motion run backwards from its first frame, by the same steps mirrored in time
    back = motion[np.clip(2 * lead - np.arange(lead), 0, len(motion) - 1)]
    base = motion[np.full(lead, lead)]
    eased = base + -1.0 * (back - base)
    root, rotations = np.array(motion.root), np.array(motion.rotations)
    root[:lead], rotations[:lead] = eased.root, eased.rotations
    return replace(motion, root=root, rotations=rotations), notes


def restore_lead_in(motion: Motion, source: Motion, lead: int, raised: NDArray) -> Motion:
    """The first frames as they were, raised with the whole clip."""
    root, rotations = np.array(motion.root), np.array(motion.rotations)
    root[:lead], rotations[:lead] = source.root[:lead] + raised, source.rotations[:lead]
    return replace(motion, root=root, rotations=rotations)
