"""Kernels of `solve.robot`: forward kinematics of hinges, rows of one clip, and its whole-clip Gauss–Newton step.

World axes are z up. Unknowns of a frame: the base's displacement (3), its turn as a rotation vector in world axes (3),
and one angle per hinge; link i belongs to unknown 5 + i. A solve may hold some of them fixed: `columns` (6 + D,) has
the column of each unknown, or −1. A hinge that follows another one has the column of that one: what it moves is added
there, times its multiplier. Smoothness, ranges, speeds and steps take columns in which only hinges that lead have one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit
from footplant.kernels.banded import Band, band_room, solve_band
from footplant.mechanism._kinematics import Tree, pose_frame, world_place


class Soft(NamedTuple):
    """What is preferred."""

    point_links: NDArray
    point_places: NDArray
    point_goals: NDArray
    """(F, T, 3) metres."""
    point_weights: NDArray
    """(T,) per square metre."""
    way_links: NDArray
    """(S, 2) links of the upper and the lower end of a limb segment."""
    way_places: NDArray
    """(S, 2, 3) metres, in those links' frames."""
    way_goals: NDArray
    """(F, S, 3) metres: the vector from end to end."""
    way_weights: NDArray
    """(S,) per square metre."""
    turn_links: NDArray
    turn_goals: NDArray
    """(F, K, 3, 3)"""
    turn_weights: NDArray
    """(F, K) per square radian."""
    posture: NDArray
    """(F, D) radians; where hinges are drawn that nothing else asks for."""
    posture_weights: NDArray
    """(D,) per square radian."""


class Hard(NamedTuple):
    """What must hold."""

    hold_links: NDArray
    hold_places: NDArray
    hold_goals: NDArray
    """(F, H, 3) metres."""
    hold_weights: NDArray
    """(F, H) per square metre; 0 where a point is free."""
    hold_axes: NDArray
    """(H, 3) share, 0 to 1, of the square root of that weight along each world axis; 0 where it is free."""
    floor_links: NDArray
    floor_places: NDArray
    floor_radii: NDArray
    """Points of solids with a radius around them that stay above the ground."""
    floor_levels: NDArray
    """(F, P) metres; the height of the ground below each of them."""
    lower: NDArray
    upper: NDArray
    """(D,) radians."""
    speed: NDArray
    """(D,) largest change from frame to frame, radians."""


class Pairs(NamedTuple):
    """Solids that are near each other: rows of least distance, sorted by frame."""

    frames: NDArray
    links: NDArray
    """(M, 2)"""
    places: NDArray
    """(M, 2, 3) the nearest points, in the links' frames."""
    normals: NDArray
    """(M, 3) from the first to the second, world."""
    gaps: NDArray
    """(M,) metres between the surfaces less the distance of the points along the normal: minus the radii."""


class Rows(NamedTuple):
    """Inequality rows of one linearisation: gap + values·dx ≥ 0."""

    starts: NDArray
    """(F + 1,) first row of each frame."""
    values: NDArray
    """(M, n)"""
    gaps: NDArray
    active: NDArray
    names: NDArray
    """(M,) number of the floor point, or −1 for a pair of solids."""


def rows_room(frames, most, n):
    """Return room for `most` rows of n unknowns."""
    return Rows(
        np.zeros(frames + 1, np.int64), np.empty((most, n)), np.empty(most), np.zeros(most, np.int8),
        np.zeros(most, np.int64),
    )  # fmt: skip


class Room(NamedTuple):
    """Workspace of one solve."""

    squares: NDArray
    vectors: NDArray
    band: Band
    change: NDArray
    at_range: NDArray
    """(F, n) int8; −1 or 1 where an angle is at its lower or upper end."""
    at_speed: NDArray
    """(F, n) int8; −1 or 1 where it falls or rises at its largest speed to the next frame."""


class Near(NamedTuple):
    """What is near enough for a row, and what it asks for; metres."""

    margin: float
    """Rows are written of points and solids that are nearer than this to their bound."""
    distance: float
    """Least distance of solids."""
    part: float
    """By how much solids that overlap are driven apart in one step."""


class Frame(NamedTuple):
    """The links of one frame in the world, and room for the columns that a row depends on, twice."""

    at: NDArray
    turn: NDArray
    axis: NDArray
    index: NDArray
    by: NDArray
    other_index: NDArray
    other_by: NDArray


@jit
def frame_room(links):
    """Return room for a frame of so many links."""
    return Frame(
        np.empty((links, 3)), np.empty((links, 3, 3)), np.zeros((links, 3)), np.empty(links + 6, np.int64),
        np.empty((links + 6, 3)), np.empty(links + 6, np.int64), np.empty((links + 6, 3)),
    )  # fmt: skip


HELD = 1e6
"""Weight of bounds that are active, per square radian or metre, relative to about 1 for a limb that is a radian off."""
FAST = 0.4
"""Radians from frame to frame: bounds of slower hinges weigh more, with the square, so that what is left of an error is
the same share of every speed. Knees of half a radian per second exceeded it by 0.1 to 16 %."""
APART = 3e4
"""Weight of solids that are kept apart, per square metre: less than that of plants and ranges, which come first."""


@jit
def _columns_of_point(tree, columns, at, axis, link, point, index, by):
    """Write which columns a point of a link depends on, and its derivatives (m, 3); return their number m.

    A column comes once for each hinge that moves with it.
    """
    m = 0
    for k in range(tree.depths[link]):
        each = tree.paths[link, k]
        column = columns[5 + each]
        if column >= 0:
            dx, dy, dz = point[0] - at[each, 0], point[1] - at[each, 1], point[2] - at[each, 2]
            # a multiplier of 1 changes no bit
            by_leader = tree.multipliers[each - 1]
            ax, ay, az = by_leader * axis[each, 0], by_leader * axis[each, 1], by_leader * axis[each, 2]
            index[m] = column
            by[m, 0], by[m, 1], by[m, 2] = ay * dz - az * dy, az * dx - ax * dz, ax * dy - ay * dx
            m += 1
    if columns[0] >= 0:
        dx, dy, dz = point[0] - at[0, 0], point[1] - at[0, 1], point[2] - at[0, 2]
        for k in range(6):
            index[m + k] = columns[k]
            by[m + k, 0] = by[m + k, 1] = by[m + k, 2] = 0.0
        by[m, 0] = by[m + 1, 1] = by[m + 2, 2] = 1.0
        by[m + 3, 1], by[m + 3, 2] = -dz, dy
        by[m + 4, 0], by[m + 4, 2] = dz, -dx
        by[m + 5, 0], by[m + 5, 1] = -dy, dx
        m += 6
    return m


@jit
def _columns_of_turn(tree, columns, axis, link, index, by):
    """Write which columns a link's rotation depends on, and its derivatives (m, 3), likewise; return their number m."""
    m = 0
    for k in range(tree.depths[link]):
        each = tree.paths[link, k]
        if columns[5 + each] >= 0:
            by_leader = tree.multipliers[each - 1]
            index[m] = columns[5 + each]
            for i in range(3):
                by[m, i] = by_leader * axis[each, i]
            m += 1
    if columns[3] >= 0:
        for k in range(3):
            index[m] = columns[3 + k]
            by[m, 0] = by[m, 1] = by[m, 2] = 0.0
            by[m, k] = 1.0
            m += 1
    return m


@jit
def _add(square, vector, index, by, m, error, weight):
    """Add weight·|by·dx − error|² of three rows to the lower triangle of one frame's equations."""
    for i in range(m):
        a, x, y, z = index[i], weight * by[i, 0], weight * by[i, 1], weight * by[i, 2]
        vector[a] += x * error[0] + y * error[1] + z * error[2]
        for j in range(m):
            b = index[j]
            if b <= a:
                square[a, b] += x * by[j, 0] + y * by[j, 1] + z * by[j, 2]


@jit
def _turn_error(turn, goal, out):
    """Write the rotation vector, in world axes, from a rotation to its goal."""
    x = y = z = trace = 0.0
    for i in range(3):
        ax, ay, az = turn[0, i], turn[1, i], turn[2, i]
        bx, by, bz = goal[0, i], goal[1, i], goal[2, i]
        x += 0.5 * (ay * bz - az * by)
        y += 0.5 * (az * bx - ax * bz)
        z += 0.5 * (ax * by - ay * bx)
        trace += ax * bx + ay * by + az * bz
    sine = math.sqrt(x * x + y * y + z * z)
    scale = math.atan2(sine, 0.5 * (trace - 1.0)) / sine if sine > 1e-9 else 1.0
    out[0], out[1], out[2] = scale * x, scale * y, scale * z


@jit
def _add_frame(tree, columns, soft, hard, q, f, frame, square, vector):
    """Add all soft rows and held points of a frame, which is posed."""
    at, turn, axis, index, by, index2, by2 = frame
    point, other, error = np.empty(3), np.empty(3), np.empty(3)
    for t in range(soft.point_links.shape[0]):
        link = soft.point_links[t]
        world_place(at, turn, link, soft.point_places[t], point)
        m = _columns_of_point(tree, columns, at, axis, link, point, index, by)
        for i in range(3):
            error[i] = soft.point_goals[f, t, i] - point[i]
        _add(square, vector, index, by, m, error, soft.point_weights[t])
    for t in range(soft.way_links.shape[0]):
        above, below = soft.way_links[t, 0], soft.way_links[t, 1]
        world_place(at, turn, above, soft.way_places[t, 0], other)
        world_place(at, turn, below, soft.way_places[t, 1], point)
        m = _columns_of_point(tree, columns, at, axis, below, point, index, by)
        k = _columns_of_point(tree, columns, at, axis, above, other, index2, by2)
        # columns of the upper end are among those of the lower one; of equal columns the sum counts
        for a in range(k):
            for b in range(m):
                if index[b] == index2[a]:
                    for i in range(3):
                        by[b, i] -= by2[a, i]
                    break
        for i in range(3):
            error[i] = soft.way_goals[f, t, i] - (point[i] - other[i])
        _add(square, vector, index, by, m, error, soft.way_weights[t])
    for t in range(soft.turn_links.shape[0]):
        if soft.turn_weights[f, t] > 0.0:
            link = soft.turn_links[t]
            m = _columns_of_turn(tree, columns, axis, link, index, by)
            if m:
                _turn_error(turn[link], soft.turn_goals[f, t], error)
                _add(square, vector, index, by, m, error, soft.turn_weights[f, t])
    for t in range(hard.hold_links.shape[0]):
        weight = hard.hold_weights[f, t]
        if weight > 0.0:
            link = hard.hold_links[t]
            world_place(at, turn, link, hard.hold_places[t], point)
            m = _columns_of_point(tree, columns, at, axis, link, point, index, by)
            for i in range(3):
                share = hard.hold_axes[t, i]
                error[i] = share * (hard.hold_goals[f, t, i] - point[i])
                for a in range(m):
                    by[a, i] *= share
            _add(square, vector, index, by, m, error, weight)
    for k in range(soft.posture.shape[1]):
        column = columns[6 + k]
        if column >= 0:
            by_leader = tree.multipliers[k]
            square[column, column] += by_leader * by_leader * soft.posture_weights[k]
            vector[column] += by_leader * soft.posture_weights[k] * (soft.posture[f, k] - q[7 + k])


@jit
def assemble(tree, columns, soft, hard, pairs, states, near, touching, room, rows):
    """Write the equations of all frames, and inequality rows of what is near its bound.

    states (F, 7 + D); touching (F, P): which floor points were active. Returns the number of rows: if there is no room
    for as many, they must be written again.
    """
    frames, frame = states.shape[0], frame_room(tree.parents.shape[0])
    at, turn, axis, index, by, _, _ = frame
    point, other = np.empty(3), np.empty(3)
    count, pair, limit = 0, 0, rows.gaps.shape[0]
    for f in range(frames):
        square, vector = room.squares[f], room.vectors[f]
        square[:, :] = 0.0
        vector[:] = 0.0
        pose_frame(tree, states[f], at, turn, axis)
        _add_frame(tree, columns, soft, hard, states[f], f, frame, square, vector)
        rows.starts[f] = count
        for t in range(hard.floor_links.shape[0]):
            link = hard.floor_links[t]
            height = at[link, 2] - hard.floor_radii[t] - hard.floor_levels[f, t]
            for i in range(3):
                height += turn[link, 2, i] * hard.floor_places[t, i]
            if height < near.margin:
                world_place(at, turn, link, hard.floor_places[t], point)
                m = _columns_of_point(tree, columns, at, axis, link, point, index, by)
                if m and count < limit:
                    rows.values[count, :] = 0.0
                    for a in range(m):
                        rows.values[count, index[a]] += by[a, 2]
                    rows.gaps[count] = height
                    rows.active[count] = touching[f, t]
                    rows.names[count] = t
                count += m > 0
        while pair < pairs.frames.shape[0] and pairs.frames[pair] == f:
            if count < limit:
                first, second, normal = pairs.links[pair, 0], pairs.links[pair, 1], pairs.normals[pair]
                world_place(at, turn, first, pairs.places[pair, 0], other)
                world_place(at, turn, second, pairs.places[pair, 1], point)
                gap = pairs.gaps[pair] - near.distance
                for i in range(3):
                    gap += normal[i] * (point[i] - other[i])
                rows.values[count, :] = 0.0
                m = _columns_of_point(tree, columns, at, axis, second, point, index, by)
                for a in range(m):
                    rows.values[count, index[a]] += by[a, 0] * normal[0] + by[a, 1] * normal[1] + by[a, 2] * normal[2]
                m = _columns_of_point(tree, columns, at, axis, first, other, index, by)
                for a in range(m):
                    rows.values[count, index[a]] -= by[a, 0] * normal[0] + by[a, 1] * normal[1] + by[a, 2] * normal[2]
                # solids that overlap are driven apart over several steps, not in one
                rows.gaps[count] = max(gap, -near.part)
                rows.active[count] = 1 if gap < 0.0 else 0
                rows.names[count] = -1
            count += 1
            pair += 1
    rows.starts[frames] = count
    return count


@jit
def _second_difference(states, reference, unknown, f):
    """Return the second difference at frame f + 1 of a hinge or of the base's place, less the reference's."""
    k = unknown + 1 if unknown >= 6 else unknown
    return (
        states[f + 2, k] - reference[f + 2, k] - 2.0 * (states[f + 1, k] - reference[f + 1, k])
        + (states[f, k] - reference[f, k])
    )  # fmt: skip


@jit
def _relative_turn(a, b, out):
    """Write the rotation vector, in world axes, from quaternion a to quaternion b."""
    w = b[0] * a[0] + b[1] * a[1] + b[2] * a[2] + b[3] * a[3]
    x = -b[0] * a[1] + b[1] * a[0] - b[2] * a[3] + b[3] * a[2]
    y = -b[0] * a[2] + b[2] * a[0] - b[3] * a[1] + b[1] * a[3]
    z = -b[0] * a[3] + b[3] * a[0] - b[1] * a[2] + b[2] * a[1]
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 * math.atan2(sine, w) / sine if sine > 1e-9 else 2.0
    out[0], out[1], out[2] = scale * x, scale * y, scale * z


@jit
def add_smoothness(columns, bend, states, reference, vectors):
    """Add the gradient of second differences, of the motion less those of the reference, to the right-hand sides."""
    frames = states.shape[0]
    turned = np.empty((frames, 3))
    for f in range(frames):
        _relative_turn(reference[f, 3:7], states[f, 3:7], turned[f])
    for unknown in range(columns.shape[0]):
        column = columns[unknown]
        if column < 0 or bend[column] == 0.0:
            continue
        for f in range(frames - 2):
            if 3 <= unknown < 6:
                value = turned[f + 2, unknown - 3] - 2.0 * turned[f + 1, unknown - 3] + turned[f, unknown - 3]
            else:
                value = _second_difference(states, reference, unknown, f)
            value *= bend[column]
            vectors[f, column] -= value
            vectors[f + 1, column] += 2.0 * value
            vectors[f + 2, column] -= value


@jit
def _fill(columns, hard, states, rows, room, bend, proximal):
    """Fill the band with all rows that are active; the right-hand side is written to `room.change`."""
    frames, n = room.vectors.shape
    width = 2 * n
    for f in range(frames):
        second = (f < frames - 2) + 4.0 * (1 <= f < frames - 1) + (f >= 2)
        beside = -2.0 * ((f < frames - 2) + (1 <= f < frames - 1))
        square = room.squares[f]
        for a in range(n):
            column = room.band.lower[f * n + a]
            column[n:] = 0.0
            for c in range(a, n):
                column[c - a] = square[c, a]
            for c in range(n - a, n):
                column[c] = 0.0
            column[0] += bend[a] * second + proximal
            if f < frames - 1:
                column[n] += bend[a] * beside
            if f < frames - 2:
                column[width] = bend[a]
            room.change[f, a] = room.vectors[f, a]
        for r in range(rows.starts[f], rows.starts[f + 1]):
            if rows.active[r]:
                values = rows.values[r]
                weight = HELD if rows.names[r] >= 0 else APART
                for a in range(n):
                    scaled = weight * values[a]
                    if scaled != 0.0:
                        room.change[f, a] -= scaled * rows.gaps[r]
                        column = room.band.lower[f * n + a]
                        for c in range(a, n):
                            column[c - a] += scaled * values[c]
    for k in range(hard.lower.shape[0]):
        a = columns[6 + k]
        if a < 0:
            continue
        weight = HELD * max(1.0, (FAST / hard.speed[k]) ** 2)
        for f in range(frames):
            side = room.at_range[f, a]
            if side != 0:
                bound = hard.lower[k] if side < 0 else hard.upper[k]
                room.band.lower[f * n + a, 0] += 10.0 * HELD
                room.change[f, a] += 10.0 * HELD * (bound - states[f, 7 + k])
            side = room.at_speed[f, a]
            if side != 0 and f < frames - 1:
                error = side * hard.speed[k] - (states[f + 1, 7 + k] - states[f, 7 + k])
                room.band.lower[f * n + a, 0] += weight
                room.band.lower[(f + 1) * n + a, 0] += weight
                room.band.lower[f * n + a, n] -= weight
                room.change[f, a] -= weight * error
                room.change[f + 1, a] += weight * error


@jit
def _update(columns, hard, states, rows, room, drop):
    """Activate the bounds that the step would break, drop those that pull; return how many changed."""
    frames, n = room.vectors.shape
    changed = 0
    for f in range(frames):
        for r in range(rows.starts[f], rows.starts[f + 1]):
            gap = rows.gaps[r]
            for a in range(n):
                gap += rows.values[r, a] * room.change[f, a]
            if not rows.active[r] and gap < -1e-5:
                rows.active[r] = 1
                changed += 1
            elif drop and rows.active[r] and gap > 1e-9:
                rows.active[r] = 0
                changed += 1
    for k in range(hard.lower.shape[0]):
        a = columns[6 + k]
        if a < 0:
            continue
        for f in range(frames):
            value = states[f, 7 + k] + room.change[f, a]
            side = room.at_range[f, a]
            if side == 0:
                if value < hard.lower[k] - 1e-7:
                    room.at_range[f, a] = -1
                    changed += 1
                elif value > hard.upper[k] + 1e-7:
                    room.at_range[f, a] = 1
                    changed += 1
            elif drop and ((side < 0 and value > hard.lower[k]) or (side > 0 and value < hard.upper[k])):
                room.at_range[f, a] = 0
                changed += 1
            if f < frames - 1:
                rise = states[f + 1, 7 + k] + room.change[f + 1, a] - value
                side = room.at_speed[f, a]
                if side == 0:
                    if abs(rise) > hard.speed[k] + 1e-6:
                        room.at_speed[f, a] = 1 if rise > 0.0 else -1
                        changed += 1
                elif drop and side * rise < hard.speed[k] - 1e-9:
                    room.at_speed[f, a] = 0
                    changed += 1
    return changed


@jit
def step(columns, hard, states, rows, room, bend, proximal, rounds):
    """Write one Gauss–Newton step with its active set to `room.change`; return how often the matrix was factored."""
    frames, n = room.vectors.shape
    values = room.change.reshape(frames * n)
    for round in range(rounds):
        _fill(columns, hard, states, rows, room, bend, proximal)
        room.band.values[:] = values
        if not solve_band(room.band):
            return -1
        values[:] = room.band.values
        if _update(columns, hard, states, rows, room, True) == 0 or round == rounds - 1:
            return round + 1
    return rounds


@jit
def _move(q, columns, change, scale):
    """Move one frame's state by a change of its free unknowns."""
    for k in range(3):
        if columns[k] >= 0:
            q[k] += scale * change[columns[k]]
    if columns[3] >= 0:
        x, y, z = scale * change[columns[3]], scale * change[columns[4]], scale * change[columns[5]]
        angle = math.sqrt(x * x + y * y + z * z)
        s = math.sin(0.5 * angle) / angle if angle > 1e-9 else 0.5
        w, x, y, z = math.cos(0.5 * angle), s * x, s * y, s * z
        a, b, c, d = q[3], q[4], q[5], q[6]
        nw, nx = w * a - x * b - y * c - z * d, w * b + x * a + y * d - z * c
        ny, nz = w * c - x * d + y * a + z * b, w * d + x * c - y * b + z * a
        length = math.sqrt(nw * nw + nx * nx + ny * ny + nz * nz)
        q[3], q[4], q[5], q[6] = nw / length, nx / length, ny / length, nz / length
    for k in range(6, columns.shape[0]):
        if columns[k] >= 0:
            q[k + 1] += scale * change[columns[k]]


@jit
def move(states, columns, change, longest):
    """Move all frames, no unknown by more than `longest` (radians or metres) in a step; return the longest change."""
    frames, n = change.shape
    most = 0.0
    for f in range(frames):
        large = 0.0
        for a in range(n):
            large = max(large, abs(change[f, a]))
        most = max(most, large)
        _move(states[f], columns, change[f], 1.0 if large <= longest else longest / large)
    return most


@jit
def _solve_tree(square, vector, firsts):
    """Solve the equations of one frame in place, square: lower triangle; return False if it is not positive definite.

    Unknowns are sorted from the leaves of the tree to its base: row i is zero before column firsts[i], and so is the
    factor's. That is what the limbs have to do with each other.
    """
    n = vector.shape[0]
    for i in range(n):
        for j in range(firsts[i], i):
            total = square[i, j]
            for k in range(firsts[j], j):
                total -= square[i, k] * square[j, k]
            square[i, j] = total / square[j, j]
            vector[i] -= square[i, j] * vector[j]
        total = square[i, i]
        for k in range(firsts[i], i):
            total -= square[i, k] * square[i, k]
        if not total > 0.0:
            return False
        square[i, i] = math.sqrt(total)
        vector[i] /= square[i, i]
    for i in range(n - 1, -1, -1):
        vector[i] /= square[i, i]
        for k in range(firsts[i], i):
            vector[k] -= square[i, k] * vector[i]
    return True


@jit
def track(tree, soft, hard, states, first_steps, steps, damping):
    """Pose every frame by itself, starting from the one before it: a first guess. states[0] must be set."""
    frames, links = states.shape[0], tree.parents.shape[0]
    n = links + 5
    # from the leaves to the base
    columns = np.arange(n - 1, -1, -1)
    own = columns.copy()
    for k in range(6, n):
        leader = tree.leaders[k - 6]
        columns[k] = own[6 + leader] if tree.multipliers[k - 6] != 0.0 else -1
        if leader != k - 6 or columns[k] < 0:
            own[k] = -1
    firsts = np.arange(n)
    firsts[n - 6 :] = 0
    for link in range(1, links):
        lowest = n
        for k in range(tree.depths[link]):
            above = columns[5 + tree.paths[link, k]]
            if above >= 0:
                lowest = min(lowest, above)
        for k in range(tree.depths[link]):
            above = columns[5 + tree.paths[link, k]]
            if above >= 0:
                firsts[above] = min(firsts[above], lowest)
    frame = frame_room(links)
    square, change = np.empty((n, n)), np.empty(n)
    for f in range(frames):
        q = states[f]
        if f > 0:
            # the base as given, hinges as before
            for k in range(7, q.shape[0]):
                q[k] = states[f - 1, k]
        for _ in range(first_steps if f == 0 else steps):
            square[:, :] = 0.0
            change[:] = 0.0
            pose_frame(tree, q, frame.at, frame.turn, frame.axis)
            _add_frame(tree, columns, soft, hard, q, f, frame, square, change)
            for k in range(n):
                square[k, k] += damping
            # an angle at its end that is pushed further stays there
            for k in range(6, n):
                a = own[k]
                if a < 0:
                    continue
                if (q[k + 1] <= hard.lower[k - 6] and change[a] < 0.0) or (
                    q[k + 1] >= hard.upper[k - 6] and change[a] > 0.0
                ):
                    square[a, a] += HELD
                    change[a] = 0.0
            if not _solve_tree(square, change, firsts):
                break
            large = 0.0
            for k in range(n):
                large = max(large, abs(change[k]))
            _move(q, own, change, 1.0 if large < 0.5 else 0.5 / large)
            for k in range(6, n):
                q[k + 1] = min(max(q[k + 1], hard.lower[k - 6]), hard.upper[k - 6])
            for k in range(n - 6):
                if own[6 + k] < 0:
                    q[7 + k] = tree.multipliers[k] * q[7 + tree.leaders[k]] + tree.offsets[k]
            if large < 1e-3:
                break


@jit
def remember(rows, touching):
    """Note which floor points are active (F, P)."""
    touching[:, :] = 0
    for f in range(touching.shape[0]):
        for r in range(rows.starts[f], rows.starts[f + 1]):
            if rows.names[r] >= 0:
                touching[f, rows.names[r]] = rows.active[r]


def _example():
    """Return the arguments of the kernels for a base with one hinge, at one frame."""
    tree = Tree(
        np.array([-1, 0]), np.zeros((2, 3)), np.tile(np.eye(3), (2, 1, 1)), np.array([[0.0] * 3, [0.0, 0.0, 1.0]]),
        np.zeros(1), np.array([[0], [1]]), np.array([0, 1]), np.zeros(1, np.int64), np.ones(1), np.zeros(1),
    )  # fmt: skip
    one = np.array([1])
    soft = Soft(
        one, np.zeros((1, 3)), np.zeros((1, 1, 3)), np.ones(1), np.array([[0, 1]]), np.zeros((1, 2, 3)),
        np.zeros((1, 1, 3)), np.ones(1), one, np.tile(np.eye(3), (1, 1, 1, 1)), np.ones((1, 1)), np.zeros((1, 1)),
        np.ones(1),
    )  # fmt: skip
    hard = Hard(
        one, np.zeros((1, 3)), np.zeros((1, 1, 3)), np.ones((1, 1)), np.ones((1, 3)), one, np.zeros((1, 3)),
        np.zeros(1), np.zeros((1, 1)), -np.ones(1), np.ones(1), np.ones(1),
    )  # fmt: skip
    pairs = Pairs(np.zeros(0, np.int64), np.zeros((0, 2), np.int64), np.zeros((0, 2, 3)), np.zeros((0, 3)), np.zeros(0))
    rows = rows_room(1, 4, 7)
    room = Room(
        np.zeros((1, 7, 7)), np.zeros((1, 7)), band_room(1, 7), np.zeros((1, 7)), np.zeros((1, 7), np.int8),
        np.zeros((1, 7), np.int8),
    )  # fmt: skip
    states = np.zeros((1, 8))
    states[:, 3] = 1.0
    return tree, np.arange(7), soft, hard, pairs, states, rows, room


def _assembled():
    tree, columns, soft, hard, pairs, states, rows, room = _example()
    near = Near(0.1, 0.01, 0.01)
    return tree, columns, soft, hard, pairs, states, near, np.zeros((1, 1), np.int8), room, rows


def _stepped():
    _, columns, _, hard, _, states, rows, room = _example()
    return columns, hard, states, rows, room, np.ones(7), 1.0, 1


def _tracked():
    tree, _, soft, hard, _, states, _, _ = _example()
    return tree, soft, hard, states, 1, 1, 1.0


WARMUP = {
    "assemble": _assembled,
    "step": _stepped,
    "track": _tracked,
    "add_smoothness": lambda: (np.arange(7), np.ones(7), np.ones((3, 8)), np.ones((3, 8)), np.zeros((3, 7))),
    "move": lambda: (np.ones((1, 8)), np.arange(7), np.zeros((1, 7)), 0.5),
    "remember": lambda: (_example()[6], np.zeros((1, 1), np.int8)),
}
