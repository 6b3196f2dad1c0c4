"""Where compiled kernels are kept: those that the installation carries, then the user's cache folder.

A wheel for one version of Python, numba and one kind of processor carries the machine code of every kernel that Python
calls (`compiled/`, written by `packing`): it is read only and tried first. What is not there is compiled and kept in
the user's cache folder.

numba's own `cache=True` keeps results beside the caller's file and keys them on that file alone: when a kernel in
another file changes, the stale result is used without a word, and a read-only install raises. Here results are kept
under a hash of the kernel's file and of all kernel files that it imports, in the user's cache folder, then in the
temporary folder, then nowhere. Of several processes that need the same kernel at the same time one compiles it, and the
others wait.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import platform
import re
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numba
from llvmlite import binding
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.runtime.nrt import rtsys

from footplant.kernels.without_blas import leave_blas_alone

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

leave_blas_alone()
PACKAGE_FOLDER = Path(__file__).parent.parent
SHIPPED = Path(__file__).parent / "compiled"
"""What a wheel carries: about.json, and one folder a level of processors."""
OPTIMISATION = int(getattr(config, "OPT", 3))
"""numba's optimisation level (NUMBA_OPT)."""
BOUNDS_CHECKS = os.environ.get("FOOTPLANT_BOUNDSCHECK", "0") not in ("", "0")
"""Whether compiled loops check their indices: slow, for tests (`make bounds`)."""
LONGEST_WAIT = 120.0
"""Seconds that a process waits for another one that compiles the same kernel, before it compiles it too."""
_IMPORT = re.compile(rb"^from (footplant\.[\w.]+) import", re.MULTILINE)
"""How a kernel module imports another one; a test checks that there is no other way."""
_DECORATORS = re.compile(rb"^from footplant\.kernels import .*jit", re.MULTILINE)
"""What makes a module a kernel module: it imports one of the decorators of `footplant.kernels`."""
logger = logging.getLogger("footplant.kernels")
"""Says once a process that kernels are being compiled; the command line shows it to people."""


# --- what code depends on ------------------------------------------------------------------------------------------


@cache
def environment_hash() -> str:
    """Return a hash of the compiler: numba's version and options, Python's minor version, and how kernels are made."""
    options = f"optimisation {OPTIMISATION}, bounds checks {BOUNDS_CHECKS}"
    digest = hashlib.sha256(f"{numba.__version__} {sys.implementation.cache_tag} {options}".encode())
    for file in ("__init__.py", "dispatcher.py"):
        digest.update((PACKAGE_FOLDER / "kernels" / file).read_bytes())
    return digest.hexdigest()[:16]


def compiler() -> dict[str, str]:
    """What compiled kernels are made by and for, in the words of the line that says why they cannot be used."""
    return {
        "numba": numba.__version__, "Python": str(sys.implementation.cache_tag), "machine": platform.machine().lower(),
        "options": environment_hash(),
    }  # fmt: skip


@cache
def sources_hash(module: str) -> str:
    """A hash of a kernel module's source and of those that it imports, directly or not."""
    digest = hashlib.sha256()
    for name in sorted(_imported(module)):
        digest.update(name.encode())
        digest.update(_source(name))
    return digest.hexdigest()[:16]


def _file(module: str) -> Path:
    return PACKAGE_FOLDER.joinpath(*module.split(".")[1:]).with_suffix(".py")


def has_module(module: str) -> bool:
    """Whether there is a kernel module of that dotted name."""
    return _file(module).is_file()


@cache
def module_names() -> tuple[str, ...]:
    """Return the dotted names of all kernel modules, in this package and beside their callers."""
    return tuple(
        ".".join(("footplant", *path.relative_to(PACKAGE_FOLDER).with_suffix("").parts))
        for path in sorted(PACKAGE_FOLDER.rglob("*.py"))
        if path.name != "__init__.py" and _DECORATORS.search(path.read_bytes())
    )


@cache
def _source(module: str) -> bytes:
    return _file(module).read_bytes()


def _imported(module: str) -> set[str]:
    """The kernel modules that a kernel module's result depends on, itself among them."""
    found, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            imports = (match.decode() for match in _IMPORT.findall(_source(name)))
            waiting += [each for each in imports if each != "footplant.kernels"]
    return found


# --- the user's folder ---------------------------------------------------------------------------------------------


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
    """Delete what sources and versions of long ago have left, once a day; what the sources of today use stays."""
    mark = candidate / "swept"
    with contextlib.suppress(OSError):
        if time.time() - mark.stat().st_mtime < 86400:
            return
    with contextlib.suppress(OSError):
        mark.touch(mode=0o600)
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


# --- what the installation carries ---------------------------------------------------------------------------------


class Level(NamedTuple):
    """A kind of processors that code is compiled for."""

    name: str
    """LLVM's name of it."""
    features: str
    """LLVM's list of features besides."""
    needs: tuple[str, ...] = ()
    """Features that a processor must have to run its code."""


LEVELS = {
    "x86_64": Level("x86-64-v3", "", ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")),
    "amd64": Level("x86-64-v3", "", ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")),
    "aarch64": Level("generic", "+fp-armv8,+neon", ("neon",)),
    "arm64": Level("apple-m1" if sys.platform == "darwin" else "generic", "" if sys.platform == "darwin" else "+neon"),
}
"""By `platform.machine()`: what wheels are compiled for."""


def level() -> Level | None:
    """Return the level that wheels for this machine are compiled for."""
    return LEVELS.get(platform.machine().lower())


@cache
def shipped_folder() -> tuple[Path | None, str]:
    """Return the folder of the kernels that the installation carries and can be used here; otherwise None, and why.

    The reason is empty for an installation that carries none.
    """
    try:
        about = json.loads((SHIPPED / "about.json").read_text())
    except OSError:
        return None, ""
    except ValueError:
        return None, "about.json of the compiled kernels is damaged"
    for what, here in compiler().items():
        if about.get(what) != here:
            return None, f"those of this installation are for {what} {about.get(what)}, here is {here}"
    wanted = level()
    features = binding.get_host_cpu_features()
    absent = [] if wanted is None else [name for name in wanted.needs if not features.get(name)]
    if wanted is None or absent:
        return None, f"those of this installation need a processor with {', '.join(absent) or 'another architecture'}"
    return SHIPPED / wanted.name, ""


def file_base(module: str, function: str) -> str:
    """How numba names the files of a function that is kept by `_Locator`."""
    tag = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
    return f"{module.rpartition('.')[2]}.{function}-{module}-{sources_hash(module)}.{tag}"


def without_processor(key: tuple) -> tuple:
    """A key of numba's index without the processor: the folder says it."""
    return key[0], *key[2:]


def is_kept(name: str) -> bool:
    """Whether there is code of a kernel that Python calls, "module.function", whatever types of arguments it is for."""
    module, _, function = name.rpartition(".")
    file = f"{file_base(f'footplant.{module}', function)}.nbi"
    return any(folder is not None and (folder / file).is_file() for folder in (shipped_folder()[0], cache_folder()))


# --- numba's cache -------------------------------------------------------------------------------------------------


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

    def reduce(self, cres):
        # the annotated source is large, and names the folder in which it was compiled
        return super().reduce(cres._replace(type_annotation=""))


class _InnerCacheImpl(_CacheImpl):
    """Of kernels that only other kernels call: their code cannot be called from Python, so it has other names."""

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        return f"{super().get_filename_base(fullname, abiflags)}.inner"


class KernelCache(FunctionCache):
    """The code of one kernel: what the installation carries, then what the user's folder holds."""

    _impl_class = _CacheImpl

    def __init__(self, function) -> None:
        super().__init__(function)
        self._kept = cache_folder() is not None
        self._shipped = None
        self._locked = False
        if self._impl_class is _CacheImpl and shipped_folder()[0] is not None:
            stamp = self._impl.locator.get_source_stamp()
            self._shipped = IndexDataCacheFile(str(shipped_folder()[0]), self._impl.filename_base, stamp)

    def load_overload(self, sig, target_context) -> Any:
        # numba would first load what it compiles with, which takes a second; loaded code needs memory management alone
        rtsys.initialize(target_context)
        found = self._load_shipped(sig, target_context)
        if found is None and self._kept:
            found = self._load_kept(sig, target_context)
            if found is None:
                self._locked = _lock(self._impl.filename_base)
                # another process may have compiled it in the meantime
                found = self._load_kept(sig, target_context)
        if found is None:
            _say_compiling()
        return found

    def _load_shipped(self, sig, target_context) -> Any:
        if self._shipped is None:
            return None
        found = self._shipped.load(without_processor(self._index_key(sig, target_context.codegen())))
        return None if found is None else self._impl.rebuild(target_context, found)

    def _load_kept(self, sig, target_context) -> Any:
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig, data) -> None:
        if self._kept:
            super().save_overload(sig, data)

    def release(self) -> None:
        """Let other processes have the kernel; to be called after each attempt to load or compile it."""
        if self._locked:
            self._locked = False
            _unlock(self._impl.filename_base)


class InnerKernelCache(KernelCache):
    """The code of a kernel that only other kernels call."""

    _impl_class = _InnerCacheImpl


@cache
def _say_compiling() -> None:
    reason = shipped_folder()[1]
    logger.info("compiling kernels, once per machine (kept in %s)%s", cache_folder(), f": {reason}" if reason else "")


# --- locks between processes: one byte of one file a kernel ----------------------------------------------------------


@cache
def _lock_file(process: int) -> int:
    return os.open(Path(str(cache_folder())) / "locks", os.O_RDWR | os.O_CREAT, 0o600)


def _byte(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") & 0x3FFFFFFF


def _lock(name: str) -> bool:
    """Wait until no other process compiles the kernel; whether it is ours then. Never where files cannot be locked."""
    if fcntl is None:
        return False
    end = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < end:
        try:
            fcntl.lockf(_lock_file(os.getpid()), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(name))
        except BlockingIOError:
            time.sleep(0.02)
        except OSError:
            return False
        else:
            return True
    return False


def _unlock(name: str) -> None:
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.lockf(_lock_file(os.getpid()), fcntl.LOCK_UN, 1, _byte(name))
