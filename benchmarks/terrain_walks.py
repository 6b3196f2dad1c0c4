"""Real walks and runs on stairs, ramps and rough ground: feet, steps, joint ranges, trunk and smoothness.

Usage: python benchmarks/terrain_walks.py DATA [--clips NAME,…] [--grounds NAME,…] [--to NAME,…] [--pictures FOLDER]

DATA is a folder with the clips named in `CLIPS`. Every clip goes over every ground on every character. For each result
a line says: worst drift of a footplant (mm), deepest sole (mm), treads climbed from a step to the next (median), the
largest displacement of a step (cm), (frame, joint) pairs farther beyond joint limits than the joint ever is in the
level motion, maximum flexion of knee and hip (degrees), mean forward lean of the trunk against the level motion
(degrees), jerk and peak acceleration over the source's.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import footplant
from footplant import humanoid
from footplant.clip import Clip
from footplant.contacts.detection import find_contacts
from footplant.grounds import Stairs
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.result import Result
from footplant.skeleton import Character

CLIPS = {
    "walk 02_01": "bvh/cmu/02_01.bvh",
    "walk 35_01": "bvh/cmu/35_01.bvh",
    "walk 16_15": "bvh/other/imusim_16_15.bvh",
    "walk toolbox": "bvh/other/toolbox_walk01.bvh",
    "walk video": "smpl_npz/video_walk_level1_filter_amass.npz",
    "walk slow": "bvh/cmu/104_02.bvh",
    "run 09_01": "bvh/cmu/09_01.bvh",
    "run dash": "bvh/bandai_nc/dataset-1_dash_feminine_001.bvh",
}
GROUNDS = {
    "stairs 12 up": "stairs:0.12:0.33", "stairs 12 down": "stairs:-0.12:0.33",
    "stairs 17 up": "stairs:0.17:0.29", "stairs 17 down": "stairs:-0.17:0.29",
    "stairs 22 up": "stairs:0.22:0.26", "stairs 22 down": "stairs:-0.22:0.26",
    "ramp +5": "slope:5", "ramp -5": "slope:-5", "ramp +10": "slope:10", "ramp -10": "slope:-10",
    "ramp +15": "slope:15", "ramp -15": "slope:-15", "rough": "noise:3",
}  # fmt: skip
"""Runs of stairs are about those of Riener et al. (2002): 31, 29 and 25 cm at 24°, 30° and 42°."""
CHARACTERS = {
    "own": None,
    "mannequin": "sample:mannequin",
    "short": "sample:short",
    "Kate": "vrm/100avatars_038_Kate.vrm",
}


def joint_angles(motion: Motion, character: Character) -> dict[str, NDArray]:
    """Return flexions (F, 2) of knees and hips, and the forward lean of the trunk (F,), degrees.

    The hip's flexion is the angle between thigh and trunk, the lean that of the line from hips to neck.
    """
    places, roles = Kinematics(motion).positions, character.require_roles()
    sides = ("left", "right")
    hips = np.stack([places[:, roles[f"{side}_upper_leg"]] for side in sides], axis=1)
    top = roles["neck"] if "neck" in roles else roles["head"]
    trunk = places[:, top] - hips.mean(axis=1)
    forward = np.cross(hips[:, 0] - hips[:, 1], [0.0, 1.0, 0.0])
    forward /= np.linalg.norm(forward, axis=1, keepdims=True)
    knees, flexions = [], []
    for s, side in enumerate(sides):
        thigh = places[:, roles[f"{side}_lower_leg"]] - hips[:, s]
        shank = places[:, roles[f"{side}_foot"]] - places[:, roles[f"{side}_lower_leg"]]
        cosine = (thigh * shank).sum(axis=1) / np.linalg.norm(thigh, axis=1) / np.linalg.norm(shank, axis=1)
        knees.append(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
        ahead, down = (thigh * forward).sum(axis=1), -thigh[:, 1]
        flexions.append(np.degrees(np.arctan2(ahead, down)))
    lean = np.degrees(np.arctan2((trunk * forward).sum(axis=1), trunk[:, 1]))
    return {"knee": np.array(knees).T, "hip": np.array(flexions).T + lean[:, None], "lean": lean}


def treads_per_step(result: Result) -> float:
    """Return the median number of treads from one step on the stairs to the next."""
    ground = result.ground
    if not isinstance(ground, Stairs):
        return float("nan")
    contacts = find_contacts((result.motion, result.character), ground=ground)
    places = [(plant.start, plant.place) for plant in contacts.plants if plant.point.endswith("ball")]
    heights = [
        round(float(ground.height(place[None, ::2])[0] - ground.level) / ground.rise)
        for _, place in sorted(places, key=lambda row: row[0])
    ]
    inside = [abs(b - a) for a, b in pairwise(heights) if a != b]
    return float(np.median(inside)) if inside else 0.0


def judge(clip: Clip, ground: str, to: str | None, pictures: Path | None, name: str) -> list[float]:
    """Return the figures of one result, and draw it."""
    start = time.process_time()
    result = footplant.terrain(clip, ground, target=to)
    seconds = time.process_time() - start
    after, before = result.report.after, result.report.before
    assert after is not None
    assert before is not None
    level = result.unsolved.motion if result.unsolved is not None else clip.motion
    # by joint: on the own body a step that climbs lasts longer than in the level motion, and so does what it breaks
    allowed = humanoid.limit_violations(result.character, level.rotations).max(axis=0)
    broken = humanoid.limit_violations(result.character, result.motion.rotations) > allowed + np.radians(0.5)
    angles, own = joint_angles(result.motion, result.character), joint_angles(level, result.character)
    moved = [
        float(word) for note in result.report.notes for word in note.split() if "straddled" in note and word.isdigit()
    ]
    if pictures is not None:
        from footplant.plot.strip import strip

        strip(result.clip, pictures / f"{name}.png", panels=False, ground=result.ground)
    drift = after.worst_plant.drift if after.worst_plant else 0.0
    return [
        drift, after.penetration_worst or 0.0, treads_per_step(result), moved[-1] if moved else 0.0,
        int(broken.sum()), angles["knee"].max(), angles["hip"].max(),
        float(angles["lean"].mean() - own["lean"].mean()), after.jerk_ratio or 0.0,
        after.peak_acceleration_ratio or 0.0,
        1000.0 * seconds / len(result.motion),
    ]  # fmt: skip


BARS = (1.0, 2.0, 0.0, 1.2)
"""Drift and depth of soles, mm; new breaks of joint limits; jerk over the source's."""
HEAD = "drift  depth treads moved breaks  knee   hip  lean  jerk  peak ms/fr"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    for name in ("clips", "grounds", "to"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    options = parser.parse_args()
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)

    def chosen(table: dict, wish: str) -> dict:
        return {key: table[key] for key in table if not wish or any(part in key for part in wish.split(","))}

    rows: dict[str, list[list[float]]] = {}
    for clip_name, file in chosen(CLIPS, options.clips).items():
        clip = footplant.load(options.data / file)
        for to_name, to in chosen(CHARACTERS, options.to).items():
            target = to if to is None or to.startswith("sample:") else str(options.data / to)
            for ground_name, ground in chosen(GROUNDS, options.grounds).items():
                name = f"{clip_name}, {to_name}, {ground_name}"
                try:
                    found = judge(clip, ground, target, options.pictures, name.replace(", ", "_").replace(" ", "-"))
                except footplant.FootplantError as error:
                    print(f"{name}: {error}", file=sys.stderr)
                    continue
                rows.setdefault(ground_name, []).append(found)
                if not options.json:
                    print(f"{name:38}", " ".join(f"{value:6.2f}" for value in found), flush=True)
    if options.json:
        print(json.dumps({ground: np.nanmedian(np.array(values), axis=0).tolist() for ground, values in rows.items()}))
        return
    print(f"\n{'runs within the bars':20} of drift  soles breaks   jerk")
    for ground_name, values in [*rows.items(), ("all", list(chain.from_iterable(rows.values())))]:
        table = np.array(values)
        within = (table[:, [0, 1, 4, 8]] <= BARS).sum(axis=0)
        print(f"{ground_name:18} {len(table):4}", " ".join(f"{count:6}" for count in within))
    print(f"\n{'median (worst)':38} {HEAD}")
    for ground_name, values in rows.items():
        table = np.array(values)
        with np.errstate(all="ignore"):
            print(f"{ground_name:20} median     ", " ".join(f"{value:6.2f}" for value in np.nanmedian(table, axis=0)))
            print(f"{ground_name:20} worst      ", " ".join(f"{value:6.2f}" for value in np.nanmax(table, axis=0)))


if __name__ == "__main__":
    main()
