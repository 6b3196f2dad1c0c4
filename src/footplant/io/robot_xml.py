"""What MJCF and URDF files share: XML read within limits, numbers, rotations, masses of shapes, meshes as hulls."""

from __future__ import annotations

import math
import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError

MAX_BYTES = 16 << 20
"""Largest model file."""
MAX_MESH_BYTES = 256 << 20
MAX_BODIES = 2_000
MAX_DEPTH = 200
"""Nested elements."""
BALL_AXES = (("_x", (1.0, 0.0, 0.0)), ("_y", (0.0, 1.0, 0.0)), ("_z", (0.0, 0.0, 1.0)))
"""The hinges that a ball joint is read as: endings of their names, and axes."""
HULL_VERTICES = 128
"""Most corners of a hull; more are thinned out, which moves its surface by less than a millimetre."""


def parse_xml(data: bytes, path: str | Path | None) -> ElementTree.Element:
    """Return the root element; document types, entities and deep nesting are refused."""
    if len(data) > MAX_BYTES:
        raise FormatError(f"expected a robot model of at most {MAX_BYTES} bytes, got {len(data)}", path=path)
    data = data.rstrip(b"\0 \r\n\t")
    if b"<!ENTITY" in data or b"<!DOCTYPE" in data:
        raise FormatError("expected a robot model, got a document type or entities, which are not read", path=path)
    try:
        parser = ElementTree.XMLPullParser(("start", "end"))
        depth, deepest = 0, 0
        for start in range(0, len(data), 1 << 16):
            parser.feed(data[start : start + (1 << 16)])
            for event in parser.read_events():
                depth += 1 if event[0] == "start" else -1
                deepest = max(deepest, depth)
            if deepest > MAX_DEPTH:
                raise FormatError(f"expected at most {MAX_DEPTH} nested elements, got more", path=path)
        return ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, RecursionError) as error:
        raise FormatError(f"expected a robot model in XML, got damaged text ({error})", path=path) from error


def numbers(text: str | None, count: int, default: tuple[float, ...], path: str | Path | None, where: str) -> NDArray:
    """Return the finite numbers of an attribute."""
    if text is None:
        return np.array(default, float)
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.zeros(0)
    if len(values) != count or not np.isfinite(values).all() or np.abs(values).max(initial=0.0) > 1e6:
        raise FormatError(f"expected {count} numbers, got {text[:60]!r}", path=path, where=where)
    return values


def unit(values: NDArray, path: str | Path | None, where: str) -> NDArray:
    """Return a vector of length 1."""
    length = float(np.linalg.norm(values))
    if length < 1e-9:
        raise FormatError("expected an axis, got a vector of length 0", path=path, where=where)
    return values / length


def shape_mass(kind: str, size: NDArray, density: float) -> tuple[float, NDArray]:
    """Return mass and principal moments (3,) of a shape of unit density times `density`; size as in `Solid`."""
    a, b, c = (float(value) for value in size)
    if kind == "sphere":
        mass = density * 4.0 / 3.0 * math.pi * a**3
        return mass, np.full(3, 0.4 * mass * a * a)
    if kind == "box":
        mass = density * 8.0 * a * b * c
        return mass, mass / 3.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    if kind == "ellipsoid":
        mass = density * 4.0 / 3.0 * math.pi * a * b * c
        return mass, mass / 5.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    length = 2.0 * b
    tube = density * math.pi * a * a * length
    across, along = tube * (3.0 * a * a + length * length) / 12.0, 0.5 * tube * a * a
    if kind == "cylinder":
        return tube, np.array([across, across, along])
    caps = density * 4.0 / 3.0 * math.pi * a**3
    across += caps * (0.4 * a * a + 0.25 * length * length + 0.375 * length * a)
    along += 0.4 * caps * a * a
    return tube + caps, np.array([across, across, along])


def joined_mass(parts: list[tuple[float, NDArray, NDArray]]) -> tuple[float, NDArray, NDArray]:
    """Return mass, centre and inertia about it of several parts."""
    mass = sum(each for each, _, _ in parts)
    if not mass:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    center = np.array([each * at for each, at, _ in parts]).sum(axis=0) / mass
    total = np.zeros((3, 3))
    for each, at, inertia in parts:
        arm = at - center
        total += inertia + each * (float(arm @ arm) * np.eye(3) - np.outer(arm, arm))
    return mass, center, total


def box_corners(size: NDArray) -> NDArray:
    """Return the corners (8, 3) of a box of half sizes."""
    return np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float) * size


def read_hull(path: Path, scale: NDArray) -> NDArray:
    """Return the corners (N, 3) of the convex hull of an STL or OBJ mesh; raise `FormatError` for anything else."""
    try:
        size = path.stat().st_size
        if size > MAX_MESH_BYTES:
            raise FormatError(f"expected a mesh of at most {MAX_MESH_BYTES} bytes, got {size}", path=path)
        data = path.read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error
    suffix = path.suffix.lower()
    if suffix == ".stl":
        vertices = _stl(data)
    elif suffix == ".obj":
        found = re.findall(rb"^v\s+(\S+)\s+(\S+)\s+(\S+)", data, re.MULTILINE)
        try:
            vertices = np.array([[float(word) for word in row] for row in found]).reshape(-1, 3)
        except ValueError:
            vertices = np.zeros((0, 3))
    else:
        raise FormatError(f"expected a mesh in STL or OBJ, got {suffix or 'no extension'}", path=path)
    if len(vertices) < 4 or not np.isfinite(vertices).all():
        raise FormatError(f"expected a mesh of at least 4 finite vertices, got {len(vertices)}", path=path)
    return hull(vertices * scale, path)


def _stl(data: bytes) -> NDArray:
    """Return all vertices of an STL file, binary or text."""
    if len(data) >= 84:
        count = struct.unpack_from("<I", data, 80)[0]
        if len(data) >= 84 + 50 * count and not (data[:5] == b"solid" and count == 0):
            facets = np.frombuffer(data, np.dtype([("v", "<f4", (4, 3)), ("a", "<u2")]), count, 84)
            return facets["v"][:, 1:].reshape(-1, 3).astype(float)
    found = re.findall(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", data)
    try:
        return np.array([[float(word) for word in row] for row in found]).reshape(-1, 3)
    except ValueError:
        return np.zeros((0, 3))


def hull(vertices: NDArray, path: str | Path | None = None) -> NDArray:
    """Return the corners of a convex hull, at most `HULL_VERTICES` of them."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        corners = vertices[ConvexHull(vertices).vertices]
    except (QhullError, ValueError) as error:
        raise FormatError("expected a mesh with a volume, got a flat one", path=path) from error
    if len(corners) <= HULL_VERTICES:
        return corners
    # directions spread evenly over the sphere (a Fibonacci lattice); the farthest corner in each of them
    index = np.arange(HULL_VERTICES) + 0.5
    polar, turn = np.arccos(1.0 - 2.0 * index / HULL_VERTICES), math.pi * (1.0 + 5.0**0.5) * index
    ways = np.stack([np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)], axis=1)
    return corners[np.unique((corners @ ways.T).argmax(axis=0))]
