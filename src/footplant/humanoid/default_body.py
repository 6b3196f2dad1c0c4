"""A body for characters without a skin: rounded tubes along the bones, with typical proportions.

For drawing only. Trunk, limbs and head of a humanoid have the widths of the body proxy; every other bone, and all bones
of a character without roles, become slim capsules.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.humanoid.reference import reference_world
from footplant.skeleton import Character, Skeleton, Skin

AROUND = 14
"""Vertices around a tube."""
CAP = 4
"""Rings of a rounded end."""
SLIM = 0.09
"""Half the width of a bone without a known part, in its length."""
PROFILES: dict[str, tuple[tuple[float, float, float], ...]] = {
    "upper_leg": ((0.0, 0.046, 0.048), (0.35, 0.045, 0.047), (0.8, 0.033, 0.034), (1.0, 0.029, 0.031)),
    "lower_leg": ((0.0, 0.029, 0.031), (0.3, 0.031, 0.034), (0.75, 0.02, 0.021), (1.0, 0.018, 0.02)),
    "upper_arm": ((0.0, 0.029, 0.029), (0.4, 0.027, 0.027), (1.0, 0.021, 0.022)),
    "lower_arm": ((0.0, 0.021, 0.022), (0.25, 0.022, 0.023), (1.0, 0.014, 0.016)),
    "hand": ((0.0, 0.013, 0.017), (0.45, 0.011, 0.023), (1.0, 0.006, 0.014)),
    "trunk": (
        (0.0, 0.09, 0.06),
        (0.22, 0.088, 0.058),
        (0.48, 0.075, 0.053),
        (0.8, 0.09, 0.061),
        (0.93, 0.078, 0.054),
        (1.0, 0.05, 0.042),
    ),
    "neck": ((0.0, 0.03, 0.031), (1.0, 0.028, 0.03)),
    "shoulder": ((0.0, 0.036, 0.042), (0.6, 0.034, 0.037), (1.0, 0.03, 0.03)),
    "head": (
        (0.0, 0.022, 0.028),
        (0.2, 0.036, 0.044),
        (0.45, 0.043, 0.053),
        (0.65, 0.042, 0.053),
        (0.8, 0.037, 0.046),
        (0.9, 0.029, 0.036),
        (0.96, 0.019, 0.024),
        (1.0, 0.004, 0.005),
    ),
    "foot": ((0.0, 0.019, 0.02), (0.5, 0.022, 0.018), (1.0, 0.024, 0.011)),
    "toes": ((0.0, 0.024, 0.011), (1.0, 0.017, 0.008)),
}
"""Part → share of its length, half its width and half its depth there, in body heights."""
HAND, HEAD, TOES = 0.1, 0.125, 0.045
"""Lengths of hands, heads and toes that end at their joint, in body heights."""
_LIMBS = {"upper_leg": "lower_leg", "lower_leg": "foot", "foot": "toes", "upper_arm": "lower_arm", "lower_arm": "hand"}


def default_body(character: Character) -> Skin | None:
    """Return a mesh for a character without a skin; None if it has no bones with a length."""
    if character.roles is not None:
        positions, rotations = reference_world(character.skeleton, character.roles)
        parts, covered = _humanoid_parts(character, positions, rotations)
    else:
        positions, rotations = character.skeleton.rest_world
        parts, covered = [], set()
    parts += _slim_parts(character.skeleton, positions, covered)
    made = [_tube(*part) for part in parts]
    made = [tube for tube in made if tube is not None]
    if not made:
        return None
    vertices, faces, joints, weights = [], [], [], []
    for points, corners, bound, shares in made:
        faces.append(corners + sum(map(len, vertices)))
        vertices.append(points)
        joints.append(bound)
        weights.append(shares)
    count = len(character.skeleton)
    bind = np.tile(np.eye(4), (count, 1, 1))
    back = rotation.inverse(rotations)
    bind[:, :3, :3] = rotation.to_matrix(back)
    bind[:, :3, 3] = -rotation.rotate(back, positions)
    return Skin(np.concatenate(vertices), np.concatenate(faces), np.concatenate(joints), np.concatenate(weights), bind)


Part = tuple[NDArray, NDArray, "tuple[tuple[float, float, float], ...]", NDArray, NDArray]
"""Start and end (3,), profile in metres, joints (K,) along it, and the share of its length (K,) at which each is."""


def _profile(part: str, height: float) -> tuple[tuple[float, float, float], ...]:
    return tuple((share, height * wide, height * deep) for share, wide, deep in PROFILES[part])


def _humanoid_parts(character: Character, positions: NDArray, rotations: NDArray) -> tuple[list[Part], set[int]]:
    """Return the parts of a humanoid, and the joints whose bones they cover."""
    roles, skeleton, high = character.require_roles(), character.skeleton, character.height or 1.7
    found: list[Part] = []
    covered: set[int] = set()

    def add(part: str, start: NDArray, end: NDArray, joints: tuple[int, ...]) -> None:
        axis = end - start
        length = float(np.linalg.norm(axis))
        if length > 1e-6:
            at = np.clip((positions[list(joints)] - start) @ axis / length**2, 0.0, 1.0)
            found.append((start, end, _profile(part, high), np.array(joints), at))

    hips = positions[[roles["left_upper_leg"], roles["right_upper_leg"]]].mean(axis=0)
    top = roles.get("neck") if "neck" in roles else roles.get("head")
    spine = tuple(roles.joints.get("spine", ()))
    arms = [roles[f"{s}_upper_arm"] for s in ("left", "right") if f"{s}_upper_arm" in roles]
    shoulders = [positions[arm] for arm in arms]
    if top is not None or len(arms) == 2:
        # a robot without a neck joint has its trunk all the same
        neck = positions[top] if top is not None else np.mean(shoulders, axis=0) + [0.0, 0.03 * high, 0.0]
        # the trunk ends where the arms begin, or a little below the neck
        crown = hips + (neck - hips) * (0.98 if not shoulders else 1.0)
        add("trunk", hips - 0.05 * (crown - hips), crown, (roles["hips"], *spine))
        covered |= {roles["hips"], *spine}
        clavicles = {j for s in ("left", "right") for j in roles.joints.get(f"{s}_clavicle", ())}
        covered |= clavicles
        for arm in arms:
            if arm in skeleton.descendants(roles["hips"]):
                covered |= set(skeleton.chain(arm, roles["hips"])[:-1]) - {arm}
        base = spine[-1] if spine else roles["hips"]
        for arm, shoulder in zip(arms, shoulders):
            across = shoulder - neck
            inner = neck + 0.3 * across - 0.03 * high * (neck - hips) / max(float(np.linalg.norm(neck - hips)), 1e-6)
            # its outer half moves with the clavicle, which carries the arm
            holder = int(skeleton.parents[arm])
            found.append((inner, shoulder, _profile("shoulder", high), np.array([base, holder]), np.array([0.0, 0.7])))
        if "head" in roles and top is not None:
            head = roles["head"]
            up = (neck - hips) / max(float(np.linalg.norm(neck - hips)), 1e-6)
            if top != head:
                add("neck", positions[top], positions[head] + 0.02 * high * up, (top, head))
            upright = up + np.array([0.0, 1.0, 0.0])
            upright = upright / max(float(np.linalg.norm(upright)), 1e-6)
            add("head", positions[head] + 0.012 * high * upright, positions[head] + HEAD * high * upright, (head,))
            covered |= {top, *skeleton.descendants(head), head}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for part, following in _LIMBS.items():
            name, after = f"{side}_{part}", f"{side}_{following}"
            if name not in roles:
                continue
            joint = roles[name]
            ends = roles.get(after)
            if ends is None and part != "foot":
                continue
            end = positions[joint] + [0.0, -0.02 * high, 0.1 * high] if ends is None else positions[ends]
            start = positions[joint]
            heel, ball = (character.contacts.get(f"{side}_{end}") for end in ("heel", "ball"))
            if part == "foot" and heel is not None and ball is not None:
                # the sole is at the contact points
                ground = [positions[p.joint] + rotation.rotate(rotations[p.joint], p.offset) for p in (heel, ball)]
                (_, _, rear), (_, _, front) = PROFILES["foot"][0], PROFILES["foot"][-1]
                start, end = ground[0] + [0.0, rear * high, 0.02 * high], ground[1] + [0.0, front * high, 0.0]
            elif part == "foot" and ends is not None:
                # from the heel, over the ankle's width, to the ball
                back = (end - start) * [1.0, 0.0, 1.0]
                start, end = start - 0.35 * back + [0.0, 0.4 * (end - start)[1], 0.0], end
            inside = {joint, *roles.joints.get(f"{name}_twist", ())}
            if ends is not None and ends in skeleton.descendants(joint):
                inside |= set(skeleton.chain(ends, joint)[:-1])
            add(part, start, end, (joint,))
            covered |= inside
        if f"{side}_hand" in roles:
            hand = roles[f"{side}_hand"]
            if not any(child != hand for child in skeleton.descendants(hand)):
                add("hand", positions[hand], positions[hand] + [sign * HAND * high, 0.0, 0.0], (hand,))
                covered.add(hand)
        if f"{side}_toes" in roles:
            toes = roles[f"{side}_toes"]
            ball = character.contacts.get(f"{side}_ball")
            start = positions[toes]
            if ball is not None:
                sole = positions[ball.joint] + rotation.rotate(rotations[ball.joint], ball.offset)
                start = np.array([sole[0], sole[1] + PROFILES["toes"][0][2] * high, sole[2]])
            add("toes", start, start + [0.0, 0.0, TOES * high], (toes,))
            covered |= {toes, *skeleton.descendants(toes)}
    return found, covered


def _slim_parts(skeleton: Skeleton, positions: NDArray, covered: set[int]) -> list[Part]:
    """Return capsules for bones that no part covers: fingers, tails, and everything without roles."""
    found: list[Part] = []
    for joint, parent in enumerate(skeleton.parents.tolist()):
        if parent < 0 or parent in covered:
            continue
        length = float(np.linalg.norm(positions[joint] - positions[parent]))
        if length < 1e-6:
            continue
        wide = SLIM * length
        profile = ((0.0, wide, wide), (0.3, 1.25 * wide, 1.25 * wide), (1.0, 0.7 * wide, 0.7 * wide))
        found.append((positions[parent], positions[joint], profile, np.array([parent]), np.zeros(1)))
    return found


def _tube(
    start: NDArray, end: NDArray, profile: tuple[tuple[float, float, float], ...], joints: NDArray, at: NDArray
) -> tuple[NDArray, NDArray, NDArray, NDArray] | None:
    """Return vertices, triangles, joints (V, 2) and weights (V, 2) of a closed tube with rounded ends."""
    from scipy.interpolate import PchipInterpolator

    axis = end - start
    length = float(np.linalg.norm(axis))
    if length < 1e-6:
        return None
    axis = axis / length
    ahead = rotation.AXES["z"] - axis[2] * axis
    ahead = ahead / np.linalg.norm(ahead) if np.linalg.norm(ahead) > 0.1 else np.cross(rotation.AXES["x"], axis)
    side = np.cross(axis, ahead)
    shares, wide, deep = (np.array(column) for column in zip(*profile))
    middle = np.unique(np.concatenate([np.linspace(0.0, 1.0, 9), shares]))
    around = 0.5 * np.pi * np.arange(1, CAP + 1) / (CAP + 1)
    # rounded ends: rings that shrink as those of an ellipsoid
    low, high = 0.5 * (wide[0] + deep[0]), 0.5 * (wide[-1] + deep[-1])
    along = np.concatenate([-low * np.cos(around), middle * length, length + high * np.sin(around)])
    scale = np.concatenate([np.sin(around), np.ones(len(middle)), np.cos(around)])
    place = np.clip(along / length, 0.0, 1.0)
    # monotone cubics through the profile: no edges around the body, and no bulges beyond it
    half = PchipInterpolator(shares, np.stack([wide, deep], axis=-1))(np.clip(place, shares[0], shares[-1]))
    half = half * scale[:, None]
    angles = 2.0 * np.pi * np.arange(AROUND) / AROUND
    circle = np.cos(angles)[:, None] * ahead, np.sin(angles)[:, None] * side
    rings = (
        start + along[:, None, None] * axis + half[:, 1, None, None] * circle[0] + half[:, 0, None, None] * circle[1]
    )
    tips = np.stack([start - low * axis, end + high * axis])
    vertices = np.concatenate([rings.reshape(-1, 3), tips])
    number = np.arange(len(along) * AROUND).reshape(len(along), AROUND)
    following = np.roll(number, -1, axis=1)
    quads = [number[:-1], following[:-1], following[1:], number[1:]]
    a, b, c, d = (part.reshape(-1) for part in quads)
    first, last = len(number) * AROUND, len(number) * AROUND + 1
    faces = np.concatenate([
        np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1),
        np.stack([following[0], number[0], np.full(AROUND, first)], axis=-1),
        np.stack([number[-1], following[-1], np.full(AROUND, last)], axis=-1),
    ])  # fmt: skip
    shares_of = np.append(np.repeat(place, AROUND), [0.0, 1.0])
    return vertices, faces, *_weights(shares_of, joints, at)


def _weights(places: NDArray, joints: NDArray, at: NDArray) -> tuple[NDArray, NDArray]:
    """Return joints (V, 2) and weights (V, 2) of vertices at shares of a tube's length, blended between joints."""
    order = np.argsort(at, kind="stable")
    joints, at = joints[order], at[order]
    upper = (
        np.searchsorted(at, places, side="right").clip(1, len(at) - 1) if len(at) > 1 else np.zeros(len(places), int)
    )
    lower = np.maximum(upper - 1, 0)
    gap = np.maximum(at[upper] - at[lower], 1e-9)
    share = np.clip((places - at[lower]) / gap, 0.0, 1.0) if len(at) > 1 else np.zeros(len(places))
    # a vertebra turns what is above it: the change is over half of the way to the next
    share = np.clip(2.0 * share - 0.5, 0.0, 1.0)
    return np.stack([joints[lower], joints[upper]], axis=-1), np.stack([1.0 - share, share], axis=-1)
