"""One motion on bodies of all sizes, hands on a box between them, many figures at once."""

import footplant
from footplant import samples
from footplant.live.crowd import Crowd
from footplant.live.crowd_scene import Act, CrowdActor, CrowdScene, Goal
from footplant.normalized import convert, normalize, scale
from footplant.skeleton import Point

clip = footplant.load("sample:clap")
clap = normalize(clip.motion, clip.character, about=(0, 0, 0))  # no figure's lengths are in it any more
for name in ("child", "sally"):
    body = samples.load_character(name)
    print(f"{name}: hips {convert(scale(clap, body)).root[0, 1]:.2f} m high")

actors = tuple(
    CrowdActor(name, samples.load_character(name), (Act(clap),), place=(1.5 * number, 0.0))
    for number, name in enumerate(("mannequin", "sally", "child"))
)
goals = []
for number, actor in enumerate(actors):
    left, right = (actor.character.contacts[f"{side}_palm"] for side in ("left", "right"))
    goals.append(Goal(actor=number, kind="apart", point=left, other=right, value=0.3, priority=2, start=1.0, stop=2.5))
    goals.append(Goal(actor=number, kind="mass", point=Point(0), priority=1))
performance = Crowd(CrowdScene(actors, tuple(goals), seconds=3.0, fps=30.0)).perform()
for number, actor in enumerate(actors):
    print(f"{actor.name}: box of 30 cm held to {1000 * performance.residuals[45, 2 * number]:.2f} mm")
    print("wrote", footplant.save(f"{actor.name}.glb", performance.motions[number], character=actor.character))
