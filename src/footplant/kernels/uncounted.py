"""The decorator for kernels that are called many times a frame and handed many tables.

numba counts who holds an array: whenever one kernel calls another, it counts up and down for every array of every named
tuple that is passed, hundreds of times. In computer puppetry that took three quarters of the time. Kernels that neither
make arrays nor return any need no counting: whoever calls the outermost one holds on to them.
"""

from __future__ import annotations

from footplant.kernels import jit


def uncounted(function):
    """Compile a kernel as `jit` does, but without counting references: it must not make or return arrays."""
    dispatcher = jit(function)
    # with NUMBA_DISABLE_JIT=1 it is a plain function
    getattr(dispatcher, "targetoptions", {})["_nrt"] = False
    return dispatcher


WARMUP: dict = {}
