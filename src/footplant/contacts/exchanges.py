"""What figures exchange: hands that hold hands, hands that rest on the other's body, what they hold of a prop.

A hand holds another one where the two stay near each other and keep their distance; it rests on a body where it stays
near the skin. Captures rarely bring hands into contact (forearms of converted skeletons are short by up to 15 cm), so
near is a quarter of the body height, and what tells a hold is that the distance does not change. A hand holds a prop,
and a figure sits on it, where palm or hips stay near its bounding box and at one place in its frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Clip
from footplant.contacts.settings import EXCHANGES
from footplant.errors import MotionError
from footplant.geometry import Box
from footplant.humanoid.body_proxy import SEGMENTS, BodySurface
from footplant.kinematics import Kinematics
from footplant.skeleton import Character
from footplant.skinning import linear_blend

PALMS = ("left_palm", "right_palm")
BODY = tuple(n for n, name in enumerate(SEGMENTS) if not name.endswith(("lower_arm", "hand")))
"""Segments that a hand may rest on: all but forearms and hands."""


@dataclass(frozen=True)
class Exchange:
    """A hand of one figure that holds a hand of the other, or rests on its body, in frames start … end − 1."""

    figure: int
    """Whose hand: 0 or 1."""
    palm: str
    """Its contact point."""
    other: str | None
    """The other figure's palm; None: its body."""
    start: int
    end: int

    @property
    def title(self) -> str:
        """Return a name for reports."""
        hand = self.palm.replace("palm", "hand").replace("_", " ")
        return f"{hand} in the other's {self.other.replace('palm', 'hand').replace('_', ' ')}" if self.other else (
            f"{hand} on the other's body"
        )  # fmt: skip


@dataclass(frozen=True)
class Grip:
    """A palm, or the hips, of a figure that stay at one place of a prop in frames start … end − 1."""

    figure: int
    part: str
    """A palm's contact point, or "hips": the figure sits on the prop."""
    prop: int
    start: int
    end: int
    place: tuple[float, float, float]
    """Of the palm or the hip joint in the prop's frame, metres."""

    @property
    def title(self) -> str:
        """Return a name for reports."""
        part = self.part.replace("palm", "hand").replace("_", " ")
        return f"{part} on prop {self.prop + 1}"


def prop_box(prop: Clip) -> Box:
    """Return the bounding box of a prop's mesh in the frame of its first joint; a point if it has no mesh."""
    skin, kinematics = prop.character.skin, Kinematics(prop.motion[:1])
    if skin is None or not len(skin.vertices):
        return Box((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    away = linear_blend(skin, kinematics)[0] - kinematics.positions[0, 0]
    local = rotation.rotate(rotation.inverse(kinematics.rotations[0, 0]), away)
    low, high = local.min(axis=0), local.max(axis=0)
    return Box(tuple((0.5 * (low + high)).tolist()), tuple((0.5 * (high - low)).tolist()))


def find_grips(clip: Clip, figure: int, prop: Clip, number: int, start: int = 0) -> tuple[Grip, ...]:
    """Return what a figure holds of a prop, and when it sits on it; both in one world, frame by frame.

    figure, number: those of the figure and the prop. start: frames of a lead-in, which are left out.
    """
    kinematics, pose = Kinematics(clip.motion), Kinematics(prop.motion)
    height, fps, box = clip.character.height, clip.motion.fps, prop_box(prop)
    parts = {name: kinematics.point(clip.character.contacts[name]) for name in PALMS if name in clip.character.contacts}
    parts["hips"] = kinematics.positions[:, clip.character.require_roles()["hips"]]
    found = []
    for part, places in parts.items():
        local = rotation.rotate(rotation.inverse(pose.rotations[:, 0]), places - pose.positions[:, 0])
        away = np.abs(box.distance(local)) / height
        near = away < (EXCHANGES.seat if part == "hips" else EXCHANGES.grip)
        if part == "hips":
            near &= local[:, 1] > box.center[1] + box.half[1]
        near[:start] = False
        for begin, end in _still_runs(local / height, near, round(EXCHANGES.shortest * fps)):
            x, y, z = np.median(local[begin:end], axis=0).tolist()
            found.append(Grip(figure, part, number, begin, end, (x, y, z)))
    return tuple(found)


def _still_runs(places: NDArray, near: NDArray, least: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the longest runs, of `least` frames or more, that stay within a band (body heights)."""
    begin = 0
    while begin < len(places):
        end = begin
        low = high = places[begin]
        while end < len(places) and near[end]:
            low, high = np.minimum(low, places[end]), np.maximum(high, places[end])
            if (high - low).max() > EXCHANGES.still:
                break
            end += 1
        if end - begin >= least:
            yield begin, end
        begin = max(end, begin + 1) if end - begin >= least else begin + 1


def find_exchanges(first: Clip, second: Clip, start: int = 0) -> tuple[Exchange, ...]:
    """Return what two figures in one world exchange, hands in hands first; start: frames of a lead-in, left out."""
    clips, figures = (first, second), (Kinematics(first.motion), Kinematics(second.motion))
    if len(first.motion) != len(second.motion):
        raise MotionError(
            f"expected two clips of the same length, got {len(first.motion)} and {len(second.motion)} frames"
        )
    fps, height = first.motion.fps, 0.5 * (first.character.height + second.character.height)
    palms = [
        {name: figures[n].point(clips[n].character.contacts[name]) for name in PALMS if name in clip.character.contacts}
        for n, clip in enumerate(clips)
    ]
    found = []
    held = {(figure, name): np.zeros(len(first.motion), bool) for figure in (0, 1) for name in PALMS}
    pairs = [(a, b, np.linalg.norm(places - palms[1][b], axis=1)) for a, places in palms[0].items() for b in palms[1]]
    for a, b, distance in sorted(pairs, key=lambda pair: float(pair[2][start:].min(initial=np.inf))):
        for begin, end in _steady(distance / height, EXCHANGES.hold, fps, start):
            if held[0, a][begin:end].any() or held[1, b][begin:end].any():
                continue
            held[0, a][begin:end] = held[1, b][begin:end] = True
            found.append(Exchange(0, a, b, begin, end))
    for figure, clip in enumerate(clips):
        body, other = clips[1 - figure].character, figures[1 - figure]
        if body.roles is None:
            continue
        for name, places in palms[figure].items():
            gap = np.linalg.norm(surface_points(other, body) - places[:, None], axis=2).min(axis=1) / height
            gap[held[figure, name]] = np.inf
            found += [
                Exchange(figure, name, None, *run) for run in _steady(gap, EXCHANGES.rest, clip.motion.fps, start)
            ]
    return tuple(found)


def _steady(distance: NDArray, near: float, fps: float, start: int) -> list[tuple[int, int]]:
    """Return (start, end) of runs in which a distance (body heights) is near and steady.

    Steady is what stays within a band above its smallest value; a hold whose distance moves from one band to the next
    is one.
    """
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(_bands(distance, near, fps, start)):
        if joined and begin - joined[-1][1] < EXCHANGES.shortest * fps:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((begin, end))
    return joined


def _bands(distance: NDArray, near: float, fps: float, start: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of runs in which a distance is near and within a band above its smallest there."""
    usable = distance < near
    usable[:start] = False
    least = round(EXCHANGES.shortest * fps)
    while usable.any():
        lowest = int(np.where(usable, distance, np.inf).argmin())
        inside = usable & (distance < distance[lowest] + EXCHANGES.band)
        begin, end = lowest, lowest + 1
        while begin > 0 and inside[begin - 1]:
            begin -= 1
        while end < len(distance) and inside[end]:
            end += 1
        if end - begin >= least:
            yield begin, end
        usable[begin:end] = False


def surface_points(kinematics: Kinematics, character: Character) -> NDArray:
    """Return the samples (F, n, 3) of a body's surface without forearms and hands, metres."""
    surface = BodySurface.of(character)
    own, joints = surface.samples()[list(BODY)], surface.joints[list(BODY)]
    shape = (len(kinematics.motion), *own.shape[:2])
    turns = np.broadcast_to(kinematics.rotations[:, joints, None], (*shape, 4))
    turned = rotation.rotate(turns, np.broadcast_to(own, (*shape, 3)))
    return (kinematics.positions[:, joints, None] + turned).reshape(shape[0], -1, 3)


def on_other_body(
    places: NDArray, before: tuple[Kinematics, Character], after: tuple[Kinematics, Character], scale: float
) -> NDArray:
    """Return where points (F, 3) beside one body belong beside another: as far from the samples of its surface.

    Samples of two bodies correspond (Shin 2002, section 4.2). Each carries the point along with its segment's rotation,
    and counts by the inverse fourth power of its distance, so that a hand on the skin stays on the skin.
    """
    sides = [(surface_points(*body), _sample_rotations(*body)) for body in (before, after)]
    (old, turns), (new, turned) = sides
    away = places[:, None] - old
    carried = new + scale * rotation.rotate(turned, rotation.rotate(rotation.inverse(turns), away))
    squared = np.einsum("fnk,fnk->fn", away, away) + 1e-6
    weights = squared**-2
    return np.einsum("fn,fnk->fk", weights / weights.sum(axis=1, keepdims=True), carried)


def _sample_rotations(kinematics: Kinematics, character: Character) -> NDArray:
    surface = BodySurface.of(character)
    joints = np.repeat(surface.joints[list(BODY)], surface.samples().shape[1])
    return kinematics.rotations[:, joints]
