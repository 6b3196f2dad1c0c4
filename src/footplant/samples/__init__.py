"""Motions and characters made by the project itself: `load("walk")`, `load_character("sally")`.

The motions are planted by construction, so the truth about their contacts is known: `ground_truth("walk")`. Their
generators take parameters; see `gait`, `actions` and `hands`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from footplant.clip import Clip, Take
from footplant.errors import MotionError
from footplant.samples.footsteps import Intervals, Sample
from footplant.skeleton import Character

MOTIONS: dict[str, str] = {
    "walk": "four strides at a natural 1.35 m/s",
    "run": "five strides at 3 m/s",
    "sneak": "crouched, slow, toes first",
    "limp": "sparing the right leg",
    "turn-left": "walking along an arc to the left",
    "turn-right": "walking along an arc to the right",
    "start": "standing, then walking off",
    "stop": "walking, then standing",
    "stand": "standing at ease, breathing",
    "jump": "a jump forward with both feet",
    "kick": "a front kick out of a guard",
    "punch": "a jab and a straight punch",
    "reach": "picking something up from the floor",
    "clap": "four claps in front of the chest",
    "waist": "hands on the waist, elbows out",
    "climb": "up a rope, hand over hand",
}
"""Every sample motion and what it is."""

CHARACTERS: dict[str, str] = {
    "mannequin": "an adult of 1.75 m",
    "short": "the mannequin at 60 % of its size",
    "sally": "long limbs, tall and thin",
    "blubby": "a ball with very short legs",
    "longlegs": "long legs on a short body",
    "child": "about six years old",
}
"""Every sample character and what it is."""


SCENES: dict[str, str] = {
    "fight": "four pairs of different bodies: kick, parry, punch, dodge",
    "boxes": "boxes of 20, 40 and 60 cm held with one motion",
    "table": "wrists that stay above a table",
    "elbow_wrist": "elbow and wrist with priorities",
    "ground": "a walk on waves that run through the ground",
}
"""Every scene of `footplant crowd` that ships, and what it is."""


def scene_text(name: str) -> str:
    """The TOML of a scene that ships."""
    from importlib.resources import files

    if name not in SCENES:
        raise MotionError(f"expected a scene among {', '.join(SCENES)}; got {name!r}")
    return files(__name__).joinpath("scenes", f"{name}.toml").read_text(encoding="utf-8")


def names() -> list[str]:
    """The names of all sample motions."""
    return list(MOTIONS)


def load(name: str) -> Clip:
    """The sample motion of that name, on the mannequin, at 120 frames a second."""
    sample = make(name)
    take = Take(name, len(sample.motion), sample.motion.fps)
    return Clip(sample.motion, sample.character, name=name, takes=(take,))


def load_character(name: str) -> Character:
    """The sample character of that name."""
    from footplant.samples import characters

    return characters.load_character(name)


def ground_truth(name: str, fps: float = 120.0) -> Intervals:
    """Contact point → half-open frame intervals in which it is exactly planted, at any frame rate."""
    sample = make(name)
    rate, frames = sample.motion.fps, len(sample.motion)
    if fps == rate:
        return sample.contacts
    count = int((frames - 1) / rate * fps + 1e-6) + 1
    found: Intervals = {}
    for point, intervals in sample.contacts.items():
        found[point] = []
        for start, end in intervals:
            # frames of the new rate that lie between the first and the last planted frame
            first, last = -int(-(start * fps / rate - 1e-6) // 1), min(int((end - 1) * fps / rate + 1e-6) + 1, count)
            if last > first:
                found[point].append((first, last))
    return found


@cache
def make(name: str) -> Sample:
    """The sample motion of that name with its contacts, made once."""
    if name not in MOTIONS:
        raise MotionError(f"expected a sample motion among {', '.join(MOTIONS)}; got {name!r}")
    return _generators()[name]()


def _generators() -> dict[str, Callable[[], Sample]]:
    from footplant.samples import actions, gait, hands, start_stop

    return {
        "walk": gait.walk,
        "run": gait.run,
        "sneak": gait.sneak,
        "limp": gait.limp,
        "turn-left": lambda: gait.walk(speed=1.15, turn=0.6),
        "turn-right": lambda: gait.walk(speed=1.15, turn=-0.6),
        "start": start_stop.start,
        "stop": start_stop.stop,
        "stand": actions.stand,
        "jump": actions.jump,
        "kick": actions.kick,
        "punch": actions.punch,
        "reach": hands.reach,
        "clap": hands.clap,
        "waist": hands.waist,
        "climb": hands.climb,
    }
