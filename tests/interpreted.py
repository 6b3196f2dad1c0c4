"""Kernels as the plain Python functions that they are written as, with all kernels that they call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from footplant.kernels.dispatcher import Kernel


def interpreted(kernel: Kernel) -> Callable:
    """Return a kernel's function; what it calls is interpreted too."""
    return _names(kernel.py_func.__module__)[kernel.py_func.__name__]


@cache
def _names(module: str) -> dict[str, Any]:
    """Return the names of a module, with a plain function in the place of each kernel."""
    found = dict(vars(sys.modules[module]))
    for name, item in found.items():
        if isinstance(item, Kernel):
            own = item.py_func
            names = found if own.__module__ == module else _names(own.__module__)
            found[name] = FunctionType(own.__code__, names, own.__name__, own.__defaults__, own.__closure__)
    return found
