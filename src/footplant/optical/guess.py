"""Assign unlabelled markers to segments from a frame in which the person stands in a known pose.

The mannequin is put into the same pose, scaled to the height of the markers and rotated to where most markers are near
landmarks; every marker belongs to the segment of its nearest landmark.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import MotionError
from footplant.markers import Markers
from footplant.optical.body import MarkerBody
from footplant.optical.marker_sets import LANDMARKS, MIDDLE, MarkerPlacement
from footplant.optical.settings import GUESS
from footplant.skeleton import Character

SPOTS = tuple(
    (segment if segment in ("hips", "chest", "head") else f"{word}_{segment}", name, side)
    for name, segment in ((name, landmark.segment) for name, landmark in LANDMARKS.items() if landmark.spread < 0.1)
    for word, side in (("left", 1.0), ("right", -1.0))
    if side > 0.0 or name not in MIDDLE
)
"""(role, landmark, side) of all landmarks."""


def guess(markers: Markers, character: Character, frame: int) -> list[MarkerPlacement]:
    """Place markers on segments, from a frame in which a person stands in a T-pose or with hanging arms."""
    from footplant.samples import load_character

    if not -len(markers) <= frame < len(markers):
        raise MotionError(f"expected a frame in 0..{len(markers) - 1}, got {frame}")
    places = markers.positions[frame]
    seen = np.flatnonzero(~np.isnan(places[:, 0]))
    if len(seen) < GUESS.fewest:
        raise MotionError(f"expected a pose with {GUESS.fewest} or more markers at frame {frame}, got {len(seen)}")
    places = places[seen]
    body = MarkerBody.of(load_character("mannequin"), ())
    size = float(np.ptp(places[:, 1])) * (1.0 + GUESS.head_room) / body.base.height
    stand = places - _middle(places) + [0.0, GUESS.lowest * size, 0.0]
    best, spreads = np.inf, np.array([LANDMARKS[name].spread for _, name, _ in SPOTS])
    for pose in (body.reference, body.neutral):
        posed = body.base.skeleton.posed(pose)
        spots = _spots(body, *posed)
        for angle in np.linspace(0.0, 2.0 * np.pi, GUESS.turns, endpoint=False):
            here = rotation.rotate(rotation.from_axis_angle([0.0, 1.0, 0.0], -angle), stand) / size
            apart = np.linalg.norm(here[:, None] - spots, axis=-1) - GUESS.slack * spreads
            cost = float(np.sum(np.minimum(apart.min(axis=1), 0.3) ** 2))
            if cost < best:
                best, gaps, local, (joints, turned), landmarks = cost, apart, here, posed, spots
    # the markers' centre is not quite the body's: shift to the nearest landmarks (ICP, Besl & McKay 1992)
    for _ in range(GUESS.settle):
        local = local + np.median(landmarks[gaps.argmin(axis=1)] - local, axis=0) * [1.0, 0.0, 1.0]
        gaps = np.linalg.norm(local[:, None] - landmarks, axis=-1) - GUESS.slack * spreads
    roles = body.base.require_roles()
    rest = body.base.skeleton.posed(body.reference)[0]
    found = []
    for number, row, nearest in zip(seen, local, gaps.argmin(axis=1), strict=True):
        role = SPOTS[int(nearest)][0]
        joint = roles.joints["spine"][-1] if role == "chest" else roles.get(role)
        assert joint is not None
        # back into the T-pose, in which placements are given
        turn = rotation.multiply(body.frames[joint], rotation.inverse(turned[joint]))
        place = rest[joint] + rotation.rotate(turn, row - joints[joint])
        x, y, z = (float(value) for value in place)
        found.append(MarkerPlacement(int(number), role, None, place=(x, y, z)))
    return found


def _middle(places: NDArray) -> NDArray:
    """Return the body's centre over the floor, at the height of the lowest marker."""
    return np.array([np.median(places[:, 0]), places[:, 1].min(), np.median(places[:, 2])])


def _spots(body: MarkerBody, joints: NDArray, turned: NDArray) -> NDArray:
    """Return (S, 3) positions of `SPOTS` on the posed mannequin."""
    rest, roles = body.base.skeleton.posed(body.reference)[0], body.base.require_roles()
    out = []
    for role, name, side in SPOTS:
        joint = roles.joints["spine"][-1] if role == "chest" else roles[role]
        turn = rotation.multiply(turned[joint], rotation.inverse(body.frames[joint]))
        place = np.array(LANDMARKS[name].place) * [side, 1.0, 1.0]
        out.append(joints[joint] + rotation.rotate(turn, place - rest[joint]))
    return np.array(out)
