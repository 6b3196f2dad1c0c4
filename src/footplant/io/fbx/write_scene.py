"""Objects of an FBX file and their connections; joints and animation curves."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from footplant.io.fbx.records import SEPARATOR, Packed, Record, Value, pack, properties, record
from footplant.io.fbx.write_document import DOCUMENT, ticks
from footplant.motion import Motion
from footplant.skeleton import Skeleton

ROOT = np.int64(0)
"""Id of the implicit root node, which is not written."""
END_SITE = "footplantEndSite"
"""Footplant's own node property: the node is an end site and not a joint."""
CONSTANT_ANGLE = 1e-6
"""Degrees. A joint that rotates less gets one key. A twentieth of the precision of a 32-bit key at 180°."""
CONSTANT_LENGTH = 1e-8
"""Metres. A joint that moves less gets one key. A tenth of the precision of a 32-bit key at 1 m."""
LINEAR = 0x6104
"""Key flags: linear interpolation, with the other bits that Autodesk's library sets."""
FLAG_DATA = np.array([0.0, 0.0, 9.419963e-30, 0.0], "<f4")
"""Tangent slopes and weights that belong to the flags; linear interpolation does not use them."""
AXES = ("d|X", "d|Y", "d|Z")


@dataclass
class FbxObjects:
    """The objects of a file and their connections, as they are added."""

    objects: list[Record] = field(default_factory=list)
    connections: list[Record] = field(default_factory=list)

    def add(
        self, kind: str, name: str, label: str, sort: str, inside: Sequence[Record], scope: bool = False
    ) -> np.int64:
        """Add an object of a kind ("Model"), class ("Model", "SubDeformer") and type ("LimbNode"); return its id."""
        number = np.int64(DOCUMENT + 1 + len(self.objects))
        self.objects.append(record(kind, number, f"{name}{SEPARATOR}{label}", sort, inside=inside, scope=scope))
        return number

    def connect(self, child: np.int64, parent: np.int64, slot: str | None = None) -> None:
        """Connect an object to a parent object, or to one of its properties."""
        values: tuple[Value, ...] = ("OO", child, parent) if slot is None else ("OP", child, parent, slot)
        self.connections.append(record("C", *values))


@dataclass(frozen=True, eq=False)
class Names:
    """Names of the objects of a file: unique and without NUL characters."""

    joints: tuple[str, ...]
    ends: tuple[str, ...]
    mesh: str
    take: str


def make_names(skeleton: Skeleton, mesh: str, take: str) -> Names:
    """Return names for everything; readers such as three.js look up nodes by name, so node names are unique."""
    used: set[str] = set()
    joints = [""] * len(skeleton)
    # valid names are assigned first, so that a cleaned name never takes the name of another joint
    for joint in sorted(range(len(skeleton)), key=lambda joint: _clean(skeleton.names[joint]) != skeleton.names[joint]):
        joints[joint] = _unique(skeleton.names[joint], used)
    ends = tuple(_unique(f"{joints[parent]}_end", used) for parent in skeleton.end_parents.tolist())
    return Names(tuple(joints), ends, _unique(mesh or "mesh", used), _clean(take) or "Take 001")


def _clean(name: str) -> str:
    """Return text that is valid UTF-8 without NUL characters."""
    return name.replace("\x00", "_").encode(errors="replace").decode()


def unique_name(name: str, used: Container[str]) -> str:
    """Return a clean name that is not among those used."""
    base = _clean(name) or "Take 001"
    chosen, number = base, 1
    while chosen in used:
        number += 1
        chosen = f"{base}_{number}"
    return chosen


def _unique(name: str, used: set[str]) -> str:
    base = _clean(name) or "joint"
    chosen, number = base, 1
    while chosen in used:
        number += 1
        chosen = f"{base}_{number}"
    used.add(chosen)
    return chosen


def add_joints(scene: FbxObjects, skeleton: Skeleton, names: Names) -> list[np.int64]:
    """Add a bone for each joint in its rest pose and for each end site; return the joints' ids. File units.

    The rest pose is in Lcl Rotation, which the motion overrides, as in files from Blender. Maya stores it in
    PreRotation, with the motion on top. Other readers treat both alike, but assimp creates nodes for a PreRotation and
    then animates them as if there were none (assimp issue 5759).
    """
    numbers: list[np.int64] = []
    turns = angles(skeleton.rest[None])[0]
    for joint, name in enumerate(names.joints):
        rows = [_local("Translation", skeleton.offsets[joint]), _local("Rotation", turns[joint])]
        parent = int(skeleton.parents[joint])
        numbers.append(_add_bone(scene, name, rows, numbers[parent] if parent >= 0 else ROOT))
    for parent, offset, name in zip(skeleton.end_parents.tolist(), skeleton.end_offsets, names.ends, strict=True):
        _add_bone(scene, name, [_local("Translation", offset), (END_SITE, "bool", "", "U", 1)], numbers[parent])
    return numbers


def _local(what: str, values: NDArray) -> tuple:
    return (f"Lcl {what}", f"Lcl {what}", "", "A", *values.tolist())


def _add_bone(scene: FbxObjects, name: str, rows: list[tuple], parent: np.int64) -> np.int64:
    bone = add_model(scene, name, "LimbNode", rows, parent)
    attribute = scene.add("NodeAttribute", name, "NodeAttribute", "LimbNode", [record("TypeFlags", "Skeleton")])
    scene.connect(attribute, bone)
    return bone


def add_model(scene: FbxObjects, name: str, sort: str, rows: Sequence[tuple], parent: np.int64) -> np.int64:
    """Add a node with its properties; scale is inherited in the usual way (InheritType 1)."""
    common = (("InheritType", "enum", "", "", 1), ("DefaultAttributeIndex", "int", "Integer", "", 0))
    inside = [
        record("Version", 232),
        properties(*common, *rows),
        record("Shading", True),
        record("Culling", "CullingOff"),
    ]
    model = scene.add("Model", name, "Model", sort, inside)
    scene.connect(model, parent)
    return model


def angles(rotations: NDArray) -> NDArray:
    """Return angles (F, J, 3) about x, y and z, degrees, of quaternions (F, J, 4), continuous over frames.

    FBX rotates about x first, then about the fixed y, then about the fixed z: the product qz·qy·qx.
    """
    from footplant.kernels import euler

    frames, joints = rotations.shape[:2]
    out, order = np.empty((frames, joints, 3)), np.tile(np.array([2, 1, 0]), (joints, 1))
    euler.quaternions_to_euler(np.ascontiguousarray(rotations), order, np.full(joints, 3), out, np.zeros(joints))
    return out[..., ::-1]


def add_motion(
    scene: FbxObjects, motion: Motion, bones: Sequence[np.int64], take: str, scale: float, rest: Skeleton
) -> None:
    """Add one take with one layer: rotation curves of all joints, translation curves of the root and moving bones.

    The motion is in file units of `scale` metres; rest: the skeleton as written. The three curves of a joint have the
    same keys, one or all, because three.js reads them in parallel.
    """
    times = ticks(len(motion), motion.fps)
    span = [("LocalStop", "KTime", "Time", "", times[-1]), ("ReferenceStop", "KTime", "Time", "", times[-1])]
    stack = scene.add("AnimationStack", take, "AnimStack", "", [properties(*span)])
    # assimp ignores a layer without a list of nested records
    layer = scene.add("AnimationLayer", "BaseLayer", "AnimLayer", "", [], scope=True)
    scene.connect(layer, stack)
    keys = {1: pack(times[:1]), len(times): pack(times)}
    turns = angles(motion.rotations)
    for joint, bone in enumerate(bones):
        _add_curves(scene, layer, bone, "Rotation", _thin(turns[:, joint], CONSTANT_ANGLE), keys)
        places = _places(motion, joint, CONSTANT_LENGTH / scale, rest)
        if places is not None:
            _add_curves(scene, layer, bone, "Translation", places, keys)


def _places(motion: Motion, joint: int, still: float, rest: Skeleton) -> NDArray | None:
    """Return a joint's translations in its parent's frame, one row or all; None if they are the skeleton's offset."""
    if joint == 0:
        return _thin(motion.root, still)
    offsets = motion.skeleton.offsets[None] if motion.offsets is None else motion.offsets
    places = _thin(offsets[:, joint], still)
    moves = len(places) > 1 or np.abs(places - rest.offsets[joint]).max() > still
    return places if moves else None


def _thin(values: NDArray, still: float) -> NDArray:
    """Return the first row alone if all others are equal to it within a tolerance."""
    return values[:1] if np.abs(values - values[0]).max() <= still else values


def _add_curves(
    scene: FbxObjects, layer: np.int64, bone: np.int64, what: str, values: NDArray, keys: dict[int, Packed]
) -> None:
    first = values[0].tolist()
    rows = [(axis, "Number", "", "A", value) for axis, value in zip(AXES, first, strict=True)]
    node = scene.add("AnimationCurveNode", what[0], "AnimCurveNode", "", [properties(*rows)])
    scene.connect(node, layer)
    scene.connect(node, bone, f"Lcl {what}")
    for axis, value, column in zip(AXES, first, values.T, strict=True):
        inside = [
            record("Default", value),
            record("KeyVer", 4008),
            record("KeyTime", keys[len(column)]),
            record("KeyValueFloat", column.astype("<f4")),
            record("KeyAttrFlags", np.array([LINEAR], "<i4")),
            record("KeyAttrDataFloat", FLAG_DATA),
            record("KeyAttrRefCount", np.array([len(column)], "<i4")),
        ]
        scene.connect(scene.add("AnimationCurve", "", "AnimCurve", "", inside), node, axis)
