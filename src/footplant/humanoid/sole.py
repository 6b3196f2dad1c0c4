"""Contact points: heel, ball and toe tip on the sole of each foot, and the palms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.humanoid.measure import leg_length, standing_height
from footplant.humanoid.reference import reference_world
from footplant.skeleton import Point, Roles, Skeleton, Skin

# fractions of the horizontal distance from the ankle to the toe tip, and of leg length or height: a foot is 0.152 of
# the height, with a quarter of its length behind the ankle (Winter 2009, figure 4.1)
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
    """Return left_heel, left_ball, left_toe, left_palm, right_heel … in the frames of their joints, metres.

    All three points of a sole lie in one horizontal plane in the reference pose. With a mesh the plane touches the
    lowest vertices of foot and toes, and heel and toe are the rear and front ends of the sole; without, the plane is as
    far below ankle, ball and toes as in people, and heel and toe follow from the line from ankle to toes.
    """
    positions, rotations = reference_world(skeleton, roles)
    found: dict[str, Point] = {}
    for side in ("left", "right"):
        foot = roles.get(f"{side}_foot")
        if foot is not None:
            toes = roles.get(f"{side}_toes")
            sole = _sole_of_mesh(skeleton, skin, positions, rotations, foot, toes) if skin is not None else None
            heel, ball, tip = sole or _sole_of_bones(skeleton, roles, positions, rotations, side)
            owner = foot if toes is None else toes
            for label, joint, position in (("heel", foot, heel), ("ball", owner, ball), ("toe", owner, tip)):
                found[f"{side}_{label}"] = _point(positions, rotations, joint, position)
        if f"{side}_hand" in roles:
            hand = roles[f"{side}_hand"]
            found[f"{side}_palm"] = _point(
                positions, rotations, hand, _palm(skeleton, roles, positions, rotations, side)
            )
    return found


def _point(positions: NDArray, rotations: NDArray, joint: int, position: NDArray) -> Point:
    local = rotation.rotate(rotation.inverse(rotations[joint]), position - positions[joint])
    return Point(joint, (float(local[0]), float(local[1]), float(local[2])))


def _below(skeleton: Skeleton, positions: NDArray, rotations: NDArray, joint: int) -> NDArray:
    """Return the positions (N, 3) of everything below a joint, end sites included."""
    inside = set(skeleton.descendants(joint))
    found = [positions[other] for other in inside if other != joint]
    found += [
        positions[parent] + rotation.rotate(rotations[parent], offset)
        for parent, offset in zip(skeleton.end_parents.tolist(), skeleton.end_offsets)
        if parent in inside
    ]
    return np.array(found).reshape(-1, 3)


def _sole_of_bones(
    skeleton: Skeleton, roles: Roles, positions: NDArray, rotations: NDArray, side: str
) -> tuple[NDArray, NDArray, NDArray]:
    """Return heel, ball and toe tip from the bones and human proportions."""
    leg, height = leg_length(skeleton, roles), standing_height(skeleton, roles)
    foot, toes = roles[f"{side}_foot"], roles.get(f"{side}_toes")
    ankle = positions[foot]
    low = ankle[1] - _ANKLE_OVER_SOLE * leg
    below = _below(skeleton, positions, rotations, foot)
    reach = np.linalg.norm((below - ankle) * [1.0, 0.0, 1.0], axis=1)
    # end sites that point sideways or hang far below are not toes
    below = below[(reach > 0.04 * leg) & (ankle[1] - below[:, 1] < 0.2 * leg) & (below[:, 2] > ankle[2])]
    ball = positions[toes] if toes is not None and np.linalg.norm(positions[toes] - ankle) > 0.02 * leg else None
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
        # toes lie level: an end site far below the ball is unreliable and tells nothing about the sole
        if ball is None or tip[1] > ball[1] - 0.03 * leg:
            low = min(low, tip[1] - _TIP_OVER_SOLE * leg)
    if ball is None:
        ball = ankle + _BALL_AHEAD * (tip - ankle)
    heel = ankle - _HEEL_BEHIND * (tip - ankle)
    return tuple(np.array([position[0], low, position[2]]) for position in (heel, ball, tip))  # type: ignore[return-value]


def _sole_of_mesh(
    skeleton: Skeleton, skin: Skin, positions: NDArray, rotations: NDArray, foot: int, toes: int | None
) -> tuple[NDArray, NDArray, NDArray] | None:
    """Return heel, ball and toe tip from the vertices of foot and toes, or None when there are too few."""
    points = rigid_vertices(skin, positions, rotations, set(skeleton.descendants(foot)))
    if len(points) < _FEWEST_VERTICES:
        return None
    low = float(np.percentile(points[:, 1], 1.0))
    thickness = max(float(positions[foot][1] - low), 1e-9)
    sole = points[points[:, 1] < low + 0.3 * thickness]
    length = float(np.ptp(sole[:, 2])) if len(sole) else 0.0
    if len(sole) < 3 or length < 0.3 * thickness:
        return None
    back, front = float(sole[:, 2].min()), float(sole[:, 2].max())
    rear, ahead = sole[sole[:, 2] < back + 0.12 * length], sole[sole[:, 2] > front - 0.12 * length]
    if toes is not None and back < positions[toes][2] < front:
        ball = positions[toes]
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


def rigid_vertices(skin: Skin, positions: NDArray, rotations: NDArray, joints: set[int]) -> NDArray:
    """Return vertices (N, 3) whose heaviest joint is among the given ones, attached rigidly to it in a pose, metres."""
    heaviest = np.take_along_axis(skin.joints, np.argmax(skin.weights, axis=1)[:, None], axis=1)[:, 0]
    chosen = np.isin(heaviest, list(joints))
    owners, vertices = heaviest[chosen], skin.vertices[chosen]
    bind = skin.inverse_bind[owners]
    local = np.einsum("vij,vj->vi", bind[:, :3, :3], vertices) + bind[:, :3, 3]
    return positions[owners] + rotation.rotate(rotations[owners], local)


def _palm(skeleton: Skeleton, roles: Roles, positions: NDArray, rotations: NDArray, side: str) -> NDArray:
    """Return the middle of the palm: halfway to the knuckles, or a typical fraction of the hand, below the bones."""
    height = standing_height(skeleton, roles)
    hand = roles[f"{side}_hand"]
    wrist = positions[hand]
    outward = np.array([1.0 if side == "left" else -1.0, 0.0, 0.0])
    knuckles = [
        positions[roles[f"{side}_{f}"]] for f in ("index", "middle", "ring", "little") if f"{side}_{f}" in roles
    ]
    along = 0.0
    if knuckles:
        along = 0.5 * float((np.mean(knuckles, axis=0) - wrist) @ outward)
    if along < 0.01 * height:
        below = _below(skeleton, positions, rotations, hand)
        length = float(((below - wrist) @ outward).max()) if len(below) else 0.0
        along = _PALM_OF_HAND * length if 0.03 * height < length < 0.15 * height else _PALM_OF_HEIGHT * height
    return wrist + along * outward - [0.0, _PALM_THICKNESS * height, 0.0]
