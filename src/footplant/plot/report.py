"""Reports for people: one sheet of plots (PNG), or one self-contained page that plays the motion (HTML)."""

from __future__ import annotations

import base64
import html
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from footplant.clip import Clip
from footplant.errors import FormatError
from footplant.plot import player
from footplant.plot.page import GREY, STYLE, WIDTH, check_target, new_sheet, require_matplotlib, save_sheet
from footplant.plot.strip import strip
from footplant.problem import Report
from footplant.quality.fidelity import Fidelity, fidelity_rows
from footplant.result import Result

BEFORE, AFTER = "#d9895b", "#2b6cb0"


def report_sheet(report: Report, clip: Clip, path: str | Path, *, dpi: int = 130) -> Path:
    """Draw the error by level, the drift of every footplant before and after, and the largest constraint errors."""
    mpl = require_matplotlib()
    path = check_target(path)
    with mpl.rc_context(STYLE):
        tall = 4.4
        subtitle = f"{clip.character.name}, {report.height:.2f} m tall · {report.method} · {report.seconds:.2f} s"
        figure = new_sheet(tall, f"{clip.name}: {report.status}", subtitle)
        # the last panel has names on its axis
        for draw, left, right in ((_draw_levels, 0.75, 4.1), (_draw_drift, 4.8, 8.1), (_draw_worst, 9.9, WIDTH - 0.3)):
            area = (left / WIDTH, 0.75 / tall, (right - left) / WIDTH, (tall - 1.75) / tall)
            draw(figure.add_axes(area), report)
        save_sheet(figure, path, dpi)
    return path


def _draw_levels(axes: Any, report: Report) -> None:
    axes.set_title("worst error by level, % of height")
    if not report.levels:
        axes.text(0.5, 0.5, "no levels", ha="center", color=GREY, transform=axes.transAxes)
        return
    shares = [max(level.worst_share, 1e-4) for level in report.levels]
    axes.bar(range(len(shares)), shares, color=AFTER, width=0.7)
    axes.set_yscale("log")
    labels = [level.name.replace(" frames a knot", "") for level in report.levels]
    axes.set_xticks(range(len(shares)), labels, rotation=35, ha="right", fontsize=7)
    axes.axhline(1.0, color=GREY, linewidth=0.8, linestyle="--")


def _draw_drift(axes: Any, report: Report) -> None:
    axes.set_title("drift of each footplant, mm")
    drawn = False
    for quality, color, label in ((report.before, BEFORE, "before"), (report.after, AFTER, "after")):
        if quality is not None and quality.plants:
            drifts = np.sort([max(plant.drift, 1e-3) for plant in quality.plants])
            axes.plot(np.arange(1, len(drifts) + 1), drifts, color=color, label=label)
            drawn = True
    if not drawn:
        axes.text(0.5, 0.5, "no footplants", ha="center", color=GREY, transform=axes.transAxes)
        return
    axes.set_yscale("log")
    axes.set_xlabel("footplants, best to worst")
    axes.legend(loc="center right")


def _draw_worst(axes: Any, report: Report) -> None:
    axes.set_title("largest constraint errors, mm")
    worst = sorted((c for c in report.constraints if c.unit == "mm"), key=lambda entry: -entry.worst)[:8]
    if not worst:
        axes.text(0.5, 0.5, "no constraints", ha="center", color=GREY, transform=axes.transAxes)
        return
    colors = [AFTER if entry.met else BEFORE for entry in worst]
    axes.barh(range(len(worst)), [entry.worst for entry in worst], color=colors, height=0.7)
    axes.set_yticks(range(len(worst)), [c.name[:26] for c in worst], fontsize=7)
    axes.invert_yaxis()


def report_page(result: Result, path: str | Path) -> Path:
    """Write a result as one HTML file: source and result as a 3-D view that plays, with the report's tables.

    It loads nothing from elsewhere. Where the package was built without the player, pictures take the view's place.
    """
    if not player.is_available() or not len(result.motion):
        return still_page(result.report, result.clip, path)
    scene = player.result_scene(result)
    return player.write_page(path, player.motion_page([scene], scene.name))


def still_page(report: Report, clip: Clip, path: str | Path, *, poses: str | Path | None = None) -> Path:
    """Write the report as one HTML file with embedded pictures and tables; it loads nothing from elsewhere.

    poses: an existing PNG of the motion; None draws a strip.
    """
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise FormatError(f"expected a file name ending in .html, got {path.suffix or 'no extension'!r}", path=path)
    from footplant.atomic import write_atomic

    with tempfile.TemporaryDirectory() as folder:
        sheet = report_sheet(report, clip, Path(folder) / "report.png")
        drawn = strip(clip, Path(folder) / "strip.png") if poses is None else Path(poses)
        pictures = [base64.b64encode(picture.read_bytes()).decode() for picture in (drawn, sheet)]
    body = "".join(f'<img src="data:image/png;base64,{picture}" alt="">' for picture in pictures)
    quality = [("", "before", "after")]
    quality += [
        (name, *("–" if value is None else f"{value:.2f}" for value in values)) for name, *values in report.comparison()
    ]
    constraints = [("constraint", "kind", "frames", "worst", "mean", "% of height", "at frame", "met")]
    constraints += [
        (
            c.name, c.kind, str(c.frames), f"{c.worst:.2f} {c.unit}", f"{c.mean:.2f}",
            f"{c.worst_share:.3f}" if c.unit == "mm" else "–", str(c.worst_frame), "yes" if c.met else "no",
        )
        for c in sorted(report.constraints, key=lambda entry: (entry.met, -entry.worst))
    ]  # fmt: skip
    levels = [("level", "worst error, mm", "% of height", "ms")]
    levels += [
        (level.name, f"{level.worst:.2f}", f"{level.worst_share:.3f}", f"{1000 * level.seconds:.0f}")
        for level in report.levels
    ]
    found = None if report.after is None else report.after.fidelity
    notes = "".join(f"<li>{html.escape(text)}</li>" for text in report.notes)
    write_atomic(
        path,
        _PAGE.format(
            title=html.escape(f"{clip.name} on {clip.character.name}"),
            status=html.escape(f"{report.status}: {report.status.sentence}"),
            pictures=body,
            quality=_table(quality),
            fidelity="" if found is None else _fidelity(found),
            levels=_table(levels),
            constraints=_table(constraints),
            notes=f"<h2>Notes</h2><ul>{notes}</ul>" if notes else "",
        ),
    )
    return path


def _fidelity(found: Fidelity) -> str:
    """Return what is not right, and every figure with its goal."""
    clauses = "".join(f"<li>{html.escape(text)}</li>" for text in found.not_right())
    rows = [("against the source", "value", "goal", "", "where"), *fidelity_rows(found)]
    wrong = f"<ul>{clauses}</ul>" if clauses else "<p>Every figure is within its goal.</p>"
    return f"<h2>What is not right</h2>{wrong}{_table(rows)}"


def _table(rows: list[tuple[str, ...]]) -> str:
    head, *body = rows
    lines = ["<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in body]
    return f"<table>{''.join(lines)}</table>"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<style>
body {{ font: 14px/1.5 system-ui, sans-serif; color: #2b2f36; max-width: 1100px; margin: 2em auto; padding: 0 1em; }}
img {{ width: 100%; margin: .5em 0 1em; }}
table {{ border-collapse: collapse; margin: .5em 0 1.5em; }}
th, td {{ text-align: left; padding: .15em .9em .15em 0; border-bottom: 1px solid #e5e8ec; }}
th {{ font-weight: 600; }}
</style></head><body>
<h1>{title}</h1><p>{status}</p>
{pictures}
<h2>Quality</h2>{quality}
{fidelity}
<h2>Levels</h2>{levels}
<h2>Constraints</h2>{constraints}
{notes}
</body></html>
"""
