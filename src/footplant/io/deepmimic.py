"""DeepMimic's text clips in (Peng et al. 2018): JSON with a row of numbers a frame, and characters of simulated bodies.

A row is the frame's duration (seconds), the root's position and quaternion, and for each joint of the character in turn
what its type needs: a quaternion (spherical), an angle about z (revolute), a shift along x (prismatic), two shifts and
an angle (planar), nothing (fixed). Metres, y up, quaternions (w, x, y, z).

Clips do not say whose they are. The character is `skeleton=PATH`, or a file beside the clip named like its beginning
(humanoid3d_walk.txt: humanoid3d_character.txt, humanoid3d.txt, also in ../characters), or, for rows of 44 numbers, the
humanoid of DeepMimic itself, which is known. A character file by itself loads as a character.
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
"""Numbers that a joint has in a row, by its type; "none" is the root."""
MAX_JOINTS = 1000
MAX_LENGTH = 1e9
UNEVEN = 0.01
"""Relative difference of durations up to which frames come at a constant rate."""
PLACES = ("AttachX", "AttachY", "AttachZ")
TURNS = ("AttachThetaX", "AttachThetaY", "AttachThetaZ")


@dataclass
class Figure:
    """A character: its joints in the order of the file."""

    names: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    offsets: list[tuple[float, ...]] = field(default_factory=list)
    turns: list[tuple[float, ...]] = field(default_factory=list)
    """Radians about x, y, z, in that order, of each joint's frame in its parent's."""
    ends: list[tuple[int, tuple[float, ...]]] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Numbers of a row, the duration included."""
        return 1 + sum(WIDTHS[kind] for kind in self.types)

    def skeleton(self) -> Skeleton:
        """The joints at rest."""
        rest = rotation.from_euler(np.array(self.turns)[:, ::-1], "zyx")
        joints = np.array([joint for joint, _ in self.ends], np.int64)
        ends = np.array([place for _, place in self.ends]).reshape(-1, 3)
        return Skeleton(tuple(self.names), np.array(self.parents), np.array(self.offsets), rest, joints, ends)


def load(path: str | Path, *, skeleton: str | Path | None = None) -> tuple[RawCharacter, ...]:
    """Read a clip with its character, or a character alone. skeleton names the character's file."""
    path = Path(path)
    document = _document(_read(path), path)
    if "Skeleton" in document:
        return (_character_figure(document, path),)
    known = None
    if skeleton is not None:
        known = _read_character(_document(_read(Path(skeleton)), skeleton), skeleton)
    elif (beside := _find_character(path)) is not None:
        known = _read_character(_document(_read(beside), beside), beside)
    return (_clip_figure(document, known, path),)


def parse(data: bytes, path: str | Path | None = None, *, character: bytes | None = None) -> tuple[RawCharacter, ...]:
    """Read the bytes of a clip or a character file; `character` has those of a clip's character: see `load`."""
    document = _document(data, path)
    if "Skeleton" in document:
        return (_character_figure(document, path),)
    known = None if character is None else _read_character(_document(character, path), path)
    return (_clip_figure(document, known, path),)


def humanoid() -> Figure:
    """DeepMimic's own humanoid, which faces x: 15 joints, rows of 44 numbers."""
    figure = Figure()
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
        figure.ends += [(first + 2, (0.13, -0.05, 0)), (first + 2, (-0.04, -0.05, 0)), (first + 5, (0, -0.04, 0))]
    figure.ends.append((2, (0, 0.28, 0)))
    for name, kind, parent, offset in rows:
        figure.names.append(name)
        figure.types.append(kind)
        figure.parents.append(parent)
        figure.offsets.append(offset)
        figure.turns.append((0.0, 0.0, 0.0))
    return figure


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error


def _find_character(path: Path) -> Path | None:
    """A character's file named like the beginning of a clip's name."""
    parts = path.stem.split("_")
    for count in range(len(parts), 0, -1):
        stem = "_".join(parts[:count])
        for place in (path.parent / f"{stem}_character.txt", path.parent / f"{stem}.txt",
                      path.parent.parent / "characters" / f"{stem}.txt"):  # fmt: skip
            if place.name != path.name and place.is_file() and b'"Skeleton"' in _read(place):
                return place
    return None


def _document(data: bytes, path: str | Path | None) -> dict[str, Any]:
    """The JSON object of a file; one that would take far more memory than its bytes is refused."""
    expected = 'expected a DeepMimic clip (JSON with "Frames") or character (JSON with "Skeleton")'
    head = data[:64].removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head.startswith(b"{"):
        shown = head[:20].decode("latin-1")
        raise FormatError(f"{expected}, got text that starts with {shown!r}", path=path)
    weight = 64 * (data.count(b"[") + data.count(b"{")) + 64 * data.count(b'"') + 32 * data.count(b",")
    if weight > 6 * len(data) + (1 << 22):
        raise FormatError(f"{expected}, got JSON of far more brackets and words than numbers", path=path)
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
    value = row.get(key, 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_LENGTH:
        raise FormatError(f"expected a finite number for {key}, got {str(value)[:40]!r}", path=path, where=where)
    return float(value)


def _read_character(document: dict[str, Any], path: str | Path | None) -> Figure:
    skeleton = document.get("Skeleton")
    joints = skeleton.get("Joints") if isinstance(skeleton, dict) else None
    if not isinstance(joints, list) or not 0 < len(joints) <= MAX_JOINTS:
        raise FormatError(f"expected 1 to {MAX_JOINTS} Joints under Skeleton, got none or more", path=path)
    figure = Figure()
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
        if joint["Name"] in figure.names:
            raise FormatError(f"expected unique names, got {joint['Name'][:40]!r} again", path=path, where=where)
        figure.names.append(joint["Name"])
        figure.types.append(kind)
        figure.parents.append(parent)
        figure.offsets.append(tuple(_number(joint, key, where, path) for key in PLACES))
        figure.turns.append(tuple(_number(joint, key, where, path) for key in TURNS))
    bodies = document.get("BodyDefs")
    leaves = set(range(len(joints))) - set(figure.parents)
    for number, body in enumerate(bodies[: len(joints)] if isinstance(bodies, list) else ()):
        if number in leaves and isinstance(body, dict):
            figure.ends += [(number, end) for end in _ends(body, figure.offsets[number], f"BodyDefs[{number}]", path)]
    return figure


def _ends(
    body: dict[str, Any], bone: tuple[float, ...], where: str, path: str | Path | None
) -> list[tuple[float, ...]]:
    """Where the body of a joint without children ends: toes and heel of a box, else the far side of what it is."""
    place = np.array([_number(body, key, where, path) for key in PLACES])
    size = [_number(body, f"Param{k}", where, path) for k in range(3)]
    if body.get("Shape") == "box":
        return [tuple((place + [sign * size[0] / 2, -size[1] / 2, 0.0]).tolist()) for sign in (1, -1)]
    way = place if np.any(place) else np.array(bone)
    length = float(np.linalg.norm(way))
    reach = size[0] / 2 + (size[1] / 2 if body.get("Shape") == "capsule" else 0.0)
    return [tuple((place + way / length * reach).tolist())] if length > 0 else []


def _character_figure(document: dict[str, Any], path: str | Path | None) -> RawCharacter:
    name = Path(path).stem if path else ""
    return RawCharacter(name, _read_character(document, path).skeleton(), scale=1.0, up="y")


def _clip_figure(document: dict[str, Any], known: Figure | None, path: str | Path | None) -> RawCharacter:
    notes: list[str] = []
    rows = _read_rows(document.get("Frames"), path)
    figure = known
    if figure is None:
        figure = humanoid()
        notes.append("no character is beside the clip; DeepMimic's own humanoid was taken")
    if rows.shape[1] != figure.width:
        whose = "the character beside it"
        if known is None:
            whose = "DeepMimic's humanoid; name its own with skeleton=PATH (--skeleton)"
        raise FormatError(
            f"expected rows of {figure.width} numbers for {whose}, got {rows.shape[1]}", path=path, where="Frames"
        )
    motion = _uniform(_pose(figure, rows, path), rows[:-1, 0], notes, path)
    name = Path(path).stem if path else ""
    take = Take(name or "clip", len(motion), motion.fps)
    return RawCharacter(name, motion.skeleton, (take,), lambda take: motion, scale=1.0, up="y", notes=tuple(notes))


def _read_rows(frames: Any, path: str | Path | None) -> NDArray:
    """The rows as numbers (F, 1 + P)."""
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


def _pose(figure: Figure, rows: NDArray, path: str | Path | None) -> Motion:
    """The motion with as many frames as rows."""
    skeleton = figure.skeleton()
    local = np.array(np.broadcast_to(skeleton.rest, (len(rows), *skeleton.rest.shape)))
    moving: NDArray | None = None
    at = 4
    for joint, kind in enumerate(figure.types):
        if kind in ("none", "spherical"):
            turn = rows[:, at : at + 4]
            sizes = np.linalg.norm(turn, axis=-1)
            if len(rows) and not (sizes.min() > 0.5 and sizes.max() < 2.0):
                frame = int(np.argmax(np.abs(sizes - 1.0)))
                raise FormatError(
                    f"expected a unit quaternion for {figure.names[joint]!r}, got one of length {sizes[frame]:g}",
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
    """The motion at the rate that its frames' durations make, resampled where they are not the same."""
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
    if np.abs(durations - step).max() > UNEVEN * step:
        times = np.concatenate([[0.0], np.cumsum(durations)])
        wanted = np.arange(int(total / step + UNEVEN) + 1) * step
        motion = motion.at(np.interp(wanted, times, np.arange(len(times))) / motion.fps)
        notes.append(f"frames last differently long; the motion was sampled anew at {1.0 / step:.4g} frames a second")
    return replace(motion, fps=1.0 / step)


__all__ = ["extensions", "holds", "humanoid", "load", "parse"]
