"""Skeletons: a tree of joints; and characters: a skeleton with roles, contact points, masses, limits and skin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from footplant import rotation
from footplant.checks import all_finite, indices, real_array, real_number, shaped, whole_number, whole_numbers
from footplant.errors import SkeletonError
from footplant.looks import Looks
from footplant.wording import counted, shortened


def frozen(array, dtype: DTypeLike = float) -> NDArray:
    """Return a read-only contiguous array, copied unless it already is one, so that frozen types cannot change."""
    if (
        isinstance(array, np.ndarray)
        and array.dtype == dtype
        and array.flags.c_contiguous
        and not array.flags.writeable
        and (array.base is None or (isinstance(array.base, np.ndarray) and not array.base.flags.writeable))
    ):
        return array
    out = np.array(array, dtype=dtype, order="C")
    out.setflags(write=False)
    return out


@dataclass(frozen=True)
class Point:
    """A point fixed to a segment, to which constraints apply (Kulpa's CP)."""

    joint: int
    """Index of the joint to whose frame the point is attached."""
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Position of the point in the joint's local frame, metres."""

    def __post_init__(self) -> None:
        """Check joint and offset as far as possible without a skeleton."""
        joint, offset = self.joint, self.offset
        if type(joint) is not int:
            object.__setattr__(self, "joint", whole_number(joint, "the joint of a point", SkeletonError))
        if joint < 0:
            raise SkeletonError(f"expected the joint of a point from 0 on, got {joint}")
        if not (type(offset) is tuple and len(offset) == 3 and all(type(x) is float and isfinite(x) for x in offset)):
            x, y, z = shaped(offset, (3,), "the offset of a point", SkeletonError).tolist()
            object.__setattr__(self, "offset", (x, y, z))


@dataclass(frozen=True, eq=False)
class MovingPoint(Point):
    """A point that moves inside its segment as the segment grows: the heel of a character that morphs.

    `offset` is its position on the skeleton at rest.
    """

    offsets: NDArray = field(default_factory=lambda: np.zeros((0, 3)), repr=False)
    """(F, 3) metres, in the joint's frame, at every frame of the clip."""

    def __post_init__(self) -> None:
        """Check its offsets."""
        super().__post_init__()
        object.__setattr__(self, "offsets", shaped(self.offsets, ("F", 3), "offsets of a point", SkeletonError))

    def at(self, frames: NDArray) -> NDArray:
        """Return its offsets (N, 3) at frames of the clip."""
        if len(frames) and not 0 <= frames.min() <= frames.max() < len(self.offsets):
            bad = frames[(frames < 0) | (frames >= len(self.offsets))][0]
            raise SkeletonError(f"expected a frame in 0..{len(self.offsets) - 1}, got {bad}")
        return self.offsets[frames]


@dataclass(frozen=True, eq=False)
class Skeleton:
    """A tree of joints, parents before children, with its rest pose. Joint 0 is the only root."""

    names: tuple[str, ...]
    """One unique name per joint."""
    parents: NDArray
    """(J,) int64; index of the parent, −1 for joint 0 alone; always smaller than the joint's own index."""
    offsets: NDArray
    """(J, 3) metres; position of a joint in its parent's frame. offsets[0] is the root's position in the rest pose."""
    rest: NDArray = field(default=None)  # type: ignore[assignment]
    """(J, 4) local rotations of the rest pose; identities when not given."""
    end_parents: NDArray = field(default=None)  # type: ignore[assignment]
    """(E,) int64; joints that have an end site (toe tip, fingertip, top of the head)."""
    end_offsets: NDArray = field(default=None)  # type: ignore[assignment]
    """(E, 3) metres; position of each end site in its joint's frame."""

    def __post_init__(self) -> None:
        """Check the tree once."""
        count = len(self.names)
        names = tuple(str(name) for name in self.names)
        if count == 0:
            raise SkeletonError("expected at least one joint, got none")
        parents = frozen(whole_numbers(self.parents, "parents", SkeletonError), np.int64)
        offsets = frozen(real_array(self.offsets, "offsets", SkeletonError))
        rest = frozen(rotation.identity(count) if self.rest is None else _unit(self.rest))
        end_parents = frozen(
            whole_numbers(() if self.end_parents is None else self.end_parents, "ends", SkeletonError), np.int64
        )
        ends = np.zeros((0, 3)) if self.end_offsets is None else self.end_offsets
        end_offsets = frozen(real_array(ends, "end offsets", SkeletonError))
        if end_parents.ndim != 1:
            raise SkeletonError(f"expected joints of end sites of shape (E,), got {end_parents.shape}")
        if parents.shape != (count,):
            raise SkeletonError(f"expected {count} parents, one per joint, got shape {parents.shape}")
        if offsets.shape != (count, 3):
            raise SkeletonError(f"expected offsets of shape ({count}, 3), got {offsets.shape}")
        if rest.shape != (count, 4):
            raise SkeletonError(f"expected rest rotations of shape ({count}, 4), got {rest.shape}")
        if end_offsets.shape != (len(end_parents), 3):
            raise SkeletonError(f"expected end offsets of shape ({len(end_parents)}, 3), got {end_offsets.shape}")
        _check_parents(parents, names)
        if len(end_parents) and not (end_parents.min() >= 0 and end_parents.max() < count):
            raise SkeletonError(f"expected end sites on joints 0..{count - 1}, got {end_parents.tolist()}")
        if len(set(names)) != count:
            twice = sorted(name for name, times in Counter(names).items() if times > 1)
            raise SkeletonError(f"expected unique joint names, got these more than once: {', '.join(twice)}")
        for label, array in (("offsets", offsets), ("rest rotations", rest), ("end offsets", end_offsets)):
            if not np.isfinite(array).all():
                raise SkeletonError(f"expected finite {label}, got NaN or infinity at row {_first_bad_row(array)}")
        for key, value in (
            ("names", names), ("parents", parents), ("offsets", offsets), ("rest", rest),
            ("end_parents", end_parents), ("end_offsets", end_offsets),
        ):  # fmt: skip
            object.__setattr__(self, key, value)

    def __len__(self) -> int:
        """Return the number of joints."""
        return len(self.names)

    def same_as(self, other: Skeleton) -> bool:
        """Return whether another skeleton is equal, bit for bit."""
        arrays = ("parents", "offsets", "rest", "end_parents", "end_offsets")
        return self is other or (
            self.names == other.names and all(np.array_equal(getattr(self, key), getattr(other, key)) for key in arrays)
        )

    def index(self, name: str) -> int:
        """Return the joint of that name; an unknown name is an error that lists the existing ones."""
        try:
            return self._index[name]
        except KeyError:
            raise SkeletonError(f"no joint {name!r}; the skeleton has: {', '.join(self.names)}") from None

    def __repr__(self) -> str:
        """Return the number of joints and the root's name."""
        return f"Skeleton({counted(len(self), 'joint')}, root {shortened(self.names[0])!r})"

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: joint for joint, name in enumerate(self.names)}

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Return the children of each joint, in order."""
        out: list[list[int]] = [[] for _ in self.names]
        for joint, parent in enumerate(self.parents.tolist()):
            if parent >= 0:
                out[parent].append(joint)
        return tuple(tuple(row) for row in out)

    def require_joint(self, joint: int) -> int:
        """Return the index of a joint; one that does not exist is an error."""
        if type(joint) is int and 0 <= joint < len(self.names):
            return joint
        return whole_number(joint, "a joint", SkeletonError, low=0, high=len(self.names) - 1)

    def require_joints(self, joints: ArrayLike) -> NDArray:
        """Return indices of joints as int64; one that does not exist is an error."""
        return indices(joints, len(self.names), "joints", SkeletonError)

    def chain(self, joint: int, ancestor: int = 0) -> tuple[int, ...]:
        """Return the joints from `ancestor` down to `joint`, both included."""
        joint, ancestor = self.require_joint(joint), self.require_joint(ancestor)
        path = [joint]
        while path[-1] != ancestor:
            if path[-1] == 0:
                raise SkeletonError(f"{self.names[ancestor]!r} is not an ancestor of {self.names[joint]!r}")
            path.append(int(self.parents[path[-1]]))
        return tuple(reversed(path))

    def descendants(self, joint: int) -> tuple[int, ...]:
        """Return the joint itself and all its descendants, in order."""
        joint, inside = self.require_joint(joint), np.zeros(len(self), bool)
        inside[joint] = True
        for other in range(joint + 1, len(self)):
            inside[other] = inside[self.parents[other]]
        return tuple(np.flatnonzero(inside).tolist())

    @cached_property
    def levels(self) -> tuple[NDArray, ...]:
        """Return the joints below joint 0 by depth: all joints of one depth can be posed at once."""
        depth = np.zeros(len(self), int)
        for joint in range(1, len(self)):
            depth[joint] = depth[self.parents[joint]] + 1
        return tuple(np.flatnonzero(depth == level) for level in range(1, int(depth.max()) + 1))

    @cached_property
    def rest_world(self) -> tuple[NDArray, NDArray]:
        """Return world positions (J, 3), metres, and rotations (J, 4) of the rest pose."""
        positions, rotations = self.posed(self.rest)
        return frozen(positions), frozen(rotations)

    def posed(self, local: NDArray, offsets: NDArray | None = None) -> tuple[NDArray, NDArray]:
        """Return world positions (…, J, 3), metres, and rotations (…, J, 4) of poses (…, J, 4), the root at rest.

        offsets: (…, J, 3) of bones that move. For a few poses; `Kinematics` is faster for whole motions.
        """
        rotations = np.array(all_finite(real_array(local, "rotations", SkeletonError), "rotations", SkeletonError))
        if rotations.shape[-2:] != (len(self), 4):
            raise SkeletonError(f"expected rotations of shape (…, {len(self)}, 4), got {rotations.shape}")
        bones = self.offsets if offsets is None else offsets
        positions = np.array(np.broadcast_to(bones, (*rotations.shape[:-1], 3)))
        for joints in self.levels:
            above = rotations[..., self.parents[joints], :]
            moved = rotation.rotate(above, bones[..., joints, :])
            positions[..., joints, :] = positions[..., self.parents[joints], :] + moved
            rotations[..., joints, :] = rotation.multiply(above, rotations[..., joints, :])
        return positions, rotations

    @cached_property
    def rest_ends(self) -> NDArray:
        """Return world positions (E, 3) of the end sites in the rest pose, metres."""
        positions, rotations = self.rest_world
        return frozen(
            positions[self.end_parents] + rotation.rotate(rotations[self.end_parents], self.end_offsets)
        ).reshape(-1, 3)

    def scaled(self, factor: float) -> Skeleton:
        """Return the skeleton with every length multiplied by a factor."""
        factor = real_number(factor, "factor", SkeletonError)
        return replace(self, offsets=self.offsets * factor, end_offsets=self.end_offsets * factor)

    def turned(self, turn: NDArray) -> Skeleton:
        """Return the skeleton rotated about the world origin by a quaternion; local frames stay unchanged."""
        turn = shaped(turn, (4,), "a quaternion", SkeletonError)
        offsets, rest = np.array(self.offsets), np.array(self.rest)
        offsets[0] = rotation.rotate(turn, offsets[0])
        rest[0] = rotation.multiply(turn, rest[0])
        return replace(self, offsets=offsets, rest=rest)


def _unit(quaternions: NDArray) -> NDArray:
    """Return unit quaternions; those normalised up to rounding stay unchanged, so that skeletons round-trip exactly."""
    quaternions = real_array(quaternions, "rest rotations", SkeletonError)
    if quaternions.ndim != 2 or quaternions.shape[1] != 4:
        raise SkeletonError(f"expected rest rotations of shape (joints, 4), got {quaternions.shape}")
    all_finite(quaternions, "rest rotations", SkeletonError)
    away = np.abs((quaternions * quaternions).sum(axis=-1, keepdims=True) - 1.0)
    return np.where(away <= 1e-15, quaternions, rotation.normalize(quaternions))


def _check_parents(parents: NDArray, names: Sequence[str]) -> None:
    """Check that the first joint is the root and that all others come after their parents."""
    if parents[0] != -1:
        raise SkeletonError(f"expected joint 0 to be the root (parent -1), got parent {parents[0]}")
    for joint in range(1, len(parents)):
        if not 0 <= parents[joint] < joint:
            raise SkeletonError(
                f"expected the parent of joint {joint} ({names[joint]!r}) among joints 0..{joint - 1}, "
                f"got {parents[joint]}"
            )


def _first_bad_row(array: NDArray) -> int:
    return int(np.argwhere(~np.isfinite(array))[0][0])


@dataclass(frozen=True)
class Roles:
    """The roles of a humanoid's joints."""

    joints: Mapping[str, tuple[int, ...]]
    """Role → joints from the root outwards. Names are those of `humanoid.ROLES`; an absent role is not a key."""
    confidence: Mapping[str, float]
    """Role → confidence, 0 to 1."""
    reasons: Mapping[str, str]
    """Role → the evidence of names and shape, in one sentence."""
    reference: NDArray | None = field(default=None, compare=False, repr=False)
    """(J, 4) local rotations of the reference pose if it was found from a motion, because the rest pose does not stand;
    None if it follows from the rest pose (see `humanoid.reference_pose`)."""

    def __post_init__(self) -> None:
        """Freeze the tables."""
        for key in ("joints", "confidence", "reasons"):
            object.__setattr__(self, key, MappingProxyType(dict(getattr(self, key))))
        if self.reference is not None:
            object.__setattr__(self, "reference", frozen(self.reference))

    def __repr__(self) -> str:
        """Return the number of roles and the confidence in them."""
        return f"Roles({counted(len(self.joints), 'role')}, confidence {self.overall:.0%})"

    def __contains__(self, role: str) -> bool:
        """Return whether the character has that role."""
        return role in self.joints

    def __getitem__(self, role: str) -> int:
        """Return the joint of a role; of a chain (spine, a finger) the one nearest to the root."""
        try:
            return self.joints[role][0]
        except KeyError:
            raise SkeletonError(f"no role {role!r} on this character; it has: {', '.join(self.joints)}") from None

    def require_fit(self, skeleton: Skeleton) -> None:
        """Raise where a role is on a joint that the skeleton does not have."""
        for role, joints in self.joints.items():
            if not joints or min(joints) < 0 or max(joints) >= len(skeleton):
                raise SkeletonError(f"expected joints of {role!r} in 0..{len(skeleton) - 1}, got {tuple(joints)}")

    def get(self, role: str) -> int | None:
        """Return the joint of a role, or None."""
        return self.joints[role][0] if role in self.joints else None

    @property
    def overall(self) -> float:
        """Return the mean confidence over all roles, 0 to 1."""
        return float(np.mean(list(self.confidence.values()))) if self.confidence else 0.0


@dataclass(frozen=True, eq=False)
class Skin:
    """A mesh bound to a skeleton."""

    vertices: NDArray
    """(V, 3) metres, in the space of the rest pose (y up)."""
    faces: NDArray
    """(T, 3) int64; corner vertices of the triangles, counter-clockwise from outside."""
    joints: NDArray
    """(V, K) int64; joints that influence each vertex."""
    weights: NDArray
    """(V, K) skin weights, each row summing to 1."""
    inverse_bind: NDArray
    """(J, 4, 4) maps a vertex from mesh space into the frame of a joint in the bind pose."""
    normals: NDArray | None = None
    """(V, 3) unit normals, or None."""
    attached: NDArray | None = None
    """(V,) bool; vertices of meshes that hang on a joint without being skinned (a sword, or all of a robot's parts);
    None when unknown."""
    looks: Looks | None = None
    """Materials, textures and morph targets, if its file has them and they are not kept with the file itself."""

    def __post_init__(self) -> None:
        """Freeze and check the shapes."""
        shapes = {"vertices": ("V", 3), "weights": ("V", "K"), "inverse_bind": ("J", 4, 4), "normals": ("V", 3)}
        for key, shape in shapes.items():
            if key != "normals" or self.normals is not None:
                values = shaped(getattr(self, key), shape, f"{key} of a skin", SkeletonError)
                object.__setattr__(self, key, frozen(values))
        for key in ("faces", "joints"):
            object.__setattr__(
                self, key, frozen(whole_numbers(getattr(self, key), f"{key} of a skin", SkeletonError), np.int64)
            )
        count = len(self.vertices)
        if self.faces.size and (self.faces.shape[1:] != (3,) or not 0 <= self.faces.min() <= self.faces.max() < count):
            raise SkeletonError(f"expected triangles of vertices 0..{count - 1}, got {self.faces.shape}, up to "
                                f"{self.faces.max()}")  # fmt: skip
        if self.normals is not None and len(self.normals) != count:
            raise SkeletonError(f"expected {count} normals, one per vertex, got {len(self.normals)}")
        if self.attached is not None:
            object.__setattr__(self, "attached", frozen(self.attached, bool))
            if self.attached.shape != (count,):
                raise SkeletonError(f"expected one flag per vertex, ({count},), got {self.attached.shape}")
        if self.joints.shape != self.weights.shape or len(self.joints) != count:
            raise SkeletonError(
                f"expected joints and weights of shape ({count}, K), got {self.joints.shape} and {self.weights.shape}"
            )
        if count and self.joints.size and not 0 <= self.joints.min() <= self.joints.max() < len(self.inverse_bind):
            raise SkeletonError(f"expected skin joints in 0..{len(self.inverse_bind) - 1}, got {self.joints.max()}")

    def __repr__(self) -> str:
        """Return the size of the mesh."""
        return f"Skin({len(self.vertices):,} vertices, {counted(len(self.faces), 'triangle')})"


@dataclass(frozen=True, eq=False)
class Limits:
    """Ranges of joint rotations from the character's reference pose."""

    lower: NDArray
    """(J, 3) radians; smallest rotation-vector components in anatomical axes (see `humanoid.joint_limits`)."""
    upper: NDArray
    """(J, 3) radians; largest."""

    def __post_init__(self) -> None:
        """Check the shapes; infinite limits mean unlimited."""
        for key in ("lower", "upper"):
            values = shaped(getattr(self, key), ("J", 3), f"{key} limits", SkeletonError, finite=False)
            object.__setattr__(self, key, values)
        if self.lower.shape != self.upper.shape or np.isnan(self.lower).any() or np.isnan(self.upper).any():
            raise SkeletonError(f"expected limits of one shape without NaN, got {self.lower.shape}, {self.upper.shape}")

    def __repr__(self) -> str:
        """Return how many joints are limited."""
        return f"Limits({counted(int(np.isfinite(self.lower).any(axis=1).sum()), 'limited joint')})"


class ContactPoints(dict[str, Point]):
    """Contact points by name; an absent one is an error that lists the existing ones."""

    def __missing__(self, name: str) -> Point:
        """Raise with a hint: a leg without a shin has no sole."""
        raise SkeletonError(
            f"no contact point {name!r} on this character; it has: {', '.join(self) or 'none'} (a foot's come with "
            "a leg whose bones have a length)"
        )


@dataclass(frozen=True, eq=False)
class Character:
    """A skeleton with roles, contact points, masses, joint limits and skin."""

    skeleton: Skeleton
    name: str = "character"
    """Display name; the file's name if the file has none."""
    roles: Roles | None = None
    """None when the character is not a humanoid (then only functions that need no roles work)."""
    contacts: Mapping[str, Point] = field(default_factory=dict)
    """Contact points on the sole and the palm: left_heel, left_ball, left_toe, left_palm, right_heel …"""
    masses: NDArray | None = None
    """(J,) fraction of the body's mass of each joint's segment, summing to 1; None when not a humanoid."""
    mass_centers: NDArray | None = None
    """(J, 3) metres; each segment's centre of mass in its joint's frame."""
    limits: Limits | None = None
    """Joint limits, or None when unknown."""
    skin: Skin | None = None
    """The mesh, or None."""
    height: float = 0.0
    """Standing height, metres, from sole to crown along the bones, so that it does not depend on the pose."""
    source: Any = field(default=None, repr=False)
    """The file's own document, kept by the format that read it so that a motion can be written onto the same meshes."""
    not_humanoid: str = ""
    """Why it has no roles, in one clause, if its file was read and no humanoid was found in it."""

    def __post_init__(self) -> None:
        """Check that the parts belong to the skeleton."""
        count = len(self.skeleton)
        if not isinstance(self.contacts, ContactPoints):
            object.__setattr__(self, "contacts", ContactPoints(self.contacts))
        if self.roles is not None:
            self.roles.require_fit(self.skeleton)
        for name, point in self.contacts.items():
            if point.joint >= count:
                raise SkeletonError(f"expected {name!r} on a joint in 0..{count - 1}, got {point.joint}")
        if self.masses is not None:
            shaped(self.masses, (count,), "masses", SkeletonError)
        if self.mass_centers is not None:
            shaped(self.mass_centers, (count, 3), "mass centres", SkeletonError)
        if self.limits is not None and len(self.limits.lower) != count:
            raise SkeletonError(f"expected limits of {count} joints, got {len(self.limits.lower)}")
        if self.skin is not None and len(self.skin.inverse_bind) != count:
            raise SkeletonError(f"expected a skin of {count} joints, got one of {len(self.skin.inverse_bind)}")
        real_number(self.height, "height", SkeletonError, low=0.0)

    def __repr__(self) -> str:
        """Return name, joints, height and mesh."""
        body = f"{self.height:.2f} m tall" if self.roles is not None else "not a humanoid"
        mesh = "" if self.skin is None else f", mesh of {counted(len(self.skin.faces), 'triangle')}"
        return f"Character({shortened(self.name)!r}, {counted(len(self.skeleton), 'joint')}, {body}{mesh})"

    def require_fit(self, skeleton: Skeleton) -> None:
        """Raise where the skeleton of a motion has other joints than the character."""
        if skeleton is not self.skeleton and skeleton.names != self.skeleton.names:
            raise SkeletonError(
                f"expected a motion of the {len(self.skeleton)} joints of {self.name!r}, got one of {len(skeleton)}: "
                f"{', '.join(skeleton.names[:4])} …"
            )

    def require_roles(self) -> Roles:
        """Return the roles; without any, raise an error that says why, and what can be done."""
        if self.roles is None:
            raise SkeletonError(f"{self.name!r} has no human roles: {self.why_not_humanoid}")
        return self.roles

    @property
    def why_not_humanoid(self) -> str:
        """Return why it has no roles and what can be done about it, for error messages."""
        reason = self.not_humanoid or "none were found or given"
        if any(word in reason for word in ("quadruped", "a hand", "too few")):
            return f"{reason}; expected a character with two legs and two arms"
        return f"{reason}; if it is a humanoid, name its joints in a TOML file and pass roles=FILE (--roles FILE)"
