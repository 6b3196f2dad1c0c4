"""Tuning numbers of inverse kinematics.

Where a field names no experiment, none is on record. Those of the compiled kernels stand as
constants in the kernel modules, which import other kernel modules only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


def _frozen(**values: float) -> Mapping[str, float]:
    return field(default_factory=lambda: MappingProxyType(values))  # type: ignore[return-value]


@dataclass(frozen=True)
class HybridSettings:
    """Tuning of hybrid IK (Lee & Shin 1999, section 5.2)."""

    stiffness: Mapping[str, float] = _frozen(leg=1.0, arm=0.01)
    """Limb kind → weight of the change of the vector from its upper joint to its goal in the trunk's objective (1/m²):
    the hips follow the feet, the trunk hardly follows a reaching hand. Doubled, the trunk moves more for a goal that
    the limb could reach by itself."""
    overstretch: Mapping[str, float] = _frozen(leg=100.0, arm=100.0)
    """Limb kind → penalty of leaving a goal beyond the limb's reach (1/m²). Doubled, the trunk bends farther before a
    limb is left short of its goal."""
    early: Mapping[str, float] = _frozen(leg=1.0, arm=0.0)
    """Limb kind → least share of the way to a goal that the trunk follows as soon as the goal starts to ramp in. A foot
    that comes down finds the hips low enough; a hand that is about to reach does not pull the body along."""
    rigidity: Mapping[str, float] = _frozen(place=0.03, hips=0.3, spine=0.4, neck=0.2, head=0.2, clavicle=0.3)
    """α: cost of translating the root ("place", 1/m²) and of rotating each joint of the trunk (1/rad²). Doubled, a part
    takes a smaller share of the displacement."""
    reached: float = 0.001
    """Metres from its goal within which a limb counts as having reached it."""
    usable_length: float = 0.992
    """Share of a limb's full length at which the trunk lets it reach its goal; also the inverse share of its folded
    length. Nearer to 1, limbs get straighter and knees closer to snapping."""
    trunk_weight: float = 100.0
    """Weight of a constraint on the trunk of weight 1 (1/m² or 1/rad²) beside the costs above."""


@dataclass(frozen=True)
class LimbGoalSettings:
    """Tuning of the goals of wrists and ankles."""

    short_lever: float = 0.02
    """Metres between a point and the pivot of its foot or hand below which rotating about the pivot is damped as a
    means of moving the point. Doubled, points near the pivot are corrected less."""
    soft_half_weight: float = 4.0
    """Weight of a soft constraint that is followed half-way; one of weight 1 is followed a fifth of the way. Methods
    solve repeatedly, so the rest follows."""
    max_turn: float = 0.8
    """Largest rotation of a foot or hand that keeps a point out of an area, radians."""


@dataclass(frozen=True)
class NumericSettings:
    """Tuning of numerical IK (Lee & Shin 1999, section 5.1)."""

    penalties: tuple[float, ...] = (1e1, 1e2, 1e4, 1e6)
    """Weight of hard constraints in each stage of the penalty method; rotating a joint by a radian costs its
    rigidity."""
    gains: tuple[float, ...] = (1e-2, 1e-2, 1e-8, 1e-3)
    """Relative decrease of the objective below which each stage ends."""
    soft_weight: float = 10.0
    """Weight of a soft constraint of weight 1 (1/m²)."""
    soft_priority_ratio: float = 100.0
    """Ratio between the weights of soft constraints of neighbouring priorities; at most two steps either way."""
    hard_priority_powers: tuple[float, ...] = (1.0, 1.0, 2.0, 3.5)
    """Powers of ten between the weights of hard constraints of neighbouring priorities, in each stage."""
    hard_priority_steps: float = 2.0
    """Largest number of such steps between the lowest and the highest priority: double precision allows no more."""
    jacobian_budget: int = 4_000_000
    """Largest number of Jacobian entries held at once, which bounds the memory."""
    batch: int = 512
    """Largest number of frames that are solved together when some constraints are not compiled."""


@dataclass(frozen=True)
class GroupCcdSettings:
    """Tuning of the group solver (Kulpa, Multon & Arnaldi 2005)."""

    turn_limits: Mapping[str, float] = _frozen(spine=1.6, neck=0.8, head=0.6, clavicle=0.4)
    """Radians that a chain of the trunk may rotate from the input pose, all its joints together."""
    gains: Mapping[str, float] = _frozen(spine=0.5, neck=0.6, head=0.6, clavicle=0.4)
    """Compliance of a joint relative to the others in one step. Halved in all parts, bends take more steps and spread
    more evenly."""


@dataclass(frozen=True)
class PuppetSettings:
    """Tuning of the tables of computer puppetry (Shin 2002)."""

    stretch: float = 0.999
    """Largest extension of a limb, as a share of its full length."""
    margin_gain: float = 0.3
    """Metres of clearance around the body for each metre by which its radius exceeds the performer's."""
    margins: tuple[float, float] = (0.004, 0.06)
    """Smallest and largest clearance, metres."""


HYBRID = HybridSettings()
LIMB_GOALS = LimbGoalSettings()
NUMERIC = NumericSettings()
GROUP_CCD = GroupCcdSettings()
PUPPET = PuppetSettings()
