"""Tables that the kernels of computer puppetry read and write."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import uncounted_jit
from footplant.kernels.importance import CharacterTables
from footplant.kernels.scene import Things
from footplant.kernels.scene import distance as thing_distance
from footplant.kernels.surface import FAR, Tubes
from footplant.kernels.surface import distance as tube_distance
from footplant.kernels.transfer import Correspondence

_NAMES = (
    "headroom trunk_headroom least_peak brakes follows forgets turn_share settle_share bend_rate keep_place "
    "keep_turn least_importance gives_in unbend root_ease touch_round scene_give sharp blunt foot_settle "
    "settle_along settle_creep foot_low foot_high foot_ease easy_step easy_swing knee_off legs_apart "
    "legs_round apart_ease apart_release slow fast slow_rise fast_rise grips lets_go hold_rate trembles on_ground "
    "off_ground most_creep most_rise fully levels sinks release clears clear_from hand_ease gather elbow_ease "
    "pose_ease hurry gives learn pressed deep blend meet_stretch meant at_once bent straightest straight_round "
    "slowly touches all_of_it nearer thick most_turn touch_stretch firm_off toe_slack toe_steep toe_backwards "
    "toe_most toe_rate toe_return toe_alike nearest toe_share "
)
AT = namedtuple("AT", _NAMES)(*range(len(_NAMES.split())))
"""Index of each number of `PuppetSettings` in `Stage.tuning`."""
GRIP = 12
"""Column of `Limbs.holds`: the grip over the ground."""


class Puppet(NamedTuple):
    """The target's skeleton and limbs."""

    parents: NDArray
    """(J,) int64."""
    offsets: NDArray
    """(1, J, 3) metres."""
    axes: NDArray
    """(4, 3) hinge axis of each limb in the frame of its upper joint."""
    lengths: NDArray
    """(4,) metres; length of each limb at full extension."""
    spine: NDArray
    """(1+V,) int64; the joint of the root's orientation, then the vertebrae from below."""
    carries: NDArray
    """(1+V, 4) int64; 1 where that joint carries the limb."""
    uppers: NDArray
    """(4,) metres; length of each upper arm and thigh."""
    probes: NDArray
    """(2, 3, 4) points of each arm that must stay out of the body: wrist, palm and finger tips in the hand's frame (3)
    and the thickness there, metres."""
    elbows: NDArray
    """(2,) metres; thickness of each arm at the elbow."""
    solids: NDArray
    """(N, 2) joints of trunk, head and knees that must stay out of the scene, and their thickness, metres."""
    parts: NDArray
    """(J,) int64; what moves each joint: 0 the trunk, 1 + limb the wrist (ankle) of a limb, −1 the rest of a limb."""
    owners: NDArray
    """(J,) int64; the limb that a joint belongs to; −1: none."""
    segments: NDArray
    """(2, 2) int64; the tubes of thigh and shin of each leg."""
    lowers: NDArray
    """(4,) metres; length of each forearm and shin."""


class Stage(NamedTuple):
    """How the performer's world is mapped to the target's."""

    scale: float
    """Ratio of the target's world to the performer's."""
    about: NDArray
    """(3,) fixed point of that scaling, metres."""
    size: float
    """Ratio of the target's size to the performer's."""
    track: float
    """Metres by which each foot of the target is farther from the mid-line than the scaled footsteps are."""
    estimate: bool
    """Whether the root is estimated in closed form before the numerical search (section 5.1)."""
    margin: float
    """Metres from the target's body at which arms begin to be pushed away; larger for a thicker body."""
    tuning: NDArray
    """Numbers of `PuppetSettings`, at the indices of `AT`."""
    arms: float
    """Ratio of the distances between their palms: of the lengths of the arms, at most `size`."""


class Target(NamedTuple):
    """Everything about the target that does not change from frame to frame."""

    puppet: Puppet
    character: CharacterTables
    tubes: Tubes
    trunk: NDArray
    """(S,) segments that arms must not penetrate."""
    moves: NDArray
    """(2, S) segments that each arm's step moves itself."""
    stage: Stage
    counterparts: Correspondence


class SceneFrame(NamedTuple):
    """The scene at one frame."""

    things: Things
    poses: NDArray
    """(O, 7) displacements of the objects: translation, rotation."""
    near: NDArray
    """(8, O, 2) distance of the performer's contact points from the objects, and its rate."""


class Clock(NamedTuple):
    """Time since the frame before."""

    dt: float
    """Seconds."""
    started: bool
    """False at the first frame."""
    bound: float
    """Largest acceleration that is allowed, m/s²."""


class Limbs(NamedTuple):
    """State of the limbs from the frame before."""

    shifts: NDArray
    """(2, 3) metres by which each foot is shifted from the scaled footstep."""
    ankles: NDArray
    """(2, 3, 3) ankle positions that would put heel, ball and toe each in place."""
    root: NDArray
    """(2, 3) shift of the root from its copied position, metres, and its rate."""
    hands: NDArray
    """(2, 6) shift of each hand out of body and scene, metres, and its rate."""
    gives: NDArray
    """(2, 3) metres by which a wrist yields because its elbow is in the body or its goal out of reach."""
    middle: NDArray
    """(10,) meeting point of the hands relative to the midpoint of the shoulders, metres, its rate, 1 while they meet,
    and the shift of that point (3), metres."""
    swings: NDArray
    """(2, 2) swivel of each elbow out of the body, radians, and its rate."""
    started: NDArray
    """(1,) 0 before the first frame."""
    soles: NDArray
    """(2, 3, 3) the performer's heels, balls and toes, metres."""
    arms: NDArray
    """(2, 2, 8) rotation of upper arm and forearm from the captured one (4), and its rate (4)."""
    feet: NDArray
    """(2, 9) shift of each ankle from its copied position, metres, its rate, and how far it is behind its goal."""
    peak: NDArray
    """(2,) largest acceleration of the copied joints, m/s², and the number of frames so far."""
    copied: NDArray
    """(2, J, 3) positions of the copied joints, metres, and velocities."""
    paced_root: NDArray
    """(9,) shift of the root, its rate, and its target, as in `_pace.chase`."""
    paced: NDArray
    """(4, 2, 9) position, velocity and target of elbow and wrist (knee and ankle) of each limb."""
    hanging: NDArray
    """(2, J, 3) positions of descendants of a wrist or ankle relative to it, metres, and velocities."""
    bends: NDArray
    """(1+V, 9) rotation vectors of hips and vertebrae from their captured orientations, as in `_pace.limit_turn`."""
    settles: NDArray
    """(2, 15) shift of each touching palm onto the skin, metres, as in `_pace.limit_shift`."""
    turns: NDArray
    """(2, 9) rotation vector of each hand from its captured orientation, radians, as in `_pace.limit_turn`."""
    apart: NDArray
    """(2, 8) shift of each ankle away from the other leg, metres, its rate, the swivel of its knee, radians, and its
    rate."""
    holds: NDArray
    """(6, 17) for heel, ball and toe of each foot: requested position, hold offset, metres, velocity of the performer's
    point, m/s, its position, grips over the ground and vertically, mean speed, and the speeds held back, m/s."""
    lifts: NDArray
    """(2, 3) shift of each foot out of the scene, metres."""
    planes: NDArray
    """(2, 6) unit vectors in the axes of the trunk: from shoulder to wrist, and from that line to the elbow before it
    swings."""
    things: NDArray
    """(O, 7) displacements of the scene's objects: translation, rotation."""


class Work(NamedTuple):
    """Workspace of one frame."""

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
    """(J, 4) copied world rotations."""
    points: NDArray
    """(8, 3) vectors from wrist or ankle to the target's contact points, metres; hands and feet keep their
    orientation."""
    goals: NDArray
    """(8, 3) goals in the scene of wrists and ankles, then of elbows and knees, metres."""
    centers: NDArray
    """(8, 3) centres of the balls that the root must stay in, metres."""
    radii: NDArray
    """(8,) metres."""
    order: NDArray
    """(8,) int64; limbs of the balls; 4 + limb for its elbow or knee."""
    wrists: NDArray
    """(2, 3) metres."""
    pushes: NDArray
    """(2, 3) metres by which each hand should be shifted to touch the body."""
    angles: NDArray
    """(4, 3, 4) captured local rotations of the three joints of each limb."""
    held: NDArray
    """(2, 3) metres; wrist positions before any push."""
    margins: NDArray
    """(2,) metres from the body at which each arm is pushed away."""
    free: NDArray
    """(2,) 0 where a hand's position is fully set by the other hand or the scene, 1 where it is free."""
    meant: NDArray
    """(2,) largest importance of a hand's position, 0 to 1."""
    scratch: NDArray
    """(8, 4) for a limb."""
    normal: NDArray
    """(N, N) normal equations of the body step; N = 6 + 3V."""
    factor: NDArray
    """(N, N)."""
    vector: NDArray
    """(4, N)."""
    accelerations: NDArray
    """(J, 3) of the copied joints, m/s²."""
    late: NDArray
    """(3,) metres by which the root lags behind its target."""
    reached: NDArray
    """(2, 3) elbow and wrist (knee and ankle) of a posed limb, metres."""
    held_points: NDArray
    """(2, 3) how firmly heel, ball and toe of a foot are held over the ground and vertically, 0 to 1."""
    turned: NDArray
    """(6, 4) rotation of each limb's end from the captured one, then of the toes of each foot."""
    firm: NDArray
    """(2,) how much each palm is put on the skin, 0 to 1."""
    ankles: NDArray
    """(2, 5) where each ankle is put, metres, the share of its length from which the leg is extended less, and how much
    it is not."""
    beyond: NDArray
    """(3,) 1 where what each palm touches is out of reach, and where the palms cannot meet."""


def new_limbs(joints: int, vertebrae: int, things: int = 1) -> Limbs:
    """Return the state before the first frame, for so many joints, those of `Puppet.spine` among them, and objects."""
    return Limbs(
        np.zeros((2, 3)), np.zeros((2, 3, 3)), np.zeros((2, 3)), np.zeros((2, 6)),
        np.zeros((2, 3)), np.zeros(10), np.zeros((2, 2)), np.zeros(1), np.zeros((2, 3, 3)),
        np.zeros((2, 2, 8)), np.zeros((2, 9)), np.zeros(2), np.zeros((2, joints, 3)), np.zeros(9), np.zeros((4, 2, 9)),
        np.zeros((2, joints, 3)), np.zeros((vertebrae, 9)), np.zeros((2, 15)), np.zeros((2, 9)), np.zeros((2, 8)),
        np.zeros((6, 17)), np.zeros((2, 3)), np.zeros((2, 6)), np.zeros((things, 7)),
    )  # fmt: skip


def new_work(performer: int, target: int, vertebrae: int) -> Work:
    """Return a workspace for so many joints, the joints of `Puppet.spine` among them."""
    unknowns = 3 + 3 * vertebrae
    return Work(
        np.zeros((1, performer, 3)), np.zeros((1, performer, 4)), np.zeros((1, target, 4)), np.zeros((1, 3)),
        np.zeros((1, target, 3)), np.zeros((1, target, 4)), np.zeros((target, 4)), np.zeros((8, 3)), np.zeros((8, 3)),
        np.zeros((8, 3)), np.zeros(8), np.zeros(8, np.int64), np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((4, 3, 4)),
        np.zeros((2, 3)), np.zeros(2), np.zeros(2), np.zeros(2), np.zeros((8, 4)), np.zeros((unknowns, unknowns)),
        np.zeros((unknowns, unknowns)), np.zeros((4, unknowns)), np.zeros((target, 3)), np.zeros(3),
        np.zeros((2, 3)), np.zeros((2, 3)),
        np.tile([1.0, 0.0, 0.0, 0.0], (6, 1)), np.zeros(2), np.zeros((2, 5)), np.zeros(3),
    )  # fmt: skip


@uncounted_jit
def soften(depth, margin):
    """Return max(depth, 0) with a rounded corner of `margin` metres on both sides."""
    if depth <= -margin:
        return 0.0
    if depth >= margin:
        return depth
    return (depth + margin) ** 2 / (4.0 * margin)


@uncounted_jit
def from_thing(things, number, pose, stage, x, y, z):
    """Return distance (metres of the target's world) and direction of a point of the target's world from an object."""
    s, about = stage.scale, stage.about
    px, py, pz = about[0] + (x - about[0]) / s, about[1] + (y - about[1]) / s, about[2] + (z - about[2]) / s
    d, nx, ny, nz = thing_distance(things, number, pose, px, py, pz)
    return s * d, nx, ny, nz


@uncounted_jit
def to_target(stage, k, value):
    """Return coordinate k of a point of the performer's world in the target's."""
    return stage.about[k] + stage.scale * (value - stage.about[k])


@uncounted_jit
def out_of_body(tubes, chosen, positions, rotations, x, y, z, thickness, margin, tuning):
    """Return the push (3) that takes a ball out of the chosen tubes of a body, blended into one surface."""
    total, depth, gx, gy, gz = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(tubes.joints.shape[0]):
        if chosen[k]:
            d, nx, ny, nz = tube_distance(tubes, k, positions, rotations, x, y, z)
            if d > FAR:
                continue
            # soft minimum: the nearest tube dominates, equally near ones blend
            share = math.exp(-max(d, -0.3) / tuning[AT.blend])
            total, depth = total + share, depth + share * (thickness - d)
            gx, gy, gz = gx + share * nx, gy + share * ny, gz + share * nz
    norm = math.sqrt(gx * gx + gy * gy + gz * gz)
    if norm < 1e-12 * total or total <= 0.0:
        return 0.0, 0.0, 0.0
    push = soften(depth / total, margin) / norm
    return push * gx, push * gy, push * gz


WARMUP: dict = {}
