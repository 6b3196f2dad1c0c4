"""Collada geometry, skins and morph targets as glTF meshes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from footplant.io.collada.document import ColladaDocument
from footplant.io.gltf.pack import VERTEX_DATA, VERTEX_INDICES, Packer

PRIMITIVES = ("triangles", "polylist", "polygons", "tristrips", "trifans")
INFLUENCES = 8
"""Joints per vertex that are kept, the strongest; glTF readers know four or eight."""


@dataclass(frozen=True, eq=False)
class Surface:
    """The triangles of one primitive element."""

    material: str
    """Symbol that an instance binds to a material."""
    corners: NDArray
    """(T, 3) vertices, indices into the geometry's positions."""
    normals: NDArray | None
    """(T, 3, 3)."""
    uvs: NDArray | None
    """(T, 3, 2), v upwards."""


@dataclass(frozen=True, eq=False)
class Geometry:
    """One mesh in the file's units."""

    name: str
    positions: NDArray
    """(V, 3)."""
    surfaces: tuple[Surface, ...]
    morphs: tuple[tuple[str, NDArray], ...] = ()
    """Names and offsets (V, 3) of morph targets."""


@dataclass(frozen=True, eq=False)
class SkinBinding:
    """How a skin controller binds a mesh to joints."""

    joints: tuple[str, ...]
    """Identifiers of joints: sids below the skeleton's roots, or ids."""
    inverse_bind: NDArray
    """(J, 4, 4), with the bind shape matrix multiplied in."""
    influences: NDArray
    """(V, K) indices into `joints`."""
    weights: NDArray
    """(V, K)."""


@dataclass(eq=False)
class Meshes:
    """Geometries and controllers, read once each."""

    document: ColladaDocument
    known: dict[int, Geometry | None] = field(default_factory=dict)

    def geometry(self, element: Element) -> Geometry | None:
        """Return a <geometry>; None if it has no triangles (lines, splines)."""
        if id(element) not in self.known:
            self.known[id(element)] = self._read(element)
        return self.known[id(element)]

    def controller(self, element: Element, depth: int = 0) -> tuple[Geometry | None, SkinBinding | None]:
        """Return the mesh of a <controller> with its morph targets, and its binding to joints."""
        document, where = self.document, f"<controller {element.get('id', '')[:60]}>"
        if depth > 8:
            document.fail(where, "expected a controller of a mesh, got controllers of controllers")
        skin, morph = element.find("skin"), element.find("morph")
        inner = skin if skin is not None else morph
        if inner is None:
            document.fail(where, "expected a skin or a morph, got neither")
        source = document.follow(inner.get("source"), ("geometry", "controller"), where)
        if source.tag == "controller":
            mesh, binding = self.controller(source, depth + 1)
        else:
            mesh, binding = self.geometry(source), None
        if mesh is None:
            return None, None
        if skin is not None:
            return mesh, self._skin(skin, mesh, where)
        return self._morph(inner, mesh, where), binding

    def _read(self, element: Element) -> Geometry | None:
        document, mesh = self.document, element.find("mesh")
        name = element.get("name") or element.get("id") or "mesh"
        if mesh is None:
            document.notes.append(f"the geometry {name!r} has no mesh; it was skipped")
            return None
        vertices = mesh.find("vertices")
        where = f"<geometry {name[:60]}>"
        if vertices is None:
            document.fail(where, "expected <vertices>, got none")
        positions = document.rows(document.input(vertices, "POSITION"), where, 3)
        surfaces = [
            surface
            for entry in mesh
            if entry.tag in PRIMITIVES and (surface := self._surface(entry, vertices, len(positions), where))
        ]
        return Geometry(name, positions, tuple(surfaces)) if surfaces else None

    def _surface(self, element: Element, vertices: Element, count: int, where: str) -> Surface | None:
        document = self.document
        inputs = [(entry.get("semantic", ""), document.whole(entry, "offset", 0), entry) for entry in
                  element.findall("input")]  # fmt: skip
        width = max((offset for _, offset, _ in inputs), default=-1) + 1
        vertex = next((offset for semantic, offset, _ in inputs if semantic == "VERTEX"), None)
        if vertex is None or not 0 < width <= 64:
            document.fail(where, f"expected an input VERTEX of <{element.tag}>, got none")
        corners = self._corners(element, width, where)
        if not len(corners):
            return None
        places = corners[:, :, vertex]
        if places.min() < 0 or places.max() >= count:
            document.fail(where, f"expected vertices below {count}, got {places.max()}")
        attributes: dict[str, NDArray] = {}
        shared = [(entry.get("semantic", ""), vertex, entry) for entry in vertices.findall("input")]
        for semantic, offset, entry in (*shared, *inputs):
            wanted = {"NORMAL": 3, "TEXCOORD": 2}.get(semantic)
            if wanted is None or semantic in attributes:
                continue
            rows = document.rows(document.follow(entry.get("source"), "source", where), where, wanted)
            index = corners[:, :, offset]
            if index.min() < 0 or index.max() >= len(rows):
                document.fail(where, f"expected indices below {len(rows)} for {semantic}, got {index.max()}")
            attributes[semantic] = rows[index]
        return Surface(element.get("material", ""), places, attributes.get("NORMAL"), attributes.get("TEXCOORD"))

    def _corners(self, element: Element, width: int, where: str) -> NDArray:
        """Return the triangles of a primitive element, (T, 3, width) indices; polygons become fans."""
        document = self.document
        if element.tag == "polygons":
            holes = [p for ph in element.findall("ph") for p in ph.findall("p")[:1]]
            lists = [document.integers(p) for p in (*element.findall("p"), *holes)]
        else:
            lists = [document.integers(p) for p in element.findall("p")]
        if any(len(values) % width for values in lists):
            document.fail(where, f"expected indices in groups of {width}, got {[len(v) for v in lists][:3]}")
        rows = [values.reshape(-1, width) for values in lists]
        every = np.concatenate(rows) if rows else np.zeros((0, width), np.int64)
        if element.tag == "triangles":
            return every[: len(every) // 3 * 3].reshape(-1, 3, width)
        if element.tag == "polylist":
            counts = document.integers(element.find("vcount"))
            if (counts < 0).any() or counts.sum() != len(every):
                document.fail(where, f"expected {int(counts.sum())} corners of polygons, got {len(every)}")
        else:
            counts = np.array([len(part) for part in rows], np.int64)
        starts = np.cumsum(counts) - counts
        sizes = np.maximum(counts - 2, 0)
        first = np.repeat(starts, sizes)
        step = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        if element.tag == "tristrips":
            odd = step % 2
            order = np.stack([first + step + odd, first + step + 1 - odd, first + step + 2], axis=1)
        else:
            order = np.stack([first, first + step + 1, first + step + 2], axis=1)
        return every[order]

    def _skin(self, skin: Element, mesh: Geometry, where: str) -> SkinBinding:
        document = self.document
        shape = np.eye(4)
        if skin.find("bind_shape_matrix") is not None:
            shape = document.numbers(skin.find("bind_shape_matrix"), 16).reshape(4, 4)
        listed, weighted = skin.find("joints"), skin.find("vertex_weights")
        if listed is None or weighted is None:
            document.fail(where, "expected <joints> and <vertex_weights>, got none")
        names = document.words(document.input(listed, "JOINT"), where)
        bind = document.rows(document.input(listed, "INV_BIND_MATRIX"), where, 16).reshape(-1, 4, 4)
        if not names or len(bind) < len(names):
            document.fail(where, f"expected a bind matrix for each of {len(names)} joints, got {len(bind)}")
        offsets = {entry.get("semantic"): entry for entry in weighted.findall("input")}
        if "JOINT" not in offsets or "WEIGHT" not in offsets:
            document.fail(where, "expected inputs JOINT and WEIGHT, got others")
        at_joint, at_weight = (document.whole(offsets[key], "offset", 0) for key in ("JOINT", "WEIGHT"))
        width = max(document.whole(entry, "offset", 0) for entry in offsets.values()) + 1
        values = document.rows(document.follow(offsets["WEIGHT"].get("source"), "source", where), where, 1)[:, 0]
        counts, pairs = document.integers(weighted.find("vcount")), document.integers(weighted.find("v"))
        if width > 16 or (counts < 0).any() or counts.sum() * width != len(pairs) or len(counts) != len(mesh.positions):
            document.fail(where, f"expected weights of {len(mesh.positions)} vertices, got {len(counts)}")
        pairs = pairs.reshape(-1, width)
        joints, places = pairs[:, at_joint], pairs[:, at_weight]
        if len(pairs) and (joints.max() >= len(names) or places.max() >= len(values) or places.min() < 0):
            document.fail(where, "expected indices of joints and weights, got larger ones")
        # joint −1 is the bind shape itself, which no joint moves
        strength = np.where(joints >= 0, values[places], 0.0)
        owner = np.repeat(np.arange(len(counts)), counts)
        order = np.lexsort((-strength, owner))
        rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        kept = rank < INFLUENCES
        influences = np.zeros((len(counts), INFLUENCES), np.int64)
        weights = np.zeros((len(counts), INFLUENCES))
        influences[owner[order][kept], rank[kept]] = np.maximum(joints[order][kept], 0)
        weights[owner[order][kept], rank[kept]] = strength[order][kept]
        return SkinBinding(tuple(names), bind[: len(names)] @ shape, influences, weights)

    def _morph(self, morph: Element, mesh: Geometry, where: str) -> Geometry:
        document, targets = self.document, morph.find("targets")
        if targets is None:
            return mesh
        names = document.words(document.input(targets, "MORPH_TARGET"), where)
        relative = morph.get("method", "NORMALIZED") == "RELATIVE"
        morphs = []
        for name in names[:4096]:
            target = self.geometry(document.follow(name, "geometry", where))
            if target is None or len(target.positions) != len(mesh.positions):
                document.notes.append(f"the morph target {name!r} has other vertices than its mesh; it was skipped")
                continue
            morphs.append((target.name, target.positions - (0.0 if relative else mesh.positions)))
        return Geometry(mesh.name, mesh.positions, mesh.surfaces, (*mesh.morphs, *morphs))


def add_mesh(
    packer: Packer, mesh: Geometry, binding: SkinBinding | None, scale: float, materials: dict[str, int]
) -> int:
    """Add a mesh to a glTF document; materials: symbol → material. Returns its number."""
    primitives = [_primitive(packer, mesh, surface, binding, scale, materials) for surface in mesh.surfaces]
    entry: dict[str, Any] = {"name": mesh.name, "primitives": primitives}
    if mesh.morphs:
        entry["extras"] = {"targetNames": [name for name, _ in mesh.morphs]}
        entry["weights"] = [0.0] * len(mesh.morphs)
    return packer.append("meshes", entry)


def _primitive(
    packer: Packer, mesh: Geometry, surface: Surface, binding: SkinBinding | None, scale: float,
    materials: dict[str, int],
) -> dict[str, Any]:  # fmt: skip
    """Return a glTF primitive: vertices are split where normals or texture coordinates differ."""
    columns = [surface.corners.reshape(-1, 1).astype(float)]
    columns += [values.reshape(-1, values.shape[-1]) for values in (surface.normals, surface.uvs) if values is not None]
    kept, place = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    vertices = kept[:, 0].astype(np.int64)
    attributes = {
        "POSITION": packer.add(
            (mesh.positions[vertices] * scale).astype("<f4"), "VEC3", target=VERTEX_DATA, bounds=True
        )
    }
    at = 1
    if surface.normals is not None:
        normals = kept[:, at : at + 3]
        length = np.linalg.norm(normals, axis=1, keepdims=True)
        unit = np.where(length > 0, normals / np.where(length > 0, length, 1.0), [0.0, 1.0, 0.0])
        attributes["NORMAL"] = packer.add(unit.astype("<f4"), "VEC3", target=VERTEX_DATA)
        at += 3
    if surface.uvs is not None:
        uvs = np.column_stack([kept[:, at], 1.0 - kept[:, at + 1]])
        attributes["TEXCOORD_0"] = packer.add(uvs.astype("<f4"), "VEC2", target=VERTEX_DATA)
    if binding is not None:
        joints, weights = binding.influences[vertices], binding.weights[vertices]
        total = weights.sum(axis=1, keepdims=True)
        weights = np.where(total > 0, weights / np.where(total > 0, total, 1.0), np.eye(1, INFLUENCES)).astype("<f4")
        joints = np.where(weights > 0, joints, 0).astype("<u2")
        for number in range(1 + bool((weights[:, 4:] > 0).any())):
            part = slice(4 * number, 4 * number + 4)
            attributes[f"JOINTS_{number}"] = packer.add(joints[:, part], "VEC4", target=VERTEX_DATA)
            attributes[f"WEIGHTS_{number}"] = packer.add(weights[:, part], "VEC4", target=VERTEX_DATA)
    indices = packer.add(place.reshape(-1, 1).astype("<u4"), "SCALAR", target=VERTEX_INDICES)
    out: dict[str, Any] = {"attributes": attributes, "indices": indices, "mode": 4}
    if surface.material in materials:
        out["material"] = materials[surface.material]
    if mesh.morphs:
        out["targets"] = [
            {"POSITION": packer.add((offsets[vertices] * scale).astype("<f4"), "VEC3", target=VERTEX_DATA, bounds=True)}
            for _, offsets in mesh.morphs
        ]
    return out
