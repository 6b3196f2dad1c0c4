"""Level walks that were put on stairs beside people who were captured on such stairs: joint ranges, lean and timing.

Usage: python benchmarks/stairs_against_capture.py DATA [--pictures FOLDER]

CMU 13_35 and 14_23 go up and down three steps; rise and run are read off their footplants. Level walks are retargeted
to the body of each of these people and put on the same stairs. Everything is measured in one way: a step is a foot
that comes down higher or lower than the other foot was, and lean and least flexions are those from the second lift to
the last landing of such steps.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

import footplant
from footplant.clip import Clip
from footplant.contacts.detection import Contacts, find_contacts
from footplant.kinematics import Kinematics
from terrain_walks import joint_angles
from timing import print_figures

CAPTURES = {"13_35": "bvh/cmu/13_35.bvh", "14_23": "bvh/cmu/14_23.bvh"}
WALKS = {
    "02_01": "bvh/cmu/02_01.bvh",
    "35_01": "bvh/cmu/35_01.bvh",
    "16_15": "bvh/other/imusim_16_15.bvh",
    "104_02": "bvh/cmu/104_02.bvh",
}
WAYS = {"up": 1, "down": -1}
LEAST_RISE = 0.1
"""Metres; feet that come down with less than that between them are on one tread."""


@dataclass(frozen=True)
class Stance:
    """A foot that is down."""

    side: int
    start: int
    end: int
    place: tuple[float, float, float]


def stances(contacts: Contacts) -> list[Stance]:
    """Return the stances of both feet in the order of their landings: plants of heel and ball that overlap are one."""
    found: list[Stance] = []
    for number, side in enumerate(("left", "right")):
        own = sorted((plant for plant in contacts.plants if plant.point.startswith(side)), key=lambda each: each.start)
        merged: list[list] = []
        for plant in own:
            if merged and plant.start < max(each.end for each in merged[-1]):
                merged[-1].append(plant)
            else:
                merged.append([plant])
        for group in merged:
            x, y, z = np.mean([plant.place for plant in group], axis=0)
            start, end = min(plant.start for plant in group), max(plant.end for plant in group)
            found.append(Stance(number, start, end, (float(x), float(y), float(z))))
    return sorted(found, key=lambda each: each.start)


def stair_steps(found: list[Stance], way: int) -> list[tuple[Stance, Stance]]:
    """Return (stance before, stance on the next tread) of the steps that go up (1) or down (-1)."""
    return [
        (before, after)
        for before, after in pairwise(found)
        if before.side != after.side and way * (after.place[1] - before.place[1]) > LEAST_RISE
    ]


def stairs_of(contacts: Contacts) -> tuple[float, float]:
    """Return rise and run of the stairs that a capture goes up and down, metres: the means over its steps.

    The run is taken from steps between treads: first and last steps come from and lead to places that people choose.
    """
    rises, runs = [], []
    for way in WAYS.values():
        steps = stair_steps(stances(contacts), way)
        rises += [abs(after.place[1] - before.place[1]) for before, after in steps]
        runs += [float(np.hypot(after.place[0] - b.place[0], after.place[2] - b.place[2])) for b, after in steps[1:-1]]
    return float(np.mean(rises)), float(np.mean(runs))


NAMES = ("knee, most", "knee at landing", "knee, least", "hip, most", "hip, least", "lean", "s a step", "treads")


def figures(clip: Clip, contacts: Contacts, way: int, rise: float, upright: float) -> list[float] | None:
    """Return the figures `NAMES` of the steps up or down, degrees and seconds; upright: lean that counts as 0."""
    found = stances(contacts)
    steps = stair_steps(found, way)
    if len(steps) < 2:
        return None
    angles, fps = joint_angles(clip.motion, clip.character), clip.motion.fps
    lifts = [
        max((each.end for each in found if each.side == after.side and each.end <= after.start), default=before.start)
        for before, after in steps
    ]
    # from when both feet have left the level: people choose how far away they begin
    window = slice(lifts[1], steps[-1][1].start + 1)
    swings = [slice(lift, after.start + 1) for lift, (_, after) in zip(lifts, steps)]
    swing = {
        name: [angles[name][own, after.side] for own, (_, after) in zip(swings, steps)] for name in ("knee", "hip")
    }
    times = [(after.start - before.start) / fps for before, after in steps[1:]]
    climbs = [abs(after.place[1] - before.place[1]) / rise for before, after in steps]
    return [
        float(np.median([each.max() for each in swing["knee"]])),
        float(np.median([angles["knee"][after.start, after.side] for _, after in steps])),
        float(angles["knee"][window].min()),
        float(np.median([each.max() for each in swing["hip"]])),
        float(angles["hip"][window].min()),
        float(angles["lean"][window].mean() - upright),
        float(np.median(times)),
        float(np.median(climbs)),
    ]


def upright_lean(clip: Clip) -> float:
    """Return the lean of a body that stands or walks on the level, degrees: skeletons differ in where necks are."""
    found = stances(find_contacts(clip))
    level = np.ones(len(clip.motion), bool)
    level[0] = False
    for way in WAYS.values():
        steps = stair_steps(found, way)
        if steps:
            level[steps[0][0].start : steps[-1][1].end] = False
    return float(np.median(joint_angles(clip.motion, clip.character)["lean"][level]))


def picture(clips: dict[str, Clip], path: Path) -> None:
    """Draw captured and made climbs one below the other: the left leg, the right leg and the trunk every 0.2 s."""
    import matplotlib.pyplot as plt

    fig, rows = plt.subplots(len(clips), 1, figsize=(9, 3.2 * len(clips)), sharex=True, sharey=True)
    for row, (name, clip) in zip(rows, clips.items()):
        found = stances(find_contacts(clip))
        steps = stair_steps(found, 1)
        roles, places = clip.character.require_roles(), Kinematics(clip.motion).positions
        first, last = max(steps[0][0].start, steps[0][1].start - int(0.6 * clip.motion.fps)), steps[-1][1].start
        on, off = np.array(steps[0][0].place), np.array(steps[-1][1].place)
        ahead = (off - on) * [1.0, 0.0, 1.0]
        ahead /= np.linalg.norm(ahead)
        chains = {
            "tab:blue": [f"left_{part}" for part in ("upper_leg", "lower_leg", "foot", "toes")],
            "tab:red": [f"right_{part}" for part in ("upper_leg", "lower_leg", "foot", "toes")],
            "0.4": ["hips", "neck", "head"],
        }
        for frame in np.arange(first, last + 1, max(int(0.2 * clip.motion.fps), 1)):
            for colour, chain in chains.items():
                line = np.array([places[frame, roles[role]] for role in chain if role in roles]) - on
                row.plot(line @ ahead, line[:, 1], color=colour, lw=1.2, alpha=0.8)
        for before, after in steps:
            here = (np.array(after.place) - on) @ ahead
            row.plot([here - 0.15, here + 0.15], [after.place[1] - on[1]] * 2, color="k", lw=2)
            row.plot([-0.15, 0.15] if before is steps[0][0] else [], [0, 0] if before is steps[0][0] else [], "k", lw=2)
        row.set_title(name, fontsize=9)
        row.set_aspect("equal")
    fig.tight_layout()
    fig.savefig(path, dpi=80)


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    options = parser.parse_args()
    tell = partial(print, file=sys.stderr if options.json else sys.stdout, flush=True)
    table: dict[tuple[str, str], list[list[float]]] = {}
    for person, file in CAPTURES.items():
        captured = footplant.load(options.data / file)
        contacts = find_contacts(captured)
        rise, run = stairs_of(contacts)
        tell(f"{person}: rise {100 * rise:.1f} cm, run {100 * run:.1f} cm")
        drawn = {f"captured: CMU {person}": captured}
        for name, way in WAYS.items():
            rows = {f"captured {person}": figures(captured, contacts, way, rise, upright_lean(captured))}
            for walk, walk_file in WALKS.items():
                clip = footplant.load(options.data / walk_file)
                result = footplant.terrain(clip, f"stairs:{way * rise:.4f}:{run:.4f}:3", target=captured.character)
                made = find_contacts((result.motion, result.character), ground=result.ground)
                assert result.unsolved is not None
                upright = float(np.median(joint_angles(result.unsolved.motion, result.character)["lean"][1:]))
                rows[f"{walk} on {person}"] = figures(result.clip, made, way, rise, upright)
                if name == "up" and len(drawn) < 3:
                    drawn[f"made from the level walk CMU {walk}"] = result.clip
            for label, row in rows.items():
                if row is not None:
                    tell(f"{name:5}{label:22}", " ".join(f"{value:8.2f}" for value in row))
                    table.setdefault((name, "captured" if label.startswith("captured") else "made"), []).append(row)
        if options.pictures is not None:
            options.pictures.mkdir(parents=True, exist_ok=True)
            picture(drawn, options.pictures / f"stairs_{person}.png")
    medians = {
        f"{name}, {kind}: {figure}": float(value)
        for (name, kind), values in table.items()
        for figure, value in zip(NAMES, np.median(values, axis=0))
    }
    print_figures(medians, as_json=options.json)


if __name__ == "__main__":
    main()
