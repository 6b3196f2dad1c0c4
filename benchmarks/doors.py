"""Walk through the four pages for beginners from an empty environment, and time each: python benchmarks/doors.py.

A fresh virtual environment gets Footplant from this folder (or a wheel, --wheel), with an empty cache of compiled
kernels; then every command and program of each page runs in an empty folder, with files of the folder of real clips in
the place of the reader's own. The kernels that the first page compiles serve the others, as they do for a reader.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from doors import DOORS, lay_out_files, missing_files  # noqa: E402
from real_clips import DATA  # noqa: E402

BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def walk(page: str, folder: Path, binaries: Path, environment: dict[str, str]) -> list[tuple[str, float]]:
    """Run the blocks of a page; return each step and its seconds. The first failure raises, with what was said."""
    lay_out_files(page, DATA, folder)
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    steps = []
    for language, block in BLOCK.findall(text):
        lines = [block] if language == "python" else [line.partition(" #")[0] for line in block.splitlines()]
        for line in filter(str.strip, lines):
            python = [str(binaries / "python"), "-c", line]
            command = python if language == "python" else [str(binaries / "footplant"), *line.split()[1:]]
            start = time.perf_counter()
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{page}: {line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
            steps.append((line if language == "bash" else "the program", time.perf_counter() - start))
    return steps


def main() -> None:
    """Make the environment, walk, print a table or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--wheel", help="install this wheel instead of the sources")
    parser.add_argument("--doors", nargs="*", default=list(DOORS), choices=list(DOORS))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    missing = [name for page in options.doors for name in missing_files(page, DATA)]
    if missing:
        raise SystemExit(f"real files are absent: {', '.join(missing)}; see tests/README.md")
    with tempfile.TemporaryDirectory(prefix="footplant-doors-") as place:
        home = Path(place)
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "venv", home / "venv"], check=True)
        binaries = home / "venv" / ("Scripts" if os.name == "nt" else "bin")
        wanted = f"{options.wheel or ROOT}[all]"
        subprocess.run([binaries / "python", "-m", "pip", "install", "--quiet", wanted], check=True)
        installed = time.perf_counter() - start
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment |= {"FOOTPLANT_CACHE_DIR": str(home / "cache"), "FOOTPLANT_STATE": str(home / "state")}
        found = {}
        for page in options.doors:
            (home / page).mkdir()
            found[page] = walk(page, home / page, binaries, environment)
            if not options.json:
                print(f"{page}: {sum(seconds for _, seconds in found[page]):.0f} s")
                for step, seconds in found[page]:
                    print(f"  {seconds:6.1f} s  {step}")
    if options.json:
        print(json.dumps({"installed": installed, "doors": found}, indent=2))
    else:
        print(f"installation: {installed:.0f} s")


if __name__ == "__main__":
    main()
