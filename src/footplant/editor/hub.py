"""All sessions of one server: the clip they started with, the tabs that use them, and journals left by crashes."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from footplant.clip import Clip
from footplant.editor import journal as journals
from footplant.editor.session import TAKES_EFFECT, Session, head_of, recover, start
from footplant.editor.state import EditorState, opened
from footplant.errors import FootplantError, FormatError
from footplant.problem import Progress
from footplant.skeleton import Character
from footplant.solve.methods import NAMES

MOST_SESSIONS = 32
"""Sessions that one server keeps; the oldest without a tab is closed first, its journal stays."""


@dataclass(eq=False)
class Tab:
    """A session and whether a browser tab is connected to it."""

    session: Session
    connected: bool = False


@dataclass(eq=False)
class Hub:
    """The sessions of a server."""

    source: str
    """The file or sample that new tabs open, as given."""
    clip: Clip
    folder: Path | None = None
    """Folder of journals; None: `journal.state_folder()`."""
    to: str | None = None
    """A character to which the clip is retargeted when it is opened."""
    methods: tuple[str, ...] = NAMES
    tabs: dict[str, Tab] = field(default_factory=dict)
    """Key of a tab → its session."""
    controllers: list[tuple[Character, Any]] = field(default_factory=list, repr=False)
    """Characters that were driven, and their controllers."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _opened: EditorState | None = field(default=None, init=False, repr=False)
    _preparing: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def enter(self, key: str | None) -> tuple[str, Session]:
        """Return the session of a returning tab, or a new one.

        A tab that was open when an earlier server ended gets its session back from the journal.
        """
        with self.lock:
            tab = self.tabs.get(key or "")
            if key is not None and tab is not None and not tab.connected:
                tab.connected = True
                return key, tab.session
        if key is not None and tab is None:
            session = self._returned(key)
            if session is not None:
                with self.lock:
                    self.tabs[key] = Tab(session, True)
                return key, session
        key = secrets.token_urlsafe(12)
        session = start(self.clip, self.source, self.folder, self.prepare(), tab=key)
        if self.to is not None:
            session.do({"kind": "retarget", "character": self._uploaded(session, self.to)})
        with self.lock:
            self.tabs[key] = Tab(session, True)
            self._close_oldest()
        return key, session

    def _returned(self, key: str) -> Session | None:
        """Return the session of a tab of an earlier server, from its journal; None if there is none."""
        for left in journals.find_abandoned(None, self.folder):
            if left.head.get("tab") == key:
                with contextlib.suppress(FootplantError, OSError):
                    return self._recovered(left.folder, None)[0]
        return None

    def _recovered(self, folder: Path, progress: Progress | None) -> tuple[Session, list[str]]:
        """Return the session of a journal, and sentences about what could not be restored."""
        from footplant.editor.opening import load_material
        from footplant.io import load

        (entries, _) = journals.read(folder)
        head = entries[0]["head"]
        notes = []
        if head.get("file"):
            path = folder / "files" / str(head["file"])
            if not path.resolve().is_relative_to(folder.resolve()):
                raise FormatError(f"expected a file of the journal, got {head['file']!r}")
            clip = _opened_file(path, head, load_material, progress)[0]
        elif head.get("source") == head_of(self.source).get("source"):
            clip = self.clip
        else:
            clip = load(head["source"])
        session, said = recover(clip, folder, progress)
        if not head.get("file") and head.get("size") not in (None, head_of(str(head["source"])).get("size")):
            notes.append("the file has changed since these edits were made")
        return session, [*said, *notes]

    def prepare(self) -> EditorState:
        """Return the clip's initial state; computed once, best before the first tab needs it."""
        with self._preparing:
            if self._opened is None:
                self._opened = opened(self.clip)
            return self._opened

    def _uploaded(self, session: Session, name: str) -> str:
        """Return the name under which the session's edits can refer to a character, uploading it if necessary."""
        from footplant.io import SAMPLE

        return name if name.startswith(SAMPLE) else session.journal.keep(Path(name).name, Path(name).read_bytes())

    def leave(self, key: str) -> None:
        """Mark a tab as disconnected; it may return."""
        with self.lock:
            if key in self.tabs:
                self.tabs[key].connected = False

    def session(self, key: str) -> Session | None:
        """Return the session of a tab."""
        tab = self.tabs.get(key)
        return None if tab is None else tab.session

    def _close_oldest(self) -> None:
        for key in [key for key, tab in self.tabs.items() if not tab.connected]:
            if len(self.tabs) <= MOST_SESSIONS:
                break
            self.tabs.pop(key).session.journal.close()

    def close(self) -> None:
        """Close every journal; those without unsaved edits are removed."""
        with self.lock:
            for tab in self.tabs.values():
                journal = tab.session.journal
                (journal.close if tab.session.unsaved else journal.discard)()
            self.tabs.clear()

    def left(self, session: Session) -> list[dict[str, Any]]:
        """Return journals left by crashes for the clip of a tab that has no edits yet."""
        if session.steps:
            return []
        own = {tab.session.journal.folder for tab in self.tabs.values()}
        return [
            {"journal": left.folder.name, "edits": left.edits, "ended": left.ended, "name": left.head.get("name", "")}
            for left in journals.find_abandoned(head_of(self.source), self.folder)
            if left.folder not in own
        ]

    def controller(self, character: Character, progress: Progress) -> Any:
        """Return the controller of a character; built once for each."""
        from footplant.editor.driving import make_controller

        found = next((made for known, made in self.controllers if known is character), None)
        if found is None:
            found = make_controller(character, progress)
            self.controllers = [*self.controllers[-3:], (character, found)]
        return found

    def _journal_folder(self, name: str) -> Path:
        base = self.folder or journals.state_folder()
        found = base / Path(name).name
        if not name or found.parent != base or not (found / "journal.jsonl").is_file():
            raise FormatError(f"expected an existing journal, got {name!r}")
        return found

    def recover_in(self, key: str, old: Session, name: str, progress: Progress) -> tuple[Session, list[str]]:
        """Continue in a tab with a journal left by a crash."""
        session, notes = self._recovered(self._journal_folder(name), progress)
        self._replace(key, old, session)
        return session, notes

    def forget(self, name: str, session: Session) -> None:
        """Remove a journal left by a crash."""
        folder = self._journal_folder(name)
        if folder != session.journal.folder:
            journal, _, _ = journals.reopen(folder)
            journal.discard()

    def open_in(
        self, key: str, old: Session, name: str, progress: Progress, take: int | None = None, roles: Any = None
    ) -> Session:
        """Open another clip in a tab: a sample, or an uploaded file; take and roles: see `opening.load_material`."""
        from footplant.io import SAMPLE

        if name.startswith(SAMPLE):
            from footplant.io import load

            session = start(load(name), name, self.folder, tab=key)
        else:
            path = old.journal.find(name)
            session = self._open_file(key, path, old.journal.files, progress, {"take": take, "roles": roles})
        progress(TAKES_EFFECT, 1.0)
        self._replace(key, old, session)
        return session

    def _open_file(self, key: str, path: Path, files: Path, progress: Progress, how: dict[str, Any]) -> Session:
        """Start a session on an uploaded file, which is stored with its journal, and what was dropped with it."""
        from footplant.editor.opening import load_material

        clip, edits, extra = _opened_file(path, how, load_material, progress)
        if not len(clip.motion):
            raise FormatError("expected a clip with frames to edit, got none", path=path.name)
        name = path.relative_to(files).as_posix()
        session = start(
            replace(clip, name=clip.name or path.stem), str(path), self.folder, tab=key, file=name, name=path.name,
            **{key: value for key, value in how.items() if value is not None},
        )  # fmt: skip
        if path.parent == files:
            shutil.copy2(path, session.journal.files / path.name)
        else:
            shutil.copytree(path.parent, session.journal.files / path.parent.name, dirs_exist_ok=True)
        for name, data in extra.items():
            target = session.journal.files / name
            if target.resolve().is_relative_to(session.journal.files.resolve()):
                journals.private_folder(target.parent)
                target.write_bytes(data)
        for number, edit in enumerate(edits):
            progress(f"edit {number + 1} of {len(edits)}", number / len(edits))
            session.do(edit)
        if edits:
            session.mark_saved()
        return session

    def _replace(self, key: str, old: Session, new: Session) -> None:
        with self.lock:
            self.tabs[key] = Tab(new, True)
        with contextlib.suppress(OSError, FootplantError):
            (old.journal.close if old.unsaved else old.journal.discard)()


def _opened_file(
    path: Path, how: Mapping[str, Any], load_material: Any, progress: Progress | None
) -> tuple[Clip, list[dict[str, Any]], dict[str, bytes]]:
    """Return the clip of an uploaded file, and of a project its edits and the files that they refer to."""
    from footplant.editor.files import unpack_project

    clip, edits, files = unpack_project(path)
    if clip is None:
        take, roles = how.get("take"), how.get("roles")
        take = take if isinstance(take, int) else None
        clip = load_material(path, take=take, roles=roles if isinstance(roles, dict) else None, progress=progress)
    return clip, edits, files
