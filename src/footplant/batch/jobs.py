"""What is done to one clip, in a worker: read, work, write, and say in plain numbers how it went."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from footplant.errors import FootplantError, FormatError

if TYPE_CHECKING:
    from footplant.clip import Clip
    from footplant.motion import Motion
    from footplant.problem import Solution
    from footplant.quality.measure import Quality
    from footplant.skeleton import Character


@dataclass(frozen=True)
class Task:
    """One clip's work, in words and numbers that any wire carries."""

    key: str
    """What it is of: the hash of input, character, parameters and version."""
    job: str
    """One of `JOBS`."""
    source: str
    """The input's file, or sample:NAME."""
    out: str | None = None
    """Where the result goes; None for jobs that only measure."""
    character: str | None = None
    """The file (or sample:NAME) of the character to put it on, for jobs that need one."""
    parameters: Mapping[str, Any] | None = None
    """Options of the job."""

    def to_dict(self) -> dict[str, Any]:
        """The task as JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class Job:
    """A kind of work."""

    summary: str
    """What it does, for people."""
    perform: Callable[[Task], dict[str, Any]]
    """Does it, and returns what is worth keeping of it."""
    suffix: str | None
    """The ending of what it writes unless another is asked for; "" keeps the input's; None: it writes nothing."""
    parameters: tuple[str, ...] = ()
    """Options that it takes."""
    needs_character: bool = False
    motion: bool = True
    """Whether what it writes is a motion file, whose format may be chosen."""


def perform(task: Task) -> dict[str, Any]:
    """Do a task; an input that cannot be worked on is an outcome with its reason, not an exception."""
    started = time.perf_counter()
    try:
        found = JOBS[task.job].perform(task)
        outcome = {"status": "done", **found}
    except FootplantError as error:
        outcome = {"status": "failed", "reason": " ".join(str(error).split())}
    except MemoryError:
        outcome = {"status": "failed", "reason": "ran out of the memory that one clip may take", "memory": True}
    except Exception as error:  # a defect of ours must cost one clip, not the batch
        outcome = {"status": "failed", "reason": f"unexpected {type(error).__name__}: {error}"[:500]}
    return {"key": task.key, **outcome, "seconds": round(time.perf_counter() - started, 4)}


def _load(task: Task) -> Clip:
    from footplant.io import holds_markers, load, load_markers

    if holds_markers(task.source):
        from footplant.optical.solve import solve

        clip = solve(load_markers(task.source)).clip
    else:
        clip = load(task.source)
    if not len(clip.motion):
        raise FormatError("expected a clip with frames, got none", path=task.source)
    return clip


@lru_cache(maxsize=4)
def _character(path: str) -> Character:
    from footplant.io import load_character

    return load_character(path)


def _write(task: Task, clip: Clip, motion: Motion, character: Character) -> None:
    from footplant.conversion import Conversion
    from footplant.io import save

    assert task.out is not None
    Path(task.out).parent.mkdir(parents=True, exist_ok=True)
    conversion = clip.conversion if character.skeleton is clip.character.skeleton else Conversion()
    save(
        task.out,
        replace(
            clip,
            motion=motion,
            character=character,
            others=(),
            takes=(),
            take=0,
            layout=None,
            notes=(),
            conversion=conversion,
        ),
    )


def _facts(clip: Clip, motion: Motion | None = None) -> dict[str, Any]:
    motion = motion or clip.motion
    return {"frames": len(motion), "fps": round(float(motion.fps), 4), "joints": len(motion.skeleton)}


def figures(quality: Quality | None) -> dict[str, float | int | None] | None:
    """The few measures of a clip that a library is judged by; millimetres, and ratios to the source."""
    if quality is None:
        return None
    skate, worst = quality.skate_speed, quality.worst_plant
    found = {
        "plants": len(quality.plants),
        "worst_drift": None if worst is None else worst.drift,
        "mean_drift": quality.mean_drift,
        "skate": None if skate is None else 1000.0 * skate,
        "penetration": quality.penetration_worst,
        "jerk": quality.smoothness.jerk,
        "jerk_ratio": quality.jerk_ratio,
        "acceleration_ratio": quality.peak_acceleration_ratio,
    }
    return {name: None if value is None else round(float(value), 4) for name, value in found.items()}


def _solved(clip: Clip, solution: Solution) -> dict[str, Any]:
    report = solution.report
    return {
        **_facts(clip, solution.motion),
        "solution": solution.status.name.lower(),
        "unmet": len(report.unmet),
        "before": figures(report.before),
        "after": figures(report.after),
        "notes": list(report.notes),
    }


def _retarget(task: Task) -> dict[str, Any]:
    from footplant.edits.retarget import retarget
    from footplant.solve.methods import method_of

    options = dict(task.parameters or {})
    clip, character = _load(task), _character(task.character or "")
    method = options.get("method", "hierarchical")
    solution = retarget(
        clip,
        character,
        keep_footsteps=options.get("keep_footsteps", False),
        method=None if method == "copy" else method_of(method),
        copy=method == "copy",
    )
    _write(task, clip, solution.motion, character)
    return _solved(clip, solution)


def _repair(task: Task) -> dict[str, Any]:
    from footplant.edits.repair import repair

    clip = _load(task)
    solution = repair(clip)
    _write(task, clip, solution.motion, clip.character)
    return _solved(clip, solution)


def _measure(task: Task) -> dict[str, Any]:
    from footplant.quality.measure import measure

    clip = _load(task)
    return {**_facts(clip), "after": figures(measure(clip))}


def _convert(task: Task) -> dict[str, Any]:
    from footplant.io import save

    clip = _load(task)
    assert task.out is not None
    Path(task.out).parent.mkdir(parents=True, exist_ok=True)
    save(task.out, clip)
    return _facts(clip)


def _contacts(task: Task) -> dict[str, Any]:
    import json

    from footplant.contacts.detection import find_contacts
    from footplant.io.atomic import write_atomic

    clip = _load(task)
    found = find_contacts(clip, hands=bool((task.parameters or {}).get("hands", False)))
    assert task.out is not None
    Path(task.out).parent.mkdir(parents=True, exist_ok=True)
    write_atomic(task.out, json.dumps({"file": task.source, "name": clip.name} | found.to_dict()) + "\n")
    return {**_facts(clip), "plants": len(found.plants)}


def _normalize(task: Task) -> dict[str, Any]:
    from footplant.constraints import to_data
    from footplant.edits.morphology_independent import plants_of
    from footplant.io import project

    clip = _load(task)
    assert task.out is not None
    Path(task.out).parent.mkdir(parents=True, exist_ok=True)
    plants = plants_of(clip)
    project.save_project(task.out, project.Project(((clip,),), tuple(to_data(plants, clip.character))), normalized=True)
    return {**_facts(clip), "plants": len(plants)}


def _thumbnail(task: Task) -> dict[str, Any]:
    from footplant.plot import strip

    assert task.out is not None
    strip(_load(task), task.out, poses=9, panels=False, dpi=45)
    return {}


JOBS: dict[str, Job] = {
    "retarget": Job(
        "put every clip on each character", _retarget, ".glb", ("method", "keep_footsteps"), needs_character=True
    ),
    "repair": Job("put right feet that skate, float or sink", _repair, ""),
    "measure": Job("judge every clip", _measure, None),
    "convert": Job("write every clip in another format", _convert, ".glb"),
    "contacts": Job("find the footplants of every clip", _contacts, ".json", ("hands",), motion=False),
    "normalize": Job(
        "take every figure's lengths out of its motion, plants kept", _normalize, ".footplant", motion=False
    ),
    "thumbnail": Job("draw every clip as a small picture", _thumbnail, ".png", motion=False),
}
"""Every job by its name."""
