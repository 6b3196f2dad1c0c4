"""Known joint orders: arrays of numbers have no names, so the joint count and the rigidity of bones identify them.

A layout is written as chains: names from the root outwards, in the order of the array; a chain that starts with a name
already listed branches off there. "name[1-3]" stands for three joints. A name in parentheses "(heel)" is a body point
without a frame of its own: an end site; one in braces "{…}" is a duplicate entry of the array and is dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

JOINT, POINT, COPY = "joint", "point", "copy"


@dataclass(frozen=True)
class Layout:
    """A joint order that many files share."""

    title: str
    """Name for notes."""
    names: tuple[str, ...]
    parents: tuple[int, ...]
    kinds: tuple[str, ...]
    """Per entry: a joint, a point (an end site), or a copy of another entry."""
    offsets: NDArray | None = None
    """(J, 3) metres; rest offsets of a mean body if known, y up, facing +z."""

    @cached_property
    def directions(self) -> NDArray:
        """(J, 3) unit vectors from parent to joint in a T-pose, y up, facing +z, left +x."""
        if self.offsets is not None:
            size = np.linalg.norm(self.offsets, axis=-1, keepdims=True)
            return self.offsets / np.where(size > 0, size, 1.0)
        vectors = np.array([rest_direction(name) for name in self.names])
        return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of left and right joints."""
        place = {name: joint for joint, name in enumerate(self.names)}
        words = (("Left", "Right"), ("left", "right"), ("L", "R"))
        found = []
        for name, joint in place.items():
            word = next((pair for pair in words if name.startswith(pair[0])), None)
            if side_of(name) == 1 and word is not None and (other := word[1] + name[len(word[0]) :]) in place:
                found.append((joint, place[other]))
        return tuple(found)

    @cached_property
    def hips(self) -> tuple[int, int, int, int] | None:
        """Left and right thigh, left ankle and left toes, used to detect swapped sides; None if not all are known."""
        sides = {side: [j for j, name in enumerate(self.names) if side_of(name) == side] for side in (1, -1)}
        thighs = [next((j for j in sides[side] if self.parents[j] == 0), None) for side in (1, -1)]
        toes = next((j for j in sides[1] if _is_toe(self, j)), None)
        if None in thighs or toes is None:
            return None
        return thighs[0], thighs[1], self.parents[toes], toes  # type: ignore[return-value]


def _is_toe(layout: Layout, joint: int) -> bool:
    name = layout.names[joint].lower()
    return layout.kinds[joint] == JOINT and ("toe" in name or name.endswith("_foot"))


def side_of(name: str) -> int:
    """Return 1 for left, −1 for right, 0 for the middle."""
    word = name.lower()
    if word.startswith(("left", "l_")) or re.match(r"L[A-Z]", name):
        return 1
    return -1 if word.startswith(("right", "r_")) or re.match(r"R[A-Z]", name) else 0


_DIRECTIONS = (
    (r"toe|bigtoe|smalltoe", (0, -0.4, 1)), (r"heel", (0, -0.7, -0.7)),
    (r"eye|nose|jaw", (0.4, 0.5, 0.8)), (r"ear$", (0.9, 0.3, 0)),
    (r"thumb", (0.7, 0, 0.7)), (r"index", (1, 0, 0.25)), (r"middle", (1, 0, 0.05)), (r"ring", (1, 0, -0.15)),
    (r"pinky", (1, 0, -0.3)), (r"shoulder|collar|thorax|clavicle", (1, 0.3, 0)),
    (r"upleg|hip(_pitch)?$|hip_pitch|^(left|right)leg$", (1, -0.5, 0)),
    (r"elbow|arm|wrist|hand", (1, 0, 0)), (r"leg|knee|shin|foot|ankle|hip_", (0, -1, 0)),
)  # fmt: skip


def rest_direction(name: str) -> tuple[float, float, float]:
    """Return the direction of a bone of that name in a T-pose; central bones point up."""
    word, side = name.lower(), side_of(name)
    for pattern, (x, y, z) in _DIRECTIONS:
        if re.search(pattern, word) and (side or pattern.startswith("eye")):
            return side * x, y, z
    return 0.0, 1.0, 0.0


def _expand(text: str) -> list[str]:
    """Return the names that "name[1-3]" stands for."""
    found = re.search(r"\[(\d)-(\d)\]", text)
    if not found:
        return [text]
    return [text.replace(found[0], str(number)) for number in range(int(found[1]), int(found[2]) + 1)]


def _layout(title: str, *chains: str, offsets: NDArray | None = None) -> Layout:
    """Parse the chains of a layout."""
    names: list[str] = []
    parents: list[int] = []
    kinds: list[str] = []
    for chain in chains:
        above = -1
        for word in (each for part in chain.split() for each in _expand(part)):
            name = word.strip("(){}")
            if name in names:
                above = names.index(name)
                continue
            names.append(name)
            parents.append(above)
            kinds.append({"(": POINT, "{": COPY}.get(word[0], JOINT))
            if kinds[-1] == JOINT:
                above = len(names) - 1
    return Layout(title, tuple(names), tuple(parents), tuple(kinds), offsets)


def _sides(*chains: str) -> list[str]:
    """Return the chains for the left and then for the right side: "@" stands for the side."""
    return [chain.replace("@", side) for side in ("Left", "Right") for chain in chains]


_FINGERS = tuple(f"@Hand @Hand{finger}[1-3]" for finger in ("Thumb", "Index", "Middle", "Ring", "Pinky"))
_SOMA_FINGERS = ("@Hand @HandThumb[1-3] @HandThumbEnd",) + tuple(
    f"@Hand @Hand{finger}[1-4] @Hand{finger}End" for finger in ("Index", "Middle", "Ring", "Pinky")
)
_SOMA_SPINE = "Hips Spine1 Spine2 Chest Neck1 Neck2 Head"
_G1_LEG = "pelvis @_hip_pitch @_hip_roll @_hip_yaw @_knee @_ankle_pitch @_ankle_roll @_toe"
_G1_ARM = (
    "waist_pitch @_shoulder_pitch @_shoulder_roll @_shoulder_yaw @_elbow @_wrist_roll @_wrist_pitch @_wrist_yaw @_hand"
)
_LEG, _ARM = "Hips @UpLeg @Leg @Foot @Toe", "@Shoulder @Arm @ForeArm @Hand"
_SPINE = "Hips Spine Spine1 Spine2 Neck Head"


def _lafan(first: str, second: str) -> Layout:
    legs = [_LEG.replace("@", side) for side in (first, second)]
    arms = [f"Spine2 {_ARM}".replace("@", side) for side in (first, second)]
    return _layout("LAFAN1's 22 joints", *legs, _SPINE, *arms)


def _humanoid(title: str, *fingers: str) -> Layout:
    """Return SMPL's joints in the order of simulators: limb by limb."""
    hand = fingers or ("@Wrist @Hand",)
    legs = [f"Pelvis {side}Hip {side}Knee {side}Ankle {side}Toe" for side in ("L_", "R_")]
    arms = [
        chain.replace("@", side) for side in ("L_", "R_") for chain in ("Chest @Thorax @Shoulder @Elbow @Wrist", *hand)
    ]
    return _layout(title, *legs, "Pelvis Torso Spine Chest Neck Head", *arms)


ORDERS = (
    _lafan("Left", "Right"),
    _lafan("Right", "Left"),
    _humanoid("SMPL's 24 joints limb by limb"),
    _humanoid(
        "SMPL-H's 52 joints limb by limb",
        *(f"@Wrist @{finger}[1-3]" for finger in ("Index", "Middle", "Pinky", "Ring", "Thumb")),
    ),
    _layout(
        "the 53 joints of an optical capture",
        "Hips Spine Spine1 Neck Head",
        *_sides(f"Spine1 {_ARM}", *_FINGERS),
        *_sides("Hips @UpLeg @Leg @Foot @ToeBase"),
        *_sides("@Foot {@FootMod}"),
    ),
    _layout(
        "SOMA's 30 joints",
        f"{_SOMA_SPINE} (Jaw)", "Head (LeftEye)", "Head (RightEye)",
        *_sides(f"Chest {_ARM} (@HandThumbEnd)", "@Hand (@HandMiddleEnd)"),
        *_sides("Hips @Leg @Shin @Foot @ToeBase"),
    ),
    _layout(
        "SOMA's 77 joints",
        f"{_SOMA_SPINE} (HeadEnd)", "Head Jaw", "Head LeftEye", "Head RightEye",
        *_sides(f"Chest {_ARM}", *(re.sub(r"(\S+End)", r"(\1)", chain) for chain in _SOMA_FINGERS)),
        *_sides("Hips @Leg @Shin @Foot @ToeBase (@ToeEnd)"),
    ),
    _layout(
        "the 34 joints of a Unitree G1",
        *(chain.replace("@", side) for side in ("left", "right") for chain in (_G1_LEG,)),
        "pelvis waist_yaw waist_roll waist_pitch",
        *(_G1_ARM.replace("@", side) for side in ("left", "right")),
    ),
    _layout(
        "Human3.6M's 17 joints",
        "Hip RHip RKnee RAnkle", "Hip LHip LKnee LAnkle", "Hip Spine Thorax Neck Head",
        "Thorax LShoulder LElbow LWrist", "Thorax RShoulder RElbow RWrist",
    ),
)  # fmt: skip
"""Layouts of which only the order is known, without offsets."""
