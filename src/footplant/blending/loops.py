"""Find loops in clips and close them: where a motion returns to itself, and a seam without a visible jump.

Re-looping of clips is future work in Macleod, "Skeletal Character Animation within a Virtual Environment" (2006),
section 4.1.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from footplant.blending.common_character import contacts_of, floor_level
from footplant.blending.compose import RootPath, compose, root_reference
from footplant.blending.distance import clouds, distances
from footplant.blending.plants import hold_plants
from footplant.blending.settings import LOOP
from footplant.checks import whole_number
from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.contacts.detection import Contacts
from footplant.contacts.stillness import lead_in_frames
from footplant.errors import MotionError
from footplant.feet.planting import chosen_method
from footplant.kinematics import Kinematics
from footplant.motion import Motion, ground_transform
from footplant.problem import Method, Problem, Progress, Stopwatch
from footplant.quality.measure import measure
from footplant.result import ClipSource, Result, as_clip
from footplant.skeleton import Character
from footplant.wording import counted


def find_loop(clip: Clip, turned: tuple[float, float] | None = None) -> tuple[float, float]:
    """Return the start and end in seconds of one cycle of a gait: the shortest whose ends are about as alike as any.

    Between equally good cycles the one nearest to the middle of the clip is chosen: people start and stop at the ends.
    turned: radians by which the heading may change over the cycle, least and most; None: by any angle.
    """
    motion = clip.motion.resample(LOOP.rate)
    around = clouds(motion, clip.character)
    table = distances(around, around)
    rows, columns = np.arange(len(table))[:, None], np.arange(len(table))[None]
    length = columns - rows
    usual = (length >= LOOP.shortest * LOOP.rate) & (length <= LOOP.longest * LOOP.rate)
    if turned is not None:
        heading = RootPath.of(motion, root_reference(clip.character)).heading
        change = heading[None] - heading[:, None]
        usual &= (change >= turned[0]) & (change <= turned[1])
        if not usual.any():
            raise MotionError(
                f"expected {clip.name!r} to turn by {turned[0]:.2f} to {turned[1]:.2f} radians within a cycle, got none"
            )
    if not usual.any():
        raise MotionError(
            f"expected {clip.name!r} to last {LOOP.shortest} s or more to find a loop in, "
            f"got {clip.motion.duration:.2f} s"
        )
    # a standing body is like itself at any time; half-way through a cycle of a gait it is not
    half = np.take_along_axis(table, (rows + columns) // 2, axis=1)
    moving = usual & (half >= LOOP.moving * np.median(table))
    usual = moving if moving.any() else usual
    good = usual & (table <= LOOP.alike * table[usual].min() + LOOP.barely * np.median(table))
    shortest = int(np.min(length[good]))
    # a valley is a few frames wide: take its lowest cell
    near = good & (length <= shortest + LOOP.valley * LOOP.rate)
    middle = np.abs(0.5 * (rows + columns) - 0.5 * len(motion)) / len(motion)
    best = np.argmin(np.where(near, table + LOOP.centre * middle, np.inf))
    first, last = np.unravel_index(best, table.shape)
    return _refined(clip, first / LOOP.rate, last / LOOP.rate)


def _refined(clip: Clip, start: float, stop: float) -> tuple[float, float]:
    """Move the end of a cycle to the frame, at the clip's own rate, that is most like its start."""
    fps, last = clip.motion.fps, len(clip.motion) - 1
    first = round(start * fps)
    reach = max(round(1.5 * fps / LOOP.rate), 1)
    near = np.arange(max(round(stop * fps) - reach, first + 2), min(round(stop * fps) + reach, last) + 1)
    around = clouds(clip.motion, clip.character)
    return first / fps, float(near[distances(around[np.array([first])], around[near])[0].argmin()]) / fps


def cut_loop(motion: Motion, character: Character, start: float, stop: float) -> Motion:
    """Cut the part of a motion between two times, in seconds, into a loop: its last frame repeats its first.

    Its end is crossfaded into what came before its start (or, where there is nothing before it, its start is crossfaded
    from what follows its end), so that velocity is continuous at the seam as well.
    """
    if not 0.0 <= start < stop <= motion.duration + 1e-6:
        raise MotionError(f"expected a loop within 0..{motion.duration:.3g} s, got {start:.3g} to {stop:.3g} s")
    count = max(round((stop - start) * motion.fps), 2)
    seconds = np.linspace(start, stop, count + 1)
    part = replace(motion.at(seconds), fps=count / (stop - start))
    seam = min(LOOP.seam, 0.25 * (stop - start))
    before, after = start >= seam - 1e-9, stop + seam <= motion.duration + 1e-9
    if before or after:
        step = stop - start
        other = motion.at(np.clip(seconds - step if before else seconds + step, 0.0, motion.duration))
        share = (seconds - (stop - seam)) / seam if before else 1.0 - (seconds - start) / seam
        share = np.clip(share, 0.0, 1.0)
        share = share * share * (3.0 - 2.0 * share)  # smoothstep
        part = compose(
            [part, replace(other, fps=part.fps)], np.stack([1.0 - share, share], axis=1), character
        )  # fmt: skip
    # distribute the remaining gap (height, rounding) evenly over the loop
    turn, shift = ground_transform(part, len(part) - 1, part, 0)
    gap = part[0].transformed(turn, shift) - part[len(part) - 1]
    return part + np.linspace(0.0, 1.0, len(part))[:, None, None] * gap


def loop_contacts(clip: Clip, start: float, stop: float) -> Contacts | None:
    """Return the contacts of a loop cut from a clip: those that start within it, whole even across the seam.

    They are taken from the clip, not from the loop, whose seam is a crossfade of two steps. A contact across the seam
    ends as the one does that is under way where the loop starts: what follows the seam is the start of the loop, not
    what the clip goes on with (a last step may stand for seconds). Frames are the loop's.
    """
    whole = contacts_of(clip)
    if whole is None:
        return None
    fps, cycle = whole.fps, stop - start
    spans = [(plant, plant.start / fps, (plant.end - 1) / fps) for plant in whole.plants]
    ends_of = {plant.point: ends for plant, begins, ends in spans if begins <= start + 1e-6 and ends >= start - 1e-6}
    plants, across = [], set()
    for plant, begins, ends in spans:
        if begins <= start + 1e-6 and ends >= stop - 1e-6:
            # a foot that never leaves the floor
            begins, ends = start, stop
            across.add(plant.point)
        elif not start + 1e-6 < begins < stop - 1e-6:
            continue
        elif ends >= stop - 1e-6:
            ends = max(ends_of.get(plant.point, start) + cycle, stop)
            across.add(plant.point)
        plants.append((plant, begins, ends))
    # the contact where the loop starts, if none comes to it across the seam
    plants += [
        (plant, start, ends)
        for plant, begins, ends in spans
        if plant.point not in across and begins <= start + 1e-6 and ends >= start + 1.0 / fps
    ]
    found = [
        replace(plant, start=max(round((begins - start) * fps), 0), end=round((ends - start) * fps) + 1)
        for plant, begins, ends in plants
    ]
    return replace(whole, plants=tuple(found), frames=round(cycle * fps) + 1)


def loop(
    clip: ClipSource,
    cycles: int = 1,
    *,
    ends: tuple[float, float] | None = None,
    method: str | Method | None = "whole-body",
    progress: Progress | None = None,
) -> Result:
    """Return a gait as a loop: one cycle whose last frame repeats its first, or several in a row, with the feet locked.

    ends: start and end of the cycle in seconds; None: found by `find_loop`. The loop travels as the clip does: its last
    frame is the first one, moved over the floor. method: the solver for foot locks, by name or as an object; None
    leaves them as they are.
    """
    clip, cycles = as_clip(clip), whole_number(cycles, "cycles", MotionError, low=1, high=10_000)
    chosen_method(method)
    lead = lead_in_frames(clip, eased=True)
    clip = replace(clip, motion=clip.motion[lead:])
    start, stop = find_loop(clip) if ends is None else ends
    cut, character = cut_loop(clip.motion, clip.character, start, stop), clip.character
    contacts = loop_contacts(clip, start, stop)
    count = len(cut) - 1
    motion, solution = cut, None
    if contacts is not None:
        # solved three times in a row, so that contacts across the seam are whole; the middle one is kept
        long = cut.looped(3, close=False)
        plants = _repeated_plants(long, character, contacts, count)
        solution = hold_plants(long, character, plants, floor_level(contacts), method=method, progress=progress)
        middle = solution.motion[count : 2 * count + 1]
        motion = middle.transformed(*ground_transform(cut, 0, middle, 0))
    found = motion.looped(cycles)
    if solution is None:
        solution = Stopwatch(Problem(found, character)).finish("loop", found)
    elif contacts is not None:
        ground = contacts.ground
        held = _repeated_contacts(contacts, cycles, count)
        shown = (cut.looped(cycles, close=False), found)
        before, after = (measure(each, character, held, ground=ground) for each in shown)
        solution = replace(solution, report=replace(solution.report, before=before, after=after))
    times = "" if cycles == 1 else f", {cycles} times"
    note = f"one cycle of {counted(count, 'frame')}, {start:.2f} to {stop:.2f} s of {clip.name!r}{times}"
    return Result.of(clip, replace(solution, motion=found)).noted(note)


def _repeated_contacts(contacts: Contacts, cycles: int, count: int) -> Contacts:
    """Return the contacts of a loop of `count` frames that is played several times; those across its ends are cut."""
    frames, plants = cycles * count + 1, []
    for plant in contacts.plants:
        for cycle in range(-1, cycles):
            start, end = max(plant.start + cycle * count, 0), min(plant.end + cycle * count, frames)
            if end - start > 1:
                plants.append(replace(plant, start=start, end=end))
    return replace(contacts, plants=tuple(sorted(plants, key=lambda p: (p.point, p.start))), frames=frames)


def _repeated_plants(long: Motion, character: Character, contacts: Contacts, count: int) -> tuple[Footplant, ...]:
    """Return the contacts of a loop that is played in a row, each where its point is on average."""
    kinematics, plants = Kinematics(long), []
    for plant in _repeated_contacts(contacts, (len(long) - 1) // count, count).plants:
        point, held = character.contacts[plant.point], range(plant.start, plant.end)
        place = kinematics.point(point)[held.start : held.stop].mean(axis=0)
        plants.append(Footplant(name=plant.point, point=point, frames=held, place=place))
    return tuple(plants)
