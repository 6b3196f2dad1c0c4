"""Parse PMX files (versions 2.0 and 2.1), the models of MikuMikuDance: vertices, materials, bones and morphs.

All numbers are as in the file: left-handed, y up, facing −z, in MMD's unit. Rigid bodies and their joints are counted
only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant.io.mmd.records import Records, index_layout

ROTATABLE, TRANSLATABLE, IS_IK, GRANTS_ROTATION, GRANTS_TRANSLATION = 0x0002, 0x0004, 0x0020, 0x0100, 0x0200
AFTER_PHYSICS = 0x1000
MAX_TEXT = 1 << 20
"""Most bytes of a name or comment."""


@dataclass(frozen=True)
class IkLink:
    """One bone that inverse kinematics turns."""

    bone: int
    lower: tuple[float, float, float] | None
    """Smallest Euler angles, radians; None without limits."""
    upper: tuple[float, float, float] | None


@dataclass(frozen=True)
class Ik:
    """An IK bone's chain: links, from the one above the effector upwards, are turned until it is at the bone."""

    effector: int
    loops: int
    step: float
    """Largest turn of a link in one step, radians."""
    links: tuple[IkLink, ...]


@dataclass(frozen=True, eq=False)
class Bone:
    """One bone. At rest all bones are aligned with the axes."""

    name: str
    place: NDArray
    """(3,)"""
    parent: int
    """−1 for none."""
    layer: int
    flags: int
    granter: int = -1
    """The bone whose turn or shift is added to this one's."""
    ratio: float = 0.0
    """How much of it."""
    ik: Ik | None = None


@dataclass(frozen=True)
class PmxMaterial:
    """One surface: the next `corners` corners of the triangles."""

    name: str
    color: tuple[float, ...]
    """Red, green, blue, opacity."""
    two_sided: bool
    texture: int
    """−1 for none."""
    corners: int


@dataclass(frozen=True, eq=False)
class Pmx:
    """What a file holds."""

    name: str
    places: NDArray
    """(V, 3)"""
    normals: NDArray
    uvs: NDArray
    """(V, 2), v downwards."""
    influences: NDArray
    """(V, 4) bones."""
    weights: NDArray
    """(V, 4)"""
    faces: NDArray
    """(T, 3)"""
    textures: tuple[str, ...]
    materials: tuple[PmxMaterial, ...]
    bones: tuple[Bone, ...]
    morphs: tuple[tuple[str, NDArray, NDArray], ...] = ()
    """Name, vertices (n,) and offsets (n, 3) of each vertex morph."""
    other_morphs: int = 0
    """Morphs of bones, texture coordinates and materials, and groups."""
    rigid_bodies: int = 0
    notes: list[str] = field(default_factory=list)


def read_pmx(data: bytes, path: str | Path | None = None) -> Pmx:
    """Return the content of a PMX file."""
    return _Reader(data, path).read()


class _Reader(Records):
    def read(self) -> Pmx:
        if self.take(4) not in (b"PMX ", b"Pmx "):
            self.place = 0
            self.fail("expected a PMX file, got other content")
        (version, count) = self.unpack("fB")
        if count < 8 or not 1.9 < version < 2.2:
            self.fail(f"expected PMX 2.0 or 2.1, got version {version:g}")
        encoding, self.extra, *sizes = self.take(count)[:8]
        if encoding > 1 or self.extra > 4 or not {*sizes} <= {1, 2, 4}:
            self.fail("expected indices of 1, 2 or 4 bytes, got others")
        self.encoding = ("utf-16-le", "utf-8")[encoding]
        self.at_vertex, self.at_texture, self.at_material, self.at_bone, self.at_morph, self.at_body = sizes
        name, english, *_ = (self.text() for _ in range(4))
        places, normals, uvs, influences, weights = self.read_vertices()
        corners = self.count(self.at_vertex, "corners of triangles")
        faces = self.vertices(self.at_vertex, corners - corners % 3).reshape(-1, 3)
        self.take(self.at_vertex * (corners % 3))
        if faces.size and (faces.min() < 0 or faces.max() >= len(places)):
            self.fail(f"expected vertices below {len(places)}, got {faces.max()}")
        textures = tuple(self.text() for _ in range(self.count(4, "textures")))
        materials = tuple(self.read_material() for _ in range(self.count(60, "materials")))
        bones = tuple(self.read_bone() for _ in range(self.count(25, "bones")))
        self.check_bones(bones)
        if influences.size and influences.max() >= max(len(bones), 1):
            self.fail(f"expected weights of bones below {len(bones)}, got {influences.max()}")
        morphs, others = self.read_morphs(len(places))
        return Pmx(
            name or english, places, normals, uvs, np.maximum(influences, 0), weights, faces, textures, materials,
            bones, tuple(morphs), others, self.rigid_bodies(),
        )  # fmt: skip

    def text(self) -> str:
        (length,) = self.unpack("i")
        if not 0 <= length <= MAX_TEXT:
            self.fail(f"expected a text of at most {MAX_TEXT} bytes, got {length}")
        return self.take(length).decode(self.encoding, "replace").rstrip("\0")

    def read_vertices(self) -> tuple[NDArray, ...]:
        """Return places, normals, texture coordinates, bones and weights; a vertex is as long as its kind asks."""
        head, bone = 32 + 16 * self.extra, self.at_bone
        lengths = {0: bone, 1: 2 * bone + 4, 2: 4 * bone + 16, 3: 2 * bone + 40, 4: 4 * bone + 16}
        count = self.count(head + 1 + bone + 4, "vertices")
        starts, kinds, place, data = np.empty(count, np.int64), np.empty(count, np.uint8), self.place, self.data
        end = len(data)
        for vertex in range(count):
            starts[vertex] = place
            kind = data[place + head] if place + head < end else 255
            kinds[vertex] = kind
            if kind not in lengths:
                self.place = min(place, end)
                self.fail(f"expected a vertex of kind 0 to 4, got {kind}" if kind < 255 else "the file is cut short")
            place += head + 1 + lengths[kind] + 4
        self.take(place - self.place)
        numbers = self.rows(starts, "<f4", 8).astype(float)
        influences, weights = np.zeros((count, 4), np.int64), np.zeros((count, 4))
        for kind in np.unique(kinds).tolist():
            own = np.flatnonzero(kinds == kind)
            at, width = starts[own] + head + 1, {0: 1, 1: 2, 3: 2}.get(kind, 4)
            influences[own, :width] = self.rows(at, index_layout(bone), width)
            if kind == 0:
                weights[own, 0] = 1.0
            else:
                stated = self.rows(at + width * bone, "<f4", 1 if width == 2 else 4).astype(float)
                weights[own, :width] = np.column_stack([stated, 1.0 - stated]) if width == 2 else stated
        weights = np.where((influences >= 0) & np.isfinite(weights), np.maximum(weights, 0.0), 0.0)
        total = weights.sum(axis=1, keepdims=True)
        weights = np.where(total > 0, weights / np.where(total > 0, total, 1.0), np.eye(1, 4))
        if not np.isfinite(numbers).all():
            self.fail("expected finite vertices, got others")
        return numbers[:, :3], numbers[:, 3:6], numbers[:, 6:8], influences, weights

    def read_material(self) -> PmxMaterial:
        name, english = self.text(), self.text()
        color = tuple(np.clip(self.floats(4), 0.0, 1.0).tolist())
        self.take(28)
        (flags,) = self.unpack("B")
        self.take(20)
        texture = self.index(self.at_texture)
        self.index(self.at_texture)
        _, shared = self.unpack("BB")
        self.take(1 if shared else self.at_texture)
        self.text()
        (corners,) = self.unpack("i")
        if corners < 0:
            self.fail(f"expected a count of corners, got {corners}")
        return PmxMaterial(name or english, color, bool(flags & 1), texture, corners)

    def read_bone(self) -> Bone:
        name, english = self.text(), self.text()
        place, parent = self.floats(3), self.index(self.at_bone)
        layer, flags = self.unpack("iH")
        self.take(self.at_bone if flags & 1 else 12)
        granter, ratio, ik = -1, 0.0, None
        if flags & (GRANTS_ROTATION | GRANTS_TRANSLATION):
            granter, ratio = self.index(self.at_bone), float(self.floats(1)[0])
        self.take(12 * bool(flags & 0x0400) + 24 * bool(flags & 0x0800) + 4 * bool(flags & 0x2000))
        if flags & IS_IK:
            effector, loops, step = self.index(self.at_bone), *self.unpack("if")
            links = []
            for _ in range(self.count(self.at_bone + 1, "links")):
                link, limited = self.index(self.at_bone), self.unpack("B")[0]
                limits = self.floats(6).tolist() if limited else None
                lower, upper = (None, None) if limits is None else (tuple(limits[:3]), tuple(limits[3:]))
                links.append(IkLink(link, lower, upper))
            step = abs(step) if np.isfinite(step) and step else np.pi
            ik = Ik(effector, min(max(loops, 1), 255), float(step), tuple(links))
        return Bone(name or english, place, parent, layer, flags, granter, ratio, ik)

    def check_bones(self, bones: tuple[Bone, ...]) -> None:
        """Raise unless parents, granters and links are bones and parents make a tree."""
        count = len(bones)
        for bone in bones:
            ends = () if bone.ik is None else (bone.ik.effector, *(link.bone for link in bone.ik.links))
            if not (
                -1 <= bone.parent < count and -1 <= bone.granter < count and all(-1 <= end < count for end in ends)
            ):
                self.fail(f"expected bones below {count} at the bone {bone.name!r}, got others")
        state = [0] * count
        for start in range(count):
            path, bone = [], start
            while bone >= 0 and not state[bone]:
                state[bone] = 1
                path.append(bone)
                bone = bones[bone].parent
            if bone >= 0 and state[bone] == 1:
                self.fail(f"expected a tree of bones, got a circle at {bones[bone].name!r}")
            for each in path:
                state[each] = 2

    def read_morphs(self, vertices: int) -> tuple[list[tuple[str, NDArray, NDArray]], int]:
        uv, body = self.at_vertex + 16, self.at_body + 25
        sizes = {0: self.at_morph + 4, 1: self.at_vertex + 12, 2: self.at_bone + 28, 3: uv, 4: uv, 5: uv, 6: uv, 7: uv,
                 8: self.at_material + 113, 9: self.at_morph + 4, 10: body}  # fmt: skip
        morphs, others = [], 0
        for _ in range(self.count(14, "morphs")):
            name, english = self.text(), self.text()
            _, kind = self.unpack("BB")
            if kind not in sizes:
                self.fail(f"expected a morph of kind 0 to 10, got {kind}")
            count = self.count(sizes[kind], "entries of a morph")
            start = self.place
            self.take(count * sizes[kind])
            if kind != 1:
                others += 1
                continue
            starts = start + sizes[kind] * np.arange(count, dtype=np.int64)
            layout = index_layout(self.at_vertex) if self.at_vertex == 4 else f"<u{self.at_vertex}"
            moved = self.rows(starts, layout, 1)[:, 0].astype(np.int64)
            offsets = self.rows(starts + self.at_vertex, "<f4", 3).astype(float)
            if count and (moved.min() < 0 or moved.max() >= vertices or not np.isfinite(offsets).all()):
                self.fail(f"expected vertices below {vertices} in the morph {name!r}, got others")
            morphs.append((name or english, moved, offsets))
        return morphs, others

    def rigid_bodies(self) -> int:
        """Return how many rigid bodies follow; read to the end, so that a file that is cut short is noticed."""
        for _ in range(self.count(13, "groups of the display")):
            self.text()
            self.text()
            self.take(1)
            for _ in range(self.count(2, "entries of the display")):
                (kind,) = self.unpack("B")
                self.index(self.at_morph if kind else self.at_bone)
        bodies = self.count(70, "rigid bodies")
        for _ in range(bodies):
            self.text()
            self.text()
            self.take(self.at_bone + 61)
        for _ in range(self.count(105, "joints of rigid bodies")):
            self.text()
            self.text()
            self.take(1 + 2 * self.at_body + 96)
        return bodies
