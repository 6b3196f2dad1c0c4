"""Retargeting to robots: feet that stand, solids above the floor, ranges and speeds that hold."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.contacts.detection import HANDS, Contacts, find_contacts
from footplant.contacts.ground import Ground
from footplant.edits.terrain import terrain
from footplant.errors import ArgumentError, MotionError
from footplant.feet.lead_in import split_lead_in
from footplant.feet.palms import rests_on_ground, without_idle_palms
from footplant.feet.stage import Stage, with_plausible_floor
from footplant.feet.steps import (
    find_steps,
    foot_length,
    hip_width,
    plants_for,
    raised_to_ground,
    step_width_shifts,
    with_foot_length,
)
from footplant.feet.stillness import held_while_still
from footplant.io.robot_files import save_robot
from footplant.io.robot_models import read_mechanism
from footplant.kinematics import Kinematics
from footplant.mechanism.body import SIDES, RobotBody, robot_body
from footplant.mechanism.model import Mechanism
from footplant.mechanism.motion import Plant, RobotMotion, link_motion, robot_character
from footplant.motion import Motion
from footplant.problem import Progress, Report, Status
from footplant.quality.measure import ConstraintQuality
from footplant.quality.robot import RobotQuality, measure_robot
from footplant.result import ClipSource, as_clip
from footplant.skeleton import Character
from footplant.solve.robot.goals import Goals, HeldPoint, goals_of, goals_of_robot, leg_length
from footplant.solve.robot.solve import RobotSolution, solve_robot
from footplant.transfer import source_motion, transfer

RobotSource = str | Path | Mechanism | RobotBody
"""What is accepted as a robot: an MJCF or URDF file, or one that is loaded."""
REACHED = 1.0
"""Millimetres: a planted point nearer than this to its place is reached."""
SAME_LEVEL = 0.1
"""Leg lengths: footplants within this of the lowest ones stand on the same level."""


@dataclass(frozen=True, eq=False)
class RobotResult:
    """A robot's motion, and how it came about."""

    motion: RobotMotion
    clip: Clip
    """The same as a clip of a character, one joint per hinge, y up: to plot, to compare and to view."""
    report: Report
    quality: RobotQuality
    goals: Goals

    @property
    def status(self) -> Status:
        """Return how the solve ended."""
        return self.report.status

    def save(self, path: str | Path, *, layout: str | None = None, order: str = "mujoco") -> Path:
        """Write the robot's motion: see `io.robot_files.save_robot`."""
        return save_robot(path, self.motion, layout=layout, order=order)


def as_robot(source: RobotSource, corrections: Mapping[str, tuple[str, ...]] | None = None) -> RobotBody:
    """Return a robot: read from a file, or as given. corrections: role → names of bodies."""
    if isinstance(source, RobotBody):
        return source
    if isinstance(source, str | Path):
        source = read_mechanism(source)
    if not isinstance(source, Mechanism):
        raise ArgumentError(f"expected a robot or the name of its MJCF or URDF file, got {type(source).__name__}")
    return robot_body(source, corrections)


def retarget_robot(
    clip: ClipSource,
    robot: RobotSource,
    *,
    fps: float | None = None,
    keep_footsteps: bool = False,
    ground: Ground | str | Path | None = None,
    progress: Progress | None = None,
) -> RobotResult:
    """Return the clip's motion on a robot.

    fps: frame rate of the result; None keeps the clip's. keep_footsteps: keep footsteps where they are in the world;
    otherwise they are scaled with the leg length. ground: lay a clip of level ground on terrain, as `edits.terrain`
    does ("stairs:0.1:0.3" …), in the robot's own size. A T-pose before the motion is dropped.
    """
    started = time.perf_counter()
    body, clip = as_robot(robot), as_clip(clip, humanoid=True)
    if not len(clip.motion):
        raise MotionError(f"expected a clip with frames to retarget, got none in {clip.name!r}")
    # before resampling, in which a pose of one frame would be lost
    clip = split_lead_in(clip)[1]
    clip = replace(clip, motion=source_motion(clip.motion, clip.character, body.proxy))
    if fps is not None and fps != clip.motion.fps and len(clip.motion) > 1:
        clip = replace(clip, motion=clip.motion.resample(fps, smooth=fps > clip.motion.fps))
    goals = _goals(clip, body, keep_footsteps, ground)
    if progress is not None:
        progress("footsteps placed", 0.1)
    solution = solve_robot(goals)
    motion = RobotMotion(body.mechanism, solution.states, clip.motion.fps, clip.name)
    return _result(body, motion, goals, started, solution)


def _result(body: RobotBody, motion: RobotMotion, goals: Goals, started: float, solution: RobotSolution) -> RobotResult:
    """Return a solved motion with its measures."""
    asked, palms = goals.plants, solution.palms
    goals = replace(goals, plants=solution.plants)
    heights = None if goals.ground is None else goals.ground_heights
    quality = measure_robot(body, motion, goals.plants, goals.limbs(), palms, heights)
    shown = clip_of_robot(motion, body)
    character = shown.character
    constraints = _constraints(goals, quality, character.height)
    missed = [entry for entry in constraints if not entry.met]
    notes = [*body.mechanism.notes, *body.notes]
    if body.missing:
        notes.append(f"the robot has no {', '.join(name.replace('_', ' ') for name in body.missing)}")
    let_go = sum(plant.end - plant.start for plant in goals.palms) - sum(plant.end - plant.start for plant in palms)
    if let_go:
        notes.append(f"hands rest on the ground for {let_go} more frames in the source, out of the robot's reach")
    moved = max((np.hypot(*np.subtract(a.place, b.place)[:2]) for a, b in zip(asked, goals.plants)), default=0.0)
    if 1000.0 * moved > REACHED:
        cause = "overlap" if goals.ground is None else "overlap, or stand in a riser"
        notes.append(f"feet would {cause}: footsteps are moved apart, by up to {1000.0 * moved:.0f} mm")
    if solution.let_go:
        names = ", ".join(_name(plant) for plant in solution.let_go)
        notes.append(f"out of the robot's reach and let go: {names}")
    if quality.edge_height > REACHED:
        notes.append(
            "its ankles do not roll: feet stand in place on an edge where hips are not above them, a heel or toe up to "
            f"{quality.edge_height:.0f} mm high"
        )
    report = Report(
        "robot", Status.UNREACHABLE if missed else Status.SOLVED, character.height, tuple(constraints),
        notes=tuple(notes), seconds=time.perf_counter() - started,
    )  # fmt: skip
    return RobotResult(motion, shown, report, quality, goals)


def clip_of_robot(motion: RobotMotion, robot: RobotSource) -> Clip:
    """Return a robot's motion as a clip of a character with one joint per hinge, y up: to plot, compare and view."""
    body = as_robot(robot)
    character = robot_character(body)
    return Clip(link_motion(motion, body.links, character.skeleton), character, name=motion.name)


def repair_robot(motion: RobotMotion, robot: RobotSource) -> RobotResult:
    """Return a robot's motion, of any tool, with its feet planted and everything else that must hold."""
    started = time.perf_counter()
    body = as_robot(robot)
    goals = _own_goals(motion, body)
    solution = solve_robot(goals)
    made = RobotMotion(body.mechanism, solution.states, motion.fps, motion.name)
    return _result(body, made, goals, started, solution)


def judge_robot(motion: RobotMotion, robot: RobotSource, source: Clip | None = None) -> RobotQuality:
    """Measure a robot's motion of any tool; source: the clip that it was made from, whose contacts should hold."""
    body = as_robot(robot)
    goals = _own_goals(motion, body, source)
    return measure_robot(body, motion, goals.plants)


def _own_goals(motion: RobotMotion, body: RobotBody, source: Clip | None = None) -> Goals:
    """Return goals that follow a robot's own motion; its contacts are detected, or those of its source."""
    clip = clip_of_robot(motion, body)
    found = find_contacts(clip if source is None else source)
    held = [(plant.point, plant.start, min(plant.end, len(motion))) for plant in found.plants]
    return goals_of_robot(body, motion, [each for each in held if each[1] < each[2]])


def _goals(clip: Clip, body: RobotBody, keep_footsteps: bool, ground: Ground | str | Path | None = None) -> Goals:
    """Return what a robot is to do: the source's rotations on its proxy, and its footsteps as for a character."""
    target, source = body.proxy, Kinematics(clip.motion)
    contacts = with_plausible_floor(find_contacts(clip), clip)
    palms = _resting_palms(clip, contacts.ground)
    contacts = held_while_still(contacts, clip, source)
    if ground is not None:
        return _terrain_goals(clip, body, keep_footsteps, ground, contacts)
    stage = Stage.of(clip, target, contacts, keep_footsteps)
    copied = transfer(clip.motion, clip.character, target, stride=stage.scale, rise=stage.rise, about=stage.start)
    steps = find_steps(contacts, foot_length(clip.character, "left"))
    extra = 0.0 if keep_footsteps else hip_width(target) / stage.scale - hip_width(clip.character)
    plants = plants_for(steps, target, stage.move, step_width_shifts(steps, source, clip.character, extra))
    if not stage.guessed:
        plants = with_foot_length(raised_to_ground(plants, stage.ground), target)
    held = _held(plants, target)
    level = _floor_level(np.array([place[1] for *_, place in held]), body) if held else _lowest(copied, body)
    return goals_of(body, copied, held, level, palms=palms)


def _terrain_goals(
    clip: Clip, body: RobotBody, keep_footsteps: bool, ground: Ground | str | Path, contacts: Contacts
) -> Goals:
    """Return goals of a motion that is laid on terrain by the robot's proxy, whose steps the robot takes over."""
    made = terrain(clip, ground, target=body.proxy, keep_footsteps=keep_footsteps, contacts=contacts, lead_in="drop")
    return goals_of(body, made.motion, _held(made.plants, body.proxy), 0.0, ground=made.ground)


def _held(plants: Sequence[Footplant], proxy: Character) -> list[HeldPoint]:
    """Return what is planted of a robot, given footplants of its proxy."""
    parts = {
        proxy.contacts[f"{side}_{label}"]: (side, part)
        for side in SIDES
        for label, part in (("heel", "heel"), ("ball", "toe"))
    }
    return [
        (*parts[plant.point], plant.frames[0], plant.frames[-1] + 1, np.asarray(plant.place, float))
        for plant in plants
        if plant.frames and plant.point in parts
    ]


def _resting_palms(clip: Clip, ground: Ground) -> list[tuple[str, int, int]]:
    """Return side and frames of hands that rest on the ground."""
    height = clip.character.height
    if height <= 0.0 or not any(name in clip.character.contacts for name in HANDS):
        return []
    found = without_idle_palms(find_contacts(clip, hands=True, ground=ground), height, clip)
    return [
        (plant.point.partition("_")[0], max(plant.start, 0), min(plant.end, len(clip.motion)))
        for plant in found.plants
        if plant.point in HANDS and rests_on_ground(plant, found, height)
    ]


def _floor_level(heights: NDArray, body: RobotBody) -> float:
    """Return the height of the lowest level that footplants share, metres: who steps off a box lands on the floor."""
    return float(np.median(heights[heights < np.percentile(heights, 10) + SAME_LEVEL * leg_length(body)]))


def _lowest(motion: Motion, body: RobotBody) -> float:
    """Return the height of the lowest point of the soles of a proxy, metres."""
    kinematics = Kinematics(motion)
    points = [body.proxy.contacts[f"{side}_{part}"] for side in SIDES for part in ("heel", "ball")]
    return float(min(kinematics.point(point)[:, 1].min() for point in points))


def _constraints(goals: Goals, quality: RobotQuality, height: float) -> list[ConstraintQuality]:
    """Return each plant with its error in millimetres."""
    out = []
    for plant, error, frame in zip(goals.plants, quality.plant_errors, quality.plant_frames):
        out.append(
            ConstraintQuality(
                name=_name(plant), kind="footplant", hard=True, unit="mm", worst=error, mean=error,
                worst_share=0.1 * error / max(height, 1e-9),
                mean_share=0.1 * error / max(height, 1e-9), frames=plant.end - plant.start, worst_frame=frame,
                met=error < REACHED,
            )
        )  # fmt: skip
    return out


def _name(plant: Plant) -> str:
    """Return what a footplant is called."""
    return f"{plant.side} {plant.part}, frames {plant.start}–{plant.end - 1}"
