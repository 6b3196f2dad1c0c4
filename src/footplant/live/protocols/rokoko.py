"""Rokoko Studio's JSON (versions 3 and 4), in and out: actors with joints in world space, left-handed, y up.

Version 4 may be compressed with LZ4. Joints have non-identity rotations in the T-pose: bones point along their axes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.live.protocols.lz4 import MAGIC, unpack
from footplant.live.protocols.sample import BonePlan, PoseSample, checked

PORT = 14043
MAX_UNPACKED = 1 << 20
"""Largest frame in bytes; real ones of five actors with faces have 200,000."""
MOST_ACTORS = 16
_H = math.sqrt(0.5)
_TRUNK, _LEG, _FOOT = (0, 0, 1, 0), (0, _H, 0, _H), (0, _H, -_H, 0)
_CLAVICLE, _ARM = (0, 0, _H, -_H), (-0.5, -0.5, 0.5, -0.5)
_THUMB_ROOT, _THUMB = (-0.561, -0.701, 0.430, -0.092), (-0.653, -0.653, 0.271, -0.271)
_SIDED = (
    ("Shoulder", "chest", "clavicle", _CLAVICLE), ("UpperArm", "Shoulder", "upper_arm", _ARM),
    ("LowerArm", "UpperArm", "lower_arm", _ARM), ("Hand", "LowerArm", "hand", _ARM),
    ("UpLeg", "hip", "upper_leg", _LEG), ("Leg", "UpLeg", "lower_leg", _LEG), ("Foot", "Leg", "foot", _FOOT),
    ("Toe", "Foot", "toes", _FOOT),
)  # fmt: skip
"""Joint, its parent, role, and its rotation (x, y, z, w) in the T-pose of the left side, left-handed."""
_MIRROR = np.array([1.0, 1.0, -1.0])


def _plan() -> BonePlan:
    rows: list[tuple[str, str | None, str, Sequence[float]]] = [("hip", None, "hips", (0, 0, 0, 1))]
    for name, above, role in (("spine", "hip", "spine"), ("chest", "spine", "spine"), ("neck", "chest", "neck"),
                              ("head", "neck", "head")):  # fmt: skip
        rows.append((name, above, role, _TRUNK))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for part, above, role, (x, y, z, w) in _SIDED:
            parent = above if above[0].islower() else f"{side}{above}"
            # the right side is the left one mirrored across x = 0
            rows.append((f"{side}{part}", parent, f"{side}_{role}", (x, sign * y, sign * z, w)))
        for finger in ("Thumb", "Index", "Middle", "Ring", "Little"):
            parent = f"{side}Hand"
            for phalanx in ("Proximal", "Medial", "Distal"):
                x, y, z, w = _ARM if finger != "Thumb" else _THUMB if phalanx != "Proximal" else _THUMB_ROOT
                name = f"{side}{finger}{phalanx}"
                rows.append((name, parent, f"{side}_{finger.lower()}", (x, sign * y, sign * z, w)))
                parent = name
    names = tuple(row[0] for row in rows)
    parents = np.array([-1 if above is None else names.index(above) for _, above, _, _ in rows])
    roles: dict[str, tuple[str, ...]] = {}
    for name, _, role, _ in rows:
        roles[role] = (*roles.get(role, ()), name)
    turns = np.array([row[3] for row in rows], float)
    t_pose = rotation.normalize(turns[:, [3, 0, 1, 2]] * [1.0, -1.0, -1.0, 1.0])
    return BonePlan("rokoko", names, parents, roles, False, t_pose)


PLAN = _plan()
"""Joints of the body and the fingers. Characters face −z in right-handed axes."""


class RokokoReceiver:
    """Decodes poses from the frames of one sender, which may have several actors."""

    def __init__(self) -> None:
        """Start without any knowledge of the sender."""
        self.ignored = 0
        """Invalid frames, actors and joints."""
        self.duplicates = 0
        self.late = 0
        """Frames that arrived twice, and frames that were overtaken by newer ones."""
        self._last: float | None = None

    def feed(self, data: bytes, now: float) -> list[PoseSample]:
        """Take a datagram; return its poses."""
        frame = decode(data)
        if frame is None:
            self.ignored += 1
            return []
        time, actors = frame
        if time is not None and self._last is not None and 0 <= self._last - time < 1.0:
            self.duplicates += time == self._last
            self.late += time < self._last
            return []
        self._last = time
        samples = []
        for name, places, turns, given in actors:
            positions, rotations, sane = checked(places * _MIRROR, turns[:, [3, 0, 1, 2]] * [1.0, -1.0, -1.0, 1.0])
            self.ignored += int((given & ~sane).sum())
            if (given & sane).any():
                samples.append(PoseSample(PLAN, name, positions, rotations, given & sane, time))
        return samples

    deadline = math.inf
    """Seconds: poses are never partial."""

    def poll(self, now: float) -> list[PoseSample]:
        """Return nothing: frames are never partial."""
        return []


def decode(data: bytes) -> tuple[float | None, list[tuple[str, NDArray, NDArray, NDArray]]] | None:
    """Return seconds and the actors of a frame: name, positions (N, 3), rotations (N, 4) as (x, y, z, w), and presence.

    As sent, left-handed. None for bytes that are not a frame.
    """
    if data[:4] == MAGIC:
        unpacked = unpack(data, MAX_UNPACKED)
        if unpacked is None:
            return None
        data = unpacked
    if len(data) > MAX_UNPACKED:
        return None
    try:
        frame = json.loads(data)
    except (ValueError, RecursionError):
        return None
    scene = frame.get("scene") if isinstance(frame, dict) else None
    actors = scene.get("actors") if isinstance(scene, dict) else None
    if not isinstance(scene, dict) or not isinstance(actors, list):
        return None
    found = []
    for actor in actors[:MOST_ACTORS]:
        body = actor.get("body") if isinstance(actor, dict) else None
        if isinstance(body, dict):
            found.append((str(actor.get("name", ""))[:100], *_joints(body)))
    return _number(scene.get("timestamp")), found


def _number(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    return None


def _joints(body: dict) -> tuple[NDArray, NDArray, NDArray]:
    places, turns = np.zeros((len(PLAN), 3)), np.zeros((len(PLAN), 4))
    given = np.zeros(len(PLAN), bool)
    for joint, name in enumerate(PLAN.names):
        entry = body.get(name)
        if not isinstance(entry, dict):
            continue
        place, turn = entry.get("position"), entry.get("rotation")
        if isinstance(place, dict) and isinstance(turn, dict):
            numbers = [*(_number(place.get(axis)) for axis in "xyz"), *(_number(turn.get(axis)) for axis in "xyzw")]
            if None not in numbers:
                places[joint], turns[joint], given[joint] = numbers[:3], numbers[3:], True
    return places, turns, given


class RokokoSender:
    """Encodes poses as Studio does: version 3, one actor."""

    def __init__(self, names: Sequence[str], actor: str, height: float, hip_height: float, fps: float = 60.0) -> None:
        """names: joints of `PLAN`, in the order in which `encode` gets them; heights of the character in metres."""
        fingers = any("Index" in name for name in names)
        meta = {"hasGloves": fingers, "hasLeftGlove": fingers, "hasRightGlove": fingers, "hasBody": True}
        self._names = tuple(names)
        self._actor = {
            "name": actor, "color": [255, 255, 255], "meta": {**meta, "hasFace": False},
            "dimensions": {"totalHeight": round(height, 6), "hipHeight": round(hip_height, 6)},
        }  # fmt: skip
        self._fps = fps

    def encode(self, positions: NDArray, rotations: NDArray, time: float) -> bytes:
        """Return one datagram. positions: (N, 3) metres and rotations: (N, 4) in the world, right-handed."""
        places = np.round(positions * _MIRROR, 6).tolist()
        turns = np.round(rotations * [1.0, -1.0, -1.0, 1.0], 7).tolist()
        body = {
            name: {"position": {"x": x, "y": y, "z": z}, "rotation": {"x": qx, "y": qy, "z": qz, "w": w}}
            for name, (x, y, z), (w, qx, qy, qz) in zip(self._names, places, turns)
        }
        scene = {"timestamp": round(time, 6), "actors": [{**self._actor, "body": body}], "props": []}
        return json.dumps({"version": "3.0", "fps": self._fps, "scene": scene}, separators=(",", ":")).encode()
