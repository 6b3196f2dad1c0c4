"""A source and its result side by side: the same frames, the same heading, both on a body of 1.7 m.

Lengths that are compared between two characters are meaningless in metres of either: both are scaled so that leg and
trunk together are 0.85 of 1.7 m (Drillis and Contini). Their bones tell the size, so that it means the same for a
capture without a mesh and for a character with a big head.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import MotionError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character, Roles

SIDES = ("left", "right")
FINGERS = ("thumb", "index", "middle", "ring", "little")
LIMB_JOINTS = ("upper_arm", "lower_arm", "hand", "upper_leg", "lower_leg", "foot", "toes")
JOINTS = ("hips", "head", *(f"{side}_{part}" for side in SIDES for part in LIMB_JOINTS))
"""Roles whose positions are compared."""
TURNING = ("head", *(f"{side}_{part}" for side in SIDES for part in ("foot", "toes", "hand", *FINGERS)))
"""Roles whose rotations are compared."""
NEEDED = ("hips", "head", *(f"{side}_{part}" for side in SIDES for part in ("upper_leg", "foot")))
"""Roles without which size and heading are unknown."""
BODY = 1.7
"""Metres; the height to which both bodies are scaled."""
SHARE_OF_HEIGHT = 0.85
"""Leg and trunk up to the head joint, as a share of the height (Drillis and Contini)."""
PALM = 0.055
"""Share of the height from the wrist to the middle of the palm."""
LEAD_IN_STEP, LEAD_IN_RATIO = 0.08, 5.0
"""A lead-in (a T-pose before the motion) ends in a jump: a joint moves by this share of the height in one frame, and by
that many times the 99th percentile of the rest of the clip."""
SQUARE = np.radians(5.0)
"""Headings that differ by a multiple of 90° to within this differ by it exactly: worlds differ by whole axes."""


@dataclass(frozen=True, eq=False)
class MotionPair:
    """A source and its result in the same frames, scaled to a body of 1.7 m, with the source's heading."""

    fps: float
    """Frames per second."""
    first: int
    """Frame of the source with which the comparison begins: the lead-in is left out."""
    result_first: int
    """The same frame's number in the result."""
    source: dict[str, NDArray]
    """Role → positions (F, 3), metres."""
    result: dict[str, NDArray]
    """Role → positions (F, 3), metres."""
    source_turns: dict[str, NDArray]
    """Role → world rotations (F, 4)."""
    result_turns: dict[str, NDArray]
    """Role → world rotations (F, 4)."""
    source_palms: dict[str, NDArray]
    """Side → middle of the palm (F, 3), metres; empty without arms."""
    result_palms: dict[str, NDArray]
    """Side → middle of the palm (F, 3), metres."""
    scale: float
    """Factor from the result's own metres to a body of 1.7 m."""

    @property
    def frames(self) -> int:
        """Return the number of frames that are compared."""
        return len(self.source["hips"])

    @property
    def dt(self) -> float:
        """Return the seconds from a frame to the next."""
        return 1.0 / self.fps

    def both(self, *roles: str) -> bool:
        """Return whether source and result have all these joints."""
        return all(role in self.source and role in self.result for role in roles)

    @cached_property
    def still(self) -> dict[str, list[tuple[int, int]]]:
        """Role → (start, end) of the intervals in which a foot, toe or hand joint of the source is still."""
        from footplant.quality.stances import still_intervals

        roles = [f"{side}_{part}" for side in SIDES for part in ("foot", "toes", "hand")]
        roles = [role for role in roles if role in self.source]
        return dict(zip(roles, still_intervals(np.stack([self.source[role] for role in roles], axis=1), self.fps)))

    @property
    def stances(self) -> list[tuple[str, int, int]]:
        """Return (role, start, end) of all still intervals of feet and toes that the result has too."""
        return [
            (role, start, end)
            for role, intervals in self.still.items()
            if not role.endswith("hand") and role in self.result
            for start, end in intervals
        ]

    @cached_property
    def palm_distances(self) -> dict[str, dict[str, NDArray]]:
        """Side → part of the body → distance (F,) of the source's palm from it: see `hands.palm_distances`."""
        from footplant.quality.hands import palm_distances

        return palm_distances(self)


def motion_pair(
    source: tuple[Motion, Character], result: tuple[Motion, Character], *, lead_in: int | None = None
) -> MotionPair | None:
    """Return a source and its result side by side; None if one is no humanoid or fewer than eight frames are shared.

    lead_in: frames of the source before its motion; None finds them. A result of another frame rate is resampled; one
    that lacks exactly the lead-in is compared from its first frame.
    """
    (motion, character), (ours, figure) = source, result
    if any(role not in (roles or ()) for roles in (character.roles, figure.roles) for role in NEEDED):
        return None
    if not np.isclose(motion.fps, ours.fps, rtol=1e-6):
        ours = ours.resample(motion.fps)
    theirs, mine = Kinematics(motion), Kinematics(ours)
    if not np.isfinite(mine.positions).all():
        raise MotionError("expected joints at finite positions, got NaN or infinity")
    size, our_size = bone_height(theirs, character), bone_height(mine, figure)
    first = lead_in_frames(theirs, size) if lead_in is None else lead_in
    begin = 0 if first and len(ours) == len(motion) - first else first
    frames = min(len(motion) - first, len(ours) - begin)
    if frames < 8 or min(size, our_size) <= 0.0:
        return None
    shown, our_shown = slice(first, first + frames), slice(begin, begin + frames)
    positions = _positions(theirs, character.require_roles(), shown, BODY / size)
    our_positions = _positions(mine, figure.require_roles(), our_shown, BODY / our_size)
    turn = _heading(positions, our_positions)
    if turn is not None:
        our_positions = {role: rotation.rotate(turn, place) for role, place in our_positions.items()}
    source_turns, result_turns = (
        {role: kinematics.rotations[part, roles[role]] for role in TURNING if role in roles}
        for kinematics, roles, part in ((theirs, character.roles, shown), (mine, figure.roles, our_shown))
        if roles is not None
    )
    if turn is not None:
        result_turns = {role: rotation.multiply(turn, turns) for role, turns in result_turns.items()}
    return MotionPair(
        motion.fps, first, begin, positions, our_positions, source_turns, result_turns,
        *_palms(positions, our_positions), scale=BODY / our_size,
    )  # fmt: skip


def bone_height(kinematics: Kinematics, character: Character) -> float:
    """Return the height that the bones of legs and trunk suggest, metres."""
    roles = character.require_roles()
    legs = [_chain_length(kinematics, roles[f"{side}_foot"], roles[f"{side}_upper_leg"]) for side in SIDES]
    return (0.5 * sum(legs) + _chain_length(kinematics, roles["head"], roles["hips"])) / SHARE_OF_HEIGHT


def _chain_length(kinematics: Kinematics, joint: int, ancestor: int) -> float:
    """Return the length of the bones from a joint up to an ancestor, metres; the straight line if it is none."""
    motion = kinematics.motion
    parents, total, at = motion.skeleton.parents, 0.0, joint
    while at != ancestor:
        if parents[at] < 0:
            apart = kinematics.positions[:, joint] - kinematics.positions[:, ancestor]
            return float(np.median(np.linalg.norm(apart, axis=1)))
        bones = motion.skeleton.offsets[None] if motion.offsets is None else motion.offsets
        total += float(np.median(np.linalg.norm(bones[:, at], axis=1)))
        at = int(parents[at])
    return total


def lead_in_frames(kinematics: Kinematics, height: float) -> int:
    """Return the number of frames at the start that end in a jump, 0 if there is none: see `LEAD_IN_STEP`."""
    steps = _largest_steps(kinematics.positions)
    if len(kinematics.motion.skeleton.end_parents):
        steps = np.maximum(steps, _largest_steps(kinematics.ends))
    steps = steps / height
    first = min(len(steps) // 2, max(2, round(kinematics.motion.fps)))
    if first < 1 or steps[:first].max() <= LEAD_IN_STEP:
        return 0
    usual = np.percentile(steps[first:], 99.0) if len(steps) > first else 0.0
    jumps = np.flatnonzero(steps[:first] > max(LEAD_IN_STEP, LEAD_IN_RATIO * usual))
    return int(jumps[-1]) + 1 if len(jumps) else 0


def _largest_steps(positions: NDArray) -> NDArray:
    """Return the largest displacement (F−1,) of any point from a frame to the next."""
    steps = positions[1:] - positions[:-1]
    return np.sqrt(np.einsum("fpk,fpk->fp", steps, steps).max(axis=1)) if len(steps) else np.zeros(0)


def _positions(kinematics: Kinematics, roles: Roles, frames: slice, scale: float) -> dict[str, NDArray]:
    """Return role → positions (F, 3) of the joints that are compared, fingers included, scaled."""
    wanted = [role for role in (*JOINTS, *(f"{s}_{finger}" for s in SIDES for finger in FINGERS)) if role in roles]
    places = kinematics.positions[frames, [roles[role] for role in wanted]] * scale
    return {role: places[:, number] for number, role in enumerate(wanted)}


def _heading(source: dict[str, NDArray], result: dict[str, NDArray]) -> NDArray | None:
    """Return the rotation (4,) about y from the result's heading to the source's; None if they are the same."""
    across = (places["left_upper_leg"] - places["right_upper_leg"] for places in (source, result))
    theirs, ours = (vectors[:, 0] + 1j * vectors[:, 2] for vectors in across)
    yaw = float(np.angle((theirs * ours.conj()).sum()))
    square = float(np.round(yaw / (np.pi / 2.0)) * (np.pi / 2.0))
    yaw = square if abs(yaw - square) < SQUARE else yaw
    # x + iz turned by +yaw is a rotation by −yaw about y
    return None if yaw == 0.0 else np.array([np.cos(-0.5 * yaw), 0.0, np.sin(-0.5 * yaw), 0.0])


def _palms(source: dict[str, NDArray], result: dict[str, NDArray]) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
    """Return side → middle of the palm (F, 3) of both: towards a finger that all four hands have, or on from the arm.

    Both have the same kind of palm, or a hand without fingers would seem to bend otherwise.
    """
    arms = [f"{side}_{part}" for side in SIDES for part in ("hand", "lower_arm")]
    if not all(role in places for role in arms for places in (source, result)):
        return {}, {}
    fingers = (
        finger
        for finger in ("middle", "index", "ring")
        if all(f"{side}_{finger}" in places for side in SIDES for places in (source, result))
    )
    finger = next(fingers, None)

    def palm(places: dict[str, NDArray], side: str) -> NDArray:
        wrist = places[f"{side}_hand"]
        along = wrist - places[f"{side}_lower_arm"] if finger is None else places[f"{side}_{finger}"] - wrist
        return wrist + PALM * BODY * unit(along)

    return {side: palm(source, side) for side in SIDES}, {side: palm(result, side) for side in SIDES}


def unit(vectors: NDArray) -> NDArray:
    """Return vectors (…, 3) at length 1; zero vectors stay zero."""
    length = np.sqrt(np.einsum("...k,...k->...", vectors, vectors))
    return vectors / np.maximum(length, 1e-12)[..., None]


def angles_between(first: NDArray, second: NDArray) -> NDArray:
    """Return the angles (…,) between vectors (…, 3), degrees; exact for small angles too."""
    a, b = unit(first), unit(second)
    return np.degrees(2.0 * np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1)))


def turn_angles(quaternions: NDArray) -> NDArray:
    """Return the angles (…,) of rotations (…, 4), degrees, 0 to 180."""
    axis = np.sqrt(np.einsum("...k,...k->...", quaternions[..., 1:], quaternions[..., 1:]))
    return np.degrees(2.0 * np.arctan2(axis, np.abs(quaternions[..., 0])))


def mean_rotation(quaternions: NDArray) -> NDArray:
    """Return the rotation (4,) nearest to all rotations (N, 4) (Markley et al. 2007)."""
    return np.linalg.eigh(quaternions.T @ quaternions)[1][:, -1]


def quantile(values: NDArray, share: float) -> float:
    """Return a quantile of values (N,) as `np.quantile` does, which takes longer on few values."""
    place = share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    ordered = np.partition(values, (below, above))
    return float(ordered[below] + (place - below) * (ordered[above] - ordered[below]))
