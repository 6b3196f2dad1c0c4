"""Feet and hips carried from level onto uneven ground: over what lies between the steps, smoothly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.contacts.ground import Ground
from footplant.feet.footing import Footing
from footplant.feet.soles import SOLE
from footplant.feet.steps import Step
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.solve.ik.limb import limb_of
from footplant.solve.ik.limb import place as place_limb
from footplant.spline import binomial_kernel, filter_fir, smooth_envelope

CLEARANCE = 0.02
"""Body heights; how high above the ground a foot swings, if it did so on the level (3.5 cm for an adult)."""
STRAIGHT = 0.99
"""Share of its full length to which a leg stretches on uneven ground, unless it was straighter on the level."""
SETTLE = 0.15
"""Seconds over which the hips follow the ground."""
EASE_DOWN = 0.1
"""Seconds over which the hips come down before, and up again after, a step that a leg would not reach."""
ALOFT = (0.1, 0.25)
"""Body heights over the ground from which on, and at which, a foot goes with the hips rather than with the ground."""
AROUND = 0.06
"""Body heights; a foot that must be lifted so much above its plain way down goes round the edge as far as it can."""
MOST_AHEAD = 0.12
"""Share of a swing by which a foot is at most ahead of its time to go round an edge."""


def move_feet_to_ground(
    motion: Motion,
    character: Character,
    steps: Sequence[Step],
    footings: Sequence[Footing],
    level: Ground,
    ground: Ground,
) -> Motion:
    """The motion with feet and hips carried from the level onto uneven ground, smoothly from step to step.

    Kulpa, Multon & Arnaldi 2005, section 7, with feet that tilt and swing over what is in their way: a
    first guess, near enough that the plants need little more. On ground that is as level as before nothing changes.
    """
    kinematics = Kinematics(motion)
    paths = {}
    for side in ("left", "right"):
        own = [(step, footing) for step, footing in zip(steps, footings) if step.side == side]
        if all(f"{side}_{part}" in character.contacts for part in ("heel", "ball")):
            paths[side] = _foot_path(kinematics, character, side, own, level, ground)
    if not paths:
        return motion
    half = round(SETTLE * motion.fps)
    kernel = np.hanning(2 * half + 3)[1:-1]
    both = np.array([path.hips for path in paths.values()])
    # with the lower foot: who climbs rises once the upper leg has taken over, who descends comes down before
    shift = both.mean(axis=0) * [1.0, 0.0, 1.0] + both.min(axis=0) * [0.0, 1.0, 0.0]
    shift = filter_fir(shift, kernel / kernel.sum())
    feet = {side: limb_of(character, f"{side}_leg").end for side in paths}
    paths = {side: path.with_hips(kinematics, feet[side], shift) for side, path in paths.items()}
    moved = replace(motion, root=motion.root + shift)
    moved = replace(moved, root=moved.root - _down(kinematics, character, paths, shift)[:, None] * [0, 1, 0])
    for side, path in paths.items():
        moved = place_limb(moved, limb_of(character, f"{side}_leg"), path.ankles, orientations=path.turns).motion
    return moved


@dataclass(frozen=True, eq=False)
class _FootPath:
    """Where one foot goes."""

    ankles: NDArray
    """(F, 3) metres."""
    turns: NDArray
    """(F, 4) world rotations of the foot."""
    hips: NDArray
    """(F, 3) metres; how far the ground under it shifts the hips."""
    aloft: NDArray
    """(F,) how much it is up in the air, 0 to 1: a kick goes with the hips, whatever the ground."""

    def with_hips(self, kinematics: Kinematics, foot: int, shift: NDArray) -> _FootPath:
        """The same, where it is aloft as it was beside the hips, which are shifted by (F, 3) metres."""
        share = self.aloft[:, None]
        ankles = self.ankles + share * (kinematics.positions[:, foot] + shift - self.ankles)
        return replace(self, ankles=ankles, turns=rotation.slerp(self.turns, kinematics.rotations[:, foot], self.aloft))


def _foot_path(
    kinematics: Kinematics,
    character: Character,
    side: str,
    own: Sequence[tuple[Step, Footing]],
    level: Ground,
    ground: Ground,
) -> _FootPath:
    """One foot carried by its steps: shifted and tilted with each, and from each to the next over what lies between."""
    limb = limb_of(character, f"{side}_leg")
    points = [character.contacts[f"{side}_{part}"] for part in SOLE if f"{side}_{part}" in character.contacts]
    soles = kinematics.points(points)
    # edges between heel and toe count as well
    line = np.linspace(0.0, len(points) - 1.0, 2 * len(points) - 1)
    soles = 0.5 * (soles[:, np.floor(line).astype(int)] + soles[:, np.ceil(line).astype(int)])
    way = _Way.of(_anchors(own, 0.5 * (soles[:, 0] + soles[:, 2]), level, ground), len(kinematics.frames))
    high = soles[..., 1] - level.height(soles[..., ::2])
    air = np.minimum(high, CLEARANCE * character.height)
    lift, moment = way.plain[:, 1], way.frames.astype(float)
    for _ in range(2):
        moved = np.stack([way.carried(_sampled(soles[:, n], moment)) for n in range(soles.shape[1])], axis=1)
        need = (ground.height(moved[..., ::2]) + _sampled(air, moment) - moved[..., 1]).max(axis=1)
        lift = _over(need, way, kinematics.motion.fps)
        moment = way.frames + _advance(lift, way, AROUND * character.height)
    plain = kinematics.positions[:, limb.end]
    ankles = way.carried(_sampled(plain, moment)) + lift[:, None] * rotation.AXES["y"]
    first, second = np.floor(moment).astype(int), np.ceil(moment).astype(int)
    turns = kinematics.rotations[:, limb.end]
    turns = rotation.multiply(way.tilts, rotation.slerp(turns[first], turns[second], moment - first))
    aloft = np.clip((high.min(axis=1) / character.height - ALOFT[0]) / (ALOFT[1] - ALOFT[0]), 0.0, 1.0)
    return _FootPath(ankles, rotation.normalize(turns), way.plain, aloft * aloft * (3.0 - 2.0 * aloft))


def _sampled(values: NDArray, moments: NDArray) -> NDArray:
    """Rows of an array at fractional frames."""
    first, second = np.floor(moments).astype(int), np.ceil(moments).astype(int)
    share = (moments - first).reshape(-1, *(1,) * (values.ndim - 1))
    return values[first] + share * (values[second] - values[first])


@dataclass(frozen=True, eq=False)
class _Anchor:
    """What is known of a foot's way: a step, or an end of the clip."""

    start: int
    end: int
    """First frame after it."""
    shift: NDArray
    """(3,) metres from the level."""
    pivot: NDArray
    """(3,) metres; about which the foot is tilted, on the level."""
    tilt: NDArray


@dataclass(frozen=True, eq=False)
class _Way:
    """A foot's way from anchor to anchor, frame by frame."""

    anchors: list[_Anchor]
    frames: NDArray
    """(F,) 0 … F−1."""
    share: NDArray
    """(F,) how much of the way to the next anchor is done, 0 to 1, starting and ending at rest."""
    plain: NDArray
    """(F, 3) metres; how far the anchors shift the foot."""
    pivots: NDArray
    tilts: NDArray

    @classmethod
    def of(cls, anchors: list[_Anchor], count: int) -> _Way:
        """The way through anchors in a clip of so many frames."""
        frames = np.arange(count)
        start, end = (np.array([getattr(anchor, key) for anchor in anchors]) for key in ("start", "end"))
        before = np.clip(np.searchsorted(start, frames, side="right") - 1, 0, len(anchors) - 1)
        after = np.minimum(before + 1, len(anchors) - 1)
        gap = np.maximum(start[after] - (end[before] - 1), 1)
        share = np.where(after == before, 0.0, np.clip((frames - (end[before] - 1)) / gap, 0.0, 1.0))
        share = share * share * (3.0 - 2.0 * share)
        shift, pivot, tilt = (
            np.array([getattr(anchor, key) for anchor in anchors]) for key in ("shift", "pivot", "tilt")
        )
        plain, pivots = (
            values[before] + share[:, None] * (values[after] - values[before]) for values in (shift, pivot)
        )
        return cls(anchors, frames, share, plain, pivots, rotation.slerp(tilt[before], tilt[after], share))

    def carried(self, places: NDArray) -> NDArray:
        """Places (F, 3) of the foot, tilted and shifted over the floor, but not lifted."""
        return self.pivots + rotation.rotate(self.tilts, places - self.pivots) + self.plain * [1.0, 0.0, 1.0]

    def swings(self) -> Iterator[tuple[NDArray, NDArray]]:
        """Frames from the last one of each anchor to the first one of the next, and the share of the way done then."""
        for one, other in pairwise(self.anchors):
            rows = np.arange(one.end - 1, other.start + 1)
            if len(rows) > 2:
                done = self.share[rows]
                done[-1] = 1.0
                yield rows, done


def _anchors(own: Sequence[tuple[Step, Footing]], middles: NDArray, level: Ground, ground: Ground) -> list[_Anchor]:
    """The steps of a foot in order, and its places (its middles, (F, 3)) at ends of the clip where it is in the air."""
    found: list[_Anchor] = []
    for step, footing in own:
        start = max(step.start, found[-1].end if found else 0)
        if start < step.end:
            found.append(_Anchor(start, step.end, footing.middle - footing.level, footing.level, footing.tilt))
    free = [frame for frame in (0, len(middles) - 1) if not any(a.start <= frame < a.end for a in found)]
    for frame in dict.fromkeys(free):
        place = middles[frame]
        flat = np.array([place[0], float(level.height(place[None, ::2])[0]), place[2]])
        rise = float(ground.height(place[None, ::2])[0]) - flat[1]
        near = (found[0] if frame == 0 else found[-1]).tilt if found else rotation.identity()
        end = _Anchor(frame, frame + 1, np.array([0.0, rise, 0.0]), flat, near)
        found = [end, *found] if frame == 0 else [*found, end]
    return found


def _over(need: NDArray, way: _Way, fps: float) -> NDArray:
    """(F,) metres that a foot is lifted: as its steps say and, in between, like a string drawn tight over its needs.

    The string is drawn over the share of the way that is done, which starts and ends at rest; so does the foot.
    """
    lift = np.array(way.plain[:, 1])
    half = max(round(0.04 * fps), 1)
    for rows, done in way.swings():
        plain = way.plain[rows, 1]
        heights = np.maximum(plain, need[rows])
        heights[0], heights[-1] = plain[0], plain[-1]
        string = _upper_hull(done, heights)
        lift[rows] = filter_fir(string[:, None], binomial_kernel(2 * half + 1), ends="reflect")[:, 0]
    return lift


def _advance(lift: NDArray, way: _Way, much: float) -> NDArray:
    """(F,) frames by which a foot is ahead of its time: sooner forward down a step, so that it clears the edge."""
    out = np.zeros(len(lift))
    for rows, _ in way.swings():
        plain = way.plain[rows, 1]
        if plain[-1] < plain[0]:
            around = min(float((lift[rows] - plain).max()) / much, 1.0)
            done = np.linspace(0.0, 1.0, len(rows))
            # most of it when two thirds of the swing are done
            out[rows] = MOST_AHEAD * around * (len(rows) - 1) * 6.75 * done**2 * (1.0 - done)
    return out


def _upper_hull(x: NDArray, y: NDArray) -> NDArray:
    """(N,) the lowest concave curve over points (x rising), at their own x."""
    hull: list[int] = []
    for n in range(len(x)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            if (y[b] - y[a]) * (x[n] - x[a]) > (y[n] - y[a]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(n)
    return np.interp(x, x[hull], y[hull])


def _down(kinematics: Kinematics, character: Character, paths: dict[str, _FootPath], shift: NDArray) -> NDArray:
    """(F,) metres that the hips come down, smoothly, so that both legs reach their feet without being stretched."""
    need = np.zeros(len(kinematics.frames))
    for side, path in paths.items():
        limb = limb_of(character, f"{side}_leg")
        hip = kinematics.positions[:, limb.upper]
        before = np.linalg.norm(kinematics.positions[:, limb.end] - hip, axis=1)
        joints = kinematics.positions[:, [limb.upper, limb.lower, limb.end]]
        length = np.linalg.norm(np.diff(joints, axis=1), axis=2).sum(axis=1)
        reach = np.maximum(before, STRAIGHT * length)
        away = path.ankles - (hip + shift)
        below = np.sqrt(np.maximum(reach**2 - away[:, 0] ** 2 - away[:, 2] ** 2, 0.0))
        need = np.maximum(need, -away[:, 1] - below)
    return smooth_envelope(np.where(need > 1e-9, need, 0.0), round(EASE_DOWN * kinematics.motion.fps))
