"""The tables of computer puppetry in a few long arrays, taken apart in compiled code.

Handing one array to compiled code costs a third of a microsecond, a named tuple of them more, and a frame needs more
than a hundred. So all tables are laid out one behind the other: `pack` does it, and `source_of`, `target_of`,
`found_of`, `work_of`, `memory_of` and `limbs_of` make named views of them again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit
from footplant.kernels.importance import Figure, Importance, Memory, Rules
from footplant.kernels.scene import Things
from footplant.kernels.surface import Tubes
from footplant.solve.ik.puppet._tables import Limbs, Puppet, Stage, Work

TARGET, FOUND, WORK = 29, 67, 74
"""The first array of the character, of what matters and of the room for a frame in `pack(performer, character, …)`."""


class Packed(NamedTuple):
    """Arrays one behind the other."""

    floats: NDArray
    """(N,) float64; those of real numbers."""
    whole: NDArray
    """(M,) int64; those of whole numbers and truth values."""
    places: NDArray
    """(A, 4) int64; where each array begins in its buffer, and its size along up to three axes."""


def pack(*tables) -> Packed:
    """Arrays, numbers and named tuples of them, one behind the other."""
    parts: tuple[list[NDArray], list[NDArray]] = ([], [])
    places, ends = [], [0, 0]
    for array in _arrays(tables):
        kind = int(array.dtype.kind in "iub")
        parts[kind].append(np.ravel(array).astype(np.int64 if kind else float))
        places.append([ends[kind], *array.shape, *[1] * (3 - array.ndim)])
        ends[kind] += array.size
    # a spare number at the end: even a view of nothing begins somewhere
    floats = np.concatenate([*parts[0], np.zeros(1)])
    return Packed(floats, np.concatenate([*parts[1], np.zeros(1, np.int64)]), np.array(places, np.int64))


def view(packed: Packed, number: int, axes: int) -> NDArray:
    """One of the arrays of real numbers, of so many axes, as it is in the buffer."""
    start, *shape = (int(size) for size in packed.places[number])
    return packed.floats[start : start + int(np.prod(shape[:axes]))].reshape(shape[:axes])


def _arrays(tables) -> list[NDArray]:
    """All arrays of nested tuples, in order; a number is an array of one."""
    found: list[NDArray] = []
    for part in tables:
        found += _arrays(part) if isinstance(part, tuple) else [np.atleast_1d(np.asarray(part))]
    return found


@jit
def row(buffer, places, n):
    """Array n, of one axis."""
    return buffer[places[n, 0] : places[n, 0] + places[n, 1]]


@jit
def table(buffer, places, n):
    """Array n, of two axes."""
    rows, columns = places[n, 1], places[n, 2]
    return buffer[places[n, 0] : places[n, 0] + rows * columns].reshape((rows, columns))


@jit
def block(buffer, places, n):
    """Array n, of three axes."""
    rows, columns, deep = places[n, 1], places[n, 2], places[n, 3]
    return buffer[places[n, 0] : places[n, 0] + rows * columns * deep].reshape((rows, columns, deep))


@jit
def figure_at(p, n):
    """A figure's limbs and contact points."""
    f, w, q = p.floats, p.whole, p.places
    return Figure(table(w, q, n), row(w, q, n + 1), table(f, q, n + 2), row(w, q, n + 3))


@jit
def tubes_at(p, n):
    """A figure's surface."""
    f, w, q = p.floats, p.whole, p.places
    return Tubes(
        row(w, q, n), table(f, q, n + 1), table(f, q, n + 2), row(f, q, n + 3), block(f, q, n + 4), row(f, q, n + 5)
    )


@jit
def things_at(p, n):
    """A scene."""
    f, w, q = p.floats, p.whole, p.places
    return Things(row(w, q, n), table(f, q, n + 1), row(f, q, n + 2), row(f, q, n + 3))


@jit
def source_of(p):
    """What `pack(parents, offsets, figure, tubes, near, things, rules)` of the performer was made of."""
    f, w, q = p.floats, p.whole, p.places
    r = f[q[17, 0] :]
    rules = Rules(r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11])
    return (
        row(w, q, 0), block(f, q, 1), figure_at(p, 2), tubes_at(p, 6), table(w, q, 12), things_at(p, 13), rules
    )  # fmt: skip


@jit
def target_of(p):
    """What `pack(puppet, figure, tubes, trunk, moves, stage, counterparts)` of the character was made of."""
    f, w, q = p.floats, p.whole, p.places[TARGET:]
    puppet = Puppet(
        row(w, q, 0), block(f, q, 1), table(f, q, 2), row(f, q, 3), row(w, q, 4), block(f, q, 5), row(f, q, 6),
        table(f, q, 7), row(w, q, 8),
    )  # fmt: skip
    stage = Stage(
        f[q[21, 0]], row(f, q, 22), f[q[23, 0]], f[q[24, 0]], w[q[25, 0]] != 0, f[q[26, 0]]
    )  # fmt: skip
    counterparts = (
        row(w, q, 27), row(w, q, 28), row(w, q, 29), row(f, q, 30), table(f, q, 31), table(f, q, 32), table(f, q, 33),
        row(w, q, 34), row(w, q, 35), row(f, q, 36), table(f, q, 37),
    )  # fmt: skip
    return (
        puppet, figure_at(p, TARGET + 9), tubes_at(p, TARGET + 13), row(w, q, 19), table(w, q, 20), stage, counterparts,
    )  # fmt: skip


@jit
def memory_of(f, q):
    """What the analysis remembers; f: the numbers of a packed `Memory`, q: its places."""
    return Memory(row(f, q, 0), block(f, q, 1), table(f, q, 2), block(f, q, 3), row(f, q, 4), row(f, q, 5))


@jit
def limbs_of(f, q):
    """What the limbs remember; f: the numbers of a packed `Limbs`, q: its places."""
    return Limbs(
        table(f, q, 0), block(f, q, 1), table(f, q, 2), table(f, q, 3), table(f, q, 4), row(f, q, 5), table(f, q, 6),
        row(f, q, 7), block(f, q, 8), block(f, q, 9), table(f, q, 10), row(f, q, 11), block(f, q, 12), row(f, q, 13),
        block(f, q, 14), block(f, q, 15), table(f, q, 16),
    )  # fmt: skip


@jit
def found_of(p):
    """What matters: a packed `Importance`."""
    f, q = p.floats, p.places[FOUND:]
    return Importance(
        row(f, q, 0), table(f, q, 1), row(f, q, 2), table(f, q, 3), block(f, q, 4), row(f, q, 5), table(f, q, 6)
    )


@jit
def work_of(p):
    """Room for a frame: a packed `Work`."""
    f, w, q = p.floats, p.whole, p.places[WORK:]
    return Work(
        block(f, q, 0), block(f, q, 1), block(f, q, 2), table(f, q, 3), block(f, q, 4), block(f, q, 5), table(f, q, 6),
        table(f, q, 7), table(f, q, 8), table(f, q, 9), row(f, q, 10), row(w, q, 11), table(f, q, 12),
        table(f, q, 13), block(f, q, 14), table(f, q, 15), row(f, q, 16), row(f, q, 17), row(f, q, 18),
        table(f, q, 19), table(f, q, 20), table(f, q, 21), table(f, q, 22), table(f, q, 23), row(f, q, 24),
        table(f, q, 25), row(f, q, 26), table(f, q, 27),
    )  # fmt: skip


WARMUP: dict = {}
