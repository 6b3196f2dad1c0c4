"""A mechanism as a chain of hinges: one link per hinge, with everything that is fixed to it; what solvers compute on.

Link 0 is the floating base; link i is turned by hinge i − 1 about an axis through its own origin. Bodies without a
hinge belong to the link that carries them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.mechanism.model import Mechanism

if TYPE_CHECKING:
    from footplant.mechanism._kinematics import Tree


@dataclass(frozen=True, eq=False)
class Links:
    """Links of a mechanism, L = 1 + D."""

    mechanism: Mechanism
    parents: NDArray
    """(L,) int64; −1 for link 0."""
    places: NDArray
    """(L, 3) metres; origin in the parent link's frame."""
    turns: NDArray
    """(L, 3, 3) rotation in the parent link's frame at angle `reference`."""
    axes: NDArray
    """(L, 3) unit vectors in the link's own frame; zeros for link 0."""
    references: NDArray
    """(D,) radians; angles at which links are as `turns` says."""
    body_links: NDArray
    """(B,) int64; the link that carries each body."""
    body_places: NDArray
    """(B, 3) metres; each body's origin in its link's frame."""
    body_turns: NDArray
    """(B, 4) each body's rotation in its link's frame."""
    standing: NDArray
    """(D,) radians; angles of the rest pose: the file's own, or those that put the feet flat below the hips."""

    @cached_property
    def paths(self) -> tuple[NDArray, NDArray]:
        """Return the links from each link up to, without, the base (L, depth) and how many they are (L,)."""
        chains = []
        for link in range(len(self.parents)):
            chain, at = [], link
            while at > 0:
                chain.append(at)
                at = int(self.parents[at])
            chains.append(chain)
        table = np.zeros((len(chains), max(1, max(map(len, chains)))), np.int64)
        for link, chain in enumerate(chains):
            table[link, : len(chain)] = chain
        return table, np.array([len(chain) for chain in chains], np.int64)

    @cached_property
    def tree(self) -> Tree:
        """Return the tables that compiled kernels take."""
        from footplant.mechanism import _kinematics as kernel

        coupling = self.mechanism.coupling
        return kernel.Tree(
            self.parents, self.places, self.turns, self.axes, self.references, *self.paths, coupling.leaders,
            coupling.multipliers, coupling.offsets,
        )  # fmt: skip

    def pose(self, states: NDArray) -> tuple[NDArray, NDArray]:
        """Return positions (F, L, 3) and rotations (F, L, 3, 3) in the world; states (F, 7 + D)."""
        from footplant.mechanism import _kinematics as kernel

        count = len(self.parents)
        at, turn = np.empty((len(states), count, 3)), np.empty((len(states), count, 3, 3))
        kernel.pose_clip(self.tree, np.ascontiguousarray(states), at, turn)
        return at, turn

    def attached(self, body: int, place: NDArray | tuple[float, ...]) -> tuple[int, NDArray]:
        """Return link and place (3,) in its frame of a point of a body."""
        at = self.body_places[body] + rotation.rotate(self.body_turns[body], np.asarray(place, float))
        return int(self.body_links[body]), at

    @cached_property
    def rest(self) -> tuple[NDArray, NDArray]:
        """Return positions (L, 3) and rotations (L, 3, 3) in the rest pose, in the base's frame."""
        return self.posed(self.standing)

    def posed(self, angles: NDArray) -> tuple[NDArray, NDArray]:
        """Return positions (L, 3) and rotations (L, 3, 3) at angles (D,), in the base's frame."""
        positions, turns = np.zeros((len(self.parents), 3)), np.zeros((len(self.parents), 3, 3))
        turns[0] = np.eye(3)
        bends = rotation.to_matrix(rotation.exp(self.axes[1:] * (angles - self.references)[:, None]))
        for link in range(1, len(self.parents)):
            parent = self.parents[link]
            positions[link] = positions[parent] + turns[parent] @ self.places[link]
            turns[link] = turns[parent] @ self.turns[link] @ bends[link - 1]
        return positions, turns

    def rest_point(self, link: int, place: NDArray) -> NDArray:
        """Return a point of a link in the rest pose, in the base's frame."""
        positions, turns = self.rest
        return positions[link] + turns[link] @ place

    def local(self, link: int, point: NDArray) -> NDArray:
        """Return a point of the base's frame in that of a link in the rest pose."""
        positions, turns = self.rest
        return turns[link].T @ (point - positions[link])


def links_of(mechanism: Mechanism) -> Links:
    """Return the links of a mechanism."""
    parents, places, turns, axes = [-1], [np.zeros(3)], [np.eye(3)], [np.zeros(3)]
    count = len(mechanism.bodies)
    body_links, body_places = np.zeros(count, np.int64), np.zeros((count, 3))
    body_turns = np.tile(rotation.IDENTITY, (count, 1))
    hinges: dict[int, list[int]] = {}
    for number, joint in enumerate(mechanism.joints):
        hinges.setdefault(joint.body, []).append(number)
    for body in range(1, count):
        above = mechanism.parents[body]
        link = int(body_links[above])
        place = body_places[above] + rotation.rotate(body_turns[above], mechanism.places[body])
        turn = rotation.multiply(body_turns[above], mechanism.turns[body])
        anchor = np.zeros(3)
        for order, number in enumerate(hinges.get(body, ())):
            joint = mechanism.joints[number]
            here = np.array(joint.anchor)
            parents.append(link)
            if order == 0:
                places.append(place + rotation.rotate(turn, here))
                turns.append(rotation.to_matrix(turn))
            else:
                places.append(here - anchor)
                turns.append(np.eye(3))
            axes.append(np.array(joint.axis))
            link, anchor = number + 1, here
        if body in hinges:
            place, turn = -anchor, np.array(rotation.IDENTITY)
        body_links[body], body_places[body], body_turns[body] = link, place, turn
    references = np.array([joint.reference for joint in mechanism.joints], float)
    return Links(
        mechanism, np.array(parents, np.int64), np.array(places), np.array(turns), np.array(axes),
        references, body_links, body_places, body_turns, mechanism.coupling.clipped(references),
    )  # fmt: skip
