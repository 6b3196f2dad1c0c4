"""Turning a standing figure into the reference pose, joint by joint from the root outwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.humanoid.posture import across, leg_cosines, trunk, unit
from footplant.skeleton import Roles, Skeleton

X, Y, Z = np.eye(3)
_CLEAR_BEND = np.radians(15.0)
"""An elbow or knee bent by more than this at rest shows the axis of its hinge."""
_UPRIGHT = np.radians(12.0)
"""A line from the first vertebra to the neck that is so near to the vertical belongs to an upright trunk."""


@dataclass(frozen=True)
class Seen:
    """What a motion shows of a figure whose rest pose is no pose."""

    hinges: Mapping[str, NDArray] = field(default_factory=dict)
    """Role of a thigh or upper arm → axis (3,) in its frame about which its knee or elbow bends."""
    slopes: Mapping[str, float] = field(default_factory=dict)
    """Role of a foot → radians by which the line from ankle to ball slopes down when it stands flat."""


class Alignment:
    """The world turn of every joint from a standing pose to the reference pose, found from the root outwards."""

    def __init__(self, skeleton: Skeleton, roles: Roles, places: NDArray, turned: NDArray, seen: Seen | None) -> None:
        """Take world positions (J, 3) and rotations (J, 4) of the pose to start from, and what a motion has shown.

        None: the pose is the rest pose, in which a figure stands as its maker thought of it.
        """
        self.at_rest, self.seen = seen is None, seen or Seen()
        self.skeleton, self.roles, self.places, self.turned = skeleton, roles, places, turned
        self.role_of = {chain[0]: role for role, chain in roles.joints.items()}
        self.figure = self._figure_turn()

    def turns(self) -> NDArray:
        """(J, 4) world turns."""
        out = np.empty((len(self.skeleton), 4))
        for joint, parent in enumerate(self.skeleton.parents.tolist()):
            before = self.figure if parent < 0 else out[parent]
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

    def _figure_turn(self) -> NDArray:
        """The turn of the whole figure that brings up to +y and left to +x."""
        pose = self.places[None]
        up, left = trunk(self.roles, pose)[0], across(self.roles, pose)[0]
        if leg_cosines(self.roles, pose)[0] > -0.3:
            up, left = self._pelvis_axes(up, left)
        axis = np.zeros(3)
        axis[np.argmax(np.abs(up))] = np.sign(up[np.argmax(np.abs(up))])
        if up @ axis > np.cos(np.radians(30.0)):
            up = axis
        left = left - (left @ up) * up
        if not np.linalg.norm(left) > 1e-9:
            left = np.cross(up, Z) if abs(up @ Z) < 0.9 else np.cross(up, X)
        left = unit(left)
        return rotation.inverse(rotation.from_matrix(np.stack([left, up, np.cross(left, up)], axis=1)))

    def _pelvis_axes(self, up: NDArray, left: NDArray) -> tuple[NDArray, NDArray]:
        """Up and left from what is rigid in the pelvis, where the rest pose is no pose."""
        hips = [self.places[self.roles[r]] for r in ("left_upper_leg", "right_upper_leg") if r in self.roles]
        spine = self.roles.get("spine")
        if len(hips) == 2 and np.linalg.norm(hips[0] - hips[1]) > 0:
            left = unit(hips[0] - hips[1])
        if hips and spine is not None and np.linalg.norm(self.places[spine] - np.mean(hips, axis=0)) > 0:
            up = unit(self.places[spine] - np.mean(hips, axis=0))
        return unit(up - (up @ left) * left), left

    def _toward(self, joint: int, *roles: str) -> NDArray | None:
        """From a joint to the first of some roles that exists and is not at the same place."""
        for role in roles:
            other = self.roles.get(role)
            if other is not None and np.linalg.norm(self.places[other] - self.places[joint]) > 0:
                return self.places[other] - self.places[joint]
        return None

    def _middle(self, joint: int, role: str, before: NDArray) -> NDArray:
        if role == "spine":
            # who stands upright at rest does so: rigs differ by degrees in where in the body their vertebrae are
            chord = self._toward(joint, "neck", "head")
            if chord is None or (self.at_rest and _angle(rotation.rotate(before, chord), Y) < _UPRIGHT):
                return before
            return _align(before, chord, Y)
        column = (
            self.roles.joints.get("spine", ()) + self.roles.joints.get("neck", ()) + self.roles.joints.get("head", ())
        )
        if joint in column[:-1]:
            bone = self.places[column[column.index(joint) + 1]] - self.places[joint]
            if np.linalg.norm(bone) > 0 and _angle(rotation.rotate(before, bone), Y) > np.radians(40.0):
                return _align(before, bone, Y)
        return before

    def _arm(self, joint: int, side: str, part: str, sign: float, before: NDArray) -> NDArray:
        following = {
            "clavicle": ("upper_arm",), "upper_arm": ("lower_arm",), "lower_arm": ("hand",),
            "hand": ("middle", "index", "ring", "little"),
        }[part]  # fmt: skip
        bone = self._toward(joint, *(f"{side}_{name}" for name in following))
        if part == "clavicle":
            if bone is None or _angle(rotation.rotate(before, bone), sign * X) < np.radians(60.0):
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
        turn = _align(before, bone, -Y)
        if part == "upper_leg":
            hinge = self._hinge(side, "upper_leg", "lower_leg", "foot")
            foot = self._foot_line(side)
            if hinge is not None:
                turn = _roll(turn, hinge, X, -Y)
            elif foot is not None:
                ahead = rotation.rotate(turn, foot) * [1.0, 0.0, 1.0]
                if np.linalg.norm(ahead) > 0.3 * np.linalg.norm(foot) and _angle(ahead, Z) > np.radians(35.0):
                    turn = _roll(turn, foot, Z, -Y)
        return turn

    def _foot(self, joint: int, side: str, before: NDArray) -> NDArray:
        """Level: as it stood at rest if it stood, else with its shank, else pitched like a usual foot."""
        line = self._foot_line(side)
        if line is None:
            return before
        shank = self.roles.get(f"{side}_lower_leg")
        bone = np.zeros(3) if shank is None else rotation.rotate(self.figure, self.places[joint] - self.places[shank])
        # legs drawn far apart (as in CMU's BVH files) have feet that are square to them and not level
        splayed = abs(np.arctan2(bone[0], -bone[1])) > np.radians(12.0)
        candidates = [before, self.figure] if splayed else [self.figure, before]
        if f"{side}_foot" in self.seen.slopes:
            return self._pitched(self.figure, line, self.seen.slopes[f"{side}_foot"])
        for turn in candidates:
            pointing = unit(rotation.rotate(turn, line))
            # ankle to ball slopes down by 5 to 45 degrees in people; cartoon feet and high heels slope more
            if -0.2 < -pointing[1] < 0.97:
                ahead = pointing * [1.0, 0.0, 1.0]
                if _angle(ahead, Z) > np.radians(35.0):
                    turn = rotation.multiply(rotation.between(ahead, Z), turn)
                return turn
        return _align(before, line, np.array([0.0, -np.sin(np.radians(25.0)), np.cos(np.radians(25.0))]))

    def _pitched(self, turn: NDArray, line: NDArray, slope: float) -> NDArray:
        """A foot heading as it does, with the line from ankle to ball sloping down by an angle."""
        ahead = rotation.rotate(turn, line) * [1.0, 0.0, 1.0]
        ahead = unit(ahead) if _angle(ahead, Z) < np.radians(35.0) else Z
        return _align(turn, line, np.cos(slope) * ahead - np.sin(slope) * Y)

    def _foot_line(self, side: str) -> NDArray | None:
        """From the ankle to the ball, or to the tip of a foot without toes."""
        foot = self.roles.get(f"{side}_foot")
        if foot is None:
            return None
        line = self._toward(foot, f"{side}_toes")
        return self._tip(foot) if line is None else line

    def _tip(self, joint: int) -> NDArray | None:
        """From a joint to its end site or, without, to the farthest joint below it."""
        skeleton = self.skeleton
        below = [self.places[child] - self.places[joint] for child in skeleton.children[joint]]
        for number in np.flatnonzero(skeleton.end_parents == joint):
            below.append(rotation.rotate(self.turned[joint], skeleton.end_offsets[number]))
        below = [line for line in below if np.linalg.norm(line) > 0]
        return max(below, key=lambda line: float(np.linalg.norm(line))) if below else None

    def _hinge(self, side: str, upper: str, middle: str, lower: str) -> NDArray | None:
        """The axis about which an elbow or knee bends, known or seen in a clear bend at rest, or None."""
        if f"{side}_{upper}" in self.seen.hinges:
            return rotation.rotate(self.turned[self.roles[f"{side}_{upper}"]], self.seen.hinges[f"{side}_{upper}"])
        joints = [self.roles.get(f"{side}_{part}") for part in (upper, middle, lower)]
        if None in joints:
            return None
        a, b, c = (self.places[joint] for joint in joints)  # type: ignore[index]
        axis = np.cross(b - a, c - b)
        bend = np.arctan2(np.linalg.norm(axis), (b - a) @ (c - b))
        return axis if _CLEAR_BEND < bend < np.radians(150.0) else None

    def _palm(self, side: str) -> NDArray | None:
        """From the little to the index finger (or to the thumb), across the palm."""
        hand = self.roles.get(f"{side}_hand")
        first = self.roles.get(f"{side}_index")
        last = next(
            (self.roles.get(f"{side}_{f}") for f in ("little", "ring", "middle") if f"{side}_{f}" in self.roles), None
        )
        if first is not None and last is not None:
            line = self.places[first] - self.places[last]
        elif f"{side}_thumb" in self.roles and hand is not None:
            chain = self.roles.joints[f"{side}_thumb"]
            line = self.places[chain[-1]] - self.places[hand]
        else:
            return None
        return line if np.linalg.norm(line) > 0 else None


def _angle(a: NDArray, b: NDArray) -> float:
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))


def _align(before: NDArray, line: NDArray, target: NDArray) -> NDArray:
    """The least further turn that brings a line of the starting pose onto a target direction."""
    return rotation.multiply(rotation.between(rotation.rotate(before, line), target), before)


def _roll(turn: NDArray, line: NDArray, target: NDArray, axis: NDArray) -> NDArray:
    """A further turn about an axis that brings a line as near to a target as that can."""
    line = rotation.rotate(turn, line)
    line = line - (line @ axis) * axis
    if np.linalg.norm(line) < 1e-9:
        return turn
    angle = np.arctan2(np.cross(line, target) @ axis, line @ target)
    return rotation.multiply(rotation.from_axis_angle(axis, angle), turn)
