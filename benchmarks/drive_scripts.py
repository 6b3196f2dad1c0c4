"""A driven character by random scripts over a set of raw clips: do feet jolt, drift or sink; do kicks and steps hit?

    python benchmarks/drive_scripts.py DATA [CLIP ...] [--requests 200] [--seeds 2] [--judge FOLDER --python PYTHON]

DATA: a folder; CLIP: files in it (default: eight captures). On level and on rough ground. Accelerations are compared
with the clips' own, after retargeting to the same character, at the same frame rate, and where no action has weight
with those of the gaits alone: a kick would hide them. Drifts are measured three times: over what the controller held,
over the contacts that `footplant measure` finds in the recording, and over the still stances that the judge finds in it
(the judge shares no code with Footplant; PYTHON is that of its environment).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import footplant
from footplant.blending.common_character import on_one_character
from footplant.contacts.detection import Contacts, Plant
from footplant.grounds import rough
from footplant.kinematics import Kinematics
from footplant.live.controller import DIRECTIONS, Controller
from footplant.live.script import Drive, Order, drive, held_intervals
from footplant.live.tables import GAIT, as_motion
from footplant.quality.measure import measure

CLIPS = (
    "bvh/cmu/02_01.bvh", "bvh/cmu/35_01.bvh", "bvh/cmu/104_02.bvh", "bvh/cmu/09_01.bvh",
    "bvh/other/pymo_AV_8Walk_Meredith.bvh", "bvh/other/imusim_16_15.bvh", "bvh/cmu/74_03.bvh",
    "bvh/other/daz_cmu_10_03.bvh",
)  # fmt: skip
FPS = 60.0
FEET = ("left_foot", "right_foot", "left_toes", "right_toes")
JUDGE = """
import sys, json, numpy as np
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from judge import body_height, find_roles, load_roles
from measures import BODY, Pair, Stance, carries, sole_drift, sole_heights, still_stances
from read_bvh import read_bvh
roles = load_roles(Path(sys.argv[3]))
clip = read_bvh(Path(sys.argv[2]), roles["up"])
found = find_roles(clip.names, roles["roles"])
scale = BODY / body_height(clip.positions, clip.parents, found)
at = {r: clip.positions[:, i] * scale for r, i in found.items()}
turns = {r: clip.rotations[:, i] for r, i in found.items()}
# how far below a joint its sole is looked for comes from its height over the ground
ground = np.load(sys.argv[4])
over = {r: at[r] - scale * ground[r][:, None] * np.array([0.0, 1.0, 0.0]) if r in ground else at[r] for r in at}
pair = Pair(clip.dt, over, over, turns, turns, {}, {})
heights, drifts = sole_heights(pair), []
for side in ("left", "right"):
    for part in ("foot", "toes"):
        joint = f"{side}_{part}"
        if joint not in at:
            continue
        for start, stop in still_stances(at[joint], clip.dt):
            stance = Stance(joint, start, stop)
            if carries(pair, stance, heights):
                drifts.append((float(1000 * sole_drift(pair, stance).max(0).min()), joint, int(start), int(stop)))
drifts.sort(reverse=True)
print(json.dumps({"stances": len(drifts), "worst": drifts[:5], "over_1": len([d for d in drifts if d[0] > 1])}))
"""


def random_script(names: list[str], requests: int, seed: int) -> list[Order]:
    """Return requests for any motion in any direction, 0.2 to 3 seconds apart, or until an action is over."""
    rng = np.random.default_rng(seed)
    return [
        Order(names[rng.integers(len(names))], float(rng.uniform(0.2, 3.0)) if rng.random() < 0.8 else None,
              DIRECTIONS[rng.integers(3)])
        for _ in range(requests)
    ]  # fmt: skip


def foot_acceleration(motion: footplant.Motion, character: footplant.Character) -> np.ndarray:
    """Return (F−2,) the largest acceleration of any foot or toe joint, body heights per second squared."""
    roles = character.require_roles()
    joints = [roles[role] for role in FEET if role in roles]
    positions = Kinematics(motion).positions[:, joints]
    return np.linalg.norm(np.diff(positions, 2, axis=0), axis=2).max(axis=1) * motion.fps**2 / character.height


def own_acceleration(clips: list[footplant.Clip]) -> np.ndarray:
    """Return the same of the clips alone."""
    return np.concatenate([foot_acceleration(clip.motion.resample(FPS), clip.character) for clip in clips])


def lock_contacts(done: Drive, character: footplant.Character, ground) -> Contacts:
    """Return the contacts that the controller says it held."""
    kinematics = Kinematics(done.motion)
    plants = [
        Plant(point, start, end, np.median(kinematics.point(character.contacts[point])[start:end], axis=0))
        for point, spans in held_intervals(done).items()
        for start, end in spans
    ]
    return Contacts(tuple(plants), tuple(held_intervals(done)), len(done.motion), done.motion.fps, ground)


def judged(motion: footplant.Motion, character: footplant.Character, ground, folder: Path, python: str) -> dict:
    """Return drifts of the still stances that the judge finds."""
    with tempfile.TemporaryDirectory() as name:
        out, roles, program = Path(name) / "driven.bvh", Path(name) / "roles.json", Path(name) / "stances.py"
        below, found = Path(name) / "ground.npz", character.require_roles()
        feet = {role: Kinematics(motion).positions[:, found[role], ::2] for role in FEET if role in found}
        surface = own_ground(0.0 if ground is None else ground)
        # centimetres, as the file has
        np.savez(below, **{role: 100.0 * surface.height(places) for role, places in feet.items()})
        footplant.save(out, footplant.Clip(motion, character, name="driven"))
        told = subprocess.run([sys.executable, "-m", "footplant", "info", str(out), "--json"], capture_output=True)
        roles.write_bytes(told.stdout)
        program.write_text(JUDGE)
        files = [str(path) for path in (program, folder, out, roles, below)]
        answer = subprocess.run([python, *files], capture_output=True)
        if answer.returncode:
            raise RuntimeError(answer.stderr.decode())
        return json.loads(answer.stdout)


def measure_script(controller: Controller, seed: int, requests: int, ground=None) -> tuple[Drive, dict]:
    """Return a driven script and its figures."""
    script = random_script(controller.names, requests, seed)
    done = drive(controller, script, fps=FPS) if ground is None else drive(controller, script, fps=FPS, ground=ground)
    character, level = controller.character, 0.0 if ground is None else ground
    speed = foot_acceleration(done.motion, character)
    own = measure(done.motion, character, ground=level)
    held = measure(done.motion, character, lock_contacts(done, character, own_ground(level)), ground=level)
    drifts = sorted((plant.drift for plant in own.plants), reverse=True)
    acts = [number for number, motion in enumerate(controller.tables.motions) if motion.kind != GAIT]
    free = (done.weights[1:-1, acts] == 0.0).all(axis=1)
    gaits = max(
        float(foot_acceleration(as_motion(motion, character).looped(2, close=False).resample(FPS), character).max())
        for motion in controller.tables.motions if motion.kind == GAIT
    )  # fmt: skip
    return done, {
        "seconds": done.motion.duration,
        "gaits_peak": float(speed[free].max(initial=0.0)),
        "gaits_own_peak": gaits,
        "gaits_ratio": float(speed[free].max(initial=0.0)) / gaits,
        "acceleration_peak": float(speed.max()),
        "acceleration_999": float(np.percentile(speed, 99.9)),
        "acceleration_99": float(np.percentile(speed, 99)),
        "contacts": len(own.plants),
        "drift_worst_mm": own.worst_plant.drift if own.worst_plant else None,
        "drift_over_1mm": sum(drift > 1.0 for drift in drifts),
        "locks": len(held.plants),
        "lock_drift_worst_mm": held.worst_plant.drift if held.worst_plant else None,
        "penetration_mm": own.penetration_worst,
    }


def kick_errors(controller: Controller, count: int, seed: int = 0) -> dict[str, float]:
    """Return, for each aimed action, the largest distance in millimetres from random targets beside its own place."""
    rng, found = np.random.default_rng(seed), {}
    for number, effector in controller.tables.effectors.items():
        name = controller.tables.motions[number].name
        for gait in list(controller.spec.gaits)[:4]:
            _, track = _aimed(controller, gait, name, effector, None)
            # an action that is shorter than a transition may be left before its key moment
            natural = track[min(round(effector.seconds * FPS), len(track)) - 1]
            worst = 0.0
            for _ in range(count):
                target = natural + rng.uniform(-0.2, 0.2, 3)
                target[1] = max(target[1], 0.05)
                _, track = _aimed(controller, gait, name, effector, target)
                worst = max(worst, 1000.0 * float(np.linalg.norm(track - target, axis=1).min()))
            found[f"{name} during {gait}"] = worst
    return found


def step_errors(controller: Controller, count: int, seed: int = 0) -> dict[str, dict]:
    """Return, for each gait and idle, what became of steps onto random places: how many were met, and how nearly.

    Places are 1 to 3 m ahead of a walking character and 0.5 m to either side, and 0.2 to 0.5 m around a standing one.
    """
    rng, found = np.random.default_rng(seed), {}
    for name in (*controller.spec.gaits, *controller.spec.idles):
        here = drive(controller, [Order(name, 1.0)], fps=FPS).motion.root[-1, ::2]
        tasks = []
        for _ in range(count):
            if name in controller.spec.gaits:
                place = here + (rng.uniform(-0.5, 0.5), rng.uniform(1.0, 3.0))
            else:
                angle = rng.uniform(-np.pi, np.pi)
                place = here + rng.uniform(0.2, 0.5) * np.array([np.sin(angle), np.cos(angle)])
            script = [Order(name, 1.0), Order("step", target=tuple(place.tolist())), Order(name, 1.0)]
            tasks += drive(controller, script, fps=FPS).aims
        off = [1000.0 * task.residual for task in tasks if task.status == "met"]
        states = {each: sum(task.status == each for task in tasks) for each in ("met", "missed", "unreachable")}
        found[name] = {**states, "worst_mm": max(off, default=0.0)}
    return found


def _aimed(controller: Controller, gait: str, name: str, effector, target) -> tuple[int, np.ndarray]:
    """Return the frame in which an action starts, and the effector's path (F, 3) from there on."""
    state = controller.init(begin=gait)
    for _ in range(40):
        controller.step(state, 1.0 / FPS)
    controller.request(state, name, target=None if target is None else tuple(target))
    roots, poses, started = [], [], -1
    for frame in range(400):
        controller.step(state, 1.0 / FPS)
        started = frame if started < 0 and state.action is not None else started
        roots.append(state.root[0].copy())
        poses.append(state.pose[0] / np.linalg.norm(state.pose[0], axis=-1, keepdims=True))
        if started >= 0 and not state.busy:
            break
    motion = footplant.Motion(controller.character.skeleton, np.stack(roots), np.stack(poses), FPS)
    return started, Kinematics(motion).point(effector.point)[max(started, 0) :]


def own_ground(level):
    """Return a ground object."""
    from footplant.contacts.ground import as_ground

    return as_ground(level)


def main() -> None:
    """Print the figures of all scripts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("clips", nargs="*", default=list(CLIPS))
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--judge", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    clips = [footplant.load(options.data / name) for name in options.clips]
    controller = footplant.drive_set(clips)
    character = controller.character
    own = own_acceleration([replace(clip) for clip in on_one_character(clips, character, balance=False)])
    result: dict = {"own_peak": float(own.max()), "own_999": float(np.percentile(own, 99.9)),
                    "own_99": float(np.percentile(own, 99)), "fade": controller.tables.fade, "scripts": []}  # fmt: skip
    print({key: value for key, value in result.items() if key != "scripts"})
    grounds = {"level": None, "rough": rough(5, amplitude=0.15, spacing=2.0, low=(-300.0, -300.0), high=(300.0, 300.0))}
    for label, ground in grounds.items():
        for seed in range(options.seeds):
            done, figures = measure_script(controller, seed, options.requests, ground)
            figures["acceleration_ratio"] = figures["acceleration_peak"] / result["own_peak"]
            if options.judge:
                figures["judge"] = judged(done.motion, character, ground, options.judge, options.python)
            result["scripts"].append({"ground": label, "seed": seed, **figures})
            print(label, seed, json.dumps(figures), flush=True)
    result["kicks_mm"] = kick_errors(controller, 6)
    print("kicks, mm:", json.dumps(result["kicks_mm"]))
    result["steps"] = step_errors(footplant.drive_set([*clips, "sample:stand"]), 20)
    print("steps:", json.dumps(result["steps"]))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
