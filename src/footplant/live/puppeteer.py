"""Computer puppetry: a performer drives a character of another shape, frame by frame.

H. J. Shin, "An importance-based approach for computer puppetry" (KAIST 2002). Three phases, three calls of `step`:
the input is filtered (chapter 3), what matters in it is told (chapter 4), and the character is posed so that it holds
(chapter 5).

    puppeteer = Puppeteer(performer, target)
    state = puppeteer.init()
    for frame in frames:                            # Frame(root, rotations, dt)
        state, pose = puppeteer.step(state, frame)  # Pose(root, rotations)

States are values: `step` changes none, so one puppeteer drives any number of actors of one performer's proportions,
each with a state of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from footplant.humanoid.counterparts import Counterparts, leg_ratio
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character


@dataclass(frozen=True, eq=False)
class Frame:
    """A pose of the performer as it comes in."""

    root: NDArray
    """(3,) metres; place of joint 0 in the world."""
    rotations: NDArray
    """(J, 4) local unit quaternions on the performer's skeleton."""
    dt: float
    """Seconds since the frame before."""


@dataclass(frozen=True, eq=False)
class Pose:
    """A pose of the character as it goes out."""

    root: NDArray
    """(3,) metres; place of joint 0 in the world."""
    rotations: NDArray
    """(J, 4) local unit quaternions on the character's skeleton."""


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
    frames: int
    """How many frames have come in."""


class Puppeteer:
    """Drives a target character with a performer's frames."""

    def __init__(
        self, performer: Character, target: Character, *, scale: float | None = None, filter: Filter | None = None
    ) -> None:
        """Prepare the tables.

        scale: how much larger the target's world is than the performer's; None: as much as its legs are longer.
        filter: cleans the frames first; None: they are clean.
        """
        self.performer, self.target, self.filter = performer, target, filter
        self.scale = leg_ratio(performer, target) if scale is None else scale
        self._counterparts = Counterparts.of(performer, target)

    def init(self) -> State:
        """The state before the first frame."""
        return State(None if self.filter is None else self.filter.init(), 0)

    def step(self, state: State, frame: Frame) -> tuple[State, Pose]:
        """The state after a frame, and the character's pose."""
        memory = state.filter
        if self.filter is not None:
            memory, frame = self.filter.step(memory, frame)
        motion = Motion(self.performer.skeleton, frame.root[None], frame.rotations[None], 1.0)
        kinematics = Kinematics(motion)
        rotations = self._counterparts.carry(kinematics.rotations)
        carried = Motion(self.target.skeleton, np.zeros((1, 3)), rotations, 1.0)
        root = self.scale * _hips(kinematics, self.performer) - _hips(Kinematics(carried), self.target)
        return State(memory, state.frames + 1), Pose(root, rotations[0])


def _hips(kinematics: Kinematics, character: Character) -> NDArray:
    """(3,) the middle of the hip joints, metres."""
    roles = character.require_roles()
    return kinematics.positions[0, [roles["left_upper_leg"], roles["right_upper_leg"]]].mean(axis=0)
