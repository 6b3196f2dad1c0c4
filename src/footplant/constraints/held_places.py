"""Where the hands of two figures belong that hold each other, or rest on the other's body.

For hands a and b that hold each other, at

    minimise |p_a − p_a⁰|² / r_a² + |p_b − p_b⁰|² / r_b²   subject to   p_b − p_a = s v,  |p − shoulder| ≤ r

where p⁰ is where the bodies' own solution has them, v the source's vector between them, s the scale of the stage, and r
the reach of each arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.clip import Clip
from footplant.constraints.points import Position
from footplant.contacts.exchanges import Exchange, on_other_body
from footplant.kinematics import Kinematics
from footplant.skeleton import Character
from footplant.transfer import hip_centers

RAMP = 0.4
"""Seconds in which a hand goes to and from what it holds: as long as a captured handshake's approach from 30 cm."""
STRETCH = 0.98
"""Share of an arm's length that its goals stay within: beyond it, elbows snap straight."""


def moved(clip: Clip, shift: NDArray) -> Clip:
    """Return the clip moved by a shift (3,), metres."""
    motion = clip.motion
    return replace(clip, motion=motion.like(motion.root + shift, motion.rotations, motion.offsets))


class HeldPlaces:
    """Where hands belong that hold a hand of the other figure, or rest on its body."""

    def __init__(self, sources: Sequence[Clip], exchanges: Sequence[Exchange], scale: float, touch: bool) -> None:
        self.sources, self.exchanges, self.scale, self.touch = sources, exchanges, scale, touch
        self.figures = [Kinematics(clip.motion) for clip in sources]

    def shifts(self, solved: Sequence[Clip], lead: int) -> tuple[NDArray, NDArray]:
        """Return the horizontal shifts (3,) that put two results on one stage, near enough for what they exchange."""
        starts = [hip_centers(own[lead : lead + 1], clip.character)[0] for own, clip in zip(self.figures, self.sources)]
        middle = 0.5 * (starts[0] + starts[1])
        first, second = ((1.0 - self.scale) * (middle - start) * [1.0, 0.0, 1.0] for start in starts)
        held = [exchange for exchange in self.exchanges if exchange.other is not None]
        if held:
            away, total = np.zeros(3), 0
            results = [Kinematics(moved(clip, shift).motion) for clip, shift in zip(solved, (first, second))]
            for exchange in held:
                rows, sides = slice(exchange.start, exchange.end), self._palms(exchange)
                ratio = _ratio([_arm(clip.character, palm)[1] for clip, palm in zip(solved, sides)],
                               [_arm(clip.character, palm)[1] for clip, palm in zip(self.sources, sides)])  # fmt: skip
                before = self._between_shoulders(self.figures, self.sources, sides)[rows]
                after = self._between_shoulders(results, solved, sides)[rows]
                away += (ratio * before - after).sum(axis=0)
                total += exchange.end - exchange.start
            away = away / total * [1.0, 0.0, 1.0]
            first, second = first - 0.5 * away, second + 0.5 * away
        return first, second

    def goals(self, staged: Sequence[Clip], fitted: Sequence[Clip]) -> list[list[Position]]:
        """Return the goals of both figures; staged: before they were fitted to any, fitted: as they are now."""
        goals: list[list[Position]] = [[], []]
        now = [Kinematics(clip.motion) for clip in fitted]
        free = [Kinematics(clip.motion) for clip in staged]
        for exchange in self.exchanges:
            rows = np.arange(exchange.start, exchange.end)
            if exchange.other is None:
                figure, other = exchange.figure, 1 - exchange.figure
                palm = self.figures[figure][rows].point(self.sources[figure].character.contacts[exchange.palm])
                bodies = (self.figures[other][rows], self.sources[other].character), (
                    now[other][rows], fitted[other].character)  # fmt: skip
                goals[figure].append(
                    self._goal(fitted[figure], exchange, exchange.palm, on_other_body(palm, *bodies, self.scale))
                )
                continue
            sides = self._palms(exchange)
            natural = [own[rows].point(clip.character.contacts[p]) for own, clip, p in zip(free, staged, sides)]
            apart = self._apart(exchange, sides)[rows]
            shoulders, reaches = [], []
            for own, clip, palm in zip(now, fitted, sides):
                joint, reach = _arm(clip.character, palm)
                shoulders.append(own[rows].positions[:, joint])
                reaches.append(STRETCH * reach)
            meeting = _meeting(natural, apart, shoulders, reaches)
            for figure, sign in ((0, -0.5), (1, 0.5)):
                goals[figure].append(self._goal(fitted[figure], exchange, sides[figure], meeting + sign * apart))
        return goals

    def _goal(self, clip: Clip, exchange: Exchange, palm: str, places: NDArray) -> Position:
        return Position(
            point=clip.character.contacts[palm], target=places, frames=tuple(range(exchange.start, exchange.end)),
            ramp=(RAMP, RAMP), name=exchange.title,
        )  # fmt: skip

    def _palms(self, exchange: Exchange) -> tuple[str, str]:
        """Return the palms of the first and of the second figure."""
        assert exchange.other is not None
        return (exchange.palm, exchange.other) if exchange.figure == 0 else (exchange.other, exchange.palm)

    def _apart(self, exchange: Exchange, sides: tuple[str, str]) -> NDArray:
        """Return the vectors (F, 3) from the first figure's palm to the second's that the results are to have."""
        first, second = (
            own.point(clip.character.contacts[palm]) for own, clip, palm in zip(self.figures, self.sources, sides)
        )
        return np.zeros_like(first) if self.touch else self.scale * (second - first)

    def _between_shoulders(
        self, figures: Sequence[Kinematics], clips: Sequence[Clip], sides: tuple[str, str]
    ) -> NDArray:
        first, second = (
            own.positions[:, _arm(clip.character, palm)[0]] for own, clip, palm in zip(figures, clips, sides)
        )
        return second - first


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return sum(ours) / max(sum(theirs), 1e-9)


def _arm(character: Character, palm: str) -> tuple[int, float]:
    """Return the shoulder joint of a palm's arm, and how far the palm reaches from it, metres."""
    roles, skeleton = character.require_roles(), character.skeleton
    side, point = palm.partition("_")[0], character.contacts[palm]
    shoulder = roles[f"{side}_upper_arm"]
    chain = skeleton.chain(point.joint, shoulder)
    lengths = [float(np.linalg.norm(skeleton.offsets[joint])) for joint in chain[1:]]
    return shoulder, sum(lengths) + float(np.linalg.norm(point.offset))


def _meeting(
    natural: Sequence[NDArray], apart: NDArray, shoulders: Sequence[NDArray], reaches: Sequence[float]
) -> NDArray:
    """Return the middle (F, 3) between two palms that are `apart`, within reach of both arms as far as that can be."""
    weights = [1.0 / reach**2 for reach in reaches]
    first, second = natural[0] + 0.5 * apart, natural[1] - 0.5 * apart
    middle = (weights[0] * first + weights[1] * second) / sum(weights)
    for _ in range(8):
        for shoulder, reach, sign in ((shoulders[0], reaches[0], -0.5), (shoulders[1], reaches[1], 0.5)):
            away = middle + sign * apart - shoulder
            far = np.linalg.norm(away, axis=1, keepdims=True)
            middle = shoulder - sign * apart + away * np.minimum(1.0, reach / np.maximum(far, 1e-9))
    return middle
