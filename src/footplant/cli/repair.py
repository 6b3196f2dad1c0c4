"""`footplant repair`: feet that skate, float or sink, put right."""

from __future__ import annotations

from typing import Annotated

import typer

from footplant.cli.arguments import ClipFile, Figure, Fps, Json, RolesFile, SkeletonFile, Take, Units, Up, load_clip
from footplant.cli.solving import Out, Overwrite, ReportFile, check_targets, deliver, solving


def repair(
    file: ClipFile,
    out: Out,
    ground: Annotated[
        float | None,
        typer.Option(metavar="METRES", help="Height of the floor (default: as the feet tell, or 0 when that is near)."),
    ] = None,
    slide: Annotated[
        float | None,
        typer.Option(metavar="M/S", min=0.0, help="Slower feet near the floor are meant to stand (default: 0.35)."),
    ] = None,
    first_frame: Annotated[
        str, typer.Option(metavar="WHAT", help="An added T-pose in the first frame: keep, drop or ease (replace) it.")
    ] = "keep",
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
    """Repair a clip: feet that skate, float or are in the ground are put right with the least change.

    Says before and after in millimetres. Everything but the feet, the legs and a little of the hips stays as it is.

    Example: footplant repair sample:walk -o repaired.bvh
    """
    from footplant.edits.repair import FIRST_FRAME
    from footplant.edits.repair import repair as solve
    from footplant.errors import FormatError

    if first_frame not in FIRST_FRAME:
        raise FormatError(f"expected --first-frame to be one of {', '.join(FIRST_FRAME)}; got {first_frame!r}")
    check_targets(file, out, report, overwrite=overwrite)
    clip = load_clip(file, take, figure, units, up, roles, fps, skeleton)
    with solving("repairing") as progress:
        solution = solve(clip, ground=ground, slide=slide, first_frame=first_frame, progress=progress)  # type: ignore[arg-type]
    deliver(solution, clip, clip.character, verb="repair", file=file, out=out, report=report, json=json)
