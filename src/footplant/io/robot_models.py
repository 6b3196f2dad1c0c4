"""The kinematic tree of a robot, from a MuJoCo (MJCF) or URDF file: bodies, and the hinges that turn them.

Files of robot motions hold the pose of the root and one angle per hinge; the model says what that means. Only what
motions need is read: names, places, axes and the order of the joints. Meshes, masses, limits and actuators are not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import FormatError
from footplant.motion import Motion
from footplant.skeleton import Skeleton

MAX_BYTES = 16 << 20
"""Largest model file."""
MAX_BODIES = 2_000
MAX_TURN = 1e4
"""Radians; larger angles are no angles."""
MAX_LENGTH = 1e9
"""Metres."""
_ROTATIONS = ("quat", "euler", "axisangle", "xyaxes", "zaxis")


@dataclass(frozen=True)
class Hinge:
    """One joint with one angle."""

    name: str
    body: int
    """The body that it turns."""
    axis: tuple[float, float, float]
    """Unit vector in the body's frame."""


@dataclass(frozen=True, eq=False)
class RobotModel:
    """Bodies and hinges of a robot, in metres; the root is the body that floats."""

    name: str
    skeleton: Skeleton
    hinges: tuple[Hinge, ...]
    """In the order of the file, which is the order of angles in motions."""

    def choose_hinges(self, count: int) -> tuple[Hinge, ...] | None:
        """Return the hinges of a motion with that many angles; None if they do not fit.

        Many motions leave out the wrists, or the hands and the head.
        """
        for words in ((), ("wrist",), ("hand", "finger", "thumb"), ("wrist", "hand", "finger", "thumb"),
                      ("head", "neck"), ("wrist", "head", "neck")):  # fmt: skip
            rest = tuple(hinge for hinge in self.hinges if not any(word in hinge.name.lower() for word in words))
            if len(rest) == count:
                return rest
        return None

    def rotations(self, root: NDArray, angles: NDArray, hinges: tuple[Hinge, ...]) -> NDArray:
        """Return local rotations (F, J, 4) for root rotations (F, 4) and angles (F, H), radians."""
        out = np.array(np.broadcast_to(self.skeleton.rest, (len(angles), len(self.skeleton), 4)))
        out[:, 0] = root
        for number, hinge in enumerate(hinges):
            turn = rotation.from_axis_angle(np.array(hinge.axis), angles[:, number])
            # hinges of one body follow one another, the first one outermost
            out[:, hinge.body] = rotation.multiply(out[:, hinge.body], turn)
        return out


def read_model(path: str | Path) -> RobotModel:
    """Read a robot model: MJCF (.xml) or URDF (.urdf); raise `FormatError` for anything else."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error
    return parse_model(data, path)


def parse_model(data: bytes, path: str | Path | None = None) -> RobotModel:
    """Read the bytes of a model file."""
    if len(data) > MAX_BYTES:
        raise FormatError(f"expected a robot model of at most {MAX_BYTES} bytes, got {len(data)}", path=path)
    if b"<!ENTITY" in data or b"<!DOCTYPE" in data:
        raise FormatError("expected a robot model, got a document type or entities, which are not read", path=path)
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, RecursionError) as error:
        raise FormatError(f"expected a robot model in XML, got damaged text ({error})", path=path) from error
    if root.tag == "mujoco":
        return _Mjcf(root, path).model()
    if root.tag == "robot":
        return _read_urdf(root, path)
    raise FormatError(f"expected a robot model (<mujoco> or <robot>), got <{root.tag[:40]}>", path=path)


def find_model(near: str | Path, count: int) -> Path | None:
    """Return the only robot model in a file's folder that has that many hinges; None without or with several."""
    found = []
    for path in sorted(Path(near).parent.iterdir()):
        if path.suffix.lower() in (".xml", ".urdf") and path.is_file() and path.stat().st_size < MAX_BYTES:
            try:
                if read_model(path).choose_hinges(count) is not None:
                    found.append(path)
            except FormatError:
                continue
    return found[0] if len(found) == 1 else None


def _numbers(text: str | None, count: int, default: tuple[float, ...], path: str | Path | None, where: str) -> NDArray:
    """Return the finite numbers of an attribute."""
    if text is None:
        return np.array(default)
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.zeros(0)
    if len(values) != count or not np.isfinite(values).all() or np.abs(values).max(initial=0.0) > 1e6:
        raise FormatError(f"expected {count} numbers, got {text[:60]!r}", path=path, where=where)
    return values


def _unit(values: NDArray, path: str | Path | None, where: str) -> NDArray:
    length = float(np.linalg.norm(values))
    if length < 1e-9:
        raise FormatError("expected an axis, got a vector of length 0", path=path, where=where)
    return values / length


class _Mjcf:
    """Reads a MuJoCo model."""

    def __init__(self, root: ElementTree.Element, path: str | Path | None) -> None:
        self.root, self.path = root, path
        compilers = root.findall("compiler")
        settings = {key: value for compiler in compilers for key, value in compiler.attrib.items()}
        self.degrees = settings.get("angle", "degree") == "degree"
        self.sequence = settings.get("eulerseq", "xyz")
        self.axes: dict[str, dict[str, str]] = {}
        for default in root.findall("default"):
            self.read_defaults(default, {})

    def read_defaults(self, element: ElementTree.Element, above: dict[str, str]) -> None:
        """Note what joints of each class have by default."""
        todo = [(element, above)]
        while todo:
            element, above = todo.pop()
            joint = element.find("joint")
            own = above | ({} if joint is None else dict(joint.attrib))
            self.axes[element.get("class", "main")] = own
            todo += [(child, own) for child in element.findall("default")]

    def rotation(self, element: ElementTree.Element) -> NDArray:
        """Return the orientation (4,) of a body."""
        where = f"body {element.get('name', '')!r}"
        key = next((key for key in _ROTATIONS if key in element.attrib), None)
        scale = math.pi / 180.0 if self.degrees else 1.0
        if key is None:
            return np.array(rotation.IDENTITY)
        if key == "quat":
            return _unit(_numbers(element.get(key), 4, (), self.path, where), self.path, where)
        if key == "euler":
            angles = scale * _numbers(element.get(key), 3, (), self.path, where)
            out = np.array(rotation.IDENTITY)
            for letter, angle in zip(self.sequence, angles):
                if letter.lower() not in rotation.AXES:
                    raise FormatError(f"expected an eulerseq of x, y, z, got {self.sequence!r}", path=self.path)
                turn = rotation.from_axis_angle(rotation.AXES[letter.lower()], angle)
                out = rotation.multiply(out, turn) if letter.islower() else rotation.multiply(turn, out)
            return out
        if key == "axisangle":
            values = _numbers(element.get(key), 4, (), self.path, where)
            return rotation.from_axis_angle(_unit(values[:3], self.path, where), scale * values[3])
        if key == "zaxis":
            z = _unit(_numbers(element.get(key), 3, (), self.path, where), self.path, where)
            return rotation.between(np.array([0.0, 0.0, 1.0]), z)
        values = _numbers(element.get(key), 6, (), self.path, where)
        x = _unit(values[:3], self.path, where)
        y = _unit(values[3:] - (values[3:] @ x) * x, self.path, where)
        return rotation.from_matrix(np.stack([x, y, np.cross(x, y)], axis=1))

    def joint(self, element: ElementTree.Element, child: str) -> dict[str, str]:
        """Return the attributes of a joint with its defaults."""
        kind = element.get("class", child)
        return self.axes.get("main", {}) | self.axes.get(kind, {}) | dict(element.attrib)

    def model(self) -> RobotModel:
        """Return the tree of the first body that floats, else of the first body."""
        worlds = [body for world in self.root.findall("worldbody") for body in world.findall("body")]
        free = [body for body in worlds if body.find("freejoint") is not None or any(
            joint.get("type") == "free" for joint in body.findall("joint"))]  # fmt: skip
        if not worlds:
            raise FormatError("expected bodies in <worldbody>, got none", path=self.path)
        start = (free or worlds)[0]
        names: list[str] = []
        parents: list[int] = []
        offsets: list[NDArray] = []
        rests: list[NDArray] = []
        hinges: list[Hinge] = []
        anchors: list[NDArray] = []
        todo = [(start, -1, start.get("childclass", "main"))]
        while todo:
            body, parent, child = todo.pop()
            child = body.get("childclass", child)
            name = body.get("name", f"body_{len(names)}")
            if len(names) >= MAX_BODIES:
                raise FormatError(f"expected at most {MAX_BODIES} bodies, got more", path=self.path)
            where = f"body {name!r}"
            place = _numbers(body.get("pos"), 3, (0.0, 0.0, 0.0), self.path, where)
            rest, index = self.rotation(body), len(names)
            anchor, turning = np.zeros(3), 0
            for element in body.findall("joint"):
                joint = self.joint(element, child)
                kind = joint.get("type", "hinge")
                if kind == "free" or (kind == "slide" and parent < 0):
                    continue
                if kind != "hinge":
                    raise FormatError(f"expected hinges, got a {kind[:20]} joint", path=self.path, where=where)
                at = _numbers(joint.get("pos"), 3, (0.0, 0.0, 0.0), self.path, where)
                if turning and not np.allclose(at, anchor, atol=1e-3):
                    raise FormatError(
                        "expected the hinges of a body at one place, got others", path=self.path, where=where
                    )
                anchor = at
                turning += 1
                axis = _unit(_numbers(joint.get("axis"), 3, (0.0, 0.0, 1.0), self.path, where), self.path, where)
                if parent >= 0 or body not in free:
                    hinges.append(Hinge(joint.get("name", f"{name}_{turning}"), index, tuple(axis.tolist())))
            above = np.zeros(3) if parent < 0 else anchors[parent]
            names.append(name)
            parents.append(parent)
            # a joint's frame is at its hinge, which may be beside the body's origin
            offsets.append(place - above + rotation.rotate(rest, anchor))
            rests.append(rest)
            anchors.append(anchor)
            todo += [(inner, index, child) for inner in reversed(body.findall("body"))]
        skeleton = _skeleton(names, parents, offsets, rests)
        return RobotModel(self.root.get("model", ""), skeleton, tuple(hinges))


def _skeleton(names: list[str], parents: list[int], offsets: list[NDArray], rests: list[NDArray]) -> Skeleton:
    unique: list[str] = []
    for name in names:
        unique.append(name if name not in unique else f"{name}_{len(unique)}")
    return Skeleton(tuple(unique), np.array(parents), np.array(offsets), np.array(rests))


def _read_urdf(root: ElementTree.Element, path: str | Path | None) -> RobotModel:
    """Read a URDF: links are bodies; each joint places its child link and turns it about an axis."""
    joints: dict[str, list[ElementTree.Element]] = {}
    children = set()
    for joint in root.findall("joint"):
        parent, child = joint.find("parent"), joint.find("child")
        if parent is None or child is None:
            raise FormatError("expected a parent and a child", path=path, where=f"joint {joint.get('name', '')!r}")
        joints.setdefault(parent.get("link", ""), []).append(joint)
        children.add(child.get("link", ""))
    links = [link.get("name", "") for link in root.findall("link")]
    roots = [link for link in links if link not in children]
    if not roots:
        raise FormatError("expected a link that is no joint's child, got none", path=path)
    # a world or an empty base above the pelvis has one fixed or floating joint
    start = roots[0]
    while len(joints.get(start, ())) == 1 and joints[start][0].get("type") in ("floating", "fixed"):
        start = joints[start][0].find("child").get("link", "")  # type: ignore[union-attr]
    names, parents, offsets = [start], [-1], [np.zeros(3)]
    rests, hinges = [np.array(rotation.IDENTITY)], []
    todo = [(joint, 0) for joint in reversed(joints.get(start, []))]
    order = {joint.get("name", ""): number for number, joint in enumerate(root.findall("joint"))}
    while todo:
        joint, parent = todo.pop()
        where = f"joint {joint.get('name', '')!r}"
        child = joint.find("child").get("link", "")  # type: ignore[union-attr]
        if child in names or len(names) >= MAX_BODIES:
            raise FormatError(
                f"expected a tree of at most {MAX_BODIES} links, got {child!r} again", path=path, where=where
            )
        origin = joint.find("origin")
        attributes = {} if origin is None else origin.attrib
        place = _numbers(attributes.get("xyz"), 3, (0.0, 0.0, 0.0), path, where)
        roll, pitch, yaw = _numbers(attributes.get("rpy"), 3, (0.0, 0.0, 0.0), path, where)
        rest = rotation.from_euler(np.array([yaw, pitch, roll]), "zyx")
        names.append(child)
        parents.append(parent)
        offsets.append(place)
        rests.append(rest)
        if joint.get("type") in ("revolute", "continuous"):
            element = joint.find("axis")
            axis = _unit(
                _numbers(None if element is None else element.get("xyz"), 3, (1.0, 0.0, 0.0), path, where), path, where
            )
            hinges.append(Hinge(joint.get("name", child), len(names) - 1, tuple(axis.tolist())))
        elif joint.get("type") not in ("fixed", None):
            raise FormatError(f"expected hinges, got a {joint.get('type')} joint", path=path, where=where)
        todo += [(inner, len(names) - 1) for inner in reversed(joints.get(child, []))]
    hinges.sort(key=lambda hinge: order.get(hinge.name, 0))
    return RobotModel(root.get("name", ""), _skeleton(names, parents, offsets, rests), tuple(hinges))


def model_for(path: str | Path | None, skeleton: str | Path | None, count: int, notes: list[str]) -> RobotModel | None:
    """Return the model that is given, or the one beside the file with that many hinges; None without one."""
    if skeleton is not None:
        return read_model(skeleton)
    found = find_model(path, count) if path is not None and Path(path).exists() else None
    if found is None:
        return None
    notes.append(f"the robot's model is {found.name}, found beside the file")
    return read_model(found)


def robot_motion(
    model: RobotModel, root: NDArray, quaternions: NDArray, angles: NDArray, rate: float, notes: list[str]
) -> Motion:
    """Return the motion of a robot; quaternions: (F, 4), real part first. Raises ValueError for other numbers."""
    hinges = model.choose_hinges(angles.shape[1])
    if hinges is None:
        raise ValueError(
            f"expected {len(model.hinges)} joint angles, as the robot's model has, got {angles.shape[1]}; "
            "skeleton= (--skeleton) names another model"
        )
    if len(hinges) < len(model.hinges):
        left = [hinge.name for hinge in model.hinges if hinge not in hinges]
        notes.append(f"{len(left)} hinges of the model have no angles and stay at 0 (first {left[0]!r})")
    norms = np.linalg.norm(np.clip(quaternions, -4.0, 4.0), axis=1)
    if len(norms) and np.abs(norms - 1.0).max() > 0.05:
        raise ValueError(
            f"expected unit quaternions of the root, got one of length {norms[np.abs(norms - 1).argmax()]:g}"
        )
    if np.abs(angles).max(initial=0.0) > MAX_TURN or np.abs(root).max(initial=0.0) > MAX_LENGTH:
        raise ValueError("expected angles in radians and places in metres, got larger numbers")
    return Motion(model.skeleton, root, model.rotations(rotation.normalize(quaternions), angles, hinges), rate)


def missing_model(path: str | Path | None, count: int) -> FormatError:
    """Return the error for a robot motion without a model."""
    return FormatError(
        f"the file holds {count} joint angles of a robot; expected its model (MJCF .xml or URDF) beside the file, or "
        "as skeleton= (--skeleton FILE)", path=path,
    )  # fmt: skip
