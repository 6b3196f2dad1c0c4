"""Which nodes of an FBX file are figures: one per connected skeleton, its joints found from bones, skins and curves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from footplant.errors import FormatError
from footplant.io.fbx.scene import BONE, MESH, Scene
from footplant.io.node_groups import MOST_JOINTS, Union, first_bone, largest, note_alone, subtree, topmost

PLAIN = (0, 6)
"""Kinds of nodes that are nothing but a place: without an attribute, and nulls."""
_END_NAME = re.compile(r"(?i:[ _.\-](end|nub|tip)|endsite|end[ _.\-]site)$|[a-z0-9](End|Nub|EndSite)$")


@dataclass(frozen=True, eq=False)
class Joints:
    """The nodes of one figure, as joints in the order of its skeleton."""

    nodes: tuple[int, ...]
    """Node of each joint."""
    parents: tuple[int, ...]
    """Parent joint of each joint, −1 for joint 0."""
    ends: tuple[tuple[int, int], ...] = ()
    """(parent joint, node) of each end site."""


def find_figures(scene: Scene, skins: Sequence[Sequence[int]], notes: list[str]) -> list[Joints]:
    """The figures of a file; skins: the bones of each skinned mesh.

    Joints are the bones of the file, the nodes that skins use, the nodes between them, and meshes that move below them.
    Nodes above that never move are folded into the root; when one of them moves, the figure begins there. A file
    without bones gives its node trees.
    """
    skinned = {node for bones in skins for node in bones}
    bones = {node for node in scene.order if scene.kinds[node] == BONE}
    seeds = {node for node in bones | skinned if not _is_end(scene, node, skinned)}
    if not seeds:
        return _trees(scene, notes)
    groups = _group(scene, seeds, skins)
    real = [members for members in groups if len(members) > 1] or groups
    note_alone("bone", len(groups) - len(real), notes)
    return [_figure(scene, members, skinned) for members in largest(real, len, notes)]


def _is_end(scene: Scene, node: int, skinned: set[int]) -> bool:
    """Whether a leaf only marks the tip of a bone: Footplant says so, or its name, and it binds nothing and stays."""
    if scene.children[node] or node in skinned or scene.parents[node] <= 0:
        return False
    if scene.own:
        return bool(scene.ends[node])
    return bool(_END_NAME.search(scene.names[node])) and not scene.moves[node] & 8


def _group(scene: Scene, seeds: set[int], skins: Sequence[Sequence[int]]) -> list[set[int]]:
    """The bones of each figure: bones of one tree, of one skin, below one moving node or below the same node."""
    tops = topmost(scene.order, scene.parents, seeds)
    union = Union(set(tops.values()))
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


def _holder(scene: Scene, top: int) -> int:
    """The node that says which bones belong together: the highest one above that moves, else the one right above."""
    moving = [node for node in _above(scene, top) if scene.moves[node]]
    return moving[-1] if moving else scene.parents[top]


def _above(scene: Scene, node: int) -> list[int]:
    """The ancestors of a node, nearest first, without node 0."""
    out, node = [], scene.parents[node]
    while node > 0:
        out.append(node)
        node = scene.parents[node]
    return out


def _root(scene: Scene, members: Iterable[int]) -> int:
    """The lowest node above (or equal to) all, or the highest one above that moves."""
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


def _figure(scene: Scene, members: set[int], skinned: set[int]) -> Joints:
    """The bones of a figure, and meshes that move below them (a jaw, a prop in the hand).

    Nulls that move and carry nothing are handles of the program that the figure was made in, such as the footsteps of
    3ds Max's bipeds.
    """
    below: set[int] = set()
    for node in scene.order:
        if node in members or scene.parents[node] in below:
            below.add(node)
    carries: set[int] = set()
    for node in reversed(scene.order):
        if scene.kinds[node] == MESH or any(child in carries for child in scene.children[node]):
            carries.add(node)
    moved = {node for node in below & carries if scene.moves[node]}
    return _make_joints(scene, members | moved, _root(scene, members), skinned)


def _make_joints(scene: Scene, inside: set[int], root: int, skinned: set[int]) -> Joints:
    """Joints for the nodes of a figure and those that connect them to the root."""
    inside = set(inside) | {root}
    for node in list(inside):
        while node != root and scene.parents[node] not in inside:
            node = scene.parents[node]
            inside.add(node)
    if len(inside) > MOST_JOINTS:
        raise FormatError(f"expected at most {MOST_JOINTS} joints, got {len(inside)}", path=scene.path, where="nodes")
    nodes = [node for node in scene.order if node in inside]
    number = {node: joint for joint, node in enumerate(nodes)}
    ends = tuple(
        (number[scene.parents[node]], node)
        for node in scene.order
        if node not in inside and scene.parents[node] in number and _is_end(scene, node, skinned)
    )
    parents = tuple(number[scene.parents[node]] if node != root else -1 for node in nodes)
    return Joints(tuple(nodes), parents, ends)


def _trees(scene: Scene, notes: list[str]) -> list[Joints]:
    """Every node tree as a figure; lone nodes are left out when there is a real tree."""
    trees = [{node for node in subtree(scene.children, top) if not _is_thing(scene, node)} for top in scene.children[0]]
    real = [bones for bones in trees if len(bones) > 1]
    if real:
        note_alone("node", sum(len(bones) == 1 for bones in trees), notes)
        chosen = largest(real, len, notes)
        roots = [_tree_root(scene, bones) for bones in chosen]
        # nodes above the root only say where the figure stands
        return [
            _make_joints(scene, bones & set(subtree(scene.children, root)), root, set())
            for bones, root in zip(chosen, roots, strict=True)
        ]
    shapes = [node for node in scene.order[1:] if scene.kinds[node] in (MESH, BONE, *PLAIN) or scene.moves[node]]
    if not shapes:
        raise FormatError("expected a skeleton or other nodes, got none", path=scene.path, where="nodes")
    notes.append("the file has no skeleton; its nodes were taken for one")
    alone = len(shapes) == 1 and scene.parents[shapes[0]] == 0
    return [_make_joints(scene, set(shapes[:MOST_JOINTS]), shapes[0] if alone else 0, set())]


def _is_thing(scene: Scene, node: int) -> bool:
    """A leaf that does not move and is an object rather than a bone, or the mark of a bone's tip."""
    if scene.children[node] or scene.moves[node]:
        return False
    return scene.kinds[node] not in PLAIN or _is_end(scene, node, set())


def _tree_root(scene: Scene, bones: set[int]) -> int:
    """The root of a figure that has no bones of the file's own."""
    node = next(iter(bones))
    top = [node, *_above(scene, node)][-1]
    moved = {node for node in subtree(scene.children, top) if scene.moves[node]}
    return first_bone(scene.parents, scene.children, top, bones, moved) if moved else top
