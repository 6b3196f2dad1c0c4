"""1,000 goals of hands, feet, head and hips on ten real clips, met by dragging and by fitting.

    python benchmarks/drags.py
    python benchmarks/drags.py --goals 100 --json

Goals are 5 to 40 cm from where the point is, in random directions at random frames (seeds are fixed). A goal is
reachable if a general solver meets it together with the footplants of the frame, joint limits and the ground: scipy's
`least_squares`, a penalty method with analytic derivatives, and a second start with bent limbs where the first fails.
Its pose is also the yardstick of equation 4 of Lee & Shin (1999): Σ rigidity·|displacement|² over all joints. Clips
come from the folder of real files beside the repository; where it is absent, from the samples.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from footplant import rotation
from footplant.clip import Clip
from footplant.constraints import Constraint, Footplant, Orientation, Position
from footplant.contacts.detection import Contacts, find_contacts
from footplant.edits.drag import begin
from footplant.edits.fit import fit
from footplant.humanoid.limits import anatomical_turns, limit_violations
from footplant.io import load
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import errors
from footplant.skeleton import Character, Point
from footplant.solve.ik.limb import limbs_of
from footplant.solve.ik.settings import EDITING

sys.path.insert(0, str(Path(__file__).resolve().parent))

from timing import print_figures

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
CLIPS = (
    "bvh/cmu/02_01.bvh", "bvh/bandai_nc/dataset-1_walk-left_chimpira_001.bvh", "asf_amc/charleston1.amc",
    "smpl_npz/video_walk_level1_filter_amass.npz", "smpl_npz/video_kick_level1_filter_amass.npz",
    "fbx/ozz_pab_walk.fbx", "gltf/godot_mannequiny.glb", "gltf/CesiumMan.glb", "vrma/idle_loop.vrma",
    "deepmimic/humanoid3d_spinkick.txt",
)  # fmt: skip
SAMPLES = ("walk", "run", "clap", "kick", "stairs")
FPS, SECONDS = 30.0, 10.0
"""Clips are resampled to this frame rate and cut to this length."""
HANDLES = ("left_hand", "right_hand", "left_foot", "right_foot", "head", "hips")
DISTANCES = (0.05, 0.4)
"""Metres from a point to its goal; for characters of other sizes in proportion to a height of 1.75 m."""
MET = 0.001
"""Metres within which a goal is met."""
MOST_ROWS = 400
"""Largest number of rows of the general solver's problem."""
RIGIDITY = {"other": 1.0, "off_hinge": EDITING.off_hinge, **EDITING.rigidity}
"""α of equation 4: cost of translating the root (1/m²), of rotating joints by their role (1/rad²), and of rotating
elbows and knees off their hinge axes."""


@dataclass(frozen=True)
class Goal:
    """A goal of one point at one frame."""

    frame: int
    handle: str
    target: tuple[float, float, float]


def load_clip(name: str) -> Clip:
    """Return a clip at 30 fps, at most ten seconds of it."""
    if name.startswith("sample:"):
        from footplant import samples

        clip = samples.load(name.partition(":")[2])
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clip = load(SHARED / name)
    motion = clip.motion if abs(clip.motion.fps - FPS) < 1e-6 else clip.motion.resample(FPS)
    return replace(clip, motion=motion[: round(SECONDS * FPS)])


def goals_of(clip: Clip, count: int, seed: int) -> list[Goal]:
    """Return random goals of a clip: handles in turn, directions uniform on the sphere."""
    random, roles = np.random.default_rng(seed), clip.character.require_roles()
    kinematics, size = Kinematics(clip.motion), clip.character.height / 1.75
    found = []
    for number in range(count):
        handle = HANDLES[number % len(HANDLES)]
        frame = int(random.integers(len(clip.motion)))
        way = random.normal(size=3)
        way *= random.uniform(*DISTANCES) * size / np.linalg.norm(way)
        x, y, z = (kinematics.positions[frame, roles[handle]] + way).tolist()
        found.append(Goal(frame, handle, (x, y, z)))
    return found


def costs_of(character: Character) -> NDArray:
    """Return α of equation 4 for the root's translation and each joint (1+J,)."""
    costs = np.full(1 + len(character.skeleton), RIGIDITY["other"])
    costs[0] = RIGIDITY["place"]
    for role, joints in character.require_roles().joints.items():
        part = role.removeprefix("left_").removeprefix("right_")
        if part in RIGIDITY:
            costs[1 + np.array(joints)] = RIGIDITY[part]
    return costs


def hinges_of(motion: Motion, character: Character) -> dict[int, NDArray]:
    """Return hinge axes (3,) of elbows and knees in their own frames at a pose of one frame."""
    found, kinematics = {}, Kinematics(motion)
    places, turns = kinematics.positions[0], kinematics.rotations[0]
    for limb in limbs_of(character).values():
        upper, lower = places[limb.lower] - places[limb.upper], places[limb.end] - places[limb.lower]
        shown, usual = np.cross(upper, lower), rotation.rotate(turns[limb.upper], limb.axis)
        shown /= max(np.linalg.norm(upper) * np.linalg.norm(lower), 1e-12)
        axis = (shown if shown @ usual >= 0.0 else -shown) + EDITING.rest_hinge * usual
        axis /= np.linalg.norm(axis)
        found[limb.lower] = rotation.rotate(rotation.inverse(turns[limb.lower]), axis)
    return found


def straight_limits(character: Character) -> tuple[NDArray, NDArray]:
    """Return joint limits (J, 3) of which elbows and knees bend backwards no more than straight, as in an edit."""
    lower, upper = np.array(character.limits.lower), np.array(character.limits.upper)
    for limb in limbs_of(character).values():
        for axis in range(3):
            low, high = lower[limb.lower, axis], upper[limb.lower, axis]
            if low > -EDITING.backwards and high > 4.0 * EDITING.backwards:
                lower[limb.lower, axis] = 0.0
            if high < EDITING.backwards and low < -4.0 * EDITING.backwards:
                upper[limb.lower, axis] = 0.0
    return lower, upper


def displacement_cost(before: Motion, after: Motion, character: Character) -> float:
    """Return equation 4 of two poses: Σ rigidity·|displacement|², elbows and knees dearer off their hinges."""
    moved = (after - before)[0]
    total = float(np.sum(costs_of(character)[:, None] * moved**2))
    for joint, axis in hinges_of(before, character).items():
        off = moved[1 + joint] - (moved[1 + joint] @ axis) * axis
        total += (RIGIDITY["off_hinge"] - RIGIDITY["lower_arm"]) * float(off @ off)
    return total


def soles_of(character: Character) -> list[Point]:
    """Return heel, ball and toe tip of both feet, and the ankles."""
    found = [p for name, p in character.contacts.items() if name.partition("_")[2] in ("heel", "ball", "toe")]
    return [*found, *(Point(character.require_roles()[role]) for role in ("left_foot", "right_foot"))]


def depths(motion: Motion, character: Character, ground) -> NDArray:
    """Return how deep each point of the soles is in the ground (F, S), metres; 0 above it."""
    places = Kinematics(motion).points(soles_of(character))
    return np.maximum(ground.height(places[..., [0, 2]]) - places[..., 1], 0.0)


class Oracle:
    """The pose nearest to a frame's own in equation 4 that meets pins, joint limits and the ground, by scipy."""

    def __init__(
        self, motion: Motion, character: Character, ground, constraints: Sequence[Constraint], frame: int
    ) -> None:
        """Prepare the pose of one frame. constraints: the goal, then footplants.

        As in the problem that is solved, a footplant that ramps counts by its weight inside the ramp, and a planted
        foot keeps its rotation.
        """
        shares = [float(c.activation(np.array([frame]), motion.fps)[0]) for c in constraints]
        pins = [c for c, share in zip(constraints, shares) if share >= 1.0]
        self.soft: list[tuple[float, Constraint]] = []
        now = Kinematics(motion[frame : frame + 1])
        for c, share in zip(constraints, shares):
            if 0.0 < share < 1.0:
                stays = Position(point=c.point, target=now.point(c.point)[0])  # type: ignore[attr-defined]
                self.soft.append((_strength(EDITING.ramp_pull * share), stays))
        roles = character.require_roles()
        for role in ("left_foot", "right_foot"):
            own = set(character.skeleton.descendants(roles[role]))
            mine = sorted(
                (s for c, s in zip(constraints[1:], shares[1:]) if c.joints[0] in own and s > 0.0), reverse=True
            )
            if mine:
                second = mine[1] if len(mine) > 1 else 0.0
                rolls = EDITING.foot_roll * second * (1.0 if second >= 1.0 else EDITING.ramp_pull)
                kept = max(EDITING.foot_turn * mine[0], rolls)
                turn = Orientation(joint=roles[role], target=now.rotations[0, roles[role]])
                self.soft.append((_strength(kept), turn))
        self.pose, self.character, self.frame = motion[frame : frame + 1], character, frame
        self.pins, self.ground = pins, ground
        self.costs, self.hinges = costs_of(character), hinges_of(self.pose, character)
        used, skeleton = {0}, character.skeleton
        ends = [pin.joints[0] for pin in pins] + [point.joint for point in soles_of(character)]
        for joint in ends:
            used |= {1 + other for other in skeleton.chain(joint)}
        self.groups = np.array(sorted(used))
        self.columns = (3 * self.groups[:, None] + np.arange(3)).ravel()
        own = anatomical_turns(character, self.pose.rotations)[0]
        lower, upper = straight_limits(character)
        self.lower, self.upper = np.minimum(lower, own), np.maximum(upper, own)
        self.own = own
        self.joints = self.groups[1:] - 1
        self.joints = self.joints[np.isfinite(self.upper[self.joints]).any(axis=1)]
        places = Kinematics(self.pose).points(soles_of(character))[0]
        self.floor = np.minimum(ground.height(places[:, [0, 2]]), places[:, 1])

    def posed(self, x: NDArray) -> Motion:
        """Return the pose displaced by x."""
        moved = np.zeros((1, 1 + len(self.character.skeleton), 3))
        moved.reshape(-1)[self.columns] = x
        return self.pose + moved

    def _turns(self, motion: Motion) -> NDArray:
        found = anatomical_turns(self.character, motion.rotations)[0]
        # the branch of the logarithm nearest to the frame's own
        angle = np.linalg.norm(found, axis=1, keepdims=True)
        other = found * (1.0 - 2.0 * np.pi / np.maximum(angle, 1e-9))
        nearer = np.linalg.norm(other - self.own, axis=1) < np.linalg.norm(found - self.own, axis=1)
        return np.where(nearer[:, None] & (angle > 2.0), other, found)

    def rows(self, x: NDArray, penalty: float) -> tuple[NDArray, NDArray]:
        """Return residuals (K,) and their Jacobian (K, n)."""
        motion = self.posed(x)
        kinematics, wide = Kinematics(motion, [self.frame]), 3 + 3 * len(self.character.skeleton)
        inner = np.zeros((wide, len(x)))
        for n in range(len(self.groups)):
            block = np.eye(3) if n == 0 else _right_jacobian(x[3 * n : 3 * n + 3])
            inner[3 * self.groups[n] : 3 * self.groups[n] + 3, 3 * n : 3 * n + 3] = block
        residuals, jacobians = [], []
        root = np.sqrt(np.repeat(self.costs[self.groups], 3))
        residuals.append(root * x)
        jacobians.append(np.diag(root))
        for joint, axis in self.hinges.items():
            at = np.flatnonzero(self.groups == 1 + joint)
            if len(at):
                part = slice(3 * at[0], 3 * at[0] + 3)
                off = np.sqrt(RIGIDITY["off_hinge"]) * (np.eye(3) - np.outer(axis, axis))
                residuals.append(off @ x[part])
                row = np.zeros((3, len(x)))
                row[:, part] = off
                jacobians.append(row)
        hard = np.sqrt(penalty)
        for pin in self.pins:
            residuals.append(hard * pin.residual(kinematics)[0])
            jacobians.append(hard * pin.jacobian(kinematics)[0] @ inner)
        for weight, kept in self.soft:
            residuals.append(np.sqrt(weight) * kept.residual(kinematics)[0])
            jacobians.append(np.sqrt(weight) * kept.jacobian(kinematics)[0] @ inner)
        turns = self._turns(motion)
        slopes = np.zeros((len(turns), 3, 3))
        for i in range(3):
            nudge = np.zeros((1, 1 + len(turns), 3))
            nudge[0, 1:, i] = 1e-6
            slopes[:, :, i] = (self._turns(motion + nudge) - turns) / 1e-6
        for joint in self.joints.tolist():
            at = int(np.flatnonzero(self.groups == 1 + joint)[0])
            slack = np.minimum(turns[joint] - self.lower[joint], 0.0) + np.maximum(
                turns[joint] - self.upper[joint], 0.0
            )
            broken = np.flatnonzero(slack)
            if len(broken):
                row = np.zeros((len(broken), len(x)))
                own = inner[3 + 3 * joint : 6 + 3 * joint, 3 * at : 3 * at + 3]
                row[:, 3 * at : 3 * at + 3] = slopes[joint][broken] @ own
                residuals.append(hard * slack[broken])
                jacobians.append(hard * row)
        places = kinematics.points(soles_of(self.character))[0]
        for number, point in enumerate(soles_of(self.character)):
            depth = min(places[number, 1] - self.floor[number], 0.0)
            if depth < 0.0:
                residuals.append(np.array([hard * depth]))
                jacobians.append(hard * kinematics.position_jacobian(point)[0, 1:2] @ inner)
        return np.concatenate(residuals), np.concatenate(jacobians)

    def solve(self) -> tuple[float, float, Motion]:
        """Return equation 4 of the best pose, its largest error of a pin, limit or sole (metres), and the pose."""
        best = (np.inf, np.inf, self.pose)
        for bent in (0.0, 0.4):
            x = np.zeros(len(self.columns))
            for joint, axis in self.hinges.items():
                at = np.flatnonzero(self.groups == 1 + joint)
                if len(at):
                    x[3 * at[0] : 3 * at[0] + 3] = bent * axis
            for penalty in (1e2, 1e4, 1e6):
                x = _minimized(self.rows, x, penalty)
            motion = self.posed(x)
            kinematics = Kinematics(motion, [self.frame])
            worst = max(float(errors(pin, kinematics)[1].max(initial=0.0)) for pin in self.pins)
            turns = self._turns(motion)
            over = np.maximum(self.lower - turns, turns - self.upper)[self.joints].max(initial=0.0)
            low = (self.floor - kinematics.points(soles_of(self.character))[0, :, 1]).max(initial=0.0)
            worst = max(worst, 0.1 * float(over), 0.5 * float(low))
            found = (displacement_cost(self.pose, motion, self.character), worst, motion)
            if (found[1] > MET, found[0]) < (best[1] > MET, best[0]):
                best = found
            if best[1] <= MET:
                break
        return best


def _strength(share: float) -> float:
    """Return the weight of a footplant inside its ramp (1/m²)."""
    full = EDITING.penalties[-1] * EDITING.priority_ratios[-1]
    return 0.01 * (full / 0.01) ** share


def _minimized(rows, x: NDArray, penalty: float) -> NDArray:
    """Return the minimum of the sum of squares of rows near x, by MINPACK's Levenberg–Marquardt method."""
    last: dict[bytes, tuple[NDArray, NDArray]] = {}

    def padded(value: NDArray) -> tuple[NDArray, NDArray]:
        # the number of rows changes with the violated inequalities: the others are rows of zeros
        key = value.tobytes()
        if key not in last:
            last.clear()
            residual, jacobian = rows(value, penalty)
            extra = MOST_ROWS - len(residual)
            last[key] = np.pad(residual, (0, extra)), np.pad(jacobian, ((0, extra), (0, 0)))
        return last[key]

    return least_squares(
        lambda value: padded(value)[0], x, jac=lambda value: padded(value)[1], method="lm", max_nfev=60, ftol=1e-7,
        xtol=1e-7, gtol=1e-9,
    ).x  # fmt: skip


def _right_jacobian(vector: NDArray) -> NDArray:
    """Return Jr of exp(v + dv) = exp(v)·exp(Jr·dv)."""
    angle = float(np.linalg.norm(vector))
    x, y, z = vector
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    if angle < 1e-5:
        return np.eye(3) - 0.5 * cross
    return np.eye(3) - (1 - np.cos(angle)) / angle**2 * cross + (angle - np.sin(angle)) / angle**3 * cross @ cross


def judge(before: Motion, after: Motion, clip: Clip, contacts, goal: Goal, plants: Sequence[Constraint]) -> dict:
    """Return the figures of one solved goal."""
    character, frame = clip.character, goal.frame
    roles = character.require_roles()
    point = roles[goal.handle]
    missed = float(np.linalg.norm(Kinematics(after[frame : frame + 1]).positions[0, point] - goal.target))
    ends = [role for role in HANDLES[:4] if role in roles]
    turned = np.degrees(np.linalg.norm((after - before)[:, [1 + roles[role] for role in ends]], axis=2))
    for column, role in enumerate(ends):
        if role.endswith("foot"):
            own = set(character.skeleton.descendants(roles[role]))
            for plant in plants:
                if plant.joints[0] in own:
                    turned[plant.activation(np.arange(len(after)), after.fps) > 0, column] = 0.0
            # a sole that would be in the ground turns with it
            low = [n for n, p in enumerate(soles_of(character)) if p.joint in own]
            places = Kinematics(after).points(soles_of(character))[:, low]
            near = (places[..., 1] - contacts.ground.height(places[..., [0, 2]])).min(axis=1) < 0.01
            turned[near, column] = 0.0
    excess = limit_violations(character, after.rotations) - limit_violations(character, before.rotations)
    deeper = depths(after, character, contacts.ground) - depths(before, character, contacts.ground)
    return {
        "missed": missed, "turned": float(turned.max(initial=0.0)),
        "turned_end": float(turned[frame, ends.index(goal.handle)]) if goal.handle in ends else 0.0,
        "excess": float(np.degrees(excess.max(initial=0.0))), "deeper": float(deeper.max(initial=0.0)),
        "cost": displacement_cost(before[frame : frame + 1], after[frame : frame + 1], character),
        "slip": max((float(errors(p, Kinematics(after))[1].max(initial=0.0)) for p in plants), default=0.0),
    }  # fmt: skip


def _at_plants(contacts: Contacts, constraints: Sequence[Constraint], character: Character) -> Contacts:
    """Return contacts at the places where a drag holds them, so that a fit of its motion holds the same ones."""
    held = {(c.point, c.frames.start, c.frames.stop): c.place for c in constraints if isinstance(c, Footplant)}
    plants = (replace(p, place=held[character.contacts[p.point], p.start, p.end]) for p in contacts.plants)
    return replace(contacts, plants=tuple(plants))


def run_clip(name: str, count: int, seed: int) -> list[dict]:
    """Solve the goals of one clip as drags and as fits, and beside them by the general solver."""
    clip = load_clip(name)
    character, contacts = clip.character, find_contacts(clip)
    roles, start = character.require_roles(), begin(clip)
    clip, contacts = replace(clip, motion=start.motion), _at_plants(contacts, start.constraints, character)
    found = []
    for goal in goals_of(clip, count, seed):
        point = Point(roles[goal.handle])
        began = time.process_time()
        dragged = start.drag(goal.frame, point, goal.target)
        seconds = time.process_time() - began
        pin = Position(point=point, target=goal.target, frames=(goal.frame,))
        held = [c for c in dragged.constraints if isinstance(c, Footplant)]
        cost, worst, _ = Oracle(start.motion, character, contacts.ground, [pin, *held], goal.frame).solve()
        plants = [c for c in dragged.constraints if isinstance(c, Footplant)]
        one = judge(start.motion, dragged.motion, clip, contacts, goal, plants)
        own = {"clip": name, "handle": goal.handle, "frame": goal.frame}
        found.append({**own, "as": "drag", **one, "best": cost, "reachable": worst <= MET, "seconds": seconds})
        began = time.process_time()
        solution = fit(clip, [replace(pin, ramp=(0.5, 0.5))], contacts=contacts)
        seconds = time.process_time() - began
        own_foot = set(character.skeleton.descendants(point.joint)) if goal.handle.endswith("foot") else set()
        kept = [c for c in start.constraints if isinstance(c, Footplant) and c.joints[0] not in own_foot]
        if own_foot:
            cost, worst, _ = Oracle(start.motion, character, contacts.ground, [pin, *kept], goal.frame).solve()
        one = judge(start.motion, solution.motion, clip, contacts, goal, kept)
        status = solution.status.name
        found.append(
            {**own, "as": "fit", **one, "best": cost, "reachable": worst <= MET, "seconds": seconds, "status": status}
        )
    return found


def summary(rows: Sequence[dict]) -> dict[str, float]:
    """Return the figures of drags and of fits."""
    figures: dict[str, float] = {}
    for kind in ("drag", "fit"):
        own = [row for row in rows if row["as"] == kind]
        reachable = [row for row in own if row["reachable"]]
        ends = [row["turned_end"] for row in reachable if row["handle"].endswith(("hand", "foot"))]
        ratios = [row["cost"] / row["best"] for row in reachable if row["missed"] <= MET and row["best"] > 1e-3]
        met = [row["missed"] <= MET for row in reachable]
        figures |= {
            f"{kind}.goals": len(own),
            f"{kind}.reachable": len(reachable),
            f"{kind}.reachable_met_share": float(np.mean(met)) if met else 1.0,
            f"{kind}.missed_p99_mm": 1000.0 * _share([row["missed"] for row in reachable], 99),
            f"{kind}.dragged_end_turned_p90_deg": _share(ends, 90),
            f"{kind}.dragged_end_turned_median_deg": _share(ends, 50),
            f"{kind}.any_end_turned_p90_deg": _share([row["turned"] for row in own], 90),
            f"{kind}.new_limit_breaks": sum(row["excess"] > 1.0 for row in own),
            f"{kind}.new_limit_break_worst_deg": max((row["excess"] for row in own), default=0.0),
            f"{kind}.soles_deeper_by_2mm": sum(row["deeper"] > 0.002 for row in own),
            f"{kind}.soles_deeper_worst_mm": 1000.0 * max((row["deeper"] for row in own), default=0.0),
            f"{kind}.displacement_ratio_median": _share(ratios, 50),
            f"{kind}.displacement_ratio_p90": _share(ratios, 90),
            f"{kind}.displacement_ratio_p99": _share(ratios, 99),
            f"{kind}.plants_slip_p99_mm": 1000.0 * _share([row["slip"] for row in reachable], 99),
            f"{kind}.milliseconds_median": 1000.0 * _share([row["seconds"] for row in own], 50),
            f"{kind}.milliseconds_p90": 1000.0 * _share([row["seconds"] for row in own], 90),
        }
    return figures


def _share(values: Sequence[float], percent: float) -> float:
    return float(np.percentile(values, percent)) if len(values) else 0.0


def step_seconds() -> float:
    """Return the CPU seconds of a step of dragging a hand of 464 frames at 30 fps, the smallest of several."""
    from footplant import samples
    from timing import cpu_seconds

    walk = samples.load("walk")
    start = begin((walk.motion.looped(4).resample(FPS)[:464], walk.character))
    hand = Point(walk.character.require_roles()["left_hand"])
    target = Kinematics(start.motion[232]).point(hand)[0] + [0.1, 0.25, 0.1]
    steps = iter(np.linspace(0.0, 0.05, 100_000))
    start.drag(232, hand, target)
    return cpu_seconds(lambda: start.drag(232, hand, target + [0.0, next(steps), 0.0]), repeats=15)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--goals", type=int, default=1000, help="number of goals over all clips")
    parser.add_argument("--clip", action="append", help="only clips whose name contains this")
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    parser.add_argument("--rows", type=Path, help="write every goal's figures to this file, JSON")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    arguments = parser.parse_args()
    names = [name for name in CLIPS if (SHARED / name).exists()] or [f"sample:{name}" for name in SAMPLES]
    if arguments.clip:
        names = [name for name in names if any(part in name for part in arguments.clip)]
    each = -(-arguments.goals // len(names))
    with ProcessPoolExecutor(arguments.jobs) as pool:
        jobs = [pool.submit(run_clip, name, each, 1000 + number) for number, name in enumerate(names)]
        rows = [row for job in jobs for row in job.result()]
    if arguments.rows:
        arguments.rows.write_text(json.dumps(rows, indent=1))
    figures = {**summary(rows), "drag.step_464_frames_ms": 1000.0 * step_seconds()}
    print_figures(figures, as_json=arguments.json)


if __name__ == "__main__":
    main()
