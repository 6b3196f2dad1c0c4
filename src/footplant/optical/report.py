"""Report on how well a body fits its markers: residuals per marker and frame in millimetres, gaps, swaps, lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.kinematics import Kinematics
from footplant.markers import Markers
from footplant.motion import Motion
from footplant.optical.body import LENGTHS, MarkerBody, Poses, pose_markers
from footplant.optical.calibration import Calibration
from footplant.serialise import json_ready


@dataclass(frozen=True)
class Swap:
    """Two markers whose labels were swapped at a frame."""

    frame: int
    first: int
    second: int
    """Indices among the markers that are used."""


@dataclass(frozen=True)
class MarkerFit:
    """Fit of one marker."""

    label: str
    segment: str
    landmark: str | None
    rms: float
    """mm over the frames in which it is visible."""
    worst: float
    """mm."""
    worst_frame: int | None
    hidden: float
    """Fraction of frames in which it is hidden."""
    gaps: int
    longest_gap: int
    """Frames."""


@dataclass(frozen=True)
class Length:
    """A length of the body."""

    name: str
    metres: float
    spread: float
    """Standard deviation, metres."""


@dataclass(frozen=True, eq=False)
class MarkerReport:
    """Report on a person's markers."""

    subject: str
    marker_set: str | None
    """The known set that its labels belong to."""
    frames: int
    markers: tuple[MarkerFit, ...]
    frame_rms: NDArray
    """(F,) mm; NaN where no marker is visible."""
    median: float
    """mm, over all markers and frames."""
    rms: float
    """mm."""
    worst: float
    """mm."""
    height: float
    """Of the character, metres."""
    lengths: tuple[Length, ...]
    swaps: tuple[str, ...]
    """Suspected swaps that were undone, one sentence each."""
    left_out: tuple[str, ...]
    """Markers that were not used."""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict:
        """Return a JSON-ready dictionary."""
        values = {**asdict(self), "frame_rms": self.frame_rms.tolist()}
        return {key: json_ready(value) for key, value in values.items()}


def make_report(
    body: MarkerBody,
    calibration: Calibration,
    poses: Poses,
    targets: NDArray,
    swaps: Sequence[Swap],
    markers: Markers,
    subject: str,
    set_name: str | None,
) -> MarkerReport:
    """Measure a solution; targets (F, M, 3): where the body's markers were seen, among all `markers` of the take."""
    bones = body.bones(calibration.lengths)
    used = {item.marker for item in body.placements}
    left_out = tuple(label for number, label in enumerate(markers.labels) if number not in used)
    away = 1000.0 * np.linalg.norm(pose_markers(body, bones, calibration.offsets, poses).places - targets, axis=-1)
    labels = [markers.labels[item.marker] for item in body.placements]
    fits = [
        _fit(label, item.role, item.landmark, away[:, row])
        for row, (label, item) in enumerate(zip(labels, body.placements, strict=True))
    ]
    seen = away[~np.isnan(away)]
    some = ~np.isnan(away).all(axis=1)
    frame_rms = np.full(len(away), np.nan)
    frame_rms[some] = np.sqrt(np.nanmean(away[some] ** 2, axis=1))
    character = body.character(calibration.lengths)
    exchanged = tuple(
        f"frame {swap.frame}: labels of {labels[swap.first]} and {labels[swap.second]} were swapped" for swap in swaps
    )
    return MarkerReport(
        subject, set_name, len(targets), tuple(fits), frame_rms, float(np.median(seen)),
        float(np.sqrt(np.mean(seen**2))), float(seen.max()), character.height, _lengths(body, calibration), exchanged,
        left_out, _notes(body),
    )  # fmt: skip


def _fit(label: str, role: str, landmark: str | None, away: NDArray) -> MarkerFit:
    hidden = np.isnan(away)
    edges = np.diff(np.concatenate([[0], hidden.astype(int), [0]]))
    lengths = np.flatnonzero(edges < 0) - np.flatnonzero(edges > 0)
    known = away[~hidden]
    return MarkerFit(
        label, role.replace("_", " "), landmark, float(np.sqrt(np.mean(known**2))) if len(known) else float("nan"),
        float(known.max(initial=0.0)), int(np.nanargmax(away)) if len(known) else None, float(hidden.mean()),
        len(lengths), int(lengths.max(initial=0)),
    )  # fmt: skip


def _lengths(body: MarkerBody, calibration: Calibration) -> tuple[Length, ...]:
    """Return common body lengths, of the left side where there are two, with their standard deviations."""
    character = body.character(calibration.lengths)
    roles, skeleton = character.require_roles(), character.skeleton
    places = Kinematics(Motion(skeleton, skeleton.offsets[:1], body.reference[None])).positions[0]
    spread: dict[str, float] = dict(zip(("scale", *LENGTHS), calibration.spread, strict=True))

    def between(name: str, a: str, b: str, factor: str) -> Length | None:
        first, second = roles.get(a), roles.get(b)
        if first is None or second is None:
            return None
        metres = float(np.linalg.norm(places[first] - places[second]))
        return Length(name, metres, metres * float(spread[factor]))

    found = (
        between("hip width", "left_upper_leg", "right_upper_leg", "hips"),
        between("thigh", "left_upper_leg", "left_lower_leg", "thigh"),
        between("shank", "left_lower_leg", "left_foot", "shank"),
        between("trunk", "hips", "neck", "trunk"),
        between("shoulder width", "left_upper_arm", "right_upper_arm", "shoulders"),
        between("upper arm", "left_upper_arm", "left_lower_arm", "upper_arm"),
        between("forearm", "left_lower_arm", "left_hand", "forearm"),
    )
    return tuple(length for length in found if length is not None)


def _notes(body: MarkerBody) -> tuple[str, ...]:
    """Return a note on parts of the body without markers."""
    roles = body.base.require_roles()
    parts = {"arms": "left_lower_arm", "legs": "left_lower_leg", "the head": "head"}
    without = [name for name, role in parts.items() if roles.get(role) not in body.active]
    if not without:
        return ()
    return (f"no markers on {' and '.join(without)}: kept in a neutral pose",)
