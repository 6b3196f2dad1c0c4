"""Bend a straight walk: round a circle, along an S, and through any points; feet stay where they are set down."""

from dataclasses import replace

import footplant
from footplant import curves
from footplant.edits.path import path

clip = footplant.load("sample:walk")  # or "walk.bvh", "run.fbx"
clip = replace(clip, motion=clip.motion.resample(60.0))

for name, curve in (
    ("circle", curves.circle(1.5)),
    ("slalom", curves.s_curve(length=5.0, width=1.5)),
    ("corner", curves.through([(0, 0), (0, 2), (2, 4)])),
):
    solution = path(clip, curve, from_start=True)
    before, after = solution.report.before, solution.report.after
    print(f"{name}: {solution.status.value}")
    print(f"  feet would slide by {before.worst_plant.drift:.0f} mm; they do by {after.worst_plant.drift:.2f} mm")
    print("wrote", footplant.save(f"{name}.bvh", solution.motion, character=clip.character))
