"""Motions of a group of characters: those of the scene, and those that characters were given while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.motion import Motion

STILL, MOVING, AIR = range(3)
"""What a foot does: it stands still, rolls over heel or ball, or is in the air."""


@dataclass(frozen=True, eq=False)
class Line:
    """The motion of one character on its own body."""

    root: NDArray
    """(F, 3) metres, world."""
    locals: NDArray
    """(F, J, 4)"""
    phases: NDArray
    """(F, feet) int8; see `STILL`."""
    own: bool = False
    """Whether it begins when the character gets it and begins again where it ends; else it has the scene's frames."""
    once: bool = False
    """Whether it stays at its last frame instead."""
    begun: int | None = None
    """Frame of the crowd at which the present pass of an own one began; None: not yet."""
    turn: NDArray = field(default_factory=rotation.identity)
    shift: NDArray = field(default_factory=lambda: np.zeros(3))
    """A rotation about the world origin (4,) and then a shift (3,), metres, that its poses are read with: a line is
    moved without a copy of its frames."""

    @classmethod
    def of(cls, motion: Motion, phases: NDArray, *, own: bool = False, once: bool = False) -> Line:
        """Return the line of a motion."""
        return cls(np.array(motion.root), np.array(motion.rotations), phases, own, once)

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.root)

    def index(self, frame: int, scene: int) -> int:
        """Return its frame at a frame of the crowd and of the scene."""
        return min(max(frame - (frame if self.begun is None else self.begun) if self.own else scene, 0), len(self) - 1)

    def pose(self, at: int) -> tuple[NDArray, NDArray]:
        """Return root (3,) and local rotations (J, 4) of a frame."""
        root, local = self.root[at], self.locals[at].copy()
        local[0] = rotation.multiply(self.turn, local[0])
        return rotation.rotate(self.turn, root) + self.shift, local

    def moved(self, turn: NDArray, shift: NDArray) -> Line:
        """Return it rotated about the world origin by a quaternion (4,), then shifted (3,), metres."""
        return replace(self, turn=rotation.multiply(turn, self.turn), shift=rotation.rotate(turn, self.shift) + shift)

    def aligned(self, at: int, root: NDArray, facing: NDArray) -> Line:
        """Return it moved over the floor so that a frame has a root's place (3,) and faces like its rotation (4,)."""
        start, local = self.pose(at)
        turn = heading_between(local[0], facing)
        return self.moved(turn, (root - rotation.rotate(turn, start)) * [1.0, 0.0, 1.0])

    def next_pass(self) -> Line:
        """Return it from where it ends."""
        root, local = self.pose(len(self) - 1)
        return replace(self.aligned(0, root, local[0]), begun=(self.begun or 0) + len(self))


def heading_between(start: NDArray, end: NDArray) -> NDArray:
    """Return the rotation (4,) about the vertical that comes nearest to the one between two orientations (4,)."""
    whole = rotation.multiply(end, rotation.inverse(start))
    w, y = float(whole[0]), float(whole[2])
    size = np.hypot(w, y)
    return np.array([1.0, 0.0, 0.0, 0.0]) if size < 1e-9 else np.array([w / size, 0.0, y / size, 0.0])


class Lines:
    """The motions of the characters of a group."""

    def __init__(self, lines: Sequence[Line]) -> None:
        """Stack those that have the scene's frames: they are read at once."""
        self._lines = list(lines)
        self._roots = np.stack([line.root for line in lines], axis=1)
        """(F, C, 3) metres."""
        self._locals = np.stack([line.locals for line in lines], axis=1)
        self._phases = np.stack([line.phases for line in lines], axis=1)
        self.own: set[int] = set()
        """Rows that are not in these tables."""
        self._turns, self._shifts = rotation.identity(len(lines)), np.zeros((len(lines), 3))
        self._moved = np.zeros(len(lines), bool)
        """(C,) which rows are read with a rotation (C, 4) and a shift (C, 3)."""

    def __getitem__(self, row: int) -> Line:
        """Return the line of a row."""
        line = self._lines[row]
        if row not in self.own:
            line = replace(line, root=self._roots[:, row], locals=self._locals[:, row], phases=self._phases[:, row])
        return replace(line, turn=self._turns[row].copy(), shift=self._shifts[row].copy())

    def put(self, row: int, line: Line) -> None:
        """Give a row, or one more, another line."""
        if row == len(self._lines):
            self._lines.append(line)
            self._turns, self._shifts = (
                np.concatenate([self._turns, [line.turn]]),
                np.pad(self._shifts, [(0, 1), (0, 0)]),
            )
            self._moved = np.append(self._moved, False)
        if line.own or row >= self._roots.shape[1]:
            self._lines[row] = line
            self.own.add(row)
        else:
            self._lines[row] = Line(line.root[:0], line.locals[:0], line.phases[:0])
            self._roots[:, row], self._locals[:, row], self._phases[:, row] = line.root, line.locals, line.phases
            self.own.discard(row)
        self._place(row, line)

    def move(self, row: int, line: Line) -> None:
        """Give a row its line (`self[row]`) moved, or begun."""
        if row in self.own:
            self._lines[row] = line
        self._place(row, line)

    def carry(self, shift: NDArray) -> None:
        """Shift all lines (3,), metres."""
        self._shifts += shift
        self._moved[:] = True

    def _place(self, row: int, line: Line) -> None:
        self._turns[row], self._shifts[row] = line.turn, line.shift
        self._moved[row] = bool(line.shift.any()) or abs(line.turn[0]) < 1.0

    def begin_passes(self, frame: int) -> list[int]:
        """Let lines of characters that have come to their end begin again; return their rows."""
        again = []
        for row in self.own:
            line = self._lines[row]
            if not line.once and line.begun is not None and frame - line.begun >= len(line):
                # after a long stall, passes that nobody saw are left out
                begun = frame - (frame - line.begun) % len(line)
                self.move(row, replace(self[row].next_pass(), begun=begun))
                again.append(row)
        return again

    def read(self, frame: int, scene: int, rows: NDArray | None = None) -> tuple[NDArray, NDArray, NDArray]:
        """Return roots (n, 3), local rotations (n, J, 4) and phases of feet (n, feet) at frames of crowd and scene.

        rows: (n,) those that are read; None: all.
        """
        at = min(max(scene, 0), len(self._roots) - 1)
        if rows is None:
            # absent ones and those of their own included, which are written below
            more = len(self._lines) - self._roots.shape[1]
            tables = (self._roots[at], self._locals[at], self._phases[at])
            root, local, phases = (
                np.concatenate([table, np.repeat(table[-1:], more, axis=0)]) if more else table.copy()
                for table in tables
            )
            own, places, moved = self.own, self.own, np.flatnonzero(self._moved)
            whose = moved
        else:
            tabled = np.minimum(rows, self._roots.shape[1] - 1)
            root, local, phases = self._roots[at, tabled], self._locals[at, tabled], self._phases[at, tabled]
            places = [n for n, row in enumerate(rows.tolist()) if row in self.own]
            own, moved = rows[places].tolist(), np.flatnonzero(self._moved[rows])
            whose = rows[moved]
        for n, row in zip(places, own, strict=True):
            line = self._lines[row]
            now = line.index(frame, scene)
            root[n], local[n], phases[n] = line.root[now], line.locals[now], line.phases[now]
        if len(moved):
            turns = self._turns[whose]
            root[moved] = rotation.rotate(turns, root[moved]) + self._shifts[whose]
            local[moved, 0] = rotation.multiply(turns, local[moved, 0])
        return root, local, phases
