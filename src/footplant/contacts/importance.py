"""Importance of hands and feet in a performance: which of them touch something, or are about to.

H. J. Shin, "An importance-based approach for computer puppetry" (KAIST 2002), chapter 4. Importance rises as an end
effector comes near an object of the scene or the body itself, ahead of the touch when it approaches, and falls after
it: I(d) = 2d³ − 3d² + 1 of the normalised distance d (equation 4.4).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.checks import all_finite, frame_rate, real_array, shaped
from footplant.contacts.settings import IMPORTANCE
from footplant.errors import MotionError
from footplant.geometry import Ball, Basis, Box, Capsule, HeightField, Plane
from footplant.humanoid.body_proxy import SEGMENTS, BodySurface
from footplant.skeleton import Character

Shape = Plane | HeightField | Box | Ball | Capsule
"""Shapes of scene objects."""
POINTS = ("left_palm", "right_palm", *(f"{s}_{p}" for s in ("left", "right") for p in ("heel", "ball", "toe")))
"""Contact points that may touch the scene, in the order of the tables."""
LIMBS = ("left_arm", "right_arm", "left_leg", "right_leg")
GENERAL = ("left_palm", "right_palm", "left_foot", "right_foot", "left_elbow", "right_elbow", "left_knee", "right_knee")
"""Parts that may touch the body itself."""


def importance(distance: ArrayLike) -> NDArray:
    """Return the importance at a normalised distance: 1 at a touch, 0 at distance 1 and beyond (equation 4.4)."""
    d = np.clip(all_finite(real_array(distance, "distances"), "distances"), 0.0, 1.0)
    return 2.0 * d**3 - 3.0 * d**2 + 1.0


@dataclass(frozen=True, eq=False)
class SceneObject:
    """An object of the scene that hands and feet may touch."""

    shape: Shape
    """Its shape and position in the performer's world, metres."""
    name: str = ""
    """Its name, for messages."""
    reach: float | None = None
    """Metres within which it matters; None: `ImportanceSettings.reach` of the performer's height."""


@dataclass(frozen=True, eq=False)
class PerformanceScene:
    """The objects around the performer; by default a floor at height 0."""

    things: tuple[SceneObject, ...] = (SceneObject(Plane(), "floor"),)

    @classmethod
    def of(cls, *shapes: Shape | SceneObject) -> PerformanceScene:
        """Build a scene from shapes, named by their kind where they have no name."""
        things = tuple(
            shape if isinstance(shape, SceneObject) else SceneObject(shape, type(shape).__name__.lower())
            for shape in shapes
        )
        return cls(things)

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self.things)

    def rest(self) -> NDArray:
        """Return poses (O, 7) of objects that have not moved: translation 0 0 0 and rotation 1 0 0 0."""
        return np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (len(self), 1))

    def tables(self, height: float):
        """Return the scene as kernels take it; height: the performer's, metres."""
        from footplant.kernels import scene as kernel

        kinds, sizes, grids = np.zeros(len(self), np.int64), np.zeros((len(self), 10)), [np.zeros(0)]
        for number, thing in enumerate(self.things):
            start = sum(len(grid) for grid in grids)
            kinds[number], numbers = _numbers(thing.shape, start)
            sizes[number, : len(numbers)] = numbers
            if isinstance(thing.shape, HeightField):
                grids.append(np.ravel(thing.shape.heights))
        default = IMPORTANCE.reach * height
        reaches = np.array([default if thing.reach is None else thing.reach for thing in self.things], float)
        return kernel.Things(kinds, sizes, np.concatenate(grids), reaches)


def _numbers(shape: Shape, start: int) -> tuple[int, list[float]]:
    """Return a shape's kind and numbers, in the order of `kernels.scene.Things`."""
    from footplant.kernels import scene as kernel

    match shape:
        case Plane():
            up = np.asarray(shape.up, float)
            return kernel.PLANE, [*shape.point, *(up / np.linalg.norm(up))]
        case HeightField():
            rows, columns = shape.heights.shape
            basis = get_args(Basis).index(shape.basis)
            return kernel.HEIGHT_FIELD, [start, rows, columns, shape.spacing, *shape.origin, basis]
        case Box():
            return kernel.BOX, [*shape.center, *shape.half, *shape.turn]
        case Ball():
            return kernel.BALL, [*shape.center, shape.radius]
        case Capsule():
            return kernel.CAPSULE, [*shape.start, *shape.stop, shape.radius]
    names = ", ".join(kind.__name__ for kind in get_args(Shape))
    raise MotionError(f"expected a scene of {names}; got {type(shape).__name__}")


@dataclass(frozen=True, eq=False)
class Importance:
    """Importance at one instant."""

    scene: NDArray
    """(4,) importance of each end effector to the scene, 0 to 1, in the order of `LIMBS`."""
    body: NDArray
    """(8, S) importance of each of `GENERAL` to each of `SEGMENTS`, 0 to 1."""
    hands: float
    """Importance of the palms to each other, 0 to 1."""
    middles: NDArray = field(default_factory=lambda: np.zeros(4))
    """(4,) importance of the elbow or knee of each limb to the scene, 0 to 1."""

    def __getitem__(self, limb: str) -> float:
        """Return the highest importance of a limb's end effector, 0 to 1: to the scene, the body or the other hand."""
        number = LIMBS.index(limb)
        return float(max(self.scene[number], self.body[number].max(), self.hands if number < 2 else 0.0))


class ImportanceAnalysis:
    """The second phase of computer puppetry: importance frame by frame, in one compiled call."""

    def __init__(self, performer: Character, scene: PerformanceScene | None = None) -> None:
        """Precompute the tables of a performer in a scene (default: a floor at height 0)."""
        from footplant.kernels import importance as kernel

        height = performer.height or 1.75
        self.performer, self.scene = performer, PerformanceScene() if scene is None else scene
        self.surface = BodySurface.of(performer)
        self.character = character_tables(performer, self.surface)
        self.near = near_table()
        self.tubes, self.things = self.surface.tables(), self.scene.tables(height)
        self.rules = kernel.Rules(
            IMPORTANCE.lookahead,
            IMPORTANCE.step_lookahead,
            IMPORTANCE.touch_lookahead,
            IMPORTANCE.hands_lookahead,
            IMPORTANCE.hands_on_body,
            IMPORTANCE.near_body * height,
            IMPORTANCE.near_hands * height,
            IMPORTANCE.passing * height,
            IMPORTANCE.rate,
            IMPORTANCE.rise,
            IMPORTANCE.fall,
            IMPORTANCE.touch_rise,
            IMPORTANCE.touch_fall,
        )

    @cached_property
    def _performer(self):
        """The tables as the kernel takes them."""
        from footplant.kernels.importance import Performer

        return Performer(self.character, self.tubes, self.near, self.things, self.rules)

    def init(self):
        """Return the filter state before the first frame."""
        from footplant.kernels import importance as kernel

        return kernel.new_memory(len(self.scene), len(SEGMENTS))

    def buffer(self):
        """Return an output buffer for `step`, reusable for every frame."""
        from footplant.kernels import importance as kernel

        return kernel.new_importance(len(SEGMENTS))

    def step(self, memory, positions: NDArray, rotations: NDArray, dt: float, poses: NDArray, out) -> None:
        """Analyse one frame: world positions (J, 3) and rotations (J, 4). Updates `memory` and writes `out`."""
        from footplant.kernels.importance import analyse

        analyse(self._performer, poses, dt, positions, rotations, memory, out)


def character_tables(character: Character, surface: BodySurface):
    """Return limbs and contact points of a character as kernels take them; −1 where one is missing."""
    from footplant.kernels.importance import CharacterTables

    roles = character.require_roles()
    ends = {"arm": ("upper_arm", "lower_arm", "hand"), "leg": ("upper_leg", "lower_leg", "foot")}
    limbs = np.full((len(LIMBS), 3), -1)
    for number, limb in enumerate(LIMBS):
        side, _, kind = limb.partition("_")
        joints = [roles.get(f"{side}_{part}") for part in ends[kind]]
        if None not in joints:
            limbs[number] = joints
    found = [character.contacts.get(name) for name in POINTS]
    carriers = np.array([-1 if point is None else point.joint for point in found], np.int64)
    offsets = np.array([(0.0, 0.0, 0.0) if point is None else point.offset for point in found], float)
    general = np.array([carriers[0], carriers[1], carriers[3], carriers[6], *limbs[:, 1]], np.int64)
    lower = ("left_lower_arm", "right_lower_arm", "left_lower_leg", "right_lower_leg")
    thick = np.array([surface.radius(name) for name in lower])
    return CharacterTables(limbs.astype(np.int64), carriers, offsets, general, thick)


def near_table() -> NDArray:
    """Return (8, S) bool: which of `GENERAL` may touch which of `SEGMENTS`, parts of its own limb excluded."""

    def touches(name: str, segment: str) -> bool:
        side, _, part = name.partition("_")
        other = "right" if side == "left" else "left"
        trunk = segment in ("hips", "waist", "chest", "head")
        if part == "palm":
            return trunk or segment.endswith("_leg") or (segment.startswith(other) and not segment.endswith("hand"))
        if part == "elbow":
            return segment in ("hips", "waist", "chest")
        return segment.startswith(other) and segment.endswith("_leg")

    return np.array([[touches(name, segment) for segment in SEGMENTS] for name in GENERAL])


def importances(
    performer: Character, positions: ArrayLike, rotations: ArrayLike, fps: float, scene: PerformanceScene | None = None
) -> list[Importance]:
    """Return the importance at every frame of a motion: world positions (F, J, 3) and rotations (F, J, 4)."""
    joints, fps = len(performer.skeleton), frame_rate(fps)
    positions = shaped(positions, ("F", joints, 3), "positions")
    rotations = shaped(rotations, (len(positions), joints, 4), "rotations")
    analysis = ImportanceAnalysis(performer, scene)
    memory, out, poses = analysis.init(), analysis.buffer(), analysis.scene.rest()
    found = []
    pairs: Iterable = zip(np.array(positions, float), np.array(rotations, float))
    for places, turned in pairs:
        analysis.step(memory, places, turned, 1.0 / fps, poses, out)
        found.append(
            Importance(np.array(out.scene[:4]), np.array(out.body), float(out.hands[0]), np.array(out.scene[4:]))
        )
    return found
