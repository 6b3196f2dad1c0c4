"""Fuzz target of the glTF reader: any bytes give figures or a `FormatError`, nothing else."""

from __future__ import annotations

import json
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
    return [sound.gltf(), sound.glb(), lone.gltf(), sparse.gltf(), json.dumps({"asset": {"version": "2.0"}}).encode()]
