"""What the skin tells: body parts inside one another, skin below the floor, tilted soles, hands away from the body.

The mesh is cut into body parts by the strongest joint of each vertex and posed at two dozen frames, and more where the
source's hands are at the body or its feet stand flat. A vertex is inside a part by its generalised winding number,
which bears the holes where the part was cut out; how deep is its distance from the part's surface.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.ground import Ground
from footplant.errors import MotionError, SkeletonError
from footplant.kinematics import Kinematics
from footplant.motion import Motion, rest_motion
from footplant.order import quantile
from footplant.quality.hands import BODY_PARTS, NEAR_BODY, palm_distances
from footplant.quality.pair import BODY, FINGERS, SIDES, MotionPair
from footplant.quality.stances import UPRIGHT, standing_frames
from footplant.skeleton import Character, Skin
from footplant.skinning import linear_blend

SPREAD = 24
"""Frames at which the skin is posed, evenly spread over the clip."""
EXTRA = 8
"""Approximate number of further frames per hand at the body and per foot that stands flat."""
MOST_VERTICES = 3000
"""Vertices of a part that are looked up in another part; of more, evenly spread ones are taken."""
GAP_VERTICES = 200
"""Vertices of a hand whose distance from the body is measured."""
FEWEST_FACES = 8
"""A part of fewer triangles has no inside."""
LEAF_FACES = 6
"""Triangles per leaf of the tree, about."""
DEEP = 0.01
"""Share of the skin's height; frames in which a part is deeper than this in another one are counted."""
PALM_THICKNESS = 0.008
"""Share of the height from the middle of the palm to its skin."""
FLOOR_BAND = 0.04
"""Metres; a source that stands at heights farther apart than this (stairs, boxes) has no single floor."""
SOLE_BAND = 0.01
"""Metres above the lowest vertex of a foot at rest within which a vertex belongs to the sole."""
SOLE_TILT, SOLE_WIDTH = 5.0, 0.01
"""Degrees and metres: a sole that is tilted more than this at rest (high heels), or narrower, is not measured."""
FLAT_BAND = 0.02
"""Metres above the lowest heights of ankles and toes within which a still foot of the source stands flat."""
HANDS = ("hand", *FINGERS)
TRUNK = ("hips", "spine", "neck", "left_clavicle", "right_clavicle")
LEG = ("upper_leg", "lower_leg", "foot", "toes")
PARTS = frozenset(
    (*TRUNK, "head", *(f"{side}_{part}" for side in SIDES for part in (*LEG, *HANDS, "upper_arm", "lower_arm")))
)
"""Roles that vertices are sorted into; a joint with another role, or none, belongs to its nearest ancestor with one."""
PROP = "prop"
"""Vertices of meshes that hang on a joint without being skinned, on a character with a whole skin: swords, capes."""
FIGURES = ("arm_in_torso", "hand_in_head", "hand_in_legs", "leg_in_leg")
CHUNK = 2_000_000
"""Vertices × frames that are posed at once."""


@dataclass(frozen=True)
class Inside:
    """One body part in another one."""

    deepest: float
    """Depth of the deepest vertex over all frames, mm; what is inside at rest counts only as far as it goes deeper."""
    frames: float
    """Share of the evenly spread frames in which it is deeper than 1 % of the height, %."""
    frame: int | None
    """Frame of the deepest vertex, of the source; None if nothing is inside."""
    part: str | None
    """What is inside: "left forearm"."""
    into: str | None
    """What it is inside of: "trunk"."""


@dataclass(frozen=True)
class SkinFigures:
    """Figures that need the mesh, mm on a skin of 1.7 m and degrees; None where there is nothing to measure."""

    inside: dict[str, Inside]
    """arm_in_torso, hand_in_head, hand_in_legs and leg_in_leg."""
    below_floor: float | None = None
    """Lowest vertex below the level on which the result stands (or below the given ground)."""
    below_floor_frame: int | None = None
    """Its frame, of the source."""
    off_floor: float | None = None
    """Distance of the level on which the result stands from y = 0, where the source stands on y = 0."""
    sole_tilt: float | None = None
    """90th percentile of the angle of the soles to the floor where the source's foot stands flat."""
    hand_gap: float | None = None
    """Median distance of the hand from the skin beyond the source's, where the source's palm is at its body."""


@dataclass(frozen=True, eq=False)
class Part:
    """Triangles of a body part with the tree over them, and the vertices that are looked up in it."""

    name: str
    faces: NDArray
    """(T, 3) in the order of the tree."""
    tree: tuple[NDArray, NDArray, NDArray]
    """Corners (T, 9), nodes (2L, 14) and a stack of nodes, workspace."""
    figures: tuple[str, ...] = ()
    """Figures that are measured in this part."""
    query: NDArray = field(default_factory=lambda: np.zeros(0, np.int64))
    """(Q,) vertices that may be inside."""
    groups: NDArray = field(default_factory=lambda: np.zeros(0, np.int64))
    """(Q,) index of the figure of each of them."""
    at_rest: NDArray = field(default_factory=lambda: np.zeros(0))
    """(Q,) depth of the vertices in the rest pose, metres."""

    def depths(self, vertices: NDArray) -> NDArray:
        """Return how deep (Q,) the vertices are inside, metres, 0 outside."""
        from footplant.quality import _penetration as kernel

        out = np.empty(len(self.query))
        kernel.depths(vertices, self.faces, self.query, self.tree, out)
        return out

    def deepest(self, vertices: NDArray) -> list[tuple[str, float, int]]:
        """Return for each figure how much deeper than at rest its deepest vertex is, metres, and which (−1: none)."""
        from footplant.quality import _penetration as kernel

        depth, row = np.empty(len(self.figures)), np.empty(len(self.figures), np.int64)
        kernel.deepest(vertices, self.faces, self.query, self.groups, self.at_rest, self.tree, depth, row)
        found = zip(self.figures, depth.tolist(), row.tolist())
        return [(figure, deep, int(self.query[at]) if at >= 0 else -1) for figure, deep, at in found]

    def gap(self, vertices: NDArray, query: NDArray) -> float:
        """Return the smallest distance of vertices `query` from the part, metres."""
        from footplant.quality import _penetration as kernel

        return kernel.gap(vertices, self.faces, query, self.tree)


class BodyParts:
    """A character's mesh cut into body parts by the strongest joint of each vertex."""

    def __init__(self, character: Character, skin: Skin) -> None:
        """Sort the vertices."""
        self.character, self.skin = character, skin
        roles, parents = character.require_roles(), character.skeleton.parents
        own = {joint: role for role, joints in roles.joints.items() if role in PARTS for joint in joints}
        names: list[str] = []
        for joint in range(len(character.skeleton)):
            above = int(parents[joint])
            names.append(own.get(joint, names[above] if above >= 0 else "hips"))
        strongest = skin.joints[np.arange(len(skin.joints)), skin.weights.argmax(axis=1)]
        self.part = np.array(names)[strongest]
        if skin.attached is not None and skin.attached.any():
            whole = (TRUNK, ("head",), ("left_lower_leg",), ("right_lower_arm",))
            if all((self.of(*parts) & ~skin.attached).sum() >= FEWEST_FACES for parts in whole):
                self.part = np.where(skin.attached, PROP, self.part)

    def of(self, *parts: str) -> NDArray:
        """Return (V,) bool: vertices of these parts."""
        return np.isin(self.part, parts)

    def of_side(self, side: str, *parts: str) -> NDArray:
        """Return (V,) bool: vertices of these parts of one side."""
        return self.of(*(f"{side}_{part}" for part in parts))

    @cached_property
    def body_vertices(self) -> NDArray:
        """Indices of all vertices that are not props."""
        return np.flatnonzero(self.part != PROP)

    @cached_property
    def rest(self) -> NDArray:
        """(V, 3) vertices in the rest pose, metres."""
        return linear_blend(self.skin, Kinematics(rest_motion(self.character.skeleton, 1)))[0]

    def single(self, vertices: NDArray) -> NDArray:
        """Return one of the vertices that always move together: seams of textures and normals have several."""
        skin = self.skin
        rows = np.hstack([np.round(self.rest[vertices], 6) + 0.0, skin.joints[vertices], skin.weights[vertices]])
        rows = np.ascontiguousarray(rows)
        keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
        return vertices[np.sort(np.unique(keys, return_index=True)[1])]

    def looked_up(self, mask: NDArray) -> NDArray:
        """Return the vertices of a mask that are looked up in other parts, neighbours one after the other."""
        some = _evenly(self.single(np.flatnonzero(mask)), MOST_VERTICES)
        return some[_curve_order(self.rest[some])] if len(some) else some

    def posed(self, kinematics: Kinematics, rows: NDArray) -> Iterator[NDArray]:
        """Yield the vertices (V, 3) at these rows of a motion, metres."""
        step = max(1, CHUNK // max(len(self.part), 1))
        for first in range(0, len(rows), step):
            yield from linear_blend(self.skin, kinematics[rows[first : first + step]])

    def part_of(self, name: str, mask: NDArray, queries: Sequence[tuple[str, NDArray]] = ()) -> Part | None:
        """Return a part with its tree, and the vertices of each figure that may be in it; None if it has no inside."""
        faces = self.skin.faces
        faces = faces[mask[faces].all(axis=1)]
        if len(faces) < FEWEST_FACES:
            return None
        from footplant.quality import _penetration as kernel

        leaves = 1 << max(0, int(np.ceil(np.log2(len(faces) / LEAF_FACES))))
        faces = np.ascontiguousarray(faces[_curve_order(self.rest[faces].mean(axis=1))])
        nodes, stack = np.empty((2 * leaves, kernel.FIELDS)), np.empty(kernel.DEEPEST, np.int64)
        figures = tuple(dict.fromkeys(figure for figure, _ in queries))
        chosen = [self.looked_up(vertices) for _, vertices in queries]
        part = Part(name, faces, (np.empty((len(faces), 9)), nodes, stack))
        if sum(map(len, chosen)) == 0:
            return part
        groups = np.repeat([figures.index(figure) for figure, _ in queries], list(map(len, chosen)))
        part = replace(part, figures=figures, query=np.concatenate(chosen), groups=groups)
        return replace(part, at_rest=part.depths(self.rest))

    def colliding_parts(self) -> list[Part]:
        """Return trunk, head and legs with the vertices that must not be inside them."""
        hands = {side: self.of_side(side, *HANDS) for side in SIDES}
        asked: dict[str, tuple[NDArray, list[tuple[str, NDArray]]]] = {
            "trunk": (
                self.of(*TRUNK),
                [("arm_in_torso", hands[side] | self.of_side(side, "lower_arm")) for side in SIDES],
            ),
            "head": (self.of("head"), [("hand_in_head", hands[side]) for side in SIDES]),
        }
        for side, other in zip(SIDES, SIDES[::-1]):
            queries = [("hand_in_legs", hands[each]) for each in SIDES]
            queries.append(("leg_in_leg", self.of_side(other, *LEG[1:])))
            asked[f"{side} leg"] = self.of_side(side, *LEG), queries
        parts = (self.part_of(name, mask, queries) for name, (mask, queries) in asked.items())
        return [part for part in parts if part is not None and len(part.query)]

    def name_of(self, vertex: int) -> str:
        """Return the part of a vertex in words: "left forearm"."""
        side, _, part = str(self.part[vertex]).partition("_")
        words = {"lower_arm": "forearm", "lower_leg": "shin", "upper_leg": "thigh"} | dict.fromkeys(HANDS, "hand")
        return f"{side} {words.get(part, part)}".strip()


def measure_skin(pair: MotionPair, motion: Motion, character: Character, ground: Ground | None = None) -> SkinFigures:
    """Return the figures that need the mesh; `motion` is the result of the pair, in its own metres.

    ground: what the result stands on; None takes the level at which its lowest vertices usually are where the source
    stands.
    """
    if character.skin is None:
        raise SkeletonError(f"expected a character with a skin, got {character.name!r} without one")
    character.require_fit(motion.skeleton)
    if len(motion) < pair.result_first + pair.frames:
        raise MotionError(
            f"expected the result's motion of {pair.result_first + pair.frames} frames or more, got {len(motion)}"
        )
    body = BodyParts(character, character.skin)
    spread = np.unique(np.linspace(0, pair.frames - 1, SPREAD).astype(int))
    touching, flat = _hands_at_body(pair), _flat_frames(pair)
    wanted = np.array(sorted({*spread.tolist(), *touching, *(frame for frames in flat.values() for frame in frames)}))
    # lengths refer to a skin of 1.7 m: bones make both bodies one size, but a big head makes the skin taller
    tall = max(BODY, float(np.ptp(body.rest[body.body_vertices, 1])) * pair.result.scale)
    millimetres = 1000.0 * pair.result.scale * BODY / tall
    deepest, lows = _Deepest(body, pair, wanted, tall / pair.result.scale), np.empty(len(wanted))
    gaps, tilts = _Gaps(body, pair.result.scale), _Tilts(body, pair.result.scale)
    shapes = body.posed(Kinematics(motion), wanted + pair.result_first)
    for number, (frame, shape) in enumerate(zip(wanted.tolist(), shapes)):
        deepest.add(number, shape)
        lows[number] = _lowest(shape[body.body_vertices], ground)
        for side, part, distance in touching.get(frame, ()):
            gaps.add(shape, side, part, distance)
        for side, frames in flat.items():
            if frame in frames:
                tilts.add(shape, side)
    below, below_frame, off = _floor(pair, wanted, lows, given=ground is not None)
    return SkinFigures(
        inside=deepest.summary(np.isin(wanted, spread), millimetres),
        below_floor=None if below is None else millimetres * below,
        below_floor_frame=below_frame,
        off_floor=None if off is None else millimetres * off,
        sole_tilt=quantile(np.array(tilts.found), 0.9) if tilts.found else None,
        hand_gap=1000.0 * BODY / tall * float(np.median(gaps.found)) if len(gaps.found) >= 3 else None,
    )


class _Deepest:
    """The deepest vertex of every figure, frame by frame."""

    def __init__(self, body: BodyParts, pair: MotionPair, frames: NDArray, tall: float) -> None:
        self.body, self.parts, self.frames, self.tall = body, body.colliding_parts(), frames + pair.first, tall
        asked = {figure for part in self.parts for figure in part.figures}
        self.depth = {figure: np.zeros(len(frames)) for figure in FIGURES if figure in asked}
        self.where: dict[str, tuple[float, int, str, str]] = {}

    def add(self, number: int, shape: NDArray) -> None:
        """Look at the skin of one frame."""
        for part in self.parts:
            for figure, depth, vertex in part.deepest(shape):
                self.depth[figure][number] = max(self.depth[figure][number], depth)
                if depth > self.where.get(figure, (0.0,))[0]:
                    inside = self.body.name_of(vertex)
                    self.where[figure] = depth, int(self.frames[number]), inside, part.name

    def summary(self, spread: NDArray, millimetres: float) -> dict[str, Inside]:
        """Return the figures; `spread` marks the evenly spread frames."""
        out = {}
        for figure, depths in self.depth.items():
            often = 100.0 * float((depths[spread] > DEEP * self.tall).mean())
            _, frame, inside, into = self.where.get(figure, (0.0, None, None, None))
            out[figure] = Inside(millimetres * float(depths.max(initial=0.0)), often, frame, inside, into)
        return out


class _Gaps:
    """How much farther the result's hands are from its skin than the source's palms are from its body."""

    def __init__(self, body: BodyParts, scale: float) -> None:
        self.body, self.scale, self.found = body, scale, list[float]()
        self.parts: dict[str, Part | None] = {}
        self.hands: dict[str, NDArray] = {}

    def add(self, shape: NDArray, side: str, part: str, distance: float) -> None:
        """Measure a hand in one frame; distance: the source's, metres on a body of 1.7 m."""
        if part not in self.parts:
            of_part = {"trunk": TRUNK, "head": ("head",), **{f"{s}_thigh": (f"{s}_upper_leg",) for s in SIDES}}
            self.parts[part] = self.body.part_of(part, self.body.of(*of_part[part]))
        if side not in self.hands:
            self.hands[side] = _strided(np.flatnonzero(self.body.of_side(side, *HANDS)), GAP_VERTICES)
        surface, hand = self.parts[part], self.hands[side]
        if surface is not None and len(hand):
            gap = self.scale * surface.gap(shape, hand)
            self.found.append(max(0.0, gap - max(0.0, distance)))


class _Tilts:
    """Angles of soles to the floor, degrees."""

    def __init__(self, body: BodyParts, scale: float) -> None:
        self.found: list[float] = []
        self.soles: dict[str, NDArray | None] = {}
        for side in SIDES:
            foot = np.flatnonzero(body.of_side(side, "foot", "toes"))
            self.soles[side] = None
            if len(foot) >= 6:
                heights = body.rest[foot, 1]
                sole = foot[heights < heights.min() + SOLE_BAND / scale]
                if len(sole) >= 4:
                    tilt, width = _tilt(body.rest[sole])
                    if width * scale >= SOLE_WIDTH and tilt <= SOLE_TILT:
                        self.soles[side] = sole

    def add(self, shape: NDArray, side: str) -> None:
        """Measure the sole of one side in one frame."""
        sole = self.soles[side]
        if sole is not None:
            self.found.append(_tilt(shape[sole])[0])


def _tilt(points: NDArray) -> tuple[float, float]:
    """Return the angle of the plane nearest to points (N, 3) to the floor, degrees, and its width (RMS), metres."""
    squares, axes = np.linalg.eigh(np.cov(points.T, bias=True))
    return float(np.degrees(np.arccos(min(1.0, abs(axes[1, 0]))))), float(np.sqrt(max(squares[1], 0.0)))


def _hands_at_body(pair: MotionPair) -> dict[int, list[tuple[str, str, float]]]:
    """Return frame → (side, part, distance of the palm's skin) where the source's palm is at its body, some frames."""
    found: dict[int, list[tuple[str, str, float]]] = {}
    for side, distances in palm_distances(pair).items():
        nearest = distances.argmin(axis=1)
        for frame in _strided(np.flatnonzero(distances.min(axis=1) < NEAR_BODY), EXTRA).tolist():
            part = int(nearest[frame])
            distance = float(distances[frame, part]) - PALM_THICKNESS * BODY
            found.setdefault(frame, []).append((side, BODY_PARTS[part], distance))
    return found


def _flat_frames(pair: MotionPair) -> dict[str, list[int]]:
    """Return side → some of the frames in which the source stands on the whole sole: still, low, body upright."""
    if not pair.both(*(f"{side}_{part}" for side in SIDES for part in ("foot", "toes"))):
        return {}
    out = {}
    for side in SIDES:
        flat = pair.source["hips"][:, 1] - pair.source[f"{side}_toes"][:, 1] > UPRIGHT * BODY
        for part in ("foot", "toes"):
            floor = quantile(np.concatenate([pair.source[f"{each}_{part}"][:, 1] for each in SIDES]), 0.02)
            flat &= standing_frames(pair, (f"{side}_{part}",))
            flat &= pair.source[f"{side}_{part}"][:, 1] < floor + FLAT_BAND
        out[side] = _strided(np.flatnonzero(flat), EXTRA).tolist()
    return out


def _lowest(vertices: NDArray, ground: Ground | None) -> float:
    """Return the height of the lowest vertex, above the ground if it is given, metres."""
    heights = vertices[:, 1]
    return float((heights if ground is None else heights - ground.height(vertices[:, ::2])).min())


def _floor(
    pair: MotionPair, frames: NDArray, lows: NDArray, *, given: bool
) -> tuple[float | None, int | None, float | None]:
    """Return depth below the floor with its frame, and the distance of the floor from y = 0, in the result's metres.

    The floor is where the lowest vertices usually are while the source stands; there is none on stairs and boxes.
    lows: heights of the lowest vertices at the frames, above the ground if it is given.
    """
    lowest = int(lows.argmin())
    if given:
        return max(0.0, -float(lows[lowest])), int(frames[lowest]) + pair.first, None
    joint = "toes" if any(role.endswith("toes") for role, _, _ in pair.stances) else "foot"
    feet = [stance for stance in pair.stances if stance[0].endswith(joint)]
    if not feet:
        return None, None, None
    heights = np.array([float(np.median(pair.source[role][start:end, 1])) for role, start, end in feet])
    standing = standing_frames(pair, tuple(f"{side}_{joint}" for side in SIDES))
    level = lows[standing[frames]]
    if quantile(heights, 0.95) - quantile(heights, 0.05) > FLOOR_BAND or len(level) < 3:
        return None, None, None
    floor = float(np.median(level))
    on_zero = -0.03 < float(np.median(heights)) < (0.12 if joint == "toes" else 0.18)
    return max(0.0, floor - float(lows[lowest])), int(frames[lowest]) + pair.first, abs(floor) if on_zero else None


def _curve_order(points: NDArray) -> NDArray:
    """Return the order of points (N, 3) along a Morton curve with 2¹⁰ cells per axis."""
    low, high = points.min(axis=0), points.max(axis=0)
    cells = ((points - low) / np.maximum(high - low, 1e-12) * 1023.0).astype(np.int64)
    for shift, mask in ((16, 0x030000FF), (8, 0x0300F00F), (4, 0x030C30C3), (2, 0x09249249)):
        cells = (cells | (cells << shift)) & mask
    return np.argsort(cells[:, 0] | (cells[:, 1] << 1) | (cells[:, 2] << 2), kind="stable")


def _evenly(values: NDArray, most: int) -> NDArray:
    """Return at most `most` of the values, evenly spread."""
    return values if len(values) <= most else values[np.linspace(0, len(values) - 1, most).astype(int)]


def _strided(values: NDArray, about: int) -> NDArray:
    """Return every n-th of the values, approximately `about` of them."""
    return values[:: max(1, len(values) // about)]
