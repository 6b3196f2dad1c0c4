"""Curves over time for the plots under the timeline."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.editor.actions import wanted_constraints
from footplant.editor.state import EditorState, find_plants
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.plot.figures import foot_curves
from footplant.problem import worst_error

MOST_SAMPLES = 4000
"""Largest number of samples in a plot; longer clips are reduced to the extreme value of each stretch."""
PLOTS = ("error", "height", "speed", "joint", "importance")


def curves(state: EditorState, plot: str, joint: int = 0) -> dict[str, Any]:
    """Return one plot: its frames, and lines with names and values.

    error: the largest error of any constraint, mm. height: contact points above the ground, mm. speed: horizontal speed
    of contact points, m/s. joint: rotation of a joint from its rest rotation, degrees about its axes. importance: how
    much each hand and foot matters because it touches something or is about to, 0 to 1 (H. J. Shin 2002, chapter 4).
    """
    if plot not in PLOTS:
        raise ConstraintError(f"expected a plot among {', '.join(PLOTS)}; got {plot!r}")
    kinematics = Kinematics(state.motion)
    if plot == "error":
        unit, lines = "mm", {"constraint error": 1000.0 * worst_error(kinematics, wanted_constraints(state))}
    elif plot == "joint":
        if not 0 <= joint < len(state.character.skeleton):
            raise ConstraintError(f"expected a joint in 0..{len(state.character.skeleton) - 1}, got {joint}")
        turn = rotation.log(
            rotation.multiply(rotation.inverse(state.character.skeleton.rest[joint]), state.motion.rotations[:, joint])
        )
        unit, lines = "°", {axis: np.degrees(turn[:, n]) for n, axis in enumerate("xyz")}
    elif plot == "importance":
        unit, lines = "", _importance(kinematics, state)
    else:
        ground = state.ground or find_plants(state.clip).ground
        unit, lines = ("mm" if plot == "height" else "m/s"), foot_curves(kinematics, state.character, ground, plot)
    frames, values = _thinned(lines)
    return {"is": "curves", "plot": plot, "unit": unit, "frames": frames, "lines": values}


def _importance(kinematics: Kinematics, state: EditorState) -> dict[str, NDArray]:
    from footplant.contacts.importance import LIMBS, importances

    state.character.require_roles()
    found = importances(state.character, kinematics.positions, kinematics.rotations, state.motion.fps)
    return {limb.replace("_", " "): np.array([instant[limb] for instant in found]) for limb in LIMBS}


def _thinned(lines: dict[str, NDArray]) -> tuple[list[int], dict[str, list[float]]]:
    """Reduce long curves to the value of largest magnitude in each stretch of frames."""
    count = max(map(len, lines.values()), default=0)
    step = -(-count // MOST_SAMPLES) or 1
    values = {}
    for name, line in lines.items():
        padded = np.pad(line, (0, -len(line) % step), mode="edge").reshape(-1, step)
        picked = np.take_along_axis(padded, np.abs(padded).argmax(axis=1)[:, None], axis=1)[:, 0]
        values[name] = [round(float(value), 5) for value in picked]
    return list(range(0, count, step)), values
