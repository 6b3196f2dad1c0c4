"""Changing proportions: bones, contact points and footsteps of every frame (Lee & Shin 1999, section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Clip
from footplant.contacts.detection import Contacts
from footplant.feet.steps import (
    Places,
    Step,
    hip_width,
    step_width_shifts,
    transferred_places,
)
from footplant.humanoid.proportions import apply_proportions, proportions_of
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character, MovingPoint
from footplant.transfer import hip_centers, standing_hips


def on_skeleton_of(character: Character, target: Character) -> Character:
    """A figure with the character's joints and the target's proportions."""
    ours, theirs = character.skeleton, target.skeleton
    if (
        ours.names == theirs.names
        and ours.parents.tolist() == theirs.parents.tolist()
        and rotation.angle(ours.rest, theirs.rest).max(initial=0.0) < 1e-6
        and set(character.contacts) == set(target.contacts)
    ):
        return target
    return apply_proportions(character, proportions_of(target, character))


@dataclass(frozen=True, eq=False)
class ProportionChange:
    """How far a figure has changed from one stage to the next, frame by frame."""

    stages: tuple[Character, ...]
    """The figures in order, all of the same joints, the clip's own first."""
    body: NDArray
    """(F,) which stage the body is at: 0 the first one, 1.5 half-way from the second to the third."""
    feet: dict[str, NDArray]
    """Side → (F,) the same for the foot, which does not change while it stands."""

    @classmethod
    def of(cls, clip: Clip, stages: Sequence[Character], steps: Sequence[Step]) -> ProportionChange:
        """The change over a whole clip, at rest in each stage."""
        frames = len(clip.motion)
        passed = np.linspace(0.0, len(stages) - 1.0, frames)
        whole = np.minimum(np.floor(passed), len(stages) - 2.0)
        share = passed - whole
        body = whole + share * share * (3.0 - 2.0 * share)
        feet = {}
        for side in ("left", "right"):
            times, values = [], []
            for step in (step for step in steps if step.side == side):
                first, last = step.start, step.end - 1
                # a foot that stands at an end of the clip stands there as the body is
                now = body[0] if first == 0 else body[-1] if step.end >= frames else body[(first + last) // 2]
                times += [first, last]
                values += [now, now]
            feet[side] = np.interp(np.arange(frames), times, values) if times else body
        return cls(tuple(stages), body, feet)

    @property
    def legs(self) -> NDArray:
        """(S,) metres from the sole to the hips of each stage."""
        return np.array([standing_hips(stage) for stage in self.stages])

    def ratio(self) -> NDArray:
        """(F,) how much longer the legs are than at first."""
        return self._between(self.legs, self.body) / self.legs[0]

    def _between(self, values: NDArray, at: NDArray) -> NDArray:
        """(N, …) values (S, …) of the stages at fractional stages (N,)."""
        first = np.minimum(np.floor(at).astype(int), len(self.stages) - 2)
        share = (at - first).reshape(-1, *(1,) * (values.ndim - 1))
        return values[first] + share * (values[first + 1] - values[first])

    def _places_in_feet(self) -> dict[str, list[int]]:
        """Side → the joints below the ankle, whose offsets are the foot's own size."""
        roles, skeleton = self.stages[0].require_roles(), self.stages[0].skeleton
        feet = {side: roles.get(f"{side}_foot") for side in self.feet}
        return {side: list(skeleton.descendants(foot)[1:]) for side, foot in feet.items() if foot is not None}

    def offsets(self, motion: Motion) -> NDArray:
        """(F, J, 3) the places of the joints in their parents' frames."""
        stages = np.array([stage.skeleton.offsets for stage in self.stages])
        stages = stages - stages[0]
        change = self._between(stages, self.body)
        for side, joints in self._places_in_feet().items():
            change[:, joints] = self._between(stages[:, joints], self.feet[side])
        return (motion.skeleton.offsets if motion.offsets is None else motion.offsets) + change

    def character(self) -> Character:
        """The clip's character with contact points that move as feet and hands grow."""
        contacts = {}
        for name, point in self.stages[0].contacts.items():
            offsets = np.array([stage.contacts[name].offset for stage in self.stages])
            side = name.partition("_")[0]
            at = self.body if name.endswith("palm") else self.feet[side]
            contacts[name] = MovingPoint(point.joint, point.offset, self._between(offsets, at))
        return replace(self.stages[0], contacts=contacts)

    def at(self, stage: float) -> Character:
        """The figure as it is at a fractional stage, standing still."""
        now = np.array([stage])
        skeleton = self.stages[0].skeleton
        offsets = self._between(np.array([figure.skeleton.offsets for figure in self.stages]), now)[0]
        contacts = {}
        for name, point in self.stages[0].contacts.items():
            x, y, z = self._between(np.array([figure.contacts[name].offset for figure in self.stages]), now)[0].tolist()
            contacts[name] = replace(point, offset=(x, y, z))
        return replace(self.stages[0], skeleton=replace(skeleton, offsets=offsets), contacts=contacts, skin=None)

    def stand(self, clip: Clip, contacts: Contacts, scale_footsteps: bool) -> Motion:
        """The clip's rotations on the changing figure, its hips as high as the legs carry them."""
        before = hip_centers(Kinematics(clip.motion), clip.character)
        wanted = self._carried_way(before) if scale_footsteps else np.array(before)
        level = contacts.ground.height(before[:, ::2])
        wanted[:, 1] = contacts.ground.height(wanted[:, ::2]) + self.ratio() * (before[:, 1] - level)
        motion = replace(clip.motion, offsets=self.offsets(clip.motion))
        return replace(motion, root=motion.root + wanted - hip_centers(Kinematics(motion), clip.character))

    def _carried_way(self, hips: NDArray) -> NDArray:
        """(F, 3) the way of the hips over the floor, each bit of it as much longer as the legs are then."""
        ratio = self.ratio()
        bits = np.diff(hips, axis=0) * (0.5 * (ratio[1:] + ratio[:-1]))[:, None]
        return np.concatenate([hips[:1], hips[0] + np.cumsum(bits, axis=0)])

    def places(self, clip: Clip, steps: Sequence[Step], contacts: Contacts, scale_footsteps: bool) -> list[Places]:
        """Where heels and balls stand: each step with the foot as long as it is then."""
        kinematics = Kinematics(clip.motion)
        hips = hip_centers(kinematics, clip.character)
        carried, ratio = self._carried_way(hips), self.ratio()
        found = []
        for step in steps:
            middle = (step.start + step.end - 1) // 2
            figure = self.at(float(self.feet[step.side][middle]))

            def move(places: NDArray, at: int = middle) -> NDArray:
                if not scale_footsteps:
                    return places
                there = carried[at] + ratio[at] * (places - hips[at])
                above = places[:, 1] - contacts.ground.height(places[:, ::2])
                there[:, 1] = contacts.ground.height(there[:, ::2]) + ratio[at] * above
                return there

            shifts = None
            if scale_footsteps:
                width = hip_width(self.at(float(self.body[middle])))
                extra = width / ratio[middle] - hip_width(clip.character)
                shifts = step_width_shifts([step], kinematics, clip.character, extra)
            found += transferred_places([step], figure, move, shifts)
        return found
