"""Draw docs/dont_care.png: the last step of a walk moved 30 cm ahead, with the other plants fixed and free.

python docs/make_dont_care_picture.py
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
from numpy.typing import NDArray

from footplant import samples
from footplant.constraints import Footplant
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Problem
from footplant.solve.methods.spacetime import Spacetime

matplotlib.use("Agg")
import matplotlib.pyplot as plt

RATE, AHEAD = 30.0, 0.3
COLORS = {"the walk": "#8a8f98", "other plants fixed": "#c8553d", "other plants free": "#2a6f97"}


def problems() -> tuple[Motion, list[Footplant], dict[str, Problem]]:
    """The walk, its plants, and the two problems."""
    clip = samples.load("walk")
    motion, character = clip.motion.resample(RATE), clip.character
    kinematics, plants = Kinematics(motion), []
    for name, intervals in samples.ground_truth("walk", RATE).items():
        point = character.contacts[name]
        for begin, end in intervals:
            if end - begin > 1 and not name.endswith("toe"):
                place = kinematics.point(point)[begin:end].mean(axis=0)
                plants.append(
                    Footplant(point=point, place=place, frames=range(begin, end), ramp=(0.12, 0.12), name=name)
                )
    plants.sort(key=_first)
    last = max(_first(plant) for plant in plants if plant.name.endswith("heel"))
    asked = {}
    for title, free in (("other plants fixed", False), ("other plants free", True)):
        chosen = []
        for plant in plants:
            if _first(plant) >= last:
                plant = replace(plant, place=np.asarray(plant.place) + [0.0, 0.0, AHEAD])
            elif free and _first(plant) >= 16:
                plant = replace(plant, place=None, ground=Plane())
            chosen.append(plant)
        asked[title] = Problem(motion, character, tuple(chosen))
    return motion, plants, asked


def _first(plant: Footplant) -> int:
    assert isinstance(plant.frames, range)
    return plant.frames.start


def heels(motion: Motion, plants: list[Footplant]) -> NDArray:
    """(S, 3) where the heel stands in each step, metres."""
    kinematics = Kinematics(motion)
    return np.array(
        [
            kinematics.point(plant.point)[np.asarray(plant.frames)].mean(axis=0)
            for plant in plants
            if plant.name.endswith("heel")
        ]
    )


def main() -> None:
    """Solve both and draw them under one another, with how much longer each step has become."""
    motion, plants, asked = problems()
    motions = {"the walk": motion} | {title: Spacetime().solve(problem).motion for title, problem in asked.items()}
    moments = [_first(plant) + len(plant) // 2 for plant in plants if plant.name.endswith("heel")]
    before = heels(motion, plants)
    figure, axes = plt.subplots(4, 1, figsize=(9, 9.5), height_ratios=[1, 1, 1, 1.1], layout="constrained")
    for axis, (title, moved) in zip(axes, motions.items()):
        kinematics, parents = Kinematics(moved), moved.skeleton.parents
        for moment in moments:
            places = kinematics.positions[moment]
            for joint in range(1, len(parents)):
                ends = places[[joint, parents[joint]]]
                axis.plot(ends[:, 2], ends[:, 1], color=COLORS[title], linewidth=1.6, solid_capstyle="round")
        stands = heels(moved, plants)
        axis.plot(before[:, 2], np.full(len(before), -0.03), "|", color="#8a8f98", markersize=11)
        axis.plot(stands[:, 2], np.full(len(stands), -0.10), "^", color=COLORS[title], markersize=6)
        axis.set(title=title, xlim=(-0.4, 6.3), ylim=(-0.17, 1.8), aspect="equal", yticks=[])
        axis.spines[["left", "right", "top"]].set_visible(False)
    axes[2].set_xlabel("metres; ticks: heels before, triangles: heels after")
    width = 0.38
    for number, title in enumerate(asked):
        longer = np.diff((heels(motions[title], plants) - before)[:, 2])
        steps = np.arange(1, 1 + len(longer))
        axes[3].bar(steps + (number - 0.5) * width, 100.0 * longer, width, color=COLORS[title], label=title)
    axes[3].set(xlabel="step", ylabel="longer by, cm", title="how the steps share the 30 cm")
    axes[3].legend(frameon=False)
    axes[3].spines[["right", "top"]].set_visible(False)
    figure.savefig(Path(__file__).resolve().parent / "dont_care.png", dpi=80)


if __name__ == "__main__":
    main()
