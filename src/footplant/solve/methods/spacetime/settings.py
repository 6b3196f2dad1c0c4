"""Tuning numbers of spacetime constraints.

Where a field names no experiment, none is on record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from footplant.solve.ik.settings import HYBRID


@dataclass(frozen=True)
class SpacetimeSettings:
    """Tuning of objective, rows, search and closing pass."""

    role_rigidity: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType(
            dict(HYBRID.rigidity)
            | {
                "place": 0.01, "upper_leg": 0.3, "lower_leg": 0.2, "foot": 0.3, "toes": 0.2, "upper_arm": 0.03,
                "lower_arm": 0.03, "hand": 0.05,
            }
        )
    )  # fmt: skip
    """Cost of translating the root ("place", 1/m²) and of rotating each joint (1/rad²), by role without its side.
    Doubled, a part takes a smaller share of the displacement."""
    other_rigidity: float = 0.3
    """The same for joints without a role, 1/rad²."""
    off_hinge: float = 30.0
    """Factor on the cost of rotating a knee or an elbow about another axis than its hinge."""
    trunk_slower: float = 2.0
    """Factor on the smoothing time of the root's position and rotation. Doubled, the body follows more slowly."""
    sway: float = 2.0
    """Seconds over which the root returns to its path: weight of its velocity relative to its displacement."""
    soft_weight: float = 10.0
    """Weight of a soft constraint of weight 1 (1/m²)."""
    soft_priority_ratio: float = 100.0
    """Ratio between the weights of soft constraints of neighbouring priorities; at most two steps either way."""
    ramp_weight: float = 100.0
    """Weight of a constraint that ramps in or out, at full activation (1/m²)."""
    hard_priority_ratio: float = 100.0
    """Ratio between the penalties of hard constraints of neighbouring priorities."""
    hard_priority_span: float = 1e4
    """Largest ratio between the lowest and the highest: double precision allows no more."""
    jacobian_budget: int = 4_000_000
    """Largest number of Jacobian entries that are evaluated at once, which bounds the memory."""
    penalties: tuple[float, ...] = (1e3, 1e4, 1e5)
    """Penalties of hard constraints in the stages of the augmented Lagrangian (1/m²)."""
    multiplier_cap: float = 300.0
    """Largest force (penalty times metres) of a multiplier of the lowest rank: constraints that cannot be met give up
    there."""
    huber: float = 0.1
    """Metres beyond which the penalty of a hard constraint grows linearly (Huber loss): unreachable targets pull no
    harder for being farther."""
    given_up_weight: float = 10.0
    """Weight of a hard constraint that turned out to be out of reach (1/m²)."""
    most_damping: float = 1e8
    """Levenberg–Marquardt damping at which the search tries shorter steps instead."""
    step_shares: tuple[float, ...] = (0.3, 0.1, 0.03, 0.01)
    """Fractions of the undamped step that are tried then."""
    update_step: float = 0.15
    """Longest step (radians, metres) after which multipliers are updated and penalties may rise."""
    short_step: float = 3e-2
    """A step shorter than this (radians, metres) ends the search once all constraints are met."""
    least_step: float = 1e-5
    """A step shorter than this counts as no progress."""
    met_share: float = 0.5
    """Share of its tolerance below which a constraint counts as met by the search."""
    idle_steps: tuple[int, int] = (1, 4)
    """Consecutive steps with little gain before the search ends: with a closing pass by limbs, and without.
    Inequalities that alternate between violated and met make the error oscillate on its way down."""
    out_of_reach: float = 0.1
    """Metres of error from which limbs do not close a constraint that the search gave up."""
    around: float = 0.3
    """Seconds on either side of frames that limbs could not close in which finer knots may change the motion."""
    least_around: int = 9
    """And frames, at least: the number of knots that a bump without jerk needs."""


SPACETIME = SpacetimeSettings()
