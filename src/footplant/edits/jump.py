"""Jumps made longer or higher by physics: the centre of mass follows the parabola that gravity asks for.

A body that is to land farther away leaves the ground faster, and one that is to rise higher flies for longer: with a
rise h over the line from take-off to landing, a flight takes T = √(8h/g). Pose and footplants are the clip's; hips and
legs are solved so that the body speeds up before take-off and slows down after landing (`solve.dynamics`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.checks import real_number
from footplant.contacts.detection import Contacts
from footplant.contacts.stillness import lead_in_frames
from footplant.errors import MotionError
from footplant.feet.lead_in import LeadIn, contacts_after_lead_in, dropped_lead_in, require_lead_in, with_lead_in
from footplant.feet.planting import can_plant, solve_planted
from footplant.feet.stage import Stage
from footplant.feet.step_plan import retimed_clip, retimed_frames
from footplant.feet.steps import Step, find_steps, foot_length, plants_for, without_overlap
from footplant.kinematics import Kinematics
from footplant.problem import Problem, Progress
from footplant.quality.flight import flight_frames, flight_gravity, flight_phases
from footplant.quality.measure import measure_each
from footplant.result import ClipSource, Result, as_clip
from footplant.skeleton import Character
from footplant.solve.dynamics import Physics


@dataclass(frozen=True)
class JumpSettings:
    """Tuning numbers of jumps. Where a field names no experiment, none is on record."""

    push: float = 0.25
    """Seconds before take-off and after landing over which the body gets faster and slower."""
    least_travel: float = 0.1
    """Body heights; a jump that goes less far is made longer in the direction that the body faces."""
    most: float = 1.5
    """Body heights; largest change of length or height."""
    landing: float = 1.0 / 60.0
    """Seconds for which a body that nothing supports falls on after the flight that was found: it is found in smoothed
    places, into which the landing leaks. With 0, the backflip CMU 88_01 made 40 cm longer is 20 mm off the parabola
    over the frames in which it is then found to fly, with this 0.2 mm; of 18 other jumps, runs and flips three are
    nearer to theirs by 0.8 to 2.2 mm, one is farther off by 1.2 mm, the others differ by at most 0.2 mm."""


JUMP_SETTINGS = JumpSettings()


def jump(
    clip: ClipSource,
    *,
    longer: float = 0.0,
    higher: float = 0.0,
    number: int | None = None,
    contacts: Contacts | None = None,
    lead_in: LeadIn = "keep",
    progress: Progress | None = None,
) -> Result:
    """Return the clip with one of its jumps longer and higher, metres; negative: shorter and lower.

    number: which flight, from 1 on; None: the longest. What follows the jump is moved along with its landing.
    """
    clip = as_clip(clip, humanoid=True)
    require_lead_in(lead_in)
    character = clip.character
    most = JUMP_SETTINGS.most * character.height
    for name, value in (("longer", longer), ("higher", higher)):
        real_number(value, name, MotionError, low=-most, high=most)
    if not can_plant(character):
        raise MotionError(f"expected a character with legs and soles, got {character.name!r}")
    lead = lead_in_frames(clip)
    contacts = contacts_after_lead_in(contacts, clip, lead)
    flying = _flying(Kinematics(clip.motion), character, contacts, lead)
    start, end = _chosen(clip.motion.fps, flying, number)
    gravity = flight_gravity(Kinematics(clip.motion), character, flight_phases(flying))
    steps = find_steps(contacts, foot_length(character, "left"), lead)
    source, times = clip, _times(start, end, higher, len(clip.motion), clip.motion.fps, gravity)
    clip, contacts, steps = retimed_clip(clip, contacts, steps, times)
    start, end = (int(np.searchsorted(times, frame)) for frame in (start, end))
    motion, kinematics = clip.motion, Kinematics(clip.motion)
    way = longer * _direction(kinematics, character, start, end)
    shares = _shares(start, end, len(motion), motion.fps)
    moved = replace(motion, root=motion.root + shares[:, None] * way)
    steps = [_moved(step, way) if step.start >= (start + end) // 2 else step for step in steps]
    stage = Stage.of(clip, character, contacts, True)
    plants = without_overlap(plants_for(steps, character, stage.move), motion.fps)
    problem = Problem(moved, character, plants)
    flying = _flying(kinematics, character, contacts, lead) | _between(start, end, len(motion))
    flying = _falls_on(flying, contacts, motion.fps)
    physics = Physics(False, flying, np.zeros(len(motion)), gravity)
    held = range(lead, len(motion))
    solution = solve_planted(problem, plants, stage.ground, held, uneven=True, physics=physics, progress=progress)
    solution = with_lead_in(solution, motion, character, stage.ground, lead, lead_in)
    judged = (motion, character, contacts)
    before, after = measure_each((motion, solution.motion), character, contacts, against=judged, ground=stage.ground)
    solution = replace(solution, report=replace(solution.report, before=before, after=after))
    seconds = (end - start) / motion.fps
    solution = solution.noted(f"the jump flies for {seconds:.2f} s, from frame {start} to {end}")
    solution = dropped_lead_in(solution, lead, lead_in)
    return Result.of(source, solution, character, source=source, ground=stage.ground)


def _flying(kinematics: Kinematics, character: Character, contacts: Contacts, lead: int) -> NDArray:
    """Return the frames (F,) in which the body flies."""
    grounded = np.asarray(contacts.masks().any(axis=1))
    grounded[:lead] = True
    return flight_frames(kinematics, character, grounded)


def _falls_on(flying: NDArray, contacts: Contacts, fps: float) -> NDArray:
    """Return frames of flight (F,) with those after each in which nothing supports the body yet."""
    out, supported = np.array(flying), np.asarray(contacts.masks().any(axis=1))
    for _ in range(round(JUMP_SETTINGS.landing * fps)):
        out[1:] |= out[:-1] & ~supported[1:]
    return out


def _chosen(fps: float, flying: NDArray, number: int | None) -> tuple[int, int]:
    """Return [start, end) of a flight."""
    phases = flight_phases(flying)
    if not phases:
        raise MotionError("expected a clip with a jump: a phase without contact in which the body falls; found none")
    if number is None:
        return max(phases, key=lambda phase: phase[1] - phase[0])
    if not 1 <= number <= len(phases):
        listed = ", ".join(f"{start / fps:.2f} s" for start, _ in phases)
        raise MotionError(f"expected a jump from 1 to {len(phases)} (at {listed}), got {number}")
    return phases[number - 1]


def _times(start: int, end: int, higher: float, frames: int, fps: float, gravity: float) -> NDArray:
    """Return fractional frames that give a flight the duration of one that rises higher, metres, at g, m/s²."""
    seconds = (end - start) / fps
    rise = gravity * seconds**2 / 8.0
    if rise + higher <= 0.1 * rise:
        raise MotionError(f"expected a jump that still rises, got one of {rise:.2f} m made higher by {higher:g} m")
    slower = np.ones(frames)
    slower[start:end] = np.sqrt((rise + higher) / rise)
    return retimed_frames(slower)


def _direction(kinematics: Kinematics, character: Character, start: int, end: int) -> NDArray:
    """Return the unit direction (3,), level, in which a jump goes."""
    center = kinematics.center_of_mass(character)
    way = (center[end - 1] - center[start]) * [1.0, 0.0, 1.0]
    if np.linalg.norm(way) < JUMP_SETTINGS.least_travel * character.height:
        roles, places = character.require_roles(), kinematics.positions[start]
        left = places[roles["left_upper_leg"]] - places[roles["right_upper_leg"]]
        way = np.cross(left, rotation.AXES["y"]) * [1.0, 0.0, 1.0]
    return way / max(float(np.linalg.norm(way)), 1e-9)


def _shares(start: int, end: int, frames: int, fps: float) -> NDArray:
    """Return how much (F,) of the added way is done, 0 to 1: at one speed in flight, with ramps before and after."""
    push = JUMP_SETTINGS.push * fps
    every = np.arange(frames, dtype=float)
    speed = np.clip(np.minimum((every - start) / push + 1.0, (end - every) / push + 1.0), 0.0, 1.0)
    speed = speed * speed * (3.0 - 2.0 * speed)
    done = np.cumsum(speed)
    return done / done[-1]


def _moved(step: Step, way: NDArray) -> Step:
    """Return a step moved by (3,), metres."""
    heels, balls = (
        tuple(replace(plant, place=np.asarray(plant.place) + way) for plant in own) for own in (step.heels, step.balls)
    )
    return replace(step, heels=heels, balls=balls)


def _between(start: int, end: int, frames: int) -> NDArray:
    every = np.arange(frames)
    return (every >= start) & (every < end)
