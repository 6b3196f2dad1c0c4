"""Hybrid inverse kinematics, one frame at a time (Lee & Shin 1999, section 5.2).

The trunk (root position, hips, spine …) is solved by Levenberg–Marquardt on few unknowns; the limbs follow in closed
form. The trunk minimises

    Σ rigidity·x² + Σ_limbs importance·(stiffness·|g − s − l|² + overstretch·min(slack, 0)²) + Σ_rows weight·residual²

with x its displacement, g the goal of a limb's end, s its upper joint, l the vector from s to the end in the input
pose, and slack the distance left until g is too far or too near to reach.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit, uncounted_jit
from footplant.kernels.fk import place_of, pose_joint, world_axis
from footplant.kernels.least_squares import (
    Linearization,
    Objective,
    Pose,
    activate,
    displacement_from,
    left_inverse_times,
    next_damping,
    propose,
    value_of,
    workspace,
)
from footplant.kernels.limb import REACHED, SOFTENED, LimbGoal, SkeletonLimb, bend_limb, path_offset
from footplant.kernels.quaternion import log, multiply, rotate

POSITION = 0
HALF_SPACE = 1
ORIENTATION = 2
HOPELESS = 0.2
"""Metres beyond a limb's reach from which the pull of its goal no longer grows."""
SHORTEST = 1e-7
"""Steps (radians, metres) shorter than this end the search."""
NOTHING = 1e-18
"""Objective below which no step would be longer than `SHORTEST`."""
NO_MORE = 1e-8
"""Predicted relative decrease of the objective below which an accepted step is the last one."""


class Trunk(NamedTuple):
    """The trunk of a character."""

    parents: NDArray
    """(J,) parent of each joint; −1 for the root."""
    joints: NDArray
    """(N,) joints that are posed, parents before children."""
    body: NDArray
    """(B,) joints that may rotate."""
    column_of: NDArray
    """(J,) first unknown of each joint's rotation, or −1; unknowns 0–2 are the root's position."""
    rigidity: NDArray
    """(1+B,) cost of moving the root (1/m²) and of rotating each joint of `body` (1/rad²)."""
    iterations: int
    """Largest number of steps."""


class Limbs(NamedTuple):
    """The L limbs of a character."""

    joints: NDArray
    """(L, 3) upper joint, hinge and end."""
    axes: NDArray
    """(L, 3) hinge axes in the upper joints' frames."""
    flexions: NDArray
    """(L, 2) least and largest flexion, radians."""
    swivels: NDArray
    """(L,) radians."""
    stiffness: NDArray
    """(L,) how much the trunk follows each limb (1/m²); 0: not at all."""
    overstretch: NDArray
    """(L,) penalty of a goal out of reach (1/m²), where stiffness is above 0."""
    early: NDArray
    """(L,) least share of the way to a goal that the trunk follows as soon as the goal ramps in."""
    softness: float
    """Share of the reach next to full extension that is approached asymptotically."""


class Bones(NamedTuple):
    """Lengths."""

    offsets: NDArray
    """(1 or F, J, 3) metres."""
    reaches: NDArray
    """(1 or F, L, 2) shortest and longest reach of each limb, metres."""


class Goals(NamedTuple):
    """Goals of the ends of limbs."""

    places: NDArray
    """(F, L, 3) world, metres."""
    turns: NDArray
    """(F, L, 4) world rotations."""
    weights: NDArray
    """(F, L) how much of the position is asked for, 0 to 1."""
    turn_weights: NDArray
    """(F, L) how much of the orientation is asked for, 0 to 1."""
    importance: NDArray
    """(F, L) weight in the trunk's objective."""


class TrunkRows(NamedTuple):
    """R constraints on the trunk."""

    kinds: NDArray
    """(R,) `POSITION`, `HALF_SPACE` or `ORIENTATION`."""
    joints: NDArray
    """(R,)."""
    offsets: NDArray
    """(R, 3) the point in its joint's frame, metres."""
    targets: NDArray
    """(F, R, 4) world position, normal and level of a half-space, or world rotation."""
    weights: NDArray
    """(F, R)."""


class Outcome(NamedTuple):
    """How limbs met their goals."""

    residuals: NDArray
    """(F, L) metres."""
    statuses: NDArray
    """(F, L) int64; see `footplant.kernels.limb`."""


class LimbTargets(NamedTuple):
    """The limbs at one frame, as the trunk's objective sees them."""

    uppers: NDArray
    """(L,) upper joints."""
    reaches: NDArray
    """(L, 2) shortest and longest reach, metres."""
    lines: NDArray
    """(L, 3) vectors from the upper joints to the ends in the input pose, metres."""
    goals: NDArray
    """(L, 3) goals of the ends, world, metres."""


@uncounted_jit
def pose_trunk(trunk, offsets, pose, positions, rotations):
    """Write world positions and rotations of the trunk's joints."""
    for n in range(trunk.joints.shape[0]):
        j = trunk.joints[n]
        p = trunk.parents[j]
        if p < 0:
            for k in range(3):
                positions[j, k] = pose.root[k]
            for k in range(4):
                rotations[j, k] = pose.local[j, k]
        else:
            pose_joint(j, p, offsets, pose.local, positions, rotations)


@uncounted_jit
def place_rows(trunk, joint, point, sign, positions, rotations, jacobian, k):
    """Write columns k … k+2 of the Jacobian: derivatives of a point (3 scalars) carried by a joint, times a sign."""
    px, py, pz = point
    for i in range(3):
        jacobian[i, k + i] = sign
    a = joint
    while a >= 0:
        column = trunk.column_of[a]
        if column >= 0:
            lx, ly, lz = sign * (px - positions[a, 0]), sign * (py - positions[a, 1]), sign * (pz - positions[a, 2])
            for i in range(3):
                ax, ay, az = world_axis(rotations[a, 0], rotations[a, 1], rotations[a, 2], rotations[a, 3], i)
                jacobian[column + i, k] = ay * lz - az * ly
                jacobian[column + i, k + 1] = az * lx - ax * lz
                jacobian[column + i, k + 2] = ax * ly - ay * lx
        a = trunk.parents[a]


@uncounted_jit
def turn_rows(trunk, joint, rotations, residual, jacobian, k):
    """Write columns k … k+2 of the Jacobian: derivatives of the rotation vector `residual` from a target to a joint."""
    a = joint
    while a >= 0:
        column = trunk.column_of[a]
        if column >= 0:
            for i in range(3):
                ax, ay, az = world_axis(rotations[a, 0], rotations[a, 1], rotations[a, 2], rotations[a, 3], i)
                jacobian[column + i, k], jacobian[column + i, k + 1], jacobian[column + i, k + 2] = left_inverse_times(
                    residual[k], residual[k + 1], residual[k + 2], ax, ay, az
                )
        a = trunk.parents[a]


@uncounted_jit
def measure_trunk(trunk, limbs, rows, targets, weights, positions, rotations, at):
    """Write residuals and Jacobian of a posed trunk to a `Linearization`, for rows of weight above 0.

    limbs: `LimbTargets`; targets (R, 4) of the `TrunkRows` at this frame. Residuals 4m … 4m+3 belong to limb m: the
    change of the vector from its upper joint to its goal (metres), and the slack until the goal is too far or too near
    to reach (one-sided). Residuals 4L+3r … belong to trunk row r: point − target, the rotation vector from the target,
    or one signed distance into a half-space (one-sided).
    """
    count = limbs.uppers.shape[0]
    residual, jacobian = at.residual, at.jacobian
    jacobian[:, :] = 0.0
    for m in range(count):
        k = 4 * m
        if weights[k] <= 0.0:
            continue
        s = limbs.uppers[m]
        sx, sy, sz = positions[s, 0], positions[s, 1], positions[s, 2]
        goal, line = limbs.goals[m], limbs.lines[m]
        nearest, farthest = limbs.reaches[m, 0], limbs.reaches[m, 1]
        gx, gy, gz = goal[0] - sx, goal[1] - sy, goal[2] - sz
        residual[k], residual[k + 1], residual[k + 2] = gx - line[0], gy - line[1], gz - line[2]
        place_rows(trunk, trunk.parents[s], (sx, sy, sz), -1.0, positions, rotations, jacobian, k)
        distance = math.sqrt(gx * gx + gy * gy + gz * gz)
        sign = 1.0 if distance - nearest < farthest - distance else -1.0
        residual[k + 3] = distance - nearest if sign > 0.0 else farthest - distance
        if distance > 0.0:
            for c in range(jacobian.shape[0]):
                jacobian[c, k + 3] = (
                    sign * (gx * jacobian[c, k] + gy * jacobian[c, k + 1] + gz * jacobian[c, k + 2]) / distance
                )
    for r in range(rows.kinds.shape[0]):
        k = 4 * count + 3 * r
        if weights[k] <= 0.0:
            continue
        j, target = rows.joints[r], targets[r]
        if rows.kinds[r] == ORIENTATION:
            w, x, y, z = multiply(
                rotations[j, 0], rotations[j, 1], rotations[j, 2], rotations[j, 3],
                target[0], -target[1], -target[2], -target[3],
            )  # fmt: skip
            residual[k], residual[k + 1], residual[k + 2] = log(w, x, y, z)
            turn_rows(trunk, j, rotations, residual, jacobian, k)
            continue
        px, py, pz = place_of(j, rows.offsets[r], positions, rotations)
        place_rows(trunk, j, (px, py, pz), 1.0, positions, rotations, jacobian, k)
        tx, ty, tz = target[0], target[1], target[2]
        if rows.kinds[r] == HALF_SPACE:
            residual[k] = tx * px + ty * py + tz * pz - target[3]
            for c in range(jacobian.shape[0]):
                jacobian[c, k] = tx * jacobian[c, k] + ty * jacobian[c, k + 1] + tz * jacobian[c, k + 2]
        else:
            residual[k], residual[k + 1], residual[k + 2] = px - tx, py - ty, pz - tz


@uncounted_jit
def weigh_trunk(limbs, importance, beyond, kinds, row_weights, weights, one_sided):
    """Write the weight of each residual of `measure_trunk`, and whether it is one-sided.

    beyond (L,): metres by which goals are out of reach at the input pose; far ones pull no harder than near ones.
    """
    count = importance.shape[0]
    for m in range(count):
        stiffness = limbs.stiffness[m]
        stretched = limbs.overstretch[m] * (HOPELESS / beyond[m] if beyond[m] > HOPELESS else 1.0)
        for i in range(4):
            weights[4 * m + i] = importance[m] * (stiffness if i < 3 else stretched) if stiffness > 0.0 else 0.0
            one_sided[4 * m + i] = i == 3
    for r in range(kinds.shape[0]):
        flat = kinds[r] == HALF_SPACE
        for i in range(3):
            weights[4 * count + 3 * r + i] = row_weights[r] if i == 0 or not flat else 0.0
            one_sided[4 * count + 3 * r + i] = flat and i == 0


@uncounted_jit
def normalize_rows(local):
    """Normalise quaternions (J, 4) in place: rounding errors grow with every product."""
    for j in range(local.shape[0]):
        square = local[j, 0] ** 2 + local[j, 1] ** 2 + local[j, 2] ** 2 + local[j, 3] ** 2
        scale = 1.0 / math.sqrt(square)
        for k in range(4):
            local[j, k] *= scale


@uncounted_jit
def aim_trunk(trunk, limbs, bones, goals, f, first, world, beyond):
    """Write the limbs' lines and the goals that the trunk follows at frame f; the trunk is posed as in `first`.

    bones: the skeleton's offsets (J, 3), and `LimbTargets`; world: positions and rotations of the trunk; beyond (L,):
    metres by which goals are out of reach. Return whether any limb has a goal.
    """
    (offsets, targets), (positions, rotations), busy = bones, world, False
    for m in range(limbs.joints.shape[0]):
        weight = goals.weights[f, m]
        busy = busy or weight > 0.0 or goals.turn_weights[f, m] > 0.0
        if goals.importance[f, m] > 0.0:
            upper, end = limbs.joints[m, 0], limbs.joints[m, 2]
            line, aimed, q = targets.lines[m], targets.goals[m], first.local[upper]
            x, y, z = path_offset(trunk.parents, offsets, first.local, upper, end)
            x, y, z = rotate(q[0], q[1], q[2], q[3], x, y, z)
            p = trunk.parents[upper]
            if p >= 0:
                x, y, z = rotate(rotations[p, 0], rotations[p, 1], rotations[p, 2], rotations[p, 3], x, y, z)
            line[0], line[1], line[2] = x, y, z
            share = max(weight, limbs.early[m])
            for i in range(3):
                start = positions[upper, i] + line[i]
                aimed[i] = start + share * (goals.places[f, m, i] - start)
            x, y, z = aimed[0] - positions[upper, 0], aimed[1] - positions[upper, 1], aimed[2] - positions[upper, 2]
            beyond[m] = math.sqrt(x * x + y * y + z * z) - targets.reaches[m, 1]
    return busy


@uncounted_jit
def reach_goal(parents, offsets, limb, goal, positions, rotations, local, scratch):
    """Solve a limb by `bend_limb` if anything is asked of it; one that is hardly held back counts as reached."""
    if goal.weight <= 0.0 and goal.turn_weight <= 0.0:
        return 0.0, REACHED
    residual, status = bend_limb(parents, offsets, limb, goal, positions, rotations, local, scratch)
    return residual, REACHED if status == SOFTENED and residual < 1e-4 else status


@jit
def solve_frames(trunk, limbs, bones, goals, rows, first, pose, outcome):
    """Write the poses nearest to `first` that meet goals and rows; `pose` holds the start of the search (F frames)."""
    frames, joints, limb_count = pose.local.shape[0], pose.local.shape[1], limbs.joints.shape[0]
    unknowns, count = 3 + 3 * trunk.body.shape[0], 4 * limb_count + 3 * rows.kinds.shape[0]
    groups, costs = np.zeros(1 + trunk.body.shape[0], np.int64), np.empty(unknowns)
    for n in range(groups.shape[0]):
        groups[n] = 1 + trunk.body[n - 1] if n > 0 else 0
        for i in range(3):
            costs[3 * n + i] = trunk.rigidity[n]
    positions, rotations = np.zeros((joints, 3)), np.zeros((joints, 4))
    work = workspace(unknowns, count)
    objective = Objective(costs, np.zeros(count), np.zeros(count, np.bool_), np.zeros(count, np.bool_), count)
    now = Linearization(np.zeros(unknowns), np.zeros(count), np.zeros((unknowns, count)))
    then = Linearization(np.zeros(unknowns), np.zeros(count), np.zeros((unknowns, count)))
    lines, aimed, beyond = np.zeros((limb_count, 3)), np.zeros((limb_count, 3)), np.zeros(limb_count)
    scratch = np.zeros((7, 4))
    trial = Pose(np.zeros(3), np.zeros((joints, 4)))
    uppers = limbs.joints[:, 0].copy()
    for f in range(frames):
        offsets = bones.offsets[f if bones.offsets.shape[0] > 1 else 0]
        targets = LimbTargets(uppers, bones.reaches[f if bones.reaches.shape[0] > 1 else 0], lines, aimed)
        reference, here = Pose(first.root[f], first.local[f]), Pose(pose.root[f], pose.local[f])
        pose_trunk(trunk, offsets, reference, positions, rotations)
        busy = aim_trunk(trunk, limbs, (offsets, targets), goals, f, reference, (positions, rotations), beyond)
        for r in range(rows.kinds.shape[0]):
            busy = busy or rows.weights[f, r] > 0.0
        if not busy:
            continue
        weigh_trunk(
            limbs, goals.importance[f], beyond, rows.kinds, rows.weights[f], objective.weights, objective.one_sided
        )
        pose_trunk(trunk, offsets, here, positions, rotations)
        damping, growth = 0.0, 2.0
        measure_trunk(trunk, targets, rows, rows.targets[f], objective.weights, positions, rotations, now)
        displacement_from(groups, reference, here, now.moved)
        cost = value_of(objective, now)
        objective.active[:] = False
        for _ in range(trunk.iterations if cost > NOTHING else 0):
            longest, predicted = propose(groups, objective, now, damping, work, here, trial)
            if 0.0 <= longest < SHORTEST:
                break
            pose_trunk(trunk, offsets, trial, positions, rotations)
            measure_trunk(trunk, targets, rows, rows.targets[f], objective.weights, positions, rotations, then)
            displacement_from(groups, reference, trial, then.moved)
            tried = value_of(objective, then)
            accepted = longest >= 0.0 and tried <= cost
            activated = not accepted and activate(objective, now, then)
            damping, growth = next_damping(accepted, cost - tried, cost - predicted, activated, damping, growth)
            if accepted:
                pose.root[f], pose.local[f] = trial.root, trial.local
                done = cost - predicted <= NO_MORE * cost
                now, then, cost = then, now, tried
                if done:
                    break
        pose_trunk(trunk, offsets, here, positions, rotations)
        for m in range(limb_count):
            limb = SkeletonLimb(
                limbs.joints[m, 0], limbs.joints[m, 1], limbs.joints[m, 2], limbs.axes[m], limbs.flexions[m, 0],
                limbs.flexions[m, 1], limbs.swivels[m], limbs.softness,
            )  # fmt: skip
            goal = LimbGoal(goals.places[f, m], goals.turns[f, m], goals.weights[f, m], goals.turn_weights[f, m])
            outcome.residuals[f, m], outcome.statuses[f, m] = reach_goal(
                trunk.parents, offsets, limb, goal, positions, rotations, pose.local[f], scratch
            )
        normalize_rows(pose.local[f])


def _smallest_call():
    parents = np.array([-1, 0, 1, 2])
    parents.setflags(write=False)
    offsets, root, local = np.zeros((1, 4, 3)), np.zeros((1, 3)), np.zeros((1, 4, 4))
    local[..., 0] = 1.0
    for array in (offsets, root, local):
        array.setflags(write=False)
    numbers = np.zeros(1, np.int64)
    return (
        Trunk(parents, np.array([0, 1]), np.array([0]), np.array([3, -1, -1, -1]), np.ones(2), 3),
        Limbs(
            np.array([[1, 2, 3]]), np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 2.8]]), np.zeros(1), np.ones(1),
            np.ones(1), np.ones(1), 0.01,
        ),
        Bones(offsets, np.ones((1, 1, 2))),
        Goals(np.zeros((1, 1, 3)), np.ones((1, 1, 4)), np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1))),
        TrunkRows(numbers, numbers, np.zeros((1, 3)), np.ones((1, 1, 4)), np.ones((1, 1))),
        Pose(root, local),
        Pose(np.zeros((1, 3)), np.ones((1, 4, 4))),
        Outcome(np.zeros((1, 1)), np.zeros((1, 1), np.int64)),
    )  # fmt: skip


WARMUP = {"solve_frames": _smallest_call}
