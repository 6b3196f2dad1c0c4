"""Footplants: when each heel and ball of the foot stands, and where.

Three questions, one after another: where does the point stand still (`stillness`), does it rest on something
(`ground`), and what do the answers amount to as plants. All lengths scale with the body's height and all durations are
seconds, so that neither a child nor another frame rate needs other settings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.clip import Clip
from footplant.contacts.ground import Ground, as_ground, estimate_ground, supported
from footplant.contacts.stillness import Stillness, find_stays
from footplant.errors import MotionError, SkeletonError
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character

FEET = ("left_heel", "left_ball", "right_heel", "right_ball")
TOES = ("left_toe", "right_toe")
HANDS = ("left_palm", "right_palm")


@dataclass(frozen=True, eq=False)
class Plant:
    """A contact point that rests at one place for a while."""

    point: str
    """Name of the contact point: left_heel, left_ball, right_palm …"""
    start: int
    """First frame of the rest."""
    end: int
    """First frame after it."""
    place: NDArray
    """(3,) metres; the median place of the point over these frames, world."""

    def __len__(self) -> int:
        """How many frames."""
        return self.end - self.start

    def to_dict(self) -> dict:
        """Plain numbers, for JSON."""
        return {"point": self.point, "start": self.start, "end": self.end, "place": [float(x) for x in self.place]}


@dataclass(frozen=True, eq=False)
class Contacts:
    """All plants of a motion."""

    plants: tuple[Plant, ...]
    """By point, then by time; those of one point do not overlap."""
    points: tuple[str, ...]
    """The points that were looked at, with or without plants."""
    frames: int
    """Frames of the motion."""
    fps: float
    """Frames a second."""
    ground: Ground
    """What the feet stand on, as given or as the plants tell it: `ground.height(places)`."""
    noise: float = 0.0
    """Metres per axis; the white noise that was found on the points."""

    def intervals(self, point: str) -> list[tuple[int, int]]:
        """(start, end) of the point's plants, end excluded."""
        self._known(point)
        return [(plant.start, plant.end) for plant in self.plants if plant.point == point]

    def mask(self, point: str) -> NDArray:
        """(F,) bool: frames in which the point is planted."""
        mask = np.zeros(self.frames, bool)
        for start, end in self.intervals(point):
            mask[start:end] = True
        return mask

    def masks(self) -> NDArray:
        """(F, P) bool, points in the order of `points`."""
        return (
            np.stack([self.mask(point) for point in self.points], axis=1)
            if self.points
            else np.zeros((self.frames, 0), bool)
        )

    def at(self, frame: int) -> list[Plant]:
        """The plants that hold in a frame."""
        return [plant for plant in self.plants if plant.start <= frame < plant.end]

    def since(self, frame: int) -> Contacts:
        """The same plants without what lies before a frame; frames keep their numbers."""
        kept = (replace(plant, start=max(plant.start, frame)) for plant in self.plants if plant.end > frame)
        return replace(self, plants=tuple(kept))

    def resample(self, fps: float, frames: int) -> Contacts:
        """The same plants in the frames of another rate: those that lie inside them."""
        ratio = fps / self.fps
        plants = []
        for plant in self.plants:
            # the last planted frame is end − 1; beyond it the point may already be moving
            start, end = math.ceil(plant.start * ratio - 1e-6), math.floor((plant.end - 1) * ratio + 1e-6) + 1
            if start < min(end, frames):
                plants.append(replace(plant, start=start, end=min(end, frames)))
        return replace(self, plants=tuple(plants), frames=frames, fps=float(fps))

    def to_dict(self) -> dict:
        """Plain numbers, for JSON."""
        return {
            "frames": self.frames,
            "fps": float(self.fps),
            "points": list(self.points),
            "noise": float(self.noise),
            "plants": [plant.to_dict() for plant in self.plants],
        }

    def _known(self, point: str) -> None:
        if point not in self.points:
            raise MotionError(f"expected one of the points {', '.join(self.points)}; got {point!r}")


def find_contacts(
    clip: Clip | tuple[Motion, Character],
    *,
    toes: bool = False,
    hands: bool = False,
    ground: Ground | float | None = None,
    settings: Stillness | None = None,
) -> Contacts:
    """The footplants of a clip, or of a (motion, character) pair.

    With `toes` the tips of the toes are looked at too, with `hands` the palms: planted where they hold on to something
    or rest on the ground. `ground` (a level in metres or anything with `height(places)`) says where the ground is;
    without it, the plants themselves tell.
    """
    motion, character = clip if isinstance(clip, tuple) else (clip.motion, clip.character)
    wanted = FEET + (TOES if toes else ()) + (HANDS if hands else ())
    names = [name for name in wanted if name in character.contacts]
    if not any(name in character.contacts for name in FEET + TOES):
        raise SkeletonError(
            f"{character.name!r} has no contact points on its feet (left_heel, left_ball …): contacts need a "
            "human-like figure; name its roles in a TOML file and pass it as roles=FILE (--roles FILE)"
        )
    kinematics = Kinematics(motion)
    positions = kinematics.points([character.contacts[name] for name in names])
    if character.masses is not None and character.mass_centers is not None:
        body = kinematics.center_of_mass(character)
    else:
        hips = 0 if character.roles is None else character.roles.get("hips") or 0
        body = kinematics.positions[:, hips]
    return contacts_of_points(
        positions, motion.fps, character.height, names=names, body=body, ground=ground, settings=settings
    )


def contacts_of_points(
    positions: ArrayLike,
    fps: float,
    height: float,
    *,
    names: Sequence[str],
    body: ArrayLike | None = None,
    ground: Ground | float | None = None,
    settings: Stillness | None = None,
) -> Contacts:
    """Plants of points that are only known by where they are: markers, or another tool's joints.

    `positions` (F, P, 3) in metres, y up; `height` of the body in metres; `names` say which foot a point belongs to
    (all that start alike, "left_…", do) and which are hands ("…_palm"). `body` (F, 3) is the centre of mass or the
    pelvis; without it, still points in the air cannot be told from supported ones and only heights decide.
    """
    positions = np.asarray(positions, float)
    if positions.ndim != 3 or positions.shape[1:] != (len(names), 3):
        raise MotionError(f"expected positions of shape (frames, {len(names)}, 3), got {positions.shape}")
    if not np.isfinite(positions).all():
        frame, point = np.argwhere(~np.isfinite(positions))[0][:2]
        raise MotionError(f"expected finite positions, got NaN or infinity at frame {frame}, point {names[point]!r}")
    if not (np.isfinite(height) and height > 0):
        raise MotionError(f"expected a positive body height in metres, got {height}")
    if body is not None and np.shape(body) != (len(positions), 3):
        raise MotionError(f"expected a body path of shape ({len(positions)}, 3), got {np.shape(body)}")
    settings = settings or Stillness()
    known = None if ground is None else as_ground(ground)
    parts = list(dict.fromkeys(name.rpartition("_")[2] for name in names))
    kinds = np.array([parts.index(name.rpartition("_")[2]) for name in names], np.int64)
    stays, noise = find_stays(positions, kinds, fps, height, settings)
    sides = list(dict.fromkeys(name.partition("_")[0] for name in names))
    limbs = [sides.index(name.partition("_")[0]) for name in names]
    # hands get numbers of their own below zero: a palm never speaks for the floor
    limbs = [-1 - limb if name.endswith("_palm") else limb for limb, name in zip(limbs, names)]
    rests = supported(stays, limbs, None if body is None else np.asarray(body, float), height, fps, known)
    plants = tuple(
        Plant(names[stay.point], stay.start, stay.end, stay.place) for stay, rest in zip(stays, rests) if rest
    )
    if known is None:
        feet = [plant for plant in plants if not plant.point.endswith("_palm")]
        soles = positions[:, [i for i, limb in enumerate(limbs) if limb >= 0], 1]
        if feet:
            known = estimate_ground([plant.place for plant in feet], [len(plant) for plant in feet], height)
        else:  # nothing stands: the ground is no higher than the lowest sole
            known = Plane((0.0, float(soles.min()) if soles.size else 0.0, 0.0))
    return Contacts(plants, tuple(names), len(positions), float(fps), known, noise)
