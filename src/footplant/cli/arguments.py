"""Arguments and options shared by several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from footplant.cli.options import options

ClipFile = Annotated[str, typer.Argument(metavar="FILE", help="A motion or character file, or sample:NAME.")]
Take = Annotated[str | None, typer.Option(metavar="TAKE", help="Which animation of the file, by number or name.")]
Figure = Annotated[str | None, typer.Option(metavar="FIGURE", help="Which of several characters, by number or name.")]
Units = Annotated[
    str | None,
    typer.Option(metavar="UNIT", help="Force the file's unit: m, dm, cm, mm, inch, foot, cmu or metres per unit."),
]
Up = Annotated[str | None, typer.Option(metavar="AXIS", help="Force the file's vertical axis: x, y, z, -x, -y or -z.")]
RolesFile = Annotated[
    str | None, typer.Option("--roles", metavar="TOML", help="A TOML file that corrects joint roles.")
]
Fps = Annotated[
    float | None,
    typer.Option(
        metavar="RATE", help="Frame rate: a file that states none is read at it, any other is resampled to it."
    ),
]
SkeletonFile = Annotated[
    str | None, typer.Option("--skeleton", metavar="FILE", help="The skeleton file (AMC, DeepMimic; a .pmx for VMD).")
]
Positions = Annotated[
    str | None,
    typer.Option("--positions", metavar="HOW", help="BVH: position channels replace OFFSET, or add to it."),
]
Height = Annotated[
    float | None,
    typer.Option("--height", metavar="METRES", min=0.01, help="Scale the character to this height, whatever its unit."),
]
Damaged = Annotated[
    bool, typer.Option("--damaged", help="C3D: read a file with damaged parameters as far as possible.")
]
GroundAt = Annotated[
    float | None,
    typer.Option("--ground", metavar="METRES", help="Move the clip so that its floor is at this height."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Print all figures, not only the summary.")]


@options
class ReadOptions:
    """Options for reading a file."""

    take: Take = None
    figure: Figure = None
    units: Units = None
    up: Up = None
    roles: RolesFile = None
    fps: Fps = None
    skeleton: SkeletonFile = None
    positions: Positions = None
    height: Height = None
    damaged: Damaged = False

    @property
    def chosen(self) -> list[str]:
        """Which parts of a file were chosen: "take", "figure"."""
        return [name for name in ("take", "figure") if getattr(self, name) is not None]

    def given(self, file: str) -> dict[str, Any]:
        """Return the given options as keyword arguments of `io.load`; raise for options that the format lacks."""
        from inspect import signature

        from footplant.errors import FormatError
        from footplant.io import SAMPLE, format_of, formats

        given = {name: value for name, value in vars(self).items() if value is not None and value is not False}
        refused = [name for name in given if name != "fps"]
        if file.startswith(SAMPLE) and refused:
            raise FormatError(
                f"a sample takes no --{refused[0]}: it has one take and one character, in metres and y up", path=file
            )
        if "damaged" in given:
            raise FormatError("--damaged is for .c3d files", path=file)
        self.check_rate()
        for name in [name for name in ("skeleton", "positions") if name in given]:
            if name not in signature(format_of(file).load).parameters:
                readers = {ending: module.load for ending, module in formats().items() if hasattr(module, "load")}
                able = sorted(ending for ending, load in readers.items() if name in signature(load).parameters)
                raise FormatError(f"--{name} is for {', '.join(able)} files, got {Path(file).suffix}", path=file)
        return given | ({} if self.units is None else {"units": unit(self.units)})

    def check_rate(self) -> None:
        """Raise for a frame rate that nothing has."""
        from footplant.errors import FormatError

        if self.fps is not None and not 1.0 <= self.fps <= 1000.0:
            raise FormatError(f"expected --fps of 1 to 1000 frames per second, got {self.fps:g}")

    def refuse_for_markers(self, file: str, **others: Any) -> None:
        """Raise for options that do not apply to marker files."""
        from footplant.errors import FormatError

        unsupported = {"take": self.take, "roles": self.roles, "skeleton": self.skeleton}
        unsupported |= {"positions": self.positions, "height": self.height, **others}
        for name, value in unsupported.items():
            if value is not None:
                raise FormatError(f"marker files take no --{name.replace('_', '-')}", path=file)


def format_name(file: str) -> str:
    """Return the format of a file by its name: "bvh", "gltf" …; "sample" for samples."""
    from footplant.io import SAMPLE, format_of

    return "sample" if file.startswith(SAMPLE) else format_of(file).__name__.rpartition(".")[2]


def unit(text: str | None) -> str | float | None:
    """Return a unit as the library takes it: a name, or a number of metres."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text
