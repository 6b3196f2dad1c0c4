"""Blend registered motions: n-way, with weights that may vary over time and differ between parts of the body.

Macleod, "Skeletal Character Animation within a Virtual Environment" (2006), section 3.2, with the foot constraints that
it left for future work (section 4.1). At frame t with weights wᵢ(t), Σ wᵢ = 1, joint rotations are the weighted means
of the motions' rotations at the registered times, and the root is integrated from the weighted means of its increments
(`compose`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.blending.common_character import contacts_of, floor_level
from footplant.blending.compose import RootPath, compose, part_joints, root_reference
from footplant.blending.plants import blend_plants, hold_plants
from footplant.blending.registration import Registration, register
from footplant.checks import all_finite, frame_rate, real_array, real_number, shaped, whole_number
from footplant.clip import Clip
from footplant.errors import MotionError
from footplant.problem import Method, Progress
from footplant.result import ClipSource, Result, as_clip


def bezier(share: ArrayLike, ease: tuple[float, float] = (0.0, 1.0)) -> NDArray:
    """Evaluate a cubic Bézier curve from 0 to 1 at parameters (…), 0 to 1.

    ease: its two inner control values; the default, 0 and 1, has zero slope at both ends (3u² − 2u³).
    """
    u = np.clip(all_finite(real_array(share, "shares", MotionError), "shares", MotionError), 0.0, 1.0)
    first, second = shaped(ease, (2,), "an ease", MotionError)
    return 3.0 * first * u * (1.0 - u) ** 2 + 3.0 * second * u**2 * (1.0 - u) + u**3


@dataclass(frozen=True, eq=False)
class WeightCurve:
    """Weights of n motions over time: cubic Bézier curves between keys, with zero slope at the keys."""

    seconds: NDArray
    """(K,) times of the keys in the blend, increasing."""
    values: NDArray
    """(K, n) weights at the keys, each row summing to 1."""

    @classmethod
    def of(cls, weights: ArrayLike | WeightCurve, count: int) -> WeightCurve:
        """Convert weights, one per motion, to a constant curve whose weights sum to 1."""
        if isinstance(weights, WeightCurve):
            return cls(weights.seconds, _checked(weights.values, count))
        return cls(np.zeros(1), _checked(np.atleast_2d(real_array(weights, "weights", MotionError)), count))

    def __call__(self, seconds: ArrayLike) -> NDArray:
        """Return weights (N, n) at times (N,)."""
        seconds = shaped(np.atleast_1d(real_array(seconds, "times", MotionError)), ("N",), "times", MotionError)
        if len(self.seconds) == 1:
            return np.repeat(self.values, len(seconds), axis=0)
        key = np.clip(np.searchsorted(self.seconds, seconds, side="right") - 1, 0, len(self.seconds) - 2)
        share = bezier((seconds - self.seconds[key]) / np.maximum(np.diff(self.seconds)[key], 1e-9))[:, None]
        return self.values[key] + share * (self.values[key + 1] - self.values[key])


def _checked(values: NDArray, count: int) -> NDArray:
    values = real_array(values, "weights", MotionError)
    if values.ndim != 2 or values.shape[1] != count:
        raise MotionError(f"expected {count} weights, one for each motion, got {values.shape[-1]}")
    sums = values.sum(axis=1, keepdims=True)
    if not np.isfinite(values).all() or (values < 0).any() or (sums <= 0).any():
        raise MotionError(f"expected weights of 0 or more that are not all 0, got {values.tolist()}")
    return values / sums


@dataclass(frozen=True, eq=False)
class Parameters:
    """What a motion does over the part that corresponds to the others'."""

    seconds: float
    """Its duration."""
    speed: float
    """Mean speed over the floor, metres per second."""
    turn: float
    """Mean turning rate to the left, radians per second."""


def parameters(registration: Registration) -> tuple[Parameters, ...]:
    """Return the mean speed and turning rate of each motion."""
    spans = registration.curve([registration.curve.start, registration.curve.stop])
    reference = root_reference(registration.character)
    found = []
    for number in range(len(registration)):
        first, last = spans[:, number]
        times = np.linspace(first, last, max(int((last - first) * 60), 2))
        path = RootPath.of(registration.poses(number, times), reference)
        seconds = float(last - first)
        travelled = float(np.hypot(*path.steps()[1].sum(axis=0)))
        found.append(Parameters(seconds, travelled / seconds, float(path.heading[-1] - path.heading[0]) / seconds))
    return tuple(found)


def weights_for(registration: Registration, *, speed: float | None = None, turn: float | None = None) -> NDArray:
    """Return weights (n,) whose blend has a speed (metres per second) and a turning rate (radians per second, left).

    Distances, angles and durations of a blend are the weighted means of its motions', so with durations Tᵢ and speeds
    vᵢ the weights satisfy Σ wᵢ Tᵢ (vᵢ − v) = 0. Among several solutions the most even weights are chosen; a value out
    of reach is approximated. Solved as non-negative least squares.
    """
    if speed is None and turn is None:
        raise MotionError("expected a speed or a turn to find weights for, got neither")
    from scipy.optimize import nnls

    known = parameters(registration)
    rows = [np.ones(len(known))]
    for wanted, own, size in ((speed, "speed", 1.0), (turn, "turn", 0.5)):
        if wanted is not None:
            wanted = real_number(wanted, own, MotionError)
            rows.append(np.array([p.seconds * (getattr(p, own) - wanted) for p in known]) / size)
    scale = np.array([100.0] + [30.0] * (len(rows) - 1))
    even = 0.01 * np.eye(len(known))
    design = np.concatenate([np.stack(rows) * scale[:, None], even])
    target = np.concatenate([[100.0], np.zeros(len(rows) - 1), np.full(len(known), 0.01 / len(known))])
    weights = nnls(design, target)[0]
    return weights / weights.sum()


def timeline(registration: Registration, curve: WeightCurve, fps: float, cycles: int = 1) -> tuple[NDArray, NDArray]:
    """Return times (F, n) of each motion, seconds, and weights (F, n) for every frame of a blend.

    The blend advances along the registration curve so that each motion, at weight 1, would play at its own speed. Time
    never runs backwards, since weights are not negative and every motion's time increases along the curve.
    """
    start, span = registration.curve.start, registration.curve.stop - registration.curve.start
    fine = np.linspace(0.0, span, max(int(span * 1000), 64) + 1)
    known = registration.curve(start + fine)
    whole = span * (cycles if registration.loop else 1)

    def at(place: float) -> NDArray:
        turn = min(np.floor(place / span), whole / span - 1.0)
        inside = place - turn * span
        return np.array([np.interp(inside, fine, column) for column in known.T]) + turn * (known[-1] - known[0])

    places = [0.0]
    while places[-1] < whole - 1e-9:
        shares, now = curve((len(places) - 0.5) / fps)[0], at(places[-1])
        # fixed-point iteration for the step that advances the weighted mean time by one frame
        step = 1.0 / fps
        for _ in range(20):
            step *= 1.0 / (fps * float(shares @ (at(min(places[-1] + step, whole)) - now))) if step > 0 else 1.0
            step = min(step, whole)
        if places[-1] + step > whole + 1e-6:
            break
        places.append(min(places[-1] + step, whole))
    along = np.array(places)
    turns = np.minimum(np.floor(along / span + 1e-12), cycles - 1) if registration.loop else np.zeros(len(along))
    times = registration.curve(start + along - turns * span)
    if registration.loop:
        lengths = np.array([clip.motion.duration for clip in registration.clips])
        times = times + turns[:, None] * lengths
    return times, curve(np.arange(len(along)) / fps)


def blend(
    clips: Registration | Sequence[ClipSource],
    weights: ArrayLike | WeightCurve | None = None,
    *,
    parts: Mapping[str, Sequence[float]] | None = None,
    fps: float | None = None,
    cycles: int = 1,
    method: str | Method | None = "whole-body",
    progress: Progress | None = None,
) -> Result:
    """Blend several motions into one, with its feet locked.

    clips: loaded or as file names, registered to one another here; or a registration made before. weights: one per
    motion, or a curve; None: equal. parts: a part of the body ("right_arm", "upper_body", a role) → its own
    weights, such as a wave on a run. fps: of the blend (default: the reference's). cycles: how often loops are played.
    method: the solver for foot locks, by name or as an object; None returns the blend without them.
    """
    if fps is not None:
        frame_rate(fps, MotionError)
    cycles = whole_number(cycles, "cycles", MotionError, low=1, high=10_000)
    registration = clips if isinstance(clips, Registration) else register([as_clip(clip) for clip in clips])
    weights = np.ones(len(registration)) if weights is None else weights
    rate = fps or registration.clips[registration.reference].motion.fps
    times, shares = timeline(registration, WeightCurve.of(weights, len(registration)), rate, cycles)
    poses = [replace(registration.poses(number, times[:, number]), fps=rate) for number in range(len(registration))]
    character = registration.character
    joints = None if not parts else joint_weights_of(registration, shares, parts)
    raw = compose(poses, shares, character, joints=joints)
    contacts = registration.contacts
    if registration.loop:
        # contacts that span the seam of a loop are whole once the loop is repeated
        most = np.ceil(times.max(axis=0) / [clip.motion.duration for clip in registration.clips]).astype(int) + 1
        contacts = [contacts_of(_repeated(clip, int(turns))) for clip, turns in zip(registration.clips, most)]
    plants = blend_plants(raw, character, times, shares, contacts)
    levels = [floor_level(own) for own in contacts if own is not None]
    held = hold_plants(raw, character, plants, levels[0] if levels else 0.0, method=method, progress=progress)
    named = " + ".join(dict.fromkeys(clip.name for clip in registration.clips))
    return Result.of(replace(registration.clips[0], name=named), held, character)


def _repeated(clip: Clip, cycles: int) -> Clip:
    return replace(clip, motion=clip.motion.looped(cycles, close=False))


def joint_weights_of(registration: Registration, shares: NDArray, parts: Mapping[str, Sequence[float]]) -> NDArray:
    """Return (F, n, J) weights of every joint: those of the whole blend, or of the part that it belongs to."""
    count = len(registration)
    out = np.repeat(shares[:, :, None], len(registration.character.skeleton), axis=2)
    for part, own in parts.items():
        inside = part_joints(registration.character, part)
        if inside[0]:
            raise MotionError(f"expected a part without the root, got {part!r}")
        out[:, :, inside] = _checked(np.atleast_2d(real_array(own, "weights", MotionError)), count)[0][None, :, None]
    return out
