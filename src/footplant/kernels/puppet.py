"""Computer puppetry at one instant (Shin 2002, chapter 5): a captured pose in, the character's pose out."""

from __future__ import annotations

import numpy as np

from footplant.kernels import jit
from footplant.kernels.carry import carry
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
from footplant.kernels.puppet_body import place_body
from footplant.kernels.puppet_limbs import arms, ease_limbs, leg, note_angles
from footplant.kernels.puppet_tables import Puppet, Stage, new_limbs, new_work, to_target
from footplant.kernels.scene import smallest_things
from footplant.kernels.surface import smallest_tubes


@jit
def copy_pose(puppet, figure, source_figure, stage, counterparts, work):
    """Carry the performer's pose over: rotations turned alike, the hips where they are in the larger world."""
    carry(*counterparts, work.source_rotations, work.local)  # type: ignore[call-arg]
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


@jit
def pose(
    puppet, figure, source_figure, tubes, trunk, moves, things, poses, stage, counterparts, importance, near, dt,
    limbs, work,
):  # fmt: skip
    """Pose the character for what matters; how many iterations the body took. `work` holds the performer's pose."""
    copy_pose(puppet, figure, source_figure, stage, counterparts, work)
    started = limbs.started[0] > 0.0
    limbs.started[0] = 1.0
    iterations = place_body(puppet, figure, importance, near, things, poses, stage, dt, started, limbs, work)
    note_angles(figure, work)
    for limb in range(2, 4):
        if figure.limbs[limb, 2] >= 0:
            leg(puppet, figure, limb, importance, things, poses, stage, work)
    arms(puppet, figure, tubes, trunk, moves, importance, things, poses, stage, work)
    ease_limbs(figure, importance, dt, started, limbs, work)
    normalize_rows(work.local[0])
    return iterations


@jit
def observe(
    parents, offsets, root, rotations, figure, tubes, near, things, poses, rules, dt, memory, out, source_positions,
    source_rotations,
):  # fmt: skip
    """Forward kinematics of the performer (root (1, 3), rotations (1, K, 4)) and what matters in it."""
    forward(parents, offsets, root, rotations, source_positions, source_rotations)
    analyse(figure, tubes, near, things, poses, rules, dt, source_positions[0], source_rotations[0], memory, out)


@jit
def play(
    parents, offsets, roots, rotations, seconds, source_figure, source_tubes, near, things, poses, rules, memory, out,
    puppet, figure, tubes, trunk, moves, stage, counterparts, limbs, work, new_roots, new_rotations, scene, body, hands,
    iterations,
):  # fmt: skip
    """A whole clip, frame by frame: `observe`, then `pose`; poses (F or 1, O, 7). Writes poses and importances."""
    for f in range(roots.shape[0]):
        here = poses[f if poses.shape[0] > 1 else 0]
        observe(
            parents, offsets, roots[f : f + 1], rotations[f : f + 1], source_figure, source_tubes, near, things, here,
            rules, seconds, memory, out, work.source_positions, work.source_rotations,
        )  # fmt: skip
        iterations[f] = pose(
            puppet, figure, source_figure, tubes, trunk, moves, things, here, stage, counterparts, out, memory.scene,
            seconds, limbs, work,
        )  # fmt: skip
        new_roots[f] = work.root[0]
        new_rotations[f] = work.local[0]
        scene[f] = out.scene
        body[f] = out.body
        hands[f] = out.hands[0]


def smallest_puppet() -> Puppet:
    """A skeleton of one joint without limbs, to compile with."""
    parents = np.array([-1])
    parents.setflags(write=False)
    return Puppet(
        parents, np.zeros((1, 1, 3)), np.ones((4, 3)), np.ones(4), np.array([0, -1]), np.zeros((2, 3, 4)), np.zeros(2),
        np.zeros((1, 2)),
    )  # fmt: skip


def _without_limbs() -> Figure:
    figure = smallest_figure()
    return figure._replace(limbs=np.full((4, 3), -1), carriers=np.full(8, -1), general=np.full(8, -1))


def _counterparts():
    parents, turns, none = smallest_puppet().parents, np.array([[1.0, 0.0, 0.0, 0.0]]), np.zeros(0, np.int64)
    return (
        parents, np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1), turns, turns, turns, none, none,
        np.zeros(0), np.zeros((0, 3)),
    )  # fmt: skip


def _parts():
    poses = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    rules = Rules(0.15, 0.1, 1.0, 1.0, 1.0, 0.02, 0.02, 0.1, 0.05, 0.2)
    return _without_limbs(), smallest_tubes(), smallest_things(), poses, rules, new_memory(1, 1), new_importance(1)


def _frozen(*shape):
    array = np.ones(shape)
    array.setflags(write=False)
    return array


def _smallest_observe():
    figure, tubes, things, poses, rules, memory, out = _parts()
    return (
        smallest_puppet().parents, np.zeros((1, 1, 3)), np.zeros((1, 3)), np.ones((1, 1, 4)), figure, tubes,
        np.zeros((8, 1), bool), things, poses, rules, 0.01, memory, out, np.zeros((1, 1, 3)), np.zeros((1, 1, 4)),
    )  # fmt: skip


def _smallest_pose():
    figure, tubes, things, poses, _, memory, out = _parts()
    return (
        smallest_puppet(), figure, figure, tubes, np.zeros(1, bool), np.zeros((2, 1), bool), things, poses,
        Stage(1.0, np.zeros(3), 1.0, 0.0, True), _counterparts(), out, memory.scene, 0.01, new_limbs(), new_work(1, 1),
    )  # fmt: skip


def _smallest_play():
    figure, tubes, things, poses, rules, memory, out = _parts()
    return (
        smallest_puppet().parents, np.zeros((1, 1, 3)), _frozen(1, 3), _frozen(1, 1, 4), 0.01, figure, tubes,
        np.zeros((8, 1), bool), things, poses[None], rules, memory, out, smallest_puppet(), figure, tubes,
        np.zeros(1, bool), np.zeros((2, 1), bool), Stage(1.0, np.zeros(3), 1.0, 0.0, True), _counterparts(),
        new_limbs(), new_work(1, 1), np.zeros((1, 3)), np.zeros((1, 1, 4)), np.zeros((1, 4)), np.zeros((1, 8, 1)),
        np.zeros(1), np.zeros(1, np.int64),
    )  # fmt: skip


WARMUP = {"observe": _smallest_observe, "pose": _smallest_pose, "play": _smallest_play}
