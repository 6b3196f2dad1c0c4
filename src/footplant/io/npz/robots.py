"""Robot motions as arrays: the pose of the root and one angle per hinge, with a model of the robot.

GMR (`root_pos`, `root_rot`, `dof_pos`), ASAP and PHC (`root_trans_offset`, `root_rot`, `dof`), Holosoma and MuJoCo
(`qpos`, `joint_pos` with the root's seven numbers first). Quaternions have the real part last, except in `qpos`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant.clip import Take
from footplant.io.character import RawCharacter
from footplant.io.npz.archive import Archive
from footplant.io.npz.arrays import find_rate
from footplant.io.robot_models import model_for, robot_motion

ROOT_PLACES = ("root_pos", "root_trans_offset", "root_translation", "root_trans", "base_pos", "root_position")
ROOT_TURNS = ("root_rot", "root_quat", "base_quat", "root_rotation", "root_orientation")
ANGLES = ("dof_pos", "dof", "dofs", "dof_positions", "joint_pos", "joint_positions", "joint_angles")
WHOLE = ("qpos", "joint_pos")
"""Arrays of a place, a quaternion with the real part first, and all angles."""


def find_angles(archive: Archive) -> str | None:
    """Return the array of joint angles (frames, hinges), if there is also the pose of the root; else None."""
    places, turns = archive.find(*ROOT_PLACES), archive.find(*ROOT_TURNS)
    angles = next((name for name in ANGLES if _is_table(archive, name)), None)
    if places is not None and turns is not None and angles is not None:
        return angles
    return next((name for name in WHOLE if _is_table(archive, name) and archive.headers[name].shape[1] > 16), None)


def _is_table(archive: Archive, name: str) -> bool:
    header = archive.headers.get(name)
    if header is None or header.dtype.kind != "f":
        return False
    return len(header.shape) == 2 or (len(header.shape) == 3 and header.shape[2] == 1)


def read_states(
    archive: Archive, key: str, fps: float | None, notes: list[str]
) -> tuple[NDArray, NDArray, NDArray, float]:
    """Return the base's place (F, 3) and rotation (F, 4), real part first, all angles (F, H), and the frame rate."""
    places, turns = archive.find(*ROOT_PLACES), archive.find(*ROOT_TURNS)
    angles = np.asarray(archive.floats(key), float)
    angles = angles.reshape(len(angles), -1)
    if places is not None and turns is not None and key not in WHOLE[:1]:
        root = np.asarray(archive.floats(places), float)
        quaternions = np.asarray(archive.floats(turns), float)
        if root.shape != (len(angles), 3) or quaternions.shape != (len(angles), 4):
            raise archive.error(
                f"expected a root ({len(angles)}, 3) and ({len(angles)}, 4), got {root.shape} and {quaternions.shape}",
                places,
            )
        quaternions = quaternions[:, [3, 0, 1, 2]]
    elif angles.shape[1] < 7:
        raise archive.error(f"expected at least 7 numbers a frame, got {angles.shape[1]}", key)
    else:
        root, quaternions, angles = angles[:, :3], angles[:, 3:7], angles[:, 7:]
    return root, quaternions, angles, find_rate(archive, fps, notes)


def read_robot(
    archive: Archive, name: str, key: str, fps: float | None, skeleton: str | Path | None
) -> RawCharacter | None:
    """Return the robot's motion; None if no model is given and none is beside the file."""
    notes: list[str] = []
    width = archive.headers[key].shape[1] - (7 if _is_whole(archive, key) else 0)
    model = model_for(archive.path, skeleton, width, notes)
    if model is None:
        return None
    root, quaternions, angles, rate = read_states(archive, key, fps, notes)
    try:
        motion = robot_motion(model, root, quaternions, angles, rate, notes)
    except ValueError as error:
        raise archive.error(str(error), key) from error
    return RawCharacter(
        model.name or name, motion.skeleton, (Take(name or "motion", len(motion), rate),), lambda take: motion,
        scale=1.0, up="z", notes=tuple(notes),
    )  # fmt: skip


def _is_whole(archive: Archive, key: str) -> bool:
    """Return whether an array holds the base's seven numbers before the angles."""
    rooted = archive.find(*ROOT_PLACES) is not None and archive.find(*ROOT_TURNS) is not None
    return not rooted or key in WHOLE[:1]
