"""Computer puppetry at one instant (Shin 2002, chapter 5): a captured pose in, the character's pose out."""

from __future__ import annotations

import numpy as np

from footplant.kernels import jit, uncounted_jit
from footplant.kernels.fk import forward
from footplant.kernels.hybrid import normalize_rows
from footplant.kernels.importance import (
    Figure,
    Rules,
    analyse,
    new_importance,
    new_memory,
    smallest_figure,
)
from footplant.kernels.scene import smallest_things
from footplant.kernels.surface import smallest_tubes
from footplant.kernels.transfer import carry_frame
from footplant.solve.ik.puppet._arms import arms
from footplant.solve.ik.puppet._body import move_root, place_body
from footplant.solve.ik.puppet._limbs import leg, note_angles
from footplant.solve.ik.puppet._pace import note_pace, pace_limb, pace_root
from footplant.solve.ik.puppet._packed import Packed, found_of, limbs_of, memory_of, pack, source_of, target_of, work_of
from footplant.solve.ik.puppet._tables import Puppet, Stage, new_limbs, new_work, to_target
from footplant.solve.ik.puppet._toes import bend_toes


@uncounted_jit
def copy_pose(puppet, figure, source_figure, stage, counterparts, work):
    """Carry the performer's pose over: rotations turned alike, the hips where they are in the larger world."""
    carry_frame(*counterparts, work.source_rotations[0], work.rotations[0], work.local[0])  # type: ignore[call-arg]
    work.root[0, 0], work.root[0, 1], work.root[0, 2] = 0.0, 0.0, 0.0
    forward(puppet.parents, puppet.offsets, work.root, work.local, work.positions, work.rotations)
    for k in range(3):
        hips, source = 0.0, 0.0
        for leg_number in range(2, 4):
            hips += 0.5 * work.positions[0, figure.limbs[leg_number, 0], k]
            source += 0.5 * work.source_positions[0, source_figure.limbs[leg_number, 0], k]
        work.root[0, k] = to_target(stage, k, source) - hips
        for j in range(work.positions.shape[1]):
            work.positions[0, j, k] += work.root[0, k]
    for j in range(work.captured.shape[0]):
        for k in range(4):
            work.captured[j, k] = work.rotations[0, j, k]


@uncounted_jit
def pose_frame(source, target, poses, importance, near, dt, limbs, work):
    """Pose the character for what matters; how many iterations the body took. `work` holds the performer's pose."""
    _, _, source_figure, _, _, things, _ = source
    puppet, figure, tubes, trunk, moves, stage, counterparts = target
    copy_pose(puppet, figure, source_figure, stage, counterparts, work)
    bound = note_pace(stage, dt, limbs, work)
    started = limbs.started[0] > 0.0
    limbs.started[0] = 1.0
    iterations = place_body(puppet, figure, importance, near, things, poses, stage, dt, started, limbs, work)
    pace_root(puppet, bound, dt, limbs, work)
    move_root(work, work.late[0], work.late[1], work.late[2])
    note_angles(figure, work)
    for limb in range(2, 4):
        if figure.limbs[limb, 2] >= 0:
            leg(puppet, figure, limb, importance, things, poses, stage, dt, started, limbs, work)
    arms(puppet, figure, tubes, trunk, moves, importance, things, poses, stage, dt, started, limbs, work)
    for limb in range(4):
        if figure.limbs[limb, 2] >= 0:
            pace_limb(puppet, figure, limb, bound, dt, limbs, work)
    normalize_rows(work.local[0])
    return iterations


@uncounted_jit
def note_peak(source, target, roots, rotations, seconds, limbs, work):
    """Learn from a whole clip how much the copied angles accelerate at most."""
    parents, offsets, source_figure, _, _, _, _ = source
    puppet, figure, _, _, _, stage, counterparts = target
    most = 0.0
    for f in range(roots.shape[0]):
        forward(parents, offsets, roots[f : f + 1], rotations[f : f + 1], work.source_positions, work.source_rotations)
        copy_pose(puppet, figure, source_figure, stage, counterparts, work)
        note_pace(stage, seconds, limbs, work)
        most = max(most, limbs.peak[0])
    limbs.peak[0], limbs.peak[1] = most, 0.0


@uncounted_jit
def observe_frame(source, root, rotations, poses, dt, memory, out, work):
    """Forward kinematics of the performer (root (1, 3), rotations (1, K, 4)) and what matters in it."""
    parents, offsets, figure, tubes, near, things, rules = source
    forward(parents, offsets, root, rotations, work.source_positions, work.source_rotations)
    started = memory.started[0] > 0.0
    bend_toes(
        parents, figure, things, poses, dt, started, memory.toes, work.source_positions[0], work.source_rotations[0]
    )
    analyse(
        figure, tubes, near, things, poses, rules, dt, work.source_positions[0], work.source_rotations[0], memory, out
    )


@jit
def observe(floats, whole, places, memory, remembered, root, rotations, poses, dt):
    """The second phase; all tables as `pack` lays them out, memory: the numbers of `remembered` that change."""
    tables = Packed(floats, whole, places)
    observe_frame(
        source_of(tables), root, rotations, poses, dt, memory_of(memory, remembered), found_of(tables), work_of(tables)
    )


@jit
def pose(floats, whole, places, memory, remembered, limbs, limb_places, poses, dt):
    """The third phase, after `observe`; how many iterations the body took."""
    tables, near = Packed(floats, whole, places), memory_of(memory, remembered).scene
    return pose_frame(
        source_of(tables), target_of(tables), poses, found_of(tables), near, dt, limbs_of(limbs, limb_places),
        work_of(tables),
    )  # fmt: skip


@jit
def play(
    floats, whole, places, memory, remembered, limbs, limb_places, learn, roots, rotations, poses, seconds, new_roots,
    new_rotations, scene, body, hands, iterations,
):  # fmt: skip
    """A whole clip, frame by frame: `observe`, then `pose`; poses (F or 1, O, 7). Writes poses and importances.

    learn: whether how hasty the performer is in all of it is known from the beginning; else it is learnt on the way.
    What is known of it in the end is returned, m/s².
    """
    tables, mind = Packed(floats, whole, places), memory_of(memory, remembered)
    performer, character = source_of(tables), target_of(tables)
    arms_and_legs, out, room = limbs_of(limbs, limb_places), found_of(tables), work_of(tables)
    if learn:
        note_peak(performer, character, roots, rotations, seconds, arms_and_legs, room)
    known = arms_and_legs.peak[0]
    for f in range(roots.shape[0]):
        here = poses[f if poses.shape[0] > 1 else 0]
        observe_frame(performer, roots[f : f + 1], rotations[f : f + 1], here, seconds, mind, out, room)
        iterations[f] = pose_frame(performer, character, here, out, mind.scene, seconds, arms_and_legs, room)
        for k in range(3):
            new_roots[f, k] = room.root[0, k]
        for j in range(room.local.shape[1]):
            for k in range(4):
                new_rotations[f, j, k] = room.local[0, j, k]
        for n in range(out.body.shape[0]):
            for k in range(out.body.shape[1]):
                body[f, n, k] = out.body[n, k]
        for limb in range(4):
            scene[f, limb] = out.scene[limb]
        hands[f] = out.hands[0]
    return known if learn else arms_and_legs.peak[0]


def smallest_puppet() -> Puppet:
    """A skeleton of one joint without limbs, to compile with."""
    return Puppet(
        np.array([-1]), np.zeros((1, 1, 3)), np.ones((4, 3)), np.ones(4), np.array([0, -1]), np.zeros((2, 3, 4)),
        np.zeros(2), np.zeros((1, 2)), np.zeros(1, np.int64),
    )  # fmt: skip


def _without_limbs() -> Figure:
    figure = smallest_figure()
    return figure._replace(limbs=np.full((4, 3), -1), carriers=np.full(8, -1), general=np.full(8, -1))


def _smallest_parts():
    """(floats, whole, places, memory, remembered, limbs, limb_places) of a figure of one joint."""
    rules = Rules(0.15, 0.15, 0.1, 0.1, 1.0, 1.0, 1.0, 0.02, 0.02, 0.1, 0.05, 0.2)
    turns, none = np.array([[1.0, 0.0, 0.0, 0.0]]), np.zeros(0, np.int64)
    counterparts = (
        np.array([-1]), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1), turns, turns, turns, none, none,
        np.zeros(0), np.zeros((0, 3)),
    )  # fmt: skip
    tables = pack(
        np.array([-1]), np.zeros((1, 1, 3)), _without_limbs(), smallest_tubes(), np.zeros((8, 1), bool),
        smallest_things(), rules, smallest_puppet(), _without_limbs(), smallest_tubes(), np.zeros(1, bool),
        np.zeros((2, 1), bool), Stage(1.0, np.zeros(3), 1.0, 0.0, True, 0.01), counterparts, new_importance(1),
        new_work(1, 1),
    )  # fmt: skip
    memory, limbs = pack(new_memory(1, 1)), pack(new_limbs(1))
    return *tables, memory.floats, memory.places, limbs.floats, limbs.places


def _rest():
    return np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])


def _frozen(*shape):
    array = np.ones(shape)
    array.setflags(write=False)
    return array


def _smallest_observe():
    return *_smallest_parts()[:5], np.zeros((1, 3)), np.ones((1, 1, 4)), _rest(), 0.01


def _smallest_pose():
    return *_smallest_parts(), _rest(), 0.01


def _smallest_play():
    return (
        *_smallest_parts(), True, _frozen(1, 3), _frozen(1, 1, 4), _rest()[None], 0.01, np.zeros((1, 3)),
        np.zeros((1, 1, 4)), np.zeros((1, 4)), np.zeros((1, 8, 1)), np.zeros(1), np.zeros(1, np.int64),
    )  # fmt: skip


WARMUP = {"observe": _smallest_observe, "pose": _smallest_pose, "play": _smallest_play}
