"""Pose the bones of a model by a motion, as MikuMikuDance does: keys, granted turns and shifts, inverse kinematics.

All in the file's own left-handed space: the algebra of quaternions is the same there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.io.mmd.pmx import AFTER_PHYSICS, GRANTS_ROTATION, GRANTS_TRANSLATION, Bone, Ik, IkLink
from footplant.io.mmd.vmd import Vmd, short_name

REACHED = 1e-4
"""MMD units, 0.008 mm: an effector nearer than this to its goal is there."""
LEAST_LOOPS = 40
"""Smallest count of rounds: models ask for few where the program has time for few."""
X_ONLY = 1e-6
"""Radians: a link whose other angles may change by less is a hinge about x, such as a knee."""


class Pose:
    """Bones in all frames at once: local turns and shifts, and where they are in the world."""

    def __init__(self, bones: Sequence[Bone], motion: Vmd) -> None:
        """Take the keys of a motion; `solve` does the rest."""
        self.bones, self.frames = bones, motion.frames
        count, times = len(bones), np.arange(motion.frames)
        self.offsets = np.array([b.place - (bones[b.parent].place if b.parent >= 0 else 0.0) for b in bones])
        self.turns = np.broadcast_to(rotation.IDENTITY, (count, self.frames, 4)).copy()
        self.shifts = np.zeros((count, self.frames, 3))
        self.used = 0
        for number, bone in enumerate(bones):
            keys = motion.bones.get(short_name(bone.name))
            if keys is not None:
                self.shifts[number], self.turns[number] = keys.sample(times)
                self.used += 1
        self.world_turns, self.world_places = self.turns.copy(), np.zeros((count, self.frames, 3))
        self.children: list[list[int]] = [[] for _ in bones]
        for number, bone in enumerate(bones):
            if bone.parent >= 0:
                self.children[bone.parent].append(number)
        self.off = _switched_off(motion)

    def solve(self) -> None:
        """Pose the bones in MMD's order: by physics, layer and number; a bone's IK is solved when its turn comes."""
        order = sorted(
            range(len(self.bones)),
            key=lambda n: (bool(self.bones[n].flags & AFTER_PHYSICS), self.bones[n].layer, n),
        )
        for root in [n for n, bone in enumerate(self.bones) if bone.parent < 0]:
            self.place(root)
        for number in order:
            bone = self.bones[number]
            if bone.granter >= 0 and bone.granter != number:
                if bone.flags & GRANTS_ROTATION:
                    granted = rotation.exp(bone.ratio * rotation.log(_shortest(self.turns[bone.granter])))
                    self.turns[number] = rotation.multiply(self.turns[number], granted)
                if bone.flags & GRANTS_TRANSLATION:
                    self.shifts[number] = self.shifts[number] + bone.ratio * self.shifts[bone.granter]
                self.place(number)
            if bone.ik is not None and bone.ik.effector >= 0:
                self.reach(number, bone.ik)

    def place(self, start: int) -> None:
        """Update a bone and all below it."""
        stack = [start]
        while stack:
            number = stack.pop()
            parent = self.bones[number].parent
            local = self.offsets[number] + self.shifts[number]
            if parent < 0:
                self.world_turns[number], self.world_places[number] = self.turns[number], local
            else:
                above = self.world_turns[parent]
                self.world_turns[number] = rotation.multiply(above, self.turns[number])
                self.world_places[number] = self.world_places[parent] + rotation.rotate(above, local)
            stack.extend(self.children[number])

    def reach(self, number: int, ik: Ik) -> None:
        """Turn the links of an IK bone until its effector is where the bone is, in frames where it is on."""
        links = [link for link in ik.links if link.bone >= 0]
        if not links:
            return
        keyed = {link.bone: self.turns[link.bone].copy() for link in links}
        active = np.ones(self.frames, bool)
        for start, name, on in self.off:
            if name == short_name(self.bones[number].name) or name == self.bones[number].name.encode(
                "cp932", "replace"
            ):
                active[start:] = on
        if len(links) > 1:
            self.bend_knee(links, ik.effector, number)
        for _ in range(max(ik.loops, LEAST_LOOPS)):
            for link in links:
                self.turn_link(link, ik.effector, number)
            apart = np.linalg.norm(self.world_places[ik.effector] - self.world_places[number], axis=1)
            if (apart[active] < REACHED).all():
                break
        for link in links:
            self.turns[link.bone] = np.where(active[:, None], self.turns[link.bone], keyed[link.bone])
        self.place(links[-1].bone)

    def bend_knee(self, links: Sequence[IkLink], effector: int, number: int) -> None:
        """Bend a hinge below a free joint as far as the distance of the goal asks, whatever it was bent before.

        With a the knee from the hip and b the ankle from the knee, |a + Rx(θ) b| is the distance; what is left is a
        turn of the hip. Where knees are straight, rounds of turns towards a goal in line would never bend them.
        """
        knee, hip = links[0], links[1]
        limits = _hinge(knee)
        if limits is None or (self.bones[knee.bone].parent, self.bones[effector].parent) != (hip.bone, knee.bone):
            return
        a = self.offsets[knee.bone] + self.shifts[knee.bone]
        b = self.offsets[effector] + self.shifts[effector]
        goal = self.world_places[number] - self.world_places[hip.bone]
        wanted = 0.5 * ((goal**2).sum(axis=1) - (a**2).sum(axis=1) - (b**2).sum(axis=1)) - a[:, 0] * b[:, 0]
        along, across = (a[:, 1:] * b[:, 1:]).sum(axis=1), a[:, 2] * b[:, 1] - a[:, 1] * b[:, 2]
        size = np.maximum(np.hypot(along, across), 1e-12)
        middle, half = np.arctan2(across, along), np.arccos(np.clip(wanted / size, -1.0, 1.0))
        choices = np.stack([middle + half, middle - half])
        choices = (choices + np.pi) % (2 * np.pi) - np.pi
        low, high = limits
        outside = np.maximum(np.maximum(low - choices, choices - high), 0.0)
        best = np.take_along_axis(choices, outside.argmin(axis=0)[None], axis=0)[0]
        self.turns[knee.bone] = rotation.from_axis_angle([1.0, 0.0, 0.0], np.clip(best, low, high))
        self.place(knee.bone)

    def turn_link(self, link: IkLink, effector: int, number: int) -> None:
        """Turn one link so that its effector points to the goal, within its limits."""
        back = rotation.inverse(self.world_turns[link.bone])
        here = self.world_places[link.bone]
        to_effector = rotation.rotate(back, self.world_places[effector] - here)
        to_goal = rotation.rotate(back, self.world_places[number] - here)
        limits = _hinge(link)
        if limits is not None:
            change = np.arctan2(to_goal[:, 2], to_goal[:, 1]) - np.arctan2(to_effector[:, 2], to_effector[:, 1])
            change = (change + np.pi) % (2 * np.pi) - np.pi
            now = rotation.log(_shortest(self.turns[link.bone]))[:, 0]
            angle = np.clip(now + change, *limits)
            self.turns[link.bone] = rotation.from_axis_angle([1.0, 0.0, 0.0], angle)
        else:
            lengths = np.linalg.norm(to_effector, axis=1), np.linalg.norm(to_goal, axis=1)
            usable = (lengths[0] > 1e-9) & (lengths[1] > 1e-9)
            up = np.array([0.0, 1.0, 0.0])
            turn = rotation.between(np.where(usable[:, None], to_effector, up), np.where(usable[:, None], to_goal, up))
            made = rotation.normalize(rotation.multiply(self.turns[link.bone], turn))
            self.turns[link.bone] = made if link.lower is None else _within(made, link)
        self.place(link.bone)


def _hinge(link: IkLink) -> tuple[float, float] | None:
    """Return the limits of a link that turns about x only, in radians; None for others."""
    if link.lower is None or link.upper is None:
        return None
    fixed = all(abs(low) < X_ONLY and abs(high) < X_ONLY for low, high in zip(link.lower[1:], link.upper[1:]))
    return (link.lower[0], link.upper[0]) if fixed and link.lower[0] <= link.upper[0] else None


def _within(turns: NDArray, link: IkLink) -> NDArray:
    """Return turns whose Euler angles (x first, then y, then z) are within a link's limits."""
    matrix = rotation.to_matrix(turns)
    y = np.arcsin(np.clip(-matrix[:, 2, 0], -1.0, 1.0))
    x, z = np.arctan2(matrix[:, 2, 1], matrix[:, 2, 2]), np.arctan2(matrix[:, 1, 0], matrix[:, 0, 0])
    angles = np.clip(np.column_stack([z, y, x]), np.array(link.lower)[::-1], np.array(link.upper)[::-1])
    return rotation.from_euler(angles, "zyx")


def _shortest(turns: NDArray) -> NDArray:
    return np.where(turns[:, :1] < 0, -turns, turns)


def _switched_off(motion: Vmd) -> list[tuple[int, bytes, bool]]:
    """Return the switches of inverse kinematics of a motion, if any is ever off."""
    return list(motion.switches) if any(not on for *_, on in motion.switches) else []
