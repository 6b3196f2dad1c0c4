"""`footplant convert`: read one format, write another, and say what did not fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from footplant.cli import markers
from footplant.cli.arguments import ClipFile, Figure, Json, RolesFile, Take, Units, Up, format_name, load_clip, unit
from footplant.cli.output import note, print_facts, print_json, working

if TYPE_CHECKING:
    from footplant.clip import Clip
    from footplant.skeleton import Character


def convert(
    file: ClipFile,
    out: Annotated[str, typer.Argument(metavar="OUT", help="Where to write; the ending chooses the format.")],
    take: Take = None,
    figure: Figure = None,
    units: Units = None,
    up: Up = None,
    roles: RolesFile = None,
    to_units: Annotated[
        str | None, typer.Option(metavar="UNIT", help="Unit to write (BVH, TRC): m, cm, … (default: as it was read).")
    ] = None,
    to_up: Annotated[
        str | None, typer.Option(metavar="AXIS", help="Vertical axis to write (BVH, TRC): y, z, … (default: as read).")
    ] = None,
    character: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the motion onto this character (same joints).")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if it exists.")] = False,
    json: Json = False,
) -> None:
    """Write a motion in another format, and say what is lost on the way.

    Example: footplant convert sample:walk walk.bvh
    """
    from footplant.io import load_character, save

    target = Path(out)
    source_format, target_format = format_name(file), format_name(out)
    _refuse_to_overwrite(file, target, overwrite)
    if markers.holds_markers(file) or markers.holds_markers(out):
        markers.convert(
            file, out, figure, units, up, to_units, to_up, json, take=take, roles=roles, character=character
        )
        return
    options = _writing_options(target, to_units, to_up)
    clip = load_clip(file, take, figure, units, up, roles)
    if target_format == "gltf" and take is not None:
        options["keep_takes"] = False
    lost = losses(clip, source_format, target_format, one_take=take is not None)
    if figure is not None or source_format != target_format:
        clip = replace(clip, others=())
    if character is not None:
        clip = _carry_over(clip, load_character(character), character)
    with working(f"writing {target}"):
        save(target, clip, **options)
    facts: dict[str, Any] = {
        "input": file,
        "output": str(target),
        "format": target_format,
        "bytes": target.stat().st_size,
        "frames": len(clip.motion),
        "fps": clip.motion.fps,
        "joints": len(clip.motion.skeleton),
        "take": clip.name,
        "character": clip.character.name,
        "lost": lost,
        "notes": list(clip.notes),
    }
    if json:
        print_json(facts)
        return
    rate = f"{facts['frames']} at {facts['fps']:.6g} fps, {facts['joints']} joints"
    print_facts(f"{file} → {out}", {"wrote": f"{facts['bytes']:,} bytes of {target_format}", "frames": rate})
    for text in lost:
        print(f"  lost: {text}")
    for text in facts["notes"]:
        note(f"note: {text}")


def losses(clip: Clip, source_format: str, target_format: str, *, one_take: bool = False) -> list[str]:
    """What the input has and the output will not have, one phrase each."""
    lost = []
    if len(clip.takes) > 1 and (one_take or source_format != target_format):
        others = [take.name for number, take in enumerate(clip.takes) if number != clip.take]
        lost.append(f"{len(others)} other takes ({_listing(others)}); choose one with --take")
    if clip.others and source_format != target_format:
        names = [other.character.name for other in clip.others]
        lost.append(f"{len(names)} other figures ({_listing(names)}); choose one with --figure")
    if target_format == "bvh" and clip.character.skin is not None:
        lost.append("the mesh with its materials: BVH has bones only")
    return lost


def _listing(names: list[str], most: int = 5) -> str:
    return ", ".join(repr(name) for name in names[:most]) + (" …" if len(names) > most else "")


def _refuse_to_overwrite(file: str, target: Path, overwrite: bool) -> None:
    from footplant.errors import FormatError

    if target.is_dir():
        raise FormatError("is a folder; give the name of a file", path=target)
    if not target.exists():
        return
    if Path(file).exists() and target.samefile(file):
        raise FormatError("is the input itself; write to another file", path=target)
    if not overwrite:
        raise FormatError("exists already; add --overwrite to replace it", path=target)


def _writing_options(target: Path, units: str | None, up: str | None) -> dict[str, Any]:
    from footplant.errors import FormatError

    options = {name: value for name, value in (("units", unit(units)), ("up", up)) if value is not None}
    if options and target.suffix.lower() != ".bvh":
        name = next(iter(options))
        raise FormatError(f"--to-{name} is for BVH; {target.suffix} files have fixed units and axes", path=target)
    return options


def _carry_over(clip: Clip, character: Character, file: str) -> Clip:
    """The motion on another character of the same skeleton, whatever the order of its joints."""
    import numpy as np

    from footplant import rotation
    from footplant.motion import Motion

    ours, theirs, motion = clip.motion.skeleton, character.skeleton, clip.motion
    only = sorted(set(ours.names) ^ set(theirs.names))
    if only:
        _refuse(file, f"only one of the two has {_listing(only)}")
    order = [ours.index(name) for name in theirs.names]
    parents = [-1 if parent < 0 else order.index(parent) for parent in ours.parents[order].tolist()]
    if parents != theirs.parents.tolist():
        _refuse(file, "its joints hang together in another way")
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
        f"expected a character with the skeleton of the motion, got one where {reason}; carrying a motion over to "
        "another skeleton is not there yet",
        path=file,
    )
