"""Computer puppetry: a performer drives a character of another shape, frame by frame.

H. J. Shin, "An importance-based approach for computer puppetry" (KAIST 2002). `step` has three phases: the input is
filtered (chapter 3), importance is analysed (chapter 4), and the character is posed so that important contacts hold
(chapter 5).

    puppeteer = Puppeteer(performer, target)
    state = puppeteer.init()
    for frame in frames:                            # PerformerFrame(root, rotations, dt)
        state, pose = puppeteer.step(state, frame)  # PuppetPose(root, rotations, importance)

States are values: `step` changes none, so one puppeteer drives any number of actors with one performer's proportions,
each with its own state. A puppeteer belongs to one thread: it has buffers for one frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.checks import real_number, shaped
from footplant.contacts.importance import Importance, PerformanceScene
from footplant.errors import MotionError
from footplant.humanoid.body_proxy import SEGMENTS
from footplant.live.ground_walk import GroundPose, GroundState, GroundWalk
from footplant.skeleton import Character
from footplant.solve.ik.puppet import PuppetEngine

LONGEST = 0.1
"""Seconds; a longer gap between frames counts as one of this length, so that it causes no large step."""


class PerformerFrame(NamedTuple):
    """An incoming pose of the performer."""

    root: NDArray
    """(3,) metres; world position of joint 0."""
    rotations: NDArray
    """(J, 4) local unit quaternions on the performer's skeleton."""
    dt: float
    """Seconds since the frame before."""
    things: NDArray | None = None
    """(O, 7) transforms of the scene's objects: translation (3), metres, and rotation (4); None: identity."""
    ground: NDArray | None = None
    """(7,) transform of the ground that the character walks on, in its world; None: as a ground that moves by itself
    does with the time since the first frame."""


class PuppetPose(NamedTuple):
    """An outgoing pose of the character."""

    root: NDArray
    """(3,) metres; world position of joint 0."""
    rotations: NDArray
    """(J, 4) local unit quaternions on the character's skeleton."""
    importance: Importance
    """Importances in the frame."""
    iterations: int = 0
    """Iterations of the body step; mostly 0."""
    out_of_reach: tuple[bool, bool] = (False, False)
    """Whether what the left and the right palm should touch on the body is out of their reach."""
    hands_out_of_reach: bool = False
    """Whether there is no place out of the trunk where the palms could meet as they should."""


class Filter(Protocol):
    """Filters frames as they arrive (chapter 3); see `footplant.live.kalman`."""

    def init(self) -> Any:
        """Return the state before the first frame."""
        ...

    def step(self, state: Any, frame: PerformerFrame) -> tuple[Any, PerformerFrame]:
        """Return the next state and the filtered frame."""
        ...


class PuppeteerState(NamedTuple):
    """State between frames."""

    filter: Any
    """The filter's state."""
    importance: NDArray
    """(N,) state of the importance analysis: see `footplant.kernels.importance.Memory`."""
    limbs: NDArray
    """(M,) state of the limbs: see `footplant.solve.ik.puppet._tables.Limbs`."""
    frames: int = 0
    """Number of frames so far."""
    ground: GroundState | None = None
    """State on a ground; None before the first frame, or on a level floor."""


class Puppeteer:
    """Drives a target character with a performer's frames."""

    def __init__(
        self,
        performer: Character,
        target: Character,
        scene: PerformanceScene | None = None,
        *,
        scale: float | None = None,
        about: ArrayLike = (0.0, 0.0, 0.0),
        filter: Filter | None = None,
        ground: GroundWalk | None = None,
    ) -> None:
        """Precompute the tables.

        scene: what the performer may touch; None: a floor at height 0. scale: of the target's world relative to the
        performer's, including the scene; None: the ratio of their legs; 1.0: both share one world. about: (3,) the
        fixed point of that scaling, metres. filter: of the frames; None: none. ground: what the target walks on, while
        the performer is on a level floor at height 0; None: on the same.
        """
        from footplant.solve.ik.puppet._pose import advance

        self.performer, self.target, self.filter, self.ground = performer, target, filter, ground
        self._advance = advance
        self.engine = PuppetEngine(performer, target, scene, scale=scale, about=about)
        self._tables = self.engine.packed()
        self._memory, self._limbs = self.engine.init()
        self._shape, self._joints = (len(performer.skeleton), 4), len(target.skeleton)
        self._turns_at = 15 + 8 * len(SEGMENTS)
        self._rest = self.engine.analysis.scene.rest()

    def init(self, acceleration: float = 0.0) -> PuppeteerState:
        """Return the state before the first frame.

        acceleration: m/s² that joints of the copied angles are known to reach (`PuppetMotion.peak_acceleration` of an
        offline run); otherwise it is learnt on the way. Outgoing accelerations are limited to 1.18 times that.
        """
        memory = None if self.filter is None else self.filter.init()
        limbs = self.engine.init(acceleration)[1] if acceleration else self._limbs
        return PuppeteerState(memory, self._memory.floats, limbs.floats)

    def step(self, state: PuppeteerState, frame: PerformerFrame) -> tuple[PuppeteerState, PuppetPose]:
        """Return the state after a frame, and the character's pose."""
        if self.filter is not None:
            memory, frame = self.filter.step(state.filter, self._checked(frame))
            state = state._replace(filter=memory)
        root = np.array(shaped(frame.root, (3,), "root", MotionError, finite=False), float)
        turns = np.array(shaped(frame.rotations, self._shape, "rotations", MotionError, finite=False), float)
        seconds = real_number(frame.dt, "dt in seconds", MotionError)
        return self.step_unchecked(
            state, root[None], turns[None], self._things(frame), seconds, _ground_pose(frame.ground)
        )

    def step_unchecked(
        self, state: PuppeteerState, root: NDArray, rotations: NDArray, things: NDArray | None, seconds: float,
        ground: GroundPose | None = None,
    ) -> tuple[PuppeteerState, PuppetPose]:  # fmt: skip
        """Take a frame like `step`, without the filter, for callers whose arrays are contiguous and can be written to.

        root: (1, 3); rotations: (1, J, 4); things, ground: as in `PerformerFrame`. What is not finite is refused here,
        too.
        """
        passed = max(seconds, 1e-4)
        seconds = min(max(seconds, 1e-4), LONGEST)
        analysis, limbs, out = state.importance.copy(), state.limbs.copy(), np.empty(self._turns_at + 4 * self._joints)
        iterations = self._advance(
            *self._tables, analysis, self._memory.places, limbs, self._limbs.places, root, rotations,
            self._rest if things is None else things, seconds, out,
        )  # fmt: skip
        if iterations < 0:
            _refuse(iterations)
        end = self._turns_at
        importance = Importance(out[3:7], out[15:end].reshape(8, -1), float(out[11]), out[7:11])
        reach = (bool(out[12]), bool(out[13]))
        pose = PuppetPose(out[:3], out[end:].reshape(-1, 4), importance, int(iterations), reach, bool(out[14]))
        walked = None
        if self.ground is not None:
            walked, on, turned = self.ground.step(
                state.ground, pose.root, pose.rotations, importance.scene[2:], passed, ground
            )
            pose = PuppetPose(on, turned, importance, pose.iterations, reach, pose.hands_out_of_reach)
        return PuppeteerState(state.filter, analysis, limbs, state.frames + 1, walked), pose

    def _checked(self, frame: PerformerFrame) -> PerformerFrame:
        """Return a frame if a filter may see it."""
        shaped(frame.root, (3,), "root", MotionError)
        shaped(frame.rotations, self._shape, "rotations", MotionError)
        return frame

    def things(self, poses: Mapping[str, NDArray]) -> NDArray:
        """Return transforms (O, 7) of the scene's objects, of which some are moved by their name; others are at rest.

        poses: name → (7,) position (metres) and rotation of an object that the scene describes in its own frame.
        """
        found = self._rest.copy()
        for number, thing in enumerate(self.engine.analysis.scene.things):
            if thing.name in poses:
                found[number] = poses[thing.name]
        return found

    def _things(self, frame: PerformerFrame) -> NDArray | None:
        return None if frame.things is None else np.array(shaped(frame.things, self._rest.shape, "things", MotionError))


def _ground_pose(transform: NDArray | None) -> GroundPose | None:
    if transform is None:
        return None
    transform = shaped(transform, (7,), "ground", MotionError)
    return GroundPose(transform[:3], rotation.normalize(transform[3:]))


def _refuse(why: int) -> None:
    """Raise the error for what the kernel says about a frame."""
    from footplant.solve.ik.puppet._pose import NOT_FINITE

    if why == NOT_FINITE:
        raise MotionError("expected a finite frame, got NaN or infinity")
    raise MotionError("expected a frame of unit quaternions, got other norms")
