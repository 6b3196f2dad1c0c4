"""Hip joints and ankles within their joint limits, or as far beyond them as the reference's own.

Thigh and shank may turn about their own lines: no joint moves, and what one joint turns too far its neighbours turn
instead (`twist_legs`). A planted foot cannot turn, so the shank must lean. This is asked of the leg's vector u from
ankle to hip joint: a bone that must lean by an angle α towards a direction t across it gives one row,

    s(u) · t ≥ sin α,     s(u): direction of the shank, or of the thigh, the knee in its plane,

which the solver of the legs (`legs`) linearises where it is. A hip joint's limit that gives way to a turn about the
line from ankle to hip joint is met by the leg's swivel ψ about it, where foot and pelvis stay: s is s(u, ψ).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.humanoid.limits import anatomical_turn_derivatives, anatomical_turns_beside
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.solve.ik.limb import Limb

LEFT = 0.5 * np.pi / 180.0
"""Radians beyond a limit that ask for nothing."""
NEAR = 5.0 * np.pi / 180.0
"""Radians within a limit from which on a row is asked for too, in a clip that breaks it: what pushes one frame back
pushes its neighbours. Without, a thigh of someone who sits on her heels flips over, 47° beyond its limit instead of
8°; 3° and 10° do as well as 5°."""
MOST = 0.7
"""Radians; a bone that would have to lean by more is left as it is: so do acrobatics, and feet found planted in
them."""
LEAST_SHARE = 0.3
"""Of what a turn of the leg gains for a limit, squared, relative to a turn about the leg's own line, which nobody can
ask for; a limit that gains less is left as it is. With 1, 0.3 and 0.1, a hip joint of someone who sits on the ground
ends 2.1°, 0.9° and 0.9° beyond its limit, and four of a capture of knees bent backwards 8.2°, 6.5° and 9.1°."""
FOLDED = 0.5
"""Share of a leg's length; see `_folded`. With rows of planted feet alone, two ankles of 34 pairs with such rows break
their limits in swing, by up to 3.2°; with rows of all feet none, but legs of someone who sits on them jerk 2.2 instead
of 1.8 times as much as the source."""
TWISTS = 1e-4
"""Radians beyond a limit from which on thighs and shanks turn about their own lines."""
TWIST, WILLING_TWIST = 0.003, 0.1
"""ε, relative to the excess; and that of the twists which legs need not lean instead of: those that gain much. With
0.003 for both, a shank that kneels twists by 30° for the 2° that its ankle bends up too far, and the shins that are
free are 10.0 instead of 7.0° off the source (mocapbank on KayKit_Knight). In a tumble near its limits legs lean for
some frames that need not (humanoid3d_roll on a mannequin: shins 12 instead of 5° off at the 95th percentile)."""
TWIST_STEPS = 4
"""Gauss–Newton steps of these turns."""
TWIST_LOOKS = 3
"""Solves of a step, each with the bounds that the one before is predicted to break."""
LONGEST_TWIST = 0.5
"""Radians; longest of such steps."""


Rows = tuple[NDArray, NDArray]
"""Unit directions (2, F, 3), and the least cosine (2, F) between them and a bone, from ankle or hip joint to knee; −∞
where nothing is asked."""


def shank_rows(
    kinematics: Kinematics, character: Character, legs: Sequence[Limb], planted: NDArray, own: Motion,
    earlier: Rows | None = None,
) -> tuple[Rows | None, bool]:  # fmt: skip
    """Return how far shanks must lean for ankles to be within limits, and whether some are not.

    Those of planted feet, and of others whose legs are not folded: a foot that is turned back towards its limit may
    have to be lifted for that, and its shank leans after it. planted: (2, F) bool. own: the reference motion, whose own
    excess is allowed. earlier: rows of an earlier pose; they are asked again, as seen from this one. None: nothing is
    asked.
    """
    joints = kinematics.positions
    shanks = [_unit(joints[:, leg.lower] - joints[:, leg.end]) for leg in legs]
    asked = [planted[s] | ~_folded(kinematics, leg) for s, leg in enumerate(legs)]
    # a foot keeps its world rotation: what it would have to turn, the shank turns the other way
    leans = [
        _leans(kinematics, character, leg, leg.end, shank, own, asked[s], None if earlier is None else earlier[1][s])
        for s, (leg, shank) in enumerate(zip(legs, shanks))
    ]
    return _lean_rows(shanks, [(-axes, angles) for axes, angles in leans])


def _folded(kinematics: Kinematics, leg: Limb) -> NDArray:
    """Return whether a leg's ankle is nearer to its hip joint than a share of its length (F,)."""
    hip, knee, ankle = (kinematics.positions[:, joint] for joint in (leg.upper, leg.lower, leg.end))
    thigh, shank, line = (np.linalg.norm(bone, axis=1) for bone in (hip - knee, knee - ankle, hip - ankle))
    return line < FOLDED * (thigh + shank)


def thigh_rows(
    kinematics: Kinematics, character: Character, legs: Sequence[Limb], own: Motion, earlier: Rows | None = None
) -> tuple[Rows | None, bool]:
    """Return how far thighs must lean for hip joints to be within limits, as `shank_rows` does."""
    joints, every = kinematics.positions, np.ones(len(own), bool)
    thighs = [_unit(joints[:, leg.lower] - joints[:, leg.upper]) for leg in legs]
    leans = [
        _leans(
            kinematics, character, leg, leg.upper, thigh, own, every, None if earlier is None else earlier[1][s], True
        )
        for s, (leg, thigh) in enumerate(zip(legs, thighs))
    ]
    return _lean_rows(thighs, leans)


def _lean_rows(bones: Sequence[NDArray], leans: Sequence[tuple[NDArray, NDArray]]) -> tuple[Rows | None, bool]:
    """Return rows of unit bones (F, 3) that lean about axes (F, 3) by at least angles (F,), and whether some angle asks
    for something.

    An angle is −∞ where nothing is asked, and negative where the bone may lean the other way.
    """
    towards, least = np.zeros((2, *bones[0].shape)), np.full((2, len(bones[0])), -np.inf)
    for s, (bone, (axes, angles)) in enumerate(zip(bones, leans)):
        rows = np.flatnonzero(np.isfinite(angles) & (angles < MOST))
        towards[s, rows] = rotation.cross(axes[rows], bone[rows])
        least[s, rows] = np.sin(np.maximum(angles[rows], -0.5 * np.pi))
    broken = any(bool(((angles > LEFT) & (angles < MOST)).any()) for _, angles in leans)
    return (towards, least) if np.isfinite(least).any() else None, broken


def twist_legs(motion: Motion, character: Character, legs: Sequence[Limb], own: Motion, cost: float = TWIST) -> Motion:
    """Return the motion with thighs and shanks turned about their own lines, as hips, knees and ankles need for limits.

    No joint moves. own: the reference motion, whose own excess is allowed. cost: ε of `_twisted`.
    """
    if character.limits is None:
        return motion
    for leg in legs:
        motion = _twisted(motion, character, leg, own, cost)
    return motion


def _twisted(motion: Motion, character: Character, leg: Limb, own: Motion, cost: float) -> Motion:
    """Return the motion with the least twists a of a leg's thigh and b of its shank that keep its joints within limits.

        minimise   ε (a² + b²) + Σ |excess of hip joint, knee and ankle|²

    in the frames in which one of them is beyond its limits, by Gauss–Newton steps with the bounds that each step is
    predicted to break.
    """
    joints, parents = (leg.upper, leg.lower, leg.end), motion.skeleton.parents
    room = [_room(character, joint, motion.rotations[:, joint], own.rotations[:, joint])[0] for joint in joints]
    rows = np.flatnonzero((np.concatenate(room, axis=1) > TWISTS).any(axis=1))
    if not len(rows):
        return motion
    kinematics = Kinematics(motion)
    places, world = kinematics.positions[rows], kinematics.rotations[rows]
    lines = [_unit(places[:, leg.lower] - places[:, leg.upper]), _unit(places[:, leg.end] - places[:, leg.lower])]
    around, given = (np.stack([world[:, joint] for joint in of]) for of in (parents[list(joints)], joints))
    twists, found = np.zeros((len(rows), 2)), given
    for step in range(TWIST_STEPS + 1):
        turns = [rotation.exp(twists[:, n, None] * line) for n, line in enumerate(lines)]
        above = np.stack([around[0], *(rotation.multiply(turn, each) for turn, each in zip(turns, around[1:]))])
        now = np.stack([*(rotation.multiply(turn, each) for turn, each in zip(turns, given)), given[2]])
        found = rotation.multiply(rotation.inverse(above), now)
        if step == TWIST_STEPS:
            break
        beyond, slopes = np.empty((len(rows), 9)), np.zeros((len(rows), 9, 2))
        for n, joint in enumerate(joints):
            excess, signs, vectors = _room(character, joint, found[n], own.rotations[rows, joint])
            by, back = anatomical_turn_derivatives(character, joint, vectors), rotation.inverse(above[n])
            beyond[:, 3 * n : 3 * n + 3] = excess
            # a joint's own bone turns with it, and the one above it the other way
            for k, way in ((n, 1.0), (n - 1, -1.0)):
                if 0 <= k < 2:
                    turned = (by @ rotation.rotate(back, lines[k])[:, :, None])[:, :, 0]
                    slopes[:, 3 * n : 3 * n + 3, k] = way * signs * turned
        twists += np.clip(_least_twists(beyond, slopes, twists, cost), -LONGEST_TWIST, LONGEST_TWIST)
    rotations = np.array(motion.rotations)
    for n, joint in enumerate(joints):
        rotations[rows, joint] = found[n]
    return motion.like(motion.root, rotation.unroll(rotation.normalize(rotations)), motion.offsets)


def _least_twists(beyond: NDArray, slopes: NDArray, twists: NDArray, cost: float) -> NDArray:
    """Return the changes (F, 2) of twists (F, 2) that leave least beyond bounds: `beyond` (F, n) + `slopes` (F, n, 2)
    · change, where that is positive."""
    active, change = beyond > 0.0, np.zeros_like(twists)
    for _ in range(TWIST_LOOKS):
        rows = np.where(active[:, :, None], slopes, 0.0)
        across = rows.transpose(0, 2, 1)
        right = -cost * twists - (across @ np.where(active, beyond, 0.0)[:, :, None])[:, :, 0]
        change = np.linalg.solve(cost * np.eye(2) + across @ rows, right[:, :, None])[:, :, 0]
        active = beyond + (slopes @ change[:, :, None])[:, :, 0] > 0.0
    return change


def _room(character: Character, joint: int, local: NDArray, own: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Return by how much a joint's rotation vector is beyond its limits, or its own one's (negative: within them).

    Then on which side, 1 above and −1 below, and the vector itself; all (F, 3), radians. Limits that the own one is
    beyond are where that is.
    """
    assert character.limits is not None
    now, before = anatomical_turns_beside(character, joint, local, own)
    over = now - np.maximum(character.limits.upper[joint], before)
    under = np.minimum(character.limits.lower[joint], before) - now
    return np.maximum(np.maximum(over, under), -np.pi), np.where(over >= under, 1.0, -1.0), now


def _leans(
    kinematics: Kinematics, character: Character, leg: Limb, joint: int, bone: NDArray, own: Motion, asked: NDArray,
    earlier: NDArray | None, swivels: bool = False,
) -> tuple[NDArray, NDArray]:  # fmt: skip
    """Return unit axes (F, 3) across a joint's unit bone (F, 3), and by how much (F,) it must turn about them at least.

    All limits that are broken count, as far as they are, or else the nearest one. −∞ where none is nearly broken and no
    row was finite before (earlier, (F,)), where nothing may be asked (asked, (F,) bool), and where they give way to a
    turn about the line from hip joint to ankle rather than to one across it, or, of a leg that swivels about that line
    (swivels), to a turn about the bone itself.
    """
    axes, angles = np.zeros((len(own), 3)), np.full(len(own), -np.inf)
    if character.limits is None:
        return axes, angles
    local = kinematics.motion.rotations[:, joint]
    excess, signs, now = _room(character, joint, local, own.rotations[:, joint])
    beyond = np.maximum(excess, 0.0)
    size = np.linalg.norm(beyond, axis=1)
    most = np.where(size > 0.0, size, excess.max(axis=1))
    broken = asked & (most > LEFT)
    known = np.zeros(len(own), bool) if earlier is None else np.isfinite(earlier)
    if not (broken.any() or known.any()):
        return axes, angles
    rows = np.flatnonzero(asked & (broken | known | (most > -NEAR)))
    shares = beyond[rows] / np.maximum(size[rows, None], 1e-12)
    nearest = excess[rows] == excess[rows].max(axis=1, keepdims=True)
    shares = signs[rows] * np.where(size[rows, None] > 0.0, shares, nearest)
    slopes = (shares[:, :, None] * anatomical_turn_derivatives(character, joint, now[rows])).sum(axis=1)
    slopes = rotation.rotate(kinematics.rotations[rows, int(character.skeleton.parents[joint])], slopes)
    unit, line = bone[rows], _unit(kinematics.positions[rows, leg.upper] - kinematics.positions[rows, leg.end])
    lost = (slopes * (unit if swivels else line)).sum(axis=1) ** 2
    if not swivels:
        # a leg turns about axes across the line from its hip joint to its ankle: a bone beside it twists with it
        slopes = slopes - (slopes * line).sum(axis=1)[:, None] * line
    across = slopes - (slopes * unit).sum(axis=1)[:, None] * unit
    steep = np.linalg.norm(across, axis=1)
    gain = steep**2 if swivels else (slopes**2).sum(axis=1)
    leaning = (gain > LEAST_SHARE * lost) & (steep > 1e-6)
    rows = rows[leaning]
    axes[rows], angles[rows] = -across[leaning] / steep[leaning, None], most[rows] * (steep / gain)[leaning]
    return axes, angles


def _unit(vectors: NDArray) -> NDArray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
