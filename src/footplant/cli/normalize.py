"""`footplant normalize`: morphology-independent motion with its constraints, in one file for any character."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from footplant.cli.arguments import ClipFile, ReadOptions
from footplant.cli.loading import load_clip, load_target
from footplant.cli.options import spread
from footplant.cli.output import print_facts, print_json, working
from footplant.cli.solving import ResultOptions, further_constraints, solving

if TYPE_CHECKING:
    from collections.abc import Sequence

    from footplant.clip import Clip
    from footplant.constraints import Constraint
    from footplant.normalized import Normalized


@spread
def normalize(
    file: ClipFile,
    *,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="CHARACTER", help="Apply it to this character (a file or sample:NAME) and solve."),
    ] = None,
    constraints: Annotated[
        str | None, typer.Option(metavar="FILE", help="Further constraints to store with the motion (TOML, JSON).")
    ] = None,
    plants: Annotated[
        bool, typer.Option("--plants/--no-plants", help="Whether to store the detected footplants with the motion.")
    ] = True,
    reading: ReadOptions,
    result: ResultOptions,
) -> None:
    """Write a morphology-independent motion with its constraints: one file for any character (.footplant).

    With --to, apply such a file, or any clip, to a character: frame by frame, as live, with strict priorities.

    Example: footplant normalize sample:walk -o walk.footplant

    Example: footplant normalize walk.footplant --to sample:child -o child.glb
    """
    from footplant.errors import FormatError

    result.check(file)
    if to is None and Path(result.out).suffix.lower() != ".footplant":
        raise FormatError(
            "expected a name ending in .footplant, or a character (--to) to apply the motion to", path=result.out
        )
    clip = load_clip(file, reading, humanoid=True, frames=True)
    with working("collecting constraints"):
        normalized, stored = _with_constraints(file, clip, constraints, plants)
    if to is None:
        _write(clip, stored, result.out)
        facts: dict[str, Any] = {
            "frames": len(normalized), "limbs": list(normalized.limbs), "constraints": len(stored),
            "beside": len(normalized.others) + len(normalized.moving),
        }  # fmt: skip
        if result.json:
            print_json({"command": "normalize", "input": file, "output": result.out, **facts})
        else:
            print_facts(f"normalize: {file} → {result.out}", facts)
        return
    from footplant.edits.morphology_independent import share

    character = load_target(to)
    with solving("applying") as progress:
        solution = share(clip, character, stored, normalized=normalized, progress=progress)
    result.deliver(solution, verb="normalize", file=file, notes=clip.notes)


def _with_constraints(
    file: str, clip: Clip, constraints: str | None, plants: bool
) -> tuple[Normalized, Sequence[Constraint]]:
    """Return the normalised motion and its constraints: from the file, from options, else detected footplants."""
    from footplant.constraints import from_data
    from footplant.edits.morphology_independent import plants_of
    from footplant.io import project
    from footplant.normalized import normalize as normalize_motion

    found: list[Constraint] = []
    normalized = None
    if Path(file).suffix.lower() in project.extensions:
        whole, kept = project.load_normalized(file)
        if (
            whole.clip.motion.root.shape == clip.motion.root.shape
            and (whole.clip.motion.root == clip.motion.root).all()
        ):
            normalized = kept
        found += from_data(
            list(whole.constraints), clip.character, frames=len(clip.motion), fps=clip.motion.fps, path=file
        )
    found += further_constraints(constraints, clip, clip.character)
    if plants and not any(type(constraint).__name__ == "Footplant" for constraint in found):
        found += plants_of(clip)
    return normalized or normalize_motion(clip.motion, clip.character), found


def _write(clip: Clip, stored: Sequence[Constraint], out: str) -> None:
    from footplant.constraints import to_data
    from footplant.io import project

    whole = project.Project(((clip,),), tuple(to_data(stored, clip.character)))
    with working(f"writing {out}"):
        project.save_project(out, whole, normalized=True)
