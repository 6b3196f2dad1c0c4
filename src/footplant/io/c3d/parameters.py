"""The header block and the parameters of a C3D file, for all processor types.

The C3D User Guide (Motion Lab Systems, 2008): chapters "The C3D header section" and "The C3D parameter section".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError

BLOCK = 512
"""Bytes; sections start at multiples of it, numbered from 1."""
KEY = 0x50
"""The second byte of every C3D file."""
INTEL, DEC, MIPS = 84, 85, 86
"""Processor types as files state them: little-endian IEEE, VAX, big-endian IEEE."""
EVENTS_KEY = 12345
"""Word 150 of the header block if it contains events."""
SIZES = {-1: 1, 1: 1, 2: 2, 4: 4}
"""Parameter type → bytes per value: text, byte, integer, float."""


@dataclass(frozen=True)
class Parameter:
    """One named array of the parameter section."""

    kind: int
    """-1 text, 1 byte, 2 16-bit integer, 4 float."""
    shape: tuple[int, ...]
    """Dimensions, fastest-varying first; empty for a single value."""
    data: bytes
    processor: int

    def numbers(self) -> NDArray:
        """Return all values as float64; empty for text."""
        if self.kind == 4:
            return read_floats(self.data, self.processor).astype(float)
        if self.kind == 2:
            return np.frombuffer(self.data, integer_type(self.processor)).astype(float)
        return np.frombuffer(self.data, np.uint8).astype(float) if self.kind == 1 else np.zeros(0)

    def texts(self) -> list[str]:
        """Return one string per run of the first dimension, without padding; empty for numbers."""
        if self.kind != -1:
            return []
        length = self.shape[0] if self.shape else 1
        if length == 0:
            return [""] * (self.shape[1] if len(self.shape) > 1 else 1)
        return [decode(self.data[at : at + length]) for at in range(0, len(self.data), length)]


@dataclass
class C3dHeader:
    """The contents of the header block and the parameter section."""

    processor: int
    points: int
    """Points per frame."""
    analog: int
    """Analog values per frame."""
    first: int
    last: int
    scale: float
    """File units per integer step; negative: the data are floats."""
    data_start: int
    """Block where the data start, from 1; 0 if not stated."""
    rate: float
    """Frames per second."""
    parameters: dict[tuple[str, str], Parameter] = field(default_factory=dict)
    """(group, name) → parameter; upper case."""
    parameters_end: int = 0
    """Offset after the last parameter, bytes."""
    events: list[tuple[str, float]] = field(default_factory=list)
    """Labels and times, seconds, of the events in the header block."""
    broken: str = ""
    """Where the chain of parameters breaks; "" if it is intact."""
    notes: list[str] = field(default_factory=list)

    def number(self, group: str, name: str) -> float | None:
        """Return the first value of a numeric parameter; None if it is missing or not finite."""
        values = self.numbers(group, name)
        return float(values[0]) if len(values) and np.isfinite(values[0]) else None

    def numbers(self, group: str, name: str) -> NDArray:
        """Return all values of a numeric parameter; empty if it is missing."""
        found = self.parameters.get((group, name))
        return np.zeros(0) if found is None else found.numbers()

    def texts(self, group: str, name: str, most: int) -> list[str]:
        """Return up to `most` strings of a parameter and its continuations NAME2, NAME3 … (one holds at most 255)."""
        found: list[str] = []
        number = 1
        while len(found) < most:
            parameter = self.parameters.get((group, name if number == 1 else f"{name}{number}"))
            if parameter is None:
                break
            found.extend(parameter.texts())
            number += 1
        return found[:most]


def decode(text: bytes) -> str:
    """Return a name as text: UTF-8 if valid, else Latin-1; without spaces and anything after a NUL byte."""
    text = text.partition(b"\0")[0].strip()
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


def integer_type(processor: int) -> str:
    """Return the dtype of 16-bit integers."""
    return ">i2" if processor == MIPS else "<i2"


def float_type(processor: int) -> str:
    """Return the dtype of 32-bit IEEE floats; VAX floats have none, see `from_vax`."""
    return ">f4" if processor == MIPS else "<f4"


def read_floats(data: bytes | NDArray, processor: int) -> NDArray:
    """Return 32-bit floats: a view for IEEE processors, converted for the VAX."""
    if processor != DEC:
        return np.frombuffer(data, float_type(processor))
    return from_vax(np.frombuffer(data, "<u2").reshape(-1, 2))


def from_vax(halves: NDArray) -> NDArray:
    """Convert VAX F floats (…, 2) of 16-bit halves to IEEE: swap the halves and reduce the exponent by two."""
    bits = (halves[..., 0].astype(np.uint32) << 16) | halves[..., 1]
    small = (bits & 0x7F800000) < (3 << 23)
    bits -= np.uint32(2 << 23)
    bits[small] = 0
    return bits.view(np.float32)


def read_header(data: bytes, path: str | Path | None) -> C3dHeader:
    """Read the header block and all parameters; damage to the parameter section is reported in `broken`."""
    if len(data) < BLOCK:
        raise FormatError(f"expected a C3D file of {BLOCK} bytes or more, got {len(data)}", path=path)
    if data[1] != KEY:
        raise FormatError(f"expected the C3D key 0x50, got {data[1]:#04x}", path=path, where="byte 1")
    start = (data[0] - 1) * BLOCK
    if data[0] < 1 or start + 4 > len(data):
        raise FormatError(
            f"expected a parameter section in the file of {len(data)} bytes, got block {data[0]}", path=path,
            where="byte 0",
        )  # fmt: skip
    processor = data[start + 3]
    if processor not in (INTEL, DEC, MIPS):
        raise FormatError(
            f"expected processor 84 (Intel), 85 (DEC) or 86 (MIPS), got {processor}", path=path,
            where=f"byte {start + 3}",
        )  # fmt: skip
    words = np.frombuffer(data, integer_type(processor).replace("i", "u"), count=12).tolist()
    scale, rate = read_floats(data[12:16] + data[20:24], processor).tolist()
    head = C3dHeader(processor, words[1], words[2], words[3], words[4], scale, words[8], rate)
    head.events = _header_events(data, processor)
    _read_parameters(data, start + 4, head)
    return head


def _header_events(data: bytes, processor: int) -> list[tuple[str, float]]:
    """Return up to 18 events with four-letter labels, if words 150 and 151 announce them."""
    key, count = np.frombuffer(data, integer_type(processor), count=2, offset=298).tolist()
    if key != EVENTS_KEY or not 0 < count <= 18:
        return []
    times = read_floats(data[304 : 304 + 4 * count], processor).tolist()
    return [(decode(data[396 + 4 * n : 400 + 4 * n]), time) for n, time in enumerate(times) if np.isfinite(time)]


def _read_parameters(data: bytes, start: int, head: C3dHeader) -> None:
    """Read the linked list of groups and parameters; every step is checked against the available bytes."""
    # if the data section follows, its start ends the parameters, whatever they state
    data_at = (head.data_start - 1) * BLOCK
    limit = min(len(data), data_at) if data_at >= start else len(data)
    order = "big" if head.processor == MIPS else "little"
    groups: dict[int, str] = {}
    found: list[tuple[int, str, Parameter]] = []
    at = start
    while at + 2 <= limit:
        length = abs(int.from_bytes(data[at : at + 1], "little", signed=True))
        group = int.from_bytes(data[at + 1 : at + 2], "little", signed=True)
        if length == 0:
            break
        name = decode(data[at + 2 : at + 2 + length]).upper()
        pointer = at + 2 + length
        if pointer + 3 > limit:
            head.broken = f"the entry {name!r} at byte {at} extends beyond the section"
            break
        step = int.from_bytes(data[pointer : pointer + 2], order)
        if group < 0:
            groups.setdefault(-group, name)
        else:
            # values end before the next entry: wrong sizes cannot make bytes be read twice
            end = min(limit, pointer + step) if step else limit
            parameter = _read_parameter(data, pointer + 2, end, head.processor)
            if parameter is None:
                head.broken = f"the parameter {name!r} at byte {at} does not fit"
                break
            found.append((group, name, parameter))
        at = pointer + step
        if step == 0:
            break
        if step < 3:
            head.broken = f"the entry {name!r} points to itself"
            break
    else:
        head.broken = "its last entry points beyond it" if at > limit else ""
    head.parameters_end = min(max(at, start), limit)
    for group, name, parameter in found:
        head.parameters.setdefault((groups.get(group, ""), name), parameter)


def _read_parameter(data: bytes, at: int, limit: int, processor: int) -> Parameter | None:
    """Return type, dimensions and values of a parameter; None if they are invalid."""
    if at + 2 > limit:
        return None
    kind = int.from_bytes(data[at : at + 1], "little", signed=True)
    sizes = data[at + 1]
    if kind not in SIZES or at + 2 + sizes > limit:
        return None
    shape = tuple(data[at + 2 : at + 2 + sizes])
    # Python integers: 255 dimensions of 255 each do not overflow
    count = SIZES[kind] * prod(shape)
    begin = at + 2 + sizes
    if begin + count > limit:
        return None
    return Parameter(kind, shape, data[begin : begin + count], processor)
