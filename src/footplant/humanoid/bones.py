"""The humanoid bones of VRM and Unity: the names that avatars and live protocols share, and the joints they map to.

Bones have the names of VRM 1.0; VRM 0.x and Unity name the thumb's bones differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from footplant.skeleton import Roles, Skeleton

_LIMBS = (
    ("Shoulder", "clavicle", "upperChest"), ("UpperArm", "upper_arm", "Shoulder"),
    ("LowerArm", "lower_arm", "UpperArm"), ("Hand", "hand", "LowerArm"),
    ("UpperLeg", "upper_leg", "hips"), ("LowerLeg", "lower_leg", "UpperLeg"), ("Foot", "foot", "LowerLeg"),
    ("Toes", "toes", "Foot"), ("Eye", "eye", "head"),
)  # fmt: skip
_PHALANGES = {
    finger: ("Metacarpal", "Proximal", "Distal") if finger == "Thumb" else ("Proximal", "Intermediate", "Distal")
    for finger in ("Thumb", "Index", "Middle", "Ring", "Little")
}


@dataclass(frozen=True)
class Bone:
    """One humanoid bone of VRM."""

    role: str
    """Its role in `humanoid.ROLES`, or the chain it is part of."""
    parent: str | None
    """Parent bone; if the character lacks it, the parent's parent applies."""


def _table() -> Iterator[tuple[str, Bone]]:
    above: str | None = None
    for name, role in (("hips", "hips"), ("spine", "spine"), ("chest", "spine"), ("upperChest", "spine"),
                       ("neck", "neck"), ("head", "head"), ("jaw", "jaw")):  # fmt: skip
        yield name, Bone(role, above)
        above = name
    for side in ("left", "right"):
        for part, role, above in _LIMBS:
            yield f"{side}{part}", Bone(f"{side}_{role}", above if above[0].islower() else f"{side}{above}")
        for finger, phalanges in _PHALANGES.items():
            above = "Hand"
            for phalanx in phalanges:
                yield f"{side}{finger}{phalanx}", Bone(f"{side}_{finger.lower()}", f"{side}{above}")
                above = f"{finger}{phalanx}"


BONES: Mapping[str, Bone] = dict(_table())
"""Every humanoid bone by its VRM 1.0 name, parents before children."""
REQUIRED = (
    "hips", "spine", "head",
    *(f"{side}{part}" for side in ("left", "right") for part in
      ("UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg", "Foot")),
)  # fmt: skip
"""Bones that VRM 1.0 requires."""
RENAMED = {
    f"{side}{old}": f"{side}{new}"
    for side in ("left", "right")
    for old, new in (("ThumbProximal", "ThumbMetacarpal"), ("ThumbIntermediate", "ThumbProximal"))
}
"""Bones of VRM 0.x with another name in VRM 1.0; all other names are the same."""
UNITY = {
    new: old[0].upper() + old[1:]
    for new, old in ({bone: bone for bone in BONES} | {new: old for old, new in RENAMED.items()}).items()
}
"""Bone → its name in Unity (HumanBodyBones), as live protocols write it: Hips, LeftThumbIntermediate …"""


def bone_above(bone: str, present: Mapping[str, object]) -> str | None:
    """Return the nearest ancestor bone that the character has; None above the hips."""
    above = BONES[bone].parent
    while above is not None and above not in present:
        above = BONES[above].parent
    return above


def bones_of(skeleton: Skeleton, roles: Roles) -> dict[str, int]:
    """Return the joint of each bone that a character has, by its roles."""
    chains: dict[str, list[int]] = {role: list(chain) for role, chain in roles.joints.items()}
    arms = [roles[role] for role in ("left_upper_arm", "right_upper_arm") if role in roles]
    tops = [roles["head"]] if "head" in roles else []
    # optional bones are only valid where VRM expects them: as ancestors of the arms and the head
    chains["spine"] = _spread(_above(skeleton, chains.get("spine", []), arms + tops), 3)
    chains["neck"] = _above(skeleton, chains.get("neck", []), tops)
    for side in ("left", "right"):
        clavicle, arm = chains.get(f"{side}_clavicle", []), roles.get(f"{side}_upper_arm")
        chains[f"{side}_clavicle"] = _above(skeleton, clavicle, [] if arm is None else [arm])
    out: dict[str, int] = {}
    for bone, entry in BONES.items():
        chain = chains.get(entry.role)
        if chain:
            out[bone] = chain.pop(0)
    return out


def _above(skeleton: Skeleton, chain: Sequence[int], joints: Sequence[int]) -> list[int]:
    """Return the joints of a chain that are ancestors of all the given joints."""
    return [joint for joint in chain if set(joints) <= set(skeleton.descendants(joint)[1:])]


def _spread(chain: list[int], most: int) -> list[int]:
    """Return at most `most` joints of a chain: its ends and evenly spaced ones between."""
    if len(chain) <= most:
        return chain
    return [chain[place] for place in np.linspace(0, len(chain) - 1, most).round().astype(int)]
