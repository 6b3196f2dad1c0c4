"""Command output: one JSON object or tables on stdout; notes and progress on stderr."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from footplant.serialise import json_ready

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


SHORT = 16
"""Characters up to which the first cell of a row is not wrapped."""


def print_json(value: Mapping[str, Any]) -> None:
    """Print exactly one JSON object on stdout."""
    print(json.dumps(json_ready(value), indent=2, ensure_ascii=False, allow_nan=False))


def console(*, stderr: bool = False) -> Console:
    """Return a rich console; for a pipe or a file it is wide, so that lines are not wrapped."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 160
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=False)


def note(text: str) -> None:
    """Print one line on stderr, for people rather than programs."""
    print(text, file=sys.stderr)


def print_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Print a table on stdout. A column whose heading starts with "#" holds numbers and is right-aligned."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold", box=SIMPLE_HEAD)
    cells = [[show(cell) for cell in row] for row in rows]
    for number, column in enumerate(columns):
        # the first column identifies the row and is not wrapped
        whole = number == 0 and max((len(row[0]) for row in cells), default=0) <= SHORT
        side = "right" if column.startswith("#") else "left"
        table.add_column(column.lstrip("#"), justify=side, overflow="fold", no_wrap=whole)
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    _print_titled(title, table)


def print_facts(title: str, facts: Mapping[str, Any]) -> None:
    """Print names and values, one per line."""
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, Text(show(value)))
    _print_titled(title, table)


def print_written(title: str, facts: Mapping[str, Any], frames: str) -> None:
    """Print what a conversion wrote, what was lost, and notes; facts: format, bytes, lost, notes."""
    print_facts(title, {"wrote": f"{facts['bytes']:,} bytes of {facts['format']}", "frames": frames})
    for text in facts["lost"]:
        print(f"  lost: {text}")
    for text in facts["notes"]:
        note(f"note: {text}")


def _print_titled(title: str, table: Table) -> None:
    """Print the title on its own line: inside the table it would be wrapped to the table's width."""
    from rich.text import Text

    screen = console()
    screen.print(Text(title, style="bold"), soft_wrap=True)
    screen.print(table)


def show(value: Any) -> str:
    """Return a value as text for people: numbers to a few digits, missing values as a dash."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        # rounding errors are shown as zero
        return f"{value:.4g}" if abs(value) >= 1e-9 else "0"
    return str(value)


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner on stderr while the block runs; only on a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    with console(stderr=True).status(what):
        yield


@contextlib.contextmanager
def progress(what: str, total: int) -> Iterator[Any]:
    """Show a progress bar on stderr, only on a terminal; yields a function to call with the next label."""
    if not sys.stderr.isatty():
        yield lambda label: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        begun = False

        def advance(label: str) -> None:
            nonlocal begun
            bar.update(task, advance=1 if begun else 0, description=f"{what}: {label}")
            begun = True

        yield advance


def refuse_to_overwrite(file: str, target: Path, overwrite: bool) -> None:
    """Raise when the target is a folder, the input itself, or an existing file that may not be replaced."""
    from footplant.errors import FormatError

    if target.is_dir():
        raise FormatError("is a folder; give the name of a file", path=target)
    if not target.exists():
        return
    if Path(file).exists() and target.samefile(file):
        raise FormatError("is the input itself; write to another file", path=target)
    if not overwrite:
        raise FormatError("exists already; add --overwrite to replace it", path=target)
