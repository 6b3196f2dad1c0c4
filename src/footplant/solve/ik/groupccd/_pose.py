"""The group solver of Kulpa, Multon & Arnaldi 2005, section 9 (METHODS D6): one pose under prioritised constraints.

Legs, head, arms and trunk are adapted in this order, then the root moves to put the centre of mass where it should be,
again and again. Limbs are solved in closed form, so that the trunk has to do only what limbs cannot: bring shoulders
and hips within reach. Priorities are strict: a step of the trunk or the root for one rank is cut short, or not taken,
where it would break a higher rank.

Few arrays, so that calls are cheap: world (J+1, WIDTH), one row a joint (columns in `groupccd_limb`) and last the root
(where it is, where it came in); tree (J, 3) parent, limb, segment; used (U,) joints that are posed; limbs (4, 3+K)
upper joint, hinge, end, then all joints; hinges (4, 5) axis and flexion; sweep (S,) and turns (S, 2) joints of the
trunk, how far they may turn, and their gain; below (J, J) who carries whom; state (T,) joints that steps turn; kinds
(N, 5) kind, joint, other joint, rank, what may move; asks (N, 11) point, target, other point, share; goals (n, 4, 4),
last two as they were before a step that may be refused, as are rows 4–7 of found and tasks.
"""

from __future__ import annotations

import numpy as np

from footplant.kernels import uncounted_jit
from footplant.solve.ik.groupccd._limb import (
    BASE,
    BEFORE,
    BONE,
    CAME,
    CENTER,
    END,
    KIND,
    LIMB,
    LOCAL,
    RANK,
    STEADY,
    WIDTH,
    pose_joint,
    solve_limb,
)
from footplant.solve.ik.groupccd._reach import shoulder_demand
from footplant.solve.ik.groupccd._rows import CENTER_KNOWN, distance_goals, ease_goals, mass_error, row_error
from footplant.solve.ik.groupccd._trunk import (
    NEAR,
    ROOT_FIRST,
    STAYS_BEHIND,
    between_states,
    keep_lean,
    keep_pose,
    keep_state,
    lean_as_before,
    pose_as_kept,
    propose,
)

SLACK = 3e-4
"""Metres by which a step for a lower rank may worsen a higher one."""
OUT_OF_PLACE = 1e-3
"""Metres that the centre of mass is off before lower ranks ask for less."""
FORGET = 0.96
"""Share of its lean that a live figure keeps from instant to instant when it reaches all it should."""


@uncounted_jit
def settle(world, tree, used, limbs, hinges, kinds, asks, goals, first, last, may_drop, found, tasks):
    """Pose the figure: the trunk as its base has it, then all limbs under what is asked of them.

    may_drop: where a leg would not reach, the root comes down first (as in section 7: the lowest height wins).
    """
    root = world.shape[0] - 1
    world[root, CENTER_KNOWN] = 0.0
    for again in range(2):
        moved = again == 1
        for k in range(3):
            moved = moved or world[root, k] != world[root, 3 + k]
        for n in range(used.shape[0]):
            j = used[n]
            if tree[j, LIMB] < 0:
                for k in range(4):
                    world[j, LOCAL + k] = world[j, BASE + k]
                pose_joint(world, tree, j)
        drop = 0.0
        for limb in range(2):
            if limbs[limb, 0] >= 0:
                solve_limb(
                    world, tree, limbs, hinges, kinds, asks, goals, first, last, limb, False, moved, found, tasks
                )
                if may_drop and again == 0 and (found[limb, END] >= 0 or found[limb, BEFORE] >= 0):
                    _, y, _, needed = shoulder_demand(world, tree, limbs, hinges, limb, found, tasks)
                    if needed:
                        drop = max(drop, world[limbs[limb, 0], 1] - y)
        if drop <= 0.0:
            break
        world[root, 1] -= drop
    for limb in range(2, 4):
        if limbs[limb, 0] >= 0:
            solve_limb(world, tree, limbs, hinges, kinds, asks, goals, first, last, limb, False, moved, found, tasks)
    if distance_goals(world, tree, kinds, asks, goals, first, last):
        for limb in range(4):
            if limbs[limb, 0] >= 0:
                solve_limb(world, tree, limbs, hinges, kinds, asks, goals, first, last, limb, True, moved, found, tasks)


@uncounted_jit
def ask(world, kinds, asks, goals, first, begin, end, factor, found):
    """Say what rows begin … end−1 ask for, `factor` of it; what limbs should do is looked up anew."""
    ease_goals(world, kinds, asks, goals, first, begin, end, factor)
    for limb in range(4):
        found[limb, STEADY] = 0


@uncounted_jit
def restore_mass(
    world, tree, used, limbs, hinges, kinds, asks, goals, polygons, f, sides, first, last, rank, rounds, found, tasks
):
    """adaptRoot() of the paper: move the root until the centre of mass is where rows down to a rank want it."""
    root = world.shape[0] - 1
    for _ in range(rounds):
        moved = False
        for i in range(first, last):
            if kinds[i, RANK] > rank:
                break
            if kinds[i, KIND] < CENTER:
                continue
            x, y, z = mass_error(world, used, kinds, asks, polygons, f, sides, i)
            if x * x + y * y + z * z > NEAR * NEAR:
                world[root, 0] += STAYS_BEHIND * x
                world[root, 1] += y
                world[root, 2] += STAYS_BEHIND * z
                moved = True
        if not moved:
            break
        settle(world, tree, used, limbs, hinges, kinds, asks, goals, first, last, True, found, tasks)


@uncounted_jit
def spoilt(world, used, kinds, asks, goals, polygons, f, sides, first, begin, best):
    """Whether a row before `begin` is worse off than its best."""
    for i in range(first, begin):
        if row_error(world, used, kinds, asks, goals, polygons, f, sides, first, i) > best[i - first] + SLACK:
            return True
    return False


@uncounted_jit
def judge(world, used, kinds, asks, goals, polygons, f, sides, first, begin, end, best):
    """(sum of squares left of rows begin … end−1, whether a row before them is worse off than its best)."""
    if spoilt(world, used, kinds, asks, goals, polygons, f, sides, first, begin, best):
        return np.inf, True
    total = 0.0
    for i in range(begin, end):
        total += row_error(world, used, kinds, asks, goals, polygons, f, sides, first, i) ** 2
    return total, False


@uncounted_jit
def restore_mass_if_it_may(
    world, tree, used, limbs, hinges, state, kinds, asks, goals, polygons, f, sides, first, last, begin, rank, rounds,
    found, tasks, saved, best,
):  # fmt: skip
    """As `restore_mass`, and back again where a row before `begin` would be worse off than its best."""
    keep_state(world, state, saved)
    keep_pose(world, used, goals, found, tasks)
    restore_mass(
        world, tree, used, limbs, hinges, kinds, asks, goals, polygons, f, sides, first, last, rank, rounds, found,
        tasks,
    )  # fmt: skip
    if spoilt(world, used, kinds, asks, goals, polygons, f, sides, first, begin, best):
        between_states(world, state, saved, saved, 0.0)
        pose_as_kept(world, used, goals, found, tasks)


@uncounted_jit
def climb(
    world, tree, used, limbs, hinges, sweep, turns, below, state, kinds, asks, goals, polygons, f, sides, first, last,
    begin, end, begun, tries, shorter, found, tasks, demands, owners, system, saved, ahead, best,
):  # fmt: skip
    """Meet the rows of one rank (begin … end−1) as far as higher ranks let trunk and root move; squares left over."""
    rank = kinds[begin, RANK]
    merit, _ = judge(world, used, kinds, asks, goals, polygons, f, sides, first, begin, end, best)
    stalled, refused = 0, False
    for step in range(begun, begun + tries):
        if merit <= NEAR * NEAR or stalled > 1:
            break
        if refused and step != ROOT_FIRST:
            # from the same pose it would be the same step
            continue
        keep_state(world, state, saved)
        keep_pose(world, used, goals, found, tasks)
        propose(
            world, tree, used, limbs, hinges, sweep, turns, below, kinds, asks, goals, polygons, f, sides, first, last,
            rank, step, found, tasks, demands, owners, system,
        )  # fmt: skip
        keep_state(world, state, ahead)
        share, taken = 1.0, False
        for _ in range(shorter):
            if share < 1.0:
                between_states(world, state, saved, ahead, share)
            settle(world, tree, used, limbs, hinges, kinds, asks, goals, first, last, True, found, tasks)
            restore_mass(
                world, tree, used, limbs, hinges, kinds, asks, goals, polygons, f, sides, first, last, rank - 1, 1,
                found, tasks,
            )  # fmt: skip
            now, worse = judge(world, used, kinds, asks, goals, polygons, f, sides, first, begin, end, best)
            if now < merit and not worse:
                stalled = stalled + 1 if now > 0.98 * merit else 0
                merit, taken = now, True
                break
            share *= 0.35
        if not taken:
            between_states(world, state, saved, ahead, 0.0)
            pose_as_kept(world, used, goals, found, tasks)
            if step >= ROOT_FIRST:
                break
        refused = not taken
    return merit


@uncounted_jit
def solve_pose(
    world, tree, used, limbs, hinges, sweep, turns, below, state, kinds, asks, goals, polygons, f, sides, first, last,
    leaning, tries, found, tasks, demands, owners, system, saved, ahead, best, residuals,
):  # fmt: skip
    """One pose: `world` holds bones and what came in, and is given back solved; True where no step was needed."""
    ask(world, kinds, asks, goals, first, first, last, 1.0, found)
    settle(world, tree, used, limbs, hinges, kinds, asks, goals, first, last, True, found, tasks)
    keep_state(world, state, ahead)
    lowest = kinds[last - 1, RANK]
    restore_mass(
        world, tree, used, limbs, hinges, kinds, asks, goals, polygons, f, sides, first, last, lowest,
        1 if leaning else 5, found, tasks,
    )  # fmt: skip
    worst = 0.0
    for i in range(first, last):
        residuals[i] = row_error(world, used, kinds, asks, goals, polygons, f, sides, first, i)
        worst = max(worst, residuals[i])
    if worst <= NEAR:
        return True
    # not all can be met by limbs, and the root under the centre of mass: one rank after another
    begun = ROOT_FIRST
    if not leaning:
        begun = 0
        between_states(world, state, ahead, ahead, 0.0)
        settle(world, tree, used, limbs, hinges, kinds, asks, goals, first, last, True, found, tasks)
    begin = first
    while begin < last:
        end = begin + 1
        massive = kinds[begin, KIND] >= CENTER
        while end < last and kinds[end, RANK] == kinds[begin, RANK]:
            massive = massive or kinds[end, KIND] >= CENTER
            end += 1
        factor = 1.0
        for _ in range(1 if leaning else 3):
            if not leaning:
                restore_mass_if_it_may(
                    world, tree, used, limbs, hinges, state, kinds, asks, goals, polygons, f, sides, first, last,
                    begin, kinds[begin, RANK] - 1, 2, found, tasks, saved, best,
                )  # fmt: skip
            merit = climb(
                world, tree, used, limbs, hinges, sweep, turns, below, state, kinds, asks, goals, polygons, f, sides,
                first, last, begin, end, begun, tries, 1 if leaning else 3, found, tasks, demands, owners, system,
                saved, ahead, best,
            )  # fmt: skip
            if not massive or end == last or merit < OUT_OF_PLACE * OUT_OF_PLACE:
                break
            # what comes after asks for less, so that the balance holds
            factor = max(factor - 0.5, 0.0)
            ask(world, kinds, asks, goals, first, end, last, factor, found)
            settle(world, tree, used, limbs, hinges, kinds, asks, goals, first, last, True, found, tasks)
        for i in range(first, end):
            best[i - first] = row_error(world, used, kinds, asks, goals, polygons, f, sides, first, i)
        begin = end
    ease_goals(world, kinds, asks, goals, first, first, last, 1.0)
    for i in range(first, last):
        residuals[i] = row_error(world, used, kinds, asks, goals, polygons, f, sides, first, i)
    return False


@uncounted_jit
def load_pose(world, tree, used, offsets, masses, centers, roots, turns, f, bone, mass):
    """Put figure or frame f into the workspace and pose it as it comes in."""
    root = world.shape[0] - 1
    for k in range(3):
        world[root, k] = roots[f, k]
        world[root, 3 + k] = roots[f, k]
    for n in range(used.shape[0]):
        j = used[n]
        for k in range(4):
            value = turns[f, j, k]
            world[j, LOCAL + k] = value
            world[j, BASE + k] = value
            world[j, CAME + k] = value
        for k in range(3):
            world[j, BONE + k] = offsets[bone, j, k]
            world[j, 30 + k] = centers[mass, j, k]
        world[j, 29] = masses[mass, j]
        pose_joint(world, tree, j)
        for k in range(7):
            world[j, 19 + k] = world[j, k]


@uncounted_jit
def solve_poses(
    tree, used, limbs, hinges, sweep, turns, below, state, offsets, masses, centers, roots, locals_, starts, kinds,
    asks, polygons, sides, leans, tries, world, goals, found, tasks, demands, owners, system, saved, ahead, best,
    residuals,
):  # fmt: skip
    """Many poses, frames of a clip or figures of a crowd: roots (F, 3) and locals (F, J, 4) are changed in place.

    offsets (1 or F, J, 3), masses (1 or F, J), centers (1 or F, J, 3): bones and masses. leans (F, T+1, 3): how each
    figure leant an instant ago, changed in place; (0, …) for poses that know nothing of one another.
    """
    moving, differing = offsets.shape[0] > 1, masses.shape[0] > 1
    root = world.shape[0] - 1
    for f in range(roots.shape[0]):
        first, last = starts[f], starts[f + 1]
        if first == last:
            continue
        bone, mass = f if moving else 0, f if differing else 0
        load_pose(world, tree, used, offsets, masses, centers, roots, locals_, f, bone, mass)
        leaning = leans.shape[0] > 0 and lean_as_before(world, state, leans, f)
        easy = solve_pose(
            world, tree, used, limbs, hinges, sweep, turns, below, state, kinds, asks, goals, polygons, f, sides[f],
            first, last, leaning, tries, found, tasks, demands, owners, system, saved, ahead, best, residuals,
        )  # fmt: skip
        if leans.shape[0] > 0:
            keep_lean(world, state, leans, f, FORGET if easy else 1.0)
        for k in range(3):
            roots[f, k] = world[root, k]
        for n in range(used.shape[0]):
            j = used[n]
            for k in range(4):
                locals_[f, j, k] = world[j, LOCAL + k]


def workspace(joints, most_rows, states):
    """Arrays that a solve writes into, for figures of so many joints, rows and joints that steps turn."""
    rows = max(most_rows, 1)
    return (
        np.zeros((joints + 1, WIDTH)), np.zeros((rows, 4, 4)), np.full((8, 13), -1), np.zeros((8, 4, 6)),
        np.zeros((rows + 4, 9)), np.zeros((rows + 4, 2), np.int64), np.zeros((rows + 4, rows + 6)),
        np.zeros((states + 1, 4)),
        np.zeros((states + 1, 4)), np.zeros(rows),
    )  # fmt: skip


def _read_only(*shape):
    array = np.zeros(shape)
    array.setflags(write=False)
    return array


def _smallest_call():
    none = np.zeros(0, np.int64)
    return (
        np.array([[-1, -1, 0]]), np.zeros(1, np.int64), np.full((4, 4), -1), np.zeros((4, 5)), none, np.zeros((0, 2)),
        np.ones((1, 1), np.bool_), none, _read_only(1, 1, 3), _read_only(1, 1), _read_only(1, 1, 3), np.zeros((1, 3)),
        np.ones((1, 1, 4)), np.zeros(2, np.int64), np.zeros((0, 5), np.int64), np.zeros((0, 11)), np.zeros((1, 1, 2)),
        np.zeros(1, np.int64), np.zeros((0, 1, 3)), 1, *workspace(1, 1, 0), np.zeros(0),
    )  # fmt: skip


WARMUP = {"solve_poses": _smallest_call}
