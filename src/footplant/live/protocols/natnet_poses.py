"""Poses of skeletons from NatNet's frames: the bones named by the definitions, or by Motive's usual order."""

from __future__ import annotations

import numpy as np

from footplant import rotation
from footplant.live.protocols.natnet import Bodies, BoneDefinition, Definitions, Frame, decode
from footplant.live.protocols.sample import Plan, Sample, checked

_USUAL = (
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
"""Skeletons of one stream that are told apart."""
STANDS_STILL = 0.02
"""Metres that places may be off the definition's offsets and be places in the bone above."""


class NatNetReceiver:
    """Takes poses from the messages of one server, which may track several skeletons."""

    def __init__(self) -> None:
        """Start without definitions: bones are then taken in Motive's usual order."""
        self.ignored = 0
        """Messages and bones that made no sense."""
        self.duplicates = 0
        self.late = 0
        """Frames that came twice, and that were overtaken by newer ones."""
        self.definitions: Definitions | None = None
        self.wants_definitions = True
        """Whether the server should be asked for definitions."""
        self._last: int | None = None
        self._plans: dict[int, Plan] = {}

    def feed(self, data: bytes, now: float) -> list[Sample]:
        """Take in a message; the poses that it holds."""
        found = decode(data)
        if isinstance(found, Definitions):
            self.definitions, self.wants_definitions, self._plans = found, False, {}
        elif isinstance(found, Frame):
            return self._poses(found)
        elif found is None:
            self.ignored += 1
        return []

    def poll(self, now: float) -> list[Sample]:
        """Nothing: frames are whole."""
        return []

    def _poses(self, frame: Frame) -> list[Sample]:
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
            samples.append(Sample(plan, actor, places, turns, sane & bones.is_tracked, seconds, frame.number))
        return samples

    def _plan(self, skeleton: int, bones: Bodies) -> Plan | None:
        """How the bones of a skeleton are meant; None when nobody can tell."""
        plan = self._plans.get(skeleton)
        if plan is not None and len(plan) == len(bones.ids):
            return plan
        defined = self.definitions.skeletons.get(skeleton) if self.definitions else None
        if defined is not None and len(defined[1]) == len(bones.ids):
            plan = _defined_plan(defined[1], bones)
        elif len(bones.ids) == len(_USUAL):
            names = tuple(name for name, _ in _USUAL)
            parents = [-1 if above is None else names.index(above) for _, above in _USUAL]
            plan = _make(names, parents, is_local=False)
        if plan is not None and len(self._plans) < MOST_SKELETONS:
            self._plans[skeleton] = plan
        return plan


def _defined_plan(definitions: tuple[BoneDefinition, ...], bones: Bodies) -> Plan | None:
    """A plan by the server's definitions; None where their tree is none."""
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
    # places in the bone above are the definition's own offsets; places in the world are not
    with np.errstate(all="ignore"):
        off = np.abs(bones.positions - offsets)[1:]
    return _make(names, parents, is_local=bool(len(off) and off.max() < STANDS_STILL))


def _make(names: tuple[str, ...], parents: list[int], *, is_local: bool) -> Plan:
    roles: dict[str, tuple[str, ...]] = {}
    for name in names:
        if name in _ROLES:
            role = _ROLES[name]
            roles[role] = (*roles.get(role, ()), name)
    return Plan("natnet", names, np.array(parents), roles, is_local, rotation.identity(len(names)))
