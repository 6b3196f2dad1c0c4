"""One pose as polygons: a shaded mesh where there is one, rounded bones otherwise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.kinematics import Kinematics
from footplant.plot.view import View, figure_height
from footplant.skeleton import Character, Skin

LEFT, RIGHT, MIDDLE = (0.18, 0.42, 0.72), (0.84, 0.38, 0.22), (0.36, 0.39, 0.44)
"""Colours of the left side, the right side and the middle of the body."""
MOST_TRIANGLES = 9000
"""A finer mesh is made coarser before it is drawn: smaller triangles than a pixel help nobody."""
_THICKNESS = {
    "upper_leg": (0.044, 0.031), "lower_leg": (0.031, 0.019), "foot": (0.021, 0.017), "toes": (0.017, 0.011),
    "clavicle": (0.030, 0.030), "upper_arm": (0.028, 0.021), "lower_arm": (0.021, 0.014), "hand": (0.017, 0.012),
    "hips": (0.050, 0.046), "spine": (0.052, 0.058), "neck": (0.026, 0.024), "head": (0.046, 0.046),
}  # fmt: skip
"""Radii of a role's bones at both ends, in body heights."""
_THIN = (0.008, 0.006)
_LIGHT = np.array([-0.35, 0.75, 0.55])
"""Where the light comes from: page right, page up, towards the viewer."""


@dataclass(frozen=True)
class Shapes:
    """Polygons of one pose in the order in which to paint them."""

    polygons: list[NDArray]
    """Each (N, 2), page metres."""
    colors: NDArray
    """(polygons, 3) red, green, blue, 0 to 1."""
    outlined: bool
    """True when each polygon is a part of its own that a thin light line sets off from the others."""


def side_colors(character: Character) -> NDArray:
    """(J, 3): a colour a joint, by the side of the body it belongs to."""
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
    """The skinned mesh of one pose: what faces the viewer, shaded, far triangles first; vertices is (V, 3)."""
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
    """Rounded bones from each joint to its children and end sites, far ones first; far sides paler."""
    height = figure_height(character, kinematics)
    skeleton, places = character.skeleton, kinematics.positions[frame]
    radii, colors = _bone_radii(character), side_colors(character)
    bones = [(int(skeleton.parents[j]), places[skeleton.parents[j]], places[j]) for j in range(1, len(skeleton))]
    bones += [
        (int(joint), places[joint], end) for joint, end in zip(skeleton.end_parents.tolist(), kinematics.ends[frame])
    ]
    depths = np.array([0.5 * (view.depth(a) + view.depth(b)) for _, a, b in bones])
    span = max(float(np.ptp(depths)), 1e-9) if len(depths) else 1.0
    polygons, paints = [], []
    head = None if character.roles is None else character.roles.get("head")
    for number in np.argsort(depths, kind="stable"):
        joint, start, end = bones[number]
        if np.linalg.norm(end - start) < 1e-4 * height:
            continue
        first, last = (radius * height for radius in radii[joint])
        a, b = view.page(start, pose), view.page(end, pose)
        polygons.append(_egg(a, b, first) if joint == head else _capsule(a, b, first, last))
        far = 0.38 * (1.0 - (depths[number] - depths.min()) / span)
        paints.append(colors[joint] * (1.0 - far) + far)
    return Shapes(polygons, np.array(paints).reshape(-1, 3), outlined=True)


def _bone_radii(character: Character) -> list[tuple[float, float]]:
    """Radii at both ends of the bones that start at each joint, in body heights."""
    skeleton, roles = character.skeleton, character.roles
    if roles is None:
        return [(0.014, 0.010)] * len(skeleton)
    known: dict[int, tuple[float, float]] = {}
    for role, joints in roles.joints.items():
        thickness = _THICKNESS.get(role.removeprefix("left_").removeprefix("right_"), _THIN)
        known |= dict.fromkeys(joints, thickness)
    radii = []
    for joint in range(len(skeleton)):
        # a helper between two known joints (a hip joint between pelvis and thigh) is as thick as what it hangs on
        between = joint > 0 and any(below in known for below in skeleton.descendants(joint))
        radii.append(known.get(joint) or (radii[skeleton.parents[joint]] if between else _THIN))
    return radii


def _capsule(a: NDArray, b: NDArray, first: float, last: float) -> NDArray:
    """The outline (N, 2) of two discs and all between them."""
    along = b - a
    length = float(np.hypot(*along))
    if length <= abs(first - last):
        center, radius = (a, first) if first >= last else (b, last)
        angles = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
        return center + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    heading = np.arctan2(along[1], along[0])
    # where the common tangents touch: straight across for equal discs, further round for unequal ones
    touch = np.arccos((first - last) / length)
    back = heading + np.linspace(touch, 2.0 * np.pi - touch, 12)
    front = heading + np.linspace(-touch, touch, 12)
    return np.concatenate(
        [
            a + first * np.stack([np.cos(back), np.sin(back)], axis=1),
            b + last * np.stack([np.cos(front), np.sin(front)], axis=1),
        ]
    )


def _egg(a: NDArray, b: NDArray, radius: float) -> NDArray:
    """The outline (N, 2) of a head that reaches from a to b."""
    along = b - a
    half = max(0.5 * float(np.hypot(*along)), radius)
    axis = along / max(float(np.hypot(*along)), 1e-9)
    angles = np.linspace(0.0, 2.0 * np.pi, 32, endpoint=False)
    across = np.array([-axis[1], axis[0]])
    return 0.5 * (a + b) + half * np.cos(angles)[:, None] * axis + radius * np.sin(angles)[:, None] * across


def coarser(skin: Skin) -> Skin:
    """A mesh of at most about `MOST_TRIANGLES`: vertices that share a cell of a grid become one of them."""
    if len(skin.faces) <= MOST_TRIANGLES:
        return skin
    low, size = skin.vertices.min(axis=0), float(np.ptp(skin.vertices, axis=0).max()) or 1.0
    cells = 160
    while True:
        keys = np.floor((skin.vertices - low) / size * cells).astype(np.int64)
        # vertices that other bones move stay apart, else an arm would grow onto the hip
        strongest = np.take_along_axis(skin.joints, np.argmax(skin.weights, axis=1)[:, None], axis=1)
        _, first, group = np.unique(np.hstack([keys, strongest]), axis=0, return_index=True, return_inverse=True)
        faces = first[group.reshape(-1)][skin.faces]
        solid = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
        if solid.sum() <= MOST_TRIANGLES or cells < 20:
            break
        cells = int(cells * 0.8)
    return Skin(skin.vertices, faces[solid], skin.joints, skin.weights, skin.inverse_bind)
