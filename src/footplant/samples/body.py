"""Pose a mannequin by anatomical parameters: pelvis, trunk, gaze, arm angles, and legs by foot positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.errors import SkeletonError
from footplant.motion import Motion
from footplant.skeleton import Character, Skeleton
from footplant.solve.ik import limb

SIDES = {"left": 1.0, "right": -1.0}
"""Side → sign of its x in the rest pose."""
STRAIGHTEST = float(np.cos(0.035))
"""Largest hip–ankle distance divided by thigh plus shank: the knee keeps four degrees of flexion."""
HIPS_HEIGHT = 0.94
"""Height of the mannequin's pelvis joint in the rest pose, with straight legs, metres."""
ARM_LENGTH = 0.54
"""Shoulder to wrist of the mannequin, metres."""
FOOT_LENGTH = float(np.hypot(0.185, 0.01))
"""Heel to ball of the mannequin, metres."""
STANDING_HEIGHT = 0.9375
"""Height of its pelvis joint when standing at ease, metres."""
LEG_LENGTH = float(np.hypot(0.82, 0.01))
"""Hip to ankle of the mannequin for which the motions were designed, metres."""


@dataclass(frozen=True, eq=False)
class SampleBody:
    """A character derived from the mannequin (other sizes, same axes): lengths and joints for the generators."""

    character: Character

    @classmethod
    def of(cls, character: Character | None) -> SampleBody:
        """Return the body of a character; None is the mannequin."""
        from footplant.samples import characters

        return cls(characters.load_character("mannequin") if character is None else character)

    def __post_init__(self) -> None:
        """Check the rest pose: the generators rotate joints about world axes, so it must have identity rotations."""
        character = self.character
        if np.abs(np.abs(character.skeleton.rest[:, 0]) - 1.0).max() > 1e-9:
            raise SkeletonError(
                f"expected a character made from the mannequin, got {character.name!r} with a rotated rest pose"
            )
        needed = {f"{side}_{part}" for side in SIDES for part in ("heel", "ball", "toe", "palm")}
        if needed - set(character.contacts):
            missing = ", ".join(sorted(needed - set(character.contacts)))
            raise SkeletonError(f"expected the contact points of the mannequin, {character.name!r} lacks {missing}")

    @property
    def skeleton(self) -> Skeleton:
        """Return the character's skeleton."""
        return self.character.skeleton

    def joint(self, role: str) -> int:
        """Return the joint of a role."""
        return self.character.require_roles()[role]

    def rest(self, role: str) -> NDArray:
        """Return the position (3,) of a role's joint in the rest pose, metres."""
        return self.skeleton.rest_world[0][self.joint(role)]

    def contact(self, name: str) -> NDArray:
        """Return the position (3,) of a contact point in the rest pose, metres."""
        point = self.character.contacts[name]
        return self.skeleton.rest_world[0][point.joint] + np.array(point.offset)

    @cached_property
    def leg_length(self) -> float:
        """Return the length of the straight leg from hip to ankle, metres."""
        return float(np.linalg.norm(self.rest("left_upper_leg") - self.rest("left_foot")))

    @cached_property
    def scale(self) -> float:
        """Return the length scale of motions: leg length divided by the mannequin's."""
        return self.leg_length / LEG_LENGTH

    def hips_height(self, height: ArrayLike) -> NDArray:
        """Return the pelvis height that bends this body's legs as `height` does the mannequin's, metres."""
        return self.rest("hips")[1] - self.scale * (HIPS_HEIGHT - np.asarray(height, float))

    @cached_property
    def arm_scale(self) -> float:
        """Return the arm length divided by the mannequin's."""
        bones = (self.skeleton.offsets[self.joint(f"left_{part}")] for part in ("lower_arm", "hand"))
        return sum(float(np.linalg.norm(bone)) for bone in bones) / ARM_LENGTH

    @cached_property
    def step_share(self) -> float:
        """Return the step length relative to leg length, at most 1: about a fifth of a step is the foot's roll."""
        foot = float(np.linalg.norm(self.contact("left_ball") - self.contact("left_heel")))
        return min(0.75 + 0.25 * foot / (FOOT_LENGTH * self.scale), 1.0)

    @cached_property
    def tempo(self) -> float:
        """Return the time scale of motions, which keeps the Froude number (speed² / leg length) constant."""
        return float(np.sqrt(self.scale))


@dataclass(frozen=True, eq=False)
class Pose:
    """Parameters of a posture over F frames; angles in radians, 0 is upright with hanging arms. See `build`."""

    hips: NDArray
    """(F, 3) metres; world position of the pelvis."""
    heading: ArrayLike = 0.0
    """(F,) direction of travel, a rotation about the vertical; 0 is +z, a quarter turn is +x."""
    pelvis: ArrayLike = (0.0, 0.0, 0.0)
    """(F, 3) forward tilt, rotation to the left, left hip up."""
    trunk: ArrayLike = (0.0, 0.0, 0.0)
    """(F, 3) bend of the thorax relative to the pelvis: forward, rotation to the left, lean to the right."""
    gaze: ArrayLike = (0.0, 0.0)
    """(F, 2) direction of the head relative to the heading: down, left."""
    arms: Mapping[str, Mapping[str, ArrayLike]] = field(default_factory=dict)
    """Side → angles of `ARM`: swing forward, spread outward, twist inward, elbow, forearm (pronation), wrist …"""
    hands: Mapping[str, tuple[ArrayLike, ...]] = field(default_factory=dict)
    """Side → (wrist positions (F, 3), hand rotations (F, 4), swivel (F,), weight (F,)): blends from the arm angles."""
    feet: Mapping[str, tuple[NDArray, NDArray, NDArray, NDArray]] = field(default_factory=dict)
    """Side → (ankle positions (F, 3), foot rotations (F, 4), toe rotations (F, 4), knee headings (F,)), all world."""


def turn(x: ArrayLike = 0.0, y: ArrayLike = 0.0, z: ArrayLike = 0.0) -> NDArray:
    """Return quaternions (…, 4): first about z, then x, then y, radians."""
    x, y, z = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float), np.asarray(z, float))
    return rotation.from_euler(np.stack([y, x, z], axis=-1), "yxz")


def build(body: SampleBody, pose: Pose, fps: float) -> Motion:
    """Return the motion of a pose track: trunk and arms by angles, then hands and legs by two-bone IK."""
    skeleton, frames = body.skeleton, len(pose.hips)
    heading = np.broadcast_to(np.asarray(pose.heading, float), frames)
    local = np.array(np.broadcast_to(skeleton.rest, (frames, len(skeleton), 4)))
    tilt, twist, roll = np.broadcast_to(np.asarray(pose.pelvis, float), (frames, 3)).T
    local[:, 0] = turn(tilt, heading + twist, roll)
    _bend_trunk(body, pose, heading, local)
    for side, sign in SIDES.items():
        _pose_arm(body, side, sign, pose.arms.get(side, {}), local)
    hips = np.array(pose.hips)
    hips[:, 1] = _height_in_reach(body, pose, local[:, 0])
    motion = Motion(skeleton, hips, rotation.normalize(local), fps)
    for side, (places, turns, swivel, weight) in pose.hands.items():
        motion = _place_hand(body, motion, side, places, turns, swivel, weight)
    for side, (ankles, feet, toes, knees) in pose.feet.items():
        motion = _place_leg(body, motion, side, ankles, feet, toes, knees)
    return motion


def _height_in_reach(body: SampleBody, pose: Pose, turned: NDArray) -> NDArray:
    """Return the hips' height, lowered smoothly where a leg would exceed its largest extension.

    Soft minimum: −s·log(exp(−h/s) + exp(−limit/s)) with s = 2 mm at the mannequin's scale.
    """
    skeleton, height = body.skeleton, np.array(pose.hips[:, 1])
    soft = 0.002 * body.scale
    for side, (ankles, *_) in pose.feet.items():
        socket = rotation.rotate(turned, skeleton.offsets[body.joint(f"{side}_upper_leg")])
        across = (pose.hips + socket - ankles)[:, [0, 2]]
        room = np.sqrt(np.maximum((STRAIGHTEST * body.leg_length) ** 2 - np.sum(across**2, axis=-1), 0.0))
        height = -soft * np.logaddexp(-height / soft, -(ankles[:, 1] + room - socket[:, 1]) / soft)
    return height


def _bend_trunk(body: SampleBody, pose: Pose, heading: NDArray, local: NDArray) -> None:
    frames = len(heading)
    bend, twist, lean = np.broadcast_to(np.asarray(pose.trunk, float), (frames, 3)).T
    spine = body.character.require_roles().joints["spine"]
    chest = local[:, 0]
    for joint in spine:
        local[:, joint] = rotation.exp(np.stack([bend, twist, -lean], axis=-1) / len(spine))
        chest = rotation.multiply(chest, local[:, joint])
    down, left = np.broadcast_to(np.asarray(pose.gaze, float), (frames, 2)).T
    # the head follows the gaze independently of the trunk; neck and head share the rotation
    wanted = turn(down, heading + left)
    share = rotation.log(rotation.multiply(rotation.inverse(chest), wanted))
    local[:, body.joint("neck")] = rotation.exp(0.45 * share)
    local[:, body.joint("head")] = rotation.exp(0.55 * share)


def _pose_arm(body: SampleBody, side: str, sign: float, angles: Mapping[str, ArrayLike], local: NDArray) -> None:
    unknown = set(angles) - set(ARM)
    if unknown:
        raise KeyError(f"expected arm angles among {', '.join(ARM)}, got {', '.join(sorted(unknown))}")
    frames = len(local)
    value = {name: np.broadcast_to(np.asarray(angles.get(name, ARM[name]), float), frames) for name in ARM}
    local[:, body.joint(f"{side}_clavicle")] = turn(y=-sign * value["protract"], z=sign * value["shrug"])
    # from the T-pose: rotate the arm about its axis, let it hang, spread it, swing it
    hang = turn(z=-sign * (np.pi / 2 - value["spread"]))
    upper = rotation.multiply(turn(x=-value["swing"]), hang)
    local[:, body.joint(f"{side}_upper_arm")] = rotation.multiply(upper, turn(x=value["twist"]))
    # flexion of the T-pose arm is a rotation about ∓y; pronation rotates the forearm about its axis
    elbow = rotation.multiply(turn(y=-sign * value["elbow"]), turn(x=-value["forearm"]))
    local[:, body.joint(f"{side}_lower_arm")] = elbow
    local[:, body.joint(f"{side}_hand")] = turn(z=-sign * value["wrist"])


ARM = {
    "swing": 0.0, "spread": 0.12, "twist": 0.15, "elbow": 0.25, "forearm": 0.15, "wrist": 0.12,
    "shrug": -0.04, "protract": 0.06,
}  # fmt: skip
"""Arm angles and their values when it hangs relaxed."""


def _place_hand(body: SampleBody, motion: Motion, side: str, places, turns, swivel, weight) -> Motion:
    """Blend the arm from its angles (weight 0) to the wrist position and hand rotation (weight 1).

    Exact up to 97 % of the arm's reach; beyond, the elbow stays slightly bent instead of snapping straight.
    """
    frames = len(motion)
    arm = replace(limb.limb_of(body.character, f"{side}_arm"), flexion=(0.1, 2.7))
    weight = np.broadcast_to(np.asarray(weight, float), frames)
    placed = limb.place(motion, arm, places, orientations=turns, swivel=swivel, softness=0.03).motion
    rotations = np.array(motion.rotations)
    for joint in (arm.upper, arm.lower, arm.end):
        rotations[:, joint] = rotation.slerp(motion.rotations[:, joint], placed.rotations[:, joint], weight)
    return Motion(motion.skeleton, motion.root, rotation.normalize(rotations), motion.fps)


def hand_at(
    body: SampleBody, side: str, palm: ArrayLike, fingers: ArrayLike, facing: ArrayLike
) -> tuple[NDArray, NDArray]:
    """Return wrist positions (F, 3) and hand rotations (F, 4) that put the palm at given positions.

    palm: (F, 3) world positions of the palm's contact point; fingers: their direction; facing: the palm's normal. The
    finger direction is exact; the normal is projected perpendicular to it.
    """
    palm, fingers, facing = np.broadcast_arrays(*(np.atleast_2d(np.asarray(x, float)) for x in (palm, fingers, facing)))
    along = fingers / np.linalg.norm(fingers, axis=-1, keepdims=True)
    normal = facing - np.sum(facing * along, axis=-1, keepdims=True) * along
    normal = normal / np.linalg.norm(normal, axis=-1, keepdims=True)
    # in the rest pose the fingers of the left hand point to +x, those of the right to −x, and both palms face down
    x, y = SIDES[side] * along, -normal
    turned = rotation.from_matrix(np.stack([x, y, np.cross(x, y)], axis=-1))
    offset = body.character.contacts[f"{side}_palm"].offset
    return palm - rotation.rotate(turned, np.array(offset)), rotation.unroll(turned)


def _place_leg(body: SampleBody, motion: Motion, side: str, ankles, feet, toes, knees) -> Motion:
    """Solve the leg from a reference that hangs from the hip and faces the knee's heading, so without swivel."""
    skeleton = motion.skeleton
    upper, lower, foot = (body.joint(f"{side}_{name}") for name in ("upper_leg", "lower_leg", "foot"))
    upright = turn(y=knees)
    hips = motion.rotations[:, 0]
    origin = motion.root + rotation.rotate(hips, skeleton.offsets[upper])
    thigh, knee, *_ = limb.solve(
        upright, rotation.IDENTITY, rotation.IDENTITY, skeleton.offsets[lower], skeleton.offsets[foot],
        (1.0, 0.0, 0.0), origin, ankles, flexion=(0.0, 2.8),
    )  # fmt: skip
    rotations = np.array(motion.rotations)
    thigh_world = rotation.multiply(upright, thigh)
    rotations[:, upper] = rotation.multiply(rotation.inverse(hips), thigh_world)
    rotations[:, lower] = knee
    shank = rotation.multiply(thigh_world, knee)
    rotations[:, foot] = rotation.multiply(rotation.inverse(shank), feet)
    rotations[:, body.joint(f"{side}_toes")] = rotation.multiply(rotation.inverse(feet), toes)
    return Motion(skeleton, motion.root, rotation.normalize(rotations), motion.fps)
