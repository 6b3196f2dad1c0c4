"""Proportions that change over a clip: bones, contact points and footsteps of every frame (Lee & Shin 1999, section 6).

Frame f is at the fractional stage s(f) of a sequence of characters; a bone offset is interpolated linearly between the
stages on either side. s rises with zero derivative at each stage. A foot has a stage of its own, constant during every
stance, so that planted feet do not change size.
"""

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
    """Return a character with the joints of `character` and the proportions of `target`."""
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
    """A change of proportions over a clip."""

    stages: tuple[Character, ...]
    """The characters in order, all with the same joints, the clip's own first."""
    body: NDArray
    """(F,) fractional stage of the body: 0 is the first character, 1.5 halfway from the second to the third."""
    feet: dict[str, NDArray]
    """Side → (F,) fractional stage of the foot, constant during each stance."""

    @classmethod
    def of(cls, clip: Clip, stages: Sequence[Character], steps: Sequence[Step]) -> ProportionChange:
        """Return the change spread over a whole clip, with zero derivative at each stage."""
        frames = len(clip.motion)
        stage = np.linspace(0.0, len(stages) - 1.0, frames)
        whole = np.minimum(np.floor(stage), len(stages) - 2.0)
        share = stage - whole
        body = whole + share * share * (3.0 - 2.0 * share)
        feet = {}
        for side in ("left", "right"):
            times, values = [], []
            for step in (step for step in steps if step.side == side):
                first, last = step.start, step.end - 1
                # a foot planted at an end of the clip has the stage of the body there
                now = body[0] if first == 0 else body[-1] if step.end >= frames else body[(first + last) // 2]
                times += [first, last]
                values += [now, now]
            feet[side] = np.interp(np.arange(frames), times, values) if times else body
        return cls(tuple(stages), body, feet)

    @property
    def legs(self) -> NDArray:
        """Standing hip heights (S,) of the stages, metres."""
        return np.array([standing_hips(stage) for stage in self.stages])

    def ratio(self) -> NDArray:
        """Return leg lengths (F,) as factors of the first character's."""
        return self._between(self.legs, self.body) / self.legs[0]

    def _between(self, values: NDArray, at: NDArray) -> NDArray:
        """Return values (N, …) at fractional stages (N,), interpolated between the stages' values (S, …)."""
        first = np.minimum(np.floor(at).astype(int), len(self.stages) - 2)
        share = (at - first).reshape(-1, *(1,) * (values.ndim - 1))
        return values[first] + share * (values[first + 1] - values[first])

    def _foot_joints(self) -> dict[str, list[int]]:
        """Return side → joints below the ankle, whose offsets are the size of the foot."""
        roles, skeleton = self.stages[0].require_roles(), self.stages[0].skeleton
        feet = {side: roles.get(f"{side}_foot") for side in self.feet}
        return {side: list(skeleton.descendants(foot)[1:]) for side, foot in feet.items() if foot is not None}

    def offsets(self, motion: Motion) -> NDArray:
        """Return bone offsets (F, J, 3) in the parents' frames, metres."""
        stages = np.array([stage.skeleton.offsets for stage in self.stages])
        stages = stages - stages[0]
        change = self._between(stages, self.body)
        for side, joints in self._foot_joints().items():
            change[:, joints] = self._between(stages[:, joints], self.feet[side])
        return (motion.skeleton.offsets if motion.offsets is None else motion.offsets) + change

    def character(self) -> Character:
        """Return the clip's character with contact points that move as feet and hands change size."""
        contacts = {}
        for name, point in self.stages[0].contacts.items():
            offsets = np.array([stage.contacts[name].offset for stage in self.stages])
            side = name.partition("_")[0]
            at = self.body if name.endswith("palm") else self.feet[side]
            contacts[name] = MovingPoint(point.joint, point.offset, self._between(offsets, at))
        return replace(self.stages[0], contacts=contacts)

    def at(self, position: float) -> Character:
        """Return the character of a fractional stage."""
        now = np.array([position])
        skeleton = self.stages[0].skeleton
        offsets = self._between(np.array([stage.skeleton.offsets for stage in self.stages]), now)[0]
        contacts = {}
        for name, point in self.stages[0].contacts.items():
            x, y, z = self._between(np.array([stage.contacts[name].offset for stage in self.stages]), now)[0].tolist()
            contacts[name] = replace(point, offset=(x, y, z))
        return replace(self.stages[0], skeleton=replace(skeleton, offsets=offsets), contacts=contacts, skin=None)

    def initial_motion(self, clip: Clip, contacts: Contacts, scale_footsteps: bool) -> Motion:
        """Return the clip's rotations on the changing bones, with the height of the hips scaled by the legs."""
        before = hip_centers(Kinematics(clip.motion), clip.character)
        wanted = self._scaled_path(before) if scale_footsteps else np.array(before)
        level = contacts.ground.height(before[:, ::2])
        wanted[:, 1] = contacts.ground.height(wanted[:, ::2]) + self.ratio() * (before[:, 1] - level)
        motion = replace(clip.motion, offsets=self.offsets(clip.motion))
        return replace(motion, root=motion.root + wanted - hip_centers(Kinematics(motion), clip.character))

    def _scaled_path(self, hips: NDArray) -> NDArray:
        """Return the path of the hips (F, 3), each segment scaled by the leg length at that time."""
        ratio = self.ratio()
        segments = np.diff(hips, axis=0) * (0.5 * (ratio[1:] + ratio[:-1]))[:, None]
        return np.concatenate([hips[:1], hips[0] + np.cumsum(segments, axis=0)])

    def places(self, clip: Clip, steps: Sequence[Step], contacts: Contacts, scale_footsteps: bool) -> list[Places]:
        """Return where heels and balls are planted, each step with its own foot length."""
        kinematics = Kinematics(clip.motion)
        hips = hip_centers(kinematics, clip.character)
        path, ratio = self._scaled_path(hips), self.ratio()
        found = []
        for step in steps:
            middle = (step.start + step.end - 1) // 2
            character = self.at(float(self.feet[step.side][middle]))

            def move(places: NDArray, at: int = middle) -> NDArray:
                if not scale_footsteps:
                    return places
                there = path[at] + ratio[at] * (places - hips[at])
                above = places[:, 1] - contacts.ground.height(places[:, ::2])
                there[:, 1] = contacts.ground.height(there[:, ::2]) + ratio[at] * above
                return there

            shifts = None
            if scale_footsteps:
                width = hip_width(self.at(float(self.body[middle])))
                extra = width / ratio[middle] - hip_width(clip.character)
                shifts = step_width_shifts([step], kinematics, clip.character, extra)
            found += transferred_places([step], character, move, shifts)
        return found
