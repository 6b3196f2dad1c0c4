"""The ledger of a batch: what was done, so that a batch that was killed goes on where it was.

A line of JSON for every clip that has ended, appended; a line that was cut off by a crash is passed over when it is
read. A record counts only while the file that it speaks of is there in the size that it says.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from footplant.errors import FormatError
from footplant.io.atomic import write_atomic

NAME = "ledger.jsonl"
SYNC = 0.5
"""Seconds after which what was appended is on the disk at the latest; a crash of the machine loses so much."""


class Ledger:
    """The records of one output folder, by key."""

    def __init__(self, folder: str | Path) -> None:
        """Read what is there; nothing is written yet."""
        self.folder = Path(folder)
        self.path = self.folder / NAME
        self.records: dict[tuple[str, str], dict[str, Any]] = {}
        """What ended how, by key and source; the last word on each counts."""
        self._done: dict[str, dict[str, Any]] = {}
        self._stamps: dict[str, tuple[tuple[int, int], str]] = {}
        self._file: io.FileIO | None = None
        self._synced = 0.0
        for record in read_records(self.path):
            self._take(record)

    def _take(self, record: dict[str, Any]) -> None:
        self.records[record["key"], record["source"]] = record
        if record["status"] == "done":
            self._done.setdefault(record["key"], record)
        if "stamp" in record:
            self._stamps[record["source"]] = (tuple(record["stamp"]), record["hash"])

    def open(self) -> None:
        """Begin to append."""
        self._file = open_journal(self.path)

    def append(self, record: dict[str, Any]) -> None:
        """Keep a record; on the disk within `SYNC` seconds."""
        assert self._file is not None, "open() first"
        self._take(record)
        self._file.write(json.dumps(record, allow_nan=False).encode() + b"\n")
        now = time.monotonic()
        if now - self._synced > SYNC:
            os.fsync(self._file.fileno())
            self._synced = now

    def close(self) -> None:
        """Put everything on the disk."""
        if self._file is not None:
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None

    def state(self, key: str, source: str) -> str | None:
        """ "done" or "failed"; None for a clip that was not tried, or whose file is gone or of another size."""
        record = self.records.get((key, source))
        return None if record is None or not self._stands(record) else record["status"]

    def twin(self, key: str) -> dict[str, Any] | None:
        """The record of the same work on the same bytes under another name, if it was done."""
        record = self._done.get(key)
        return record if record is not None and self._stands(record) else None

    def _stands(self, record: dict[str, Any]) -> bool:
        if record["status"] != "done" or record.get("out") is None:
            return True
        return _size(self.folder / record["out"]) == record.get("size")

    def digest(self, path: str) -> tuple[tuple[int, int], str]:
        """Size and time of an input, and the hash of its bytes, which is taken from the ledger while both are as they
        were."""
        found = os.stat(path)
        stamp = (found.st_size, found.st_mtime_ns)
        known = self._stamps.get(path)
        return (stamp, known[1]) if known is not None and known[0] == stamp else (stamp, file_hash(path))

    def write_failures(self) -> int:
        """failures.csv beside the ledger: a line for each clip that could not be done, and why. Returns how many."""
        failed = [record for record in self.records.values() if record["status"] == "failed"]
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(("source", "character", "reason"))
        for record in sorted(failed, key=lambda record: (record["source"], record.get("character") or "")):
            rows.writerow((record["source"], record.get("character") or "", record["reason"]))
        write_atomic(self.folder / "failures.csv", text.getvalue())
        return len(failed)


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """The whole records of a ledger's file; what a crash left half-written is passed over."""
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
        for line in file:
            with contextlib.suppress(ValueError):
                record = json.loads(line)
                if isinstance(record, dict) and {"key", "status", "source"} <= record.keys():
                    yield record


def file_hash(path: str) -> str:
    """SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def key_of(parts: Iterable[str]) -> str:
    """One key of several parts, whose borders count."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode()
        found.update(len(data).to_bytes(8, "big") + data)
    return found.hexdigest()


def _size(path: Path) -> int | None:
    """A file's size; None where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return None


def open_journal(path: Path) -> io.FileIO:
    """A file of lines to append to; a line that a crash cut off is ended first, so that the next one is whole."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "a+b", buffering=0)  # noqa: SIM115
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
    except OSError as error:
        raise FormatError(f"cannot write here: {error.strerror}", path=path) from error
    return file
