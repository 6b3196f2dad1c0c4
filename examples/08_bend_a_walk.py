"""Bend a straight walk: round a circle, along an S, and through any points; feet stay where they are set down."""

import footplant

clip = footplant.load("sample:walk", fps=60)  # or "walk.bvh", "run.fbx"
for name, curve in {"circle": "circle:1.5", "slalom": "s:5,1.5", "corner": "points:0,0;0,2;2,4"}.items():
    result = footplant.bend(clip, curve, from_start=True)
    before, after = result.report.before, result.report.after
    print(f"{name}: {result.status}")
    print(f"  feet would skate by {before.worst_plant.drift:.0f} mm; now {after.worst_plant.drift:.2f} mm")
    print("wrote", result.save(f"{name}.bvh"))
