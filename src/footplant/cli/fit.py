"""`footplant fit`: change a motion as little as its constraints allow."""

from __future__ import annotations

from typing import Annotated

import typer

from footplant.cli.arguments import ClipFile, ReadOptions
from footplant.cli.loading import load_clip
from footplant.cli.options import LeadInOption, lead_in_option, spread
from footplant.cli.solving import Exact, ResultOptions, further_constraints, solving


@spread
def fit(
    file: ClipFile,
    *,
    constraints: Annotated[
        str, typer.Option("--constraints", metavar="FILE", help="Constraints: TOML, JSON or a .footplant project.")
    ],
    method: Annotated[
        str, typer.Option(metavar="METHOD", help="hierarchical, filtered, perframe, warping, perkey or spacetime.")
    ] = "hierarchical",
    ik: Annotated[
        str, typer.Option(metavar="IK", help="IK solver: auto, hybrid (humanoids) or numeric (any skeleton).")
    ] = "auto",
    exact: Exact = True,
    keep_plants: Annotated[
        bool, typer.Option("--keep-plants/--free-plants", help="Keep the clip's own footplants, or release them.")
    ] = True,
    lead_in: LeadInOption = "keep",
    reading: ReadOptions,
    result: ResultOptions,
) -> None:
    """Fit a motion to constraints with the least change: hands on rails, heads under beams, feet on marks.

    docs/constraints.md describes constraint files. The report lists every constraint that is not met.

    Example: footplant fit sample:walk --constraints rail.toml -o fitted.glb
    """
    from footplant.edits.fit import fit as solve
    from footplant.errors import FormatError
    from footplant.solve.methods import method_of

    method_of(method)
    wish = lead_in_option(lead_in)
    if ik not in ("auto", "hybrid", "numeric"):
        raise FormatError(f"expected an ik among auto, hybrid, numeric; got {ik!r}")
    result.check(file)
    clip = load_clip(file, reading)
    wanted = further_constraints(constraints, clip, clip.character)
    with solving("fitting") as progress:
        solution = solve(
            clip, wanted, method=method, ik=ik, exact=exact, keep_plants=keep_plants, lead_in=wish, progress=progress
        )
    result.deliver(solution, verb="fit", file=file, notes=clip.notes, constraint_file=constraints)
