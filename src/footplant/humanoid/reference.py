"""The reference pose: the same T-pose for every character, so that rotations of different skeletons compare.

Whatever a file's rest pose is (T, A, arms down, or all bones along one axis), the reference pose is the same. Two
characters are compared by the rotation of a joint away from it in world axes, W · G⁻¹, with G the joint's world
rotation in the reference pose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.checks import shaped
from footplant.errors import SkeletonError
from footplant.humanoid.alignment import Alignment, MotionEvidence
from footplant.humanoid.cache import CACHE_SIZE, RolesKey, SkeletonKey
from footplant.humanoid.names import read_all
from footplant.humanoid.posture import standing_score, trunk, unit
from footplant.skeleton import Roles, Skeleton


@dataclass(frozen=True)
class ReferenceSettings:
    """Thresholds for finding the reference pose from a motion.

    No experiment is on record for these numbers; the rigs of the tests check them.
    """

    standing_score: float = 0.3
    """Smallest `posture.standing_score` at which a rest pose is used as it is; larger prefers the motion."""
    most_frames: int = 400
    """About how many frames of a motion are looked at."""
    ankle_drop: float = 0.06
    """Height of an ankle above its lowest position, over the leg's extent, at which a frame's weight falls to 1/e."""
    bent: float = np.radians(20.0)
    """Smallest bend of a knee or elbow, radians, from which its hinge axis is read."""
    agreement: float = 0.9
    """Length of the mean hinge axis over the mean length, 0 to 1, above which the axis is consistent."""
    fewest_frames: int = 5
    """Fewest bent or flat frames for an estimate."""
    flat_percentile: float = 30.0
    """Percentile of ankle and ball height below which a foot is flat."""
    always_percentile: float = 10.0
    """Percentile of the bend of toes over a clip's frames that they have all the time: a lead-in pose is no more."""
    bent_toes: float = np.radians(20.0)
    """Smallest bend of toes, radians, that is taken for straight if they have it all the time. Of 55 clips four are
    beyond (63°, 42°, 29°, 25°); soles of the first are tilted by 31° against the floor of a retarget if it is left in,
    and by 0.7° if not. With 8°, no figure of twelve pairs differs by more than 0.3° or 1 mm."""
    t_pose: float = np.radians(30.0)
    """Largest angle, radians, of an upper arm, forearm, thigh or shank from the reference pose in a pose that counts as
    a T-pose. Of 43 clips with frames before the motion, those of 42 are within 20°, and one stands with arms down
    (92°)."""
    slopes: tuple[float, float] = (np.radians(-5.0), np.radians(55.0))
    """Range of plausible slopes from ankle to ball, radians."""


SETTINGS = ReferenceSettings()
_CACHE: WeakKeyDictionary[Skeleton, tuple[Roles, NDArray, NDArray, NDArray]] = WeakKeyDictionary()
"""The last reference pose of each skeleton: its roles, local rotations, world positions and world rotations. Every step
of an edit needs it."""


def reference_pose(skeleton: Skeleton, roles: Roles) -> NDArray:
    """Return local rotations (J, 4) that put a character into the reference pose.

    In it the character faces +z with its left side towards +x; the trunk is as upright as at rest if that is within
    12° of the vertical, else the line from the first vertebra to the neck is vertical; upper arms, forearms and hands
    lie exactly along ±x, palms down as far as fingers tell; thighs and shanks hang exactly along −y; elbows bend about
    ∓y and knees about +x, where a clear bend at rest, else the foot, shows the hinge axis; feet are level, pitched as
    at rest and pointing within 35° of +z. Hips, neck, head and clavicles keep their tilt at rest unless it is more
    than 40°, and joints without a role stay fixed to their parents.

    If the rest pose is not a standing pose (all bones along one axis), `with_reference` finds the reference pose from
    a motion; without one, only bone directions are used.
    """
    return np.array(_cached(skeleton, roles)[1])


def reference_world(skeleton: Skeleton, roles: Roles) -> tuple[NDArray, NDArray]:
    """Return world positions (J, 3), metres, and world rotations (J, 4) of a character in the reference pose."""
    _, _, positions, world_rotations = _cached(skeleton, roles)
    return np.array(positions), np.array(world_rotations)


def _cached(skeleton: Skeleton, roles: Roles) -> tuple[Roles, NDArray, NDArray, NDArray]:
    cached = _CACHE.get(skeleton)
    if cached is None or cached[0] is not roles:
        roles.require_fit(skeleton)
        pose = roles.reference
        if pose is None:
            pose = _straighten(Alignment(skeleton, roles, *skeleton.posed(skeleton.rest), None))
        cached = _CACHE[skeleton] = (roles, pose, *skeleton.posed(pose))
    return cached


def with_reference(skeleton: Skeleton, roles: Roles, rotations: ArrayLike, offsets: ArrayLike | None = None) -> Roles:
    """Return the roles with the reference pose found from a motion, if the rest pose is not a standing pose.

    rotations: (F, J, 4) local rotations of some frames, y up; the frame with the best standing score is aligned.
    offsets: (F, J, 3), metres, if bones move: thighs that hang on the spine, as in 3ds Max's Biped, move with the
    pelvis, and only where they are in that frame is the line of the hips.
    """
    roles.require_fit(skeleton)
    frames = shaped(rotations, ("F", len(skeleton), 4), "rotations", SkeletonError)
    bones = None if offsets is None else shaped(offsets, (len(frames), len(skeleton), 3), "offsets", SkeletonError)
    step = max(1, len(frames) // SETTINGS.most_frames)
    frames, bones = frames[::step], None if bones is None else bones[::step]
    rest = _rest_standing_score(SkeletonKey(skeleton), RolesKey(roles))
    if rest >= SETTINGS.standing_score or len(frames) == 0:
        return roles
    positions, world_rotations = skeleton.posed(frames, bones)
    scores = (
        standing_score(roles, positions)
        * np.clip(trunk(roles, positions)[:, 1], 0.1, 1.0)
        * _heels_down(roles, positions)
    )
    best = int(np.argmax(scores))
    if scores[best] <= rest:
        return roles
    evidence = MotionEvidence(_hinges(roles, positions, world_rotations), _slopes(roles, positions))
    aligned = Alignment(skeleton, roles, positions[best], world_rotations[best], evidence)
    return replace(roles, reference=_straighten(aligned))


def with_straight_toes(skeleton: Skeleton, roles: Roles, rotations: ArrayLike) -> tuple[Roles, tuple[str, ...]]:
    """Return the roles, toes that a motion bends all the time straight in the reference pose, and the names of these.

    rotations: (F, J, 4) local rotations of some frames, y up. Captures of toes by one marker may be off by 70°. What
    nine of ten frames have is taken for straight, but not on tiptoe, where it is the foot that is raised.
    """
    roles.require_fit(skeleton)
    frames = shaped(rotations, ("F", len(skeleton), 4), "rotations", SkeletonError)
    frames = frames[:: max(1, len(frames) // SETTINGS.most_frames)]
    pose, found = reference_pose(skeleton, roles), []
    upright = reference_world(skeleton, roles)[1]
    for side in ("left", "right"):
        foot, toes = roles.get(f"{side}_foot"), roles.get(f"{side}_toes")
        if foot is None or toes is None or len(frames) < SETTINGS.fewest_frames:
            continue
        bends = rotation.log(rotation.multiply(rotation.inverse(pose[toes]), frames[:, toes]))
        middle = np.median(bends, axis=0)
        axis = middle / max(float(np.linalg.norm(middle)), 1e-9)
        least = float(np.percentile(bends @ axis, SETTINGS.always_percentile))
        if least < SETTINGS.bent_toes:
            continue
        world = skeleton.posed(frames)[1]
        # how upright foot and toes are, 1 as in the reference pose
        foot_upright, toes_upright = (
            np.median(
                rotation.rotate(rotation.multiply(world[:, j], rotation.inverse(upright[j])), rotation.AXES["y"])[:, 1]
            )
            for j in (foot, toes)
        )
        if toes_upright < foot_upright:
            pose[toes] = rotation.multiply(pose[toes], rotation.exp(least * axis))
            found.append(skeleton.names[toes])
    return (replace(roles, reference=pose) if found else roles), tuple(found)


def with_head_of_t_pose(skeleton: Skeleton, roles: Roles, rotations: ArrayLike) -> tuple[Roles, float]:
    """Return the roles, the head in the reference pose as a T-pose holds it, and the angle between both, radians.

    rotations: (J, 4) local rotations of a pose, y up; a pose that is no T-pose changes nothing. In a T-pose the head
    looks ahead. In a rest pose that is made of straight bones it need not: in that of CMU's captures as BVH files, it
    bows by 16°.
    """
    roles.require_fit(skeleton)
    pose = shaped(rotations, (len(skeleton), 4), "rotations", SkeletonError)
    head, hips = roles.get("head"), [roles.get(f"{side}_upper_leg") for side in ("left", "right")]
    if head is None or None in hips:
        return roles, 0.0
    upright, (places, turns) = reference_world(skeleton, roles), skeleton.posed(pose)
    across = (places[hips[0]] - places[hips[1]]) * [1.0, 0.0, 1.0]
    back = rotation.between(across, rotation.AXES["x"])
    for side in ("left", "right"):
        for parts in (("upper_arm", "lower_arm", "hand"), ("upper_leg", "lower_leg", "foot")):
            joints = [joint for part in parts if (joint := roles.get(f"{side}_{part}")) is not None]
            for above, below in pairwise(joints):
                bone, straight = (p[below] - p[above] for p in (places, upright[0]))
                if (
                    np.linalg.norm(rotation.log(rotation.between(rotation.rotate(back, bone), straight)))
                    > SETTINGS.t_pose
                ):
                    return roles, 0.0
    ahead = rotation.multiply(back, turns[head])
    turned = float(rotation.angle(ahead, upright[1][head]))
    reference = reference_pose(skeleton, roles)
    reference[head] = rotation.multiply(rotation.inverse(upright[1][skeleton.parents[head]]), ahead)
    return replace(roles, reference=reference), turned


@lru_cache(maxsize=CACHE_SIZE)
def _rest_standing_score(skeleton: SkeletonKey, roles: RolesKey) -> float:
    """Return the standing score of the rest pose."""
    return float(standing_score(roles.roles, skeleton.skeleton.rest_world[0][None])[0])


def _heels_down(roles: Roles, positions: NDArray) -> NDArray:
    """Return a weight (F,) near 1 where both ankles are lowest, so that feet are flat, down to 0.1 elsewhere."""
    down = np.ones(len(positions))
    root = positions[:, roles["hips"]]
    for role in ("left_foot", "right_foot"):
        if role in roles:
            below = root[:, 1] - positions[:, roles[role], 1]
            far = max(float(np.percentile(below, 99)), 1e-12)
            down *= 0.1 + 0.9 * np.exp(-(((far - below) / (SETTINGS.ankle_drop * far)) ** 2))
    return down


def _hinges(roles: Roles, positions: NDArray, world_rotations: NDArray) -> dict[str, NDArray]:
    """Return consistent bend axes of knees and elbows in a motion, each in the frame of the upper bone."""
    found = {}
    for side in ("left", "right"):
        for parts in (("upper_leg", "lower_leg", "foot"), ("upper_arm", "lower_arm", "hand")):
            joints = [roles.get(f"{side}_{part}") for part in parts]
            if None in joints:
                continue
            a, b, c = (positions[:, joint] for joint in joints)  # type: ignore[index]
            axes = np.cross(unit(b - a), unit(c - b))
            bent = np.linalg.norm(axes, axis=1) > np.sin(SETTINGS.bent)
            local = rotation.rotate(rotation.inverse(world_rotations[bent, joints[0]]), axes[bent])
            mean = local.sum(axis=0)
            if (
                bent.sum() >= SETTINGS.fewest_frames
                and np.linalg.norm(mean) > SETTINGS.agreement * np.linalg.norm(local, axis=1).sum()
            ):
                found[f"{side}_{parts[0]}"] = unit(mean)
    return found


def _slopes(roles: Roles, positions: NDArray) -> dict[str, float]:
    """Return each foot's slope from ankle to ball, radians, in frames where both are lowest, so that it is flat."""
    found = {}
    for side in ("left", "right"):
        foot, toes = roles.get(f"{side}_foot"), roles.get(f"{side}_toes")
        if foot is None or toes is None:
            continue
        ankle, ball = positions[:, foot, 1], positions[:, toes, 1]
        flat = (ankle <= np.percentile(ankle, SETTINGS.flat_percentile)) & (
            ball <= np.percentile(ball, SETTINGS.flat_percentile)
        )
        line = unit(positions[:, toes] - positions[:, foot])
        slope = float(np.median(np.arcsin(np.clip(-line[flat, 1], -1.0, 1.0)))) if flat.any() else 0.0
        if flat.sum() >= SETTINGS.fewest_frames and SETTINGS.slopes[0] < slope < SETTINGS.slopes[1]:
            found[f"{side}_foot"] = slope
    return found


def _straighten(start: Alignment) -> NDArray:
    """Return local rotations (J, 4) of the reference pose, starting from an approximately standing pose."""
    world, parents = rotation.multiply(start.turns(), start.rotations), start.skeleton.parents[1:]
    local = np.array(world)
    local[1:] = rotation.multiply(rotation.inverse(world[parents]), world[1:])
    return rotation.normalize(local)


def mirror_map(skeleton: Skeleton, roles: Roles) -> tuple[NDArray, NDArray]:
    """Return what mirroring a motion needs: (J,) partners of the joints, (J, 4) their reference world rotations.

    Partners are the same role of the other side; joints without a role are matched by name, then by position in the
    reference pose (among children of partners only), else they are their own partners.
    """
    roles.require_fit(skeleton)
    positions, world = reference_world(skeleton, roles)
    partner = np.full(len(skeleton), -1)
    for role, chain in roles.joints.items():
        side, _, part = role.partition("_")
        other = {"left": "right", "right": "left"}.get(side)
        mirrored = chain if other is None else roles.joints.get(f"{other}_{part}", ())
        if len(mirrored) == len(chain):
            partner[list(chain)] = mirrored
    readings = read_all(skeleton.names)
    by_key = {(reading.key, reading.side): joint for joint, reading in enumerate(readings)}
    height = float(np.ptp(positions, axis=0).max())
    for joint in range(len(skeleton)):
        if partner[joint] >= 0:
            continue
        above = int(skeleton.parents[joint])
        across = 0 if above < 0 else int(partner[above])
        reading = readings[joint]
        other = {"left": "right", "right": "left"}.get(reading.side or "")
        named = by_key.get((reading.key, other)) if other else None
        if named is not None and partner[named] in (-1, joint) and named != joint:
            partner[joint], partner[named] = named, joint
            continue
        wanted = positions[joint] * [-1.0, 1.0, 1.0] + positions[0] * [2.0, 0.0, 0.0]
        free = [other for other in skeleton.children[across] if partner[other] < 0] if above >= 0 else []
        nearest = min(free, key=lambda other: float(np.linalg.norm(positions[other] - wanted)), default=joint)
        close = float(np.linalg.norm(positions[nearest] - wanted)) < 0.03 * height
        partner[joint] = nearest if close else joint
        if close:
            partner[nearest] = joint
    return partner, world
