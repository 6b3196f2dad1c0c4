"""Parts of a character in the normalised skeleton: limbs, chains of vertebrae, segments and all other joints."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant import humanoid, rotation
from footplant.errors import SkeletonError
from footplant.normalized.model import LIMBS, ON_CHEST, SPLINES
from footplant.skeleton import Character


class Body:
    """Parts of a character, from its roles and reference pose."""

    def __init__(self, character: Character) -> None:
        """Measure a character; without roles it has no parts, only other joints."""
        self.skeleton, roles = character.skeleton, character.roles
        self.roles = dict(roles.joints) if roles is not None else {}
        if roles is None:
            self.pose = np.array(self.skeleton.rest)
        else:
            self.pose = humanoid.reference_pose(self.skeleton, roles)
        self.positions, self.rotations = self.skeleton.posed(self.pose)
        self.leg = humanoid.leg_length(self.skeleton, roles) if roles is not None else 0.0
        if not self.leg > 0:
            self.leg = float(np.ptp(self.positions, axis=0).max()) or 1.0
        self.ankle = self._ankle_height(character)
        palms = [character.contacts[name] for name in ("left_palm", "right_palm") if name in character.contacts]
        self.palm = float(np.mean([np.linalg.norm(point.offset) for point in palms])) if palms else 0.0
        self.limbs = {name: self._joints(chain) for name, chain in LIMBS.items() if self._has(chain)}
        self.parts = {name: joints for name, joints in self.limbs.items() if self._whole(joints)}
        """Limbs that are connected chains."""

    def _has(self, chain: tuple[str, ...]) -> bool:
        return all(role in self.roles for role in chain)

    def _joints(self, chain: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(self.roles[role][0] for role in chain)

    def _whole(self, joints: tuple[int, ...]) -> bool:
        try:
            self.skeleton.chain(joints[2], joints[1])
            self.skeleton.chain(joints[1], joints[0])
        except SkeletonError:
            return False
        lengths = [np.linalg.norm(self.positions[b] - self.positions[a]) for a, b in pairwise(joints)]
        return bool(min(lengths) > 1e-6 * self.leg)

    def _ankle_height(self, character: Character) -> float:
        found = [
            self.positions[self.roles[f"{side}_foot"][0]][1] - self.positions[point.joint][1]
            - rotation.rotate(self.rotations[point.joint], np.array(point.offset))[1]
            for side in ("left", "right")
            if (point := character.contacts.get(f"{side}_heel")) is not None and f"{side}_foot" in self.roles
        ]  # fmt: skip
        return float(np.mean(found)) if found else 0.0

    def heights(self, legs: NDArray, on_hands: NDArray | None) -> tuple[NDArray, NDArray]:
        """Return what the hips' height is measured from and divided by, metres, (1,) or (F,).

        legs: (1,) or (F,) leg lengths. On the feet these are the height of the ankles and the leg length, on the hands
        the height of the wrists and the length of trunk and arms (the future work of section 11).
        """
        if on_hands is None:
            return np.array([self.ankle]), legs
        wrist, reach = self._hand_support()
        return (1.0 - on_hands) * self.ankle + on_hands * wrist, (1.0 - on_hands) * legs + on_hands * reach

    def _hand_support(self) -> tuple[float, float]:
        """Return the height of the wrists over the palms, and the length of trunk and arms, metres."""
        arms = [self.limbs[f"{side}_arm"] for side in ("left", "right") if f"{side}_arm" in self.limbs]
        if not arms:
            return self.ankle, self.leg
        bones = [np.linalg.norm(np.diff(self.positions[list(joints)], axis=0), axis=1).sum() for joints in arms]
        shoulders = self.positions[[joints[0] for joints in arms]].mean(axis=0)
        trunk = abs(float(shoulders[1] - self.positions[self.hip_joints].mean(axis=0)[1]))
        return self.palm, float(np.mean(bones)) + trunk

    @property
    def hip(self) -> int:
        return self.roles["hips"][0] if "hips" in self.roles else 0

    @property
    def hip_joints(self) -> list[int]:
        """Return the joints whose midpoint is the root."""
        both = [self.roles[role][0] for role in ("left_upper_leg", "right_upper_leg") if role in self.roles]
        return both if len(both) == 2 else [self.hip]

    @cached_property
    def owned(self) -> dict[int, str]:
        """Return the joints that the normalised skeleton determines → the part that determines them."""
        found = {self.hip: "hips"}
        for name, joints in self.parts.items():
            found |= {joints[0]: name, joints[1]: name, joints[2]: f"{name} end"}
        for name in SPLINES:
            found |= dict.fromkeys((j for j in self.roles.get(name, ()) if j not in found), name)
        for role in ON_CHEST:
            found |= {j: role for j in self.roles.get(role, ())[:1] if j not in found}
        return found

    @cached_property
    def keys(self) -> dict[int, str]:
        """Return the other joints → the keys of their rotations."""
        by_role = {joint: f"{role}.{n}" for role, chain in self.roles.items() for n, joint in enumerate(chain)}
        return {
            joint: by_role.get(joint, name) for joint, name in enumerate(self.skeleton.names) if joint not in self.owned
        }

    def vertebrae(self, name: str) -> list[int]:
        return [joint for joint in self.roles.get(name, ()) if self.owned.get(joint) == name]

    def knots(self, name: str) -> NDArray:
        """Return the start and end of a chain's vertebrae (V+1,), as fractions of its length."""
        chain = self.vertebrae(name)
        ends = [self.roles[role][0] for role in SPLINES[name] if role in self.roles]
        points = self.positions[[*chain, *(ends[:1] or chain[-1:])]]
        lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
        if not ends:
            lengths[-1] = lengths[:-1].mean() if len(lengths) > 1 else 1.0
        if lengths.min() < 1e-3 * lengths.sum() or not lengths.sum() > 0:
            lengths = np.ones(len(chain))
        along = np.concatenate([[0.0], np.cumsum(lengths)])
        return along / along[-1]

    def reference_frames(self, name: str) -> NDArray:
        """Return the frames (2, 4) of a limb's bones in the reference pose: z along the bone, y to the bend side."""
        joints = self.limbs[name]
        bones = np.diff(self.positions[list(joints)], axis=0)
        return half_plane(bones, np.broadcast_to(side_of(name), bones.shape))

    def relative(self, world: NDArray, joint: int) -> NDArray:
        """Return the rotation (F, 4) of a joint away from the reference pose."""
        return rotation.multiply(world[:, joint], rotation.inverse(self.rotations[joint]))

    def legs(self, offsets: NDArray | None) -> NDArray:
        """Return the leg length (1,) or (F,), metres, for bones whose length may change."""
        legs = [joints for name, joints in self.parts.items() if name.endswith("leg")]
        chains = [self.skeleton.chain(joints[2], joints[0])[1:] for joints in legs]
        if offsets is None or not chains:
            return np.array([self.leg])
        joints = [joint for chain in chains for joint in chain]
        still = float(np.linalg.norm(self.skeleton.offsets[joints], axis=1).sum())
        now = np.linalg.norm(offsets[:, joints], axis=2).sum(axis=1)
        return self.leg * now / still if still > 0 else np.array([self.leg])


def half_plane(z: NDArray, y: NDArray) -> NDArray:
    """Return the rotation (…, 4) whose z axis is along z and whose y axis lies in the half-plane of y."""
    z = z / np.linalg.norm(z, axis=-1, keepdims=True)
    x = np.cross(y, z)
    flat = np.linalg.norm(x, axis=-1, keepdims=True) < 1e-12 * np.maximum(
        np.linalg.norm(y, axis=-1, keepdims=True), 1e-300
    )
    helper = np.where(np.abs(z[..., :1]) < 0.9, rotation.AXES["x"], rotation.AXES["y"])
    x = np.where(flat, np.cross(helper, z), x)
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return rotation.from_matrix(np.stack([x, np.cross(z, x), z], axis=-1))


def about_x(angles: NDArray) -> NDArray:
    """Return rotations (F, 4) about x by angles, radians."""
    return rotation.from_axis_angle(rotation.AXES["x"], angles)


def bend_angles(length: NDArray, proportion: NDArray) -> NDArray:
    """Return the angles (F, 2), radians, between a limb's line and its bones, by the law of cosines (D5).

    length: distance of the limb's ends, proportion: upper bone, both relative to the sum of the bones. The paper's
    z = (upper² − fore² + limb²) / (2 limb) and y = √(upper² − z²) describe the same triangle.
    """
    upper, lower = proportion, 1.0 - proportion
    length = np.clip(length, np.abs(upper - lower), 1.0)
    safe = np.maximum(length, 1e-12)
    cosines = np.stack(
        [(upper**2 - lower**2 + safe**2) / (2 * safe * upper), (lower**2 - upper**2 + safe**2) / (2 * safe * lower)],
        axis=-1,
    )
    return np.arccos(np.clip(cosines, -1.0, 1.0))


def side_of(name: str) -> NDArray:
    """Return the direction (3,) in which a limb's middle joint moves when it bends, in the reference pose."""
    return np.array([0.0, 0.0, 1.0 if name.endswith("leg") else -1.0])
