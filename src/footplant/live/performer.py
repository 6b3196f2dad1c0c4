"""The performer behind a stream: a character with the proportions of its first poses, and its frames.

Calibration takes one pose: a T-pose or an N-pose (arms down), held still for a moment. Without it the protocol's own
T-pose is the rest pose, and proportions are taken from the first frames. A stream of the upper body alone (a camera, a
headset) is completed by the target's legs, which stand or sit still: the hips' rotation is then the spine's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from footplant import humanoid, rotation
from footplant.errors import HumanoidError, MotionError
from footplant.live.avatar import Avatar
from footplant.live.protocols.sample import BonePlan, PoseSample
from footplant.live.settings import CALIBRATION_POSE, STREAM
from footplant.skeleton import Character, Roles, Skeleton

BODIES = ("auto", "whole", "upper", "seated")
"""What of the performer drives the character: all of it, or what is above the hips, standing or sitting; auto: all of
it, or the upper body where no legs are sent."""
LEGS = tuple(f"{side}_{part}" for side in ("left", "right") for part in ("upper_leg", "lower_leg", "foot", "toes"))
"""Roles that an upper body lacks."""
ARMS_DOWN = np.radians(70.0)
"""Angle of arms that nobody sends below the horizontal."""


@dataclass(frozen=True, eq=False)
class StillLegs:
    """Hips and legs that do not move."""

    place: NDArray
    """(3,) metres: the hips."""
    facing: NDArray
    """(4,) rotation of the hips."""
    spine: int
    """Joint that takes the rotation of the performer's hips."""


@dataclass(frozen=True, eq=False)
class Performer:
    """A character built from a stream, and how its joints map to the stream's bones."""

    character: Character
    plan: BonePlan
    sensors: NDArray
    """(J,) bone of the plan for each joint."""
    rest_positions: NDArray
    """(N, 3) metres: positions of the bones in the rest pose, in the plan's space; zero for missing bones."""
    rest_rotations: NDArray
    """(N, 4) rotations of the bones in the rest pose."""
    pose: str
    """"T-pose" or "N-pose" if one was held at calibration, "assumed T-pose" otherwise."""
    followed: NDArray = field(default_factory=lambda: np.zeros(0, bool))
    """(N,) bones that the performer moves."""
    home_rotations: NDArray = field(default_factory=lambda: np.zeros((0, 4)))
    """(N, 4) rotations without data."""
    legs: StillLegs | None = None
    """None if the performer moves them."""

    def __post_init__(self) -> None:
        """Fill in what a whole performer has."""
        if not len(self.followed):
            followed = np.zeros(len(self.plan), bool)
            followed[self.sensors] = True
            object.__setattr__(self, "followed", followed)
        if not len(self.home_rotations):
            object.__setattr__(self, "home_rotations", self.rest_rotations)

    @cached_property
    def tracked(self) -> int:
        """Bone that tells whether there is data."""
        return int(np.flatnonzero(self.followed)[0])

    def frame(self, positions: NDArray, rotations: NDArray, out: NDArray) -> NDArray:
        """Return the root's position, (3,) metres; write the local rotations of the joints to `out` (J, 4)."""
        if self.plan.is_local:
            rotations.take(self.sensors, 0, out, "clip")
        else:
            from footplant.live._bones import local_from_world

            local_from_world(self.character.skeleton.parents, self.sensors, rotations, out)
        if self.legs is None:
            return positions[self.sensors[0]]
        turned = rotation.multiply(rotation.inverse(self.legs.facing), out[0])
        out[self.legs.spine] = rotation.normalize(rotation.multiply(turned, out[self.legs.spine]))
        out[0] = self.legs.facing
        return self.legs.place

    def differs(self, positions: NDArray, fresh: NDArray) -> bool:
        """Return whether bones (N, 3) that are fresh (N,) are of another body, or are bones that this one lacks."""
        from footplant.live._bones import other_lengths

        unknown, above, lengths = self._lengths
        if (fresh & unknown).any():
            return True
        if self.legs is not None and self.pose != FORCED and (fresh & ~self.followed).any():
            return True
        off, total, count = other_lengths(positions, fresh, self.sensors, above, self.followed, lengths)
        return count >= 6 and off > STREAM.other_lengths * total

    @cached_property
    def _lengths(self) -> tuple[NDArray, NDArray, NDArray]:
        """(N,) bones without a joint, (J,) the bone above each joint or −1, and (J,) metres: the joints' lengths."""
        unknown = np.ones(len(self.plan), bool)
        unknown[self.sensors] = False
        skeleton = self.character.skeleton
        above = np.where(self.plan.is_local | (skeleton.parents < 0), -1, self.sensors[skeleton.parents])
        return unknown, above, np.linalg.norm(skeleton.offsets, axis=1)


FORCED = "upper body, as asked"


def meet(
    samples: Sequence[PoseSample], name: str, target: Character, body: str = "auto", *, calibrated: bool = False
) -> Performer:
    """Build a performer from some frames; the error says why there is none yet.

    target: completes a stream of the upper body. body: one of `BODIES`. calibrated: whether a pose has to be held.
    """
    plan = samples[-1].plan
    samples = [sample for sample in samples if sample.plan.names == plan.names]
    legs = np.isin(np.arange(len(plan)), [plan.index[n] for role in LEGS for n in plan.roles.get(role, ())])
    seen = np.mean([sample.present for sample in samples], axis=0) > CALIBRATION_POSE.missing
    still = body in ("upper", "seated") or (body == "auto" and not seen[legs].any())
    if still:
        seen = seen & ~legs
    make = calibrate if calibrated else assume
    if not (still and plan.is_local and seen.any()):
        return make(samples, name)
    performer = make(_completed(plan, samples, seen, target), name)
    skeleton = performer.character.skeleton
    home = _home(plan, performer, seen, seated=body == "seated")
    places = skeleton.posed(home[performer.sensors])[0]
    hips = np.array([0.0, places[0, 1] - places[:, 1].min(), 0.0])
    spine = int(np.flatnonzero(performer.sensors == plan.index[plan.roles["spine"][0]])[0])
    facing = _facing(rotation.mean(np.stack([sample.rotations[0] for sample in samples])) if seen[0] else None)
    pose = FORCED if body != "auto" else "upper body"
    return replace(
        performer, followed=seen, home_rotations=home, legs=StillLegs(hips, facing, spine), pose=pose,
    )  # fmt: skip


def _completed(plan: BonePlan, samples: Sequence[PoseSample], seen: NDArray, target: Character) -> list[PoseSample]:
    """Return samples in which the required bones that are not seen are the target's, at the performer's size."""
    avatar = Avatar(target)
    skeleton, roles = target.skeleton, target.require_roles()
    avatar.pose(np.zeros(3), humanoid.reference_pose(skeleton, roles))
    template = {bone: row[:3] for bone, row in zip(avatar.names, avatar.local)}
    needed = [plan.index[names[0]] for role in REQUIRED if (names := plan.roles.get(role)) and names[0] in template]
    lacking = np.array([bone for bone in needed if not seen[bone]])
    common = [b for b in np.flatnonzero(seen) if b > 0 and plan.names[b] in template]
    ours = sum(np.linalg.norm(template[plan.names[b]]) for b in common)
    theirs = sum(np.linalg.norm(np.median([s.positions[b] for s in samples], axis=0)) for b in common)
    scale = theirs / ours if ours > 1e-6 and theirs > 1e-6 else 1.0
    found = []
    for sample in samples:
        positions, rotations, present = sample.positions.copy(), sample.rotations.copy(), sample.present & seen
        for bone in lacking:
            positions[bone] = scale * template[plan.names[bone]]
        rotations[lacking], present[lacking] = plan.t_pose[lacking], True
        found.append(sample._replace(positions=positions, rotations=rotations, present=present))
    return found


def _home(plan: BonePlan, performer: Performer, seen: NDArray, *, seated: bool) -> NDArray:
    """Return (N, 4) rotations without data: arms that nobody sends hang down, legs stand or sit."""
    home = np.array(performer.rest_rotations)
    turns = {f"{side}_upper_arm": ("z", sign * ARMS_DOWN) for side, sign in (("left", 1.0), ("right", -1.0))}
    if seated:
        for side in ("left", "right"):
            turns[f"{side}_upper_leg"] = ("x", np.pi / 2)
            turns[f"{side}_lower_leg"] = ("x", -np.pi / 2)
    for role, (axis, angle) in turns.items():
        bone = plan.index[plan.roles[role][0]]
        if not seen[bone]:
            home[bone] = rotation.from_axis_angle(rotation.AXES[axis], np.array(angle))
    return home


def _facing(hips: NDArray | None) -> NDArray:
    """Return the rotation about the vertical that faces as the hips do; T-poses face −z."""
    if hips is None:
        return np.array(rotation.IDENTITY)
    ahead = rotation.rotate(hips, np.array([0.0, 0.0, -1.0]))
    return rotation.from_axis_angle(rotation.AXES["y"], np.arctan2(-ahead[0], -ahead[2]))


def assume(samples: Sequence[PoseSample], name: str = "performer") -> Performer:
    """Build a performer from the protocol's T-pose and the lengths in some frames, without calibration."""
    return _make(samples, None, name, "assumed T-pose")


def calibrate(samples: Sequence[PoseSample], name: str = "performer") -> Performer:
    """Build a performer from frames of a T-pose or an N-pose held still; the error says what was seen instead."""
    performer = assume(samples, name)
    sensors = performer.sensors
    turns = np.stack([sample.rotations for sample in samples])
    center = rotation.mean(turns)
    swing = rotation.angle(center[sensors], turns[:, sensors]).max()
    roots = np.stack([sample.positions[sensors[0]] for sample in samples])
    drift = np.abs(roots - np.median(roots, axis=0)).max()
    if drift > CALIBRATION_POSE.still_metres or swing > CALIBRATION_POSE.still_radians:
        raise MotionError(
            f"expected a pose held still to calibrate with, got {1000 * drift:.0f} mm and {np.degrees(swing):.0f}° of "
            "movement"
        )
    skeleton = performer.character.skeleton
    local = np.empty((len(skeleton), 4))
    performer.frame(samples[0].positions, center, local)
    kind = _kind(skeleton.posed(local)[0], performer.character)
    return _make(samples, local, name, kind)


def noise_of(samples: Sequence[PoseSample], performer: Performer) -> NDArray:
    """Return the noise (N, 2) of the bones in frames of a performer who stands still: metres and radians per axis.

    Standard deviations from second differences, which slow motion does not change (their variance is six times the
    noise's); medians, so that one jump does not count.
    """
    bones = np.flatnonzero(performer.followed)
    places = np.stack([sample.positions[bones] for sample in samples])
    turns = np.stack([sample.rotations[bones] for sample in samples])
    center = rotation.mean(turns)
    vectors = rotation.log(rotation.multiply(rotation.inverse(center), turns))
    drift = np.ptp(places[:, 0], axis=0).max()
    swing = np.linalg.norm(vectors, axis=-1).max()
    if drift > CALIBRATION_POSE.still_metres or swing > CALIBRATION_POSE.still_radians:
        raise MotionError(
            f"expected a performer who stands still to measure noise with, got {1000 * drift:.0f} mm and "
            f"{np.degrees(swing):.0f}° of movement"
        )
    found = np.zeros((len(performer.plan), 2))
    for column, values in enumerate((places, vectors)):
        spread = np.median(np.abs(np.diff(values, 2, axis=0)), axis=(0, 2))
        # 0.6745: the median of the absolute value of a normal deviate
        found[bones, column] = spread / (0.6745 * np.sqrt(6.0))
    return found


def _kind(places: NDArray, character: Character) -> str:
    """Return which calibration pose the character is in; the error says why it is none."""
    roles = character.require_roles()
    hips = places[[roles["left_upper_leg"], roles["right_upper_leg"]]].mean(axis=0)
    shoulders = places[[roles["left_upper_arm"], roles["right_upper_arm"]]].mean(axis=0)
    trunk = (shoulders - hips) / np.linalg.norm(shoulders - hips)
    if trunk[1] < CALIBRATION_POSE.upright:
        raise MotionError(f"expected an upright performer to calibrate with, got a trunk {_tilt(trunk):.0f}° off")
    drops = []
    for side in ("left", "right"):
        arm = places[roles[f"{side}_hand"]] - places[roles[f"{side}_upper_arm"]]
        drops.append(-arm[1] / np.linalg.norm(arm))
    if max(np.abs(drops)) < np.sqrt(1.0 - CALIBRATION_POSE.sideways**2):
        return "T-pose"
    if min(drops) > CALIBRATION_POSE.downwards:
        return "N-pose"
    angles = ", ".join(f"{np.degrees(np.arcsin(np.clip(drop, -1, 1))):.0f}°" for drop in drops)
    raise MotionError(f"expected a T-pose (arms level) or an N-pose (arms down), got arms {angles} below the level")


def _tilt(direction: NDArray) -> float:
    return float(np.degrees(np.arccos(np.clip(direction[1], -1.0, 1.0))))


def _make(samples: Sequence[PoseSample], rest: NDArray | None, name: str, pose: str) -> Performer:
    """Build a character of the bones in most frames; rest: local rest rotations, or None for the plan's T-pose."""
    if not samples:
        raise MotionError("expected poses to make a performer from, got none")
    plan = samples[-1].plan
    samples = [sample for sample in samples if sample.plan is plan]
    bones = _seen_bones(plan, samples)
    number = {bone: joint for joint, bone in enumerate(bones)}
    parents = np.array([_above(plan, bone, number) for bone in bones])
    sensors = np.array(bones)
    t_pose = _local_t_pose(plan, sensors, parents)
    offsets = _offsets(plan, samples, sensors, parents, t_pose)
    skeleton = Skeleton(tuple(plan.names[b] for b in bones), parents, offsets, t_pose if rest is None else rest)
    character = humanoid.make_character(skeleton, _roles(skeleton, plan), name=name)
    positions, rotations = np.zeros((len(plan), 3)), np.array(plan.t_pose)
    places, world = skeleton.posed(skeleton.rest)
    rotations[sensors] = skeleton.rest if plan.is_local else world
    positions[sensors] = offsets if plan.is_local else places
    return Performer(character, plan, sensors, positions, rotations, pose)


REQUIRED = (
    "hips", "spine", *(f"{side}_{part}" for side in ("left", "right")
                       for part in ("upper_arm", "lower_arm", "hand", "upper_leg", "lower_leg", "foot")),
)  # fmt: skip
"""Roles that a performer needs."""


def _seen_bones(plan: BonePlan, samples: Sequence[PoseSample]) -> list[int]:
    """Return the bones that are present in enough of the samples; the first one has to be."""
    seen = np.mean([sample.present for sample in samples], axis=0)
    bones = [bone for bone in range(len(plan)) if seen[bone] > CALIBRATION_POSE.missing]
    if not bones or bones[0] != 0:
        raise MotionError(f"expected {plan.names[0]!r} in the stream, got {', '.join(plan.names[b] for b in bones)}")
    return bones


def _roles(skeleton: Skeleton, plan: BonePlan) -> Roles:
    """Return the roles of a performer's joints, as its protocol declares them."""
    declared = {
        role: chain for role, names in plan.roles.items() if (chain := tuple(n for n in names if n in skeleton.names))
    }
    try:
        roles = humanoid.find_roles(skeleton, declared=declared)
    except HumanoidError as error:
        raise MotionError(f"expected a human skeleton in the stream: {error}") from error
    lacking = [role for role in REQUIRED if role not in roles]
    if lacking:
        raise MotionError(f"expected a whole human skeleton in the stream, it lacks {', '.join(lacking)}")
    return roles


def _above(plan: BonePlan, bone: int, number: dict[int, int]) -> int:
    """Return the joint of the nearest existing bone above; the first joint for a bone without a parent."""
    above = int(plan.parents[bone])
    while above >= 0 and above not in number:
        above = int(plan.parents[above])
    return number[above] if above >= 0 else (-1 if bone == 0 else 0)


def _local_t_pose(plan: BonePlan, sensors: NDArray, parents: NDArray) -> NDArray:
    turns = np.array(plan.t_pose[sensors])
    if not plan.is_local:
        turns[1:] = rotation.multiply(rotation.inverse(plan.t_pose[sensors[parents[1:]]]), turns[1:])
    return rotation.normalize(turns)


def _offsets(
    plan: BonePlan, samples: Sequence[PoseSample], sensors: NDArray, parents: NDArray, t_pose: NDArray
) -> NDArray:
    """Return (J, 3) metres: medians over the frames of each joint's position in its parent's frame.

    The first is the position of the hips when the character stands on the floor in its T-pose.
    """
    rows = []
    for sample in samples:
        places, turns = sample.positions[sensors], sample.rotations[sensors]
        if not plan.is_local:
            moved = places[1:] - places[parents[1:]]
            places = np.concatenate([places[:1], rotation.rotate(rotation.inverse(turns[parents[1:]]), moved)])
        rows.append(np.where(sample.present[sensors, None], places, np.nan))
    with np.errstate(all="ignore"):
        offsets = np.nanmedian(np.stack(rows), axis=0)
    standing = Skeleton(tuple(map(str, range(len(sensors)))), parents, np.where([[1.0]], offsets, 0.0), t_pose)
    places = standing.rest_world[0]
    offsets[0] = [0.0, places[0, 1] - places[:, 1].min(), 0.0]
    return offsets
