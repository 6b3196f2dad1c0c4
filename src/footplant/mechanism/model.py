"""Mechanisms: the bodies, joints, masses and collision solids of a robot, as its MJCF or URDF file states them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.errors import SkeletonError
from footplant.mechanism.coupling import Coupling, coupling_of
from footplant.skeleton import frozen

SOLID_KINDS = ("sphere", "capsule", "box", "cylinder", "ellipsoid", "hull")


@dataclass(frozen=True)
class Joint:
    """One hinge. A ball joint is three hinges at one place, about x, y and z of its body, in this order."""

    name: str
    body: int
    """Index of the body that it turns. Hinges of one body follow one another, the first one outermost."""
    axis: tuple[float, float, float]
    """Unit vector in the body's frame."""
    anchor: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """A point of the axis in the body's frame, metres."""
    lower: float = -np.inf
    """Radians."""
    upper: float = np.inf
    """Radians."""
    velocity: float = np.inf
    """Radians per second, the largest speed either way; infinite if the file states none."""
    effort: float = np.inf
    """Newton metres, the largest torque either way; infinite if the file states none."""
    reference: float = 0.0
    """Radians: the coordinate at which bodies are where the file places them."""
    ball: str = ""
    """Name of the ball joint that it is a third of; "" for a hinge."""


@dataclass(frozen=True, eq=False)
class Solid:
    """A convex collision solid of a body."""

    name: str
    body: int
    kind: str
    """One of `SOLID_KINDS`."""
    size: tuple[float, float, float]
    """Metres: (radius, 0, 0) of a sphere, (radius, half length, 0) along z of a capsule or cylinder, half sizes of a
    box or ellipsoid, and zeros for a hull."""
    place: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Its centre in the body's frame, metres."""
    turn: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """Its rotation in the body's frame."""
    vertices: NDArray = field(default_factory=lambda: np.zeros((0, 3)), repr=False)
    """(N, 3) metres; corners of a hull or a box, in the solid's own frame."""
    masks: tuple[int, int] = (1, 1)
    """MuJoCo's contype and conaffinity: which solids meet."""


@dataclass(frozen=True)
class Mark:
    """A named frame of a body: a site, or a link behind a fixed joint."""

    name: str
    body: int
    place: tuple[float, float, float]
    """In the body's frame, metres."""


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another one: its angle is multiplier · leader + offset."""

    joint: int
    leader: int | None
    """None: the joint stays at the offset."""
    multiplier: float = 1.0
    offset: float = 0.0
    """Radians."""


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A robot with a floating base. Axes and units are the file's: metres, and z up in most of them."""

    name: str
    bodies: tuple[str, ...]
    """Names, parents before children, depth first as MuJoCo numbers them. Body 0 floats."""
    parents: NDArray
    """(B,) int64; −1 for body 0 alone."""
    places: NDArray
    """(B, 3) metres; each body in its parent's frame at the joints' reference angles."""
    turns: NDArray
    """(B, 4) rotations, likewise."""
    joints: tuple[Joint, ...]
    """In the order of coordinates in motions: that of their bodies."""
    masses: NDArray
    """(B,) kilograms."""
    mass_centers: NDArray
    """(B, 3) metres, in the body's frame."""
    inertias: NDArray
    """(B, 3, 3) kg m² about the centre of mass, in the body's axes."""
    solids: tuple[Solid, ...] = ()
    excluded: frozenset[tuple[int, int]] = frozenset()
    """Pairs of bodies (smaller index first) that never collide, as the file says."""
    mimics: tuple[Mimic, ...] = ()
    marks: tuple[Mark, ...] = ()
    poses: tuple[tuple[str, NDArray], ...] = ()
    """Named poses of the file: place, quaternion and angles (7 + D,)."""
    notes: tuple[str, ...] = ()
    """What was left out or assumed."""

    def __post_init__(self) -> None:
        """Check shapes and the tree once."""
        count = len(self.bodies)
        parents = frozen(self.parents, np.int64)
        if parents.shape != (count,) or not count:
            raise SkeletonError(f"expected {count} parents, one per body, got shape {parents.shape}")
        if parents[0] != -1 or any(not 0 <= parent < body for body, parent in enumerate(parents) if body):
            raise SkeletonError("expected bodies after their parents, and one root")
        object.__setattr__(self, "parents", parents)
        for key, shape in (
            ("places", (3,)), ("turns", (4,)), ("masses", ()), ("mass_centers", (3,)), ("inertias", (3, 3)),
        ):  # fmt: skip
            array = frozen(getattr(self, key))
            if array.shape != (count, *shape) or not np.isfinite(array).all():
                raise SkeletonError(f"expected finite {key} of shape {(count, *shape)}, got {array.shape}")
            object.__setattr__(self, key, array)
        bodies = [joint.body for joint in self.joints]
        if bodies != sorted(bodies):
            raise SkeletonError("expected joints in the order of their bodies")
        _ = self.coupling  # raises for joints that cannot follow

    def __repr__(self) -> str:
        """Return name and counts."""
        return (
            f"Mechanism({self.name!r}: {len(self.bodies)} bodies, {len(self.joints)} joints, {len(self.solids)} solids)"
        )

    @property
    def mass(self) -> float:
        """Return the total mass, kilograms."""
        return float(self.masses.sum())

    @cached_property
    def lower(self) -> NDArray:
        """Return the least angle of each joint (D,), radians."""
        return np.array([joint.lower for joint in self.joints])

    @cached_property
    def upper(self) -> NDArray:
        """Return the largest angle of each joint (D,), radians."""
        return np.array([joint.upper for joint in self.joints])

    @cached_property
    def velocity(self) -> NDArray:
        """Return the largest speed of each joint (D,), rad/s; infinite where the file states none."""
        return np.array([joint.velocity for joint in self.joints])

    @cached_property
    def coupling(self) -> Coupling:
        """Return which joints follow others, and how."""
        return coupling_of(self.joints, self.mimics)

    @cached_property
    def welds(self) -> NDArray:
        """Return for each body the nearest ancestor, itself included, that a joint moves (B,), or body 0."""
        moved = {joint.body for joint in self.joints}
        out = np.zeros(len(self.bodies), np.int64)
        for body in range(1, len(self.bodies)):
            out[body] = body if body in moved else out[self.parents[body]]
        return out

    def joint_index(self, name: str) -> int:
        """Return the index of a joint by name; the error lists what exists."""
        names = [joint.name for joint in self.joints]
        if name not in names:
            raise SkeletonError(f"expected a joint of the robot ({', '.join(names)}), got {name!r}")
        return names.index(name)

    def may_collide(self, a: Solid, b: Solid) -> bool:
        """Return whether two solids meet by MuJoCo's rules: masks, excluded pairs, neither one body nor neighbours."""
        first, second = int(self.welds[a.body]), int(self.welds[b.body])
        if first == second or (min(a.body, b.body), max(a.body, b.body)) in self.excluded:
            return False
        if not (a.masks[0] & b.masks[1] or b.masks[0] & a.masks[1]):
            return False
        above = [int(self.welds[self.parents[body]]) if body else -1 for body in (first, second)]
        return above[0] != second and above[1] != first

    def pose(self, root: ArrayLike, turns: ArrayLike, angles: ArrayLike) -> tuple[NDArray, NDArray]:
        """Return positions (F, B, 3) and rotations (F, B, 4) of all bodies.

        root: (F, 3) metres; turns: (F, 4) rotations of body 0; angles: (F, D) radians.
        """
        root, angles = np.asarray(root, float), np.asarray(angles, float)
        positions = np.empty((len(root), len(self.bodies), 3))
        rotations = np.empty((len(root), len(self.bodies), 4))
        by_body: dict[int, list[int]] = {}
        for number, joint in enumerate(self.joints):
            by_body.setdefault(joint.body, []).append(number)
        for body in range(len(self.bodies)):
            parent = self.parents[body]
            if parent < 0:
                at, turn = root, rotation.normalize(turns)
            else:
                at = positions[:, parent] + rotation.rotate(rotations[:, parent], self.places[body])
                turn = rotation.multiply(rotations[:, parent], self.turns[body])
            for number in by_body.get(body, ()):
                joint = self.joints[number]
                anchor = at + rotation.rotate(turn, np.array(joint.anchor))
                by = rotation.from_axis_angle(np.array(joint.axis), angles[:, number] - joint.reference)
                turn = rotation.multiply(turn, by)
                at = anchor - rotation.rotate(turn, np.array(joint.anchor))
            positions[:, body], rotations[:, body] = at, turn
        return positions, rotations


def weld_order(mechanism: Mechanism, order: str) -> tuple[int, ...]:
    """Return body indices in an order of simulators: "mujoco" (depth first) or "physx" (breadth first)."""
    if order == "mujoco":
        return tuple(range(len(mechanism.bodies)))
    children: dict[int, list[int]] = {}
    for body, parent in enumerate(mechanism.parents):
        children.setdefault(int(parent), []).append(body)
    out, waiting = [], [0]
    while waiting:
        out += waiting
        waiting = [child for body in waiting for child in children.get(body, ())]
    return tuple(out)


def joint_order(mechanism: Mechanism, order: str) -> tuple[int, ...]:
    """Return joint indices in an order of simulators: that of the bodies they move."""
    rank = {body: place for place, body in enumerate(weld_order(mechanism, order))}
    return tuple(sorted(range(len(mechanism.joints)), key=lambda joint: (rank[mechanism.joints[joint].body], joint)))


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return unique names: a name that comes again gets its number."""
    out: list[str] = []
    for name in names:
        out.append(name if name not in out else f"{name}_{len(out)}")
    return tuple(out)
