"""The compiled inner loops, and the decorators that compile them.

Kernel modules import numba; the rest of the package imports a kernel module inside the function that needs it, so that
`import footplant` compiles nothing and imports no numba. `dispatcher` says how a kernel is compiled, `storage` where
its code is kept, `ahead` how those that a command needs are compiled before it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from footplant.kernels.dispatcher import make
from footplant.kernels.storage import (
    BOUNDS_CHECKS,
    OPTIMISATION,
    cache_folder,
    environment_hash,
    logger,
    module_names,
    sources_hash,
)

__all__ = [
    "BOUNDS_CHECKS", "OPTIMISATION", "cache_folder", "entry_points", "environment_hash", "jit", "logger",
    "module_names", "modules", "sources_hash", "strict_jit", "uncounted_jit",
]  # fmt: skip

_OPTIONS = {"nogil": True, "error_model": "numpy", "boundscheck": BOUNDS_CHECKS, "fastmath": {"contract"}}


def jit(function):
    """Compile a kernel: float64, no Python objects, the lock released, no exceptions on division, cached on disk.

    a·b + c may be one rounding instead of two ("contract", a fifth faster); NaN and infinity keep their meaning.
    With NUMBA_DISABLE_JIT=1 the function stays plain Python, for debugging and coverage. With NUMBA_OPT=0 nothing is
    cached: numba cannot store unoptimised code that refers to global arrays.
    """
    return make(function, **_OPTIONS)


def strict_jit(function):
    """Compile like `jit`, but never fuse a·b + c into one rounding, so that results equal NumPy's to the last bit."""
    return make(function, **_OPTIONS | {"fastmath": False})


def uncounted_jit(function):
    """Compile like `jit`, but without reference counting: the kernel must neither allocate nor return arrays.

    numba counts references: a call from one kernel to another increments and decrements a counter for every array of
    every NamedTuple that is passed. In computer puppetry that took three quarters of the time. A kernel that neither
    allocates nor returns arrays needs no counting, because the outermost caller holds the references.
    """
    return make(function, **_OPTIONS, _nrt=False)


def modules() -> list:
    """Every kernel module, imported."""
    return [import_module(name) for name in module_names()]


def entry_points() -> dict[str, Callable[[], object]]:
    """Every kernel that declares how it is called (`WARMUP` in its module), as "module.name" → its smallest call."""
    calls = {}
    for module in modules():
        for name, arguments in module.WARMUP.items():
            label = f"{module.__name__.removeprefix('footplant.')}.{name}"
            calls[label] = partial(_call, getattr(module, name), arguments)
    return calls


def _call(kernel: Callable, arguments: Callable[[], tuple]) -> None:
    kernel(*arguments())
