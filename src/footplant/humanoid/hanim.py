"""Joint names of the H-ANIM standard (ISO/IEC 19774), which VRML and X3D characters use, from joint roles."""

from __future__ import annotations

import numpy as np

from footplant.skeleton import Roles, Skeleton

VERTEBRAE = tuple([f"vl{n}" for n in range(5, 0, -1)] + [f"vt{n}" for n in range(12, 0, -1)])
"""Lumbar and thoracic vertebrae, upwards."""
NECK = tuple(f"vc{n}" for n in range(7, 0, -1))
"""Cervical vertebrae, upwards."""
SINGLE = {"hips": "HumanoidRoot", "head": "skullbase", "jaw": "temporomandibular"}
SIDED = {
    "eye": "eyeball_joint", "clavicle": "sternoclavicular", "upper_arm": "shoulder", "lower_arm": "elbow",
    "hand": "wrist", "upper_leg": "hip", "lower_leg": "knee", "foot": "ankle", "toes": "metatarsal",
}  # fmt: skip
"""Role without its side → name after "l_" or "r_"."""
FINGERS = {"thumb": "thumb", "index": "index", "middle": "middle", "ring": "ring", "little": "pinky"}


def hanim_names(skeleton: Skeleton, roles: Roles) -> tuple[str, ...]:
    """Return the names of all joints with those that have a role named as in H-ANIM; others keep their names.

    A spine of fewer vertebrae than the standard's 17 gets names spread evenly from vl5 to vt1, as its levels of
    articulation do; beyond 17 the upper ones keep their names. A finger of four joints begins with its metacarpal (0).
    """
    named: dict[int, str] = {}
    for role, chain in roles.joints.items():
        side, _, part = role.partition("_")
        sided = f"{side[0]}_" if side in ("left", "right") else ""
        if role == "spine":
            named |= zip(chain, _spread(VERTEBRAE, len(chain)))
        elif role == "neck":
            named |= zip(chain, ("vc4", "vc2") if len(chain) <= 2 else _spread(NECK, len(chain)))
        elif role in SINGLE:
            named[chain[0]] = SINGLE[role]
        elif sided and part in SIDED:
            named[chain[0]] = sided + SIDED[part]
        elif sided and part in FINGERS:
            first = 0 if len(chain) > 3 else 1
            named |= {joint: f"{sided}{FINGERS[part]}{first + n}" for n, joint in enumerate(chain)}
    taken = set(named.values())
    return tuple(named.get(joint, _free(name, taken)) for joint, name in enumerate(skeleton.names))


def _spread(names: tuple[str, ...], count: int) -> list[str]:
    """Return `count` of the names, evenly spread from the first to the last; all of them if there are fewer."""
    count = min(count, len(names))
    return [names[round(place)] for place in np.linspace(0, len(names) - 1, count)] if count > 1 else [names[0]]


def _free(name: str, taken: set[str]) -> str:
    """Return a name of a joint without a role, changed if the standard's names include it."""
    while name in taken:
        name += "_"
    return name
