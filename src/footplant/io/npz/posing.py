"""Convert joint positions to a motion: with the file's world rotations, or with rotations fitted to the positions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.io.npz.fit import find_offsets, pose
from footplant.io.npz.layouts import COPY, JOINT, Layout
from footplant.io.npz.tree import parents_first, some_frames
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Skeleton

BLOCK = 256
"""Frames processed at a time, to keep intermediate arrays small."""
RIGID_TOLERANCE = 1e-3
"""Fraction of the total bone length. Joints that move less in their parents' frames are on rigid bones."""
_HALF = 0.5**0.5
_TURNS = {
    "y": (1.0, 0.0, 0.0, 0.0), "-y": (0.0, 1.0, 0.0, 0.0),
    "z": (_HALF, _HALF, 0.0, 0.0), "-z": (_HALF, -_HALF, 0.0, 0.0),
    "x": (_HALF, 0.0, 0.0, -_HALF), "-x": (_HALF, 0.0, 0.0, _HALF),
}  # fmt: skip
"""The rotation from y to each vertical axis; conversion to y up undoes it."""


@dataclass(frozen=True)
class Tree:
    """Names and parents for the joints of an array, in its order."""

    names: tuple[str, ...]
    parents: NDArray
    """(J,) −1 for joint 0 only; a parent may come after its child."""
    layout: Layout | None = None
    """The known joint order, if it is one."""

    def ordered(self) -> tuple[NDArray, tuple[str, ...], NDArray]:
        """Return an order with parents first, and names and parents in that order."""
        order = parents_first(self.parents)
        place = np.argsort(order)
        parents = np.where(order == 0, -1, place[np.maximum(self.parents[order], 0)])
        return order, tuple(self.names[joint] for joint in order), parents


def upright(root: NDArray) -> tuple[str, NDArray]:
    """Return the axis closest to the root's mean local y direction over a motion, and the rotation from y to it."""
    mean = rotation.rotate(some_frames(root), rotation.AXES["y"]).mean(axis=0)
    axis = int(np.argmax(np.abs(mean)))
    up = ("-" if mean[axis] < 0 else "") + "xyz"[axis]
    return up, np.array(_TURNS[up])


def pose_by_rotations(positions: NDArray, rotations: NDArray, tree: Tree, rate: float, notes: list[str]) -> Motion:
    """Return a motion from positions (F, J, 3) and world rotations (F, J, 4) of every joint, in the tree's order."""
    order, names, parents = tree.ordered()
    above = parents[1:]

    def inside(part: slice) -> tuple[NDArray, NDArray]:
        """Return local rotations, and positions of joints in their parents' frames."""
        turned, placed = rotations[part][:, order], np.asarray(positions[part][:, order], float)
        back = rotation.inverse(turned[:, above])
        local, places = np.array(turned), np.zeros_like(placed)
        local[:, 1:] = rotation.multiply(back, turned[:, 1:])
        places[:, 1:] = rotation.rotate(back, placed[:, 1:] - placed[:, above])
        return rotation.normalize(local), places

    offsets = np.median(inside(slice(0, None, max(1, len(positions) // BLOCK)))[1], axis=0)
    local = np.empty((len(positions), len(order), 4))
    moved = 0.0
    for part in _blocks(len(positions)):
        local[part], places = inside(part)
        moved = max(moved, float(np.linalg.norm(places - offsets, axis=-1).max()))
    moving = None
    if moved > RIGID_TOLERANCE * max(float(np.linalg.norm(offsets, axis=-1).sum()), 1e-9):
        notes.append("joints move in their parents' frames; this was kept as moving bone offsets")
        moving = np.concatenate([inside(part)[1] for part in _blocks(len(positions))])
        moving.setflags(write=False)
    offsets[0] = positions[0, 0]
    local.setflags(write=False)
    motion = Motion(Skeleton(names, parents, offsets), positions[:, 0], local, rate, moving)
    return motion if tree.layout is None else _without_points(motion, tree.layout)


def pose_by_positions(positions: NDArray, tree: Tree, rate: float, notes: list[str]) -> tuple[Motion, str | None]:
    """Return a motion fitted to positions (F, J, 3) in the tree's order, and the vertical axis if it is known."""
    order, names, parents = tree.ordered()
    sample = some_frames(positions)[:, order]
    up, turn = None, rotation.IDENTITY
    if tree.layout is None:
        bones = sample[0] - sample[0, np.maximum(parents, 0)]
    else:
        bones = tree.layout.directions[order]
        up, turn = upright(pose(sample, parents, find_offsets(sample, parents, bones, turn), turn)[:, 0])
    offsets = find_offsets(sample, parents, bones, turn)
    local = np.empty((len(positions), len(order), 4))
    for part in _blocks(len(positions)):
        world = pose(np.asarray(positions[part][:, order], float), parents, offsets, turn)
        local[part] = world
        local[part, 1:] = rotation.multiply(rotation.inverse(world[:, parents[1:]]), world[:, 1:])
    local.setflags(write=False)
    offsets[0] = sample[0, 0]
    rest = rotation.identity(len(order))
    rest[0] = turn
    motion = Motion(Skeleton(names, parents, offsets, rest), positions[:, 0], local, rate)
    notes.append(_residual(motion, positions, order))
    return (motion if tree.layout is None else _without_points(motion, tree.layout)), up


def _blocks(frames: int) -> list[slice]:
    return [slice(at, min(at + BLOCK, frames)) for at in range(0, frames, BLOCK)]


def _residual(motion: Motion, positions: NDArray, order: NDArray) -> str:
    """Return a note on the distances between the posed skeleton and the positions."""
    total, worst, extent = 0.0, 0.0, 0.0
    for part in _blocks(len(positions)):
        block = np.asarray(positions[part][:, order], float)
        gaps = np.linalg.norm(Kinematics(motion[part]).positions - block, axis=-1)
        total, worst = total + float(np.sum(gaps * gaps)), max(worst, float(gaps.max()))
        extent = max(extent, float(np.ptp(block, axis=1).max()))
    mean = (total / (len(positions) * len(order))) ** 0.5
    # guess the unit from the extent, to report millimetres
    unit = next((scale for size, scale in ((6, 1000.0), (60, 0.0), (600, 10.0), (6000, 1.0)) if extent < size), 0.0)
    mean, worst, word = (
        (unit * mean, unit * worst, "mm") if unit and extent > 0.3
        else (1000 * mean / max(extent, 1e-12), 1000 * worst / max(extent, 1e-12), "‰ of its extent")
    )  # fmt: skip
    return f"rotations were fitted to the positions: mean error {mean:.2g} {word}, maximum {worst:.2g}"


def _without_points(motion: Motion, layout: Layout) -> Motion:
    """Return the motion with its layout's points as end sites and without its copies of joints."""
    kinds = dict(zip(layout.names, layout.kinds))
    skeleton = motion.skeleton
    keep = np.array([kinds[name] == JOINT for name in skeleton.names])
    if keep.all():
        return motion
    points = np.array([kinds[name] not in (JOINT, COPY) for name in skeleton.names])
    place = np.cumsum(keep) - 1
    kept = Skeleton(
        tuple(name for name, stays in zip(skeleton.names, keep) if stays),
        np.where(skeleton.parents[keep] < 0, -1, place[skeleton.parents[keep]]),
        skeleton.offsets[keep],
        skeleton.rest[keep],
        place[skeleton.parents[points]],
        skeleton.offsets[points],
    )
    offsets = None if motion.offsets is None else motion.offsets[:, keep]
    return replace(motion, skeleton=kept, rotations=motion.rotations[:, keep], offsets=offsets)
