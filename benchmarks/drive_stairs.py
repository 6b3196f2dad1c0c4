"""Characters driven up and down stairs: are whole feet on treads, one tread a step, without jolts, drift or sunk soles?

    python benchmarks/drive_stairs.py [DATA] [--json]

DATA: a folder with captures, for two more sets of clips; without it, the sample clips alone are driven. Every walk of a
set (a gait that plants a foot at any time) goes up and down twelve stairs of 12, 17 and 22 cm, straight and askew. A
landing is whole when the ground is level from the heel to the ball, but for 2 % of the sole at the heel: toes may
overhang, as `footplant terrain` has it. Accelerations of feet are compared with those of the same script on level
ground, time with that of a step there. "stop", "turn" and "kick": walks that stand still and go on, turn, or kick, at
four times each on the same stairs, straight ahead.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

import footplant
from drive_scripts import FPS, foot_acceleration, lock_contacts
from footplant.feet.footing import sole_length
from footplant.grounds import Stairs
from footplant.kinematics import Kinematics
from footplant.live.controller import Controller
from footplant.live.script import Drive, Order, drive, parse_script
from footplant.live.tables import GAIT
from footplant.quality.measure import measure
from timing import THREADS, print_figures

SAMPLES = ("sample:walk", "sample:run")
SETS = {
    "cmu": ("bvh/cmu/02_01.bvh", "bvh/cmu/35_01.bvh", "bvh/cmu/104_02.bvh"),
    "other": ("bvh/other/imusim_16_15.bvh", "bvh/other/pymo_AV_8Walk_Meredith.bvh"),
}
STAIRS = {"up 12": (0.12, 0.30), "up 17": (0.17, 0.29), "up 22": (0.22, 0.28),
          "down 12": (-0.12, 0.30), "down 17": (-0.17, 0.29), "down 22": (-0.22, 0.28)}  # fmt: skip
"""Rise and run, metres."""
HEADINGS = (0.0, 0.4)
"""Radians between the way of the walker and that of the stairs."""
CHANGES = {"stop": "{walk} {at}s, stand 2s, {walk} 3s", "turn": "{walk} {at}s, {walk} 2s left, {walk} 2s",
           "kick": "{walk} {at}s, kick, {walk} 2s"}  # fmt: skip
"""What walks do on stairs, in words of a script."""
CHANGING = {"samples": ("sample:walk", "sample:turn-left", "sample:stand", "sample:kick"),
            "cmu": ("bvh/cmu/02_01.bvh", "bvh/cmu/104_02.bvh", "sample:stand")}  # fmt: skip
CHANGE_AT = (3.0, 3.3, 3.6, 4.0)
"""Seconds."""
BEFORE, COUNT, SECONDS, SLACK = 1.5, 12, 11.0, 0.02
"""Metres of level ground before the stairs; how many there are; seconds of a script; share of a sole at its heel."""


def walks(controller: Controller) -> list[str]:
    """Return the names of the straight gaits that always have a foot on the ground."""
    return [
        motion.name
        for motion in controller.tables.motions
        if motion.kind == GAIT and motion.name in controller.spec.gaits and (motion.contacts > 0.5).any(axis=1).all()
    ]


def landings(done: Drive, character: footplant.Character, ground: Stairs) -> tuple[list[bool], list[float]]:
    """Return whether each landing is whole, and the heights (N,), metres, of the ground under them, in their order."""
    kinematics, found = Kinematics(done.motion), []
    for number, side in enumerate(("left", "right")):
        heels, balls = (kinematics.point(character.contacts[f"{side}_{end}"]) for end in ("heel", "ball"))
        held = done.planted[:, 2 * number : 2 * number + 2]
        edges = np.flatnonzero(np.diff(np.r_[False, held.any(axis=1), False].astype(int)))
        for start, end in zip(edges[::2], edges[1::2]):
            flat = start + np.flatnonzero(held[start:end].all(axis=1))
            frame = flat[len(flat) // 2] if len(flat) else (start + end) // 2
            heel, line = heels[frame, ::2], (balls - heels)[frame, ::2]
            least = SLACK * sole_length(character, side) / max(float(np.hypot(*line)), 1e-9)
            under = ground.height(heel + np.linspace(least, 1.0, 15)[:, None] * line)
            found.append((int(start), bool(np.ptp(under) < 1e-6), float(np.median(under))))
    found.sort()
    return [whole for _, whole, _ in found], [height for *_, height in found]


def measure_walk(controller: Controller, name: str) -> dict[str, list[float]]:
    """Return lists of figures of one walk over all stairs."""
    character, script = controller.character, [Order(name, SECONDS)]
    level, spent = timed(controller, script, None)
    usual = float(foot_acceleration(level.motion, character).max())
    found: dict[str, list[float]] = {key: [] for key in ("whole", "treads_17", "acceleration", "drift", "sunk", "time")}
    for label, (rise, run) in STAIRS.items():
        for heading in HEADINGS:
            ground = Stairs(rise, run, COUNT, (0.0, BEFORE), heading)
            done, seconds = timed(controller, script, ground)
            whole, heights = landings(done, character, ground)
            climbs = np.abs(np.diff(heights)) / abs(rise)
            if label.endswith("17"):
                found["treads_17"].append(float(climbs[climbs > 0.1].mean()))
            found["whole"] += whole
            found["acceleration"].append(float(foot_acceleration(done.motion, character).max()) / usual)
            held = measure(done.motion, character, lock_contacts(done, character, ground), ground=ground)
            found["drift"].append(held.worst_plant.drift if held.worst_plant else 0.0)
            found["sunk"].append(held.penetration_worst)
            found["time"].append(seconds / spent)
            print(name, label, heading, {key: round(own[-1], 3) for key, own in found.items() if own}, file=sys.stderr)
    return found


def measure_changes(controller: Controller, text: str) -> dict[str, np.ndarray]:
    """Return figures of one walk that changes on all stairs, at four times each."""
    character, names = controller.character, [motion.name for motion in controller.tables.motions]
    found: dict[str, list[float]] = {key: [] for key in ("acceleration", "whole", "sunk")}
    for at in CHANGE_AT:
        script = list(parse_script(text.format(walk=walks(controller)[0], at=at), names))
        usual = float(foot_acceleration(drive(controller, script, fps=FPS).motion, character).max())
        for rise, run in STAIRS.values():
            ground = Stairs(rise, run, 2 * COUNT, (0.0, BEFORE))
            done = drive(controller, script, fps=FPS, ground=ground)
            found["acceleration"].append(float(foot_acceleration(done.motion, character).max()) / usual)
            found["whole"] += landings(done, character, ground)[0]
            held = measure(done.motion, character, lock_contacts(done, character, ground), ground=ground)
            found["sunk"].append(held.penetration_worst)
    return {key: np.array(values, float) for key, values in found.items()}


def timed(controller: Controller, script: list[Order], ground: Stairs | None) -> tuple[Drive, float]:
    """Return a driven script and the CPU seconds that it took."""
    start = time.process_time()
    done = drive(controller, script, fps=FPS, ground=ground)
    return done, time.process_time() - start


def run(data: Path | None = None) -> dict[str, float]:
    """Return the figures of all sets."""
    sets = {"samples": SAMPLES}
    if data is not None:
        sets |= {name: tuple(footplant.load(data / clip) for clip in clips) for name, clips in SETS.items()}
    figures = {}
    for label, clips in sets.items():
        controller = footplant.drive_set(list(clips))
        drive(controller, [Order(walks(controller)[0], 3.0)], fps=FPS, ground=Stairs(0.17, 0.29))
        found = [measure_walk(controller, name) for name in walks(controller)]
        joined = {key: np.array([value for own in found for value in own[key]]) for key in found[0]}
        figures |= {
            f"drive_stairs.{label}.whole_share": float(joined["whole"].mean()),
            f"drive_stairs.{label}.least_treads_at_17": float(joined["treads_17"].min()),
            f"drive_stairs.{label}.most_treads_at_17": float(joined["treads_17"].max()),
            f"drive_stairs.{label}.acceleration_of_level": float(joined["acceleration"].max()),
            f"drive_stairs.{label}.worst_drift_mm": float(joined["drift"].max()),
            f"drive_stairs.{label}.worst_sunk_mm": float(joined["sunk"].max()),
            f"drive_stairs.{label}.time_of_level": float(np.median(joined["time"])),
        }
    for label, clips in CHANGING.items():
        if label != "samples" and data is None:
            continue
        sources = [clip if clip.startswith("sample:") else footplant.load(data / clip) for clip in clips]
        controller = footplant.drive_set(sources)
        for change, text in CHANGES.items():
            if change not in {motion.name for motion in controller.tables.motions} and change == "kick":
                continue
            found = measure_changes(controller, text)
            figures |= {
                f"drive_stairs.{label}.{change}.mean_acceleration_of_level": float(found["acceleration"].mean()),
                f"drive_stairs.{label}.{change}.acceleration_of_level": float(found["acceleration"].max()),
                f"drive_stairs.{label}.{change}.whole_share": float(found["whole"].mean()),
                f"drive_stairs.{label}.{change}.mean_sunk_mm": float(found["sunk"].mean()),
                f"drive_stairs.{label}.{change}.worst_sunk_mm": float(found["sunk"].max()),
            }
    return figures


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    options = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in THREADS):
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | dict.fromkeys(THREADS, "1"))
    print_figures(run(options.data), as_json=options.json)


if __name__ == "__main__":
    main()
