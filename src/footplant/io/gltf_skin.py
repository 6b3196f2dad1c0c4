"""glTF meshes as one skin: skinned and rigid primitives in one mesh space, with one bind matrix a joint.

A skinned vertex stands at Σ w·W_j·IBM_j·v, whatever its mesh's own node says. With W_j = T(p_j)·Q_j·M_j (see
`gltf_scene`) the bind matrix of our joint is M_j·IBM_j. Several skins may bind one joint with different matrices; the
vertices of the later ones are carried into the space of the first.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import FormatError
from footplant.io.gltf_document import Document
from footplant.io.gltf_json import Json
from footplant.io.gltf_scene import Joints, Scene, base_above, rest_pose
from footplant.skeleton import Skeleton, Skin

BYTES_A_VERTEX, BYTES_A_FACE = 160, 24
"""What the arrays of a skin take, for the bound on meshes that are used again and again."""
LEAST_BYTES = 1 << 25
"""… which is never below this."""
_COMPRESSED = {
    "KHR_draco_mesh_compression": "Draco",
    "EXT_meshopt_compression": "meshopt",
    "KHR_meshopt_compression": "meshopt",
}


@dataclass(eq=False)
class _Parts:
    """The pieces of a skin while it is put together."""

    vertices: list[NDArray] = field(default_factory=list)
    normals: list[NDArray | None] = field(default_factory=list)
    joints: list[NDArray] = field(default_factory=list)
    weights: list[NDArray] = field(default_factory=list)
    faces: list[NDArray] = field(default_factory=list)
    count: int = 0


@dataclass(frozen=True, eq=False)
class _Primitive:
    """One primitive as the file has it."""

    positions: NDArray
    normals: NDArray | None
    influences: NDArray | None
    """(V, K) places in the skin's list of joints; None for a rigid mesh."""
    weights: NDArray | None
    faces: NDArray


def read_bind_matrices(scene: Scene, number: int, joints: int) -> NDArray | None:
    """The inverse bind matrices of a skin (joints, 4, 4), identities when absent; None when they are compressed."""
    document = scene.document
    skin = document.top.objects("skins")[number]
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
    parts = _Parts()
    meshes = document.top.objects("meshes")
    decoded: dict[tuple, _Primitive] = {}
    for node in scene.order:
        entry = scene.entries[node]
        mesh = entry.index("mesh", len(meshes), None)
        skin = entry.index("skin", len(skins), None)
        if mesh is None:
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
        for primitive in meshes[mesh].objects("primitives"):
            shape = _read_primitive(document, primitive, skin is not None, decoded, notes)
            if shape is None:
                continue
            bytes_now = (parts.count + len(shape.positions)) * BYTES_A_VERTEX + len(shape.faces) * BYTES_A_FACE
            if bytes_now > max(LEAST_BYTES, 8 * document.size):
                notes.append(
                    "meshes are used more often than memory allows for a file of this size; they were left out"
                )
                return None
            _append(parts, shape, index, carry, primitive)
    if not parts.count:
        return None
    return _join(parts, binder.bind())


def _note(notes: list[str], text: str) -> None:
    if text not in notes:
        notes.append(text)


def _read_primitive(
    document: Document, entry: Json, skinned: bool, decoded: dict[tuple, _Primitive], notes: list[str]
) -> _Primitive | None:
    """Positions, normals, influences and triangles of a primitive; None for one without triangles or compressed."""
    mode = entry.integer("mode", 4, high=6)
    attributes = entry.object("attributes")
    if mode < 4 or attributes is None:
        return None
    names = ["POSITION", "NORMAL", "JOINTS_0", "WEIGHTS_0", "JOINTS_1", "WEIGHTS_1"]
    count = len(document.accessors)
    found = {name: attributes.index(name, count, None) for name in names}
    indices = entry.index("indices", count, None)
    if found["POSITION"] is None:
        return None
    for extension, word in _COMPRESSED.items():
        if entry.extension(extension) is not None:
            _note(notes, f"a mesh is compressed with {word}, which is not read; skeleton and animations are")
            return None
    if any(document.compressed(accessor) for accessor in (*found.values(), indices) if accessor is not None):
        _note(notes, "a mesh is compressed with meshopt, which is not read; skeleton and animations are")
        return None
    key = (*found.values(), indices, mode, skinned)
    if key in decoded:
        return decoded[key]
    positions = document.floats(found["POSITION"], ("VEC3",))
    vertices = len(positions)

    def same_count(name: str, array: NDArray) -> NDArray:
        if len(array) != vertices:
            attributes.fail(name, f"expected {vertices} elements as POSITION has, got {len(array)}")
        return array

    normals = None
    if found["NORMAL"] is not None:
        normals = same_count("NORMAL", document.floats(found["NORMAL"], ("VEC3",)))
    influences = weights = None
    if skinned:
        columns = []
        for extra in range(2):
            place, weight = f"JOINTS_{extra}", f"WEIGHTS_{extra}"
            if found[place] is None or found[weight] is None:
                continue
            who = same_count(place, document.array(found[place], ("VEC4",), floats=False))
            much = same_count(weight, document.floats(found[weight], ("VEC4",)))
            columns.append((who, much))
        if columns:
            influences = np.concatenate([who for who, _ in columns], axis=1)
            weights = np.concatenate([much for _, much in columns], axis=1)
        else:
            # a skinned mesh without weights is legal and stands where its first joint does
            influences, weights = np.zeros((vertices, 1), np.uint16), np.ones((vertices, 1))
    corners = np.arange(vertices) if indices is None else document.array(indices, ("SCALAR",), floats=False)[:, 0]
    if len(corners) and corners.max() >= vertices:
        entry.fail("indices", f"expected indices below {vertices}, got {corners.max()}")
    decoded[key] = _Primitive(positions, normals, influences, weights, triangles(corners, mode))
    return decoded[key]


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


def _append(parts: _Parts, shape: _Primitive, index: NDArray, carry: NDArray, entry: Json) -> None:
    """Carry a primitive into the mesh space of the whole skin and add it."""
    if shape.influences is None or shape.weights is None:
        who, much = np.zeros((len(shape.positions), 1), np.int64), np.ones((len(shape.positions), 1))
    else:
        who, much = shape.influences.astype(np.int64), np.maximum(shape.weights, 0.0)
        outside = (who >= len(index)) & (much > 0)
        if outside.any():
            raise FormatError(
                f"expected joints below {len(index)}, got {int(who[outside].max())}",
                path=entry.path,
                where=entry.place("attributes"),
            )
        who = np.minimum(who, len(index) - 1)
        total = much.sum(axis=1, keepdims=True)
        much = np.where(total > 0, much / np.where(total > 0, total, 1.0), np.eye(1, much.shape[1]))
    vertices, normals = np.zeros_like(shape.positions), None
    if np.abs(carry - carry[0]).max() <= 1e-9 * max(np.abs(carry[0]).max(), 1.0):
        vertices = shape.positions @ carry[0, :3, :3].T + carry[0, :3, 3]
    else:
        for column in range(who.shape[1]):
            matrix, weight = carry[who[:, column]], much[:, column, None]
            moved = np.einsum("vij,vj->vi", matrix[:, :3, :3], shape.positions) + matrix[:, :3, 3]
            vertices += weight * moved
    if shape.normals is not None:
        linear = carry[who[np.arange(len(who)), np.argmax(much, axis=1)], :3, :3]
        # normals go with the inverse transpose; the cofactor matrix is the same without a division
        rows = np.moveaxis(linear, 1, 0)
        cofactor = np.stack([np.cross(rows[a], rows[b]) for a, b in ((1, 2), (2, 0), (0, 1))], axis=1)
        turned = np.einsum("vij,vj->vi", cofactor, shape.normals)
        length = np.linalg.norm(turned, axis=1, keepdims=True)
        normals = turned / np.where(length > 0, length, 1.0)
    faces = shape.faces
    if np.linalg.det(carry[0, :3, :3]) < 0:
        faces = faces[:, ::-1]
        normals = None if normals is None else -normals
    parts.vertices.append(vertices)
    parts.normals.append(normals)
    parts.joints.append(index[who])
    parts.weights.append(much)
    parts.faces.append(faces + parts.count)
    parts.count += len(vertices)


def _join(parts: _Parts, bind: NDArray) -> Skin:
    width = max(array.shape[1] for array in parts.joints)

    def widen(arrays: list[NDArray]) -> NDArray:
        return np.concatenate([np.pad(array, ((0, 0), (0, width - array.shape[1]))) for array in arrays])

    normals = None
    if all(array is not None for array in parts.normals):
        normals = np.concatenate([array for array in parts.normals if array is not None])
    return Skin(
        vertices=np.concatenate(parts.vertices),
        faces=np.concatenate(parts.faces),
        joints=widen(parts.joints),
        weights=widen(parts.weights),
        inverse_bind=bind,
        normals=normals,
    )


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
