"""Computer puppetry: a performer drives a character of another shape, frame by frame.

H. J. Shin, "An importance-based approach for computer puppetry" (KAIST 2002). Three phases, three calls of `step`:
the input is filtered (chapter 3), what matters in it is told (chapter 4), and the character is posed so that it holds
(chapter 5).

    puppeteer = Puppeteer(performer, target)
    state = puppeteer.init()
    for frame in frames:                            # Frame(root, rotations, dt)
        state, pose = puppeteer.step(state, frame)  # Pose(root, rotations, importance)

States are values: `step` changes none, so one puppeteer drives any number of actors of one performer's proportions,
each with a state of its own. A puppeteer itself belongs to one thread: it has room for one frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.contacts.importance import Importance, PerformanceScene
from footplant.errors import MotionError
from footplant.skeleton import Character
from footplant.solve.ik.puppet import PuppetEngine

LONGEST = 0.1
"""Seconds; a longer gap between frames counts as one of this length, so that nothing is thrown by it."""


@dataclass(frozen=True, eq=False)
class Frame:
    """A pose of the performer as it comes in."""

    root: NDArray
    """(3,) metres; place of joint 0 in the world."""
    rotations: NDArray
    """(J, 4) local unit quaternions on the performer's skeleton."""
    dt: float
    """Seconds since the frame before."""
    things: NDArray | None = None
    """(O, 7) how the scene's things have moved: place (3), metres, and turn (4); None: not at all."""


@dataclass(frozen=True, eq=False)
class Pose:
    """A pose of the character as it goes out."""

    root: NDArray
    """(3,) metres; place of joint 0 in the world."""
    rotations: NDArray
    """(J, 4) local unit quaternions on the character's skeleton."""
    importance: Importance
    """What mattered."""
    iterations: int = 0
    """Iterations of the body step; mostly 0."""


class Filter(Protocol):
    """Cleans frames as they come (chapter 3); see `footplant.live.kalman`."""

    def init(self) -> Any:
        """The state before the first frame."""
        ...

    def step(self, state: Any, frame: Frame) -> tuple[Any, Frame]:
        """The next state and the clean frame."""
        ...


@dataclass(frozen=True, eq=False)
class State:
    """What is remembered from frame to frame."""

    filter: Any
    """The filter's own."""
    importance: NDArray
    """(N,) what the analysis remembers: see `footplant.kernels.importance.Memory`."""
    limbs: NDArray
    """(M,) what the limbs remember: see `footplant.solve.ik.puppet._tables.Limbs`."""
    frames: int = 0
    """How many frames have come in."""


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
    ) -> None:
        """Prepare the tables.

        scene: what the performer may touch; None: a floor at height 0. scale: how much larger the target's world is
        than the performer's, the scene with it; None: as much as its legs are longer; 1.0: both share one world.
        about: (3,) the place that stays where it is, metres. filter: cleans the frames first; None: they are clean.
        """
        from footplant.solve.ik.puppet._packed import FOUND, WORK, view

        self.performer, self.target, self.filter = performer, target, filter
        self.engine = PuppetEngine(performer, target, scene, scale=scale, about=about)
        self._tables = tables = self.engine.packed()
        self._memory, self._limbs = self.engine.init()
        self._scene, self._body, self._hands = (view(tables, FOUND + n, axes) for n, axes in ((0, 1), (3, 2), (5, 1)))
        self._local, self._root = view(tables, WORK + 2, 3), view(tables, WORK + 3, 2)
        self._rest = self.engine.analysis.scene.rest()

    def init(self, haste: float = 0.0) -> State:
        """The state before the first frame.

        haste: m/s² by which joints of the copied angles are known to accelerate (`PuppetMotion.haste` of a rehearsal);
        what is not known is learnt on the way, and nothing is more than 1.4 times as hasty.
        """
        memory = None if self.filter is None else self.filter.init()
        return State(memory, self._memory.floats, self.engine.init(haste)[1].floats if haste else self._limbs.floats)

    def step(self, state: State, frame: Frame) -> tuple[State, Pose]:
        """The state after a frame, and the character's pose."""
        memory, frame = self.clean(state, frame)
        remembered, importance = self.analyse(state, frame)
        limbs, pose = self.pose(state, frame, remembered, importance)
        return State(memory, remembered, limbs, state.frames + 1), pose

    def clean(self, state: State, frame: Frame) -> tuple[Any, Frame]:
        """The first phase: the filter's next state and the frame without noise."""
        if frame.rotations.shape != (len(self.performer.skeleton), 4):
            raise MotionError(
                f"expected rotations of shape ({len(self.performer.skeleton)}, 4), got {frame.rotations.shape}"
            )
        if not (np.isfinite(frame.root).all() and np.isfinite(frame.rotations).all()):
            raise MotionError("expected a finite frame, got NaN or infinity")
        return (state.filter, frame) if self.filter is None else self.filter.step(state.filter, frame)

    def analyse(self, state: State, frame: Frame) -> tuple[Any, Importance]:
        """The second phase: what the analysis remembers next, and what matters in the frame."""
        from footplant.solve.ik.puppet._pose import observe

        memory = state.importance.copy()
        observe(
            *self._tables, memory, self._memory.places, _row(frame.root), _row(frame.rotations), self._things(frame),
            _seconds(frame),
        )  # fmt: skip
        return memory, Importance(self._scene.copy(), self._body.copy(), float(self._hands[0]))

    def pose(self, state: State, frame: Frame, remembered: Any, importance: Importance) -> tuple[Any, Pose]:
        """The third phase: what the limbs remember next, and the character's pose for what was just analysed."""
        from footplant.solve.ik.puppet import _pose as kernel

        limbs = state.limbs.copy()
        iterations = kernel.pose(
            *self._tables, remembered, self._memory.places, limbs, self._limbs.places, self._things(frame),
            _seconds(frame),
        )  # fmt: skip
        return limbs, Pose(self._root[0].copy(), self._local[0].copy(), importance, int(iterations))

    def _things(self, frame: Frame) -> NDArray:
        return self._rest if frame.things is None else np.array(frame.things, float).reshape(self._rest.shape)


def _row(values: NDArray) -> NDArray:
    """One frame of a clip, writable: the kernels are compiled for that."""
    return np.array(values, float)[None]


def _seconds(frame: Frame) -> float:
    """A frame's length that can be divided by."""
    return min(max(float(frame.dt), 1e-4), LONGEST)
