"""`footplant together`: one or two figures and their props on other characters, with what they hold kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
def together(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FIRST [SECOND]", help="Motions of one or two figures in one world: files or samples."),
    ],
    *,
    to: Annotated[
        list[str], typer.Option("--to", metavar="CHARACTER", help="Character of the first figure, then of the second.")
    ],
    props: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="PROP[=OTHER]",
            help="A prop in the same world, which hands hold or somebody sits on: box.glb. chair.glb=stool.glb puts "
            "another one in its place. Repeat for more.",
        ),
    ] = None,
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
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the results.")],
    ending: Annotated[str, typer.Option("--format", metavar="FORMAT", help="Format of the results.")] = "glb",
    overwrite: Overwrite = False,
    json: Json = False,
    reading: ReadOptions,
) -> None:
    """Put figures that hold each other or a prop on other characters: handshakes, a box carried by two, a chair.

    All are scaled by one factor, so that they stay together. Hands that hold each other, rest on the other's body or
    hold a prop keep doing so, and characters that sit on a prop stay seated. Load all results into one scene.

    Example: footplant together ann.bvh ben.bvh --to sample:sally --to sample:child --with box.glb -o carried
    """
    from footplant.edits.together import together as solve
    from footplant.errors import FormatError
    from footplant.io import save, writer_of
    from footplant.result import Result

    if len(files) not in (1, 2) or len(to) != len(files):
        raise FormatError(
            f"expected one or two motions and --to as often, got {len(files)} motions and --to {len(to)} times"
        )
    things = [_prop(text) for text in props or ()]
    used = [last for _, last in things]
    targets = [out / name for name in _names((*files, *used), ending.lstrip("."))]
    for file in (*files, *used):
        for target in targets:
            writer_of(target)
            refuse_to_overwrite(file, target, overwrite)
    clips = [load_clip(file, reading, humanoid=True, frames=True) for file in files]
    characters = [load_target(name) for name in to]
    exchanges = None if not hold else [_exchange(text) for text in hold]
    with solving("solving them together") as progress:
        made = solve(clips, characters, props=things, exchanges=exchanges, touch=touch, progress=progress)
    out.mkdir(parents=True, exist_ok=True)
    for result, target in zip((*made.figures, *made.props), targets):
        save(target, result.clip if isinstance(result, Result) else result)
    if json:
        figures = [
            {"input": file, "output": str(target), "character": result.character.name, **result.report.to_dict()}
            for file, target, result in zip(files, targets, made.figures)
        ]
        placed = [{"input": name, "output": str(target)} for name, target in zip(used, targets[len(files) :])]
        print_json({"command": "together", "touch": touch, "figures": figures, "props": placed})
        return
    for file, target, result, clip in zip(files, targets, made.figures, clips):
        print_summary(result, f"together: {file} → {target}", str(target))
        for text in (*clip.notes, *result.report.notes):
            note(f"note: {text}")
    for name, target in zip(used, targets[len(files) :]):
        print(f"prop: {name} → {target}")


def _prop(text: str) -> tuple[str, str]:
    """Return the prop of the capture and that of the result: box.glb, or chair.glb=stool.glb."""
    first, _, last = text.partition("=")
    return first, last or first


def _names(names: Sequence[str], ending: str) -> list[str]:
    """Return the file names of the results: those of the inputs, numbered where they are equal."""
    stems = [Path(name.removeprefix("sample:")).stem for name in names]
    numbered = [f"{stem}-{number}" if stems.count(stem) > 1 else stem for number, stem in enumerate(stems, 1)]
    return [f"{stem}.{ending}" for stem in numbered]


def _exchange(text: str) -> Exchange:
    """Return a hold from its text: right:left@78-201."""
    from footplant.contacts.exchanges import Exchange
    from footplant.errors import FormatError

    found = re.fullmatch(r"(left|right):(left|right)@(\d+)-(\d+)", text.strip())
    if found is None:
        raise FormatError(f"expected a hold like right:right@78-201, got {text!r}")
    first, second, start, last = found.groups()
    return Exchange(0, f"{first}_palm", f"{second}_palm", int(start), int(last) + 1)
