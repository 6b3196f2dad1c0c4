"""The nodes of an FBX file, as the child process reports them, and how transforms become offsets and rotations.

A node has a translation t, a rotation R and a scale S; pivots, pre- and post-rotations and rotation orders are folded
into these by ufbx. A joint has only an offset and a rotation. Write a node's world matrix as T(p)·Q·M with a rotation
Q and a remainder M; a child is at p + Q·(M t), so its offset is M t. Nodes that do not inherit their parent's scale
(Maya's segment scale compensation) are in the parent's frame without its own scale, Q·N with M = N·S. If every scale
is uniform, M and N are constant scalars (negative below a mirrored node) and offsets are constant. Otherwise they vary
with the pose: the offsets vary too, and world positions stay exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import FormatError
from footplant.io.fbx.process import Answer
from footplant.io.json import Json

MESH, BONE = 2, 5
"""Node kinds, ufbx's numbers."""
UNIFORM = 2e-5
"""Relative. Scale factors that differ by less are one uniform scale: exporters extract them from 32-bit matrices."""
NOTABLE = 1e-3
"""Relative. Scale factors that differ by more are reported in a note."""
UPS = ("x", "-x", "y", "-y", "z", "-z")
"""Axes in the order of ufbx's numbers."""
NORMAL, WITHOUT_PARENT, BY_COMPONENT = 0, 1, 2
"""How a node inherits scale: all of it; all but its parent's own; its parent's, component by component."""


@dataclass(frozen=True, eq=False)
class TakePlan:
    """One animation of the file, and how the child process samples it."""

    name: str
    frames: int
    rate: float
    """Frames per second."""
    nodes: tuple[int, ...]
    """Animated nodes."""
    moves: tuple[int, ...]
    """What varies for each of them, as bits: 1 translation, 2 rotation, 4 scale, 8 large translation."""
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class FbxScene:
    """All nodes of a file. Node 0 is the file's own root, which is static."""

    path: str | Path
    names: tuple[str, ...]
    parents: tuple[int, ...]
    """Parent of each node, −1 for node 0."""
    children: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    """All nodes, parents before children; in the file's order if that is possible."""
    kinds: NDArray
    """(N,) kind of each node: see MESH and BONE."""
    inherit: NDArray
    """(N,) scale inheritance of each node."""
    ends: NDArray
    """(N,) bool; nodes that Footplant flagged as end sites."""
    translations: NDArray
    """(N, 3) file units, in the parent's frame."""
    rotations: NDArray
    """(N, 4) unit quaternions (w, x, y, z)."""
    scales: NDArray
    """(N, 3)."""
    poses: dict[int, NDArray]
    """Node → world matrix (4, 4) of the file's bind pose."""
    takes: tuple[TakePlan, ...]
    moves: NDArray
    """(N,) what varies in any take; bits as in `TakePlan.moves`."""
    scale: float | None
    """Metres per file unit."""
    up: str | None
    own: bool
    """Whether Footplant wrote the file, so that only flagged nodes are end sites."""


def read_scene(answer: Answer) -> FbxScene:
    """Return the nodes and takes of the child's answer, checked."""
    header = answer.header
    names = header.array("names")
    count = len(names)
    if not count or not all(isinstance(name, str) for name in names):
        raise FormatError("expected nodes with names, got none", path=header.path, where="nodes")
    local = answer.array("local", "d", 10)
    columns = {name: answer.array(name, "i") for name in ("parents", "kinds", "inherit", "elements", "marked")}
    for name, values in (("local", local), *columns.items()):
        if len(values) != count:
            raise FormatError(f"expected {count} values, one per node, got {len(values)}", path=header.path, where=name)
    parents = columns["parents"]
    if parents[0] != -1 or (parents[1:] < 0).any() or (parents[1:] >= np.arange(1, count)).any():
        raise FormatError("expected a tree of nodes, parents first, got another", path=header.path, where="nodes")
    children: list[list[int]] = [[] for _ in names]
    # the file's own order, so that a saved file is read back in the same order; the child lists nodes by depth
    ordered = np.argsort(columns["elements"], kind="stable").tolist()
    for node in ordered:
        if parents[node] >= 0:
            children[parents[node]].append(node)
    place = np.empty(count, int)
    place[ordered] = np.arange(count)
    if ordered[0] != 0 or (place[parents[1:]] > place[1:]).any():
        ordered = _depth_first(children)
    takes = tuple(_take(entry, count, number) for number, entry in enumerate(header.objects("takes")))
    moves = np.zeros(count, np.int64)
    for take in takes:
        moves[list(take.nodes)] |= np.array(take.moves, np.int64)
    unit, up = header.data.get("unit"), header.integer("up", 6)
    posed, matrices = answer.array("posed", "i"), matrices_of(answer.array("poses", "d", 12))
    if len(posed) != len(matrices) or (len(posed) and not (posed.min() >= 0 and posed.max() < count)):
        raise FormatError("expected one matrix per node, got another number", path=header.path, where="poses")
    return FbxScene(
        path=header.path,
        names=tuple(names),
        parents=tuple(parents.tolist()),
        children=tuple(map(tuple, children)),
        order=tuple(ordered),
        kinds=columns["kinds"],
        inherit=columns["inherit"],
        ends=columns["marked"] != 0,
        translations=local[:, :3],
        rotations=rotation.normalize(local[:, [6, 3, 4, 5]]),
        scales=local[:, 7:],
        poses=dict(zip(posed.tolist(), matrices)),
        takes=takes,
        moves=moves,
        scale=float(unit) if isinstance(unit, int | float) and unit > 0 else None,
        up=UPS[up] if up < len(UPS) else None,
        own=header.text("creator", "").startswith("Footplant"),
    )


def _depth_first(children: list[list[int]]) -> list[int]:
    """Return all nodes in depth-first order."""
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(reversed(children[node]))
    return order


def _take(entry: Json, count: int, number: int) -> TakePlan:
    """Return a take from the child's description, checked."""
    nodes, moves = entry.indices("nodes", count), entry.indices("moves", 16)
    rate, frames = entry.data.get("rate"), entry.integer("frames", low=1)
    if len(nodes) != len(moves) or len(set(nodes)) != len(nodes):
        entry.fail("nodes", "expected every node once, with what varies")
    if not isinstance(rate, int | float) or not 0 < rate < 1e6:
        entry.fail("rate", f"expected frames per second, got {rate}")
    notes = tuple(str(note) for note in entry.array("notes"))
    return TakePlan(entry.text("name") or f"take_{number}", frames, float(rate), tuple(nodes), tuple(moves), notes)


def matrices_of(columns: NDArray) -> NDArray:
    """Return (n, 4, 4) matrices from (n, 12) numbers, four columns of three."""
    out = np.tile(np.eye(4), (len(columns), 1, 1))
    out[:, :3, :] = np.swapaxes(columns.reshape(-1, 4, 3), 1, 2)
    return out


Curves = Callable[[int], tuple[NDArray, NDArray, NDArray]]
"""Node → translations (1 or F, 3), rotations (1 or F, 4), scales (1 or F, 3)."""


@dataclass(frozen=True, eq=False)
class NodeTransform:
    """A node's folded transform, each part (1, …) if constant, else (F, …)."""

    offset: NDArray
    """Translation in the parent's frame, file units."""
    turn: NDArray
    """Rotation in the parent's frame."""
    within: NDArray
    """(3, 3) N: the scales above the node, in its own rotated frame."""
    stretch: NDArray
    """(3, 3) M: lengths in the node's own frame → file units."""
    scale: NDArray
    """(3,) the scale that a child may inherit component by component."""
    above: NDArray
    """(3, 3) lengths in the frame that contains the node → file units: M or N of the parent."""


def rest_curves(scene: FbxScene) -> Curves:
    """Return the static transforms of the file's nodes."""
    return lambda node: (scene.translations[[node]], scene.rotations[[node]], scene.scales[[node]])


def fold_nodes(scene: FbxScene, nodes: Iterable[int], curves: Curves) -> dict[int, NodeTransform]:
    """Fold the transforms of nodes as in the module docstring; nodes: with all their ancestors, parents first."""
    out: dict[int, NodeTransform] = {}
    for node in nodes:
        move, turn, scale = curves(node)
        parent = out.get(scene.parents[node])
        if parent is None:
            above = np.eye(3)[None]
        elif scene.inherit[node] == NORMAL:
            above = parent.stretch
        else:
            above = parent.within
            heir = _inherited(scene, node)
            scale = scale * out[heir].scale if heir >= 0 else scale
            # the parent's own scale does not affect the node itself, but scales its translation
            move = move * parent.scale
        fix = _mirror_fix(scene.scales[node])
        local = rotation.normalize(rotation.multiply(turn, fix))
        factor = scalar_factor(above[0]) if len(above) == 1 else None
        if factor is not None:
            within = factor * rotation.to_matrix(fix)[None]
        else:
            within = np.swapaxes(rotation.to_matrix(local), -1, -2) @ above @ rotation.to_matrix(turn)
        stretch = within * scale[:, None, :]
        own = scalar_factor(stretch[0]) if len(stretch) == 1 else None
        if own is not None:
            stretch = np.eye(3)[None] * own
        offset = move * factor if factor is not None else (above @ move[..., None])[..., 0]
        out[node] = NodeTransform(offset, local, within, stretch, scale, above)
    return out


def _inherited(scene: FbxScene, node: int) -> int:
    """Return the node whose scale is inherited by component, −1 for none: the parent, or an ancestor via the parent."""
    while node > 0 and scene.inherit[node] != NORMAL:
        if scene.inherit[node] == BY_COMPONENT:
            return scene.parents[node]
        node = scene.parents[node]
    return -1


def scalar_factor(matrix: NDArray, tolerance: float = UNIFORM) -> float | None:
    """Return g if the matrix is g·I, else None."""
    factor = float(np.mean(np.diagonal(matrix)))
    return factor if np.abs(matrix - np.eye(3) * factor).max() <= tolerance * abs(factor) else None


def _mirror_fix(scale: NDArray) -> NDArray:
    """Return the half turn (or identity) that a mirroring scale D adds to a joint's rotation: det(D)·D."""
    axes = np.where(scale < 0, -1.0, 1.0)
    if (axes > 0).all():
        return rotation.IDENTITY
    return rotation.from_matrix(np.diag(axes * np.prod(axes)))


def lineage(scene: FbxScene, nodes: Iterable[int]) -> list[int]:
    """Return nodes and all their ancestors, parents first."""
    wanted: set[int] = set()
    for node in nodes:
        while node >= 0 and node not in wanted:
            wanted.add(node)
            node = scene.parents[node]
    return [node for node in scene.order if node in wanted]


def worlds(scene: FbxScene, placed: dict[int, NodeTransform]) -> dict[int, tuple[NDArray, NDArray]]:
    """Return world positions (1 or F, 3) and rotations (1 or F, 4) of folded nodes."""
    out: dict[int, tuple[NDArray, NDArray]] = {}
    for node, here in placed.items():
        above = out.get(scene.parents[node])
        if above is None:
            out[node] = here.offset, here.turn
        else:
            position, turn = above
            out[node] = (
                position + rotation.rotate(turn, here.offset),
                rotation.normalize(rotation.multiply(turn, here.turn)),
            )
    return out
