"""`footplant demo`: the main job on samples that ship with the package."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from footplant.cli.arguments import Json
from footplant.cli.output import announce_compiling, note, print_json, print_table, progress

if TYPE_CHECKING:
    from footplant.clip import Clip

CLIPS = ("walk", "run", "turn-left", "jump", "kick")
"""The samples that the demo shows."""


def demo(
    out: Annotated[str, typer.Option("-o", "--out", metavar="FOLDER", help="Where to put the results.")] = "demo",
    json: Json = False,
) -> None:
    """Show what Footplant does, offline: find footplants, measure, draw and convert the samples.

    Example: footplant demo -o demo
    """
    announce_compiling(always=True)
    start = time.perf_counter()
    folder = _make_folder(out)
    results = {}
    with progress("demo", len(CLIPS)) as advance:
        for name in CLIPS:
            advance(name)
            results[name] = _show(name, folder)
    seconds = time.perf_counter() - start
    if json:
        print_json({"folder": str(folder), "seconds": round(seconds, 2), "clips": results})
        return
    columns = ("sample", "#frames", "#plants", "#worst drift mm", "#read back mm")
    rows = [
        (name, r["frames"], r["plants"], f"{r['worst_drift_mm']:.3f}", f"{r['read_back_mm']:.4f}")
        for name, r in results.items()
    ]
    print_table("What Footplant sees in its samples", columns, rows)
    print(
        "Drift: how far a planted heel or ball strays. Read back: how far a joint is off after a trip through a file."
    )
    print(f"In {folder}/ after {seconds:.1f} s: each sample as .bvh, as .glb with a mesh, and as a picture.")
    print(f"Next: open {folder}/walk.png, or try: footplant info {folder}/walk.glb")


def _make_folder(out: str) -> Path:
    from footplant.errors import FormatError

    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(f"cannot make this folder: {error.strerror}", path=folder) from error
    return folder


def _show(name: str, folder: Path) -> dict[str, Any]:
    """One sample through everything: contacts, quality, both formats and back, a picture."""
    from footplant import load, save
    from footplant.analysis.contacts import find_contacts
    from footplant.analysis.quality import measure
    from footplant.errors import MissingExtraError

    clip = load(f"sample:{name}")
    contacts = find_contacts(clip)
    quality = measure(clip, contacts=contacts)
    files = [save(folder / f"{name}{ending}", clip) for ending in (".bvh", ".glb")]
    worst = max(_difference(clip, load(file)) for file in files)
    try:
        from footplant import plot

        plants = {point: contacts.intervals(point) for point in contacts.points}
        files.append(plot.strip(clip, folder / f"{name}.png", plants=plants))
    except MissingExtraError as error:
        note(f"note: no picture: {error}")
    return {
        "frames": len(clip.motion),
        "plants": len(contacts.plants),
        "worst_drift_mm": max((plant.drift for plant in quality.plants), default=0.0),
        "read_back_mm": 1000.0 * worst,
        "files": [file.name for file in files],
    }


def _difference(clip: Clip, again: Clip) -> float:
    """The largest distance, metres, of a joint from where it was before it went through a file."""
    import numpy as np

    from footplant.kinematics import Kinematics

    frames = min(len(clip.motion), len(again.motion))
    before, after = Kinematics(clip.motion[:frames]), Kinematics(again.motion[:frames])
    order = [again.motion.skeleton.index(joint) for joint in clip.motion.skeleton.names]
    return float(np.linalg.norm(before.positions - after.positions[:, order], axis=-1).max())
