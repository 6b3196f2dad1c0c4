"""Constraints on a character's joints: limits (box, cone and twist, hinge) and relations between joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from footplant import humanoid, rotation
from footplant.checks import indices, real_array, real_number, shaped
from footplant.constraints.base import Constraint, as_direction
from footplant.constraints.points import left_inverse
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.skeleton import Character


@dataclass(frozen=True, eq=False, kw_only=True)
class _OnRotations(Constraint):
    """A constraint on the anatomical rotations of joints (see `humanoid.anatomical_turns`)."""

    character: Character = field(repr=False)
    unit: ClassVar[Literal["m", "rad"]] = "rad"

    @cached_property
    def _frames_of_joints(self) -> tuple[NDArray, NDArray]:
        """Return world rotations (J, 4) of parents and joints in the reference pose (rest pose without roles)."""
        skeleton = self.character.skeleton
        pose = (
            skeleton.rest if self.character.roles is None else humanoid.reference_pose(skeleton, self.character.roles)
        )
        world = skeleton.posed(pose)[1]
        return np.concatenate([rotation.identity(1), world[skeleton.parents[1:]]]), world

    def _turn(self, kinematics: Kinematics, joints: NDArray) -> NDArray:
        """Return the rotations (F, N, 4) of joints from the reference pose, in its axes."""
        if len(kinematics.motion.skeleton) != len(self.character.skeleton):
            raise ConstraintError(
                f"{self.title}: expected a motion of the {len(self.character.skeleton)} joints of "
                f"{self.character.name!r}, got {len(kinematics.motion.skeleton)}"
            )
        above, own = self._frames_of_joints
        local = kinematics.motion.rotations[:, joints]
        return rotation.multiply(rotation.multiply(above[joints], local), rotation.inverse(own[joints]))

    def _turn_jacobian(self, turns: NDArray, joints: NDArray) -> NDArray:
        """Return the Jacobian (F, N, 3, 3) of log(rotation) by each joint's own rotation vector."""
        vectors = rotation.log(turns)
        axes = rotation.to_matrix(self._frames_of_joints[1][joints])
        # rotation·exp(G v): the right inverse Jacobian is the left one of the negated vector
        return left_inverse(-vectors) @ axes


def _columns(joint: int) -> slice:
    return slice(3 + 3 * joint, 6 + 3 * joint)


def limited_joints(character: Character) -> NDArray:
    """Return the joints of a character that have limits, in order."""
    limits = character.limits
    if limits is None:
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.isfinite(limits.lower).any(axis=1) | np.isfinite(limits.upper).any(axis=1))


@dataclass(frozen=True, eq=False, kw_only=True)
class JointLimits(_OnRotations):
    """Joints stay within the box of rotation-vector components given by the character's limits."""

    joints: tuple[int, ...] = None  # type: ignore[assignment]
    """Which joints; None takes all that have limits."""
    inequality: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Use all joints with limits if none are given."""
        super().__post_init__()
        limited = limited_joints(self.character)
        if not len(limited):
            raise ConstraintError(f"{self.title}: {self.character.name!r} has no joint limits")
        if self.joints is not None:
            count = len(self.character.skeleton)
            limited = indices(tuple(self.joints), count, f"{self.title}: joints", ConstraintError)
        object.__setattr__(self, "joints", tuple(limited.tolist()))

    @cached_property
    def _limited(self) -> NDArray:
        return np.intersect1d(limited_joints(self.character), self.joints).astype(np.int64)

    @cached_property
    def _bounds(self) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Return for each finite bound: index of the limited joint, component, +1 lower or −1 upper, and radians."""
        limits, joints = self.character.limits, self._limited
        found = []
        for sign, side in ((1.0, limits.lower), (-1.0, limits.upper)):  # type: ignore[union-attr]
            rows, components = np.nonzero(np.isfinite(side[joints]))
            found.append((rows, components, np.full(len(rows), sign), side[joints][rows, components]))
        rows, components, signs, values = (np.concatenate(parts) for parts in zip(*found))
        return rows, components, signs, values

    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return the slack (F, B) to each bound, radians; negative beyond it."""
        rows, components, signs, values = self._bounds
        vectors = rotation.log(self._turn(kinematics, self._limited))
        return signs * (vectors[:, rows, components] - values)

    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (F, B, 3+3J)."""
        joints, (rows, components, signs, _) = self._limited, self._bounds
        blocks = self._turn_jacobian(self._turn(kinematics, joints), joints)
        out = np.zeros((len(kinematics.frames), len(rows), 3 + 3 * len(self.character.skeleton)))
        columns = 3 + 3 * joints[rows][:, None] + np.arange(3)
        out[:, np.arange(len(rows))[:, None], columns] = signs[:, None] * blocks[:, rows, components]
        return out


@dataclass(frozen=True, eq=False, kw_only=True)
class ConeTwist(_OnRotations):
    """A joint swings within a cone about an axis and twists about it within a range: a shoulder, a hip."""

    joint: int
    axis: tuple[float, float, float]
    """The bone's direction in the reference pose, world axes, any length."""
    swing: float
    """Half the opening angle of the cone, radians."""
    twist: tuple[float, float] = (-np.pi, np.pi)
    """Smallest and largest twist, radians."""
    inequality: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check joint, axis and range."""
        super().__post_init__()
        object.__setattr__(self, "joint", self.character.skeleton.require_joint(self.joint))
        as_direction(self.axis, f"{self.title}: axis")
        real_number(self.swing, f"{self.title}: swing", ConstraintError, low=0.0)
        least, most = shaped(self.twist, (2,), f"{self.title}: twist", ConstraintError)
        if least > most:
            raise ConstraintError(f"{self.title}: expected the smallest and largest twist, in order, got {self.twist}")

    @property
    def joints(self) -> tuple[int, ...]:
        """Return the limited joint."""
        return (self.joint,)

    @cached_property
    def _axis(self) -> NDArray:
        return np.asarray(self.axis, float) / np.linalg.norm(self.axis)

    def _angles(self, turns: NDArray) -> tuple[NDArray, NDArray]:
        """Return swing and twist (F,) of rotations (F, 4)."""
        pointing = rotation.rotate(turns, self._axis)
        swing = np.arctan2(np.linalg.norm(np.cross(self._axis, pointing), axis=1), pointing @ self._axis)
        upright = np.where(turns[:, :1] < 0, -turns, turns)
        return swing, 2.0 * np.arctan2(upright[:, 1:] @ self._axis, upright[:, 0])

    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return the slack (F, 3), radians: to the cone, to the smallest and to the largest twist."""
        swing, twist = self._angles(self._turn(kinematics, np.array([self.joint]))[:, 0])
        return np.stack([self.swing - swing, twist - self.twist[0], self.twist[1] - twist], axis=1)

    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (F, 3, 3+3J)."""
        turns = self._turn(kinematics, np.array([self.joint]))[:, 0]
        turns = np.where(turns[:, :1] < 0, -turns, turns)
        own = rotation.to_matrix(self._frames_of_joints[1][self.joint])
        pointing = rotation.rotate(turns, self._axis)
        # a world rotation w moves the direction by w × direction, so the swing grows about axis × direction
        normal = np.cross(self._axis, pointing)
        length = np.linalg.norm(normal, axis=1, keepdims=True)
        normal = np.where(length > 1e-9, normal / np.maximum(length, 1e-9), 0.0)
        swing = np.einsum("fi,fij->fj", normal, rotation.to_matrix(turns) @ own)
        w, v = turns[:, :1], turns[:, 1:]
        sine = (v @ self._axis)[:, None]
        sine_change = 0.5 * (w * self._axis + np.cross(self._axis, v))
        twist = 2.0 * (w * sine_change + sine * 0.5 * v) / np.maximum(w**2 + sine**2, 1e-12) @ own
        out = np.zeros((len(turns), 3, 3 + 3 * len(self.character.skeleton)))
        out[:, 0, _columns(self.joint)] = -swing
        out[:, 1, _columns(self.joint)] = twist
        out[:, 2, _columns(self.joint)] = -twist
        return out


@dataclass(frozen=True, eq=False, kw_only=True)
class Hinge(_OnRotations):
    """A joint rotates about one axis only: an elbow, a knee."""

    joint: int
    axis: tuple[float, float, float]
    """In the reference pose's world axes, any length."""

    def __post_init__(self) -> None:
        """Check joint and axis."""
        super().__post_init__()
        object.__setattr__(self, "joint", self.character.skeleton.require_joint(self.joint))
        as_direction(self.axis, f"{self.title}: axis")

    @property
    def joints(self) -> tuple[int, ...]:
        """Return the hinge joint."""
        return (self.joint,)

    def _across(self) -> NDArray:
        """Return two directions perpendicular to the axis (2, 3)."""
        axis = np.asarray(self.axis, float) / np.linalg.norm(self.axis)
        first = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
        first /= np.linalg.norm(first)
        return np.stack([first, np.cross(axis, first)])

    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return the rotation vector's components perpendicular to the axis (F, 2), radians."""
        return rotation.log(self._turn(kinematics, np.array([self.joint]))[:, 0]) @ self._across().T

    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (F, 2, 3+3J)."""
        joints = np.array([self.joint])
        block = self._across() @ self._turn_jacobian(self._turn(kinematics, joints), joints)[:, 0]
        out = np.zeros((len(block), 2, 3 + 3 * len(self.character.skeleton)))
        out[:, :, _columns(self.joint)] = block
        return out


@dataclass(frozen=True, eq=False, kw_only=True)
class Relation(_OnRotations):
    """A linear relation between the rotations of joints: Σ matrix·rotation = 0 (Lee & Shin 1999, section 4.2)."""

    terms: tuple[tuple[int, NDArray], ...]
    """(joint, matrix (k, 3)) pairs; matrices act on the joint's anatomical rotation vector."""

    def __post_init__(self) -> None:
        """Check joints and matrices."""
        super().__post_init__()
        if not self.terms:
            raise ConstraintError(f"{self.title}: expected at least one joint with its matrix, got none")
        height = np.shape(self.terms[0][1])[:1]
        shape = (*height, 3) if height else ("k", 3)
        terms = (
            (
                self.character.skeleton.require_joint(joint),
                shaped(matrix, shape, f"{self.title}: a matrix", ConstraintError),
            )
            for joint, matrix in self.terms
        )
        object.__setattr__(self, "terms", tuple(terms))

    @property
    def joints(self) -> tuple[int, ...]:
        """Return the related joints."""
        return tuple(joint for joint, _ in self.terms)

    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return the residual (F, k), radians."""
        joints = np.array([joint for joint, _ in self.terms])
        vectors = rotation.log(self._turn(kinematics, joints))
        return sum(vectors[:, n] @ np.asarray(matrix).T for n, (_, matrix) in enumerate(self.terms))  # type: ignore[return-value]

    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (F, k, 3+3J)."""
        joints = np.array([joint for joint, _ in self.terms])
        blocks = self._turn_jacobian(self._turn(kinematics, joints), joints)
        rows = len(np.asarray(self.terms[0][1]))
        out = np.zeros((len(blocks), rows, 3 + 3 * len(self.character.skeleton)))
        for n, (joint, matrix) in enumerate(self.terms):
            out[:, :, _columns(joint)] += np.asarray(matrix) @ blocks[:, n]
        return out


def spine_shares(character: Character, shares: Sequence[float] | None = None, **options) -> tuple[Relation, ...]:
    """Return relations that distribute the spine's bend over its vertebrae by shares (default: equal shares)."""
    chain = character.require_roles().joints.get("spine", ())
    if len(chain) < 2:
        return ()
    given = np.full(len(chain), 1.0 / len(chain)) if shares is None else real_array(shares, "shares", ConstraintError)
    if given.shape != (len(chain),) or not (np.isfinite(given).all() and given.sum() > 0):
        raise ConstraintError(f"expected {len(chain)} shares, one per vertebra, got {shares}")
    given = given / given.sum()
    return tuple(
        Relation(
            character=character,
            terms=tuple((other, ((other == joint) - share) * np.eye(3)) for other in chain),
            **{"name": f"spine share of {character.skeleton.names[joint]}", "hard": False, **options},
        )
        for joint, share in zip(chain[:-1], given)
    )


def shoulder_rhythm(character: Character, side: str, ratio: float = 0.33, **options) -> Relation:
    """Return the scapulohumeral rhythm: the clavicle rises by `ratio` of the arm's elevation (1 : 2 in people)."""
    roles = character.require_roles()
    ratio = real_number(ratio, "ratio", ConstraintError)
    raise_ = np.array([[0.0, 0.0, 1.0]])
    return Relation(
        character=character,
        terms=((roles[f"{side}_clavicle"], raise_), (roles[f"{side}_upper_arm"], -ratio * raise_)),
        **{"name": f"{side} shoulder rhythm", "hard": False, **options},
    )
