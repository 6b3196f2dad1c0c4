"""Angles between a motion and its source, joint by joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.kinematics import Kinematics
from footplant.skeleton import Character, Roles

# role → the role its bone points to: what can be compared between skeletons with different bones
_BONES = {
    "spine": "neck", "neck": "head",
    **{f"{side}_{a}": f"{side}_{b}" for side in ("left", "right") for a, b in (
        ("upper_arm", "lower_arm"), ("lower_arm", "hand"), ("upper_leg", "lower_leg"), ("lower_leg", "foot"),
        ("foot", "toes"),
    )},
}  # fmt: skip
_LEGS = ("upper_leg", "lower_leg", "foot", "toes")


@dataclass(frozen=True)
class Deviation:
    """Angles between a motion and its source, degrees."""

    by: str
    """ "rotation" where the joints are the same (angle between local rotations), "direction" where only the roles are
    (angle between the bones' directions in the world)."""
    mean: float | None
    """Over all joints and frames."""
    worst: float | None
    """Largest of any joint and frame."""
    free_mean: float | None
    """Mean over the joints that no foot contact needs: all but the legs'."""
    free_worst: float | None
    """Largest of those."""
    joints: dict[str, float]
    """Mean for each joint or role."""


def deviation(ours: Kinematics, character: Character, theirs: Kinematics, source: Character) -> Deviation | None:
    """Return the deviation over the frames that both have; None if they share neither joints nor roles."""
    from footplant.kernels.measures import bone_angles

    for kinematics, owner in ((ours, character), (theirs, source)):
        owner.require_fit(kinematics.motion.skeleton)
    frames = min(len(ours.motion), len(theirs.motion))
    a, b = ours.motion.skeleton, theirs.motion.skeleton
    if a.names == b.names and np.array_equal(a.parents, b.parents) and np.abs(a.rest - b.rest).max() < 1e-6:
        first, second = ours.motion.rotations[:frames], theirs.motion.rotations[:frames]
        turned = rotation.log(rotation.multiply(rotation.inverse(first), second))
        angles = np.linalg.norm(turned, axis=-1)
        legs = _leg_joints(character.roles)
        free = np.array([joint not in legs for joint in range(len(a))])
        return _summary("rotation", angles, list(a.names), free)
    if character.roles is None or source.roles is None:
        return None
    bones = [
        pair for pair in _BONES.items() if all(role in r for role in pair for r in (character.roles, source.roles))
    ]
    if not bones:
        return None
    first, second = (
        np.array([[roles[role] for role in pair] for pair in bones]) for roles in (character.roles, source.roles)
    )
    angles = np.empty((frames, len(bones)))
    bone_angles(ours.positions, first, theirs.positions, second, angles)
    free = np.array([not role.endswith(_LEGS) for role, _ in bones])
    return _summary("direction", angles, [role for role, _ in bones], free)


def _leg_joints(roles: Roles | None) -> set[int]:
    if roles is None:
        return set()
    return {joint for role, chain in roles.joints.items() if role.endswith(_LEGS) for joint in chain}


def _summary(by: str, angles: NDArray, names: list[str], free: NDArray) -> Deviation:
    angles = np.degrees(angles)  # (F, N)
    loose = angles[:, free]
    return Deviation(
        by=by,
        mean=float(angles.mean()) if angles.size else None,
        worst=float(angles.max()) if angles.size else None,
        free_mean=float(loose.mean()) if loose.size else None,
        free_worst=float(loose.max()) if loose.size else None,
        joints={name: float(value) for name, value in zip(names, angles.mean(axis=0))} if angles.size else {},
    )
