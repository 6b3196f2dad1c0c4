"""Convert a file's character to metres and y up, and back: units and the up axis as stated, detected or forced."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant import humanoid, rotation
from footplant.checks import real_number
from footplant.clip import Clip, Conversion
from footplant.contacts.stillness import lead_in
from footplant.errors import FormatError, HumanoidError
from footplant.humanoid.cache import CACHE_SIZE, SkeletonKey, same_roles, same_skeleton
from footplant.humanoid.measure import HUMAN_HEIGHT
from footplant.io.character import RawCharacter
from footplant.kinematics import Kinematics
from footplant.looks import converted_looks
from footplant.motion import Motion, rest_motion
from footplant.skeleton import Character, Roles, Skeleton, Skin

UNITS = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "foot": 0.3048, "cmu": 0.0254 / 0.45}
"""Metres per unit, by unit name."""
UP_TURNS = {
    "y": rotation.IDENTITY,
    "-y": np.array([0.0, 1.0, 0.0, 0.0]),
    "z": rotation.from_axis_angle([1.0, 0, 0], -np.pi / 2),
    "-z": rotation.from_axis_angle([1.0, 0, 0], np.pi / 2),
    "x": rotation.from_axis_angle([0, 0, 1.0], np.pi / 2),
    "-x": rotation.from_axis_angle([0, 0, 1.0], -np.pi / 2),
}
"""The rotation (4,) that takes each vertical axis to +y."""


@dataclass(frozen=True)
class UnitSettings:
    """When a file's stated units are questioned, and what is looked at. No experiment is on record for them."""

    plausible_heights: tuple[float, float] = (0.5, 3.0)
    """Metres. Standing heights of people, from infants to giants; outside this range a note suggests other units."""
    human_heights: tuple[float, float] = (1.2, 2.2)
    """Metres. Other units are suggested only if they give a standing height in this range."""
    sampled_frames: int = 200
    """Frames used to find the up axis and the reference pose. Doubled, loading long clips takes longer."""
    start: float = 4.0
    """Seconds of a clip in which a T-pose before the motion is looked for, which lasts less than one."""
    visible_turn: float = 2.0
    """Degrees by which a head in its T-pose differs from the rest pose that a note tells."""


SETTINGS = UnitSettings()


def clip_from_raw(
    raw: RawCharacter,
    path: str | Path,
    *,
    take: int = 0,
    units: str | float | None = None,
    up: str | None = None,
    height: float | None = None,
    corrections: dict[str, tuple[str, ...]] | None = None,
    like: Clip | None = None,
) -> Clip:
    """Convert one character of a file into a clip, in metres and y up, with its roles found.

    units, up: override what the file states or what would be detected. height: metres; overrides the units.
    corrections: role → joint names.
    like: another take of the same character, whose conversion and roles are reused.
    """
    if height is not None:
        real_number(height, "height", FormatError, above=0.0)
        if units is not None:
            raise FormatError("expected units or a height, got both", path=path)
    notes = list(raw.notes)
    motion = raw.read_take(take) if raw.takes and raw.read_take else rest_motion(raw.skeleton)
    if raw.takes and raw.take_notes:
        notes.extend(raw.take_notes(take))
    as_stated = units in (None, "m", 1.0) and up in (None, "y") and height is None
    if raw.read_character is not None and as_stated and not corrections:
        return _make_clip(raw, take, motion, raw.read_character(take), Conversion(declared=True), notes)
    if like is not None:
        motion = _convert(motion, like.conversion.scale, np.array(like.conversion.turn))
        return _make_clip(raw, take, motion, _with_skeleton(like.character, motion.skeleton), like.conversion, notes)
    raw = replace(raw, skeleton=same_skeleton(raw.skeleton))
    positions, why = Kinematics(_some_frames(motion)).positions, ""
    try:
        roles = same_roles(
            humanoid.find_roles(
                raw.skeleton, declared=raw.roles, corrections=corrections, positions=positions, skin=raw.skin
            )
        )
    except HumanoidError as error:
        if corrections:
            raise
        roles, why = None, error.reason
        notes.append(str(error))
    if height is not None:
        if roles is None:
            raise FormatError("expected a humanoid for a height; its joints have no roles", path=path)
        units = height / humanoid.standing_height(raw.skeleton, roles)
    conversion = _find_conversion(raw, path, positions, roles, units, up, notes)
    turn = np.array(conversion.turn)
    motion = _convert(motion, conversion.scale, turn)
    if roles is not None:
        some = _some_frames(motion)
        roles = humanoid.with_reference(motion.skeleton, roles, some.rotations, some.offsets)
        if raw.takes and raw.skin is None:
            roles, bent = humanoid.with_straight_toes(motion.skeleton, roles, some.rotations)
            notes += [f"{toes} is bent in nearly all frames: taken for straight" for toes in bent]
            roles, turned = _with_head_ahead(motion, roles)
            if (angle := math.degrees(turned)) > SETTINGS.visible_turn:
                notes.append(f"the head looks ahead as in the T-pose before the motion: {angle:.0f}° off the rest pose")
    skin = None if raw.skin is None else _convert_skin(raw.skin, conversion.scale, turn)
    name = raw.name or Path(path).stem
    character = humanoid.make_character(motion.skeleton, roles, name=name, skin=skin, source=raw.source)
    if raw.takes and roles is not None:
        character = humanoid.lower_soles(character, Kinematics(_some_frames(motion)).positions)
    if height is not None and abs(character.height / height - 1.0) > 1e-6:
        # a mesh reaches beyond the bones
        units = conversion.scale * height / character.height
        return clip_from_raw(raw, path, take=take, units=units, up=up, corrections=corrections)
    if roles is not None and raw.scale is not None and units is None:
        notes.extend(_doubt_units(character.height / conversion.scale, conversion.scale))
    character = character if not why else replace(character, not_humanoid=why)
    return _make_clip(raw, take, motion, character, conversion, notes)


def _with_head_ahead(motion: Motion, roles: Roles) -> tuple[Roles, float]:
    """Return the roles with the head as in a T-pose before the motion, if there is one, and radians that it turns."""
    start = motion[: round(SETTINGS.start * motion.fps)]
    if not lead_in(Kinematics(start).positions, motion.fps, humanoid.standing_height(motion.skeleton, roles)):
        return roles, 0.0
    return humanoid.with_head_of_t_pose(motion.skeleton, roles, motion.rotations[0])


def _make_clip(
    raw: RawCharacter, take: int, motion: Motion, character: Character, conversion: Conversion, notes: list[str]
) -> Clip:
    return Clip(
        motion=motion,
        character=character,
        name=raw.takes[take].name if raw.takes else character.name,
        takes=raw.takes,
        take=take,
        conversion=conversion,
        notes=tuple(notes),
        contents=raw.contents,
        layout=raw.layout,
    )


def _with_skeleton(character: Character, skeleton: Skeleton) -> Character:
    """Return the character with the skeleton of another take, whose bone offsets may differ."""
    if skeleton.same_as(character.skeleton):
        return character
    return humanoid.make_character(
        skeleton, character.roles, name=character.name, skin=character.skin, source=character.source
    )


def _find_conversion(
    raw: RawCharacter,
    path: str | Path,
    positions: NDArray,
    roles: Roles | None,
    units: str | float | None,
    up: str | None,
    notes: list[str],
) -> Conversion:
    """Return the conversion: the caller's units and up axis, else the file's, else detected ones."""
    forced_up, forced_units = up is not None, units is not None
    if up is None:
        up = raw.up or humanoid.find_up(raw.skeleton, roles, positions)
    upright = turn_of(up, path)
    if units is not None:
        scale = metres_per_unit(units, path)
        name = units if isinstance(units, str) else unit_name(scale)
    elif raw.scale is not None:
        name, scale = unit_name(raw.scale), raw.scale
    else:
        name, scale, note = humanoid.find_units(raw.skeleton, roles, UNITS)
        if note:
            notes.append(note)
    if not (np.isfinite(scale) and scale > 0):
        raise FormatError(f"expected a positive number of metres per unit, got {scale}", path=path)
    declared = (forced_up or raw.up is not None) and (forced_units or raw.scale is not None)
    turn = upright if raw.facing is None else _facing_turn(upright, raw.facing)
    w, x, y, z = (float(value) for value in turn)
    return Conversion(name, scale, up, declared, (w, x, y, z), raw.facing)


def _facing_turn(upright: NDArray, facing: str) -> NDArray:
    """Return the rotation that takes a file's character upright and then, about the vertical, to face +z."""
    axis = rotation.AXES[facing[-1]] * (-1.0 if facing.startswith("-") else 1.0)
    x, y, z = np.round(rotation.rotate(upright, axis))
    # with a forced up axis, the forward axis may end up vertical: then the heading is left unchanged
    if y or z > 0:
        return upright
    about = [0.0, 0.0, 1.0, 0.0] if z < 0 else rotation.from_axis_angle([0.0, 1.0, 0.0], -x * np.pi / 2)
    return rotation.multiply(about, upright)


def _doubt_units(height: float, scale: float) -> list[str]:
    """Return a note if the stated units give an implausible height and others a human one. height: file units."""
    low, high = SETTINGS.plausible_heights
    shortest, tallest = SETTINGS.human_heights
    if low <= height * scale <= high or not height > 0:
        return []
    usual = ("cm", "mm", "m", "dm", "inch", "cmu", "foot")
    better = [name for name in usual if shortest <= height * UNITS[name] <= tallest]
    # stylised characters may be no taller than a child
    better = better or [name for name in usual if low <= height * UNITS[name] <= high]
    cure = f'units="{better[0]}" (--units {better[0]}) makes it {height * UNITS[better[0]]:.2f} m' if better else ""
    ratio = height * scale / HUMAN_HEIGHT
    factor = f"{ratio:.3g} times" if ratio >= 1 else f"1/{1 / ratio:.3g}"
    return [
        f"the character is {height * scale:.3g} m tall in the units that its format states, {factor} the height of a "
        f"person; {cure or 'no common unit makes it human'}; height=1.75 (--height 1.75) sets it"
    ]


def metres_per_unit(units: str | float, path: str | Path | None = None) -> float:
    """Return metres per unit, for a name in `UNITS` or a number of metres."""
    if isinstance(units, str) and units not in UNITS:
        known = ", ".join(UNITS)
        raise FormatError(f"expected units among {known} or a number of metres per unit, got {units!r}", path=path)
    scale = UNITS[units] if isinstance(units, str) else float(units)
    if not (np.isfinite(scale) and scale > 0):
        raise FormatError(f"expected a positive number of metres per unit, got {scale}", path=path)
    return scale


def turn_of(up: str, path: str | Path | None = None) -> NDArray:
    """Return the rotation (4,) that takes a vertical axis to +y; up: a key of `UP_TURNS`."""
    if up not in UP_TURNS:
        raise FormatError(f"expected an up axis among {', '.join(UP_TURNS)}, got {up!r}", path=path)
    return UP_TURNS[up]


def unit_name(scale: float) -> str:
    """Return the name of a unit of that many metres, or "unknown"."""
    for name, value in UNITS.items():
        if np.isclose(scale, value, rtol=1e-3):
            return name
    return "unknown"


def _some_frames(motion: Motion) -> Motion:
    """Return a subset of about `sampled_frames` frames, evenly spaced."""
    return motion[:: max(1, len(motion) // SETTINGS.sampled_frames)]


def _convert(motion: Motion, scale: float, turn: NDArray) -> Motion:
    """Return the motion scaled, then rotated as a whole."""
    skeleton = _converted(SkeletonKey(motion.skeleton), float(scale), tuple(turn.tolist()))
    root, rotations = motion.root * scale, motion.rotations
    if not np.array_equal(turn, rotation.IDENTITY):
        root, rotations = rotation.rotate(turn, root), np.array(rotations)
        rotations[:, 0] = rotation.multiply(turn, rotations[:, 0])
    offsets = None if motion.offsets is None else motion.offsets * scale
    return replace(motion, skeleton=skeleton, root=root, rotations=rotations, offsets=offsets)


@lru_cache(maxsize=CACHE_SIZE)
def _converted(key: SkeletonKey, scale: float, turn: tuple[float, ...]) -> Skeleton:
    """Return the skeleton scaled, then rotated; cached, since many clips share one skeleton."""
    return key.skeleton.scaled(scale).turned(np.array(turn))


def _convert_skin(skin: Skin, scale: float, turn) -> Skin:
    """Return the skin scaled and rotated: bind matrices B, with translations scaled, become B·R⁻¹."""
    back = np.eye(4)
    back[:3, :3] = rotation.to_matrix(rotation.inverse(turn))
    inverse_bind = np.array(skin.inverse_bind)
    inverse_bind[:, :3, 3] *= scale
    return replace(
        skin,
        vertices=rotation.rotate(turn, skin.vertices) * scale,
        normals=None if skin.normals is None else rotation.rotate(turn, skin.normals),
        inverse_bind=inverse_bind @ back,
        looks=None if skin.looks is None else converted_looks(skin.looks, scale, turn),
    )


def undo_conversion(motion: Motion, conversion: Conversion) -> Motion:
    """Return the motion in its file's own units and axes: the inverse of `clip_from_raw`."""
    turn = rotation.inverse(np.array(conversion.turn))
    return _convert(motion, 1.0 / conversion.scale, turn)
