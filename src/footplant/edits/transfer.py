"""Carrying poses from one figure to another: different names, joints, rest poses and proportions.

Every joint turns from the common reference pose (`humanoid.reference_pose`) as its counterpart does. That alone copies
rotations; feet slide and hands miss until constraints are solved on top of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import humanoid, rotation
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character

ARM = ("upper_arm", "lower_arm", "hand")
_BELOW = {"spine": "hips", "neck": "spine"}
"""Chains that begin on another role: their first bend is shared out from there."""


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
    rotations = _carry_rotations(kinematics, character, target)
    skeleton = target.skeleton
    root = np.broadcast_to(skeleton.offsets[0], (len(motion), 3))
    carried = Motion(skeleton, root, rotations, motion.fps)
    ratio = leg_ratio(character, target)
    ratios = np.array([ratio if given is None else given for given in (stride, rise, stride)])
    wanted = hip_centers(kinematics, character)
    start = (wanted[0] * [1.0, 0.0, 1.0] if len(motion) else np.zeros(3)) if about is None else np.asarray(about, float)
    wanted = start + (wanted - start) * ratios
    return Motion(skeleton, root + wanted - hip_centers(Kinematics(carried), target), rotations, motion.fps)


def hip_centers(kinematics: Kinematics, character: Character) -> NDArray:
    """(F, 3) the middle of the two hip joints, metres: where every figure has its hips, whatever its root is."""
    roles = character.require_roles()
    return kinematics.positions[:, [roles["left_upper_leg"], roles["right_upper_leg"]]].mean(axis=1)


def standing_hips(character: Character) -> float:
    """Metres from the sole to the hips in the reference pose."""
    skeleton, roles = character.skeleton, character.require_roles()
    places, turned = skeleton.posed(humanoid.reference_pose(skeleton, roles))
    hips = places[[roles["left_upper_leg"], roles["right_upper_leg"]], 1].mean()
    soles = [
        places[point.joint][1] + rotation.rotate(turned[point.joint], np.array(point.offset))[1]
        for name, point in character.contacts.items()
        if name.endswith("_heel")
    ]
    return float(hips - np.mean(soles)) if soles else humanoid.leg_length(skeleton, roles)


def leg_ratio(character: Character, target: Character) -> float:
    """How much longer the target's legs are."""
    return standing_hips(target) / standing_hips(character)


def reach_ratio(character: Character, target: Character) -> float:
    """How much farther apart the target's soles and palms are when it reaches up: what counts for who hangs."""
    return _standing_reach(target) / _standing_reach(character)


def _standing_reach(character: Character) -> float:
    """Metres from the soles to the wrists of arms held straight up."""
    skeleton, roles = character.skeleton, character.require_roles()
    places = skeleton.posed(humanoid.reference_pose(skeleton, roles))[0]
    arms = [
        float(np.linalg.norm(np.diff(places[[roles[f"{side}_{part}"] for part in ARM]], axis=0), axis=1).sum())
        for side in ("left", "right")
        if all(f"{side}_{part}" in roles for part in ARM)
    ]
    shoulders = [places[roles[role]][1] for role in ("left_upper_arm", "right_upper_arm") if role in roles]
    hips = places[[roles["left_upper_leg"], roles["right_upper_leg"]], 1].mean()
    trunk = float(np.mean(shoulders) - hips) if shoulders else 0.0
    return standing_hips(character) + trunk + (float(np.mean(arms)) if arms else 0.0)


def _carry_rotations(kinematics: Kinematics, character: Character, target: Character) -> NDArray:
    """(F, J, 4) local rotations of the target that turn its joints from the reference pose as the source's turned."""
    from_roles, to_roles = character.require_roles(), target.require_roles()
    source_reference = character.skeleton.posed(humanoid.reference_pose(character.skeleton, from_roles))[1]
    turns = rotation.multiply(kinematics.rotations, rotation.inverse(source_reference))
    skeleton = target.skeleton
    pose = humanoid.reference_pose(skeleton, to_roles)
    reference = skeleton.posed(pose)[1]
    wanted: dict[int, NDArray] = {}
    for role, chain in to_roles.joints.items():
        given = from_roles.joints.get(role, ())
        if role.endswith("_twist") or not given:
            continue
        if role in _BELOW:
            base = turns[:, from_roles.joints[_BELOW[role]][-1]] if _BELOW[role] in from_roles else None
            wanted |= dict(zip(chain, _share_out(base, [turns[:, joint] for joint in given], len(chain))))
        else:
            wanted |= {joint: turns[:, other] for joint, other in zip(chain, _paired(given, len(chain)))}
    world = np.empty((len(kinematics.frames), len(skeleton), 4))
    local = np.empty_like(world)
    for joint, parent in enumerate(skeleton.parents.tolist()):
        if joint in wanted:
            world[:, joint] = rotation.multiply(wanted[joint], reference[joint])
        elif parent < 0:
            world[:, joint] = reference[joint]
        else:
            world[:, joint] = rotation.multiply(world[:, parent], pose[joint])
        above = rotation.identity(1) if parent < 0 else rotation.inverse(world[:, parent])
        local[:, joint] = rotation.multiply(above, world[:, joint])
    _spread_twist(local, target)
    return rotation.unroll(rotation.normalize(local))


def _paired(given: Sequence[int], count: int) -> list[int]:
    """The source's joints for a chain of `count`: one to one from the root outwards, the last one for the rest."""
    return [given[min(number, len(given) - 1)] for number in range(count)]


def _share_out(base: NDArray | None, given: list[NDArray], count: int) -> list[NDArray]:
    """A bend along a chain of vertebrae, given at some of them, for a chain of another number of them."""
    knots = ([given[0]] if base is None else [base]) + given
    found = []
    for number in range(1, count + 1):
        place = number / count * len(given)
        first = min(int(place), len(given) - 1)
        share = place - first
        found.append(rotation.slerp(knots[first], knots[first + 1], np.full(len(knots[0]), share)))
    return found


def _spread_twist(local: NDArray, target: Character) -> None:
    """Twist joints beside a forearm take their part of the wrist's twist, so that the skin does not wring (in place).

    Twist joints inside a bone would turn the hand as well; they stay.
    """
    roles, skeleton = target.require_roles(), target.skeleton
    for side in ("left", "right"):
        chain, hand = roles.joints.get(f"{side}_lower_arm_twist", ()), roles.get(f"{side}_hand")
        if hand is None or not chain or any(hand in skeleton.descendants(joint) for joint in chain):
            continue
        bone = skeleton.offsets[hand]
        length = np.linalg.norm(bone)
        if not length > 0 or skeleton.parents[hand] != roles.get(f"{side}_lower_arm"):
            continue
        rest = humanoid.reference_pose(skeleton, roles)[hand]
        turned = rotation.multiply(local[:, hand], rotation.inverse(rest))
        twist = rotation.swing_twist(turned, bone / length)[1]
        for joint in chain:
            share = float(np.clip(skeleton.offsets[joint] @ bone / length**2, 0.0, 1.0)) or 0.5
            local[:, joint] = rotation.multiply(rotation.exp(share * rotation.log(twist)), local[:, joint])
