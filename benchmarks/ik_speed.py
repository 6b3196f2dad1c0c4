"""Inverse kinematics of one instant: hybrid in batches and alone, numeric, and the closed-form limb.

The problem that peers are measured on too: a human figure of 31 joints, places and turns for both hands and both feet,
16 cm from where they are in a walk.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from footplant import Kinematics, Motion, Skeleton, rotation
from footplant.constraints import Constraint, JointLimits, Orientation, Position
from footplant.samples import load
from footplant.skeleton import Character, Point
from footplant.solve.ik import limb
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.ik.numeric import Numeric
from timing import cpu_seconds, main

FRAMES, EDIT = 464, 0.16
ENDS = ("left_hand", "right_hand", "left_foot", "right_foot")
FINGERS = 9
"""Joints added to the mannequin's 22 to make 31, as CMU's figure has."""


def figure() -> tuple[Character, Motion]:
    """The walk on a mannequin of 31 joints: fingers and a thumb at its hands, which move with them."""
    clip = load("walk")
    skeleton, roles = clip.character.skeleton, clip.character.require_roles()
    parents = [roles["left_hand" if finger % 2 else "right_hand"] for finger in range(FINGERS)]
    longer = Skeleton(
        (*skeleton.names, *(f"finger{finger}" for finger in range(FINGERS))),
        np.concatenate([skeleton.parents, parents]),
        np.concatenate([skeleton.offsets, np.full((FINGERS, 3), 0.02)]),
        rest=np.concatenate([skeleton.rest, rotation.identity(FINGERS)]),
    )
    rows = np.arange(FRAMES) % len(clip.motion)
    turns = np.concatenate([clip.motion.rotations[rows], rotation.identity(FRAMES, FINGERS)], axis=1)
    character = replace(clip.character, skeleton=longer, limits=None, masses=None, mass_centers=None, skin=None)
    return character, Motion(longer, clip.motion.root[rows], turns, clip.motion.fps)


def edits(character: Character, motion: Motion) -> list[Constraint]:
    """A place and a turn for each end, 16 cm off."""
    rng, kinematics, asked = np.random.default_rng(0), Kinematics(motion), []
    for name in ENDS:
        joint = character.require_roles()[name]
        shift = rng.normal(size=3)
        shift *= EDIT / np.linalg.norm(shift)
        shift[1] = abs(shift[1])
        turn = rotation.multiply(rotation.exp(rng.normal(scale=0.2, size=3)), kinematics.rotations[:, joint])
        asked += [
            Position(point=Point(joint), target=kinematics.positions[:, joint] + shift),
            Orientation(joint=joint, target=turn),
        ]
    return asked


def limb_seconds(count: int = 10_000) -> float:
    """Seconds of CPU for so many limbs in closed form, all different."""
    rng = np.random.default_rng(1)
    parents, uppers, lowers = rotation.normalize(rng.normal(size=(3, count, 4)))
    goals, origins = rng.normal(scale=0.4, size=(count, 3)), np.zeros((count, 3))
    upper, lower, axis = np.array([0.0, -0.45, 0.0]), np.array([0.0, -0.42, 0.02]), np.array([1.0, 0.0, 0.0])
    return cpu_seconds(lambda: limb.solve(parents, uppers, lowers, upper, lower, axis, origins, goals)) / count


def run() -> dict[str, float]:
    """Inverse kinematics: microseconds a frame, and as ratios to forward kinematics and to one another."""
    character, motion = figure()
    asked, hybrid, numeric = edits(character, motion), Hybrid(character), Numeric()
    solved, searched = hybrid.solve(motion, asked), numeric.solve(motion, asked)
    forward = cpu_seconds(lambda: Kinematics(motion[:]), repeats=50) / FRAMES
    batch = cpu_seconds(lambda: hybrid.solve(motion, asked), repeats=15) / FRAMES
    slow = cpu_seconds(lambda: numeric.solve(motion, asked), repeats=3) / FRAMES
    places = np.stack([np.asarray(c.target)[7] for c in asked[::2]])  # type: ignore[attr-defined]
    turns = np.stack([np.asarray(c.target)[7] for c in asked[1::2]])  # type: ignore[attr-defined]
    order = [[character.require_roles()[name] for name in ENDS].index(part.end) for part in hybrid.limbs.values()]
    places, turns = places[order], turns[order]
    root, local = motion.root[7], motion.rotations[7]

    def alone() -> None:
        for _ in range(100):
            hybrid.solve_pose(root, local, places, turns)

    alone()
    single = cpu_seconds(alone, repeats=15) / 100
    limits = [*asked[::2], JointLimits(character=load("walk").character)]
    part = load("walk").motion
    limited = [replace(c, target=np.asarray(c.target)[: len(part)]) for c in limits[:4]]  # type: ignore[attr-defined]
    part = part[: len(limited[0].target)]  # type: ignore[attr-defined]
    numeric.solve(part, [*limited, limits[4]])
    bounded = cpu_seconds(lambda: numeric.solve(part, [*limited, limits[4]]), repeats=3) / len(part)
    one_limb = limb_seconds()
    return {
        "ik.hybrid.batch_microseconds": 1e6 * batch,
        "ik.hybrid.alone_microseconds": 1e6 * single,
        "ik.numeric.microseconds": 1e6 * slow,
        "ik.numeric.with_limits_microseconds": 1e6 * bounded,
        "ik.limb.million_solves_per_second": 1e-6 / one_limb,
        "ik.hybrid.error_metres": float(solved.error.max()),
        "ik.numeric.error_metres": float(searched.error.max()),
        "ik.hybrid.times_faster_than_50_forward_kinematics": 50 * forward / batch,
        "ik.hybrid.alone_times_faster_than_50_forward_kinematics": 50 * forward / single,
        "ik.hybrid.times_faster_than_numeric": slow / batch,
        "ik.numeric.times_faster_than_1000_forward_kinematics": 1000 * forward / slow,
        "ik.limb.times_faster_than_forward_kinematics": forward / one_limb,
    }


if __name__ == "__main__":
    main(run)
