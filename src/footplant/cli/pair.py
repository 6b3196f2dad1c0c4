"""`footplant pair`: two figures on two other characters, with what they exchange kept."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footplant.cli.arguments import Json, ReadOptions
from footplant.cli.loading import load_clip, load_target
from footplant.cli.options import spread
from footplant.cli.output import note, print_json, refuse_to_overwrite
from footplant.cli.solving import Overwrite, print_summary, solving

if TYPE_CHECKING:
    from footplant.contacts.exchanges import Exchange


@spread
def pair(
    first: Annotated[str, typer.Argument(metavar="FIRST", help="Motion of the first figure: a file or sample:NAME.")],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="Motion of the second figure, in the same world.")],
    *,
    to: Annotated[
        list[str], typer.Option("--to", metavar="CHARACTER", help="Character of the first figure, then of the second.")
    ],
    hold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A:B@FROM-TO",
            help="Which hand of the first holds which of the second, in which frames: right:right@78-201. Repeat for "
            "more. Without it, holds are found.",
        ),
    ] = None,
    touch: Annotated[
        bool, typer.Option("--touch/--as-source", help="Hands that hold each other meet, or keep the capture's gap.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the two results.")],
    ending: Annotated[str, typer.Option("--format", metavar="FORMAT", help="Format of the results.")] = "glb",
    overwrite: Overwrite = False,
    json: Json = False,
    reading: ReadOptions,
) -> None:
    """Put two figures that move in one world on two other characters: handshakes, dances, hands on shoulders.

    Both are scaled by one factor, so that they stay together. Hands that hold each other, or rest on the other's body,
    keep doing so, and the figures come as close as their arms ask. Load both results into one scene.

    Example: footplant pair ann.bvh ben.bvh --to sample:sally --to sample:child -o together
    """
    from footplant.edits.pair import pair as solve
    from footplant.errors import FormatError
    from footplant.io import writer_of

    if len(to) != 2:
        raise FormatError(f"expected --to twice, for the first and the second figure; got it {len(to)} times")
    names = _names(first, second, ending.lstrip("."))
    targets = [out / name for name in names]
    for file in (first, second):
        for target in targets:
            writer_of(target)
            refuse_to_overwrite(file, target, overwrite)
    clips = [load_clip(file, reading, humanoid=True, frames=True) for file in (first, second)]
    characters = [load_target(name) for name in to]
    exchanges = None if not hold else [_exchange(text) for text in hold]
    with solving("solving the pair") as progress:
        results = solve(clips, characters, exchanges=exchanges, touch=touch, progress=progress)
    out.mkdir(parents=True, exist_ok=True)
    for result, target in zip(results, targets):
        result.save(target)
    if json:
        figures = [
            {"input": file, "output": str(target), "character": result.character.name, **result.report.to_dict()}
            for file, target, result in zip((first, second), targets, results)
        ]
        print_json({"command": "pair", "touch": touch, "figures": figures})
        return
    for file, target, result, clip in zip((first, second), targets, results, clips):
        print_summary(result, f"pair: {file} → {target}", str(target))
        for text in (*clip.notes, *result.report.notes):
            note(f"note: {text}")


def _names(first: str, second: str, ending: str) -> tuple[str, str]:
    """Return the file names of the results: those of the inputs, numbered where they are equal."""
    stems = [Path(name.removeprefix("sample:")).stem for name in (first, second)]
    if stems[0] == stems[1]:
        stems = [f"{stem}-{number}" for number, stem in enumerate(stems, 1)]
    return f"{stems[0]}.{ending}", f"{stems[1]}.{ending}"


def _exchange(text: str) -> Exchange:
    """Return a hold from its text: right:left@78-201."""
    from footplant.contacts.exchanges import Exchange
    from footplant.errors import FormatError

    found = re.fullmatch(r"(left|right):(left|right)@(\d+)-(\d+)", text.strip())
    if found is None:
        raise FormatError(f"expected a hold like right:right@78-201, got {text!r}")
    first, second, start, last = found.groups()
    return Exchange(0, f"{first}_palm", f"{second}_palm", int(start), int(last) + 1)
