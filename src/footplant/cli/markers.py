"""`footplant info`, `convert` and `plot` for marker files: C3D and TRC."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from footplant.cli.arguments import ReadOptions, format_name, unit
from footplant.cli.output import note, print_facts, print_json, print_table, print_written, working

if TYPE_CHECKING:
    from footplant.markers import Markers


def load(file: str, reading: ReadOptions, **others: Any) -> Markers:
    """Load markers with the command line's options; --figure chooses a subject."""
    from footplant.errors import FormatError, MotionError
    from footplant.io import holds_markers, load_markers

    if not holds_markers(file):
        raise FormatError(
            "it is a motion already, and holds no markers; expected a .c3d or .trc file (footplant retarget puts a "
            "motion on another character)", path=file,
        )  # fmt: skip
    reading.refuse_for_markers(file, **others)
    reading.check_rate()
    with working(f"reading {file}"):
        options = {"damaged": True} if reading.damaged else {}
        if options and not file.lower().endswith(".c3d"):
            raise FormatError("--damaged is for .c3d files", path=file)
        markers = load_markers(file, units=unit(reading.units), up=reading.up, **options)
    if reading.fps is not None:
        markers = markers.resample(reading.fps)
    if reading.figure is None:
        return markers
    try:
        return markers.select(subject=reading.figure)
    except MotionError as error:
        raise FormatError(str(error), path=file) from error


def info(file: str, reading: ReadOptions, json: bool) -> None:
    """Print what a marker file contains."""
    facts = describe(load(file, reading), file)
    if json:
        print_json(facts)
    else:
        _print_info(facts)


def describe(markers: Markers, file: str) -> dict[str, Any]:
    """Return everything that `info --json` prints for markers."""
    import numpy as np

    visible = markers.visible
    gaps = markers.gaps()
    hidden = 100.0 * (~visible).mean(axis=0) if visible.size else np.zeros(len(markers.names))
    seen = markers.positions[visible]
    subjects = [name for name in dict.fromkeys(markers.subjects) if name]
    return {
        "file": file,
        "format": format_name(file),
        "kind": "markers",
        "name": markers.name,
        "frames": len(markers),
        "fps": markers.fps,
        "duration": markers.duration,
        "first_frame": markers.first_frame,
        "markers": len(markers.names),
        "height": _height(markers),
        "extent": {"low": seen.min(axis=0), "high": seen.max(axis=0)} if len(seen) else None,
        "up": markers.conversion.up,
        "units": markers.conversion.units,
        "scale": markers.conversion.scale,
        "declared": markers.conversion.declared,
        "hidden_percent": float(hidden.mean()) if len(hidden) else 0.0,
        "gaps": {
            name: {
                "percent": float(hidden[marker]),
                "count": len(gaps[name]),
                "longest": max((end - start for start, end in gaps[name]), default=0),
            }
            for marker, name in enumerate(markers.names)
            if gaps[name]
        },
        "subjects": {name: markers.subjects.count(name) for name in subjects},
        "marker_names": list(markers.names),
        "events": [
            {"label": e.label, "context": e.context, "subject": e.subject, "seconds": e.seconds} for e in markers.events
        ],
        "notes": list(markers.notes),
    }


def _height(markers: Markers) -> float | None:
    """Return the height of the highest marker above the lowest, metres, each at its median height.

    Unnamed points ("*3") and those that are rarely visible are ignored.
    """
    import numpy as np

    seen = markers.visible.mean(axis=0) if len(markers) else np.zeros(len(markers.names))
    named = np.array([not name.startswith("*") for name in markers.labels], bool)
    for wanted in (named & (seen >= 0.1), seen > 0):
        if wanted.any():
            return float(np.ptp(np.nanmedian(markers.positions[:, wanted, 1], axis=0)))
    return None


def _print_info(facts: dict[str, Any]) -> None:
    how = "stated by the file" if facts["declared"] else "found from the markers"
    low, high = facts["extent"]["low"], facts["extent"]["high"]
    print_facts(
        facts["file"],
        {
            "format": f"{facts['format']}, markers",
            "frames": f"{facts['frames']} at {facts['fps']:.6g} fps, {facts['duration']:.2f} s, "
            f"from frame {facts['first_frame']}",
            "markers": f"{facts['markers']}, {facts['hidden_percent']:.2g} % hidden",
            "subjects": ", ".join(f"{name} ({count})" for name, count in facts["subjects"].items()) or "–",
            "height": f"{facts['height']:.3f} m from lowest to highest marker",
            "space": " × ".join(f"{end - start:.2f}" for start, end in zip(low, high, strict=True)) + " m (x, y, z)",
            "units, up": f"{facts['units']} ({facts['scale']:.6g} m), {facts['up']} up, {how}",
            "events": len(facts["events"]),
        },
    )
    worst = sorted(facts["gaps"].items(), key=lambda item: -item[1]["percent"])
    if worst:
        rows = [(name, f"{gap['percent']:.1f}", gap["count"], gap["longest"]) for name, gap in worst[:12]]
        title = "Gaps" if len(worst) <= 12 else f"Gaps: the worst 12 of {len(worst)} markers that have any"
        print_table(title, ("marker", "#% hidden", "#gaps", "#longest, frames"), rows)
    for text in facts["notes"]:
        note(f"note: {text}")


def convert(
    file: str,
    out: str,
    reading: ReadOptions,
    to_units: str | None,
    to_up: str | None,
    json: bool,
    **others: Any,
) -> None:
    """Write markers in another format, and report what is lost."""
    from footplant.io import save_markers

    _refuse_mixture(file, out)
    markers, target = load(file, reading, **others), Path(out)
    options = {name: value for name, value in (("units", to_units), ("up", to_up)) if value is not None}
    with working(f"writing {target}"):
        save_markers(target, markers, **options)
    lost = []
    if markers.residuals is not None:
        lost.append("residuals (reconstruction errors of the cameras)")
    if markers.events:
        lost.append(f"{len(markers.events)} events")
    facts = {
        "input": file,
        "output": str(target),
        "format": format_name(out),
        "bytes": target.stat().st_size,
        "frames": len(markers),
        "fps": markers.fps,
        "markers": len(markers.names),
        "lost": lost,
        "notes": list(markers.notes),
    }
    if json:
        print_json(facts)
    else:
        print_written(
            f"{file} → {out}", facts, f"{facts['frames']} at {facts['fps']:.6g} fps, {facts['markers']} markers"
        )


def _refuse_mixture(file: str, out: str) -> None:
    """Raise, before anything is read, when markers would be converted to a skeletal motion or the reverse."""
    from footplant.errors import FormatError
    from footplant.io import holds_markers

    if holds_markers(file) and not holds_markers(out):
        raise FormatError(
            f"{file} holds markers, which can be written as .trc only, not as {Path(out).suffix}; "
            f"to get a motion from them use: footplant solve {file} -o {out}",
            path=out,
        )
    if holds_markers(out) and not holds_markers(file):
        raise FormatError(f"expected a marker file (.c3d, .trc) to write as {Path(out).suffix}", path=file)
