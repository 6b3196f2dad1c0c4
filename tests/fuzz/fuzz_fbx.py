"""Fuzz target of the FBX reader: any file, and any answer of its child process, gives figures or a `FormatError`.

The first byte says what the rest is: "a" an answer, which is taken apart in this process; anything else a file, which
is read by a child. Starting one takes a hundred times longer than taking an answer apart, so that only one file in
RARELY is read, told by its own bytes so that what was found can be found again.
"""

from __future__ import annotations

import sys
import tempfile
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fbx_made import Made, figure
from footplant.errors import FormatError
from footplant.io import fbx
from footplant.io.fbx import process

RARELY = 8
_FILE = Path(tempfile.gettempdir()) / f"footplant-fuzz-{zlib.crc32(str(Path(__file__)).encode()):08x}.fbx"


def TARGET(data: bytes) -> None:
    """Read every figure and its first takes."""
    try:
        if data[:1] == b"a":
            found = fbx.read_characters(process.read_answer(data[1:], _FILE), len(data))
        elif zlib.crc32(data) % RARELY == 0:
            _FILE.write_bytes(data[1:])
            found = fbx.load(_FILE)
        else:
            return
        for item in found:
            for number in range(min(len(item.takes), 1 if data[:1] == b"a" else 3)):
                assert item.read_take is not None
                assert len(item.read_take(number)) == item.takes[number].frames
    except FormatError:
        return


def corpus() -> list[bytes]:
    """Seeds: sound files, and what the child says of them."""
    lone = Made(version=7700, up=2)
    lone.node("b", lone.node("a", kind="Null"), kind="Null", translation=(1, 2, 3))
    files = [figure().text(), lone.text()]
    answers: list[bytes] = []
    read_answer = process.read_answer
    try:
        process.read_answer = lambda data, path: answers.append(data) or read_answer(data, path)
        for data in files:
            _FILE.write_bytes(data)
            fbx.load(_FILE)
    finally:
        process.read_answer = read_answer
    return [b"a" + data for data in answers] + [b"f" + data for data in files]
