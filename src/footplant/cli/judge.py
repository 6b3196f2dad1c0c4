"""`footplant contacts` and `measure`: detect foot contacts and measure their quality."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from footplant.cli.arguments import ClipFile, Json, ReadOptions, Verbose
from footplant.cli.kernels import await_kernels
from footplant.cli.loading import load_clip, stated_ground
from footplant.cli.options import spread
from footplant.cli.output import note, print_json, print_table, show, working
from footplant.cli.robot import RobotFile, measure_robot_file
from footplant.cli.terrain import GroundFileOptions

if TYPE_CHECKING:
    from footplant.clip import Clip
    from footplant.contacts.ground import Ground
    from footplant.io.ground_files import GroundOptions


@spread
def contacts(
    file: ClipFile,
    *,
    reading: ReadOptions,
    hands: Annotated[bool, typer.Option("--hands", help="Include the palms.")] = False,
    toes: Annotated[bool, typer.Option("--toes", help="Include the toe tips.")] = False,
    json: Json = False,
) -> None:
    """Detect footplants: in which frames each heel and ball is in contact with the ground, and where.

    Example: footplant contacts sample:walk
    """
    from footplant.contacts.detection import find_contacts

    clip = load_clip(file, reading, humanoid=True, frames=True)
    await_kernels()
    with working("detecting contacts"):
        found = find_contacts(clip, hands=hands, toes=toes)
    if json:
        print_json({"file": file, "name": clip.name} | found.to_dict())
        return
    rows = [
        (plant.point, plant.start, plant.end - 1, f"{plant.start / found.fps:.2f}", f"{len(plant) / found.fps:.2f}",
         *(f"{round(float(value), 3) + 0.0:.3f}" for value in plant.place))
        for plant in found.plants
    ]  # fmt: skip
    columns = ("point", "#first frame", "#last frame", "#at s", "#for s", "#x m", "#y m", "#z m")
    print_table(f"{len(found.plants)} footplants in {file}", columns, rows)
    for text in clip.notes:
        note(f"note: {text}")


@spread
def measure(
    file: ClipFile,
    *,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="Compare with this clip: its footplants, smoothness and posture, and the posed skin of FILE.",
        ),
    ] = None,
    ground: Annotated[
        str | None,
        typer.Option(
            "--ground",
            metavar="GROUND",
            help="The ground, as for terrain (default: the one that a .glb of terrain or drive was made for, else "
            "level).",
        ),
    ] = None,
    course: Annotated[
        str | None,
        typer.Option(
            metavar="CLIP",
            help="Place the ground as terrain does for this clip (default: SOURCE of --against, else FILE).",
        ),
    ] = None,
    ground_file: GroundFileOptions,
    hands: Annotated[bool, typer.Option("--hands", help="Include palms that rest on something.")] = False,
    robot: RobotFile = None,
    reading: ReadOptions,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Measure a clip: drift of every footplant in mm, skating, ground penetration, smoothness, joint limits.

    The same measures apply to any file, including the output of other tools. With --against the result is also compared
    with its source by means that share nothing with the solver: still feet, limbs, hands, self-collision, floor. With
    --robot, FILE is a robot's motion of any tool (.csv, .pkl, .npz): also joint ranges, speeds, collisions and balance.
    With --ground, penetration and contacts are those on stairs, slopes or any other ground.

    Example: footplant measure sample:walk
    """
    from footplant.errors import FormatError
    from footplant.quality.measure import measure as judge

    placed = ground_file.checked()
    if ground is None and (course is not None or ground_file != GroundFileOptions()):
        raise FormatError("expected --ground GROUND with options that place it")
    if robot is not None:
        if ground is not None:
            raise FormatError("expected no --ground with --robot: robots are measured on level ground")
        if hands:
            raise FormatError("expected no --hands with --robot: only feet of robots are measured")
        measure_robot_file(file, robot, reading, json, against)
        return
    clip = load_clip(file, reading, humanoid=True, frames=True)
    source = None if against is None else load_clip(against, humanoid=True, frames=True)
    found, notes = None, list(clip.notes)
    if ground is not None:
        placing = source if course is None else load_clip(course, humanoid=True, frames=True)
        found = _ground_for(ground, placed, clip, clip if placing is None else placing)
    else:
        found, ground = stated_ground(clip, notes, "measured")
    await_kernels()
    with working("measuring"):
        quality = judge(clip, against=source, fidelity="skin", ground=found, hands=hands)
    report = quality.to_dict()
    if json:
        print_json({"file": file, "name": clip.name, "against": against, "ground": ground, "notes": notes} | report)
        return
    _print_report(file, report, verbose)
    if quality.fidelity is not None:
        from footplant.quality.fidelity import fidelity_rows, in_one_line

        columns = ("figure (1.7 m body)", "#value", "#goal", "", "where")
        print_table(f"Against {against}", columns, fidelity_rows(quality.fidelity))
        print(in_one_line(quality.fidelity.not_right(), most=100))
    for text in notes:
        note(f"note: {text}")


def _ground_for(text: str, options: GroundOptions, clip: Clip, placing: Clip) -> Ground:
    """Return a ground, placed as `footplant terrain` places it for a clip, whose motion may be another character's."""
    from footplant.io.ground_files import Course, load_ground
    from footplant.transfer import leg_ratio

    same = placing.character.skeleton.same_as(clip.character.skeleton)
    scale = 1.0 if same else leg_ratio(placing.character, clip.character)
    with working(f"reading {text}"):
        return load_ground(text, Course.of(placing.motion, placing.character, scale), options)


_LINES = (
    ("mean drift of a footplant", ("mean_drift",), "mm"),
    ("footplants under 1 mm", ("share_under_1mm",), "%"),
    ("footplants under 2 mm", ("share_under_2mm",), "%"),
    ("footplants under 5 mm", ("share_under_5mm",), "%"),
    ("footplants lost against the source", ("lost_plants",), ""),
    ("timing error of footplants", ("timing_error",), "frames"),
    ("speed while planted, mean", ("skate_speed",), "m/s"),
    ("speed while planted, largest", ("skate_speed_max",), "m/s"),
    ("ground penetration, deepest", ("penetration_worst",), "mm"),
    ("ground penetration, mean", ("penetration_mean",), "mm"),
    ("jerk", ("smoothness", "jerk"), "heights/s³"),
    ("jerk of all joints over the source's", ("jerk_ratio",), "×"),
    ("peak acceleration", ("smoothness", "peak_acceleration"), "heights/s²"),
    ("peak acceleration of all joints over the source's", ("peak_acceleration_ratio",), "×"),
    ("frames × joints beyond their limits", ("limit_violations",), ""),
    ("frames with the zero-moment point > 3 cm outside the feet", ("balance", "share_outside"), "%"),
    ("the same of the source", ("source_balance", "share_outside"), "%"),
    ("centre of mass off a parabola in flight", ("flight", "worst"), "mm"),
    ("gravity in flight", ("flight", "gravity"), "m/s²"),
    ("change of angular momentum in flight, as turning speed", ("flight", "momentum"), "°/s"),
    ("foot-skate ratio (toe low and over 0.2 m/s)", ("published", "foot_skate_ratio"), "%"),
    ("skating frames at 1 cm/s", ("published", "skating_frames"), "%"),
    ("sliding duration", ("published", "sliding_duration"), "%"),
    ("penetration duration", ("published", "penetration_duration"), "%"),
    ("contact preservation", ("published", "contact_preservation"), "%"),
)
"""Printed measures: name, keys in the report, unit; fractions are shown in per cent."""


def _print_report(file: str, report: dict[str, Any], verbose: bool) -> None:
    rows = [
        (plant["point"], plant["start"], plant["end"] - 1, f"{plant['drift']:.3f}", f"{plant['height_band']:.3f}",
         f"{plant['skate_speed']:.4f}", plant["start_error"], plant["end_error"])
        for plant in report["plants"]
    ]  # fmt: skip
    columns = ("point", "#first frame", "#last frame", "#drift mm", "#height band mm", "#speed m/s", "#onset error",
               "#release error")  # fmt: skip
    compared = any(row[-1] is not None or row[-2] is not None for row in rows)
    width = len(columns) if compared else len(columns) - 2
    if verbose or not rows:
        print_table(f"{len(rows)} footplants in {file}", columns[:width], [row[:width] for row in rows])
    else:
        worst = report["worst_plant"]
        print(f"measure: {file}")
        frames = f"frames {worst['start']}–{worst['end'] - 1}"
        print(f"  worst of {len(rows)} footplants: {worst['point']}, {frames}, drifts {worst['drift']:.1f} mm")
        print("  every footplant: -v")
    lines = []
    for name, keys, unit in _LINES:
        value: Any = report
        for key in keys:
            value = None if value is None else value.get(key)
        if value is not None:
            lines.append((name, f"{100.0 * value:.1f}" if unit == "%" else show(value), unit))
    print_table("The whole clip", ("measure", "#value", "unit"), lines)
