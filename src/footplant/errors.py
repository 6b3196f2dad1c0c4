"""Every error that Footplant raises deliberately.

    FootplantError
    ├── FormatError       a file that cannot be read or written: where, what was expected and what was found
    ├── SkeletonError     an invalid joint tree, or a joint that does not exist
    ├── MotionError       arrays that do not match a skeleton or one another
    ├── ConstraintError   a constraint that is invalid, or that a solver does not support
    ├── ArgumentError     a number, array or index that a function does not accept; also a ValueError
    ├── HumanoidError     a character whose roles cannot be found (a quadruped, a hand, a prop)
    └── MissingExtraError an optional dependency that is not installed: names the command that installs it

The command line prints them as one line and exits with code 2. Any other exception is a bug.
"""

from __future__ import annotations

from pathlib import Path


class FootplantError(Exception):
    """Base class: catch this to catch everything that Footplant raises deliberately."""


class FormatError(FootplantError):
    """A file that cannot be read or written."""

    def __init__(self, message: str, *, path: str | Path | None = None, where: str | None = None) -> None:
        """Join file, location and message into one line."""
        self.path = None if path is None else str(path)
        """The file, as the caller named it."""
        self.where = where
        """Location inside the file: "line 12", "frame 3", "accessors[4]"; None for the whole file."""
        super().__init__(": ".join(part for part in (self.path, where, message) if part))


class SkeletonError(FootplantError):
    """An invalid joint tree, or a joint that does not exist."""


class MotionError(FootplantError):
    """Motion data that does not match its skeleton, or two motions that do not match."""


class ConstraintError(FootplantError):
    """A constraint that is invalid, or that the chosen solver does not support."""


class ArgumentError(FootplantError, ValueError):
    """A number, an array or an index that a function does not accept."""


class HumanoidError(FootplantError):
    """A character whose humanoid roles cannot be found."""

    def __init__(self, reason: str, advice: str = "") -> None:
        """Join the reason and what to do about it into one line."""
        self.reason = reason
        """Why it is not a humanoid."""
        super().__init__("; ".join(part for part in (reason, advice) if part))


class MissingExtraError(FootplantError):
    """An optional dependency that is not installed."""

    def __init__(self, module: str, extra: str, purpose: str) -> None:
        """State what is missing, what it is needed for, and the command that installs it."""
        super().__init__(f'{purpose} needs {module}; install it with: pip install "footplant[{extra}]"')
