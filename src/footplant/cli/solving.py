"""Shared parts of the solving commands: output options, progress, and printing the report."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from footplant.cli.arguments import Json
from footplant.cli.kernels import await_kernels
from footplant.cli.options import options
from footplant.cli.output import console, note, print_facts, print_json, print_table, refuse_to_overwrite, working

if TYPE_CHECKING:
    from footplant.clip import Clip
    from footplant.constraints import Constraint
    from footplant.problem import Method, Progress, Report, Solution
    from footplant.skeleton import Character

Out = Annotated[
    str, typer.Option("-o", "--out", metavar="OUT", help="Where to write the motion; the extension selects the format.")
]
ReportFile = Annotated[
    str | None,
    typer.Option("--report", metavar="FILE", help="Write the report: .json for programs, .html or .png for people."),
]
Exact = Annotated[
    bool,
    typer.Option(
        "--exact/--smooth",
        help="hierarchical, filtered, spacetime: enforce constraints exactly in a final pass, or favour smoothness.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")]
Append = Annotated[
    bool,
    typer.Option(
        "--append/--replace-takes",
        help="Keep the character's own animations beside the result (GLB, VRM), or write the result alone.",
    ),
]
MOST_ROWS = 12
"""Constraints shown in a table; the rest are in the report."""


def check_method(name: str, exact: bool, *others: str) -> Method | None:
    """Return a method by name, None for the whole-body solver and for `others`; `--smooth` needs an exact pass."""
    from footplant.errors import ConstraintError
    from footplant.feet.planting import WHOLE_BODY
    from footplant.solve.methods import NAMES, WITH_EXACT_PASS, method_of

    if name not in (WHOLE_BODY, *NAMES, *others):
        raise ConstraintError(f"expected a method among {', '.join((WHOLE_BODY, *NAMES, *others))}; got {name!r}")
    if not exact and name not in WITH_EXACT_PASS:
        raise ConstraintError(f"expected --smooth with a method among {', '.join(WITH_EXACT_PASS)}; got {name!r}")
    return method_of(name, exact=exact) if name in NAMES else None


def check_targets(file: str, *targets: str | None, overwrite: bool) -> None:
    """Raise, before any work is done, when a target exists already or cannot be written."""
    from footplant.errors import FormatError
    from footplant.io import format_of

    for number, name in enumerate(targets):
        if name is None:
            continue
        target = Path(name)
        refuse_to_overwrite(file, target, overwrite)
        if not (target.parent or Path()).is_dir():
            raise FormatError("there is no such folder", path=target.parent)
        if number == 0 and not hasattr(format_of(target), "save"):
            raise FormatError(f"{target.suffix} files can be read but not written", path=target)
        if number == 1 and target.suffix.lower() not in (".json", ".html", ".png"):
            raise FormatError(f"expected a report ending in .json, .html or .png, got {target.suffix!r}", path=target)


@contextlib.contextmanager
def solving(what: str) -> Iterator[Progress]:
    """Show a progress bar on stderr, on a terminal only; yields the function that updates it.

    First the kernels of the command are compiled, if they are not on disk: by now its input is known to be good.
    """
    await_kernels()
    if not sys.stderr.isatty():
        yield lambda label, share: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda label, share: bar.update(task, completed=share, description=f"{what}: {label}")


@options
class ResultOptions:
    """Options for writing a solution and its report."""

    out: Out
    append: Append = True
    report: ReportFile = None
    overwrite: Overwrite = False
    json: Json = False

    def check(self, *files: str) -> None:
        """Raise, before any work is done, when the output cannot be written."""
        for file in files:
            check_targets(file, self.out, self.report, overwrite=self.overwrite)

    def deliver(
        self,
        solution: Solution,
        clip: Clip,
        character: Character,
        *,
        verb: str,
        file: str,
        contents: Mapping[str, int] | None = None,
        **facts: Any,
    ) -> None:
        """Write the solution and its report, and print a summary.

        contents: what the character's file holds, if that is not the clip's.
        """
        from dataclasses import replace

        from footplant.io import format_of, save
        from footplant.io.contents import compare_contents, count_contents

        solved = replace(
            clip, motion=solution.motion, character=character, others=(), takes=(), take=0, layout=None, notes=()
        )
        if character.skeleton is not clip.character.skeleton:
            from footplant.conversion import Conversion

            solved = replace(solved, conversion=Conversion())
        held = clip.contents if contents is None else contents
        target, notes = Path(self.out), list[str]()
        with working(f"writing {self.out}"):
            save(self.out, solved, **_take_options(target, character, self.append, held, notes))
            after = {"takes": 1, **count_contents(target)}
            whole = "constraints" in format_of(target).holds
            lost = [] if whole else compare_contents(held, after, files=f"{target.suffix.lower()} files")
            if target.suffix.lower() == ".vrm":
                notes.append(_write_beside(target, solved, self.overwrite))
            if self.report is not None:
                write_report(solution, solved, self.report)
        if self.json:
            known = {"command": verb, "input": file, "output": self.out, "character": character.name, "lost": lost}
            found = solution.report.to_dict()
            print_json({**known, **facts, **found, "notes": [*found.get("notes", ()), *notes]})
            return
        print_report(solution.report, f"{verb}: {file} → {self.out}")
        for text in lost:
            print(f"  lost: {text}")
        for text in (*clip.notes, *solution.report.notes, *notes):
            note(f"note: {text}")


def _take_options(
    target: Path, character: Character, append: bool, held: Mapping[str, int], notes: list[str]
) -> dict[str, Any]:
    """Return the options of `save` that keep the character's own animations, or drop them; a note says which."""
    from inspect import signature

    from footplant.io import format_of

    if not held.get("takes") or "keep_takes" not in signature(format_of(target).save).parameters:
        return {}
    if append:
        count = held["takes"]
        others = "its own animation" if count == 1 else f"its {count} own animations"
        notes.append(f"the character keeps {others}; --replace-takes writes the result alone")
    return {"keep_takes": append}


def _write_beside(target: Path, clip: Clip, overwrite: bool) -> str:
    """Write the motion as a VRM animation beside a .vrm file, which viewers play; return a note."""
    from footplant.errors import FootplantError
    from footplant.io import save

    beside = target.with_suffix(".vrma")
    if beside.exists() and not overwrite:
        return f"{beside} exists already and was left; --overwrite replaces it"
    try:
        save(beside, clip)
    except FootplantError as error:
        return f"no {beside.name} was written: {error}"
    return f"viewers of VRM play {beside.name}, which was written beside it"


def further_constraints(path: str | None, clip: Clip, character: Character) -> tuple[Constraint, ...]:
    """Read the constraints of a file for a character and the frames of a clip; none without a file."""
    if path is None:
        return ()
    from footplant.io.constraint_files import read_constraints

    return tuple(read_constraints(path, character, frames=len(clip.motion), fps=clip.motion.fps))


def write_report(solution: Solution, clip: Clip, path: str) -> None:
    """Write the report as JSON, HTML or PNG, by the extension."""
    import json

    from footplant.atomic import write_atomic

    ending = Path(path).suffix.lower()
    if ending == ".json":
        write_atomic(path, json.dumps(solution.report.to_dict(), indent=2, allow_nan=False) + "\n")
        return
    from footplant import plot

    (plot.report_page if ending == ".html" else plot.report_sheet)(solution.report, clip, path)


def print_report(report: Report, title: str) -> None:
    """Print status, quality before and after, levels, and the constraints with the largest errors."""
    print_facts(title, {"status": f"{report.status.name.lower()}: {report.status.value}", "method": report.method})
    if report.after is not None and report.after.fidelity is not None:
        from footplant.quality.fidelity import in_one_line

        print(in_one_line(report.not_right))
    compared = report.comparison()
    if compared:
        print_table("Quality", ("measure", "#before", "#after"), compared)
    if report.levels:
        rows = [(level.name, level.worst, level.worst_share, round(1000 * level.seconds)) for level in report.levels]
        print_table("Levels", ("level", "#worst error mm", "#% of height", "#ms"), rows)
    worst = sorted(report.constraints, key=lambda entry: (entry.met, -entry.worst))
    rows = [(c.name, c.kind, f"{c.worst:.2f} {c.unit}", c.worst_share, c.worst_frame, c.met) for c in worst[:MOST_ROWS]]
    if rows:
        shown = f" (the worst {MOST_ROWS} of {len(worst)})" if len(worst) > MOST_ROWS else ""
        print_table(f"Constraints{shown}", ("constraint", "kind", "#worst", "#% of height", "#at frame", "met"), rows)
