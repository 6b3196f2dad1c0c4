"""`footplant path`: bend locomotion along another curve, feet planted."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from footplant.cli.arguments import ClipFile, ReadOptions
from footplant.cli.loading import load_clip
from footplant.cli.options import LeadInOption, lead_in_option, options, spread
from footplant.cli.solving import Exact, ResultOptions, check_method, further_constraints, solving


@options
class CurveOptions:
    """The curve, and how the motion is laid along it."""

    curve: Annotated[
        str,
        typer.Option(
            "--curve",
            metavar="CURVE",
            help="line, circle:RADIUS (negative: to the right), s:LENGTH,WIDTH, points:X,Z;X,Z;… (metres), or a file "
            "of points: CSV, JSON or TOML.",
        ),
    ]
    plant_at: Annotated[
        str,
        typer.Option(metavar="WHEN", help="Instant of a stance that determines its position: begin, middle, end."),
    ] = "middle"
    timing: Annotated[
        str,
        typer.Option(
            metavar="TIMING",
            help="keep: the original speed; arc: the whole clip along the whole curve, with scaled steps.",
        ),
    ] = "keep"
    from_start: Annotated[
        bool | None,
        typer.Option(
            "--from-start/--in-world",
            help="Move the curve to where the clip starts (line, circle, s), or the clip to the curve (points, files).",
        ),
    ] = None

    def checked(self) -> dict[str, Any]:
        """Return instant and timing as keyword arguments of `bend`; raise for those that there are not."""
        from footplant.errors import FormatError

        if self.plant_at not in ("begin", "middle", "end"):
            raise FormatError(f"expected --plant-at begin, middle or end; got {self.plant_at!r}")
        if self.timing not in ("keep", "arc"):
            raise FormatError(f"expected --timing keep or arc; got {self.timing!r}")
        return {"plant_at": self.plant_at, "timing": self.timing}


@options
class PathSolveOptions:
    """How the motion is solved."""

    method: Annotated[
        str,
        typer.Option(
            metavar="METHOD",
            help="whole-body (feet, legs and hips), hierarchical, filtered, perframe, warping, perkey or spacetime.",
        ),
    ] = "whole-body"
    lead_in: LeadInOption = "keep"
    exact: Exact = True
    constraints: Annotated[
        str | None, typer.Option(metavar="FILE", help="Further constraints (TOML or JSON) on the new motion.")
    ] = None


@spread
def path(
    file: ClipFile,
    *,
    along: CurveOptions,
    how: PathSolveOptions,
    reading: ReadOptions,
    result: ResultOptions,
) -> None:
    """Bend a walk, a run or any travel along another curve, feet planted.

    The path of the hips is extracted and smoothed; each frame moves with it to the curve, each stance rigidly.

    Example: footplant path sample:walk --curve circle:2 -o round.glb
    """
    from footplant.edits.path import bend as solve
    from footplant.io.curve_files import load_curve

    check_method(how.method, how.exact)
    timing = along.checked()
    wish = lead_in_option(how.lead_in)
    result.check(file)
    target_curve, starts_there = load_curve(along.curve)
    clip = load_clip(file, reading, humanoid=True, frames=True)
    extra = further_constraints(how.constraints, clip, clip.character)
    with solving("bending the path") as progress:
        solution = solve(
            clip, target_curve, from_start=starts_there if along.from_start is None else along.from_start,
            method=how.method, exact=how.exact, constraints=extra, lead_in=wish, progress=progress, **timing,
        )  # fmt: skip
    result.deliver(
        solution, verb="path", file=file, notes=clip.notes, curve=along.curve,
        curve_length=target_curve.length, **timing,
    )  # fmt: skip
