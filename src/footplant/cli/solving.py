"""Shared parts of the solving commands: output options, progress, and printing the report."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from footplant.cli.arguments import Json, Verbose
from footplant.cli.kernels import await_kernels
from footplant.cli.options import options
from footplant.cli.output import console, note, print_facts, print_json, print_table, refuse_to_overwrite, working
from footplant.wording import counted

if TYPE_CHECKING:
    from footplant.clip import Clip
    from footplant.constraints import Constraint
    from footplant.problem import Method, Progress, Report
    from footplant.result import Result
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
    bool | None,
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
    from footplant.feet.planting import chosen_method
    from footplant.solve.methods import WITH_EXACT_PASS

    method = chosen_method(name, *others, exact=exact)
    if not exact and name not in WITH_EXACT_PASS:
        raise ConstraintError(f"expected --smooth with a method among {', '.join(WITH_EXACT_PASS)}; got {name!r}")
    return method


def check_targets(file: str, *targets: str | None, overwrite: bool) -> None:
    """Raise, before any work is done, when a target exists already or cannot be written."""
    from footplant.errors import FormatError
    from footplant.io import writer_of

    for number, name in enumerate(targets):
        if name is None:
            continue
        target = Path(name)
        refuse_to_overwrite(file, target, overwrite)
        if not (target.parent or Path()).is_dir():
            raise FormatError("there is no such folder", path=target.parent)
        if number == 0:
            writer_of(target)
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
    """Options for writing a result and its report."""

    out: Out
    append: Append = None
    report: ReportFile = None
    overwrite: Overwrite = False
    verbose: Verbose = False
    json: Json = False

    @property
    def needs_measures(self) -> bool:
        """Whether anybody is going to read more of the report than its summary."""
        return self.report is not None or self.verbose or self.json

    def check(self, *files: str) -> None:
        """Raise, before any work is done, when the output cannot be written."""
        for file in files:
            check_targets(file, self.out, self.report, overwrite=self.overwrite)

    def deliver(
        self,
        result: Result,
        *,
        verb: str,
        file: str,
        notes: Sequence[str] = (),
        contents: Mapping[str, int] | None = None,
        append: bool = True,
        made_for: Mapping[str, Any] | None = None,
        **facts: Any,
    ) -> None:
        """Write the result and its report, and print a summary.

        notes: those of the clips that were read. contents: what the character's file holds, if that is not the clip's.
        append: whether the character's own animations are kept unless the options say something else. made_for: what
        the file says about the ground that the motion was made for, if its format can.
        """
        from footplant.io.contents import compare_contents, count_written

        held = result.clip.contents if contents is None else contents
        target, further = Path(self.out), list[str]()
        keep = append if self.append is None else self.append
        with working(f"writing {self.out}"):
            result.save(self.out, **_take_options(target, keep, held, further), **ground_options(target, made_for))
            after = count_written(target, result.character, 1)
            lost = [] if after is None else compare_contents(held, after, files=f"{target.suffix.lower()} files")
            if target.suffix.lower() == ".vrm":
                further.append(write_beside(target, [result.clip], self.overwrite))
            if self.report is not None:
                write_report(result, self.report)
        if self.json:
            known = {"command": verb, "input": file, "output": self.out, "character": result.character.name}
            length = {"frames": len(result.motion), "fps": result.motion.fps, "duration": result.motion.duration}
            found = result.report.to_dict()
            told = {"lost": lost, "notes": [*found["notes"], *further]}
            print_json({**known, **facts, **length, **found, **told})
            return
        print_summary(result, f"{verb}: {file} → {self.out}", self.out, self.report)
        if self.verbose:
            print_report(result.report)
        for text in lost:
            print(f"  lost: {text}")
        for text in (*notes, *result.report.notes, *further):
            note(f"note: {text}")


def _take_options(target: Path, append: bool, held: Mapping[str, int], notes: list[str]) -> dict[str, Any]:
    """Return the options of `save` that keep the character's own animations, or drop them; a note says which."""
    from inspect import signature

    from footplant.io import format_of

    if not held.get("takes") or "keep_takes" not in signature(format_of(target).save).parameters:
        return {}
    if append:
        count = held["takes"]
        others = "its own animation" if count == 1 else f"its {count} own animations"
        notes.append(f"the character keeps {others} after the result; --replace-takes writes the result alone")
    return {"keep_takes": append}


def ground_options(target: Path, made_for: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the option of `save` that makes a file carry the ground that its motion was made for, if it can."""
    from inspect import signature

    from footplant.io import format_of

    if made_for is None or "made_for" not in signature(format_of(target).save).parameters:
        return {}
    return {"made_for": made_for}


def write_beside(target: Path, clips: Sequence[Clip], overwrite: bool) -> str:
    """Write the takes as VRM animations beside a .vrm file, which viewers play; return a note."""
    from footplant.errors import FootplantError
    from footplant.io import save

    beside = target.with_suffix(".vrma")
    if beside.exists() and not overwrite:
        return f"{beside} exists already and was left; --overwrite replaces it"
    try:
        further: dict[str, Any] = {"takes": clips} if len(clips) > 1 else {}
        save(beside, clips[0], **further)
    except FootplantError as error:
        return f"no {beside.name} was written: {error}"
    return f"viewers of VRM play {beside.name}, which was written beside it"


def further_constraints(path: str | None, clip: Clip, character: Character) -> tuple[Constraint, ...]:
    """Read the constraints of a file for a character and the frames of a clip; none without a file."""
    if path is None:
        return ()
    from footplant.io.constraint_files import read_constraints

    return tuple(read_constraints(path, character, frames=len(clip.motion), fps=clip.motion.fps))


def write_report(result: Result, path: str) -> None:
    """Write the report as JSON, HTML or PNG, by the extension."""
    import json

    from footplant.atomic import write_atomic

    ending = Path(path).suffix.lower()
    if ending == ".json":
        write_atomic(path, json.dumps(result.report.to_dict(), indent=2, allow_nan=False) + "\n")
        return
    from footplant import plot

    if ending == ".html":
        from footplant.plot import player

        plot.report_page(result, path)
        if not player.is_available():
            note(f"note: the report has pictures only: {player.NOT_BUILT}")
    else:
        plot.report_sheet(result.report, result.clip, path)


def print_summary(result: Result, title: str, out: str, page: str | None = None) -> None:
    """Print what was done, where it is, the worst footplant and what to look at: a line each."""
    report, character = result.report, result.character
    size = f"{counted(len(character.skeleton), 'joint')}, {character.height:.2f} m" if character.height else "a prop"
    print(title)
    solved = f"{report.status}: " if report.constraints else ""
    print(f"  {solved}{result.motion.timing}, on {character.name} ({size})")
    print(f"  {_worst_plant(report)}")
    for line in _to_look_at(report):
        print(f"  {line}")
    print(f"  to see it: {page}" if page else f"  to see it: footplant view {shlex.quote(out)}")


def _worst_plant(report: Report) -> str:
    """Return the footplant that drifts most, in one line."""
    quality = report.after
    if quality is None and report.worst is not None:
        worst, count = report.worst, counted(len(report.constraints), "constraint")
        return f"worst of {count}: {worst.name}, {worst.worst:.1f} mm off (to compare with the source: -v or --report)"
    if quality is None:
        return "footplants were not measured: it has no feet, or no frames"
    if quality.worst_plant is None:
        return "no footplants"
    worst, frames = quality.worst_plant, f"frames {quality.worst_plant.start}–{quality.worst_plant.end - 1}"
    before = report.before.worst_plant if report.before is not None else None
    was = "" if before is None else f" (before: {before.drift:.1f} mm)"
    count = counted(len(quality.plants), "footplant")
    return f"worst of {count}: {worst.point}, {frames}, drifts {worst.drift:.1f} mm{was}"


def _to_look_at(report: Report) -> list[str]:
    """Return what deserves a look: constraints that are not met, and what differs from the source."""
    lines = []
    if report.status is not report.status.SOLVED:
        lines.append(f"{report.status}: {report.status.sentence}")
        worst = max(report.unmet, key=lambda entry: entry.worst, default=None)
        if worst is not None:
            at = "" if worst.worst_frame is None else f" at frame {worst.worst_frame}"
            unmet = f"{len(report.unmet)} of {counted(len(report.constraints), 'constraint')}"
            lines.append(f"look at: {worst.name}{at}, {worst.worst:.1f} {worst.unit} off; {unmet} not met")
    if report.after is not None and report.after.fidelity is not None:
        from footplant.quality.fidelity import in_one_line

        line = in_one_line(report.not_right)
        # figures beside a source are those of bodies of 1.7 m
        own = " mm " not in line or 0.5 <= report.height <= 3.0
        lines.append(line if own else f"{line} (mm on a body of 1.7 m; this one is {report.height:.3g} m)")
    return lines


def print_report(report: Report) -> None:
    """Print status, quality before and after, levels, and the constraints with the largest errors."""
    print_facts("Solve", {"status": f"{report.status}: {report.status.sentence}", "method": report.method})
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
