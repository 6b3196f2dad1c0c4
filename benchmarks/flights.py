"""Flights of real jumps, runs and flips on six bodies: parabolas of the centre of mass, and angular momentum.

Usage: python benchmarks/flights.py DATA [--clips NAME,…] [--json]

For each clip and body, over all its flights: the largest distance of the centre of mass from the best parabola with the
clip's gravity at the body's size (mm), the same with `--dynamic` and the clip's gravity itself, how fast the body turns
(angular momentum about the centre of mass over the moment of inertia, °/s), and the largest departure of that from its
mean over a flight, beside the source's. Then a jump is made 40 cm longer.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

import numpy as np

import footplant
from footplant.contacts.detection import find_contacts
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.quality.flight import (
    fit_parabola,
    flight_frames,
    flight_gravity,
    flight_phases,
    turning_speeds,
)
from footplant.skeleton import Character
from timing import print_figures

CLIPS = {
    "jump 16_01": "bvh/cmu/16_01.bvh",
    "jumps 75_12": "bvh/cmu/75_12.bvh",
    "jumps 86_01": "bvh/cmu/86_01.bvh",
    "jumps mocopi": "bvh/other/mocopi_jump.bvh",
    "run 09_01": "bvh/cmu/09_01.bvh",
    "run dash": "bvh/bandai_nc/dataset-1_dash_feminine_001.bvh",
    "backflip 88_01": "bvh/cmu/88_01.bvh",
    "backflip asf": "asf_amc/backflip.amc",
    "spin kick": "deepmimic/humanoid3d_spinkick.txt",
}
BODIES = ("sample:mannequin", "sample:short", "sample:sally", "sample:blubby", "sample:longlegs", "Kate")
KATE = "vrm/100avatars_038_Kate.vrm"
Phases = list[tuple[int, int]]


def off_parabola(motion: Motion, character: Character, phases: Phases, gravity: float | None) -> float:
    """Return the largest distance of the centre of mass from parabolas, mm; gravity None: from those with any g."""
    center = Kinematics(motion).center_of_mass(character)
    fits = [fit_parabola(center[start:end], motion.fps, gravity or 9.81) for start, end in phases]
    return 1000.0 * max(fit[1 if gravity is None else 0] for fit in fits)


def turning(motion: Motion, character: Character, phases: Phases) -> tuple[float, float]:
    """Return the fastest turning speed of a flight and the largest departure from it in any, degrees/s."""
    speeds = np.degrees(turning_speeds(Kinematics(motion), character))
    means = [speeds[start:end].mean(axis=0) for start, end in phases]
    departures = [np.linalg.norm(speeds[s:e] - mean, axis=1).max() for (s, e), mean in zip(phases, means)]
    return max(float(np.linalg.norm(mean)) for mean in means), float(max(departures))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--clips", default="")
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    options = parser.parse_args()
    tell = partial(print, file=sys.stderr if options.json else sys.stdout, flush=True)
    table = []
    for name, file in CLIPS.items():
        if options.clips and not any(part in name for part in options.clips.split(",")):
            continue
        clip = footplant.load(options.data / file)
        grounded = np.asarray(find_contacts(clip).masks().any(axis=1))
        grounded[0] = True
        kinematics = Kinematics(clip.motion)
        phases = flight_phases(flight_frames(kinematics, clip.character, grounded))
        gravity = flight_gravity(kinematics, clip.character, phases)
        own = turning(clip.motion, clip.character, phases)
        off = off_parabola(clip.motion, clip.character, phases, gravity)
        tell(f"{name}: {len(phases)} flights, g = {gravity:.2f} m/s²; {off:.1f} mm, {own[0]:.0f} ± {own[1]:.0f} °/s")
        for body in BODIES:
            found = []
            for dynamic in (False, True):
                target = str(options.data / KATE) if body == "Kate" else body
                result = footplant.retarget(clip, target, dynamic=dynamic, arms=False)
                found.append(off_parabola(result.motion, result.character, phases, gravity if dynamic else None))
                if not dynamic:
                    found += turning(result.motion, result.character, phases)
            plain, speed, change, right = found
            tell(f"   {body:18} {plain:5.1f} mm  dynamic {right:5.1f} mm  {speed:5.0f} ± {change:4.0f} °/s")
            table.append([plain, right, change / max(own[1], 1.0)])
        result = footplant.jump(clip, longer=0.4)
        after = result.report.after
        assert after is not None
        assert after.flight is not None
        drift = 0.0 if after.worst_plant is None else after.worst_plant.drift
        # over the source's flights, and over those that `measure` finds in the result, which may be some frames longer
        longer = off_parabola(result.motion, result.character, phases, gravity)
        tell(f"   40 cm longer: {longer:.1f} mm (measured {after.flight.worst:.1f} mm), drift {drift:.2f} mm")
    figures = {}
    names = ("off a parabola, mm", "off a parabola, dynamic, mm", "change of angular momentum over the source's")
    for number, name in enumerate(names):
        column = [row[number] for row in table]
        figures |= {f"{name}, median": float(np.median(column)), f"{name}, worst": float(np.max(column))}
    print_figures(figures, as_json=options.json)


if __name__ == "__main__":
    main()
