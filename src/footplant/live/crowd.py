"""Many characters at once: one motion for all bodies, and constraints that change at every frame.

Kulpa, Multon & Arnaldi, "Morphology-independent representation of motions for interactive human-like animation"
(Eurographics 2005), figure 2 and section 10. `Crowd.step` is the paper's pipeline as five calls: read the posture,
scale it to the body, adapt it to the ground, solve the constraints, convert it to joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Clip
from footplant.constraints import Constraint
from footplant.contacts.ground import Ground
from footplant.edits.morphology_independent import share
from footplant.errors import ConstraintError
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.live.crowd_goals import Goal, GoalTable, Soles
from footplant.live.crowd_rows import Feet, Layout, key_of
from footplant.live.ground_adaptation import GroundInTime, foot_targets, ground_shifts
from footplant.motion import Motion
from footplant.normalized import Normalized, convert, scale
from footplant.skeleton import Character
from footplant.solve.ik.groupccd import GroupCcd, bodies_of, solve_rows
from footplant.solve.ik.groupccd.rows import Rows

FLOOR = Plane()


@dataclass(frozen=True, eq=False)
class Act:
    """A motion that a figure begins at a time of the scene."""

    motion: Normalized
    start: float = 0.0
    """Seconds."""
    blend: float = 0.3
    """Seconds in which it takes over from the act before."""
    source: tuple[Clip, tuple[Constraint, ...]] | None = None
    """The clip that it was made from and the constraints that travel with it (footplants); None: none do."""

    def on(self, character: Character) -> Motion:
        """The motion with a body's lengths, and what travels with it solved."""
        if self.source is None:
            return convert(scale(self.motion, character))
        return share(self.source[0], character, self.source[1], normalized=self.motion).motion


@dataclass(frozen=True, eq=False)
class Actor:
    """A figure of a crowd."""

    name: str
    character: Character
    acts: tuple[Act, ...]
    place: tuple[float, float] = (0.0, 0.0)
    """(x, z) metres; where the origin of its motions is."""
    heading: float = 0.0
    """Radians; 0 faces +z, a quarter turn +x."""


@dataclass(frozen=True, eq=False)
class Scene:
    """Who does what, where, and what must hold meanwhile."""

    actors: tuple[Actor, ...]
    goals: tuple[Goal, ...] = ()
    seconds: float = 5.0
    fps: float = 30.0
    ground: Ground | GroundInTime = FLOOR
    feet: int | None = 100
    """Priority of feet that stand; None leaves them as the motion has them."""
    name: str = "scene"

    @property
    def frames(self) -> int:
        """How many frames it has."""
        return round(self.seconds * self.fps) + 1


@dataclass(eq=False)
class CrowdState:
    """What a crowd remembers from frame to frame: how each figure leans."""

    leans: list[NDArray]
    left: NDArray
    """(goals,) metres or radians that were left of each goal at the last frame; NaN where it was not at work."""


@dataclass(eq=False)
class Postures:
    """All figures of one group at an instant, in metres: root (C, 3), local turns (C, J, 4)."""

    root: NDArray
    local: NDArray
    seen: Kinematics | None = None
    """Where everything is, where that is known already."""


class _Group:
    """Figures of one tree of joints: they are posed in one call."""

    def __init__(self, solver: GroupCcd, numbers: list[int], scene: Scene, ranks: dict[int, int]) -> None:
        self.solver, self.numbers = solver, numbers
        actors = [scene.actors[number] for number in numbers]
        self.bodies = bodies_of([actor.character for actor in actors])
        self.heights = np.array([actor.character.height for actor in actors])
        lines = [timeline(actor, scene) for actor in actors]
        self.root = np.stack([line.root for line in lines], axis=1)
        self.local = np.stack([line.rotations for line in lines], axis=1)
        self.like = lines[0]
        table = GoalTable.of(solver, numbers, scene.actors, scene.goals, ranks)
        self.goals = replace(table, masses=self.bodies[1], centers=self.bodies[2])
        joints = {*self.goals.joint.tolist(), *self.goals.other.tolist()}
        self.tree = solver.tree_with(joints)
        self.workspace = self.tree.workspace(4 + (self.goals.most if len(self.goals) else 0))
        self.feet = [solver.limbs[name].end for name in ("right_leg", "left_leg") if name in solver.limbs]
        self.soles = Soles(actors)
        self.layout: Layout | None = None

    def kinematics(self, postures: Postures) -> Kinematics:
        """Where everything is, one row a figure."""
        # views, because a motion makes its arrays read-only
        return Kinematics(self.like.like(postures.root.view(), postures.local.view(), self.bodies[0]))


def timeline(actor: Actor, scene: Scene) -> Motion:
    """All that a figure does in a scene, on its own body and at its place, nothing solved yet."""
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
        share = np.clip((seconds - act.start) / max(act.blend, 1e-9), 0.0, 1.0)
        share = share * share * (3.0 - 2.0 * share)
        root = line.root + share[:, None] * (played.root - line.root)
        turns = rotation.slerp(
            line.rotations, played.rotations, np.broadcast_to(share[:, None], line.rotations.shape[:2])
        )
        line = Motion(line.skeleton, root, rotation.normalize(turns), scene.fps)
    assert line is not None
    return Motion(line.skeleton, line.root, line.rotations, scene.fps)


class Crowd:
    """A scene in play: `state = crowd.init()`, then `state, poses = crowd.step(state, frame)` for every frame."""

    def __init__(self, scene: Scene, *, tries: int = 6, rounds: int | None = None) -> None:
        """Scale every motion to every body, and sort figures and goals.

        tries: steps of trunk and root at most for each priority and frame. rounds: how often figures look at one
        another in a frame; None: as often as goals on other figures need it.
        """
        self.scene, self.tries = scene, tries
        priorities = {goal.priority for goal in scene.goals} | ({scene.feet} if scene.feet is not None else set())
        self.ranks = {priority: rank for rank, priority in enumerate(sorted(priorities, reverse=True))}
        self.groups: list[_Group] = []
        self.place: dict[int, tuple[int, int]] = {}
        for solver, numbers in _alike(scene.actors):
            self.groups.append(_Group(solver, numbers, scene, self.ranks))
            for row, number in enumerate(numbers):
                self.place[number] = len(self.groups) - 1, row
        self._goal_group, self._goal_row = np.zeros((2, len(scene.goals)), np.int64)
        for index, group in enumerate(self.groups):
            self._goal_group[group.goals.source] = index
            self._goal_row[group.goals.source] = np.arange(len(group.goals))
        self.owners = np.array([*(self.place[number] for number in range(len(scene.actors))), (-1, -1)])
        follows = any(goal.of is not None for goal in scene.goals)
        self.rounds = (3 if follows else 1) if rounds is None else rounds

    def init(self) -> CrowdState:
        """Nobody leans."""
        leans = [group.tree.leans(len(group.numbers)) for group in self.groups]
        return CrowdState(leans, np.full(len(self.scene.goals), np.nan))

    def aim(self, goals: Sequence[int] | NDArray, targets: NDArray) -> None:
        """Give goals of the scene (their numbers) other targets (n, 3), from the next step on: what a player drags."""
        goals, targets = np.asarray(goals, np.int64), np.asarray(targets, float)
        if targets.shape != (len(goals), 3) or not np.isfinite(targets).all():
            raise ConstraintError(f"expected {len(goals)} finite places, one a goal; got an array of {targets.shape}")
        if len(goals) and not 0 <= goals.min() <= goals.max() < len(self.scene.goals):
            raise ConstraintError(f"expected goals in 0..{len(self.scene.goals) - 1}, got {goals.min()}..{goals.max()}")
        for number, group in enumerate(self.groups):
            own = self._goal_group[goals] == number
            group.goals.target[self._goal_row[goals[own]]] = targets[own]

    def step(self, state: CrowdState, frame: int) -> tuple[CrowdState, list[Postures]]:
        """One frame for all: the paper's figure 2."""
        seconds = frame / self.scene.fps
        postures = self.read(frame)
        scaled = self.scale(postures)
        grounded, standing = self.adapt_ground(scaled, seconds)
        solved = self.solve(state, grounded, standing, seconds)
        return state, self.convert(solved)

    def read(self, frame: int) -> int:
        """Which posture of its motions every figure is in."""
        return min(max(frame, 0), self.scene.frames - 1)

    def scale(self, posture: int) -> list[Postures]:
        """Morphological adaptation (section 6): the posture with each body's lengths, put in when all was set up."""
        return [Postures(group.root[posture].copy(), group.local[posture].copy()) for group in self.groups]

    def adapt_ground(self, scaled: list[Postures], seconds: float) -> tuple[list[Postures], list[Feet | None]]:
        """Ground adaptation (section 7): roots rise with the ground; where feet should be is returned too."""
        found: list[Feet | None] = []
        for group, postures in zip(self.groups, scaled, strict=True):
            if self.scene.feet is None or not group.feet:
                found.append(None)
                continue
            kinematics = group.kinematics(postures)
            places, turns = kinematics.positions[:, group.feet], kinematics.rotations[:, group.feet]
            if self.scene.ground is FLOOR:
                postures.seen = kinematics
            else:
                times = np.full(len(places), seconds)
                shifts, normals = ground_shifts(places, self.scene.ground, FLOOR, times)
                postures.root[:, 1] += shifts.mean(axis=1)
                places, turns = foot_targets(places, turns, shifts, normals, FLOOR, float(group.heights.mean()))
            found.append(Feet(places, turns))
        return scaled, found

    def solve(
        self, state: CrowdState, grounded: list[Postures], standing: list[Feet | None], seconds: float
    ) -> list[Postures]:
        """The constraints (section 9), with targets on other figures as these stand after each round."""
        before = [
            postures.seen or group.kinematics(postures) for group, postures in zip(self.groups, grounded, strict=True)
        ]
        seen = before
        solved = grounded
        for number in range(self.rounds):
            last = number == self.rounds - 1
            solved = []
            for index, (group, postures) in enumerate(zip(self.groups, grounded, strict=True)):
                leans = state.leans[index] if last else state.leans[index].copy()
                rows, sources = self._rows(group, before[index], seen, before, standing[index], seconds)
                posed = Postures(postures.root.copy(), postures.local.copy())
                left = solve_rows(
                    group.tree, group.bodies, posed.root, posed.local, rows, self.tries, leans=leans,
                    workspace=group.workspace,
                )  # fmt: skip
                if last:
                    state.left[sources[sources >= 0]] = left[sources >= 0]
                solved.append(posed)
            if not last:
                seen = [group.kinematics(postures) for group, postures in zip(self.groups, solved, strict=True)]
        return solved

    def _rows(
        self,
        group: _Group,
        before: Kinematics,
        seen: list[Kinematics],
        firsts: list[Kinematics],
        standing: Feet | None,
        seconds: float,
    ) -> tuple[Rows, NDArray]:
        """All rows of a group at an instant, and the goal that each comes from (−1: the ground)."""
        table = group.goals
        share = table.shares(seconds)
        if group.layout is None or group.layout.key != key_of(share):
            feet = [] if standing is None else group.feet
            rank = 0 if self.scene.feet is None else self.ranks[self.scene.feet]
            group.layout = Layout.of(table, share, len(group.numbers), feet, group.tree.limb_of, rank)
        layout, supports = group.layout, None
        targets = table.targets(layout.at_work, before, seen, firsts, self.owners)
        if table.balances and len(layout.at_work):
            supports = group.soles.supports(before)
        return layout.fill(standing, targets, share, supports), layout.sources

    def convert(self, solved: list[Postures]) -> list[Postures]:
        """Posture conversion (section 8): joints as a renderer takes them, unit quaternions."""
        from footplant.live import _crowd as kernel

        for postures in solved:
            kernel.unit_turns(postures.local)
        return solved

    def perform(self) -> Performance:
        """The whole scene, frame by frame."""
        state, frames = self.init(), self.scene.frames
        roots = [np.empty((frames, len(group.numbers), 3)) for group in self.groups]
        turns = [np.empty((frames, *group.local.shape[1:])) for group in self.groups]
        left = np.full((frames, len(self.scene.goals)), np.nan)
        for frame in range(frames):
            state.left[:] = np.nan
            state, poses = self.step(state, frame)
            for index, postures in enumerate(poses):
                roots[index][frame], turns[index][frame] = postures.root, postures.local
            left[frame] = state.left
        motions: list[Motion] = [None] * len(self.scene.actors)  # type: ignore[list-item]
        for number, actor in enumerate(self.scene.actors):
            group, row = self.place[number]
            local = rotation.unroll(turns[group][:, row])
            motions[number] = Motion(actor.character.skeleton, roots[group][:, row].copy(), local, self.scene.fps)
        return Performance(self.scene, tuple(motions), left)


@dataclass(frozen=True, eq=False)
class Performance:
    """A scene that was played."""

    scene: Scene
    motions: tuple[Motion, ...]
    """What each actor did."""
    left: NDArray
    """(F, goals) metres (radians) that were left of each goal; NaN where it was not at work."""


def repeated(scene: Scene, copies: int, apart: float = 30.0) -> Scene:
    """The same scene several times over, side by side along x, metres apart: to see how many figures can be held."""
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


def _alike(actors: Sequence[Actor]) -> list[tuple[GroupCcd, list[int]]]:
    """Figures with the same tree of joints, each group with a solver for all of it."""
    found: list[tuple[GroupCcd, list[int]]] = []
    known: dict[int, GroupCcd] = {}
    for number, actor in enumerate(actors):
        solver = known.setdefault(id(actor.character), GroupCcd(actor.character))
        for other, numbers in found:
            if all(
                one.shape == two.shape and np.allclose(one, two, atol=1e-9)
                for one, two in zip(solver.tree.arrays, other.tree.arrays, strict=True)
            ):
                numbers.append(number)
                break
        else:
            found.append((solver, [number]))
    return found
