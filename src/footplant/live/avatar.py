"""A character as receivers know it: human bones relative to a T-pose, whatever its own joints and rest pose."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import humanoid, rotation
from footplant.errors import SkeletonError
from footplant.humanoid.bones import BONES, REQUIRED, UNITY, bone_above, bones_of
from footplant.live.protocols import rokoko
from footplant.skeleton import Character

_HALF_TURN = np.array([0.0, 0.0, 1.0, 0.0])
"""Half a turn about y. Avatars face +z in Unity's left-handed axes, which is −z in ours."""


class Avatar:
    """Converts poses of a character to transforms of human bones, in compiled code and without allocating."""

    def __init__(self, character: Character) -> None:
        """Find the bones; raise if required ones are missing."""
        from footplant.live._bones import to_bones

        self._convert = to_bones
        skeleton, roles = character.skeleton, character.require_roles()
        wanted = bones_of(skeleton, roles)
        bones: dict[str, int] = {}
        for bone, joint in wanted.items():
            above = bone_above(bone, bones)
            if above is None or joint in skeleton.descendants(bones[above])[1:]:
                bones[bone] = joint
        lacking = [bone for bone in REQUIRED if bone not in bones]
        if lacking:
            raise SkeletonError(f"expected {character.name!r} to have all human bones, it lacks {', '.join(lacking)}")
        self.character = character
        self.bones = tuple(bones)
        """VRM 1.0 names, parents before children."""
        self.names = tuple(UNITY[bone] for bone in bones)
        """Unity's names."""
        order = {bone: number for number, bone in enumerate(bones)}
        self._above = np.array([-1 if (a := bone_above(bone, bones)) is None else order[a] for bone in bones])
        self._joints = np.array(list(bones.values()))
        reference = humanoid.reference_world(skeleton, roles)[1][self._joints]
        self._back = np.ascontiguousarray(rotation.inverse(rotation.multiply(_HALF_TURN, reference)))
        self._root, self._own = np.empty(3), np.empty((len(skeleton), 4))
        self._places, self._world = np.empty((len(skeleton), 3)), np.empty((len(skeleton), 4))
        self.turns = np.empty((len(bones), 4))
        """(B, 4) world rotations of the bones from a T-pose that faces −z, after the last `pose`."""
        self.local = np.empty((len(bones), 7))
        """(B, 7) position (m) and rotation (w, x, y, z) in the parent (hips: world), after the last `pose`."""

    def pose(self, root: NDArray, rotations: NDArray) -> NDArray:
        """Convert a pose of the character, (3,) metres and (J, 4) local; return `local`."""
        skeleton = self.character.skeleton
        self._root[:], self._own[:] = root, rotations
        self._convert(
            skeleton.parents, skeleton.offsets, self._root, self._own, self._joints, self._above, self._back,
            self._places, self._world, self.turns, self.local,
        )  # fmt: skip
        return self.local

    @property
    def places(self) -> NDArray:
        """(B, 3) metres: world positions of the bones after the last `pose`."""
        return self._places[self._joints]


class RokokoJoints:
    """The bones of an avatar as Rokoko's joints in the world."""

    def __init__(self, avatar: Avatar) -> None:
        """Pair bones with joints: by role, chains from the root outwards."""
        self.avatar = avatar
        chains = {role: list(names) for role, names in rokoko.PLAN.roles.items()}
        # Rokoko's spine has two joints: the chest's and the one below it
        pairs = {}
        for number, bone in enumerate(avatar.bones):
            if bone == "upperChest" and "chest" in avatar.bones:
                continue
            chain = chains.get(BONES[bone].role)
            if chain:
                pairs[chain.pop(0)] = number
        self.names = tuple(name for name in rokoko.PLAN.names if name in pairs)
        self._rows = np.array([pairs[name] for name in self.names])
        self._t_pose = rokoko.PLAN.t_pose[[rokoko.PLAN.index[name] for name in self.names]]

    def pose(self) -> tuple[NDArray, NDArray]:
        """Return (N, 3) metres and (N, 4) world rotations of the avatar's last pose."""
        return self.avatar.places[self._rows], rotation.multiply(self.avatar.turns[self._rows], self._t_pose)
