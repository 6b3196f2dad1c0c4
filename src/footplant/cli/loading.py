"""Load the clip that a command works on; marker files are solved first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from footplant.cli.arguments import ReadOptions
from footplant.cli.kernels import prepare_kernels
from footplant.cli.markers import load as load_markers
from footplant.cli.options import options
from footplant.cli.output import working
from footplant.cli.solving import solving

if TYPE_CHECKING:
    from footplant.clip import Clip
    from footplant.contacts.ground import Ground
    from footplant.markers import Markers
    from footplant.result import Result
    from footplant.skeleton import Character


@options
class MarkerSolveOptions:
    """How optical markers are solved."""

    labels: Annotated[
        str | None,
        typer.Option(
            metavar="TOML", help="Positions of markers: a table of label = landmark or segment, e.g. M1 = 'left knee'."
        ),
    ] = None
    pose: Annotated[
        int | None,
        typer.Option(metavar="FRAME", help="A frame with a T-pose, from which unknown labels are identified."),
    ] = None
    figure: Annotated[
        str | None, typer.Option(metavar="SUBJECT", help="Which of several subjects (default: most markers).")
    ] = None
    calibration: Annotated[
        str | None,
        typer.Option(
            metavar="TAKE",
            help="Another take of the same markers, e.g. a range of motion, for lengths and marker positions.",
        ),
    ] = None
    smooth: Annotated[
        bool, typer.Option("--smooth", help="Solve all frames together, as smoothly as the markers allow.")
    ] = False


def load_clip(file: str, reading: ReadOptions | None = None, *, humanoid: bool = False, frames: bool = False) -> Clip:
    """Load a clip with the given options; optical markers are solved with the default settings.

    humanoid: refuse what is no humanoid; frames: refuse what has no motion. Both errors name the file.
    """
    from footplant.errors import FormatError
    from footplant.io import holds_markers, load
    from footplant.result import require_humanoid

    reading = reading or ReadOptions()
    prepare_kernels()
    if holds_markers(file):
        reading.refuse_for_markers(file)
        clip = solve_file(file, replace(reading, figure=None), MarkerSolveOptions(figure=reading.figure))[0].clip
    else:
        with working(f"reading {file}"):
            clip = load(file, **reading.given(file))
    if humanoid:
        require_humanoid(clip.character, file)
    if frames and not len(clip.motion):
        raise FormatError("expected a clip with frames, got none", path=file)
    return clip


def load_target(file: str, **options: Any) -> Character:
    """Load the humanoid character that a motion is put on; the error names the file."""
    return load_target_clip(file, **options).character


def load_target_clip(file: str, **options: Any) -> Clip:
    """Load the file of a humanoid character that a motion is put on, with what it holds; the error names the file."""
    from footplant.io import load
    from footplant.result import require_humanoid

    with working(f"reading {file}"):
        clip = load(file, **options)
        require_humanoid(clip.character, file)
    return clip


def solve_file(
    file: str, reading: ReadOptions, how: MarkerSolveOptions, base: Character | None = None
) -> tuple[Result, Markers]:
    """Read markers and solve them; return the solved clip and the markers. Errors name the file.

    base: the character whose proportions are fitted; None: the usual one.
    """
    from footplant.errors import ConstraintError, FormatError, MotionError
    from footplant.optical.solve import solve_markers

    markers = load_markers(file, reading)
    calibration = None if how.calibration is None else load_markers(how.calibration, replace(reading, damaged=False))
    table = None if how.labels is None else _read_table(how.labels)
    with solving("solving markers") as progress:
        try:
            return solve_markers(
                markers, base, table=table, pose_frame=how.pose, subject=how.figure, calibration=calibration,
                smooth=how.smooth, progress=progress,
            ), markers  # fmt: skip
        except (MotionError, ConstraintError) as error:
            raise FormatError(str(error), path=file) from error


def _read_table(path: str) -> dict[str, str]:
    """Read label → landmark from a TOML file (a table `markers`, or the whole file)."""
    from footplant.errors import FormatError
    from footplant.text_files import parse_toml, read_text

    data = parse_toml(read_text(path, 16 * 2**20, "marker labels"), path)
    table = data.get("markers", data)
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise FormatError('expected lines such as M1 = "left knee"', path=path)
    return table


def stated_ground(clip: Clip, notes: list[str], done: str) -> tuple[Ground | None, str | None]:
    """Return the ground that a file says its motion was made for, and its name; None without one. Adds a note on it.

    done: what is done on that ground, "measured" or "drawn".
    """
    from footplant.errors import FootplantError
    from footplant.io.ground_files import MadeFor

    stated = MadeFor.of(clip)
    if stated is None:
        return None, None
    try:
        found = stated.load()
    except FootplantError as error:
        notes.append(f"not {done} on the ground that it was made for, {stated.text}, which cannot be read: {error}")
        return None, None
    notes.append(f"{done} on the ground that it was made for: {stated.text}")
    return found, stated.text
