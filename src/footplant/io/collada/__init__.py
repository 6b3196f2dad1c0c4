"""Collada files, .dae and .zae: skeletons, skins, animations and looks, read by way of glTF.

A file is translated to a glTF document in memory, in metres and y up, which the glTF reader turns into characters. So a
character from Collada can be written to GLB and VRM with all its meshes, materials, pictures and morph targets.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import FormatError
from footplant.io import gltf
from footplant.io.character import RawCharacter
from footplant.io.collada.animation import MAX_SAMPLES, Curve, node_matrices, read_curves
from footplant.io.collada.document import ColladaDocument
from footplant.io.collada.looks import LooksReader
from footplant.io.collada.meshes import Meshes, SkinBinding, add_mesh
from footplant.io.gltf.document import Document
from footplant.io.gltf.pack import Packer
from footplant.io.gltf.scene import split_linear

extensions = (".dae", ".zae")
holds: frozenset[str] = frozenset()
MAX_NODES = 20_000
"""Most nodes, those of instanced subtrees counted each time."""
MAX_DEPTH = 200
MAX_UNPACKED = 1 << 29
"""Most bytes that a .zae archive may unpack to."""
LIGHTS = "KHR_lights_punctual"


def load(path: str | Path) -> tuple[RawCharacter, ...]:
    """Read every character of a .dae or .zae file."""
    return gltf.read_characters(read_document(path))


def count_contents(path: str | Path) -> dict[str, int]:
    """Return what a file holds, counted: see `io.contents`."""
    return gltf.contents_of(read_document(path))


def read_document(path: str | Path) -> Document:
    """Read a file as a glTF document."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error
    return translate(data, Path(path))


def translate(data: bytes, path: Path) -> Document:
    """Return the glTF document that says what the bytes of a Collada file say."""
    packed: dict[str, bytes] = {}
    if data[:4] == b"PK\x03\x04":
        data, packed = _unpack(data, path)
    # overflow gives infinities, which the glTF reader rejects
    with np.errstate(all="ignore"):
        try:
            return _Translation(ColladaDocument(data, path), packed).run()
        except np.linalg.LinAlgError:
            raise FormatError("expected finite transforms, got an overflow", path=path) from None


def _unpack(data: bytes, path: Path) -> tuple[bytes, dict[str, bytes]]:
    """Return the .dae file of an archive and its other files by name."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if sum(entry.file_size for entry in entries) > MAX_UNPACKED:
                raise FormatError(f"expected an archive of at most {MAX_UNPACKED} bytes, got more", path=path)
            files = {entry.filename: archive.read(entry) for entry in entries}
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError) as error:
        raise FormatError(f"expected a .zae archive, got a damaged one ({error})", path=path) from error
    name = next((name for name in files if name.lower().endswith(".dae")), None)
    if name is None:
        raise FormatError("expected a .dae file in the archive, got none", path=path)
    return files.pop(name), files


@dataclass(eq=False)
class _Node:
    """A node of the scene on its way to glTF."""

    element: Element
    number: int
    top: bool
    children: list[_Node] = field(default_factory=list)


class _Translation:
    """One file on its way from Collada to glTF."""

    def __init__(self, document: ColladaDocument, packed: dict[str, bytes]) -> None:
        self.document = document
        # the extension makes it a binary document
        self.packer = Packer(document.path.with_suffix(".glb"))
        self.meshes = Meshes(document)
        self.looks = LooksReader(document, self.packer, packed)
        self.nodes: list[_Node] = []
        self.by_element: dict[int, _Node] = {}
        self.known_meshes: dict[Any, int] = {}
        self.placed: dict[int, NDArray] = {}

    def run(self) -> Document:
        """Translate everything."""
        document = self.document
        tops = [self.add_node(element, True, 0) for element in self.scene_nodes()]
        self.packer.json |= {
            "asset": {"version": "2.0", "generator": "Collada"}, "scene": 0,
            "scenes": [{"nodes": [node.number for node in tops]}],
        }  # fmt: skip
        for node in self.nodes:
            self.place(node)
        for node in list(self.nodes):
            self.fill(node, tops)
        self.animate()
        out = Document(document.path, self.packer.to_bytes())
        out.notes += list(dict.fromkeys(document.notes))
        return out

    def scene_nodes(self) -> list[Element]:
        """Return the top nodes of the scene that is shown, or of the first one."""
        document = self.document
        instance = document.root.find("scene/instance_visual_scene")
        if instance is not None:
            scene = document.follow(instance.get("url"), "visual_scene", "<scene>")
        else:
            found = document.root.find("library_visual_scenes/visual_scene")
            if found is None:
                document.fail("<scene>", "expected a visual scene, got none")
            scene = found
        nodes = scene.findall("node")
        if not nodes:
            document.fail("<visual_scene>", "expected nodes, got none")
        return nodes

    def add_node(self, element: Element, top: bool, depth: int) -> _Node:
        """Add a node and those below it, instanced ones too."""
        if len(self.nodes) >= MAX_NODES or depth > MAX_DEPTH:
            self.document.fail("<node>", f"expected at most {MAX_NODES} nodes nested {MAX_DEPTH} deep, got more")
        name = element.get("name") or element.get("id") or element.get("sid") or ""
        number = self.packer.append("nodes", {"name": name} if name else {})
        node = _Node(element, number, top)
        self.nodes.append(node)
        self.by_element.setdefault(id(element), node)
        below = list(element.findall("node"))
        for instance in element.findall("instance_node"):
            below.append(self.document.follow(instance.get("url"), "node", "<instance_node>"))
        node.children = [self.add_node(child, False, depth + 1) for child in below]
        if node.children:
            self.packer.json["nodes"][number]["children"] = [child.number for child in node.children]
        return node

    def matrices(self, node: _Node, curves: list[Curve], times: NDArray) -> NDArray:
        """Return (T, 4, 4) a node's local matrices in metres and y up."""
        out = node_matrices(self.document, node.element, curves, times)
        out = np.array(out)
        out[:, :3, 3] *= self.document.scale
        return self.document.upright @ out if node.top else out

    def place(self, node: _Node) -> None:
        """Write a node's transform at rest."""
        matrix = self.matrices(node, [], np.zeros(1))[0]
        turn, stretch = split_linear(matrix[:3, :3])
        entry = self.packer.json["nodes"][node.number]
        if np.abs(stretch - np.diag(np.diagonal(stretch))).max() > 1e-6 * max(np.abs(stretch).max(), 1e-12):
            entry["matrix"] = matrix.T.reshape(-1).tolist()
            return
        w, x, y, z = turn.tolist()
        entry |= {"translation": matrix[:3, 3].tolist(), "rotation": [x, y, z, w]}
        scale = np.diagonal(stretch)
        if np.abs(scale - 1.0).max() > 1e-7:
            entry["scale"] = scale.tolist()

    def fill(self, node: _Node, tops: list[_Node]) -> None:
        """Add what a node shows: meshes, a camera, lights."""
        document, shown = self.document, []
        for instance in node.element.findall("instance_geometry"):
            geometry = document.follow(instance.get("url"), "geometry", "<instance_geometry>")
            mesh = self.meshes.geometry(geometry)
            if mesh is not None:
                shown.append({"mesh": self.mesh(geometry, mesh, None, instance)})
        for instance in node.element.findall("instance_controller"):
            controller = document.follow(instance.get("url"), "controller", "<instance_controller>")
            mesh, binding = self.meshes.controller(controller)
            if mesh is None:
                continue
            entry = {"mesh": self.mesh(controller, mesh, binding, instance)}
            if binding is not None:
                entry["skin"] = self.skin(binding, instance, tops)
            shown.append(entry)
        for instance in node.element.findall("instance_camera")[:1]:
            camera = document.by_id.get(instance.get("url", "").removeprefix("#"))
            if camera is not None and camera.tag == "camera":
                number = self.packer.append("cameras", self.camera(camera))
                self.packer.json["nodes"][node.number]["camera"] = number
        for instance in node.element.findall("instance_light")[:1]:
            light = document.by_id.get(instance.get("url", "").removeprefix("#"))
            if light is not None and light.tag == "light":
                self.packer.json["nodes"][node.number]["extensions"] = {LIGHTS: {"light": self.light(light)}}
        self.show(node, shown)

    def show(self, node: _Node, shown: list[dict[str, Any]]) -> None:
        """Put a mesh on the node, further ones on child nodes: a glTF node has one."""
        entry = self.packer.json["nodes"][node.number]
        if len(shown) == 1:
            entry |= shown[0]
        elif shown:
            name = entry.get("name", "mesh")
            below = [self.packer.append("nodes", {"name": f"{name}_{n}", **mesh}) for n, mesh in enumerate(shown)]
            entry["children"] = [*entry.get("children", ()), *below]

    def mesh(self, source: Element, mesh, binding: SkinBinding | None, instance: Element) -> int:
        """Return the number of a mesh with the materials of an instance."""
        materials = self.looks.bound(instance)
        key = (id(source), tuple(sorted(materials.items())))
        if key not in self.known_meshes:
            self.known_meshes[key] = add_mesh(self.packer, mesh, binding, self.document.scale, materials)
        return self.known_meshes[key]

    def skin(self, binding: SkinBinding, instance: Element, tops: list[_Node]) -> int:
        """Return the number of a skin whose joints are found below the instance's skeletons, else in the scene."""
        roots = []
        for entry in instance.findall("skeleton"):
            element = self.document.by_id.get((entry.text or "").strip().removeprefix("#"))
            if element is not None and id(element) in self.by_element:
                roots.append(self.by_element[id(element)])
        joints = []
        named = _by_name(tops) | _by_name(roots)
        for name in binding.joints:
            found = named.get(name)
            if found is None:
                self.document.fail("<skin>", f"expected a joint {name[:60]!r} in the scene, got none")
            joints.append(found.number)
        bind = np.array(binding.inverse_bind)
        bind[:, :3, 3] *= self.document.scale
        further = [node for node in _below(roots) if node.element.get("type") == "JOINT" and node.number not in joints]
        if further:
            # joints that bind nothing (ends of chains, jaws) are joints all the same, bound as they stand
            placed = self.worlds(tops)
            mesh = placed[joints[0]] @ bind[0]
            bind = np.concatenate([bind, [np.linalg.pinv(placed[node.number]) @ mesh for node in further]])
            joints += [node.number for node in further]
        matrices = np.swapaxes(bind, 1, 2).reshape(-1, 16).astype("<f4")
        return self.packer.append("skins", {"joints": joints, "inverseBindMatrices": self.packer.add(matrices, "MAT4")})

    def worlds(self, tops: list[_Node]) -> dict[int, NDArray]:
        """Return the world matrix (4, 4) of every node at rest."""
        if not self.placed:
            stack = [(node, np.eye(4)) for node in tops]
            while stack:
                node, above = stack.pop()
                matrix = self.placed[node.number] = above @ self.matrices(node, [], np.zeros(1))[0]
                stack.extend((child, matrix) for child in node.children)
        return self.placed

    def camera(self, element: Element) -> dict[str, Any]:
        """Return a glTF camera: a perspective as stated, or a usual one."""
        found: dict[str, Any] = {"yfov": 0.8, "znear": 0.01}
        for key, tag, factor in (("yfov", "yfov", np.pi / 180), ("znear", "znear", self.document.scale)):
            value = element.find(f"optics/technique_common/perspective/{tag}")
            if value is not None:
                number = float(self.document.numbers(value, 1)[0]) * factor
                found[key] = number if 1e-6 < number < 1e6 else found[key]
        return {"type": "perspective", "perspective": found, "name": element.get("name") or element.get("id") or ""}

    def light(self, element: Element) -> int:
        """Return the number of a light."""
        kind = next((e.tag for e in element.findall("technique_common/*")), "point")
        entry: dict[str, Any] = {"type": {"directional": "directional", "spot": "spot"}.get(kind, "point")}
        if entry["type"] == "spot":
            entry["spot"] = {}
        if LIGHTS not in self.packer.json.get("extensions", {}):
            self.packer.extend({LIGHTS: {"lights": []}})
        lights = self.packer.json["extensions"][LIGHTS]["lights"]
        lights.append(entry)
        return len(lights) - 1

    def animate(self) -> None:
        """Add a take for each clip of the file, or one of all its animations."""
        document = self.document
        animations = document.root.findall("library_animations/animation")
        takes: list[tuple[str, list[Curve], tuple[float, float] | None]] = []
        for clip in document.root.findall("library_animation_clips/animation_clip"):
            curves = []
            for instance in clip.findall("instance_animation"):
                found = document.by_id.get(instance.get("url", "").removeprefix("#"))
                curves += [] if found is None or found.tag != "animation" else read_curves(document, found)
            name = clip.get("name") or clip.get("id") or f"clip {len(takes)}"
            if curves:
                takes.append((name, curves, _span(clip, curves)))
        if not takes:
            curves = [curve for animation in animations for curve in read_curves(document, animation)]
            if curves:
                name = animations[0].get("name") or animations[0].get("id") or "animation"
                takes.append((name if len(animations) == 1 else document.path.stem, curves, None))
        samples = 0
        for name, curves, span in takes:
            moved: dict[str, list[Curve]] = {}
            for curve in curves:
                moved.setdefault(curve.node, []).append(curve)
            animation: dict[str, Any] = {"name": name, "channels": [], "samplers": []}
            for node in self.nodes:
                own = moved.get(node.element.get("id", ""))
                if not own:
                    continue
                times = np.unique(np.concatenate([curve.sample_times() for curve in own]))
                if span is not None:
                    inside = times[(times > span[0]) & (times < span[1])]
                    times = np.unique(np.concatenate([[span[0]], inside, [span[1]]]))
                samples += len(times)
                if samples > MAX_SAMPLES:
                    document.fail("<library_animations>", f"expected at most {MAX_SAMPLES} samples, got more")
                self.channels(animation, node, self.matrices(node, own, times), times - (span[0] if span else 0.0))
            if animation["channels"]:
                self.packer.append("animations", animation)

    def channels(self, animation: dict[str, Any], node: _Node, matrices: NDArray, times: NDArray) -> None:
        """Add the channels of a node; a node that is animated has no matrix of its own."""
        if not np.isfinite(matrices).all():
            self.document.fail("<animation>", "expected finite transforms, got an overflow")
        entry = self.packer.json["nodes"][node.number]
        parts = [split_linear(matrix[:3, :3]) for matrix in matrices]
        turns = rotation.unroll(np.array([turn for turn, _ in parts]))
        scales = np.array([np.diagonal(stretch) for _, stretch in parts])
        if entry.pop("matrix", None) is not None:
            w, x, y, z = turns[0].tolist()
            first = {"translation": matrices[0, :3, 3].tolist(), "rotation": [x, y, z, w], "scale": scales[0].tolist()}
            entry |= first
        time = self.packer.add(times.reshape(-1, 1).astype("<f4"), "SCALAR", bounds=True)
        rest = np.array(entry.get("scale", [1.0, 1.0, 1.0]))
        values = [("translation", matrices[:, :3, 3], "VEC3"), ("rotation", turns[:, [1, 2, 3, 0]], "VEC4")]
        if np.abs(scales - rest).max() > 1e-4 * max(np.abs(rest).max(), 1e-9):
            values.append(("scale", scales, "VEC3"))
        for path, rows, kind in values:
            animation["samplers"].append({"input": time, "output": self.packer.add(rows.astype("<f4"), kind)})
            target = {"node": node.number, "path": path}
            animation["channels"].append({"sampler": len(animation["samplers"]) - 1, "target": target})


def _by_name(roots: list[_Node]) -> dict[str, _Node]:
    """Return the nodes below some roots by sid, else by id, else by name; the first of each name."""
    order, out = _below(roots), {}
    for key in ("sid", "id", "name"):
        for node in order:
            name = node.element.get(key)
            if name is not None:
                out.setdefault(name, node)
    return out


def _below(roots: list[_Node]) -> list[_Node]:
    """Return some nodes and all below them, parents first."""
    order, stack = [], list(reversed(roots))
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(reversed(node.children))
    return order


def _span(clip: Element, curves: list[Curve]) -> tuple[float, float]:
    """Return the start and end of a clip, seconds."""
    ends = [min(curve.times[0] for curve in curves), max(curve.times[-1] for curve in curves)]
    for number, key in enumerate(("start", "end")):
        try:
            value = float(clip.get(key, "nan"))
        except ValueError:
            continue
        ends[number] = value if np.isfinite(value) and abs(value) < 1e9 else ends[number]
    return (float(ends[0]), float(max(ends)))


__all__ = ["count_contents", "extensions", "holds", "load", "translate"]
