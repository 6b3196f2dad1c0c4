"""All sessions of one server: which clip they began with, whose tab they are, what crashes have left."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from footplant.clip import Clip
from footplant.editor import journal as journals
from footplant.editor.session import Session, head_of, recover, start
from footplant.editor.state import State, opened
from footplant.errors import FootplantError, FormatError
from footplant.problem import Progress
from footplant.skeleton import Character
from footplant.solve.methods import NAMES

MOST_SESSIONS = 32
"""Sessions that one server keeps; the oldest without a tab goes first, its journal stays."""


@dataclass(eq=False)
class Place:
    """A session and whether a tab has it."""

    session: Session
    taken: bool = False


@dataclass(eq=False)
class Hub:
    """The sessions of a server."""

    source: str
    """The file or sample that tabs begin with, as it was given."""
    clip: Clip
    folder: Path | None = None
    """Where journals are kept; None: `journal.state_folder()`."""
    to: str | None = None
    """A character that the clip is put on at once."""
    methods: tuple[str, ...] = NAMES
    places: dict[str, Place] = field(default_factory=dict)
    """Key of a tab → its session."""
    controllers: list[tuple[Character, Any]] = field(default_factory=list, repr=False)
    """Characters that were driven, and what drives them."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _opened: State | None = field(default=None, init=False, repr=False)
    _preparing: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def enter(self, key: str | None) -> tuple[str, Session]:
        """The session of a tab that comes back, else a new one."""
        with self.lock:
            place = self.places.get(key or "")
            if key is not None and place is not None and not place.taken:
                place.taken = True
                return key, place.session
        session = start(self.clip, self.source, self.folder, self.prepare())
        if self.to is not None:
            session.do({"kind": "retarget", "character": self._brought(session, self.to)})
        key = secrets.token_urlsafe(12)
        with self.lock:
            self.places[key] = Place(session, True)
            self._thin_out()
        return key, session

    def prepare(self) -> State:
        """The clip as every tab begins with it; found once, best before the first tab asks for it."""
        with self._preparing:
            if self._opened is None:
                self._opened = opened(self.clip)
            return self._opened

    def _brought(self, session: Session, name: str) -> str:
        """A character that the session's edits can speak of."""
        from footplant.io import SAMPLE

        return name if name.startswith(SAMPLE) else session.journal.keep(Path(name).name, Path(name).read_bytes())

    def leave(self, key: str) -> None:
        """A tab is gone; it may come back."""
        with self.lock:
            if key in self.places:
                self.places[key].taken = False

    def session(self, key: str) -> Session | None:
        """The session of a tab."""
        place = self.places.get(key)
        return None if place is None else place.session

    def _thin_out(self) -> None:
        for key in [key for key, place in self.places.items() if not place.taken]:
            if len(self.places) <= MOST_SESSIONS:
                break
            self.places.pop(key).session.journal.close()

    def close(self) -> None:
        """Close every journal; those without unsaved edits are not needed any more."""
        with self.lock:
            for place in self.places.values():
                journal = place.session.journal
                (journal.close if place.session.unsaved else journal.discard)()
            self.places.clear()

    def left(self, session: Session) -> list[dict[str, Any]]:
        """What crashes have left of the clip that a tab shows, while it has no edits of its own."""
        if session.steps:
            return []
        own = {place.session.journal.folder for place in self.places.values()}
        return [
            {"journal": left.folder.name, "edits": left.edits, "ended": left.ended, "name": left.head.get("name", "")}
            for left in journals.find_left(head_of(self.source), self.folder)
            if left.folder not in own
        ]

    def controller(self, character: Character, progress: Progress) -> Any:
        """What drives a character; made once for each."""
        from footplant.editor.driving import make_controller

        found = next((made for known, made in self.controllers if known is character), None)
        if found is None:
            found = make_controller(character, progress)
            self.controllers = [*self.controllers[-3:], (character, found)]
        return found

    def _left_folder(self, name: str) -> Path:
        base = self.folder or journals.state_folder()
        found = base / Path(name).name
        if not name or found.parent != base or not (found / "journal.jsonl").is_file():
            raise FormatError(f"expected a journal that is there, got {name!r}")
        return found

    def recover_in(self, key: str, old: Session, name: str, progress: Progress) -> tuple[Session, list[str]]:
        """A tab goes on with what a crash left."""
        from footplant.io import load

        folder = self._left_folder(name)
        (entries, _) = journals.read(folder)
        head = entries[0]["head"]
        clip = self.clip if head.get("source") == head_of(self.source).get("source") else load(head["source"])
        session, notes = recover(clip, folder, progress)
        if head.get("size") not in (None, head_of(str(head["source"])).get("size")):
            notes.append("the file has changed since these edits were made")
        self._replace(key, old, session)
        return session, notes

    def forget(self, name: str, session: Session) -> None:
        """Remove what a crash left."""
        folder = self._left_folder(name)
        if folder != session.journal.folder:
            journal, _, _ = journals.reopen(folder)
            journal.discard()

    def open_in(self, key: str, old: Session, name: str, progress: Progress) -> Session:
        """A tab opens another clip: a sample, or a file that it has sent."""
        from footplant.io import SAMPLE

        if name.startswith(SAMPLE):
            from footplant.io import load

            session = start(load(name), name, self.folder)
        else:
            path = old.journal.files / Path(name).name
            if not path.is_file():
                raise FormatError(f"expected a file that was sent before, got {name!r}")
            session = self._open_file(path, progress)
        self._replace(key, old, session)
        return session

    def _open_file(self, path: Path, progress: Progress) -> Session:
        """A session on a file of its own: the file goes with its journal."""
        from footplant.editor.files import unpack_project
        from footplant.io import load

        clip, edits, files = unpack_project(path)
        if clip is None:
            clip = load(path)
        if not len(clip.motion):
            raise FormatError("expected a clip with frames to edit, got none", path=path.name)
        session = start(replace(clip, name=clip.name or path.stem), str(path), self.folder)
        shutil.copy2(path, session.journal.files / path.name)
        for name, data in files.items():
            session.journal.keep(name, data)
        for number, edit in enumerate(edits):
            progress(f"edit {number + 1} of {len(edits)}", number / len(edits))
            session.do(edit)
        if edits:
            session.mark_saved()
        return session

    def _replace(self, key: str, old: Session, new: Session) -> None:
        with self.lock:
            self.places[key] = Place(new, True)
        with contextlib.suppress(OSError, FootplantError):
            (old.journal.close if old.unsaved else old.journal.discard)()
