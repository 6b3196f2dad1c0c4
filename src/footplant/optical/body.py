"""A body with markers: marker positions for given lengths, offsets on the segments and poses, and their Jacobians.

The unknowns are kept apart: `lengths` (factors of `Proportions`), `offsets` of the markers in the frames of their
segments, and poses. Residuals are divided by their expected spread, so that all have the same weight.
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
from footplant.optical.marker_sets import AT_HIP, LANDMARKS, ON_SOFT_TISSUE, MarkerPlacement
from footplant.optical.settings import BODY_PRIOR, POSE
from footplant.skeleton import Character

MANNEQUIN_HEIGHT = 1.75
"""Metres; height of the character for which landmark positions are given."""
LENGTHS = ("thigh", "shank", "feet", "hips", "trunk", "neck", "shoulders", "upper_arm", "forearm")
"""Factors of the body that are estimated, besides its overall scale."""
_FREE = POSE.free
_SPREADS: dict[str, tuple[float, float, float]] = {
    "hips": (_FREE, _FREE, _FREE),
    "spine": (0.25, 0.2, 0.25),
    "neck": (0.4, 0.4, 0.4),
    "head": (0.4, 0.4, 0.4),
    "clavicle": (0.05, 0.12, 0.12),
    "upper_arm": (_FREE, _FREE, _FREE),
    "lower_arm": (_FREE, _FREE, 0.3),
    "hand": (0.2, 0.4, 0.4),
    "upper_leg": (_FREE, _FREE, _FREE),
    "lower_leg": (_FREE, 0.2, 0.1),
    "foot": (0.6, 0.3, 0.3),
    "toes": (0.3, 0.05, 0.05),
}
"""Role → spread of its rotation from the neutral pose about the axes x, y, z of the T-pose, radians: a knee bends about
x, an elbow about y, and the forearm twists about its own length."""
_ONE_WAY = {
    "left_lower_leg": (0, 1.0),
    "right_lower_leg": (0, 1.0),
    "left_lower_arm": (1, -1.0),
    "right_lower_arm": (1, 1.0),
}
"""Role → the axis about which it bends and the sign: knees and elbows do not hyperextend."""
_LIMBS = ("lower_arm", "hand", "lower_leg", "foot", "toes")
"""Suffixes of roles beyond shoulder and hip."""


@dataclass(frozen=True, eq=False)
class MarkerBody:
    """A character and the placement of markers on its segments."""

    base: Character
    """The character whose proportions are changed; without a skin."""
    placements: tuple[MarkerPlacement, ...]

    @classmethod
    def of(cls, character: Character, placements: Sequence[MarkerPlacement]) -> MarkerBody:
        """Build a body from a character; raise for markers on segments that it does not have."""
        roles = character.require_roles()
        for item in placements:
            if _joint(roles, item.role) is None:
                role = item.role.replace("_", " ")
                raise MotionError(f"expected a character with a {role}, got {character.name!r}")
        return cls(replace(character, skin=None), tuple(placements))

    @cached_property
    def segments(self) -> NDArray:
        """(M,) the joint that carries each marker."""
        roles = self.base.require_roles()
        return np.array([_joint(roles, item.role) for item in self.placements], np.int64)

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
        """(J, 4) local rotations of a body standing with hanging arms: the pose of parts without markers."""
        roles, pose = self.base.require_roles(), np.array(self.reference)
        for side, sign in (("left", -1.0), ("right", 1.0)):
            joint = roles.get(f"{side}_upper_arm")
            if joint is not None:
                axis = rotation.rotate(rotation.inverse(self.frames[joint]), [0.0, 0.0, 1.0])
                pose[joint] = rotation.multiply(pose[joint], rotation.exp(sign * POSE.hanging * axis))
        return pose

    @cached_property
    def active(self) -> NDArray:
        """(A,) joints that are solved for: those that move a marker."""
        inside = np.zeros(len(self.base.skeleton), bool)
        for joint in self.segments:
            while joint >= 0 and not inside[joint]:
                inside[joint] = True
                joint = self.base.skeleton.parents[joint]
        return np.flatnonzero(inside)

    @cached_property
    def moves(self) -> NDArray:
        """(A, M) bool: whether a joint's rotation moves a marker."""
        below = [set(self.base.skeleton.descendants(int(joint))) for joint in self.active]
        return np.array([[int(segment) in inside for segment in self.segments] for inside in below])

    @cached_property
    def spreads(self) -> NDArray:
        """(A, 3) spread of each joint's rotation from the neutral pose about the axes of the T-pose, radians."""
        kind = {}
        for role, joints in self.base.require_roles().joints.items():
            kind |= dict.fromkeys(joints, role.removeprefix("left_").removeprefix("right_"))
        other = (POSE.other, POSE.other, POSE.other)
        return np.array([_SPREADS.get(kind.get(int(joint), ""), other) for joint in self.active])

    @cached_property
    def limbs(self) -> NDArray:
        """(A,) bool: whether a joint belongs to an arm or leg, beyond shoulder and hip."""
        roles = self.base.require_roles()
        own = {joint for role, joints in roles.joints.items() if role.endswith(_LIMBS) for joint in joints}
        return np.array([int(joint) in own for joint in self.active])

    @cached_property
    def one_way(self) -> NDArray:
        """(A, 3) the sign with which a hinge bends about an axis of the T-pose; 0 where it may bend both ways."""
        roles, out = self.base.require_roles(), np.zeros((len(self.active), 3))
        for role, (axis, sign) in _ONE_WAY.items():
            out[self.active == roles.get(role), axis] = sign
        return out

    @cached_property
    def coupled(self) -> NDArray:
        """(A,) index of the active joint that each is coupled to (the vertebra below, the neck), or −1."""
        roles, out = self.base.require_roles(), np.full(len(self.active), -1)
        for below, above in (*pairwise(roles.joints.get("spine", ())), (roles.get("neck"), roles.get("head"))):
            if below is not None:
                out[self.active == above] = self.rows[below]
        return out

    @cached_property
    def coupling_spread(self) -> NDArray:
        """(A,) spread of the difference between coupled joints, radians."""
        return np.where(self.active == self.base.require_roles().get("head"), POSE.head, POSE.vertebrae)

    @cached_property
    def axes(self) -> NDArray:
        """(A, 3, 3) rotation from the frame of each active joint to the axes of the T-pose."""
        return rotation.to_matrix(self.frames[self.active])

    @cached_property
    def rows(self) -> NDArray:
        """(J,) index of each joint among the active ones; −1 for the others."""
        rows = np.full(len(self.base.skeleton), -1)
        rows[self.active] = np.arange(len(self.active))
        return rows

    def tables(self):
        """Return the body as the pose kernels take it."""
        from footplant.optical import _pose as kernel

        return kernel.MarkerTables(
            self.base.skeleton.parents, self.segments, self.rows, self.active, self.axes, self.spreads, self.one_way,
            self.coupled, self.coupling_spread, POSE.hyperextension,
        )  # fmt: skip

    @cached_property
    def landmarks(self) -> Landmarks:
        """Expected marker positions on the base."""
        from footplant.samples import load_character

        mannequin = load_character("mannequin")
        size = (self.base.height or MANNEQUIN_HEIGHT) / MANNEQUIN_HEIGHT
        places = mannequin.skeleton.posed(mannequin.skeleton.rest)[0]
        roles, own_roles, parents = mannequin.require_roles(), self.base.require_roles(), self.base.skeleton.parents
        count = len(self.placements)
        along, share, across, spread = np.full(count, -1), np.zeros(count), np.zeros((count, 3)), np.empty(count)
        for row, (item, joint) in enumerate(zip(self.placements, self.segments, strict=True)):
            own, end, own_end = _joint(roles, item.role), _end(roles, item), _end(own_roles, item)
            assert own is not None
            if item.place is not None:
                world, spread[row] = np.array(item.place), BODY_PRIOR.guessed
            elif item.landmark is None:
                # anywhere on the segment: take its middle
                below = [child for child in range(len(places)) if mannequin.skeleton.parents[child] == own]
                world = np.mean([places[own], *places[below]], axis=0)
                spread[row] = 2.0 * ON_SOFT_TISSUE
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
        """Return the base with lengths: overall scale first, then `LENGTHS` relative to it."""
        factors = dict(zip(LENGTHS, (float(value) for value in lengths[1:]), strict=True))
        return apply_proportions(self.base, Proportions(scale=float(lengths[0]), **factors))

    def bones(self, lengths: NDArray) -> NDArray:
        """Return offsets (J, 3) of the joints for lengths."""
        return self.character(lengths).skeleton.offsets

    @cached_property
    def _lengthening(self) -> NDArray:
        """(1 + L, J, 3) offsets of the base, and their change with a unit increase of each of `LENGTHS`."""
        ones = np.ones(1 + len(LENGTHS))
        longer = [self.bones(ones + row) for row in np.eye(len(ones))[1:]]
        base = self.bones(ones)
        return np.array([base, *(offsets - base for offsets in longer)])

    def bone_changes(self, lengths: NDArray) -> NDArray:
        """Return (1 + L, J, 3) derivatives of the offsets by the lengths: bones are linear in their factors."""
        base, parts = self._lengthening[0], self._lengthening[1:]
        return np.array([base + np.tensordot(lengths[1:] - 1.0, parts, 1), *(lengths[0] * parts)])


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Expected marker positions on a body, in the frames of their segments.

    A knee marker is at the knee however long the thigh is: the position scales along the bone.
    """

    along: NDArray
    """(M,) the joint at the other end of the bone; −1 for segments that have none."""
    share: NDArray
    """(M,) position along it: 0 at the near end, 1 at the far end."""
    across: NDArray
    """(M, 3) offset from there for a body of scale 1, metres."""
    spread: NDArray
    """(M,) standard deviation of a marker from there, metres."""

    def places(self, bones: NDArray, girth: float) -> NDArray:
        """Return positions (M, 3) for a body with these bones and a relative thickness; metres."""
        bone = np.where(self.along[:, None] >= 0, bones[self.along], 0.0)
        return self.share[:, None] * bone + girth * self.across

    def changes(self, bone_changes: NDArray) -> NDArray:
        """Return (M, 3, L) derivatives by the lengths, at constant girth."""
        bone = np.where(self.along[:, None] >= 0, bone_changes[:, self.along], 0.0)
        return np.moveaxis(self.share[:, None] * bone, 0, -1)


_NEXT = {
    "chest": "neck", "clavicle": "upper_arm", "upper_arm": "lower_arm", "lower_arm": "hand",
    "upper_leg": "lower_leg", "lower_leg": "foot", "foot": "toes",
}  # fmt: skip


def _end(roles, item: MarkerPlacement) -> int | None:
    """Return the joint at the far end of the bone along which a marker lies; of the pelvis, a vertebra or a hip."""
    side = next((side for side in ("left_", "right_") if item.role.startswith(side)), "")
    if item.role == "hips":
        hip = roles.get("left_upper_leg" if item.side > 0 else "right_upper_leg")
        return hip if item.landmark in AT_HIP else next(iter(roles.joints.get("spine", ())), None)
    found = _NEXT.get(item.role.removeprefix(side))
    return None if found is None else roles.get(side + found)


def _joint(roles, role: str) -> int | None:
    """Return the joint of a role; the chest is the last vertebra, which also replaces a missing clavicle."""
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
        """Return the number of poses."""
        return len(self.root)

    def __getitem__(self, rows) -> Poses:
        """Return some of the poses."""
        return Poses(self.root[rows], self.rotations[rows])

    def moved(self, step: NDArray, active: NDArray) -> Poses:
        """Return the poses after a step (F, 3 + 3A): of the root, then a rotation vector for each active joint."""
        rotations = np.array(self.rotations)
        turns = step[:, 3:].reshape(len(step), -1, 3)
        rotations[:, active] = rotation.multiply(rotations[:, active], rotation.exp(turns))
        return Poses(self.root + step[:, :3], rotation.normalize(rotations))


@dataclass(frozen=True, eq=False)
class PosedBody:
    """Forward kinematics of a body with markers: what the Jacobians are computed from."""

    places: NDArray
    """(F, M, 3) metres."""
    joints: NDArray
    """(F, J, 3) metres."""
    turned: NDArray
    """(F, J, 4) world rotations."""


def pose_markers(body: MarkerBody, bones: NDArray, offsets: NDArray, poses: Poses) -> PosedBody:
    """Compute marker positions: bones (J, 3), offsets (M, 3) of markers in their segments' frames."""
    from footplant.kernels import fk

    count, joints = poses.rotations.shape[:2]
    places, turned = np.empty((count, joints, 3)), np.empty((count, joints, 4))
    fk.forward(body.base.skeleton.parents, bones[None], poses.root, poses.rotations, places, turned)
    markers = places[:, body.segments] + rotation.rotate(turned[:, body.segments], offsets)
    return PosedBody(markers, places, turned)


def pose_changes(body: MarkerBody, seen: PosedBody) -> NDArray:
    """Return the Jacobian (F, M, 3, 3 + 3A) of the markers by a step of `Poses.moved`: I for the root, u × arm."""
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
    """Return cross products along the axis before the last."""
    (ax, ay, az), (bx, by, bz) = (
        np.moveaxis(np.broadcast_to(v, np.broadcast_shapes(a.shape, b.shape)), -2, 0) for v in (a, b)
    )
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-2)


def joint_changes(body: MarkerBody, seen: PosedBody, changes: NDArray) -> NDArray:
    """Return the Jacobian (F, J, 3, L) of the joints by the lengths; changes: `MarkerBody.bone_changes`."""
    parents = body.base.skeleton.parents
    count, joints = seen.joints.shape[:2]
    moved = np.zeros((count, joints, 3, len(changes)))
    axes = rotation.to_matrix(seen.turned)
    for joint in range(1, joints):
        moved[:, joint] = moved[:, parents[joint]] + axes[:, parents[joint]] @ changes[:, joint].T
    return moved


def length_changes(body: MarkerBody, seen: PosedBody, changes: NDArray) -> NDArray:
    """Return the Jacobian (F, M, 3, L) of the markers by the lengths; changes: `MarkerBody.bone_changes`."""
    return joint_changes(body, seen, changes)[:, body.segments]
