"""Change a character's proportions: bones, soles, masses and skin together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import SkeletonError
from footplant.skeleton import Character, Point, Roles, Skeleton, Skin

_SIDES = ("left", "right")
_SOLE = ("heel", "ball", "toe")
_ARM = ("upper_arm", "lower_arm", "hand")
_LEG = ("upper_leg", "lower_leg", "foot", "toes")
_PARTS = {"hips", "spine", "neck", "head", "clavicle", *_ARM, *_LEG}


@dataclass(frozen=True)
class Proportions:
    """Scale factors for a character's proportions; 1 leaves a part unchanged. Factors that affect one bone multiply."""

    scale: float = 1.0
    """Everything: lengths and thickness."""
    legs: float = 1.0
    """Length of thigh and shank."""
    arms: float = 1.0
    """Length of upper arm and forearm."""
    trunk: float = 1.0
    """Length from the hips to the base of the neck."""
    neck: float = 1.0
    """Length of the neck."""
    head: float = 1.0
    """Size of the head in all directions."""
    shoulders: float = 1.0
    """Width of the shoulders: length of the clavicles and the distance between their inner ends."""
    hips: float = 1.0
    """Width between the hip joints."""
    feet: float = 1.0
    """Size of the feet and height of the ankles in all directions, so that soles stay flat."""
    hands: float = 1.0
    """Size of hands and fingers in all directions."""
    girth: float = 1.0
    """Thickness of the trunk, sideways and front to back. Changes only skin and mass, no joint positions."""
    limb_girth: float = 1.0
    """Thickness of arms, legs and neck. Changes only skin and mass, no joint positions."""
    thigh: float = 1.0
    """Length of the thigh, multiplied with `legs`."""
    shank: float = 1.0
    """Length of the shank, multiplied with `legs`."""
    upper_arm: float = 1.0
    """Length of the upper arm, multiplied with `arms`."""
    forearm: float = 1.0
    """Length of the forearm, multiplied with `arms`."""

    def __post_init__(self) -> None:
        """Check that every factor is positive and finite."""
        for item in fields(self):
            value = getattr(self, item.name)
            if not (isinstance(value, (int, float, np.number)) and np.isfinite(value) and value > 0):
                raise SkeletonError(f"expected a positive, finite factor for {item.name}, got {value!r}")


def apply_proportions(character: Character, proportions: Proportions | None = None, /, **factors: float) -> Character:
    """Return the character with other proportions: roles decide which factor a bone gets.

    Pass a `Proportions`, or its fields as keywords: `apply_proportions(character, legs=1.2, girth=0.9)`.

    Joints without a role between two that have one (dummy and twist joints) share the length of that segment; other
    children of a segment move with it. Joints keep their names, order and rest rotations, so that motions fit both
    characters. The lowest point of the soles keeps its height: the hips move up or down. Limits stay, masses follow the
    segments' volumes, and the skin is fitted: v' = Σ w_i T'_i S_i B_i⁻¹ v, where S_i stretches along the bone by its
    length factor and across it by its girth factor; it is bound to the new rest pose. The file's own document
    (`Character.source`) is dropped, because its meshes no longer fit. With all factors 1 the same object is returned.
    """
    if proportions is not None and factors:
        raise SkeletonError("expected a Proportions or factors by name, got both")
    proportions = proportions or Proportions(**factors)
    if proportions == Proportions():
        return character
    plan = _Plan(character, proportions)
    skeleton = plan.skeleton()
    masses, centers = character.masses, character.mass_centers
    if masses is not None:
        masses = masses * np.linalg.det(plan.stretches)
        total = masses.sum()
        if not (np.isfinite(total) and total > 0):
            raise SkeletonError("expected proportions that a body can have, got ones that leave it no mass")
        masses = masses / total
    if centers is not None:
        centers = np.einsum("jab,jb->ja", plan.local_stretches, centers)
    contacts = {
        name: replace(point, offset=tuple((plan.local_stretches[point.joint] @ point.offset).tolist()))
        for name, point in character.contacts.items()
    }
    growth = _stature(skeleton, contacts, plan.roles) / _stature(character.skeleton, character.contacts, plan.roles)
    return replace(
        character,
        skeleton=skeleton,
        contacts=contacts,
        masses=masses,
        mass_centers=centers,
        skin=None if character.skin is None else _refit(character.skin, skeleton, plan.local_stretches),
        height=character.height * growth,
        source=None,
    )


def proportions_of(target: Character, character: Character) -> Proportions:
    """Return the factors that give a character the proportions of a target, whatever their joints are called.

    Lengths are measured from joint to joint by role in the rest pose; parts that one of them lacks scale with height.
    """
    both = [_lengths(who) for who in (target, character)]
    scale = target.height / character.height if character.height > 0 and target.height > 0 else 1.0
    names = {item.name for item in fields(Proportions)} - {"scale", "legs", "arms", "girth", "limb_girth"}
    factors = {}
    for name in names:
        new, old = (lengths.get(name, 0.0) for lengths in both)
        factors[name] = new / old / scale if new > 1e-6 and old > 1e-6 else 1.0
    return Proportions(scale=scale, **factors)


def _lengths(character: Character) -> dict[str, float]:
    """Return the lengths that the factors of `Proportions` scale, by name, metres; without parts that are missing."""
    roles, (positions, rotations) = character.require_roles(), character.skeleton.rest_world
    contacts = {
        name: positions[point.joint] + rotation.rotate(rotations[point.joint], np.array(point.offset))
        for name, point in character.contacts.items()
    }

    def apart(one: str, other: str) -> list[float]:
        ends = [roles.joints[role][-1 if role == "neck" else 0] for role in (one, other) if role in roles]
        return [float(np.linalg.norm(positions[ends[1]] - positions[ends[0]]))] if len(ends) == 2 else []

    found = {
        "hips": apart("left_upper_leg", "right_upper_leg"),
        "shoulders": apart("left_upper_arm", "right_upper_arm"),
        "neck": apart("neck", "head"),
        "trunk": apart("hips", "neck") or apart("hips", "head"),
    }
    for name, start, end in (("thigh", "upper_leg", "lower_leg"), ("shank", "lower_leg", "foot"),
                             ("upper_arm", "upper_arm", "lower_arm"), ("forearm", "lower_arm", "hand")):  # fmt: skip
        found[name] = [length for side in _SIDES for length in apart(f"{side}_{start}", f"{side}_{end}")]
    soles = [(contacts.get(f"{side}_heel"), contacts.get(f"{side}_ball")) for side in _SIDES]
    found["feet"] = [float(np.linalg.norm(b - a)) for a, b in soles if a is not None and b is not None]
    found["hands"] = [
        float(np.linalg.norm(contacts[f"{side}_palm"] - positions[roles[f"{side}_hand"]]))
        for side in _SIDES
        if f"{side}_palm" in contacts and f"{side}_hand" in roles
    ]
    return {name: float(np.mean(lengths)) for name, lengths in found.items() if lengths}


class _Plan:
    """The stretch of each joint's segment and the resulting bones, all in world axes of the rest pose."""

    def __init__(self, character: Character, proportions: Proportions) -> None:
        self.old = character.skeleton
        self.roles = character.require_roles()
        self.factors = proportions
        self.contacts = character.contacts
        self.positions, self.rotations = self.old.rest_world
        # fingers, twist joints and the face have roles too, but belong to their parent segment
        self.role_of = {
            joint: role for role, joints in self.roles.joints.items() if _part(role) in _PARTS for joint in joints
        }
        self.up, self.trunk_bottom, self.trunk_length = self._trunk_axis()
        self.left = self._left_axis()
        self.carriers = self._carriers()
        self.order = sorted(range(len(self.old)), key=self._depth)
        """Joints, carriers before what they matrices_of_joints."""
        self.segments = self._segments()
        self.stretches = np.array([self._stretch(joint) for joint in range(len(self.old))])
        """(J, 3, 3) stretch of each segment, in world axes."""
        turns = rotation.to_matrix(self.rotations)
        self.local_stretches = turns.swapaxes(-1, -2) @ self.stretches @ turns
        """(J, 3, 3) the same in each joint's own axes."""

    def skeleton(self) -> Skeleton:
        """Return the skeleton with new bone lengths and its soles at the old height."""
        old = self.old
        positions = np.array(self.positions)
        segment_ends = self._segment_ends()
        for joint in self.order[1:]:
            carrier = self.carriers[joint]
            bone = self.positions[joint] - self.positions[carrier]
            if joint in segment_ends:
                bone = self.factors.scale * self._lengthened(bone, *segment_ends[joint])
            else:
                bone = self.stretches[carrier] @ bone
            positions[joint] = positions[carrier] + bone
        rise = self._ground_height(self.positions, np.broadcast_to(np.eye(3), self.stretches.shape))
        rise -= self._ground_height(positions, self.stretches)
        positions[self._carried(self.roles.get("hips") or 0), 1] += rise

        offsets = np.array(positions)
        offsets[1:] -= positions[old.parents[1:]]
        offsets[1:] = rotation.rotate(rotation.inverse(self.rotations[old.parents[1:]]), offsets[1:])
        ends = np.einsum("eab,eb->ea", self.local_stretches[old.end_parents], old.end_offsets)
        return replace(old, offsets=offsets, end_offsets=ends)

    def _ground_height(self, positions: NDArray, stretches: NDArray) -> float:
        """Return the height of the lowest sole point in the rest pose; without soles, of the feet or the body."""
        points = [(p.joint, p.offset) for name, p in self.contacts.items() if name.rpartition("_")[2] in _SOLE]
        if not points:
            feet = [self.roles[f"{side}_foot"] for side in _SIDES if f"{side}_foot" in self.roles]
            joints = {joint for top in feet or [self.roles.get("hips") or 0] for joint in self._carried(top)}
            points = [(joint, (0.0, 0.0, 0.0)) for joint in joints]
            ends = zip(self.old.end_parents.tolist(), self.old.end_offsets)
            points += [(joint, offset) for joint, offset in ends if joint in joints]
        return min(
            float((positions[joint] + stretches[joint] @ rotation.rotate(self.rotations[joint], offset))[1])
            for joint, offset in points
        )

    def _carriers(self) -> list[int]:
        """Return the parent of each joint; for feet and hands attached elsewhere in the tree, the end of their limb."""
        carriers = self.old.parents.tolist()
        for limb in (_LEG, _ARM):
            for side in _SIDES:
                for above, below in pairwise(f"{side}_{part}" for part in limb):
                    upper, lower = self.roles.get(above), self.roles.get(below)
                    if upper is None or lower is None:
                        continue
                    if upper not in self.old.chain(lower) and lower not in self.old.chain(upper):
                        carriers[lower] = upper
        return carriers

    def _depth(self, joint: int) -> int:
        return 0 if joint == 0 else 1 + self._depth(self.carriers[joint])

    def _carried(self, joint: int) -> list[int]:
        """Return the joint and everything it carries."""
        found = {joint}
        for other in self.order:
            if self.carriers[other] in found:
                found.add(other)
        return sorted(found)

    def _segment_ends(self) -> dict[int, tuple[str, str]]:
        """Return joint → (part at the segment's start, part at its end), for each bone between two roles."""
        segment_ends = {}
        for joint, role in self.role_of.items():
            above = [joint]
            while self.carriers[above[-1]] >= 0 and self.carriers[above[-1]] not in self.role_of:
                above.append(self.carriers[above[-1]])
            start = self.carriers[above[-1]]
            if start >= 0:
                segment_ends |= dict.fromkeys(above, (_part(self.role_of[start]), _part(role)))
        return segment_ends

    def _lengthened(self, bone: NDArray, start: str, end: str) -> NDArray:
        """Return the new vector of a bone between two roles, without the overall scale."""
        factors = self.factors
        if start in ("hips", "spine", "neck") and end in ("clavicle", "upper_arm", "upper_leg"):
            width, rest = (factors.hips, 1.0) if end == "upper_leg" else (factors.shoulders, factors.trunk)
            sideways = (bone @ self.left) * self.left
            return width * sideways + rest * (bone - sideways)
        if end == "head":
            return factors.neck * bone
        return self._along(start) * bone

    def _along(self, part: str) -> float:
        """Return the length factor of a body part, without the overall scale."""
        f = self.factors
        return {
            "hips": f.trunk, "spine": f.trunk, "neck": f.neck, "head": f.head, "clavicle": f.shoulders,
            "upper_arm": f.arms * f.upper_arm, "lower_arm": f.arms * f.forearm, "hand": f.hands,
            "upper_leg": f.legs * f.thigh, "lower_leg": f.legs * f.shank, "foot": f.feet, "toes": f.feet,
        }[part]  # fmt: skip

    def _segments(self) -> dict[int, int | None]:
        """Return for each joint the joint whose role gives its body part; None above the hips."""
        segments: dict[int, int | None] = {-1: None}
        for joint in self.order:
            segments[joint] = joint if joint in self.role_of else segments[self.carriers[joint]]
        return segments

    def _stretch(self, joint: int) -> NDArray:
        """Return the 3×3 stretch of a joint's segment: along·aaᵀ + across·(I − aaᵀ) with a the bone axis."""
        f, segment = self.factors, self.segments[joint]
        if segment is None:
            return f.scale * np.eye(3)
        part = _part(self.role_of[segment])
        along = self._along(part)
        if part in ("head", "hand", "foot", "toes"):
            return f.scale * along * np.eye(3)
        if part in ("hips", "spine"):
            return f.scale * self._trunk_stretch(segment)
        across = f.girth if part == "clavicle" else f.limb_girth
        axis = self._bone_axis(segment)
        return f.scale * (across * np.eye(3) + (along - across) * np.outer(axis, axis))

    def _trunk_stretch(self, joint: int) -> NDArray:
        """Return the stretch along the trunk, sideways (between the hip and shoulder widths) and front to back."""
        f = self.factors
        below = [child for child in self.old.children[joint] if self.role_of.get(child) in ("spine", "neck", "head")]
        middle = self.positions[[joint, *below]].mean(axis=0)
        place = float(np.clip((middle - self.trunk_bottom) @ self.up / self.trunk_length, 0.0, 1.0))
        width = f.girth * f.hips ** (1.0 - place) * f.shoulders**place
        front = np.cross(self.left, self.up)
        return (
            f.trunk * np.outer(self.up, self.up)
            + width * np.outer(self.left, self.left)
            + f.girth * np.outer(front, front)
        )

    def _bone_axis(self, joint: int) -> NDArray:
        """Return the direction from a joint with a role to the next role, or to the mean of all it carries."""
        carried = [other for other in self._carried(joint) if other != joint]
        targets = [other for other in carried if other in self.role_of][:1] or carried or [joint]
        return _unit(self.positions[targets].mean(axis=0) - self.positions[joint], self.up)

    def _trunk_axis(self) -> tuple[NDArray, NDArray, float]:
        """Return the direction of the trunk, its lower end and its length, from the hips to the base of the neck."""
        bottom = self.positions[self.roles.get("hips") or 0]
        tops = [self.roles[role] for role in ("neck", "head", "left_upper_arm") if role in self.roles]
        tops += self.roles.joints.get("spine", ())[-1:]
        reach = self.positions[tops[0]] - bottom if tops else rotation.AXES["y"]
        return _unit(reach, rotation.AXES["y"]), bottom, float(np.linalg.norm(reach)) or 1.0

    def _left_axis(self) -> NDArray:
        """Return the direction to the character's left, perpendicular to the trunk."""
        for part in ("upper_leg", "upper_arm", "clavicle"):
            pair = [self.roles[f"{side}_{part}"] for side in _SIDES if f"{side}_{part}" in self.roles]
            if len(pair) == 2:
                across = self.positions[pair[0]] - self.positions[pair[1]]
                across = across - (across @ self.up) * self.up
                if np.linalg.norm(across) > 1e-9:
                    return _unit(across, rotation.AXES["x"])
        helper = rotation.AXES["x"] if abs(self.up[0]) < 0.9 else rotation.AXES["z"]
        return _unit(helper - (helper @ self.up) * self.up, helper)


def _part(role: str) -> str:
    """Return the role without its side."""
    side, _, part = role.partition("_")
    return part if side in _SIDES else role


def _unit(vector: NDArray, otherwise: NDArray) -> NDArray:
    length = np.linalg.norm(vector)
    return vector / length if length > 1e-9 else otherwise


def _stature(skeleton: Skeleton, contacts: Mapping[str, Point], roles: Roles) -> float:
    """Return the length from sole to crown over leg and trunk, joint to joint, metres; independent of the pose."""
    positions = skeleton.rest_world[0]

    def length(*names: str) -> float:
        joints = [joint for name in names for joint in roles.joints.get(name, ())]
        return float(np.linalg.norm(np.diff(positions[joints], axis=0), axis=-1).sum()) if joints else 0.0

    total = length("hips", "spine", "neck", "head") + length("left_upper_leg", "left_lower_leg", "left_foot")
    legs = [roles[f"{side}_upper_leg"] for side in _SIDES if f"{side}_upper_leg" in roles]
    if legs:
        total += float(np.linalg.norm(positions[legs].mean(axis=0) - positions[roles.get("hips") or 0]))
    if "left_heel" in contacts:
        total += float(np.linalg.norm(contacts["left_heel"].offset))
    crowns = skeleton.end_offsets[skeleton.end_parents == roles.get("head")]
    return total + float(np.linalg.norm(crowns, axis=-1).max(initial=0.0)) or 1.0


def _refit(skin: Skin, skeleton: Skeleton, local_stretches: NDArray) -> Skin:
    """Return the skin stretched with the segments and bound to the new rest pose."""
    positions, rotations = skeleton.rest_world
    turns = rotation.to_matrix(rotations)
    matrices_of_joints = np.tile(np.eye(4), (len(skeleton), 1, 1))
    matrices_of_joints[:, :3, :3] = turns @ local_stretches
    matrices_of_joints[:, :3, 3] = positions
    matrices = np.einsum("vk,vkab->vab", skin.weights, (matrices_of_joints @ skin.inverse_bind)[skin.joints])
    vertices = np.einsum("vab,vb->va", matrices[:, :3, :3], skin.vertices) + matrices[:, :3, 3]
    normals = skin.normals
    if normals is not None:
        normals = np.einsum("vba,vb->va", np.linalg.pinv(matrices[:, :3, :3]), normals)
        normals = normals / np.maximum(np.linalg.norm(normals, axis=-1, keepdims=True), 1e-300)
    inverse_bind = np.tile(np.eye(4), (len(skeleton), 1, 1))
    inverse_bind[:, :3, :3] = turns.swapaxes(-1, -2)
    inverse_bind[:, :3, 3] = -np.einsum("jba,jb->ja", turns, positions)
    return replace(skin, vertices=vertices, normals=normals, inverse_bind=inverse_bind)
