"""What a foot does over a whole clip: its rotation, and where its ankle is while heel or ball are planted.

A step is one rigid thing. While heel and ball are planted the foot lies on both, flat on the ground where the reference
is about flat; while one of them is planted it pivots about it, the other end and both rims above the ground; while the
point under the ankle is planted it lies as it does before or after, and yaws; otherwise it turns as the reference does.
The rotation vectors x(t) that correct the reference are one smooth curve:

    minimise Σ_t |x|² + (τf)⁴|D²x|² + 2(τf)²|D¹x|²   subject to x = what the plants ask.

A capture may tilt a foot all the time, as its markers were, or the pose in which it was calibrated. On another body
that tilt, the median one where the foot lies, is taken out of the reference first (`levelled`). A swinging foot that is
long for its leg would lift its ankle, and bend the knee: over a level floor it is pitched up softly instead.

Of a foot that stands on its heel or its ball alone, what a person sees standing are the ankle and the toe joint. There
rows tie the rotations of neighbouring frames, so that these joints move as the source's do while those are slow
(`feet.stillness.JointSteps`):

    + w (τf)² Σ_t s_t |D¹(p_t + exp(x_t) R_t a_t) − v_t|² / l²

p: where the planted point is; R: the reference's rotation; a: from that point to the joint, in the foot's frame; v: the
joint's way in the source, at the size of a; l: the foot's length; s: from 0 where the source's joint is fast to 1 where
it is still. So neither does a joint jump where one end takes over from the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from footplant import humanoid, rotation
from footplant.checks import broadcast
from footplant.constraints import Footplant
from footplant.contacts.ground import Ground, normal_of
from footplant.errors import SkeletonError
from footplant.feet.stillness import ENDS, JOINTS, JointSteps
from footplant.geometry import Plane
from footplant.humanoid.limits import anatomical_turns_of
from footplant.humanoid.sole import foot_outline, under_ankle
from footplant.kinematics import Kinematics
from footplant.order import median
from footplant.skeleton import Character, MovingPoint, Point
from footplant.solve.legs import LEG_SETTINGS, FootCurve

SOLE = ("heel", "ball", "toe")


@dataclass(frozen=True)
class FootSettings:
    """Times and weights of a foot's curve. Where a field names no experiment, none is on record."""

    turn_time: float = 0.06
    """τ, seconds: time over which a foot turns to lie on its plants, no less than `LegSettings.least_frames`. With
    0.12, 0.09 and 0.06, standing feet of 32 pairs turn by 5.0°, 4.3° and 2.7° at the 90th percentile, jerk there is
    1.05, 1.05 and 1.06 times the source's, and the highest acceleration 1.90, 1.72 and 1.51 times."""
    most_roll: float = math.radians(25.0)
    """Radians; a sole that the reference rolls sideways by less lies flat, one that is rolled by more keeps the
    rest. With 12°, soles of 39 pairs are tilted by 4.9° at the 90th percentile where the source's foot is low over
    heel and toes, with 25° by 2.3°; knees and jerk are the same."""
    depth: float = 0.001
    """Metres of penetration between footplants that are left: lifting a foot bends its knee."""
    settle: float = 0.15
    """Seconds before and after a plant over which a foot may be in the ground as far as the plant leaves it there."""
    most_back: float = 0.3
    """Radians by which a swinging foot is turned back to its ankle's limits; where more would be needed, as in
    acrobatics, it is left as it is."""
    push: float = 50.0
    """Radians; a swinging foot beyond its ankle's limits is turned back with the force of one that is so far off, at
    most: one that is about to be planted beyond them does not snap onto its plant. With no bound, 100, 50 and 30, a
    crawl jerks 1.03, 1.00, 0.96 and 0.94 times as much as the source, and an ankle that the capture turns over (CMU
    60_01) ends 1.8°, 3.1°, 3.9° and 5.7° farther beyond its limit than there."""
    push_rounds: int = 3
    """Solves in which that force settles. With 1, 2, 3 and 4, an ankle of a walk at 24 frames/s goes 1.4°, 0.6°, 0.5°
    and 0.5° beyond its limit up stairs of 17 cm; with no bound 0.5°."""
    riser: float = 0.04
    """Metres; ground that is higher by more than what is beside it is another level: a riser is between them."""
    lift: float = 30.0
    """Cost of a swinging foot whose ends need its ankle higher than the reference has it, per squared leg length,
    relative to turning it: a foot that is long for its leg is pitched up instead, so that the knee need not bend. With
    0, 30 and 100, thighs of a robot with long feet are off by 4.6°, 3.1° and 2.9°, those of a limp on short legs by
    4.1°, 3.0° and 3.0°, whose jerk is 2.22, 1.69 and 1.54 times the source's, and those of a walk from video by 4.3°,
    3.9° and 4.1°."""
    spared: float = math.radians(10.0)
    """Radians before its ankle's limit at which a foot is pitched no farther for that: shanks lean, too. With 5°, 10°
    and 20°, ankles of six pairs break their limits in 2, 0 and 0 frames, and thighs of the robot are off by 3.1°, 3.4°
    and 4.0°."""
    rim: float = 30.0
    """Cost of a foot on one end whose rim is in the ground, per squared radian of roll that lifts it out, relative to
    turning it. With 0, 10, 30 and 100, skins of three walks and a run on the mannequin, up 10° and 15° and on rough
    ground, are 18, 6, 4 and 6 mm in the ground at worst while feet stand on their balls, those of a captured dance on
    the level 10, 4, 3 and 3 mm, with the same jerk. Rows as hard as those of plants make a foot pitch for the noise of
    its roll: toes of a capture on the level (141_28 on CesiumMan) were 40 mm in the ground."""
    rounds: int = 4
    """Maximum rounds in which a pivoting foot's free end is kept above the ground."""
    stand: float = 1000.0
    """w, dimensionless: cost of a joint of a pivoting foot that moves otherwise than a source's joint that stands. With
    0, 100, 1000 and 10000, of 802 stances of six pairs that no other number here was chosen on, 8.4, 6.1, 4.4 and 4.1 %
    slide by more than 1 mm and 1.9, 1.0, 0.7 and 0.7 % by more than 5 mm; the highest acceleration of a joint of a
    clip from video is 1.28, 1.89, 1.28 and 1.52 times the source's."""
    stand_rounds: int = 3
    """Gauss–Newton steps for those rows in each round. With 3 and 20, feet that pitch about a still ankle by ±5° are
    turned alike to 0.05°."""


FOOT_SETTINGS = FootSettings()
STAND_SHARES, STOOD = (1.0, 0.5, 0.25, 0.125), 1e-3
"""Shares of a step of the rows of standing joints that are tried until the curve costs less, and the step, radians,
that is short enough to end the search. With whole steps alone, a foot that trembles by 15° on its tip swings by ±140°
(05_02 on CesiumMan). With 1e-4 no stance of that dance and of 86_01 differs by 0.1 mm."""
HARD, BOUND = 1e8, 1e5
LEAST_SLOPE = 0.02
"""Leg lengths per radian by which pitching a foot must lower its ankle at least."""
LEAST_LEVER = 0.02
"""Metres beside a foot's pivot from which a rim in the ground is raised by rolling the foot."""


def foot_curve(
    kinematics: Kinematics,
    character: Character,
    side: str,
    plants: Sequence[Footplant],
    ground: Ground,
    allowed: Mapping[str, ArrayLike] | None = None,
    parts: Sequence[str] = SOLE,
    within: tuple[NDArray, NDArray] | None = None,
    edges: bool = False,
    levelled: bool = False,
    settings: FootSettings = FOOT_SETTINGS,
    steps: JointSteps | None = None,
) -> FootCurve:
    """Return the curve of one foot for a reference motion and footplants.

    allowed: contact point → metres, 0 or below: how deep it may be in the ground. parts: those that must be above it.
    within: world rotations (F, 4) of an earlier curve, and the nearest ones (F, 4) within the ankle's limits. edges:
    whether the ground may have some, beside which a foot comes down. levelled: whether a tilt that the reference's foot
    has all the time is taken out of it. steps: how joints of the source's feet move.
    """
    character.require_fit(kinematics.motion.skeleton)
    frames, fps = len(kinematics.motion), kinematics.motion.fps
    foot = character.require_roles()[f"{side}_foot"]
    reference, ankles = kinematics.rotations[:, foot], kinematics.positions[:, foot]
    points = {part: character.contacts[f"{side}_{part}"] for part in SOLE if f"{side}_{part}" in character.contacts}
    if not any(part in points for part in parts):
        raise SkeletonError(f"expected {', '.join(parts)} of the {side} foot of {character.name!r}, got none of them")
    back = rotation.inverse(reference)
    arms = {part: rotation.rotate(back, kinematics.point(point) - ankles) for part, point in points.items()}
    ends = {part: points.get(part) for part in ("heel", "ball")}
    turning = under_ankle(character, side)
    if turning is not None:
        ends["sole"] = turning[0]
    held = {part: _held(plants, point, frames) for part, point in ends.items()}
    given = {} if allowed is None else {name: broadcast(depth, (frames,), name) for name, depth in allowed.items()}
    depths = {
        part: np.broadcast_to(np.minimum(given.get(f"{side}_{part}", 0.0), -settings.depth), frames) for part in points
    }
    level = _is_level(ground)
    # a skin does not follow bones that change their length
    rigid = not any(isinstance(point, MovingPoint) for point in points.values())
    outline = foot_outline(character, side) if rigid else ()
    skin = np.zeros((0, frames, 3))
    if outline:
        skin = rotation.rotate(back, np.moveaxis(kinematics.points(outline), 1, 0) - ankles)
    rims = skin[[point.joint == foot for point in outline]]
    turned = _turned(
        kinematics,
        character,
        side,
        reference,
        arms,
        rims,
        held,
        ground,
        depths,
        within,
        levelled,
        edges,
        settings,
        steps,
    )
    places, planted = np.zeros((frames, 3)), np.zeros(frames, bool)
    holding = np.sum([on for _, on in held.values()], axis=0)
    for part, (place, on) in held.items():
        point = ends[part]
        if on.any() and point is not None:
            arm = arms[part] if part in arms else rotation.rotate(back, kinematics.point(point) - ankles)
            goal = place[on] - rotation.rotate(turned[on], arm[on])
            places[on] += goal / holding[on][:, None]
            planted |= on
    below = np.array([rotation.rotate(turned, arm) for part, arm in arms.items() if part in parts])
    deep = np.array([depths[part] for part in arms if part in parts])
    if outline and "toe" in parts:
        skin = rotation.rotate(turned, skin)
        least = np.full((len(skin), frames), deep.min(initial=0.0))
        below, deep = np.concatenate([below, skin]), np.concatenate([deep, least])

    def needed(at: NDArray, rows: NDArray) -> NDArray:
        own = below[:, rows]
        heights = ground.height(at[rows][:, ::2] + own[..., ::2])
        return heights + deep[:, rows] - own[..., 1]

    # over a level floor, the same wherever the foot is; elsewhere a planted foot is where its plant is
    known, free = np.flatnonzero(planted | level), np.flatnonzero(~planted)
    least = np.full((len(below), frames), -np.inf)
    least[:, known] = needed(places, known)
    sunk = _beside(planted, np.where(planted, least - places[:, 1], 0.0), round(settings.settle * fps))
    least = (least - sunk).max(axis=0)

    def lowest(at: NDArray) -> NDArray:
        found = np.array(least)
        if not level:
            found[free] = (needed(at, free) - sunk[:, free]).max(axis=0)
        return found

    return FootCurve(turned, planted, places, lowest, edges)


def _beside(planted: NDArray, depth: NDArray, width: int) -> NDArray:
    """Return how deep points of a foot may be in the ground beside a plant (N, F), metres, given what they are in it.

    What a plant leaves in the ground does not jump out of it in the first frame of the swing.
    """
    allowed = np.zeros_like(depth)
    edges = np.flatnonzero(np.diff(planted.astype(np.int8)))
    for edge in edges:
        inside, step = (edge, 1) if planted[edge] else (edge + 1, -1)
        frames = inside + step * np.arange(1, width + 1)
        frames = frames[(frames >= 0) & (frames < len(planted))]
        frames = frames[np.cumsum(planted[frames]) == 0]
        share = 1.0 - step * (frames - inside) / (width + 1.0)
        allowed[:, frames] = np.maximum(allowed[:, frames], depth[:, [inside]] * share)
    return allowed


def _held(plants: Sequence[Footplant], point: Point | None, frames: int) -> tuple[NDArray, NDArray]:
    """Return the places (F, 3) at which a point is planted, and in which frames it is (F,)."""
    places, planted = np.zeros((frames, 3)), np.zeros(frames, bool)
    for plant in plants:
        if plant.point != point or plant.place is None or not plant.frames:
            continue
        own = np.asarray(plant.frames)
        own = own[(own >= 0) & (own < frames)]
        own = own[~planted[own]]
        places[own], planted[own] = np.asarray(plant.place), True
    return places, planted


def _turned(
    kinematics: Kinematics, character: Character, side: str, reference: NDArray, arms: Mapping[str, NDArray],
    outline: NDArray, held: Mapping[str, tuple[NDArray, NDArray]], ground: Ground, depths: Mapping[str, NDArray],
    within: tuple[NDArray, NDArray] | None, levelled: bool, edges: bool, settings: FootSettings,
    steps: JointSteps | None,
) -> NDArray:  # fmt: skip
    """Return the foot's world rotations (F, 4).

    outline: (N, F, 3) from the ankle to points of the foot's skin, as `arms`.

    For an ankle beyond its limits, a foot that stands on one end pitches back where the ground may have edges. On level
    ground the shank leans for it (`solve.leg_limits`): if both did, a knight who kneels would accelerate 1.55 instead
    of 0.89 times as much as the source.
    """
    if "heel" not in arms or "ball" not in arms:
        return np.array(reference)
    frames, slow = len(reference), max(settings.turn_time * kinematics.motion.fps, LEG_SETTINGS.least_frames)
    foot = character.require_roles()[f"{side}_foot"]
    (heels, on_heel), (balls, on_ball) = held["heel"], held["ball"]
    lying = on_heel & on_ball
    turning = held["sole"][1] & ~lying if "sole" in held else np.zeros(frames, bool)
    squares = np.tile(np.eye(3), (frames, 1, 1))
    vectors, sole, flat = np.zeros((frames, 3)), arms["ball"] - arms["heel"], None
    if lying.any():
        wanted = _lying(character, foot, reference, sole, balls - heels, lying, ground, heels, settings)
        if levelled:
            reference = _levelled(character, foot, reference, wanted, lying)
        squares[lying] += HARD * np.eye(3)
        vectors[lying] += HARD * rotation.log(rotation.multiply(wanted, rotation.inverse(reference[lying])))
        if turning.any():
            flat = _Flat.between(wanted, lying, turning, ground, held["sole"][0])
            off = rotation.log(rotation.multiply(flat.laid(reference[turning]), rotation.inverse(reference[turning])))
            level = np.eye(3) - flat.normals[:, :, None] * flat.normals[:, None, :]
            squares[turning] += HARD * level
            vectors[turning] += HARD * np.einsum("nij,nj->ni", level, off)
    high = None
    if levelled and frames and _is_level(ground):
        floor = float(ground.height(np.zeros((1, 2)))[0])
        lowest = np.array([depths[part] for part in arms]) + floor
        on_floor = lying & (heels[:, 1] < floor + settings.riser)
        high = _High.of(kinematics, character, side, reference, arms, lowest, on_floor, math.ceil(slow), settings)
    across = rotation.cross(rotation.rotate(reference, sole), rotation.AXES["y"])
    across = across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-9)
    standing = None if steps is None else _Standing.of(kinematics, character, side, reference, arms, held, lying, steps)
    x = _smooth(squares, vectors, slow)
    if standing is not None:
        x = _smooth(squares, vectors, slow, standing, x, settings)
    on_one = (on_heel | on_ball) & ~lying
    if within is not None:
        free = ~(lying | turning) if edges else ~(lying | turning | on_one)
        limits = _Limits.of(reference, *within, free, np.where(on_one[:, None], across, 0.0), settings)
        if len(limits.rows):
            unlimited = squares, vectors
            for _ in range(settings.push_rounds):
                squares, vectors = limits.added(*unlimited, x, settings)
                x = _smooth(squares, vectors, slow, standing, x, settings)
    # one end planted: the other and the rims stay above the ground
    pivots = [("heel", heels, on_heel, ("ball", "toe"), 1.0), ("ball", balls, on_ball, ("heel",), -1.0)]
    # one bound a frame, for the end that is deepest: rows of earlier rounds would hold it below what it needs now
    bounds, signs = np.full(frames, -np.inf), np.zeros(frames)
    rims = _Rims(outline, rotation.cross(rotation.AXES["y"], across))
    for _ in range(settings.rounds):
        now, needed = rotation.multiply(rotation.exp(x), reference), np.full(frames, -np.inf)
        for part, places, planted, ends, sign in pivots:
            rows = np.flatnonzero(planted & ~lying)
            signs[rows] = sign
            rims.find(rows, now, x, places, arms[part], ground, depths["heel"], settings)
            for end in ends:
                if end not in arms or not len(rows):
                    continue
                arm = rotation.rotate(now[rows], (arms[end] - arms[part])[rows])
                at = places[rows] + arm
                deep = ground.height(at[:, ::2]) + depths[end][rows] - at[:, 1]
                low = deep > 1e-4
                own, length = rows[low], np.maximum(np.linalg.norm(arm[low][:, ::2], axis=1), 0.02)
                angle = np.arcsin(np.clip(deep[low] / length, -1.0, 1.0))
                needed[own] = np.maximum(needed[own], sign * (x[own] * across[own]).sum(axis=1) + angle)
        bound_squares, bound_vectors = np.array(squares), np.array(vectors)
        lifted = high is not None and high.add_rows(
            bound_squares, bound_vectors, x, now, across, ~(lying | turning | on_one), settings
        )
        if not np.isfinite(needed).any() and not lifted and not rims.low:
            break
        rims.add_rows(bound_squares, bound_vectors, settings.rim)
        bounds = np.maximum(bounds, needed)
        own = np.flatnonzero(np.isfinite(bounds))
        bound_squares[own] += BOUND * across[own][:, :, None] * across[own][:, None, :]
        bound_vectors[own] += BOUND * (signs[own] * bounds[own])[:, None] * across[own]
        x = _smooth(bound_squares, bound_vectors, slow, standing, x, settings)
    turned = rotation.multiply(rotation.exp(x), reference)
    if lying.any():
        turned[lying] = wanted
    if flat is not None:
        turned[turning] = flat.laid(turned[turning])
    return turned


class _Rims:
    """Rows that roll a foot on one end until neither side of its sole is in the ground.

    A foot that lies is rolled flat. One that never lies, as where the heel of a step stays up on a slope, kept the roll
    with which the source's foot lands.
    """

    def __init__(self, outline: NDArray, ahead: NDArray) -> None:
        """Store the outline (N, F, 3), from the ankle in the foot's frame, and the axes of roll (F, 3)."""
        self._outline, self._ahead, self._goals = outline, ahead, np.full(len(ahead), np.nan)
        self.low = False
        """Whether the last search found a side in the ground."""

    def find(
        self, rows: NDArray, now: NDArray, x: NDArray, places: NDArray, pivot: NDArray, ground: Ground, depth: NDArray,
        settings: FootSettings,
    ) -> None:  # fmt: skip
        """Find the rolls that frames (n,) need, whose foot has rotations `now` (F, 4) and curve x (F, 3).

        places: (F, 3) of the planted end; pivot: (F, 3) from the ankle to it. depth: (F,) ≤ 0; allowed in the ground.
        """
        if not len(self._outline) or not len(rows):
            return
        arm = rotation.rotate(now[rows], self._outline[:, rows] - pivot[rows])
        at, ahead = places[rows] + arm, self._ahead[rows]
        deep = ground.height(at[..., ::2]) + depth[rows] - at[..., 1]
        lever = (rotation.cross(ahead, arm))[..., 1]
        # what is under the sole's middle line is raised by pitch, and a riser is beside
        deep = np.where((np.abs(lever) > LEAST_LEVER) & (deep < settings.riser), deep, 0.0)
        worst = deep.argmax(axis=0), np.arange(len(rows))
        low = deep[worst] > 1e-4
        angle = np.arcsin(np.clip(deep[worst][low] / lever[worst][low], -1.0, 1.0))
        goals = (x[rows[low]] * ahead[low]).sum(axis=1) + angle
        self._goals[rows[low]] = np.clip(goals, -settings.most_roll, settings.most_roll)
        self.low = self.low or bool(low.any())

    def add_rows(self, squares: NDArray, vectors: NDArray, weight: float) -> None:
        """Add the rows of all searches."""
        rows = np.flatnonzero(np.isfinite(self._goals))
        axes, self.low = self._ahead[rows], False
        squares[rows] += weight * axes[:, :, None] * axes[:, None, :]
        vectors[rows] += weight * self._goals[rows][:, None] * axes


@dataclass(frozen=True, eq=False)
class _High:
    """How high an ankle is in the reference, and how high its sole needs it."""

    ankles: NDArray
    """(F,) metres; heights of the reference's ankle, at the level at which its foot lies on its plants."""
    arms: NDArray
    """(N, F, 3) metres; from the ankle to points of the sole, in the foot's frame."""
    lowest: NDArray
    """(N, F) metres; least heights of these points."""
    margins: NDArray
    """(F,) radians by which the ankle may bend farther up."""
    length: float
    """Metres; of the leg."""

    @classmethod
    def of(
        cls, kinematics: Kinematics, character: Character, side: str, reference: NDArray, arms: Mapping[str, NDArray],
        lowest: NDArray, lying: NDArray, beside: int, settings: FootSettings,
    ) -> _High:  # fmt: skip
        """Return it for a reference motion whose foot has world rotations `reference` (F, 4).

        lying: (F,) bool. beside: frames over which a foot's curve is smooth.
        """
        roles, positions = character.require_roles(), kinematics.positions
        hip, knee, foot = (roles[f"{side}_{part}"] for part in ("upper_leg", "lower_leg", "foot"))
        length = float(np.linalg.norm(np.diff(positions[0, [hip, knee, foot]], axis=0), axis=1).sum())
        margins = np.full(len(positions), np.inf)
        if character.limits is not None:
            above = kinematics.rotations[:, int(character.skeleton.parents[foot])]
            turns = anatomical_turns_of(character, foot, rotation.multiply(rotation.inverse(above), reference))
            margins = np.maximum(turns[:, 0] - character.limits.lower[foot, 0] - settings.spared, 0.0)
            # the curve is smooth: what one frame may not do, frames beside it do not
            margins = sliding_window_view(np.pad(margins, beside, mode="edge"), 2 * beside + 1).min(axis=1)
        made = cls(positions[:, foot, 1], np.array(list(arms.values())), lowest, margins, length)
        if lying.any():
            rise = made.needed(reference)[0] - made.ankles
            made = replace(made, ankles=made.ankles + float(median(rise[lying])))
        return made

    def needed(self, rotations: NDArray) -> tuple[NDArray, NDArray]:
        """Return the heights (F,) that an ankle needs for a foot's world rotations (F, 4), and for which point (F,)."""
        heights = self.lowest - rotation.rotate(rotations, self.arms)[..., 1]
        which = heights.argmax(axis=0)
        return heights[which, np.arange(len(which))], which

    def add_rows(
        self, squares: NDArray, vectors: NDArray, x: NDArray, now: NDArray, across: NDArray, swings: NDArray,
        settings: FootSettings,
    ) -> bool:  # fmt: skip
        """Add rows that pitch a swinging foot whose ends need its ankle higher than the reference has it.

        Return whether there are some. x (F, 3): the curve, which makes world rotations (F, 4) `now`; across (F, 3):
        axes of pitch; swings: (F,) bool.
        """
        needed, which = self.needed(now)
        rows = np.flatnonzero(swings & (needed > self.ankles + settings.depth))
        axes, arm = across[rows], rotation.rotate(now[rows], self.arms[which[rows], rows])
        slope = -rotation.cross(axes, arm)[:, 1] / self.length
        steep = np.abs(slope) > LEAST_SLOPE
        rows, axes, slope = rows[steep], axes[steep], slope[steep]
        goal = (x[rows] * axes).sum(axis=1) - (needed - self.ankles)[rows] / (self.length * slope)
        goal = np.clip(goal, -self.margins[rows], self.margins[rows])
        weight = settings.lift * slope**2
        squares[rows] += weight[:, None, None] * axes[:, :, None] * axes[:, None, :]
        vectors[rows] += (weight * goal)[:, None] * axes
        return len(rows) > 0


@dataclass(frozen=True, eq=False)
class _Flat:
    """How a foot that turns in place lies on the ground: as it does before and after."""

    ups: NDArray
    """(n, 3) directions in the foot's frame that are along the ground's normal."""
    normals: NDArray
    """(n, 3) those normals, world."""

    @classmethod
    def between(cls, wanted: NDArray, lying: NDArray, turning: NDArray, ground: Ground, places: NDArray) -> _Flat:
        """Return it for frames that turn, from the rotations (m, 4) of those that lie."""
        rows, own = np.flatnonzero(turning), np.flatnonzero(lying)
        normals = normal_of(ground, places[rows][:, ::2])
        # the nearest frames that lie, where the normal is taken to be the same
        after = np.clip(np.searchsorted(own, rows), 1, len(own) - 1) if len(own) > 1 else np.zeros(len(rows), int)
        before = np.maximum(after - 1, 0)
        share = np.clip((rows - own[before]) / np.maximum(own[after] - own[before], 1), 0.0, 1.0)[:, None]
        ups = [rotation.rotate(rotation.inverse(wanted[other]), normals) for other in (before, after)]
        mixed = (1.0 - share) * ups[0] + share * ups[1]
        return cls(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), normals)

    def laid(self, rotations: NDArray) -> NDArray:
        """Return rotations (n, 4) with the least turn that lays them down."""
        return rotation.multiply(rotation.between(rotation.rotate(rotations, self.ups), self.normals), rotations)


@dataclass(frozen=True, eq=False)
class _Limits:
    """Rows that turn a foot back to its ankle's limits, where an earlier curve turned it beyond."""

    rows: NDArray
    """(n,) frames."""
    axes: NDArray
    """(n, 3) unit axes about which it turns."""
    goals: NDArray
    """(n,) radians by which it should be turned from the reference about them."""

    @classmethod
    def of(
        cls, reference: NDArray, earlier: NDArray, nearest: NDArray, free: NDArray, pivots: NDArray,
        settings: FootSettings,
    ) -> _Limits:  # fmt: skip
        """Return the rows of an earlier curve (F, 4), given the nearest rotations (F, 4) within the limits.

        free: (F,) bool; where the foot does not lie on heel and ball. pivots: (F, 3) unit axes about which a foot
        pitches that stands on one of them: it does not turn or roll there; 0 where it is in the air.
        """
        back = rotation.log(rotation.multiply(nearest, rotation.inverse(earlier)))
        pitch = (back * pivots).sum(axis=1, keepdims=True) * pivots
        back = np.where(np.asarray(pivots.any(axis=1))[:, None], pitch, back)
        angle = np.linalg.norm(back, axis=1)
        rows = np.flatnonzero(free & (angle > 1e-6) & (angle < settings.most_back))
        axes = back[rows] / angle[rows, None]
        goals = rotation.log(rotation.multiply(nearest[rows], rotation.inverse(reference[rows])))
        return cls(rows, axes, (goals * axes).sum(axis=1))

    def added(
        self, squares: NDArray, vectors: NDArray, x: NDArray, settings: FootSettings
    ) -> tuple[NDArray, NDArray]:  # fmt: skip
        """Return squares (F, 3, 3) and vectors (F, 3) with these rows, each with a force that is bounded at x (F, 3).

        The force of a row that is nearly met is not bounded, however far off the earlier curve was.
        """
        squares, vectors = np.array(squares), np.array(vectors)
        off = np.abs(self.goals - (x[self.rows] * self.axes).sum(axis=1))
        weights = np.minimum(BOUND, settings.push / np.maximum(off, 1e-9))[:, None]
        squares[self.rows] += weights[:, :, None] * self.axes[:, :, None] * self.axes[:, None, :]
        vectors[self.rows] += weights * self.goals[:, None] * self.axes
        return squares, vectors


def _lying(
    character: Character, foot: int, reference: NDArray, sole: NDArray, line: NDArray, lying: NDArray, ground: Ground,
    heels: NDArray, settings: FootSettings,
) -> NDArray:  # fmt: skip
    """Return the rotations (n, 4) of a foot with heel and ball on their plants, at the frames where it lies."""
    rows = np.flatnonzero(lying)
    turned = rotation.multiply(
        rotation.between(rotation.rotate(reference[rows], sole[rows]), line[rows]), reference[rows]
    )
    axis = line[rows] / np.maximum(np.linalg.norm(line[rows], axis=1, keepdims=True), 1e-9)
    up = rotation.rotate(turned, np.broadcast_to(_own_up(character, foot), (len(rows), 3)))
    normal = normal_of(ground, (heels[rows] + 0.5 * line[rows])[:, ::2])
    up, normal = (v - (v * axis).sum(axis=1, keepdims=True) * axis for v in (up, normal))
    roll = np.arctan2((rotation.cross(up, normal) * axis).sum(axis=1), (up * normal).sum(axis=1))
    # one roll for each time the foot lies: it does not rock while it stands
    starts = np.flatnonzero(np.diff(rows, prepend=-2) > 1)
    for first, last in zip(starts, np.append(starts[1:], len(rows))):
        middle = float(median(roll[first:last]))
        roll[first:last] -= middle - float(np.clip(middle, -settings.most_roll, settings.most_roll))
    return rotation.multiply(rotation.exp(roll[:, None] * axis), turned)


def _levelled(
    character: Character, foot: int, reference: NDArray, wanted: NDArray, lying: NDArray
) -> NDArray:  # fmt: skip
    """Return the rotations (F, 4) of a foot without the tilt that it has all the time: the median m of its stances.

    wanted: (n, 4) where it lies. Of a tilt that differs between stances by s, the share |m|² / (|m|² + s²) is taken for
    constant. A single stance does not tell.
    """
    off = rotation.log(rotation.multiply(rotation.inverse(reference[lying]), wanted))
    up = _own_up(character, foot)
    off = off - (off @ up)[:, None] * up
    stances = np.split(off, np.flatnonzero(np.diff(np.flatnonzero(lying)) > 1) + 1)
    if len(stances) < 2:
        return reference
    tilts = np.array([median(stance) for stance in stances])
    tilt = median(tilts)
    square, spread = float(tilt @ tilt), float(median(((tilts - tilt) ** 2).sum(axis=1)))
    return rotation.multiply(reference, rotation.exp(square / max(square + spread, 1e-12) * tilt))


def _is_level(ground: Ground) -> bool:
    return isinstance(ground, Plane) and ground.is_level


def _own_up(character: Character, foot: int) -> NDArray:
    """Return the direction (3,) in a foot's frame that is up in the reference pose."""
    upright = humanoid.reference_world(character.skeleton, character.require_roles())[1][foot]
    return rotation.rotate(rotation.inverse(upright), rotation.AXES["y"])


@dataclass(frozen=True, eq=False)
class _Standing:
    """Rows that tie the rotations of neighbouring frames: joints of a foot that pivots move as the source's do."""

    rows: NDArray
    """(n,) frames; a row is of one and the next."""
    before: NDArray
    """(n, 3) metres; from the planted point to the joint, in the first frame, as the reference turns the foot."""
    after: NDArray
    """(n, 3) metres; the same in the next frame."""
    moves: NDArray
    """(n, 3) metres that the joint goes in between, less those between the planted points."""
    weights: NDArray
    """(n,) s of the module's objective, over the squared length of the foot."""

    @classmethod
    def of(
        cls, kinematics: Kinematics, character: Character, side: str, reference: NDArray, arms: Mapping[str, NDArray],
        held: Mapping[str, tuple[NDArray, NDArray]], lying: NDArray, steps: JointSteps,
    ) -> _Standing | None:  # fmt: skip
        """Return the rows of a foot with world rotations `reference` (F, 4), None without any; lying: (F,) bool."""
        roles = character.require_roles()
        foot, found = roles[f"{side}_foot"], []
        back = rotation.inverse(kinematics.rotations[:, foot])
        length = float(np.linalg.norm(arms["ball"] - arms["heel"], axis=1).max(initial=1e-9))
        for number, name in enumerate(JOINTS):
            joint = roles.get(f"{side}_{name}")
            if joint is None:
                continue
            own = rotation.rotate(back, kinematics.positions[:, joint] - kinematics.positions[:, foot])
            slow, moves = (track[int(side == "right"), number] for track in (steps.slow, steps.moves))
            for (part, goes), end in product(zip(ENDS, moves), ENDS):
                (places, on), (beside, then) = held[part], held[end]
                if part == end:
                    tied = ~(lying[1:] & lying[:-1]) & (beside[1:] == places[:-1]).all(axis=1)
                else:  # one end takes over from the other
                    tied = ~then[:-1] & ~on[1:]
                rows = np.flatnonzero(tied & on[:-1] & then[1:] & (slow > 0.0))
                first, last = (
                    rotation.rotate(reference[at], (own - arms[point])[at])
                    for at, point in ((rows, part), (rows + 1, end))
                )
                way = goes[rows] * np.linalg.norm(first, axis=1)[:, None] - (beside[rows + 1] - places[rows])
                found.append((rows, first, last, way, slow[rows] / length**2))
        made = cls(*(np.concatenate(part) for part in zip(*found)))
        return made if len(made.rows) else None

    def cost(self, x: NDArray, weight: float) -> float:
        """Return what the rows cost at x (F, 3)."""
        from footplant.feet import _standing as kernel

        return kernel.cost(self.rows, self.before, self.after, self.moves, weight * self.weights, x)

    def added(
        self, squares: NDArray, vectors: NDArray, x: NDArray, weight: float
    ) -> tuple[NDArray, NDArray, NDArray]:  # fmt: skip
        """Return squares, vectors and ties (F − 1, 3, 3) with these rows, linearised at x (F, 3)."""
        from footplant.feet import _standing as kernel

        squares, vectors, ties = np.array(squares), np.array(vectors), np.zeros((len(x) - 1, 3, 3))
        kernel.add_rows(
            self.rows, self.before, self.after, self.moves, weight * self.weights, x, squares, vectors, ties
        )
        return squares, vectors, ties


def _smooth(
    squares: NDArray, vectors: NDArray, frames: float, standing: _Standing | None = None, x: NDArray | None = None,
    settings: FootSettings = FOOT_SETTINGS,
) -> NDArray:  # fmt: skip
    """Return the curve (F, 3) of the module's objective; frames: τf. standing: rows on top, which begin at x (F, 3)."""
    from footplant.kernels.banded import band_room, solve_tied

    room, bend, speed = band_room(len(vectors), 3), np.full(3, frames**4), np.full(3, 2.0 * frames**2)

    def solved(squares: NDArray, vectors: NDArray, ties: NDArray) -> NDArray | None:
        out = np.empty_like(vectors)
        return out if solve_tied(squares, ties, vectors, bend, speed, room, out) else None

    if standing is None or x is None:
        found = solved(squares, vectors, np.zeros((0, 3, 3)))
        return np.zeros_like(vectors) if found is None else found
    weight = settings.stand * frames**2

    def cost(x: NDArray) -> float:
        """The module's objective, but for a constant."""
        off = (x * (np.einsum("nij,nj->ni", squares, x) - 2.0 * vectors)).sum()
        curve = bend[0] * (np.diff(x, 2, axis=0) ** 2).sum() + speed[0] * (np.diff(x, axis=0) ** 2).sum()
        return float(off + curve + standing.cost(x, weight))

    now = cost(x)
    for _ in range(settings.stand_rounds):
        found = solved(*standing.added(squares, vectors, x, weight))
        if found is None or np.abs(found - x).max(initial=0.0) < STOOD:
            break
        # where a reference trembles, whole steps swing to and fro
        for share in STAND_SHARES:
            trial = x + share * (found - x)
            left = cost(trial)
            if left < now:
                x, now = trial, left
                break
        else:
            break
    return x
