"""Carrying poses from one figure to another: different names, joints, rest poses and proportions.

Every joint turns from the common reference pose (`humanoid.reference_pose`) as its counterpart does. That alone copies
rotations; feet slide and hands miss until constraints are solved on top of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import humanoid, rotation
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
    """The motion of one figure on another one, without any constraint solved.

    stride: how much longer the way over the floor gets, rise: how much higher the hips get; None: as much as the legs
    are longer, which keeps their height over the floor. about: (3,) the place on the floor that stays where it is,
    metres; None: below the hips at the first frame, at height 0. Frames and rate stay.
    """
    kinematics = Kinematics(motion)
    rotations = rotation.unroll(Counterparts.of(character, target).carry(kinematics.rotations))
    ratio = leg_ratio(character, target)
    ratios = np.array([ratio if given is None else given for given in (stride, rise, stride)])
    wanted = hip_centers(kinematics, character)
    start = (wanted[0] * [1.0, 0.0, 1.0] if len(motion) else np.zeros(3)) if about is None else np.asarray(about, float)
    wanted = start + (wanted - start) * ratios
    return Motion(target.skeleton, wanted - _hips_from_root(rotations, target), rotations, motion.fps)


def _hips_from_root(rotations: NDArray, character: Character) -> NDArray:
    """(F, 3) from the root to the middle of the hip joints, metres, by local rotations (F, J, 4)."""
    skeleton, roles = character.skeleton, character.require_roles()
    away = np.zeros((len(rotations), 3))
    for role in ("left_upper_leg", "right_upper_leg"):
        world = rotations[:, 0]
        for joint in skeleton.chain(roles[role])[1:]:
            away += 0.5 * rotation.rotate(world, skeleton.offsets[joint])
            world = rotation.multiply(world, rotations[:, joint])
    return away


def hip_centers(kinematics: Kinematics, character: Character) -> NDArray:
    """(F, 3) the middle of the two hip joints, metres: where every figure has its hips, whatever its root is."""
    roles = character.require_roles()
    places = kinematics.positions
    return 0.5 * (places[:, roles["left_upper_leg"]] + places[:, roles["right_upper_leg"]])


def reach_ratio(character: Character, target: Character) -> float:
    """How much farther apart the target's soles and palms are when it reaches up: what counts for who hangs."""
    return _standing_reach(target) / _standing_reach(character)


def _standing_reach(character: Character) -> float:
    """Metres from the soles to the wrists of arms held straight up."""
    skeleton, roles = character.skeleton, character.require_roles()
    places = humanoid.reference_world(skeleton, roles)[0]
    arms = [
        float(np.linalg.norm(np.diff(places[[roles[f"{side}_{part}"] for part in ARM]], axis=0), axis=1).sum())
        for side in ("left", "right")
        if all(f"{side}_{part}" in roles for part in ARM)
    ]
    shoulders = [places[roles[role]][1] for role in ("left_upper_arm", "right_upper_arm") if role in roles]
    hips = places[[roles["left_upper_leg"], roles["right_upper_leg"]], 1].mean()
    trunk = float(np.mean(shoulders) - hips) if shoulders else 0.0
    return standing_hips(character) + trunk + (float(np.mean(arms)) if arms else 0.0)


def same_bones(character: Character, target: Character) -> bool:
    """Whether two figures have the same bones, to a ten-thousandth of their height."""
    ours, theirs = character.skeleton, target.skeleton
    return ours.names == theirs.names and bool(
        np.array_equal(ours.parents, theirs.parents)
        and np.abs(ours.offsets[1:] - theirs.offsets[1:]).max(initial=0.0) < 1e-4 * character.height
    )
