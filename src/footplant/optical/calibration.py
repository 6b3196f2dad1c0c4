"""Calibrate body lengths and marker offsets from a take, over a choice of frames at once.

Given the poses, markers determine their offsets and the bone lengths; given both, they determine the poses. Alternating
between the two converges slowly where a joint centre is determined by motion alone, so both are solved for together
(`step`): Σ over frames of the pose objective + prior of lengths, offsets and mean pose + correction for absorbed noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant.errors import MotionError
from footplant.optical.body import LENGTHS, MarkerBody, Poses, pose_markers
from footplant.optical.pose import PosePrior
from footplant.optical.prior import BodyPrior
from footplant.optical.settings import CALIBRATION, NOISE
from footplant.optical.start import body_size, initial_poses
from footplant.optical.step import (
    CalibrationState,
    leverage,
    posture_prior,
    shared_step,
    single_markers,
    total_cost,
    update_prior,
)

MEDIAN_OF_SQUARES = 2.366
"""The median of the sum of three squared standard normal numbers."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Body and markers as estimated from a take."""

    lengths: NDArray
    """(L,) overall scale, then `LENGTHS` relative to it."""
    offsets: NDArray
    """(M, 3) position of each marker in its segment's frame, metres."""
    spread: NDArray
    """(L,) relative standard deviations of the scale, and of each of the others times it."""
    frames: NDArray
    """Frames that were used."""
    poses: Poses
    """Poses at these frames."""
    skin: NDArray
    """(M,) metres, standard deviation per axis of each marker on its segment."""
    prior: PosePrior
    """The person's mean pose."""
    outlier: NDArray
    """(M,) metres from which a marker counts as an outlier."""


def calibrate(body: MarkerBody, targets: NDArray, fps: float) -> Calibration:
    """Estimate lengths, marker offsets and poses of some frames of a take; targets (F, M, 3), NaN where hidden.

    The markers' motion on the skin is not known beforehand: it is measured from the residuals of a first solution, and
    the calibration continues with it.
    """
    rough, targets = targets, _smooth(targets, fps)
    frames = _choose_frames(targets)
    chosen = targets[frames]
    lengths = np.ones(1 + len(LENGTHS))
    lengths[0] = body_size(body, chosen)
    bones = body.bones(lengths)
    offsets = body.landmarks.places(bones, lengths[0])
    poses, skin = initial_poses(body, bones, offsets, chosen), np.full(len(offsets), NOISE.soft_tissue)
    state = CalibrationState(
        lengths, offsets, poses, skin, bones, np.zeros_like(body.spreads), BodyPrior.of(body), lengths[0]
    )
    known = np.eye(len(lengths))
    narrow = np.full(len(offsets), NOISE.outlier)
    outlier, damping, measured, learned = 4.0 * narrow, 1e-2, 0, 0
    for _ in range(CALIBRATION.rounds):
        tried, cost, known = shared_step(body, state, chosen, damping, outlier)
        gained = cost - total_cost(body, tried, chosen, outlier)
        if gained > 0.0:
            state, damping = tried, max(0.1 * damping, 1e-6)
        elif damping < 1.0:
            damping *= 10.0
            continue
        if np.any(outlier > narrow):
            outlier = np.maximum(narrow, 0.5 * outlier)
        elif gained < (CALIBRATION.enough if state.adjusted else CALIBRATION.roughly) * cost:
            if measured == CALIBRATION.measured:
                if learned == CALIBRATION.learned:
                    break
                state, learned = update_prior(body, state, known), learned + 1
                continue
            frames, state = _drop_outlier_frames(body, state, targets, frames)
            chosen = targets[frames]
            skin, redundancy = _measure_skin(body, state, chosen)
            state = replace(state, skin=skin, redundancy=redundancy, adjusted=True)
            measured += 1
            narrow = np.clip(CALIBRATION.far_off * state.skin, CALIBRATION.least_outlier, NOISE.outlier)
            damping = 1e-4
            outlier = np.maximum(narrow, 0.5 * outlier)
    held = posture_prior(body, state)
    spread = _spread(known, state.lengths)
    # the noise that smoothing removed is back when every frame is posed by itself
    skin = np.hypot(state.skin, _roughness(rough - targets))
    return Calibration(state.lengths, state.offsets, spread, frames, state.poses, skin, held, outlier)


def transfer_calibration(body: MarkerBody, calibration: Calibration, targets: NDArray) -> Calibration:
    """Return a calibration with poses of frames of another take of the same markers on the same body."""
    frames = _choose_frames(targets)
    poses = initial_poses(body, body.bones(calibration.lengths), calibration.offsets, targets[frames])
    return replace(calibration, frames=frames, poses=poses)


def _spread(known: NDArray, lengths: NDArray) -> NDArray:
    """Return (L,) `Calibration.spread`; known (S, S): lower triangle of the information matrix, lengths first.

    The scale and the other factors are estimated together, and their errors are anticorrelated.
    """
    from footplant.kernels import dense

    count = len(lengths)
    units, out = np.eye(count, len(known)), np.empty((count, len(known)))
    dense.solve_damped(np.repeat(known[None], count, axis=0), units, np.zeros(count), out)
    shares = out[:, :count] / np.outer(lengths, lengths)
    both = np.diag(shares) + np.where(np.arange(count) > 0, shares[0, 0] + 2.0 * shares[0], 0.0)
    return np.sqrt(np.maximum(both, 0.0))


def _drop_outlier_frames(
    body: MarkerBody, state: CalibrationState, targets: NDArray, frames: NDArray
) -> tuple[NDArray, CalibrationState]:
    """Return the frames in which no marker is far off, if these are most of them.

    Where two labels are swapped, one of the markers may be fitted by a joint that has no other marker.
    """
    places = pose_markers(body, state.bones, state.offsets, state.poses).places
    away = np.linalg.norm(places - targets[frames], axis=-1)
    limit = np.maximum(CALIBRATION.odd, 6.0 * np.nanmedian(away))
    good = ~np.any(away > limit, axis=1)
    if good.sum() < 0.7 * len(frames):
        return frames, state
    return frames[good], replace(state, poses=state.poses[good])


def _smooth(targets: NDArray, fps: float) -> NDArray:
    """Low-pass marker positions: a parabola is fitted to the frames around each (Savitzky–Golay).

    Camera noise makes limbs appear to rotate, and apparent rotations bias the joint centre (Savitzky & Golay, Smoothing
    and differentiation of data by simplified least squares procedures, 1964).
    """
    half = round(CALIBRATION.window * fps)
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
    """Return (F, M) bool: markers that jump away for a frame or two and then back, as mislabelled ones do.

    The lower the frame rate, the farther real markers move between two frames.
    """
    seen = ~np.isnan(targets[..., 0])
    around = np.pad(targets, ((2, 2), (0, 0), (0, 0)), constant_values=np.nan)
    near = np.stack([around[k : k + len(targets)] for k in range(5)])
    known = ~np.isnan(near[..., 0])
    between = seen & known[:2].any(axis=0) & known[3:].any(axis=0)
    usual = np.nanmedian(np.where(between[..., None], near, 0.0), axis=0)
    away = np.linalg.norm(np.where(between[..., None], targets, 0.0) - usual, axis=-1)
    return between & (away > CALIBRATION.odd * max(1.0, CALIBRATION.enough_fps / fps) ** 2)


def _roughness(noise: NDArray) -> NDArray:
    """Return (M,) a robust standard deviation per axis of noise (F, M, 3), NaN where it is not known."""
    squares = np.sum(noise**2, axis=-1)
    return np.sqrt(np.nanmedian(np.where(np.isnan(squares).all(axis=0), 0.0, squares), axis=0) / MEDIAN_OF_SQUARES)


def _choose_frames(targets: NDArray) -> NDArray:
    """Return frames spread over the take, among those in which most markers are visible."""
    seen = np.sum(~np.isnan(targets[..., 0]), axis=1)
    fewest = CALIBRATION.fewest
    good = np.flatnonzero(seen >= max(fewest, 0.8 * seen.max(initial=0)))
    if not len(good) or seen.max(initial=0) < fewest:
        raise MotionError(f"expected {fewest} or more markers in some frame, got at most {int(seen.max(initial=0))}")
    return good[np.unique(np.linspace(0, len(good) - 1, min(CALIBRATION.frames, len(good))).round().astype(int))]


def _measure_skin(body: MarkerBody, state: CalibrationState, targets: NDArray) -> tuple[NDArray, float]:
    """Return (M,) metres per axis that each marker moves on its segment, from its residuals, and `State.redundancy`.

    Residuals are divided by the degrees of freedom left after the pose and the marker's own offset. No marker counts as
    better than all of them together: one that is alone on its segment always fits.
    """
    seen = pose_markers(body, state.bones, state.offsets, state.poses)
    left = np.sum((seen.places - targets) ** 2, axis=-1)
    # leave out mislabelled markers
    usual = np.nanmedian(np.where(np.isnan(left).all(axis=0), 0.0, left), axis=0)
    left = np.where(left > CALIBRATION.exchanged * usual, np.nan, left)
    known = ~np.isnan(left)
    kept = 3.0 - np.where(known, leverage(body, state, seen, targets), 3.0)
    numbers = np.maximum(kept.sum(axis=0) - 3.0, 0.1 * 3.0 * known.sum(axis=0))
    each = np.nansum(left, axis=0) / np.maximum(numbers, 1.0)
    others = ~single_markers(body) & known.any(axis=0)
    together = float(np.nansum(left[:, others]) / np.maximum(numbers[others].sum(), 1.0))
    each = np.where(each > CALIBRATION.same * together, each, together)
    left_over = np.maximum(np.sqrt(each), CALIBRATION.finest)
    sliding = CALIBRATION.slides * np.maximum(left_over - CALIBRATION.cameras, 0.0)
    skin = np.minimum(np.hypot(left_over, sliding), 3.0 * NOISE.soft_tissue)
    # soft tissue is allowed for ten times over, which already covers the redundancy of frames
    redundancy = max(1.0, CALIBRATION.redundancy * float(np.median(left_over / skin)) ** 2)
    slides = single_markers(body) & (together > CALIBRATION.cameras**2)
    return np.where(slides, np.maximum(skin, NOISE.soft_tissue), skin), redundancy
