"""Grounds: rough terrain, stairs, slopes, ditches, pieces put on a ground (stones, beams), and rasterised meshes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.checks import all_finite, indices, real_array, real_number, rows_of_width, shaped, whole_number
from footplant.errors import ArgumentError
from footplant.geometry import HeightField, Plane

PAPER_SPACING, PAPER_RELIEF = 0.8, 0.2
"""Spacing and amplitude of the control points of Lee & Shin's rough terrain (1999, section 6), in body heights."""
MOST_CELLS = 4_000_000
"""Largest number of grid points for a rasterised mesh: 32 MB."""
MOST_STONES = 1000
"""Largest number of stepping stones."""


def direction(heading: ArrayLike) -> NDArray:
    """Return unit directions (…, 2) in (x, z) of headings (…), radians: 0 is +z, a quarter turn to the left +x."""
    heading = all_finite(real_array(heading, "headings"), "headings")
    return np.stack([np.sin(heading), np.cos(heading)], axis=-1)


@dataclass(frozen=True)
class Stairs:
    """Level treads that rise (or fall) along a direction, level ground before and after, unlimited width."""

    rise: float
    """Height of a step, metres; negative goes down."""
    run: float
    """Depth of a tread, metres."""
    count: int = 10
    """Number of steps."""
    start: tuple[float, float] = (0.0, 0.0)
    """(x, z) of the foot of the first step, metres."""
    heading: float = 0.0
    """Direction of travel, radians: see `direction`."""
    level: float = 0.0
    """Height of the ground before them, metres."""

    def __post_init__(self) -> None:
        """Check the dimensions."""
        whole_number(self.count, "steps", low=1)
        object.__setattr__(self, "start", tuple(shaped(self.start, (2,), "the start of stairs").tolist()))
        for name in ("rise", "run", "heading", "level"):
            object.__setattr__(self, name, real_number(getattr(self, name), name))
        if not (np.isfinite(self.rise) and np.isfinite(self.run) and self.run > 0 and self.count >= 1):
            raise ArgumentError(f"expected a run above 0 and at least 1 step, got {self.run} and {self.count}")

    def height(self, places: ArrayLike) -> NDArray:
        """Return heights (…), metres, at positions (…, 2)."""
        places = all_finite(rows_of_width(places, 2, "places (x, z)"), "places (x, z)")
        along = (places - self.start) @ direction(self.heading)
        return self.level + self.rise * np.clip(np.floor(along / self.run) + 1.0, 0.0, self.count)

    def normal(self, places: ArrayLike) -> NDArray:
        """Return the unit normal (…, 3): treads are level."""
        return np.broadcast_to(rotation.AXES["y"], (*rows_of_width(places, 2, "places (x, z)").shape[:-1], 3))


@dataclass(frozen=True)
class Ditch:
    """Level ground with a ditch across a direction: upright banks, a level bottom, unlimited width."""

    depth: float
    """Metres."""
    length: float
    """Metres from bank to bank, along the direction."""
    start: tuple[float, float] = (0.0, 0.0)
    """(x, z) on the nearer bank, metres."""
    heading: float = 0.0
    """The direction, radians: see `direction`."""
    level: float = 0.0
    """Height of the ground beside it, metres."""

    def __post_init__(self) -> None:
        """Check the dimensions."""
        object.__setattr__(self, "start", tuple(shaped(self.start, (2,), "the start of a ditch").tolist()))
        for name in ("heading", "level"):
            object.__setattr__(self, name, real_number(getattr(self, name), name))
        for name in ("depth", "length"):
            object.__setattr__(self, name, real_number(getattr(self, name), f"{name} of a ditch", above=0.0))

    def height(self, places: ArrayLike) -> NDArray:
        """Return heights (…), metres, at positions (…, 2)."""
        places = all_finite(rows_of_width(places, 2, "places (x, z)"), "places (x, z)")
        along = (places - self.start) @ direction(self.heading)
        return np.where((along > 0.0) & (along < self.length), self.level - self.depth, self.level)[()]

    def normal(self, places: ArrayLike) -> NDArray:
        """Return the unit normal (…, 3): banks and bottom are level."""
        return np.broadcast_to(rotation.AXES["y"], (*rows_of_width(places, 2, "places (x, z)").shape[:-1], 3))


PieceKind = Literal["block", "stairs", "ramp"]


@dataclass(frozen=True)
class Piece:
    """A block, a flight of stairs or a ramp on the ground, rectangular from above."""

    kind: PieceKind
    """A block has a level top; stairs and ramps rise along their heading, from 0 to their height."""
    place: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """(x, y, z) of the centre of its base, metres."""
    size: tuple[float, float, float] = (1.0, 0.2, 1.0)
    """Width, height, and depth along the heading, metres."""
    heading: float = 0.0
    """Direction of its depth, radians: see `direction`."""
    count: int = 4
    """Steps of stairs."""

    def __post_init__(self) -> None:
        """Check the dimensions."""
        if self.kind not in get_args(PieceKind):
            raise ArgumentError(f"expected a piece among {', '.join(get_args(PieceKind))}; got {self.kind!r}")
        for name in ("place", "size"):
            object.__setattr__(self, name, tuple(shaped(getattr(self, name), (3,), f"{name} of a piece").tolist()))
        object.__setattr__(self, "heading", real_number(self.heading, "heading"))
        whole_number(self.count, "steps", low=1)
        if not (np.isfinite([*self.place, *self.size, self.heading]).all() and min(self.size) > 0):
            raise ArgumentError(f"expected a finite place and sizes above 0, got {self.place} and {self.size}")

    def over(self, places: ArrayLike) -> tuple[NDArray, NDArray]:
        """Return where it covers positions (…, 2), and its height (…) there, metres."""
        places = all_finite(rows_of_width(places, 2, "places (x, z)"), "places (x, z)")
        (ax, az), (x, y, z), (width, high, depth) = direction(self.heading), self.place, self.size
        dx, dz = places[..., 0] - x, places[..., 1] - z
        across, along = dx * az - dz * ax, (dx * ax + dz * az) / depth + 0.5
        inside = (np.abs(across) <= 0.5 * width) & (along >= 0.0) & (along <= 1.0)
        if self.kind == "stairs":
            along = np.minimum(np.floor(along * self.count) + 1.0, self.count) / self.count
        elif self.kind == "block":
            along = np.ones_like(along)
        return inside, y + high * along

    @property
    def radius(self) -> float:
        """Metres around the centre of its base, from above, within which all of it is."""
        return 0.5 * math.hypot(self.size[0], self.size[2]) + 1e-6

    @property
    def up(self) -> NDArray:
        """(3,) unit normal of its top: treads and blocks are level."""
        steep = self.size[1] / self.size[2] if self.kind == "ramp" else 0.0
        x, z = direction(self.heading)
        normal = np.array([-steep * x, 1.0, -steep * z])
        return normal / np.linalg.norm(normal)


FLOOR = Plane()
"""Level ground at height 0."""


class _Base(Protocol):
    def height(self, places: ArrayLike) -> NDArray: ...

    def normal(self, places: ArrayLike) -> NDArray: ...


@dataclass(frozen=True)
class Built:
    """A ground with pieces on it: at each position the highest of them."""

    pieces: tuple[Piece, ...]
    base: _Base = FLOOR
    """The ground under the pieces."""

    def height(self, places: ArrayLike) -> NDArray:
        """Return heights (…), metres, at positions (…, 2)."""
        found = np.array(self.base.height(places), float)
        heights, flat = found.reshape(-1), rows_of_width(places, 2, "places (x, z)").reshape(-1, 2)
        x, z = np.ascontiguousarray(flat.T)
        for piece in self.pieces:
            # most places are far from most pieces
            dx, dz = x - piece.place[0], z - piece.place[2]
            near = np.flatnonzero(dx * dx + dz * dz <= piece.radius**2)
            inside, top = piece.over(flat[near])
            heights[near] = np.where(inside, np.maximum(heights[near], top), heights[near])
        return found[()]

    def normal(self, places: ArrayLike) -> NDArray:
        """Return the unit normal (…, 3) at positions (…, 2)."""
        found, normals = np.array(self.base.height(places), float), np.array(self.base.normal(places))
        for piece in self.pieces:
            inside, top = piece.over(places)
            higher = inside & (top > found)
            found, normals = np.where(higher, top, found), np.where(higher[..., None], piece.up, normals)
        return normals


def stones(
    size: float, gap: float, seed: int = 0, jitter: float = 0.0, count: int = 8, start: ArrayLike = (0.0, 0.0),
    heading: float = 0.0, depth: float = 1.0,
) -> Built:  # fmt: skip
    """Return a row of stepping stones across a ditch, level with its banks.

    size: side of a stone, square from above, metres; gap: between two of them, and from the banks; jitter: metres by
    which each is displaced at random, along the row and across it, at most half of the gap; start: (x, z) on the nearer
    bank; depth: of the ditch.
    """
    for name, value in (("size of a stone", size), ("gap between stones", gap), ("depth", depth)):
        real_number(value, name, above=0.0)
    whole_number(count, "stones", low=1, high=MOST_STONES)
    whole_number(seed, "a seed", low=0)
    if not 0.0 <= real_number(jitter, "jitter") <= 0.5 * gap:
        raise ArgumentError(f"expected a jitter of 0 to half of the gap, {0.5 * gap:g} m, got {jitter:g}")
    x, z = shaped(start, (2,), "the start of stones").tolist()
    ahead, aside = direction([heading, heading + 0.5 * np.pi])
    moved = np.random.default_rng(seed).uniform(-jitter, jitter, (count, 2))
    along = gap + 0.5 * size + (gap + size) * np.arange(count) + moved[:, 0]
    centres = [x, z] + along[:, None] * ahead + moved[:, 1:] * aside
    blocks = tuple(Piece("block", (cx, -depth, cz), (size, depth, size), heading) for cx, cz in centres.tolist())
    return Built(blocks, Ditch(depth, count * (gap + size) + gap, (x, z), heading))


def beam(
    width: float, height: float, length: float = 3.0, start: ArrayLike = (0.0, 0.0), heading: float = 0.0
) -> Built:
    """Return a beam to walk along: on level ground, or across a ditch.

    height: of its top above the ground, metres; negative: the depth of a ditch that it bridges, level with the banks.
    start: (x, z) of the middle of its nearer end.
    """
    for name, value in (("width of a beam", width), ("length of a beam", length)):
        real_number(value, name, above=0.0)
    if real_number(height, "height of a beam") == 0.0:
        raise ArgumentError("expected a height of a beam other than 0")
    x, z = shaped(start, (2,), "the start of a beam").tolist()
    ax, az = direction(heading).tolist()
    middle = x + 0.5 * length * ax, min(height, 0.0), z + 0.5 * length * az
    block = Piece("block", middle, (width, abs(height), length), heading)
    return Built((block,), Ditch(-height, length, (x, z), heading) if height < 0.0 else FLOOR)


def slope(degrees: float, heading: float = 0.0, through: ArrayLike = (0.0, 0.0, 0.0)) -> Plane:
    """Return a plane that rises by an angle along a heading (radians) and passes through a point (metres)."""
    heading = real_number(heading, "heading")
    if not -60.0 <= real_number(degrees, "slope in degrees") <= 60.0:
        raise ArgumentError(f"expected a slope of −60° to 60°, got {degrees}")
    x, z = direction(heading)
    steep = np.tan(np.radians(degrees))
    px, py, pz = shaped(through, (3,), "the point of a slope").tolist()
    return Plane((px, py, pz), (float(-steep * x), 1.0, float(-steep * z)))


def rough(seed: int, amplitude: float, spacing: float, low: ArrayLike, high: ArrayLike) -> HeightField:
    """Return rough terrain: a bicubic B-spline whose control points have random heights (Lee & Shin 1999, section 6).

    amplitude: largest height of a control point above or below 0, metres; spacing: of control points, metres; low,
    high: (2,) corners (x, z) of the region, metres. A seed gives the same terrain whatever region is requested.
    """
    real_number(amplitude, "amplitude")
    real_number(spacing, "spacing")
    whole_number(seed, "a seed")
    if not (np.isfinite(amplitude) and amplitude >= 0 and np.isfinite(spacing) and spacing > 0 and seed >= 0):
        raise ArgumentError(
            f"expected a seed and an amplitude of 0 or more and a spacing above 0, got {seed}, {amplitude}, {spacing}"
        )
    low, high = shaped(low, (2,), "the low corner"), shaped(high, (2,), "the high corner")
    if (high < low).any():
        raise ArgumentError(f"expected a high corner beyond the low one, got {high.tolist()} and {low.tolist()}")
    # two more on each side: the support of a B-spline, which also keeps the character off the level edge
    cells = np.ceil(high / spacing) - np.floor(low / spacing) + 5.0
    if not (
        cells.max() <= 100_000
        and cells.prod() <= 100_000
        and max(np.abs(low).max(), np.abs(high).max()) < 2**52 * spacing
    ):
        raise ArgumentError(f"expected control points farther apart, got {spacing} m for a region of {cells} of them")
    first = np.floor(low / spacing).astype(int) - 2
    last = np.ceil(high / spacing).astype(int) + 2
    size = last - first + 1
    heights = np.empty(tuple(size.tolist()))
    for i in range(size[0]):
        for k in range(size[1]):
            # map integers of either sign to seeds: each control point has its own
            own = (seed, *(2 * abs(n) + (n < 0) for n in (int(first[0]) + i, int(first[1]) + k)))
            heights[i, k] = amplitude * np.random.default_rng(own).uniform(-1.0, 1.0)
    x, z = (float(value) for value in first * spacing)
    return HeightField(heights, spacing, (x, z), "bspline")


def rasterized(vertices: ArrayLike, faces: ArrayLike, spacing: float = 0.02) -> HeightField:
    """Return a mesh, (V, 3) metres and (T, 3) corners, as a height field: the highest triangle at each position.

    Uncovered positions get the height of the lowest vertex. Meshes that are too wide for the grid get a larger spacing.
    """
    from footplant.kernels import height_field as kernel

    real_number(spacing, "spacing", above=0.0)
    vertices = np.array(shaped(vertices, ("V", 3), "vertices"))
    faces = indices(faces, len(vertices), "corners of triangles")
    if not len(vertices) or not len(faces) or faces.shape[1:] != (3,):
        raise ArgumentError(f"expected vertices and triangles, got {vertices.shape} and {faces.shape}")
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    area = max((high[0] - low[0]) * (high[2] - low[2]), 1e-12)
    spacing = max(spacing, float(np.sqrt(area / MOST_CELLS)), float(max(high[0] - low[0], high[2] - low[2])) / 1e6)
    # one more cell on each side, so that the mesh falls off to the ground around it
    origin = low[[0, 2]] - spacing
    size = np.ceil((high - low)[[0, 2]] / spacing).astype(int) + 3
    heights = np.full(tuple(size.tolist()), float(low[1]))
    kernel.draw_triangles(vertices, faces, origin, spacing, heights)
    return HeightField(heights, spacing, (float(origin[0]), float(origin[1])), "linear")
