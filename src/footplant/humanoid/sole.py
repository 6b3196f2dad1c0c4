"""Contact points: heel, ball and tip of the toes on the sole of each foot, and the palms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.humanoid.measure import leg_length, standing_height
from footplant.humanoid.reference import reference_world
from footplant.skeleton import Point, Roles, Skeleton, Skin

# shares of the way from the ankle to the tip of the toes over the floor, and of the leg or height: a foot is 0.152 of
# the height, its heel a quarter of it behind the ankle (Winter 2009, figure 4.1)
_HEEL_BEHIND = 0.27
_BALL_AHEAD = 0.63
_TIP_BEYOND_BALL = 0.58
_TIP_OF_HEIGHT = 0.117
_ANKLE_OVER_SOLE = 0.09
_BALL_OVER_SOLE = 0.012
_TIP_OVER_SOLE = 0.006
_PALM_OF_HAND = 0.47
_PALM_OF_HEIGHT = 0.05
_PALM_THICKNESS = 0.0086
_FEWEST_VERTICES = 12


def contact_points(skeleton: Skeleton, roles: Roles, skin: Skin | None = None) -> dict[str, Point]:
    """left_heel, left_ball, left_toe, left_palm, right_heel … in the frames of their joints, metres.

    All three points of a sole lie in one level plane in the reference pose. With a mesh the plane touches the lowest
    vertices of foot and toes, the heel is the hindmost of the sole and the toe its foremost; without, the plane is as
    far below ankle, ball and toes as in people, and heel and toe come from the line from ankle to toes.
    """
    places, turned = reference_world(skeleton, roles)
    found: dict[str, Point] = {}
    for side in ("left", "right"):
        foot = roles.get(f"{side}_foot")
        if foot is not None:
            toes = roles.get(f"{side}_toes")
            sole = _sole_of_mesh(skeleton, skin, places, turned, foot, toes) if skin is not None else None
            heel, ball, tip = sole or _sole_of_bones(skeleton, roles, places, turned, side)
            carrier = foot if toes is None else toes
            for label, joint, place in (("heel", foot, heel), ("ball", carrier, ball), ("toe", carrier, tip)):
                found[f"{side}_{label}"] = _point(places, turned, joint, place)
        if f"{side}_hand" in roles:
            hand = roles[f"{side}_hand"]
            found[f"{side}_palm"] = _point(places, turned, hand, _palm(skeleton, roles, places, turned, side))
    return found


def _point(places: NDArray, turned: NDArray, joint: int, place: NDArray) -> Point:
    local = rotation.rotate(rotation.inverse(turned[joint]), place - places[joint])
    return Point(joint, (float(local[0]), float(local[1]), float(local[2])))


def _below(skeleton: Skeleton, places: NDArray, turned: NDArray, joint: int) -> NDArray:
    """(N, 3) everything below a joint, end sites too."""
    inside = set(skeleton.descendants(joint))
    found = [places[other] for other in inside if other != joint]
    found += [
        places[parent] + rotation.rotate(turned[parent], offset)
        for parent, offset in zip(skeleton.end_parents.tolist(), skeleton.end_offsets)
        if parent in inside
    ]
    return np.array(found).reshape(-1, 3)


def _sole_of_bones(
    skeleton: Skeleton, roles: Roles, places: NDArray, turned: NDArray, side: str
) -> tuple[NDArray, NDArray, NDArray]:
    """Heel, ball and tip from the bones and the proportions of people."""
    leg, height = leg_length(skeleton, roles), standing_height(skeleton, roles)
    foot, toes = roles[f"{side}_foot"], roles.get(f"{side}_toes")
    ankle = places[foot]
    low = ankle[1] - _ANKLE_OVER_SOLE * leg
    below = _below(skeleton, places, turned, foot)
    reach = np.linalg.norm((below - ankle) * [1.0, 0.0, 1.0], axis=1)
    # ends that stick out sideways or hang far below are no toes
    below = below[(reach > 0.04 * leg) & (ankle[1] - below[:, 1] < 0.2 * leg) & (below[:, 2] > ankle[2])]
    ball = places[toes] if toes is not None and np.linalg.norm(places[toes] - ankle) > 0.02 * leg else None
    tip = below[np.argmax(below[:, 2])] if len(below) else None
    if ball is not None:
        low = min(low, ball[1] - _BALL_OVER_SOLE * leg)
        if tip is None or tip[2] - ball[2] < 0.02 * leg:
            tip = ball + _TIP_BEYOND_BALL * (ball - ankle)
    if tip is None:
        tip = ankle + [0.0, 0.0, _TIP_OF_HEIGHT * height]
    elif ball is None and np.linalg.norm((tip - ankle) * [1.0, 0.0, 1.0]) < 0.5 * _TIP_OF_HEIGHT * height:
        # too short for a foot: an end site that only shows the direction
        ahead = (tip - ankle) * [1.0, 0.0, 1.0]
        tip = ankle + ahead / np.linalg.norm(ahead) * _TIP_OF_HEIGHT * height
    else:
        # toes lie level: an end far below the ball is drawn carelessly and says nothing of the sole
        if ball is None or tip[1] > ball[1] - 0.03 * leg:
            low = min(low, tip[1] - _TIP_OVER_SOLE * leg)
    if ball is None:
        ball = ankle + _BALL_AHEAD * (tip - ankle)
    heel = ankle - _HEEL_BEHIND * (tip - ankle)
    return tuple(np.array([place[0], low, place[2]]) for place in (heel, ball, tip))  # type: ignore[return-value]


def _sole_of_mesh(
    skeleton: Skeleton, skin: Skin, places: NDArray, turned: NDArray, foot: int, toes: int | None
) -> tuple[NDArray, NDArray, NDArray] | None:
    """Heel, ball and tip from the vertices that foot and toes carry, or None when they carry too few."""
    points = carried_vertices(skin, places, turned, set(skeleton.descendants(foot)))
    if len(points) < _FEWEST_VERTICES:
        return None
    low = float(np.percentile(points[:, 1], 1.0))
    thickness = max(float(places[foot][1] - low), 1e-9)
    sole = points[points[:, 1] < low + 0.3 * thickness]
    length = float(np.ptp(sole[:, 2])) if len(sole) else 0.0
    if len(sole) < 3 or length < 0.3 * thickness:
        return None
    back, front = float(sole[:, 2].min()), float(sole[:, 2].max())
    rear, ahead = sole[sole[:, 2] < back + 0.12 * length], sole[sole[:, 2] > front - 0.12 * length]
    if toes is not None and back < places[toes][2] < front:
        ball = places[toes]
    else:
        at_ball = back + 0.7 * length
        across = sole[np.abs(sole[:, 2] - at_ball) < 0.15 * length]
        ball = np.array([_middle(across if len(across) else sole), low, at_ball])
    return (
        np.array([_middle(rear), low, back]),
        np.array([ball[0], low, ball[2]]),
        np.array([_middle(ahead), low, front]),
    )


def _middle(points: NDArray) -> float:
    return float(0.5 * (points[:, 0].min() + points[:, 0].max()))


def carried_vertices(skin: Skin, places: NDArray, turned: NDArray, joints: set[int]) -> NDArray:
    """(N, 3) vertices whose heaviest joint is one of some joints, carried rigidly by it into a pose, metres."""
    heaviest = np.take_along_axis(skin.joints, np.argmax(skin.weights, axis=1)[:, None], axis=1)[:, 0]
    chosen = np.isin(heaviest, list(joints))
    owners, vertices = heaviest[chosen], skin.vertices[chosen]
    bind = skin.inverse_bind[owners]
    local = np.einsum("vij,vj->vi", bind[:, :3, :3], vertices) + bind[:, :3, 3]
    return places[owners] + rotation.rotate(turned[owners], local)


def _palm(skeleton: Skeleton, roles: Roles, places: NDArray, turned: NDArray, side: str) -> NDArray:
    """The middle of the palm: halfway to the knuckles, or where it is in a hand of that length, below the bones."""
    height = standing_height(skeleton, roles)
    hand = roles[f"{side}_hand"]
    wrist = places[hand]
    outward = np.array([1.0 if side == "left" else -1.0, 0.0, 0.0])
    knuckles = [places[roles[f"{side}_{f}"]] for f in ("index", "middle", "ring", "little") if f"{side}_{f}" in roles]
    along = 0.0
    if knuckles:
        along = 0.5 * float((np.mean(knuckles, axis=0) - wrist) @ outward)
    if along < 0.01 * height:
        below = _below(skeleton, places, turned, hand)
        length = float(((below - wrist) @ outward).max()) if len(below) else 0.0
        along = _PALM_OF_HAND * length if 0.03 * height < length < 0.15 * height else _PALM_OF_HEIGHT * height
    return wrist + along * outward - [0.0, _PALM_THICKNESS * height, 0.0]
