"""Feet on uneven ground: where each step stands on it, how the foot is tilted, and how it gets from step to step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.analysis.ground import Ground, normal_of
from footplant.edits.footsteps import Places, Step
from footplant.edits.soles import SOLE
from footplant.ik.limb import limb_of
from footplant.ik.limb import place as place_limb
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.spline import binomial_kernel, filter_fir, smooth_envelope

UNEVEN = 0.012
"""Body heights; ground that differs by more than this from a plane under a foot is an edge (2 cm for an adult)."""
STEEPEST = 1.0
"""Rise over run beyond which no foot stands."""
FARTHEST = 0.25
"""Body heights; how far a step is moved at most to find a place where the whole foot stands."""
CLEARANCE = 0.02
"""Body heights; how high above the ground a foot swings, if it did so on the level (3.5 cm for an adult)."""
STRAIGHT = 0.985
"""Share of its full length to which a leg stretches on uneven ground, unless it was straighter on the level."""
SETTLE = 0.2
"""Seconds over which the hips follow the ground."""


@dataclass(frozen=True, eq=False)
class Footing:
    """One step on uneven ground."""

    heel: NDArray | None
    """(3,) metres; where the heel stands, or None when it does not."""
    ball: NDArray | None
    """(3,) metres; where the ball stands, or None."""
    level: NDArray
    """(3,) metres; the middle of what stands, on the level ground that it comes from."""
    middle: NDArray
    """(3,) metres; the same on the uneven ground."""
    tilt: NDArray
    """(4,) world rotation that takes the foot from the level onto the slope."""
    moved: float
    """Metres by which the step was moved over the floor to find an even place."""
    even: bool
    """Whether the foot stands on an even place; False where there was none within reach."""


def find_footing(
    step: Step, places: Places, target: Character, level: Ground, ground: Ground, *, may_move: bool = True
) -> Footing:
    """Where a step on the level stands on uneven ground: straight above or below, or beside it if there is an edge.

    Heel and ball are put on the surface as far apart as they are on the foot, and what stood higher than the level
    stands as much higher. The foot lies on the surface: its line between heel and ball, its roll by the normal there.
    """
    known = [place for place in places if place is not None]
    middle = np.mean(known, axis=0)
    line = known[-1] - known[0]
    above = float(middle[1] - level.height(middle[None, ::2])[0])
    shift, even = _least_move(step, places, target, ground) if may_move else (np.zeros(3), True)
    heel, ball = (None if place is None else _stand(place + shift, ground, above) for place in places)
    base = normal_of(level, middle[None, ::2])[0]
    if heel is not None and ball is not None:
        heel, ball = _stretch(middle + shift, line, ground, above)
        tilt = _turn(line, base, ball - heel, normal_of(ground, (middle + shift)[None, ::2])[0])
    else:
        tilt = rotation.between(base, normal_of(ground, (middle + shift)[None, ::2])[0])
    now = np.mean([place for place in (heel, ball) if place is not None], axis=0)
    return Footing(heel, ball, middle, now, tilt, float(np.linalg.norm(shift)), even)


def _stand(place: NDArray, ground: Ground, above: float) -> NDArray:
    """A place straight on the ground, or as far over it as asked."""
    return np.array([place[0], float(ground.height(place[None, ::2])[0]) + above, place[2]])


def _stretch(middle: NDArray, line: NDArray, ground: Ground, above: float) -> tuple[NDArray, NDArray]:
    """Heel and ball on the ground either side of a place, exactly as far apart as the line between them is long."""
    length = float(np.linalg.norm(line))
    flat = line * [1.0, 0.0, 1.0]
    along = flat / max(float(np.linalg.norm(flat)), 1e-9)
    short, long = 0.0, 0.5 * length
    heel = ball = middle
    for _ in range(40):
        half = 0.5 * (short + long)
        heel, ball = (_stand(middle + sign * half * along, ground, above) for sign in (-1.0, 1.0))
        if np.linalg.norm(ball - heel) < length:
            short = half
        else:
            long = half
    return heel, ball


def _turn(line: NDArray, up: NDArray, new_line: NDArray, new_up: NDArray) -> NDArray:
    """The rotation (4,) from one line with its upward side to another."""
    frames = []
    for along, over in ((line, up), (new_line, new_up)):
        z = along / np.linalg.norm(along)
        x = np.cross(over, z)
        x = x / np.linalg.norm(x)
        frames.append(np.stack([x, np.cross(z, x), z], axis=1))
    return rotation.from_matrix(frames[1] @ frames[0].T)


def _least_move(step: Step, places: Places, target: Character, ground: Ground) -> tuple[NDArray, bool]:
    """(3,) the least shift over the floor that brings the whole foot, heel to toe, onto an even place."""
    heel, ball = places
    length = _sole_length(target, step.side)
    if heel is not None and ball is not None:
        along = ball - heel
        first, last = heel, heel + along / max(float(np.linalg.norm(along)), 1e-9) * length
    else:
        only = heel if heel is not None else ball
        assert only is not None
        first = last = only
    # a little air before the toe and behind the heel: what stands at a riser could not leave it
    samples = first + np.linspace(-0.08, 1.12, 13)[:, None] * (last - first)
    along = (last - first) * [1.0, 0.0, 1.0]
    along = along / max(float(np.linalg.norm(along)), 1e-9) if np.linalg.norm(along) > 1e-9 else rotation.AXES["z"]
    across = np.array([along[2], 0.0, -along[0]])
    farthest, height = FARTHEST * target.height, target.height
    ways = [np.zeros(3)]
    for distance in np.arange(0.01, farthest, 0.01):
        # straight on or back first; sideways costs balance
        ways += [distance * along, -distance * along]
        if distance < 0.4 * farthest:
            ways += [distance * across, -distance * across]
    for first_way in range(0, len(ways), 32):
        some = np.array(ways[first_way : first_way + 32])
        heights = ground.height((samples[None] + some[:, None])[..., ::2])
        fine = np.flatnonzero(_unevenness(samples, heights) < UNEVEN * height)
        if len(fine):
            return some[fine[0]], True
    return np.zeros(3), False


def _unevenness(samples: NDArray, heights: NDArray) -> NDArray:
    """(W,) metres by which heights (W, N) differ most from the straight line that fits them best, for each way."""
    along = np.linalg.norm((samples - samples[0])[:, ::2], axis=1)
    centered = along - along.mean()
    spread = float(centered @ centered)
    rest = heights - heights.mean(axis=1, keepdims=True)
    if spread < 1e-12:
        return np.abs(rest).max(axis=1)
    slopes = rest @ centered / spread
    uneven = np.abs(rest - slopes[:, None] * centered).max(axis=1)
    return np.where(np.abs(slopes) > STEEPEST, np.inf, uneven)


def _sole_length(character: Character, side: str) -> float:
    """Metres from the heel to the tip of the toes at rest."""
    places, turned = character.skeleton.rest_world
    heel, *rest = (
        places[point.joint] + rotation.rotate(turned[point.joint], np.array(point.offset))
        for point in (character.contacts.get(f"{side}_{part}") for part in SOLE)
        if point is not None
    )
    return float(max((np.linalg.norm(other - heel) for other in rest), default=0.0))


def carry_feet(
    motion: Motion,
    character: Character,
    steps: Sequence[Step],
    footings: Sequence[Footing],
    level: Ground,
    ground: Ground,
) -> Motion:
    """The motion with feet and hips carried from the level onto uneven ground, smoothly from step to step.

    Kulpa, Multon & Arnaldi 2005, section 4.3 (METHODS D4), with feet that tilt and swing over what is in their way: a
    first guess, near enough that the plants need little more. On ground that is as level as before nothing changes.
    """
    kinematics = Kinematics(motion)
    paths = {}
    for side in ("left", "right"):
        own = [(step, footing) for step, footing in zip(steps, footings) if step.side == side]
        if all(f"{side}_{part}" in character.contacts for part in ("heel", "ball")):
            paths[side] = _foot_path(kinematics, character, side, own, level, ground)
    if not paths:
        return motion
    half = round(SETTLE * motion.fps)
    kernel = np.hanning(2 * half + 3)[1:-1]
    shift = filter_fir(np.mean([path.hips for path in paths.values()], axis=0), kernel / kernel.sum())
    moved = replace(motion, root=motion.root + shift)
    moved = replace(moved, root=moved.root - _down(kinematics, character, paths, shift, half)[:, None] * [0, 1, 0])
    for side, path in paths.items():
        moved = place_limb(moved, limb_of(character, f"{side}_leg"), path.ankles, orientations=path.turns).motion
    return moved


@dataclass(frozen=True, eq=False)
class _FootPath:
    """Where one foot goes."""

    ankles: NDArray
    """(F, 3) metres."""
    turns: NDArray
    """(F, 4) world rotations of the foot."""
    hips: NDArray
    """(F, 3) metres; how far the ground under it shifts the hips."""


def _foot_path(
    kinematics: Kinematics,
    character: Character,
    side: str,
    own: Sequence[tuple[Step, Footing]],
    level: Ground,
    ground: Ground,
) -> _FootPath:
    """One foot carried by its steps: shifted and tilted with each, and from each to the next over what lies between."""
    count = len(kinematics.frames)
    limb = limb_of(character, f"{side}_leg")
    points = [character.contacts[f"{side}_{part}"] for part in SOLE if f"{side}_{part}" in character.contacts]
    soles = kinematics.points(points)
    # edges between heel and toe count as well
    line = np.linspace(0.0, len(points) - 1.0, 2 * len(points) - 1)
    soles = 0.5 * (soles[:, np.floor(line).astype(int)] + soles[:, np.ceil(line).astype(int)])
    middles = soles[:, 0] * 0.5 + soles[:, 2] * 0.5
    anchors = _anchors(own, middles, level, ground, count)
    frames = np.arange(count)
    before = np.clip(np.searchsorted([a.start for a in anchors], frames, side="right") - 1, 0, len(anchors) - 1)
    after = np.minimum(before + 1, len(anchors) - 1)
    end, start = (np.array([getattr(a, key) for a in anchors]) for key in ("end", "start"))
    gap = np.maximum(start[after] - (end[before] - 1), 1)
    share = np.clip((frames - (end[before] - 1)) / gap, 0.0, 1.0)
    share = np.where(after == before, 0.0, share)
    share = share * share * (3.0 - 2.0 * share)
    shift, pivot, tilt = (np.array([getattr(a, key) for a in anchors]) for key in ("shift", "pivot", "tilt"))
    hips = shift[before] + share[:, None] * (shift[after] - shift[before])
    pivots = pivot[before] + share[:, None] * (pivot[after] - pivot[before])
    tilts = rotation.slerp(tilt[before], tilt[after], share)

    def carried(places: NDArray) -> NDArray:
        return pivots + rotation.rotate(tilts, places - pivots)

    lifted = hips * [1.0, 0.0, 1.0]
    moved = np.stack([carried(soles[:, n]) + lifted for n in range(soles.shape[1])], axis=1)
    air = np.clip(soles[..., 1] - level.height(soles[..., ::2]), 0.0, CLEARANCE * character.height)
    need = (ground.height(moved[..., ::2]) + air - moved[..., 1]).max(axis=1)
    lifted[:, 1] = _over(need, hips[:, 1], share, anchors, kinematics.motion.fps)
    turns = rotation.multiply(tilts, kinematics.rotations[:, limb.end])
    return _FootPath(carried(kinematics.positions[:, limb.end]) + lifted, turns, hips)


@dataclass(frozen=True, eq=False)
class _Anchor:
    """What is known of a foot's way: a step, or an end of the clip."""

    start: int
    end: int
    shift: NDArray
    """(3,) metres from the level."""
    pivot: NDArray
    """(3,) metres; about which the foot is tilted, on the level."""
    tilt: NDArray


def _anchors(
    own: Sequence[tuple[Step, Footing]], middles: NDArray, level: Ground, ground: Ground, count: int
) -> list[_Anchor]:
    """The steps of a foot in order, and its places at the ends of the clip where it is in the air."""
    found: list[_Anchor] = []
    for step, footing in own:
        start = max(step.start, found[-1].end if found else 0)
        if start < step.end:
            found.append(_Anchor(start, step.end, footing.middle - footing.level, footing.level, footing.tilt))
    free = [frame for frame in (0, count - 1) if not any(a.start <= frame < a.end for a in found)]
    for frame in dict.fromkeys(free):
        place = middles[frame]
        flat = np.array([place[0], float(level.height(place[None, ::2])[0]), place[2]])
        rise = float(ground.height(place[None, ::2])[0]) - flat[1]
        near = (found[0] if frame == 0 else found[-1]).tilt if found else rotation.identity()
        end = _Anchor(frame, frame + 1, np.array([0.0, rise, 0.0]), flat, near)
        found = [end, *found] if frame == 0 else [*found, end]
    return found


def _over(need: NDArray, plain: NDArray, share: NDArray, anchors: Sequence[_Anchor], fps: float) -> NDArray:
    """(F,) metres that a foot is lifted: as its steps say and, in between, like a string drawn tight over what it needs.

    The string is drawn over the share of the way that is done, which starts and ends at rest; so does the foot.
    """
    lift = np.array(plain)
    half = max(round(0.04 * fps), 1)
    for one, other in zip(anchors, anchors[1:]):
        rows = np.arange(one.end - 1, other.start + 1)
        if len(rows) < 3:
            continue
        heights = np.maximum(plain[rows], need[rows])
        heights[0], heights[-1] = plain[rows[0]], plain[rows[-1]]
        string = _upper_hull(share[rows], heights)
        smooth = filter_fir(string[:, None], binomial_kernel(2 * half + 1), ends="reflect")[:, 0]
        lift[rows] = smooth
    return lift


def _upper_hull(x: NDArray, y: NDArray) -> NDArray:
    """(N,) the lowest concave curve over points (x rising), at their own x."""
    hull: list[int] = []
    for n in range(len(x)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            if (y[b] - y[a]) * (x[n] - x[a]) > (y[n] - y[a]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(n)
    return np.interp(x, x[hull], y[hull])


def _down(
    kinematics: Kinematics, character: Character, paths: dict[str, _FootPath], shift: NDArray, half: int
) -> NDArray:
    """(F,) metres that the hips come down, smoothly, so that both legs reach their feet without being stretched."""
    need = np.zeros(len(kinematics.frames))
    for side, path in paths.items():
        limb = limb_of(character, f"{side}_leg")
        hip = kinematics.positions[:, limb.upper]
        before = np.linalg.norm(kinematics.positions[:, limb.end] - hip, axis=1)
        joints = kinematics.positions[:, [limb.upper, limb.lower, limb.end]]
        length = np.linalg.norm(np.diff(joints, axis=1), axis=2).sum(axis=1)
        reach = np.maximum(before, STRAIGHT * length)
        away = path.ankles - (hip + shift)
        below = np.sqrt(np.maximum(reach**2 - away[:, 0] ** 2 - away[:, 2] ** 2, 0.0))
        need = np.maximum(need, -away[:, 1] - below)
    return smooth_envelope(np.where(need > 1e-9, need, 0.0), half)
