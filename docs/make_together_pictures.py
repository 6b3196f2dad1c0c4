"""Draw docs/together.png: a captured handshake, and the same on bodies of other sizes.

Takes the handshake of the CMU collection from ../shared/data: python docs/make_together_pictures.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection

import footplant
from footplant import Kinematics, skinning

HERE = Path(__file__).resolve().parent
CAPTURED = HERE.parents[1] / "shared" / "data" / "bvh" / "cmu"
FRAMES = (40, 100, 150, 230)
BODIES = (("mannequin", "child"), ("blubby", "sally"))


def draw(axes: Axes, figures, frame: int) -> None:
    """Draw two figures at a frame, seen from beside the line between them."""
    hips = [Kinematics(f.motion).positions[frame, f.character.roles["hips"]] for f in figures]
    along = (hips[1] - hips[0]) * [1.0, 0.0, 1.0]
    along, middle = along / np.linalg.norm(along), 0.5 * (hips[0] + hips[1])
    towards = np.cross(along, [0.0, 1.0, 0.0])

    def flat(points: np.ndarray) -> np.ndarray:
        return np.stack([(points - middle) @ along, points[..., 1]], axis=-1)

    for figure, colors in zip(figures, (plt.get_cmap("Blues"), plt.get_cmap("Oranges"))):
        kinematics, skin = Kinematics(figure.motion)[np.array([frame])], figure.character.skin
        if skin is None:
            parents = figure.motion.skeleton.parents
            bones = [kinematics.positions[0, [j, parents[j]]] for j in range(1, len(parents))]
            axes.add_collection(LineCollection(list(flat(np.array(bones))), colors=[colors(0.8)], linewidths=2.0))
            continue
        places = skinning.linear_blend(skin, kinematics)[0]
        triangles = places[skin.faces]
        normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        normals /= np.linalg.norm(normals, axis=1, keepdims=True) + 1e-12
        shade = np.clip(0.3 + 0.5 * np.abs(normals @ (0.8 * towards + [0.0, 0.6, 0.0])), 0.0, 1.0)
        order = np.argsort(triangles.mean(axis=1) @ towards)
        axes.add_collection(PolyCollection(list(flat(triangles)[order]), facecolors=colors(shade[order])))
    axes.set(xlim=(-1.15, 1.15), ylim=(-0.05, 2.1), aspect="equal")
    axes.axis("off")


def main() -> None:
    """Draw the picture."""
    clips = [footplant.load(CAPTURED / f"{name}.bvh") for name in ("18_01", "19_01")]
    rows = [
        clips,
        *(footplant.together(clips, [f"sample:{name}" for name in names], touch=True).figures for names in BODIES),
    ]
    figure, axes = plt.subplots(len(rows), len(FRAMES), figsize=(10.0, 7.4))
    for row, figures in zip(axes, rows):
        for cell, frame in zip(row, FRAMES):
            draw(cell, figures, frame)
    figure.tight_layout(pad=0.2)
    figure.savefig(HERE / "together.png", dpi=80)


if __name__ == "__main__":
    main()
