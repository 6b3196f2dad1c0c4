"""Read XML of unknown origin: no document types, no entities, bounded size and depth; numbers in text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError

MAX_BYTES = 1 << 30
"""Largest file."""
MAX_DEPTH = 1000
"""Deepest nesting of elements."""


def parse_xml(
    data: bytes, path: str | Path | None, what: str, *, finished: Mapping[str, Callable[[Element], None]] | None = None
) -> Element:
    """Return the root of an XML text without namespaces; what: what was expected, for the error.

    finished: what to do with elements of a name once they are complete; they are emptied afterwards, so that long lists
    of them take no memory.
    """
    if len(data) > MAX_BYTES:
        raise FormatError(f"expected {what} of at most {MAX_BYTES} bytes, got {len(data)}", path=path)
    builder = _Builder(path, what, finished or {})
    parser = ElementTree.XMLParser(target=builder)  # type: ignore[arg-type]
    try:
        parser.feed(data)
        return parser.close()
    except ElementTree.ParseError as error:
        raise FormatError(f"expected {what} in XML, got damaged text ({error})", path=path) from error
    except (ValueError, LookupError, RecursionError) as error:
        raise FormatError(f"expected {what} in XML, got other text ({error})", path=path) from error


class _Builder(ElementTree.TreeBuilder):
    """Builds elements whose names have no namespace; refuses document types, which may define entities."""

    def __init__(self, path: str | Path | None, what: str, finished: Mapping[str, Callable[[Element], None]]) -> None:
        super().__init__()
        self.path, self.what, self.finished, self.depth = path, what, finished, 0

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        """Refuse a document type."""
        raise FormatError(f"expected {self.what}, got a document type, which is not read", path=self.path)

    def start(self, tag, attrs):
        """Open an element."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise FormatError(f"expected {self.what}, got elements nested more than {MAX_DEPTH} deep", path=self.path)
        return super().start(tag.rpartition("}")[2], attrs)

    def end(self, tag):
        """Close an element."""
        self.depth -= 1
        element = super().end(tag.rpartition("}")[2])
        done = self.finished.get(element.tag)
        if done is not None:
            done(element)
            element.clear()
        return element


def read_numbers(element: Element | None, path: str | Path | None, count: int | None = None) -> NDArray:
    """Return the finite numbers in an element's text (n,); count: how many are expected."""
    words = "" if element is None else element.text or ""
    tag = "nothing" if element is None else f"<{element.tag}>"
    try:
        values = np.array(words.split(), float)
    except ValueError:
        raise FormatError("expected numbers, got other text", path=path, where=tag) from None
    if count is not None and len(values) != count:
        raise FormatError(f"expected {count} numbers, got {len(values)}", path=path, where=tag)
    if not np.isfinite(values).all():
        raise FormatError("expected finite numbers, got NaN or infinity", path=path, where=tag)
    return values


def read_integers(element: Element | None, path: str | Path | None) -> NDArray:
    """Return the whole numbers in an element's text (n,), int64."""
    words = "" if element is None else element.text or ""
    try:
        return np.array(words.split(), np.int64)
    except (ValueError, OverflowError):
        tag = "nothing" if element is None else f"<{element.tag}>"
        raise FormatError("expected whole numbers, got other text", path=path, where=tag) from None
