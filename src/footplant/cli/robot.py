"""Robots on the command line: `retarget`, `measure`, `repair`, `convert` and `info` do with MJCF and URDF files."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from footplant.cli.arguments import ReadOptions
from footplant.cli.kernels import await_kernels, prepare_kernels
from footplant.cli.loading import load_clip
from footplant.cli.output import note, print_facts, print_json, print_table, refuse_to_overwrite, show, working
from footplant.cli.solving import ResultOptions, print_report, solving

if TYPE_CHECKING:
    from footplant.clip import Clip
    from footplant.edits.robot import RobotResult
    from footplant.io.ground_files import GroundOptions
    from footplant.mechanism.body import RobotBody
    from footplant.mechanism.motion import RobotMotion

RobotFile = Annotated[
    str | None, typer.Option("--robot", metavar="FILE", help="FILE is the motion of this robot (MJCF or URDF).")
]
Layout = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Robots: unitree (.csv), gmr or asap (.pkl), mjlab or qpos (.npz)."),
]
Order = Annotated[
    str,
    typer.Option(metavar="NAME", help="Robots, mjlab files: bodies and joints as in mujoco, or as in physx (Isaac)."),
]


def load_robot_body(file: str, roles: str | None = None) -> RobotBody:
    """Read a robot; roles: a TOML file that corrects which body is what. Errors name the file."""
    from footplant.edits.robot import as_robot
    from footplant.errors import FormatError, HumanoidError
    from footplant.humanoid import read_corrections

    with working(f"reading {file}"):
        try:
            return as_robot(file, None if roles is None else read_corrections(roles))
        except HumanoidError as error:
            raise FormatError(str(error), path=file) from error


def load_robot_clip(file: str, robot: str, reading: ReadOptions) -> Clip:
    """Read a robot's motion, of any tool, as a clip of a character with one joint per hinge."""
    from footplant.edits.robot import clip_of_robot
    from footplant.io.robot_files import load_robot

    body = load_robot_body(robot, reading.roles)
    motion = load_robot(file, body.mechanism, fps=reading.fps)
    for text in disagreements(motion):
        note(f"note: {text}")
    return clip_of_robot(motion, body)


def disagreements(motion: RobotMotion) -> tuple[str, ...]:
    """Return, for a note, which joint of a motion is not where the one that it follows puts it."""
    found = motion.disagreement()
    return () if found is None else (found,)


def check_output(file: str, result: ResultOptions, layout: str | None, order: str) -> None:
    """Raise, before any work is done, when a robot's motion cannot be written."""
    from footplant.errors import FormatError
    from footplant.io.robot_files import ORDERS, choose_layout

    choose_layout(result.out, layout)
    if order not in ORDERS:
        raise FormatError(f"expected --order to be one of {', '.join(ORDERS)}; got {order!r}")
    for name in (result.out, result.report):
        if name is not None:
            refuse_to_overwrite(file, Path(name), result.overwrite)
            if not Path(name).parent.is_dir():
                raise FormatError("there is no such folder", path=Path(name).parent)
    if result.report is not None and Path(result.report).suffix.lower() not in (".json", ".html", ".png"):
        raise FormatError("expected a report ending in .json, .html or .png", path=result.report)


def retarget_to_robot(
    file: str,
    to: str,
    *,
    keep_footsteps: bool,
    ground: float | None,
    reading: ReadOptions,
    to_roles: str | None,
    layout: str | None,
    order: str,
    result: ResultOptions,
) -> None:
    """Retarget a motion to a robot, write it and print how well it holds."""
    from footplant.edits.robot import retarget_robot
    from footplant.feet.floor import put_floor_at

    check_output(file, result, layout, order)
    reading.check_rate()
    body = load_robot_body(to, to_roles)
    # resampled after a T-pose before the motion is cut off
    clip = load_clip(file, replace(reading, fps=None), humanoid=True, frames=True)
    if ground is not None:
        clip, _ = put_floor_at(clip, ground)
    with solving("retargeting") as progress:
        made = retarget_robot(clip, body, fps=reading.fps, keep_footsteps=keep_footsteps, progress=progress)
    _deliver(made, result, layout, order, verb="retarget", file=file, notes=clip.notes, to=to)


def refuse_for_robots(**options: object) -> None:
    """Raise for options that robots do not have."""
    from footplant.errors import FormatError

    for name, value in options.items():
        if value is not None:
            raise FormatError(f"--{name} is for characters; robots are solved without")


def terrain_to_robot(
    file: str,
    to: str,
    *,
    ground: str,
    ground_options: GroundOptions,
    keep_footsteps: bool,
    reading: ReadOptions,
    result: ResultOptions,
) -> None:
    """Lay a motion on terrain by a robot, in the robot's own size; write it and print how well it holds."""
    from footplant.edits.robot import retarget_robot
    from footplant.io.ground_files import Course, load_ground
    from footplant.transfer import leg_ratio

    check_output(file, result, None, "mujoco")
    reading.check_rate()
    body = load_robot_body(to)
    clip = load_clip(file, replace(reading, fps=None), humanoid=True, frames=True)
    scale = 1.0 if keep_footsteps else leg_ratio(clip.character, body.proxy)
    with working(f"reading {ground}"):
        made = load_ground(ground, Course.of(clip.motion, clip.character, scale), ground_options)
    with solving("adapting") as progress:
        solved = retarget_robot(
            clip, body, fps=reading.fps, keep_footsteps=keep_footsteps, ground=made, progress=progress
        )
    _deliver(solved, result, None, "mujoco", verb="terrain", file=file, notes=clip.notes, to=to)


def repair_robot_file(file: str, robot: str, reading: ReadOptions, layout: str | None, result: ResultOptions) -> None:
    """Repair the motion of a robot: plants, floor, self-collision, ranges and speeds."""
    from footplant.edits.robot import repair_robot
    from footplant.io.robot_files import load_robot

    check_output(file, result, layout, "mujoco")
    body = load_robot_body(robot, reading.roles)
    motion = load_robot(file, body.mechanism, fps=reading.fps)
    prepare_kernels()
    with solving("repairing"):
        made = repair_robot(motion, body)
    _deliver(made, result, layout, "mujoco", verb="repair", file=file, notes=disagreements(motion), to=robot)


def _deliver(
    made: RobotResult, result: ResultOptions, layout: str | None, order: str, *, verb: str, file: str, notes, to: str
) -> None:
    """Write a robot's motion and its report, and print a summary."""
    from footplant.cli.solving import write_report
    from footplant.result import Result

    made.save(result.out, layout=layout, order=order)
    if result.report is not None:
        if Path(result.report).suffix.lower() == ".json":
            import json

            from footplant.atomic import write_atomic

            told = made.report.to_dict() | {"robot": made.quality.to_dict()}
            write_atomic(result.report, json.dumps(told, indent=2, allow_nan=False) + "\n")
        else:
            write_report(Result(made.clip, made.report), result.report)
    quality = made.quality
    if result.json:
        known: dict[str, Any] = {"command": verb, "input": file, "output": result.out, "robot": to}
        length = {"frames": len(made.motion), "fps": made.motion.fps}
        print_json(known | length | made.report.to_dict() | {"quality": quality.to_dict()})
        return
    print(f"{verb}: {file} → {result.out}: {made.status}, {len(made.motion)} frames in {made.report.seconds:.1f} s")
    for line in summary(made):
        print(f"  {line}")
    if result.verbose:
        print_table("Robot", ("measure", "#value"), [(name, show(value)) for name, value in quality.rows()])
        print_report(made.report)
    for text in (*notes, *made.report.notes):
        note(f"note: {text}")
    if result.report is not None:
        print(f"  report: {shlex.quote(result.report)}")


def summary(made: RobotResult) -> list[str]:
    """Return what deserves to be known, one line each."""
    quality, report = made.quality, made.report
    lines = []
    if quality.worst_drift is None:
        lines.append("no footplants")
    else:
        lines.append(f"{quality.plants} footplants: the worst drifts {quality.worst_drift:.2f} mm")
    worst = max(report.unmet, key=lambda entry: entry.worst, default=None)
    if worst is not None:
        unmet = f"{len(report.unmet)} of {len(report.constraints)} footplants"
        lines.append(f"look at: {worst.name}: {worst.worst:.1f} mm off at frame {worst.worst_frame}; {unmet} not met")
    if quality.palm_drift is not None:
        hands = "hand that rests" if quality.palms == 1 else "hands that rest"
        lines.append(f"{quality.palms} {hands} on the ground: the worst drifts {quality.palm_drift:.1f} mm")
    lines.append(f"deepest in the floor: {quality.deepest:.1f} mm")
    if quality.collision_pair:
        lines.append(
            f"self-collision in {quality.colliding:.1%} of frames: {quality.collision_pair}, "
            f"{quality.collision_depth:.0f} mm"
        )
    broken = quality.ranges_broken + quality.speeds_broken
    lines.append("joint ranges and speeds hold" if not broken else f"joint ranges or speeds broken: {broken} samples")
    if quality.zmp_outside is not None:
        lines.append(f"zero-moment point outside the support in {quality.zmp_outside:.0%} of planted frames")
    return lines


def measure_robot_file(file: str, robot: str, reading: ReadOptions, json: bool, against: str | None) -> None:
    """Print the measures of a robot's motion, of any tool."""
    from footplant.edits.robot import judge_robot
    from footplant.io.robot_files import load_robot

    body = load_robot_body(robot, reading.roles)
    motion = load_robot(file, body.mechanism, fps=reading.fps)
    source = None if against is None else load_clip(against, humanoid=True, frames=True)
    prepare_kernels()
    await_kernels()
    with working("measuring"):
        quality = judge_robot(motion, body, source)
    if json:
        print_json({"file": file, "robot": robot, "against": against} | quality.to_dict())
        return
    rows = [(name, show(value)) for name, value in quality.rows()]
    print_table(f"{file}: {len(motion)} frames at {motion.fps:g} fps", ("measure", "#value"), rows)
    if quality.collision_pair:
        note(f"note: {quality.collision_pair} overlap by {quality.collision_depth:.0f} mm")
    for text in disagreements(motion):
        note(f"note: {text}")
    if quality.range_joint:
        note(f"note: {quality.range_joint} is farthest outside its range")


def convert_robot_file(
    file: str, out: str, robot: str, reading: ReadOptions, layout: str | None, order: str, overwrite: bool, json: bool
) -> None:
    """Write a robot's motion in another layout."""
    from footplant.io.robot_files import choose_layout, load_robot, save_robot
    from footplant.io.robot_models import read_mechanism

    chosen = choose_layout(out, layout)
    refuse_to_overwrite(file, Path(out), overwrite)
    motion = load_robot(file, read_mechanism(robot))
    if reading.fps is not None and reading.fps != motion.fps:
        motion = motion.resample(reading.fps)
    save_robot(out, motion, layout=chosen, order=order)
    facts = {"input": file, "output": out, "layout": chosen, "frames": len(motion), "fps": motion.fps}
    if json:
        print_json(facts)
    else:
        print_facts(f"{file} → {out}", facts)
        for text in disagreements(motion):
            note(f"note: {text}: it is written where it should be")


def robot_info(file: str, reading: ReadOptions, json: bool) -> None:
    """Print what a robot's file contains: joints with ranges, masses, solids, and which hinges are its hips."""
    import numpy as np

    body = load_robot_body(file, reading.roles)
    mechanism = body.mechanism
    names = [joint.name for joint in mechanism.joints]
    groups = {part: [names[hinge] for hinge in hinges] for part, hinges in body.groups.items()}
    following = {
        mimic.joint: {
            "joint": None if mimic.leader is None else names[mimic.leader],
            "multiplier": mimic.multiplier,
            "offset": mimic.offset,
        }
        for mimic in mechanism.mimics
    }
    joints = [
        {
            "name": joint.name,
            "body": mechanism.bodies[joint.body],
            "range": [joint.lower, joint.upper] if np.isfinite(joint.lower) else None,
            "velocity": joint.velocity if np.isfinite(joint.velocity) else None,
            "follows": following.get(number),
        }
        for number, joint in enumerate(mechanism.joints)
    ]
    facts = {
        "file": file, "format": "robot", "name": mechanism.name, "bodies": len(mechanism.bodies),
        "joints": len(mechanism.joints), "solids": len(mechanism.solids), "mass": mechanism.mass,
        "missing": list(body.missing), "notes": [*mechanism.notes, *body.notes],
    }  # fmt: skip
    if json:
        print_json(facts | {"groups": groups, "hinges": joints})
        return
    shown = {key: facts[key] for key in ("format", "name", "bodies", "joints", "solids")}
    print_facts(file, shown | {"mass": f"{mechanism.mass:.2f} kg", "without": ", ".join(body.missing) or "–"})
    print_table("Parts", ("part", "hinges"), [(part, ", ".join(hinges) or "none") for part, hinges in groups.items()])
    rows = [
        (
            each["name"],
            "–" if each["range"] is None else "{:.2f} to {:.2f}".format(*each["range"]),
            show(each["velocity"]),
        )
        for each in joints
    ]
    print_table("Joints", ("joint", "#range, rad", "#velocity, rad/s"), rows)
    if following:
        followers = [
            (names[number], each["joint"] or "nothing: it stays", show(each["multiplier"]), show(each["offset"]))
            for number, each in sorted(following.items())
        ]
        print_table("Coupled joints", ("joint", "follows", "#multiplier", "#offset, rad"), followers)
    for text in facts["notes"]:
        note(f"note: {text}")
