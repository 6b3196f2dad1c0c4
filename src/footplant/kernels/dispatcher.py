"""How a kernel is compiled: numba's dispatcher, with fewer specialisations and less code for each.

- A kernel that another one calls with a constant is compiled for its type, not anew for every constant: numba would
  compile `add_turn(…, 0)` and `add_turn(…, 1)` apart. LLVM inlines and folds constants all the same.
- A kernel that only other kernels call gets no wrapper by which Python could call it. The wrapper unpacks every array
  of every NamedTuple: that is more code than most kernels have. When Python calls such a kernel nevertheless (in a
  test, in a notebook), it is compiled a second time, with the wrapper.
- Kernels inside one that Python calls are visible to that one alone (`hide_callees`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import CodeType
from typing import Any

from llvmlite import binding
from numba.core import config, sigutils, types
from numba.core.codegen import CPUCodeLibrary
from numba.core.registry import CPUDispatcher

from footplant.kernels import storage

watchers: list[Callable[[Kernel], None]] = []
"""Called with every kernel that this process has compiled."""
_entry: ContextVar[str | None] = ContextVar("_entry", default=None)
"""The kernel that is being compiled, if Python calls it."""


def hide_callees() -> None:
    """Let LLVM change how kernels pass arguments to those that they call.

    An array is passed as seven numbers and more, a NamedTuple of ten arrays as a hundred, in memory. numba links a
    kernel's callees such that others could call them as well ("linkonce_odr"), so that LLVM must pass all of them, used
    or not. In the library of a kernel that Python calls nobody else does. A crowd's solver takes 12.5 µs a character
    instead of 27 (`solve.ik.groupccd._pose.solve_poses`).
    """
    optimise = getattr(CPUCodeLibrary, "_optimize_final_module", None)
    if optimise is None:
        # another numba: kernels are slower, and right
        return

    def optimise_hidden(self: CPUCodeLibrary) -> None:
        if self.name == _entry.get():
            for function in self._final_module.functions:
                if not function.is_declaration and function.linkage == binding.Linkage.linkonce_odr:
                    function.linkage = "internal"
        optimise(self)

    CPUCodeLibrary._optimize_final_module = optimise_hidden  # type: ignore[method-assign]


hide_callees()


class Kernel(CPUDispatcher):
    """A compiled function. Its module's WARMUP names those that Python calls; the others are called by kernels only."""

    _standalone: Any = None
    """The same kernel with a wrapper, once Python has called one that has none."""
    _ready = False
    """Whether wrapper and cache have been chosen."""

    @property
    def name(self) -> str:
        """The dotted name, without the package."""
        return f"{self.py_func.__module__.removeprefix('footplant.')}.{self.py_func.__name__}"

    @property
    def is_inner(self) -> bool:
        """Whether only other kernels call it."""
        called = getattr(sys.modules.get(self.py_func.__module__), "WARMUP", None)
        return called is not None and self.py_func.__name__ not in called

    def callees(self) -> Iterator[Kernel]:
        """The kernels that its code names."""
        for name in _names(self.py_func.__code__):
            found = self.py_func.__globals__.get(name)
            if isinstance(found, Kernel):
                yield found

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The overload for a call by another kernel: constants count by their types."""
        plain = tuple(types.unliteral(arg) for arg in args)
        return super().get_call_template(plain, {name: types.unliteral(arg) for name, arg in kws.items()})

    def add_overload(self, cres: Any) -> None:
        """Remember compiled code; Python does not see that of an inner kernel, which it could not call."""
        if self.targetoptions.get("no_cpython_wrapper"):
            self.overloads[tuple(cres.signature.args)] = cres
        else:
            super().add_overload(cres)

    def compile(self, sig: Any) -> Any:
        """Load or compile the code for a signature."""
        self._make_ready()
        existing = self.overloads.get(tuple(sigutils.normalize_signature(sig)[0]))
        if existing is not None:
            return existing.entry_point
        before = sum(self.stats.cache_misses.values())
        outer = _entry.set(None if self.targetoptions["no_cpython_wrapper"] else self.py_func.__qualname__)
        try:
            entry = super().compile(sig)
        finally:
            _entry.reset(outer)
            if isinstance(self._cache, storage.KernelCache):
                self._cache.release()
        if sum(self.stats.cache_misses.values()) > before:
            for watcher in watchers:
                watcher(self)
        return entry

    def _make_ready(self, inner: bool | None = None) -> None:
        """Choose the wrapper and the cache at the first use: WARMUP stands at the end of a module."""
        if self._ready:
            return
        self._ready = True
        inner = self.is_inner if inner is None else inner
        self.targetoptions["no_cpython_wrapper"] = inner
        if storage.OPTIMISATION > 0 and (storage.cache_folder() or storage.shipped_folder()[0]) is not None:
            self._cache = (storage.InnerKernelCache if inner else storage.KernelCache)(self.py_func)

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """Answer a call from Python with types of arguments that were not seen before."""
        self._make_ready()
        if not self.targetoptions["no_cpython_wrapper"]:
            return super()._compile_for_args(*args, **kws)  # type: ignore[attr-defined]
        if self._standalone is None:
            self._standalone = Kernel(self.py_func, targetoptions=dict(self.targetoptions))
            self._standalone._make_ready(inner=False)
        known = set(self._standalone.overloads)
        entry = self._standalone._compile_for_args(*args, **kws)
        for signature in set(self._standalone.overloads) - known:
            # where calls from Python look for code
            super().add_overload(self._standalone.overloads[signature])
        return entry


def make(function: Callable, **options: Any) -> Any:
    """Make a function a kernel with these options of numba; with NUMBA_DISABLE_JIT=1 it stays as it is."""
    if getattr(config, "DISABLE_JIT", False):
        return function
    return Kernel(function, targetoptions={"nopython": True, "no_cfunc_wrapper": True, **options})


def _names(code: CodeType) -> set[str]:
    """The global names that a function's code reads."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names(constant)
    return found
