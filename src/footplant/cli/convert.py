"""`footplant convert`: read one format, write another, and report what is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, signature
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from footplant.cli import markers
from footplant.cli.arguments import ClipFile, GroundAt, Json, ReadOptions, format_name, unit
from footplant.cli.kernels import prepare_kernels
from footplant.cli.loading import load_clip
from footplant.cli.losses import listing, losses
from footplant.cli.options import options, spread
from footplant.cli.output import (
    print_json,
    print_written,
    progress,
    refuse_to_overwrite,
    working,
)
from footplant.cli.robot import Order, RobotFile, convert_robot_file
from footplant.cli.solving import write_beside

if TYPE_CHECKING:
    from footplant.clip import Clip
    from footplant.feet.floor import Floor
    from footplant.skeleton import Character


@options
class WriteOptions:
    """How a motion is written, and onto what."""

    to_units: Annotated[
        str | None,
        typer.Option(
            metavar="UNIT",
            help="Unit to write (BVH, FBX, TRC): m, cm, … (default: as read from BVH or markers, else cm).",
        ),
    ] = None
    to_up: Annotated[
        str | None,
        typer.Option(
            metavar="AXIS", help="Vertical axis to write (BVH, TRC): y, z, … (default: as read from BVH, else y)."
        ),
    ] = None
    layout: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Arrays to write (.npz): footplant (the default), smpl, smplh or smplx; with --robot unitree, gmr, "
            "asap, mjlab or qpos.",
        ),
    ] = None
    robot: RobotFile = None
    order: Order = "mujoco"
    character: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the motion onto this character (same skeleton).")
    ] = None

    joint_names: Annotated[
        str | None, typer.Option(metavar="SCHEME", help="Rename joints by role: hanim (H-ANIM, as in VRML and X3D).")
    ] = None

    def given(self, target: Path, module: ModuleType) -> dict[str, Any]:
        """Return the given options as keyword arguments of a format's `save`; raise for those that it lacks."""
        from footplant.errors import FormatError
        from footplant.io import formats

        if self.layout is not None and "layout" not in _parameters(module):
            raise FormatError(f"--layout is for .npz; {target.suffix} has one layout", path=target)
        given = (("units", unit(self.to_units)), ("up", self.to_up), ("layout", self.layout))
        options = {name: value for name, value in given if value is not None}
        for name in options.keys() - {"layout"}:
            if name not in _parameters(module):
                able = sorted({e for e, other in formats().items() if name in _parameters(other)})
                fixed = {"units": "unit", "up": "vertical axis"}[name]
                raise FormatError(
                    f"--to-{name} is for {', '.join(able)}; {target.suffix} has a fixed {fixed}", path=target
                )
        return options


@spread
def convert(
    file: ClipFile,
    out: Annotated[
        str | None, typer.Argument(metavar="[OUT]", help="Where to write; the extension selects the format.")
    ] = None,
    *,
    out_option: Annotated[str | None, typer.Option("-o", "--out", metavar="OUT", help="The same as an option.")] = None,
    reading: ReadOptions,
    writing: WriteOptions,
    ground: GroundAt = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if it exists.")] = False,
    json: Json = False,
) -> None:
    """Write a motion in another format, and report what is lost.

    All takes are written if the format supports several, and all characters if it supports several.

    Example: footplant convert sample:walk walk.bvh
    """
    from footplant.io import SAMPLE, find_format, format_of, holds_markers, save, writer_of

    out = _one_target(out, out_option)
    if writing.robot is not None:
        convert_robot_file(file, out, writing.robot, reading, writing.layout, writing.order, overwrite, json)
        return
    target = Path(out)
    refuse_to_overwrite(file, target, overwrite)
    if find_format(out) is None:
        writer_of(out)
    if holds_markers(file) or holds_markers(out):
        markers.convert(file, out, reading, writing.to_units, writing.to_up, json, character=writing.character)
        return
    module = writer_of(out)
    options = writing.given(target, module)
    clips = _read(file, module, reading)
    figures = reading.figure is None and _can_write_others(clips[0], module)
    every = len(clips) > 1 or len(clips[0].takes) <= 1
    source = None if file.startswith(SAMPLE) else format_of(file)
    chosen = reading.chosen
    lost = losses(clips[0], source, module, takes=every, figures=figures, chosen=chosen)
    lost += _lost_parameters(clips[0], module, writing.layout)
    if not figures:
        clips = [replace(clip, others=()) for clip in clips]
    if writing.character is not None:
        clips = _onto_character(clips, writing.character)
    if writing.joint_names is not None:
        clips = [_renamed(clip, writing.joint_names, file) for clip in clips]
    clips, floor = _with_floor_at(clips, ground)
    options |= _take_options(clips, every, module)
    with working(f"writing {target}"):
        save(target, clips[0], **options)
        before = clips[0].contents if writing.character is None else {}
        before = {what: count for what, count in before.items() if not (what == "takes" and chosen)}
        lost += _lost_contents(target, clips, before, lost)
        moving = [clip for clip in clips if len(clip.motion) > 1]
        beside = [write_beside(target, moving, overwrite)] if moving and target.suffix.lower() == ".vrm" else []
    notes = [*clips[0].notes, *beside, *([] if floor is None else [f"{floor}; it was moved to {ground:g} m"])]
    facts = {**_facts(file, out, clips), "lost": lost, "floor": None if floor is None else floor.level, "notes": notes}
    print_json(facts) if json else _print(f"{file} → {out}", facts)


def _take_options(clips: list[Clip], every: bool, module: ModuleType) -> dict[str, Any]:
    """Return the options of `save` that write several takes, or the one that was chosen alone."""
    if len(clips) > 1:
        return {"takes": clips}
    return {"keep_takes": False} if not every and "keep_takes" in _parameters(module) else {}


def _with_floor_at(clips: list[Clip], ground: float | None) -> tuple[list[Clip], Floor | None]:
    """Return all takes moved by the height that puts the first one's floor at a level, and that floor."""
    from footplant.feet.floor import put_floor_at, raised

    if ground is None:
        return clips, None
    # all takes move together, so that they stay consistent
    first, floor = put_floor_at(clips[0], ground)
    by = 0.0 if floor is None else ground - floor.level
    return [first, *(raised(clip, by) for clip in clips[1:])], floor


def _lost_contents(target: Path, clips: Sequence[Clip], before: Mapping[str, int], lost: Sequence[str]) -> list[str]:
    """Return what is counted in the input and not in the file that was written, and is not known to be lost yet."""
    from footplant.io.contents import compare_contents, count_written

    after = count_written(target, clips[0].character, len(clips))
    if after is None:
        return []
    return compare_contents(before, after, lost, files=f"{target.suffix.lower()} files")


def _facts(file: str, out: str, clips: Sequence[Clip]) -> dict[str, Any]:
    clip = clips[0]
    return {
        "input": file,
        "output": str(Path(out)),
        "format": format_name(out),
        "bytes": Path(out).stat().st_size,
        "frames": len(clip.motion),
        "fps": clip.motion.fps,
        "joints": len(clip.motion.skeleton),
        "take": clip.name,
        "takes": len(clips),
        "figures": 1 + len(clip.others),
        "character": clip.character.name,
    }


def _print(title: str, facts: Mapping[str, Any]) -> None:
    rate = f"{facts['frames']} at {facts['fps']:.6g} fps, {facts['joints']} joints"
    takes = f", in the first of {facts['takes']} takes" if facts["takes"] > 1 else ""
    print_written(title, facts, rate + takes)


def _lost_parameters(clip: Clip, module: ModuleType, layout: str | None) -> list[str]:
    """Return what the parameters of a body model cannot hold; nothing for a layout that `save` will refuse."""
    if layout in (None, "footplant"):
        return []
    return module.smpl_losses(clip, layout) if layout in module.MODELS else []


def _one_target(argument: str | None, option: str | None) -> str:
    """Return where to write: the second argument or the option -o, not both."""
    from footplant.errors import FormatError

    if (argument is None) == (option is None):
        got = "none" if argument is None else f"{argument} and {option}"
        raise FormatError(f"expected one file to write, as in: footplant convert IN -o OUT; got {got}")
    return argument or option or ""


def _read(file: str, module: ModuleType, reading: ReadOptions) -> list[Clip]:
    """Return the clips to write: every take if none is chosen and the format supports several, else one."""
    from footplant.io import SAMPLE, load_takes

    if reading.take is not None or file.startswith(SAMPLE) or "takes" not in _parameters(module):
        return [load_clip(file, reading)]
    prepare_kernels()
    found = load_takes(file, **reading.given(file))
    with working(f"reading {file}"):
        clips = [next(found)]
    with progress(f"reading {file}", len(clips[0].takes)) as advance:
        for number, listed in enumerate(clips[0].takes):
            advance(listed.name)
            clips += [next(found)] if number else []
    return clips


def _can_write_others(clip: Clip, module: ModuleType) -> bool:
    """Return whether a format can hold the clip's further characters: without takes they share one time line."""
    if "figures" not in module.holds:
        return False
    return "takes" in module.holds or all(
        len(other.motion) == len(clip.motion) and abs(other.motion.fps / clip.motion.fps - 1.0) < 1e-9
        for other in clip.others
    )


def _parameters(module: ModuleType) -> Mapping[str, Parameter]:
    """Return the parameters of a format's `save`; none for a format that only reads."""
    return signature(module.save).parameters if hasattr(module, "save") else {}


def _renamed(clip: Clip, scheme: str, file: str) -> Clip:
    """Return the clip with the joints named by a scheme. The character's own file, whose names differ, is dropped."""
    from footplant.errors import FormatError
    from footplant.humanoid.hanim import hanim_names
    from footplant.result import require_humanoid

    if scheme != "hanim":
        raise FormatError(f"expected --joint-names hanim, got {scheme!r}")
    require_humanoid(clip.character, file)
    names = hanim_names(clip.character.skeleton, clip.character.require_roles())
    character = replace(clip.character, skeleton=replace(clip.character.skeleton, names=names), source=None)
    motion = replace(clip.motion, skeleton=replace(clip.motion.skeleton, names=names))
    return replace(clip, motion=motion, character=character)


def _onto_character(clips: Sequence[Clip], file: str) -> list[Clip]:
    """Return the clips on the character of a file, which has the same skeleton."""
    from footplant.io import load_character

    character = load_character(file)
    return [_clip_onto(clip, character, file) for clip in clips]


def _clip_onto(clip: Clip, character: Character, file: str) -> Clip:
    """Return the motion on another character with the same skeleton, whatever the order of its joints."""
    import numpy as np

    from footplant import rotation
    from footplant.motion import Motion

    ours, theirs, motion = clip.motion.skeleton, character.skeleton, clip.motion
    only = sorted(set(ours.names) ^ set(theirs.names))
    if only:
        _refuse(file, f"only one of the two has {listing(only)}")
    order = [ours.index(name) for name in theirs.names]
    parents = [-1 if parent < 0 else order.index(parent) for parent in ours.parents[order].tolist()]
    if parents != theirs.parents.tolist():
        _refuse(file, "its joints have other parents")
    length = np.linalg.norm(theirs.offsets[1:], axis=1).max(initial=0.0)
    apart = np.linalg.norm(ours.offsets[order][1:] - theirs.offsets[1:], axis=1)
    turned = rotation.angle(ours.rest[order][1:], theirs.rest[1:])
    for what, values, limit in (("offset", apart, 0.01 * length), ("rest rotation", turned, 0.01)):
        if values.size and values.max() > limit:
            _refuse(file, f"{theirs.names[1 + int(values.argmax())]!r} has another {what}")
    offsets = None if motion.offsets is None else motion.offsets[:, order]
    motion = Motion(theirs, motion.root, motion.rotations[:, order], motion.fps, offsets)
    return replace(clip, motion=motion, character=character)


def _refuse(file: str, reason: str) -> NoReturn:
    from footplant.errors import FormatError

    raise FormatError(
        f"expected a character with the skeleton of the motion, got one where {reason}; footplant retarget puts a "
        "motion on another skeleton",
        path=file,
    )
