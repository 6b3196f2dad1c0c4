"""The surface of a body: forty samples on each segment, from its skin where there is one, from capsules otherwise.

Shin 2002, section 4.2: eight closed curves around a segment with five samples each. The samples of two figures
correspond, so that "a hand's breadth in front of the belly button" can be said of one and found on the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.humanoid.reference import reference_world
from footplant.humanoid.sole import carried_vertices
from footplant.skeleton import Character

SEGMENTS = (
    "hips", "waist", "chest", "head",
    *(f"{side}_{part}" for side in ("left", "right") for part in ("upper_leg", "lower_leg")),
    *(f"{side}_{part}" for side in ("left", "right") for part in ("upper_arm", "lower_arm", "hand")),
)  # fmt: skip
"""Every segment that has a surface, in the order of the tables."""
RINGS, AROUND = 8, 5
_NEXT = {"upper_leg": "lower_leg", "lower_leg": "foot", "upper_arm": "lower_arm", "lower_arm": "hand"}
_HALF_SIZE = {
    "hips": (0.097, 0.068), "waist": (0.083, 0.06), "chest": (0.093, 0.066), "head": (0.046, 0.056),
    "upper_leg": (0.048, 0.048), "lower_leg": (0.032, 0.032), "upper_arm": (0.028, 0.028),
    "lower_arm": (0.022, 0.022), "hand": (0.012, 0.024),
}  # fmt: skip
"""Segment → half its width and half its depth in body heights, where no mesh tells them."""
_HAND_OF_HEIGHT, _HEAD_OF_HEIGHT = 0.1, 0.11
_FEWEST = 8
"""Vertices that a ring needs to be told by the mesh."""
_NOWHERE = -1000.0
"""Radius of a segment that the figure does not have: nothing is ever near it."""


@dataclass(frozen=True, eq=False)
class BodySurface:
    """The segments of a figure as tubes; see `footplant.kernels.surface.Tubes` for the fields."""

    joints: NDArray
    """(S,) int64; the joint that carries each segment."""
    origins: NDArray
    """(S, 3) metres; where the segment's axis begins, in the joint's frame."""
    turns: NDArray
    """(S, 4) the segment's own axes in the joint's frame: the third along it, the first where angles begin."""
    lengths: NDArray
    """(S,) metres."""
    rings: NDArray
    """(S, 8, 5) metres; Fourier terms 1, cos a, sin a, cos 2a, sin 2a of the rings' radii."""

    @classmethod
    def of(cls, character: Character) -> BodySurface:
        """The surface of a human-like figure."""
        parts = [_segment(character, name) for name in SEGMENTS]
        joints, origins, turns, lengths, rings = (np.array(column) for column in zip(*parts))
        return cls(joints.astype(np.int64), origins, turns, lengths, rings)

    def tables(self):
        """The same as the kernels take it."""
        from footplant.kernels.surface import Tubes

        # a ring is never wider than its terms together; beyond the last rings radii go on straight for half a ring
        widths = self.rings[..., 0] + np.abs(self.rings[..., 1:]).sum(axis=-1)
        grow = np.maximum(widths[:, [0, -1]] - widths[:, [1, -2]], 0.0).max(axis=1)
        return Tubes(self.joints, self.origins, self.turns, self.lengths, self.rings, widths.max(axis=1) + grow)

    def samples(self) -> NDArray:
        """(S, 40, 3) the samples in the frames of the segments' joints, metres, ring by ring."""
        angles = 2.0 * np.pi * np.arange(AROUND) / AROUND
        radii = self.rings @ _terms(angles).T
        along = (np.arange(RINGS) + 0.5) / RINGS * self.lengths[:, None]
        own = np.stack(
            [radii * np.cos(angles), radii * np.sin(angles), np.broadcast_to(along[..., None], radii.shape)], axis=-1
        ).reshape(len(self.joints), -1, 3)
        return self.origins[:, None] + rotation.rotate(self.turns[:, None], own)

    def radius(self, name: str, end: int = 0) -> float:
        """Mean radius of a segment, metres, of its first ring (0) or its last (−1)."""
        return float(max(self.rings[SEGMENTS.index(name), end, 0], 0.0))


def _terms(angles: NDArray) -> NDArray:
    """(…, 5) the terms of a ring's radius."""
    return np.stack(
        [np.ones_like(angles), np.cos(angles), np.sin(angles), np.cos(2.0 * angles), np.sin(2.0 * angles)], axis=-1
    )


def _segment(character: Character, name: str) -> tuple[int, NDArray, NDArray, float, NDArray]:
    """(joint, origin, turn, length, rings) of one segment."""
    skeleton, roles = character.skeleton, character.require_roles()
    places, turned = reference_world(skeleton, roles)
    part = name.removeprefix("left_").removeprefix("right_")
    if name in ("hips", "waist", "chest"):
        found = _trunk_part(character, places, turned, ("hips", "waist", "chest").index(name))
    elif name == "head":
        found = _end_part(character, places, turned, "head", _HEAD_OF_HEIGHT, np.array([0.0, 1.0, 0.0]))
    elif part == "hand":
        sign = 1.0 if name.startswith("left") else -1.0
        found = _end_part(character, places, turned, name, _HAND_OF_HEIGHT, np.array([sign, 0.0, 0.0]))
    else:
        found = _bone_part(character, places, turned, name, f"{name[: -len(part)]}{_NEXT[part]}")
    if found is None:
        return 0, np.zeros(3), rotation.identity(1)[0], 1.0, np.full((RINGS, 5), [_NOWHERE, 0.0, 0.0, 0.0, 0.0])
    joint, start, axis, vertices = found
    length = float(np.linalg.norm(axis))
    frame = _axes(axis / length)
    own = rotation.rotate(rotation.inverse(frame), vertices - start)
    rings = _rings(own, length, _plain_ring(part, character.height))
    back = rotation.inverse(turned[joint])
    origin = rotation.rotate(back, start - places[joint])
    return joint, origin, rotation.multiply(back, frame), length, rings


def _axes(axis: NDArray) -> NDArray:
    """The turn (4,) whose third axis lies along a direction and whose first is as near to +z (ahead) as can be."""
    ahead = rotation.AXES["z"] - axis[2] * axis
    ahead = ahead / np.linalg.norm(ahead) if np.linalg.norm(ahead) > 1e-6 else rotation.AXES["y"]
    return rotation.from_matrix(np.stack([ahead, np.cross(axis, ahead), axis], axis=-1))


def _plain_ring(part: str, height: float) -> NDArray:
    """(5,) a ring of the usual size: angles begin ahead, a quarter turn on is the side."""
    wide, deep = _HALF_SIZE[part]
    return height * np.array([0.5 * (wide + deep), 0.0, 0.0, 0.5 * (deep - wide), 0.0])


def _vertices(character: Character, places: NDArray, turned: NDArray, joints: set[int]) -> NDArray:
    """(N, 3) vertices of some joints in the reference pose; none without a skin."""
    if character.skin is None:
        return np.zeros((0, 3))
    return carried_vertices(character.skin, places, turned, joints)


def _trunk_part(character: Character, places: NDArray, turned: NDArray, number: int):
    """A third of the trunk, cut across the line from the hips to the neck, carried by the vertebra in it."""
    roles = character.require_roles()
    hips = places[[roles["left_upper_leg"], roles["right_upper_leg"]]].mean(axis=0)
    top = roles.get("neck") if "neck" in roles else roles.get("head")
    spine = roles.joints.get("spine", ())
    if top is None:
        return None
    axis = places[top] - hips
    length = float(np.linalg.norm(axis))
    axis = axis / length
    carriers = (roles["hips"], _nearest_below(places, hips, axis, spine, 0.5 * length), spine[-1] if spine else -1)
    joint = carriers[number] if carriers[number] >= 0 else roles["hips"]
    vertices = _vertices(character, places, turned, {roles["hips"], *spine})
    cuts = [-0.25 * length, length / 3.0, 2.0 * length / 3.0, length]
    if len(vertices) >= _FEWEST:
        along = (vertices - hips) @ axis
        cuts[0] = min(float(along.min()), 0.0)
        vertices = vertices[(along > cuts[number] - 0.06 * length) & (along < cuts[number + 1] + 0.06 * length)]
    return joint, hips + cuts[number] * axis, (cuts[number + 1] - cuts[number]) * axis, vertices


def _nearest_below(places: NDArray, start: NDArray, axis: NDArray, joints: tuple[int, ...], along: float) -> int:
    """The last joint of a chain that is below a height along an axis; the first when none is, −1 without joints."""
    below = [joint for joint in joints if (places[joint] - start) @ axis <= along]
    return below[-1] if below else (joints[0] if joints else -1)


def _bone_part(character: Character, places: NDArray, turned: NDArray, name: str, following: str):
    """A bone of a limb, from its joint to the next."""
    roles = character.require_roles()
    if name not in roles or following not in roles:
        return None
    joint, end = roles[name], roles[following]
    axis = places[end] - places[joint]
    if np.linalg.norm(axis) < 1e-6:
        return None
    inside = set(character.skeleton.chain(end, joint)[:-1]) | set(roles.joints.get(f"{name}_twist", ()))
    return joint, places[joint], axis, _vertices(character, places, turned, inside)


def _end_part(character: Character, places: NDArray, turned: NDArray, name: str, share: float, ahead: NDArray):
    """A hand or the head: from its joint straight on to its tip."""
    roles = character.require_roles()
    if name not in roles:
        return None
    joint = roles[name]
    vertices = _vertices(character, places, turned, set(character.skeleton.descendants(joint)))
    length = share * character.height
    if len(vertices) >= _FEWEST:
        length = max(float(np.percentile((vertices - places[joint]) @ ahead, 98.0)), 0.3 * length)
    return joint, places[joint], length * ahead, vertices


def _rings(own: NDArray, length: float, plain: NDArray) -> NDArray:
    """(8, 5) rings through vertices (N, 3) in a segment's own axes; of the usual size where there are too few."""
    rings = np.tile(plain, (RINGS, 1))
    if len(own) < _FEWEST:
        return rings
    out, angle, along = np.hypot(own[:, 0], own[:, 1]), np.arctan2(own[:, 1], own[:, 0]), own[:, 2]
    rings[:] = np.array([float(np.mean(out)), 0.0, 0.0, 0.0, 0.0])
    for number in range(RINGS):
        middle = (number + 0.5) / RINGS * length
        for width in (0.6, 1.0, 1.6, 2.5):
            near = np.abs(along - middle) < width * length / RINGS
            if near.sum() >= _FEWEST:
                terms = _terms(angle[near])
                # harmonics that uneven samples do not tell stay small
                ridge = 0.02 * near.sum() * np.diag([0.0, 1.0, 1.0, 1.0, 1.0])
                rings[number] = np.linalg.solve(terms.T @ terms + ridge, terms.T @ out[near])
                break
    return rings
