"""Fuzz target of the glTF reader: any bytes give figures or a `FormatError`, nothing else."""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from footplant.errors import FormatError
from footplant.io.gltf import read_characters
from footplant.io.gltf.document import Document
from gltf_made import Made, figure

_NOWHERE = Path(__file__).resolve().parent / "no-such-folder" / "fuzz.gltf"


def TARGET(data: bytes) -> None:
    """Read the bytes as a .gltf or .glb file, every figure and its takes."""
    try:
        for found in read_characters(Document(_NOWHERE, data)):
            for number in range(min(len(found.takes), 3)):
                assert found.read_take is not None
                motion = found.read_take(number)
                assert len(motion) == found.takes[number].frames
    except FormatError:
        return


def corpus() -> list[bytes]:
    """Seeds: sound files in both containers, small ones and such with odd parts."""
    sound = figure()
    lone = Made(nodes=[{"name": "a", "matrix": [1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 1, 2, 3, 1], "children": [1]}, {}])
    sparse = Made(nodes=[{}, {}])
    sparse.json["nodes"][0]["children"] = [1]
    places, values = sparse.view(bytes([1, 0])), sparse.view(bytes(16))
    sparse.json["accessors"] = [
        {
            "componentType": 5126,
            "count": 3,
            "type": "VEC4",
            "sparse": {
                "count": 1,
                "indices": {"bufferView": places, "componentType": 5121},
                "values": {"bufferView": values},
            },
        }
    ]
    sparse.animate("a", (1, "translation", [0.0, 1.0], [[0, 0, 0], [1, 1, 1]]))
    packed = Made(nodes=[{"children": [1]}, {}])
    stream = bytes([160, 0, 0, 0, 0]) + bytes(32)
    packed.view(stream)
    stated = {"buffer": 0, "byteLength": len(stream), "byteStride": 4, "count": 16, "mode": "ATTRIBUTES"}
    packed.json["bufferViews"].append(
        {"buffer": 0, "byteLength": 64, "extensions": {"EXT_meshopt_compression": stated}}
    )
    packed.json["accessors"] = [{"componentType": 5126, "count": 2, "type": "VEC3", "bufferView": 1}]
    packed.animate("a", (1, "translation", [0.0, 1.0], [[0, 0, 0], [1, 1, 1]]))
    packed.json["animations"][0]["samplers"][0]["output"] = 0
    old = {
        "asset": {"version": "1.0"},
        "buffers": {"b": {"uri": "data:;base64," + "AACAPwAAAEAAAIA/AAAAQAAAgD8AAABA" * 8, "byteLength": 192}},
        "bufferViews": {"v": {"buffer": "b", "byteOffset": 0}},
        "accessors": {
            "t": {"bufferView": "v", "componentType": 5126, "count": 2, "type": "SCALAR"},
            "p": {"bufferView": "v", "componentType": 5126, "count": 2, "type": "VEC3", "byteStride": 16},
            "j": {"bufferView": "v", "componentType": 5126, "count": 2, "type": "VEC4"},
            "m": {"bufferView": "v", "componentType": 5126, "count": 1, "type": "MAT4"},
        },
        "meshes": {"m": {"primitives": [{"attributes": {"POSITION": "p", "WEIGHT": "j"}}]}},
        "nodes": {"a": {"children": ["c"], "jointName": "A"}, "c": {"meshes": ["m", "m"], "skin": "s"}},
        "skins": {"s": {"jointNames": ["A"], "inverseBindMatrices": "m", "bindShapeMatrix": [2.0] * 16}},
        "animations": {"x": {
            "parameters": {"T": "t", "P": "p"}, "samplers": {"s": {"input": "T", "output": "P"}},
            "channels": [{"sampler": "s", "target": {"id": "a", "path": "translation"}}],
        }},
        "materials": {"r": {"values": {"diffuse": [1, 0, 0, 1]}}},
    }  # fmt: skip
    oldest = json.dumps(old).encode()
    extra = [packed.gltf(), oldest, b"glTF" + struct.pack("<IIII", 1, 20 + len(oldest), len(oldest), 0) + oldest]
    return [
        *extra,
        sound.gltf(),
        sound.glb(),
        lone.gltf(),
        sparse.gltf(),
        json.dumps({"asset": {"version": "2.0"}}).encode(),
    ]
