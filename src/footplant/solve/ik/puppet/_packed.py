"""Pack the tables of computer puppetry into a few long arrays, and unpack them in compiled code.

Passing one array to compiled code costs a third of a microsecond, a named tuple of arrays more, and a frame needs more
than a hundred. So all tables are concatenated: `pack` does it, and `source_of`, `target_of`, `found_of`, `work_of`,
`memory_of` and `limbs_of` make named views again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit
from footplant.kernels.importance import CharacterTables, Importance, Memory, Performer, Rules
from footplant.kernels.scene import Things
from footplant.kernels.surface import Tubes
from footplant.kernels.transfer import Correspondence
from footplant.solve.ik.puppet._tables import Limbs, Puppet, Stage, Target, Work

TARGET, FOUND, WORK = 31, 77, 84
"""Index of the first array of the target, of the importances and of the workspace in a packed engine."""


class Packed(NamedTuple):
    """Concatenated arrays."""

    floats: NDArray
    """(N,) float64; all arrays of floats."""
    whole: NDArray
    """(M,) int64; all arrays of integers and booleans."""
    places: NDArray
    """(A, 4) int64; start of each array in its buffer, and its shape, up to three axes."""


def pack(*tables) -> Packed:
    """Concatenate arrays, numbers and (nested) named tuples of them."""
    parts: tuple[list[NDArray], list[NDArray]] = ([], [])
    places, ends = [], [0, 0]
    for array in _arrays(tables):
        kind = int(array.dtype.kind in "iub")
        parts[kind].append(np.ravel(array).astype(np.int64 if kind else float))
        places.append([ends[kind], *array.shape, *[1] * (3 - array.ndim)])
        ends[kind] += array.size
    # one spare number at the end: empty views need a valid start
    floats = np.concatenate([*parts[0], np.zeros(1)])
    return Packed(floats, np.concatenate([*parts[1], np.zeros(1, np.int64)]), np.array(places, np.int64))


def _arrays(tables) -> list[NDArray]:
    """Return all arrays of nested tuples, in order; a number is an array of one."""
    found: list[NDArray] = []
    for part in tables:
        found += _arrays(part) if isinstance(part, tuple) else [np.atleast_1d(np.asarray(part))]
    return found


@jit
def row(buffer, places, n):
    """Return array n, of one axis."""
    return buffer[places[n, 0] : places[n, 0] + places[n, 1]]


@jit
def table(buffer, places, n):
    """Return array n, of two axes."""
    rows, columns = places[n, 1], places[n, 2]
    return buffer[places[n, 0] : places[n, 0] + rows * columns].reshape((rows, columns))


@jit
def block(buffer, places, n):
    """Return array n, of three axes."""
    rows, columns, deep = places[n, 1], places[n, 2], places[n, 3]
    return buffer[places[n, 0] : places[n, 0] + rows * columns * deep].reshape((rows, columns, deep))


@jit
def character_at(p, n):
    """Return a character's limbs and contact points."""
    f, w, q = p.floats, p.whole, p.places
    return CharacterTables(table(w, q, n), row(w, q, n + 1), table(f, q, n + 2), row(w, q, n + 3), row(f, q, n + 4))


@jit
def tubes_at(p, n):
    """Return a character's body proxy."""
    f, w, q = p.floats, p.whole, p.places
    return Tubes(
        row(w, q, n), table(f, q, n + 1), table(f, q, n + 2), row(f, q, n + 3), block(f, q, n + 4), row(f, q, n + 5)
    )


@jit
def things_at(p, n):
    """Return the objects of a scene."""
    f, w, q = p.floats, p.whole, p.places
    return Things(row(w, q, n), table(f, q, n + 1), row(f, q, n + 2), row(f, q, n + 3))


@jit
def source_of(p):
    """Return the performer: (parents, offsets, `Performer`)."""
    f, w, q = p.floats, p.whole, p.places
    r = f[q[18, 0] :]
    rules = Rules(r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12])
    performer = Performer(character_at(p, 2), tubes_at(p, 7), table(w, q, 13), things_at(p, 14), rules)
    return row(w, q, 0), block(f, q, 1), performer


@jit
def target_of(p):
    """Return the `Target`."""
    f, w, q = p.floats, p.whole, p.places[TARGET:]
    puppet = Puppet(
        row(w, q, 0), block(f, q, 1), table(f, q, 2), row(f, q, 3), row(w, q, 4), table(w, q, 5), row(f, q, 6),
        block(f, q, 7), row(f, q, 8), table(f, q, 9), row(w, q, 10), row(w, q, 11), table(w, q, 12),
        row(f, q, 13),
    )  # fmt: skip
    stage = Stage(
        f[q[27, 0]], row(f, q, 28), f[q[29, 0]], f[q[30, 0]], w[q[31, 0]] != 0, f[q[32, 0]], row(f, q, 33), f[q[34, 0]]
    )  # fmt: skip
    counterparts = Correspondence(
        row(w, q, 35), row(w, q, 36), row(w, q, 37), row(f, q, 38), table(f, q, 39), table(f, q, 40), table(f, q, 41),
        row(w, q, 42), row(w, q, 43), row(f, q, 44), table(f, q, 45),
    )  # fmt: skip
    return Target(
        puppet,
        character_at(p, TARGET + 14),
        tubes_at(p, TARGET + 19),
        row(w, q, 25),
        table(w, q, 26),
        stage,
        counterparts,
    )


@jit
def memory_of(f, q):
    """Return the state of the analysis; f: the floats of a packed `Memory`, q: its places."""
    return Memory(row(f, q, 0), block(f, q, 1), table(f, q, 2), block(f, q, 3), row(f, q, 4), table(f, q, 5))


@jit
def limbs_of(f, q):
    """Return the state of the limbs; f: the floats of a packed `Limbs`, q: its places."""
    return Limbs(
        table(f, q, 0), block(f, q, 1), table(f, q, 2), table(f, q, 3), table(f, q, 4), row(f, q, 5), table(f, q, 6),
        row(f, q, 7), block(f, q, 8), block(f, q, 9), table(f, q, 10), row(f, q, 11), block(f, q, 12), row(f, q, 13),
        block(f, q, 14), block(f, q, 15), table(f, q, 16), table(f, q, 17),
        table(f, q, 18), table(f, q, 19), table(f, q, 20), table(f, q, 21), table(f, q, 22), table(f, q, 23),
    )  # fmt: skip


@jit
def found_of(p):
    """Return the `Importance`."""
    f, q = p.floats, p.places[FOUND:]
    return Importance(
        row(f, q, 0), table(f, q, 1), row(f, q, 2), table(f, q, 3), block(f, q, 4), row(f, q, 5), table(f, q, 6)
    )


@jit
def work_of(p):
    """Return the `Work`."""
    f, w, q = p.floats, p.whole, p.places[WORK:]
    return Work(
        block(f, q, 0), block(f, q, 1), block(f, q, 2), table(f, q, 3), block(f, q, 4), block(f, q, 5), table(f, q, 6),
        table(f, q, 7), table(f, q, 8), table(f, q, 9), row(f, q, 10), row(w, q, 11), table(f, q, 12),
        table(f, q, 13), block(f, q, 14), table(f, q, 15), row(f, q, 16), row(f, q, 17), row(f, q, 18),
        table(f, q, 19), table(f, q, 20), table(f, q, 21), table(f, q, 22), table(f, q, 23), row(f, q, 24),
        table(f, q, 25), table(f, q, 26), table(f, q, 27), row(f, q, 28), table(f, q, 29),
        row(f, q, 30),
    )  # fmt: skip


WARMUP: dict = {}
