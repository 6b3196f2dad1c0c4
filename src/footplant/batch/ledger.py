"""The ledger of a batch: a record of each finished clip, so that an interrupted batch can be resumed.

One JSON line per finished clip, appended; a line truncated by a crash is skipped when read. A record is valid only
while its result file exists with the recorded size.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import hashlib
import io
import json
import os
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from footplant.atomic import write_atomic
from footplant.batch.remote import hash_of, stamp_of
from footplant.batch.settings import SETTINGS
from footplant.errors import FormatError

NAME = "ledger.jsonl"


class Ledger:
    """The records of one output folder, by key. Only their places in the file are held in memory."""

    def __init__(self, folder: str | Path) -> None:
        """Read the existing ledger; nothing is written yet."""
        self.folder = Path(folder)
        self.path = self.folder / NAME
        self.records = Records(self.path)
        """(key, source) → outcome; later records replace earlier ones."""
        self._done: dict[bytes, int] = {}
        """Key of a task that was done → place of its first record."""
        self._sources: dict[bytes, int] = {}
        """Input → place of its latest record, which has its stamp and its hash."""
        self._file: io.FileIO | None = None
        self._synced = 0.0
        for place, record in read_records(self.path):
            self._take(record, place)

    def _take(self, record: dict[str, Any], place: int) -> None:
        """Index a record."""
        self.records.places[_short(record["key"], record["source"])] = place
        if record["status"] == "done":
            self._done.setdefault(_short(record["key"]), place)
        if "stamp" in record:
            self._sources[_short(record["source"])] = place

    def open(self) -> None:
        """Open the file for appending."""
        self._file = open_journal(self.path)

    def append(self, record: dict[str, Any]) -> None:
        """Append a record; it is flushed to disk within `sync_seconds`."""
        assert self._file is not None, "open() first"
        place = self._file.seek(0, os.SEEK_END)
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        if self._file.write(line) != len(line):
            # what fits of a line is written without an error
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._take(record, place)
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
        self.records.close()

    def state(self, key: str, source: str) -> str | None:
        """ "done" or "failed"; None for a clip that was not tried, or whose result is missing or of another size."""
        record = self.records.get((key, source))
        return None if record is None or not self._is_valid(record) else record["status"]

    def duplicate(self, key: str) -> dict[str, Any] | None:
        """Return the record of the same work on the same bytes under another name, if it was done."""
        place = self._done.get(_short(key))
        record = None if place is None else self.records.at(place)
        return record if record is not None and self._is_valid(record) else None

    def _is_valid(self, record: dict[str, Any]) -> bool:
        """Return whether a record's result, if it has one, still exists with the recorded size."""
        if record["status"] != "done" or record.get("out") is None:
            return True
        return _size(self.folder / record["out"]) == record.get("size")

    def known_digest(self, source: str, stamp: tuple[Any, ...]) -> str | None:
        """Return the hash of an input whose stamp is that of its latest record; None if it must be hashed."""
        place = self._sources.get(_short(source))
        record = None if place is None else self.records.at(place)
        return None if record is None or tuple(record["stamp"]) != stamp else record["hash"]

    def digest(self, source: str) -> tuple[tuple[Any, ...], str]:
        """Return an input's stamp and its hash: from the ledger if the stamp is unchanged."""
        stamp = stamp_of(source)
        return stamp, self.known_digest(source, stamp) or hash_of(source)

    def write_failures(self) -> int:
        """Write failures.csv beside the ledger: one line per failed clip, with the reason. Returns how many."""
        failed = [
            (record["source"], record.get("character") or "", record["reason"])
            for record in self.records.values()
            if record["status"] == "failed"
        ]
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(("source", "character", "reason"))
        rows.writerows(sorted(failed))
        write_atomic(self.folder / "failures.csv", text.getvalue())
        return len(failed)


class Records(Mapping[tuple[str, str], dict[str, Any]]):
    """The latest record of each (key, source), read from the ledger's file when it is asked for."""

    def __init__(self, path: Path) -> None:
        """Create an empty index of a file."""
        self.path = path
        self.places: dict[bytes, int] = {}
        self._file: BinaryIO | None = None
        self._latest_read: tuple[int, dict[str, Any]] = (-1, {})
        """The record that was read last: a clip's record is asked for twice in a row."""

    def __getitem__(self, name: tuple[str, str]) -> dict[str, Any]:
        """Return the record of a key and a source."""
        return self.at(self.places[_short(*name)])

    def at(self, place: int) -> dict[str, Any]:
        """Return the record that begins at a byte of the file."""
        if self._latest_read[0] != place:
            if self._file is None:
                self._file = open(self.path, "rb", buffering=4096)  # noqa: SIM115
                weakref.finalize(self, self._file.close)
            self._file.seek(place)
            self._latest_read = place, json.loads(self._file.readline())
        return self._latest_read[1]

    def _latest(self) -> Iterator[dict[str, Any]]:
        for place, record in read_records(self.path):
            if self.places.get(_short(record["key"], record["source"])) == place:
                yield record

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield every key with its source, in the order of the file."""
        return ((record["key"], record["source"]) for record in self._latest())

    def values(self) -> Iterator[dict[str, Any]]:  # type: ignore[override]
        """Yield every record, in the order of the file."""
        return self._latest()

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.places)

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _short(*parts: str) -> bytes:
    """Return 16 bytes that stand for some texts: an index of many clips stays small."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).digest()


def read_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the complete records of a ledger file with the bytes at which they begin; truncated lines are skipped."""
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
        place = 0
        for line in file:
            with contextlib.suppress(ValueError):
                record = json.loads(line)
                if isinstance(record, dict) and {"key", "status", "source"} <= record.keys():
                    yield place, record
            place += len(line)


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
