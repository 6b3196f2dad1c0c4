"""Type-checked access to JSON: a wrong type raises a `FormatError` that names the JSON path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from footplant.errors import FormatError

REQUIRED: Any = object()
"""Marks "no default": a missing key is an error."""
MAX_NUMBER = 3.5e38
"""Numbers beyond the range of a 32-bit float are treated as damage."""


def read_json(data: bytes | memoryview, path: str | Path, notes: list[str] | None = None) -> dict[str, Any]:
    """Return the object in a UTF-8 JSON text; NaN and infinity are rejected, a byte order mark is noted."""

    def refuse(token: str) -> NoReturn:
        raise ValueError(f"{token} is not a JSON number")

    def fail(where: str, message: str) -> NoReturn:
        raise FormatError(message, path=path, where=where)

    try:
        content = str(data, "utf-8")
        if content.startswith("\ufeff"):
            content = content[1:]
            if notes is not None:
                notes.append("the JSON starts with a byte order mark, which is not allowed; it was skipped")
        parsed = json.loads(content, parse_constant=refuse)
    except UnicodeDecodeError as error:
        fail(f"byte {error.start}", "expected JSON in UTF-8, got other bytes")
    except json.JSONDecodeError as error:
        fail(f"line {error.lineno}, column {error.colno}", f"expected JSON, got a syntax error: {error.msg}")
    except RecursionError:
        fail("JSON", "expected JSON, got lists or objects nested too deeply")
    except ValueError as error:
        fail("JSON", f"expected JSON, got a syntax error: {error}")
    return Json(parsed, "", path).data


class Json:
    """One object of a JSON file with its path, read key by key with the expected type."""

    __slots__ = ("data", "path", "where")

    def __init__(self, data: Any, where: str, path: str | Path) -> None:
        """Wrap an object; anything else raises `FormatError`."""
        self.where, self.path = where, path
        if not isinstance(data, dict):
            raise FormatError(f"expected an object, got {describe(data)}", path=path, where=where or None)
        self.data: dict[str, Any] = data

    def place(self, key: str) -> str:
        """Return the JSON path of a key, for messages."""
        return f"{self.where}.{key}" if self.where else key

    def fail(self, key: str, message: str) -> NoReturn:
        """Raise `FormatError` for the value under a key."""
        raise FormatError(message, path=self.path, where=self.place(key))

    def _expect(self, key: str, expected: str, value: Any) -> NoReturn:
        self.fail(key, f"expected {expected}, got {describe(value)}")

    def integer(self, key: str, default: Any = REQUIRED, *, low: int = 0, high: int | None = None) -> Any:
        """Return an integer (2.0 counts) from `low` to `high`; the default if the key is missing."""
        value = self.data.get(key)
        if value is None and default is not REQUIRED:
            return default
        number = whole(value)
        if number is None or number < low or (high is not None and number > high):
            span = f"a whole number from {low}" + ("" if high is None else f" to {high}")
            self._expect(key, span, value)
        return number

    def index(self, key: str, count: int, default: Any = REQUIRED) -> Any:
        """Return an index below `count`; the default if the key is missing."""
        value = self.data.get(key)
        if value is None and default is not REQUIRED:
            return default
        number = whole(value)
        if number is None or not 0 <= number < count:
            self._expect(key, f"an index below {count}", value)
        return number

    def indices(self, key: str, count: int) -> list[int]:
        """Return a list of indices below `count`; empty if the key is missing."""
        out = []
        for number, value in enumerate(self.array(key)):
            index = whole(value)
            if index is None or not 0 <= index < count:
                self._expect(f"{key}[{number}]", f"an index below {count}", value)
            out.append(index)
        return out

    def numbers(self, key: str, count: int) -> list[float] | None:
        """Return exactly `count` finite numbers, or None if the key is missing."""
        value = self.data.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) != count:
            self._expect(key, f"{count} numbers", value)
        out = []
        for number in value:
            if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) <= MAX_NUMBER:
                self._expect(key, f"{count} finite numbers", number)
            out.append(float(number))
        return out

    def number(self, key: str, default: Any = REQUIRED, *, low: float = -MAX_NUMBER) -> Any:
        """Return a finite number of at least `low`; the default if the key is missing."""
        value = self.data.get(key)
        if value is None and default is not REQUIRED:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= MAX_NUMBER:
            self._expect(key, "a finite number" + ("" if low == -MAX_NUMBER else f" from {low:g}"), value)
        return float(value)

    def text(self, key: str, default: Any = REQUIRED) -> Any:
        """Return a string; the default if the key is missing."""
        value = self.data.get(key)
        if value is None and default is not REQUIRED:
            return default
        if not isinstance(value, str):
            self._expect(key, "a string", value)
        return value

    def flag(self, key: str) -> bool:
        """Return a boolean; False if the key is missing."""
        value = self.data.get(key, False)
        if not isinstance(value, bool):
            self._expect(key, "true or false", value)
        return value

    def array(self, key: str) -> list[Any]:
        """Return a list; empty if the key is missing."""
        value = self.data.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self._expect(key, "a list", value)
        return value

    def object(self, key: str) -> Json | None:
        """Return an object, or None if the key is missing."""
        value = self.data.get(key)
        return None if value is None else Json(value, self.place(key), self.path)

    def objects(self, key: str) -> list[Json]:
        """Return a list of objects; empty if the key is missing."""
        place = self.place(key)
        return [Json(value, f"{place}[{number}]", self.path) for number, value in enumerate(self.array(key))]

    def extension(self, name: str) -> Json | None:
        """Return the object of a glTF extension, or None if it is absent."""
        extensions = self.object("extensions")
        return None if extensions is None else extensions.object(name)


def whole(value: Any) -> int | None:
    """Return a JSON number without fraction as an int, else None; some exporters write indices as 1.0."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    return None


def describe(value: Any) -> str:
    """Return a short description of a JSON value, for messages."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "…"
