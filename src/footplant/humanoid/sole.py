"""Contact points: heel, ball and toe tip on the sole of each foot, and the palms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.checks import shaped
from footplant.errors import MotionError
from footplant.humanoid.measure import leg_length, standing_height
from footplant.humanoid.reference import reference_world
from footplant.skeleton import Character, Point, Roles, Skeleton, Skin


@dataclass(frozen=True)
class SoleSettings:
    """Proportions of feet and hands, and tolerances for reading them from bones and meshes.

    Proportions of feet follow Winter (2009, figure 4.1): a foot is 0.152 of the height, with a quarter of its length
    behind the ankle. No experiment is on record for the tolerances.
    """

    heel_behind: float = 0.27
    """Heel behind the ankle, over the horizontal distance from ankle to toe tip."""
    ball_ahead: float = 0.63
    """Ball ahead of the ankle, over the same distance."""
    tip_beyond_ball: float = 0.58
    """Toe tip beyond the ball, over the distance from ankle to ball."""
    tip_of_height: float = 0.117
    """Toe tip ahead of the ankle, over the standing height."""
    ankle_over_sole: float = 0.09
    """Height of the ankle above the sole, over leg length."""
    ball_over_sole: float = 0.012
    """Height of the toe joint above the sole, over leg length."""
    highest_ball: float = 0.06
    """Height of the toe joint above the ground in a motion, over leg length, up to which it is taken for the thickness
    of the foot where neither end sites nor a mesh tell it. Captured people: 0.03 to 0.055. Doubled, feet that never
    come down get thick soles."""
    tip_over_sole: float = 0.006
    """Height of the toes' end site above the sole, over leg length."""
    palm_of_hand: float = 0.47
    """Middle of the palm, over the length of the hand."""
    palm_of_height: float = 0.05
    """Middle of the palm beyond the wrist, over the standing height, if the hand's length is unusable."""
    palm_thickness: float = 0.0086
    """Depth of the palm below the bones, over the standing height."""
    fewest_vertices: int = 12
    """Fewest vertices from which a sole is read from the mesh."""
    shortest_toe: float = 0.04
    """Horizontal distance from the ankle, over leg length, from which an end site is a toe."""
    lowest_toe: float = 0.2
    """Depth below the ankle, over leg length, beyond which an end site is not a toe."""
    shortest_bone: float = 0.02
    """Distance from ankle to ball or from ball to tip, over leg length, below which the bone is ignored."""
    level_toe: float = 0.03
    """Depth of an end site below the ball, over leg length, beyond which it tells nothing about the sole."""
    sole_layer: float = 0.3
    """Layer of vertices that belong to the sole, over the height of the ankle above them."""
    edge: float = 0.12
    """Part of the sole's length at which heel and toe tip are centred."""
    ball_of_sole: float = 0.7
    """Ball from the back of the sole, over its length, if there is no toe joint."""
    ball_width: float = 0.15
    """Half the part of the sole's length at which the ball is centred."""
    outline: int = 8
    """Directions around a foot in which its outermost points are taken."""


SETTINGS = SoleSettings()


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


def lower_soles(character: Character, positions_over_time: NDArray) -> Character:
    """Return the character with soles on y = 0 where only a motion tells how thick its feet are.

    positions_over_time: (F, J, 3) metres, y up. Toe joints of bare skeletons lie anywhere between the sole and the top
    of the foot. Where no end site and no mesh say where the sole is, and the lowest toe joint of the motion is as high
    above y = 0 as in people, that is the thickness.
    """
    roles, skeleton = character.roles, character.skeleton
    places = shaped(positions_over_time, ("frames", len(skeleton), 3), "positions", MotionError)
    if roles is None or character.skin is not None or not len(places):
        return character
    toe_joints = [roles[f"{side}_toes"] for side in ("left", "right") if f"{side}_toes" in roles]
    if len(toe_joints) < 2 or any(f"{side}_ball" not in character.contacts for side in ("left", "right")):
        return character
    positions, rotations = reference_world(skeleton, roles)
    leg = leg_length(skeleton, roles)
    if any(_has_tip(skeleton, positions, rotations, toes, leg) for toes in toe_joints):
        return character
    height = float(places[:, toe_joints, 1].min())
    if not height <= SETTINGS.highest_ball * leg:
        return character
    lowered = dict(character.contacts)
    for side, toes in zip(("left", "right"), toe_joints):
        ball = character.contacts[f"{side}_ball"]
        level = (positions[ball.joint] + rotation.rotate(rotations[ball.joint], np.array(ball.offset)))[1]
        down = height - float(positions[toes][1] - level)
        if down <= 0.0:
            return character
        for label in ("heel", "ball", "toe"):
            point = lowered[f"{side}_{label}"]
            place = positions[point.joint] + rotation.rotate(rotations[point.joint], np.array(point.offset))
            lowered[f"{side}_{label}"] = _point(positions, rotations, point.joint, place - [0.0, down, 0.0])
    return replace(character, contacts=lowered)


def _has_tip(skeleton: Skeleton, positions: NDArray, rotations: NDArray, toes: int, leg: float) -> bool:
    """Return whether something below a toe joint lies ahead of it: then it tells where the sole is."""
    below = _below(skeleton, positions, rotations, toes)
    return bool((np.linalg.norm(below - positions[toes], axis=1) > SETTINGS.shortest_bone * leg).any())


_UNDER_ANKLE: WeakKeyDictionary[Character, dict[str, tuple[Point, float] | None]] = WeakKeyDictionary()


def under_ankle(character: Character, side: str) -> tuple[Point, float] | None:
    """Return the point of a sole under the ankle, and its share of the way from heel to ball. Cached.

    None where the ankle is not over the sole, or the sole's points move inside the foot.
    """
    cached = _UNDER_ANKLE.setdefault(character, {})
    if side not in cached:
        cached[side] = _find_under_ankle(character, side)
    return cached[side]


def _find_under_ankle(character: Character, side: str) -> tuple[Point, float] | None:
    roles, ends = character.require_roles(), [character.contacts.get(f"{side}_{part}") for part in ("heel", "ball")]
    foot = roles.get(f"{side}_foot")
    if foot is None or any(type(end) is not Point for end in ends):
        return None
    positions, rotations = reference_world(character.skeleton, roles)
    heel, ball = (
        positions[end.joint] + rotation.rotate(rotations[end.joint], np.array(end.offset)) for end in ends if end
    )
    along = (ball - heel) * [1.0, 0.0, 1.0]
    share = float((positions[foot] - heel) @ along / max(float(along @ along), 1e-12))
    if not 0.0 < share < 1.0:
        return None
    return _point(positions, rotations, foot, heel + share * (ball - heel)), share


_OUTLINES: WeakKeyDictionary[Character, dict[str, tuple[Point, ...]]] = WeakKeyDictionary()


def foot_outline(character: Character, side: str) -> tuple[Point, ...]:
    """Return the outermost points of a foot's skin, downwards and to all sides; none without a skin. Cached."""
    cached = _OUTLINES.setdefault(character, {})
    if side not in cached:
        cached[side] = _find_outline(character, side)
    return cached[side]


def _find_outline(character: Character, side: str) -> tuple[Point, ...]:
    roles, skeleton = character.require_roles(), character.skeleton
    foot, toes = roles.get(f"{side}_foot"), roles.get(f"{side}_toes")
    if character.skin is None or foot is None or f"{side}_heel" not in character.contacts:
        return ()
    positions, rotations = reference_world(skeleton, roles)
    front = set() if toes is None else set(skeleton.descendants(toes))
    found = []
    for joint, inside in ((foot, set(skeleton.descendants(foot)) - front), (toes, front)):
        if joint is None:
            continue
        vertices = rigid_vertices(character.skin, positions, rotations, inside)
        if len(vertices) < SETTINGS.fewest_vertices:
            continue
        heel = character.contacts[f"{side}_heel"]
        level = (positions[heel.joint] + rotation.rotate(rotations[heel.joint], np.array(heel.offset)))[1]
        # what is below the sole's plane at rest (a strap, a claw) may be in the ground as far
        vertices[:, 1] = np.maximum(vertices[:, 1], level)
        around = 2.0 * np.pi * np.arange(SETTINGS.outline) / SETTINGS.outline
        for down in (0.0, 1.0, 3.0):
            directions = np.stack([np.cos(around), np.full_like(around, -down), np.sin(around)], axis=1)
            for index in np.unique((vertices @ directions.T).argmax(axis=0)):
                found.append(_point(positions, rotations, joint, vertices[index]))
    return tuple(dict.fromkeys(found))


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
    ankle, shortest = positions[foot], SETTINGS.shortest_bone * leg
    low = ankle[1] - SETTINGS.ankle_over_sole * leg
    below = _below(skeleton, positions, rotations, foot)
    reach = np.linalg.norm((below - ankle) * [1.0, 0.0, 1.0], axis=1)
    # end sites that point sideways or hang far below are not toes
    below = below[
        (reach > SETTINGS.shortest_toe * leg)
        & (ankle[1] - below[:, 1] < SETTINGS.lowest_toe * leg)
        & (below[:, 2] > ankle[2])
    ]
    ball = positions[toes] if toes is not None and np.linalg.norm(positions[toes] - ankle) > shortest else None
    tip = below[np.argmax(below[:, 2])] if len(below) else None
    if ball is not None:
        low = min(low, ball[1] - SETTINGS.ball_over_sole * leg)
        if tip is None or tip[2] - ball[2] < shortest:
            tip = ball + SETTINGS.tip_beyond_ball * (ball - ankle)
    if tip is None:
        tip = ankle + [0.0, 0.0, SETTINGS.tip_of_height * height]
    elif ball is None and np.linalg.norm((tip - ankle) * [1.0, 0.0, 1.0]) < 0.5 * SETTINGS.tip_of_height * height:
        # too short for a foot: an end site that only shows the direction
        ahead = (tip - ankle) * [1.0, 0.0, 1.0]
        tip = ankle + ahead / np.linalg.norm(ahead) * SETTINGS.tip_of_height * height
    else:
        # toes lie level: an end site far below the ball is unreliable and tells nothing about the sole
        if ball is None or tip[1] > ball[1] - SETTINGS.level_toe * leg:
            low = min(low, tip[1] - SETTINGS.tip_over_sole * leg)
    if ball is None:
        ball = ankle + SETTINGS.ball_ahead * (tip - ankle)
    heel = ankle - SETTINGS.heel_behind * (tip - ankle)
    return tuple(np.array([position[0], low, position[2]]) for position in (heel, ball, tip))  # type: ignore[return-value]


def _sole_of_mesh(
    skeleton: Skeleton, skin: Skin, positions: NDArray, rotations: NDArray, foot: int, toes: int | None
) -> tuple[NDArray, NDArray, NDArray] | None:
    """Return heel, ball and toe tip from the vertices of foot and toes, or None when there are too few."""
    points = rigid_vertices(skin, positions, rotations, set(skeleton.descendants(foot)))
    if len(points) < SETTINGS.fewest_vertices:
        return None
    low = float(np.percentile(points[:, 1], 1.0))
    thickness = max(float(positions[foot][1] - low), 1e-9)
    sole = points[points[:, 1] < low + SETTINGS.sole_layer * thickness]
    length = float(np.ptp(sole[:, 2])) if len(sole) else 0.0
    if len(sole) < 3 or length < 0.3 * thickness:
        return None
    back, front = float(sole[:, 2].min()), float(sole[:, 2].max())
    rear, ahead = sole[sole[:, 2] < back + SETTINGS.edge * length], sole[sole[:, 2] > front - SETTINGS.edge * length]
    if toes is not None and back < positions[toes][2] < front:
        ball = positions[toes]
    else:
        at_ball = back + SETTINGS.ball_of_sole * length
        across = sole[np.abs(sole[:, 2] - at_ball) < SETTINGS.ball_width * length]
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
        along = (
            SETTINGS.palm_of_hand * length
            if 0.03 * height < length < 0.15 * height
            else SETTINGS.palm_of_height * height
        )
    return wrist + along * outward - [0.0, SETTINGS.palm_thickness * height, 0.0]
