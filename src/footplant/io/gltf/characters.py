"""Which nodes of a glTF file are figures: one per connected skeleton, its joints found from skins and animations."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from footplant.errors import FormatError
from footplant.io.gltf.scene import Base, Joints, Scene, base_above, looks_like_end
from footplant.io.node_groups import MOST_FIGURES, MOST_JOINTS, Union, first_bone, largest, note_alone, subtree, topmost


def read_skins(scene: Scene) -> list[list[int]]:
    """The joint nodes of each skin, checked."""
    count = len(scene.entries)
    skins = []
    for skin in scene.document.skins:
        joints = skin.indices("joints", count)
        if not joints:
            skin.fail("joints", "expected at least one joint, got none")
        skin.index("skeleton", count, None)
        skins.append(joints)
    return skins


def find_figures(
    scene: Scene,
    skins: list[list[int]],
    moving: Callable[[set[int]], set[int]],
    notes: list[str],
    declared: Iterable[int] = (),
) -> list[Joints]:
    """The figures of a file.

    moving(nodes): those of the nodes that some animation moves. Joints are the nodes of a
    skin, the nodes between them, and what moves below them. Static nodes above are folded into the root; when one of
    them moves, the figure begins there. A file without skins gives its node trees. declared: nodes of which the file
    says that they are the joints of one figure, whatever they are called and whether or not a skin binds them.
    """
    declared = list(declared)
    if skins:
        groups = largest(_group(scene, [*skins, declared] if declared else skins), len, notes)
        return [_skinned(scene, seeds, moving) for seeds in groups]
    if len({_top(scene, node) for node in declared}) > 1:
        return [_skinned(scene, set(declared), moving)]
    return _trees(scene, moving, notes, declared)


def _group(scene: Scene, skins: list[list[int]]) -> list[set[int]]:
    """Joints of skins that belong together: skins that share a tree of joints are one figure."""
    everything = {node for joints in skins for node in joints}
    tops = topmost(scene.order, scene.parents, everything)
    union = Union(set(tops.values()))
    declared: dict[int, int] = {}
    for number, joints in enumerate(skins):
        first = tops[joints[0]]
        for node in joints:
            union.join(tops[node], first)
        skin = scene.document.skins[number] if number < len(scene.document.skins) else None
        root = None if skin is None else skin.index("skeleton", len(scene.entries), None)
        if root is not None:
            union.join(first, declared.setdefault(root, first))
    # a figure that hangs below the connecting nodes of another is part of it
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


def _collect(tops: dict[int, int], union: Union) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = {}
    for top in dict.fromkeys(tops.values()):
        groups.setdefault(union.find(top), []).append(top)
    return groups


def _common_ancestor(scene: Scene, nodes: Iterable[int]) -> int:
    """The lowest node above (or equal to) all of them; −1 when they stand in different trees."""
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


def figure_of(scene: Scene, nodes: Iterable[int]) -> Joints:
    """The figure of some nodes and those between them, and nothing else, whatever moves."""
    return _skinned(scene, set(nodes), lambda nodes: set())


def _skinned(scene: Scene, seeds: set[int], moving: Callable[[set[int]], set[int]]) -> Joints:
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
    # what moves above a figure carries it: the figure begins there
    root = next((node for node in reversed(above) if node in moved), root)
    # what moves below a joint of its own (a jaw, a prop in the hand) is a joint too
    return make_joints(scene, seeds | (moved & below), root)


def _trees(scene: Scene, moving: Callable[[set[int]], set[int]], notes: list[str], declared: list[int]) -> list[Joints]:
    """Every node tree as a figure; lone nodes (lamps, cameras) are left out when there is a real tree."""
    moved = moving(set(scene.order))
    joints = moved.union(declared)
    trees = []
    for top in scene.roots:
        tree = subtree(scene.children, top)
        bones = {node for node in tree if node in joints or not _is_thing(scene, node)}
        if bones:
            trees.append((top, bones, bool(moved.intersection(tree))))
    real = [tree for tree in trees if len(tree[1]) > 1]
    if not real:
        notes.append("the file has no skeleton; its nodes were taken for one")
        top, *others = scene.roots
        inside = [node for _, bones, _ in trees for node in bones] or list(scene.roots)
        return [make_joints(scene, set(inside[:MOST_FIGURES]), -1 if others else top)]
    note_alone("node", len(trees) - len(real), notes)
    figures = []
    for top, bones, moves in largest(real, lambda tree: len(tree[1]), notes):
        root = first_bone(scene.parents, scene.children, top, bones, moved) if moves else top
        figures.append(make_joints(scene, bones.intersection(subtree(scene.children, root)), root))
    return figures


def _top(scene: Scene, node: int) -> int:
    while scene.parents[node] >= 0:
        node = scene.parents[node]
    return node


def _is_thing(scene: Scene, node: int) -> bool:
    """A leaf that is an object rather than a bone: a mesh, a camera, a light, or the mark of a bone's tip."""
    entry = scene.entries[node]
    if scene.children[node]:
        return False
    return "mesh" in entry.data or "camera" in entry.data or "extensions" in entry.data or looks_like_end(scene, node)


def make_joints(scene: Scene, inside: set[int], root: int) -> Joints:
    """Joints for the nodes of a figure and those that connect them to the root (−1: a new root above several trees)."""
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
    if len(inside) > MOST_JOINTS:
        raise FormatError(
            f"expected at most {MOST_JOINTS} joints, got {len(inside)}", path=scene.document.path, where="nodes"
        )
    nodes: list[int] = [] if root >= 0 else [-1]
    parents: list[int] = [] if root >= 0 else [-1]
    bases: list[Base | None] = [] if root >= 0 else [None]
    number: dict[int, int] = {}
    # the file's own order where it has parents first, so that what was written comes back alike
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


def _connect(scene: Scene, inside: set[int]) -> set[int]:
    """Add the nodes between those of each tree and the lowest node above them all."""
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
