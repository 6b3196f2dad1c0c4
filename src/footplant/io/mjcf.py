"""MuJoCo models (MJCF): bodies, joints, masses and collision solids of a robot, with includes, defaults and frames.

What cannot be read without changing the robot is refused by name: slide joints in limbs, wheels, several floating
roots, loops closed by equality constraints, and bodies made by replicate, composite, flexcomp, attach or a plugin.
"""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import FormatError
from footplant.io.robot_xml import (
    BALL_AXES,
    MAX_BODIES,
    box_corners,
    hull,
    joined_mass,
    numbers,
    parse_xml,
    read_hull,
    shape_mass,
    unit,
)
from footplant.mechanism.model import Joint, Mechanism, Mimic, Solid, unique_names

REFUSED = ("composite", "flexcomp", "replicate", "attach", "plugin", "flex")
"""Elements of a body that make further bodies or joints."""
LOOPS = ("connect", "weld", "flex", "flexvert", "tendon")
"""Equality constraints that close a loop or that move joints in ways that are not read."""
MAX_INCLUDES = 50
_ROTATIONS = ("quat", "euler", "axisangle", "xyaxes", "zaxis")


def read_mjcf(root: Element, path: str | Path | None) -> Mechanism:
    """Return the robot of a parsed model; path: the file, for includes and meshes."""
    return _Reader(root, path).mechanism()


def _included(root: Element, path: str | Path | None) -> Element:
    """Return the model with every <include> replaced by the content of its file."""
    folder = None if path is None else Path(path).parent
    seen: set[str] = set()

    def expand(element: Element) -> None:
        for place, child in reversed(list(enumerate(element))):
            if child.tag != "include":
                expand(child)
                continue
            name = child.get("file", "")
            if folder is None or name in seen or len(seen) >= MAX_INCLUDES:
                raise FormatError(f"cannot include {name[:80]!r}: it is included already or has no folder", path=path)
            seen.add(name)
            try:
                data = (folder / name).read_bytes()
            except (OSError, ValueError) as error:
                raise FormatError(f"cannot read the included file {name[:80]!r} ({error})"[:300], path=path) from None
            inner = parse_xml(data, folder / name)
            expand(inner)
            element.remove(child)
            for number, each in enumerate(inner):
                element.insert(place + number, each)

    expand(root)
    return root


class _Reader:
    """Reads one model."""

    def __init__(self, root: Element, path: str | Path | None) -> None:
        self.path = path
        self.root = _included(root, path)
        self.settings = {key: value for each in self.root.findall("compiler") for key, value in each.attrib.items()}
        self.degrees = self.settings.get("angle", "degree") == "degree"
        self.sequence = self.settings.get("eulerseq", "xyz")
        self.notes: list[str] = []
        self.missing: list[str] = []
        self.classes: dict[str, dict[str, dict[str, str]]] = {"main": {}}
        for default in self.root.findall("default"):
            self._read_defaults(default, self.classes["main"])
        self.meshes = {
            self._mesh_name(each): each for asset in self.root.findall("asset") for each in asset.iter("mesh")
        }
        self.hulls: dict[str, NDArray | None] = {}
        self.names: list[str] = []
        self.parents: list[int] = []
        self.places: list[NDArray] = []
        self.turns: list[NDArray] = []
        self.joints: list[Joint] = []
        self.inertials: list[tuple[float, NDArray, NDArray]] = []
        self.solids: list[Solid] = []

    def error(self, message: str, where: str | None = None) -> FormatError:
        """Return an error of this file."""
        return FormatError(message, path=self.path, where=where)

    def _numbers(self, text: str | None, count: int, default: tuple[float, ...], where: str) -> NDArray:
        return numbers(text, count, default, self.path, where)

    def _read_defaults(self, element: Element, above: dict[str, dict[str, str]]) -> None:
        own = {tag: dict(values) for tag, values in above.items()}
        for child in element:
            if child.tag != "default":
                own[child.tag] = own.get(child.tag, {}) | child.attrib
        self.classes[element.get("class", "main")] = own
        for child in element.findall("default"):
            self._read_defaults(child, own)

    def _with_defaults(self, element: Element, child_class: str) -> dict[str, str]:
        name = element.get("class", child_class)
        if name not in self.classes:
            raise self.error(f"expected a class of <default>, got {name[:60]!r}", f"<{element.tag}>")
        return self.classes[name].get(element.tag, {}) | element.attrib

    @staticmethod
    def _mesh_name(element: Element) -> str:
        return element.get("name") or Path(element.get("file", "")).stem

    def _rotation(self, attributes: dict[str, str], where: str) -> NDArray:
        """Return the orientation (4,) of a body, frame or geom."""
        key = next((key for key in _ROTATIONS if key in attributes), None)
        scale = math.pi / 180.0 if self.degrees else 1.0
        if key is None:
            return np.array(rotation.IDENTITY)
        text = attributes[key]
        if key == "quat":
            return unit(self._numbers(text, 4, (), where), self.path, where)
        if key == "euler":
            out = np.array(rotation.IDENTITY)
            if len(self.sequence) != 3 or any(letter not in "xyzXYZ" for letter in self.sequence):
                raise self.error(f"expected an eulerseq of x, y, z, got {self.sequence[:20]!r}")
            for letter, angle in zip(self.sequence, scale * self._numbers(text, 3, (), where)):
                turn = rotation.from_axis_angle(rotation.AXES[letter.lower()], angle)
                out = rotation.multiply(out, turn) if letter.islower() else rotation.multiply(turn, out)
            return out
        if key == "axisangle":
            values = self._numbers(text, 4, (), where)
            return rotation.from_axis_angle(unit(values[:3], self.path, where), scale * values[3])
        if key == "zaxis":
            return rotation.between(
                np.array([0.0, 0.0, 1.0]), unit(self._numbers(text, 3, (), where), self.path, where)
            )
        values = self._numbers(text, 6, (), where)
        x = unit(values[:3], self.path, where)
        y = unit(values[3:] - (values[3:] @ x) * x, self.path, where)
        return rotation.from_matrix(np.stack([x, y, np.cross(x, y)], axis=1))

    def _frame(self, attributes: dict[str, str], where: str) -> tuple[NDArray, NDArray]:
        return self._numbers(attributes.get("pos"), 3, (0.0, 0.0, 0.0), where), self._rotation(attributes, where)

    def mechanism(self) -> Mechanism:
        """Read the floating body and everything that hangs on it."""
        self._refuse()
        start, (place, turn), child_class = self._root()
        self._body(start, -1, place, turn, child_class)
        names = unique_names(self.names)
        count = len(names)
        if self.missing:
            files = ", ".join(self.missing[:3]) + (", …" if len(self.missing) > 3 else "")
            self.notes.append(f"{len(self.missing)} meshes are not beside the file and collide with nothing ({files})")
        return Mechanism(
            self.root.get("model", ""), names, np.array(self.parents), np.array(self.places), np.array(self.turns),
            tuple(self.joints), np.array([mass for mass, _, _ in self.inertials]),
            np.array([center for _, center, _ in self.inertials]).reshape(count, 3),
            np.array([inertia for _, _, inertia in self.inertials]).reshape(count, 3, 3), tuple(self.solids),
            self._excluded(names), self._mimics(), (), self._poses(), tuple(self.notes),
        )  # fmt: skip

    def _refuse(self) -> None:
        for tag in REFUSED:
            if next(self.root.iter(tag), None) is not None:
                raise self.error(f"cannot read <{tag}>: write the model out with MuJoCo first (mj_saveLastXML)")
        for equality in self.root.findall("equality"):
            for each in equality:
                if each.tag in LOOPS:
                    raise self.error(f"cannot read the kinematic loop of <equality><{each.tag}>")

    def _root(self) -> tuple[Element, tuple[NDArray, NDArray], str]:
        """Return the body that floats, where it is, and its default class."""
        found: list[tuple[Element, tuple[NDArray, NDArray], str]] = []

        def collect(element: Element, at: NDArray, turn: NDArray, child_class: str) -> None:
            for child in element:
                if child.tag == "body":
                    found.append((child, (at, turn), child_class))
                elif child.tag == "frame":
                    place, by = self._frame(child.attrib, "frame")
                    inner = child.get("childclass", child_class)
                    collect(child, at + rotation.rotate(turn, place), rotation.multiply(turn, by), inner)

        for world in self.root.findall("worldbody"):
            collect(world, np.zeros(3), np.array(rotation.IDENTITY), world.get("childclass", "main"))
        if not found:
            raise self.error("expected bodies in <worldbody>, got none")
        free = [each for each in found if self._floats(each[0])]
        articulated = [each for each in found if next(each[0].iter("joint"), None) is not None]
        if len(free) > 1 and len([each for each in free if each in articulated]) > 1:
            names = ", ".join(repr(body.get("name", "")) for body, _, _ in free)
            raise self.error(f"expected one robot, got several floating bodies: {names}")
        free = [each for each in free if each in articulated] or free
        chosen = free[0] if free else max(articulated or found, key=lambda each: len(list(each[0].iter("body"))))
        if not free:
            if chosen[0].find("joint") is not None:
                raise self.error(
                    "expected a robot with a floating base (freejoint), got joints between it and the world",
                    f"body {chosen[0].get('name', '')!r}",
                )
            self.notes.append("the file has no freejoint: its base is taken to float")
        return chosen

    @staticmethod
    def _floats(body: Element) -> bool:
        return body.find("freejoint") is not None or any(each.get("type") == "free" for each in body.findall("joint"))

    def _body(self, body: Element, parent: int, at: NDArray, turn: NDArray, child_class: str) -> None:
        """Read a body and its descendants; at, turn: the frame around it, in its parent."""
        if len(self.names) >= MAX_BODIES:
            raise self.error(f"expected at most {MAX_BODIES} bodies, got more")
        child_class = body.get("childclass", child_class)
        name = body.get("name", f"body_{len(self.names)}")
        where, index = f"body {name!r}", len(self.names)
        place, own = self._frame(body.attrib, where)
        self.names.append(name)
        self.parents.append(parent)
        self.places.append(at + rotation.rotate(turn, place))
        self.turns.append(rotation.multiply(turn, own))
        self.inertials.append((0.0, np.zeros(3), np.zeros((3, 3))))
        parts: list[tuple[float, NDArray, NDArray]] = []
        inner: list[tuple[Element, NDArray, NDArray, str]] = []

        def content(element: Element, at: NDArray, turn: NDArray, kind: str) -> None:
            for child in element:
                if child.tag == "frame":
                    place, by = self._frame(child.attrib, where)
                    frame_class = child.get("childclass", kind)
                    content(child, at + rotation.rotate(turn, place), rotation.multiply(turn, by), frame_class)
                elif child.tag == "joint":
                    self._joint(child, index, parent, at, turn, kind, name)
                elif child.tag == "geom":
                    self._geom(child, index, at, turn, kind, where, parts)
                elif child.tag == "body":
                    inner.append((child, at, turn, kind))

        content(body, np.zeros(3), np.array(rotation.IDENTITY), child_class)
        inertial = body.find("inertial")
        from_geoms = self.settings.get("inertiafromgeom", "auto")
        if inertial is not None and from_geoms != "true":
            self.inertials[index] = self._inertial(inertial, where)
        elif from_geoms != "false":
            self.inertials[index] = joined_mass(parts)
        for element, at, turn, kind in inner:
            self._body(element, index, at, turn, kind)

    def _inertial(self, element: Element, where: str) -> tuple[float, NDArray, NDArray]:
        center, turn = self._frame(element.attrib, where)
        mass = float(self._numbers(element.get("mass"), 1, (0.0,), where)[0])
        if "fullinertia" in element.attrib:
            xx, yy, zz, xy, xz, yz = self._numbers(element.get("fullinertia"), 6, (), where)
            return mass, center, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        moments = self._numbers(element.get("diaginertia"), 3, (0.0, 0.0, 0.0), where)
        axes = rotation.to_matrix(turn)
        return mass, center, axes @ np.diag(moments) @ axes.T

    def _joint(
        self, element: Element, body: int, parent: int, at: NDArray, turn: NDArray, kind: str, body_name: str
    ) -> None:
        joint = self._with_defaults(element, kind)
        what = joint.get("type", "hinge")
        if what == "free":
            if parent >= 0:
                raise self.error("expected one floating base, got a free joint inside the robot", f"body {body_name!r}")
            return
        name = joint.get("name", f"{body_name}_{len(self.joints)}")
        where = f"joint {name!r}"
        if what not in ("hinge", "ball"):
            raise self.error(f"expected hinges and balls, got a {what[:20]} joint", where)
        anchor = at + rotation.rotate(turn, self._numbers(joint.get("pos"), 3, (0.0, 0.0, 0.0), where))
        axis = unit(self._numbers(joint.get("axis"), 3, (0.0, 0.0, 1.0), where), self.path, where)
        axis = rotation.rotate(turn, axis)
        lower, upper = self._range(joint, where)
        scale = math.pi / 180.0 if self.degrees else 1.0
        reference = scale * float(self._numbers(joint.get("ref"), 1, (0.0,), where)[0])
        effort = np.inf
        if "actuatorfrcrange" in joint:
            effort = float(np.abs(self._numbers(joint["actuatorfrcrange"], 2, (), where)).max())
        anchor_at: tuple[float, float, float] = tuple(anchor.tolist())
        if what == "hinge":
            along: tuple[float, float, float] = tuple(axis.tolist())
            self.joints.append(Joint(name, body, along, anchor_at, lower, upper, effort=effort, reference=reference))
            return
        bound = min(upper, math.pi)
        for ending, along in BALL_AXES:
            self.joints.append(Joint(name + ending, body, along, anchor_at, -bound, bound, effort=effort, ball=name))

    def _range(self, joint: dict[str, str], where: str) -> tuple[float, float]:
        limited = joint.get("limited", "auto")
        automatic = self.settings.get("autolimits", "true") != "false"
        if "range" not in joint or limited == "false" or (limited == "auto" and not automatic):
            if limited == "true":
                raise self.error("expected a range of a joint that is limited, got none", where)
            return -np.inf, np.inf
        scale = math.pi / 180.0 if self.degrees else 1.0
        lower, upper = scale * self._numbers(joint["range"], 2, (), where)
        if not lower < upper:
            raise self.error(f"expected a range from low to high, got {joint['range'][:40]!r}", where)
        return float(lower), float(upper)

    def _geom(
        self, element: Element, body: int, at: NDArray, turn: NDArray, kind: str, where: str,
        parts: list[tuple[float, NDArray, NDArray]],
    ) -> None:  # fmt: skip
        geom = self._with_defaults(element, kind)
        what = geom.get("type", "sphere")
        place, own = self._frame(geom, where)
        size = np.zeros(3)
        if "size" in geom:
            given = np.array([float(self._numbers(word, 1, (), where)[0]) for word in geom["size"].split()[:3]])
            size[: len(given)] = given
        vertices = np.zeros((0, 3))
        density = float(self._numbers(geom.get("density"), 1, (1000.0,), where)[0])
        if what in ("plane", "hfield", "sdf"):
            raise self.error(f"expected a solid of the robot, got a {what} geom", where)
        if "fromto" in geom and what in ("capsule", "cylinder", "box", "ellipsoid"):
            ends = self._numbers(geom["fromto"], 6, (), where)
            along = ends[:3] - ends[3:]
            half = 0.5 * float(np.linalg.norm(along))
            place, own = (
                0.5 * (ends[:3] + ends[3:]),
                rotation.between(np.array([0.0, 0.0, 1.0]), unit(along, self.path, where)),
            )
            size = (
                np.array([size[0], half, 0.0])
                if what in ("capsule", "cylinder")
                else np.array([size[0], size[0], half])
            )
        place, own = at + rotation.rotate(turn, place), rotation.multiply(turn, own)
        if what == "mesh" or "mesh" in geom:
            corners = self._hull(geom.get("mesh", ""), where)
            if corners is None:
                return
            what, vertices, size = "hull", corners, np.zeros(3)
            moments = None
        elif what not in ("sphere", "capsule", "box", "cylinder", "ellipsoid"):
            raise self.error(f"expected a sphere, capsule, box, cylinder, ellipsoid or mesh, got {what[:30]!r}", where)
        else:
            if what == "box":
                vertices = box_corners(size)
            moments = shape_mass(what, size, 1.0)
        group = int(self._numbers(geom.get("group"), 1, (0.0,), where)[0])
        low, high = self._numbers(self.settings.get("inertiagrouprange"), 2, (0.0, 5.0), "compiler")
        if moments is not None and low <= group <= high:
            volume, inertia = moments
            mass = float(self._numbers(geom["mass"], 1, (), where)[0]) if "mass" in geom else density * volume
            if mass > 0.0 and volume > 0.0:
                axes = rotation.to_matrix(own)
                parts.append((mass, place, axes @ np.diag(inertia * mass / volume) @ axes.T))
        contype = int(self._numbers(geom.get("contype"), 1, (1.0,), where)[0])
        affinity = int(self._numbers(geom.get("conaffinity"), 1, (1.0,), where)[0])
        if contype or affinity:
            extent = (float(size[0]), float(size[1]), float(size[2]))
            name = geom.get("name") or f"{self.names[body]}_{len(self.solids)}"
            self.solids.append(
                Solid(
                    name, body, what, extent, tuple(place.tolist()), tuple(own.tolist()), vertices,
                    (contype, affinity),
                )
            )  # fmt: skip

    def _hull(self, mesh: str, where: str) -> NDArray | None:
        """Return the corners of a mesh's hull; None if its file is missing or of another format."""
        if mesh in self.hulls:
            return self.hulls[mesh]
        element = self.meshes.get(mesh)
        if element is None:
            raise self.error(f"expected a mesh of <asset>, got {mesh[:60]!r}", where)
        attributes = self.classes["main"].get("mesh", {}) | element.attrib
        scale = self._numbers(attributes.get("scale"), 3, (1.0, 1.0, 1.0), where)
        found: NDArray | None = None
        if "vertex" in attributes:
            values = np.array([float(word) for word in attributes["vertex"].split()])
            found = hull(values[: len(values) // 3 * 3].reshape(-1, 3) * scale, self.path)
        elif self.path is not None:
            folder = Path(self.path).parent / self.settings.get("meshdir", self.settings.get("assetdir", ""))
            try:
                found = read_hull(folder / attributes.get("file", ""), scale)
            except FormatError:
                self.missing.append(attributes.get("file", mesh))
        self.hulls[mesh] = found
        return found

    def _excluded(self, names: tuple[str, ...]) -> frozenset[tuple[int, int]]:
        out = set()
        for contact in self.root.findall("contact"):
            for each in contact.findall("exclude"):
                pair = [names.index(each.get(key, "")) for key in ("body1", "body2") if each.get(key, "") in names]
                if len(pair) == 2:
                    out.add((min(pair), max(pair)))
        return frozenset(out)

    def _mimics(self) -> tuple[Mimic, ...]:
        """Return the joints that follow others; those of other bodies of the scene are left out."""
        found = {joint.name: number for number, joint in enumerate(self.joints)}
        balls = {joint.ball for joint in self.joints if joint.ball}
        scene = {joint.get("name") for world in self.root.findall("worldbody") for joint in world.iter("joint")}
        out = []
        for equality in self.root.findall("equality"):
            for each in equality.findall("joint"):
                name = each.get("class", "main")
                if name not in self.classes:
                    raise self.error(f"expected a class of <default>, got {name[:60]!r}", "<equality>")
                settings = self.classes[name].get("equality", {}) | each.attrib
                if settings.get("active") == "false":
                    continue
                follower, leader = each.get("joint1", ""), each.get("joint2")
                where = f"joint {follower[:60]!r} of <equality>"
                for joint in (follower, leader):
                    if joint in balls:
                        raise self.error(f"expected hinges, got the ball joint {joint!r}", where)
                    if joint is not None and joint not in found and joint not in scene:
                        raise self.error(f"expected a joint of the file, got {joint[:60]!r}", where)
                if follower not in found:
                    continue
                if leader is not None and leader not in found:
                    raise self.error(f"expected a joint of the robot that it follows, got {leader!r}", where)
                out.append(self._mimic(found[follower], None if leader is None else found[leader], each, where))
        return tuple(out)

    def _mimic(self, joint: int, leader: int | None, element: Element, where: str) -> Mimic:
        """Return what a joint follows: angles less reference angles are as its polynomial says, in radians."""
        words = element.get("polycoef", "0 1 0 0 0").split()[:5]
        terms = np.array([0.0, 1.0, 0.0, 0.0, 0.0])
        terms[: len(words)] = self._numbers(" ".join(words), len(words), (), where)
        rest = self.joints[joint].reference + float(terms[0])
        if leader is None:
            return Mimic(joint, None, 0.0, rest)
        if np.abs(terms[2:]).max() > 0.0:
            raise self.error("expected a joint that follows another linearly, got a curve", where)
        by = float(terms[1])
        return Mimic(joint, leader, by, rest - by * self.joints[leader].reference)

    def _poses(self) -> tuple[tuple[str, NDArray], ...]:
        """Return the keyframes that fit the joints; balls have a quaternion in them and are left out."""
        if any(joint.ball for joint in self.joints):
            return ()
        out = []
        for frame in self.root.findall("keyframe"):
            for key in frame.findall("key"):
                values = np.array([float(word) for word in key.get("qpos", "").split()])
                if len(values) == 7 + len(self.joints) and np.isfinite(values).all():
                    out.append((key.get("name", ""), values))
        return tuple(out)
