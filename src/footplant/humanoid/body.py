"""A skeleton becomes a character: its height, contact points, masses and limits."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from footplant.humanoid.cache import FIGURES, RolesKey, SkeletonKey
from footplant.humanoid.limits import joint_limits
from footplant.humanoid.masses import segment_masses
from footplant.humanoid.measure import standing_height
from footplant.humanoid.reference import reference_world
from footplant.humanoid.sole import carried_vertices, contact_points
from footplant.skeleton import Character, Roles, Skeleton, Skin, frozen


def make_character(
    skeleton: Skeleton, roles: Roles | None, *, name: str, skin: Skin | None = None, source: Any = None
) -> Character:
    """A character from a skeleton in metres and y up; without roles it only has its skeleton, skin and name."""
    if roles is None or "hips" not in roles:
        return Character(skeleton, name=name, roles=roles, skin=skin, source=source)
    if skin is not None:
        return _whole(skeleton, roles, name, skin, source)
    bare = _without_skin(SkeletonKey(skeleton), RolesKey(roles))
    limits = bare.limits and replace(bare.limits, lower=bare.limits.lower.copy(), upper=bare.limits.upper.copy())
    return replace(
        bare, skeleton=skeleton, name=name, roles=roles, contacts=dict(bare.contacts), limits=limits, source=source
    )


@lru_cache(maxsize=FIGURES)
def _without_skin(skeleton: SkeletonKey, roles: RolesKey) -> Character:
    return _whole(skeleton.skeleton, roles.roles, "", None, None)


def _whole(skeleton: Skeleton, roles: Roles, name: str, skin: Skin | None, source: Any) -> Character:
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
    """Standing height, metres: of the mesh in the reference pose where it covers head and feet, else of the bones."""
    height = standing_height(skeleton, roles)
    feet = [roles[role] for role in ("left_foot", "right_foot") if role in roles]
    if skin is None or "head" not in roles or not feet:
        return height
    places, turned = reference_world(skeleton, roles)
    head = carried_vertices(skin, places, turned, set(skeleton.descendants(roles["head"])))
    soles = carried_vertices(skin, places, turned, {joint for foot in feet for joint in skeleton.descendants(foot)})
    if len(head) < 12 or len(soles) < 12:
        return height
    measured = float(np.percentile(head[:, 1], 99.5) - np.percentile(soles[:, 1], 0.5))
    return measured if 0.6 * height < measured < 1.7 * height else height
