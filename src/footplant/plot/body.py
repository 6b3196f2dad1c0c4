"""One pose as polygons: a shaded mesh if there is one, rounded bones otherwise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.kinematics import Kinematics
from footplant.plot.view import View, drawn_height
from footplant.skeleton import Character, Skin

LEFT, RIGHT, MIDDLE = (0.18, 0.42, 0.72), (0.84, 0.38, 0.22), (0.36, 0.39, 0.44)
"""Colours of the left side, the right side and the middle of the body."""
MOST_TRIANGLES = 9000
"""Triangles drawn at most; finer meshes are decimated, because triangles smaller than a pixel do not show."""
_THICKNESS = {
    "upper_leg": (0.044, 0.031), "lower_leg": (0.031, 0.019), "foot": (0.021, 0.017), "toes": (0.017, 0.011),
    "clavicle": (0.030, 0.030), "upper_arm": (0.028, 0.021), "lower_arm": (0.021, 0.014), "hand": (0.017, 0.012),
    "hips": (0.050, 0.046), "spine": (0.052, 0.058), "neck": (0.026, 0.024), "head": (0.046, 0.046),
}  # fmt: skip
"""Radii of a role's bones at both ends, in body heights."""
_THIN = (0.008, 0.006)
_LIGHT = np.array([-0.35, 0.75, 0.55])
"""Direction of the light: page right, page up, towards the viewer."""


@dataclass(frozen=True)
class Shapes:
    """Polygons of one pose in painting order."""

    polygons: list[NDArray]
    """Each (N, 2), page metres."""
    colors: NDArray
    """(polygons, 3) red, green, blue, 0 to 1."""
    outlined: bool
    """True when each polygon is a separate part with a thin light outline."""


def side_colors(character: Character) -> NDArray:
    """Return a colour for each joint (J, 3), by its side of the body."""
    colors = np.tile(MIDDLE, (len(character.skeleton), 1))
    roles = character.roles
    if roles is None:
        return colors
    for role, joints in roles.joints.items():
        color = LEFT if role.startswith("left_") else RIGHT if role.startswith("right_") else None
        if color is not None:
            for joint in joints:
                colors[list(character.skeleton.descendants(joint))] = color
    return colors


def mesh_shapes(character: Character, skin: Skin, vertices: NDArray, view: View, pose: int) -> Shapes:
    """Return the skinned mesh of one pose: front faces, shaded, back to front; vertices is (V, 3)."""
    corners = vertices[skin.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    facing = view.depth(normals) > 0
    corners, normals, faces = corners[facing], normals[facing], skin.faces[facing]
    order = np.argsort(view.depth(corners.mean(axis=1)), kind="stable")
    corners, normals, faces = corners[order], normals[order], faces[order]
    strongest = np.take_along_axis(skin.joints, np.argmax(skin.weights, axis=1)[:, None], axis=1)[:, 0]
    base = side_colors(character)[strongest[faces[:, 0]]]
    light = _LIGHT / np.linalg.norm(_LIGHT)
    normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    shade = np.clip(normals @ (light[0] * view.right + light[2] * view.toward) + normals[:, 1] * light[1], 0.0, 1.0)
    lit = 0.72 + 0.34 * shade
    colors = np.clip(base * lit[:, None] + 0.30 * shade[:, None] ** 2, 0.0, 1.0)
    return Shapes(list(view.page(corners, pose)), colors, outlined=False)


def bone_shapes(character: Character, kinematics: Kinematics, frame: int, view: View, pose: int) -> Shapes:
    """Return rounded bones from each joint to its children and end sites, and shoes; back to front, far ones paler."""
    height = drawn_height(character, kinematics)
    skeleton, positions = character.skeleton, kinematics.positions[frame]
    radii, colors = _bone_radii(character), side_colors(character)
    bones = [(int(skeleton.parents[j]), positions[skeleton.parents[j]], positions[j]) for j in range(1, len(skeleton))]
    bones += [
        (int(joint), positions[joint], end) for joint, end in zip(skeleton.end_parents.tolist(), kinematics.ends[frame])
    ]
    head = None if character.roles is None else character.roles.get("head")
    parts: list[tuple[float, int, NDArray]] = []
    for joint, start, end in bones:
        if np.linalg.norm(end - start) < 1e-4 * height:
            continue
        first, last = (radius * height for radius in radii[joint])
        a, b = view.page(start, pose), view.page(end, pose)
        outline = _egg(a, b, first) if joint == head else _hull([(a, first), (b, last)])
        parts.append((float(view.depth(0.5 * (start + end))), joint, outline))
    for side in ("left", "right"):
        parts += _shoe(character, kinematics, frame, side, view, pose)
    parts.sort(key=lambda part: part[0])
    nearest, farthest = (parts[-1][0], parts[0][0]) if parts else (0.0, 0.0)
    paints = []
    for depth, joint, _ in parts:
        far = 0.38 * (nearest - depth) / max(nearest - farthest, 1e-9)
        paints.append(colors[joint] * (1.0 - far) + far)
    return Shapes([outline for _, _, outline in parts], np.array(paints).reshape(-1, 3), outlined=True)


def _shoe(
    character: Character, kinematics: Kinematics, frame: int, side: str, view: View, pose: int
) -> list[tuple[float, int, NDArray]]:
    """Return the outlines of a shoe around ankle, heel, ball and toes: few skeletons have a heel bone."""
    foot = None if character.roles is None else character.roles.get(f"{side}_foot")
    points = [character.contacts.get(f"{side}_{part}") for part in ("heel", "ball", "toe")]
    if foot is None or any(point is None for point in points):
        return []
    height, ankle = drawn_height(character, kinematics), kinematics.positions[frame, foot]
    thin = 0.009 * height
    sole = [kinematics.point(point)[frame] for point in points if point is not None]
    # the points are on the sole: move them in by the radius of the discs drawn there
    sole = [place + (ankle - place) * thin / max(float(np.linalg.norm(ankle - place)), thin) for place in sole]
    heel, ball, toe = (view.page(place, pose) for place in sole)
    shoe = _hull([(view.page(ankle, pose), 0.019 * height), (heel, thin), (ball, thin)])
    depth = float(view.depth(0.5 * (sole[0] + sole[1])))
    return [(depth, foot, _hull([(ball, thin), (toe, 0.7 * thin)])), (depth + 1e-6, foot, shoe)]


def _bone_radii(character: Character) -> list[tuple[float, float]]:
    """Return the radii at both ends of the bones that start at each joint, in body heights."""
    skeleton, roles = character.skeleton, character.roles
    if roles is None:
        return [(0.014, 0.010)] * len(skeleton)
    known: dict[int, tuple[float, float]] = {}
    for role, joints in roles.joints.items():
        thickness = _THICKNESS.get(role.removeprefix("left_").removeprefix("right_"), _THIN)
        known |= dict.fromkeys(joints, thickness)
    radii = []
    for joint in range(len(skeleton)):
        # a helper between two joints with roles (a hip joint between pelvis and thigh) is as thick as its parent
        between = joint > 0 and any(below in known for below in skeleton.descendants(joint))
        radii.append(known.get(joint) or (radii[skeleton.parents[joint]] if between else _THIN))
    return radii


def _hull(discs: list[tuple[NDArray, float]]) -> NDArray:
    """Return the convex outline (N, 2) of discs (centre, radius)."""
    angles = np.linspace(0.0, 2.0 * np.pi, 28, endpoint=False)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points = sorted({(float(x), float(y)) for center, radius in discs for x, y in center + radius * ring})
    outline: list[tuple[float, float]] = []
    for row in (points, points[::-1]):
        # one half of the hull (monotone chain): keep left turns only
        side: list[tuple[float, float]] = []
        for x, y in row:
            while len(side) > 1:
                (ax, ay), (bx, by) = side[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                side.pop()
            side.append((x, y))
        outline += side[:-1]
    return np.array(outline)


def _egg(a: NDArray, b: NDArray, radius: float) -> NDArray:
    """Return the outline (N, 2) of a head between a and b."""
    along = b - a
    half = max(0.5 * float(np.hypot(*along)), radius)
    axis = along / max(float(np.hypot(*along)), 1e-9)
    angles = np.linspace(0.0, 2.0 * np.pi, 32, endpoint=False)
    across = np.array([-axis[1], axis[0]])
    return 0.5 * (a + b) + half * np.cos(angles)[:, None] * axis + radius * np.sin(angles)[:, None] * across


def coarser(skin: Skin) -> Skin:
    """Decimate a mesh to about `MOST_TRIANGLES` by merging the vertices in each cell of a grid."""
    if len(skin.faces) <= MOST_TRIANGLES:
        return skin
    low, size = skin.vertices.min(axis=0), float(np.ptp(skin.vertices, axis=0).max()) or 1.0
    cells = 160
    while True:
        keys = np.floor((skin.vertices - low) / size * cells).astype(np.int64)
        # vertices of different bones are not merged, else an arm could fuse with the hip
        strongest = np.take_along_axis(skin.joints, np.argmax(skin.weights, axis=1)[:, None], axis=1)
        _, first, group = np.unique(np.hstack([keys, strongest]), axis=0, return_index=True, return_inverse=True)
        faces = first[group.reshape(-1)][skin.faces]
        solid = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
        if solid.sum() <= MOST_TRIANGLES or cells < 20:
            break
        cells = int(cells * 0.8)
    return Skin(skin.vertices, faces[solid], skin.joints, skin.weights, skin.inverse_bind)
