"""Poses of goals: inverse kinematics whose goals are met near the end of reach, too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import Constraint, Footplant, Position
from footplant.constraints.easing import RATE_FRAMES
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import errors, worst_error
from footplant.solve.ik.numeric import Numeric

DRAG_TOLERANCE = 3e-4
"""Metres; error of a goal at which it is met."""
MULTIPLIED = 6
"""Maximum number of times that the target of a drag is moved beyond by what is missing: of 387 reachable goals on nine
clips 9 are missed by 1 to 12 mm without."""
STRONGER = 3.0
"""Factor of a drag's weight each time, up to `STRONGEST`. Of 753 reachable goals on ten clips 13 are missed by 1 to 43
mm with 1 and four times, half of them with 12 times; with 3 those are left that pull footplants off."""
STRONGEST = 27.0
"""Largest factor: a drag is no stronger than footplants."""
PULLED_OFF = 0.002
"""Metres by which a drag may pull other constraints off in the pose of its frame before they are restored."""
HOPELESS = 0.03
"""Metres beyond which a drag counts as out of reach, and its target is not moved beyond."""


def with_held_frames(frames: NDArray, rows: NDArray, constraints: Sequence[Constraint], fps: float) -> NDArray:
    """Return frames, and the nearest ones in which footplants hold that ramp there, in order.

    A footplant that ramps asks for the correction that it makes where it holds. Without that frame it would ask for its
    place instead: dragging a hand would turn the toes of a foot that is coming down by 36°.
    """
    found = set(frames.tolist())
    for plant in constraints:
        if isinstance(plant, Footplant) and plant.frames:
            share, own = plant.activation(frames, fps), np.asarray(plant.frames)
            for frame in frames[(share > 0.0) & (share < 1.0)].tolist():
                nearest = int(own[np.abs(own - frame).argmin()])
                found |= {nearest, nearest + (RATE_FRAMES if frame < nearest else -RATE_FRAMES)}
    return np.array(sorted(found.intersection(rows.tolist())), np.int64)


def pose_goals(
    ik: Numeric, motion: Motion, constraints: Sequence[Constraint], pins: Sequence[Position], frames: NDArray
) -> Motion:
    """Return the poses that meet constraints and pins, which have targets at some of the frames.

    Near the end of its reach a body pulls back with a force that a pin of finite weight gives way to. Its target is
    then moved beyond by what is missing, and its weight raised (method of multipliers), and kept so if that brings it
    nearer and leaves other constraints where they are.
    """
    first = answer = ik.solve(motion, [*constraints, *pins], frames=frames).motion
    if not pins:
        return first
    aimed = list(pins)
    for _ in range(MULTIPLIED):
        kinematics = Kinematics(answer, frames)
        missed = [errors(pin, kinematics) for pin in pins]
        worst = max(float(off.max(initial=0.0)) for _, off in missed)
        if worst <= DRAG_TOLERANCE or worst > HOPELESS:
            break
        aimed = [
            _beyond(beyond, pin, kinematics.point(pin.point)[rows])
            for beyond, pin, (rows, _) in zip(aimed, pins, missed)
        ]
        answer = ik.solve(motion, [*constraints, *aimed], frames=frames, start=answer).motion
    left, was = (
        max(float(errors(p, Kinematics(m, frames))[1].max(initial=0.0)) for p in pins) for m in (answer, first)
    )
    if left >= 0.5 * was:
        return first
    off, before = (worst_error(Kinematics(m, frames), constraints).max(initial=0.0) for m in (answer, first))
    return answer if off <= max(PULLED_OFF, before) else first


def _beyond(beyond: Position, pin: Position, reached: NDArray) -> Position:
    """Return a pin with the force (weight times distance) that it has where it came to, and a higher weight."""
    weight = min(STRONGER * beyond.weight, STRONGEST * pin.weight)
    away = beyond.target - reached  # type: ignore[operator]
    target = pin.target + beyond.weight / weight * away  # type: ignore[operator]
    return beyond.like(target=target, weight=weight)
