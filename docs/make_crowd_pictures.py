"""Makes the pictures of docs/crowd.md and docs/normalized.md: run it from the root of the repository."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np

from footplant import io, samples
from footplant.clip import Clip
from footplant.constraints import Balance, Footplant, Position
from footplant.edits.morphology_independent import plants_of, share
from footplant.kinematics import Kinematics
from footplant.live.crowd import Crowd
from footplant.live.crowd_reader import scene_from_data
from footplant.live.crowd_scene import Act, CrowdActor, CrowdScene, Goal
from footplant.normalized import normalize
from footplant.plot.crowd import crowd_strip
from footplant.skeleton import Point
from footplant.solve.ik.groupccd import GroupCcd

DOCS = Path(__file__).parent
WHITE, RED, BLUE = (0.93, 0.92, 0.88), (0.80, 0.25, 0.20), (0.30, 0.50, 0.75)


def play(name: str) -> list[Clip]:
    """What the figures of a scene do."""
    scene = scene_from_data(tomllib.loads(samples.scene_text(name)), io.load, io.load_character)
    motions = Crowd(scene).perform().motions
    return [Clip(m, actor.character, name=actor.name) for m, actor in zip(motions, scene.actors, strict=True)]


def fight() -> None:
    """Guard, kick and parry, guard, punch and dodge."""
    frames = [60, 118, 180, 220]
    crowd_strip(play("fight"), DOCS / "fight.png", frames, columns=2, colors=(WHITE, RED), dpi=80)


def boxes() -> None:
    """Palms 20, 40 and 60 cm apart."""
    crowd_strip(play("boxes"), DOCS / "boxes.png", [0, 60, 120], azimuth=15, columns=3, dpi=80)


def balance() -> None:
    """A far reach without and with the centre of mass kept over the soles; a dot marks it on the floor."""
    clip = samples.load("punch")
    character, pose = clip.character, clip.motion[:1]
    kinematics, roles = Kinematics(pose), character.require_roles()
    feet = [
        Footplant(point=character.contacts[n], place=kinematics.point(character.contacts[n])[0], priority=3)
        for n in ("left_heel", "left_ball", "right_heel", "right_ball")
    ]
    target = kinematics.positions[0, roles["right_upper_arm"]] * [1.0, 0.6, 1.0] + [0.0, 0.0, 1.35]
    hand = Position(point=Point(roles["right_hand"]), target=target, priority=1)
    solver, clips, marks = GroupCcd(character), [], []
    for number, asked in enumerate(([], [*feet, hand], [*feet, hand, Balance(character=character, priority=2)])):
        motion = solver.solve(pose, asked).motion
        center = Kinematics(motion).center_of_mass(character)[0]
        shift = np.array([0.0, 0.0, 2.1 * number])
        marks += [center * [1.0, 0.0, 1.0] + shift, center + shift]
        marks += [target + shift] if number else []
        clips.append(Clip(motion.transformed((1, 0, 0, 0), shift), character, name=str(number)))
    crowd_strip(
        clips, DOCS / "balance.png", [0], azimuth=-90, elevation=8, marks=[marks], colors=(WHITE, RED, BLUE), columns=1,
        titles=["as it came in · reaching without balance · with balance"], dpi=80,
    )  # fmt: skip


def squat() -> None:
    """Four bodies reach for a point near the floor before them and stand up again."""
    clip = samples.load("stand")
    stand, actors, goals = normalize(clip.motion, clip.character, about=(0.0, 0.0, 0.0)), [], []
    for number, name in enumerate(("mannequin", "longlegs", "blubby", "child")):
        body, place = samples.load_character(name), (1.1 * number, 0.0)
        target = np.array([place[0] + 0.08, 0.17 * body.height, 0.28 * body.height])
        actors.append(CrowdActor(name, body, (Act(stand),), place))
        hand = body.contacts["left_palm"]
        goals.append(Goal(actor=number, point=hand, target=target, start=0.8, stop=1.8, ramp=(0.4, 0.4)))
    played = Crowd(CrowdScene(tuple(actors), tuple(goals), seconds=2.5)).perform()
    clips = [Clip(m, actor.character, name=actor.name) for m, actor in zip(played.motions, actors, strict=True)]
    targets, frames = [goal.target for goal in goals], [0, 17, 40, 58, 66, 74]
    marks = [targets if 0 < frame < 66 else [] for frame in frames]
    crowd_strip(clips, DOCS / "squat.png", frames, azimuth=65, elevation=6, marks=marks, columns=3, dpi=80)


def bodies() -> None:
    """One walk on six bodies."""
    clip = samples.load("walk")
    clip = replace(clip, motion=clip.motion[::4])
    plants, clips = plants_of(clip), []
    for number, name in enumerate(samples.CHARACTERS):
        character = samples.load_character(name)
        motion = share(clip, character, plants).motion
        clips.append(Clip(motion.transformed((1, 0, 0, 0), (0.95 * number, 0.0, 0.0)), character, name=name))
    crowd_strip(clips, DOCS / "normalized.png", [10, 42], azimuth=20, columns=2, dpi=80)


if __name__ == "__main__":
    fight()
    boxes()
    balance()
    squat()
    bodies()
