"""numba without scipy: it loads all of scipy's linear algebra only to know that there is a BLAS.

No kernel of the package calls BLAS. Functions that do, of a notebook for example, load it when they are compiled.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec


def leave_blas_alone() -> None:
    """Let numba load compiled kernels without importing scipy's linear algebra: a new process starts 0.2 s sooner."""
    if "numba.np.arraymath" in sys.modules or find_spec("scipy") is None:
        return
    from numba.np import linalg

    ensure = getattr(linalg, "ensure_blas", None)
    if ensure is None:
        # another numba: it starts slower
        return
    linalg.ensure_blas = lambda: None
    try:
        from numba.np import arraymath
    finally:
        linalg.ensure_blas = ensure
    arraymath.ensure_blas = ensure  # type: ignore[attr-defined]
