"""Import usd-core (module `pxr`) on demand, and convert its errors to `FormatError`."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from footplant.errors import FormatError, MissingExtraError

_QUOTED = re.compile(r"Error in '[^']*' at line \d+ in file \S+ : '(.*)'\s*$", re.DOTALL)
_INNER = re.compile(r"\bpxrInternal_\w+::")
_TEMPORARY_COPY = re.compile(r"@?[^\s@'\"]*footplant-usd-[^\s@'\":]*@?")
MAX_MESSAGE_LENGTH = 300
"""Characters of usd-core's message that are shown."""


def require() -> None:
    """Raise `MissingExtraError` if usd-core is not installed."""
    if importlib.util.find_spec("pxr") is None:
        raise MissingExtraError("usd-core", "usd", "reading and writing USD")


def modules(*names: str) -> tuple[Any, ...]:
    """Return modules of usd-core by name, as Any: they are compiled and have no type information."""
    return tuple(importlib.import_module(f"pxr.{name}") for name in names)


@contextlib.contextmanager
def reporting(path: str | Path) -> Iterator[None]:
    """Suppress usd-core's terminal output, and convert its exceptions to a `FormatError` for the file."""
    require()
    Tf, UsdUtils = modules("Tf", "UsdUtils")

    # while it exists, warnings and errors go to it instead of the terminal
    delegate = UsdUtils.CoalescingDiagnosticDelegate()
    try:
        yield
    except UnicodeDecodeError:
        raise FormatError("expected text in UTF-8, got other bytes", path=path) from None
    except (Tf.ErrorException, RuntimeError) as error:
        text = _message(error)
        if "bad_alloc" in text:
            message = "reading takes more memory than a file of this size may; it may be damaged"
            raise FormatError(message, path=path) from None
        raise FormatError(f"expected USD, got damage: {shorten(text)}", path=path) from None
    finally:
        delegate.TakeUncoalescedDiagnostics()
        del delegate


def _message(error: Exception) -> str:
    """Return usd-core's message; it quotes the file, which may not be UTF-8."""
    try:
        return str(error)
    except UnicodeDecodeError:
        return "bytes that are not text in UTF-8"


def shorten(text: str) -> str:
    """Return the sentence in usd-core's message, on one line."""
    first = text.strip().split("\n\tError in ")[0].strip()
    found = _QUOTED.search(first)
    words = _INNER.sub("", _TEMPORARY_COPY.sub("the file", found.group(1) if found else first)).split()
    sentence = " ".join(words)
    return sentence if len(sentence) <= MAX_MESSAGE_LENGTH else sentence[:MAX_MESSAGE_LENGTH] + " …"
