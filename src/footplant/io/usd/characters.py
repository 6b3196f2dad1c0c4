"""What was taken out of a stage, as figures: joints in order, their names, the rest pose and the takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Take
from footplant.errors import FormatError
from footplant.io.place_bones import STEADY, place_bones
from footplant.io.usd.content import RawAnimation, RawSkeleton
from footplant.io.usd.pose import Folded, Locals, columns, fold, split
from footplant.motion import Motion
from footplant.skeleton import Skeleton

UNIT_ERROR = 0.05
"""A quaternion whose length is off by more is damage; one that is off by less is normalised."""
ALIKE = 1e-4
"""Rest and bind poses that differ by less than this share of the figure's size are one."""


@dataclass(frozen=True, eq=False)
class Figure:
    """One skeleton of a stage in our order of joints, with what is needed to read and write its takes."""

    path: Path
    """The file."""
    raw: RawSkeleton
    order: tuple[int, ...]
    """Joint of the file for each of our joints, parents first; −1 for a root of ours that joins several trees."""
    parents: tuple[int, ...]
    skeleton: Skeleton
    """The pose that the skin was bound in, or the rest pose where there is no skin; in the file's units and axes."""
    fallback: Locals
    """(1, J, …) transforms of joints that an animation does not name."""
    spreads: NDArray
    """(J, 3, 3) the M of each joint (see `pose`) as the skin is posed."""
    scales: NDArray
    """(J, 3, 3) the stretches that go with it."""
    bind: NDArray
    """(J, 4, 4) for column vectors: each joint in skeleton space as the skin was bound."""
    animations: tuple[RawAnimation, ...]
    takes: tuple[Take, ...]
    notes: tuple[str, ...]
    take_skeletons: list[Skeleton] = field(default_factory=list)
    """Skeletons of takes that hold joints at other places than the rest pose, as far as they were read."""

    @property
    def base(self) -> Locals:
        """(1, 1, …) what stands above the skeleton."""
        return split(columns(self.raw.base)[None, None])

    def joint_paths(self) -> dict[str, int]:
        """Our joint of each joint path of the file."""
        return {self.raw.joints[old]: new for new, old in enumerate(self.order) if old >= 0}


def make_figure(path: Path, raw: RawSkeleton) -> Figure:
    """Sort the joints of a skeleton and find its rest pose."""
    notes = list(raw.notes)
    order, parents = _sort_joints(path, raw)
    names = _names(raw, order, notes)
    first = raw.animations[0] if raw.animations else None
    rest, bind = _poses(path, raw, order, parents, first)
    base = split(columns(raw.base)[None, None])
    fallback = split(rest)
    rest_folded = fold(parents, fallback, base)
    bind_folded = fold(parents, split(_to_local(bind, parents)), base)
    differs = not _alike(rest_folded, bind_folded, parents)
    standing = bind_folded if raw.meshes and differs else rest_folded
    place = {old: new for new, old in enumerate(order)}
    skeleton = Skeleton(
        names=tuple(names),
        parents=np.array(parents),
        offsets=np.concatenate([offset[:1] for offset in standing.offsets]),
        rest=np.concatenate([turn[:1] for turn in standing.rotations]),
        end_parents=np.array([place[parent] for parent in raw.end_parents], np.int64),
        end_offsets=np.array(raw.end_offsets, float).reshape(-1, 3),
    )
    animations = tuple(raw.animations)
    if raw.meshes and differs:
        notes.append("the mesh was bound in another pose than the file's rest pose; the pose it was bound in was taken")
        if not animations:
            bare = RawAnimation("", [], 30.0, 0.0, 1.0, 1, None, None, None, raw.base[None], True)
            animations = (bare,)
    takes = tuple(Take(_take_name(take), take.frames, take.fps) for take in animations)
    empty = Figure(
        path, raw, order, parents, skeleton, fallback, np.zeros(0), np.zeros(0), bind, animations, takes, tuple(notes)
    )
    # the skin is scaled as its first take has it, when that is constant; else as in the rest pose
    steady = bool(animations) and (animations[0].scales is None or _steady(animations[0].scales))
    local, above = read_locals(empty, _first_frame(animations[0])) if steady else (fallback, base)
    spreads = np.concatenate([spread[:1] for spread in fold(parents, local, above).spreads])
    return replace(empty, spreads=spreads, scales=local.stretches[0])


def _steady(values: NDArray) -> bool:
    return bool(np.abs(values - values[:1]).max(initial=0.0) <= STEADY)


def _first_frame(take: RawAnimation) -> RawAnimation:
    parts = {name: getattr(take, name) for name in ("translations", "rotations", "scales", "bases")}
    return replace(take, frames=1, **{name: None if values is None else values[:1] for name, values in parts.items()})


def _take_name(animation: RawAnimation) -> str:
    return animation.path.rpartition("/")[2] or "rest"


def _sort_joints(path: Path, raw: RawSkeleton) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Our order of the joints, parents first and else as in the file, and each one's parent in it."""
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
    # a joint without parent hangs on the root of ours, where there is one
    parents = [-1 if old < 0 else number.get(above[old], -1) for old in order]
    return tuple(order), tuple(parents)


def _names(raw: RawSkeleton, order: Sequence[int], notes: list[str]) -> list[str]:
    """A unique name a joint: the file's own names, else the last part of the path, with the parts above as needed."""
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
            twice = sum(size > 1 for size in length)
            notes.append(f"{twice} joints share the last part of their paths; the parts above it were added")
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
    """(1, J, 4, 4) the rest pose in the parents' spaces, and (J, 4, 4) the bind pose in skeleton space."""
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
    """(1, J, 4, 4) matrices in the parents' spaces from (J, 4, 4) in the skeleton's."""
    out = np.array(world)
    for joint, parent in enumerate(parents):
        if parent >= 0:
            out[joint] = invert(world[parent]) @ world[joint]
    return out[None]


def invert(matrix: NDArray) -> NDArray:
    """The inverse of a matrix; of a flattened one, the nearest thing."""
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(matrix)


def _alike(a: Folded, b: Folded, parents: Sequence[int]) -> bool:
    """Whether two poses put all joints to the same places, turned the same way."""
    size = max(float(sum(np.linalg.norm(offset) for offset in a.offsets[1:])), 1e-9) / max(len(parents), 1)
    moved = max(float(np.abs(x - y).max()) for x, y in zip(a.offsets, b.offsets, strict=True))
    turned = max(float(rotation.angle(x, y).max()) for x, y in zip(a.rotations, b.rotations, strict=True))
    return moved <= max(ALIKE * size * len(parents) ** 0.5, 1e-9) and turned <= 1e-3


def _quaternions(path: Path, take: RawAnimation, values: NDArray) -> NDArray:
    """(…, 4) quaternions (w, x, y, z) from USD's arrays, of unit length but for the rounding of the file's numbers."""
    norms = np.sqrt(np.einsum("...k,...k->...", values, values))
    if not (np.abs(norms - 1.0) <= UNIT_ERROR).all():
        worst = norms.flat[int(np.argmax(np.where(np.isfinite(norms), np.abs(norms - 1.0), np.inf)))]
        raise FormatError(f"expected unit quaternions, got one of length {worst:.6g}", path=path, where=take.path)
    return values[..., [3, 0, 1, 2]]


def read_locals(figure: Figure, take: RawAnimation) -> tuple[Locals, Locals]:
    """Transforms of all joints of a take, and of what stands above them, as the file has them."""
    for name in ("translations", "scales", "bases"):
        values = getattr(take, name)
        if values is not None and not np.isfinite(values).all():
            raise FormatError(f"expected finite {name}, got NaN or infinity", path=figure.path, where=take.path)
    places = figure.joint_paths()
    pairs = [(new, number) for number, joint in enumerate(take.joints) if (new := places.get(joint)) is not None]
    into, taken = [new for new, _ in pairs], [number for _, number in pairs]
    moves, turns, stretches = figure.fallback.moves, figure.fallback.turns, figure.fallback.stretches

    def grown(array: NDArray, values: NDArray) -> NDArray:
        """As many frames as the values have, in their own type: long takes are big enough in 32 bits."""
        if into == taken == list(range(array.shape[1])):
            return values
        out = np.array(np.broadcast_to(array, (len(values), *array.shape[1:])), values.dtype)
        out[:, into] = values[:, taken]
        return out

    if take.translations is not None:
        moves = grown(moves, take.translations)
    if take.rotations is not None:
        turns = grown(turns, _quaternions(figure.path, take, take.rotations))
    if take.scales is not None or take.rotations is not None:
        # an animated joint without scales has none, whatever its rest transform says
        scales = np.ones((1, len(take.joints), 3)) if take.scales is None else np.asarray(take.scales, float)
        scales = scales[:1] if _steady(scales) else scales
        stretches = grown(stretches, scales[..., None] * np.eye(3))
    return Locals(moves, turns, stretches), split(columns(take.bases)[:, None])


def read_motion(figure: Figure, number: int, notes: list[str]) -> Motion:
    """One take as a motion of the figure."""
    take = figure.animations[number]
    local, base = read_locals(figure, take)
    if local.stretches.shape[0] > 1:
        notes.append("scales are animated; bone lengths follow, the thickness of the mesh does not")
    if not take.even:
        notes.append(f"the take's samples lie on no even grid; it was read at {take.fps:g} frames a second")
    missing = [key for key in ("translations", "rotations") if getattr(take, key) is None]
    if missing and take.path:
        notes.append(f"the take has no {' and no '.join(missing)}; the rest pose's were taken")
    folded = fold(figure.parents, local, base)
    rotations = np.empty((take.frames, len(figure.parents), 4))
    for joint, curve in enumerate(folded.rotations):
        rotations[:, joint] = curve
    folded.rotations.clear()
    rotations.setflags(write=False)
    root = np.array(np.broadcast_to(folded.offsets[0], (take.frames, 3)))
    skeleton, offsets = place_bones(figure.skeleton, folded.offsets, take.frames, notes)
    if skeleton is not figure.skeleton:
        figure.take_skeletons.append(skeleton)
    return Motion(skeleton, root, rotations, take.fps, offsets)
