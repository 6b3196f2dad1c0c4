"""`footplant repair`: feet that skate, float or sink, put right."""

from __future__ import annotations

from typing import Annotated

import typer

from footplant.cli.arguments import ClipFile, Reading
from footplant.cli.loading import load_clip
from footplant.cli.options import spread
from footplant.cli.solving import Answer, solving


@spread
def repair(
    file: ClipFile,
    *,
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
    reading: Reading,
    answer: Answer,
) -> None:
    """Repair a clip: feet that skate, float or are in the ground are put right with the least change.

    Says before and after in millimetres. Everything but the feet, the legs and a little of the hips stays as it is.

    Example: footplant repair sample:walk -o repaired.bvh
    """
    from footplant.edits.repair import repair as solve
    from footplant.errors import FormatError
    from footplant.feet.lead_in import FIRST_FRAME

    if first_frame not in FIRST_FRAME:
        raise FormatError(f"expected --first-frame to be one of {', '.join(FIRST_FRAME)}; got {first_frame!r}")
    answer.check(file)
    clip = load_clip(file, reading)
    with solving("repairing") as progress:
        solution = solve(clip, ground=ground, slide=slide, first_frame=first_frame, progress=progress)  # type: ignore[arg-type]
    answer.deliver(solution, clip, clip.character, verb="repair", file=file)
