"""Optical markers to motion: a labelled take drives a skeleton that is scaled to who wore the markers.

Kulpa, Multon & Arnaldi's pipeline (2005, figure 2) begins here. Which marker is where is told by its label (see
`marker_sets`), by a table, or by a pose that is known; the take itself tells how long bones are and where on its
segment each marker sits (`marker_calibration`); then every frame is posed by itself (`marker_pose`), gaps are bridged
by the body, and markers whose labels were exchanged are found by their places.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Clip
from footplant.errors import MotionError
from footplant.markers import Markers
from footplant.motion import Motion
from footplant.optical.body import MarkerBody, Poses, see
from footplant.optical.calibration import FEWEST, Calibration, carry_over, find_jumps
from footplant.optical.carry import calibrate_carried
from footplant.optical.marker_sets import Stuck, from_table, recognise
from footplant.optical.pose import OUTLIER, Prior, solve_poses
from footplant.optical.report import MarkerReport, Swap, make_report
from footplant.problem import Progress
from footplant.skeleton import Character

SWAPPED = 0.03
"""Metres within which a marker must be of another one's place to be taken for it."""
HELD = 12.0
"""How many times stiffer than usual a joint holds to the pose between two frames that tell it."""


@dataclass(frozen=True, eq=False)
class Solved:
    """A take as a motion, and how well it fits."""

    clip: Clip
    """The motion on the scaled figure; further persons of the take are its `others`."""
    report: MarkerReport
    others: tuple[MarkerReport, ...] = ()
    """Reports on the further persons."""


def solve(
    markers: Markers,
    character: Character | None = None,
    *,
    table: Mapping[str, str] | None = None,
    pose_frame: int | None = None,
    subject: str | None = None,
    calibration: Markers | None = None,
    smooth: bool = False,
    progress: Progress | None = None,
) -> Solved:
    """The motion of who wore the markers, on a figure of their proportions.

    character: the figure whose proportions are fitted (default: the mannequin). table: label → landmark or segment, for
    labels that are not known. pose_frame: a frame in which the person stands in a T-pose or with hanging arms, to guess
    from where markers without known labels sit. subject: which of several persons; the others become `clip.others`.
    calibration: another take of the same markers on the same persons that tells lengths and where markers sit, best one
    in which all joints go through their range; without it the take itself does. smooth: pose all frames together, as
    smoothly as the markers allow, instead of each by itself.
    """
    if character is None:
        from footplant.samples import load_character

        character = load_character("mannequin")
    people = find_people(markers, character, table, pose_frame)
    names = [name for name, _, _ in people]
    if subject is not None and subject not in names:
        raise MotionError(f"expected a subject among {', '.join(map(repr, names))}; got {subject!r}")
    people.sort(key=lambda person: (person[0] != subject, -len(person[2])))
    solved = []
    for number, (name, set_name, stuck) in enumerate(people):
        share = number / len(people)
        label = f"{name or 'markers'}"
        if progress:
            progress(f"calibrating {label}", share)
        solved.append(_solve_person(markers, character, name, set_name, stuck, calibration, smooth=smooth))
    first, *rest = solved
    return Solved(
        replace(first[0], others=tuple(clip for clip, _ in rest)), first[1], tuple(report for _, report in rest)
    )


def find_people(
    markers: Markers, character: Character, table: Mapping[str, str] | None = None, pose_frame: int | None = None
) -> list[tuple[str, str | None, list[Stuck]]]:
    """The persons of a take: name, marker set, and where their markers sit; an error says what is missing."""
    if not len(markers) or not markers.visible.any():
        raise MotionError(f"expected markers that are seen, got {len(markers.names)} that are hidden in every frame")
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
        set_name, stuck = recognise(labels)
        stuck = [replace(item, marker=seen[item.marker]) for item in stuck]
        if len(stuck) >= FEWEST:
            found.append((name, set_name, stuck))
    if found:
        return found
    if pose_frame is not None:
        from footplant.optical.guess import guess

        return [("", "guessed from a pose", _enough(guess(markers, character, pose_frame), markers))]
    some = ", ".join(markers.labels[:6]) + (" …" if len(markers.labels) > 6 else "")
    raise MotionError(
        f"expected {FEWEST} or more markers with known labels (LASI, LKNE, LANK …), got {some}; say where they sit in "
        "a table (table=, --labels FILE), or name a frame in which the person stands in a T-pose (pose_frame=, --pose)"
    )


def _one_person(name: str, labels: Sequence[str]) -> None:
    """Refuse two persons under one name: readers put the place after a label that stands more than once."""
    known = {labels[item.marker] for item in recognise(labels)[1]}
    again = [label for label in labels if re.fullmatch(r".+_\d+", label) and label.rpartition("_")[0] in known]
    if len(again) >= FEWEST:
        whose = f"of {name!r}" if name else "without a name"
        raise MotionError(
            f"expected each marker {whose} once, got {again[0].rpartition('_')[0]} and {len(again) - 1} more again: "
            "two subjects seem to have one name; give them different ones in the program that made the file"
        )


def _enough(stuck: Sequence[Stuck], markers: Markers) -> list[Stuck]:
    seen = [item for item in stuck if markers.visible[:, item.marker].any()]
    if len(seen) < FEWEST:
        raise MotionError(f"expected {FEWEST} or more markers that are seen, got {len(seen)}")
    return seen


def _solve_person(
    markers: Markers,
    character: Character,
    name: str,
    set_name: str | None,
    stuck: Sequence[Stuck],
    calibration: Markers | None,
    *,
    smooth: bool,
) -> tuple[Clip, MarkerReport]:
    body = MarkerBody.of(character, stuck)
    targets = np.array(markers.positions[:, [item.marker for item in stuck]])
    if calibration is None:
        body, told = calibrate_carried(body, targets, markers.fps)
    else:
        body, told = calibrate_carried(body, _same_markers(markers, stuck, calibration), calibration.fps)
        told = carry_over(body, told, targets)
    bones = body.bones(told.lengths)
    jumped = find_jumps(targets, markers.fps)
    steady = np.where(jumped[..., None], np.nan, targets)
    poses = _start(body, bones, told, steady)
    # first from wherever it is, then without what is far off
    for outlier, warm in ((OUTLIER, True), (told.outlier, False)):
        poses = solve_poses(
            body, bones, told.offsets, steady, poses,
            spread=told.skin, prior=told.prior, outlier=outlier, warm=warm,
        )  # fmt: skip
    swaps = _undo_swaps(body, bones, told, poses, targets)
    if swaps:
        rows = np.unique([swap.frame for swap in swaps])
        again = solve_poses(
            body, bones, told.offsets, targets[rows], poses[rows],
            spread=told.skin, prior=told.prior, outlier=told.outlier,
        )  # fmt: skip
        poses.root[rows], poses.rotations[rows] = again.root, again.rotations
    jumped[[swap.frame for swap in swaps]] = False
    steady = np.where(jumped[..., None], np.nan, targets)
    poses = _bridge_gaps(body, bones, told, poses, steady)
    if smooth:
        from footplant.optical.smooth import smooth_poses

        poses = smooth_poses(
            body, bones, told.offsets, steady, poses, markers.fps,
            spread=told.skin, prior=told.prior, outlier=told.outlier,
        )  # fmt: skip
    wearer = replace(_with_skin(body, character, told.lengths), name=name or markers.name or character.name)
    motion = Motion(wearer.skeleton, poses.root, rotation.unroll(poses.rotations), markers.fps)
    clip = Clip(motion, wearer, name=name or markers.name, notes=markers.notes)
    left_out = [label for number, label in enumerate(markers.labels) if number not in {item.marker for item in stuck}]
    report = make_report(body, bones, told, poses, targets, swaps, markers, name, set_name, left_out)
    return clip, report


def _same_markers(markers: Markers, stuck: Sequence[Stuck], other: Markers) -> NDArray:
    """(F, M, 3) where another take has the markers of this one: by their names, or by labels where those differ."""
    names, labels = ({name: row for row, name in enumerate(x)} for x in (other.names, other.labels))
    found = [names.get(markers.names[i.marker], labels.get(markers.labels[i.marker])) for i in stuck]
    missing = [markers.labels[i.marker] for i, row in zip(stuck, found, strict=True) if row is None]
    seen = [row for row in found if row is not None and other.visible[:, row].any()]
    if len(seen) < FEWEST or missing:
        lacks = f", without {', '.join(missing[:6])}" if missing else ""
        raise MotionError(
            f"expected a take to calibrate with that has the same markers, got one that shows {len(seen)} of "
            f"{len(found)}{lacks}"
        )
    return np.array(other.positions[:, [row for row in found if row is not None]])


def _with_skin(body: MarkerBody, character: Character, lengths: NDArray) -> Character:
    """The figure with the lengths that were found, its mesh fitted to them."""
    return MarkerBody(character, body.stuck).character(lengths)


def _start(body: MarkerBody, bones: NDArray, told: Calibration, targets: NDArray) -> Poses:
    """Where to begin at every frame: between the poses of the calibration, shifted to where the markers are."""
    every = np.arange(len(targets))
    after = (
        np.clip(np.searchsorted(told.frames, every), 1, max(len(told.frames) - 1, 1))
        if len(told.frames) > 1
        else every * 0
    )
    if len(told.frames) == 1:
        poses = told.poses[np.zeros(len(targets), int)]
    else:
        first, last = told.frames[after - 1], told.frames[after]
        share = np.clip((every - first) / np.maximum(last - first, 1), 0.0, 1.0)
        a, b = told.poses[after - 1], told.poses[after]
        poses = Poses(
            a.root + share[:, None] * (b.root - a.root), rotation.slerp(a.rotations, b.rotations, share[:, None])
        )
    away = targets - see(body, bones, told.offsets, poses).places
    known = ~np.isnan(away[..., 0]).all(axis=1)
    shift = np.zeros((len(targets), 3))
    shift[known] = np.nanmedian(away[known], axis=1)
    return Poses(poses.root + shift, poses.rotations)


def _undo_swaps(body: MarkerBody, bones: NDArray, told: Calibration, poses: Poses, targets: NDArray) -> list[Swap]:
    """Put back markers that have each other's place; `targets` is changed."""
    places = see(body, bones, told.offsets, poses).places
    away = np.linalg.norm(targets - places, axis=-1)
    far = 2.0 * told.outlier
    swaps = []
    for frame in np.flatnonzero(np.any(away > far, axis=1)):
        odd = np.flatnonzero(away[frame] > far)
        gaps = np.linalg.norm(targets[frame][:, None] - places[frame][None], axis=-1)
        for a in odd:
            b = int(np.nanargmin(gaps[a]))
            if b == a or gaps[a, b] > SWAPPED:
                continue
            if np.isnan(gaps[b, a]):
                # the other one is hidden: what is called a is b
                targets[frame, b], targets[frame, a] = targets[frame, a], np.nan
            elif gaps[b, a] < 2.0 * SWAPPED and a < b:
                targets[frame, [a, b]] = targets[frame, [b, a]]
            else:
                continue
            swaps.append(Swap(int(frame), int(a), b))
    return swaps


def _bridge_gaps(body: MarkerBody, bones: NDArray, calibration: Calibration, poses: Poses, targets: NDArray) -> Poses:
    """Poses in which joints that no marker tells go from where they were told last to where they are told next."""
    seen = ~np.isnan(targets[..., 0])
    told = np.stack([_tells(body, row, seen) for row in range(len(body.active))], axis=1)
    if told.all():
        return poses
    rotations, root = np.array(poses.rotations), np.array(poses.root)
    every = np.arange(len(targets))
    sure = np.array(told)
    for row, joint in enumerate(body.active):
        # a foot on a shank that nothing tells has found its markers in some way, and not in the right one
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
    rows = np.flatnonzero(~told.all(axis=1))
    held = Prior(rotations[rows], np.where(told[rows], 1.0 / HELD, HELD))
    # a joint that its markers tell is drawn to nothing but them: its own pose is its prior, and hardly
    again = Poses(root[rows], rotations[rows])
    # a limb that was laid between two poses may be far from where its other markers are
    for outlier in (10.0 * OUTLIER, OUTLIER, calibration.outlier):
        again = solve_poses(
            body, bones, calibration.offsets, targets[rows], again,
            spread=calibration.skin, outlier=outlier, prior=held, iterations=8,
        )  # fmt: skip
    rotations, root = np.array(poses.rotations), np.array(poses.root)
    rotations[rows], root[rows] = again.rotations, again.root
    return Poses(root, rotations)


def _tells(body: MarkerBody, row: int, seen: NDArray) -> NDArray:
    """(F,) whether an active joint's turn is told: by markers of its own segment, or of the next one that has some.

    Two do, or all there are, or one with another on the segment beyond, which tells where the bone ends; and so do two
    of that segment alone.
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
