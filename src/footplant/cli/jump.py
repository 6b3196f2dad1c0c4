"""`footplant jump`: make a jump longer or higher by physics."""

from __future__ import annotations

from typing import Annotated

import typer

from footplant.cli.arguments import ClipFile, ReadOptions
from footplant.cli.loading import load_clip
from footplant.cli.options import LeadInOption, lead_in_option, options, spread
from footplant.cli.solving import ResultOptions, solving


@options
class JumpOptions:
    """Which jump, and how it changes."""

    longer: Annotated[float, typer.Option(metavar="METRES", help="How much farther it goes; negative: less far.")] = 0.0
    higher: Annotated[float, typer.Option(metavar="METRES", help="How much higher it rises; negative: lower.")] = 0.0
    number: Annotated[
        int | None, typer.Option(metavar="N", help="Which flight of the clip, from 1 on; the longest by default.")
    ] = None


@spread
def jump(
    file: ClipFile,
    *,
    change: JumpOptions,
    lead_in: LeadInOption = "keep",
    reading: ReadOptions,
    result: ResultOptions,
) -> None:
    """Make a jump longer or higher: the centre of mass follows gravity's parabola, feet stay planted before and after.

    A higher jump takes longer; what follows a longer one is moved along with its landing.

    Example: footplant jump sample:jump --longer 0.4 -o far.glb
    """
    from footplant.edits.jump import jump as solve

    wish = lead_in_option(lead_in)
    result.check(file)
    clip = load_clip(file, reading, humanoid=True, frames=True)
    with solving("jumping") as progress:
        solution = solve(
            clip, longer=change.longer, higher=change.higher, number=change.number, lead_in=wish, progress=progress
        )
    result.deliver(
        solution, verb="jump", file=file, notes=clip.notes, longer=change.longer, higher=change.higher
    )  # fmt: skip
