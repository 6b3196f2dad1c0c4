"""What the whole package computes, in figures that are kept and compared: a net for changes that must change nothing.

`python benchmarks/golden.py --record` runs every case and writes its figures to golden.json; `--compare` (what is done
when nothing is said) runs them again and says which are identical to the bit, which are equal within the tolerance and
which differ, and exits with 1 when any does. `--only retarget` takes the cases whose name contains a word, `--jobs 2`
runs them in two processes.

A case is a function that returns arrays, numbers and words. Of an array the shape, the mean, the spread, the extremes
and eight projections onto fixed pseudo-random weights are kept, and a hash of its bytes. Nothing that is kept depends
on the time, on how a message is worded or on the numpy version. Cases that need files of ../shared/data or an extra
that is not installed are skipped and say so.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    # libraries read these when they are imported; sums over several threads may be taken in another order
    for _variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[_variable] = "1"

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.clip import Clip
from footplant.constraints import (
    Above,
    AccelerationLimit,
    Area,
    AtLeast,
    AtMost,
    Balance,
    CenterOfMass,
    ConeTwist,
    Constraint,
    Distance,
    Follow,
    Footplant,
    Hinge,
    JointLimits,
    LookAt,
    Orientation,
    Position,
    SamePlace,
    SpeedLimit,
    shoulder_rhythm,
    spine_shares,
)
from footplant.constraints.doorways import doorway_on_path, headroom
from footplant.contacts.detection import Contacts
from footplant.curves import circle, line, s_curve, through
from footplant.edits.fit import fit
from footplant.edits.morph import morph
from footplant.edits.path import path
from footplant.edits.puppet import puppet
from footplant.edits.repair import repair
from footplant.edits.retarget import retarget
from footplant.edits.terrain import terrain
from footplant.errors import MissingExtraError
from footplant.geometry import Ball, Box, Capsule, HeightField, Plane
from footplant.grounds import Stairs, rough, slope
from footplant.humanoid import apply_proportions
from footplant.io import load, load_character
from footplant.kinematics import Kinematics
from footplant.live.ground_adaptation import follow_ground
from footplant.motion import Motion
from footplant.problem import IkSolution, Problem, Solution
from footplant.quality.measure import Quality
from footplant.rotation import exp, inverse, multiply, rotate
from footplant.rotation import normalize as unit
from footplant.skeleton import Character, Point
from footplant.solve.ik.groupccd import GroupCcd
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.ik.limb import limb_of, place
from footplant.solve.ik.numeric import Numeric
from footplant.solve.ik.puppet import PuppetEngine
from footplant.solve.methods import method_of
from footplant.transfer import transfer

FOLDER = Path(__file__).resolve().parent
GOLDEN = FOLDER / "golden.json"
SHARED = FOLDER.parents[1] / "shared" / "data"
TOLERANCE = 1e-9
"""How much a figure x may change by, as a share of max(1, |x|)."""
PROJECTIONS = 8

Values = dict[str, Any]
"""What a case returns: name → array, number, word, truth or bytes."""
Case = Callable[[], Values]

CASES: dict[str, Case] = {}


class Absent(Exception):
    """What a case needs is not there."""


def case(*parameters: tuple[Any, ...]) -> Callable[[Callable[..., Values]], Callable[..., Values]]:
    """Register a function as a case, or as one for each tuple of parameters."""

    def register_cases(function: Callable[..., Values]) -> Callable[..., Values]:
        for values in parameters or ((),):
            name = "/".join([function.__name__, *(str(value).replace("/", "-") for value in values)])
            assert name not in CASES, name
            CASES[name] = partial(function, *values)
        return function

    return register_cases


# figures


def words(count: int, seed: int) -> NDArray:
    """(count,) pseudo-random numbers in −1 … 1 by SplitMix64: the same on every platform and in every version."""
    with np.errstate(over="ignore"):
        state = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return (state >> np.uint64(11)).astype(float) * 2.0**-52 - 1.0


def noise(*shape: int, seed: int = 1) -> NDArray:
    """Pseudo-random numbers in −1 … 1 of a shape."""
    return words(int(np.prod(shape)), seed).reshape(shape)


def figures(array: ArrayLike) -> list[Any]:
    """What is kept of an array: a hash, the shape, and [not finite, mean, spread, least, most, projections …]."""
    array = np.ascontiguousarray(array)
    digest = hashlib.sha256(array.tobytes()).hexdigest()[:12]
    values = array.astype(float).ravel()
    finite = np.isfinite(values)
    values = np.where(finite, values, 0.0)
    if not values.size:
        return [digest, list(array.shape), [0.0] * (5 + PROJECTIONS)]
    projected = [
        float(np.sum(words(values.size, seed) * values)) / values.size**0.5 for seed in range(1, PROJECTIONS + 1)
    ]
    plain = [float((~finite).sum()), values.mean(), values.std(), values.min(), values.max()]
    return [digest, list(array.shape), [float(value) for value in plain] + projected]


def kept(values: Values) -> Values:
    """What is kept of a case, ready for JSON."""
    found: Values = {}
    for name, value in values.items():
        if isinstance(value, np.ndarray | list | tuple):
            found[name] = figures(value)
        elif isinstance(value, bytes):
            found[name] = hashlib.sha256(value).hexdigest()[:12]
        elif isinstance(value, bool | str) or value is None:
            found[name] = value
        elif isinstance(value, np.bool_):
            found[name] = bool(value)
        else:
            found[name] = int(value) if isinstance(value, int | np.integer) else float(value)
    return found


def run_case(name: str) -> tuple[str, Values | None, str, float]:
    """(name, figures, why it was skipped, seconds) of a case; an exception is kept by its class."""
    started = time.perf_counter()
    found: Values | None = None
    why = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = kept(CASES[name]())
        except (Absent, MissingExtraError, ImportError) as error:
            why = str(error).partition("\n")[0] or type(error).__name__
        except Exception as error:
            found = {"raised": type(error).__name__}
    return name, found, why, time.perf_counter() - started


# comparing


def difference(before: Any, now: Any, tolerance: float) -> tuple[str, float]:
    """("identical", "equal" or "different", by how much) for one entry of a case."""
    if isinstance(before, list) and isinstance(now, list):
        if before == now:
            return "identical", 0.0
        if before[1] != now[1]:
            return "different", float("inf")
        away = max(_away(a, b) for a, b in zip(before[2], now[2], strict=True))
        return ("equal" if away <= tolerance else "different"), away
    if isinstance(before, float) and isinstance(now, float):
        if before == now or (before != before and now != now):
            return "identical", 0.0
        away = _away(before, now)
        return ("equal" if away <= tolerance else "different"), away
    return ("identical", 0.0) if before == now and type(before) is type(now) else ("different", float("inf"))


def _away(before: float, now: float) -> float:
    away = abs(before - now) / max(1.0, abs(before))
    return away if away == away else float("inf")


def compare_case(before: Values, now: Values, tolerance: float) -> tuple[str, str]:
    """("identical", "equal" or "different", what differs and by how much) for one case."""
    worst, told = "identical", []
    for name in [*before, *(name for name in now if name not in before)]:
        if name not in before or name not in now:
            worst = "different"
            told.append(f"{name} {'is new' if name in now else 'is gone'}")
            continue
        verdict, away = difference(before[name], now[name], tolerance)
        if verdict == "different":
            worst = verdict
            told.append(f"{name} {_words(before[name], now[name], away)}")
        elif verdict == "equal" and worst == "identical":
            worst = verdict
    return worst, "; ".join(told)


def _words(before: Any, now: Any, away: float) -> str:
    if isinstance(before, list) and isinstance(now, list):
        return f"by {away:.2g}" if before[1] == now[1] else f"of shape {before[1]}, now {now[1]}"
    return f"was {before}, now {now}"


def platform_kind() -> dict[str, str]:
    """What recorded the figures, as far as it can matter: versions and the kind of machine."""
    import numba
    import scipy

    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "system": platform.system(),
        "machine": platform.machine(),
    }


def read_golden(file: Path) -> dict[str, Any]:
    """A file of figures; an empty one where there is none."""
    return json.loads(file.read_text()) if file.exists() else {"platform": {}, "cases": {}}


def write_golden(file: Path, cases: dict[str, Values]) -> None:
    """Write the figures, one entry a line, so that a change shows which of them it touched."""
    lines = []
    for name in sorted(cases):
        entries = ",\n".join(f"   {json.dumps(key)}: {_compact(value)}" for key, value in cases[name].items())
        lines.append(f"  {json.dumps(name)}: {{\n{entries}\n  }}")
    head = json.dumps(platform_kind())
    file.write_text(f'{{\n "platform": {head},\n "cases": {{\n' + ",\n".join(lines) + "\n }\n}\n")


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def run_cases(names: Sequence[str], jobs: int) -> Iterator[tuple[str, Values | None, str, float]]:
    """The cases as they end."""
    if jobs <= 1:
        yield from map(run_case, names)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(run_case, names)


def main() -> int:
    """Record or compare; 1 when something differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--record", nargs="?", const=GOLDEN, type=Path, metavar="FILE", help="write the figures")
    parser.add_argument("--compare", nargs="?", const=GOLDEN, type=Path, metavar="FILE", help="compare with a file")
    parser.add_argument("--only", default="", metavar="WORD", help="cases whose name contains this")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the cases")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="relative to max(1, |x|)")
    parser.add_argument("--json", action="store_true", help="print one JSON object of counts")
    arguments = parser.parse_args()
    names = [name for name in CASES if arguments.only in name]
    if arguments.list:
        print("\n".join(names))
        return 0
    file = arguments.record or arguments.compare or GOLDEN
    before = read_golden(file)["cases"]
    counts = dict.fromkeys(("identical", "equal", "different", "missing", "skipped", "recorded"), 0)
    told: list[str] = []
    new: dict[str, Values] = {}
    started = time.perf_counter()
    for number, (name, found, why, seconds) in enumerate(run_cases(names, arguments.jobs), start=1):
        remark = ""
        if found is None:
            verdict, remark = "skipped", why
        elif arguments.record:
            verdict, new[name] = "recorded", found
            remark = f"raised {found['raised']}" if "raised" in found else ""
        elif name not in before:
            verdict = "missing"
            told.append(f"missing: {name}: not in {file.name}")
        else:
            verdict, remark = compare_case(before[name], found, arguments.tolerance)
            if verdict == "different":
                told.append(f"different: {name}: {remark}")
        counts[verdict] += 1
        print(
            f"[{number}/{len(names)}] {name} {seconds:.2f} s {verdict} {remark}".rstrip(), file=sys.stderr, flush=True
        )
    gone = [] if arguments.record else [name for name in before if arguments.only in name and name not in CASES]
    counts["missing"] += len(gone)
    told += [f"missing: {name}: no such case any more" for name in gone]
    if arguments.record:
        others = {name: values for name, values in before.items() if name in CASES and name not in names}
        write_golden(file, others | new)
    if arguments.json:
        print(json.dumps({"golden." + key: count for key, count in counts.items()}, indent=2))
    else:
        print("\n".join(told) + "\n" if told else "", end="")
        summary = ", ".join(f"{count} {key}" for key, count in counts.items() if count)
        print(f"{summary or 'nothing'}; {time.perf_counter() - started:.0f} s")
    return 1 if counts["different"] or counts["missing"] else 0


# what results are made of


def number(value: float | None) -> float:
    """A figure, or not a number where it was not measured."""
    return float("nan") if value is None else float(value)


def of_motion(motion: Motion, name: str = "", *, positions: bool = True) -> Values:
    """A motion's arrays and, unless they are not wanted, where its joints are."""
    found: Values = {f"{name}root": motion.root, f"{name}rotations": motion.rotations}
    if positions:
        found[f"{name}positions"] = Kinematics(motion).positions
    return found | ({} if motion.offsets is None else {f"{name}offsets": motion.offsets})


def of_quality(quality: Quality | None) -> list[float]:
    """The figures of a measurement, one after another."""
    if quality is None:
        return []
    names = (
        "mean_drift", "share_under_1mm", "share_under_2mm", "share_under_5mm", "timing_error", "lost_plants",
        "skate_speed", "skate_speed_max", "penetration_worst", "penetration_mean", "jerk_ratio",
        "peak_acceleration_ratio", "limit_violations", "limit_worst",
    )  # fmt: skip
    found = [number(getattr(quality, name)) for name in names]
    smooth = quality.smoothness
    found += [number(x) for x in (smooth.jerk, smooth.peak_acceleration, smooth.joint_jerk_rms, smooth.joint_jerk_p95)]
    away = quality.deviation
    if away is not None:
        found += [number(x) for x in (away.mean, away.worst, away.free_mean, away.free_worst)]
    told = quality.published
    found += [
        number(x)
        for x in (
            told.foot_skate_ratio, told.foot_skate_ratio_gmd, told.skating_frames, told.sliding_duration,
            told.penetration_duration, told.penetration_depth, told.contact_preservation,
        )
    ]  # fmt: skip
    for plant in quality.plants:
        found += [plant.start, plant.end, plant.drift, plant.height_band, plant.skate_speed]
    return found


def of_solution(solution: Solution) -> Values:
    """The motion, the status and what the report says in numbers."""
    report = solution.report
    told: list[float] = []
    for entry in report.constraints:
        told += [entry.frames, entry.worst, entry.mean, number(entry.worst_frame), entry.hard, entry.met]
    told += [level.worst for level in report.levels]
    return {
        "status": solution.status.name,
        **of_motion(solution.motion, positions=solution.motion.offsets is not None),
        "report": told,
        "quality": of_quality(report.before) + of_quality(report.after),
    }


def of_contacts(contacts: Contacts) -> Values:
    """The plants: when, where, of which point, and the ground below them."""
    rows = [[contacts.points.index(p.point), p.start, p.end, *p.place.tolist()] for p in contacts.plants]
    grid = np.stack(np.meshgrid(np.linspace(-2.0, 2.0, 9), np.linspace(-2.0, 6.0, 17)), axis=-1)
    return {"plants": np.array(rows, float), "ground": contacts.ground.height(grid), "noise": contacts.noise}


def of_ik(solution: IkSolution) -> Values:
    """The poses of an inverse kinematics, which were reached and what is left."""
    return {**of_motion(solution.motion, positions=False), "reached": solution.reached, "error": solution.error}


def of_character(character: Character) -> Values:
    """A figure: its tree, roles, contact points, masses and limits."""
    skeleton, roles = character.skeleton, character.roles
    found: Values = {
        "joints": len(skeleton),
        "parents": skeleton.parents,
        "offsets": skeleton.offsets,
        "rest": skeleton.rest,
        "ends": skeleton.end_offsets,
        "height": float(character.height),
    }
    if roles is not None:
        found["roles"] = [joint for role in sorted(roles.joints) for joint in (*roles.joints[role], -1)]
        found["confidence"] = [roles.confidence[role] for role in sorted(roles.joints)]
    if character.contacts:
        points = [character.contacts[name] for name in sorted(character.contacts)]
        found["contacts"] = [[point.joint, *point.offset] for point in points]
    if character.masses is not None:
        found["masses"] = character.masses
    if character.limits is not None:
        found["limits"] = np.stack([character.limits.lower, character.limits.upper])
    if character.skin is not None:
        found["skin"] = character.skin.vertices
        found["weights"] = character.skin.weights
    return found


# material


@cache
def clip(name: str, fps: float = 60.0, first: int = 0, last: int | None = None) -> Clip:
    """A sample at a frame rate, or frames of it."""
    whole = load(f"sample:{name}")
    motion = whole.motion if fps == whole.motion.fps else whole.motion.resample(fps)
    return replace(whole, motion=motion[first:last])


@cache
def who(name: str) -> Character:
    """A sample character."""
    return load_character(f"sample:{name}")


def shared(name: str) -> Path:
    """A file of the shared data."""
    file = SHARED / name
    if not file.exists():
        raise Absent(f"no ../shared/data/{name}")
    return file


def shared_clip(name: str, frames: int | None = None, **options: Any) -> Clip:
    """A clip of the shared data, or its first frames."""
    found = load(shared(name), **options)
    return found if frames is None else replace(found, motion=found.motion[:frames])


def damaged(source: Clip, kind: str) -> Clip:
    """A clip made worse in a known way."""
    motion, seconds = source.motion, np.arange(len(source.motion)) / source.motion.fps
    if kind in ("drifting", "everything"):
        motion = replace(motion, root=motion.root + seconds[:, None] * [0.15, 0.0, 0.1])
    if kind in ("floating", "everything"):
        motion = replace(motion, root=motion.root + [0.0, 0.04, 0.0])
    if kind == "sunk":
        motion = replace(motion, root=motion.root - [0.0, 0.04, 0.0])
    if kind in ("swaying", "everything"):
        angle = 2.0 * np.pi * seconds / 1.1
        sway = 0.03 * np.stack([np.sin(angle), 0.0 * angle, np.cos(angle / 1.3)], axis=1)
        motion = replace(motion, root=motion.root + sway)
    if kind in ("shaking", "everything"):
        turns = exp(np.radians(0.5) * noise(*motion.rotations.shape[:2], 3, seed=5))
        motion = replace(motion, rotations=unit(multiply(motion.rotations, turns)))
    return replace(source, motion=motion)


def reach(source: Clip, point: str = "left_palm", by: ArrayLike = (0.1, 0.3, 0.1), middle: int = 60) -> Position:
    """A hand that is somewhere else for a few frames."""
    where = source.character.contacts[point]
    target = Kinematics(source.motion).point(where)[middle] + np.asarray(by)
    return Position(point=where, target=target, frames=range(middle - 4, middle + 5), ramp=(0.3, 0.3), name="reach")


# retargeting


@case(
    ("walk", "sally"), ("walk", "blubby"), ("walk", "mannequin"), ("run", "short"), ("limp", "longlegs"),
    ("turn-left", "child"), ("jump", "sally"), ("kick", "blubby"), ("clap", "blubby"), ("waist", "sally"),
    ("reach", "child"), ("climb", "longlegs"), ("sneak", "short"), ("punch", "sally"), ("stop", "child"),
)  # fmt: skip
def retarget_sample(name: str, figure: str) -> Values:
    return of_solution(retarget(clip(name), who(figure)))


@case(("walk", "sally"), ("run", "short"))
def retarget_keep_footsteps(name: str, figure: str) -> Values:
    return of_solution(retarget(clip(name), who(figure), keep_footsteps=True))


@case(("hierarchical",), ("spacetime",), ("filtered",), ("perframe",), ("perkey",), ("warping",))
def retarget_method(method: str) -> Values:
    return of_solution(retarget(clip("walk", 30.0), who("sally"), method=method_of(method)))


@case(("hierarchical",), ("filtered",), ("spacetime",))
def retarget_inexact(method: str) -> Values:
    return of_solution(retarget(clip("turn-right", 30.0), who("child"), method=method_of(method, exact=False)))


@case()
def retarget_copied() -> Values:
    return of_solution(retarget(clip("walk"), who("blubby"), copy=True))


@case()
def retarget_constrained() -> Values:
    source, target = clip("walk"), who("sally")
    palm = target.contacts["right_palm"]
    asked = Position(point=palm, target=(-0.3, 1.3, 1.6), frames=range(100, 110), ramp=(0.3, 0.3))
    return of_solution(retarget(source, target, constraints=[asked]))


def feet_on_the_root(character: Character) -> Character:
    """The figure with feet that are children of the root, as some rigs have them."""
    skeleton, roles = character.skeleton, character.require_roles()
    places, turned = skeleton.rest_world
    parents, offsets, rest = skeleton.parents.copy(), np.array(skeleton.offsets), np.array(skeleton.rest)
    for foot in (roles["left_foot"], roles["right_foot"]):
        parents[foot] = 0
        offsets[foot] = rotate(inverse(turned[0]), places[foot] - places[0])
        rest[foot] = multiply(inverse(turned[0]), turned[foot])
    return replace(character, skeleton=replace(skeleton, parents=parents, offsets=offsets, rest=rest))


@case()
def attached_retarget() -> Values:
    return of_solution(retarget(clip("walk", last=130), feet_on_the_root(who("sally"))))


@case()
def attached_terrain() -> Values:
    return of_solution(terrain(clip("walk", last=130), slope(8.0), target=feet_on_the_root(who("sally"))))


@case()
def attached_puppet() -> Values:
    return of_solution(puppet(clip("walk", last=130), feet_on_the_root(who("child"))))


@case(
    ("bvh/cmu/02_01.bvh", "sally"), ("bvh/other/mocopi_jump.bvh", "child"),
    ("smpl_npz/video_kick_level1_filter_amass.npz", "blubby"), ("bvh/bandai_nc/dataset-1_run_giant_001.bvh", "short"),
    ("deepmimic/humanoid3d_crawl.txt", "sally"), ("bvh/other/makehuman_zombieWalk1.bvh", "longlegs"),
)  # fmt: skip
def retarget_file(name: str, figure: str) -> Values:
    return of_solution(retarget(shared_clip(name, 240), who(figure)))


@case(("vrm/Godette_vrm0.vrm",), ("gltf/godot_mannequiny.glb",), ("fbx/Warrior.fbx",), ("bvh/cmu/35_01.bvh",))
def retarget_to_file(name: str) -> Values:
    return of_solution(retarget(clip("walk"), load_character(shared(name))))


@case(("walk", "blubby"), ("clap", "child"))
def transferred(name: str, figure: str) -> Values:
    source = clip(name)
    return of_motion(transfer(source.motion, source.character, who(figure)))


# repairing


@case(
    ("walk", "drifting"), ("walk", "everything"), ("run", "swaying"), ("kick", "floating"), ("turn-left", "shaking"),
    ("jump", "sunk"), ("stand", "drifting"),
)  # fmt: skip
def repair_sample(name: str, kind: str) -> Values:
    return of_solution(repair(damaged(clip(name), kind)))


@case()
def repair_options() -> Values:
    return of_solution(repair(damaged(clip("walk"), "floating"), ground=0.0, slide=0.5, first_frame="keep"))


@case(("bvh/cmu/16_01.bvh",), ("smpl_npz/video_squat_level1_filter_amass.npz",), ("bvh/other/fair1_zombie.bvh",))
def repair_file(name: str) -> Values:
    return of_solution(repair(shared_clip(name, 240)))


# grounds


GROUNDS: dict[str, Callable[[], Any]] = {
    "rough": lambda: rough(3, 0.35, 1.4, (-3.0, -3.0), (3.0, 10.0)),
    "up": lambda: slope(12.0),
    "across": lambda: slope(12.0, np.pi / 2),
    "stairs": lambda: Stairs(0.17, 0.6, 6, (0.0, 1.2)),
    "stairs down": lambda: Stairs(-0.17, 0.29, 12, (0.0, 1.2)),
}


@case(*((name,) for name in GROUNDS))
def terrain_sample(name: str) -> Values:
    return of_solution(terrain(clip("walk", 30.0), GROUNDS[name]()))


@case(("sally",), ("short",))
def terrain_target(figure: str) -> Values:
    return of_solution(terrain(clip("run", 30.0), GROUNDS["rough"](), target=who(figure)))


@case()
def terrain_doorway() -> Values:
    source, ground = clip("walk", 30.0), GROUNDS["rough"]()
    beam = doorway_on_path(source.motion, source.character, 2.5, 1.5, ground)
    solution = terrain(source, ground, [beam])
    return {**of_solution(solution), "headroom": headroom(solution.motion, source.character, [beam])}


@case()
def ground_following() -> Values:
    source = clip("walk", 30.0)
    return of_motion(follow_ground(source.motion, source.character, GROUNDS["rough"]()))


@case(("rough",), ("stairs",))
def ground_shape(name: str) -> Values:
    ground, places = GROUNDS[name](), 3.0 * noise(400, 2)
    return {"height": ground.height(places), "normal": ground.normal(places)}


@case()
def solid_shapes() -> Values:
    points, found = 2.0 * noise(300, 3), {}
    solids = {
        "plane": Plane((0.0, 0.1, 0.0), (0.1, 1.0, 0.2)),
        "ball": Ball((0.1, 0.5, 0.2), 0.7),
        "capsule": Capsule((0.0, 0.0, 0.0), (0.3, 1.0, 0.2), 0.3),
        "box": Box((0.2, 0.4, 0.0), (0.3, 0.5, 0.7), tuple(unit(np.array([1.0, 0.2, 0.3, -0.1])).tolist())),
        "field": HeightField(0.2 * noise(9, 9), 0.5, (-2.0, -2.0)),
    }
    for name, solid in solids.items():
        found |= {f"{name} distance": solid.distance(points), f"{name} closest": solid.closest(points)}
    return found


# paths


@case(("circle", "keep", "middle"), ("s", "arc", "begin"), ("through", "keep", "end"), ("line", "arc", "middle"))
def path_sample(curve: str, timing: Any, plant_at: Any) -> Values:
    curves = {
        "circle": lambda: circle(1.5),
        "s": lambda: s_curve(length=5.0, width=1.5),
        "through": lambda: through([(0, 0), (0, 2), (2, 4)]),
        "line": lambda: line(4.0),
    }
    asked = curves[curve]()
    return of_solution(path(clip("walk", 30.0), asked, from_start=True, timing=timing, plant_at=plant_at))


@case(("spacetime",), ("filtered",), ("perframe",), ("perkey",))
def path_method(method: str) -> Values:
    return of_solution(path(clip("run", 30.0), circle(-2.5), from_start=True, method=method))


@case(("bvh/cmu/35_01.bvh",))
def path_file(name: str) -> Values:
    return of_solution(path(shared_clip(name, 300), s_curve(length=4.0, width=1.0), from_start=True))


# bodies that change


@case(("sally",), ("longlegs", "child"), ("sally", "blubby"))
def morph_sample(*figures: str) -> Values:
    return of_solution(morph(clip("walk", 30.0), [who(name) for name in figures], scale_footsteps="blubby" in figures))


@case(("clap",))
def morph_action(name: str) -> Values:
    return of_solution(morph(clip(name, 30.0), [who("sally")]))


@case(*((name,) for name in ("mannequin", "short", "sally", "blubby", "longlegs", "child")))
def character_sample(name: str) -> Values:
    return of_character(who(name))


@case()
def character_proportions() -> Values:
    return of_character(apply_proportions(who("mannequin"), legs=1.2, arms=0.8, girth=1.1, feet=1.3, neck=0.9))


# fitting to constraints


def part() -> Clip:
    """A second and a half of the walk."""
    return clip("walk", 60.0, 50, 150)


def asked_of(source: Clip, kind: str) -> list[Constraint]:
    """Constraints of a kind that ask for something the clip does not do."""
    character, kinematics = source.character, Kinematics(source.motion)
    contacts, roles = character.contacts, character.require_roles()
    left, right, heel = contacts["left_palm"], contacts["right_palm"], contacts["left_heel"]
    held: dict[str, Any] = {"frames": range(40, 60), "ramp": (0.25, 0.25)}
    head, hand = roles["head"], roles["left_hand"]
    at = kinematics.point
    turned = multiply(exp([0.3, 0.1, 0.0]), kinematics.rotations[50, hand])
    knee = roles["right_lower_leg"]
    made: dict[str, Callable[[], list[Constraint]]] = {
        "position": lambda: [reach(source)],
        "path": lambda: [Position(point=left, target=at(left)[40:60] + [0.0, 0.2, 0.1], **held)],
        "height": lambda: [Position(point=right, target=(0.0, 1.3, 0.0), axes=(0.0, 1.0, 0.0), **held)],
        "follow": lambda: [Position(point=left, target=Follow(right), **held)],
        "orientation": lambda: [Orientation(joint=hand, target=turned, **held)],
        "distance": lambda: [Distance(point=left, other=right, value=0.25, **held)],
        "at least": lambda: [AtLeast(point=left, other=right, value=0.9, **held)],
        "at most": lambda: [AtMost(point=left, other=right, value=0.3, **held)],
        "area": lambda: [Area(point=left, region=Ball(tuple(at(left)[50]), 0.2), **held)],
        "inside": lambda: [
            Area(point=left, region=Box(tuple(at(left)[50] + [0.2, 0.3, 0.0]), (0.1, 0.1, 0.5)), inside=True, **held)
        ],
        "above": lambda: [Above(point=heel, ground=Plane((0.0, 0.05, 0.0)), frames=range(30, 70))],
        "look at": lambda: [LookAt(point=Point(head), direction=(0.0, 0.0, 1.0), target=(2.0, 1.2, 3.0), **held)],
        "center of mass": lambda: [CenterOfMass(character=character, target=at(Point(0))[50] + [0.1, 0, 0], **held)],
        "balance": lambda: [Balance(character=character, frames=range(20, 30))],
        "footplant": lambda: [Footplant(point=heel, place=at(heel)[20] + [0.05, 0.0, 0.05], **held)],
        "free footplant": lambda: [Footplant(point=heel, frames=range(5, 25), ramp=(0.1, 0.1))],
        "joint limits": lambda: [reach(source, by=(0.3, 0.6, 0.3)), JointLimits(character=character)],
        "cone": lambda: [
            ConeTwist(
                character=character, joint=roles["left_upper_arm"], axis=(1.0, 0.0, 0.0), swing=0.8, twist=(-0.4, 0.4),
                **held,
            )
        ],
        "hinge": lambda: [Hinge(character=character, joint=knee, axis=(1.0, 0.0, 0.0), **held)],
        "spine": lambda: [reach(source, by=(0.2, -0.4, 0.5)), *spine_shares(character)],
        "rhythm": lambda: [reach(source, by=(0.2, 0.6, 0.1)), shoulder_rhythm(character, "left")],
        "same place": lambda: [SamePlace(point=left, pair=(20, 70))],
        "speed": lambda: [SpeedLimit(point=left, most=1.2, frames=range(30, 70))],
        "acceleration": lambda: [AccelerationLimit(point=right, most=4.0, frames=range(30, 70))],
    }  # fmt: skip
    return made[kind]()


KINDS = (
    "position", "path", "height", "follow", "orientation", "distance", "at least", "at most", "area", "inside",
    "above", "look at", "center of mass", "balance", "footplant", "free footplant", "joint limits", "cone", "hinge",
    "spine", "rhythm", "same place", "speed", "acceleration",
)  # fmt: skip
ACROSS = ("same place", "speed", "acceleration")


@case()
def constraint_residuals() -> Values:
    source, found = part(), {}
    kinematics = Kinematics(source.motion)
    for kind in KINDS:
        asked = asked_of(source, kind)
        found[kind] = np.concatenate([one.residual(kinematics).ravel() for one in asked])
    return found


@case()
def constraint_jacobians() -> Values:
    source, found = part(), {}
    kinematics = Kinematics(source.motion)
    for kind in KINDS:
        found[kind] = np.concatenate([one.jacobian(kinematics).ravel() for one in asked_of(source, kind)])
    return found


@case(
    ("position",), ("path",), ("height",), ("orientation",), ("distance",), ("at least",), ("area",), ("above",),
    ("look at",), ("footplant",), ("free footplant",), ("joint limits",),
)  # fmt: skip
def fit_kind(kind: str) -> Values:
    source = part()
    return of_solution(fit(source, asked_of(source, kind)))


@case(("spacetime",), ("filtered",), ("perframe",), ("perkey",), ("warping",))
def fit_method(method: str) -> Values:
    source = part()
    return of_solution(fit(source, asked_of(source, "position"), method=method))


@case(("same place",), ("speed",), ("acceleration",), ("free footplant",), ("center of mass",))
def fit_spacetime(kind: str) -> Values:
    source = clip("walk", 30.0, 25, 75)
    held = {"pair": (10, 35)} if kind == "same place" else {"frames": range(15, 35)}
    asked = [replace(one, **held) for one in asked_of(part(), kind)]
    return of_solution(fit(source, asked, method="spacetime"))


@case(("hybrid",), ("numeric",))
def fit_ik(ik: Any) -> Values:
    source = part()
    return of_solution(fit(source, [reach(source), reach(source, "right_palm", (0.0, 0.2, 0.2))], ik=ik))


@case()
def fit_without_plants() -> Values:
    source = part()
    return of_solution(fit(source, [reach(source, by=(0.0, -0.5, 0.8))], keep_plants=False, exact=False))


@case()
def fit_unreachable() -> Values:
    source = part()
    return of_solution(fit(source, [reach(source, by=(0.0, 3.0, 0.0))]))


# inverse kinematics of single poses


def ends_asked(source: Clip) -> list[Constraint]:
    """A place for every end, and a turn."""
    kinematics, asked = Kinematics(source.motion), []
    for number, name in enumerate(("left_hand", "right_hand", "left_foot", "right_foot")):
        joint = source.character.require_roles()[name]
        shift = 0.12 * noise(3, seed=20 + number)
        shift[1] = abs(shift[1])
        turn = multiply(exp(0.2 * noise(3, seed=30 + number)), kinematics.rotations[:, joint])
        asked += [
            Position(point=Point(joint), target=kinematics.positions[:, joint] + shift),
            Orientation(joint=joint, target=turn),
        ]
    return asked


@case()
def ik_hybrid() -> Values:
    source = part()
    return of_ik(Hybrid(source.character).solve(source.motion, ends_asked(source)))


@case()
def ik_hybrid_trunk() -> Values:
    source = part()
    head = Point(source.character.require_roles()["head"])
    low = Kinematics(source.motion).point(head)[40:60] - [0.1, 0.15, 0.0]
    asked = [reach(source, by=(0.2, -0.4, 0.6)), Position(point=head, target=low, frames=range(40, 60))]
    return of_ik(Hybrid(source.character, rigidity={"spine": 0.5}).solve(source.motion, asked))


@case()
def ik_numeric() -> Values:
    source = part()
    return of_ik(Numeric().solve(source.motion, ends_asked(source)))


@case(("orientation",), ("at most",), ("inside",), ("balance",), ("cone",), ("hinge",), ("joint limits",), ("rhythm",))
def ik_numeric_kind(kind: str) -> Values:
    source = clip("walk", 30.0, 25, 75)
    asked = [one if one.frames is None else replace(one, frames=range(20, 30)) for one in asked_of(part(), kind)]
    asked = [replace(one, target=(0.3, 1.2, 1.5)) if isinstance(one, Position) else one for one in asked]
    return of_ik(Numeric(iterations=20).solve(source.motion, asked))


@case()
def ik_groupccd() -> Values:
    source = part()
    return of_ik(GroupCcd(source.character).solve(source.motion, ends_asked(source)))


@case(("balance",), ("center of mass",), ("orientation",), ("area",), ("distance",), ("at least",), ("above",))
def ik_groupccd_kind(kind: str) -> Values:
    source = part()
    asked = [replace(one, priority=number) for number, one in enumerate([reach(source), *asked_of(source, kind)])]
    return of_ik(GroupCcd(source.character).solve(source.motion, asked))


@case()
def ik_limb() -> Values:
    source = part()
    found: Values = {}
    for number, name in enumerate(("left_leg", "right_arm")):
        limb, kinematics = limb_of(source.character, name), Kinematics(source.motion)
        goals = kinematics.positions[:, limb.end] + 0.2 * noise(len(source.motion), 3, seed=40 + number)
        for softness in (0.0, 0.02):
            solved = place(source.motion, limb, goals, swivel=0.1, softness=softness)
            found |= {
                f"{name} {softness} rotations": solved.motion.rotations,
                f"{name} {softness} residual": solved.residual,
                f"{name} {softness} flexion": solved.flexion,
                f"{name} {softness} status": solved.status,
            }
    return found


@case(("walk", "blubby"), ("clap", "sally"), ("reach", "child"), ("climb", "longlegs"))
def ik_puppet(name: str, figure: str) -> Values:
    source = clip(name)
    played = PuppetEngine(source.character, who(figure)).play(source.motion)
    found = {"scene": played.scene, "body": played.body, "hands": played.hands, "iterations": played.iterations}
    return {**of_motion(played.motion), **found, "haste": float(played.peak_acceleration)}


@case(("hybrid",), ("numeric",), ("groupccd",))
def perframe_ik(ik: str) -> Values:
    source = clip("walk", 30.0, 25, 75)
    made = {
        "hybrid": lambda: Hybrid(source.character),
        "numeric": Numeric,
        "groupccd": lambda: GroupCcd(source.character),
    }
    problem = Problem(source.motion, source.character, tuple(ends_asked(source)[::2]))
    return of_solution(method_of("perframe", ik=made[ik]()).solve(problem))


@case(("numeric",), ("hybrid",))
def hierarchical_ik(ik: str) -> Values:
    source = clip("walk", 30.0, 25, 75)
    made = {"hybrid": lambda: Hybrid(source.character), "numeric": Numeric}
    problem = Problem(source.motion, source.character, (reach(source, middle=25),))
    return of_solution(method_of("hierarchical", ik=made[ik]()).solve(problem))


if __name__ == "__main__":
    sys.exit(main())
