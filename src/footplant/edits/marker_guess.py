"""Which marker sits on which segment, when labels do not tell: from a pose that people stand in to be calibrated.

The mannequin stands in the same pose, as tall as the markers are high, turned to where most markers are near to its
bones; every marker belongs to the bone that it is nearest to. Feet point forward, which tells front from back.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.edits.marker_body import MarkerBody
from footplant.edits.marker_sets import Stuck
from footplant.errors import MotionError
from footplant.markers import Markers
from footplant.skeleton import Character

TURNS = 72
"""Sides from which the body is tried."""
HEAD_ROOM = 0.03
"""Share of the height that the highest marker is below or above the crown, give or take."""
SEGMENTS = (
    "hips", "chest", "head", *(f"{side}_{part}" for side in ("left", "right") for part in
    ("clavicle", "upper_arm", "lower_arm", "hand", "upper_leg", "lower_leg", "foot"))
)  # fmt: skip


def guess(markers: Markers, character: Character, frame: int) -> list[Stuck]:
    """Markers on segments, from a frame in which a person stands in a T-pose or with hanging arms."""
    from footplant.samples import load_character

    if not -len(markers) <= frame < len(markers):
        raise MotionError(f"expected a frame in 0..{len(markers) - 1}, got {frame}")
    places = markers.positions[frame]
    seen = np.flatnonzero(~np.isnan(places[:, 0]))
    if len(seen) < 12:
        raise MotionError(f"expected a pose with 12 or more markers at frame {frame}, got {len(seen)}")
    places = places[seen]
    body = MarkerBody.of(load_character("mannequin"), ())
    size = float(np.ptp(places[:, 1])) * (1.0 + HEAD_ROOM) / body.base.height
    stand = places - _middle(places)
    best = np.inf
    for pose in (body.reference, body.neutral):
        posed = body.base.skeleton.posed(pose)
        bones = _bones(body, *posed)
        for angle in np.linspace(0.0, 2.0 * np.pi, TURNS, endpoint=False):
            here = rotation.rotate(rotation.from_axis_angle([0.0, 1.0, 0.0], -angle), stand) / size
            apart = np.stack([_distance(here, *ends) for ends in bones], axis=1)
            cost = float(np.sum(np.minimum(apart.min(axis=1), 0.3) ** 2))
            if cost < best:
                best, gaps, local, (joints, turned) = cost, apart, here, posed
    roles = body.base.require_roles()
    rest = body.base.skeleton.posed(body.reference)[0]
    found = []
    for number, row, nearest in zip(seen, local, gaps.argmin(axis=1), strict=True):
        role = SEGMENTS[int(nearest)]
        joint = roles.joints["spine"][-1] if role == "chest" else roles.get(role)
        assert joint is not None
        # back into the T-pose, in which places are told
        turn = rotation.multiply(body.frames[joint], rotation.inverse(turned[joint]))
        place = rest[joint] + rotation.rotate(turn, row - joints[joint])
        x, y, z = (float(value) for value in place)
        found.append(Stuck(int(number), role, None, place=(x, y, z)))
    return found


def _middle(places: NDArray) -> NDArray:
    """The middle of the body over the floor."""
    return np.array([np.median(places[:, 0]), places[:, 1].min(), np.median(places[:, 2])])


def _bones(body: MarkerBody, joints: NDArray, turned: NDArray) -> list[tuple[NDArray, NDArray]]:
    """Each segment as a line, in the order of `SEGMENTS`."""
    roles, skeleton = body.base.require_roles(), body.base.skeleton
    tips = {int(joint): joints[joint] + rotation.rotate(turned[joint], offset)
            for joint, offset in zip(skeleton.end_parents, skeleton.end_offsets, strict=True)}  # fmt: skip
    place = {role: joints[joint] for role in roles.joints if (joint := roles.get(role)) is not None}
    spine = [joints[joint] for joint in roles.joints["spine"]]
    lines = {"hips": (place["hips"], spine[0]), "chest": (spine[-1], place["neck"])}
    lines["head"] = (place["head"], tips[int(roles["head"])])
    for side in ("left", "right"):
        chain = ("clavicle", "upper_arm", "lower_arm", "hand")
        for first, second in pairwise(chain):
            lines[f"{side}_{first}"] = (place[f"{side}_{first}"], place[f"{side}_{second}"])
        lines[f"{side}_hand"] = (place[f"{side}_hand"], tips[int(roles[f"{side}_hand"])])
        for first, second in (("upper_leg", "lower_leg"), ("lower_leg", "foot"), ("foot", "toes")):
            lines[f"{side}_{first}"] = (place[f"{side}_{first}"], place[f"{side}_{second}"])
    return [lines[role] for role in SEGMENTS]


def _distance(points: NDArray, first: NDArray, second: NDArray) -> NDArray:
    """(N,) how far points are from a line between two places."""
    along = second - first
    share = np.clip((points - first) @ along / max(float(along @ along), 1e-12), 0.0, 1.0)
    return np.linalg.norm(points - first - share[:, None] * along, axis=1)
