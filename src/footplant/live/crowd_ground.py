"""Ground under the characters of a crowd: what it does to roots and feet, eased in when it is replaced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.contacts.ground import Ground
from footplant.contacts.moving_ground import MovingGround
from footplant.geometry import Plane
from footplant.live.crowd_ease import Easing
from footplant.live.crowd_scene import FLOOR
from footplant.live.ground_adaptation import GroundInTime, foot_targets, ground_shifts


class OnGround(NamedTuple):
    """Characters of a group on a ground: roots (C, 3), feet (C, N, 3) and their rotations (C, N, 4), world."""

    root: NDArray
    places: NDArray
    turns: NDArray


def on_ground(flat: OnGround, ground: Ground | GroundInTime | MovingGround, seconds: float, height: float) -> OnGround:
    """Return characters of a level floor on a ground at a time since it is there; height: of their bodies, metres."""
    if _is_floor(ground):
        return flat
    base = ground.base if isinstance(ground, MovingGround) else ground
    root, places, turns = flat
    if not _is_floor(base):
        shifts, normals = ground_shifts(places, base, FLOOR, np.full(len(places), seconds))
        root = root.copy()
        root[:, 1] += shifts.mean(axis=1)
        places, turns = foot_targets(places, turns, shifts, normals, FLOOR, height)
    if not isinstance(ground, MovingGround):
        return OnGround(root, places, turns)
    at, turn = (row[0] for row in ground.poses([seconds]))
    # who stands on what tilts keeps upright about the place below its root
    below = root * [1.0, 0.0, 1.0]
    below[:, 1] = root[:, 1] - flat.root[:, 1]
    upright = rotation.multiply(
        turn, rotation.between(rotation.AXES["y"], rotation.rotate(rotation.inverse(turn), rotation.AXES["y"]))
    )
    return OnGround(
        at + rotation.rotate(turn, below) + rotation.rotate(upright, root - below),
        at + rotation.rotate(turn, places), rotation.multiply(turn, turns),
    )  # fmt: skip


def _is_floor(ground: Ground | GroundInTime | MovingGround) -> bool:
    """Return whether a ground is level floor, on which characters stay as they are."""
    return isinstance(ground, Plane) and ground.is_level and ground.point[1] == 0.0


@dataclass(frozen=True)
class _Effect:
    """What a ground does to the characters of a group: (C, 3 + 6N) shifts and rotation vectors, at a frame."""

    values: NDArray
    frame: int


class GroundEase:
    """Eases from one ground to another, for the characters of a group."""

    def __init__(self, characters: int, feet: int) -> None:
        """No ground has been there before."""
        self._ease = Easing(characters, 3 + 6 * feet)
        self._last: list[tuple[OnGround, OnGround, int]] = []

    def grow(self, characters: int) -> None:
        """Make room for more characters."""
        self._ease.grow(characters)

    def eased(
        self, flat: OnGround, found: OnGround, frame: int, fps: float, over: float | None, ahead: NDArray | None
    ) -> OnGround:
        """Return characters on a ground (found) that was replaced; flat: on the level floor.

        over: seconds in which it eases in, at the frame at which it is replaced. ahead: what it will have done to them
        at the next frame.
        """
        now, characters = frame / fps, len(flat.root)
        if over is not None and self._last and over > 0.0:
            shown = [_Effect(_effect(*pair)[:characters], at) for *pair, at in self._last]
            some = np.arange(min(characters, len(shown[-1].values)))
            effect = _effect(flat, found)
            speeds = np.zeros_like(effect[some])
            if len(shown) > 1 and len(shown[0].values) >= len(some):
                speeds = (shown[1].values - shown[0].values)[some] / (shown[1].frame - shown[0].frame)
            own = 0.0 if ahead is None else (ahead - effect)[some]
            offsets = shown[-1].values[some] + (frame - shown[-1].frame) * speeds - effect[some]
            self._ease.begin(some, offsets, now, over, (speeds - own) * fps)
        if self._ease:
            from footplant.live import _crowd_ground as kernel

            found = OnGround(*(table.copy() for table in found))
            kernel.add_effects(*self._ease.at(now), *found)
        self._last = [*self._last[-1:], (flat, found, frame)]
        return found

    def carry(self, shift: NDArray) -> None:
        """Take a shift (3,), metres, out of what the ground before has done: the characters have it now."""
        self._last = [
            (flat, OnGround(found.root - shift, found.places - shift, found.turns), frame)
            for flat, found, frame in self._last
        ]


def effect_ahead(
    flat: OnGround, ground: Ground | GroundInTime | MovingGround, seconds: float, height: float
) -> NDArray:
    """Return what a ground will do to characters at a time, were they where they are: see `GroundEase.eased`."""
    return _effect(flat, on_ground(flat, ground, seconds, height))


def _effect(flat: OnGround, found: OnGround) -> NDArray:
    """Return shifts of roots and feet and rotation vectors of feet (C, 3 + 6N) between the floor and a ground."""
    from footplant.live import _crowd_ground as kernel

    characters, feet = flat.turns.shape[:2]
    effect = np.empty((characters, 3 + 6 * feet))
    kernel.effects(*flat, *found, effect)
    return effect
