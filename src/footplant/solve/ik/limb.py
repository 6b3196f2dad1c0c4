"""The closed-form limb: shoulder–elbow–wrist or hip–knee–ankle met exactly, with one free swivel.

Lee & Shin, "A hierarchical approach to interactive motion editing for human-like figures" (SIGGRAPH 1999), section 5.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.checks import all_finite, broadcast, real_array, real_number, shaped
from footplant.errors import MotionError, SkeletonError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character, Skeleton

LIMBS = {
    f"{side}_{name}": tuple(f"{side}_{role}" for role in chain)
    for side in ("left", "right")
    for name, chain in (
        ("arm", ("upper_arm", "lower_arm", "hand")),
        ("leg", ("upper_leg", "lower_leg", "foot")),
    )
}
"""Limb name → the roles of its upper joint, its hinge and its end."""


class Reach(IntEnum):
    """How a limb met its goal at a frame. The numbers are those of the kernel."""

    REACHED = 0
    """The end is on the goal."""
    TOO_FAR = 1
    """The limb is stretched as far as it may, and the goal is farther."""
    TOO_NEAR = 2
    """The limb is folded as far as it may, and the goal is nearer."""
    SOFTENED = 3
    """Within reach, but held back near full stretch by the softness asked for."""


@dataclass(frozen=True, eq=False)
class Limb:
    """Two bones with a hinge between them. Joints that lie inside a bone (twist joints) keep their rotations."""

    upper: int
    """Joint that turns freely: shoulder or hip."""
    lower: int
    """Joint of the hinge: elbow or knee."""
    end: int
    """Joint to be placed: wrist or ankle."""
    axis: NDArray
    """(3,) unit hinge axis in the upper joint's frame; turning the lower bone about it by a positive angle flexes."""
    flexion: tuple[float, float] = (0.0, 2.8)
    """Least and largest flexion, radians; 0 is straight."""


@dataclass(frozen=True, eq=False)
class LimbSolution:
    """A motion whose limb was placed, and how far that succeeded."""

    motion: Motion
    residual: NDArray
    """(F,) metres left between the limb's end and its goal."""
    flexion: NDArray
    """(F,) radians; 0 is straight."""
    status: NDArray
    """(F,) int64, values of `Reach`."""


def hinge_axis(skeleton: Skeleton, upper: int, lower: int, end: int, towards: ArrayLike) -> NDArray:
    """The hinge axis of a limb in the upper joint's frame, from the rest pose.

    A limb that rests clearly bent (more than 5°) tells its plane itself; a straighter one bends so that the middle
    joint moves `towards` (a direction of the world: forward for a knee, backward for an elbow).
    """
    positions, rotations = skeleton.rest_world
    first, second = positions[lower] - positions[upper], positions[end] - positions[lower]
    axis = np.cross(np.asarray(towards, float), positions[end] - positions[upper])
    bent = np.cross(first, second)
    lengths = np.linalg.norm(first) * np.linalg.norm(second)
    # a plane at right angles to the asked direction says nothing about the side
    if lengths > 0 and np.linalg.norm(bent) > np.sin(np.radians(5)) * lengths and abs(bent @ axis) > 1e-9:
        axis = bent * np.sign(bent @ axis)
    norm = np.linalg.norm(axis)
    if norm < 1e-9:
        raise SkeletonError(
            f"expected a direction across the limb {skeleton.names[upper]!r} – {skeleton.names[end]!r} to bend it "
            f"towards, got {np.round(np.asarray(towards, float), 3).tolist()}"
        )
    return rotation.rotate(rotation.inverse(rotations[upper]), axis / norm)


def forward_direction(character: Character) -> NDArray:
    """(3,) unit direction of the floor that the figure's rest pose faces: left hip to right hip tells."""
    roles, (positions, _) = character.require_roles(), character.skeleton.rest_world
    left = positions[roles["left_upper_leg"]] - positions[roles["right_upper_leg"]]
    forward = np.cross(left, [0.0, 1.0, 0.0])
    norm = np.linalg.norm(forward)
    if norm < 1e-9:
        raise SkeletonError(f"expected the hips of {character.name!r} side by side, got one above the other")
    return forward / norm


_KNOWN: WeakKeyDictionary[Character, dict[str, Limb]] = WeakKeyDictionary()
"""The limbs of each figure: every step of an edit asks for them."""


def limb_of(character: Character, name: str) -> Limb:
    """A limb of a human-like figure by name: left_arm, right_arm, left_leg or right_leg."""
    if name not in LIMBS:
        raise SkeletonError(f"no limb {name!r}; there are: {', '.join(LIMBS)}")
    known = _KNOWN.setdefault(character, {})
    if name not in known:
        known[name] = _find_limb(character, name)
    return known[name]


def _find_limb(character: Character, name: str) -> Limb:
    roles = character.require_roles()
    upper, lower, end = (roles[role] for role in LIMBS[name])
    forward = forward_direction(character)
    axis = hinge_axis(character.skeleton, upper, lower, end, forward if name.endswith("leg") else -forward)
    return Limb(upper, lower, end, axis)


def limbs_of(character: Character, names: Sequence[str] = tuple(LIMBS)) -> dict[str, Limb]:
    """Arms and legs that a character has and whose joints hang together, by name, in the order of the names."""
    found, roles = {}, character.require_roles()
    for name in names:
        if not all(role in roles for role in LIMBS[name]):
            continue
        try:
            limb = limb_of(character, name)
            character.skeleton.chain(limb.end, limb.lower)
            character.skeleton.chain(limb.lower, limb.upper)
        except SkeletonError:
            continue
        found[name] = limb
    return found


def place(
    motion: Motion,
    limb: Limb,
    goals: ArrayLike,
    *,
    orientations: ArrayLike | None = None,
    swivel: ArrayLike = 0.0,
    pole: ArrayLike | None = None,
    softness: float = 0.0,
    kinematics: Kinematics | None = None,
) -> LimbSolution:
    """Put the end of a limb on goals, changing only the limb's own rotations.

    goals: (F, 3) or (3,) world places of the limb's end, metres. orientations: (F, 4) wanted world rotations of the
    end joint; None keeps its local rotation. The motion's own pose is the reference: the limb bends at its hinge,
    turns by the smallest rotation onto the goal and then swivels about the line to the goal by `swivel` radians,
    counted from the side of the world direction `pole` (F, 3) when one is given. softness: the last share of the
    reach that is approached without ever being met, which keeps knees from snapping straight; 0 is exact.
    """
    skeleton, frames = motion.skeleton, len(motion)
    skeleton.require_joints((limb.upper, limb.lower, limb.end))
    goals = real_array(goals, "goals", MotionError)
    if goals.ndim > 1 and len(goals) not in (1, frames):
        raise MotionError(f"expected goals of shape ({frames}, 3), got {np.shape(goals)}")
    kinematics = kinematics or Kinematics(motion)
    above = skeleton.parents[limb.upper]
    parents = kinematics.rotations[:, above] if above >= 0 else rotation.identity(frames)
    upper_offset, bridge = _bone(motion, skeleton.chain(limb.lower, limb.upper))
    lower_offset, _ = _bone(motion, skeleton.chain(limb.end, limb.lower))
    new_upper, new_lower, residual, flexion, status = solve(
        parents, motion.rotations[:, limb.upper], rotation.multiply(bridge, motion.rotations[:, limb.lower]),
        upper_offset, lower_offset, limb.axis, kinematics.positions[:, limb.upper], goals,
        swivel=swivel, pole=pole, softness=softness, flexion=limb.flexion, own_plane=True,
    )  # fmt: skip
    rotations = np.array(motion.rotations)
    rotations[:, limb.upper] = new_upper
    rotations[:, limb.lower] = rotation.normalize(rotation.multiply(rotation.inverse(bridge), new_lower))
    if orientations is not None:
        world = parents
        for joint in skeleton.chain(limb.end, limb.upper)[:-1]:
            world = rotation.multiply(world, rotations[:, joint])
        wanted = broadcast(orientations, (frames, 4), "orientations", MotionError)
        rotations[:, limb.end] = rotation.normalize(rotation.multiply(rotation.inverse(world), wanted))
    return LimbSolution(replace(motion, rotations=rotations), residual, flexion, status)


def not_nearer(goals: NDArray, bones: NDArray, limb: Limb) -> NDArray:
    """Goals (F, 3) of a limb's end, at their heights, but beside where it cannot be folded so far.

    bones: (F, 3, 3) places of its upper joint, its hinge and its end. What is too near goes off to where goal and hinge
    are from the upper joint.
    """
    upper, lower = (np.linalg.norm(bones[:, n + 1] - bones[:, n], axis=1) for n in (0, 1))
    folded = upper**2 + lower**2 + 2.0 * upper * lower * np.cos(limb.flexion[1])
    away = goals - bones[:, 0]
    level = np.sqrt(np.maximum(1.01 * folded - away[:, 1] ** 2, 0.0))
    short = level > np.linalg.norm(away[:, ::2], axis=1)
    side = (away + bones[:, 1] - bones[:, 0]) * [1.0, 0.0, 1.0]
    side *= (level / np.maximum(np.linalg.norm(side, axis=1), 1e-9))[:, None]
    return np.where(short[:, None], bones[:, 0] + side + away * [0.0, 1.0, 0.0], goals)


def _bone(motion: Motion, chain: Sequence[int]) -> tuple[NDArray, NDArray]:
    """The last joint of a chain in the first one's frame: its place (F, 3), and its parent's rotation (F, 4)."""
    offsets = motion.skeleton.offsets[None] if motion.offsets is None else motion.offsets
    place, turn = np.zeros((len(motion), 3)), rotation.identity(len(motion))
    for step, joint in enumerate(chain[1:], start=1):
        place = place + rotation.rotate(turn, offsets[:, joint])
        if step < len(chain) - 1:
            turn = rotation.multiply(turn, motion.rotations[:, joint])
    return place, turn


def solve(
    parents: ArrayLike,
    uppers: ArrayLike,
    lowers: ArrayLike,
    upper_offsets: ArrayLike,
    lower_offsets: ArrayLike,
    axis: ArrayLike,
    origins: ArrayLike,
    goals: ArrayLike,
    *,
    swivel: ArrayLike = 0.0,
    pole: ArrayLike | None = None,
    softness: float = 0.0,
    flexion: tuple[float, float] = (0.0, 2.8),
    own_plane: bool = False,
) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray]:
    """The limb on bare arrays: (new uppers (F, 4), new lowers (F, 4), residual, flexion, status (F,)).

    parents: (F, 4) world rotations above the limb; uppers, lowers: (F, 4) reference rotations, the lower ones in the
    upper joint's frame; offsets: (3,) or (F, 3), hinge in the upper frame and end in the lower frame; origins: (F, 3)
    world places of the upper joint. The other arguments are those of `place`; anything may be given once for all.
    own_plane: a limb that is clearly bent bends on in the plane in which it is, beside its axis as that may be.
    """
    from footplant.kernels import limb as kernel

    goals = np.atleast_2d(real_array(goals, "goals", MotionError))
    if not np.isfinite(goals).all():
        bad = np.argwhere(~np.isfinite(goals))[0][0]
        raise MotionError(f"expected finite goals, got NaN or infinity at frame {bad}")
    origins = np.atleast_2d(np.asarray(origins, float))
    frames = max(len(goals), len(origins), len(np.atleast_2d(parents)), len(np.atleast_2d(uppers)))

    def rows(array: ArrayLike, width: int, what: str) -> NDArray:
        return np.array(broadcast(array, (frames, width), what, MotionError), order="C")

    def bones(offsets: ArrayLike, what: str) -> NDArray:
        given = np.array(np.atleast_2d(real_array(offsets, what, MotionError)))
        if given.shape not in ((1, 3), (frames, 3)):
            raise MotionError(f"expected {what} of shape (3,) or ({frames}, 3), got {np.shape(offsets)}")
        return all_finite(given, what, MotionError)

    new_uppers, new_lowers = np.empty((frames, 4)), np.empty((frames, 4))
    residual, bent, status = np.empty(frames), np.empty(frames), np.empty(frames, np.int64)
    kernel.reach_all(
        rows(parents, 4, "parents"), rows(uppers, 4, "uppers"), rows(lowers, 4, "lowers"),
        bones(upper_offsets, "upper offsets"), bones(lower_offsets, "lower offsets"),
        np.array(shaped(axis, (3,), "the hinge's axis", MotionError)), own_plane,
        rows(origins, 3, "origins"), rows(goals, 3, "goals"),
        rows((0.0, 0.0, 0.0) if pole is None else pole, 3, "poles"), pole is not None,
        np.array(broadcast(swivel, (frames,), "swivels", MotionError)),
        real_number(softness, "softness", MotionError, low=0.0, high=1.0), float(flexion[0]), float(flexion[1]),
        new_uppers, new_lowers, residual, bent, status,
    )  # fmt: skip
    return rotation.normalize(new_uppers), rotation.normalize(new_lowers), residual, bent, status
