"""The autosave journal: every edit is one line, on disk before the page receives the answer.

One folder per session, in the user's state folder: `journal.jsonl`, and `files` with the uploads. After a crash or a
kill the lines are applied again; an incomplete last line is ignored.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, BinaryIO

from footplant.atomic import sync_folder
from footplant.errors import FormatError

QUOTA = 2 * 2**30
"""Bytes of uploads that one session may hold."""
MOST_FILES = 500
"""Files that may be dropped at once."""
KEPT_DAYS = 30
"""Days for which journals of ended sessions are kept."""


def state_folder() -> Path:
    """Return the folder of journals: $FOOTPLANT_STATE, else the user's state folder."""
    given = os.environ.get("FOOTPLANT_STATE")
    if given:
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", str(Path.home()))) / "footplant" / "edits"
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "footplant" / "edits"


@dataclass(eq=False)
class Journal:
    """An open journal."""

    folder: Path
    file: IO[bytes] = field(repr=False)
    paused: bool = False
    """True while its own entries are applied again: nothing is written."""

    @property
    def files(self) -> Path:
        """Return the folder of uploads."""
        return self.folder / "files"

    def append(self, entry: dict[str, Any]) -> None:
        """Write an entry to disk."""
        if self.paused:
            return
        self.file.write(json.dumps(entry, separators=(",", ":"), allow_nan=False).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def cut(self, length: int) -> None:
        """Truncate the journal after a number of bytes."""
        self.file.truncate(length)
        self.file.seek(length)

    def keep(self, name: str, data: bytes) -> str:
        """Write an uploaded file to disk; return the name by which edits refer to it."""
        from footplant.atomic import write_atomic

        path = self.files / free_name(self.files, name)
        write_atomic(path, data)
        path.chmod(0o600)
        return path.name

    def keep_at(self, name: Path, data: BinaryIO) -> None:
        """Copy an upload of another session to its place among those of this one, unless there is one."""
        path = self.files / name
        private_folder(path.parent)
        if not path.exists():
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                shutil.copyfileobj(data, file)

    def room(self) -> int:
        """Return how many more bytes may be uploaded."""
        return QUOTA - sum(path.stat().st_size for path in self.files.rglob("*") if path.is_file())

    def new_upload(self, name: str, drop: str = "") -> Path:
        """Return an empty file for an upload, which only this user can read.

        drop: files that belong together have the same one; they keep their names, by which they refer to one another.
        """
        folder = self.files
        if drop:
            folder = self.files / free_name(Path("/nonexistent"), drop)
            private_folder(folder)
            if sum(1 for _ in folder.iterdir()) >= MOST_FILES:
                raise FormatError(f"expected at most {MOST_FILES} files at a time, got more")
        path = folder / free_name(folder, name)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        return path

    def find(self, name: str) -> Path:
        """Return an uploaded file by the name that its upload returned: "walk.bvh", or "drop/walk.bvh"."""
        parts = name.split("/")
        path = self.files.joinpath(*(Path(part).name for part in parts)) if len(parts) <= 2 and all(parts) else None
        if path is None or ".." in parts or not path.is_file():
            raise FormatError(f"expected an uploaded file, got {name!r}")
        return path

    def close(self) -> None:
        """Close the file; another process may then take it over."""
        self.file.close()

    def discard(self) -> None:
        """Close the journal and delete it."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def free_name(folder: Path, name: str) -> str:
    """Return a safe file name like the requested one that does not exist in a folder."""
    safe = "".join(c if c.isalnum() or c in "-_. ()" else "_" for c in name.replace("\\", "/").rpartition("/")[2])
    safe = safe.strip(". ")[-120:] or "file"
    stem, ending = os.path.splitext(safe)
    number, found = 1, safe
    while (folder / found).exists():
        number += 1
        found = f"{stem}-{number}{ending}"
    return found


def private_folder(folder: Path) -> None:
    """Make a folder that only this user can enter; one that exists is closed to others."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contextlib.suppress(OSError):
        folder.chmod(0o700)


def create(head: dict[str, Any], folder: Path | None = None) -> Journal:
    """Create a journal that starts with `head`, which identifies the edited clip."""
    home = (folder or state_folder()) / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"
    private_folder(home.parent)
    private_folder(home)
    private_folder(home / "files")
    # other users of the machine must not read what is edited: the mode is set when the file is made, not after
    descriptor = os.open(home / "journal.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    file = open(descriptor, "ab")  # noqa: SIM115  the journal owns it until it is closed
    _lock(file)
    journal = Journal(home, file)
    journal.append({"head": head})
    sync_folder(home)
    return journal


def reopen(folder: Path) -> tuple[Journal, list[dict[str, Any]], list[int]]:
    """Reopen a journal left by another process: the journal, its entries after the head, their offsets in bytes."""
    entries, ends = read(folder)
    file = open(folder / "journal.jsonl", "r+b")  # noqa: SIM115  the journal owns it until it is closed
    if not _lock(file):
        file.close()
        raise FormatError("the journal belongs to an editor that is still running", path=folder)
    journal = Journal(folder, file)
    # remove an incomplete last line before appending
    journal.cut(ends[-1])
    return journal, entries[1:], ends[:-1]


def read(folder: Path) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the complete entries of a journal, the head first, and where each of them ends, bytes."""
    path = folder / "journal.jsonl"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error
    entries, ends = [], []
    for line in data.splitlines(keepends=True):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not line.endswith(b"\n") or not isinstance(entry, dict):
            break
        entries.append(entry)
        ends.append((ends[-1] if ends else 0) + len(line))
    if not entries or not isinstance(entries[0].get("head"), dict):
        raise FormatError("expected a journal that begins with its head", path=path)
    return entries, ends


@dataclass(frozen=True)
class AbandonedJournal:
    """A journal without a writer that contains unsaved edits."""

    folder: Path
    head: dict[str, Any]
    edits: int
    """Number of edits that would be recovered."""
    ended: float
    """Time of the last edit, seconds since 1970."""


def find_abandoned(head: dict[str, Any] | None, folder: Path | None = None) -> list[AbandonedJournal]:
    """Return journals of the same clip left by a crash or a kill, latest first; old ones are removed.

    head: that of the clip; None: of any clip. Journals of uploaded files, which bring their clip, are always found.
    """
    base, found = folder or state_folder(), []
    for home in sorted(base.iterdir()) if base.is_dir() else []:
        try:
            ended = (home / "journal.jsonl").stat().st_mtime
            if not _is_abandoned(home / "journal.jsonl"):
                continue
            if time.time() - ended > KEPT_DAYS * 86400:
                shutil.rmtree(home, ignore_errors=True)
                continue
            entries, _ = read(home)
        except (OSError, FormatError):
            continue
        count, own = unsaved(entries[1:]), entries[0]["head"]
        if count and (head is None or own.get("file") or own.get("source") == head.get("source")):
            found.append(AbandonedJournal(home, own, count, ended))
    return sorted(found, key=lambda left: -left.ended)


def find_of_tab(tab: str, folder: Path | None = None) -> list[AbandonedJournal]:
    """Return the journals that a tab of an earlier server had open, latest first; those put aside are left out.

    A journal without unsaved edits counts if it is one of several characters of its scene, or of an uploaded clip,
    which would be lost with it.
    """
    base, found = folder or state_folder(), []
    for home in sorted(base.iterdir()) if base.is_dir() else []:
        with contextlib.suppress(OSError, FormatError):
            path = home / "journal.jsonl"
            if path.stat().st_size and _is_abandoned(path):
                entries, _ = read(home)
                flags = {key: entry[key] for entry in entries for key in ("aside", "cast") if key in entry}
                count, own = unsaved(entries[1:]), entries[0]["head"]
                if own.get("tab") == tab and not flags.get("aside") and (count or flags.get("cast") or own.get("file")):
                    found.append(AbandonedJournal(home, own, count, path.stat().st_mtime))
    return sorted(found, key=lambda left: -left.ended)


def unsaved(entries: list[dict[str, Any]]) -> int:
    """Return the number of edits at the end of a journal; 0 when nothing changed since the last save."""
    position, saved = 0, 0
    for entry in entries:
        if "edit" in entry:
            position += 1
        elif "go" in entry:
            position = int(entry["go"])
        elif "saved" in entry:
            saved = position
            continue
        else:
            continue
        saved = -1 if saved != position else saved
    return 0 if saved == position else position


def _lock(file: IO[bytes]) -> bool:
    """Lock the file while it is open, so that others see that it is in use; the system unlocks it after a kill."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_abandoned(path: Path) -> bool:
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open(path, "r+b"))
        return _lock(file)
