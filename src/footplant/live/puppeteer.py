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

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.checks import real_number, shaped
from footplant.contacts.importance import Importance, PerformanceScene
from footplant.errors import MotionError
from footplant.skeleton import Character
from footplant.solve.ik.puppet import PuppetEngine

LONGEST = 0.1
"""Seconds; a longer gap between frames counts as one of this length, so that it causes no large step."""


@dataclass(frozen=True, eq=False)
class PerformerFrame:
    """An incoming pose of the performer."""

    root: NDArray
    """(3,) metres; world position of joint 0."""
    rotations: NDArray
    """(J, 4) local unit quaternions on the performer's skeleton."""
    dt: float
    """Seconds since the frame before."""
    things: NDArray | None = None
    """(O, 7) transforms of the scene's objects: translation (3), metres, and rotation (4); None: identity."""


@dataclass(frozen=True, eq=False)
class PuppetPose:
    """An outgoing pose of the character."""

    root: NDArray
    """(3,) metres; world position of joint 0."""
    rotations: NDArray
    """(J, 4) local unit quaternions on the character's skeleton."""
    importance: Importance
    """Importances in the frame."""
    iterations: int = 0
    """Iterations of the body step; mostly 0."""


class Filter(Protocol):
    """Filters frames as they arrive (chapter 3); see `footplant.live.kalman`."""

    def init(self) -> Any:
        """Return the state before the first frame."""
        ...

    def step(self, state: Any, frame: PerformerFrame) -> tuple[Any, PerformerFrame]:
        """Return the next state and the filtered frame."""
        ...


@dataclass(frozen=True, eq=False)
class PuppeteerState:
    """State between frames."""

    filter: Any
    """The filter's state."""
    importance: NDArray
    """(N,) state of the importance analysis: see `footplant.kernels.importance.Memory`."""
    limbs: NDArray
    """(M,) state of the limbs: see `footplant.solve.ik.puppet._tables.Limbs`."""
    frames: int = 0
    """Number of frames so far."""


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
        """Precompute the tables.

        scene: what the performer may touch; None: a floor at height 0. scale: of the target's world relative to the
        performer's, including the scene; None: the ratio of their legs; 1.0: both share one world. about: (3,) the
        fixed point of that scaling, metres. filter: of the frames; None: none.
        """
        from footplant.solve.ik.puppet._packed import FOUND, WORK, view

        self.performer, self.target, self.filter = performer, target, filter
        self.engine = PuppetEngine(performer, target, scene, scale=scale, about=about)
        self._tables = tables = self.engine.packed()
        self._memory, self._limbs = self.engine.init()
        self._scene, self._body, self._hands = (view(tables, FOUND + n, axes) for n, axes in ((0, 1), (3, 2), (5, 1)))
        self._local, self._root = view(tables, WORK + 2, 3), view(tables, WORK + 3, 2)
        self._rest = self.engine.analysis.scene.rest()

    def init(self, acceleration: float = 0.0) -> PuppeteerState:
        """Return the state before the first frame.

        acceleration: m/s² that joints of the copied angles are known to reach (`PuppetMotion.peak_acceleration` of an
        offline run); otherwise it is learnt on the way. Outgoing accelerations are limited to 1.46 times that.
        """
        memory = None if self.filter is None else self.filter.init()
        limbs = self.engine.init(acceleration)[1] if acceleration else self._limbs
        return PuppeteerState(memory, self._memory.floats, limbs.floats)

    def step(self, state: PuppeteerState, frame: PerformerFrame) -> tuple[PuppeteerState, PuppetPose]:
        """Return the state after a frame, and the character's pose."""
        memory, frame = self.clean(state, frame)
        analysis, importance = self.analyse(state, frame)
        limbs, pose = self.pose(state, frame, analysis, importance)
        return PuppeteerState(memory, analysis, limbs, state.frames + 1), pose

    def clean(self, state: PuppeteerState, frame: PerformerFrame) -> tuple[Any, PerformerFrame]:
        """First phase: return the filter's next state and the filtered frame."""
        from footplant.kernels.rows import first_unnormalized

        root = shaped(frame.root, (3,), "root", MotionError, finite=False)
        turns = shaped(frame.rotations, (len(self.performer.skeleton), 4), "rotations", MotionError, finite=False)
        rows = turns.view()
        rows.setflags(write=False)
        is_unit = first_unnormalized(rows, 1e-6) == len(rows)
        if not all(map(math.isfinite, root.tolist())) or not (is_unit or np.isfinite(turns).all()):
            raise MotionError("expected a finite frame, got NaN or infinity")
        if not is_unit:
            raise MotionError("expected a frame of unit quaternions, got other norms")
        return (state.filter, frame) if self.filter is None else self.filter.step(state.filter, frame)

    def analyse(self, state: PuppeteerState, frame: PerformerFrame) -> tuple[Any, Importance]:
        """Second phase: return the analysis's next state, and the importances in the frame."""
        from footplant.solve.ik.puppet._pose import observe

        memory = state.importance.copy()
        observe(
            *self._tables, memory, self._memory.places, _row(frame.root), _row(frame.rotations), self._things(frame),
            _seconds(frame),
        )  # fmt: skip
        ends, middles = self._scene[:4].copy(), self._scene[4:].copy()
        return memory, Importance(ends, self._body.copy(), float(self._hands[0]), middles)

    def pose(
        self, state: PuppeteerState, frame: PerformerFrame, analysis: Any, importance: Importance
    ) -> tuple[Any, PuppetPose]:
        """Third phase: return the limbs' next state, and the character's pose for the frame just analysed."""
        from footplant.solve.ik.puppet import _pose as kernel

        limbs = state.limbs.copy()
        iterations = kernel.pose(
            *self._tables, analysis, self._memory.places, limbs, self._limbs.places, self._things(frame),
            _seconds(frame),
        )  # fmt: skip
        return limbs, PuppetPose(self._root[0].copy(), self._local[0].copy(), importance, int(iterations))

    def things(self, poses: Mapping[str, NDArray]) -> NDArray:
        """Return transforms (O, 7) of the scene's objects, of which some are moved by their name; others are at rest.

        poses: name → (7,) position (metres) and rotation of an object that the scene describes in its own frame.
        """
        found = self._rest.copy()
        for number, thing in enumerate(self.engine.analysis.scene.things):
            if thing.name in poses:
                found[number] = poses[thing.name]
        return found

    def _things(self, frame: PerformerFrame) -> NDArray:
        return (
            self._rest
            if frame.things is None
            else np.array(shaped(frame.things, self._rest.shape, "things", MotionError))
        )


def _row(values: NDArray) -> NDArray:
    """Return one frame as a writable array with a leading axis: the kernels are compiled for that."""
    return np.array(values, float)[None]


def _seconds(frame: PerformerFrame) -> float:
    """Return a frame's duration, bounded away from 0 and by `LONGEST`."""
    return min(max(real_number(frame.dt, "dt in seconds", MotionError), 1e-4), LONGEST)
