"""Joint correspondence between two characters with different names, joints, rest poses and proportions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.humanoid.cache import CACHE_SIZE, RolesKey, SkeletonKey
from footplant.humanoid.measure import leg_length
from footplant.humanoid.reference import reference_pose, reference_world
from footplant.humanoid.wrists import bent_below_twist
from footplant.skeleton import Character, Point

_BELOW = {"spine": "hips", "neck": "spine"}
"""Chains that begin on another role: the bend at their base is distributed over the chain as well."""


@dataclass(frozen=True, eq=False)
class Counterparts:
    """How the pose of a target (J joints) follows from that of a source (K joints).

    Every joint rotates away from the common reference pose as its counterpart does.
    """

    parents: NDArray
    """(J,) parents of the target's joints."""
    first: NDArray
    """(J,) int64; source joint whose rotation each joint copies; −1: none, it stays fixed to its parent."""
    second: NDArray
    """(J,) int64; source joint to interpolate towards, where the two spines have different numbers of vertebrae."""
    shares: NDArray
    """(J,) interpolation weight from the first to the second, 0 to 1."""
    unposed: NDArray
    """(K, 4) inverse world rotations of the source in its reference pose."""
    reference: NDArray
    """(J, 4) world rotations of the target in its reference pose."""
    pose: NDArray
    """(J, 4) local rotations of the target in its reference pose."""
    twisted: NDArray
    """(N,) int64; twist joints beside a forearm, which take part of the hand's twist."""
    hands: NDArray
    """(N,) int64; the hand whose twist each takes."""
    twist_shares: NDArray
    """(N,) share of that twist, 0 to 1."""
    twist_axes: NDArray
    """(N, 3) twist axis in the forearm's frame."""

    @classmethod
    def of(cls, character: Character, target: Character) -> Counterparts:
        """Return the correspondence of two humanoid characters, by their roles."""
        from_roles, to_roles = character.require_roles(), target.require_roles()
        skeleton = target.skeleton
        unposed = rotation.inverse(reference_world(character.skeleton, from_roles)[1])
        pose = reference_pose(skeleton, to_roles)
        first, second = np.full((2, len(skeleton)), -1)
        shares = np.zeros(len(skeleton))
        for role, chain in to_roles.joints.items():
            given = from_roles.joints.get(role, ())
            if role.endswith("_twist") or not given:
                continue
            if role in _BELOW:
                base = from_roles.joints[_BELOW[role]][-1] if _BELOW[role] in from_roles else given[0]
                for joint, (a, b, share) in zip(chain, _distribute((base, *given), len(chain))):
                    first[joint], second[joint], shares[joint] = a, b, share
            else:
                first[list(chain)] = second[list(chain)] = _paired(given, len(chain))
        own = bent_below_twist(character.skeleton, from_roles)
        for side, hand in bent_below_twist(skeleton, to_roles).items():
            # without such a joint in the source it follows the hand, and so does a thumb that is on it
            given = character.skeleton.parents[own[side]] if side in own else first[hand]
            first[skeleton.parents[hand]] = second[skeleton.parents[hand]] = given
        twists = _twists(target, pose)
        return cls(
            np.array(skeleton.parents), first, second, shares,
            unposed, reference_world(skeleton, to_roles)[1], pose,
            np.array([joint for joint, _, _, _ in twists], np.int64),
            np.array([hand for _, hand, _, _ in twists], np.int64),
            np.array([share for _, _, share, _ in twists], float),
            np.array([axis for _, _, _, axis in twists], float).reshape(-1, 3),
        )  # fmt: skip

    def carry(self, rotations: ArrayLike) -> NDArray:
        """Return local rotations (F, J, 4) of the target for world rotations (F, K, 4) of the source."""
        from footplant.kernels.transfer import Correspondence, retarget_poses

        source = np.array(rotations, float, order="C")
        source.setflags(write=False)
        local = np.empty((len(source), len(self.parents), 4))
        retarget_poses(Correspondence(*self.tables), source, local)
        return local

    @cached_property
    def tables(self) -> tuple[NDArray, ...]:
        """Return the kernel's leading arguments, in its order."""
        parents = np.array(self.parents)
        parents.setflags(write=False)
        return (
            parents, self.first, self.second, self.shares, self.unposed, self.reference, self.pose, self.twisted,
            self.hands, self.twist_shares, self.twist_axes,
        )  # fmt: skip


def standing_hips(character: Character) -> float:
    """Return the height of the hips above the sole in the reference pose, metres."""
    heels = tuple(Point(p.joint, p.offset) for name, p in character.contacts.items() if name.endswith("_heel"))
    return _standing_hips(SkeletonKey(character.skeleton), RolesKey(character.require_roles()), heels)


@lru_cache(maxsize=CACHE_SIZE)
def _standing_hips(key: SkeletonKey, roles_key: RolesKey, heels: tuple[Point, ...]) -> float:
    skeleton, roles = key.skeleton, roles_key.roles
    places, turned = reference_world(skeleton, roles)
    hips = places[[roles["left_upper_leg"], roles["right_upper_leg"]], 1].mean()
    soles = [
        places[point.joint][1] + rotation.rotate(turned[point.joint], np.array(point.offset))[1] for point in heels
    ]
    return float(hips - np.mean(soles)) if soles else leg_length(skeleton, roles)


def leg_ratio(character: Character, target: Character) -> float:
    """Return the ratio of the target's leg length to the source's."""
    return standing_hips(target) / standing_hips(character)


def _paired(given: Sequence[int], count: int) -> list[int]:
    """Return the source joints for a chain of `count`: one to one from the root, then repeating the last one."""
    return [given[min(number, len(given) - 1)] for number in range(count)]


def _distribute(knots: Sequence[int], count: int) -> list[tuple[int, int, float]]:
    """Return (joint, joint, weight) that resample the bend along a chain of vertebrae to `count` vertebrae."""
    given, found = len(knots) - 1, []
    for number in range(1, count + 1):
        place = number / count * given
        below = min(int(place), given - 1)
        found.append((knots[below], knots[below + 1], place - below))
    return found


def _twists(target: Character, pose: NDArray) -> list[tuple[int, int, float, NDArray]]:
    """Return (twist joint, hand, share of its twist, axis) for twist joints beside a forearm: no candy-wrapper skin.

    Twist joints inside the chain would rotate the hand as well, so they stay at rest.
    """
    roles, skeleton, found = target.require_roles(), target.skeleton, []
    for side in ("left", "right"):
        chain, hand = roles.joints.get(f"{side}_lower_arm_twist", ()), roles.get(f"{side}_hand")
        if hand is None or not chain or any(hand in skeleton.descendants(joint) for joint in chain):
            continue
        bone = skeleton.offsets[hand]
        length = np.linalg.norm(bone)
        if not length > 0 or skeleton.parents[hand] != roles.get(f"{side}_lower_arm"):
            continue
        for joint in chain:
            share = float(np.clip(skeleton.offsets[joint] @ bone / length**2, 0.0, 1.0)) or 0.5
            found.append((joint, hand, share, bone / length))
    return found
