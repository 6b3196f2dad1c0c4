"""The data extracted from a USD stage: values and arrays in the stage's own units, axes and conventions.

Matrices are USD's, for row vectors: translations are in the last row. Quaternions are (x, y, z, w), as in usd-core's
arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class RawAnimation:
    """One SkelAnimation, sampled at a uniform frame rate."""

    path: str
    """Prim path; "" for the rest pose, which is not a prim."""
    joints: list[str]
    """Joint paths, in the animation's own order."""
    fps: float
    start: float
    """Time code of the first frame."""
    step: float
    """Time codes per frame."""
    frames: int
    translations: NDArray | None
    """(1 or F, joints, 3); None: those of the rest pose."""
    rotations: NDArray | None
    """(1 or F, joints, 4)."""
    scales: NDArray | None
    """(1 or F, joints, 3)."""
    bases: NDArray
    """(1 or F, 4, 4) local-to-world transform of the skeleton prim."""
    even: bool
    """Whether all samples lie on frames."""
    shared: bool = False
    """Whether another skeleton uses it too."""


@dataclass(frozen=True, eq=False)
class RawMesh:
    """One mesh that is bound to a skeleton."""

    path: str
    points: NDArray
    """(V, 3)"""
    counts: NDArray
    """(P,) number of corners of each polygon."""
    corners: NDArray
    """(sum of counts,) vertex indices of the polygons."""
    left_handed: bool
    normals: NDArray | None
    """(V, 3) if the mesh has one per vertex, else None."""
    indices: NDArray
    """(n,) indices into `joints` or the skeleton's joints: `width` per vertex, or per mesh if `constant`."""
    weights: NDArray
    """(n,)"""
    width: int
    constant: bool
    bind: NDArray
    """(4, 4) geomBindTransform: mesh space → skeleton space in the bind pose."""
    joints: list[str] | None
    """Joint paths that the indices refer to; None: the skeleton's."""


@dataclass(frozen=True, eq=False)
class RawSkeleton:
    """One Skeleton prim with everything bound to it."""

    path: str
    """Path of the Skeleton prim, or of the SkelAnimation in a file without skeletons."""
    name: str
    joints: list[str]
    """Joint paths."""
    joint_names: list[str] | None
    """Joint names, if the prim states them."""
    bind: NDArray | None
    """(J, 4, 4) in skeleton space, or None."""
    rest: NDArray | None
    """(J, 4, 4) in the parent joint's space, or None."""
    base: NDArray
    """(4, 4) local-to-world transform of the prim at the earliest time."""
    animations: list[RawAnimation] = field(default_factory=list)
    """The bound animation first."""
    meshes: list[RawMesh] = field(default_factory=list)
    end_parents: list[int] = field(default_factory=list)
    end_offsets: list[list[float]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    proxy: bool = False
    """Whether the prim is inside an instance, which cannot be edited."""


@dataclass(frozen=True, eq=False)
class Content:
    """Everything that is read from a stage."""

    up: str
    """"y" or "z"."""
    scale: float
    """Metres per unit, as stated or USD's default."""
    declared: bool
    """Whether the stage states it."""
    skeletons: list[RawSkeleton]
    notes: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    """What the stage holds, counted: see `io.contents`."""


def to_dict(content: Content) -> dict[str, Any]:
    """Return dicts and lists that share the content's arrays (`dataclasses.asdict` would copy them)."""
    skeletons = []
    for skeleton in content.skeletons:
        entry = dict(vars(skeleton))
        entry["animations"] = [dict(vars(item)) for item in skeleton.animations]
        entry["meshes"] = [dict(vars(item)) for item in skeleton.meshes]
        skeletons.append(entry)
    return {**vars(content), "skeletons": skeletons}


def from_dict(data: dict[str, Any]) -> Content:
    """Return the content from the result of `to_dict`."""
    skeletons = []
    for entry in data["skeletons"]:
        animations = [RawAnimation(**item) for item in entry["animations"]]
        meshes = [RawMesh(**item) for item in entry["meshes"]]
        skeletons.append(RawSkeleton(**{**entry, "animations": animations, "meshes": meshes}))
    return Content(**{**data, "skeletons": skeletons})
