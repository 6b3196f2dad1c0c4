"""The normalised (morphology-independent) form of a take inside a project file: see `footplant.normalized`.

It is stored beside the take's motion, so that readers that do not know it preserve it, and it contains a hash of the
motion it belongs to: after an edit by another program it is ignored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.io.arrays import Archive
from footplant.io.json import Json
from footplant.motion import Motion
from footplant.normalized import Normalized, NormalizedLimb, NormalizedSpline

KEY = "normalized"
LIMB = {"frame": (4,), "length": (), "proportion": (), "bends": (2,), "rolls": (2, 4)}
"""Arrays of a limb → their shapes after the frame axis."""


def stamp(motion: Motion) -> str:
    """Return a hash of the motion's exact values."""
    digest = hashlib.sha256()
    for array in (motion.root, motion.rotations, motion.offsets):
        if array is not None:
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:32]


def entry_of(normalized: Normalized, motion: Motion, keep: Callable[[str, NDArray], str]) -> dict[str, Any]:
    """Return the JSON object; `keep` stores an array in the file and returns its name."""
    return {
        "of": stamp(motion),
        "fps": float(normalized.fps),
        "origin": [float(value) for value in normalized.origin],
        **{key: keep(key, getattr(normalized, key)) for key in ("root", "heading", "tilt")},
        "limbs": {
            name: {key: keep(f"{name}_{key}", getattr(limb, key)) for key in LIMB}
            for name, limb in normalized.limbs.items()
        },
        "splines": {
            name: {"knots": [float(k) for k in spline.knots], "turns": keep(f"{name}_turns", spline.turns)}
            for name, spline in normalized.splines.items()
        },
        "segments": {role: keep(f"segment_{role}", array) for role, array in normalized.segments.items()},
        "others": _table(normalized.others, "others", keep),
        "moving": _table(normalized.moving, "moving", keep),
        **({} if normalized.on_hands is None else {"on_hands": keep("on_hands", normalized.on_hands)}),
    }


def _table(arrays: Any, name: str, keep: Callable[[str, NDArray], str]) -> dict[str, Any]:
    """Return several arrays as one, with their keys: joint names are unsuitable as file names."""
    if not arrays:
        return {"keys": []}
    return {"keys": list(arrays), "values": keep(name, np.stack(list(arrays.values()), axis=1))}


def read_entry(archive: Archive, take: Json, motion: Motion) -> Normalized | None:
    """Return the normalised form of a take; None if there is none or it belongs to another motion."""
    entry = take.object(KEY)
    if entry is None or entry.text("of") != stamp(motion):
        return None
    frames = len(motion)

    def array(source: Json, key: str, *shape: int | None) -> NDArray:
        found = archive.array(source.text(key))
        wanted = (frames, *shape)
        fits = found.ndim == len(wanted) and all(w in (None, h) for w, h in zip(wanted, found.shape, strict=True))
        if found.dtype.kind != "f" or not fits or not np.isfinite(found).all():
            source.fail(key, f"expected finite numbers of shape {wanted}, got {found.dtype} of shape {found.shape}")
        return found

    def inside(key: str) -> Json:
        found = entry.object(key)
        if found is None:
            entry.fail(key, "expected a table, got nothing")
        return found

    def rows(key: str, width: int) -> dict[str, NDArray]:
        source = inside(key)
        keys = [str(name) for name in source.array("keys")]
        values = array(source, "values", len(keys), width) if keys else np.zeros((frames, 0, width))
        return {name: values[:, n] for n, name in enumerate(keys)}

    limbs, splines = inside("limbs"), inside("splines")
    found_limbs, found_splines = {}, {}
    for name in limbs.data:
        limb = limbs.object(name)
        if limb is not None:
            found_limbs[name] = NormalizedLimb(**{key: array(limb, key, *shape) for key, shape in LIMB.items()})
    for name in splines.data:
        spline = splines.object(name)
        if spline is not None:
            turns = array(spline, "turns", None, 3)
            knots = np.array(spline.numbers("knots", turns.shape[1]) or [0.0, 0.0], float)
            if not (np.diff(knots) > 0).all():
                spline.fail("knots", "expected increasing numbers, got others")
            found_splines[name] = NormalizedSpline(knots, turns)
    segments = inside("segments")
    return Normalized(
        fps=entry.number("fps", low=0.0),
        root=array(entry, "root", 3),
        heading=array(entry, "heading", 4),
        tilt=array(entry, "tilt", 4),
        origin=np.array(entry.numbers("origin", 3) or (0.0, 0.0, 0.0), float),
        limbs=found_limbs,
        splines=found_splines,
        segments={role: array(segments, role, 4) for role in segments.data},
        others=rows("others", 4),
        moving=rows("moving", 3),
        on_hands=array(entry, "on_hands") if "on_hands" in entry.data else None,
    )
