"""Random footstep edits in the editor: moved, turned, stretched, shifted over one another, on eight clips.

After each edit the report must be that of the motion on the page, each footplant must hold within 1 mm or be part of a
named conflict, and no joint limit may be broken that the clip keeps.

python benchmarks/footstep_edits.py [EDITS]
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path

import numpy as np

from footplant import samples
from footplant.constraints import Footplant
from footplant.editor import scene
from footplant.editor.footsteps import broken_limits, footsteps
from footplant.editor.session import Session, start
from footplant.kinematics import Kinematics

CLIPS = ("walk", "run", "sneak", "limp", "turn-left", "start", "kick", "climb")
HELD = 1.0
"""Millimetres from its place within which a footplant holds."""


def random_edit(chance: random.Random, session: Session) -> dict:
    """Return an edit of a random footstep."""
    state = session.state
    step = chance.choice(footsteps(state))
    height, fps = state.character.height, state.motion.fps
    made: dict = {"kind": "step", "id": step.id}
    what = chance.choice(("move", "move", "turn", "stretch", "shift", "overlap"))
    if what == "move":
        away = height * chance.choice((0.03, 0.1, 0.25))
        angle = chance.uniform(0.0, 2.0 * np.pi)
        made["move"] = [away * float(np.cos(angle)), 0.0, away * float(np.sin(angle))]
    elif what == "turn":
        made["turn"] = chance.uniform(-0.7, 0.7)
    elif what == "stretch":
        made["onset"], made["release"] = (round(chance.uniform(-0.1, 0.1) * fps) for _ in range(2))
    else:
        made["shift"] = round(chance.uniform(-1.0, 1.0) * (0.6 if what == "overlap" else 0.12) * fps)
    return made


def check(session: Session) -> list[str]:
    """Return what is wrong after an edit."""
    state, told = session.state, scene.document(session)
    wrong = []
    named = {number for conflict in told["conflicts"] for number in conflict["marks"]}
    kinematics = Kinematics(state.motion)
    for mark in state.marks:
        if not isinstance(mark.constraint, Footplant):
            continue
        low, high = mark.interval
        track = kinematics[np.arange(low, high)].point(mark.constraint.point)
        off = 1000.0 * float(np.linalg.norm(track - np.asarray(mark.constraint.place), axis=1).max())
        if off > HELD and mark.id not in named:
            wrong.append(f"{mark.constraint.title} is off by {off:.1f} mm, and nothing says so")
    if state.report is None or told["report"] is None:
        wrong.append("no report")
    elif (told["report"]["status"] == "solved") != (not told["conflicts"]):
        wrong.append(f"the report says {told['report']['status']} with {len(told['conflicts'])} conflicts")
    broken = broken_limits(state, state.motion)
    if broken.any():
        wrong.append(f"{int(broken.sum())} joint limits broken that were kept before")
    return wrong


def run(edits: int = 200, clips: tuple[str, ...] = CLIPS, seed: int = 1, frames: int | None = None) -> dict[str, float]:
    """Return how many edits were made, how many ended in conflicts or wrong, and the seconds that they took."""
    from dataclasses import replace

    chance, counts, spent = random.Random(seed), {"edits": 0, "conflicts": 0, "wrong": 0}, []
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(clips):
            clip = samples.load(name)
            clip = replace(clip, motion=clip.motion[: frames or len(clip.motion)])
            session = start(clip, f"sample:{name}", Path(folder))
            for turn in range(edits * (number + 1) // len(clips) - edits * number // len(clips)):
                if turn % 5 == 0:
                    session.go(0)
                edit, started = random_edit(chance, session), time.perf_counter()
                session.do(edit)
                spent.append(time.perf_counter() - started)
                wrong = check(session)
                counts["edits"] += 1
                counts["conflicts"] += bool(scene.document(session)["conflicts"])
                counts["wrong"] += bool(wrong)
                for text in wrong:
                    print(f"{name}, edit {turn}, {edit}: {text}")
            session.journal.close()
    return {**counts, "median_seconds": float(np.median(spent)), "slowest_seconds": float(np.max(spent))}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("edits", nargs="?", type=int, help="how many edits are made (default: 200)")
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    options = parser.parse_args()
    figures = run() if options.edits is None else run(options.edits)
    print(json.dumps(figures) if options.json else figures)
