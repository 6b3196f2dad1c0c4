"""Build characters from the extracted content of a stage: joint order, names, the rest pose and the takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Take
from footplant.errors import FormatError
from footplant.io.place_bones import CONSTANT_TOLERANCE, place_bones
from footplant.io.usd.content import RawAnimation, RawSkeleton
from footplant.io.usd.pose import Folded, Locals, columns, fold, split
from footplant.motion import Motion
from footplant.skeleton import Skeleton

UNIT_ERROR = 0.05
"""A quaternion whose norm differs from 1 by more is an error; by less, it is normalised."""
SAME_POSE = 1e-4
"""Rest and bind poses whose offsets differ by less than this fraction of the character's size are equal."""
SAME_ANGLE = 1e-3
"""Radians. Rest and bind poses whose rotations differ by less are equal."""


@dataclass(frozen=True, eq=False)
class UsdCharacter:
    """One skeleton of a stage in our joint order, with what is needed to read and write its takes."""

    path: Path
    """The file."""
    raw: RawSkeleton
    order: tuple[int, ...]
    """The file's index of each of our joints, parents first; −1 for an added root above several trees."""
    parents: tuple[int, ...]
    skeleton: Skeleton
    """In the skin's bind pose, or in the rest pose if there is no skin; in file units and axes."""
    fallback: Locals
    """(1, J, …) transforms of joints that an animation does not contain."""
    scale_matrices: NDArray
    """(J, 3, 3) the M of each joint (see `pose`) for the skin."""
    scales: NDArray
    """(J, 3, 3) the corresponding stretches."""
    bind: NDArray
    """(J, 4, 4) for column vectors: each joint in skeleton space in the bind pose."""
    animations: tuple[RawAnimation, ...]
    takes: tuple[Take, ...]
    notes: tuple[str, ...]
    take_skeletons: list[Skeleton] = field(default_factory=list)
    """Skeletons of the takes read so far whose bone offsets differ from the rest pose."""

    @property
    def base(self) -> Locals:
        """(1, 1, …) transform above the skeleton."""
        return split(columns(self.raw.base)[None, None])

    def joint_paths(self) -> dict[str, int]:
        """Return our joint index for each joint path of the file."""
        return {self.raw.joints[old]: new for new, old in enumerate(self.order) if old >= 0}


def make_character(path: Path, raw: RawSkeleton) -> UsdCharacter:
    """Sort the joints of a skeleton parents first, and find its rest pose."""
    notes = list(raw.notes)
    order, parents = _sort_joints(path, raw)
    names = _names(raw, order, notes)
    first = raw.animations[0] if raw.animations else None
    rest, bind = _poses(path, raw, order, parents, first)
    base = split(columns(raw.base)[None, None])
    fallback = split(rest)
    rest_folded = fold(parents, fallback, base)
    bind_folded = fold(parents, split(_to_local(bind, parents)), base)
    differs = not _same_pose(rest_folded, bind_folded, parents)
    chosen = bind_folded if raw.meshes and differs else rest_folded
    place = {old: new for new, old in enumerate(order)}
    skeleton = Skeleton(
        names=tuple(names),
        parents=np.array(parents),
        offsets=np.concatenate([offset[:1] for offset in chosen.offsets]),
        rest=np.concatenate([turn[:1] for turn in chosen.rotations]),
        end_parents=np.array([place[parent] for parent in raw.end_parents], np.int64),
        end_offsets=np.array(raw.end_offsets, float).reshape(-1, 3),
    )
    animations = tuple(raw.animations)
    if raw.meshes and differs:
        notes.append("the mesh's bind pose differs from the file's rest pose; the bind pose was used")
        if not animations:
            rest_take = RawAnimation("", [], 30.0, 0.0, 1.0, 1, None, None, None, raw.base[None], True)
            animations = (rest_take,)
    takes = tuple(Take(_take_name(take), take.frames, take.fps) for take in animations)
    empty = UsdCharacter(
        path, raw, order, parents, skeleton, fallback, np.zeros(0), np.zeros(0), bind, animations, takes, tuple(notes)
    )
    # the skin is scaled as in the first take if its scale is constant, else as in the rest pose
    constant = bool(animations) and (animations[0].scales is None or _is_constant(animations[0].scales))
    local, above = read_locals(empty, _first_frame(animations[0])) if constant else (fallback, base)
    scale_matrices = np.concatenate([matrices[:1] for matrices in fold(parents, local, above).scale_matrices])
    return replace(empty, scale_matrices=scale_matrices, scales=local.stretches[0])


def _is_constant(values: NDArray) -> bool:
    return bool(np.abs(values - values[:1]).max(initial=0.0) <= CONSTANT_TOLERANCE)


def _first_frame(take: RawAnimation) -> RawAnimation:
    """Return the animation cut to its first frame."""
    parts = {name: getattr(take, name) for name in ("translations", "rotations", "scales", "bases")}
    return replace(take, frames=1, **{name: None if values is None else values[:1] for name, values in parts.items()})


def _take_name(animation: RawAnimation) -> str:
    return animation.path.rpartition("/")[2] or "rest"


def _sort_joints(path: Path, raw: RawSkeleton) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return our joint order, parents first and otherwise as in the file, and the parent of each joint."""
    places: dict[str, int] = {}
    for number, joint in enumerate(raw.joints):
        if not joint.strip("/") or joint in places:
            raise FormatError(f"expected unique joint paths, got {joint!r} twice or empty", path=path, where=raw.path)
        places[joint] = number
    above = []
    for joint in raw.joints:
        parent = joint.rpartition("/")[0]
        while parent and parent not in places:
            parent = parent.rpartition("/")[0]
        above.append(places.get(parent, -1) if parent else -1)
    depth = [len(joint.split("/")) for joint in raw.joints]
    early = all(parent < number for number, parent in enumerate(above))
    order = list(range(len(above))) if early else sorted(range(len(above)), key=lambda number: (depth[number], number))
    if sum(parent < 0 for parent in above) > 1:
        order = [-1, *order]
    number = {old: new for new, old in enumerate(order)}
    # joints without a parent are children of the added root, if there is one
    parents = [-1 if old < 0 else number.get(above[old], -1) for old in order]
    return tuple(order), tuple(parents)


def _names(raw: RawSkeleton, order: Sequence[int], notes: list[str]) -> list[str]:
    """Return unique joint names: the file's own, else the last part of the path, prefixed with parents as needed."""
    given = raw.joint_names
    if given is not None and len(set(given)) == len(given) and all(given):
        chosen = list(given)
    else:
        parts = [[part for part in joint.split("/") if part] for joint in raw.joints]
        length = [1] * len(parts)
        for _ in range(8):
            chosen = ["_".join(part[-size:]) for part, size in zip(parts, length, strict=True)]
            counts: dict[str, int] = {}
            for name in chosen:
                counts[name] = counts.get(name, 0) + 1
            if len(counts) == len(chosen):
                break
            length = [size + (counts[name] > 1) for size, name in zip(length, chosen, strict=True)]
        if max(length) > 1:
            ambiguous = sum(size > 1 for size in length)
            notes.append(f"{ambiguous} joints share the last part of their paths; parents were added to the names")
    taken: set[str] = set()
    out = []
    for old in order:
        name = base = "root" if old < 0 else chosen[old]
        number = 1
        while name in taken or (old < 0 and name in chosen):
            name, number = f"{base}_{number}", number + 1
        taken.add(name)
        out.append(name)
    return out


def _poses(
    path: Path, raw: RawSkeleton, order: Sequence[int], parents: Sequence[int], first: RawAnimation | None
) -> tuple[NDArray, NDArray]:
    """Return (1, J, 4, 4) the rest pose in the parents' spaces, and (J, 4, 4) the bind pose in skeleton space."""
    count = len(order)
    kept = [max(old, 0) for old in order]
    synthetic = order[0] < 0
    rest = bind = None
    if raw.rest is not None:
        rest = columns(raw.rest)[kept]
    if raw.bind is not None:
        bind = columns(raw.bind)[kept]
    for matrices in (rest, bind):
        if matrices is not None and synthetic:
            matrices[0] = np.eye(4)
    if rest is None and bind is None:
        rest = np.tile(np.eye(4), (count, 1, 1))
        if first is not None and first.translations is not None and first.rotations is not None:
            for number, joint in enumerate(first.joints):
                place = next((new for new, old in enumerate(order) if old >= 0 and raw.joints[old] == joint), None)
                if place is not None:
                    turn = _quaternions(path, first, first.rotations[:1, number])[0]
                    rest[place, :3, :3] = rotation.to_matrix(rotation.normalize(turn))
                    rest[place, :3, 3] = first.translations[0, number]
    if rest is None:
        assert bind is not None
        rest = _to_local(bind, parents)[0]
    if bind is None:
        bind = np.array(rest)
        for joint, parent in enumerate(parents):
            if parent >= 0:
                bind[joint] = bind[parent] @ rest[joint]
    for matrices, label in ((rest, "restTransforms"), (bind, "bindTransforms")):
        if not np.isfinite(matrices).all():
            raise FormatError(f"expected finite {label}, got NaN or infinity", path=path, where=raw.path)
    return rest[None], bind


def _to_local(world: NDArray, parents: Sequence[int]) -> NDArray:
    """Return (1, J, 4, 4) matrices in the parents' spaces from (J, 4, 4) in the skeleton's."""
    out = np.array(world)
    for joint, parent in enumerate(parents):
        if parent >= 0:
            out[joint] = invert(world[parent]) @ world[joint]
    return out[None]


def invert(matrix: NDArray) -> NDArray:
    """Return the inverse of a matrix, or the pseudo-inverse of a singular one."""
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(matrix)


def _same_pose(a: Folded, b: Folded, parents: Sequence[int]) -> bool:
    """Return whether two poses have the same joint offsets and rotations."""
    size = max(float(sum(np.linalg.norm(offset) for offset in a.offsets[1:])), 1e-9) / max(len(parents), 1)
    moved = max(float(np.abs(x - y).max()) for x, y in zip(a.offsets, b.offsets, strict=True))
    turned = max(float(rotation.angle(x, y).max()) for x, y in zip(a.rotations, b.rotations, strict=True))
    return moved <= max(SAME_POSE * size * len(parents) ** 0.5, 1e-9) and turned <= SAME_ANGLE


def _quaternions(path: Path, take: RawAnimation, values: NDArray) -> NDArray:
    """Return (…, 4) quaternions (w, x, y, z) from USD's arrays, of unit length up to rounding in the file."""
    norms = np.sqrt(np.einsum("...k,...k->...", values, values))
    if not (np.abs(norms - 1.0) <= UNIT_ERROR).all():
        worst = norms.flat[int(np.argmax(np.where(np.isfinite(norms), np.abs(norms - 1.0), np.inf)))]
        raise FormatError(f"expected unit quaternions, got one of length {worst:.6g}", path=path, where=take.path)
    return values[..., [3, 0, 1, 2]]


def read_locals(character: UsdCharacter, take: RawAnimation) -> tuple[Locals, Locals]:
    """Return the local transforms of all joints of a take, and the transform above them, as in the file."""
    for name in ("translations", "scales", "bases"):
        values = getattr(take, name)
        if values is not None and not np.isfinite(values).all():
            raise FormatError(f"expected finite {name}, got NaN or infinity", path=character.path, where=take.path)
    places = character.joint_paths()
    pairs = [(new, number) for number, joint in enumerate(take.joints) if (new := places.get(joint)) is not None]
    into, taken = [new for new, _ in pairs], [number for _, number in pairs]
    translations, rotations, stretches = (
        character.fallback.translations,
        character.fallback.rotations,
        character.fallback.stretches,
    )

    def filled(array: NDArray, values: NDArray) -> NDArray:
        """Return the values, or the array with them filled in, in their own type: 32 bits halve long takes."""
        if into == taken == list(range(array.shape[1])):
            return values
        out = np.array(np.broadcast_to(array, (len(values), *array.shape[1:])), values.dtype)
        out[:, into] = values[:, taken]
        return out

    if take.translations is not None:
        translations = filled(translations, take.translations)
    if take.rotations is not None:
        rotations = filled(rotations, _quaternions(character.path, take, take.rotations))
    if take.scales is not None or take.rotations is not None:
        # an animated joint without scales is unscaled, whatever its rest transform
        scales = np.ones((1, len(take.joints), 3)) if take.scales is None else np.asarray(take.scales, float)
        scales = scales[:1] if _is_constant(scales) else scales
        stretches = filled(stretches, scales[..., None] * np.eye(3))
    return Locals(translations, rotations, stretches), split(columns(take.bases)[:, None])


def read_motion(character: UsdCharacter, number: int, notes: list[str]) -> Motion:
    """Return one take as a motion of the character."""
    take = character.animations[number]
    local, base = read_locals(character, take)
    if local.stretches.shape[0] > 1:
        notes.append("scale is animated; bone lengths follow it, the thickness of the mesh does not")
    if not take.even:
        notes.append(f"the take's samples are not evenly spaced; it was sampled at {take.fps:g} frames per second")
    missing = [key for key in ("translations", "rotations") if getattr(take, key) is None]
    if missing and take.path:
        notes.append(f"the take has no {' and no '.join(missing)}; the rest pose's were used")
    folded = fold(character.parents, local, base)
    rotations = np.empty((take.frames, len(character.parents), 4))
    for joint, curve in enumerate(folded.rotations):
        rotations[:, joint] = curve
    folded.rotations.clear()
    rotations.setflags(write=False)
    root = np.array(np.broadcast_to(folded.offsets[0], (take.frames, 3)))
    skeleton, offsets = place_bones(character.skeleton, folded.offsets, take.frames, notes)
    if skeleton is not character.skeleton:
        character.take_skeletons.append(skeleton)
    return Motion(skeleton, root, rotations, take.fps, offsets)
