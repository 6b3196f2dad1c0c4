"""Mapping of frames, footsteps and ground from the path of a motion onto another curve.

Gleicher, "Comparing constraint-based motion editing methods" (Graphical Models 2001), section 4.4, after his "Motion
path editing" (I3D 2001). At frame f the path has the place p(f) and the heading h(f), the curve c(f) and g(f) at the
same distance. A point x of that frame moves to c + R(g − h) (x − p), R a rotation about the vertical axis. A footstep
moves rigidly, by the map of one frame of its stance, so that it stays planted.
"""

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
"""The instant of a stance whose frame decides where the footstep goes."""


@dataclass(frozen=True, eq=False)
class PathMapping:
    """Map of every frame from its path to another curve: a rotation about the vertical and a horizontal shift."""

    before: Travel
    """The motion's own path."""
    places: NDArray
    """(F, 2) metres; places on the new curve."""
    turns: NDArray
    """(F,) radians to the left, about the place on the path."""

    @classmethod
    def of(cls, travel: Travel, curve: Curve, scale: float = 1.0) -> PathMapping:
        """Return the map from a path onto a curve in the world; scale: metres along the curve per metre of the path."""
        places, headings = curve.at(scale * travel.distance)
        return cls(travel, places, headings - travel.headings)

    def moved(self, points: ArrayLike, frames: ArrayLike) -> NDArray:
        """Return world points (N, 3) of frames (N,), moved to the curve."""
        frames = np.asarray(frames, np.int64)
        away = np.asarray(points, float) - _floor(self.before.places[frames])
        return _floor(self.places[frames]) + rotation.rotate(self._quaternions[frames], away)

    def motion(self, motion: Motion) -> Motion:
        """Return a motion with every frame moved rigidly."""
        rotations = np.array(motion.rotations)
        rotations[:, 0] = rotation.multiply(self._quaternions, rotations[:, 0])
        every = np.arange(len(motion))
        return replace(motion, root=self.moved(motion.root, every), rotations=rotation.normalize(rotations))

    def steps(self, steps: Sequence[Step], plant_at: PlantAt = "middle") -> list[Step]:
        """Return the steps, each moved rigidly by the map of one frame of its stance."""
        return [self._step(step, _instant(step, plant_at)) for step in steps]

    def _step(self, step: Step, frame: int) -> Step:
        def moved(plants: tuple[Plant, ...]) -> tuple[Plant, ...]:
            return tuple(replace(plant, place=self.moved(plant.place[None], [frame])[0]) for plant in plants)

        return replace(step, heels=moved(step.heels), balls=moved(step.balls))

    @property
    def _quaternions(self) -> NDArray:
        return rotation.exp(self.turns[:, None] * rotation.AXES["y"])


def moved_ground(ground: Ground, steps: Sequence[Step], height: float) -> tuple[Ground, list[str]]:
    """Return the ground under moved steps, and notes if it differs from the old one. height: of the body, metres."""
    if isinstance(ground, Plane) and abs(ground.up[1]) > 1.0 - 1e-9:
        return ground, []
    plants = [plant for step in steps for plant in (*step.heels, *step.balls)]
    if not plants:
        return ground, []
    found = estimate_ground([plant.place for plant in plants], [len(plant) for plant in plants], height)
    return found, ["the ground is not level: it moves with the path, and each step keeps its height"]


def _instant(step: Step, plant_at: PlantAt) -> int:
    if plant_at == "begin":
        return step.start
    return step.end - 1 if plant_at == "end" else (step.start + step.end - 1) // 2


def _floor(places: NDArray) -> NDArray:
    """Return horizontal places (N, 2) as points (N, 3) at height 0."""
    return np.insert(places, 1, 0.0, axis=-1)
