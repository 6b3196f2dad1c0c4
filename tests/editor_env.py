"""An editor in a process of its own, as people start it, for the tests of its server and its page."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
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


@contextlib.contextmanager
def running_editor(state: Path, *arguments: str, port: int = 0) -> Iterator[Editor]:
    editor = start_editor(state, *arguments, port=port)
    try:
        yield editor
    finally:
        editor.kill()
