"""Blend a walk and a run at a speed between them, feet locked."""

import footplant
from footplant.blending.blend import weights_for
from footplant.blending.registration import register

clips = [footplant.load("sample:walk", fps=30), footplant.load("sample:run", fps=30)]  # or "walk.bvh", "run.fbx"
registration = register(clips)  # corresponding times and steps; blend(clips, (0.5, 0.5)) finds them itself
weights = weights_for(registration, speed=2.0)
result = footplant.blend(registration, weights)
before, after = result.report.before, result.report.after
print(f"2 m/s is {weights[0]:.2f} of the walk and {weights[1]:.2f} of the run")
print(f"feet would skate by {before.worst_plant.drift:.0f} mm; now {after.worst_plant.drift:.2f} mm")
print("wrote", result.save("jog.glb"))
