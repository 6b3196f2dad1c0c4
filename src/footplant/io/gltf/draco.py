"""Primitives that are compressed with Draco (KHR_draco_mesh_compression), through DracoPy (extra "draco").

The library reads bytes of unknown origin in native code, so it runs in a child process with limits on memory and time.
All compressed primitives of a file are decoded by one child.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError
from footplant.io import isolation
from footplant.io.gltf.document import Document
from footplant.io.json import Json

EXTENSION = "KHR_draco_mesh_compression"
MISSING = (
    'a mesh is compressed with Draco, which needs the extra "draco" (pip install "footplant[draco]"); skeleton and '
    "animations are read"
)
CHILD = Path(__file__).with_name("draco_child.py")
SECONDS, SECONDS_PER_MEGABYTE = 20, 5
"""CPU time limit of the child."""
MAX_PRIMITIVES = 4096
IMPORT_BYTES = 512 << 20
"""Memory that NumPy and the library take before they decode anything."""
_decoded: WeakKeyDictionary[Document, dict[str, dict[str, NDArray] | str]] = WeakKeyDictionary()
"""Arrays of each compressed primitive by its JSON path, or why it could not be decoded."""


def decode(document: Document, entry: Json) -> bool:
    """Put the arrays of a compressed primitive into its accessors; False if the library is not installed."""
    if _has_data(document, entry):
        return True
    if importlib.util.find_spec("DracoPy") is None:
        return False
    if document not in _decoded:
        _decoded[document] = _decode_all(document)
    arrays = _decoded[document].get(entry.where, "is not one of the file's meshes")
    if isinstance(arrays, str):
        entry.fail(f"extensions.{EXTENSION}", f"expected a Draco mesh, got one that {arrays}")
    attributes, compressed = entry.object("attributes"), entry.extension(EXTENSION)
    assert attributes is not None
    assert compressed is not None
    stated = compressed.object("attributes")
    for name in () if stated is None else stated.data:
        accessor = attributes.index(name, len(document.accessors), None)
        if accessor is None:
            continue
        array = arrays.get(f"a{stated.integer(name)}")  # type: ignore[union-attr]
        if array is None:
            compressed.fail(f"attributes.{name}", "expected an attribute of the Draco mesh, got another number")
        document.put(accessor, array)
    indices = entry.index("indices", len(document.accessors), None)
    if indices is not None:
        document.put(indices, arrays["faces"].reshape(-1, 1))
    return True


def _has_data(document: Document, entry: Json) -> bool:
    """Return whether the primitive is stored uncompressed too."""
    attributes = entry.object("attributes")
    position = None if attributes is None else attributes.index("POSITION", len(document.accessors), None)
    return position is not None and "bufferView" in document.accessors[position].data


def _decode_all(document: Document) -> dict[str, dict[str, NDArray] | str]:
    """Decode every compressed primitive of a file in a child process."""
    places, streams = [], []
    for mesh in document.top.objects("meshes"):
        for primitive in mesh.objects("primitives"):
            compressed = primitive.extension(EXTENSION)
            if compressed is not None and len(places) < MAX_PRIMITIVES:
                places.append(primitive.where)
                streams.append(bytes(document.view_bytes(compressed.index("bufferView", len(document.views)))[0]))
    size = sum(map(len, streams))
    memory = IMPORT_BYTES + isolation.MEMORY + isolation.MEMORY_FACTOR * size
    seconds = SECONDS + SECONDS_PER_MEGABYTE * (size >> 20)
    request = json.dumps({"path": sys.path, "memory": memory, "seconds": seconds})
    body = b"".join(struct.pack("<Q", len(stream)) + stream for stream in streams)
    command = [isolation.interpreter("Draco"), "-I", "-S", str(CHILD), request]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = isolation.run(
        command, document.path, seconds, input=body, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    if done.returncode:
        isolation.fail(document.path, done.returncode, seconds)
    return dict(zip(places, _read_answer(done.stdout, document.path), strict=False))


def _read_answer(data: bytes, path: Path) -> list[dict[str, NDArray] | str]:
    """Return the arrays of each primitive, or what was wrong with it."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as answer:
            out: list[dict[str, NDArray] | str] = []
            for number, reason in enumerate(answer["reasons"].tolist()):
                start = f"{number}."
                arrays = {key.removeprefix(start): answer[key] for key in answer.files if key.startswith(start)}
                out.append(reason or arrays)
            return out
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise FormatError("the Draco reader gave an incomplete answer", path=path) from error
