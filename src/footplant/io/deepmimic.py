"""DeepMimic text clips (Peng et al. 2018), read only: JSON with a row of numbers per frame, and physics characters.

A row is the frame's duration (seconds), the root's position and quaternion, and for each joint of the character what
its type needs: a quaternion (spherical), an angle about z (revolute), a translation along x (prismatic), two
translations and an angle (planar), nothing (fixed). Metres, y up, quaternions (w, x, y, z).

Clips do not name their character. It is `skeleton=PATH`, or a file near the clip named like a prefix of the clip's name
(humanoid3d_walk.txt: humanoid3d_character.txt, humanoid3d.txt, also in ../characters), or, for rows of 44 numbers,
DeepMimic's own humanoid, which is built in. A character file by itself loads as a static character.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Take
from footplant.errors import FormatError
from footplant.io.character import RawCharacter
from footplant.motion import Motion
from footplant.skeleton import Skeleton

extensions = (".txt",)
holds: frozenset[str] = frozenset()
WIDTHS = {"none": 7, "spherical": 4, "revolute": 1, "prismatic": 1, "planar": 3, "fixed": 0}
"""Joint type → numbers in a row; "none" is the root."""
MAX_JOINTS = 1000
MAX_LENGTH = 1e9
RATE_TOLERANCE = 0.01
"""Relative. Frame durations that differ less count as a constant rate; otherwise the motion is resampled."""
TRANSLATION = ("AttachX", "AttachY", "AttachZ")
ROTATION = ("AttachThetaX", "AttachThetaY", "AttachThetaZ")


@dataclass
class PhysicsCharacter:
    """A DeepMimic character: its joints in the order of the file."""

    names: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    offsets: list[tuple[float, ...]] = field(default_factory=list)
    turns: list[tuple[float, ...]] = field(default_factory=list)
    """Angles about x, y, z, in that order, of each joint's frame in its parent's; radians."""
    ends: list[tuple[int, tuple[float, ...]]] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Numbers per row, including the duration."""
        return 1 + sum(WIDTHS[kind] for kind in self.types)

    def skeleton(self) -> Skeleton:
        """Return the skeleton in its rest pose."""
        rest = rotation.from_euler(np.array(self.turns)[:, ::-1], "zyx")
        joints = np.array([joint for joint, _ in self.ends], np.int64)
        ends = np.array([place for _, place in self.ends]).reshape(-1, 3)
        return Skeleton(tuple(self.names), np.array(self.parents), np.array(self.offsets), rest, joints, ends)


def load(path: str | Path, *, skeleton: str | Path | None = None) -> tuple[RawCharacter, ...]:
    """Read a clip with its character, or a character alone. skeleton: the character's file."""
    path = Path(path)
    document = _document(_read(path), path)
    if "Skeleton" in document:
        return (_static_character(document, path),)
    known = None
    if skeleton is not None:
        known = _read_character(_document(_read(Path(skeleton)), skeleton), skeleton)
    elif (beside := _find_character(path)) is not None:
        known = _read_character(_document(_read(beside), beside), beside)
    return (_clip_character(document, known, path),)


def parse(data: bytes, path: str | Path | None = None, *, character: bytes | None = None) -> tuple[RawCharacter, ...]:
    """Read the bytes of a clip or a character file; character: the bytes of a clip's character file: see `load`."""
    document = _document(data, path)
    if "Skeleton" in document:
        return (_static_character(document, path),)
    known = None if character is None else _read_character(_document(character, path), path)
    return (_clip_character(document, known, path),)


def humanoid() -> PhysicsCharacter:
    """Return DeepMimic's own humanoid, which faces +x: 15 joints, rows of 44 numbers."""
    character = PhysicsCharacter()
    rows: list[tuple[str, str, int, tuple[float, float, float]]] = [
        ("root", "none", -1, (0, 0, 0)), ("chest", "spherical", 0, (0, 0.236, 0)),
        ("neck", "spherical", 1, (0, 0.224, 0)),
    ]  # fmt: skip
    for side, z in (("right", 1.0), ("left", -1.0)):
        first = len(rows)
        rows += [
            (f"{side}_hip", "spherical", 0, (0, 0, 0.085 * z)), (f"{side}_knee", "revolute", first, (0, -0.422, 0)),
            (f"{side}_ankle", "spherical", first + 1, (0, -0.41, 0)),
            (f"{side}_shoulder", "spherical", 1, (-0.024, 0.244, 0.183 * z)),
            (f"{side}_elbow", "revolute", first + 3, (0, -0.275, 0)),
            (f"{side}_wrist", "fixed", first + 4, (0, -0.259, 0)),
        ]  # fmt: skip
        character.ends += [(first + 2, (0.13, -0.05, 0)), (first + 2, (-0.04, -0.05, 0)), (first + 5, (0, -0.04, 0))]
    character.ends.append((2, (0, 0.28, 0)))
    for name, kind, parent, offset in rows:
        character.names.append(name)
        character.types.append(kind)
        character.parents.append(parent)
        character.offsets.append(offset)
        character.turns.append((0.0, 0.0, 0.0))
    return character


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error


def _find_character(path: Path) -> Path | None:
    """Return the character file whose name is a prefix of a clip's name, or None."""
    parts = path.stem.split("_")
    for count in range(len(parts), 0, -1):
        stem = "_".join(parts[:count])
        for place in (path.parent / f"{stem}_character.txt", path.parent / f"{stem}.txt",
                      path.parent.parent / "characters" / f"{stem}.txt"):  # fmt: skip
            if place.name != path.name and place.is_file() and b'"Skeleton"' in _read(place):
                return place
    return None


def _document(data: bytes, path: str | Path | None) -> dict[str, Any]:
    """Return the JSON object of a file; files whose JSON would take far more memory than their size are rejected."""
    expected = 'expected a DeepMimic clip (JSON with "Frames") or character (JSON with "Skeleton")'
    head = data[:64].removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head.startswith(b"{"):
        shown = head[:20].decode("latin-1")
        raise FormatError(f"{expected}, got text that starts with {shown!r}", path=path)
    weight = 64 * (data.count(b"[") + data.count(b"{")) + 64 * data.count(b'"') + 32 * data.count(b",")
    if weight > 6 * len(data) + (1 << 22):
        raise FormatError(f"{expected}, got JSON with far more brackets and words than numbers", path=path)
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{expected}, got damaged JSON: {str(error)[:120]}", path=path) from None
    if "Skeleton" not in document and "Frames" not in document:
        raise FormatError(
            f"{expected}, got JSON with {', '.join(map(repr, list(document)[:5])) or 'nothing'}", path=path
        )
    return document


def _number(row: dict[str, Any], key: str, where: str, path: str | Path | None) -> float:
    """Return a finite number, 0 if the key is missing."""
    value = row.get(key, 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_LENGTH:
        raise FormatError(f"expected a finite number for {key}, got {str(value)[:40]!r}", path=path, where=where)
    return float(value)


def _read_character(document: dict[str, Any], path: str | Path | None) -> PhysicsCharacter:
    """Return the character of a JSON document, checked."""
    skeleton = document.get("Skeleton")
    joints = skeleton.get("Joints") if isinstance(skeleton, dict) else None
    if not isinstance(joints, list) or not 0 < len(joints) <= MAX_JOINTS:
        raise FormatError(f"expected 1 to {MAX_JOINTS} Joints under Skeleton, got none or more", path=path)
    character = PhysicsCharacter()
    for number, joint in enumerate(joints):
        where = f"Skeleton.Joints[{number}]"
        if not isinstance(joint, dict) or not isinstance(joint.get("Name"), str):
            raise FormatError("expected a joint with a Name", path=path, where=where)
        kind, parent = joint.get("Type"), joint.get("Parent", -1)
        if kind not in WIDTHS or (kind == "none") != (number == 0):
            raise FormatError(
                f"expected the root of type none, then joints of types {', '.join(list(WIDTHS)[1:])}, "
                f"got {str(kind)[:40]!r}", path=path, where=where
            )  # fmt: skip
        if type(parent) is not int or not (parent == -1 if number == 0 else 0 <= parent < number):
            raise FormatError(f"expected a parent before the joint, got {str(parent)[:40]}", path=path, where=where)
        if joint["Name"] in character.names:
            raise FormatError(f"expected unique names, got {joint['Name'][:40]!r} again", path=path, where=where)
        character.names.append(joint["Name"])
        character.types.append(kind)
        character.parents.append(parent)
        character.offsets.append(tuple(_number(joint, key, where, path) for key in TRANSLATION))
        character.turns.append(tuple(_number(joint, key, where, path) for key in ROTATION))
    bodies = document.get("BodyDefs")
    leaves = set(range(len(joints))) - set(character.parents)
    for number, body in enumerate(bodies[: len(joints)] if isinstance(bodies, list) else ()):
        if number in leaves and isinstance(body, dict):
            ends = _ends(body, character.offsets[number], f"BodyDefs[{number}]", path)
            character.ends += [(number, end) for end in ends]
    return character


def _ends(
    body: dict[str, Any], bone: tuple[float, ...], where: str, path: str | Path | None
) -> list[tuple[float, ...]]:
    """Return the end sites of a leaf joint from its body: toe and heel of a box, else the far end of the shape."""
    place = np.array([_number(body, key, where, path) for key in TRANSLATION])
    size = [_number(body, f"Param{k}", where, path) for k in range(3)]
    if body.get("Shape") == "box":
        return [tuple((place + [sign * size[0] / 2, -size[1] / 2, 0.0]).tolist()) for sign in (1, -1)]
    way = place if np.any(place) else np.array(bone)
    length = float(np.linalg.norm(way))
    reach = size[0] / 2 + (size[1] / 2 if body.get("Shape") == "capsule" else 0.0)
    return [tuple((place + way / length * reach).tolist())] if length > 0 else []


def _static_character(document: dict[str, Any], path: str | Path | None) -> RawCharacter:
    name = Path(path).stem if path else ""
    return RawCharacter(name, _read_character(document, path).skeleton(), scale=1.0, up="y")


def _clip_character(document: dict[str, Any], known: PhysicsCharacter | None, path: str | Path | None) -> RawCharacter:
    notes: list[str] = []
    rows = _read_rows(document.get("Frames"), path)
    character = known
    if character is None:
        character = humanoid()
        notes.append("no character file was found for the clip; DeepMimic's own humanoid was used")
    if rows.shape[1] != character.width:
        whose = "its character file"
        if known is None:
            whose = "DeepMimic's humanoid; give the character file with skeleton=PATH (--skeleton)"
        raise FormatError(
            f"expected rows of {character.width} numbers for {whose}, got {rows.shape[1]}", path=path, where="Frames"
        )
    motion = _uniform(_pose(character, rows, path), rows[:-1, 0], notes, path)
    name = Path(path).stem if path else ""
    take = Take(name or "clip", len(motion), motion.fps)
    return RawCharacter(name, motion.skeleton, (take,), lambda take: motion, scale=1.0, up="y", notes=tuple(notes))


def _read_rows(frames: Any, path: str | Path | None) -> NDArray:
    """Return the rows (F, 1 + P), checked."""
    if not isinstance(frames, list) or not frames or not isinstance(frames[0], list):
        raise FormatError("expected a list of rows of numbers", path=path, where="Frames")
    width = len(frames[0])
    for number, row in enumerate(frames):
        if not isinstance(row, list) or len(row) != width:
            got = len(row) if isinstance(row, list) else "none"
            raise FormatError(
                f"expected {width} numbers as in the first row, got {got}", path=path, where=f"Frames[{number}]"
            )
        for value in row:
            if (type(value) is not float and type(value) is not int) or not abs(value) <= MAX_LENGTH:
                raise FormatError(
                    f"expected finite numbers, got {str(value)[:40]!r}", path=path, where=f"Frames[{number}]"
                )
    return np.array(frames, float).reshape(len(frames), width)


def _pose(character: PhysicsCharacter, rows: NDArray, path: str | Path | None) -> Motion:
    """Return the motion with one frame per row."""
    skeleton = character.skeleton()
    local = np.array(np.broadcast_to(skeleton.rest, (len(rows), *skeleton.rest.shape)))
    moving: NDArray | None = None
    at = 4
    for joint, kind in enumerate(character.types):
        if kind in ("none", "spherical"):
            turn = rows[:, at : at + 4]
            sizes = np.linalg.norm(turn, axis=-1)
            if len(rows) and not (sizes.min() > 0.5 and sizes.max() < 2.0):
                frame = int(np.argmax(np.abs(sizes - 1.0)))
                raise FormatError(
                    f"expected a unit quaternion for {character.names[joint]!r}, got one of length {sizes[frame]:g}",
                    path=path, where=f"Frames[{frame}]",
                )  # fmt: skip
            local[:, joint] = turn if kind == "none" else rotation.multiply(local[:, joint], turn)
            at += 4
            continue
        if kind in ("revolute", "planar"):
            spin = rotation.from_axis_angle(rotation.AXES["z"], rows[:, at + WIDTHS[kind] - 1])
            local[:, joint] = rotation.multiply(local[:, joint], spin)
        if kind in ("prismatic", "planar"):
            if moving is None:
                moving = np.array(np.broadcast_to(skeleton.offsets, (len(rows), *skeleton.offsets.shape)))
            shift = np.zeros((len(rows), 3))
            shift[:, : 1 + (kind == "planar")] = rows[:, at : at + 1 + (kind == "planar")]
            moving[:, joint] += rotation.rotate(skeleton.rest[joint], shift)
        at += WIDTHS[kind]
    return Motion(skeleton, rows[:, 1:4], rotation.normalize(local), 30.0, moving)


def _uniform(motion: Motion, durations: NDArray, notes: list[str], path: str | Path | None) -> Motion:
    """Return the motion at the frame rate given by the frames' durations, resampled if they vary."""
    if not len(durations):
        return motion
    if durations.min() <= 0:
        frame = int(np.argmin(durations))
        raise FormatError(
            f"expected a frame to last longer than 0 s, got {durations[frame]:g}", path=path, where=f"Frames[{frame}]"
        )
    step, total = float(np.median(durations)), float(durations.sum())
    if total > 2.0 * step * len(motion):
        step = total / len(durations)
    if not 1e-6 < step < 1e6:
        raise FormatError(f"expected frames of some milliseconds, got {step:g} s", path=path, where="Frames")
    if np.abs(durations - step).max() > RATE_TOLERANCE * step:
        times = np.concatenate([[0.0], np.cumsum(durations)])
        wanted = np.arange(int(total / step + RATE_TOLERANCE) + 1) * step
        motion = motion.at(np.interp(wanted, times, np.arange(len(times))) / motion.fps)
        notes.append(f"frame durations vary; the motion was resampled at {1.0 / step:.4g} frames per second")
    return replace(motion, fps=1.0 / step)


__all__ = ["extensions", "holds", "humanoid", "load", "parse"]
