"""The conversion: a file's figure becomes metres and y up, and the conversion says what it did."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant import humanoid, rotation
from footplant.clip import Clip, Conversion
from footplant.errors import FormatError, HumanoidError
from footplant.humanoid.cache import CACHE_SIZE, SkeletonKey, same_roles, same_skeleton
from footplant.io.character import RawCharacter
from footplant.kinematics import Kinematics
from footplant.motion import Motion, rest_motion
from footplant.skeleton import Character, Roles, Skeleton, Skin

UNITS = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "foot": 0.3048, "cmu": 0.0254 / 0.45}
"""Metres per unit, by the names that `units=` takes."""
UP_TURNS = {
    "y": rotation.IDENTITY,
    "-y": np.array([0.0, 1.0, 0.0, 0.0]),
    "z": rotation.from_axis_angle([1.0, 0, 0], -np.pi / 2),
    "-z": rotation.from_axis_angle([1.0, 0, 0], np.pi / 2),
    "x": rotation.from_axis_angle([0, 0, 1.0], np.pi / 2),
    "-x": rotation.from_axis_angle([0, 0, 1.0], -np.pi / 2),
}
"""The turn that brings each vertical axis to +y."""
BELIEVABLE = (0.2, 12.0)
"""Standing heights of toys and giants, metres; beyond them stated units are doubted."""


def clip_from_raw(
    figure: RawCharacter,
    path: str | Path,
    *,
    take: int = 0,
    units: str | float | None = None,
    up: str | None = None,
    corrections: dict[str, tuple[str, ...]] | None = None,
    like: Clip | None = None,
) -> Clip:
    """Convert one figure of a file into a clip: roles found, units and up axis found or forced.

    like: another take of the same figure; what was found of it holds for this one too.
    """
    notes = list(figure.notes)
    motion = figure.read_take(take) if figure.takes and figure.read_take else rest_motion(figure.skeleton)
    if figure.takes and figure.take_notes:
        notes.extend(figure.take_notes(take))
    if figure.read_character is not None and units in (None, "m", 1.0) and up in (None, "y") and not corrections:
        return _make_clip(figure, take, motion, figure.read_character(take), Conversion(declared=True), notes)
    if like is not None:
        motion = _convert(motion, like.conversion.scale, np.array(like.conversion.turn))
        return _make_clip(figure, take, motion, _same_person(like.character, motion.skeleton), like.conversion, notes)
    figure = replace(figure, skeleton=same_skeleton(figure.skeleton))
    positions = Kinematics(_some_frames(motion)).positions
    try:
        roles = same_roles(
            humanoid.find_roles(figure.skeleton, declared=figure.roles, corrections=corrections, positions=positions)
        )
    except HumanoidError as error:
        if corrections:
            raise
        roles = None
        notes.append(str(error))
    conversion = _find_conversion(figure, path, positions, roles, units, up, notes)
    turn = np.array(conversion.turn)
    motion = _convert(motion, conversion.scale, turn)
    if roles is not None:
        roles = humanoid.with_reference(motion.skeleton, roles, _some_frames(motion).rotations)
    skin = None if figure.skin is None else _convert_skin(figure.skin, conversion.scale, turn)
    name = figure.name or Path(path).stem
    character = humanoid.make_character(motion.skeleton, roles, name=name, skin=skin, source=figure.source)
    return _make_clip(figure, take, motion, character, conversion, notes)


def _make_clip(
    figure: RawCharacter, take: int, motion: Motion, character: Character, conversion: Conversion, notes: list[str]
) -> Clip:
    return Clip(
        motion=motion,
        character=character,
        name=figure.takes[take].name if figure.takes else character.name,
        takes=figure.takes,
        take=take,
        conversion=conversion,
        notes=tuple(notes),
        layout=figure.layout,
    )


def _same_person(character: Character, skeleton: Skeleton) -> Character:
    """The character with the skeleton of another take, which may hold joints at other places."""
    if skeleton.same_as(character.skeleton):
        return character
    return humanoid.make_character(
        skeleton, character.roles, name=character.name, skin=character.skin, source=character.source
    )


def _find_conversion(
    figure: RawCharacter,
    path: str | Path,
    positions: NDArray,
    roles: Roles | None,
    units: str | float | None,
    up: str | None,
    notes: list[str],
) -> Conversion:
    forced_up, forced_units = up is not None, units is not None
    if up is None:
        up = figure.up or humanoid.find_up(figure.skeleton, roles, positions)
    upright = turn_of(up, path)
    if units is not None:
        scale = metres_per_unit(units, path)
        name = units if isinstance(units, str) else unit_name(scale)
    elif figure.scale is not None:
        name, scale = unit_name(figure.scale), figure.scale
        if roles is not None:
            notes.extend(_doubt_units(humanoid.standing_height(figure.skeleton, roles), scale))
    else:
        name, scale, note = humanoid.find_units(figure.skeleton, roles, UNITS)
        if note:
            notes.append(note)
    if not (np.isfinite(scale) and scale > 0):
        raise FormatError(f"expected a positive number of metres per unit, got {scale}", path=path)
    declared = (forced_up or figure.up is not None) and (forced_units or figure.scale is not None)
    turn = upright if figure.facing is None else _facing_turn(upright, figure.facing)
    w, x, y, z = (float(value) for value in turn)
    return Conversion(name, scale, up, declared, (w, x, y, z), figure.facing)


def _facing_turn(upright: NDArray, facing: str) -> NDArray:
    """The turn that brings a file's figure upright and then, about the vertical, to face +z."""
    axis = rotation.AXES[facing[-1]] * (-1.0 if facing.startswith("-") else 1.0)
    x, y, z = np.round(rotation.rotate(upright, axis))
    # who was told another up axis than the file states may have made the figure face the sky: that way is left alone
    if y or z > 0:
        return upright
    about = [0.0, 0.0, 1.0, 0.0] if z < 0 else rotation.from_axis_angle([0.0, 1.0, 0.0], -x * np.pi / 2)
    return rotation.multiply(about, upright)


def _doubt_units(height: float, scale: float) -> list[str]:
    """A note when the units that a file states make a giant or a dwarf of a figure that other units make human."""
    low, high = BELIEVABLE
    better = [name for name in ("cm", "mm", "m") if 1.2 <= height * UNITS[name] <= 2.2]
    if low <= height * scale <= high or not better:
        return []
    return [
        f"the figure stands {height * scale:.3g} m by the units its format states; it may have been meant in "
        f'{better[0]}: units="{better[0]}" (--units {better[0]}) makes it {height * UNITS[better[0]]:.2f} m'
    ]


def metres_per_unit(units: str | float, path: str | Path | None = None) -> float:
    """Metres of a unit, by its name in `UNITS` or as a number already."""
    if isinstance(units, str) and units not in UNITS:
        known = ", ".join(UNITS)
        raise FormatError(f"expected units among {known} or a number of metres per unit, got {units!r}", path=path)
    scale = UNITS[units] if isinstance(units, str) else float(units)
    if not (np.isfinite(scale) and scale > 0):
        raise FormatError(f"expected a positive number of metres per unit, got {scale}", path=path)
    return scale


def turn_of(up: str, path: str | Path | None = None) -> NDArray:
    """The turn that brings a vertical axis to +y, by the axis' name in `UP_TURNS`."""
    if up not in UP_TURNS:
        raise FormatError(f"expected an up axis among {', '.join(UP_TURNS)}, got {up!r}", path=path)
    return UP_TURNS[up]


def unit_name(scale: float) -> str:
    """The name of a unit by its metres; "unknown" when it has none."""
    for name, value in UNITS.items():
        if np.isclose(scale, value, rtol=1e-3):
            return name
    return "unknown"


def _some_frames(motion: Motion, count: int = 200) -> Motion:
    """At most about `count` frames, evenly spread: enough to see which way is up."""
    return motion[:: max(1, len(motion) // count)]


def _convert(motion: Motion, scale: float, turn: NDArray) -> Motion:
    skeleton = _converted(SkeletonKey(motion.skeleton), float(scale), tuple(turn.tolist()))
    root, rotations = motion.root * scale, motion.rotations
    if not np.array_equal(turn, rotation.IDENTITY):
        root, rotations = rotation.rotate(turn, root), np.array(rotations)
        rotations[:, 0] = rotation.multiply(turn, rotations[:, 0])
    offsets = None if motion.offsets is None else motion.offsets * scale
    return replace(motion, skeleton=skeleton, root=root, rotations=rotations, offsets=offsets)


@lru_cache(maxsize=CACHE_SIZE)
def _converted(key: SkeletonKey, scale: float, turn: tuple[float, ...]) -> Skeleton:
    return key.skeleton.scaled(scale).turned(np.array(turn))


def _convert_skin(skin: Skin, scale: float, turn) -> Skin:
    """Bind matrices take mesh space to joint frames: lengths scale, and the turn of mesh space is undone first."""
    back = np.eye(4)
    back[:3, :3] = rotation.to_matrix(rotation.inverse(turn))
    inverse_bind = np.array(skin.inverse_bind)
    inverse_bind[:, :3, 3] *= scale
    return replace(
        skin,
        vertices=rotation.rotate(turn, skin.vertices) * scale,
        normals=None if skin.normals is None else rotation.rotate(turn, skin.normals),
        inverse_bind=inverse_bind @ back,
    )


def undo_conversion(motion: Motion, conversion: Conversion) -> Motion:
    """The motion in a file's own units and axes again: the inverse of what `clip_from_raw` did."""
    turn = rotation.inverse(np.array(conversion.turn))
    return _convert(motion, 1.0 / conversion.scale, turn)
