"""Ground adaptation frame by frame: any ground under a motion, also one that changes during playback.

Kulpa, Multon & Arnaldi, "Morphology-independent representation of motions for interactive human-like animation"
(Eurographics 2005), section 7. `edits.terrain` is the offline method for whole clips; this one uses one frame at a
time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.contacts.ground import Ground, as_ground, normal_of
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.solve.ik.groupccd import GroupCcd, solve_rows
from footplant.solve.ik.groupccd.rows import ORIENTATION, POSITION, Rows, make_rows

GroundInTime = Callable[[float], Ground]
"""A ground that changes over time: seconds since the start → the ground at that time."""
TILTS_BELOW = 0.15
"""Body heights above the floor below which a sole tilts with the ground; fully below half of that."""


def follow_ground(
    motion: Motion,
    character: Character,
    ground: Ground | GroundInTime,
    *,
    floor: Ground | float = 0.0,
) -> Motion:
    """Return the motion on another ground, frame by frame: for live use, and for grounds that change over time.

    Kulpa, Multon & Arnaldi (Eurographics 2005), section 7: ankles rise with the ground below them, soles tilt with it,
    and the root keeps its height above it, or is lower where a leg would not reach (the smallest of three heights).
    There is no look-ahead: where the ground has edges, use `terrain`. floor: the ground of the motion now.
    """
    times = np.arange(len(motion)) / motion.fps
    root, local = np.array(motion.root), np.array(motion.rotations)
    solver = GroupCcd(character)
    rows = ground_rows(solver, Kinematics(motion), root, ground, as_ground(floor), times)
    offsets = solver.bodies[0] if motion.offsets is None else motion.offsets
    solve_rows(solver.tree, (offsets, *solver.bodies[1:]), root, local, rows, 1)
    return motion.like(root, local, motion.offsets)


def ground_rows(
    solver: GroupCcd,
    kinematics: Kinematics,
    root: NDArray,
    ground: Ground | GroundInTime,
    floor: Ground,
    times: NDArray,
) -> Rows:
    """Return the rows of both feet on the ground at every frame; root (F, 3) is raised with the ground in place."""
    feet = [solver.limbs[name].end for name in ("right_leg", "left_leg") if name in solver.limbs]
    places = kinematics.positions[:, feet]
    shifts, normals = ground_shifts(places, ground, floor, times)
    root[:, 1] += shifts.mean(axis=1) if feet else 0.0
    return foot_rows(feet, places, kinematics.rotations[:, feet], shifts, normals, floor, solver.character.height)


def ground_shifts(
    places: NDArray, ground: Ground | GroundInTime, floor: Ground, times: NDArray
) -> tuple[NDArray, NDArray]:
    """Return the height of the ground above the floor at places (F, N, 3), metres, and its normals (F, N, 3)."""
    flat = places[..., ::2]
    if not callable(ground):
        return ground.height(flat) - floor.height(flat), normal_of(ground, flat)
    shifts, normals = np.empty(places.shape[:2]), np.empty(places.shape)
    for row, seconds in enumerate(times.tolist()):
        now = ground(seconds)
        shifts[row] = now.height(flat[row]) - floor.height(flat[row])
        normals[row] = normal_of(now, flat[row])
    return shifts, normals


def foot_rows(
    feet: Sequence[int],
    places: NDArray,
    turns: NDArray,
    shifts: NDArray,
    normals: NDArray,
    floor: Ground,
    height: float,
) -> Rows:
    """Return rows of the group solver, rank 0: ankles raised by the ground and soles tilted with it."""
    poses, blocks = np.arange(len(places)), []
    places, turns = foot_targets(places, turns, shifts, normals, floor, height)
    for number, joint in enumerate(feet):
        target = np.zeros((len(poses), 4))
        target[:, :3] = places[:, number]
        blocks.append({"poses": poses, "kind": POSITION, "joint": joint, "target": target})
        blocks.append({"poses": poses, "kind": ORIENTATION, "joint": joint, "target": turns[:, number]})
    return make_rows(len(poses), blocks)


def foot_targets(
    places: NDArray, turns: NDArray, shifts: NDArray, normals: NDArray, floor: Ground, height: float
) -> tuple[NDArray, NDArray]:
    """Return positions (F, N, 3) of ankles raised by the ground, and rotations (F, N, 4) of soles tilted with it."""
    raised = places.copy()
    raised[..., 1] += shifts
    if not (normals[..., 1] < 1.0 - 1e-12).any():
        return raised, turns
    clear = (places[..., 1] - floor.height(places[..., ::2])) / (TILTS_BELOW * height)
    tilts = rotation.slerp(
        rotation.identity(*clear.shape),
        rotation.between(rotation.AXES["y"], normals),
        np.clip(2.0 - 2.0 * clear, 0.0, 1.0),
    )
    return raised, rotation.multiply(tilts, turns)
