"""What is taken out of a USD stage: plain values and arrays in the stage's own units, axes and conventions.

Matrices are USD's: they multiply row vectors from the right, so translations are in the last row. Quaternions are
(x, y, z, w), as usd-core's arrays hold them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class RawAnimation:
    """One SkelAnimation, its curves already sampled at even steps."""

    path: str
    """Of the prim; "" for the rest pose, which is no prim."""
    joints: list[str]
    """Joint paths, in the animation's own order."""
    fps: float
    start: float
    """Time code of the first frame."""
    step: float
    """Time codes from one frame to the next."""
    frames: int
    translations: NDArray | None
    """(1 or F, joints, 3); None: the rest pose's."""
    rotations: NDArray | None
    """(1 or F, joints, 4)."""
    scales: NDArray | None
    """(1 or F, joints, 3)."""
    bases: NDArray
    """(1 or F, 4, 4) the skeleton prim's own transform to the world."""
    even: bool
    """Whether the samples lie on the frames."""
    shared: bool = False
    """Whether another skeleton moves by it too."""


@dataclass(frozen=True, eq=False)
class RawMesh:
    """One mesh that is bound to a skeleton."""

    path: str
    points: NDArray
    """(V, 3)"""
    counts: NDArray
    """(P,) corners of each polygon."""
    corners: NDArray
    """(sum of counts,) vertices of the polygons."""
    left_handed: bool
    normals: NDArray | None
    """(V, 3) where the mesh has one a vertex, else None."""
    indices: NDArray
    """(n,) joints of `joints`, or of the skeleton; `width` of them a vertex, or a mesh when `constant`."""
    weights: NDArray
    """(n,)"""
    width: int
    constant: bool
    bind: NDArray
    """(4, 4) geomBindTransform: mesh space → skeleton space as bound."""
    joints: list[str] | None
    """Joint paths that the indices mean; None: the skeleton's."""


@dataclass(frozen=True, eq=False)
class RawSkeleton:
    """One Skeleton prim with everything that is bound to it."""

    path: str
    """Of the Skeleton prim, or of the SkelAnimation of a file that has no skeleton."""
    name: str
    joints: list[str]
    """Joint paths."""
    joint_names: list[str] | None
    """Names for them where the prim has some."""
    bind: NDArray | None
    """(J, 4, 4) in skeleton space, or None when absent."""
    rest: NDArray | None
    """(J, 4, 4) in the parent joint's space, or None."""
    base: NDArray
    """(4, 4) the prim's own transform to the world, at the earliest time."""
    animations: list[RawAnimation] = field(default_factory=list)
    """The bound one first."""
    meshes: list[RawMesh] = field(default_factory=list)
    end_parents: list[int] = field(default_factory=list)
    end_offsets: list[list[float]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    proxy: bool = False
    """Whether the prim stands in an instance, where nothing can be changed."""


@dataclass(frozen=True, eq=False)
class Content:
    """Everything of a stage that is read."""

    up: str
    """"y" or "z"."""
    scale: float
    """Metres per unit, as the stage says or USD means where it says nothing."""
    declared: bool
    """Whether the stage says so itself."""
    skeletons: list[RawSkeleton]
    notes: list[str] = field(default_factory=list)


def to_plain(content: Content) -> dict[str, Any]:
    """Dicts and lists with the same arrays in them (`dataclasses.asdict` would copy those)."""
    skeletons = []
    for skeleton in content.skeletons:
        entry = dict(vars(skeleton))
        entry["animations"] = [dict(vars(item)) for item in skeleton.animations]
        entry["meshes"] = [dict(vars(item)) for item in skeleton.meshes]
        skeletons.append(entry)
    return {**vars(content), "skeletons": skeletons}


def from_plain(plain: dict[str, Any]) -> Content:
    """A content from what `to_plain` made of it."""
    skeletons = []
    for entry in plain["skeletons"]:
        animations = [RawAnimation(**item) for item in entry["animations"]]
        meshes = [RawMesh(**item) for item in entry["meshes"]]
        skeletons.append(RawSkeleton(**{**entry, "animations": animations, "meshes": meshes}))
    return Content(**{**plain, "skeletons": skeletons})
