"""Draw docs/passes.png: error of each frame of the catwalk after each pass of filtering (figure 9 of Gleicher 2001).

python docs/make_passes_picture.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "benchmarks"))

from papers.gleicher import catwalk, errors_of_passes

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def draw(path: Path) -> None:
    """Draw the curves on a logarithmic scale, from before the first pass to after the fifth."""
    curves = errors_of_passes(catwalk())
    figure, axes = plt.subplots(figsize=(7.6, 3.2), dpi=100)
    for number, curve in enumerate(curves):
        label = "before" if number == 0 else f"pass {number}"
        color = plt.get_cmap("viridis")(number / len(curves))
        axes.semilogy(np.arange(len(curve)), np.maximum(1000.0 * curve, 1e-2), color=color, linewidth=1.2, label=label)
    axes.set(xlabel="frame", ylabel="error of all plants, mm", ylim=(0.05, None), xlim=(0, len(curves[0]) - 1))
    axes.legend(ncols=6, fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.14))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


if __name__ == "__main__":
    draw(HERE / "passes.png")
