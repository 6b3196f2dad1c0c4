"""Human-like figures: roles found by name and by shape, their measure, reference pose, contact points and masses."""

from __future__ import annotations

from footplant.humanoid.body import make_character
from footplant.humanoid.measure import find_units, find_up, standing_height
from footplant.humanoid.reference import mirror_map, pose_world, reference_pose, with_reference
from footplant.humanoid.roles import CHAINS, ROLES, find_roles, read_corrections

__all__ = [
    "CHAINS",
    "ROLES",
    "find_roles",
    "find_units",
    "find_up",
    "make_character",
    "mirror_map",
    "pose_world",
    "read_corrections",
    "reference_pose",
    "standing_height",
    "with_reference",
]
