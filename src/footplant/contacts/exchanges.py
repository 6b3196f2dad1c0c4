"""What two figures exchange: hands that hold hands, hands that rest on the other's body.

A hand holds another one where the two stay near each other and keep their distance; it rests on a body where it stays
near the skin. Captures rarely bring hands into contact (forearms of converted skeletons are short by up to 15 cm), so
near is a quarter of the body height, and what tells a hold is that the distance does not change.
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
from footplant.humanoid.body_proxy import SEGMENTS, BodySurface
from footplant.kinematics import Kinematics
from footplant.skeleton import Character

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
