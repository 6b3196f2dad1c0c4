"""Record which kernels each command calls, for `footplant.cli.kernels`; run it after kernels have come or gone.

    footplant warmup && python tests/needed_kernels.py

Every command runs once on samples, in a process of its own. A kernel that is called with other types of arguments than
its module's WARMUP says is printed: neither `footplant warmup` nor a wheel compiles it for these.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

LISTS = Path(__file__).resolve().parents[1] / "src" / "footplant" / "cli" / "kernels.json"
COMMANDS = (
    "contacts sample:walk --hands",
    "measure walk.bvh",
    "measure sally.bvh --against walk.bvh",
    "plot walk.bvh -o strip.png",
    "retarget sample:walk --to sample:sally -o made.glb",
    "retarget walk.bvh --to sally.glb -o made.bvh",
    "retarget sample:walk --to sample:short --keep-footsteps -o short.glb",
    "terrain walk.bvh --ground noise:3 --to sample:sally -o hills.glb",
    "path walk.bvh --curve circle:2 -o round.glb",
    "together walk.bvh sally.bvh --to sample:short --to sample:sally --hold left:right@10-40 -o together",
    "together walk.bvh sally.bvh --to sample:short --to sample:child --touch --format bvh -o touching",
    "morph walk.bvh --to sample:longlegs --to sample:child -o morph.glb",
    "repair walk.bvh -o repaired.bvh",
    "trim walk.bvh --start 1 --end 2 -o part.bvh",
    "resample walk.bvh --fps 24 -o slow.bvh",
    "mirror walk.bvh -o mirrored.bvh",
    "loop walk.bvh -o loop.glb",
    "join walk.bvh sample:run -o joined.glb",
    "view walk.bvh -o view.html --no-browser",
    "fit walk.bvh --constraints rail.toml -o fitted.glb",
    "blend walk.bvh sample:run --weights 0.5,0.5 -o jog.glb",
    "transition walk.bvh sample:sneak -o both.glb",
    "match walk.bvh sample:run -o matrix.png",
    "graph clips -o graph.json",
    'drive set:samples --script "walk 1s, run 1s left" -o driven.glb',
    'drive set:samples --script "stand 1s, step @.1:.4, walk 2s right, kick, run 2s" --ground noise:3 -o hilly.bvh',
    'drive set:samples --script "walk 3s" --ground stairs:0.17:0.3 -o climbed.bvh',
    'drive set:samples --script "walk 2s" --ground part:2:3:1+moving:deck:8:5 -o aboard.bvh',
    "compare walk.bvh --to sample:short --keep-footsteps -o compare.png",
    "puppet --bench --actors 2 --seconds 1",
    "puppet --in walk.bvh --to sample:sally --ground slope:8 --out live.glb --seconds 2",
    "normalize walk.bvh -o walk.footplant",
    "normalize walk.footplant --to sample:child -o child.glb",
    "crowd scene:fight -o fight.glb",
    "demo -o demo",
)
BEFORE = (
    "convert sample:walk walk.bvh",
    "retarget sample:walk --to sample:sally -o sally.glb",
    "convert sally.glb sally.bvh",
    "convert sample:walk clips/walk.bvh",
    "convert sample:run clips/run.bvh",
)
"""What makes the files that the commands read."""
RAIL = """
[[constraints]]
kind = "position"
point = "left_palm"
interval = [20, 40]
target = [0.3, 1.2, 0.4]
"""
SCRIPT = """
import json, sys
from footplant.cli import main
code = main(sys.argv[1:])
from numba import typeof
from footplant.kernels.dispatcher import Kernel
names, unexpected = [], []
for module in list(sys.modules.values()):
    if getattr(module, "__name__", "").startswith("footplant."):
        for kernel in vars(module).values():
            if isinstance(kernel, Kernel) and kernel.py_func.__module__ == module.__name__:
                if not kernel.is_inner and kernel.overloads:
                    names.append(kernel.name)
                    wanted = tuple(typeof(argument) for argument in module.WARMUP[kernel.py_func.__name__]())
                    if set(kernel.overloads) != {wanted}:
                        unexpected.append(kernel.name)
print(json.dumps([code, names, unexpected]), file=sys.stderr)
"""


def run(command: str, folder: Path) -> tuple[int, list[str], list[str]]:
    """Run a command; return its exit code, the kernels that it called, and those called with unexpected types."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *shlex.split(command)], cwd=folder, capture_output=True, text=True
    )
    try:
        return tuple(json.loads(done.stderr.splitlines()[-1]))
    except (IndexError, ValueError):
        raise SystemExit(f"{command}: {done.stderr}") from None


def main() -> None:
    """Record all commands, or those that are named, and write the lists."""
    from footplant.cli.demo import MEASURING
    from footplant.kernels import ahead

    lists = json.loads(LISTS.read_text()) if LISTS.is_file() else {}
    found: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "clips").mkdir()
        (folder / "rail.toml").write_text(RAIL)
        for command in (*BEFORE, *COMMANDS):
            first = command.split()[0]
            if command in COMMANDS and sys.argv[1:] and first not in sys.argv[1:]:
                continue
            code, names, unexpected = run(command, folder)
            print(f"{command}: exit {code}, {len(names)} kernels", *unexpected, flush=True)
            if command in COMMANDS:
                found.setdefault(first, set()).update(names)
    lists.update({command: ahead.by_cost(names) for command, names in found.items()})
    # the demo begins with a retarget, writes its result and then compares it
    lists["demo"].sort(key=lambda name: (name not in lists["retarget"], name.startswith(MEASURING)))
    LISTS.write_text(json.dumps(dict(sorted(lists.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()
