"""Wrists of captures that are two joints: the first twists the forearm, and the hand below it bends.

CMU's captures are such, in BVH files with both joints at one place. A solver fitted the bend to one marker on the back
of the hand, seen from the middle of a bar across the wrist. That bend has four faults. Neither the marker nor the bar
is where it was taken to be, so that the bend is off by a constant angle, of up to 50°, that differs between people and
sides. The hand first deviates and then extends, so that near 90° of extension, a palm on the floor, the deviation and
with it the palm spin. Beyond 90° the deviation has the wrong sign. And it flickers where the marker is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.checks import shaped
from footplant.errors import SkeletonError
from footplant.humanoid.reference import reference_world
from footplant.skeleton import Roles, Skeleton


@dataclass(frozen=True)
class WristSettings:
    """Thresholds for the bend of wrists."""

    twist: float = np.radians(5.0)
    """Largest median twist, radians, of a joint that only deviates and extends, and least range of one that twists. Of
    82 wrists of CMU the first is 2.5° in one whose rest pose tells little of its forearm's roll, and at most 0.4° in
    all others."""
    exact: float = np.radians(0.01)
    """Largest bend, radians, of a wrist that was not captured but posed. Of 85,398 wrists in frames of CMU, 98 are bent
    by less than 1e-9°, and the next one by 0.6°."""
    fastest: float = 40.0
    """Largest speed of a wrist, rad/s; beyond it a marker is lost or mistaken for another. Those of throws and strokes
    are about as fast. In CMU's captures it is exceeded in 17 of 72 wrists, most of all by 132° between two frames."""
    flicker: float = 0.05
    """Seconds before and after such a jump that are interpolated, 1.2 % of all frames. Then no wrist turns by more than
    24° between two frames, after a T-pose by 29°. Also the time in which a pose that was not captured may lead to the
    motion: 4 frames at 120 Hz in one file."""
    settle: float = 0.2
    """Seconds after that time over which a wrist gets its whole constant error, if it has had less. At once, one hand
    of 72 in CMU's captures turns by 15.7° from one frame to the next (CMU 120_09, whose own turns by 0.3°)."""
    always_percentile: float = 10.0
    """Percentile of extension and of deviation, and of 100 minus it, between which a wrist is nearly all the time; if
    all of that is on one side of straight, the part nearest to straight is a constant error. In 72 wrists of CMU it is
    up to 51° of extension (median 14°) and 43° of deviation (median 14°), and without it the median bend is 12°
    instead of 33°. With the median instead (50), hands that hang before a crawl are flexed by 57°."""


SETTINGS = WristSettings()


def straightened_wrists(skeleton: Skeleton, roles: Roles, rotations: ArrayLike, fps: float) -> NDArray:
    """Return local rotations (F, J, 4) with wrists as they may have been, where a joint below a twist joint bends them.

    rotations: (F, J, 4) local rotations of all frames, y up. The direction of the hand is kept but for a constant
    angle; it first extends and then deviates, which spins at a deviation of 90°, beyond any wrist.
    """
    roles.require_fit(skeleton)
    frames = shaped(rotations, ("F", len(skeleton), 4), "rotations", SkeletonError)
    joints = _below_twist(skeleton, roles)
    if not joints or not len(frames):
        return frames
    world, out = reference_world(skeleton, roles)[1], np.array(frames)
    for side, hand in joints.items():
        twist = skeleton.parents[hand]
        above = world[twist]
        away = rotation.multiply(rotation.multiply(above, frames[:, hand]), rotation.inverse(world[hand]))
        bend = _bend(away, 1.0 if side == "left" else -1.0, fps)
        if bend is not None and (_at_same_place(skeleton, hand) or _twists(frames[:, twist], skeleton.offsets[hand])):
            out[:, hand] = rotation.multiply(rotation.multiply(rotation.inverse(above), bend), world[hand])
    return out


def bent_below_twist(skeleton: Skeleton, roles: Roles) -> dict[str, int]:
    """Return side → hand, for hands whose parent is a twist joint of the forearm at the same place."""
    return {side: hand for side, hand in _below_twist(skeleton, roles).items() if _at_same_place(skeleton, hand)}


def _at_same_place(skeleton: Skeleton, joint: int) -> bool:
    """Return whether a joint is where its parent is."""
    return not skeleton.offsets[joint].any()


def _below_twist(skeleton: Skeleton, roles: Roles) -> dict[str, int]:
    found = {}
    for side in ("left", "right"):
        hand, twists = roles.get(f"{side}_hand"), roles.joints.get(f"{side}_lower_arm_twist", ())
        if hand is not None and skeleton.parents[hand] in twists:
            found[side] = hand
    return found


def _twists(rotations: NDArray, bone: NDArray) -> bool:
    """Return whether a joint turns about its bone (3,), and about nothing else; rotations: (F, 4) local ones."""
    twists = rotation.log(rotations)
    across = np.linalg.norm(np.cross(twists, bone / np.linalg.norm(bone)), axis=1)
    return bool(np.median(across) < SETTINGS.twist < np.ptp(twists, axis=0).max())


def _bend(away: NDArray, sign: float, fps: float) -> NDArray | None:
    """Return rotations (F, 4) away from the reference pose, in its axes, of a wrist as it may have been.

    away: the recorded ones. sign: 1 for the left hand, which points along +x, −1 for the right one. None if the joint
    twists, so that it is no such wrist.
    """
    # a right hand is looked at in a mirror
    x, y, z = (rotation.rotate(away, sign * rotation.AXES["x"]) * [sign, 1.0, 1.0]).T
    deviated, extended = np.arctan2(-z, x), np.arcsin(np.clip(y, -1.0, 1.0))
    posed = np.hypot(y, z) < SETTINGS.exact
    recorded = rotation.multiply(_about("y", sign * deviated), _about("z", sign * extended))
    if np.median(rotation.angle(recorded, away)) > SETTINGS.twist:
        return None
    extended, deviated = np.arctan2(y, x), np.arcsin(np.clip(-z, -1.0, 1.0))
    beyond = x < 0.0
    crossed = np.flatnonzero(beyond[1:] != beyond[:-1])
    before, after = deviated[crossed], deviated[crossed + 1]
    if np.abs(before + after).sum() < np.abs(before - after).sum():
        deviated = np.where(beyond, -deviated, deviated)
    about = round(SETTINGS.flicker * fps)
    share = _whole_share(posed, about, SETTINGS.settle * fps)
    angles = _straight(np.stack([extended, deviated]), share)
    extended, deviated = _straight(_without_flicker(angles, posed, fps), share)
    made = rotation.multiply(_about("z", sign * extended), _about("y", sign * deviated))
    # a pose that is exactly straight is no capture but a T-pose before it
    return np.where(posed[:, None], away, made)


def _without_flicker(angles: NDArray, posed: NDArray, fps: float) -> NDArray:
    """Return extension and deviation (2, F), radians, interpolated about frames where they are faster than wrists are.

    posed: (F,) frames that were not captured.
    """
    change = np.diff(angles, axis=1)
    speed = fps * np.hypot(change[0] * np.cos(angles[1, 1:]), change[1])
    wrong, about = np.zeros(len(posed), bool), round(SETTINGS.flicker * fps)
    for before in np.flatnonzero((speed > SETTINGS.fastest) & ~posed[1:] & ~posed[:-1]).tolist():
        wrong[max(before - about, 0) : before + about + 2] = True
    right = np.flatnonzero(~wrong)
    return np.array([np.interp(np.arange(len(wrong)), right, each[right]) for each in angles]) if len(right) else angles


def _whole_share(posed: NDArray, led: int, settle: float) -> NDArray:
    """Return 0 in frames (F,) that may lead from a pose that was not captured to the motion, and 1 far from them.

    posed: (F,) frames that were not captured. led: frames beside them that may lead. settle: frames over which
    it rises.
    """
    from scipy.ndimage import distance_transform_edt

    if not posed.any():
        return np.ones(len(posed))
    share = np.clip((np.asarray(distance_transform_edt(~posed)) - led) / max(settle, 1.0), 0.0, 1.0)
    return share * share * (3.0 - 2.0 * share)


def _straight(angles: NDArray, share: NDArray) -> NDArray:
    """Return extension and deviation (2, F) without what nearly all frames have: 0 if they are on both sides of it.

    share: (F,) from 0, where frames may have a part of it, to 1, where they have all of it.
    """
    ends = SETTINGS.always_percentile, 100.0 - SETTINGS.always_percentile
    low, high = np.percentile(angles, ends, axis=1, keepdims=True)
    usual = np.clip(0.0, low, high)
    part = np.clip(angles, np.minimum(usual, 0.0), np.maximum(usual, 0.0))
    return angles - part - share * (usual - part)


def _about(axis: str, angles: NDArray) -> NDArray:
    return rotation.from_axis_angle(rotation.AXES[axis], angles)
