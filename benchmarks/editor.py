"""The editor: one step of a drag as the server solves it, and how soon a long clip is on the page."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from timing import cpu_seconds, main

FRAMES, JOINTS, LONG = 464, 31, 13_350
"""Frames and joints of the clip that is dragged, and frames of a long take of a capture library."""


def run() -> dict[str, float]:
    """One step of a drag of 464 frames and 31 joints, and the opening of 13,350 frames, seconds of CPU."""
    from footplant import samples
    from footplant.editor import scene, wire
    from footplant.editor.actions import ready
    from footplant.editor.session import start
    from footplant.kinematics import Kinematics

    walk = with_joints(samples.load("walk"), JOINTS)
    palm = walk.character.contacts["left_palm"]
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for label, motion in (("30_fps", walk.motion.looped(4).resample(30.0)), ("120_fps", walk.motion)):
            session = start(replace(walk, motion=motion[:FRAMES]), "sample:walk", Path(folder))
            begun = ready(session.state)
            frame = FRAMES // 2
            place = Kinematics(begun.motion[frame]).point(palm)[0] + [0.1, 0.25, 0.1]
            spent = []
            for number in range(25):
                started = time.process_time()
                made = begun.drag(frame, palm, place + [0.0, 0.002 * number, 0.0])
                solved = time.process_time()
                wire.encode_poses(Kinematics(made.motion[frame - 112 : frame + 112]), frame - 112, wire.CURRENT, number)
                if number >= 5:
                    spent.append((solved - started, time.process_time() - solved))
            figures[f"editor.drag_seconds_{label}"] = statistics.median(solve for solve, _ in spent)
            figures[f"editor.patch_seconds_{label}"] = statistics.median(patch for _, patch in spent)
            session.journal.close()
        long = replace(walk, motion=walk.motion.looped(30)[:LONG])

        def open_it() -> None:
            session = start(long, "sample:walk", Path(folder))
            scene.figure(session)
            for first in range(0, LONG, 2000):
                wire.encode_poses(Kinematics(long.motion[first : first + 2000]), first, wire.CURRENT, 0)
            scene.document(session)
            session.journal.close()

        open_it()
        figures["editor.open_13350_frames_seconds"] = cpu_seconds(open_it, repeats=3)
    return figures


def with_joints(clip, count: int):
    """The clip on a figure with more joints: fingers that do not move, as captures have them."""
    from footplant import rotation
    from footplant.skeleton import Limits

    character, motion = clip.character, clip.motion
    skeleton, extra = character.skeleton, count - len(character.skeleton)
    hands = [character.roles["left_hand"], character.roles["right_hand"]]
    offsets = np.tile([0.0, -0.03, 0.0], (extra, 1))
    skeleton = replace(
        skeleton,
        names=(*skeleton.names, *(f"Finger{n}" for n in range(extra))),
        parents=np.concatenate([skeleton.parents, [hands[n % 2] for n in range(extra)]]),
        offsets=np.concatenate([skeleton.offsets, offsets]),
        rest=np.concatenate([skeleton.rest, rotation.identity(extra)]),
    )
    fingers = np.broadcast_to(rotation.identity(extra), (len(motion), extra, 4))
    limits = character.limits
    wide = np.full((extra, 3), np.inf)
    grown = replace(
        character,
        skeleton=skeleton,
        skin=None,
        source=None,
        masses=np.concatenate([character.masses, np.zeros(extra)]),
        mass_centers=np.concatenate([character.mass_centers, np.zeros((extra, 3))]),
        limits=Limits(np.concatenate([limits.lower, -wide]), np.concatenate([limits.upper, wide])),
    )
    moved = replace(motion, skeleton=skeleton, rotations=np.concatenate([motion.rotations, fingers], axis=1))
    return replace(clip, character=grown, motion=moved)


if __name__ == "__main__":
    main(run)
