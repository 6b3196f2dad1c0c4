"""A mesh with the weights that bind it to joints, as objects of an FBX file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.io.fbx.records import Record, record
from footplant.io.fbx.write_looks import add_materials, add_morphs
from footplant.io.fbx.write_scene import ROOT, FbxObjects, Names, add_model, unique_name
from footplant.looks import Looks, Material, MeshPart
from footplant.skeleton import Skeleton, Skin
from footplant.skinning import vertex_normals

COLOR = (0.72, 0.74, 0.78)
"""Red, green and blue of the default material, 0 to 1."""
SINGULAR = 1e-12
"""A bind matrix is singular if |det| is smaller than this fraction of its largest element cubed."""


def add_skin(scene: FbxObjects, skin: Skin, skeleton: Skeleton, bones: Sequence[np.int64], names: Names) -> None:
    """Add the meshes of a skin, skinned to the bones; skin and skeleton in file units."""
    bind_pose = _bind_pose(skin, skeleton)
    looks = skin.looks
    if looks is None:
        part = MeshPart(names.mesh, 0, len(skin.faces), np.zeros(len(skin.faces), np.int64), None)
        looks = Looks((part,), (Material("neutral", (*COLOR, 1.0)),))
    materials = add_materials(scene, looks)
    used = {*names.joints, *names.ends}
    models = []
    for number, part in enumerate(looks.parts):
        title = names.mesh if len(looks.parts) == 1 else part.name or f"{names.mesh} {number + 1}"
        title = unique_name(title, used)
        used.add(title)
        models.append(_add_part(scene, skin, part, title, materials, bones, bind_pose, names))
    poses = [*((model, np.eye(4)) for model in models), *zip(bones, bind_pose, strict=True)]
    listed = [
        record("PoseNode", inside=[record("Node", node), record("Matrix", _by_columns(matrix))])
        for node, matrix in poses
    ]
    pose = [record("Type", "BindPose"), record("Version", 100), record("NbPoseNodes", len(poses)), *listed]
    scene.add("Pose", names.mesh, "Pose", "BindPose", pose)


def _add_part(
    scene: FbxObjects,
    whole: Skin,
    part: MeshPart,
    title: str,
    materials: Sequence[np.int64],
    bones: Sequence[np.int64],
    bind_pose: NDArray,
    names: Names,
) -> np.int64:
    """Add one mesh with its weights, materials and morph targets; return its node."""
    if part.stop - part.start == len(whole.faces):
        # one mesh keeps vertices that no triangle uses
        kept, place = np.arange(len(whole.vertices)), whole.faces
    else:
        kept, place = np.unique(whole.faces[part.start : part.stop], return_inverse=True)
    skin = replace(
        whole, vertices=whole.vertices[kept], faces=place.reshape(-1, 3), joints=whole.joints[kept],
        weights=whole.weights[kept], normals=None if whole.normals is None else whole.normals[kept], attached=None,
        looks=None,
    )  # fmt: skip
    if whole.normals is None:
        skin = replace(skin, normals=vertex_normals(whole.vertices, whole.faces)[kept])
    model = add_model(scene, title, "Mesh", [], ROOT)
    own, surfaces = np.unique(part.materials, return_inverse=True)
    shape = _shape(skin, None if part.uvs is None else part.uvs.reshape(-1, 2), surfaces.reshape(-1))
    geometry = scene.add("Geometry", title, "Geometry", "Mesh", shape)
    scene.connect(geometry, model)
    for material in own.tolist():
        scene.connect(materials[material], model)
    deformer = [record("Version", 101), record("Link_DeformAcuracy", 50.0)]
    body = scene.add("Deformer", title, "Deformer", "Skin", deformer)
    scene.connect(body, geometry)
    add_morphs(scene, part, kept, geometry, title)
    for joint, vertices, weights in influences(skin):
        inside = [
            record("Version", 100),
            record("UserData", "", ""),
            record("Indexes", vertices.astype("<i4")),
            record("Weights", weights.astype("<f8")),
            record("Transform", _by_columns(skin.inverse_bind[joint])),
            record("TransformLink", _by_columns(bind_pose[joint])),
        ]
        cluster = scene.add("Deformer", names.joints[joint], "SubDeformer", "Cluster", inside)
        scene.connect(cluster, body)
        scene.connect(bones[joint], cluster)
    return model


def _shape(skin: Skin, uvs: NDArray | None, surfaces: NDArray) -> list[Record]:
    """Return the records of a mesh's geometry; uvs: (3 T, 2) of every corner; surfaces: (T,) its material's number."""
    normals = vertex_normals(skin.vertices, skin.faces) if skin.normals is None else skin.normals
    corners = np.array(skin.faces, "<i4")
    # the last corner of a polygon is stored as the complement of its index
    corners[:, -1] = ~corners[:, -1]
    kinds = ["LayerElementNormal", "LayerElementMaterial"] + (["LayerElementUV"] if uvs is not None else [])
    layers = [record("LayerElement", inside=[record("Type", kind), record("TypedIndex", 0)]) for kind in kinds]
    mapped = []
    if uvs is not None:
        values, index = np.unique(uvs, axis=0, return_inverse=True)
        numbers = record("UVIndex", index.reshape(-1).astype("<i4"))
        mapped = [_layer("LayerElementUV", "ByPolygonVertex", "IndexToDirect", record("UV", _flat(values)), numbers)]
    same = surfaces.max(initial=0) == 0
    chosen = record("Materials", np.zeros(1, "<i4") if same else surfaces.astype("<i4"))
    return [
        record("GeometryVersion", 124),
        record("Vertices", _flat(skin.vertices)),
        record("PolygonVertexIndex", corners.reshape(-1)),
        _layer("LayerElementNormal", "ByVertice", "Direct", record("Normals", _flat(normals))),
        *mapped,
        _layer("LayerElementMaterial", "AllSame" if same else "ByPolygon", "IndexToDirect", chosen),
        record("Layer", 0, inside=[record("Version", 100), *layers]),
    ]


def _layer(kind: str, mapping: str, reference: str, *values: Record) -> Record:
    inside = [
        record("Version", 101),
        record("Name", ""),
        record("MappingInformationType", mapping),
        record("ReferenceInformationType", reference),
        *values,
    ]
    return record(kind, 0, inside=inside)


def influences(skin: Skin) -> Iterator[tuple[int, NDArray, NDArray]]:
    """Yield, for each joint that influences vertices: its index, the vertices in ascending order, and their weights."""
    vertices = np.repeat(np.arange(len(skin.joints)), skin.joints.shape[1])
    joints, weights = skin.joints.reshape(-1), skin.weights.reshape(-1)
    used = weights > 0
    vertices, joints, weights = vertices[used], joints[used], weights[used]
    # FBX allows one weight per joint and vertex: repeated influences are summed
    pairs, place = np.unique(joints * len(skin.vertices) + vertices, return_inverse=True)
    shares = np.bincount(place, weights, len(pairs))
    owners, ours = np.divmod(pairs, max(len(skin.vertices), 1))
    for joint in np.unique(owners).tolist():
        here = slice(*np.searchsorted(owners, [joint, joint + 1]))
        yield joint, ours[here], shares[here]


def _bind_pose(skin: Skin, skeleton: Skeleton) -> NDArray:
    """Return (J, 4, 4) world matrices of the joints in the bind pose; of the rest pose where a matrix is singular."""
    positions, rotations = skeleton.rest_world
    world = np.tile(np.eye(4), (len(skeleton), 1, 1))
    world[:, :3, :3], world[:, :3, 3] = rotation.to_matrix(rotations), positions
    linear = skin.inverse_bind[:, :3, :3]
    regular = np.abs(np.linalg.det(linear)) > SINGULAR * np.abs(linear).max(axis=(1, 2)) ** 3
    world[regular] = np.linalg.inv(skin.inverse_bind[regular])
    return world


def _by_columns(matrix: NDArray) -> NDArray:
    return np.ascontiguousarray(matrix.T, "<f8").reshape(-1)


def _flat(vectors: NDArray) -> NDArray:
    return np.ascontiguousarray(vectors, "<f8").reshape(-1)
