"""`footplant morph`: change proportions while the character moves."""

from __future__ import annotations

from typing import Annotated

import typer

from footplant.cli.arguments import ClipFile, ReadOptions
from footplant.cli.loading import load_clip, load_target
from footplant.cli.options import LeadInOption, lead_in_option, spread
from footplant.cli.solving import ResultOptions, solving


@spread
def morph(
    file: ClipFile,
    *,
    to: Annotated[
        list[str],
        typer.Option("--to", metavar="CHARACTER", help="Target proportions: a file or sample:NAME; repeat for more."),
    ],
    scale_footsteps: Annotated[
        bool,
        typer.Option("--scale-footsteps/--keep-footsteps", help="Scale footsteps with the legs, or keep the source's."),
    ] = False,
    lead_in: LeadInOption = "keep",
    reading: ReadOptions,
    result: ResultOptions,
) -> None:
    """Change a character's proportions smoothly while it moves, into one target after another, feet planted.

    Bone lengths change over time, so OUT must be a format that supports this (BVH, GLB and most others).

    Example: footplant morph sample:walk --to sample:longlegs --to sample:child -o morph.glb
    """
    from footplant.edits.morph import morph as solve
    from footplant.errors import FormatError
    from footplant.io import formats, writer_of

    wish = lead_in_option(lead_in)
    result.check(file)
    if "moving bones" not in writer_of(result.out).holds:
        able = sorted(ending for ending, module in formats().items() if "moving bones" in module.holds)
        raise FormatError(f"expected a format whose bones can change their length ({', '.join(able)})", path=result.out)
    clip = load_clip(file, reading, humanoid=True, frames=True)
    targets = [load_target(name) for name in to]
    with solving("morphing") as progress:
        solution = solve(clip, targets, scale_footsteps=scale_footsteps, lead_in=wish, progress=progress)
    result.deliver(solution, verb="morph", file=file, to=to, notes=clip.notes)
