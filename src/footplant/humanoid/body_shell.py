"""The skin of a body as samples that move with it: what arms are kept out of; and the samples of the arms themselves.

The samples of a group (trunk, head, legs) lie where the generalised winding number of its triangles passes ½, so that
inner layers of clothes and single sheets of cloth count for nothing. Characters without a skin get the surface of a
body of typical proportions (`body_proxy`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import SkeletonError
from footplant.humanoid.body_proxy import AROUND, RINGS, SEGMENTS, BodySurface
from footplant.skeleton import Character, Roles, Skeleton, Skin

GROUPS = ("trunk", "head", "left_leg", "right_leg")
"""What arms are kept out of, in the order of the tables."""
FINGERS = ("thumb", "index", "middle", "ring", "little")
SIDES = ("left", "right")
LIMB_PARTS = {
    "leg": ("upper_leg", "upper_leg_twist", "lower_leg", "lower_leg_twist", "foot", "toes"),
    "arm": ("upper_arm", "upper_arm_twist", "lower_arm", "lower_arm_twist", "hand", *FINGERS),
    "hand": ("hand", *FINGERS), "forearm": ("lower_arm", "lower_arm_twist"),
    "upper_arm": ("upper_arm", "upper_arm_twist"), "thigh": ("upper_leg", "upper_leg_twist"),
    "shin": ("lower_leg", "lower_leg_twist"), "foot": ("foot", "toes"),
}  # fmt: skip
"""Limbs and their parts → the roles whose skin they have, without the side."""
PARTS = ("trunk", "head", *(f"{side}_{part}" for part in LIMB_PARTS for side in SIDES))
"""Every part of a body that has a surface of its own."""
_TRUNK_ROLES = ("", "hips", "spine", "neck", "left_clavicle", "right_clavicle")
_ARM = ("upper_arm", "lower_arm", "hand")
_SEGMENTS = {
    "leg": ("upper_leg", "lower_leg"), "arm": _ARM, "hand": ("hand",),
    "forearm": ("lower_arm",), "upper_arm": ("upper_arm",), "thigh": ("upper_leg",), "shin": ("lower_leg",),
}  # fmt: skip
"""Limbs and their parts → the tubes that stand for them without a skin."""


@dataclass(frozen=True)
class ShellSettings:
    """Tuning numbers of body shells. Lengths are in body heights."""

    samples: Mapping[str, int] = field(
        default_factory=lambda: MappingProxyType(
            {"trunk": 144, "head": 72, "leg": 72, "arm": 72, "hand": 56, "forearm": 32, "upper_arm": 32, "thigh": 36,
             "shin": 32, "foot": 32}
        )
    )  # fmt: skip
    """Samples of each of `PARTS`, without its side. Doubled, everything costs twice."""
    cluster: int = 12
    """Samples of a cluster: clusters far from a point are skipped. Results do not depend on it."""
    dense: int = 2500
    """Points spread over the triangles of a group, from which the samples are chosen."""
    depth: float = 0.004
    """How far on either side of a sample the winding number is taken (7 mm)."""
    least_weight: float = 0.1
    """Skin weights below this are dropped from a sample."""
    hand_samples: int = 18
    """Samples on the skin of a hand, its rim and fingertips among them. In 76 pairs, hands are up to 46 mm in legs with
    9 of them, 45 mm with 12, 12 mm with 18 and 9 mm with 24 (but for one walk on CesiumMan); with 24, hands that rest
    on the body are 14 mm off it in the median instead of 10, and characters with fingers take 4 % longer."""
    hand_reach: float = 0.16
    """Distance from the wrist up to which a vertex belongs to the hand and not to a thing that it holds. With all
    of the fingers, samples of large hands are farther apart: a robot's arms are 42 instead of 14 and 19 mm in its trunk
    (13_01 and 61_01 on RobotExpressive), fingertips of a cartwheel 23 instead of 46 mm deep (49_06, DinoKid)."""
    forearm: tuple[float, ...] = (0.2, 0.45, 0.7, 0.95)
    """Fractions of the forearm at which spheres are centred."""
    elbow: float = 0.25
    """Fraction of the upper arm's radius that is kept out of the trunk at the elbow: soft tissue is compressed."""
    foot_width: float = 0.026
    """Half the width of a foot of a character without a skin (Drillis and Contini 1966: 0.055 in all)."""
    forearm_percentile: float = 85.0
    """Percentile of the distances of the skin from the bone that is the radius of a sphere."""


SHELL = ShellSettings()


@dataclass(frozen=True, eq=False)
class BodyShell:
    """Samples on the skin of trunk, head and legs, with normals and skin weights; see `kernels.shell.Shell`."""

    groups: NDArray
    clusters: NDArray
    starts: NDArray
    joints: NDArray
    weights: NDArray
    places: NDArray
    cores: NDArray
    normals: NDArray
    widths: NDArray
    anchors: NDArray
    reaches: NDArray
    cuts: NDArray
    depths: NDArray

    @classmethod
    def of(cls, character: Character, parts: Sequence[str] = GROUPS) -> BodyShell:
        """Return the shell of parts (of `PARTS`, in this order) of a humanoid; that of the same skin is cached."""
        known = _known(character)
        patches = tuple(_patch(character, known, part) for part in parts)
        if patches not in known.shells:
            known.shells[patches] = _assembled(patches, set(GROUPS) <= set(parts))
        return known.shells[patches]

    def tables(self):
        """Return the samples as kernels take them."""
        from footplant.kernels.shell import Shell

        return Shell(
            self.groups, self.clusters, self.starts, self.joints, self.weights, self.places, self.cores, self.normals,
            self.widths, self.anchors, self.reaches, self.cuts, self.depths,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class ArmSamples:
    """Spheres on the arms (radius 0: points of the skin) that are kept out of the body."""

    arms: NDArray
    """(P,) int64; 0 left, 1 right."""
    forearm: NDArray
    """(P,) bool; moves with the forearm, else with the upper arm."""
    joints: NDArray
    """(P,) int64; the joint that carries it."""
    offsets: NDArray
    """(P, 3) metres, in the joint's frame."""
    radii: NDArray
    """(P,) metres."""
    outer: NDArray
    """(P,) bool; on the hand or near the wrist."""

    @classmethod
    def of(cls, character: Character) -> ArmSamples:
        """Return the samples of a humanoid character; those of the same skin are cached."""
        known = _known(character)
        if known.arms is None:
            known.arms = _arm_samples(character, known.surface, known.bare)
        return known.arms


@dataclass(frozen=True, eq=False)
class _Patch:
    """The samples of one part, cluster by cluster."""

    influences: tuple[tuple[tuple[int, float, NDArray, NDArray], ...], ...]
    """Of each sample: joint, weight, place and core."""
    normals: tuple[NDArray, ...]
    depths: tuple[float, ...]
    """Of each sample, metres (`_depths`)."""
    sizes: tuple[int, ...]
    """Samples of each cluster."""
    cut: int
    """Number of clusters before those where the part was cut from another."""
    width: float
    anchor: int
    reach: float


class _Known:
    """What has been made of a skin, or of a skeleton without one."""

    def __init__(self, character: Character) -> None:
        self.roles = character.require_roles()
        self.surface = BodySurface.of(character)
        self.parts = None if character.skin is None else vertex_parts(character)
        self.bare = None if self.parts is None else _without_things(character, self.parts)
        self.patches: dict[str, _Patch] = {}
        self.shells: dict[tuple[_Patch, ...], BodyShell] = {}
        self.arms: ArmSamples | None = None


_made: WeakKeyDictionary[Skin | Skeleton, _Known] = WeakKeyDictionary()


def _known(character: Character) -> _Known:
    roles, key = character.require_roles(), character.skeleton if character.skin is None else character.skin
    found = _made.get(key)
    if found is None or found.roles is not roles:
        found = _made[key] = _Known(character)
    return found


def surface_of(character: Character) -> BodySurface:
    """Return the tubes of a humanoid character; those of the same skin are cached."""
    return _known(character).surface


def vertex_parts(character: Character) -> NDArray:
    """Return the role (V,) of each vertex's heaviest joint, or of its nearest ancestor with a role ("" for none)."""
    roles, skin, skeleton = character.require_roles(), character.skin, character.skeleton
    if skin is None:
        raise SkeletonError(f"expected a character with a skin, got {character.name!r} without one")
    by_joint = {joint: role for role, chain in roles.joints.items() for joint in chain}
    of_joint: list[str] = []
    for joint, parent in enumerate(skeleton.parents):
        of_joint.append(by_joint.get(joint) or (of_joint[parent] if parent >= 0 else ""))
    heaviest = np.take_along_axis(skin.joints, np.argmax(skin.weights, axis=1)[:, None], axis=1)[:, 0]
    return np.array(of_joint)[heaviest]


def _roles_of(part: str) -> tuple[str, ...]:
    """Return the roles whose skin belongs to a part."""
    if part in ("trunk", "head"):
        return _TRUNK_ROLES if part == "trunk" else ("head",)
    side, _, kind = part.partition("_")
    return tuple(f"{side}_{role}" for role in LIMB_PARTS[kind])


def _of_part(character: Character, known: _Known, part: str) -> NDArray | None:
    """Return which vertices (V,) belong to a part; None without a skin."""
    if known.parts is None or known.bare is None or character.skin is None:
        return None
    own, attached = np.isin(known.parts, _roles_of(part)), character.skin.attached
    if part in GROUPS:
        return own
    wrist = known.roles.get(f"{part.partition('_')[0]}_hand")
    if part.endswith("_hand") and wrist is not None:
        own = np.isin(known.bare, _roles_of(part)) & _near_wrist(character, wrist)
    if attached is not None and (own & ~attached).sum() >= 16:
        own &= ~attached
    return own


def part_vertices(character: Character, part: str) -> NDArray | None:
    """Return the vertices (V, 3) of a part's skin in the rest pose, metres; None without a skin."""
    chosen = _of_part(character, _known(character), part)
    return None if chosen is None or character.skin is None else character.skin.vertices[chosen]


def part_faces(skin: Skin, chosen: NDArray, count: int, shared: NDArray | None = None) -> NDArray:
    """Return the triangles (T, 3) of a part of the skin, chosen (V,) bool, that `count` samples represent.

    They have all corners among its vertices, or, if they are larger than two fifths of what a sample stands for, two.
    Without these, coarse meshes would lose the sides of their trunk to the arms: beside that of a figure of 370
    vertices, a hanging arm would be 0.1 m inside, and be pushed behind the back. With all of them, the cut of a fine
    mesh is ragged, and a forearm stays 22 mm inside a belly. shared (T,): triangles of which one corner is enough.
    """
    if not skin.faces.size:
        return np.zeros((0, 3), np.int64)
    inside = chosen[skin.faces].sum(axis=1)
    corners = skin.vertices[skin.faces]
    areas = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    large = areas > 0.4 * areas[inside == 3].sum() / count
    most = inside == 2 if shared is None else (inside == 2) | ((inside == 1) & shared)
    return skin.faces[(inside == 3) | (large & most)]


def _between_limbs(skin: Skin, parts: NDArray) -> NDArray:
    """Return which triangles (T,) have their corners in three of trunk, head, legs and arms; parts (V,): roles.

    They are the trunk's: the whole side of a figure of 370 vertices, between shoulder and thigh, is such triangles.
    Without them an arm that is outside was pushed by 39°, and then 84 mm into the trunk.
    """
    limbs = np.zeros(len(parts), np.int64)
    for number, limb in enumerate((*GROUPS[1:], "left_arm", "right_arm")):
        limbs[np.isin(parts, _roles_of(limb))] = number + 1
    first, second, third = limbs[skin.faces].reshape(-1, 3).T
    return (first != second) & (second != third) & (third != first)


def _from_wrist(character: Character, wrist: int) -> NDArray:
    """Return the distances (V,) of the vertices from a wrist, metres."""
    assert character.skin is not None
    bind = character.skin.inverse_bind[wrist]
    return np.linalg.norm(character.skin.vertices @ bind[:3, :3].T + bind[:3, 3], axis=1)


def _near_wrist(character: Character, wrist: int) -> NDArray:
    """Return which vertices (V,) are near enough to a wrist to belong to the hand and not to a thing that it holds."""
    return _from_wrist(character, wrist) < SHELL.hand_reach * character.height


def _patch(character: Character, known: _Known, part: str) -> _Patch:
    """Return the samples of a part; those of the same skin are cached."""
    if part not in PARTS:
        raise SkeletonError(f"expected a part of the body among {', '.join(PARTS)}; got {part!r}")
    if part in known.patches:
        return known.patches[part]
    rest, turned = character.skeleton.rest_world
    turn = rotation.to_matrix(turned)
    kind = part if part in SHELL.samples else part.partition("_")[2]
    chosen = _of_part(character, known, part)
    beyond = _of_other_groups(known, part)
    between = None
    if part == "trunk" and character.skin is not None and known.parts is not None:
        between = _between_limbs(character.skin, known.parts)
    found = None if chosen is None else _skin_samples(character, chosen, SHELL.samples[kind], beyond, between)
    if found is None:
        influences, outward, width = _tube_samples(character, known.surface, part)
        cut, depths = np.zeros(len(influences), bool), np.full(len(influences), np.inf)
    else:
        influences, outward, width, cut, depths = found
    places = np.array([sum(w * (rest[j] + turn[j] @ place) for j, w, place in rows) for rows in influences])
    inner = _cores(character, part, places)
    influences = [
        tuple((*row, (core - rest[row[0]]) @ turn[row[0]]) for row in rows) for rows, core in zip(influences, inner)
    ]
    clusters, last = _clusters(places, np.flatnonzero(~cut)), _clusters(places, np.flatnonzero(cut))
    begin, clusters = len(clusters), clusters + last
    order = [number for members in clusters for number in members]
    anchor = _anchor(known.roles, part)
    reach = 1.15 * float(np.linalg.norm(places - rest[anchor], axis=1).max())
    depths = np.minimum(depths, reach)[order]
    known.patches[part] = _Patch(
        tuple(influences[n] for n in order), tuple(outward[n] for n in order), tuple(depths.tolist()),
        tuple(map(len, clusters)), begin, width, anchor, reach,
    )  # fmt: skip
    return known.patches[part]


def _anchor(roles: Roles, part: str) -> int:
    """Return a joint in the middle of a part."""
    side, _, kind = part.partition("_")
    spine = roles.joints.get("spine", ())
    if part == "trunk":
        return spine[len(spine) // 2] if spine else roles["hips"]
    if part == "head":
        found = roles.get("head")
    elif kind in ("arm", "leg"):
        found = roles.get(f"{side}_lower_{kind}")
    else:
        found = roles.get(f"{side}_{LIMB_PARTS[kind][0]}")
    return roles["hips"] if found is None else found


def _assembled(patches: Sequence[_Patch], whole: bool) -> BodyShell:
    """Return the shell of some parts; whole: of all groups, so that what is beyond a cut is in the shell as well."""
    sizes = [size for patch in patches for size in patch.sizes]
    rows = [row for patch in patches for row in patch.influences]
    joints, weights, places, cores = zip(*(influence for row in rows for influence in row))
    return BodyShell(
        np.cumsum([0, *(len(patch.sizes) for patch in patches)]).astype(np.int64),
        np.cumsum([0, *sizes]).astype(np.int64), np.cumsum([0, *map(len, rows)]).astype(np.int64),
        np.array(joints, np.int64), np.array(weights, float), np.array(places, float), np.array(cores, float),
        np.array([normal for patch in patches for normal in patch.normals], float),
        np.array([patch.width for patch in patches]), np.array([patch.anchor for patch in patches], np.int64),
        np.array([patch.reach for patch in patches]),
        np.cumsum([0, *(len(patch.sizes) for patch in patches)])[:-1]
        + np.array([patch.cut if whole else len(patch.sizes) for patch in patches]),
        np.array([depth for patch in patches for depth in patch.depths]),
    )  # fmt: skip


def _cores(character: Character, group: str, places: NDArray) -> NDArray:
    """Return the points (N, 3) of a group's bones that are nearest to its samples (N, 3), in the rest pose, metres."""
    roles, rest = character.require_roles(), character.skeleton.rest_world[0]
    side, _, kind = group.partition("_")
    chain = ("upper_leg", "lower_leg", "foot") if kind in ("leg", "thigh", "shin", "foot") else _ARM
    names = {"trunk": ("hips", "spine", "neck"), "head": ("head",)}.get(group, tuple(f"{side}_{x}" for x in chain))
    bones = rest[[joint for name in names for joint in roles.joints.get(name, ())]]
    if group == "head":
        bones = np.concatenate([bones, places.mean(axis=0, keepdims=True)])
    if not len(bones):
        return np.repeat(places.mean(axis=0, keepdims=True), len(places), axis=0)
    best, out = np.full(len(places), np.inf), np.empty_like(places)
    for start, end in zip(bones, bones[1:] if len(bones) > 1 else bones):
        way = end - start
        share = np.clip((places - start) @ way / max(float(way @ way), 1e-12), 0.0, 1.0)
        core = start + share[:, None] * way
        away = np.linalg.norm(places - core, axis=1)
        out, best = np.where((away < best)[:, None], core, out), np.minimum(away, best)
    return out


def _depths(places: NDArray, normals: NDArray, others: NDArray, other_normals: NDArray) -> NDArray:
    """Return how deep a body is behind each of its samples (N, 3), with outward normals (N, 3): the radius (N,) of the
    largest ball that touches the sample from inside and holds no other point (M, 3) of a side that faces away,
    metres."""
    way = places[:, None] - others[None]
    behind = (normals[:, None] * way).sum(axis=2)
    across = (behind > 0.0) & (normals @ other_normals.T < 0.0)
    radii = (way**2).sum(axis=2) / np.maximum(2.0 * behind, 1e-12)
    return np.where(across, radii, np.inf).min(axis=1, initial=np.inf)


def _clusters(places: NDArray, numbers: NDArray) -> list[NDArray]:
    """Return some of points (N, 3), by their numbers, in clusters of about `ShellSettings.cluster`."""
    from footplant.kernels import shell as kernel

    places = np.ascontiguousarray(places[numbers])
    seeds = np.empty(-(-len(places) // SHELL.cluster), np.int64)
    kernel.farthest(places, len(seeds), seeds)
    own = np.linalg.norm(places[:, None] - places[seeds][None], axis=2).argmin(axis=1) if len(places) else np.zeros(0)
    return [numbers[members] for number in range(len(seeds)) if len(members := np.flatnonzero(own == number))]


def _of_other_groups(known: _Known, part: str) -> NDArray | None:
    """Return which vertices (V,) belong to the groups of `GROUPS` that adjoin a group; None for other parts."""
    if known.parts is None or part not in GROUPS:
        return None
    return np.isin(known.parts, [role for group in GROUPS if group != part for role in _roles_of(group)])


def _skin_samples(character: Character, chosen: NDArray, count: int, beyond: NDArray | None, between: NDArray | None):
    """Return influences, normals and spacing of samples where a part of the skin, chosen (V,), has its outer surface,
    which of them lie where it was cut from vertices beyond (V,), and depths (`_depths`). between (T,): see
    `_between_limbs`."""
    from footplant.kernels import shell as kernel

    skin = character.skin
    assert skin is not None
    faces = part_faces(skin, chosen, count, between)
    # vertices without weight do not follow any joint
    if len(faces) < 8 or not (skin.weights[faces].sum(axis=2) > 0.0).all():
        return None
    open_corners = np.ascontiguousarray(skin.vertices[faces])
    vertices, faces, shared, cut = _closed(skin, chosen, faces, 1e-5 * character.height, beyond)
    corners = np.ascontiguousarray(vertices[faces])
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = 0.5 * np.linalg.norm(across, axis=1)
    if not areas.sum() > 0.0:
        return None
    # evenly spread over the area: equal steps along the summed areas, a low-discrepancy sequence within the triangles
    steps = (np.arange(SHELL.dense) + 0.5) / SHELL.dense * areas.sum()
    rows = np.minimum(np.searchsorted(np.cumsum(areas), steps), len(faces) - 1)
    u, v = (np.arange(SHELL.dense) * share % 1.0 for share in (0.7548776662466927, 0.5698402909980532))
    u, v = np.where(u + v > 1.0, 1.0 - u, u), np.where(u + v > 1.0, 1.0 - v, v)
    shares = np.stack([1.0 - u - v, u, v], axis=1)
    points = np.einsum("nk,nkd->nd", shares, corners[rows])
    normals = across[rows] / np.maximum(2.0 * areas[rows, None], 1e-12)
    picked = np.empty(min(2 * count, len(points)), np.int64)
    kernel.farthest(points, len(picked), picked)
    outer = _outer(open_corners, points[picked], normals[picked], SHELL.depth * character.height)
    picked, sign = picked[outer != 0.0], outer[outer != 0.0]
    if len(picked) < count // 4:
        return None
    others, facing = points[picked], sign[:, None] * normals[picked]
    order = np.empty(min(count, len(picked)), np.int64)
    kernel.farthest(np.ascontiguousarray(points[picked]), len(order), order)
    picked, sign = picked[order], sign[order]
    gaps = np.linalg.norm(points[picked][:, None] - points[picked][None], axis=2) + 1e6 * np.eye(len(picked))
    width = float(np.median(gaps.min(axis=1)))
    # the normal of a sample stands for its surroundings
    squares = (points**2).sum(axis=1)
    away = np.maximum(squares[picked, None] + squares - 2.0 * points[picked] @ points.T, 0.0)
    near = np.exp(-away / (0.5 * width) ** 2)
    near *= normals[picked] @ normals.T > 0.3
    outward = sign[:, None] * (near @ normals)
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)
    influences, own = [], np.empty_like(outward)
    for n, point in enumerate(picked):
        table: dict[int, float] = {}
        for vertex, share in zip(faces[rows[point]], shares[point]):
            loop = shared[vertex - len(skin.vertices)] if vertex >= len(skin.vertices) else [vertex]
            for each in loop:
                for joint, weight in zip(skin.joints[each].tolist(), skin.weights[each].tolist()):
                    table[joint] = table.get(joint, 0.0) + share * weight / len(loop)
        kept = sorted(((weight, joint) for joint, weight in table.items()), reverse=True)[:4]
        kept = [(weight, joint) for weight, joint in kept if weight >= min(SHELL.least_weight, kept[0][0])]
        total = sum(weight for weight, _ in kept)
        local = [
            (joint, weight / total, skin.inverse_bind[joint, :3, :3] @ points[point] + skin.inverse_bind[joint, :3, 3])
            for weight, joint in kept
        ]
        influences.append(local)
        turned = skin.inverse_bind[kept[0][1], :3, :3] @ outward[n]
        length = np.linalg.norm(turned)
        if not length > 0.0:
            return None
        own[n] = turned / length
    return influences, own, width, cut[rows[picked]], _depths(points[picked], outward, others, facing)


def _closed(
    skin: Skin, chosen: NDArray, faces: NDArray, tolerance: float, beyond: NDArray | None
) -> tuple[NDArray, NDArray, list[NDArray], NDArray]:
    """Close a part of a skin where it was cut from the rest: a fan of triangles about the middle of each open loop.

    Returns vertices with the middles appended, triangles with the fans appended, the vertices of each loop, and which
    triangles lie between the part, whose vertices are chosen (V,), and vertices beyond (V,).
    """
    vertices = skin.vertices
    used, own = np.unique(faces, return_inverse=True)
    # vertices that are split along a texture's seam are one
    _, first, welded = np.unique(np.round(vertices[used] / tolerance), axis=0, return_index=True, return_inverse=True)
    corners = welded.reshape(-1)[own.reshape(-1, 3)]
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    edges = edges[edges[:, 0] != edges[:, 1]]
    codes, counts = np.unique(np.sort(edges, axis=1) @ np.array([len(first), 1]), return_counts=True)
    lone = np.isin(np.sort(edges, axis=1) @ np.array([len(first), 1]), codes[counts == 1])
    edges = edges[lone]
    over = _goes_over(skin.faces, edges, used, chosen, welded.reshape(-1), beyond)
    label = _connected(edges, len(first))
    middles, fans, loops, cut = [], [], [], [np.zeros(len(faces), bool)]
    for loop in np.unique(label[edges[:, 0]]) if len(edges) else ():
        chain = label[edges[:, 0]] == loop
        around = edges[chain]
        if len(around) < 3:
            continue
        members = used[first[np.unique(around)]]
        number = len(vertices) + len(middles)
        middles.append(vertices[used[first[around]]].mean(axis=(0, 1)))
        fans.append(
            np.column_stack([used[first[around[:, 1]]], used[first[around[:, 0]]], np.full(len(around), number)])
        )
        loops.append(members)
        cut.append(over[chain])
    if not middles:
        return vertices, faces, [], cut[0]
    return np.concatenate([vertices, middles]), np.concatenate([faces, *fans]), loops, np.concatenate(cut)


def _goes_over(
    faces: NDArray, edges: NDArray, used: NDArray, chosen: NDArray, welded: NDArray, beyond: NDArray | None
) -> NDArray:
    """Return (E,) where edges (E, 2) of a part, numbered as welded (U,), border on vertices beyond (V,).

    used (U,): vertices of the part's triangles; faces (T, 3): of the whole skin. Triangles that have a corner in
    another part overlap that: they have no common edge.
    """
    if beyond is None or not len(edges):
        return np.zeros(len(edges), bool)
    number, count = np.full(len(beyond), -1), int(welded.max()) + 1
    number[used] = welded
    corners, votes, whole = number[faces], np.zeros(count), np.ones(count, bool)
    whole[welded[~chosen[used]]] = False
    for one in range(3):
        for other in range(3):
            across = (corners[:, one] >= 0) & (corners[:, other] < 0)
            votes += np.bincount(corners[across, one], np.where(beyond[faces[across, other]], 1.0, -1.0), count)
    return (votes[edges].sum(axis=1) > 0.0) & whole[edges].all(axis=1)


def _connected(edges: NDArray, count: int) -> NDArray:
    """Return a label (count,) for each vertex, equal for vertices that edges (E, 2) connect."""
    label = np.arange(count)
    while True:
        low = np.minimum(label[edges[:, 0]], label[edges[:, 1]])
        before = label.copy()
        np.minimum.at(label, before[edges[:, 0]], low)
        np.minimum.at(label, before[edges[:, 1]], low)
        label = label[label]
        if (label == before).all():
            return label


def _held_things(skin: Skin, parts: NDArray, tolerance: float) -> NDArray:
    """Return which vertices (V,) belong to things: pieces of their own on one joint of an arm, beside others there."""
    _, welded = np.unique(np.round(skin.vertices / tolerance), axis=0, return_inverse=True)
    corners = welded.reshape(-1)[skin.faces]
    label = _connected(np.concatenate([corners[:, :2], corners[:, 1:]]), int(welded.max(initial=0)) + 1)
    piece = label[welded.reshape(-1)]
    heaviest = np.take_along_axis(skin.joints, np.argmax(skin.weights, axis=1)[:, None], axis=1)[:, 0]
    whole = skin.weights.max(axis=1) > 0.999
    rigid = np.zeros(len(piece), bool)
    arms = np.char.find(parts.astype(str), "_") > 0
    for number in np.unique(piece[arms]):
        own = piece == number
        rigid |= own & (whole[own].all() and (heaviest[own] == heaviest[own][0]).all())
    return rigid


def _without_things(character: Character, parts: NDArray) -> NDArray:
    """Return the roles (V,) of vertices, "thing" for those of things on arms."""
    assert character.skin is not None
    things = _held_things(character.skin, parts, 1e-5 * character.height)
    for name in _ARM:
        # a rigid robot has nothing else
        own = np.array([part.endswith(name) for part in parts])
        if (own & ~things).sum() >= 16:
            parts = np.where(own & things, "thing", parts)
    return parts


def _outer(corners: NDArray, points: NDArray, normals: NDArray, depth: float) -> NDArray:
    """Return (N,) +1 where the surface has its inside behind the normal, −1 in front of it, 0 where it bounds none."""
    from footplant.kernels import shell as kernel

    sides = [np.empty(len(points)) for _ in range(2)]
    for out, sign in zip(sides, (1.0, -1.0)):
        kernel.winding(corners, points + sign * depth * normals, out)
    front, behind = (np.abs(side) > 0.5 for side in sides)
    return behind.astype(float) - front.astype(float)


def _tube_samples(character: Character, surface: BodySurface, group: str):
    """Return influences, normals and spacing of samples on the tubes of a group."""
    side, _, kind = group.partition("_")
    if kind == "foot":
        return _foot_samples(character, side)
    names = {"trunk": ("hips", "waist", "chest"), "head": ("head",)}.get(
        group, tuple(f"{side}_{part}" for part in _SEGMENTS.get(kind, ()))
    )
    around = 2 * AROUND
    angles = 2.0 * np.pi * np.arange(around) / around
    terms = np.stack([np.ones_like(angles), np.cos(angles), np.sin(angles), np.cos(2 * angles), np.sin(2 * angles)], -1)
    influences, normals, widths = [], [], []
    for name in names:
        number = SEGMENTS.index(name)
        if surface.rings[number, 0, 0] < 0.0:
            continue
        radii = np.maximum(surface.rings[number] @ terms.T, 0.0)
        along = (np.arange(RINGS) + 0.5) / RINGS * surface.lengths[number]
        own = np.stack([radii * np.cos(angles), radii * np.sin(angles), np.repeat(along[:, None], around, 1)], axis=-1)
        turning = np.roll(own, -1, axis=1) - np.roll(own, 1, axis=1)
        rising = np.gradient(own, axis=0)
        outward = np.cross(turning, rising).reshape(-1, 3)
        outward /= np.maximum(np.linalg.norm(outward, axis=1, keepdims=True), 1e-12)
        own = own.reshape(-1, 3)
        if name == "head":
            own = np.concatenate([own, [[0.0, 0.0, surface.lengths[number] + 0.3 * radii[-1].mean()]]])
            outward = np.concatenate([outward, [[0.0, 0.0, 1.0]]])
        turn, joint = surface.turns[number], int(surface.joints[number])
        places = surface.origins[number] + rotation.rotate(turn, own)
        influences += [[(joint, 1.0, place)] for place in places]
        normals += list(rotation.rotate(turn, outward))
        widths.append(max(surface.lengths[number] / RINGS, 2.0 * np.pi * radii.mean() / around))
    if not influences:
        return _nowhere()
    return influences, np.array(normals), float(np.mean(widths))


def _nowhere():
    """Return the samples of a part that a character lacks: one far away."""
    return [[(0, 1.0, np.array([0.0, -1000.0, 0.0]))]], np.array([[0.0, -1.0, 0.0]]), 1.0


def _foot_samples(character: Character, side: str):
    """Return influences, normals and spacing of samples on an ellipsoid about ankle, heel and toe."""
    roles, contacts = character.require_roles(), character.contacts
    joint = roles.get(f"{side}_foot")
    if joint is None or not all(f"{side}_{name}" in contacts for name in ("heel", "toe")):
        return _nowhere()
    rest, turned = character.skeleton.rest_world
    heel, toe = (
        rest[point.joint] + rotation.rotate(turned[point.joint], np.array(point.offset))
        for point in (contacts[f"{side}_{name}"] for name in ("heel", "toe"))
    )
    along, up = toe - heel, rest[joint] - 0.5 * (heel + toe)
    length = float(np.linalg.norm(along))
    if length < 1e-6:
        return _nowhere()
    along = along / length
    up = up - (up @ along) * along
    height = float(np.linalg.norm(up))
    up = up / height if height > 1e-6 else rotation.AXES["y"]
    half = np.array([0.5 * length, max(0.5 * height, 0.01 * length), SHELL.foot_width * character.height])
    axes, middle = np.stack([along, up, np.cross(along, up)]), 0.5 * (heel + toe) + 0.5 * height * up
    count = SHELL.samples["foot"]
    # evenly spread on a sphere (Fibonacci)
    level, around = 1.0 - (2.0 * np.arange(count) + 1.0) / count, np.pi * (3.0 - np.sqrt(5.0)) * np.arange(count)
    flat = np.sqrt(1.0 - level**2)
    unit = np.stack([flat * np.cos(around), level, flat * np.sin(around)], axis=1)
    back = rotation.inverse(turned[joint])
    places = rotation.rotate(back, middle + (unit * half) @ axes - rest[joint])
    outward = (unit / half) @ axes
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)
    width = float(np.sqrt(4.0 * np.pi / count) * half.prod() ** (1.0 / 3.0))
    return [[(joint, 1.0, place)] for place in places], rotation.rotate(back, outward), width


def _arm_samples(character: Character, surface: BodySurface, parts: NDArray | None) -> ArmSamples:
    roles = character.require_roles()
    rows: list[tuple[int, bool, int, NDArray, float, bool]] = []
    for arm, side in enumerate(SIDES):
        names = [f"{side}_{part}" for part in _ARM]
        if not all(name in roles for name in names):
            continue
        upper, lower, hand = (SEGMENTS.index(name) for name in names)
        if min(surface.rings[n, 0, 0] for n in (upper, lower)) < 0.0:
            continue
        elbow = SHELL.elbow * _radii(character, surface, parts, names[0], upper, 0.9)
        rows.append((arm, False, *_sphere(surface, upper, 0.98, elbow), False))
        for t in SHELL.forearm:
            radius = _radii(character, surface, parts, names[1], lower, t)
            rows.append((arm, True, *_sphere(surface, lower, t, radius), t > 0.6))
        points = None if parts is None else _hand_points(character, parts, side)
        rows += [(arm, True, joint, place, 0.0, True) for joint, place in points or _tube_hand(surface, hand)]
    arms, forearm, joints, offsets, radii, outer = zip(*rows) if rows else ((), (), (), (), (), ())
    return ArmSamples(
        np.array(arms, np.int64), np.array(forearm, bool), np.array(joints, np.int64),
        np.array(offsets, float).reshape(-1, 3), np.array(radii, float), np.array(outer, bool),
    )  # fmt: skip


def _sphere(surface: BodySurface, number: int, t: float, radius: float) -> tuple[int, NDArray, float]:
    own = np.array([0.0, 0.0, t * surface.lengths[number]])
    return int(surface.joints[number]), surface.origins[number] + rotation.rotate(surface.turns[number], own), radius


def _radii(
    character: Character, surface: BodySurface, parts: NDArray | None, name: str, number: int, t: float
) -> float:
    """Return the radius of an arm segment at a fraction t of its length, metres."""
    ring = surface.rings[number][min(int(t * RINGS), RINGS - 1)]
    if parts is None or character.skin is None:
        return float(ring[0])
    own = np.isin(parts, [name, f"{name}_twist"])
    joint, skin = int(surface.joints[number]), character.skin
    local = skin.vertices[own] @ skin.inverse_bind[joint, :3, :3].T + skin.inverse_bind[joint, :3, 3]
    local = rotation.rotate(rotation.inverse(surface.turns[number]), local - surface.origins[number])
    near = np.abs(local[:, 2] / surface.lengths[number] - t) < 0.2
    if near.sum() < 6:
        return float(ring[0])
    return float(np.percentile(np.hypot(local[near, 0], local[near, 1]), SHELL.forearm_percentile))


def _hand_points(character: Character, parts: NDArray, side: str) -> list[tuple[int, NDArray]] | None:
    """Return (joint, place) of points spread over the skin of a hand, attached to the heaviest joints."""
    from footplant.kernels import shell as kernel

    skin, roles = character.skin, character.require_roles()
    assert skin is not None
    names = [f"{side}_hand", *(f"{side}_{finger}" for finger in FINGERS)]
    own = np.flatnonzero(np.isin(parts, names) & _near_wrist(character, roles[f"{side}_hand"]))
    if len(own) < 8:
        return None
    # from the tip of a finger on: what lies next to the first point gets no other
    tip = int(_from_wrist(character, roles[f"{side}_hand"])[own].argmax())
    own = np.r_[own[tip], np.delete(own, tip)]
    picked = np.empty(min(SHELL.hand_samples, len(own)), np.int64)
    kernel.farthest(np.ascontiguousarray(skin.vertices[own]), len(picked), picked)
    found = []
    for vertex in own[picked]:
        joint = int(skin.joints[vertex, np.argmax(skin.weights[vertex])])
        bind = skin.inverse_bind[joint]
        found.append((joint, bind[:3, :3] @ skin.vertices[vertex] + bind[:3, 3]))
    return found


def _tube_hand(surface: BodySurface, number: int) -> list[tuple[int, NDArray]]:
    """Return (joint, place) of points on the tube of a hand: rim and middle at three fractions of its length."""
    if surface.rings[number, 0, 0] < 0.0:
        return []
    found, ring = [], surface.rings[number].mean(axis=0)
    for t in (0.3, 0.65, 1.0):
        for angle in (0.0, 0.5 * np.pi, np.pi, 1.5 * np.pi):
            radius = ring[0] + ring[3] * np.cos(2.0 * angle)
            own = np.array([radius * np.cos(angle), radius * np.sin(angle), t * surface.lengths[number]])
            place = surface.origins[number] + rotation.rotate(surface.turns[number], own)
            found.append((int(surface.joints[number]), place))
    return found
