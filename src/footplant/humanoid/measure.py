"""Measure a character: its standing height, and the up axis and length unit of its file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.checks import shaped
from footplant.errors import HumanoidError
from footplant.humanoid.cache import CACHE_SIZE, RolesKey, SkeletonKey
from footplant.humanoid.posture import leg_cosines, trunk
from footplant.humanoid.shape import Tree, tree_of
from footplant.skeleton import Roles, Skeleton

HUMAN_HEIGHT = 1.7
"""Height given to a character of unknown units, metres."""
_WINDOWS = {"m": (1.2, 2.2), "cm": (1.2, 2.2), "mm": (1.2, 2.2), "dm": (1.35, 2.15), "inch": (1.4, 2.1),
            "cmu": (1.25, 2.15), "foot": (1.5, 2.0)}  # fmt: skip
"""Range of standing heights, metres, in which a unit is accepted; the common units leave room for children."""
_WIDE = {"m": (0.75, 2.6), "cm": (0.75, 2.6), "mm": (0.75, 2.6)}
"""Wider ranges for a second attempt: small children and giants, in the most common units only."""
# fractions of the leg (hip joint to ankle, 0.491 − 0.039 of the height) and of the height: Winter 2009, figure 4.1
_SOLE_OF_LEG = 0.09
_NECK_AND_HEAD = 0.182
_AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "-x": (-1, 0, 0), "-y": (0, -1, 0), "-z": (0, 0, -1)}


def standing_height(skeleton: Skeleton, roles: Roles) -> float:
    """Return the standing height from sole to crown in the skeleton's units, along the bones, so for any pose.

    Sole → ankle → knee → hip joint, the straight line from the middle of the hip joints to the first vertebra, then
    spine, neck, head and crown. Sole and crown come from end sites where they are plausible, else from anthropometric
    tables (Winter 2009, figure 4.1).
    """
    roles.require_fit(skeleton)
    return _standing_height(SkeletonKey(skeleton), RolesKey(roles))


@lru_cache(maxsize=CACHE_SIZE)
def _standing_height(key: SkeletonKey, roles_key: RolesKey) -> float:
    skeleton, roles = key.skeleton, roles_key.roles
    tree = tree_of(skeleton)
    leg = leg_length(skeleton, roles)
    below = _sole_below_ankle(skeleton, roles, leg)
    column = _column_length(skeleton, roles)
    so_far = below + leg + column
    return float(so_far + _crown(tree, roles, so_far))


def leg_length(skeleton: Skeleton, roles: Roles) -> float:
    """Return the length from hip joint to ankle along the bones, mean of both sides, in the skeleton's units."""
    roles.require_fit(skeleton)
    legs = []
    for side in ("left", "right"):
        joints = [roles.get(f"{side}_{part}") for part in ("upper_leg", "lower_leg", "foot")]
        legs.append(sum(_between(skeleton, a, b) for a, b in pairwise(joints) if a is not None and b is not None))
    return float(np.mean(legs))


def _between(skeleton: Skeleton, top: int, bottom: int) -> float:
    """Return the length between two joints: along the bones if one is below the other, else straight at rest."""
    joint, length = bottom, 0.0
    while joint not in (top, 0):
        length += float(np.linalg.norm(skeleton.offsets[joint]))
        joint = int(skeleton.parents[joint])
    if joint == top:
        return length
    places = skeleton.rest_world[0]
    return float(np.linalg.norm(places[bottom] - places[top]))


def _sole_below_ankle(skeleton: Skeleton, roles: Roles, leg: float) -> float:
    """Return the height of the ankle above the sole, from the toes at rest if the foot points forward there."""
    drops = []
    places = skeleton.rest_world[0]
    for side in ("left", "right"):
        hip, foot = roles.get(f"{side}_upper_leg"), roles.get(f"{side}_foot")
        if hip is None or foot is None:
            continue
        down = places[foot] - places[hip]
        down = down / max(float(np.linalg.norm(down)), 1e-12)
        below = [places[joint] for joint in skeleton.descendants(foot)[1:]]
        inside = set(skeleton.descendants(foot))
        below += [end for parent, end in zip(skeleton.end_parents.tolist(), skeleton.rest_ends) if parent in inside]
        for place in below:
            vector = place - places[foot]
            length = float(np.linalg.norm(vector))
            if 0.08 * leg < length < 0.6 * leg and 0.0 < float(vector @ down) < 0.8 * length:
                drops.append(float(vector @ down))
    if not drops:
        return _SOLE_OF_LEG * leg
    return float(np.clip(max(drops), 0.06 * leg, 0.15 * leg))


def _column_length(skeleton: Skeleton, roles: Roles) -> float:
    """Return the length from the middle of the hip joints along spine and neck to the head joint."""
    places = skeleton.rest_world[0]
    column = [*roles.joints.get("spine", ()), *roles.joints.get("neck", ()), *roles.joints.get("head", ())]
    if not column:
        return 0.0
    hips = [places[roles[role]] for role in ("left_upper_leg", "right_upper_leg") if role in roles]
    start = np.mean(hips, axis=0) if hips else places[roles["hips"]]
    length = float(np.linalg.norm(places[column[0]] - start))
    return length + sum(_between(skeleton, a, b) for a, b in pairwise(column))


def _crown(tree: Tree, roles: Roles, so_far: float) -> float:
    """Return the height of the crown above the head joint: its end site, or the remainder given by tables."""
    head = roles.get("head")
    if head is None:
        return _NECK_AND_HEAD * so_far / (1.0 - _NECK_AND_HEAD)
    tops = [float(tree.tips[head])]
    ends = {"top", "end", "nub", "tip", "null", "site"}
    tops += [float(tree.lengths[c]) for c in tree.skeleton.children[head] if ends & set(tree.readings[c].words)]
    top = max(tops)
    if 0.03 * so_far < top < 0.3 * so_far:
        return top
    neck = roles.joints.get("neck")
    neck_length = _between(tree.skeleton, neck[0], head) if neck else 0.0
    return max(0.06 * so_far, (_NECK_AND_HEAD * so_far - neck_length) / (1.0 - _NECK_AND_HEAD))


def find_units(skeleton: Skeleton, roles: Roles | None, units: Mapping[str, float]) -> tuple[str, float, str | None]:
    """Return the unit that gives the character a human height: (name, metres per unit, a note or None).

    units: name → metres. If none gives a human height, the name is "unknown" and the scale makes the character 1.7 m
    tall; a character that is not a humanoid is measured by its extent.
    """
    if roles is None:
        return _guess_units(skeleton, units)
    height = standing_height(skeleton, roles)
    if not height > 0:
        return "unknown", 1.0, "the character has no height; lengths are taken as metres"
    for windows in (_WINDOWS, _WIDE):
        fits = {
            name: abs(np.log(height * units[name] / HUMAN_HEIGHT))
            for name, (low, high) in windows.items()
            if name in units and low <= height * units[name] <= high
        }
        if fits:
            name = min(fits, key=lambda unit: fits[unit])
            return name, units[name], None
    scale = HUMAN_HEIGHT / height
    note = f"no unit gives this character a human height ({height:.4g} units tall); scaled to {HUMAN_HEIGHT} m"
    return "unknown", scale, note


def _guess_units(skeleton: Skeleton, units: Mapping[str, float]) -> tuple[str, float, str | None]:
    size = tree_of(skeleton).size
    name = "m" if size < 5 else "cm" if size < 1500 else "mm"
    scale = units.get(name, 1.0)
    return name, scale, f"not a humanoid, so the unit is a guess from its extent ({size:.4g} units): {name}"


def find_up(skeleton: Skeleton, roles: Roles | None, positions: ArrayLike) -> str:
    """Return the vertical axis ("x", "y", "z", "-x", "-y", "-z") of a character in its file's axes.

    positions: (F, J, 3) joint positions of some frames. Three kinds of evidence are added up: the trunk in frames
    where the legs continue it (standing, or lying straight), the trunk of the rest pose if that is a standing one, and
    the floor, along whose normal the lowest joints keep their height. So the rest pose and the floor outvote crawling,
    lying and cartwheels; but where most frames of a motion stand along one axis, they outvote the rest pose. Without
    roles only the floor counts, with a preference for y.
    """
    if roles is not None:
        roles.require_fit(skeleton)
    frames = shaped(positions, ("F", len(skeleton), 3), "positions", HumanoidError)
    names = list(_AXES)
    axes = np.array([_AXES[name] for name in names], float)
    floor = _floor_evidence(frames)
    if roles is None or "head" not in roles:
        usual = np.array([0.2 if name == "y" else 0.1 if name == "z" else 0.0 for name in names])
        usual -= np.array([0.3 if name.startswith("-") else 0.0 for name in names])
        return names[int(np.argmax(0.5 * floor + usual))]
    total = 0.5 * floor
    rest_weight = 1.2
    if len(frames):
        line = trunk(roles, frames)
        weights = np.clip((-leg_cosines(roles, frames, line) - 0.5) / 0.4, 0.0, 1.0) + 0.05
        total = total + axes @ (weights @ line) / weights.sum()
        if _moves(frames) and _standing_share(line, weights, axes) > 0.5:
            rest_weight = 0.4
    rest = _standing_trunk(SkeletonKey(skeleton), RolesKey(roles))
    if rest is not None:
        total = total + rest_weight * (axes @ rest)
    total = total + np.array([0.02 if name == "y" else 0.01 if name == "z" else 0.0 for name in names])
    return names[int(np.argmax(total))]


def _standing_share(line: NDArray, weights: NDArray, axes: NDArray) -> float:
    """Return the largest share of frames that stand within 18° of one axis; those who lie seldom lie along an axis.

    line: trunk directions (F, 3); weights: (F,) near 1 where the legs continue the trunk.
    """
    return float(np.mean((line @ axes.T > 0.95) & (weights > 0.5)[:, None], axis=0).max())


def _moves(frames: NDArray) -> bool:
    """Return whether the poses differ: some joint's distance from the root varies by 2 % of the body's size."""
    size = float(np.ptp(frames[0], axis=0).max())
    return bool(np.ptp(frames - frames[:, :1], axis=0).max(initial=0.0) > 0.02 * size)


@lru_cache(maxsize=CACHE_SIZE)
def _standing_trunk(key: SkeletonKey, roles_key: RolesKey) -> NDArray | None:
    """Return the trunk's direction (3,) in the rest pose if that is a standing pose, else None."""
    rest = key.skeleton.rest_world[0][None]
    return trunk(roles_key.roles, rest)[0] if leg_cosines(roles_key.roles, rest)[0] < -0.7 else None


def _floor_evidence(frames: NDArray) -> NDArray:
    """Return for each axis (6,) 1 when the lowest joint keeps its height along it, towards 0 when the height varies.

    The axes are those of `_AXES`: x, y and z, then their negatives.
    """
    from footplant.humanoid._extents import extents

    if len(frames) < 2:
        return np.zeros(len(_AXES))
    lowest, highest = np.empty((2, len(frames), 3))
    frames = np.ascontiguousarray(frames).view()
    frames.setflags(write=False)
    extents(frames, lowest, highest)
    size = _median((highest - lowest).max(axis=1))
    low, high = _percentiles(np.concatenate([lowest, -highest], axis=1), (0.1, 0.9))
    return np.exp(-(((high - low) / max(size, 1e-12) / 0.15) ** 2))


def _median(values: NDArray) -> float:
    return float(_percentiles(values[:, None], (0.5,))[0, 0])


def _percentiles(values: NDArray, shares: tuple[float, ...]) -> NDArray:
    """Return the quantiles (S, n) of the columns of (F, n): `np.quantile` without its start-up cost."""
    ordered = np.sort(values, axis=0)
    places = np.array(shares) * (len(values) - 1)
    below = places.astype(np.int64)
    above = np.minimum(below + 1, len(values) - 1)
    return ordered[below] + (places - below)[:, None] * (ordered[above] - ordered[below])
