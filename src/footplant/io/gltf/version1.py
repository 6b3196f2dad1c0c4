"""glTF 1.0 as 2.0: objects by name become lists, and what 2.0 says otherwise is said its way.

Strides move from accessors to buffer views; float joint indices become integers; a skin's bind shape matrix is
multiplied into its inverse bind matrices; joints are found by `jointName`; several meshes of a node become child nodes.
Materials keep the diffuse colour or picture: 1.0 draws with shaders of its own, which 2.0 does not have.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError
from footplant.io.json import Json, describe

BINARY = "KHR_binary_glTF"
BINARY_BUFFERS = ("binary_glTF", BINARY)
"""Names of the buffer that is the binary part of a GLB."""
SHADERS = "shaders of glTF 1.0 were not read: materials keep their diffuse colour or picture"
LISTS = (
    "accessors", "animations", "bufferViews", "buffers", "cameras", "images", "materials", "meshes", "nodes",
    "samplers", "scenes", "skins", "textures",
)  # fmt: skip
MAX_OBJECTS = 1_000_000
_SIZES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_SEMANTICS = {"JOINT": "JOINTS_0", "WEIGHT": "WEIGHTS_0", "JOINTS": "JOINTS_0", "WEIGHTS": "WEIGHTS_0"}


def is_version1(document: dict[str, Any]) -> bool:
    """Return whether the JSON is glTF 1.0: it says so, or its lists are objects by name."""
    asset = document.get("asset")
    version = asset.get("version") if isinstance(asset, dict) else None
    return str(version).startswith(("1.", "0.8")) or version == 1 or isinstance(document.get("nodes"), dict)


def upgrade(
    document: dict[str, Any], path: Path, body: memoryview | None, read: Callable[[dict[str, Any]], Reader],
    notes: list[str],
) -> dict[str, Any]:  # fmt: skip
    """Return the JSON as glTF 2.0; arrays that it adds are in a buffer of their own.

    body: the binary part of a GLB, which becomes the first buffer. read: opens the buffers of a 2.0 JSON.
    """
    return _Upgrade(document, path, body, read, notes).run()


class Reader(Protocol):
    """What reads an accessor."""

    def array(self, number: int, types: Sequence[str], *, floats: bool | None = None) -> NDArray:
        """Return an accessor's elements."""
        ...


class _Upgrade:
    """One document on its way from 1.0 to 2.0."""

    def __init__(
        self, document: dict[str, Any], path: Path, body: memoryview | None,
        read: Callable[[dict[str, Any]], Reader], notes: list[str],
    ) -> None:  # fmt: skip
        self.top, self.path, self.body, self.notes = Json(document, "", path), path, body, notes
        self.read = read
        self.ids: dict[str, dict[str, int]] = {}
        self.items: dict[str, list[tuple[str, Json]]] = {}
        for key in LISTS:
            holder = self.top.object(key)
            entries = {} if holder is None else holder.data
            if key == "buffers" and body is not None and not set(BINARY_BUFFERS) & set(entries):
                # some exporters do not list the binary part
                entries = {**entries, BINARY_BUFFERS[0]: {}}
            if len(entries) > MAX_OBJECTS:
                self.fail(key, f"expected at most {MAX_OBJECTS} objects, got {len(entries)}")
            # the binary part of a GLB is its first buffer in 2.0
            names = sorted(entries, key=lambda name: name not in BINARY_BUFFERS) if key == "buffers" else list(entries)
            self.items[key] = [(name, Json(entries[name], f"{key}.{name}", path)) for name in names]
            self.ids[key] = {name: number for number, name in enumerate(names)}
        self.out: dict[str, Any] = {"asset": {"version": "2.0", "generator": "glTF 1.0"}}
        self.views: list[dict[str, Any]] = []
        self.by_stride: dict[tuple[int, int], int] = {}
        self.added = bytearray()
        self.joints: dict[str, list[int]] = {}

    def fail(self, where: str, message: str) -> NoReturn:
        raise FormatError(message, path=self.path, where=where)

    def id(self, entry: Json, key: str, kind: str) -> int | None:
        """Return the number of the object of a kind that an entry names; None without the key."""
        value = entry.data.get(key)
        if value is None:
            return None
        return self.number(entry.place(key), value, kind)

    def number(self, where: str, value: Any, kind: str) -> int:
        """Return the number of an object by its name."""
        if not isinstance(value, str) or value not in self.ids[kind]:
            self.fail(where, f"expected the name of one of the file's {kind}, got {describe(value)}")
        return self.ids[kind][value]

    @cached_property
    def reader(self) -> Reader:
        """Reads the accessors of the file."""
        keys = ("asset", "buffers", "accessors")
        return self.read({key: self.out[key] for key in keys} | {"bufferViews": list(self.views)})

    def run(self) -> dict[str, Any]:
        """Return the upgraded JSON."""
        self.out["buffers"] = [self.buffer(name, entry) for name, entry in self.items["buffers"]]
        self.views = [self.view(entry) for _, entry in self.items["bufferViews"]]
        self.out["accessors"] = [self.accessor(entry) for _, entry in self.items["accessors"]]
        self.out["meshes"] = [self.mesh(name, entry) for name, entry in self.items["meshes"]]
        self.nodes()
        self.out["skins"] = [self.skin(name, entry) for name, entry in self.items["skins"]]
        self.out["animations"] = _merged([self.animation(name, entry) for name, entry in self.items["animations"]])
        self.looks()
        self.out["cameras"] = [dict(entry.data) for _, entry in self.items["cameras"]]
        self.out["scenes"] = [
            {"nodes": [self.number(entry.place("nodes"), node, "nodes") for node in entry.array("nodes")]}
            for _, entry in self.items["scenes"]
        ]
        scene = self.id(self.top, "scene", "scenes")
        if scene is not None:
            self.out["scene"] = scene
        self.out["bufferViews"] = self.views
        if self.added:
            self.out["buffers"].append({"byteLength": len(self.added), "uri": _data_uri(bytes(self.added))})
        return {key: value for key, value in self.out.items() if value or key == "scene"}

    def buffer(self, name: str, entry: Json) -> dict[str, Any]:
        if name in BINARY_BUFFERS and self.body is not None:
            return {"byteLength": len(self.body)}
        uri = entry.text("uri")
        size = entry.integer("byteLength", None, low=1)
        return {"uri": uri, "byteLength": size or _uri_size(uri, self.path)}

    def view(self, entry: Json) -> dict[str, Any]:
        buffer = self.id(entry, "buffer", "buffers")
        if buffer is None:
            entry.fail("buffer", "expected the name of a buffer, got nothing")
        offset = entry.integer("byteOffset", 0)
        size = entry.integer("byteLength", None, low=0)
        view: dict[str, Any] = {"buffer": buffer, "byteOffset": offset}
        view["byteLength"] = size or self.out["buffers"][buffer]["byteLength"] - offset
        target = entry.integer("target", None)
        return view | ({} if target is None else {"target": target})

    def accessor(self, entry: Json) -> dict[str, Any]:
        keys = ("byteOffset", "componentType", "count", "type", "min", "max")
        out = {key: entry.data[key] for key in keys if key in entry.data}
        view = self.id(entry, "bufferView", "bufferViews")
        if view is None:
            return out
        stride = entry.integer("byteStride", 0, high=255)
        size = _SIZES.get(entry.integer("componentType"), 0) * _WIDTHS.get(entry.text("type"), 0)
        if stride in (0, size):
            return out | {"bufferView": view}
        if (view, stride) not in self.by_stride:
            self.by_stride[view, stride] = len(self.views)
            self.views.append(self.views[view] | {"byteStride": stride})
        return out | {"bufferView": self.by_stride[view, stride]}

    def mesh(self, name: str, entry: Json) -> dict[str, Any]:
        primitives = []
        for primitive in entry.objects("primitives"):
            attributes = primitive.object("attributes")
            found = {}
            for key in () if attributes is None else attributes.data:
                number = self.id(attributes, key, "accessors")  # type: ignore[arg-type]
                found[_SEMANTICS.get(key, f"{key}_0" if key in ("TEXCOORD", "COLOR") else key)] = number
            out: dict[str, Any] = {"attributes": found, "mode": primitive.integer("mode", None)}
            if out["mode"] is None:
                out["mode"] = primitive.integer("primitive", 4)
            for key, kind in (("indices", "accessors"), ("material", "materials")):
                number = self.id(primitive, key, kind)
                if number is not None:
                    out[key] = number
            primitives.append(out)
            joints = found.get("JOINTS_0")
            if joints is not None:
                found["JOINTS_0"] = self.integers(joints)
        return {"name": entry.text("name", "") or name, "primitives": primitives}

    def integers(self, number: int) -> int:
        """Return an accessor of joint indices as integers: 1.0 allows floats."""
        if self.out["accessors"][number].get("componentType") != 5126:
            return number
        values = self.reader.array(number, ("VEC4",), floats=True)
        if values.min() < 0 or values.max() > 65535:
            self.fail(f"accessors[{number}]", "expected joint indices, got other numbers")
        return self.add(np.round(values).astype("<u2"), 5123, "VEC4")

    def add(self, array, component: int, kind: str) -> int:
        """Append an array and return its accessor."""
        self.added += bytes(-len(self.added) % 4)
        view = {"buffer": len(self.items["buffers"]), "byteOffset": len(self.added), "byteLength": array.nbytes}
        self.added += np.ascontiguousarray(array).tobytes()
        self.views.append(view)
        entry = {"bufferView": len(self.views) - 1, "componentType": component, "count": len(array), "type": kind}
        self.out["accessors"].append(entry)
        return len(self.out["accessors"]) - 1

    def nodes(self) -> None:
        nodes: list[dict[str, Any]] = []
        extra: list[dict[str, Any]] = []
        count = len(self.items["nodes"])
        for name, entry in self.items["nodes"]:
            out: dict[str, Any] = {"name": entry.text("name", "") or name}
            for key in ("matrix", "translation", "rotation", "scale"):
                if key in entry.data:
                    out[key] = entry.data[key]
            if "matrix" in out:
                out = {key: value for key, value in out.items() if key not in ("translation", "rotation", "scale")}
            children = [
                self.number(entry.place("children"), child, "nodes")
                for child in (entry.array("children") if "children" in entry.data else ())
            ]
            joint = entry.text("jointName", None)
            if joint is not None:
                self.joints.setdefault(joint, []).append(len(nodes))
            camera = self.id(entry, "camera", "cameras")
            if camera is not None:
                out["camera"] = camera
            holder = entry.object("instanceSkin") or entry
            skin = self.id(holder, "skin", "skins")
            meshes = [
                self.number(holder.place("meshes"), mesh, "meshes")
                for mesh in (holder.array("meshes") if "meshes" in holder.data else ())
            ]
            shown = [{"mesh": mesh} | ({} if skin is None else {"skin": skin}) for mesh in meshes]
            if len(shown) == 1:
                out |= shown[0]
            else:
                for number, mesh in enumerate(shown):
                    children.append(count + len(extra))
                    extra.append({"name": f"{out['name']}_{number}", **mesh})
            if children:
                out["children"] = children
            nodes.append(out)
        self.out["nodes"] = nodes + extra

    def skin(self, name: str, entry: Json) -> dict[str, Any]:
        joints = []
        for joint in entry.array("jointNames"):
            found = self.joints.get(joint, []) if isinstance(joint, str) else []
            if not found and isinstance(joint, str) and joint in self.ids["nodes"]:
                found = [self.ids["nodes"][joint]]
            if not found:
                entry.fail("jointNames", f"expected the jointName of a node, got {describe(joint)}")
            joints.append(found[0])
        out: dict[str, Any] = {"name": entry.text("name", "") or name, "joints": joints}
        bind = self.id(entry, "inverseBindMatrices", "accessors")
        shape = entry.numbers("bindShapeMatrix", 16)
        if bind is not None and shape is not None and not np.array_equal(shape, np.eye(4).reshape(-1)):
            bind = self.folded(bind, np.array(shape).reshape(4, 4))
        elif bind is None and shape is not None:
            bind = self.add(np.tile(np.array(shape, "<f4"), (len(joints), 1)), 5126, "MAT4")
        return out | ({} if bind is None else {"inverseBindMatrices": bind})

    def folded(self, number: int, shape) -> int:
        """Return an accessor of bind matrices with the bind shape matrix, transposed as stored, multiplied in."""
        matrices = self.reader.array(number, ("MAT4",), floats=True).astype(float).reshape(-1, 4, 4)
        # stored column by column: (B·S)ᵀ = Sᵀ·Bᵀ
        with np.errstate(all="ignore"):
            product = (shape @ matrices).reshape(-1, 16).astype("<f4")
        return self.add(product, 5126, "MAT4")

    def animation(self, name: str, entry: Json) -> dict[str, Any]:
        parameters, listed = entry.object("parameters"), entry.object("samplers")
        names = {} if listed is None else {key: number for number, key in enumerate(listed.data)}

        def accessor(sampler: Json, key: str) -> int:
            value = sampler.text(key)
            holder = parameters if parameters is not None and value in parameters.data else None
            return self.number(sampler.place(key), value if holder is None else holder.data[value], "accessors")

        samplers = [
            {
                "input": accessor(sampler, "input"), "output": accessor(sampler, "output"),
                "interpolation": sampler.text("interpolation", "LINEAR"),
            }
            for sampler in (Json(listed.data[key], listed.place(key), self.path) for key in names)  # type: ignore[union-attr]
        ]  # fmt: skip
        channels = []
        for channel in entry.objects("channels"):
            target, sampler = channel.object("target"), channel.text("sampler")
            node = None if target is None else self.id(target, "id", "nodes")
            if node is None or sampler not in names:
                channel.fail("sampler", f"expected a sampler of the animation and a node, got {describe(sampler)}")
            assert target is not None
            channels.append({"sampler": names[sampler], "target": {"node": node, "path": target.text("path")}})
        return {"name": entry.text("name", "") or name, "channels": channels, "samplers": samplers}

    def looks(self) -> None:
        """Add images, textures, samplers and materials."""
        self.out["samplers"] = [dict(entry.data) for _, entry in self.items["samplers"]]
        for sampler in self.out["samplers"]:
            sampler.pop("name", None)
        self.out["images"] = [self.image(name, entry) for name, entry in self.items["images"]]
        textures = []
        for _, entry in self.items["textures"]:
            found = {"source": self.id(entry, "source", "images"), "sampler": self.id(entry, "sampler", "samplers")}
            textures.append({key: value for key, value in found.items() if value is not None})
        self.out["textures"] = textures
        self.out["materials"] = [self.material(name, entry) for name, entry in self.items["materials"]]
        if self.out["materials"]:
            self.notes.append(SHADERS)

    def image(self, name: str, entry: Json) -> dict[str, Any]:
        binary = entry.extension(BINARY)
        if binary is not None:
            view = self.id(binary, "bufferView", "bufferViews")
            if view is not None:
                return {"name": name, "bufferView": view, "mimeType": binary.text("mimeType", "image/png")}
        return {"name": name, "uri": entry.text("uri", "")}

    def material(self, name: str, entry: Json) -> dict[str, Any]:
        values = next((found for holder in _holders(entry) if (found := holder.object("values")) is not None), None)
        surface: dict[str, Any] = {"metallicFactor": 0.0, "roughnessFactor": 0.9}
        diffuse = None if values is None else values.data.get("diffuse", values.data.get("color"))
        if isinstance(diffuse, str) and diffuse in self.ids["textures"]:
            surface["baseColorTexture"] = {"index": self.ids["textures"][diffuse]}
        elif isinstance(diffuse, list) and len(diffuse) in (3, 4):
            numbers = [min(max(float(c), 0.0), 1.0) for c in diffuse if isinstance(c, int | float)]
            if len(numbers) == len(diffuse):
                surface["baseColorFactor"] = (numbers + [1.0])[:4]
        return {"name": entry.text("name", "") or name, "pbrMetallicRoughness": surface}


def _merged(animations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return animations that move different nodes as one: exporters of 1.0 wrote one for each node of a take."""
    targets = [{(c["target"]["node"], c["target"]["path"]) for c in animation["channels"]} for animation in animations]
    if len(animations) < 2 or len(set().union(*targets)) < sum(map(len, targets)):
        return animations
    out: dict[str, Any] = {"name": animations[0]["name"], "channels": [], "samplers": []}
    for animation in animations:
        start = len(out["samplers"])
        out["samplers"] += animation["samplers"]
        out["channels"] += [{**channel, "sampler": channel["sampler"] + start} for channel in animation["channels"]]
    return [out]


def _holders(entry: Json) -> Iterator[Json]:
    """Yield where the values of a material may stand."""
    yield entry
    for found in (entry.extension("KHR_materials_common"), entry.object("instanceTechnique")):
        if found is not None:
            yield found


def _uri_size(uri: str, path: Path) -> int:
    """Return the number of bytes behind a URI whose length is not stated; 1 if unknown."""
    if uri[:5].lower() == "data:":
        return max(len(uri.partition(",")[2]) * 3 // 4 - 2, 1)
    try:
        return max((path.parent / uri).stat().st_size, 1)
    except (OSError, ValueError):
        return 1


def _data_uri(data: bytes) -> str:
    return f"data:application/octet-stream;base64,{base64.b64encode(data).decode('ascii')}"
