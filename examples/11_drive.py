"""Drive a character through a script: gaits that blend in phase, actions between them."""

import footplant
from footplant.live.controller import build_controller
from footplant.live.motion_set import load_set
from footplant.live.script import drive

spec = load_set("set:samples")
controller = build_controller(spec, {name: footplant.load(name) for name in spec.clips()})
done = drive(controller, "walk 1s, run 2s left, kick, sneak 1s", fps=30.0)
for seconds, request in done.requests:
    print(f"{seconds:.1f} s: {request}")
print("wrote", footplant.save("driven.glb", done.motion, character=controller.character))
