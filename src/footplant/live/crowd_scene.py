"""A scene of a crowd: actors, their motions, and goals, Kulpa's {CP, T, KC, P, A} with targets on other characters.

Kulpa, Multon & Arnaldi, "Morphology-independent representation of motions for interactive human-like animation"
(Eurographics 2005).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from footplant import rotation
from footplant.clip import Clip
from footplant.constraints import Constraint
from footplant.contacts.ground import Ground
from footplant.contacts.moving_ground import MovingGround
from footplant.edits.morphology_independent import share
from footplant.errors import ConstraintError
from footplant.geometry import Plane
from footplant.live.ground_adaptation import GroundInTime
from footplant.motion import Motion
from footplant.normalized import Normalized, convert, scale
from footplant.skeleton import Character, Point

FLOOR = Plane()
AnyGround = Ground | GroundInTime | MovingGround
"""A ground, one that changes with time, or a rigid one that moves."""
KINDS = ("reach", "away", "apart", "above", "mass", "balance", "touch", "orient", "area")
"""Kinds of goals: a point at a target; at least a distance away from it; two points of the actor a distance apart; a
point at least at a height; the centre of mass where the motion has it; the centre of mass over the soles; a point at a
distance from another actor's, on the side where it comes from; a joint's orientation; a point within a box."""


@dataclass(frozen=True, eq=False)
class Act:
    """A motion that an actor starts at a time of the scene."""

    motion: Normalized
    start: float = 0.0
    """Seconds."""
    blend: float = 0.3
    """Seconds of the crossfade from the previous act."""
    source: tuple[Clip, tuple[Constraint, ...]] | None = None
    """The clip that it was made from and the constraints that are retargeted with it (footplants); None: none."""
    speed: float = 1.0
    """How fast it is played: 2 in half of its time."""

    def on(self, character: Character) -> Motion:
        """Return the motion on a character, with the constraints retargeted with it solved, at its speed."""
        if self.source is None:
            found = convert(scale(self.motion, character))
        else:
            found = share(self.source[0], character, self.source[1], normalized=self.motion).motion
        return found if self.speed == 1.0 else replace(found, fps=found.fps * self.speed)


@dataclass(frozen=True, eq=False)
class CrowdActor:
    """A character of a crowd."""

    name: str
    character: Character
    acts: tuple[Act, ...]
    place: tuple[float, float] = (0.0, 0.0)
    """(x, z) metres; position of the origin of its motions."""
    heading: float = 0.0
    """Radians; 0 faces +z, a quarter turn +x."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Goal:
    """A constraint on an actor while a scene plays."""

    actor: int
    """Index of the actor."""
    kind: str = "reach"
    point: Point
    """The constrained point; any, for a centre of mass."""
    target: ArrayLike = (0.0, 0.0, 0.0)
    """(3,) metres, world; with `of`, an offset from that point."""
    of: tuple[int, Point] | None = None
    """Another actor and a point of it to follow."""
    early: bool = False
    """Whether to follow the other actor's pose before its own goals: whoever is dodged cannot aim at the dodge."""
    value: float = 0.0
    """Metres: distance or height."""
    other: Point | None = None
    """The second point of "apart"."""
    turn: ArrayLike = (1.0, 0.0, 0.0, 0.0)
    """(4,) world orientation of an "orient" goal's joint; with `of`, relative to that joint's."""
    size: ArrayLike = (0.0, 0.0, 0.0)
    """(3,) metres; half the edges of an "area" about the target."""
    priority: int = 0
    start: float = 0.0
    stop: float = np.inf
    """Seconds of the scene between which it is fully active."""
    ramp: tuple[float, float] = (0.3, 0.3)
    """Seconds over which it is activated before, and deactivated after."""
    chain: tuple[int, ...] | None = None
    """Joints that may rotate for it (and the root if joint 0 is among them); None: all."""
    clock: bool = False
    """Whether its times are those of the crowd, which go on when the scene begins again; else those of the scene."""
    name: str = ""

    def __post_init__(self) -> None:
        """Check the kind and the times."""
        if self.kind not in KINDS:
            raise ConstraintError(f"expected a kind of goal among {', '.join(KINDS)}; got {self.kind!r}")
        if not self.start <= self.stop or min(self.ramp) < 0:
            raise ConstraintError(
                f"expected a start before the stop and ramps of 0 or more, got {self.start}, {self.stop}"
            )
        if self.kind == "apart" and self.other is None:
            raise ConstraintError("expected a second point for a goal of kind apart, got none")

    def activation(self, seconds: float) -> float:
        """Return the activation, 0 to 1, at a time of the scene: 1 while it is active, smoothstep in the ramps."""
        share = 1.0
        if seconds < self.start:
            share = 1.0 - (self.start - seconds) / self.ramp[0] if self.ramp[0] > 0 else 0.0
        elif seconds > self.stop:
            share = 1.0 - (seconds - self.stop) / self.ramp[1] if self.ramp[1] > 0 else 0.0
        share = max(share, 0.0)
        return share * share * (3.0 - 2.0 * share)


@dataclass(frozen=True, eq=False)
class CrowdScene:
    """Actors, goals and ground."""

    actors: tuple[CrowdActor, ...]
    goals: tuple[Goal, ...] = ()
    seconds: float = 5.0
    fps: float = 30.0
    ground: AnyGround = FLOOR
    feet: int | None = 100
    """Priority of planted feet; None leaves them as the motion has them."""
    balance: int | None = 90
    """Priority of the balance of characters that reach and have no goal of their own for the centre of mass: it stays
    over the soles, or where the motion has it; None: they may fall."""
    apart: int | None = None
    """Priority of keeping the characters' bodies out of one another; None: they may overlap."""
    name: str = "scene"
    bodies: Mapping[str, Character] = field(default_factory=dict)
    motions: Mapping[str, Act] = field(default_factory=dict)
    grounds: Mapping[str, AnyGround] = field(default_factory=dict)
    """The cast by name: what actors may change into while the scene is played."""

    @property
    def frames(self) -> int:
        """Number of frames."""
        return round(self.seconds * self.fps) + 1


def timeline(actor: CrowdActor, scene: CrowdScene) -> Motion:
    """Return an actor's motion over the whole scene, on its own body and at its position, without goals."""
    if not actor.acts:
        raise ConstraintError(f"{actor.name}: expected at least one motion, got none")
    turn = rotation.exp(np.array([0.0, actor.heading, 0.0]))
    shift = np.array([actor.place[0], 0.0, actor.place[1]])
    seconds = np.arange(scene.frames) / scene.fps
    line: Motion | None = None
    for act in actor.acts:
        played = act.on(actor.character).transformed(turn, shift).at(seconds - act.start)
        if line is None:
            line = played
            continue
        weight = np.clip((seconds - act.start) / max(act.blend, 1e-9), 0.0, 1.0)
        weight = weight * weight * (3.0 - 2.0 * weight)
        root = line.root + weight[:, None] * (played.root - line.root)
        turns = rotation.slerp(
            line.rotations, played.rotations, np.broadcast_to(weight[:, None], line.rotations.shape[:2])
        )
        line = Motion(line.skeleton, root, rotation.normalize(turns), scene.fps)
    assert line is not None
    return Motion(line.skeleton, line.root, line.rotations, scene.fps)


def played_once(actor: CrowdActor, fps: float) -> Motion:
    """Return an actor's last motion alone, from its first frame on, on its own body and at its position."""
    if not actor.acts:
        raise ConstraintError(f"{actor.name}: expected at least one motion, got none")
    turn = rotation.exp(np.array([0.0, actor.heading, 0.0]))
    motion = actor.acts[-1].on(actor.character).transformed(turn, (actor.place[0], 0.0, actor.place[1]))
    frames = max(round((len(motion) - 1) / motion.fps * fps) + 1, 1)
    played = motion.at(np.arange(frames) / fps)
    return Motion(played.skeleton, played.root, played.rotations, fps)


def repeated(scene: CrowdScene, copies: int, apart: float = 30.0) -> CrowdScene:
    """Return several copies of a scene, side by side along x, `apart` metres apart: for measuring throughput."""
    actors, goals = [], []
    for copy in range(copies):
        first, shift = len(actors), copy * apart
        actors += [
            replace(actor, name=f"{actor.name} #{copy}", place=(actor.place[0] + shift, actor.place[1]))
            for actor in scene.actors
        ]
        for goal in scene.goals:
            of = None if goal.of is None else (goal.of[0] + first, goal.of[1])
            target = np.asarray(goal.target, float)
            if goal.of is None and goal.kind in ("reach", "away"):
                target = target + [shift, 0.0, 0.0]
            goals.append(replace(goal, actor=goal.actor + first, of=of, target=target))
    return replace(scene, actors=tuple(actors), goals=tuple(goals))
