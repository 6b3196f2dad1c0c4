"""Optical markers to motion: a labelled take drives a skeleton scaled to the person who wore the markers.

This is the start of the pipeline of Kulpa, Multon & Arnaldi (2005, figure 2). Marker placement follows from labels
(`marker_sets`), a table, or a known pose; the take itself gives bone lengths and marker offsets (`calibration`); then
every frame is posed by itself (`pose`), gaps are bridged by the body, and swapped labels are found by their positions.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Clip
from footplant.errors import MotionError
from footplant.io import load_markers
from footplant.markers import Markers
from footplant.motion import Motion
from footplant.optical.attachment import calibrate_attached
from footplant.optical.body import MarkerBody, Poses, pose_markers
from footplant.optical.calibration import Calibration, find_jumps, transfer_calibration
from footplant.optical.marker_sets import MarkerPlacement, from_table, recognise
from footplant.optical.pose import PosePrior, solve_poses
from footplant.optical.report import MarkerReport, Swap, make_report
from footplant.optical.settings import CALIBRATION, NOISE, POSE
from footplant.problem import Progress, Report, Status
from footplant.result import CharacterSource, Result, as_character
from footplant.skeleton import Character


def solve_markers(
    markers: Markers | str | Path,
    character: CharacterSource | None = None,
    *,
    table: Mapping[str, str] | None = None,
    pose_frame: int | None = None,
    subject: str | None = None,
    calibration: Markers | str | Path | None = None,
    smooth: bool = False,
    progress: Progress | None = None,
) -> Result:
    """Return the motion of the person who wore the markers, on a character with their proportions.

    markers: loaded, or as a file name. The report's `markers` say how well the body fits, of each person of the take.
    character: the one whose proportions are fitted (default: the mannequin). table: label → landmark or segment, for
    unknown labels. pose_frame: a frame in which the person stands in a T-pose or with hanging arms, from which the
    placement of markers without known labels is guessed. subject: which of several people; the others become
    `clip.others`. calibration: another take of the same markers on the same people for lengths and offsets, ideally one
    in which all joints go through their range; by default the take itself. smooth: pose all frames together, as
    smoothly as the markers allow, instead of each by itself.
    """
    started = time.perf_counter()
    markers = markers if isinstance(markers, Markers) else load_markers(markers)
    if isinstance(calibration, str | Path):
        calibration = load_markers(calibration)
    character = as_character("sample:mannequin" if character is None else character)
    people = find_people(markers, character, table, pose_frame)
    names = [name for name, _, _ in people]
    if subject is not None and subject not in names:
        raise MotionError(f"expected a subject among {', '.join(map(repr, names))}; got {subject!r}")
    people.sort(key=lambda person: (person[0] != subject, -len(person[2])))
    solved = []
    for number, (name, set_name, placements) in enumerate(people):
        share = number / len(people)
        label = f"{name or 'markers'}"
        if progress:
            progress(f"calibrating {label}", share)
        solved.append(_solve_person(markers, character, name, set_name, placements, calibration, smooth=smooth))
    first, *rest = solved
    fits = tuple(fit for _, fit in solved)
    report = Report(
        "markers", Status.SOLVED, fits[0].height, notes=fits[0].notes, markers=fits,
        seconds=time.perf_counter() - started,
    )  # fmt: skip
    return Result(replace(first[0], others=tuple(clip for clip, _ in rest)), report)


def find_people(
    markers: Markers, character: Character, table: Mapping[str, str] | None = None, pose_frame: int | None = None
) -> list[tuple[str, str | None, list[MarkerPlacement]]]:
    """Return the people of a take: name, marker set, and placement of their markers; raise if there are none."""
    if not len(markers) or not markers.visible.any():
        raise MotionError(f"expected visible markers, got {len(markers.names)} that are hidden in every frame")
    if table is not None:
        return [("", "a table", _enough(from_table(markers.labels, table), markers))]
    groups: dict[str, list[int]] = {}
    for number, (name, owner) in enumerate(zip(markers.names, markers.subjects, strict=True)):
        groups.setdefault(owner or name.rpartition(":")[0], []).append(number)
    found = []
    for name, numbers in groups.items():
        seen = [number for number in numbers if markers.visible[:, number].any()]
        labels = [markers.labels[number] for number in seen]
        _one_person(name, labels)
        set_name, placements = recognise(labels)
        placements = [replace(item, marker=seen[item.marker]) for item in placements]
        if len(placements) >= CALIBRATION.fewest:
            found.append((name, set_name, placements))
    if found:
        return found
    if pose_frame is not None:
        from footplant.optical.guess import guess

        return [("", "guessed from a pose", _enough(guess(markers, character, pose_frame), markers))]
    some = ", ".join(markers.labels[:6]) + (" …" if len(markers.labels) > 6 else "")
    raise MotionError(
        f"expected {CALIBRATION.fewest} or more markers with known labels (LASI, LKNE, LANK …), got {some}; give their "
        "placement in a table (table=, --labels FILE), or a frame in which the person stands in a T-pose (pose_frame=, "
        "--pose)"
    )


def _one_person(name: str, labels: Sequence[str]) -> None:
    """Refuse two people under one name: readers append a number to a label that occurs more than once."""
    known = {labels[item.marker] for item in recognise(labels)[1]}
    again = [label for label in labels if re.fullmatch(r".+_\d+", label) and label.rpartition("_")[0] in known]
    if len(again) >= CALIBRATION.fewest:
        whose = f"of {name!r}" if name else "without a name"
        raise MotionError(
            f"expected each marker {whose} once, got {again[0].rpartition('_')[0]} and {len(again) - 1} more again: "
            "two subjects seem to have one name; give them different ones in the program that made the file"
        )


def _enough(placements: Sequence[MarkerPlacement], markers: Markers) -> list[MarkerPlacement]:
    seen = [item for item in placements if markers.visible[:, item.marker].any()]
    if len(seen) < CALIBRATION.fewest:
        raise MotionError(f"expected {CALIBRATION.fewest} or more visible markers, got {len(seen)}")
    return seen


def _solve_person(
    markers: Markers,
    character: Character,
    name: str,
    set_name: str | None,
    placements: Sequence[MarkerPlacement],
    calibration: Markers | None,
    *,
    smooth: bool,
) -> tuple[Clip, MarkerReport]:
    body = MarkerBody.of(character, placements)
    targets = np.array(markers.positions[:, [item.marker for item in placements]])
    if calibration is None:
        body, found = calibrate_attached(body, targets, markers.fps)
    else:
        body, found = calibrate_attached(body, _same_markers(markers, placements, calibration), calibration.fps)
        found = transfer_calibration(body, found, targets)
    bones = body.bones(found.lengths)
    jumped = find_jumps(targets, markers.fps)
    steady = np.where(jumped[..., None], np.nan, targets)
    poses = _start(body, bones, found, steady)
    # first with a wide outlier distance, then with each marker's own
    for outlier, warm in ((NOISE.outlier, True), (found.outlier, False)):
        poses = solve_poses(
            body, bones, found.offsets, steady, poses,
            spread=found.skin, prior=found.prior, outlier=outlier, warm=warm,
        )  # fmt: skip
    swaps = _undo_swaps(body, bones, found, poses, targets)
    if swaps:
        rows = np.unique([swap.frame for swap in swaps])
        again = solve_poses(
            body, bones, found.offsets, targets[rows], poses[rows],
            spread=found.skin, prior=found.prior, outlier=found.outlier,
        )  # fmt: skip
        poses.root[rows], poses.rotations[rows] = again.root, again.rotations
    jumped[[swap.frame for swap in swaps]] = False
    steady = np.where(jumped[..., None], np.nan, targets)
    poses = _bridge_gaps(body, bones, found, poses, steady)
    if smooth:
        from footplant.optical.smooth import smooth_poses

        poses = smooth_poses(body, found, steady, poses, markers.fps)
    wearer = replace(_with_skin(body, character, found.lengths), name=name or markers.name or character.name)
    motion = Motion(wearer.skeleton, poses.root, rotation.unroll(poses.rotations), markers.fps)
    clip = Clip(motion, wearer, name=name or markers.name, notes=markers.notes)
    return clip, make_report(body, found, poses, targets, swaps, markers, name, set_name)


def _same_markers(markers: Markers, placements: Sequence[MarkerPlacement], other: Markers) -> NDArray:
    """Return positions (F, M, 3) of the same markers in another take: by name, or by label where names differ."""
    names, labels = ({name: row for row, name in enumerate(x)} for x in (other.names, other.labels))
    found = [names.get(markers.names[i.marker], labels.get(markers.labels[i.marker])) for i in placements]
    missing = [markers.labels[i.marker] for i, row in zip(placements, found, strict=True) if row is None]
    seen = [row for row in found if row is not None and other.visible[:, row].any()]
    if len(seen) < CALIBRATION.fewest or missing:
        lacks = f", without {', '.join(missing[:6])}" if missing else ""
        raise MotionError(
            f"expected a take to calibrate with that has the same markers, got one that shows {len(seen)} of "
            f"{len(found)}{lacks}"
        )
    return np.array(other.positions[:, [row for row in found if row is not None]])


def _with_skin(body: MarkerBody, character: Character, lengths: NDArray) -> Character:
    """Return the character with the estimated lengths, its mesh fitted to them."""
    return MarkerBody(character, body.placements).character(lengths)


def _start(body: MarkerBody, bones: NDArray, calibration: Calibration, targets: NDArray) -> Poses:
    """Return initial poses of every frame: interpolated between the calibration's, shifted to the markers."""
    every = np.arange(len(targets))
    frames = calibration.frames
    after = np.clip(np.searchsorted(frames, every), 1, max(len(frames) - 1, 1)) if len(frames) > 1 else every * 0
    if len(frames) == 1:
        poses = calibration.poses[np.zeros(len(targets), int)]
    else:
        first, last = frames[after - 1], frames[after]
        share = np.clip((every - first) / np.maximum(last - first, 1), 0.0, 1.0)
        a, b = calibration.poses[after - 1], calibration.poses[after]
        poses = Poses(
            a.root + share[:, None] * (b.root - a.root), rotation.slerp(a.rotations, b.rotations, share[:, None])
        )
    away = targets - pose_markers(body, bones, calibration.offsets, poses).places
    known = ~np.isnan(away[..., 0]).all(axis=1)
    shift = np.zeros((len(targets), 3))
    shift[known] = np.nanmedian(away[known], axis=1)
    return Poses(poses.root + shift, poses.rotations)


def _undo_swaps(
    body: MarkerBody, bones: NDArray, calibration: Calibration, poses: Poses, targets: NDArray
) -> list[Swap]:
    """Undo swapped labels in `targets`, in place; return the swaps."""
    places = pose_markers(body, bones, calibration.offsets, poses).places
    away = np.linalg.norm(targets - places, axis=-1)
    far = 2.0 * calibration.outlier
    swaps = []
    for frame in np.flatnonzero(np.any(away > far, axis=1)):
        odd = np.flatnonzero(away[frame] > far)
        gaps = np.linalg.norm(targets[frame][:, None] - places[frame][None], axis=-1)
        for a in odd:
            b = int(np.nanargmin(gaps[a]))
            if b == a or gaps[a, b] > NOISE.swapped:
                continue
            if np.isnan(gaps[b, a]):
                # the other one is hidden: the marker labelled a is b
                targets[frame, b], targets[frame, a] = targets[frame, a], np.nan
            elif gaps[b, a] < 2.0 * NOISE.swapped and a < b:
                targets[frame, [a, b]] = targets[frame, [b, a]]
            else:
                continue
            swaps.append(Swap(int(frame), int(a), b))
    return swaps


def _bridge_gaps(body: MarkerBody, bones: NDArray, calibration: Calibration, poses: Poses, targets: NDArray) -> Poses:
    """Return poses in which joints without visible markers are interpolated between the frames that determine them."""
    seen = ~np.isnan(targets[..., 0])
    determined = np.stack([_determined(body, row, seen) for row in range(len(body.active))], axis=1)
    if determined.all():
        return poses
    rotations, root = np.array(poses.rotations), np.array(poses.root)
    every = np.arange(len(targets))
    sure = np.array(determined)
    for row, joint in enumerate(body.active):
        # a foot on an undetermined shank fits its markers somehow, but not in the right way
        above = body.rows[body.base.skeleton.parents[joint]] if body.base.skeleton.parents[joint] >= 0 else row
        sure[:, row] &= sure[:, above]
        known = np.flatnonzero(sure[:, row])
        if not len(known):
            rotations[:, joint] = calibration.prior.rotations[joint]
            continue
        if len(known) < len(every):
            after = np.clip(np.searchsorted(known, every), 0, len(known) - 1)
            before = np.maximum(after - (known[after] > every), 0)
            span = np.maximum(known[after] - known[before], 1)
            share = np.clip((every - known[before]) / span, 0.0, 1.0)
            rotations[:, joint] = rotation.slerp(rotations[known[before], joint], rotations[known[after], joint], share)
    some = seen.sum(axis=1) >= 3
    if some.any() and not some.all():
        for axis in range(3):
            root[:, axis] = np.interp(every, every[some], root[some, axis])
    rows = np.flatnonzero(~determined.all(axis=1))
    # a determined joint follows its markers alone: its prior is its own pose, with little stiffness
    held = PosePrior(rotations[rows], np.where(determined[rows], 1.0 / POSE.held, POSE.held))
    again = Poses(root[rows], rotations[rows])
    # an interpolated limb may be far from its remaining markers
    for outlier in (10.0 * NOISE.outlier, NOISE.outlier, calibration.outlier):
        again = solve_poses(
            body, bones, calibration.offsets, targets[rows], again,
            spread=calibration.skin, outlier=outlier, prior=held, iterations=8,
        )  # fmt: skip
    rotations, root = np.array(poses.rotations), np.array(poses.root)
    rotations[rows], root[rows] = again.rotations, again.root
    return Poses(root, rotations)


def _determined(body: MarkerBody, row: int, seen: NDArray) -> NDArray:
    """Return (F,) whether visible markers determine an active joint's rotation.

    Markers of its own segment count, or of the next one that has any: two of them, or all there are, or one with
    another on the segment beyond, which gives the end of the bone; or two of that segment alone.
    """
    skeleton, waiting = body.base.skeleton, [int(body.active[row])]
    while waiting:
        on = np.isin(body.segments, waiting)
        below = [child for child in range(len(skeleton)) if skeleton.parents[child] in waiting]
        if on.any():
            own, beyond = seen[:, on].sum(axis=1), seen[:, np.isin(body.segments, below)].sum(axis=1)
            return (own >= min(2, int(on.sum()))) | ((own >= 1) & (beyond >= 1)) | (beyond >= 2)
        waiting = below
    return np.ones(len(seen), bool)
