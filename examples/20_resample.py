"""Another frame rate, with the footplants kept: 120 to 24 frames a second and back."""

import footplant

clip = footplant.load("sample:run")
slow = footplant.resample(clip, 24)  # or footplant.load("run.bvh", fps=24)
fast = footplant.resample(slow, 120)
for result in (slow, fast):
    print(result.motion, *result.report.worst_drifts(), *result.report.notes)
print("wrote", fast.save("run_120.bvh"))
