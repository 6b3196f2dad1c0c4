"""Golden figures of the whole package: a regression net for refactorings that must not change any result.

`python benchmarks/golden.py --record` runs every case and writes its figures to golden.json. `--compare` (the default)
runs the cases again, reports which are identical to the bit, which are equal within the tolerance and which differ,
and exits with 1 on any difference. `--only retarget` selects the cases whose name contains a word, `--jobs 2` runs them
in two processes.

A case returns arrays, numbers and words. For an array the file keeps a hash of its bytes, the shape, the mean, standard
deviation, minimum and maximum, and eight projections onto fixed pseudo-random weights. Nothing in the file depends on
the clock, on the wording of messages or on the NumPy version. A case that needs a file of ../shared/data or an extra
that is not installed is skipped, with the reason.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import struct
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache, partial
from io import StringIO
from multiprocessing import get_context
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    # read when the libraries are imported; several threads may sum in another order
    for _variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[_variable] = "1"

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.batch.dataset import pack
from footplant.batch.jobs import Task, perform
from footplant.blending.blend import WeightCurve, blend, parameters, weights_for
from footplant.blending.graph import build_graph
from footplant.blending.loops import cut_loop, find_loop
from footplant.blending.matching import match
from footplant.blending.registration import Registration, register
from footplant.blending.transition import transition
from footplant.cli import main as run_command
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
from footplant.contacts.detection import Contacts, find_contacts
from footplant.contacts.importance import PerformanceScene, SceneObject, importances
from footplant.curves import circle, line, s_curve, through
from footplant.edits.compare import Comparison, compare
from footplant.edits.drag import Manipulation, begin
from footplant.edits.fit import fit
from footplant.edits.merge import merge_clips
from footplant.edits.morph import morph
from footplant.edits.morphology_independent import plants_of, share
from footplant.edits.path import bend
from footplant.edits.puppet import puppet
from footplant.edits.repair import repair
from footplant.edits.retarget import retarget
from footplant.edits.terrain import terrain
from footplant.errors import MissingExtraError
from footplant.geometry import Ball, Box, Capsule, HeightField, Plane
from footplant.grounds import Stairs, rough, slope
from footplant.humanoid import apply_proportions
from footplant.io import load, load_character, load_markers, save, save_markers
from footplant.io.constraint_files import read_constraints, write_constraints
from footplant.kinematics import Kinematics
from footplant.live.controller import Controller, build_controller
from footplant.live.crowd import Crowd
from footplant.live.crowd_reader import scene_from_data
from footplant.live.faults import Faults, with_noise
from footplant.live.kalman import SensorFilter
from footplant.live.motion_set import load_set
from footplant.live.protocols.natnet import NatNetFrame
from footplant.live.protocols.natnet import decode as decode_natnet
from footplant.live.protocols.recording import Recorder
from footplant.live.protocols.recording import read as read_recording
from footplant.live.protocols.sample import PoseSample
from footplant.live.protocols.xsens import PLAN as XSENS
from footplant.live.protocols.xsens import encode as encode_xsens
from footplant.live.puppeteer import PerformerFrame, Puppeteer
from footplant.live.script import drive
from footplant.markers import Markers
from footplant.motion import Motion, concatenate
from footplant.normalized import convert, normalize, scale
from footplant.optical.marker_sets import LANDMARKS, recognise
from footplant.optical.solve import solve_markers
from footplant.problem import IkSolution, Problem, Solution
from footplant.quality.measure import Quality, measure
from footplant.result import Result as EditResult
from footplant.rotation import (
    exp,
    from_matrix,
    inverse,
    log,
    multiply,
    rotate,
    slerp,
    swing_twist,
    to_matrix,
    unroll,
)
from footplant.rotation import normalize as unit
from footplant.samples import ground_truth, scene_text
from footplant.skeleton import Character, Point
from footplant.skinning import dual_quaternion, dual_quaternion_normals, linear_blend, linear_blend_normals
from footplant.solve.ik.groupccd import GroupCcd
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.ik.limb import limb_of, place
from footplant.solve.ik.numeric import Numeric
from footplant.solve.ik.puppet import PuppetEngine
from footplant.solve.methods import method_of
from footplant.spline import filter_fir, fit_multilevel, fit_spline, smooth_envelope
from footplant.transfer import transfer

FOLDER = Path(__file__).resolve().parent
GOLDEN = FOLDER / "golden.json"
SHARED = FOLDER.parents[1] / "shared" / "data"
TOLERANCE = 1e-9
"""Largest change of a figure x that counts as equal, relative to max(1, |x|)."""
PROJECTIONS = 8

Values = dict[str, Any]
"""Result of a case: name → array, number, string, bool or bytes."""
Case = Callable[[], Values]
Result = tuple[str, Values | None, str, float]
"""What `run_case` returns."""

CASES: dict[str, Case] = {}


class Absent(Exception):
    """Raised by a case whose input file is absent."""


def case(*given: tuple[Any, ...]) -> Callable[[Callable[..., Values]], Callable[..., Values]]:
    """Register a function as a case, or as one case for each tuple of arguments."""

    def register_cases(function: Callable[..., Values]) -> Callable[..., Values]:
        for values in given or ((),):
            name = "/".join([function.__name__, *(str(value).replace("/", "-") for value in values)])
            assert name not in CASES, name
            CASES[name] = partial(function, *values)
        return function

    return register_cases


# figures


def uniform(count: int, seed: int) -> NDArray:
    """Return (count,) pseudo-random numbers in −1 … 1 by SplitMix64, equal on every platform and NumPy version."""
    with np.errstate(over="ignore"):
        state = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return (state >> np.uint64(11)).astype(float) * 2.0**-52 - 1.0


def noise(*shape: int, seed: int = 1) -> NDArray:
    """Return pseudo-random numbers in −1 … 1 of a shape."""
    return uniform(int(np.prod(shape)), seed).reshape(shape)


def figures(array: ArrayLike) -> list[Any]:
    """Return [hash, shape, [non-finite count, mean, standard deviation, minimum, maximum, projections …]] of an array.

    Numbers are rounded to twelve digits: the hash tells identical arrays, and the tolerance is far coarser.
    """
    array = np.ascontiguousarray(array)
    digest = hashlib.sha256(array.tobytes()).hexdigest()[:12]
    values = array.astype(float).ravel()
    finite = np.isfinite(values)
    values = np.where(finite, values, 0.0)
    if not values.size:
        return [digest, list(array.shape), [0.0] * (5 + PROJECTIONS)]
    projected = [
        float(np.sum(uniform(values.size, seed) * values)) / values.size**0.5 for seed in range(1, PROJECTIONS + 1)
    ]
    plain = [float((~finite).sum()), values.mean(), values.std(), values.min(), values.max()]
    return [digest, list(array.shape), [float(f"{value:.12g}") for value in plain + projected]]


def kept(values: Values) -> Values:
    """Return the JSON-ready figures of a case."""
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


def is_absence(error: Exception) -> bool:
    """Return whether an exception says that a file or an extra is absent, rather than a module of the package."""
    broken = isinstance(error.__cause__, ImportError) and (error.__cause__.name or "").startswith("footplant")
    return isinstance(error, Absent | MissingExtraError) and not broken


def run_case(name: str) -> Result:
    """Run a case: (name, figures or None if skipped, what was raised, CPU seconds).

    An exception is kept by its class name.
    """
    started = time.process_time()
    found: Values | None = None
    why = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = kept(CASES[name]())
        except Exception as error:
            why = f"{type(error).__name__}: {' '.join(str(error).split())}"
            if not is_absence(error):
                found = {"raised": type(error).__name__}
    return name, found, why, time.process_time() - started


# comparing


def difference(before: Any, now: Any, tolerance: float) -> tuple[str, float]:
    """Compare one entry of a case: ("identical", "equal" or "different", relative change)."""
    if isinstance(before, list) and isinstance(now, list):
        if before[:2] == now[:2]:
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
    """Compare one case: ("identical", "equal" or "different", which entries differ and by how much)."""
    if "raised" in now and "raised" not in before:
        return "different", f"raised {now['raised']}"
    worst, told = "identical", []
    for name in [*before, *(name for name in now if name not in before)]:
        if name not in before or name not in now:
            worst = "different"
            told.append(f"{name} {'is new' if name in now else 'is gone'}")
            continue
        verdict, away = difference(before[name], now[name], tolerance)
        if verdict == "different":
            worst = verdict
            told.append(f"{name} {_change(before[name], now[name], away)}")
        elif verdict == "equal" and worst == "identical":
            worst = verdict
    return worst, "; ".join(told)


def _change(before: Any, now: Any, away: float) -> str:
    if isinstance(before, list) and isinstance(now, list):
        return f"by {away:.2g}" if before[1] == now[1] else f"of shape {before[1]}, now {now[1]}"
    return f"was {before}, now {now}"


def platform_kind() -> dict[str, str]:
    """Return the versions and the kind of machine that figures may depend on."""
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
    """Read a file of figures; an absent file holds no cases."""
    return json.loads(file.read_text()) if file.exists() else {"platform": {}, "cases": {}}


def write_golden(file: Path, cases: dict[str, Values]) -> None:
    """Write the figures, one entry a line, so that a diff names the entries that changed."""
    lines = []
    for name in sorted(cases):
        entries = ",\n".join(f"   {json.dumps(key)}: {_compact(value)}" for key, value in cases[name].items())
        lines.append(f"  {json.dumps(name)}: {{\n{entries}\n  }}")
    head = json.dumps(platform_kind())
    file.write_text(f'{{\n "platform": {head},\n "cases": {{\n' + ",\n".join(lines) + "\n }\n}\n")


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def run_cases(names: Sequence[str], jobs: int) -> Iterator[Result]:
    """Yield the result of every case, in order. With several jobs the run outlives a case that crashes its process."""
    if jobs <= 1:
        yield from map(run_case, names)
        return
    waiting = list(names)
    while waiting:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            try:
                for result in pool.map(run_case, list(waiting)):
                    waiting.pop(0)
                    yield result
            except BrokenProcessPool:
                # the crash may be of this case or of one that ran beside it
                yield run_alone(waiting.pop(0))


def run_alone(name: str) -> Result:
    """Run a case in a process of its own; a crash counts as an exception."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(run_case, name).result()
        except BrokenProcessPool:
            return name, {"raised": BrokenProcessPool.__name__}, "its process crashed", 0.0


def main() -> int:
    """Record or compare; return 1 if anything differs."""
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
            verdict, new[name], remark = "recorded", found, why
        elif name not in before:
            verdict = "missing"
            told.append(f"missing: {name}: not in {file.name}")
        else:
            verdict, remark = compare_case(before[name], found, arguments.tolerance)
            if verdict == "different":
                remark = f"{remark} ({why})" if why else remark
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


# figures of the package's result types


def number(value: float | None) -> float:
    """Return a number, NaN for None."""
    return float("nan") if value is None else float(value)


def of_motion(motion: Motion, name: str = "", *, positions: bool = True) -> Values:
    """Return a motion's arrays and, on request, its joint positions."""
    found: Values = {f"{name}root": motion.root, f"{name}rotations": motion.rotations}
    if positions:
        found[f"{name}positions"] = Kinematics(motion).positions
    return found | ({} if motion.offsets is None else {f"{name}offsets": motion.offsets})


def of_quality(quality: Quality | None) -> list[float]:
    """Return the numbers of a quality report as one list."""
    if quality is None:
        return []
    q, smooth, told = quality, quality.smoothness, quality.published
    numbers: list[float | None] = [
        q.mean_drift, q.share_under_1mm, q.share_under_2mm, q.share_under_5mm, q.timing_error, q.lost_plants,
        q.skate_speed, q.skate_speed_max, q.penetration_worst, q.penetration_mean, q.jerk_ratio,
        q.peak_acceleration_ratio, q.limit_violations, q.limit_worst,
        smooth.jerk, smooth.peak_acceleration, smooth.joint_jerk_rms, smooth.joint_jerk_p95,
        told.foot_skate_ratio, told.foot_skate_ratio_gmd, told.skating_frames, told.sliding_duration,
        told.penetration_duration, told.penetration_depth, told.contact_preservation,
    ]  # fmt: skip
    away = quality.deviation
    if away is not None:
        numbers += [away.mean, away.worst, away.free_mean, away.free_worst]
    for plant in quality.plants:
        numbers += [plant.start, plant.end, plant.drift, plant.height_band, plant.skate_speed]
    return [number(value) for value in numbers]


def of_solution(solution: Solution) -> Values:
    """Return the motion, the status and the numbers of the report."""
    report = solution.report
    told: list[float] = []
    for entry in report.constraints:
        told += [entry.frames, entry.worst, entry.mean, entry.hard, entry.met]
    told += [level.worst for level in report.levels]
    return {
        "status": solution.status.name,
        **of_motion(solution.motion, positions=solution.motion.offsets is not None),
        "report": told + of_quality(report.before) + of_quality(report.after),
    }


def of_contacts(contacts: Contacts) -> Values:
    """Return the footplants (point, start, end, place), the ground heights and the noise estimate."""
    rows = [[contacts.points.index(p.point), p.start, p.end, *p.place.tolist()] for p in contacts.plants]
    grid = np.stack(np.meshgrid(np.linspace(-2.0, 2.0, 9), np.linspace(-2.0, 6.0, 17)), axis=-1)
    return {"plants": np.array(rows, float), "ground": contacts.ground.height(grid), "noise": contacts.noise}


def of_ik(solution: IkSolution) -> Values:
    """Return the poses, which goals were reached and the remaining error."""
    return {**of_motion(solution.motion, positions=False), "reached": solution.reached, "error": solution.error}


def of_character(character: Character) -> Values:
    """Return a character's skeleton, roles, contact points, masses, limits and skin."""
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


# inputs


@cache
def clip(name: str, fps: float = 60.0, first: int = 0, last: int | None = None) -> Clip:
    """Return a sample clip, resampled and trimmed."""
    whole = load(f"sample:{name}")
    motion = whole.motion if fps == whole.motion.fps else whole.motion.resample(fps)
    return replace(whole, motion=motion[first:last])


def loop_of(source: Clip) -> Clip:
    """Return one cycle of a clip as a loop."""
    return replace(source, motion=cut_loop(source.motion, source.character, *find_loop(source)))


@cache
def who(name: str) -> Character:
    """Return a sample character."""
    return load_character(f"sample:{name}")


def shared(name: str) -> Path:
    """Return the path of a shared data file; raise `Absent` if it is not there."""
    file = SHARED / name
    if not file.exists():
        raise Absent(f"no ../shared/data/{name}")
    return file


def shared_clip(name: str, frames: int | None = None, **options: Any) -> Clip:
    """Load a clip of the shared data, or its first frames."""
    found = load(shared(name), **options)
    return found if frames is None else replace(found, motion=found.motion[:frames])


def damaged(source: Clip, kind: str) -> Clip:
    """Return a clip with foot skating, floating, ground penetration or jitter added."""
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
    """Return a position constraint that moves a contact point away from where it is for nine frames."""
    where = source.character.contacts[point]
    target = Kinematics(source.motion).point(where)[middle] + np.asarray(by)
    return Position(point=where, target=target, frames=range(middle - 4, middle + 5), ramp=(0.3, 0.3), name="reach")


# retargeting


@case(
    ("walk", "sally"), ("walk", "blubby"), ("walk", "mannequin"), ("run", "short"), ("limp", "longlegs"),
    ("turn-left", "child"), ("jump", "sally"), ("kick", "blubby"), ("clap", "blubby"), ("waist", "sally"),
    ("reach", "child"), ("climb", "longlegs"),
)  # fmt: skip
def retarget_sample(name: str, figure: str) -> Values:
    return of_solution(retarget(clip(name), who(figure)))


@case(("walk", "sally"), ("turn-right", "short"))
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
    return of_solution(retarget(clip("walk"), who("blubby"), method="copy"))


@case()
def retarget_constrained() -> Values:
    source, target = clip("walk"), who("sally")
    palm = target.contacts["right_palm"]
    asked = Position(point=palm, target=(-0.3, 1.3, 1.6), frames=range(100, 110), ramp=(0.3, 0.3))
    return of_solution(retarget(source, target, constraints=[asked]))


def feet_on_the_root(character: Character) -> Character:
    """Return the character with its feet parented to the root, as some rigs have them."""
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


@case(("walk", "blubby"))
def transferred(name: str, figure: str) -> Values:
    source = clip(name)
    return of_motion(transfer(source.motion, source.character, who(figure)))


# foot-skate cleanup


@case(
    ("walk", "drifting"), ("walk", "everything"), ("run", "swaying"), ("kick", "floating"), ("turn-left", "shaking"),
    ("jump", "sunk"), ("sneak", "drifting"),
)  # fmt: skip
def repair_sample(name: str, kind: str) -> Values:
    return of_solution(repair(damaged(clip(name), kind)))


@case()
def repair_options() -> Values:
    return of_solution(repair(damaged(clip("walk"), "floating"), ground=0.0, slide=0.5, lead_in="keep"))


@case(("bvh/cmu/16_01.bvh",), ("smpl_npz/video_squat_level1_filter_amass.npz",), ("bvh/other/fair1_zombie.bvh",))
def repair_file(name: str) -> Values:
    return of_solution(repair(shared_clip(name, 240)))


# terrain


GROUNDS: dict[str, Callable[[], Any]] = {
    "rough": lambda: rough(3, 0.35, 1.4, (-3.0, -3.0), (3.0, 10.0)),
    "up": lambda: slope(12.0),
    "across": lambda: slope(12.0, np.pi / 2),
    "stairs": lambda: Stairs(0.17, 0.6, 6, (0.0, 1.2)),
    "stairs down": lambda: Stairs(-0.12, 0.5, 8, (0.0, 1.0)),
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
        found[name] = np.c_[solid.distance(points), solid.closest(points)]
    return found


# path editing


@case(("circle", "keep", "middle"), ("s", "arc", "begin"), ("through", "keep", "end"), ("line", "arc", "middle"))
def path_sample(curve: str, timing: Any, plant_at: Any) -> Values:
    curves = {
        "circle": lambda: circle(1.5),
        "s": lambda: s_curve(length=5.0, width=1.5),
        "through": lambda: through([(0, 0), (0, 2), (2, 4)]),
        "line": lambda: line(4.0),
    }
    asked = curves[curve]()
    return of_solution(bend(clip("walk", 30.0), asked, from_start=True, timing=timing, plant_at=plant_at))


@case(("spacetime",), ("filtered",), ("perframe",), ("perkey",))
def path_method(method: str) -> Values:
    return of_solution(bend(clip("run", 30.0), circle(-2.5), from_start=True, method=method))


@case(("bvh/cmu/35_01.bvh",))
def path_file(name: str) -> Values:
    return of_solution(bend(shared_clip(name, 300), s_curve(length=4.0, width=1.0), from_start=True))


# morphing and proportions


@case(("sally",), ("longlegs", "child"), ("sally", "blubby"))
def morph_sample(*figures: str) -> Values:
    return of_solution(morph(clip("walk", 30.0), [who(name) for name in figures], scale_footsteps="blubby" in figures))


@case(("clap",))
def morph_action(name: str) -> Values:
    return of_solution(morph(clip(name, 30.0), [who("sally")]))


@case(("mannequin",), ("blubby",))
def character_sample(name: str) -> Values:
    return of_character(who(name))


@case()
def character_proportions() -> Values:
    return of_character(apply_proportions(who("mannequin"), legs=1.2, arms=0.8, girth=1.1, feet=1.3, neck=0.9))


# constraints


def part() -> Clip:
    """Return 100 frames of the walk."""
    return clip("walk", 60.0, 50, 150)


def asked_of(source: Clip, kind: str) -> list[Constraint]:
    """Return constraints of a kind that the clip does not meet."""
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
def constraint_kinds() -> Values:
    source, found = part(), {}
    kinematics = Kinematics(source.motion)
    for kind in KINDS:
        both = [(one.residual(kinematics), one.jacobian(kinematics)) for one in asked_of(source, kind)]
        found[kind] = np.concatenate([values.ravel() for pair in both for values in pair])
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


@case(("same place",), ("speed",), ("acceleration",), ("free footplant",))
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


# inverse kinematics


def ends_asked(source: Clip) -> list[Constraint]:
    """Return a position and an orientation for every hand and foot."""
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
        solved = place(source.motion, limb, goals, swivel=0.1, softness=0.02 * number)
        found |= {
            f"{name} rotations": solved.motion.rotations,
            f"{name} residual": solved.residual,
            f"{name} flexion": solved.flexion,
            f"{name} status": solved.status,
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


# direct manipulation


def where(state: Manipulation, point: str, frame: int) -> NDArray:
    """Return the position of a contact point at a frame."""
    return Kinematics(state.motion[frame]).point(state.character.contacts[point])[0]


def of_manipulation(state: Manipulation) -> Values:
    return {**of_motion(state.motion, positions=False), "error": float(state.error())}


@case((125, "left_palm", 8.0), (60, "right_palm", 16.0), (0, "left_palm", 4.0), (115, "left_ball", 6.0))
def drag_point(frame: int, point: str, spacing: float) -> Values:
    start = begin(clip("walk"))
    return of_manipulation(start.drag(frame, point, where(start, point, frame) + [0.1, 0.15, 0.1], spacing))


@case()
def drag_several() -> Values:
    start = begin(clip("walk"))
    once = start.drag(125, "left_palm", where(start, "left_palm", 125) + [0.1, 0.25, 0.1])
    twice = once.turn(130, "head", [1.0, 0.3, 0.0, 0.0], 4.0)
    third = twice.drag(131, "right_palm", where(twice, "right_palm", 131) + [-0.1, 0.2, 0.1])
    again = start.replay(third.to_data())
    assert third.undo().motion is twice.motion
    return {**of_manipulation(third), "replayed": again.motion.rotations}


@case()
def drag_constrained() -> Values:
    source = clip("kick", 60.0)
    start = begin(source, asked_of(source, "footplant"), keep_plants=False)
    return of_manipulation(start.drag(70, "left_palm", where(start, "left_palm", 70) + [0.1, 0.2, 0.2], 6.0))


# computer puppetry


@case(("walk", "sally"), ("run", "short"), ("waist", "blubby"))
def puppet_sample(name: str, figure: str) -> Values:
    return of_solution(puppet(clip(name), who(figure)))


@case()
def puppet_scene() -> Values:
    source = clip("reach")
    things = (
        SceneObject(Plane(), "floor"),
        SceneObject(Ball((0.2, 0.3, 0.5), 0.15), "ball"),
        SceneObject(Box((0, 0.8, 0.5), (1, 0.02, 0.3))),
    )
    moved = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (len(source.motion), 3, 1))
    moved[:, 1, 0] = np.linspace(0.0, 0.3, len(source.motion))
    return of_solution(puppet(source, who("child"), scene=PerformanceScene(things), things=moved, keep_footsteps=True))


@case(("bvh/cmu/14_23.bvh", "blubby"), ("deepmimic/humanoid3d_cartwheel.txt", "sally"))
def puppet_file(name: str, figure: str) -> Values:
    return of_solution(puppet(shared_clip(name, 240), who(figure)))


@case(("clap",), ("walk",))
def importance_sample(name: str) -> Values:
    source = clip(name, 30.0)
    kinematics = Kinematics(source.motion)
    found = importances(source.character, kinematics.positions, kinematics.rotations, source.motion.fps)
    return {
        "scene": np.array([one.scene for one in found]),
        "body": np.array([one.body for one in found]),
        "hands": np.array([one.hands for one in found]),
    }


# method comparison


@case()
def compare_retarget() -> Values:
    methods = ("hierarchical", "spacetime", "filtered", "perframe", "perkey", "warping", "puppet")
    return of_comparison(compare(clip("kick", 30.0), who("child"), methods, repeats=1))


@case()
def compare_constraints() -> Values:
    source = part()
    return of_comparison(compare(source, constraints=asked_of(source, "speed"), repeats=1))


def of_comparison(found: Comparison) -> Values:
    """Return the numbers of every method's row, and which methods failed."""
    rows = [
        [
            row.passes, row.worst_error, row.mean_error, row.unmet, row.worst_drift, row.mean_drift, row.plants_moved,
            row.jerk, row.peak_acceleration, row.joint_change, row.root_change,
        ]
        for row in found.rows
    ]  # fmt: skip
    numbers = np.array([[number(value) for value in row] for row in rows])
    return {"rows": numbers, "failed": [row.failed is not None for row in found.rows], "before": found.before.rotations}


# normalised motion


@case(("walk", "child"), ("climb", "sally"))
def normalized_sample(name: str, figure: str) -> Values:
    source = clip(name, 30.0)
    found = normalize(source.motion, source.character)
    limbs = [found.limbs[key] for key in sorted(found.limbs)]
    return {
        "root": found.root,
        "tilt": found.tilt,
        "limbs": np.concatenate([np.c_[limb.frame, limb.length, limb.bends] for limb in limbs]),
        "splines": np.concatenate([found.splines[key].turns.ravel() for key in sorted(found.splines)]),
        **of_motion(convert(scale(found, who(figure))), "converted "),
    }


@case(("walk", "child"), ("run", "sally"))
def share_plants(name: str, figure: str) -> Values:
    source = clip(name, 30.0)
    return of_solution(share(source, who(figure), plants_of(source)))


@case()
def share_constraints() -> Values:
    source = part()
    kinds = ("position", "distance", "balance", "center of mass")
    asked = [replace(one, priority=rank) for rank, kind in enumerate(kinds) for one in asked_of(source, kind)]
    return of_solution(share(source, who("longlegs"), asked))


# blending


def of_registration(found: Registration) -> Values:
    seconds = np.linspace(found.curve.start, found.curve.stop, 50)
    turns, shifts = found.alignment(seconds)
    whole = [all(plant is not None for plant in match.plants) for match in found.matches]
    return {
        "reference": found.reference,
        "knots": found.curve.knots,
        "control": found.curve.control,
        "costs": list(found.costs),
        "turns": turns,
        "shifts": shifts,
        "matches": whole,
    }


@case(("walk", "run"), ("walk", "limp", "sneak"))
def registration_sample(*names: str) -> Values:
    return of_registration(register([clip(name, 30.0) for name in names]))


@case(("walk", "run"))
def registration_loops(*names: str) -> Values:
    loops = [loop_of(clip(name, 30.0)) for name in names]
    return of_registration(register(loops, ends="loop"))


@case(("bvh/cmu/02_01.bvh", "bvh/cmu/35_01.bvh"))
def registration_file(*names: str) -> Values:
    return of_registration(register([shared_clip(name) for name in names]))


@case(("walk", 0.5), ("turn-left", 0.3), ("limp", 0.7))
def blend_sample(name: str, weight: float) -> Values:
    registered = register([clip("run"), clip(name)], reference=0)
    return of_solution(blend(registered, [1.0 - weight, weight], fps=30.0))


@case(("spacetime",), ("filtered",))
def blend_method(method: str) -> Values:
    registered = register([clip("walk"), clip("sneak")], reference=0)
    return of_solution(blend(registered, [0.5, 0.5], fps=30.0, method=method))


@case()
def blend_over_time() -> Values:
    registered = register([clip("walk"), clip("run")], reference=0)
    keys = WeightCurve(np.array([0.0, 1.0, 2.0]), np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
    return of_solution(blend(registered, keys, parts={"left_arm": (0.0, 1.0)}, fps=30.0))


@case()
def blend_loops() -> Values:
    registered = register([loop_of(clip("walk")), loop_of(clip("run"))], ends="loop")
    weights = weights_for(registered, speed=2.0)
    told = [[one.seconds, one.speed, one.turn] for one in parameters(registered)]
    solution = blend(registered, weights, fps=30.0, cycles=2)
    return {**of_solution(solution), "weights": weights, "parameters": told}


@case(("walk", "sneak"), ("run", "kick"), ("stand", "walk"))
def transition_sample(first: str, second: str) -> Values:
    return of_solution(transition(clip(first), clip(second), fps=30.0))


@case()
def transition_at() -> Values:
    return of_solution(transition(clip("walk"), clip("run"), at=(1.5, 1.0), seconds=0.8, fps=30.0, method="perframe"))


@case(("walk",), ("run",), ("turn-left",))
def loop_sample(name: str) -> Values:
    source = clip(name)
    return {"ends": list(find_loop(source)), **of_motion(loop_of(source).motion, positions=False)}


@case(("walk", "limp"))
def matching_sample(first: str, second: str) -> Values:
    found = match(clip(first, 30.0), clip(second, 30.0))
    return {
        "table": found.table,
        "path": found.path.frames,
        "cost": float(found.path.cost),
        "meetings": [[one.first, one.second, one.distance] for one in found.transitions],
        "strikes": found.strikes,
    }


@case()
def graph_samples() -> Values:
    found = build_graph([clip(name, 30.0) for name in ("walk", "run", "kick", "stand")])
    rows = [[e.source, e.target, e.leave, e.enter, e.distance, e.turn, *e.shift] for e in found.edges]
    return {"edges": rows, "component": sorted(found.component()), "durations": list(found.durations)}


@case()
def together_figures() -> Values:
    clips = [replace(clip(name, 30.0, 0, 50), name=name) for name in ("kick", "punch")]
    found = merge_clips(clips)
    return {**of_motion(found.motion), "parents": found.character.skeleton.parents}


# contact detection and quality


@case(*((name,) for name in ("walk", "run", "sneak", "jump", "climb")))
def contacts_sample(name: str) -> Values:
    return of_contacts(find_contacts(clip(name), hands=name == "climb", toes=name == "sneak"))


@case(("walk",), ("turn-left",))
def contacts_noisy(name: str) -> Values:
    return of_contacts(find_contacts(damaged(clip(name), "shaking")))


@case(
    ("bvh/cmu/02_01.bvh",), ("bvh/cmu/13_35.bvh",), ("bvh/other/boxing_toes.bvh",), ("bvh/other/mocopi_jump.bvh",),
    ("smpl_npz/video_walk_level1_filter_amass.npz",), ("deepmimic/humanoid3d_roll.txt",),
)  # fmt: skip
def contacts_file(name: str) -> Values:
    source = shared_clip(name, 900)
    return {**of_contacts(find_contacts(source, hands=True)), "quality": of_quality(measure(source))}


@case(("walk", "drifting"), ("run", "shaking"), ("kick", "sunk"))
def quality_sample(name: str, kind: str) -> Values:
    source = clip(name)
    judged = damaged(source, kind)
    return {"alone": of_quality(measure(judged)), "against": of_quality(measure(judged, against=source, ground=0.0))}


@case(("walk", 60.0), ("climb", 120.0))
def samples_truth(name: str, fps: float) -> Values:
    found = ground_truth(name, fps)
    return {point: [end for interval in found[point] for end in interval] for point in sorted(found)}


@case(("walk", "run", "start", "stop"), ("jump", "kick", "punch", "stand"), ("reach", "clap", "waist", "climb"))
def samples_made(*names: str) -> Values:
    return {name: np.concatenate([m.root.ravel(), m.rotations.ravel()]) for name in names for m in [clip(name).motion]}


# core


@case()
def core_kinematics() -> Values:
    source = part()
    kinematics, palm = Kinematics(source.motion), source.character.contacts["left_palm"]
    return {
        "positions": kinematics.positions,
        "rotations": kinematics.rotations,
        "ends": kinematics.ends,
        "point": kinematics.point(palm),
        "jacobian": kinematics.position_jacobian(palm),
        "turning": kinematics.rotation_jacobian(palm.joint),
        "mass": kinematics.center_of_mass(source.character),
        "mass jacobian": kinematics.center_of_mass_jacobian(source.character),
    }


@case()
def core_skinning() -> Values:
    source = clip("kick", 30.0, 20, 30)
    kinematics, skin = Kinematics(source.motion), source.character.skin
    assert skin is not None
    return {
        "linear": linear_blend(skin, kinematics),
        "normals": linear_blend_normals(skin, kinematics),
        "dual": dual_quaternion(skin, kinematics),
        "dual normals": dual_quaternion_normals(skin, kinematics),
    }


@case()
def core_motion() -> Values:
    source = part()
    motion, turn = source.motion, unit(np.array([0.9, 0.1, 0.4, 0.0]))
    made = {
        "resampled": motion.resample(47.0),
        "smooth": motion.resample(47.0, smooth=True),
        "turned": motion.transformed(turn, (0.5, 0.1, 0.2)),
        "scaled": motion.scaled(1.3),
        "mirrored": motion.mirrored(source.character.require_roles()),
        "looped": motion.looped(3),
        "joined": concatenate([motion, motion[:20]]),
        "displaced": motion + 0.1 * noise(len(motion), 1 + len(motion.skeleton), 3),
    }
    found: Values = {name: np.c_[m.root, m.rotations.reshape(len(m), -1)] for name, m in made.items()}
    return {**found, "difference": made["mirrored"] - motion}


@case()
def core_rotation() -> Values:
    turns, vectors = unit(noise(200, 4)), 2.0 * noise(200, 3, seed=2)
    others, shares = unit(noise(200, 4, seed=3)), 0.5 + 0.5 * noise(200, seed=4)
    swing, twist = swing_twist(turns, (0.0, 1.0, 0.0))
    return {
        "products": np.concatenate([multiply(turns, others), exp(vectors), slerp(turns, others, shares), swing, twist]),
        "vectors": np.concatenate([rotate(turns, vectors), log(turns)]),
        "matrices": to_matrix(turns),
        "back": from_matrix(to_matrix(turns)),
        "unrolled": unroll(turns),
    }


@case()
def core_spline() -> Values:
    seconds, values = np.linspace(0.0, 5.0, 120), noise(120, 3)
    fitted = fit_spline(seconds, values, 0.4, 0.0, 5.0)
    levels = fit_multilevel(seconds, values, 1.0, 4, 0.0, 5.0)
    return {
        "control": fitted.control,
        "values": fitted(seconds),
        "levels": np.concatenate([level.control for level in levels]),
        "filtered": filter_fir(values, np.array([0.25, 0.5, 0.25])),
        "envelope": smooth_envelope(np.abs(values[:, 0]), 5),
    }


# file formats


def of_loaded(found: Clip) -> Values:
    character, roles = found.character, found.character.roles
    told: list[float] = [len(found.motion), found.motion.fps, character.height, len(found.takes), len(found.others)]
    if roles is not None:
        told += [joint for role in sorted(roles.joints) for joint in (*roles.joints[role], -1)]
    for name in sorted(character.contacts):
        told += [character.contacts[name].joint, *character.contacts[name].offset]
    if character.skin is not None:
        told += [
            *character.skin.vertices.shape,
            *character.skin.vertices.mean(axis=0),
            *character.skin.weights.std(axis=0),
        ]
    kinematics = Kinematics(found.motion)
    ends = kinematics.ends if len(found.motion.skeleton.end_offsets) else np.zeros((len(found.motion), 0, 3))
    return {
        "rotations": found.motion.rotations,
        "positions": np.concatenate([kinematics.positions, ends], axis=1),
        "figure": told,
    }


@case(
    ("asf_amc/35_01.amc",), ("asf_amc/backflip.amc",), ("bvh/cmu/09_01.bvh",), ("bvh/other/mvn_40fps_A.bvh",),
    ("bvh/other/dog_walk_quadruped.bvh",), ("bvh/other/pybvh_test1_zup_mixed.bvh",), ("bvh/other/three_pirouette.bvh",),
    ("bvh/other/makehuman_tpose.bvh",), ("bvh/other/video2bvh_cxk_mm_zup.bvh",), ("deepmimic/humanoid3d_spinkick.txt",),
    ("fbx/Warrior.fbx",), ("fbx/ase_08_02_cmu.fbx",), ("fbx/ufbx_maya_human_ik_6100_ascii.fbx",),
    ("fbx/ozz_pab_walk.fbx",), ("fbx/ufbx_casegen_rotation_order_7500_ascii.fbx",), ("gltf/CesiumMan.glb",),
    ("gltf/RobotExpressive.glb",), ("gltf/CesiumMan_separate/CesiumMan.gltf",), ("gltf/babylon_mixamo_Praying.glb",),
    ("gltf/webxr_hand_left.glb",), ("isaaclab_npz/humanoid_walk.npz",), ("smpl_npz/video_CR7_level1_filter_amass.npz",),
    ("usd/soma_human_skinned.usd",), ("usd/usdSkel_skeleton.usda",), ("vrm/basic_armature_vrm1.vrm",),
    ("vrm/100avatars_038_Kate.vrm",), ("vrma/idle_loop.vrma",),
    ("constraints_npz/kimodo-soma-rp_04_ee_constraint/motion.npz",),
)  # fmt: skip
def load_file(name: str) -> Values:
    return of_loaded(shared_clip(name))


@case()
def load_with_units() -> Values:
    return of_loaded(shared_clip("bvh/other/npybvh_example.bvh", units="inch", up="z"))


@case(("c3d/cmu_02_01.c3d",), ("c3d/Eb015pi.c3d",), ("c3d/Dance.c3d",), ("trc/Gait.trc",), ("trc/MOTEK_T.trc",))
def load_marker_file(name: str) -> Values:
    found = load_markers(shared(name))
    return {
        "positions": found.positions,
        "residuals": [] if found.residuals is None else found.residuals,
        "told": [found.fps, len(found.names), len(found.subjects), found.first_frame],
        "events": [event.seconds for event in found.events],
    }


@case()
def load_broken_files() -> Values:
    if not (SHARED / "bad").is_dir():
        raise Absent("no ../shared/data/bad")
    found: Values = {}
    for file in sorted((SHARED / "bad").iterdir()):
        try:
            (load_markers if file.suffix in (".c3d", ".trc") else load)(file)
            found[file.name] = "read"
        except Exception as error:
            found[file.name] = type(error).__name__
    return found


WRITTEN = ("bvh", "glb", "gltf", "vrm", "vrma", "fbx", "usda", "usdz", "npz", "footplant")


@case(*((f".{name}",) for name in WRITTEN))
def saved_and_loaded(suffix: str) -> Values:
    with tempfile.TemporaryDirectory() as folder:
        file = save(Path(folder) / f"kick{suffix}", clip("kick", 30.0, 10, 40))
        return of_loaded(load(file))


@case((".glb", "gltf/godot_mannequiny.glb"), (".vrm", "vrm/Godette_vrm0.vrm"), (".fbx", "fbx/Warrior.fbx"))
def saved_onto(suffix: str, name: str) -> Values:
    target = load_character(shared(name))
    motion = transfer(clip("walk", 30.0, 0, 30).motion, clip("walk").character, target)
    with tempfile.TemporaryDirectory() as folder:
        return of_loaded(load(save(Path(folder) / f"walk{suffix}", motion, character=target)))


@case()
def saved_markers() -> Values:
    with tempfile.TemporaryDirectory() as folder:
        file = save_markers(Path(folder) / "take.trc", worn("walk", 40))
        return {"positions": load_markers(file).positions}


@case()
def saved_constraints() -> Values:
    source = part()
    asked = [one for kind in KINDS for one in asked_of(source, kind) if kind != "follow"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "asked.json"
        write_constraints(file, asked, source.character)
        back = read_constraints(file, source.character, frames=len(source.motion), fps=source.motion.fps)
    kinematics = Kinematics(source.motion)
    return {"count": len(back), "residuals": np.concatenate([one.residual(kinematics).ravel() for one in back])}


# optical markers


def worn(name: str, frames: int, *, tall: bool = False) -> Markers:
    """Return Plug-in Gait markers of a sample motion, with noise, gaps and one swapped pair."""
    parts = (
        "FHD", "BHD", "SHO", "UPA", "ELB", "FRM", "WRA", "WRB", "FIN", "ASI", "PSI", "THI", "KNE", "TIB", "ANK",
        "HEE", "TOE",
    )  # fmt: skip
    labels = ["C7", "T10", "CLAV", "STRN", *(side + part for side in "LR" for part in parts)]
    source = clip(name, 60.0, 20, 20 + frames)
    base = source.character
    body = apply_proportions(base, scale=1.06, legs=1.05, arms=0.97) if tall else base
    motion = replace(source.motion, skeleton=body.skeleton, root=source.motion.root * (body.height / base.height))
    roles, poses = body.require_roles(), Kinematics(motion)
    (joints, turned), (here, _) = base.skeleton.posed(base.skeleton.rest), body.skeleton.posed(body.skeleton.rest)
    places = []
    for number, stuck in enumerate(recognise(labels)[1]):
        joint = roles.joints["spine"][-1] if stuck.role == "chest" else roles[stuck.role]
        at = np.array(LANDMARKS[stuck.landmark or ""].place) * [stuck.side, 1.0, 1.0]
        at = at + 0.008 * noise(3, seed=60 + number)
        near = [other for other in range(len(here)) if other == joint or body.skeleton.parents[other] == joint]
        origin = min(near, key=lambda other: float(np.linalg.norm(at - joints[other])))
        offset = rotate(inverse(turned[joint]), here[origin] + at - joints[origin] - here[joint])
        places.append(poses.positions[:, joint] + rotate(poses.rotations[:, joint], offset))
    positions = np.stack(places, axis=1) + 0.001 * noise(frames, len(labels), 3, seed=50)
    positions[frames // 3, [5, 7]] = positions[frames // 3, [7, 5]]
    positions[frames // 2 : frames // 2 + 9, ::5] = np.nan
    return Markers(tuple(labels), positions, motion.fps, name="worn")


def of_solved(found: EditResult) -> Values:
    report = found.report.markers[0]
    told = [report.median, report.rms, report.worst, report.height, len(report.swaps), len(report.left_out)]
    told += [value for length in report.lengths for value in (length.metres, length.spread)]
    told += [value for marker in report.markers for value in (marker.rms, marker.worst, marker.hidden)]
    character = {"offsets": found.clip.character.skeleton.offsets}
    return {**of_motion(found.clip.motion, positions=False), "report": told, "frames": report.frame_rms, **character}


@case(("walk", 60), ("kick", 50))
def optical_made(name: str, frames: int) -> Values:
    return of_solved(solve_markers(worn(name, frames, tall=name == "kick")))


@case()
def optical_smooth() -> Values:
    return of_solved(solve_markers(worn("walk", 40), smooth=True, calibration=worn("reach", 50)))


@case()
def optical_guessed() -> Values:
    take = worn("walk", 30)
    nameless = replace(take, names=tuple(f"M{marker:03}" for marker in range(len(take.names))))
    return of_solved(solve_markers(nameless, clip("walk").character, pose_frame=0))


@case(("c3d/cmu_02_01.c3d", 30), ("c3d/PiG_Motion3_FF.c3d", 60))
def optical_file(name: str, frames: int) -> Values:
    take = load_markers(shared(name))
    residuals = None if take.residuals is None else take.residuals[:frames]
    shorter = replace(take, positions=take.positions[:frames], residuals=residuals)
    return of_solved(solve_markers(shorter))


# live engines


@cache
def controller() -> Controller:
    spec = load_set("set:samples")
    return build_controller(spec, {name: load(name) for name in spec.clips()})


@case(("walk 1s, run 2s left, kick, sneak 1s",), ("stand 1s, walk 2s right, run 1s, stand 1s, punch",))
def live_controller(script: str) -> Values:
    done = drive(controller(), script, fps=60.0, place=(0.5, -0.2), facing=0.4)
    return {**of_motion(done.motion, positions=False), "weights": done.weights, "planted": done.planted}


@case(("fight", 2.5), ("boxes", 2.0), ("table", 2.0), ("elbow_wrist", 2.0), ("ground", 2.0))
def live_crowd(name: str, seconds: float) -> Values:
    scene = scene_from_data(tomllib.loads(scene_text(name)), load, load_character)
    found = Crowd(replace(scene, seconds=seconds, fps=30.0)).perform()
    moved = [np.c_[m.root, m.rotations.reshape(len(m), -1)] for m in found.motions]
    return {"motions": np.concatenate([rows.ravel() for rows in moved]), "left": found.residuals}


@dataclass(frozen=True)
class FrameFilter:
    """A filter for a puppeteer: the root's position and local rotations of all joints."""

    sensors: SensorFilter
    """One sensor per joint."""

    def init(self) -> Any:
        return self.sensors.init()

    def step(self, state: Any, frame: Any) -> tuple[Any, Any]:
        places, present = np.tile(frame.root, (len(self.sensors), 1)), np.ones(len(self.sensors), bool)
        state, shown, turns = self.sensors.step(state, places, np.array(frame.rotations), present, frame.dt)
        return state, frame._replace(root=shown[0].copy(), rotations=turns.copy())


@case(("walk", "sally", False), ("clap", "blubby", True))
def live_puppeteer(name: str, figure: str, filtered: bool) -> Values:
    source = clip(name, 60.0, 0, 150)
    motion, fps = source.motion, source.motion.fps
    cleaned = FrameFilter(SensorFilter.from_half_life(len(motion.skeleton))) if filtered else None
    engine = Puppeteer(source.character, who(figure), filter=cleaned)
    state, roots, turns, scene = engine.init(), [], [], []
    for frame in range(len(motion)):
        state, pose = engine.step(state, PerformerFrame(motion.root[frame], motion.rotations[frame], 1.0 / fps))
        roots.append(pose.root)
        turns.append(pose.rotations)
        scene.append(pose.importance.scene)
    return {"root": np.array(roots), "rotations": np.array(turns), "importance": np.array(scene)}


@case()
def live_kalman() -> Values:
    motion = clip("run", 120.0, 0, 180).motion
    kinematics = Kinematics(motion)
    positions = kinematics.positions + 0.003 * noise(*kinematics.positions.shape, seed=70)
    rotations = unit(multiply(kinematics.rotations, exp(0.02 * noise(*kinematics.positions.shape, seed=71))))
    present = np.ones(positions.shape[:2], bool)
    present[60:75, ::3] = False
    sensors = SensorFilter.from_half_life(positions.shape[1])
    state, places, turns = sensors.init(), [], []
    for frame in range(len(motion)):
        state, place_now, turn_now = sensors.step(
            state, positions[frame], rotations[frame], present[frame], 1.0 / (120.0 if frame % 7 else 40.0)
        )
        places.append(place_now.copy())
        turns.append(turn_now.copy())
    return {"places": np.array(places), "turns": np.array(turns), "missing": state.missing}


@case(("vmc", False), ("vmc", True), ("rokoko", True))
def live_stage(protocol: str, bad: bool) -> Values:
    from footplant.live.stage import LiveStage, PoseEncoder

    source = clip("walk", 60.0, 0, 150)
    motion = with_noise(source.motion, millimetres=2.0, degrees=1.0) if bad else source.motion
    encoder = PoseEncoder(protocol, source.character)
    sent = [(f / 60.0, encoder.encode(motion.root[f], motion.rotations[f], f / 60.0)) for f in range(len(motion))]
    faults = Faults(loss=0.05, jitter=0.002, duplicate=0.02, reorder=0.03) if bad else Faults()
    stage, poses = LiveStage(protocol, who("sally")), []
    for now, data in faults.apply(sent):
        stage.feed(data, "suit", now)
        poses += [np.r_[s.time, s.pose.root, s.pose.rotations.ravel()] for s in stage.poses(now)]
    told = [stage.datagrams, stage.count("ignored"), stage.count("duplicates"), stage.count("late")]
    return {"poses": np.array(poses), "counts": told, "sizes": [len(data) for _, data in sent]}


def of_samples(protocol: str, datagrams: Sequence[bytes]) -> Values:
    """Return the poses that the receiver of a protocol completes from datagrams, and how many it dropped."""
    from footplant.live.stage import RECEIVERS

    receiver = RECEIVERS[protocol]()
    rows = [row for number, data in enumerate(datagrams) for row in receiver.feed(data, 0.02 * number)]
    rows += receiver.poll(60.0)
    numbers = [np.r_[row.positions.ravel(), row.rotations.ravel(), row.present] for row in rows]
    counts = [receiver.ignored, receiver.duplicates, receiver.late, len(rows)]
    return {"samples": np.concatenate(numbers) if numbers else [], "counts": counts}


def natnet_frame(number: int, positions: NDArray, rotations: NDArray) -> bytes:
    """Encode a NatNet 3 frame that holds one skeleton: bone positions (N, 3) and rotations (N, 4)."""
    bone = np.dtype([("id", "<i4"), ("position", "<f4", 3), ("rotation", "<f4", 4), ("error", "<f4"), ("flags", "<i2")])
    rows = np.zeros(len(positions), bone)
    rows["id"] = (3 << 16) + np.arange(1, len(positions) + 1)
    rows["position"], rows["rotation"], rows["flags"] = positions, rotations[:, [1, 2, 3, 0]], 1
    body = np.array([number, 0, 0, 0, 1, 3, len(rows)], "<i4").tobytes() + rows.tobytes() + bytes(12)
    body += struct.pack("<IIdQQQhi", 0, 0, number / 60.0, 0, 0, 0, 0, 0)
    return struct.pack("<HH", 7, len(body)) + body


@case(("natnet",), ("xsens",))
def live_decoded(protocol: str) -> Values:
    motion = clip("walk", 60.0, 0, 20).motion
    kinematics, datagrams = Kinematics(motion), []
    for frame in range(len(motion)):
        if protocol == "natnet":
            datagrams.append(natnet_frame(frame, kinematics.positions[frame, :21], kinematics.rotations[frame, :21]))
            continue
        joints = np.arange(len(XSENS)) % len(motion.skeleton)
        positions, rotations = kinematics.positions[frame, joints], kinematics.rotations[frame, joints]
        sample = PoseSample(XSENS, "", positions, rotations, np.ones(len(XSENS), bool), frame / 60.0, frame)
        datagrams.append(encode_xsens(sample, frame, 16 * frame))
    return of_samples(protocol, datagrams)


@case()
def live_decoded_file() -> Values:
    names = ("mxtp02.bin", "mxtp01.bin", "mxtp12.bin", "mxtp13.bin")
    found = of_samples("xsens", [shared(f"live/{name}").read_bytes() for name in names])
    for name in ("mocapframe_packet_v3.bin", "mocapframe_packet_occluded_v3.bin"):
        frame = decode_natnet(shared(f"live/{name}").read_bytes())
        assert isinstance(frame, NatNetFrame)
        found[name] = [frame.number, frame.seconds, *frame.labeled.ravel(), *frame.unlabeled.ravel(), *frame.labels]
    return found


@case(("vmc",), ("rokoko",))
def live_damaged(protocol: str) -> Values:
    from footplant.live.stage import PoseEncoder

    source = clip("walk", 60.0, 0, 4)
    encoder, datagrams = PoseEncoder(protocol, source.character), []
    for number in range(40):
        data = bytearray(
            encoder.encode(source.motion.root[number % 4], source.motion.rotations[number % 4], number / 60.0)
        )
        position = int((0.5 + 0.5 * uniform(1, number + 1)[0]) * (len(data) - 4))
        data[position : position + 4] = bytes([number, 255 - number, 127, 0])
        datagrams.append(bytes(data[: len(data) - 8 * (number % 3)]))
    return of_samples(protocol, datagrams)


@case()
def live_recording() -> Values:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "take.datagrams"
        with file.open("wb") as out:
            recorder = Recorder(out)
            for number in range(20):
                recorder.add(bytes(range(number, number + 30)), f"sender {number % 3}", 100.0 + 0.013 * number)
        found = list(read_recording(file))
    return {
        "times": [d.time for d in found],
        "senders": [d.sender for d in found],
        "data": b"".join(d.data for d in found),
    }


# command line, editor, batch


RAIL = """
[[constraints]]
kind = "position"
point = "left_palm"
target = [0.4, 1.3, 2.0]
interval = [170, 190]
ramp = [0.3, 0.3]
"""
COMMANDS: dict[str, tuple[str, ...]] = {
    "retarget": ("retarget", "sample:walk", "--to", "sample:blubby", "-o", "OUT.glb"),
    "filtered": ("retarget", "sample:kick", "--to", "sample:sally", "--method", "filtered", "-o", "OUT.bvh"),
    "repair": ("repair", "sample:run", "--ground", "0.01", "-o", "OUT.bvh"),
    "terrain": ("terrain", "sample:walk", "--ground", "noise:3", "--doorways", "3:1.5", "-o", "OUT.npz"),
    "path": ("path", "sample:walk", "--curve", "points:0,0;1,3;3,4", "-o", "OUT.bvh"),
    "morph": ("morph", "sample:walk", "--to", "sample:longlegs", "--to", "sample:child", "-o", "OUT.glb"),
    "fit": ("fit", "sample:walk", "--constraints", "rail.toml", "-o", "OUT.footplant"),
    "normalize": ("normalize", "sample:walk", "--to", "sample:child", "-o", "OUT.glb"),
    "blend": ("blend", "sample:walk", "sample:run", "--weights", "0.5,0.5", "-o", "OUT.glb"),
    "transition": ("transition", "sample:walk", "sample:sneak", "-o", "OUT.bvh"),
    "drive": ("drive", "set:samples", "--script", "walk 1s, run 1s left", "-o", "OUT.bvh"),
    "crowd": ("crowd", "scene:elbow_wrist", "-o", "OUT.glb"),
    "puppet": ("puppet", "--in", "sample:walk", "--to", "sample:sally", "-o", "OUT.bvh"),
    "convert": ("convert", "sample:punch", "OUT.bvh", "--to-up", "z"),
    "batch": ("batch", "repair", "sample:kick", "-o", "OUT"),
}


def run_in(folder: Path, words: Sequence[str]) -> tuple[int, list[Path]]:
    """Run a command with OUT in a folder: (exit code, the files of motions, pictures and pages it wrote)."""
    (folder / "rail.toml").write_text(RAIL)
    given = [word.replace("OUT", str(folder / "out")).replace("rail.toml", str(folder / "rail.toml")) for word in words]
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        code = run_command(given)
    others = (".toml", ".jsonl", ".csv")
    return code, sorted(file for file in folder.rglob("*") if file.is_file() and file.suffix not in others)


@case(*((name,) for name in COMMANDS))
def command(name: str) -> Values:
    with tempfile.TemporaryDirectory() as folder:
        code, files = run_in(Path(folder), COMMANDS[name])
        motions = [file for file in files if file.suffix != ".html"]
        return {"code": code} | (of_loaded(load(motions[0])) if motions else {})


PICTURES: dict[str, tuple[str, ...]] = {
    "plot": ("plot", "sample:kick", "-o", "OUT.png"),
    "match": ("match", "sample:walk", "sample:run", "-o", "OUT.png"),
    "report": ("repair", "sample:kick", "-o", "OUT.bvh", "--report", "OUT.html"),
}


@case(*((name,) for name in PICTURES))
def command_picture(name: str) -> Values:
    with tempfile.TemporaryDirectory() as folder:
        code, files = run_in(Path(folder), PICTURES[name])
        return {"code": code, "files": len(files), "empty": any(not file.stat().st_size for file in files)}


@case()
def editor_session() -> Values:
    from footplant.editor.session import start as start_session

    source = clip("walk", 60.0, 0, 90)
    at = Kinematics(source.motion[45]).point(source.character.contacts["left_palm"])[0] + [0.05, 0.15, 0.05]
    edits: list[dict[str, Any]] = [
        {"kind": "drag", "frame": 45, "point": "left_palm", "target": at.tolist(), "spacing": 4.0},
        {"kind": "turn", "frame": 30, "joint": "head", "rotation": [1.0, 0.3, 0.0, 0.0], "spacing": 4.0},
        {"kind": "pin", "point": "right_palm", "start": 50, "end": 60, "frame": 55},
        {"kind": "mark", "id": 1, "start": 4, "end": 20, "ramp": [0.2, 0.05]},
        {"kind": "method", "name": "filtered"},
        {"kind": "repair"},
        {"kind": "terrain", "ground": "slope:6"},
        {"kind": "retarget", "character": "sample:sally"},
    ]
    found: Values = {}
    with tempfile.TemporaryDirectory() as folder:
        session = start_session(source, "sample:walk", Path(folder))
        for edit in edits:
            state = session.do(edit)
            found[edit["kind"]] = np.c_[state.motion.root, state.motion.rotations.reshape(len(state.motion), -1)]
            found[f"{edit['kind']} marks"] = [end for mark in state.marks for end in mark.interval]
        found["undone"] = session.go(3).motion.rotations
        session.journal.close()
    return found


@case()
def batch_dataset() -> Values:
    clips = [clip(name, 60.0, 0, 80) for name in ("walk", "run", "kick")]
    with tempfile.TemporaryDirectory() as folder:
        made = pack(clips, Path(folder) / "set", fps=30.0)
        found = {"root": made.root, "rotations": made.rotations, "contacts": made.contacts}
        return {name: np.array(values) for name, values in found.items()} | {"windows": np.array(made.windows(20, 7))}


@case(("retarget", "walk"), ("convert", "run"), ("measure", "kick"))
def batch_job(job: str, name: str) -> Values:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.bvh" if job != "measure" else None
        figure = "sample:child" if job == "retarget" else None
        done = perform(Task("key", job, f"sample:{name}", None if out is None else str(out), figure))
        found: Values = {"done": done["status"] == "done", "frames": done.get("frames")}
        return found | (of_loaded(load(out)) if out is not None and out.exists() else {})


if __name__ == "__main__":
    sys.exit(main())
