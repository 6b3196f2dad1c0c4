"""`footplant morph`: proportions that change while the figure moves."""

from __future__ import annotations

from typing import Annotated

import typer

from footplant.cli.arguments import ClipFile, Reading
from footplant.cli.loading import load_clip
from footplant.cli.options import spread
from footplant.cli.output import working
from footplant.cli.solving import Answer, Exact, solving


@spread
def morph(
    file: ClipFile,
    *,
    to: Annotated[
        list[str],
        typer.Option("--to", metavar="CHARACTER", help="What to become: a file or sample:NAME; again for the next."),
    ],
    scale_footsteps: Annotated[
        bool,
        typer.Option(
            "--scale-footsteps/--keep-footsteps", help="Let steps grow with the legs, or step where the source stepped."
        ),
    ] = False,
    exact: Exact = True,
    reading: Reading,
    answer: Answer,
) -> None:
    """Change a figure's proportions smoothly while it moves, into one character after another, its feet planted.

    The bones of the answer change their length with time; OUT must be a format that holds that (BVH, GLB and most).

    Example: footplant morph sample:walk --to sample:longlegs --to sample:child -o morph.glb
    """
    from footplant.edits.morph import morph as solve
    from footplant.errors import FormatError
    from footplant.io import formats, load_character, writer_of
    from footplant.solve.methods.hierarchical import Hierarchical

    answer.check(file)
    if "moving bones" not in writer_of(answer.out).holds:
        able = sorted(ending for ending, module in formats().items() if "moving bones" in module.holds)
        raise FormatError(f"expected a format whose bones can change their length ({', '.join(able)})", path=answer.out)
    clip = load_clip(file, reading)
    targets = []
    for name in to:
        with working(f"reading {name}"):
            targets.append(load_character(name))
    with solving("morphing") as progress:
        solution = solve(
            clip, targets, scale_footsteps=scale_footsteps, method=Hierarchical(exact=exact), progress=progress
        )
    answer.deliver(solution, clip, clip.character, verb="morph", file=file, to=to)
