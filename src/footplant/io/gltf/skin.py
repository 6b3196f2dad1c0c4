"""glTF meshes as one skin: skinned and rigid primitives in one mesh space, with one bind matrix a joint.

A skinned vertex stands at Σ w·W_j·IBM_j·v, whatever its mesh's own node says. With W_j = T(p_j)·Q_j·M_j (see
`scene`) the bind matrix of our joint is M_j·IBM_j. Several skins may bind one joint with different matrices; the
vertices of the later ones are carried into the space of the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import FormatError
from footplant.io.gltf.document import Document
from footplant.io.gltf.scene import BONES, Joints, Scene, base_above, rest_pose
from footplant.io.json import Json
from footplant.skeleton import Skeleton, Skin

LEAST_BYTES = 1 << 25
"""A skin may take this much memory, or nine times its file; a mesh that is used again and again could take any."""
ROWS = 1 << 14
"""Vertices that are carried over at a time, so that no copy of a whole mesh is made on the way."""
_COMPRESSED = {
    "KHR_draco_mesh_compression": "Draco",
    "EXT_meshopt_compression": "meshopt",
    "KHR_meshopt_compression": "meshopt",
}


@dataclass(frozen=True, eq=False)
class _Primitive:
    """One primitive, by its accessors."""

    entry: Json
    vertices: int
    """How many."""
    position: int
    normal: int | None
    influences: tuple[tuple[int, int], ...]
    """Accessors of (joints, weights), four a pair; empty for a rigid mesh."""
    corners: NDArray
    """Vertices of the triangles, strip or fan, in the file's own type."""
    mode: int

    @property
    def memory(self) -> int:
        """Bytes that the arrays of the skin take for it."""
        a_vertex = 24 + (24 if self.normal is not None else 0) + 16 * max(4 * len(self.influences), 1)
        return self.vertices * a_vertex + 24 * len(self.corners) // (3 if self.mode == 4 else 1)


@dataclass(frozen=True, eq=False)
class _Part:
    """A primitive at its place in the skin."""

    shape: _Primitive
    joints: NDArray
    """Joints of the figure that the primitive's own joint numbers stand for."""
    carry: NDArray
    """(joints, 4, 4) from the primitive's mesh space into that of the whole skin, by joint."""


def read_bind_matrices(scene: Scene, number: int, joints: int) -> NDArray | None:
    """The inverse bind matrices of a skin (joints, 4, 4), identities when absent; None when they are compressed."""
    document = scene.document
    skin = document.skins[number]
    accessor = skin.index("inverseBindMatrices", len(document.accessors), None)
    if accessor is None:
        return np.broadcast_to(np.eye(4), (joints, 4, 4))
    if document.count(accessor) < joints:
        skin.fail("inverseBindMatrices", f"expected {joints} matrices, got {document.count(accessor)}")
    if document.compressed(accessor):
        return None
    matrices = document.array(accessor, ("MAT4",), floats=True)[:joints].astype(float)
    return np.swapaxes(matrices.reshape(-1, 4, 4), 1, 2)


def read_skin(
    scene: Scene, joints: Joints, skeleton: Skeleton, skins: list[list[int]], notes: list[str]
) -> Skin | None:
    """Every mesh that moves with the figure, as one skin; None when there is none."""
    document = scene.document
    number = {node: joint for joint, node in enumerate(joints.nodes) if node >= 0}
    binder = _Binder(scene, joints, skeleton)
    shapes = [[] if _is_bones(mesh) else mesh.objects("primitives") for mesh in document.top.objects("meshes")]
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
            carry = binder.skinned(skin, skins[skin], number)
            if carry is None:
                _note(notes, "the bind matrices are compressed with meshopt, which is not read; the mesh was left out")
                continue
            index = np.array([number[joint] for joint in skins[skin]])
        else:
            rigid = binder.rigid(node, number)
            if rigid is None:
                continue
            index, carry = np.array([rigid[0]]), rigid[1][None]
        for place, primitive in enumerate(shapes[mesh]):
            if (mesh, place) not in known:
                known[mesh, place] = read_primitive(document, primitive, notes)
            shape = known[mesh, place]
            if shape is None:
                continue
            shape = shape if skin is not None else replace(shape, influences=())
            size += shape.memory
            if size > max(LEAST_BYTES, 9 * document.size):
                notes.append("the meshes take more memory than a file of this size may; they were left out")
                return None
            parts.append(_Part(shape, index, carry))
    return _join(document, parts, binder.bind()) if parts else None


def _is_bones(mesh: Json) -> bool:
    extras = mesh.data.get("extras")
    return isinstance(extras, dict) and extras.get(BONES) is True


def _note(notes: list[str], text: str) -> None:
    if text not in notes:
        notes.append(text)


def read_primitive(document: Document, entry: Json, notes: list[str]) -> _Primitive | None:
    """The accessors of a primitive, checked; None for one without triangles or compressed."""
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
    for extension, word in _COMPRESSED.items():
        if entry.extension(extension) is not None:
            _note(notes, f"a mesh is compressed with {word}, which is not read; skeleton and animations are")
            return None
    if any(document.compressed(accessor) for accessor in (*found.values(), indices) if accessor is not None):
        _note(notes, "a mesh is compressed with meshopt, which is not read; skeleton and animations are")
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
    influences = tuple((who, much) for who, much in pairs if who is not None and much is not None)
    if indices is None:
        corners = np.arange(vertices, dtype=np.uint32)
    else:
        corners = document.array(indices, ("SCALAR",), floats=False)[:, 0]
    if corners.max() >= vertices:
        entry.fail("indices", f"expected indices below {vertices}, got {corners.max()}")
    return _Primitive(entry, vertices, position, found["NORMAL"], influences, corners, mode)


def triangles(corners: NDArray, mode: int) -> NDArray:
    """(T, 3) corner vertices of triangles (mode 4), a strip (5) or a fan (6); a rest of one or two is dropped."""
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
    """All parts in one mesh space, one after the other."""
    total = sum(part.shape.vertices for part in parts)
    width = max(4 * len(part.shape.influences) or 1 for part in parts)
    vertices, joints, weights = np.empty((total, 3)), np.zeros((total, width), np.int64), np.zeros((total, width))
    normals = np.empty((total, 3)) if all(part.shape.normal is not None for part in parts) else None
    faces, start = [], 0
    for part in parts:
        for first in range(0, part.shape.vertices, ROWS):
            rows = slice(first, min(first + ROWS, part.shape.vertices))
            into = slice(start + rows.start, start + rows.stop)
            who, much = _influences(document, part, rows)
            columns = who.shape[1]
            joints[into, :columns], weights[into, :columns] = part.joints[who], much
            vertices[into] = _carry_points(document, part, rows, who, much)
            if normals is not None:
                normals[into] = _carry_normals(document, part, rows, who, much)
        corners = triangles(part.shape.corners, part.shape.mode)
        corners += start
        # a mirror turns triangles inside out
        faces.append(corners[:, ::-1] if np.linalg.det(part.carry[0, :3, :3]) < 0 else corners)
        start += part.shape.vertices
    corners = np.concatenate(faces) if len(faces) > 1 else np.ascontiguousarray(faces[0])
    for array in (vertices, joints, weights, corners, *([] if normals is None else [normals])):
        array.setflags(write=False)
    if not (np.isfinite(vertices).all() and np.isfinite(bind).all()):
        raise FormatError("expected a mesh of finite size, got one that overflows", path=document.path, where="meshes")
    return Skin(vertices, corners, joints, weights, bind, normals)


def _influences(document: Document, part: _Part, rows: slice) -> tuple[NDArray, NDArray]:
    """(V, K) places in the part's list of joints, and weights summing to 1."""
    shape, count = part.shape, rows.stop - rows.start
    if not shape.influences:
        # rigid; and a skinned mesh without weights is legal and stands where its first joint does
        return np.zeros((count, 1), np.int64), np.ones((count, 1))
    pairs = [(document.array(a, ("VEC4",))[rows], document.floats(b, ("VEC4",), rows)) for a, b in shape.influences]
    who = np.concatenate([a for a, _ in pairs], axis=1).astype(np.int64)
    much = np.maximum(np.concatenate([b for _, b in pairs], axis=1), 0.0)
    outside = (who >= len(part.joints)) & (much > 0)
    if outside.any():
        raise FormatError(
            f"expected joints below {len(part.joints)}, got {int(who[outside].max())}",
            path=document.path,
            where=shape.entry.place("attributes"),
        )
    total = much.sum(axis=1, keepdims=True)
    much = np.where(total > 0, much / np.where(total > 0, total, 1.0), np.eye(1, much.shape[1]))
    return np.minimum(who, len(part.joints) - 1), much


def _carry_points(document: Document, part: _Part, rows: slice, who: NDArray, much: NDArray) -> NDArray:
    points, carry = document.floats(part.shape.position, ("VEC3",), rows), part.carry
    if (carry == carry[0]).all():
        return points @ carry[0, :3, :3].T + carry[0, :3, 3]
    out = np.zeros_like(points)
    for column in range(who.shape[1]):
        matrix = carry[who[:, column]]
        moved = np.einsum("vij,vj->vi", matrix[:, :3, :3], points) + matrix[:, :3, 3]
        out += much[:, column, None] * moved
    return out


def _carry_normals(document: Document, part: _Part, rows: slice, who: NDArray, much: NDArray) -> NDArray:
    assert part.shape.normal is not None
    normals = document.floats(part.shape.normal, ("VEC3",), rows)
    strongest = who[np.arange(len(who)), np.argmax(much, axis=1)]
    # normals go with the inverse transpose; the cofactor matrix is the same without a division, but for the sign
    lines = np.moveaxis(part.carry[:, :3, :3], 1, 0)
    cofactor = np.stack([np.cross(lines[a], lines[b]) for a, b in ((1, 2), (2, 0), (0, 1))], axis=1)
    turned = np.einsum("vij,vj->vi", cofactor[strongest], normals) * np.sign(np.linalg.det(part.carry[0, :3, :3]))
    length = np.linalg.norm(turned, axis=1, keepdims=True)
    return turned / np.where(length > 0, length, 1.0)


class _Binder:
    """Finds one bind matrix a joint, and what carries each skin's vertices into their common space."""

    def __init__(self, scene: Scene, joints: Joints, skeleton: Skeleton) -> None:
        self.scene, self.joints = scene, joints
        positions, rotations = skeleton.rest_world
        self.world = np.tile(np.eye(4), (len(skeleton), 1, 1))
        self.world[:, :3, :3] = rotation.to_matrix(rotations)
        self.world[:, :3, 3] = positions
        self.spread = np.tile(np.eye(4), (len(skeleton), 1, 1))
        self.spread[:, :3, :3] = _own_spreads(scene, joints)
        self.inverse: dict[int, NDArray] = {}
        self.cache: dict[int, NDArray | None] = {}

    def skinned(self, skin: int, nodes: list[int], number: dict[int, int]) -> NDArray | None:
        """(joints of the skin, 4, 4): mesh space of that skin → common space, by the joint that moves the vertex."""
        if skin in self.cache:
            return self.cache[skin]
        matrices = read_bind_matrices(self.scene, skin, len(nodes))
        if matrices is None:
            self.cache[skin] = None
            return None
        index = [number[node] for node in nodes]
        own = self.spread[index] @ matrices
        shared = next((place for place, joint in enumerate(index) if joint in self.inverse), None)
        if shared is None:
            top = int(np.argmin(index))
            common = self.world[index[top]] @ own[top]
        else:
            common = _invert(self.inverse[index[shared]]) @ own[shared]
        back = _invert(common)
        for place, joint in enumerate(index):
            self.inverse.setdefault(joint, own[place] @ back)
        carry = np.stack([_invert(self.inverse[joint]) @ own[place] for place, joint in enumerate(index)])
        # matrices that agree up to the file's 32-bit numbers are one
        if np.abs(carry - common).max() <= 1e-5 * max(np.abs(common).max(), 1e-9):
            carry = np.broadcast_to(common, carry.shape)
        self.cache[skin] = carry
        return carry

    def rigid(self, node: int, number: dict[int, int]) -> tuple[int, NDArray] | None:
        """The joint that carries a mesh node without skin, and mesh space → common space; None for a mesh elsewhere."""
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
        """(J, 4, 4) one matrix a joint; those that bind nothing stand as in the rest pose."""
        out = np.linalg.inv(self.world)
        for joint, matrix in self.inverse.items():
            out[joint] = matrix
        return out


def _invert(matrix: NDArray) -> NDArray:
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(matrix)


def _own_spreads(scene: Scene, joints: Joints) -> NDArray:
    """(J, 3, 3) the matrix M of each joint itself at rest: mesh lengths at the joint → metres."""
    pose = rest_pose(scene, joints)
    out = np.tile(np.eye(3), (len(joints.nodes), 1, 1))
    for joint, node in enumerate(joints.nodes):
        if node < 0:
            continue
        spread = pose.spreads[joint][0] @ rotation.to_matrix(scene.rotations[node]) @ scene.stretches[node]
        local = pose.rotations[joint][0]
        base = joints.bases[joint]
        if base is not None:
            local = rotation.multiply(rotation.inverse(base.rotation), local)
        out[joint] = rotation.to_matrix(local).T @ spread
    return out
