"""Motions of robots in the files that trainers read, and back.

unitree  .csv   rows of place, quaternion (real part last) and angles
gmr      .pkl   fps, root_pos, root_rot (real part last), dof_pos, local_body_pos, link_body_list
asap     .pkl   name → root_trans_offset, root_rot (real part last), dof, pose_aa, fps: ASAP, PHC, HumanoidVerse
mjlab    .npz   fps, joint_pos, joint_vel, body_pos_w, body_quat_w, body_lin_vel_w, body_ang_vel_w: mjlab, BeyondMimic
qpos     .npz   fps, qpos: MuJoCo's own coordinates

Bodies and joints of mjlab files are in MuJoCo's order (depth first) or in PhysX' (breadth first), which Isaac uses.
"""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.atomic import write_atomic
from footplant.errors import FormatError
from footplant.io.npz import open_arrays
from footplant.io.npz.archive import Archive
from footplant.io.npz.arrays import find_rate
from footplant.io.npz.robots import find_angles, read_states
from footplant.io.robot_models import choose_joints, complete_angles
from footplant.io.tables import UNITREE_FPS, robot_rows
from footplant.mechanism.model import Mechanism, joint_order, weld_order
from footplant.mechanism.motion import RobotMotion, body_velocities

LAYOUTS = {"unitree": ".csv", "gmr": ".pkl", "asap": ".pkl", "mjlab": ".npz", "qpos": ".npz"}
"""Layout → its file name extension."""
ORDERS = ("mujoco", "physx")
MOST_MISPLACED = 0.05
"""Metres; files whose bodies are further from where their angles put them belong to another robot."""


def choose_layout(path: str | Path, layout: str | None) -> str:
    """Return the layout of a file name, checked against a wish; raise `FormatError` for what does not fit."""
    suffix = Path(path).suffix.lower()
    if layout is not None:
        if layout not in LAYOUTS:
            raise FormatError(f"expected a layout among {', '.join(LAYOUTS)}; got {layout!r}", path=path)
        if LAYOUTS[layout] != suffix:
            raise FormatError(f"expected a name ending in {LAYOUTS[layout]} for the layout {layout}", path=path)
        return layout
    found = next((name for name, ending in LAYOUTS.items() if ending == suffix), None)
    if found is None:
        raise FormatError(f"expected a robot's motion to end in .csv, .pkl or .npz, got {suffix!r}", path=path)
    return found


def save_robot(path: str | Path, motion: RobotMotion, *, layout: str | None = None, order: str = "mujoco") -> Path:
    """Write a robot's motion, atomically. layout: one of `LAYOUTS`, by default that of the extension.

    Joints that follow others are written where those put them.
    """
    layout = choose_layout(path, layout)
    if order not in ORDERS:
        raise FormatError(f"expected an order among {', '.join(ORDERS)}; got {order!r}", path=path)
    if order != "mujoco" and layout != "mjlab":
        raise FormatError(f"the order of bodies is a choice of mjlab files, not of {layout} files", path=path)
    write_atomic(path, _WRITERS[layout](motion.coupled(), order))
    return Path(path)


def _real_part_last(motion: RobotMotion) -> NDArray:
    return motion.turns[:, [1, 2, 3, 0]]


def _unitree(motion: RobotMotion, order: str) -> bytes:
    out = io.StringIO()
    np.savetxt(out, np.concatenate([motion.root, _real_part_last(motion), motion.angles], axis=1), "%.9g", ",")
    return out.getvalue().encode()


def _gmr(motion: RobotMotion, order: str) -> bytes:
    positions, _ = motion.bodies()
    away = positions - motion.root[:, None]
    local = rotation.rotate(rotation.inverse(motion.turns)[:, None], away)
    return pickle.dumps(
        {
            "fps": _rate(motion), "root_pos": motion.root.copy(), "root_rot": _real_part_last(motion).copy(),
            "dof_pos": motion.angles.copy(), "local_body_pos": local, "link_body_list": list(motion.mechanism.bodies),
        },
        protocol=4,
    )  # fmt: skip


def _asap(motion: RobotMotion, order: str) -> bytes:
    axes = np.array([joint.axis for joint in motion.mechanism.joints])
    turns = np.concatenate([rotation.log(motion.turns)[:, None], motion.angles[:, :, None] * axes], axis=1)
    content = {
        "root_trans_offset": motion.root.astype(np.float32), "pose_aa": turns.astype(np.float32),
        "dof": motion.angles.astype(np.float32), "root_rot": _real_part_last(motion).copy(), "fps": _rate(motion),
    }  # fmt: skip
    return pickle.dumps({motion.name: content}, protocol=4)


def _mjlab(motion: RobotMotion, order: str) -> bytes:
    bodies = list(weld_order(motion.mechanism, order))
    joints = list(joint_order(motion.mechanism, order))
    positions, rotations = motion.bodies()
    linear, angular = body_velocities(positions, rotations, motion.fps)
    return _npz(
        fps=np.array([motion.fps]), joint_pos=motion.angles[:, joints], joint_vel=motion.velocities()[:, joints],
        body_pos_w=positions[:, bodies], body_quat_w=rotations[:, bodies], body_lin_vel_w=linear[:, bodies],
        body_ang_vel_w=angular[:, bodies],
        joint_names=np.array([motion.mechanism.joints[joint].name for joint in joints]),
        body_names=np.array([motion.mechanism.bodies[body] for body in bodies]),
    )  # fmt: skip


def _qpos(motion: RobotMotion, order: str) -> bytes:
    names = np.array([joint.name for joint in motion.mechanism.joints])
    return _npz(fps=np.array(motion.fps), qpos=motion.qpos(), joint_names=names)


def _rate(motion: RobotMotion) -> float | int:
    return int(motion.fps) if motion.fps == int(motion.fps) else motion.fps


def _npz(**arrays: NDArray) -> bytes:
    out = io.BytesIO()
    exact = ("qpos", "fps")
    narrow = {
        key: array.astype(np.float32) for key, array in arrays.items() if array.dtype == float and key not in exact
    }
    np.savez(out, allow_pickle=False, **(arrays | narrow))
    return out.getvalue()


_WRITERS = {"unitree": _unitree, "gmr": _gmr, "asap": _asap, "mjlab": _mjlab, "qpos": _qpos}


def load_robot(path: str | Path, mechanism: Mechanism, *, fps: float | None = None) -> RobotMotion:
    """Read the motion of a robot from a file of any tool whose layout is known; fps overrides what the file states.

    Angles are as in the file, also those that disagree with what their joints follow: `RobotMotion.disagreement`.
    """
    suffix, name = Path(path).suffix.lower(), Path(path).stem
    notes: list[str] = []
    if suffix == ".csv":
        rows = robot_rows(path)
        root, turns, angles, rate = rows[:, :3], rows[:, [6, 3, 4, 5]], rows[:, 7:], float(fps or UNITREE_FPS)
    elif suffix in (".pkl", ".pickle", ".joblib", ".npz", ".npy"):
        archive = open_arrays(path)
        if all(name in archive for name in ("joint_pos", "body_pos_w", "body_quat_w")):
            return RobotMotion(mechanism, _tracked_states(archive, mechanism), find_rate(archive, fps, notes), name)
        key = find_angles(archive)
        if key is None:
            raise FormatError("expected a robot's motion (a base and joint angles), got other arrays", path=path)
        root, turns, angles, rate = read_states(archive, key, fps, notes)
    else:
        raise FormatError(f"expected a robot's motion in .csv, .pkl or .npz, got {suffix!r}", path=path)
    return RobotMotion(mechanism, _states(mechanism, root, turns, angles, path), rate, name)


def _tracked_states(archive: Archive, mechanism: Mechanism) -> NDArray:
    """Return states (F, 7 + D) of an mjlab or BeyondMimic file, in whichever order its joints and bodies are."""
    angles = np.asarray(archive.floats("joint_pos"), float)
    places, turns = (np.asarray(archive.floats(name), float) for name in ("body_pos_w", "body_quat_w"))
    bodies = len(mechanism.bodies)
    if angles.shape[1] != len(mechanism.joints) or places.shape[1:] != (bodies, 3) or turns.shape[1:] != (bodies, 4):
        raise archive.error(
            f"expected {len(mechanism.joints)} joints and {bodies} bodies, as the robot {mechanism.name!r} has, got "
            f"{angles.shape[1]} and {places.shape[1]}", "joint_pos",
        )  # fmt: skip
    best, found = np.inf, np.zeros((len(angles), 7 + len(mechanism.joints)))
    for order in ORDERS:
        states = np.zeros_like(found)
        states[:, :3], states[:, 3:7] = places[:, 0], rotation.normalize(turns[:, 0])
        states[:, [7 + joint for joint in joint_order(mechanism, order)]] = angles
        # the right order is the one whose bodies are where the file says
        some = slice(None, None, max(1, len(angles) // 5))
        posed, _ = mechanism.pose(states[some, :3], states[some, 3:7], states[some, 7:])
        error = float(np.abs(posed[:, list(weld_order(mechanism, order))] - places[some]).max())
        if error < best:
            best, found = error, states
    if best > MOST_MISPLACED:
        raise archive.error(f"expected bodies where the joint angles put them, got some {best:.2f} m off", "body_pos_w")
    return found


def _states(mechanism: Mechanism, root: NDArray, turns: NDArray, angles: NDArray, path: str | Path) -> NDArray:
    """Return states (F, 7 + D); joints that the file leaves out follow others, or are at their reference."""
    names = [joint.name for joint in mechanism.joints]
    chosen = choose_joints(names, angles.shape[1], mechanism.coupling)
    if chosen is None:
        raise FormatError(
            f"expected {len(names)} joint angles, as the robot {mechanism.name!r} has, got {angles.shape[1]}", path=path
        )
    norms = np.linalg.norm(turns, axis=1)
    if len(norms) and np.abs(norms - 1.0).max() > 0.05:
        frame = int(np.abs(norms - 1.0).argmax())
        raise FormatError(f"expected unit quaternions, got one of length {norms[frame]:g} at frame {frame}", path=path)
    states = np.zeros((len(root), 7 + len(names)))
    states[:, :3], states[:, 3:7] = root, rotation.normalize(turns)
    rest = np.array([joint.reference for joint in mechanism.joints], float)
    states[:, 7:], _ = complete_angles(angles, chosen, rest, mechanism.coupling, names)
    return states
