"""Draw clips as pictures: poses, feet with their plants, joint angles. Needs matplotlib (extra "plot")."""

import footplant
from footplant import plot

clip = footplant.load("sample:walk")
print("wrote", plot.strip(clip, "walk.png"))

# the poses alone, as bones, a few of them
print("wrote", plot.strip(clip, "poses.png", poses=5, mesh=False, panels=False, title="Five moments of a walk"))
