"""`footplant demo`: retarget sample motions that ship with the package."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from footplant.cli.arguments import Json
from footplant.cli.kernels import await_kernels, needed_kernels, prepare_kernels
from footplant.cli.output import note, print_json, print_table, progress

if TYPE_CHECKING:
    from footplant.clip import Clip
    from footplant.contacts.detection import Contacts
    from footplant.contacts.ground import Ground
    from footplant.plot.player import Scene, Table
    from footplant.problem import Report
    from footplant.result import Result

CHARACTERS = {"short": "the 60 % character", "sally": "long tall Sally", "blubby": "Blubby"}
"""Target characters of the walk and their names in the papers."""
WALKS = {"footsteps": "in the original footsteps", "terrain": "over rough terrain"}
MEASURING = ("kernels.measures.", "quality._posture.", "quality._smoothness.", "quality._stances.")
"""Where the kernels are by which results are compared with their sources, after they have been written."""
SEED, RELIEF, SPACING = 3, 0.1, 1.2
"""Rough terrain: random seed, amplitude and hill spacing in metres; low enough for the smallest character."""


def demo(
    out: Annotated[str, typer.Option("-o", "--out", metavar="FOLDER", help="Where to write the results.")] = "demo",
    json: Json = False,
) -> None:
    """Show what Footplant does, offline: retarget a walk to three characters, in its footsteps and over terrain.

    Example: footplant demo -o demo
    """
    start = time.perf_counter()
    folder = _make_folder(out)
    prepare_kernels()
    from footplant.plot import player

    # those of the terrain, and those that compare, may be compiled while the first character is solved
    await_kernels([name for name in needed_kernels("retarget") if not name.startswith(MEASURING)])
    results, scenes, drawn = [], [], []
    with progress("demo", 2 * len(CHARACTERS) + 2) as advance:
        advance("the walk")
        clip, contacts, ground = _prepare()
        for where in ("footsteps", "terrain"):
            for name in CHARACTERS:
                advance(f"{name}, {where}")
                made = _solved(name, where, clip, contacts, ground)
                written = _write(folder, f"{name}_{where}", made.clip)
                note(f"{folder}/{written[0]} after {time.perf_counter() - start:.0f} s")
                if made.report.after is None:
                    await_kernels(needed_kernels("retarget"))
                    made = _compared(made, contacts)
                results.append(_facts(name, where, made.report, written))
                drawn.append((made.clip, ground if where == "terrain" else None))
                scenes.append(player.result_scene(made, f"{CHARACTERS[name]}, {WALKS[where]}"))
        files = _write(folder, "walk", clip)
        advance("pictures")
        for own, (shown, under) in zip((files, *(r["files"] for r in results)), ((clip, None), *drawn)):
            own += _draw(folder, own[0], shown, under)
    columns = (
        "character",
        "walks",
        "#footplants",
        "#drift when copied, mm",
        "#drift, mm",
        "#penetration, mm",
        "#solve time, s",
    )
    rows = [
        (
            CHARACTERS[r["figure"]], r["walks"], r["plants"], f"{r['copied_drift_mm']:.0f}", f"{r['drift_mm']:.2f}",
            f"{r['penetration_mm']:.2f}", f"{r['seconds']:.2f}",
        )
        for r in results
    ]  # fmt: skip
    title = "A walk retargeted to other characters"
    page = _write_page(folder / "demo.html", scenes, (title, [column.lstrip("#") for column in columns], rows))
    seconds = time.perf_counter() - start
    if json:
        facts = {"folder": str(folder), "page": page and str(page), "seconds": round(seconds, 2), "source": files}
        print_json({**facts, "results": results})
        return
    print_table(title, columns, rows)
    print("Drift: the largest distance of a planted heel or ball from its position during stance.")
    print(f"In {folder}/ after {seconds:.1f} s: each as .glb for any viewer, and as a .png picture.")
    print("Next: footplant retarget sample:run --to sample:blubby -o a.glb --report a.html")
    if page is not None:
        print(f"All of them, playing, with every figure of this table: open {page}")


def _make_folder(out: str) -> Path:
    from footplant.errors import FormatError

    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(f"cannot make this folder: {error.strerror}", path=folder) from error
    return folder


def _prepare() -> tuple[Clip, Contacts, Ground]:
    """Return the walk, its contacts, and rough terrain under its whole path."""
    from footplant import load
    from footplant.contacts.detection import find_contacts
    from footplant.grounds import rough

    clip = load("sample:walk")
    way = clip.motion.root[:, ::2]
    return clip, find_contacts(clip), rough(SEED, RELIEF, SPACING, way.min(axis=0) - 2, way.max(axis=0) + 2)


def _solved(name: str, where: str, clip: Clip, contacts: Contacts, ground: Ground) -> Result:
    """Return one character in the original footsteps, not yet compared with the walk, or over the terrain."""
    from footplant.edits.retarget import retarget
    from footplant.edits.terrain import terrain
    from footplant.samples.characters import load_character

    target = load_character(name)
    if where == "footsteps":
        solution = retarget(clip, target, keep_footsteps=True, contacts=contacts, measured=False)
    else:
        solution = terrain(clip, ground, target=target, contacts=contacts)
    return replace(solution, clip=replace(solution.clip, name=f"walk {WALKS[where]}"))


def _compared(made: Result, contacts: Contacts) -> Result:
    """Return a retargeted clip with a report that compares it with its source."""
    from footplant.edits.retarget import compared
    from footplant.kinematics import Kinematics
    from footplant.quality.measure import JudgedSource

    assert made.source is not None
    assert made.unsolved is not None
    assert made.ground is not None
    copied = made.unsolved.motion
    motions = (copied, made.motion)
    judged = JudgedSource(Kinematics(made.source.motion), made.source.character, contacts)
    report = compared(made.report, judged, made.character, motions, made.ground, copied)
    return replace(made, report=report)


def _facts(name: str, where: str, report: Report, files: list[str]) -> dict[str, Any]:
    """Return what the table and `--json` tell of one result."""
    before, after = report.before, report.after
    assert before is not None
    assert after is not None
    return {
        "figure": name,
        "walks": WALKS[where],
        "status": report.status.value,
        "plants": sum(entry.kind == "footplant" for entry in report.constraints),
        "copied_drift_mm": _worst(before),
        "drift_mm": _worst(after),
        "penetration_mm": after.penetration_worst or 0.0,
        "seconds": report.seconds,
        "files": files,
    }


def _worst(quality: Any) -> float:
    return max((plant.drift for plant in quality.plants if not plant.point.endswith("palm")), default=0.0)


def _write_page(path: Path, scenes: list[Scene], summary: Table) -> Path | None:
    """Write one page that plays all results; None, with a note, where the player was not built."""
    from footplant.plot import player

    if not player.is_available():
        note(f"note: no page: {player.NOT_BUILT}")
        return None
    return player.write_page(path, player.motion_page(scenes, "Footplant demo", summary=summary))


def _write(folder: Path, name: str, clip: Clip) -> list[str]:
    """Write the clip as a skinned GLB."""
    from footplant import save

    return [save(folder / f"{name}.glb", clip).name]


def _draw(folder: Path, file: str, clip: Clip, ground: Ground | None) -> list[str]:
    """Draw a picture of the clip of a file; none, with a note, without what draws it."""
    from footplant.errors import MissingExtraError

    try:
        from footplant import plot

        picture = (folder / file).with_suffix(".png")
        return [plot.strip(clip, picture, panels=False, ground=ground, dpi=100).name]
    except MissingExtraError as error:
        note(f"note: no picture: {error}")
        return []
