"""The group solver of Kulpa, Multon & Arnaldi 2005, section 9: one pose under prioritised constraints.

Legs, head, arms and trunk are adapted in this order, then the root moves the centre of mass to its target, and all of
it is repeated. Limbs are solved in closed form, so that the trunk does only what limbs cannot: bring shoulders and hips
within reach. Priorities are strict: a step of trunk or root for one rank is shortened, or rejected, where it would
violate a higher rank.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import uncounted_jit
from footplant.solve.ik.groupccd._limb import (
    ALLOW,
    BASE,
    BEFORE,
    BONE,
    CENTER,
    END,
    INPUT,
    INPUT_PLACE,
    KIND,
    LIMB,
    LOCAL,
    MASS,
    MIDDLE,
    RANK,
    STEADY,
    WIDTH,
    Body,
    PoseRows,
    Work,
    pose_joint,
    solve_limb,
)
from footplant.solve.ik.groupccd._reach import shoulder_demand
from footplant.solve.ik.groupccd._rows import (
    CENTER_KNOWN,
    center_of_mass,
    distance_goals,
    ease_goals,
    mass_error,
    row_error,
)
from footplant.solve.ik.groupccd._trunk import (
    NEAR,
    ROOT_FIRST,
    ROOT_OVERSHOOT,
    interpolate_state,
    kept_over_soles,
    propose,
    restore_lean,
    restore_pose,
    save_lean,
    save_pose,
    save_state,
)

SLACK = 3e-4
"""Metres by which a step for a lower rank may worsen a higher one."""
OUT_OF_PLACE = 1e-3
"""Error of the centre of mass, metres, from which lower ranks are relaxed."""
RESTORED = 3
"""How often the root is moved under the centre of mass after a step of who keeps it over the soles. After one round it
is off by a tenth of its way, and such a step is rejected: one of 24 low targets of three bodies is missed by 14 mm."""
SYNERGY = 0.7
"""Share of the shift of the centre of mass in a step that the hips take back. Over 24 low targets of three bodies, hips
are 88 mm before to 3 mm behind their place at 0, 24 mm before to 26 mm behind at 0.7, and 93 mm behind at 1; all are
met, and joints accelerate alike (75, 73, 71 m/s²)."""
LEAN_DECAY = 0.96
"""Factor per frame by which a live character's lean decays while it reaches all its targets."""


class Bones(NamedTuple):
    """Bones and masses of characters, 1 for all poses or one per pose."""

    offsets: NDArray
    """(1 or F, J, 3) metres."""
    masses: NDArray
    """(1 or F, J) mass fractions."""
    centers: NDArray
    """(1 or F, J, 3) centres of mass in the joints' frames, metres."""


class AllRows(NamedTuple):
    """Rows of n of F poses; those of the k-th are starts[k] … starts[k+1]−1. See `solve.ik.groupccd.rows.Rows`."""

    starts: NDArray
    kinds: NDArray
    asks: NDArray
    polygons: NDArray
    sides: NDArray


class Poses(NamedTuple):
    """F poses, changed in place."""

    roots: NDArray
    """(F, 3) metres."""
    locals: NDArray
    """(F, J, 4) local rotations."""
    leans: NDArray
    """(F, T+1, 3) how each character leant at the previous instant; (0, …) for independent poses."""
    residuals: NDArray
    """(N,) metres or radians left of the rows."""
    which: NDArray
    """(n,) the poses that are solved: of which the rows are, in this order."""


@uncounted_jit
def pose_all(body, rows, work, may_drop):
    """Pose the character: the trunk from its base rotations, then all limbs under their tasks.

    may_drop: where a leg would not reach, the root is lowered first (as in section 7: the lowest height wins).
    """
    world, tree, limbs = work.world, body.tree, body.limbs
    root = world.shape[0] - 1
    world[root, CENTER_KNOWN] = 0.0
    for again in range(2):
        moved = again == 1
        for k in range(3):
            moved = moved or world[root, k] != world[root, 3 + k]
        for n in range(body.used.shape[0]):
            j = body.used[n]
            if tree[j, LIMB] < 0:
                for k in range(4):
                    world[j, LOCAL + k] = world[j, BASE + k]
                pose_joint(world, tree, j)
        drop = 0.0
        for limb in range(2):
            if limbs[limb, 0] >= 0:
                solve_limb(body, rows, work, limb, False, moved)
                if may_drop and again == 0 and (work.found[limb, END] >= 0 or work.found[limb, BEFORE] >= 0):
                    _, y, _, needed = shoulder_demand(body, work, limb)
                    if needed:
                        drop = max(drop, world[limbs[limb, 0], 1] - y)
        if drop <= 0.0:
            break
        world[root, 1] -= drop
    for limb in range(2, 4):
        if limbs[limb, 0] >= 0:
            solve_limb(body, rows, work, limb, False, moved)
    if distance_goals(body, rows, work):
        for limb in range(4):
            if limbs[limb, 0] >= 0:
                solve_limb(body, rows, work, limb, True, moved)


@uncounted_jit
def set_goals(rows, work, begin, end, factor):
    """Set the goals of rows begin … end−1 to the share `factor`; the limbs' tasks are looked up again."""
    ease_goals(rows, work, begin, end, factor)
    for limb in range(4):
        work.found[limb, STEADY] = 0


@uncounted_jit
def restore_mass(body, rows, work, rank, rounds):
    """Move the root until the centre of mass meets its rows down to a rank (adaptRoot() of the paper)."""
    world = work.world
    root = world.shape[0] - 1
    for _ in range(rounds):
        moved = False
        for i in range(rows.first, rows.last):
            if rows.kinds[i, RANK] > rank:
                break
            if rows.kinds[i, KIND] < CENTER:
                continue
            x, y, z = mass_error(body, rows, work, i)
            if x * x + y * y + z * z > NEAR * NEAR:
                world[root, 0] += ROOT_OVERSHOOT * x
                world[root, 1] += y
                world[root, 2] += ROOT_OVERSHOOT * z
                moved = True
        if not moved:
            break
        pose_all(body, rows, work, True)


@uncounted_jit
def violates_higher(body, rows, work, begin):
    """Return whether a row before `begin` is worse than its best error by more than `SLACK`."""
    violated = False
    for i in range(rows.first, begin):
        if row_error(body, rows, work, i) > work.best[i - rows.first] + SLACK:
            violated = True
            break
    return violated


@uncounted_jit
def merit_of(body, rows, work, begin, end):
    """Return (sum of squared errors of rows begin … end−1, whether a row before them is violated)."""
    if violates_higher(body, rows, work, begin):
        return np.inf, True
    total = 0.0
    for i in range(begin, end):
        total += row_error(body, rows, work, i) ** 2
    return total, False


@uncounted_jit
def try_restore_mass(body, rows, work, begin, rank, rounds):
    """Apply `restore_mass`, and undo it where a row before `begin` would be violated."""
    save_state(work.world, body.state, work.saved)
    save_pose(body, work)
    restore_mass(body, rows, work, rank, rounds)
    if violates_higher(body, rows, work, begin):
        interpolate_state(work.world, body.state, work.saved, work.saved, 0.0)
        restore_pose(body, work)


@uncounted_jit
def shift_hips(body, rows, work, x, z):
    """Shift the root so that the centre of mass stays nearer to where it was before a step, x and z.

    Who bends forward moves the hips back (Crenna, Frigo, Massion & Pedotti, "Forward and backward axial synergies in
    man", Experimental Brain Research 65, 1987).
    """
    world = work.world
    root = world.shape[0] - 1
    nx, _, nz = center_of_mass(world, body.used)
    world[root, 0] -= SYNERGY * (nx - x)
    world[root, 2] -= SYNERGY * (nz - z)
    pose_all(body, rows, work, True)


@uncounted_jit
def solve_rank(body, rows, work, begin, end, begun, tries, shorter):
    """Meet the rows of one rank (begin … end−1) as far as higher ranks allow; return the squared error left.

    begun: number of the first step; shorter: how many step lengths are tried.
    """
    world, state, saved, ahead = work.world, body.state, work.saved, work.ahead
    rank = rows.kinds[begin, RANK]
    merit, _ = merit_of(body, rows, work, begin, end)
    stalled, rejected = 0, False
    balanced = body.pelvis[0] >= 0 and kept_over_soles(rows, rank)
    rounds = RESTORED if balanced else 1
    for step in range(begun, begun + tries):
        if merit <= NEAR * NEAR or stalled > 1:
            break
        if rejected and step != ROOT_FIRST:
            # the same pose would give the same step
            continue
        cx, _, cz = center_of_mass(world, body.used)
        save_state(world, state, saved)
        save_pose(body, work)
        propose(body, rows, work, rank, step)
        save_state(world, state, ahead)
        share, accepted = 1.0, False
        for _ in range(shorter):
            if share < 1.0:
                interpolate_state(world, state, saved, ahead, share)
            pose_all(body, rows, work, True)
            if balanced:
                shift_hips(body, rows, work, cx, cz)
            restore_mass(body, rows, work, rank - 1, rounds)
            now, violated = merit_of(body, rows, work, begin, end)
            if now < merit and not violated:
                stalled = stalled + 1 if now > 0.98 * merit else 0
                merit, accepted = now, True
                break
            share *= 0.35
        if not accepted:
            interpolate_state(world, state, saved, ahead, 0.0)
            restore_pose(body, work)
            if step >= ROOT_FIRST:
                break
        rejected = not accepted
    return merit


@uncounted_jit
def solve_pose(body, rows, work, leaning, tries, residuals):
    """Solve one pose: `work.world` holds bones and the input pose; return whether limbs and root were enough."""
    first, last, kinds = rows.first, rows.last, rows.kinds
    set_goals(rows, work, first, last, 1.0)
    pose_all(body, rows, work, True)
    save_state(work.world, body.state, work.ahead)
    restore_mass(body, rows, work, kinds[last - 1, RANK], 1 if leaning else 5)
    worst = 0.0
    for i in range(first, last):
        residuals[i] = row_error(body, rows, work, i)
        worst = max(worst, residuals[i])
    if worst <= NEAR:
        return True
    # limbs, and the root below the centre of mass, are not enough: solve rank after rank
    begun = ROOT_FIRST
    if not leaning:
        begun = 0
        interpolate_state(work.world, body.state, work.ahead, work.ahead, 0.0)
        pose_all(body, rows, work, True)
    begin = first
    while begin < last:
        end = begin + 1
        has_mass, steps = kinds[begin, KIND] >= CENTER, kinds[begin, ALLOW] != 0
        while end < last and kinds[end, RANK] == kinds[begin, RANK]:
            has_mass, steps = has_mass or kinds[end, KIND] >= CENTER, steps or kinds[end, ALLOW] != 0
            end += 1
        factor = 1.0
        # rows that only their limbs may move for are as good as they get
        for _ in range((1 if leaning else 3) if steps or has_mass else 0):
            if not leaning:
                try_restore_mass(body, rows, work, begin, kinds[begin, RANK] - 1, 2)
            merit = solve_rank(body, rows, work, begin, end, begun, tries, 1 if leaning else 3)
            if not has_mass or end == last or merit < OUT_OF_PLACE * OUT_OF_PLACE:
                break
            # relax the lower ranks, so that the balance holds
            factor = max(factor - 0.5, 0.0)
            set_goals(rows, work, end, last, factor)
            pose_all(body, rows, work, True)
        for i in range(first, end):
            work.best[i - first] = row_error(body, rows, work, i)
        begin = end
    ease_goals(rows, work, first, last, 1.0)
    for i in range(first, last):
        residuals[i] = row_error(body, rows, work, i)
    return False


@uncounted_jit
def load_pose(body, bones, poses, f, world):
    """Load pose f into the table of joints as the input pose."""
    root = world.shape[0] - 1
    bone, mass = f if bones.offsets.shape[0] > 1 else 0, f if bones.masses.shape[0] > 1 else 0
    for k in range(3):
        world[root, k] = poses.roots[f, k]
        world[root, 3 + k] = poses.roots[f, k]
    for n in range(body.used.shape[0]):
        j = body.used[n]
        for k in range(4):
            value = poses.locals[f, j, k]
            world[j, LOCAL + k] = value
            world[j, BASE + k] = value
            world[j, INPUT + k] = value
        for k in range(3):
            world[j, BONE + k] = bones.offsets[bone, j, k]
            world[j, MIDDLE + k] = bones.centers[mass, j, k]
        world[j, MASS] = bones.masses[mass, j]
        pose_joint(world, body.tree, j)
        for k in range(7):
            world[j, INPUT_PLACE + k] = world[j, k]


@uncounted_jit
def solve_poses(body, bones, rows, poses, work, tries):
    """Solve many poses, frames of a clip or characters of a crowd, in place."""
    world, leans = work.world, poses.leans
    root = world.shape[0] - 1
    for number in range(poses.which.shape[0]):
        f, first, last = poses.which[number], rows.starts[number], rows.starts[number + 1]
        if first == last:
            continue
        load_pose(body, bones, poses, f, world)
        own = PoseRows(rows.kinds, rows.asks, rows.polygons, f, rows.sides[f], first, last)
        leaning = leans.shape[0] > 0 and restore_lean(world, body.state, leans, f)
        easy = solve_pose(body, own, work, leaning, tries, poses.residuals)
        if leans.shape[0] > 0:
            save_lean(world, body.state, leans, f, LEAN_DECAY if easy else 1.0)
        for k in range(3):
            poses.roots[f, k] = world[root, k]
        for n in range(body.used.shape[0]):
            j = body.used[n]
            for k in range(4):
                poses.locals[f, j, k] = world[j, LOCAL + k]


def workspace(joints: int, most_rows: int, states: int) -> Work:
    """Return a workspace for characters of so many joints, rows and joints that steps rotate."""
    rows = max(most_rows, 1)
    return Work(
        np.zeros((joints + 1, WIDTH)), np.zeros((rows, 4, 4)), np.full((8, 13), -1), np.zeros((8, 4, 6)),
        np.zeros((rows + 4, 9)), np.zeros((rows + 4, 2), np.int64), np.zeros((rows + 4, rows + 6)),
        np.zeros((states + 1, 4)), np.zeros((states + 1, 4)), np.zeros(rows),
    )  # fmt: skip


def _read_only(*shape):
    array = np.zeros(shape)
    array.setflags(write=False)
    return array


def _smallest_call():
    none = np.zeros(0, np.int64)
    body = Body(
        np.array([[-1, -1, 0]]), np.zeros(1, np.int64), np.full((4, 4), -1), np.zeros((4, 5)), none, np.zeros((0, 2)),
        np.ones((1, 1), np.bool_), none, np.full(1, -1),
    )  # fmt: skip
    rows = AllRows(
        np.zeros(2, np.int64), np.zeros((0, 5), np.int64), np.zeros((0, 11)), np.zeros((1, 1, 2)), np.zeros(1, np.int64)
    )
    poses = Poses(np.zeros((1, 3)), np.ones((1, 1, 4)), np.zeros((0, 1, 3)), np.zeros(0), np.zeros(1, np.int64))
    bones = Bones(_read_only(1, 1, 3), _read_only(1, 1), _read_only(1, 1, 3))
    return body, bones, rows, poses, workspace(1, 1, 0), 1


WARMUP = {"solve_poses": _smallest_call}
