"""`footplant morph`: proportions that change while the figure moves."""

from __future__ import annotations

from typing import Annotated

import typer

from footplant.cli.arguments import ClipFile, Figure, Fps, Json, RolesFile, SkeletonFile, Take, Units, Up, load_clip
from footplant.cli.output import working
from footplant.cli.solving import Exact, Out, Overwrite, ReportFile, check_targets, deliver, solving


def morph(
    file: ClipFile,
    to: Annotated[
        list[str],
        typer.Option("--to", metavar="CHARACTER", help="What to become: a file or sample:NAME; again for the next."),
    ],
    out: Out,
    scale_footsteps: Annotated[
        bool,
        typer.Option(
            "--scale-footsteps/--keep-footsteps", help="Let steps grow with the legs, or step where the source stepped."
        ),
    ] = False,
    exact: Exact = True,
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
    """Change a figure's proportions smoothly while it moves, into one character after another, its feet planted.

    The bones of the answer change their length with time; OUT must be a format that holds that (BVH, GLB and most).

    Example: footplant morph sample:walk --to sample:longlegs --to sample:child -o morph.glb
    """
    from footplant.edits.morph import morph as solve
    from footplant.errors import FormatError
    from footplant.io import formats, load_character, writer_of
    from footplant.methods.hierarchical import Hierarchical

    check_targets(file, out, report, overwrite=overwrite)
    if "moving bones" not in writer_of(out).holds:
        able = sorted(ending for ending, module in formats().items() if "moving bones" in module.holds)
        raise FormatError(f"expected a format whose bones can change their length ({', '.join(able)})", path=out)
    clip = load_clip(file, take, figure, units, up, roles, fps, skeleton)
    targets = []
    for name in to:
        with working(f"reading {name}"):
            targets.append(load_character(name))
    with solving("morphing") as progress:
        solution = solve(
            clip, targets, scale_footsteps=scale_footsteps, method=Hierarchical(exact=exact), progress=progress
        )
    deliver(solution, clip, clip.character, verb="morph", file=file, out=out, report=report, json=json, to=to)
