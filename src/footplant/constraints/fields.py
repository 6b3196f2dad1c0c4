"""One table of a constraint file, read key by key: a wrong value is a `FormatError` that says its place."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError

REQUIRED: Any = object()
"""Stands for "no default": an absent key is an error."""
LARGEST = 1e15
"""Numbers beyond this are taken for mistakes: no length, time or frame is so large."""


class Fields:
    """A table (an object of JSON) with its place in the file."""

    __slots__ = ("_asked", "data", "path", "where")

    def __init__(self, data: Any, where: str, path: str | Path | None) -> None:
        """Take the table; anything else is an error."""
        self.where, self.path = where, path
        if not isinstance(data, Mapping):
            raise FormatError(f"expected a table, got {describe(data)}", path=path, where=where or None)
        self.data: Mapping[str, Any] = data
        self._asked: set[str] = set()

    def __contains__(self, key: str) -> bool:
        """Whether the key is there."""
        return self.data.get(key) is not None

    def fail(self, key: str, message: str) -> NoReturn:
        """Raise the error for the value under a key; an empty key is the table itself."""
        place = f"{self.where}.{key}" if self.where and key else self.where or key
        raise FormatError(message, path=self.path, where=place or None)

    def get(self, key: str, default: Any = REQUIRED) -> Any:
        """The value as it is; the default when the key is absent."""
        self._asked.add(key)
        value = self.data.get(key)
        if value is not None:
            return value
        if default is REQUIRED:
            self.fail(key, "expected a value, got nothing")
        return default

    def table(self, key: str) -> Fields:
        """A table within this one."""
        return Fields(self.get(key), f"{self.where}.{key}" if self.where else key, self.path)

    def tables(self, key: str) -> list[Fields]:
        """A list of tables."""
        value, place = self.get(key), f"{self.where}.{key}" if self.where else key
        if not isinstance(value, list | tuple):
            self.fail(key, f"expected a list of tables, got {describe(value)}")
        return [Fields(entry, f"{place}[{number}]", self.path) for number, entry in enumerate(value)]

    def text(self, key: str, default: Any = REQUIRED) -> Any:
        """A string; the default when the key is absent."""
        value = self.get(key, default)
        if not isinstance(value, str) and value is not default:
            self.fail(key, f"expected a string, got {describe(value)}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            self.fail(key, f"expected true or false, got {describe(value)}")
        return value

    def number(self, key: str, default: Any = REQUIRED, *, low: float = -np.inf) -> Any:
        """A finite number from `low`; the default when the key is absent."""
        value = self.get(key, default)
        if value is default:
            return value
        if not is_number(value) or value < low:
            span = "a finite number" if low == -np.inf else f"a finite number from {low:g}"
            self.fail(key, f"expected {span}, got {describe(value)}")
        return float(value)

    def integer(self, key: str, default: Any = REQUIRED) -> Any:
        """A whole number; the default when the key is absent."""
        value = self.get(key, default)
        if value is not default and (not is_number(value) or value != int(value)):
            self.fail(key, f"expected a whole number, got {describe(value)}")
        return int(value) if value is not default else value

    def vector(self, key: str, width: int, default: Any = REQUIRED) -> Any:
        """(width,) finite numbers; the default when the key is absent."""
        value = self.get(key, default)
        return value if value is default else self._row(value, width, key)

    def rows(self, key: str, width: int, default: Any = REQUIRED) -> Any:
        """(1, width) from one row of numbers, or (n, width) from a list of rows; the default when it is absent."""
        value = self.get(key, default)
        if value is default:
            return value
        if isinstance(value, list | tuple) and value and isinstance(value[0], list | tuple):
            return np.array([self._row(row, width, f"{key}[{number}]") for number, row in enumerate(value)])
        return self._row(value, width, key)[None]

    def numbers(self, key: str, default: Any = REQUIRED) -> Any:
        """(1,) from one number, or (n,) from a list of them; the default when it is absent."""
        value = self.get(key, default)
        if value is default:
            return value
        values = value if isinstance(value, list | tuple) else [value]
        if not values or not all(map(is_number, values)):
            self.fail(key, f"expected a finite number or a list of them, got {describe(value)}")
        return np.array(values, float)

    def _row(self, value: Any, width: int, place: str) -> NDArray:
        if not isinstance(value, list | tuple) or len(value) != width:
            self.fail(place, f"expected {width} numbers, got {describe(value)}")
        for number, entry in enumerate(value):
            if not is_number(entry):
                self.fail(f"{place}[{number}]", f"expected a finite number, got {describe(entry)}")
        return np.array(value, float)

    def choice(self, key: str, options: Iterable[str], what: str) -> str:
        """One of some words."""
        value, options = self.text(key), list(options)
        if value not in options:
            self.fail(key, f"no {what} {value!r}{suggest(value, options)}; there are: {', '.join(options)}")
        return value

    def refuse_others(self, known: Iterable[str] = ()) -> None:
        """Raise for the first key that nobody has asked for: a misspelt option must not be ignored."""
        known = [*self._asked, *known]
        for key in self.data:
            if key not in known:
                self.fail(key, f"unknown key{suggest(key, known)}; there are: {', '.join(sorted(set(known)))}")


def is_number(value: Any) -> bool:
    """Whether a value is a finite number, and not true or false."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST


def suggest(word: str, options: Iterable[str]) -> str:
    """The nearest of some words, as the part of an error message; nothing where none is near."""
    near = difflib.get_close_matches(word, list(options), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def describe(value: Any) -> str:
    """A value in a few words, for error messages."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "…"
