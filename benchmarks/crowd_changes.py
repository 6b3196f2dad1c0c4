"""The fight scene many times over, with bodies, motions, goals, priorities and ground changed while it runs.

Every frame is timed with the changes that fall into it. "changed": at every third of a second one character gets
another body and another gait of its motion, the targets of a tenth of the goals move, one goal's priority changes, and
the ground tilts. "rebuilt": one character gets another body, an actor comes with a motion of its own and a goal on
another one, one that came before goes, a goal of one of the fighters comes and goes, and the ground is a slope, a lift,
a rolling deck, stairs or a conveyor by turns. All of it eases in. Bodies are measured and their motions scaled ahead
(`Crowd.prepare`), which is timed by itself. Printed: the median, the 99th percentile and the worst frame, and how many
characters one core plays at 30 Hz by each of them; goals that are missed by more than a centimetre; how deep bodies are
in one another.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent / "papers"))

from kulpa import scene

from footplant.grounds import slope
from footplant.humanoid.proportions import apply_proportions
from footplant.live.crowd import Crowd
from footplant.live.crowd_apart import deepest
from footplant.live.crowd_reader import crowd_ground
from footplant.live.crowd_scene import FLOOR, CrowdActor, Goal, repeated
from footplant.skeleton import Point
from timing import main

RATE, COPIES, EVERY = 30.0, 25, 10
"""Frames a second, copies of the scene, and frames between changes."""
APART = 30
"""Priority of keeping bodies apart: above the centre of mass (20), below kicks, punches and dodges (40 to 60)."""


GROUNDS = ("slope:2", "moving:lift:0.3:1", "level", "moving:deck:2:2", "stairs:0.02:2", "moving:conveyor:0.2")
"""Grounds of "rebuilt", by turns."""


class Rebuilding:
    """Changes who is in a crowd and what they do."""

    def __init__(self, crowd: Crowd, rng: np.random.Generator) -> None:
        self._crowd, self._rng, self._turn = crowd, rng, 0
        self._first, self._acts = len(crowd.scene.actors), [actor.acts[0] for actor in crowd.scene.actors]
        self._came: list[int] = []
        self._goals: list[int] = []

    def prepare(self) -> list:
        """Scale motions to bodies, ahead."""
        crowd, number = self._crowd, int(self._rng.integers(self._first))
        actor = crowd.scene.actors[number]
        body = apply_proportions(actor.character, legs=float(self._rng.uniform(0.95, 1.05)))
        act = replace(self._acts[int(self._rng.integers(self._first))])
        self._turn += 1
        extra = CrowdActor(f"extra {self._turn}", body, (act,), (15.0, 2.0 * (self._turn % 6)))
        return [
            (number, crowd.prepare(number, replace(actor, character=body, acts=(*actor.acts,)))),
            crowd.prepare_new(extra), crowd_ground(GROUNDS[self._turn % len(GROUNDS)], 20.0),
        ]  # fmt: skip

    def apply(self, ready: list, frame: int) -> None:
        """Change the crowd."""
        (number, recast), extra, ground = ready
        crowd, since = self._crowd, frame / self._crowd.scene.fps
        crowd.recast(number, recast)
        if len(self._came) > 1:
            crowd.remove_actor(self._came.pop(0))
        self._came.append(crowd.add_actor(extra))
        if self._goals:
            crowd.remove_goals([self._goals.pop()])
        hand = Point(extra.actor.character.require_roles()["left_hand"])
        x, z = crowd.scene.actors[number].place
        reach = Goal(actor=number, point=hand, target=(x, 1.2, z), priority=25, start=since + 0.3, clock=True)
        follow = replace(reach, actor=self._came[-1], of=(number, Point(0)), target=(0.0, 0.0, 0.3), priority=10)
        self._goals = crowd.add_goals([follow, reach])[1:]
        crowd.set_ground(ground)


def fight(change: str, apart: bool, seed: int = 1) -> tuple[np.ndarray, list[float], float, float]:
    """(CPU seconds of each frame, of each preparation, worst goal (m), deepest overlap (m)) of the repeated fight.

    seed: of the changes.
    """
    one = scene("fight")
    crowd = Crowd(repeated(replace(one, apart=APART if apart else None), COPIES))
    state, taken, prepared = crowd.init(), [], []
    rng, reach = np.random.default_rng(seed), [n for n, g in enumerate(crowd.scene.goals) if g.kind == "reach"]
    worst, deep, ready, rebuilding = 0.0, 0.0, [], Rebuilding(crowd, rng)
    for step, frame in enumerate(range(0, one.frames, round(one.fps / RATE))):
        if change == "rebuilt" and step % EVERY == EVERY - 1:
            begun = time.process_time()
            ready.append(rebuilding.prepare())
            prepared.append(time.process_time() - begun)
        if change == "changed" and step % EVERY == EVERY - 1:
            begun, number = time.process_time(), int(rng.integers(len(crowd.scene.actors)))
            actor = crowd.scene.actors[number]
            body = apply_proportions(actor.character, arms=float(rng.uniform(0.9, 1.1)))
            faster = (*actor.acts, replace(actor.acts[0], start=frame / one.fps, blend=0.3))
            ready.append((number, crowd.prepare(number, replace(actor, character=body, acts=faster))))
            prepared.append(time.process_time() - begun)
        begun = time.process_time()
        if change == "rebuilt" and step % EVERY == 0 and ready:
            rebuilding.apply(ready.pop(), frame)
        if change == "changed" and step % EVERY == 0 and ready:
            crowd.recast(*ready.pop())
            some = rng.choice(reach, len(reach) // 10, replace=False)
            crowd.aim(some, np.array([crowd.scene.goals[n].target for n in some]) + 0.01)
            crowd.prioritise([int(some[0])], int(rng.integers(40, 60)))
            crowd.set_ground(slope(float(rng.uniform(-2.0, 2.0))) if step % (2 * EVERY) else FLOOR)
        state, poses = crowd.step(state, frame)
        taken.append(time.process_time() - begun)
        if not change:
            left = [state.residuals[n] for n in reach if crowd.scene.goals[n].activation(frame / one.fps) >= 1.0]
            worst = max(worst, float(np.nanmax(left)) if left else 0.0)
        if apart:
            posed = [group.kinematics(p) for group, p in zip(crowd.groups, poses, strict=True)]
            deep = max(deep, deepest([g.proxies for g in crowd.groups if g.proxies is not None], posed))
    return np.array(taken[3:]), prepared, worst, deep


def run() -> dict[str, float]:
    """Time of the fight as it is, with avoidance, and with changes."""
    count, figures = 8 * COPIES, {}
    fight("", True)  # loads all kernels
    for name, change, apart in (
        ("plain", "", False), ("apart", "", True), ("changed", "changed", True), ("rebuilt", "rebuilt", True),
    ):  # fmt: skip
        taken, prepared, worst, deep = fight(change, apart)
        for label, value in (("median", np.median(taken)), ("p99", np.percentile(taken, 99)), ("worst", taken.max())):
            figures[f"crowd.{name}.ms_a_frame.{label}"] = 1e3 * float(value)
            figures[f"crowd.{name}.characters_at_30_hz.{label}"] = float(count / RATE / value)
        if not change:
            figures[f"crowd.{name}.worst_goal_mm"] = 1e3 * worst
        if apart:
            figures[f"crowd.{name}.deepest_mm"] = 1e3 * deep
        if prepared:
            figures[f"crowd.{name}.prepare_ms.median"] = 1e3 * float(np.median(prepared))
    return figures


if __name__ == "__main__":
    main(run)
