"""One or two figures and their props in one world: each on another body, with what they hold kept.

The motions are put on one stage, scaled by one factor, so that all stay where they are relative to each other; each is
solved by `retarget`. Hands that hold each other, rest on the other's body or hold a prop, and hips that sit on one,
then get goals (`constraints.held_places`): arms are displaced as little as their reach allows. Two figures come as much
closer (or apart) as their arms together are shorter (or longer) than the source's. Each figure is solved with its goals
by `fit`; goals and solves alternate until they agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from footplant.clip import Clip
from footplant.constraints import Position
from footplant.constraints.held_places import RAMP, HeldPlaces, Prop, moved
from footplant.contacts.detection import Contacts, find_contacts
from footplant.contacts.exchanges import Exchange, Grip, find_exchanges, find_grips
from footplant.contacts.stillness import lead_in_frames
from footplant.edits.fit import fit
from footplant.edits.retarget import retarget
from footplant.errors import ArgumentError, ConstraintError, MotionError
from footplant.humanoid.counterparts import leg_ratio
from footplant.problem import Progress
from footplant.result import CharacterSource, ClipSource, Result, as_character, as_clip
from footplant.skeleton import Character
from footplant.wording import counted

ROUNDS = 3
"""Goals and solves at most. Hands that hold each other or a prop have theirs at once; a hand on a body follows the
body's lean, by less than 1 mm after the second solve of the tests."""
AGREED = 0.0005
"""Metres; goals that move by less are not solved again."""


@dataclass(frozen=True, eq=False)
class Together:
    """Figures and props in one world, with the same frames."""

    figures: tuple[Result, ...]
    props: tuple[Clip, ...] = ()


def together(
    clips: Sequence[ClipSource],
    targets: Sequence[CharacterSource],
    *,
    props: Sequence[ClipSource | tuple[ClipSource, ClipSource]] = (),
    exchanges: Sequence[Exchange] | None = None,
    touch: bool = False,
    progress: Progress | None = None,
) -> Together:
    """Return the motions of one or two figures on other characters, with what they hold of each other and of props.

    props: rigid things of the same world, as files or clips: a box with its animation, a chair; or (the capture's, the
    result's), where the result has one of another size. exchanges: which hands hold or rest on what of the other
    figure, and when; None finds them. touch: hands that hold each other meet, also where the capture leaves a gap
    between them; otherwise they stay as far apart as in the source, scaled.
    """
    if len(clips) not in (1, 2) or len(targets) != len(clips):
        raise ArgumentError(
            f"expected one or two clips and as many characters, got {len(clips)} and {len(targets)} of them"
        )
    sources = _in_step([as_clip(clip, humanoid=True) for clip in clips])
    bodies = [as_character(target) for target in targets]
    things = [_prop(prop, sources[0]) for prop in props]
    lead = max(lead_in_frames(clip) for clip in sources)
    grips = [
        grip for number, prop in enumerate(things) for figure, clip in enumerate(sources)
        for grip in find_grips(clip, figure, prop.source, number, lead)
        if grip.part == "hips" or grip.part in bodies[figure].contacts
    ]  # fmt: skip
    found: tuple[Exchange, ...] = ()
    if exchanges is not None:
        found = _checked(exchanges, sources, bodies)
    elif len(sources) == 2:
        found = _with_free_hands(find_exchanges(sources[0], sources[1], lead), grips)
    ratios = [leg_ratio(clip.character, body) for clip, body in zip(sources, bodies)]
    scale = float(np.prod(ratios) ** (1.0 / len(ratios)))
    solved = [retarget(clip, body, stride=scale, progress=progress) for clip, body in zip(sources, bodies)]
    places = HeldPlaces(sources, found, scale, touch, things, grips, lead)
    shifts = places.shifts([result.clip for result in solved])
    staged = [moved(result.clip, shift) for result, shift in zip(solved, shifts)]
    hanging = places.hanging(staged)
    standing = [_without_feet(clip, spans) for clip, spans in zip(staged, hanging)]
    fitted, goals = list(staged), None
    results = [replace(result, clip=clip) for result, clip in zip(solved, staged)]
    for _ in range(ROUNDS):
        wanted = places.goals(staged, fitted)
        if goals is not None and _agree(goals, wanted):
            break
        goals = wanted
        for number, own in enumerate(goals):
            if own:
                results[number] = fit(staged[number], own, contacts=standing[number], progress=progress)
                fitted[number] = results[number].clip
    kept = f"{counted(len(found), 'exchange')} and {counted(len(grips), 'grip')} kept" if found or grips else (
        "nothing is held: no hands that hold or rest, nobody who sits"
    )  # fmt: skip
    said = f"on one stage, scaled by {scale:.2f}; {kept}"
    figures = tuple(
        replace(made, source=clip).noted(*before.report.notes, said, *_hanging_notes(spans))
        for made, clip, before, spans in zip(results, sources, solved, hanging)
    )
    return Together(figures, tuple(_played(prop, path) for prop, path in zip(things, places.paths)))


def _without_feet(clip: Clip, spans: Sequence[tuple[int, int]]) -> Contacts | None:
    """Return the contacts of a clip without those in spans in which its feet hang, and while they get there."""
    if not spans:
        return None
    contacts, ease = find_contacts(clip), round(RAMP * clip.motion.fps)
    for start, end in spans:
        first, last = max(start - ease, 0), min(end + ease, contacts.frames)
        kept = [
            replace(plant, start=a, end=b)
            for plant in contacts.plants
            for a, b in ((plant.start, min(plant.end, first)), (max(plant.start, last), plant.end))
            if a < b
        ]
        contacts = replace(contacts, plants=tuple(kept))
    return contacts


def _hanging_notes(spans: Sequence[tuple[int, int]]) -> list[str]:
    return [f"feet hang in frames {start}–{end - 1}: the seat is too high for them to stand" for start, end in spans]


def _with_free_hands(exchanges: Sequence[Exchange], grips: Sequence[Grip]) -> tuple[Exchange, ...]:
    """Return the exchanges of hands that do not hold a prop meanwhile: two hands on one box do not hold each other."""

    def holds(figure: int, palm: str | None, exchange: Exchange) -> bool:
        return any(
            (grip.figure, grip.part) == (figure, palm) and grip.start < exchange.end and exchange.start < grip.end
            for grip in grips
        )

    return tuple(
        each for each in exchanges
        if not holds(each.figure, each.palm, each) and not holds(1 - each.figure, each.other, each)
    )  # fmt: skip


def _in_step(clips: Sequence[Clip]) -> list[Clip]:
    """Return clips at the frame rate of the first, with the frames that all have."""
    fps = clips[0].motion.fps
    alike = [
        clip if np.isclose(fps, clip.motion.fps, rtol=1e-6) else replace(clip, motion=clip.motion.resample(fps))
        for clip in clips
    ]
    frames = min(len(clip.motion) for clip in alike)
    if frames < 2:
        raise MotionError(f"expected clips that share frames, got {frames} in {', '.join(c.name for c in clips)}")
    return [replace(clip, motion=clip.motion[:frames]) for clip in alike]


def _prop(prop: ClipSource | tuple[ClipSource, ClipSource], figure: Clip) -> Prop:
    """Return a prop with as many frames as a figure: one that ends earlier stays where it is."""
    first, last = (as_clip(each) for each in (prop if isinstance(prop, tuple) else (prop, prop)))
    if not len(first.motion):
        raise MotionError(f"expected a prop with a pose, got no frames in {first.name!r}")
    motion = first.motion
    if len(motion) > 1 and not np.isclose(motion.fps, figure.motion.fps, rtol=1e-6):
        motion = motion.resample(figure.motion.fps)
    rows = np.minimum(np.arange(len(figure.motion)), len(motion) - 1)
    return Prop(replace(first, motion=replace(motion[rows], fps=figure.motion.fps)), last)


def _played(prop: Prop, path: np.ndarray) -> Clip:
    """Return the result's prop on a path (F, 3), turned as the capture's is."""
    source, own = prop.source.motion, prop.target.motion
    rotations = np.repeat(own.rotations[:1], len(source), axis=0)
    rotations[:, 0] = source.rotations[:, 0]
    rows = np.zeros(len(source), np.int64)
    return replace(prop.target, motion=replace(own[rows].like(path, rotations), fps=source.fps))


def _checked(exchanges: Sequence[Exchange], clips: Sequence[Clip], bodies: Sequence[Character]) -> tuple[Exchange, ...]:
    """Return exchanges whose figures, palms and frames exist."""
    frames = len(clips[0].motion)
    for exchange in exchanges:
        if len(clips) < 2:
            raise ConstraintError(f"expected two figures for an exchange, got one and {exchange.title!r}")
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
