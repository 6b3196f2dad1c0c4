"""Make numba compile faster, in a process that does nothing but compile kernels (`ahead` starts it).

The machine code is the same, to the byte in four kernels of five; in the others LLVM puts blocks in another order. The
arithmetic is the same. What is changed:

- how numba types an operation is memoised (`memoise_typing`);
- numba collects the variables of an instruction by the types of its fields (`list_variables_by_type`);
- it hands LLVM half as many instructions (`lean_ir`).

(Not worth it: leaving out the machine code of kernels that only other kernels call saves a twentieth of the time, but
LLVM changes a function's bitcode while it translates it, so that callers would be rounded otherwise.)

A test names every private name of numba that this stands on.
"""

from __future__ import annotations

import gc
from functools import cache
from typing import Any

from numba.core import ir, types
from numba.core.base import BaseContext
from numba.core.targetconfig import ConfigStack, TargetConfig

from footplant.kernels import lean_ir

ENVIRONMENT = {"NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1"}
"""Environment of such a process; numba reads it when it is imported."""


def prepare() -> None:
    """Change numba in this process."""
    # compiling leaves little garbage; the rest lives until the process ends
    gc.disable()
    memoise_typing()
    list_variables_by_type()
    lean_ir.prepare()


def memoise_typing() -> None:
    """Memoise how numba types operations.

    For every operation of every kernel numba tries several implementations before it finds one that fits. Each time it
    collects all compiler flags, looks for declarations that extensions may have registered in the meantime, and
    composes a message that says why an implementation does not fit (in colours, which `ENVIRONMENT` turns off).
    """
    defaults = cache(lambda kind: {name: option.default for name, option in kind.options.items()})
    TargetConfig.values = lambda self: defaults(type(self)) | self._values  # type: ignore[method-assign]
    refresh = BaseContext.refresh
    BaseContext.refresh = cache(lambda context: refresh(context))  # type: ignore[method-assign]
    find, found = types.Function.get_call_type, {}
    described: dict[int, tuple[TargetConfig | None, str]] = {}
    plain = types.Number | types.Boolean | types.Array | types.BaseTuple

    def get_call_type(function, context, args, kws):
        if kws or not all(isinstance(arg, plain) for arg in args):
            return find(function, context, args, kws)
        flags = ConfigStack.top_or_none()
        if id(flags) not in described:
            # the flags of one kernel do not change while it is compiled
            described[id(flags)] = flags, str(getattr(flags, "_values", None))
        key = id(function), args, described[id(flags)][1]
        if key not in found:
            found[key] = function, find(function, context, args, kws)
        return found[key][1]

    types.Function.get_call_type = get_call_type  # type: ignore[method-assign]


def list_variables_by_type() -> None:
    """Find the variables of an instruction by one look at the type of each field, instead of four `isinstance`."""
    kinds: dict[type, int] = {}
    nothing, variable, instruction, sequence, mapping = range(5)

    def kind_of(value: Any) -> int:
        tests = ((ir.Var, variable), (ir.Inst, instruction), (list | tuple, sequence), (dict, mapping))
        found = kinds[type(value)] = next((kind for type_, kind in tests if isinstance(value, type_)), nothing)
        return found

    def collect(value: Any) -> list[ir.Var]:
        kind = kinds.get(type(value))
        if kind is None:
            kind = kind_of(value)
        if kind == variable:
            return [value]
        if kind == nothing:
            return []
        if kind == instruction:
            return value.list_vars()
        found = []
        for item in value.values() if kind == mapping else value:
            # most fields are variables or nothing: no call for them
            inner = kinds.get(type(item))
            if inner == variable:
                found.append(item)
            elif inner != nothing:
                found += collect(item)
        return found

    ir.Inst._rec_list_vars = lambda self, value: collect(value)  # type: ignore[method-assign]
