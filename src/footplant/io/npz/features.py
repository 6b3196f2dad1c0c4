"""HumanML3D features: rows of 263 (22 joints) or 251 (KIT, 21 joints) numbers, from which joints are recovered.

A row holds the root's turn about the vertical (radians per frame), its velocity in its own heading, its height, the
places of the other joints relative to the root in its heading, and redundant rotations, velocities and foot contacts,
which are not needed (Guo et al., Generating Diverse and Natural 3D Human Motions from Text, CVPR 2022).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import MotionError
from footplant.io.arrays import NpyHeader
from footplant.io.character import RawCharacter
from footplant.io.npz.archive import Archive
from footplant.io.npz.arrays import MAX_LENGTH, read_arrays
from footplant.io.npz.bodies import SMPL_BODY
from footplant.kinematics import Kinematics
from footplant.motion import Motion

WIDTHS = {263: 22, 251: 21}
"""Numbers of a row → joints."""
FPS = {263: 20.0, 251: 12.5}


def is_humanml(archive: Archive) -> bool:
    """Return whether a single array has rows of features."""
    header = archive.headers.get("")
    return header is not None and header.dtype.kind == "f" and len(header.shape) == 2 and header.shape[1] in WIDTHS


def read_humanml(archive: Archive, name: str, fps: float | None) -> RawCharacter:
    """Return the joints of features that are not normalised (HumanML3D's new_joint_vecs)."""
    rows = np.asarray(archive.floats(""), float)
    joints = WIDTHS[rows.shape[1]]
    if np.abs(rows[:, : 4 + 3 * (joints - 1)]).max(initial=0.0) > MAX_LENGTH:
        raise archive.error("expected features of a motion, got larger numbers")
    if not 0.3 < float(np.median(rows[:, 3])) < (1.6 if joints == 22 else 1600.0):
        raise archive.error(
            f"expected features with the height of the root in metres, got {float(np.median(rows[:, 3])):.3g}; "
            "normalised features must be multiplied by their standard deviation first"
        )
    # heading before each frame; the first row's turn belongs to the second frame
    heading = np.concatenate([[0.0], np.cumsum(rows[:-1, 0])])
    turn = rotation.from_axis_angle([0.0, 1.0, 0.0], -2.0 * heading)
    steps = np.zeros((len(rows), 3))
    steps[1:, 0], steps[1:, 2] = rows[:-1, 1], rows[:-1, 2]
    root = np.cumsum(rotation.rotate(turn, steps), axis=0)
    root[:, 1] = rows[:, 3]
    local = rows[:, 4 : 4 + 3 * (joints - 1)].reshape(len(rows), joints - 1, 3)
    places = rotation.rotate(turn[:, None], local) + root[:, None] * [1.0, 0.0, 1.0]
    whole = np.concatenate([root[:, None], places], axis=1)
    inner = Archive(None, archive.path, {"": NpyHeader(whole.dtype, False, whole.shape, 0)}, {}, values={"": whole})
    return read_arrays(inner, name, "", fps or FPS[rows.shape[1]])


# --- writing -------------------------------------------------------------------------------------------------------

JOINTS = SMPL_BODY.layout.names
"""The 22 joints of HumanML3D, in its order: SMPL's without the hands."""
CHAINS = ((0, 2, 5, 8, 11), (0, 1, 4, 7, 10), (0, 3, 6, 9, 12, 15), (9, 14, 17, 19, 21), (9, 13, 16, 18, 20))
"""Joints along which rotations are found, from the root and from the chest outwards."""
_X, _Y, _Z = np.eye(3)
DIRECTIONS = np.array([
    0.0 * _X, _X, -_X, _Y, -_Y, -_Y, _Y, -_Y, -_Y, _Y, _Z, _Z, _Y, _X, -_X, _Z, -_Y, -_Y, -_Y, -_Y, -_Y, -_Y,
])  # fmt: skip
"""(22, 3) direction of the bone that ends in each joint in the pose without rotations: arms hang."""
ACROSS = ((2, 1), (17, 16))
"""Right and left hip, right and left shoulder: they say which way the body faces."""
FEET = ((7, 10), (8, 11))
"""Ankle and ball of the left and the right foot."""
CONTACT_SPEED = 0.002**0.5
"""Metres per frame below which a foot's joint counts as planted: HumanML3D compares the square with 0.002."""
FACING_SMOOTHING = 20.0
"""Frames; standard deviation of the Gaussian that smooths the facing direction."""


def humanml_features(motion: Motion) -> NDArray:
    """Return a motion on SMPL's skeleton as HumanML3D features (F - 1, 263), at 20 frames per second.

    A row: turn about the vertical (half the angle, radians per frame) and velocity of the root in its heading, its
    height; places of the other joints (21 × 3) relative to the root in its heading; their rotations (21 × 6, two
    columns of a matrix); velocities of all joints (22 × 3) in the heading; contacts of left ankle, left ball, right
    ankle and right ball. The motion begins at the origin, facing +z, with its lowest joint on the floor. Bones keep
    their lengths: HumanML3D itself gives all of them one person's.
    """
    from scipy.ndimage import gaussian_filter1d

    names = motion.skeleton.names
    missing = [name for name in JOINTS if name not in names]
    if missing:
        raise MotionError(f"expected a motion of SMPL's body, got one without {', '.join(missing[:5])}; retarget it "
                          "onto sample:smpl first")  # fmt: skip
    motion = motion.resample(FPS[263])
    if len(motion) < 2:
        raise MotionError(f"expected at least 2 frames at {FPS[263]:g} frames per second, got {len(motion)}")
    places = Kinematics(motion).positions[:, [names.index(name) for name in JOINTS]]
    places = places - [places[0, 0, 0], places[..., 1].min(), places[0, 0, 2]]
    places = rotation.rotate(rotation.between(_facing(places)[0], _Z), places)
    facing = gaussian_filter1d(_facing(places), FACING_SMOOTHING, axis=0, mode="nearest")
    heading = rotation.between(facing, _Z)
    local = rotation.rotate(heading[:, None], places - places[:, :1] * [1.0, 0.0, 1.0])
    turn = rotation.multiply(heading[1:], rotation.inverse(heading[:-1]))
    step = rotation.rotate(heading[1:], np.diff(places[:, 0], axis=0))
    speed = np.diff(places, axis=0)
    planted = [np.linalg.norm(speed[:, joint], axis=-1) < CONTACT_SPEED for side in FEET for joint in side]
    rotations = rotation.to_matrix(_rotations(places, heading)[:-1, 1:])[..., :2]
    count = len(motion) - 1
    return np.concatenate([
        np.arcsin(np.clip(turn[:, 2:3], -1.0, 1.0)), step[:, ::2], places[:-1, 0, 1:2],
        local[:-1, 1:].reshape(count, -1), np.swapaxes(rotations, -1, -2).reshape(count, -1),
        rotation.rotate(heading[:-1, None], speed).reshape(count, -1), np.stack(planted, axis=1),
    ], axis=1).astype(np.float32)  # fmt: skip


def _facing(places: NDArray) -> NDArray:
    """Return (F, 3) unit vectors, horizontal: which way hips and shoulders face."""
    across = np.sum([places[:, right] - places[:, left] for right, left in ACROSS], axis=0)
    facing = np.cross(_Y, across)
    return facing / np.maximum(np.linalg.norm(facing, axis=-1, keepdims=True), 1e-9)


def _rotations(places: NDArray, heading: NDArray) -> NDArray:
    """Return (F, 22, 4) rotations of each joint relative to the one before it in its chain, by bone directions."""
    found = rotation.identity(*places.shape[:2])
    found[:, 0] = heading
    for chain in CHAINS:
        world = heading
        for parent, joint in pairwise(chain):
            bone = places[:, joint] - places[:, parent]
            turned = rotation.between(np.broadcast_to(DIRECTIONS[joint], bone.shape), bone)
            found[:, joint] = rotation.multiply(rotation.inverse(world), turned)
            world = turned
    return found
