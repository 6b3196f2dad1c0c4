"""Soles between footplants: toes flat while the ball is planted, and no penetration of the ground."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import humanoid, rotation
from footplant.constraints import Above, Footplant
from footplant.contacts.ground import Ground, normal_of
from footplant.contacts.settings import SUPPORT
from footplant.errors import MotionError, SkeletonError
from footplant.feet.posed import Posed
from footplant.feet.standing import FootSupport, foot_support_of
from footplant.feet.steps import STEP_SETTINGS
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character, Point
from footplant.solve.ik.limb import Limb, Reach, limb_of
from footplant.spline import smooth_above, smooth_envelope

SOLE = ("heel", "ball", "toe")
SHALLOW = 0.005
"""Metres; penetration that is not visible."""
LEFT_ALONE = 0.002
"""Metres of penetration allowed between footplants: lifting a foot bends the knee."""
MOST_BEND = 1.2
"""Radians; largest upward bend of toes that keeps them above the ground."""
LEVELLED = (math.radians(100.0), math.radians(140.0))
"""Radians between a toe's sole and the ground up to which, and from which no longer, toes are laid flat: a foot on its
side or on its instep stands on its toes as they are."""
EDGE = 0.04
"""Metres; ground that is farther from its slope at the ball under the tip of the toes has an edge between them."""
EASE_UP = 0.1
"""Seconds over which a foot is lifted before, and set down after, frames in which it would penetrate the ground."""


def flatten_toes(
    motion: Motion, character: Character, plants: Sequence[Footplant], ground: Ground, before: Motion | None = None
) -> Motion:
    """Return the motion with toes flat on the ground while the ball of their foot is planted.

    The toes get the smallest rotation that makes their sole parallel to the ground, weighted by the activation of the
    footplant. A ball planted above the ground (on a rope, on a rung) leaves its toes unchanged. Where the heel is
    planted too, and no higher, foot and toes are one rigid piece: otherwise a foot that rolls sideways would twist away
    from its toes. From there a heel that rises leaves the toes as they lie: the foot pitches about the toe joint, which
    stays where it is. before: the motion before any levelling, if this one was levelled already; levelling twice by
    half is more than half, and would make the ramp of a footplant jerk.
    """
    posed = Posed(motion)
    _level_toes(posed, character, _stands(motion, character, plants), ground, before)
    return posed.finish()


def correct_soles(
    motion: Motion,
    character: Character,
    plants: Sequence[Footplant],
    ground: Ground,
    clearances: Mapping[str, NDArray] | None = None,
    before: Motion | None = None,
) -> Motion:
    """Return the motion after `flatten_toes`, `lift_toe_tips` and `lift_feet`."""
    posed, stands = Posed(motion), _stands(motion, character, plants)
    _level_toes(posed, character, stands, ground, before)
    _lift_toes(posed, character, stands, ground, clearances)
    return _clear_ground(posed, character, stands, ground, clearances)


def _stands(motion: Motion, character: Character, plants: Sequence[Footplant]) -> FootSupport:
    character.require_fit(motion.skeleton)
    return foot_support_of(tuple(plants), character, len(motion), motion.fps)


def _level_toes(posed: Posed, character: Character, stands: FootSupport, ground: Ground, before: Motion | None) -> None:
    from footplant.feet import _soles as kernel

    roles, skeleton, frames = character.require_roles(), character.skeleton, len(posed.local)
    pose = humanoid.reference_pose(skeleton, roles)
    places, reference = humanoid.reference_world(skeleton, roles)
    sides = {side: toes for side in ("left", "right") if (toes := roles.get(f"{side}_toes"))}
    if before is not None:
        if before.rotations.shape != posed.local.shape:
            raise MotionError(f"expected motions of shape {posed.local.shape[:2]}, got {before.rotations.shape[:2]}")
        for toes in sides.values():
            posed.local[:, toes] = before.rotations[:, toes]
            posed.turned(toes)
    for side, toes in sides.items():
        point, above = character.contacts.get(f"{side}_ball"), int(skeleton.parents[toes])
        if point is None:
            continue
        share, flat = stands.share_on(side, ground, SUPPORT.near_ground * character.height), np.zeros(frames)
        heel, ball = posed.tracks(character.contacts.get(f"{side}_heel", point), point)
        # while both are planted, use the heights of the footplants: the present pose may be what must be corrected
        bend, bend_range = STEP_SETTINGS.toe_bend, STEP_SETTINGS.toe_bend_range
        kernel.straight_share(*stands.together(side), heel, ball, bend, bend_range, flat)
        straight = flat.any()
        if not straight and not share.any():
            continue
        if straight and f"{side}_toe" in character.contacts:
            # but not where straight toes would penetrate the ground: there they bend
            tip, offset = np.empty((frames, 3)), np.array(character.contacts[f"{side}_toe"].offset)
            kernel.straight_tip(toes, above, pose[toes], offset, posed.positions, posed.rotations, tip)
            longer = _toe_share(character, side, places, reference)
            high = _tip_heights(stands.together(side), ball, tip, longer, ground)
            flat *= np.clip(1.0 + high / SHALLOW, 0.0, 1.0)
        normals = np.array(_under_toes(ball, posed.tracks(character.contacts.get(f"{side}_toe", point))[0], ground))
        soles = rotation.rotate(rotation.inverse(reference[toes]), rotation.AXES["y"])
        upright = (rotation.rotate(posed.rotations[:, toes], soles) * normals).sum(axis=1)
        full, none = LEVELLED
        share = share * np.clip((none - np.arccos(np.clip(upright, -1.0, 1.0))) / (none - full), 0.0, 1.0)
        rest, both = (reference[toes], pose[toes]), stands.both(side)
        kernel.level(toes, above, np.minimum(share, both), flat, rest, normals, posed.rotations, posed.local)
        posed.turned(toes)
        # a foot that rises from both, or lands on its ball first, pitches about its toe joint and not about its ball
        own = np.maximum(share - both, 0.0) / np.maximum(1.0 - both, 1e-9)
        if own.any():
            normals = _as_it_lies(normals, rotation.rotate(posed.rotations[:, toes], soles), both)
            kernel.level(toes, above, own, np.zeros(frames), rest, normals, posed.rotations, posed.local)
            posed.turned(toes)


def _as_it_lies(normals: NDArray, ups: NDArray, both: NDArray) -> NDArray:
    """Return normals (F, 3) along which toes lie while the ball is planted: beside a lying foot, as they lie there.

    normals: of the ground; ups: (F, 3) of toes as they are. both: (F,) share of heel and ball. Toes that were one piece
    with a foot until its heel had risen by a tenth of the foot's length rolled over the ball with it, by 3° in walks
    down stairs: their joint moved by 2 mm.
    """
    lies, frames = np.flatnonzero(both >= 1.0), np.arange(len(both))
    if not len(lies):
        return normals
    after = lies[np.minimum(np.searchsorted(lies, frames), len(lies) - 1)]
    before = lies[np.maximum(np.searchsorted(lies, frames) - 1, 0)]
    nearest = np.where(np.abs(frames - before) <= np.abs(after - frames), before, after)
    mixed = normals + both[:, None] * (ups[nearest] - normals)
    return mixed / np.maximum(np.linalg.norm(mixed, axis=1, keepdims=True), 1e-9)


def _under_toes(ball: NDArray, tip: NDArray, ground: Ground) -> NDArray:
    """Return normals (F, 3) of the ground under toes: halfway from ball to tip, places (F, 3), metres.

    There curved ground is as steep as the line that toes lie on. Along the slope at the ball, toe tips of eight walks
    and runs on two characters with long toes, over rough ground, are more than 2 mm in it in 10 of 16; so, in 2. Toes
    over an edge keep to the slope at the ball.
    """
    at, middle = normal_of(ground, ball[:, ::2]), 0.5 * (ball + tip)
    flat = ground.height(ball[:, ::2]) - ((tip - ball) * at)[:, ::2].sum(axis=1) / np.maximum(at[:, 1], 1e-3)
    smooth = np.abs(ground.height(tip[:, ::2]) - flat) < EDGE
    return np.where(smooth[:, None], normal_of(ground, middle[:, ::2]), at)


def _tip_heights(
    together: tuple[NDArray, NDArray, NDArray], ball: NDArray, tip: NDArray, longer: float, ground: Ground
) -> NDArray:
    """Return how high (F,) the tips of straight toes are above the ground, metres, where the foot lies on footplants.

    together: as `FootSupport.together` returns it. ball, tip: (F, 3) present positions, the tip's for straight toes.
    longer: `_toe_share`. As a foot lies on its footplants, not as it is: the present pose may be what must be
    corrected. By that of CMU 86_01, whose right toes are bent by 40° where the foot lies, straight toes are in the
    ground; bent ones, which turn with the foot, leave heel and ball at distances that differ by 6 mm over a stance.
    As it comes to lie or rises, the lower of both counts: else toe tips of CMU 55_02 and of a zombie's walk on Sally
    are 0.9 and 0.4 mm deeper in the ground.
    """
    high = tip[:, 1] - ground.height(tip[:, ::2])
    rows, both, rise = together
    known = np.flatnonzero(~np.isnan(rise))
    known = known[np.argsort(both[known], kind="stable")]
    rows, both, rise = rows[known], both[known], rise[known]
    lies = ground.height(ball[rows][:, ::2]) - longer * rise - ground.height(tip[rows][:, ::2])
    high[rows] = np.where(both < 1.0, np.minimum(high[rows], lies), lies)
    return high


def _toe_share(character: Character, side: str, places: NDArray, rotations: NDArray) -> float:
    """Return how long the toes are over the rest of the sole; places (J, 3), rotations (J, 4): the reference pose's."""
    heel, ball, tip = (
        places[point.joint] + rotation.rotate(rotations[point.joint], np.array(point.offset))
        for point in (character.contacts.get(f"{side}_{part}", character.contacts[f"{side}_ball"]) for part in SOLE)
    )
    return float(np.linalg.norm(tip - ball) / max(np.linalg.norm(ball - heel), 1e-3))


def lift_toe_tips(
    motion: Motion,
    character: Character,
    plants: Sequence[Footplant],
    ground: Ground,
    clearances: Mapping[str, NDArray] | None = None,
) -> Motion:
    """Return the motion with toes bent up, smoothly, where their tips would penetrate the ground.

    While the ball is planted, invisible penetration is left.
    clearances: as for `lift_feet`.
    """
    posed = Posed(motion)
    _lift_toes(posed, character, _stands(motion, character, plants), ground, clearances)
    return posed.finish()


def _lift_toes(
    posed: Posed, character: Character, stands: FootSupport, ground: Ground, clearances: Mapping[str, NDArray] | None
) -> None:
    from footplant.feet import _soles as kernel

    roles, skeleton, frames = character.require_roles(), character.skeleton, len(posed.local)
    half = round(EASE_UP * posed.start.fps)
    for side in ("left", "right"):
        toes, point = roles.get(f"{side}_toes"), character.contacts.get(f"{side}_toe")
        if toes is None or point is None or point.joint not in skeleton.descendants(toes):
            continue
        ball_point = character.contacts.get(f"{side}_ball")
        both = tip, ball = posed.tracks(point, ball_point or point)
        least, floor = np.array(ground.height(both[..., ::2]), float)
        least += _allowed(clearances, f"{side}_toe")
        up, still = np.empty(frames), np.empty(frames)
        held = stands.share(ball_point)
        if not kernel.bend_needed(toes, (tip, least), (ball, floor), held, SHALLOW, posed.positions, up, still):
            continue
        angles, above = _beside(up, still, half), int(skeleton.parents[toes])
        kernel.bend_up(toes, above, angles, MOST_BEND, tip, posed.positions, posed.rotations, posed.local)
        posed.turned(toes)


def _allowed(clearances: Mapping[str, NDArray] | None, name: str) -> ArrayLike:
    """Return the allowed penetration of a contact point as a clearance, metres, 0 or below."""
    return np.minimum(0.0 if clearances is None else clearances.get(name, 0.0), -LEFT_ALONE)


def lift_feet(
    motion: Motion,
    character: Character,
    plants: Sequence[Footplant],
    ground: Ground,
    clearances: Mapping[str, NDArray] | None = None,
) -> Motion:
    """Return the motion with swinging feet lifted out of the ground, smoothly and by at least what is needed.

    A foot planted on its heel or its ball alone is pitched about that point where its other end penetrates the ground;
    so is a foot without toe joint that rolls over its ball, for its tip.
    clearances: contact point → (F,) metres, 0 or below: allowed penetration (see `clearances_of`).
    """
    return _clear_ground(Posed(motion), character, _stands(motion, character, plants), ground, clearances)


def _clear_ground(
    posed: Posed, character: Character, stands: FootSupport, ground: Ground, clearances: Mapping[str, NDArray] | None
) -> Motion:
    half = round(EASE_UP * posed.start.fps)
    rise = np.zeros(len(posed.local))
    for side in ("left", "right"):
        names = [f"{side}_{part}" for part in SOLE]
        if not all(name in character.contacts for name in names):
            continue
        try:
            limb = limb_of(character, f"{side}_leg")
        except SkeletonError:
            continue
        _clear_foot(posed, character, limb, names, stands, ground, clearances, rise)
    motion = posed.finish()
    if (rise > 1e-6).any():
        # legs folded as far as they go: raise the hips
        motion = replace(motion, root=motion.root + smooth_envelope(rise, half)[:, None] * rotation.AXES["y"])
    return motion


def _clear_foot(
    posed: Posed, character: Character, limb: Limb, names: list[str], stands: FootSupport, ground: Ground,
    clearances: Mapping[str, NDArray] | None, rise: NDArray,
) -> None:  # fmt: skip
    """Lift one foot out of the ground; raise `rise` (F,), metres, to what the hips must rise for it."""
    from footplant.feet import _soles as kernel

    frames, half = len(rise), round(EASE_UP * posed.start.fps)
    points = [character.contacts[name] for name in names]
    held, on_heel, on_ball = stands.share(*points), stands.share(points[0]), stands.share(points[1])
    allowed = [_allowed(clearances, name) for name in names]
    # heel, ball and toe, and the ankle last
    places = posed.tracks(*points, Point(limb.end))
    floor = ground.height(places[:3, :, ::2])
    turn = np.array(posed.rotations[:, limb.end])
    pitched = np.zeros(frames, bool)
    toes = character.require_roles().get(f"{names[0].partition('_')[0]}_toes")
    toes = toes if toes is not None and character.skeleton.parents[toes] == limb.end else None
    toe_turn = turn if toes is None else np.array(posed.rotations[:, toes])
    pivots = [(0, 1, on_heel, on_ball), (1, 0, on_ball, on_heel)]
    stiff = points[2].joint == limb.end and points[2] != points[1]
    if stiff:
        pivots.append((1, 2, on_ball, np.zeros(frames)))

    def pitch_of(pivot: int, end: int) -> NDArray:
        """Return radians (F,) by which the line from a pivot to an end must pitch up to clear the ground."""
        wanted = np.empty(frames)
        kernel.pitch_needed(places[pivot], places[end], floor[end] + allowed[end], wanted)
        return wanted

    for pivot, end, standing, also in pivots:
        wanted = standing * pitch_of(pivot, end)
        pitch = _beside(wanted, also, half)
        if stiff and pivot == 1:
            # a foot without toe joint is a lever on its ball: one end rises only as far as the other may sink
            pitch = np.minimum(pitch, np.maximum(np.maximum(wanted, -pitch_of(1, 2 - end)), 0.0))
        if pitch.any():
            # a foot that pitches about its ball leaves its toes in place
            toes_too = toes is not None and pivot != 1
            kernel.pitch_up(pitch, pivot, end, places, turn, toe_turn, toes_too, pitched)
            floor = ground.height(places[:3, :, ::2])
    deep = floor - places[:3, :, 1]
    need = np.maximum(np.maximum(deep[0] + allowed[0], deep[1] + allowed[1]), deep[2] + allowed[2])
    lift = _beside(need, held, half)
    rows = np.flatnonzero(pitched | (lift != 0.0))
    if not len(rows):
        return
    # other frames stay bit-equal: a knee that the source bends backwards is not corrected here
    goals = np.array(places[3])
    goals[:, 1] += lift
    away = posed.positions[rows, limb.upper] - goals[rows]
    residual, status = posed.placed(limb, rows, goals, turn)
    if toes is not None:
        kernel.relate(rows, toes, turn, toe_turn, posed.local)
        posed.turned(toes)
    folded = (status == Reach.TOO_NEAR) & (away[:, 1] > 0.0)
    if folded.any():
        nearest = np.linalg.norm(away, axis=1) + residual
        above = np.sqrt(np.maximum(nearest**2 - away[:, 0] ** 2 - away[:, 2] ** 2, 0.0)) - away[:, 1]
        rise[rows] = np.maximum(rise[rows], np.where(folded, above - LEFT_ALONE, 0.0))


def _beside(need: NDArray, held: NDArray, half: int) -> NDArray:
    """Return the correction (F,) for a need (F,): smooth over ±half frames, and 0 while a footplant is active.

    held: (F,) activation of the footplant, 0 to 1. Penetration at a footplant is allowed next to it as well: otherwise
    the foot would be lifted until the footplant starts, and dropped there.
    """
    from footplant.feet import _soles as kernel

    if not need.max(initial=0.0) > 0.0:
        return np.zeros(len(need))
    wanted = np.empty(len(need))
    kernel.beside(need, held, wanted)
    return smooth_above(wanted, held >= 1.0, half)


def standing_places(plants: Sequence[Footplant], motion: Motion, character: Character) -> NDArray:
    """Return places (N, 3), metres, that support a foot: each footplant implies level ground under its whole foot."""
    character.require_fit(motion.skeleton)
    kinematics, found = Kinematics(motion), [np.zeros((0, 3))]
    for side in ("left", "right"):
        own = {name: point for name, point in character.contacts.items() if name in [f"{side}_{p}" for p in SOLE]}
        tracks = {point: kinematics.point(point) for point in own.values()}
        for plant in plants:
            if plant.point in tracks and plant.place is not None and plant.frames:
                held = [frame for frame in plant.frames if frame < len(motion)]
                if not held:
                    continue
                away = [np.median((track - tracks[plant.point])[held], axis=0) for track in tracks.values()]
                found.append(np.asarray(plant.place) + np.array(away) * [1.0, 0.0, 1.0])
    return np.concatenate(found)


def above_ground_constraints(
    character: Character,
    ground: Ground,
    frames: range,
    clearances: Mapping[str, ArrayLike] | None = None,
    parts: Sequence[str] = SOLE,
) -> tuple[Above, ...]:
    """Return constraints that keep heel, ball and toe of both feet (or other parts) above the ground.

    clearances: contact point → metres, 0 or below: allowed penetration.
    """
    return tuple(
        Above(
            point=character.contacts[f"{side}_{part}"],
            ground=ground,
            frames=frames,
            clearance=0.0 if clearances is None else clearances.get(f"{side}_{part}", 0.0),
            tolerance=SHALLOW,
            name=f"{side} {part} above the ground",
        )
        for side in ("left", "right")
        for part in parts
        if f"{side}_{part}" in character.contacts
    )


def clearances_of(kinematics: Kinematics, character: Character, ground: Ground) -> dict[str, NDArray]:
    """Return contact point of a sole → (F,) clearance from the ground, metres, 0 if above it: the penetration."""
    character.require_fit(kinematics.motion.skeleton)
    found = {}
    for side in ("left", "right"):
        for part in SOLE:
            if f"{side}_{part}" in character.contacts:
                place = kinematics.point(character.contacts[f"{side}_{part}"])
                found[f"{side}_{part}"] = np.minimum(place[:, 1] - ground.height(place[:, ::2]), 0.0)
    return found
