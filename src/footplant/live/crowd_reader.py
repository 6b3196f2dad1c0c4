"""Read scenes of crowds from TOML data; docs/crowd.md describes the format."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Clip
from footplant.constraints.fields import Fields, describe, is_number, suggest
from footplant.constraints.naming import read_chain, read_point
from footplant.contacts.ground import Ground
from footplant.contacts.moving_ground import MovingGround
from footplant.edits.morphology_independent import plants_of
from footplant.errors import ConstraintError, FormatError, SkeletonError
from footplant.feet.lead_in import split_lead_in
from footplant.geometry import HeightField
from footplant.grounds import slope
from footplant.humanoid.proportions import Proportions, apply_proportions
from footplant.io.ground_files import SETTINGS as GROUND_SETTINGS
from footplant.io.ground_files import Course, named_ground
from footplant.live.crowd_apart import skin_radii
from footplant.live.crowd_scene import FLOOR, KINDS, Act, AnyGround, CrowdActor, CrowdScene, Goal
from footplant.normalized import normalize
from footplant.skeleton import Character, Point

GROUND_AROUND = 20.0
"""Metres about the origin that grounds are made for."""
SLOWEST, FASTEST = 0.25, 4.0
"""Factors of the speed at which a motion may be played."""
FINEST_NOISE = 0.5
"""Metres between the hills of a rough ground, at least: 7,000 of them take 0.1 s."""
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
    load_ground: Callable[[str, Course], AnyGround] = named_ground,
    path: str | Path | None = None,
) -> CrowdScene:
    """Build a scene from parsed TOML; motions and characters are file or sample names, loaded by the two callables.

    load_ground: loads a ground file of the cast. path: the file that the data come from, for error messages.
    """
    fields = Fields(data, "", path)
    cast = fields.table("cast") if "cast" in fields else Fields({}, "cast", path)
    characters = {name: load_character(file) for name, file in _files(cast, "bodies").items()}
    clips = {name: act_of(load(file)) for name, file in _files(cast, "motions").items()}
    grounds = {name: load_ground(file, course_around(GROUND_AROUND)) for name, file in _files(cast, "grounds").items()}
    cast.refuse_others(("bodies", "motions", "grounds"))
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
    numbers = {actor.name: number for number, actor in enumerate(actors)}
    entries = fields.tables("goals") if "goals" in fields else []
    goals = [goal for entry in entries for goal in crowd_goals(entry, actors, numbers)]
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
    fields.refuse_others(("actors", "goals", "cast"))
    return replace(scene, bodies=characters, motions=clips, grounds=grounds)


def act_of(clip: Clip) -> Act:
    """Return a clip, without its lead-in, as a motion of any character."""
    clip = split_lead_in(clip)[1]
    plants, roles = plants_of(clip), clip.character.require_roles()
    followed = clip.motion.with_straight_wrists(roles).with_unflipped_legs(roles)
    return Act(normalize(followed, clip.character, about=(0.0, 0.0, 0.0)), source=(clip, plants))


def _files(cast: Fields, key: str) -> dict[str, str]:
    """Return names and files of a part of the cast."""
    if key not in cast:
        return {}
    found = cast.table(key)
    return {name: found.text(name) for name in found.data}


def with_proportions(character: Character, factors: Mapping[str, Any]) -> Character:
    """Return a character with factors of `footplant.humanoid.proportions`."""
    try:
        return apply_proportions(character, **factors)
    except TypeError:
        known = [field.name for field in dataclasses.fields(Proportions)]
        wrong = next(name for name in factors if name not in known)
        raise SkeletonError(f"no proportion {wrong!r}{suggest(wrong, known)}; there are: {', '.join(known)}") from None


def _actor(
    fields: Fields,
    load: Callable[[str], Clip],
    load_character: Callable[[str], Character],
    clips: dict[str, Act],
    characters: dict[str, Character],
) -> CrowdActor:
    name, wanted = fields.text("name"), fields.text("character")
    if wanted not in characters:
        characters[wanted] = load_character(wanted)
    character = characters[wanted]
    if "proportions" in fields:
        factors = fields.table("proportions")
        try:
            character = replace(with_proportions(character, factors.data), name=name)
        except SkeletonError as error:
            fields.fail("proportions", str(error))
    acts = []
    for entry in fields.tables("acts"):
        motion = entry.text("motion")
        if motion not in clips:
            clips[motion] = act_of(load(motion))
        start, blend = entry.number("start", 0.0), entry.number("blend", 0.3, low=0.0)
        speed = entry.number("speed", 1.0)
        if not SLOWEST <= speed <= FASTEST:
            entry.fail("speed", f"expected a factor from {SLOWEST:g} to {FASTEST:g}, got {speed:g}")
        entry.refuse_others(("motion",))
        acts.append(replace(clips[motion], start=start, blend=blend, speed=speed))
    if not acts:
        fields.fail("acts", "expected at least one motion, got none")
    x, z = fields.vector("place", 2, np.zeros(2))
    heading = fields.number("heading", 0.0)
    fields.refuse_others(("name", "character", "acts", "proportions"))
    return CrowdActor(name, character, tuple(acts), (float(x), float(z)), float(np.radians(heading)))


def crowd_goals(fields: Fields, actors: Sequence[CrowdActor], numbers: Mapping[str, int]) -> list[Goal]:
    """Return the goals of an entry: one for each of its actors; numbers: of actors, by name."""

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
                common["value"] = skin_radii(character)[point.joint] + skin_radii(actors[of[0]].character)[of[1].joint]
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


def _ground(fields: Fields) -> AnyGround:
    """Return the ground: a text as in `crowd_ground`, or a table: level, a slope, or waves that travel through it."""
    if "ground" not in fields:
        return FLOOR
    if isinstance(fields.get("ground"), str):
        return crowd_ground(fields.text("ground"), GROUND_AROUND)
    ground = fields.table("ground")
    kind = ground.choice("kind", ("level", "slope", "waves"), "kind of ground")
    if kind == "level":
        found: AnyGround = FLOOR
    elif kind == "slope":
        found = slope(ground.number("degrees"), np.radians(ground.number("heading", 0.0)))
    else:
        found = Waves(ground.number("height", 0.15), ground.number("length", 3.0, low=0.1), ground.number("speed", 0.5))
    ground.refuse_others(("kind",))
    return found


def course_around(reach: float) -> Course:
    """Return a course along +z from the origin on a square with so many metres to each side."""
    return Course((0.0, 0.0), (-reach, -reach), (reach, reach), 0.0, GROUND_SETTINGS.default_height)


def crowd_ground(text: str, reach: float) -> AnyGround:
    """Return a ground by name, without any file: as `footplant terrain --ground`, "level", "waves:HEIGHT:LENGTH:SPEED".

    It begins at the origin and rises along +z; reach: metres to each side that it is made for.
    """
    kind, _, rest = text.partition(":")
    if text == "level":
        return FLOOR
    if kind == "waves":
        try:
            height, length, speed = (float(value) for value in rest.split(":"))
        except ValueError:
            raise FormatError(f"expected waves:HEIGHT:LENGTH:SPEED, got {text[:80]!r}") from None
        if not (0.0 <= height <= 2.0 and 0.5 <= length <= 100.0 and abs(speed) <= 10.0):
            raise FormatError(
                f"expected waves of up to 2 m, 0.5 to 100 m long and at most 10 m/s fast, got {text[:80]!r}"
            )
        return Waves(height, length, speed)
    if kind == "noise" and len(parts := rest.split(":")) > 2 and _small(parts[2]):
        raise FormatError(f"expected hills at least {FINEST_NOISE:g} m apart, got {text[:80]!r}")

    def under(base: str) -> Ground:
        found = crowd_ground(base, reach)
        if isinstance(found, MovingGround) or callable(found):
            raise FormatError("expected a ground that does not move after +", path=text[:80])
        return found

    return named_ground(text, course_around(reach), under)


def _small(text: str) -> bool:
    """Return whether a text is a spacing of hills that is too small, or no number."""
    try:
        return not float(text) >= FINEST_NOISE
    except ValueError:
        return False


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
