"""Collada materials, effects and images as glTF materials."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote
from xml.etree.ElementTree import Element

import numpy as np

from footplant.errors import FormatError
from footplant.io.collada.document import ColladaDocument
from footplant.io.gltf.pack import Packer
from footplant.io.pictures import as_shared

SHADINGS = ("phong", "blinn", "lambert", "constant")
MAX_PICTURE_BYTES = 256 << 20


class LooksReader:
    """Adds the materials of a file to a glTF document, once each."""

    def __init__(self, document: ColladaDocument, packer: Packer, packed: Mapping[str, bytes]) -> None:
        """packed: the files of an archive (.zae) by name; without one, pictures lie beside the file."""
        self.document, self.packer, self.packed = document, packer, packed
        self.materials: dict[str, int] = {}
        self.textures: dict[str, int | None] = {}

    def bound(self, instance: Element) -> dict[str, int]:
        """Return symbol → material of an instance of a geometry or a controller."""
        out: dict[str, int] = {}
        for entry in instance.findall("bind_material/technique_common/instance_material"):
            symbol, target = entry.get("symbol", ""), entry.get("target", "").removeprefix("#")
            if target in self.document.by_id:
                out[symbol] = self.material(target)
        return out

    def material(self, name: str) -> int:
        """Return the number of a <material> of the file."""
        if name not in self.materials:
            self.materials[name] = self.packer.append("materials", self._material(name))
        return self.materials[name]

    def _material(self, name: str) -> dict[str, Any]:
        document = self.document
        element = document.by_id[name]
        surface: dict[str, Any] = {"metallicFactor": 0.0, "roughnessFactor": 0.9}
        out = {"name": element.get("name") or name, "pbrMetallicRoughness": surface, "doubleSided": True}
        instance = element.find("instance_effect")
        effect = None if instance is None else document.by_id.get(instance.get("url", "").removeprefix("#"))
        profile = None if effect is None else effect.find("profile_COMMON")
        technique = None if profile is None else profile.find("technique")
        shading = None if technique is None else next((e for e in technique if e.tag in SHADINGS), None)
        if profile is None or shading is None:
            return out
        holder = shading.find("diffuse")
        if holder is None:
            holder = shading.find("emission")
        texture = None if holder is None else holder.find("texture")
        color = None if holder is None else holder.find("color")
        if texture is not None:
            number = self._texture(profile, texture.get("texture", ""))
            if number is not None:
                surface["baseColorTexture"] = {"index": number}
        elif color is not None:
            values = np.clip(document.numbers(color), 0.0, 1.0).tolist()
            if len(values) in (3, 4):
                surface["baseColorFactor"] = [*values, 1.0][:4]
        return out

    def _texture(self, profile: Element, name: str) -> int | None:
        """Return the texture of a sampler's name; None if its picture cannot be read."""
        parameters = {entry.get("sid"): entry for entry in profile.findall("newparam")}
        for tag in ("sampler2D/source", "surface/init_from"):
            entry = parameters.get(name)
            found = None if entry is None else entry.find(tag)
            if found is not None and found.text:
                name = found.text.strip()
        entry = parameters.get(name)
        image = None if entry is None else entry.find("sampler2D/instance_image")
        if image is not None:
            name = image.get("url", "").removeprefix("#")
        if name not in self.textures:
            self.textures[name] = self._add_picture(name)
        return self.textures[name]

    def _add_picture(self, name: str) -> int | None:
        document = self.document
        element = document.by_id.get(name)
        place = None if element is None or element.tag != "image" else element.find("init_from")
        inner = None if place is None else place.find("ref")
        text = (place.text or "").strip() if place is not None and inner is None else ""
        text = (inner.text or "").strip() if inner is not None else text
        data = self._read_picture(text) if text else b""
        shared = as_shared(data)
        if shared is None:
            why = "it is not beside the file" if not data else "PNG, JPEG, Targa and bitmap pictures are kept"
            document.notes.append(f"the texture {text[-80:] or name!r} was not read: {why}")
            return None
        mime, data = shared
        uri = f"data:{mime};base64,{base64.b64encode(data).decode('ascii')}"
        image = self.packer.append("images", {"name": name, "mimeType": mime, "uri": uri})
        return self.packer.append("textures", {"source": image})

    def _read_picture(self, uri: str) -> bytes:
        """Return the bytes of a picture in the file's folder or archive; nothing without it."""
        name = unquote(uri.removeprefix("file://")).replace("\\", "/").removeprefix("./")
        if self.packed:
            base = name.rpartition("/")[2]
            return self.packed.get(name) or next((d for n, d in self.packed.items() if n.endswith("/" + base)), b"")
        folder = self.document.path.parent
        for candidate in (name, name.rpartition("/")[2]):
            try:
                target = (folder / candidate).resolve()
                if (
                    target.is_relative_to(folder.resolve())
                    and target.is_file()
                    and target.stat().st_size <= MAX_PICTURE_BYTES
                ):
                    return target.read_bytes()
            except (OSError, ValueError, FormatError):
                continue
        return b""
