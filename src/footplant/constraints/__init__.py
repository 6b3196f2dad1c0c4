"""The one way to say what must hold: a constraint is data with a residual and a derivative.

base        Constraint, AcrossFrames, Follow, check
points      Position, Orientation, Distance, AtLeast, AtMost, Area, Above, LookAt, CenterOfMass
joints      JointLimits, ConeTwist, Hinge, Relation, spine_shares, shoulder_rhythm
footplant   Footplant, SamePlace, SpeedLimit
"""

from footplant.constraints.base import AcrossFrames, Constraint, Follow, check
from footplant.constraints.footplant import Footplant, SamePlace, SpeedLimit
from footplant.constraints.joints import ConeTwist, Hinge, JointLimits, Relation, shoulder_rhythm, spine_shares
from footplant.constraints.points import (
    Above,
    Area,
    AtLeast,
    AtMost,
    CenterOfMass,
    Distance,
    LookAt,
    Orientation,
    Position,
)

__all__ = [
    "Above",
    "AcrossFrames",
    "Area",
    "AtLeast",
    "AtMost",
    "CenterOfMass",
    "ConeTwist",
    "Constraint",
    "Distance",
    "Follow",
    "Footplant",
    "Hinge",
    "JointLimits",
    "LookAt",
    "Orientation",
    "Position",
    "Relation",
    "SamePlace",
    "SpeedLimit",
    "check",
    "shoulder_rhythm",
    "spine_shares",
]
