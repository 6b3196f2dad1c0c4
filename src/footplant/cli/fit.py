"""`footplant fit`: a motion changed as little as its constraints allow."""

from __future__ import annotations

from typing import Annotated

import typer

from footplant.cli.arguments import ClipFile, Figure, Fps, Json, RolesFile, SkeletonFile, Take, Units, Up, load_clip
from footplant.cli.solving import Exact, Out, Overwrite, ReportFile, check_targets, deliver, solving


def fit(
    file: ClipFile,
    constraints: Annotated[
        str, typer.Option("--constraints", metavar="FILE", help="What must hold: TOML, JSON or a .footplant project.")
    ],
    out: Out,
    method: Annotated[
        str, typer.Option(metavar="METHOD", help="hierarchical, filtered, perframe, warping, perkey or spacetime.")
    ] = "hierarchical",
    ik: Annotated[
        str, typer.Option(metavar="IK", help="What poses a frame: auto, hybrid (human figures) or numeric (anything).")
    ] = "auto",
    exact: Exact = True,
    keep_plants: Annotated[
        bool, typer.Option("--keep-plants/--free-plants", help="Keep the clip's own footplants, or let feet follow.")
    ] = True,
    take: Take = None,
    figure: Figure = None,
    units: Units = None,
    up: Up = None,
    roles: RolesFile = None,
    fps: Fps = None,
    skeleton: SkeletonFile = None,
    report: ReportFile = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Fit a motion to constraints with the least change: hands on rails, heads under beams, feet on marks.

    Constraint files are described in docs/constraints.md. What cannot be met is said, constraint by constraint.

    Example: footplant fit sample:walk --constraints rail.toml -o fitted.glb
    """
    from footplant.edits.fit import fit as solve
    from footplant.errors import FormatError
    from footplant.io.constraint_files import read_constraints
    from footplant.methods import method_of

    method_of(method)
    if ik not in ("auto", "hybrid", "numeric"):
        raise FormatError(f"expected an ik among auto, hybrid, numeric; got {ik!r}")
    check_targets(file, out, report, overwrite=overwrite)
    clip = load_clip(file, take, figure, units, up, roles, fps, skeleton)
    wanted = read_constraints(constraints, clip.character, frames=len(clip.motion), fps=clip.motion.fps)
    with solving("fitting") as progress:
        solution = solve(clip, wanted, method=method, ik=ik, exact=exact, keep_plants=keep_plants, progress=progress)
    deliver(
        solution, clip, clip.character, verb="fit", file=file, out=out, report=report, json=json,
        constraint_file=constraints,
    )  # fmt: skip
