"""Numerical inverse kinematics, one frame at a time (Lee & Shin 1999, section 5.1).

Levenberg–Marquardt (`footplant.kernels.least_squares`) on Σ cost·x² + Σ weight·penalty·residual², x the displacement
from the reference pose, in stages of growing penalties. The residuals of a row are those of its pins (three each), of
its `Bounds` (joint limits, hinges, soles; see there), and of any other constraints, in this order.

Unknowns come in groups of three: group 0 is the root's position, group 1+j the rotation vector of joint j. `group_of`
(1+J,) is the index of a group among the unknown ones, or −1. Jacobians are stored with the unknowns first, (n, K).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit, uncounted_jit
from footplant.kernels.fk import forward, place_of, world_axis
from footplant.kernels.least_squares import (
    MOST_DAMPING,
    SETTLED,
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
from footplant.kernels.quaternion import log, multiply

POSITION = 0
ORIENTATION = 1
FAINT = 0.01
"""Weight of a constraint at the very start of its ramp."""


class Body(NamedTuple):
    """A character and its unknowns."""

    parents: NDArray
    """(J,)."""
    offsets: NDArray
    """(1 or F, J, 3) bones, metres."""
    groups: NDArray
    """(G,) groups that are unknown, ascending."""
    group_of: NDArray
    """(1+J,) index of each group among the unknown ones, or −1."""
    costs: NDArray
    """(3·G,) cost of each unknown."""


class Pins(NamedTuple):
    """N pins sorted by row; those of row f are starts[f] … starts[f+1]−1."""

    starts: NDArray
    kinds: NDArray
    joints: NDArray
    offsets: NDArray
    """(N, 3) the point in its joint's frame, metres."""
    targets: NDArray
    """(N, 4) world position or rotation."""
    axes: NDArray
    """(N, 3) weight of each world axis."""
    chain_of: NDArray
    """(N,) the row of `chains` of each pin."""
    chains: NDArray
    """(C, 1+J) bool; groups that may move."""


class Bounds(NamedTuple):
    """Limits of B joints, hinges of H joints and the ground under S points of the soles, in F rows.

    Residuals: for each joint three slacks to the nearest bound of the components of v = log(above·local·below)
    (one-sided, radians); for each hinge two rotations off its axis, the displacement along `sideways` (radians); for
    each sole its height above its floor (one-sided, metres).
    """

    joints: NDArray
    """(B,) joints with limits."""
    above: NDArray
    """(B, 4) reference rotation of the joint's parent in the world."""
    below: NDArray
    """(B, 4) inverse reference rotation of the joint in the world."""
    own: NDArray
    """(F, B, 3) v in the clip: v is taken on the branch of the logarithm nearest to it."""
    lower: NDArray
    """(F, B, 3) radians."""
    upper: NDArray
    """(F, B, 3) radians."""
    hinges: NDArray
    """(H,) elbows and knees."""
    sideways: NDArray
    """(F, H, 2, 3) unit vectors across the hinge axis in the joint's own frame."""
    soles: NDArray
    """(S,) joints that carry the points."""
    sole_offsets: NDArray
    """(S, 3) metres."""
    floors: NDArray
    """(F, S, 3) least height c + gx·x + gz·z as c, gx, gz: the tangent plane of the ground, metres."""


class PinTerms(NamedTuple):
    """Weights of N pins; each has three residuals of one weight."""

    weights: NDArray
    shares: NDArray
    """(N,) activations, above 0, up to 1."""
    levels: NDArray
    """(N,) column of the penalties."""
    turn_weight: float
    """Weight of a joint limit, square metres per square radian."""


class RowTerms(NamedTuple):
    """Weights of up to K residuals at each of F rows."""

    weights: NDArray
    shares: NDArray
    levels: NDArray
    one_sided: NDArray
    counts: NDArray
    """(F,) number of residuals."""


class Schedule(NamedTuple):
    """The stages of the penalty method."""

    penalties: NDArray
    """(stages, levels)."""
    gains: NDArray
    """(stages,) relative decrease below which a stage ends."""
    most: int
    """Largest number of steps in a stage."""


class Poses(NamedTuple):
    """Poses of F rows."""

    reference: Pose
    pose: Pose
    trial: Pose


class Measured(NamedTuple):
    """Residuals of constraints that are not pins, evaluated at the trial poses of B rows."""

    rows: NDArray
    """(B,)."""
    residuals: NDArray
    """(B, E); they follow a row's pins."""
    jacobians: NDArray
    """(B, E, n)."""


class State(NamedTuple):
    """The search at F rows, kept from step to step."""

    moved: NDArray
    residuals: NDArray
    jacobians: NDArray
    """(F, n, K)."""
    active: NDArray
    """(F, K) active set of inequalities."""
    stages: NDArray
    tries: NDArray
    """(F,) steps in the present stage."""
    dampings: NDArray
    growths: NDArray
    longest: NDArray
    """(F,) largest component of the proposed step."""
    predicted: NDArray
    """(F,) predicted objective after it."""


@uncounted_jit
def measure_pin(body, pins, pin, positions, rotations, at, k):
    """Write the three residuals of a pin from k on, and their derivatives by the unknowns that move it."""
    joint, target, axes, chain = pins.joints[pin], pins.targets[pin], pins.axes[pin], pins.chains[pins.chain_of[pin]]
    residual, jacobian, is_position = at.residual, at.jacobian, pins.kinds[pin] == POSITION
    px, py, pz = 0.0, 0.0, 0.0
    if is_position:
        px, py, pz = place_of(joint, pins.offsets[pin], positions, rotations)
        residual[k] = axes[0] * (px - target[0])
        residual[k + 1] = axes[1] * (py - target[1])
        residual[k + 2] = axes[2] * (pz - target[2])
        place = body.group_of[0]
        if place >= 0 and chain[0]:
            for i in range(3):
                jacobian[3 * place + i, k + i] = axes[i]
    else:
        w, x, y, z = multiply(
            rotations[joint, 0], rotations[joint, 1], rotations[joint, 2], rotations[joint, 3],
            target[0], -target[1], -target[2], -target[3],
        )  # fmt: skip
        residual[k], residual[k + 1], residual[k + 2] = log(w, x, y, z)
    a = joint
    while a >= 0:
        group = body.group_of[1 + a]
        if group >= 0 and chain[1 + a]:
            lx, ly, lz = px - positions[a, 0], py - positions[a, 1], pz - positions[a, 2]
            for i in range(3):
                ax, ay, az = world_axis(rotations[a, 0], rotations[a, 1], rotations[a, 2], rotations[a, 3], i)
                if is_position:
                    jacobian[3 * group + i, k] = axes[0] * (ay * lz - az * ly)
                    jacobian[3 * group + i, k + 1] = axes[1] * (az * lx - ax * lz)
                    jacobian[3 * group + i, k + 2] = axes[2] * (ax * ly - ay * lx)
                else:
                    (
                        jacobian[3 * group + i, k],
                        jacobian[3 * group + i, k + 1],
                        jacobian[3 * group + i, k + 2],
                    ) = left_inverse_times(residual[k], residual[k + 1], residual[k + 2], ax, ay, az)
        a = body.parents[a]


@uncounted_jit
def bound_count(bounds):
    """Return the number of residuals of the bounds of a row."""
    return 3 * bounds.joints.shape[0] + 2 * bounds.hinges.shape[0] + bounds.soles.shape[0]


@uncounted_jit
def anatomical_turn(above, local, below, own):
    """Return v = log(above·local·below), three scalars, on the branch of the logarithm nearest to `own` (3,)."""
    w, x, y, z = multiply(above[0], above[1], above[2], above[3], local[0], local[1], local[2], local[3])
    w, x, y, z = multiply(w, x, y, z, below[0], below[1], below[2], below[3])
    x, y, z = log(w, x, y, z)
    square = x * x + y * y + z * z
    if square > 4.0:
        # the same rotation the other way round; it is nearer where a joint turns on beyond 180°
        other = 1.0 - 2.0 * math.pi / math.sqrt(square)
        here = (x - own[0]) ** 2 + (y - own[1]) ** 2 + (z - own[2]) ** 2
        if (other * x - own[0]) ** 2 + (other * y - own[1]) ** 2 + (other * z - own[2]) ** 2 < here:
            return other * x, other * y, other * z
    return x, y, z


@uncounted_jit
def measure_limits(body, bounds, f, local, active, at, k):
    """Write the slacks of joint limits from k on, with derivatives where they take part."""
    residual, jacobian = at.residual, at.jacobian
    for b in range(bounds.joints.shape[0]):
        joint, below = bounds.joints[b], bounds.below[b]
        group = body.group_of[1 + joint]
        v = anatomical_turn(bounds.above[b], local[joint], below, bounds.own[f, b])
        for i in range(3):
            row = k + 3 * b + i
            low, high = v[i] - bounds.lower[f, b, i], bounds.upper[f, b, i] - v[i]
            sign = 1.0 if low < high else -1.0
            residual[row] = low if low < high else high
            if group < 0 or not (residual[row] < 0.0 or active[row]):
                # joints that are not unknown keep their pose, and a joint without limits is always within them
                residual[row] = max(residual[row], 0.0) if group < 0 else residual[row]
                continue
            jacobian[:, row] = 0.0
            for c in range(3):
                # v(local·exp(x)): the right inverse Jacobian is the left one of the negated vector
                ax, ay, az = world_axis(below[0], -below[1], -below[2], -below[3], c)
                slopes = left_inverse_times(-v[0], -v[1], -v[2], ax, ay, az)
                jacobian[3 * group + c, row] = sign * slopes[i]


@uncounted_jit
def measure_bounds(body, bounds, f, local, world, active, at, k):
    """Write the residuals of a row's bounds from k on; derivatives of satisfied, inactive inequalities are left out.

    The row is posed (world: positions and rotations), and its displacement is in `at.moved`.
    """
    residual, jacobian = at.residual, at.jacobian
    positions, rotations = world
    measure_limits(body, bounds, f, local, active, at, k)
    k += 3 * bounds.joints.shape[0]
    for h in range(bounds.hinges.shape[0]):
        group = body.group_of[1 + bounds.hinges[h]]
        for i in range(2):
            jacobian[:, k] = 0.0
            residual[k] = 0.0
            for c in range(3 if group >= 0 else 0):
                residual[k] += bounds.sideways[f, h, i, c] * at.moved[3 * group + c]
                jacobian[3 * group + c, k] = bounds.sideways[f, h, i, c]
            k += 1
    for s in range(bounds.soles.shape[0]):
        joint = bounds.soles[s]
        px, py, pz = place_of(joint, bounds.sole_offsets[s], positions, rotations)
        floor = bounds.floors[f, s]
        gx, gz = floor[1], floor[2]
        residual[k] = py - (floor[0] + gx * px + gz * pz)
        if residual[k] < 0.0 or active[k]:
            jacobian[:, k] = 0.0
            if body.group_of[0] >= 0:
                place = 3 * body.group_of[0]
                jacobian[place, k], jacobian[place + 1, k], jacobian[place + 2, k] = -gx, 1.0, -gz
            a = joint
            while a >= 0:
                group = body.group_of[1 + a]
                if group >= 0:
                    lx, ly, lz = px - positions[a, 0], py - positions[a, 1], pz - positions[a, 2]
                    for c in range(3):
                        ax, ay, az = world_axis(rotations[a, 0], rotations[a, 1], rotations[a, 2], rotations[a, 3], c)
                        jacobian[3 * group + c, k] = (
                            az * lx - ax * lz - gx * (ay * lz - az * ly) - gz * (ax * ly - ay * lx)
                        )
                a = body.parents[a]
        k += 1


@uncounted_jit
def measure_row(task, f, origin, pose, world, active, at):
    """Pose row f; write its displacement from `origin`, and residuals of its pins and bounds.

    task: `Body`, `Pins` and `Bounds`; pose: root and local rotations; world: positions and rotations, written. Both
    have a first axis of 1.
    """
    (body, pins, bounds), (root, local), (positions, rotations) = task, pose, world
    o = 0 if body.offsets.shape[0] == 1 else f
    begin, end = pins.starts[f], pins.starts[f + 1]
    forward(body.parents, body.offsets[o : o + 1], root, local, positions, rotations)
    displacement_from(body.groups, origin, Pose(root[0], local[0]), at.moved)
    at.jacobian[:, : 3 * (end - begin)] = 0.0
    for pin in range(begin, end):
        measure_pin(body, pins, pin, positions[0], rotations[0], at, 3 * (pin - begin))
    measure_bounds(body, bounds, f, local[0], (positions[0], rotations[0]), active, at, 3 * (end - begin))


@uncounted_jit
def weigh(weights, shares, levels, penalties, count, out):
    """Write the weight of each residual in a stage: weight·penalty for a fully active one.

    During a ramp the penalty grows exponentially from `FAINT`, because the effect of a weight is logarithmic.
    """
    for k in range(count):
        full = penalties[levels[k]]
        out[k] = weights[k] * (full if shares[k] >= 1.0 else FAINT * (full / FAINT) ** shares[k])


@uncounted_jit
def takes_part(k, residual, one_sided, active):
    """Return whether a residual enters the step; derivatives of satisfied, inactive inequalities are not computed."""
    return not one_sided[k] or residual[k] < 0.0 or active[k]


class Trial(NamedTuple):
    """Outcome of a trial."""

    value: float
    """Objective before the step."""
    tried: float
    """Objective after it."""
    predicted: float
    """Objective that the linear model predicted."""
    longest: float
    """Largest component of the step; −1: the system was singular."""
    activated: bool
    """Whether the trial activated inequalities that the next step will respect."""


@uncounted_jit
def decide(trial, stage, count, damping, growth, schedule):
    """Return whether a trial is accepted, and the search state: (accepted, stage, steps in it, damping, growth).

    A stage ends when a step gains less than its relative decrease, when steps vanish, or after its largest number.
    """
    value = trial.value
    accepted = trial.tried <= value and trial.longest >= 0.0
    damping, growth = next_damping(
        accepted, value - trial.tried, value - trial.predicted, trial.activated, damping, growth
    )
    if (
        0.0 <= trial.longest < SETTLED
        or count + 1 >= schedule.most
        or damping > MOST_DAMPING
        or (accepted and value - trial.predicted <= schedule.gains[stage] * value)
    ):
        return accepted, stage + 1, 0, 0.0, 2.0
    return accepted, stage, count + 1, damping, growth


@uncounted_jit
def weigh_bounds(bounds, turn_weight, level, k, weights, shares, levels, one_sided):
    """Write weight, share, level and one-sidedness of the residuals of bounds from k on; that of hinges is one more."""
    limits, hinges = 3 * bounds.joints.shape[0], 2 * bounds.hinges.shape[0]
    for i in range(bound_count(bounds)):
        is_hinge = limits <= i < limits + hinges
        weights[k + i] = turn_weight if i < limits else 1.0
        shares[k + i] = 1.0
        levels[k + i] = level + 1 if is_hinge else level
        one_sided[k + i] = not is_hinge


@jit
def solve_pins(body, pins, bounds, terms, schedule, reference, pose, rounds):
    """Write the poses that meet pins and bounds, row by row; `pose` holds the start of the search; rounds: steps (F,).

    The last two columns of the penalties are those of bounds and of hinges.
    """
    further, widest = bound_count(bounds), 1
    for f in range(pose.root.shape[0]):
        widest = max(widest, 3 * (pins.starts[f + 1] - pins.starts[f]) + further)
    joint_count, unknowns = pose.local.shape[1], 3 * body.groups.shape[0]
    levels = schedule.penalties.shape[1]
    work = workspace(unknowns, widest)
    now = Linearization(np.empty(unknowns), np.empty(widest), np.empty((unknowns, widest)))
    then = Linearization(np.empty(unknowns), np.empty(widest), np.empty((unknowns, widest)))
    own_weights, own_shares, own_levels = np.empty(widest), np.empty(widest), np.empty(widest, np.int64)
    weights, one_sided, active = np.empty(widest), np.zeros(widest, np.bool_), np.zeros(widest, np.bool_)
    world, task = (np.empty((1, joint_count, 3)), np.empty((1, joint_count, 4))), (body, pins, bounds)
    trial_root, trial_local = np.empty((1, 3)), np.empty((1, joint_count, 4))
    trial = Pose(trial_root[0], trial_local[0])
    for f in range(pose.root.shape[0]):
        begin = pins.starts[f]
        of_pins = 3 * (pins.starts[f + 1] - begin)
        count = of_pins + further
        rounds[f] = 0
        if count == 0:
            continue
        for k in range(of_pins):
            pin = begin + k // 3
            own_weights[k], own_shares[k], own_levels[k] = terms.weights[pin], terms.shares[pin], terms.levels[pin]
            one_sided[k] = False
        weigh_bounds(
            bounds, terms.turn_weight, levels - 2, of_pins, own_weights, own_shares, own_levels, one_sided
        )  # fmt: skip
        active[:] = False
        objective = Objective(body.costs, weights, one_sided, active, count)
        origin, here = Pose(reference.root[f], reference.local[f]), Pose(pose.root[f], pose.local[f])
        measure_row(task, f, origin, (pose.root[f : f + 1], pose.local[f : f + 1]), world, active, now)
        stage, tries, damping, growth = 0, 0, 0.0, 2.0
        while stage < schedule.penalties.shape[0]:
            weigh(own_weights, own_shares, own_levels, schedule.penalties[stage], count, weights)
            longest, predicted = propose(body.groups, objective, now, damping, work, here, trial)
            measure_row(task, f, origin, (trial_root, trial_local), world, active, then)
            value, tried = value_of(objective, now), value_of(objective, then)
            activated = not tried <= value and activate(objective, now, then)
            accepted, stage, tries, damping, growth = decide(
                Trial(value, tried, predicted, longest, activated), stage, tries, damping, growth, schedule
            )
            rounds[f] += 1
            if accepted:
                now, then = then, now
                pose.root[f], pose.local[f] = trial_root[0], trial_local[0]


@jit
def advance_rows(first, task, terms, schedule, poses, measured, state):
    """Advance the rows of `measured` by one step: accept or reject their trials, then propose the next ones.

    `first`: the trials are the start of the search and are accepted as they are. task: `Body`, `Pins` and `Bounds`.
    """
    body, pins, bounds = task
    widest, unknowns, joint_count = state.residuals.shape[1], state.moved.shape[1], poses.pose.local.shape[1]
    work = workspace(unknowns, widest)
    new = Linearization(np.empty(unknowns), np.empty(widest), np.empty((unknowns, widest)))
    weights = np.empty(widest)
    world = (np.empty((1, joint_count, 3)), np.empty((1, joint_count, 4)))
    reference, pose, trial = poses.reference, poses.pose, poses.trial
    for b in range(measured.rows.shape[0]):
        f = measured.rows[b]
        count, one_sided, active = terms.counts[f], terms.one_sided[f], state.active[f]
        own_weights, own_shares, own_levels = terms.weights[f], terms.shares[f], terms.levels[f]
        objective = Objective(body.costs, weights, one_sided, active, count)
        at = Linearization(state.moved[f], state.residuals[f], state.jacobians[f])
        origin, ahead = Pose(reference.root[f], reference.local[f]), Pose(trial.root[f], trial.local[f])
        measure_row(task, f, origin, (trial.root[f : f + 1], trial.local[f : f + 1]), world, active, new)
        own = 3 * (pins.starts[f + 1] - pins.starts[f]) + bound_count(bounds)
        for e in range(count - own):
            k = own + e
            new.residual[k] = measured.residuals[b, e]
            if takes_part(k, new.residual, one_sided, active):
                for c in range(unknowns):
                    new.jacobian[c, k] = measured.jacobians[b, e, c]
        accepted = True
        if not first:
            weigh(own_weights, own_shares, own_levels, schedule.penalties[state.stages[f]], count, weights)
            value, tried = value_of(objective, at), value_of(objective, new)
            activated = not tried <= value and activate(objective, at, new)
            outcome = Trial(value, tried, state.predicted[f], state.longest[f], activated)
            accepted, state.stages[f], state.tries[f], state.dampings[f], state.growths[f] = decide(
                outcome, state.stages[f], state.tries[f], state.dampings[f], state.growths[f], schedule
            )
        if accepted:
            pose.root[f], pose.local[f] = trial.root[f], trial.local[f]
            at.moved[:] = new.moved
            at.residual[:count] = new.residual[:count]
            for k in range(count):
                if takes_part(k, new.residual, one_sided, active):
                    for c in range(unknowns):
                        at.jacobian[c, k] = new.jacobian[c, k]
        if state.stages[f] < schedule.penalties.shape[0]:
            weigh(own_weights, own_shares, own_levels, schedule.penalties[state.stages[f]], count, weights)
            here = Pose(pose.root[f], pose.local[f])
            state.longest[f], state.predicted[f] = propose(
                body.groups, objective, at, state.dampings[f], work, here, ahead
            )


@jit
def broken_rows(bounds, local, positions, rotations, allowed, out):
    """Write (F,) whether a row exceeds a joint limit or has a sole below its floor by more than `allowed` (rad, m)."""
    for f in range(local.shape[0]):
        out[f] = False
        for b in range(bounds.joints.shape[0]):
            v = anatomical_turn(bounds.above[b], local[f, bounds.joints[b]], bounds.below[b], bounds.own[f, b])
            for i in range(3):
                if v[i] < bounds.lower[f, b, i] - allowed[0] or v[i] > bounds.upper[f, b, i] + allowed[0]:
                    out[f] = True
        for s in range(bounds.soles.shape[0]):
            x, y, z = place_of(bounds.soles[s], bounds.sole_offsets[s], positions[f], rotations[f])
            floor = bounds.floors[f, s]
            if y < floor[0] + floor[1] * x + floor[2] * z - allowed[1]:
                out[f] = True


def _read_only(*shape):
    array = np.zeros(shape)
    array[..., 0] = 1.0
    array.setflags(write=False)
    return array


def _body():
    """Return a character of two joints and three groups."""
    parents = np.array([-1, 0])
    parents.setflags(write=False)
    return Body(parents, _read_only(1, 2, 3), np.arange(3), np.arange(3), np.ones(9))


def _pins():
    """Return one pin at one row."""
    return Pins(
        np.array([0, 1]), np.zeros(1, np.int64), np.ones(1, np.int64), np.zeros((1, 3)), np.ones((1, 4)),
        np.ones((1, 3)), np.zeros(1, np.int64), np.ones((1, 3), np.bool_),
    )  # fmt: skip


def _pose(read_only=False):
    root, local = _read_only(1, 3), _read_only(1, 2, 4)
    return Pose(root, local) if read_only else Pose(np.array(root), np.array(local))


def _bounds():
    """Return limits of one joint, a hinge and a sole in one row."""
    one, zero = np.ones(1, np.int64), np.zeros((1, 1, 3))
    return Bounds(
        one, np.zeros((1, 4)), np.zeros((1, 4)), zero, zero - 9.0, zero + 9.0, one, np.zeros((1, 1, 2, 3)), one,
        np.zeros((1, 3)), np.zeros((1, 1, 3)),
    )  # fmt: skip


def _schedule():
    return Schedule(np.ones((1, 3)), np.ones(1), 1)


def _smallest_solve():
    terms = PinTerms(np.ones(1), np.ones(1), np.zeros(1, np.int64), 0.25)
    return _body(), _pins(), _bounds(), terms, _schedule(), _pose(True), _pose(), np.zeros(1, np.int64)


def _smallest_advance():
    rows, wide = np.zeros(1, np.int64), 9
    terms = RowTerms(
        np.ones((1, wide)), np.zeros((1, wide)), np.zeros((1, wide), np.int64), np.zeros((1, wide), np.bool_),
        np.array([wide]),
    )  # fmt: skip
    state = State(
        np.zeros((1, 9)), np.zeros((1, wide)), np.zeros((1, 9, wide)), np.zeros((1, wide), np.bool_),
        np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1),
    )  # fmt: skip
    poses = Poses(_pose(True), _pose(), _pose())
    measured = Measured(rows, np.zeros((1, 0)), np.zeros((1, 0, 9)))
    return True, (_body(), _pins(), _bounds()), terms, _schedule(), poses, measured, state


def _smallest_check():
    local, positions, rotations = _read_only(1, 2, 4), _read_only(1, 2, 3), _read_only(1, 2, 4)
    return _bounds(), local, positions, rotations, np.zeros(2), np.zeros(1, np.bool_)


WARMUP = {"solve_pins": _smallest_solve, "advance_rows": _smallest_advance, "broken_rows": _smallest_check}
