"""Hand motions: picking something up, clapping, hands on the waist, climbing. Palms meet their targets exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.samples.actions import feet_of, standing_feet
from footplant.samples.body import SIDES, STANDING_HEIGHT, Pose, SampleBody, build, hand_at, turn
from footplant.samples.curves import ease, keyed, wave
from footplant.samples.footsteps import Sample, all_contacts, frame_intervals
from footplant.samples.shapes import DEGREE, peak
from footplant.skeleton import Character

REACH_POINT = (-0.14, 0.08, 0.50)
"""Position of the object to pick up, metres; the mannequin stands at the origin and faces +z."""
REACH_HOLD = (1.35, 1.95)
"""Interval in which the hand holds it, seconds."""
CLAPS = (0.9, 1.45, 2.0, 2.55)
"""Times at which the palms meet, seconds."""
CLAP_HOLD = 0.05
"""Duration of each clap's contact, seconds."""
CLAP_PLACE = (0.0, 1.22, 0.36)
WAIST_HOLD = (0.9, 2.4)
"""Interval in which the hands are on the waist, seconds."""
WAIST_PLACE = (0.147, 1.03, 0.02)
"""Position of the left palm then, metres."""
ROPE = 0.17
"""Distance of the rope in front of the pelvis, metres; it hangs at x = 0."""


def reach(
    point: tuple[float, float, float] = REACH_POINT, *, fps: float = 120.0, character: Character | None = None
) -> Sample:
    """Generate crouching, picking something up from the floor with the right hand, and standing up with it.

    point: its position, metres, on the mannequin's scale; the right palm stays there during `REACH_HOLD`. If the arms
    are too short for the legs, the hand comes as near as it can.
    """
    body = SampleBody.of(character)
    length, tempo = body.scale, body.tempo
    t = np.arange(round(3.6 * tempo * fps) + 1) / fps / tempo
    begin, end = REACH_HOLD
    down = keyed(t, [(0.3, 0.0), (begin - 0.08, 1.0), (end + 0.05, 1.0), (end + 1.05, 0.0)])
    early = keyed(t, [(0.25, 0.0), (begin - 0.3, 1.0), (end + 0.1, 1.0), (end + 1.2, 0.0)])
    feet = standing_feet(body, t * tempo, -26 * DEGREE * keyed(t, [(0.55, 0.0), (begin, 1.0), (end, 1.0), (2.7, 0.0)]))
    place, lifted = np.array(point), np.array([-0.17, 1.08, 0.35])
    before = place + [0.0, 0.22, -0.06]
    palm = keyed(t, [(0.2, before + [-0.02, 0.5, -0.15]), (begin - 0.22, before), (begin, place), (end, place),
                     (end + 0.3, place + [0.0, 0.20, -0.03]), (end + 0.7, (-0.16, 0.84, 0.32)),
                     (end + 1.15, lifted)])  # fmt: skip
    held = ease((t - 0.45) / (begin - 0.65))
    fingers = keyed(t, [(0.4, (0.0, -1.0, 0.35)), (begin, (0.15, -0.8, 0.6)), (end, (0.15, -0.8, 0.6)),
                        (end + 0.7, (0.2, -0.6, 0.8)), (end + 1.15, (0.25, -0.1, 1.0))])  # fmt: skip
    facing = keyed(
        t, [(0.4, (1.0, 0.0, 0.0)), (begin, (0.9, -0.3, 0.0)), (end, (0.9, -0.3, 0.0)), (end + 1.1, (1.0, 0.2, 0.0))]
    )
    looking = [(0.1, 3.0), (0.6, 42.0), (begin, 70.0), (end, 68.0), (end + 0.6, 38.0), (end + 1.3, 12.0)]
    resting = {"swing": (2 + 40 * down) * DEGREE, "elbow": (14 + 30 * down) * DEGREE, "spread": 0.13 + 0.1 * down}
    pose = Pose(
        hips=np.stack(
            [-0.02 * length * down, body.hips_height(STANDING_HEIGHT - 0.002 - 0.47 * down), -0.085 * length * down],
            axis=-1,
        ),
        pelvis=np.stack([40 * DEGREE * early, 4 * DEGREE * down, -2 * DEGREE * down], axis=-1),
        trunk=np.stack([50 * DEGREE * early, 12 * DEGREE * down, -5 * DEGREE * down], axis=-1),
        gaze=np.stack([keyed(t, looking) * DEGREE, -28 * DEGREE * early], axis=-1),
        arms={
            "left": resting,
            "right": {"swing": (2 + 60 * held) * DEGREE, "elbow": (14 + 24 * held) * DEGREE},
        },
        hands={"right": (*hand_at(body, "right", length * palm, fingers, facing), 0.0, held)},
        feet=feet_of(feet, {"left": 0.16, "right": -0.16}),
    )  # fmt: skip
    contacts = all_contacts(feet, fps, len(t))
    contacts |= frame_intervals({"right_palm": [(begin * tempo, end * tempo)]}, fps, len(t))
    return Sample(build(body, pose, fps), body.character, contacts)


def clap(*, fps: float = 120.0, character: Character | None = None) -> Sample:
    """Generate four claps in front of the chest; the palms meet for `CLAP_HOLD` seconds from each time in `CLAPS`."""
    body = SampleBody.of(character)
    tempo = body.tempo
    t = np.arange(round(3.6 * tempo * fps) + 1) / fps / tempo
    feet = standing_feet(body, t * tempo)
    keys = [(0.3, 1.15)]
    for number, hit in enumerate(CLAPS):
        keys += [(hit, 0.0), (hit + CLAP_HOLD, 0.0)]
        keys += [(0.5 * (hit + CLAP_HOLD + CLAPS[number + 1]) - 0.02, 1.0)] if number + 1 < len(CLAPS) else []
    keys.append((CLAPS[-1] + 0.5, 1.15))
    gap = keyed(t, keys)
    raised = keyed(t, [(0.1, 0.0), (CLAPS[0] - 0.05, 1.0), (CLAPS[-1] + CLAP_HOLD + 0.03, 1.0), (3.35, 0.0)])
    beat = 1.0 - np.clip(gap, 0.0, 1.0)
    place = np.array(CLAP_PLACE)
    hands = {}
    for side, sign in SIDES.items():
        palm = place + np.stack([sign * 0.16 * gap, -0.02 * gap, -0.015 * gap], axis=-1)
        fingers = np.stack([-sign * 0.10 * gap, 0.62 + 0 * t, 0.78 + 0 * t], axis=-1)
        facing = np.stack([-sign + 0 * t, 0.22 * gap, 0 * t], axis=-1)
        hands[side] = (*hand_at(body, side, _on_chest(body, palm), fingers, facing), sign * 0.15, raised)
    pose = Pose(
        hips=np.stack([0 * t, body.hips_height(STANDING_HEIGHT - 0.003 - 0.004 * beat * raised), 0 * t], axis=-1),
        pelvis=(0.01, 0.0, 0.0),
        trunk=np.stack([0.03 * raised + 0.015 * beat * raised, 0 * t, 0 * t], axis=-1),
        gaze=np.stack([0.05 + 0.05 * raised + 0.02 * beat * raised, 0 * t], axis=-1),
        arms={
            side: {"swing": 0.03 + 0.5 * raised, "elbow": 0.25 + 1.2 * raised, "spread": 0.13 + 0.12 * raised}
            for side in SIDES
        },
        hands=hands,
        feet=feet_of(feet),
    )
    together = [(hit * tempo, (hit + CLAP_HOLD) * tempo) for hit in CLAPS]
    contacts = all_contacts(feet, fps, len(t))
    contacts |= frame_intervals({"left_palm": together, "right_palm": together}, fps, len(t))
    return Sample(build(body, pose, fps), body.character, contacts)


def waist(*, fps: float = 120.0, character: Character | None = None) -> Sample:
    """Generate putting both hands on the waist, elbows out, during `WAIST_HOLD`, then letting them hang again."""
    body = SampleBody.of(character)
    tempo = body.tempo
    t = np.arange(round(3.4 * tempo * fps) + 1) / fps / tempo
    feet = standing_feet(body, t * tempo)
    begin, end = WAIST_HOLD
    held = keyed(t, [(0.15, 0.0), (begin - 0.1, 1.0), (end + 0.1, 1.0), (3.2, 0.0)])
    out = keyed(t, [(0.2, 1.0), (begin, 0.0), (end, 0.0), (end + 0.7, 1.0)])
    shift = 0.012 * body.scale * wave(t / 3.4, [peak(2, 1.0, 0.3)])
    hands = {}
    for side, sign in SIDES.items():
        palm = np.array(WAIST_PLACE) * [sign, 1.0, 1.0] + np.stack([sign * 0.2 * out, 0.05 * out, 0.1 * out], axis=-1)
        fingers = np.stack([-sign * (0.25 - 0.2 * out), -0.45 + 0 * t, 0.85 + 0 * t], axis=-1)
        facing = np.stack([-sign + 0 * t, -0.1 + 0 * t, 0.1 + 0 * t], axis=-1)
        place, turned = hand_at(body, side, _on_hips(body, palm), fingers, facing)
        hands[side] = (place + shift[:, None] * [1.0, 0.0, 0.0], turned, -sign * 0.1, held)
    pose = Pose(
        hips=np.stack([shift, body.hips_height(STANDING_HEIGHT - 0.004) + 0 * t, 0 * t], axis=-1),
        pelvis=(0.01, 0.0, 0.0),
        trunk=(0.02, 0.0, 0.0),
        gaze=np.stack([0.04 + 0 * t, 0.15 * held], axis=-1),
        arms={
            side: {"swing": 0.03 - 0.3 * held, "elbow": 0.2 + 1.2 * held, "spread": 0.13 + 0.5 * held} for side in SIDES
        },
        hands=hands,
        feet=feet_of(feet),
    )
    return Sample(build(body, pose, fps), body.character, all_contacts(feet, fps, len(t)))


def _on_hips(body: SampleBody, places: NDArray) -> NDArray:
    """Map positions at the mannequin's waist to a body of another size."""
    hips = body.rest("hips")[1]
    grow = body.arm_scale
    return np.stack([grow * places[:, 0], hips + grow * (places[:, 1] - 0.94), grow * places[:, 2]], axis=-1)


def _on_chest(body: SampleBody, places: NDArray) -> NDArray:
    """Map positions in front of the mannequin's chest to a body with other legs, trunk and arms."""
    shoulder, grow = body.rest("left_upper_arm")[1], body.arm_scale
    return np.stack([grow * places[:, 0], shoulder + grow * (places[:, 1] - 1.42), grow * places[:, 2]], axis=-1)


def climb(*, cycles: int = 3, fps: float = 120.0, character: Character | None = None) -> Sample:
    """Generate climbing a rope hand over hand: the feet clamp it and push, then each hand in turn grips higher up.

    The rope hangs at x = 0, z = `ROPE` for the mannequin, nearer for shorter arms. A gripping palm is exactly at one
    point of it.
    """
    body = SampleBody.of(character)
    length = body.scale
    period = 1.9 * body.tempo
    # shorter arms reach less far in each cycle
    bite = min(body.arm_scale / length, 1.0)
    pull = 0.34 * bite
    t = np.arange(round((cycles * period + 0.2 * body.tempo) * fps) + 1) / fps
    phase = t / period
    rise = _steps_up(phase, 0.34, 1.0)
    height = body.rest("hips")[1] + length * (0.32 + pull * rise)
    hands, contacts = {}, {}
    for side, (start, end) in {"left": (0.42, 0.66), "right": (0.76, 1.0)}.items():
        hands[side], contacts[f"{side}_palm"] = _climbing_hand(body, side, phase, period, start, end, bite)
    feet_up = _steps_up(phase, 0.04, 0.34)
    tuck = feet_up - rise
    sole = body.rest("hips")[1] + length * (0.32 - 0.66 + pull * feet_up)
    feet = {}
    for side, sign in SIDES.items():
        ankles = np.stack([sign * 0.065 * length + 0 * t, sole, length * (bite * ROPE - 0.075) + 0 * t], axis=-1)
        foot = turn(x=(24 + 10 * tuck) * DEGREE, y=-sign * 16 * DEGREE, z=-sign * 8 * DEGREE)
        toes = rotation.multiply(foot, turn(x=-12 * DEGREE + 0 * t))
        feet[side] = (ankles, foot, toes, sign * (14 + 8 * tuck) * DEGREE)
    sway = wave(phase, [peak(1, 1.0, 0.55)])
    pose = Pose(
        hips=np.stack([0.010 * length * sway, height, length * (-0.03 - 0.05 * tuck)], axis=-1),
        pelvis=np.stack([(-4 - 12 * tuck) * DEGREE, 3 * DEGREE * sway, 3 * DEGREE * sway], axis=-1),
        trunk=np.stack([(6 + 20 * tuck) * DEGREE, 5 * DEGREE * sway, 4 * DEGREE * sway], axis=-1),
        gaze=np.stack([-20 * DEGREE + 0 * t, 0.06 * sway], axis=-1),
        arms={side: {"swing": 2.3 + 0 * t, "elbow": 0.9, "spread": 0.25} for side in SIDES},
        hands=hands,
        feet=feet,
    )
    return Sample(build(body, pose, fps), body.character, frame_intervals(contacts, fps, len(t)))


def _steps_up(phase: NDArray, start: float, end: float) -> NDArray:
    """Return a staircase that rises by one per cycle, smoothly between two phases."""
    cycle = np.floor(phase)
    return cycle + ease((phase - cycle - start) / (end - start))


def _climbing_hand(body: SampleBody, side: str, phase: NDArray, period: float, start: float, end: float, bite: float):
    """Return wrist, hand, swivel and weight of one hand, and the intervals in which it grips, seconds."""
    length, sign = body.scale, SIDES[side]
    cycle = np.floor(phase)
    u = (phase - cycle - start) / (end - start)
    # height of the pelvis when this hand grips, so that grips are always at the same height above the shoulders
    at_grip = float(_steps_up(np.array([end - 1e-9]), 0.34, 1.0)[0])
    grip = body.rest("left_upper_arm")[1] + length * (0.32 + bite * (0.46 + 0.34 * (at_grip - 1.0 + cycle + ease(u))))
    moving = np.clip(u, 0.0, 1.0)
    off = 64.0 * (moving * (1.0 - moving)) ** 3
    palm = np.stack([sign * 0.07 * off, grip, length * bite * ROPE - 0.03 * off], axis=-1)
    place, turned = hand_at(body, side, palm, fingers=(-0.2 * sign, 0.95, 0.2), facing=(-sign, 0.0, 0.0))
    count = int(np.ceil(phase[-1])) + 1
    grips = [((k - 1 + end) * period, (k + start) * period) for k in range(count)]
    return (place, turned, -sign * 0.25, 1.0), grips
