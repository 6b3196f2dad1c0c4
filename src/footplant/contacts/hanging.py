"""Arms that hang down along the trunk: near the body all the time, without touching it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.kinematics import Kinematics
from footplant.skeleton import Character


@dataclass(frozen=True)
class HangingSettings:
    """When an arm counts as hanging. Where a field names no experiment, none is on record."""

    straight: tuple[float, float] = (0.85, 0.92)
    """Distance from shoulder to wrist as a fraction of the arm's length: where an arm starts to count as hanging, and
    where it fully does."""
    along_trunk: tuple[float, float] = (0.85, 0.95)
    """Cosine of the angle between arm and trunk: where an arm starts to count as hanging, and where it fully does."""


HANGING = HangingSettings()


def hanging_arm(kinematics: Kinematics, character: Character, side: str) -> NDArray:
    """Return weights (F,), 0 to 1: how much an arm hangs down along the trunk, nearly straight."""
    character.require_fit(kinematics.motion.skeleton)
    roles, places = character.require_roles(), kinematics.positions
    names = [f"{side}_upper_arm", f"{side}_lower_arm", f"{side}_hand"]
    top = next((role for role in ("neck", "head") if role in roles), None)
    if top is None or not all(name in roles for name in ("hips", *names)):
        return np.zeros(len(places))
    from footplant.kernels import touches as kernel

    out, (shoulder, elbow, wrist) = np.empty(len(places)), (roles[name] for name in names)
    arm = kernel.Arm(shoulder, elbow, wrist, roles["hips"], roles[top])
    kernel.hanging(arm, HANGING.straight, HANGING.along_trunk, places, out)
    return out
