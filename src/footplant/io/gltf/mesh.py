"""The triangles of a glTF scene in world space, for ground geometry."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import FormatError
from footplant.io.gltf.document import Document
from footplant.io.gltf.scene import read_scene
from footplant.io.gltf.skin import MIN_SKIN_BYTES, read_primitive, triangles


def read_triangles(document: Document) -> tuple[NDArray, NDArray]:
    """Return vertices (V, 3) in metres, y up, and triangles (T, 3) of all meshes of the scene, in world space."""
    scene, notes = read_scene(document), []
    meshes = [mesh.objects("primitives") for mesh in document.top.objects("meshes")]
    matrices: dict[int, NDArray] = {-1: np.eye(4)}
    vertices, faces, count, size = [], [], 0, 0
    for node in scene.order:
        matrix = np.eye(4)
        matrix[:3, :3] = rotation.to_matrix(scene.rotations[node]) @ scene.stretches[node]
        matrix[:3, 3] = scene.translations[node]
        matrices[node] = matrices[scene.parents[node]] @ matrix
        mesh = scene.entries[node].index("mesh", len(meshes), None)
        for entry in () if mesh is None else meshes[mesh]:
            shape = read_primitive(document, entry, notes)
            if shape is None:
                continue
            size += shape.memory
            if size > max(MIN_SKIN_BYTES, 9 * document.size):
                raise FormatError("the meshes take more memory than a file of this size may", path=document.path)
            places = document.floats(shape.position, ("VEC3",))
            vertices.append(places @ matrices[node][:3, :3].T + matrices[node][:3, 3])
            faces.append(triangles(shape.corners, shape.mode) + count)
            count += shape.vertices
    if not faces:
        reason = f": {notes[0]}" if notes else ""
        raise FormatError(f"expected meshes of triangles, got none{reason}", path=document.path)
    return np.concatenate(vertices), np.concatenate(faces)
