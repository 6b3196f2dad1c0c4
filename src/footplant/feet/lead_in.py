"""Lead-in poses (T-pose frames before the motion): taken out before a solve, and put back or dropped after it.

lead, clip = split_lead_in(clip)
...                                                    # solve the clip without its lead-in
motion = join_lead_in(lead, motion, character, ground)  # or leave them out
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from footplant.clip import Clip
from footplant.constraints import Constraint
from footplant.contacts.detection import Contacts, find_contacts, known_contacts
from footplant.contacts.ground import Ground
from footplant.contacts.stillness import lead_in_frames
from footplant.errors import MotionError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Solution
from footplant.skeleton import Character

LeadIn = Literal["keep", "drop"]
"""What becomes of a lead-in: put back in front of the result, or dropped."""
LEAD_IN = get_args(LeadIn)


def require_lead_in(wish: str) -> LeadIn:
    """Return what is asked for if it is one of `LEAD_IN`."""
    if wish not in LEAD_IN:
        raise MotionError(f"expected lead_in to be one of {', '.join(LEAD_IN)}, got {wish!r}")
    return wish  # type: ignore[return-value]


def split_lead_in(clip: Clip) -> tuple[Motion, Clip]:
    """Return the lead-in frames of a clip, often none, and the clip without them."""
    lead = lead_in_frames(clip)
    return clip.motion[:lead], clip if not lead else replace(clip, motion=clip.motion[lead:])


def contacts_after_lead_in(contacts: Contacts | None, clip: Clip, lead: int, *, hands: bool = False) -> Contacts:
    """Return contacts of a clip that are known, or found without its first `lead` frames; all are after these."""
    if contacts is not None or not lead:
        return known_contacts(contacts, clip, hands=hands).since(lead)
    return find_contacts((clip.motion[lead:], clip.character), hands=hands).delayed(lead)


def lead_in_beside(constraints: Sequence[Constraint], clip: Clip) -> int:
    """Return the number of lead-in frames of a clip; 0 where a constraint is to hold at one of them."""
    lead = lead_in_frames(clip)
    return 0 if any(held.frames is None or any(frame < lead for frame in held.frames) for held in constraints) else lead


def join_lead_in(lead: Motion, motion: Motion, character: Character, ground: Ground | None) -> Motion:
    """Return the motion with lead-in frames of the same skeleton before it, moved vertically to a ground if any."""
    character.require_fit(motion.skeleton)
    if not len(lead):
        return motion
    character.require_fit(lead.skeleton)
    parts = (lead if ground is None else on_ground(lead, character, ground), motion)
    root, rotations = (np.concatenate([getattr(part, key) for part in parts]) for key in ("root", "rotations"))
    offsets = None
    if lead.offsets is not None or motion.offsets is not None:
        rest = motion.skeleton.offsets
        offsets = np.concatenate(
            [
                np.broadcast_to(rest if part.offsets is None else part.offsets, (len(part), *rest.shape))
                for part in parts
            ]
        )
    return replace(motion, root=root, rotations=rotations, offsets=offsets)


def lead_in_note(lead: int, wish: LeadIn, *, placed: bool = True) -> str:
    """Return what to tell about a lead-in of at least one frame. placed: whether it was placed on the ground."""
    what = "the first frame is" if lead == 1 else f"the first {lead} frames are"
    done = {"keep": "kept, and placed on the ground" if placed else "kept as it is", "drop": "dropped"}[wish]
    return f"{what} a lead-in pose (a T-pose): {done}"


def on_ground(motion: Motion, character: Character, ground: Ground) -> Motion:
    """Return the motion with each frame moved vertically so that its lowest sole point is on the ground."""
    points = [point for name, point in character.contacts.items() if not name.endswith("palm")]
    if not points or not len(motion):
        return motion
    places = Kinematics(motion).points(points)
    lowest = (places[..., 1] - ground.height(places[..., ::2])).min(axis=1)
    return replace(motion, root=motion.root - lowest[:, None] * [0.0, 1.0, 0.0])


def stand_lead_in(motion: Motion, copied: Motion, target: Character, ground: Ground, lead: int) -> Motion:
    """Return the motion with its lead-in frames as copied, each moved vertically so that it stands on the ground."""
    return join_lead_in(copied[:lead], motion[lead:], target, ground)


def with_lead_in(
    solution: Solution, copied: Motion, target: Character, ground: Ground, lead: int, wish: LeadIn
) -> Solution:
    """Return a solution with its lead-in frames as copied, standing on the ground, and a note on what becomes of them.

    A solution without a lead-in stays as it is. `dropped_lead_in` drops the frames, after they have been measured.
    """
    if not lead:
        return solution
    motion = stand_lead_in(solution.motion, copied, target, ground, lead)
    return replace(solution, motion=motion).noted(lead_in_note(lead, wish))


def dropped_lead_in(solution: Solution, lead: int, wish: LeadIn) -> Solution:
    """Return a solution with its first `lead` frames, a lead-in that is kept, or without them."""
    if not lead or wish == "keep":
        return solution
    return replace(solution, motion=solution.motion[lead:])
