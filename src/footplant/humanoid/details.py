"""The small parts of a body: fingers, eyes, jaw, twist joints, and feet that are not children of their leg."""

from __future__ import annotations

import numpy as np

from footplant.humanoid.body_plan import Body
from footplant.humanoid.limb import Limb
from footplant.humanoid.names import METACARPAL
from footplant.humanoid.shape import Tree

FINGERS = ("thumb", "index", "middle", "ring", "little")
_TWISTED = (("upper_leg", "lower_leg"), ("lower_leg", "foot"), ("upper_arm", "lower_arm"), ("lower_arm", "hand"))


def find_details(tree: Tree, body: Body, joints: dict[str, tuple[int, ...]]) -> None:
    """Add the small parts to the table role → joints."""
    for side, (leg, arm) in body.sides.items():
        _add_detached_foot(tree, side, leg, joints)
        _add_fingers(tree, side, arm, joints)
    taken = {joint for chain in joints.values() for joint in chain}
    for side, limbs in body.sides.items():
        for limb in limbs:
            _add_twists(tree, side, limb, joints, taken)
    if body.head is not None:
        _add_face(tree, body.head, joints)


def _add_detached_foot(tree: Tree, side: str, leg: Limb, joints: dict[str, tuple[int, ...]]) -> None:
    """Add a foot that is driven by its own bone under the root: chosen by name, nearest to the knee."""
    if "foot" in leg.joints:
        return
    inside = set(tree.skeleton.descendants(leg.path[0]))
    named = [
        joint for joint, reading in enumerate(tree.readings)
        if reading.side == side and reading.kind == "bone" and reading.parts.get("foot", 0) >= 0.9
        and joint not in inside
    ]  # fmt: skip
    if named:
        positions = tree.skeleton.rest_world[0]
        knee = positions[leg.joints["lower_leg"]]
        joints[f"{side}_foot"] = (min(named, key=lambda joint: float(np.linalg.norm(positions[joint] - knee))),)


def _add_fingers(tree: Tree, side: str, arm: Limb, joints: dict[str, tuple[int, ...]]) -> None:
    wrist = arm.joints.get("hand", arm.joints["lower_arm"])
    start = arm.joints["lower_arm"]
    found: dict[str, list[int]] = {}
    for joint in tree.skeleton.descendants(start)[1:]:
        reading = tree.readings[joint]
        if joint == wrist or reading.kind != "bone" or not reading.parts:
            continue
        finger = max(reading.parts, key=lambda part: reading.parts[part])
        if finger not in FINGERS or (finger != "thumb" and set(reading.words) & METACARPAL):
            continue
        if not found.get(finger) or found[finger][-1] in tree.ancestors(joint):
            found.setdefault(finger, []).append(joint)
    if "hand" in arm.joints and not set(found) & {"index", "ring", "little"}:
        found = _fingers_by_shape(tree, wrist, found.get("thumb")) or found
    for finger, chain in found.items():
        joints[f"{side}_{finger}"] = tuple(_phalanges(tree, wrist, chain, finger))


def _phalanges(tree: Tree, wrist: int, chain: list[int], finger: str) -> list[int]:
    """Return a finger of four joints without its metacarpal, which starts near the wrist, or without its tip."""
    if len(chain) < 4:
        return chain
    if finger != "thumb" and tree.path_length((0, *tree.skeleton.chain(chain[0], wrist)[1:])) < tree.lengths[chain[1]]:
        chain = chain[1:]
    if len(chain) > 3 and not tree.skeleton.children[chain[-1]] and tree.tips[chain[-1]] == 0:
        chain = chain[:-1]
    return chain


def _fingers_by_shape(tree: Tree, wrist: int, thumb: list[int] | None) -> dict[str, list[int]]:
    """Return the branches of a wrist as fingers: the thumb by name or by angle, the others by distance from it."""
    branches = [tree.longest_path(child) for child in tree.skeleton.children[wrist]]
    branches = [list(branch) for branch in branches if len(branch) >= 2 and tree.readings[branch[0]].kind == "bone"]
    positions = tree.skeleton.rest_world[0]
    if thumb is not None:
        branches = [branch for branch in branches if not set(branch) & set(thumb)]
        if not 2 <= len(branches) <= 4:
            return {}
    elif 4 <= len(branches) <= 5:
        thumb = branches.pop(_most_aslant(tree, wrist, branches))
    else:
        return {}
    base = positions[thumb[0]]
    branches.sort(key=lambda branch: float(np.linalg.norm(positions[branch[0]] - base)))
    fingers = {2: ("index", "middle"), 3: ("index", "middle", "little"), 4: FINGERS[1:]}[len(branches)]
    return {"thumb": thumb, **dict(zip(fingers, branches))}


def _most_aslant(tree: Tree, wrist: int, branches: list[list[int]]) -> int:
    """Return the index of the branch most likely to be the thumb: it starts near the wrist at the largest angle."""
    positions = tree.skeleton.rest_world[0]
    bases = np.array([positions[branch[0]] for branch in branches])
    lines = np.array([positions[branch[-1]] - positions[branch[0]] for branch in branches])
    lines /= np.maximum(np.linalg.norm(lines, axis=1, keepdims=True), 1e-12)
    mean = lines.mean(axis=0) / max(float(np.linalg.norm(lines.mean(axis=0))), 1e-12)
    distance = np.linalg.norm(bases - positions[wrist], axis=1)
    aslant = 1.0 - lines @ mean
    return int(np.argmax(aslant / max(aslant.max(), 1e-9) - distance / max(distance.max(), 1e-9)))


def _add_twists(tree: Tree, side: str, limb: Limb, joints: dict[str, tuple[int, ...]], taken: set[int]) -> None:
    """Add twist joints: named so below a limb's bone, or in the chain between its two joints."""
    for upper, lower in _TWISTED:
        if upper not in limb.joints:
            continue
        top = limb.joints[upper]
        bottom = limb.joints.get(lower)
        inline = [] if bottom is None else list(tree.skeleton.chain(bottom, top)[1:-1])
        below_next = set() if bottom is None else set(tree.skeleton.descendants(bottom))
        named = [
            joint for joint in tree.skeleton.descendants(top)[1:]
            if joint not in below_next and tree.readings[joint].kind == "twist" and joint not in inline
        ]  # fmt: skip
        chain = [
            joint for joint in sorted({*inline, *named}) if joint not in taken and tree.readings[joint].kind != "helper"
        ]
        positions = tree.skeleton.rest_world[0]
        chain.sort(key=lambda joint: (float(np.linalg.norm(positions[joint] - positions[top])), joint))
        if chain:
            joints[f"{side}_{upper}_twist"] = tuple(chain)


def _add_face(tree: Tree, head: int, joints: dict[str, tuple[int, ...]]) -> None:
    for joint in tree.skeleton.descendants(head)[1:]:
        reading = tree.readings[joint]
        if reading.kind != "bone":
            continue
        if reading.parts.get("jaw", 0) > 0.8:
            joints.setdefault("jaw", (joint,))
        if "eye" in reading.parts and reading.side:
            joints.setdefault(f"{reading.side}_eye", (joint,))
