"""The mannequin's mesh: a coarse cage of rings around the bones, smoothed by one Catmull–Clark subdivision.

The cage is closed and consists of quads. A tube with twelve corners runs from the crotch to the crown; the arms extend
from holes in its sides and the legs from its halved bottom, as tubes with eight corners. Every corner has skin weights,
which are subdivided together with the positions.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant.samples.subdivision import catmull_clark
from footplant.skeleton import Skeleton, Skin
from footplant.skinning import vertex_normals

_TRUNK_CORNERS, _LIMB_CORNERS = 12, 8
_TRUNK_SHRINK, _LIMB_SHRINK = 0.966, 0.925
"""Radius of a ring of 12 and of 8 corners after one subdivision, relative to before; the cage is widened by it."""

# height, half width, z of the front, z of the back, how much higher the front is than the middle (metres)
_TRUNK_RINGS = [
    (0.850, 0.168, 0.080, -0.108, 0.000),
    (0.915, 0.168, 0.088, -0.118, 0.000),
    (0.985, 0.150, 0.088, -0.092, 0.000),
    (1.075, 0.122, 0.082, -0.082, 0.000),
    (1.170, 0.137, 0.096, -0.100, 0.000),
    (1.270, 0.164, 0.116, -0.122, 0.000),
    (1.350, 0.180, 0.118, -0.130, 0.000),
    (1.425, 0.178, 0.082, -0.124, 0.000),
    (1.478, 0.128, 0.034, -0.098, -0.005),
    (1.505, 0.066, 0.030, -0.076, -0.010),
    (1.545, 0.054, 0.038, -0.070, -0.004),
    (1.562, 0.056, 0.090, -0.080, -0.022),
    (1.592, 0.067, 0.104, -0.090, -0.010),
    (1.630, 0.075, 0.104, -0.098, 0.000),
    (1.672, 0.079, 0.106, -0.102, 0.000),
    (1.718, 0.070, 0.088, -0.086, 0.000),
    (1.748, 0.040, 0.048, -0.046, 0.000),
]
_BALL = [
    (0.838, 0.150, 0.215, -0.200, 0.000),
    (0.905, 0.195, 0.285, -0.255, 0.000),
    (0.985, 0.224, 0.330, -0.290, 0.000),
    (1.075, 0.240, 0.353, -0.308, 0.000),
    (1.170, 0.244, 0.356, -0.312, 0.000),
    (1.270, 0.233, 0.335, -0.298, 0.000),
    (1.350, 0.212, 0.290, -0.268, 0.000),
    (1.425, 0.176, 0.215, -0.215, 0.000),
    (1.478, 0.128, 0.120, -0.150, -0.005),
]
"""Blubby's trunk instead of the first rings. Narrow, because his wide hips and shoulders stretch it to a ball."""
_CROWN = (0.0, 1.756, 0.0)
_NOSE_RING, _NOSE = 13, 0.036
_CROTCH = (0.0, 0.808, -0.005)
_SHOULDER_ROW = 6
"""The hole for the arm is between this ring of the trunk and the second one after it."""

# x, half height, half depth, y and z of the middle (metres)
_ARM_RINGS = [
    (0.212, 0.064, 0.065, 1.414, -0.025),
    (0.280, 0.053, 0.055, 1.416, -0.024),
    (0.370, 0.048, 0.050, 1.417, -0.022),
    (0.435, 0.040, 0.042, 1.419, -0.026),
    (0.500, 0.041, 0.045, 1.420, -0.025),
    (0.560, 0.040, 0.044, 1.420, -0.023),
    (0.650, 0.028, 0.032, 1.420, -0.024),
    (0.712, 0.022, 0.029, 1.420, -0.025),
    (0.745, 0.022, 0.038, 1.419, -0.023),
    (0.795, 0.021, 0.044, 1.418, -0.025),
    (0.850, 0.017, 0.040, 1.417, -0.027),
    (0.888, 0.012, 0.027, 1.416, -0.028),
]
_FINGERTIP = (0.900, 1.416, -0.028)
_THUMB_RING = 8
"""The thumb extends from the front of the arm between this ring and the next."""
# middle (x, y, z), half length along the hand and half height of the thumb's rings
_THUMB_RINGS = [
    ((0.782, 1.412, 0.030), 0.021, 0.015),
    ((0.806, 1.408, 0.052), 0.017, 0.013),
    ((0.824, 1.406, 0.066), 0.010, 0.008),
]

# height, half width, z of the front, z of the back, x of the middle (metres)
_LEG_RINGS = [
    (0.775, 0.089, 0.086, -0.092, 0.092),
    (0.660, 0.078, 0.080, -0.078, 0.093),
    (0.555, 0.060, 0.064, -0.058, 0.092),
    (0.490, 0.053, 0.062, -0.050, 0.090),
    (0.435, 0.051, 0.048, -0.058, 0.090),
    (0.360, 0.057, 0.044, -0.080, 0.091),
    (0.255, 0.043, 0.038, -0.058, 0.090),
    (0.150, 0.032, 0.030, -0.046, 0.090),
    (0.110, 0.034, 0.034, -0.052, 0.090),
]
# for each ring of the shoe: (y, z) of its top, its sides and its bottom, half width, x of the middle (metres)
_SHOE_RINGS = [
    ((0.092, 0.052), (0.060, -0.014), (0.045, -0.063), 0.041, 0.090),
    ((0.080, 0.078), (0.022, -0.006), (-0.060, -0.072), 0.042, 0.090),
    ((0.060, 0.112), (0.018, 0.075), (-0.014, 0.060), 0.047, 0.094),
    ((0.050, 0.136), (0.017, 0.126), (-0.014, 0.116), 0.052, 0.099),
    ((0.042, 0.165), (0.015, 0.167), (-0.014, 0.168), 0.049, 0.104),
    ((0.028, 0.188), (0.009, 0.194), (-0.014, 0.192), 0.034, 0.106),
]
_TOE_TIP = (0.106, 0.006, 0.200)

_TRUNK_WEIGHTS = [
    (0.985, "Hips"), (1.10, "Spine"), (1.225, "Chest"), (1.36, "UpperChest"), (1.44, "UpperChest"), (1.515, "Neck"),
    (1.55, "Neck"), (1.595, "Head"),
]  # fmt: skip
_ARM_WEIGHTS = [
    (0.17, "Clavicle"), (0.25, "UpperArm"), (0.41, "UpperArm"), (0.52, "LowerArm"), (0.67, "LowerArm"), (0.755, "Hand"),
]  # fmt: skip
_LEG_WEIGHTS = [
    (0.12, "Foot"), (0.16, "LowerLeg"), (0.42, "LowerLeg"), (0.56, "UpperLeg"), (0.70, "UpperLeg"), (0.89, "Hips")
]  # fmt: skip
_SHOE_WEIGHTS = [(0.075, "Foot"), (0.125, "Toes")]
"""Position along the part → the bone with full weight there; between two positions the weights are interpolated."""


class _Cage:
    """A mesh under construction: corners with their skin weights, and quads."""

    def __init__(self, joints: tuple[str, ...]) -> None:
        self.joints = joints
        self.places: list[tuple[float, ...]] = []
        self.weights: list[NDArray] = []
        self.quads: list[tuple[int, int, int, int]] = []

    def corner(self, place, shares: dict[str, float]) -> int:
        weights = np.zeros(len(self.joints))
        for joint, share in shares.items():
            weights[self.joints.index(joint)] += share
        self.places.append(tuple(float(value) for value in place))
        self.weights.append(weights / weights.sum())
        return len(self.places) - 1

    def bridge(self, near: list[int], far: list[int]) -> None:
        """Add quads between two rings of equally many corners."""
        for a, b, c, d in zip(near, near[1:] + near[:1], far[1:] + far[:1], far):
            self.quads.append((a, b, c, d))

    def close(self, ring: list[int], middle: int) -> None:
        """Close a ring by quads that meet in the middle."""
        for start in range(0, len(ring), 2):
            self.quads.append((middle, ring[start], ring[start + 1], ring[(start + 2) % len(ring)]))


def _shares(table: list[tuple[float, str]], place: float, side: str = "") -> dict[str, float]:
    """Return the weights of two neighbouring bones at a position; `side` is prefixed to the names of paired bones."""
    stops = [stop for stop, _ in table]
    upper = int(np.clip(np.searchsorted(stops, place), 1, len(stops) - 1))
    share = float(np.clip((place - stops[upper - 1]) / (stops[upper] - stops[upper - 1]), 0.0, 1.0))
    shares: dict[str, float] = {}
    for joint, part in ((table[upper - 1][1], 1.0 - share), (table[upper][1], share)):
        name = joint if joint == "Hips" else side + joint
        shares[name] = shares.get(name, 0.0) + part
    return shares


def _mixed(first: dict[str, float], second: dict[str, float], share: float) -> dict[str, float]:
    return {
        joint: (1.0 - share) * first.get(joint, 0.0) + share * second.get(joint, 0.0) for joint in {*first, *second}
    }


def _ring_angles(corners: int) -> NDArray:
    return 2.0 * np.pi * np.arange(corners) / corners


def _trunk(cage: _Cage, shape: list[tuple[float, float, float, float, float]]) -> list[list[int]]:
    """Add rings from the crotch to the crown. Corner 0 is the left; a quarter further is the front."""
    rings = []
    for number, (height, width, front, back, lift) in enumerate(shape):
        ring = []
        for angle in _ring_angles(_TRUNK_CORNERS):
            cosine, sine = np.cos(angle), np.sin(angle)
            middle, depth = 0.5 * (front + back), 0.5 * (front - back) / _TRUNK_SHRINK
            place = np.array([width / _TRUNK_SHRINK * cosine, height + lift * sine, middle + depth * sine])
            if number == _NOSE_RING and sine > 0.99:
                place[2] += _NOSE
            shares = _shares(_TRUNK_WEIGHTS, height)
            side = "Left" if cosine > 0 else "Right"
            if height < 0.95:
                shares = _mixed(shares, {f"{side}UpperLeg": 1.0}, (0.35 if height < 0.9 else 0.12) * abs(cosine))
            if _SHOULDER_ROW <= number <= _SHOULDER_ROW + 2:
                shares = _mixed(shares, {f"{side}Clavicle": 0.75, f"{side}UpperArm": 0.25}, 0.8 * abs(cosine) ** 3)
            ring.append(cage.corner(place, shares))
        rings.append(ring)
    for number, (below, above) in enumerate(pairwise(rings)):
        for start in range(_TRUNK_CORNERS):
            end = (start + 1) % _TRUNK_CORNERS
            hole = start in (0, 5, 6, 11) and _SHOULDER_ROW <= number < _SHOULDER_ROW + 2
            if not hole:
                cage.quads.append((below[start], above[start], above[end], below[end]))
    crown = cage.corner(_CROWN, {"Head": 1.0})
    cage.close(rings[-1][::-1], crown)
    return rings


def _shoulder_loop(rings: list[list[int]], sign: float) -> list[int]:
    """Return the edge of the hole for an arm, from the top over the front, the bottom and the back."""
    back, middle, front = (11, 0, 1) if sign > 0 else (7, 6, 5)
    low, waist, high = rings[_SHOULDER_ROW], rings[_SHOULDER_ROW + 1], rings[_SHOULDER_ROW + 2]
    return [high[middle], high[front], waist[front], low[front], low[middle], low[back], waist[back], high[back]]


def _arm(cage: _Cage, rings: list[list[int]], side: str, sign: float) -> None:
    loops = [_shoulder_loop(rings, sign)]
    for x, height, depth, y, z in _ARM_RINGS:
        loop = []
        for angle in _ring_angles(_LIMB_CORNERS):
            place = (sign * x, y + height / _LIMB_SHRINK * np.cos(angle), z + depth / _LIMB_SHRINK * np.sin(angle))
            loop.append(cage.corner(place, _shares(_ARM_WEIGHTS, x, side)))
        loops.append(loop)
    for number, (near, far) in enumerate(pairwise(loops)):
        start = len(cage.quads)
        cage.bridge(*((near, far) if sign > 0 else (near[::-1], far[::-1])))
        if number == _THUMB_RING + 1:
            # the two quads that meet at the front corner make room for the thumb
            front = [q for q in cage.quads[start:] if near[2] in q and far[2] in q]
            for quad in front:
                cage.quads.remove(quad)
            _thumb(cage, [near[1], near[2], near[3], far[3], far[2], far[1]], side, sign)
    tip = cage.corner((sign * _FINGERTIP[0], *_FINGERTIP[1:]), {f"{side}Hand": 1.0})
    cage.close(loops[-1] if sign > 0 else [loops[-1][0], *loops[-1][:0:-1]], tip)


def _thumb(cage: _Cage, loop: list[int], side: str, sign: float) -> None:
    outline = [(-1.0, 1.0), (-1.2, 0.0), (-1.0, -1.0), (1.0, -1.0), (1.2, 0.0), (1.0, 1.0)]
    for (x, y, z), length, height in _THUMB_RINGS:
        ring = []
        for along, up in outline:
            # the rings face the thumb's own way, halfway between the front and the fingers
            place = (sign * (x + 0.8 * length * along), y + height * up, z - 0.6 * length * along)
            ring.append(cage.corner(place, {f"{side}Hand": 1.0}))
        cage.bridge(*((loop, ring) if sign > 0 else (loop[::-1], ring[::-1])))
        loop = ring
    lids = [(loop[0], loop[1], loop[4], loop[5]), (loop[1], loop[2], loop[3], loop[4])]
    cage.quads += lids if sign > 0 else [(d, c, b, a) for a, b, c, d in lids]


def _leg(cage: _Cage, rings: list[list[int]], crotch: int, side: str, sign: float) -> None:
    bottom = rings[0]
    outside = [0, 1, 2, 3] if sign > 0 else [6, 5, 4, 3]
    behind = [9, 10, 11] if sign > 0 else [9, 8, 7]
    loops = [[*(bottom[k] for k in outside), crotch, *(bottom[k] for k in behind)]]
    for height, width, front, back, x in _LEG_RINGS:
        loop = []
        for angle in _ring_angles(_LIMB_CORNERS):
            middle, depth = 0.5 * (front + back), 0.5 * (front - back) / _LIMB_SHRINK
            place = (sign * (x + width / _LIMB_SHRINK * np.cos(angle)), height, middle + depth * np.sin(angle))
            loop.append(cage.corner(place, _shares(_LEG_WEIGHTS, height, side)))
        loops.append(loop)
    for top, middle, sole, width, x in _SHOE_RINGS:
        loop = []
        for angle in _ring_angles(_LIMB_CORNERS):
            cosine, sine = np.cos(angle), np.sin(angle)
            end = top if sine > 0 else sole
            # a boxy outline: the corners between side and sole lie at the sole
            rise = np.sign(sine) * min(1.0, abs(sine) * (1.0 if sine > 0 else 1.4))
            y, z = (middle[k] + (end[k] - middle[k]) * abs(rise) for k in range(2))
            place = (sign * (x + width / _LIMB_SHRINK * np.sign(cosine) * min(1.0, 1.25 * abs(cosine))), y, z)
            loop.append(cage.corner(place, _shares(_SHOE_WEIGHTS, z, side)))
        loops.append(loop)
    for near, far in pairwise(loops):
        cage.bridge(*((near, far) if sign > 0 else (near[::-1], far[::-1])))
    tip = cage.corner((sign * _TOE_TIP[0], *_TOE_TIP[1:]), {f"{side}Toes": 1.0})
    cage.close(loops[-1] if sign > 0 else [loops[-1][0], *loops[-1][:0:-1]], tip)


def build_skin(skeleton: Skeleton, *, ball: bool = False) -> Skin:
    """Return the mannequin's skin in its rest pose: closed, at most four influences, soles flat on the ground (y = 0).

    With `ball`, the trunk is Blubby's, to be stretched by his proportions.
    """
    cage = _Cage(skeleton.names)
    rings = _trunk(cage, [*_BALL, *_TRUNK_RINGS[len(_BALL) :]] if ball else _TRUNK_RINGS)
    crotch = cage.corner(_CROTCH, {"Hips": 1.0})
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        _arm(cage, rings, side, sign)
        _leg(cage, rings, crotch, side, sign)
    # the corners in the middle of the arm holes belong to no quad
    used, quads = np.unique(np.array(cage.quads), return_inverse=True)
    values = np.concatenate([np.array(cage.places), np.array(cage.weights)], axis=1)[used]
    values, quads = catmull_clark(values, quads.reshape(-1, 4))
    vertices, weights = values[:, :3], values[:, 3:]
    vertices[:, 1] = np.maximum(vertices[:, 1], 0.0)
    faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    # at most four influences; equal weights (left and right) are dropped together, so that the skin stays symmetric
    fifth = np.sort(weights, axis=1)[:, -5:-4]
    weights = np.where(weights > fifth + 1e-9, weights, 0.0)
    joints = np.argsort(-weights, axis=1, kind="stable")[:, :4]
    weights = np.take_along_axis(weights, joints, axis=1)
    weights = weights / weights.sum(axis=1, keepdims=True)
    inverse_bind = np.tile(np.eye(4), (len(skeleton), 1, 1))
    inverse_bind[:, :3, 3] = -skeleton.rest_world[0]
    return Skin(vertices, faces, joints, weights, inverse_bind, vertex_normals(vertices, faces))
