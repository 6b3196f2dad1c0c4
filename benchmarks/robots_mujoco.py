"""Clips on robots, judged by MuJoCo alone, beside a retargeter on mink that follows GMR's published algorithm.

    python benchmarks/robots_mujoco.py --robots g1.xml h1.xml --clips 02_01 16_01 --mink

What should stand comes from the judge beside the repository (shared/judge): joints of the source that are still. All
else is MuJoCo's: forward kinematics, distances of geoms from the floor and from one another, ranges, and inverse
dynamics for the zero-moment point. Meshes that are not beside a robot's file are left out for all. mink gets what GMR
does: for every frame the places and turns of body parts, scaled by the legs, first turns, then places, each until a
step gains next to nothing, within the joints' ranges, starting from the frame before; at last the motion is put on the
floor. Both have one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
SHARED = Path(os.environ.get("FOOTPLANT_SHARED_DATA") or ROOT.parent / "shared" / "data")
FPS = 30.0
FRAMES = 300
"""Most frames of a clip."""
ROBOTS = (
    "unitree_g1/g1.xml", "unitree_g1/g1_29dof_rev_1_0.urdf", "unitree_h1/h1.xml", "booster_t1.xml", "fourier_n1.xml",
    "icub.urdf", "dm_humanoid_CMU_V2020.xml", "mujoco_humanoid.xml", "pybullet_humanoid.urdf",
)  # fmt: skip
WALKS = ("02_01", "35_01", "104_02", "18_01", "19_01", "120_09")
OTHERS = (
    "09_01", "16_01", "05_02", "55_02", "60_01", "61_01", "49_06", "69_70", "115_02", "20_10", "21_10", "18_15",
    "74_03", "144_20", "127_29", "111_03", "88_01", "143_23", "141_28", "86_01",
)  # fmt: skip
"""Runs, jumps, dances, a cartwheel, a crawl, a fall with getting up, kicks and punches, on flat ground."""
LIMBS = (("hip", "knee"), ("knee", "ankle"), ("shoulder", "elbow"), ("elbow", "wrist"))
SOURCE = {
    "hip": "UpLeg", "knee": "Leg", "ankle": "Foot", "shoulder": "Arm", "elbow": "ForeArm", "wrist": "Hand",
    "toe": "ToeBase",
}  # fmt: skip
SIDES = ("left", "right")
LOW = 0.05
"""Body heights above its lowest place below which a still joint stands."""
Z_UP = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
STAGES = ((50.0, 0.0, 10.0), (100.0, 10.0, 5.0))
"""mink: what the places of pelvis and feet, all other places, and all turns count, in the first and second stage."""


def mujoco_model(path: Path):
    """MuJoCo's model of a robot that floats over a floor; geoms whose mesh is missing are left out."""
    import mujoco

    root = ElementTree.fromstring(path.read_bytes().rstrip(b"\0"))
    for parent in list(root.iter()):
        for child in list(parent):
            drawn = (
                child.tag == "geom" and parent.tag != "default" and (child.get("mesh") or child.get("type") == "mesh")
            )
            if (child.tag == "mesh" and parent.tag == "asset") or drawn or child.find("geometry/mesh") is not None:
                parent.remove(child)
        if parent.tag == "default":
            for geom in parent.findall("geom"):
                if geom.get("type") == "mesh":
                    del geom.attrib["type"]
    if root.tag == "robot":
        for old in root.findall("mujoco"):
            root.remove(old)
        options = {"fusestatic": "true", "balanceinertia": "true", "boundmass": "1e-4", "boundinertia": "1e-7"}
        ElementTree.SubElement(ElementTree.SubElement(root, "mujoco"), "compiler", options)
        children = {joint.find("child").get("link") for joint in root.findall("joint")}
        base = next(link.get("name") for link in root.findall("link") if link.get("name") not in children)
        below = [joint for joint in root.findall("joint") if joint.find("parent").get("link") == base]
        while len(below) == 1 and below[0].get("type") == "fixed":
            base = below[0].find("child").get("link")
            root.remove(below[0])
            below = [joint for joint in root.findall("joint") if joint.find("parent").get("link") == base]
        keep = {base} | {joint.find("child").get("link") for joint in root.findall("joint")}
        for link in root.findall("link"):
            if link.get("name") not in keep:
                root.remove(link)
        ElementTree.SubElement(root, "link", {"name": "the_world"})
        joint = ElementTree.SubElement(root, "joint", {"name": "the_base", "type": "floating"})
        ElementTree.SubElement(joint, "parent", {"link": "the_world"})
        ElementTree.SubElement(joint, "child", {"link": base})
    else:
        bodies = [body for world in root.findall("worldbody") for body in world.findall("body")]
        if not any(body.find("freejoint") is not None for body in bodies) and not any(
            joint.get("type") == "free" for body in bodies for joint in body.findall("joint")
        ):
            bodies[0].insert(0, ElementTree.Element("freejoint"))
        for world in root.findall("worldbody"):
            for geom in world.findall("geom"):
                world.remove(geom)
        for tag in ("keyframe",):
            for each in root.findall(tag):
                root.remove(each)
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(root).decode())
    spec.worldbody.add_geom(name="the_floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1])
    return spec.compile()


def stances(source: Path) -> tuple[dict[str, np.ndarray], list[tuple[str, int, int]]]:
    """Source joints by part, (F, 3) with z up, and where joints of the feet are still and low: side, first, end."""
    sys.path.insert(0, str(SHARED.parent / "judge"))
    from measures import still_stances
    from read_bvh import read_bvh

    clip = read_bvh(source)
    places = {
        f"{side}_{part}": clip.positions[:, clip.names.index(side.capitalize() + word)] @ Z_UP.T
        for side in SIDES
        for part, word in SOURCE.items()
        if side.capitalize() + word in clip.names
    }
    height = 1.7 / _height(clip)
    found = []
    for side in SIDES:
        for part in ("ankle", "toe"):
            joint = places.get(f"{side}_{part}")
            if joint is None:
                continue
            low = joint[:, 2] - np.percentile(joint[:, 2], 2) < LOW * 1.7 / height
            for start, end in still_stances(joint * height, clip.dt):
                if low[start:end].mean() > 0.8:
                    found.append((side, start, end))
    return places, found


def _height(clip) -> float:
    """A source's height from its legs, in its own unit."""
    up, knee, foot = (clip.names.index(f"Left{word}") for word in ("UpLeg", "Leg", "Foot"))
    legs = [
        np.linalg.norm(clip.positions[:, a] - clip.positions[:, b], axis=1).mean()
        for a, b in ((up, knee), (knee, foot))
    ]
    return float(sum(legs)) / 0.5


def judge(model, qpos: np.ndarray, centers, feet, places, standing, speeds) -> dict[str, float]:
    """Figures of one motion. centers: part → (body, place); feet: side → (body, points); speeds: joint → rad/s."""
    import mujoco

    data = mujoco.MjData(model)
    floor = model.geom("the_floor").id
    solids = [g for g in range(model.ngeom) if g != floor and (model.geom_contype[g] or model.geom_conaffinity[g])]
    frames = len(qpos)
    ends = {name: np.zeros((frames, 3)) for name in centers}
    soles = {side: np.zeros((frames, len(points), 3)) for side, (_, points) in feet.items()}
    lowest, deepest = np.zeros(frames), np.zeros(frames)
    data.qpos[:] = qpos[0]
    data.qpos[7:] = model.qpos0[7:]
    data.qpos[2] = 10.0
    mujoco.mj_forward(model, data)
    at_rest = {tuple(sorted(data.contact[c].geom)) for c in range(data.ncon)}
    for frame in range(frames):
        data.qpos[:] = qpos[frame]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_collision(model, data)
        for name, (body, place) in centers.items():
            ends[name][frame] = data.body(body).xpos + data.body(body).xmat.reshape(3, 3) @ place
        for side, (body, points) in feet.items():
            soles[side][frame] = data.body(body).xpos + points @ data.body(body).xmat.reshape(3, 3).T
        heights = [mujoco.mj_geomDistance(model, data, floor, geom, 1.0, None) for geom in solids]
        lowest[frame] = min([*heights, *(float(sole[frame, :, 2].min()) for sole in soles.values())])
        depth = [
            data.contact[c].dist
            for c in range(data.ncon)
            if floor not in data.contact[c].geom and tuple(sorted(data.contact[c].geom)) not in at_rest
        ]
        deepest[frame] = min(depth, default=0.0)
    drifts, moving = [], []
    for side, start, end in standing:
        paths = soles[side][start:end, :, :2]
        away = np.linalg.norm(paths - paths.mean(axis=0), axis=2).max(axis=0)
        best = int(away.argmin())
        drifts.append(1000.0 * float(away[best]))
        moving.append(np.linalg.norm(np.diff(paths[:, best], axis=0), axis=1) * FPS)
    hinges = [j for j in range(model.njnt) if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_HINGE]
    angles = qpos[:, [model.jnt_qposadr[j] for j in hinges]]
    limits = np.array([model.jnt_range[j] if model.jnt_limited[j] else (-np.inf, np.inf) for j in hinges])
    outside = np.maximum(limits[:, 0] - angles, angles - limits[:, 1])
    change = np.abs(np.diff(angles, axis=0))
    fastest = np.array([speeds.get(model.joint(j).name, np.inf) for j in hinges])
    jerk = np.diff(angles, 3, axis=0) * FPS**3
    outside_support = zero_moment(model, data, qpos, soles, standing)
    return {
        "drift_mm": max(drifts, default=0.0), "drift_p90_mm": float(np.percentile(drifts, 90)) if drifts else 0.0,
        "stances": len(drifts),
        "skating": float(np.mean(np.concatenate(moving) > 0.01)) if moving else 0.0,
        "floor_mm": max(0.0, -1000.0 * float(lowest.min())), "ranges": int((outside > 1e-3).sum()),
        "speeds": int((change * FPS > fastest * 1.001).sum()), "jumps": int((change > 0.5).sum()),
        "self_collision": float(np.mean(deepest < -0.002)), "self_mm": -1000.0 * float(deepest.min()),
        "jerk": float(np.percentile(np.sqrt((jerk**2).mean(axis=1)), 95)), "limbs_deg": limbs_off(ends, places),
        "zmp_outside": outside_support,
    }  # fmt: skip


def limbs_off(ends: dict[str, np.ndarray], places: dict[str, np.ndarray]) -> float:
    """Mean angle between limbs of the robot and of the source, degrees; both: part → (F, 3)."""
    off = []
    for side in SIDES:
        for above, below in LIMBS:
            keys = (f"{side}_{above}", f"{side}_{below}")
            if all(key in ends and key in places for key in keys):
                ours, theirs = ends[keys[1]] - ends[keys[0]], places[keys[1]] - places[keys[0]]
                theirs = theirs[: len(ours)]
                cosine = (ours * theirs).sum(axis=1) / np.linalg.norm(ours, axis=1)
                off.append(np.degrees(np.arccos(np.clip(cosine / np.linalg.norm(theirs, axis=1), -1, 1))))
    return float(np.mean(off))


def zero_moment(model, data, qpos, soles, standing) -> float:
    """Share of standing frames whose zero-moment point is more than 3 cm outside the feet that stand."""
    import mujoco
    from scipy.spatial import ConvexHull, QhullError

    frames, dt = len(qpos), 1.0 / FPS
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    velocity = np.zeros((frames - 1, model.nv))
    for frame in range(frames - 1):
        mujoco.mj_differentiatePos(model, velocity[frame], dt, qpos[frame], qpos[frame + 1])
    out = count = 0
    for frame in range(2, frames - 2):
        sides = {side for side, start, end in standing if start <= frame < end}
        if not sides:
            continue
        data.qpos[:] = qpos[frame]
        data.qvel[:] = 0.5 * (velocity[frame] + velocity[frame - 1])
        data.qacc[:] = (velocity[frame] - velocity[frame - 1]) / dt
        mujoco.mj_inverse(model, data)
        force, torque = data.qfrc_inverse[:3], data.xmat[1].reshape(3, 3) @ data.qfrc_inverse[3:6]
        if force[2] < 0.2 * 9.81 * model.body_subtreemass[0]:
            continue
        base = data.xpos[1]
        point = np.array(
            [
                base[0] - (torque[1] + base[2] * force[0]) / force[2],
                base[1] + (torque[0] - base[2] * force[1]) / force[2],
            ]
        )
        corners = np.concatenate([soles[side][frame, :, :2] for side in sides])
        try:
            hull = ConvexHull(corners)
            away = float((hull.equations[:, :2] @ point + hull.equations[:, 2]).max())
        except (QhullError, ValueError):
            away = float(np.linalg.norm(corners - point, axis=1).min())
        count += 1
        out += away > 0.03
    model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    return out / max(count, 1)


def best_limbs(model, goals, centers, places) -> float:
    """Mean angle, degrees, by which limbs that nothing else is asked of are off, within ranges and speeds alone.

    Pelvis and chest turn as in the source. Footplants, floor, self-distance, balance and smoothness are left out: what
    is still off is the robot's own, whatever solves it. The better of two first guesses is taken.
    """
    import mujoco

    from footplant.mechanism.motion import RobotMotion
    from footplant.solve.robot.settings import ROBOT_SETTINGS
    from footplant.solve.robot.solve import solve_robot

    high = {name: at + [0.0, 0.0, 100.0] for name, at in goals.positions.items()}
    alone = replace(goals, positions=high, plants=(), palms=(), ground=None)
    data, found = mujoco.MjData(model), []
    for posture in (ROBOT_SETTINGS.guess_posture, ROBOT_SETTINGS.posture):
        settings = replace(
            ROBOT_SETTINGS, pelvis=1e-3, ankle=1e-6, pelvis_turn=100.0, chest_turn=100.0, waist_turn=100.0,
            foot_turn=1e-5, hand_turn=1e-5, head_turn=1e-5, posture=1e-5, guess_posture=posture, smooth=1e-4,
            smooth_base=1e-4, balance=0, near=-1.0,
        )  # fmt: skip
        motion = RobotMotion(goals.body.mechanism, solve_robot(alone, settings).states, goals.fps)
        ends = {name: np.zeros((len(motion), 3)) for name in centers}
        for frame, state in enumerate(motion.qpos()):
            data.qpos[:] = state
            mujoco.mj_kinematics(model, data)
            for name, (body, place) in centers.items():
                ends[name][frame] = data.body(body).xpos + data.body(body).xmat.reshape(3, 3) @ place
        found.append(limbs_off(ends, places))
    return min(found)


def solve_with_mink(clip, body, model) -> tuple[np.ndarray, float]:
    """MuJoCo's coordinates of every frame, as GMR would find them, and the seconds of CPU that it took."""
    import mink

    from footplant import rotation
    from footplant.kinematics import Kinematics
    from footplant.solve.robot.goals import goals_of
    from footplant.transfer import leg_ratio, transfer

    guess = transfer(clip.motion, clip.character, body.proxy, about=(0.0, 0.0, 0.0))
    scale = leg_ratio(clip.character, body.proxy)
    goals = goals_of(body, guess, [], 0.0)
    source = Kinematics(clip.motion).positions @ Z_UP.T * scale
    carriers = {name: point.link for name, point in body.centers.items()}
    if "torso" in goals.turns:
        carriers["torso"] = body.chest
    tasks: list[list] = [[], []]
    targets = []
    for name, link in carriers.items():
        joint = name if name in goals.turns else "pelvis"
        number = next(b for b in range(len(body.mechanism.bodies)) if body.links.body_links[b] == link)
        offset = np.array(body.centers[name].place) if name in body.centers else np.zeros(3)
        end = name == "pelvis" or name.endswith("ankle")
        for stage, (ends, others, turns) in zip(tasks, STAGES):
            stage.append(
                mink.FrameTask(
                    body.mechanism.bodies[number], "body", position_cost=ends if end else others,
                    orientation_cost=turns, lm_damping=1.0,
                )
            )  # fmt: skip
        matrices = goals.link_turns(joint, link)
        places = goals.positions.get(name, goals.positions["pelvis"]).copy()
        if name.endswith("ankle"):
            places = source[:, clip.character.roles[name.replace("ankle", "foot")]]
        # a body's own origin, from the centre of the joint that is asked for
        in_link = offset - body.links.body_places[number]
        places = places - np.einsum("fij,j->fi", matrices, in_link)
        own = rotation.to_matrix(body.links.body_turns[number])
        targets.append((places, rotation.from_matrix(matrices @ own)))
    data = mink.Configuration(model)
    limits = [mink.ConfigurationLimit(model)]
    out = np.empty((len(guess), model.nq))
    start = model.qpos0.copy()
    start[:3], start[3:7] = goals.positions["pelvis"][0], rotation.from_matrix(goals.link_turns("pelvis", 0))[0]
    data.update(start)
    started = time.process_time()
    for frame in range(len(guess)):
        for stage in tasks:
            for task, (places, turns) in zip(stage, targets):
                task.set_target(mink.SE3(np.concatenate([turns[frame], places[frame]])))
            error = np.inf
            for _ in range(11 if frame else 60):
                velocity = mink.solve_ik(data, stage, 0.02, "daqp", damping=0.5, limits=limits)
                data.integrate_inplace(velocity, 0.02)
                before, error = (
                    error,
                    float(np.linalg.norm([np.linalg.norm(task.compute_error(data)) for task in stage])),
                )
                if before - error < 1e-3 and frame:
                    break
        out[frame] = data.q
    return out, time.process_time() - started


def on_floor(model, qpos: np.ndarray, feet) -> np.ndarray:
    """The motion raised so that the soles' usual height is the floor's."""
    import mujoco

    data, heights = mujoco.MjData(model), []
    for state in qpos:
        data.qpos[:] = state
        mujoco.mj_kinematics(model, data)
        heights.append(
            min(
                float((data.body(body).xpos + points @ data.body(body).xmat.reshape(3, 3).T)[:, 2].min())
                for body, points in feet.values()
            )
        )
    out = qpos.copy()
    out[:, 2] -= np.percentile(heights, 20)
    return out


def run(robots, clips, use_mink: bool, use_best: bool, folder: Path) -> list[dict]:
    """Figures of every clip on every robot."""
    import footplant
    from footplant import rotation
    from footplant.edits.robot import as_robot, retarget_robot

    rows = []
    sources = {}
    for name in clips:
        clip = footplant.load(SHARED / "bvh" / "cmu" / f"{name}.bvh")
        # frame 0 of these files is an added T-pose
        motion = clip.motion[4:].resample(FPS)
        path = folder / f"{name}.bvh"
        footplant.save(path, motion[: min(len(motion), FRAMES)], character=clip.character)
        sources[name] = (path, *stances(path))
    for robot in robots:
        path = SHARED / "robots" / robot
        body, model = as_robot(path), mujoco_model(path)
        names = body.mechanism.bodies

        def on_body(link: int, place, body=body, names=names):
            number = next(b for b in range(len(names)) if body.links.body_links[b] == link)
            local = np.asarray(place) - body.links.body_places[number]
            return names[number], rotation.rotate(rotation.inverse(body.links.body_turns[number]), local)

        centers = {name: on_body(point.link, point.place) for name, point in body.centers.items()}
        feet = {}
        for side, sole in body.soles.items():
            found = [on_body(sole.link, point) for point in (*sole.points, sole.heel, sole.toe)]
            feet[side] = (found[0][0], np.array([place for _, place in found]))
        speeds = {joint.name: joint.velocity for joint in body.mechanism.joints}
        for name, (source, places, standing) in sources.items():
            clip = footplant.load(source)
            best = np.inf
            for _ in range(2):
                started = time.process_time()
                made = retarget_robot(clip, body)
                best = min(best, time.process_time() - started)
            solved = [("footplant", made.motion.qpos(), best)]
            if use_mink:
                qpos, seconds = solve_with_mink(clip, body, model)
                solved.append(("mink", on_floor(model, qpos, feet), seconds))
            for method, qpos, seconds in solved:
                figures = judge(model, qpos, centers, feet, places, standing, speeds)
                figures["frames_per_second"] = len(qpos) / seconds
                if method == "footplant" and use_best:
                    figures["best_limbs_deg"] = best_limbs(model, made.goals, centers, places)
                rows.append({"robot": robot, "clip": name, "method": method, "walk": name in WALKS, **figures})
                shown = ", ".join(f"{key} {value:.4g}" for key, value in figures.items())
                print(f"{robot} {name} {method}: {shown}", file=sys.stderr, flush=True)
    return rows


def table(rows: list[dict]) -> str:
    """Median and worst over clips, a line for each robot and method."""
    keys = (
        "drift_mm",
        "skating",
        "floor_mm",
        "ranges",
        "speeds",
        "jumps",
        "self_collision",
        "jerk",
        "limbs_deg",
        "zmp_outside",
    )
    lines = ["| robot | method | clips | " + " | ".join(keys) + " | frames/s |", "|" + "---|" * (len(keys) + 4)]
    for robot in dict.fromkeys(row["robot"] for row in rows):
        for method in ("footplant", "mink"):
            own = [row for row in rows if (row["robot"], row["method"]) == (robot, method)]
            for label, some in (
                ("walks", [r for r in own if r["walk"]]),
                ("others", [r for r in own if not r["walk"]]),
            ):
                if some:
                    cells = [
                        f"{np.median([r[key] for r in some]):.3g} ({max(r[key] for r in some):.3g})" for key in keys
                    ]
                    speed = f"{np.median([r['frames_per_second'] for r in some]):.0f}"
                    lines.append(f"| {robot} | {method} | {len(some)} {label} | " + " | ".join([*cells, speed]) + " |")
    return "\n".join(lines)


def best_table(rows: list[dict]) -> str:
    """Limbs as solved beside the best that joints allow, a line for each pair that is off by more than 3 degrees."""
    lines = ["| robot | clip | limbs_deg | best_limbs_deg |", "|---|---|---|---|"]
    for row in rows:
        if row["limbs_deg"] > 3.0 and "best_limbs_deg" in row:
            lines.append(f"| {row['robot']} | {row['clip']} | {row['limbs_deg']:.1f} | {row['best_limbs_deg']:.1f} |")
    return "\n".join(lines)


def main() -> None:
    """Print a table, median (worst) over clips; progress goes to standard error."""
    import tempfile

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--robots", nargs="*", default=ROBOTS)
    parser.add_argument("--clips", nargs="*", default=(*WALKS, *OTHERS))
    parser.add_argument("--mink", action="store_true", help="also solve with mink")
    parser.add_argument("--best", action="store_true", help="also solve limbs alone: the best that joints allow")
    parser.add_argument("--json", metavar="FILE", help="write all figures")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = run(given.robots, given.clips, given.mink, given.best, Path(folder))
    if given.json:
        Path(given.json).write_text(json.dumps(rows, indent=1))
    print(table(rows))
    if given.best:
        print(best_table(rows))


if __name__ == "__main__":
    main()
