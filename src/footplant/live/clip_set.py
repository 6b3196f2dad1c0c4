"""Make a motion set from any clips: each clip's kind, loops, turns and key moment are found by analysing it.

A clip that travels and repeats itself, and does not turn over, is a gait; one that does so on the spot, as loops of
games do, travels as fast as its feet slide. Where it also walks curves, these become the gait's turns; a clip that only
turns becomes a turn of the straight gait nearest in speed. A clip that stays where it is and hardly moves is an idle.
Everything else is an action: the part around its key moment, at which its fastest limb is at what it is aimed at.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant.blending.common_character import carry_heading, on_one_character
from footplant.blending.compose import RootPath, root_reference
from footplant.blending.distance import clouds, distances
from footplant.blending.loops import find_loop
from footplant.blending.treadmill import off_the_treadmill, several_rounds
from footplant.checks import real_number
from footplant.clip import Clip
from footplant.errors import MotionError
from footplant.feet.detached import attach_feet
from footplant.io import SAMPLE, load_takes
from footplant.kinematics import Kinematics
from footplant.live.controller import Controller, build_controller
from footplant.live.motion_set import EFFECTORS, STEP, Action, Gait, Idle, MotionSet
from footplant.live.settings import CLIP_SET
from footplant.live.tables import body_tilt, stays_upright
from footplant.result import CharacterSource, ClipSource, as_character, as_clip, require_humanoid

RATE = 60.0
"""Frames per second at which clips are examined."""


@dataclass(frozen=True)
class KnownClip:
    """What a clip is."""

    kind: str
    """gait, idle or action."""
    speed: float = 0.0
    """Metres per second over a cycle; of a gait."""
    loop: tuple[float, float] | None = None
    """Seconds of a cycle; of a gait."""
    turn: float = 0.0
    """Radians per second over that cycle, to the left; of a gait."""
    left: tuple[float, float] | None = None
    """Seconds of a cycle that turns left."""
    right: tuple[float, float] | None = None
    """Seconds of a cycle that turns right."""
    effector: str | None = None
    """What moves fastest: left_foot …; of an action."""
    key: float = 0.0
    """Seconds at which it does."""
    part: tuple[float, float] = (0.0, 0.0)
    """Seconds between which an action is played."""


def drive_set(
    clips: Iterable[ClipSource], *, character: CharacterSource | None = None, fade: float = MotionSet.fade
) -> Controller:
    """Return a controller of any clips, by the names of their files; of a file with several takes all, by their names.

    Lead-ins are dropped, and nothing is set by hand: which are gaits, idles and actions, where they loop and turn, how
    fast they are and what they aim at is found by analysing the clips. character: the one that all are put on (default:
    the first clip's). fade: seconds of a transition at least.
    """
    fade = real_number(fade, "seconds of a transition", MotionError, low=0.05, high=60.0)
    loaded = [clip for source in clips for clip in clips_of(source)]
    if not loaded:
        raise MotionError("expected at least one clip, got none")
    target = attach_feet(loaded[0].character if character is None else as_character(character))
    together = on_one_character([travelling(clip) for clip in loaded], target, balance=False)
    named = dict(zip(unique_names(loaded), (carry_heading(clip) for clip in together)))
    known = {name: examine(clip, fade) for name, clip in named.items()}
    controller = build_controller(sort_clips(known, fade=fade), named, target)
    # transitions may have to be longer than asked for: actions begin and end upright for as long
    own = {
        name: known[name] if known[name].kind != "action" else examine(clip, controller.tables.fade)
        for name, clip in named.items()
    }
    return controller if own == known else build_controller(sort_clips(own, fade=fade), named, target)


def clips_of(source: ClipSource) -> list[Clip]:
    """Return the humanoid clips that a file or a clip has for a set: all takes of more than a pose.

    A single take has the name of its file: exporters call all of theirs alike ("mixamo.com", "Take 001").
    """
    if not isinstance(source, str | Path):
        return [as_clip(source, humanoid=True)]
    takes = list(load_takes(source))
    require_humanoid(takes[0].character, source)
    moving = [take for take in takes if len(take.motion) > 1] or takes[:1]
    if len(moving) == 1:
        moving = [replace(moving[0], name=Path(str(source).removeprefix(SAMPLE)).stem)]
    return moving


def travelling(clip: Clip) -> Clip:
    """Return a loop of a gait, on the spot or of one cycle, as it travels over the ground; any other clip as it is."""
    lasting = several_rounds(off_the_treadmill(clip))
    return lasting if lasting is not clip and examine(lasting).kind == "gait" else clip


def unique_names(clips: Iterable[Clip]) -> list[str]:
    """Return a name for each clip that a script can request: its file's, without spaces and commas."""
    found: list[str] = []
    for clip in clips:
        base = "_".join(Path(clip.name or "clip").stem.replace(",", " ").split()) or "clip"
        name, count = base, 1
        while name in found or name == STEP:
            count += 1
            name = f"{base}_{count}"
        found.append(name)
    return found


def sort_clips(known: dict[str, KnownClip], *, fade: float = MotionSet.fade) -> MotionSet:
    """Return the motion set of clips that were examined; turns without a straight part join the nearest gait."""
    straight = {name: own for name, own in known.items() if own.kind == "gait" and abs(own.turn) <= CLIP_SET.turning}
    gaits: dict[str, Gait] = {}
    for name, own in straight.items():
        gaits[name] = Gait(
            name, own.loop, left=name if own.left else None, right=name if own.right else None, left_loop=own.left,
            right_loop=own.right,
        )  # fmt: skip
    for name, own in known.items():
        if own.kind != "gait" or name in straight:
            continue
        side = "left" if own.turn > 0 else "right"
        near = [
            (abs(np.log(own.speed / other.speed)), label)
            for label, other in straight.items() if getattr(gaits[label], side) is None
        ]  # fmt: skip
        if near and min(near)[0] <= CLIP_SET.alike:
            label = min(near)[1]
            gaits[label] = replace(gaits[label], **{side: name, f"{side}_loop": own.loop})
        else:
            gaits[name] = Gait(name, own.loop)
    idles = {name: Idle(name) for name, own in known.items() if own.kind == "idle"}
    actions = {
        name: Action(name, *own.part, effector=own.effector, key=own.key)
        for name, own in known.items() if own.kind == "action"
    }  # fmt: skip
    if not gaits:
        found = ", ".join(f"{name} ({own.kind})" for name, own in known.items())
        raise MotionError(f"expected a clip that walks or runs among the clips of a set, got {found}")
    return MotionSet("clips", gaits, idles, actions, fade=fade)


def examine(clip: Clip, fade: float = MotionSet.fade) -> KnownClip:
    """Tell what a clip without a lead-in is. fade: seconds of a transition."""
    motion = clip.motion.resample(RATE)
    height = clip.character.height
    roles = clip.character.require_roles()
    positions = Kinematics(motion).positions
    hips = positions[:, roles["hips"], ::2]
    gait = _as_gait(clip, hips, height)
    if gait is not None:
        return gait
    speeds = {name: _speed(positions[:, roles[name]] - positions[:, roles["hips"]]) for name in EFFECTORS}
    stays = float(np.linalg.norm(hips - np.median(hips, axis=0), axis=1).max())
    if stays <= CLIP_SET.spot * height and max(s.max() for s in speeds.values()) <= CLIP_SET.idle_speed * height:
        return KnownClip("idle")
    # what an action aims at is met before the transition to what follows it, if the clip is long enough for one
    left = len(positions) - round(fade * RATE) - 1
    left = left if left > 0.5 * fade * RATE else len(positions)
    effector = max(speeds, key=lambda name: float(speeds[name][:left].max()))
    frame = int(speeds[effector][:left].argmax())
    joints = _speed(positions - positions[:, roles["hips"], None]).mean(axis=1)
    # long enough to be left by a whole transition, after the key moment
    before = [max(seconds, 0.5 * fade) for seconds in CLIP_SET.before]
    start = _slowest_frame(joints, frame - before[1] * RATE, frame - before[0] * RATE, last=False)
    after = [max(seconds, fade + 1.0 / RATE) for seconds in CLIP_SET.after]
    stop = _slowest_frame(joints, frame + after[0] * RATE, frame + after[1] * RATE, last=True)
    start, stop = _upright_part(stays_upright(motion, clip.character, fade), start, stop, round(fade * RATE))
    end = clip.motion.duration
    part = (min(start / RATE, end), min(stop / RATE, end))
    return KnownClip("action", effector=effector, key=frame / RATE, part=part)


def _as_gait(clip: Clip, hips: NDArray, height: float) -> KnownClip | None:
    """Return the loops of a clip that travels and repeats itself, or None."""
    straight = (-CLIP_SET.straight, CLIP_SET.straight)
    tilt = body_tilt(clip.motion.resample(RATE), clip.character)
    for turned in (straight, None):
        try:
            loop = find_loop(clip, turned)
        except MotionError:
            continue
        around = clouds(clip.motion.resample(RATE), clip.character)
        first, last = (min(round(time * RATE), len(around) - 1) for time in loop)
        table = distances(around, around[np.arange(first, last + 1)]) / height
        speed = float(np.linalg.norm(hips[last] - hips[first])) / (loop[1] - loop[0])
        near, far = np.percentile(table.min(axis=1), [50, 90])
        if (
            speed >= CLIP_SET.travels * height and table[last, 0] <= CLIP_SET.closes
            and near <= CLIP_SET.repeats[0] and far <= CLIP_SET.repeats[1]
            and tilt[first : last + 1].max() <= CLIP_SET.turns_over
        ):  # fmt: skip
            break
    else:
        return None
    heading = RootPath.of(clip.motion.resample(RATE), root_reference(clip.character)).heading
    turn = float(heading[last] - heading[first]) / (loop[1] - loop[0])
    sides: dict[str, tuple[float, float] | None] = {"left": None, "right": None}
    cycle = loop[1] - loop[0]
    if abs(turn) <= CLIP_SET.turning:
        least, most = CLIP_SET.turning * cycle, CLIP_SET.sharpest * cycle
        for side, turned in (("left", (least, most)), ("right", (-most, -least))):
            try:
                found = find_loop(clip, turned)
            except MotionError:
                continue
            ends = [min(round(time * RATE), len(around) - 1) for time in found]
            gap = distances(around[np.array(ends[:1])], around[np.array(ends[1:])])[0, 0] / height
            if gap <= CLIP_SET.closes and abs(np.log((found[1] - found[0]) / cycle)) <= CLIP_SET.alike:
                sides[side] = found
    return KnownClip("gait", speed=speed, loop=loop, turn=turn, left=sides["left"], right=sides["right"])


def _speed(positions: NDArray) -> NDArray:
    """Return speeds (F, …), metres per second, of positions (F, …, 3): medians of three frames, as single ones jump."""
    speed = np.linalg.norm(np.gradient(positions, 1.0 / RATE, axis=0), axis=-1)
    ahead, behind = np.concatenate([speed[1:], speed[-1:]]), np.concatenate([speed[:1], speed[:-1]])
    return np.median([behind, speed, ahead], axis=0)


def _slowest_frame(speed: NDArray, begin: float, end: float, *, last: bool) -> int:
    """Return the frame between two in which the body moves least; the clip's first or last if it has none there."""
    low, high = max(round(begin), 0), min(round(end), len(speed) - 1)
    if high <= low:
        return len(speed) - 1 if last else 0
    return low + int(speed[low : high + 1].argmin())


def _upright_part(upright: NDArray, start: int, stop: int, fade: int) -> tuple[int, int]:
    """Return the frames of an action, earlier and later where it would begin or end while the body is not upright.

    upright: (F,) whether it stays so for a transition, of `fade` frames, from a frame on.
    """
    starts = np.flatnonzero(upright[: start + 1])
    stops = np.flatnonzero(upright[max(stop - fade, 0) :]) + max(stop - fade, 0) + fade
    start = int(starts[-1]) if len(starts) else start
    return start, int(min(stops[0], len(upright) - 1)) if len(stops) else stop


def known_kinds(controller: Controller) -> list[tuple[str, str, str]]:
    """Return name, kind and what is known of every motion of a controller, for people."""
    found, spec = [], controller.spec
    for motion in controller.tables.motions:
        base = motion.name.partition(" ")[0] if motion.name.partition(" ")[0] in spec.gaits else motion.name
        speed = float(np.linalg.norm(motion.velocity))
        if base in spec.gaits:
            turn = f", turns by {np.degrees(motion.slope):+.0f}°/s" if abs(motion.slope) > 0.1 else ""
            found.append((motion.name, "gait", f"{speed:.2f} m/s, a cycle of {motion.seconds:.2f} s{turn}"))
        elif motion.name in spec.idles:
            found.append((motion.name, "idle", f"{motion.seconds:.2f} s"))
        else:
            action = spec.actions[motion.name]
            aims = ""
            if action.effector and action.key is not None:
                aims = f", {action.effector} at {action.key - action.start:.2f} s"
            found.append((motion.name, "action", f"{motion.seconds:.2f} s{aims}"))
    return found
