"""Computer puppetry on a clip: the live engine, frame by frame, without looking ahead.

H. J. Shin, "An importance-based approach for computer puppetry" (KAIST 2002). It detects no footplants and smooths
nothing over time; the importance of each end effector follows from its distance to scene and body. The report is that
of `retarget`, so that the two can be compared.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.clip import Clip
from footplant.contacts.detection import Contacts
from footplant.contacts.ground import Ground
from footplant.contacts.importance import PerformanceScene, SceneObject
from footplant.contacts.stillness import lead_in_frames
from footplant.errors import MotionError
from footplant.feet.detached import attach_feet, detach_feet
from footplant.feet.lead_in import contacts_after_lead_in, join_lead_in, lead_in_note
from footplant.feet.palms import without_idle_palms
from footplant.feet.stage import Stage, with_plausible_floor
from footplant.geometry import HeightField, Plane
from footplant.kinematics import Kinematics
from footplant.problem import Problem, Progress, Stopwatch
from footplant.quality.measure import measure_each
from footplant.result import CharacterSource, ClipSource, Result, as_character, as_clip
from footplant.solve.ik.puppet import PuppetEngine
from footplant.transfer import source_motion, transfer

PUPPET = "puppet"
"""Its name on the command line, beside those of `footplant.solve.methods`."""
CELL_SIZE, MAX_CELLS = 0.1, 40_000
"""Metres between grid points of an uneven ground; and how many grid points there may be, before cells grow."""


def puppet(
    clip: ClipSource,
    target: CharacterSource,
    *,
    scene: PerformanceScene | None = None,
    things: NDArray | None = None,
    keep_footsteps: bool = False,
    contacts: Contacts | None = None,
    progress: Progress | None = None,
) -> Result:
    """Return the clip's motion on another character as the live puppet engine plays it.

    scene: what the performer may touch; None: the ground estimated from the clip's footplants. things: (F, O, 7) the
    motion of the scene's objects (see `PuppetEngine.play`). keep_footsteps: both characters share one world; otherwise
    the target's is scaled with the leg length. contacts: the clip's contacts if they are already known; they are used
    only to measure the result. A T-pose before the motion is kept as copied, on the ground: the jump at its end is no
    acceleration of the performer (one of 11,000 m/s² allows any other).
    """
    clip, target = as_clip(clip, humanoid=True), as_character(target)
    if not len(clip.motion):
        raise MotionError(f"expected a clip with frames to play, got none in {clip.name!r}")
    whole = attach_feet(target)
    if whole is not target:
        made = puppet(clip, whole, scene=scene, things=things, keep_footsteps=keep_footsteps, contacts=contacts)
        return detach_feet(made, target)
    recorded, clip = clip, replace(clip, motion=source_motion(clip.motion, clip.character, target))
    lead = lead_in_frames(clip)
    contacts = contacts_after_lead_in(contacts, clip, lead, hands=True)
    contacts = with_plausible_floor(without_idle_palms(contacts, clip.character.height), clip, lead)
    stage = Stage.of(clip, target, contacts, keep_footsteps)
    scene = PerformanceScene((SceneObject(as_shape(contacts.ground, clip), "ground"),)) if scene is None else scene
    copied = transfer(clip.motion, clip.character, target, stride=stage.scale, rise=stage.scale, about=stage.start)
    if progress:
        progress("every frame", 0.0)
    watch = Stopwatch(Problem(copied, target))
    engine = PuppetEngine(clip.character, target, scene, scale=1.0 if keep_footsteps else None, about=stage.start)
    played = engine.play(clip.motion[lead:], things if things is None or len(things) == 1 else things[lead:])
    motion = join_lead_in(copied[:lead], played.motion, target, stage.ground)
    watch.lap("every frame", motion)
    busy = int((played.iterations > 0).sum())
    notes = (f"the trunk posture was solved at {busy} of {len(clip.motion)} frames",) if busy else ()
    notes += (lead_in_note(lead, "keep"),) if lead else ()
    solution = watch.finish(PUPPET, motion, notes=notes)
    judged = (clip.motion, clip.character, contacts)
    before, after = measure_each((copied, motion), target, contacts, against=judged, ground=stage.ground)
    solution = replace(solution, report=replace(solution.report, before=before, after=after))
    return Result.of(clip, solution, target, source=recorded, unsolved=copied, ground=stage.ground)


def as_shape(ground: Ground, clip: Clip) -> Plane | HeightField:
    """Return a ground as a scene shape: a plane unchanged, anything else as a height field below the motion."""
    if isinstance(ground, Plane | HeightField):
        return ground
    places = Kinematics(clip.motion).positions[..., ::2]
    low, high = places.min(axis=(0, 1)) - 1.0, places.max(axis=(0, 1)) + 1.0
    spacing = max(CELL_SIZE, float(np.sqrt(np.prod(high - low) / MAX_CELLS)))
    size = np.ceil((high - low) / spacing).astype(int) + 1
    grid = np.stack(np.meshgrid(*(low[k] + spacing * np.arange(size[k]) for k in range(2)), indexing="ij"), axis=-1)
    return HeightField(ground.height(grid), spacing, (float(low[0]), float(low[1])), "linear")
