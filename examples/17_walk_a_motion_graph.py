"""A walk through a motion graph: along an S-curve, then to a place on the floor."""

import footplant
from footplant.blending.graph import build_graph
from footplant.blending.graph_walk import walk_graph

clips = [footplant.load(f"sample:{name}", fps=30) for name in ("walk", "turn-left", "turn-right")]
graph = build_graph(clips, threshold=0.2)
along = walk_graph(clips, graph=graph, path="s:6,1")
print(along, *along.report.notes, f"wrote {along.save('along.glb')}", sep="\n")
there = walk_graph(clips, graph=graph, target=(2.0, 3.0))
print(there, *there.report.notes, f"wrote {there.save('there.glb')}", sep="\n")
