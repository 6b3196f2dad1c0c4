"""Rotate a standing pose into the reference pose, joint by joint from the root outwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.humanoid.posture import across, leg_cosines, trunk, unit
from footplant.skeleton import Roles, Skeleton

X, Y, Z = np.eye(3)


@dataclass(frozen=True)
class AlignmentSettings:
    """Angles, radians, that decide which parts of a rest pose are kept in the reference pose, and what is a bone.

    Where a field names no experiment, none is on record.
    """

    stub: float = 0.02
    """Lengths of the bone above up to which what is below a joint is no bone: exporters end a chain somewhere. Of 145
    hands, feet and toes, the stubs of four files are at most 0.007 long, and the shortest true one is 0.043."""
    clear_bend: float = np.radians(15.0)
    """Smallest bend at rest from which the hinge axis of an elbow or knee is read; smaller trusts straighter limbs."""
    folded: float = np.radians(150.0)
    """Largest such bend: a limb folded further is not a pose."""
    upright: float = np.radians(12.0)
    """Largest tilt of the line from the first vertebra to the neck at which the trunk counts as upright and is kept."""
    axis_snap: float = np.radians(30.0)
    """Largest angle between the trunk and a coordinate axis at which that axis is taken as up."""
    neck_tilt: float = np.radians(40.0)
    """Largest tilt of a vertebra, neck or head bone that is kept; a larger one is straightened."""
    clavicle_tilt: float = np.radians(60.0)
    """Largest angle between a clavicle and the lateral axis that is kept."""
    foot_heading: float = np.radians(35.0)
    """Largest angle between a foot's heading and forward that is kept."""
    splayed: float = np.radians(12.0)
    """Sideways tilt of a shank beyond which its foot is aligned with the shank rather than with the world."""
    foot_pitch: float = np.radians(25.0)
    """Downward slope from ankle to ball given to a foot whose own pitch is unusable."""
    folded_cosine: float = -0.3
    """Cosine between trunk and legs above which the rest pose is not a standing pose (−1: standing straight)."""


SETTINGS = AlignmentSettings()


@dataclass(frozen=True)
class MotionEvidence:
    """What a motion shows of a character whose rest pose is not a standing pose."""

    hinges: Mapping[str, NDArray] = field(default_factory=dict)
    """Role of a thigh or upper arm → bend axis (3,) of its knee or elbow, in that bone's frame."""
    slopes: Mapping[str, float] = field(default_factory=dict)
    """Role of a foot → downward slope of the line from ankle to ball when the foot is flat, radians."""


class Alignment:
    """World rotation of every joint that turns a standing pose into the reference pose."""

    def __init__(
        self, skeleton: Skeleton, roles: Roles, positions: NDArray, rotations: NDArray, evidence: MotionEvidence | None
    ) -> None:
        """Take world positions (J, 3) and rotations (J, 4) of the starting pose, and evidence from a motion.

        Without evidence the starting pose is the rest pose, assumed to be a deliberate standing pose.
        """
        self.at_rest, self.evidence = evidence is None, evidence or MotionEvidence()
        self.skeleton, self.roles, self.positions, self.rotations = skeleton, roles, positions, rotations
        self.role_of = {chain[0]: role for role, chain in roles.joints.items()}
        self.column = (*roles.joints.get("spine", ()), *roles.joints.get("neck", ()), *roles.joints.get("head", ()))
        self.root_turn = self._root_turn()

    def turns(self) -> NDArray:
        """Return the world rotations (J, 4) to apply to each joint of the starting pose."""
        out = np.empty((len(self.skeleton), 4))
        for joint, parent in enumerate(self.skeleton.parents.tolist()):
            before = self.root_turn if parent < 0 else out[parent]
            role = self.role_of.get(joint, "")
            side, _, part = role.partition("_")
            sign = {"left": 1.0, "right": -1.0}.get(side)
            if sign is None:
                out[joint] = self._middle(joint, role, before)
            elif part in ("clavicle", "upper_arm", "lower_arm", "hand"):
                out[joint] = self._arm(joint, side, part, sign, before)
            elif part in ("upper_leg", "lower_leg"):
                out[joint] = self._leg(joint, side, part, before)
            elif part == "foot":
                out[joint] = self._foot(joint, side, before)
            else:
                out[joint] = before
        return out

    def _root_turn(self) -> NDArray:
        """Return the rotation of the whole character that maps its up to +y and its left to +x."""
        pose = self.positions[None]
        up, left = trunk(self.roles, pose)[0], across(self.roles, pose)[0]
        if leg_cosines(self.roles, pose)[0] > SETTINGS.folded_cosine:
            up, left = self._pelvis_axes(up, left)
        axis = np.zeros(3)
        axis[np.argmax(np.abs(up))] = np.sign(up[np.argmax(np.abs(up))])
        if up @ axis > np.cos(SETTINGS.axis_snap):
            up = axis
        left = left - (left @ up) * up
        if not np.linalg.norm(left) > 1e-9:
            left = np.cross(up, Z) if abs(up @ Z) < 0.9 else np.cross(up, X)
        left = unit(left)
        return rotation.inverse(rotation.from_matrix(np.stack([left, up, np.cross(left, up)], axis=1)))

    def _pelvis_axes(self, up: NDArray, left: NDArray) -> tuple[NDArray, NDArray]:
        """Return up and left from the rigid part of the pelvis, for rest poses that do not stand."""
        hips = [self.positions[self.roles[r]] for r in ("left_upper_leg", "right_upper_leg") if r in self.roles]
        spine = self.roles.get("spine")
        if len(hips) == 2 and np.linalg.norm(hips[0] - hips[1]) > 0:
            left = unit(hips[0] - hips[1])
        if hips and spine is not None and np.linalg.norm(self.positions[spine] - np.mean(hips, axis=0)) > 0:
            up = unit(self.positions[spine] - np.mean(hips, axis=0))
        return unit(up - (up @ left) * left), left

    def _toward(self, joint: int, *roles: str) -> NDArray | None:
        """Return the vector from a joint to the first of the given roles that exists at another position, or None."""
        for role in roles:
            other = self.roles.get(role)
            if other is not None and np.linalg.norm(self.positions[other] - self.positions[joint]) > 0:
                return self.positions[other] - self.positions[joint]
        return None

    def _middle(self, joint: int, role: str, before: NDArray) -> NDArray:
        if not self.at_rest and (role == "hips" or joint in self.column):
            return self._untwisted(joint, before)
        if role == "spine":
            # an upright rest pose stays: rigs differ by a few degrees in where they put the vertebrae
            chord = self._toward(joint, "neck", "head")
            if chord is None or _angle(rotation.rotate(before, chord), Y) < SETTINGS.upright:
                return before
            return _align(before, chord, Y)
        return self._with_little_tilt(joint, before)

    def _untwisted(self, joint: int, before: NDArray) -> NDArray:
        """Return the rotation of pelvis, vertebra, neck or head of a frame of a motion.

        Someone who walks turns the pelvis one way and the chest the other: the hip joints are put along x, and the
        shoulders too; vertebrae between them turn by their share, and so does the neck to a head that looks ahead.
        """
        hips = self._line_across("upper_leg")
        if joint not in self.column:
            return before if hips is None else _align(before, hips, X)
        spine = self.roles.joints.get("spine", ())
        chord = self._toward(spine[0], "neck", "head") if spine else None
        upright = self.root_turn if chord is None else _align(self.root_turn, chord, Y)
        lines = [hips, self._line_across("clavicle", "upper_arm")]
        yaws = [0.0 if line is None else _yaw(rotation.rotate(upright, line)) for line in lines]
        above = self.column.index(joint) + 1
        share = np.interp(above, [0, len(spine), max(len(self.column), len(spine) + 1)], [*yaws, 0.0])
        return self._with_little_tilt(joint, rotation.multiply(rotation.from_axis_angle(Y, share), upright))

    def _with_little_tilt(self, joint: int, turn: NDArray) -> NDArray:
        """Return the rotation of a vertebra or neck bone, straightened where it leans far."""
        if joint in self.column[:-1]:
            bone = self.positions[self.column[self.column.index(joint) + 1]] - self.positions[joint]
            if np.linalg.norm(bone) > 0 and _angle(rotation.rotate(turn, bone), Y) > SETTINGS.neck_tilt:
                return _align(turn, bone, Y)
        return turn

    def _line_across(self, *parts: str) -> NDArray | None:
        """Return the vector from the right to the left joint of the first part whose joints are apart, or None."""
        for part in parts:
            left, right = (self.roles.get(f"{side}_{part}") for side in ("left", "right"))
            if left is not None and right is not None:
                line = self.positions[left] - self.positions[right]
                if np.linalg.norm(line) > 0:
                    return line
        return None

    def _arm(self, joint: int, side: str, part: str, sign: float, before: NDArray) -> NDArray:
        following = {
            "clavicle": ("upper_arm",), "upper_arm": ("lower_arm",), "lower_arm": ("hand",),
            "hand": ("middle", "index", "ring", "little"),
        }[part]  # fmt: skip
        bone = self._toward(joint, *(f"{side}_{name}" for name in following))
        if part == "clavicle":
            if bone is None or _angle(rotation.rotate(before, bone), sign * X) < SETTINGS.clavicle_tilt:
                return before
            return _align(before, bone, sign * X)
        if bone is None:
            bone = self._tip(joint)
        if bone is None:
            return before
        turn = _align(before, bone, sign * X)
        if part == "upper_arm":
            hinge = self._hinge(side, "upper_arm", "lower_arm", "hand")
            if hinge is not None:
                turn = _roll(turn, hinge, -sign * Y, sign * X)
        if part == "lower_arm":
            palm = self._palm(side)
            if palm is not None:
                turn = _roll(turn, palm, Z, sign * X)
        return turn

    def _leg(self, joint: int, side: str, part: str, before: NDArray) -> NDArray:
        bone = self._toward(joint, f"{side}_lower_leg" if part == "upper_leg" else f"{side}_foot")
        if bone is None:
            bone = self._tip(joint)
        if bone is None:
            return before
        # in a frame of a motion, thighs do not share the pelvis' turn
        turn = _align(before if self.at_rest or part == "lower_leg" else self.root_turn, bone, -Y)
        if part == "upper_leg":
            hinge = self._hinge(side, "upper_leg", "lower_leg", "foot")
            foot = self._foot_line(side)
            if hinge is not None:
                turn = _roll(turn, hinge, X, -Y)
            elif foot is not None:
                ahead = rotation.rotate(turn, foot) * [1.0, 0.0, 1.0]
                if np.linalg.norm(ahead) > 0.3 * np.linalg.norm(foot) and _angle(ahead, Z) > SETTINGS.foot_heading:
                    turn = _roll(turn, foot, Z, -Y)
        return turn

    def _foot(self, joint: int, side: str, before: NDArray) -> NDArray:
        """Return the rotation that makes a foot level.

        The foot keeps its rest orientation if it stood level there, else its orientation relative to the shank, else
        it gets the usual pitch of 25 degrees.
        """
        line = self._foot_line(side)
        if line is None:
            return before
        shank = self.roles.get(f"{side}_lower_leg")
        bone = (
            np.zeros(3)
            if shank is None
            else rotation.rotate(self.root_turn, self.positions[joint] - self.positions[shank])
        )
        # legs drawn far apart (as in CMU's BVH files) have feet perpendicular to the shank rather than level
        splayed = abs(np.arctan2(bone[0], -bone[1])) > SETTINGS.splayed
        candidates = [before, self.root_turn] if splayed else [self.root_turn, before]
        if f"{side}_foot" in self.evidence.slopes:
            return self._pitched(self.root_turn, line, self.evidence.slopes[f"{side}_foot"])
        for turn in candidates:
            pointing = unit(rotation.rotate(turn, line))
            # the line from ankle to ball slopes by 5 to 45 degrees in people, more in cartoon feet and high heels
            if -0.2 < -pointing[1] < 0.97:
                ahead = pointing * [1.0, 0.0, 1.0]
                if _angle(ahead, Z) > SETTINGS.foot_heading:
                    turn = rotation.multiply(rotation.between(ahead, Z), turn)
                return turn
        return _align(before, line, np.array([0.0, -np.sin(SETTINGS.foot_pitch), np.cos(SETTINGS.foot_pitch)]))

    def _pitched(self, turn: NDArray, line: NDArray, slope: float) -> NDArray:
        """Return the rotation that keeps a foot's heading and makes the line from ankle to ball slope by an angle."""
        ahead = rotation.rotate(turn, line) * [1.0, 0.0, 1.0]
        ahead = unit(ahead) if _angle(ahead, Z) < SETTINGS.foot_heading else Z
        return _align(turn, line, np.cos(slope) * ahead - np.sin(slope) * Y)

    def _foot_line(self, side: str) -> NDArray | None:
        """Return the vector from the ankle to the ball, or to the tip of a foot without toes; None without either."""
        foot = self.roles.get(f"{side}_foot")
        if foot is None:
            return None
        line = self._toward(foot, f"{side}_toes")
        return self._tip(foot) if line is None else line

    def _tip(self, joint: int) -> NDArray | None:
        """Return the vector from a joint to its end site or farthest child, or None if it has but a stub."""
        skeleton = self.skeleton
        below = [self.positions[child] - self.positions[joint] for child in skeleton.children[joint]]
        for number in np.flatnonzero(skeleton.end_parents == joint):
            below.append(rotation.rotate(self.rotations[joint], skeleton.end_offsets[number]))
        above = max(int(skeleton.parents[joint]), 0)
        least = SETTINGS.stub * float(np.linalg.norm(self.positions[joint] - self.positions[above]))
        below = [line for line in below if np.linalg.norm(line) > least]
        return max(below, key=lambda line: float(np.linalg.norm(line))) if below else None

    def _hinge(self, side: str, upper: str, middle: str, lower: str) -> NDArray | None:
        """Return the bend axis of an elbow or knee, from the motion or from a clear bend at rest, or None."""
        if f"{side}_{upper}" in self.evidence.hinges:
            return rotation.rotate(
                self.rotations[self.roles[f"{side}_{upper}"]], self.evidence.hinges[f"{side}_{upper}"]
            )
        joints = [self.roles.get(f"{side}_{part}") for part in (upper, middle, lower)]
        if None in joints:
            return None
        a, b, c = (self.positions[joint] for joint in joints)  # type: ignore[index]
        axis = np.cross(b - a, c - b)
        bend = np.arctan2(np.linalg.norm(axis), (b - a) @ (c - b))
        return axis if SETTINGS.clear_bend < bend < SETTINGS.folded else None

    def _palm(self, side: str) -> NDArray | None:
        """Return the vector across the palm, from the little to the index finger (or to the thumb), or None."""
        hand = self.roles.get(f"{side}_hand")
        first = self.roles.get(f"{side}_index")
        last = next(
            (self.roles.get(f"{side}_{f}") for f in ("little", "ring", "middle") if f"{side}_{f}" in self.roles), None
        )
        if first is not None and last is not None:
            line = self.positions[first] - self.positions[last]
        elif f"{side}_thumb" in self.roles and hand is not None:
            chain = self.roles.joints[f"{side}_thumb"]
            line = self.positions[chain[-1]] - self.positions[hand]
        else:
            return None
        return line if np.linalg.norm(line) > 0 else None


def _angle(a: NDArray, b: NDArray) -> float:
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))


def _yaw(line: NDArray) -> float:
    """Return the angle about y, radians, that brings a line above the x axis."""
    return float(np.arctan2(line[2], line[0]))


def _align(before: NDArray, line: NDArray, target: NDArray) -> NDArray:
    """Return `before` followed by the smallest rotation that maps a line of the starting pose onto a direction."""
    return rotation.multiply(rotation.between(rotation.rotate(before, line), target), before)


def _roll(turn: NDArray, line: NDArray, target: NDArray, axis: NDArray) -> NDArray:
    """Return `turn` followed by the rotation about an axis that brings a line closest to a direction."""
    line = rotation.rotate(turn, line)
    line = line - (line @ axis) * axis
    if np.linalg.norm(line) < 1e-9:
        return turn
    angle = np.arctan2(np.cross(line, target) @ axis, line @ target)
    return rotation.multiply(rotation.from_axis_angle(axis, angle), turn)
