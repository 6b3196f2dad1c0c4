"""A Collada file as XML: elements by their identifiers, and sources of numbers."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError
from footplant.io.xml import parse_xml, read_integers, read_numbers

UP = {"X_UP": [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], "Y_UP": np.eye(3).tolist(),
      "Z_UP": [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]}  # fmt: skip
"""up_axis → rotation matrix that takes it to y."""


class ColladaDocument:
    """The XML of a file, with what its asset says."""

    def __init__(self, data: bytes, path: Path) -> None:
        """Parse the bytes of a .dae file."""
        self.path = path
        self.root = parse_xml(data, path, "Collada")
        if self.root.tag != "COLLADA":
            self.fail(f"<{self.root.tag[:40]}>", "expected <COLLADA>, got another element")
        self.notes: list[str] = []
        self.by_id: dict[str, Element] = {}
        for element in self.root.iter():
            name = element.get("id")
            if name is not None:
                self.by_id.setdefault(name, element)
        unit, up = self.root.find("asset/unit"), self.root.find("asset/up_axis")
        try:
            # some exporters write the decimal comma of their language
            self.scale = float(unit.get("meter", "1").replace(",", ".")) if unit is not None else 1.0
        except ValueError:
            self.fail("<unit>", f"expected a number of metres, got {unit.get('meter')!r}")  # type: ignore[union-attr]
        if not (np.isfinite(self.scale) and 1e-9 < self.scale < 1e9):
            self.fail("<unit>", f"expected a positive number of metres, got {self.scale}")
        axis = (up.text or "").strip() if up is not None else "Y_UP"
        if axis not in UP:
            self.fail("<up_axis>", f"expected {', '.join(UP)}; got {axis[:40]!r}")
        self.upright = np.eye(4)
        self.upright[:3, :3] = UP[axis]

    def fail(self, where: str, message: str) -> NoReturn:
        """Raise `FormatError`."""
        raise FormatError(message, path=self.path, where=where)

    def follow(self, url: str | None, tag: str | tuple[str, ...], where: str) -> Element:
        """Return the element that a URL ("#name") names."""
        tags = (tag,) if isinstance(tag, str) else tag
        found = self.by_id.get((url or "").removeprefix("#"))
        if found is None or found.tag not in tags:
            self.fail(where, f"expected the name of a <{tags[0]}>, got {str(url)[:60]!r}")
        return found

    def input(self, element: Element, semantic: str) -> Element | None:
        """Return the <source> of one of an element's inputs, or None."""
        for entry in element.findall("input"):
            if entry.get("semantic") == semantic:
                return self.follow(entry.get("source"), ("source", "vertices"), f"<{element.tag}>")
        return None

    def rows(self, source: Element | None, where: str, width: int | None = None) -> NDArray:
        """Return the rows of a <source> of numbers (count, width): at least `width` columns, the rest cut off."""
        if source is None:
            self.fail(where, "expected a source of numbers, got nothing")
        array = source.find("float_array")
        if array is None:
            array = source.find("int_array")
        if array is None:
            self.fail(where, f"expected numbers in the source {source.get('id', '')[:60]!r}, got none")
        values = read_numbers(array, self.path)
        accessor = source.find("technique_common/accessor")
        stride = self.whole(accessor, "stride", 1) if accessor is not None else 1
        start = self.whole(accessor, "offset", 0) if accessor is not None else 0
        count = self.whole(accessor, "count", len(values) // stride) if accessor is not None else len(values)
        if start + count * stride > len(values):
            self.fail(where, f"expected {count} rows of {stride} numbers, got {len(values)} numbers")
        rows = values[start : start + count * stride].reshape(count, stride)
        if width is not None and stride < width:
            self.fail(where, f"expected rows of {width} numbers, got {stride}")
        return rows if width is None else rows[:, :width]

    def words(self, source: Element | None, where: str) -> list[str]:
        """Return the names in a <source> of names or references."""
        tags = ("Name_array", "IDREF_array", "SIDREF_array")
        arrays = [] if source is None else [array for tag in tags if (array := source.find(tag)) is not None]
        if not arrays:
            self.fail(where, "expected a source of names, got none")
        return (arrays[0].text or "").split()

    def whole(self, element: Element, key: str, default: int) -> int:
        """Return an attribute that is a whole number from 0 (strides: from 1)."""
        text = element.get(key)
        if text is None:
            return default
        low = 1 if key == "stride" else 0
        if not text.strip().isdigit() or len(text) > 12 or int(text) < low:
            self.fail(f"<{element.tag}>", f"expected a whole number from {low} for {key}, got {text[:40]!r}")
        return int(text)

    def integers(self, element: Element | None) -> NDArray:
        """Return the whole numbers of an element (n,)."""
        return read_integers(element, self.path)

    def numbers(self, element: Element | None, count: int | None = None) -> NDArray:
        """Return the numbers of an element (n,)."""
        return read_numbers(element, self.path, count)
