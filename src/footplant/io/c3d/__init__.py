"""C3D files, read only: markers from motion capture laboratories, of any processor type, integer or float.

Points that are not positions (the angles, forces, moments and powers that Plug-in Gait writes) are dropped with a note,
and analog channels are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from footplant.errors import FormatError
from footplant.io.c3d.frames import find_layout, long_number, read_points
from footplant.io.c3d.parameters import C3dHeader, read_header
from footplant.io.marker_conversion import RawMarkers
from footplant.markers import Event

extensions = (".c3d",)
holds: frozenset[str] = frozenset()

NOT_POSITIONS = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS", "REACTIONS")
"""Parameters of the group POINT that list labels of points that are not positions."""
MODEL_OUTPUT = re.compile(r"[LR]?\w*[a-z](Angles?|Forces?|Moments?|Powers?|GRF)[A-Z]?")
"""Labels that Plug-in Gait gives to its results, for files that do not list them."""
DEFAULT_RATE = 100.0
"""Hz; used if a file states no frame rate."""


def load_markers(path: str | Path, *, damaged: bool = False) -> RawMarkers:
    """Read the points of a file, in file units and axes.

    damaged: read a file with damaged parameters as far as possible, with a note, instead of raising `FormatError`.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error
    return parse(data, path, damaged=damaged)


def parse(data: bytes, path: str | Path | None = None, *, damaged: bool = False) -> RawMarkers:
    """Read the bytes of a C3D file: see `load_markers`."""
    head = read_header(data, path)
    if head.broken and ("POINT", "LABELS") not in head.parameters:
        raise FormatError(f"expected parameters up to POINT:LABELS, got a damaged section: {head.broken}", path=path)
    if head.broken and not damaged:
        raise FormatError(
            f"expected intact parameters, got a damaged section: {head.broken}; damaged=True (--damaged) reads "
            "what precedes the damage",
            path=path,
        )
    if head.broken:
        head.notes.append(f"the parameter section is damaged ({head.broken}); what precedes the damage was used")
    layout = find_layout(data, head, path)
    labels = _labels(head, layout.points)
    keep = _positions(head, labels)
    if not len(keep):
        raise FormatError(f"expected markers, got {len(labels)} points that are angles, forces or the like", path=path)
    positions, residuals, zeros = read_points(data, layout, head.processor, keep)
    if zeros:
        head.notes.append(f"{zeros} samples are exactly (0, 0, 0) and were treated as occluded")
    names = [labels[place] for place in keep.tolist()]
    rate = _rate(head)
    if np.isnan(positions[..., 0]).all():
        frames = len(positions)
        raise FormatError(
            f"expected visible markers, got {len(names)} that are occluded in all {frames} frames", path=path
        )
    start = long_number(head.numbers("TRIAL", "ACTUAL_START_FIELD"))
    first = head.first if start is None else start
    screen = head.texts("POINT", "Y_SCREEN", 1)
    return RawMarkers(
        names=tuple(names),
        positions=positions,
        fps=rate,
        units=next(iter(head.texts("POINT", "UNITS", 1)), None),
        up=_axis(screen[0]) if screen else None,
        residuals=residuals,
        subjects=_subjects(head, names),
        first_frame=first,
        events=_events(head, first, rate),
        notes=tuple(head.notes),
    )


def _labels(head: C3dHeader, points: int) -> list[str]:
    """Return a unique name for each point."""
    labels = head.texts("POINT", "LABELS", points)
    if len(labels) < points:
        found = f"only {len(labels)} of {points} points have labels" if labels else "the points have no labels"
        head.notes.append(f"{found}; numbers were used instead")
    labels += [""] * (points - len(labels))
    used: set[str] = set()
    duplicates = 0
    for place, label in enumerate(labels):
        name = label or f"point{place + 1}"
        duplicates += name in used
        while name in used:
            name = f"{name}_{place + 1}"
        used.add(name)
        labels[place] = name
    if duplicates:
        head.notes.append(f"{duplicates} labels are duplicates; their numbers were added")
    return labels


def _positions(head: C3dHeader, labels: Sequence[str]) -> np.ndarray:
    """Return the indices of the points that are positions in space."""
    # TYPE_GROUPS lists pairs of (list name, content type): files may name their lists of angles freely
    pairs = head.texts("POINT", "TYPE_GROUPS", 64)
    named = [name.upper() for name, kind in zip(pairs[::2], pairs[1::2], strict=False) if f"{kind}S" in NOT_POSITIONS]
    lists = dict.fromkeys((*NOT_POSITIONS, *named))
    others = {label for name in lists for label in head.texts("POINT", name, len(labels)) if label}
    bare = [label.rpartition(":")[2] for label in labels]
    keep = np.array(
        [
            label not in others and name not in others and not MODEL_OUTPUT.fullmatch(name)
            for label, name in zip(labels, bare, strict=True)
        ],
        bool,
    )
    left = np.flatnonzero(~keep)
    if len(left):
        first = labels[int(left[0])]
        head.notes.append(f"{len(left)} points are angles, forces, moments or powers ({first!r} …) and were dropped")
    return np.flatnonzero(keep)


def _rate(head: C3dHeader) -> float:
    """Return frames per second, from the first place that states a valid rate."""
    for rate in (head.number("POINT", "RATE"), head.rate, head.number("TRIAL", "CAMERA_RATE")):
        if rate is not None and np.isfinite(rate) and 0 < rate < 1e6:
            return float(rate)
    head.notes.append(f"the file states no frame rate; {DEFAULT_RATE:g} frames per second were assumed")
    return DEFAULT_RATE


def _axis(text: str) -> str | None:
    """Return the vertical axis from POINT:Y_SCREEN, the axis that points up on the screen: "+Z" is "z"."""
    found = re.fullmatch(r"([+-]?)([xyz])", text.strip().lower())
    return None if found is None else found[1].replace("+", "") + found[2]


def _subjects(head: C3dHeader, names: Sequence[str]) -> tuple[str, ...]:
    """Return each marker's subject: by the name before a colon, by listed prefixes, or as the only subject."""
    listed = head.texts("SUBJECTS", "NAMES", 255)
    prefixes = head.texts("SUBJECTS", "LABEL_PREFIXES", 255)
    known = [(prefix, name) for prefix, name in zip(prefixes, listed, strict=False) if prefix and name]
    alone = listed[0] if len([name for name in listed if name]) == 1 and listed[0] else ""
    found = []
    for name in names:
        owner = next((subject for prefix, subject in known if name.startswith(prefix)), "")
        before = name.rpartition(":")[0]
        found.append(owner or before or ("" if name.startswith("*") else alone))
    return tuple(found)


def _events(head: C3dHeader, first: int, rate: float) -> tuple[Event, ...]:
    """Return the events of the group EVENT, else of the header block; file times count from frame 1."""
    start = (first - 1) / rate
    count = int(min(max(head.number("EVENT", "USED") or 0, 0), 4096))
    times = head.numbers("EVENT", "TIMES")[: 2 * count]
    labels, contexts, subjects = (head.texts("EVENT", name, count) for name in ("LABELS", "CONTEXTS", "SUBJECTS"))
    events = [Event(label, seconds - start) for label, seconds in ([] if count else head.events)]
    for number in range(min(len(times) // 2, len(labels))):
        seconds = 60.0 * times[2 * number] + times[2 * number + 1] - start
        if np.isfinite(seconds):
            context = contexts[number] if number < len(contexts) else ""
            subject = subjects[number] if number < len(subjects) else ""
            events.append(Event(labels[number], float(seconds), context, subject))
    return tuple(sorted(events, key=lambda event: event.seconds))


__all__ = ["extensions", "holds", "load_markers", "parse"]
