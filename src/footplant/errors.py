"""Every error that Footplant raises on purpose.

    FootplantError
    ├── FormatError       a file that cannot be read or written: says where, what was expected and what was found
    ├── SkeletonError     a tree that is not one, or a joint that does not exist
    ├── MotionError       arrays that do not fit a skeleton or one another
    ├── ConstraintError   a constraint that says nothing sensible, or that a solver cannot honour
    ├── ArgumentError     a number, array or index that a function does not take; it is a ValueError too
    ├── HumanoidError     a figure whose roles cannot be found (a quadruped, a hand, a prop)
    └── MissingExtraError an optional dependency that is not installed: says the command that installs it

The command line prints them as one line and exits with code 2. Everything else that escapes is a bug.
"""

from __future__ import annotations

from pathlib import Path


class FootplantError(Exception):
    """Root of the tree: catch this to catch everything that Footplant raises on purpose."""


class FormatError(FootplantError):
    """A file that cannot be read or written."""

    def __init__(self, message: str, *, path: str | Path | None = None, where: str | None = None) -> None:
        """Join file, place and message into the one line that people see."""
        self.path = None if path is None else str(path)
        """The file, as the caller named it."""
        self.where = where
        """The place inside the file: "line 12", "frame 3", "accessors[4]"; None when it is the whole file."""
        super().__init__(": ".join(part for part in (self.path, where, message) if part))


class SkeletonError(FootplantError):
    """A joint tree that is not one, or a joint that does not exist."""


class MotionError(FootplantError):
    """Motion data that does not fit its skeleton, or two motions that do not fit one another."""


class ConstraintError(FootplantError):
    """A constraint that says nothing sensible, or one that the chosen solver cannot honour."""


class ArgumentError(FootplantError, ValueError):
    """A number, an array or an index that a function does not take."""


class HumanoidError(FootplantError):
    """A figure whose human roles cannot be found."""


class MissingExtraError(FootplantError):
    """An optional dependency that is not installed."""

    def __init__(self, module: str, extra: str, purpose: str) -> None:
        """Say what is missing, what for, and the command that installs it."""
        super().__init__(f'{purpose} needs {module}; install it with: pip install "footplant[{extra}]"')
