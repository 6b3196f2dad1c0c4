"""Arguments and options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from footplant.clip import Clip

ClipFile = Annotated[str, typer.Argument(metavar="FILE", help="A motion or character file, or sample:NAME.")]
Take = Annotated[str | None, typer.Option(metavar="TAKE", help="Which animation of the file, by number or name.")]
Figure = Annotated[str | None, typer.Option(metavar="FIGURE", help="Which of several figures, by number or name.")]
Units = Annotated[
    str | None,
    typer.Option(metavar="UNIT", help="Force the file's unit: m, dm, cm, mm, inch, foot, cmu or metres per unit."),
]
Up = Annotated[str | None, typer.Option(metavar="AXIS", help="Force the file's vertical axis: x, y, z, -x, -y or -z.")]
RolesFile = Annotated[
    str | None, typer.Option("--roles", metavar="TOML", help="A file that corrects which joints are what.")
]
Fps = Annotated[
    float | None,
    typer.Option(
        metavar="RATE", help="Frames a second: of AMC and NumPy files, which may not say it; to sample FBX at."
    ),
]
SkeletonFile = Annotated[
    str | None, typer.Option("--skeleton", metavar="FILE", help="The file of the skeleton (AMC, DeepMimic).")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]


def load_clip(
    file: str,
    take: str | None = None,
    figure: str | None = None,
    units: str | None = None,
    up: str | None = None,
    roles: str | None = None,
    fps: float | None = None,
    skeleton: str | None = None,
) -> Clip:
    """Load a clip with the options as the command line gave them."""
    from footplant.cli.output import announce_compiling, working
    from footplant.errors import FormatError
    from footplant.io import load

    announce_compiling()
    from footplant.cli.markers import holds_markers

    if holds_markers(file):
        from footplant.cli.solve import solve_file

        refused = {"take": take, "roles": roles, "fps": fps, "skeleton": skeleton}
        for name, value in refused.items():
            if value is not None:
                raise FormatError(f"a file of markers takes no --{name}", path=file)
        return solve_file(file, subject=figure, units=units, up=up)[0].clip
    given = reading_options(
        file, take=take, figure=figure, units=unit(units), up=up, roles=roles, fps=fps, skeleton=skeleton
    )
    with working(f"reading {file}"):
        return load(file, **given)


def reading_options(file: str, **options: Any) -> dict[str, Any]:
    """Those of the options that are given; one that the file's format does not take is an error."""
    from inspect import signature

    from footplant.errors import FormatError
    from footplant.io import SAMPLE, format_of, formats

    given = {name: value for name, value in options.items() if value is not None}
    if file.startswith(SAMPLE) and given:
        raise FormatError(f"a sample takes no --{next(iter(given))}; it is in metres and y up already", path=file)
    readers = {ending: module.load for ending, module in formats().items() if hasattr(module, "load")}
    for name in ("fps", "skeleton"):
        able = sorted(ending for ending, load in readers.items() if name in signature(load).parameters)
        if name in given and format_of(file).extensions[0] not in able:
            raise FormatError(f"--{name} is for {', '.join(able)} files, got {Path(file).suffix}", path=file)
    return given


def format_name(file: str) -> str:
    """The format of a file by its name: "bvh", "gltf" …; "sample" for what ships with the package."""
    from footplant.io import SAMPLE, format_of

    return "sample" if file.startswith(SAMPLE) else format_of(file).__name__.rpartition(".")[2]


def unit(text: str | None) -> str | float | None:
    """A unit as the library takes it: a name, or a number of metres."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text
