"""Lengths of the body and places of the markers on it, from a take: all frames of a choice at once.

Given the poses, markers tell where they sit and how long bones are; given both, markers tell the poses. Going to and
fro between the two converges slowly where a joint's centre is told by motion alone, so both are solved for together
(`marker_step`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant.errors import MotionError
from footplant.optical.body import LENGTHS, MarkerBody, Poses, see
from footplant.optical.pose import OUTLIER, SKIN, Prior
from footplant.optical.prior import Expected
from footplant.optical.start import body_size, first_poses
from footplant.optical.step import State, alone, learn, leverage, shared_step, usual_prior, whole_cost

FRAMES = 96
"""Frames that a calibration looks at."""
ROUNDS = 60
"""Steps of the calibration at most."""
ENOUGH, ROUGHLY = 3e-4, 3e-3
"""Shares of the cost that a step must gain to be followed by another one; the second before markers are known well."""
MEASURED, LEARNED = 2, 6
"""How many times the markers' own motion on the skin is measured, and what is expected of people is learned."""
FAR_OFF, LEAST_OUTLIER = 8.0, 0.012
"""What is farther off than this many times the usual, and than these metres, is likelier to be something else."""
ODD = 0.03
"""Metres that a marker must be off for its frame to be left out, and from its neighbours to be another one."""
ENOUGH_FPS = 100.0
"""Frames a second from which on nobody turns around between two by `ODD`."""
CAMERAS = 0.0015
"""Metres that cameras are off, one way, at most; what is left over beyond that is skin."""
SLIDES = 10.0
"""Skin slides with the pose, in all frames alike, so what is left over tells but a part of it: this many times less."""
FINEST = 0.0002
"""Metres that cameras are off at least, after smoothing."""
EXCHANGED = 25.0
"""Times the median square of what is left over of a marker, beyond which it is another one."""
SAME = 1.5
"""Times as much, squared, is left over of one marker as of all by chance."""
WINDOW = 0.04
"""Seconds before and after a frame that tell the places of its markers."""
REPEATED = 12.0
"""How many frames tell what one would: neighbours are smoothed together, and turns that are but noise count, too."""
MEDIAN_OF_SQUARES = 2.366
"""The median of the sum of three squared normal numbers."""
FEWEST = 6
"""Markers that a frame must have to be posed at all."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a take tells of the body that made it."""

    lengths: NDArray
    """(L,) overall scale, then `LENGTHS` relative to it."""
    offsets: NDArray
    """(M, 3) where each marker sits in its segment's frame, metres."""
    spread: NDArray
    """(L,) how sure the scale is, and each of the others times it: standard deviations, as shares."""
    frames: NDArray
    """Frames that were looked at."""
    poses: Poses
    """Poses at these."""
    skin: NDArray
    """(M,) how far each marker moves on its segment, one way, give or take; metres."""
    prior: Prior
    """How the person holds themselves."""
    outlier: NDArray
    """(M,) metres from which on a marker is taken for something else."""


def calibrate(body: MarkerBody, targets: NDArray, fps: float) -> Calibration:
    """Lengths, places of the markers and poses of some frames of a take; targets (F, M, 3), NaN where hidden.

    How far markers move on the skin is not known beforehand: it is measured from what is left over when all else is
    found, and found again with that.
    """
    rough, targets = targets, _calm(targets, fps)
    frames = _choose_frames(targets)
    chosen = targets[frames]
    lengths = np.ones(1 + len(LENGTHS))
    lengths[0] = body_size(body, chosen)
    bones = body.bones(lengths)
    offsets = body.landmarks.places(bones, lengths[0])
    poses, skin = first_poses(body, bones, offsets, chosen), np.full(len(offsets), SKIN)
    state = State(lengths, offsets, poses, skin, bones, np.zeros_like(body.spreads), Expected.of(body), lengths[0])
    known = np.eye(len(lengths))
    narrow = np.full(len(offsets), OUTLIER)
    outlier, damping, measured, learned = 4.0 * narrow, 1e-2, 0, 0
    for _ in range(ROUNDS):
        tried, cost, known = shared_step(body, state, chosen, damping, outlier)
        gained = cost - whole_cost(body, tried, chosen, outlier)
        if gained > 0.0:
            state, damping = tried, max(0.1 * damping, 1e-6)
        elif damping < 1.0:
            damping *= 10.0
            continue
        if np.any(outlier > narrow):
            outlier = np.maximum(narrow, 0.5 * outlier)
        elif gained < (ENOUGH if state.adjusted else ROUGHLY) * cost:
            if measured == MEASURED:
                if learned == LEARNED:
                    break
                state, learned = learn(body, state, known), learned + 1
                continue
            frames, state = _without_odd(body, state, targets, frames)
            chosen = targets[frames]
            skin, repeated = _measure_skin(body, state, chosen)
            state = replace(state, skin=skin, repeated=repeated, adjusted=True)
            measured += 1
            narrow, damping = np.clip(FAR_OFF * state.skin, LEAST_OUTLIER, OUTLIER), 1e-4
            outlier = np.maximum(narrow, 0.5 * outlier)
    held = usual_prior(body, state)
    spread = _spread(known, state.lengths)
    # what was smoothed away is there again when every frame is posed by itself
    skin = np.hypot(state.skin, _roughness(rough - targets))
    return Calibration(state.lengths, state.offsets, spread, frames, state.poses, skin, held, outlier)


def carry_over(body: MarkerBody, told: Calibration, targets: NDArray) -> Calibration:
    """What one take told of a body, with poses of frames of another take of the same markers."""
    frames = _choose_frames(targets)
    poses = first_poses(body, body.bones(told.lengths), told.offsets, targets[frames])
    return replace(told, frames=frames, poses=poses)


def _spread(known: NDArray, lengths: NDArray) -> NDArray:
    """(L,) see `Calibration.spread`; known (S, S): the lower triangle of what is known of all, lengths first.

    The scale and the other factors are found together, and what one gains the others lose.
    """
    from footplant.kernels import dense

    count = len(lengths)
    units, out = np.eye(count, len(known)), np.empty((count, len(known)))
    dense.solve_damped(np.repeat(known[None], count, axis=0), units, np.zeros(count), out)
    shares = out[:, :count] / np.outer(lengths, lengths)
    both = np.diag(shares) + np.where(np.arange(count) > 0, shares[0, 0] + 2.0 * shares[0], 0.0)
    return np.sqrt(np.maximum(both, 0.0))


def _without_odd(body: MarkerBody, state: State, targets: NDArray, frames: NDArray) -> tuple[NDArray, State]:
    """The frames in which no marker is far off, as long as these are most of them.

    Where two markers have each other's name one of them may be met by a joint that has no other marker to say no.
    """
    away = np.linalg.norm(see(body, state.bones, state.offsets, state.poses).places - targets[frames], axis=-1)
    limit = np.maximum(ODD, 6.0 * np.nanmedian(away))
    good = ~np.any(away > limit, axis=1)
    if good.sum() < 0.7 * len(frames):
        return frames, state
    return frames[good], replace(state, poses=state.poses[good])


def _calm(targets: NDArray, fps: float) -> NDArray:
    """Places of the markers without most of the cameras' noise: parabolas over the frames around each.

    Noise makes limbs seem to turn, and what turns by itself seems to tell where its joint is (Savitzky & Golay,
    Smoothing and differentiation of data by simplified least squares procedures, 1964).
    """
    half = round(WINDOW * fps)
    if half < 2 or len(targets) <= 2 * half:
        return targets
    seen = ~(np.isnan(targets[..., 0]) | find_jumps(targets, fps))
    sums, moments = np.zeros((*seen.shape, 5)), np.zeros((*targets.shape, 3))
    padded = np.pad(np.where(seen[..., None], targets, 0.0), ((half, half), (0, 0), (0, 0)))
    there = np.pad(seen, ((half, half), (0, 0)))
    for k in range(-half, half + 1):
        rows = slice(half + k, half + k + len(targets))
        powers = (k / half) ** np.arange(5.0)
        sums += there[rows, :, None] * powers
        moments += padded[rows, ..., None] * powers[:3]
    system = sums[..., np.add.outer(np.arange(3), np.arange(3))]
    enough = seen & (sums[..., 0] >= 5)
    out = np.where(seen[..., None], targets, np.nan)
    out[enough] = np.linalg.solve(system[enough], moments[enough].swapaxes(-1, -2))[:, 0]
    return out


def find_jumps(targets: NDArray, fps: float) -> NDArray:
    """(F, M) bool: markers that are somewhere else for a frame or two, and then back: they have another one's name.

    The fewer frames a second has, the farther real ones come between two of them.
    """
    seen = ~np.isnan(targets[..., 0])
    around = np.pad(targets, ((2, 2), (0, 0), (0, 0)), constant_values=np.nan)
    near = np.stack([around[k : k + len(targets)] for k in range(5)])
    known = ~np.isnan(near[..., 0])
    between = seen & known[:2].any(axis=0) & known[3:].any(axis=0)
    usual = np.nanmedian(np.where(between[..., None], near, 0.0), axis=0)
    away = np.linalg.norm(np.where(between[..., None], targets, 0.0) - usual, axis=-1)
    return between & (away > ODD * max(1.0, ENOUGH_FPS / fps) ** 2)


def _roughness(noise: NDArray) -> NDArray:
    """(M,) the standard deviation, one way, of noise (F, M, 3) with NaN where it is not known."""
    squares = np.sum(noise**2, axis=-1)
    return np.sqrt(np.nanmedian(np.where(np.isnan(squares).all(axis=0), 0.0, squares), axis=0) / MEDIAN_OF_SQUARES)


def _choose_frames(targets: NDArray) -> NDArray:
    """Frames spread over the take, of those that have most of their markers."""
    seen = np.sum(~np.isnan(targets[..., 0]), axis=1)
    good = np.flatnonzero(seen >= max(FEWEST, 0.8 * seen.max(initial=0)))
    if not len(good) or seen.max(initial=0) < FEWEST:
        raise MotionError(f"expected {FEWEST} or more markers in some frame, got at most {int(seen.max(initial=0))}")
    return good[np.unique(np.linspace(0, len(good) - 1, min(FRAMES, len(good))).round().astype(int))]


def _measure_skin(body: MarkerBody, state: State, targets: NDArray) -> tuple[NDArray, float]:
    """(M,) how far each marker moves on its segment, one way, metres, from what is left over of it; `State.repeated`.

    Its pose swallows a part of that, and the place of the marker another. No marker is taken for better than all of
    them together: one that is alone on its segment is always met.
    """
    seen = see(body, state.bones, state.offsets, state.poses)
    left = np.sum((seen.places - targets) ** 2, axis=-1)
    # markers that are another one are left out
    usual = np.nanmedian(np.where(np.isnan(left).all(axis=0), 0.0, left), axis=0)
    left = np.where(left > EXCHANGED * usual, np.nan, left)
    known = ~np.isnan(left)
    kept = 3.0 - np.where(known, leverage(body, state, seen, targets), 3.0)
    numbers = np.maximum(kept.sum(axis=0) - 3.0, 0.1 * 3.0 * known.sum(axis=0))
    each = np.nansum(left, axis=0) / np.maximum(numbers, 1.0)
    others = ~alone(body) & known.any(axis=0)
    together = float(np.nansum(left[:, others]) / np.maximum(numbers[others].sum(), 1.0))
    each = np.where(each > SAME * together, each, together)
    left_over = np.maximum(np.sqrt(each), FINEST)
    skin = np.minimum(np.hypot(left_over, SLIDES * np.maximum(left_over - CAMERAS, 0.0)), 3.0 * SKIN)
    # skin that slides is allowed for ten times, which is more than enough
    repeated = max(1.0, REPEATED * float(np.median(left_over / skin)) ** 2)
    slides = alone(body) & (together > CAMERAS**2)
    return np.where(slides, np.maximum(skin, SKIN), skin), repeated
