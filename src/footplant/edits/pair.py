"""Two figures in one world: each on another body, with what they exchange kept.

Both motions are put on one stage, scaled by one factor, so that the two stay where they are relative to each other;
each is solved by `retarget`. Hands that hold each other, and hands that rest on the other's body, then get goals
(`constraints.held_places`): both arms are displaced as little as their reach allows. The figures come as much closer
(or apart) as their arms together are shorter (or longer) than the source's. Each figure is solved with its goals by
`fit`; goals and solves alternate until they agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from footplant.clip import Clip
from footplant.constraints import Position
from footplant.constraints.held_places import HeldPlaces, moved
from footplant.contacts.exchanges import Exchange, find_exchanges
from footplant.contacts.stillness import lead_in_frames
from footplant.edits.fit import fit
from footplant.edits.retarget import retarget
from footplant.errors import ArgumentError, ConstraintError, MotionError
from footplant.humanoid.counterparts import leg_ratio
from footplant.problem import Progress
from footplant.result import CharacterSource, ClipSource, Result, as_character, as_clip
from footplant.skeleton import Character

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
    places = HeldPlaces(sources, found, scale, touch)
    shifts = places.shifts([result.clip for result in solved], lead)
    staged = [moved(result.clip, shift) for result, shift in zip(solved, shifts)]
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


def _agree(goals: list[list[Position]], others: list[list[Position]]) -> bool:
    pairs = [(np.asarray(a.target), np.asarray(b.target)) for one, two in zip(goals, others) for a, b in zip(one, two)]
    return all(np.abs(a - b).max(initial=0.0) < AGREED for a, b in pairs)
