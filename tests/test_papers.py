"""Every row of docs/papers.md names something that exists, and every link of the documents leads somewhere."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
VERDICTS = {"same", "better", "different", "not built"}
NUMBERED = {
    "Lee & Shin 1999": (
        "3.1 3.2 4.1 4.2 4.3 4.4 4.5 5.1 5.2 5.3 6 7",
        {"equation": range(1, 8), "figure": range(1, 7), "Table": (1,)},
    ),
    "Gleicher 2001": (
        "2.1 2.2 2.2.1 3.1 3.2 3.3 3.3.1 3.4 3.5 3.6 4.1 4.1.1 4.1.2 4.1.3 4.2 4.2.1 4.3 4.4 5.1 5.1.1 5.1.2 5.2 5.3 "
        "5.4 5.5",
        {"figure": range(1, 15)},
    ),
    "Kulpa, Multon & Arnaldi 2005": (
        "3 4 5 6 7 8 9 10 11",
        {"equation": (1, 2), "figure": range(1, 15)},
    ),
    "Macleod 2006": (
        "1.1.1 1.1.2 2.1 2.2 3.1 3.2 3.3 4.1",
        {"equation": range(1, 7), "figure": range(1, 14)},
    ),
    "Shin 2002": (
        "2 2.1 2.2 2.3 3 4 4.1 4.2 5.1 5.2 5.3 5.3.1 5.3.2 5.3.3 6 7 8",
        {
            "equation": [f"{c}.{n}" for c, last in ((3, 10), (4, 5), (5, 14), ("A", 11)) for n in range(1, last + 1)],
            "figure": [f"{c}.{n}" for c, top in ((2, 2), (4, 4), (5, 9), (7, 6), ("A", 4)) for n in range(1, top + 1)],
            "Table": ("7.1", "7.2"),
        },
    ),
}
"""Numbered items of each work that describe something one can build: sections, then equations, figures and tables."""


def tables() -> dict[str, list[list[str]]]:
    """The rows of every table of docs/papers.md, by their heading."""
    found: dict[str, list[list[str]]] = {}
    heading = ""
    for line in (ROOT / "docs" / "papers.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("| ") and not line.startswith(("| item |", "| work |")):
            found.setdefault(heading, []).append([cell.strip() for cell in line.strip("|").split("|")])
    return found


TABLES = tables()
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


def numbers_in(text: str, kind: str) -> set[str]:
    """The numbers that a row names as "figure 3", "figures 5, 6 and 7", "equations 4.1 to 4.5"; 5a is 5."""
    found: set[str] = set()
    for group in re.findall(rf"{kind}s? ((?:[A\d][\d.]*[a-e]?(?:, | and | to )?)+)", text, re.IGNORECASE):
        for part in re.split(r", | and ", group):
            first, _, last = part.strip(" .:").partition(" to ")
            chapter, _, number = first.rstrip("abcde").rpartition(".")
            stop = last.rstrip("abcde.").rpartition(".")[2] or number
            if number.isdigit() and stop.isdigit():
                found |= {f"{chapter}.{n}".lstrip(".") for n in range(int(number), int(stop) + 1)}
    return found


@pytest.mark.parametrize("work", NUMBERED)
def test_every_numbered_item_has_a_row(work):
    sections, others = NUMBERED[work]
    items = [row[0] for row in TABLES[work]]
    named = {number for item in items for number in re.findall(r"\d+(?:\.\d+)*", re.split(r"[,:]", item)[0])}
    assert set(sections.split()) <= named
    for kind, numbers in others.items():
        found = set().union(*(numbers_in(item, kind) for item in items))
        assert {str(number) for number in numbers} <= found, kind


@pytest.mark.parametrize("work", NUMBERED)
def test_every_row_says_where_or_why_not(work):
    for item, where, verdict, measured in TABLES[work]:
        assert verdict in VERDICTS, item
        assert measured, item
        if verdict == "not built":
            assert not where, item
            assert len(measured) > 40, f"{item}: no reason"
        else:
            assert re.search(r"`footplant\.[\w.]+`", where), item
        for name in re.findall(r"test_\w+\.py", measured):
            assert (ROOT / "tests" / name).exists(), f"{item}: {name}"
        for name in re.findall(r"`((?:benchmarks|docs)/[\w/]+\.py)`", measured):
            assert (ROOT / name).exists(), f"{item}: {name}"


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
