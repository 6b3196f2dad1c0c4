"""Read scenes of crowds from TOML data; docs/crowd.md describes the format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.constraints.fields import Fields, describe, is_number
from footplant.constraints.naming import read_chain, read_point
from footplant.contacts.ground import Ground
from footplant.edits.morphology_independent import plants_of
from footplant.errors import ConstraintError, SkeletonError
from footplant.feet.lead_in import split_lead_in
from footplant.geometry import HeightField
from footplant.grounds import slope
from footplant.humanoid.proportions import apply_proportions
from footplant.live.crowd_apart import radius_at
from footplant.live.crowd_scene import FLOOR, KINDS, Act, CrowdActor, CrowdScene, Goal
from footplant.live.ground_adaptation import GroundInTime
from footplant.normalized import normalize
from footplant.skeleton import Character, Point

MIDDLES = {
    f"{side}_{name}": (f"{side}_{start}", f"{side}_{end}")
    for side in ("left", "right")
    for name, start, end in (("forearm", "lower_arm", "hand"), ("shin", "lower_leg", "foot"))
}
"""Points half-way along a bone, by the names that scenes use."""


def scene_from_data(
    data: Any,
    load: Callable[[str], Clip],
    load_character: Callable[[str], Character],
    *,
    path: str | Path | None = None,
) -> CrowdScene:
    """Build a scene from parsed TOML; motions and characters are file or sample names, loaded by the two callables.

    path: the file that the data come from, for error messages.
    """
    fields = Fields(data, "", path)
    clips: dict[str, tuple[Clip, tuple[Footplant, ...]]] = {}
    characters: dict[str, Character] = {}
    actors = [_actor(entry, load, load_character, clips, characters) for entry in fields.tables("actors")]
    names = [actor.name for actor in actors]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not actors:
        fields.fail("actors", "expected at least one actor, got none")
    if twice:
        fields.fail("actors", f"expected names that differ, got {', '.join(twice)} more than once")
    seconds, fps = fields.number("seconds", 5.0, low=0.0), fields.number("fps", 30.0, low=0.0)
    if not 0 < seconds * fps < 1e6:
        fields.fail("seconds", f"expected a scene of one to a million frames, got {seconds:g} s at {fps:g} fps")
    goals = [goal for entry in fields.tables("goals") for goal in _goals(entry, actors)] if "goals" in fields else []
    feet = fields.get("feet", 100)
    if isinstance(feet, bool):
        feet = 100 if feet else None
    elif not isinstance(feet, int):
        fields.fail("feet", f"expected a priority or false, got {describe(feet)}")
    balance = fields.get("balance", 90)
    if isinstance(balance, bool):
        balance = 90 if balance else None
    elif not isinstance(balance, int):
        fields.fail("balance", f"expected a priority or false, got {describe(balance)}")
    apart = fields.integer("apart", 0) if "apart" in fields else None
    scene = CrowdScene(
        tuple(actors),
        tuple(goals),
        seconds,
        fps,
        _ground(fields),
        feet,
        balance,
        apart,
        fields.text("name", "scene"),
    )
    fields.get("about", "")
    fields.refuse_others(("actors", "goals"))
    return scene


def _actor(
    fields: Fields,
    load: Callable[[str], Clip],
    load_character: Callable[[str], Character],
    clips: dict[str, tuple[Clip, tuple[Footplant, ...]]],
    characters: dict[str, Character],
) -> CrowdActor:
    name, wanted = fields.text("name"), fields.text("character")
    if wanted not in characters:
        characters[wanted] = load_character(wanted)
    character = characters[wanted]
    if "proportions" in fields:
        factors = fields.table("proportions")
        try:
            character = replace(apply_proportions(character, **factors.data), name=name)
        except (SkeletonError, TypeError) as error:
            fields.fail("proportions", str(error))
    acts = []
    for entry in fields.tables("acts"):
        motion = entry.text("motion")
        if motion not in clips:
            clip = split_lead_in(load(motion))[1]
            clips[motion] = clip, plants_of(clip)
        clip, plants = clips[motion]
        start, blend = entry.number("start", 0.0), entry.number("blend", 0.3, low=0.0)
        entry.refuse_others(("motion",))
        roles = clip.character.require_roles()
        followed = clip.motion.with_straight_wrists(roles).with_unflipped_legs(roles)
        acts.append(Act(normalize(followed, clip.character, about=(0.0, 0.0, 0.0)), start, blend, (clip, plants)))
    if not acts:
        fields.fail("acts", "expected at least one motion, got none")
    x, z = fields.vector("place", 2, np.zeros(2))
    heading = fields.number("heading", 0.0)
    fields.refuse_others(("name", "character", "acts", "proportions"))
    return CrowdActor(name, character, tuple(acts), (float(x), float(z)), float(np.radians(heading)))


def _goals(fields: Fields, actors: list[CrowdActor]) -> list[Goal]:
    """Return the goals of an entry: one for each of its actors."""
    numbers = {actor.name: number for number, actor in enumerate(actors)}

    def actors_of(key: str) -> list[int]:
        value = fields.get(key)
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            fields.fail(key, f"expected the name of an actor or a list of them, got {describe(value)}")
        missing = [name for name in names if name not in numbers]
        if missing:
            fields.fail(key, f"no actor {missing[0]!r}; the scene has: {', '.join(numbers)}")
        return [numbers[name] for name in names]

    own = actors_of("actor")
    kind = fields.choice("kind", KINDS, "kind of goal")
    others = actors_of("of") if "of" in fields else None
    if others is not None and len(others) != len(own):
        fields.fail("of", f"expected as many as there are actors ({len(own)}), got {len(others)}")
    ramp = fields.get("ramp", 0.3)
    pair = [ramp, ramp] if is_number(ramp) else ramp
    if not isinstance(pair, list) or len(pair) != 2 or not all(is_number(r) and r >= 0 for r in pair):
        fields.fail("ramp", f"expected seconds, or two of them (in and out), got {describe(ramp)}")
    target = fields.vector("target", 3, np.zeros(3))
    if kind in ("reach", "away") and others is None and "target" not in fields:
        fields.fail("target", "expected a place, or another actor (of) and its point (at), got neither")
    common = {
        "kind": kind, "target": target, "value": fields.number("value", 0.0, low=0.0),
        "priority": fields.integer("priority", 0), "start": fields.number("start", 0.0),
        "stop": fields.number("stop", np.inf), "ramp": (float(pair[0]), float(pair[1])),
        "early": fields.flag("early", False), "name": fields.text("name", ""),
        "turn": fields.vector("turn", 4, np.array([1.0, 0.0, 0.0, 0.0])), "size": fields.vector("size", 3, np.zeros(3)),
    }  # fmt: skip
    found = []
    for index, number in enumerate(own):
        character = actors[number].character
        point = _point(fields, "point", character) if kind not in ("mass", "balance") else Point(0)
        other = _point(fields, "other", character) if kind == "apart" else None
        of = None
        if others is not None:
            of = others[index], _point(fields, "at", actors[others[index]].character)
        if kind == "touch":
            if of is None:
                fields.fail("of", "expected another actor (of) and its point (at) to touch, got none")
            if "value" not in fields:
                common["value"] = radius_at(character, point) + radius_at(actors[of[0]].character, of[1])
        try:
            goal = Goal(
                actor=number, point=point, other=other, of=of, chain=read_chain(fields, "chain", character), **common
            )
        except ConstraintError as error:
            fields.fail("", str(error))
        found.append(goal)
    fields.refuse_others(("actor", "kind", "of", "at", "point", "other", "target", "chain"))
    return found


def _point(fields: Fields, key: str, character: Character) -> Point:
    """Return a point by name: the middle of a forearm or shin, "chest", or as constraints name it."""
    value = fields.get(key)
    name = value.get("point") if isinstance(value, dict) else value
    roles = character.require_roles()
    found: NDArray
    if name in MIDDLES:
        start, end = (roles[role] for role in MIDDLES[name])
        places, turned = character.skeleton.rest_world
        joint, found = start, rotation.rotate(rotation.inverse(turned[start]), 0.5 * (places[end] - places[start]))
    elif name == "chest":
        joint, found = roles.joints["spine"][-1] if "spine" in roles else roles["hips"], np.zeros(3)
    else:
        return read_point(fields, key, character)
    if isinstance(value, dict):
        inner = fields.table(key)
        found = found + inner.vector("offset", 3, np.zeros(3))
        inner.refuse_others(("point",))
    return Point(joint, (float(found[0]), float(found[1]), float(found[2])))


def _ground(fields: Fields) -> Ground | GroundInTime:
    """Return the ground: level, a slope, or waves that travel through it while the scene plays."""
    if "ground" not in fields:
        return FLOOR
    ground = fields.table("ground")
    kind = ground.choice("kind", ("level", "slope", "waves"), "kind of ground")
    if kind == "level":
        found: Ground | GroundInTime = FLOOR
    elif kind == "slope":
        found = slope(ground.number("degrees"), np.radians(ground.number("heading", 0.0)))
    else:
        found = Waves(ground.number("height", 0.15), ground.number("length", 3.0, low=0.1), ground.number("speed", 0.5))
    ground.refuse_others(("kind",))
    return found


class Waves:
    """A ground of travelling waves along +z: seconds → ground."""

    def __init__(self, height: float, length: float, speed: float) -> None:
        """Height from trough to crest and wavelength (metres), and speed (metres per second)."""
        self.size, self.length, self.speed = height, length, speed

    def __call__(self, seconds: float) -> Ground:
        """Return the ground at a time, 40 m across."""
        cells = 0.125
        along = np.arange(-20.0, 20.0 + cells, cells)
        level = 0.5 * self.size * (1.0 + np.sin(2 * np.pi * (along - self.speed * seconds) / self.length))
        across = np.cos(2 * np.pi * along / (2.5 * self.length))
        return HeightField(across[:, None] ** 2 * level[None], cells, (-20.0, -20.0), "cubic")
