"""Compiled loops of the arms' stage (`solve.arms`): touches of the source, near frames, rows and Gauss–Newton steps.

The unknowns of an arm at a knot are two small rotations: that of the upper arm and that of the forearm in the world,
each without twist and so with two components in a basis across its segment. A point x₀ of the forearm moves to

    x = s + exp(r)(e − s) + exp(q)(x₀ − e),    s shoulder, e elbow,  r = B ρ,  q = C σ,

so that a row n·x has the derivative ((e′ − s) × n)ᵀ J_l(r) B by ρ and ((x − e′) × n)ᵀ J_l(q) C by σ; J_l is the left
Jacobian of the rotation group. Directions as unknowns have no singularity at a straight elbow. The upper arm's twist
follows: it turns the hinge axis of the elbow into the plane of the arm (`twist`). Bases are transported along the
segment's path in the frame of the upper arm's parent, so that they turn no more than they must. In windows near the
ground a hand turns as well, by exp(η) in the forearm's frame before the forearm is displaced: a point x₀ of it moves to

    x = w′ + exp(q) exp(h)(x₀ − w),    w wrist,  h = F η,  F the forearm's rotation.

Rows are local in time: the normal equations are block-banded (`kernels.banded`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import uncounted_jit
from footplant.kernels.banded import (
    Band,
    add_acceleration_row,
    band_room,
    fill_frame,
    solve_band,
    solve_clip,
    write_solution,
)
from footplant.kernels.fk import place_of
from footplant.kernels.measures import less_beyond
from footplant.kernels.quaternion import direction, exp, log, multiply, nearer_way, rotate
from footplant.kernels.shell import (
    Bodies,
    Shell,
    body_at,
    distance,
    new_bodies,
    outside_box,
    pose_once,
    read_only,
    smallest_shell,
)
from footplant.kernels.surface import measure, own_place, smallest_tubes
from footplant.kernels.surface import place as place_on_tube
from footplant.kernels.touches import importance, speed_seen

UNKNOWNS = 8
"""Unknowns of a knot: two of the upper arm and two of the forearm, for each arm."""
WITH_HANDS = 14
"""Unknowns of a knot in windows where hands turn too: three for each hand, after those of the arms."""
UPPER_ARM, FOREARM, HAND = 0, 1, 2
ROWS = 80
"""Rows of a knot at most; the nearest bounds come first in a body's order and are never all broken at once."""
EQUAL, BOUND = 0, 1
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
STRETCH = 4.0
"""Factor of the robust distances in the second step, and of its square in the first."""
BACKWARDS, FOLDED = 0.02, -0.85
"""Least component of the forearm's direction ahead of the upper arm, and along it (a flexion of 148°)."""
UPPER_FROM = 0.5
"""Fraction of the upper arm from which it is kept out of the other arm: shoulders are no obstacle."""


class Arms(NamedTuple):
    """The arms of a character as tables, left and right; P samples on them (see `humanoid.body_shell.ArmSamples`)."""

    joints: NDArray
    """(2, 6) int64; parent of the upper arm, upper arm, parent of the forearm, forearm, hand, parent of the hand; −1
    where missing."""
    palms: NDArray
    """(2,) int64; joint that carries the palm, −1 where missing."""
    palm_offsets: NDArray
    """(2, 3) metres."""
    palm_segments: NDArray
    """(2,) int64; segment that the palm moves with: forearm or hand."""
    hand_axes: NDArray
    """(2, 3, 3) in the hand's frame: along it, out of its palm, and the axis about which it extends."""
    limits: NDArray
    """(2, 3, 14) of shoulders, elbows and wrists: rotations of the segment's parent and of the segment in the reference
    pose (see `humanoid.limits`), and the least and largest components of its rotation vector, radians."""
    hinges: NDArray
    """(2, 3) anatomical hinge axis of the elbow, in the upper arm's frame."""
    sample_arms: NDArray
    """(P,) int64."""
    segments: NDArray
    """(P,) int64; segment that a sample moves with: upper arm, forearm or hand."""
    sample_joints: NDArray
    """(P,) int64."""
    sample_offsets: NDArray
    """(P, 3) metres."""
    radii: NDArray
    """(P,) metres."""
    allowed: NDArray
    """(P, G) metres, 0 or negative: signed distance that is allowed, as in the rest pose; −∞: not looked at."""
    capsules: NDArray
    """(2, 2) metres; radii of upper arm and forearm."""


class Window(NamedTuple):
    """K knots of a clip that are solved together."""

    frames: NDArray
    """(K,) int64; frame of each knot."""
    chains: NDArray
    """(K, 2, 3, 3) metres; shoulder, elbow and wrist."""
    palms: NDArray
    """(K, 2, 3) metres."""
    parents: NDArray
    """(K, 2, 3, 4) world rotations of the parents of upper arm, forearm and hand."""
    locals: NDArray
    """(K, 2, 3, 4) local rotations of upper arm, forearm and hand."""
    bases: NDArray
    """(K, 2, 2, 3, 3) of upper arm and forearm, in the parent's frame: its direction and two axes across."""
    hinges: NDArray
    """(K, 2, 3) hinge axis of the elbow in the upper arm's frame; a positive rotation flexes."""
    planes: NDArray
    """(K, 2, 3) in the world, hinge axis × upper arm: where the forearm points when it is flexed by 90°."""
    samples: NDArray
    """(K, P, 3) metres."""
    ground: NDArray
    """(K, P, 3) height of the ground under each sample (−∞: far below) and its slopes in x and z."""
    spare: NDArray
    """(K, 2, G) metres, 0 or negative: how deep the source's own arms are inside its groups."""
    goals: NDArray
    """(K, 2, 3) metres; where palms should be."""
    goal_weights: NDArray
    """(K, 2) per square metre; 0 without a goal."""
    robust: NDArray
    """(K, 2) metres; beyond it a goal pulls with constant force."""
    normals: NDArray
    """(K, 2, 3) normal of the ground on which a palm is planted, else 0."""
    meeting: NDArray
    """(K, 2, 3) metres; the points of both hands whose distance counts."""
    between: NDArray
    """(K, 3) metres; vector from the right hand's meeting point to the left one's."""
    together: NDArray
    """(K,) per square metre; weight of that vector."""
    close_groups: NDArray
    """(K, 2) int64; the group of the shell that the source's hand is close to; −1 for none."""
    close_gaps: NDArray
    """(K, 2) metres; distance from it that the hand should not exceed."""
    close_weights: NDArray
    """(K, 2) per square metre."""
    pins: NDArray
    """(K,) additional weight of the reference: large at the ends of a window inside the clip."""
    stiff: NDArray
    """(K,) additional weight of second differences, where a hand would jump."""


class Weights(NamedTuple):
    """Weights of the objective."""

    reference: NDArray
    """(n,) per square radian, n = 8 or 14 unknowns."""
    bend: NDArray
    """(n,) of second differences."""
    speed: NDArray
    """(n,) of first differences."""
    bound: float
    """Per square metre."""
    angle: float
    """Per square radian, of bounds on angles."""
    robust: float
    """Metres; robust distance of `together`."""
    margin: float
    """Metres; clearance of bounds."""
    near: float
    """Metres; bounds within this distance take part."""
    most: float
    """Radians; largest displacement of a joint."""
    proximal: float
    """Per square radian, of the change in a step: damps the sliding along curved surfaces."""
    elastic: float
    """Metres; a bound that is broken by more pulls no harder: contradictions do not throw arms about."""
    close: float
    """Metres; a hand that is farther than this beyond its distance from the body is pulled no harder."""
    lying: float
    """Per square metre, of a palm's height above the ground on which it lies."""
    straight: float
    """Sine of the flexion of a nearly straight arm: see `twist`."""
    flat: float
    """Radians between a palm that lies on the ground and the ground."""


class Work(NamedTuple):
    """Scratch memory of a window."""

    bodies: Bodies
    near: NDArray
    """(G,) bool; groups of the body that samples may be near."""
    samples: NDArray
    """(P, 3) metres; samples as displaced."""
    arms: NDArray
    """(2, 30): exp(r), r in the world, exp(q), q, elbow and wrist as displaced, exp(h), h, η."""
    values: NDArray
    """(K, ROWS)."""
    slopes: NDArray
    """(K, ROWS, n)."""
    weights: NDArray
    """(K, ROWS)."""
    kinds: NDArray
    """(K, ROWS) int64."""
    counts: NDArray
    """(K,) int64."""
    squares: NDArray
    """(K, n, n)."""
    vectors: NDArray
    """(K, n)."""
    band: Band
    trial: NDArray
    """(K, n)."""
    active: NDArray
    """(K, ROWS) int64; 1 where a row takes part."""


# --- the body as it comes ------------------------------------------------------------------------------------------


@uncounted_jit
def pose_near_groups(arms, shell, frame, positions, rotations, near, sizes, work):
    """Find and pose the groups of the shell that a sample of the arms (work.samples) may be near; return the body."""
    posed = body_at(work.bodies, frame)
    for g in range(shell.groups.shape[0] - 1):
        anchor = positions[shell.anchors[g]]
        work.near[g] = False
        for p in range(arms.sample_arms.shape[0]):
            dx, dy, dz = (
                work.samples[p, 0] - anchor[0], work.samples[p, 1] - anchor[1], work.samples[p, 2] - anchor[2]
            )  # fmt: skip
            reach = shell.reaches[g] + near + arms.radii[p]
            if arms.allowed[p, g] > -np.inf and dx * dx + dy * dy + dz * dz < reach * reach:
                work.near[g] = True
                pose_once(shell, g, positions, rotations, sizes[0 if g < 2 else 1], work.bodies, frame)
                break
    return posed


@uncounted_jit
def is_near(arms, p, group, posed, near, work):
    """Return whether a sample (work.samples) may be nearer to a group of the posed body than a distance, metres."""
    x, y, z = work.samples[p]
    return (
        work.near[group]
        and arms.allowed[p, group] > -np.inf
        and outside_box(posed.boxes[group], x, y, z) - arms.radii[p] <= near
    )


@uncounted_jit
def least_clearance(arms, shell, frames, positions, rotations, margin, spare, work, out, hands):
    """Write the least signed distance of the arms' samples from the body, beyond what is allowed, at frames (K,).

    spare (K, 2, G): metres, 0 or negative, allowed to each arm in each group besides. hands (K, 2, G): the same
    distance of the hands from each group, 0 at most.
    """
    for k in range(frames.shape[0]):
        f = frames[k]
        for p in range(arms.sample_arms.shape[0]):
            x, y, z = place_of(arms.sample_joints[p], arms.sample_offsets[p], positions[f], rotations[f])
            work.samples[p, 0], work.samples[p, 1], work.samples[p, 2] = x, y, z
        posed = pose_near_groups(arms, shell, f, positions[f], rotations[f], margin, (1.0, 1.0), work)
        least = np.inf
        hands[k, :, :] = 0.0
        for p in range(arms.sample_arms.shape[0]):
            x, y, z = work.samples[p]
            for g in range(shell.groups.shape[0] - 1):
                if not is_near(arms, p, g, posed, margin, work):
                    continue
                d, _, _, _ = distance(shell, g, posed, x, y, z)
                clear = d - arms.radii[p] - arms.allowed[p, g] - spare[k, arms.sample_arms[p], g]
                least = min(least, clear)
                if arms.radii[p] == 0.0:
                    hands[k, arms.sample_arms[p], g] = min(hands[k, arms.sample_arms[p], g], clear)
        for side in range(2):
            # arms that come near each other are looked at as well
            other = 1 - side
            if arms.joints[side, 1] < 0 or arms.joints[other, 1] < 0:
                continue
            for p in range(arms.sample_arms.shape[0]):
                if arms.sample_arms[p] == side and arms.segments[p] != UPPER_ARM:
                    x, y, z = work.samples[p]
                    for part in range(2):
                        a, b = arms.joints[other, 1 if part == 0 else 3], arms.joints[other, 3 if part == 0 else 4]
                        d, _, _, _, _ = from_segment(
                            positions[f, a], positions[f, b], UPPER_FROM if part == 0 else 0.0, x, y, z
                        )
                        least = min(least, d - arms.radii[p] - arms.capsules[other, part])
        out[k] = least


@uncounted_jit
def hand_distances(arms, shell, frames, positions, rotations, groups, wanted, work, out):
    """Write the distance (K, 2), metres, of each hand from groups (K, 2) at frames (K,) where `wanted` is positive."""
    for k in range(frames.shape[0]):
        f = frames[k]
        for side in range(2):
            out[k, side] = -np.inf
            if wanted[k, side] > 0.0 and arms.joints[side, 1] >= 0:
                for p in range(arms.sample_arms.shape[0]):
                    if arms.sample_arms[p] == side and arms.radii[p] == 0.0:
                        x, y, z = place_of(arms.sample_joints[p], arms.sample_offsets[p], positions[f], rotations[f])
                        work.samples[p, 0], work.samples[p, 1], work.samples[p, 2] = x, y, z
                posed = body_at(work.bodies, f)
                pose_once(shell, groups[k, side], positions[f], rotations[f], 1.0, work.bodies, f)
                out[k, side] = nearest_hand(arms, shell, groups[k, side], side, posed, work)[0]


@uncounted_jit
def planted_clearance(arms, shell, frames, positions, rotations, side, place, work):
    """Return the least signed distance of a hand from the body at frames (K,), metres, beyond what is allowed, when its
    palm is moved to a place (3,), and the outward direction there."""
    least, out = np.inf, (0.0, 1.0, 0.0)
    work.samples[:, :] = np.inf
    for k in range(frames.shape[0]):
        f = frames[k]
        at = place_of(arms.palms[side], arms.palm_offsets[side], positions[f], rotations[f])
        for p in range(arms.sample_arms.shape[0]):
            if arms.sample_arms[p] == side and arms.radii[p] == 0.0:
                x, y, z = place_of(arms.sample_joints[p], arms.sample_offsets[p], positions[f], rotations[f])
                work.samples[p, 0] = x + place[0] - at[0]
                work.samples[p, 1] = y + place[1] - at[1]
                work.samples[p, 2] = z + place[2] - at[2]
        posed = pose_near_groups(arms, shell, f, positions[f], rotations[f], 0.0, (1.0, 1.0), work)
        for p in range(arms.sample_arms.shape[0]):
            x, y, z = work.samples[p]
            for g in range(shell.groups.shape[0] - 1):
                if is_near(arms, p, g, posed, -arms.radii[p], work):
                    d, nx, ny, nz = distance(shell, g, posed, x, y, z)
                    if d - arms.allowed[p, g] < least:
                        least, out = d - arms.allowed[p, g], (nx, ny, nz)
    return least, out


@uncounted_jit
def from_segment(start, end, first, x, y, z):
    """Return the distance of a point from a segment, the direction away from it, and the fraction along it.

    first: fraction of the segment at which it begins.
    """
    ax, ay, az = end[0] - start[0], end[1] - start[1], end[2] - start[2]
    bx, by, bz = x - start[0], y - start[1], z - start[2]
    square = ax * ax + ay * ay + az * az
    along = min(max((ax * bx + ay * by + az * bz) / max(square, 1e-12), first), 1.0)
    dx, dy, dz = bx - along * ax, by - along * ay, bz - along * az
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    if length < 1e-9:
        return 0.0, 0.0, 1.0, 0.0, along
    return length, dx / length, dy / length, dz / length, along


@uncounted_jit
def turned_along(ax, ay, az, bx, by, bz, u, v, w):
    """Return the vector (u, v, w) rotated by the smallest rotation that takes the unit vector a to b."""
    cx, cy, cz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    scale = 1.0 / max(1.0 + ax * bx + ay * by + az * bz, 1e-6)
    x, y, z = cy * w - cz * v, cz * u - cx * w, cx * v - cy * u
    return (
        u + x + scale * (cy * z - cz * y),
        v + y + scale * (cz * x - cx * z),
        w + z + scale * (cx * y - cy * x),
    )


@uncounted_jit
def gather(arms, positions, rotations, prior, window):
    """Write the arms of the incoming motion at a window's knots: chains, palms, bases, hinges and samples.

    prior: share of the anatomical axis in the hinge axis, which is otherwise the plane in which the arm bends.
    """
    for k in range(window.frames.shape[0]):
        f = window.frames[k]
        for side in range(2):
            if arms.joints[side, 1] < 0:
                continue
            _, upper, _, lower, hand, _ = arms.joints[side]
            for n in range(3):
                window.chains[k, side, 0, n] = positions[f, upper, n]
                window.chains[k, side, 1, n] = positions[f, lower, n]
                window.chains[k, side, 2, n] = positions[f, hand, n]
            for segment in range(3):
                p, q, own = window.parents[k, side, segment], window.locals[k, side, segment], 2 * segment + 1
                r = rotations[f, hand if segment == HAND else arms.joints[side, own]]
                above = arms.joints[side, 5 if segment == HAND else own - 1]
                for n in range(4):
                    p[n] = rotations[f, above, n] if above >= 0 else (1.0 if n == 0 else 0.0)
                q[0], q[1], q[2], q[3] = multiply(p[0], -p[1], -p[2], -p[3], r[0], r[1], r[2], r[3])
            p = window.parents[k, side, 0]
            if arms.palms[side] >= 0:
                x, y, z = place_of(arms.palms[side], arms.palm_offsets[side], positions[f], rotations[f])
                window.palms[k, side, 0], window.palms[k, side, 1], window.palms[k, side, 2] = x, y, z
            ux, uy, uz = direction(positions[f, upper], positions[f, lower])
            vx, vy, vz = direction(positions[f, lower], positions[f, hand])
            q = rotations[f, upper]
            # in the upper arm's frame, where the axis hardly moves
            x, y, z = rotate(
                q[0], -q[1], -q[2], -q[3], uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
            )  # fmt: skip
            window.hinges[k, side, 0] = x + prior * arms.hinges[side, 0]
            window.hinges[k, side, 1] = y + prior * arms.hinges[side, 1]
            window.hinges[k, side, 2] = z + prior * arms.hinges[side, 2]
            for part in range(2):
                basis = window.bases[k, side, part]
                if part == 0:
                    x, y, z = rotate(p[0], -p[1], -p[2], -p[3], ux, uy, uz)
                else:
                    x, y, z = rotate(p[0], -p[1], -p[2], -p[3], vx, vy, vz)
                if k == 0:
                    first_basis(x, y, z, basis)
                else:
                    carry_basis(window.bases[k - 1, side, part], x, y, z, basis)
        for p in range(arms.sample_arms.shape[0]):
            x, y, z = place_of(arms.sample_joints[p], arms.sample_offsets[p], positions[f], rotations[f])
            window.samples[k, p, 0], window.samples[k, p, 1], window.samples[k, p, 2] = x, y, z


@uncounted_jit
def first_basis(x, y, z, basis):
    """Write a unit vector and two axes across it (3, 3)."""
    basis[0, 0], basis[0, 1], basis[0, 2] = x, y, z
    # across the axis that the vector is farthest from
    least = 0 if abs(x) <= min(abs(y), abs(z)) else (1 if abs(y) <= abs(z) else 2)
    ex, ey, ez = unit(least, 0), unit(least, 1), unit(least, 2)
    cx, cy, cz = y * ez - z * ey, z * ex - x * ez, x * ey - y * ex
    scale = 1.0 / math.sqrt(cx * cx + cy * cy + cz * cz)
    cx, cy, cz = cx * scale, cy * scale, cz * scale
    basis[1, 0], basis[1, 1], basis[1, 2] = cx, cy, cz
    basis[2, 0], basis[2, 1], basis[2, 2] = y * cz - z * cy, z * cx - x * cz, x * cy - y * cx


@uncounted_jit
def carry_basis(before, x, y, z, basis):
    """Write the basis (3, 3) of a unit vector: that of another one, turned no more than it must."""
    a = before[0]
    basis[0, 0], basis[0, 1], basis[0, 2] = x, y, z
    for n in range(1, 3):
        basis[n, 0], basis[n, 1], basis[n, 2] = turned_along(
            a[0], a[1], a[2], x, y, z, before[n, 0], before[n, 1], before[n, 2]
        )


@uncounted_jit
def settle_hinges(arms, rotations, keep, window):
    """Smooth the hinge axes over the knots (keep: share that a knot hands on), across the upper arm; write planes."""
    count = window.frames.shape[0]
    for side in range(2):
        if arms.joints[side, 1] < 0:
            continue
        for n in range(3):
            for k in range(1, count):
                window.hinges[k, side, n] += keep * window.hinges[k - 1, side, n]
            for k in range(count - 2, -1, -1):
                window.hinges[k, side, n] = (1.0 - keep) * window.hinges[k, side, n] + keep * window.hinges[
                    k + 1, side, n
                ]
        for k in range(count):
            h, q = window.hinges[k, side], rotations[window.frames[k], arms.joints[side, 1]]
            ux, uy, uz = direction(window.chains[k, side, 0], window.chains[k, side, 1])
            x, y, z = rotate(q[0], q[1], q[2], q[3], h[0], h[1], h[2])
            share = x * ux + y * uy + z * uz
            x, y, z = x - share * ux, y - share * uy, z - share * uz
            scale = 1.0 / max(math.sqrt(x * x + y * y + z * z), 1e-12)
            x, y, z = x * scale, y * scale, z * scale
            h[0], h[1], h[2] = rotate(q[0], -q[1], -q[2], -q[3], x, y, z)
            m = window.planes[k, side]
            m[0], m[1], m[2] = y * uz - z * uy, z * ux - x * uz, x * uy - y * ux


# --- rows --------------------------------------------------------------------------------------------------------


@uncounted_jit
def left_transposed(vx, vy, vz, gx, gy, gz):
    """Return J_l(v)ᵀ g of the rotation vector v."""
    square = vx * vx + vy * vy + vz * vz
    if square < 1e-10:
        first, second = 0.5, 1.0 / 6.0
    else:
        angle = math.sqrt(square)
        first, second = (1.0 - math.cos(angle)) / square, (angle - math.sin(angle)) / (square * angle)
    cx, cy, cz = vy * gz - vz * gy, vz * gx - vx * gz, vx * gy - vy * gx
    dx, dy, dz = vy * cz - vz * cy, vz * cx - vx * cz, vx * cy - vy * cx
    return gx - first * cx + second * dx, gy - first * cy + second * dy, gz - first * cz + second * dz


@uncounted_jit
def displace(arms, window, k, unknowns, work):
    """Write how the arms of a knot are displaced by unknowns (n,) to work.arms."""
    for side in range(2):
        if arms.joints[side, 1] < 0:
            continue
        out, q = work.arms[side], window.parents[k, side, 0]
        for part in range(2):
            b, i, j = window.bases[k, side, part], 7 * part, 4 * side + 2 * part
            x, y, z = rotate(
                q[0], q[1], q[2], q[3], unknowns[j] * b[1, 0] + unknowns[j + 1] * b[2, 0],
                unknowns[j] * b[1, 1] + unknowns[j + 1] * b[2, 1], unknowns[j] * b[1, 2] + unknowns[j + 1] * b[2, 2],
            )  # fmt: skip
            out[i], out[i + 1], out[i + 2], out[i + 3] = exp(x, y, z)
            out[i + 4], out[i + 5], out[i + 6] = x, y, z
        out[14], out[15], out[16] = moved(window, k, side, UPPER_ARM, window.chains[k, side, 1], out)
        out[17], out[18], out[19] = moved(window, k, side, FOREARM, window.chains[k, side, 2], out)
        for n in range(3):
            out[27 + n] = unknowns[UNKNOWNS + 3 * side + n] if unknowns.shape[0] > UNKNOWNS else 0.0
        q = window.parents[k, side, HAND]
        out[24], out[25], out[26] = rotate(q[0], q[1], q[2], q[3], out[27], out[28], out[29])
        out[20], out[21], out[22], out[23] = exp(out[24], out[25], out[26])


@uncounted_jit
def moved(window, k, side, segment, point, arm):
    """Return a point (3,) of a segment of an arm as displaced."""
    if segment == HAND:
        w = window.chains[k, side, 2]
        x, y, z = rotate(arm[20], arm[21], arm[22], arm[23], point[0] - w[0], point[1] - w[1], point[2] - w[2])
        x, y, z = rotate(arm[7], arm[8], arm[9], arm[10], x, y, z)
        return arm[17] + x, arm[18] + y, arm[19] + z
    if segment == UPPER_ARM:
        s = window.chains[k, side, 0]
        x, y, z = rotate(arm[0], arm[1], arm[2], arm[3], point[0] - s[0], point[1] - s[1], point[2] - s[2])
        return s[0] + x, s[1] + y, s[2] + z
    e = window.chains[k, side, 1]
    x, y, z = rotate(arm[7], arm[8], arm[9], arm[10], point[0] - e[0], point[1] - e[1], point[2] - e[2])
    return arm[14] + x, arm[15] + y, arm[16] + z


@uncounted_jit
def add_turn(window, k, side, part, arm, gx, gy, gz, out):
    """Add g·δ to out (n,), δ the change of a segment's rotation in the world."""
    i, j, q, b = 7 * part + 4, 4 * side + 2 * part, window.parents[k, side, 0], window.bases[k, side, part]
    gx, gy, gz = left_transposed(arm[i], arm[i + 1], arm[i + 2], gx, gy, gz)
    gx, gy, gz = rotate(q[0], -q[1], -q[2], -q[3], gx, gy, gz)
    out[j] += gx * b[1, 0] + gy * b[1, 1] + gz * b[1, 2]
    out[j + 1] += gx * b[2, 0] + gy * b[2, 1] + gz * b[2, 2]


@uncounted_jit
def add_hand_turn(window, k, side, arm, gx, gy, gz, out):
    """Add g·δ to out (n,), δ the change of a hand's rotation in the world before its forearm is displaced."""
    q, j = window.parents[k, side, HAND], UNKNOWNS + 3 * side
    gx, gy, gz = left_transposed(arm[24], arm[25], arm[26], gx, gy, gz)
    gx, gy, gz = rotate(q[0], -q[1], -q[2], -q[3], gx, gy, gz)
    out[j] += gx
    out[j + 1] += gy
    out[j + 2] += gz


@uncounted_jit
def add_slope(window, k, side, segment, arm, x, y, z, nx, ny, nz, out):
    """Add the derivative of n·x, x a displaced point of a segment of an arm, to out (n,)."""
    s = window.chains[k, side, 0]
    if segment == HAND and out.shape[0] > UNKNOWNS:
        # in the frame before the forearm is displaced
        px, py, pz = rotate(arm[7], -arm[8], -arm[9], -arm[10], x - arm[17], y - arm[18], z - arm[19])
        mx, my, mz = rotate(arm[7], -arm[8], -arm[9], -arm[10], nx, ny, nz)
        add_hand_turn(window, k, side, arm, py * mz - pz * my, pz * mx - px * mz, px * my - py * mx, out)
    if segment != UPPER_ARM:
        px, py, pz = x - arm[14], y - arm[15], z - arm[16]
        add_turn(window, k, side, 1, arm, py * nz - pz * ny, pz * nx - px * nz, px * ny - py * nx, out)
        x, y, z = arm[14], arm[15], arm[16]
    px, py, pz = x - s[0], y - s[1], z - s[2]
    add_turn(window, k, side, 0, arm, py * nz - pz * ny, pz * nx - px * nz, px * ny - py * nx, out)


@uncounted_jit
def unit(n, axis):
    """Return 1 where n is the axis, else 0."""
    return 1.0 if n == axis else 0.0


@uncounted_jit
def elastic(weight, value, most):
    """Return the weight of a bound: beyond a distance `most` it pulls no harder."""
    return weight if value >= -most else -weight * most / value


@uncounted_jit
def new_row(work, k, value, weight, kind):
    """Open a row of a knot and return its number, −1 when there is no room."""
    n = work.counts[k]
    if n >= work.values.shape[1]:
        return -1
    work.counts[k] = n + 1
    work.values[k, n], work.weights[k, n], work.kinds[k, n] = value, weight, kind
    work.slopes[k, n, :] = 0.0
    return n


@uncounted_jit
def add_goal(arms, window, k, side, robust, lying, work):
    """Add the rows of a palm at its place: palm − place. lying: weight of its height where it lies on the ground."""
    arm, segment, place, g = work.arms[side], arms.palm_segments[side], window.goals[k, side], window.normals[k, side]
    weight = window.goal_weights[k, side]
    x, y, z = moved(window, k, side, segment, window.palms[k, side], arm)
    dx, dy, dz = x - place[0], y - place[1], z - place[2]
    across = dx * g[0] + dy * g[1] + dz * g[2]
    dx, dy, dz = dx - across * g[0], dy - across * g[1], dz - across * g[2]
    size = math.sqrt(dx * dx + dy * dy + dz * dz)
    if size > robust:
        weight *= robust / size
    for n in range(3):
        row = new_row(work, k, dx if n == 0 else (dy if n == 1 else dz), weight, EQUAL)
        if row >= 0:
            ex, ey, ez = unit(n, 0) - g[n] * g[0], unit(n, 1) - g[n] * g[1], unit(n, 2) - g[n] * g[2]
            add_slope(window, k, side, segment, arm, x, y, z, ex, ey, ez, work.slopes[k, row])
    if lies(g):
        row = new_row(work, k, across, lying, EQUAL)
        if row >= 0:
            add_slope(window, k, side, segment, arm, x, y, z, g[0], g[1], g[2], work.slopes[k, row])


@uncounted_jit
def lies(normal):
    """Return whether a palm lies on ground with this normal (3,); zero without any."""
    return normal[0] != 0.0 or normal[1] != 0.0 or normal[2] != 0.0


@uncounted_jit
def add_together(arms, window, k, robust, work):
    """Add the three rows of hands that meet: left − right − between."""
    left, right = arms.palm_segments
    lx, ly, lz = moved(window, k, 0, left, window.meeting[k, 0], work.arms[0])
    rx, ry, rz = moved(window, k, 1, right, window.meeting[k, 1], work.arms[1])
    b = window.between[k]
    dx, dy, dz = lx - rx - b[0], ly - ry - b[1], lz - rz - b[2]
    size, weight = math.sqrt(dx * dx + dy * dy + dz * dz), window.together[k]
    if size > robust:
        weight *= robust / size
    for n in range(3):
        row = new_row(work, k, dx if n == 0 else (dy if n == 1 else dz), weight, EQUAL)
        if row >= 0:
            ex, ey, ez = unit(n, 0), unit(n, 1), unit(n, 2)
            add_slope(window, k, 0, left, work.arms[0], lx, ly, lz, ex, ey, ez, work.slopes[k, row])
            add_slope(window, k, 1, right, work.arms[1], rx, ry, rz, -ex, -ey, -ez, work.slopes[k, row])


@uncounted_jit
def add_limits(arms, window, k, unknowns, weights, work):
    """Add rows for angles: elbows bend neither backwards nor farther than they can, and no arm is thrown about."""
    for side in range(2):
        if arms.joints[side, 1] < 0:
            continue
        for part in range(2):
            j = 4 * side + 2 * part
            size = math.hypot(unknowns[j], unknowns[j + 1])
            if size > 0.5 * weights.most:
                row = new_row(work, k, weights.most - size, 10.0 * weights.angle, BOUND)
                if row >= 0:
                    work.slopes[k, row, j], work.slopes[k, row, j + 1] = -unknowns[j] / size, -unknowns[j + 1] / size
        arm, m = work.arms[side], window.planes[k, side]
        ux, uy, uz = direction(window.chains[k, side, 0], window.chains[k, side, 1])
        vx, vy, vz = direction(window.chains[k, side, 1], window.chains[k, side, 2])
        ahead, along = m[0] * vx + m[1] * vy + m[2] * vz, ux * vx + uy * vy + uz * vz
        fx, fy, fz = rotate(arm[7], arm[8], arm[9], arm[10], vx, vy, vz)
        for bound in range(2):
            # the part of the forearm's direction ahead of the upper arm, and that along it
            if bound == 0:
                x, y, z = rotate(arm[0], arm[1], arm[2], arm[3], m[0], m[1], m[2])
                least = min(ahead, BACKWARDS)
            else:
                x, y, z = rotate(arm[0], arm[1], arm[2], arm[3], ux, uy, uz)
                least = min(along, FOLDED)
            slack = fx * x + fy * y + fz * z - least
            if slack < 0.5:
                row = new_row(work, k, slack, weights.angle, BOUND)
                if row >= 0:
                    cx, cy, cz = fy * z - fz * y, fz * x - fx * z, fx * y - fy * x
                    add_turn(window, k, side, 1, arm, cx, cy, cz, work.slopes[k, row])
                    add_turn(window, k, side, 0, arm, -cx, -cy, -cz, work.slopes[k, row])
        add_arm_limits(arms, window, k, side, unknowns, weights, work)
        if unknowns.shape[0] > UNKNOWNS:
            add_wrist_limits(arms, window, k, side, weights, work)
            add_flat(arms, window, k, side, weights, work)


@uncounted_jit
def add_flat(arms, window, k, side, weights, work):
    """Add a row for a palm that lies on the ground: the wrist extends until the hand is flat, within an angle.

    The angle φ about the axis of extension at which the palm faces the ground best is linear in the turn about it. The
    samples of the skin alone do not tell in which way a hand that points into the ground leaves it: half of them flex
    and lie on their backs. Its derivative by the forearm's turn is left out: the wrist is to turn, not the arm.
    """
    arm, g, q, r = work.arms[side], window.normals[k, side], window.parents[k, side, HAND], window.locals[k, side, HAND]
    if not lies(g):
        return
    w, x, y, z = multiply(q[0], q[1], q[2], q[3], r[0], r[1], r[2], r[3])
    w, x, y, z = multiply(arm[20], arm[21], arm[22], arm[23], w, x, y, z)
    # the ground's normal as the hand sees it before its forearm is displaced
    nx, ny, nz = rotate(arm[7], -arm[8], -arm[9], -arm[10], g[0], g[1], g[2])
    nx, ny, nz = rotate(w, -x, -y, -z, nx, ny, nz)
    axes = arms.hand_axes[side]
    along = axes[0, 0] * nx + axes[0, 1] * ny + axes[0, 2] * nz
    facing = axes[1, 0] * nx + axes[1, 1] * ny + axes[1, 2] * nz
    slack = weights.flat - math.atan2(-along, -facing)
    if slack < 0.5:
        row = new_row(work, k, slack, weights.angle, BOUND)
        if row >= 0:
            ex, ey, ez = rotate(w, x, y, z, axes[2, 0], axes[2, 1], axes[2, 2])
            add_hand_turn(window, k, side, arm, ex, ey, ez, work.slopes[k, row])


@uncounted_jit
def twist(prior, ux, uy, uz, vx, vy, vz, hx, hy, hz):
    """Return the angle about the upper arm u that turns the hinge axis h into the plane of the arm; v: the forearm.

    prior: weight of the axis as it is: in a nearly straight arm the plane tells little.
    """
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    across = ux * (hy * nz - hz * ny) + uy * (hz * nx - hx * nz) + uz * (hx * ny - hy * nx)
    return math.atan2(across, prior + hx * nx + hy * ny + hz * nz)


@uncounted_jit
def twisted(prior, ux, uy, uz, vx, vy, vz, hx, hy, hz, rw, rx, ry, rz, qw, qx, qy, qz):
    """Return the rotation r of the upper arm u with its twist when q is that of the forearm v; h: hinge axis.

    Unmoved arms have none.
    """
    angle = -twist(prior, ux, uy, uz, vx, vy, vz, hx, hy, hz)
    ux, uy, uz = rotate(rw, rx, ry, rz, ux, uy, uz)
    vx, vy, vz = rotate(qw, qx, qy, qz, vx, vy, vz)
    hx, hy, hz = rotate(rw, rx, ry, rz, hx, hy, hz)
    angle += twist(prior, ux, uy, uz, vx, vy, vz, hx, hy, hz)
    tw, tx, ty, tz = exp(angle * ux, angle * uy, angle * uz)
    return multiply(tw, tx, ty, tz, rw, rx, ry, rz)


@uncounted_jit
def anatomical(limits, w, x, y, z):
    """Return the rotation vector of a joint relative to its parent (`humanoid.limits`) from its local rotation."""
    w, x, y, z = multiply(limits[0], limits[1], limits[2], limits[3], w, x, y, z)
    w, x, y, z = multiply(w, x, y, z, limits[4], -limits[5], -limits[6], -limits[7])
    return log(w, x, y, z)


@uncounted_jit
def own_turn(limits, rotation):
    """Return `anatomical` of an incoming rotation (4,), the way round that is less beyond the limits."""
    x, y, z = anatomical(limits, rotation[0], rotation[1], rotation[2], rotation[3])
    x, y, z, _ = less_beyond(x, y, z, limits[8:11], limits[11:14])
    return x, y, z


@uncounted_jit
def slack_of(limits, n, sign, own, now):
    """Return how far a component of a rotation vector is within a limit, or within the incoming motion's own one."""
    bound = limits[8 + n] if sign > 0.0 else limits[11 + n]
    return sign * now - min(sign * bound, sign * own)


@uncounted_jit
def add_wrist_limits(arms, window, k, side, weights, work):
    """Add rows for the components of a hand's rotation vector: within its limits, or no farther beyond them than in the
    incoming motion.

    It is taken the way round that is nearer to that of the incoming motion: past 180° the shorter one is another.
    """
    limits, hand, turn = arms.limits[side, HAND], window.locals[k, side, HAND], work.arms[side, 27:30]
    own = own_turn(limits, hand)
    w, x, y, z = exp(turn[0], turn[1], turn[2])
    w, x, y, z = multiply(w, x, y, z, hand[0], hand[1], hand[2], hand[3])
    now = nearer_way(anatomical(limits, w, x, y, z), own)
    for n in range(3):
        for sign in (-1.0, 1.0):
            slack = slack_of(limits, n, sign, own[n], now[n])
            if slack < 0.5:
                row = new_row(work, k, slack, weights.angle, BOUND)
                if row >= 0:
                    # n-th row of J_l⁻¹(now) A, A the parent's rotation in the reference pose
                    gx, gy, gz = inverse_left_transposed(
                        now[0], now[1], now[2], sign * unit(n, 0), sign * unit(n, 1), sign * unit(n, 2)
                    )
                    gx, gy, gz = rotate(limits[0], -limits[1], -limits[2], -limits[3], gx, gy, gz)
                    gx, gy, gz = left_transposed(turn[0], turn[1], turn[2], gx, gy, gz)
                    j = UNKNOWNS + 3 * side
                    work.slopes[k, row, j], work.slopes[k, row, j + 1], work.slopes[k, row, j + 2] = gx, gy, gz


@uncounted_jit
def arm_turns(arms, window, k, side, straight, a, b, c, d):
    """Return the rotation vectors of shoulder and elbow (`anatomical`) of an arm displaced by unknowns a, b, c, d."""
    p, q = window.parents[k, side, 0], window.parents[k, side, FOREARM]
    basis = window.bases[k, side]
    x, y, z = rotate(
        p[0], p[1], p[2], p[3], a * basis[0, 1, 0] + b * basis[0, 2, 0], a * basis[0, 1, 1] + b * basis[0, 2, 1],
        a * basis[0, 1, 2] + b * basis[0, 2, 2],
    )  # fmt: skip
    rw, rx, ry, rz = exp(x, y, z)
    x, y, z = rotate(
        p[0], p[1], p[2], p[3], c * basis[1, 1, 0] + d * basis[1, 2, 0], c * basis[1, 1, 1] + d * basis[1, 2, 1],
        c * basis[1, 1, 2] + d * basis[1, 2, 2],
    )  # fmt: skip
    qw, qx, qy, qz = exp(x, y, z)
    ux, uy, uz = direction(window.chains[k, side, 0], window.chains[k, side, 1])
    vx, vy, vz = direction(window.chains[k, side, 1], window.chains[k, side, 2])
    h, o = window.hinges[k, side], window.locals[k, side, UPPER_ARM]
    hx, hy, hz = rotate(o[0], o[1], o[2], o[3], h[0], h[1], h[2])
    hx, hy, hz = rotate(p[0], p[1], p[2], p[3], hx, hy, hz)
    rw, rx, ry, rz = twisted(straight, ux, uy, uz, vx, vy, vz, hx, hy, hz, rw, rx, ry, rz, qw, qx, qy, qz)
    w, x, y, z = multiply(p[0], -p[1], -p[2], -p[3], rw, rx, ry, rz)
    w, x, y, z = multiply(w, x, y, z, p[0], p[1], p[2], p[3])
    w, x, y, z = multiply(w, x, y, z, o[0], o[1], o[2], o[3])
    shoulder = anatomical(arms.limits[side, UPPER_ARM], w, x, y, z)
    o = window.locals[k, side, FOREARM]
    w, x, y, z = multiply(rw, -rx, -ry, -rz, qw, qx, qy, qz)
    w, x, y, z = multiply(q[0], -q[1], -q[2], -q[3], w, x, y, z)
    w, x, y, z = multiply(w, x, y, z, q[0], q[1], q[2], q[3])
    w, x, y, z = multiply(w, x, y, z, o[0], o[1], o[2], o[3])
    return shoulder, anatomical(arms.limits[side, FOREARM], w, x, y, z)


@uncounted_jit
def add_arm_limits(arms, window, k, side, unknowns, weights, work):
    """Add rows for the rotation vectors of shoulder and elbow, as those of wrists; derivatives by differences, since
    the upper arm's twist follows from the plane of the arm.
    """
    i, step, limits = 4 * side, 1e-6, arms.limits[side]
    a, b, c, d = unknowns[i], unknowns[i + 1], unknowns[i + 2], unknowns[i + 3]
    upper, lower = window.locals[k, side, UPPER_ARM], window.locals[k, side, FOREARM]
    own = own_turn(limits[UPPER_ARM], upper), own_turn(limits[FOREARM], lower)
    now = arm_turns(arms, window, k, side, weights.straight, a, b, c, d)
    now = nearer_way(now[0], own[0]), nearer_way(now[1], own[1])
    first = work.counts[k]
    for segment in range(2):
        for n in range(3):
            for sign in (-1.0, 1.0):
                slack = slack_of(limits[segment], n, sign, own[segment][n], now[segment][n])
                if slack < 0.5:
                    new_row(work, k, slack, weights.angle, BOUND)
    if work.counts[k] == first:
        return
    for j in range(4):
        beside = arm_turns(
            arms, window, k, side, weights.straight, a + step * unit(j, 0), b + step * unit(j, 1),
            c + step * unit(j, 2), d + step * unit(j, 3),
        )  # fmt: skip
        beside = nearer_way(beside[0], now[0]), nearer_way(beside[1], now[1])
        row = first
        for segment in range(2):
            for n in range(3):
                for sign in (-1.0, 1.0):
                    slack = slack_of(limits[segment], n, sign, own[segment][n], now[segment][n])
                    if slack < 0.5 and row < work.counts[k]:
                        work.slopes[k, row, i + j] = sign * (beside[segment][n] - now[segment][n]) / step
                        row += 1


@uncounted_jit
def inverse_left_transposed(vx, vy, vz, gx, gy, gz):
    """Return J_l⁻¹(v)ᵀ g of the rotation vector v."""
    angle = max(math.sqrt(vx * vx + vy * vy + vz * vz), 1e-4)
    # 1/θ² − cot(θ/2)/2θ, which tends to 1/12
    share = 1.0 / angle**2 - 0.5 / (angle * math.tan(0.5 * angle))
    cx, cy, cz = vy * gz - vz * gy, vz * gx - vx * gz, vx * gy - vy * gx
    dx, dy, dz = vy * cz - vz * cy, vz * cx - vx * cz, vx * cy - vy * cx
    return gx + 0.5 * cx + share * dx, gy + 0.5 * cy + share * dy, gz + 0.5 * cz + share * dz


@uncounted_jit
def add_apart(arms, shell, posed, window, k, weights, work):
    """Add rows for samples of the arms near the body, the other arm or the ground."""
    for p in range(arms.sample_arms.shape[0]):
        side, segment = arms.sample_arms[p], arms.segments[p]
        arm = work.arms[side]
        x, y, z = work.samples[p]
        for g in range(shell.groups.shape[0] - 1):
            if not is_near(arms, p, g, posed, weights.near, work):
                continue
            d, nx, ny, nz = distance(shell, g, posed, x, y, z)
            value = d - arms.radii[p] - arms.allowed[p, g] - window.spare[k, side, g] - weights.margin
            if value < weights.near:
                row = new_row(work, k, value, elastic(weights.bound, value, weights.elastic), BOUND)
                if row >= 0:
                    add_slope(window, k, side, segment, arm, x, y, z, nx, ny, nz, work.slopes[k, row])
        floor = window.ground[k, p]
        if floor[0] > -np.inf:
            start = window.samples[k, p]
            height = floor[0] + floor[1] * (x - start[0]) + floor[2] * (z - start[2])
            length = math.sqrt(1.0 + floor[1] ** 2 + floor[2] ** 2)
            value = (y - height) / length - arms.radii[p]
            if value < weights.near:
                row = new_row(work, k, value, elastic(weights.bound, value, weights.elastic), BOUND)
                if row >= 0:
                    add_slope(
                        window, k, side, segment, arm, x, y, z,
                        -floor[1] / length, 1.0 / length, -floor[2] / length, work.slopes[k, row],
                    )  # fmt: skip
        other = 1 - side
        if segment == UPPER_ARM or arms.joints[other, 1] < 0 or window.together[k] > 0.0:
            # hands that meet are told by the source how they pass each other
            continue
        theirs = work.arms[other]
        for part in range(2):
            start = window.chains[k, other, 0] if part == 0 else theirs[14:17]
            end = theirs[14:17] if part == 0 else theirs[17:20]
            d, nx, ny, nz, along = from_segment(start, end, UPPER_FROM if part == 0 else 0.0, x, y, z)
            value = d - arms.radii[p] - arms.capsules[other, part]
            if value < 0.5 * weights.near:
                row = new_row(work, k, value, elastic(weights.bound, value, weights.elastic), BOUND)
                if row >= 0:
                    add_slope(window, k, side, segment, arm, x, y, z, nx, ny, nz, work.slopes[k, row])
                    cx, cy, cz = (
                        start[0] + along * (end[0] - start[0]),
                        start[1] + along * (end[1] - start[1]),
                        start[2] + along * (end[2] - start[2]),
                    )
                    add_slope(window, k, other, part, theirs, cx, cy, cz, -nx, -ny, -nz, work.slopes[k, row])


@uncounted_jit
def nearest_hand(arms, shell, group, side, posed, work):
    """Return the least distance of a hand's samples (work.samples) from a posed group, the outward direction there, and
    the sample; −1 without samples."""
    least, bx, by, bz, nearest = np.inf, 0.0, 1.0, 0.0, -1
    for p in range(arms.sample_arms.shape[0]):
        if arms.sample_arms[p] == side and arms.radii[p] == 0.0:
            x, y, z = work.samples[p]
            if outside_box(posed.boxes[group], x, y, z) < least:
                d, nx, ny, nz = distance(shell, group, posed, x, y, z)
                if d < least:
                    least, bx, by, bz, nearest = d, nx, ny, nz, p
    return least, bx, by, bz, nearest


@uncounted_jit
def add_close(arms, shell, posed, window, k, weights, work):
    """Add a row for each hand that is close to the body in the source: its distance from it does not grow."""
    for side in range(2):
        group, weight = window.close_groups[k, side], window.close_weights[k, side]
        if weight <= 0.0:
            continue
        d, nx, ny, nz, p = nearest_hand(arms, shell, group, side, posed, work)
        value = window.close_gaps[k, side] - d
        if p < 0 or value >= weights.near:
            continue
        row = new_row(work, k, value, elastic(weight, value, weights.close), BOUND)
        if row >= 0:
            x, y, z = work.samples[p]
            add_slope(window, k, side, arms.segments[p], work.arms[side], x, y, z, -nx, -ny, -nz, work.slopes[k, row])


@uncounted_jit
def linearise(arms, shell, window, positions, rotations, unknowns, sizes, stretch, weights, work):
    """Write the rows of all knots, linearised at unknowns (K, n).

    sizes: of trunk and head, and of legs (`pose_group`). stretch: factor of the robust distances.
    """
    for k in range(window.frames.shape[0]):
        f = window.frames[k]
        work.counts[k] = 0
        displace(arms, window, k, unknowns[k], work)
        for side in range(2):
            if window.goal_weights[k, side] > 0.0:
                add_goal(arms, window, k, side, stretch * window.robust[k, side], weights.lying, work)
        if window.together[k] > 0.0:
            add_together(arms, window, k, stretch * weights.robust, work)
        add_limits(arms, window, k, unknowns[k], weights, work)
        for p in range(arms.sample_arms.shape[0]):
            side = arms.sample_arms[p]
            x, y, z = moved(window, k, side, arms.segments[p], window.samples[k, p], work.arms[side])
            work.samples[p, 0], work.samples[p, 1], work.samples[p, 2] = x, y, z
        posed = pose_near_groups(arms, shell, f, positions[f], rotations[f], weights.near, sizes, work)
        for side in range(2):
            g = window.close_groups[k, side]
            if g >= 0 and not work.near[g]:
                pose_once(shell, g, positions[f], rotations[f], 1.0, work.bodies, f)
                work.near[g] = True
        add_close(arms, shell, posed, window, k, weights, work)
        add_apart(arms, shell, posed, window, k, weights, work)


@uncounted_jit
def assemble(window, unknowns, weights, work):
    """Write the normal equations of the rows that take part, in the unknowns themselves (not their change)."""
    for k in range(window.frames.shape[0]):
        square, vector = work.squares[k], work.vectors[k]
        square[:, :] = 0.0
        for i in range(unknowns.shape[1]):
            square[i, i] = weights.reference[i] + window.pins[k] + weights.proximal
            vector[i] = weights.proximal * unknowns[k, i]
        for n in range(work.counts[k]):
            if not work.active[k, n]:
                continue
            slope, value, w = work.slopes[k, n], work.values[k, n], work.weights[k, n]
            for i in range(unknowns.shape[1]):
                value -= slope[i] * unknowns[k, i]
            for i in range(unknowns.shape[1]):
                if slope[i] != 0.0:
                    vector[i] -= w * slope[i] * value
                    for j in range(i + 1):
                        square[i, j] += w * slope[i] * slope[j]


@uncounted_jit
def solve_knots(window, weights, work):
    """Write the minimiser of the normal equations to work.trial (K, n); return False if they are singular."""
    band, trial = work.band, work.trial
    if not window.stiff.any():
        return solve_clip(work.squares, work.vectors, weights.bend, weights.speed, band, trial)
    band.values[:] = 0.0
    for k in range(trial.shape[0]):
        fill_frame(work.squares[k], work.vectors[k], k, weights.bend, weights.speed, trial, band)
    for k in range(1, trial.shape[0] - 1):
        if window.stiff[k] > 0.0:
            for i in range(trial.shape[1]):
                add_acceleration_row(band, k, i, window.stiff[k], 0.0, 1.0, 0.0)
    if not solve_band(band):
        return False
    write_solution(band, trial)
    return True


@uncounted_jit
def choose_active(window, unknowns, work):
    """Let the bounds take part that the trial step is predicted to break; return how many have changed."""
    changed = 0
    for k in range(window.frames.shape[0]):
        for n in range(work.counts[k]):
            if work.kinds[k, n] == BOUND:
                value, slope = work.values[k, n], work.slopes[k, n]
                for i in range(unknowns.shape[1]):
                    value += slope[i] * (work.trial[k, i] - unknowns[k, i])
                wanted = 1 if value < 0.0 else 0
                changed += wanted != work.active[k, n]
                work.active[k, n] = wanted
    return changed


@uncounted_jit
def solve_window(arms, shell, window, positions, rotations, weights, rules, work, unknowns):
    """Solve a window by Gauss–Newton steps on unknowns (K, n); return the steps taken.

    rules: most steps, most looks ahead in each, longest step and length of a step that ends the search, radians, sizes
    of trunk and head and of legs in the first step, and number of steps in which they grow to their own; −1 where the
    unknowns are a solution already, which is only to be refined: then the robust distances are not stretched either.
    """
    most, looks, longest, enough, small, growing = rules
    count = window.frames.shape[0]
    for step in range(most):
        # the first steps may cover the whole distance; the last ones pull no harder than they should
        stretch = STRETCH ** max(growing + 1 - step, 0)
        # a body that grows about its bones pushes arms out on the side where they are
        grown = 1.0 if step >= growing else step / growing
        sizes = small[0] + (1.0 - small[0]) * grown, small[1] + (1.0 - small[1]) * grown
        linearise(arms, shell, window, positions, rotations, unknowns, sizes, stretch, weights, work)
        for k in range(count):
            for n in range(work.counts[k]):
                work.active[k, n] = 1 if work.kinds[k, n] == EQUAL or work.values[k, n] < 0.0 else 0
        for _ in range(looks):
            assemble(window, unknowns, weights, work)
            if not solve_knots(window, weights, work):
                return -1
            if choose_active(window, unknowns, work) == 0:
                break
        length = 0.0
        for k in range(count):
            for i in range(unknowns.shape[1]):
                length = max(length, abs(work.trial[k, i] - unknowns[k, i]))
        share = 1.0 if length <= longest else longest / length
        for k in range(count):
            for i in range(unknowns.shape[1]):
                unknowns[k, i] += share * (work.trial[k, i] - unknowns[k, i])
        if length < enough and step >= growing:
            return step + 1
    return most


@uncounted_jit
def displaced_points(arms, window, points, segments, unknowns, work, out):
    """Write where points (K, 2, 3) of segments (2,) are after the displacement, (K, 2, 3) metres."""
    for k in range(window.frames.shape[0]):
        displace(arms, window, k, unknowns[k], work)
        for side in range(2):
            if arms.joints[side, 1] >= 0:
                out[k, side, 0], out[k, side, 1], out[k, side, 2] = moved(
                    window, k, side, segments[side], points[k, side], work.arms[side]
                )


# --- back to rotations ---------------------------------------------------------------------------------------------


@uncounted_jit
def spline_second(values, second, scratch):
    """Write the second derivatives (K, n), per knot², of the natural cubic spline through values (K, n)."""
    count = values.shape[0]
    second[:, :] = 0.0
    if count < 3:
        return
    scratch[0] = 0.0
    for k in range(1, count - 1):
        scale = 1.0 / (4.0 - scratch[k - 1])
        scratch[k] = scale
        for i in range(values.shape[1]):
            bend = 6.0 * (values[k + 1, i] - 2.0 * values[k, i] + values[k - 1, i])
            second[k, i] = (bend - second[k - 1, i]) * scale
    for k in range(count - 3, 0, -1):
        for i in range(values.shape[1]):
            second[k, i] -= scratch[k] * second[k + 1, i]


@uncounted_jit
def spline_turn(basis, values, second, k, a, i, parent, x, y, z):
    """Return the rotation of a segment of direction (x, y, z) by unknowns i and i + 1 between knots k and k + 1.

    basis: of the segment at knot k; a: weight of that knot; parent (4,): rotation of its frame.
    """
    after, w = min(k + 1, values.shape[0] - 1), parent
    x, y, z = rotate(w[0], -w[1], -w[2], -w[3], x, y, z)
    c, d = spline_at(values, second, k, after, a, 1.0 - a, i), spline_at(values, second, k, after, a, 1.0 - a, i + 1)
    x, y, z = turned_along(
        basis[0, 0], basis[0, 1], basis[0, 2], x, y, z, c * basis[1, 0] + d * basis[2, 0],
        c * basis[1, 1] + d * basis[2, 1], c * basis[1, 2] + d * basis[2, 2],
    )  # fmt: skip
    x, y, z = rotate(w[0], w[1], w[2], w[3], x, y, z)
    return exp(x, y, z)


@uncounted_jit
def apply_window(arms, window, unknowns, second, stride, first, last, prior, poses, local):
    """Write the local rotations (F, J, 4) of upper arms, forearms and hands, displaced, at frames first … last−1.

    The displacement is the cubic spline through the knots; second: its second derivatives. prior: see `twist`. poses:
    world positions (F, J, 3) and rotations (F, J, 4) of the incoming motion.
    """
    count, (positions, rotations) = window.frames.shape[0], poses
    for f in range(first, last):
        place = (f - window.frames[0]) / stride
        k = min(max(int(place), 0), max(count - 2, 0))
        b = place - k
        a = 1.0 - b
        after = min(k + 1, count - 1)
        for side in range(2):
            if arms.joints[side, 1] < 0:
                continue
            parent, upper, between, lower, hand, _ = arms.joints[side]
            p = rotations[f, parent] if parent >= 0 else IDENTITY
            ux, uy, uz = direction(positions[f, upper], positions[f, lower])
            vx, vy, vz = direction(positions[f, lower], positions[f, hand])
            rw, rx, ry, rz = spline_turn(window.bases[k, side, 0], unknowns, second, k, a, 4 * side, p, ux, uy, uz)
            qw, qx, qy, qz = spline_turn(window.bases[k, side, 1], unknowns, second, k, a, 4 * side + 2, p, vx, vy, vz)
            # twist of the upper arm, by which the incoming motion has none
            h, g, q = window.hinges[k, side], window.hinges[after, side], rotations[f, upper]
            hx, hy, hz = rotate(
                q[0], q[1], q[2], q[3], a * h[0] + b * g[0], a * h[1] + b * g[1], a * h[2] + b * g[2]
            )  # fmt: skip
            rw, rx, ry, rz = twisted(prior, ux, uy, uz, vx, vy, vz, hx, hy, hz, rw, rx, ry, rz, qw, qx, qy, qz)
            # local rotations: of the upper arm R′ = D R, of the forearm (D Q)⁻¹ E F, Q that of its parent
            w, x, y, z = multiply(p[0], -p[1], -p[2], -p[3], rw, rx, ry, rz)
            w, x, y, z = multiply(w, x, y, z, p[0], p[1], p[2], p[3])
            o = local[f, upper]
            o[0], o[1], o[2], o[3] = multiply(w, x, y, z, o[0], o[1], o[2], o[3])
            p = rotations[f, between]
            w, x, y, z = multiply(rw, -rx, -ry, -rz, qw, qx, qy, qz)
            w, x, y, z = multiply(p[0], -p[1], -p[2], -p[3], w, x, y, z)
            w, x, y, z = multiply(w, x, y, z, p[0], p[1], p[2], p[3])
            o = local[f, lower]
            o[0], o[1], o[2], o[3] = multiply(w, x, y, z, o[0], o[1], o[2], o[3])
            if unknowns.shape[1] > UNKNOWNS:
                i = UNKNOWNS + 3 * side
                w, x, y, z = exp(
                    spline_at(unknowns, second, k, after, a, b, i), spline_at(unknowns, second, k, after, a, b, i + 1),
                    spline_at(unknowns, second, k, after, a, b, i + 2),
                )  # fmt: skip
                o = local[f, hand]
                o[0], o[1], o[2], o[3] = multiply(w, x, y, z, o[0], o[1], o[2], o[3])


@uncounted_jit
def spline_at(values, second, k, after, a, b, i):
    """Return the cubic spline between knots k and after, at weights a and b = 1 − a."""
    return (
        a * values[k, i]
        + b * values[after, i]
        + ((a * a * a - a) * second[k, i] + (b * b * b - b) * second[after, i]) / 6.0
    )


# --- touches of the source -------------------------------------------------------------------------------------------


class Touching(NamedTuple):
    """What counts as a touch of the own body."""

    near: float
    """Metres from the surface within which a palm is important."""
    close: float
    """Metres from the surface within which a hand stays as close to it as it is."""
    fade: float
    """Metres from the surface beyond which it need not."""
    passing: float
    """Metres per second along the body at which it is not."""
    swing: float
    """Metres per second along the body up to which a hand stays as close; at twice that it need not."""
    size: float
    """Ratio of the target's size to the source's."""
    fps: float
    most_correction: float
    """Metres; largest correction from the target's tube to its shell."""


@uncounted_jit
def find_touches(
    frames, palm, tubes, owners, hangs, rules, positions, rotations, target, shell, ours, work, most, place, close
):
    """Write the importance (K,) of a palm (F, 3) on the source's body and its place (K, 3) on the target's.

    tubes: of the source; owners (S, 2): 1 where hanging arms do not touch a segment, and the shell's group of it (−1:
    none; −2: not looked at). hangs (F,). target: its tubes; ours: its (positions, rotations). close (K, 3): the group
    that the hand is close to, its distance on the target, metres, and how much that matters, 0 to 1.
    """
    our_positions, our_rotations = ours
    for k in range(frames.shape[0]):
        f = frames[k]
        total = px = py = pz = 0.0
        most[k], closest, nearest = 0.0, rules.fade, 0
        close[k, 2] = 0.0
        posed = body_at(work.bodies, f)
        for s in range(tubes.joints.shape[0]):
            if owners[s, 1] < -1 or tubes.rings[s, 0, 0] < 0.0 or target.rings[s, 0, 0] < 0.0:
                continue
            u, v, a = own_place(tubes, s, positions[f], rotations[f], palm[f, 0], palm[f, 1], palm[f, 2])
            reach = rules.fade + tubes.widths[s]
            if u * u + v * v > reach * reach or a < -reach or a > tubes.lengths[s] + reach:
                continue
            d, _, _, _, t, c, sn, gap, beyond = measure(tubes.rings[s], tubes.lengths[s], u, v, a)
            if owners[s, 1] >= 0 and d < closest:
                closest, nearest = d, tubes.joints[s]
                close[k, 0], close[k, 1] = owners[s, 1], max(d, 0.0) * rules.size
                close[k, 2] = importance((d - rules.close) / (rules.fade - rules.close))
            if d >= rules.near:
                continue
            # arms that hang beside the thighs are always near them without touching
            share = importance(1.0 - (importance(d / rules.near) - 0.2) / 0.8)
            if owners[s, 0]:
                share *= 1.0 - hangs[f]
            if share <= 0.0:
                continue
            share *= importance(speed_seen(tubes.joints[s], f, palm, rules.fps, positions, rotations) / rules.passing)
            if share <= 0.0:
                continue
            wanted = max(d, 0.0) * rules.size
            x, y, z = place_on_tube(
                target, s, our_positions[f], our_rotations[f], t, c, sn, max(gap, 0.0) * rules.size, beyond
            )
            group = owners[s, 1]
            if group >= 0:
                pose_once(shell, group, our_positions[f], our_rotations[f], 1.0, work.bodies, f)
                d, nx, ny, nz = distance(shell, group, posed, x, y, z)
                shift = min(max(wanted - d, -rules.most_correction), rules.most_correction)
                x, y, z = x + shift * nx, y + shift * ny, z + shift * nz
            weight = share**4
            px, py, pz, total = px + weight * x, py + weight * y, pz + weight * z, total + weight
            most[k] = max(most[k], share)
        if close[k, 2] > 0.0:
            # hands that swing past the body need not come nearer
            speed = speed_seen(nearest, f, palm, rules.fps, positions, rotations)
            close[k, 2] *= importance((speed - rules.swing) / rules.swing)
        if total > 1e-12:
            place[k, 0], place[k, 1], place[k, 2] = px / total, py / total, pz / total
        else:
            most[k] = 0.0


# --- smallest calls ----------------------------------------------------------------------------------------------


def empty_window(frames: NDArray, samples: int, groups: int) -> Window:
    """Return the arrays of a window without goals, to be filled by `gather`."""
    count = len(frames)
    ground = np.zeros((count, samples, 3))
    ground[..., 0] = -np.inf
    return Window(
        frames, np.zeros((count, 2, 3, 3)), np.zeros((count, 2, 3)), np.zeros((count, 2, 3, 4)),
        np.zeros((count, 2, 3, 4)), np.zeros((count, 2, 2, 3, 3)), np.zeros((count, 2, 3)), np.zeros((count, 2, 3)),
        np.zeros((count, samples, 3)), ground, np.zeros((count, 2, groups)), np.zeros((count, 2, 3)),
        np.zeros((count, 2)),
        np.full((count, 2), np.inf), np.zeros((count, 2, 3)), np.zeros((count, 2, 3)), np.zeros((count, 3)),
        np.zeros(count), np.full((count, 2), -1), np.zeros((count, 2)), np.zeros((count, 2)), np.zeros(count),
        np.zeros(count),
    )  # fmt: skip


def new_work(knots: int, shell: Shell, samples: int, n: int = UNKNOWNS, bodies: Bodies | None = None) -> Work:
    """Return scratch memory for a window of so many knots, samples of the arms and unknowns of a knot.

    bodies: the target's body in this clip, as far as it is posed; None: none is kept.
    """
    return Work(
        new_bodies(shell, 1) if bodies is None else bodies, np.empty(len(shell.widths), bool), np.empty((samples, 3)),
        np.zeros((2, 30)), np.empty((knots, ROWS)), np.empty((knots, ROWS, n)), np.empty((knots, ROWS)),
        np.empty((knots, ROWS), np.int64), np.empty(knots, np.int64), np.empty((knots, n, n)), np.empty((knots, n)),
        band_room(knots, n), np.empty((knots, n)), np.empty((knots, ROWS), np.int64),
    )  # fmt: skip


def _arms() -> Arms:
    return Arms(
        np.full((2, 6), -1), np.full(2, -1), np.zeros((2, 3)), np.ones(2, np.int64), np.zeros((2, 3, 3)),
        np.zeros((2, 3, 14)), np.zeros((2, 3)), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64),
        np.zeros((1, 3)), np.zeros(1), np.zeros((1, 1)),
        np.zeros((2, 2)),
    )  # fmt: skip


def _weights() -> Weights:
    return Weights(np.ones(8), np.ones(8), np.ones(8), 1.0, 1.0, 1.0, 0.0, 0.1, 1.0, 1.0, 0.1, 0.1, 1.0, 0.2, 0.5)


def _poses():
    return read_only(1, 1, 3), read_only(1, 1, 4)


def _window() -> Window:
    return empty_window(np.zeros(1, np.int64), 1, 1)


WARMUP = {
    "least_clearance": lambda: (
        _arms(), smallest_shell(), np.zeros(1, np.int64), *_poses(), 0.1, np.zeros((1, 2, 1)),
        new_work(1, smallest_shell(), 1), np.empty(1), np.empty((1, 2, 1)),
    ),
    "gather": lambda: (_arms(), *_poses(), 0.1, _window()),
    "settle_hinges": lambda: (_arms(), read_only(1, 1, 4), 0.5, _window()),
    "solve_window": lambda: (
        _arms(), smallest_shell(), _window(), *_poses(), _weights(), (1, 1, 0.5, 0.1, (0.5, 0.5), 0),
        new_work(1, smallest_shell(), 1), np.zeros((1, 8)),
    ),
    "displaced_points": lambda: (
        _arms(), _window(), np.zeros((1, 2, 3)), np.ones(2, np.int64), np.zeros((1, 8)),
        new_work(1, smallest_shell(), 1), np.empty((1, 2, 3)),
    ),
    "spline_second": lambda: (np.zeros((3, 8)), np.zeros((3, 8)), np.zeros(3)),
    "apply_window": lambda: (
        _arms(), _window(), np.zeros((1, 8)), np.zeros((1, 8)), 1, 0, 1, 0.1, _poses(), np.zeros((1, 1, 4))
    ),
    "find_touches": lambda: (
        np.zeros(1, np.int64), np.ones((1, 3)), smallest_tubes(), np.zeros((1, 2), np.int64), np.zeros(1),
        Touching(1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0), *_poses(), smallest_tubes(), smallest_shell(), _poses(),
        new_work(1, smallest_shell(), 1), np.empty(1), np.empty((1, 3)), np.empty((1, 3)),
    ),
    "planted_clearance": lambda: (
        _arms(), smallest_shell(), np.zeros(1, np.int64), *_poses(), 0, np.zeros(3), new_work(1, smallest_shell(), 1)
    ),
    "hand_distances": lambda: (
        _arms(), smallest_shell(), np.zeros(1, np.int64), *_poses(), np.zeros((1, 2), np.int64), np.zeros((1, 2)),
        new_work(1, smallest_shell(), 1), np.empty((1, 2)),
    ),
}  # fmt: skip
