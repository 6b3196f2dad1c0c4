"""Which marker sits on which segment, when labels do not tell: from a pose that people stand in to be calibrated.

The mannequin stands in the same pose, as tall as the markers are high, turned to where most markers are near to places
that markers are stuck on; every marker belongs to the segment of the place that it is nearest to.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import MotionError
from footplant.markers import Markers
from footplant.optical.body import MarkerBody
from footplant.optical.marker_sets import LANDMARKS, MIDDLE, Stuck
from footplant.skeleton import Character

TURNS = 72
"""Sides from which the body is tried."""
HEAD_ROOM = 0.03
"""Share of the height that the highest marker is below or above the crown, give or take."""
LOWEST = 0.02
"""Metres over the floor of the lowest marker on the mannequin."""
SETTLE = 4
"""How often the body is shifted to where its markers are."""
SLACK = 0.2
"""Share of a landmark's spread that a marker may be off for nothing."""
SPOTS = tuple(
    (segment if segment in ("hips", "chest", "head") else f"{word}_{segment}", name, side)
    for name, segment in ((name, landmark.segment) for name, landmark in LANDMARKS.items() if landmark.spread < 0.1)
    for word, side in (("left", 1.0), ("right", -1.0))
    if side > 0.0 or name not in MIDDLE
)
"""(role, landmark, side) of all places that markers are stuck on."""


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
    stand = places - _middle(places) + [0.0, LOWEST * size, 0.0]
    best, spreads = np.inf, np.array([LANDMARKS[name].spread for _, name, _ in SPOTS])
    for pose in (body.reference, body.neutral):
        posed = body.base.skeleton.posed(pose)
        spots = _spots(body, *posed)
        for angle in np.linspace(0.0, 2.0 * np.pi, TURNS, endpoint=False):
            here = rotation.rotate(rotation.from_axis_angle([0.0, 1.0, 0.0], -angle), stand) / size
            apart = np.linalg.norm(here[:, None] - spots, axis=-1) - SLACK * spreads
            cost = float(np.sum(np.minimum(apart.min(axis=1), 0.3) ** 2))
            if cost < best:
                best, gaps, local, (joints, turned), stuck_at = cost, apart, here, posed, spots
    # the middle of the markers is not quite that of the body: nearest places tell where it is (Besl & McKay 1992)
    for _ in range(SETTLE):
        local = local + np.median(stuck_at[gaps.argmin(axis=1)] - local, axis=0) * [1.0, 0.0, 1.0]
        gaps = np.linalg.norm(local[:, None] - stuck_at, axis=-1) - SLACK * spreads
    roles = body.base.require_roles()
    rest = body.base.skeleton.posed(body.reference)[0]
    found = []
    for number, row, nearest in zip(seen, local, gaps.argmin(axis=1), strict=True):
        role = SPOTS[int(nearest)][0]
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


def _spots(body: MarkerBody, joints: NDArray, turned: NDArray) -> NDArray:
    """(S, 3) where `SPOTS` are on the posed mannequin."""
    rest, roles = body.base.skeleton.posed(body.reference)[0], body.base.require_roles()
    out = []
    for role, name, side in SPOTS:
        joint = roles.joints["spine"][-1] if role == "chest" else roles[role]
        turn = rotation.multiply(turned[joint], rotation.inverse(body.frames[joint]))
        place = np.array(LANDMARKS[name].place) * [side, 1.0, 1.0]
        out.append(joints[joint] + rotation.rotate(turn, place - rest[joint]))
    return np.array(out)
