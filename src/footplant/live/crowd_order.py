"""In which order the characters of a crowd are solved: whoever follows another one after it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class SolveOrder(NamedTuple):
    """The rounds of a frame in which each actor is solved."""

    first: NDArray
    """(A,) the first of them."""
    last: NDArray
    """(A,) the last of them: the same one, but for actors that follow one another in a circle."""
    rounds: int
    """Number of rounds, at least 1."""
    follows: NDArray
    """(E, 2) who follows whom."""

    def members(self, number: int) -> NDArray:
        """Return (A,) the actors that are solved in a round."""
        return (self.first <= number) & (number <= self.last)


def solve_order(actors: int, follows: Iterable[tuple[int, int]], most: int) -> SolveOrder:
    """Return the order for actors of which the first of each pair follows the second as it is posed.

    Without circles every actor is solved once, after all that it follows. Actors in a circle are solved in every one of
    `most` rounds, each time with the others as they were in the round before; whoever follows them comes last.
    """
    pairs = np.array(list(follows), np.int64).reshape(-1, 2)
    who, whom = pairs.T
    level, waiting = np.zeros(actors, np.int64), np.zeros(actors, bool)
    waiting[who] = True
    while True:
        ready = waiting.copy()
        ready[who[waiting[whom]]] = False
        if not ready.any():
            break
        now = ready[who]
        np.maximum.at(level, who[now], np.minimum(1 + level[whom[now]], most - 1))
        waiting &= ~ready
    # what is left is in circles, or follows those
    circle = waiting.copy()
    while True:
        followed = np.zeros(actors, bool)
        followed[whom[circle[who]]] = True
        if not (circle & ~followed).any():
            break
        circle &= followed
    first = level.copy()
    level[waiting] = first[waiting] = most - 1
    first[circle] = 0
    return SolveOrder(first, level, int(level.max(initial=0)) + 1, pairs)
