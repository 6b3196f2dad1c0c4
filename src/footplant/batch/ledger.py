"""The ledger of a batch: a record of each finished clip, so that an interrupted batch can be resumed.

One JSON line per finished clip, appended; a line truncated by a crash is skipped when read. A record is valid only
while its result file exists with the recorded size.
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

from footplant.atomic import write_atomic
from footplant.batch.settings import SETTINGS
from footplant.errors import FormatError

NAME = "ledger.jsonl"


class Ledger:
    """The records of one output folder, by key."""

    def __init__(self, folder: str | Path) -> None:
        """Read the existing ledger; nothing is written yet."""
        self.folder = Path(folder)
        self.path = self.folder / NAME
        self.records: dict[tuple[str, str], dict[str, Any]] = {}
        """(key, source) → outcome; later records replace earlier ones."""
        self._done: dict[str, dict[str, Any]] = {}
        self._stamps: dict[str, tuple[tuple[int, int], str]] = {}
        self._file: io.FileIO | None = None
        self._synced = 0.0
        for record in read_records(self.path):
            self._take(record)

    def _take(self, record: dict[str, Any]) -> None:
        """Index a record."""
        self.records[record["key"], record["source"]] = record
        if record["status"] == "done":
            self._done.setdefault(record["key"], record)
        if "stamp" in record:
            self._stamps[record["source"]] = (tuple(record["stamp"]), record["hash"])

    def open(self) -> None:
        """Open the file for appending."""
        self._file = open_journal(self.path)

    def append(self, record: dict[str, Any]) -> None:
        """Append a record; it is flushed to disk within `sync_seconds`."""
        assert self._file is not None, "open() first"
        self._take(record)
        self._file.write(json.dumps(record, allow_nan=False).encode() + b"\n")
        now = time.monotonic()
        if now - self._synced > SETTINGS.sync_seconds:
            os.fsync(self._file.fileno())
            self._synced = now

    def close(self) -> None:
        """Flush everything to disk and close the file."""
        if self._file is not None:
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None

    def state(self, key: str, source: str) -> str | None:
        """ "done" or "failed"; None for a clip that was not tried, or whose result is missing or of another size."""
        record = self.records.get((key, source))
        return None if record is None or not self._is_valid(record) else record["status"]

    def duplicate(self, key: str) -> dict[str, Any] | None:
        """Return the record of the same work on the same bytes under another name, if it was done."""
        record = self._done.get(key)
        return record if record is not None and self._is_valid(record) else None

    def _is_valid(self, record: dict[str, Any]) -> bool:
        """Return whether a record's result, if it has one, still exists with the recorded size."""
        if record["status"] != "done" or record.get("out") is None:
            return True
        return _size(self.folder / record["out"]) == record.get("size")

    def digest(self, path: str) -> tuple[tuple[int, int], str]:
        """Return size and modification time of an input, and its hash: from the ledger if both are unchanged."""
        found = os.stat(path)
        stamp = (found.st_size, found.st_mtime_ns)
        known = self._stamps.get(path)
        return (stamp, known[1]) if known is not None and known[0] == stamp else (stamp, file_hash(path))

    def write_failures(self) -> int:
        """Write failures.csv beside the ledger: one line per failed clip, with the reason. Returns how many."""
        failed = [record for record in self.records.values() if record["status"] == "failed"]
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(("source", "character", "reason"))
        for record in sorted(failed, key=lambda record: (record["source"], record.get("character") or "")):
            rows.writerow((record["source"], record.get("character") or "", record["reason"]))
        write_atomic(self.folder / "failures.csv", text.getvalue())
        return len(failed)


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the complete records of a ledger file; truncated lines are skipped."""
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
        for line in file:
            with contextlib.suppress(ValueError):
                record = json.loads(line)
                if isinstance(record, dict) and {"key", "status", "source"} <= record.keys():
                    yield record


def file_hash(path: str) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def key_of(parts: Iterable[str]) -> str:
    """Return one hash of several parts; ("ab", "c") and ("a", "bc") differ."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode()
        found.update(len(data).to_bytes(8, "big") + data)
    return found.hexdigest()


def _size(path: Path) -> int | None:
    """Return a file's size, or None if it does not exist."""
    try:
        return path.stat().st_size
    except OSError:
        return None


def open_journal(path: Path) -> io.FileIO:
    """Open a file of lines for appending; a line truncated by a crash is terminated first."""
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
