"""Binary messages for poses, meshes and ground, as the page reads them: little-endian, 32-bit, 4-byte aligned.

A message is a header of eight unsigned integers, then arrays one after another:

    poses   [1, layer, sequence, first frame, frames, joints, 0, 0]   float32 positions (n, J, 3), quaternions (n, J, 4)
    mesh    [2, layer, sequence, vertices, triangles, joints, 0, 0]   float32 vertices (V, 3), normals (V, 3),
            weights (V, 4), inverse bind matrices (J, 16, by columns); uint32 joints (V, 4), triangles (T, 3)
    looks   [4, layer, sequence, triangles, materials, textures, 0, 0]  float32 texture coordinates (T, 3, 2), uint32
            materials (T), float32 colours (M, 4), int32 textures of materials (M; −1: none), uint32 sizes (K), then the
            pictures' files, each padded to 4 bytes
    ground  [3, layer, sequence, n along x, m along z, 0, 0, 0]       float32 low x, low z, steps x, z, heights (n, m)
    crowd   [5, 0, sequence, frame, actors, joints in all, 0, 0]   uint32 numbers of the actors (A), joints of each (A),
            float32 positions (J, 3), quaternions (J, 4) of all, one actor after another

Positions are metres in the world, quaternions are world rotations (x, y, z, w), as in three.js.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from footplant.kinematics import Kinematics
from footplant.looks import Looks
from footplant.plot.packed import hardware_skin
from footplant.skeleton import Skin

POSES: Final = 1
MESH: Final = 2
GROUND: Final = 3
LOOKS: Final = 4
CROWD_POSES: Final = 5
MOST_PICTURES = 96 * 2**20
"""Bytes of pictures that are sent; those beyond are left out."""
CURRENT: Final = 0
"""Layer of the edited motion."""
ORIGINAL: Final = 1
"""Layer of the clip as opened."""
OTHER: Final = 2
"""Layer of the motion it is compared with."""
LIVE: Final = 3
"""Layer of a character driven by keys or a stream: one frame."""
FIRST: Final = 4
"""Layer of the first of two compared motions, where it is not the edited one."""
CAST: Final = 16
"""Layers from here on: the other characters of the scene."""
CROWD: Final = 256
"""Layer of the ground of a crowd; from here on, of the models of its actors."""


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


def encode_looks(skin: Skin, looks: Looks, layer: int, sequence: int) -> bytes:
    """Encode materials and textures of a skin: texture coordinates of every corner, v upwards, and the pictures."""
    faces = len(skin.faces)
    corners, materials = np.zeros((faces, 3, 2)), np.zeros(faces, np.int64)
    for part in looks.parts:
        materials[part.start : part.stop] = part.materials
        if part.uvs is not None:
            corners[part.start : part.stop] = part.uvs
    used = sorted({m.texture for m in looks.materials if m.texture is not None and looks.textures[m.texture].data})
    room, kept = MOST_PICTURES, []
    for number in used:
        room -= len(looks.textures[number].data)
        kept += [number] if room >= 0 else []
    places = {number: place for place, number in enumerate(kept)}
    pictures = [looks.textures[number].data for number in kept]
    colours = np.array([material.color for material in looks.materials], float).reshape(-1, 4)
    numbers = np.array([-1 if m.texture is None else places.get(m.texture, -1) for m in looks.materials], "<i4")
    return b"".join((
        header(LOOKS, layer, sequence, faces, len(looks.materials), len(pictures)),
        np.ascontiguousarray(corners, "<f4").tobytes(), np.ascontiguousarray(materials, "<u4").tobytes(),
        np.ascontiguousarray(colours, "<f4").tobytes(), numbers.tobytes(),
        np.array([len(data) for data in pictures], "<u4").tobytes(),
        *(data + bytes(-len(data) % 4) for data in pictures),
    ))  # fmt: skip


def encode_crowd(poses: Mapping[int, tuple[NDArray, NDArray]], frame: int, sequence: int) -> bytes:
    """Encode world positions (J, 3) and rotations (J, 4) of actors, by their numbers, at a frame of the crowd."""
    places = [places for places, _ in poses.values()]
    turns = [turns[:, [1, 2, 3, 0]] for _, turns in poses.values()]
    counts = [len(own) for own in places]
    return b"".join((
        header(CROWD_POSES, 0, sequence, frame, len(poses), sum(counts)),
        np.array([*poses, *counts], "<u4").tobytes(),
        *(np.ascontiguousarray(own, "<f4").tobytes() for own in places),
        *(np.ascontiguousarray(own, "<f4").tobytes() for own in turns),
    ))  # fmt: skip


def encode_ground(low: NDArray, step: NDArray, heights: NDArray, sequence: int, layer: int = CURRENT) -> bytes:
    """Encode heights (n along x, m along z), metres, over a grid that starts at a corner (x, z)."""
    head = header(GROUND, layer, sequence, *heights.shape)
    return head + np.array([*low, *step], "<f4").tobytes() + np.ascontiguousarray(heights, "<f4").tobytes()
