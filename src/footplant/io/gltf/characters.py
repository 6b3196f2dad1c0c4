"""Find the characters of a glTF file: one per connected skeleton, its joints found from skins and animations."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from footplant.errors import FormatError
from footplant.io.gltf.scene import Base, GltfScene, Joints, base_above, looks_like_end
from footplant.io.node_groups import (
    MAX_CHARACTERS,
    MAX_JOINTS,
    DisjointSets,
    first_bone,
    largest,
    note_single,
    subtree,
    topmost,
)


def read_skins(scene: GltfScene) -> list[list[int]]:
    """Return the joint nodes of each skin, checked."""
    count = len(scene.entries)
    skins = []
    for skin in scene.document.skins:
        joints = skin.indices("joints", count)
        if not joints:
            skin.fail("joints", "expected at least one joint, got none")
        skin.index("skeleton", count, None)
        skins.append(joints)
    return skins


def find_characters(
    scene: GltfScene,
    skins: list[list[int]],
    moving: Callable[[set[int]], set[int]],
    notes: list[str],
    declared: Iterable[int] = (),
) -> list[Joints]:
    """Return the joints of each character in a file.

    Joints are the nodes of a skin, the nodes between them, and the animated nodes below them. Static nodes above are
    folded into the root; if one of them is animated, the skeleton starts there. Without skins, every node tree is a
    skeleton.
    moving(nodes): returns those of the nodes that some animation moves.
    declared: nodes that the file declares to be the joints of one character, whether or not a skin binds them.
    """
    declared = list(declared)
    if skins:
        groups = largest(_group(scene, [*skins, declared] if declared else skins), len, notes)
        return [_skinned(scene, seeds, moving) for seeds in groups]
    if len({_top(scene, node) for node in declared}) > 1:
        return [_skinned(scene, set(declared), moving)]
    return _trees(scene, moving, notes, declared)


def _group(scene: GltfScene, skins: list[list[int]]) -> list[set[int]]:
    """Return the joints of skins grouped by character: skins that share a tree of joints belong together."""
    everything = {node for joints in skins for node in joints}
    tops = topmost(scene.order, scene.parents, everything)
    union = DisjointSets(set(tops.values()))
    declared: dict[int, int] = {}
    for number, joints in enumerate(skins):
        first = tops[joints[0]]
        for node in joints:
            union.join(tops[node], first)
        skin = scene.document.skins[number] if number < len(scene.document.skins) else None
        root = None if skin is None else skin.index("skeleton", len(scene.entries), None)
        if root is not None:
            union.join(first, declared.setdefault(root, first))
    # a skeleton that is below the connecting nodes of another is part of it
    groups = _collect(tops, union)
    owner: dict[int, int] = {}
    for lead, members in groups.items():
        root = _common_ancestor(scene, members)
        for node in members:
            while node != root and scene.parents[node] >= 0 and owner.get(node) != lead:
                owner[node] = lead
                node = scene.parents[node]
        if root >= 0:
            owner[root] = lead
    near: dict[int, int] = {}
    for node in scene.order:
        above = near.get(scene.parents[node])
        if node in tops and tops[node] == node and above is not None:
            union.join(node, above)
        near_here = owner.get(node, above)
        if near_here is not None:
            near[node] = near_here
    merged: dict[int, set[int]] = {}
    for node in scene.order:
        if node in everything:
            merged.setdefault(union.find(tops[node]), set()).add(node)
    return list(merged.values())


def _collect(tops: dict[int, int], union: DisjointSets) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = {}
    for top in dict.fromkeys(tops.values()):
        groups.setdefault(union.find(top), []).append(top)
    return groups


def _common_ancestor(scene: GltfScene, nodes: Iterable[int]) -> int:
    """Return the lowest node above (or equal to) all of them; −1 if they are in different trees."""
    path: list[int] | None = None
    place: dict[int, int] = {}
    for node in nodes:
        if path is None:
            path = []
            while node >= 0:
                path.append(node)
                node = scene.parents[node]
            path.reverse()
            place = {above: number for number, above in enumerate(path)}
            continue
        while node >= 0 and place.get(node, len(path)) >= len(path):
            node = scene.parents[node]
        path = path[: place[node] + 1] if node >= 0 else []
    return path[-1] if path else -1


def joints_of(scene: GltfScene, nodes: Iterable[int]) -> Joints:
    """Return the joints of given nodes and those between them only, whatever is animated."""
    return _skinned(scene, set(nodes), lambda nodes: set())


def _skinned(scene: GltfScene, seeds: set[int], moving: Callable[[set[int]], set[int]]) -> Joints:
    """Return the joints of a character whose skin binds the seed nodes."""
    root = _common_ancestor(scene, seeds)
    above, place = [], scene.parents[root] if root >= 0 else -1
    while place >= 0:
        above.append(place)
        place = scene.parents[place]
    below: set[int] = set()
    for node in scene.order:
        if node in seeds or scene.parents[node] in below:
            below.add(node)
    moved = moving((below - seeds).union(above))
    # an animated node above the character moves it: the skeleton starts there
    root = next((node for node in reversed(above) if node in moved), root)
    # an animated node below a joint (a jaw, a prop in the hand) is a joint too
    return make_joints(scene, seeds | (moved & below), root)


def _trees(
    scene: GltfScene, moving: Callable[[set[int]], set[int]], notes: list[str], declared: list[int]
) -> list[Joints]:
    """Return every node tree as a skeleton; single nodes (lights, cameras) are dropped if there is a real tree."""
    moved = moving(set(scene.order))
    joints = moved.union(declared)
    trees = []
    for top in scene.roots:
        tree = subtree(scene.children, top)
        bones = {node for node in tree if node in joints or not _is_object(scene, node)}
        if bones:
            trees.append((top, bones, bool(moved.intersection(tree))))
    real = [tree for tree in trees if len(tree[1]) > 1]
    if not real:
        notes.append("the file has no skeleton; its nodes were used as joints")
        top, *others = scene.roots
        inside = [node for _, bones, _ in trees for node in bones] or list(scene.roots)
        return [make_joints(scene, set(inside[:MAX_CHARACTERS]), -1 if others else top)]
    note_single("node", len(trees) - len(real), notes)
    found = []
    for top, bones, moves in largest(real, lambda tree: len(tree[1]), notes):
        root = first_bone(scene.parents, scene.children, top, bones, moved) if moves else top
        found.append(make_joints(scene, bones.intersection(subtree(scene.children, root)), root))
    return found


def _top(scene: GltfScene, node: int) -> int:
    while scene.parents[node] >= 0:
        node = scene.parents[node]
    return node


def _is_object(scene: GltfScene, node: int) -> bool:
    """Return whether a node is a leaf that is not a bone: a mesh, a camera, a light or an end site."""
    entry = scene.entries[node]
    if scene.children[node]:
        return False
    return "mesh" in entry.data or "camera" in entry.data or "extensions" in entry.data or looks_like_end(scene, node)


def make_joints(scene: GltfScene, inside: set[int], root: int) -> Joints:
    """Return joints for a character's nodes and those that connect them to the root (−1: a new root above all)."""
    inside = set(inside)
    if root >= 0:
        inside.add(root)
    for node in list(inside):
        node = scene.parents[node] if node != root else -1
        while node >= 0 and node not in inside and root >= 0:
            inside.add(node)
            node = scene.parents[node]
    if root < 0:
        inside = _connect(scene, inside)
    if len(inside) > MAX_JOINTS:
        raise FormatError(
            f"expected at most {MAX_JOINTS} joints, got {len(inside)}", path=scene.document.path, where="nodes"
        )
    nodes: list[int] = [] if root >= 0 else [-1]
    parents: list[int] = [] if root >= 0 else [-1]
    bases: list[Base | None] = [] if root >= 0 else [None]
    number: dict[int, int] = {}
    # keep the file's order if it has parents first, so that a saved file is read back in the same order
    ordered = sorted(inside)
    if any(scene.parents[node] > node for node in inside if node != root and scene.parents[node] in inside):
        ordered = [node for node in scene.order if node in inside]
    for node in ordered:
        above = scene.parents[node] if node != root else -1
        number[node] = len(nodes)
        nodes.append(node)
        inner = above in number
        parents.append(number[above] if inner else (-1 if root >= 0 else 0))
        bases.append(None if inner else base_above(scene, node))
    ends = tuple(
        (number[scene.parents[node]], node)
        for node in range(len(scene.entries))
        if node not in inside and scene.parents[node] in number and looks_like_end(scene, node)
    )
    return Joints(tuple(nodes), tuple(parents), tuple(bases), ends)


def _connect(scene: GltfScene, inside: set[int]) -> set[int]:
    """Add the nodes between those of each tree and their lowest common ancestor."""
    trees: dict[int, list[int]] = {}
    for node in scene.order:
        if node in inside:
            trees.setdefault(_top(scene, node), []).append(node)
    out = set(inside)
    for members in trees.values():
        root = _common_ancestor(scene, members)
        out.add(root)
        for node in members:
            while node != root and scene.parents[node] not in out:
                node = scene.parents[node]
                out.add(node)
    return out
