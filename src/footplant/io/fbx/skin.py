"""FBX meshes as one skin: skinned and rigid meshes in one mesh space, triangulated, with one bind matrix per joint.

A skinned vertex v is at Σ w·W_j·G_j·v with the world matrix W_j of a bone and the bind matrix G_j of its cluster. With
W_j = T(p_j)·Q_j·M_j (see `scene`) the inverse bind matrix of our joint is M_j·G_j. Several meshes may bind one joint
with different matrices; the vertices of the later ones are transformed into the mesh space of the first, the common
space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import FormatError
from footplant.io.fbx.looks import read_looks
from footplant.io.fbx.mesh import Mesh, fan
from footplant.io.fbx.pose import Rest
from footplant.io.fbx.process import Answer
from footplant.io.fbx.scene import FbxScene, matrices_of
from footplant.skeleton import Skin

MAX_INFLUENCES = 8
"""Joints per vertex; of more, the strongest are kept."""
MIN_SKIN_BYTES, SIZE_FACTOR = 1 << 25, 8
"""Memory limit of a skin: the larger of these bytes and this multiple of the file's size."""


def read_meshes(answer: Answer, nodes: int, notes: list[str]) -> list[Mesh]:
    """Return every mesh, checked. A skin cluster without a bone raises `FormatError`."""
    header = answer.header
    boneless = header.array("boneless")
    if boneless:
        raise FormatError(
            f"expected a bone for every skin cluster, got {len(boneless)} without", path=header.path, where="skin"
        )
    if header.data.get("meshes") is None:
        notes.append("the meshes take more memory than a file of this size may; they were skipped")
    entries = header.objects("meshes")
    several = sum(entry.integer("skins", 0) > 1 for entry in entries)
    if several:
        have = "1 mesh has" if several == 1 else f"{several} meshes have"
        notes.append(f"{have} several skins; the first was used")
    return [
        _with_looks(answer, number, _read_mesh(answer, number, entry.text("name"), nodes), entry.data.get("shapes"))
        for number, entry in enumerate(entries)
    ]


def _with_looks(answer: Answer, number: int, mesh: Mesh, shapes: Any) -> Mesh:
    """Return a mesh with its texture coordinates, materials and morph targets; what does not fit is left out."""
    name = f"mesh{number}"
    uvs = None
    if f"{name}.uvs" in answer.arrays:
        values, corners = answer.array(f"{name}.uvs", "d", 2), answer.array(f"{name}.uv_corners", "I")
        if len(corners) == len(mesh.corners) and (not len(corners) or int(corners.max()) < len(values)):
            uvs = values[corners] if np.isfinite(values).all() else None
    materials: tuple[int, ...] = ()
    faces = np.zeros(0, np.int64)
    if f"{name}.materials" in answer.arrays:
        materials = tuple(answer.array(f"{name}.materials", "i").tolist())
        faces = answer.array(f"{name}.face_materials", "I").astype(np.int64)
    morphs = []
    for place, title in enumerate(shapes if isinstance(shapes, list) else ()):
        vertices = answer.array(f"{name}.shape{place}.vertices", "I").astype(np.int64)
        offsets = answer.array(f"{name}.shape{place}.offsets", "d", 3)
        inside = vertices < len(mesh.vertices)
        if len(vertices) == len(offsets) and np.isfinite(offsets).all():
            morphs.append((str(title), vertices[inside], offsets[inside]))
    return replace(mesh, uvs=uvs, materials=materials, face_materials=faces, morphs=tuple(morphs))


def _read_mesh(answer: Answer, number: int, name: str, nodes: int) -> Mesh:
    """Return one mesh of the child's answer, checked. nodes: number of nodes in the file."""

    def rows(key: str, kind: str, width: int = 0) -> NDArray:
        return answer.array(f"mesh{number}.{key}", kind, width)

    def fail(key: str, message: str):
        raise FormatError(message, path=answer.header.path, where=f"mesh {name!r}, {key}")

    def within(key: str, values: NDArray, count: int) -> NDArray:
        if len(values) and not (int(values.min()) >= 0 and int(values.max()) < count):
            fail(key, f"expected numbers below {count}, got {values.max()}")
        return values

    vertices, faces = rows("vertices", "d", 3), rows("faces", "I", 2).astype(np.int64)
    corners = within("corners", rows("corners", "I"), len(vertices))
    if len(faces) and int((faces[:, 0] + faces[:, 1]).max()) > len(corners):
        fail("faces", f"expected {len(corners)} corners, got faces with more")
    normals = normal_corners = None
    if f"mesh{number}.normals" in answer.arrays:
        normals = rows("normals", "d", 3)
        normal_corners = within("normals", rows("normal_corners", "I"), len(normals))
        if len(normal_corners) != len(corners):
            normals = normal_corners = None
    instances, bones = within("instances", rows("instances", "i"), nodes), within("bones", rows("bones", "i"), nodes)
    counts, weighted, weights = rows("counts", "I"), rows("weighted", "I"), rows("weights", "d")
    if not (int(counts.sum(dtype=np.uint64)) == len(weighted) == len(weights)) or len(counts) != len(bones):
        fail("weights", f"expected one weight per vertex, got {len(weights)} for {len(weighted)}")
    placed, binds, bind_worlds = (matrices_of(rows(key, "d", 12)) for key in ("placed", "binds", "bind_worlds"))
    if not (len(placed) == len(instances) and len(binds) == len(bind_worlds) == len(bones)):
        fail("bones", "expected one matrix per bone, got another number")
    clusters = np.repeat(np.arange(len(bones)), counts)
    # some exporters leave weights of deleted vertices, and zero weights
    valid = (weighted < len(vertices)) & (weights > 0) & np.isfinite(weights)
    return Mesh(
        name, vertices, faces, corners, normals, normal_corners, instances, placed, bones, binds, bind_worlds,
        clusters[valid], weighted[valid], weights[valid],
    )  # fmt: skip


def bind_matrices(meshes: Sequence[Mesh]) -> dict[int, NDArray]:
    """Return node → world matrix in the bind pose; if meshes disagree, that of the mesh with the most vertices."""
    out: dict[int, NDArray] = {}
    for mesh in sorted(meshes, key=lambda mesh: -len(mesh.vertices)):
        for bone, matrix in zip(mesh.bones.tolist(), mesh.bind_worlds):
            out.setdefault(bone, matrix)
    return out


def read_skin(
    scene: FbxScene, rest: Rest, meshes: Sequence[Mesh], size: int, notes: list[str], answer: Answer
) -> Skin | None:
    """Return every mesh that moves with the character as one skin, or None."""
    number = {node: joint for joint, node in enumerate(rest.joints.nodes)}
    binder = _Binder(scene, rest, number)
    parts: list[_Part] = []
    memory = 0
    for mesh in meshes:
        for place, node in enumerate(mesh.instances.tolist()):
            part = binder.skinned(mesh, notes) if len(mesh.bones) else binder.rigid(mesh, node, mesh.placed[place])
            if part is None:
                continue
            memory += 24 * 3 * len(mesh.vertices) + 40 * len(mesh.corners) + 40 * len(mesh.weights)
            if memory > max(MIN_SKIN_BYTES, SIZE_FACTOR * size):
                notes.append("the meshes take more memory than a file of this size may; they were skipped")
                return None
            parts.append(part)
            if len(mesh.bones):
                break  # a skinned mesh follows its bones, so further instances would coincide
    if not parts:
        return None
    skin = _join(scene, parts, binder.bind())
    starts = np.cumsum([0, *(len(part.mesh.vertices) for part in parts)]).tolist()
    placed = [
        (part.mesh, part.to_common[0, :3, :3], first, bool(np.linalg.det(part.to_common[0, :3, :3]) < 0))
        for part, first in zip(parts, starts)
    ]
    return replace(skin, looks=read_looks(answer, placed, notes))


@dataclass(frozen=True, eq=False)
class _Part:
    """A mesh with its binding in the skin."""

    mesh: Mesh
    joints: NDArray
    """(V, K) joints that influence each vertex."""
    weights: NDArray
    """(V, K) each row summing to 1."""
    to_common: NDArray
    """(J, 4, 4) or (1, 4, 4): from the mesh's own space to the common space, per joint."""
    attached: bool = False
    """Whether it hangs on a joint without a skin."""


class _Binder:
    """Finds one bind matrix per joint, and the matrices that take each mesh's vertices to the common space."""

    def __init__(self, scene: FbxScene, rest: Rest, number: dict[int, int]) -> None:
        self.scene, self.rest, self.number = scene, rest, number
        positions, rotations = rest.skeleton.rest_world
        self.world = _affine(positions, rotation.to_matrix(rotations))
        stretches = np.stack([rest.static.placed[node].stretch[0] for node in rest.joints.nodes])
        self.scale_matrices = _affine(np.zeros((len(stretches), 3)), stretches)
        self.inverse: dict[int, NDArray] = {}

    def skinned(self, mesh: Mesh, notes: list[str]) -> _Part | None:
        """Return a mesh with clusters; None if another character's bones move it."""
        index = np.array([self.number.get(node, -1) for node in mesh.bones.tolist()])
        if (index < 0).all():
            return None
        own = {int(joint): self.scale_matrices[joint] @ bind for joint, bind in zip(index, mesh.binds) if joint >= 0}
        shared = next((joint for joint in own if joint in self.inverse), None)
        if shared is None:
            top = min(own)
            common = self.world[top] @ own[top]
        else:
            common = _invert(self.inverse[shared]) @ own[shared]
        back = _invert(common)
        for joint, matrix in own.items():
            self.inverse.setdefault(joint, matrix @ back)
        to_common = np.tile(common, (len(self.world), 1, 1))
        for joint, matrix in own.items():
            to_common[joint] = _invert(self.inverse[joint]) @ matrix
        if np.abs(to_common - common).max() <= 1e-5 * max(float(np.abs(common).max()), 1e-9):
            to_common = common[None]
        inside = index[mesh.clusters] >= 0
        joints, weights, alone = influences(
            mesh.weighted[inside], index[mesh.clusters[inside]], mesh.weights[inside], len(mesh.vertices), min(own)
        )
        if alone:
            some = "1 vertex has" if alone == 1 else f"{alone} vertices have"
            notes.append(f"{some} no weights; they move with {self.rest.skeleton.names[min(own)]!r}")
        return _Part(mesh, joints, weights, to_common)

    def rigid(self, mesh: Mesh, node: int, placed: NDArray) -> _Part | None:
        """Return a mesh without clusters, attached to the joint above its node; None if there is none."""
        place = node
        while place >= 0 and place not in self.number:
            place = self.scene.parents[place]
        if place < 0:
            return None
        joint = self.number[place]
        position, turn = self.rest.static.world[node]
        stretch = self.rest.static.placed[node].stretch[0]
        full = _affine(position[None], (rotation.to_matrix(turn) @ stretch)[None])[0] @ placed
        position, turn = self.rest.static.world[place]
        joint_world = _affine(position[None], rotation.to_matrix(turn)[None])[0]
        if joint not in self.inverse:
            self.inverse[joint] = _invert(self.world[joint])
        to_common = _invert(self.inverse[joint]) @ _invert(joint_world) @ full
        count = len(mesh.vertices)
        return _Part(mesh, np.full((count, 1), joint), np.ones((count, 1)), to_common[None], attached=True)

    def bind(self) -> NDArray:
        """Return (J, 4, 4) one inverse bind matrix per joint; that of the rest pose for joints that bind nothing."""
        out = np.linalg.inv(self.world)
        for joint, matrix in self.inverse.items():
            out[joint] = matrix
        return out


def _affine(positions: NDArray, linear: NDArray) -> NDArray:
    """Return matrices (n, 4, 4) of positions (n, 3) and linear parts (n, 3, 3)."""
    out = np.tile(np.eye(4), (len(positions), 1, 1))
    out[:, :3, :3] = linear
    out[:, :3, 3] = positions
    return out


def _invert(matrix: NDArray) -> NDArray:
    """Return the inverse, or the pseudo-inverse of a singular matrix."""
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(matrix) if np.isfinite(matrix).all() else np.full((4, 4), np.nan)


def influences(
    vertices: NDArray, joints: NDArray, weights: NDArray, count: int, fallback: int
) -> tuple[NDArray, NDArray, int]:
    """Return joints and weights (V, K) with the strongest influences of each vertex, and how many vertices have none.

    A vertex without influences follows the joint `fallback`. Repeated influences of a joint on a vertex are summed.
    """
    span = int(joints.max(initial=0)) + 1
    pairs, place = np.unique(vertices.astype(np.int64) * span + joints, return_inverse=True)
    weights = np.bincount(place.ravel(), weights, len(pairs))
    vertices, joints = pairs // span, pairs % span
    order = np.lexsort((-weights, vertices))
    vertices, joints, weights = vertices[order], joints[order], weights[order]
    starts = np.searchsorted(vertices, np.arange(count))
    rank = np.arange(len(vertices)) - starts[vertices] if len(vertices) else np.zeros(0, np.int64)
    width = min(int(rank.max(initial=0)) + 1, MAX_INFLUENCES)
    kept = rank < width
    out, shares = np.zeros((count, width), np.int64), np.zeros((count, width))
    out[vertices[kept], rank[kept]] = joints[kept]
    shares[vertices[kept], rank[kept]] = weights[kept]
    total = shares.sum(axis=1)
    unbound = ~(total > 0)
    out[unbound], shares[unbound] = fallback, np.eye(1, width)
    shares[~unbound] /= total[~unbound, None]
    return out, shares, int(unbound.sum())


def triangles(faces: NDArray, corners: NDArray) -> NDArray:
    """Return (T, 3) vertex indices of triangles, fanning each polygon; points and lines are dropped."""
    return corners[fan(faces)].astype(np.int64)


def _join(scene: FbxScene, parts: list[_Part], bind: NDArray) -> Skin:
    """Concatenate all parts in the common mesh space."""
    total, width = sum(len(part.mesh.vertices) for part in parts), max(part.joints.shape[1] for part in parts)
    vertices, joints, weights = np.empty((total, 3)), np.zeros((total, width), np.int64), np.zeros((total, width))
    normals = np.empty((total, 3)) if all(part.mesh.normals is not None for part in parts) else None
    faces, start = [], 0
    for part in parts:
        into = slice(start, start + len(part.mesh.vertices))
        joints[into, : part.joints.shape[1]], weights[into, : part.joints.shape[1]] = part.joints, part.weights
        vertices[into] = _transform_points(part)
        if normals is not None:
            normals[into] = _transform_normals(part)
        corners = triangles(part.mesh.faces, part.mesh.corners) + start
        # a mirror flips the winding of triangles
        faces.append(corners[:, ::-1] if np.linalg.det(part.to_common[0, :3, :3]) < 0 else corners)
        start = into.stop
    if not (np.isfinite(vertices).all() and np.isfinite(bind).all()):
        raise FormatError("expected a mesh of finite size, got one that overflows", path=scene.path, where="meshes")
    attached = np.repeat([part.attached for part in parts], [len(part.mesh.vertices) for part in parts])
    return Skin(vertices, np.concatenate(faces), joints, weights, bind, normals, attached)


def _transform_points(part: _Part) -> NDArray:
    """Return (V, 3) vertices in the common space, blended over their influences."""
    points, to_common = part.mesh.vertices, part.to_common
    if len(to_common) == 1:
        return points @ to_common[0, :3, :3].T + to_common[0, :3, 3]
    out = np.zeros_like(points)
    for column in range(part.joints.shape[1]):
        matrix = to_common[part.joints[:, column]]
        moved = np.einsum("vij,vj->vi", matrix[:, :3, :3], points) + matrix[:, :3, 3]
        out += part.weights[:, column, None] * moved
    return out


def _transform_normals(part: _Part) -> NDArray:
    """Return (V, 3) unit vertex normals in the common space, each the mean of its corners'."""
    mesh, count = part.mesh, len(part.mesh.vertices)
    assert mesh.normals is not None
    assert mesh.normal_corners is not None
    given = mesh.normals[mesh.normal_corners]
    summed = np.stack([np.bincount(mesh.corners, given[:, axis], count) for axis in range(3)], axis=1)
    # normals transform by the inverse transpose = cofactor matrix / det; only the sign of det matters here
    lines = np.moveaxis(part.to_common[:, :3, :3], 1, 0)
    cofactor = np.stack([np.cross(lines[a], lines[b]) for a, b in ((1, 2), (2, 0), (0, 1))], axis=1)
    strongest = part.joints[:, 0] if len(part.to_common) > 1 else np.zeros(count, np.int64)
    turned = np.einsum("vij,vj->vi", cofactor[strongest], summed) * np.sign(np.linalg.det(part.to_common[0, :3, :3]))
    length = np.linalg.norm(turned, axis=1, keepdims=True)
    return turned / np.where(length > 0, length, 1.0)
