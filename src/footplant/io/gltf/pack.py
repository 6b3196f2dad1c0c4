"""Build a glTF document: append arrays to its JSON, and write one .glb or one self-contained .gltf file."""

from __future__ import annotations

import base64
import copy
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.atomic import write_atomic
from footplant.errors import FormatError
from footplant.io.gltf.document import BIN_CHUNK, JSON_CHUNK, MAGIC, Document

_COMPONENT_TYPES = {"f4": 5126, "u1": 5121, "u2": 5123, "u4": 5125}
_MIME_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}
VERTEX_DATA, VERTEX_INDICES = 34962, 34963
"""Buffer view targets: hints to the graphics driver."""


@dataclass(frozen=True, eq=False)
class DocumentState:
    """A snapshot of a new document, from which others can continue."""

    json: dict[str, Any]
    tail: bytes


class Packer:
    """A document under construction: the JSON of a file (or a new one) and the bytes appended to its buffer."""

    def __init__(self, path: str | Path, document: Document | None = None) -> None:
        """Start from a copy of a document's JSON, or from an empty document."""
        self.path = Path(path)
        self.document = document
        if document is not None:
            for key in ("accessors", "animations", "bufferViews", "images"):
                document.top.objects(key)
        self.json: dict[str, Any] = {} if document is None else copy.deepcopy(document.json)
        self.binary = self.path.suffix.lower() != ".gltf"
        """True to write a GLB; False to write JSON with embedded buffers."""
        self.tail = bytearray()
        first = document.buffers[0] if document is not None and document.buffers else None
        if (
            document is not None
            and first is not None
            and document.bin is not None
            and "uri" not in _buffers(self.json)[0]
        ):
            first = document.bin
        self.head = bytes(first) if self.binary and first is not None else b""
        """Bytes of the original first buffer, which a GLB keeps in front of all new data."""
        self.head += bytes(-len(self.head) % 4)
        self.buffer = 0 if self.head or not _buffers(self.json) else len(_buffers(self.json))
        """Index of the buffer that new arrays are appended to."""

    @property
    def state(self) -> DocumentState:
        """A snapshot of a new document."""
        return DocumentState(_with_own_lists(self.json), bytes(self.tail))

    def restore(self, state: DocumentState) -> None:
        """Continue a new document from a snapshot."""
        self.json, self.tail = _with_own_lists(state.json), bytearray(state.tail)

    def add(self, array: NDArray, kind: str, *, target: int | None = None, bounds: bool = False) -> int:
        """Append an array (n, width) and return its accessor index; `bounds` writes its minimum and maximum."""
        self.tail += bytes(-len(self.tail) % 4)
        content = np.ascontiguousarray(array)
        view: dict[str, Any] = {
            "buffer": self.buffer,
            "byteOffset": len(self.head) + len(self.tail),
            "byteLength": content.nbytes,
        }
        if target is not None:
            view["target"] = target
        self.tail += content.tobytes()
        accessor: dict[str, Any] = {
            "bufferView": _append(self.json, "bufferViews", view),
            "componentType": _COMPONENT_TYPES[content.dtype.str[1:]],
            "count": len(content),
            "type": kind,
        }
        if bounds:
            flat = content.reshape(len(content), -1)
            accessor["min"] = [value.item() for value in flat.min(axis=0)]
            accessor["max"] = [value.item() for value in flat.max(axis=0)]
        return _append(self.json, "accessors", accessor)

    def add_bytes(self, data: bytes) -> int:
        """Append bytes, such as a picture's, and return their buffer view."""
        self.tail += bytes(-len(self.tail) % 4)
        view = {"buffer": self.buffer, "byteOffset": len(self.head) + len(self.tail), "byteLength": len(data)}
        self.tail += data
        return _append(self.json, "bufferViews", view)

    def append(self, key: str, value: dict[str, Any]) -> int:
        """Append to one of the document's lists and return the index."""
        return _append(self.json, key, value)

    def extend(self, extensions: dict[str, Any]) -> None:
        """Add document-level extensions, by name."""
        used = self.json.setdefault("extensionsUsed", [])
        used += [name for name in extensions if name not in used]
        self.json["extensions"] = {**(self.json.get("extensions") or {}), **extensions}

    def write(self) -> None:
        """Write the file atomically."""
        write_atomic(self.path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the bytes of the file."""
        chunks = [] if self.document is None else self.document.chunks
        self._place_buffers()
        self._place_images()
        if not self.binary:
            return _encode(self.json, indent=2) + b"\n"
        out = [(JSON_CHUNK, _encode(self.json), b" ")]
        content = self.head + bytes(self.tail)
        if content:
            out.append((BIN_CHUNK, content, b"\0"))
        # a GLB may contain vendor-specific chunks after the first two
        extra = [chunk for number, chunk in enumerate(chunks) if number and chunk[0] not in (JSON_CHUNK, BIN_CHUNK)]
        out += [(kind, bytes(data), b"\0") for kind, data in extra]
        body = b""
        for kind, data, filler in out:
            data += filler * (-len(data) % 4)
            body += struct.pack("<II", len(data), kind) + data
        if 12 + len(body) >= 1 << 32:
            raise FormatError(f"expected less than 4 GiB for a GLB, got {len(body)} bytes", path=self.path)
        return MAGIC + struct.pack("<II", 2, 12 + len(body)) + body

    def _place_buffers(self) -> None:
        """Set every buffer's location: in the GLB, unchanged, or embedded as a data URI."""
        buffers = self.json.setdefault("buffers", []) if self.tail or self.head else _buffers(self.json)
        for number, entry in enumerate(buffers):
            if self.document is None or (number == 0 and self.head):
                continue
            content = self.document.buffers[number]
            if content is not None and ("uri" not in entry or self.is_unreachable(entry["uri"])):
                entry["uri"] = _data_uri(bytes(content), "application/octet-stream")
        if not (self.tail or self.head):
            return
        if self.buffer == len(buffers):
            buffers.append({})
        entry = buffers[self.buffer]
        if self.binary and self.buffer == 0:
            entry.pop("uri", None)
            entry["byteLength"] = len(self.head) + len(self.tail) if self.tail else entry["byteLength"]
        else:
            entry["byteLength"] = len(self.tail)
            entry["uri"] = _data_uri(bytes(self.tail), "application/octet-stream")

    def _place_images(self) -> None:
        """Embed images that lie beside the source file if the new file is written to another folder."""
        if self.document is None:
            return
        for number, image in enumerate(self.json.get("images") or []):
            uri = image.get("uri")
            if not isinstance(uri, str) or not self.is_unreachable(uri):
                continue
            try:
                content = self.document.read_uri(uri, f"images[{number}].uri")
            except FormatError:
                continue
            mime = _MIME_TYPES.get(Path(uri).suffix.lower())
            if mime:
                image["uri"] = _data_uri(content, mime)

    def is_unreachable(self, uri: str) -> bool:
        """Return whether a relative reference would not resolve from the new file's folder."""
        assert self.document is not None
        return uri[:5].lower() != "data:" and self.path.parent.resolve() != self.document.path.parent.resolve()


def _with_own_lists(document: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of the document with its own top-level lists; their entries are shared."""
    return {key: list(value) if isinstance(value, list) else value for key, value in document.items()}


def _append(document: dict[str, Any], key: str, value: dict[str, Any]) -> int:
    items = document.setdefault(key, [])
    items.append(value)
    return len(items) - 1


def _buffers(document: dict[str, Any]) -> list[dict[str, Any]]:
    return document.get("buffers") or []


def _data_uri(content: bytes, mime: str) -> str:
    return f"data:{mime};base64,{base64.b64encode(content).decode('ascii')}"


def _encode(document: dict[str, Any], indent: int | None = None) -> bytes:
    separators = (",", ":") if indent is None else None
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        # a lone surrogate in a name is legal JSON only if escaped
        return json.dumps(document, allow_nan=False, indent=indent, separators=separators).encode("ascii")
