"""Pack motions, skins and grounds into few bytes for a page that plays them (web/src/player/data.ts unpacks them).

A block is a JSON header and a run of bytes, deflated together. The header refers to arrays by number and gives their
type, rows and columns, and how they are coded. Integers are coded as differences from row to row, taken `order` times,
with the sign moved to the lowest bit so that small differences are small numbers; then all lowest bytes come first,
then all next ones: what changes slowly compresses well.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.motion import Motion
from footplant.skeleton import Skin
from footplant.skinning import vertex_normals

TURN_STEPS = 16384
"""Steps of a quaternion's component from 0 to 1: 0.03 mrad, which is 0.1 mm at the end of a leg. Twice as many cost a
tenth more bytes."""
PLACE_STEPS = 65535
"""Steps over the extent of a mesh or of a motion's varying bone offsets: 0.03 mm for a person."""
ROOT_STEP = 2e-5
"""Step of root positions, metres."""
MOST_VERTICES = 24_000
"""Vertices of a skin at most; denser meshes are thinned. 24,000 take about 0.5 MB in a page."""
MOST_POSES = 240_000
"""Frames times joints of a motion at most; of longer motions every n-th frame is kept. As many take about 1.5 MB."""
INFLUENCES = 4
"""Joints per vertex, as graphics hardware expects."""


class Packer:
    """Collects arrays; `block` deflates them together with a header that refers to them by number."""

    def __init__(self) -> None:
        """Start with no arrays."""
        self._arrays: list[dict[str, Any]] = []
        self._bytes: list[bytes] = []
        self._length = 0

    def add(self, values: ArrayLike, *, order: int = 0) -> int:
        """Add an array (N,) or (N, C) and return its number. order: how often differences of rows are taken."""
        array = np.asarray(values)
        rows = array.reshape(len(array), int(np.prod(array.shape[1:])))
        if rows.dtype.kind == "f":
            words, kind = np.ascontiguousarray(rows, "<f4").view("<u4"), "f4"
        else:
            whole = rows.astype(np.int64)
            for _ in range(order):
                whole = np.diff(whole, axis=0, prepend=0)
            signed = (whole << 1) ^ (whole >> 63)
            size = next(size for size in (1, 2, 4) if not signed.size or signed.max() < 1 << (8 * size))
            words, kind = signed.astype(f"<u{size}"), f"i{size}"
        planes = np.ascontiguousarray(words).view(np.uint8).reshape(-1, words.dtype.itemsize).T.tobytes()
        entry = {"kind": kind, "rows": len(rows), "columns": rows.shape[1], "order": order, "at": self._length}
        self._arrays.append(entry)
        self._bytes.append(planes)
        self._length += len(planes)
        return len(self._arrays) - 1

    def block(self, header: dict[str, Any]) -> bytes:
        """Return the header and all arrays, deflated."""
        text = json.dumps({**header, "arrays": self._arrays}, allow_nan=False, separators=(",", ":")).encode()
        return zlib.compress(len(text).to_bytes(4, "little") + text + b"".join(self._bytes), 9)


def pack_motion(packer: Packer, motion: Motion) -> dict[str, Any]:
    """Add a motion's root, rotations and offsets; of long motions every n-th frame, as "step" says."""
    step = max(-(-len(motion) * len(motion.skeleton) // MOST_POSES), 1)
    rotations = _continuous(np.asarray(motion.rotations)[::step])
    frames, joints = rotations.shape[:2]
    offsets, varying = np.asarray(motion.skeleton.offsets, "<f4"), motion.offsets is not None
    packed: dict[str, Any] = {
        "step": step,
        "frames": frames,
        "root": packer.add(np.round(np.asarray(motion.root)[::step] / ROOT_STEP).astype(np.int64), order=2),
        "root_step": ROOT_STEP,
        "turns": packer.add(np.round(TURN_STEPS * rotations).astype(np.int64).reshape(frames, 4 * joints), order=2),
        "turn_steps": TURN_STEPS,
    }
    if varying:
        moved = np.asarray(motion.offsets)[::step].reshape(frames, -1)
        extent = max(float(np.abs(moved).max(initial=0.0)), 1e-6)
        whole = np.round(moved / extent * (PLACE_STEPS // 2)).astype(np.int64)
        return {**packed, "moving": packer.add(whole, order=2), "moving_step": extent / (PLACE_STEPS // 2)}
    return {**packed, "offsets": packer.add(offsets)}


def _continuous(rotations: NDArray) -> NDArray:
    """Return quaternions (F, J, 4) with signs that do not flip from frame to frame."""
    if len(rotations) < 2:
        return rotations
    flips = np.sum(rotations[1:] * rotations[:-1], axis=-1) < 0
    signs = np.concatenate([np.ones((1, rotations.shape[1])), np.where(np.cumsum(flips, axis=0) % 2, -1.0, 1.0)])
    return rotations * signs[..., None]


def pack_skin(packer: Packer, skin: Skin) -> dict[str, Any]:
    """Add a skin: quantised vertices and normals, four joints a vertex, triangles."""
    skin = thinned_skin(skin)
    weights, joints, normals = hardware_skin(skin)
    low, high = skin.vertices.min(axis=0), skin.vertices.max(axis=0)
    extent = np.maximum(high - low, 1e-6)
    return {
        "low": low.tolist(),
        "step": (extent / PLACE_STEPS).tolist(),
        "vertices": packer.add(np.round((skin.vertices - low) / extent * PLACE_STEPS).astype(np.int64), order=1),
        "normals": packer.add(np.round(127.0 * normals).astype(np.int64)),
        "weights": packer.add(np.round(255.0 * weights).astype(np.int64)),
        "joints": packer.add(joints.astype(np.int64)),
        "faces": packer.add(skin.faces.reshape(-1), order=1),
        "inverse_bind": packer.add(skin.inverse_bind.swapaxes(1, 2).reshape(-1, 16)),
    }


def hardware_skin(skin: Skin) -> tuple[NDArray, NDArray, NDArray]:
    """Return weights (V, 4), joints (V, 4) and normals (V, 3); of more than four joints a vertex the strongest."""
    order = np.argsort(-skin.weights, axis=1, kind="stable")[:, :INFLUENCES]
    weights, joints = (np.take_along_axis(array, order, axis=1) for array in (skin.weights, skin.joints))
    missing = INFLUENCES - weights.shape[1]
    if missing > 0:
        weights, joints = (np.pad(array, ((0, 0), (0, missing))) for array in (weights, joints))
    sums = weights.sum(axis=1, keepdims=True)
    weights = weights / np.where(sums > 0, sums, 1.0)
    normals = vertex_normals(skin.vertices, skin.faces) if skin.normals is None else skin.normals
    return weights, np.where(weights > 0, joints, 0), normals


def thinned_skin(skin: Skin, most: int = MOST_VERTICES) -> Skin:
    """Return a skin of at most `most` vertices: those that share a cell of a grid become the first of them.

    The grid is as fine as the limit allows. Vertices on joints of different names stay apart, so that fingers and lips
    do not grow together.
    """
    if len(skin.vertices) <= most:
        return skin
    extent = float(np.ptp(skin.vertices, axis=0).max())
    strongest = np.take_along_axis(skin.joints, skin.weights.argmax(axis=1)[:, None], axis=1)[:, 0]
    cells = 1024
    while True:
        cell = np.floor((skin.vertices - skin.vertices.min(axis=0)) / extent * cells).astype(np.int64)
        key = ((cell[:, 0] * (cells + 1) + cell[:, 1]) * (cells + 1) + cell[:, 2]) * 4096 + strongest
        _, first, group = np.unique(key, return_index=True, return_inverse=True)
        if len(first) <= most or cells <= 16:
            break
        cells = int(cells * 0.85)
    faces = group[skin.faces]
    kept = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    normals = None if skin.normals is None else skin.normals[first]
    return Skin(skin.vertices[first], faces[kept], skin.joints[first], skin.weights[first], skin.inverse_bind, normals)
