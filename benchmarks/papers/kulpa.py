"""Sections 10 and 11 of Kulpa, Multon & Arnaldi (Eurographics 2005): the fight, unreachable wrists, areas, a handstand.

The fight is `scene:fight`: eight bodies in pairs with a motion of their own each; white kicks at the chest of its
opponent, red wards the ankle off with the middle of the forearm and punches at the head, white bends back; priorities,
ramps, feet and the centre of mass as in the paper, at 30 Hz. The 22 are bodies that stand and reach with both arms and
the trunk for targets out of reach that move a metre a second. A frame is all of `Crowd.step`: reading, scaling, ground,
constraints, conversion; nothing is drawn. Paper: 8 at 30 Hz with drawing, 22 without, on a Pentium 4 of 2.8 GHz.
"""

from __future__ import annotations

import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from footplant import io, rotation, samples
from footplant.kinematics import Kinematics
from footplant.live.crowd import Crowd
from footplant.live.crowd_reader import scene_from_data
from footplant.live.crowd_scene import Act, CrowdActor, CrowdScene, Goal, repeated
from footplant.motion import Motion
from footplant.normalized import convert, normalize, scale
from footplant.normalized.body import Body
from footplant.skeleton import Character, Point
from timing import cpu_seconds, main

RATE, FRAMES = 30.0, 90
COPIES = 25
"""Copies of a scene of which the time of a character is measured, so that calls weigh little."""
CIRCLE, TURN = 0.18, 2.0 / 3.0
"""Radius in lengths of the arm and seconds a round of every wrist target: about a metre a second."""
AWAY = {"reachable": 0.72, "unreachable": 6.0}
"""Lengths of the arm from the shoulder to the middle of that circle, before the character and a bit down."""


def scene(name: str) -> CrowdScene:
    """A scene that ships."""
    return scene_from_data(tomllib.loads(samples.scene_text(name)), io.load, io.load_character)


def wrists(kind: str, count: int) -> tuple[CrowdScene, NDArray]:
    """Bodies that stand with two wrist goals each, within reach or far out of it, and the lengths of their arms."""
    clip = samples.load("stand")
    stand = normalize(clip.motion, clip.character, about=(0.0, 0.0, 0.0))
    bodies = [samples.load_character(name) for name in samples.CHARACTERS]
    actors, goals, arms = [], [], []
    for number in range(count):
        body, place = bodies[number % len(bodies)], (1.5 * (number % 40), 1.5 * (number // 40))
        actors.append(CrowdActor(str(number), body, (Act(stand),), place))
        roles, (rest, _) = body.require_roles(), body.skeleton.rest_world
        for side in ("left", "right"):
            shoulder, elbow, wrist = (rest[roles[f"{side}_{part}"]] for part in ("upper_arm", "lower_arm", "hand"))
            arms.append(np.linalg.norm(elbow - shoulder) + np.linalg.norm(wrist - elbow))
            ahead = AWAY[kind] * arms[-1] * np.array([0.0, -0.4, 1.0]) / np.hypot(0.4, 1.0)
            target = shoulder + ahead + [place[0], 0.0, place[1]]
            goals.append(
                Goal(actor=number, point=Point(roles[f"{side}_hand"]), target=target, priority=10, ramp=(0.0, 0.0))
            )
        goals.append(Goal(actor=number, kind="mass", point=Point(0), priority=20, ramp=(0.0, 0.0)))
    return CrowdScene(tuple(actors), tuple(goals), seconds=(FRAMES - 1) / RATE, fps=RATE), np.array(arms)


def play_wrists(kind: str, count: int) -> tuple[NDArray, float]:
    """CPU seconds of each frame, targets moved at each, and the largest distance of a wrist to its target, metres."""
    stage, arms = wrists(kind, count)
    crowd = Crowd(stage)
    hands = np.array([i for i, goal in enumerate(crowd.scene.goals) if goal.kind == "reach"])
    middles = np.array([crowd.scene.goals[i].target for i in hands])
    phases = np.arange(len(hands)) * 2.4
    state, taken, left = crowd.init(), [], 0.0
    for frame in range(FRAMES):
        begun = time.process_time()
        angles = phases + 2.0 * np.pi * frame / RATE / TURN
        circle = np.stack([np.cos(angles), np.sin(angles), np.zeros(len(hands))], axis=1)
        crowd.aim(hands, middles + CIRCLE * arms[:, None] * circle)
        state, _ = crowd.step(state, frame)
        taken.append(time.process_time() - begun)
        if frame >= 5:
            left = max(left, float(np.max(state.residuals[hands])))
    return np.array(taken[5:]), left


def play(stage: CrowdScene) -> NDArray:
    """CPU seconds of each frame of a scene at 30 Hz."""
    crowd = Crowd(stage)
    state, taken = crowd.init(), []
    for frame in range(0, stage.frames, round(stage.fps / RATE)):
        begun = time.process_time()
        state, _ = crowd.step(state, frame)
        taken.append(time.process_time() - begun)
    return np.array(taken[5:])


def held(stage: CrowdScene, goal: Goal) -> NDArray:
    """(F,) bool: where a goal holds fully."""
    return np.array([goal.activation(frame / stage.fps) >= 1.0 for frame in range(stage.frames)])


def fight() -> dict[str, float]:
    """Contacts and dodges of the fight, and its time: eight characters, and each of many."""
    stage = scene("fight")
    played = Crowd(stage).perform()
    worst = {"reach": 0.0, "away": 0.0}
    for number, goal in enumerate(stage.goals):
        if goal.kind in worst:
            worst[goal.kind] = max(worst[goal.kind], float(np.max(played.residuals[held(stage, goal), number])))
    feet = 0.0
    for actor, motion in zip(stage.actors, played.motions):
        place = Kinematics(motion).positions[:, actor.character.require_roles()["left_foot"]]
        feet = max(feet, float(np.ptp(place, axis=0).max()))
    eight, many = play(stage), play(repeated(stage, COPIES))
    count = COPIES * len(stage.actors)
    return {
        "kulpa.fight.characters": len(stage.actors),
        "kulpa.fight.contacts": sum(goal.kind == "reach" for goal in stage.goals),
        "kulpa.fight.priorities": len({goal.priority for goal in stage.goals}),
        "kulpa.fight.worst_contact_mm": 1000.0 * worst["reach"],
        "kulpa.fight.worst_dodge_mm": 1000.0 * worst["away"],
        "kulpa.fight.standing_foot_mm": 1000.0 * feet,
        "kulpa.fight.ms_a_frame_of_8": 1000.0 * float(np.median(eight)),
        "kulpa.fight.slowest_ms_a_frame_of_8": 1000.0 * float(eight.max()),
        "kulpa.fight.characters_at_30_hz": float(count / RATE / np.median(many)),
        "kulpa.fight.microseconds_a_character": float(1e6 * many.min() / count),
    }


def run() -> dict[str, float]:
    """The fight, wrists in and out of reach, elbow and wrist, the table, and motions that come back unchanged."""
    figures = fight()
    for kind, count in (("unreachable", 22), ("reachable", 22)):
        few, left = play_wrists(kind, count)
        many, _ = play_wrists(kind, COPIES * count // 2)
        total = COPIES * count // 2
        figures |= {
            f"kulpa.{kind}.ms_a_frame_of_22": 1000.0 * float(np.median(few)),
            f"kulpa.{kind}.characters_at_30_hz": float(total / RATE / np.median(many)),
            f"kulpa.{kind}.microseconds_a_character": float(1e6 * many.min() / total),
        }
        if kind == "reachable":
            figures["kulpa.reachable.worst_wrist_mm"] = 1000.0 * left
    clip = samples.load("walk")
    forward = cpu_seconds(lambda: Kinematics(clip.motion[:]), repeats=20) / len(clip.motion)
    for kind in ("fight", "unreachable"):
        figures[f"kulpa.{kind}.times_faster_than_50_forward_kinematics"] = (
            50e6 * forward / figures[f"kulpa.{kind}.microseconds_a_character"]
        )
    return figures | priorities() | unchanged() | on_hands()


def priorities() -> dict[str, float]:
    """Figure 13, both targets in reach and only the wrist's; figure 6, wrists above the table."""
    stage = scene("elbow_wrist")
    played = Crowd(stage).perform()
    worst = {g.name: float(np.max(played.residuals[held(stage, g), n])) for n, g in enumerate(stage.goals)}
    table = scene("table")
    above = Crowd(table).perform()
    return {
        "kulpa.fig13.worst_of_both_mm": 1000.0 * max(worst["wrist of both"], worst["elbow of both"]),
        "kulpa.fig13.wrist_where_only_it_can_mm": 1000.0 * worst["wrist of wrist"],
        "kulpa.fig13.elbow_gives_way_mm": 1000.0 * worst["elbow of wrist"],
        "kulpa.fig6.deepest_wrist_mm": 1000.0
        * max(float(np.max(above.residuals[held(table, g), n], initial=0.0)) for n, g in enumerate(table.goals)),
    }


def unchanged() -> dict[str, float]:
    """Equation 2: the same lengths give a motion back."""
    worst = 0.0
    for name in ("reach", "kick", "clap"):
        clip = samples.load(name)
        again = convert(scale(normalize(clip.motion, clip.character), clip.character))
        off = Kinematics(again).positions - Kinematics(clip.motion).positions
        worst = max(worst, float(np.linalg.norm(off, axis=-1).max()))
    return {"kulpa.equation_2.same_lengths_mm": 1000.0 * worst}


def handstand(character: Character, frames: int = 31) -> Motion:
    """A body that turns over from standing upright to standing on its hands, arms along the ears, on the floor."""
    roles, skeleton, body = character.require_roles(), character.skeleton, Body(character)
    overhead = np.array(body.pose)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        arm = roles[f"{side}_upper_arm"]
        raised = rotation.from_axis_angle(rotation.AXES["z"], sign * 0.5 * np.pi)
        above = rotation.inverse(body.rotations[skeleton.parents[arm]])
        overhead[arm] = rotation.multiply(above, rotation.multiply(raised, body.rotations[arm]))
    rotations = np.repeat(overhead[None], frames, axis=0)
    turns = rotation.from_axis_angle(rotation.AXES["x"], np.linspace(0.0, np.pi, frames))
    rotations[:, 0] = rotation.multiply(turns, rotations[:, 0])
    motion = Motion(skeleton, np.zeros((frames, 3)), rotations, RATE)
    kinematics = Kinematics(motion)
    lowest = np.min([kinematics.point(point)[:, 1] for point in character.contacts.values()], axis=0)
    return replace(motion, root=motion.root - lowest[:, None] * np.array([0.0, 1.0, 0.0]))


def on_hands() -> dict[str, float]:
    """Section 11: the palms of a handstand on other bodies, with the root by arms and trunk, and by legs."""
    character = samples.load("walk").character
    motion, body = handstand(character), Body(character)
    normalized = normalize(motion, character)
    hips = Kinematics(motion).positions[-1, body.hip_joints].mean(axis=0)
    by_legs = replace(normalized, on_hands=None, root=normalized.root.copy())
    by_legs.root[-1, 1] = (hips[1] - body.ankle) / body.leg
    figures = {}
    for name, form in (("arms_and_trunk", normalized), ("legs", by_legs)):
        off = []
        for target in map(samples.load_character, ("sally", "blubby", "longlegs", "child")):
            kinematics = Kinematics(convert(scale(form, target)))
            off += [abs(float(kinematics.point(target.contacts[f"{side}_palm"])[-1, 1])) for side in ("left", "right")]
        figures[f"kulpa.handstand.palms_off_the_floor_by_{name}_mm"] = 1000.0 * max(off)
    return figures


if __name__ == "__main__":
    main(run)
