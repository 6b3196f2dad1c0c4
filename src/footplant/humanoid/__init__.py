"""Humanoid characters: joint roles found by name and shape, body measurements, reference pose, contact points, masses.

roles        find_roles, read_corrections: which joint is what   (names, shape, limb, plans, body_plan, details)
measure      standing_height, find_up, find_units
reference    reference_pose, reference_world, mirror_map: the same T-pose for every character   (posture, alignment)
body         make_character: contact points (sole), masses, limits
wrists       straightened_wrists: the bend of wrists without the errors of their capture
flipped_legs unflipped_legs: legs and feet of captures that are turned by 180°, turned back
proportions  apply_proportions, proportions_of: the same character with other segment lengths and girths
cache        results memoised by a skeleton's content
"""

from __future__ import annotations

from footplant.humanoid.body import make_character
from footplant.humanoid.flipped_legs import unflipped_legs
from footplant.humanoid.limits import anatomical_turns, joint_limits, limit_violations
from footplant.humanoid.masses import segment_masses
from footplant.humanoid.measure import find_units, find_up, leg_length, standing_height
from footplant.humanoid.proportions import Proportions, apply_proportions, proportions_of
from footplant.humanoid.reference import (
    mirror_map,
    reference_pose,
    reference_world,
    with_head_of_t_pose,
    with_reference,
    with_straight_toes,
)
from footplant.humanoid.roles import CHAINS, ROLES, find_roles, read_corrections
from footplant.humanoid.sole import contact_points, lower_soles
from footplant.humanoid.wrists import straightened_wrists

__all__ = [
    "CHAINS",
    "ROLES",
    "Proportions",
    "anatomical_turns",
    "apply_proportions",
    "contact_points",
    "find_roles",
    "find_units",
    "find_up",
    "joint_limits",
    "leg_length",
    "limit_violations",
    "lower_soles",
    "make_character",
    "mirror_map",
    "proportions_of",
    "read_corrections",
    "reference_pose",
    "reference_world",
    "segment_masses",
    "standing_height",
    "straightened_wrists",
    "unflipped_legs",
    "with_head_of_t_pose",
    "with_reference",
    "with_straight_toes",
]
