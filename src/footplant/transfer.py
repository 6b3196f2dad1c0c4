"""Copy a motion to another character with different names, joints, rest pose and proportions.

Every joint rotates hips from the common reference pose (`humanoid.reference_pose`) as its counterpart does. This copies
rotations only: feet skate and hands miss until constraints are solved on top of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import humanoid, rotation
from footplant.checks import real_number, shaped
from footplant.errors import MotionError
from footplant.humanoid.counterparts import Counterparts, leg_ratio, standing_hips
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character

ARM = ("upper_arm", "lower_arm", "hand")


def transfer(
    motion: Motion,
    character: Character,
    target: Character,
    *,
    stride: float | None = None,
    rise: float | None = None,
    about: ArrayLike | None = None,
) -> Motion:
    """Return the motion of one character on another one, without solving any constraint.

    stride: scale of the horizontal path, rise: scale of the hip height; None: the ratio of leg lengths, which keeps the
    height of the hips above the floor. about: (3,) the fixed point on the floor, metres; None: below the hips at the
    first frame, at height 0. Frames and frame rate stay.
    """
    motion = source_motion(motion, character, target)
    for given, what in ((stride, "stride"), (rise, "rise")):
        if given is not None:
            real_number(given, what, MotionError, above=0.0)
    kinematics = Kinematics(motion)
    rotations = rotation.unroll(Counterparts.of(character, target).carry(kinematics.rotations))
    ratio = leg_ratio(character, target)
    ratios = np.array([ratio if given is None else given for given in (stride, rise, stride)])
    wanted = hip_centers(kinematics, character)
    below_hips = wanted[0] * [1.0, 0.0, 1.0] if len(motion) else np.zeros(3)
    start = shaped(below_hips if about is None else about, (3,), "the place that stays", MotionError)
    wanted = start + (wanted - start) * ratios
    return Motion(target.skeleton, wanted - _hips_from_root(rotations, target), rotations, motion.fps)


def source_motion(motion: Motion, character: Character, target: Character) -> Motion:
    """Return the motion of one character as another one is to follow it, without errors of its capture (wrists, legs).

    On the same bones it is the motion itself.
    """
    character.require_fit(motion.skeleton)
    if same_bones(character, target):
        return motion
    roles = character.require_roles()
    return motion.with_straight_wrists(roles).with_unflipped_legs(roles)


def _hips_from_root(rotations: NDArray, character: Character) -> NDArray:
    """Return vectors (F, 3) from the root to the midpoint of the hip joints, metres, for local rotations (F, J, 4)."""
    skeleton, roles = character.skeleton, character.require_roles()
    hips = np.zeros((len(rotations), 3))
    for role in ("left_upper_leg", "right_upper_leg"):
        world = rotations[:, 0]
        for joint in skeleton.chain(roles[role])[1:]:
            hips += 0.5 * rotation.rotate(world, skeleton.offsets[joint])
            world = rotation.multiply(world, rotations[:, joint])
    return hips


def hip_centers(kinematics: Kinematics, character: Character) -> NDArray:
    """Return the midpoint (F, 3) of the two hip joints, metres: comparable between characters, unlike the root."""
    character.require_fit(kinematics.motion.skeleton)
    roles = character.require_roles()
    positions = kinematics.positions
    return 0.5 * (positions[:, roles["left_upper_leg"]] + positions[:, roles["right_upper_leg"]])


def reach_ratio(character: Character, target: Character) -> float:
    """Return the ratio of the two characters' distances from soles to raised palms, which matters for hanging."""
    return _standing_reach(target) / _standing_reach(character)


def _standing_reach(character: Character) -> float:
    """Return the distance from the soles to the wrists with arms raised straight up, metres."""
    skeleton, roles = character.skeleton, character.require_roles()
    positions = humanoid.reference_world(skeleton, roles)[0]
    arms = [
        float(np.linalg.norm(np.diff(positions[[roles[f"{side}_{part}"] for part in ARM]], axis=0), axis=1).sum())
        for side in ("left", "right")
        if all(f"{side}_{part}" in roles for part in ARM)
    ]
    shoulders = [positions[roles[role]][1] for role in ("left_upper_arm", "right_upper_arm") if role in roles]
    hips = positions[[roles["left_upper_leg"], roles["right_upper_leg"]], 1].mean()
    trunk = float(np.mean(shoulders) - hips) if shoulders else 0.0
    return standing_hips(character) + trunk + (float(np.mean(arms)) if arms else 0.0)


def same_bones(character: Character, target: Character) -> bool:
    """Return whether two characters have the same bones, to a ten-thousandth of their height."""
    ours, theirs = character.skeleton, target.skeleton
    return ours.names == theirs.names and bool(
        np.array_equal(ours.parents, theirs.parents)
        and np.abs(ours.offsets[1:] - theirs.offsets[1:]).max(initial=0.0) < 1e-4 * character.height
    )
