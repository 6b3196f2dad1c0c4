"""Xsens MVN's network stream, in: poses as quaternions (MXTP02), 23 segments in the world, z up.

A datagram says of which character it is, which sample, and when; longer samples come in several datagrams.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.live.protocols.sample import Plan, Sample, checked

PORT = 9763
HEADER = struct.Struct(">6sIBBIBBBBHH")
"""Kind, sample, number of the datagram (highest bit: the last one), items, milliseconds, character, and how many
segments, props and fingers it has."""
ITEM = np.dtype([("id", ">u4"), ("position", ">f4", 3), ("rotation", ">f4", 4)])
LAST = 0x80
MOST_CHARACTERS = 32
"""Characters of one stream that are told apart."""
TIMEOUT = 0.02
"""Seconds after which a sample that has begun is taken as it is."""
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


def _plan() -> Plan:
    names = tuple(name for name, _, _ in _SEGMENTS)
    parents = np.array([-1 if above is None else names.index(above) for _, above, _ in _SEGMENTS])
    roles: dict[str, tuple[str, ...]] = {}
    for name, _, role in _SEGMENTS:
        roles[role] = (*roles.get(role, ()), name)
    return Plan("xsens", names, parents, roles, False, rotation.identity(len(names)))


PLAN = _plan()
"""The 23 segments, in the order of their ids from 1 on. In a T-pose none of them is turned; x forward becomes +z."""


@dataclass(frozen=True, eq=False)
class Datagram:
    """One datagram of kind MXTP02, as it is written: z up, right-handed, x forward."""

    sample: int
    part: int
    """Which datagram of the sample, from 0 on."""
    is_last: bool
    milliseconds: int
    character: int
    ids: NDArray
    """(K,) of the segments, from 1 on; props and fingers follow the body's 23."""
    positions: NDArray
    """(K, 3) metres, in the world."""
    rotations: NDArray
    """(K, 4) quaternions (w, x, y, z), in the world."""


def decode(data: bytes) -> Datagram | None:
    """Read a datagram; None for any bytes that are not one of this kind."""
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
    """A sample of a character that is not complete."""

    sample: int = -1
    milliseconds: int = 0
    begun: float | None = None
    positions: NDArray = field(default_factory=lambda: np.zeros((len(PLAN), 3)))
    rotations: NDArray = field(default_factory=lambda: rotation.identity(len(PLAN)))
    present: NDArray = field(default_factory=lambda: np.zeros(len(PLAN), bool))


class XsensReceiver:
    """Puts poses together from the datagrams of one sender, which may have several characters."""

    def __init__(self) -> None:
        """Start without knowing anything of the sender."""
        self.ignored = 0
        """Datagrams and segments that made no sense; other kinds of datagrams are none of these."""
        self.duplicates = 0
        self.late = 0
        """Datagrams that came twice, and that were overtaken by newer ones."""
        self._pending: dict[int, _Pending] = {}

    def feed(self, data: bytes, now: float) -> list[Sample]:
        """Take in a datagram that came at `now` (seconds of any steady clock); the poses that it completes."""
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

    def poll(self, now: float) -> list[Sample]:
        """The poses that have waited too long for the rest of them."""
        late = [(c, p) for c, p in self._pending.items() if p.begun is not None and now - p.begun > TIMEOUT]
        return [sample for character, pending in late for sample in self._flush(character, pending)]

    def _flush(self, character: int, pending: _Pending) -> list[Sample]:
        if pending.begun is None or not pending.present.any():
            pending.begun = None
            return []
        sample = Sample(
            PLAN, str(character), pending.positions.copy(), pending.rotations.copy(), pending.present.copy(),
            pending.milliseconds / 1000.0, pending.sample,
        )  # fmt: skip
        pending.present[:] = False
        pending.begun = None
        return [sample]


def encode(sample: Sample, number: int, milliseconds: int, character: int = 0) -> bytes:
    """A pose as MVN would send it: for replaying clips as if they came from a suit."""
    rows = np.zeros(len(PLAN), ITEM)
    rows["id"] = np.arange(1, len(PLAN) + 1)
    rows["position"], rows["rotation"] = sample.positions[:, [2, 0, 1]], sample.rotations[:, [0, 3, 1, 2]]
    number, milliseconds, character = number & 0xFFFFFFFF, milliseconds & 0xFFFFFFFF, character & 0xFF
    count = len(rows)
    head = HEADER.pack(b"MXTP02", number, LAST, count, milliseconds, character, count, 0, 0, 0, rows.nbytes)
    return head + rows.tobytes()
