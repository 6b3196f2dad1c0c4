"""Every row of docs/papers.md names something that exists, and every link of the documents leads somewhere."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROWS = [
    [cell.strip() for cell in line.strip("|\n").split("|")]
    for line in (ROOT / "docs" / "papers.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and "`" in line
]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def resolve(symbol: str):
    """The object of a dotted name: as much of it as can be imported, the rest by attributes."""
    parts = symbol.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for name in parts[count:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(symbol)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[-1].strip("`"))
def test_symbol_exists(row):
    paper, section, symbol = row
    assert paper
    assert section
    assert resolve(symbol.strip("`")) is not None


def test_table_has_rows():
    assert len(ROWS) >= 10


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_symbols_in_the_text_exist(document):
    text = document.read_text(encoding="utf-8")
    for symbol in re.findall(r"`(footplant(?:\.\w+)+)(?:\([^`]*\))?`", text):
        if symbol != "footplant.formats":
            assert resolve(symbol) is not None, f"{document.name} names {symbol}"
