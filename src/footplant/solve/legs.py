"""Hips and legs of a whole clip, given where feet are planted: one banded least-squares problem without a singularity.

Unknowns of each frame are displacements from a reference motion: of the hips h, of the left and right ankle c_s, a turn
θ of the pelvis that raises and advances one hip joint and lowers and draws back the other, h_s = h ± half the hips'
width turned, a slack κ_s of each knee, by which it is flexed more than in the reference, and, where hands
are planted or the trunk would be in the ground, a pitch φ of pelvis and trunk about the line of the hip joints, and,
where a hip joint breaks its limits, a swivel ψ_s of each leg about the line from its ankle to its hip joint, which
moves neither. L: the mean leg length.

    minimise   Σ_t ε|h|² / L² + Σ_s |h_s − c_s|² / ℓ_s² + p|θ|² + q φ² + w Σ_s κ_s² + r Σ_s ψ_s²
               + on each unknown v·(g (τf)⁴|D²|² + 2(τf)²|D¹|²)
    subject to c_s = its place where the foot is planted,
               |u_s + h_s − c_s| = D(k_s) − σ_s κ_s                    (the leg closes)
               c_s above the ground in swing, and before the risers that the reference is before,
               lower legs beside each other, knees within their range,
               shanks where planted feet's ankles are within their limits, thighs where hip joints are,
               trunk and head above the ground, shoulders within reach of planted hands
    and softly the centre of mass balanced over the feet, and on a parabola in flight (`dynamics`)

ℓ_s is the length of that line in the reference, L/2 to L: displacements of a folded leg turn it farther. g, of the hips
and θ, is more than 1 where the hips of the reference accelerate little; of all others it is 1 (`LegSettings.calm`).
u_s is the reference's vector from ankle to hip joint, k_s its knee angle, D(k) the distance from hip joint to ankle at
a knee angle and σ_s the slope −dD/dk, taken at no less than a small flexion. The derivative of the knee angle by the
distance, which is infinite for a straight leg, never appears: knees are as straight as the reference's, and hips as
high as that asks. Thigh and shank then follow in closed form, so that footplants hold exactly. The trunk keeps its
world rotations above the pelvis but for the pitch, by which shoulders come to planted hands where arms are short.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant import humanoid, rotation
from footplant.checks import shaped, whole_number
from footplant.errors import ArgumentError, SkeletonError
from footplant.humanoid.limits import clamp_to_limits
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.order import median
from footplant.skeleton import Character
from footplant.solve.dynamics import Dynamics
from footplant.solve.ik.limb import Limb, end_distance, limb_of
from footplant.spline import moving_mean

SIDES = ("left", "right")
RISER = 0.04
"""Metres; ground that is higher by more than where the reference's foot is, and than that foot, is a riser."""
EDGE_DIRECTIONS, EDGE_ROUNDS = 24, 8
"""Directions in which a foot that has moved into a riser looks for its edge, and bisections that find it there."""


@dataclass(frozen=True)
class LegSettings:
    """Weights and times of the objective. The figures are medians over 34 pairs of clips and characters."""

    hips: float = 0.02
    """ε, dimensionless: cost of moving the hips, relative to turning a leg. Without it hips of one planted foot
    drift."""
    turn: float = 1.0
    """p, per square radian: cost of turning the pelvis. Without a turn, knees of the first frames of 62 pairs are
    flexed too much by 7.6° at the 90th percentile; with 5, 2, 1 and 0.5 by 4.5°, 3.3°, 2.8° and 2.1° (of 16 pairs),
    and the pelvis turns in the median clip by at most 0.4°, 0.9°, 1.6° and 2.9°."""
    pitch: float = 0.3
    """q, per square radian: cost of pitching the trunk. Without a pitch, with 1 and with 0.3, thighs of a crawl are off
    by 3.3°, 2.1° and 1.8° on a mannequin, by 7.7°, 3.9° and 2.4° on long legs and by 9.9°, 5.6° and 5.5° on a child,
    and jerks of the child are 2.5, 1.4 and 1.3 times the source's."""
    pitch_time: float = 0.16
    """τ of the pitch, seconds. With 0.08 and 0.16, crawls on Blubby jerk 4.8 and 3.7, and 1.16 and 1.02 times as much
    as their sources; the skin of two acrobats on a knight is 53 and 35, and 8 and 22 mm below the floor."""
    swivel: float = 1.0
    """r, per square radian: cost of turning a leg about the line from ankle to hip joint. Without such turns, with 4
    and with 1, the thigh of a capture that squats and kneels (111_03) ends 4.8°, 2.0° and 0.7° farther beyond its
    limits than the source's on a mannequin, and 8.2°, 2.6° and 2.3° on a child."""
    swivel_time: float = 0.16
    """τ of the swivels, seconds. With 0.08 and 0.16 (r = 0.3, and rows that asked for leans by some other angles), that
    of the child ends 3.4° and 2.2° beyond."""
    folded: float = 0.5
    """Share of L; a displacement turns the line of a leg from hip joint to ankle by its size over that line's length,
    which counts as no less. With 1 (all displacements alike), 0.5 and 0.32, thighs of 22 pairs are off by 2.67°, 2.38°
    and 2.36° in the mean; of one capture, zero-moment points are outside the feet in 6, 9 and 35 % of the frames."""
    knee: float = 0.2
    """w, per square radian: cost of flexing a knee more than the reference does."""
    hips_time: float = 0.08
    """τ of the hips, seconds. With 0.12, hips of synthetic walks accelerate less (joints up to 1.6 instead of 1.9 times
    the source's), but thighs of 61 captured pairs are off by 3.8° instead of 3.4° at the 90th percentile. With second
    differences of the hips that count four times as much, as trunk, head and arms weigh, jerk of 304 pairs is 1.11
    instead of 1.18 times the source's at the 90th percentile, but knees whip: those of a walk on Sally accelerate 3.1
    instead of 1.25 times as much as the source's."""
    ankle_time: float = 0.06
    """τ of the ankles, seconds. From 0.04 to 0.06 to 0.09, the 90th percentile of peak accelerations of 16 pairs
    falls from 2.3 to 2.05 to 1.95 times the source's, and thighs are off by 1.32°, 1.44° and 1.71°."""
    knee_time: float = 0.05
    """τ of the slacks, seconds. 0.07 lowers the highest angular accelerations of knees from 3.9 to 2.4 times the
    source's and raises jerk from 0.93 to 0.99."""
    least_frames: float = 3.0
    """Frames; each τ but the slacks' is at least as long. At 30 frames/s shorter ones let a foot go within two frames:
    peak accelerations at the 90th percentile of 11 pairs fall from 4.0 to 2.0 times the source's with 3, and no further
    with 4. Longer in proportion to one another, they lower jerk of three runs from 1.11 to 1.04 times the source's in
    the mean, but their thighs are off by 8.8° instead of 5.5°."""
    least_knee_frames: float = 2.1
    """Frames; the same for the slacks. At 30 frames/s a knee that lags as long as the hips makes them follow it. With
    3, 2.25 and 2, jerk of a walk on short legs is 1.44, 1.37 and 1.35 times the source's (`calmest` 4), and the peak
    acceleration of another clip, where a leg leaves its full length, 0.8, 1.3 and 1.5 times."""
    calm: float = 6.0
    """Leg lengths per s²; where hips accelerate less in the reference, second differences of hips and pelvis count
    more, by the square of the ratio: they carry trunk, head and arms. Walks have 2 to 4, runs 9 to 12, whose thighs
    would be farther off. Of 20 pairs, with 0 and 6, jerk is 1.12 and 1.06 times the source's in the mean, 1.65 and 1.42
    at the 90th percentile, and the worst joint accelerates 2.5 and 2.1 times as much; the 95th percentile of shanks is
    9.2° and 9.7° off."""
    calmest: float = 3.0
    """The most that they count. With 1, 2, 3 and 4, jerk of these pairs is 1.12, 1.10, 1.08 and 1.07 times the
    source's; knees of the first frames of a dance on short legs are flexed too much by 8.0°, 7.6°, 9.8° and 10.0°. Of
    92 pairs, with 16, thighs and shanks are 0.04° and 0.05° farther off than with 4."""
    calm_time: float = 0.5
    """Seconds; half width of the two moving means of the reference's squared acceleration."""
    softness: float = math.radians(1.5)
    """Radians; knees that the reference bends backwards become straight, smoothly over this angle."""
    least_flexion: float = math.radians(2.0)
    """Radians; least flexion of a knee. With 1°, a leg that leaves its full length jerks: at the 90th percentile of 17
    pairs 1.33 times as much as the source, with 2° 1.28, with 3° 1.27; knees that are straight in the source are bent
    by 1.0°, 1.5° and 1.5°."""
    most_flexion: float = math.radians(160.0)
    """Radians; largest flexion of a knee, or the reference's own if larger."""
    steep: float = math.radians(8.0)
    """Radians; the slope σ is taken at no less than this flexion."""
    far: float = math.radians(5.0)
    """Radians beyond the reference's flexion from which the slope is a secant."""
    own_plane: tuple[float, float] = (math.radians(4.0), math.radians(16.0))
    """Radians of flexion between which a leg's plane goes over from the hinge axis to its own."""
    arm_reach: float = 0.98
    """Fraction of its length to which an arm stretches for a planted hand."""
    arm_pull: float = 1.0
    """Metres; a planted hand that is out of reach pulls the hips with the force of legs that far off. With 0.3, long
    legs miss the rope they climb by 31 mm, with 0.6 by 10; with 1, 2 and no bound, a hand that a knight with short
    arms cannot reach accelerates him 1.3, 1.9 and 2.7 times as much as the source."""
    legs_push: float = 0.0
    """Metres; legs inside each other are pushed apart with the force of one that is so far off; 0 leaves them as they
    are in the reference, which is right on the body that it was recorded on. On other bodies (`OTHER_BODY`), with 0.3,
    1 and 3, long legs that dance are inside each other by 13, 5 and 0 mm; 3 raises a peak acceleration of 13 pairs from
    1.2 to 1.6 times the source's."""
    push: float = 20.0
    """Metres; joints beyond their limits, and a trunk or knee in the ground, push with the force of a leg that is so
    far off. With 3 and 10, joints of eight pairs are 1.3° and 0.9° farther beyond limits than the source's in the
    median, and 10.6° and 6.2° at worst; a knight who kneels, his knee bent by 155°, jerks 0.9 times as much as the
    source with both. With 10, 20 and 30, an ankle that balance bends too far ends 1.5°, 0.7° and
    0.3° beyond its limit (141_28 on CesiumMan), and a thigh of a crawl 5.0°, 4.8° and 5.7° (111_03 on the
    mannequin)."""
    steps: int = 14
    """Maximum number of Gauss–Newton steps. With 20, and with `settled` at 2e-5, no figure of 20 pairs differs by more
    than 2 % but the highest acceleration of a joint (7.8 instead of 8.1 times the source's)."""
    slope_steps: int = 8
    """Steps after which the slopes stay as they are, ground that was in the way of a foot stays so, and, with balance,
    rows of leaning bones are not linearised again. With rows linearised in each step, the last search for footsteps
    that Blubby's legs just reach settles with none of the values 10, 12 … 40 m of `push` (its last steps are 3 to 12 mm
    long), with rows that stay with 29 of 10, 11 … 40 m (35 and 39 m: 1.6 and 5.2 mm). If they stayed without balance,
    too, a knee that kneels in the ground would end 5 cm lower."""
    settled: float = 1e-4
    """Metres; the search ends when no step is longer."""
    missed: float = 1e-4
    """Metres; the search does not end while planted ankles are farther than this out of reach, and still get nearer.
    Without it, the last search for footsteps that Blubby's legs just reach leaves them 1.1 mm short, five steps before
    they reach them. Over eleven values of `push` it costs 0.5 % of the steps, with 0.5, 0.8 and 0.95 for `nearer`."""
    nearer: float = 0.8
    """See `missed`: share of the distance that is left after a step that brings them nearer."""
    settled_leaning: float = 1e-3
    """Metres; the same with balance (`DynamicsSettings.settled`) where bones must lean for joint limits. With 2, 1 and
    0.5 mm, an ankle of a knight who kneels ends 1.4°, 0° and 0° beyond its limit."""


LEG_SETTINGS = LegSettings()
OTHER_BODY = LegSettings(legs_push=1.0)
"""For a body that the reference motion was not recorded on: its legs may be thicker."""


@dataclass(frozen=True, eq=False)
class FootCurve:
    """What a foot does over the whole clip."""

    rotations: NDArray
    """(F, 4) its world rotations."""
    planted: NDArray
    """(F,) bool; whether footplants say where its ankle is."""
    places: NDArray
    """(F, 3) metres; the ankle's world position there."""
    lowest: Callable[[NDArray], NDArray]
    """Ankle positions (F, 3) → the least heights (F,) at which the whole sole is above the ground, metres."""
    edges: bool = False
    """Whether the ground may have edges: a foot in swing stays before the risers that the reference is before. A ground
    that is guessed from a capture's contacts has none, however steep it is between two of them."""


@dataclass(frozen=True, eq=False)
class HeldHand:
    """A planted hand."""

    frames: NDArray
    """(F,) bool."""
    wrists: NDArray
    """(F, 3) metres; where the wrist is."""


@dataclass(frozen=True, eq=False)
class LegSolution:
    """A motion with its hips and legs solved."""

    motion: Motion
    steps: int
    """Gauss–Newton steps taken."""
    missed: float
    """Metres; largest distance of an ankle from its place: 0 unless out of reach."""
    unknowns: tuple[NDArray, NDArray, NDArray] | None = None
    """Unknowns (F, 16), slopes (2, F) and common displacement (3,), with which a similar problem may start."""
    reference: _LegReference | None = None
    """What such a problem need not find anew."""

    @property
    def pitches(self) -> NDArray:
        """Return how far the trunk is pitched (F,), radians."""
        from footplant.solve import _legs as kernel

        return np.zeros(len(self.motion)) if self.unknowns is None else self.unknowns[0][:, kernel.PITCH]


@dataclass(frozen=True, eq=False)
class _LegReference:
    """The legs of a reference motion, for all solves that begin with it."""

    motion: Motion
    settings: LegSettings
    tables: Any
    """As kernels take them (`_legs.Reference`)."""
    flexions: NDArray
    """(2, F) radians; signed (`knee_flexions`)."""
    legs: tuple[Any, ...]
    """Left and right, as kernels take them (`_legs.Leg`)."""

    @classmethod
    def of(
        cls, kinematics: Kinematics, character: Character, legs: tuple[Limb, Limb], settings: LegSettings
    ) -> _LegReference:
        """Return the same of a motion."""
        from footplant.solve import _legs as kernel

        positions = kinematics.positions
        bones = np.array([_bone_lengths(positions, leg) for leg in legs])
        ends = np.moveaxis(bones, 2, 1)
        flexions, hinges = zip(*(knee_flexions(kinematics, leg, settings) for leg in legs))
        signed = np.array(flexions)
        # knees that are straight or bent backwards: softness·exp(k/softness − 1), which is smooth and positive
        soft = settings.softness
        knee = np.where(signed > soft, signed, soft * np.exp(np.minimum(signed / soft, 1.0) - 1.0))
        own = tuple(
            kernel.Leg(
                leg.upper, leg.lower, leg.end, _joints_between(character, leg), bones[s], hinges[s],
                np.array(settings.own_plane),
            )
            for s, leg in enumerate(legs)
        )  # fmt: skip
        planes = np.empty((*signed.shape, 2, 3))
        for s, table in enumerate(own):
            kernel.bending_planes(table, positions, kinematics.rotations, signed[s], planes[s])
        tables = kernel.Reference(
            np.array([positions[:, leg.upper] - positions[:, leg.end] for leg in legs]),
            _distance(ends, knee),
            _distance(ends, np.maximum(knee, settings.most_flexion)),
            _distance(ends, np.full_like(knee, settings.least_flexion)),
            knee,
            bones,
            *_hip_line(kinematics, character, legs),
            planes,
            _calm(positions, legs, float(bones.sum(axis=2).mean()), kinematics.motion.fps, settings),
        )
        return cls(kinematics.motion, settings, tables, signed, own)


@dataclass(frozen=True, eq=False)
class _Risers:
    """What a swinging foot is beside, and higher than the reference is there: it may not move into it, nor onto it."""

    reference: NDArray
    """(F, 3) metres; the reference's ankle."""
    lowest: NDArray
    """(F,) metres; least heights of the ankle there."""
    away: NDArray
    """(F, 3) unit directions, level, from what the foot has moved into; found by `passed`."""
    least: NDArray
    """(F,) metres; least displacement of the ankle that way; −∞ where it has moved into nothing."""

    @classmethod
    def beside(cls, foot: FootCurve, ankles: NDArray) -> _Risers:
        """Return the same for a reference ankle at places (F, 3), metres."""
        return cls(ankles, foot.lowest(ankles), np.zeros_like(ankles), np.full(len(ankles), -np.inf))

    def passed(self, foot: FootCurve, ankles: NDArray) -> NDArray:
        """Return the least heights (F,) of an ankle at places (F, 3), metres, and find what it has moved into.

        Lifted onto a riser that it has moved into, a foot that is coming down before it would be drawn farther back in
        each step of the search, and frames beside it with it: hips of a walk down stairs of 22 cm went 0.4 m astray.
        """
        lowest, height = foot.lowest(ankles), self.reference[:, 1]
        if not foot.edges:
            return lowest
        into = ~foot.planted & (lowest - np.maximum(self.lowest, height) > RISER) & (height > self.lowest - RISER)
        if not into.any():
            return lowest
        # its edge is across the directions in which the foot gets free
        far = 1.5 * np.linalg.norm((ankles - self.reference)[:, ::2], axis=1)
        around = np.linspace(0.0, 2.0 * np.pi, EDGE_DIRECTIONS, endpoint=False)
        away = np.zeros_like(ankles)
        for way in np.column_stack([np.sin(around), np.zeros(EDGE_DIRECTIONS), np.cos(around)]):
            away += np.where(self._over_riser(foot, ankles + far[:, None] * way), 0.0, 1.0)[:, None] * way
        away = away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-9)
        # a direction that was found stays: between two of them, the foot would go to and fro
        away = np.where(np.isfinite(self.least)[:, None], self.away, away)
        inside, outside = np.zeros(len(ankles)), far
        for _ in range(EDGE_ROUNDS):
            middle = 0.5 * (inside + outside)
            high = self._over_riser(foot, ankles + middle[:, None] * away)
            inside, outside = np.where(high, middle, inside), np.where(high, outside, middle)
        self.away[into] = away[into]
        self.least[into] = ((ankles - self.reference) * away).sum(axis=1)[into] + outside[into]
        return np.where(into, self.lowest, lowest)

    def _over_riser(self, foot: FootCurve, ankles: NDArray) -> NDArray:
        """Return whether the ground asks for much more height (F,) at places (F, 3) than at the reference's."""
        return foot.lowest(ankles) - self.lowest > RISER


def legs_of(character: Character) -> tuple[Limb, Limb] | None:
    """Return the left and the right leg, or None for a character whose legs have no hip joint, knee and ankle."""
    roles, skeleton = character.require_roles(), character.skeleton
    found = []
    for side in SIDES:
        names = [f"{side}_{part}" for part in ("upper_leg", "lower_leg", "foot")]
        if not all(name in roles for name in names):
            return None
        joints = [roles[name] for name in names]
        if joints[0] not in skeleton.chain(joints[1]) or joints[1] not in skeleton.chain(joints[2]):
            return None
        found.append(limb_of(character, f"{side}_leg"))
    return found[0], found[1]


def knee_flexions(kinematics: Kinematics, leg: Limb, settings: LegSettings = LEG_SETTINGS) -> tuple[NDArray, NDArray]:
    """Return signed flexions (F,) of a knee, radians, and its hinge axis (3,) in the thigh's frame.

    Where the leg is nearly straight, the flexion is signed about the hinge, so that a sideways bend changes no sign;
    where it is clearly bent it is the angle between thigh and shank. The hinge is the clip's mean axis of flexion,
    unless the clip bends the knee backwards.
    """
    kinematics.motion.skeleton.require_joints([leg.upper, leg.lower, leg.end])
    positions = kinematics.positions
    thigh = positions[:, leg.lower] - positions[:, leg.upper]
    shank = positions[:, leg.end] - positions[:, leg.lower]
    across = rotation.cross(thigh, shank)
    own = rotation.rotate(rotation.inverse(kinematics.rotations[:, leg.upper]), across)
    hinge = own.sum(axis=0)
    length = float(np.linalg.norm(hinge))
    straight = float((np.linalg.norm(thigh, axis=1) * np.linalg.norm(shank, axis=1)).sum()) * math.sin(settings.far)
    hinge = hinge / length if length > straight and hinge @ leg.axis > 0.5 * length else np.array(leg.axis)
    along = (thigh * shank).sum(axis=1)
    signed, whole = np.arctan2(own @ hinge, along), np.arctan2(np.linalg.norm(across, axis=1), along)
    low, high = settings.own_plane
    share = np.clip((signed - low) / (high - low), 0.0, 1.0)
    # no knee bends backwards by more than a right angle: the sign about the hinge says nothing about a folded leg
    return np.where(along > 0.0, signed + share * share * (3.0 - 2.0 * share) * (whole - signed), whole), hinge


def solve_legs(
    kinematics: Kinematics,
    character: Character,
    feet: tuple[FootCurve, FootCurve],
    hands: Mapping[str, HeldHand] | None = None,
    settings: LegSettings = LEG_SETTINGS,
    steps: int | None = None,
    apart: tuple[NDArray, NDArray] | None = None,
    lean: Sequence[tuple[NDArray, NDArray] | None] = (),
    high: tuple[NDArray, NDArray] | None = None,
    start: LegSolution | None = None,
    dynamics: Dynamics | None = None,
) -> LegSolution:
    """Return the motion of least change whose feet follow their curves: see the module's objective.

    kinematics: the reference motion. hands: planted hands by side. steps: maximum number of Gauss–Newton steps.
    apart: unit directions (F, 3), and the least distance (F,) along them of the left ankle from the right one, metres.
    lean: rows of shanks, of thighs and of shanks again: unit directions (2, F, 3), and the least cosines (2, F) between
    them and the bone, from ankle or hip joint to knee; −∞ where nothing is asked.
    high: levers and heights (n, F), metres: the middle of the hip joints is no lower than height − lever · pitch.
    start: the solution of a similar problem of the same reference, to start from. dynamics: rows of balance and flight.
    """
    from footplant.solve import _legs as kernel

    motion, positions = kinematics.motion, kinematics.positions
    character.require_fit(motion.skeleton)
    legs = legs_of(character)
    if legs is None:
        raise SkeletonError(f"expected legs with hip joint, knee and ankle, got {character.name!r} without")
    frames, fps = len(motion), motion.fps
    feet, hands = _required_feet(feet, frames), _required_hands(hands or {}, frames)
    if steps is not None:
        whole_number(steps, "a number of steps", low=0)
    if not frames:
        return LegSolution(motion, 0, 0.0)
    known = None if start is None else start.reference
    if known is None or known.motion is not motion or known.settings != settings:
        known = _LegReference.of(kinematics, character, legs, settings)
    reference, signed = known.tables, known.flexions
    ankles = np.array([positions[:, leg.end] for leg in legs])
    planted, places = np.array([foot.planted for foot in feet]), np.array([foot.places for foot in feet])
    # what all plants have in common moves the whole clip, and costs nothing
    shift = median((places - ankles)[planted]) if planted.any() else np.zeros(3)
    ankles = ankles + shift
    places = np.where(planted[..., None], places - ankles, 0.0)
    x = np.zeros((frames, kernel.UNKNOWNS))
    width = max(float(np.linalg.norm(reference.across, axis=1).mean()), 1e-3)
    weights = _weights(settings, float(reference.bones.sum(axis=2).mean()), width, fps)
    slopes, held = np.zeros((2, frames)), _held_arms(kinematics, character, legs, hands, shift, settings)
    may_pitch = high is not None or bool(held[0].any())
    may_swivel = len(lean) > kernel.THIGH and lean[kernel.THIGH] is not None
    room = kernel.new_room(planted, may_pitch, may_swivel)
    asked_for = high is not None or dynamics is not None or any(rows is not None for rows in lean)
    if not asked_for and not planted.any() and not hands and (signed > -settings.softness).all():
        lowest = np.array([foot.lowest(own) - own[:, 1] for foot, own in zip(feet, ankles)])
        if (lowest <= 0.0).all():
            # nothing is asked for
            return LegSolution(motion, 0, 0.0)
    away = np.zeros((frames, 3)), np.full(frames, -np.inf)
    if apart is not None:
        away = apart[0], apart[1] - (apart[0] * (ankles[0] - ankles[1])).sum(axis=1)
    leaning = np.zeros((kernel.LEANS, 2, frames, 3)), np.full((kernel.LEANS, 2, frames), -np.inf)
    for number, rows in enumerate(lean):
        if rows is not None:
            leaning[0][number], leaning[1][number] = rows
    hips = positions[:, [leg.upper for leg in legs], 1].mean(axis=1)
    levers, heights = (np.zeros((1, frames)), np.full((1, frames), -np.inf)) if high is None else high
    heights = heights - hips - shift[1]
    most, settled = settings.steps if steps is None else steps, settings.settled
    if dynamics is not None and dynamics.counts.any():
        most, settled = most + dynamics.settings.steps, dynamics.settings.settled
        if any(rows is not None for rows in lean):
            settled = min(settled, settings.settled_leaning)
    first, taken, clear, moves = 0, 0, None, np.zeros((frames, 3, 4))
    if start is not None and start.unknowns is not None:
        earlier, slopes, before = start.unknowns
        x, slopes, first = np.array(earlier), np.array(slopes), settings.slope_steps - 1
        x[:, :9] += np.tile(before - shift, 3)
    turned, short = np.empty((frames, 3)), np.inf
    risers, lowest = [_Risers.beside(foot, own) for foot, own in zip(feet, ankles)], np.empty((2, frames))
    for taken in range(first, most + 1):
        for s, foot in enumerate(feet):
            lowest[s] = risers[s].passed(foot, ankles[s] + x[:, 3 + 3 * s : 6 + 3 * s]) - ankles[s][:, 1]
        # at the edge of a stair the ground has two heights: in the end, the higher one counts
        clear = lowest.copy() if clear is None or taken <= settings.slope_steps else np.maximum(lowest, clear)
        if taken <= settings.slope_steps:
            kernel.update_slopes(reference, x, settings.steep, settings.far, room.vector, slopes)
        if dynamics is not None and taken == max(first, 1):
            # balance and flight straighten no knee: a leg that they pull straight whips as it bends again
            longest = np.empty((2, frames))
            kernel.longest_legs(reference, x, room.vector, longest)
            reference = reference._replace(longest=longest)
        if dynamics is not None and taken:
            moves = dynamics.rows(x, shift, weights.direction)
        beside = np.array([riser.away for riser in risers]), np.array([riser.least for riser in risers])
        asked = kernel.Asked(planted, places, clear, *beside, *held, *away, *leaning, heights, levers, moves)
        new = np.empty_like(x)
        # balance pulls against rows that are linearised elsewhere in each step: they would come and go to the end
        relinearise = dynamics is None or taken <= settings.slope_steps
        if not kernel.step(reference, asked, weights, slopes, taken > 0, relinearise, x, room, new):
            break
        moved = float(np.abs(new - x)[:, :9].max(initial=0.0))
        x = new
        if taken and moved < settled:
            kernel.turned_hips(reference, x, turned)
            before, short = short, _short_of(known, positions, legs, feet, planted, x, shift, turned)
            if short <= settings.missed or short > settings.nearer * before:
                break
    rotations, missed = np.array(motion.rotations), 0.0
    kernel.turned_hips(reference, x, turned)
    turns = rotation.between(reference.across, reference.across + turned)
    pitch = None
    if may_pitch:
        unit = reference.across / np.maximum(np.linalg.norm(reference.across, axis=1, keepdims=True), 1e-9)
        pitch = rotation.exp(x[:, kernel.PITCH, None] * unit)
    root = motion.root + shift + x[:, :3] + _turn_trunk(kinematics, character, legs, turns, pitch, rotations)
    if pitch is not None:
        turns = rotation.multiply(turns, pitch)
    for s, (table, foot) in enumerate(zip(known.legs, feet)):
        goals = np.where(planted[s][:, None], foot.places, ankles[s] + x[:, 3 + 3 * s : 6 + 3 * s])
        hips = x[:, :3] + shift + (1.0 - 2.0 * s) * turned
        worst = kernel.pose(
            table, motion.skeleton.parents, positions, kinematics.rotations, reference.planes[s], turns, hips, goals,
            np.array(x[:, kernel.SWIVEL + s]), np.array(foot.rotations), np.empty(rotations.shape[1:]), rotations,
        )  # fmt: skip
        missed = max(missed, worst)
    solved = motion.like(root, rotation.unroll(rotations), motion.offsets)
    return LegSolution(solved, taken, missed, (x, slopes, shift), known)


def _hip_line(kinematics: Kinematics, character: Character, legs: tuple[Limb, Limb]) -> tuple[NDArray, NDArray]:
    """Return vectors (F, 3) from the middle of the hip joints to the left one, and directions (F, 2, 3) across them.

    The directions are upward and forward as seen from the pelvis.
    """
    positions, pelvis = kinematics.positions, _pelvis(character, legs)
    across = 0.5 * (positions[:, legs[0].upper] - positions[:, legs[1].upper])
    unit = across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-9)
    upright = rotation.inverse(humanoid.reference_world(character.skeleton, character.require_roles())[1][pelvis])
    up = rotation.rotate(kinematics.rotations[:, pelvis], rotation.rotate(upright, rotation.AXES["y"]))
    forward = rotation.cross(unit, up)
    forward = forward / np.maximum(np.linalg.norm(forward, axis=1, keepdims=True), 1e-9)
    return across, np.stack([rotation.cross(forward, unit), forward], axis=1)


def _pelvis(character: Character, legs: tuple[Limb, Limb]) -> int:
    """Return the joint on which both legs hang."""
    return max(set(character.skeleton.chain(legs[0].upper)[:-1]) & set(character.skeleton.chain(legs[1].upper)[:-1]))


def _turn_trunk(
    kinematics: Kinematics, character: Character, legs: tuple[Limb, Limb], turns: NDArray, pitch: NDArray | None,
    rotations: NDArray,
) -> NDArray:  # fmt: skip
    """Pitch the trunk and turn the pelvis about the middle of its hip joints; return how far the root moves (F, 3).

    pitch: (F, 4) of the whole trunk in the world, or None. turns: (F, 4) of the pelvis alone after that. rotations:
    (F, J, 4) local ones, of which those of the pelvis and of what hangs on it, legs apart, are written.
    """
    skeleton, world, positions = character.skeleton, kinematics.rotations, kinematics.positions
    pelvis, legs_above = _pelvis(character, legs), {joint for leg in legs for joint in skeleton.chain(leg.upper)}
    both = turns if pitch is None else rotation.multiply(turns, pitch)
    new = rotation.multiply(both, world[:, pelvis])
    above = int(skeleton.parents[pelvis])
    rotations[:, pelvis] = new if above < 0 else rotation.multiply(rotation.inverse(world[:, above]), new)
    kept = world if pitch is None else rotation.multiply(pitch[:, None], world)
    for child in np.flatnonzero(skeleton.parents == pelvis):
        if child not in legs_above:
            _keep_trunk(character, int(child), new, kept, rotations)
    if pitch is not None:
        _keep_head(world, character, pitch, rotations)
    arm = positions[:, pelvis] - 0.5 * (positions[:, legs[0].upper] + positions[:, legs[1].upper])
    return rotation.rotate(both, arm) - arm


def _keep_trunk(character: Character, joint: int, above: NDArray, kept: NDArray, rotations: NDArray) -> None:
    """Turn a joint on the pelvis so that it keeps its world rotation, as far as its limits allow.

    What a vertebra may not turn, the next one turns. above: (F, 4) world rotations of the pelvis; kept: (F, J, 4) those
    that joints keep.
    """
    spine = character.require_roles().joints.get("spine", ())
    if joint not in spine:
        rotations[:, joint] = rotation.multiply(rotation.inverse(above), kept[:, joint])
        return
    for vertebra in spine:
        wanted = rotation.multiply(rotation.inverse(above), kept[:, vertebra])
        rotations[:, vertebra] = clamp_to_limits(character, vertebra, wanted, rotations[:, vertebra])
        above = rotation.multiply(above, rotations[:, vertebra])
        if np.array_equal(rotations[:, vertebra], wanted) or vertebra not in character.skeleton.parents[list(spine)]:
            break


def _keep_head(world: NDArray, character: Character, pitch: NDArray, rotations: NDArray) -> None:
    """Turn the neck so that the head of a pitched trunk keeps its world rotation, as far as the neck's limits allow."""
    roles = character.require_roles()
    neck = roles["neck"] if "neck" in roles else roles.get("head")
    if neck is None:
        return
    above = int(character.skeleton.parents[neck])
    kept = rotation.multiply(rotation.inverse(rotation.multiply(pitch, world[:, above])), world[:, neck])
    rotations[:, neck] = clamp_to_limits(character, neck, kept, rotations[:, neck])


def _required_feet(feet: Sequence[FootCurve], frames: int) -> tuple[FootCurve, FootCurve]:
    """Return the curves of two feet over all frames as kernels take them."""
    if len(feet) != 2:
        raise ArgumentError(f"expected the curves of two feet, got {len(feet)}")
    left, right = (
        replace(
            foot,
            rotations=shaped(foot.rotations, (frames, 4), "rotations of a foot"),
            planted=_flags(foot.planted, frames, "frames in which a foot is planted"),
            places=shaped(foot.places, (frames, 3), "places of an ankle"),
        )
        for foot in feet
    )
    if not (rotation.are_unit(left.rotations, 1e-3) and rotation.are_unit(right.rotations, 1e-3)):
        raise ArgumentError("expected rotations of a foot as unit quaternions, got others")
    return left, right


def _required_hands(hands: Mapping[str, HeldHand], frames: int) -> dict[str, HeldHand]:
    """Return planted hands over all frames as kernels take them."""
    if not set(hands) <= set(SIDES):
        raise ArgumentError(f"expected hands by side, {' or '.join(SIDES)}, got {', '.join(map(str, hands))}")
    return {
        side: HeldHand(
            _flags(hand.frames, frames, "frames in which a hand is planted"),
            shaped(hand.wrists, (frames, 3), "places of a wrist"),
        )
        for side, hand in hands.items()
    }


def _flags(values: NDArray, frames: int, what: str) -> NDArray:
    return shaped(values, (frames,), what) != 0.0


def _distance(bones: NDArray, flexions: NDArray) -> NDArray:
    """Return distances (2, F) from hip joint to ankle, metres, for bones (2, 2, F) and flexions (2, F)."""
    return end_distance(bones[:, 0], bones[:, 1], flexions)


def _short_of(
    reference: _LegReference, positions: NDArray, legs: tuple[Limb, Limb], feet: Sequence[FootCurve], planted: NDArray,
    x: NDArray, shift: NDArray, turned: NDArray,
) -> float:  # fmt: skip
    """Return metres by which stretched legs are short of the places of planted ankles, at most."""
    worst = 0.0
    for s, (leg, table, foot) in enumerate(zip(legs, reference.legs, feet)):
        rows = planted[s]
        hips = positions[rows, leg.upper] + x[rows, :3] + shift + (1.0 - 2.0 * s) * turned[rows]
        far = np.linalg.norm(foot.places[rows] - hips, axis=1) - table.bones[rows].sum(axis=1)
        worst = max(worst, float(far.max(initial=0.0)))
    return worst


def _bone_lengths(positions: NDArray, limb: Limb) -> NDArray:
    """Return the lengths (F, 2) of a limb's bones, metres."""
    joints = positions[:, [limb.upper, limb.lower, limb.end]]
    return np.linalg.norm(np.diff(joints, axis=1), axis=2)


def _weights(settings: LegSettings, length: float, width: float, fps: float):
    from footplant.solve import _legs as kernel

    direction = 1.0 / length**2
    counts = [3, 6, 2, 2, 1, 2]
    own = np.repeat(
        [direction, direction, settings.turn / width**2, settings.knee, settings.pitch, settings.swivel], counts
    )
    own_times = (
        settings.hips_time, settings.ankle_time, settings.hips_time, settings.knee_time, settings.pitch_time,
        settings.swivel_time,
    )  # fmt: skip
    seconds = np.repeat(own_times, counts)
    least = settings.least_frames
    times = np.maximum(
        seconds * fps, np.repeat([least, least, least, settings.least_knee_frames, least, least], counts)
    )
    pull, push, bound = (direction * force for force in (2.0 * settings.arm_pull, settings.legs_push, settings.push))
    hips, bend, speed = settings.hips * direction, own * times**4, 2.0 * own * times**2
    return kernel.Weights(
        direction, settings.folded**2, hips, settings.turn, settings.pitch, settings.swivel, settings.knee, pull, push,
        bound, bend, speed,
    )  # fmt: skip


def _calm(positions: NDArray, legs: tuple[Limb, Limb], length: float, fps: float, settings: LegSettings) -> NDArray:
    """Return the further weight (F,) of the hips' second differences where those of the reference are small."""
    frames, step = len(positions), max(round(settings.hips_time * fps), 1)
    if frames <= 2 * step:
        return np.zeros(frames)
    hips = positions[:, [leg.upper for leg in legs]].mean(axis=1)
    # over as long as the hips' time, so that noise of captures at 120 frames/s is not taken for acceleration
    bent = (hips[2 * step :] - 2.0 * hips[step:-step] + hips[: -2 * step]) * ((fps / step) ** 2 / length)
    half = round(settings.calm_time * fps)
    square = np.pad((bent**2).sum(axis=1), step, mode="edge")
    square = moving_mean(moving_mean(square, half), half)
    return np.clip(settings.calm**2 / np.maximum(square, 1e-12), 1.0, settings.calmest) - 1.0


def _held_arms(
    kinematics: Kinematics, character: Character, legs: tuple[Limb, Limb], hands: Mapping[str, HeldHand],
    shift: NDArray, settings: LegSettings,
) -> tuple[NDArray, NDArray, NDArray, NDArray]:  # fmt: skip
    """Return where hands are held (2, F), the vectors (2, F, 3) from there to the middle of the hip joints and from it
    to the shoulder, and the arms' lengths (2,)."""
    frames, positions = len(kinematics.motion), kinematics.positions
    held, reach = np.zeros((2, frames), bool), np.ones(2)
    arms, shoulders = np.zeros((2, frames, 3)), np.zeros((2, frames, 3))
    middle = 0.5 * (positions[:, legs[0].upper] + positions[:, legs[1].upper])
    for s, side in enumerate(SIDES):
        if side in hands:
            arm = limb_of(character, f"{side}_arm")
            held[s], arms[s] = hands[side].frames, middle + shift - hands[side].wrists
            shoulders[s] = positions[:, arm.upper] - middle
            reach[s] = settings.arm_reach * float(median(_bone_lengths(positions, arm).sum(axis=1)))
    return held, arms, shoulders, reach


def _joints_between(character: Character, leg: Limb) -> NDArray:
    """Return the joints inside thigh and shank, each list ended by −1."""
    chain = character.skeleton.chain
    return np.array([*chain(leg.lower, leg.upper)[1:-1], -1, *chain(leg.end, leg.lower)[1:-1], -1], np.int64)
