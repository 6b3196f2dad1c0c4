"""How human the sample walk and run are: their mean cycles beside those of recorded people and of the textbook.

Everything is measured in one way on samples and on captures, from the places of joints alone. Cycles run from heel
strike to heel strike, and from lift to lift, of one foot as `find_contacts` tells them; both sides count. A capture's
first frame (often an added T-pose), cycles that are 15 % longer or shorter than the clip's median, and those slower
than 85 % of its fastest (starting, stopping) are left out.

Faster gaits have wider ranges, so they are compared at one pace: that of the four walkers of CMU on average, beside the
range of their mean curve (`…range_ratio_at_their_pace`), and person by person (`…range_ratio_at_own_pace`): the sample
gait is made with the speed and the stride of that person's cycle, both in leg lengths, and its range is divided by that
of the person's own curve; a group has the median of its people's ratios (`…median_ratio_at_own_pace`). Ranges of the
sample as it is (`…range_ratio`) are given too, but say less.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import footplant
from footplant import Character, Kinematics, Motion
from footplant.contacts.detection import Contacts, find_contacts
from timing import main

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "bvh"
CAPTURES = {
    "walk": ("cmu/02_01", "cmu/35_01", "cmu/104_02", "other/imusim_16_15", "other/toolbox_walk01"),
    "run": ("cmu/09_01",),
}
"""Plain walks and runs, one subject each; all but toolbox_walk01 are takes of the CMU database. 127_29 is called a run,
but ducks: its knees stay at 70 to 85 degrees throughout."""
CURVES = ("hip", "knee", "ankle", "pelvis", "arm", "elbow")
"""Flexion of hip, knee, ankle and elbow and the swing of the upper arm in degrees, forward positive; pelvis: its height
in per cent of the leg's length, the cycle's drift taken out."""
TABLE = {
    "hip": (30, 26, 17, 6, -4, -10, -5, 12, 27, 33),
    "knee": (5, 17, 17, 10, 6, 12, 35, 60, 50, 17),
    "ankle": (0, -4, 2, 6, 9, 8, -15, -8, 0, 1),
}
"""Textbook averages of an adult's walk at natural speed, degrees at each tenth of the cycle from the heel strike."""
PHASES = np.arange(100) / 100


@dataclass(frozen=True, eq=False)
class Cycle:
    """A mean gait cycle."""

    curves: dict[str, NDArray]
    """Name of `CURVES` → (100,) values from the heel strike on."""
    count: int
    """How many cycles it is the mean of."""
    seconds: float
    """How long one is."""
    speed: float
    """Leg lengths a second."""
    stance: float
    """The share of the cycle in which the foot is down."""


def table_curve(name: str, phases: NDArray = PHASES) -> NDArray:
    """The textbook's curve at any phases, through its tenths."""
    from scipy.interpolate import CubicSpline

    values = TABLE[name]
    return CubicSpline(np.arange(11) / 10, [*values, values[0]], bc_type="periodic")(phases)


def angle_between(first: NDArray, second: NDArray) -> NDArray:
    """Degrees between directions (F, 3)."""
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(first, second), axis=-1), np.sum(first * second, axis=-1)))


def body_curves(kinematics: Kinematics, character: Character, side: str, way: NDArray) -> dict[str, NDArray]:
    """The curves of one side for a body that goes in a direction `way`, (3,) level and of length 1."""
    roles = character.require_roles()

    def at(role: str) -> NDArray:
        return kinematics.positions[:, roles[f"{side}_{role}"]]

    def swing(bone: NDArray) -> NDArray:
        return np.degrees(np.unwrap(np.arctan2(bone @ way, -bone[:, 1])))

    ball = at("toes") if f"{side}_toes" in roles else kinematics.point(character.contacts[f"{side}_ball"])
    thigh, shank, foot = at("lower_leg") - at("upper_leg"), at("foot") - at("lower_leg"), ball - at("foot")
    upper, fore = at("lower_arm") - at("upper_arm"), at("hand") - at("lower_arm")
    return {
        "hip": swing(thigh),
        "knee": angle_between(thigh, shank),
        "ankle": 90.0 - angle_between(-shank, foot),
        "pelvis": 100.0 * kinematics.positions[:, roles["hips"], 1] / leg_length(character),
        "arm": swing(upper),
        "elbow": angle_between(upper, fore),
    }


def leg_length(character: Character) -> float:
    """Hip to ankle along the bones, metres."""
    roles, offsets = character.require_roles(), character.skeleton.offsets
    return float(sum(np.linalg.norm(offsets[roles[f"left_{part}"]]) for part in ("lower_leg", "foot")))


def stances(contacts: Contacts, side: str, slow: NDArray) -> list[tuple[int, int]]:
    """(strike, off) of a foot: plants of heel and ball that follow each other at once make one stance.

    slow: (F,) whether heel or ball moves at less than a third of the body's speed. A runner's foot does for some
    hundredths of a second before it really rests, because markers and joints give; that time belongs to the stance.
    """
    plants = sorted(contacts.intervals(f"{side}_heel") + contacts.intervals(f"{side}_ball"))
    merged: list[tuple[int, int]] = []
    for start, end in plants:
        if merged and start <= merged[-1][1] + 0.05 * contacts.fps:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return [(int(start - np.argmin(slow[start::-1]) + 1) if slow[start] else start, end) for start, end in merged]


def slow_foot(kinematics: Kinematics, character: Character, side: str, fps: float) -> NDArray:
    """(F,) whether heel or ball moves over the floor at less than a third of the body's median speed."""

    def speed(places: NDArray) -> NDArray:
        return np.linalg.norm(np.gradient(places[:, [0, 2]], axis=0), axis=-1) * fps

    body = np.median(speed(kinematics.positions[:, character.require_roles()["hips"]]))
    points = kinematics.points([character.contacts[f"{side}_{part}"] for part in ("heel", "ball")])
    return np.minimum(speed(points[:, 0]), speed(points[:, 1])) < body / 3.0


def mean_cycle(motion: Motion, character: Character) -> Cycle:
    """The mean over both sides of the clip's steady cycles."""
    motion = motion[1:]
    kinematics, contacts = Kinematics(motion), find_contacts((motion, character))
    hips = kinematics.positions[:, character.require_roles()["hips"]] * [1.0, 0.0, 1.0]
    last = len(motion) - 1
    spans, shares = [], []
    for side in ("left", "right"):
        downs = stances(contacts, side, slow_foot(kinematics, character, side, motion.fps))
        for (start, lift), (strike, end) in pairwise(downs):
            # a stance that holds in the first frame may have begun before it, one in the last may go on
            spans += [(side, start, strike, start)] if start > 1 else []
            shares += [(lift - start) / (strike - start)] if start > 1 else []
            spans += [(side, lift, end, strike)] if end < last else []
    length = np.array([end - start for _, start, end, _ in spans])
    way = np.array([hips[end] - hips[start] for _, start, end, _ in spans])
    speeds = np.linalg.norm(way, axis=-1) / length * motion.fps
    steady = np.flatnonzero((np.abs(length / np.median(length) - 1.0) < 0.15) & (speeds > 0.85 * speeds.max()))
    found: dict[str, list[NDArray]] = {name: [] for name in CURVES}
    for number in steady:
        side, start, end, strike = spans[number]
        curves = body_curves(kinematics, character, side, way[number] / np.linalg.norm(way[number]))
        # a cycle from lift to lift begins in its middle: what lies beyond its end is what it began with
        frames = start + (strike - start + PHASES * (end - start)) % (end - start)
        for name, values in curves.items():
            slope = (values[end] - values[start]) / (end - start) if name == "pelvis" else 0.0
            found[name].append(np.interp(frames, np.arange(last + 1), values) - slope * (frames - start))
    mean = {name: np.mean(cycles, axis=0) for name, cycles in found.items()}
    mean["pelvis"] = mean["pelvis"] - mean["pelvis"].mean()
    seconds, speed = float(length[steady].mean() / motion.fps), float(speeds[steady].mean())
    return Cycle(mean, len(steady), seconds, speed / leg_length(character), float(np.median(shares)))


def captured(gait: str) -> dict[str, Cycle]:
    """Name of the capture → its mean cycle; those that are not on this machine are left out."""
    found = {}
    for name in CAPTURES[gait]:
        path = DATA / f"{name}.bvh"
        if path.exists():
            clip = footplant.load(path)
            found[path.stem] = mean_cycle(clip.motion, clip.character)
    return found


def ensemble(cycles: dict[str, Cycle]) -> dict[str, NDArray]:
    """The mean over subjects of each curve."""
    return {name: np.mean([cycle.curves[name] for cycle in cycles.values()], axis=0) for name in CURVES}


def middle_range(cycles: dict[str, Cycle], name: str) -> float:
    """The median over subjects of a curve's range: one who hardly swings his arms does not count for two."""
    return float(np.median([np.ptp(cycle.curves[name]) for cycle in cycles.values()]))


def likeness(ours: NDArray, theirs: NDArray) -> dict[str, float]:
    """Correlation and the ratio of ranges, and by which shift (per cent of the cycle) the correlation is best."""
    shifts = range(-10, 11)
    shifted = [float(np.corrcoef(ours, np.roll(theirs, shift))[0, 1]) for shift in shifts]
    best = int(np.argmax(shifted))
    return {
        "correlation": shifted[10],
        "range_ratio": float(np.ptp(ours) / np.ptp(theirs)),
        "best_shift": float(shifts[best]),
        "best_correlation": shifted[best],
    }


def at_own_pace(gait: str, cycle: Cycle) -> Cycle:
    """The mean cycle of a sample gait with the speed and the stride of a recorded one, for its legs."""
    from footplant.samples import gait as gaits
    from footplant.samples.body import LEG_LENGTH

    speed = LEG_LENGTH * cycle.speed
    sample = {"walk": gaits.walk, "run": gaits.run}[gait](speed=speed, stride=speed * cycle.seconds)
    return mean_cycle(sample.motion, sample.character)


def person_by_person(gait: str, cycles: dict[str, Cycle], groups: dict[str, list[str]]) -> dict[str, float]:
    """Ratios of ranges, ours over theirs, for each person at that person's pace, and their medians over groups."""
    figures: dict[str, float] = {}
    ours = {clip: at_own_pace(gait, cycle) for clip, cycle in cycles.items()}
    for name in CURVES:
        ratios = {clip: float(np.ptp(ours[clip].curves[name]) / np.ptp(cycles[clip].curves[name])) for clip in cycles}
        for clip, ratio in ratios.items():
            figures[f"gait.{gait}.{clip}.{name}.range_ratio_at_own_pace"] = ratio
        for group, members in groups.items():
            median = float(np.median([ratios[clip] for clip in members]))
            figures[f"gait.{gait}.{group}.{name}.median_ratio_at_own_pace"] = median
    return figures


def at_their_pace(cycles: dict[str, Cycle]) -> dict[str, float]:
    """Ratios of ranges for a sample walk that is as fast for its legs as the captures are on average."""
    from footplant.samples.body import LEG_LENGTH
    from footplant.samples.gait import walk

    sample = walk(speed=LEG_LENGTH * float(np.mean([cycle.speed for cycle in cycles.values()])))
    ours, theirs = mean_cycle(sample.motion, sample.character), ensemble(cycles)
    return {
        f"gait.walk.cmu.{name}.range_ratio_at_their_pace": float(np.ptp(ours.curves[name]) / np.ptp(theirs[name]))
        for name in CURVES
    }


def run() -> dict[str, float]:
    """Sample walk and run beside captures and the textbook: correlations and ratios of ranges of their mean cycles."""
    figures: dict[str, float] = {}
    for gait in CAPTURES:
        sample = footplant.load(f"sample:{gait}")
        ours = mean_cycle(sample.motion, sample.character)
        if gait == "walk":
            for name in TABLE:
                for what, value in likeness(ours.curves[name], table_curve(name)).items():
                    figures[f"gait.walk.textbook.{name}.{what}"] = value
        cycles = captured(gait)
        beside = {"ensemble": ensemble(cycles)} if cycles else {}
        only = {clip: cycle for clip, cycle in cycles.items() if clip != "toolbox_walk01"}
        if gait == "walk" and only:
            beside["cmu"] = ensemble(only)
            figures |= at_their_pace(only)
        figures |= person_by_person(gait, cycles, {group: list(only if group == "cmu" else cycles) for group in beside})
        for clip, curves in (beside | {clip: cycle.curves for clip, cycle in cycles.items()}).items():
            for name in CURVES:
                for what, value in likeness(ours.curves[name], curves[name]).items():
                    figures[f"gait.{gait}.{clip}.{name}.{what}"] = value
        for name in CURVES if cycles else ():
            ratio = float(np.ptp(ours.curves[name])) / middle_range(cycles, name)
            figures[f"gait.{gait}.ensemble.{name}.ratio_to_median_range"] = ratio
        for clip, cycle in ({"sample": ours} | cycles).items():
            figures[f"gait.{gait}.{clip}.cycles"] = cycle.count
            figures[f"gait.{gait}.{clip}.seconds"] = cycle.seconds
            figures[f"gait.{gait}.{clip}.leg_lengths_a_second"] = cycle.speed
            figures[f"gait.{gait}.{clip}.stance"] = cycle.stance
    return figures


if __name__ == "__main__":
    main(run)
