"""A source and its result side by side: the same frames, the same heading, both on a body of 1.7 m.

Lengths that are compared between two characters are meaningless in metres of either: both are scaled so that leg and
trunk together are 0.85 of 1.7 m (Drillis and Contini). Their bones tell the size, so that it means the same for a
capture without a mesh and for a character with a big head.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.checks import whole_number
from footplant.errors import MotionError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.quality.still_joints import still_intervals
from footplant.skeleton import Character, Roles

if TYPE_CHECKING:
    from footplant.quality._posture import Comparison

SIDES = ("left", "right")
FINGERS = ("thumb", "index", "middle", "ring", "little")
LIMB_JOINTS = ("upper_arm", "lower_arm", "hand", "upper_leg", "lower_leg", "foot", "toes")
JOINTS = ("hips", "head", *(f"{side}_{part}" for side in SIDES for part in LIMB_JOINTS))
"""Roles whose positions are compared; `_posture` relies on their order."""
COLUMNS = {role: column for column, role in enumerate(JOINTS)}
"""Role → its column in the positions."""
NEEDED = ("hips", "head", *(f"{side}_{part}" for side in SIDES for part in ("upper_leg", "foot")))
"""Roles without which size and heading are unknown."""
BODY = 1.7
"""Metres; the height to which both bodies are scaled."""
SHARE_OF_HEIGHT = 0.85
"""Leg and trunk up to the head joint, as a share of the height (Drillis and Contini)."""
PALM = 0.055
"""Share of the height from the wrist to the middle of the palm."""
TRUNK, FLANK, HEAD, THIGH = 0.075, 0.065, 0.05, 0.045
"""Radii of the capsules that stand in for the source's body, which has no skin, as shares of the height: means of
published proportions (Drillis and Contini; NASA-STD-3000). Good to about 30 mm."""
SKULL = 0.02, 0.07
"""Start and end of the skull above the head joint, shares of the height."""
FEWEST_FRAMES = 8
"""Fewer frames are not compared."""
LEAD_IN_STEP, LEAD_IN_RATIO = 0.08, 5.0
"""A lead-in (a T-pose before the motion) ends in a jump: a joint moves by this share of the height in one frame, and by
that many times the 99th percentile of the rest of the clip."""
SQUARE = np.radians(5.0)
"""Headings that differ by a multiple of 90° to within this differ by it exactly: worlds differ by whole axes."""


@dataclass(frozen=True, eq=False)
class ScaledMotion:
    """One motion of a pair, scaled and turned."""

    roles: Roles
    places: NDArray
    """(F, 18, 3) metres: the joints of `JOINTS`, and the finger of each hand that shows the palm's direction. NaN where
    there is no such joint."""
    turns: NDArray
    """(F, J, 4) world rotations of all joints."""
    scale: float
    """Factor from its own metres to a body of 1.7 m."""

    def __contains__(self, role: str) -> bool:
        """Return whether the body has that joint."""
        return role in self.roles

    def __getitem__(self, role: str) -> NDArray:
        """Return the positions (F, 3) of a joint, metres."""
        return self.places[:, COLUMNS[role]]

    def rotations(self, role: str) -> NDArray:
        """Return the world rotations (F, 4) of a joint."""
        return self.turns[:, self.roles[role]]


@dataclass(frozen=True, eq=False)
class MotionPair:
    """A source and its result in the same frames, scaled to a body of 1.7 m, with the source's heading."""

    fps: float
    """Frames per second."""
    first: int
    """Frame of the source with which the comparison begins: the lead-in is left out."""
    result_first: int
    """The same frame's number in the result."""
    source: ScaledMotion
    result: ScaledMotion
    fingers: bool
    """Whether all four hands have the finger that shows the palm's direction; else palms follow the forearms."""

    @property
    def frames(self) -> int:
        """Return the number of frames that are compared."""
        return len(self.source.places)

    def both(self, *roles: str) -> bool:
        """Return whether source and result have all these joints."""
        return all(role in self.source and role in self.result for role in roles)

    @cached_property
    def still(self) -> dict[str, list[tuple[int, int]]]:
        """Role → (start, end) of the intervals in which a foot, toe or hand joint of the source is still."""
        roles = [f"{side}_{part}" for side in SIDES for part in ("foot", "toes", "hand")]
        roles = [role for role in roles if role in self.source]
        found = still_intervals(self.source.places, [COLUMNS[role] for role in roles], self.fps)
        return dict(zip(roles, found))

    @cached_property
    def stances(self) -> list[tuple[str, int, int]]:
        """(role, start, end) of all still intervals of feet and toes that the result has too."""
        return [
            (role, start, end)
            for role, intervals in self.still.items()
            if not role.endswith("hand") and role in self.result
            for start, end in intervals
        ]

    @cached_property
    def compared(self) -> Comparison:
        """Figures of every frame: limb directions, bends, distances of the hands."""
        from footplant.quality import _posture as kernel

        frames = self.frames
        shapes = ((2, 4), (2, 2, 2), (2, 2), (2,), (2, 2), (2, 4))
        out = kernel.Comparison(*(np.empty((frames, *shape)) for shape in shapes))
        radii = np.array([TRUNK, FLANK, HEAD, THIGH, *SKULL]) * BODY
        ways, palms = np.empty((2, 3)), np.empty((2, 3))
        kernel.compare_frames(
            self.source.places, self.result.places, self.fingers, PALM * BODY, radii, ways, palms, out
        )  # fmt: skip
        return out


def motion_pair(
    source: tuple[Motion, Character], result: tuple[Motion, Character], *, lead_in: int | None = None
) -> MotionPair | None:
    """Return a source and its result side by side; None if one is no humanoid or fewer than eight frames are shared.

    lead_in: frames of the source before its motion; None finds them. Both have the same frame rate; a result that lacks
    exactly the lead-in is compared from its first frame.
    """
    (motion, character), (ours, figure) = source, result
    for own, owner in (source, result):
        owner.require_fit(own.skeleton)
    if lead_in is not None:
        whole_number(lead_in, "frames of a lead-in", MotionError, low=0)
    roles, our_roles = character.roles, figure.roles
    if roles is None or our_roles is None or any(role not in each for each in (roles, our_roles) for role in NEEDED):
        return None
    theirs, mine = Kinematics(motion), Kinematics(ours)
    size, our_size = bone_height(theirs, character), bone_height(mine, figure)
    if min(size, our_size) <= 0.0:
        return None
    first = lead_in_frames(theirs, size) if lead_in is None else lead_in
    begin = 0 if first and len(ours) == len(motion) - first else first
    frames = min(len(motion) - first, len(ours) - begin)
    if frames < FEWEST_FRAMES:
        return None
    fingers = [finger for finger in ("middle", "index", "ring")
               if all(f"{side}_{finger}" in each for side in SIDES for each in (roles, our_roles))]  # fmt: skip
    finger = fingers[0] if fingers else None
    parts = (theirs, roles, first, BODY / size), (mine, our_roles, begin, BODY / our_size)
    places, our_places = (_positions(k, r, slice(at, at + frames), scale, finger) for k, r, at, scale in parts)
    our_turns = mine.rotations[begin : begin + frames]
    turn = _heading(places, our_places)
    if turn is not None:
        our_places, our_turns = rotation.rotate(turn, our_places), rotation.multiply(turn, our_turns)
        our_turns.setflags(write=False)
    return MotionPair(
        motion.fps, first, begin,
        ScaledMotion(roles, places, theirs.rotations[first : first + frames], BODY / size),
        ScaledMotion(our_roles, our_places, our_turns, BODY / our_size),
        finger is not None,
    )  # fmt: skip


def bone_height(kinematics: Kinematics, character: Character) -> float:
    """Return the height that the bones of legs and trunk suggest, metres."""
    roles, motion = character.require_roles(), kinematics.motion
    character.require_fit(motion.skeleton)
    bones = motion.skeleton.offsets if motion.offsets is None else motion.offsets
    lengths = np.sqrt(np.einsum("...k,...k->...", bones, bones))
    lengths = (lengths if lengths.ndim == 1 else np.median(lengths, axis=0)).tolist()
    legs = [_chain_length(kinematics, lengths, roles[f"{side}_foot"], roles[f"{side}_upper_leg"]) for side in SIDES]
    return (0.5 * sum(legs) + _chain_length(kinematics, lengths, roles["head"], roles["hips"])) / SHARE_OF_HEIGHT


def _chain_length(kinematics: Kinematics, lengths: list[float], joint: int, ancestor: int) -> float:
    """Return the length of the bones from a joint up to an ancestor, metres; the straight line if it is none."""
    parents, total, at = kinematics.motion.skeleton.parents, 0.0, joint
    while at != ancestor:
        if parents[at] < 0:
            apart = kinematics.positions[:, joint] - kinematics.positions[:, ancestor]
            return float(np.median(np.linalg.norm(apart, axis=1)))
        total += lengths[at]
        at = int(parents[at])
    return total


def lead_in_frames(kinematics: Kinematics, height: float) -> int:
    """Return the number of frames at the start that end in a jump, 0 if there is none: see `LEAD_IN_STEP`."""
    count = len(kinematics.motion) - 1
    first = min(count // 2, max(2, round(kinematics.motion.fps)))
    if first < 1:
        return 0
    steps = _largest_steps(kinematics[: first + 1]) / height
    if steps.max() <= LEAD_IN_STEP:
        return 0
    later = _largest_steps(kinematics[first:]) / height
    usual = np.percentile(later, 99.0) if len(later) else 0.0
    jumps = np.flatnonzero(steps > max(LEAD_IN_STEP, LEAD_IN_RATIO * usual))
    return int(jumps[-1]) + 1 if len(jumps) else 0


def _largest_steps(kinematics: Kinematics) -> NDArray:
    """Return the largest displacement (F−1,) of any joint or end site from a frame to the next, metres."""
    largest = np.zeros(len(kinematics.motion) - 1)
    for places in (kinematics.positions, kinematics.ends):
        if places.shape[1]:
            steps = places[1:] - places[:-1]
            largest = np.maximum(largest, np.sqrt(np.einsum("fpk,fpk->fp", steps, steps).max(axis=1)))
    return largest


def _positions(kinematics: Kinematics, roles: Roles, frames: slice, scale: float, finger: str | None) -> NDArray:
    """Return positions (F, 18, 3) of the joints that are compared, and of a finger of each hand, scaled."""
    joints = [roles.get(role) for role in JOINTS]
    joints += [roles.get(f"{side}_{finger}") if finger else None for side in SIDES]
    places = kinematics.positions[frames].take([joint or 0 for joint in joints], axis=1)
    places *= scale
    missing = [column for column, joint in enumerate(joints) if joint is None]
    if not np.isfinite(places).all():
        raise MotionError("expected joints at finite positions, got NaN or infinity")
    places[:, missing] = np.nan
    return places


def _heading(source: NDArray, result: NDArray) -> NDArray | None:
    """Return the rotation (4,) about y from the result's heading to the source's; None if they are the same."""
    left, right = COLUMNS["left_upper_leg"], COLUMNS["right_upper_leg"]
    theirs, ours = (p[:, left, 0] - p[:, right, 0] + 1j * (p[:, left, 2] - p[:, right, 2]) for p in (source, result))
    yaw = float(np.angle(np.vdot(ours, theirs)))
    square = float(np.round(yaw / (np.pi / 2.0)) * (np.pi / 2.0))
    yaw = square if abs(yaw - square) < SQUARE else yaw
    # x + iz turned by +yaw is a rotation by −yaw about y
    return None if yaw == 0.0 else np.array([np.cos(-0.5 * yaw), 0.0, np.sin(-0.5 * yaw), 0.0])


def turn_angles(quaternions: NDArray) -> NDArray:
    """Return the angles (…,) of rotations (…, 4), degrees, 0 to 180."""
    axis = np.sqrt(np.einsum("...k,...k->...", quaternions[..., 1:], quaternions[..., 1:]))
    return np.degrees(2.0 * np.arctan2(axis, np.abs(quaternions[..., 0])))
