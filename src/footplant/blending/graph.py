"""A library of clips as a motion graph: transitions between clips, and which clips remain reachable for ever.

After Kovar, Gleicher & Pighin, "Motion graphs" (SIGGRAPH 2002), with the frame distance of `distance.distances`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from footplant.blending.common_character import same_skeleton
from footplant.blending.distance import Clouds, align, clouds, distances, local_minima
from footplant.blending.settings import GRAPH, REGISTRATION
from footplant.blending.treadmill import off_the_treadmill, several_rounds
from footplant.clip import Clip
from footplant.contacts.stillness import lead_in_frames
from footplant.errors import MotionError
from footplant.problem import Progress
from footplant.transfer import transfer


@dataclass(frozen=True)
class Edge:
    """A transition."""

    source: int
    """Clip that it leaves."""
    target: int
    """Clip that it enters; may be the same one."""
    leave: float
    """Seconds in the source."""
    enter: float
    """Seconds in the target."""
    distance: float
    """Metres; see `distance.distances`."""
    turn: float
    """Radians about the vertical by which the target is rotated."""
    shift: tuple[float, float]
    """Metres (x, z) by which it is then shifted over the floor."""


@dataclass(frozen=True, eq=False)
class MotionGraph:
    """Clips and the transitions between them."""

    names: tuple[str, ...]
    durations: tuple[float, ...]
    """Seconds of each clip."""
    edges: tuple[Edge, ...]
    threshold: float
    """Metres; the distance up to which edges were accepted."""

    def component(self) -> frozenset[int]:
        """Return the largest set of clips that are all reachable from each other: a walk through it never ends.

        After an edge enters a clip, it can only be left by an edge at a later time.
        """
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        # one node per entry point; it leads to the entry points of all edges that leave the clip later
        entries = [(edge.target, edge.enter) for edge in self.edges]
        if not entries:
            return frozenset()
        pairs = [
            (a, b)
            for a, (clip, enter) in enumerate(entries)
            for b, edge in enumerate(self.edges)
            if edge.source == clip and edge.leave > enter
        ]
        rows, columns = (np.array([pair[k] for pair in pairs], int) for k in range(2))
        links = coo_matrix((np.ones(len(pairs)), (rows, columns)), shape=(len(entries), len(entries)))
        _, labels = connected_components(links, directed=True, connection="strong")
        looping = labels[rows[labels[rows] == labels[columns]]] if len(pairs) else np.zeros(0, int)
        if not len(looping):
            return frozenset()
        best = int(np.bincount(looping).argmax())
        return frozenset(entries[k][0] for k in np.flatnonzero(labels == best))

    def to_dict(self) -> dict:
        """Return a JSON-ready dictionary."""
        lasting = self.component()
        return {
            "threshold": self.threshold,
            "clips": [
                {"name": name, "seconds": seconds, "lasting": number in lasting}
                for number, (name, seconds) in enumerate(zip(self.names, self.durations))
            ],
            "edges": [
                {
                    "from": edge.source,
                    "to": edge.target,
                    "leave": edge.leave,
                    "enter": edge.enter,
                    "distance": edge.distance,
                    "turn": edge.turn,
                    "shift": list(edge.shift),
                }
                for edge in self.edges
            ],
        }


def played_clips(clips: Sequence[Clip]) -> list[Clip]:
    """Return clips as a graph plays them: without lead-in frames, and loops of gaits as they travel over the ground.

    A loop of one cycle is played several times: what is before its first frame and after its last one is then known.
    """
    trimmed = [replace(clip, motion=clip.motion[lead_in_frames(clip, eased=True) :]) for clip in clips]
    return [several_rounds(off_the_treadmill(clip)) if clip.character.roles is not None else clip for clip in trimmed]


def build_graph(
    clips: Sequence[Clip],
    *,
    threshold: float | None = None,
    most: int = 10,
    progress: Progress | None = None,
) -> MotionGraph:
    """Return the transitions among clips: local minima of their frame distances.

    threshold: metres up to which frames are alike (default: 5 % of the body's height). most: edges kept between any two
    clips, the best ones. All clips are transferred to the first one's character to be compared.
    """
    if not clips:
        raise MotionError("expected at least one clip for a graph, got none")
    character = clips[0].character
    near = GRAPH.near * (character.height or 1.7) if threshold is None else threshold
    around, durations = [], []
    for number, clip in enumerate(played_clips(clips)):
        if progress:
            progress(clip.name, 0.5 * number / len(clips))
        motion = clip.motion
        if not same_skeleton(clip.character.skeleton, character.skeleton) or motion.offsets is not None:
            motion = transfer(motion, clip.character, character)
        else:
            motion = replace(motion, skeleton=character.skeleton)
        durations.append(motion.duration)
        around.append(clouds(motion.resample(REGISTRATION.rate), character))
    edges: list[Edge] = []
    for a, first in enumerate(around):
        if progress:
            progress(clips[a].name, 0.5 + 0.5 * a / len(clips))
        for b, second in enumerate(around):
            edges += _edges(a, b, first, second, near, most)
    return MotionGraph(tuple(clip.name for clip in clips), tuple(durations), tuple(edges), near)


def _edges(a: int, b: int, first: Clouds, second: Clouds, near: float, most: int) -> list[Edge]:
    table, rate = distances(first, second), REGISTRATION.rate
    if a == b:
        # every frame is like itself and its neighbours
        rows, columns = np.indices(table.shape)
        table = np.where(np.abs(rows - columns) < GRAPH.beside * rate, np.inf, table)
    found: list[Edge] = []
    for point in local_minima(table, most=near, apart=round(GRAPH.apart * rate)):
        # leaving at the very end is useful, entering there is not
        if point.second >= len(second) - 2 or not np.isfinite(point.distance):
            continue
        # two loops are alike all along: one transition stands for its neighbourhood
        here = point.first / rate, point.second / rate
        if any(max(abs(edge.leave - here[0]), abs(edge.enter - here[1])) < GRAPH.beside for edge in found):
            continue
        turn, shift = align(first.points[point.first], second.points[point.second], first.weights)
        found.append(Edge(a, b, *here, point.distance, float(turn), (float(shift[0]), float(shift[2]))))
        if len(found) == most:
            break
    return found
