"""Node for the tests that compare with other readers: installs the pinned packages once, runs scripts, gives JSON."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parent / "node"
_STAMP = FOLDER / "node_modules" / ".footplant-stamp"
_LOCK = FOLDER / ".install-lock"


def require_node() -> None:
    """Skip the test where node or npm is absent; else make sure that the pinned packages are there."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not on this machine: the comparison with other readers cannot run")
    if _is_installed():
        return
    with _locked():
        if _is_installed():
            return
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=300)
        if done.returncode:
            pytest.skip(f"npm could not install the packages of tests/node: {done.stderr.strip()[-300:]}")
        _STAMP.write_text(_wanted())


def run_node(script: str, request: Any, timeout: float = 120.0) -> Any:
    """Run a script of tests/node with a JSON request on its input, and give back the JSON that it prints."""
    require_node()
    done = subprocess.run(
        ["node", str(FOLDER / script)], input=json.dumps(request), capture_output=True, text=True, timeout=timeout
    )
    if done.returncode:
        raise AssertionError(f"node {script} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def _wanted() -> str:
    return hashlib.sha256((FOLDER / "package-lock.json").read_bytes()).hexdigest()


def _is_installed() -> bool:
    return _STAMP.is_file() and _STAMP.read_text() == _wanted()


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """One installer at a time, also between the processes of pytest-xdist; a lock of a dead process is taken over."""
    deadline = time.monotonic() + 320
    while True:
        try:
            os.close(os.open(_LOCK, os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            with contextlib.suppress(FileNotFoundError):
                if time.time() - _LOCK.stat().st_mtime > 310:
                    _LOCK.unlink()
            if time.monotonic() > deadline:
                pytest.skip("another process holds the lock of tests/node for too long")
            time.sleep(0.2)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            _LOCK.unlink()
