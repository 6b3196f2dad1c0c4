"""A session: a clip and the undoable list of its edits, every one in the journal before it counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from footplant.clip import Clip
from footplant.editor import journal as journals
from footplant.editor.actions import Edit, Surroundings, apply, describe
from footplant.editor.journal import Journal
from footplant.editor.state import State, opened
from footplant.errors import ConstraintError, FootplantError
from footplant.problem import Progress

MEMORY = 768 * 2**20
"""Bytes of motions that a session keeps for undo; older states are made again from the edits when they are needed."""


class Cancelled(Exception):
    """Raised by a progress function to stop a solve that is no longer wanted."""


@dataclass(frozen=True)
class Step:
    """One edit of the list."""

    edit: dict[str, Any]
    title: str
    """What the history calls it."""


@dataclass(eq=False)
class Session:
    """A clip that is being edited. Not for two threads at once."""

    origin: Clip
    """The clip as it was opened."""
    journal: Journal
    steps: list[Step] = field(default_factory=list)
    """Every edit, those that were undone too."""
    position: int = 0
    """How many of them are done."""
    saved: int = 0
    """At which position the session was saved last."""
    memory: int = MEMORY
    _states: dict[int, State] = field(default_factory=dict, repr=False)
    """Position → state, of those that are kept."""

    def __post_init__(self) -> None:
        """Make the state without edits."""
        self._states.setdefault(0, opened(self.origin))

    @property
    def state(self) -> State:
        """The state with all edits that are done."""
        return self._state_at(self.position)

    @property
    def unsaved(self) -> bool:
        """Whether there are edits that were not saved."""
        return self.position != self.saved

    def do(self, edit: Edit, progress: Progress | None = None) -> State:
        """Do an edit; edits that were undone before it are gone. An edit that fails leaves everything as it was."""
        plain = dict(edit)
        before = self.state
        after = apply(plain, before, Surroundings(self.journal.files, progress))
        self.record(plain, after)
        return after

    def record(self, edit: dict[str, Any], after: State) -> None:
        """Take an edit whose outcome is known already into the list and the journal."""
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

    def remember(self, state: State) -> None:
        """Keep what was worked out about the present state (a manipulation that is ready); it is the same motion."""
        self._states[self.position] = state

    def go(self, position: int) -> State:
        """Undo or do again up to a position."""
        if not 0 <= position <= len(self.steps):
            raise ConstraintError(f"expected a place in the history in 0..{len(self.steps)}, got {position}")
        if position != self.position:
            state = self._state_at(position)
            self.journal.append({"go": position})
            self.position = position
            return state
        return self.state

    def undo(self) -> State:
        """Without the last edit; the same where there is none."""
        return self.go(max(self.position - 1, 0))

    def redo(self) -> State:
        """With the edit that was undone last; the same where there is none."""
        return self.go(min(self.position + 1, len(self.steps)))

    def mark_saved(self) -> None:
        """Note that the present state is in a file of the user's."""
        self.journal.append({"saved": self.position})
        self.saved = self.position

    def _state_at(self, position: int) -> State:
        if position not in self._states:
            start = max(known for known in self._states if known < position)
            state = self._states[start]
            around = Surroundings(self.journal.files)
            for number in range(start, position):
                state = apply(self.steps[number].edit, state, around)
            self._keep(position, state)
        return self._states[position]

    def _keep(self, position: int, state: State) -> None:
        self._states[position] = state
        each = state.motion.rotations.nbytes + state.motion.root.nbytes
        most = max(self.memory // max(each, 1), 2)
        # the first state is where all others can be made from
        for old in sorted(self._states)[1:]:
            if len(self._states) <= most:
                break
            if old not in (position, self.position):
                del self._states[old]


def head_of(source: str) -> dict[str, Any]:
    """What a journal says of the clip that it belongs to."""
    from footplant import __version__
    from footplant.io import SAMPLE

    path = Path(source)
    if source.startswith(SAMPLE) or not path.exists():
        return {"footplant": __version__, "source": source}
    return {"footplant": __version__, "source": str(path.resolve()), "size": path.stat().st_size}


def start(clip: Clip, source: str, folder: Path | None = None, state: State | None = None) -> Session:
    """A new session on a clip. state: the clip as `opened` has it, where that is known already."""
    known = {} if state is None else {0: state}
    return Session(clip, journals.create(head_of(source), folder), _states=known)


def recover(clip: Clip, folder: Path, progress: Progress | None = None) -> tuple[Session, list[str]]:
    """The session that a journal tells, on the clip that it was about; and a sentence for what did not come back."""
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
            notes.append(f"{len(entries) - number} entries of the journal could not be done again: {error}")
            journal.cut(ends[number])
            break
    journal.paused = False
    return session, notes
