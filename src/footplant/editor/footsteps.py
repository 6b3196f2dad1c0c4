"""Footsteps as objects: the plants of heel and ball of one stance, moved, turned and stretched as one foot.

Every change is a function from marks to marks; nothing is solved here. `conflicts` names what cannot hold, with edits
that would cure it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import Footplant
from footplant.constraints.fields import Fields
from footplant.contacts.ground import Ground
from footplant.editor.state import EditorState, Mark, plant_mark
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import errors

SHORTEST = 2
"""Fewest frames of a footplant."""
MET = 0.001
"""Metres from its place within which a footplant holds."""
FASTEST = 12.0
"""Body heights per second that a foot may need between two steps; a sprinter's foot reaches about 11."""
SAME_PLACE = 0.03
"""Metres between two steps of one foot that may touch in time: the foot stands where it stood."""
PHASES = ((0.0, 0.7), (0.15, 1.0))
"""Shares of a step's time in which heel and ball are down, for a foot without another step."""
LARGEST_MOVE = 100.0
"""Metres by which one edit may move a step."""


@dataclass(frozen=True, eq=False)
class Footstep:
    """One stance of a foot."""

    id: int
    side: str
    marks: tuple[Mark, ...]
    """Its footplants of heel and ball."""

    @property
    def start(self) -> int:
        """First frame of contact."""
        return min(mark.interval[0] for mark in self.marks)

    @property
    def end(self) -> int:
        """First frame after the contact."""
        return max(mark.interval[1] for mark in self.marks)

    @property
    def pivot(self) -> NDArray:
        """(3,) metres: the middle of its plants, about which it turns."""
        return np.mean([_place(mark) for mark in self.marks], axis=0)

    @property
    def title(self) -> str:
        """Its name for people."""
        return f"{self.side} step {self.start}–{self.end - 1}"

    def heading(self, names: Callable[[Mark], str]) -> float | None:
        """Return the direction from heel to ball about the vertical, radians; None with only one of them."""
        parts = {names(mark).rpartition("_")[2]: _place(mark) for mark in self.marks}
        if "heel" not in parts or "ball" not in parts:
            return None
        x, _, z = parts["ball"] - parts["heel"]
        return math.atan2(x, z)


def _place(mark: Mark) -> NDArray:
    return np.asarray(mark.constraint.place, float)  # type: ignore[attr-defined]


def footsteps(state: EditorState, marks: Sequence[Mark] | None = None) -> list[Footstep]:
    """Return the footsteps of a state in the order of their start."""
    names = {point: name for name, point in state.character.contacts.items()}
    groups: dict[int, list[Mark]] = {}
    for mark in state.marks if marks is None else marks:
        if mark.step >= 0 and isinstance(mark.constraint, Footplant) and mark.constraint.place is not None:
            groups.setdefault(mark.step, []).append(mark)
    found = [
        Footstep(number, names[group[0].constraint.point].partition("_")[0], tuple(group))  # type: ignore[attr-defined]
        for number, group in groups.items()
    ]
    return sorted(found, key=lambda step: (step.start, step.side))


def find_step(state: EditorState, edit: dict[str, Any], marks: Sequence[Mark] | None = None) -> Footstep:
    """Return the footstep that an edit refers to: by where it was (`at`), else by its number.

    When something earlier changes, footplants are detected anew and get other numbers; the place in time stays.
    """
    steps, at = footsteps(state, marks), edit.get("at")
    if isinstance(at, dict):
        side, start, end = at.get("foot"), int(at.get("start", 0)), int(at.get("end", 0))
        shared = [(min(step.end, end) - max(step.start, start), step) for step in steps if step.side == side]
        common, best = max(shared, key=lambda entry: entry[0], default=(0, None))
        if best is not None and common > 0:
            return best
        raise ConstraintError(f"expected a {side} step around frames {start}–{end - 1}, got none")
    number = Fields(edit, "", None).integer("id")
    found = next((step for step in steps if step.id == number), None)
    if found is None:
        raise ConstraintError(f"expected the number of an existing footstep, got {number}")
    return found


def change_step(edit: dict[str, Any], state: EditorState) -> tuple[Mark, ...]:
    """Return the marks after a footstep is moved, turned, shifted, stretched or released.

    move: metres (3,); turn: radians about the vertical; shift: frames by which all of it moves; onset, release: frames
    by which its start and its end move; lift: frames by which the heel is released later (earlier: negative); free:
    whether it may be anywhere as long as it does not slide; grounded: put it on the ground, whatever its height was.
    """
    fields = Fields(edit, "", None)
    step, frames = find_step(state, edit, state.asked), len(state.motion)
    move = fields.vector("move", 3, np.zeros(3))
    turn = fields.number("turn", 0.0)
    shift, onset, release, lift = (fields.integer(key, 0) for key in ("shift", "onset", "release", "lift"))
    heel = state.character.contacts.get(f"{step.side}_heel")
    if move is None or np.abs(move).max() > LARGEST_MOVE or abs(turn) > 100.0:
        raise ConstraintError(f"expected a step to move by at most {LARGEST_MOVE:g} m, got {move}")
    shift = min(max(shift, -step.start), frames - step.end)
    start = min(max(step.start + shift + onset, 0), frames - SHORTEST)
    end = min(max(step.end + shift + release, start + SHORTEST), frames)
    if onset or release:
        start = min(start, end - SHORTEST)
    changed = {}
    for mark in step.marks:
        low, high = mark.interval[0] + shift, mark.interval[1] + shift
        low, high = _stretched(low, high, (step.start + shift, step.end + shift), (start, end))
        if lift and _point_of(mark) == heel:
            high = max(min(high + lift, end), low + SHORTEST)
        place = _ground_place(_place(mark), step.pivot, move, turn, state.ground)
        if fields.flag("grounded", False):
            (place[1],) = _floor(state, [place])
        constraint = replace(mark.constraint, frames=range(low, high), place=place)  # type: ignore[call-arg]
        if "ramp" in fields:
            ramp = fields.vector("ramp", 2).tolist()
            constraint = replace(constraint, ramp=(min(max(ramp[0], 0.0), 5.0), min(max(ramp[1], 0.0), 5.0)))
        changed[mark.id] = replace(mark, constraint=constraint, free=fields.flag("free", mark.free))
    return tuple(changed.get(mark.id, mark) for mark in state.asked)


def _stretched(low: int, high: int, old: tuple[int, int], new: tuple[int, int]) -> tuple[int, int]:
    """Return the interval of a phase when its step is stretched: phases keep their distance from the end they follow.

    The onset moves with the step's start and the release with its end; a phase keeps at least `SHORTEST` frames.
    """
    low, high = low + new[0] - old[0], high + new[1] - old[1]
    low = min(max(low, new[0]), new[1] - SHORTEST)
    return low, max(min(high, new[1]), low + SHORTEST)


def _ground_place(place: NDArray, pivot: NDArray, move: NDArray, turn: float, ground: Ground | None) -> NDArray:
    """Return a plant's place after its foot is turned about its pivot and moved, as far above the ground as before."""
    x, y, z = place - pivot
    cos, sin = math.cos(turn), math.sin(turn)
    moved = pivot + move + [cos * x + sin * z, y, cos * z - sin * x]
    if ground is not None:
        before, after = (float(ground.height(np.asarray(at)[None, [0, 2]])[0]) for at in (place, moved))
        moved[1] += after - before
    return moved


def delete_step(edit: dict[str, Any], state: EditorState) -> tuple[Mark, ...]:
    """Return the marks without a footstep."""
    step = find_step(state, edit, state.asked)
    return tuple(mark for mark in state.asked if mark.step != step.id)


def split_step(edit: dict[str, Any], state: EditorState) -> tuple[tuple[Mark, ...], int]:
    """Return the marks with a footstep cut in two at a frame, and the next free number."""
    step, frame = find_step(state, edit, state.asked), Fields(edit, "", None).integer("frame")
    if not step.start + SHORTEST <= frame <= step.end - SHORTEST:
        raise ConstraintError(f"expected a frame inside the {step.title} to split it at, got {frame}")
    first, number, marks = -1, state.next_mark, []
    for mark in state.asked:
        low, high = mark.interval
        if mark.step != step.id or high <= frame:
            marks.append(mark)
            continue
        if low + SHORTEST <= frame:
            marks.append(_with_frames(mark, low, frame))
            start = min(frame, high - SHORTEST)
        else:
            start = max(low, frame)
        first = number if first < 0 else first
        marks.append(replace(_with_frames(mark, max(start, frame), max(high, frame + SHORTEST)), id=number, step=first))
        number += 1
    return tuple(marks), number


def _with_frames(mark: Mark, low: int, high: int) -> Mark:
    return replace(mark, constraint=replace(mark.constraint, frames=range(low, high)))


def join_steps(edit: dict[str, Any], state: EditorState) -> tuple[Mark, ...]:
    """Return the marks with a footstep and the next one of its foot joined: the foot stays where the first is."""
    step = find_step(state, edit, state.asked)
    later = [other for other in footsteps(state, state.asked) if other.side == step.side and other.start > step.start]
    if not later:
        raise ConstraintError(f"expected a later {step.side} step to join the {step.title} with, got none")
    other = later[0]
    ends = {_point_of(mark): mark.interval[1] for mark in other.marks}
    own = {_point_of(mark) for mark in step.marks}
    marks = []
    for mark in state.asked:
        if mark.step == other.id:
            if _point_of(mark) not in own:
                marks.append(replace(mark, step=step.id))
        elif mark.step == step.id:
            marks.append(_with_frames(mark, mark.interval[0], max(mark.interval[1], ends.get(_point_of(mark), 0))))
        else:
            marks.append(mark)
    return tuple(marks)


def _point_of(mark: Mark) -> Any:
    return getattr(mark.constraint, "point", None)


def add_step(edit: dict[str, Any], state: EditorState) -> tuple[tuple[Mark, ...], int]:
    """Return the marks with a new footstep of a foot over some frames, where the foot is; and the next number."""
    fields = Fields(edit, "", None)
    side = fields.choice("foot", ("left", "right"), "foot")
    start, end = fields.integer("start"), fields.integer("end")
    if not 0 <= start <= end - SHORTEST <= len(state.motion) - SHORTEST:
        raise ConstraintError(f"expected frames in order in 0..{len(state.motion)}, got {start} to {end}")
    names = [name for part in ("heel", "ball") if (name := f"{side}_{part}") in state.character.contacts]
    if not names:
        raise ConstraintError(f"expected a character with a {side} foot, got {state.character.name!r}")
    crossed = [s.title for s in footsteps(state, state.asked) if s.side == side and s.start < end and start < s.end]
    if crossed:
        raise ConstraintError(f"expected frames in which the {side} foot is free, got those of {', '.join(crossed)}")
    part = Kinematics(state.motion[start:end])
    middle, number, marks = (end - start) // 2, state.next_mark, list(state.asked)
    first = number
    places = [part.point(state.character.contacts[name])[middle] for name in names]
    model = _model_step(side, state)
    flat = _like(model, places, state) if model is not None and len(places) == 2 else None
    for n, (name, place, height) in enumerate(zip(names, places, _floor(state, places))):
        at = np.array([place[0], height, place[2]]) if flat is None else flat[n]
        # the heel comes down first and leaves first, as in the other steps
        share = PHASES[n] if model is None else model[1][n]
        low = start + round(share[0] * (end - start)) if len(names) == 2 else start
        high = max(start + round(share[1] * (end - start)), low + SHORTEST) if len(names) == 2 else end
        marks.append(plant_mark(number, name, state.character.contacts[name], (low, min(high, end)), at, first))
        number += 1
    return tuple(marks), number


def _model_step(side: str, state: EditorState) -> tuple[list[NDArray], list[tuple[float, float]]] | None:
    """Return places and phases (shares of its time) of heel and ball of a typical step of a foot; None without one."""
    known = [step for step in footsteps(state, state.asked) if step.side == side and len(step.marks) == 2]
    if not known:
        return None
    step = sorted(known, key=lambda step: step.end - step.start)[len(known) // 2]
    heel = state.character.contacts[f"{side}_heel"]
    marks = sorted(step.marks, key=lambda mark: _point_of(mark) != heel)
    length = step.end - step.start
    shares = [((m.interval[0] - step.start) / length, (m.interval[1] - step.start) / length) for m in marks]
    return [_place(mark) for mark in marks], shares


def _like(
    model: tuple[list[NDArray], list[tuple[float, float]]], places: Sequence[NDArray], state: EditorState
) -> list[NDArray]:
    """Return heel and ball of a foot at some places put down flat, like a step that is known."""
    old = model[0]
    turn = math.atan2(*(places[1] - places[0])[::2]) - math.atan2(*(old[1] - old[0])[::2])
    pivot, center = 0.5 * (old[0] + old[1]), 0.5 * (places[0] + places[1])
    move = np.array([center[0] - pivot[0], 0.0, center[2] - pivot[2]])
    return [_ground_place(place, pivot, move, turn, state.ground) for place in old]


def _floor(state: EditorState, places: Sequence[NDArray]) -> list[float]:
    """Return the height of the ground under some places, metres: the terrain, else the level of the footplants."""
    if state.ground is not None:
        return [float(state.ground.height(np.asarray(place)[None, [0, 2]])[0]) for place in places]
    known = [_place(mark)[1] for mark in state.asked if mark.step >= 0 and mark.constraint.place is not None]  # type: ignore[attr-defined]
    return [float(np.median(known)) if known else 0.0] * len(places)


def giving_way(state: EditorState, marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """Return the marks as they are solved: of two steps of a foot that overlap, the earlier lets go before the later.

    A foot cannot be in two places: solved as they are, both would pull it apart.
    """
    ends: dict[int, int] = {}
    for first, second in _neighbours(state, marks):
        if second.start < first.end and not _same_place(first, second):
            ends[first.id] = min(ends.get(first.id, first.end), second.start)
    found = []
    for mark in marks:
        low, high = mark.interval
        last = ends.get(mark.step, high) if mark.step >= 0 else high
        if last < high:
            if last - low < SHORTEST:
                continue
            mark = _with_frames(mark, low, last)
        found.append(mark)
    return tuple(found)


def _neighbours(state: EditorState, marks: Sequence[Mark]) -> list[tuple[Footstep, Footstep]]:
    steps = footsteps(state, marks)
    return [pair for side in ("left", "right") for pair in pairwise([step for step in steps if step.side == side])]


def _same_place(first: Footstep, second: Footstep) -> bool:
    """Return whether two steps hold each point that they share at the same place."""
    places = {_point_of(mark): _place(mark) for mark in first.marks}
    shared = [(places[_point_of(m)], _place(m)) for m in second.marks if _point_of(m) in places]
    return bool(shared) and all(math.dist(one, other) <= SAME_PLACE for one, other in shared)


def conflicts(state: EditorState) -> list[dict[str, Any]]:
    """Return what cannot hold: overlapping steps, steps that follow too fast, places out of reach.

    None before the motion is solved under its marks.
    Each is JSON-ready: `steps` (numbers), `marks` (numbers), `kind`, `text`, and `fixes`: labels with the edits that
    would cure it.
    """
    found: list[dict[str, Any]] = []
    if not state.held:
        return found
    for first, second in _neighbours(state, state.marks):
        found += _clash(first, second, state)
    kinematics = Kinematics(state.motion)
    solved = {mark.id: mark for mark in giving_way(state, state.marks)}
    for step in footsteps(state):
        found += _missed(step, [solved[mark.id] for mark in step.marks if mark.id in solved], kinematics, state)
    for mark in state.marks:
        if mark.step < 0:
            found += _missed_pin(mark, kinematics)
    return found


def _clash(first: Footstep, second: Footstep, state: EditorState) -> list[dict[str, Any]]:
    gap = second.start - first.end
    apart = float(np.linalg.norm(second.pivot - first.pivot))
    overlapping = gap < 0 and not _same_place(first, second)
    speed = apart / max((gap + 1) / state.motion.fps, 1e-9)
    too_fast = gap >= 0 and apart > SAME_PLACE and speed > FASTEST * max(state.character.height, 0.01)
    if not overlapping and not too_fast:
        return []
    swing = max(round(0.25 * state.motion.fps), 2)
    text = (
        f"the {first.title} overlaps the {second.title}: the foot cannot be in both places"
        if overlapping
        else f"from the {first.title} to the {second.title} the foot would need {speed:.0f} m/s"
    )
    fixes = []
    short, late = second.start - swing - first.end, first.end + swing - second.start
    if second.start - swing - first.start >= SHORTEST:
        fixes.append(_fix(f"End the first at {first.end + short - 1}", first, release=short))
    if second.end - second.start - late >= SHORTEST:
        fixes.append(_fix(f"Start the second at {second.start + late}", second, onset=late))
    if second.end + late <= len(state.motion):
        fixes.append(_fix(f"Shift the second by {late} frames", second, shift=late))
    fixes.append(_fix("Release the first", first, do="delete"))
    kind = "overlap" if overlapping else "fast"
    return [{"kind": kind, "steps": [first.id, second.id], "marks": [m.id for m in (*first.marks, *second.marks)],
             "text": text, "fixes": fixes}]  # fmt: skip


def _fix(label: str, step: Footstep, **values: Any) -> dict[str, Any]:
    at = {"foot": step.side, "start": step.start, "end": step.end}
    return {"label": label, "edit": {"kind": "step", "id": step.id, "at": at, **values}}


def _missed(step: Footstep, marks: Sequence[Mark], kinematics: Kinematics, state: EditorState) -> list[dict[str, Any]]:
    """Return the conflict of a step that is not where it should be; none if it holds."""
    worst, frame, away = 0.0, step.start, np.zeros(3)
    held: set[int] = set()
    bad: list[int] = []
    for mark in marks:
        rows, off = errors(mark.constraint, kinematics)
        held |= set(rows[off <= MET].tolist())
        bad += rows[off > MET].tolist()
        if off.size and off.max() > worst:
            worst, frame = float(off.max()), int(rows[off.argmax()])
            away = kinematics[np.array([frame])].point(_point_of(mark))[0] - _place(mark)
    if worst <= MET:
        return []
    fixes = [_fix("Release it", step, do="delete")]
    if not any(mark.free for mark in step.marks):
        fixes.append(_fix("Let it be anywhere, without sliding", step, free=True))
    flat = [float(away[0]), 0.0, float(away[2])]
    if math.hypot(*flat) > MET:
        fixes.insert(0, _fix(f"Step {1000 * math.hypot(*flat):.0f} mm nearer", step, move=flat))
    heel = next((m for m in marks if _point_of(m) == state.character.contacts.get(f"{step.side}_heel")), None)
    if heel is not None and len(marks) > 1 and heel.interval[0] + SHORTEST < min(bad) < heel.interval[1]:
        # heel and ball that are farther apart than the foot is long do not hold both
        lift = min(bad) - heel.interval[1] - max(round(0.05 * state.motion.fps), 1)
        lift = max(lift, heel.interval[0] + SHORTEST - heel.interval[1])
        fixes.insert(0, _fix(f"Lift the heel at {heel.interval[1] + lift}", step, lift=lift))
    good = [f for f in sorted(held) if step.start <= f < step.end]
    if good and good[-1] - good[0] + 1 >= SHORTEST and (good[0] > step.start or good[-1] + 1 < step.end):
        label = f"Hold it over {good[0]}–{good[-1]} only"
        fixes.append(_fix(label, step, onset=good[0] - step.start, release=good[-1] + 1 - step.end))
    text = f"the {step.title} is out of reach by {1000 * worst:.1f} mm at frame {frame}"
    return [{"kind": "reach", "steps": [step.id], "marks": [m.id for m in step.marks], "text": text, "fixes": fixes}]


def _missed_pin(mark: Mark, kinematics: Kinematics) -> list[dict[str, Any]]:
    constraint = mark.constraint
    if not constraint.hard or constraint.unit == "rad" or (mark.free and getattr(constraint, "place", None) is None):
        return []
    rows, off = errors(constraint, kinematics)
    if not off.size or off.max() <= max(constraint.tolerance or 0.0, MET):
        return []
    text = f"{constraint.title} is out of reach by {1000 * float(off.max()):.1f} mm at frame {int(rows[off.argmax()])}"
    fix = {"label": "Release it", "edit": {"kind": "remove", "id": mark.id}}
    return [{"kind": "reach", "steps": [], "marks": [mark.id], "text": text, "fixes": [fix]}]


def broken_limits(state: EditorState, motion: Motion) -> NDArray:
    """Return (F, J) bool: joints beyond their limits that were within them in the clip; all false without limits."""
    from footplant import humanoid

    character = state.character
    if character.limits is None or character.roles is None or len(motion) != len(state.clip.motion):
        return np.zeros((len(motion), len(character.skeleton)), bool)
    before, after = (humanoid.limit_violations(character, m.rotations) for m in (state.clip.motion, motion))
    return (after > 1e-3) & (after > before + 1e-3)
