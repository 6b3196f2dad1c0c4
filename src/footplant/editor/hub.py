"""All sessions of one server: the clip they started with, the tabs that use them, and journals left by crashes."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from footplant.clip import Clip
from footplant.editor import journal as journals
from footplant.editor.session import TAKES_EFFECT, Session, head_of, recover, start
from footplant.editor.state import EditorState, opened
from footplant.errors import FootplantError, FormatError
from footplant.problem import Progress
from footplant.skeleton import Character
from footplant.solve.methods import NAMES

if TYPE_CHECKING:
    from footplant.editor.drive_sets import DriveSet

MOST_SESSIONS = 32
"""Sessions that one server keeps; the oldest without a tab is closed first, its journal stays."""
MOST_ACTORS = 12
"""Characters of one scene."""
APART = 0.7
"""Body heights between the places of characters that are added to a scene."""


@dataclass(eq=False)
class Tab:
    """A session and whether a browser tab is connected to it."""

    session: Session
    """The one that is edited."""
    connected: bool = False
    others: list[Session] = field(default_factory=list)
    """The other characters of the scene."""

    @property
    def cast(self) -> list[Session]:
        """Return all characters of the scene, in the order in which they were opened."""
        return sorted([self.session, *self.others], key=lambda session: session.journal.folder.name)


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
    sample_sets: list[tuple[Character, DriveSet]] = field(default_factory=list, repr=False)
    """Characters that were driven, and the sample motions on them."""
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
            cast = self._returned(key)
            if cast:
                with self.lock:
                    self.tabs[key] = Tab(cast[0], True, cast[1:])
                return key, cast[0]
        key = secrets.token_urlsafe(12)
        session = start(self.clip, self.source, self.folder, self.prepare(), tab=key)
        if self.to is not None:
            session.do({"kind": "retarget", "character": self._uploaded(session, self.to)})
        with self.lock:
            self.tabs[key] = Tab(session, True)
            self._close_oldest()
        return key, session

    def _returned(self, key: str) -> list[Session]:
        """Return the sessions of a tab of an earlier server from their journals, the latest first."""
        found = []
        for left in journals.find_of_tab(key, self.folder)[:MOST_ACTORS]:
            with contextlib.suppress(FootplantError, OSError):
                found.append(self._recovered(left.folder, None)[0])
        return found

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

    def others(self, key: str) -> list[Session]:
        """Return the other characters of the scene of a tab."""
        tab = self.tabs.get(key)
        return [] if tab is None else list(tab.others)

    def _close_oldest(self) -> None:
        for key in [key for key, tab in self.tabs.items() if not tab.connected]:
            if len(self.tabs) <= MOST_SESSIONS:
                break
            for session in self.tabs.pop(key).cast:
                session.journal.close()

    def close(self) -> None:
        """Close every journal; those without unsaved edits are removed."""
        with self.lock:
            for session in (session for tab in self.tabs.values() for session in tab.cast):
                (session.journal.close if session.unsaved else session.journal.discard)()
            self.tabs.clear()

    def left(self, session: Session) -> list[dict[str, Any]]:
        """Return journals left by crashes for the clip of a tab that has no edits yet."""
        if session.steps:
            return []
        own = {each.journal.folder for tab in self.tabs.values() for each in tab.cast}
        return [
            {"journal": left.folder.name, "edits": left.edits, "ended": left.ended, "name": left.head.get("name", "")}
            for left in journals.find_abandoned(head_of(self.source), self.folder)
            if left.folder not in own
        ]

    def sample_set(self, character: Character, progress: Progress) -> DriveSet:
        """Return the sample motions on a character, to be driven; built once for each."""
        from footplant.editor.drive_sets import sample_set

        found = next((made for known, made in self.sample_sets if known is character), None)
        if found is None:
            found = sample_set(character, progress)
            self.sample_sets = [*self.sample_sets[-3:], (character, found)]
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
        session.journal.append({"aside": False})
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
        session, cast = self._start(key, old, name, progress, take, roles)
        progress(TAKES_EFFECT, 1.0)
        self._replace(key, old, session)
        if cast:
            for other in self.tabs[key].others:
                self._put_aside(other)
            self.tabs[key].others = cast
        return session

    def _start(
        self, key: str, old: Session, name: str, progress: Progress, take: int | None, roles: Any
    ) -> tuple[Session, list[Session]]:
        """Return a session on a sample or an uploaded file, and those of the other characters of a project."""
        from footplant.io import SAMPLE

        if name.startswith(SAMPLE):
            from footplant.io import load

            return start(load(name), name, self.folder, tab=key), []
        path = old.journal.find(name)
        session = self._open_file(key, path, old.journal.files, progress, {"take": take, "roles": roles})
        return session, self._open_cast(key, path, session, progress)

    def _open_cast(self, key: str, path: Path, session: Session, progress: Progress) -> list[Session]:
        """Return sessions on the other characters of a project."""
        from footplant.editor.files import unpack_cast

        found = []
        for number, data in enumerate(unpack_cast(path)[:MOST_ACTORS]):
            kept = session.journal.files / session.journal.keep(f"character{number + 2}.footplant", data)
            found.append(self._open_file(key, kept, session.journal.files, progress, {}))
            found[-1].journal.append({"cast": True})
        return found

    def add_in(
        self, key: str, old: Session, name: str, progress: Progress, take: int | None = None, roles: Any = None
    ) -> Session:
        """Add a character with its clip to the scene of a tab, beside the others, to be edited from now on."""
        tab = self.tabs[key]
        if len(tab.cast) >= MOST_ACTORS:
            raise FormatError(f"expected at most {MOST_ACTORS} characters in a scene, got more")
        session, cast = self._start(key, old, name, progress, take, roles)
        for other in cast:
            other.journal.discard()
        first = tab.cast[0].state.motion.root[0]
        own, high = session.state.motion.root[0], max(session.state.character.height, old.state.character.height)
        beside = APART * high * len(tab.cast)
        session.do({"kind": "place", "move": [float(first[0] + beside - own[0]), 0.0, float(first[2] - own[2])]})
        progress(TAKES_EFFECT, 1.0)
        for each in (session, *tab.cast):
            each.journal.append({"cast": True})
        with self.lock:
            tab.session, tab.others = session, tab.cast
        return session

    def switch_to(self, key: str, number: str) -> Session:
        """Edit another character of the scene of a tab."""
        tab = self.tabs[key]
        chosen = next((each for each in tab.cast if each.journal.folder.name == number), None)
        if chosen is None:
            raise FormatError(f"expected a character of the scene, got {number!r}")
        with self.lock:
            tab.others = [each for each in tab.cast if each is not chosen]
            tab.session = chosen
        return chosen

    def remove_from(self, key: str, number: str) -> Session:
        """Take a character out of the scene of a tab; return the one that is edited from now on."""
        tab = self.tabs[key]
        if len(tab.cast) < 2:
            raise FormatError("expected another character in the scene before its last one is removed")
        edited, removed = tab.session, self.switch_to(key, number)
        with self.lock:
            tab.session = tab.others[0] if edited is removed else edited
            tab.others = [each for each in tab.others if each is not tab.session]
        self._put_aside(removed)
        return tab.session

    def _put_aside(self, session: Session) -> None:
        """Close a session that is no longer in its tab; unsaved edits stay in its journal."""
        with contextlib.suppress(OSError, FootplantError):
            if session.unsaved:
                session.journal.append({"aside": True})
                session.journal.close()
            else:
                session.journal.discard()

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
            self.tabs[key] = Tab(new, True, self.tabs[key].others if key in self.tabs else [])
        self._put_aside(old)


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
