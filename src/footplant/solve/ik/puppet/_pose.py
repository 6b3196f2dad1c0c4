"""Computer puppetry at one frame (Shin 2002, chapter 5): a captured pose in, the character's pose out."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit, uncounted_jit
from footplant.kernels.fk import forward
from footplant.kernels.hybrid import normalize_rows
from footplant.kernels.importance import (
    CharacterTables,
    Rules,
    analyse,
    new_importance,
    new_memory,
    smallest_character,
)
from footplant.kernels.scene import smallest_things
from footplant.kernels.surface import smallest_tubes
from footplant.kernels.transfer import retarget_pose
from footplant.solve.ik.puppet._aboard import ride
from footplant.solve.ik.puppet._arms import arms, beyond_meeting, beyond_reach, cross_arms
from footplant.solve.ik.puppet._body import move_root, place_body
from footplant.solve.ik.puppet._limbs import leg, legs_apart, note_angles, update_limb
from footplant.solve.ik.puppet._pace import acceleration_bound, limit_limb, limit_root, peak_bound
from footplant.solve.ik.puppet._packed import Packed, found_of, limbs_of, memory_of, pack, source_of, target_of, work_of
from footplant.solve.ik.puppet._tables import AT, Clock, Puppet, SceneFrame, Stage, new_limbs, new_work, to_target
from footplant.solve.ik.puppet._toes import bend_toes


@uncounted_jit
def copy_pose(target, performer, work):
    """Retarget the performer's pose by rotations, with the hips at their scaled position."""
    puppet, character, stage, performer_limbs = target.puppet, target.character, target.stage, performer.character.limbs
    retarget_pose(target.counterparts, work.source_rotations[0], work.rotations[0], work.local[0])
    work.root[0, 0], work.root[0, 1], work.root[0, 2] = 0.0, 0.0, 0.0
    forward(puppet.parents, puppet.offsets, work.root, work.local, work.positions, work.rotations)
    for k in range(3):
        hips, source = 0.0, 0.0
        for leg_number in range(2, 4):
            hips += 0.5 * work.positions[0, character.limbs[leg_number, 0], k]
            source += 0.5 * work.source_positions[0, performer_limbs[leg_number, 0], k]
        work.root[0, k] = to_target(stage, k, source) - hips
        for j in range(work.positions.shape[1]):
            work.positions[0, j, k] += work.root[0, k]
    for j in range(work.captured.shape[0]):
        for k in range(4):
            work.captured[j, k] = work.rotations[0, j, k]


@uncounted_jit
def pose_frame(performer, target, poses, importance, near, dt, limbs, work):
    """Pose the character by importance; return the iterations of the body step. `work` holds the performer's pose."""
    puppet, character, scene = target.puppet, target.character, SceneFrame(performer.things, poses, near)
    copy_pose(target, performer, work)
    tuning = target.stage.tuning
    bound = acceleration_bound(target.stage, dt, limbs, work)
    clock = Clock(dt, limbs.started[0] > 0.0, bound)
    limbs.started[0] = 1.0
    ride(target.stage, scene, clock.started, limbs)
    iterations = place_body(target, importance, scene, clock, limbs, work)
    limit_root(target, bound, dt, limbs, work)
    move_root(work, work.late[0], work.late[1], work.late[2])
    note_angles(character, work)
    for limb in range(2, 4):
        if character.limbs[limb, 2] >= 0:
            leg(target, limb, importance, scene, clock, limbs, work)
            update_limb(puppet, limb, work)
    legs_apart(performer, target, importance, clock, limbs, work)
    for limb in range(2, 4):
        if character.limbs[limb, 2] >= 0:
            limit_limb(puppet, character, limb, bound, dt, 0.0, limbs, work, tuning)
            update_limb(puppet, limb, work)
    arms(target, importance, scene, clock, limbs, work)
    cross_arms(target, importance, work)
    for limb in range(2):
        if character.limbs[limb, 2] >= 0:
            limit_limb(puppet, character, limb, bound, dt, importance.hands[0], limbs, work, tuning)
    for limb in range(2):
        has = character.limbs[limb, 2] >= 0
        work.beyond[limb] = beyond_reach(performer, target, importance, limb, work) if has else 0.0
    both = character.limbs[0, 2] >= 0 and character.limbs[1, 2] >= 0
    work.beyond[2] = beyond_meeting(target, importance, work) if both else 0.0
    normalize_rows(work.local[0])
    return iterations


@uncounted_jit
def measure_peak(source, target, roots, rotations, seconds, limbs, work):
    """Measure the largest acceleration of the copied pose over a whole clip."""
    parents, offsets, performer = source
    most = 0.0
    for f in range(roots.shape[0]):
        forward(parents, offsets, roots[f : f + 1], rotations[f : f + 1], work.source_positions, work.source_rotations)
        copy_pose(target, performer, work)
        acceleration_bound(target.stage, seconds, limbs, work)
        most = max(most, limbs.peak[0])
    limbs.peak[0], limbs.peak[1] = most, 0.0


@uncounted_jit
def observe_frame(source, root, rotations, poses, dt, memory, out, work, stage, limbs):
    """Pose the performer (root (1, 3), rotations (1, K, 4)) and compute its importances."""
    parents, offsets, performer = source
    forward(parents, offsets, root, rotations, work.source_positions, work.source_rotations)
    bound = peak_bound(stage, limbs) / stage.size
    clock, positions, turns = (
        Clock(dt, memory.started[0] > 0.0, bound),
        work.source_positions[0],
        work.source_rotations[0],
    )
    bend_toes(
        parents,
        performer.character,
        performer.things,
        poses,
        clock,
        memory.toes,
        positions,
        turns,
        stage.tuning,
        work.scratch,
    )
    analyse(performer, poses, dt, positions, turns, memory, out)


NOT_FINITE, NOT_UNIT = -1, -2
"""What `advance` returns for a frame that it refuses."""
NORM = 1e-6
"""Largest deviation of a quaternion's norm from 1 in a frame."""


@uncounted_jit
def refused(root, rotations):
    """Return why a frame (root (1, 3), rotations (1, K, 4)) is refused: `NOT_FINITE`, `NOT_UNIT`, or 0."""
    finite, unit = True, True
    for k in range(3):
        finite = finite and math.isfinite(root[0, k])
    for j in range(rotations.shape[1]):
        w, x, y, z = rotations[0, j, 0], rotations[0, j, 1], rotations[0, j, 2], rotations[0, j, 3]
        norm = math.sqrt(w * w + x * x + y * y + z * z)
        finite = finite and math.isfinite(norm)
        unit = unit and abs(norm - 1.0) <= NORM
    return NOT_FINITE if not finite else 0 if unit else NOT_UNIT


@jit
def advance(floats, whole, places, memory, memory_places, limbs, limb_places, root, rotations, poses, dt, out):
    """Run the phases two and three for one frame; return the iterations of the body step, or why it is refused.

    Tables as `pack` lays them out; memory, limbs: the floats of the state, changed in place. out: root (3), importances
    in the scene (8) and of the palms (1), whether palms are out of reach (3: of what each touches, and of each other),
    importances of the body (8 S), local rotations (4 J). Flat arguments, because passing a named tuple takes longer and
    this runs live at every frame.
    """
    why = refused(root, rotations)
    if why < 0:
        return why
    tables = Packed(floats, whole, places)
    source, found, work, analysis = (
        source_of(tables),
        found_of(tables),
        work_of(tables),
        memory_of(memory, memory_places),
    )
    target = target_of(tables)
    state = limbs_of(limbs, limb_places)
    observe_frame(source, root, rotations, poses, dt, analysis, found, work, target.stage, state)
    iterations = pose_frame(source[2], target, poses, found, analysis.scene, dt, state, work)
    for k in range(3):
        out[k] = work.root[0, k]
    for limb in range(8):
        out[3 + limb] = found.scene[limb]
    out[11] = found.hands[0]
    out[12], out[13], out[14] = work.beyond[0], work.beyond[1], work.beyond[2]
    n = 15
    for row in range(found.body.shape[0]):
        for k in range(found.body.shape[1]):
            out[n] = found.body[row, k]
            n += 1
    for j in range(work.local.shape[1]):
        for k in range(4):
            out[n] = work.local[0, j, k]
            n += 1
    return iterations


class PackedState(NamedTuple):
    """The state of analysis and limbs, packed."""

    memory: NDArray
    """Floats of a `Memory`, changed in place."""
    memory_places: NDArray
    limbs: NDArray
    """Floats of a `Limbs`, changed in place."""
    limb_places: NDArray


class Performance(NamedTuple):
    """A clip of the performer."""

    roots: NDArray
    """(F, 3) metres."""
    rotations: NDArray
    """(F, K, 4) local rotations."""
    poses: NDArray
    """(F or 1, O, 7) displacements of the scene's objects."""
    seconds: float
    """Duration of a frame."""


class Played(NamedTuple):
    """What `play` writes, F frames."""

    roots: NDArray
    """(F, 3) metres."""
    rotations: NDArray
    """(F, J, 4) local rotations."""
    scene: NDArray
    """(F, 8) importances, see `Importance`."""
    body: NDArray
    """(F, 8, S)."""
    hands: NDArray
    """(F,)."""
    beyond: NDArray
    """(F, 3) 1 where what a palm touches is out of reach, and where the palms cannot meet."""
    iterations: NDArray
    """(F,) int64; of the body step."""


@jit
def play(tables, state, learn, clip, out):
    """Play a whole clip frame by frame, as `advance` does. Return the largest known acceleration, m/s².

    learn: whether the performer's largest acceleration is measured on the whole clip first; else it is learnt on the
    way.
    """
    memory, limbs = memory_of(state.memory, state.memory_places), limbs_of(state.limbs, state.limb_places)
    source, target, importance, work = source_of(tables), target_of(tables), found_of(tables), work_of(tables)
    roots, rotations, seconds = clip.roots, clip.rotations, clip.seconds
    if learn:
        measure_peak(source, target, roots, rotations, seconds, limbs, work)
    peak = limbs.peak[0]
    for f in range(roots.shape[0]):
        here = clip.poses[f if clip.poses.shape[0] > 1 else 0]
        observe_frame(
            source, roots[f : f + 1], rotations[f : f + 1], here, seconds, memory, importance, work, target.stage, limbs
        )
        out.iterations[f] = pose_frame(source[2], target, here, importance, memory.scene, seconds, limbs, work)
        for k in range(3):
            out.roots[f, k] = work.root[0, k]
        for j in range(work.local.shape[1]):
            for k in range(4):
                out.rotations[f, j, k] = work.local[0, j, k]
        for n in range(importance.body.shape[0]):
            for k in range(importance.body.shape[1]):
                out.body[f, n, k] = importance.body[n, k]
        for limb in range(8):
            out.scene[f, limb] = importance.scene[limb]
        out.hands[f] = importance.hands[0]
        for n in range(3):
            out.beyond[f, n] = work.beyond[n]
    return peak if learn else limbs.peak[0]


def smallest_puppet() -> Puppet:
    """Return a skeleton of one joint without limbs, to compile with."""
    return Puppet(
        np.array([-1]), np.zeros((1, 1, 3)), np.ones((4, 3)), np.ones(4), np.array([0]), np.zeros((1, 4), np.int64),
        np.ones(4), np.zeros((2, 3, 4)), np.zeros(2), np.zeros((1, 2)), np.zeros(1, np.int64),
        np.full(1, -1, np.int64), np.zeros((2, 2), np.int64), np.zeros(4),
    )  # fmt: skip


def _without_limbs() -> CharacterTables:
    return smallest_character()._replace(limbs=np.full((4, 3), -1), carriers=np.full(8, -1), general=np.full(8, -1))


def _smallest_parts():
    """Return (floats, whole, places, memory, memory_places, limbs, limb_places) of a character of one joint."""
    rules = Rules(0.15, 0.15, 0.1, 0.1, 0.5, 1.0, 1.0, 1.0, 0.02, 0.02, 0.1, 0.05, 0.2)
    turns, none = np.array([[1.0, 0.0, 0.0, 0.0]]), np.zeros(0, np.int64)
    counterparts = (
        np.array([-1]), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1), turns, turns, turns, none, none,
        np.zeros(0), np.zeros((0, 3)),
    )  # fmt: skip
    tables = pack(
        np.array([-1]), np.zeros((1, 1, 3)), _without_limbs(), smallest_tubes(), np.zeros((8, 1), bool),
        smallest_things(), rules, smallest_puppet(), _without_limbs(), smallest_tubes(), np.zeros(1, bool),
        np.zeros((2, 1), bool), Stage(1.0, np.zeros(3), 1.0, 0.0, True, 0.01, np.ones(len(AT)), 1.0), counterparts,
        new_importance(1), new_work(1, 1, 1),
    )  # fmt: skip
    memory, limbs = pack(new_memory(1, 1)), pack(new_limbs(1, 1))
    return *tables, memory.floats, memory.places, limbs.floats, limbs.places


def _rest():
    return np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])


def _frozen(*shape):
    array = np.ones(shape)
    array.setflags(write=False)
    return array


def _smallest_advance():
    turns = np.array([[[1.0, 0.0, 0.0, 0.0]]])
    return *_smallest_parts(), np.zeros((1, 3)), turns, _rest(), 0.01, np.zeros(15 + 8 + 4)


def _smallest_play():
    parts = _smallest_parts()
    out = Played(
        np.zeros((1, 3)),
        np.zeros((1, 1, 4)),
        np.zeros((1, 8)),
        np.zeros((1, 8, 1)),
        np.zeros(1),
        np.zeros((1, 3)),
        np.zeros(1, np.int64),
    )
    clip = Performance(_frozen(1, 3), _frozen(1, 1, 4), _rest()[None], 0.01)
    return Packed(*parts[:3]), PackedState(*parts[3:]), True, clip, out


WARMUP = {"advance": _smallest_advance, "play": _smallest_play}
