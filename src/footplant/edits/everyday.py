"""Everyday edits: trim a clip, resample it to another frame rate, mirror it left to right."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from footplant.checks import frame_rate, real_number, whole_number
from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.contacts.detection import FEET, Contacts, find_contacts
from footplant.contacts.stillness import lead_in_frames
from footplant.errors import MotionError
from footplant.feet.lead_in import LeadIn, require_lead_in
from footplant.feet.planting import can_plant, solve_planted
from footplant.motion import Motion
from footplant.problem import Problem, Report, Status
from footplant.quality.measure import Quality, measure
from footplant.result import ClipSource, Result, as_clip

LOCK_DRIFT = 1.0
"""Millimetres by which a footplant may drift more after resampling than before; above it, feet are locked again. At 0
every clip is solved again, for differences that nobody sees."""


def trim(
    clip: ClipSource,
    start: float | None = None,
    end: float | None = None,
    *,
    frames: tuple[int, int] | None = None,
    lead_in: LeadIn = "keep",
) -> Result:
    """Return the part of a clip between two times, in seconds, or between two frames, both included.

    None: from the start, to the end. lead_in: "drop" a T-pose before the motion; times are counted without it then.
    Further characters of the file are trimmed alike.
    """
    clip, started = as_clip(clip), time.perf_counter()
    if frames is not None and (start is not None or end is not None):
        raise MotionError("expected times or frames to trim to, got both")
    lead = lead_in_frames(clip) if require_lead_in(lead_in) == "drop" else 0
    last = len(clip.motion) - 1 - lead
    if last < 0:
        raise MotionError(f"expected a clip with frames to trim, got none in {clip.name!r}")
    if frames is not None:
        first, stop = (whole_number(frame, "a frame", MotionError, low=0, high=last) for frame in frames)
    else:
        times = (0.0 if start is None else start, last / clip.motion.fps if end is None else end)
        for seconds in times:
            if not 0.0 <= real_number(seconds, "a time", MotionError) <= last / clip.motion.fps + 1e-6:
                raise MotionError(
                    f"expected times in 0..{last / clip.motion.fps:.3f} s of {clip.name!r}, got {seconds:g} s"
                )
        first, stop = (min(round(seconds * clip.motion.fps), last) for seconds in times)
    if stop < first:
        raise MotionError(f"expected an end after the start, got frames {first} to {stop}")
    notes = [f"the first {lead} frames, a lead-in pose, were dropped"] if lead else []
    made = _each(clip, lambda part: part.motion[lead + first : lead + stop + 1])
    return Result(made, _report("trim", clip, made, started, notes))


def resample(clip: ClipSource, fps: float, *, smooth: bool | None = None) -> Result:
    """Return a clip at another frame rate, with its footplants kept.

    smooth: cubic curves through the frames instead of slerp; None: where the rate grows. Footplants that would drift by
    more than a millimetre between the source's frames are locked where they were.
    """
    clip, fps, started = as_clip(clip), frame_rate(fps, MotionError), time.perf_counter()
    curved = fps > clip.motion.fps if smooth is None else smooth
    made = _each(clip, lambda part: part.motion.resample(fps, smooth=curved))
    contacts = _contacts(clip)
    if contacts is None:
        return Result(made, _report("resample", clip, made, started))
    kept = contacts.resample(fps, len(made.motion))
    before = measure(clip, contacts=contacts, ground=contacts.ground)
    after = measure(made, contacts=kept, ground=contacts.ground)
    report = _report("resample", clip, made, started, qualities=(before, after))
    before_each, after_each = _drifts(before, contacts), _drifts(after, kept)
    excess = max((drift - before_each[plant] for plant, drift in after_each.items()), default=0.0)
    if excess <= LOCK_DRIFT or not can_plant(clip.character):
        return Result(made, report)
    solved = _lock(made.motion, clip, kept)
    made = replace(made, motion=solved)
    after = measure(made, contacts=kept, ground=contacts.ground)
    note = f"feet were locked: resampled alone, a footplant drifted by {excess:.1f} mm more than before"
    return Result(made, replace(report, after=after, notes=(note,), seconds=time.perf_counter() - started))


def mirror(clip: ClipSource) -> Result:
    """Return a clip mirrored left to right, on the same character: what the left hand did, the right one does.

    Joints are exchanged by role and the mesh follows its joints. Further characters that are not humanoid are left out.
    """
    clip, started = as_clip(clip, humanoid=True), time.perf_counter()
    people = tuple(other for other in clip.others if other.character.roles is not None)
    notes = []
    if len(people) < len(clip.others):
        left = [other.name for other in clip.others if other not in people]
        notes = [f"not humanoid, and left out: {', '.join(left)}"]
    made = _each(replace(clip, others=people), lambda part: part.motion.mirrored(part.character.require_roles()))
    return Result(made, _report("mirror", clip, made, started, notes))


def _each(clip: Clip, operate: Callable[[Clip], Motion]) -> Clip:
    """Return a clip with the motions of all its characters replaced."""
    others = tuple(replace(other, motion=operate(other), takes=(), take=0) for other in clip.others)
    return replace(clip, motion=operate(clip), others=others, takes=(), take=0, notes=())


def _report(
    method: str,
    clip: Clip,
    made: Clip,
    started: float,
    notes: list[str] | None = None,
    qualities: tuple[Quality | None, Quality | None] | None = None,
) -> Report:
    """Return the report of an edit that solves nothing: footplants before and after, each clip by its own."""
    if qualities is None:
        qualities = _quality(clip), _quality(made)
    seconds = time.perf_counter() - started
    before, after = qualities
    height = clip.character.height
    return Report(method, Status.SOLVED, height, before=before, after=after, notes=tuple(notes or ()), seconds=seconds)


def _contacts(clip: Clip) -> Contacts | None:
    """Return the contacts of a clip; None for a character without feet or a clip without frames."""
    has_feet = len(clip.motion) > 0 and any(name in clip.character.contacts for name in FEET)
    return find_contacts(clip) if has_feet else None


def _quality(clip: Clip) -> Quality | None:
    contacts = _contacts(clip)
    return None if contacts is None else measure(clip, contacts=contacts)


def _drifts(quality: Quality, contacts: Contacts) -> dict[tuple, float]:
    """Return the drift of each contact, mm, by its point and place."""
    pairs = zip(contacts.plants, quality.plants, strict=True)
    return {(plant.point, *plant.place.tolist()): measured.drift for plant, measured in pairs}


def _lock(motion: Motion, clip: Clip, contacts: Contacts) -> Motion:
    """Return the motion with its feet planted where the contacts are."""
    character = clip.character
    plants = tuple(
        Footplant(
            name=plant.point,
            point=character.contacts[plant.point],
            frames=range(plant.start, plant.end),
            place=plant.place,
        )
        for plant in contacts.plants
    )
    problem = Problem(motion, character, plants)
    return solve_planted(problem, plants, contacts.ground, range(len(motion))).motion
