"""Draw the strips of the pages on samples, terrain, morphing and repairs, and the comparison of methods.

python docs/make_strip_pictures.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import footplant
from damage import DAMAGE  # pyright: ignore[reportMissingImports]
from footplant import plot
from footplant.cli import main
from footplant.constraints.doorways import doorway_on_path
from footplant.io.ground_files import Course, load_ground

HERE = Path(__file__).resolve().parent


def draw_samples() -> None:
    """Draw the samples, by the commands of their page."""
    for name in ("walk", "run", "kick", "clap", "climb"):
        main(["plot", "--overwrite", f"sample:{name}", "--dpi", "100", "-o", str(HERE / f"{name}.png")])


def draw_comparison() -> None:
    """Draw one walk by every method, by the command of the page on choosing one."""
    command = ["compare", "sample:walk", "--to", "sample:short", "--keep-footsteps", "--overwrite"]
    main([*command, "-o", str(HERE / "compare.png")])


def draw_terrain() -> None:
    """Draw a walk over rough ground under a beam, and up stairs."""
    walk = footplant.load("sample:walk")
    course = Course.of(walk.motion, walk.character)
    for name, text, beam in (("terrain", "noise:12", 1.5), ("stairs", "stairs:0.17:0.29:6", None)):
        ground, title = load_ground(text, course), f"--ground {text}"
        doorways = []
        if beam is not None:
            doorways = [doorway_on_path(walk.motion, walk.character, 3.0, beam, ground)]
            title += f" --doorways 3:{beam:g}"
        made = footplant.terrain(walk, ground, doorways)
        plot.strip(made.clip, HERE / f"{name}.png", ground=ground, panels=False, title=title, dpi=90)


def draw_morph() -> None:
    """Draw a walk whose legs get long, and then those of a child."""
    made = footplant.morph("sample:walk", ["sample:longlegs", "sample:child"])
    title = "--to sample:longlegs --to sample:child"
    plot.strip(made.clip, HERE / "morph.png", panels=False, title=title, dpi=90)


def draw_repair() -> None:
    """Draw a damaged walk before and after its repair."""
    damaged = DAMAGE["all at once"](footplant.load("sample:walk"))
    plot.strip(damaged, HERE / "repair_before.png", title="before: gliding, swaying, floating, noisy feet", dpi=90)
    plot.strip(footplant.repair(damaged).clip, HERE / "repair_after.png", title="after footplant repair", dpi=90)


if __name__ == "__main__":
    draw_samples()
    draw_comparison()
    draw_terrain()
    draw_morph()
    draw_repair()
