"""Small synthetic glTF files, with every feature that the reader supports."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import numpy as np

TYPES = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}


class Made:
    """A glTF document under construction: JSON and one buffer."""

    def __init__(self, **top: Any) -> None:
        """Start with the asset and the given values."""
        self.json: dict[str, Any] = {"asset": {"version": "2.0"}, **top}
        self.bin = bytearray()

    def list(self, key: str) -> list:
        """Return one of the document's lists."""
        return self.json.setdefault(key, [])

    def view(self, content: bytes, **more: Any) -> int:
        """Append bytes as a buffer view."""
        self.bin += bytes(-len(self.bin) % 4)
        self.list("bufferViews").append({"buffer": 0, "byteOffset": len(self.bin), "byteLength": len(content), **more})
        self.bin += content
        return len(self.json["bufferViews"]) - 1

    def accessor(self, values: Any, kind: str, dtype: str = "f4", **more: Any) -> int:
        """Append an array as a tightly packed accessor."""
        array = np.asarray(values, "<" + dtype)
        entry = {"bufferView": self.view(array.tobytes()), "componentType": TYPES[dtype], "count": len(array)}
        self.list("accessors").append({**entry, "type": kind, **more})
        return len(self.json["accessors"]) - 1

    def animate(self, name: str | None, *curves: tuple) -> None:
        """Append an animation of curves (node, path, times, values[, interpolation])."""
        animation: dict[str, Any] = {"channels": [], "samplers": []}
        if name is not None:
            animation["name"] = name
        for node, path, times, values, *kind in curves:
            times = np.asarray(times, "<f4")
            start = self.accessor(times, "SCALAR", min=[float(times.min())], max=[float(times.max())])
            out = self.accessor(values, "VEC4" if path == "rotation" else "VEC3")
            animation["samplers"].append(
                {"input": start, "output": out, **({"interpolation": kind[0]} if kind else {})}
            )
            target = {"node": node, "path": path}
            animation["channels"].append({"sampler": len(animation["samplers"]) - 1, "target": target})
        self.list("animations").append(animation)

    def gltf(self) -> bytes:
        """Return the file as JSON with an embedded buffer."""
        document = dict(self.json)
        if self.bin:
            uri = "data:application/octet-stream;base64," + base64.b64encode(self.bin).decode()
            document["buffers"] = [{"byteLength": len(self.bin), "uri": uri}]
        return json.dumps(document).encode()

    def glb(self, extra: bytes = b"") -> bytes:
        """Return the file as GLB; `extra` becomes a further chunk."""
        document = dict(self.json)
        if self.bin:
            document["buffers"] = [{"byteLength": len(self.bin)}]
        chunks = [(0x4E4F534A, json.dumps(document).encode(), b" ")]
        if self.bin:
            chunks.append((0x004E4942, bytes(self.bin), b"\0"))
        if extra:
            chunks.append((0x41525458, extra, b"\0"))
        body = b""
        for kind, data, filler in chunks:
            data += filler * (-len(data) % 4)
            body += struct.pack("<II", len(data), kind) + data
        return b"glTF" + struct.pack("<II", 2, 12 + len(body)) + body


def quaternion(axis: str, degrees: float) -> list[float]:
    """Return the quaternion (x, y, z, w) of a rotation about an axis."""
    half = np.radians(degrees) / 2
    return [float(np.sin(half)) * (letter == axis) for letter in "xyz"] + [float(np.cos(half))]


def figure() -> Made:
    """Return a chain of three joints under a rotated and scaled armature, skinned, with morph targets and takes."""
    made = Made(scene=0, scenes=[{"nodes": [0, 5]}], extensionsUsed=["EXT_lights_ies"])
    made.json["nodes"] = [
        {"name": "Armature", "scale": [0.01, 0.01, 0.01], "rotation": quaternion("x", -90), "children": [1]},
        {"name": "hips", "translation": [0, 0, 100], "children": [2], "extras": {"kept": [1, 2.5, "three"]}},
        {"name": "knee", "translation": [0, 0, -50], "rotation": quaternion("x", 10), "children": [3]},
        {"name": "ankle", "translation": [0, 0, -45], "children": [4]},
        {"name": "ankle_end", "translation": [0, -10, 0]},
        {"name": "body", "mesh": 0, "skin": 0, "weights": [0.25]},
    ]
    positions = np.array([[0, 0, 100], [10, 0, 100], [0, 0, 50], [10, 0, 50], [0, 0, 5], [10, 0, 5]], float)
    bind = np.tile(np.eye(4), (3, 1, 1))
    bind[0, :3, 3] = [0, 0, -100]
    bind[1, :3, :3] = np.array([[1, 0, 0], [0, np.cos(0.2), np.sin(0.2)], [0, -np.sin(0.2), np.cos(0.2)]])
    bind[1, :3, 3] = [0, 0, -50]
    bind[2, :3, 3] = [0, 0, -5]
    joints = [[0, 0, 0, 0]] * 2 + [[0, 1, 0, 0]] * 2 + [[2, 0, 0, 0]] * 2
    weights = [[255, 0, 0, 0]] * 2 + [[127, 128, 0, 0]] * 2 + [[255, 0, 0, 0]] * 2
    attributes = {
        "POSITION": made.accessor(positions, "VEC3", min=positions.min(0).tolist(), max=positions.max(0).tolist()),
        "JOINTS_0": made.accessor(joints, "VEC4", "u1"),
        "WEIGHTS_0": made.accessor(weights, "VEC4", "u1", normalized=True),
    }
    target = made.accessor(np.zeros((6, 3)), "VEC3", min=[0.0] * 3, max=[0.0] * 3)
    indices = made.accessor([0, 1, 2, 3, 4, 5], "SCALAR", "u2")
    primitive = {"attributes": attributes, "indices": indices, "mode": 5, "targets": [{"POSITION": target}]}
    made.json["meshes"] = [{"primitives": [{**primitive, "material": 0}], "extras": {"targetNames": ["smile"]}}]
    made.json["materials"] = [{"name": "red", "pbrMetallicRoughness": {"baseColorFactor": [1, 0, 0, 1]}}]
    inverse = made.accessor(np.swapaxes(bind, 1, 2).reshape(-1, 16), "MAT4")
    made.json["skins"] = [{"joints": [1, 2, 3], "inverseBindMatrices": inverse}]
    times = np.arange(6) / 30
    bend = [quaternion("x", 10 + 8 * frame) for frame in range(6)]
    walk = [[2.0 * frame, 0, 100 - frame] for frame in range(6)]
    made.animate("bend", (2, "rotation", times, bend), (1, "translation", times, walk))
    corners = np.zeros((3, 3, 4))
    corners[:, 1] = [quaternion("y", 0), quaternion("y", 60), quaternion("y", 20)]
    made.animate(
        "curves",
        (2, "rotation", [0.0, 0.5, 1.0], corners.reshape(-1, 4), "CUBICSPLINE"),
        (3, "rotation", [0.0, 0.5], [quaternion("x", 0), quaternion("x", 90)], "STEP"),
    )
    return made
