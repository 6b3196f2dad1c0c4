"""Open Sound Control 1.0 for untrusted senders: any bytes decode to a list of messages, in bounded time.

Datagrams come from anybody who finds the port. So bundles are parsed with a stack instead of recursion and only to a
small depth, messages and arguments are counted, and whatever does not fit is dropped with the rest of its bundle.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

MAX_BYTES = 65_536
"""Largest UDP datagram."""
MAX_DEPTH = 4
"""Largest nesting of bundles; real senders nest two."""
MAX_MESSAGES = 512
"""Largest number of messages of one datagram: 55 bones, as many blend shapes and trackers, three times over."""
MAX_ARGUMENTS = 64
MAX_TEXT = 1024
"""Bytes of an address or of a text argument."""
BUNDLE = b"#bundle\x00"
IMMEDIATELY = b"\x00\x00\x00\x00\x00\x00\x00\x01"

_INT, _FLOAT, _LONG, _DOUBLE = (struct.Struct(code) for code in (">i", ">f", ">q", ">d"))
_NUMBERS = {"i": _INT, "f": _FLOAT, "h": _LONG, "t": struct.Struct(">Q"), "d": _DOUBLE}
_CONSTANTS = {"T": True, "F": False, "N": None, "I": float("inf")}
_PACKED: dict[str, struct.Struct] = {}
"""Type tags → struct that unpacks a name's floats at once; small, because tags are bounded."""

Argument = int | float | str | bytes | bool | None


class Message(NamedTuple):
    """One message."""

    address: str
    arguments: tuple[Argument, ...]


class Found(NamedTuple):
    """Location of a message in a datagram."""

    address: str
    tags: str
    """Types of the arguments, without the comma."""
    start: int
    """Where the arguments start, bytes."""
    end: int
    """Where the message ends, bytes."""


def decode(data: bytes, found: list[Found] | None = None) -> list[Message]:
    """Return all messages of a datagram, in order, including those of nested bundles; an empty list if it is invalid.

    found: the result of `scan`, if it is known already.
    """
    messages = []
    for address, tags, start, end in scan(data) if found is None else found:
        arguments = _arguments(data, start, end, tags)
        if arguments is not None:
            messages.append(Message(address, arguments))
    return messages


def scan(data: bytes) -> list[Found]:
    """Locate the messages of a datagram; their arguments may still be invalid."""
    found: list[Found] = []
    if not data or len(data) > MAX_BYTES or len(data) % 4:
        return found
    # stack of (start, end, depth) still to be read, the next one last
    waiting = [(0, len(data), 0)]
    budget = 2 * MAX_MESSAGES
    while waiting and len(found) < MAX_MESSAGES and budget > 0:
        budget -= 1
        start, end, depth = waiting.pop()
        if data[start : start + 8] == BUNDLE:
            if depth < MAX_DEPTH and end - start >= 16:
                parts = _parts(data, start + 16, end, depth + 1, budget)
                waiting.extend(reversed(parts))
            continue
        message = _message(data, start, end)
        if message is not None:
            found.append(message)
    return found


def _parts(data: bytes, start: int, end: int, depth: int, most: int) -> list[tuple[int, int, int]]:
    """Return the elements of a bundle, as far as their sizes are valid."""
    parts: list[tuple[int, int, int]] = []
    while start + 4 <= end and len(parts) < most:
        size = _INT.unpack_from(data, start)[0]
        if size <= 0 or size % 4 or start + 4 + size > end:
            break
        parts.append((start + 4, start + 4 + size, depth))
        start += 4 + size
    return parts


def _text(data: bytes, start: int, end: int) -> tuple[str, int] | None:
    """Return a zero-terminated text, padded to four bytes, and where the next item starts."""
    stop = data.find(b"\x00", start, min(end, start + MAX_TEXT))
    if stop < 0:
        return None
    after = stop + 4 - (stop - start) % 4
    if after > end:
        return None
    return data[start:stop].decode("utf-8", "replace"), after


def _message(data: bytes, start: int, end: int) -> Found | None:
    if data[start] != 0x2F:
        return None
    address = _text(data, start, end)
    if address is None:
        return None
    name, place = address
    if place >= end:
        # old senders may omit the type tags: then there are no arguments
        return Found(name, "", end, end)
    tags = _text(data, place, end)
    if tags is None or not tags[0].startswith(",") or len(tags[0]) > MAX_ARGUMENTS + 1:
        return None
    return Found(name, tags[0][1:], tags[1], end)


def _arguments(data: bytes, place: int, end: int, tags: str) -> tuple[Argument, ...] | None:
    """Return the arguments by their tags; None when they do not fit or a tag is unknown."""
    if tags[:1] == "s" and tags[1:].strip("f") == "" and len(tags) <= 16:
        # fast path for a name and floats: nearly all messages
        text = _text(data, place, end)
        if text is None:
            return None
        packed = _PACKED.get(tags)
        if packed is None:
            packed = _PACKED[tags] = struct.Struct(f">{len(tags) - 1}f")
        if text[1] + packed.size > end:
            return None
        return (text[0], *packed.unpack_from(data, text[1]))
    found: list[Argument] = []
    for tag in tags:
        if tag in _NUMBERS:
            number = _NUMBERS[tag]
            if place + number.size > end:
                return None
            found.append(number.unpack_from(data, place)[0])
            place += number.size
        elif tag in "sS":
            text = _text(data, place, end)
            if text is None:
                return None
            found.append(text[0])
            place = text[1]
        elif tag == "b":
            if place + 4 > end:
                return None
            size = _INT.unpack_from(data, place)[0]
            if size < 0 or place + 4 + size > end:
                return None
            found.append(data[place + 4 : place + 4 + size])
            place += 4 + size + -size % 4
        elif tag in "rcm":
            if place + 4 > end:
                return None
            found.append(data[place : place + 4])
            place += 4
        elif tag in _CONSTANTS:
            found.append(_CONSTANTS[tag])
        elif tag not in "[]":
            return None
    return tuple(found)


def text_bytes(text: str) -> bytes:
    """Encode a text as OSC does: UTF-8, a zero, padded to four bytes."""
    data = text.encode("utf-8")
    return data + b"\x00" * (4 - len(data) % 4)


def encode(address: str, *arguments: Argument) -> bytes:
    """Encode one message: integers and floats as 32 bits, texts, bytes, booleans and None."""
    tags, body = ",", b""
    for argument in arguments:
        if isinstance(argument, bool):
            tags += "T" if argument else "F"
        elif argument is None:
            tags += "N"
        elif isinstance(argument, int):
            tags += "i"
            body += _INT.pack(argument)
        elif isinstance(argument, float):
            tags += "f"
            body += _FLOAT.pack(argument)
        elif isinstance(argument, str):
            tags += "s"
            body += text_bytes(argument)
        else:
            tags += "b"
            body += _INT.pack(len(argument)) + argument + b"\x00" * (-len(argument) % 4)
    return text_bytes(address) + text_bytes(tags) + body


def bundle(elements: Iterable[bytes]) -> bytes:
    """Encode a bundle of messages or bundles, for immediate execution."""
    return BUNDLE + IMMEDIATELY + b"".join(_INT.pack(len(element)) + element for element in elements)
