"""Heels that leave the ground earlier on stairs and slopes, where a foot that stays flat would bend its ankle too far.

On stairs the trailing heel leaves its tread while the body is still pulled up or lowered over the foot, which rolls
onto its ball (Riener, Rabuffetti & Frigo, "Stair ascent and descent at different inclinations", Gait & Posture 2002). A
level walk keeps the heel down for longer. Uphill the trailing foot pushes the body up: the heel rises as far as the leg
needs to reach the ground, so that the hips need not come down for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.contacts.detection import Contacts, Plant
from footplant.feet.steps import Step
from footplant.humanoid.limits import anatomical_turns_of
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.solve.ik.limb import limb_of
from footplant.solve.ik.limb import place as place_limb
from footplant.spline import binomial_kernel, filter_fir, smooth_above


@dataclass(frozen=True)
class HeelSettings:
    """Tuning numbers of heel release. Where a field names no experiment, none is on record."""

    dorsiflexion: float = np.radians(38.0)
    """Radians; dorsiflexion of the ankle beyond which the heel rises, or that of the level motion if larger. With 30°,
    heels rise early on ramps of 15°."""
    earliest: float = 0.25
    """Share of a heel's contact after which it is let go before its ankle is at its limit, and may push off. With 0.5,
    0.25 and 0, two walks and two runs on two characters at 10° and 15° and up stairs of 22 cm had 41, 20 and 65 breaks
    of joint limits (before feet could land on their balls)."""
    shortest: float = 0.1
    """Seconds; a heel that would be down for less stays up. 0.05 and 0.2 change nothing in two walks and a run at 15°
    and on stairs of 22 cm."""
    ramp: float = 0.08
    """Seconds over which the rise of a released heel begins, and ends before its next contact."""
    margin: float = np.radians(4.0)
    """Radians kept from the ankle's limit."""
    smoothing: float = 0.05
    """Seconds; half width of the binomial filter that smooths the heel's rise."""
    flattening: float = np.radians(2.0)
    """Radians over which a foot that lands on its ball passes from lying flat to rising on. With 0, 2° and 8°, the
    sample run jerks 1.44, 1.35 and 1.35 times as much at 15° as on the level; at 10°, as a captured one, it jerks the
    same with each."""
    rounds: int = 3
    """Times the rise is found anew: a raised heel inclines the shank less."""
    push_off: float = np.radians(35.0)
    """Radians; largest pitch of a trailing foot about its ball for its leg to reach it. With 0, 25°, 35° and 45°, three
    clips on two characters at 10° and 15° and on stairs of 22 cm have 382, 242, 242 and 242 breaks of joint limits:
    what is asked is rarely more than 25°."""
    push_smoothing: float = 0.1
    """Seconds; half width over which that pitch changes. With 0.05, the sample walk at 12° has 2.0 times the source's
    jerk, with 0.1, 0.2 and 0.3 1.23, 1.18 and 1.18 times. From 0.1 to 0.2, jerk of walks at 30 frames/s at 15° falls
    from 1.50 to 1.42 times the source's, and that of a run rises from 0.98 to 1.21."""


HEEL_SETTINGS = HeelSettings()


def push_off_rises(
    hips: NDArray, ankles: NDArray, heels: NDArray, balls: NDArray, reach: NDArray, steps: Sequence[Step], side: str,
    fps: float,
) -> tuple[NDArray, NDArray]:  # fmt: skip
    """Return how far (F,), radians, a foot pitches about its ball so that its leg reaches it, and the turns (F, 4).

    hips, ankles, heels, balls: (F, 3) metres, with the foot flat. reach: (F,) metres from hip joint to ankle. steps: of
    both feet; the foot is that of `side`. With v from ball to ankle, w from ball to hip joint and a the axis,
    |v(φ) − w| = reach is c cos φ + s sin φ = k.
    """
    settings, frames = HEEL_SETTINGS, len(hips)
    half = max(round(settings.push_smoothing * fps), 1)
    own = [step for step in steps if step.side == side]
    held = np.zeros(frames, bool)
    # after a step too, while the other foot carries the body
    late = _planted([plant for step in steps if step.side != side for plant in (*step.heels, *step.balls)], frames)
    late |= _planted([ball for step in own for ball in step.balls], frames)
    for step in own:
        for heel in step.heels[:1]:
            held[max(heel.start, 0) : _late_start(heel)] = True
    # a foot in the air may be upright, and has no axis of its own
    down = _planted([plant for step in own for plant in (*step.heels, *step.balls)], frames)
    axis = pitch_axis(heels, balls)[np.maximum.accumulate(np.where(down, np.arange(frames), 0))]
    arm, leg = ankles - balls, hips - balls
    along = (arm * axis).sum(axis=1) * (leg * axis).sum(axis=1)
    c, s = (arm * leg).sum(axis=1) - along, (rotation.cross(axis, arm) * leg).sum(axis=1)
    k = 0.5 * ((arm * arm).sum(axis=1) + (leg * leg).sum(axis=1) - reach**2) - along
    angles = np.arctan2(s, c) - np.arccos(np.clip(k / np.maximum(np.hypot(c, s), 1e-9), -1.0, 1.0))
    ahead = rotation.cross(axis, np.broadcast_to(rotation.AXES["y"], axis.shape))
    trailing = (ahead * (hips - ankles)).sum(axis=1) > 0.0
    need = np.where(late & trailing & (k > c + 1e-9) & (s > 0.0), np.clip(angles, 0.0, settings.push_off), 0.0)
    # a foot that is held flat begins to pitch as slowly as it ends: a curve that met all of the need in the next frame
    # would go on from there, at the end of a clip to 70°
    away = share_away(held, half)
    need = away * need
    if not need.any():
        return np.zeros(frames), rotation.identity(frames)
    rise = away * np.clip(smooth_above(need, held, half), 0.0, None)
    return rise, rotation.exp(rise[:, None] * axis)


def _planted(plants: Sequence[Plant], frames: int) -> NDArray:
    """Return whether any of the plants lasts (F,)."""
    planted = np.zeros(frames, bool)
    for plant in plants:
        planted[max(plant.start, 0) : plant.end] = True
    return planted


def _late_start(heel: Plant) -> int:
    """Return the frame from which on a heel may be released."""
    return heel.start + int(np.ceil(HEEL_SETTINGS.earliest * len(heel)))


def pitch_axis(heels: NDArray, balls: NDArray) -> NDArray:
    """Return unit axes (F, 3) about which a foot pitches, heel up."""
    axis = rotation.cross(np.broadcast_to(rotation.AXES["y"], heels.shape), balls - heels)
    return axis / np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), 1e-9)


def released_heels(
    motion: Motion, level: Motion, character: Character, steps: Sequence[Step], contacts: Contacts,
    rises: Mapping[str, NDArray] | None = None,
) -> tuple[Motion, list[Step], Contacts]:  # fmt: skip
    """Return the motion with heels raised where ankles bend too far, and steps and contacts that let go of them then.

    motion: on uneven ground, an initial guess; level: the same on the level, whose own dorsiflexion is allowed. A foot
    without toe joint keeps its heel down: rolling onto its ball would push its tip into the ground. rises: side →
    (F,) radians by which feet of the motion are pitched already (`push_off_rises`).
    """
    steps, plants = list(steps), list(contacts.plants)
    for side in ("left", "right"):
        if f"{side}_toes" not in character.require_roles():
            continue
        first = _excess(motion, level, character, side)
        raised = np.zeros(len(motion)) if rises is None else rises[side]
        if np.abs(first).max(initial=0.0) < 1e-3 and not raised.any():
            continue
        heel_down, ball_down = np.zeros(len(motion), bool), np.zeros(len(motion), bool)
        before, landings = 0, []
        for number, step in enumerate(steps):
            if step.side != side:
                continue
            changed = _with_heels_down(step, np.maximum(first, raised), HEEL_SETTINGS.shortest * motion.fps)
            plants = _replaced(plants, step, changed)
            steps[number] = changed
            if step.balls and changed.balls[0].start < step.balls[0].start:
                landings.append((before, changed.start, step.balls[0].start))
            before = step.end
            for mask, own in ((heel_down, changed.heels), (ball_down, changed.balls)):
                for plant in own:
                    mask[plant.start : plant.end] = True
        share = share_away(heel_down & ball_down, max(round(HEEL_SETTINGS.ramp * motion.fps), 1))
        pivots = _pivots(heel_down, ball_down)
        motion, rise = _landing_on_ball(motion, character, side, landings, share * first), first
        for _ in range(HEEL_SETTINGS.rounds):
            motion = _pitched(motion, character, side, share * rise, pivots)
            rise = _excess(motion, level, character, side)
    return motion, steps, replace(contacts, plants=tuple(plants))


def share_away(down: NDArray, ramp: int) -> NDArray:
    """Return weights (F,): 0 while a foot is down, 1 from `ramp` frames before and after that on."""
    from scipy.ndimage import distance_transform_edt

    if not down.any():
        return np.ones(len(down))
    away = np.clip(np.asarray(distance_transform_edt(~down)) / ramp, 0.0, 1.0)
    return away * away * (3.0 - 2.0 * away)


def _pivots(heel_down: NDArray, ball_down: NDArray) -> NDArray:
    """Return where along a foot (F,), from heel 0 to ball 1, it pivots: on its ball before a swing, its heel after."""
    known = heel_down | ball_down
    if not known.any():
        return np.full(len(known), 0.5)
    frames = np.arange(len(known))
    return np.interp(frames, frames[known], np.where(heel_down & ~ball_down, 0.0, 1.0)[known])


def _excess(motion: Motion, level: Motion, character: Character, side: str) -> NDArray:
    """Return by how much (F,), radians, an ankle is dorsiflexed too far, smoothed; negative: plantarflexed."""
    foot, settings = limb_of(character, f"{side}_leg").end, HEEL_SETTINGS
    bent, own = (-anatomical_turns_of(character, foot, each.rotations[:, foot])[:, 0] for each in (motion, level))
    most = max(settings.dorsiflexion, float(own.max(initial=0.0)))
    if character.limits is not None:
        most = min(most, float(-character.limits.lower[foot, 0]) - settings.margin)
    half = max(round(settings.smoothing * motion.fps), 1)
    pointed = max(-float(own.min(initial=0.0)), float(np.radians(50.0)))
    if character.limits is not None:
        pointed = max(pointed, float(character.limits.upper[foot, 0]) - settings.margin)
    excess = np.maximum(bent - most, 0.0) - np.maximum(-bent - pointed, 0.0)
    return filter_fir(excess[:, None], binomial_kernel(2 * half + 1))[:, 0]


def _pitched(motion: Motion, character: Character, side: str, angles: NDArray, pivots: NDArray) -> Motion:
    """Return the motion with a foot pitched, heel up, by angles (F,), radians, about places from heel 0 to ball 1."""
    kinematics, limb = Kinematics(motion), limb_of(character, f"{side}_leg")
    heel, ball = (kinematics.point(character.contacts[f"{side}_{part}"]) for part in ("heel", "ball"))
    turn = rotation.exp(angles[:, None] * pitch_axis(heel, ball))
    pivot = heel + pivots[:, None] * (ball - heel)
    ankles = pivot + rotation.rotate(turn, kinematics.positions[:, limb.end] - pivot)
    turned = rotation.multiply(turn, kinematics.rotations[:, limb.end])
    return place_limb(motion, limb, ankles, orientations=rotation.normalize(turned)).motion


def _landing_on_ball(
    motion: Motion, character: Character, side: str, landings: Sequence[tuple[int, int, int]], angles: NDArray
) -> Motion:
    """Return the motion with a foot that is to land on its ball coming down as it did on its heel.

    landings: of each such step, the first frame of the swing, that of the landing, and that in which the foot lay on
    heel and ball. angles: (F,) radians by which it is pitched about its ball, heel up, afterwards. The ball goes as
    high over the ground as the heel went, and the toes, which were up, come down at least until the foot lies: a ball
    that is planted when the heel would have been, and came down later, was pulled down by centimetres, with the hips.
    """
    if not landings:
        return motion
    kinematics, limb, frames = Kinematics(motion), limb_of(character, f"{side}_leg"), np.arange(len(motion))
    heel, ball = (kinematics.point(character.contacts[f"{side}_{part}"]) for part in ("heel", "ball"))
    line = ball - heel
    slopes = np.arctan2(line[:, 1], np.linalg.norm(line[:, ::2], axis=1))
    toes_up, share = np.zeros(len(motion)), np.zeros(len(motion))
    for swing, landing, flat in landings:
        over = np.maximum(slopes[: flat + 1] - slopes[min(flat, len(motion) - 1)], 0.0)
        up = swing + np.flatnonzero(over[swing:landing] <= 0.0)
        begin = min(int(up[-1]) if len(up) else swing, landing - 1)
        ease = np.interp(frames, [begin, landing, flat + 1], [0.0, 1.0, 0.0])
        rows = slice(max(begin, 0), flat)
        # a foot that is hardly pitched when it lands lies down by itself: a run of 30 frames/s down stairs would
        # accelerate its knee 1.5 instead of 1.0 times as much as on the level
        pitched = float(np.clip(angles[landing] / max(over[landing], 1e-9), 0.0, 1.0))
        share[rows] = pitched * (ease * ease * (3.0 - 2.0 * ease))[rows]
        toes_up[rows] = np.where(frames[rows] < landing, share[rows], pitched) * over[rows]
    axis, over = pitch_axis(heel, ball), toes_up - angles
    down = rotation.exp(toes_up[:, None] * axis)
    ball = heel + rotation.rotate(down, line)
    turn = rotation.exp((share * 0.5 * (over + np.hypot(over, HEEL_SETTINGS.flattening)))[:, None] * axis)
    ankles = ball + rotation.rotate(turn, kinematics.positions[:, limb.end] - (heel + line))
    turned = rotation.multiply(turn, kinematics.rotations[:, limb.end])
    return place_limb(motion, limb, ankles, orientations=rotation.normalize(turned)).motion


def _with_heels_down(step: Step, excess: NDArray, least: float) -> Step:
    """Return a step whose heel is down for the longest time in which its ankle is not bent too far, or not at all.

    excess: (F,) radians. least: frames for which a heel is down, or not at all. A foot whose heel comes down later
    lands on its ball: so do climbers of stairs (Riener et al. 2002) and people who run up a steep slope.
    """
    if not step.heels or not step.balls:
        return step
    heels, balls = [], step.balls
    for heel in step.heels:
        # a heel that has just come down stays there up to the limit itself
        most = np.where(np.arange(heel.start, heel.end) < _late_start(heel), HEEL_SETTINGS.margin, np.radians(0.5))
        free = np.concatenate([[False], excess[heel.start : heel.end] <= most, [False]])
        edges = np.flatnonzero(np.diff(free.astype(np.int8)))
        runs = heel.start + edges.reshape(-1, 2)
        start, end = max(runs.tolist(), key=lambda run: run[1] - run[0], default=(heel.start, heel.start))
        if end - start == len(heel) or end >= step.balls[-1].end:
            heels.append(heel)
            continue
        if stays := end - start >= least and end > step.balls[0].start:
            heels.append(replace(heel, start=start, end=end))
        if start > heel.start or not stays:
            balls = (replace(balls[0], start=min(step.start, balls[0].start)), *balls[1:])
    return replace(step, heels=tuple(heels), balls=balls)


def _replaced(plants: Sequence[Plant], old: Step, new: Step) -> list[Plant]:
    """Return contacts with those of a step replaced by those of a changed one."""
    gone = {(plant.point, plant.end) for plant in (*old.heels, *old.balls)}
    return [*(plant for plant in plants if (plant.point, plant.end) not in gone), *new.heels, *new.balls]
