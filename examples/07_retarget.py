"""Put a motion on other characters: feet stay planted where the source's did, or where the legs take them."""

from dataclasses import replace

import footplant
from footplant.edits.retarget import retarget
from footplant.io import load_character

clip = footplant.load("sample:walk")  # or "walk.bvh", "take.fbx"
clip = replace(clip, motion=clip.motion[:260])

for name in ("sally", "blubby"):
    target = load_character(f"sample:{name}")  # or "hero.glb", "avatar.vrm"
    solution = retarget(clip, target, keep_footsteps=name == "sally")
    print(f"{name}: {solution.status.value}")
    for measure, copied, ours in solution.report.comparison()[:3]:
        print(f"  {measure}: {copied:.2f} with rotations copied, {ours:.2f} retargeted")
    print("wrote", footplant.save(f"{name}.glb", solution.motion, character=target))
