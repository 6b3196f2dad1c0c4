"""Footplant edits and retargets human motion under constraints that hold.

Metres, seconds, radians, right-handed, y up, quaternions (w, x, y, z), frames on the first axis.
"""

from typing import TYPE_CHECKING, Any

from footplant import motion
from footplant.clip import Clip, Conversion, Take
from footplant.errors import (
    ArgumentError,
    ConstraintError,
    FootplantError,
    FormatError,
    HumanoidError,
    MissingExtraError,
    MotionError,
    SkeletonError,
)
from footplant.io import load, load_character, load_markers, save, save_markers
from footplant.kinematics import Kinematics
from footplant.markers import Markers
from footplant.motion import Motion, concatenate, rest_motion
from footplant.skeleton import Character, Point, Roles, Skeleton, Skin

if TYPE_CHECKING:
    from footplant.io.project import Project, load_project, save_project

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "Character",
    "Clip",
    "ConstraintError",
    "Conversion",
    "FootplantError",
    "FormatError",
    "HumanoidError",
    "Kinematics",
    "Markers",
    "MissingExtraError",
    "Motion",
    "MotionError",
    "Point",
    "Project",
    "Roles",
    "Skeleton",
    "SkeletonError",
    "Skin",
    "Take",
    "concatenate",
    "load",
    "load_character",
    "load_markers",
    "load_project",
    "rest_motion",
    "save",
    "save_markers",
    "save_project",
]


def _motion_html(shown: Motion, character: Character | None, name: str) -> str:
    """Draw a motion for a notebook; the drawing code is imported when the first motion is shown."""
    from footplant.plot.notebook import motion_html

    return motion_html(shown, character, name)


motion.html_view = _motion_html


def __getattr__(name: str) -> Any:
    """Import what only some need when it is asked for."""
    if name in ("Project", "load_project", "save_project"):
        from footplant.io import project

        return getattr(project, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
