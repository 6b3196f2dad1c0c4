"""Lengths and joints of made takes: every sample motion worn by three bodies in two marker sets, beside their truth.

1 mm of noise, 5 % hidden, 0.1 % exchanged; markers on their landmarks, or up to 15 mm off them in any direction, and
then with a range of motion to calibrate with as well.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from footplant import samples
from footplant.kinematics import Kinematics
from footplant.optical.solve import solve_markers
from markers_made import BODIES, CMU_41, PLUG_IN_GAIT, range_of_motion, wear  # pyright: ignore[reportMissingImports]
from timing import main

LENGTHS = {
    "shank": ("left_lower_leg", "left_foot"), "thigh": ("left_upper_leg", "left_lower_leg"),
    "hip_width": ("left_upper_leg", "right_upper_leg"), "trunk": ("hips", "neck"),
    "upper_arm": ("left_upper_arm", "left_lower_arm"), "forearm": ("left_lower_arm", "left_hand"),
    "shoulder_width": ("left_upper_arm", "right_upper_arm"),
}  # fmt: skip
CLOSE_LENGTH, CLOSE_JOINTS = 3.0, 5.0
"""Millimetres."""


def lengths(character) -> np.ndarray:
    """Metres of `LENGTHS` in the rest pose."""
    roles, places = character.require_roles(), character.skeleton.rest_world[0]
    return np.array([np.linalg.norm(places[roles[a]] - places[roles[b]]) for a, b in LENGTHS.values()])


def errors(made, solved) -> tuple[np.ndarray, float]:
    """Millimetres that each length is off, and all joints, RMS over the take."""
    away = np.linalg.norm(Kinematics(solved.clip.motion).positions - made.joints, axis=-1)
    joints = [joints[-1] for joints in made.wearer.require_roles().joints.values()]
    off = np.abs(lengths(solved.clip.character) - lengths(made.wearer))
    return 1000.0 * off, 1000.0 * float(np.sqrt(np.mean(away[:, joints] ** 2)))


def takes(rounds: int):
    """Motion, body, labels and seed of every take."""
    bodies = list(BODIES)
    for shift in range(rounds):
        for number, motion in enumerate(samples.MOTIONS):
            labels = (CMU_41, PLUG_IN_GAIT)[(number + shift) % 2]
            yield motion, bodies[(number + shift + 1) % 3], labels, 100 * shift + number


def measure(name: str, *, off: float, ranging: bool, rounds: int) -> dict[str, float]:
    """Figures of all takes whose markers are up to so many metres off their landmarks."""
    found, clip = [], range_of_motion() if ranging else None
    for motion, body, labels, seed in takes(rounds):
        made = wear(labels, motion, body, seed=seed, off=off)
        other = None if clip is None else wear(labels, clip, body, seed=seed, off=off).markers
        found.append(errors(made, solve_markers(made.markers, calibration=other)))
    of_lengths, of_joints = np.array([each for each, _ in found]), np.array([rms for _, rms in found])
    figures = {"takes": float(len(found))}
    for column, length in enumerate(LENGTHS):
        figures[f"{length}_mean_mm"] = float(of_lengths[:, column].mean())
        figures[f"{length}_worst_mm"] = float(of_lengths[:, column].max())
    figures["lengths_within_3_mm_share"] = float(np.mean(of_lengths < CLOSE_LENGTH))
    figures["joints_rms_mean_mm"], figures["joints_rms_worst_mm"] = float(of_joints.mean()), float(of_joints.max())
    figures["takes_within_5_mm_share"] = float(np.mean(of_joints < CLOSE_JOINTS))
    return {f"markers.{name}.{figure}": value for figure, value in figures.items()}


def run(rounds: int = 1) -> dict[str, float]:
    """Errors of lengths and joints of made takes, in millimetres."""
    return {
        **measure("on_landmarks", off=0.0, ranging=False, rounds=rounds),
        **measure("off_15_mm", off=0.015, ranging=False, rounds=rounds),
        **measure("off_15_mm_range_of_motion", off=0.015, ranging=True, rounds=rounds),
    }


if __name__ == "__main__":
    main(run)
