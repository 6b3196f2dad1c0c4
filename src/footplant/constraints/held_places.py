"""Where hands belong that hold another figure's hand, rest on its body, or hold a prop; where hips belong that sit.

Hands i that hold one thing (each other, or a prop) are at m + o_i, where

    m = argmin Σ_i |m + o_i − p_i⁰|² / r_i²   subject to   |m + o_i − shoulder_i| ≤ r_i

p⁰ is where the bodies' own solution has them, r the reach of each arm, and o the offset from the thing: half of the
source's scaled vector between two hands, or the grip's place on a prop, which keeps the source's rotation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Clip
from footplant.constraints.points import Position
from footplant.contacts.exchanges import Exchange, Grip, on_other_body, prop_box
from footplant.geometry import Box
from footplant.humanoid.body_proxy import SEGMENTS, BodySurface
from footplant.kinematics import Kinematics
from footplant.skeleton import Character, Point
from footplant.transfer import hip_centers

RAMP = 0.4
"""Seconds in which a hand goes to and from what it holds: as long as a captured handshake's approach from 30 cm."""
STRETCH = 0.98
"""Share of an arm's length that its goals stay within: beyond it, elbows snap straight."""
COMFORT = 0.85
"""Share of both arms' lengths that the shoulders of two figures that hold hands are within. Captured ones have 0.34 to
1.11 (medians of 14 holds, half of them below 0.83), with forearms that are captured short; without it an adult bows to
a child's hand."""
PROJECTIONS = 32
"""Rounds of moving a place into the reach of all arms. On two captured pairs and two pairs of bodies the place is then
within 0.01 mm of that of 512 rounds where all can reach it; where they cannot, it is between their reaches, and
trunks lean."""
FLAT = np.array([1.0, 0.0, 1.0])


def moved(clip: Clip, shift: NDArray) -> Clip:
    """Return the clip moved by a shift (3,) or (F, 3), metres."""
    motion = clip.motion
    return replace(clip, motion=motion.like(motion.root + shift, motion.rotations, motion.offsets))


@dataclass(frozen=True, eq=False)
class Prop:
    """A rigid prop of the capture, and the one that takes its place in the result: the same, or of another size."""

    source: Clip
    """With as many frames as the figures."""
    target: Clip

    @property
    def moves(self) -> bool:
        """Return whether it moves in the capture, as a box that is carried does, and a chair does not."""
        places = self.source.motion.root
        return bool(
            np.ptp(places, axis=0).max() > 1e-6 or np.ptp(self.source.motion.rotations[:, 0], axis=0).max() > 1e-6
        )

    def place_on_target(self, place: Sequence[float], thickness: float = 1.0) -> NDArray:
        """Return the place (3,) on the target that corresponds to one on the source, in the prop's frame.

        Within the box it is scaled with the sides, beyond it as far off; thickness: factor of what is beyond.
        """
        old, new = prop_box(self.source), prop_box(self.target)
        away = np.asarray(place) - old.center
        inside = np.clip(away, -np.asarray(old.half), old.half)
        return new.center + inside * np.divide(new.half, np.maximum(old.half, 1e-9)) + thickness * (away - inside)


class HeldPlaces:
    """The goals of one or two figures for what they hold, rest on, and sit on; and where their props are."""

    def __init__(
        self, sources: Sequence[Clip], exchanges: Sequence[Exchange], scale: float, touch: bool,
        props: Sequence[Prop] = (), grips: Sequence[Grip] = (), lead: int = 0,
    ) -> None:  # fmt: skip
        self.sources, self.exchanges, self.scale, self.touch = sources, exchanges, scale, touch
        self.props, self.grips = props, grips
        self.figures = [Kinematics(clip.motion) for clip in sources]
        self.starts = [
            hip_centers(own[lead : lead + 1], clip.character)[0] for own, clip in zip(self.figures, self.sources)
        ]
        self.middle = np.mean(self.starts, axis=0)
        self.paths: list[NDArray] = [self._scaled_path(number) for number in range(len(props))]
        """Of each prop, the positions (F, 3) that the last goals have it at."""

    def shifts(self, solved: Sequence[Clip]) -> list[NDArray]:
        """Return the horizontal shifts (3,) that put the results on one stage, near enough for what they exchange."""
        found = [(1.0 - self.scale) * (self.middle - start) * FLAT for start in self.starts]
        held = [exchange for exchange in self.exchanges if exchange.other is not None]
        if held:
            away, total = np.zeros(3), 0
            results = [Kinematics(moved(clip, shift).motion) for clip, shift in zip(solved, found)]
            for exchange in held:
                rows, sides = slice(exchange.start, exchange.end), self._palms(exchange)
                ours, theirs = (
                    sum(_arm(clip.character, palm)[1] for clip, palm in zip(clips, sides))
                    for clips in (solved, self.sources)
                )
                before = self._between_shoulders(self.figures, self.sources, sides)[rows]
                after = self._between_shoulders(results, solved, sides)[rows]
                apart = self._apart(dict(enumerate(sides)))[rows]
                wanted = _comfortable(ours / max(theirs, 1e-9) * before, after, apart, ours)
                away += (wanted - after).sum(axis=0)
                total += exchange.end - exchange.start
            away = away / total * FLAT
            found = [found[0] - 0.5 * away, found[1] + 0.5 * away]
        return found

    def goals(self, staged: Sequence[Clip], fitted: Sequence[Clip]) -> list[list[Position]]:
        """Return the goals of each figure; staged: before they were fitted to any, fitted: as they are now."""
        goals: list[list[Position]] = [[] for _ in staged]
        now, free = ([Kinematics(clip.motion) for clip in clips] for clips in (fitted, staged))
        for exchange in self.exchanges:
            rows = np.arange(exchange.start, exchange.end)
            if exchange.other is None:
                figure, other = exchange.figure, 1 - exchange.figure
                palm = self.figures[figure][rows].point(self.sources[figure].character.contacts[exchange.palm])
                before, after = (
                    (own[other][rows], clips[other].character)
                    for own, clips in ((self.figures, self.sources), (now, fitted))
                )
                places = {figure: on_other_body(palm, before, after, self.scale)}
                palms = {figure: exchange.palm}
            else:
                palms = dict(enumerate(self._palms(exchange)))
                apart = self._apart(palms)[rows]
                offsets = {0: -0.5 * apart, 1: 0.5 * apart}
                hands = [(free[n], fitted[n].character, palms[n], offsets[n]) for n in (0, 1)]
                middle = _meeting(rows, hands)
                places = {n: middle + offsets[n] for n in (0, 1)}
            for figure, wanted in places.items():
                point = fitted[figure].character.contacts[palms[figure]]
                goals[figure].append(_goal(point, wanted, exchange.start, exchange.title))
        for number in range(len(self.props)):
            self.paths[number] = self._path(number, free, fitted)
            for grip in self._grips_of(number):
                own = fitted[grip.figure].character
                point = own.contacts.get(grip.part) or Point(own.require_roles()["hips"])
                goals[grip.figure].append(_goal(point, self._wanted(grip, own), grip.start, grip.title))
        return goals

    def hanging(self, staged: Sequence[Clip]) -> list[list[tuple[int, int]]]:
        """Return, of each figure, (start, end) of the frames in which it sits too high for its feet to stand.

        That is where a leg, stretched, is too short from the hips on their seat to the foot.
        """
        found: list[list[tuple[int, int]]] = [[] for _ in staged]
        for grip in [grip for grip in self.grips if grip.part == "hips"]:
            clip = staged[grip.figure]
            roles, places = clip.character.require_roles(), Kinematics(clip.motion[grip.start : grip.end]).positions
            raised = self._wanted(grip, clip.character) - places[:, roles["hips"]]
            for side in ("left", "right"):
                hip, knee, foot = (places[:, roles[f"{side}_{part}"]] for part in ("upper_leg", "lower_leg", "foot"))
                reach = STRETCH * (np.linalg.norm(knee - hip, axis=1) + np.linalg.norm(foot - knee, axis=1))
                if (np.linalg.norm(hip + raised - foot, axis=1) > reach).any():
                    found[grip.figure].append((grip.start, grip.end))
                    break
        return found

    def _wanted(self, grip: Grip, character: Character) -> NDArray:
        """Return where the part of a grip belongs (n, 3), in its frames."""
        rows = slice(grip.start, grip.end)
        turns = self.props[grip.prop].source.motion.rotations[rows, 0]
        place = np.broadcast_to(self._on_target(grip, character), (grip.end - grip.start, 3))
        return self.paths[grip.prop][rows] + rotation.rotate(turns, place)

    def _grips_of(self, number: int) -> list[Grip]:
        return [grip for grip in self.grips if grip.prop == number]

    def _on_target(self, grip: Grip, character: Character) -> NDArray:
        """Return a grip's place on the result's prop; hips are as far above a seat as the body's thighs are thick."""
        if grip.part != "hips":
            return self.props[grip.prop].place_on_target(grip.place)
        ratio = _thigh_radius(character) / _thigh_radius(self.sources[grip.figure].character)
        return self._seat(grip, ratio)

    def _seat(self, grip: Grip, thickness: float = 1.0) -> NDArray:
        """Return the place of hips on the result's prop: as far behind the edge that the legs go over as legs are long.

        thickness: see `Prop.place_on_target`.
        """
        prop, figure, rows = self.props[grip.prop], self.figures[grip.figure], slice(grip.start, grip.end)
        place, roles = prop.place_on_target(grip.place, thickness), self.sources[grip.figure].character.require_roles()
        knees = figure.positions[rows][:, [roles["left_lower_leg"], roles["right_lower_leg"]]].mean(axis=1)
        turn = rotation.inverse(prop.source.motion.rotations[grip.start, 0])
        up = rotation.rotate(turn, rotation.AXES["y"])
        ahead = rotation.rotate(turn, (knees - figure.positions[rows, roles["hips"]]).mean(axis=0))
        axis = int(np.argmax(np.where(np.abs(up) < 0.7, np.abs(ahead), -1.0)))
        sign = 1.0 if ahead[axis] > 0.0 else -1.0
        old, new = prop_box(prop.source), prop_box(prop.target)
        behind = old.half[axis] - sign * (grip.place[axis] - old.center[axis])
        if 0.0 < behind < 2.0 * old.half[axis]:
            behind = min(self.scale * behind, 2.0 * new.half[axis])
            place[axis] = new.center[axis] + sign * (new.half[axis] - behind)
        return place

    def _scaled_path(self, number: int) -> NDArray:
        """Return a prop's path on the stage, scaled as footsteps are; one that does not move stays on its floor.

        A seat is where hips are on it: one that is too large for a body does not stand where its feet do.
        """
        prop = self.props[number]
        path = self.middle + (prop.source.motion.root - self.middle) * self.scale
        if prop.moves:
            path[:, 1] = prop.source.motion.root[:, 1] * self.scale
            return path
        bottom = [_bottom(prop_box(clip), prop.source.motion.rotations[0, 0]) for clip in (prop.source, prop.target)]
        path[:, 1] = prop.source.motion.root[:, 1] + bottom[0] - bottom[1]
        seats = [grip for grip in self._grips_of(number) if grip.part == "hips"]
        if seats:
            off = [self.scale * np.asarray(grip.place) - self._seat(grip) for grip in seats]
            path += rotation.rotate(prop.source.motion.rotations[0, 0], np.mean(off, axis=0)) * FLAT
        return path

    def _path(self, number: int, free: Sequence[Kinematics], fitted: Sequence[Clip]) -> NDArray:
        """Return where a prop is: with the hands that hold it, and in between on its scaled path, as far off."""
        prop, path = self.props[number], self._scaled_path(number)
        grips = [grip for grip in self._grips_of(number) if grip.part != "hips"]
        if not prop.moves or not grips:
            return path
        frames, turns = np.arange(len(path)), prop.source.motion.rotations[:, 0]
        holding = np.array([[grip.start <= f < grip.end for grip in grips] for f in frames])
        off, known = np.zeros_like(path), holding.any(axis=1)
        for which in np.unique(holding[known], axis=0):
            rows = np.flatnonzero((holding == which).all(axis=1))
            hands = []
            for grip in [grip for grip, holds in zip(grips, which) if holds]:
                character = fitted[grip.figure].character
                place = np.broadcast_to(self._on_target(grip, character), (len(rows), 3))
                offset = rotation.rotate(turns[rows], place)
                hands.append((free[grip.figure], character, grip.part, offset))
            off[rows] = _meeting(rows, hands) - path[rows]
        for axis in range(3):
            off[:, axis] = np.interp(frames, frames[known], off[known, axis])
        return path + off

    def _palms(self, exchange: Exchange) -> tuple[str, str]:
        """Return the palms of the first and of the second figure."""
        assert exchange.other is not None
        return (exchange.palm, exchange.other) if exchange.figure == 0 else (exchange.other, exchange.palm)

    def _apart(self, palms: dict[int, str]) -> NDArray:
        """Return the vectors (F, 3) from the first figure's palm to the second's that the results are to have."""
        return (0.0 if self.touch else self.scale) * self._between_palms(palms)

    def _between_palms(self, palms: dict[int, str]) -> NDArray:
        """Return the source's vectors (F, 3) from the first figure's palm to the second's."""
        first, second = (
            self.figures[n].point(self.sources[n].character.contacts[palm]) for n, palm in sorted(palms.items())
        )
        return second - first

    def _between_shoulders(
        self, figures: Sequence[Kinematics], clips: Sequence[Clip], sides: tuple[str, str]
    ) -> NDArray:
        first, second = (
            own.positions[:, _arm(clip.character, palm)[0]] for own, clip, palm in zip(figures, clips, sides)
        )
        return second - first


def _comfortable(wanted: NDArray, now: NDArray, apart: NDArray, reach: float) -> NDArray:
    """Return vectors (n, 3) between two shoulders, shortened horizontally where arms would have to be stretched.

    wanted: as the source has them for its arms; now: those of the results, whose heights stay. apart: from one palm to
    the other. reach: of both arms.
    """
    level = (wanted - apart) * FLAT
    rise = (now - apart)[:, 1]
    room = np.sqrt(np.maximum((COMFORT * reach) ** 2 - rise**2, 0.0))
    share = np.minimum(1.0, room / np.maximum(np.linalg.norm(level, axis=1), 1e-9))
    return level * share[:, None] + apart


def _goal(point: Point, places: NDArray, start: int, name: str) -> Position:
    frames = tuple(range(start, start + len(places)))
    return Position(point=point, target=places, frames=frames, ramp=(RAMP, RAMP), name=name)


def _bottom(box: Box, turn: NDArray) -> float:
    """Return the height of the lowest corner of a prop's box above its origin, metres, as the prop is turned."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    corners = np.asarray(box.center) + signs * box.half
    return float(rotation.rotate(np.broadcast_to(turn, (8, 4)), corners)[:, 1].min())


def _thigh_radius(character: Character) -> float:
    """Return the mean radius of the thighs, metres."""
    thighs = [number for number, name in enumerate(SEGMENTS) if name.endswith("upper_leg")]
    return float(BodySurface.of(character).rings[thighs, :, 0].mean())


def _arm(character: Character, palm: str) -> tuple[int, float]:
    """Return the shoulder joint of a palm's arm, and how far the palm reaches from it, metres."""
    roles, skeleton = character.require_roles(), character.skeleton
    side, point = palm.partition("_")[0], character.contacts[palm]
    shoulder = roles[f"{side}_upper_arm"]
    chain = skeleton.chain(point.joint, shoulder)
    lengths = [float(np.linalg.norm(skeleton.offsets[joint])) for joint in chain[1:]]
    return shoulder, sum(lengths) + float(np.linalg.norm(point.offset))


def _meeting(rows: NDArray, hands: Iterable[tuple[Kinematics, Character, str, NDArray]]) -> NDArray:
    """Return the place (n, 3) of what hands hold, at rows of the clip: within reach of all, or amid their reaches.

    hands: the figure's own motion, its character, the palm, and its offset (n, 3) from the place.
    """
    total, weight, arms = np.zeros((len(rows), 3)), 0.0, []
    for free, character, palm, offset in hands:
        shoulder, reach = _arm(character, palm)
        total += (free[rows].point(character.contacts[palm]) - offset) / reach**2
        weight += 1.0 / reach**2
        arms.append((free[rows].positions[:, shoulder] - offset, STRETCH * reach))
    place = total / weight
    for _ in range(PROJECTIONS):
        place = np.mean([_within(place, center, reach) for center, reach in arms], axis=0)
    return place


def _within(places: NDArray, center: NDArray, reach: float) -> NDArray:
    """Return the nearest places (n, 3) no farther than `reach` from a centre (n, 3)."""
    away = places - center
    far = np.linalg.norm(away, axis=1, keepdims=True)
    return center + away * np.minimum(1.0, reach / np.maximum(far, 1e-9))
