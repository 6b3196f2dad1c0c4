"""Make a character from a skeleton: height, contact points, masses and joint limits."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from footplant.humanoid.cache import CACHE_SIZE, RolesKey, SkeletonKey
from footplant.humanoid.limits import joint_limits
from footplant.humanoid.masses import segment_masses
from footplant.humanoid.measure import standing_height
from footplant.humanoid.reference import reference_world
from footplant.humanoid.sole import contact_points, rigid_vertices
from footplant.skeleton import Character, Roles, Skeleton, Skin, frozen


def make_character(
    skeleton: Skeleton, roles: Roles | None, *, name: str, skin: Skin | None = None, source: Any = None
) -> Character:
    """Return a character for a skeleton in metres, y up; without roles it has only skeleton, skin and name."""
    if roles is None or "hips" not in roles:
        return Character(skeleton, name=name, roles=roles, skin=skin, source=source)
    roles.require_fit(skeleton)
    if skin is not None:
        return _build(skeleton, roles, name, skin, source)
    bare = _without_skin(SkeletonKey(skeleton), RolesKey(roles))
    limits = bare.limits and replace(bare.limits, lower=bare.limits.lower.copy(), upper=bare.limits.upper.copy())
    return replace(
        bare, skeleton=skeleton, name=name, roles=roles, contacts=dict(bare.contacts), limits=limits, source=source
    )


@lru_cache(maxsize=CACHE_SIZE)
def _without_skin(skeleton: SkeletonKey, roles: RolesKey) -> Character:
    return _build(skeleton.skeleton, roles.roles, "", None, None)


def _build(skeleton: Skeleton, roles: Roles, name: str, skin: Skin | None, source: Any) -> Character:
    contacts = contact_points(skeleton, roles, skin)
    masses, centers = segment_masses(skeleton, roles)
    return Character(
        skeleton,
        name=name,
        roles=roles,
        contacts=contacts,
        masses=frozen(masses),
        mass_centers=frozen(centers),
        limits=joint_limits(skeleton, roles),
        skin=skin,
        height=_height(skeleton, roles, skin),
        source=source,
    )


def _height(skeleton: Skeleton, roles: Roles, skin: Skin | None) -> float:
    """Return the standing height, metres, of the mesh if it covers head and feet, else of the bones."""
    height = standing_height(skeleton, roles)
    feet = [roles[role] for role in ("left_foot", "right_foot") if role in roles]
    if skin is None or "head" not in roles or not feet:
        return height
    positions, rotations = reference_world(skeleton, roles)
    head = rigid_vertices(skin, positions, rotations, set(skeleton.descendants(roles["head"])))
    soles = rigid_vertices(skin, positions, rotations, {joint for foot in feet for joint in skeleton.descendants(foot)})
    if len(head) < 12 or len(soles) < 12:
        return height
    measured = float(np.percentile(head[:, 1], 99.5) - np.percentile(soles[:, 1], 0.5))
    return measured if 0.6 * height < measured < 1.7 * height else height
