"""The rest pose of a figure, from what its skin was bound to, and its takes as motions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import FormatError
from footplant.io.fbx.characters import Joints
from footplant.io.fbx.process import Answer
from footplant.io.fbx.scene import (
    NOTABLE,
    Curves,
    Placed,
    Scene,
    TakePlan,
    lineage,
    place_nodes,
    rest_curves,
    scalar_factor,
    worlds,
)
from footplant.io.place_bones import place_bones
from footplant.motion import Motion
from footplant.skeleton import Skeleton

SAME_SIZE = (0.8, 1.25)
"""Bones of a bind pose are at most so much shorter or longer than the nodes' own, else it is in other units."""
SAME_PLACE = 1e-4
"""Matrices that agree to this share of the figure's size are one."""


@dataclass(frozen=True, eq=False)
class Stand:
    """All nodes as the file has them."""

    placed: dict[int, Placed]
    """Each in its parent's frame."""
    world: dict[int, tuple[NDArray, NDArray]]
    """World position (3,) and rotation (4,) of each."""


@dataclass(frozen=True, eq=False)
class Rest:
    """A figure as its file stands, and as it was bound."""

    joints: Joints
    skeleton: Skeleton
    """In the pose that the skin was bound in, where there is one, else in that of the nodes."""
    stand: Stand


def stand_up(scene: Scene) -> Stand:
    """All nodes as the file has them."""
    placed = place_nodes(scene, scene.order, rest_curves(scene))
    return Stand(placed, {node: (place[0], turn[0]) for node, (place, turn) in worlds(scene, placed).items()})


def make_rest(scene: Scene, joints: Joints, stand: Stand, binds: dict[int, NDArray], notes: list[str]) -> Rest:
    """The rest pose; binds: node → world matrix (4, 4) that skins were bound with."""
    placed, world = stand.placed, stand.world
    mirrored = sum(bool((scene.scales[node] < 0).any()) for node in joints.nodes)
    if mirrored:
        have = "1 joint is" if mirrored == 1 else f"{mirrored} joints are"
        notes.append(f"{have} mirrored by a negative scale; the places of joints and vertices are kept")
    if any(scalar_factor(placed[node].above[0], NOTABLE) is None for node in joints.nodes):
        notes.append(
            "some joints are scaled by different factors along their axes; the bones follow, the mesh's own scaling "
            "is taken from the rest pose"
        )
    # nodes of our own files stand in the rest pose; others' may stand in any, and the pose of binding tells better
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
    return Rest(joints, skeleton, stand)


def _unique_names(scene: Scene, joints: Joints, notes: list[str]) -> tuple[str, ...]:
    names: list[str] = []
    taken: dict[str, int] = {}  # name → the number that another joint of that name has tried last
    twice: list[str] = []
    for node in joints.nodes:
        name = scene.names[node] or ("root" if node == 0 else f"node_{node}")
        if name in taken:
            twice.append(name)
            base = name
            while name in taken:
                taken[base] += 1
                name = f"{base}_{taken[base]}"
        taken[name] = 0
        names.append(name)
    if twice:
        shown = ", ".join(repr(name) for name in list(dict.fromkeys(twice))[:5])
        have = "1 joint has" if len(twice) == 1 else f"{len(twice)} joints have"
        notes.append(f"{have} a name that another has too ({shown}); a number was added")
    return tuple(names)


def _bound(
    scene: Scene, joints: Joints, stand: dict[int, tuple[NDArray, NDArray]], binds: dict[int, NDArray]
) -> dict[int, tuple[NDArray, NDArray]]:
    """World position and rotation of joints in the pose they were bound in; none where that cannot be the figure's."""
    inside = set(joints.nodes)
    found = {node: binds[node] for node in joints.nodes if node in binds}
    if not found:
        return {}
    # the file's list of bind poses fills in joints that bind no vertex, if it tells of the same pose
    size = max(float(np.ptp([stand[node][0] for node in joints.nodes], axis=0).max()), 1e-9)
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
            others.append(float(np.linalg.norm(stand[node][0] - stand[parent][0])))
    if sum(others) > 0 and not SAME_SIZE[0] <= sum(lengths) / sum(others) <= SAME_SIZE[1]:
        return {}
    # a pose that is the nodes' own but seen from elsewhere (moved, or with another axis up) says nothing new
    moves = [_affine(*stand[node]) @ np.linalg.inv(_affine(*split[node])) for node in split]
    if all(_close(move, moves[0], size) for move in moves):
        return {}
    return split


def _close(a: NDArray, b: NDArray, size: float) -> bool:
    scale = max(float(np.abs(a[:3, :3]).max()), 1e-12)
    turned = float(np.abs(a[:3, :3] - b[:3, :3]).max()) <= SAME_PLACE * scale
    return turned and float(np.abs(a[:3, 3] - b[:3, 3]).max()) <= SAME_PLACE * size


def _affine(position: NDArray, turn: NDArray) -> NDArray:
    out = np.eye(4)
    out[:3, :3] = rotation.to_matrix(turn)
    out[:3, 3] = position
    return out


def _split(matrix: NDArray) -> tuple[NDArray, NDArray]:
    """Position and nearest rotation of a matrix; a mirror is undone along all axes, as `place_nodes` does it."""
    linear = matrix[:3, :3]
    if not np.isfinite(matrix).all():
        return matrix[:3, 3], np.full(4, np.nan)
    u, _, v = np.linalg.svd(linear if np.linalg.det(linear) >= 0 else -linear)
    return matrix[:3, 3], rotation.from_matrix(u @ np.diag([1.0, 1.0, np.linalg.det(u @ v)]) @ v)


def take_curves(scene: Scene, take: TakePlan, answer: Answer) -> Curves:
    """The curves of a take, as the child sampled them."""
    rest = rest_curves(scene)
    animated = set(take.nodes)

    def curves(node: int) -> tuple[NDArray, NDArray, NDArray]:
        if node not in animated:
            return rest(node)
        parts = [answer.array(f"{part}{node}", "d", width) for part, width in (("t", 3), ("r", 4), ("s", 3))]
        for part in parts:
            if len(part) not in (1, take.frames):
                raise FormatError(f"expected {take.frames} frames, got {len(part)}", path=scene.path, where=take.name)
        return parts[0], rotation.normalize(parts[1][:, [3, 0, 1, 2]]), parts[2]

    return curves


def read_motion(scene: Scene, rest: Rest, take: TakePlan, curves: Curves, notes: list[str]) -> Motion:
    """One take as a motion of the figure."""
    joints, frames = rest.joints, take.frames
    notes.extend(take.notes)
    scaled = sum(_scales(scene, node, curves) for node in joints.nodes if node in take.nodes)
    if scaled:
        where = f"{scaled} {'joint' if scaled == 1 else 'joints'}"
        notes.append(f"scales are animated (at {where}); bone lengths follow, the thickness of the mesh does not")
    placed = place_nodes(scene, lineage(scene, joints.nodes), curves)
    rotations = np.empty((frames, len(joints.nodes), 4))
    for joint, node in enumerate(joints.nodes):
        rotations[:, joint] = placed[node].turn
    root = np.empty((frames, 3))
    top = joints.nodes[0]
    position, turn = worlds(scene, {node: placed[node] for node in lineage(scene, [top])})[top]
    root[:], rotations[:, 0] = position, turn
    skeleton, offsets = place_bones(rest.skeleton, [placed[node].offset for node in joints.nodes], frames, notes)
    return Motion(skeleton, root, rotations, take.rate, offsets)


def _scales(scene: Scene, node: int, curves: Curves) -> bool:
    scale, rest = curves(node)[2], scene.scales[node]
    return bool(np.abs(scale - rest).max() > NOTABLE * max(float(np.abs(rest).max()), 1e-9))
