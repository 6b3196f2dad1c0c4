"""The joints of a humanoid as tables for the group solver: limbs, trunk and the joints that its steps may rotate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.skeleton import Character, Skeleton
from footplant.solve.ik.limb import Limb
from footplant.solve.ik.settings import GROUP_CCD

ORDER = ("right_leg", "left_leg", "right_arm", "left_arm")
"""Limbs as the kernel numbers them: the order in which the paper adapts its groups."""


@dataclass(frozen=True, eq=False)
class Tree:
    """A character's joints as the kernel takes them: see `footplant.solve.ik.groupccd._limb.Body`."""

    limbs: NDArray
    """(4, 3) upper joint, hinge and end of each limb of `ORDER`; −1 where there is none."""
    limb_of: NDArray
    """(J,) the limb that carries each joint; −1 for trunk and head."""
    sweep: NDArray
    """(S,) joints of head, clavicles and spine, from the extremities to the root."""
    state: NDArray
    """(T,) joints that steps of the trunk may rotate."""
    arrays: tuple
    """The fields of the kernel's `Body`."""

    @classmethod
    def of(cls, character: Character, limbs: Mapping[str, Limb], further: Iterable[int] = ()) -> Tree:
        """Build the tables of a character with limbs; `further` joints are posed too (fingers, a tail)."""
        skeleton, roles = character.skeleton, character.require_roles()
        joints = len(skeleton)
        table, hinges = np.full((4, 3), -1), np.zeros((4, 5))
        limb_of_joint, segments = np.full(joints, -1), np.zeros(joints, np.int64)
        for number, name in enumerate(ORDER):
            if name in limbs:
                _add_limb(skeleton, limbs[name], number, table, hinges, limb_of_joint, segments)
        sweep, caps, gains = _sweep(character, limb_of_joint)
        wanted = {joint for row in table.tolist() for joint in row if joint >= 0} | set(sweep)
        wanted |= {point.joint for point in character.contacts.values()}
        if character.masses is not None:
            wanted |= set(np.flatnonzero(character.masses > 0).tolist())
        wanted |= {*roles.joints.get("hips", ()), *further}
        used = sorted({above for joint in wanted for above in skeleton.chain(joint)})
        below = np.zeros((joints, joints), np.bool_)
        for joint in range(joints):
            below[joint, list(skeleton.descendants(joint))] = True
        own = [[j for j in used if limb_of_joint[j] == n] for n in range(4)]
        limb_joints = np.full((4, 3 + max(1, *(len(row) for row in own))), -1)
        limb_joints[:, :3] = table
        for number, row in enumerate(own):
            limb_joints[number, 3 : 3 + len(row)] = row
        trunk = [j for j in used if limb_of_joint[j] < 0]
        state = np.array(sorted({*sweep, *trunk, *(int(row[0]) for row in table[2:] if row[0] >= 0)}), np.int64)
        swept = np.array(sweep, np.int64)
        hips = roles.get("hips")
        carries = hips is not None and all(own >= 0 and below[hips, own] for own in table[:2, 0].tolist())
        pelvis = hips if carries else -1
        arrays = (
            np.stack([skeleton.parents, limb_of_joint, segments], axis=1), np.array(used, np.int64), limb_joints,
            hinges, swept, np.array([caps, gains]).T.reshape(-1, 2).copy(), below,
            state, np.array([pelvis]),
        )  # fmt: skip
        return cls(table, limb_of_joint, swept, state, arrays)

    def workspace(self, most_rows: int) -> tuple:
        """Return the kernel's workspace for at most `most_rows` rows per character."""
        import footplant.solve.ik.groupccd._pose as kernel

        return kernel.workspace(len(self.limb_of), most_rows, len(self.state))

    def leans(self, characters: int) -> NDArray:
        """Return the lean of characters before their first frame: zeros (C, T+1, 3)."""
        return np.zeros((characters, len(self.state) + 1, 3))


def _add_limb(
    skeleton: Skeleton, limb: Limb, number: int, table: NDArray, hinges: NDArray, owners: NDArray, segments: NDArray
) -> None:
    """Write a limb's row of `table` and `hinges` (axis, flexion), and the limb and segment of all joints below it."""
    table[number] = limb.upper, limb.lower, limb.end
    hinges[number] = *limb.axis, *limb.flexion
    for segment, joint in enumerate(table[number].tolist()):
        below = list(skeleton.descendants(joint))
        owners[below], segments[below] = number, segment


def _sweep(character: Character, limb_of_joint: NDArray) -> tuple[list[int], list[float], list[float]]:
    """Return the joints of head, clavicles and spine in sweep order, how far each may rotate (radians), and gains."""
    roles = character.require_roles()
    sweep, caps, gains = [], [], []
    for part, names in (
        ("head", ("head",)), ("neck", ("neck",)), ("clavicle", ("right_clavicle", "left_clavicle")),
        ("spine", ("spine",)),
    ):  # fmt: skip
        for name in names:
            chain = [j for j in roles.joints.get(name, ()) if limb_of_joint[j] < 0]
            for joint in reversed(chain):
                sweep.append(joint)
                caps.append(GROUP_CCD.turn_limits[part] / len(chain))
                gains.append(GROUP_CCD.gains[part])
    return sweep, caps, gains
