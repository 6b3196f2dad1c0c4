"""Feet that stand although no contact of a point of their sole says so, or not long enough.

A capture may show an ankle still that no part of the sole is still under: someone kneels, the foot on its instep. A
character's ankle is held there (`still_ankles`).

A foot that stands on its heel or its ball alone pivots about it. A capture may show the ankle still, and the heel creep
under it: the character's ankle would slide over a heel that is pinned. Joints that are slow in the source take part in
the foot's curve (`joint_steps`).

At low frame rates contacts of a character on uneven ground last while a joint of its foot is still
(`held_with_joints`).

Robots. A contact is found where a point of the sole is slow. A character eases into it and out of it; a robot's foot
has to stand as long as the source's does, to the frame, and wherever a joint of the source's foot holds still near the
ground.

The three numbers below were chosen on 20 clips that are not in the table of docs/robots.md (01_02, 03_01, 13_01, 13_33,
13_35, 14_23, 19_15, 36_01, 49_21 and 75_12 of CMU; ten of other makers), on a G1. Counted are stretches in which a
joint of the source's foot is still by three definitions, each with its radius and time, and those of them in which no
point of the robot's sole stays within 0.5 mm:

    all stretches                             343 (6 mm, 0.12 s)   299 (4 mm, 0.2 s)   339 (9 mm, 0.1 s)
    contacts as they are detected               9                    2                  17
    these numbers                               1                    0                   2
    0.0035 body heights                         4                    0                   8
    0.007 body heights                          0                    0                   0
    0.2 s                                       8                    0                   9
    contacts not joined                         3                    2                   9

The one that is missed (49_21) and more of the looser ones would be held at 0.007 body heights, with 2 % more planted
frames.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant.clip import Clip
from footplant.contacts.detection import Contacts, Plant
from footplant.contacts.settings import StillnessSettings
from footplant.kinematics import Kinematics
from footplant.order import runs
from footplant.skeleton import Character

STILL_WITHIN = 0.005
"""Body heights (8 mm): a point or joint that stays this near to one place is still."""
STILL_FOR = 0.1
"""Seconds: a joint that is still for less is at a turn of its swing."""
LOW = 0.065
"""Body heights: a joint that is still stands if it is not higher than this above its lowest height. At 0.035,
two more of the looser stretches are missed; with earlier numbers no bound at all held six feet in the air."""
TRAVELLED, FOOT_LOW = 0.07, 0.02
"""Body heights by which hips travel over a foot that stands, and that a foot is higher at most than where it is
planted: those of `quality.stances`. If every ankle counts that is still below `LOW`, four more of a crawl are held
whose feet are in the air, and jerk is 1.9 instead of 1.3 times the source's."""
LOW_RATE = 60.0
"""Frames per second up to which contacts may be a frame too short, and are lengthened (`held_a_frame_longer`)."""
FRAME_NEAR, FRAME_APART = 0.002, 0.4
"""Body heights from its place at which a point, and its joint, is still in place in a frame beside its contact, and
seconds that are left between contacts. Of 1428 stances of 59 pairs, 3.36 % slide more than 1 mm and 0.35 % more than
5 mm without, 3.15 % and 0.28 % with these, and with 0.003; that turns shins of a walk of 30 frames/s on short legs with
long feet by 3.6° instead of 3.0° (without: 2.6°). With 0.15 s, shifts of weight in a clip of crossed arms jerk 1.19
instead of 1.10 times as much as the source. At 120 frames/s no stance is better and thighs are 0.1° farther off."""
HELD = 0.7
"""Share of the frames in which a joint holds still that a contact of its foot lasts at least, to be made longer. With
0.5 and 0.7, the same stances of ten results of a walk from video slide by more than 1 mm."""
JOINTS = ("foot", "toes")
"""Roles of the joints of a foot that may stand."""
CALM = 0.1
"""Share of the speed below which a point is still that counts as none when toes are compared with their ankle: 17 mm/s
for an adult. An ankle that stands while its foot pitches by ±5° over a pinned heel slides by 15.9 mm without rows, and
by 8.5, 6.0, 3.3 and 2.9 mm with 10, 0.3, 0.1 and 0.03."""
ENDS = ("heel", "ball")
"""Ends of a sole."""
STILL_SPEED = 2.0 * STILL_WITHIN / STILL_FOR
"""Body heights per second: a faster joint leaves its place before it has been still."""
NEAR = StillnessSettings().merge_near
"""Body heights: contacts of one point with no swing between them that are nearer than this along the ground are one, as
for the detector. A foot of a backflip that is found in two places 15 mm apart, in adjoining frames, would have to
jump."""


@dataclass(frozen=True, eq=False)
class JointSteps:
    """How joints of feet that stand on heel or ball move in a source, from each frame to the next."""

    moves: NDArray
    """(2, 2, 2, F − 1, 3) of a foot pinned at that end, over its distance from there; side, joint of `JOINTS`, end."""
    slow: NDArray
    """(2, 2, F − 1) from 0, as fast as a joint that goes somewhere, to 1, still; side, joint."""

    def part(self, span: range) -> JointSteps:
        """Return those of a span of frames."""
        rows = slice(span.start, max(span.stop - 1, span.start))
        return JointSteps(self.moves[:, :, :, rows], self.slow[:, :, rows])


def held_while_still(contacts: Contacts, clip: Clip, source: Kinematics) -> Contacts:
    """Return the contacts of a clip's feet, made longer, joined and added to so that feet stand while they are still.

    In order: contacts are lengthened by the frames in which their points are still in place; those of one point that
    adjoin are joined; and where a joint of a foot holds still near the ground with none of the foot's contacts held
    throughout, that of the point that moves least is lengthened, or one is added.
    """
    plants: dict[str, list[Plant]] = {}
    # at 30 frames/s a foot that lands is fast in the frame before and yet within millimetres of its place
    for plant in _lengthened(contacts, clip, source, STILL_WITHIN * clip.character.height, np.min):
        plants.setdefault(plant.point, []).append(plant)
    points, height = clip.character.contacts, clip.character.height
    tracks = {name: np.stack([source.point(point), source.positions[:, point.joint]]) for name, point in points.items()}
    near = NEAR * height
    plants = {name: _joined(own, tracks[name], near) if name in tracks else own for name, own in plants.items()}
    for side in ("left", "right"):
        foot = {name: tracks[name] for name in (f"{side}_heel", f"{side}_ball") if name in points}
        for _, joint in foot.values():
            for start, end in still_frames(joint, contacts.fps, height):
                _hold(plants, foot, start, end)
        for name, own in foot.items():
            plants[name] = _joined(plants.get(name, []), own, near)
    return replace(contacts, plants=tuple(plant for point in sorted(plants) for plant in plants[point]))


def held_a_frame_longer(contacts: Contacts, clip: Clip, source: Kinematics) -> Contacts:
    """Return the contacts of a clip's feet, at low frame rates a frame longer at either end that is still in place.

    A foot that lands between two frames is fast in the one before and yet within millimetres of its place.
    """
    if contacts.fps > LOW_RATE:
        return contacts
    near, apart = FRAME_NEAR * clip.character.height, math.ceil(FRAME_APART * contacts.fps)
    feet = [plant for plant in contacts.plants if not plant.point.endswith("_palm")]
    longer = _lengthened(replace(contacts, plants=tuple(feet)), clip, source, near, np.max, 1, apart)
    palms = (plant for plant in contacts.plants if plant.point.endswith("_palm"))
    return replace(contacts, plants=(*longer, *palms))


def held_with_joints(contacts: Contacts, kinematics: Kinematics, character: Character) -> Contacts:
    """Return the contacts of feet, at low frame rates lasting while an ankle or toe joint of theirs holds still.

    kinematics: of the motion on a character, whose joints may stand for a frame or two longer than the points of the
    source's soles, as where the source has no toe joints and lifts its foot as one piece.
    """
    if contacts.fps > LOW_RATE:
        return contacts
    roles, plants, given = character.require_roles(), list(contacts.plants), contacts.plants
    for side in ("left", "right"):
        own = [n for n, plant in enumerate(plants) if plant.point in (f"{side}_heel", f"{side}_ball")]
        joints = [roles[name] for name in (f"{side}_foot", f"{side}_toes") if name in roles]
        for start, end in (
            pair
            for joint in joints
            for pair in _still_frames(kinematics.positions[:, joint], contacts.fps, character.height, True)
        ):
            shared = [min(given[n].end, end) - max(given[n].start, start) for n in own]
            if max(shared, default=0) < HELD * (end - start):
                continue
            number = own[int(np.argmax(shared))]
            plant = plants[number]
            others = [plants[n] for n in own if n != number and plants[n].point == plant.point]
            first = max((each.end for each in others if each.end <= plant.start), default=0)
            last = min((each.start for each in others if each.start >= plant.end), default=contacts.frames)
            plants[number] = replace(
                plant, start=max(min(start, plant.start), first), end=min(max(end, plant.end), last)
            )
    return replace(contacts, plants=tuple(plants))


def _lengthened(
    contacts: Contacts, clip: Clip, source: Kinematics, near: float, of: Callable[[NDArray], float],
    most: int | None = None, apart: int = 0,
) -> list[Plant]:  # fmt: skip
    """Return contacts lengthened by the frames before and after in which their points are still in place.

    near: metres that the point and its joint, or one of the two (`of`), may be away. most: frames at either end.
    apart: frames that are left between contacts of one point.
    """
    made, ends, clip_frames = [], dict[str, int](), len(clip.motion)
    most = clip_frames if most is None else most
    starts = {
        (plant.point, plant.start): after.start - apart
        for plant, after in pairwise(contacts.plants)
        if plant.point == after.point
    }
    for plant in contacts.plants:
        start, end = plant.start, plant.end
        if plant.point in clip.character.contacts:
            point = clip.character.contacts[plant.point]
            # a foot that rolls over its ball turns the point about the joint that stands, or the other way round
            tracks = np.stack([source.point(point), source.positions[:, point.joint]])
            first = max(ends.get(plant.point, 0), plant.start - most, 0)
            last = min(starts.get((plant.point, plant.start), clip_frames), plant.end + most, clip_frames)
            while start > first and of(_away(tracks, start - 1, plant.start)) < near:
                start -= 1
            while 0 < end < last and of(_away(tracks, end, plant.end - 1)) < near:
                end += 1
        ends[plant.point] = end + apart
        made.append(replace(plant, start=start, end=end))
    return made


def _away(tracks: NDArray, frame: int, other: int) -> NDArray:
    """Return the distances (N,) between two frames of some tracks (N, F, 3), metres."""
    return np.linalg.norm(tracks[:, frame] - tracks[:, other], axis=1)


def _joined(plants: list[Plant], tracks: NDArray, near: float) -> list[Plant]:
    """Return contacts of one point, those that adjoin, the point or its joint within `near` metres, as one.

    tracks (2, F, 3): of the point and of its joint, metres.
    """
    out: list[Plant] = []
    for plant in sorted(plants, key=lambda each: each.start):
        before = out[-1] if out else None
        if before is not None and plant.start - before.end <= 1 and _apart(before, plant, tracks) < near:
            share = len(before) / max(len(before) + len(plant), 1)
            place = share * before.place + (1.0 - share) * plant.place
            out[-1] = replace(before, end=max(plant.end, before.end), place=place)
        else:
            out.append(plant)
    return out


def _apart(first: Plant, second: Plant, tracks: NDArray) -> float:
    """Return how far two contacts of a point are apart along the ground, metres: itself or its joint."""
    ways = [np.subtract(*(tracks[1, plant.start : plant.end].mean(axis=0) for plant in (first, second)))]
    ways.append(first.place - second.place)
    return min(float(np.hypot(way[0], way[2])) for way in ways)


def still_ankles(contacts: Contacts, clip: Clip, source: Kinematics, lead: int) -> NDArray:
    """Return where ankles are still although no contact holds their feet (2, F) bool, left and right.

    An ankle counts if its foot stands: if the hips travel over it, or if it is as low as where it is planted. lead:
    number of lead-in frames.
    """
    found, sides = np.zeros((2, contacts.frames), bool), ("left", "right")
    roles, height = clip.character.require_roles(), clip.character.height
    if not all(f"{side}_foot" in roles for side in sides):
        return found
    hips, ankles = source.positions[:, roles["hips"]], [source.positions[:, roles[f"{side}_foot"]] for side in sides]
    planted = [_planted(contacts, side) for side in sides]
    high = [_heights(clip.character, source, *each) for each in zip(sides, planted)]
    for still, ankle, on, own in zip(found, ankles, planted, high):
        for start, end in _still_frames(ankle[lead:], contacts.fps, height):
            rows = slice(start + lead, end + lead)
            travelled = float(np.linalg.norm(np.ptp(hips[rows, ::2], axis=0))) > TRAVELLED * height
            low = float(np.median(own[rows])) < FOOT_LOW * height
            still[rows] = travelled or low
        still &= ~on
        for start, end in runs(still):
            still[start:end] = end - start >= _least_frames(contacts.fps)
    return found


def joint_steps(clip: Clip, source: Kinematics, lead: int) -> JointSteps:
    """Return how the joints of a clip's feet move; lead: number of lead-in frames.

    Velocities are means over the shortest window of contact detection; a joint is as slow as its own is relative to the
    speed below which a point is still there, and toes to that of their ankle: what turns about an ankle that stands
    does not stand. Where the end that is pinned creeps in the source, at u, a joint can go on as there, at v, or turn
    about that end as there, at v − u. It goes at that share of v, 0 to 1, which is nearest to v − u: so a foot that
    creeps as a whole stands, and so does an ankle over a heel that creeps.
    """
    settings, roles, points = StillnessSettings(), clip.character.require_roles(), clip.character.contacts
    fps, steps = clip.motion.fps, max(len(clip.motion) - 1, 0)
    moves, slow = np.zeros((2, len(JOINTS), len(ENDS), steps, 3)), np.zeros((2, len(JOINTS), steps))
    width = round(0.5 * settings.smallest_window * fps)
    before, after = np.maximum(np.arange(steps) - width, 0), np.minimum(np.arange(steps) + 1 + width, steps)

    def step(track: NDArray) -> NDArray:
        return (track[after] - track[before]) / (after - before)[:, None]

    for s, side in enumerate(("left", "right")):
        ends = [source.point(points[f"{side}_{end}"]) if f"{side}_{end}" in points else None for end in ENDS]
        shares = np.ones((len(JOINTS), steps))
        for j, joint in enumerate(JOINTS):
            number = roles.get(f"{side}_{joint}")
            if number is None or not steps:
                continue
            own = step(source.positions[:, number])
            square = (own * own).sum(axis=1)
            shares[j] = square * (fps / (settings.speed * clip.character.height)) ** 2
            for e, end in enumerate(ends):
                if end is not None:
                    about = own - step(end)
                    going = np.clip((about * own).sum(axis=1) / np.maximum(square, 1e-18), 0.0, 1.0)
                    far = float(np.linalg.norm(source.positions[:, number] - end, axis=1).mean())
                    moves[s, j, e] = going[:, None] * own / max(far, 1e-9)
        slow[s] = np.maximum(1.0 - shares, 0.0) ** 2
        slow[s, -1] *= ((shares.min(axis=0) + CALM**2) / (shares[-1] + CALM**2)) ** 2
    slow[:, :, :lead] = 0.0
    return JointSteps(moves, slow)


def _planted(contacts: Contacts, side: str) -> NDArray:
    """Return whether heel or ball of a foot is planted (F,)."""
    planted = np.zeros(contacts.frames, bool)
    for plant in contacts.plants:
        if plant.point in (f"{side}_heel", f"{side}_ball"):
            planted[max(plant.start, 0) : plant.end] = True
    return planted


def _heights(character: Character, source: Kinematics, side: str, planted: NDArray) -> NDArray:
    """Return how high a foot is (F,) above where its ankle, or the lowest point of its sole, is while planted."""
    names = [name for part in ("heel", "ball", "toe") if (name := f"{side}_{part}") in character.contacts]
    ankle = source.positions[:, character.require_roles()[f"{side}_foot"], 1]
    sole = np.min([source.point(character.contacts[name])[:, 1] for name in names] or [ankle], axis=0)
    if not planted.any():
        return np.full(len(ankle), np.inf)
    return np.min([height - np.percentile(height[planted], 5) for height in (ankle, sole)], axis=0)


def still_frames(track: NDArray, fps: float, height: float) -> list[tuple[int, int]]:
    """Return first and end frames in which a joint (F, 3), y up, holds still near its lowest height.

    height: of the body, metres.
    """
    low = track[:, 1] - np.percentile(track[:, 1], 2) < LOW * height if len(track) else np.zeros(0, bool)
    return [(start, end) for start, end in _still_frames(track, fps, height) if low[start:end].mean() > 0.8]


def _least_frames(fps: float) -> int:
    return max(3, round(STILL_FOR * fps))


def _still_frames(track: NDArray, fps: float, height: float, overlapping: bool = False) -> list[tuple[int, int]]:
    """Return first and end frames in which a joint (F, 3) holds still, wherever it is.

    overlapping: from every frame on in which it does, not only from where the stretch before ends.
    """
    least = _least_frames(fps)
    if len(track) < least:
        return []
    slow = np.linalg.norm(np.gradient(track, 1.0 / fps, axis=0), axis=1) < STILL_SPEED * height
    found = []
    for begin, end in runs(slow):
        start = begin
        while start + least <= end:
            spread = np.maximum.accumulate(track[start:end]) - np.minimum.accumulate(track[start:end])
            wide = np.linalg.norm(spread, axis=1) > 2.0 * STILL_WITHIN * height
            length = int(wide.argmax()) if wide.any() else end - start
            if length >= least:
                found.append((start, start + length))
            start += length if length >= least and not overlapping else 1
    return found


def _hold(plants: dict[str, list[Plant]], foot: dict[str, NDArray], start: int, end: int) -> None:
    """Have a contact held from start to end, longer or new: of the foot's point that moves least along the ground.

    foot: name of each point of the foot → (2, F, 3), as for `_joined`.
    """
    own = [plant for part in foot for plant in plants.get(part, ())]
    if any(plant.start <= start and plant.end >= end for plant in own):
        return
    name = min(foot, key=lambda part: float(np.linalg.norm(np.ptp(foot[part][0, start:end, ::2], axis=0))))
    same = plants.setdefault(name, [])
    overlaps = [min(plant.end, end) - max(plant.start, start) for plant in same]
    best = int(np.argmax(overlaps)) if same else -1
    if same and overlaps[best] > 0:
        plant = same[best]
        first = max([each.end for each in same if each.end <= plant.start], default=0)
        last = min([each.start for each in same if each.start >= plant.end], default=foot[name].shape[1])
        same[best] = replace(plant, start=max(min(start, plant.start), first), end=min(max(end, plant.end), last))
    else:
        same.append(Plant(name, start, end, np.median(foot[name][0, start:end], axis=0)))
