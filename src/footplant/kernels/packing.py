"""Compile all kernels for a wheel: `python -m footplant.kernels.packing FOLDER CACHE` (`make wheel` runs it).

The code of every kernel that Python calls is compiled for a level of processors rather than for this machine's, and
written to FOLDER as `storage` reads it in an installed wheel. CACHE keeps what was compiled from one wheel to the next.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

from numba.core.caching import IndexDataCacheFile

from footplant import kernels
from footplant.kernels import ahead, storage

SAID_EVERY = 25
"""Kernels between two lines about how far compiling is."""


def pack(folder: Path) -> int:
    """Write the kernels of the cache folder that Python calls as a wheel carries them; return their number."""
    level, source = storage.level(), storage.cache_folder()
    assert level is not None
    assert source is not None
    target = folder / level.name
    target.mkdir(parents=True)
    count = 0
    for name in kernels.entry_points():
        module, _, function = f"footplant.{name}".rpartition(".")
        base, stamp = storage.file_base(module, function), storage.sources_hash(module)
        kept, packed = (IndexDataCacheFile(str(place), base, stamp) for place in (source, target))
        for key, file in kept._load_index().items():
            packed.save(storage.without_processor(key), kept._load_data(file))
            count += 1
    (folder / "about.json").write_text(json.dumps(storage.compiler() | {"processors": level.name}, indent=1) + "\n")
    return count


def compile_all() -> None:
    """Compile every kernel that Python calls, in parallel, and say how far that is."""
    calls = kernels.entry_points()
    pool = ahead.start(ahead.by_cost(calls))
    said = 0

    def say(done: int, total: int) -> None:
        nonlocal said
        if done >= said + SAID_EVERY:
            said = done
            print(f"{done} of {total} kernels", file=sys.stderr, flush=True)

    if pool is not None:
        pool.wait(progress=say)
    for call in calls.values():
        call()


def main(folder: Path, cache: Path) -> None:
    """Compile and pack, in a process whose numba compiles for the level."""
    level = storage.level()
    if level is None:
        raise SystemExit(f"wheels with compiled kernels are not made for {platform.machine()}")
    wanted = {"NUMBA_CPU_NAME": level.name, "NUMBA_CPU_FEATURES": level.features, "FOOTPLANT_CACHE_DIR": str(cache)}
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        command = [sys.executable, "-m", __spec__.name, str(folder), str(cache)]
        raise SystemExit(subprocess.run(command, env=os.environ | wanted).returncode)
    compile_all()
    print(f"{pack(folder)} compiled kernels for {level.name} in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
