"""glTF nodes as skeletons: how node transforms become joint offsets and rotations.

A node has a translation t, a rotation R and a stretch S (a diagonal scale, or the remainder of a matrix); a joint has
only an offset and a rotation. Write a node's world matrix as T(p)·Q·M with a rotation Q and a remainder M. A child is
at p + Q·(M t), so its offset is M t, and the child's M is (local rotation)ᵀ·M·R·S. If every scale is uniform, M is a
constant scalar (negative below a mirrored node) and offsets are constant. Under non-uniform or animated scale, M
varies with the pose: the offsets vary too, and world positions stay exact.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import FormatError
from footplant.io.gltf.document import Document
from footplant.io.json import Json
from footplant.skeleton import Skeleton

MAX_DEPTH = 4096
"""Maximum nesting depth of nodes; a deeper tree is treated as a damaged file."""
UNIFORM = 1e-6
"""Relative. Scale factors that differ by less are one uniform scale."""
NOTABLE = 1e-3
"""Relative. Scale factors that differ by more are reported in a note; smaller differences are exporters' rounding."""
END_SITE = "footplantEndSite"
"""Key in a node's extras: the node is an end site, which marks the tip of a bone, and not a joint."""
BONES = "footplantBones"
"""Key in a mesh's extras: the mesh is Footplant's display geometry for bones, and not the character's skin."""
MADE_FOR = "footplant_made_for"
"""Key in an animation's extras: what the animation was made for, a ground."""
_END_NAME = re.compile(r"(?i:[ _.\-](end|nub|tip)|endsite|end[ _.\-]site)$|[a-z0-9](End|Nub|EndSite)$")


@dataclass(frozen=True, eq=False)
class GltfScene:
    """All nodes of a document."""

    document: Document
    entries: tuple[Json, ...]
    """The JSON object of each node."""
    parents: tuple[int, ...]
    """Parent of each node, −1 for root nodes."""
    children: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    """All nodes, parents before children, children in the file's order."""
    roots: tuple[int, ...]
    """Root nodes of the default scene; all root nodes if the file has no scene."""
    translations: NDArray
    """(N, 3) in the parent's units."""
    rotations: NDArray
    """(N, 4) unit quaternions (w, x, y, z)."""
    stretches: NDArray
    """(N, 3, 3); diagonal unless the node has a matrix with shear."""
    bases: dict[int, Base] = field(default_factory=dict)
    """Cache of `base_above`: rest frames of nodes."""

    def name(self, node: int) -> str:
        """Return the name of a node, or node_N."""
        return self.entries[node].text("name", "") or f"node_{node}"


@dataclass(frozen=True, eq=False)
class Joints:
    """The nodes of one character, as joints in the order of its skeleton."""

    nodes: tuple[int, ...]
    """Node of each joint; −1 for an added root above several trees, which has no node."""
    parents: tuple[int, ...]
    """Parent joint of each joint, −1 for joint 0."""
    bases: tuple[Base | None, ...]
    """For joints whose parent node is not a joint: the static frame above them. None: the parent joint is above."""
    ends: tuple[tuple[int, int], ...] = ()
    """(parent joint, node) of each end site."""


@dataclass(frozen=True, eq=False)
class Base:
    """A static frame above a character, T(position)·Q(rotation)·stretch."""

    position: NDArray
    """(3,) metres."""
    rotation: NDArray
    """(4,) unit quaternion."""
    stretch: NDArray
    """(3, 3)."""


def read_scene(document: Document) -> GltfScene:
    """Read and check the node tree."""
    top = document.top
    entries = top.objects("nodes")
    count = len(entries)
    if not count:
        raise FormatError("expected nodes, got none", path=document.path, where="nodes")
    parents, children = [-1] * count, []
    for node, entry in enumerate(entries):
        below = entry.indices("children", count)
        for number, child in enumerate(below):
            if parents[child] != -1:
                entry.fail(f"children[{number}]", f"expected a tree, got node {child} below two nodes")
            parents[child] = node
        children.append(tuple(below))
    order = _walk([node for node in range(count) if parents[node] < 0], children, document)
    if len(order) < count:
        stray = min(set(range(count)) - set(order))
        entries[stray].fail("children", "expected a tree, got nodes that are their own ancestors")
    scenes = top.objects("scenes")
    shown = top.index("scene", len(scenes), 0)
    lists = [scene.indices("nodes", count) for scene in scenes]
    roots = [node for node in lists[shown] if parents[node] < 0] if scenes else []
    transforms = [_transform(entry) for entry in entries]
    return GltfScene(
        document,
        tuple(entries),
        tuple(parents),
        tuple(children),
        tuple(order),
        tuple(roots) or tuple(node for node in range(count) if parents[node] < 0),
        np.array([t for t, _, _ in transforms]),
        np.array([r for _, r, _ in transforms]),
        np.array([s for _, _, s in transforms]),
    )


def _walk(starts: Sequence[int], children: Sequence[Sequence[int]], document: Document) -> list[int]:
    """Return nodes in depth-first order."""
    order, stack = [], [(node, 0) for node in reversed(starts)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise FormatError(
                f"expected nodes nested at most {MAX_DEPTH} deep, got more", path=document.path, where=f"nodes[{node}]"
            )
        order.append(node)
        stack.extend((child, depth + 1) for child in reversed(children[node]))
    return order


def _transform(entry: Json) -> tuple[NDArray, NDArray, NDArray]:
    """Return translation, rotation and stretch of a node."""
    matrix = entry.numbers("matrix", 16)
    if matrix is not None:
        full = np.array(matrix).reshape(4, 4).T
        turn, stretch = split_linear(full[:3, :3])
        return full[:3, 3], turn, stretch
    translation = entry.numbers("translation", 3) or [0.0, 0.0, 0.0]
    x, y, z, w = entry.numbers("rotation", 4) or [0.0, 0.0, 0.0, 1.0]
    norm = (x * x + y * y + z * z + w * w) ** 0.5
    if not 0.5 < norm < 2.0:
        entry.fail("rotation", f"expected a unit quaternion, got one of length {norm:.6g}")
    scale = entry.numbers("scale", 3) or [1.0, 1.0, 1.0]
    return np.array(translation), np.array([w, x, y, z]) / norm, np.diag(scale)


def split_linear(linear: NDArray) -> tuple[NDArray, NDArray]:
    """Factor a 3×3 matrix as quaternion and stretch, linear = R·S; a mirror is attributed to the x axis."""
    columns = np.array(linear)
    if np.linalg.det(columns) < 0:
        columns[:, 0] *= -1
    lengths = np.linalg.norm(columns, axis=0)
    unit = columns / np.where(lengths > 0, lengths, 1.0)
    if np.allclose(unit.T @ unit, np.eye(3), atol=1e-9):
        matrix = unit
    else:
        # the nearest rotation (polar decomposition): correct for shear and defined for a degenerate scale
        u, _, v = np.linalg.svd(columns)
        matrix = u @ np.diag([1.0, 1.0, np.linalg.det(u @ v)]) @ v
    turn = rotation.from_matrix(matrix)
    return turn, rotation.to_matrix(turn).T @ linear


def signs(stretch: NDArray) -> NDArray:
    """Return (3,) the sign of each axis of a stretch: −1 where it mirrors."""
    return np.where(np.diagonal(stretch) < 0, -1.0, 1.0)


def scalar_factor(matrix: NDArray, tolerance: float = UNIFORM) -> float | None:
    """Return g if the matrix is g·I, else None."""
    factor = float(np.mean(np.diagonal(matrix)))
    return factor if np.abs(matrix - np.eye(3) * factor).max() <= tolerance * abs(factor) else None


def uniform_factor(stretch: NDArray) -> float | None:
    """Return the factor of a uniform stretch, negative if it mirrors; None if it is not uniform."""
    factor = float(np.mean(np.abs(np.diagonal(stretch))))
    if np.abs(stretch - np.diag(signs(stretch)) * factor).max() > UNIFORM * factor:
        return None
    return factor * float(np.prod(signs(stretch)))


def mirror_fix(stretch: NDArray) -> NDArray:
    """Return the half turn (or identity) that a mirroring stretch D adds to a joint's rotation: det(D)·D."""
    axes = signs(stretch)
    if (axes > 0).all():
        return rotation.IDENTITY
    return rotation.from_matrix(np.diag(axes * np.prod(axes)))


def base_above(scene: GltfScene, node: int) -> Base:
    """Return the static frame above a node at rest."""
    chain, place = [], scene.parents[node]
    while place >= 0 and place not in scene.bases:
        chain.append(place)
        place = scene.parents[place]
    base = scene.bases[place] if place >= 0 else Base(np.zeros(3), rotation.identity(), np.eye(3))
    for above in reversed(chain):
        local = rotation.multiply(scene.rotations[above], mirror_fix(scene.stretches[above]))
        scale_matrix = base.stretch @ rotation.to_matrix(scene.rotations[above]) @ scene.stretches[above]
        base = scene.bases[above] = Base(
            base.position + rotation.rotate(base.rotation, base.stretch @ scene.translations[above]),
            rotation.normalize(rotation.multiply(base.rotation, local)),
            rotation.to_matrix(local).T @ scale_matrix,
        )
    return base


@dataclass(eq=False)
class Pose:
    """Offsets and rotations of every joint, each (1, …) when constant or (F, …)."""

    offsets: list[NDArray]
    """Translation in the parent's frame, metres; for joints with a base, in the frame that the base is in."""
    rotations: list[NDArray]
    """Local rotations; for joints with a base they include the base's rotation."""
    scale_matrices: list[NDArray]
    """(1 or F, 3, 3) the matrix M above each joint: node translation → offset."""


def fold(scene: GltfScene, joints: Joints, turns: Sequence[NDArray], translations: Sequence[NDArray] | None,
         stretches: Sequence[NDArray]) -> Pose:  # fmt: skip
    """Convert node transforms to joint offsets and rotations, as in the module docstring.

    turns, translations, stretches: per joint (1 or F, 4), (1 or F, 3), (1 or F, 3, 3). Without translations, offsets
    are zero.
    """
    pose = Pose([], [], [])
    below: list[NDArray] = []
    for joint, node in enumerate(joints.nodes):
        base, parent = joints.bases[joint], joints.parents[joint]
        if node < 0:
            pose.offsets.append(np.zeros((1, 3)))
            pose.rotations.append(rotation.identity(1))
            pose.scale_matrices.append(np.eye(3)[None])
            below.append(np.eye(3)[None])
            continue
        scale_matrix = below[parent] if base is None else base.stretch[None]
        rest = scene.stretches[node]
        local = rotation.multiply(turns[joint], mirror_fix(rest))
        factor = scalar_factor(scale_matrix[0]) if len(scale_matrix) == 1 else None
        own = uniform_factor(rest) if stretches[joint].shape == (1, 3, 3) else None
        if factor is not None and own is not None and np.array_equal(stretches[joint][0], rest):
            below.append(np.eye(3)[None] * (factor * own))
        else:
            matrix = scale_matrix @ rotation.to_matrix(turns[joint]) @ stretches[joint]
            below.append(np.swapaxes(rotation.to_matrix(local), -1, -2) @ matrix)
        pose.scale_matrices.append(scale_matrix)
        offset = np.zeros((1, 3)) if translations is None else (scale_matrix @ translations[joint][..., None])[..., 0]
        if base is not None:
            offset = base.position + rotation.rotate(base.rotation, offset)
            local = rotation.multiply(base.rotation, local)
        pose.offsets.append(offset)
        pose.rotations.append(rotation.normalize(local))
    pose.scale_matrices.extend(below[parent] for parent, _ in joints.ends)
    return pose


def rest_pose(scene: GltfScene, joints: Joints) -> Pose:
    """Return the pose of the nodes as stored in the file."""
    nodes = [max(node, 0) for node in joints.nodes]
    return fold(
        scene,
        joints,
        [scene.rotations[node][None] for node in nodes],
        [scene.translations[node][None] for node in nodes],
        [scene.stretches[node][None] for node in nodes],
    )


def make_skeleton(scene: GltfScene, joints: Joints, notes: list[str]) -> Skeleton:
    """Return the character's skeleton; duplicate names get a number."""
    pose = rest_pose(scene, joints)
    names, taken, duplicates = [], set(), []
    for node in joints.nodes:
        name = "root" if node < 0 else scene.name(node)
        if name in taken:
            duplicates.append(name)
            number = 1
            while f"{name}_{number}" in taken:
                number += 1
            name = f"{name}_{number}"
        taken.add(name)
        names.append(name)
    if duplicates:
        shown = ", ".join(repr(name) for name in list(dict.fromkeys(duplicates))[:5])
        have = "1 joint has" if len(duplicates) == 1 else f"{len(duplicates)} joints have"
        notes.append(f"{have} a duplicate name ({shown}); a number was added")
    if any(scalar_factor(scale_matrix[0], NOTABLE) is None for scale_matrix in pose.scale_matrices):
        notes.append(
            "some joints have non-uniform scale; bone lengths follow it, the mesh keeps the scale of the rest pose"
        )
    ends = [
        pose.scale_matrices[len(joints.nodes) + number][0] @ scene.translations[node]
        for number, (_, node) in enumerate(joints.ends)
    ]
    return Skeleton(
        names=tuple(names),
        parents=np.array(joints.parents),
        offsets=np.concatenate(pose.offsets),
        rest=np.concatenate(pose.rotations),
        end_parents=np.array([parent for parent, _ in joints.ends], np.int64),
        end_offsets=np.array(ends).reshape(-1, 3),
    )


def looks_like_end(scene: GltfScene, node: int) -> bool:
    """Return whether a leaf node is an end site: flagged so by Footplant, or named end, nub or tip."""
    entry = scene.entries[node]
    if scene.children[node] or any(key in entry.data for key in ("mesh", "camera", "skin")):
        return False
    extras = entry.data.get("extras")
    if isinstance(extras, dict) and extras.get(END_SITE) is True:
        return True
    return bool(_END_NAME.search(entry.text("name", "")))
