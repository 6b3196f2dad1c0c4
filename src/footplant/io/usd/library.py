"""usd-core (module `pxr`), fetched when it is needed, and what it complains of turned into one `FormatError`."""

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
_OUR_COPY = re.compile(r"@?[^\s@'\"]*footplant-usd-[^\s@'\":]*@?")
LONGEST = 300
"""Characters of a complaint that are shown."""


def require() -> None:
    """Raise when usd-core is not installed."""
    if importlib.util.find_spec("pxr") is None:
        raise MissingExtraError("usd-core", "usd", "reading and writing USD")


def modules(*names: str) -> tuple[Any, ...]:
    """Parts of usd-core by their names; they are compiled, so that type checkers know nothing of them."""
    return tuple(importlib.import_module(f"pxr.{name}") for name in names)


@contextlib.contextmanager
def reporting(path: str | Path) -> Iterator[None]:
    """Keep usd-core from writing to the terminal; what it raises becomes a `FormatError` of the file."""
    require()
    Tf, UsdUtils = modules("Tf", "UsdUtils")

    # as long as it lives, warnings and errors go to it and not to the terminal
    delegate = UsdUtils.CoalescingDiagnosticDelegate()
    try:
        yield
    except UnicodeDecodeError:
        raise FormatError("expected text in UTF-8, got other bytes", path=path) from None
    except (Tf.ErrorException, RuntimeError) as error:
        text = _words(error)
        if "bad_alloc" in text:
            much = "reading takes more memory than a file of this size may; it may be damaged"
            raise FormatError(much, path=path) from None
        raise FormatError(f"expected USD, got damage: {shorten(text)}", path=path) from None
    finally:
        delegate.TakeUncoalescedDiagnostics()
        del delegate


def _words(error: Exception) -> str:
    """What usd-core says; its reports quote the file, whatever bytes that has."""
    try:
        return str(error)
    except UnicodeDecodeError:
        return "bytes that are not text in UTF-8"


def shorten(text: str) -> str:
    """The sentence in usd-core's report, on one line."""
    first = text.strip().split("\n\tError in ")[0].strip()
    found = _QUOTED.search(first)
    sentence = " ".join(_INNER.sub("", _OUR_COPY.sub("the file", found.group(1) if found else first)).split())
    return sentence if len(sentence) <= LONGEST else sentence[:LONGEST] + " …"
