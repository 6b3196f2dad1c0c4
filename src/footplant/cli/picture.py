"""`footplant plot`: draw one picture of a clip."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from footplant.cli import markers
from footplant.cli.arguments import ClipFile, Json, ReadOptions
from footplant.cli.loading import load_clip, stated_ground
from footplant.cli.options import options, spread
from footplant.cli.output import note, print_json, refuse_to_overwrite, working
from footplant.cli.robot import RobotFile, load_robot_clip
from footplant.cli.solving import Overwrite


@options
class DrawingOptions:
    """What a picture of a clip shows."""

    poses: Annotated[int | None, typer.Option(min=1, max=40, help="Number of poses (default: as many as fit).")] = None
    bones: Annotated[bool, typer.Option("--bones", help="Draw bones even if there is a mesh.")] = False
    skinning: Annotated[
        str,
        typer.Option(
            metavar="linear|dual-quaternion",
            help="How the mesh follows the joints; dual quaternions keep its volume where joints twist.",
        ),
    ] = "linear"
    poses_only: Annotated[bool, typer.Option("--poses-only", help="Draw the poses without the curves.")] = False
    dpi: Annotated[int, typer.Option(min=20, max=600, help="Dots per inch; the picture is 13 inches wide.")] = 130
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the picture.")] = None


@spread
def plot(
    file: ClipFile,
    *,
    out: Annotated[str, typer.Option("-o", "--out", metavar="PNG", help="Where to write the picture.")] = "strip.png",
    reading: ReadOptions,
    shown: DrawingOptions,
    robot: RobotFile = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Draw a clip as a PNG: a strip of poses, feet with their footplants, joint angles, height and speed.

    A ground that the file says it was made for is drawn, too. For a marker file: some moments of the marker cloud, gaps
    over time, and the paths from above.

    Needs matplotlib: pip install "footplant[plot]".

    Example: footplant plot sample:walk -o strip.png
    """
    from footplant import plot as drawing
    from footplant.io import holds_markers

    refuse_to_overwrite(file, Path(out), overwrite)
    common = {"poses": shown.poses, "title": shown.title or Path(file).name, "dpi": shown.dpi}
    notes: list[str] = []
    if robot is None and holds_markers(file):
        cloud = markers.load(file, reading)
        with working(f"drawing {out}"):
            path = drawing.cloud(cloud, out, **common)
    else:
        clip = load_clip(file, reading) if robot is None else load_robot_clip(file, robot, reading)
        ground, _ = stated_ground(clip, notes, "drawn")
        drawn: dict[str, Any] = {
            "ground": ground,
            "mesh": not shown.bones,
            "skinning": shown.skinning,
            "panels": not shown.poses_only,
        }
        with working(f"drawing {out}"):
            path = drawing.strip(clip, out, **drawn, **common)
    if json:
        print_json({"input": file, "output": str(path), "bytes": path.stat().st_size, "notes": notes})
        return
    print(f"wrote {path}")
    for text in notes:
        note(f"note: {text}")
