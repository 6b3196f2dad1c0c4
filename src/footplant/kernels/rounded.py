"""The decorator for kernels that stand in for NumPy where there is much to do: each operation is rounded by itself."""

from __future__ import annotations

from footplant.kernels import jit


def rounded(function):
    """Compile a kernel as `jit` does, but never a·b + c with one rounding: one of many is as NumPy has it alone."""
    dispatcher = jit(function)
    # with NUMBA_DISABLE_JIT=1 it is a plain function
    getattr(dispatcher, "targetoptions", {})["fastmath"] = False
    return dispatcher


WARMUP: dict = {}
