"""Read project files: every value is checked, and every fault raises one `FormatError` that says where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.clip import Clip, Take
from footplant.errors import FormatError, MotionError, SkeletonError
from footplant.io.arrays import Archive, open_archive
from footplant.io.json import Json, describe, read_json
from footplant.io.project.layout import FORMAT, INDEX, REFERENCES, titles, unknown
from footplant.io.project.model import VERSION, Extra, Project
from footplant.io.source import PackedSource
from footplant.motion import Motion
from footplant.skeleton import Character, Limits, Point, Roles, Skeleton, Skin, frozen

MAX_JOINTS = 20_000
"""Maximum joints of one character."""
Shape = tuple[int | None, ...]
"""Expected lengths of an array's axes, None for any length."""


class Reader:
    """The index of a project file; contents are read on demand."""

    def __init__(self, path: str | Path, data: bytes | None = None) -> None:
        """Read the index of a file, or of its bytes if given."""
        self.path = path
        self.notes: list[str] = []
        self._data = data
        with self.open() as archive:
            self.top = Json(read_json(archive.read(INDEX), path, self.notes), "", path)
            self.version = self._read_version()
            self.characters = self.top.objects("characters")
            self.figures = self.top.objects("figures")
            self.names = archive.names
        self.constraints = tuple(entry.data for entry in self.top.objects("constraints"))
        self.edits = tuple(entry.data for entry in self.top.objects("edits"))
        if not self.figures:
            self.top.fail("figures", "expected at least one character, got none")
        self._read: dict[int, Character] = {}
        self._skins: dict[tuple, Skin] = {}

    def open(self):
        """Return the zip file as a context manager."""
        return open_archive(self.path, self._data)

    def _read_version(self) -> tuple[int, int]:
        """Return the file's version; raise `FormatError` for another format or major version."""
        kind = self.top.text("format")
        if kind != FORMAT:
            self.top.fail("format", f"expected {FORMAT!r}, got {describe(kind)}")
        text = self.top.text("version")
        found = re.fullmatch(r"(\d{1,6})\.(\d{1,6})", text)
        if found is None:
            self.top.fail("version", f"expected two numbers as in '1.0', got {describe(text)}")
        version = int(found[1]), int(found[2])
        if version[0] != VERSION[0]:
            hint = "; a newer Footplant may read it" if version > VERSION else ""
            self.top.fail("version", f"expected version {VERSION[0]}.x, got {text}{hint}")
        if version > VERSION:
            ours = f"{VERSION[0]}.{VERSION[1]}"
            self.notes.append(f"the project has version {text}, newer than {ours}; unknown content is preserved")
        return version

    def takes(self, figure: int) -> list[Json]:
        """Return the JSON objects of a character's takes."""
        takes = self.figures[figure].objects("takes")
        if not takes:
            self.figures[figure].fail("takes", "expected at least one take, got none")
        return takes

    def take_list(self, figure: int) -> tuple[Take, ...]:
        """Return names, lengths and rates of a character's takes."""
        return tuple(
            Take(take.text("name"), take.integer("frames"), take.number("fps", low=0.0)) for take in self.takes(figure)
        )

    def name(self, figure: int) -> str:
        """Return the name of a character."""
        return self.figures[figure].text("name")

    def character_of(self, archive: Archive, take: Json) -> Character:
        """Return the character of a take, cached."""
        number = take.index("character", len(self.characters))
        if number not in self._read:
            self._read[number] = self._character(archive, self.characters[number])
        return self._read[number]

    def motion(self, archive: Archive, take: Json) -> Motion:
        """Return the motion of a take."""
        own = take.object("skeleton")
        skeleton = self.character_of(archive, take).skeleton if own is None else self._skeleton(archive, own)
        frames, joints = take.integer("frames"), len(skeleton)
        root = _floats(archive, take, "root", (frames, 3))
        rotations = _floats(archive, take, "rotations", (frames, joints, 4))
        offsets = _floats(archive, take, "offsets", (frames, joints, 3)) if "offsets" in take.data else None
        try:
            return Motion(skeleton, root, rotations, take.number("fps", low=0.0), offsets)
        except MotionError as error:
            raise FormatError(str(error), path=self.path, where=take.where) from error

    def _skeleton(self, archive: Archive, entry: Json) -> Skeleton:
        """Return a skeleton, checked."""
        names = entry.array("joints")
        if len(names) > MAX_JOINTS:
            entry.fail("joints", f"expected at most {MAX_JOINTS} joints, got {len(names)}")
        for number, name in enumerate(names):
            if not isinstance(name, str):
                entry.fail(f"joints[{number}]", f"expected a name, got {describe(name)}")
        parents = entry.array("parents")
        ends = entry.indices("end_parents", len(names))
        for number, parent in enumerate(parents):
            if type(parent) is not int or not -1 <= parent < len(names):
                entry.fail(f"parents[{number}]", f"expected -1 or a joint below {len(names)}, got {describe(parent)}")
        count = len(names)
        offsets = _floats(archive, entry, "offsets", (count, 3))
        rest = _floats(archive, entry, "rest", (count, 4))
        end_offsets = _floats(archive, entry, "end_offsets", (len(ends), 3))
        try:
            return Skeleton(
                tuple(names), np.array(parents, np.int64), offsets, rest, np.array(ends, np.int64), end_offsets
            )
        except SkeletonError as error:
            raise FormatError(str(error), path=self.path, where=entry.where) from error

    def _character(self, archive: Archive, entry: Json) -> Character:
        """Return a character, checked."""
        skeleton = entry.object("skeleton")
        if skeleton is None:
            entry.fail("skeleton", "expected the character's joints, got nothing")
        tree = self._skeleton(archive, skeleton)
        count = len(tree)
        limits, source = entry.object("limits"), entry.object("source")
        return Character(
            tree,
            name=entry.text("name"),
            roles=_roles(archive, entry, count),
            contacts=_contacts(entry, count),
            masses=_floats(archive, entry, "masses", (count,)) if "masses" in entry.data else None,
            mass_centers=_floats(archive, entry, "mass_centers", (count, 3)) if "mass_centers" in entry.data else None,
            limits=None
            if limits is None
            else Limits(*(_floats(archive, limits, key, (count, 3), infinite=True) for key in ("lower", "upper"))),
            skin=self._skin(archive, entry, count),
            height=entry.number("height", 0.0, low=0.0),
            source=None if source is None else _source(archive, source),
        )

    def _skin(self, archive: Archive, character: Json, joints: int) -> Skin | None:
        """Return a character's skin; characters that share one share its memory."""
        entry = character.object("skin")
        if entry is None:
            return None
        key = (
            joints,
            *(entry.text(key, None) for key in ("vertices", "faces", "joints", "weights", "inverse_bind", "normals")),
        )
        if key not in self._skins:
            vertices = _floats(archive, entry, "vertices", (None, 3))
            count = len(vertices)
            weights = _floats(archive, entry, "weights", (count, None))
            self._skins[key] = Skin(
                vertices,
                _indices(archive, entry, "faces", (None, 3), count),
                _indices(archive, entry, "joints", weights.shape, joints),
                weights,
                _floats(archive, entry, "inverse_bind", (joints, 4, 4)),
                _floats(archive, entry, "normals", (count, 3)) if "normals" in entry.data else None,
            )
        return self._skins[key]

    def extra(self, archive: Archive) -> Extra:
        """Return all unknown content of the file."""
        values: dict[tuple[str, ...], dict[str, Any]] = {}
        used, kept = {INDEX}, set()

        def look(kind: str, entry: Json | None, *place: str) -> None:
            if entry is None:
                return
            used.update(entry.text(key, "") for key in REFERENCES.get(kind, ()))
            found = unknown(kind, entry.data)
            kept.update(_texts(list(found.values())))
            if found:
                values[place] = found

        look("project", self.top)
        for title, character in zip(_titles(self.characters), self.characters, strict=True):
            place = "characters", title
            look("character", character, *place)
            for kind in ("skeleton", "limits", "skin", "source"):
                look(kind, character.object(kind), *place, kind)
            for table, kind in (("roles", "role"), ("contacts", "contact")):
                entries = character.object(table)
                for key in () if entries is None else entries.data:
                    look(kind, entries.object(key), *place, table, key)  # type: ignore[union-attr]
        for title, figure in zip(_titles(self.figures), self.figures, strict=True):
            look("figure", figure, "figures", title)
            takes = figure.objects("takes")
            for take_title, take in zip(_titles(takes), takes, strict=True):
                place = "figures", title, "takes", take_title
                look("take", take, *place)
                look("skeleton", take.object("skeleton"), *place, "skeleton")
        members = {name: archive.read(name) for name in self.names if name not in used or name in kept}
        return Extra(members, values, self.version)

    def project(self) -> Project:
        """Return the whole project."""
        with self.open() as archive:
            extra = self.extra(archive)
            figures = []
            for figure in range(len(self.figures)):
                listed, clips = self.take_list(figure), []
                for number, take in enumerate(self.takes(figure)):
                    motion, character = self.motion(archive, take), self.character_of(archive, take)
                    clips.append(Clip(motion, character, listed[number].name, listed, number))
                figures.append(tuple(clips))
        return Project(tuple(figures), self.constraints, self.edits, extra, tuple(self.notes))


def _texts(value: Any) -> Iterator[str]:
    """Yield every string inside a JSON value; some may be names of members."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list):
            stack.extend(item.values() if isinstance(item, dict) else item)


def _titles(entries: list[Json]) -> list[str]:
    return titles([entry.text("name") for entry in entries])


def _floats(archive: Archive, entry: Json, key: str, shape: Shape, *, infinite: bool = False) -> NDArray:
    """Return a read-only array of finite floats (or infinities, if allowed) of a shape."""
    array = _array(archive, entry, key, shape, "f")
    if np.isnan(array).any() or not (infinite or np.isfinite(array).all()):
        entry.fail(key, "expected finite numbers, got NaN or infinity")
    return frozen(array)


def _indices(archive: Archive, entry: Json, key: str, shape: Shape, below: int) -> NDArray:
    """Return a read-only array of indices in [0, below) of a shape."""
    array = _array(archive, entry, key, shape, "iu")
    if array.size and not 0 <= array.min() <= array.max() < below:
        entry.fail(key, f"expected whole numbers from 0 to {below - 1}, got {array.min()} to {array.max()}")
    return frozen(array, np.int64)


def _array(archive: Archive, entry: Json, key: str, shape: Shape, kinds: str) -> NDArray:
    """Return an array, checked for shape and dtype kind."""
    array = archive.array(entry.text(key))
    fits = array.ndim == len(shape) and all(want in (None, have) for want, have in zip(shape, array.shape, strict=True))
    if array.dtype.kind not in kinds or not fits:
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        what = "whole numbers" if "i" in kinds else "floats"
        entry.fail(key, f"expected an array of {what} of shape ({wanted}), got {array.dtype} of shape {array.shape}")
    return array


def _roles(archive: Archive, character: Json, count: int) -> Roles | None:
    entries = character.object("roles")
    if entries is None:
        return None
    joints, confidence, reasons = {}, {}, {}
    for role in entries.data:
        entry = entries.object(role)
        if entry is None:
            entries.fail(role, "expected the joints of the role, got nothing")
        joints[role] = tuple(entry.indices("joints", count))
        if not joints[role]:
            entry.fail("joints", "expected at least one joint, got none")
        confidence[role] = entry.number("confidence", 1.0, low=0.0)
        reasons[role] = entry.text("reason", "")
    reference = _floats(archive, character, "reference", (count, 4)) if "reference" in character.data else None
    if reference is not None and np.abs(np.einsum("jk,jk->j", reference, reference) - 1.0).max() > 1e-6:
        character.fail("reference", "expected unit quaternions, got others")
    return Roles(joints, confidence, reasons, reference)


def _contacts(character: Json, count: int) -> dict[str, Point]:
    entries = character.object("contacts")
    found: dict[str, Point] = {}
    for name in () if entries is None else entries.data:
        entry = entries.object(name)  # type: ignore[union-attr]
        offset = None if entry is None else entry.numbers("offset", 3)
        if entry is None or offset is None:
            character.fail(f"contacts.{name}", "expected a joint and an offset, got nothing")
        found[name] = Point(entry.index("joint", count), (offset[0], offset[1], offset[2]))
    return found


def _source(archive: Archive, entry: Json) -> PackedSource:
    carries = tuple(text for text in entry.array("carries") if isinstance(text, str))
    extension = entry.text("extension")
    if not re.fullmatch(r"\.[a-z0-9]{1,10}", extension):
        entry.fail("extension", f"expected an extension such as '.glb', got {describe(extension)}")
    return PackedSource(entry.text("format"), extension, archive.read(entry.text("data")), carries)
