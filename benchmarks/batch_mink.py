"""`batch retarget` beside per-frame retargeting with mink (MuJoCo): frames a second on one core, and how feet hold.

mink gets what retargeters built on it do (General Motion Retargeting, GMR): the target's skeleton as a MuJoCo model
with a ball at every joint, and for every frame the places and turns of fourteen body parts of the source, scaled by the
legs, as tasks of a differential inverse kinematics that goes on from the frame before: first the turns, then the
places, each until a step gains next to nothing. Both sides have one thread, and are judged by the same measure.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

# waiting threads of BLAS would count as work: one each, as workers of a batch have it
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))

from timing import main  # noqa: E402

SAMPLES = ("walk", "run", "kick", "turn-left")
CHARACTER, FRAMES, STEPS, STEP = "sally", 480, 10, 0.01
ENOUGH = 1e-3
"""Where steps end that bring no more, as retargeters on mink do it."""
LIMB_PARTS = ("upper_leg", "lower_leg", "foot", "upper_arm", "lower_arm", "hand")
ROLES = ("hips", "head", *(f"{side}_{part}" for side in ("left", "right") for part in LIMB_PARTS))
STAGES = ((50.0, 0.0, 10.0), (100.0, 10.0, 5.0))
"""What the places of hips and feet, all other places, and all turns count: first stage, second stage."""


def model_of(character) -> str:
    """A skeleton as MuJoCo has it: a free root, a ball at every other joint, weightless but for a little."""
    skeleton = character.skeleton
    children = skeleton.children

    def body(joint: int, depth: int) -> str:
        pad = "  " * depth
        place = " ".join(f"{value:.9g}" for value in (skeleton.offsets[joint] if joint else np.zeros(3)))
        kind = "<freejoint/>" if joint == 0 else f'<joint type="ball" name="j{joint}" damping="0.1"/>'
        inside = "".join(body(child, depth + 1) for child in children[joint])
        mass = '<inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>'
        return f'{pad}<body name="b{joint}" pos="{place}">{kind}{mass}\n{inside}{pad}</body>\n'

    return f'<mujoco><option gravity="0 0 0"/><worldbody>\n{body(0, 1)}</worldbody></mujoco>'


def retarget_with_mink(clip, character):
    """The motion on the character, frame after frame, and the seconds of CPU that it took."""
    import mink
    import mujoco

    from footplant import Motion, rotation
    from footplant.kinematics import Kinematics
    from footplant.transfer import leg_ratio, transfer

    skeleton, roles = character.skeleton, character.roles
    model = mujoco.MjModel.from_xml_string(model_of(character))
    guess = transfer(clip.motion, clip.character, character, about=(0.0, 0.0, 0.0))
    wanted, source = Kinematics(guess), Kinematics(clip.motion)
    scale = leg_ratio(clip.character, character)
    stages: tuple[list, ...] = ([], [])
    targets = []
    for role in ROLES:
        joint, theirs = roles.get(role), clip.character.roles.get(role)
        foot = role.endswith("foot")
        for tasks, (ends, places, turns) in zip(stages, STAGES):
            cost = ends if foot or role == "hips" else places
            tasks.append(
                mink.FrameTask(f"b{joint}", "body", position_cost=cost, orientation_cost=turns, lm_damping=1.0)
            )
        places = scale * source.positions[:, theirs] if foot else wanted.positions[:, joint]
        targets.append((places, wanted.rotations[:, joint]))
    # MuJoCo numbers joints in the order of its tree
    order = np.argsort([0, *(model.joint(f"j{joint}").qposadr[0] for joint in range(1, len(skeleton)))])
    data = mink.Configuration(model)
    root, rotations = np.empty_like(guess.root), np.empty_like(guess.rotations)
    started = time.process_time()
    for frame in range(len(guess)):
        if frame == 0:
            data.update(np.concatenate([guess.root[frame], guess.rotations[frame, order].ravel()]))
        for tasks in stages:
            for task, (places, turns) in zip(tasks, targets, strict=True):
                task.set_target(mink.SE3(np.concatenate([turns[frame], places[frame]])))
            error = np.inf
            for _ in range(1 + STEPS):
                velocity = mink.solve_ik(data, tasks, STEP, "daqp", damping=0.5, limits=[])
                data.integrate_inplace(velocity, STEP)
                before, error = error, float(np.linalg.norm([task.compute_error(data) for task in tasks]))
                if before - error < ENOUGH:
                    break
        root[frame], rotations[frame, order] = data.q[:3], data.q[3:].reshape(-1, 4)
    seconds = time.process_time() - started
    return Motion(skeleton, root, rotation.normalize(rotations), clip.motion.fps), seconds


def run() -> dict[str, float]:
    """Frames a second and drift of plants, ours and mink's, on the same clips in the same run."""
    try:
        import mink  # noqa: F401
    except ImportError:
        return {}
    from footplant import save
    from footplant.batch.jobs import Task, perform
    from footplant.contacts.detection import find_contacts
    from footplant.io import load, load_character
    from footplant.quality.measure import measure
    from footplant.samples import load as sample

    character = load_character(f"sample:{CHARACTER}")
    ours = theirs = frames = 0.0
    drift: dict[str, list[float]] = {"ours": [], "mink": []}
    with tempfile.TemporaryDirectory() as place:
        for name in SAMPLES:
            clip = sample(name)
            part = clip.motion[:FRAMES]
            path = Path(place) / f"{name}.bvh"
            save(path, part, character=clip.character)
            clip = load(path)
            task = Task(name, "retarget", str(path), str(Path(place) / f"{name}.glb"), f"sample:{CHARACTER}")
            perform(task)
            best = float("inf")
            for _ in range(3):
                started = time.process_time()
                outcome = perform(task)
                best = min(best, time.process_time() - started)
            assert outcome["status"] == "done", outcome
            ours, frames = ours + best, frames + len(part)
            drift["ours"].append(outcome["after"]["worst_drift"])
            motion, seconds = retarget_with_mink(clip, character)
            theirs += seconds
            judged = measure(motion, character, find_contacts(clip), against=clip)
            assert judged.worst_plant is not None
            drift["mink"].append(judged.worst_plant.drift)
    return {
        "batch.retarget.frames_per_second": frames / ours,
        "batch.retarget.mink_frames_per_second": frames / theirs,
        "batch.retarget.times_faster_than_mink": theirs / ours,
        "batch.retarget.worst_drift_mm": max(drift["ours"]),
        "batch.retarget.mink_worst_drift_mm": max(drift["mink"]),
        "batch.retarget.mink_median_worst_drift_mm": float(np.median(drift["mink"])),
    }


if __name__ == "__main__":
    main(run)
