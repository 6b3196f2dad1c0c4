"""The rest pose of a character, from its skin's bind pose if there is one, and its takes as motions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import FormatError
from footplant.io.fbx.characters import Joints
from footplant.io.fbx.process import Answer
from footplant.io.fbx.scene import (
    NOTABLE,
    Curves,
    FbxScene,
    NodeTransform,
    TakePlan,
    fold_nodes,
    lineage,
    rest_curves,
    scalar_factor,
    worlds,
)
from footplant.io.place_bones import place_bones
from footplant.motion import Motion
from footplant.skeleton import Skeleton

ORDERS = ("xyz", "xzy", "yzx", "yxz", "zxy", "zyx")
"""Rotation orders by ufbx's numbers: the first axis turns first."""
SAME_SIZE = (0.8, 1.25)
"""Range of the ratio of bone lengths in the bind pose to the nodes' own; outside, the bind pose is in other units."""
SAME_MATRIX = 1e-4
"""Matrices are equal if they agree within this fraction of the character's size."""


@dataclass(frozen=True, eq=False)
class StaticPose:
    """All nodes with the file's static transforms."""

    placed: dict[int, NodeTransform]
    """Each in its parent's frame."""
    world: dict[int, tuple[NDArray, NDArray]]
    """World position (3,) and rotation (4,) of each."""


@dataclass(frozen=True, eq=False)
class Rest:
    """A character's rest pose, and the static transforms of the file's nodes."""

    joints: Joints
    skeleton: Skeleton
    """In the skin's bind pose if there is one, else in the static pose of the nodes."""
    static: StaticPose


def static_pose(scene: FbxScene) -> StaticPose:
    """Return all nodes with the file's static transforms."""
    placed = fold_nodes(scene, scene.order, rest_curves(scene))
    return StaticPose(placed, {node: (place[0], turn[0]) for node, (place, turn) in worlds(scene, placed).items()})


def make_rest(scene: FbxScene, joints: Joints, static: StaticPose, binds: dict[int, NDArray], notes: list[str]) -> Rest:
    """Return the rest pose; binds: node → world matrix (4, 4) of the skins' bind pose."""
    placed, world = static.placed, static.world
    mirrored = sum(bool((scene.scales[node] < 0).any()) for node in joints.nodes)
    if mirrored:
        have = "1 joint is" if mirrored == 1 else f"{mirrored} joints are"
        notes.append(f"{have} mirrored by a negative scale; positions of joints and vertices are preserved")
    if any(scalar_factor(placed[node].above[0], NOTABLE) is None for node in joints.nodes):
        notes.append(
            "some joints have non-uniform scale; bone lengths follow it, the mesh keeps the scale of the rest pose"
        )
    # nodes of our own files are in the rest pose; others may be in any pose, and the bind pose is a better choice
    bound = {} if scene.own else _bound(scene, joints, world, binds)
    positions, turns = np.empty((len(joints.nodes), 3)), np.empty((len(joints.nodes), 4))
    offsets, rest = np.empty_like(positions), np.empty_like(turns)
    for joint, (node, parent) in enumerate(zip(joints.nodes, joints.parents)):
        above = None if parent < 0 else (positions[parent], turns[parent])
        if node in bound:
            positions[joint], turns[joint] = bound[node]
        elif above is None:
            positions[joint], turns[joint] = world[node]
        else:
            positions[joint] = above[0] + rotation.rotate(above[1], placed[node].offset[0])
            turns[joint] = rotation.multiply(above[1], placed[node].turn[0])
        offsets[joint], rest[joint] = positions[joint], turns[joint]
        if above is not None:
            back = rotation.inverse(above[1])
            offsets[joint] = rotation.rotate(back, positions[joint] - above[0])
            rest[joint] = rotation.multiply(back, turns[joint])
    skeleton = Skeleton(
        names=_unique_names(scene, joints, notes),
        parents=np.array(joints.parents),
        offsets=offsets,
        rest=rest,
        end_parents=np.array([parent for parent, _ in joints.ends], np.int64),
        end_offsets=np.array([placed[node].offset[0] for _, node in joints.ends]).reshape(-1, 3),
    )
    return Rest(joints, skeleton, static)


def _unique_names(scene: FbxScene, joints: Joints, notes: list[str]) -> tuple[str, ...]:
    """Return the joints' names; duplicates get a number."""
    names: list[str] = []
    taken: dict[str, int] = {}  # name → last number tried for a duplicate of it
    duplicates: list[str] = []
    for node in joints.nodes:
        name = scene.names[node] or ("root" if node == 0 else f"node_{node}")
        if name in taken:
            duplicates.append(name)
            base = name
            while name in taken:
                taken[base] += 1
                name = f"{base}_{taken[base]}"
        taken[name] = 0
        names.append(name)
    if duplicates:
        shown = ", ".join(repr(name) for name in list(dict.fromkeys(duplicates))[:5])
        have = "1 joint has" if len(duplicates) == 1 else f"{len(duplicates)} joints have"
        notes.append(f"{have} a duplicate name ({shown}); a number was added")
    return tuple(names)


def _bound(
    scene: FbxScene, joints: Joints, world: dict[int, tuple[NDArray, NDArray]], binds: dict[int, NDArray]
) -> dict[int, tuple[NDArray, NDArray]]:
    """Return world positions and rotations of joints in the bind pose; {} if it cannot be the character's."""
    inside = set(joints.nodes)
    found = {node: binds[node] for node in joints.nodes if node in binds}
    if not found:
        return {}
    # the file's bind pose list adds joints that bind no vertex, if it describes the same pose
    size = max(float(np.ptp([world[node][0] for node in joints.nodes], axis=0).max()), 1e-9)
    shared = [node for node in found if node in scene.poses]
    if shared and all(_close(found[node], scene.poses[node], size) for node in shared):
        found |= {node: pose for node, pose in scene.poses.items() if node in inside and node not in found}
    split = {node: _split(matrix) for node, matrix in found.items()}
    if not all(np.isfinite(part).all() for parts in split.values() for part in parts):
        return {}
    lengths, others = [], []
    for node, (position, _) in split.items():
        parent = scene.parents[node]
        if parent in split:
            lengths.append(float(np.linalg.norm(position - split[parent][0])))
            others.append(float(np.linalg.norm(world[node][0] - world[parent][0])))
    if sum(others) > 0 and not SAME_SIZE[0] <= sum(lengths) / sum(others) <= SAME_SIZE[1]:
        return {}
    # a bind pose that is the static pose under one rigid transform (another place or up axis) adds nothing
    moves = [_affine(*world[node]) @ np.linalg.inv(_affine(*split[node])) for node in split]
    if all(_close(move, moves[0], size) for move in moves):
        return {}
    return split


def _close(a: NDArray, b: NDArray, size: float) -> bool:
    """Return whether two matrices (4, 4) agree; size: the character's, file units."""
    scale = max(float(np.abs(a[:3, :3]).max()), 1e-12)
    turned = float(np.abs(a[:3, :3] - b[:3, :3]).max()) <= SAME_MATRIX * scale
    return turned and float(np.abs(a[:3, 3] - b[:3, 3]).max()) <= SAME_MATRIX * size


def _affine(position: NDArray, turn: NDArray) -> NDArray:
    """Return the matrix (4, 4) of a position and a rotation."""
    out = np.eye(4)
    out[:3, :3] = rotation.to_matrix(turn)
    out[:3, 3] = position
    return out


def _split(matrix: NDArray) -> tuple[NDArray, NDArray]:
    """Return position and nearest rotation of a matrix; a mirror is undone along all axes, as in `fold_nodes`."""
    linear = matrix[:3, :3]
    if not np.isfinite(matrix).all():
        return matrix[:3, 3], np.full(4, np.nan)
    u, _, v = np.linalg.svd(linear if np.linalg.det(linear) >= 0 else -linear)
    return matrix[:3, 3], rotation.from_matrix(u @ np.diag([1.0, 1.0, np.linalg.det(u @ v)]) @ v)


def take_curves(scene: FbxScene, take: TakePlan, answer: Answer) -> Curves:
    """Return the curves of a take, as the child process sampled them."""
    rest = rest_curves(scene)
    animated = set(take.nodes)
    eulers = answer.header.data.get("eulers")
    eulers = eulers if isinstance(eulers, dict) else {}

    def curves(node: int) -> tuple[NDArray, NDArray, NDArray]:
        if node not in animated:
            return rest(node)
        turned = ("e", 3) if str(node) in eulers else ("r", 4)
        parts = [answer.array(f"{part}{node}", "d", width) for part, width in (("t", 3), turned, ("s", 3))]
        for part in parts:
            if len(part) not in (1, take.frames):
                raise FormatError(f"expected {take.frames} frames, got {len(part)}", path=scene.path, where=take.name)
        if str(node) in eulers:
            return parts[0], _from_angles(parts[1], eulers[str(node)], scene.path), parts[2]
        return parts[0], rotation.normalize(parts[1][:, [3, 0, 1, 2]]), parts[2]

    return curves


def _from_angles(angles: NDArray, stated: object, path: str | Path) -> NDArray:
    """Return quaternions (F, 4) of Euler angles (F, 3), degrees; stated: rotation order, and the rotation before it."""
    numbers = [n for n in stated if isinstance(n, int | float)] if isinstance(stated, list) else []
    if len(numbers) != 5 or numbers[0] not in range(len(ORDERS)):
        raise FormatError("the reader gave an incomplete answer", path=path)
    order = ORDERS[int(numbers[0])]
    # an order names the axis that turns first; in a product of rotations that is the last one
    axes = order[::-1]
    turns = rotation.from_euler(np.radians(angles[:, ["xyz".index(axis) for axis in axes]]), axes)
    x, y, z, w = numbers[1:]
    return rotation.normalize(rotation.multiply([w, x, y, z], turns))


def read_motion(scene: FbxScene, rest: Rest, take: TakePlan, curves: Curves, notes: list[str]) -> Motion:
    """Return one take as a motion of the character."""
    joints, frames = rest.joints, take.frames
    notes.extend(take.notes)
    scaled = sum(_scales(scene, node, curves) for node in joints.nodes if node in take.nodes)
    if scaled:
        where = f"{scaled} {'joint' if scaled == 1 else 'joints'}"
        notes.append(f"scale is animated (at {where}); bone lengths follow it, the thickness of the mesh does not")
    placed = fold_nodes(scene, lineage(scene, joints.nodes), curves)
    rotations = np.empty((frames, len(joints.nodes), 4))
    for joint, node in enumerate(joints.nodes):
        rotations[:, joint] = placed[node].turn
    root = np.empty((frames, 3))
    top = joints.nodes[0]
    position, turn = worlds(scene, {node: placed[node] for node in lineage(scene, [top])})[top]
    root[:], rotations[:, 0] = position, turn
    skeleton, offsets = place_bones(rest.skeleton, [placed[node].offset for node in joints.nodes], frames, notes)
    return Motion(skeleton, root, rotations, take.rate, offsets)


def _scales(scene: FbxScene, node: int, curves: Curves) -> bool:
    """Return whether a node's scale is noticeably animated."""
    scale, rest = curves(node)[2], scene.scales[node]
    return bool(np.abs(scale - rest).max() > NOTABLE * max(float(np.abs(rest).max()), 1e-9))
