"""`footplant normalize`: a motion without its figure's lengths, with its constraints, in one file for any character."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from footplant.cli.arguments import ClipFile, Reading
from footplant.cli.loading import load_clip
from footplant.cli.options import spread
from footplant.cli.output import print_facts, print_json, working
from footplant.cli.solving import Answer, further_constraints, solving

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
        typer.Option("--to", metavar="CHARACTER", help="Put it on this character (a file or sample:NAME) and solve."),
    ] = None,
    constraints: Annotated[
        str | None, typer.Option(metavar="FILE", help="Further constraints that travel with the motion (TOML, JSON).")
    ] = None,
    plants: Annotated[
        bool, typer.Option("--plants/--no-plants", help="Whether the footplants that are found travel with the motion.")
    ] = True,
    reading: Reading,
    answer: Answer,
) -> None:
    """Write a motion without its figure's lengths, with its constraints: one file for any character (.footplant).

    With --to, put such a file, or any clip, on a character: frame by frame, as live, with strict priorities.

    Example: footplant normalize sample:walk -o walk.footplant

    Example: footplant normalize walk.footplant --to sample:child -o child.glb
    """
    from footplant.errors import FormatError

    answer.check(file)
    if to is None and Path(answer.out).suffix.lower() != ".footplant":
        raise FormatError(
            "expected a name ending in .footplant, or a character (--to) to put the motion on", path=answer.out
        )
    clip = load_clip(file, reading)
    with working("finding what must hold"):
        normalized, carried = _carried(file, clip, constraints, plants)
    if to is None:
        _write(clip, carried, answer.out)
        facts: dict[str, Any] = {
            "frames": len(normalized), "limbs": list(normalized.limbs), "constraints": len(carried),
            "beside": len(normalized.others) + len(normalized.moving),
        }  # fmt: skip
        if answer.json:
            print_json({"command": "normalize", "input": file, "output": answer.out, **facts})
        else:
            print_facts(f"normalize: {file} → {answer.out}", facts)
        return
    from footplant.edits.morphology_independent import share
    from footplant.io import load_character

    with working(f"reading {to}"):
        character = load_character(to)
    with solving("putting it on") as progress:
        solution = share(clip, character, carried, normalized=normalized, progress=progress)
    answer.deliver(solution, clip, character, verb="normalize", file=file)


def _carried(file: str, clip: Clip, constraints: str | None, plants: bool) -> tuple[Normalized, Sequence[Constraint]]:
    """The normalised form, and what travels with it: what the file has, what is given, else the plants found."""
    from footplant.constraints import from_data
    from footplant.edits.morphology_independent import plants_of
    from footplant.io import project
    from footplant.normalized import normalize as take_lengths_out

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
    return normalized or take_lengths_out(clip.motion, clip.character), found


def _write(clip: Clip, carried: Sequence[Constraint], out: str) -> None:
    from footplant.constraints import to_data
    from footplant.io import project

    whole = project.Project(((clip,),), tuple(to_data(carried, clip.character)))
    with working(f"writing {out}"):
        project.save_project(out, whole, normalized=True)
