"""Binary messages for poses, meshes and ground, as the page reads them: little-endian, 32-bit, 4-byte aligned.

A message is a header of eight unsigned integers, then arrays one after another:

    poses   [1, layer, sequence, first frame, frames, joints, 0, 0]   float32 positions (n, J, 3), quaternions (n, J, 4)
    mesh    [2, layer, sequence, vertices, triangles, joints, 0, 0]   float32 vertices (V, 3), normals (V, 3),
            weights (V, 4), inverse bind matrices (J, 16, by columns); uint32 joints (V, 4), triangles (T, 3)
    ground  [3, 0, sequence, n along x, m along z, 0, 0, 0]           float32 low x, low z, steps x, z, heights (n, m)

Positions are metres in the world, quaternions are world rotations (x, y, z, w), as in three.js.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from footplant.kinematics import Kinematics
from footplant.plot.packed import hardware_skin
from footplant.skeleton import Skin

POSES: Final = 1
MESH: Final = 2
GROUND: Final = 3
CURRENT: Final = 0
"""Layer of the edited motion."""
ORIGINAL: Final = 1
"""Layer of the clip as opened."""
OTHER: Final = 2
"""Layer of the motion it is compared with."""
LIVE: Final = 3
"""Layer of a character driven by keys or a stream: one frame."""


def header(*numbers: int) -> bytes:
    """Encode eight unsigned integers, padded with zeros."""
    return np.array([*numbers, *[0] * (8 - len(numbers))], "<u4").tobytes()


def encode_poses(kinematics: Kinematics, first: int, layer: int, sequence: int) -> bytes:
    """Encode world poses of consecutive frames, starting at frame `first`."""
    frames, joints = kinematics.positions.shape[:2]
    turns = kinematics.rotations[..., [1, 2, 3, 0]]
    return b"".join((
        header(POSES, layer, sequence, first, frames, joints),
        np.ascontiguousarray(kinematics.positions, "<f4").tobytes(),
        np.ascontiguousarray(turns, "<f4").tobytes(),
    ))  # fmt: skip


def encode_mesh(skin: Skin, layer: int, sequence: int) -> bytes:
    """Encode a skin; of more than four joints per vertex the strongest are kept."""
    weights, joints, normals = hardware_skin(skin)
    numbers = (skin.vertices, normals, weights, skin.inverse_bind.swapaxes(1, 2))
    indices = (joints, skin.faces)
    return b"".join((
        header(MESH, layer, sequence, len(skin.vertices), len(skin.faces), len(skin.inverse_bind)),
        *(np.ascontiguousarray(array, "<f4").tobytes() for array in numbers),
        *(np.ascontiguousarray(array, "<u4").tobytes() for array in indices),
    ))  # fmt: skip


def encode_ground(low: NDArray, step: NDArray, heights: NDArray, sequence: int) -> bytes:
    """Encode heights (n along x, m along z), metres, over a grid that starts at a corner (x, z)."""
    head = header(GROUND, 0, sequence, *heights.shape)
    return head + np.array([*low, *step], "<f4").tobytes() + np.ascontiguousarray(heights, "<f4").tobytes()
