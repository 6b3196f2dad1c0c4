"""Draw the pictures of the pages on blending and driving: run it in this folder."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from footplant import io, plot, samples
from footplant.blending.blend import WeightCurve, blend
from footplant.blending.graph import build_graph
from footplant.blending.matching import match
from footplant.blending.registration import register
from footplant.clip import Clip
from footplant.live.controller import build_controller
from footplant.live.motion_set import load_set
from footplant.live.script import drive, held_intervals
from footplant.plot.matching import graph, matrix

SCRIPT = "walk 2s, run 2s, kick, sneak 2.5s"


def main() -> None:
    """Draw them all."""
    walk, run = samples.load("walk"), samples.load("run")
    matrix(match(walk, run), ("walk", "run"), "matrix.png", dpi=75)
    graph(
        build_graph([samples.load(name) for name in ("walk", "limp", "turn-left", "start", "stop")]),
        "graph.png",
        dpi=90,
    )
    faster = WeightCurve(np.array([0.3, 3.0]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    solution = blend(register([walk, run], reference=0), faster, fps=60.0)
    title = "From a walk to a run: weights from 0.3 to 3.0 s"
    plot.strip(replace(walk, motion=solution.motion), "blend.png", poses=14, panels=False, title=title, dpi=90)
    spec = load_set("set:samples")
    assert spec.character is not None
    clips = {name: io.load(name) for name in spec.clips()}
    controller = build_controller(spec, clips, io.load_character(spec.character))
    done = drive(controller, SCRIPT)
    plot.strip(
        Clip(done.motion, controller.character), "drive.png", plants=held_intervals(done), poses=16, panels=False,
        title=SCRIPT, dpi=90,
    )  # fmt: skip


if __name__ == "__main__":
    main()
