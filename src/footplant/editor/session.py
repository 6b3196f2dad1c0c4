"""A session: a clip and the undoable list of its edits, each written to the journal before it takes effect."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from footplant.clip import Clip
from footplant.editor import journal as journals
from footplant.editor.actions import Edit, EditContext, apply, describe
from footplant.editor.journal import Journal
from footplant.editor.state import EditorState, opened
from footplant.errors import ConstraintError, FootplantError
from footplant.problem import Progress

MEMORY = 768 * 2**20
"""Bytes of motions that a session keeps for undo; older states are recomputed from the edits when needed."""


class Cancelled(Exception):
    """Raised by a progress function to stop a solve that is no longer needed."""


@dataclass(frozen=True)
class Step:
    """One edit of the list."""

    edit: dict[str, Any]
    title: str
    """Title in the history."""


@dataclass(eq=False)
class Session:
    """A clip that is being edited. Not thread-safe."""

    origin: Clip
    """The clip as opened."""
    journal: Journal
    steps: list[Step] = field(default_factory=list)
    """Every edit, including undone ones."""
    position: int = 0
    """Number of edits that are applied."""
    saved: int = 0
    """Position of the last save."""
    memory: int = MEMORY
    _states: dict[int, EditorState] = field(default_factory=dict, repr=False)
    """Position → cached state."""

    def __post_init__(self) -> None:
        """Create the state without edits."""
        self._states.setdefault(0, opened(self.origin))

    @property
    def state(self) -> EditorState:
        """Return the state with all applied edits."""
        return self._state_at(self.position)

    @property
    def unsaved(self) -> bool:
        """Return whether there are unsaved edits."""
        return self.position != self.saved

    def do(self, edit: Edit, progress: Progress | None = None) -> EditorState:
        """Apply an edit and drop undone ones. An edit that fails changes nothing."""
        copied = dict(edit)
        before = self.state
        after = apply(copied, before, EditContext(self.journal.files, progress))
        self.record(copied, after)
        return after

    def record(self, edit: dict[str, Any], after: EditorState) -> None:
        """Add an edit with a known result to the list and the journal."""
        step = Step(edit, describe(edit, self.state))
        self.journal.append({"edit": edit})
        if self.saved > self.position:
            self.saved = -1
        del self.steps[self.position :]
        for later in [position for position in self._states if position > self.position]:
            del self._states[later]
        self.steps.append(step)
        self.position += 1
        self._keep(self.position, after)

    def cache_state(self, state: EditorState) -> None:
        """Cache additional results for the current state (a prepared manipulation) with the same motion."""
        self._states[self.position] = state

    def go(self, position: int) -> EditorState:
        """Undo or redo up to a position."""
        if not 0 <= position <= len(self.steps):
            raise ConstraintError(f"expected a position in the history in 0..{len(self.steps)}, got {position}")
        if position != self.position:
            state = self._state_at(position)
            self.journal.append({"go": position})
            self.position = position
            return state
        return self.state

    def mark_saved(self) -> None:
        """Record that the current state has been saved to a file."""
        self.journal.append({"saved": self.position})
        self.saved = self.position

    def _state_at(self, position: int) -> EditorState:
        if position not in self._states:
            start = max(known for known in self._states if known < position)
            state = self._states[start]
            context = EditContext(self.journal.files)
            for number in range(start, position):
                state = apply(self.steps[number].edit, state, context)
            self._keep(position, state)
        return self._states[position]

    def _keep(self, position: int, state: EditorState) -> None:
        self._states[position] = state
        each = state.motion.rotations.nbytes + state.motion.root.nbytes
        most = max(self.memory // max(each, 1), 2)
        # the first state is kept: all others can be computed from it
        for old in sorted(self._states)[1:]:
            if len(self._states) <= most:
                break
            if old not in (position, self.position):
                del self._states[old]


def head_of(source: str) -> dict[str, Any]:
    """Return the journal's description of the clip that it belongs to."""
    from footplant import __version__
    from footplant.io import SAMPLE

    path = Path(source)
    if source.startswith(SAMPLE) or not path.exists():
        return {"footplant": __version__, "source": source}
    return {"footplant": __version__, "source": str(path.resolve()), "size": path.stat().st_size}


def start(clip: Clip, source: str, folder: Path | None = None, state: EditorState | None = None) -> Session:
    """Start a session on a clip. state: the clip's state from `opened`, if known."""
    known = {} if state is None else {0: state}
    return Session(clip, journals.create(head_of(source), folder), _states=known)


def recover(clip: Clip, folder: Path, progress: Progress | None = None) -> tuple[Session, list[str]]:
    """Restore a session from a journal and its clip; return it, and a sentence about edits that failed."""
    journal, entries, ends = journals.reopen(folder)
    session, notes = Session(clip, journal), []
    total = sum("edit" in entry for entry in entries)
    journal.paused = True
    for number, entry in enumerate(entries):
        try:
            if "edit" in entry:
                if progress is not None:
                    progress(f"edit {session.position + 1} of {total}", session.position / max(total, 1))
                session.do(entry["edit"])
            elif "go" in entry:
                session.go(int(entry["go"]))
            elif "saved" in entry:
                session.mark_saved()
        except FootplantError as error:
            notes.append(f"{len(entries) - number} entries of the journal could not be applied again: {error}")
            journal.cut(ends[number])
            break
    journal.paused = False
    return session, notes
