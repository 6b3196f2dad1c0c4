"""What matters in a performance: which hands and feet touch something, or are about to.

H. J. Shin, "An importance-based approach for computer puppetry" (KAIST 2002), chapter 4. Importance grows as an end
comes near to a thing of the scene or to the body itself, ahead of the touch when it approaches, and fades behind it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.errors import MotionError
from footplant.geometry import Ball, Basis, Box, Capsule, HeightField, Plane
from footplant.humanoid.body_proxy import SEGMENTS, BodySurface
from footplant.skeleton import Character

Shape = Plane | HeightField | Box | Ball | Capsule
"""What things of a scene are made of."""
POINTS = ("left_palm", "right_palm", *(f"{s}_{p}" for s in ("left", "right") for p in ("heel", "ball", "toe")))
"""Contact points that may touch the scene, in the order of the tables."""
LIMBS = ("left_arm", "right_arm", "left_leg", "right_leg")
GENERAL = ("left_palm", "right_palm", "left_foot", "right_foot", "left_elbow", "right_elbow", "left_knee", "right_knee")
"""What may touch the body itself."""
REACH = 0.1
"""Body heights from a thing at which it begins to count (D of the paper, which leaves it to the animator)."""
NEAR_BODY = 0.045
"""Body heights from the body's surface at which a palm, foot, elbow or knee begins to count."""
NEAR_HANDS = 0.12
"""Body heights between the palms at which they begin to count."""
PASSING = 0.3
"""Body heights a second along the body at which a touch does not count."""
LOOKAHEAD, STEP_LOOKAHEAD = 0.25, 0.35
"""Seconds by which an approach of hands (λ, figure 4.3) and of feet to the scene counts ahead."""
TOUCH_LOOKAHEAD, HANDS_LOOKAHEAD = 0.14, 0.23
"""Seconds by which an approach to the body, and of the palms to one another, counts ahead."""
RATE = 0.02
"""Half-life in seconds of the filter on speeds."""
RISE, FALL, TOUCH_RISE, TOUCH_FALL = 0.085, 0.075, 0.114, 0.45
"""Half-lives in seconds in which importances of feet, and those of hands and of touches of the body, grow and fade."""


def importance(distance: ArrayLike) -> NDArray:
    """How much a thing counts, 1 at a touch to 0 at the distance 1 where it begins to (equation 4.4)."""
    d = np.clip(distance, 0.0, 1.0)
    return 2.0 * d**3 - 3.0 * d**2 + 1.0


@dataclass(frozen=True, eq=False)
class Thing:
    """A thing of the scene that hands and feet may touch."""

    shape: Shape
    """Its shape and where it is in the performer's world, metres."""
    name: str = ""
    """What people call it."""
    reach: float | None = None
    """Metres within which it counts; None: `REACH` of the performer's height."""


@dataclass(frozen=True, eq=False)
class Scene:
    """The things around the performer. A floor at height 0, unless told otherwise."""

    things: tuple[Thing, ...] = (Thing(Plane(), "floor"),)

    @classmethod
    def of(cls, *shapes: Shape | Thing) -> Scene:
        """A scene of shapes, named by their kind where they have no name."""
        things = tuple(
            shape if isinstance(shape, Thing) else Thing(shape, type(shape).__name__.lower()) for shape in shapes
        )
        return cls(things)

    def __len__(self) -> int:
        """How many things."""
        return len(self.things)

    def rest(self) -> NDArray:
        """(O, 7) poses of things that have not moved: place 0 0 0 and turn 1 0 0 0 from where their shapes are."""
        return np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (len(self), 1))

    def tables(self, height: float):
        """The same as the kernels take it; height: the performer's, metres."""
        from footplant.kernels import scene as kernel

        kinds, sizes, grids = np.zeros(len(self), np.int64), np.zeros((len(self), 10)), [np.zeros(0)]
        for number, thing in enumerate(self.things):
            start = sum(len(grid) for grid in grids)
            kinds[number], numbers = _numbers(thing.shape, start)
            sizes[number, : len(numbers)] = numbers
            if isinstance(thing.shape, HeightField):
                grids.append(np.ravel(thing.shape.heights))
        reaches = np.array([REACH * height if thing.reach is None else thing.reach for thing in self.things], float)
        return kernel.Things(kinds, sizes, np.concatenate(grids), reaches)


def _numbers(shape: Shape, start: int) -> tuple[int, list[float]]:
    """A shape's kind and its own numbers, in the order of `kernels.scene.Things`."""
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
    """What matters at one instant."""

    scene: NDArray
    """(4,) of each limb's end in the scene, 0 to 1, in the order of `LIMBS`."""
    body: NDArray
    """(8, S) of each of `GENERAL` to each of `SEGMENTS`, 0 to 1."""
    hands: float
    """Of the palms to one another, 0 to 1."""

    def __getitem__(self, limb: str) -> float:
        """The most that matters about a limb's end, 0 to 1: the scene, the body or the other hand."""
        number = LIMBS.index(limb)
        return float(max(self.scene[number], self.body[number].max(), self.hands if number < 2 else 0.0))


class Analysis:
    """The second phase of computer puppetry: importance, frame by frame, in one compiled call."""

    def __init__(self, performer: Character, scene: Scene | None = None) -> None:
        """Prepare the tables of a performer in a scene (default: a floor at height 0)."""
        from footplant.kernels import importance as kernel

        height = performer.height or 1.75
        self.performer, self.scene = performer, Scene() if scene is None else scene
        self.surface = BodySurface.of(performer)
        self.figure = figure_tables(performer)
        self.near = near_table()
        self.tubes, self.things = self.surface.tables(), self.scene.tables(height)
        self.rules = kernel.Rules(
            LOOKAHEAD,
            STEP_LOOKAHEAD,
            TOUCH_LOOKAHEAD,
            HANDS_LOOKAHEAD,
            NEAR_BODY * height,
            NEAR_HANDS * height,
            PASSING * height,
            RATE,
            RISE,
            FALL,
            TOUCH_RISE,
            TOUCH_FALL,
        )

    def init(self):
        """The memory before the first frame."""
        from footplant.kernels import importance as kernel

        return kernel.new_memory(len(self.scene), len(SEGMENTS))

    def room(self):
        """Room for the answer of `step`, to be used again for every frame."""
        from footplant.kernels import importance as kernel

        return kernel.new_importance(len(SEGMENTS))

    def step(self, memory, positions: NDArray, rotations: NDArray, dt: float, poses: NDArray, out) -> None:
        """Analyse one frame: world positions (J, 3) and rotations (J, 4); changes `memory` and writes `out`."""
        from footplant.kernels.importance import analyse

        analyse(
            self.figure, self.tubes, self.near, self.things, poses, self.rules, dt, positions, rotations, memory, out
        )


def figure_tables(character: Character):
    """Limbs and contact points of a figure as the kernels take them; −1 for what it does not have."""
    from footplant.kernels.importance import Figure

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
    return Figure(limbs.astype(np.int64), carriers, offsets, general)


def near_table() -> NDArray:
    """(8, S) bool; which of `GENERAL` may touch which of `SEGMENTS`: not what its own limb hangs on."""

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
    performer: Character, positions: ArrayLike, rotations: ArrayLike, fps: float, scene: Scene | None = None
) -> list[Importance]:
    """The importance at every frame of a motion: world positions (F, J, 3) and rotations (F, J, 4)."""
    analysis = Analysis(performer, scene)
    memory, out, poses = analysis.init(), analysis.room(), analysis.scene.rest()
    found = []
    pairs: Iterable = zip(np.array(positions, float), np.array(rotations, float))
    for places, turned in pairs:
        analysis.step(memory, places, turned, 1.0 / fps, poses, out)
        found.append(Importance(np.array(out.scene), np.array(out.body), float(out.hands[0])))
    return found
