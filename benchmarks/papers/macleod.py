"""Chapter 3 of Macleod, "Skeletal Character Animation within a Virtual Environment" (2006): it has pictures, no tables.

Section 3.1: walk, sneak, limp, run and two turns registered to one reference. Section 3.2: a sweep of weights from
running to sneaking (figures 10 to 12), and opposite turns half and half. Section 3.3: kick and punch between gaits, by
a state machine that takes 200 requests; section 4.1 tells of a large turn in one frame there. Section 1.1.2: a joint
twisted by 180 degrees (figure 5). What is measured is what the thesis claims or misses in words.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from footplant import io, rotation, samples
from footplant.blending.blend import WeightCurve, blend, timeline
from footplant.blending.compose import RootPath, root_reference
from footplant.blending.matching import match
from footplant.blending.registration import register
from footplant.kinematics import Kinematics
from footplant.live.controller import build_controller
from footplant.live.motion_set import load_set
from footplant.motion import Motion
from footplant.skeleton import Skeleton, Skin
from footplant.skinning import dual_quaternion, linear_blend
from timing import cpu_seconds, main

GAITS = ("walk", "sneak", "limp", "run", "turn-left", "turn-right")
WEIGHTS = np.linspace(0.0, 1.0, 9)
FPS, REQUESTS = 60.0, 200


def run() -> dict[str, float]:
    """Registration, weight sweeps, the state machine and the twisted joint."""
    return registration() | sweep() | state_machine() | candy_wrapper()


def registration() -> dict[str, float]:
    """Section 3.1: foot strikes after the time warp, and that warps are strictly monotone."""
    clips = {name: samples.load(name) for name in GAITS}
    errors = np.concatenate([match(clips["walk"], clips[name]).strike_errors for name in GAITS[1:]])
    found = register(list(clips.values()), reference=0)
    seconds = np.linspace(found.curve.start, found.curve.stop, 400)
    slopes = np.diff(found.curve(seconds), axis=0) / np.diff(seconds)[:, None]
    return {
        "macleod.registration.motions": len(clips),
        "macleod.registration.curves": len(clips) - 1,
        "macleod.registration.worst_strike_ms": 1000.0 * float(np.abs(errors).max()),
        "macleod.registration.least_slope": float(slopes.min()),
        "macleod.registration.seconds": cpu_seconds(lambda: register(list(clips.values()), reference=0), repeats=2),
    }


def sweep() -> dict[str, float]:
    """Section 3.2: planted feet at every weight, time that runs forward, and turns that do not collapse."""
    pair = register([samples.load("run"), samples.load("sneak")], reference=0)
    worst, free, backwards = 0.0, 0.0, float("inf")
    for weight in WEIGHTS:
        shares = [1.0 - weight, weight]
        for method in ("hierarchical", None):
            after = blend(pair, shares, fps=30.0, method=method).report.after
            drift = after.worst_plant.drift if after and after.worst_plant else 0.0
            worst, free = (max(worst, drift), free) if method else (worst, max(free, drift))
        backwards = min(backwards, float(np.diff(timeline(pair, WeightCurve.of(shares, 2), 120.0)[0], axis=0).min()))
    left, right = samples.load("turn-left"), samples.load("turn-right")
    turns = blend(register([left, right], reference=0), [0.5, 0.5], fps=30.0).motion
    return {
        "macleod.sweep.weights": len(WEIGHTS),
        "macleod.sweep.worst_drift_mm": worst,
        "macleod.sweep.worst_drift_without_constraints_mm": free,
        "macleod.sweep.least_time_step_ms": 1000.0 * backwards,
        "macleod.turns.travelled_share": _way(turns) / (0.5 * (_way(left.motion) + _way(right.motion))),
    }


def _way(motion: Motion) -> float:
    return float(np.linalg.norm(np.diff(motion.root[:, ::2], axis=0), axis=1).sum())


def state_machine() -> dict[str, float]:
    """Section 3.3: 200 requests at random moments; the largest turn in one frame, against that of the clips."""
    spec = load_set("set:samples")
    assert spec.character is not None
    clips = {name: io.load(name) for name in spec.clips()}
    controller = build_controller(spec, clips, io.load_character(spec.character))
    rng, state = np.random.default_rng(2006), controller.init()
    roots, poses, sums = [], [], []
    for _ in range(REQUESTS):
        controller.request(state, str(rng.choice(controller.names)), str(rng.choice(["left", "straight", "right"])))  # type: ignore[arg-type]
        for _ in range(int(rng.integers(1, 25))):
            _, pose = controller.step(state, 1.0 / FPS)
            roots.append(pose.root.copy())
            poses.append(pose.rotations.copy())
            sums.append(state.weights.sum())
    made = Motion(controller.character.skeleton, np.array(roots), rotation.normalize(np.array(poses)), FPS)
    reference = root_reference(controller.character)
    turned = np.abs(np.diff(RootPath.of(made, reference).heading)).max()
    own = max(
        np.abs(np.diff(RootPath.of(clip.motion.resample(FPS), reference).heading)).max() for clip in clips.values()
    )
    return {
        "macleod.state_machine.requests": REQUESTS,
        "macleod.state_machine.turn_in_a_frame_over_the_clips": float(turned / own),
        "macleod.state_machine.sum_of_weights_off": float(np.abs(np.array(sums) - 1.0).max()),
    }


def candy_wrapper() -> dict[str, float]:
    """Figure 5: what is left of the radius of a tube whose joint is twisted by 180 degrees."""
    skeleton = Skeleton(("a", "b"), np.array([-1, 0]), np.array([[0.0, 0, 0], [1.0, 0, 0]]))
    along, angle = np.repeat(np.linspace(0.0, 2.0, 21), 16), np.tile(2 * np.pi * np.arange(16) / 16, 21)
    vertices = np.stack([along, 0.1 * np.cos(angle), 0.1 * np.sin(angle)], -1)
    share = np.clip(along - 0.5, 0.0, 1.0)
    bind = np.tile(np.eye(4), (2, 1, 1))
    bind[1, 0, 3] = -1.0
    weights = np.stack([1.0 - share, share], -1)
    skin = Skin(vertices, np.zeros((0, 3)), np.tile([0, 1], (len(vertices), 1)), weights, bind)
    turns = rotation.identity(1, 2)
    turns[0, 1] = rotation.from_axis_angle(rotation.AXES["x"], np.array(np.pi))
    kinematics = Kinematics(Motion(skeleton, np.zeros((1, 3)), turns))
    middle = np.isclose(along, 1.0)
    linear, dual = (
        float(np.linalg.norm(pose(skin, kinematics)[0, middle, 1:], axis=-1).mean() / 0.1)
        for pose in (linear_blend, dual_quaternion)
    )
    return {"macleod.twist.radius_left_linear": linear, "macleod.twist.radius_left_dual_quaternion": dual}


if __name__ == "__main__":
    main(run)
