"""The glTF 2.0 container: GLB chunks, type-checked JSON, buffers and accessors.

This layer knows nothing of skeletons. Every fault in the file raises one `FormatError` that names the JSON path.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import struct
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote, unquote_to_bytes

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError
from footplant.io.gltf import meshopt, version1
from footplant.io.json import REQUIRED, Json, describe, read_json

MAGIC = b"glTF"
JSON_CHUNK, BIN_CHUNK = 0x4E4F534A, 0x004E4942
COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
"""componentType → NumPy dtype."""
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
"""Accessor type → number of components. MAT2 and MAT3 occur nowhere in what is read here."""
MEMORY_FACTOR = 10
"""Upper bound on implicit arrays (accessors of zeros without data), as a multiple of the file's size …"""
MEMORY_FLOOR = 1 << 20
"""… but never below this many bytes, so that small files may have small arrays of zeros."""
DECODED_BYTES = 1 << 26
"""Views that are compressed with meshopt may decode to this many bytes in all, or to MEMORY_FACTOR times the file."""
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]*:")


class Document:
    """A glTF file in memory: its JSON unchanged, its buffers, and accessors as arrays."""

    def __init__(self, path: str | Path, data: bytes) -> None:
        """Parse a whole .glb or .gltf file; external buffers are read from the folder of `path`."""
        self.path = Path(path)
        self.data = data
        """The file's bytes."""
        self.notes: list[str] = []
        """Oddities of the container and how they were handled."""
        self.binary = data[:4] == MAGIC or self.path.suffix.lower() in (".glb", ".vrm", ".vrma")
        """True for a GLB container, False for JSON text."""
        self.chunks: list[tuple[int, memoryview]] = self._chunks() if self.binary else [(JSON_CHUNK, memoryview(data))]
        """(type, bytes) of every chunk of a GLB; for JSON text, the text alone."""
        self.bin = next((content for kind, content in self.chunks[1:] if kind == BIN_CHUNK), None)
        """The binary chunk of a GLB, or None."""
        self.json: dict[str, Any] = read_json(self.chunks[0][1], self.path, self.notes)
        """The JSON as Python values; never modified."""
        self.upgraded = version1.is_version1(self.json)
        """Whether the file is glTF 1.0; then the JSON is what it says in 2.0."""
        if self.upgraded:
            body = self.bin
            self.json = version1.upgrade(self.json, self.path, body, lambda text: self._reader(text, body), self.notes)
        self.top = Json(self.json, "", self.path)
        self._check_version()
        self.buffers = [self._read_buffer(number, entry) for number, entry in enumerate(self.top.objects("buffers"))]
        """Each buffer's bytes; None for a buffer without data: it stands for what compressed views decode to."""
        self.size = len(data) + sum(len(b) for b in self.buffers if b is not None and b is not self.bin)
        """Bytes of the file and its external buffers; memory limits scale with it."""
        self._cache: dict[int, NDArray] = {}
        self._decoded: dict[int, bytes] = {}

    def _reader(self, document: dict[str, Any], body: memoryview | None) -> Document:
        """Return a document of a JSON and of this file's binary part."""
        text = json.dumps(document).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<II", len(text), JSON_CHUNK) + text
        if body is not None:
            padded = bytes(body) + bytes(-len(body) % 4)
            chunks += struct.pack("<II", len(padded), BIN_CHUNK) + padded
        return Document(self.path, MAGIC + struct.pack("<II", 2, 12 + len(chunks)) + chunks)

    def _fail(self, where: str | None, message: str) -> NoReturn:
        raise FormatError(message, path=self.path, where=where)

    def _chunks(self) -> list[tuple[int, memoryview]]:
        data = self.data
        if len(data) < 12:
            self._fail("header", f"expected a GLB header of 12 bytes, got a file of {len(data)}")
        magic, version, length = struct.unpack_from("<4sII", data)
        if magic != MAGIC:
            self._fail("header", f"expected a GLB file (it starts with {MAGIC!r}), got {magic!r}")
        if version not in (1, 2):
            self._fail("header", f"expected GLB version 2 or 1, got {version}")
        if length > len(data):
            self._fail("header", f"expected {length} bytes, got a file of {len(data)}")
        if length < len(data) and version == 2:
            self.notes.append(f"{len(data) - length} bytes after the end of the GLB were ignored")
        if version == 1:
            return self._chunks_of_version1(length)
        view, place, found = memoryview(data), 12, []
        while place < length:
            if place + 8 > length:
                self._fail(f"byte {place}", "expected a chunk header of 8 bytes, got the end of the file")
            size, kind = struct.unpack_from("<II", data, place)
            if place + 8 + size > length:
                self._fail(f"byte {place}", f"expected a chunk of {size} bytes, got {length - place - 8}")
            if not found and kind != JSON_CHUNK:
                self._fail(f"byte {place}", f"expected the JSON chunk first, got a chunk of type {kind:#x}")
            found.append((kind, view[place + 8 : place + 8 + size]))
            place += 8 + size
        if not found:
            self._fail("header", "expected a JSON chunk, got none")
        return found

    def _chunks_of_version1(self, length: int) -> list[tuple[int, memoryview]]:
        """Return the JSON and what follows it of a GLB of version 1 (KHR_binary_glTF)."""
        view = memoryview(self.data)
        if length < 20:
            self._fail("header", f"expected a header of 20 bytes, got {length}")
        size, kind = struct.unpack_from("<II", self.data, 12)
        if kind != 0 or 20 + size > length:
            self._fail("header", f"expected JSON of {size} bytes, got {length - 20} bytes of kind {kind}")
        # the length that exporters state leaves out the padding before the body
        start = 20 + size + -size % 4
        body = [(BIN_CHUNK, view[start:])] if start < len(view) else []
        return [(JSON_CHUNK, view[20 : 20 + size]), *body]

    def _check_version(self) -> None:
        asset = self.top.object("asset")
        if asset is None:
            self._fail("asset", "expected the object that states the glTF version, got nothing")
        for key in ("version", "minVersion"):
            version = asset.text(key, "2.0" if key == "minVersion" else REQUIRED)
            if not re.fullmatch(r"2\.[0-9]+", version) or (key == "minVersion" and version != "2.0"):
                asset.fail(key, f"expected glTF version 2.0 or 1.0, got {version!r}")

    def _read_buffer(self, number: int, entry: Json) -> memoryview | None:
        size = entry.integer("byteLength", low=1)
        uri = entry.text("uri", None)
        if uri is None:
            if number == 0 and self.bin is not None:
                content = self.bin
            elif meshopt.stated(entry) is not None:
                return None
            else:
                entry.fail("uri", "expected the place of the buffer's bytes, got nothing")
        else:
            content = memoryview(self.read_uri(uri, entry.place("uri"), size))
        if len(content) < size:
            entry.fail("byteLength", f"expected {size} bytes, got {len(content)}")
        return content[:size]

    def read_uri(self, uri: str, where: str, limit: int | None = None) -> bytes:
        """Return the bytes behind a URI: embedded, or from a file in this file's folder (at most `limit` bytes)."""
        if uri[:5].lower() == "data:":
            head, comma, body = uri.partition(",")
            if not comma:
                self._fail(where, "expected a comma in the data URI, got none")
            try:
                return base64.b64decode(body, validate=True) if head.endswith(";base64") else unquote_to_bytes(body)
            except (binascii.Error, ValueError):
                self._fail(where, "expected base64 in the data URI, got other characters")
        if _SCHEME.match(uri):
            self._fail(where, f"expected a file beside this one, got {describe(uri)}; nothing is downloaded")
        try:
            folder = self.path.parent.resolve()
            target = (folder / unquote(uri)).resolve()
            if not target.is_relative_to(folder):
                self._fail(where, f"expected a file inside the folder of this one, got {describe(uri)}")
            if not target.is_file():
                self._fail(where, f"expected a file beside this one, got {describe(uri)}, which is not there")
            with open(target, "rb") as file:
                return file.read(-1 if limit is None else min(limit, os.fstat(file.fileno()).st_size))
        except (OSError, ValueError, RuntimeError) as error:
            self._fail(where, f"cannot read {describe(uri)}: {getattr(error, 'strerror', None) or error}")

    @cached_property
    def accessors(self) -> list[Json]:
        """The JSON objects of all accessors."""
        return self.top.objects("accessors")

    @cached_property
    def views(self) -> list[Json]:
        """The JSON objects of all buffer views."""
        return self.top.objects("bufferViews")

    @cached_property
    def skins(self) -> list[Json]:
        """The JSON objects of all skins."""
        return self.top.objects("skins")

    def view_bytes(self, number: int) -> tuple[memoryview, int | None]:
        """Return a buffer view's bytes and its stride (None if the elements are tightly packed)."""
        view = self.views[number]
        stride = view.integer("byteStride", None, low=1, high=255)
        compressed = meshopt.stated(view)
        if compressed is None:
            return self._slice(view), stride
        if number not in self._decoded:
            left = max(DECODED_BYTES, MEMORY_FACTOR * self.size) - sum(map(len, self._decoded.values()))
            self._decoded[number] = meshopt.decode(compressed, self._slice(compressed), left)
        return memoryview(self._decoded[number]), stride

    def _slice(self, place: Json) -> memoryview:
        """Return the bytes that an object names by buffer, byteOffset and byteLength."""
        buffer = self.buffers[place.index("buffer", len(self.buffers))]
        offset = place.integer("byteOffset", 0)
        size = place.integer("byteLength", low=1)
        if buffer is None:
            place.fail("buffer", "expected a buffer with data, got one that only stands for compressed data")
        if offset + size > len(buffer):
            place.fail("byteLength", f"expected at most {len(buffer) - offset} bytes after the offset, got {size}")
        return buffer[offset : offset + size]

    def put(self, number: int, array: NDArray) -> None:
        """Give an accessor the elements (count, width) that were decoded for it, in its stored type."""
        entry = self.accessors[number]
        width, dtype = WIDTHS.get(entry.text("type"), 0), COMPONENTS.get(entry.integer("componentType"))
        count = entry.integer("count", low=1)
        if dtype is None or array.shape != (count, width):
            entry.fail("count", f"expected {count} elements of {width} numbers, got compressed ones of {array.shape}")
        with np.errstate(all="ignore"):
            stored = array.astype(dtype)
        if stored.dtype.kind == "f" and not np.isfinite(stored).all():
            entry.fail("count", "expected finite numbers, got NaN or infinity in compressed data")
        self._cache[number] = stored

    def count(self, number: int) -> int:
        """Return the number of elements of an accessor."""
        return self.accessors[number].integer("count", low=1)

    def array(self, number: int, types: Sequence[str], *, floats: bool | None = None) -> NDArray:
        """Return an accessor's elements (count, width) in their stored type, as a read-only view if possible.

        types: the accessor types that are valid here. floats: True (False) if only floats (integers) are valid.
        """
        entry = self.accessors[number]
        kind, component = entry.text("type"), entry.integer("componentType")
        if kind not in types or kind not in WIDTHS:
            entry.fail("type", f"expected {' or '.join(types)}, got {describe(kind)}")
        if component not in COMPONENTS or floats == (component != 5126):
            wanted = {None: "a component type", True: "floats (5126)", False: "whole numbers"}[floats]
            entry.fail("componentType", f"expected {wanted}, got {component}")
        if number not in self._cache:
            array = self._decode(entry, np.dtype(COMPONENTS[component]), WIDTHS[kind])
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                row = int(np.argwhere(~np.isfinite(array))[0][0])
                raise FormatError(
                    f"expected finite numbers, got NaN or infinity in element {row}", path=self.path, where=entry.where
                )
            self._cache[number] = array
        return self._cache[number]

    def _decode(self, entry: Json, dtype: np.dtype, width: int) -> NDArray:
        """Return an accessor's elements (count, width): buffer data or zeros, with sparse values applied."""
        count = entry.integer("count", low=1)
        view = entry.index("bufferView", len(self.views), None)
        sparse = entry.object("sparse")
        if view is None:
            limit = max(MEMORY_FLOOR, MEMORY_FACTOR * self.size)
            if count * width * dtype.itemsize > limit:
                entry.fail("count", f"expected at most {limit} bytes of zeros for a file of this size, got {count}")
            array = np.zeros((count, width), dtype)
        else:
            array = self._elements(entry, view, entry.integer("byteOffset", 0), count, dtype, width)
        if sparse is not None:
            array = self._overlay(array, sparse, dtype, width)
        return array

    def _elements(self, entry: Json, view: int, offset: int, count: int, dtype: np.dtype, width: int) -> NDArray:
        """Return a strided view (count, width) into a buffer view, checked against its size."""
        content, stride = self.view_bytes(view)
        size = dtype.itemsize * width
        stride = size if stride is None else stride
        if stride < size:
            self.views[view].fail("byteStride", f"expected at least {size} bytes, got {stride}")
        if offset + stride * (count - 1) + size > len(content):
            entry.fail(
                "count", f"expected at most {len(content)} bytes of bufferViews[{view}], got {count} elements of {size}"
            )
        return np.ndarray((count, width), dtype, content, offset, (stride, dtype.itemsize))

    def _overlay(self, array: NDArray, sparse: Json, dtype: np.dtype, width: int) -> NDArray:
        """Return a copy of the array with the elements of a sparse accessor replaced."""
        count = sparse.integer("count", low=1, high=len(array))
        places, values = sparse.object("indices"), sparse.object("values")
        if places is None or values is None:
            sparse.fail("indices", "expected indices and values, got nothing")
        component = places.integer("componentType")
        if component not in (5121, 5123, 5125):
            places.fail("componentType", f"expected 5121, 5123 or 5125, got {component}")
        view = places.index("bufferView", len(self.views))
        rows = self._elements(places, view, places.integer("byteOffset", 0), count, np.dtype(COMPONENTS[component]), 1)
        if rows.max() >= len(array):
            places.fail("bufferView", f"expected indices below {len(array)}, got {rows.max()}")
        view = values.index("bufferView", len(self.views))
        changed = self._elements(values, view, values.integer("byteOffset", 0), count, dtype, width)
        array = np.array(array)
        array[rows[:, 0]] = changed
        return array

    def floats(self, number: int, types: Sequence[str], rows: slice = slice(None)) -> NDArray:
        """Return an accessor's elements (or some rows) as float64 (count, width); normalised integers as ±1 or 0…1."""
        array = self.array(number, types)[rows]
        values = array.astype(np.float64)
        if array.dtype.kind != "f" and self.accessors[number].flag("normalized"):
            values /= np.iinfo(array.dtype).max
            np.maximum(values, -1.0, out=values)
        return values


def read_document(path: str | Path) -> Document:
    """Read a .glb or .gltf file, with its buffers from its own folder."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error
    return Document(path, data)
