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
    above: dict[int, set[int]] = {}
    follows = list(follows)
    for actor, followed in follows:
        above.setdefault(actor, set()).add(followed)
    level = np.zeros(actors, np.int64)
    known, waiting = set(range(actors)) - set(above), dict(above)
    while ready := [actor for actor, others in waiting.items() if others <= known]:
        for actor in ready:
            level[actor] = min(1 + max(int(level[other]) for other in waiting.pop(actor)), most - 1)
        known.update(ready)
    # what is left is in circles, or follows those
    circle = set(waiting)
    while ends := [actor for actor in circle if not any(actor in waiting[other] for other in circle)]:
        circle.difference_update(ends)
    first = level.copy()
    level[list(waiting)] = most - 1
    first[list(waiting)] = most - 1
    first[list(circle)] = 0
    return SolveOrder(first, level, int(level.max(initial=0)) + 1, np.array(follows, np.int64).reshape(-1, 2))
