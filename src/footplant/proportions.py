"""The same figure with longer legs, a shorter trunk, a fat belly: bones, soles, masses and skin together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import SkeletonError
from footplant.skeleton import Character, Point, Roles, Skeleton, Skin

_SIDES = ("left", "right")
_SOLE = ("heel", "ball", "toe")


@dataclass(frozen=True)
class Proportions:
    """Factors on the proportions of a figure; 1 leaves a part as it is. Factors that concern one bone multiply."""

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
    """Size of the head, all ways."""
    shoulders: float = 1.0
    """Width of the shoulders: length of the clavicles, and how far apart they begin."""
    hips: float = 1.0
    """Width between the hip joints."""
    feet: float = 1.0
    """Size of the feet with the height of the ankle, all ways, so that soles stay flat."""
    hands: float = 1.0
    """Size of the hands with their fingers, all ways."""
    girth: float = 1.0
    """Thickness of the trunk, sideways and front to back. Moves no joint, only skin and mass."""
    limb_girth: float = 1.0
    """Thickness of arms, legs and neck."""
    thigh: float = 1.0
    """Length of the thigh, on top of `legs`."""
    shank: float = 1.0
    """Length of the shank, on top of `legs`."""
    upper_arm: float = 1.0
    """Length of the upper arm, on top of `arms`."""
    forearm: float = 1.0
    """Length of the forearm, on top of `arms`."""

    def __post_init__(self) -> None:
        """Refuse what no body can have."""
        for item in fields(self):
            value = getattr(self, item.name)
            if not (isinstance(value, (int, float, np.number)) and np.isfinite(value) and value > 0):
                raise SkeletonError(f"expected a positive, finite factor for {item.name}, got {value!r}")


def apply_proportions(character: Character, proportions: Proportions) -> Character:
    """The character with other proportions: roles decide which factor a bone gets.

    Joints without a role on the way between two that have one (dummies, twist joints) share the length of that segment;
    what hangs on a segment moves with it. Joints keep their names, order and rest rotations, so that motions fit both
    figures. The lowest point of the soles keeps its height: the hips go up or down. Limits stay, mass shares follow the
    segments' volumes, and the skin is fitted: v' = Σ w_i T'_i S_i B_i⁻¹ v, where S_i stretches along the bone by its
    length factor and across by its girth factor; it is bound to the new rest pose. The file's own document
    (`Character.source`) is dropped, because its meshes no longer fit. With all factors 1 it is the character itself.
    """
    if proportions == Proportions():
        return character
    plan = _Plan(character, proportions)
    skeleton = plan.skeleton()
    masses, centers = character.masses, character.mass_centers
    if masses is not None:
        masses = masses * np.linalg.det(plan.stretches)
        masses = masses / masses.sum()
    if centers is not None:
        centers = np.einsum("jab,jb->ja", plan.local_stretches, centers)
    contacts = {name: _stretched(point, plan.local_stretches) for name, point in character.contacts.items()}
    return replace(
        character,
        skeleton=skeleton,
        contacts=contacts,
        masses=masses,
        mass_centers=centers,
        skin=None if character.skin is None else _refit(character.skin, skeleton, plan.local_stretches),
        height=character.height * _standing_path(skeleton, plan.roles, contacts) / plan.standing_path,
        source=None,
    )


class _Plan:
    """How each joint's segment stretches, and the bones that follow from it."""

    def __init__(self, character: Character, proportions: Proportions) -> None:
        self.old = character.skeleton
        self.roles = character.require_roles()
        self.factors = proportions
        self.contacts = character.contacts
        self.positions, self.rotations = self.old.rest_world
        # fingers, twist joints and the face have roles too, but belong to the segment they hang on
        self.role_of = {
            joint: role for role, joints in self.roles.joints.items() if _part(role) in _PARTS for joint in joints
        }
        self.standing_path = _standing_path(self.old, self.roles, self.contacts)
        self.up, self.trunk_bottom, self.trunk_length = self._trunk_axis()
        self.left = self._left_axis()
        self.segments = self._segments()
        self.stretches = np.array([self._stretch(joint) for joint in range(len(self.old))])
        """(J, 3, 3) how each segment is stretched, in world axes of the rest pose."""
        turns = rotation.to_matrix(self.rotations)
        self.local_stretches = turns.swapaxes(-1, -2) @ self.stretches @ turns
        """(J, 3, 3) the same in each joint's own axes."""

    def skeleton(self) -> Skeleton:
        """The old skeleton with new bones, its soles as high as before."""
        old, factors = self.old, self.factors
        world = np.array(self.positions)
        world[1:] -= self.positions[old.parents[1:]]
        bones = np.einsum("jab,jb->ja", self.stretches[old.parents], world)
        bones[0] = world[0]
        for joint, (start, end) in self._ways().items():
            bones[joint] = factors.scale * self._lengthened(world[joint], start, end)
        offsets = np.array(old.offsets)
        offsets[1:] = rotation.rotate(rotation.inverse(self.rotations[old.parents[1:]]), bones[1:])
        ends = np.einsum("eab,eb->ea", self.local_stretches[old.end_parents], old.end_offsets)
        new = replace(old, offsets=offsets, end_offsets=ends)

        contacts = {name: _stretched(point, self.local_stretches) for name, point in self.contacts.items()}
        rise = _ground_height(old, self.contacts) - _ground_height(new, contacts)
        hips = self.roles.get("hips") or 0
        lift = np.array([0.0, rise, 0.0])
        offsets[hips] += (
            lift if hips == 0 else rotation.rotate(rotation.inverse(self.rotations[old.parents[hips]]), lift)
        )
        return replace(new, offsets=offsets)

    def _ways(self) -> dict[int, tuple[str, str]]:
        """Joint → roles of the segment's beginning and end, for each bone on the way from one role to the next."""
        ways = {}
        for joint, role in self.role_of.items():
            above = [joint]
            while above[-1] > 0 and int(self.old.parents[above[-1]]) not in self.role_of:
                above.append(int(self.old.parents[above[-1]]))
            start = int(self.old.parents[above[-1]])
            if start >= 0:
                ways |= dict.fromkeys(above, (_part(self.role_of[start]), _part(role)))
        return ways

    def _lengthened(self, bone: NDArray, start: str, end: str) -> NDArray:
        """A bone on the way between two roles, in world axes, without the overall scale."""
        factors = self.factors
        if start in ("hips", "spine", "neck") and end in ("clavicle", "upper_arm", "upper_leg"):
            width, rest = (factors.hips, 1.0) if end == "upper_leg" else (factors.shoulders, factors.trunk)
            sideways = (bone @ self.left) * self.left
            return width * sideways + rest * (bone - sideways)
        if start == "spine" and end == "head":
            return factors.neck * bone
        return self._along(start) * bone

    def _along(self, part: str) -> float:
        """Length factor of a part of the body, without the overall scale."""
        f = self.factors
        return {
            "hips": f.trunk, "spine": f.trunk, "neck": f.neck, "head": f.head, "clavicle": f.shoulders,
            "upper_arm": f.arms * f.upper_arm, "lower_arm": f.arms * f.forearm, "hand": f.hands,
            "upper_leg": f.legs * f.thigh, "lower_leg": f.legs * f.shank, "foot": f.feet, "toes": f.feet,
        }.get(part, 1.0)  # fmt: skip

    def _segments(self) -> list[int | None]:
        """For each joint the one whose role says which part of the body it belongs to; None above the hips."""
        segments: list[int | None] = []
        for joint, parent in enumerate(self.old.parents.tolist()):
            segments.append(joint if joint in self.role_of else (segments[parent] if parent >= 0 else None))
        return segments

    def _stretch(self, joint: int) -> NDArray:
        """The 3×3 stretch of a joint's segment in world axes of the rest pose."""
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
        """Along the trunk, sideways (from the width of the hips to that of the shoulders) and front to back."""
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
        """World direction from a joint with a role to the next role below it, or to the middle of what it carries."""
        below = [other for other in self.old.descendants(joint)[1:] if other in self.role_of]
        targets = self.positions[below[:1] or list(self.old.descendants(joint))]
        return _unit(targets.mean(axis=0) - self.positions[joint], self.up)

    def _trunk_axis(self) -> tuple[NDArray, NDArray, float]:
        """World direction of the trunk, its lower end and its length, from the hips to the base of the neck."""
        bottom = self.positions[self.roles.get("hips") or 0]
        ends = [role for role in ("neck", "head", "left_upper_arm") if role in self.roles]
        if not ends and "spine" not in self.roles:
            return rotation.AXES["y"], bottom, 1.0
        top = self.roles[ends[0]] if ends else self.roles.joints["spine"][-1]
        reach = self.positions[top] - bottom
        length = float(np.linalg.norm(reach))
        return _unit(reach, rotation.AXES["y"]), bottom, length or 1.0

    def _left_axis(self) -> NDArray:
        """World direction to the figure's left, at a right angle to the trunk."""
        for role in ("upper_leg", "upper_arm", "clavicle"):
            pair = [self.roles.get(f"{side}_{role}") for side in _SIDES]
            if None not in pair:
                across = self.positions[pair[0]] - self.positions[pair[1]]
                across = across - (across @ self.up) * self.up
                if np.linalg.norm(across) > 1e-9:
                    return _unit(across, rotation.AXES["x"])
        helper = rotation.AXES["x"] if abs(self.up[0]) < 0.9 else rotation.AXES["z"]
        return _unit(helper - (helper @ self.up) * self.up, helper)


_PARTS = {
    "hips", "spine", "neck", "head", "clavicle", "upper_arm", "lower_arm", "hand",
    "upper_leg", "lower_leg", "foot", "toes",
}  # fmt: skip


def _part(role: str) -> str:
    """The role without its side."""
    side, _, part = role.partition("_")
    return part if side in _SIDES else role


def _unit(vector: NDArray, otherwise: NDArray) -> NDArray:
    length = np.linalg.norm(vector)
    return vector / length if length > 1e-9 else otherwise


def _stretched(point: Point, local_stretches: NDArray) -> Point:
    return replace(point, offset=tuple((local_stretches[point.joint] @ point.offset).tolist()))


def _ground_height(skeleton: Skeleton, contacts: Mapping[str, Point]) -> float:
    """Height of the lowest point of the soles in the rest pose; of the lowest joint where no soles are known."""
    positions, rotations = skeleton.rest_world
    soles = [point for name, point in contacts.items() if name.rpartition("_")[2] in _SOLE]
    if not soles:
        return float(min(positions[:, 1].min(), skeleton.rest_ends[:, 1].min(initial=np.inf)))
    return min(float((positions[p.joint] + rotation.rotate(rotations[p.joint], p.offset))[1]) for p in soles)


def _standing_path(skeleton: Skeleton, roles: Roles, contacts: Mapping[str, Point]) -> float:
    """Length from the sole over leg and trunk to the crown, metres, along the bones, so that no pose changes it."""
    hips = roles.get("hips") or 0

    def path(top: int | None, bottom: int | None) -> float:
        if top is None or bottom is None or top not in skeleton.chain(bottom):
            return 0.0
        return float(np.linalg.norm(skeleton.offsets[list(skeleton.chain(bottom, top)[1:])], axis=-1).sum())

    length = path(hips, roles.get("head"))
    legs = [roles[f"{side}_upper_leg"] for side in _SIDES if f"{side}_upper_leg" in roles]
    if legs:
        places = skeleton.rest_world[0]
        length += float(np.linalg.norm(places[legs].mean(axis=0) - places[hips]))
    length += path(roles.get("left_upper_leg"), roles.get("left_foot"))
    if "left_heel" in contacts:
        length += float(np.linalg.norm(contacts["left_heel"].offset))
    crowns = skeleton.end_offsets[skeleton.end_parents == roles.get("head")]
    return length + float(np.linalg.norm(crowns, axis=-1).max(initial=0.0)) or 1.0


def _refit(skin: Skin, skeleton: Skeleton, local_stretches: NDArray) -> Skin:
    """The skin stretched with the segments and bound to the new rest pose."""
    positions, rotations = skeleton.rest_world
    turns = rotation.to_matrix(rotations)
    carry = np.tile(np.eye(4), (len(skeleton), 1, 1))
    carry[:, :3, :3] = turns @ local_stretches
    carry[:, :3, 3] = positions
    matrices = np.einsum("vk,vkab->vab", skin.weights, (carry @ skin.inverse_bind)[skin.joints])
    vertices = np.einsum("vab,vb->va", matrices[:, :3, :3], skin.vertices) + matrices[:, :3, 3]
    normals = skin.normals
    if normals is not None:
        normals = np.einsum("vba,vb->va", np.linalg.pinv(matrices[:, :3, :3]), normals)
        normals = normals / np.maximum(np.linalg.norm(normals, axis=-1, keepdims=True), 1e-300)
    inverse_bind = np.tile(np.eye(4), (len(skeleton), 1, 1))
    inverse_bind[:, :3, :3] = turns.swapaxes(-1, -2)
    inverse_bind[:, :3, 3] = -np.einsum("jba,jb->ja", turns, positions)
    return replace(skin, vertices=vertices, normals=normals, inverse_bind=inverse_bind)
