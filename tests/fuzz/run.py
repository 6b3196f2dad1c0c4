"""Fuzz every parser: `python tests/fuzz/run.py --seconds 60`; exits with 1 when anything but FormatError escapes.

Each `fuzz_*.py` beside this file is one target: `TARGET(data: bytes)`, and `corpus() -> list[bytes]` to start from.
Every target runs in a process of its own, because the fuzzer (atheris, on libFuzzer) ends its process; inputs that fail
are kept in --keep. The kept corpus (`kept.py`) is where every run starts from too; with --grow it gets what the run has
found: inputs that go new ways, and those that fail, which the suite then replays until they do not. Where atheris is
not made for the machine (aarch64), `mutate.py` does its work, with less guidance.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import mutate
from kept import grow, keep, kept

FOLDER = Path(__file__).resolve().parent
MEMORY_MB = 2048
SLOWEST_SECONDS = 10
"""A single input that takes longer is a finding."""


def main() -> int:
    """Run all targets, or the ones that are named; print one line each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", help="names such as fuzz_bvh (default: all)")
    parser.add_argument("--seconds", type=int, default=60, help="how long each target runs")
    parser.add_argument("--grow", action="store_true", help="add what is found to the kept corpus")
    parser.add_argument("--keep", type=Path, default=Path("out/fuzz"), help="where inputs that fail are kept")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--corpus", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        _fuzz(arguments.child, arguments.seconds, arguments.corpus, arguments.keep)
        return 0
    names = arguments.targets or sorted(path.stem for path in FOLDER.glob("fuzz_*.py"))
    failed = [name for name in names if not _run(name, arguments.seconds, arguments.keep, arguments.grow)]
    return 1 if failed else 0


def _run(name: str, seconds: int, failures: Path, growing: bool) -> bool:
    """One target in its own process; whether nothing was found."""
    failures.mkdir(parents=True, exist_ok=True)
    before = set(failures.iterdir())
    with tempfile.TemporaryDirectory() as corpus:
        command = [sys.executable, str(Path(__file__).resolve()), "--child", name, "--seconds", str(seconds)]
        command += ["--corpus", corpus, "--keep", str(failures)]
        for path in kept(name):
            shutil.copy(path, corpus)
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        inputs = [path.read_bytes() for path in Path(corpus).iterdir()]
    found = sorted(set(failures.iterdir()) - before)
    if growing:
        for path in found:
            keep(name, path.read_bytes())
        print(
            f"{name}: {grow(name, importlib.import_module(name).TARGET, inputs)} inputs added, {len(kept(name))} kept"
        )
    runs = [line.split()[1] for line in done.stderr.splitlines() if line.startswith(("Done", "stat::number_of_exec"))]
    if done.returncode == 0 and not found:
        often = runs[-1] if runs else "?"
        print(f"{name}: nothing found in {seconds} s, {often} runs, {len(inputs)} inputs in the corpus")
        return True
    print(f"{name}: FOUND (exit code {done.returncode}) {', '.join(map(str, found))}")
    print("\n".join((done.stdout + done.stderr).splitlines()[-60:]))
    return False


def _fuzz(name: str, seconds: int, corpus: Path, failures: Path) -> None:
    """Inside the child: instrument the package, import the target, run until the time is over."""
    from footplant.kernels import module_names

    if importlib.util.find_spec("atheris") is None:
        limit = MEMORY_MB << 20
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        target = importlib.import_module(name)
        seeds = [*target.corpus(), *(path.read_bytes() for path in sorted(corpus.iterdir()))]
        for seed in seeds:
            target.TARGET(seed)
        runs = mutate.fuzz(target.TARGET, seeds, seconds, SLOWEST_SECONDS, failures / name)
        print(f"stat::number_of_executed_units: {runs}", file=sys.stderr)
        return
    import atheris

    # numba cannot compile instrumented functions
    for kernel in module_names():
        if kernel.startswith("footplant.kernels."):
            importlib.import_module(kernel)
    with atheris.instrument_imports(include=["footplant.io", "footplant.live.protocols", "footplant.errors"]):
        target = importlib.import_module(name)
    for number, seed in enumerate(target.corpus()):
        target.TARGET(seed)  # also compiles the kernels, so that the first input is not taken for a slow one
        (corpus / f"seed-{number}").write_bytes(seed)
    options = [f"-max_total_time={seconds}", f"-rss_limit_mb={MEMORY_MB}", f"-timeout={SLOWEST_SECONDS}"]
    options += [f"-artifact_prefix={failures}/{name}-", "-max_len=65536", str(corpus)]
    atheris.Setup([sys.argv[0], *options], target.TARGET)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
