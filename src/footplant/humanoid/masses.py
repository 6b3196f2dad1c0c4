"""Mass and centre of mass of each segment: Dempster's data as tabulated by Winter (2009, table 4.1)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.humanoid.measure import standing_height
from footplant.skeleton import Roles, Skeleton

SHARES = {
    "head": 0.067, "neck": 0.014, "spine": 0.355, "hips": 0.142,
    "upper_arm": 0.028, "lower_arm": 0.016, "hand": 0.006,
    "upper_leg": 0.100, "lower_leg": 0.0465, "foot": 0.0145,
}  # fmt: skip
"""Fraction of the body's mass, limbs per side. Head and neck together 0.081, thorax and abdomen 0.355, pelvis 0.142."""
CENTERS = {"upper_arm": 0.436, "lower_arm": 0.430, "hand": 0.506, "upper_leg": 0.433, "lower_leg": 0.433, "foot": 0.5}
"""Position of the centre of mass along the segment, as a fraction from its proximal end."""
_NEXT = {
    "upper_arm": ("lower_arm",), "lower_arm": ("hand",), "hand": ("middle", "index"),
    "upper_leg": ("lower_leg",), "lower_leg": ("foot",), "foot": ("toes",),
}  # fmt: skip
_HEAVIER = {"hand": "lower_arm", "lower_arm": "upper_arm", "foot": "lower_leg", "lower_leg": "upper_leg"}


def segment_masses(skeleton: Skeleton, roles: Roles) -> tuple[NDArray, NDArray]:
    """Return mass fractions (J,), summing to 1, and centres of mass (J, 3) in the joints' frames, metres.

    The spine's fraction is split over its vertebrae by length; fingers count with their hand, toes with their foot,
    twist joints with their limb; the mass of a missing part goes to the part that it would be attached to.
    """
    masses, centers = np.zeros(len(skeleton)), np.zeros((len(skeleton), 3))
    positions, rotations = skeleton.rest_world

    def put(joint: int, share: float, place: NDArray) -> None:
        local = rotation.rotate(rotation.inverse(rotations[joint]), place - positions[joint])
        total = masses[joint] + share
        centers[joint] = (masses[joint] * centers[joint] + share * local) / total
        masses[joint] = total

    hips = roles["hips"]
    _put_trunk(roles, positions, put)
    for side in ("left", "right"):
        for part in CENTERS:
            joint, owner = roles.get(f"{side}_{part}"), part
            while joint is None and owner in _HEAVIER:
                owner = _HEAVIER[owner]
                joint = roles.get(f"{side}_{owner}")
            if joint is None:
                put(hips, SHARES[part], positions[hips])
                continue
            end = _far_end(skeleton, roles, side, owner, joint)
            along = CENTERS[part] if owner == part else 1.0
            put(joint, SHARES[part], positions[joint] + along * (end - positions[joint]))
    head = roles.get("head")
    if head is not None:
        put(head, SHARES["head"], _head_center(skeleton, roles, head))
    else:
        last = roles.joints.get("neck") or roles.joints.get("spine") or (hips,)
        put(last[-1], SHARES["head"], positions[last[-1]])
    return masses / masses.sum(), centers


def _put_trunk(roles: Roles, positions: NDArray, put) -> None:
    """Assign the pelvis to the hips, thorax and abdomen to the spine, and the neck's fraction to the neck."""
    hips, spine, neck = roles["hips"], roles.joints.get("spine", ()), roles.joints.get("neck", ())
    thighs = [positions[roles[role]] for role in ("left_upper_leg", "right_upper_leg") if role in roles]
    low = np.mean(thighs, axis=0) if thighs else positions[hips]
    put(hips, SHARES["hips"], 0.5 * (low + (positions[spine[0]] if spine else positions[hips])))
    ahead = [*neck, *roles.joints.get("head", ())]
    _put_chain([*spine, *ahead[:1]], len(spine), SHARES["spine"], positions, put, hips)
    _put_chain(ahead, len(neck), SHARES["neck"], positions, put, spine[-1] if spine else hips)


def _put_chain(chain: list[int], count: int, share: float, positions: NDArray, put, otherwise: int) -> None:
    """Split a fraction over the first joints of a chain by bone length; for an empty chain use the joint below it."""
    if not count:
        put(otherwise, share, positions[chain[0]] if chain else positions[otherwise])
        return
    bones = [(joint, positions[joint], positions[after]) for joint, after in pairwise(chain)][:count]
    if len(bones) < count:
        bones.append((chain[count - 1], positions[chain[count - 1]], positions[chain[count - 1]]))
    lengths = np.array([np.linalg.norm(end - start) for _, start, end in bones])
    weights = lengths / lengths.sum() if lengths.sum() > 0 else np.full(len(bones), 1.0 / len(bones))
    for (joint, start, end), weight in zip(bones, weights):
        if weight > 0:
            put(joint, share * weight, 0.5 * (start + end))


def _far_end(skeleton: Skeleton, roles: Roles, side: str, part: str, joint: int) -> NDArray:
    """Return the distal end of a segment: the next role, an end site, or the joint itself."""
    positions = skeleton.rest_world[0]
    for following in _NEXT[part]:
        other = roles.get(f"{side}_{following}")
        if other is not None:
            return positions[other]
    ends = skeleton.rest_ends[skeleton.end_parents == joint]
    return ends[0] if len(ends) else positions[joint]


def _head_center(skeleton: Skeleton, roles: Roles, head: int) -> NDArray:
    """Return the middle of the head: halfway to its end site, or on along the line of the neck."""
    positions = skeleton.rest_world[0]
    ends = skeleton.rest_ends[skeleton.end_parents == head]
    if len(ends):
        return 0.5 * (positions[head] + ends[0])
    below = (roles.joints.get("neck") or roles.joints.get("spine") or (roles["hips"],))[-1]
    line = positions[head] - positions[below]
    length = float(np.linalg.norm(line))
    return positions[head] + 0.06 * standing_height(skeleton, roles) * line / length if length > 0 else positions[head]
