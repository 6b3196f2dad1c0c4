"""Feet and hips moved from level onto uneven ground: swing phases clear obstacles, and the hips follow smoothly.

Kulpa, Multon & Arnaldi 2005, section 7, extended by feet that tilt with the slope and clear edges between steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.contacts.ground import Ground
from footplant.feet.footing import Footing, sole_length
from footplant.feet.heel_release import push_off_rises, share_away
from footplant.feet.path_mapping import PathMapping
from footplant.feet.soles import SOLE
from footplant.feet.step_plan import STEP_PLAN_SETTINGS
from footplant.feet.steps import Step
from footplant.grounds import direction
from footplant.humanoid.measure import leg_length
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.solve.ik.limb import Limb, end_distance, limb_of
from footplant.solve.ik.limb import place as place_limb
from footplant.spline import binomial_kernel, filter_fir, smooth_above, smooth_envelope


@dataclass(frozen=True)
class SwingSettings:
    """Tuning numbers of terrain adaptation. Where a field names no experiment, none is on record."""

    clearance: float = 0.02
    """Body heights; clearance of a swinging foot above the ground, if it had as much on the level (3.5 cm for an
    adult)."""
    straightest: float = 0.99
    """Fraction of its length to which a leg may stretch on uneven ground, unless it was straighter on the level. At 1,
    knees snap straight; lower, the hips come down more."""
    most_folded: float = np.radians(150.0)
    """Radians; largest flexion of a knee on uneven ground, unless it was flexed more on the level: where a foot needs
    more, the hips come up. With 135°, 150°, 165° and no bound, a squat over stairs up 17 and down 22 cm has 0, 0, 0 and
    160 breaks of joint limits, and jerks up to 1.01, 1.01, 1.03 and 1.29 times as much as its source; its knees flex by
    157°, 158°, 160° and 160°."""
    swing_folded: float = np.radians(120.0)
    """Radians; flexion of a knee, or the largest on the level, beyond which a swinging foot comes down as far as the
    ground lets it. With 120°, 135° and no bound, knees of a run down stairs of 22 cm flex by 127°, 140° and 154°, and a
    walk that lifts its feet high, up 10°, has 0, 2 and 3 breaks of joint limits."""
    unfolding: float = 0.1
    """Seconds over which it does so. With 0.2, that walk jerks 1.76 instead of 1.42 times as much as its source down
    stairs of 17 cm."""
    swing: float = 0.4
    """Seconds of a usual swing phase, for a foot that is in the air at an end of the clip; and over which the hips come
    down before a step that is out of a leg's reach, and up again after it. Where they come down over 0.1, 0.2, 0.3 and
    0.4 s, walks and runs on 13 grounds jerk up to 1.24, 1.21, 1.19 and 1.17 times as much as their sources, and 2, 1,
    0 and 0 of 416 more than 1.2 times; knees flex by 98.8°, 99.4°, 99.7° and 99.9° at most (mean)."""
    for_swing: float = 0.1
    """Share of what the hips would come down for a swinging foot out of its leg's reach; the foot is drawn in for the
    rest, over `swing`. With 1, 0.25, 0.1 and 0, knees of six walks and runs over four grounds flex by 119°, 116°, 114°
    and 114° at most (mean of ten results), hips by 73°, 61°, 60° and 60°, and jerk is 1.33, 0.98, 0.98 and 0.99 times
    the source's: with 1, a zombie whose foot was early in a long stride sat down on his heel on the last tread."""
    least_way: float = 0.1
    """Metres; a foot whose step is shorter is moved to its planned place by time rather than by the way that it has
    gone. With 0.03, 0.1 and 0.3, two walks down stairs of 22 and 17 cm jerk as much, 1.13 times their sources; by time
    alone 1.10 and 1.18 times."""
    lower_foot: tuple[float, float, float] = (0.5, 1.0, 0.75)
    """Share of the lower foot in the height that hips get from steps that keep their places, on the way up and down,
    and from planned ones; the rest is the mean of both. At 10° and 15° and on stairs of 22 cm, three clips on two
    characters have 317, 278, 242 and 222 breaks of joint limits with 1, 0.75, 0.5 and 0.25 for the first (before feet
    could land on their balls); lower, hips rise before the step does. Less than 1 on the way down straightens the leg
    that steps down. With 1, 0.75 and 0.5 for the last, three walks and a run on stairs of 22 cm have up to 23, 7 and 7
    breaks and jerk of up to 2.2, 1.4 and 1.4 times the source's, and hips on stairs of 17 cm flex by 71°, 69° and 67°
    on the way up (median)."""
    hip_smoothing: float = 0.15
    """Seconds; half width of the Hann window that smooths the shift of the hips."""
    passing: float = 1.3
    """Sole lengths; feet whose ankles are nearer to each other along the path are beside each other."""
    shoes: float = 0.45
    """Sole lengths between ankles, sideways, at which shoes do not touch."""
    nearer: float = 0.05
    """Sole lengths by which planned steps may bring passing feet nearer to each other."""
    rim: float = 0.12
    """Share of a sole's half length that may pass beside an edge."""
    lift_smoothing: float = 0.04
    """Seconds; half width of the binomial filter that smooths the lift of a swinging foot."""
    aloft: tuple[float, float] = (0.1, 0.25)
    """Body heights above the ground: where a foot starts to follow the hips instead of the ground, and where it fully
    does (a kick)."""
    detour: float = 0.06
    """Body heights; lift above the interpolated path on a step down at which a foot swings forward as early as it
    can."""
    most_ahead: float = 0.12
    """Fraction of the swing phase by which a foot is at most ahead of time to clear an edge on a step down."""


SWING_SETTINGS = SwingSettings()


def move_feet_to_ground(
    motion: Motion,
    character: Character,
    steps: Sequence[Step],
    footings: Sequence[Footing],
    level: Ground,
    ground: Ground,
    body: Motion | None = None,
    planned: PathMapping | None = None,
) -> tuple[Motion, dict[str, NDArray]]:
    """Return the motion with feet and hips moved from level onto uneven ground, smoothly from step to step.

    With it, side → (F,) radians by which a trailing foot is pitched about its ball more than on the level.

    It is an initial guess, so close that the footplants need little correction. On level ground nothing changes.
    body: the motion with its trunk and arms where they are wanted; None: as in the motion. planned: the map
    along the path by which a plan moved the steps, and the body with them.
    """
    kinematics = Kinematics(motion)
    moved = kinematics if body is None else Kinematics(body)
    paths = {}
    for side in ("left", "right"):
        own = [(step, footing) for step, footing in zip(steps, footings) if step.side == side]
        if all(f"{side}_{part}" in character.contacts for part in ("heel", "ball")):
            paths[side] = _foot_path(kinematics, character, side, own, level, ground, planned)
    if not paths:
        return motion, {}
    half = round(SWING_SETTINGS.hip_smoothing * motion.fps)
    kernel = np.hanning(2 * half + 3)[1:-1]
    both = np.array([path.hips for path in paths.values()])
    # mean of both feet horizontally, mostly the lower one vertically: hips rise after a step up, and sink before one
    # down
    hips = both.mean(axis=0) if planned is None else np.zeros_like(both[0])
    lower = _lower_share(both[..., 1].mean(axis=0), motion.fps, planned is not None)[:, None]
    height = lower * both.min(axis=0) + (1.0 - lower) * both.mean(axis=0)
    shift = filter_fir(hips * [1.0, 0.0, 1.0] + height * [0.0, 1.0, 0.0], kernel / kernel.sum())
    feet = {side: limb_of(character, f"{side}_leg").end for side in paths}
    paths = {side: path.with_hips(moved, feet[side], shift) for side, path in paths.items()}
    paths = {
        side: path.unfolded(kinematics, moved, limb_of(character, f"{side}_leg"), shift) for side, path in paths.items()
    }
    if planned is not None and len(paths) == 2:
        paths = _passing(paths, kinematics, character, planned)
    rises = {side: np.zeros(len(motion)) for side in paths}
    for side, path in paths.items():
        paths[side], rises[side] = path.pushed_off(kinematics, moved, character, side, steps, shift)
    shift = shift + _up(kinematics, moved, character, paths, shift)[:, None] * rotation.AXES["y"]
    down = _down(kinematics, moved, character, paths, shift)
    shift = shift - down[:, None] * rotation.AXES["y"]
    paths = {
        side: path.within_reach(kinematics, moved, limb_of(character, f"{side}_leg"), shift)
        for side, path in paths.items()
    }
    out = replace(moved.motion, root=moved.motion.root + shift)
    for side, path in paths.items():
        limb = limb_of(character, f"{side}_leg")
        out = place_limb(_bent_at_hinge(out, limb, path.ankles), limb, path.ankles, orientations=path.turns).motion
    return out, rises


def _passing(
    paths: dict[str, _FootPath], kinematics: Kinematics, character: Character, planned: PathMapping
) -> dict[str, _FootPath]:
    """Return the paths with swinging feet going round the other foot where steps were planned nearer to each other.

    They stay as far from it sideways as on the level, but no farther than shoes are wide: on a beam a foot that went
    straight from step to step would go through the one that stands there.
    """
    settings, soles = SWING_SETTINGS, {side: sole_length(character, side) for side in paths}
    before, after = planned.before.headings, planned.before.headings + planned.turns
    feet = {side: limb_of(character, f"{side}_leg").end for side in paths}
    own = kinematics.positions[:, feet["left"]] - kinematics.positions[:, feet["right"]]
    new = paths["left"].ankles - paths["right"].ankles
    left, ahead = direction(after + 0.5 * np.pi), direction(after)
    level = direction(before + 0.5 * np.pi)
    apart, now = ((away[:, ::2] * aside).sum(axis=1) for away, aside in ((own, level), (new, left)))
    long = max(soles.values())
    # less and less as they get apart along the path
    beside = 1.0 - ((new[:, ::2] * ahead).sum(axis=1) / (settings.passing * long)) ** 2
    need = np.minimum(apart, settings.shoes * long) - now
    need = np.where(need > settings.nearer * long, np.maximum(beside, 0.0) * need, 0.0)
    need = np.where(~paths["left"].planted & ~paths["right"].planted, 0.5 * need, need)
    half, out = max(round(settings.hip_smoothing * kinematics.motion.fps), 1), {}
    for sign, (side, path) in zip((1.0, -1.0), paths.items()):
        # feet that land side by side cannot be apart there
        aside = sign * smooth_above(share_away(path.planted, half) * need, path.planted, half)
        out[side] = replace(path, ankles=path.ankles + aside[:, None] * np.insert(left, 1, 0.0, axis=1))
    return out


def _bent_at_hinge(motion: Motion, limb: Limb, ankles: NDArray) -> Motion:
    """Return the motion with knees that are about to flex more, to reach ankles (F, 3), turned towards their hinge.

    With φ₀ the flexion of a knee and β₀ the angle between its plane and that of the hinge, a knee that flexes by φ > φ₀
    does so at sin β = sin β₀ · φ₀/φ: what it bends sideways stays as it is, the rest is flexion.
    """
    kinematics, parents = Kinematics(motion), motion.skeleton.parents
    hip, knee, end = (kinematics.positions[:, joint] for joint in (limb.upper, limb.lower, limb.end))
    thigh, shank = knee - hip, end - knee
    long, short = (np.linalg.norm(bone, axis=1, keepdims=True) for bone in (thigh, shank))
    down, now = thigh / np.maximum(long, 1e-9), shank / np.maximum(short, 1e-9)
    hinge = rotation.rotate(kinematics.rotations[:, limb.upper], np.broadcast_to(limb.axis, thigh.shape))
    hinge = hinge - (hinge * down).sum(axis=1, keepdims=True) * down
    hinge /= np.maximum(np.linalg.norm(hinge, axis=1, keepdims=True), 1e-9)
    back = rotation.cross(hinge, down)
    along, ahead, aside = ((now * axis).sum(axis=1) for axis in (down, back, hinge))
    before, off = np.arctan2(np.hypot(ahead, aside), along), np.arctan2(aside, ahead)
    far = np.linalg.norm(ankles - hip, axis=1)
    cosine = (far**2 - (long**2 + short**2)[:, 0]) / np.maximum(2.0 * (long * short)[:, 0], 1e-9)
    after = np.arccos(np.clip(cosine, -1.0, 1.0))
    rows = np.flatnonzero((after > before) & (np.abs(off) < 0.5 * np.pi))
    if not len(rows):
        return motion
    turned = np.arcsin(np.sin(off[rows]) * before[rows] / after[rows])[:, None]
    sine, cosine = np.sin(before[rows])[:, None], np.cos(before[rows])[:, None]
    wanted = cosine * down[rows] + sine * (np.cos(turned) * back[rows] + np.sin(turned) * hinge[rows])
    world = rotation.multiply(rotation.between(now[rows], wanted), kinematics.rotations[rows, limb.lower])
    rotations, above = np.array(motion.rotations), kinematics.rotations[rows, parents[limb.lower]]
    rotations[rows, limb.lower] = rotation.normalize(rotation.multiply(rotation.inverse(above), world))
    return motion.like(motion.root, rotations, motion.offsets)


def _lower_share(height: NDArray, fps: float, planned: bool) -> NDArray:
    """Return the share (F,) of the lower foot in the height of the hips, given the mean height (F,) of both feet."""
    up, down, steps = SWING_SETTINGS.lower_foot
    if planned:
        return np.full(len(height), steps)
    near = round(SWING_SETTINGS.swing * fps)
    padded = np.pad(height, near, mode="edge")
    return np.where(padded[2 * near :] > padded[: len(height)], up, down)


@dataclass(frozen=True, eq=False)
class _FootPath:
    """The path of one foot on uneven ground."""

    ankles: NDArray
    """(F, 3) metres."""
    turns: NDArray
    """(F, 4) world rotations of the foot."""
    hips: NDArray
    """(F, 3) metres; shift of the hips that the ground under the foot asks for."""
    aloft: NDArray
    """(F,) weights, 0 to 1: how much the foot follows the hips instead of the ground (a kick)."""
    room: NDArray
    """(F,) metres by which the foot may be lower; 0 where it is planted."""
    planted: NDArray
    """(F,) bool."""

    def with_hips(self, kinematics: Kinematics, foot: int, shift: NDArray) -> _FootPath:
        """Return the path blended, where aloft, with the original one moved by the hips' shift (F, 3), metres."""
        share = self.aloft[:, None]
        ankles = self.ankles + share * (kinematics.positions[:, foot] + shift - self.ankles)
        return replace(self, ankles=ankles, turns=rotation.slerp(self.turns, kinematics.rotations[:, foot], self.aloft))

    def unfolded(self, kinematics: Kinematics, moved: Kinematics, limb: Limb, shift: NDArray) -> _FootPath:
        """Return the path with a swinging foot lowered where its leg would be folded, as far as the ground lets it.

        A foot that swings high behind the body is higher than the ground asks for.
        """
        most = max(SWING_SETTINGS.swing_folded, float(_flexions(kinematics, limb).max(initial=0.0)))
        lower = np.minimum(_folded(kinematics, moved, limb, self.ankles, shift, most), self.room)
        half = round(SWING_SETTINGS.unfolding * kinematics.motion.fps)
        down = smooth_above(lower, self.planted, half)
        return replace(self, ankles=self.ankles - down[:, None] * rotation.AXES["y"])

    def within_reach(self, kinematics: Kinematics, moved: Kinematics, limb: Limb, shift: NDArray) -> _FootPath:
        """Return the path with a swinging foot no farther from its hip joint than its leg reaches.

        In a stride that is longer than on the level, or uphill, a foot that is early is out of reach until the body
        comes after it. Hips that came down for it would fold the other leg.
        """
        away = self.ankles - moved.positions[:, limb.upper] - shift
        far = np.linalg.norm(away, axis=1)
        half = round(SWING_SETTINGS.swing * kinematics.motion.fps)
        nearer = smooth_above(np.maximum(far - _reach(kinematics, limb), 0.0), self.planted, half)
        return replace(self, ankles=self.ankles - (nearer / np.maximum(far, 1e-9))[:, None] * away)

    def pushed_off(
        self, kinematics: Kinematics, moved: Kinematics, character: Character, side: str, steps: Sequence[Step],
        shift: NDArray,
    ) -> tuple[_FootPath, NDArray]:  # fmt: skip
        """Return the path with a trailing foot that its leg cannot reach pitched about its ball, and by how much (F,).

        Legs push hips up a slope so: without, hips come down for the trailing leg, and the other knee bends too far.
        """
        if f"{side}_toes" not in character.require_roles():
            return self, np.zeros(len(shift))
        limb = limb_of(character, f"{side}_leg")
        back, ankles = rotation.inverse(kinematics.rotations[:, limb.end]), kinematics.positions[:, limb.end]
        heels, balls = (
            self.ankles + rotation.rotate(self.turns, rotation.rotate(back, kinematics.point(point) - ankles))
            for point in (character.contacts[f"{side}_{part}"] for part in ("heel", "ball"))
        )
        hips = moved.positions[:, limb.upper] + shift
        rise, turn = push_off_rises(
            hips, self.ankles, heels, balls, _reach(kinematics, limb), steps, side, kinematics.motion.fps
        )
        raised = balls + rotation.rotate(turn, self.ankles - balls)
        return replace(self, ankles=raised, turns=rotation.normalize(rotation.multiply(turn, self.turns))), rise


def _foot_path(
    kinematics: Kinematics,
    character: Character,
    side: str,
    own: Sequence[tuple[Step, Footing]],
    level: Ground,
    ground: Ground,
    planned: PathMapping | None,
) -> _FootPath:
    """Return the path of one foot: shifted and tilted with each step, and lifted over obstacles between steps."""
    limb = limb_of(character, f"{side}_leg")
    points = [character.contacts[f"{side}_{part}"] for part in SOLE if f"{side}_{part}" in character.contacts]
    soles = kinematics.points(points)
    swing = max(SWING_SETTINGS.swing * kinematics.motion.fps, 1.0)
    deepest = STEP_PLAN_SETTINGS.running_rise * leg_length(character.skeleton, character.require_roles())
    anchors = _anchors(own, 0.5 * (soles[:, 0] + soles[:, 1]), level, ground, planned, swing, deepest)
    path = _StepPath.of(anchors, 0.5 * (soles[:, 0] + soles[:, 1]))
    ankles = kinematics.positions[:, limb.end]
    if planned is not None:
        nearer = path.between(_corrections(own, soles))
        soles, ankles = soles + nearer[:, None], ankles + nearer
    # sample midpoints too: edges between heel and toe count as well
    line = np.linspace(0.0, len(points) - 1.0, 2 * len(points) - 1)
    soles = 0.5 * (soles[:, np.floor(line).astype(int)] + soles[:, np.ceil(line).astype(int)])
    high = soles[..., 1] - level.height(soles[..., ::2])
    air = np.minimum(high, SWING_SETTINGS.clearance * character.height)
    lift, moment = path.shift[:, 1], path.frames.astype(float)
    for _ in range(2):
        moved = np.stack([path.moved(_sampled(soles[:, n], moment)) for n in range(soles.shape[1])], axis=1)
        # a foot comes down beside a riser: the rim of its sole does not have to clear it
        inner = moved + SWING_SETTINGS.rim * (moved.mean(axis=1, keepdims=True) - moved)
        need = (ground.height(inner[..., ::2]) + _sampled(air, moment) - moved[..., 1]).max(axis=1)
        lift = _lift(need, path, kinematics.motion.fps)
        moment = path.frames + _advance(lift, path, SWING_SETTINGS.detour * character.height)
    ankles = path.moved(_sampled(ankles, moment)) + lift[:, None] * rotation.AXES["y"]
    first, second = np.floor(moment).astype(int), np.ceil(moment).astype(int)
    turns = kinematics.rotations[:, limb.end]
    turns = rotation.multiply(path.tilts, rotation.slerp(turns[first], turns[second], moment - first))
    low, full = SWING_SETTINGS.aloft
    aloft = np.clip((high.min(axis=1) / character.height - low) / (full - low), 0.0, 1.0)
    aloft = aloft * aloft * (3.0 - 2.0 * aloft)
    if planned is not None:
        # a foot that runs keeps to its way: where strides change it is not where the hips would have it
        aloft = aloft * (1.0 - path.far)
    planted = ((path.share == 0.0) | (path.share == 1.0)) & ~path.free
    room = np.where(planted, 0.0, np.maximum(lift - need, 0.0))
    return _FootPath(ankles, rotation.normalize(turns), path.shift, aloft, room, planted)


def _sampled(values: NDArray, moments: NDArray) -> NDArray:
    """Return rows of an array at fractional frames, interpolated linearly."""
    first, second = np.floor(moments).astype(int), np.ceil(moments).astype(int)
    share = (moments - first).reshape(-1, *(1,) * (values.ndim - 1))
    return values[first] + share * (values[second] - values[first])


@dataclass(frozen=True, eq=False)
class _Anchor:
    """A known part of a foot's path: a step, or an end of the clip."""

    start: int
    end: int
    """Frame after the last one."""
    shift: NDArray
    """(3,) metres; shift from the level ground."""
    pivot: NDArray
    """(3,) metres; centre of the tilt, on the level ground."""
    tilt: NDArray
    """(4,) world rotation."""
    free: bool = False
    """Whether the foot is in the air, at an end of the clip."""
    gone: float = 0.0
    """How far a foot in the air has gone from its step beside that end, 0 to 1."""


@dataclass(frozen=True, eq=False)
class _StepPath:
    """Shift and tilt of a foot in every frame, interpolated from anchor to anchor."""

    anchors: list[_Anchor]
    frames: NDArray
    """(F,) 0 … F−1."""
    share: NDArray
    """(F,) interpolation parameter from one anchor to the next, 0 to 1, with zero derivative at both."""
    shift: NDArray
    """(F, 3) metres; interpolated shift of the foot."""
    pivots: NDArray
    """(F, 3) metres; interpolated centres of the tilt."""
    tilts: NDArray
    """(F, 4) interpolated world rotations."""
    free: NDArray
    """(F,) bool; ends of the clip where the foot is in the air."""
    far: NDArray
    """(F,) 0 to 1: whether the foot goes from one step to another, rather than up and down beside it."""

    @classmethod
    def of(cls, anchors: list[_Anchor], middles: NDArray) -> _StepPath:
        """Return the path through anchors of a foot whose middle is at places (F, 3) on the level ground, metres."""
        count = len(middles)
        frames = np.arange(count)
        start, end = (np.array([getattr(anchor, key) for anchor in anchors]) for key in ("start", "end"))
        before = np.clip(np.searchsorted(start, frames, side="right") - 1, 0, len(anchors) - 1)
        after = np.minimum(before + 1, len(anchors) - 1)
        gap = np.maximum(start[after] - (end[before] - 1), 1)
        share = np.where(after == before, 0.0, np.clip((frames - (end[before] - 1)) / gap, 0.0, 1.0))
        share = share * share * (3.0 - 2.0 * share)
        shift, pivot, tilt = (
            np.array([getattr(anchor, key) for anchor in anchors]) for key in ("shift", "pivot", "tilt")
        )
        shifts, pivots = (
            values[before] + share[:, None] * (values[after] - values[before]) for values in (shift, pivot)
        )
        done, far = _way_done(middles, end[before] - 1, start[after], share)
        flat = [0, 2]
        shifts[:, flat] = shift[before][:, flat] + done[:, None] * (shift[after] - shift[before])[:, flat]
        free = np.zeros(count, bool)
        free[[anchor.start for anchor in anchors if anchor.free]] = True
        if count > 1:
            # an end of the clip is part of the way that leads to it
            far[[0, -1]] = np.where(free[[0, -1]], far[[1, -2]], far[[0, -1]])
        return cls(anchors, frames, share, shifts, pivots, rotation.slerp(tilt[before], tilt[after], share), free, far)

    def between(self, values: NDArray) -> NDArray:
        """Return values (F, 3) of the steps' frames, interpolated between them, and fading towards the clip's ends."""
        out = np.array(values)
        for one, other in pairwise(self.anchors):
            if one.free:
                out[one.start] = (1.0 - one.gone) * out[other.start]
            elif other.free:
                out[other.start] = (1.0 - other.gone) * out[one.end - 1]
        for one, other in pairwise(self.anchors):
            rows, first = np.arange(one.end, other.start), out[one.end - 1]
            out[rows] = first + self.share[rows, None] * (out[other.start] - first)
        return out

    def moved(self, places: NDArray) -> NDArray:
        """Return places (F, 3) of the foot, tilted and shifted horizontally, but not lifted."""
        return self.pivots + rotation.rotate(self.tilts, places - self.pivots) + self.shift * [1.0, 0.0, 1.0]

    def swings(self) -> Iterator[tuple[NDArray, NDArray]]:
        """Yield the frames of each swing phase, anchors' frames at both ends included, and its parameter, 0 to 1."""
        for one, other in pairwise(self.anchors):
            rows = np.arange(one.end - 1, other.start + 1)
            if len(rows) > 2:
                done = self.share[rows]
                done[-1] = 1.0
                yield rows, done


def _corrections(own: Sequence[tuple[Step, Footing]], soles: NDArray) -> NDArray:
    """Return how far (F, 3), metres, level, a foot is from where it lands and leaves, over the frames of its steps.

    soles: (F, 2 or more, 3) of heel and ball, metres, on the level ground. A captured foot glides while it is planted:
    beside an edge it would have to clear it until the solver puts it in its place.
    """
    out = np.zeros((len(soles), 3))
    for step, footing in own:
        back, ends = rotation.inverse(footing.tilt), np.zeros((2, 3))
        for end, frame in zip(ends, (step.start, step.end - 1)):
            found = [
                footing.level + rotation.rotate(back, place - footing.middle) - soles[frame, number]
                for number, (place, plants) in enumerate(((footing.heel, step.heels), (footing.ball, step.balls)))
                if place is not None and any(plant.start <= frame < plant.end for plant in plants)
            ]
            if found:
                end[:] = np.mean(found, axis=0) * [1.0, 0.0, 1.0]
        out[step.start : step.end] = np.linspace(ends[0], ends[1], step.end - step.start)
    return out


def _way_done(middles: NDArray, first: NDArray, last: NDArray, share: NDArray) -> tuple[NDArray, NDArray]:
    """Return how much (F,) of its way a foot has gone from one frame (F,) to another one (F,), 0 to 1.

    With it, whether that way is long (F,), 0 to 1. middles: (F, 3) places of the foot, metres. share: (F,) the same by
    time, which counts where there is no way to go. By time alone a foot of shorter strides than its own would be drawn
    back while it leaves its step, into a riser behind it.
    """
    last = np.maximum(last, first)
    way, gone = (middles[last] - middles[first])[:, ::2], (middles - middles[first])[:, ::2]
    square, least = (way * way).sum(axis=1), SWING_SETTINGS.least_way**2
    done = ((way * gone).sum(axis=1) + least * share) / (square + least)
    return np.where((share > 0.0) & (share < 1.0), done, share), square / (square + least)


def _anchors(
    own: Sequence[tuple[Step, Footing]], middles: NDArray, level: Ground, ground: Ground, planned: PathMapping | None,
    swing: float, deepest: float,
) -> list[_Anchor]:  # fmt: skip
    """Return a foot's steps in order, and the ends of the clip where it is in the air.

    middles: (F, 3) of the foot, metres. swing: frames of a usual swing phase. deepest: metres that a step goes down at
    most (the highest that a run climbs without effort).
    """
    found: list[_Anchor] = []
    for step, footing in own:
        start = max(step.start, found[-1].end if found else 0)
        if start < step.end:
            found.append(_Anchor(start, step.end, footing.middle - footing.level, footing.level, footing.tilt))
    free = [frame for frame in (0, len(middles) - 1) if not any(a.start <= frame < a.end for a in found)]
    for frame in dict.fromkeys(free):
        place = middles[frame]
        flat = np.array([place[0], float(level.height(place[None, ::2])[0]), place[2]])
        to = flat if planned is None else planned.moved(flat[None], [frame])[0]
        to = np.array([to[0], float(ground.height(to[None, ::2])[0]), to[2]])
        if found:
            last = found[0] if frame == 0 else found[-1]
            beside = float(last.pivot[1] + last.shift[1])
            # over what no step goes down to (a ditch between stones) a foot stays as high as its step
            to[1] = to[1] if beside - to[1] <= deepest else beside
        shift, near, share = to - flat, rotation.identity(), 1.0
        if found:
            # a foot that leaves the ground just before the end has not gone far from its step
            gap = last.start - frame if frame == 0 else frame - last.end + 1
            share, steps = min(gap / swing, 1.0), [anchor for anchor in found if not anchor.free]
            if len(steps) > 1:
                # halfway to its next step it is where the body is
                stride = max(float(np.linalg.norm((b.pivot - a.pivot)[::2])) for a, b in pairwise(steps))
                own = middles[last.start if frame == 0 else last.end - 1]
                share = min(2.0 * float(np.linalg.norm((place - own)[::2])) / max(stride, 1e-3), 1.0)
            shift, near = last.shift + share * (shift - last.shift), last.tilt
        end = _Anchor(frame, frame + 1, shift, flat, near, True, share)
        found = [end, *found] if frame == 0 else [*found, end]
    return found


def _lift(need: NDArray, path: _StepPath, fps: float) -> NDArray:
    """Return the lift (F,) of a foot, metres: of its steps, and in a swing phase the upper hull of the needs (F,).

    The hull is taken over the swing's parameter, which starts and ends with zero derivative; so does the foot.
    """
    lift = np.array(path.shift[:, 1])
    half = max(round(SWING_SETTINGS.lift_smoothing * fps), 1)
    for rows, done in path.swings():
        base = path.shift[rows, 1]
        heights = np.maximum(base, need[rows])
        # a foot that is in the air at an end of the clip need not be down there
        for end in (0, -1):
            if not path.free[rows[end]]:
                heights[end] = base[end]
        hull = _upper_hull(done, heights)
        lift[rows] = filter_fir(hull[:, None], binomial_kernel(2 * half + 1), ends="reflect")[:, 0]
    return lift


def _advance(lift: NDArray, path: _StepPath, detour: float) -> NDArray:
    """Return frames (F,) by which a foot is early on a step down, so that it clears the edge; detour: metres."""
    out = np.zeros(len(lift))
    for rows, _ in path.swings():
        base = path.shift[rows, 1]
        if base[-1] < base[0]:
            around = min(float((lift[rows] - base).max()) / detour, 1.0)
            done = np.linspace(0.0, 1.0, len(rows))
            # 27/4 u² (1 − u): 1 at u = 2/3 of the swing, 0 with zero derivative at its start
            out[rows] = SWING_SETTINGS.most_ahead * around * (len(rows) - 1) * 6.75 * done**2 * (1.0 - done)
    return out


def _upper_hull(x: NDArray, y: NDArray) -> NDArray:
    """Return the lowest concave curve (N,) above points with rising x, at their x."""
    hull: list[int] = []
    for n in range(len(x)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            if (y[b] - y[a]) * (x[n] - x[a]) > (y[n] - y[a]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(n)
    return np.interp(x, x[hull], y[hull])


def _reach(kinematics: Kinematics, limb: Limb) -> NDArray:
    """Return how far (F,), metres, a leg may stretch from hip joint to ankle."""
    before = np.linalg.norm(kinematics.positions[:, limb.end] - kinematics.positions[:, limb.upper], axis=1)
    joints = kinematics.positions[:, [limb.upper, limb.lower, limb.end]]
    length = np.linalg.norm(np.diff(joints, axis=1), axis=2).sum(axis=1)
    return np.maximum(before, SWING_SETTINGS.straightest * length)


def _flexions(kinematics: Kinematics, limb: Limb) -> NDArray:
    """Return flexions (F,) of a knee, radians."""
    thigh, shank = np.moveaxis(np.diff(kinematics.positions[:, [limb.upper, limb.lower, limb.end]], axis=1), 1, 0)
    return np.arctan2(np.linalg.norm(rotation.cross(thigh, shank), axis=1), (thigh * shank).sum(axis=1))


def _folded(
    kinematics: Kinematics, moved: Kinematics, limb: Limb, ankles: NDArray, shift: NDArray, most: float
) -> NDArray:
    """Return metres (F,) by which a hip joint is too low over an ankle for a knee flexed by `most` radians.

    A leg that is folded farther on the level may be so here, less what its ankle is moved relative to its hip joint:
    a folded leg turns far when its ends, which are near each other, move a little.
    kinematics: on the level. moved, shift: hips, and their shift (F, 3), metres.
    """
    joints = kinematics.positions[:, [limb.upper, limb.lower, limb.end]]
    bones, own = np.linalg.norm(np.diff(joints, axis=1), axis=2), joints[:, 0] - joints[:, 2]
    away = moved.positions[:, limb.upper] + shift - ankles
    nearest = np.linalg.norm(own, axis=1) + np.linalg.norm(away - own, axis=1)
    nearest = np.minimum(end_distance(bones[:, 0], bones[:, 1], most), nearest)
    above = np.sqrt(np.maximum(nearest**2 - away[:, 0] ** 2 - away[:, 2] ** 2, 0.0))
    # hips below the foot (acrobatics) stay there
    return np.where((own[:, 1] > 0.0) & (above > 0.0), np.maximum(above - away[:, 1], 0.0), 0.0)


def _up(
    kinematics: Kinematics, moved: Kinematics, character: Character, paths: dict[str, _FootPath], shift: NDArray
) -> NDArray:
    """Return metres (F,) that the hips come up, smoothly, so that no leg is folded too far.

    A body that squats over two treads would else fold the leg of the higher foot beyond its knee's limit.
    """
    need = np.zeros(len(kinematics.frames))
    for side, path in paths.items():
        limb = limb_of(character, f"{side}_leg")
        need = np.maximum(need, _folded(kinematics, moved, limb, path.ankles, shift, SWING_SETTINGS.most_folded))
    return smooth_envelope(np.where(need > 1e-9, need, 0.0), round(SWING_SETTINGS.swing * kinematics.motion.fps))


def _down(
    kinematics: Kinematics, moved: Kinematics, character: Character, paths: dict[str, _FootPath], shift: NDArray
) -> NDArray:
    """Return metres (F,) that the hips come down, smoothly, so that both legs reach their feet where they are planted.

    For swinging feet they come down by a share of it, `SwingSettings.for_swing`.
    """
    need = np.zeros(len(kinematics.frames))
    for side, path in paths.items():
        limb = limb_of(character, f"{side}_leg")
        hip = moved.positions[:, limb.upper]
        reach = _reach(kinematics, limb)
        away = path.ankles - (hip + shift)
        below = np.sqrt(np.maximum(reach**2 - away[:, 0] ** 2 - away[:, 2] ** 2, 0.0))
        need = np.maximum(need, np.where(path.planted, 1.0, SWING_SETTINGS.for_swing) * (-away[:, 1] - below))
    return smooth_envelope(np.where(need > 1e-9, need, 0.0), round(SWING_SETTINGS.swing * kinematics.motion.fps))
