"""The bodies of the SMPL family: joint order, and rest positions in the mean body to the centimetre.

The published models (SMPL: Loper et al. 2015; SMPL+H: Romero et al. 2017; SMPL-X: Pavlakos et al. 2019) regress joint
positions from a mesh whose shape depends on parameters ("betas"). No model is needed or shipped: the numbers below
describe a mean adult of about 1.7 m, symmetric and rounded, which is sufficient to show a pose; a file's betas do not
change them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.io.npz.layouts import JOINT, POINT, Layout

# name, parent, offset from the parent in cm (x left, y up, z forward); "@" stands for left and right
_TRUNK = (
    ("@_hip", "pelvis", (7, -9, -1)), ("spine1", "pelvis", (0, 11, -3)), ("@_knee", "@_hip", (4, -38, -1)),
    ("spine2", "spine1", (0, 14, 0)), ("@_ankle", "@_knee", (-2, -40, -4)), ("spine3", "spine2", (0, 5, 3)),
    ("@_foot", "@_ankle", (3, -5, 12)), ("neck", "spine3", (0, 21, -4)), ("@_collar", "spine3", (8, 12, -4)),
    ("head", "neck", (0, 7, 5)), ("@_shoulder", "@_collar", (9, 3, -1)), ("@_elbow", "@_shoulder", (26, -1, -2)),
    ("@_wrist", "@_elbow", (25, 1, 0)),
)  # fmt: skip
_X_TRUNK = {
    "@_hip": (6, -10, -2), "spine1": (0, 11, -3), "@_knee": (5, -38, -1), "spine2": (0, 13, -1),
    "@_ankle": (-3, -40, -3), "spine3": (0, 5, 3), "@_foot": (4, -6, 12), "neck": (0, 17, -3),
    "@_collar": (5, 9, -1), "head": (0, 16, 2), "@_shoulder": (11, 6, -1), "@_elbow": (26, -6, -3),
    "@_wrist": (25, 1, -1),
}  # fmt: skip
"""Offsets in which SMPL-X's mean body differs: its neck joint is lower and its head joint higher."""
_FACE = (("jaw", "head", (0, -1, 1)), ("left_eye_smplhf", "head", (3, 5, 7)), ("right_eye_smplhf", "head", (-3, 5, 7)))
_FINGERS = (
    ("index", (10, -1, 2), (3, 0, 0), (2, 0, 0)), ("middle", (11, 0, 0), (3, 0, 0), (2, 0, 0)),
    ("pinky", (8, -1, -4), (2, 0, -1), (2, 0, 0)), ("ring", (9, 0, -2), (3, 0, 0), (2, 0, 0)),
    ("thumb", (4, -1, 3), (2, 0, 2), (2, 0, 2)),
)  # fmt: skip
_ENDS = (
    ("head", (0, 20, 0)), ("@_foot", (1, -2, 8)), ("@_ankle", (0, -7, -5)),
)  # fmt: skip
"""Top of the head, tips of the toes and heels on the mean body's surface."""
_KEYPOINTS = (
    "nose", "right_eye", "left_eye", "right_ear", "left_ear",
    *(f"{side}_{name}" for side in ("left", "right") for name in ("big_toe", "small_toe", "heel")),
    *(f"{side}_{finger}_tip" for side in ("left", "right") for finger in ("thumb", "index", "middle", "ring", "pinky")),
)  # fmt: skip
"""Surface points that follow SMPL's 24 joints in arrays of 45."""

_SIDED = (
    ("upper_leg", "hip"), ("lower_leg", "knee"), ("foot", "ankle"), ("toes", "foot"), ("clavicle", "collar"),
    ("upper_arm", "shoulder"), ("lower_arm", "elbow"), ("hand", "wrist"),
)  # fmt: skip


@dataclass(frozen=True)
class Body:
    """One model of the family."""

    title: str
    layout: Layout
    pelvis: tuple[float, float, float]
    """Rest position of the pelvis in model space, metres: a file's translation is added to it."""

    @property
    def roles(self) -> dict[str, tuple[str, ...]]:
        """Role → joints, as the model defines them."""
        names = self.layout.names
        roles: dict[str, tuple[str, ...]] = {
            "hips": ("pelvis",), "spine": ("spine1", "spine2", "spine3"), "neck": ("neck",), "head": ("head",),
        }  # fmt: skip
        if "jaw" in names:
            roles["jaw"] = ("jaw",)
        for side in ("left", "right"):
            roles |= {f"{side}_{role}": (f"{side}_{name}",) for role, name in _SIDED}
            if f"{side}_index1" in names:
                for role, finger in (("thumb", "thumb"), ("index", "index"), ("middle", "middle"), ("ring", "ring"),
                                     ("little", "pinky")):  # fmt: skip
                    roles[f"{side}_{role}"] = tuple(f"{side}_{finger}{k}" for k in (1, 2, 3))
            if f"{side}_eye_smplhf" in names:
                roles[f"{side}_eye"] = (f"{side}_eye_smplhf",)
        return roles

    @property
    def ends(self) -> tuple[NDArray, NDArray]:
        """End sites: joints (E,) and offsets (E, 3), metres."""
        names = self.layout.names
        rows = [(name, offset) for end, place in _ENDS for name, _, offset in _both(end, end, place)]
        for side, sign in (("left", 1), ("right", -1)):
            rows.append((f"{side}_hand", (10 * sign, -1, 0)))
            rows += [(f"{side}_{finger}3", (2 * sign, 0, 2 * (finger == "thumb"))) for finger, *_ in _FINGERS]
        rows = [(name, offset) for name, offset in rows if name in names]
        joints = [names.index(name) for name, _ in rows]
        return np.array(joints), np.array([offset for _, offset in rows]) / 100.0


def _both(name: str, parent: str, offset: tuple[float, ...]) -> list[tuple[str, str, tuple[float, ...]]]:
    """Return one row, or one per side."""
    if "@" not in name:
        return [(name, parent, offset)]
    mirrored = (-offset[0], *offset[1:])
    return [
        (name.replace("@", side), parent.replace("@", side), place)
        for side, place in (("left", offset), ("right", mirrored))
    ]


def _body(
    title: str, pelvis: tuple[float, float, float], *, x: bool = False, hands: str = "", points: bool = False
) -> Body:
    """Build a body: x: trunk and face of SMPL-X; hands: "stumps" or "fingers"; points: with surface points."""
    rows = [("pelvis", "", (0.0, 0.0, 0.0))]
    for name, parent, offset in _TRUNK:
        rows += _both(name, parent, _X_TRUNK[name] if x else offset)
    if x:
        rows += _FACE
    if hands == "stumps":
        rows += _both("@_hand", "@_wrist", (8, -1, -1))
    for side, sign in (("left", 1), ("right", -1)) if hands == "fingers" else ():
        for finger, *places in _FINGERS:
            for number, (a, b, c) in enumerate(places, start=1):
                above = f"{side}_wrist" if number == 1 else f"{side}_{finger}{number - 1}"
                rows.append((f"{side}_{finger}{number}", above, (sign * a, b, c)))
    kinds = [JOINT] * len(rows)
    if points:
        rows += [_keypoint(name) for name in _KEYPOINTS]
        kinds += [POINT] * len(_KEYPOINTS)
    names = [name for name, _, _ in rows]
    parents = tuple(names.index(parent) if parent else -1 for _, parent, _ in rows)
    offsets = np.array([offset for _, _, offset in rows], float) / 100.0
    count = f"{len(names)} {'keypoints' if points else 'joints'}"
    return Body(title, Layout(f"{title}'s {count}", tuple(names), parents, tuple(kinds), offsets), pelvis)


def _keypoint(name: str) -> tuple[str, str, tuple[float, ...]]:
    """Return the name of a surface point, its joint, and its offset in cm."""
    places = {
        "nose": (0, 4, 12), "right_eye": (-3, 8, 9), "left_eye": (3, 8, 9), "right_ear": (-8, 6, 1),
        "left_ear": (8, 6, 1), "big_toe": (-1, -2, 7), "small_toe": (4, -2, 3), "heel": (0, -5, -4),
        "thumb_tip": (2, -2, 9), "index_tip": (9, 0, 4), "middle_tip": (10, 0, 1), "ring_tip": (9, 0, -2),
        "pinky_tip": (6, 0, -4),
    }  # fmt: skip
    if name in places:
        return name, "head", places[name]
    side, _, point = name.partition("_")
    x, y, z = places[point]
    joint = {"heel": "ankle", "big_toe": "foot", "small_toe": "foot"}.get(point, "hand")
    return name, f"{side}_{joint}", (x if side == "left" else -x, y, z)


SMPL = _body("SMPL", (0.0, -0.22, 0.03), hands="stumps")
SMPL_BODY = _body("SMPL", (0.0, -0.22, 0.03))
SMPL_H = _body("SMPL-H", (0.0, -0.24, 0.03), hands="fingers")
SMPL_X = _body("SMPL-X", (0.0, -0.35, 0.01), x=True, hands="fingers")
SMPL_KEYPOINTS = _body("SMPL", (0.0, -0.22, 0.03), hands="stumps", points=True)

BY_JOINTS = {22: SMPL_BODY, 24: SMPL, 52: SMPL_H, 55: SMPL_X}
"""Number of joints of a pose → body."""
