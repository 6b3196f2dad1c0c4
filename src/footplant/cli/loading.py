"""Load the clip that a command works on; marker files are solved first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from footplant.cli.arguments import ReadOptions
from footplant.cli.kernels import prepare_kernels
from footplant.cli.markers import load as load_markers
from footplant.cli.output import working
from footplant.cli.solving import solving

if TYPE_CHECKING:
    from footplant.clip import Clip
    from footplant.result import Result
    from footplant.skeleton import Character


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
        options = {"units": reading.units, "up": reading.up, "fps": reading.fps, "damaged": reading.damaged}
        clip = solve_file(file, subject=reading.figure, **options)[0].clip
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
    file: str,
    base: Any = None,
    *,
    labels: str | None = None,
    pose: int | None = None,
    subject: str | None = None,
    calibration: str | None = None,
    smooth: bool = False,
    units: str | None = None,
    up: str | None = None,
    fps: float | None = None,
    damaged: bool = False,
) -> tuple[Result, Any]:
    """Read markers and solve them; return the solved clip and the markers. Errors name the file."""
    from footplant.errors import ConstraintError, FormatError, MotionError
    from footplant.optical.solve import solve_markers

    reading = ReadOptions(units=units, up=up, fps=fps)
    markers = load_markers(file, replace(reading, damaged=damaged))
    calibration_markers = None if calibration is None else load_markers(calibration, reading)
    table = None if labels is None else _read_table(labels)
    with solving("solving markers") as progress:
        try:
            return solve_markers(
                markers, base, table=table, pose_frame=pose, subject=subject, calibration=calibration_markers,
                smooth=smooth,
                progress=progress,
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
