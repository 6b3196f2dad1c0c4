"""The compiled inner loops, and the one decorator that compiles them.

Kernel modules import numba; the rest of the package imports a kernel module inside the function that needs it, so that
`import footplant` compiles nothing and imports no numba.

numba's own `cache=True` keeps results beside the caller's file and keys them on that file alone: when a kernel in
another file changes, the stale result is used without a word, and a read-only install raises. `jit` keeps them in the
user's cache folder under a hash of the kernel's file and of all kernel files that it imports, falls back to the
temporary folder, then to no cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import ClassVar

from numba import njit
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

PACKAGE_FOLDER = Path(__file__).parent.parent
OPTIMISATION = int(getattr(config, "OPT", 3))
"""numba's optimisation level (NUMBA_OPT)."""
BOUNDS_CHECKS = os.environ.get("FOOTPLANT_BOUNDSCHECK", "0") not in ("", "0")
"""Whether compiled loops check their indices: slow, for tests (`make bounds`)."""
_IMPORT = re.compile(rb"^from (footplant\.[\w.]+) import", re.MULTILINE)
"""How a kernel module imports another one; a test checks that there is no other way."""
_DECORATORS = re.compile(rb"^from footplant\.kernels import .*jit", re.MULTILINE)
"""What makes a module a kernel module: it imports one of the decorators below."""
logger = logging.getLogger(__name__)
"""Says once a process that kernels are being compiled; the command line shows it to people."""


@cache
def environment_hash() -> str:
    """Return a hash of the compiler: the versions and options of numba, the version of Python, and this file."""
    import numba

    options = f"optimisation {OPTIMISATION}, bounds checks {BOUNDS_CHECKS}"
    digest = hashlib.sha256(f"{numba.__version__} {sys.version} {options}".encode())
    digest.update(Path(__file__).read_bytes())
    return digest.hexdigest()[:16]


@cache
def sources_hash(module: str) -> str:
    """A hash of a kernel module's source and of those that it imports, directly or not."""
    digest = hashlib.sha256()
    for name in sorted(_imported(module)):
        digest.update(name.encode())
        digest.update(_source(name))
    return digest.hexdigest()[:16]


@cache
def module_names() -> tuple[str, ...]:
    """Return the dotted names of all kernel modules, in this package and beside their callers."""
    return tuple(
        ".".join(("footplant", *path.relative_to(PACKAGE_FOLDER).with_suffix("").parts))
        for path in sorted(PACKAGE_FOLDER.rglob("*.py"))
        if path.name != "__init__.py" and _DECORATORS.search(path.read_bytes())
    )


def _source(module: str) -> bytes:
    return PACKAGE_FOLDER.joinpath(*module.split(".")[1:]).with_suffix(".py").read_bytes()


def _imported(module: str) -> set[str]:
    """The kernel modules that a kernel module's result depends on, itself among them."""
    found, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            imports = (match.decode() for match in _IMPORT.findall(_source(name)))
            waiting += [each for each in imports if each != __name__]
    return found


def _candidate_folders() -> list[Path]:
    if "FOOTPLANT_CACHE_DIR" in os.environ:
        return [Path(os.environ["FOOTPLANT_CACHE_DIR"])]
    home_cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    return [Path(home_cache) / "footplant", Path(tempfile.gettempdir()) / f"footplant-{user}"]


def _is_ours(folder: Path) -> bool:
    """Whether the folder (and a link that leads to it) belongs to this user and nobody else may write in it."""
    if not hasattr(os, "getuid"):
        return True
    owners = {folder.lstat().st_uid, folder.stat().st_uid}
    return owners == {os.getuid()} and not folder.stat().st_mode & 0o022


def _is_ours_and_writable(candidate: Path, folder: Path) -> bool:
    """Make the folder if need be; one that another user owns or can write in is refused: code is run from it."""
    try:
        candidate.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True, mode=0o700)
        if not (_is_ours(candidate) and _is_ours(folder)):
            return False
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _forget_old_files(candidate: Path, days: float = 30.0) -> None:
    """Delete what sources and versions of long ago have left; what the sources of today use stays."""
    used = [f"-{name}-{sources_hash(name)}." for name in module_names()]
    today = candidate / f"kernels-{environment_hash()}"
    for folder in candidate.glob("kernels-*"):
        with contextlib.suppress(OSError):
            for file in folder.iterdir():
                old = time.time() - file.stat().st_mtime > days * 86400
                if old and not (folder == today and any(mark in file.name for mark in used)):
                    file.unlink()
            if folder != today and not any(folder.iterdir()):
                folder.rmdir()


@cache
def cache_folder() -> Path | None:
    """Where compiled kernels are kept; None when no folder can be written (then they are compiled in every process)."""
    for candidate in _candidate_folders():
        folder = candidate / f"kernels-{environment_hash()}"
        if _is_ours_and_writable(candidate, folder):
            _forget_old_files(candidate)
            return folder
    return None


class _Locator(_CacheLocator):
    """Tells numba to keep a function's machine code in `cache_folder`, valid as long as no source of it changes."""

    def __init__(self, function) -> None:
        self._module = function.__module__
        self._py_file = function.__code__.co_filename
        """Read by numba when it warns that a function cannot be cached."""

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return sources_hash(self._module)

    def get_disambiguator(self) -> str:
        # in the file's name, so that two checkouts do not push each other's code out
        return f"{self._module}-{sources_hash(self._module)}"

    @classmethod
    def from_function(cls, function, path):
        return cls(function)


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes: ClassVar = [_Locator]


class _KernelCache(FunctionCache):
    _impl_class = _CacheImpl

    def load_overload(self, sig, target_context):
        found = super().load_overload(sig, target_context)
        if found is None:
            _say_compiling()
        return found


@cache
def _say_compiling() -> None:
    logger.info("compiling kernels, once per machine (kept in %s)", cache_folder())


def jit(function):
    """Compile a kernel: float64, no Python objects, the lock released, no exceptions on division, cached on disk.

    a·b + c may be one rounding instead of two ("contract", a fifth faster); NaN and infinity keep their meaning.
    With NUMBA_DISABLE_JIT=1 the function stays plain Python, for debugging and coverage. With NUMBA_OPT=0 nothing is
    cached: numba cannot store unoptimised code that refers to global arrays.
    """
    dispatcher = njit(nogil=True, error_model="numpy", boundscheck=BOUNDS_CHECKS, fastmath={"contract"})(function)
    if not getattr(config, "DISABLE_JIT", False) and OPTIMISATION > 0 and cache_folder() is not None:
        dispatcher._cache = _KernelCache(function)  # type: ignore[attr-defined]
    return dispatcher


def strict_jit(function):
    """Compile like `jit`, but never fuse a·b + c into one rounding, so that results equal NumPy's to the last bit."""
    dispatcher = jit(function)
    # with NUMBA_DISABLE_JIT=1 it is a plain function
    getattr(dispatcher, "targetoptions", {})["fastmath"] = False
    return dispatcher


def uncounted_jit(function):
    """Compile like `jit`, but without reference counting: the kernel must neither allocate nor return arrays.

    numba counts references: a call from one kernel to another increments and decrements a counter for every array of
    every NamedTuple that is passed. In computer puppetry that took three quarters of the time. A kernel that neither
    allocates nor returns arrays needs no counting, because the outermost caller holds the references.
    """
    dispatcher = jit(function)
    # with NUMBA_DISABLE_JIT=1 it is a plain function
    getattr(dispatcher, "targetoptions", {})["_nrt"] = False
    return dispatcher


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
