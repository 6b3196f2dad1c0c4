"""Draw the pictures of the pages on blending and driving."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import footplant
from footplant import io, plot, samples
from footplant.blending.blend import WeightCurve, blend
from footplant.blending.graph import build_graph
from footplant.blending.graph_walk import walk_graph
from footplant.blending.matching import match
from footplant.blending.registration import register
from footplant.clip import Clip
from footplant.grounds import Stairs
from footplant.io.curve_files import load_curve
from footplant.live.controller import build_controller
from footplant.live.motion_set import load_set
from footplant.live.script import drive, held_intervals
from footplant.plot.above import FromAbove
from footplant.plot.matching import graph, matrix

HERE = Path(__file__).resolve().parent
SCRIPT = "walk 2s, run 2s, kick, sneak 2.5s"
ON_STAIRS, STAIRS = "walk 3.3s, stand 2s, walk 3s", Stairs(0.17, 0.29, 24, (0.0, 1.2))


def draw_walks() -> None:
    """Draw walks through a graph of one clip from above: along two curves, and to a target behind."""
    clips = [footplant.load("sample:walk", fps=30)]
    made, shown = build_graph(clips), []
    for name in ("circle:3", "points:0,0;0,3;2,6;6,6"):
        curve = load_curve(name)[0]
        walked = walk_graph(clips, graph=made, path=curve)
        shown.append(FromAbove(f"along {name}", walked.clip, footplant.contacts(walked.clip), curve))
    walked = walk_graph(clips, graph=made, target=(-3.0, -2.0), heading=0.0)
    shown.append(FromAbove("to (−3, −2), beginning along +z", walked.clip, footplant.contacts(walked.clip)))
    plot.above(
        shown, HERE / "graph_walk.png", title="One clip of a straight walk as a motion graph, walked", columns=3, dpi=80
    )


def main() -> None:
    """Draw them all."""
    draw_walks()
    walk, run = samples.load("walk"), samples.load("run")
    matrix(match(walk, run), ("walk", "run"), HERE / "matrix.png", dpi=75)
    graph(
        build_graph([samples.load(name) for name in ("walk", "limp", "turn-left", "start", "stop")]),
        HERE / "graph.png",
        dpi=90,
    )
    faster = WeightCurve(np.array([0.3, 3.0]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    solution = blend(register([walk, run], reference=0), faster, fps=60.0)
    title = "From a walk to a run: weights from 0.3 to 3.0 s"
    plot.strip(replace(walk, motion=solution.motion), HERE / "blend.png", poses=14, panels=False, title=title, dpi=90)
    spec = load_set("set:samples")
    assert spec.character is not None
    clips = {name: io.load(name) for name in spec.clips()}
    controller = build_controller(spec, clips, io.load_character(spec.character))
    done = drive(controller, SCRIPT)
    plot.strip(
        Clip(done.motion, controller.character), HERE / "drive.png", plants=held_intervals(done), poses=16,
        panels=False, title=SCRIPT, dpi=90,
    )  # fmt: skip
    climbed = drive(controller, ON_STAIRS, ground=STAIRS)
    plot.strip(
        Clip(climbed.motion, controller.character), HERE / "drive_stairs.png", plants=held_intervals(climbed), poses=12,
        panels=False, ground=STAIRS, title=f"{ON_STAIRS} --ground stairs:0.17:0.29", dpi=90,
    )  # fmt: skip


if __name__ == "__main__":
    main()
