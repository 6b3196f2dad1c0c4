"""Skeletons for tests of humanoids: the mannequin's shape with the names, extra joints and orders of other rigs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from footplant import rotation
from footplant.skeleton import Character, Skeleton

_LIMBS = {
    "clavicle": (0.03, 1.42, -0.005), "upper_arm": (0.175, 1.42, -0.025), "lower_arm": (0.465, 1.42, -0.025),
    "hand": (0.715, 1.42, -0.025), "upper_leg": (0.09, 0.90, 0.0), "lower_leg": (0.09, 0.49, 0.01),
    "foot": (0.09, 0.08, -0.01), "toes": (0.10, 0.02, 0.12),
}  # fmt: skip
_HIPS, _NECK, _HEAD = np.array([0, 0.94, 0.0]), np.array([0, 1.47, -0.02]), np.array([0, 1.56, 0.005])


@dataclass(frozen=True)
class Rig:
    """How a family of rigs names its joints; "@" in a limb's name is replaced by the side."""

    hips: str
    spine: str
    """Names from above the hips to the chest, separated by commas."""
    head: str
    limbs: str
    """role=name of one side; clavicle and toes may be absent."""
    neck: str = ""
    sides: tuple[str, str] = ("Left", "Right")
    roots: str = ""
    """Joints above the hips, separated by commas."""
    extras: Sequence[tuple[str, str, tuple[float, float, float]]] = ()
    """Other joints: name, parent, position in metres; "@" makes two of them."""
    arms_on: str = ""
    """The parent of the arms, if it is not the last vertebra."""
    legs_on: str = ""
    """The parent of the legs, if it is not the hips."""
    roles: dict[str, str] = field(default_factory=dict)
    """Further expected roles among the extras: role=names, "@" as above."""


def build(rig: Rig) -> tuple[Skeleton, dict[str, tuple[str, ...]]]:
    """The mannequin's shape with a rig's joints, and the roles that must be found in it."""
    tree: dict[str, tuple[str | None, np.ndarray]] = {}
    above = None
    for number, name in enumerate(_list(rig.roots)):
        tree[name] = (above, np.array([0.0, 0.0 if number == 0 else 0.5, 0.0]))
        above = name
    tree[rig.hips] = (above, _HIPS)
    expected: dict[str, tuple[str, ...]] = {"hips": (rig.hips,), "spine": tuple(_list(rig.spine)), "head": (rig.head,)}
    above = rig.hips
    for number, name in enumerate(_list(rig.spine), start=1):
        tree[name] = (above, _HIPS + (_NECK - _HIPS) * number / (len(_list(rig.spine)) + 1))
        above = name
    chest = above
    for number, name in enumerate(_list(rig.neck)):
        tree[name] = (above, _NECK + (_HEAD - _NECK) * number / len(_list(rig.neck)))
        above = name
    if rig.neck:
        expected["neck"] = tuple(_list(rig.neck))
    tree[rig.head] = (above, _HEAD)
    limbs = dict(pair.split("=", 1) for pair in _list(rig.limbs, "; "))
    for side, word, sign in zip(("left", "right"), rig.sides, (1.0, -1.0)):
        for order, start in (
            (("clavicle", "upper_arm", "lower_arm", "hand"), rig.arms_on or chest),
            (("upper_leg", "lower_leg", "foot", "toes"), rig.legs_on or rig.hips),
        ):
            above = start
            for role in order:
                if role in limbs:
                    name = limbs[role].replace("@", word)
                    tree[name] = (above, np.array(_LIMBS[role]) * [sign, 1.0, 1.0])
                    expected[f"{side}_{role}"] = (name,)
                    above = name
        for name, parent, place in rig.extras:
            if "@" in name:
                tree[name.replace("@", word)] = (parent.replace("@", word), np.array(place) * [sign, 1.0, 1.0])
        for role, names in rig.roles.items():
            expected[f"{side}_{role}"] = tuple(_list(names.replace("@", word)))
    for name, parent, place in rig.extras:
        if "@" not in name:
            tree[name] = (parent, np.array(place))
    return _skeleton(tree), expected


def _list(text: str, by: str = ",") -> list[str]:
    return [word for word in text.split(by) if word]


def _skeleton(tree: dict[str, tuple[str | None, np.ndarray]]) -> Skeleton:
    """Parents first, whatever order the names came in; a parent may be given after its child to put joints between."""
    order: list[str] = []
    waiting = list(tree)
    while waiting:
        ready = [name for name in waiting if tree[name][0] is None or tree[name][0] in order]
        order += ready
        waiting = [name for name in waiting if name not in ready]
        assert ready, f"no parent for {waiting}"
    places = {name: tree[name][1] for name in order}
    parents = [-1 if tree[name][0] is None else order.index(tree[name][0]) for name in order]  # type: ignore[arg-type]
    offsets = [places[name] - (places[tree[name][0]] if tree[name][0] else 0.0) for name in order]  # type: ignore[index]
    return Skeleton(tuple(order), np.array(parents), np.array(offsets))


def nameless(skeleton: Skeleton) -> Skeleton:
    """The same skeleton with meaningless names."""
    return replace(skeleton, names=tuple(f"joint_{joint}" for joint in range(len(skeleton))))


def shuffled(skeleton: Skeleton, seed: int) -> tuple[Skeleton, np.ndarray]:
    """The same skeleton with its joints in another order, and the new index of each joint."""
    rng = np.random.default_rng(seed)
    order, ready = [], [0]
    while ready:
        joint = ready.pop(int(rng.integers(len(ready))))
        order.append(joint)
        ready += skeleton.children[joint]
    place = np.empty(len(skeleton), int)
    place[order] = np.arange(len(skeleton))
    parents = skeleton.parents[order]
    return (
        Skeleton(
            tuple(skeleton.names[joint] for joint in order),
            np.where(parents < 0, -1, place[parents]),
            skeleton.offsets[order],
            skeleton.rest[order],
            place[skeleton.end_parents] if len(skeleton.end_parents) else None,  # type: ignore[arg-type]
            skeleton.end_offsets if len(skeleton.end_parents) else None,  # type: ignore[arg-type]
        ),
        place,
    )


def turned_at_random(skeleton: Skeleton, seed: int) -> tuple[Skeleton, np.ndarray]:
    """The skeleton rotated about the origin, and the rotation."""
    turn = rotation.normalize(np.random.default_rng(seed).normal(size=4))
    return skeleton.turned(turn), turn


def feet_on_the_root(character: Character) -> Character:
    """The figure with feet that are children of the root, as some rigs have them."""
    skeleton, roles = character.skeleton, character.require_roles()
    places, turned = skeleton.rest_world
    parents, offsets, rest = skeleton.parents.copy(), np.array(skeleton.offsets), np.array(skeleton.rest)
    for foot in (roles["left_foot"], roles["right_foot"]):
        parents[foot] = 0
        offsets[foot] = rotation.rotate(rotation.inverse(turned[0]), places[foot] - places[0])
        rest[foot] = rotation.multiply(rotation.inverse(turned[0]), turned[foot])
    return replace(character, skeleton=replace(skeleton, parents=parents, offsets=offsets, rest=rest))
