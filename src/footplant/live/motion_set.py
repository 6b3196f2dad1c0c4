"""The motion set of a controller, as described by a TOML file: gaits, idles and actions."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from footplant.errors import FormatError
from footplant.text_files import parse_toml, read_text

MAX_FILE_BYTES = 16 * 2**20
"""A larger file is no motion set."""
SET = "set:"
"""Prefix of motion sets that ship with the package: set:samples."""
EFFECTORS = ("left_foot", "right_foot", "left_hand", "right_hand")
"""What an action can aim."""
STEP = "step"
"""The request for a step onto a place; no motion may have this name."""
TURN_RATE = 0.8
"""Radians per second by which a gait is steered to a side for which it has no clip."""


@dataclass(frozen=True)
class Gait:
    """A gait, played as a loop in phase with all other gaits."""

    clip: str
    """File or sample:NAME."""
    loop: tuple[float, float] | None = None
    """Seconds at which a cycle starts and ends; None: detected."""
    left: str | None = None
    """Clip of the same gait turning left; None: the gait is steered."""
    right: str | None = None
    """Clip of the same gait turning right."""
    turn: float = TURN_RATE
    """Radians per second by which it is steered where a side has no clip."""
    left_loop: tuple[float, float] | None = None
    """Seconds at which a cycle of the left turn starts and ends in its clip; None: detected."""
    right_loop: tuple[float, float] | None = None
    """The same of the right turn."""


@dataclass(frozen=True)
class Idle:
    """An idle: a whole clip, looped on the spot."""

    clip: str


@dataclass(frozen=True)
class Action:
    """A clip that is played once; then the previous gait or idle continues."""

    clip: str
    start: float = 0.0
    """Seconds in the clip at which it starts."""
    stop: float | None = None
    """Seconds in the clip at which it ends; None: the clip's end."""
    wait: float = 0.5
    """Seconds that a gait may continue until its pose matches the start of the action; 0: start at once."""
    interruptible: bool = True
    """Whether another request interrupts it, or waits until it is over."""
    effector: str | None = None
    """What is aimed: left_foot, right_foot, left_hand or right_hand; None: detected, the limb that moves fastest."""
    key: float | None = None
    """Seconds in the clip at which the effector is at what it is aimed at; None: detected."""


@dataclass(frozen=True)
class MotionSet:
    """The motions of a character."""

    name: str
    gaits: Mapping[str, Gait]
    idles: Mapping[str, Idle] = field(default_factory=dict)
    actions: Mapping[str, Action] = field(default_factory=dict)
    character: str | None = None
    """File or sample:NAME of the character for all clips; None: the first clip's own."""
    reference: str | None = None
    """The gait that all others are registered to; None: chosen automatically."""
    begin: str | None = None
    """The first motion; None: the first idle, else the first gait."""
    fade: float = 0.5
    """Seconds of a transition at least; longer where speeds or headings differ too much for the clips' own
    accelerations."""
    folder: Path | None = None
    """Folder of clips with relative names."""

    def clips(self) -> list[str]:
        """Return every clip name once."""
        found = [name for gait in self.gaits.values() for name in (gait.clip, gait.left, gait.right)]
        found += [entry.clip for table in (self.idles, self.actions) for entry in table.values()]
        return list(dict.fromkeys(name for name in found if name is not None))

    def names(self) -> list[str]:
        """Return everything that can be requested."""
        return [*self.gaits, *self.idles, *self.actions]


_KEYS = {
    "": {"name", "character", "reference", "begin", "fade", "gaits", "idles", "actions"},
    "gaits": {"clip", "loop", "left", "right", "turn", "left_loop", "right_loop"},
    "idles": {"clip"},
    "actions": {"clip", "start", "stop", "wait", "interruptible", "effector", "key"},
}


def load_set(path: str | Path) -> MotionSet:
    """Read a set from a TOML file, or one that ships with the package ("set:samples")."""
    if str(path).startswith(SET):
        name = str(path).removeprefix(SET)
        shipped = sorted(
            entry.name.removesuffix(".toml") for entry in files("footplant.live").joinpath("sets").iterdir()
        )
        if name not in shipped:
            raise FormatError(f"expected a set among {', '.join(SET + one for one in shipped)}, got {str(path)!r}")
        text = files("footplant.live").joinpath("sets", f"{name}.toml").read_text(encoding="utf-8")
        return read_set(text, where=str(path))
    text = read_text(path, MAX_FILE_BYTES, "a set")
    return read_set(text, where=str(path), folder=Path(path).parent)


def read_set(text: str, *, where: str = "set", folder: Path | None = None) -> MotionSet:
    """Parse a set from TOML text; every error says where it is and what was expected."""
    data = parse_toml(text, where)
    _check_keys(data, "", where, "")
    tables = {kind: _tables(data, kind, where) for kind in ("gaits", "idles", "actions")}
    seen: set[str] = set()
    for kind, table in tables.items():
        for name in table:
            if name in seen:
                raise FormatError(f"expected every name once, got {name!r} again", path=where, where=f"[{kind}.{name}]")
            if name == STEP:
                raise FormatError(
                    f"expected another name: {STEP!r} puts a foot on a place", path=where, where=f"[{kind}.{name}]"
                )
            seen.add(name)
    if not tables["gaits"]:
        raise FormatError("expected at least one gait, as in [gaits.walk], got none", path=where)
    fade = _number(data, "fade", where, "", least=0.05, usual=0.5)
    found = MotionSet(
        name=_text(data, "name", where, "") or Path(where).stem,
        gaits={name: _gait(entry, where, f"[gaits.{name}]") for name, entry in tables["gaits"].items()},
        idles={name: Idle(_clip(entry, where, f"[idles.{name}]")) for name, entry in tables["idles"].items()},
        actions={name: _action(entry, where, f"[actions.{name}]") for name, entry in tables["actions"].items()},
        character=_text(data, "character", where, ""),
        reference=_text(data, "reference", where, ""),
        begin=_text(data, "begin", where, ""),
        fade=fade,
        folder=folder,
    )
    for key, among in (("reference", list(found.gaits)), ("begin", [*found.gaits, *found.idles])):
        wanted = getattr(found, key)
        if wanted is not None and wanted not in among:
            raise FormatError(f"expected {key} to be one of {', '.join(among)}, got {wanted!r}", path=where, where=key)
    return found


def _tables(data: Mapping[str, Any], kind: str, where: str) -> dict[str, Mapping[str, Any]]:
    table = data.get(kind, {})
    if not isinstance(table, dict) or not all(isinstance(entry, dict) for entry in table.values()):
        raise FormatError(f"expected tables such as [{kind}.name], got {table!r}", path=where, where=f"[{kind}]")
    for name, entry in table.items():
        _check_keys(entry, kind, where, f"[{kind}.{name}]")
    return table


def _check_keys(table: Mapping[str, Any], kind: str, where: str, place: str) -> None:
    for key in table:
        if key not in _KEYS[kind]:
            near = difflib.get_close_matches(key, _KEYS[kind], 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            expected = ", ".join(sorted(_KEYS[kind]))
            raise FormatError(f"expected keys among {expected}; got {key!r}{hint}", path=where, where=place or None)


def _text(table: Mapping[str, Any], key: str, where: str, place: str) -> str | None:
    value = table.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise FormatError(f"expected {key} to be a text, got {value!r}", path=where, where=place or None)
    return value


def _clip(table: Mapping[str, Any], where: str, place: str) -> str:
    found = _text(table, "clip", where, place)
    if found is None:
        raise FormatError("expected clip = a file or sample:NAME, got none", path=where, where=place)
    return found


def _number(
    table: Mapping[str, Any], key: str, where: str, place: str, *, least: float = 0.0, usual: float | None = None
) -> Any:
    value = table.get(key, usual)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < least:
        raise FormatError(
            f"expected {key} to be a number of {least:g} or more, got {value!r}", path=where, where=place or None
        )
    return float(value)


def _gait(table: Mapping[str, Any], where: str, place: str) -> Gait:
    loops = [_interval(table, key, where, place) for key in ("loop", "left_loop", "right_loop")]
    left, right = (_text(table, side, where, place) for side in ("left", "right"))
    turn = _number(table, "turn", where, place, usual=TURN_RATE)
    return Gait(_clip(table, where, place), loops[0], left, right, turn, loops[1], loops[2])


def _interval(table: Mapping[str, Any], key: str, where: str, place: str) -> tuple[float, float] | None:
    loop = table.get(key)
    if loop is None:
        return None
    numbers = isinstance(loop, list) and len(loop) == 2 and all(isinstance(n, int | float) for n in loop)
    if not numbers or not 0 <= loop[0] < loop[1]:
        raise FormatError(f"expected {key} = [start, stop] in seconds, got {loop!r}", path=where, where=place)
    return (float(loop[0]), float(loop[1]))


def _action(table: Mapping[str, Any], where: str, place: str) -> Action:
    start = _number(table, "start", where, place, usual=0.0)
    stop = _number(table, "stop", where, place)
    if stop is not None and stop <= start:
        raise FormatError(f"expected stop after start, got {stop:g} and {start:g} s", path=where, where=place)
    interruptible = table.get("interruptible", True)
    if not isinstance(interruptible, bool):
        raise FormatError(f"expected interruptible = true or false, got {interruptible!r}", path=where, where=place)
    wait = _number(table, "wait", where, place, usual=0.5)
    effector, key = _text(table, "effector", where, place), _number(table, "key", where, place)
    if effector is not None and effector not in EFFECTORS:
        raise FormatError(f"expected effector among {', '.join(EFFECTORS)}; got {effector!r}", path=where, where=place)
    return Action(_clip(table, where, place), start, stop, wait, interruptible, effector, key)
