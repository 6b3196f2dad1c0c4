"""Small synthetic FBX files as text, for tests: nodes, takes, meshes with skins, bind poses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

SECOND = 46186158000
"""FBX time units per second."""


class Made:
    """An FBX file under construction; `text` gives its bytes."""

    def __init__(self, *, version: int = 7400, unit: float = 1.0, up: int = 1, rate_mode: int = 6) -> None:
        """unit: centimetres per unit; up: 0 x, 1 y, 2 z; rate_mode: 6 is 30 frames per second, 11 is 24."""
        self.version, self.unit, self.up, self.rate_mode = version, unit, up, rate_mode
        self.objects: list[str] = []
        self.connections: list[str] = []
        self.count = 1000

    def _add(self, kind: str, name: str, label: str, sort: str, inside: str) -> int:
        self.count += 1
        self.objects.append(f'\t{kind}: {self.count}, "{label}::{name}", "{sort}" {{\n{inside}\t}}\n')
        return self.count

    def _connect(self, child: int, parent: int, slot: str = "") -> None:
        self.connections.append(
            f'\tC: "{"OP" if slot else "OO"}",{child},{parent}{f", {chr(34)}{slot}{chr(34)}" if slot else ""}\n'
        )

    def node(self, name: str, parent: int = 0, *, kind: str = "LimbNode", inherit: int = 1, **properties: Any) -> int:
        """A node; properties such as translation=(x, y, z), rotation, scaling, PreRotation, RotationOrder=2."""
        words = {"translation": "Lcl Translation", "rotation": "Lcl Rotation", "scaling": "Lcl Scaling"}
        rows = [_property("InheritType", "enum", inherit)]
        if "PreRotation" in properties or "PostRotation" in properties or "RotationOrder" in properties:
            rows.append(_property("RotationActive", "bool", 1))
        for key, value in properties.items():
            value = value if isinstance(value, tuple | list) else (value,)
            known = words.get(key, key)
            sort = known if key in words else ("Vector3D" if len(value) == 3 else "enum")
            rows.append(_property(known, sort, *value))
        model = self._add("Model", name, "Model", kind, _properties(rows))
        self._connect(model, parent)
        if kind in ("LimbNode", "Null", "Root"):
            flags = f'\t\tTypeFlags: "{"Skeleton" if kind == "LimbNode" else "Null"}"\n'
            self._connect(self._add("NodeAttribute", name, "NodeAttribute", kind, flags), model)
        return model

    def take(self, name: str, begin: float, end: float) -> tuple[int, int]:
        """A stack with one layer; give both to `animate`."""
        rows = [
            _property(key, "KTime", round(value * SECOND)) for key, value in (("LocalStart", begin), ("LocalStop", end))
        ]
        stack = self._add("AnimationStack", name, "AnimStack", "", _properties(rows))
        layer = self._add("AnimationLayer", "BaseLayer", "AnimLayer", "", "")
        self._connect(layer, stack)
        return stack, layer

    def animate(
        self, take: tuple[int, int], node: int, what: str, times: Sequence[float], values: Iterable[Sequence[float]]
    ) -> None:
        """Add linear curves of "Translation", "Rotation" (degrees) or "Scaling", three values per time."""
        table = np.array(list(values), float)
        rows = [_property(f"d|{axis}", "Number", value) for axis, value in zip("XYZ", table[0])]
        curves = self._add("AnimationCurveNode", what[0], "AnimCurveNode", "", _properties(rows))
        self._connect(curves, take[1])
        self._connect(curves, node, f"Lcl {what}")
        ticks = [round(time * SECOND) for time in times]
        for axis, column in zip("XYZ", table.T):
            inside = (
                f"\t\tDefault: {column[0]}\n\t\tKeyVer: 4008\n"
                f"{_array('KeyTime', ticks)}{_array('KeyValueFloat', column)}"
                f"{_array('KeyAttrFlags', [0x104])}{_array('KeyAttrDataFloat', [0, 0, 0, 0])}"
                f"{_array('KeyAttrRefCount', [len(ticks)])}"
            )
            self._connect(self._add("AnimationCurve", "", "AnimCurve", "", inside), curves, f"d|{axis}")

    def mesh(self, node: int, vertices: Sequence[Sequence[float]], faces: Sequence[Sequence[int]]) -> int:
        """Add geometry below a node of kind "Mesh"."""
        corners = [
            corner if place + 1 < len(face) else -1 - corner for face in faces for place, corner in enumerate(face)
        ]
        inside = (
            f"{_array('Vertices', np.ravel(vertices))}{_array('PolygonVertexIndex', corners)}\t\tGeometryVersion: 124\n"
        )
        geometry = self._add("Geometry", "shape", "Geometry", "Mesh", inside)
        self._connect(geometry, node)
        return geometry

    def skin(
        self, geometry: int, *clusters: tuple[int, Sequence[int], Sequence[float], np.ndarray, np.ndarray]
    ) -> None:
        """Bind geometry; clusters: bone (0 for none), vertices, weights, mesh → bone (4, 4), bone → world (4, 4)."""
        deformer = self._add("Deformer", "skin", "Deformer", "Skin", "\t\tVersion: 101\n")
        self._connect(deformer, geometry)
        for bone, vertices, weights, transform, link in clusters:
            inside = (
                f"\t\tVersion: 100\n{_array('Indexes', vertices)}{_array('Weights', weights)}"
                f"{_array('Transform', np.ravel(transform.T))}{_array('TransformLink', np.ravel(link.T))}"
            )
            cluster = self._add("Deformer", "cluster", "SubDeformer", "Cluster", inside)
            self._connect(cluster, deformer)
            if bone:
                self._connect(bone, cluster)

    def pose(self, **nodes: tuple[int, np.ndarray]) -> None:
        """A bind pose: node and world matrix (4, 4) of each."""
        rows = "".join(
            f"\t\tPoseNode:  {{\n\t\t\tNode: {node}\n{_array('Matrix', np.ravel(matrix.T))}\t\t}}\n"
            for node, matrix in nodes.values()
        )
        inside = f'\t\tType: "BindPose"\n\t\tVersion: 100\n\t\tNbPoseNodes: {len(nodes)}\n{rows}'
        self._add("Pose", "pose", "Pose", "BindPose", inside)

    def text(self) -> bytes:
        """Return the file."""
        axes = {0: (0, 1, 2), 1: (1, 2, 0), 2: (2, 1, 0)}[self.up]
        signs = {0: (1, 1, 1), 1: (1, 1, 1), 2: (1, -1, 1)}[self.up]
        rows = [_property("UnitScaleFactor", "double", self.unit), _property("TimeMode", "enum", self.rate_mode)]
        for name, axis, sign in zip(("UpAxis", "FrontAxis", "CoordAxis"), axes, signs):
            rows += [_property(name, "int", axis), _property(f"{name}Sign", "int", sign)]
        return (
            f"; FBX {self.version // 1000}.{self.version // 100 % 10}.0 project file\n"
            f'FBXHeaderExtension:  {{\n\tFBXHeaderVersion: 1003\n\tFBXVersion: {self.version}\n\tCreator: "made"\n}}\n'
            f"GlobalSettings:  {{\n\tVersion: 1000\n{_properties(rows)}}}\n"
            f"Objects:  {{\n{''.join(self.objects)}}}\nConnections:  {{\n{''.join(self.connections)}}}\n"
        ).encode()


def _property(name: str, sort: str, *values: Any) -> str:
    return f'\t\t\tP: "{name}", "{sort}", "", "A",{",".join(str(value) for value in values)}\n'


def _properties(rows: Sequence[str]) -> str:
    return f"\t\tProperties70:  {{\n{''.join(rows)}\t\t}}\n"


def _array(name: str, values: Iterable[Any]) -> str:
    found = [repr(float(value)) if isinstance(value, float) else str(value) for value in values]
    return f"\t\t{name}: *{len(found)} {{\n\t\t\ta: {','.join(found)}\n\t\t}}\n"


def shifted(x: float, y: float, z: float) -> np.ndarray:
    """Return the matrix (4, 4) of a position."""
    out = np.eye(4)
    out[:3, 3] = x, y, z
    return out


def figure() -> Made:
    """Return three joints with an end site, below a scaled null; a square bound to two of them; two takes."""
    made = Made()
    armature = made.node("Armature", kind="Null", rotation=(-90, 0, 0), scaling=(100, 100, 100))
    hips = made.node("hips", armature, translation=(0, 0, 1))
    knee = made.node("knee", hips, translation=(0, 0, -0.5), PreRotation=(10, 20, 30), RotationOrder=2)
    ankle = made.node("ankle", knee, translation=(0, 0, -0.4))
    made.node("ankle_end", ankle, translation=(0, 0.1, 0))
    body = made.node("body", kind="Mesh")
    geometry = made.mesh(body, [(0, 100, 0), (10, 100, 0), (10, 50, 0), (0, 50, 0)], [(0, 1, 2, 3)])
    # bound before the knee was rotated
    base = np.array([[100.0, 0, 0, 0], [0, 0, 100.0, 0], [0, -100.0, 0, 0], [0, 0, 0, 1]])
    bound = [base @ shifted(0, 0, 1), base @ shifted(0, 0, 0.5)]
    made.skin(
        geometry,
        (hips, [0, 1, 2], [1.0, 1.0, 0.5], np.linalg.inv(bound[0]), bound[0]),
        (knee, [2, 3], [0.5, 2.0], np.linalg.inv(bound[1]), bound[1]),
    )
    bend = made.take("bend", 0.0, 5 / 30)
    made.animate(bend, knee, "Rotation", [0, 5 / 30], [(0, 0, 0), (0, 60, 30)])
    walk = made.take("walk", 1 / 30, 0.5)
    made.animate(walk, hips, "Translation", [1 / 30, 0.5], [(0, 0, 1), (0, -2, 1)])
    made.animate(walk, ankle, "Rotation", [1 / 30, 0.25, 0.5], [(0, 0, 0), (0, 60, 30), (5, 0, 0)])
    return made
