"""An editor in a process of its own, as people start it, for the tests of its server and its page."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict
from urllib.parse import urlsplit

import numpy as np

from footplant.editor import wire


@dataclass(eq=False)
class Editor:
    """A server that runs."""

    process: subprocess.Popen
    address: str

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 0

    @property
    def token(self) -> str:
        return urlsplit(self.address).path.strip("/")

    def socket_address(self, session: str | None = None) -> str:
        end = "" if session is None else f"?session={session}"
        return f"ws://127.0.0.1:{self.port}/{self.token}/talk{end}"

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=10)


def start_editor(state: Path, *arguments: str, port: int = 0) -> Editor:
    """Start `footplant edit` and wait for its address."""
    command = [sys.executable, "-m", "footplant", "edit", *arguments, "--no-browser", "--json", "--port", str(port)]
    environment = {**os.environ, "FOOTPLANT_STATE": str(state)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if line.rstrip() == "}":
            return Editor(process, json.loads(said)["address"])
    raise AssertionError(f"the editor did not start: {said!r}, exit code {process.wait(10)}")


def decode_poses(data: bytes) -> tuple[dict[str, int], np.ndarray, np.ndarray]:
    """Decode poses: header fields, positions (n, J, 3), quaternions (n, J, 4) with w first."""
    kind, layer, sequence, first, frames, joints, _, _ = np.frombuffer(data[:32], "<u4").tolist()
    assert kind == wire.POSES
    assert len(data) == 32 + 4 * frames * joints * 7
    numbers = np.frombuffer(data[32:], "<f4")
    positions = numbers[: frames * joints * 3].reshape(frames, joints, 3)
    turns = numbers[frames * joints * 3 :].reshape(frames, joints, 4)
    fields = {"layer": layer, "sequence": sequence, "first": first, "frames": frames, "joints": joints}
    return fields, positions, turns[..., [3, 0, 1, 2]]


def mismatch(value: Any, kind: Any, where: str = "message") -> str | None:
    """Return where a JSON-ready value differs from a type, as one sentence; None if it fits."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in (Any, object):
        return None
    if origin is NotRequired:
        return mismatch(value, inner[0], where)
    if is_typeddict(kind):
        if not isinstance(value, dict):
            return f"{where}: expected a table, got {value!r}"
        hints = get_type_hints(kind, include_extras=True)
        # the keys that a class says are required are wrong where annotations are strings, as in this file
        required = {key for key, part in hints.items() if get_origin(part) is not NotRequired}
        missing, extra = required - set(value), set(value) - set(hints)
        if missing or extra:
            return f"{where}: missing {sorted(missing)}, unknown {sorted(extra)}"
        return next((text for key in value if (text := mismatch(value[key], hints[key], f"{where}.{key}"))), None)
    if origin is Literal:
        return None if value in inner else f"{where}: expected one of {inner}, got {value!r}"
    if origin in (Union, types.UnionType):
        return None if any(mismatch(value, part) is None for part in inner) else f"{where}: got {value!r}"
    if origin is list and isinstance(value, list | tuple):
        return next((text for n, each in enumerate(value) if (text := mismatch(each, inner[0], f"{where}[{n}]"))), None)
    if origin is tuple and isinstance(value, list | tuple) and len(value) == len(inner):
        return next((text for each, part in zip(value, inner) if (text := mismatch(each, part, where))), None)
    if origin is dict and isinstance(value, dict):
        return next((text for each in value.values() if (text := mismatch(each, inner[1], where))), None)
    accepted = {float: (int, float), int: int, str: str, bool: bool, type(None): type(None)}.get(kind, ())
    if isinstance(value, accepted) and not (isinstance(value, bool) and kind in (int, float)):
        return None
    return f"{where}: expected {kind}, got {value!r}"


@contextlib.contextmanager
def running_editor(state: Path, *arguments: str, port: int = 0) -> Iterator[Editor]:
    editor = start_editor(state, *arguments, port=port)
    try:
        yield editor
    finally:
        editor.kill()
