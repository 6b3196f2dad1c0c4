"""Arms of retargeted motion on fat bodies: how far they stand off, and how far any solver would have to turn them.

`python benchmarks/stand_off.py DATA` retargets clips to fat characters, takes some frames of each result, and compares
it with the same trunk and legs whose arms are as copied. Where the skin of a copied forearm or hand is deeper in the
trunk than --deep, it tells

- stand-off: the distance of the result's forearm and hand from the trunk's skin, mm;
- upper arm, forearm: degrees by which the result turns them, and the least that any pose needs: directions of upper arm
  and forearm (four numbers) are searched for the least turn √(α² + β²) with which forearm and hand are no deeper than
  --deep. `least` is the upper arm's and the forearm's angle of that pose, `limits` the same within the joint limits for
  some twist of the upper arm, `alone` the least angle of the one while the other is free. It is the frame's own least:
  nothing asks for smoothness, and legs, head and the other arm may be in the way.

Where the copied arm is no deeper than --deep, `beside` tells by how much the result turns it all the same: for touches,
for legs, head, ground and the other arm, or for the stand-ins of the skin.

Where the source's palm is at its body, it tells how much farther the result's hand is from its own skin (mm), the least
that a pose within the limits has, and the least with upper arm and forearm turned no farther than the result's (`as
turned`).

A line says medians over the frames of a pair, and in brackets the 90th percentile. Lengths are on a body of 1.7 m.
Forearms are not twisted; angles are found to about a degree. `--json` prints the figures of all characters.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

import footplant
from footplant import rotation
from footplant.clip import Clip
from footplant.edits import retarget as edit
from footplant.errors import FootplantError
from footplant.humanoid.limits import limit_table
from footplant.kernels.measures import less_beyond
from footplant.kernels.quaternion import exp, log, multiply, rotate
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.order import quantile
from footplant.quality import _penetration as mesh_kernel
from footplant.quality.hands import BODY_PARTS, NEAR_BODY, palm_distances
from footplant.quality.pair import BODY, SIDES, motion_pair
from footplant.quality.penetration import HANDS, PALM_THICKNESS, TRUNK, BodyParts, Part
from footplant.skeleton import Character
from timing import print_figures

CHARACTERS = (
    "sample:blubby", "gltf/KayKit_Knight.glb", "gltf/KnightCharacter/KnightCharacter.gltf", "gltf/RobotExpressive.glb",
    "vrm/100avatars_045_DinoKid.vrm", "gltf/RiggedFigure.glb",
)  # fmt: skip
CLIPS = ("sample:walk", "sample:clap", "bvh/cmu/35_01.bvh", "bvh/cmu/18_01.bvh", "bvh/other/mocapbank.bvh")
STEP = 0.015
"""Metres on a body of 1.7 m; spacing of the grid on which the distance from a part of the body is known."""
CELLS = 36
"""Most cells of that grid along an axis."""
AROUND = 0.06
"""Metres on a body of 1.7 m; the grid goes on so far around the part."""
COARSE = np.radians(6.0)
"""Spacing of the directions that are searched first."""
FARTHEST = np.radians(96.0)
"""Largest turn of upper arm and forearm that is searched."""
SEEDS, TRIALS = 12, 400
"""Best poses of the coarse search that are refined, and trials of each: with twice as many angles are 0.2° less."""
TWISTS = 24
"""Twists of the upper arm that are tried for joint limits."""
SLACK = np.radians(1.0)
"""By how much a limit may be broken farther than by the copied arm."""
VERTICES = 300
"""Vertices of forearm and hand that are looked at."""


# --- bodies and arms as tables ---------------------------------------------------------------------------------------


class Solid(NamedTuple):
    """A part of the body as signed distances on a grid, negative inside, metres."""

    values: NDArray
    """(X, Y, Z)."""
    start: NDArray
    """(3,) of the first value."""
    step: float


class Arm(NamedTuple):
    """The skin of a forearm and hand that follows turns of upper arm and forearm, Q vertices.

    A vertex is at others + Σ over segments of the turned part of it, each with its share of the skin weights.
    """

    shoulder: NDArray
    elbow: NDArray
    shares: NDArray
    """(Q, 2) skin weights of upper arm and of forearm with hand."""
    parts: NDArray
    """(Q, 3, 3) metres; what the rest of the body, the upper arm, and forearm with hand contribute as copied."""
    spare: NDArray
    """(Q,) metres; how deep a vertex may be in the trunk."""
    hand: NDArray
    """(Q,) bool; vertices of the hand whose distance from the body is looked at."""
    axes: NDArray
    """(2, 3, 3) directions of upper arm and forearm as copied, and two axes across each."""
    turns: NDArray
    """(4, 4) world rotations as copied: parent of the upper arm, upper arm, parent of the forearm, forearm."""
    limits: NDArray
    """(2, 14) of shoulder and elbow (`limit_table`)."""


@numba.njit(nogil=True, error_model="numpy")
def _fill(vertices, faces, tree, start, step, values):
    """Write the signed distances (X, Y, Z) from a mesh on a grid.

    Near a point that is certainly outside or inside, others are so too (see `deepest` of the measure's kernel).
    """
    corners, nodes, stack = tree
    mesh_kernel.refit(vertices, faces, corners, nodes)
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            last, reach, anchor, inside = np.inf, 0.0, 0, False
            for k in range(values.shape[2]):
                x, y, z = start[0] + i * step, start[1] + j * step, start[2] + k * step
                most = last + step * 1.001
                square = mesh_kernel.surface_distance(corners, nodes, stack, x, y, z, most * most, 0.0)
                last = np.sqrt(square)
                if (k - anchor) * step >= reach:
                    winding = abs(mesh_kernel.winding(corners, nodes, stack, x, y, z))
                    inside, anchor = winding > 0.5, k
                    reach = 0.4 * last if winding < 0.1 or winding > 0.9 else 0.0
                values[i, j, k] = -last if inside else last


@numba.njit(nogil=True, error_model="numpy")
def _on_grid(values, p, q, r):
    """Return the value at a place of the grid, trilinear."""
    i, j, k = int(p), int(q), int(r)
    p, q, r = p - i, q - j, r - k
    total = 0.0
    for a in range(2):
        for b in range(2):
            low, high = values[i + a, j + b, k], values[i + a, j + b, k + 1]
            share = (p if a else 1.0 - p) * (q if b else 1.0 - q)
            total += share * (low + r * (high - low))
    return total


@numba.njit(nogil=True, error_model="numpy")
def distance_at(solid, x, y, z):
    """Return the signed distance of a point from a solid; beside the grid, that from the point of the surface that is
    nearest to the grid's edge there."""
    v, s = solid.values, solid.step
    a, b, c = (x - solid.start[0]) / s, (y - solid.start[1]) / s, (z - solid.start[2]) / s
    p = min(max(a, 0.0), v.shape[0] - 1.001)
    q = min(max(b, 0.0), v.shape[1] - 1.001)
    r = min(max(c, 0.0), v.shape[2] - 1.001)
    value = _on_grid(v, p, q, r)
    a, b, c = a - p, b - q, c - r
    if a * a + b * b + c * c < 0.01:
        return value
    i, j, k = int(p), int(q), int(r)
    slope = v[i + 1, j, k] - v[i, j, k], v[i, j + 1, k] - v[i, j, k], v[i, j, k + 1] - v[i, j, k]
    scale = value / max(np.sqrt(slope[0] ** 2 + slope[1] ** 2 + slope[2] ** 2), 1e-9)
    a, b, c = s * a + scale * slope[0], s * b + scale * slope[1], s * c + scale * slope[2]
    return np.sqrt(a * a + b * b + c * c)


def solid_of(part: Part, vertices: NDArray, scale: float = 1.0) -> Solid:
    """Return a part of a posed skin (V, 3) as a solid; scale: to a body of 1.7 m."""
    used = vertices[np.unique(part.faces)]
    low, high = used.min(axis=0) - AROUND / scale, used.max(axis=0) + AROUND / scale
    step = max(STEP / scale, float((high - low).max()) / CELLS)
    values = np.empty(np.ceil((high - low) / step).astype(int) + 1)
    _fill(vertices, part.faces, part.tree, low, step, values)
    return Solid(values, low, step)


# --- the search ------------------------------------------------------------------------------------------------------


@numba.njit(nogil=True, error_model="numpy")
def _matrix(axes, u, v, out):
    """Write the matrix of the turn u·a + v·b, a and b across a segment."""
    x, y, z = u * axes[1, 0] + v * axes[2, 0], u * axes[1, 1] + v * axes[2, 1], u * axes[1, 2] + v * axes[2, 2]
    w, x, y, z = exp(x, y, z)
    for n in range(3):
        e = (1.0 if n == 0 else 0.0, 1.0 if n == 1 else 0.0, 1.0 if n == 2 else 0.0)
        out[0, n], out[1, n], out[2, n] = rotate(w, x, y, z, e[0], e[1], e[2])


@numba.njit(nogil=True, error_model="numpy")
def _vertex(arm, q, upper, lower, elbow):
    """Return where a vertex is when upper arm and forearm are turned by matrices (3, 3); elbow (3,): turned."""
    p, a, b, s, e = arm.parts[q], arm.shares[q, 0], arm.shares[q, 1], arm.shoulder, arm.elbow
    ux, uy, uz = p[1, 0] - a * s[0], p[1, 1] - a * s[1], p[1, 2] - a * s[2]
    vx, vy, vz = p[2, 0] - b * e[0], p[2, 1] - b * e[1], p[2, 2] - b * e[2]
    x = p[0, 0] + a * s[0] + b * elbow[0] + upper[0, 0] * ux + upper[0, 1] * uy + upper[0, 2] * uz
    y = p[0, 1] + a * s[1] + b * elbow[1] + upper[1, 0] * ux + upper[1, 1] * uy + upper[1, 2] * uz
    z = p[0, 2] + a * s[2] + b * elbow[2] + upper[2, 0] * ux + upper[2, 1] * uy + upper[2, 2] * uz
    x += lower[0, 0] * vx + lower[0, 1] * vy + lower[0, 2] * vz
    y += lower[1, 0] * vx + lower[1, 1] * vy + lower[1, 2] * vz
    z += lower[2, 0] * vx + lower[2, 1] * vy + lower[2, 2] * vz
    return x, y, z


@numba.njit(nogil=True, error_model="numpy")
def _turned_elbow(arm, upper, elbow):
    """Write the elbow when the upper arm is turned by a matrix."""
    for n in range(3):
        elbow[n] = arm.shoulder[n]
        for m in range(3):
            elbow[n] += upper[n, m] * (arm.elbow[m] - arm.shoulder[m])


@numba.njit(nogil=True, error_model="numpy")
def is_out(arm, trunk, upper, lower, elbow, order):
    """Return whether no vertex is too deep in the trunk. order (Q,): the last one that was comes first next time."""
    for n in range(order.shape[0]):
        q = order[n]
        x, y, z = _vertex(arm, q, upper, lower, elbow)
        if distance_at(trunk, x, y, z) < -arm.spare[q]:
            order[n], order[n // 2] = order[n // 2], q
            return False
    return True


@numba.njit(nogil=True, error_model="numpy")
def hand_gap(arm, part, upper, lower, elbow):
    """Return the least distance of the hand from a part of the body, metres, 0 at least."""
    best = np.inf
    for q in range(arm.hand.shape[0]):
        if arm.hand[q]:
            x, y, z = _vertex(arm, q, upper, lower, elbow)
            best = min(best, distance_at(part, x, y, z))
    return max(best, 0.0)


@numba.njit(nogil=True, error_model="numpy")
def _excess(limits, parent, own):
    """Return by how much a joint's rotation exceeds its limits, radians; world rotations of its parent and itself."""
    w, x, y, z = multiply(parent[0], -parent[1], -parent[2], -parent[3], own[0], own[1], own[2], own[3])
    w, x, y, z = multiply(limits[0], limits[1], limits[2], limits[3], w, x, y, z)
    w, x, y, z = multiply(w, x, y, z, limits[4], -limits[5], -limits[6], -limits[7])
    x, y, z = log(w, x, y, z)
    _, _, _, over = less_beyond(x, y, z, limits[8:11], limits[11:14])
    return over


@numba.njit(nogil=True, error_model="numpy")
def is_within_limits(arm, pose):
    """Return whether shoulder and elbow are within their limits, or as far beyond them as copied, at some twist."""
    t, a = arm.turns, arm.axes
    shoulder, elbow = _excess(arm.limits[0], t[0], t[1]) + SLACK, _excess(arm.limits[1], t[2], t[3]) + SLACK
    u = exp(
        pose[0] * a[0, 1, 0] + pose[1] * a[0, 2, 0], pose[0] * a[0, 1, 1] + pose[1] * a[0, 2, 1],
        pose[0] * a[0, 1, 2] + pose[1] * a[0, 2, 2],
    )  # fmt: skip
    v = exp(
        pose[2] * a[1, 1, 0] + pose[3] * a[1, 2, 0], pose[2] * a[1, 1, 1] + pose[3] * a[1, 2, 1],
        pose[2] * a[1, 1, 2] + pose[3] * a[1, 2, 2],
    )  # fmt: skip
    fore = multiply(v[0], v[1], v[2], v[3], t[3, 0], t[3, 1], t[3, 2], t[3, 3])
    for n in range(TWISTS):
        angle = 2.0 * np.pi * n / TWISTS
        w, x, y, z = exp(angle * a[0, 0, 0], angle * a[0, 0, 1], angle * a[0, 0, 2])
        w, x, y, z = multiply(u[0], u[1], u[2], u[3], w, x, y, z)
        upper = multiply(w, x, y, z, t[1, 0], t[1, 1], t[1, 2], t[1, 3])
        if _excess(arm.limits[0], t[0], upper) <= shoulder:
            above = multiply(w, x, y, z, t[2, 0], t[2, 1], t[2, 2], t[2, 3])
            if _excess(arm.limits[1], above, fore) <= elbow:
                return True
    return False


def turns_between(most: float = FARTHEST, spacing: float = COARSE) -> NDArray:
    """Return directions (N, 2) about one as turns across it, radians: those of a disc, on a grid of hexagons."""
    count = int(most / spacing) + 2
    rows, columns = np.mgrid[-count : count + 1, -count : count + 1]
    found = spacing * np.stack([columns + 0.5 * (rows % 2), np.sqrt(0.75) * rows], axis=-1).reshape(-1, 2)
    return found[np.linalg.norm(found, axis=1) <= most]


def ordered(disc: NDArray, weights: tuple[float, float]) -> NDArray:
    """Return pairs (N, 2) of the directions of upper arm and forearm by rising cost Σ weight · angle²."""
    squares = (disc**2).sum(axis=1)
    costs = weights[0] * squares[:, None] + weights[1] * squares
    return np.stack(np.unravel_index(np.argsort(costs, axis=None, kind="stable"), costs.shape), axis=1)


@numba.njit(nogil=True, error_model="numpy")
def search(arm, trunk, part, disc, pairs, noise, rules, best):
    """Search poses for the least cost among those out of the trunk; write the best (4,) and return its cost.

    disc (N, 2), pairs (M, 2): `turns_between`, `ordered`. noise (trials, 4): steps of the refinement. rules: weights of
    the squared angles of upper arm and forearm, whether limits hold, weight of the squared distance of the hand from
    `part` beyond one that is near enough, that distance, and the largest angles of upper arm and forearm. Returns ∞
    where no pose is found.
    """
    wu, wv, limited, near, enough, most_u, most_v = rules
    matrices = np.empty((disc.shape[0], 2, 3, 3))
    for n in range(disc.shape[0]):
        for segment in range(2):
            _matrix(arm.axes[segment], disc[n, 0], disc[n, 1], matrices[n, segment])
    order, elbow = np.arange(arm.hand.shape[0]), np.empty(3)
    seeds, costs, count = np.empty((SEEDS, 4)), np.full(SEEDS, np.inf), 0
    pose, upper, lower = np.empty(4), np.empty((3, 3)), np.empty((3, 3))
    elbows = np.empty((disc.shape[0], 3))
    for n in range(disc.shape[0]):
        _turned_elbow(arm, matrices[n, 0], elbows[n])
    for m in range(pairs.shape[0]):
        i, j = pairs[m]
        su, sv = disc[i, 0] ** 2 + disc[i, 1] ** 2, disc[j, 0] ** 2 + disc[j, 1] ** 2
        if su > most_u * most_u or sv > most_v * most_v:
            continue
        cost = wu * su + wv * sv
        worst = costs.argmax()
        if cost >= costs[worst]:
            break
        if near > 0.0:
            gap = max(hand_gap(arm, part, matrices[i, 0], matrices[j, 1], elbows[i]) - enough, 0.0)
            cost += near * gap * gap
            if cost >= costs[worst]:
                continue
        if not is_out(arm, trunk, matrices[i, 0], matrices[j, 1], elbows[i], order):
            continue
        pose[0], pose[1], pose[2], pose[3] = disc[i, 0], disc[i, 1], disc[j, 0], disc[j, 1]
        if limited and not is_within_limits(arm, pose):
            continue
        # seeds are apart from one another
        beside = -1
        for s in range(count):
            if ((seeds[s] - pose) ** 2).sum() < 3.0 * COARSE * COARSE:
                beside = s
        if beside >= 0:
            if cost < costs[beside]:
                costs[beside], seeds[beside] = cost, pose
            continue
        worst = count if count < SEEDS else worst
        costs[worst], seeds[worst] = cost, pose
        count = min(count + 1, SEEDS)
    least = np.inf
    for s in range(count):
        own, size = costs[s], 0.5 * COARSE
        here = seeds[s].copy()
        for trial in range(noise.shape[0]):
            # every fourth trial is towards the copied arm
            for n in range(4):
                step = size * noise[trial, n]
                pose[n] = here[n] * (1.0 - abs(step)) if trial % 4 == 0 else here[n] + step
            su, sv = pose[0] ** 2 + pose[1] ** 2, pose[2] ** 2 + pose[3] ** 2
            cost = wu * su + wv * sv
            if cost >= own or su > most_u * most_u or sv > most_v * most_v:
                size = max(0.97 * size, 0.002)
                continue
            _matrix(arm.axes[0], pose[0], pose[1], upper)
            _matrix(arm.axes[1], pose[2], pose[3], lower)
            _turned_elbow(arm, upper, elbow)
            if near > 0.0:
                gap = max(hand_gap(arm, part, upper, lower, elbow) - enough, 0.0)
                cost += near * gap * gap
            if (
                cost < own
                and is_out(arm, trunk, upper, lower, elbow, order)
                and not (limited and not is_within_limits(arm, pose))
            ):
                own, size = cost, min(1.3 * size, COARSE)
                here[:] = pose
            else:
                size = max(0.97 * size, 0.002)
        if own < least:
            least = own
            best[:] = here
    return least


ALIKE, UPPER_ALONE, LOWER_ALONE = (1.0, 1.0), (1.0, 0.01), (0.01, 1.0)
"""Weights of the squared angles: of both, and of one while the other is nearly free."""
SLIGHT = 1e-8
"""Square metres per square radian; weight of the angles where the hand is to be near: 0.1 mm for a radian."""


@dataclass(frozen=True)
class Searcher:
    """Searches with the poses in the order of their cost."""

    disc: NDArray = field(default_factory=turns_between)
    noise: NDArray = field(default_factory=lambda: np.random.default_rng(1).standard_normal((TRIALS, 4)))

    @cached_property
    def orders(self) -> dict[tuple[float, float], NDArray]:
        """Return the poses by rising cost, for each pair of weights."""
        return {weights: ordered(self.disc, weights) for weights in (ALIKE, UPPER_ALONE, LOWER_ALONE)}

    def least(self, arm: Arm, trunk: Solid, weights: tuple[float, float] = ALIKE, *, limited: bool = False) -> NDArray:
        """Return the least angles (2,) of upper arm and forearm, radians; NaN where there is no such pose."""
        best = np.full(4, np.nan)
        rules = (*weights, limited, 0.0, 0.0, np.inf, np.inf)
        search(arm, trunk, trunk, self.disc, self.orders[weights], self.noise, rules, best)
        return np.hypot(best[::2], best[1::2])

    def nearest(self, arm: Arm, trunk: Solid, part: Solid, enough: float, most: tuple[float, float]) -> float:
        """Return by how much the hand must be farther from a part than `enough`, metres, within the limits and with
        angles of upper arm and forearm up to `most`; NaN where there is no such pose."""
        best, rules = np.full(4, np.nan), (SLIGHT, SLIGHT, True, 1.0, enough, *most)
        found = search(arm, trunk, part, self.disc, self.orders[ALIKE], self.noise, rules, best)
        return float(np.sqrt(max(found - SLIGHT * (best**2).sum(), 0.0))) if np.isfinite(found) else np.nan


# --- pairs -----------------------------------------------------------------------------------------------------------


def across(way: NDArray) -> NDArray:
    """Return the direction of a vector and two axes across it, (3, 3)."""
    first = way / np.linalg.norm(way)
    second = np.cross(first, np.eye(3)[np.abs(first).argmin()])
    second /= np.linalg.norm(second)
    return np.stack([first, second, np.cross(first, second)])


def arm_of(body: BodyParts, kinematics: Kinematics, row: int, side: str, query: tuple[NDArray, NDArray]) -> Arm:
    """Return one arm as copied; query: vertices (Q,) and how deep they may be in the trunk (Q,), metres."""
    character, skin = body.character, body.skin
    roles, skeleton = character.require_roles(), character.skeleton
    joints = [roles[f"{side}_{part}"] for part in ("upper_arm", "lower_arm", "hand")]
    hand = body.of_side(side, *HANDS)[query[0]] & (np.arange(len(query[0])) % 3 == 0)
    segment = np.zeros(len(skeleton), int)
    segment[[joints[0], *skeleton.descendants(joints[0])]] = 1
    segment[[joints[1], *skeleton.descendants(joints[1])]] = 2
    positions, turns = kinematics.positions[row], kinematics.rotations[row]
    vertices, spare = query
    owners, weights = skin.joints[vertices], skin.weights[vertices]
    bind = skin.inverse_bind[owners]
    local = np.einsum("qkab,qb->qka", bind[..., :3, :3], skin.vertices[vertices]) + bind[..., :3, 3]
    places = weights[..., None] * (positions[owners] + rotation.rotate(turns[owners], local))
    parts = np.stack([np.where((segment[owners] == n)[..., None], places, 0.0).sum(axis=1) for n in range(3)], axis=1)
    shares = np.stack([np.where(segment[owners] == n, weights, 0.0).sum(axis=1) for n in (1, 2)], axis=1)
    above = [int(skeleton.parents[joint]) for joint in joints[:2]]
    identity = rotation.identity(1)[0]
    turned = [turns[above[0]] if above[0] >= 0 else identity, turns[joints[0]], turns[above[1]], turns[joints[1]]]
    shoulder, elbow, wrist = positions[joints]
    return Arm(
        shoulder, elbow, shares, parts, spare, hand,
        np.stack([across(elbow - shoulder), across(wrist - elbow)]), np.array(turned),
        np.array([limit_table(character, joint) for joint in joints[:2]]),
    )  # fmt: skip


def with_copied_arms(clip: Clip, character: Character) -> tuple[Motion, Motion]:
    """Return the result of a retarget, and the same with the arms as copied."""
    incoming: list[Motion] = []
    solve = edit.solve_arms

    def noting(motion: Motion, **given):
        incoming.append(motion)
        return solve(motion, **given)

    edit.solve_arms = noting
    try:
        result = edit.retarget(clip, character, measured=False).motion
    finally:
        edit.solve_arms = solve
    return result, with_arms_of(incoming[-1], result, character) if incoming else result


def with_arms_of(other: Motion, motion: Motion, character: Character) -> Motion:
    """Return a motion with the arms of another one, whose skeleton may have more joints, or others in between."""
    names, above = other.skeleton.names, other.skeleton.parents
    roles, skeleton, rotations = character.require_roles(), character.skeleton, np.array(motion.rotations)
    for side in SIDES:
        joint = roles.get(f"{side}_upper_arm")
        for own in () if joint is None else (joint, *skeleton.descendants(joint)):
            number = names.index(skeleton.names[own])
            if names[above[number]] != skeleton.names[skeleton.parents[own]]:
                raise FootplantError(f"{character.name!r} has arms that are no chains")
            rotations[:, own] = other.rotations[-len(rotations) :, number]
    return Motion(motion.skeleton, motion.root, rotations, motion.fps, offsets=motion.offsets)


def measure(clip: Clip, character: Character, frames: int, deep: float, searcher: Searcher) -> dict[str, list[float]]:
    """Return the figures of a pair, of each frame and arm that counts."""
    found: dict[str, list[float]] = {}
    if character.skin is None:
        raise FootplantError(f"{character.name!r} has no skin")
    result, copied = with_copied_arms(clip, character)
    pair = motion_pair((clip.motion, clip.character), (result, character))
    if pair is None:
        raise FootplantError("nothing to compare")
    scale, body = pair.result.scale, BodyParts(character, character.skin)
    trunk = body.part_of("trunk", body.of(*TRUNK))
    if trunk is None:
        raise FootplantError(f"{character.name!r} has no trunk")
    arms = {side: body.looked_up(body.of_side(side, *HANDS, "lower_arm")) for side in SIDES}
    arms = {side: rows[:: max(1, len(rows) // VERTICES)] for side, rows in arms.items()}
    queries = {}
    for side, rows in arms.items():
        probe = body.part_of("trunk", body.of(*TRUNK), [("arm", np.isin(np.arange(len(body.part)), rows))])
        assert probe is not None
        queries[side] = probe.query, probe.at_rest + deep / scale
    places = {"trunk": trunk, "head": body.part_of("head", body.of("head"))}
    places |= {f"{side}_thigh": body.part_of("thigh", body.of_side(side, "upper_leg")) for side in SIDES}
    kinematics = [Kinematics(motion) for motion in (result, copied)]
    rows = np.unique(np.linspace(0, pair.frames - 1, frames).astype(int))
    near = palm_distances(pair)
    at_body = {side: np.flatnonzero(table.min(axis=1) < NEAR_BODY) for side, table in near.items()}
    at_body = {side: each[:: max(1, len(each) // max(frames // 3, 1))] for side, each in at_body.items()}

    def note(name: str, value: float) -> None:
        found.setdefault(name, []).append(float(value))

    for frame in sorted({*rows.tolist(), *(row for each in at_body.values() for row in each.tolist())}):
        row = frame + pair.result_first
        shape = next(body.posed(kinematics[0], np.array([row])))
        solid = solid_of(trunk, shape, scale)
        for side in SIDES:
            arm, own = (arm_of(body, each, row, side, queries[side]) for each in (kinematics[1], kinematics[0]))
            turned = np.degrees([angle_between(a[0], b[0]) for a, b in zip(arm.axes, own.axes)])
            least = min(distance_at(solid, *place) for place in own.parts.sum(axis=1))
            if frame in rows:
                depth = max(
                    -distance_at(solid, *place) - spare for place, spare in zip(arm.parts.sum(axis=1), arm.spare)
                )
                note("frames", depth > 0.0)
                if depth <= 0.0:
                    for n, name in enumerate(("upper", "fore")):
                        note(f"{name} beside", turned[n])
                else:
                    note("stand-off", 1000.0 * scale * max(least, 0.0))
                    for n, name in enumerate(("upper", "fore")):
                        note(f"{name} result", turned[n])
                    for name, weights, limited in (
                        ("least", ALIKE, False), ("limits", ALIKE, True), ("alone", UPPER_ALONE, False),
                        ("alone", LOWER_ALONE, False),
                    ):  # fmt: skip
                        angles = np.degrees(searcher.least(arm, solid, weights, limited=limited))
                        if weights != LOWER_ALONE:
                            note(f"upper {name}", angles[0])
                        if weights != UPPER_ALONE:
                            note(f"fore {name}", angles[1])
            if frame in at_body.get(side, ()):
                table = near[side][frame]
                place = places[BODY_PARTS[int(table.argmin())]]
                if place is None:
                    continue
                theirs = max(0.0, float(table.min()) - PALM_THICKNESS * BODY)
                part = solid if place is trunk else solid_of(place, shape, scale)
                gap = place.gap(shape, queries[side][0][own.hand])
                note("hand result", 1000.0 * max(scale * gap - theirs, 0.0))
                upper, fore = np.radians(turned + 0.5).tolist()
                for name, most in (("least", (np.inf, np.inf)), ("as turned", (upper, fore))):
                    nearest = searcher.nearest(arm, solid, part, theirs / scale, most)
                    note(f"hand {name}", 1000.0 * scale * nearest)
    return found


def angle_between(a: NDArray, b: NDArray) -> float:
    """Return the angle between unit vectors, radians."""
    return 2.0 * float(np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b)))


def told(values: list[float]) -> str:
    """Median and 90th percentile."""
    array = np.array(values)
    array = array[np.isfinite(array)]
    return f"{np.median(array):5.1f} ({quantile(array, 0.9):5.1f})" if len(array) else "    -        "


COLUMNS = (
    "stand-off", "upper result", "upper least", "upper limits", "upper alone", "fore result", "fore least",
    "fore limits", "fore alone", "upper beside", "fore beside", "hand result", "hand least", "hand as turned",
)  # fmt: skip


def pairs_of(data: Path, clips: list[str], characters: list[str]) -> Iterator[tuple[str, str, Clip, Character]]:
    """Yield the pairs that can be loaded; of others, say why not."""
    known: dict[str, Clip] = {}
    if not data.is_dir():
        print(f"there is no folder {str(data)!r}: samples alone are measured", file=sys.stderr)
        clips, characters = ([name for name in names if name.startswith("sample:")] for names in (clips, characters))
    for name in characters:
        for clip_name in clips:
            try:
                character = footplant.load_character(name if name.startswith("sample:") else str(data / name))
                if clip_name not in known:
                    known[clip_name] = footplant.load(
                        clip_name if clip_name.startswith("sample:") else str(data / clip_name)
                    )
            except (FootplantError, OSError) as error:
                print(f"skipped {clip_name} on {name}: {str(error).splitlines()[0]}", file=sys.stderr)
                continue
            yield clip_name, name, known[clip_name], character


def run(arguments: argparse.Namespace) -> dict[str, float]:
    """Measure the pairs and return the figures of each character."""
    searcher, everything = Searcher(), dict[str, dict[str, list[float]]]()
    out = sys.stderr if arguments.json else sys.stdout
    print("  ".join(f"{name:>13}" for name in ("in trunk", *COLUMNS)), file=out)
    for clip_name, name, clip, character in pairs_of(arguments.data, arguments.clips, arguments.characters):
        try:
            found = measure(clip, character, arguments.frames, arguments.deep / 1000.0, searcher)
        except FootplantError as error:
            print(f"skipped {clip_name} on {name}: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        share = f"{100.0 * float(np.mean(found['frames'])):.0f} %"
        cells = [f"{share:>13}", *(told(found.get(column, [])) for column in COLUMNS)]
        print("  ".join(cells), f" {Path(clip_name).stem} on {Path(name).stem}", file=out, flush=True)
        of_character = everything.setdefault(Path(name.removeprefix("sample:")).stem, {})
        for column, values in found.items():
            of_character.setdefault(column, []).extend(values)
    figures = {}
    for name, found in everything.items():
        print("  ".join([" " * 13, *(told(found.get(column, [])) for column in COLUMNS)]), f" all of {name}", file=out)
        for column in COLUMNS:
            values = np.array(found.get(column, []))
            values = values[np.isfinite(values)]
            if len(values):
                key = f"{name}.{column.replace(' ', '_').replace('-', '_')}"
                figures[f"{key}.median"] = float(np.median(values))
                figures[f"{key}.p90"] = float(quantile(values, 0.9))
                figures[f"{key}.worst"] = float(values.max())
    return figures


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, nargs="?", default=Path("../shared/data"), help="folder of clips and bodies")
    parser.add_argument("--clips", nargs="+", default=list(CLIPS), help="samples, or files in the folder")
    parser.add_argument("--characters", nargs="+", default=list(CHARACTERS), help="samples, or files in the folder")
    parser.add_argument("--frames", type=int, default=8, help="frames of a pair, evenly spread")
    parser.add_argument("--deep", type=float, default=10.0, help="mm that arms may be in the trunk")
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    arguments = parser.parse_args()
    figures = run(arguments)
    if arguments.json:
        print_figures(figures, as_json=True)


if __name__ == "__main__":
    main()
