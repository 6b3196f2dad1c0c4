"""The HIERARCHY section of a BVH file and the start of its MOTION section.

Real files vary in everything but the order of keywords, so this reads words, not lines: only a joint's name extends to
the end of its line (it may contain spaces).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from footplant.errors import FormatError
from footplant.io.bvh.layout import channel_kind

MAX_JOINTS = 20_000
MAX_DEPTH = 2_000
MAX_ROOTS = 256
MAX_CHANNELS = 12
"""Per joint; real files have 0 to 6 (9 with scales)."""
MAX_LENGTH = 1e12
"""Largest valid number, in file units; beyond it squares lose precision."""
MAX_CACHED = 1 << 18
"""Largest HIERARCHY that is cached, bytes: larger than any character's, but small enough for the cache."""
DEFAULT_FPS = 30.0
"""Hz; used if a file states no frame time, or 0."""

_MOTION = re.compile(rb"MOTION(?=[\x00-\x20])")
_WORD = re.compile(rb"[\x00-\x20]*([{}]|[^\x00-\x20{}]+)")
_NAME = re.compile(rb"[^\r\n{]*")
_FRAMES = re.compile(rb"[\x00-\x20]*frames?[ \t]*(?::[ \t]*|[ \t]+)([^\x00-\x20]{1,64})", re.IGNORECASE)
_FRAME_TIME = re.compile(rb"[\x00-\x20]*frame[ \t_]*time[ \t]*(?::[ \t]*|[ \t]+)([^\x00-\x20]{1,64})", re.IGNORECASE)


@dataclass
class Joint:
    """One ROOT or JOINT block of the file."""

    raw_name: bytes
    parent: int
    """Index among all joints of the file, −1 for a ROOT."""
    offset: tuple[float, ...] = (0.0, 0.0, 0.0)
    rest: tuple[float, ...] | None = None
    """Three further numbers after OFFSET (some exporters write rest rotations about x, y, z there), degrees."""
    channels: tuple[str, ...] = ()
    """The keywords as written, e.g. "Xposition"."""
    kinds: tuple[tuple[int, bool], ...] = ()
    """Per channel: axis (0, 1, 2 for x, y, z) and whether it is a rotation."""
    ends: list[tuple[float, ...]] = field(default_factory=list)


@dataclass
class Header:
    """Everything before the rows of numbers."""

    joints: list[Joint]
    declared: int | None
    """Number of frames as stated, or None."""
    frame_time: str
    """Seconds as written; "" if missing or 0."""
    fps: float
    data_start: int
    """Offset of the rows of numbers, bytes."""
    notes: list[str]


class Scanner:
    """Reads the bytes of a file word by word and reports positions for errors."""

    def __init__(self, data: bytes, path: str | Path | None) -> None:
        self.data = data
        self.path = path
        self.at = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        self.word_at = self.at

    def line(self, at: int) -> int:
        """Return the line number of a byte; CR, LF and CRLF each end one line."""
        data = self.data
        pairs = data.count(b"\r\n", 0, at)
        return 1 + data.count(b"\n", 0, at) + data.count(b"\r", 0, at) - pairs

    def error(self, message: str, at: int | None = None) -> FormatError:
        """Return an error that names file and line."""
        place = min(self.word_at if at is None else at, len(self.data))
        return FormatError(message, path=self.path, where=f"line {self.line(place)}")

    def word(self) -> bytes | None:
        """Return the next word or brace; None at the end."""
        match = _WORD.match(self.data, self.at)
        if match is None:
            self.word_at = len(self.data)
            return None
        self.word_at, self.at = match.start(1), match.end()
        return match[1]

    def expect(self, what: str) -> bytes:
        """Return the next word; raise `FormatError` at the end of the file."""
        word = self.word()
        if word is None:
            raise self.error(f"expected {what}, got the end of the file")
        return word

    def peek(self) -> bytes | None:
        """Return the next word without consuming it."""
        match = _WORD.match(self.data, self.at)
        return None if match is None else match[1]

    def name(self) -> bytes:
        """Return the rest of the line, up to an opening brace."""
        match = _NAME.match(self.data, self.at)
        self.at = match.end()  # type: ignore[union-attr]
        return match[0].strip()  # type: ignore[union-attr]

    def open_brace(self, what: bytes) -> None:
        """Consume the brace that opens a block."""
        word = self.expect(f"'{{' after {show(what)}")
        if word != b"{":
            raise self.error(f"expected '{{' after {show(what)}, got {show(word)}")

    def numbers(self, what: str) -> tuple[float, ...]:
        """Return all numbers up to the next word that is not one: three to six, finite."""
        found: list[float] = []
        while (value := _number(self.peek())) is not None:
            self.word()
            if not math.isfinite(value) or abs(value) > MAX_LENGTH:
                raise self.error(f"expected a finite length after {what}, got {value}")
            found.append(value)
            if len(found) > 6:
                raise self.error(f"expected 3 numbers after {what}, got more than 6")
        if len(found) < 3:
            word = self.word()
            raise self.error(f"expected 3 numbers after {what}, got {len(found)} and then {show(word)}")
        return tuple(found)


def show(word: bytes | None) -> str:
    """Return a word for an error message: quoted, short, printable."""
    if word is None:
        return "the end of the file"
    return repr(word[:40].decode("latin-1") + ("…" if len(word) > 40 else ""))


def _number(word: bytes | None) -> float | None:
    if word is None or b"_" in word or len(word) > 400:
        return None
    try:
        return float(word)
    except ValueError:
        return None


def read_header(data: bytes, path: str | Path | None) -> Header:
    """Read everything up to the rows of numbers."""
    scanner = Scanner(data, path)
    end = _MOTION.search(data, 0, MAX_CACHED)
    known = _cached_hierarchy(data[: end.end()]) if end else None
    if known and end:
        scanner.at = end.end()
    joints, notes = known or _read_hierarchy(scanner)
    return _read_motion_head(scanner, list(joints), list(notes))


@lru_cache(maxsize=16)
def _cached_hierarchy(hierarchy: bytes) -> tuple[list[Joint], list[str]] | None:
    """Return the joints of a HIERARCHY, which all clips of a character share; None if it is invalid."""
    try:
        return _read_hierarchy(Scanner(hierarchy, None))
    except FormatError:
        return None


def _read_hierarchy(scanner: Scanner) -> tuple[list[Joint], list[str]]:
    """Return the joints of all ROOTs, reading up to and including MOTION, and notes."""
    notes: list[str] = []
    joints: list[Joint] = []
    word = scanner.expect("HIERARCHY")
    if word.upper() == b"HIERARCHY":
        word = scanner.expect("ROOT")
    elif word.upper() != b"ROOT":
        raise scanner.error(f"expected HIERARCHY, got {show(word)}; is this a BVH file?")
    roots = 0
    while word.upper() == b"ROOT":
        roots += 1
        if roots > MAX_ROOTS:
            raise scanner.error(f"expected at most {MAX_ROOTS} ROOTs, got more")
        _read_root(scanner, joints, notes)
        word = scanner.expect("MOTION after the joints")
    if word.upper() != b"MOTION":
        raise scanner.error(f"expected MOTION or another ROOT after the joints, got {show(word)}")
    if not joints:
        raise scanner.error("expected at least one ROOT before MOTION, got none")
    return joints, notes


def _read_root(scanner: Scanner, joints: list[Joint], notes: list[str]) -> None:
    """Read one ROOT with its descendants. `open_joints` is the path from the root to the current block."""
    first = len(joints)
    joints.append(Joint(scanner.name(), -1))
    scanner.open_brace(b"ROOT")
    open_joints = [first]
    seen: list[set[str]] = [set()]
    bare: list[Joint] = []
    while open_joints:
        joint = joints[open_joints[-1]]
        word = scanner.expect(f"OFFSET, CHANNELS, JOINT, End Site or '}}' in the block of {show(joint.raw_name)}")
        upper = word.upper()
        if upper == b"}":
            if "offset" not in seen.pop():
                bare.append(joint)
            open_joints.pop()
        elif upper == b"OFFSET":
            _only_once(scanner, seen[-1], "offset", joint)
            values = scanner.numbers("OFFSET")
            joint.offset = values[:3]
            if len(values) == 6:
                joint.rest = values[3:]
            elif len(values) > 3:
                raise scanner.error(f"expected 3 numbers after OFFSET, got {len(values)}")
        elif upper == b"CHANNELS":
            _only_once(scanner, seen[-1], "channels", joint)
            _read_channels(scanner, joint)
        elif upper == b"JOINT":
            if len(joints) >= MAX_JOINTS or len(open_joints) >= MAX_DEPTH:
                raise scanner.error(f"expected at most {MAX_JOINTS} joints, {MAX_DEPTH} deep, got more")
            joints.append(Joint(scanner.name(), open_joints[-1]))
            scanner.open_brace(b"JOINT")
            open_joints.append(len(joints) - 1)
            seen.append(set())
        elif upper == b"END":
            _read_end(scanner, joint)
        else:
            raise scanner.error(f"expected OFFSET, CHANNELS, JOINT, End Site or '}}', got {show(word)}")
    if bare:
        have = "1 joint has" if len(bare) == 1 else f"{len(bare)} joints have"
        notes.append(f"{have} no OFFSET (first {show(bare[0].raw_name)}); 0 0 0 was assumed")


def _only_once(scanner: Scanner, seen: set[str], what: str, joint: Joint) -> None:
    """Raise `FormatError` if a keyword occurs twice in a block."""
    if what in seen:
        raise scanner.error(f"expected one {what.upper()} in the block of {show(joint.raw_name)}, got a second")
    seen.add(what)


def _read_channels(scanner: Scanner, joint: Joint) -> None:
    word = scanner.expect("the number of channels")
    if not (word.isdigit() and len(word) < 4 and int(word) <= MAX_CHANNELS):
        raise scanner.error(f"expected a number of channels from 0 to {MAX_CHANNELS}, got {show(word)}")
    channels, kinds = [], []
    for _ in range(int(word)):
        channel = scanner.expect("a channel such as Xrotation").decode("latin-1")
        try:
            kinds.append(channel_kind(channel))
        except ValueError as error:
            raise scanner.error(str(error)) from None
        channels.append(channel)
    joint.channels, joint.kinds = tuple(channels), tuple(kinds)


def _read_end(scanner: Scanner, joint: Joint) -> None:
    """Read `End Site { OFFSET x y z }`; the rest of the line after "End" and CHANNELS 0 are ignored."""
    scanner.name()
    scanner.open_brace(b"End Site")
    offset: tuple[float, ...] | None = None
    while True:
        word = scanner.expect("OFFSET or '}' in an End Site")
        upper = word.upper()
        if upper == b"}":
            break
        if upper == b"OFFSET" and offset is None:
            offset = scanner.numbers("OFFSET")[:3]
        elif upper == b"CHANNELS" and scanner.peek() == b"0":
            scanner.word()
        else:
            raise scanner.error(f"expected OFFSET and '}}' in an End Site, got {show(word)}")
    joint.ends.append(offset or (0.0, 0.0, 0.0))


def _read_motion_head(scanner: Scanner, joints: list[Joint], notes: list[str]) -> Header:
    """Read "Frames:" and "Frame Time:", in either order and both optional."""
    declared: int | None = None
    text: str | None = None
    while True:
        if text is None and (match := _FRAME_TIME.match(scanner.data, scanner.at)):
            text = match[1].decode("latin-1")
            time_at = match.start(1)
        elif declared is None and (match := _FRAMES.match(scanner.data, scanner.at)):
            word = match[1]
            if not (word.isdigit() and len(word) < 16):
                raise scanner.error(f"expected a number of frames, got {show(word)}", match.start(1))
            declared = int(word)
        else:
            break
        scanner.at = match.end()
    fps = DEFAULT_FPS
    if text is None:
        notes.append(f"no frame time is stated; {DEFAULT_FPS:g} frames per second were assumed")
    else:
        seconds = _number(text.encode("latin-1"))
        if seconds is None or not math.isfinite(seconds) or seconds < 0 or 0 < seconds < 1e-12 or seconds > 1e12:
            raise scanner.error(f"expected a frame time in seconds, got {text!r}", time_at)
        if seconds == 0:
            notes.append(f"the frame time is stated as {text}; {DEFAULT_FPS:g} frames per second were assumed")
            text = ""
        else:
            fps = 1.0 / seconds
    if declared is None:
        if scanner.peek() is None:
            raise scanner.error("expected 'Frames:' and rows of numbers after MOTION, got the end of the file",
                                len(scanner.data))  # fmt: skip
        notes.append("the number of frames is not stated; all rows were read")
    return Header(joints, declared, text or "", fps, scanner.at, notes)
