"""The data card of a dataset: CARD.md says what it holds, how much, and how good it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from footplant.atomic import write_atomic
from footplant.batch.dataset import FEET, SPLITS, Dataset

CARD = "CARD.md"
QUALITY = (
    ("worst_drift", "drift of a clip's worst footplant, mm"),
    ("mean_drift", "mean drift of its footplants, mm"),
    ("skate", "foot skating, mm/s"),
    ("penetration", "worst ground penetration, mm"),
    ("jerk_ratio", "jerk relative to the source"),
)
"""Measures of the ledger that the card sums up."""
SHOWN = 10
"""Reasons for failure that are listed."""


def write_card(dataset: Dataset, records: Iterable[dict[str, Any]] = (), about: str = "") -> Path:
    """Write the card of a dataset. records: of the batch that made its clips, failed ones too. about: a sentence."""
    from footplant import __version__

    values: dict[tuple[str, str], list[float]] = {}
    rates: Counter[float] = Counter()
    reasons: Counter[str] = Counter()
    lead_ins = dataset.index.get("lead_ins", 0)
    for record in records:
        if record["status"] == "failed":
            reasons[record["reason"]] += 1
            continue
        rates[record.get("fps", 0.0)] += 1
        lead_ins += any("lead-in" in note for note in record.get("notes", ()))
        for when in ("before", "after"):
            for name, _ in QUALITY:
                if (value := (record.get(when) or {}).get(name)) is not None:
                    values.setdefault((when, name), []).append(value)
    index, skeleton = dataset.index, dataset.skeleton
    lines = ["# Data card", "", *([about, ""] if about else [])]
    lines += [
        f"Made by Footplant {__version__}: {len(dataset):,} clips, {len(dataset.root):,} frames at {dataset.fps:g} "
        f"frames per second, {len(dataset.root) / dataset.fps / 60:,.1f} minutes, on one skeleton of {len(skeleton)} "
        "joints. Metres, y up, quaternions (w, x, y, z).", "",
        "| split | subjects | clips | frames | minutes |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for split in SPLITS:
        clips = [index["clips"][number] for number in dataset.split(split)]
        frames = sum(clip["frames"] for clip in clips)
        subjects = len({clip.get("subject") for clip in clips})
        lines.append(f"| {split} | {subjects:,} | {len(clips):,} | {frames:,} | {frames / dataset.fps / 60:,.1f} |")
    lines += ["", "All clips of a subject are in one split.", "", "## Contacts", ""]
    share = np.zeros(len(FEET)) if not len(dataset.contacts) else dataset.contacts.mean(axis=0, dtype=float)
    lines += ["| point | in contact, % of frames |", "|---|---|"]
    lines += [f"| {name.replace('_', ' ')} | {100 * part:.1f} |" for name, part in zip(FEET, share, strict=True)]
    if values:
        lines += [
            "",
            "## Quality",
            "",
            "| measure | before: median | 95 % | after: median | 95 % |",
            "|---|---|---|---|---|",
        ]
        for name, words in QUALITY:
            cells = []
            for when in ("before", "after"):
                found = values.get((when, name), [])
                cells += [f"{np.percentile(found, share):.3g}" if found else "–" for share in (50, 95)]
            lines.append(f"| {words} | {' | '.join(cells)} |")
    lines += ["", "## Sources", ""]
    if rates:
        lines += [f"- {count:,} clips at {rate:g} frames per second" for rate, count in sorted(rates.items())]
    lines.append(f"- {lead_ins:,} clips had a T-pose before the motion, which was dropped")
    lines.append(f"- {len(index.get('dropped', [])):,} clips of a frame or two were left out")
    lines.append(f"- {sum(reasons.values()):,} clips failed")
    lines += [f"    - {count:,}: {reason}" for reason, count in reasons.most_common(SHOWN)]
    lines += ["", "Licence and consent are those of the recordings: fill them in before you share this.", ""]
    write_atomic(dataset.folder / CARD, "\n".join(lines))
    return dataset.folder / CARD
