"""Steps of a driven character onto a given place: a stone, a mark.

The landings of the next seconds are predicted. The one from which the place is most easily reached is taken: until
then the root is turned and moved, no more sharply than in a fade, so that the blended foot lands there, and the swing
does the rest. A standing character takes a step of its own; its body follows, and then the other foot. What neither
reaches is reported as unreachable, and nothing is done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from footplant.live.foot_plan import BITS
from footplant.live.motion_set import TURN_RATE
from footplant.live.settings import AIM, CONTROLLER, FOOT_PLAN
from footplant.live.tables import GAIT

if TYPE_CHECKING:
    from footplant.live.controller import Controller, ControllerState

FEET = ("left_foot", "right_foot")
SHARPEST = 10.0 / 3.0**0.5
"""Largest second derivative of `_foot_plan.smoother` between 0 and 1."""
LOWEST = -1e9
"""Height of a place that is on the ground, metres."""


@dataclass(eq=False)
class Aimed:
    """A request with a target, and what became of it; updated by `Controller.step`."""

    name: str
    """The action, or step."""
    target: NDArray
    """(3,) metres; the height of a step on the ground is `LOWEST`."""
    effector: str | None = None
    """left_foot, right_foot, left_hand or right_hand; None: not chosen yet."""
    status: str = "waiting"
    """waiting, planned, met, missed, unreachable or interrupted."""
    seconds: float | None = None
    """When the effector is at the target."""
    residual: float | None = None
    """Metres from the target then; of a step over the ground, from the middle between heel and ball."""

    @property
    def open(self) -> bool:
        """Whether it is still to be met."""
        return self.status in ("waiting", "planned")

    def meet(self, seconds: float, residual: float) -> None:
        """Note how far the effector was from the target."""
        self.seconds, self.residual = seconds, residual
        self.status = "met" if residual <= AIM.met else "missed"


@dataclass(eq=False)
class AimedStep(Aimed):
    """A step onto a place."""

    own: bool = False
    """Whether a standing foot takes it by itself."""
    swings: bool = False
    """Whether the foot is on its way, or has landed."""
    landed: bool = False
    """Whether it has landed; it is over when the foot is flat, or leaves the ground again."""

    @property
    def foot(self) -> int:
        """0 the left foot, 1 the right one."""
        return FEET.index(self.effector or FEET[0])

    def goal(self, now: float) -> NDArray:
        """Return (4,) place and seconds until the landing, for `_swing_plan.plan_swing`."""
        return np.array([*self.target, (self.seconds or now) - now])


@dataclass(frozen=True)
class _Choice:
    """A landing by which a place may be reached."""

    cost: float
    """Fraction of what root and foot can be moved until then."""
    foot: int
    frame: int
    turn: float
    """Radians."""
    most: float
    """Metres that the root may be moved."""
    own: bool = False


def middle(row: NDArray) -> NDArray:
    """Return (x, z) of the middle of the sole when a predicted foot (…, 24) is flat, its planted end where it is."""
    heel, ball = row[..., 0:3], row[..., 3:6]
    line = ball - heel
    long = np.linalg.norm(line, axis=-1, keepdims=True)
    ahead = line[..., ::2] / np.maximum(np.linalg.norm(line[..., ::2], axis=-1, keepdims=True), 1e-9)
    strikes = row[..., BITS, None].astype(int) & 1 > 0
    return np.where(strikes, heel[..., ::2] + 0.5 * long * ahead, ball[..., ::2] - 0.5 * long * ahead)


def plan_step(controller: Controller, state: ControllerState, task: AimedStep, begin: float) -> None:
    """Choose foot and landing of a step and aim the root; the landing is after `begin`, seconds."""
    track = np.zeros((round(AIM.horizon / FOOT_PLAN.interval) + 1, 2, 24))
    controller.look_ahead(state, track)
    choices = _landings(controller, state, task, track, begin)
    if not choices and begin <= state.now:
        choices = _own_steps(controller, state, task, track)
    row = controller.free_aim(state)
    for choice in sorted(choices, key=lambda each: each.cost):
        if _aim(controller, state, task, track, choice, begin, row):
            state.changed = True
            return
    state.aim[row] = 0.0
    task.status = "unreachable"


def _feet(task: AimedStep) -> tuple[int, ...]:
    return (0, 1) if task.effector is None else (task.foot,)


def _landings(
    controller: Controller, state: ControllerState, task: AimedStep, track: NDArray, begin: float
) -> list[_Choice]:
    """Return the predicted landings from which a place may be reached."""
    found, interval, height = [], FOOT_PLAN.interval, controller.character.height
    target, lasting = task.target[::2], max(controller.planner.limits.lasting, 1)
    first = round((begin - state.now) / interval)
    here = track[first, :, 12:15:2].mean(axis=0)
    for foot in _feet(task):
        planted = track[:, foot, BITS] > 0
        places = middle(track[:, foot])
        for frame in np.flatnonzero(~planted[:-1] & planted[1:]) + 1:
            span = (frame - first) * interval
            if span < FOOT_PLAN.late or not planted[frame : frame + lasting].all():
                continue
            a, b = places[frame] - here, target - here
            turn = (np.arctan2(*b) - np.arctan2(*a) + np.pi) % (2.0 * np.pi) - np.pi
            turn = float(np.clip(turn, -TURN_RATE * span, TURN_RATE * span))
            # a path that turns evenly is turned by half of it on the whole
            c, s = np.cos(0.5 * turn), np.sin(0.5 * turn)
            gap = float(np.hypot(*(target - here - (c * a[0] + s * a[1], c * a[1] - s * a[0]))))
            most = min(_gentle(controller, span), AIM.reach * height)
            cost = gap / (most + AIM.limb * height)
            if cost <= 1.0:
                found.append(_Choice(cost, foot, int(frame), turn, most))
    return found


def _own_steps(controller: Controller, state: ControllerState, task: AimedStep, track: NDArray) -> list[_Choice]:
    """Return the steps that a standing character may take."""
    from footplant.live import _foot_plan as kernel

    found, height = [], controller.character.height
    if (track[:, :, BITS] <= 0).any() or (state.feet.flags[:, kernel.SWING] == 1).any():
        return found
    for foot in _feet(task):
        far = float(np.hypot(*(task.target[::2] - middle(track[-1, foot]))))
        if far <= AIM.reach * height:
            # the foot lands when the body is half-way
            seconds = max(0.5 * _shortest(controller, far), FOOT_PLAN.step)
            frame = int(np.ceil(seconds / FOOT_PLAN.interval))
            found.append(_Choice(far, foot, frame, 0.0, AIM.reach * height, own=True))
    return found


def _strongest(controller: Controller) -> float:
    """Return the acceleration, metres per second squared, that moving the root may add: as much as a fade."""
    own = max(motion.peak for motion in controller.tables.motions if motion.kind == GAIT)
    return CONTROLLER.added_acceleration * own


def _gentle(controller: Controller, seconds: float) -> float:
    """Return the metres that the root may be moved within some seconds."""
    return _strongest(controller) * seconds**2 / SHARPEST


def _shortest(controller: Controller, metres: float) -> float:
    """Return the seconds within which the root may be moved by some metres."""
    return float(np.sqrt(SHARPEST * metres / _strongest(controller)))


def _aim(
    controller: Controller, state: ControllerState, task: AimedStep, track: NDArray, choice: _Choice, begin: float,
    row: int,
) -> bool:  # fmt: skip
    """Aim the root for a landing; return whether the foot then reaches the place."""
    seconds = choice.frame * FOOT_PLAN.interval + state.now - begin
    state.aim[row] = begin, (2.0 if choice.own else 1.0) * seconds, 0.0, 0.0, choice.turn
    target, foot = task.target[::2], choice.foot
    # a standing body goes on moving after the landing, until the blended foot is there too
    at = -1 if choice.own else choice.frame
    for _ in range(AIM.rounds):
        controller.look_ahead(state, track)
        moved = state.aim[row, 2:4] + target - middle(track[at, foot])
        state.aim[row, 2:4] = moved * min(1.0, choice.most / max(float(np.hypot(*moved)), 1e-9))
    controller.look_ahead(state, track)
    gap = float(np.hypot(*(target - middle(track[at, foot]))))
    goal = np.array([*task.target, choice.frame * FOOT_PLAN.interval])
    beyond, _ = controller.planner.beyond(state.feet, foot, track, choice.frame, state.field, goal)
    if gap > AIM.limb * controller.character.height or beyond > AIM.met:
        return False
    task.effector, task.own, task.status = FEET[foot], choice.own, "planned"
    task.seconds = state.now + choice.frame * FOOT_PLAN.interval
    return True


def follow_steps(controller: Controller, state: ControllerState) -> None:
    """Note which steps have landed, and where; plan those that wait."""
    from footplant.live import _foot_plan as kernel

    begin = state.now
    for task in list(state.steps):
        if task.status == "planned" and task.seconds is not None:
            flags, times = state.feet.flags[task.foot], state.feet.times[task.foot]
            stands = flags[kernel.SWING] == 0
            if task.swings and stands and not task.landed:
                task.landed, task.seconds = True, float(times[kernel.SINCE])
                task.residual = _distance(task, state.feet.places[task.foot, :2].mean(axis=0))
            if task.landed:
                flat = stands and flags[kernel.HELD] == 3 and times[kernel.TURN_AGE] >= times[kernel.SETTLES]
                if flat:
                    side = FEET[task.foot].partition("_")[0]
                    ends = [controller.place(state, f"{side}_{end}") for end in ("heel", "ball")]
                    task.residual = _distance(task, np.mean(ends, axis=0))
                if flat or not stands or state.now > task.seconds + FOOT_PLAN.step:
                    task.meet(task.seconds, task.residual or 0.0)
            elif state.now > task.seconds + FOOT_PLAN.delay + FOOT_PLAN.step:
                # the landing did not come
                task.meet(state.now, _distance(task, state.feet.places[task.foot, :2].mean(axis=0)))
            else:
                begin = max(begin, task.seconds)
        elif task.status == "waiting" and state.action is None:
            plan_step(controller, state, task, begin)
            if task.status == "waiting":
                break
            begin = max(begin, task.seconds or begin)
        if not task.open:
            state.steps.remove(task)


def _distance(task: AimedStep, place: NDArray) -> float:
    gap = place - task.target
    return float(np.linalg.norm(gap if task.target[1] > LOWEST else gap[::2]))
