"""How a BVH file stores a character, and joint names."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CHANNEL = re.compile(r"([xyz])[_.]?(pos|rot)[a-z]*", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class BvhLayout:
    """How a BVH file stores one character, so that it can be written in the same way."""

    names: tuple[str, ...]
    """Joint names as read; a motion with other joints does not match this layout."""
    raw_names: tuple[bytes, ...]
    """The names as bytes in the file, which may not be unique."""
    channels: tuple[tuple[str, ...], ...]
    """Channel keywords of each joint as written, in order."""
    added: tuple[bool, ...]
    """Per joint, whether its position channels are added to OFFSET instead of replacing it."""
    rest_in_offset: bool
    """Whether three further numbers after each OFFSET state rest rotations about x, y and z, degrees."""
    frame_time: str
    """Frame time in seconds as written; "" if the file states none."""
    number: int
    """Index among the file's ROOTs."""


def channel_kind(word: str) -> tuple[int, bool]:
    """Return a channel's axis (0, 1, 2 for x, y, z) and whether it is a rotation; raise ValueError if it is invalid."""
    match = _CHANNEL.fullmatch(word)
    if match is None:
        raise ValueError(f"expected a channel such as Xposition or Zrotation, got {word[:40]!r}")
    return "xyz".index(match[1].lower()), match[2].lower() == "rot"


def decode(raw: bytes) -> str:
    """Return a name as text: UTF-8 if valid, else Windows-1252 or Latin-1."""
    for encoding in ("utf-8", "cp1252"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            pass
    return raw.decode("latin-1")


def unique_names(names: list[str], notes: list[str]) -> tuple[str, ...]:
    """Return the names with a number added to duplicates and to empty ones."""
    taken, numbers = set(names), {}
    out, changed, seen = [], 0, set()
    for joint, name in enumerate(names):
        unique = name
        if not name or name in seen:
            stem = name or "joint"
            number = numbers.get(stem, 2 if name else joint)
            while f"{stem}_{number}" in taken:
                number += 1
            unique = f"{stem}_{number}"
            numbers[stem] = number + 1
            changed += 1
        taken.add(unique)
        seen.add(unique)
        out.append(unique)
    if changed:
        some = "1 joint" if changed == 1 else f"{changed} joints"
        notes.append(f"{some} with an empty or duplicate name got a number")
    return tuple(out)
