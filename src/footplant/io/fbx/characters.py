"""Find the characters of an FBX file: one per connected skeleton, its joints found from bones, skins and curves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from footplant.errors import FormatError
from footplant.io.fbx.scene import BONE, MESH, FbxScene
from footplant.io.node_groups import MAX_JOINTS, DisjointSets, first_bone, largest, note_single, subtree, topmost

TRANSFORM_ONLY = (0, 6)
"""Kinds of nodes that are only transforms: without an attribute, and nulls."""
_END_NAME = re.compile(r"(?i:[ _.\-](end|nub|tip)|endsite|end[ _.\-]site)$|[a-z0-9](End|Nub|EndSite)$")


@dataclass(frozen=True, eq=False)
class Joints:
    """The nodes of one character, as joints in the order of its skeleton."""

    nodes: tuple[int, ...]
    """Node of each joint."""
    parents: tuple[int, ...]
    """Parent joint of each joint, −1 for joint 0."""
    ends: tuple[tuple[int, int], ...] = ()
    """(parent joint, node) of each end site."""


def find_characters(scene: FbxScene, skins: Sequence[Sequence[int]], notes: list[str]) -> list[Joints]:
    """Return the joints of each character in a file; skins: the bones of each skinned mesh.

    Joints are the bones of the file, the nodes that skins use, the nodes between them, and animated meshes below them.
    Static nodes above are folded into the root; if one of them is animated, the skeleton starts there. Without bones,
    every node tree is a skeleton.
    """
    skinned = {node for bones in skins for node in bones}
    bones = {node for node in scene.order if scene.kinds[node] == BONE}
    seeds = {node for node in bones | skinned if not _is_end(scene, node, skinned)}
    if not seeds:
        return _trees(scene, notes)
    groups = _group(scene, seeds, skins)
    real = [members for members in groups if len(members) > 1] or groups
    note_single("bone", len(groups) - len(real), notes)
    return [_bone_joints(scene, members, skinned) for members in largest(real, len, notes)]


def _is_end(scene: FbxScene, node: int, skinned: set[int]) -> bool:
    """Return whether a leaf is an end site: flagged by Footplant; else by name, if it binds nothing and is static."""
    if scene.children[node] or node in skinned or scene.parents[node] <= 0:
        return False
    if scene.own:
        return bool(scene.ends[node])
    return bool(_END_NAME.search(scene.names[node])) and not scene.moves[node] & 8


def _group(scene: FbxScene, seeds: set[int], skins: Sequence[Sequence[int]]) -> list[set[int]]:
    """Return the bones of each character: bones in one tree or skin, or below the same (animated) node."""
    tops = topmost(scene.order, scene.parents, seeds)
    union = DisjointSets(set(tops.values()))
    for bones in skins:
        inside = [tops[node] for node in bones if node in tops]
        for top in inside[1:]:
            union.join(top, inside[0])
    holders: dict[int, int] = {}
    for top in union.leaders:
        holder = _holder(scene, top)
        if holder > 0:
            union.join(top, holders.setdefault(holder, top))
    groups: dict[int, set[int]] = {}
    for node in scene.order:
        if node in seeds:
            groups.setdefault(union.find(tops[node]), set()).add(node)
    return list(groups.values())


def _holder(scene: FbxScene, top: int) -> int:
    """Return the node that groups bones: the highest animated ancestor, else the parent."""
    moving = [node for node in _above(scene, top) if scene.moves[node]]
    return moving[-1] if moving else scene.parents[top]


def _above(scene: FbxScene, node: int) -> list[int]:
    """Return the ancestors of a node, nearest first, without node 0."""
    out, node = [], scene.parents[node]
    while node > 0:
        out.append(node)
        node = scene.parents[node]
    return out


def _root(scene: FbxScene, members: Iterable[int]) -> int:
    """Return the lowest common ancestor (or equal) of all, or the highest animated node above it."""
    path: list[int] | None = None
    for node in members:
        line = [node, *_above(scene, node), 0] if node else [0]
        if path is None:
            path = line
            continue
        inside = set(line)
        path = [known for known in path if known in inside]
    assert path
    root = path[0]
    return next((node for node in reversed(_above(scene, root)) if scene.moves[node]), root)


def _bone_joints(scene: FbxScene, members: set[int], skinned: set[int]) -> Joints:
    """Return the joints of a character: its bones, and animated meshes below them (a jaw, a prop in the hand).

    Animated nulls without a mesh below are control handles of the authoring program, such as the footsteps of 3ds Max
    bipeds, and are ignored.
    """
    below: set[int] = set()
    for node in scene.order:
        if node in members or scene.parents[node] in below:
            below.add(node)
    with_mesh: set[int] = set()
    for node in reversed(scene.order):
        if scene.kinds[node] == MESH or any(child in with_mesh for child in scene.children[node]):
            with_mesh.add(node)
    moved = {node for node in below & with_mesh if scene.moves[node]}
    return _make_joints(scene, members | moved, _root(scene, members), skinned)


def _make_joints(scene: FbxScene, inside: set[int], root: int, skinned: set[int]) -> Joints:
    """Return joints for a character's nodes and those that connect them to the root."""
    inside = set(inside) | {root}
    for node in list(inside):
        while node != root and scene.parents[node] not in inside:
            node = scene.parents[node]
            inside.add(node)
    if len(inside) > MAX_JOINTS:
        raise FormatError(f"expected at most {MAX_JOINTS} joints, got {len(inside)}", path=scene.path, where="nodes")
    nodes = [node for node in scene.order if node in inside]
    number = {node: joint for joint, node in enumerate(nodes)}
    ends = tuple(
        (number[scene.parents[node]], node)
        for node in scene.order
        if node not in inside and scene.parents[node] in number and _is_end(scene, node, skinned)
    )
    parents = tuple(number[scene.parents[node]] if node != root else -1 for node in nodes)
    return Joints(tuple(nodes), parents, ends)


def _trees(scene: FbxScene, notes: list[str]) -> list[Joints]:
    """Return every node tree as a skeleton; single nodes are dropped if there is a real tree."""
    trees = [
        {node for node in subtree(scene.children, top) if not _is_object(scene, node)} for top in scene.children[0]
    ]
    real = [bones for bones in trees if len(bones) > 1]
    if real:
        note_single("node", sum(len(bones) == 1 for bones in trees), notes)
        chosen = largest(real, len, notes)
        roots = [_tree_root(scene, bones) for bones in chosen]
        # nodes above the root only place the character
        return [
            _make_joints(scene, bones & set(subtree(scene.children, root)), root, set())
            for bones, root in zip(chosen, roots, strict=True)
        ]
    shapes = [
        node for node in scene.order[1:] if scene.kinds[node] in (MESH, BONE, *TRANSFORM_ONLY) or scene.moves[node]
    ]
    if not shapes:
        raise FormatError("expected a skeleton or other nodes, got none", path=scene.path, where="nodes")
    notes.append("the file has no skeleton; its nodes were used as joints")
    alone = len(shapes) == 1 and scene.parents[shapes[0]] == 0
    return [_make_joints(scene, set(shapes[:MAX_JOINTS]), shapes[0] if alone else 0, set())]


def _is_object(scene: FbxScene, node: int) -> bool:
    """Return whether a node is a static leaf that is not a bone: an object or an end site."""
    if scene.children[node] or scene.moves[node]:
        return False
    return scene.kinds[node] not in TRANSFORM_ONLY or _is_end(scene, node, set())


def _tree_root(scene: FbxScene, bones: set[int]) -> int:
    """Return the root joint of a character whose file declares no bones."""
    node = next(iter(bones))
    top = [node, *_above(scene, node)][-1]
    moved = {node for node in subtree(scene.children, top) if scene.moves[node]}
    return first_bone(scene.parents, scene.children, top, bones, moved) if moved else top
