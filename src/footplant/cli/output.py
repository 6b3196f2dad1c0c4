"""What commands print: one JSON object or tables on stdout; notes and progress on stderr."""

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
"""Letters up to which the first cell of a row is not broken."""


def print_json(value: Mapping[str, Any]) -> None:
    """Exactly one JSON object on stdout."""
    print(json.dumps(json_ready(value), indent=2, ensure_ascii=False, allow_nan=False))


def console(*, stderr: bool = False) -> Console:
    """A rich console; into a pipe or a file it gets a generous width, so that no line is broken in two."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 160
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=False)


def note(text: str) -> None:
    """One line on stderr for what a person should know and a program should not read."""
    print(text, file=sys.stderr)


def print_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """A table on stdout. A column whose heading starts with "#" is of numbers and stands on the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold", box=SIMPLE_HEAD)
    cells = [[show(cell) for cell in row] for row in rows]
    for number, column in enumerate(columns):
        # what a row is called by stays in one piece, on narrow screens too
        whole = number == 0 and max((len(row[0]) for row in cells), default=0) <= SHORT
        side = "right" if column.startswith("#") else "left"
        table.add_column(column.lstrip("#"), justify=side, overflow="fold", no_wrap=whole)
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    _print_titled(title, table)


def print_facts(title: str, facts: Mapping[str, Any]) -> None:
    """Names and values, one a line."""
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, Text(show(value)))
    _print_titled(title, table)


def _print_titled(title: str, table: Table) -> None:
    """The title on a line of its own: inside the table it would be broken to the table's width."""
    from rich.text import Text

    screen = console()
    screen.print(Text(title, style="bold"), soft_wrap=True)
    screen.print(table)


def show(value: Any) -> str:
    """A value for people: numbers to a few digits, what is not there as a dash."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        # what is zero but for rounding is shown as zero
        return f"{value:.4g}" if abs(value) >= 1e-9 else "0"
    return str(value)


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner on stderr while the block runs; only on a terminal, and gone when the block ends."""
    if not sys.stderr.isatty():
        yield
        return
    with console(stderr=True).status(what):
        yield


@contextlib.contextmanager
def progress(what: str, total: int) -> Iterator[Any]:
    """A bar on stderr, only on a terminal; yields a function to call with what comes next."""
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


def announce_compiling(*, always: bool = False) -> None:
    """Say on stderr when kernels are compiled for the first time on this machine: it takes a while, once.

    Only a person at a terminal is told, unless `always`: programs that read stderr expect errors there.
    """
    if not (always or sys.stderr.isatty()):
        return
    import logging

    class Printer(logging.Handler):
        # looks stderr up when it prints, so that a spinner or a bar makes room for the line
        def emit(self, record: logging.LogRecord) -> None:
            note(f"footplant: {record.getMessage()}")

    logger = logging.getLogger("footplant.kernels")
    if not logger.handlers:
        logger.addHandler(Printer())
        logger.setLevel(logging.INFO)
        logger.propagate = False


def refuse_to_overwrite(file: str, target: Path, overwrite: bool) -> None:
    """An error where the target is a folder, the input itself, or there already and not to be replaced."""
    from footplant.errors import FormatError

    if target.is_dir():
        raise FormatError("is a folder; give the name of a file", path=target)
    if not target.exists():
        return
    if Path(file).exists() and target.samefile(file):
        raise FormatError("is the input itself; write to another file", path=target)
    if not overwrite:
        raise FormatError("exists already; add --overwrite to replace it", path=target)
