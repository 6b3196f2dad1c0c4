"""The reference pose: one T-pose for all figures, so that rotations of different skeletons can be compared.

However a file's rest pose stands (T, A, arms down, or no pose at all), the reference pose stands the same. What is
comparable between two figures is how far a joint has turned from it in world axes: W · G⁻¹, with G the joint's world
rotation in the reference pose.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.humanoid.alignment import Alignment, Seen
from footplant.humanoid.cache import FIGURES, RolesKey, SkeletonKey
from footplant.humanoid.names import read_all
from footplant.humanoid.posture import stance, trunk, unit
from footplant.skeleton import Roles, Skeleton

_GOOD_STANCE = 0.3
"""A rest pose whose stance (see `posture.stance`) is below this is not taken as a pose."""
_MOST_FRAMES = 400
_KNOWN: WeakKeyDictionary[Skeleton, tuple[Roles, NDArray, NDArray, NDArray]] = WeakKeyDictionary()
"""The last reference pose of each skeleton, after the roles it is for: local rotations, world places and world
rotations. Every step of an edit asks for it."""


def reference_pose(skeleton: Skeleton, roles: Roles) -> NDArray:
    """Local rotations (J, 4) that put a figure into the reference pose.

    What holds in it: the figure faces +z with its left side towards +x; the trunk is as upright as at rest, within 12°
    of the vertical, or else the line from the first vertebra to the neck is vertical; upper arms and forearms lie
    exactly along ±x, hands too, palms down as far as fingers tell; thighs and shanks hang exactly along −y; elbows bend
    about ∓y and knees about +x, where a clear bend at rest, else the foot, tells the hinge; feet are level, pitched as
    at rest and pointing within 35° of +z. Hips, neck, head and collar bones keep their natural tilt at rest unless it
    is more than 40°, and joints without a role keep their place on their parents.

    Where the rest pose is no pose (all bones along one axis), `with_reference` lets a motion tell; without one, what
    the lengths can tell has to do.
    """
    return np.array(_known(skeleton, roles)[1])


def reference_world(skeleton: Skeleton, roles: Roles) -> tuple[NDArray, NDArray]:
    """World places (J, 3), metres, and world rotations (J, 4) of a figure in the reference pose."""
    _, _, places, turned = _known(skeleton, roles)
    return np.array(places), np.array(turned)


def _known(skeleton: Skeleton, roles: Roles) -> tuple[Roles, NDArray, NDArray, NDArray]:
    known = _KNOWN.get(skeleton)
    if known is None or known[0] is not roles:
        pose = roles.reference
        if pose is None:
            pose = _straighten(skeleton, roles, skeleton.rest)
        known = _KNOWN[skeleton] = (roles, pose, *skeleton.posed(pose))
    return known


def with_reference(skeleton: Skeleton, roles: Roles, rotations: ArrayLike) -> Roles:
    """The roles with the reference pose found from a motion, if the rest pose stands too badly to tell it.

    rotations: (F, J, 4) local rotations of some frames, y up; the frame that stands best is straightened.
    """
    frames = np.asarray(rotations, float)
    frames = frames[:: max(1, len(frames) // _MOST_FRAMES)]
    rest = _rest_stance(SkeletonKey(skeleton), RolesKey(roles))
    if rest >= _GOOD_STANCE or len(frames) == 0:
        return roles
    places, turned = skeleton.posed(frames)
    scores = stance(roles, places) * np.clip(trunk(roles, places)[:, 1], 0.1, 1.0) * _heels_down(roles, places)
    best = int(np.argmax(scores))
    if scores[best] <= rest:
        return roles
    seen = Seen(_hinges(roles, places, turned), _slopes(roles, places))
    return replace(roles, reference=_straighten(skeleton, roles, frames[best], seen))


@lru_cache(maxsize=FIGURES)
def _rest_stance(skeleton: SkeletonKey, roles: RolesKey) -> float:
    """How well the rest pose stands."""
    return float(stance(roles.roles, skeleton.skeleton.rest_world[0][None])[0])


def _heels_down(roles: Roles, places: NDArray) -> NDArray:
    """(F,) near 1 where both feet stand whole, which is where their ankles are lowest, down to 0.1 elsewhere."""
    down = np.ones(len(places))
    root = places[:, roles["hips"]]
    for role in ("left_foot", "right_foot"):
        if role in roles:
            below = root[:, 1] - places[:, roles[role], 1]
            far = max(float(np.percentile(below, 99)), 1e-12)
            down *= 0.1 + 0.9 * np.exp(-(((far - below) / (0.06 * far)) ** 2))
    return down


def _hinges(roles: Roles, places: NDArray, turned: NDArray) -> dict[str, NDArray]:
    """Axes about which knees and elbows bend in a motion, each in the frame of the bone above, where they agree."""
    found = {}
    for side in ("left", "right"):
        for parts in (("upper_leg", "lower_leg", "foot"), ("upper_arm", "lower_arm", "hand")):
            joints = [roles.get(f"{side}_{part}") for part in parts]
            if None in joints:
                continue
            a, b, c = (places[:, joint] for joint in joints)  # type: ignore[index]
            axes = np.cross(unit(b - a), unit(c - b))
            bent = np.linalg.norm(axes, axis=1) > np.sin(np.radians(20.0))
            local = rotation.rotate(rotation.inverse(turned[bent, joints[0]]), axes[bent])
            mean = local.sum(axis=0)
            if bent.sum() >= 5 and np.linalg.norm(mean) > 0.9 * np.linalg.norm(local, axis=1).sum():
                found[f"{side}_{parts[0]}"] = unit(mean)
    return found


def _slopes(roles: Roles, places: NDArray) -> dict[str, float]:
    """How each foot slopes from ankle to ball in the frames where both are lowest: there it stands flat."""
    found = {}
    for side in ("left", "right"):
        foot, toes = roles.get(f"{side}_foot"), roles.get(f"{side}_toes")
        if foot is None or toes is None:
            continue
        ankle, ball = places[:, foot, 1], places[:, toes, 1]
        flat = (ankle <= np.percentile(ankle, 30)) & (ball <= np.percentile(ball, 30))
        line = unit(places[:, toes] - places[:, foot])
        slope = float(np.median(np.arcsin(np.clip(-line[flat, 1], -1.0, 1.0)))) if flat.any() else 0.0
        if flat.sum() >= 5 and np.radians(-5.0) < slope < np.radians(55.0):
            found[f"{side}_foot"] = slope
    return found


def _straighten(skeleton: Skeleton, roles: Roles, start: NDArray, seen: Seen | None = None) -> NDArray:
    """Local rotations (J, 4) of the reference pose, from a pose that stands somehow."""
    places, turned = skeleton.posed(start)
    world = rotation.multiply(Alignment(skeleton, roles, places, turned, seen).turns(), turned)
    local = np.array(world)
    local[1:] = rotation.multiply(rotation.inverse(world[skeleton.parents[1:]]), world[1:])
    return rotation.normalize(local)


def mirror_map(skeleton: Skeleton, roles: Roles) -> tuple[NDArray, NDArray]:
    """What a left–right mirror of a motion needs: (J,) partners of the joints, (J, 4) their reference world rotations.

    Partners are the same role of the other side; joints without a role go by name, then by place in the reference pose
    (below partners only), else they are their own.
    """
    places, world = reference_world(skeleton, roles)
    partner = np.full(len(skeleton), -1)
    for role, chain in roles.joints.items():
        side, _, part = role.partition("_")
        other = {"left": "right", "right": "left"}.get(side)
        mirrored = chain if other is None else roles.joints.get(f"{other}_{part}", ())
        if len(mirrored) == len(chain):
            partner[list(chain)] = mirrored
    readings = read_all(skeleton.names)
    by_key = {(reading.key, reading.side): joint for joint, reading in enumerate(readings)}
    height = float(np.ptp(places, axis=0).max())
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
        wanted = places[joint] * [-1.0, 1.0, 1.0] + places[0] * [2.0, 0.0, 0.0]
        free = [other for other in skeleton.children[across] if partner[other] < 0] if above >= 0 else []
        nearest = min(free, key=lambda other: float(np.linalg.norm(places[other] - wanted)), default=joint)
        close = float(np.linalg.norm(places[nearest] - wanted)) < 0.03 * height
        partner[joint] = nearest if close else joint
        if close:
            partner[nearest] = joint
    return partner, world
