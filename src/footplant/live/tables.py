"""Prepare the motions of a set for playback frame by frame: registered, looped, facing ahead, on one floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.blending.common_character import carry_heading, contacts_of, floor_level, on_one_character
from footplant.blending.compose import RootPath, root_reference, rotate_on_floor
from footplant.blending.distance import align, clouds, distances, joint_weights
from footplant.blending.loops import cut_loop, find_loop, loop_contacts
from footplant.blending.registration import register
from footplant.blending.warp import TimeCurve
from footplant.clip import Clip
from footplant.contacts.detection import FEET, HANDS, Contacts, Plant, find_contacts
from footplant.edits.retarget import retarget
from footplant.errors import FormatError, MotionError
from footplant.feet.detached import attach_feet
from footplant.feet.palms import rests_on_ground, without_idle_palms
from footplant.feet.tiptoe import with_toe_tips
from footplant.humanoid import reference_pose
from footplant.kinematics import Kinematics
from footplant.live.motion_set import EFFECTORS, Action, MotionSet
from footplant.live.settings import CONTROLLER
from footplant.motion import Motion
from footplant.skeleton import Character, Point

GAIT, LOOP, ONCE = 0, 1, 2
"""Kinds of motions, as the kernel numbers them."""


@dataclass(frozen=True, eq=False)
class PlayableMotion:
    """One motion, ready for playback."""

    name: str
    kind: int
    rotations: NDArray
    """(F, J, 4) local rotations; joint 0's are world rotations with the facing removed."""
    floor: NDArray
    """(F, 2) metres; position of the hips over the floor (see `hips_lever`), starting at 0 and facing ahead (+z)."""
    height: NDArray
    """(F,) metres of the root above the floor."""
    contacts: NDArray
    """(F, 4) 1 where the left heel, left ball, right heel and right ball are planted, else 0."""
    facing: NDArray
    """(F,) radians that it has turned to the left since its start: evenly, unless it is an action that spins."""
    hands: NDArray
    """(F, 2) 1 where the left and the right palm are planted on the ground, else 0; of actions."""

    @property
    def seconds(self) -> float:
        """Its duration."""
        return (len(self.height) - 1) / CONTROLLER.rate

    @property
    def slope(self) -> float:
        """Mean turning rate to the left, radians per second."""
        return float(self.facing[-1]) / max(self.seconds, 1e-9)

    @property
    def velocity(self) -> NDArray:
        """(2,) mean velocity (across, along) relative to its facing, metres per second."""
        middle = 0.5 * (self.facing[1:] + self.facing[:-1])
        return rotate_on_floor(-middle, np.diff(self.floor, axis=0)).sum(axis=0) / max(self.seconds, 1e-9)

    @property
    def peak(self) -> float:
        """Largest acceleration of the root, metres per second squared."""
        path = np.column_stack([self.floor, self.height])
        return float(np.linalg.norm(np.diff(path, 2, axis=0), axis=1).max(initial=0.0)) * CONTROLLER.rate**2


@dataclass(frozen=True, eq=False)
class Effector:
    """What an action aims, and when."""

    name: str
    """left_foot, right_foot, left_hand or right_hand."""
    point: Point
    """The ball of the foot, or the palm."""
    seconds: float
    """From the start of the action to its key moment."""


@dataclass(frozen=True, eq=False)
class Tables:
    """Everything that a controller plays."""

    character: Character
    motions: tuple[PlayableMotion, ...]
    warp: NDArray
    """(M, phases + 1) seconds of each gait along a common cycle; zeros for other motions."""
    entries: tuple[NDArray, ...]
    """For each motion, at `ControllerSettings.bins` per second, the phase at which to enter a gait; empty for gaits."""
    openings: tuple[NDArray, ...]
    """For each motion (phases,) bool: phases of a gait that match its start; empty for gaits and loops."""
    fade: float
    """Seconds of a transition."""
    foot_acceleration: float
    """Metres per second squared; the largest acceleration of an ankle in any gait."""
    shortest_stance: float
    """Seconds; the shortest stance of a foot in any motion."""
    shortest_swing: float
    """Seconds; the shortest swing of a foot in any gait."""
    effectors: Mapping[int, Effector]
    """Motion → what it aims; of actions."""
    upright: Mapping[int, NDArray]
    """Motion → (F,) bool: whether the body stays upright for a transition from a frame on; of actions."""
    with_hands: tuple[int, ...]
    """The motions in which a hand is planted on the ground."""

    def index(self, name: str) -> int:
        """Return the index of a motion; the error lists all names."""
        for number, motion in enumerate(self.motions):
            if motion.name == name:
                return number
        raise MotionError(f"expected one of {', '.join(motion.name for motion in self.motions)}; got {name!r}")


def build_tables(spec: MotionSet, clips: Mapping[str, Clip], character: Character | None = None) -> Tables:
    """Prepare the clips of a set. clips: by the names that the set gives them. character: the one to put them on.

    A character with detached limbs is driven with attached ones (`feet.detached`): the controller's character.
    """
    if character is None:
        character = clips[spec.clips()[0]].character
    character.require_roles()
    # feet without a toe joint roll over their tips: contacts of their balls are there
    character = with_toe_tips(attach_feet(character))
    missing = [name for name in FEET if name not in character.contacts]
    if missing:
        raise MotionError(
            f"expected a character with heels and balls of the feet, {character.name!r} lacks {missing[0]}"
        )
    clips = {name: carry_heading(on_one_character([clip], character, balance=False)[0]) for name, clip in clips.items()}
    hands: dict[str, list[Plant]] = {}
    for name in {action.clip for action in spec.actions.values()}:
        hands[name] = hand_contacts(clips[name])
        clips[name] = with_still_hands(clips[name], hands[name])
    loops: dict[str, Clip] = {}
    contacts: dict[str, Contacts | None] = {}
    for name, gait in spec.gaits.items():
        for label, file in ((name, gait.clip), (f"{name} left", gait.left), (f"{name} right", gait.right)):
            if file is not None:
                ends = {name: gait.loop, f"{name} left": gait.left_loop, f"{name} right": gait.right_loop}[label]
                loops[label], contacts[label] = _loop(clips[file], ends, label)
    labels = list(loops)
    reference = None if spec.reference is None else labels.index(spec.reference)
    registered = register(
        list(loops.values()), reference=reference, ends="loop", character=character, contacts=list(contacts.values())
    )
    motions = [
        _playable(label, GAIT, clip.motion, character, own)
        for label, clip, own in zip(labels, registered.clips, registered.contacts)
    ]
    for name, idle in spec.idles.items():
        clip, own = _loop(clips[idle.clip], (0.0, clips[idle.clip].motion.duration), name)
        motions.append(_playable(name, LOOP, clip.motion, character, own))
    for name, action in spec.actions.items():
        clip = clips[action.clip]
        stop = clip.motion.duration if action.stop is None else action.stop
        if not action.start < stop <= clip.motion.duration + 1e-6:
            raise FormatError(
                f"expected start and stop within 0..{clip.motion.duration:.3g} s of the clip, got {action.start:g} and "
                f"{stop:g}", where=f"[actions.{name}]",
            )  # fmt: skip
        count = max(round((stop - action.start) * clip.motion.fps), 2)
        part = replace(clip, motion=clip.motion.at(np.linspace(action.start, stop, count + 1)))
        playable = _playable(name, ONCE, part.motion, character, contacts_of(part))
        planted = _planted_hands(hands[action.clip], clip.motion.fps, action.start, len(playable.height))
        motions.append(replace(playable, hands=planted))
    warp = _warp(registered.curve, len(labels), motions)
    entries, openings = _entries(registered.clips[registered.reference], motions, character)
    fade = _fade(spec, motions, character)
    strongest, stance = _foot_acceleration(motions, character), _shortest(motions, standing=True)
    swing = _shortest([motion for motion in motions if motion.kind == GAIT], standing=False)
    effectors = {
        len(motions) - len(spec.actions) + number: _effector(action, motions[number - len(spec.actions)], character)
        for number, action in enumerate(spec.actions.values())
    }
    upright = {number: stays_upright(as_motion(motions[number], character), character, fade) for number in effectors}
    return Tables(
        character, tuple(motions), warp, entries, openings, fade, strongest, stance, swing, effectors, upright,
        tuple(number for number, motion in enumerate(motions) if motion.hands.any()),
    )  # fmt: skip


def with_still_hands(clip: Clip, contacts: Sequence[Plant]) -> Clip:
    """Return a clip whose hands stay where they are planted on the ground; as it is where they do.

    Captured hands glide by centimetres while they carry the body. They are held as those of a retargeted clip are.
    """
    kinematics = Kinematics(clip.motion)
    if not any(_drift(kinematics, clip.character.contacts[own.point], own) > CONTROLLER.glides for own in contacts):
        return clip
    return replace(clip, motion=retarget(clip, clip.character, balance=False).motion)


def hand_contacts(clip: Clip) -> list[Plant]:
    """Return the contacts of palms with the ground."""
    if not any(name in clip.character.contacts for name in HANDS):
        return []
    height = clip.character.height
    found = without_idle_palms(find_contacts(clip, hands=True), height, clip)
    return [plant for plant in found.plants if plant.point in HANDS and rests_on_ground(plant, found, height)]


def _planted_hands(contacts: Sequence[Plant], fps: float, start: float, count: int) -> NDArray:
    """Return (F, 2) where the left and the right palm are planted, at the tables' rate; start: seconds of the clip."""
    out = np.zeros((count, 2))
    for plant in contacts:
        first, last = ((frame / fps - start) * CONTROLLER.rate for frame in (plant.start, plant.end - 1))
        out[max(int(np.ceil(first - 1e-6)), 0) : max(int(last + 1e-6) + 1, 0), HANDS.index(plant.point)] = 1.0
    return out


def _drift(kinematics: Kinematics, point: Point, plant: Plant) -> float:
    """Return by how many metres a point moves during a contact."""
    places = kinematics.point(point)[plant.start : plant.end]
    return float(np.linalg.norm(places - places[0], axis=1).max(initial=0.0))


def _loop(clip: Clip, ends: tuple[float, float] | None, label: str) -> tuple[Clip, Contacts | None]:
    start, stop = find_loop(clip) if ends is None else ends
    try:
        loop = replace(clip, name=label, motion=cut_loop(clip.motion, clip.character, start, stop))
        return loop, loop_contacts(clip, start, stop)
    except MotionError as error:
        raise FormatError(str(error), where=label) from error


def _playable(name: str, kind: int, motion: Motion, character: Character, contacts: Contacts | None) -> PlayableMotion:
    """Return a motion at the tables' rate, facing ahead at its start, on a floor at height 0."""
    count = max(round(motion.duration * CONTROLLER.rate), 2)
    times = np.linspace(0.0, motion.duration, count + 1)
    fine = motion.at(times, smooth=True)
    path = RootPath.of(fine, root_reference(character))
    seconds = np.arange(count + 1) / CONTROLLER.rate
    if kind == ONCE:
        turned = _turned(path.heading, body_tilt(fine, character))
        ahead = body_facing(fine, character, float(path.heading[0]))
    else:
        turned = float(path.heading[-1] - path.heading[0]) / seconds[-1] * seconds
        ahead = float((path.heading - turned)[:-1].mean())
    facing = ahead + turned
    rotations = np.array(fine.rotations)
    rotations[:, 0] = rotation.multiply(rotation.from_axis_angle(rotation.AXES["y"], -facing), rotations[:, 0])
    hips = fine.root + rotation.rotate(fine.rotations[:, 0], hips_lever(character))
    floor = rotate_on_floor(np.full(count + 1, -ahead), (hips - hips[0])[:, ::2])
    level = 0.0 if contacts is None else floor_level(contacts)
    return PlayableMotion(
        name, kind, rotation.unroll(rotations), floor, fine.root[:, 1] - level,
        _planted(contacts, times, kind, motion.duration), turned, np.zeros((count + 1, 2)),
    )  # fmt: skip


def _turned(heading: NDArray, tilt: NDArray) -> NDArray:
    """Return how far an action has turned since its first frame (F,), radians: evenly, unless it spins.

    What it is farther than `ControllerSettings.away` from that is followed, averaged over half a second.

    heading: (F,) of its root, unwrapped. tilt: (F,) of its trunk; a body that is not upright has no heading, and turns
    evenly until it is again. A body more than half a turn away from its facing has no mean with another: a pirouette
    that was taken to turn evenly turned over in one frame when it was blended.
    """
    known = np.flatnonzero(tilt <= CONTROLLER.upright)
    if len(known) < 2:
        return np.zeros(len(heading))
    steps = np.diff(heading[known])
    apart = np.diff(known) > 1
    steps[apart] = (steps[apart] + np.pi) % (2.0 * np.pi) - np.pi
    path = np.interp(np.arange(len(heading)), known, np.concatenate([[0.0], np.cumsum(steps)]))
    even = np.linspace(0.0, path[-1] - path[0], len(path))
    off = path - path[0] - even
    beyond = np.sign(off) * np.maximum(np.abs(off) - CONTROLLER.away, 0.0)
    window = np.hanning(2 * round(0.25 * CONTROLLER.rate) + 1)
    smooth = np.convolve(beyond, window / window.sum(), mode="full")[len(window) // 2 :][: len(beyond)]
    return even + smooth - smooth[0]


def body_facing(motion: Motion, character: Character, near: float = 0.0) -> float:
    """Return where the whole body faces at the start of a motion, radians: the best alignment of the reference pose."""
    weights = joint_weights(character)
    pose = reference_pose(character.skeleton, character.require_roles())
    turn, _ = align(Kinematics(motion[:1]).positions[0], character.skeleton.posed(pose)[0], weights)
    return near + float((turn - near + np.pi) % (2.0 * np.pi) - np.pi)


def _planted(contacts: Contacts | None, times: NDArray, kind: int, seconds: float) -> NDArray:
    """Return (F, 4) which heels and balls are planted at which times; contacts of a loop continue across its seam."""
    out = np.zeros((len(times), len(FEET)))
    if contacts is None:
        return out
    for plant in contacts.plants:
        if plant.point not in FEET:
            continue
        start, stop = plant.start / contacts.fps, (plant.end - 1) / contacts.fps
        for turn in (-1, 0, 1) if kind != ONCE else (0,):
            inside = (times >= start + turn * seconds - 1e-6) & (times <= stop + turn * seconds + 1e-6)
            out[inside, FEET.index(plant.point)] = 1.0
    return _without_gaps(out, kind)


def _without_gaps(planted: NDArray, kind: int) -> NDArray:
    """Close gaps between contacts of a point that are too short for a step; those of a loop across its seam too."""
    gap, count = round(CONTROLLER.gap * CONTROLLER.rate), len(planted)
    around = planted if kind == ONCE else np.concatenate([planted[:-1], planted, planted[1:]])
    for column in around.T:
        edges = np.flatnonzero(np.diff(column > 0))
        for start, stop in pairwise(edges):
            if column[start] > 0 and stop - start <= gap:
                column[start : stop + 1] = 1.0
    return around if kind == ONCE else around[count - 1 : 2 * count - 1]


def _warp(curve: TimeCurve, gaits: int, motions: list[PlayableMotion]) -> NDArray:
    """Return times of the gaits at all phases, smooth across the seam and strictly increasing."""
    out = np.zeros((len(motions), CONTROLLER.phases + 1))
    phase = np.arange(CONTROLLER.phases + 1) / CONTROLLER.phases
    times = curve(curve.start + phase * (curve.stop - curve.start))
    for number in range(gaits):
        own = times[:, number]
        cycle = own[-1] - own[0]
        # low-pass the increments around the cycle: positive ones stay positive
        steps = np.diff(own)
        kernel = np.hanning(round(CONTROLLER.smooth * CONTROLLER.phases) // 2 * 2 + 3)[1:-1]
        kernel /= kernel.sum()
        half = len(kernel) // 2
        steps = np.convolve(np.concatenate([steps[-half:], steps, steps[:half]]), kernel, mode="valid")
        smooth = own[0] + np.concatenate([[0.0], np.cumsum(steps)]) * (cycle / steps.sum())
        out[number] = smooth * (motions[number].seconds / cycle)
    return out


def _entries(
    reference: Clip, motions: list[PlayableMotion], character: Character
) -> tuple[tuple[NDArray, ...], tuple[NDArray, ...]]:
    """Return at which phase to enter a gait from other motions, and at which phases actions may start."""
    cycle = reference.motion.duration
    long = reference.motion.looped(3, close=False)
    phases = np.arange(CONTROLLER.phases // 8) / (CONTROLLER.phases // 8)
    own = clouds(long, character)[np.round((1.0 + phases) * cycle * long.fps).astype(int)]
    entries: list[NDArray] = []
    openings: list[NDArray] = []
    for motion in motions:
        if motion.kind == GAIT:
            entries.append(np.zeros(0))
            openings.append(np.zeros(0, bool))
            continue
        frames = np.arange(0, len(motion.height), round(CONTROLLER.rate / CONTROLLER.bins))
        table = distances(clouds(as_motion(motion, character), character)[frames], own)
        entries.append(phases[table.argmin(axis=1)])
        first = table[0] <= CONTROLLER.same * table[0].min()
        openings.append(np.repeat(first, 8) if motion.kind == ONCE else np.zeros(0, bool))
    return tuple(entries), tuple(openings)


def as_motion(motion: PlayableMotion, character: Character) -> Motion:
    """Return a prepared motion alone, from the origin, facing +z."""
    rotations = np.array(motion.rotations)
    rotations[:, 0] = rotation.multiply(rotation.from_axis_angle(rotation.AXES["y"], motion.facing), rotations[:, 0])
    rotations = rotation.normalize(rotations)
    root = np.column_stack([motion.floor[:, 0], motion.height, motion.floor[:, 1]])
    root[:, ::2] -= rotation.rotate(rotations[:, 0], hips_lever(character))[:, ::2]
    return Motion(character.skeleton, root, rotations, CONTROLLER.rate)


def hips_lever(character: Character) -> NDArray:
    """Return (3,) metres from joint 0 to the hips in the frame of joint 0, in the reference pose.

    A driven body moves and turns about its hips. Joint 0 may be far from them: that of one library is up to 4.5 m
    beside, and turning about it took steered characters sideways at 3.6 m/s.
    """
    skeleton, roles = character.skeleton, character.require_roles()
    places, turns = skeleton.posed(reference_pose(skeleton, roles))
    return rotation.rotate(rotation.inverse(turns[0]), places[roles["hips"]] - places[0])


def _effector(action: Action, motion: PlayableMotion, character: Character) -> Effector:
    """Return what an action aims: as the set says, else the limb that moves fastest relative to the hips."""
    roles = character.require_roles()
    positions = Kinematics(as_motion(motion, character)).positions
    speeds = {
        name: np.linalg.norm(np.diff(positions[::2, roles[name]] - positions[::2, roles["hips"]], axis=0), axis=1)
        for name in EFFECTORS
    }
    name = action.effector or max(speeds, key=lambda each: float(speeds[each].max()))
    key = (2 * int(speeds[name].argmax()) + 1) / CONTROLLER.rate
    seconds = key if action.key is None else min(max(action.key - action.start, 0.0), motion.seconds)
    side, _, part = name.partition("_")
    point = character.contacts.get(f"{side}_{'ball' if part == 'foot' else 'palm'}", Point(roles[name]))
    return Effector(name, point, seconds)


def stays_upright(motion: Motion, character: Character, seconds: float) -> NDArray:
    """Return (F,) whether the head is above the hips, nearly, from each frame on for some seconds."""
    tilt = body_tilt(motion, character)
    ahead = np.concatenate([tilt, np.zeros(round(seconds * motion.fps))])
    windows = np.lib.stride_tricks.sliding_window_view(ahead, len(ahead) - len(tilt) + 1)
    return windows.max(axis=1) <= CONTROLLER.upright


def body_tilt(motion: Motion, character: Character) -> NDArray:
    """Return (F,) radians between the line from hips to head and the vertical."""
    roles, positions = character.require_roles(), Kinematics(motion).positions
    along = positions[:, roles["head"]] - positions[:, roles["hips"]]
    return np.arctan2(np.hypot(along[:, 0], along[:, 2]), along[:, 1])


def _foot_acceleration(motions: list[PlayableMotion], character: Character) -> float:
    """Return the largest acceleration of an ankle in any gait, metres per second squared, at 60 frames per second."""
    roles, found = character.require_roles(), [1.0]
    for motion in motions:
        if motion.kind == GAIT:
            ankles = Kinematics(as_motion(motion, character)).positions[:, [roles["left_foot"], roles["right_foot"]]]
            second = (ankles[4:] - 2.0 * ankles[2:-2] + ankles[:-4]) * (CONTROLLER.rate / 2.0) ** 2
            found.append(float(np.linalg.norm(second, axis=2).max(initial=0.0)))
    return max(found)


def _shortest(motions: list[PlayableMotion], *, standing: bool) -> float:
    """Return the seconds of the shortest stance, or swing, of a foot in any of the motions."""
    found = []
    for motion in motions:
        for foot in (0, 2):
            stands = motion.contacts[:-1, foot : foot + 2].max(axis=1) > 0
            stands = stands if motion.kind == ONCE else np.tile(stands, 3)
            edges = np.flatnonzero(np.diff(stands))
            found += [stop - start for start, stop in pairwise(edges) if stands[start + 1] == standing]
    return min(found, default=12) / CONTROLLER.rate


def _fade(spec: MotionSet, motions: list[PlayableMotion], character: Character) -> float:
    """Return the seconds of a transition in which even the largest change of speed or heading is gentle.

    It adds at most the fraction `added_acceleration` of the clips' own accelerations. A fade of T seconds changes
    weights by up to 1.5 / T per second, and that rate by up to 6 / T² per second; more where one request interrupts
    another.
    """
    speeds = np.array([motion.velocity for motion in motions])
    apart = max(float(np.linalg.norm(a - b)) for a in speeds for b in speeds)
    own = max(motion.peak for motion in motions)
    headings = []
    for motion in motions:
        path = RootPath.of(as_motion(motion, character), root_reference(character))
        headings.append(path.heading - motion.facing)
    turned = max(heading.max() for heading in headings) - min(heading.min() for heading in headings)
    turning = max(float(np.abs(np.diff(heading, 2)).max()) for heading in headings) * CONTROLLER.rate**2
    needed = [spec.fade]
    if own > 1e-6:
        needed.append(1.5 * apart / (CONTROLLER.added_acceleration * own))
    if turning > 1e-6:
        needed.append(float(np.sqrt(8.0 * turned / (CONTROLLER.added_acceleration * turning))))
    return min(max(needed), max(spec.fade, CONTROLLER.longest_fade))
