"""Blend a walk and a run at a speed between them, then drive a character through a script."""

import footplant
from footplant.blending.blend import blend, weights_for
from footplant.blending.registration import register
from footplant.live.controller import build_controller
from footplant.live.motion_set import load_set
from footplant.live.script import drive

clips = [footplant.load("sample:walk"), footplant.load("sample:run")]  # or "walk.bvh", "run.fbx"
registration = register(clips)
weights = weights_for(registration, speed=2.0)
solution = blend(registration, weights, fps=30.0)
before, after = solution.report.before, solution.report.after
print(f"2 m/s is {weights[0]:.2f} of the walk and {weights[1]:.2f} of the run")
print(f"feet would slide by {before.worst_plant.drift:.0f} mm; now {after.worst_plant.drift:.2f} mm")
print("wrote", footplant.save("jog.glb", solution.motion, character=registration.character))

spec = load_set("set:samples")
controller = build_controller(spec, {name: footplant.load(name) for name in spec.clips()})
done = drive(controller, "walk 1s, run 2s left, kick, sneak 1s", fps=30.0)
for seconds, request in done.requests:
    print(f"{seconds:.1f} s: {request}")
print("wrote", footplant.save("driven.glb", done.motion, character=controller.character))
