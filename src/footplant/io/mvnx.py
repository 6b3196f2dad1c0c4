"""Xsens MVN's exchange files, .mvnx: segments with their points, joints that connect them, and frames.

A segment's axes are x forward, y left, z up in the T-pose, where all orientations are identities. A frame of the motion
has the world orientation (w, x, y, z) and position of every segment, in metres and z up. A joint names a point on each
of the two segments that it connects: the point on the first is where the second begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.checks import frame_rate
from footplant.clip import Take
from footplant.errors import FormatError
from footplant.io.character import RawCharacter
from footplant.io.xml import parse_xml, read_numbers
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Skeleton

extensions = (".mvnx",)
holds: frozenset[str] = frozenset()
MAX_SEGMENTS = 512
NOTABLE = 0.01
"""Metres; a note says where the file's positions differ from its bones by more."""
ROLES = {
    "hips": ("Pelvis",), "spine": ("L5", "L3", "T12", "T8"), "neck": ("Neck",), "head": ("Head",),
    **{
        f"{side.lower()}_{role}": (f"{side}{name}",)
        for side in ("Left", "Right")
        for role, name in (
            ("clavicle", "Shoulder"), ("upper_arm", "UpperArm"), ("lower_arm", "ForeArm"), ("hand", "Hand"),
            ("upper_leg", "UpperLeg"), ("lower_leg", "LowerLeg"), ("foot", "Foot"), ("toes", "Toe"),
        )
    },
}  # fmt: skip
_ENDS = ("TopOfHead", "TopOfHand", "HeelFoot", "Toe")
"""Points of segments that are end sites, by the ends of their names."""


@dataclass(eq=False)
class _Frames:
    """The frames of one subject so far."""

    orientations: list[NDArray] = field(default_factory=list)
    positions: list[NDArray] = field(default_factory=list)
    fingers: bool = False
    """Whether there are finger segments, which are not read."""


def load(path: str | Path) -> tuple[RawCharacter, ...]:
    """Read every subject of a file."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error
    return parse(data, path)


def parse(data: bytes, path: str | Path | None = None) -> tuple[RawCharacter, ...]:
    """Read the bytes of a file."""
    everyone: list[_Frames] = []
    current = _Frames()

    def frame(element: Element) -> None:
        if element.get("type", "normal") != "normal":
            return
        current.orientations.append(read_numbers(element.find("orientation"), path))
        position = element.find("position")
        current.positions.append(np.zeros(0) if position is None else read_numbers(position, path))
        current.fingers |= any("Fingers" in child.tag for child in element)

    def frames(element: Element) -> None:
        nonlocal current
        everyone.append(current)
        current = _Frames()

    root = parse_xml(data, path, "MVNX", finished={"frame": frame, "frames": frames})
    if root.tag != "mvnx":
        raise FormatError(f"expected <mvnx>, got <{root.tag[:40]}>", path=path)
    subjects = root.findall("subject")
    if not subjects or len(everyone) != len(subjects):
        raise FormatError(f"expected a subject with frames, got {len(subjects)} and {len(everyone)}", path=path)
    # overflow gives infinities, which `Skeleton` and `Motion` reject
    with np.errstate(all="ignore"):
        return tuple(_character(subject, found, path) for subject, found in zip(subjects, everyone))


def _character(subject: Element, frames: _Frames, path: str | Path | None) -> RawCharacter:
    notes: list[str] = []
    segments = subject.findall("segments/segment")
    if not 0 < len(segments) <= MAX_SEGMENTS:
        raise FormatError(f"expected 1 to {MAX_SEGMENTS} segments, got {len(segments)}", path=path)
    labels = [segment.get("label", f"segment {n}") for n, segment in enumerate(segments)]
    if len(set(labels)) < len(labels):
        raise FormatError("expected segments of different names, got some twice", path=path, where="<segments>")
    if not frames.orientations:
        raise FormatError('expected frames of type "normal", got none', path=path, where="<frames>")
    count = len(labels)
    if any(len(row) != 4 * count for row in frames.orientations):
        wrong = next(len(row) for row in frames.orientations if len(row) != 4 * count)
        raise FormatError(f"expected orientations of {4 * count} numbers, got {wrong}", path=path, where="<frame>")
    world = np.array(frames.orientations).reshape(-1, count, 4)
    length = np.linalg.norm(world, axis=2)
    if not (np.abs(length - 1.0) < 0.1).all():
        raise FormatError("expected unit quaternions, got others", path=path, where="<orientation>")
    if any(len(row) != 3 * count for row in frames.positions):
        raise FormatError(f"expected positions of {3 * count} numbers in every frame", path=path, where="<frame>")
    places = np.array(frames.positions).reshape(-1, count, 3)
    points = [_points(segment, path) for segment in segments]
    order, parents, offsets = _tree(subject, segments, labels, points, notes, path)
    ends = [
        (row, place)
        for row, segment in enumerate(order)
        for name, place in points[segment].items()
        if name.endswith(_ENDS)
    ]
    skeleton = Skeleton(
        tuple(labels[segment] for segment in order), np.array(parents), offsets, None,  # type: ignore[arg-type]
        np.array([row for row, _ in ends], np.int64), np.array([place for _, place in ends]).reshape(-1, 3),
    )  # fmt: skip
    turns = (world / length[..., None])[:, order]
    local = np.array(turns)
    above = skeleton.parents[1:]
    local[:, 1:] = rotation.multiply(rotation.inverse(turns[:, above]), turns[:, 1:])
    motion = Motion(skeleton, places[:, order[0]], rotation.normalize(local), _rate(subject, path))
    apart = float(np.linalg.norm(Kinematics(motion).positions - places[:, order], axis=2).max())
    if apart > NOTABLE:
        notes.append(f"the file's positions differ by up to {100 * apart:.1f} cm from its bones, which were used")
    if frames.fingers:
        notes.append("finger segments were not read")
    name = subject.get("label") or (Path(path).stem if path else "")
    take = Take(Path(path).stem if path else name or "motion", len(motion), motion.fps)
    found = {role: tuple(n for n in _spelled(names) if n in skeleton.names) for role, names in ROLES.items()}
    complete = all(found.values())
    return RawCharacter(
        name, skeleton, (take,), lambda number: motion, scale=1.0, up="z", facing="x",
        roles=found if complete else None, notes=tuple(notes),
    )  # fmt: skip


def _spelled(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return segment names in all spellings that versions of MVN have."""
    return tuple(dict.fromkeys(spelling for name in names for spelling in (name, name.replace("ForeArm", "Forearm"))))


def _points(segment: Element, path: str | Path | None) -> dict[str, NDArray]:
    """Return the points of a segment (3,) by name, metres, in the segment's frame."""
    return {
        point.get("label", ""): read_numbers(point.find("pos_b"), path, 3)
        for point in segment.findall("points/point")
        if point.find("pos_b") is not None
    }


def _tree(
    subject: Element, segments: list[Element], labels: list[str], points: list[dict[str, NDArray]], notes: list[str],
    path: str | Path | None,
) -> tuple[list[int], list[int], NDArray]:  # fmt: skip
    """Return the segments that joints connect, parents first, with their parents (rows) and offsets (n, 3)."""
    number = {label: n for n, label in enumerate(labels)}
    number |= {segment.get("id", ""): n for n, segment in enumerate(segments) if segment.get("id") not in number}
    parent: dict[int, tuple[int, NDArray]] = {}
    for joint in subject.findall("joints/joint"):
        ends = [((joint.findtext(key) or "").strip().rpartition("/")) for key in ("connector1", "connector2")]
        (first, _, point), (second, _, _) = ends
        if first not in number or second not in number or point not in points[number[first]]:
            raise FormatError(
                f"expected a joint of two segments at a point, got {joint.get('label', '')[:40]!r}", path=path,
                where="<joints>",
            )  # fmt: skip
        if number[second] in parent:
            raise FormatError(f"expected one joint above {second[:40]!r}, got two", path=path, where="<joints>")
        parent[number[second]] = number[first], points[number[first]][point]
    children: dict[int, list[int]] = {}
    for child, (above, _) in parent.items():
        children.setdefault(above, []).append(child)
    root = next((n for n in range(len(labels)) if n not in parent), None)
    if root is None:
        raise FormatError("expected a segment without a joint above it, got none", path=path, where="<joints>")
    order, rows, offsets, stack = [], [], [], [(root, -1)]
    while stack:
        segment, above = stack.pop()
        rows.append(above)
        offsets.append(np.zeros(3) if above < 0 else parent[segment][1])
        order.append(segment)
        stack.extend((child, len(order) - 1) for child in sorted(children.get(segment, ()), reverse=True))
    left = [labels[n] for n in range(len(labels)) if n not in set(order)]
    if left:
        shown = ", ".join(repr(name) for name in left[:5])
        notes.append(f"{len(left)} segments that no joint connects to the body were not read ({shown})")
    return order, rows, np.array(offsets)


def _rate(subject: Element, path: str | Path | None) -> float:
    """Return the frame rate that a subject states."""
    try:
        rate = float(subject.get("frameRate", "").replace(",", "."))
    except ValueError:
        raise FormatError(
            f"expected a frame rate, got {subject.get('frameRate', '')[:40]!r}", path=path, where="<subject>"
        ) from None
    frame_rate(rate, FormatError)
    return rate
