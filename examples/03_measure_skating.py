"""Spoil a motion on purpose and see that the measures notice: the source's plants must hold."""

from dataclasses import replace

import numpy as np

import footplant
from footplant.quality.measure import measure

clip = footplant.load("sample:walk")

# the figure glides forward by 10 cm a second more than its feet step
glide = np.zeros((len(clip.motion), 3))
glide[:, 2] = 0.1 * np.arange(len(clip.motion)) / clip.motion.fps
skating = replace(clip, motion=replace(clip.motion, root=clip.motion.root + glide))

for label, quality in (("as made", measure(clip)), ("gliding", measure(skating, against=clip))):
    print(f"{label}: worst plant drifts {quality.worst_plant.drift:.2f} mm, {quality.share_under_5mm:.0%} under 5 mm")
assert measure(skating, against=clip).worst_plant.drift > 10.0
