"""Two-bone IK in closed form: shoulder–elbow–wrist or hip–knee–ankle, with one free swivel angle.

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
from footplant.humanoid.reference import reference_world
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character

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
    """How a limb met its goal at a frame. The values are those of the kernel."""

    REACHED = 0
    """The end is on the goal."""
    TOO_FAR = 1
    """The limb is fully extended (or at its least flexion), and the goal is farther."""
    TOO_NEAR = 2
    """The limb is folded to its largest flexion, and the goal is nearer."""
    SOFTENED = 3
    """Within reach, but held back near full extension by the requested softness."""


@dataclass(frozen=True, eq=False)
class Limb:
    """Two bones with a hinge between them. Joints that lie inside a bone (twist joints) keep their rotations."""

    upper: int
    """Ball joint: shoulder or hip."""
    lower: int
    """Hinge joint: elbow or knee."""
    end: int
    """End effector: wrist or ankle."""
    axis: NDArray
    """(3,) unit hinge axis in the upper joint's frame; rotating the lower bone about it by a positive angle flexes."""
    flexion: tuple[float, float] = (0.0, 2.8)
    """Least and largest flexion, radians; 0 is straight."""


@dataclass(frozen=True, eq=False)
class LimbSolution:
    """A motion with its limb placed, and how well each frame succeeded."""

    motion: Motion
    residual: NDArray
    """(F,) metres left between the limb's end and its goal."""
    flexion: NDArray
    """(F,) radians; 0 is straight."""
    status: NDArray
    """(F,) int64, values of `Reach`."""


_LIMBS_OF: WeakKeyDictionary[Character, dict[str, Limb]] = WeakKeyDictionary()
"""Limbs of each character, cached: every step of an edit reads them."""


def limb_of(character: Character, name: str) -> Limb:
    """Return a limb of a humanoid by name: left_arm, right_arm, left_leg or right_leg. Memoised per character."""
    if name not in LIMBS:
        raise SkeletonError(f"no limb {name!r}; there are: {', '.join(LIMBS)}")
    cached = _LIMBS_OF.setdefault(character, {})
    if name not in cached:
        cached[name] = _find_limb(character, name)
    return cached[name]


def _find_limb(character: Character, name: str) -> Limb:
    """Return a limb; in the reference pose knees bend about +x, left elbows about −y and right ones about +y.

    The rest pose may say something else: some have all bones along one axis, and SMPL's knees are bent sideways there.
    """
    roles = character.require_roles()
    upper, lower, end = (roles[role] for role in LIMBS[name])
    axis = rotation.AXES["x"] if name.endswith("leg") else rotation.AXES["y"] * (-1.0 if "left" in name else 1.0)
    world = reference_world(character.skeleton, roles)[1]
    return Limb(upper, lower, end, rotation.rotate(rotation.inverse(world[upper]), axis))


def limbs_of(character: Character, names: Sequence[str] = tuple(LIMBS)) -> dict[str, Limb]:
    """Return the arms and legs of a character whose joints form a chain, by name, in the order of the names."""
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
    """Put the end of a limb on its goals; only the limb's own rotations change.

    goals: (F, 3) or (3,) world positions of the limb's end, metres. orientations: (F, 4) world rotations of the end
    joint; None keeps its local rotation. The motion's own pose is the reference: the limb bends at its hinge, rotates
    by the smallest rotation onto the goal and then swivels about the line to the goal by `swivel` radians, measured
    from the side of the world direction `pole` (F, 3) if one is given. softness: share of the reach next to full
    extension that is approached asymptotically, which keeps knees from snapping straight; 0 is exact.
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


def end_distance(upper: NDArray, lower: NDArray, flexion: NDArray | float) -> NDArray:
    """Return the distance of a limb's ends, metres, from the lengths of its bones and its flexion (law of cosines)."""
    return np.sqrt(np.maximum(upper**2 + lower**2 + 2.0 * upper * lower * np.cos(flexion), 0.0))


def _bone(motion: Motion, chain: Sequence[int]) -> tuple[NDArray, NDArray]:
    """Return the last joint of a chain in the first one's frame: position (F, 3), and its parent's rotation (F, 4)."""
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
    """Solve a limb on bare arrays: (new uppers (F, 4), new lowers (F, 4), residual, flexion, status (F,)).

    parents: (F, 4) world rotations above the limb; uppers, lowers: (F, 4) reference rotations, the lower ones in the
    upper joint's frame; offsets: (3,) or (F, 3), hinge in the upper frame and end in the lower frame; origins: (F, 3)
    world positions of the upper joint. The other arguments are those of `place`; each may be given once for all frames.
    own_plane: a clearly bent limb keeps bending in its present plane, even where that differs from its hinge axis.
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

    hinge = kernel.Hinge(
        np.array(shaped(axis, (3,), "the hinge's axis", MotionError)), bool(own_plane),
        real_number(softness, "softness", MotionError, low=0.0, high=1.0), float(flexion[0]), float(flexion[1]),
    )  # fmt: skip
    poses = kernel.LimbPoses(
        rows(parents, 4, "parents"), rows(uppers, 4, "uppers"), rows(lowers, 4, "lowers"),
        bones(upper_offsets, "upper offsets"), bones(lower_offsets, "lower offsets"), rows(origins, 3, "origins"),
    )  # fmt: skip
    aims = kernel.Aims(
        rows(goals, 3, "goals"), rows((0.0, 0.0, 0.0) if pole is None else pole, 3, "poles"), pole is not None,
        np.array(broadcast(swivel, (frames,), "swivels", MotionError)),
    )  # fmt: skip
    out = kernel.LimbAnswers(
        np.empty((frames, 4)), np.empty((frames, 4)), np.empty(frames), np.empty(frames), np.empty(frames, np.int64)
    )
    kernel.reach_all(hinge, poses, aims, out)
    return rotation.normalize(out.uppers), rotation.normalize(out.lowers), out.residuals, out.flexions, out.statuses
