"""Parse VMD files, the motions of MikuMikuDance: keys of bones by name, with Bézier curves between them, at 30 fps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.io.mmd.records import Records

FPS = 30.0
NAME_BYTES = 15
MAX_FRAMES = 1 << 20
"""Nearly ten hours."""
_CURVE_BYTES = np.array([[0, 4, 8, 12], [1, 5, 9, 13], [17, 6, 10, 14], [18, 7, 11, 15]])
"""Bytes of the 64 with x1, y1, x2, y2 of the curves of x, y, z and the turn. The first row's third and fourth byte tell
about physics in newer files; each further row repeats the one before, shifted by a byte."""
_KEY = np.dtype([
    ("name", "S15"), ("frame", "<u4"), ("place", "<f4", 3), ("turn", "<f4", 4), ("curve", "u1", 64),
])  # fmt: skip


@dataclass(frozen=True, eq=False)
class BoneKeys:
    """The keys of one bone, in ascending order."""

    frames: NDArray
    """(K,)"""
    places: NDArray
    """(K, 3) shifts from the rest position."""
    turns: NDArray
    """(K, 4) quaternions (w, x, y, z)."""
    curves: NDArray
    """(K, 4, 4) x1, y1, x2, y2, 0 to 1, of the curves of x, y, z and the turn that lead to a key."""

    def sample(self, times: NDArray) -> tuple[NDArray, NDArray]:
        """Return shifts (F, 3) and turns (F, 4) at some frames."""
        after = np.clip(np.searchsorted(self.frames, times, side="right"), 0, len(self.frames) - 1)
        before = np.maximum(np.where(self.frames[after] > times, after - 1, after), 0)
        span = np.maximum(self.frames[after] - self.frames[before], 1)
        share = np.where(after > before, (times - self.frames[before]) / span, 0.0).clip(0.0, 1.0)
        eased = _bezier(self.curves[after], share[:, None])
        places = self.places[before] + (self.places[after] - self.places[before]) * eased[:, :3]
        return places, rotation.slerp(self.turns[before], self.turns[after], eased[:, 3])


def _bezier(curves: NDArray, share: NDArray) -> NDArray:
    """Return y (…, 4) at x = share of the curves (0, 0), (x1, y1), (x2, y2), (1, 1) by bisection."""
    x1, y1, x2, y2 = np.moveaxis(curves, -1, 0)
    low, high = np.zeros(x1.shape), np.ones(x1.shape)
    for _ in range(30):
        t = 0.5 * (low + high)
        left = 3 * (1 - t) ** 2 * t * x1 + 3 * (1 - t) * t**2 * x2 + t**3 < share
        low, high = np.where(left, t, low), np.where(left, high, t)
    t = 0.5 * (low + high)
    y = 3 * (1 - t) ** 2 * t * y1 + 3 * (1 - t) * t**2 * y2 + t**3
    straight = (x1 == y1) & (x2 == y2)
    return np.where(straight, share, y)


@dataclass(frozen=True, eq=False)
class Vmd:
    """What a file holds."""

    model: str
    """For which model it was made."""
    bones: dict[bytes, BoneKeys]
    """By name as in the file: at most 15 bytes of Shift-JIS."""
    frames: int
    switches: tuple[tuple[int, bytes, bool], ...] = ()
    """Frame, IK bone, and whether its inverse kinematics is on from there on."""
    morph_keys: int = 0


def short_name(name: str) -> bytes:
    """Return a bone's name as VMD files have it."""
    return name.encode("cp932", "replace")[:NAME_BYTES]


def read_vmd(data: bytes, path: str | Path | None = None) -> Vmd:
    """Return the content of a VMD file."""
    records = Records(data, path)
    magic = records.take(30)
    if not magic.startswith(b"Vocaloid Motion Data"):
        records.place = 0
        records.fail("expected a VMD file, got other content")
    model = records.take(10 if magic.startswith(b"Vocaloid Motion Data file") else 20)
    count = records.count(_KEY.itemsize, "keys of bones")
    keys = np.frombuffer(records.take(count * _KEY.itemsize), _KEY)
    if not (np.isfinite(keys["place"]).all() and np.isfinite(keys["turn"]).all()):
        records.fail("expected finite keys, got others")
    morphs, switches = 0, []
    # older programs leave out what comes after the bones
    if records.place < len(data):
        morphs = records.count(23, "keys of morphs")
        records.take(23 * morphs)
        for size, what in ((61, "keys of the camera"), (28, "keys of the light"), (9, "keys of the shadow")):
            if records.place < len(data):
                records.take(size * records.count(size, what))
    if records.place < len(data):
        for _ in range(records.count(9, "keys of inverse kinematics")):
            frame, _ = records.unpack("IB")
            for _ in range(records.count(21, "states of inverse kinematics")):
                name, on = records.take(20), records.unpack("B")[0]
                switches.append((min(frame, MAX_FRAMES), name.split(b"\0")[0], bool(on)))
    frames = 1 + int(keys["frame"].max()) if count else 0
    if frames > MAX_FRAMES:
        records.fail(f"expected at most {MAX_FRAMES} frames, got {frames}")
    bones = {}
    names = np.array([name.split(b"\0")[0][:NAME_BYTES] for name in keys["name"].tolist()], "S15")
    for name in dict.fromkeys(names.tolist()):
        own = keys[names == name]
        own = own[np.argsort(own["frame"], kind="stable")]
        # of several keys in one frame the last one counts
        own = own[np.append(own["frame"][1:] != own["frame"][:-1], True)]
        turns = own["turn"][:, [3, 0, 1, 2]].astype(float)
        length = np.linalg.norm(turns, axis=1, keepdims=True)
        turns = np.where(length > 1e-6, turns / np.where(length > 1e-6, length, 1.0), rotation.IDENTITY)
        curves = np.minimum(own["curve"][:, _CURVE_BYTES] / 127.0, 1.0)
        bones[name] = BoneKeys(own["frame"].astype(np.int64), own["place"].astype(float), turns, curves)
    text = model.split(b"\0")[0].decode("cp932", "replace")
    return Vmd(text, bones, frames, tuple(sorted(switches)), morphs)
