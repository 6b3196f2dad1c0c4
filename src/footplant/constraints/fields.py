"""Read one table of a constraint file key by key: a wrong value is a `FormatError` that states its location."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError

REQUIRED: Any = object()
"""Marks a key without default: its absence is an error."""
LARGEST = 1e15
"""Largest accepted number: no length, time or frame is larger."""


class Fields:
    """A table (a JSON object) with its location in the file."""

    __slots__ = ("_read", "data", "path", "where")

    def __init__(self, data: Any, where: str, path: str | Path | None) -> None:
        """Take the table; anything else is an error."""
        self.where, self.path = where, path
        if not isinstance(data, Mapping):
            raise FormatError(f"expected a table, got {describe(data)}", path=path, where=where or None)
        self.data: Mapping[str, Any] = data
        self._read: set[str] = set()

    def __contains__(self, key: str) -> bool:
        """Return whether the key is present."""
        return self.data.get(key) is not None

    def fail(self, key: str, message: str) -> NoReturn:
        """Raise the error for the value of a key; an empty key is the table itself."""
        place = f"{self.where}.{key}" if self.where and key else self.where or key
        raise FormatError(message, path=self.path, where=place or None)

    def get(self, key: str, default: Any = REQUIRED) -> Any:
        """Return the value unchecked; the default when the key is absent."""
        self._read.add(key)
        value = self.data.get(key)
        if value is not None:
            return value
        if default is REQUIRED:
            self.fail(key, "expected a value, got nothing")
        return default

    def table(self, key: str) -> Fields:
        """Return a nested table."""
        return Fields(self.get(key), f"{self.where}.{key}" if self.where else key, self.path)

    def tables(self, key: str) -> list[Fields]:
        """Return a list of tables."""
        value, place = self.get(key), f"{self.where}.{key}" if self.where else key
        if not isinstance(value, list | tuple):
            self.fail(key, f"expected a list of tables, got {describe(value)}")
        return [Fields(entry, f"{place}[{number}]", self.path) for number, entry in enumerate(value)]

    def text(self, key: str, default: Any = REQUIRED) -> Any:
        """Return a string; the default when the key is absent."""
        value = self.get(key, default)
        if not isinstance(value, str) and value is not default:
            self.fail(key, f"expected a string, got {describe(value)}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            self.fail(key, f"expected true or false, got {describe(value)}")
        return value

    def number(self, key: str, default: Any = REQUIRED, *, low: float = -np.inf) -> Any:
        """Return a finite number from `low`; the default when the key is absent."""
        value = self.get(key, default)
        if value is default:
            return value
        if not is_number(value) or value < low:
            span = "a finite number" if low == -np.inf else f"a finite number from {low:g}"
            self.fail(key, f"expected {span}, got {describe(value)}")
        return float(value)

    def integer(self, key: str, default: Any = REQUIRED) -> Any:
        """Return a whole number; the default when the key is absent."""
        value = self.get(key, default)
        if value is not default and (not is_number(value) or value != int(value)):
            self.fail(key, f"expected a whole number, got {describe(value)}")
        return int(value) if value is not default else value

    def vector(self, key: str, width: int, default: Any = REQUIRED) -> Any:
        """Return finite numbers (width,); the default when the key is absent."""
        value = self.get(key, default)
        return value if value is default else self._row(value, width, key)

    def rows(self, key: str, width: int, default: Any = REQUIRED) -> Any:
        """Return (1, width) from one row of numbers, or (n, width) from a list of rows; the default when absent."""
        value = self.get(key, default)
        if value is default:
            return value
        if isinstance(value, list | tuple) and value and isinstance(value[0], list | tuple):
            return np.array([self._row(row, width, f"{key}[{number}]") for number, row in enumerate(value)])
        return self._row(value, width, key)[None]

    def numbers(self, key: str, default: Any = REQUIRED) -> Any:
        """Return (1,) from one number, or (n,) from a list; the default when the key is absent."""
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
        """Return one of the given words."""
        value, options = self.text(key), list(options)
        if value not in options:
            self.fail(key, f"no {what} {value!r}{suggest(value, options)}; there are: {', '.join(options)}")
        return value

    def refuse_others(self, known: Iterable[str] = ()) -> None:
        """Raise for the first key that was not read: a misspelt option must not be ignored."""
        known = [*self._read, *known]
        for key in self.data:
            if key not in known:
                self.fail(key, f"unknown key{suggest(key, known)}; there are: {', '.join(sorted(set(known)))}")


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number, and not true or false."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST


def suggest(word: str, options: Iterable[str]) -> str:
    """Return the most similar word as part of an error message; empty if none is similar."""
    near = difflib.get_close_matches(word, list(options), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def describe(value: Any) -> str:
    """Return a short description of a value, for error messages."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "…"
