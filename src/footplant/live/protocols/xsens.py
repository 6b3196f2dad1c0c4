"""Xsens MVN's network stream, in: poses as quaternions (MXTP02), 23 segments in the world, z up.

A datagram carries its character, sample number and time; long samples span several datagrams.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.live.protocols.sample import BonePlan, PoseSample, checked

PORT = 9763
HEADER = struct.Struct(">6sIBBIBBBBHH")
"""Message type, sample, number of the datagram (highest bit: the last one), items, milliseconds, character, and its
numbers of segments, props and fingers."""
ITEM = np.dtype([("id", ">u4"), ("position", ">f4", 3), ("rotation", ">f4", 4)])
LAST = 0x80
MOST_CHARACTERS = 32
"""Largest number of characters of one stream."""
TIMEOUT = 0.02
"""Seconds after which an incomplete sample is used as it is."""
_SEGMENTS = (
    ("Pelvis", None, "hips"), ("L5", "Pelvis", "spine"), ("L3", "L5", "spine"), ("T12", "L3", "spine"),
    ("T8", "T12", "spine"), ("Neck", "T8", "neck"), ("Head", "Neck", "head"),
    ("RightShoulder", "T8", "right_clavicle"), ("RightUpperArm", "RightShoulder", "right_upper_arm"),
    ("RightForearm", "RightUpperArm", "right_lower_arm"), ("RightHand", "RightForearm", "right_hand"),
    ("LeftShoulder", "T8", "left_clavicle"), ("LeftUpperArm", "LeftShoulder", "left_upper_arm"),
    ("LeftForearm", "LeftUpperArm", "left_lower_arm"), ("LeftHand", "LeftForearm", "left_hand"),
    ("RightUpperLeg", "Pelvis", "right_upper_leg"), ("RightLowerLeg", "RightUpperLeg", "right_lower_leg"),
    ("RightFoot", "RightLowerLeg", "right_foot"), ("RightToe", "RightFoot", "right_toes"),
    ("LeftUpperLeg", "Pelvis", "left_upper_leg"), ("LeftLowerLeg", "LeftUpperLeg", "left_lower_leg"),
    ("LeftFoot", "LeftLowerLeg", "left_foot"), ("LeftToe", "LeftFoot", "left_toes"),
)  # fmt: skip


def _plan() -> BonePlan:
    names = tuple(name for name, _, _ in _SEGMENTS)
    parents = np.array([-1 if above is None else names.index(above) for _, above, _ in _SEGMENTS])
    roles: dict[str, tuple[str, ...]] = {}
    for name, _, role in _SEGMENTS:
        roles[role] = (*roles.get(role, ()), name)
    return BonePlan("xsens", names, parents, roles, False, rotation.identity(len(names)))


PLAN = _plan()
"""The 23 segments, in the order of their ids from 1 on, unrotated in the T-pose; x forward becomes +z."""


@dataclass(frozen=True, eq=False)
class Datagram:
    """One MXTP02 datagram, as sent: z up, right-handed, x forward."""

    sample: int
    part: int
    """Index of the datagram in the sample, from 0 on."""
    is_last: bool
    milliseconds: int
    character: int
    ids: NDArray
    """(K,) segment ids, from 1 on; props and fingers follow the body's 23."""
    positions: NDArray
    """(K, 3) metres, in the world."""
    rotations: NDArray
    """(K, 4) quaternions (w, x, y, z), in the world."""


def decode(data: bytes) -> Datagram | None:
    """Decode a datagram; return None for any bytes that are not one of this type."""
    if len(data) < HEADER.size or data[:6] != b"MXTP02":
        return None
    _, sample, part, items, milliseconds, character, *_ = HEADER.unpack_from(data)
    count = min(items, (len(data) - HEADER.size) // ITEM.itemsize)
    rows = np.frombuffer(data, ITEM, count, HEADER.size)
    with np.errstate(invalid="ignore"):
        positions, rotations = rows["position"].astype(float), rows["rotation"].astype(float)
    return Datagram(
        sample, part & ~LAST, bool(part & LAST), milliseconds, character,
        rows["id"].astype(np.int64), positions, rotations,
    )  # fmt: skip


@dataclass
class _Pending:
    """An incomplete sample of a character."""

    sample: int = -1
    milliseconds: int = 0
    begun: float | None = None
    positions: NDArray = field(default_factory=lambda: np.zeros((len(PLAN), 3)))
    rotations: NDArray = field(default_factory=lambda: rotation.identity(len(PLAN)))
    present: NDArray = field(default_factory=lambda: np.zeros(len(PLAN), bool))


class XsensReceiver:
    """Assembles poses from the datagrams of one sender, which may have several characters."""

    def __init__(self) -> None:
        """Start without any knowledge of the sender."""
        self.ignored = 0
        """Invalid datagrams and segments, without other message types."""
        self.duplicates = 0
        self.late = 0
        """Datagrams that arrived twice, and datagrams that were overtaken by newer ones."""
        self._pending: dict[int, _Pending] = {}

    def feed(self, data: bytes, now: float) -> list[PoseSample]:
        """Take a datagram that arrived at `now` (seconds, monotonic clock); return the poses that it completes."""
        done = self.poll(now)
        found = decode(data)
        if found is None:
            self.ignored += not data.startswith(b"MXTP")
            return done
        pending = self._pending.get(found.character)
        if pending is None:
            if len(self._pending) >= MOST_CHARACTERS:
                self.ignored += 1
                return done
            pending = self._pending[found.character] = _Pending()
        behind = pending.sample - found.sample
        if 0 < behind < 1000:
            self.late += 1
            return done
        if behind == 0 and pending.begun is None:
            self.duplicates += 1
            return done
        if behind:
            done += self._flush(found.character, pending)
            pending.sample, pending.milliseconds, pending.begun = found.sample, found.milliseconds, now
        body = (found.ids >= 1) & (found.ids <= len(PLAN))
        places, turns, sane = checked(found.positions[body][:, [1, 2, 0]], found.rotations[body][:, [0, 2, 3, 1]])
        rows = found.ids[body][sane] - 1
        self.ignored += int((~sane).sum())
        pending.positions[rows], pending.rotations[rows], pending.present[rows] = places[sane], turns[sane], True
        if pending.present.all() or (found.is_last and found.part == 0):
            done += self._flush(found.character, pending)
        return done

    @property
    def deadline(self) -> float:
        """Seconds: when an incomplete pose is used as it is; infinity if there is none."""
        begun = [pending.begun for pending in self._pending.values() if pending.begun is not None]
        return min(begun, default=math.inf) + TIMEOUT

    def poll(self, now: float) -> list[PoseSample]:
        """Return the poses that have waited too long for missing parts."""
        late = [(c, p) for c, p in self._pending.items() if p.begun is not None and now >= p.begun + TIMEOUT]
        return [sample for character, pending in late for sample in self._flush(character, pending)]

    def _flush(self, character: int, pending: _Pending) -> list[PoseSample]:
        if pending.begun is None or not pending.present.any():
            pending.begun = None
            return []
        sample = PoseSample(
            PLAN, str(character), pending.positions.copy(), pending.rotations.copy(), pending.present.copy(),
            pending.milliseconds / 1000.0, pending.sample,
        )  # fmt: skip
        pending.present[:] = False
        pending.begun = None
        return [sample]


def encode(sample: PoseSample, number: int, milliseconds: int, character: int = 0) -> bytes:
    """Encode a pose as MVN would: to replay clips as if they came from a suit."""
    rows = np.zeros(len(PLAN), ITEM)
    rows["id"] = np.arange(1, len(PLAN) + 1)
    rows["position"], rows["rotation"] = sample.positions[:, [2, 0, 1]], sample.rotations[:, [0, 3, 1, 2]]
    number, milliseconds, character = number & 0xFFFFFFFF, milliseconds & 0xFFFFFFFF, character & 0xFF
    count = len(rows)
    head = HEADER.pack(b"MXTP02", number, LAST, count, milliseconds, character, count, 0, 0, 0, rows.nbytes)
    return head + rows.tobytes()
