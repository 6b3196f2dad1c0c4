"""Contact detection: when each heel and ball of the foot (toe, palm) is planted, and where.

Three steps: find intervals in which a point is still (`stillness`), decide which of them are supported (`ground`), and
return them as plants. All lengths scale with the body's height and all durations are in seconds, so neither a child nor
another frame rate needs other settings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.checks import MOST_FRAMES, frame_rate, real_array, real_number, shaped, whole_number
from footplant.clip import Clip
from footplant.contacts.ground import Ground, as_ground, estimate_ground, supported
from footplant.contacts.moving_ground import MovingGround
from footplant.contacts.settings import StillnessSettings
from footplant.contacts.stillness import find_still_intervals
from footplant.errors import MotionError, SkeletonError
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.wording import counted

FEET = ("left_heel", "left_ball", "right_heel", "right_ball")
TOES = ("left_toe", "right_toe")
HANDS = ("left_palm", "right_palm")


@dataclass(frozen=True, eq=False)
class Plant:
    """A contact: a contact point at one position over an interval of frames."""

    point: str
    """Name of the contact point: left_heel, left_ball, right_palm …"""
    start: int
    """First frame of the contact."""
    end: int
    """First frame after it."""
    place: NDArray
    """(3,) metres; the median world position of the point over these frames."""

    def __post_init__(self) -> None:
        """Check the interval and the place."""
        start = whole_number(self.start, "the first frame of a contact", MotionError)
        whole_number(self.end, f"the end of a contact that starts at frame {start}", MotionError, low=start)
        object.__setattr__(self, "place", shaped(self.place, (3,), "the place of a contact", MotionError))

    def __len__(self) -> int:
        """Return the number of frames."""
        return self.end - self.start

    def to_dict(self) -> dict:
        """Return a JSON-ready dictionary."""
        return {"point": self.point, "start": self.start, "end": self.end, "place": [float(x) for x in self.place]}


@dataclass(frozen=True, eq=False)
class Contacts:
    """All contacts of a motion."""

    plants: tuple[Plant, ...]
    """Ordered by point, then by time; plants of one point do not overlap."""
    points: tuple[str, ...]
    """The points that were examined, with or without plants."""
    frames: int
    """Frames of the motion."""
    fps: float
    """Frames per second."""
    ground: Ground
    """The ground, as given or as estimated from the plants: `ground.height(places)`."""
    noise: float = 0.0
    """Metres per axis; estimated white noise of the points."""

    def __post_init__(self) -> None:
        """Check the frames; contacts of a loop may start before the first or end after the last one."""
        whole_number(self.frames, "frames of a motion", MotionError, low=0, high=MOST_FRAMES)
        frame_rate(self.fps, MotionError)

    def __repr__(self) -> str:
        """Return the number of plants, points and frames."""
        plants, rate = counted(len(self.plants), "plant"), f"{self.frames} frames at {self.fps:.6g} fps"
        return f"Contacts({plants} of {', '.join(self.points)}, {rate})"

    def intervals(self, point: str) -> list[tuple[int, int]]:
        """Return (start, end) of the point's plants, end excluded."""
        self._known(point)
        return [(plant.start, plant.end) for plant in self.plants if plant.point == point]

    def mask(self, point: str) -> NDArray:
        """Return (F,) bool: frames in which the point is planted."""
        mask = np.zeros(self.frames, bool)
        for start, end in self.intervals(point):
            mask[start:end] = True
        return mask

    def masks(self) -> NDArray:
        """Return (F, P) bool, points in the order of `points`."""
        return (
            np.stack([self.mask(point) for point in self.points], axis=1)
            if self.points
            else np.zeros((self.frames, 0), bool)
        )

    def at(self, frame: int) -> list[Plant]:
        """Return the plants that include a frame."""
        return [plant for plant in self.plants if plant.start <= frame < plant.end]

    def since(self, frame: int) -> Contacts:
        """Return the contacts from a frame on, earlier parts removed; frame numbers do not change."""
        whole_number(frame, "a frame", MotionError, low=0)
        kept = (replace(plant, start=max(plant.start, frame)) for plant in self.plants if plant.end > frame)
        return replace(self, plants=tuple(kept))

    def after(self, frame: int) -> Contacts:
        """Return the contacts of the motion without its frames before one, which becomes frame 0."""
        plants = (
            replace(plant, start=plant.start - frame, end=plant.end - frame) for plant in self.since(frame).plants
        )
        return replace(self, plants=tuple(plants), frames=max(self.frames - frame, 0))

    def delayed(self, frames: int) -> Contacts:
        """Return the contacts of the motion with `frames` frames inserted before it."""
        plants = (replace(plant, start=plant.start + frames, end=plant.end + frames) for plant in self.plants)
        return replace(self, plants=tuple(plants), frames=self.frames + frames)

    def resample(self, fps: float, frames: int) -> Contacts:
        """Return the contacts at another frame rate: the new frames that lie inside each plant."""
        frames = whole_number(frames, "frames of a motion", MotionError, low=0)
        ratio = frame_rate(fps, MotionError) / self.fps
        plants = []
        for plant in self.plants:
            # the last planted frame is end − 1; after it the point may already be moving
            start, end = math.ceil(plant.start * ratio - 1e-6), math.floor((plant.end - 1) * ratio + 1e-6) + 1
            if start < min(end, frames):
                plants.append(replace(plant, start=start, end=min(end, frames)))
        return replace(self, plants=tuple(plants), frames=frames, fps=float(fps))

    def to_dict(self) -> dict:
        """Return a JSON-ready dictionary."""
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
    settings: StillnessSettings | None = None,
) -> Contacts:
    """Return the foot contacts of a clip, or of a (motion, character) pair.

    With `toes` the toe tips are examined too, with `hands` the palms: planted where they hold on to something or rest
    on the ground. `ground` (a level in metres or any object with `height(places)`) is the ground; by default it is
    estimated from the contacts. On one that moves (`moving_ground`), contacts and their places are in its frame.
    """
    motion, character = clip if isinstance(clip, tuple) else (clip.motion, clip.character)
    if isinstance(ground, MovingGround):
        motion, ground = ground.relative(motion), ground.base
    wanted = FEET + (TOES if toes else ()) + (HANDS if hands else ())
    names = [name for name in wanted if name in character.contacts]
    if not any(name in character.contacts for name in FEET + TOES):
        raise SkeletonError(
            f"{character.name!r} has no contact points on its feet (left_heel, left_ball …): contacts need a "
            "humanoid character; name its roles in a TOML file and pass it as roles=FILE (--roles FILE)"
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


def known_contacts(
    contacts: Contacts | None, clip: Clip | tuple[Motion, Character], *, hands: bool = False
) -> Contacts:
    """Return contacts that are known already, checked to be of the clip's frames, or those that are found in it."""
    if contacts is None:
        return find_contacts(clip, hands=hands)
    frames = len(clip.motion if isinstance(clip, Clip) else clip[0])
    if contacts.frames != frames:
        raise MotionError(f"expected contacts of a clip of {frames} frames, got ones of {contacts.frames}")
    for plant in contacts.plants:
        if plant.start < 0 or plant.end > frames:
            raise MotionError(f"expected contacts within 0..{frames}, got one in {plant.start}..{plant.end}")
    return contacts


def contacts_of_points(
    positions: ArrayLike,
    fps: float,
    height: float,
    *,
    names: Sequence[str],
    body: ArrayLike | None = None,
    ground: Ground | float | None = None,
    settings: StillnessSettings | None = None,
) -> Contacts:
    """Return the contacts of points given by their positions alone: markers, or joints of another tool.

    `positions` (F, P, 3) in metres, y up; `height` of the body in metres; `names` tell which foot a point belongs to
    (points whose names start alike, "left_…", share one) and which are hands ("…_palm"). `body` (F, 3) is the centre of
    mass or the pelvis; without it, points held still in the air are recognised by their height only.
    """
    positions, fps = _checked_positions(positions, names), frame_rate(fps, MotionError)
    height = real_number(height, "body height", MotionError, above=0.0)
    if body is not None and np.shape(body) != (len(positions), 3):
        raise MotionError(f"expected a body path of shape ({len(positions)}, 3), got {np.shape(body)}")
    settings = settings or StillnessSettings()
    known = None if ground is None else as_ground(ground)
    intervals, noise = find_still_intervals(positions, fps, height, settings)
    sides = list(dict.fromkeys(name.partition("_")[0] for name in names))
    limbs = [sides.index(name.partition("_")[0]) for name in names]
    # hands get negative numbers: a palm never defines the floor
    limbs = [-1 - limb if name.endswith("_palm") else limb for limb, name in zip(limbs, names)]
    planted = supported(intervals, limbs, None if body is None else np.asarray(body, float), height, fps, known)
    plants = tuple(
        Plant(names[interval.point], interval.start, interval.end, interval.place)
        for interval, is_planted in zip(intervals, planted)
        if is_planted
    )
    if known is None:
        known = _ground_below(plants, positions[:, [i for i, limb in enumerate(limbs) if limb >= 0], 1], height)
    return Contacts(plants, tuple(names), len(positions), float(fps), known, noise)


def _checked_positions(positions: ArrayLike, names: Sequence[str]) -> NDArray:
    """Return positions (F, P, 3) of as many points as there are names, all finite."""
    positions = real_array(positions, "positions", MotionError)
    if positions.ndim != 3 or positions.shape[1:] != (len(names), 3):
        raise MotionError(f"expected positions of shape (frames, {len(names)}, 3), got {positions.shape}")
    if not np.isfinite(positions).all():
        frame, point = np.argwhere(~np.isfinite(positions))[0][:2]
        raise MotionError(f"expected finite positions, got NaN or infinity at frame {frame}, point {names[point]!r}")
    return positions


def _ground_below(plants: Sequence[Plant], soles: NDArray, height: float) -> Ground:
    """Return the ground that planted feet stand on; soles: heights (F, n) of all points of feet."""
    feet = [plant for plant in plants if not plant.point.endswith("_palm")]
    if feet:
        return estimate_ground([plant.place for plant in feet], [len(plant) for plant in feet], height)
    # no foot is planted: the ground is no higher than the lowest sole
    return Plane((0.0, float(soles.min()) if soles.size else 0.0, 0.0))
