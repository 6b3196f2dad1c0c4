"""Poses of skeletons from NatNet frames: bones are named by the definitions, or by Motive's default order."""

from __future__ import annotations

import math

import numpy as np

from footplant import rotation
from footplant.live.protocols.natnet import Bodies, BoneDefinition, Definitions, NatNetFrame, decode
from footplant.live.protocols.sample import BonePlan, PoseSample, checked

_DEFAULT = (
    ("Hip", None), ("Ab", "Hip"), ("Chest", "Ab"), ("Neck", "Chest"), ("Head", "Neck"),
    ("LShoulder", "Chest"), ("LUArm", "LShoulder"), ("LFArm", "LUArm"), ("LHand", "LFArm"),
    ("RShoulder", "Chest"), ("RUArm", "RShoulder"), ("RFArm", "RUArm"), ("RHand", "RFArm"),
    ("LThigh", "Hip"), ("LShin", "LThigh"), ("LFoot", "LShin"), ("RThigh", "Hip"), ("RShin", "RThigh"),
    ("RFoot", "RShin"), ("LToe", "LFoot"), ("RToe", "RFoot"),
)  # fmt: skip
"""Motive's skeleton of 21 bones, in the order of their ids from 1 on."""
_ROLES = {
    "Hip": "hips", "Hips": "hips", "Ab": "spine", "Spine": "spine", "Spine1": "spine", "Spine2": "spine",
    "Spine3": "spine", "Spine4": "spine", "Chest": "spine", "Neck": "neck", "Neck2": "neck", "Head": "head",
    **{
        f"{letter}{part}": f"{side}_{role}" for letter, side in (("L", "left"), ("R", "right")) for part, role in (
            ("Shoulder", "clavicle"), ("UArm", "upper_arm"), ("FArm", "lower_arm"), ("Hand", "hand"),
            ("Thigh", "upper_leg"), ("Shin", "lower_leg"), ("Foot", "foot"), ("Toe", "toes"),
        )
    },
}  # fmt: skip
MOST_SKELETONS = 32
"""Largest number of skeletons of one stream."""
LOCAL_TOLERANCE = 0.02
"""Metres; positions this close to the definition's offsets are relative to the parent bone."""


class NatNetReceiver:
    """Decodes poses from the messages of one server, which may track several skeletons."""

    def __init__(self) -> None:
        """Start without definitions: bones are then assumed to be in Motive's default order."""
        self.ignored = 0
        """Invalid messages and bones."""
        self.duplicates = 0
        self.late = 0
        """Frames that arrived twice, and frames that were overtaken by newer ones."""
        self.definitions: Definitions | None = None
        self.wants_definitions = True
        """Whether definitions should be requested from the server."""
        self._last: int | None = None
        self._plans: dict[int, BonePlan] = {}

    def feed(self, data: bytes, now: float) -> list[PoseSample]:
        """Take a message; return its poses."""
        found = decode(data)
        if isinstance(found, Definitions):
            self.definitions, self.wants_definitions, self._plans = found, False, {}
        elif isinstance(found, NatNetFrame):
            return self._poses(found)
        elif found is None:
            self.ignored += 1
        return []

    deadline = math.inf
    """Seconds: frames are never partial."""

    def poll(self, now: float) -> list[PoseSample]:
        """Return nothing: frames are never partial."""
        return []

    def _poses(self, frame: NatNetFrame) -> list[PoseSample]:
        behind = 0 if self._last is None else self._last - frame.number
        if self._last is not None and 0 <= behind < 1000:
            self.duplicates += behind == 0
            self.late += behind > 0
            return []
        self._last = frame.number
        self.wants_definitions |= frame.models_changed
        samples = []
        for number, bones in list(frame.skeletons.items())[:MOST_SKELETONS]:
            plan = self._plan(number, bones)
            if plan is None:
                self.ignored += 1
                continue
            places, turns, sane = checked(bones.positions, bones.rotations)
            self.ignored += int((~sane).sum())
            named = self.definitions.skeletons.get(number) if self.definitions else None
            actor = named[0] if named else str(number)
            seconds = frame.seconds if np.isfinite(frame.seconds) else None
            samples.append(PoseSample(plan, actor, places, turns, sane & bones.is_tracked, seconds, frame.number))
        return samples

    def _plan(self, skeleton: int, bones: Bodies) -> BonePlan | None:
        """Return the bone plan of a skeleton; None if it is unknown."""
        plan = self._plans.get(skeleton)
        if plan is not None and len(plan) == len(bones.ids):
            return plan
        defined = self.definitions.skeletons.get(skeleton) if self.definitions else None
        if defined is not None and len(defined[1]) == len(bones.ids):
            plan = _defined_plan(defined[1], bones)
        elif len(bones.ids) == len(_DEFAULT):
            names = tuple(name for name, _ in _DEFAULT)
            parents = [-1 if above is None else names.index(above) for _, above in _DEFAULT]
            plan = _make(names, parents, is_local=False)
        if plan is not None and len(self._plans) < MOST_SKELETONS:
            self._plans[skeleton] = plan
        return plan


def _defined_plan(definitions: tuple[BoneDefinition, ...], bones: Bodies) -> BonePlan | None:
    """Return a plan from the server's definitions; None where they are not a tree."""
    order = {bone.id: number for number, bone in enumerate(definitions)}
    parents = [order.get(bone.parent, -1) for bone in definitions]
    if len(order) != len(definitions) or any(above >= number for number, above in enumerate(parents)):
        return None
    if parents[:1] != [-1] or -1 in parents[1:]:
        return None
    names = tuple(bone.name.rpartition("_")[2] or bone.name for bone in definitions)
    if len(set(names)) != len(names):
        names = tuple(f"{name}{number}" for number, name in enumerate(names))
    offsets = np.array([bone.offset for bone in definitions])
    # positions relative to the parent equal the definition's offsets; world positions do not
    with np.errstate(all="ignore"):
        off = np.abs(bones.positions - offsets)[1:]
    return _make(names, parents, is_local=bool(len(off) and off.max() < LOCAL_TOLERANCE))


def _make(names: tuple[str, ...], parents: list[int], *, is_local: bool) -> BonePlan:
    roles: dict[str, tuple[str, ...]] = {}
    for name in names:
        if name in _ROLES:
            role = _ROLES[name]
            roles[role] = (*roles.get(role, ()), name)
    return BonePlan("natnet", names, np.array(parents), roles, is_local, rotation.identity(len(names)))
