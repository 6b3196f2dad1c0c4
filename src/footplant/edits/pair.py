"""Two figures in one world: each on another body, with what they exchange kept.

Both motions are put on one stage, scaled by one factor, so that the two stay where they are relative to each other;
each is solved by `retarget`. Then hands that hold each other, and hands that rest on the other's body, are put where
they belong: for hands a and b that hold each other, at

    minimise |p_a − p_a⁰|² / r_a² + |p_b − p_b⁰|² / r_b²   subject to   p_b − p_a = s v,  |p − shoulder| ≤ r

where p⁰ is where the bodies' own solution has them, v the source's vector between them, and r the reach of each arm.
The figures come as much closer (or apart) as their arms together are shorter (or longer) than the source's. Each figure
is then solved with these goals by `fit`; goals and solves alternate until they agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.clip import Clip
from footplant.constraints import Position
from footplant.contacts.exchanges import Exchange, find_exchanges, on_other_body
from footplant.contacts.stillness import lead_in_frames
from footplant.edits.fit import fit
from footplant.edits.retarget import retarget
from footplant.errors import ArgumentError, ConstraintError, MotionError
from footplant.humanoid.counterparts import leg_ratio
from footplant.kinematics import Kinematics
from footplant.problem import Progress
from footplant.result import CharacterSource, ClipSource, Result, as_character, as_clip
from footplant.skeleton import Character
from footplant.transfer import hip_centers

RAMP = 0.4
"""Seconds in which a hand goes to and from what it holds: as long as a captured handshake's approach from 30 cm."""
STRETCH = 0.98
"""Share of an arm's length that its goals stay within: beyond it, elbows snap straight."""
ROUNDS = 3
"""Goals and solves at most. On the four captured pairs and three bodies the second moves no hand by more than 1 mm."""
AGREED = 0.0005
"""Metres; goals that move by less are not solved again."""


def pair(
    clips: Sequence[ClipSource],
    targets: Sequence[CharacterSource],
    *,
    exchanges: Sequence[Exchange] | None = None,
    touch: bool = False,
    progress: Progress | None = None,
) -> tuple[Result, Result]:
    """Return the motions of two figures in one world on two other characters, with what they exchange kept.

    exchanges: which hands hold or rest on what, and when; None finds them. touch: hands that hold each other meet, also
    where the capture leaves a gap between them; otherwise they stay as far apart as in the source, scaled. The two
    results have the same frames and stand in one world: save both, and load both into one scene.
    """
    if len(clips) != 2 or len(targets) != 2:
        raise ArgumentError(f"expected two clips and two characters, got {len(clips)} and {len(targets)}")
    sources = _in_step(as_clip(clips[0], humanoid=True), as_clip(clips[1], humanoid=True))
    bodies = [as_character(target) for target in targets]
    lead = max(lead_in_frames(clip) for clip in sources)
    found = find_exchanges(*sources, lead) if exchanges is None else _checked(exchanges, sources, bodies)
    scale = float(np.sqrt(np.prod([leg_ratio(clip.character, body) for clip, body in zip(sources, bodies)])))
    solved = [retarget(clip, body, stride=scale, progress=progress) for clip, body in zip(sources, bodies)]
    places = _Places(sources, found, scale, touch)
    shifts = places.shifts([result.clip for result in solved], lead)
    staged = [_moved(result.clip, shift) for result, shift in zip(solved, shifts)]
    fitted, goals = list(staged), None
    results = [replace(result, clip=clip) for result, clip in zip(solved, staged)]
    for _ in range(ROUNDS):
        wanted = places.goals(staged, fitted)
        if goals is not None and _agree(goals, wanted):
            break
        goals = wanted
        for number, own in enumerate(goals):
            if own:
                results[number] = fit(staged[number], own, progress=progress)
                fitted[number] = results[number].clip
    said = (
        f"on one stage, scaled by {scale:.2f}; {len(found)} exchanges kept"
        if found else f"on one stage, scaled by {scale:.2f}; the two exchange nothing: no hands that hold or rest"
    )  # fmt: skip
    first, second = (
        replace(made, source=clip).noted(*before.report.notes, said)
        for made, clip, before in zip(results, sources, solved)
    )
    return first, second


def _in_step(first: Clip, second: Clip) -> tuple[Clip, Clip]:
    """Return two clips at one frame rate, with the frames that both have."""
    if not np.isclose(first.motion.fps, second.motion.fps, rtol=1e-6):
        second = replace(second, motion=second.motion.resample(first.motion.fps))
    frames = min(len(first.motion), len(second.motion))
    if frames < 2:
        raise MotionError(f"expected two clips that share frames, got {frames} in {first.name!r} and {second.name!r}")
    return replace(first, motion=first.motion[:frames]), replace(second, motion=second.motion[:frames])


def _checked(exchanges: Sequence[Exchange], clips: Sequence[Clip], bodies: Sequence[Character]) -> tuple[Exchange, ...]:
    """Return exchanges whose figures, palms and frames exist."""
    frames = len(clips[0].motion)
    for exchange in exchanges:
        if exchange.figure not in (0, 1) or not 0 <= exchange.start < exchange.end <= frames:
            raise ConstraintError(
                f"expected an exchange of figure 0 or 1 within frames 0..{frames}, got figure {exchange.figure}, "
                f"{exchange.start}..{exchange.end}"
            )
        for figure, palm in ((exchange.figure, exchange.palm), (1 - exchange.figure, exchange.other)):
            for character in (clips[figure].character, bodies[figure]):
                if palm is not None and palm not in character.contacts:
                    raise ConstraintError(
                        f"expected a contact point of {character.name!r} in an exchange, got {palm!r}; it has "
                        f"{', '.join(character.contacts)}"
                    )
    return tuple(exchanges)


def _moved(clip: Clip, shift: NDArray) -> Clip:
    motion = clip.motion
    return replace(clip, motion=motion.like(motion.root + shift, motion.rotations, motion.offsets))


def _agree(goals: list[list[Position]], others: list[list[Position]]) -> bool:
    pairs = [(np.asarray(a.target), np.asarray(b.target)) for one, two in zip(goals, others) for a, b in zip(one, two)]
    return all(np.abs(a - b).max(initial=0.0) < AGREED for a, b in pairs)


class _Places:
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
            results = [Kinematics(_moved(clip, shift).motion) for clip, shift in zip(solved, (first, second))]
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
