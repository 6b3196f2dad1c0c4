"""The skeleton of an ASF file (Acclaim Skeleton File): bones with a direction and a length, and their hierarchy.

A bone starts at its parent's end. It rotates about its own axes, which `axis` states as rotations from the world axes;
`dof` lists its channels in the order of the motion's numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import FormatError
from footplant.io.asf.lines import finite, normalise_text, number_of, show, text_of, words_of
from footplant.skeleton import Skeleton

MAX_BONES = 5_000
ROOT = "root"
"""Name of the first joint in the hierarchy and in motions."""
CHANNELS = ("tx", "ty", "tz", "rx", "ry", "rz", "l")
"""Channels of a bone: translation along its axes, rotation about them, stretch."""
CMU_LENGTH = 0.45
"""The length unit that CMU's files state; their numbers are inches times this."""


@dataclass
class Bone:
    """One bone as in the file, or the root (of length 0)."""

    name: str
    line: int
    direction: tuple[float, ...] = (0.0, 0.0, 0.0)
    length: float = 0.0
    axis: tuple[float, ...] = (0.0, 0.0, 0.0)
    """Rotations about the axes in `order`, one after another, in the file's unit of angle."""
    order: str = "xyz"
    dof: tuple[str, ...] = ()
    limits: tuple[tuple[float, float], ...] = ()
    """Lower and upper limit of each of `dof` if stated, in the file's units."""


@dataclass
class Asf:
    """The contents of an ASF file."""

    name: str = ""
    degrees: bool = True
    """True for degrees, False for radians."""
    length_unit: float | None = None
    """The value of `length` under :units."""
    root: Bone = field(default_factory=lambda: Bone(ROOT, 0, dof=("tx", "ty", "tz", "rx", "ry", "rz")))
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    bones: list[Bone] = field(default_factory=list)
    """The root and every bone of the hierarchy, parents before children."""
    parents: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def scale(self) -> float | None:
        """Metres per unit for CMU's unit; None for others, which have no common meaning."""
        known = self.length_unit is not None and math.isclose(self.length_unit, CMU_LENGTH, rel_tol=1e-6)
        return 0.0254 / CMU_LENGTH if known else None

    def axes(self) -> NDArray:
        """Return (J, 4) each bone's own axes in world space; the root's are its rest orientation."""
        unit = math.pi / 180.0 if self.degrees else 1.0
        return np.stack([_rotation(bone.axis, bone.order, unit) for bone in self.bones])

    def skeleton(self) -> Skeleton:
        """Return the skeleton in file units: joints at the start of bones, frames below the root aligned with it."""
        tips = np.array([np.array(bone.direction) * bone.length for bone in self.bones])
        parents = np.array(self.parents, np.int64)
        offsets = np.array(tips[parents])
        offsets[0] = self.position
        leaves = np.setdiff1d(np.arange(1, len(parents)), parents)
        rest = rotation.identity(len(parents))
        rest[0] = self.axes()[0]
        names = tuple(bone.name for bone in self.bones)
        return Skeleton(names, parents, offsets, rest, leaves, tips[leaves])


def _rotation(angles: tuple[float, ...], order: str, unit: float) -> NDArray:
    """Return rotations about fixed world axes, the first letter applied first, as one quaternion."""
    return rotation.from_euler(np.array(angles)[::-1] * unit, order[::-1])


def read_asf(data: bytes, path: str | Path | None) -> Asf:
    """Read the bytes of an ASF file."""
    return _Reader(data, path).read()


class _Reader:
    """Reads the lines of a file, section by section (a section starts with a keyword like :bonedata)."""

    def __init__(self, data: bytes, path: str | Path | None) -> None:
        self.path = path
        self.lines = words_of(normalise_text(data, path), 0, path)
        self.asf = Asf()
        self.bone: Bone | None = None
        """The bone whose block is being read, if any."""
        self.last_id = 0
        self.by_name: dict[str, Bone] = {}
        self.branches: list[tuple[int, list[bytes]]] = []
        """Lines of the hierarchy: a parent and its children."""

    def error(self, message: str, line: int) -> FormatError:
        return FormatError(message, path=self.path, where=f"line {line}")

    def read(self) -> Asf:
        readers = {"units": self._units, "root": self._root, "bonedata": self._bonedata, "hierarchy": self._hierarchy}
        seen: dict[str, None] = {}
        section = ""
        for line, words in self.lines:
            if words[0].startswith(b":"):
                section = text_of(words[0][1:41]).lower()
                if section in readers and section in seen:
                    raise self.error(f"expected one :{section}, got a second", line)
                if section == "name":
                    self.asf.name = " ".join(text_of(word) for word in words[1:])
                if len(seen) < 100:
                    seen[section] = None
            elif section in readers:
                readers[section](words, line)
        if self.bone is not None:
            raise self.error(f"expected end after the bone {self.bone.name!r}, got the end of the file", self.bone.line)
        for section in ("bonedata", "hierarchy"):
            if section not in seen:
                found = ", ".join(f":{word}" for word in list(seen)[:10]) or "no section at all"
                raise FormatError(f"expected a section :{section}, got {found}; is this an ASF file?", path=self.path)
        self._build_tree()
        return self.asf

    def _units(self, words: list[bytes], line: int) -> None:
        keyword = words[0].lower()
        if keyword == b"length" and len(words) > 1:
            self.asf.length_unit = finite(words[1], "a number after length", self.path, line)
        elif keyword == b"angle" and len(words) > 1:
            self.asf.degrees = not words[1].lower().startswith(b"rad")

    def _root(self, words: list[bytes], line: int) -> None:
        root, keyword = self.asf.root, words[0].lower()
        if keyword == b"order":
            root.dof = self._channels(words[1:], line)
        elif keyword == b"axis" and len(words) > 1:
            root.order = self._order(words[1], line)
        elif keyword == b"position":
            self.asf.position = self._numbers(words, 3, line)
        elif keyword == b"orientation":
            root.axis = self._numbers(words, 3, line)

    def _numbers(self, words: list[bytes], count: int, line: int) -> tuple[float, ...]:
        what = text_of(words[0])
        if len(words) < 1 + count:
            raise self.error(f"expected {count} numbers after {what}, got {len(words) - 1}", line)
        return tuple(finite(word, f"a finite number after {what}", self.path, line) for word in words[1 : 1 + count])

    def _order(self, word: bytes, line: int) -> str:
        order = text_of(word).lower()
        if len(order) != 3 or set(order) != set("xyz"):
            raise self.error(f"expected an order of axes such as XYZ, got {show(word)}", line)
        return order

    def _channels(self, words: list[bytes], line: int) -> tuple[str, ...]:
        channels = tuple(text_of(word).lower() for word in words)
        for word, channel in zip(words, channels):
            if channel not in CHANNELS:
                raise self.error(f"expected channels among {', '.join(CHANNELS)}, got {show(word)}", line)
        if len(set(channels)) != len(channels):
            raise self.error(f"expected each channel once, got {' '.join(channels)}", line)
        return channels

    def _bonedata(self, words: list[bytes], line: int) -> None:
        keyword = words[0].lower()
        if keyword in (b"begin", b"end"):
            self._finish()
            self.bone = Bone("", line) if keyword == b"begin" else None
        elif self.bone is not None:
            self._bone_line(self.bone, keyword, words, line)

    def _finish(self) -> None:
        bone = self.bone
        if bone is None:
            return
        if not bone.name:
            raise self.error("expected a name in each bone, got none", bone.line)
        if bone.name in self.by_name or bone.name == ROOT:
            raise self.error(f"expected unique names of bones, got {bone.name!r} again", bone.line)
        if len(self.by_name) >= MAX_BONES:
            raise self.error(f"expected at most {MAX_BONES} bones, got more", bone.line)
        self.by_name[bone.name] = bone

    def _bone_line(self, bone: Bone, keyword: bytes, words: list[bytes], line: int) -> None:
        if keyword == b"name" and len(words) > 1:
            bone.name = text_of(words[1])
        elif keyword == b"id" and len(words) > 1 and words[1].isdigit():
            self.last_id = max(self.last_id, min(int(words[1][:9]), MAX_BONES))
        elif keyword == b"direction":
            direction = np.array(self._numbers(words, 3, line))
            size = float(np.linalg.norm(direction))
            bone.direction = tuple((direction / size).tolist()) if size > 0 else (0.0, 0.0, 0.0)
        elif keyword == b"length":
            bone.length = self._numbers(words, 1, line)[0]
        elif keyword == b"axis":
            bone.axis = self._numbers(words, 3, line)
            if len(words) > 4:
                bone.order = self._order(words[4], line)
        elif keyword == b"dof":
            bone.dof = self._channels(words[1:], line)
        elif keyword == b"limits" or keyword.startswith(b"("):
            pairs = self._limits(words[1:] if keyword == b"limits" else words)
            bone.limits = (*bone.limits, *pairs)[: len(CHANNELS)]

    @staticmethod
    def _limits(words: list[bytes]) -> tuple[tuple[float, float], ...]:
        """Return the pairs in brackets; anything else does not affect the motion and is skipped."""
        values = b" ".join(words).replace(b"(", b" ").replace(b")", b" ").replace(b",", b" ").split()
        numbers = [number_of(value) for value in values]
        pairs = zip(numbers[0::2], numbers[1::2])
        return tuple((low, high) for low, high in pairs if low is not None and high is not None)

    def _hierarchy(self, words: list[bytes], line: int) -> None:
        if words[0].lower() in (b"begin", b"end") and len(words) == 1:
            return
        if len(self.branches) >= 2 * MAX_BONES:
            raise self.error(f"expected at most {2 * MAX_BONES} lines in the hierarchy, got more", line)
        self.branches.append((line, words))

    def _build_tree(self) -> None:
        """Connect the bones and sort them parents first: lines of the hierarchy come in any order."""
        children: dict[str, list[str]] = {}
        parent_of: dict[str, str] = {}
        for line, words in self.branches:
            names = [text_of(word) for word in words]
            names = [ROOT if name.lower() == ROOT and name not in self.by_name else name for name in names]
            for name in names:
                if name != ROOT and name not in self.by_name:
                    raise self.error(f"expected bones of :bonedata in the hierarchy, got {name[:40]!r}", line)
            for name in names[1:]:
                if name == ROOT or name in parent_of:
                    above = parent_of.get(name, "no bone")
                    raise self.error(f"expected one parent of {name!r}, got {names[0]!r} besides {above!r}", line)
                parent_of[name] = names[0]
            children.setdefault(names[0], []).extend(names[1:])
        asf = self.asf
        waiting = [(ROOT, -1)]
        while waiting:
            name, parent = waiting.pop()
            asf.bones.append(asf.root if name == ROOT else self.by_name[name])
            asf.parents.append(parent)
            waiting.extend((child, len(asf.bones) - 1) for child in reversed(children.get(name, [])))
        if len(asf.bones) == 1:
            raise FormatError("expected bones on the root in :hierarchy, got none", path=self.path)
        reached = {bone.name for bone in asf.bones}
        loops = [name for name in parent_of if name not in reached]
        if loops:
            raise FormatError(
                f"expected every bone of the hierarchy below root, got {loops[0]!r} apart", path=self.path
            )
        if self.last_id > len(self.by_name):
            raise FormatError(
                f"expected {self.last_id} bones according to their ids, got {len(self.by_name)}: the file is truncated",
                path=self.path,
            )
        left = [name for name in self.by_name if name not in parent_of]
        if left:
            some = "1 bone is" if len(left) == 1 else f"{len(left)} bones are"
            asf.notes.append(f"{some} not in the hierarchy and ignored (first {left[0]!r})")
