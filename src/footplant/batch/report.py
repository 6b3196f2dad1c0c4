"""A library's report: one self-contained HTML file with distributions before and after, the worst clips first."""

from __future__ import annotations

import base64
import html
import io
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from footplant.atomic import write_atomic
from footplant.batch.jobs import Task
from footplant.batch.ledger import Ledger
from footplant.batch.run import result_of, worst_first
from footplant.batch.worker import Worker
from footplant.plot.page import GREY, STYLE, require_matplotlib
from footplant.plot.report import AFTER, BEFORE

MEASURES = (
    ("worst_drift", "worst plant's drift, mm"),
    ("mean_drift", "mean drift, mm"),
    ("skate", "foot skating, mm/s"),
    ("penetration", "worst ground penetration, mm"),
    ("jerk", "jerk, heights/s³"),
    ("jerk_ratio", "jerk relative to the source"),
    ("acceleration_ratio", "peak acceleration relative to the source"),
)
"""Measures shown for each clip."""
DRAWN = ("worst_drift", "skate", "penetration", "jerk")
"""Measures whose distributions are plotted."""
TABLE_ROWS = 2000
"""Clips that the table lists, the worst first, and failures: a page of a hundred thousand rows cannot be opened."""
PICTURES = 12
"""Number of worst clips that get a picture."""


def library_report(ledger: Ledger, path: str | Path, title: str, *, worker: Worker | None = None) -> Path:
    """Write the report of a batch. worker: draws the worst clips in another process; None omits pictures."""
    records = worst_first(ledger, TABLE_ROWS)
    count = frames = failures = 0
    seconds = 0.0
    failed: list[tuple[str, str]] = []
    values: dict[tuple[str, str], list[float]] = {}
    for record in ledger.records.values():
        if record["status"] == "failed":
            failures += 1
            if len(failed) < TABLE_ROWS:
                failed.append((record["source"], record["reason"]))
            continue
        count += 1
        frames += record.get("frames", 0)
        seconds += record.get("frames", 0) / record["fps"] if record.get("fps") else 0.0
        for label in ("before", "after"):
            for measure in DRAWN:
                if (value := (record.get(label) or {}).get(measure)) is not None:
                    values.setdefault((label, measure), []).append(float(value))
    measured = [record for record in records if record.get("after")]
    # where nothing is measured, as by convert, some clips stand for all
    drawn = measured or records[:PICTURES]
    pictures = _draw_worst(ledger.folder, drawn[:PICTURES], worker) if worker is not None else {}
    facts = f"{count:,} clips, {frames:,} frames, {seconds / 60:,.1f} minutes of motion; {failures:,} failed"
    body = [f"<h1>{html.escape(title)}</h1><p>{facts}</p>"]
    if values:
        body.append(f'<img src="data:image/png;base64,{_distributions(values)}" alt="distributions of the measures">')
    body.append(_cards(drawn, pictures, "Worst first" if measured else "Clips"))
    some = "worst " if measured else ""
    shown = "Every clip" if count <= TABLE_ROWS else f"The {some}{TABLE_ROWS:,} clips"
    body.append(f"<h2>{shown}</h2><p>Click a heading to sort.</p>" + _clip_table(records))
    if failed:
        more = "" if failures <= TABLE_ROWS else f", {TABLE_ROWS:,} of {failures:,}; all are in failures.csv"
        body.append(f"<h2>Failed{more}</h2>" + _table(("clip", "reason"), sorted(failed)))
    path = Path(path)
    write_atomic(path, _PAGE.replace("{title}", html.escape(title)).replace("{body}", "\n".join(body)))
    return path


def _distributions(values: dict[tuple[str, str], list[float]]) -> str:
    """Return histograms of the main measures as a PNG in base64; values: of ("before" or "after", measure)."""
    mpl = require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(13.0, 2.9))
        FigureCanvasAgg(figure)
        names = dict(MEASURES)
        for number, measure in enumerate(DRAWN):
            axes = figure.add_axes((0.05 + 0.24 * number, 0.2, 0.2, 0.62))
            axes.set_title(names[measure])
            series = [
                (label, color, values.get((label, measure), []))
                for label, color in (("before", BEFORE), ("after", AFTER))
            ]
            both = np.concatenate([np.asarray(found, float) for _, _, found in series])
            if not len(both):
                axes.text(0.5, 0.5, "not measured", ha="center", color=GREY, transform=axes.transAxes)
                continue
            low = max(float(both[both > 0].min(initial=np.inf)), 1e-2) if (both > 0).any() else 1e-2
            high = max(float(both.max()), 2.0 * low)
            edges = np.geomspace(low, high, 25).tolist()
            for label, color, found in series:
                if found:
                    axes.hist(np.clip(found, low, high), edges, color=color, alpha=0.6, label=label)
            axes.set_xscale("log")
            axes.set_ylim(top=1.35 * axes.get_ylim()[1])
            axes.legend(loc="upper right", ncols=2)
            axes.set_ylabel("clips" if number == 0 else "")
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=110)
    return base64.b64encode(out.getvalue()).decode()


def _draw_worst(folder: Path, records: Sequence[dict[str, Any]], worker: Worker) -> dict[str, str]:
    """Return record key → PNG in base64, for those that can be drawn."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as place:
        for number, record in enumerate(records):
            picture = Path(place) / f"{number}.png"
            outcome = worker.do(Task(record["key"], "thumbnail", result_of(folder, record), str(picture)))
            if outcome["status"] == "done":
                found[record["key"]] = base64.b64encode(picture.read_bytes()).decode()
    return found


def _cards(records: Sequence[dict[str, Any]], pictures: dict[str, str], title: str) -> str:
    """Return HTML with some clips and their pictures."""
    cards = []
    for record in records:
        if record["key"] in pictures:
            drift = (record.get("after") or {}).get("worst_drift")
            told = f"{record.get('frames', 0)} frames" if drift is None else f"drift {drift:.1f} mm"
            cards.append(
                f'<figure><img src="data:image/png;base64,{pictures[record["key"]]}" alt="poses">'
                f"<figcaption>{html.escape(Path(record['source']).name)}: {told}</figcaption></figure>"
            )
    return f'<h2>{title}</h2><div class="cards">{"".join(cards)}</div>' if cards else ""


def _clip_table(records: Sequence[dict[str, Any]]) -> str:
    """Return HTML with one row per clip: name, length, status, and each measure before and after."""
    shown = [
        (part, key, name)
        for key, name in MEASURES
        for part in ("before", "after")
        if any((record.get(part) or {}).get(key) is not None for record in records)
    ]
    several = any(record.get("before") for record in records)
    folder = _common_folder([record["source"] for record in records])
    head = ["clip", "character", "frames", "status"]
    head += [f"{name}, {part}" if several else name for part, key, name in shown]
    rows = []
    for record in records:
        cells = [record["source"].removeprefix(folder), record.get("character") or "–", str(record.get("frames", "–"))]
        cells.append(record.get("solution", record["status"]))
        for part, key, _ in shown:
            value = (record.get(part) or {}).get(key)
            cells.append("–" if value is None else f"{value:.2f}")
        rows.append(tuple(cells))
    return _table(tuple(head), rows)


def _common_folder(sources: Sequence[str]) -> str:
    """Return the common folder of all file names, with a trailing separator; "" if there is none."""
    try:
        common = os.path.commonpath([os.path.dirname(source) for source in sources])
    except ValueError:
        return ""
    return common and common + os.sep


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["<thead><tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr></thead><tbody>"]
    lines += ["<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows]
    return f'<div class="wide"><table>{"".join(lines)}</tbody></table></div>'


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<style>
body { font: 14px/1.5 system-ui, sans-serif; color: #2b2f36; max-width: 1280px; margin: 2em auto; padding: 0 1em; }
h1 { margin-bottom: 0; } img { width: 100%; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(300px, 1fr)); gap: 1em; }
figure { margin: 0; border: 1px solid #e5e8ec; border-radius: 6px; padding: .5em; }
figcaption { font-size: 13px; color: #5b6370; overflow-wrap: anywhere; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 13px; }
th, td { text-align: left; padding: .2em .8em .2em 0; border-bottom: 1px solid #e5e8ec; vertical-align: top; }
th { cursor: pointer; position: sticky; top: 0; background: #fff; } th::after { content: " "; white-space: pre; }
th[data-order="1"]::after { content: " ▲"; } th[data-order="-1"]::after { content: " ▼"; }
td { font-variant-numeric: tabular-nums; } td:first-child { white-space: nowrap; }
</style></head><body>
{body}
<script>
for (const table of document.querySelectorAll("table")) {
  const head = [...table.tHead.rows[0].cells];
  head.forEach((cell, column) => cell.addEventListener("click", () => {
    const order = cell.dataset.order === "-1" ? 1 : -1;
    head.forEach(other => delete other.dataset.order);
    cell.dataset.order = order;
    const value = row => {
      const text = row.cells[column].textContent, number = parseFloat(text);
      return Number.isNaN(number) ? text : number;
    };
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => {
      const x = value(a), y = value(b);
      if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
      return order * (x < y ? -1 : x > y ? 1 : 0);
    });
    table.tBodies[0].append(...rows);
  }));
}
</script>
</body></html>
"""
