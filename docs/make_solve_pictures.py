"""The pictures and the table of the page on markers: python docs/make_solve_pictures.py [FOLDER OF TAKES]."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from footplant import plot
from footplant.cli import main
from footplant.errors import FootplantError
from footplant.io import save_markers
from footplant.optical.solve import solve_markers
from markers_made import CMU_41, wear  # pyright: ignore[reportMissingImports]

HERE = Path(__file__).parent


def pictures() -> None:
    """Markers over the skeleton of a made take."""
    made = wear(CMU_41, "kick", "tall", seed=1)
    solved = solve_markers(made.markers)
    plot.marker_fit(solved.clip, made.markers, solved.report.markers[0], HERE / "solve.png", dpi=90)


def strip() -> None:
    """Markers of a walk on a character of quite other proportions, through the commands."""
    with TemporaryDirectory() as folder:
        take, out = f"{folder}/take.trc", f"{folder}/blubby.glb"
        save_markers(take, wear(CMU_41, "walk", seed=1).markers[:300])
        main(["retarget", take, "--to", "sample:blubby", "-o", out])
        main(["plot", "--overwrite", out, "--dpi", "80", "-o", str(HERE / "solve_blubby.png")])


def table(folder: Path) -> None:
    """One row for each take of a folder, as Markdown."""
    print("| take | markers | set | median mm | RMS mm | height m |\n| --- | --- | --- | --- | --- | --- |")
    for path in sorted([*folder.rglob("*.c3d"), *folder.rglob("*.trc")]):
        try:
            report = solve_markers(path).report.markers[0]
        except FootplantError as error:
            print(f"| {path.name} | | {error} | | | |")
            continue
        figures = f"{report.median:.1f} | {report.rms:.1f} | {report.height:.2f}"
        print(f"| {path.name} | {len(report.markers)} | {report.marker_set or 'by name'} | {figures} |")


if __name__ == "__main__":
    pictures()
    strip()
    for given in sys.argv[1:]:
        table(Path(given))
