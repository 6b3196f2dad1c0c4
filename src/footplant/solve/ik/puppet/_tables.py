"""What the puppet's kernels read and write, as named tables."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import uncounted_jit
from footplant.kernels.scene import distance as thing_distance
from footplant.kernels.surface import FAR
from footplant.kernels.surface import distance as tube_distance

BLEND = 0.02
"""Metres over which neighbouring segments of a body flow into one another."""


class Puppet(NamedTuple):
    """The target's skeleton and what its limbs are made of."""

    parents: NDArray
    """(J,) int64."""
    offsets: NDArray
    """(1, J, 3) metres."""
    axes: NDArray
    """(4, 3) hinge of each limb in the frame of its upper joint."""
    lengths: NDArray
    """(4,) metres; a limb at full stretch."""
    spine: NDArray
    """(2,) int64; the joint of the root's orientation and the first vertebra (−1: none)."""
    probes: NDArray
    """(2, 3, 4) what of each arm must stay out of the body: wrist, palm and finger tips in the hand's frame
    (3) and how thick it is there, metres."""
    elbows: NDArray
    """(2,) metres; how thick each arm is at the elbow."""
    solids: NDArray
    """(N, 2) joints of the trunk, the head and the knees that stay out of the scene, and how thick each is, metres."""
    parts: NDArray
    """(J,) int64; what moves each joint: 0 the trunk, 1 + limb the wrist (ankle) of a limb, −1 the rest of a limb."""


class Stage(NamedTuple):
    """How the performer's world is laid out for the target."""

    scale: float
    """How much larger the target's world is."""
    about: NDArray
    """(3,) the place that stays where it is, metres."""
    size: float
    """How much larger the target is."""
    track: float
    """Metres that each foot of the target walks farther from the middle than the scaled footsteps do."""
    estimate: bool
    """Whether the root is estimated in closed form before anything is searched (section 5.1)."""
    margin: float
    """Metres from the target's body at which arms begin to be pushed away: the more, the fatter it is."""


class Limbs(NamedTuple):
    """What is remembered of the limbs from the frame before."""

    shifts: NDArray
    """(2, 3) metres by which each foot's place is shifted from where the footsteps alone would put it."""
    ankles: NDArray
    """(2, 3, 3) where the ankle would be for its heel, ball and toe each to be right."""
    root: NDArray
    """(2, 3) how far the root is shifted from where it was carried over, metres, and how fast that changes."""
    hands: NDArray
    """(2, 6) how far each hand is pushed out of the body and the scene, metres, and how fast that changes."""
    gives: NDArray
    """(2, 3) metres that a wrist gives way, for its elbow being in the body or its place being out of reach."""
    middle: NDArray
    """(10,) where hands meet, seen from the middle of the shoulders, metres, how fast that changes, 1 while they do,
    and how far that place is pushed (3), metres."""
    swings: NDArray
    """(2, 2) how far each elbow is swung out of the body, radians, and how fast that changes."""
    started: NDArray
    """(1,) 0 before the first frame."""
    soles: NDArray
    """(2, 3, 3) the performer's heels, balls and toes, metres."""
    arms: NDArray
    """(2, 2, 8) how upper arm and forearm are turned from the captured angles (4), and how fast that changes (4)."""
    feet: NDArray
    """(2, 6) how far each ankle is from where the captured angles put it, metres, and how fast that changes."""
    peak: NDArray
    """(2,) the largest acceleration of the copied angles, m/s², and how many frames there have been."""
    copied: NDArray
    """(2, J, 3) where the copied angles put each joint, metres, and how fast it is."""
    paced_root: NDArray
    """(9,) how far the root is shifted from where it was carried over, how fast that changes, and how far it should be,
    as in `puppet_pace.chase`."""
    paced: NDArray
    """(4, 2, 9) where elbow and wrist (knee and ankle) of each limb are, how fast, and where they should be."""
    hanging: NDArray
    """(2, J, 3) where what hangs on a wrist or ankle is, seen from it, metres, and how fast that changes."""
    holds: NDArray
    """(6, 15) of the heel, ball and toe of each foot: where it was asked to be, what it is held back by, metres, how
    fast the performer's is, m/s, where that was, how much it is held over the ground, and up or down, and how
    fast it is to and fro."""


class Work(NamedTuple):
    """Room for one frame."""

    source_positions: NDArray
    """(1, K, 3) the performer's joints, metres."""
    source_rotations: NDArray
    """(1, K, 4)."""
    local: NDArray
    """(1, J, 4) the target's pose."""
    root: NDArray
    """(1, 3) metres."""
    positions: NDArray
    """(1, J, 3) metres."""
    rotations: NDArray
    """(1, J, 4)."""
    captured: NDArray
    """(J, 4) world rotations as they were carried over."""
    points: NDArray
    """(8, 3) from wrist or ankle to the target's contact points, metres; hands and feet keep their orientation."""
    goals: NDArray
    """(4, 3) where the scene wants wrists and ankles, metres."""
    centers: NDArray
    """(4, 3) of the balls in which the root can be, metres."""
    radii: NDArray
    """(4,) metres."""
    order: NDArray
    """(4,) int64; limbs of the balls."""
    wrists: NDArray
    """(2, 3) metres."""
    pushes: NDArray
    """(2, 3) metres by which each hand should be shifted to be where it touches the body."""
    angles: NDArray
    """(4, 3, 4) the captured angles of the three joints of each limb."""
    held: NDArray
    """(2, 3) metres; where the wrists would be if nothing were pushed."""
    margins: NDArray
    """(2,) metres from the body at which each arm is pushed away."""
    free: NDArray
    """(2,) 0 where a hand is fully meant to be where the other one or the scene wants it, 1 where it is not."""
    meant: NDArray
    """(2,) the most that matters about where a hand is, 0 to 1."""
    scratch: NDArray
    """(8, 4) for a limb."""
    normal: NDArray
    """(9, 9) for the body step."""
    factor: NDArray
    """(9, 9)."""
    vector: NDArray
    """(3, 9)."""
    accelerations: NDArray
    """(J, 3) of the copied joints, m/s²."""
    late: NDArray
    """(3,) metres by which the root is not yet where it should be."""
    reached: NDArray
    """(2, 3) where a limb that has been posed has its elbow and wrist (knee and ankle), metres."""
    held_points: NDArray
    """(3,) how much heel, ball and toe of a foot are held, 0 to 1."""
    turned: NDArray
    """(4, 4) how the end of each limb is turned from how the performer's points."""


def new_limbs(joints: int) -> Limbs:
    """The memory before the first frame of a figure of so many joints."""
    return Limbs(
        np.zeros((2, 3)), np.zeros((2, 3, 3)), np.zeros((2, 3)), np.zeros((2, 6)),
        np.zeros((2, 3)), np.zeros(10), np.zeros((2, 2)), np.zeros(1), np.zeros((2, 3, 3)),
        np.zeros((2, 2, 8)), np.zeros((2, 6)), np.zeros(2), np.zeros((2, joints, 3)), np.zeros(9), np.zeros((4, 2, 9)),
        np.zeros((2, joints, 3)), np.zeros((6, 15)),
    )  # fmt: skip


def new_work(performer: int, target: int) -> Work:
    """Room for figures of so many joints."""
    return Work(
        np.zeros((1, performer, 3)), np.zeros((1, performer, 4)), np.zeros((1, target, 4)), np.zeros((1, 3)),
        np.zeros((1, target, 3)), np.zeros((1, target, 4)), np.zeros((target, 4)), np.zeros((8, 3)), np.zeros((4, 3)),
        np.zeros((4, 3)), np.zeros(4), np.zeros(4, np.int64), np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((4, 3, 4)),
        np.zeros((2, 3)), np.zeros(2), np.zeros(2), np.zeros(2), np.zeros((8, 4)), np.zeros((9, 9)), np.zeros((9, 9)),
        np.zeros((3, 9)), np.zeros((target, 3)), np.zeros(3), np.zeros((2, 3)), np.zeros(3),
        np.tile([1.0, 0.0, 0.0, 0.0], (4, 1)),
    )  # fmt: skip


@uncounted_jit
def soften(depth, margin):
    """max(depth, 0) with a rounded corner of so many metres on both sides: smooth where something begins to touch."""
    if depth <= -margin:
        return 0.0
    if depth >= margin:
        return depth
    return (depth + margin) ** 2 / (4.0 * margin)


@uncounted_jit
def from_thing(things, number, pose, stage, x, y, z):
    """Distance (metres of the target's world) and direction of a place of the target's world from a thing."""
    s, about = stage.scale, stage.about
    px, py, pz = about[0] + (x - about[0]) / s, about[1] + (y - about[1]) / s, about[2] + (z - about[2]) / s
    d, nx, ny, nz = thing_distance(things, number, pose, px, py, pz)
    return s * d, nx, ny, nz


@uncounted_jit
def to_target(stage, k, value):
    """Coordinate k of a place of the performer's world, in the target's."""
    return stage.about[k] + stage.scale * (value - stage.about[k])


@uncounted_jit
def out_of_body(tubes, chosen, positions, rotations, x, y, z, thickness, margin):
    """The push (3) that takes a ball out of the chosen tubes of a body, which flow into one another."""
    total, depth, gx, gy, gz = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(tubes.joints.shape[0]):
        if chosen[k]:
            d, nx, ny, nz = tube_distance(tubes, k, positions, rotations, x, y, z)
            if d > FAR:
                continue
            # the nearest one has the say; where two are as near they share it
            share = math.exp(-max(d, -0.3) / BLEND)
            total, depth = total + share, depth + share * (thickness - d)
            gx, gy, gz = gx + share * nx, gy + share * ny, gz + share * nz
    norm = math.sqrt(gx * gx + gy * gy + gz * gz)
    if norm < 1e-12 * total or total <= 0.0:
        return 0.0, 0.0, 0.0
    push = soften(depth / total, margin) / norm
    return push * gx, push * gy, push * gz


WARMUP: dict = {}
