"""An interactive character controller: gaits that blend in phase, actions between them, feet locked.

Macleod, "Skeletal Character Animation within a Virtual Environment" (2006), sections 3.2 and 3.3, without its known
bugs (section 4.1): the root always moves by increments, so nothing turns in one frame on the way back from a clip; all
weights change smoothly, also when one request interrupts another; loops have no seam. `init` makes a state, `request`
asks for a motion, `step` advances by some seconds: clocks, keys and sockets stay outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from footplant.checks import real_number, shaped
from footplant.clip import Clip
from footplant.errors import MotionError
from footplant.live.motion_set import MotionSet
from footplant.live.settings import CONTROLLER
from footplant.live.tables import GAIT, Tables, build_tables
from footplant.skeleton import Character
from footplant.solve.ik.limb import limb_of

Direction = Literal["straight", "left", "right"]
DIRECTIONS = get_args(Direction)
LONGEST = 3600.0
"""Maximum length of one step, seconds; more means that a clock was set."""
HISTORY = 1024
"""Largest number of requests that are still being faded."""


@dataclass(eq=False)
class ControllerPose:
    """The result of a step: views into the state, valid until its next step."""

    root: NDArray
    """(3,) metres; world position of joint 0."""
    rotations: NDArray
    """(J, 4) local unit quaternions."""


@dataclass(eq=False)
class ControllerState:
    """Everything that changes while a character is driven. `Controller.step` changes it in place."""

    now: float
    """Seconds since `init`."""
    numbers: NDArray
    """Phase (0 to 1), x and z of the root, facing (radians), steering (radians per second)."""
    weights: NDArray
    """(M,) weight of each motion in the pose."""
    clocks: NDArray
    """(M,) current time of each motion, seconds."""
    targets: NDArray
    starts: NDArray
    steers: NDArray
    """Requested motions, their times and steering; the last `count` requests still have weight."""
    count: int
    marks: NDArray
    feet: NDArray
    """State of the foot lock; see `_foot_lock.FootState`."""
    root: NDArray
    pose: NDArray
    planted: NDArray
    """(4,) weight with which left heel, left ball, right heel and right ball are planted."""
    action: int | None = None
    """The action that is playing."""
    pending: int | None = None
    """The requested action that waits for a matching pose."""
    requested_at: float = 0.0
    """When the pending action was requested."""
    go_on: tuple[int, float] = (0, 0.0)
    """Motion and steering that continue after an action."""
    waiting: tuple[int, float] | None = None
    """What was requested during an action that cannot be interrupted."""

    @property
    def phase(self) -> float:
        """Phase of the gaits' cycle, 0 to 1."""
        return float(self.numbers[0])

    @property
    def facing(self) -> float:
        """Radians about the vertical; 0 faces +z, positive is to the left."""
        return float(self.numbers[3])

    @property
    def busy(self) -> bool:
        """Whether an action is playing or pending."""
        return self.action is not None or self.pending is not None


class Controller:
    """Plays the motions of a set. One controller serves any number of characters: each has its own state."""

    def __init__(self, spec: MotionSet, tables: Tables) -> None:
        """Pack the tables for the kernels; use `build_controller` to make one from clips."""
        self.spec, self.tables, self.character = spec, tables, tables.character
        from footplant.live import _controller as kernel
        from footplant.live import _foot_lock as foot_lock

        motions, skeleton = tables.motions, tables.character.skeleton
        self._kinds = np.array([motion.kind for motion in motions], np.int64)
        counts = np.array([len(motion.height) for motion in motions], np.int64)
        self._motions = kernel.MotionTables(
            self._kinds,
            np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64),
            counts,
            np.array([motion.slope for motion in motions]),
            tables.warp,
            np.concatenate([motion.floor for motion in motions]),
            np.concatenate([motion.height for motion in motions]),
            np.concatenate([motion.rotations for motion in motions]),
            np.concatenate([motion.contacts for motion in motions]),
            CONTROLLER.rate,
        )
        limbs = [limb_of(tables.character, f"{side}_leg") for side in ("left", "right")]
        points = [
            tables.character.contacts.get(f"{side}_{part}", tables.character.contacts[f"{side}_ball"])
            for side in ("left", "right") for part in ("heel", "ball", "toe")
        ]  # fmt: skip
        self._feet = foot_lock.FootTables(
            skeleton.parents,
            skeleton.offsets[None],
            np.array([[limb.upper, limb.lower, limb.end] for limb in limbs], np.int64),
            np.array([limb.axis for limb in limbs]),
            np.array([point.joint for point in points], np.int64),
            np.array([point.offset for point in points], float),
        )
        joints, count = len(skeleton), len(motions)
        floats = np.zeros(36)
        self._blend_scratch = kernel.BlendScratch(
            np.zeros((count, joints, 4)), np.zeros((count, joints)), np.zeros(4), floats
        )
        self._foot_scratch = foot_lock.FootScratch(
            np.zeros((1, joints, 3)), np.zeros((1, joints, 4)), np.zeros((3, 3)), floats
        )
        self._old = np.zeros(count)

    @property
    def names(self) -> list[str]:
        """Everything that can be requested."""
        return self.spec.names()

    def init(
        self, *, place: tuple[float, float] = (0.0, 0.0), facing: float = 0.0, begin: str | None = None
    ) -> ControllerState:
        """Return the state of a character at (x, z) on the floor, metres, with a facing in radians and a motion."""
        first = begin or self.spec.begin or next(iter([*self.spec.idles, *self.spec.gaits]))
        if first in self.spec.actions:
            raise MotionError(f"expected to begin with a gait or an idle, got the action {first!r}")
        place = tuple(shaped(place, (2,), "a place", MotionError).tolist())
        facing = real_number(facing, "facing", MotionError)
        motion, steer = self._wanted(first, "straight")
        count, joints = len(self.tables.motions), len(self.character.skeleton)
        state = ControllerState(
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

    def request(self, state: ControllerState, name: str, direction: Direction = "straight") -> None:
        """Request a gait, an idle or an action, at any time.

        Gaits and idles start at once, whatever is playing (except an action that cannot be interrupted). An action
        starts when the gait's pose matches its start, or after its `wait`; an action that still has weight is not
        restarted. direction: of a gait.
        """
        if direction not in DIRECTIONS:
            raise MotionError(f"expected a direction among {', '.join(DIRECTIONS)}; got {direction!r}")
        if name in self.spec.actions:
            state.pending, state.requested_at = self.tables.index(name), state.now
            return
        wanted = self._wanted(name, direction)
        state.pending = None
        if state.action is not None and not self._action(state.action).interruptible:
            state.waiting = wanted
            return
        state.action = None
        self._go(state, *wanted)

    def step(self, state: ControllerState, seconds: float) -> tuple[ControllerState, ControllerPose]:
        """Advance by some seconds; the state is changed in place and returned with the pose."""
        if not 0.0 <= real_number(seconds, "step", MotionError) <= LONGEST:
            raise MotionError(f"expected a step of 0 seconds or more, at most {LONGEST:g}, got {seconds}")
        parts = max(int(np.ceil(seconds / CONTROLLER.longest_step - 1e-9)), 1)
        for _ in range(parts):
            self._decide(state)
            state.now += seconds / parts
            self._show(state, seconds / parts, None)
        return state, ControllerPose(state.root[0], state.pose[0])

    def _wanted(self, name: str, direction: Direction) -> tuple[int, float]:
        """Return the motion and the steering (radians per second) of a gait in a direction, or of an idle."""
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

    def _decide(self, state: ControllerState) -> None:
        """Run the state machine: decide what ends and what starts now."""
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
        waited = state.now - state.requested_at
        going = self._kinds[state.targets[state.count - 1]] == GAIT
        opening = self.tables.openings[number]
        cell = min(int(state.numbers[0] * CONTROLLER.phases), CONTROLLER.phases - 1)
        fits = bool(opening[cell])
        if going and not fits and waited < self._action(number).wait:
            return
        state.clocks[number] = 0.0
        state.action, state.pending = number, None
        self._ask(state, number, 0.0)

    def _go(self, state: ControllerState, motion: int, steer: float) -> None:
        """Start a transition to a gait or an idle; a gait entered from another kind starts at the best phase."""
        state.go_on = motion, steer
        if self._kinds[motion] == GAIT and not state.weights[self._kinds == GAIT].any():
            now = int(state.weights.argmax())
            entries = self.tables.entries[now]
            entry = min(int(state.clocks[now] * CONTROLLER.bins), len(entries) - 1)
            self._set_phase(state, float(entries[entry]))
        self._ask(state, motion, steer)

    def _set_phase(self, state: ControllerState, phase: float) -> None:
        """Set the phase of all gaits, none of which has weight."""
        from footplant.live._controller import warped

        state.numbers[0] = phase
        for number, motion in enumerate(self.tables.motions):
            if motion.kind == GAIT:
                state.clocks[number] = warped(self.tables.warp, number, phase) % motion.seconds

    def _ask(self, state: ControllerState, motion: int, steer: float) -> None:
        last = state.count - 1
        if state.targets[last] == motion and state.steers[last] == steer:
            return
        if state.count > 1 and state.starts[last] == state.now:
            # two requests at one time: the first was never visible
            last -= 1
        elif state.count == HISTORY:
            last = HISTORY - 2
        state.targets[last + 1], state.starts[last + 1], state.steers[last + 1] = motion, state.now, steer
        state.count = last + 2

    def _show(self, state: ControllerState, seconds: float, steer: float | None) -> None:
        """Compute weights, clocks, root and pose at the state's time, with feet locked."""
        from footplant.live import _controller as kernel
        from footplant.live import _foot_lock as foot_lock

        expired = 0
        while expired + 1 < state.count and state.starts[expired + 1] <= state.now - self.tables.fade:
            expired += 1
        if expired:
            for array in (state.targets, state.starts, state.steers):
                array[: state.count - expired] = array[expired : state.count]
            state.count -= expired
        self._old[:] = state.weights
        turning = kernel.fade(
            state.targets, state.starts, state.steers, state.count, state.now, self.tables.fade, state.weights
        )
        playback = kernel.Playback(state.weights, state.numbers, state.clocks, state.planted)
        kernel.advance(
            self._motions, seconds, turning if steer is None else steer, self._old, playback, self._blend_scratch,
            state.root[0], state.pose[0],
        )  # fmt: skip
        step = foot_lock.LockStep(seconds, CONTROLLER.ramp, 0.0, state.planted)
        feet = foot_lock.FootState(state.marks, state.feet)
        foot_lock.lock_feet(self._feet, step, feet, state.root, state.pose, self._foot_scratch)


def build_controller(spec: MotionSet, clips: Mapping[str, Clip], character: Character | None = None) -> Controller:
    """Build a controller. clips: the set's clips by name. character: the one they are put on (default: the first's)."""
    return Controller(spec, build_tables(spec, clips, character))
