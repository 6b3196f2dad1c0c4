"""glTF meshes as one skin: skinned and rigid primitives in one mesh space, with one bind matrix per joint.

A skinned vertex is at Σ w·W_j·IBM_j·v, whatever its mesh's own node transform. With W_j = T(p_j)·Q_j·M_j (see
`scene`) the inverse bind matrix of our joint is M_j·IBM_j. Several skins may bind one joint with different matrices;
the vertices of the later ones are transformed into the mesh space of the first, the common space.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import FormatError
from footplant.io.gltf import draco
from footplant.io.gltf.document import Document
from footplant.io.gltf.scene import BONES, GltfScene, Joints, base_above, rest_pose
from footplant.io.json import Json
from footplant.skeleton import Skeleton, Skin

MIN_SKIN_BYTES = 1 << 25
"""Memory limit of a skin: this many bytes, or nine times its file's size if that is more. Reused meshes multiply."""
CHUNK_VERTICES = 1 << 14
"""Vertices transformed at a time, to avoid temporary copies of a whole mesh."""


@dataclass(frozen=True, eq=False)
class _Primitive:
    """The accessors of one primitive."""

    entry: Json
    vertices: int
    """Number of vertices."""
    position: int
    normal: int | None
    influences: tuple[tuple[int, int], ...]
    """Accessors of (joints, weights), four influences per pair; empty for a rigid mesh."""
    corners: NDArray
    """Vertex indices of the triangles, strip or fan, in the file's own type."""
    mode: int

    @property
    def memory(self) -> int:
        """Bytes that it takes in the arrays of the skin."""
        a_vertex = 24 + (24 if self.normal is not None else 0) + 16 * max(4 * len(self.influences), 1)
        return self.vertices * a_vertex + 24 * len(self.corners) // (3 if self.mode == 4 else 1)


@dataclass(frozen=True, eq=False)
class _Part:
    """A primitive with its binding in the skin."""

    shape: _Primitive
    joints: NDArray
    """Joint of the character for each of the primitive's joint indices."""
    to_common: NDArray
    """(joints, 4, 4) from the primitive's mesh space to the common space, per joint."""
    attached: bool
    """Whether it hangs on a joint without a skin."""
    node: int
    """The node that shows it."""
    mesh: int


def read_bind_matrices(scene: GltfScene, number: int, joints: int) -> NDArray:
    """Return the inverse bind matrices of a skin (joints, 4, 4), identities if absent."""
    document = scene.document
    skin = document.skins[number]
    accessor = skin.index("inverseBindMatrices", len(document.accessors), None)
    if accessor is None:
        return np.broadcast_to(np.eye(4), (joints, 4, 4))
    if document.count(accessor) < joints:
        skin.fail("inverseBindMatrices", f"expected {joints} matrices, got {document.count(accessor)}")
    matrices = document.array(accessor, ("MAT4",), floats=True)[:joints].astype(float)
    return np.swapaxes(matrices.reshape(-1, 4, 4), 1, 2)


def read_skin(
    scene: GltfScene, joints: Joints, skeleton: Skeleton, skins: list[list[int]], notes: list[str]
) -> Skin | None:
    """Return every mesh that moves with the character as one skin, or None."""
    parts, bind = skin_parts(scene, joints, skeleton, skins, notes)
    return _join(scene.document, parts, bind) if parts else None


def skin_parts(
    scene: GltfScene, joints: Joints, skeleton: Skeleton, skins: list[list[int]], notes: list[str]
) -> tuple[list[_Part], NDArray]:
    """Return the primitives of a skin in its order, and its bind matrices (J, 4, 4)."""
    document = scene.document
    number = {node: joint for joint, node in enumerate(joints.nodes) if node >= 0}
    binder = _Binder(scene, joints, skeleton)
    shapes = [[] if _is_display_bones(mesh) else mesh.objects("primitives") for mesh in document.top.objects("meshes")]
    known: dict[tuple[int, int], _Primitive | None] = {}
    parts: list[_Part] = []
    size = 0
    for node in scene.order:
        entry = scene.entries[node]
        mesh = entry.index("mesh", len(shapes), None)
        skin = entry.index("skin", len(skins), None)
        if mesh is None or not shapes[mesh]:
            continue
        if skin is not None:
            if skins[skin][0] not in number:
                continue
            to_common = binder.skinned(skin, skins[skin], number)
            index = np.array([number[joint] for joint in skins[skin]])
        else:
            rigid = binder.rigid(node, number)
            if rigid is None:
                continue
            index, to_common = np.array([rigid[0]]), rigid[1][None]
        for place, primitive in enumerate(shapes[mesh]):
            if (mesh, place) not in known:
                known[mesh, place] = read_primitive(document, primitive, notes)
            shape = known[mesh, place]
            if shape is None:
                continue
            shape = shape if skin is not None else replace(shape, influences=())
            size += shape.memory
            if size > max(MIN_SKIN_BYTES, 9 * document.size):
                notes.append("the meshes take more memory than a file of this size may; they were skipped")
                return [], np.zeros((0, 4, 4))
            parts.append(_Part(shape, index, to_common, skin is None, node, mesh))
    return parts, binder.bind()


def _is_display_bones(mesh: Json) -> bool:
    """Return whether a mesh is the display geometry that Footplant wrote for bones."""
    extras = mesh.data.get("extras")
    return isinstance(extras, dict) and extras.get(BONES) is True


def _note(notes: list[str], text: str) -> None:
    if text not in notes:
        notes.append(text)


def read_primitive(document: Document, entry: Json, notes: list[str]) -> _Primitive | None:
    """Return the accessors of a primitive, checked; None if it has no triangles or is compressed."""
    mode = entry.integer("mode", 4, high=6)
    attributes = entry.object("attributes")
    if mode < 4 or attributes is None:
        return None
    count = len(document.accessors)
    names = ("POSITION", "NORMAL", "JOINTS_0", "WEIGHTS_0", "JOINTS_1", "WEIGHTS_1")
    found = {name: attributes.index(name, count, None) for name in names}
    indices = entry.index("indices", count, None)
    position = found["POSITION"]
    if position is None:
        return None
    if entry.extension(draco.EXTENSION) is not None and not draco.decode(document, entry):
        _note(notes, draco.MISSING)
        return None
    vertices = len(document.array(position, ("VEC3",)))
    kinds = {"NORMAL": ("VEC3",), "JOINTS": ("VEC4",), "WEIGHTS": ("VEC4",)}
    for name, accessor in found.items():
        if accessor is None or name == "POSITION":
            continue
        whole_numbers = False if name.startswith("JOINTS") else None
        length = len(document.array(accessor, kinds[name.partition("_")[0]], floats=whole_numbers))
        if length != vertices:
            attributes.fail(name, f"expected {vertices} elements as POSITION has, got {length}")
    pairs = [(found[f"JOINTS_{number}"], found[f"WEIGHTS_{number}"]) for number in range(2)]
    influences = tuple((joints, weights) for joints, weights in pairs if joints is not None and weights is not None)
    if indices is None:
        corners = np.arange(vertices, dtype=np.uint32)
    else:
        corners = document.array(indices, ("SCALAR",), floats=False)[:, 0]
    if corners.max() >= vertices:
        entry.fail("indices", f"expected indices below {vertices}, got {corners.max()}")
    return _Primitive(entry, vertices, position, found["NORMAL"], influences, corners, mode)


def triangles(corners: NDArray, mode: int) -> NDArray:
    """Return (T, 3) vertex indices of triangles (mode 4), a strip (5) or a fan (6); incomplete ones are dropped."""
    corners = corners.astype(np.int64)
    if mode == 4:
        return corners[: len(corners) // 3 * 3].reshape(-1, 3)
    if len(corners) < 3:
        return np.zeros((0, 3), np.int64)
    if mode == 5:
        faces = np.stack([corners[:-2], corners[1:-1], corners[2:]], axis=1)
        faces[1::2] = faces[1::2][:, [1, 0, 2]]
        return faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 0] != faces[:, 2])]
    return np.stack([np.full(len(corners) - 2, corners[0]), corners[1:-1], corners[2:]], axis=1)


def _join(document: Document, parts: list[_Part], bind: NDArray) -> Skin:
    """Concatenate all parts in the common mesh space."""
    total = sum(part.shape.vertices for part in parts)
    width = max(4 * len(part.shape.influences) or 1 for part in parts)
    vertices, joints, weights = np.empty((total, 3)), np.zeros((total, width), np.int64), np.zeros((total, width))
    normals = np.empty((total, 3)) if all(part.shape.normal is not None for part in parts) else None
    faces, start = [], 0
    for part in parts:
        for first in range(0, part.shape.vertices, CHUNK_VERTICES):
            rows = slice(first, min(first + CHUNK_VERTICES, part.shape.vertices))
            into = slice(start + rows.start, start + rows.stop)
            influencing, share = _influences(document, part, rows)
            columns = influencing.shape[1]
            joints[into, :columns], weights[into, :columns] = part.joints[influencing], share
            vertices[into] = _transform_points(document, part, rows, influencing, share)
            if normals is not None:
                normals[into] = _transform_normals(document, part, rows, influencing, share)
        corners = triangles(part.shape.corners, part.shape.mode)
        corners += start
        # a mirror flips the winding of triangles
        faces.append(corners[:, ::-1] if np.linalg.det(part.to_common[0, :3, :3]) < 0 else corners)
        start += part.shape.vertices
    corners = np.concatenate(faces) if len(faces) > 1 else np.ascontiguousarray(faces[0])
    for array in (vertices, joints, weights, corners, *([] if normals is None else [normals])):
        array.setflags(write=False)
    if not (np.isfinite(vertices).all() and np.isfinite(bind).all()):
        raise FormatError("expected a mesh of finite size, got one that overflows", path=document.path, where="meshes")
    attached = np.repeat([part.attached for part in parts], [part.shape.vertices for part in parts])
    return Skin(vertices, corners, joints, weights, bind, normals, attached)


def _influences(document: Document, part: _Part, rows: slice) -> tuple[NDArray, NDArray]:
    """Return (V, K) indices into the part's joints, and weights (V, K) that sum to 1."""
    shape, count = part.shape, rows.stop - rows.start
    if not shape.influences:
        # rigid; a skinned mesh without weights is legal too and follows its first joint
        return np.zeros((count, 1), np.int64), np.ones((count, 1))
    pairs = [(document.array(a, ("VEC4",))[rows], document.floats(b, ("VEC4",), rows)) for a, b in shape.influences]
    joints = np.concatenate([a for a, _ in pairs], axis=1).astype(np.int64)
    weights = np.maximum(np.concatenate([b for _, b in pairs], axis=1), 0.0)
    outside = (joints >= len(part.joints)) & (weights > 0)
    if outside.any():
        raise FormatError(
            f"expected joints below {len(part.joints)}, got {int(joints[outside].max())}",
            path=document.path,
            where=shape.entry.place("attributes"),
        )
    total = weights.sum(axis=1, keepdims=True)
    weights = np.where(total > 0, weights / np.where(total > 0, total, 1.0), np.eye(1, weights.shape[1]))
    return np.minimum(joints, len(part.joints) - 1), weights


def _transform_points(document: Document, part: _Part, rows: slice, joints: NDArray, weights: NDArray) -> NDArray:
    """Return (V, 3) vertices in the common space, blended over their influences."""
    points, to_common = document.floats(part.shape.position, ("VEC3",), rows), part.to_common
    if (to_common == to_common[0]).all():
        return points @ to_common[0, :3, :3].T + to_common[0, :3, 3]
    out = np.zeros_like(points)
    for column in range(joints.shape[1]):
        matrix = to_common[joints[:, column]]
        moved = np.einsum("vij,vj->vi", matrix[:, :3, :3], points) + matrix[:, :3, 3]
        out += weights[:, column, None] * moved
    return out


def _transform_normals(document: Document, part: _Part, rows: slice, joints: NDArray, weights: NDArray) -> NDArray:
    """Return (V, 3) unit normals in the common space, each by its strongest influence."""
    assert part.shape.normal is not None
    normals = document.floats(part.shape.normal, ("VEC3",), rows)
    strongest = joints[np.arange(len(joints)), np.argmax(weights, axis=1)]
    # normals transform by the inverse transpose = cofactor matrix / det; only the sign of det matters here
    lines = np.moveaxis(part.to_common[:, :3, :3], 1, 0)
    cofactor = np.stack([np.cross(lines[a], lines[b]) for a, b in ((1, 2), (2, 0), (0, 1))], axis=1)
    turned = np.einsum("vij,vj->vi", cofactor[strongest], normals) * np.sign(np.linalg.det(part.to_common[0, :3, :3]))
    length = np.linalg.norm(turned, axis=1, keepdims=True)
    return turned / np.where(length > 0, length, 1.0)


class _Binder:
    """Finds one bind matrix per joint, and the matrices that take each skin's vertices to the common space."""

    def __init__(self, scene: GltfScene, joints: Joints, skeleton: Skeleton) -> None:
        self.scene, self.joints = scene, joints
        positions, rotations = skeleton.rest_world
        self.world = np.tile(np.eye(4), (len(skeleton), 1, 1))
        self.world[:, :3, :3] = rotation.to_matrix(rotations)
        self.world[:, :3, 3] = positions
        self.scale_matrices = np.tile(np.eye(4), (len(skeleton), 1, 1))
        self.scale_matrices[:, :3, :3] = _own_scale_matrices(scene, joints)
        self.inverse: dict[int, NDArray] = {}
        self.cache: dict[int, NDArray] = {}

    def skinned(self, skin: int, nodes: list[int], number: dict[int, int]) -> NDArray:
        """Return (joints of the skin, 4, 4): that skin's mesh space → common space, per joint."""
        if skin in self.cache:
            return self.cache[skin]
        matrices = read_bind_matrices(self.scene, skin, len(nodes))
        index = [number[node] for node in nodes]
        own = self.scale_matrices[index] @ matrices
        shared = next((place for place, joint in enumerate(index) if joint in self.inverse), None)
        if shared is None:
            top = int(np.argmin(index))
            common = self.world[index[top]] @ own[top]
        else:
            common = _invert(self.inverse[index[shared]]) @ own[shared]
        back = _invert(common)
        for place, joint in enumerate(index):
            self.inverse.setdefault(joint, own[place] @ back)
        to_common = np.stack([_invert(self.inverse[joint]) @ own[place] for place, joint in enumerate(index)])
        # matrices that agree within 32-bit float rounding are equal
        if np.abs(to_common - common).max() <= 1e-5 * max(np.abs(common).max(), 1e-9):
            to_common = np.broadcast_to(common, to_common.shape)
        self.cache[skin] = to_common
        return to_common

    def rigid(self, node: int, number: dict[int, int]) -> tuple[int, NDArray] | None:
        """Return the joint above a mesh node without skin, and mesh space → common space; None if there is none."""
        place = node
        while place >= 0 and place not in number:
            place = self.scene.parents[place]
        if place < 0:
            return None
        joint = number[place]
        if joint not in self.inverse:
            self.inverse[joint] = _invert(self.world[joint])
        base = base_above(self.scene, node)
        full = np.eye(4)
        turn = rotation.to_matrix(base.rotation) @ base.stretch
        full[:3, :3] = turn @ rotation.to_matrix(self.scene.rotations[node]) @ self.scene.stretches[node]
        full[:3, 3] = base.position + turn @ self.scene.translations[node]
        return joint, _invert(self.inverse[joint]) @ _invert(self.world[joint]) @ full

    def bind(self) -> NDArray:
        """Return (J, 4, 4) one inverse bind matrix per joint; that of the rest pose for joints that bind nothing."""
        out = np.linalg.inv(self.world)
        for joint, matrix in self.inverse.items():
            out[joint] = matrix
        return out


def _invert(matrix: NDArray) -> NDArray:
    """Return the inverse, or the pseudo-inverse of a singular matrix."""
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(matrix)


def _own_scale_matrices(scene: GltfScene, joints: Joints) -> NDArray:
    """Return (J, 3, 3) the matrix M of each joint itself at rest: mesh lengths at the joint → metres."""
    pose = rest_pose(scene, joints)
    out = np.tile(np.eye(3), (len(joints.nodes), 1, 1))
    for joint, node in enumerate(joints.nodes):
        if node < 0:
            continue
        above = pose.scale_matrices[joint][0]
        scale_matrix = above @ rotation.to_matrix(scene.rotations[node]) @ scene.stretches[node]
        local = pose.rotations[joint][0]
        base = joints.bases[joint]
        if base is not None:
            local = rotation.multiply(rotation.inverse(base.rotation), local)
        out[joint] = rotation.to_matrix(local).T @ scale_matrix
    return out
