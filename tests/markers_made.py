"""Synthetic marker takes: a body with known lengths and joints wears the markers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation, samples
from footplant.clip import Clip
from footplant.humanoid.proportions import Proportions, apply_proportions
from footplant.kinematics import Kinematics
from footplant.markers import Markers
from footplant.motion import Motion
from footplant.optical.marker_sets import LANDMARKS, recognise
from footplant.skeleton import Character

_TRUNK_AND_ARMS = "FHD BHD SHO UPA ELB FRM WRA WRB FIN"
_CMU_LEGS = "FWT BWT THI KNE SHN ANK HEE TOE MT5"
_GAIT_LEGS = "ASI PSI THI KNE TIB ANK HEE TOE"


def _both(names: str) -> list[str]:
    return [f"{side}{name}" for side in "LR" for name in names.split()]


CMU_41 = ["C7", "T10", "CLAV", "STRN", "RBAC", *_both(f"{_TRUNK_AND_ARMS} {_CMU_LEGS}")]
PLUG_IN_GAIT = ["C7", "T10", "CLAV", "STRN", "RBAK", *_both(f"{_TRUNK_AND_ARMS} {_GAIT_LEGS}")]
BODIES = {
    "mean": Proportions(),
    "tall": Proportions(scale=1.08, legs=1.06, arms=1.04, trunk=0.97, shoulders=1.06),
    "small": Proportions(scale=0.9, thigh=0.96, shank=1.05, upper_arm=0.95, forearm=1.05, hips=1.06, feet=0.95),
}


@dataclass(frozen=True, eq=False)
class Made:
    """A take with its ground truth."""

    markers: Markers
    wearer: Character
    motion: Motion
    """The motion of the wearer."""
    joints: NDArray
    """(F, J, 3) metres."""
    swapped: tuple[tuple[int, int, int], ...] = ()
    """(frame, marker, marker) whose labels were swapped."""


_RANGE = {
    "spine": (0.15, 0.12, 0.12), "neck": (0.15, 0.25, 0.12), "head": (0.15, 0.25, 0.12), "clavicle": (0.03, 0.1, 0.1),
    "upper_arm": (0.6, 0.8, 0.7), "lower_arm": (0.9, 0.9, 0.03), "hand": (0.1, 0.3, 0.4),
    "upper_leg": (0.6, 0.3, 0.3), "lower_leg": (0.7, 0.06, 0.03), "foot": (0.3, 0.1, 0.15), "toes": (0.1, 0.0, 0.0),
}  # fmt: skip
"""Role → amplitude about the axes of the T-pose in a range of motion, radians."""


def range_of_motion(seconds: float = 10.0, fps: float = 120.0) -> Clip:
    """Return a clip that takes every joint through its range, each at its own rate."""
    character = samples.load_character("mannequin")
    roles, skeleton = character.require_roles(), character.skeleton
    time = np.arange(int(seconds * fps)) / fps
    turns = np.zeros((len(time), len(skeleton), 3))
    for number, (role, joints) in enumerate(roles.joints.items()):
        side = -1.0 if role.startswith("right_") else 1.0
        reach = np.array(_RANGE.get(role.removeprefix("left_").removeprefix("right_"), (0.0, 0.0, 0.0)))
        pace = 0.15 + 0.031 * ((7 * number + np.array([0, 5, 11])) % 17)
        swing = np.sin(2.0 * np.pi * pace * time[:, None] + number) * reach
        if role.endswith("lower_leg"):
            swing[:, 0] += reach[0] + 0.1
        if role.endswith("lower_arm"):
            swing[:, 1] -= side * (reach[1] + 0.1)
        if role.endswith("upper_arm"):
            swing[:, 2] -= side * 0.6
        turns[:, joints] = swing[:, None]
    root = np.tile(skeleton.posed(skeleton.rest)[0][0], (len(time), 1))
    return Clip(Motion(skeleton, root, rotation.multiply(skeleton.rest, rotation.exp(turns)), fps), character)


def wear(labels: list[str], motion: str | Clip = "walk", body: Proportions | str = "mean", *, seed: int = 0,
         off: float = 0.015, noise: float = 0.001, hidden: float = 0.05, swaps: float = 0.001) -> Made:  # fmt: skip
    """Put markers on a body that performs a motion (a sample, if it is a name); the same seed gives the same placement.

    off: metres, largest displacement of each marker from its landmark. noise: metres per axis. hidden: share of the
    frames, in runs of 3 to 30. swaps: share of markers and frames with the label of another marker within 25 cm.
    """
    rng = np.random.default_rng(seed)
    clip = samples.load(motion) if isinstance(motion, str) else motion
    proportions = BODIES[body] if isinstance(body, str) else body
    wearer = apply_proportions(clip.character, proportions)
    root = clip.motion.root * (wearer.height / clip.character.height)
    moved = replace(clip.motion, skeleton=wearer.skeleton, root=root)
    kinematics = Kinematics(moved)
    segments, offsets = _put(wearer, labels, rng, off)
    turned = kinematics.rotations[:, segments]
    places = kinematics.positions[:, segments] + rotation.rotate(turned, offsets)
    places = places + noise * rng.standard_normal(places.shape)
    found = _exchange(places, rng, swaps)
    _hide(places, rng, hidden)
    return Made(
        Markers(tuple(labels), places, clip.motion.fps, name="made"), wearer, moved, kinematics.positions, found
    )


def _put(wearer: Character, labels: list[str], rng: np.random.Generator, off: float) -> tuple[NDArray, NDArray]:
    """Return (M,) the joints that carry the markers and (M, 3) their offsets."""
    mannequin = samples.load_character("mannequin")
    base = mannequin.skeleton.posed(mannequin.skeleton.rest)[0]
    here, turned = wearer.skeleton.posed(wearer.skeleton.rest)
    roles, parents = mannequin.require_roles(), mannequin.skeleton.parents
    size = wearer.height / mannequin.height
    segments, offsets = [], []
    for stuck in recognise(labels)[1]:
        joint = int(roles.joints["spine"][-1] if stuck.role == "chest" else roles[stuck.role])
        away = rng.standard_normal(3)
        away *= off * rng.random() / np.linalg.norm(away)
        place = np.array(LANDMARKS[stuck.landmark or ""].place) * [stuck.side, 1.0, 1.0]
        # a knee marker is at the knee however long the thigh is: as far from the nearest joint as on the mannequin
        near = [other for other in range(len(base)) if other == joint or parents[other] == joint]
        origin = min(near, key=lambda other: float(np.linalg.norm(place - base[other])))
        world = here[origin] + size * (place - base[origin]) + away
        segments.append(joint)
        offsets.append(rotation.rotate(rotation.inverse(turned[joint]), world - here[joint]))
    assert len(segments) == len(labels)
    return np.array(segments), np.array(offsets)


def _exchange(places: NDArray, rng: np.random.Generator, share: float) -> tuple[tuple[int, int, int], ...]:
    frames, markers = places.shape[:2]
    found = []
    for _ in range(round(share * frames * markers / 2)):
        frame, first = int(rng.integers(frames)), int(rng.integers(markers))
        apart = np.linalg.norm(places[frame] - places[frame, first], axis=-1)
        near = np.flatnonzero((apart < 0.25) & (apart > 0.05))
        if len(near):
            second = int(rng.choice(near))
            places[frame, [first, second]] = places[frame, [second, first]]
            found.append((frame, first, second))
    return tuple(found)


def _hide(places: NDArray, rng: np.random.Generator, share: float) -> None:
    frames, markers = places.shape[:2]
    while share and np.isnan(places[..., 0]).mean() < share:
        start, marker, length = int(rng.integers(frames)), int(rng.integers(markers)), int(rng.integers(3, 31))
        places[start : start + length, marker] = np.nan
