"""A driven character: time of one step with feet held, alone and in the midst of fades."""

from __future__ import annotations

import itertools

from footplant import io, samples
from footplant.kinematics import Kinematics
from footplant.live.controller import build_controller
from footplant.live.motion_set import load_set
from timing import cpu_seconds, main

STEPS = 500


def run() -> dict[str, float]:
    """CPU microseconds of a step of the sample set's controller, per frame and character, feet held."""
    spec = load_set("set:samples")
    assert spec.character is not None
    clips = {name: io.load(name) for name in spec.clips()}
    controller = build_controller(spec, clips, io.load_character(spec.character))
    steady = controller.init(begin="run")
    busy = controller.init(begin="walk")
    names = itertools.cycle([("run", "left"), ("sneak", "straight"), ("walk", "right"), ("limp", "straight")])

    def alone() -> None:
        for _ in range(STEPS):
            controller.step(steady, 1.0 / 60.0)

    def fading() -> None:
        for number in range(STEPS):
            if number % 8 == 0:
                controller.request(busy, *next(names))  # type: ignore[arg-type]
            controller.step(busy, 1.0 / 60.0)

    motion = samples.load("walk").motion
    forward = cpu_seconds(lambda: Kinematics(motion[:]), repeats=50) / len(motion)
    step, fading_step = (cpu_seconds(work, repeats=9) / STEPS for work in (alone, fading))
    return {
        "controller.motions": len(controller.tables.motions),
        "controller.joints": len(controller.character.skeleton),
        "controller.step_microseconds": 1e6 * step,
        "controller.fading_step_microseconds": 1e6 * fading_step,
        "controller.step_times_faster_than_100_forward_kinematics": 100.0 * forward / step,
        "controller.fading_step_times_faster_than_100_forward_kinematics": 100.0 * forward / fading_step,
    }


if __name__ == "__main__":
    main(run)
