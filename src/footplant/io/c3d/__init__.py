"""C3D in: markers as motion laboratories record them, of any processor, as whole numbers or floats.

The points of a file that are no places (the angles, forces, moments and powers that Plug-in Gait writes among them)
are left out with a note, and so are analog channels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from footplant.errors import FormatError
from footplant.io.c3d.frames import find_layout, long_number, read_points
from footplant.io.c3d.parameters import Head, read_head
from footplant.io.marker_conversion import RawMarkers
from footplant.markers import Event

extensions = (".c3d",)
holds: frozenset[str] = frozenset()

NOT_PLACES = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS", "REACTIONS")
"""Parameters of the group POINT that list labels of points which are no places."""
MODEL_OUTPUT = re.compile(r"[LR]?\w*[a-z](Angles?|Forces?|Moments?|Powers?|GRF)[A-Z]?")
"""Labels that Plug-in Gait gives to its results, for files that do not list them."""
USUAL_RATE = 100.0
"""Frames a second of a file that does not say."""


def load_markers(path: str | Path, *, damaged: bool = False) -> RawMarkers:
    """Read the points of a file, in file units and axes.

    damaged: read a file whose parameters are damaged as far as they go, with a note, where it would be refused.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error
    return parse(data, path, damaged=damaged)


def parse(data: bytes, path: str | Path | None = None, *, damaged: bool = False) -> RawMarkers:
    """Read the bytes of a C3D file: see `load_markers`."""
    head = read_head(data, path)
    if head.broken and ("POINT", "LABELS") not in head.parameters:
        raise FormatError(f"expected parameters up to POINT:LABELS, got a damaged section: {head.broken}", path=path)
    if head.broken and not damaged:
        raise FormatError(
            f"expected whole parameters, got a damaged section: {head.broken}; load_markers(path, damaged=True) reads "
            "what stands before",
            path=path,
        )
    if head.broken:
        head.notes.append(f"the parameter section is damaged ({head.broken}); what stands before was used")
    layout = find_layout(data, head, path)
    labels = _labels(head, layout.points)
    keep = _places(head, labels)
    if not len(keep):
        raise FormatError(f"expected markers, got {len(labels)} points that are angles, forces or the like", path=path)
    positions, residuals, zeros = read_points(data, layout, head.processor, keep)
    if zeros:
        head.notes.append(f"{zeros} samples are exactly (0, 0, 0) and were taken for hidden")
    names = [labels[place] for place in keep.tolist()]
    rate = _rate(head)
    if np.isnan(positions[..., 0]).all():
        frames = len(positions)
        raise FormatError(
            f"expected markers that are seen, got {len(names)} that are hidden in all {frames} frames", path=path
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


def _labels(head: Head, points: int) -> list[str]:
    """One name of its own for each point."""
    labels = head.texts("POINT", "LABELS", points)
    if len(labels) < points:
        found = f"only {len(labels)} of {points} points have labels" if labels else "the points have no labels"
        head.notes.append(f"{found}; numbers stand in for them")
    labels += [""] * (points - len(labels))
    used: set[str] = set()
    twice = 0
    for place, label in enumerate(labels):
        name = label or f"point{place + 1}"
        twice += name in used
        while name in used:
            name = f"{name}_{place + 1}"
        used.add(name)
        labels[place] = name
    if twice:
        head.notes.append(f"{twice} labels stand more than once; their places were added to tell the points apart")
    return labels


def _places(head: Head, labels: Sequence[str]) -> np.ndarray:
    """Numbers of the points that are places in space."""
    # pairs of a list's name and what is in it: files may call their lists of angles as they like
    pairs = head.texts("POINT", "TYPE_GROUPS", 64)
    named = [name.upper() for name, kind in zip(pairs[::2], pairs[1::2], strict=False) if f"{kind}S" in NOT_PLACES]
    lists = dict.fromkeys((*NOT_PLACES, *named))
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
        head.notes.append(f"{len(left)} points are angles, forces, moments or powers ({first!r} …) and were left out")
    return np.flatnonzero(keep)


def _rate(head: Head) -> float:
    for rate in (head.number("POINT", "RATE"), head.rate, head.number("TRIAL", "CAMERA_RATE")):
        if rate is not None and np.isfinite(rate) and 0 < rate < 1e6:
            return float(rate)
    head.notes.append(f"the file does not say how many frames a second it has; took {USUAL_RATE:g}")
    return USUAL_RATE


def _axis(text: str) -> str | None:
    """The vertical axis by POINT:Y_SCREEN, the axis that points up on the screen: "+Z" is "z"."""
    found = re.fullmatch(r"([+-]?)([xyz])", text.strip().lower())
    return None if found is None else found[1].replace("+", "") + found[2]


def _subjects(head: Head, names: Sequence[str]) -> tuple[str, ...]:
    """Whose each marker is: by the name before a colon, by the prefixes that are listed, or by being the only one."""
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


def _events(head: Head, first: int, rate: float) -> tuple[Event, ...]:
    """Events of the group EVENT, else of the first block; their times count from where frame 1 would be."""
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
