"""Constraints: data with a residual and a Jacobian.

base        Constraint, AcrossFrames, Follow, check
points      Position, Orientation, Distance, AtLeast, AtMost, Area, Above, LookAt, CenterOfMass
joints      JointLimits, ConeTwist, Hinge, Relation, spine_shares, shoulder_rhythm
balance     Balance
body        Apart, Touch
held_places goals of hands that hold another figure's hand, or rest on its body
footplant   Footplant, SamePlace, SpeedLimit, AccelerationLimit
text        from_data: constraints from the JSON-ready values of TOML and JSON files
writing     to_data: the inverse
"""

from footplant.constraints.balance import Balance
from footplant.constraints.base import AcrossFrames, Constraint, Follow, check
from footplant.constraints.body import Apart, Touch
from footplant.constraints.footplant import AccelerationLimit, Footplant, SamePlace, SpeedLimit
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
from footplant.constraints.text import KINDS, from_data
from footplant.constraints.writing import to_data

__all__ = [
    "KINDS",
    "Above",
    "AccelerationLimit",
    "AcrossFrames",
    "Apart",
    "Area",
    "AtLeast",
    "AtMost",
    "Balance",
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
    "Touch",
    "check",
    "from_data",
    "shoulder_rhythm",
    "spine_shares",
    "to_data",
]
