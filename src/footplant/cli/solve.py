"""`footplant solve`: solve optical markers into a motion."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from footplant.cli.arguments import Fps, Json, ReadOptions, Units, Up
from footplant.cli.loading import MarkerSolveOptions, load_target, solve_file
from footplant.cli.options import options, spread
from footplant.cli.output import note, print_facts, print_json, print_table, refuse_to_overwrite, working
from footplant.cli.solving import Out, Overwrite, ResultOptions, check_targets, solving

if TYPE_CHECKING:
    from footplant.optical.report import MarkerReport
    from footplant.result import Result

WORST = 8
"""Markers shown in a table; the rest are in the report."""


@options
class TakeOptions:
    """How a take of markers is read."""

    units: Units = None
    up: Up = None
    fps: Fps = None


@options
class SolvedOptions:
    """Where the motion, the report and a picture are written."""

    out: Out
    report: Annotated[str | None, typer.Option(metavar="FILE", help="Write the report as JSON.")] = None
    picture: Annotated[str | None, typer.Option(metavar="PNG", help="Draw markers over the skeleton.")] = None
    overwrite: Overwrite = False
    json: Json = False

    def check(self, file: str) -> None:
        """Raise, before any work is done, when something cannot be written."""
        check_targets(file, self.out, overwrite=self.overwrite)
        for extra in (self.report, self.picture):
            if extra is not None:
                refuse_to_overwrite(file, Path(extra), self.overwrite)


@spread
def solve(
    file: Annotated[str, typer.Argument(metavar="TAKE", help="A marker file: C3D or TRC.")],
    *,
    to: Annotated[
        str | None, typer.Option("--to", metavar="CHARACTER", help="Also retarget the motion to this character.")
    ] = None,
    skeleton: Annotated[
        str,
        typer.Option("--skeleton", metavar="CHARACTER", help="Character whose proportions are fitted to the take."),
    ] = "sample:mannequin",
    solving_options: MarkerSolveOptions,
    reading: TakeOptions,
    result: SolvedOptions,
) -> None:
    """Solve optical markers into a motion on a character with the proportions of the subject.

    Labels of Plug-in Gait, CMU's 41, Helen Hayes, Motek and OptiTrack are recognised. Bone lengths and marker positions
    are estimated from the take; gaps are filled by the body model, and swapped labels are detected.

    Example: footplant solve take.c3d -o take.bvh
    """
    from footplant.io import save

    result.check(file)
    base = load_target(skeleton)
    read = ReadOptions(units=reading.units, up=reading.up, fps=reading.fps)
    solved, markers = solve_file(file, read, solving_options, base)
    if to is not None:
        from footplant.edits.retarget import retarget

        character = load_target(to)
        with solving("retargeting") as progress:
            solution = retarget(solved.clip, character, progress=progress)
        _write_extras(solved, markers, result)
        delivery = ResultOptions(result.out, overwrite=result.overwrite, json=result.json)
        delivery.deliver(solution, verb="solve", file=file, to=to, notes=solved.clip.notes)
        return
    with working(f"writing {result.out}"):
        save(result.out, solved.clip)
        _write_extras(solved, markers, result)
    if result.json:
        first, *others = solved.report.markers
        known = {"command": "solve", "input": file, "output": result.out}
        status = {"status": solved.status.value, "meaning": solved.status.sentence}
        print_json({**known, "others": [other.subject for other in others], **status, **first.to_dict()})
        return
    print_fit(solved.report.markers[0], f"solve: {file} → {result.out}")


def _write_extras(solved: Result, markers: Any, result: SolvedOptions) -> None:
    if result.report is not None:
        import json

        from footplant.atomic import write_atomic

        write_atomic(result.report, json.dumps(solved.report.markers[0].to_dict(), indent=2, allow_nan=False) + "\n")
    if result.picture is not None:
        from footplant import plot

        plot.marker_fit(solved.clip, markers, solved.report.markers[0], result.picture)


def print_fit(report: MarkerReport, title: str) -> None:
    """Print the fit of a take."""
    print_facts(
        title,
        {
            "marker set": report.marker_set or "by name",
            "frames": report.frames,
            "height": f"{report.height:.3f} m",
            "marker error": f"median {report.median:.1f} mm, rms {report.rms:.1f} mm, worst {report.worst:.1f} mm",
            "swapped labels": len(report.swaps),
            "not used": len(report.left_out),
        },
    )
    worst = sorted(report.markers, key=lambda fit: -(fit.rms if fit.rms == fit.rms else 0.0))[:WORST]
    rows = [
        (fit.label, fit.segment, fit.rms, fit.worst, fit.worst_frame, 100.0 * fit.hidden, fit.longest_gap)
        for fit in worst
    ]
    columns = ("marker", "on", "#rms mm", "#worst mm", "#at frame", "#hidden %", "#longest gap")
    print_table(f"Markers (the worst {len(rows)} of {len(report.markers)})", columns, rows)
    print_table(
        "Lengths",
        ("length", "#metres", "#±"),
        [(length.name, length.metres, length.spread) for length in report.lengths],
    )
    for text in (*report.notes, *report.swaps[:5]):
        note(f"note: {text}")
