"""What a crowd of the page begins with: samples, a scene that ships, or the characters that are open in the tab."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from footplant import rotation, samples
from footplant.blending.compose import RootPath, root_reference
from footplant.clip import Clip
from footplant.contacts.ground import Ground
from footplant.errors import ConstraintError, FormatError
from footplant.feet.lead_in import split_lead_in
from footplant.io import SAMPLE
from footplant.live.crowd import Crowd
from footplant.live.crowd_reader import act_of, scene_from_data
from footplant.live.crowd_scene import Act, CrowdActor, CrowdScene
from footplant.problem import Progress
from footplant.skeleton import Character
from footplant.text_files import parse_toml

SAMPLES, OPEN = "samples", "open"
"""Names of the scene of samples and of the one of open characters, besides those of `samples.SCENES`."""
OWN_GROUND = "terrain of the clip"
"""Name of the ground of the edited clip."""
APART = 30
"""Priority with which bodies are kept out of one another, where that is asked for."""
RATE = 30.0
"""Frames per second of the crowd; the page interpolates."""
LONGEST = 600.0
"""Seconds of the longest clip that an actor may play."""
SOME_SAMPLES = """
name = "samples"
actors = [
  { name = "ann", character = "sample:mannequin", place = [0.0, 0.0], acts = [{ motion = "sample:stand" }] },
  { name = "ben", character = "sample:sally", place = [-0.75, 0.05], acts = [{ motion = "sample:stand" }] },
  { name = "cid", character = "sample:child", place = [0.85, 0.1], acts = [{ motion = "sample:clap" }] },
  { name = "dot", character = "sample:longlegs", place = [-2.0, 0.0], acts = [{ motion = "sample:turn-left" }] },
]

[[goals]]
name = "ann right_palm"
kind = "reach"
actor = "ann"
point = "right_palm"
target = [-0.15, 1.4, 0.45]
priority = 10

[[goals]]
name = "ben left_palm"
kind = "touch"
actor = "ben"
point = "left_palm"
of = "ann"
at = "right_upper_arm"
priority = 10
"""


@dataclass(eq=False)
class Casting:
    """What an actor plays, by the names of messages."""

    body: str
    motion: str
    speed: float = 1.0


@dataclass(eq=False)
class Opening:
    """A crowd before its first frame."""

    crowd: Crowd
    castings: dict[str, Casting]
    """By the names of the actors."""
    ground: str
    """The ground as messages have it."""
    declared: dict[str, tuple[Character, Act | None]] = field(default_factory=dict)
    """Bodies and motions of one's own that messages may name."""


class Start(NamedTuple):
    """Where a clip begins."""

    place: tuple[float, float]
    """(x, z) metres, below its root."""
    heading: float
    """Radians, 0 along +z."""


def start_of(clip: Clip) -> Start:
    """Return where a clip begins, without its lead-in."""
    motion = split_lead_in(clip)[1].motion
    path = RootPath.of(motion[:1], root_reference(clip.character))
    x, _, z = motion.root[0].tolist()
    return Start((x, z), float(path.heading[0]))


def own_material(clip: Clip) -> tuple[Character, Act | None]:
    """Return the character of a clip, and its motion as one of any character; None for a single pose.

    Like those of the samples, the motion begins above the origin and faces +z.
    """
    if clip.character.roles is None:
        raise FormatError(f"expected a humanoid to play in a crowd, got {clip.name!r}: {clip.character.not_humanoid}")
    if len(clip.motion) > LONGEST * clip.motion.fps:
        raise FormatError(f"expected clips of at most {LONGEST:g} s in a crowd, got {clip.name!r}: trim it first")
    if len(clip.motion) < 2:
        return clip.character, None
    place, heading = start_of(clip)
    back = rotation.exp([0.0, -heading, 0.0])
    shift = -rotation.rotate(back, np.array([place[0], 0.0, place[1]]))
    return clip.character, act_of(replace(clip, motion=clip.motion.transformed(back, shift), others=()))


def open_crowd(
    name: str, clips: Mapping[str, Clip], present: Sequence[str], *, ground: Ground | None, apart: bool,
    progress: Progress,
) -> Opening:  # fmt: skip
    """Return a crowd by the name of its scene.

    clips: of one's own, by the names that messages give them; present: those of them that are actors of the scene of
    open characters. ground: what messages may name as `OWN_GROUND`. apart: whether bodies are kept out of one another.
    """
    declared = {}
    for number, (own, clip) in enumerate(clips.items()):
        progress(f"preparing {own}", 0.5 * number / max(len(clips), 1))
        declared[own] = own_material(clip)
    progress("preparing the crowd", 0.5)
    if name == OPEN:
        (scene, castings), said = _open_scene(declared, {own: start_of(clips[own]) for own in present}), "level"
    else:
        scene, castings, said = _sample_scene(name)
    if apart and scene.apart is None:
        scene = replace(scene, apart=APART)
    if ground is not None:
        scene = replace(scene, grounds={**scene.grounds, OWN_GROUND: ground})
    progress("preparing the crowd", 0.7)
    crowd = Crowd(scene, repeats=True)
    if name in (SAMPLES, OPEN):
        # nothing is timed there: motions go on from where they end
        for number, actor in enumerate(scene.actors):
            crowd.recast(number, crowd.prepare(number, actor, own=True), ease=0.0)
    return Opening(crowd, castings, said, declared)


def _sample_scene(name: str) -> tuple[CrowdScene, dict[str, Casting], str]:
    """Return a scene of samples, what its actors play, and its ground."""
    if name not in (SAMPLES, *samples.SCENES):
        raise FormatError(f"expected a scene among {', '.join((SAMPLES, OPEN, *samples.SCENES))}; got {name[:64]!r}")
    data: dict[str, Any] = parse_toml(SOME_SAMPLES if name == SAMPLES else samples.scene_text(name), None)
    if name == SAMPLES:
        data["fps"] = RATE
    scene = scene_from_data(
        data, lambda sample: samples.load(sample.removeprefix(SAMPLE)),
        lambda sample: samples.load_character(sample.removeprefix(SAMPLE)),
    )  # fmt: skip
    castings = {
        entry["name"]: Casting(entry["character"], entry["acts"][-1]["motion"], entry["acts"][-1].get("speed", 1.0))
        for entry in data["actors"]
    }
    ground = data.get("ground", "level")
    return scene, castings, ground if isinstance(ground, str) else str(ground.get("kind"))


def _open_scene(
    declared: Mapping[str, tuple[Character, Act | None]], present: Mapping[str, Start]
) -> tuple[CrowdScene, dict[str, Casting]]:
    """Return a scene of the characters that are open, each with its own clip where it is."""
    actors, castings = [], {}
    if not present:
        raise ConstraintError("expected characters that are open, got none")
    for name, (place, heading) in present.items():
        character, act = declared[name]
        if act is None:
            raise ConstraintError(f"expected a clip with a motion, got one pose of {name!r}")
        actors.append(CrowdActor(name, replace(character, name=name), (act,), place, heading))
        castings[name] = Casting(name, name)
    return CrowdScene(tuple(actors), fps=RATE, name=OPEN), castings
