"""Hip joints and ankles within their joint limits, or as far beyond them as the reference's own.

A planted foot cannot turn, so the shank must. What the ankle turns too far about the shank's own axis, the knee turns
instead: no joint moves. The rest is asked of the leg's vector u from ankle to hip joint: a bone that must lean by an
angle ε towards a direction t across it gives one row,

    s(u) · t ≥ sin ε,     s(u): direction of the shank, or of the thigh, the knee in its plane,

which the solver of the legs (`legs`) sees from where it is in each of its steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.humanoid.limits import anatomical_turn_derivatives, anatomical_turns_of, clamp_to_limits
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
TWIST_ROUNDS = 3
"""Rounds of handing twist to the knee. The limits bound components of a rotation vector, which are not quite turns
about the shank: of a pitched foot twisted 31° too far, 2.3°, 0.16° and 0.01° are left after 1, 2 and 3 rounds."""


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
        _leans(kinematics, character, leg, leg.upper, thigh, own, every, None if earlier is None else earlier[1][s])
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


def twist_shanks(motion: Motion, character: Character, legs: Sequence[Limb], own: Motion) -> Motion:
    """Return the motion with its shanks turned about their own axes, as far as ankles need and knees allow."""
    if character.limits is None:
        return motion
    for leg in legs:
        for _ in range(TWIST_ROUNDS):
            kinematics = Kinematics(motion)
            turn = -_turns_within(kinematics, character, leg.end, own)
            if not turn.any():
                break
            shank = _unit(kinematics.positions[:, leg.lower] - kinematics.positions[:, leg.end])
            twist = (turn * shank).sum(axis=1)
            if not (np.abs(twist) > 1e-4).any():
                break
            motion = _twisted(
                motion, kinematics, character, leg, _within_knee(motion, character, leg, own, twist), shank
            )
    return motion


def _turns_within(kinematics: Kinematics, character: Character, joint: int, own: Motion) -> NDArray:
    """Return the world rotation vectors (F, 3) by which a joint must turn to be within its limits; 0: it is."""
    local = kinematics.motion.rotations[:, joint]
    nearest, turns = clamp_to_limits(character, joint, local, own.rotations[:, joint]), np.zeros((len(local), 3))
    beyond = (nearest != local).any(axis=1)
    if beyond.any():
        above = kinematics.rotations[beyond, int(character.skeleton.parents[joint])]
        change = rotation.multiply(nearest[beyond], rotation.inverse(local[beyond]))
        turns[beyond] = rotation.rotate(above, rotation.log(change))
    return turns


def _leans(
    kinematics: Kinematics, character: Character, leg: Limb, joint: int, bone: NDArray, own: Motion, asked: NDArray,
    earlier: NDArray | None,
) -> tuple[NDArray, NDArray]:  # fmt: skip
    """Return unit axes (F, 3) across a joint's unit bone (F, 3), and by how much (F,) it must turn about them at least.

    The limit that is broken most counts, or is nearest. −∞ where it is not nearly broken and no row was finite before
    (earlier, (F,)), where nothing may be asked (asked, (F,) bool), and where it gives way to a turn about the line from
    hip joint to ankle rather than to one across it.
    """
    axes, angles, limits = np.zeros((len(own), 3)), np.full(len(own), -np.inf), character.limits
    if limits is None:
        return axes, angles
    local = kinematics.motion.rotations[:, joint]
    now, before = (anatomical_turns_of(character, joint, each) for each in (local, own.rotations[:, joint]))
    over = now - np.maximum(limits.upper[joint], before)
    under = np.minimum(limits.lower[joint], before) - now
    excess = np.maximum(over, under)
    which = excess.argmax(axis=1)
    most = excess[np.arange(len(own)), which]
    broken = asked & (most > LEFT)
    known = np.zeros(len(own), bool) if earlier is None else np.isfinite(earlier)
    if not (broken.any() or known.any()):
        return axes, angles
    rows = np.flatnonzero(asked & (broken | known | (most > -NEAR)))
    slopes = anatomical_turn_derivatives(character, joint, local[rows])[np.arange(len(rows)), which[rows]]
    slopes = np.where((over > under)[rows, which[rows]][:, None], slopes, -slopes)
    slopes = rotation.rotate(kinematics.rotations[rows, int(character.skeleton.parents[joint])], slopes)
    # a leg turns about axes across the line from its hip joint to its ankle: a bone beside that line twists with it
    unit, line = bone[rows], _unit(kinematics.positions[rows, leg.upper] - kinematics.positions[rows, leg.end])
    twist = (slopes * line).sum(axis=1)
    slopes = slopes - twist[:, None] * line
    gain = (slopes**2).sum(axis=1)
    across = slopes - (slopes * unit).sum(axis=1)[:, None] * unit
    steep = np.linalg.norm(across, axis=1)
    leaning = (gain > LEAST_SHARE * twist**2) & (steep > 1e-6)
    rows = rows[leaning]
    axes[rows], angles[rows] = -across[leaning] / steep[leaning, None], most[rows] * (steep / gain)[leaning]
    return axes, angles


def _within_knee(motion: Motion, character: Character, leg: Limb, own: Motion, twist: NDArray) -> NDArray:
    """Return as much of a twist (F,) of the shank as the knee's limits allow, radians."""
    assert character.limits is not None
    now, before = (
        anatomical_turns_of(character, leg.lower, each.rotations[:, leg.lower])[:, 1] for each in (motion, own)
    )
    low = np.minimum(character.limits.lower[leg.lower, 1], before) - now
    high = np.maximum(character.limits.upper[leg.lower, 1], before) - now
    return np.clip(twist, np.minimum(low, 0.0), np.maximum(high, 0.0))


def _twisted(
    motion: Motion, kinematics: Kinematics, character: Character, leg: Limb, twist: NDArray, axis: NDArray
) -> Motion:
    rotations, world, parents = np.array(motion.rotations), kinematics.rotations, character.skeleton.parents
    turn = rotation.exp(twist[:, None] * axis)
    knee, foot = leg.lower, leg.end
    over, above = int(parents[knee]), int(parents[foot])
    rotations[:, knee] = rotation.multiply(rotation.inverse(world[:, over]), rotation.multiply(turn, world[:, knee]))
    rotations[:, foot] = rotation.multiply(
        rotation.inverse(rotation.multiply(turn, world[:, above])), world[:, foot]
    )  # fmt: skip
    return motion.like(motion.root, rotation.unroll(rotation.normalize(rotations)), motion.offsets)


def _unit(vectors: NDArray) -> NDArray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
