"""The way of a motion: the path of its hips without their sway, which way it goes, and how far it has come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.detection import Contacts
from footplant.curves import Curve
from footplant.grounds import direction
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.transfer import hip_centers

STRIDE = 1.1
"""Seconds from one step of a foot to its next where the plants do not tell."""
STRIDES = (0.5, 2.0)
"""Seconds between which a stride is believed."""
SLOW = 0.1
"""Body heights a second; slower hips (0.17 m/s for an adult) do not say which way a motion goes."""
FALLING_BEHIND = 0.4
"""Share of the largest speed around below which hips are starting, stopping or turning, and do not say it either."""
FAR = 0.25
"""Body heights that hips must go in one go to say which way a motion goes; a shift of weight is shorter."""
BACK = 0.75 * np.pi
"""Radians; who goes on in a direction that differs by more, after having stopped, goes back on the way."""


@dataclass(frozen=True, eq=False)
class Travel:
    """The path of a motion, frame by frame: a frame that goes along with the figure."""

    places: NDArray
    """(F, 2) metres; x and z of the path."""
    headings: NDArray
    """(F,) radians, without jumps: which way the path goes, see `footplant.grounds.direction`."""
    way: NDArray
    """(F,) metres along the path from the first frame on; falling while the figure goes back."""
    speed: float
    """Metres a second, the largest along the path."""

    @property
    def length(self) -> float:
        """Metres from the hindmost to the foremost place on the path."""
        return float(np.ptp(self.way)) if len(self.way) else 0.0

    @property
    def back(self) -> float:
        """Metres that are gone back."""
        return float(np.maximum(-np.diff(self.way), 0.0).sum())

    def curve(self) -> Curve:
        """The path as a curve, of where the figure first gets ahead; the inverse of laying a motion along one."""
        ahead = np.maximum.accumulate(self.way)
        first = np.concatenate([[True], np.diff(ahead) > 1e-9])
        return Curve(self.places[first], self.headings[first], self.way[first] - self.way[0])


def find_travel(motion: Motion, character: Character, contacts: Contacts | None = None) -> Travel:
    """The way of a motion: Gleicher 2001, section 4.4 (METHODS B6), made to bear what captures do.

    The hips are smoothed over a stride, by a line at each frame, which neither shortens the ends nor bends them. Which
    way the path goes is told where the hips go at a fair speed; while they stand, start, stop or turn on the spot it
    changes with the body, from what was to what comes. Who turns round and goes back goes back on the way.
    """
    kinematics = Kinematics(motion)
    hips = hip_centers(kinematics, character)[:, ::2]
    if len(motion) < 3:
        return Travel(hips, np.full(len(motion), _facing(kinematics, character)[0]), np.zeros(len(motion)), 0.0)
    half = max(round(_stride(contacts) * motion.fps), 1)
    smooth, velocity = _smoothed(hips, half)
    headings = _headings(velocity * motion.fps, _facing(kinematics, character), character.height, motion.fps, half)
    along = direction(headings)
    middle = along[:-1] + along[1:]
    middle /= np.linalg.norm(middle, axis=1, keepdims=True)
    steps = np.einsum("fk,fk->f", np.diff(smooth, axis=0), middle)
    way = np.concatenate([[0.0], np.cumsum(steps)])
    places = smooth[0] + np.concatenate([np.zeros((1, 2)), np.cumsum(steps[:, None] * middle, axis=0)])
    return Travel(places, headings, way, float(np.abs(steps).max() * motion.fps))


def _stride(contacts: Contacts | None) -> float:
    """Seconds from one step of a foot to its next one, as the plants tell."""
    gaps: list[float] = []
    for point in () if contacts is None else contacts.points:
        starts = [start for start, _ in contacts.intervals(point)] if contacts is not None else []
        gaps += (np.diff(starts) / contacts.fps).tolist() if contacts is not None else []
    believed = [gap for gap in gaps if STRIDES[0] <= gap <= STRIDES[1]]
    return float(np.median(believed)) if believed else STRIDE


def _smoothed(values: NDArray, half: int) -> tuple[NDArray, NDArray]:
    """Values (F, D) and their change a frame, by a weighted line through ±half frames about each.

    A Hann window of two strides has nothing of what repeats with every stride: that is the sway.
    """
    from scipy.ndimage import correlate1d

    weights = np.hanning(2 * half + 3)[1:-1]
    offset = np.arange(-half, half + 1.0)
    ones = np.ones(len(values))

    def summed(array: NDArray, taps: NDArray) -> NDArray:
        return correlate1d(array, taps, axis=0, mode="constant", cval=0.0)

    s0, s1, s2 = (summed(ones, weights * offset**power)[:, None] for power in (0, 1, 2))
    t0, t1 = (summed(values, weights * offset**power) for power in (0, 1))
    below = np.maximum(s0 * s2 - s1**2, 1e-12)
    return (s2 * t0 - s1 * t1) / below, (s0 * t1 - s1 * t0) / below


def _lag(count: int, half: int) -> NDArray:
    """(F,) frames after its own at which the change that `_smoothed` finds is true of a bend: not 0 near the ends."""
    from scipy.ndimage import correlate1d

    weights, offset = np.hanning(2 * half + 3)[1:-1], np.arange(-half, half + 1.0)
    s0, s1, s2, s3 = (correlate1d(np.ones(count), weights * offset**n, mode="constant", cval=0.0) for n in range(4))
    return 0.5 * (s0 * s3 - s1 * s2) / np.maximum(s0 * s2 - s1**2, 1e-12)


def _facing(kinematics: Kinematics, character: Character) -> NDArray:
    """(F,) radians, without jumps: which way the hips look."""
    roles = character.require_roles()
    left = kinematics.positions[:, roles["left_upper_leg"]] - kinematics.positions[:, roles["right_upper_leg"]]
    return np.unwrap(np.arctan2(-left[:, 2], left[:, 0]))


def _headings(velocity: NDArray, facing: NDArray, height: float, fps: float, half: int) -> NDArray:
    """(F,) radians: which way the path goes, from the velocity (F, 2) of its hips, metres a second."""
    from scipy.ndimage import maximum_filter1d

    speed = np.linalg.norm(velocity, axis=1)
    fast = speed > np.maximum(SLOW * height, FALLING_BEHIND * maximum_filter1d(speed, 3 * half + 1, mode="nearest"))
    toward = np.arctan2(velocity[:, 0], velocity[:, 1])
    headings, known = np.zeros(len(speed)), np.zeros(len(speed), bool)
    last: int | None = None
    for start, end in _runs(fast):
        gone = np.concatenate([np.zeros((1, 2)), np.cumsum(velocity[start:end] / fps, axis=0)])
        if np.linalg.norm(gone, axis=1).max() < FAR * height:
            continue
        run = np.unwrap(toward[start:end])
        if last is not None:
            turn = _short(run[0] - headings[last])
            if abs(turn) > BACK:
                turn = _short(turn + np.pi)
            run += headings[last] + turn - run[0]
            rows = np.arange(last, start + 1)
            headings[rows] = headings[last] + turn * _share(facing[rows], turn)
        headings[start:end], known[start:end] = run, True
        last = end - 1
    if last is None:
        # it goes nowhere: its way is where it looks
        return np.full(len(speed), facing[0])
    told = np.flatnonzero(known)
    _lead_on(headings, told, half)
    headings[: told[0]], headings[told[-1] :] = headings[told[0]], headings[told[-1]]
    return _smoothed(headings[:, None], max(half // 3, 1))[0][:, 0]


def _lead_on(headings: NDArray, told: NDArray, half: int) -> None:
    """Let a bend go on to the ends of the clip, where a line through frames on one side only falls behind it."""
    every = np.arange(len(headings))
    when = every + _lag(len(headings), half)
    for end, inner in ((told[0], told[0] + half), (told[-1], told[-1] - half)):
        if not told[0] < inner < told[-1] or abs(when[end] - end) < 1.0:
            continue
        rate = (headings[end] - headings[inner]) / (when[end] - when[inner])
        rows = np.arange(min(end, inner), max(end, inner) + 1)
        headings[rows] += rate * (rows - when[rows])


def _share(facing: NDArray, turn: float) -> NDArray:
    """(N,) how much of a turn is done at each frame: as the body turns, if it does about as much; else evenly."""
    turned = facing - facing[0]
    if abs(turn) > 0.2 and 0.5 < turned[-1] / turn < 2.0:
        return np.clip(turned / turned[-1], 0.0, 1.0)
    even = np.linspace(0.0, 1.0, len(facing))
    return even * even * (3.0 - 2.0 * even)


def _short(angle: float) -> float:
    """The same angle between −π and π."""
    return float((angle + np.pi) % (2.0 * np.pi) - np.pi)


def _runs(mask: NDArray) -> list[tuple[int, int]]:
    """[start, end) of every run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist()))
