"""The jobs that a worker performs on one clip: load, process, save, and report measures."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from footplant.atomic import is_disk_full
from footplant.errors import FootplantError, FormatError
from footplant.io.registry import is_robot

if TYPE_CHECKING:
    from footplant.clip import Clip
    from footplant.edits.robot import RobotResult
    from footplant.mechanism.body import RobotBody
    from footplant.mechanism.motion import RobotMotion
    from footplant.quality.measure import Quality
    from footplant.quality.robot import RobotQuality
    from footplant.result import Result
    from footplant.skeleton import Character

HASH = "hash"
"""The job that tells inputs apart by their bytes; the driver gives it to workers by itself."""


@dataclass(frozen=True)
class Task:
    """The work on one clip, in JSON-serialisable values."""

    key: str
    """Hash of input, character, parameters and version."""
    job: str
    """One of `JOBS`."""
    source: str
    """The input file, or sample:NAME."""
    out: str | None = None
    """Path of the result; None for jobs that only measure."""
    character: str | None = None
    """The target character's file (or sample:NAME), for jobs that need one."""
    parameters: Mapping[str, Any] | None = None
    """Options of the job."""
    reading: Mapping[str, Any] | None = None
    """Options for reading the input; some are decided for its whole folder."""

    def to_dict(self) -> dict[str, Any]:
        """Return the task as a JSON-ready dict."""
        return asdict(self)


@dataclass(frozen=True)
class Job:
    """A kind of job."""

    summary: str
    """What it does, for help texts."""
    perform: Callable[[Task], dict[str, Any]]
    """Does it, and returns the facts to record."""
    suffix: str | None
    """Default extension of its results; "" keeps the input's; None: it writes nothing."""
    parameters: tuple[str, ...] = ()
    """Names of its options."""
    needs_character: bool = False
    robots: bool = False
    """Whether it takes motions of a robot, with the robot as its character."""
    motion: bool = True
    """Whether its results are motion files, whose format can be chosen."""


def perform(task: Task) -> dict[str, Any]:
    """Perform a task; an input that cannot be processed gives an outcome with a reason, not an exception."""
    started = time.perf_counter()
    try:
        found = JOBS[task.job].perform(task)
        outcome = {"status": "done", **found}
    except (FootplantError, OSError) as error:
        # a full disk is no fault of the clip: the driver stops
        full = {"full": True} if is_disk_full(error) else {}
        outcome = {"status": "failed", "reason": " ".join(str(error).split()), **full}
    except MemoryError:
        outcome = {"status": "failed", "reason": "exceeded the memory limit of one clip", "memory": True}
    except Exception as error:  # a bug must cost one clip, not the batch
        outcome = {"status": "failed", "reason": f"unexpected {type(error).__name__}: {error}"[:500]}
    return {"key": task.key, **outcome, "seconds": round(time.perf_counter() - started, 4)}


def _load(task: Task) -> Clip:
    """Load the input, wherever it is; markers are solved for a motion."""
    from footplant.batch.remote import local

    with local(task.source) as path:
        return _load_file(path, task)


def _load_file(path: str, task: Task) -> Clip:
    """Load a file of this machine with the task's options."""
    from footplant.io import holds_markers, load, load_markers

    if holds_markers(path):
        from footplant.optical.solve import solve_markers

        options = dict(task.reading or {})
        subject, fps = options.pop("figure", None), options.pop("fps", None)
        clip = solve_markers(load_markers(path, **options), subject=subject).clip
        clip = clip if fps is None else replace(clip, motion=clip.motion.resample(fps))
    else:
        clip = load(path, **(task.reading or {}))
    if not len(clip.motion):
        raise FormatError("expected a clip with frames, got none", path=task.source)
    return clip


@lru_cache(maxsize=4)
def _character(path: str, skeleton: str | None) -> Character:
    """Load the character that motions are put on; skeleton: the file with the bones of one that has parameters only."""
    from footplant.io import format_of, load_character

    takes = not path.startswith("sample:") and "skeleton" in signature(format_of(path).load).parameters
    return load_character(path, **({"skeleton": skeleton} if skeleton is not None and takes else {}))


def _facts(clip: Clip | Result) -> dict[str, Any]:
    """Return length, frame rate and joint count."""
    motion = clip.motion
    return {"frames": len(motion), "fps": round(float(motion.fps), 4), "joints": len(motion.skeleton)}


def key_measures(quality: Quality | None) -> dict[str, float | int | None] | None:
    """Return the few measures that summarise a clip: millimetres, mm/s, and ratios to the source."""
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


def _written(task: Task, result: Result) -> dict[str, Any]:
    """Save the result of an edit, and return the facts to record about it."""
    assert task.out is not None
    Path(task.out).parent.mkdir(parents=True, exist_ok=True)
    result.save(task.out)
    report = result.report
    return {
        **_facts(result),
        "solution": result.status.value,
        "unmet": len(report.unmet),
        "before": key_measures(report.before),
        "after": key_measures(report.after),
        "notes": list(report.notes),
    }


@lru_cache(maxsize=4)
def _robot(path: str) -> RobotBody:
    """Load the robot that motions are put on."""
    from footplant.edits.robot import as_robot

    return as_robot(path)


def _retarget_to_robot(task: Task) -> dict[str, Any]:
    from footplant.edits.robot import retarget_robot

    # resampled after a T-pose before the motion is cut off
    reading = dict(task.reading or {})
    fps = reading.pop("fps", None)
    keep = bool((task.parameters or {}).get("keep_footsteps", False))
    robot = _robot(task.character or "")
    return _written_robot(
        task, retarget_robot(_load(replace(task, reading=reading)), robot, fps=fps, keep_footsteps=keep)
    )


def _repair_robot(task: Task) -> dict[str, Any]:
    from footplant.edits.robot import judge_robot, repair_robot

    robot, motion = _robot(task.character or ""), _robot_motion(task)
    return {"before": robot_measures(judge_robot(motion, robot))} | _written_robot(task, repair_robot(motion, robot))


def _measure_robot(task: Task) -> dict[str, Any]:
    from footplant.edits.robot import judge_robot

    robot, motion = _robot(task.character or ""), _robot_motion(task)
    quality = judge_robot(motion, robot)
    return _robot_facts(motion) | {"after": robot_measures(quality), "robot": quality.to_dict()}


def _robot_motion(task: Task) -> RobotMotion:
    """Load the motion of a robot, of any tool."""
    from footplant.batch.remote import local
    from footplant.io.robot_files import load_robot

    with local(task.source) as path:
        return load_robot(path, _robot(task.character or "").mechanism, fps=(task.reading or {}).get("fps"))


def _robot_facts(motion: RobotMotion) -> dict[str, Any]:
    """Return length, frame rate and joint count."""
    return {"frames": len(motion), "fps": round(float(motion.fps), 4), "joints": len(motion.mechanism.joints)}


def robot_measures(quality: RobotQuality) -> dict[str, float | int | None]:
    """Return the few measures that summarise a robot's motion, as `key_measures` does."""
    found = {
        "plants": quality.plants, "worst_drift": quality.worst_drift, "mean_drift": quality.mean_drift,
        "skate": None, "penetration": quality.deepest, "jerk": quality.jerk, "jerk_ratio": None,
        "acceleration_ratio": None,
    }  # fmt: skip
    return {name: None if value is None else round(float(value), 4) for name, value in found.items()}


def _written_robot(task: Task, made: RobotResult) -> dict[str, Any]:
    """Save a robot's motion, and return the facts to record about it."""
    assert task.out is not None
    Path(task.out).parent.mkdir(parents=True, exist_ok=True)
    made.save(task.out)
    return _robot_facts(made.motion) | {
        "solution": made.status.value, "unmet": len(made.report.unmet), "after": robot_measures(made.quality),
        "robot": made.quality.to_dict(), "notes": list(made.report.notes),
    }  # fmt: skip


def _retarget(task: Task) -> dict[str, Any]:
    from footplant.edits.retarget import retarget

    if is_robot(task.character or ""):
        return _retarget_to_robot(task)
    options = dict(task.parameters or {})
    character, keep = (
        _character(task.character or "", (task.reading or {}).get("skeleton")),
        options.get("keep_footsteps", False),
    )
    method, lead_in = options.get("method"), options.get("lead_in", "keep")
    return _written(task, retarget(_load(task), character, keep_footsteps=keep, method=method, lead_in=lead_in))


def _repair(task: Task) -> dict[str, Any]:
    from footplant.edits.repair import repair

    if task.character is not None:
        return _repair_robot(task)
    return _written(task, repair(_load(task)))


def _measure(task: Task) -> dict[str, Any]:
    from footplant.quality.measure import measure

    if task.character is not None:
        return _measure_robot(task)
    clip = _load(task)
    return {**_facts(clip), "after": key_measures(measure(clip))}


def _convert(task: Task) -> dict[str, Any]:
    from footplant.io import save

    clip = _load(task)
    assert task.out is not None
    Path(task.out).parent.mkdir(parents=True, exist_ok=True)
    save(task.out, clip)
    return _facts(clip)


def _contacts(task: Task) -> dict[str, Any]:
    import json

    from footplant.atomic import write_atomic
    from footplant.contacts.detection import find_contacts

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


def _hash(task: Task) -> dict[str, Any]:
    """Return stamp and hash of every input of a list, or why one cannot be read."""
    from footplant.batch.remote import hash_of, stamp_of

    found: dict[str, Any] = {}
    for source in (task.parameters or {})["sources"]:
        try:
            found[source] = {"stamp": list(stamp_of(source)), "hash": hash_of(source)}
        except FormatError as error:
            found[source] = {"reason": " ".join(str(error).split())}
    return {"digests": found}


def _thumbnail(task: Task) -> dict[str, Any]:
    from footplant.plot import strip

    assert task.out is not None
    strip(_load(task), task.out, poses=9, panels=False, dpi=45)
    return {}


JOBS: dict[str, Job] = {
    "retarget": Job(
        "retarget every clip to each character",
        _retarget,
        ".glb",
        ("method", "keep_footsteps", "lead_in"),
        needs_character=True,
    ),
    "repair": Job("fix foot skating, floating and ground penetration", _repair, "", robots=True),
    "measure": Job("measure the quality of every clip", _measure, None, robots=True),
    "convert": Job("write every clip in another format", _convert, ".glb"),
    "contacts": Job("detect the footplants of every clip", _contacts, ".json", ("hands",), motion=False),
    "normalize": Job(
        "convert every clip to a morphology-independent motion with its footplants",
        _normalize,
        ".footplant",
        motion=False,
    ),
    "thumbnail": Job("draw every clip as a small picture", _thumbnail, ".png", motion=False),
    HASH: Job("hash inputs, before anything is done with them", _hash, None, ("sources",)),
}
"""All jobs by name."""
