"""`footplant compare`: one problem solved by every method, in one table and one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from footplant.cli.arguments import ClipFile, Json, ReadOptions
from footplant.cli.loading import load_clip, load_target
from footplant.cli.options import options, spread
from footplant.cli.output import note, print_json, print_table, refuse_to_overwrite, working
from footplant.cli.solving import Exact, Overwrite, further_constraints, solving


@options
class MethodOptions:
    """Which methods run, and how."""

    methods: Annotated[str | None, typer.Option(metavar="A,B,…", help="Methods, in this order (default: all).")] = None
    repeats: Annotated[int, typer.Option(min=1, metavar="N", help="Runs per method; the shortest time counts.")] = 2
    exact: Exact = True

    def names(self) -> tuple[str, ...]:
        """Return the methods' names; raise for one that there is not."""
        from footplant.solve.methods import NAMES, method_of

        given = self.methods
        names = NAMES if given is None else tuple(name.strip() for name in given.split(",") if name.strip())
        for name in names:
            method_of(name)
        return names


@options
class PictureOptions:
    """Where a picture is drawn."""

    out: Annotated[str | None, typer.Option("-o", "--out", metavar="PNG", help="Draw the solutions side by side.")] = (
        None
    )
    overwrite: Overwrite = False

    def check(self, file: str) -> None:
        """Raise, before any work is done, when the picture cannot be written."""
        from footplant.errors import FormatError

        if self.out is None:
            return
        path = Path(self.out)
        refuse_to_overwrite(file, path, self.overwrite)
        if path.suffix.lower() != ".png":
            raise FormatError(f"expected a picture ending in .png, got {path.suffix or 'no ending'!r}", path=self.out)
        if not path.parent.is_dir():
            raise FormatError("there is no such folder", path=path.parent)


@spread
def compare(
    file: ClipFile,
    *,
    to: Annotated[
        str | None, typer.Option("--to", metavar="CHARACTER", help="Retarget to a character's file, or sample:NAME.")
    ] = None,
    constraints: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Constraints (TOML or JSON) to meet, with --to or without."),
    ] = None,
    keep_footsteps: Annotated[
        bool,
        typer.Option(
            "--keep-footsteps/--scale-footsteps", help="Keep the source's footsteps, or scale them with the legs."
        ),
    ] = False,
    running: MethodOptions,
    picture: PictureOptions,
    reading: ReadOptions,
    json: Json = False,
) -> None:
    """Solve the same problem with several methods and compare the solutions.

    A method that does not support a constraint is reported as failed. See docs/choosing.md for which to choose.

    Example: footplant compare sample:walk --to sample:short --keep-footsteps -o compare.png
    """
    from footplant.edits.compare import COLUMNS
    from footplant.edits.compare import compare as solve
    from footplant.errors import FormatError

    names = running.names()
    if to is None and constraints is None:
        raise FormatError("expected --to CHARACTER or --constraints FILE to compare methods on, got neither")
    picture.check(file)
    clip = load_clip(file, reading, humanoid=to is not None, frames=True)
    character = None if to is None else load_target(to)
    shown_on = clip.character if character is None else character
    extra = further_constraints(constraints, clip, shown_on)
    with solving("comparing") as progress:
        found = solve(
            clip, character, names, constraints=extra, keep_footsteps=keep_footsteps, exact=running.exact,
            repeats=running.repeats, progress=progress,
        )  # fmt: skip
    if picture.out is not None:
        from footplant import plot

        with working(f"drawing {picture.out}"):
            plot.comparison_sheet(found, picture.out)
    if json:
        print_json({"command": "compare", "input": file, "to": to, "picture": picture.out, **found.to_dict()})
        return
    rows = [
        [row.method, row.status or "failed", *(_short(getattr(row, key)) for key, _ in COLUMNS)] for row in found.rows
    ]
    print_table(f"compare: {file} on {shown_on.name}", ("method", "status", *(f"#{head}" for _, head in COLUMNS)), rows)
    for row in found.rows:
        if row.failed:
            note(f"note: {row.method} has no solution: {row.failed}")


def _short(value: float | None) -> float | str | None:
    """Return a number to three digits, and none below hundredths."""
    return value if value is None or isinstance(value, int) else f"{value:.3g}" if value >= 0.01 else f"{value:.2f}"
