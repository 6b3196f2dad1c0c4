"""Actions on the spot: standing at ease, jumping, kicking, punching."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.samples.body import SIDES, STANDING_HEIGHT, Pose, SampleBody, build, hand_at, turn
from footplant.samples.curves import ease, keyed, through, wave
from footplant.samples.footsteps import Footstep, FootTrack, Sample, Swing, all_contacts, planted, track
from footplant.samples.shapes import DEGREE, GRAVITY, peak
from footplant.samples.start_stop import STANCE_HEEL, STANCE_TOE_OUT, STANCE_WIDTH
from footplant.skeleton import Character

GUARD = {"swing": 34 * DEGREE, "spread": 12 * DEGREE, "twist": 12 * DEGREE, "elbow": 124 * DEGREE, "wrist": 0.0}
"""Angles of an arm held up in front of the body."""


def feet_of(tracks: dict[str, FootTrack], knees: dict[str, float] | None = None) -> dict:
    """Return foot tracks as `Pose.feet`; knees point between straight ahead and the foot's heading."""
    return {
        side: (foot.ankles, foot.feet, foot.toes, 0.7 * foot.headings + (knees or {}).get(side, 0.0))
        for side, foot in tracks.items()
    }


def standing_feet(body: SampleBody, seconds: NDArray, pitch: NDArray | None = None) -> dict[str, FootTrack]:
    """Return tracks of both feet side by side under a pelvis at the origin."""
    level = np.zeros(len(seconds)) if pitch is None else pitch
    place = (0.5 * STANCE_WIDTH * body.scale, STANCE_HEEL * body.scale)
    return {
        side: planted(body, side, (sign * place[0], place[1]), sign * STANCE_TOE_OUT, level, seconds)
        for side, sign in SIDES.items()
    }


def stand(*, seconds: float = 6.0, fps: float = 120.0, character: Character | None = None) -> Sample:
    """Generate standing at ease: breathing, swaying, looking about a little. Loops after `seconds`."""
    body = SampleBody.of(character)
    t = np.arange(round(seconds * fps) + 1) / fps
    phase = t / seconds
    feet = standing_feet(body, t)
    length = body.scale
    sway = length * wave(phase, [peak(1, 0.013, 0.3), peak(2, 0.004, 0.1)])
    lean = length * wave(phase, [peak(1, 0.005, 0.6), peak(3, 0.002, 0.2)])
    breath = wave(phase, [peak(2, 1.0, 0.15)])
    pose = Pose(
        hips=np.stack([sway, body.hips_height(STANDING_HEIGHT - 0.002 + 0.0 * t), lean], axis=-1),
        pelvis=np.stack([0.01 + 0.0 * t, 0.02 * np.sin(2 * np.pi * phase), -0.8 * sway / length], axis=-1),
        trunk=np.stack([-0.006 * breath, -0.01 * np.sin(2 * np.pi * phase), -1.2 * sway / length], axis=-1),
        gaze=np.stack([0.05 + 0.02 * breath, wave(phase, [peak(1, 0.14, 0.35), peak(2, 0.05, 0.8)])], axis=-1),
        arms={
            side: {
                "swing": 0.03 + wave(phase, [peak(1, 0.015, 0.4)]),
                "spread": 0.13 + 0.008 * breath,
                "shrug": -0.04 + 0.012 * breath,
            }
            for side in SIDES
        },
        feet=feet_of(feet),
    )
    return Sample(build(body, pose, fps), body.character, all_contacts(feet, fps, len(t)))


def jump(
    distance: float = 0.6, rise: float = 0.24, *, fps: float = 120.0, character: Character | None = None
) -> Sample:
    """Generate a standing jump forward with both feet: crouch, arm swing, ballistic flight, landing on the balls.

    distance: metres from take-off to landing; rise: metres that the pelvis rises in flight. Both are for the mannequin
    and scale with leg length.
    """
    body = SampleBody.of(character)
    length, tempo = body.scale, body.tempo
    flight = 2 * np.sqrt(2 * rise / GRAVITY)
    crouch, off = 0.85, 1.16
    land = off + flight
    t = np.arange(round((land + 1.7) * tempo * fps) + 1) / fps / tempo
    feet = {side: track(body, side, _jump_steps(body, side, distance, off, land), t * tempo) for side in SIDES}
    takeoff, touch = 1.02, 0.90
    up = (touch - takeoff) / flight + 0.5 * GRAVITY * flight
    height = through(t, [
        (0.35, (STANDING_HEIGHT, 0, 0)), (crouch, (0.67, 0, 7.0)), (off, (takeoff, up, -GRAVITY)),
        (land, (touch, up - GRAVITY * flight, -GRAVITY)), (land + 0.30, (0.70, 0, 7.0)),
        (land + 1.15, (STANDING_HEIGHT, 0, 0)),
    ])  # fmt: skip
    ahead = (distance - 0.30) / flight
    forward = through(t, [
        (0.35, (0, 0, 0)), (crouch, (-0.07, 0, 1.5)), (off, (0.17, ahead, 0)),
        (land, (0.17 + ahead * flight, ahead, 0)), (land + 0.34, (distance - 0.05, 0, -0.5)),
        (land + 1.15, (distance, 0, 0)),
    ])  # fmt: skip
    bend = keyed(t, [
        (0.3, 0), (crouch - 0.03, 42), (off, 2), (land - 0.05, 16), (land + 0.28, 38), (land + 1.1, 0)
    ]) * DEGREE  # fmt: skip
    tilt = keyed(t, [(0.3, 0), (crouch, 30), (off, 0), (land - 0.03, 14), (land + 0.28, 30), (land + 1.1, 0)]) * DEGREE
    swing = keyed(t, [
        (0.2, 2), (crouch - 0.12, -30), (off + 0.03, 128), (land, 74), (land + 0.42, 8), (land + 0.9, -6),
        (land + 1.3, 2),
    ]) * DEGREE  # fmt: skip
    elbow = keyed(t, [(0.2, 14), (crouch, 22), (off - 0.08, 48), (off + 0.1, 24), (land + 0.25, 40), (land + 1.2, 14)])
    gaze = keyed(t, [(0.3, 3), (crouch, 14), (off, 2), (land - 0.1, 26), (land + 0.3, 20), (land + 1.1, 3)]) * DEGREE
    pose = Pose(
        hips=np.stack([np.zeros(len(t)), body.hips_height(height), length * forward], axis=-1),
        pelvis=np.stack([tilt, 0 * t, 0 * t], axis=-1),
        trunk=np.stack([bend, 0 * t, 0 * t], axis=-1),
        gaze=np.stack([gaze, 0 * t], axis=-1),
        arms={side: {"swing": swing, "elbow": elbow * DEGREE, "spread": 0.16 + 0.1 * ease(swing)} for side in SIDES},
        feet=feet_of(feet, {"left": 0.08, "right": -0.08}),
    )
    return Sample(build(body, pose, fps), body.character, all_contacts(feet, fps, len(t)))


def _jump_steps(body: SampleBody, side: str, distance: float, off: float, land: float) -> list[Footstep]:
    length, tempo, sign = body.scale, body.tempo, SIDES[side]

    def state(value: float, rate: float) -> tuple[float, float, float]:
        return value * DEGREE, rate * DEGREE / tempo, 0.0

    x, z, heading = sign * 0.5 * STANCE_WIDTH * length, STANCE_HEEL * length, sign * STANCE_TOE_OUT
    swing = Swing(
        forward=(-0.16 * length, -0.05 * length), lift=(0.17 * length, 0.07 * length),
        pitch=(10 * DEGREE, -20 * DEGREE), push=(0.0, 60.0), brake=(0.0, 70.0),
    )  # fmt: skip
    return [
        Footstep(
            (x, z), heading, heel_off=(off - 0.24) * tempo, ball_off=(off - 0.07) * tempo, toe_off=off * tempo,
            leaving=state(-64, -260), leaving_toe=state(-20, -420),
        ),
        Footstep(
            (x, z + distance * length), heading, strike=land * tempo, flat=(land + 0.11) * tempo,
            landing=state(-16, 60), swing=swing,
        ),
    ]  # fmt: skip


def _fighting_feet(body: SampleBody, t: NDArray, heel: NDArray) -> dict[str, FootTrack]:
    """Return the left foot in front, the right one behind and turned out; `heel` is the pitch of the right foot."""
    length = body.scale
    left = planted(body, "left", (0.11 * length, 0.10 * length), -8 * DEGREE, np.zeros(len(t)), t)
    right = planted(body, "right", (-0.13 * length, -0.34 * length), -34 * DEGREE, heel, t)
    return {"left": left, "right": right}


def punch(*, fps: float = 120.0, character: Character | None = None) -> Sample:
    """Generate, from a guard, a jab with the left hand, a straight with the right that turns the hips, and recovery."""
    body = SampleBody.of(character)
    length, tempo = body.scale, body.tempo
    t = np.arange(round(2.6 * tempo * fps) + 1) / fps / tempo
    jab, cross, end = 0.62, 1.32, 1.85
    strike = keyed(t, [(0.42, 0.0), (jab, 1.0), (jab + 0.04, 1.0), (jab + 0.32, 0.0)])
    drive = keyed(t, [(cross - 0.26, 0.0), (cross, 1.0), (cross + 0.05, 1.0), (end, 0.0)])
    load = keyed(t, [(0.2, 0.0), (0.42, 1.0), (jab, 0.0), (cross - 0.2, 0.4), (cross, 0.0)])
    bob = wave(t / 0.65, [peak(1, 0.006, 0.2)]) * (1 - drive)
    feet = _fighting_feet(body, t * tempo, -34 * DEGREE * drive)
    height = 0.868 - 0.012 * strike - 0.022 * drive + bob
    forward = -0.045 + 0.035 * strike + 0.075 * drive - 0.02 * load
    fists = {"left": ((0.0, 1.36, 0.85), strike), "right": ((-0.02, 1.37, 0.885), drive)}
    pose = Pose(
        hips=np.stack([length * (-0.015 + 0.03 * drive), body.hips_height(height), length * forward], axis=-1),
        pelvis=np.stack([0.07 + 0.05 * drive, -0.42 - 0.10 * strike + 0.62 * drive - 0.06 * load, 0 * t], axis=-1),
        trunk=np.stack([0.16 + 0.05 * drive, -0.12 - 0.22 * strike + 0.40 * drive, 0.04 * drive], axis=-1),
        gaze=(0.05, 0.0),
        arms={
            side: GUARD | {"protract": 0.06 + 0.3 * reach, "shrug": 0.1 * reach} for side, (_, reach) in fists.items()
        },
        hands={side: (*_fist(body, side, place), 0.0, reach) for side, (place, reach) in fists.items()},
        feet=feet_of(feet, {"left": 0.05, "right": 0.12}),
    )
    return Sample(build(body, pose, fps), body.character, all_contacts(feet, fps, len(t)))


def _fist(body: SampleBody, side: str, place: tuple[float, float, float]) -> tuple[NDArray, NDArray]:
    """Return wrist position and hand rotation of a punch at a mannequin position, the back of the hand up."""
    palm = np.array([place]) * body.scale
    return hand_at(body, side, palm, fingers=(0.0, 0.0, 1.0), facing=(0.0, -1.0, 0.0))


def kick(height: float = 0.95, *, fps: float = 120.0, character: Character | None = None) -> Sample:
    """Generate, from a guard, a front kick of the right leg to `height` metres (mannequin) and back into the guard."""
    body = SampleBody.of(character)
    length, tempo = body.scale, body.tempo
    t = np.arange(round(2.7 * tempo * fps) + 1) / fps / tempo
    off, hit, down = 0.62, 1.05, 1.72
    steps = _kick_steps(body, off * tempo, down * tempo)
    feet = {"left": _fighting_feet(body, t * tempo, 0 * t)["left"], "right": track(body, "right", steps, t * tempo)}
    over = keyed(t, [(0.1, 0.0), (off + 0.1, 1.0), (down - 0.25, 1.0), (down + 0.35, 0.0)])
    # the supporting leg straightens only when the other is off the floor
    tall = keyed(t, [(off - 0.22, 0.0), (off + 0.2, 1.0), (down - 0.3, 1.0), (down + 0.3, 0.0)])
    snap = keyed(t, [(0.80, 0.0), (hit, 1.0), (hit + 0.05, 1.0), (1.34, 0.0)])
    knee = keyed(t, [(off - 0.1, 0.0), (0.82, 1.0), (1.30, 1.0), (down - 0.05, 0.0)])
    hips = np.stack(
        [length * (-0.02 + 0.10 * over), body.hips_height(0.872 + 0.035 * tall + 0.012 * snap),
         length * (-0.06 + 0.15 * over + 0.03 * snap)], axis=-1,
    )  # fmt: skip
    pelvis = np.stack([0.06 - 0.20 * knee - 0.12 * snap, -0.35 + 0.42 * over + 0.12 * snap, 0.06 * knee], axis=-1)
    pose = Pose(
        hips=hips,
        pelvis=pelvis,
        trunk=np.stack([0.14 + 0.02 * knee - 0.06 * snap, -0.10 - 0.10 * over - 0.08 * snap, 0.05 * over], axis=-1),
        gaze=(0.05, 0.0),
        arms={
            "left": GUARD | {"swing": GUARD["swing"] + 0.15 * snap, "spread": GUARD["spread"] + 0.10 * knee},
            "right": GUARD | {"swing": GUARD["swing"] - 0.75 * snap, "elbow": GUARD["elbow"] - 0.6 * snap},
        },
        feet=feet_of(feet, {"left": 0.05, "right": 0.0}),
    )
    ankles, turns, toes, knees = pose.feet["right"]
    away = ease((t - off) / 0.17) * ease((down - t) / 0.34)
    socket = hips + rotation.rotate(turn(*pelvis.T), body.skeleton.offsets[body.joint("right_upper_leg")])
    lift = np.arcsin(np.clip((height - 0.90) / 0.80, -0.9, 0.9)) + np.pi / 2
    angle = keyed(t, [(off, -0.15), (0.84, 0.50), (hit, lift), (hit + 0.05, lift), (1.32, 0.62), (down - 0.1, -0.1)])
    reach = body.leg_length * keyed(t, [(off, 0.86), (0.82, 0.60), (hit, 0.975), (hit + 0.05, 0.975), (1.30, 0.62),
                                          (down - 0.08, 0.86)])  # fmt: skip
    kicked = socket + np.stack([0.02 * length + 0 * t, -reach * np.cos(angle), reach * np.sin(angle)], axis=-1)
    pitch = keyed(t, [(off, -0.9), (0.82, -0.45), (hit, 1.25), (hit + 0.05, 1.25), (1.32, -0.3), (down - 0.05, -0.4)])
    pointed = turn(x=-pitch, y=0 * t)
    feet_pose = (
        ankles + away[:, None] * (kicked - ankles),
        rotation.slerp(turns, pointed, away),
        rotation.slerp(toes, rotation.multiply(pointed, turn(x=-0.35 + 0 * t)), away),
        (1 - 0.8 * away) * knees,
    )
    pose = replace(pose, feet={"left": pose.feet["left"], "right": feet_pose})
    return Sample(build(body, pose, fps), body.character, all_contacts(feet, fps, len(t)))


def _kick_steps(body: SampleBody, off: float, down: float) -> list[Footstep]:
    length, tempo = body.scale, body.tempo
    place, heading = (-0.13 * length, -0.34 * length), -34 * DEGREE
    leaving = (-52 * DEGREE, -240 * DEGREE / tempo, 0.0)
    return [
        Footstep(
            place, heading, heel_off=off - 0.34 * tempo, ball_off=off - 0.08 * tempo, toe_off=off, leaving=leaving,
            leaving_toe=(-15 * DEGREE, -330 * DEGREE / tempo, 0.0),
        ),
        Footstep(
            place, heading, strike=down, flat=down + 0.16 * tempo, landing=(-26 * DEGREE, 80 * DEGREE / tempo, 0.0),
            swing=Swing(lift=(0.10 * length,), push=(0.0, 25.0)),
        ),
    ]  # fmt: skip
