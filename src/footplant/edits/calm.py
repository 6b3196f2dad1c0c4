"""Where a motion accelerates most, and the wish that it did so less: soft bounds that a whole-clip method can honour.

Peaks of acceleration are single frames: the blow of a heel, a snap of a knee, a fault of the capture. To take a seventh
of one away moves joints by millimetres on average, and by a centimetre or two around it; more is not asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import AccelerationLimit, Constraint, Footplant
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character, Point

LOWER = 0.85
"""Share of the highest acceleration of any joint that is wished for."""
NEAR = 0.9
"""Share of that from where on a frame is watched: pressed down, a peak comes up beside."""
EAGER = 30.0
"""Weight of being twice as fast as wished for, beside a joint's turn by a radian."""
MOST_WEIGHT = 1e5
"""Per m²; a slow clip at many frames a second has peaks of tenths of a millimetre, which must not outweigh plants."""


def peak(motion: Motion, character: Character, frames: range) -> float:
    """The highest acceleration of any joint with a role over some frames, m/s²."""
    return float(_accelerations(motion, character, frames)[1].max(initial=0.0))


def calmer(
    motion: Motion, character: Character, constraints: Sequence[Constraint], frames: range
) -> tuple[AccelerationLimit, ...]:
    """Soft bounds for joints and frames near the motion's highest acceleration; met by what plants move anyway."""
    joints, found = _accelerations(motion, character, frames)
    most = LOWER * float(found.max(initial=0.0))
    plants = [c for c in constraints if isinstance(c, Footplant)]
    if most <= 0.0 or not plants:
        return ()
    chain = sorted({joint for plant in plants for joint in character.skeleton.chain(plant.point.joint)})
    weight = min(EAGER / (most / motion.fps**2) ** 2, MOST_WEIGHT)
    limits = []
    for joint, own in zip(joints, found.T):
        watched = tuple((frames.start + 1 + np.flatnonzero(own > NEAR * most)).tolist())
        if not watched:
            continue
        limit = AccelerationLimit(
            point=Point(joint), most=most, frames=watched, hard=False, weight=weight, chain=tuple(chain),
            name=f"{character.skeleton.names[joint]} calmer",
        )  # fmt: skip
        limits.append(limit)
    return tuple(limits)


def _accelerations(motion: Motion, character: Character, frames: range) -> tuple[list[int], NDArray]:
    """Joints that have roles, and (F−2, n) how fast each accelerates at all but the first and last of the frames."""
    joints = sorted({chain[0] for chain in character.require_roles().joints.values() if chain})
    places = Kinematics(motion[frames.start : frames.stop]).positions[:, joints]
    return joints, np.linalg.norm(np.diff(places, n=2, axis=0), axis=2) * motion.fps**2
