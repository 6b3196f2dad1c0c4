"""Joint limits of humans, and by how much a motion exceeds them.

A joint's anatomical rotation is A = Gp · L · G⁻¹, with L its local rotation and Gp, G the world rotations of its parent
and itself in the reference pose: its rotation relative to the parent in the reference pose's world axes, where x is
left, y up and z forward. Limits bound the three components of A's rotation vector; of the two ways round, the one that
is less beyond them counts. In the T-pose this makes x the flexion of legs and trunk (knees bend by +x, hips by −x), and
y and z the bending and the raising of the arms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.checks import shaped
from footplant.errors import MotionError
from footplant.humanoid.reference import reference_world
from footplant.skeleton import Character, Limits, Roles, Skeleton

_FINGERS = ("index", "middle", "ring", "little")
RANGES: dict[str, tuple[tuple[float, float], tuple[float, float], tuple[float, float]]] = {
    "spine": ((-40, 95), (-60, 60), (-45, 45)),
    "neck": ((-75, 70), (-90, 90), (-55, 55)),
    "clavicle": ((-40, 40), (-35, 35), (-25, 50)),
    "upper_arm": ((-120, 120), (-150, 75), (-125, 125)),
    "lower_arm": ((-110, 110), (-160, 20), (-90, 90)),
    "hand": ((-60, 60), (-50, 50), (-95, 90)),
    "thumb": ((-80, 80), (-80, 80), (-80, 80)),
    "finger": ((-30, 30), (-40, 40), (-115, 45)),
    "upper_leg": ((-140, 45), (-65, 65), (-40, 75)),
    "lower_leg": ((-12, 160), (-45, 45), (-40, 40)),
    "foot": ((-45, 70), (-45, 45), (-45, 45)),
    "toes": ((-90, 60), (-25, 25), (-25, 25)),
    "twist": ((-110, 110), (-110, 110), (-110, 110)),
}
"""Degrees about x, y and z for the left side and for whole chains: ranges of healthy adults (Kapandji, The Physiology
of the Joints; AAOS 1965) widened by 10 to 20 degrees for athletes and for markers on skin, and the elbow's z because a
straight arm does not show its hinge axis. y and z change sign on the right.
"""


def joint_limits(skeleton: Skeleton, roles: Roles) -> Limits:
    """Return limits for every joint that has a role; the others, and the hips, are free (±∞)."""
    roles.require_fit(skeleton)
    lower, upper = np.full((len(skeleton), 3), -np.inf), np.full((len(skeleton), 3), np.inf)
    column = len(roles.joints.get("neck", ())) + len(roles.joints.get("head", ()))
    for role, chain in roles.joints.items():
        side, _, part = role.partition("_")
        part = part if side in ("left", "right") else role
        kind = (
            "twist" if part.endswith("_twist") else "finger" if part in _FINGERS else "neck" if part == "head" else part
        )
        if kind not in RANGES:
            continue
        shared = len(chain) if part == "spine" else column if kind == "neck" else 1
        # vertebrae share the range; each may take up to 1.5 times its equal share
        low, high = np.radians(np.array(RANGES[kind]).T) * min(1.0, 1.5 / shared)
        if side == "right":
            low, high = np.array([low[0], -high[1], -high[2]]), np.array([high[0], -low[1], -low[2]])
        lower[list(chain)], upper[list(chain)] = low, high
    return Limits(lower, upper)


def anatomical_turns(character: Character, rotations: ArrayLike) -> NDArray:
    """Return the rotation vectors (F, J, 3), radians, of all joints relative to their parents: see the module."""
    local = _local(character, rotations)
    above, world = _around(character)
    return rotation.log(rotation.multiply(rotation.multiply(above, local), rotation.inverse(world)))


def anatomical_turns_of(character: Character, joint: int, rotations: NDArray) -> NDArray:
    """Return the rotation vectors (F, 3), radians, of one joint relative to its parent, from local rotations (F, 4)."""
    above, world = (each[joint] for each in _around(character))
    return rotation.log(rotation.multiply(rotation.multiply(above, rotations), rotation.inverse(world)))


def anatomical_turns_beside(
    character: Character, joint: int, rotations: NDArray, own: NDArray
) -> tuple[NDArray, NDArray]:
    """Return `anatomical_turns_of` a joint's rotations and of its own ones, both (F, 4), the same way round.

    Its own: the way round that is less beyond the limits, as `limit_violations` has it; the others: that which is
    nearer to it. So a joint that passes 180° does not jump from one side of its limits to the other.
    """
    from footplant.humanoid import _limits as kernel

    now, before, table = np.empty((len(rotations), 3)), np.empty((len(own), 3)), limit_table(character, joint)
    kernel.turns_beside(table[:4], table[4:8], table[8:11], table[11:], np.array(rotations), np.array(own), now, before)
    return now, before


def anatomical_turn_derivatives(character: Character, joint: int, turns: NDArray) -> NDArray:
    """Return the derivatives (F, 3, 3) of the rotation vectors of a joint by a turn ω in its parent's frame.

    turns: (F, 3) as of `anatomical_turns_of`, either way round. The local rotation becomes exp(ω)·L; the inverse of the
    left Jacobian of SO(3) takes ω to the change of the vector.
    """
    angle = np.maximum(np.linalg.norm(turns, axis=1), 1e-4)[:, None, None]
    x, y, z = turns.T
    zero = np.zeros(len(turns))
    cross = np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]).transpose(2, 0, 1)
    # 1/θ² − cot(θ/2)/2θ, which tends to 1/12
    share = 1.0 / angle**2 - 0.5 / (angle * np.tan(0.5 * angle))
    above = rotation.to_matrix(_around(character)[0][joint])
    return (np.eye(3) - 0.5 * cross + share * cross @ cross) @ above


def limit_table(character: Character, joint: int) -> NDArray:
    """Return (14,): the world rotations of a joint's parent and of the joint in the reference pose, and its limits."""
    free, limits = np.full(3, np.inf), character.limits
    lower, upper = (-free, free) if limits is None else (limits.lower[joint], limits.upper[joint])
    return np.concatenate([*(each[joint] for each in _around(character)), lower, upper])


def clamp_to_limits(character: Character, joint: int, rotations: ArrayLike, own: ArrayLike) -> NDArray:
    """Return local rotations (F, 4) of a joint within its limits, or as far beyond them as its own ones (F, 4) are."""
    rotations = shaped(rotations, ("F", 4), "rotations", MotionError)
    own = shaped(own, (len(rotations), 4), "own rotations", MotionError)
    if character.limits is None or character.roles is None:
        return rotations
    from footplant.humanoid import _limits as kernel

    nearest, table = np.array(rotations), limit_table(character, joint)
    return (
        nearest if kernel.clamp(table[:4], table[4:8], table[8:11], table[11:], np.array(own), nearest) else rotations
    )


def _local(character: Character, rotations: ArrayLike) -> NDArray:
    return shaped(rotations, ("F", len(character.skeleton), 4), "rotations", MotionError)


def _around(character: Character) -> tuple[NDArray, NDArray]:
    """Return the world rotations (J, 4) of the joints' parents and of the joints in the reference pose."""
    skeleton, roles = character.skeleton, character.require_roles()
    world = reference_world(skeleton, roles)[1]
    return np.concatenate([rotation.identity(1), world[skeleton.parents[1:]]]), world


def limit_violations(character: Character, rotations: ArrayLike) -> NDArray:
    """Return by how many radians joints exceed the character's limits (F, J), 0 within them.

    rotations: (F, J, 4) local rotations, as in `Motion.rotations`.
    """
    return limit_excess(character, _local(character, rotations))


def limit_excess(character: Character, local: NDArray) -> NDArray:
    """Return `limit_violations` of rotations (F, J, 4) that are known to be finite, as those of a motion are."""
    if character.limits is None or character.roles is None:
        return np.zeros(local.shape[:2])
    from footplant.kernels import measures

    lower, upper = character.limits.lower, character.limits.upper
    above, world = _around(character)
    # a rotation by less than the nearest limit is within all of them; |w| ≤ 1, so 2 disables this shortcut
    nearest = np.minimum(upper, -lower).min(axis=1)
    free = np.where(nearest > 1e-6, np.cos(0.5 * np.minimum(nearest, np.pi)), 2.0)
    local = np.ascontiguousarray(local).view()
    local.setflags(write=False)
    out = np.empty(local.shape[:2])
    measures.limit_excess(above, local, rotation.inverse(world), np.array(lower), np.array(upper), free, out)
    return out
