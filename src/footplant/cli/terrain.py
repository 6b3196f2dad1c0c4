"""`footplant terrain`: adapt a motion from level ground to hills, slopes, stairs and doorways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from footplant.cli.arguments import ClipFile, ReadOptions
from footplant.cli.loading import load_clip, load_target
from footplant.cli.options import LeadInOption, lead_in_option, options, spread
from footplant.cli.output import working
from footplant.cli.robot import refuse_for_robots, terrain_to_robot
from footplant.cli.solving import ResultOptions, solving
from footplant.io.registry import is_robot

if TYPE_CHECKING:
    from footplant.constraints.doorways import Doorway
    from footplant.contacts.ground import Ground
    from footplant.io.ground_files import GroundOptions
    from footplant.motion import Motion
    from footplant.skeleton import Character


@options
class MoverOptions:
    """Who moves over the ground."""

    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="CHARACTER",
            help="Retarget to another character (file or sample:NAME) or robot (.xml, .urdf).",
        ),
    ] = None
    keep_footsteps: Annotated[
        bool,
        typer.Option(
            "--keep-footsteps/--scale-footsteps", help="With --to: keep the source's footsteps, or scale them."
        ),
    ] = False


@options
class GroundFileOptions:
    """How a ground is read from a file."""

    cell: Annotated[
        float | None, typer.Option(metavar="METRES", help="Distance between pixels or heights of a file (default 0.1).")
    ] = None
    relief: Annotated[
        float | None,
        typer.Option(metavar="METRES", help="Height difference between a file's lowest and highest point."),
    ] = None
    ground_up: Annotated[str, typer.Option(metavar="AXIS", help="Vertical axis of a mesh: y, z, -x …")] = "y"
    ground_at: Annotated[
        str | None, typer.Option(metavar="X,Z", help="Where to place the centre of a file's ground, metres.")
    ] = None

    def checked(self) -> GroundOptions:
        """Return these options as `load_ground` takes them."""
        from footplant.io.ground_files import GroundOptions

        _check_positive(cell=self.cell, relief=self.relief)
        center = None if self.ground_at is None else _pair(self.ground_at, ",", "--ground-at X,Z")
        return GroundOptions(self.cell, self.relief, self.ground_up, center)


@options
class StepOptions:
    """What a ground with edges may change of the steps."""

    keep_steps: Annotated[
        bool, typer.Option("--keep-steps", help="Leave steps where they are, but for the nearest flat spot.")
    ] = False
    keep_timing: Annotated[
        bool, typer.Option("--keep-timing", help="Keep the times of steps that climb stairs; usually they take longer.")
    ] = False


@spread
def terrain(
    file: ClipFile,
    *,
    ground: Annotated[
        str,
        typer.Option(
            "--ground",
            metavar="GROUND",
            help="noise:SEED[:AMPLITUDE[:SPACING]], stairs:RISE:RUN[:COUNT[:START[:HEADING]]], "
            "slope:DEGREES[:HEADING], stones:SIZE:GAP[:SEED[:JITTER[:COUNT[:START[:HEADING]]]]], "
            "beam:WIDTH:HEIGHT[:LENGTH[:START[:HEADING]]] (metres), a file: a picture, .npy heights, or a mesh (.obj, "
            ".glb), or moving:lift:RISE:SECONDS, moving:conveyor:SPEED[:HEADING], "
            "moving:deck:DEGREES:SECONDS[:HEADING], each with +GROUND for what is on it.",
        ),
    ],
    doorways: Annotated[
        str | None,
        typer.Option(
            metavar="AT:HEIGHT,…",
            help="Beams across the path, AT metres from its start, HEIGHT metres (or % of body height) above ground.",
        ),
    ] = None,
    mover: MoverOptions,
    planned: StepOptions,
    ground_file: GroundFileOptions,
    lead_in: LeadInOption = "keep",
    reading: ReadOptions,
    result: ResultOptions,
) -> None:
    """Adapt a motion from level ground to terrain: footplants on its surface, tilted feet, ducking under doorways.

    On stairs, stepping stones and beams, steps are planned: one tread a step, or as many as the stride asks for, with
    whole feet on stones and beams. On other ground they keep their horizontal positions. Hips follow the ground, and
    the trunk leans into a climb.

    Example: footplant terrain sample:walk --ground noise:3 --doorways 3:1.5 -o hills.glb
    """
    from footplant.edits.terrain import terrain as solve
    from footplant.io.ground_files import Course, MadeFor, load_ground
    from footplant.transfer import leg_ratio, transfer

    wish = lead_in_option(lead_in)
    ground_options = ground_file.checked()
    to, keep_footsteps = mover.to, mover.keep_footsteps
    if to is not None and is_robot(to):
        refuse_for_robots(doorways=doorways, **{"ground moving": True if ground.startswith("moving:") else None})
        terrain_to_robot(
            file, to, ground=ground, ground_options=ground_options, keep_footsteps=keep_footsteps, reading=reading,
            result=result,
        )  # fmt: skip
        return
    result.check(file)
    clip = load_clip(file, reading, humanoid=True, frames=True)
    character = clip.character if to is None else load_target(to)
    scale = 1.0 if to is None or keep_footsteps else leg_ratio(clip.character, character)
    course = Course.of(clip.motion, clip.character, scale)
    with working(f"reading {ground}"):
        made = load_ground(ground, course, ground_options)
    beams = []
    if doorways is not None:
        motion = clip.motion if to is None else transfer(clip.motion, clip.character, character, stride=scale)
        beams = _doorways(doorways, motion, character, made)
    with solving("adapting") as progress:
        solution = solve(
            clip, made, beams, target=None if to is None else character, keep_footsteps=keep_footsteps,
            lead_in=wish, keep_steps=planned.keep_steps, keep_timing=planned.keep_timing, progress=progress,
        )  # fmt: skip
    result.deliver(
        solution, verb="terrain", file=file, notes=clip.notes, ground=ground,
        doorways=[{"place": beam.place, "height": beam.height} for beam in beams],
        made_for=MadeFor(ground, course, ground_options).to_dict(),
    )  # fmt: skip


def _check_positive(**options: float | None) -> None:
    from footplant.errors import FormatError

    for name, value in options.items():
        if value is not None and not 0 < value < float("inf"):
            raise FormatError(f"expected --{name} above 0 metres, got {value:g}")


def _pair(text: str, between: str, form: str) -> tuple[float, float]:
    from footplant.errors import FormatError

    parts = text.split(between)
    try:
        first, second = (float(part) for part in parts)
    except ValueError:
        raise FormatError(f"expected two numbers as in {form}, got {text!r}") from None
    return first, second


def _doorways(text: str, motion: Motion, character: Character, ground: Ground) -> list[Doorway]:
    """Parse doorways: AT:HEIGHT, separated by commas; HEIGHT in metres or % of the body height."""
    from footplant.constraints.doorways import doorway_on_path

    found = []
    for part in text.split(","):
        at, height = _pair(part.strip().rstrip("%"), ":", "--doorways 3:1.5,6:80%")
        if part.strip().endswith("%"):
            height *= 0.01 * character.height
        _check_positive(doorways=height)
        found.append(doorway_on_path(motion, character, at, height, ground))
    return found
