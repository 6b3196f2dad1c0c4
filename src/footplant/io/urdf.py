"""URDF models: links, joints, masses and collision solids of a robot. Links behind fixed joints become one body."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import FormatError
from footplant.io.robot_xml import BALL_AXES, MAX_BODIES, box_corners, joined_mass, numbers, read_hull, unit
from footplant.mechanism.model import Joint, Mark, Mechanism, Mimic, Solid, unique_names

HINGES = ("revolute", "continuous")
TURNING = (*HINGES, "spherical")


def read_urdf(root: Element, path: str | Path | None) -> Mechanism:
    """Return the robot of a parsed model; path: the file, for meshes."""
    return _Reader(root, path).mechanism()


class _Reader:
    def __init__(self, root: Element, path: str | Path | None) -> None:
        self.root, self.path = root, path
        self.links = {link.get("name", ""): link for link in root.findall("link")}
        self.below: dict[str, list[tuple[Element, str]]] = {}
        self.children: set[str] = set()
        for joint in root.findall("joint"):
            where = f"joint {joint.get('name', '')!r}"
            parent, child = joint.find("parent"), joint.find("child")
            if parent is None or child is None:
                raise FormatError("expected a parent and a child", path=path, where=where)
            name = child.get("link", "")
            if name in self.children:
                raise FormatError(f"expected a tree, got the kinematic loop of link {name!r}", path=path, where=where)
            self.children.add(name)
            self.below.setdefault(parent.get("link", ""), []).append((joint, name))
        self.notes: list[str] = []
        self._check_mimics()
        self.missing: list[str] = []
        self.names: list[str] = []
        self.parents: list[int] = []
        self.places: list[NDArray] = []
        self.turns: list[NDArray] = []
        self.joints: list[Joint] = []
        self.mimics: list[tuple[str, str, float, float]] = []
        self.parts: list[list[tuple[float, NDArray, NDArray]]] = []
        self.solids: list[Solid] = []
        self.marks: list[Mark] = []

    def _numbers(self, text: str | None, count: int, default: tuple[float, ...], where: str) -> NDArray:
        return numbers(text, count, default, self.path, where)

    def _origin(self, element: Element, where: str) -> tuple[NDArray, NDArray]:
        origin = element.find("origin")
        attributes = {} if origin is None else origin.attrib
        place = self._numbers(attributes.get("xyz"), 3, (0.0, 0.0, 0.0), where)
        roll, pitch, yaw = self._numbers(attributes.get("rpy"), 3, (0.0, 0.0, 0.0), where)
        return place, rotation.from_euler(np.array([yaw, pitch, roll]), "zyx")

    def _check_mimics(self) -> None:
        """Raise for joints that follow what is no hinge, or are none."""
        kinds = {joint.get("name", ""): joint.get("type", "fixed") for joint in self.root.findall("joint")}
        for name, joint in ((joint.get("name", ""), joint) for joint in self.root.findall("joint")):
            mimic = joint.find("mimic")
            if mimic is None:
                continue
            where, leader = f"joint {name!r}", mimic.get("joint", "")
            if kinds[name] == "fixed":
                self.notes.append(f"joint {name!r} is fixed: that it mimics {leader[:60]!r} is ignored")
                continue
            if leader not in kinds:
                raise FormatError(
                    f"expected a joint that it mimics, got {leader[:60]!r}, which the file does not have",
                    path=self.path, where=where,
                )  # fmt: skip
            if kinds[name] not in HINGES:
                raise FormatError(
                    f"expected a hinge that mimics another one, got a {kinds[name][:20]} joint",
                    path=self.path, where=where,
                )  # fmt: skip
            if kinds[leader] not in HINGES:
                raise FormatError(
                    f"expected a hinge that it mimics, got the {kinds[leader][:20]} joint {leader!r}",
                    path=self.path, where=where,
                )  # fmt: skip

    def mechanism(self) -> Mechanism:
        """Read the tree from the only link that is no joint's child."""
        roots = [name for name in self.links if name not in self.children]
        if not roots:
            raise FormatError("expected a link that is no joint's child, got none", path=self.path)
        if len(roots) > 1:
            listed = ", ".join(map(repr, roots[:4]))
            raise FormatError(f"expected one root link, got several: {listed}", path=self.path)
        start = roots[0]
        # a world or an empty base above the pelvis has one fixed or floating joint
        while len(self.below.get(start, ())) == 1 and self.below[start][0][0].get("type") in ("floating", "fixed"):
            start = self.below[start][0][1]
        self._body(start, -1, np.zeros(3), np.array(rotation.IDENTITY))
        inertials = [joined_mass(parts) for parts in self.parts]
        names = [joint.name for joint in self.joints]
        mimics = tuple(
            Mimic(names.index(name), names.index(leader), by, offset) for name, leader, by, offset in self.mimics
        )
        if self.missing:
            files = ", ".join(self.missing[:3]) + (", …" if len(self.missing) > 3 else "")
            self.notes.append(f"{len(self.missing)} meshes are not beside the file and collide with nothing ({files})")
        count = len(self.names)
        return Mechanism(
            self.root.get("name", ""), unique_names(self.names), np.array(self.parents), np.array(self.places),
            np.array(self.turns), tuple(self.joints), np.array([mass for mass, _, _ in inertials]),
            np.array([center for _, center, _ in inertials]).reshape(count, 3),
            np.array([inertia for _, _, inertia in inertials]).reshape(count, 3, 3), tuple(self.solids),
            mimics=mimics, marks=tuple(self.marks), notes=tuple(self.notes),
        )  # fmt: skip

    def _body(self, link: str, parent: int, place: NDArray, turn: NDArray, joint: Element | None = None) -> None:
        if len(self.names) >= MAX_BODIES:
            raise FormatError(f"expected at most {MAX_BODIES} links, got more", path=self.path)
        index = len(self.names)
        self.names.append(link)
        self.parents.append(parent)
        self.places.append(place)
        self.turns.append(turn)
        self.parts.append([])
        if joint is not None:
            self._joint(joint, index)
        self._welded(link, index, np.zeros(3), np.array(rotation.IDENTITY))

    def _welded(self, link: str, body: int, at: NDArray, turn: NDArray) -> None:
        """Add a link to a body, and all links below it."""
        element = self.links.get(link)
        if element is None:
            raise FormatError(f"expected a link {link[:60]!r}, got none of that name", path=self.path)
        self._content(element, body, at, turn)
        for joint, child in self.below.get(link, ()):
            where = f"joint {joint.get('name', '')!r}"
            kind = joint.get("type", "fixed")
            place, own = self._origin(joint, where)
            place, own = at + rotation.rotate(turn, place), rotation.multiply(turn, own)
            if kind == "fixed":
                self.marks.append(Mark(child, body, tuple(place.tolist())))
                self._welded(child, body, place, own)
            elif kind in TURNING:
                self._body(child, body, place, own, joint)
            else:
                raise FormatError(f"expected hinges and balls, got a {kind[:20]} joint", path=self.path, where=where)

    def _joint(self, joint: Element, body: int) -> None:
        name, kind = joint.get("name", f"joint_{body}"), joint.get("type")
        where = f"joint {name!r}"
        limit = joint.find("limit")
        attributes = {} if limit is None else limit.attrib
        lower, upper = -np.inf, np.inf
        if kind == "revolute" and ("lower" in attributes or "upper" in attributes):
            lower = float(self._numbers(attributes.get("lower"), 1, (0.0,), where)[0])
            upper = float(self._numbers(attributes.get("upper"), 1, (0.0,), where)[0])
            if not lower < upper:
                raise FormatError(
                    f"expected a range from low to high, got {lower:g} to {upper:g}", path=self.path, where=where
                )
        elif kind == "revolute":
            self.notes.append(f"joint {name!r} states no range")
        speed = float(self._numbers(attributes.get("velocity"), 1, (0.0,), where)[0]) or np.inf
        effort = float(self._numbers(attributes.get("effort"), 1, (0.0,), where)[0]) or np.inf
        if kind == "spherical":
            for ending, along in BALL_AXES:
                self.joints.append(
                    Joint(name + ending, body, along, (0.0, 0.0, 0.0), -math.pi, math.pi, speed, effort, ball=name)
                )
            return
        element = joint.find("axis")
        axis = unit(
            self._numbers(None if element is None else element.get("xyz"), 3, (1.0, 0.0, 0.0), where), self.path, where
        )
        along: tuple[float, float, float] = tuple(axis.tolist())
        self.joints.append(Joint(name, body, along, (0.0, 0.0, 0.0), lower, upper, speed, effort))
        mimic = joint.find("mimic")
        if mimic is not None:
            by = float(self._numbers(mimic.get("multiplier"), 1, (1.0,), where)[0])
            offset = float(self._numbers(mimic.get("offset"), 1, (0.0,), where)[0])
            self.mimics.append((name, mimic.get("joint", ""), by, offset))

    def _content(self, link: Element, body: int, at: NDArray, turn: NDArray) -> None:
        """Add mass and collision solids of a link."""
        where = f"link {link.get('name', '')!r}"
        inertial = link.find("inertial")
        if inertial is not None:
            place, own = self._origin(inertial, where)
            element, moments = inertial.find("mass"), inertial.find("inertia")
            mass = float(self._numbers(None if element is None else element.get("value"), 1, (0.0,), where)[0])
            if mass > 0.0:
                values = {
                    key: 0.0 if moments is None else float(self._numbers(moments.get(key), 1, (0.0,), where)[0])
                    for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
                }
                local = np.array(
                    [
                        [values["ixx"], values["ixy"], values["ixz"]],
                        [values["ixy"], values["iyy"], values["iyz"]],
                        [values["ixz"], values["iyz"], values["izz"]],
                    ]
                )
                axes = rotation.to_matrix(rotation.multiply(turn, own))
                self.parts[body].append((mass, at + rotation.rotate(turn, place), axes @ local @ axes.T))
        for collision in link.findall("collision"):
            geometry = collision.find("geometry")
            place, own = self._origin(collision, where)
            place, own = at + rotation.rotate(turn, place), rotation.multiply(turn, own)
            shape = None if geometry is None or not len(geometry) else geometry[0]
            found = None if shape is None else self._shape(shape, where)
            if found is not None:
                kind, size, vertices = found
                name = collision.get("name") or f"{link.get('name', '')}_{len(self.solids)}"
                self.solids.append(Solid(name, body, kind, size, tuple(place.tolist()), tuple(own.tolist()), vertices))

    def _shape(self, shape: Element, where: str) -> tuple[str, tuple[float, float, float], NDArray] | None:
        none = np.zeros((0, 3))
        if shape.tag == "sphere":
            return "sphere", (float(self._numbers(shape.get("radius"), 1, (), where)[0]), 0.0, 0.0), none
        if shape.tag in ("cylinder", "capsule"):
            radius = float(self._numbers(shape.get("radius"), 1, (), where)[0])
            length = float(self._numbers(shape.get("length"), 1, (), where)[0])
            return shape.tag, (radius, 0.5 * length, 0.0), none
        if shape.tag == "box":
            half = 0.5 * self._numbers(shape.get("size"), 3, (), where)
            return "box", tuple(half.tolist()), box_corners(half)
        if shape.tag != "mesh":
            raise FormatError(
                f"expected a sphere, cylinder, capsule, box or mesh, got <{shape.tag[:30]}>",
                path=self.path,
                where=where,
            )
        name = shape.get("filename", "")
        scale = self._numbers(shape.get("scale"), 3, (1.0, 1.0, 1.0), where)
        for place in self._candidates(name):
            try:
                return "hull", (0.0, 0.0, 0.0), read_hull(place, scale)
            except FormatError:
                continue
        self.missing.append(name.rsplit("/", 1)[-1])
        return None

    def _candidates(self, name: str) -> list[Path]:
        """Return where a mesh may be: beside the file, or in a package's folder above it."""
        if self.path is None:
            return []
        folder = Path(self.path).resolve().parent
        tail = name.removeprefix("file://")
        if "://" in tail:
            tail = tail.split("://", 1)[1]
            parts = Path(tail).parts
            return [
                above / Path(*parts[skip:]) for above in (folder, *list(folder.parents)[:4])
                for skip in range(min(2, len(parts)))
            ]  # fmt: skip
        extra = self.root.find("mujoco/compiler")
        inner = "" if extra is None else extra.get("meshdir", "")
        return [folder / tail, folder / inner / Path(tail).name]
