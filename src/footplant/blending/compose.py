"""Combine poses of several motions into one: joints by weighted means, the root by its increments.

Macleod, "Skeletal Character Animation within a Virtual Environment" (2006), section 3.2: each motion's step over the
floor is expressed in its own heading and averaged there, so that motions that turn apart do not shorten each other's
steps. Headings are integrated; height and tilt are averaged directly. With increments Δθᵢ and step vectors sᵢ in the
heading half-way, Δθ = Σ wᵢ Δθᵢ and Δp = R(θ + Δθ/2) Σ wᵢ sᵢ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import humanoid, rotation
from footplant.checks import shaped
from footplant.errors import MotionError
from footplant.motion import Motion
from footplant.skeleton import Character

PARTS = {
    "left_arm": ("left_clavicle",),
    "right_arm": ("right_clavicle",),
    "left_leg": ("left_upper_leg",),
    "right_leg": ("right_upper_leg",),
    "head": ("neck", "head"),
    "upper_body": ("spine",),
}
"""Parts of a character that can have their own weights → candidate roles of the part's topmost joint."""
_ARM = {"left_arm": "left_upper_arm", "right_arm": "right_upper_arm"}


@dataclass(frozen=True, eq=False)
class RootPath:
    """The path of a motion's root, its heading separated from its tilt."""

    heading: NDArray
    """(F,) radians about the vertical, unwrapped."""
    tilt: NDArray
    """(F, 4) the rest of the root's rotation relative to the reference pose: rotation = heading · tilt."""
    place: NDArray
    """(F, 3) metres."""

    @classmethod
    def of(cls, motion: Motion, reference: ArrayLike) -> RootPath:
        """Decompose a motion's root. reference: (4,) the root's rotation in an upright character at heading 0."""
        turned = rotation.multiply(motion.rotations[:, 0], rotation.inverse(reference))
        turned = rotation.unroll(turned)
        heading = np.unwrap(2.0 * np.arctan2(turned[:, 2], turned[:, 0]))
        tilt = rotation.multiply(rotation.from_axis_angle(rotation.AXES["y"], -heading), turned)
        return cls(heading, rotation.unroll(tilt), np.asarray(motion.root))

    def steps(self) -> tuple[NDArray, NDArray]:
        """Return (F−1,) radians turned and (F−1, 2) metres moved (across, along) in the heading half-way."""
        turned = np.diff(self.heading)
        middle = self.heading[:-1] + 0.5 * turned
        moved = np.diff(self.place[:, ::2], axis=0)
        return turned, rotate_on_floor(-middle, moved)


def rotate_on_floor(angle: NDArray, vectors: NDArray) -> NDArray:
    """Rotate floor vectors (…, 2), (x, z), about the vertical by angles (…)."""
    cosine, sine = np.cos(angle), np.sin(angle)
    x, z = vectors[..., 0], vectors[..., 1]
    return np.stack([x * cosine + z * sine, z * cosine - x * sine], axis=-1)


def root_reference(character: Character) -> NDArray:
    """Return (4,) the root's rotation in the upright reference pose; in the rest pose for a skeleton without roles."""
    if character.roles is None:
        return np.asarray(character.skeleton.rest[0])
    return np.asarray(humanoid.reference_pose(character.skeleton, character.roles)[0])


def part_joints(character: Character, part: str) -> NDArray:
    """Return (J,) bool: the joints of a part of `PARTS`, or of a role and all its descendants."""
    roles = character.require_roles()
    wanted = PARTS.get(part, (part,))
    first = next((roles.get(role) for role in wanted if roles.get(role) is not None), None)
    if first is None and part in _ARM:
        first = roles.get(_ARM[part])
    if first is None:
        raise MotionError(f"expected a part among {', '.join(PARTS)}, or a role of the character; got {part!r}")
    inside = np.zeros(len(character.skeleton), bool)
    inside[list(character.skeleton.descendants(first))] = True
    return inside


def compose(
    poses: Sequence[Motion], weights: ArrayLike, character: Character, *, joints: ArrayLike | None = None
) -> Motion:
    """Combine several motions with the same number of frames.

    weights: (F, n), each row summing to 1. joints: (F, n, J) weights per joint, where they differ from those. The first
    frame is at the weighted mean of the motions' first positions and headings.
    """
    if not poses:
        raise MotionError("expected at least one motion to compose, got none")
    for motion in poses:
        character.require_fit(motion.skeleton)
    frames, count = len(poses[0]), len(poses)
    if frames == 0:
        raise MotionError("expected motions of at least one frame to compose, got one without frames")
    if any(len(motion) != frames for motion in poses):
        raise MotionError(f"expected {frames} frames in each motion, got {[len(motion) for motion in poses]}")
    weights = shaped(weights, (frames, count), "weights", MotionError)
    if joints is not None:
        joints = shaped(joints, (frames, count, len(character.skeleton)), "weights of joints", MotionError)
    from footplant.kernels import blend as kernel

    shares = weights[:, :, None] if joints is None else joints
    shares = np.ascontiguousarray(np.broadcast_to(shares, (frames, count, len(character.skeleton))).transpose(1, 0, 2))
    rotations = np.empty((frames, len(character.skeleton), 4))
    kernel.mean_poses(np.stack([motion.rotations for motion in poses]), shares, rotations)
    reference = root_reference(character)
    root, rotations[:, 0] = _integrate([RootPath.of(motion, reference) for motion in poses], weights, reference)
    return Motion(poses[0].skeleton, root, rotation.unroll(rotation.normalize(rotations)), poses[0].fps)


def _integrate(paths: Sequence[RootPath], weights: NDArray, reference: NDArray) -> tuple[NDArray, NDArray]:
    """Return positions (F, 3) and rotations (F, 4) of the root from weighted increments of several paths."""
    from footplant.kernels import blend as kernel

    between = 0.5 * (weights[:-1] + weights[1:])
    steps = [path.steps() for path in paths]
    turned = sum(share * turn for share, (turn, _) in zip(between.T, steps))
    moved = sum(share[:, None] * step for share, (_, step) in zip(between.T, steps))
    heaviest = paths[int(weights[0].argmax())].heading[0]
    apart = [(path.heading[0] - heaviest + np.pi) % (2.0 * np.pi) - np.pi for path in paths]
    heading = heaviest + float(weights[0] @ apart) + np.concatenate([[0.0], np.cumsum(turned)])
    floor = rotate_on_floor(heading[:-1] + 0.5 * np.asarray(turned), np.asarray(moved))
    place = np.empty((len(weights), 3))
    start = weights[0] @ np.stack([path.place[0, ::2] for path in paths])
    place[:, ::2] = start + np.concatenate([np.zeros((1, 2)), np.cumsum(floor, axis=0)])
    place[:, 1] = sum(share * path.place[:, 1] for share, path in zip(weights.T, paths))
    tilt = np.empty((len(weights), 1, 4))
    kernel.mean_poses(
        np.stack([path.tilt for path in paths])[:, :, None], np.array(weights.T, order="C")[:, :, None], tilt
    )
    upright = rotation.from_axis_angle(rotation.AXES["y"], heading)
    return place, rotation.multiply(rotation.multiply(upright, tilt[:, 0]), reference)
