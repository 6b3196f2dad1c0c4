"""A body with markers on it: where they are for given lengths, places on the segments and poses, and how that changes.

What is solved for is kept apart: `lengths` (factors of `Proportions`), `offsets` of the markers in the frames of their
segments, and poses. Residuals are in metres over the spread that is expected of them, so that all count alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant import humanoid, rotation
from footplant.errors import MotionError
from footplant.humanoid.proportions import Proportions, apply_proportions
from footplant.optical.marker_sets import AT_HIP, FAR, LANDMARKS, Stuck
from footplant.skeleton import Character

MANNEQUIN_HEIGHT = 1.75
"""Metres; the figure that the places of landmarks are told for."""
LENGTHS = ("thigh", "shank", "feet", "hips", "trunk", "neck", "shoulders", "upper_arm", "forearm")
"""Factors of the body that are estimated, beside its overall scale."""
ANY = 3.0
"""Radians; the spread of a joint that is free to turn."""
_STIFF: dict[str, tuple[float, float, float]] = {
    "hips": (ANY, ANY, ANY),
    "spine": (0.25, 0.2, 0.25),
    "neck": (0.4, 0.4, 0.4),
    "head": (0.4, 0.4, 0.4),
    "clavicle": (0.05, 0.12, 0.12),
    "upper_arm": (ANY, ANY, ANY),
    "lower_arm": (ANY, ANY, 0.3),
    "hand": (0.2, 0.4, 0.4),
    "upper_leg": (ANY, ANY, ANY),
    "lower_leg": (ANY, 0.2, 0.1),
    "foot": (0.6, 0.3, 0.3),
    "toes": (0.3, 0.05, 0.05),
}
"""Role → spread of its turn from the neutral pose about the axes x, y, z of the T-pose, radians: a knee bends about x,
an elbow about y, and the forearm turns about its own length."""
_ONE_WAY = {
    "left_lower_leg": (0, 1.0),
    "right_lower_leg": (0, 1.0),
    "left_lower_arm": (1, -1.0),
    "right_lower_arm": (1, 1.0),
}
"""Role → the axis about which it bends and the sign with which it does: knees and elbows do not bend back."""
_LIMBS = ("lower_arm", "hand", "lower_leg", "foot", "toes")
"""Ends of roles whose joints are beyond shoulder and hip."""
BACK = 0.03
"""Radians; the spread of a joint that bends the wrong way."""
VERTEBRAE, HEAD = 0.04, 0.15
"""Radians; how differently neighbouring vertebrae turn, and the head and the neck. A spine bends as a whole: were each
joint free, it would buckle and swallow the noise along it."""
GUESSED = 0.05
"""Metres; how far off a marker may be that was guessed from a pose."""
_HANGING = 1.2
"""Radians that arms hang down from the T-pose in the neutral pose."""


@dataclass(frozen=True, eq=False)
class MarkerBody:
    """A character, and which marker is on which of its segments."""

    base: Character
    """The figure whose proportions are changed; without a skin."""
    stuck: tuple[Stuck, ...]

    @classmethod
    def of(cls, character: Character, stuck: Sequence[Stuck]) -> MarkerBody:
        """A body for a character; markers on segments that it does not have are an error."""
        roles = character.require_roles()
        for item in stuck:
            if _joint(roles, item.role) is None:
                raise MotionError(f"expected a figure with a {item.role.replace('_', ' ')}, got {character.name!r}")
        return cls(replace(character, skin=None), tuple(stuck))

    @cached_property
    def segments(self) -> NDArray:
        """(M,) the joint that carries each marker."""
        roles = self.base.require_roles()
        return np.array([_joint(roles, item.role) for item in self.stuck], np.int64)

    @cached_property
    def reference(self) -> NDArray:
        """(J, 4) local rotations of the T-pose."""
        return humanoid.reference_pose(self.base.skeleton, self.base.require_roles())

    @cached_property
    def frames(self) -> NDArray:
        """(J, 4) world rotations of the joints in the T-pose."""
        return self.base.skeleton.posed(self.reference)[1]

    @cached_property
    def neutral(self) -> NDArray:
        """(J, 4) local rotations of somebody who stands with hanging arms: what parts without markers do."""
        roles, pose = self.base.require_roles(), np.array(self.reference)
        for side, sign in (("left", -1.0), ("right", 1.0)):
            joint = roles.get(f"{side}_upper_arm")
            if joint is not None:
                axis = rotation.rotate(rotation.inverse(self.frames[joint]), [0.0, 0.0, 1.0])
                pose[joint] = rotation.multiply(pose[joint], rotation.exp(sign * _HANGING * axis))
        return pose

    @cached_property
    def active(self) -> NDArray:
        """(A,) joints that turn: those that move a marker."""
        inside = np.zeros(len(self.base.skeleton), bool)
        for joint in self.segments:
            while joint >= 0 and not inside[joint]:
                inside[joint] = True
                joint = self.base.skeleton.parents[joint]
        return np.flatnonzero(inside)

    @cached_property
    def moves(self) -> NDArray:
        """(A, M) bool: whether a joint moves a marker when it turns."""
        below = [set(self.base.skeleton.descendants(int(joint))) for joint in self.active]
        return np.array([[int(segment) in inside for segment in self.segments] for inside in below])

    @cached_property
    def spreads(self) -> NDArray:
        """(A, 3) how far each joint turns from the neutral pose about the axes of the T-pose, radians."""
        kind = {}
        for role, joints in self.base.require_roles().joints.items():
            kind |= dict.fromkeys(joints, role.removeprefix("left_").removeprefix("right_"))
        return np.array([_STIFF.get(kind.get(int(joint), ""), (0.02, 0.02, 0.02)) for joint in self.active])

    @cached_property
    def limbs(self) -> NDArray:
        """(A,) bool: whether a joint is one of an arm or a leg, beyond shoulder and hip."""
        roles = self.base.require_roles()
        own = {joint for role, joints in roles.joints.items() if role.endswith(_LIMBS) for joint in joints}
        return np.array([int(joint) in own for joint in self.active])

    @cached_property
    def one_way(self) -> NDArray:
        """(A, 3) the sign with which a joint turns about an axis of the T-pose; 0 where it may turn both ways."""
        roles, out = self.base.require_roles(), np.zeros((len(self.active), 3))
        for role, (axis, sign) in _ONE_WAY.items():
            out[self.active == roles.get(role), axis] = sign
        return out

    @cached_property
    def mates(self) -> NDArray:
        """(A,) the place among the active joints of what each one turns like (the vertebra below, the neck), or −1."""
        roles, out = self.base.require_roles(), np.full(len(self.active), -1)
        for below, above in (*pairwise(roles.joints.get("spine", ())), (roles.get("neck"), roles.get("head"))):
            if below is not None:
                out[self.active == above] = self.rows[below]
        return out

    @cached_property
    def alike(self) -> NDArray:
        """(A,) how differently each joint turns from its mate, radians."""
        return np.where(self.active == self.base.require_roles().get("head"), HEAD, VERTEBRAE)

    @cached_property
    def axes(self) -> NDArray:
        """(A, 3, 3) from the frame of each active joint to the axes of the T-pose."""
        return rotation.to_matrix(self.frames[self.active])

    @cached_property
    def rows(self) -> NDArray:
        """(J,) the place of each joint among the active ones; −1 for those that do not turn."""
        rows = np.full(len(self.base.skeleton), -1)
        rows[self.active] = np.arange(len(self.active))
        return rows

    @cached_property
    def landmarks(self) -> Landmarks:
        """Where markers are expected on the base."""
        from footplant.samples import load_character

        mannequin = load_character("mannequin")
        size = (self.base.height or MANNEQUIN_HEIGHT) / MANNEQUIN_HEIGHT
        places = mannequin.skeleton.posed(mannequin.skeleton.rest)[0]
        roles, own_roles, parents = mannequin.require_roles(), self.base.require_roles(), self.base.skeleton.parents
        count = len(self.stuck)
        along, share, across, spread = np.full(count, -1), np.zeros(count), np.zeros((count, 3)), np.empty(count)
        for row, (item, joint) in enumerate(zip(self.stuck, self.segments, strict=True)):
            own, end, own_end = _joint(roles, item.role), _end(roles, item), _end(own_roles, item)
            assert own is not None
            if item.place is not None:
                world, spread[row] = np.array(item.place), GUESSED
            elif item.landmark is None:
                # somewhere on the segment: its middle
                below = [child for child in range(len(places)) if mannequin.skeleton.parents[child] == own]
                world = np.mean([places[own], *places[below]], axis=0)
                spread[row] = 2.0 * FAR
            else:
                landmark = LANDMARKS[item.landmark]
                world = np.array(landmark.place) * [item.side, 1.0, 1.0]
                spread[row] = landmark.spread
            reach = world - places[own]
            if end is not None and own_end is not None and parents[own_end] == joint:
                bone = places[end] - places[own]
                along[row], share[row] = own_end, 1.0 if item.landmark in AT_HIP else reach @ bone / (bone @ bone)
                reach = reach - share[row] * bone
            across[row] = rotation.rotate(rotation.inverse(self.frames[joint]), size * reach)
        return Landmarks(along, share, across, size * spread)

    def character(self, lengths: NDArray) -> Character:
        """The base with lengths: overall scale first, then `LENGTHS` relative to it."""
        factors = dict(zip(LENGTHS, (float(value) for value in lengths[1:]), strict=True))
        return apply_proportions(self.base, Proportions(scale=float(lengths[0]), **factors))

    def bones(self, lengths: NDArray) -> NDArray:
        """(J, 3) offsets of the joints for lengths."""
        return self.character(lengths).skeleton.offsets

    @cached_property
    def _lengthening(self) -> NDArray:
        """(1 + L, J, 3) offsets of the base, and what a whole factor more of each of `LENGTHS` adds to them."""
        ones = np.ones(1 + len(LENGTHS))
        longer = [self.bones(ones + row) for row in np.eye(len(ones))[1:]]
        base = self.bones(ones)
        return np.array([base, *(offsets - base for offsets in longer)])

    def bone_changes(self, lengths: NDArray) -> NDArray:
        """(1 + L, J, 3) how the offsets change with each of the lengths: bones are as long as their factors."""
        base, parts = self._lengthening[0], self._lengthening[1:]
        return np.array([base + np.tensordot(lengths[1:] - 1.0, parts, 1), *(lengths[0] * parts)])


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Where markers are expected on a body, in the frames of their segments.

    A knee's marker is at the knee however long the thigh is: the place goes along the bone in proportion.
    """

    along: NDArray
    """(M,) the joint at the other end of the bone; −1 for segments that have none."""
    share: NDArray
    """(M,) how far along it, 0 at the near end and 1 at the far end."""
    across: NDArray
    """(M, 3) what is to be added for a body of scale 1, metres."""
    spread: NDArray
    """(M,) how far from there a marker may be, metres."""

    def places(self, bones: NDArray, girth: float) -> NDArray:
        """(M, 3) for a body with these bones that is so many times as thick; metres."""
        bone = np.where(self.along[:, None] >= 0, bones[self.along], 0.0)
        return self.share[:, None] * bone + girth * self.across

    def changes(self, bone_changes: NDArray) -> NDArray:
        """(M, 3, L) how they change with the lengths, on a body of the same girth."""
        bone = np.where(self.along[:, None] >= 0, bone_changes[:, self.along], 0.0)
        return np.moveaxis(self.share[:, None] * bone, 0, -1)


_NEXT = {
    "chest": "neck", "clavicle": "upper_arm", "upper_arm": "lower_arm", "lower_arm": "hand",
    "upper_leg": "lower_leg", "lower_leg": "foot", "foot": "toes",
}  # fmt: skip


def _end(roles, item: Stuck) -> int | None:
    """The joint at the other end of the bone that a marker sits along: of the pelvis, the spine's first or a hip."""
    side = next((side for side in ("left_", "right_") if item.role.startswith(side)), "")
    if item.role == "hips":
        hip = roles.get("left_upper_leg" if item.side > 0 else "right_upper_leg")
        return hip if item.landmark in AT_HIP else next(iter(roles.joints.get("spine", ())), None)
    found = _NEXT.get(item.role.removeprefix(side))
    return None if found is None else roles.get(side + found)


def _joint(roles, role: str) -> int | None:
    """The joint of a role; the chest is the last vertebra, and who has no collar bone wears its marker there."""
    if role == "chest":
        spine = roles.joints.get("spine", ())
        return int(spine[-1]) if spine else roles.get("hips")
    found = roles.get(role)
    return _joint(roles, "chest") if found is None and role.endswith("clavicle") else found


@dataclass(frozen=True, eq=False)
class Poses:
    """Poses of a body at some frames."""

    root: NDArray
    """(F, 3) metres."""
    rotations: NDArray
    """(F, J, 4) local rotations."""

    def __len__(self) -> int:
        """How many."""
        return len(self.root)

    def __getitem__(self, rows) -> Poses:
        """Some of them."""
        return Poses(self.root[rows], self.rotations[rows])

    def moved(self, step: NDArray, active: NDArray) -> Poses:
        """The poses after a step (F, 3 + 3A): the root's, then a rotation vector for each active joint."""
        rotations = np.array(self.rotations)
        turns = step[:, 3:].reshape(len(step), -1, 3)
        rotations[:, active] = rotation.multiply(rotations[:, active], rotation.exp(turns))
        return Poses(self.root + step[:, :3], rotation.normalize(rotations))


@dataclass(frozen=True, eq=False)
class Seen:
    """Where the markers of a body are in some poses, with what is needed to say how that changes."""

    places: NDArray
    """(F, M, 3) metres."""
    joints: NDArray
    """(F, J, 3) metres."""
    turned: NDArray
    """(F, J, 4) world rotations."""


def see(body: MarkerBody, bones: NDArray, offsets: NDArray, poses: Poses) -> Seen:
    """Where the markers are: bones (J, 3), offsets (M, 3) of markers in their segments' frames."""
    from footplant.kernels import fk

    count, joints = poses.rotations.shape[:2]
    places, turned = np.empty((count, joints, 3)), np.empty((count, joints, 4))
    fk.forward(body.base.skeleton.parents, bones[None], poses.root, poses.rotations, places, turned)
    markers = places[:, body.segments] + rotation.rotate(turned[:, body.segments], offsets)
    return Seen(markers, places, turned)


def pose_changes(body: MarkerBody, seen: Seen) -> NDArray:
    """(F, M, 3, 3 + 3A) how the markers move with a step of `Poses.moved`."""
    count, markers = seen.places.shape[:2]
    out = np.zeros((count, markers, 3, 3 + 3 * len(body.active)))
    out[..., :3] = np.eye(3)
    axes = rotation.to_matrix(seen.turned[:, body.active])
    for row, joint in enumerate(body.active):
        on = np.flatnonzero(body.moves[row])
        arm = seen.places[:, on] - seen.joints[:, None, joint]
        out[:, on, :, 3 + 3 * row : 6 + 3 * row] = _cross(axes[:, None, row], arm[..., None])
    return out


def _cross(a: NDArray, b: NDArray) -> NDArray:
    """Cross products along the axis before the last."""
    (ax, ay, az), (bx, by, bz) = (
        np.moveaxis(np.broadcast_to(v, np.broadcast_shapes(a.shape, b.shape)), -2, 0) for v in (a, b)
    )
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-2)


def joint_changes(body: MarkerBody, seen: Seen, changes: NDArray) -> NDArray:
    """(F, J, 3, L) how the joints move with the lengths; changes: `MarkerBody.bone_changes`."""
    parents = body.base.skeleton.parents
    count, joints = seen.joints.shape[:2]
    moved = np.zeros((count, joints, 3, len(changes)))
    axes = rotation.to_matrix(seen.turned)
    for joint in range(1, joints):
        moved[:, joint] = moved[:, parents[joint]] + axes[:, parents[joint]] @ changes[:, joint].T
    return moved


def length_changes(body: MarkerBody, seen: Seen, changes: NDArray) -> NDArray:
    """(F, M, 3, L) how the markers move with the lengths; changes: `MarkerBody.bone_changes`."""
    return joint_changes(body, seen, changes)[:, body.segments]
