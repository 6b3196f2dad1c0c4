"""Footplant edits and retargets human motion under constraints that hold.

    result = footplant.retarget("walk.bvh", "hero.glb")
    print(result.status, result.report.after)
    result.save("hero_walks.glb")

Metres, seconds, radians, right-handed, y up, quaternions (w, x, y, z), frames on the first axis. What is named here is
imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# the package of this name is loaded before the function takes its place: the import system sets it once
import footplant.contacts  # noqa: F401
from footplant import views
from footplant.door import contacts, measure

if TYPE_CHECKING:
    from pathlib import Path

    from footplant.blending.blend import blend
    from footplant.blending.loops import loop
    from footplant.blending.transition import join, transition
    from footplant.clip import Clip, Conversion, Take
    from footplant.edits.everyday import mirror, resample, trim
    from footplant.edits.fit import fit
    from footplant.edits.jump import jump
    from footplant.edits.morph import morph
    from footplant.edits.path import bend
    from footplant.edits.repair import repair
    from footplant.edits.retarget import retarget
    from footplant.edits.terrain import terrain
    from footplant.edits.together import together
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
    from footplant.io.project import Project, load_project, save_project
    from footplant.kinematics import Kinematics
    from footplant.live.clip_set import drive_set
    from footplant.markers import Markers
    from footplant.motion import Motion, concatenate, rest_motion
    from footplant.optical.solve import solve_markers
    from footplant.problem import Problem, Report, Status
    from footplant.result import Result
    from footplant.skeleton import Character, Point, Roles, Skeleton, Skin

__version__ = "0.2.0"

_HOMES = {
    "blending.blend": ("blend",),
    "blending.loops": ("loop",),
    "blending.transition": ("join", "transition"),
    "clip": ("Clip", "Conversion", "Take"),
    "edits.everyday": ("mirror", "resample", "trim"),
    "edits.fit": ("fit",),
    "edits.jump": ("jump",),
    "edits.morph": ("morph",),
    "edits.path": ("bend",),
    "edits.repair": ("repair",),
    "edits.retarget": ("retarget",),
    "edits.terrain": ("terrain",),
    "edits.together": ("together",),
    "errors": (
        "ArgumentError", "ConstraintError", "FootplantError", "FormatError", "HumanoidError", "MissingExtraError",
        "MotionError", "SkeletonError",
    ),
    "io": ("load", "load_character", "load_markers", "save", "save_markers"),
    "io.project": ("Project", "load_project", "save_project"),
    "kinematics": ("Kinematics",),
    "live.clip_set": ("drive_set",),
    "markers": ("Markers",),
    "motion": ("Motion", "concatenate", "rest_motion"),
    "optical.solve": ("solve_markers",),
    "problem": ("Problem", "Report", "Status"),
    "result": ("Result",),
    "skeleton": ("Character", "Point", "Roles", "Skeleton", "Skin"),
}  # fmt: skip
"""Module → the public names that are imported from it when they are first used."""
_HOME = {name: f"footplant.{module}" for module, names in _HOMES.items() for name in names}
_PACKAGES = (
    "batch", "blending", "constraints", "curves", "edits", "errors", "geometry", "grounds", "humanoid", "io",
    "kinematics", "live", "motion", "normalized", "optical", "plot", "problem", "quality", "rotation", "samples",
    "skeleton", "solve",
)  # fmt: skip
"""Public modules that are imported when they are first used."""

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
    "Problem",
    "Project",
    "Report",
    "Result",
    "Roles",
    "Skeleton",
    "SkeletonError",
    "Skin",
    "Status",
    "Take",
    "bend",
    "blend",
    "concatenate",
    "contacts",
    "drive_set",
    "fit",
    "join",
    "jump",
    "load",
    "load_character",
    "load_markers",
    "load_project",
    "loop",
    "measure",
    "mirror",
    "morph",
    "repair",
    "resample",
    "rest_motion",
    "retarget",
    "save",
    "save_markers",
    "save_project",
    "solve_markers",
    "terrain",
    "together",
    "transition",
    "trim",
]


def _notebook_view(shown: Motion | Clip | Result) -> str:
    """Draw a motion for a notebook; the drawing code is imported when the first motion is shown."""
    from footplant.plot.notebook import notebook_view

    return notebook_view(shown)


def _write_page(shown: Motion | Clip | Result, path: Path) -> None:
    from footplant.plot.notebook import page_view
    from footplant.plot.player import write_page

    write_page(path, page_view(shown))


views.notebook_view, views.write_page = _notebook_view, _write_page


def __getattr__(name: str) -> Any:
    """Import a public name or module when it is first used."""
    from importlib import import_module

    if name in _HOME:
        found = getattr(import_module(_HOME[name]), name)
    elif name in _PACKAGES:
        found = import_module(f"footplant.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return every public name, whether it has been imported yet or not."""
    return sorted({*globals(), *__all__, *_PACKAGES})
