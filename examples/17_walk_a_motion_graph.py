"""A walk through a motion graph: at each edge the character goes over into another clip."""

import footplant
from footplant.blending.graph import build_graph

clips = [footplant.load(f"sample:{name}", fps=30) for name in ("walk", "turn-left", "turn-right")]
edges = build_graph(clips, threshold=0.2).edges
result, here, entered = footplant.trim(clips[0], 0.0), 0, 0.0  # the clip that is played, and from which second
for step in range(3):
    ahead = [edge for edge in edges if edge.source == here and edge.leave > entered + 0.6 and edge.target != here]
    leave = result.motion.duration - (clips[here].motion.duration - ahead[step % len(ahead)].leave)
    here, entered = ahead[step % len(ahead)].target, ahead[step % len(ahead)].enter
    result = footplant.transition(result, clips[here], at=(leave, entered), seconds=0.4)
print(result, f"wrote {result.save('graph_walk.glb')}", sep="\n")
