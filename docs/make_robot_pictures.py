"""Draw docs/robots.png: four robots that walk, get up and climb stairs; run beside shared/data (robots and clips)."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import footplant
from footplant.edits.robot import as_robot, retarget_robot
from footplant.mechanism.solids import spanning_points

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("FOOTPLANT_SHARED_DATA") or HERE.parents[1] / "shared" / "data")
ROBOTS = {
    "Unitree G1": "unitree_g1/g1.xml", "Unitree H1": "unitree_h1/h1.xml", "Booster T1": "booster_t1.xml",
    "MuJoCo humanoid": "mujoco_humanoid.xml",
}  # fmt: skip
CLIPS = {
    "walk": ("35_01", (8, 20, 32, 44, 56, 68), None),
    "get up": ("111_03", (10, 130, 180, 230, 280, 330), None),
    "stairs": ("35_01", (4, 22, 40, 58, 76), "stairs:0.08:0.3"),
}  # fmt: skip
LIMBS = (("hip", "knee"), ("knee", "ankle"), ("shoulder", "elbow"), ("elbow", "wrist"))
COLOURS = {"left": "#2b6cb0", "right": "#c05621"}


def draw(axes, body, states, shift: float) -> None:
    """Draw one pose, moved along the page."""
    at, turn = body.links.pose(states[None])

    def place(link, point):
        x, _, z = at[0, link] + turn[0, link] @ np.asarray(point)
        return x + shift, z

    for solid in body.mechanism.solids:
        link, points, radius = spanning_points(solid, body.links)
        flat = np.array([place(link, point) for point in points])
        round_ = np.array([[np.cos(a), np.sin(a)] for a in np.linspace(0, 2 * np.pi, 13)])
        cloud = (flat[:, None] + max(radius, 1e-3) * round_).reshape(-1, 2)
        from scipy.spatial import ConvexHull

        outline = cloud[ConvexHull(cloud).vertices]
        axes.fill(*outline.T, color="#a0aec0", alpha=0.35, lw=0)
    for side, colour in COLOURS.items():
        for above, below in LIMBS:
            ends = [body.centers[f"{side}_{name}"] for name in (above, below)]
            axes.plot(*zip(*(place(end.link, end.place) for end in ends)), color=colour, lw=2.2, solid_capstyle="round")
        sole = body.soles[side]
        ankle = body.centers[f"{side}_ankle"]
        foot = [place(ankle.link, ankle.place), place(sole.link, sole.heel), place(sole.link, sole.toe)]
        axes.fill(*zip(*foot), color=colour, alpha=0.9)
    middle = [
        np.mean(
            [place(body.centers[f"{side}_{name}"].link, body.centers[f"{side}_{name}"].place) for side in COLOURS],
            axis=0,
        )
        for name in ("hip", "shoulder")
    ]
    axes.plot(*zip(*middle), color="#4a5568", lw=3)


figure, grid = plt.subplots(len(ROBOTS), len(CLIPS), figsize=(15, 11), constrained_layout=True)
for row, (name, file) in zip(grid, ROBOTS.items()):
    body = as_robot(DATA / "robots" / file)
    for axes, (label, (clip, frames, ground)) in zip(row, CLIPS.items()):
        source = footplant.load(DATA / "bvh" / "cmu" / f"{clip}.bvh")
        made = retarget_robot(replace(source, motion=source.motion[4:]), body, fps=30.0, ground=ground)
        states = made.motion.states.copy()
        # the motion goes along x, whatever its heading was
        way = states[-1, :2] - states[0, :2]
        turn = -np.arctan2(way[1], way[0])
        c, s = np.cos(turn), np.sin(turn)
        back = np.array([[c, -s], [s, c]])
        states[:, :2] = states[:, :2] @ back.T
        states[:, 3:7] = footplant.rotation.multiply([np.cos(turn / 2), 0, 0, np.sin(turn / 2)], states[:, 3:7])
        size = float(np.ptp(states[:, 2])) + 1.2 * float(states[0, 2])
        for number, frame in enumerate(frames):
            frame = min(frame, len(states) - 1)
            draw(axes, body, states[frame], 0.0 if ground else number * 0.55 * size - states[frame, 0])
        if ground:
            along = np.linspace(states[:, 0].min() - 0.3, states[:, 0].max() + 0.3, 600)
            line = np.stack([along, np.full(600, states[:, 1].mean())], axis=1) @ back
            axes.plot(along, made.goals.ground_heights(line), color="#718096", lw=1)
        else:
            axes.axhline(0.0, color="#718096", lw=1)
        axes.set_aspect("equal")
        axes.axis("off")
        quality = made.quality
        drift, deep = quality.worst_drift, quality.deepest
        axes.set_title(f"{name}, {label}: feet drift {drift:.2f} mm, {deep:.1f} mm in the ground at most", fontsize=8)
        print(name, label, made.status, drift, deep, quality.jumps, quality.colliding, flush=True)
drawn = io.BytesIO()
figure.savefig(drawn, dpi=100)
# few colours are used, and a palette takes a third of the room
Image.open(drawn).convert("RGB").quantize(64).save(HERE / "robots.png", optimize=True)
