"""JSON read with the types that are expected: a wrong type is a `FormatError` that says the place, never a crash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from footplant.errors import FormatError

REQUIRED: Any = object()
"""Stands for "no default": an absent key is an error."""
LARGEST = 3.5e38
"""Numbers beyond what a 32-bit float holds are taken for damage."""


def read_json(data: bytes | memoryview, path: str | Path, notes: list[str] | None = None) -> dict[str, Any]:
    """The object that a JSON text in UTF-8 holds; NaN and infinity are refused, a byte order mark is noted."""

    def refuse(token: str) -> NoReturn:
        raise ValueError(f"{token} is no JSON number")

    def fail(where: str, message: str) -> NoReturn:
        raise FormatError(message, path=path, where=where)

    try:
        content = str(data, "utf-8")
        if content.startswith("\ufeff"):
            content = content[1:]
            if notes is not None:
                notes.append("the JSON starts with a byte order mark, which does not belong there; it was skipped")
        parsed = json.loads(content, parse_constant=refuse)
    except UnicodeDecodeError as error:
        fail(f"byte {error.start}", "expected JSON in UTF-8, got other bytes")
    except json.JSONDecodeError as error:
        fail(f"line {error.lineno}, column {error.colno}", f"expected JSON, got a mistake: {error.msg}")
    except RecursionError:
        fail("JSON", "expected sane nesting, got lists or objects nested too deep")
    except ValueError as error:
        fail("JSON", f"expected JSON, got a mistake: {error}")
    return Json(parsed, "", path).data


class Json:
    """One object of the file's JSON with its place, read key by key with the type that is expected."""

    __slots__ = ("data", "path", "where")

    def __init__(self, data: Any, where: str, path: str | Path) -> None:
        """Take the object; anything else is an error."""
        self.where, self.path = where, path
        if not isinstance(data, dict):
            raise FormatError(f"expected an object, got {describe(data)}", path=path, where=where or None)
        self.data: dict[str, Any] = data

    def place(self, key: str) -> str:
        """How an error names a value of this object."""
        return f"{self.where}.{key}" if self.where else key

    def fail(self, key: str, message: str) -> NoReturn:
        """Raise the error for the value under a key."""
        raise FormatError(message, path=self.path, where=self.place(key))

    def _expect(self, key: str, expected: str, value: Any) -> NoReturn:
        self.fail(key, f"expected {expected}, got {describe(value)}")

    def integer(self, key: str, default: Any = REQUIRED, *, low: int = 0, high: int | None = None) -> Any:
        """A whole number (2.0 counts) from `low` to `high`; the default when the key is absent."""
        value = self.data.get(key)
        if value is None and default is not REQUIRED:
            return default
        number = whole(value)
        if number is None or number < low or (high is not None and number > high):
            span = f"a whole number from {low}" + ("" if high is None else f" to {high}")
            self._expect(key, span, value)
        return number

    def index(self, key: str, count: int, default: Any = REQUIRED) -> Any:
        """A reference to one of `count` things."""
        value = self.data.get(key)
        if value is None and default is not REQUIRED:
            return default
        number = whole(value)
        if number is None or not 0 <= number < count:
            self._expect(key, f"an index below {count}", value)
        return number

    def indices(self, key: str, count: int) -> list[int]:
        """References to some of `count` things; an absent list is empty."""
        out = []
        for number, value in enumerate(self.array(key)):
            index = whole(value)
            if index is None or not 0 <= index < count:
                self._expect(f"{key}[{number}]", f"an index below {count}", value)
            out.append(index)
        return out

    def numbers(self, key: str, count: int) -> list[float] | None:
        """That many finite numbers, or None when the key is absent."""
        value = self.data.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) != count:
            self._expect(key, f"{count} numbers", value)
        out = []
        for number in value:
            if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) <= LARGEST:
                self._expect(key, f"{count} finite numbers", number)
            out.append(float(number))
        return out

    def number(self, key: str, default: Any = REQUIRED, *, low: float = -LARGEST) -> Any:
        """A finite number from `low`; the default when the key is absent."""
        value = self.data.get(key)
        if value is None and default is not REQUIRED:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= LARGEST:
            self._expect(key, "a finite number" + ("" if low == -LARGEST else f" from {low:g}"), value)
        return float(value)

    def text(self, key: str, default: Any = REQUIRED) -> Any:
        """A string; the default when the key is absent."""
        value = self.data.get(key)
        if value is None and default is not REQUIRED:
            return default
        if not isinstance(value, str):
            self._expect(key, "a string", value)
        return value

    def flag(self, key: str) -> bool:
        """True or false; false when the key is absent."""
        value = self.data.get(key, False)
        if not isinstance(value, bool):
            self._expect(key, "true or false", value)
        return value

    def array(self, key: str) -> list[Any]:
        """A list; an absent one is empty."""
        value = self.data.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self._expect(key, "a list", value)
        return value

    def object(self, key: str) -> Json | None:
        """An object, or None when the key is absent."""
        value = self.data.get(key)
        return None if value is None else Json(value, self.place(key), self.path)

    def objects(self, key: str) -> list[Json]:
        """A list of objects; an absent one is empty."""
        place = self.place(key)
        return [Json(value, f"{place}[{number}]", self.path) for number, value in enumerate(self.array(key))]

    def extension(self, name: str) -> Json | None:
        """An extension's object, or None when it is absent."""
        extensions = self.object("extensions")
        return None if extensions is None else extensions.object(name)


def whole(value: Any) -> int | None:
    """A JSON number without fraction as an int, else None; exporters write indices as 1.0 too."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    return None


def describe(value: Any) -> str:
    """A JSON value in a few words, for error messages."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "…"
