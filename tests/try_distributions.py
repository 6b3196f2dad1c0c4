"""Install what `make dist` has built, each into an empty environment, and try it with an empty cache.

    python tests/try_distributions.py dist

The wheel with compiled kernels must retarget without compiling anything; the others must be installed whole.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LONGEST = 6.0
"""Seconds of processor time that the first `footplant retarget` of a wheel with compiled kernels may take."""
RETARGET = ("retarget", "sample:walk", "--to", "sample:sally", "-o", "sally.glb")


def environment(folder: Path, archive: Path) -> Path:
    """Make an environment with the distribution and what it depends on, nothing else; return its commands' folder."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    commands = folder / ("Scripts" if os.name == "nt" else "bin")
    python = commands / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", archive.resolve()], check=True
    )
    return commands


def run(commands: Path, folder: Path, *arguments: str) -> tuple[str, float, float]:
    """Run `footplant ARGUMENTS` in an empty folder with an empty cache; its output, its time, its processor time."""
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "FOOTPLANT_CACHE_DIR")}
    start, before = time.perf_counter(), sum(os.times()[2:4])
    done = subprocess.run(
        [commands / "footplant", *arguments], cwd=folder, capture_output=True, text=True,
        env=variables | {"XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder), "USERPROFILE": str(folder)},
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"footplant {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout + done.stderr, time.perf_counter() - start, sum(os.times()[2:4]) - before


def try_compiled(commands: Path, folder: Path) -> str:
    """The wheel with compiled kernels: the first retarget compiles nothing."""
    said, wall, work = run(commands, folder, *RETARGET)
    compiled = sorted(path.name for path in (folder / "cache").rglob("*.nbc"))
    if compiled or "compiling" in said:
        raise SystemExit(f"{len(compiled)} kernels were compiled: {', '.join(compiled)}\n{said}")
    if work > LONGEST:
        raise SystemExit(f"the first retarget took {work:.1f} s of processor time, more than {LONGEST:.0f}")
    return f"first retarget in {wall:.1f} s ({work:.1f} s of processor time), no kernel compiled"


def try_plain(commands: Path, folder: Path) -> str:
    """The wheel for every system, and the sources: commands and samples are there."""
    said, wall, _ = run(commands, folder, "info", "sample:walk")
    return f"info in {wall:.1f} s, {len(said.splitlines())} lines"


def main(folder: Path) -> None:
    """Try every distribution of a folder."""
    archives = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    if not archives:
        raise SystemExit(f"no distributions in {folder}")
    for archive in archives:
        carries = archive.suffix == ".whl" and not archive.name.endswith("-py3-none-any.whl")
        with tempfile.TemporaryDirectory() as name:
            place = Path(name)
            commands = environment(place / "env", archive)
            (place / "empty").mkdir()
            result = (try_compiled if carries else try_plain)(commands, place / "empty")
        print(f"{archive.name} ({archive.stat().st_size / 2**20:.1f} MB): {result}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
