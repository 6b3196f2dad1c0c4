"""A figure of blocks whose every measure is known: boxes bound rigidly to the joints of a simple humanoid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import Character, Motion, Roles, Skeleton, Skin

BONE_HEIGHT = (0.4 + 0.4 + 0.2 + 0.4) / 0.85
"""Metres; the height that `quality.pair` finds from its bones."""
# joint: (parent, offset in metres, low and high corner of its box in the joint's frame)
JOINTS: dict[str, tuple[str | None, tuple[float, float, float], tuple | None]] = {
    "hips": (None, (0.0, 0.9, 0.0), None),
    "spine": ("hips", (0.0, 0.2, 0.0), ((-0.15, -0.25, -0.1), (0.15, 0.3, 0.1))),
    "head": ("spine", (0.0, 0.4, 0.0), ((-0.08, 0.0, -0.1), (0.08, 0.2, 0.1))),
}
for _side, _x in (("left", 1.0), ("right", -1.0)):
    JOINTS |= {
        f"{_side}_upper_arm": ("spine", (0.25 * _x, 0.25, 0.0), ((-0.04, -0.25, -0.04), (0.04, 0.0, 0.04))),
        f"{_side}_lower_arm": (f"{_side}_upper_arm", (0.0, -0.25, 0.0), ((-0.04, -0.25, -0.04), (0.04, 0.0, 0.04))),
        f"{_side}_hand": (f"{_side}_lower_arm", (0.0, -0.25, 0.0), ((-0.02, -0.15, -0.04), (0.02, 0.0, 0.04))),
        f"{_side}_upper_leg": ("hips", (0.1 * _x, 0.0, 0.0), ((-0.07, -0.4, -0.07), (0.07, -0.1, 0.07))),
        f"{_side}_lower_leg": (f"{_side}_upper_leg", (0.0, -0.4, 0.0), ((-0.06, -0.4, -0.06), (0.06, 0.0, 0.06))),
        f"{_side}_foot": (f"{_side}_lower_leg", (0.0, -0.4, 0.0), ((-0.05, -0.1, -0.06), (0.05, -0.04, 0.12))),
        f"{_side}_toes": (f"{_side}_foot", (0.0, -0.06, 0.12), ((-0.05, -0.04, 0.0), (0.05, 0.0, 0.08))),
    }
NAMES = tuple(JOINTS)


def box(low: tuple, high: tuple, cells: int = 4) -> tuple[NDArray, NDArray]:
    """Return a closed box, vertices (V, 3) and triangles (T, 3) that point outwards, each side cells × cells."""
    low, high = np.array(low), np.array(high)
    vertices, faces, count = [], [], 0
    steps = np.linspace(0.0, 1.0, cells + 1)
    for axis in range(3):
        for end in (0.0, 1.0):
            u, v = np.meshgrid(steps, steps, indexing="ij")
            corners = np.empty((cells + 1, cells + 1, 3))
            corners[..., axis], corners[..., (axis + 1) % 3], corners[..., (axis + 2) % 3] = end, u, v
            vertices.append((low + corners * (high - low)).reshape(-1, 3))
            a = (np.arange(cells)[:, None] * (cells + 1) + np.arange(cells)).ravel() + count
            b, c, d = a + cells + 1, a + cells + 2, a + 1
            quads = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
            faces.append(quads if end else quads[:, ::-1])
            count += (cells + 1) ** 2
    return np.concatenate(vertices), np.concatenate(faces)


def block_figure() -> Character:
    """Return the figure, standing with its arms hanging, soles at height 0."""
    skeleton = Skeleton(
        NAMES,
        np.array([-1 if parent is None else NAMES.index(parent) for parent, _, _ in JOINTS.values()]),
        np.array([offset for _, offset, _ in JOINTS.values()]),
    )
    roles = Roles({name: (number,) for number, name in enumerate(NAMES)}, {}, {})
    places = skeleton.rest_world[0]
    vertices, faces, joints, count = [], [], [], 0
    for number, (_, _, corners) in enumerate(JOINTS.values()):
        if corners is not None:
            own, triangles = box(*corners)
            vertices.append(own + places[number])
            faces.append(triangles + count)
            joints.append(np.full((len(own), 1), number))
            count += len(own)
    bind = np.tile(np.eye(4), (len(NAMES), 1, 1))
    bind[:, :3, 3] = -places
    joints = np.concatenate(joints)
    skin = Skin(np.concatenate(vertices), np.concatenate(faces), joints, np.ones(joints.shape), bind)
    return Character(skeleton, "blocks", roles, skin=skin, height=1.7)


class Pose:
    """A motion of the figure that can be changed joint by joint: at rest, until `turn` or `shift` says otherwise."""

    def __init__(self, frames: int = 120, fps: float = 60.0) -> None:
        """Stand."""
        self.character, self.fps = block_figure(), fps
        self.offsets = np.tile(self.character.skeleton.offsets, (frames, 1, 1))
        self.rotations = np.zeros((frames, len(NAMES), 4))
        self.rotations[..., 0] = 1.0

    def turn(self, joint: str, degrees: float | NDArray, axis: int = 0, rows: slice = slice(None)) -> Pose:
        """Rotate a joint about an axis of its parent's frame."""
        half = np.radians(np.broadcast_to(degrees, len(self.rotations[rows]))) / 2.0
        self.rotations[rows, NAMES.index(joint)] = 0.0
        self.rotations[rows, NAMES.index(joint), 0] = np.cos(half)
        self.rotations[rows, NAMES.index(joint), 1 + axis] = np.sin(half)
        return self

    def shift(self, joint: str, metres: tuple | NDArray, rows: slice = slice(None)) -> Pose:
        """Move a joint in its parent's frame."""
        self.offsets[rows, NAMES.index(joint)] += metres
        return self

    @property
    def motion(self) -> Motion:
        """Return the motion."""
        return Motion(self.character.skeleton, self.offsets[:, 0], self.rotations, self.fps, self.offsets)

    @property
    def both(self) -> tuple[Motion, Character]:
        """Return the motion and its character."""
        return self.motion, self.character
