"""How a BVH file wrote a figure, and what its joints are called."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CHANNEL = re.compile(r"([xyz])[_.]?(pos|rot)[a-z]*", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class BvhLayout:
    """How a BVH file wrote one figure, so that it can be written alike."""

    names: tuple[str, ...]
    """The figure's joints as read; a motion with other joints does not fit this layout."""
    raw_names: tuple[bytes, ...]
    """The same as bytes of the file, not decoded and perhaps not unique."""
    channels: tuple[tuple[str, ...], ...]
    """The channel words of each joint as written, in order."""
    added: tuple[bool, ...]
    """Per joint, whether its position channels are added to OFFSET instead of replacing it."""
    rest_in_offset: bool
    """Whether three further numbers after each OFFSET state the rest pose's turns about x, y and z, degrees."""
    frame_time: str
    """Seconds of a frame as written; "" when the file stated none."""
    number: int
    """Which of the file's ROOTs this is."""


def channel_kind(word: str) -> tuple[int, bool]:
    """Axis (0, 1, 2 for x, y, z) of a channel and whether it turns (else it moves); ValueError when it is none."""
    match = _CHANNEL.fullmatch(word)
    if match is None:
        raise ValueError(f"expected a channel such as Xposition or Zrotation, got {word[:40]!r}")
    return "xyz".index(match[1].lower()), match[2].lower() == "rot"


def decode(raw: bytes) -> str:
    """A name as text: UTF-8 where it is valid, else what Western Windows programs write."""
    for encoding in ("utf-8", "cp1252"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            pass
    return raw.decode("latin-1")


def unique_names(names: list[str], notes: list[str]) -> tuple[str, ...]:
    """The same names with a number behind those that come again, and one for joints that have none."""
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
        notes.append(f"{some} without a name, or with that of another, got a number")
    return tuple(out)
