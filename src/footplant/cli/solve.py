"""`footplant solve`: solve optical markers into a motion."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from footplant.cli.arguments import Fps, Json, Units, Up
from footplant.cli.loading import load_target, solve_file
from footplant.cli.output import note, print_facts, print_json, print_table, refuse_to_overwrite, working
from footplant.cli.solving import Out, Overwrite, ResultOptions, check_targets, solving

if TYPE_CHECKING:
    from footplant.optical.report import MarkerReport
    from footplant.result import Result

WORST = 8
"""Markers shown in a table; the rest are in the report."""

Labels = Annotated[
    str | None,
    typer.Option(
        metavar="TOML", help="Positions of markers: a table of label = landmark or segment, e.g. M1 = 'left knee'."
    ),
]
Pose = Annotated[
    int | None,
    typer.Option(metavar="FRAME", help="A frame with a T-pose, from which unknown labels are identified."),
]


def solve(
    file: Annotated[str, typer.Argument(metavar="TAKE", help="A marker file: C3D or TRC.")],
    out: Out,
    to: Annotated[
        str | None, typer.Option("--to", metavar="CHARACTER", help="Also retarget the motion to this character.")
    ] = None,
    skeleton: Annotated[
        str,
        typer.Option("--skeleton", metavar="CHARACTER", help="Character whose proportions are fitted to the take."),
    ] = "sample:mannequin",
    labels: Labels = None,
    pose: Pose = None,
    figure: Annotated[
        str | None, typer.Option(metavar="SUBJECT", help="Which of several subjects (default: most markers).")
    ] = None,
    calibration: Annotated[
        str | None,
        typer.Option(
            metavar="TAKE",
            help="Another take of the same markers, e.g. a range of motion, for lengths and marker positions.",
        ),
    ] = None,
    smooth: Annotated[
        bool, typer.Option("--smooth", help="Solve all frames together, as smoothly as the markers allow.")
    ] = False,
    units: Units = None,
    up: Up = None,
    fps: Fps = None,
    report: Annotated[str | None, typer.Option(metavar="FILE", help="Write the report as JSON.")] = None,
    picture: Annotated[str | None, typer.Option(metavar="PNG", help="Draw markers over the skeleton.")] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Solve optical markers into a motion on a character with the proportions of the subject.

    Labels of Plug-in Gait, CMU's 41, Helen Hayes, Motek and OptiTrack are recognised. Bone lengths and marker positions
    are estimated from the take; gaps are filled by the body model, and swapped labels are detected.

    Example: footplant solve take.c3d -o take.bvh
    """
    from footplant.io import save

    check_targets(file, out, overwrite=overwrite)
    for extra in (report, picture):
        if extra is not None:
            refuse_to_overwrite(file, Path(extra), overwrite)
    base = load_target(skeleton)
    solved, markers = solve_file(
        file, base, labels=labels, pose=pose, subject=figure, calibration=calibration, smooth=smooth, units=units,
        up=up, fps=fps,
    )  # fmt: skip
    if to is not None:
        from footplant.edits.retarget import retarget

        character = load_target(to)
        with solving("retargeting") as progress:
            solution = retarget(solved.clip, character, progress=progress)
        _write_extras(solved, markers, report, picture)
        result = ResultOptions(out, overwrite=overwrite, json=json)
        result.deliver(solution, verb="solve", file=file, to=to, notes=solved.clip.notes)
        return
    with working(f"writing {out}"):
        save(out, solved.clip)
        _write_extras(solved, markers, report, picture)
    if json:
        first, *others = solved.report.markers
        known = {"command": "solve", "input": file, "output": out, "others": [other.subject for other in others]}
        status = {"status": solved.status.value, "meaning": solved.status.sentence}
        print_json({**known, **status, **first.to_dict()})
        return
    print_fit(solved.report.markers[0], f"solve: {file} → {out}")


def _write_extras(solved: Result, markers: Any, report: str | None, picture: str | None) -> None:
    if report is not None:
        import json

        from footplant.atomic import write_atomic

        write_atomic(report, json.dumps(solved.report.markers[0].to_dict(), indent=2, allow_nan=False) + "\n")
    if picture is not None:
        from footplant import plot

        plot.marker_fit(solved.clip, markers, solved.report.markers[0], picture)


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
