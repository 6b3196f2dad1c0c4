"""A session: a clip and the undoable list of its edits, each written to the journal before it takes effect."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from footplant.clip import Clip
from footplant.editor import journal as journals
from footplant.editor.actions import Edit, EditContext, describe, referring
from footplant.editor.journal import Journal
from footplant.editor.stack import Evaluation, Stack, folded, operator_title
from footplant.editor.state import EditorState, opened
from footplant.errors import ConstraintError, FootplantError
from footplant.problem import Progress

MEMORY = 768 * 2**20
"""Bytes of motions that a session keeps for undo; older states are recomputed from the edits when needed."""


TAKES_EFFECT = "saving"
"""The label with which progress is reported last: a solve that is not stopped there takes effect."""


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
    first: EditorState | None = field(default=None, repr=False)
    """The state without edits, if it is known."""
    _evaluation: Evaluation = field(init=False, repr=False)
    _stacks: list[Stack] = field(default_factory=lambda: [Stack()], repr=False)
    """The stack at every position."""
    _now: tuple[int, EditorState, dict[int, str]] | None = field(default=None, init=False, repr=False)
    """Position, its state, and its operators that failed."""

    def __post_init__(self) -> None:
        """Create the state without edits."""
        self._evaluation = Evaluation(self.first or opened(self.origin), self.memory)

    @property
    def state(self) -> EditorState:
        """Return the state with all applied edits."""
        return self._evaluated()[0]

    @property
    def failed(self) -> dict[int, str]:
        """Return the operators that could not be applied again, with the reason."""
        return self._evaluated()[1]

    @property
    def stack(self) -> Stack:
        """Return the operators of the current position."""
        return self._stacks[self.position]

    def _evaluated(self) -> tuple[EditorState, dict[int, str]]:
        if self._now is None or self._now[0] != self.position:
            self._evaluation.memory = self.memory
            state, failed = self._evaluation.of(self.stack, EditContext(self.journal.files))
            self._now = self.position, state, failed
        return self._now[1], self._now[2]

    @property
    def unsaved(self) -> bool:
        """Return whether there are unsaved edits."""
        return self.position != self.saved

    def do(self, edit: Edit, progress: Progress | None = None) -> EditorState:
        """Apply an edit and drop undone ones. An edit that fails changes nothing.

        progress is called once more before the edit takes effect, so that a cancelled one does not.
        """
        before = self.state
        copied = referring(edit, before)
        stack, changed = folded(self.stack, copied)
        if copied.get("kind") == "stack":
            known = next((op for op in (*stack.operators, *self.stack.operators) if op.id == copied["id"]), None)
            copied["title"] = "an operator" if known is None else operator_title(known, before)
        self._evaluation.memory = self.memory
        after, failed = self._evaluation.of(stack, EditContext(self.journal.files, progress), changed)
        if progress is not None:
            progress(TAKES_EFFECT, 1.0)
        self._record(copied, describe(copied, before), stack, after, failed)
        return after

    def _record(
        self, edit: dict[str, Any], title: str, stack: Stack, after: EditorState, failed: dict[int, str]
    ) -> None:
        """Add an edit with a known result to the list and the journal."""
        self.journal.append({"edit": edit})
        if self.saved > self.position:
            self.saved = -1
        del self.steps[self.position :]
        del self._stacks[self.position + 1 :]
        self.steps.append(Step(edit, title))
        self._stacks.append(stack)
        self.position += 1
        self._now = self.position, after, failed

    def cache_state(self, state: EditorState) -> None:
        """Cache additional results for the current state (a prepared manipulation) with the same motion."""
        self._evaluation.remember(self.stack, state)
        self._now = self.position, state, self.failed

    def go(self, position: int, progress: Progress | None = None) -> EditorState:
        """Undo or redo up to a position."""
        if not 0 <= position <= len(self.steps):
            raise ConstraintError(f"expected a position in the history in 0..{len(self.steps)}, got {position}")
        if position != self.position:
            context = EditContext(self.journal.files, progress)
            state, failed = self._evaluation.of(self._stacks[position], context)
            self.journal.append({"go": position})
            self.position = position
            self._now = position, state, failed
        return self.state

    def state_at(self, position: int, progress: Progress | None = None) -> EditorState:
        """Return the state at a position of the history, without going there."""
        if not 0 <= position <= len(self.steps):
            raise ConstraintError(f"expected a position in the history in 0..{len(self.steps)}, got {position}")
        return self._evaluation.of(self._stacks[position], EditContext(self.journal.files, progress))[0]

    def state_without(self, number: int, progress: Progress | None = None) -> EditorState:
        """Return the state with one operator of the stack switched off, without switching it."""
        stack, _ = folded(self.stack, {"kind": "stack", "do": "off", "id": number})
        return self._evaluation.of(stack, EditContext(self.journal.files, progress))[0]

    def mark_saved(self) -> None:
        """Record that the current state has been saved to a file."""
        self.journal.append({"saved": self.position})
        self.saved = self.position


def head_of(source: str) -> dict[str, Any]:
    """Return the journal's description of the clip that it belongs to."""
    from footplant import __version__
    from footplant.io import SAMPLE

    path = Path(source)
    if source.startswith(SAMPLE) or not path.exists():
        return {"footplant": __version__, "source": source}
    return {"footplant": __version__, "source": str(path.resolve()), "size": path.stat().st_size}


def start(
    clip: Clip, source: str, folder: Path | None = None, state: EditorState | None = None, **facts: Any
) -> Session:
    """Start a session on a clip. state: the clip's state from `opened`, if known. facts: more for the journal's head.

    A clip that was uploaded has `file` there, its name among the journal's own files, so that the journal brings it.
    """
    head = {**head_of(source), **facts}
    return Session(clip, journals.create(head, folder), first=state)


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
