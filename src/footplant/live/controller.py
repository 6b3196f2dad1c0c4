"""A character one can drive: gaits in step with one another, actions between them, feet planted, asked at any time.

Macleod, "Motion capture based animation" (2006), sections 3.2 and 3.3 (METHODS F3 to F6), without its known bugs: the
root goes on by increments whatever is played, so nothing turns in one frame on the way back from a clip; all weights
change smoothly, also when one change interrupts another; loops have no seam. `init` makes a state, `request` asks for
something, `step` moves on by some seconds: clocks, keys and sockets stay outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from footplant.clip import Clip
from footplant.errors import MotionError
from footplant.live.motion_set import MotionSet
from footplant.live.tables import BINS, GAIT, PHASES, RATE, Tables, build_tables
from footplant.skeleton import Character
from footplant.solve.ik.limb import limb_of

Direction = Literal["straight", "left", "right"]
DIRECTIONS = get_args(Direction)
LONGEST_STEP = 0.05
"""Seconds; a longer step is made of several."""
RAMP = 0.15
"""Seconds in which a foot that is let go comes back to the motion."""
HISTORY = 1024
"""Requests that can be on their way at once."""


@dataclass(eq=False)
class Pose:
    """What a step gives: views into the state, valid until its next step."""

    root: NDArray
    """(3,) metres; world position of joint 0."""
    rotations: NDArray
    """(J, 4) local unit quaternions."""


@dataclass(eq=False)
class State:
    """Everything that changes while a character is driven. `Controller.step` changes it in place."""

    now: float
    """Seconds since `init`."""
    numbers: NDArray
    """Phase (0 to 1), x and z of the root, facing (radians), steering (radians a second)."""
    weights: NDArray
    """(M,) how much of each motion is in the pose."""
    clocks: NDArray
    """(M,) seconds at which each motion is."""
    targets: NDArray
    starts: NDArray
    steers: NDArray
    """What was asked for, since when and with which steering; the last `count` requests matter still."""
    count: int
    marks: NDArray
    feet: NDArray
    """What points of the feet, and feet, remember of being held; see `kernels.foot_lock`."""
    root: NDArray
    pose: NDArray
    planted: NDArray
    """(4,) how much left heel, left ball, right heel and right ball stand in the mix."""
    action: int | None = None
    """The action that is being played, until it is over."""
    pending: int | None = None
    """The action that is waited for."""
    asked: float = 0.0
    """When the pending action was asked for."""
    go_on: tuple[int, float] = (0, 0.0)
    """Motion and steering that are gone on with after an action."""
    waiting: tuple[int, float] | None = None
    """What was asked for during an action that cannot be interrupted."""

    @property
    def phase(self) -> float:
        """Where in their cycle the gaits are, 0 to 1."""
        return float(self.numbers[0])

    @property
    def facing(self) -> float:
        """Radians about the vertical; 0 faces +z, positive is to the left."""
        return float(self.numbers[3])

    @property
    def busy(self) -> bool:
        """Whether an action is being played or waited for."""
        return self.action is not None or self.pending is not None


class Controller:
    """Plays the motions of a set. One controller serves any number of characters: each has a state of its own."""

    def __init__(self, spec: MotionSet, tables: Tables) -> None:
        """Lay the tables out for the kernels; use `build_controller` to make one from clips."""
        self.spec, self.tables, self.character = spec, tables, tables.character
        motions, skeleton = tables.motions, tables.character.skeleton
        self._kinds = np.array([motion.kind for motion in motions], np.int64)
        self._counts = np.array([len(motion.height) for motion in motions], np.int64)
        self._firsts = np.concatenate([[0], np.cumsum(self._counts)[:-1]]).astype(np.int64)
        self._slopes = np.array([motion.slope for motion in motions])
        self._floor = np.concatenate([motion.floor for motion in motions])
        self._heights = np.concatenate([motion.height for motion in motions])
        self._rotations = np.concatenate([motion.rotations for motion in motions])
        self._contacts = np.concatenate([motion.contacts for motion in motions])
        limbs = [limb_of(tables.character, f"{side}_leg") for side in ("left", "right")]
        self._legs = np.array([[limb.upper, limb.lower, limb.end] for limb in limbs], np.int64)
        self._axes = np.array([limb.axis for limb in limbs])
        points = [
            tables.character.contacts.get(f"{side}_{part}", tables.character.contacts[f"{side}_ball"])
            for side in ("left", "right") for part in ("heel", "ball", "toe")
        ]  # fmt: skip
        self._points = np.array([point.joint for point in points], np.int64)
        self._arms = np.array([point.offset for point in points], float)
        self._parents, self._offsets = skeleton.parents, skeleton.offsets[None]
        joints, count = len(skeleton), len(motions)
        self._poses, self._shares = np.zeros((count, joints, 4)), np.zeros((count, joints))
        self._all_planted, self._scratch = np.zeros(4), np.zeros(36)
        self._positions, self._turns, self._places = (
            np.zeros((1, joints, 3)),
            np.zeros((1, joints, 4)),
            np.zeros((3, 3)),
        )
        self._old = np.zeros(count)

    @property
    def names(self) -> list[str]:
        """Everything that can be asked for."""
        return self.spec.names()

    def init(self, *, place: tuple[float, float] = (0.0, 0.0), facing: float = 0.0, begin: str | None = None) -> State:
        """A character at a place (x, z) of the floor, metres, facing somewhere, radians, doing something already."""
        first = begin or self.spec.begin or next(iter([*self.spec.idles, *self.spec.gaits]))
        if first in self.spec.actions:
            raise MotionError(f"expected to begin with a gait or an idle, got the action {first!r}")
        motion, steer = self._wanted(first, "straight")
        count, joints = len(self.tables.motions), len(self.character.skeleton)
        state = State(
            now=0.0,
            numbers=np.array([0.0, place[0], place[1], facing, steer]),
            weights=np.zeros(count),
            clocks=np.zeros(count),
            targets=np.zeros(HISTORY, np.int64),
            starts=np.zeros(HISTORY),
            steers=np.zeros(HISTORY),
            count=1,
            marks=np.zeros((4, 7)),
            feet=np.zeros((2, 12)),
            root=np.zeros((1, 3)),
            pose=np.zeros((1, joints, 4)),
            planted=np.zeros(4),
            go_on=(motion, steer),
        )
        state.targets[0], state.steers[0], state.weights[motion] = motion, steer, 1.0
        self._set_phase(state, 0.0)
        self._show(state, 0.0, steer)
        return state

    def request(self, state: State, name: str, direction: Direction = "straight") -> None:
        """Ask for a gait, something to stand by or an action, at any time.

        Gaits and idles begin at once, whatever is going on (after an action that cannot be interrupted). An action
        begins when the gait's pose fits it, or after its `wait`; the one that is being played is not begun again
        before it has gone. direction: where to go, for gaits.
        """
        if direction not in DIRECTIONS:
            raise MotionError(f"expected a direction among {', '.join(DIRECTIONS)}; got {direction!r}")
        if name in self.spec.actions:
            state.pending, state.asked = self.tables.index(name), state.now
            return
        wanted = self._wanted(name, direction)
        state.pending = None
        if state.action is not None and not self._action(state.action).interruptible:
            state.waiting = wanted
            return
        state.action = None
        self._go(state, *wanted)

    def step(self, state: State, seconds: float) -> tuple[State, Pose]:
        """Move on by some seconds; the state is changed in place and given back with the pose."""
        if not (np.isfinite(seconds) and seconds >= 0.0):
            raise MotionError(f"expected a step of 0 seconds or more, got {seconds}")
        parts = max(int(np.ceil(seconds / LONGEST_STEP - 1e-9)), 1)
        for _ in range(parts):
            self._decide(state)
            state.now += seconds / parts
            self._show(state, seconds / parts, None)
        return state, Pose(state.root[0], state.pose[0])

    def _wanted(self, name: str, direction: Direction) -> tuple[int, float]:
        """The motion and the steering (radians a second) of a gait in a direction, or of an idle."""
        if name not in self.spec.gaits:
            if name not in self.spec.idles:
                raise MotionError(f"expected one of {', '.join(self.names)}; got {name!r}")
            return self.tables.index(name), 0.0
        gait = self.spec.gaits[name]
        if direction == "straight":
            return self.tables.index(name), 0.0
        if getattr(gait, direction) is not None:
            return self.tables.index(f"{name} {direction}"), 0.0
        return self.tables.index(name), gait.turn if direction == "left" else -gait.turn

    def _action(self, motion: int):
        return self.spec.actions[self.tables.motions[motion].name]

    def _decide(self, state: State) -> None:
        """What ends and what begins now: the state machine."""
        if state.action is not None:
            seconds = self.tables.motions[state.action].seconds
            leave = seconds - self.tables.fade if seconds > 1.5 * self.tables.fade else 0.4 * seconds
            if state.clocks[state.action] >= leave:
                state.action = None
                self._go(state, *(state.waiting or state.go_on))
                state.waiting = None
        if state.pending is None or (state.action is not None and not self._action(state.action).interruptible):
            return
        number = state.pending
        if state.weights[number] > 0.0:
            return
        waited = state.now - state.asked
        going = self._kinds[state.targets[state.count - 1]] == GAIT
        opening = self.tables.openings[number]
        fits = bool(opening[min(int(state.numbers[0] * PHASES), PHASES - 1)])
        if going and not fits and waited < self._action(number).wait:
            return
        state.clocks[number] = 0.0
        state.action, state.pending = number, None
        self._ask(state, number, 0.0)

    def _go(self, state: State, motion: int, steer: float) -> None:
        """Go over to a gait or an idle; a gait that comes out of something else begins at the phase that fits it."""
        state.go_on = motion, steer
        if self._kinds[motion] == GAIT and not state.weights[self._kinds == GAIT].any():
            now = int(state.weights.argmax())
            entries = self.tables.entries[now]
            self._set_phase(state, float(entries[min(int(state.clocks[now] * BINS), len(entries) - 1)]))
        self._ask(state, motion, steer)

    def _set_phase(self, state: State, phase: float) -> None:
        """Put all gaits, none of which is seen, at a phase."""
        from footplant.live._controller import warped

        state.numbers[0] = phase
        for number, motion in enumerate(self.tables.motions):
            if motion.kind == GAIT:
                state.clocks[number] = warped(self.tables.warp, number, phase) % motion.seconds

    def _ask(self, state: State, motion: int, steer: float) -> None:
        last = state.count - 1
        if state.targets[last] == motion and state.steers[last] == steer:
            return
        if state.count > 1 and state.starts[last] == state.now:
            # two requests at one time: the first was never seen
            last -= 1
        elif state.count == HISTORY:
            last = HISTORY - 2
        state.targets[last + 1], state.starts[last + 1], state.steers[last + 1] = motion, state.now, steer
        state.count = last + 2

    def _show(self, state: State, seconds: float, steer: float | None) -> None:
        """Weights, clocks, root and pose at the state's time, feet held."""
        from footplant.live import _controller as kernel
        from footplant.live import _foot_lock as foot_lock

        gone = 0
        while gone + 1 < state.count and state.starts[gone + 1] <= state.now - self.tables.fade:
            gone += 1
        if gone:
            for array in (state.targets, state.starts, state.steers):
                array[: state.count - gone] = array[gone : state.count]
            state.count -= gone
        self._old[:] = state.weights
        turning = kernel.fade(
            state.targets, state.starts, state.steers, state.count, state.now, self.tables.fade, state.weights
        )
        kernel.advance(
            seconds, turning if steer is None else steer, self._old, state.weights, self._kinds, self._firsts,
            self._counts, self._slopes, self.tables.warp, self._floor, self._heights, self._rotations, self._contacts,
            RATE, state.numbers, state.clocks, self._poses, self._shares, state.planted, self._all_planted,
            self._scratch, state.root[0], state.pose[0],
        )  # fmt: skip
        foot_lock.hold_feet(
            seconds, RAMP, 0.0, self._parents, self._offsets, self._legs, self._axes, self._points, self._arms,
            state.planted, state.marks, state.feet, state.root, state.pose, self._positions, self._turns, self._places,
            self._scratch,
        )  # fmt: skip


def build_controller(spec: MotionSet, clips: Mapping[str, Clip], character: Character | None = None) -> Controller:
    """A controller for a set. clips: what it names, loaded. character: whom they are put on (default: the first's)."""
    return Controller(spec, build_tables(spec, clips, character))
