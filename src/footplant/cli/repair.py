"""`footplant repair`: fix foot skating, floating and ground penetration."""

from __future__ import annotations

from typing import Annotated

import typer

from footplant.cli.arguments import ClipFile, ReadOptions
from footplant.cli.loading import load_clip
from footplant.cli.options import LeadInOption, lead_in_option, spread
from footplant.cli.robot import Layout, RobotFile, repair_robot_file
from footplant.cli.solving import ResultOptions, solving


@spread
def repair(
    file: ClipFile,
    *,
    ground: Annotated[
        float | None,
        typer.Option(
            metavar="METRES", help="Put the floor at this height (default: where the feet have it, or 0 if near)."
        ),
    ] = None,
    slide: Annotated[
        float | None,
        typer.Option(
            metavar="M/S",
            min=0.0,
            help="Feet and palms near the floor below this speed count as planted (default: 0.35).",
        ),
    ] = None,
    lead_in: LeadInOption = "keep",
    robot: RobotFile = None,
    layout: Layout = None,
    reading: ReadOptions,
    result: ResultOptions,
) -> None:
    """Repair a clip: fix foot skating, floating and ground penetration with the least change.

    Reports millimetres before and after. Only the feet, the legs, arms whose palms are planted and, slightly, the hips
    change. With --robot, FILE is a robot's motion of any tool: joint ranges, speeds and self-collision are repaired as
    well.

    Example: footplant repair sample:walk -o repaired.bvh
    """
    from footplant.edits.repair import repair as solve
    from footplant.feet.floor import find_floor

    if robot is not None:
        repair_robot_file(file, robot, reading, layout, result)
        return
    wish = lead_in_option(lead_in)
    result.check(file)
    clip = load_clip(file, reading, humanoid=True, frames=True)
    floor = find_floor(clip)
    with solving("repairing") as progress:
        solution = solve(clip, ground=ground, slide=slide, lead_in=wish, progress=progress)
    solution = solution if floor is None or floor.is_usual else solution.noted(str(floor))
    level = None if floor is None else floor.level
    result.deliver(solution, verb="repair", file=file, notes=clip.notes, floor=level)
