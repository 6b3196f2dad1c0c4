"""From the path of a motion onto another curve: frames, footsteps, ground (Gleicher 2001, section 4.4; METHODS B6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.contacts.detection import Plant
from footplant.contacts.ground import Ground, estimate_ground
from footplant.curves import Curve
from footplant.feet.steps import Step
from footplant.feet.travel import Travel
from footplant.geometry import Plane
from footplant.motion import Motion

PlantAt = Literal["begin", "middle", "end"]
"""The instant of a stance at which its foot is carried to the new path."""


@dataclass(frozen=True, eq=False)
class PathMapping:
    """How every frame is carried from the path that it was on to another one: a turn and a shift over the floor."""

    before: Travel
    """The path as it was."""
    places: NDArray
    """(F, 2) metres; where the path's places go."""
    turns: NDArray
    """(F,) radians to the left about the path's place."""

    @classmethod
    def of(cls, travel: Travel, curve: Curve, scale: float = 1.0) -> PathMapping:
        """From a path onto a curve in the world; scale: metres along the curve for each metre of the path."""
        places, headings = curve.at(scale * travel.way)
        return cls(travel, places, headings - travel.headings)

    def carried(self, points: ArrayLike, frames: ArrayLike) -> NDArray:
        """World points (N, 3) of frames (N,), carried."""
        frames = np.asarray(frames, np.int64)
        away = np.asarray(points, float) - _floor(self.before.places[frames])
        return _floor(self.places[frames]) + rotation.rotate(self._quaternions[frames], away)

    def motion(self, motion: Motion) -> Motion:
        """A motion, every frame carried as a whole."""
        rotations = np.array(motion.rotations)
        rotations[:, 0] = rotation.multiply(self._quaternions, rotations[:, 0])
        every = np.arange(len(motion))
        return replace(motion, root=self.carried(motion.root, every), rotations=rotation.normalize(rotations))

    def steps(self, steps: Sequence[Step], plant_at: PlantAt = "middle") -> list[Step]:
        """Steps, each carried rigidly as one instant of its stance is."""
        return [self._step(step, _instant(step, plant_at)) for step in steps]

    def _step(self, step: Step, frame: int) -> Step:
        def moved(plants: tuple[Plant, ...]) -> tuple[Plant, ...]:
            return tuple(replace(plant, place=self.carried(plant.place[None], [frame])[0]) for plant in plants)

        return replace(step, heels=moved(step.heels), balls=moved(step.balls))

    @property
    def _quaternions(self) -> NDArray:
        return rotation.exp(self.turns[:, None] * rotation.AXES["y"])


def carried_ground(ground: Ground, steps: Sequence[Step], height: float) -> tuple[Ground, list[str]]:
    """The ground below the new path, and a sentence where it is not the old one."""
    if isinstance(ground, Plane) and abs(ground.up[1]) > 1.0 - 1e-9:
        return ground, []
    plants = [plant for step in steps for plant in (*step.heels, *step.balls)]
    if not plants:
        return ground, []
    found = estimate_ground([plant.place for plant in plants], [len(plant) for plant in plants], height)
    return found, ["the ground is not level: it goes along with the path, each step as high as it was"]


def _instant(step: Step, plant_at: PlantAt) -> int:
    if plant_at == "begin":
        return step.start
    return step.end - 1 if plant_at == "end" else (step.start + step.end - 1) // 2


def _floor(places: NDArray) -> NDArray:
    """(N, 3) places of the floor (N, 2) at height 0."""
    return np.insert(places, 1, 0.0, axis=-1)
