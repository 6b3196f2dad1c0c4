"""Foot-skate cleanup: feet that skate are planted, and the rest of the motion hardly changes."""

from dataclasses import replace

import footplant

clip = footplant.load("sample:walk", fps=60)
skating = replace(clip.motion, root=clip.motion.root * [1.0, 1.0, 1.15])  # travels farther than its steps
bad = replace(clip, motion=skating)  # or "capture.fbx"
result = footplant.repair(bad)
print(result)
for note in result.report.notes:
    print(note)
print("wrote", result.save("clean.bvh"))
