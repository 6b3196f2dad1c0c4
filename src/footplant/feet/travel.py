"""The path of a motion: the path of its hips without their sway, with its heading and the distance travelled.

Gleicher, "Comparing constraint-based motion editing methods" (Graphical Models 2001), section 4.4, after his "Motion
path editing" (I3D 2001).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.detection import Contacts
from footplant.curves import Curve
from footplant.errors import MotionError
from footplant.grounds import direction
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.order import runs
from footplant.skeleton import Character
from footplant.transfer import hip_centers


@dataclass(frozen=True)
class TravelSettings:
    """Tuning numbers of path extraction. Where a field names no experiment, none is on record."""

    stride: float = 1.1
    """Seconds of a stride (one step of a foot to its next) if the contacts do not give it."""
    stride_range: tuple[float, float] = (0.5, 2.0)
    """Seconds; intervals between contacts outside of this range are not strides."""
    slowest: float = 0.1
    """Body heights per second; slower hips have no heading (0.17 m/s for an adult)."""
    slowest_share: float = 0.4
    """Fraction of the top speed nearby below which hips are starting, stopping or turning, and have no heading."""
    shortest: float = 0.25
    """Body heights; a run of fast frames gives a heading only if it travels at least this far. A shift of weight is
    shorter."""
    reversal: float = 0.75 * np.pi
    """Radians; a motion that goes on, after a stop, in a direction that differs by more than this travels back along
    its path."""
    turn: float = 0.2
    """Radians; a smaller change of heading during a stop is spread evenly over it, not by the turn of the body."""


TRAVEL_SETTINGS = TravelSettings()


@dataclass(frozen=True, eq=False)
class Travel:
    """The path of a motion, with a place and a heading for every frame: a frame that travels with the character."""

    places: NDArray
    """(F, 2) metres; x and z of the path."""
    headings: NDArray
    """(F,) radians, unwrapped; heading of the path, see `footplant.grounds.direction`."""
    distance: NDArray
    """(F,) metres along the path since the first frame; decreases while the motion travels back."""
    speed: float
    """Metres per second; largest speed along the path."""

    @property
    def length(self) -> float:
        """Metres from the rearmost to the foremost place on the path."""
        return float(np.ptp(self.distance)) if len(self.distance) else 0.0

    @property
    def back(self) -> float:
        """Metres travelled backwards along the path."""
        return float(np.maximum(-np.diff(self.distance), 0.0).sum())

    def curve(self) -> Curve:
        """Return the path as a curve: the frames that get farther along it than any before."""
        ahead = np.maximum.accumulate(self.distance)
        first = np.concatenate([[True], np.diff(ahead) > 1e-9])
        return Curve(self.places[first], self.headings[first], self.distance[first] - self.distance[0])


def find_travel(motion: Motion, character: Character, contacts: Contacts | None = None) -> Travel:
    """Return the path of a motion: Gleicher 2001, section 4.4, made robust for captures.

    The hips are smoothed over a stride by local linear regression, which does not shorten or bend the ends. The heading
    is that of the hips' velocity where they are fast enough. While they stand, start, stop or turn on the spot, it
    follows the rotation of the body from the previous heading to the next. A motion that doubles back follows its path
    backwards. contacts: give the length of a stride.
    """
    if not len(motion):
        raise MotionError("expected a motion with frames, got none")
    kinematics = Kinematics(motion)
    hips = hip_centers(kinematics, character)[:, ::2]
    if len(motion) < 3:
        return Travel(hips, np.full(len(motion), _facing(kinematics, character)[0]), np.zeros(len(motion)), 0.0)
    half = max(round(_stride(contacts) * motion.fps), 1)
    smooth, velocity = smoothed_over(hips, half)
    headings = _headings(velocity * motion.fps, _facing(kinematics, character), character.height, motion.fps, half)
    along = direction(headings)
    middle = along[:-1] + along[1:]
    middle /= np.linalg.norm(middle, axis=1, keepdims=True)
    # project the displacement of the hips between frames onto the heading
    steps = np.einsum("fk,fk->f", np.diff(smooth, axis=0), middle)
    distance = np.concatenate([[0.0], np.cumsum(steps)])
    places = smooth[0] + np.concatenate([np.zeros((1, 2)), np.cumsum(steps[:, None] * middle, axis=0)])
    return Travel(places, headings, distance, float(np.abs(steps).max() * motion.fps))


def _stride(contacts: Contacts | None) -> float:
    """Return the seconds of a stride: the median interval between contacts of the same point."""
    gaps: list[float] = []
    for point in () if contacts is None else contacts.points:
        starts = [start for start, _ in contacts.intervals(point)] if contacts is not None else []
        gaps += (np.diff(starts) / contacts.fps).tolist() if contacts is not None else []
    shortest, longest = TRAVEL_SETTINGS.stride_range
    strides = [gap for gap in gaps if shortest <= gap <= longest]
    return float(np.median(strides)) if strides else TRAVEL_SETTINGS.stride


def smoothed_over(values: NDArray, half: int) -> tuple[NDArray, NDArray]:
    """Return values (F, D), smoothed, and their change per frame: a weighted line fit through ±half frames about each.

    With weights w and offsets t, s_n = Σ w tⁿ and t_n = Σ w tⁿ x, the line is
        value = (s2 t0 − s1 t1) / (s0 s2 − s1²),    slope = (s0 t1 − s1 t0) / (s0 s2 − s1²).
    A Hann window of two strides removes what repeats with every stride: the sway of the hips.
    """
    from scipy.ndimage import correlate1d

    weights = np.hanning(2 * half + 3)[1:-1]
    offset = np.arange(-half, half + 1.0)
    ones = np.ones(len(values))

    def summed(array: NDArray, taps: NDArray) -> NDArray:
        return correlate1d(array, taps, axis=0, mode="constant", cval=0.0)

    s0, s1, s2 = (summed(ones, weights * offset**power)[:, None] for power in (0, 1, 2))
    t0, t1 = (summed(values, weights * offset**power) for power in (0, 1))
    determinant = np.maximum(s0 * s2 - s1**2, 1e-12)
    return (s2 * t0 - s1 * t1) / determinant, (s0 * t1 - s1 * t0) / determinant


def _lag(count: int, half: int) -> NDArray:
    """Return (F,) frames: how much later than its frame the slope of `smoothed_over` is exact for a parabola.

    It is 0 where the window is symmetric, and not near the ends of the clip: fitting a line to x = t² / 2 gives the
    slope (s0 s3 − s1 s2) / (2 (s0 s2 − s1²)), which is the time at which the parabola has it.
    """
    from scipy.ndimage import correlate1d

    weights, offset = np.hanning(2 * half + 3)[1:-1], np.arange(-half, half + 1.0)
    s0, s1, s2, s3 = (correlate1d(np.ones(count), weights * offset**n, mode="constant", cval=0.0) for n in range(4))
    return 0.5 * (s0 * s3 - s1 * s2) / np.maximum(s0 * s2 - s1**2, 1e-12)


def _facing(kinematics: Kinematics, character: Character) -> NDArray:
    """Return the facing (F,) of the hips, radians, unwrapped."""
    roles = character.require_roles()
    left = kinematics.positions[:, roles["left_upper_leg"]] - kinematics.positions[:, roles["right_upper_leg"]]
    return np.unwrap(np.arctan2(-left[:, 2], left[:, 0]))


def _headings(velocity: NDArray, facing: NDArray, height: float, fps: float, half: int) -> NDArray:
    """Return headings (F,) of the path, radians, from the velocity (F, 2) of the hips, m/s, and their facing (F,)."""
    from scipy.ndimage import maximum_filter1d

    speed = np.linalg.norm(velocity, axis=1)
    settings = TRAVEL_SETTINGS
    top = maximum_filter1d(speed, 3 * half + 1, mode="nearest")
    fast = speed > np.maximum(settings.slowest * height, settings.slowest_share * top)
    toward = np.arctan2(velocity[:, 0], velocity[:, 1])
    headings, known = np.zeros(len(speed)), np.zeros(len(speed), bool)
    last: int | None = None
    for start, end in runs(fast):
        path = np.concatenate([np.zeros((1, 2)), np.cumsum(velocity[start:end] / fps, axis=0)])
        if np.linalg.norm(path, axis=1).max() < settings.shortest * height:
            continue
        run = np.unwrap(toward[start:end])
        if last is not None:
            turn = _wrapped(run[0] - headings[last])
            if abs(turn) > settings.reversal:
                turn = _wrapped(turn + np.pi)
            run += headings[last] + turn - run[0]
            rows = np.arange(last, start + 1)
            headings[rows] = headings[last] + turn * _share(facing[rows], turn)
        headings[start:end], known[start:end] = run, True
        last = end - 1
    if last is None:
        # it travels nowhere: use the facing
        return np.full(len(speed), facing[0])
    frames = np.flatnonzero(known)
    _extrapolate_bend(headings, frames, half)
    headings[: frames[0]], headings[frames[-1] :] = headings[frames[0]], headings[frames[-1]]
    return smoothed_over(headings[:, None], max(half // 3, 1))[0][:, 0]


def _extrapolate_bend(headings: NDArray, known: NDArray, half: int) -> None:
    """Continue a bend to the first and last known frame, in place: the one-sided line fit lags behind it there.

    known: frames (N,) with a heading.
    """
    every = np.arange(len(headings))
    when = every + _lag(len(headings), half)
    for end, inner in ((known[0], known[0] + half), (known[-1], known[-1] - half)):
        if not known[0] < inner < known[-1] or abs(when[end] - end) < 1.0:
            continue
        rate = (headings[end] - headings[inner]) / (when[end] - when[inner])
        rows = np.arange(min(end, inner), max(end, inner) + 1)
        headings[rows] += rate * (rows - when[rows])


def _share(facing: NDArray, turn: float) -> NDArray:
    """Return the fraction (N,) of a turn done at each frame: as the body turns, if about as far; else smoothly."""
    turned = facing - facing[0]
    if abs(turn) > TRAVEL_SETTINGS.turn and 0.5 < turned[-1] / turn < 2.0:
        return np.clip(turned / turned[-1], 0.0, 1.0)
    even = np.linspace(0.0, 1.0, len(facing))
    return even * even * (3.0 - 2.0 * even)


def _wrapped(angle: float) -> float:
    """Return the angle wrapped to [−π, π)."""
    return float((angle + np.pi) % (2.0 * np.pi) - np.pi)
