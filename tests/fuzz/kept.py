"""The kept corpus: small inputs that reach every corner of a parser that fuzzing has found, replayed by the suite.

They lie in `corpus/NAME/` beside this file, one folder a target, and are all made by ourselves: seeds and what the
fuzzer made of them. `run.py --grow` adds to them.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType

FOLDER = Path(__file__).resolve().parent / "corpus"
MOST_BYTES = 4096
"""Larger inputs are not kept, unless they fail."""
MOST_FILES = 80
"""Inputs kept of one target."""


PARSERS = ("footplant/io", "footplant/live/protocols")
"""Where parsers are: ways through other code do not count."""


def kept(name: str) -> list[Path]:
    """The inputs that are kept of a target."""
    folder = FOLDER / name
    return sorted(folder.iterdir()) if folder.is_dir() else []


def keep(name: str, data: bytes) -> Path:
    """Add an input; its name is told by its bytes, so that nothing is kept twice."""
    path = FOLDER / name / hashlib.sha256(data).hexdigest()[:16]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def grow(name: str, target: Callable[[bytes], None], found: Iterable[bytes]) -> int:
    """Keep those of some inputs, smallest first, that go a way through the parser that no other kept one goes."""
    ways: set[tuple] = set()
    for path in kept(name):
        ways |= ways_of(target, path.read_bytes())
    added = 0
    for data in sorted(set(found), key=lambda data: (len(data), data)):
        if len(data) > MOST_BYTES or len(kept(name)) >= MOST_FILES:
            break
        new = ways_of(target, data)
        if not new <= ways:
            ways |= new
            keep(name, data)
            added += 1
    return added


def ways_of(target: Callable[[bytes], None], data: bytes) -> set[tuple]:
    """The pairs of lines of the parsers that follow each other when a target reads an input."""
    ways: set[tuple] = set()

    def trace(frame: FrameType, event: str, _):
        if not any(part in frame.f_code.co_filename.replace("\\", "/") for part in PARSERS):
            return None
        last = frame.f_lineno

        def line(frame: FrameType, event: str, _):
            nonlocal last
            ways.add((frame.f_code.co_filename, last, frame.f_lineno))
            last = frame.f_lineno
            return line

        return line

    sys.settrace(trace)
    try:
        # an input that fails has gone its way too
        with contextlib.suppress(Exception):
            target(data)
    finally:
        sys.settrace(None)
    return ways
