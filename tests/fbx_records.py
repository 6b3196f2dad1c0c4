"""A second, plain reader of FBX records, and what they mean: for tests that trust nothing of the writer's."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field

import numpy as np

TICKS = 46186158000
ARRAYS = {"f": "<f4", "d": "<f8", "i": "<i4", "l": "<i8"}


@dataclass
class Node:
    """One record."""

    name: str
    values: list = field(default_factory=list)
    letters: str = ""
    inside: list[Node] = field(default_factory=list)
    has_scope: bool = False

    def all(self, name: str) -> list[Node]:
        return [node for node in self.inside if node.name == name]

    def one(self, name: str) -> Node:
        found = self.all(name)
        assert len(found) == 1, f"{len(found)} of {name} in {self.name}"
        return found[0]

    def value(self, name: str):
        return self.one(name).values[0]

    def properties(self) -> dict[str, list]:
        rows = [row for table in self.all("Properties70") for row in table.inside]
        assert len({row.values[0] for row in rows}) == len(rows)
        return {row.values[0]: row.values[4:] for row in rows}


@dataclass
class File:
    """A whole file."""

    top: Node
    version: int
    foot: bytes
    """The footer."""
    end: int
    """Offset of the footer."""


def read_fbx(data: bytes) -> File:
    """Read every record and check every length."""
    assert data[:23] == b"Kaydara FBX Binary  \x00\x1a\x00"
    (version,) = struct.unpack_from("<I", data, 23)
    top, place = Node("top"), 27
    while True:
        node, place = _read_node(data, place)
        if node is None:
            return File(top, version, data[place:], place)
        top.inside.append(node)


def _read_node(data: bytes, place: int) -> tuple[Node | None, int]:
    end, count, length, letters = struct.unpack_from("<IIIB", data, place)
    place += 13
    if end == 0:
        assert count == length == letters == 0
        return None, place
    node = Node(data[place : place + letters].decode("ascii"))
    place += letters
    values_end = place + length
    for _ in range(count):
        letter = chr(data[place])
        value, place = _read_value(data, place + 1, letter)
        node.values.append(value)
        node.letters += letter
    assert place == values_end, node.name
    while place < end:
        child, place = _read_node(data, place)
        if child is None:
            node.has_scope = True
            break
        node.inside.append(child)
    assert place == end, node.name
    assert node.has_scope or not node.inside
    return node, place


def _read_value(data: bytes, place: int, letter: str):
    if letter in ARRAYS:
        count, packed, length = struct.unpack_from("<III", data, place)
        raw = data[place + 12 : place + 12 + length]
        assert packed in (0, 1)
        raw = zlib.decompress(raw) if packed else raw
        array = np.frombuffer(raw, ARRAYS[letter])
        assert len(array) == count
        return array, place + 12 + length
    if letter in "SR":
        (length,) = struct.unpack_from("<I", data, place)
        raw = data[place + 4 : place + 4 + length]
        return raw.decode() if letter == "S" else raw, place + 4 + length
    form = {"C": "<?", "I": "<i", "L": "<q", "D": "<d"}[letter]
    return struct.unpack_from(form, data, place)[0], place + struct.calcsize(form)


@dataclass
class Meaning:
    """The contents of a file, derived from its records by the rules of the format."""

    names: list[str]
    """Names of all nodes as written."""
    sorts: list[str]
    parents: list[int]
    ends: list[bool]
    rest: np.ndarray
    """(N, 4, 4) world matrices without animation, file units."""
    motion: np.ndarray
    """(F, N, 4, 4) world matrices at the frames."""
    keys: dict[tuple[str, str], list[int]]
    """(node, property) → numbers of keys of its curves."""
    take: str
    fps: float
    metres: float


RATES = {1: 120, 2: 100, 3: 60, 4: 50, 5: 48, 6: 30, 10: 25, 11: 24, 12: 1000, 15: 96, 16: 72}


def _name(node: Node) -> str:
    return node.values[1].split("\x00\x01")[0]


def understand(file: File) -> Meaning:
    """Return nodes, transforms and curves of a file such as ours: no pivots or pre-rotation, angle order x, y, z."""
    objects, settings = file.top.one("Objects").inside, file.top.one("GlobalSettings").properties()
    mode = settings["TimeMode"][0]
    fps = settings["CustomFrameRate"][0] if mode == 14 else float(RATES[mode])
    by_number = {node.values[0]: node for node in objects}
    links = [link.values for link in file.top.one("Connections").inside]
    models = [node for node in objects if node.name == "Model"]
    place = {node.values[0]: number for number, node in enumerate(models)}
    above = {link[1]: link[2] for link in links if link[0] == "OO" and link[1] in place and link[2] in {*place, 0}}
    parents = [place.get(above[node.values[0]], -1) for node in models]
    stack = next(node for node in objects if node.name == "AnimationStack")
    frames = round(stack.properties()["LocalStop"][0] / TICKS * fps) + 1
    curves = {link[1]: (link[2], link[3]) for link in links if link[0] == "OP"}
    tracks = {}
    for number, (holder, axis) in curves.items():
        if by_number[number].name == "AnimationCurve":
            model, what = curves[holder]
            tracks.setdefault((place[model], what), {})[axis] = by_number[number]
    local = []
    for number, model in enumerate(models):
        stated = model.properties()
        still = [np.array(stated.get(f"Lcl {what}", [0.0] * 3)) for what in ("Translation", "Rotation")]
        moving = []
        for what, value in zip(("Translation", "Rotation"), still):
            rows = np.tile(value, (frames, 1))
            for axis, curve in tracks.get((number, f"Lcl {what}"), {}).items():
                rows[:, "XYZ".index(axis[-1])] = _sample(curve, frames, fps)
            moving.append(rows)
        local.append((_matrices(still[0][None], still[1][None]), _matrices(*moving)))
    worlds: list[tuple] = []
    for (rest, motion), parent in zip(local, parents):
        worlds.append((rest, motion) if parent < 0 else (worlds[parent][0] @ rest, worlds[parent][1] @ motion))
    return Meaning(
        names=[_name(node) for node in models],
        sorts=[node.values[2] for node in models],
        parents=parents,
        ends=[bool(node.properties().get("footplantEndSite", [0])[0]) for node in models],
        rest=np.stack([rest[0] for rest, _ in worlds]),
        motion=np.stack([motion for _, motion in worlds], axis=1),
        keys={
            (_name(models[number]), what): [len(curve.value("KeyTime")) for curve in axes.values()]
            for (number, what), axes in tracks.items()
        },
        take=_name(stack),
        fps=fps,
        metres=settings["UnitScaleFactor"][0] / 100.0,
    )  # fmt: skip


def _sample(curve: Node, frames: int, fps: float) -> np.ndarray:
    times, values = curve.value("KeyTime"), curve.value("KeyValueFloat")
    assert len(times) == len(values) == curve.value("KeyAttrRefCount").sum()
    assert (np.diff(times) > 0).all()
    assert (curve.value("KeyAttrFlags") & 0b1110 == 0b0100).all()  # straight lines
    if len(times) > 1:
        # a key on every frame, to the nearest tick
        assert np.abs(times - np.arange(frames) * (TICKS / fps)).max() <= 0.5001
    return np.array(values, float) if len(values) > 1 else np.full(frames, float(values[0]))


def _matrices(places: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    x, y, z = np.radians(degrees).T
    (cx, sx), (cy, sy), (cz, sz) = ((np.cos(a), np.sin(a)) for a in (x, y, z))
    out = np.zeros((len(places), 4, 4))
    out[:, 0, :3] = np.stack([cy * cz, sx * sy * cz - cx * sz, cx * sy * cz + sx * sz], axis=1)
    out[:, 1, :3] = np.stack([cy * sz, sx * sy * sz + cx * cz, cx * sy * sz - sx * cz], axis=1)
    out[:, 2, :3] = np.stack([-sy, sx * cy, cx * cy], axis=1)
    out[:, :3, 3], out[:, 3, 3] = places, 1.0
    return out
