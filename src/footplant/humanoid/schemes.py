"""Naming schemes of well-known rigs: chains of names that fix a limb, whatever its proportions.

The names of a scheme are clear only together: a "shoulder" is the clavicle where an "arm" follows it and the upper arm
where an "elbow" does. So a limb counts as named by a scheme if all its main joints are there, once on each side and in
this order down the tree. Where it does, the skeleton's shape never overrules the names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from numpy.typing import NDArray

from footplant.humanoid.names import Reading

_ARMS = {
    "Mixamo, HumanIK, CMU, Rokoko": "clavicle=shoulder upper_arm=arm lower_arm=fore.arm hand=hand",
    "Xsens, Rigify, VRM 0.x": "clavicle=shoulder upper_arm=upper.arm lower_arm=fore.arm hand=hand",
    "VRM, Unity": "clavicle=shoulder upper_arm=upper.arm lower_arm=lower.arm hand=hand",
    "3ds Max Biped": "clavicle=clavicle upper_arm=upper.arm lower_arm=fore.arm hand=hand",
    "Unreal": "clavicle=clavicle upper_arm=upper.arm lower_arm=lower.arm hand=hand",
    "mocopi": "clavicle=shoulder upper_arm=up.arm lower_arm=low.arm hand=hand",
    "BioVision, SMPL, H-ANIM": "clavicle=collar,sternoclavicular upper_arm=shoulder lower_arm=elbow "
    "hand=wrist,radiocarpal",
    "Poser, DAZ": "clavicle=collar upper_arm=shldr lower_arm=fore.arm hand=hand",
    "DAZ Genesis": "clavicle=collar upper_arm=shldr.bend lower_arm=fore.arm.bend hand=hand",
    # its wrist is a bone of the forearm, the last third of it, which twists; the hand bends
    "Acclaim (ASF)": "clavicle=clavicle upper_arm=humerus lower_arm=radius lower_arm_twist=wrist hand=hand",
    "Acclaim (ASF) without hands": "clavicle=clavicle upper_arm=humerus lower_arm=radius hand=wrist",
}
_LEGS = {
    "Mixamo, HumanIK, CMU": "upper_leg=up.leg lower_leg=leg foot=foot toes=toe.base,toe,toes",
    "VRM, Unity, Xsens": "upper_leg=upper.leg lower_leg=lower.leg foot=foot toes=toes,toe",
    "3ds Max Biped, Unreal": "upper_leg=thigh lower_leg=calf foot=foot toes=toe,ball",
    "Rigify, Rokoko, Poser, DAZ": "upper_leg=thigh lower_leg=shin foot=foot toes=toe",
    "DAZ Genesis": "upper_leg=thigh.bend lower_leg=shin foot=foot toes=toe",
    "mocopi": "upper_leg=up.leg lower_leg=low.leg foot=foot toes=toes",
    "BioVision, SMPL, H-ANIM": "upper_leg=hip lower_leg=knee foot=ankle,talocrural toes=toe,foot,metatarsal",
    "Acclaim (ASF)": "upper_leg=femur lower_leg=tibia foot=foot toes=toes",
    "SOMA": "upper_leg=leg lower_leg=shin foot=foot toes=toe.base",
}
_OPTIONAL = frozenset({"clavicle", "toes"})
_RIG_WORDS = frozenset({"def", "org", "bip", "bone", "joint", "jnt", "skel"})
"""Words that a rig puts before every name."""


@dataclass(frozen=True)
class NamedJoint:
    """A joint that a scheme names."""

    role: str
    """Without the side: "upper_arm" …"""
    side: str
    """"left" or "right"."""
    scheme: str
    """Which rigs use these names."""


def named_joints(readings: Sequence[Reading], parents: NDArray) -> dict[int, NamedJoint]:
    """Return joint → role for every limb whose names follow a scheme on both sides."""
    found: dict[tuple[str, str], list[int]] = {}
    for joint, reading in enumerate(readings):
        if reading.side is not None and reading.kind == "bone":
            words = [word for word in reading.words if not word.isdigit() and word not in _RIG_WORDS]
            found.setdefault((reading.side, ".".join(words)), []).append(joint)
    out: dict[int, NamedJoint] = {}
    for table in (_ARMS, _LEGS):
        for scheme, text in table.items():
            sides = {side: _chain(found, side, text, parents, readings) for side in ("left", "right")}
            if all(sides.values()):
                for side, chain in sides.items():
                    out |= {joint: NamedJoint(role, side, scheme) for role, joint in (chain or {}).items()}
                break
    return out


def _chain(
    found: dict[tuple[str, str], list[int]], side: str, text: str, parents: NDArray, readings: Sequence[Reading]
) -> dict[str, int] | None:
    """Return role → joint of one limb, or None if a main joint is missing, ambiguous or out of order."""
    chain: dict[str, int] = {}
    for role, names in (entry.split("=") for entry in text.split()):
        joints = [joint for name in names.split(",") for joint in found.get((side, name), ())]
        if len(joints) == 1:
            chain[role] = joints[0]
        elif role not in _OPTIONAL:
            return None
    roles = [entry.split("=")[0] for entry in text.split()]
    for role in _OPTIONAL & chain.keys():
        above, below = (role, roles[1]) if role == roles[0] else (roles[-2], role)
        if _between(chain[above], chain[below], parents) is None:
            del chain[role]
    order = [chain[role] for role in roles if role in chain]
    for above, below in pairwise(order):
        between = _between(above, below, parents)
        # of a wrist and a hand in one arm either may be meant
        if between is None or any(readings[joint].score(role) > 0.5 for joint in between for role in roles):
            return None
    return chain


def _between(above: int, below: int, parents: NDArray) -> list[int] | None:
    """Return the joints between two of one chain, or None if the second is not below the first."""
    way, joint = [], int(parents[below])
    while joint not in (above, -1):
        way.append(joint)
        joint = int(parents[joint])
    return way if joint == above else None
