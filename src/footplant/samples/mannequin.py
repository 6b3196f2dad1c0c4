"""The mannequin: an adult of 1.75 m with the segment lengths of anthropometric tables (Winter 2009, table 4.1)."""

from __future__ import annotations

import numpy as np

from footplant.skeleton import Point, Roles, Skeleton

# name, parent, world position in the rest pose (a T-pose facing +z, left is +x), metres
_MIDDLE = [
    ("Hips", None, (0.0, 0.94, 0.0)),
    ("Spine", "Hips", (0.0, 1.04, -0.005)),
    ("Chest", "Spine", (0.0, 1.16, -0.015)),
    ("UpperChest", "Chest", (0.0, 1.29, -0.025)),
    ("Neck", "UpperChest", (0.0, 1.47, -0.02)),
    ("Head", "Neck", (0.0, 1.56, 0.005)),
]
_SIDE = [
    ("Clavicle", "UpperChest", (0.03, 1.42, -0.005)),
    ("UpperArm", "Clavicle", (0.175, 1.42, -0.025)),
    ("LowerArm", "UpperArm", (0.465, 1.42, -0.025)),
    ("Hand", "LowerArm", (0.715, 1.42, -0.025)),
    ("UpperLeg", "Hips", (0.09, 0.90, 0.0)),
    ("LowerLeg", "UpperLeg", (0.09, 0.49, 0.0)),
    ("Foot", "LowerLeg", (0.09, 0.08, -0.01)),
    ("Toes", "Foot", (0.10, 0.02, 0.12)),
]
_ENDS = [("Head", (0.0, 1.75, 0.005)), ("Hand", (0.895, 1.42, -0.025)), ("Toes", (0.105, 0.01, 0.195))]
_CONTACTS = {
    "heel": ("Foot", (0.09, 0.0, -0.065)),
    "ball": ("Toes", (0.10, 0.0, 0.12)),
    "toe": ("Toes", (0.105, 0.0, 0.195)),
    "palm": ("Hand", (0.80, 1.405, -0.025)),
}
_ROLE_OF = {
    "Clavicle": "clavicle", "UpperArm": "upper_arm", "LowerArm": "lower_arm", "Hand": "hand",
    "UpperLeg": "upper_leg", "LowerLeg": "lower_leg", "Foot": "foot", "Toes": "toes",
}  # fmt: skip


def _tree() -> dict[str, tuple[str | None, np.ndarray]]:
    tree = {name: (parent, np.array(place)) for name, parent, place in _MIDDLE}
    middle = set(tree)
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        for name, parent, place in _SIDE:
            above = parent if parent in middle else side + parent
            tree[side + name] = (above, np.array(place) * [sign, 1.0, 1.0])
    return tree


def skeleton() -> Skeleton:
    """Return the skeleton: twenty-two joints, no fingers; the toes bend at the ball."""
    tree = _tree()
    names = list(tree)
    offsets = [place - (tree[parent][1] if parent else 0.0) for parent, place in tree.values()]
    ends = []
    for name, place in _ENDS:
        for joint, sign in [(name, 1.0)] if name in tree else [("Left" + name, 1.0), ("Right" + name, -1.0)]:
            ends.append((names.index(joint), np.array(place) * [sign, 1.0, 1.0] - tree[joint][1]))
    return Skeleton(
        tuple(names),
        np.array([-1 if parent is None else names.index(parent) for parent, _ in tree.values()]),
        np.array(offsets),
        end_parents=np.array([joint for joint, _ in ends]),
        end_offsets=np.array([offset for _, offset in ends]),
    )


def roles(rig: Skeleton) -> Roles:
    """Return the roles of the mannequin's joints, which are known by construction."""
    joints = {
        "hips": ("Hips",), "spine": ("Spine", "Chest", "UpperChest"), "neck": ("Neck",), "head": ("Head",)
    }  # fmt: skip
    for side in ("left", "right"):
        joints |= {f"{side}_{role}": (side.title() + name,) for name, role in _ROLE_OF.items()}
    return Roles(
        {role: tuple(rig.index(name) for name in names) for role, names in joints.items()},
        dict.fromkeys(joints, 1.0),
        dict.fromkeys(joints, "by construction"),
    )


def contact_points(rig: Skeleton) -> dict[str, Point]:
    """Return heel, ball and toe tip on the sole, and the palm, of both sides."""
    tree = _tree()
    found = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for label, (name, place) in _CONTACTS.items():
            joint = side.title() + name
            offset = np.array(place) * [sign, 1.0, 1.0] - tree[joint][1]
            found[f"{side}_{label}"] = Point(rig.index(joint), tuple(offset.tolist()))
    return found
