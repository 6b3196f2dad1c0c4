"""Walks and runs on stairs, ramps and rough ground, judged by the program that shares no code with Footplant.

Usage: python benchmarks/terrain_judged.py DATA --judge FOLDER [--python PYTHON] [--clips …] [--grounds …] [--to …]

The runs are those of `terrain_walks.py`, PYTHON is that of the judge's environment. The judge reads the results and
the level motions from files, at their new times where steps last longer. Stances are those that it finds in the level
motion, and acceleration and jerk are compared with it. Heights above ground are told to it, as uneven ground is none
of its own. A foot slides as far as the better held of its two joints does: on a slope and on stairs heels lift earlier
than on the level, and the ankle goes along. Of characters with a skin it hands back vertices of the feet in every other
frame: their depths are below the surface, or sideways in a riser.

A line says: stances, drift of the worst (mm), stances over 1 mm, turn of standing feet (90th percentile, degrees),
acceleration (peak) and jerk over the level motion's, the feet's deepest vertex (mm).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import footplant
from footplant.clip import Clip
from footplant.contacts.ground import Ground, as_ground
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.result import Result
from terrain_walks import CHARACTERS, CLIPS, GROUNDS

FEET = ("left_foot", "right_foot", "left_toes", "right_toes")
PROGRAM = """
import json, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from body import Skin
from judge import body_height, find_roles
from measures import BODY, SIDES, Pair, Stance, carries, foot_sway, smoothness_figures, sole_drift, sole_heights
from measures import still_stances
from read_gltf import read_gltf

def read(file, job):
    character = read_gltf(file, np.arange(job["frames"]) * job["dt"])
    roles = find_roles(character.names, job["roles"])
    scale = BODY / body_height(character.positions, character.parents.tolist(), roles)
    places = {role: character.positions[:, node] * scale for role, node in roles.items()}
    turns = {role: character.rotations(node) for role, node in roles.items()}
    return character, roles, scale, places, turns

for line in sys.stdin:
    job = json.loads(line)
    character, roles, scale, at, turns = read(job["result"], job)
    ground = np.load(job["ground"])
    over = {r: at[r] - scale * ground[r][:, None] * np.array([0.0, 1.0, 0.0]) if r in ground else at[r] for r in at}
    _, _, _, source, source_turns = read(job["level"], job)
    answer = smoothness_figures(Pair(job["dt"], source, at, source_turns, turns, {}, {}))
    pair = Pair(job["dt"], source, over, source_turns, turns, {}, {})
    heights, drifts, sways = sole_heights(pair), [], []
    for joint in (f"{side}_{part}" for side in SIDES for part in ("foot", "toes")):
        for start, stop in still_stances(source[joint], job["dt"]) if pair.both(joint) else []:
            stance = Stance(joint, start, stop)
            if carries(pair, stance, heights):
                held = [x for x in (f"{joint.split('_')[0]}_{part}" for part in ("foot", "toes")) if x in over]
                own = min(sole_drift(pair, Stance(x, start, stop)).max(0).min() for x in held)
                # as the judge has it: no farther than from the source's own path
                p, q = (f[joint][start:stop][:, [0, 2]] for f in (source, over))
                own = min(own, np.linalg.norm(q - np.median(q, 0) - p + np.median(p, 0), axis=1).max())
                drifts.append((float(1000 * own), joint, int(start), int(stop)))
                sways.append(foot_sway(pair, stance))
    sways = [angle for angle in sways if np.isfinite(angle)]
    answer |= {"stances": len(drifts), "worst": max(drifts, default=(0.0,)), "over_1": sum(d[0] > 1 for d in drifts)}
    answer["turn"] = float(np.percentile(sways, 90)) if sways else 0.0
    if job["skin"]:
        skin = Skin(character, roles, 1.0, np.eye(3))
        feet = np.flatnonzero(skin.leg("left", "foot", "toes") | skin.leg("right", "foot", "toes"))
        low = feet[skin.rest[feet, 1] < np.percentile(skin.rest[feet, 1], 50)]
        low = low[:: max(1, len(low) // 400)]
        np.save(job["skin"], np.stack([skin.at(world)[low] for world in character.world[::2]]))
    print(json.dumps(answer), flush=True)
"""
WAYS = np.array([[np.cos(a), np.sin(a)] for a in np.linspace(0.0, 2.0 * np.pi, 8, endpoint=False)])
SIDEWAYS = np.arange(0.001, 0.04, 0.001)


def depth(ground: Ground, points: NDArray) -> float:
    """Return how far the deepest of points (…, 3) is below the surface, or sideways in a riser if less, metres."""
    below = ground.height(points[..., ::2]) - points[..., 1]
    inside, left = points[below > SIDEWAYS[0]], below[below > SIDEWAYS[0]]
    for distance in SIDEWAYS[::-1]:
        for way in WAYS:
            out = ground.height(inside[:, ::2] + distance * way) - inside[:, 1] < distance
            left[out] = np.minimum(left[out], distance)
    return float(left.max(initial=0.0))


class Judge:
    """The judge in a process of its own: it reads a job a line and answers with a line."""

    def __init__(self, folder: Path, python: str, work: Path) -> None:
        program = work / "program.py"
        program.write_text(PROGRAM)
        self._work = work
        self._process = subprocess.Popen(
            [python, str(program), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, result: Result, level: Motion) -> dict:
        """Return the figures of a result."""
        work, character = self._work, result.character
        ground = as_ground(result.ground)
        places, roles = Kinematics(result.motion).positions, character.require_roles()
        files = {name: str(work / name) for name in ("result.glb", "level.glb", "ground.npz", "skin.npy")}
        Path(files["skin.npy"]).unlink(missing_ok=True)
        footplant.save(files["result.glb"], result.clip)
        footplant.save(files["level.glb"], Clip(level, character, name="level"))
        heights = {role: ground.height(places[:, roles[role], ::2]) for role in FEET if role in roles}
        np.savez(files["ground.npz"], **heights)  # type: ignore[arg-type]
        job = {
            "result": files["result.glb"], "level": files["level.glb"],
            "ground": files["ground.npz"], "skin": files["skin.npy"] if character.skin is not None else None,
            "frames": len(result.motion), "dt": 1.0 / result.motion.fps,
            "roles": {role: character.skeleton.names[roles[role]] for role in roles.joints},
        }  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the judge stopped: see what it wrote above")
        answer = json.loads(line)
        if Path(files["skin.npy"]).exists():
            answer["depth"] = 1000.0 * depth(ground, np.load(files["skin.npy"]))
        return answer


def line(found: dict) -> str:
    """Return the figures as text."""
    ratios = [found.get(name, float("nan")) for name in ("accel_peak_ratio", "jerk_ratio", "depth")]
    return f"{found['stances']:4} {found['worst'][0]:6.2f} {found['over_1']:3} {found['turn']:6.2f} " + " ".join(
        f"{value:6.2f}" for value in ratios
    )


def main() -> None:
    """Judge and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    for name in ("clips", "grounds", "to"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--judge", type=Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()

    def chosen(table: dict, wish: str) -> dict:
        return {key: table[key] for key in table if not wish or any(part in key for part in wish.split(","))}

    rows: dict[str, dict] = {}
    with tempfile.TemporaryDirectory() as name:
        judge = Judge(options.judge, options.python, Path(name))
        for clip_name, file in chosen(CLIPS, options.clips).items():
            clip = footplant.load(options.data / file)
            for to_name, to in chosen(CHARACTERS, options.to).items():
                target = to if to is None or to.startswith("sample:") else str(options.data / to)
                for ground_name, ground in chosen(GROUNDS, options.grounds).items():
                    result = footplant.terrain(clip, ground, target=target)
                    level = result.unsolved.motion if result.unsolved is not None else clip.motion
                    found = judge.ask(result, level)
                    rows[f"{clip_name}, {to_name}, {ground_name}"] = found
                    print(f"{clip_name}, {to_name}, {ground_name}".ljust(40), line(found), flush=True)
    total, over = (sum(found[key] for found in rows.values()) for key in ("stances", "over_1"))
    print(f"\n{total} stances, {over} over 1 mm, worst {max(found['worst'][0] for found in rows.values()):.2f} mm")
    for key in ("turn", "accel_peak_ratio", "jerk_ratio", "depth"):
        values = [found[key] for found in rows.values() if key in found]
        if values:
            print(f"{key:18} {len(values):4}", " ".join(f"{q:7.2f}" for q in np.percentile(values, [50, 90, 100])))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
